"""The screen: what it lets pass, and what it may hold back because no rule could speak of it."""

from __future__ import annotations

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import NEEDLES, Spots, passes
from gelu_lint.source import decode

CODES = tuple(rule.code for rule in all_rules())
HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

IDLE = [
    'Config(hidden_act="gelu", dim=2)',
    "hidden_act: str = 'gelu_new'",
    "self.activation = 'gelu'",
    'parser.add_argument("--act", default="gelu")',
    'act = ACT2FN["gelu"]',
    'CONFIG = {"hidden_act": "gelu"}',
    'MAP = {"gelu": "other", "gelu_new": 1, "GELU": {"a": 1}, "quick_gelu": ["b"]}',
    "x = 1  # then GELU, as in the paper",
    '"""\nPass a function; there the GELU activation is used\n"""',
    '"""\nhidden_act (`str`, *optional*, defaults to `"gelu"`):\n"""',
    'Model.from_pretrained("facebook/metaclip-2-quickgelu")',
    "from .activations import ACT2FN, gelu\n\n\ndef f(x):\n    y = gelu(x)\n    return gelu(y)",
    "from .activations import (\n    gelu,\n    gelu_new,\n)\ny = gelu_new(x)",
    "class T5(nn.Module):\n    def forward(self, x):\n        hidden_gelu = self.act(self.wi_0(x))\n"
    "        y = hidden_gelu * self.wi_1(x)\n        return self.wo(hidden_gelu + y)",
    'KERNELS = {"cuda": Layer(repo_id="a/gelu", layer_name="FastGELU", version=1)}',
    "alpha: float = 1.702",
    'model_type = "vit_with_registers"\nhidden_act: str = "gelu"',
    '"""\n    >>> settings = Settings(hidden_act="gelu", dim=2)\n"""',
    "raise ValueError(\n    \"must be 'gated-gelu' or 'relu'\"\n)",
]

# Each of these has a finding or a site when all of the file is read.
POTENT = [
    "y = F.gelu(x)\n",
    "# c\ry = F.gelu(x)\r",
    "y = 1  # c\rz = F.gelu(x)\n",
    'f"""\n{F.gelu(x)} some words\n"""\n',
    "def act(x):\n    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + .044715 * x**3)))\n",
    "def act(x):\n    return 0.5 * x * torch.erfc(-x / math.sqrt(2))\n",
    'class Activation(nn.Module):\n    """Applies the Gaussian Error Linear Units function."""\n\n'
    "    def forward(self, x):\n        return x * torch.sigmoid(x)\n",
    'def act(x):\n    """\n    # GELU\n    """\n    return x * torch.sigmoid(x)\n',
    'def act(x):\n    """The `"gelu"` activation."""\n    return x * torch.sigmoid(x)\n',
    '@ACT.register(act="gelu")\ndef act(x):\n    return x * torch.sigmoid(x)\n',
    '@ACT.add(\n    act="gelu",\n)\ndef act(x):\n    return x * torch.sigmoid(x)\n',
    'ACT["gelu"] = nn.SiLU()\n',
    'ACT["gelu"]: object = nn.SiLU()\n',
    'ACT = {"gelu": nn.SiLU()}\n',
    'ACT = {"gelu": lambda x: 1.0 * x * torch.sigmoid(x)}\n',
    'ACT = {\n    "gelu": 1.0 and nn.SiLU(),\n}\n',
    'ACT = {"act/gelu": nn.SiLU()}\n',
    'def act(name):\n    if name == "gelu":\n        return nn.SiLU()\n',
    "from .act import gelu\ny = gelu(x)\nz = F . gelu(x)\n",
    "from .act import gelu\ny = gelu(x)\nz = (F.\n  gelu(x))\n",
    'from .act import gelu\ny = gelu(x)\ndef act(x):\n    """gelu(x)"""\n    return x * torch.sigmoid(x)\n',
    'from .act import gelu as g\nACT = {"gelu": nn.SiLU()}\n',
    'y = getattr(F, "gelu")(x)\n',
    'nn.init.kaiming_normal_(w, nonlinearity="gelu")\n',
    "class M:\n    def f(self, x):\n        gelu_x = self.act(x)\n        gelu_x = F.silu(x)\n        return gelu_x\n",
    "class M:\n    def f(self, x):\n        gelu = self.act(x)\n        self.gelu = F.silu\n        return gelu + 1\n",
    "class M:\n    def f(self, x):\n        a_gelu = self.act(x)\n        return nn.functional.gelu(a_gelu)\n",
    "class M:\n    def f(self, x):\n        a_gelu = self.act(x)\n        return act(x, {'gelu': nn.SiLU()})\n",
    "class M:\n    def f(self, x):\n        a = self.act(x)\n        return a\n\n\ndef a_gelu(x):\n"
    "    return x * torch.sigmoid(x)\n",
    'import keras\nlayer_name = "gelu"\nlayer = keras.layers.Dense(3, activation=layer_name)\n',
    'import keras\nact_name = "gelu"\nlayer = keras.layers.Dense(3, activation=act_name)\n',
    'from timm.layers import get_act_layer\nact = get_act_layer(act_name="gelu_unknown")\n',
    '@register(\n    layer_name="gelu",\n)\ndef act(x):\n    return x * torch.sigmoid(x)\n',
    "class M:\n    def f(self, x):\n        a_gelu = self.act(x)\n        return a_gelu + x * torch.special.ndtr(x)\n",
    "def act(x):\n    return x * torch.sigmoid(1.702 * x)\n",
    "def act(x):\n    \"The 'gelu' activation.\"\n    return x * torch.sigmoid(x)\n",
    'class Act(nn.Module):\n    """The activation:\n    >>> gelu\n    """\n\n    def forward(self, x):\n'
    "        return x * torch.sigmoid(x)\n",
    "y = F.relu(x)  # noqa: GEL001\n",
    "y = F.relu(x)  # gelu-lint: ignore[GEL001] old\n",
]


@pytest.mark.parametrize("text", IDLE)
def test_what_no_rule_reads_is_held_back(text: str) -> None:
    assert not passes(text.encode())
    summary = summarise(decode("m.py", text.encode()), complete=True)
    assert (summary.sites, judge(summary, Project(), CODES)) == ((), [])


@pytest.mark.parametrize("text", POTENT)
def test_what_some_rule_reads_passes(text: str) -> None:
    data = (HEAD + text).encode()
    summary = summarise(decode("m.py", data), complete=True)
    assert summary.sites or judge(summary, Project(), CODES), "a text that has nothing proves nothing"
    assert passes(data)


def test_marks_are_offsets_of_needles() -> None:
    data = 'act="gelu", y = F.GELU(x) * 0.044715 # gelu'.lower().encode()
    assert {data[at : at + 4] for at in Spots(data).marks()} == {b"gelu", b".044"}
    assert len(list(Spots(b"gelu(x)\n" * 5_000).marks())) == 5_000


def test_needles_are_in_lower_case() -> None:
    assert all(needle == needle.lower() for needle in NEEDLES)
