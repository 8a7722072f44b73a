"""A call of a framework's GELU that leaves out the argument which chooses the function.

## What it does
Reports calls such as `nn.GELU()` or `F.gelu(x)` without `approximate`, in every framework that has the argument under
some name.

## Why is this bad
The same word means different functions in different places: `torch.nn.GELU()` computes the erf form, `jax.nn.gelu(x)`
the tanh form, and `keras.ops.gelu` and `keras.activations.gelu` disagree with each other. They differ by up to 4.7e-4.
A reader, and whoever ports the code or its weights, cannot tell which one is meant. This is a policy rule: the code
runs as it is.

## Fix safety
The fix writes the value that is today's default, so results are bit-identical. Where `approximate` is set in
`[tool.gelu-lint]` it writes that value instead, which changes values by up to 4.7e-4 if it is not the default; `fix`
then needs `--allow-delta 5e-4`. In a `partial` and in `super().__init__()` the value binds later callers and
cooperating base classes, so there `fix` needs `--unsafe-fixes`. None is offered where the project accepts a torch older
than 1.12, which has no such argument.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.dropped import kept
from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose, default_of, insert, overruled, spell, why_not
from gelu_lint.misuse import misuse
from gelu_lint.model import FileSummary, Finding, Fix, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    elsewhere = kept(file)
    for site in file.sites:
        if site.form not in ("call", "partial", "super") or site.given != "absent" or misuse(site) is not None:
            continue
        row = callables()[site.callee]
        if row.required:
            continue  # without the argument the call raises, which is no implicit choice
        value, flavour = default_of(row, project.policy)
        delta = between(row.flavour, flavour).size
        fix = None
        edit = insert(site.slot, row.keyword, value, site.quote)
        free = site.span not in elsewhere and not overruled(site, flavour, file)
        if edit is not None and can_choose(row, project) and free:
            # What a partial or a base class is given binds those who call them, not this line alone.
            reach = "local" if site.form == "call" else "interface"
            fix = Fix(f"write {row.keyword}={spell(value, site.quote)}", (edit,), delta=delta, reach=reach)
        message = f"{site.written} without {row.keyword}: computes the {row.flavour} GELU, the default of {row.name}"
        if flavour != row.flavour:
            message += f", where the project's policy is {flavour}"
        yield report("GEL001", file, site, message + why_not(row, project), "info", fix, claimed=None)


def evidence() -> None:
    """The default is the erf form, bit for bit, and leaving it out hides a choice worth 4.7e-4."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    assert torch.equal(torch.nn.GELU()(x), torch.nn.GELU(approximate="none")(x))
    assert torch.equal(F.gelu(x), F.gelu(x, approximate="none"))
    gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max().item()
    assert abs(gap - 4.73e-4) < 1e-6


RULE = Rule(
    "GEL001",
    "implicit-approximate",
    "call of a GELU without the argument that chooses its flavour",
    "write today's default (0), or the policy's value (≤ 4.8e-4)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            "from torch import nn\n\nact = nn.GELU()\n",
            at="3:7",
            fixed='from torch import nn\n\nact = nn.GELU(approximate="none")\n',
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x, w):\n    return F.gelu(\n        x @ w,\n    )\n",
            at="5:12",
            fixed="import torch.nn.functional as F\n\n\ndef block(x, w):\n    return F.gelu(\n        x @ w,\n"
            '        approximate="none",\n    )\n',
        ),
        bad(
            "from functools import partial\nfrom torch import nn\n\nmake = partial(nn.GELU)\n",
            at="4:8",
            fixed="from functools import partial\nfrom torch import nn\n\n"
            'make = partial(nn.GELU, approximate="none")\n',
            reach="interface",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x)\n",
            at="5:12",
            fixed='import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate="tanh")\n',
            delta=4.73e-4,
            options={"approximate": "tanh"},
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x)\n",
            at="5:12",
            dependencies=("torch>=1.9",),
        ),
        bad(
            "from torch import nn\n\n\nclass Act(nn.GELU):\n    def __init__(self):\n        super().__init__()\n",
            at="6:9",
            fixed="from torch import nn\n\n\nclass Act(nn.GELU):\n    def __init__(self):\n"
            '        super().__init__(approximate="none")\n',
            reach="interface",
        ),
        good('import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate="none")\n'),
        good("import torch.nn.functional as F\n\n\ndef block(x, **options):\n    return F.gelu(x, **options)\n"),
        good(
            "from torch import nn\n\n\nclass Act(nn.GELU):\n    def __init__(self):\n"
            "        super(nn.GELU, self).__init__()\n        self.approximate = 'tanh'\n"
        ),
        good(
            "from unittest import mock\n\nimport torch.nn.functional as F\n\n\ndef test_calls():\n"
            "    with mock.patch.object(F, 'gelu') as fake:\n        F.gelu(1)\n    fake.assert_called_once_with(1)\n"
        ),
        good("import torch.nn.functional as F\n\n\ndef run(x, F):\n    return F.gelu(x)\n"),
    ),
    evidence=evidence,
    policy=True,
)
