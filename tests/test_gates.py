"""GEL019: GELUs around the product of a gated unit or before its split, in many spellings; and look-alikes."""

from __future__ import annotations

import functools

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Project
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = (
    "import jax\nimport jax.numpy as jnp\nimport keras\nimport math\nimport tensorflow as tf\nimport torch\n"
    "import torch.nn.functional as F\nfrom flax import linen\nfrom functools import partial\nfrom torch import nn\n\n"
)


def method(*rows: str, name: str = "FeedForward", init: tuple[str, ...] = (), header: str = "forward(self, x)") -> str:
    made = [f"        {row}" for row in ("super().__init__()", *init)]
    body = [f"        {row}" for row in rows]
    return (
        "\n".join(
            (f"class {name}(nn.Module):", "    def __init__(self, d, m):", *made, "", f"    def {header}:", *body)
        )
        + "\n"
    )


def function(*rows: str, header: str = "def mlp(params, x):") -> str:
    return "\n".join((header, *(f"    {row}" for row in rows))) + "\n"


ACT = ("self.act = nn.GELU(approximate='tanh')",)
MISPLACED = {
    "in one expression": method("return self.down(F.gelu(self.gate_proj(x) * self.up_proj(x)))"),
    "by names": method("gate = self.gate(x)", "up = self.up(x)", "return self.down(F.gelu(gate * up))"),
    "the product by name": method(
        "gate = self.gate(x)", "up = self.up(x)", "h = gate * up", "return self.down(F.gelu(h, approximate='tanh'))"
    ),
    "the product by name, in one row": method("h = self.w1(x) * self.w3(x)", "h = F.gelu(h)", "return self.w2(h)"),
    "value first": method("return F.gelu(self.up(x) * self.gate(x))"),
    "w1 and w3": method("return self.w2(F.gelu(self.w1(x) * self.w3(x)))"),
    "wi_0 and wi_1": method("return self.wo(F.gelu(self.wi_0(x) * self.wi_1(x), approximate='tanh'))"),
    "a module": method("return self.down(self.act(self.gate(x) * self.up(x)))", init=ACT),
    "a module, by name": method("h = self.gate(x) * self.up(x)", "return self.down(self.act(h))", init=ACT),
    "a function on self": method("return self.act(self.gate(x) * self.up(x))", init=("self.act = F.gelu",)),
    "a partial on self": method(
        "return self.act(self.gate(x) * self.up(x))", init=("self.act = partial(F.gelu, approximate='tanh')",)
    ),
    "a module made there": method("return nn.GELU()(self.gate(x) * self.up(x))"),
    "halves": method("gate, up = self.proj(x).chunk(2, dim=-1)", "return self.down(F.gelu(gate * up))"),
    "halves by a function": method("gate, up = torch.chunk(self.proj(x), 2, dim=-1)", "return F.gelu(gate * up)"),
    "halves without names": method("a, b = self.proj(x).chunk(2, -1)", "return F.gelu(a * b)", name="GEGLU"),
    "halves in a mixed name": method("a, b = self.proj(x).chunk(2, -1)", "return F.gelu(a * b)", name="GeGLU"),
    "halves by slices": method(
        "h = self.proj(x)", "return F.gelu(h[..., : self.m] * h[..., self.m :])", name="GEGLUFeedForward"
    ),
    "torch.mul": method("return F.gelu(torch.mul(self.gate(x), self.up(x)))"),
    "a method": method("return F.gelu(self.gate(x).mul(self.up(x)))"),
    "linear": function("return F.gelu(F.linear(x, params.gate) * F.linear(x, params.up))"),
    "matrices": function("return F.gelu((x @ params['gate']) * (x @ params['up']))"),
    "matrices by weights": function("return F.gelu((x @ w_gate) * (x @ w_up))", header="def mlp(x, w_gate, w_up):"),
    "parameters": function("return F.gelu(gate * up)", header="def geglu(gate, up):"),
    "fused name": function("gate, up = x.chunk(2, -1)", "return F.gelu(gate * up)", header="def gelu_and_mul(x):"),
    "by hand": function(
        "gate, up = x.chunk(2, -1)",
        "h = gate * up",
        "return 0.5 * h * (1.0 + torch.erf(h / math.sqrt(2.0)))",
        header="def geglu(x):",
    ),
    "a local function": "def gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + function("return gelu(params.gate(x) * params.up(x))"),
    "jax": function(
        "gate = jnp.dot(x, params['gate'])",
        "up = jnp.dot(x, params['up'])",
        "return jnp.dot(jax.nn.gelu(gate * up), params['down'])",
    ),
    "jax by einsum": function(
        "gate = jnp.einsum('bd,dm->bm', x, params['wi_0'])",
        "value = jnp.einsum('bd,dm->bm', x, params['wi_1'])",
        "return jax.nn.gelu(gate * value)",
    ),
    "jax.multiply": function("return jax.nn.gelu(jnp.multiply(x @ params['gate'], x @ params['up']))"),
    "flax": "class Mlp(linen.Module):\n    def __call__(self, x):\n        gate = linen.Dense(8, name='gate')(x)\n"
    "        up = linen.Dense(8, name='up')(x)\n        return linen.gelu(gate * up)\n",
    "tensorflow": method("return tf.nn.gelu(self.gate(x) * self.up(x))", header="call(self, x)"),
    "keras": method(
        "return keras.activations.gelu(keras.ops.multiply(self.gate(x), self.up(x)))", header="call(self, x)"
    ),
    "keras layers": function(
        "gate, up = gate_dense(x), up_dense(x)", "return keras.ops.gelu(keras.layers.Multiply()([gate, up]))"
    ),
    "after a norm": method("h = self.norm(x)", "return F.gelu(self.gate(h) * self.up(h))"),
    "before the split": method("h = F.gelu(self.proj(x))", "a, b = h.chunk(2, dim=-1)", "return a * b", name="GEGLU"),
    "before the split, in one row": method(
        "a, b = F.gelu(self.proj(x)).chunk(2, -1)", "return self.o(a * b)", name="GeGLU"
    ),
    "before the split by a module": method(
        "a, b = torch.chunk(self.act(self.proj(x)), 2, -1)", "return a * b", name="GatedGelu", init=ACT
    ),
    "before the split in a sequence": method(
        "gate, up = self.proj(x).chunk(2, -1)",
        "return gate * up",
        name="GEGLU",
        init=("self.proj = nn.Sequential(nn.Linear(d, 2 * m), nn.GELU())",),
    ),
    "before the split in jax": function(
        "h = jax.nn.gelu(x @ params['wi'])",
        "a, b = jnp.split(h, 2, axis=-1)",
        "return a * b",
        header="def geglu(params, x):",
    ),
    "before the split by slices": method(
        "h = F.gelu(self.proj(x))", "return h[..., : self.m] * h[..., self.m :]", name="GLU"
    ),
}

