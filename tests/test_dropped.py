"""Ways in which a choice of GELU is lost, and look-alikes in which none is."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import fix
from gelu_lint.model import Project
from gelu_lint.source import decode

HEAD = """\
import functools
import jax
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import gelu as torch_gelu
import tensorflow as tf
import flax.linen as fnn
"""
ROWS = HEAD.count("\n")


def rows(code: str, path: str = "model.py") -> list[int]:
    """The rows of ``code`` with a finding."""
    source = decode(path, (HEAD + textwrap.dedent(code)).encode())
    return [f.span.row - ROWS for f in judge(summarise(source), Project(), ("GEL018",))]


#: Each with the row of its finding, the first row being empty.
LOST = {
    "implicit": (
        """
        def act(x, approximate="none"):
            return F.gelu(x)
        """,
        2,
    ),
    "one row": (
        """
        def act(x, approximate="none"): return F.gelu(x)
        """,
        2,
    ),
    "other literal": (
        """
        def act(x, approximate="none"):
            return F.gelu(x, approximate="tanh")
        """,
        2,
    ),
    "by an alias": (
        """
        def act(x, *, approx=False):
            y = x.float()
            return torch_gelu(y).to(x)
        """,
        2,
    ),
    "by hand": (
        """
        def act(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
            return 0.5 * x * (1.0 + torch.erf(x / 1.4142135623730951))
        """,
        2,
    ),
    "jax": (
        """
        def act(x, approximate=True):
            return jax.nn.gelu(x)
        """,
        2,
    ),
    "jax positional": (
        """
        def act(x, approximate: bool):
            return jax.nn.gelu(x, False)
        """,
        2,
    ),
    "tensorflow": (
        """
        def act(x, approximate=False):
            return tf.nn.gelu(x, approximate=True)
        """,
        2,
    ),
    "a lambda": (
        """
        act = lambda x, approximate="none": F.gelu(x, approximate="none")
        """,
        2,
    ),
    "another name": (
        """
        def block(x, w, gelu_approximate="tanh"):
            return F.gelu(x @ w)
        """,
        2,
    ),
    "a method": (
        """
        class Block(nn.Module):
            def activate(self, x, approximate="tanh"):
                return F.gelu(x)
        """,
        3,
    ),
    "stored": (
        """
        class Act(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()
                self.approximate = approximate

            def forward(self, x):
                return F.gelu(x)
        """,
        3,
    ),
    "stored under another name": (
        """
        class Act(nn.Module):
            def __init__(self, approximate: str = "none") -> None:
                super().__init__()
                self._approx: str = approximate

            def forward(self, x):
                return F.gelu(x, approximate="tanh")
        """,
        3,
    ),
    "shown but not used": (
        """
        class Act(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()
                self.approximate = approximate

            def forward(self, x):
                return F.gelu(x)

            def extra_repr(self):
                return f"approximate={self.approximate!r}"
        """,
        3,
    ),
    "a constant of a script": (
        """
        class Act(nn.Module):
            __constants__ = ["approximate"]

            def __init__(self, approximate="none"):
                super().__init__()
                self.approximate = approximate

            def forward(self, x):
                return torch.nn.functional.gelu(x)
        """,
        5,
    ),
    "never stored": (
        """
        class Act(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()
                self.act = nn.GELU()

            def forward(self, x):
                return self.act(x)
        """,
        3,
    ),
    "not handed to the base": (
        """
        class Act(nn.GELU):
            def __init__(self, approximate="none"):
                super().__init__()
        """,
        3,
    ),
    "overwritten": (
        """
        class Act(nn.Module):
            def __init__(self, approximate="tanh"):
                super().__init__()
                self.approximate = "tanh"

            def forward(self, x):
                return F.gelu(x, approximate=self.approximate)
        """,
        3,
    ),
    "overwritten in a function": (
        """
        def act(x, approximate="none"):
            approximate = "tanh"
            return F.gelu(x, approximate=approximate)
        """,
        2,
    ),
    "nested class": (
        """
        def build():
            class Act(nn.Module):
                def __init__(self, approximate="none"):
                    super().__init__()
                    self.approximate = approximate

                def forward(self, x):
                    return F.gelu(x)

            return Act
        """,
        4,
    ),
    "static method": (
        """
        class Ops:
            @staticmethod
            def gelu(x, approximate="none"):
                return F.gelu(x)
        """,
        4,
    ),
    "a patched class that knows the name": (
        """
        class PatchedGELU(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()

            def forward(self, input):
                return F.gelu(input)

            def __getattr__(self, name):
                if name == "approximate":
                    return "none"
                raise AttributeError(name)

        nn.GELU = PatchedGELU
        """,
        3,
    ),
    "a registered class": (
        """
        @ACTIVATIONS.register_module()
        class Act(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()
                self.approximate = approximate

            def forward(self, x):
                return F.gelu(x)
        """,
        4,
    ),
    "a Keras layer": (
        """
        class GeLU(tf.keras.layers.Layer):
            def __init__(self, approximate=True, **kwargs):
                super().__init__(**kwargs)
                self.approximate = approximate

            def call(self, inputs):
                return 0.5 * inputs * (1.0 + tf.tanh(0.7978845608 * (inputs + 0.044715 * tf.pow(inputs, 3))))

            def get_config(self):
                return {**super().get_config(), "approximate": self.approximate}
        """,
        3,
    ),
    "act_layer": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, act_layer=nn.GELU, drop=0.0):
                super().__init__()
                self.fc1 = nn.Linear(dim, dim)
                self.act = nn.GELU()

            def forward(self, x):
                return self.act(self.fc1(x))
        """,
        3,
    ),
    "activation, used nowhere": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, activation="relu"):
                super().__init__()
                self.fc1 = nn.Linear(dim, dim)

            def forward(self, x):
                return F.gelu(self.fc1(x))
        """,
        3,
    ),
    "act_fn, stored and not called": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, act_fn=None):
                super().__init__()
                self.act_fn = act_fn or nn.ReLU()
                self.net = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

            def forward(self, x):
                return self.net(x)
        """,
        3,
    ),
    "activation of a function": (
        """
        def feed_forward(x, w1, w2, activation="gelu"):
            return F.gelu(x @ w1) @ w2
        """,
        2,
    ),
    "a field of a Flax module": (
        """
        class Mlp(fnn.Module):
            dim: int
            approximate: bool = True

            @fnn.compact
            def __call__(self, x):
                return fnn.gelu(fnn.Dense(self.dim)(x))
        """,
        4,
    ),
    "the activation of a Flax module": (
        """
        class Mlp(fnn.Module):
            dim: int
            act: str = "relu"

            def setup(self):
                self.up = fnn.Dense(self.dim)

            def __call__(self, x):
                return jax.nn.gelu(self.up(x))
        """,
        4,
    ),
    "a patch without the keyword": (
        """
        def exact(x):
            return 0.5 * x * (1.0 + torch.erf(x * 0.7071067811865476))

        F.gelu = exact
        """,
        2,
    ),
    "a patch by setattr": (
        """
        def mine(input):
            return kernel(input)

        def install():
            setattr(torch.nn.functional, "gelu", mine)
        """,
        2,
    ),
    "a patch that is a lambda": (
        """
        torch.nn.functional.gelu = lambda x: x * torch.sigmoid(1.702 * x)
        """,
        2,
    ),
    "a patch that ignores it": (
        """
        def mine(input, *, approximate="none"):
            return kernel(input)

        F.gelu = mine
        """,
        2,
    ),
    "a patched class": (
        """
        class Mine(nn.Module):
            def __init__(self):
                super().__init__()

            def forward(self, x):
                return kernel(x)

        nn.GELU = Mine
        """,
        2,
    ),
    "a patched method": (
        """
        def forward(self, x):
            return F.gelu(x)

        nn.GELU.forward = forward
        """,
        2,
    ),
    "swap by setattr": (
        """
        def swap(model):
            for name, child in model.named_children():
                if isinstance(child, nn.GELU):
                    setattr(model, name, nn.GELU())
        """,
        5,
    ),
    "swap in _modules": (
        """
        def swap(model):
            for name, module in model._modules.items():
                if type(module) is nn.GELU:
                    model._modules[name] = nn.GELU()
                else:
                    swap(module)
        """,
        5,
    ),
    "swap in elif": (
        """
        def swap(model):
            for name, m in model.named_children():
                if isinstance(m, nn.ReLU):
                    setattr(model, name, nn.ReLU())
                elif isinstance(m, nn.GELU):
                    new = nn.GELU()
                    setattr(model, name, new)
        """,
        7,
    ),
    "swap by return": (
        """
        def convert(layer):
            if isinstance(layer, torch.nn.GELU):
                return torch.nn.GELU()
            return layer
        """,
        4,
    ),
    "swap behind continue": (
        """
        def swap(model):
            for name, child in model.named_children():
                if not isinstance(child, nn.GELU):
                    continue
                setattr(model, name, nn.GELU())
        """,
        6,
    ),
    "swap in an expression": (
        """
        def swap(layers):
            return [nn.GELU() if isinstance(layer, nn.GELU) else layer for layer in layers]
        """,
        3,
    ),
    "swap by name": (
        """
        def swap(model):
            for name, child in model.named_children():
                if child.__class__.__name__ == "GELU":
                    model.add_module(name, nn.GELU())
        """,
        5,
    ),
    "swap for a class of the file": (
        """
        class MyGELU(nn.Module):
            def forward(self, x):
                return F.gelu(x, approximate="tanh")

        def swap(model):
            for name, child in model.named_children():
                if isinstance(child, nn.GELU):
                    setattr(model, name, MyGELU())
        """,
        9,
    ),
    "swap by table": (
        """
        REPLACE = {nn.GELU: lambda m: nn.GELU(), nn.ReLU: lambda m: nn.ReLU()}
        """,
        2,
    ),
    "swap by a table of classes": (
        """
        REPLACE = {nn.ReLU: nn.ReLU, nn.GELU: nn.GELU}

        def swap(model):
            for name, child in model.named_children():
                if type(child) in REPLACE:
                    setattr(model, name, REPLACE[type(child)]())
        """,
        2,
    ),
    "swap by a table of classes of the file": (
        """
        class MyGELU(nn.Module):
            def forward(self, x):
                return F.gelu(x)

        REPLACE = {nn.GELU: MyGELU}

        def swap(model):
            for name, child in model.named_children():
                if type(child) in REPLACE:
                    setattr(model, name, REPLACE[type(child)]())
        """,
        6,
    ),
    "swap by match": (
        """
        def swap(child):
            match child:
                case nn.GELU():
                    return nn.GELU()
        """,
        5,
    ),
    "swap of the method of an object": (
        """
        def patch(model):
            for m in model.modules():
                if isinstance(m, nn.GELU):
                    m.forward = lambda x: F.gelu(x)
        """,
        5,
    ),
    "a patch that is an object": (
        """
        class Mine(nn.Module):
            def forward(self, x):
                return kernel(x)

        F.gelu = Mine()
        """,
        3,
    ),
    "a scripted patch": (
        """
        @torch.jit.script
        def mine(x):
            return kernel(x)

        F.gelu = mine
        """,
        3,
    ),
    "overwritten under another name": (
        """
        class Act(nn.Module):
            def __init__(self, approx="tanh"):
                super().__init__()
                self.approximate = "none"

            def forward(self, x):
                return F.gelu(x, approximate=self.approximate)
        """,
        3,
    ),
    "stored and overwritten": (
        """
        class Act(nn.Module):
            def __init__(self, approximate="none"):
                super().__init__()
                self.approximate = approximate
                self.approximate = "tanh"

            def forward(self, x):
                return F.gelu(x, approximate=self.approximate)
        """,
        3,
    ),
    "functional for the module": (
        """
        def run(layer, x):
            if isinstance(layer, nn.GELU):
                return F.gelu(x)
            return layer(x)
        """,
        4,
    ),
    "wrapper by annotation": (
        """
        class QuantGELU(nn.Module):
            def __init__(self, orig: nn.GELU, scale):
                super().__init__()
                self.scale = scale

            def forward(self, x):
                return F.gelu(x) / self.scale
        """,
        3,
    ),
    "wrapper of that name": (
        """
        class QuantGELU(nn.Module):
            def __init__(self, gelu: nn.GELU):
                super().__init__()
                self.gelu = gelu

            def forward(self, x):
                return self.quant(F.gelu(x))
        """,
        3,
    ),
    "wrapper by assertion": (
        """
        class QuantGELU(nn.Module):
            def __init__(self, orig, scale):
                super().__init__()
                assert isinstance(orig, nn.GELU)
                self.scale = scale

            def forward(self, x):
                return F.gelu(x) / self.scale
        """,
        3,
    ),
    "wrapper by exception": (
        """
        class QuantGELU(nn.Module):
            def __init__(self, orig, scale):
                super().__init__()
                if not isinstance(orig, nn.GELU):
                    raise TypeError(orig)
                self.scale = scale

            def forward(self, x):
                return F.gelu(x) / self.scale
        """,
        3,
    ),
    "a constructor from a module": (
        """
        class QuantGELU(nn.Module):
            def forward(self, x):
                return F.gelu(x)

            @classmethod
            def from_float(cls, mod: nn.GELU):
                return cls()
        """,
        7,
    ),
    "not handed on": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, act_layer=nn.GELU):
                super().__init__()
                self.fc1, self.act = nn.Linear(dim, dim), act_layer()

        class Block(nn.Module):
            def __init__(self, dim, act_layer=nn.GELU):
                super().__init__()
                self.mlp = Mlp(dim)
        """,
        8,
    ),
    "not handed on, with no GELU of its own": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, activation=nn.GELU):
                super().__init__()
                self.fc1, self.act = nn.Linear(dim, dim), activation()

        class Block(nn.Module):
            def __init__(self, dim, act_layer=nn.ReLU):
                super().__init__()
                self.norm = nn.LayerNorm(dim)
                self.mlp = Mlp(dim)
        """,
        8,
    ),
    "config": (
        """
        class Mlp(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)
                self.act = F.gelu
        """,
        6,
    ),
    "config in forward": (
        """
        class FeedForward(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.fc1 = nn.Linear(cfg.d_model, cfg.ffn_dim)

            def forward(self, x):
                return F.gelu(self.fc1(x))
        """,
        8,
    ),
    "config with a key": (
        """
        class Config:
            hidden_size: int = 8
            intermediate_size: int = 32
            hidden_act: str = "gelu"

        class Mlp(nn.Module):
            def __init__(self, config: Config):
                super().__init__()
                self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)
                self.act = nn.GELU()
        """,
        11,
    ),
    "config and a helper": (
        """
        def geglu(x):
            a, b = x.chunk(2, dim=-1)
            return a * F.gelu(b)

        class GatedMlp(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.up = nn.Linear(config.hidden_size, 2 * config.intermediate_size)

            def forward(self, x):
                return geglu(self.up(x))
        """,
        12,
    ),
    "config kept": (
        """
        class Mlp(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.config = config
                self.fc1 = nn.Linear(self.config.n_embd, self.config.n_inner)

            def forward(self, x):
                return nn.functional.gelu(self.fc1(x))
        """,
        9,
    ),
    "a block whose comments name what its maker forgets": (
        """
        class Mlp(nn.Module):
            def __init__(self, dim, act_layer=nn.GELU):
                super().__init__()
                self.act = act_layer()

            def forward(self, x):
                return self.act(x)


        @register(act_layer="relu")
        class Block(nn.Module):
            def __init__(self, dim, act_layer=nn.ReLU):
                super().__init__()
                # act_layer is for the mlp
                self.mlp = Mlp(dim)

            def forward(self, x):
                return self.mlp(x)
        """,
        13,
    ),
    "config of a Flax module": (
        """
        class Mlp(fnn.Module):
            config: object

            @fnn.compact
            def __call__(self, x):
                return fnn.gelu(fnn.Dense(self.config.mlp_dim)(x))
        """,
        7,
    ),
}


