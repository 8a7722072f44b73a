"""A choice of GELU that is accepted and then lost.

## What it does
Reports `approximate` or `act_layer` parameters (and fields of Flax modules and dataclasses) that nothing reads, beside
a GELU that is always the same; `self.approximate = "tanh"` over what was given; replacements of `F.gelu` that lack or
ignore `approximate`; swap loops and wrappers that put a fresh GELU in the place of one without a look at its
`approximate`; layers that take an activation and do not hand it on to a layer of the same file that has a default;
and feed-forward blocks that take their width from a config and their activation from nowhere.

Methods that only raise, overloads, signatures that are laid down elsewhere, parameters that are said to be ignored, and
swaps to another kind of activation are not reported.

## Why is this bad
Who passes `approximate="tanh"` gets erf, 4.7e-4 away, and nothing says so; who sets `config.hidden_act = "relu"` trains
a GELU.

## Fix safety
The fix hands the choice on, `approximate=approximate` or `approximate=child.approximate`. It is offered where a call
has one certain argument to take it, and computes the same bits as long as the default is chosen. Other choices,
ignored today, begin to count: it takes `--unsafe-fixes`. Elsewhere there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.dropped import edit_of, losses
from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose
from gelu_lint.model import FileSummary, Finding, Fix, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for loss in losses(file):
        fix = None
        edit = edit_of(loss)
        if edit is not None and loss.site is not None and can_choose(callables()[loss.site.callee], project):
            fix = Fix(f"hand it on as {loss.text}", (edit,), reach="interface")
        related = ((file.path, *loss.related),) if loss.related is not None else ()
        data = (("symbol", loss.symbol or None),)
        yield Finding(
            "GEL018", file.path, loss.span, loss.message, loss.severity, fix, data, related, statement=loss.statement
        )


def evidence() -> None:
    """A parameter that nothing reads changes nothing, and a fresh GELU in the place of a tanh one is 4.7e-4 off."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)

    def dropped(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
        return F.gelu(x, approximate="none")

    def kept(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
        return F.gelu(x, approximate=approximate)

    wanted = F.gelu(x, approximate="tanh")
    assert torch.equal(dropped(x), kept(x))
    assert abs((dropped(x, approximate="tanh") - wanted).abs().max().item() - 4.73e-4) < 1e-6
    assert torch.equal(kept(x, approximate="tanh"), wanted)

    child = nn.GELU(approximate="tanh")
    assert abs((nn.GELU()(x) - child(x)).abs().max().item() - 4.73e-4) < 1e-6
    assert torch.equal(nn.GELU(approximate=child.approximate)(x), child(x))


RULE = Rule(
    "GEL018",
    "flavour-dropped",
    "choice of GELU that is accepted and then lost: unread parameter, wrapper or swap without `.approximate`",
    "hand it on (0 for the default), where that is certain",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "import torch.nn.functional as F\n\n\ndef act(x, *, approximate='none'):\n"
            "    return F.gelu(x, approximate='none')\n",
            at="4:15",
            reach="interface",
            fixed="import torch.nn.functional as F\n\n\ndef act(x, *, approximate='none'):\n"
            "    return F.gelu(x, approximate=approximate)\n",
        ),
        bad(
            "import torch\nimport torch.nn.functional as F\n\n\nclass GELU(torch.nn.Module):\n"
            '    def __init__(self, approximate: str = "tanh"):\n        super().__init__()\n'
            '        self.approximate = "tanh"\n\n    def forward(self, x):\n'
            "        return F.gelu(x, approximate=self.approximate)\n",
            at="6:24",
        ),
        bad(
            "from torch import nn\n\n\nclass Mlp(nn.Module):\n    def __init__(self, dim, act_layer=None):\n"
            "        super().__init__()\n        self.fc1, self.fc2 = nn.Linear(dim, dim), nn.Linear(dim, dim)\n"
            '        self.act = nn.GELU(approximate="tanh")\n',
            at="5:29",
        ),
        bad(
            "from torch import nn\n\n\nclass FeedForward(nn.Module):\n    def __init__(self, config):\n"
            "        super().__init__()\n        self.up = nn.Linear(config.hidden_size, config.intermediate_size)\n"
            '        self.act = nn.GELU(approximate="none")\n',
            at="8:20",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef exact(x):\n    return F.relu(x) * 0.5\n\n\nF.gelu = exact\n",
            at="4:5",
        ),
        bad(
            "import torch\nfrom torch import nn\n\n\nclass Observed(nn.Module):\n"
            "    def __init__(self, inner: nn.GELU, observer):\n        super().__init__()\n"
            "        self.observer = observer\n\n    def forward(self, x):\n"
            '        return self.observer(torch.nn.functional.gelu(x, approximate="none"))\n',
            at="6:24",
        ),
        good(
            "import torch.nn.functional as F\nfrom torch import nn\n\n\nclass Mlp(nn.Module):\n"
            "    def __init__(self, dim, act_layer, approximate):\n        super().__init__()\n"
            "        self.act = act_layer()\n        self.approximate = approximate\n\n    def forward(self, x):\n"
            "        return self.act(F.gelu(x, approximate=self.approximate))\n"
        ),
        good(
            "from torch import nn\n\n\ndef swap(model):\n    for name, child in model.named_children():\n"
            "        if isinstance(child, nn.GELU):\n            setattr(model, name, nn.SiLU())\n"
        ),
        good(
            "import torch.nn.functional as F\n\n\ndef act(x, approximate=None):  # approximate is ignored here\n"
            '    return F.gelu(x, approximate="none")\n'
        ),
    ),
    evidence=evidence,
)
