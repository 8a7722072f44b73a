"""A tanh or sigmoid built from exp, inside a GELU, that turns NaN.

## What it does
Reports GELU formulas that build tanh or sigmoid from exponentials so that ∞/∞ or ∞ − ∞ comes up:
`(e - 1) / (e + 1)`, `(exp(u) - exp(-u)) / (exp(u) + exp(-u))`, `e / (1 + e)`. The formula is worked out in float32
(float64 for NumPy) and the first x at which it is NaN is given. `1 - 2 / (e + 1)` and `x / (1 + exp(-u))` stay finite
and are not reported.

## Why is this bad
With e = exp(2u) the value is NaN for x > 10 in float32. One large activation and the loss is NaN.

## Fix safety
The fix writes the built-in of the same flavour: the same function, last bits may differ (this counts as 1e-6).
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, fp16_hazard, label, overflow, replacement
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.roles import is_backward
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        at = overflow(site)
        if at is None or is_backward(site.symbol) or fp16_hazard(site)[0] in ("half", "cuda_autocast"):
            continue
        dtype = "float64" if site.framework in ("numpy", "scipy") else "float32"
        both = site.formula is not None and site.formula.hazard(f"both {dtype}") is not None
        where = f"|x| = {abs(at):.3g}" if both else f"x = {at:.3g}".replace("-", "−")
        message = f"{label(site.flavour)} built from exp is NaN from {where} on in {dtype}"
        fix = replacement(file, project, site, site.flavour)
        yield finding("GEL022", file, site, message, "error", fix)


def evidence() -> None:
    """In float32 the formula is NaN at 11; the built-in and the safe spelling are 11."""
    import math

    import torch
    import torch.nn.functional as F

    x = torch.tensor([9.0, 11.0])
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    e = torch.exp(2 * u)
    value = 0.5 * x * (1 + (e - 1) / (e + 1))
    assert value[0] == 9 and torch.isnan(value[1])
    assert (0.5 * x * (1 + (1 - 2 / (e + 1))))[1] == 11
    assert F.gelu(x, approximate="tanh")[1] == 11


_HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef gelu(x):\n"

RULE = Rule(
    "GEL022",
    "overflowing-tanh",
    "tanh or sigmoid built from `exp` so that it turns NaN, inside a GELU",
    "built-in of the same flavour (rounding)",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            _HEAD + "    e = torch.exp(2 * 0.7978845608 * (x + 0.044715 * x**3))\n"
            "    return 0.5 * x * (1 + (e - 1) / (e + 1))\n",
            at="7:12",
            fixed=_HEAD + '    return F.gelu(x, approximate="tanh")\n',
            delta=1e-6,
        ),
        bad(
            "import numpy as np\n\n\ndef quick_gelu(x):\n    e = np.exp(1.702 * x)\n    return x * e / (1 + e)\n",
            at="6:12",
        ),
        good("import torch\n\n\ndef quick_gelu(x):\n    return x / (1 + torch.exp(-1.702 * x))\n"),
        good(
            "import numpy as np\n\n\ndef gelu(x):\n    e = np.exp(2 * 0.7978845608 * (x + 0.044715 * x**3))\n"
            "    return 0.5 * x * (1 + (1 - 2 / (e + 1)))\n"
        ),
    ),
    evidence=evidence,
)
