"""A tanh GELU module in a torch encoder layer: in eval, torch computes erf instead.

## What it does
Reports an `nn.GELU(approximate="tanh")` object as the activation of an `nn.TransformerEncoderLayer` or
`nn.Transformer` that is built with `batch_first=True`. It is silent where the fast path is never taken: without
`batch_first`, with `bias=False`, with an odd number of heads, in a subclass with a `forward` of its own, where a file
calls `torch.backends.mha.set_fastpath_enabled(False)`; and for decoder layers, which have none.

## Why is this bad
In eval without gradients torch runs the layer as one fused kernel. Whether it may is asked with
`isinstance(activation, nn.GELU)`, not with its `approximate`, and the kernel knows the erf GELU alone: the layer
computes tanh while it is trained and erf afterwards. The activation is off by up to 4.7e-4; the output of one layer
of width 64 by 1.5e-4, where other activations agree to 5e-7 (measured with torch 2.13).

## Fix safety
The fix hands over `partial(F.gelu, approximate="tanh")`, which torch does not mistake for erf: it computes what
training does, on the ordinary path, which is slower in eval. Outputs in eval change by the error that it mends; those
in training do not. None is offered for an `nn.Transformer` whose decoder computes ReLU: GEL034 writes the same and says
what changes there. A `partial` is no module, so hooks and `named_modules()` do not see it: `fix` applies it only with
`--unsafe-fixes`. If the weights were trained elsewhere with the erf GELU, write `nn.GELU(approximate="none")`
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gelu_lint.fixes import as_function, fused
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.roles import is_reference, is_test
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for held in file.held:
        if held.flavour != "tanh" or not fused(held, file) or held.guard == "raises":
            continue
        if is_test(file.place, held.symbol) or is_reference(held.symbol):
            continue
        size = between("tanh", "erf").size
        where = held.callee.rpartition(".")[2]
        message = (
            f"{where} with batch_first=True computes the erf GELU in eval: its fast path takes any nn.GELU for erf; "
            f"training computes tanh, up to {size:.2e} away".replace("e-0", "e-")
        )
        data = (("flavour", held.flavour), ("framework", "torch"), ("symbol", held.symbol or None))
        # What GEL002 writes for a policy comes first; where a decoder computes ReLU, GEL034 writes the same text, and
        # says that it changes more.
        fix = as_function(file, held, "tanh", size) if project.policy in ("", "tanh") and not held.copied else None
        yield Finding("GEL030", file.path, held.span, message, "warning", fix, data, statement=held.statement)


def evidence() -> None:
    """Eval differs from training by 1e-4 with the module on the fast path, by rounding with the partial."""
    from functools import partial

    import torch
    import torch.nn.functional as F
    from torch import nn

    def gap(activation: Any, **options: Any) -> float:
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, activation, **options)
        x = torch.randn(3, 5, 64)
        with torch.no_grad():
            trained, evaluated = layer.train()(x), layer.eval()(x)
        return float((trained - evaluated).abs().max())

    tanh, erf = nn.GELU(approximate="tanh"), nn.GELU(approximate="none")
    assert gap(tanh, batch_first=True) > 5e-5
    assert gap(tanh, batch_first=True, norm_first=True) > 5e-5
    for activation in (partial(F.gelu, approximate="tanh"), erf, F.gelu, "gelu"):
        assert gap(activation, batch_first=True) < 5e-6
    assert gap(tanh) < 5e-6
    assert gap(tanh, batch_first=True, bias=False) < 5e-6


_HEAD = "from torch import nn\n\n\nclass Tower(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
_BASE = "import torch.nn.functional as F\nfrom torch import nn\n\n\nclass Layer(nn.TransformerEncoderLayer):\n"
_DELTA = 4.732e-4

RULE = Rule(
    "GEL030",
    "encoder-fast-path",
    "tanh `nn.GELU` object in a `TransformerEncoderLayer` with `batch_first=True`: eval computes erf",
    '`partial(F.gelu, approximate="tanh")` (4.7e-4, in eval only; changes the kind of object)',
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "from functools import partial\n\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
            "def layer(d):\n    norm = partial(nn.LayerNorm, eps=1e-6)\n    return norm(d), F.dropout, "
            'nn.TransformerEncoderLayer(d, 4, batch_first=True, activation=nn.GELU(approximate="tanh"))\n',
            at="9:94",
            fixed="from functools import partial\n\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
            "def layer(d):\n    norm = partial(nn.LayerNorm, eps=1e-6)\n    return norm(d), F.dropout, "
            'nn.TransformerEncoderLayer(d, 4, batch_first=True, activation=partial(F.gelu, approximate="tanh"))\n',
            delta=_DELTA,
            reach="interface",
        ),
        bad(
            _HEAD + "        act = nn.GELU('tanh')\n"
            "        self.layer = nn.TransformerEncoderLayer(d, 8, 4 * d, 0.1, act, batch_first=True)\n",
            at="8:67",
            fixed="from functools import partial\n\n" + _HEAD + "        act = nn.GELU('tanh')\n"
            "        self.layer = nn.TransformerEncoderLayer(d, 8, 4 * d, 0.1, "
            "partial(nn.functional.gelu, approximate='tanh'), batch_first=True)\n",
            delta=_DELTA,
            reach="interface",
        ),
        bad(
            _BASE + "    def __init__(self, d):\n"
            '        super().__init__(d, 8, activation=nn.GELU(approximate="tanh"), batch_first=True)\n',
            at="7:43",
            fixed="from functools import partial\n\n" + _BASE + "    def __init__(self, d):\n"
            '        super().__init__(d, 8, activation=partial(F.gelu, approximate="tanh"), batch_first=True)\n',
            delta=_DELTA,
            reach="interface",
        ),
        good(_HEAD + '        self.layer = nn.TransformerEncoderLayer(d, 8, activation=nn.GELU(approximate="tanh"))\n'),
        good(
            _HEAD + "        self.layer = nn.TransformerEncoderLayer(\n"
            '            d, 8, activation=nn.GELU(approximate="none"), batch_first=True\n        )\n'
        ),
        good(
            _HEAD + "        self.layer = nn.TransformerDecoderLayer(\n"
            '            d, 8, activation=nn.GELU(approximate="tanh"), batch_first=True\n        )\n'
        ),
        good(
            _HEAD + "        self.layer = nn.TransformerEncoderLayer(\n"
            '            d, 8, activation=nn.GELU(approximate="tanh"), batch_first=True, bias=False\n        )\n'
        ),
    ),
    evidence=evidence,
)
