"""Tests of gradients and comparisons of GELUs: which say something, and which hide what they were written for."""

from __future__ import annotations

import functools
import math

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Comparison, Finding, Project, Trial
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = (
    "import math\nimport unittest\n\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\nimport pytest\n"
    "import tensorflow as tf\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
    "from kernels import GELU, Mlp, Tensor, activation, fast_gelu, fused_bias_gelu, gelu, gelu_tanh, poly_gelu\n\n\n"
)
FLOW = "def test_gelu_gradient_flow():\n"
RUN = "    F.gelu(x, approximate='none').sum().backward()\n"


def facts(text: str, path: str = "tests/test_it.py") -> tuple[tuple[Trial, ...], tuple[Comparison, ...], list[Finding]]:
    """The facts and findings, seen in part and in all of a text alike."""
    data = (HEAD + text).encode()
    source = decode(path, data)
    assert passes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = summarise(source)
    whole = summarise(source, complete=True)
    assert (part.trials, part.comparisons) == (whole.trials, whole.comparisons)
    return part.trials, part.comparisons, judge(part, Project(), ("GEL202", "GEL203"))


def points(values: str) -> str:
    return f"{FLOW}    x = torch.tensor({values}, requires_grad=True)\n{RUN}"


TOOTHLESS = {
    "0 and 10": points("[0.0, 10.0]") + "    assert torch.allclose(x.grad, torch.tensor([0.5, 1.0]), atol=1e-3)\n",
    "near to exact": points("[0.0, 10.0]") + "    assert torch.allclose(x.grad, torch.tensor([0.5, 1.0]), atol=1e-5)\n",
    "others unlooked at": points("[-1.0, 0.0, 10.0]")
    + "    assert abs(x.grad[1] - 0.5) < 1e-6\n    assert x.grad[2].item() == pytest.approx(1.0, abs=1e-3)\n",
    "no values": points("[-10.0, 0.0, 10.0]") + "    assert x.grad is not None\n    assert x.grad.shape == x.shape\n",
    "random": FLOW + "    x = torch.randn(4, 8, requires_grad=True)\n" + RUN + "    assert not x.grad.isnan().any()\n",
    "nothing asserted": points("[0.0, 10.0]"),
    "grad": FLOW + "    x = torch.tensor([0.0, 10.0], requires_grad=True)\n"
    "    (g,) = torch.autograd.grad(F.gelu(x).sum(), x)\n"
    "    torch.testing.assert_close(g, torch.tensor([0.5, 1.0]), atol=1e-3, rtol=0)\n",
    "a loop": FLOW
    + "    for at, want in [(0.0, 0.5), (10.0, 1.0)]:\n        x = torch.tensor(at, requires_grad=True)\n"
    "        F.gelu(x).backward()\n        assert math.isclose(x.grad, want, abs_tol=1e-3)\n",
    "jax": FLOW + "    g = jax.vmap(jax.grad(jax.nn.gelu))(jnp.array([0.0, 10.0]))\n"
    "    assert jnp.allclose(g, jnp.array([0.5, 1.0]), atol=1e-3)\n",
    "a function of jax": FLOW + "    def total(x):\n        return jnp.sum(jax.nn.gelu(x))\n\n"
    "    grads = jax.grad(total)(jax.random.normal(jax.random.PRNGKey(0), (32,)))\n"
    "    assert jnp.sum(jnp.abs(grads) > 1e-6) > 10\n",
    "a tape": FLOW + "    x = tf.constant([0.0, 10.0])\n    with tf.GradientTape() as tape:\n        tape.watch(x)\n"
    "        y = tf.nn.gelu(x)\n    np.testing.assert_allclose(tape.gradient(y, x), [0.5, 1.0], atol=1e-3)\n",
    "a module": FLOW + "    x = torch.tensor([0.0, 10.0], requires_grad=True)\n    nn.GELU()(x).sum().backward()\n"
    "    assert torch.allclose(x.grad, torch.tensor([0.5, 1.0]), atol=1e-3)\n",
    "a tensor of its own": FLOW + "    x = Tensor(np.array([1.0, 2.0]))\n    GELU()(x).sum().backward()\n"
    "    assert np.abs(x.grad).max() > 1e-10\n",
    "a model": FLOW + "    model = Mlp(8)\n    x = torch.randn(2, 8, requires_grad=True)\n"
    "    model(x).sum().backward()\n    assert torch.isfinite(x.grad).all()\n",
    "unittest": "class TestGelu(unittest.TestCase):\n    def test_gelu_gradient(self):\n"
    "        x = torch.tensor([0.0, 10.0], requires_grad=True)\n        F.gelu(x).sum().backward()\n"
    "        self.assertAlmostEqual(x.grad[0].item(), 0.5, places=3)\n"
    "        self.assertAlmostEqual(x.grad[1].item(), 1.0, delta=1e-3)\n",
    "another name": "def test_act():\n    x = torch.rand(8, requires_grad=True)\n"
    + RUN
    + "    assert (x.grad > 0).all()\n",
}
TOOTHED = {
    "slope at −√2": points("[-math.sqrt(2), 0.0, 10.0]")
    + "    assert torch.allclose(x.grad, torch.tensor([-0.129, 0.5, 1.0]), atol=1e-3)\n",
    "a sign": points("[-1.0, 0.0, 10.0]") + "    assert x.grad[0] < 0\n    assert x.grad[1] == 0.5\n",
    "linspace": FLOW + "    x = torch.linspace(-9, 9, 99, requires_grad=True)\n"
    + RUN + "    assert x.grad.isfinite().all()\n",
    "parametrize": "@pytest.mark.parametrize('at', [0.0, 10.0])\ndef test_gelu_gradient_flow(at):\n"
    "    x = torch.tensor(at, requires_grad=True)\n" + RUN + "    assert x.grad > 0\n",
    "a helper": FLOW + "    check_slopes(F.gelu, [0.0, 10.0])\n",
    "a helper after": points("[0.0, 10.0]") + "    verify(x.grad)\n",
    "gradcheck": FLOW + "    x = torch.randn(8, dtype=torch.float64, requires_grad=True)\n"
    "    torch.autograd.gradcheck(F.gelu, (x,))\n",
    "another gradient": FLOW + "    x = torch.randn(8, requires_grad=True)\n"
    "    y = x.detach().clone().requires_grad_()\n"
    + RUN + "    gelu_tanh(y).sum().backward()\n    torch.testing.assert_close(x.grad, y.grad)\n",
    "a fixture": "def test_gelu_gradient_flow(gelu_gradient_flow, model):\n    gelu_gradient_flow(model)\n",
    "parameters": FLOW + "    model = Mlp(4)\n    model(torch.randn(2, 4)).sum().backward()\n"
    "    for p in model.parameters():\n        assert p.grad is not None\n",
    "a model by another name": "def test_mlp_backward():\n    mlp = nn.Sequential(nn.Linear(4, 4), nn.GELU())\n"
    "    mlp(torch.randn(2, 4)).sum().backward()\n",
    "raises": FLOW + "    with pytest.raises(TypeError):\n"
    "        F.gelu(torch.randn(4, requires_grad=True), 1).backward()\n",
    "no test": "def gelu_gradient_flow():\n    x = torch.tensor([0.0, 10.0], requires_grad=True)\n" + RUN,
}  # fmt: skip


