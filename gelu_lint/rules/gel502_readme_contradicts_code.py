"""A README that says one GELU over code that computes another.

## What it does
In a run over a whole project, compares what a README says of the GELU with what the code at and below its directory
computes, where that is one flavour: every GELU but those of tests and references is read. Only statements about this
project's model count ("Activation: GELU (tanh approximation)", "we use the exact GELU"), not those about a part of it,
about other models, about choices, nor what stands in code blocks and quotes. A README that also says what is right is
not reported.

## Why is this bad
Who ports the weights, or writes the paper, goes by the README. erf and tanh differ by up to 4.7e-4, quick from both by
0.02; a port that follows it computes another function, and nothing fails.

## Fix safety
There is no fix: only you know whether the README or the code is right.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gelu_lint.computed import Computed, stated
from gelu_lint.handwritten import graded, label, off
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    for readme in files:
        said = [entry for entry in stated(readme) if entry.flavour]
        sure = [entry for entry in said if entry.literal]
        code = Computed(files, os.path.dirname(readme.path)) if sure else None
        if code is None or not code.flavour or code.flavour in {entry.flavour for entry in said}:
            continue
        first, site = code.first
        for entry in sure:
            size, words = off(entry.flavour, code.flavour)
            more = f" and {len(code.sites) - 1} more" if len(code.sites) > 1 else ""
            message = (
                f"the README says {label(entry.flavour)} here, and the code computes {label(code.flavour)} "
                f"({first.path}:{site.span.row}{more}): {words}"
            )
            found = report(
                "GEL502", readme, entry, message, graded(size), flavour=code.flavour, claimed=entry.flavour, error=size
            )
            yield found._replace(related=((first.path, site.span, f"computes {label(code.flavour)}"),))


def evidence() -> None:
    """A port that follows the README of the bad examples is 4.7e-4 and 0.02 off."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    code = F.gelu(x, approximate="none")
    assert abs((code - F.gelu(x, approximate="tanh")).abs().max().item() - 4.73e-4) < 1e-6
    assert abs((code - x * torch.sigmoid(1.702 * x)).abs().max().item() - 0.0203) < 1e-4


_MODEL = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w, approximate={})\n"
_TANH = {"net/model.py": _MODEL.format('"tanh"')}
_ERF = {"net/model.py": _MODEL.format('"none"')}
_MIXED = {**_ERF, "net/head.py": _MODEL.format('"tanh"')}

RULE = Rule(
    "GEL502",
    "readme-contradicts-code",
    "README that says another GELU than the code computes (error ≥ 1e-3, else warning)",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "# net\n\n## Architecture\n\nActivation: GELU (tanh approximation)\n",
            at="5:13",
            name="README.md",
            beside=_ERF,
        ),
        bad(
            "# net\n\n| part | choice |\n| --- | --- |\n| Activation | `QuickGELU` |\n",
            at="5:17",
            name="README.md",
            beside=_ERF,
        ),
        bad(
            "# net\n\nUnlike BERT, which has the erf GELU, we use the exact GELU.\n",
            at="3:49",
            name="README.md",
            beside=_TANH,
        ),
        good("# net\n\n## Architecture\n\nActivation: GELU (exact, erf)\n", name="README.md", beside=_ERF),
        good(
            "# net\n\nActivation: GELU (exact, erf)\n\n## Related work\n\nOther networks use the tanh GELU.\n",
            name="README.md",
            beside=_ERF,
        ),
        good("# net\n\nUnlike GPT-2, which uses the tanh GELU, we use the erf one.\n\n> Activation: QuickGELU\n",
             name="README.md", beside=_ERF),
        good("# net\n\nActivation: GELU (tanh approximation)\n", name="README.md", beside=_MIXED),
        good("# net\n\nActivation: GELU (tanh approximation)\n", name="net/sub/README.md", beside=_ERF),
    ),
    evidence=evidence,
    project=True,
    across=across,
)  # fmt: skip
