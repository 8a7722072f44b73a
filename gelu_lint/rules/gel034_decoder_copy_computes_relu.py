"""A GELU module in a torch decoder layer that is copied: the copies compute ReLU instead.

## What it does
Reports a module as the activation, such as `nn.GELU()`, of an `nn.TransformerDecoderLayer` that the file hands to
`nn.TransformerDecoder` or `copy.deepcopy`, and of an `nn.Transformer`, which copies its decoder layer itself. It is
silent where nothing is seen to copy the layer, such as in a list that makes each one anew; where `nn.Transformer` is
given a `custom_decoder`, or only its encoder is used; in a subclass with a `forward` of its own; and in a file that has
a `__setstate__`, or sets the `activation` of a layer afterwards. Encoder layers keep their activation.

## Why is this bad
To copy or unpickle a module, torch calls its `__setstate__`, and that of the decoder layer sets `F.relu` if it finds no
"activation" among the attributes that are kept. A module is kept elsewhere, so the copy has both, and the attribute
hides the module: `print` shows GELU, while training and eval compute ReLU, without a warning. They are up to 0.170
apart (measured with torch 2.13; `copy.copy`, pickling, and `torch.save` with `torch.load` of such a layer do the same).

## Fix safety
The fix hands over `partial(F.gelu, approximate="none")`, or "tanh" for a tanh module: a function is kept by all copies.
It computes what the module says, and what a model computes changes from ReLU to the GELU, by up to 0.170. Weights that
were trained with the ReLU expect the ReLU: write `activation="relu"` for these. A `partial` is no module, so hooks and
`named_modules()` do not see it, and the encoder of `nn.Transformer` leaves its fast path in eval, which is slower:
`fix` applies it only with `--unsafe-fixes`. No fix is offered for other modules than `nn.GELU`, where the flavour is
chosen at run time or by a policy that says another, or where the project accepts a torch below 1.12.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gelu_lint.facts.table import callables
from gelu_lint.fixes import as_function, can_choose
from gelu_lint.model import FileSummary, Finding, Fix, Held, Project
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, apart
from gelu_lint.roles import is_reference, is_test
from gelu_lint.rule import Rule, bad, good

_FUNCTION = "torch.nn.functional.gelu"


def _flavour(held: Held, file: FileSummary) -> str:
    """What the module computes, "" where it is a class of this file that is not known to be one GELU."""
    if held.gelu in callables():
        return held.flavour
    inside = [site.flavour for site in file.sites if site.symbol == f"{held.gelu}.forward"]
    return inside[0] if len(inside) == 1 and inside[0] in FLAVOURS and inside[0] not in OTHERS else ""


def _fix(file: FileSummary, project: Project, held: Held, delta: float | None) -> Fix | None:
    """The function that computes what the module does."""
    known = held.gelu == "torch.nn.GELU" and held.flavour in ("erf", "tanh")
    if not known or not can_choose(callables()[_FUNCTION], project):
        return None
    if project.policy not in ("", held.flavour):
        return None  # GEL002 writes the policy's first
    return as_function(file, held, held.flavour, delta)


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for held in file.held:
        if not held.copied or held.guard == "raises" or is_test(file.place, held.symbol) or is_reference(held.symbol):
            continue
        flavour = _flavour(held, file)
        if not flavour:
            continue
        size = apart("relu", flavour if flavour in FLAVOURS else "erf").size
        copier = held.copied.rpartition(".")[2]
        its = "its decoder layer" if held.copied == held.callee else "the layer"
        message = (
            f"{copier} copies {its}, and the copies compute ReLU in the place of this GELU, up to {size:.3f} away: "
            "torch keeps an activation that is a function, and sets F.relu where it is a module"
        )
        data = (("flavour", flavour), ("framework", "torch"), ("symbol", held.symbol or None))
        fix = _fix(file, project, held, size)
        yield Finding("GEL034", file.path, held.span, message, "error", fix, data, statement=held.statement)


def evidence() -> None:
    """Decoders compute ReLU with a module and its GELU with a function, in training and in eval; encoders keep both."""
    import copy
    import warnings
    from functools import partial

    import torch
    import torch.nn.functional as F
    from torch import nn

    x = torch.linspace(-6, 6, 24_001, dtype=torch.float64)
    erf, tanh = partial(F.gelu, approximate="none"), partial(F.gelu, approximate="tanh")

    def made(activation: Any) -> list[Any]:
        layer = nn.TransformerDecoderLayer(8, 2, 8, 0.0, activation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the encoder takes no fast path
            whole = nn.Transformer(8, 2, 1, 1, 8, 0.0, activation)
        return [nn.TransformerDecoder(layer, 2).layers[1], copy.deepcopy(layer), whole.decoder.layers[0]]

    def output(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """What the layer makes of unit weights: the activation of a normalised input, in the place of its output."""
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            for weight in (layer.linear1.weight, layer.linear2.weight):
                weight.copy_(torch.eye(8))
            layer.norm1.weight.fill_(1.0)
            layer.norm2.weight.fill_(1.0)
            layer.norm3.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
            seen: list[torch.Tensor] = []
            given = torch.linspace(-3, 3, 8).expand(2, 1, 8)
            layer(given, given)
            normed = F.layer_norm(F.layer_norm(given, (8,)), (8,))
            return seen[0] - normed, normed

    for module, function in ((nn.GELU(approximate="none"), erf), (nn.GELU(approximate="tanh"), tanh)):
        for layer in made(module):
            assert torch.equal(layer.activation(x), F.relu(x))
            assert abs(float((layer.activation(x) - function(x)).abs().max()) - 0.170) < 1e-3
            for mode in (True, False):
                found, normed = output(layer.train(mode))
                assert torch.allclose(found, F.relu(normed), atol=1e-6)
        for layer in made(function):
            for mode in (True, False):
                found, normed = output(layer.train(mode))
                assert torch.allclose(found, function(normed), atol=1e-6)
                assert float((found - F.relu(normed)).abs().max()) > 0.05
        encoder = nn.TransformerEncoderLayer(8, 2, 8, 0.0, module)
        assert torch.equal(copy.deepcopy(encoder).activation(x), function(x))
        alone = nn.TransformerDecoderLayer(8, 2, 8, 0.0, module)
        assert torch.equal(alone.activation(x), function(x))


_HEAD = "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
_PARTIAL = "from functools import partial\n\n"
_NONE, _TANH = 'nn.GELU(approximate="none")', 'nn.GELU(approximate="tanh")'
_MENDED = 'partial(nn.functional.gelu, approximate="{}")'
_LAYER = "nn.TransformerDecoderLayer(d, 8, activation="

RULE = Rule(
    "GEL034",
    "decoder-copy-computes-relu",
    "GELU module in a `TransformerDecoderLayer` that is copied, or in `nn.Transformer`: the decoder computes ReLU",
    '`partial(F.gelu, approximate="none")` (0.170, changes the kind of object)',
    "error",
    check,
    __doc__,
    examples=(
        bad(
            f"{_HEAD}        self.decoder = nn.TransformerDecoder({_LAYER}{_NONE}), 6)\n",
            at="7:90",
            fixed=f"{_PARTIAL}{_HEAD}        self.decoder = nn.TransformerDecoder({_LAYER}"
            f"{_MENDED.format('none')}), 6)\n",
            delta=0.1700,
            reach="interface",
        ),
        bad(
            f"{_HEAD}        layer = {_LAYER}{_TANH})\n        self.decoder = nn.TransformerDecoder(layer, 6)\n",
            at="7:61",
            fixed=f"{_PARTIAL}{_HEAD}        layer = {_LAYER}{_MENDED.format('tanh')})\n"
            "        self.decoder = nn.TransformerDecoder(layer, 6)\n",
            delta=0.1700,
            reach="interface",
        ),
        bad(
            f"import copy\n\n{_HEAD}        layer = {_LAYER}{_NONE})\n"
            "        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(6)])\n",
            at="9:61",
            fixed=f"from functools import partial\nimport copy\n\n{_HEAD}"
            f"        layer = {_LAYER}{_MENDED.format('none')})\n"
            "        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(6)])\n",
            delta=0.1700,
            reach="interface",
        ),
        bad(
            f"import torch.nn.functional as F\n{_HEAD}        self.net = nn.Transformer(d, 8, activation={_NONE})\n",
            at="8:52",
            fixed=f"{_PARTIAL}import torch.nn.functional as F\n{_HEAD}        self.net = nn.Transformer(d, 8, "
            'activation=partial(F.gelu, approximate="none"))\n',
            delta=0.1700,
            reach="interface",
        ),
        bad(
            "import torch\nfrom torch import nn\n\n\nclass QuickGELU(nn.Module):\n    def forward(self, x):\n"
            "        return x * torch.sigmoid(1.702 * x)\n\n\n"
            "layer = nn.TransformerDecoderLayer(64, 8, activation=QuickGELU())\n"
            "decoder = nn.TransformerDecoder(layer, 6)\n",
            at="10:54",
        ),
        good(
            f"{_HEAD}        self.layers = nn.ModuleList([\n            {_LAYER}{_NONE}) for _ in range(6)\n"
            "        ])\n"
        ),
        good(
            f"{_HEAD}        layer = nn.TransformerEncoderLayer(d, 8, activation={_NONE})\n"
            "        self.encoder = nn.TransformerEncoder(layer, 6)\n"
        ),
        good(f"{_HEAD}        self.net = nn.Transformer(d, 8, activation={_NONE}, custom_decoder=Decoder(d))\n"),
        good(
            f"{_PARTIAL}import torch.nn.functional as F\n{_HEAD}        layer = {_LAYER}"
            'partial(F.gelu, approximate="tanh"))\n        self.decoder = nn.TransformerDecoder(layer, 6)\n'
        ),
        good(
            f"{_HEAD}        self.decoder = nn.TransformerDecoder({_LAYER}{_NONE}), 6)\n"
            f"        for layer in self.decoder.layers:\n            layer.activation = {_NONE}\n"
        ),
    ),
    evidence=evidence,
)
