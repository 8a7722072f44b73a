"""Layers of torch that are copied: what a copy computes is run, and what a file shows of it is seen."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gelu_lint.engine import judge, summarise
from gelu_lint.facts.layers import COPIERS
from gelu_lint.fixer import fix
from gelu_lint.model import Finding, Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = "import copy\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
CODES = tuple(rule.code for rule in all_rules())
LAYER = "nn.TransformerDecoderLayer(64, 8, activation=nn.GELU())"


def found(text: str, path: str = "model.py", project: Project | None = None) -> list[Finding]:
    """The findings of GEL034, seen in part and in all of a text alike."""
    source, project = decode(path, text.encode()), project or Project()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = judge(summarise(source), project, CODES) if passes(text.encode()) else []
    whole = judge(summarise(source, complete=True), project, CODES)
    mine = [finding for finding in whole if finding.code == "GEL034"]
    assert [(f.span, f.message) for f in part if f.code == "GEL034"] == [(f.span, f.message) for f in mine]
    return mine


COPIED = {
    "inline": f"x = nn.TransformerDecoder({LAYER}, 6)\n",
    "by name": f"x = nn.TransformerDecoder(num_layers=6, decoder_layer={LAYER})\n",
    "by position": "x = nn.TransformerDecoder(nn.TransformerDecoderLayer(64, 8, 256, 0.1, nn.GELU('tanh')), 6)\n",
    "a variable": f"def f():\n    layer = {LAYER}\n    log(layer)\n    return nn.TransformerDecoder(layer, 6)\n",
    "a constant": f"LAYER = {LAYER}\n\n\ndef f():\n    return nn.TransformerDecoder(LAYER, 6)\n",
    "an attribute": "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    f"        self.layer = {LAYER}\n"
    "        self.decoder = nn.TransformerDecoder(self.layer, 6)\n",
    "one of two": f"def f(t):\n    if t:\n        layer = {LAYER}\n    else:\n        layer = Other()\n"
    "    return nn.TransformerDecoder(layer, 6)\n",
    "of its file": "from torch.nn.modules.transformer import TransformerDecoder as D, TransformerDecoderLayer as L\n"
    "layer = L(64, 8, activation=nn.GELU())\nx = D(layer, 6)\n",
    "clones of torch": "from torch.nn.modules.transformer import _get_clones\n"
    f"layer = {LAYER}\nx = _get_clones(layer, 6)\n",
    "a deep copy": f"layer = {LAYER}\nx = nn.ModuleList([copy.deepcopy(layer) for _ in range(6)])\n",
    "a deep copy by import": "from copy import deepcopy\n\n\n"
    f"def f():\n    layer = {LAYER}\n    return deepcopy(layer)\n",
    "a function": f"def make():\n    return {LAYER}\n\n\nx = nn.TransformerDecoder(make(), 6)\n",
    "a partial": "from functools import partial\n\n"
    "make = partial(nn.TransformerDecoderLayer, activation=nn.GELU())\nx = nn.TransformerDecoder(make(64, 8), 6)\n",
    "a partial that is called": "from functools import partial\n\nmake = partial(nn.TransformerDecoderLayer, 64, 8)\n"
    "x = nn.TransformerDecoder(make(activation=nn.GELU()), 6)\n",
    "a subclass": "class L(nn.TransformerDecoderLayer):\n    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation=nn.GELU())\n\n\ndef f(d):\n    return nn.TransformerDecoder(L(d), 6)\n",
    "a subclass of the decoder": "class D(nn.TransformerDecoder):\n    def __init__(self, d):\n"
    "        super().__init__(nn.TransformerDecoderLayer(d, 8, activation=nn.GELU()), 6)\n",
    "its own decoder": "x = nn.Transformer(64, 8, activation=nn.GELU())\n",
    "its own decoder by position": "x = nn.Transformer(64, 8, 6, 6, 256, 0.1, nn.GELU('tanh'))\n",
    "no decoder that is given": "x = nn.Transformer(64, 8, activation=nn.GELU(), custom_decoder=None)\n",
    "its own decoder, used by halves": "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.net = nn.Transformer(64, 8, activation=nn.GELU()).to('cpu')\n"
    "    def forward(self, x, y):\n        return self.net.decoder(y, self.net.encoder(x))\n",
    "a derived class": "class G(nn.GELU):\n    pass\n\n\n"
    + f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU", "G"),
    "another's class": "from transformers.activations import QuickGELUActivation as Q\n"
    f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU", "Q"),
    "a class below": "def f():\n"
    "    return nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, activation=G()), 6)\n\n\n"
    "class G(nn.Module):\n    def forward(self, x):\n        return F.gelu(x)\n",
    "what is left out": "def f(act=None):\n"
    "    return nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, activation=act or nn.GELU()), 6)\n",
}
KEPT = {
    "not copied": f"x = {LAYER}\n",
    "made anew": f"x = nn.ModuleList([{LAYER} for _ in range(6)])\n",
    "another is copied": f"x = {LAYER}\ny = nn.TransformerDecoder(nn.TransformerDecoderLayer(64, 8), 6)\n",
    "a copy of another name": f"layer = {LAYER}\nlayer = f(layer)\nx = copy.deepcopy(layer)\n",
    "another's decoder": f"from mylib import TransformerDecoder\n\nx = TransformerDecoder({LAYER}, 6)\n",
    "another's layer": "from mylib import TransformerDecoderLayer\n\n"
    "x = nn.TransformerDecoder(TransformerDecoderLayer(64, 8, activation=nn.GELU()), 6)\n",
    "an encoder": f"x = nn.TransformerEncoder({LAYER}, 6)\n".replace("DecoderLayer", "EncoderLayer"),
    "a function": f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU()", "F.gelu"),
    "a name": f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU()", "'gelu'"),
    "a partial": f"from functools import partial\nx = nn.TransformerDecoder({LAYER}, 6)\n".replace(
        "nn.GELU()", "partial(F.gelu, approximate='tanh')"
    ),
    "no GELU": f"y = nn.GELU()\nx = nn.TransformerDecoder({LAYER}, 6)\n".replace("=nn.GELU()", "=nn.SiLU()"),
    "a class that is no GELU": "class A(nn.Module):\n    def forward(self, x):\n        return x.relu()\n\n\n"
    f"y = F.gelu\nx = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU", "A"),
    "a decoder that is given": "x = nn.Transformer(64, 8, activation=nn.GELU(), custom_decoder=f())\n",
    "a decoder that may be given": "def f(**k):\n    return nn.Transformer(64, 8, activation=nn.GELU(), **k)\n",
    "no decoder": "x = nn.Transformer(64, 8, num_decoder_layers=0, activation=nn.GELU())\n",
    "only its encoder": "x = nn.Transformer(64, 8, activation=nn.GELU()).encoder\n",
    "only its encoder, later": "net = nn.Transformer(64, 8, activation=nn.GELU())\n\n\ndef f(x):\n"
    "    return net.encoder(x)\n",
    "a decoder that is replaced": "net = nn.Transformer(64, 8, activation=nn.GELU())\nnet.decoder = f()\n"
    "y = net(x, x)\n",
    "a forward of its own": "class A(nn.Transformer):\n    def __init__(self):\n"
    "        super().__init__(64, 8, activation=nn.GELU())\n    def forward(self, x):\n"
    "        return self.encoder(x)\n",
    "mended": f"x = nn.TransformerDecoder({LAYER}, 6)\nfor layer in x.layers:\n    layer.activation = nn.GELU()\n",
    "its own copies": "class L(nn.TransformerDecoderLayer):\n    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation=nn.GELU())\n    def __setstate__(self, state):\n"
    "        nn.Module.__setstate__(self, state)\n\n\nx = nn.TransformerDecoder(L(64), 6)\n",
    "what raises": f"import pytest\n\nwith pytest.raises(TypeError):\n    nn.TransformerDecoder({LAYER}, 6)\n",
}


@pytest.mark.parametrize("code", COPIED.values(), ids=list(COPIED))
def test_a_copy_is_seen(code: str) -> None:
    assert [finding.severity for finding in found(HEAD + code)] == ["error"]


@pytest.mark.parametrize("code", KEPT.values(), ids=list(KEPT))
def test_what_is_kept_is_fine(code: str) -> None:
    assert found(HEAD + code) == []


def test_tests_may_do_it() -> None:
    assert found(HEAD + COPIED["inline"], "tests/test_decoder.py") == []


RUN = [name for name in COPIED if name not in ("another's class", "what is left out", "one of two")]


def decoders(code: str) -> list[nn.Module]:
    """The activations that layers call in what a file makes, by its functions, too."""
    space: dict[str, object] = {"__name__": "example", "log": print}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(HEAD + code, "model.py", "exec"), space)
        made = list(space.values())
        made += [space["f"](64) if "(d)" in code else space["f"]()] if "f" in space else []
        made += [
            space[name]() if name == "A" else space[name](64) for name in ("A", "D") if name in space and name != "D"
        ]
        if isinstance(space.get("D"), type) and space["D"] is not nn.TransformerDecoder:
            made.append(space["D"](64))
    layers = [m for item in made if isinstance(item, nn.Module) for m in item.modules()]
    kinds = (nn.TransformerDecoderLayer, nn.TransformerEncoderLayer)
    return [layer.activation for layer in layers if isinstance(layer, kinds)]


@pytest.mark.parametrize("name", RUN)
def test_what_is_seen_computes_relu(name: str) -> None:
    """Run with torch: a copied layer calls F.relu, and its GELU once the fix is applied."""
    assert F.relu in decoders(COPIED[name])
    fixed = fix(decode("model.py", (HEAD + COPIED[name]).encode()), Project(), ("GEL034",), 0.0, unsafe=True)
    if fixed.text != HEAD + COPIED[name]:
        calls = decoders(fixed.text)
        assert calls and all(isinstance(call, functools.partial) and call.func is F.gelu for call in calls)
        assert found(fixed.text) == []


SPARED = ("not copied", "made anew", "an encoder", "a function", "a name", "a partial", "no decoder", "its own copies")


@pytest.mark.parametrize("name", [*SPARED, "mended"])
def test_what_is_not_seen_computes_gelu(name: str) -> None:
    calls = decoders(KEPT[name])
    assert calls and F.relu not in calls


@pytest.mark.parametrize("name", COPIERS)
def test_what_copies_is_real(name: str) -> None:
    """Each of them takes a layer first, under the name that is stated, and hands on one that computes ReLU."""
    module, _, last = name.rpartition(".")
    copier = functools.reduce(getattr, module.split(".")[1:], torch) if module != "copy" else copy
    layer = nn.TransformerDecoderLayer(8, 2, activation=nn.GELU())
    rest = {} if module == "copy" else {"N": 1} if last == "_get_clones" else {"num_layers": 1}
    made = getattr(copier, last)(**{COPIERS[name]: layer}, **rest)
    (inner,) = [m for m in made.modules() if isinstance(m, nn.TransformerDecoderLayer)]
    assert inner.activation is F.relu and isinstance(layer.activation, nn.GELU)


def test_pickles_forget_it_too() -> None:
    layer = nn.TransformerDecoderLayer(8, 2, activation=nn.GELU())
    for made in (copy.copy(layer), pickle.loads(pickle.dumps(layer))):
        assert made.activation is F.relu


UNMENDED = {
    "a comment": f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("GELU()", "GELU(  # why\n)"),
    "another's class": COPIED["another's class"],
    "a class of its own": COPIED["a class below"],
    "what is left out": COPIED["what is left out"],
    "at run time": f"def f(mode):\n    return nn.TransformerDecoder({LAYER}, 6)\n".replace("GELU()", "GELU(mode)"),
}


@pytest.mark.parametrize("code", UNMENDED.values(), ids=list(UNMENDED))
def test_no_fix_where_it_would_lose_something(code: str) -> None:
    assert [finding.fix for finding in found(HEAD + code)] == [None]


def test_policy_and_floor_go_before() -> None:
    code = HEAD + COPIED["inline"]
    for project, mended in (
        (Project("erf"), True),
        (Project("tanh"), False),
        (Project("", (("torch", (1, 8), None, False),)), False),
        (Project("", (("torch", (2, 0), None, False),)), True),
    ):
        assert [finding.fix is not None for finding in found(code, project=project)] == [mended]


FAST = "nn.Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)"


def test_one_fix_for_encoder_and_decoder() -> None:
    """A tanh module in a whole transformer is wrong twice; the decoder's rule writes what mends both."""
    source = decode("model.py", f"{HEAD}x = {FAST}\n".encode())
    both = {f.code: f for f in judge(summarise(source), Project(), CODES) if f.code in ("GEL030", "GEL034")}
    assert both["GEL030"].span == both["GEL034"].span
    assert both["GEL030"].fix is None and both["GEL034"].fix.delta == pytest.approx(0.1700, abs=1e-4)
    alone = decode("model.py", f"{HEAD}x = {FAST[:-1]}, custom_decoder=d)\n".encode())
    assert [f.fix is None for f in judge(summarise(alone), Project(), ("GEL030", "GEL034"))] == [False]
    for codes in (("GEL030", "GEL034"), ("GEL034",), CODES):
        text = fix(source, Project(), codes, 0.0, unsafe=True).text
        assert "activation=partial(F.gelu, approximate='tanh')" in text
        left = {f.code for f in judge(summarise(decode("model.py", text.encode())), Project(), CODES)}
        assert left == set()
    assert fix(source, Project(), ("GEL030",), 1.0, unsafe=True).text == source.text


def test_delta_is_what_the_decoder_changes_by() -> None:
    z = torch.linspace(-6, 6, 240_001, dtype=torch.float64)
    for mode, text in (("none", "nn.GELU('none')"), ("tanh", "nn.GELU('tanh')")):
        (finding,) = found(HEAD + f"x = nn.TransformerDecoder({LAYER}, 6)\n".replace("nn.GELU()", text))
        size = (F.gelu(z, approximate=mode) - F.relu(z)).abs().max().item()
        assert finding.fix.delta == pytest.approx(size, abs=1e-6)
        assert f"{size:.3f}" in finding.message