@pytest.mark.parametrize(("code", "row"), LOST.values(), ids=list(LOST))
def test_a_lost_choice_is_found(code: str, row: int) -> None:
    assert rows(code) == [row]


@pytest.mark.parametrize(("code", "row"), LOST.values(), ids=list(LOST))
def test_lines_left_out_change_nothing(code: str, row: int) -> None:
    """In a long file, too, most of which is not read."""
    filler = "".join(f"def filler_{i}(a, b=1):\n    log(a, {i})\n    return [a for a in b]\n\n\n" for i in range(40))
    longer = textwrap.dedent(code) + "\n\n" + filler
    padded = longer.replace("super().__init__()\n", "super().__init__()  # no more\n")
    assert rows(longer) == rows(padded) == [row]


KEPT = {
    "handed on": 'def act(x, approximate="none"):\n    return F.gelu(x, approximate=approximate)\n',
    "by position": "def act(x, approximate=True):\n    return jax.nn.gelu(x, approximate)\n",
    "a branch": "def act(x, approximate=True):\n    if approximate:\n        return F.gelu(x, approximate='tanh')\n"
    "    return F.gelu(x)\n",
    "translated": "def act(x, approximate=True):\n    mode = 'tanh' if approximate else 'none'\n"
    "    return F.gelu(x, approximate=mode)\n",
    "a default filled in": "def act(x, approximate=None):\n    approximate = approximate or 'tanh'\n"
    "    return F.gelu(x, approximate=approximate)\n",
    "a lambda that reads it": "act = lambda x, approximate='none': F.gelu(x, approximate=approximate)\n",
    "by locals": "def act(x, approximate='none'):\n    return F.gelu(x) + log(locals())\n",
    "discarded": "def act(x, approximate='none'):\n    del approximate\n    return F.gelu(x)\n",
    "discarded by an underscore": "def act(x, approximate='none'):\n    _ = approximate\n    return F.gelu(x)\n",
    "asserted": "def act(x, approximate='none'):\n    assert approximate == 'none'\n    return F.gelu(x)\n",
    "checked": "def act(x, approximate='none'):\n    if approximate != 'none':\n        raise ValueError(approximate)\n"
    "    return F.gelu(x)\n",
    "said to be ignored": "def act(x, approximate='none'):\n    '''Activation.\n\n    approximate: ignored.\n    '''\n"
    "    return F.gelu(x)\n",
    "said to be deprecated": "def act(\n    x,\n    approximate='none',  # deprecated\n):\n    return F.gelu(x)\n",
    "known to be unused": "def act(x, approximate='none'):  # pylint: disable=unused-argument\n    return F.gelu(x)\n",
    "another name for it": "def act(x, _approximate='none'):\n    return F.gelu(x)\n",
    "only raises": "def act(x, approximate='none'):\n    raise NotImplementedError('gelu')\n",
    "an overload": "from typing import overload\n\n\n@overload\ndef gelu(x, approximate='none'): ...\n",
    "an abstract method": "import abc\n\n\nclass Act(abc.ABC):\n    @abc.abstractmethod\n"
    "    def gelu(self, x, approximate='none'):\n        return F.gelu(x)\n",
    "a protocol": "from typing import Protocol\n\n\nclass Act(Protocol):\n"
    "    def gelu(self, x, approximate='none'): ...\n",
    "a registered implementation": "@register_op('gelu')\ndef impl(x, approximate='none'):\n    return F.gelu(x)\n",
    "the name is the choice": "def gelu_tanh(x, approximate=None):\n    return F.gelu(x, approximate='tanh')\n",
    "a reference": "def gelu_ref(x, approximate='none'):\n    return F.gelu(x)\n",
    "a backward": "def gelu_backward(g, x, approximate='none'):\n    return g * F.gelu(x)\n",
    "a closure": "def make(approximate='none'):\n    return lambda x: F.gelu(x, approximate=approximate)\n",
    "a nested function": "def make(approximate='none'):\n    def act(x):\n"
    "        return F.gelu(x, approximate=approximate)\n"
    "    return act\n",
    "in an f-string": "def act(x, approximate='none'):\n    log(f'{approximate}')\n    return F.gelu(x)\n",
    "stored and read": "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n"
    "        self.approximate = approximate\n\n    def forward(self, x):\n"
    "        return F.gelu(x, approximate=self.approximate)\n",
    "read by getattr": "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n"
    "        self.approximate = approximate\n\n    def forward(self, x):\n"
    "        return F.gelu(x) if getattr(self, 'approximate', '') else x\n",
    "read by a subclass": "class Base(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n        self.approximate = approximate\n\n    def forward(self, x):\n"
    "        return F.gelu(x)\n\n\nclass Act(Base):\n    def forward(self, x):\n"
    "        return log(self.approximate, x)\n",
    "read elsewhere": "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n        super().__init__()\n"
    "        self.approximate = approximate\n\n    def forward(self, x):\n        return F.gelu(x)\n\n\n"
    "def show(act):\n    return act.approximate\n",
    "stored for an unknown base": "class Act(Other):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n        self.approximate = approximate\n\n    def forward(self, x):\n"
    "        return F.gelu(x)\n",
    "set in a branch": "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n"
    "        self.approximate = approximate\n        if OLD:\n            self.approximate = 'tanh'\n\n"
    "    def forward(self, x):\n        return F.gelu(x, approximate=self.approximate)\n",
    "registered to a config": "class Act(nn.Module, ConfigMixin):\n    @register_to_config\n"
    "    def __init__(self, approximate='none'):\n        super().__init__()\n\n    def forward(self, x):\n"
    "        return F.gelu(x, approximate=self.config.approximate) + F.gelu(x)\n",
    "act_layer called": "class Mlp(nn.Module):\n    def __init__(self, act_layer=nn.GELU):\n"
    "        super().__init__()\n"
    "        self.act = act_layer()\n\n    def forward(self, x):\n        return self.act(x) + F.gelu(x)\n",
    "an activation tensor": "def gelu(activation):\n    return F.gelu(activation)\n",
    "whether there is one": "class Conv(nn.Module):\n    def __init__(self, dim, act=True):\n"
    "        super().__init__()\n"
    "        self.act = nn.GELU()\n",
    "the default alone": "class Attention(nn.Module):\n    def __init__(self, dim, act=nn.GELU()):\n"
    "        super().__init__()\n        self.fc = nn.Linear(dim, dim)\n",
    "a head": "class MLMHead(nn.Module):\n    def __init__(self, dim, hidden_act='gelu'):\n        super().__init__()\n"
    "        self.act = nn.GELU()\n",
    "a table of its own": "class Mlp(nn.Module):\n    def __init__(self, dim, kind, act=None):\n"
    "        super().__init__()\n        self.fn = {'gelu': lambda x: F.gelu(x), 'relu': F.relu}[kind]\n",
    "a layout of its base": "class Layer(Base):\n    def run(self, x, activation=None):\n        return F.gelu(x)\n",
    "a patch with the keyword": "def mine(x, approximate='none'):\n    return kernel(x, approximate)\n\n\n"
    "F.gelu = mine\n",
    "a patch that takes all": "def mine(x, **kwargs):\n    return kernel(x, **kwargs)\n\n\nF.gelu = mine\n",
    "a patch from elsewhere": "from other import mine\n\nF.gelu = mine\n",
    "a patch by partial": "F.gelu = functools.partial(F.gelu, approximate='tanh')\n",
    "a patch of another thing": "def mine(x):\n    return x\n\n\nF.relu = mine\nself.gelu = mine\nlayers.gelu = mine\n",
    "swap with its choice": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n"
    "            setattr(model, name, nn.GELU(approximate=child.approximate))\n",
    "swap with its choice by a variable": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n            new = nn.GELU()\n"
    "            new.approximate = child.approximate\n"
    "            setattr(model, name, new)\n",
    "swap by a table that is handed the module": "REPLACE = {nn.GELU: nn.GELU}\n\n\n"
    "def swap(m):\n    return REPLACE[type(m)](m.mode)\n",
    "a table of costs": "COST = {nn.GELU: 8, nn.ReLU: 1}\n\n\ndef cost(m):\n    return COST[type(m)]\n",
    "a default before it is overwritten": "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        super().__init__()\n        log(approximate)\n        self.approximate = 'tanh'\n\n"
    "    def forward(self, x):\n        return F.gelu(x, approximate=self.approximate)\n",
    "swap to another kind": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n            setattr(model, name, nn.ReLU())\n",
    "swap from another kind": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.ReLU):\n            setattr(model, name, nn.GELU())\n",
    "swap from several kinds": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, (nn.ReLU, nn.GELU)):\n            setattr(model, name, nn.GELU())\n",
    "swap to a chosen flavour": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n            setattr(model, name, nn.GELU(approximate='tanh'))\n",
    "swap to a named flavour": "class TanhGELU(nn.Module):\n    def forward(self, x):\n"
    "        return F.gelu(x, approximate='tanh')\n\n\ndef swap(model):\n"
    "    for name, child in model.named_children():\n        if isinstance(child, nn.GELU):\n"
    "            setattr(model, name, TanhGELU())\n",
    "swap that hands the module on": "class Wrapped(nn.Module):\n    def __init__(self, inner):\n"
    "        super().__init__()\n        self.inner = inner\n\n    def forward(self, x):\n"
    "        return self.inner(x) + F.gelu(x)\n\n\ndef swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n            setattr(model, name, Wrapped(child))\n",
    "a call of something with a GELU": "def run(x):\n    return F.gelu(x) + 1\n\n\ndef swap(model):\n"
    "    for m in model.children():\n        if isinstance(m, nn.GELU):\n            log(run(1))\n",
    "the other arm": "def swap(model):\n    for name, child in model.named_children():\n"
    "        if isinstance(child, nn.GELU):\n            log(name)\n        else:\n"
    "            setattr(model, name, nn.GELU())\n",
    "counted": "def count(model):\n    return sum(isinstance(m, nn.GELU) for m in model.modules())\n",
    "wrapper that runs it": "class Q(nn.Module):\n    def __init__(self, orig: nn.GELU):\n        super().__init__()\n"
    "        self.orig = orig\n\n    def forward(self, x):\n        return self.orig(x) - F.gelu(x)\n",
    "wrapper that runs it by forward": "class Q(nn.Module):\n    def __init__(self, orig: nn.GELU):\n"
    "        super().__init__()\n        self.fn = orig\n\n    def forward(self, x):\n"
    "        return self.fn.forward(x) - F.gelu(x)\n",
    "stands in for what is missing": "try:\n    from torch.nn.functional import gelu\nexcept ImportError:\n\n"
    "    def gelu(x, approximate='none'):\n        return 0.5 * x * (1.0 + torch.erf(x / 1.4142135623730951))\n",
    "wrapper that asks it": "class Q(nn.Module):\n    def __init__(self, orig: nn.GELU):\n        super().__init__()\n"
    "        self.mode = orig.approximate\n\n    def forward(self, x):\n"
    "        return F.gelu(x, approximate=self.mode)\n",
    "wrapper that computes nothing": "class Q(nn.Module):\n    def __init__(self, orig: nn.GELU):\n"
    "        super().__init__()\n        self.name = str(orig)\n",
    "handed on to a layer": "class Mlp(nn.Module):\n    def __init__(self, dim, act_layer=nn.GELU):\n"
    "        super().__init__()\n        self.act = act_layer()\n\n\nclass Block(nn.Module):\n"
    "    def __init__(self, dim, act_layer=nn.GELU):\n        super().__init__()\n"
    "        self.mlp = Mlp(dim, act_layer=act_layer)\n",
    "handed on by position": "class Mlp(nn.Module):\n    def __init__(self, dim, act_layer=nn.GELU):\n"
    "        super().__init__()\n        self.act = act_layer()\n\n\nclass Block(nn.Module):\n"
    "    def __init__(self, dim, act_layer=nn.GELU):\n        super().__init__()\n"
    "        self.mlp = Mlp(dim, act_layer)\n",
    "config read": "class Mlp(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.act = nn.GELU() if config.hidden_act == 'gelu' else nn.ReLU()\n",
    "config read by a call": "class Mlp(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.act = get_activation(config)\n\n    def forward(self, x):\n        return self.act(x) + F.gelu(x)\n",
    "config read by getattr": "class Mlp(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.kind = getattr(config, 'hidden_act', 'gelu')\n        self.act = nn.GELU()\n",
    "config without a key": "class Config:\n    hidden_size: int = 8\n    intermediate_size: int = 32\n\n\n"
    "class Mlp(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
    "config that refuses all others": "class Config:\n    hidden_size: int = 8\n    intermediate_size: int = 32\n"
    "    hidden_act: str = 'gelu'\n\n    def check(self):\n        if self.hidden_act != 'gelu':\n"
    "            raise ValueError(self.hidden_act)\n\n\nclass Mlp(nn.Module):\n    def __init__(self, config):\n"
    "        super().__init__()\n        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.act = nn.GELU()\n",
    "config of another file, in a comment": "from .configuration import Config\n\n\nclass Mlp(nn.Module):\n"
    "    def __init__(self, config: Config):\n        super().__init__()\n        # config.hidden_act is 'gelu'\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
    "config of another file": "from .configuration import Config\n\n\nclass Mlp(nn.Module):\n"
    "    def __init__(self, config: Config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
    "a pooler": "class Pooler(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
    "a projector": "class MultiModalProjector(nn.Module):\n    def __init__(self, config):\n"
    "        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
    "no feed-forward": "class Embedder(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.hidden_size)\n        self.act = nn.GELU()\n",
    "nanoGPT": "class MLP(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)\n"
    "        self.gelu = nn.GELU()\n",
    "named for it": "class GELUMlp(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)\n        self.act = nn.GELU()\n",
}