@pytest.mark.parametrize("name", TOOTHLESS)
def test_a_test_that_no_gelu_is_needed_for_is_reported(name: str) -> None:
    assert [f.code for f in facts(TOOTHLESS[name])[2] if f.code == "GEL202"] == ["GEL202"]


@pytest.mark.parametrize("name", TOOTHED)
def test_a_test_that_may_tell_is_not(name: str) -> None:
    assert [f.message for f in facts(TOOTHED[name])[2] if f.code == "GEL202"] == []


@pytest.mark.parametrize("values", ["[-1.0, 0.0, 1.0]", "[-1.0, 10.0]"])
def test_points_that_are_left_out_are_told(values: str) -> None:
    missing = "10" if "0.0, 1.0" in values else "0"
    text = points(values) + "    assert x.grad[0] < -0.08\n"
    assert [f"never looks at x = {missing}:" in f.message for f in facts(text)[2]] == [True]


@pytest.mark.parametrize("at", [-10.0, -math.sqrt(2), -1.0, 0.0, 0.7, 3.0, 10.0])
@pytest.mark.parametrize("loss", ["y.sum()", "y.mean()", "(y * 3 - 1).sum()", "(y ** 2).sum()", "2 * y.sum() / 4"])
def test_slopes_are_those_of_torch(at: float, loss: str) -> None:
    """The functions that pass an assert are those that pass it when it is run."""
    import torch
    import torch.nn.functional as F

    functions = {
        "erf": lambda x: F.gelu(x, approximate="none"),
        "tanh": lambda x: F.gelu(x, approximate="tanh"),
        "quick": lambda x: x * torch.sigmoid(1.702 * x),
        "silu": F.silu,
        "relu": F.relu,
    }
    slopes = {}
    for name, function in functions.items():
        x = torch.tensor([at, 0.5], dtype=torch.float64, requires_grad=True)
        eval(loss, {"y": function(x)}).backward()
        slopes[name] = x.grad[0].item()
    assert functions.keys() == FLAVOURS.keys()
    for wanted in slopes.values():
        text = FLOW + f"    x = torch.tensor([{at!r}, 0.5], dtype=torch.float64, requires_grad=True)\n"
        text += f"    y = F.gelu(x)\n    loss = {loss}\n    loss.backward()\n"
        text += f"    assert abs(x.grad[0].item() - {wanted!r}) < 1e-9\n"
        (trial,) = facts(text)[0]
        assert {*trial.passes} == {name for name, slope in slopes.items() if abs(slope - wanted) < 1e-9}


