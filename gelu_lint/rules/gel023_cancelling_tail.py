"""Φ(x) as `1 + erf` or `1 + tanh`, where a logarithm or a ratio needs its tail.

## What it does
Reports the gate of a GELU, `0.5 * (1 + erf(x / √2))` or `0.5 * (1 + tanh(…))`, where it is handed to a logarithm or is
what something is divided by. Off unless selected.

## Why is this bad
`1 + erf` cancels: in float32 it is exactly 0 from x = −5.6 on, and has lost half of its digits long before. A product
does not mind, a logarithm is −∞ and a ratio divides by 0. `erfc` keeps every digit.

## Fix safety
The fix writes `erfc` in torch (whose `ndtr` is `1 + erf` in float32, too), `scipy.special.ndtr` in NumPy: the same
function, last bits may differ (this counts as 1e-6). None is offered for the tanh gate; write it as `sigmoid(2 * u)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.imports import reach
from gelu_lint.model import ROUNDING, Edit, FileSummary, Finding, Fix, Project, Use
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for use in file.uses:
        if use.kind != "tail":
            continue
        fix = _fix(file, use)
        first = "−5.6" if use.detail.endswith("erf") else "−5.2"
        message = f"{use.detail} loses the tail that a {use.form} needs: exactly 0 from x = {first} on in float32"
        yield report("GEL023", file, use, message, "info", fix)


def _fix(file: FileSummary, use: Use) -> Fix | None:
    """The same gate without cancellation, for an argument that is a name."""
    argument = use.arguments[0].text if use.arguments else ""
    name = {"torch": "torch.erfc", "numpy": "scipy.special.ndtr", "scipy": "scipy.special.ndtr"}.get(use.callee)
    found = reach(file, name) if name and argument else None
    if found is None:
        return None
    text = f"{found[0]}({argument})"  # without the parentheses that a sum needs
    if use.callee == "torch":
        text = f"0.5 * {found[0]}(-{argument} * 0.7071067811865476)"
        text = f"({text})" if use.form == "ratio" else text
    return Fix(f"write {text}", (Edit(use.callee_span, text),), found[1], delta=ROUNDING)


def evidence() -> None:
    """The logarithm of 1 + erf is −∞ in float32 at −6; that of erfc is −20.7."""
    import math

    import torch

    x = torch.tensor([-6.0])
    assert torch.log(0.5 * (1 + torch.erf(x / math.sqrt(2)))).item() == -math.inf
    assert abs(torch.log(0.5 * torch.erfc(-x * 0.7071067811865476)).item() + 20.7368) < 1e-3


_HEAD = "import torch\n\n\ndef gelu_likelihood(x):\n"

RULE = Rule(
    "GEL023",
    "cancelling-tail",
    "`1 + erf` or `1 + tanh` that feeds a log or a ratio, where the tail matters (opt-in)",
    "`erfc`, `ndtr` (rounding)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _HEAD + "    return torch.log(0.5 * (1 + torch.erf(x / 2**0.5)))\n",
            at="5:22",
            fixed=_HEAD + "    return torch.log(0.5 * torch.erfc(-x * 0.7071067811865476))\n",
            delta=1e-6,
        ),
        bad(
            _HEAD + "    gate = 0.5 * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))\n    return 1 / gate\n",
            at="5:12",
        ),
        good(_HEAD + "    return torch.log(0.5 * torch.erfc(-x / 2**0.5))\n"),
        good("import torch\n\n\ndef gelu_cdf(x):\n    return 0.5 * (1 + torch.erf(x / 2**0.5))\n"),
    ),
    evidence=evidence,
    opt_in=True,
)
