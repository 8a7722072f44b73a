"""SiLU, ReLU, ELU or another activation under a name that says GELU.

## What it does
Reports a formula such as `x * torch.sigmoid(x)`, and calls of and references to the activations of frameworks
(`nn.SiLU()`, `F.elu`, `jax.nn.silu`), where a function, class, attribute, variable, registry key, decorator or
docstring says GELU. Formulas are told by their values, however they are spelled. Names are read word by word: `regelu`
says nothing, `gelu_or_silu` and `swish` do not claim GELU.

## Why is this bad
SiLU is off by up to 0.193 from GELU (at x = ±1.96), ReLU by 0.17, ELU by 1. A checkpoint trained with GELU gives other
outputs, and a paper that says GELU reports a model that had none. Nothing fails.

## Fix safety
The fix writes the built-in GELU that the name asks for (erf where it leaves that open, or the project's policy), and
states the change: values move by up to 0.193 for SiLU. If the weights were trained with the code as it is, it is the
name that is wrong: rename it instead. No fix where the built-in would need more than the expression at hand, in
kernels, for NumPy, or where a comment would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.table import callables, others
from gelu_lint.handwritten import call_of, finding, graded, label, named, off, replacement, spoken, target
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project, Site
from gelu_lint.numerics.flavours import apart
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if spoken(site, file) != "GEL010":
            continue
        wanted = target(site, project)
        size, words = off(site.flavour, wanted)
        message = f"computes {label(site.flavour)} {named(site)}: {words}"
        fix = (
            replacement(file, project, site, wanted) if site.formula is not None else _call(file, site, wanted, project)
        )
        yield finding("GEL010", file, site, message, graded(size), fix, size)


def _call(file: FileSummary, site: Site, wanted: str, project: Project) -> Fix | None:
    """The GELU of the same framework and kind in the place of another activation."""
    row = others().get(site.callee)
    if row is None or row.instead not in callables():
        return None
    gelu = callables()[row.instead]
    delta = apart(site.flavour, wanted).size
    if site.spelling == "reference":
        return None  # un-called, no flavour can be stated
    inputs = [argument for argument in site.arguments if argument.keyword != "inplace"]
    if any(argument.keyword or argument.star for argument in inputs) or len(inputs) != (row.kind == "function"):
        return None
    if site.span.row != site.span.end_row or (gelu.keyword and not gelu.can_select(wanted)):
        return None
    text = call_of(file, project, row.instead, wanted, inputs[0].text if inputs else "", site.quote)
    return Fix(f"write {text[0]}", (Edit(site.span, text[0]),), text[1], delta=delta) if text is not None else None


def evidence() -> None:
    """SiLU is 0.193 away from GELU, ReLU 0.17, ELU 1; the built-in is GELU."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    gelu = F.gelu(x, approximate="none")
    for other, size in ((x * torch.sigmoid(x), 0.1930), (F.silu(x), 0.1930), (F.relu(x), 0.17), (F.elu(x), 1.0)):
        assert abs((other - gelu).abs().max().item() - size) < 1e-4
    assert torch.equal(torch.nn.GELU(approximate="none")(x), gelu)


_SILU = "import torch\n\n\ndef gelu(x):\n    return x * torch.sigmoid(x)\n"

RULE = Rule(
    "GEL010",
    "silu-as-gelu",
    "SiLU, ReLU, ELU … under a name, registry key, docstring or attribute that says GELU",
    '`F.gelu(x, approximate="none")` (0.193 for SiLU)',
    "error",
    check,
    __doc__,
    examples=(
        bad(
            _SILU,
            at="5:12",
            fixed='import torch\n\n\ndef gelu(x):\n    return torch.nn.functional.gelu(x, approximate="none")\n',
            delta=0.19300,
        ),
        bad(
            "from torch import nn\n\n\nclass Mixer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.gelu = nn.SiLU()\n",
            at="7:21",
            fixed="from torch import nn\n\n\nclass Mixer(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n"
            '        self.gelu = nn.GELU(approximate="none")\n',
            delta=0.19300,
        ),
        bad(
            "import torch.nn.functional as F\n\n\nclass Head:\n    def gelu(self, h):\n        return F.elu(h)\n",
            at="6:16",
            fixed="import torch.nn.functional as F\n\n\nclass Head:\n    def gelu(self, h):\n"
            '        return F.gelu(h, approximate="none")\n',
            delta=1.0,
        ),
        bad(
            "import torch\n\n\ndef swish(x):\n    return x * torch.sigmoid(x)\n\n\n"
            "ACT = {'gelu': swish, 'relu': torch.relu}\n",
            at="8:16",
        ),
        bad(
            'import torch\n\n\ndef activation(x):\n    """GELU activation."""\n    return x / (1 + torch.exp(-x))\n',
            at="6:12",
            fixed='import torch\n\n\ndef activation(x):\n    """GELU activation."""\n'
            '    return torch.nn.functional.gelu(x, approximate="none")\n',
            delta=0.19300,
        ),
        good(
            "import torch\n\n\ndef swish(x):\n    return x * torch.sigmoid(x)\n\n\ndef gelu_or_silu(x):\n"
            "    return swish(x)\n"
        ),
        good(
            "from torch import nn\n\n\nclass Block(nn.Module):\n    def __init__(self):\n"
            "        self.act = nn.SiLU()  # not gelu\n"
        ),
        good("import torch\n\n\ndef regelu(x):\n    return x * torch.sigmoid(x)\n"),
        good("import torch\n\n\ndef test_gelu(x):\n    gelu = x * torch.sigmoid(x)\n    assert gelu is not None\n"),
    ),
    evidence=evidence,
)