RIGHT = {
    "right": method("return self.down(F.gelu(self.gate(x)) * self.up(x))"),
    "right by a module": method("return self.down(self.act(self.gate(x)) * self.up(x))", init=ACT),
    "right halves": method("a, b = self.proj(x).chunk(2, -1)", "return a * F.gelu(b)", name="GEGLU"),
    "a scale": method("return F.gelu(self.gate(x) * self.scale)"),
    "a constant": method("return F.gelu(self.gate(x) * 0.5)", name="GEGLU"),
    "a mask": method("return F.gelu(self.gate(x) * mask)", name="GEGLU"),
    "a mask by a name": method("mask, gate = self.proj(x).chunk(2, -1)", "return F.gelu(gate * mask)", name="GEGLU"),
    "a norm": method("return F.gelu(self.norm(x) * self.weight)", name="GEGLU"),
    "attention": method("return F.gelu(self.query(x) * self.key(x))"),
    "attention weights": method("return F.gelu(self.attn(x) * self.value(x))"),
    "a gate of another kind": method("return F.gelu(torch.sigmoid(self.gate(x)) * self.up(x))"),
    "a gate of the input": method("return F.gelu(self.gate(x) * x)"),
    "gates of two inputs": method("return F.gelu(self.gate(x) * self.up(y))", header="forward(self, x, y)"),
    "no names": method("return F.gelu(self.a(x) * self.b(x))"),
    "no names of halves": method("a, b = self.proj(x).chunk(2, -1)", "return F.gelu(a * b)"),
    "a square": method("h = self.gate(x)", "return F.gelu(h * h)", name="GEGLU"),
    "gMLP": method("u, v = F.gelu(self.proj(x)).chunk(2, -1)", "return self.o(u * self.spatial(v))", name="GatingMlp"),
    "gMLP by name": method("u, v = F.gelu(self.proj(x)).chunk(2, -1)", "return u * v", name="GMLPGatedUnitGLU"),
    "a spatial unit": method("u, v = F.gelu(self.proj(x)).chunk(2, -1)", "return u * v", name="SpatialGatedLinearUnit"),
    "before a split without a name": method("a, b = F.gelu(self.proj(x)).chunk(2, -1)", "return a * b"),
    "before a split in a gated MLP": method(
        "a, b = F.gelu(self.proj(x)).chunk(2, -1)", "return a * b", name="GatedMlp"
    ),
    "before a split of three": method("a, b, c = F.gelu(self.proj(x)).chunk(3, -1)", "return a * b", name="GEGLU"),
    "halves that are used otherwise": method("a, b = F.gelu(self.proj(x)).chunk(2, -1)", "return a + b", name="GEGLU"),
    "one half goes on": method(
        "a, b = F.gelu(self.proj(x)).chunk(2, -1)", "b = self.norm(b)", "return a * b", name="GEGLU"
    ),
    "squeeze and excite": method("return F.gelu(self.conv(x) * self.se(x))"),
    "a gate that is a gate again": method("return F.gelu(self.gate(x) * self.up(x)) * self.v(x)"),
    "another activation": method("return F.silu(self.gate(x) * self.up(x))"),
    "a test": method("return F.gelu(self.gate(x) * self.up(x))", name="TestGate"),
    "a backward": function("return F.gelu(gate * up)", header="def geglu_backward(gate, up):"),
    "modulation": method("shift, scale = self.ada(c).chunk(2, -1)", "return F.gelu(self.proj(x) * scale + shift)"),
    "gates of a router": method("return F.gelu(self.router_gate(x) * self.expert(x))"),
}
CASES = {**MISPLACED, **RIGHT}
BARE = functools.partial(skeleton, small=0)
BEFORE = "def other(gate, x):\n    up = x\n    h = gate * up\n    return h\n\n\n"


def codes(text: str) -> list[str]:
    summary = summarise(decode("model.py", text.encode()))
    return [finding.code for finding in judge(summary, Project(), ("GEL019",))]


@pytest.mark.parametrize("code", MISPLACED.values(), ids=list(MISPLACED))
def test_a_misplaced_gate(code: str) -> None:
    assert codes(HEAD + code) == ["GEL019"]


@pytest.mark.parametrize("code", RIGHT.values(), ids=list(RIGHT))
def test_what_is_no_misplaced_gate(code: str) -> None:
    assert codes(HEAD + code) == []


@pytest.mark.parametrize("code", CASES.values(), ids=list(CASES))
def test_lines_left_out_change_nothing(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts too lose what seems not to matter."""
    source = decode("model.py", (HEAD + BEFORE + code + "\n\n" + BEFORE).encode())
    monkeypatch.setattr("gelu_lint.engine.skeleton", BARE)
    part, whole = summarise(source), summarise(source, complete=True)
    assert judge(part, Project(), ("GEL019",)) == judge(whole, Project(), ("GEL019",))
