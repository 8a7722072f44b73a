"""Branches or table entries that should agree compute different GELUs.

## What it does
Reports a fused, fast or compiled path, a training branch, or a fallback for other versions whose GELU is another
flavour than that of the path beside it; a test for part of an activation's name (`name.startswith("gelu")`, `"gelu" in
name`) that gives one fixed flavour; and one operation under two names that mean different flavours in Hugging Face
configs (`gelu` is erf, `gelu_new` and `gelu_pytorch_tanh` are tanh, `quick_gelu` is x·σ(1.702x)). A branch on a
parameter that chooses the flavour, and a branch on the device (GEL032), are not reported.

## Why is this bad
Nobody who turns on a faster path, trains, or upgrades expects other values; and a checkpoint whose config says
`gelu_new` gets a function that it was not trained with. erf and tanh differ by up to 4.7e-4, quick from both by 0.02.

## Fix safety
There is no fix: only you know which of both is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.activation_names import NAMES
from gelu_lint.handwritten import defines_several, distance, graded, internal, label, spoken
from gelu_lint.model import Arm, Choice, FileSummary, Finding, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.roles import is_backward, is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report

_SAME = ("switch", "training", "version")
_WHY = {
    "switch": "a faster path should compute the same",
    "training": "training and inference should compute the same",
    "version": "a fallback should compute the same",
}


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    if internal(file):
        return
    for choice in file.choices:
        if is_test(file.place, choice.symbol) or is_reference(choice.symbol) or is_mock(choice.symbol):
            continue
        if is_backward(choice.symbol):
            continue
        if choice.form == "table":
            yield from _entries(file, choice)
        else:
            yield from _merged(file, choice)
            yield from _paths(file, choice)


def _paths(file: FileSummary, choice: Choice) -> Iterator[Finding]:
    """Two ways to compute the same thing that do not."""
    if choice.named and defines_several(file):
        return
    for i, arm in enumerate(choice.arms):
        if arm.kind not in _SAME or not arm.flavour:
            continue
        for other in choice.arms[i + 1 :]:
            if other.kind in (*_SAME, "") and other.flavour and other.flavour != arm.flavour:
                yield _differ(file, choice, arm, other)
                return


def _differ(file: FileSummary, choice: Choice, arm: Arm, other: Arm) -> Finding:
    gap = between(arm.flavour, other.flavour)
    where = f"if {arm.test}" if arm.test else "here"
    message = f"computes {label(arm.flavour)} {where}, and {label(other.flavour)} otherwise (line {other.span.row}): "
    message += f"{distance(gap.size, gap.at)}; {_WHY[arm.kind]}"
    found = report(
        "GEL017", file, choice, message, graded(gap.size), span=arm.span, flavour=arm.flavour, error=gap.size
    )
    related = ((file.path, other.span, f"{label(other.flavour)} otherwise"),)
    return found._replace(related=related, statement=arm.statement)


def _merged(file: FileSummary, choice: Choice) -> Iterator[Finding]:
    """One function for several names that mean different ones."""
    for arm in choice.arms:
        meant = {NAMES[name] for name in arm.names}
        if not arm.flavour or arm.kind != "name" or len(meant) < 2:
            continue
        wrong = [name for name in arm.names if NAMES[name] != arm.flavour]
        gap = max((between(NAMES[name], arm.flavour) for name in wrong), key=lambda found: found.size or 0)
        test = f" ({arm.test})" if arm.test else ""
        message = f"computes {label(arm.flavour)} for {_listed(wrong)}, too{test}: in Hugging Face configs "
        message += f"{'that is' if len(wrong) == 1 else 'these are'} {_kinds(wrong)}; {distance(gap.size, gap.at)}"
        found = report(
            "GEL017", file, choice, message, graded(gap.size), span=arm.span, flavour=arm.flavour, error=gap.size
        )
        yield found._replace(statement=arm.statement)


def _entries(file: FileSummary, choice: Choice) -> Iterator[Finding]:
    """Entries of one table under two names, the wrong one at its place."""
    for arm in choice.arms:
        name = arm.names[0] if arm.names else ""
        if not name or not arm.flavour or NAMES[name] == arm.flavour:
            continue
        others = [o for o in choice.arms if o.flavour == arm.flavour and o.names and NAMES[o.names[0]] == arm.flavour]
        if not others or any(site.span == arm.span and spoken(site, file) for site in file.sites):
            continue  # no other entry is this function by right; or an identity rule says so already
        gap = between(NAMES[name], arm.flavour)
        message = f"the same function, {label(arm.flavour)}, under {name} and {others[0].names[0]}: in Hugging Face "
        message += f"configs {name} is {label(NAMES[name])}; {distance(gap.size, gap.at)}"
        found = report(
            "GEL017", file, choice, message, graded(gap.size), span=arm.span, flavour=arm.flavour, error=gap.size
        )
        related = ((file.path, others[0].span, f"{others[0].names[0]}, the same function"),)
        yield found._replace(related=related, statement=arm.statement)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _kinds(names: list[str]) -> str:
    return _listed(list(dict.fromkeys(label(NAMES[name]) for name in names)))


def evidence() -> None:
    """Both paths of the example are run; and the registry's names are other functions than the one that they share."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    erf, tanh = F.gelu(x, approximate="none"), F.gelu(x, approximate="tanh")

    def mlp(h: torch.Tensor, fused: bool) -> torch.Tensor:
        return h * torch.sigmoid(1.702 * h) if fused else F.gelu(h, approximate="none")

    assert abs((mlp(x, True) - mlp(x, False)).abs().max().item() - 0.0203) < 1e-4
    assert abs((erf - tanh).abs().max().item() - 4.73e-4) < 1e-6
    new = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    assert (new - tanh).abs().max() < 1e-14, "what transformers calls gelu_new"


