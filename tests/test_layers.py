"""Layers that are given a GELU: by name, as a module that torch takes for erf, as an object that cannot be saved."""

from __future__ import annotations

import functools
import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gelu_lint.engine import judge, summarise
from gelu_lint.facts.table import layers
from gelu_lint.fixer import fix
from gelu_lint.model import Finding, Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
CODES = tuple(rule.code for rule in all_rules())


def found(code: str, text: str, path: str = "model.py") -> list[Finding]:
    """The findings of one rule, seen in part and in all of a text alike."""
    source = decode(path, text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = judge(summarise(source), Project(), CODES) if passes(text.encode()) else []
    whole = judge(summarise(source, complete=True), Project(), CODES)
    mine = [finding for finding in whole if finding.code == code]
    assert [(f.span, f.message) for f in part if f.code == code] == [(f.span, f.message) for f in mine]
    return mine


def rows(code: str, text: str, path: str = "model.py") -> list[int]:
    return [finding.span.row for finding in found(code, text, path)]


# GEL030

ENCODER = "nn.TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n"
FAST = {
    "keyword": "def f():\n    return " + ENCODER,
    "by position": "def f(d):\n    return nn.TransformerEncoderLayer(d, 8, 4 * d, 0.1, nn.GELU('tanh'), 1e-5, True)\n",
    "full path": "layer = torch.nn." + ENCODER[3:],
    "of its file": "from torch.nn.modules.transformer import TransformerEncoderLayer as T\n"
    "x = T(64, 8, activation=nn.GELU(approximate='tanh'), batch_first=True)\n",
    "an alias": "Layer = nn.TransformerEncoderLayer\n\n\ndef f():\n"
    "    return Layer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a variable": "def f():\n    act = nn.GELU(approximate='tanh')\n"
    "    return nn.TransformerEncoderLayer(64, 8, activation=act, batch_first=True)\n",
    "a constant": "ACT = nn.GELU('tanh')\nFIRST = True\n\n\ndef f():\n"
    "    return nn.TransformerEncoderLayer(64, 8, activation=ACT, batch_first=FIRST)\n",
    "an attribute": "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.act = nn.GELU('tanh')\n"
    "        self.layer = nn.TransformerEncoderLayer(64, 8, activation=self.act, batch_first=True)\n",
    "a flavour by its name": "MODE = 'tanh'\nx = nn.TransformerEncoderLayer(\n    64, 8, batch_first=True,\n"
    "    activation=nn.GELU(approximate=MODE),\n)\n",
    "a subclass": "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a subclass that names itself": "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
    "        super(A, self).__init__(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a base by name": "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
    "        nn.TransformerEncoderLayer.__init__(self, d, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a subclass as it is": "class A(nn.TransformerEncoderLayer):\n    pass\n\n\n"
    "x = A(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a partial": "from functools import partial\n\n"
    "make = partial(nn.TransformerEncoderLayer, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a partial that is called": "from functools import partial\n\n\ndef f():\n"
    "    make = partial(nn.TransformerEncoderLayer, batch_first=True)\n"
    "    return make(64, 8, activation=nn.GELU('tanh'))\n",
    "options in a dict": "OPTIONS = dict(batch_first=True, norm_first=True)\n\n\ndef f():\n"
    "    return nn.TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), **OPTIONS)\n",
    "all in a dict": "def f():\n    o = {'batch_first': True, 'activation': nn.GELU('tanh')}\n"
    "    return nn.TransformerEncoderLayer(64, 8, **o)\n",
    "an encoder of clones": "def f():\n    return nn.TransformerEncoder(\n        " + ENCODER.strip() + ", 6)\n",
    "a whole transformer": "x = nn.Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a GELU of its own": "class G(nn.GELU):\n    def __init__(self):\n"
    "        super().__init__(approximate='tanh')\n\n\n"
    "x = nn.TransformerEncoderLayer(64, 8, activation=G(), batch_first=True)\n",
    "a default": "def f(d, batch_first=True):\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=nn.GELU('tanh'), batch_first=batch_first)\n",
    "the rest unknown": "class A(nn.TransformerEncoderLayer):\n    def __init__(self, *args, **kwargs):\n"
    "        super().__init__(*args, activation=nn.GELU('tanh'), batch_first=True, **kwargs)\n",
    "what is left out": "def f(d, act=None):\n    if act is None:\n        act = nn.GELU('tanh')\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=act, batch_first=True)\n",
    "one or the other": "def f(d, act=None):\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=act or nn.GELU('tanh'), batch_first=True)\n",
    "heads unknown": "def f(d, heads):\n"
    "    return nn.TransformerEncoderLayer(d, heads, activation=nn.GELU('tanh'), batch_first=True)\n",
    "in a comprehension": "def f(n):\n    return nn.ModuleList([\n        "
    + ENCODER.strip()
    + " for _ in range(n)])\n",
    "the import of torch alone": "import torch as t\n\nx = t.nn." + ENCODER[3:].replace("nn.GELU", "t.nn.GELU"),
}
SLOW = {
    "no batch_first": "x = nn.TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'))\n",
    "batch_first off": "x = " + ENCODER.replace("True", "False"),
    "batch_first unknown": "def f(b):\n    return " + ENCODER.replace("True", "b"),
    "no biases": "x = " + ENCODER.replace("True", "True, bias=False"),
    "biases unknown": "def f(b):\n    return " + ENCODER.replace("True", "True, bias=b"),
    "odd heads": "x = " + ENCODER.replace("8", "3"),
    "odd heads by name": "HEADS = 5\nx = nn.TransformerEncoderLayer(65, nhead=HEADS, activation=nn.GELU('tanh'), "
    "batch_first=True)\n",
    "erf": "x = " + ENCODER.replace("'tanh'", "approximate='none'"),
    "the default": "x = " + ENCODER.replace("'tanh'", ""),
    "a flavour that is unknown": "def f(m):\n    return " + ENCODER.replace("'tanh'", "m"),
    "a partial of the function": "from functools import partial\n\nx = "
    + ENCODER.replace("nn.GELU('tanh')", "partial(F.gelu, approximate='tanh')"),
    "a lambda": "x = " + ENCODER.replace("nn.GELU('tanh')", "lambda x: F.gelu(x, approximate='tanh')"),
    "the function": "x = " + ENCODER.replace("nn.GELU('tanh')", "F.gelu"),
    "a string": "x = " + ENCODER.replace("nn.GELU('tanh')", "'gelu'"),
    "a decoder layer": "x = " + ENCODER.replace("Encoder", "Decoder"),
    "another's layer": "from mylib import TransformerEncoderLayer\n\nx = " + ENCODER[3:],
    "a forward of its own": "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n\n"
    "    def forward(self, x):\n        return self._ff_block(x)\n",
    "an encoder of its own": "x = nn.Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True, "
    "custom_encoder=e)\n",
    "switched off": "torch.backends.mha.set_fastpath_enabled(False)\nx = " + ENCODER,
    "unset": "layer = " + ENCODER + "layer.activation_relu_or_gelu = 0\n",
    "stars": "def f(*a, **k):\n    return nn.TransformerEncoderLayer(*a, activation=nn.GELU('tanh'), **k)\n",
    "a parameter": "def f(act):\n    return nn.TransformerEncoderLayer(64, 8, activation=act, batch_first=True)\n\n\n"
    "act = nn.GELU('tanh')\n",
    "another module": "x = nn.TransformerEncoderLayer(64, 8, activation=nn.SiLU(), batch_first=True)\n"
    "y = nn.GELU('tanh')\n",
    "one of two": "def f(d, t):\n    if t:\n        act = nn.GELU('tanh')\n    else:\n        act = nn.SiLU()\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=act, batch_first=True)\n",
    "rebound": "act = nn.GELU('tanh')\nact = nn.GELU()\nx = nn.TransformerEncoderLayer(64, 8, activation=act, "
    "batch_first=True)\n",
}


@pytest.mark.parametrize("code", FAST.values(), ids=list(FAST))
def test_fast_path_is_seen(code: str) -> None:
    assert len(rows("GEL030", HEAD + code)) == 1


@pytest.mark.parametrize("code", SLOW.values(), ids=list(SLOW))
def test_no_fast_path_no_finding(code: str) -> None:
    assert rows("GEL030", HEAD + code) == []


def test_tests_may_do_it() -> None:
    assert rows("GEL030", HEAD + "x = " + ENCODER, "tests/test_encoder.py") == []


FIXES = {
    "inline": (
        "x = " + ENCODER,
        "x = nn.TransformerEncoderLayer(64, 8, activation=partial(F.gelu, approximate='tanh'), ",
    ),
    "through a name": (FAST["a constant"], "activation=partial(F.gelu, approximate='tanh'), batch_first=FIRST"),
    "over rows": (
        "x = nn.TransformerEncoderLayer(\n    64, 8, batch_first=True,\n    activation=nn.GELU(\n"
        "        'tanh'\n    ),\n)\n",
        '    activation=partial(F.gelu, approximate="tanh"),\n)',
    ),
}


@pytest.mark.parametrize(("code", "expected"), FIXES.values(), ids=list(FIXES))
def test_fix_writes_the_partial(code: str, expected: str) -> None:
    result = fix(decode("model.py", (HEAD + code).encode()), Project(), ("GEL030",), 0.0, unsafe=True)
    assert expected in result.text and "from functools import partial\n" in result.text
    assert rows("GEL030", result.text) == []


@pytest.mark.parametrize("name", ["a comment", "all in a dict", "a partial that is called", "what is left out"])
def test_no_fix_where_it_would_lose_something(name: str) -> None:
    code = FAST.get(
        name, "x = nn.TransformerEncoderLayer(64, 8, activation=nn.GELU(  # why\n    'tanh'), batch_first=True)\n"
    )
    assert [finding.fix is None for finding in found("GEL030", HEAD + code)] == [name != "a partial that is called"]


def test_delta_is_the_error_in_eval() -> None:
    """With unit weights around it the activation alone is seen: eval gives erf before the fix, and tanh after it."""
    (finding,) = found("GEL030", HEAD + "x = " + ENCODER)
    x = torch.linspace(-6, 6, 2 * 6001, dtype=torch.float64).reshape(1, -1, 2)

    def output(activation: object) -> torch.Tensor:
        layer = nn.TransformerEncoderLayer(2, 2, 2, 0.0, activation, batch_first=True, norm_first=True, dtype=x.dtype)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            layer.linear1.weight.copy_(torch.eye(2))
            layer.linear2.weight.copy_(torch.eye(2))
            layer.norm2.weight.fill_(1.0)
            return layer.eval()(x) - x

    normed = F.layer_norm(x, (2,))
    erf, tanh = (F.gelu(normed, approximate=mode) for mode in ("none", "tanh"))
    assert torch.allclose(output(nn.GELU("tanh")), erf, atol=1e-9)
    assert torch.allclose(output(functools.partial(F.gelu, approximate="tanh")), tanh, atol=1e-9)
    z = torch.linspace(-6, 6, 240_001, dtype=torch.float64)
    size = (F.gelu(z) - F.gelu(z, approximate="tanh")).abs().max().item()
    assert finding.fix is not None and finding.fix.delta == pytest.approx(size, rel=1e-3)


# GEL004

KERAS = "import keras\nfrom keras import layers\n\n\ndef build():\n"
NAMED = {
    "torch encoder": (HEAD + "x = nn.TransformerEncoderLayer(64, 8, activation='gelu')\n", "erf"),
    "torch decoder": (HEAD + "x = nn.TransformerDecoderLayer(64, 8, 256, 0.1, 'gelu', batch_first=True)\n", "erf"),
    "torch transformer": (HEAD + "x = nn.Transformer(64, 8, activation='gelu')\n", "erf"),
    "torch by import": ("from torch.nn import TransformerDecoderLayer\n\nx = TransformerDecoderLayer(64, 8, "
                        "activation='gelu')\n", "erf"),
    "torch transformer by import": ("from torch.nn import Transformer\n\nx = Transformer(64, 8, activation='gelu')\n",
                                    "erf"),
    "torch subclass": (HEAD + "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
                       "        super().__init__(d, 8, activation='gelu')\n", "erf"),
    "torch partial": (HEAD + "from functools import partial\n\nmake = partial(nn.TransformerEncoderLayer, "
                      "activation='gelu')\n", "erf"),
    "dense": (KERAS + "    return layers.Dense(8, activation='gelu')\n", "erf"),
    "dense by position": (KERAS + "    return layers.Dense(8, 'gelu')\n", "erf"),
    "conv over rows": (KERAS + "    return layers.Conv2D(\n        8,\n        3,\n        activation=\"gelu\",\n"
                       "        padding='same',\n    )\n", "erf"),
    "activation": (KERAS + "    return keras.layers.Activation('gelu')\n", "erf"),
    "activation by keyword": (KERAS + "    return keras.layers.Activation(activation='gelu')\n", "erf"),
    "einsum": (KERAS + "    return layers.EinsumDense('abc,cd->abd', (None, 64), 'gelu')\n", "erf"),
    "recurrent": (KERAS + "    return layers.GRU(8, recurrent_activation='gelu')\n", "erf"),
    "tf.keras": ("import tensorflow as tf\n\nx = tf.keras.layers.Dense(8, activation='gelu')\n", "erf"),
    "tensorflow.keras.layers": ("from tensorflow.keras.layers import Dense, Conv1D as C\n\n"
                                "x = C(8, 3, activation='gelu')\n", "erf"),
    "keras of tensorflow": ("from tensorflow import keras\n\nx = keras.layers.SeparableConv2D(8, 3, "
    "activation='gelu')\n",
                            "erf"),
    "tf_keras": ("import tf_keras\n\nx = tf_keras.layers.Dense(8, activation='gelu')\n", "erf"),
    "either keras": ("try:\n    from keras.layers import Dense\nexcept ImportError:\n"
                     "    from tensorflow.keras.layers import Dense\n\nx = Dense(8, activation='gelu')\n", "erf"),
    "a module's alias": ("import tensorflow as tf\n\nL = tf.keras.layers\n\n\ndef f(x):\n"
                         "    return L.Dense(8, activation='gelu')(x)\n", "erf"),
    "a constant": ("import keras\n\nACT = 'gelu'\n\n\ndef f():\n    return keras.layers.Dense(8, "
    "activation=ACT)\n", "erf"),
    "keras_hub": ("import keras_hub\n\nx = keras_hub.layers.TransformerEncoder(64, 4, 0.1, 'gelu')\n", "erf"),
    "an option of a dict": ("import keras\n\nOPTIONS = dict(activation='gelu')\n\n\ndef f():\n"
                            "    return keras.layers.Dense(8, **OPTIONS)\n", "erf"),
    "one of two": (KERAS + "    return layers.Dense(8, activation='gelu' if deep else 'relu')\n", "erf"),
    "keras subclass": ("import keras\n\n\nclass A(keras.layers.Dense):\n    def __init__(self):\n"
                       "        super().__init__(8, activation='gelu')\n", "erf"),
    "functional": (KERAS + "    x = keras.Input((4,))\n    x = layers.Dense(8, activation='gelu')(x)\n"
    "    return x\n", "erf"),
}  # fmt: skip
OUT_OF_SIGHT = {
    "relu": KERAS + "    return layers.Dense(8, activation='relu')\n",
    "another gelu": KERAS + "    return layers.Dense(8, activation='gelu_tanh')\n",
    "a function": KERAS + "    return layers.Dense(8, activation=keras.activations.gelu)\n",
    "a parameter": "import keras\n\n\ndef f(activation='gelu'):\n    return keras.layers.Dense(8, "
    "activation=activation)\n",
    "own layer": "import keras\nfrom mylib import Mlp\n\nx = Mlp(8, activation='gelu')\n",
    "own layer of that name": "import keras\n\n\nclass Dense(keras.layers.Layer):\n    def __init__(self, "
    "activation):\n"
    "        self.a = activation\n\n\nx = Dense(activation='gelu')\n",
    "no framework": "from layers import Dense\n\nx = Dense(8, activation='gelu')\n",
    "flax": "from flax import linen as nn\n\nx = nn.Dense(8, activation='gelu')\n",
    "a config": "import keras\n\nCONFIG = {'activation': 'gelu', 'width': 8}\n\n\nclass C:\n    hidden_act = 'gelu'\n",
    "a config call": "import keras\nfrom transformers import BertConfig\n\nc = BertConfig(hidden_act='gelu')\n",
    "another argument": KERAS + "    return layers.Dense(8, name='gelu')\n",
    "attention": KERAS + "    return layers.MultiHeadAttention(8, 8, name='gelu')\n",
    "a call of its own": "import keras\n\n\nclass A(keras.layers.Dense):\n    x = log(1)\n"
    "    def __init__(self):\n        super().__init__(8, activation='gelu')\n\n    def call(self, x):\n"
    "        return self.kernel\n",
    "a forward of its own": HEAD + "class A(nn.TransformerEncoderLayer):\n    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation='gelu')\n\n    def forward(self, x):\n        return x\n",
    "a comment": KERAS + "    return layers.Dense(8)  # activation='gelu'\n",
    "a docstring": KERAS + "    '''layers.Dense(8, activation='gelu')'''\n",
    "another's torch layer": "from mylib import nn\n\nx = nn.TransformerEncoderLayer(8, 2, activation='gelu')\n",
}


@pytest.mark.parametrize(("code", "flavour"), NAMED.values(), ids=list(NAMED))
def test_hidden_flavour_is_seen(code: str, flavour: str) -> None:
    assert len(found("GEL004", code)) == 1
    sites = [site for site in summarise(decode("model.py", code.encode())).sites if site.spelling == "string"]
    assert [(site.flavour, site.explicit) for site in sites] == [(flavour, False)]


@pytest.mark.parametrize("code", OUT_OF_SIGHT.values(), ids=list(OUT_OF_SIGHT))
def test_other_strings_are_none_of_ours(code: str) -> None:
    assert rows("GEL004", code) == []


@pytest.mark.parametrize("code", [code for code, _ in NAMED.values()], ids=list(NAMED))
def test_no_other_rule_speaks_of_a_string(code: str) -> None:
    assert {f.code for f in judge(summarise(decode("model.py", code.encode())), Project("tanh"), CODES)} == {"GEL004"}


TORCH_LAYERS = [name for name, row in layers().items() if row.framework == "torch" and name == row.name]


@pytest.mark.parametrize("name", TORCH_LAYERS)
def test_rows_of_torch_are_true(name: str) -> None:
    row = layers()[name]
    kind = getattr(nn, name.rpartition(".")[2])
    parameters = [*inspect.signature(kind.__init__).parameters][1:]
    for key, position in (*row.options, *((key, position) for key, position, _ in row.decides)):
        assert parameters[position] == key
    for key, _, default in row.decides:
        given = inspect.signature(kind.__init__).parameters[key].default
        assert default == (None if given is inspect.Parameter.empty else given)
    assert functools.reduce(getattr, row.aliases[-1].split(".")[1:], torch) is kind


@pytest.mark.filterwarnings("ignore")
def test_rows_of_keras_are_true() -> None:
    """Runs where keras is installed (by itself with its torch backend it was: 3.15.1)."""
    keras = pytest.importorskip("keras")
    for row in {row.name: row for row in layers().values() if row.name.startswith("keras.")}.values():
        parameters = [*inspect.signature(getattr(keras.layers, row.name.rpartition(".")[2]).__init__).parameters][1:]
        assert all(parameters[position] == key for key, position in row.options)
    x = torch.linspace(-4, 4, 9)[None]
    erf = keras.ops.convert_to_numpy(keras.activations.gelu(x.numpy(), approximate=False))
    assert abs(keras.ops.convert_to_numpy(keras.layers.Activation("gelu")(x.numpy())) - erf).max() == 0


# GEL033

SAVE = HEAD + "\n\ndef save(model, path):\n"
BLOCK = "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
LOST = {
    "function": SAVE + "    torch.save({'a': model.state_dict(), 'act': F.gelu}, path)\n",
    "partial": SAVE
    + "    from functools import partial\n    torch.save({'act': partial(F.gelu, approximate='tanh')}, path)\n",
    "module": SAVE + "    torch.save({'act': nn.GELU(approximate='tanh')}, path)\n",
    "class": SAVE + "    torch.save({'act': nn.GELU}, path)\n",
    "lambda": SAVE + "    torch.save([lambda x: F.gelu(x, approximate='none')], path)\n",
    "deeper": SAVE + "    torch.save({'init': {'width': 64, 'acts': [F.relu, F.gelu]}}, path)\n",
    "dict call": SAVE + "    torch.save(dict(state=1, act=F.gelu), path)\n",
    "a name for it": SAVE + "    config = {'act': F.gelu}\n    torch.save({'config': config}, path)\n",
    "a checkpoint by name": SAVE
    + "    checkpoint = {\n        'state': model.state_dict(),\n        'act': F.gelu,\n    }\n"
    "    torch.save(checkpoint, path)\n",
    "an entry": SAVE + "    checkpoint = {'state': model.state_dict()}\n    checkpoint['act'] = F.gelu\n"
    "    torch.save(checkpoint, path)\n",
    "a name for the function": SAVE + "    act = F.gelu\n    torch.save({'act': act}, path)\n",
    "save by import": "from torch import save\nfrom torch.nn.functional import gelu\n\nsave({'act': gelu}, 'x.pt')\n",
    "an attribute": HEAD
    + "\n\nclass Trainer:\n    def __init__(self):\n        self.act = F.gelu\n\n    def save(self, path):\n"
    "        torch.save({'act': self.act}, path)\n",
    "scripted": HEAD
    + "\n\ndef bias_act(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.act = torch.jit.script(bias_act)\n",
    "traced": HEAD
    + "\n\ndef bias_act(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.act = torch.jit.trace(bias_act, torch.ones(3))\n",
    "decorated": HEAD
    + "\n\n@torch.jit.script\ndef bias_act(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.act = bias_act\n",
    "decorated by import": HEAD + "from torch.jit import script\n\n\n@script\ndef bias_act(x):\n"
    "    return F.gelu(x, approximate='tanh')\n\n\n" + BLOCK + "        self.act = bias_act\n",
    "a name for what is scripted": HEAD + "\n\ndef bias_act(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    "fused = torch.jit.script(bias_act)\n\n\n" + BLOCK + "        self.act = fused\n",
    "imported": HEAD + "from ops import fused_gelu\n\n\n" + BLOCK + "        self.act = torch.jit.script(fused_gelu)\n",
    "typed by hand": HEAD
    + "\n\ndef act(x):\n    return 0.5 * x * (1 + torch.erf(x / 1.4142135623730951))\n\n\n"
    + BLOCK
    + "        self.act = torch.jit.script(act)\n",
    "a base of this file": HEAD + "\n\nclass Base(nn.Module):\n    pass\n\n\ndef gelu(x):\n    return F.gelu(x)\n\n\n"
    "class Block(Base):\n    def setup(self):\n        self.act = torch.jit.script(gelu)\n",
    "keras lambda": KERAS
    + "    return layers.Dense(8, activation=lambda x: keras.activations.gelu(x, approximate=True))\n",
    "keras lambda by position": KERAS + "    return layers.Activation(lambda x: keras.ops.gelu(x, approximate=True))\n",
    "keras Lambda": KERAS + "    return layers.Lambda(lambda x: keras.activations.gelu(x, approximate=True))\n",
    "keras partial": KERAS.replace("\n\n\n", "\nfrom functools import partial\n\n\n")
    + "    return layers.Conv1D(8, 3, activation=partial(keras.activations.gelu, approximate=True))\n",
    "keras in a class that builds": "import keras\n\n\nclass Builder:\n    def build(self):\n"
    "        return keras.Sequential([\n"
    "            keras.layers.Dense(8, activation=lambda x: keras.ops.gelu(x, approximate=True)),\n        ])\n",
    "keras partial by name": "import functools\n\nimport keras\n\nact = functools.partial(keras.activations.gelu, "
    "approximate=True)\n\n\ndef f():\n    return keras.layers.Dense(8, activation=act)\n",
    "keras lambda by name": KERAS + "    act = lambda x: keras.ops.gelu(x, approximate=True)\n"
    "    return layers.Dense(8, activation=act)\n",
    "tf.nn in tf.keras": "import tensorflow as tf\n\nx = tf.keras.layers.Dense(\n    8,\n"
    "    activation=lambda x: tf.nn.gelu(x, approximate=True),\n)\n",
}
KEPT = {
    "state_dict": SAVE
    + "    act = nn.GELU(approximate='none')\n    torch.save(model.state_dict(), path)\n    return act\n",
    "a tensor": SAVE + "    torch.save({'y': F.gelu(model.w, approximate='none')}, path)\n",
    "its name": SAVE + "    torch.save({'act': F.gelu.__name__, 'text': str(F.gelu)}, path)\n",
    "its weights": SAVE + "    torch.save(nn.Sequential(nn.GELU(approximate='none')).state_dict(), path)\n",
    "another's save": HEAD + "\nnp.save({'act': F.gelu}, 'x')\n",
    "loads objects": SAVE + "    torch.save({'act': F.gelu}, path)\n    return torch.load(path, weights_only=False)\n",
    "allows them": SAVE + "    torch.serialization.add_safe_globals([F.gelu])\n    torch.save({'act': F.gelu}, path)\n",
    "a factory": BLOCK.replace("class", HEAD + "\n\nclass", 1)
    + "        act = lambda: nn.GELU(approximate='tanh')\n        self.net = nn.Sequential(nn.Linear(3, 3), act())\n",
    "scripted and called": HEAD
    + "\n\n@torch.jit.script\ndef gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.k = 1\n\n    def forward(self, x):\n        return gelu(x)\n",
    "a scripted module": HEAD + "\n\n" + BLOCK + "        self.act = torch.jit.script(nn.GELU(approximate='tanh'))\n",
    "a plain function": HEAD
    + "\n\ndef gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.act = gelu\n",
    "scripted in a class body": HEAD + "\n\ndef gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    "class Block(nn.Module):\n    act = torch.jit.script(gelu)\n",
    "scripted relu": HEAD
    + "\n\ndef act(x):\n    return F.relu(x)\n\n\n"
    + BLOCK
    + "        self.act = torch.jit.script(act)\n"
    "        self.other = nn.GELU(approximate='none')\n",
    "no module": HEAD + "\n\ndef gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    "class Runner:\n    def __init__(self):\n        self.act = torch.jit.script(gelu)\n",
    "copies by itself": HEAD
    + "\n\ndef gelu(x):\n    return F.gelu(x, approximate='tanh')\n\n\n"
    + BLOCK
    + "        self.act = torch.jit.script(gelu)\n\n    def __getstate__(self):\n        return {}\n",
    "keras string": KERAS + "    return layers.Dense(8, activation='gelu')\n",
    "keras function": KERAS + "    return layers.Dense(8, activation=keras.activations.gelu)\n",
    "keras named function": "import keras\n\n\ndef tanh_gelu(x):\n    return keras.ops.gelu(x, approximate=True)\n\n\n"
    "def f():\n    return keras.layers.Dense(8, activation=tanh_gelu)\n",
    "keras lambda that is called": KERAS + "    act = lambda x: keras.ops.gelu(x, approximate=True)\n"
    "    return act(layers.Dense(8)(1))\n",
    "keras other lambda": KERAS + "    keras.ops.gelu(1, approximate=True)\n"
    "    return layers.Dense(8, activation=lambda x: keras.ops.relu(x))\n",
    "keras unsafe": KERAS + "    keras.config.enable_unsafe_deserialization()\n"
    "    return layers.Dense(8, activation=lambda x: keras.ops.gelu(x, approximate=True))\n",
    "in a keras layer of its own": "import keras\n\n\nclass Mlp(keras.layers.Layer):\n    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.act = keras.layers.Activation(lambda x: keras.ops.gelu(x, approximate=True))\n",
    "in a keras model of its own": "import keras\n\n\nclass Net(keras.Model):\n    def build(self, shape):\n"
    "        self.net = keras.Sequential([\n"
    "            keras.layers.Dense(8, activation=lambda x: keras.ops.gelu(x, approximate=True)),\n        ])\n",
    "torch partial": HEAD + "from functools import partial\n\nx = nn.TransformerEncoderLayer(\n    64, 8, "
    "activation=partial(F.gelu, approximate='tanh'),\n)\n",
}


@pytest.mark.parametrize("code", LOST.values(), ids=list(LOST))
def test_what_cannot_be_saved_is_seen(code: str) -> None:
    assert len(rows("GEL033", code)) == 1


@pytest.mark.parametrize("code", KEPT.values(), ids=list(KEPT))
def test_what_can_be_saved_is_fine(code: str) -> None:
    assert rows("GEL033", code) == []


POLICY = {
    "implicit": "x = nn.TransformerEncoderLayer(64, 8, activation=nn.GELU(), batch_first=True)\n",
    "explicit": "act = nn.GELU(approximate='none')\n"
    "x = nn.TransformerEncoderLayer(64, 8, activation=act, batch_first=True)\n",
}


@pytest.mark.parametrize("code", POLICY.values(), ids=list(POLICY))
def test_no_fix_writes_what_the_fast_path_overrules(code: str) -> None:
    """A policy of tanh must not bring GEL030 about; where the path is not taken it is written."""
    codes = ("GEL001", "GEL002", "GEL030")
    for text, changed in ((code, False), (code.replace(", batch_first=True", ""), True)):
        source = decode("model.py", (HEAD + text).encode())
        assert ("tanh" in fix(source, Project("tanh"), codes, 1e-3, unsafe=False).text) == changed
        assert [f.code for f in judge(summarise(source), Project("tanh"), codes)] in (["GEL001"], ["GEL002"])


def test_policy_goes_before_the_fast_path() -> None:
    source = decode("model.py", (HEAD + "x = " + ENCODER).encode())
    assert {f.code: f.fix is None for f in judge(summarise(source), Project("erf"), CODES)} == {
        "GEL002": False,
        "GEL030": True,
    }


def test_old_torch_loads_objects() -> None:
    source = decode("model.py", LOST["function"].encode())
    for bound, below, count in (((2, 6), True, 0), ((2, 5, 1), False, 0), ((3,), True, 1), ((2, 6), False, 1)):
        project = Project("", (("torch", None, bound, below),))
        assert len([f for f in judge(summarise(source), project, CODES) if f.code == "GEL033"]) == count
