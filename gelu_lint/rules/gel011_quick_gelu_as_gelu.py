"""x·σ(1.702x), the quick GELU of CLIP, under a plain GELU name.

## What it does
Reports formulas that compute x·σ(kx) with k within 0.005 of 1.702, in any spelling, where the name says GELU and not
which: `gelu`, `GELU`, a registry key. `QuickGELU`, `quick_gelu`, `fast_gelu` and `gelu_sigmoid` say what they are.

## Why is this bad
The sigmoid form is off by up to 0.0203 from GELU (at x = −2.27), 43 times as much as the tanh form. It is right for
OpenAI's CLIP weights, and wrong for weights that were trained with the GELU of a framework.

## Fix safety
The fix writes the built-in GELU, and states the change (0.0203). If the weights come from CLIP, keep the formula and
call it quick GELU.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, graded, label, named, off, replacement, spoken, target
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if spoken(site, file) != "GEL011":
            continue
        wanted = target(site, project)
        size, words = off("quick", wanted)
        slope = site.parameter or 1.702
        own = site.formula.delta(wanted) if site.formula is not None else None
        if own is not None and abs(slope - 1.702) > 1e-6:
            size, words = own, f"off by up to {own:.3g}"
        message = f"computes {label('quick').replace('1.702', f'{slope:.5g}')} {named(site)}: {words}"
        fix = replacement(file, project, site, wanted)
        yield finding("GEL011", file, site, message, graded(size), fix, size)


def evidence() -> None:
    """The sigmoid form is 0.0203 away from GELU, and the built-in is not."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    gap = (x * torch.sigmoid(1.702 * x) - F.gelu(x, approximate="none")).abs()
    assert abs(gap.max().item() - 0.020335) < 1e-5
    assert abs(x[gap.argmax()].abs().item() - 2.27) < 0.01
    assert (F.gelu(x, approximate="none") - x * torch.special.ndtr(x)).abs().max() < 1e-12


RULE = Rule(
    "GEL011",
    "quick-gelu-as-gelu",
    "x·σ(1.702x) under a plain GELU name",
    '`F.gelu(x, approximate="none")` (0.0203)',
    "error",
    check,
    __doc__,
    examples=(
        bad(
            "import torch\nimport torch.nn.functional as F\n\n\ndef gelu(x):\n"
            "    return x * torch.sigmoid(1.702 * x)\n",
            at="6:12",
            fixed="import torch\nimport torch.nn.functional as F\n\n\ndef gelu(x):\n"
            '    return F.gelu(x, approximate="none")\n',
            delta=0.020335,
        ),
        bad(
            "import torch\n\n\nclass GELU(torch.nn.Module):\n    ALPHA = 1.702\n\n    def forward(self, x):\n"
            "        return torch.sigmoid(x * self.ALPHA) * x\n",
            at="8:16",
            fixed="import torch\n\n\nclass GELU(torch.nn.Module):\n    ALPHA = 1.702\n\n    def forward(self, x):\n"
            '        return torch.nn.functional.gelu(x, approximate="none")\n',
            delta=0.020335,
        ),
        bad(
            "import numpy as np\n\n\ndef gelu(x):\n    return x / (1 + np.exp(-1.702 * x))\n",
            at="5:12",
        ),
        good("import torch\n\n\ndef quick_gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n"),
        good(
            "import torch\n\n\nclass ApproximateGELU:\n    def forward(self, x):\n"
            "        return x * torch.sigmoid(1.702 * x)\n"
        ),
        good(
            "import torch\n\n\ndef gelu_gate(gate, up, alpha=1.702):\n"
            "    return gate * torch.sigmoid(alpha * gate) * (up + 1)\n"
        ),
    ),
    evidence=evidence,
)