RULE = Rule(
    "GEL017",
    "branches-disagree",
    "branches or table entries that should agree compute different GELUs (error ≥ 1e-3, else warning)",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "import torch\nimport torch.nn.functional as F\n\n\nclass Mlp(torch.nn.Module):\n"
            "    def forward(self, x):\n        h = self.fc1(x)\n        if self.fused:\n"
            "            h = h * torch.sigmoid(1.702 * h)\n        else:\n"
            '            h = F.gelu(h, approximate="none")\n        return self.fc2(h)\n',
            at="9:17",
        ),
        bad(
            "from torch import nn\n\n\ndef build_activation(config):\n"
            '    if config.hidden_act.startswith("gelu"):\n        return nn.GELU(approximate="none")\n'
            "    raise ValueError(config.hidden_act)\n",
            at="6:16",
        ),
        bad(
            "from functools import partial\n\nimport torch.nn.functional as F\n\n"
            'smooth = partial(F.gelu, approximate="tanh")\n\nOPS = {"gelu": smooth, "gelu_new": smooth}\n',
            at="7:16",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef act(x):\n    try:\n"
            '        return F.gelu(x, approximate="tanh")\n    except TypeError:\n'
            "        return 0.5 * x * (1.0 + (x / 1.4142135623730951).erf())\n",
            at="6:16",
        ),
        good(
            "import torch.nn.functional as F\n\n\ndef act(x, approximate):\n    if approximate:\n"
            '        return F.gelu(x, approximate="tanh")\n    return F.gelu(x, approximate="none")\n'
        ),
        good(
            'from torch import nn\n\n\ndef build(name):\n    if name in ("gelu_new", "gelu_pytorch_tanh"):\n'
            '        return nn.GELU(approximate="tanh")\n    if name == "gelu":\n'
            '        return nn.GELU(approximate="none")\n    raise ValueError(name)\n'
        ),
        good(
            "import torch.nn.functional as F\n\n\nclass Mlp:\n    def forward(self, x):\n        if self.fused:\n"
            '            return F.gelu(x + self.bias, approximate="tanh")\n'
            '        return F.gelu(x.add(self.bias), approximate="tanh")\n'
        ),
    ),
    evidence=evidence,
)