X = "def test_it():\n    x = torch.linspace(-6, 6, 101)\n"
WANT = "F.gelu(x, approximate='tanh')"
LOOSE = {
    "both tolerances": (f"{X}    torch.testing.assert_close(gelu_tanh(x), {WANT}, atol=1e-3, rtol=1e-3)\n", 3.69e-3),
    "a constant": (f"ATOL = 1e-3\n\n\n{X}    assert torch.allclose(gelu_tanh(x), {WANT}, atol=ATOL)\n", 1e-3),
    "by position": (f"{X}    assert torch.allclose(gelu_tanh(x), {WANT}, 1e-5, 1e-3)\n", 1e-3),
    "a method": (f"{X}    assert gelu_tanh(x).allclose({WANT}, atol=1e-3)\n", 1e-3),
    "numpy": (f"{X}    np.testing.assert_allclose(gelu_tanh(x), {WANT}.numpy(), 0, 1e-3)\n", 1e-3),
    "decimals": (f"{X}    np.testing.assert_array_almost_equal(gelu_tanh(x), {WANT}.numpy(), decimal=3)\n", 1.5e-3),
    "a difference": (f"{X}    gap = (gelu_tanh(x) - {WANT}).abs().max().item()\n    assert gap < 1e-3\n", 1e-3),
    "all of it": (f"{X}    assert (torch.abs(gelu_tanh(x) - {WANT}) < 1e-3).all()\n", 1e-3),
    "tensorflow": (f"class T(tf.test.TestCase):\n    def test_it(self, x):\n"
    f"        self.assertAllClose(gelu_tanh(x), {WANT}, atol=1e-3)\n", 1e-3),
    "relative alone": (f"{X}    np.testing.assert_allclose(gelu_tanh(x), {WANT}.numpy(), rtol=1e-3)\n", 2.69e-3),
    "names": (f"{X}    out = gelu_tanh(x)\n    want = {WANT}\n    assert torch.allclose(out, want, atol=1e-3)\n", 1e-3),
    "a module": (f"{X}    mine, want = GELU(), nn.GELU(approximate='none')\n"
    f"    assert torch.allclose(mine(x), want(x), atol=1e-3)\n", 1e-3),
    "a bias": (f"{X}    assert torch.allclose(fused_bias_gelu(x, 1), F.gelu(x + 1), atol=1e-3)\n", 1e-3),
    "a formula": (f"{X}    want = 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))\n"
    f"    assert torch.allclose(gelu(x), want, atol=1e-3)\n", 1e-3),
    "by a string": (f"{X}    assert torch.allclose(activation(x, 'gelu'), F.gelu(x), atol=1e-3)\n", 1e-3),
    "two defaults": (f"{X}    assert np.allclose(jax.nn.gelu(x.numpy()), F.gelu(x).numpy(), atol=1e-3)\n", 1e-3),
    "must": (f"{X}    if not torch.allclose(gelu_tanh(x), {WANT}, atol=1e-3):\n        raise ValueError\n", 1e-3),
    "a number": ("def test_it():\n    assert gelu(1.0) == pytest.approx(0.8413, abs=1e-3)\n", 1e-3),
    "places": ("class T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertAlmostEqual(gelu(1.0), 0.841, places=3)\n", 5e-4),
    "delta": ("class T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertAlmostEqual(gelu(1.0), 0.841, delta=1e-3)\n", 1e-3),
}  # fmt: skip
FINE = {
    "just below": f"{X}    assert torch.allclose(gelu_tanh(x), {WANT}, atol=4e-4, rtol=0)\n",
    "defaults": f"{X}    torch.testing.assert_close(gelu_tanh(x), {WANT})\n",
    "half": f"{X}    assert torch.allclose(gelu_tanh(x.half()), F.gelu(x.half()), atol=1e-2)\n",
    "half of a constant": f"DTYPES = [torch.float32, torch.bfloat16]\n\n\ndef test_it():\n"
    f"    for dtype in DTYPES:\n        x = torch.randn(4, dtype=dtype)\n"
    f"        assert torch.allclose(gelu_tanh(x), {WANT}, atol=1e-2)\n",
    "somebody's dtype": f"def test_it(dtype):\n    x = torch.randn(4, dtype=dtype)\n"
    f"    assert torch.allclose(gelu_tanh(x), {WANT}, atol=1e-2)\n",
    "not close": f"{X}    assert not torch.allclose(gelu_tanh(x), F.gelu(x), atol=1e-3)\n",
    "meant to differ": f"{X}    assert torch.allclose(F.gelu(x, approximate='none'), {WANT}, atol=1e-3)\n",
    "fast": f"{X}    assert torch.allclose(fast_gelu(x), F.gelu(x, approximate='none'), atol=1e-3)\n",
    "a polynomial": f"{X}    assert torch.allclose(poly_gelu(x), F.gelu(x), atol=1e-2)\n",
    "its own variants": f"{X}    one, other = GELU(approximate=True), GELU(approximate=False)\n"
    f"    assert np.allclose(one(x), other(x), atol=1e-2)\n",
    "a matrix product": f"{X}    w = torch.randn(101, 4)\n"
    f"    assert torch.allclose(fused_bias_gelu(x, w), F.gelu(x @ w), atol=1e-2)\n",
    "a layer before": f"{X}    h = layer_norm(x)\n"
    f"    assert torch.allclose(fused_bias_gelu(x), F.gelu(h), atol=1e-2)\n",
    "models": "def test_it(model, gelu_model, x):\n    assert torch.allclose(model(x), gelu_model(x), atol=1e-2)\n",
    "ReLU": f"{X}    assert torch.allclose(F.relu(x), F.gelu(x), atol=0.2)\n",
    "its argument": "def test_it():\n    x = torch.tensor([6.0, 8.0])\n"
    "    assert torch.allclose(gelu(x), x, atol=1e-2)\n",
    "zeros": f"{X}    assert torch.allclose(gelu(x), torch.zeros_like(x), atol=1e-2)\n",
    "far out": "def test_it():\n    assert gelu(10.0) == pytest.approx(10.0, abs=1e-2)\n",
    "numbers from elsewhere": "def test_it(want):\n    x = torch.tensor([1.0])\n"
    "    assert torch.allclose(gelu(x), want, atol=1e-2)\n",
    "a tolerance from elsewhere": f"def test_it(tol):\n    x = torch.tensor([1.0])\n"
    f"    assert torch.allclose(gelu(x), {WANT}, atol=tol)\n",
    "a mean": f"{X}    assert (gelu_tanh(x) - {WANT}).abs().mean() < 1e-3\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOSE)
def test_a_tolerance_that_flavours_keep_is_reported(name: str) -> None:
    text, allowed = LOOSE[name]
    _, (found,), findings = facts(text)
    assert [f.code for f in findings] == ["GEL203"]
    beside = 0 if found.either else 2.69 * found.relative
    assert found.tolerance + beside == pytest.approx(allowed, rel=0.05)


@pytest.mark.parametrize("name", FINE)
def test_one_that_they_do_not_or_that_is_meant_is_not(name: str) -> None:
    assert [f.message for f in facts(FINE[name])[2] if f.code == "GEL203"] == []


def test_a_relative_tolerance_says_what_it_hides() -> None:
    (finding,) = facts(LOOSE["relative alone"][0])[2]
    assert finding.severity == "info" and "for x > 0" in finding.message


def test_hostile_loops_end() -> None:
    deep = "".join(f"{'    ' * (i + 1)}for a{i} in {[0.0] * 60}:\n" for i in range(6))
    facts(f"{FLOW}{deep}{'    ' * 7}F.gelu(torch.tensor(a0))\n    x = 10.0 ** 400\n    x.grad.backward()\n")


def test_a_test_in_half_precision_says_nothing_of_the_one_above_it() -> None:
    """Read in part, a function seems to end where the next one that is kept begins."""
    text = (
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
        "def test_jit():\n    m = nn.GELU()\n    s = torch.jit.script(m)\n    x = torch.randn(10)\n"
        "    assert torch.allclose(m(x), s(x), atol=1e-3)\n\n\n"
        "def test_half():\n    x = torch.randn(10)\n"
        "    assert torch.allclose(F.gelu(x), F.gelu(x.half()).float(), atol=1e-3)\n"
    )
    source = decode("test_a.py", text.encode())
    part, whole = (summarise(source, complete=complete).comparisons for complete in (False, True))
    assert part == whole
    assert [comparison.span.row for comparison in part] == [10]
