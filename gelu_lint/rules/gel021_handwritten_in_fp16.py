"""A GELU typed by hand that runs in half precision.

## What it does
In a file that runs in fp16 (`.half()`, `torch.float16`, fp16 autocast, the switches of trainers), or whose formula
another file of the project runs so (in a run over all of it), works out the formula step by step in half precision,
forward and backward, as PyTorch rounds it, and reports where its gradient turns NaN, or, for erf, from where on it is
exactly 0. A formula that casts to float32 inside is not reported, nor is bfloat16, which has float32's range.

## Why is this bad
`0.5 * x * (1 + tanh(√(2/π)(x + 0.044715 x³)))` overflows in the backward: tanh' = 0 meets an infinite factor, and 0 ·
∞ is NaN. This happens from |x| = 148 on for `x**3` and `pow` (CUDA autocast lifts pow to float32, where it does not),
from 256 for `c * (x * x * x)`, from 1211 for `c * x * x * x`. One such activation ends the run. The erf formula is
finite everywhere, but `1 + erf` is exactly 0 from x = −3.67 on (a warning). The built-ins compute in float32 inside
and round once: neither flavour has these faults. In jax and tensorflow it is the built-in tanh form that turns NaN.

## Fix safety
The fix writes the built-in of the same flavour; last bits may differ (this counts as 1e-6). None is offered for the
tanh form of jax and tensorflow, whose built-in has the same fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, fp16_hazard, label, replacement
from gelu_lint.model import FileSummary, Finding, Project, Site
from gelu_lint.roles import is_backward, is_reference, is_test
from gelu_lint.rule import Rule, bad, good

_SAME_FAULT = ("jax", "flax", "tensorflow", "keras")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites if file.contexts else ():
        # In its own file a context is evidence enough; one of another file must lead here.
        near = [c for c in file.contexts if not c.path or c.covers(site.span.row, module=False)]
        contexts = {context.kind: context for context in reversed(near)}
        kind, at = fp16_hazard(site)
        if not contexts or not kind or not _may_run(file, site):
            continue
        context = contexts.get(kind) or next(iter(contexts.values()))
        where = f"in a file that runs in half precision (line {context.span.row}: {context.written})"
        if context.path:
            where = f"which runs in half precision ({context.path}:{context.span.row}: {context.written})"
        what = label(site.flavour)
        if kind == "tail":
            message = f"{what} typed by hand, {where}: it is exactly 0 from x = {at:.3g} on".replace("-", "−")
        else:
            side = f"|x| = {abs(at):.4g}" if site.flavour == "tanh" else f"x = {at:.4g}".replace("-", "−")
            message = f"{what} typed by hand, {where}: its gradient is NaN from {side} on, in this spelling"
        fix = None
        if not (site.flavour == "tanh" and site.framework in _SAME_FAULT):
            fix = replacement(file, project, site, site.flavour)
        found = finding("GEL021", file, site, message, "warning" if kind == "tail" else "error", fix)
        yield found._replace(related=((context.path or file.path, context.span, "half precision"),))


def _may_run(file: FileSummary, site: Site) -> bool:
    """Whether a context in which a site runs may make it one of this rule: it is worked out once there is one."""
    if site.formula is None or site.flavour not in ("erf", "tanh", "quick"):
        return False
    spare = is_test(file.place, site.symbol) or is_reference(site.symbol, site.key) or is_backward(site.symbol)
    return not spare


def evidence() -> None:
    """NaN gradients in fp16 from 148, 256 and 1211 on, by spelling; none for the built-ins; erf loses its tail."""
    import math

    import torch
    import torch.nn.functional as F

    c, k = math.sqrt(2 / math.pi), 0.044715
    cubes = {
        147.875: lambda x: k * torch.pow(x, 3),
        256.0: lambda x: k * (x * x * x),
        1211.0: lambda x: k * x * x * x,
    }
    every = torch.arange(0, 0x7C00, dtype=torch.int32).to(torch.int16).view(torch.float16)

    def slopes(function: object) -> torch.Tensor:
        x = every.clone().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)[0]  # type: ignore[operator]

    for first, cube in cubes.items():
        grad = slopes(lambda x, cube=cube: 0.5 * x * (1 + torch.tanh(c * (x + cube(x)))))
        assert every[torch.isnan(grad)].min().item() == first
    for flavour in ("none", "tanh"):
        assert torch.isfinite(slopes(lambda x, flavour=flavour: F.gelu(x, approximate=flavour))).all()
    tail = torch.tensor([-3.67], dtype=torch.float16)
    assert (0.5 * tail * (1 + torch.erf(tail / math.sqrt(2)))).item() == 0
    assert F.gelu(tail, approximate="none").item() < -4e-4


_HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
_BODY = "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * {})))\n\n\n"
_FIXED = 'def gelu(x):\n    return F.gelu(x, approximate="tanh")\n\n\n'

RULE = Rule(
    "GEL021",
    "handwritten-in-fp16",
    "hand-written GELU that runs in fp16: NaN gradients (error), or a lost tail (warning)",
    "built-in of the same flavour (rounding)",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            _HEAD + _BODY.format("torch.pow(x, 3)") + "def build(net):\n    return net.cuda().half()\n",
            at="6:12",
            fixed=_HEAD + _FIXED + "def build(net):\n    return net.cuda().half()\n",
            delta=1e-6,
        ),
        bad(
            _HEAD
            + _BODY.format("x * x * x")
            + "def step(net, x):\n    with torch.autocast('cuda', dtype=torch.float16):\n"
            "        return gelu(net(x))\n",
            at="6:12",
            fixed=_HEAD + _FIXED.replace('"', "'") + "def step(net, x):\n"
            "    with torch.autocast('cuda', dtype=torch.float16):\n        return gelu(net(x))\n",
            delta=1e-6,
        ),
        bad(
            _HEAD + "class GELU(torch.nn.Module):\n    def forward(self, x):\n"
            "        return x * 0.5 * (1.0 + torch.erf(x / 2**0.5))\n\n\nmodel = GELU().to(torch.float16)\n",
            at="7:16",
            fixed=_HEAD + "class GELU(torch.nn.Module):\n    def forward(self, x):\n"
            '        return F.gelu(x, approximate="none")\n\n\nmodel = GELU().to(torch.float16)\n',
            delta=1e-6,
        ),
        bad(
            "import jax\nimport jax.numpy as jnp\n\n\ndef gelu(x):\n"
            "    return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3)))\n\n\n"
            "def step(p, x):\n    return gelu(x.astype(jnp.float16) @ p)\n",
            at="6:12",
        ),
        good(
            "import numpy as np\nimport torch\n\n\ndef gelu(x):\n"
            "    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))\n\n\n"
            "def half(net):\n    return net.half()\n"
        ),
        good(
            "import torch\n\n\ndef quick_gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n\n\ndef half(net):\n"
            "    return net.half()\n"
        ),
    ),
    evidence=evidence,
    project=True,
    under=_may_run,
)
