"""A name that no test and no table knows gives another activation instead of an error.

## What it does
Reports the arm that is taken for any other name where code chooses an activation by its name and a GELU is among what
it chooses from: the last `else`, the end of a ternary, `case _`, the default of `ACTS.get(name, nn.GELU)` and of
`getattr(nn, name, nn.GELU)`, an `except KeyError`. A switch that is no name is not reported, nor is a fallback that
warns, that a docstring tells of, or that is what the parameter's own default means; nor one behind a check of the name.
Where code knows a single name, that may be a switch with two states: then it is an info.

## Why is this bad
Other libraries have other names, and names are misspelt. `gelu_new` in a config of GPT-2 is the tanh GELU; code that
knows `gelu` and `relu` and gives SiLU for the rest builds a model whose activation is off by up to 0.19, loads the
weights without a word, and is only somewhat worse. A `KeyError` would have said so at once.

## Fix safety
There is no fix: only you know which names may come. Raise for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.activation_names import NAMES
from gelu_lint.handwritten import distance, graded, internal, label
from gelu_lint.model import Fallback, FileSummary, Finding, Project
from gelu_lint.numerics.flavours import FLAVOURS, GELUS, OTHERS, Difference, difference
from gelu_lint.roles import is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report

#: Names in the order in which configs are likely to have them.
_LIKELY = ("gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "gelu_fast")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    if internal(file):
        return
    for found in file.fallbacks:
        quiet = is_test(file.place, found.symbol) or is_reference(found.symbol) or is_mock(found.symbol)
        if quiet or found.told or {found.flavour, *found.gelus}.isdisjoint(GELUS):
            continue
        name = _falling(found)
        if name is None:
            continue
        computes = "leaves its input as it is" if found.flavour == "identity" else f"gives {label(found.flavour)}"
        gap = _gap(NAMES[name], found.flavour)
        message = f"{_who(found)} silently {computes}: {name} in a Hugging Face config is {label(NAMES[name])}, "
        message += distance(gap.size, gap.at)
        severity = "info" if found.whole and len(found.names) == 1 else graded(gap.size)
        yield report("GEL108", file, found, message, severity, flavour=found.flavour, claimed=name, error=gap.size)


def _who(found: Fallback) -> str:
    if found.names and found.whole and len(found.names) <= 4:
        return f"any name but {' and '.join(filter(None, (', '.join(found.names[:-1]), found.names[-1])))}"
    return "any name that is not known here"


def _falling(found: Fallback) -> str | None:
    """A Hugging Face name for another function that the fallback would take; None where there is none."""
    for name in _LIKELY:
        known = name in found.names if found.whole else any(part in name for part in found.names)
        if not known and NAMES[name] != found.flavour and not (found.form == "attribute" and name == "gelu"):
            return name
    return None


def _gap(name: str, flavour: str) -> Difference:
    other = FLAVOURS[flavour].value if flavour in FLAVOURS else OTHERS.get(flavour, lambda x: x)
    return difference(FLAVOURS[name].value, other)


def evidence() -> None:
    """The examples are run with a name of a Hugging Face config, which they take for another function."""
    import torch
    from torch import nn
    from transformers.activations import ACT2FN

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)

    def get_activation(name: str) -> nn.Module:
        if name == "gelu":
            return nn.GELU(approximate="none")
        elif name == "relu":
            return nn.ReLU()
        else:
            return nn.SiLU()

    acts = {"relu": nn.ReLU, "silu": nn.SiLU, "tanh": nn.Tanh}
    wanted = ACT2FN["gelu_new"](x)
    assert abs((get_activation("gelu_new")(x) - wanted).abs().max().item() - 0.193) < 1e-3
    assert abs((acts.get("gelu_new", nn.GELU)()(x) - wanted).abs().max().item() - 4.73e-4) < 1e-6
    assert (nn.Identity()(x) - wanted).abs().max() > 11, "it grows with -x"
    try:
        ACT2FN["gelu-new"]
    except KeyError:
        return
    raise AssertionError("a table that is asked without a default says what it lacks")


RULE = Rule(
    "GEL108",
    "silent-fallback",
    "an unknown name of an activation gives another one, no error (error ≥ 1e-3, else warning; one known: info)",
    "—",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            'from torch import nn\n\n\ndef get_activation(name):\n    if name == "gelu":\n'
            '        return nn.GELU(approximate="none")\n    elif name == "relu":\n        return nn.ReLU()\n'
            "    else:\n        return nn.SiLU()\n",
            at="10:16",
        ),
        bad(
            "from torch import nn\n\n\nclass Summary(nn.Module):\n    def __init__(self, config):\n"
            '        super().__init__()\n        gelu = nn.GELU(approximate="none")\n'
            '        self.act = gelu if config.summary_activation == "gelu" else nn.Identity()\n',
            at="8:69",
        ),
        bad(
            'from torch import nn\n\nACTS = {"relu": nn.ReLU(), "silu": nn.SiLU(), "tanh": nn.Tanh()}\n\n\n'
            'def make_act(name):\n    return ACTS.get(name, nn.GELU(approximate="none"))\n',
            at="7:27",
        ),
        bad(
            'from torch import nn\n\n\ndef activation(name):\n    match name:\n        case "relu":\n'
            '            return nn.ReLU()\n        case _:\n            return nn.GELU(approximate="tanh")\n',
            at="9:20",
        ),
        bad(
            'from torch import nn\n\nACTS = {"relu": nn.ReLU(), "silu": nn.SiLU()}\n\n\ndef make_act(act):\n    try:\n'
            '        return ACTS[act]\n    except KeyError:\n        return nn.GELU(approximate="none")\n',
            at="10:16",
        ),
        good(
            'from torch import nn\n\n\ndef get_activation(name):\n    if name == "gelu":\n'
            '        return nn.GELU(approximate="none")\n    if name in ("silu", "swish"):\n        return nn.SiLU()\n'
            '    if name in (None, "none"):\n        return nn.Identity()\n    raise ValueError(name)\n'
        ),
        good(
            "from torch import nn\n\n\nclass Head(nn.Module):\n    def __init__(self, use_activation: bool):\n"
            "        super().__init__()\n"
            '        self.act = nn.GELU(approximate="none") if use_activation else nn.Identity()\n'
        ),
        good(
            'import warnings\n\nfrom torch import nn\n\n\ndef get_activation(name):\n    if name == "relu":\n'
            '        return nn.ReLU()\n    warnings.warn(f"{name!r} is not known, taking GELU")\n'
            '    return nn.GELU(approximate="none")\n'
        ),
        good(
            'from torch import nn\n\n\ndef get_activation(name="gelu"):\n    if name == "relu":\n'
            '        return nn.ReLU()\n    return nn.GELU(approximate="none")\n'
        ),
    ),
    evidence=evidence,
)
