"""A formula that is nearly a GELU: one constant, factor, sign, power or term is off.

## What it does
Reports formulas under a GELU name that become the erf, tanh or quick GELU by one edit: 0.44715 or 0.047715 for
0.044715, √2/π for √(2/π), x² for x³, a missing 0.5, 1 − tanh, a gate without its factor x, 1.72 for 1.702. Every
one-place edit is tried on the values of the formula; the distance alone makes no near miss. A constant in an unnamed
tanh formula is reported too. Shortened constants that change nothing from 1e-5 on (0.0447, 1.41421) are none, nor are
families with a variable or learned k or τ.

## Why is this bad
The model trains, and is another model than the one that the code names: values are off by what the message says. A
pretrained checkpoint gives wrong outputs.

## Fix safety
The fix writes the built-in of the flavour that was meant, or the right constant where there is no built-in to call,
and states how far values move (no number where that has no bound). If weights were trained with the wrong formula,
they need it: then give it a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import MEANT, distance, finding, graded, named, replacement, spoken, target
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project, Site
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        formula = site.formula
        if formula is None or spoken(site, file) != "GEL014":
            continue
        size = dict(formula.deltas).get(formula.nearest, site.error)
        meant = MEANT[formula.nearest]
        words = distance(size, formula.at)
        if size is None:
            words = f"off by {site.error:.3g} at x = {formula.at:.3g}, and without bound".replace("= -", "= −")
        under = f" {named(site)}" if site.claims else ""
        why = formula.why if site.flavour == "near" else f"x / {site.parameter:.4g} for x"
        message = f"nearly {meant}{under}: {why}; {words}"
        wanted = target(site, project) if project.policy and formula.nearest != "quick" else formula.nearest
        fix = replacement(file, project, site, wanted)
        if fix is not None and wanted != formula.nearest:
            fix = fix._replace(message=f"{fix.message} (the project's policy)")
        fix = fix or _constant(site)
        yield finding("GEL014", file, site, message, graded(size), fix, size)


def _constant(site: Site) -> Fix | None:
    """The right constant in the place of the wrong one."""
    formula = site.formula
    if formula is None or formula.wrong is None or formula.right is None:
        return None
    right = abs(formula.right)
    text = str(int(right)) if right == int(right) else f"{right:.10g}"
    return Fix(f"write {text}", (Edit(formula.wrong, text),), delta=formula.delta(formula.nearest))


def evidence() -> None:
    """The typo 0.44715 is worth 0.093, x² for x³ grows without bound; the built-in is the function that was meant."""
    import math

    import torch
    import torch.nn.functional as F

    def formula(x: torch.Tensor, cubic: float, power: int) -> torch.Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + cubic * x**power)))

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    tanh = F.gelu(x, approximate="tanh")
    assert (formula(x, 0.044715, 3) - tanh).abs().max() < 1e-12
    assert abs((formula(x, 0.44715, 3) - tanh).abs().max().item() - 0.0932) < 1e-4
    far = torch.tensor([-100.0], dtype=torch.float64)
    assert (formula(far, 0.044715, 2) - F.gelu(far, approximate="tanh")).abs() > 99


_TORCH = "import torch\nimport torch.nn.functional as F\n\n\n"

RULE = Rule(
    "GEL014",
    "near-gelu",
    "nearly a GELU, wrong numerically: coefficient typo, missing 0.5 or x or √2, x² for x³, gate only "
    "(error ≥ 1e-3, else warning)",
    "the right formula or built-in (its error)",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            _TORCH + "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.44715 * x**3)))\n",
            at="6:12",
            fixed=_TORCH + 'def gelu(x):\n    return F.gelu(x, approximate="tanh")\n',
            delta=0.093219,
        ),
        bad(
            _TORCH + "class GELU(torch.nn.Module):\n    def forward(self, x):\n"
            "        return x * (1 + torch.erf(x * 0.70710678))\n",
            at="7:16",
            fixed=_TORCH + "class GELU(torch.nn.Module):\n    def forward(self, x):\n"
            '        return F.gelu(x, approximate="none")\n',
            delta=None,
        ),
        bad(
            _TORCH + "class QuickGELU(torch.nn.Module):\n    def forward(self, x):\n"
            "        return x * torch.sigmoid(1.72 * x)\n",
            at="7:16",
            fixed=_TORCH + "class QuickGELU(torch.nn.Module):\n    def forward(self, x):\n"
            "        return x * torch.sigmoid(1.702 * x)\n",
            delta=0.0027005,
        ),
        bad(
            _TORCH + "def gelu(x):\n    return 0.5 * (1 + torch.erf(x / 2**0.5))  # x · is missing\n",
            at="6:12",
            fixed=_TORCH + 'def gelu(x):\n    return F.gelu(x, approximate="none")  # x · is missing\n',
            delta=None,
        ),
        good("import torch\n\n\ndef gelu_gate(x):\n    return 0.5 * (1 + torch.erf(x / 2**0.5))\n"),
        good(
            "import torch\nfrom torch import nn\n\n\nclass GELU(nn.Module):\n    def __init__(self, tau=1.0):\n"
            "        super().__init__()\n        self.tau = nn.Parameter(torch.tensor(tau))\n\n"
            "    def forward(self, x):\n"
            "        return x * torch.special.ndtr(x / self.tau)\n"
        ),
        good("import torch\n\n\ndef gelu_scaled(x):\n    return 1.7015 * x * torch.special.ndtr(x)\n"),
        good(
            "import numpy as np\n\n\ndef gelu(x):\n    return 0.5 * x * (1 + np.tanh(0.79788 * (x + 0.0447 * x**3)))\n"
        ),
    ),
    evidence=evidence,
)