@pytest.mark.parametrize("code", KEPT.values(), ids=list(KEPT))
def test_a_look_alike_is_silent(code: str) -> None:
    assert rows(code) == []


@pytest.mark.parametrize("path", ["tests/test_act.py", "test_model.py", "torch/nn/functional.py"])
def test_tests_and_frameworks_are_silent(path: str) -> None:
    code = LOST["other literal"][0]
    assert rows(code) and rows(code, path) == []


FIXES = {
    "implicit": (
        'def act(x, approximate="none"):\n    return F.gelu(x)\n',
        'def act(x, approximate="none"):\n    return F.gelu(x, approximate=approximate)\n',
    ),
    "literal": (
        'def act(x, approximate="tanh"):\n    return F.gelu(x, approximate="tanh")\n',
        'def act(x, approximate="tanh"):\n    return F.gelu(x, approximate=approximate)\n',
    ),
    "stored": (
        "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n        super().__init__()\n"
        "        self.approximate = approximate\n\n    def forward(self, x):\n        return F.gelu(x)\n",
        "class Act(nn.Module):\n    def __init__(self, approximate='none'):\n        super().__init__()\n"
        "        self.approximate = approximate\n\n    def forward(self, x):\n"
        "        return F.gelu(x, approximate=self.approximate)\n",
    ),
    "swap": (
        "def swap(model):\n    for name, child in model.named_children():\n        if isinstance(child, nn.GELU):\n"
        "            setattr(model, name, nn.GELU())\n",
        "def swap(model):\n    for name, child in model.named_children():\n        if isinstance(child, nn.GELU):\n"
        "            setattr(model, name, nn.GELU(approximate=child.approximate))\n",
    ),
    "jax": (
        "def act(x, approximate=True):\n    return jax.nn.gelu(x)\n",
        "def act(x, approximate=True):\n    return jax.nn.gelu(x, approximate=approximate)\n",
    ),
}
NOT_FIXED = {
    "another default": 'def act(x, approximate="tanh"):\n    return F.gelu(x, approximate="none")\n',
    "a default of another kind": "def act(x, approximate=False):\n    return F.gelu(x, approximate='none')\n",
    "no default": 'def act(x, approximate):\n    return F.gelu(x, approximate="none")\n',
    "two places": "def act(x, approximate='none'):\n    y = F.gelu(x, approximate='none')\n"
    "    return F.gelu(y, approximate='none')\n",
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=list(FIXES))
def test_the_choice_is_handed_on_whatever_other_rules_write(before: str, after: str) -> None:
    source = decode("model.py", (HEAD + before).encode())
    for codes in (("GEL018",), ("GEL001", "GEL018")):
        assert fix(source, Project(), codes, 0.0, unsafe=False).text == HEAD + before, "callers may begin to count"
        result = fix(source, Project(), codes, 0.0, unsafe=True)
        assert result.text == HEAD + after
        assert result.left == ()


@pytest.mark.parametrize("code", NOT_FIXED.values(), ids=list(NOT_FIXED))
def test_nothing_is_written_where_values_would_change(code: str) -> None:
    source = decode("model.py", (HEAD + code).encode())
    found = judge(summarise(source), Project(), ("GEL018",))
    assert [f.fix for f in found] == [None]


def test_no_argument_is_written_where_an_old_torch_lacks_it() -> None:
    source = decode("model.py", (HEAD + FIXES["implicit"][0]).encode())
    project = Project(declared=(("torch", (1, 10), None, True),))
    assert [f.fix for f in judge(summarise(source), project, ("GEL018",))] == [None]


def test_a_patch_alone_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a file without any other GELU, and where a class takes over by two ways."""
    path = tmp_path / "patch.py"
    path.write_text(HEAD + "def quick(x):\n    return npu.quick_gelu(x)\n\n\nF.gelu = quick\n", encoding="utf-8")
    assert cli.main(["check", "--select", "GEL018", "--output-format", "concise", str(path)]) == 1
    assert f":{ROWS + 1}:5: GEL018" in capsys.readouterr().out
