"""A name or docstring that says one GELU over code that computes another.

## What it does
Reports built-ins and formulas under a name that says which GELU it is and is wrong: `gelu_erf` that is tanh,
`"gelu_new": F.gelu`, `quick_gelu` that is erf, a docstring that gives the tanh formula over erf code. Names that leave
the choice open (`gelu`, `approx_gelu`), branches that choose one, and a registry's own names (HF calls a tanh
`gelu_accurate`) are not reported.

## Why is this bad
Whoever ports the weights goes by the name. erf and tanh differ by up to 4.7e-4, quick from both by 0.02.

## Fix safety
There is no fix: only you know whether the name or the code is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, graded, label, named, off, spoken, target
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if spoken(site, file) != "GEL015":
            continue
        by_text = bool(site.told) and site.flavour in (site.claimed or (site.flavour,))
        wanted = site.told if by_text else target(site, project)
        size, words = off(site.flavour, wanted)
        where = f"where the docstring gives the {site.told} formula" if by_text else named(site)
        message = f"computes {label(site.flavour)}, not {label(wanted)}, {where}: {words}"
        yield finding("GEL015", file, site, message, graded(size), None, size)


def evidence() -> None:
    """The flavours differ by 4.7e-4 and 0.02, so a name decides what a port computes."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    erf, tanh = F.gelu(x, approximate="none"), F.gelu(x, approximate="tanh")
    assert abs((erf - tanh).abs().max().item() - 4.73e-4) < 1e-6
    assert abs((erf - x * torch.sigmoid(1.702 * x)).abs().max().item() - 0.0203) < 1e-4


RULE = Rule(
    "GEL015",
    "name-contradicts-flavour",
    "name, registry key or docstring that says another GELU than the code computes (error ≥ 1e-3, else warning)",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "import torch.nn.functional as F\n\nACT2FN = {'relu': F.relu, 'gelu_new': F.gelu}\n",
            at="3:39",
        ),
        bad(
            'import torch.nn.functional as F\n\n\ndef quick_gelu(x):\n    return F.gelu(x, approximate="none")\n',
            at="5:12",
        ),
        bad(
            "import torch\n\n\ndef gelu_exact(x):\n"
            "    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))\n",
            at="5:12",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef act(x):\n"
            '    """0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3)))."""\n'
            '    return F.gelu(x, approximate="none")\n',
            at="6:12",
        ),
        good(
            "from functools import partial\n\nimport torch.nn.functional as F\n\n"
            'ACT2FN = {"gelu": partial(F.gelu, approximate="none"), "gelu_new": partial(F.gelu, approximate="tanh")}\n'
        ),
        good(
            "import torch.nn.functional as F\n\n\ndef gelu_tanh(x, exact=False):\n    if exact:\n"
            '        return F.gelu(x, approximate="none")\n    return F.gelu(x, approximate="tanh")\n'
        ),
        good(
            'import torch.nn.functional as F\n\n\ndef act(x):\n    """GELU, slightly different from '
            '0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3)))."""\n    return F.gelu(x, approximate="none")\n'
        ),
    ),
    evidence=evidence,
)
