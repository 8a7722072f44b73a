"""The erf GELU typed by hand, where the framework has it.

## What it does
Reports formulas that compute x·Φ(x), in any spelling (`erf`, `erfc`, `ndtr`, a normal distribution's `cdf`, over
several statements), where the framework whose functions they call has a built-in GELU. NumPy and SciPy have none.
Files that define several flavours under their names, tests, references, accelerator kernels and frameworks themselves
are left alone.

## Why is this bad
`1 + erf(…)` cancels: in half precision the formula is exactly 0 for every x ≤ −3.67, where GELU is −4.5e-4, and
intermediate results take memory that the built-in's one kernel does not. In float64 the two are the same function, so
this is an info.

## Fix safety
The fix writes the built-in with its flavour spelled out, for the whole body of the function where the formula is all of
it. The function is the same, last bits may differ (this counts as 1e-6, or as what a shortened constant was off by).
None is offered where a cast or a comment would be lost, or the declared torch is older than 1.12.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, replacement, spoken
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if spoken(site, file) != "GEL012":
            continue
        message = f"the erf GELU typed by hand, which {site.framework} has built in"
        yield finding("GEL012", file, site, message, "info", replacement(file, project, site, "erf"))


def evidence() -> None:
    """In fp16 the formula loses the tail from −3.67 on; the built-in keeps it. In float64 they are one function."""
    import math

    import torch
    import torch.nn.functional as F

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    assert (0.5 * x * (1 + torch.erf(x / math.sqrt(2))) - F.gelu(x, approximate="none")).abs().max() < 1e-12
    tail = torch.tensor([-3.7], dtype=torch.float16)
    assert (0.5 * tail * (1 + torch.erf(tail / math.sqrt(2)))).item() == 0
    assert abs(F.gelu(tail, approximate="none").item() + 3.99e-4) < 1e-5


_ERF = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"

RULE = Rule(
    "GEL012",
    "handwritten-erf",
    "erf GELU typed by hand where the framework has one",
    'built-in, `approximate="none"` (rounding)',
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _ERF + "def gelu(x):\n    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))\n",
            at="8:12",
            fixed=_ERF + 'def gelu(x):\n    return F.gelu(x, approximate="none")\n',
            delta=1e-6,
        ),
        bad(
            "import torch\n\n\nclass GELU(torch.nn.Module):\n    def forward(self, x):\n"
            "        cdf = torch.special.ndtr(x)\n        return x * cdf\n",
            at="7:16",
            fixed="import torch\n\n\nclass GELU(torch.nn.Module):\n    def forward(self, x):\n"
            '        return torch.nn.functional.gelu(x, approximate="none")\n',
            delta=1e-6,
        ),
        bad(
            "import jax\n\n\ndef ffn(p, gelu_in):\n"
            "    h = 0.5 * gelu_in * jax.lax.erfc(-gelu_in * 0.7071067811865476)\n"
            "    return h @ p\n",
            at="5:9",
            fixed="import jax\n\n\ndef ffn(p, gelu_in):\n    h = jax.nn.gelu(gelu_in, approximate=False)\n"
            "    return h @ p\n",
            delta=1e-6,
        ),
        bad(
            "import torch\n\n\ndef gelu(x):\n    y = x.float()\n    return (y * torch.special.ndtr(y)).to(x.dtype)\n",
            at="6:12",
        ),
        good(
            "import numpy as np\nfrom scipy.special import erf\n\n\ndef gelu(x):\n"
            "    return 0.5 * x * (1 + erf(x / np.sqrt(2)))\n"
        ),
        good(
            _ERF + "def gelu(x):\n    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))\n\n\n"
            "def gelu_new(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))\n"
        ),
        good(_ERF + "def gelu_cdf(x):\n    return 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))\n"),
        good(_ERF + "def gelu_reference(x):\n    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))\n"),
    ),
    evidence=evidence,
)
