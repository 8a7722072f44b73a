"""An explicit flavour that differs from the one the project decided on.

## What it does
Reports an explicit `approximate` (or its like in another framework) that selects another flavour than
`approximate = "…"` in `[tool.gelu-lint]`. Without that setting the rule is silent.

## Why is this bad
A project that trains with one flavour and evaluates, exports or ports with another is off by up to 4.7e-4 in every
activation. This is a policy rule: it enforces what the project wrote down.

## Fix safety
The fix writes the policy's value. It changes values by up to 4.7e-4, so `fix` needs `--allow-delta 5e-4`. Places that
hold several flavours on purpose are not reported: tests, reference functions, tables of activations, functions and
classes that are named after a flavour (`gelu_tanh`), and branches that choose one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.table import callables
from gelu_lint.fixes import overruled, spell
from gelu_lint.misuse import chosen, misuse
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.roles import is_defined, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    policy = project.policy
    for site in file.sites:
        if not policy or site.given not in ("literal", "constant") or site.flavour == policy:
            continue
        if site.flavour not in ("erf", "tanh") or misuse(site) is not None or is_defined(site):
            continue
        if is_test(file.place, site.symbol) or is_reference(site.symbol, site.key):
            continue
        row = callables()[site.callee]
        fix = None
        if site.given == "literal" and row.can_select(policy) and not overruled(site, policy, file):
            positional = [argument for argument in site.arguments if not argument.keyword]
            value = row.value_for(policy)
            edit = Edit(chosen(site, row, positional).value_span, spell(value, site.quote))
            delta = between(site.flavour, policy).size
            fix = Fix(f"write {row.keyword}={edit.content}", (edit,), delta=delta)
        message = f"{site.written} is the {site.flavour} GELU, where the project's policy is {policy}"
        yield report("GEL002", file, site, message, "info", fix, claimed=policy)


def evidence() -> None:
    """The two flavours differ by 4.7e-4, and the policy's value removes the difference."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    trained = F.gelu(x, approximate="tanh")
    assert (F.gelu(x, approximate="none") - trained).abs().max().item() > 4.7e-4
    assert torch.equal(F.gelu(x, approximate="tanh"), trained)


RULE = Rule(
    "GEL002",
    "approximate-against-policy",
    "explicit flavour that differs from `[tool.gelu-lint] approximate`",
    "write the policy's value (≤ 4.8e-4)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            'import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate="none")\n',
            at="5:12",
            fixed='import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate="tanh")\n',
            delta=4.73e-4,
            options={"approximate": "tanh"},
        ),
        bad(
            "from torch import nn\n\nact = nn.GELU('tanh')\n",
            at="3:7",
            fixed="from torch import nn\n\nact = nn.GELU('none')\n",
            delta=4.73e-4,
            options={"approximate": "none"},
        ),
        good(
            'from torch import nn\n\nact = nn.GELU(approximate="tanh")\n',
            options={"approximate": "tanh"},
        ),
        good('from torch import nn\n\nact = nn.GELU(approximate="none")\nother = nn.GELU(approximate="tanh")\n'),
        good(
            'from torch import nn\n\nTABLE = {"gelu": nn.GELU(approximate="none")}\n',
            options={"approximate": "tanh"},
        ),
        good(
            "import torch.nn.functional as F\n\n\nclass ExactGELU:\n    def forward(self, x):\n"
            '        return F.gelu(x, approximate="none")\n',
            options={"approximate": "tanh"},
        ),
        good(
            "import torch.nn.functional as F\n\n\ndef act(x, hidden_act):\n    if hidden_act == 'gelu':\n"
            "        return F.gelu(x, approximate='none')\n    if hidden_act == 'gelu_new':\n"
            "        return F.gelu(x, approximate='tanh')\n    raise ValueError(hidden_act)\n",
            options={"approximate": "tanh"},
        ),
        good(
            'import torch.nn.functional as F\n\n\ndef gelu_ref(x):\n    return F.gelu(x, approximate="none")\n',
            options={"approximate": "tanh"},
        ),
    ),
    evidence=evidence,
    policy=True,
    needs_policy=True,
)
