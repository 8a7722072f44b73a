"""The skeleton changes nothing: what is found in part of a file is what is found in all of it."""

from __future__ import annotations

import functools
import importlib.util
import re
import textwrap
import warnings
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.engine import judge, summarise
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.registry import all_rules, enabled
from gelu_lint.rule import Example
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import Source, Unreadable, decode

CODES = enabled(("GEL",), (), ())
#: Takes lines out of texts of any size.
PRUNED = functools.partial(skeleton, small=0)
#: Real code that is installed wherever the tests run; files under a megabyte, so that the whole parse stays quick.
REAL = [
    path
    for path in sorted(Path(torch.__file__).parent.rglob("*.py"))
    if path.stat().st_size < 60_000 and passes(path.read_bytes())
]


def both(path: str, data: bytes) -> tuple[list[Finding], list[Finding]]:
    source = decode(path, data)
    project = Project("tanh")
    return judge(summarise(source), project, CODES), judge(summarise(source, complete=True), project, CODES)


def near(summary: FileSummary, source: Source) -> FileSummary:
    """A summary without uses that no rule may speak of: those in rows that a skeleton leaves out or writes anew."""
    found = PRUNED(source.text, source.rows)
    left = re.split(r"\r\n|\n", found.text)
    rows = {number for row, number in zip(left, found.origin, strict=False) if row == source.line(number)}
    uses = [use for use in summary.uses if use.span.row in rows]
    return summary._replace(uses=tuple(uses))


def found_in(summary: FileSummary, policy: str) -> list[Finding]:
    """The findings of all rules, without their fixes: in the names that are free for those a part may be too modest."""
    findings = judge(summary, Project(policy), CODES)
    return [finding._replace(fix=None) for finding in findings if finding.code != "GEL900"]


def check(data: bytes, path: str = "model.py") -> FileSummary:
    """The facts and findings of a text with all lines taken out that seem not to matter are those of all of it."""
    source = decode(path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", PRUNED)
        part, whole = near(summarise(source), source), near(summarise(source, complete=True), source)
    assert part.sites == whole.sites
    assert part.uses == whole.uses
    assert part.defs == whole.defs
    assert part.swaps == whole.swaps
    assert part.import_at == whole.import_at
    assert {*part.faults} <= {*whole.faults}
    for policy in ("", "tanh"):
        assert found_in(part, policy) == found_in(whole, policy)
    return part


def test_there_is_real_code() -> None:
    assert len(REAL) > 20


@pytest.mark.parametrize("path", REAL[::3], ids=lambda path: path.stem)
def test_the_skeleton_changes_no_finding_in_real_code(path: Path) -> None:
    try:
        part, whole = both(path.name, path.read_bytes())
    except Unreadable:
        return  # not a text at all
    assert part == whole


@pytest.mark.parametrize("path", REAL[1::6], ids=lambda path: path.stem)
def test_lines_left_out_change_nothing_in_real_code(path: Path) -> None:
    check(path.read_bytes(), path.name)


#: Real code with something of ours in every third place of something else.
PLANTED = [
    *(("argparse", "isinstance(", "F.gelu("), ("collections", "len(", "nn.GELU("), ("configparser", "None", "F.gelu")),
    *(("dataclasses", "True", "nn.GELU()"), ("enum", "ValueError", "nn.GELU"), ("fractions", "0", "1.702")),
    *(("functools", "getattr(", "torch.gelu("), ("sched", " = ", " = gelu = "), ("statistics", "sqrt(", "torch.erf(")),
    *(("queue", "self._", "self.gelu_"), ("shelve", "def ", "def gelu_"), ("textwrap", "class ", "class Gelu")),
]


@pytest.mark.parametrize(("name", "old", "new"), PLANTED)
def test_lines_left_out_change_nothing_where_a_gelu_is_planted(name: str, old: str, new: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    places = [match.start() for match in re.finditer(rf"(?<![\w\x22\x27]){re.escape(old)}", text)][::3]
    for at in reversed(places):
        text = text[:at] + new + text[at + len(old) :]
    first = re.search(r"^(?:import|from) ", text, re.MULTILINE)
    assert places and first is not None
    check((text[: first.start()] + HEAD + text[first.start() :]).encode(), f"{name}.py")


EXAMPLES = [
    pytest.param(e, id=f"{r.code}-{i}") for r in all_rules() for i, e in enumerate(r.examples) if e.name.endswith(".py")
]
FILLER = """

def filler(a, b=1):
    '''Something else.'''
    if a:
        print(a)
    return [a for a in b]
"""


@pytest.mark.parametrize("example", EXAMPLES)
def test_lines_left_out_change_nothing_in_the_examples_of_rules(example: Example) -> None:
    check(example.code.encode())
    check((example.code + FILLER).replace("\n", "\r\n").encode())


HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LONG_BODY = "".join(f"    k{i} = log({i})\n" for i in range(30))
#: A class that hands an activation not on, with N before each row.
KEPT_BACK = (
    "Nclass Net(nn.Module):\nN    def __init__(self, act_layer=None):\nN        super().__init__()\n"
    "N        self.mlp = Mlp()\n"
)
CASES = {
    "alias by import": "from torch.nn import GELU as G\n\n\ndef f():\n    return G()\n",
    "alias by assignment": "G = nn.GELU\n\n\ndef f():\n    return G()\n",
    "alias of an alias": "G = nn.GELU\nH = G\n\n\nclass A:\n    x = H()\n",
    "alias in a branch": "if torch:\n    G = nn.GELU\nelse:\n    G = nn.GELU\n\n\ndef f():\n    return G()\n",
    "subclass": "class G(nn.GELU):\n    pass\n\n\ndef f():\n    return G()\n",
    "getattr": "G = getattr(nn, 'GELU')\n\n\ndef f():\n    return G()\n",
    "shadowed below": "def f(x):\n    return F.gelu(x)\n\n\nF = object()\n",
    "global": "def f():\n    global F\n    F = None\n\n\ndef g(x):\n    return F.gelu(x)\n",
    "patched elsewhere": "def f(x):\n    return F.gelu(x)\n\n\nF.gelu = f\n",
    "patched by setattr": "def f(x):\n    return F.gelu(x)\n\n\nsetattr(F, 'gelu', f)\n",
    "constant elsewhere": "MODE = True\n\n\ndef f(x):\n    return F.gelu(x, approximate=MODE)\n",
    "partial bound elsewhere": "def partial():\n    pass\n\n\ndef f(act=nn.GELU):\n    pass\n",
    "partial as a local elsewhere": "def g(partial):\n    pass\n\n\ndef f(act=nn.GELU):\n    pass\n",
    "functools at hand": "import functools\n\n\ndef f(act=nn.GELU):\n    pass\n",
    "erf near": "import numpy as np\n\n\ndef cdf(x):\n    return np.erf(x)\n\n\ndef gelu(x):\n    return x * cdf(x)\n",
    "erf far": "import numpy as np\n\n\ndef price(x):\n    return np.erf(x)\n\n\ndef gelu(x):\n    return F.gelu(x)\n",
    "half precision under a name": "H = torch.float16\n\n\ndef f(x):\n"
    "    return 0.5 * x * (1 + torch.erf(x / 1.414213562))\n\n\ndef run(model):\n    return f(model.to(H))\n",
    "half precision by import": "from torch import float16 as h\n\n\ndef f(x):\n"
    "    return 0.5 * x * (1 + torch.erf(x / 1.414213562))\n\n\nmodel = Net().to(h)\n",
    "white space at the end": "act = nn.GELU()\n\n  \n\t\n  ",
    "form feed": "\f\n\fact = nn.GELU()\n",
    "a script that uses what it imports": "torch.manual_seed(0)\nnn.init.zeros_(w)\nx = torch.nn.GELU(), nn.GELU()\n",
    "a call with keywords": "def f(x):\n    nn.init.normal_(x, std=0.02)\n    log(nn, end='')\n    return nn.GELU()\n",
    "an alias with a comment": "G = nn.GELU  # why\n\n\ndef f():\n    return G()\n",
    "an alias over two rows": "G = \\\n    getattr(nn, 'GELU')\n\n\ndef f():\n    return G()\n",
    "two aliases at once": "A = B = nn.GELU\n\n\ndef f():\n    return A(), B()\n",
    "an alias of an imported module": "import importlib\n\nG = importlib.import_module('torch.nn').GELU\nx = G()\n",
    "an alias in one row": "def f(x):\n    if x: G = nn.GELU\n    else: G = nn.GELU\n    return G(x)\n",
    "nonlocal": "def f(x):\n    mode = 'tanh'\n    def g():\n        nonlocal mode\n        mode = 'none'\n    g()\n"
    "    return F.gelu(x, approximate=mode)\n",
    "global below": "y = F.gelu(x)\n\n\ndef g():\n    global F\n    F = None\n",
    "global at the top": "global F\nF = torch\ny = F.gelu(x)\n",
    "a name in a slice": "def f(x):\n    x[1:2], nn = g(1)\n    return nn.GELU()\n",
    "rebound in a loop": "def f(x):\n    for nn in x:\n        log(nn)\n    return nn.GELU()\n",
    "rebound by an import": "from other import nn\n\nH = nn.GELU\n\n\ndef gelu_backward(x):\n    return torch.nn\n",
    "a version before": "def f(x):\n    if isinstance(x, Version):\n        log(x)\n        return x\n"
    "    return F.gelu(x, 'tanh')\n",
    "a version around another": "def f(x):\n    if torch.__version__ < '2':\n        log(F.gelu)\n        return x\n"
    "    return F.gelu(x, 'tanh')\n",
    "erfc": "y = nn.GELU()\n\n\ndef f(x):\n    s = -x * 0.7071067811865476\n    c = torch.erfc(s)\n"
    "    return x * c / 2\n",
    "a match": "def f(x):\n    match F.gelu(x):\n        case 1: pass\n        case 2:\n            return 1\n",
    "a kernel under another name": "import triton\n\njit = triton.jit\n\n\n@jit\ndef gelu_kernel(x):\n"
    "    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))\n",
    "an attribute of a module": "from other import layers\n\nlayers.act = nn.GELU\nG = nn.SiLU\nG.act = nn.GELU\n",
    "a constructor in one row": "class A:\n    def __init__(self): self.s = 1.4142135623730951\n    def f(self, x):\n"
    "        return 0.5 * x * (1 + torch.erf(x / self.s))\n",
    "a constant of the object": "class A:\n    def __init__(self):\n        self.log()\n        self.k = 1.702\n"
    "    def f(self, x):\n        log(x)\n        return x * torch.sigmoid(self.k * x)\n",
    "a constant of the class": "class A:\n    log = 1\n    s = 1.4142135623730951\n    def f(self, x):\n"
    "        return 0.5 * x * (1 + torch.erf(x / self.s))\n",
    "a formula in two statements": "y = torch.erf(x / 1.4142135623730951)\nlog(y)\nz = 0.5 * x * (1 + y)\n",
    "a base of a long class": f"class G(nn.GELU):\n{LONG_BODY}    def __init__(self, mode):\n"
    "        log(mode)\n        super().__init__(approximate=mode)\n",
    "a version at the top": "if torch.__version__ < '2':\n    log(F)\n    raise ImportError\n\ny = F.gelu(x, 'tanh')\n",
    "an alias of an imported module in one row": "import importlib\n\n"
    "if x: G = importlib.import_module('torch.nn').GELU\nelse: G = nn.GELU\ny = G()\n",
    "a test in one row": "import importlib\n\nE = importlib.import_module('torch.nn.functional')\n"
    "if E.gelu(x, approximate='tanh'): pass\n",
    "an attribute named for it": "from other import silu\n\nprint(nn := f(nn))\nlayers.GELU = nn.SiLU\n",
    "an alias beside a string of its name": "def f():\n    act = nn.GELU\n    return {'k': 1, 'act': act}\n",
    "a module for a layer far away": "act = nn.GELU('tanh')\n\n\ndef f(d):\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=act, batch_first=True)\n",
    "options for a layer far away": "BASE = dict(batch_first=True)\n\n\ndef f(d):\n    log(d)\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=nn.GELU('tanh'), **BASE)\n",
    "options that change": "BASE = dict(batch_first=True)\nBASE = f(BASE)\n\n\ndef f(d):\n"
    "    return nn.TransformerEncoderLayer(d, 8, activation=nn.GELU('tanh'), **BASE)\n",
    "a fast path that is off": "def f():\n    torch.backends.mha.set_fastpath_enabled(False)\n\n\n"
    "def g(d):\n    return nn.TransformerEncoderLayer(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a layer with a long body": f"class L(nn.TransformerEncoderLayer):\n{LONG_BODY}    def __init__(self, d):\n"
    "        super().__init__(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n    def forward(self, x):\n"
    "        return x\n",
    "a name for a layer": "from torch.nn import TransformerEncoderLayer as T\n\nM = T\n\n\ndef f(d):\n"
    "    return M(d, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a string under a name": "import keras\n\nACT = 'gelu'\n\n\ndef f():\n    log(ACT)\n"
    "    return keras.layers.Dense(8, activation=ACT)\n",
    "a string under two names": "import keras\n\nACT = 'gelu'\nACT = 'relu'\n\n\ndef f():\n"
    "    return keras.layers.Dense(8, activation=ACT)\n",
    "a layer that is rebound": "from keras import layers\n\n\ndef f(x):\n    for layers in x:\n        log(x)\n"
    "    return layers.Dense(8, activation='gelu')\n",
    "a saved table": "def f(p):\n    state = {'act': F.gelu}\n    log(p)\n    torch.save(state, p)\n",
    "a saved table that changes": "def f(p):\n    state = {'act': F.gelu}\n    log(p)\n    state = g(state)\n"
    "    torch.save(state, p)\n",
    "a loader far away": "def f(p):\n    torch.save({'act': F.gelu}, p)\n\n\ndef g(p):\n    log(p)\n"
    "    return torch.load(p, weights_only=False)\n",
    "a scripted function far away": "@torch.jit.script\ndef act(x):\n    return F.gelu(x)\n\n\nclass B(nn.Module):\n"
    "    def __init__(self):\n        log(self)\n        self.act = act\n",
    "a mask in another method": "class A(nn.Module):\n    def __init__(self):\n        self.act = nn.GELU()\n"
    "    def draw(self, x):\n        return torch.rand_like(x) > 0.5\n    def forward(self, x):\n"
    "        return self.act(x) * self.draw(x)\n",
    "a flag before a mask": "def f(x, training):\n    y = F.gelu(x)\n    if not training:\n        return y\n"
    "    log(y)\n    return y * (torch.rand_like(y) > 0.5)\n",
    "a mask that is called in training": "def f(x):\n    return F.gelu(x) * (torch.rand_like(x) > 0.5)\n\n\n"
    "def g(x, training):\n    if training:\n        return f(x)\n    return x\n",
    "a test of the device by name": "there = torch.cuda.is_available()\n\n\ndef f(x):\n    log(there)\n    if there:\n"
    "        return F.gelu(x)\n    return F.gelu(x, approximate='tanh')\n",
    "a local test of the device": "def f(x):\n    there = x.is_cuda\n    log(x)\n    if there:\n"
    "        return F.gelu(x)\n    return F.gelu(x, approximate='tanh')\n",
    "a flavour by device": "MODE = 'tanh' if torch.cuda.is_available() else 'none'\n\n\ndef f(x):\n"
    "    return F.gelu(x, approximate=MODE)\n",
    "a flavour of the object by device": "class A:\n    def __init__(self):\n        log(self)\n"
    "        self.mode = 'tanh' if torch.cuda.is_available() else 'none'\n    def f(self, x):\n"
    "        return F.gelu(x, approximate=self.mode)\n",
    "a constant for a partial": "import functools\n\nMODE = 'tanh'\n"
    "act = functools.partial(nn.GELU, approximate=MODE)\n",
    "names taken before": "def f(act, x):\n    if act in TABLE:\n        return TABLE[act](x)\n    log(x)\n"
    "    if act.startswith('gelu'):\n        return F.gelu(x)\n",
    "functions to choose from": "def fast(x):\n    log(x)\n    return F.gelu(x, approximate='tanh')\n\n\n"
    "def exact(x):\n"
    "    return F.gelu(x)\n\n\ndef f(x, fused):\n    if fused:\n        return fast(x)\n    return exact(x)\n",
    "a gate of an object": "class A:\n    def __init__(self):\n        self.act = nn.GELU('tanh')\n"
    "    def f(self, x):\n"
    "        log(x)\n        gate = self.gate(x)\n        up = self.up(x)\n        h = gate * up\n"
    "        return self.act(h)\n",
    "a gate by names": "def f(x):\n    gate = g(x)\n    log(x)\n    up = u(x)\n    h = gate * up\n"
    "    return F.gelu(h)\n",
    "before the split": "class GLU:\n    def f(self, x):\n        h = F.gelu(x)\n        a, b = h.chunk(2, -1)\n"
    "        return a * b\n",
    "a choice that only some lines mention": "class A(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        log(self)\n        self.approximate = approximate\n        log(self)\n    def forward(self, x):\n"
    "        log(x)\n        return F.gelu(x)\n    def show(self):\n        log(self)\n",
    "a choice that is read far away": "class A(nn.Module):\n    def __init__(self, approximate='none'):\n"
    "        self.mode = approximate\n    def forward(self, x):\n        return F.gelu(x)\n    def show(self):\n"
    "        log(self)\n        log(self.mode)\n",
    "a field that chooses": "class A(nn.Module):\n    dim: int\n    approximate: bool = True\n    def f(self, x):\n"
    "        log(x)\n        return F.gelu(x)\n",
    "settings": "class A(nn.Module):\n    def __init__(self, config):\n        log(config)\n"
    "        self.fc = nn.Linear(config.hidden_size, config.ffn_dim)\n    def forward(self, x):\n"
    "        return F.gelu(self.fc(x))\n    def size(self):\n        return self.config.hidden_act\n",
    "settings and a helper": "class Config:\n    hidden_act: str = ''\n\n\ndef geglu(x):\n    log(x)\n"
    "    return x * F.gelu(x)\n\n\nclass A(nn.Module):\n    def __init__(self, config: Config):\n        log(config)\n"
    "        self.fc = nn.Linear(config.hidden_size, config.ffn_dim)\n    def forward(self, x):\n"
    "        log(x)\n        return geglu(self.fc(x))\n",
    "a patch": "def mine(x):\n    log(x)\n    return x\n\n\nclass Mine(nn.Module):\n    def __init__(self):\n"
    "        log(self)\n\n\nF.gelu = mine\nnn.GELU = Mine\n",
    "a patch by setattr": "def mine(x):\n    log(x)\n    return x\n\n\nsetattr(F, 'gelu', mine)\n",
    "a swap": "class Own(nn.Module):\n    def forward(self, x):\n        log(x)\n        return F.gelu(x)\n\n\n"
    "def swap(model):\n    log(model)\n    for name, m in model.named_children():\n"
    "        if not isinstance(m, nn.GELU):\n            log(m)\n            continue\n        log(name)\n"
    "        setattr(model, name, nn.GELU())\n    for name, m in model.named_children():\n"
    "        if type(m) is nn.GELU:\n            log(name)\n            setattr(model, name, Own())\n",
    "a swap that keeps": "def swap(model):\n    for name, m in model.named_children():\n"
    "        if isinstance(m, nn.GELU):\n            new = nn.GELU()\n            setattr(model, name, new)\n"
    "        log(m.approximate)\n",
    "a wrapper": "class A(nn.Module):\n    def __init__(self, orig: nn.GELU, other):\n        log(orig)\n"
    "        assert isinstance(other, nn.GELU)\n        self.orig = orig\n    def forward(self, x):\n"
    "        return F.gelu(x)\n    def g(self, x):\n        return self.orig(x)\n",
    "not handed on": "class A(nn.Module):\n    def __init__(self, act_layer=nn.GELU):\n        log(self)\n"
    "        self.act = act_layer()\n\n\nclass B(nn.Module):\n    def __init__(self, act_layer=nn.GELU):\n"
    "        log(self)\n        self.a = A()\n",
    "not handed on by a class without a GELU": "class A(nn.Module):\n    def __init__(self, act_layer=nn.GELU):\n"
    "        log(self)\n        self.act = act_layer()\n\n\nclass B(nn.Module):\n"
    "    def __init__(self, act_layer=nn.ReLU, act=None):\n        log(self)\n        self.a = A(\n            1)\n"
    "    def f(self):\n        return log(self)\n\n\nclass C(nn.Module):\n    def __init__(self, act_layer, x):\n"
    "        log(act_layer)\n        self.a = A(1)\n",
    "a lambda with a choice": "log(1)\ngelu = lambda x, approximate='none': F.gelu(x)\n",
    "tables of classes": "class Own(nn.Module):\n    def forward(self, x):\n        log(x)\n"
    "        return F.gelu(x)\n\n\n"
    "SWAP = {nn.GELU: Own}\nSAME = {\n    nn.ReLU: nn.ReLU,\n    nn.GELU: nn.GELU,\n}\n\n\n"
    "def swap(m):\n    log(m)\n    return SWAP[type(m)](), SAME.get(type(m))()\n",
    "a match of classes": "def swap(m):\n    match m:\n        case nn.ReLU():\n            log(m)\n"
    "            return m\n"
    "        case nn.GELU():\n            log(m)\n            return nn.GELU()\n",
    "a patch that is an object": "class Mine(nn.Module):\n    def forward(self, x):\n        log(x)\n"
    "        return x\n\n\n"
    "F.gelu = Mine()\n",
    "a choice in one row": "def f(x, approximate='none'): return F.gelu(x)\n\n\nclass A:\n"
    "    def __init__(self, approximate): self.approximate = approximate\n    def f(self, x): return F.gelu(x)\n",
    **{
        f"not handed on, {where}": "class Mlp(nn.Module):\n    def __init__(self, act_layer=nn.GELU):\n"
        "        self.act = act_layer()\n\n    def forward(self, x):\n        return self.act(x)\n\n\n" + code
        for where, code in (
            ("beside a comment", KEPT_BACK.replace("N", "") + "        # act_layer comes later\n"),
            ("below a comment", "# act_layer of f(g):\n" + KEPT_BACK.replace("N", "")),
            ("above a comment", KEPT_BACK.replace("N", "") + "\n\n# act_layer\n"),
            ("below decorators", "@register(\n    act_layer=None,\n)\n" + KEPT_BACK.replace("N", "")),
            ("in a function that is given one", "def f(act_layer):\n" + KEPT_BACK.replace("N", "    ")),
        )
    },
    "a transformer of its own": "x = nn.Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n\n\n"
    "class Transformer(nn.Transformer):\n    def f(self):\n        log(self)\n\n\n"
    "class A(nn.Module):\n    def __init__(self):\n"
    "        log(self)\n        self.a = Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n"
    "        self.b = nn.Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "torch's transformer, then one of its own": "from torch.nn import Transformer\n\n"
    "x = Transformer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n\n\n"
    "class Transformer(nn.Module):\n    def f(self):\n        log(self)\n",
    "tests that leave": "def get(name):\n    if name == 'relu':\n        log(1)\n        return nn.ReLU()\n"
    "    if name == 'tanh': raise log(2)\n    log(3)\n    if name == 'gelu':\n        log(4)\n"
    "        return nn.GELU()\n"
    "    if name == 'silu': log(5); return nn.SiLU()\n    warnings.warn(name)\n    return nn.Identity()\n",
    "tests that go on": "def get(name):\n    if name == 'relu':\n        log(1)\n        act = nn.ReLU()\n"
    "    if name == 'gelu':\n        log(2)\n        act = nn.GELU()\n    if name == 'elu':\n        log(3)\n"
    "        if log(4):\n            return nn.ELU()\n    act = nn.SiLU()\n    return act\n",
    "a test that goes on, with others": "def get(name):\n    if name == 'relu':\n        act = nn.ReLU()\n"
    "    elif name == 'x':\n        return log(1)\n    if name == 'gelu':\n        return nn.GELU()\n"
    "    elif name == 'tanh':\n        return log(2)\n"
    "    else:\n        return nn.Identity()\n    return log(3)\n",
    "a mask that is drawn by a helper": "def mask_like(x, p):\n    return torch.rand_like(x) < p\n\n\n"
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.act = nn.GELU()\n\n"
    "    def forward(self, x):\n        return self.act(x) * mask_like(x, 0.5)\n\n"
    "    def other(self, x):\n        return log(mask_like (x, 0.5))\n",
    "a mask that no function with a GELU asks for": "def mask_like(x, p):\n    return torch.rand_like(x) < p\n\n\n"
    "def f(x):\n    return F.gelu(x) * x.mask_like(x)\n\n\ndef g(x):\n    return x * mask_like(x, 0.5)\n",
    "a mask that is drawn in a test": "def f(x):\n    if (m := torch.rand_like(x) > 0.5) is not None:\n"
    "        return F.gelu(x) * m\n    if torch.rand(3) > 0.5:\n        log(1)\n    return x\n",
    "a mask that is filled in place": "def f(x):\n    m = torch.empty_like(x)\n    m.uniform_()\n"
    "    return F.gelu(x) * (m > 0.5)\n\n\ndef g(x):\n    return F.gelu(x) * (x.new(3).uniform_() > 0.5)\n",
    "a draw that is but tested": "import random\n\n\ndef f(x):\n    p = random.random()\n    if p < 0.5:\n"
    "        return F.gelu(x)\n    return F.gelu(x) * (1 if random.random() < 0.5 else 2)\n",
    "a draw that is tested and multiplied": "def f(x):\n    p = torch.rand_like(x)\n    if p.sum() < 0.5:\n"
    "        log(p)\n    m = p.ge(0.5)\n    return F.gelu(x) * m\n",
    "a gate with more arguments": "class GEGLU(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.act = nn.GELU()\n\n    def forward(self, x):\n        gate, value = self.proj(x).chunk(2, dim=-1)\n"
    "        return self.act(gate * value, value), self.act(\n            gate * value,  # why\n        )\n",
    "a gate that is made elsewhere": "from m import Mlp\n\n\nclass Own(nn.Module):\n    def __init__(self):\n"
    "        self.act = nn.GELU()\n\n\nclass GEGLU(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a = Mlp(act=nn.GELU())\n        self.b = Own(act=nn.GELU())\n"
    "        self.c = nn.Sequential(nn.GELU())\n        self.d = torch.jit.script(nn.GELU())\n\n"
    "    def forward(self, x):\n        gate, value = self.proj(x).chunk(2, dim=-1)\n"
    "        return self.a(gate * value), self.b(gate * value), self.c(gate * value), self.d(gate * value)\n",
    "what is saved": "def f(model, path):\n    torch.save(model.state_dict(), path)\n"
    "    torch.save({'act': nn.GELU(), 'x': model.state_dict()}, path)\n    kept = {'act': F.gelu}\n"
    "    torch.save(kept, path)\n    return torch.load(path, weights_only=log(1))\n",
    "what is saved and loaded": "def f(path):\n    torch.save({'act': nn.GELU()}, path)\n"
    "    return torch.load(path, weights_only=False)\n",
    "what is scripted": "def my_act(x):\n    return F.gelu(x)\n\n\nclass Net(nn.Module):\n"
    "    def __init__(self, model):\n"
    "        super().__init__()\n        self.a = torch.jit.script(my_act)\n        self.b = torch.jit.script(model)\n"
    "        self.c = torch.jit.trace(F.gelu, log(1))\n        s = torch.jit.script(my_act)\n        self.d = s\n",
    "layers of others by the names of torch's": "from m import TransformerEncoderLayer\n\n"
    "a = TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n"
    "b = nn.TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "layers of torch by their names": "from torch.nn import (\n    TransformerEncoderLayer,\n)\n\n"
    "a = TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a layer of one's own by the name of torch's": "class TransformerEncoderLayer(nn.Module):\n"
    "    def __init__(self, act):\n"
    "        super().__init__()\n        self.act = act\n\n\na = TransformerEncoderLayer(nn.GELU('tanh'))\n",
    "a layer that derives from torch's by its name": "class TransformerEncoderLayer(nn.TransformerEncoderLayer):\n"
    "    pass\n\n\na = TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "branches by a device that has a name": "on_gpu = log(torch.cuda)\n\n\ndef f(x):\n    fast = x.device.type\n"
    "    if fast == 'a':\n        return F.gelu(x)\n    return F.gelu(x, approximate='tanh')\n\n\ndef g(x):\n"
    "    if on_gpu:\n        return F.gelu(x)\n    return F.gelu(x, approximate='tanh')\n",
    "a model that is bound, moved and cast": "def f(x):\n    net = Net()\n    moved = net.cuda()\n    x = pad(x, 3)\n"
    "    x = net.embed(x)\n    x = x.half()\n    moved.half()\n    return F.gelu(x)\n",
    "a gate with comments in its call": "class GEGLU(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.act = nn.GELU()\n\n    def forward(self, x):\n        gate, value = self.proj(x).chunk(2, dim=-1)\n"
    "        h = gate * value\n        y = self.act(\n            gate * value  # gate, then value\n        )\n"
    "        z = self.act(  # a, b\n            h  # gate, then value\n        )\n"
    "        return y, z, self.act(\n            gate * value,  # one, two\n            # (three\n        )\n",
    "a switch on the next row": "x = torch.load('x', weights_only=(  # why\n    False))\n"
    "torch.save({'act': nn.GELU()}, 'y')\n",
    "what is scripted by a keyword": "def act_fwd(x):\n    return F.gelu(x)\n\n\nclass Net(nn.Module):\n"
    "    def __init__(self):\n        self.a = torch.jit.script(obj=act_fwd)\n",
    "a layer that is imported twice": "class Outer:\n    def make(self, d):\n"
    "        from torch.nn import TransformerEncoderLayer\n        act = nn.GELU('tanh')\n"
    "        return TransformerEncoderLayer(d, 8, 4 * d, 0.1, act, batch_first=True)\n\n\n"
    "from .layers import TransformerEncoderLayer\n",
    "a class that derives from torch's transformer": "act = F.gelu\n\n\nclass Net(nn.Transformer, Mixin):\n"
    "    def __init__(self, d):\n        super().__init__(d, activation=nn.GELU())\n\n\nclass B(nn.Transformer):\n"
    "    def __init__(self, d):\n        super().__init__(d, activation=act)\n",
    "a layer behind a space": "class TransformerEncoderLayer(nn.Module):\n    pass\n\n\n"
    "a = nn. TransformerEncoderLayer(64, 8, activation=nn.GELU('tanh'), batch_first=True)\n",
    "a key that is set later": "def save(model, path):\n    act = nn.GELU()\n    kept = {'model': model.state_dict()}\n"
    "    kept['act'] = act\n    torch.save(kept, path)\n",
    "one dtype or another": "def run(x):\n    dtype = torch.float16 if torch.cuda.is_available() else torch.float32\n"
    "    net = Mlp().to(dtype)\n    return F.gelu(net(x))\n",
    "quotes elsewhere": "A = ['a', 'b', 'c']\nB = f('a')\n\n\ndef f(x):\n    return F.gelu(x)\n",
}


@pytest.mark.parametrize("code", CASES.values(), ids=list(CASES))
def test_the_skeleton_changes_no_finding_here(code: str) -> None:
    part, whole = both("model.py", (HEAD + code).encode())
    assert part == whole
    check((HEAD + code).encode())


@pytest.mark.parametrize("name", ["shadowed below", "global", "patched elsewhere", "patched by setattr"])
def test_what_another_statement_does_to_a_name_counts(name: str) -> None:
    part, _ = both("model.py", (HEAD + CASES[name]).encode())
    assert not [finding for finding in part if finding.code == "GEL001"]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("not handed on, ")])
def test_what_is_not_handed_on_is_found_whatever_else_mentions_it(name: str) -> None:
    part, _ = both("model.py", (HEAD + CASES[name]).encode())
    assert [finding for finding in part if finding.code == "GEL018"]


def test_an_import_that_is_bound_anew_where_nothing_is_read_is_not_at_hand() -> None:
    text = (
        "import math\nimport torch\nimport torch.nn.functional as tf\n\n\ndef gelu(x):\n"
        "    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))\n\n\n"
    )
    rest = "\n\n".join(f"def f{i}(x):\n    y = x + {i}\n    return y\n" for i in range(40))
    for more, at_hand in (
        ("", True),
        ("\n\ndef tfclass(x):\n    return x.tf + tf.relu(x)\n", True),
        ("\n\ndef run(tf):\n    log(tf)\n", False),
        ("\n\ndef  tf (x):\n    return x\n", False),
        ("\n\ndef run(x):\n    import tf.keras\n    return x\n", False),
    ):
        part, whole = (
            summarise(decode("m.py", (text + rest + more).encode()), complete=complete) for complete in (False, True)
        )
        assert (("tf", "torch.nn.functional") in part.bound) is at_hand
        assert (("tf", "torch.nn.functional") in whole.bound) is at_hand


# Programs of all that may matter, in any order. Capitals are filled in: N a name, A an attribute, V a value, U a use,
# T a test, and I a number that makes a name its own.

NAMES = [
    "F",
    "nn",
    "G",
    "H",
    "MODE",
    "SQRT",
    "K",
    "act",
    "x",
    "torch",
    "partial",
    "math",
    "gelu",
    "helper",
    "swish",
    "y",
]
ATTRIBUTES = ["act", "act_fn", "mode", "k", "gelu", "scale"]
IMPORTS = [
    *(
        "import torch",
        "import torch.nn.functional as F",
        "from torch import nn",
        "from torch.nn import functional as F",
    ),
    *("from torch.nn import GELU as G", "from torch.nn.functional import gelu as act", "from torch.nn import *"),
    *(
        "import math",
        "import numpy as np",
        "from functools import partial",
        "from scipy.special import erf",
        "import jax",
    ),
    *("from other import nn", "import tensorflow as tf", "torch = __import__('torch')", "F = nn.functional"),
    *("if T:\n    from torch import nn\nelse:\n    from other import nn", "F = getattr(nn, 'functional')"),
    *("try:\n    from torch.nn.functional import gelu as act\nexcept ImportError:\n    act = None",),
    *(
        "if not hasattr(F, 'gelu'):\n    raise ImportError('no')",
        "import importlib\nF = importlib.import_module('torch.nn')",
    ),
]
VALUES = [
    *(
        "F.gelu",
        "nn.GELU",
        "nn.GELU()",
        "G",
        "H",
        "act",
        "partial(nn.GELU, approximate='tanh')",
        "'tanh'",
        "'none'",
        "True",
    ),
    *(
        "None",
        "1.702",
        "math.sqrt(2 / math.pi)",
        "math.sqrt(2)",
        "0.5",
        "getattr(nn, 'GELU')",
        "torch.nn",
        "x * 0.5",
        "x",
    ),
    *(
        "F.silu",
        "nn.SiLU",
        "lambda x: F.gelu(x)",
        "MODE",
        "K",
        "self.act",
        "make(x)",
        "{'gelu': swish, 'relu': F.relu}",
    ),
    *("{'gelu': F.gelu, 'silu': F.silu}", "helper", "lambda x: x * torch.sigmoid(1.702 * x)", "torch.erf(x / SQRT)"),
    *("x.half()", "torch.float16", "1 if x else 2", "G if x else H", "a, b", "[G, H]", "(G)", "0.044715", "x * x * x"),
    *("torch.tanh(K * (x + 0.044715 * x ** 3))", "swish", "nn.Sigmoid()", "gelu(x)", "x or G", "torch.erfc(-x / SQRT)"),
]
USES = [
    *(
        "F.gelu(x)",
        "nn.GELU()",
        "G()",
        "act(x)",
        "nn.GELU(approximate=MODE)",
        "F.gelu(x, approximate=MODE)",
        "nn.GELU(MODE)",
    ),
    *(
        "F.gelu(x, approximate='tanh')",
        "torch.gelu(x)",
        "nn.Gelu()",
        "F.gelu(x, MODE)",
        "F.gelu(x, approximate=self.mode)",
    ),
    *(
        "getattr(nn, 'GELU')()",
        "H(x)",
        "self.act(x)",
        "0.5 * x * (1 + torch.erf(x / SQRT))",
        "x * torch.sigmoid(K * x)",
    ),
    *(
        "x * torch.sigmoid(1.702 * x)",
        "x * 0.5 * (1 + y)",
        "0.5 * x * (1 + torch.tanh(SQRT * (x + K * x ** 3)))",
        "F.silu(x)",
    ),
    *("0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))", "x * helper(x)", "x * self.gate(x)", "swish(x)", "nn.SiLU()"),
    *(
        "nn.Sequential(nn.Linear(3, 3), nn.GELU())",
        "Block(act_layer=nn.GELU)",
        "Block(act=F.gelu)",
        "gelu(x)",
        "x.gelu()",
    ),
    *("Block(act_layer=G, k=K)", "torch.sqrt(2 / math.pi)", "torch.log(0.5 * (1 + torch.erf(x / math.sqrt(2))))"),
    *("hasattr(F, 'gelu')", "register('gelu', swish)", "register('gelu', F.silu)", "{'gelu': swish, 'other': G}"),
    *(
        "act is F.gelu",
        "isinstance(act, nn.GELU)",
        "TABLE['gelu'](x)",
        "super().__init__(approximate=MODE)",
        "tf.nn.gelu(x)",
    ),
]
USES += [
    *("nn.TransformerEncoderLayer(8, 2, activation=N, batch_first=True)", "H(8, 2, activation=V, batch_first=N)"),
    *("nn.TransformerEncoderLayer(8, 2, activation=nn.GELU('tanh'), batch_first=K)", "torch.save({'act': N}, x)"),
    *("nn.TransformerEncoderLayer(8, 2, activation='gelu')", "nn.Transformer(8, 2, activation=nn.GELU(MODE), **H)"),
    *("torch.jit.script(N)", "F.gelu(x) * (torch.rand_like(x) > K)", "act(x) * y", "torch.rand_like(x) > 0.5"),
    *("torch.where(torch.rand_like(x) > K, N(x), 0)", "keras.layers.Dense(8, activation=N)", "Layer(8, N)"),
    *("keras.layers.Dense(8, activation='gelu')", "partial(H, batch_first=True)", "dict(activation='gelu')"),
    *("nn.TransformerDecoderLayer(8, 2, activation=N)", "nn.TransformerDecoder(N, 2)", "copy.deepcopy(N)"),
    *("nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, activation=N), 2)", "nn.Transformer(activation=N)"),
]
USES += [
    *("F.gelu(x) * N", "helper(x) * self.act(x)", "self.act(x) * gate", "self.act(x * gate)", "self.act(x * gate, y)"),
    *("N(x) * (torch.rand(3) > K)", "Mlp(act=nn.GELU())", "torch.save(N, x)", "torch.save(x.state_dict(), y)"),
    *("torch.load(x, weights_only=False)", "torch.jit.trace(N, x)", "Net().to(x)", "N.half()", "x.to(torch.float16)"),
    *("TABLE.get('gelu', N)(x)", "TABLE[name](x)", "nn.TransformerEncoderLayer(8, 2, activation=F.gelu)"),
]
IMPORTS += [
    "from other import TransformerEncoderLayer",
    "from other import Mlp",
    "import random",
    "import keras",
    "from keras.layers import Dense as Layer",
    "from torch.nn import TransformerEncoderLayer as H",
]
VALUES += [
    *("torch.rand_like(x) < K", "torch.empty(3).bernoulli_(K)", "random.random()", "x.new(3).uniform_() > K"),
    *("x.device.type", "torch.cuda.is_available()", "TABLE", "Net()", "N.cuda()", "Mlp(act_layer=nn.GELU)"),
    *("x.chunk(2, dim=-1)", "gate * x", "random.random() < K", "N if random.random() < K else V"),
    "'gelu'",
    "nn.GELU('tanh')",
    "nn.TransformerEncoderLayer",
    "nn.TransformerDecoderLayer(8, 2, activation=nn.GELU())",
    "{'act': F.gelu}",
    "torch.jit.script(helper)",
    "U",
]
#: Lines that bind, rebind or unbind names in every way.
LINES = [
    *("TABLE = {'gelu': V, 'relu': V}", "gate, x = V", "x.uniform_()", "self.A = Mlp(act=V)", "N = torch.rand_like(x)"),
    *("N = V", "N = V", "N = V", "N: int = V", "N += V", "N, N = V, V", "N = N = V", "del N", "for N in V:\n    pass"),
    *(
        "for N in y:\n    N = V",
        "with open(x) as N:\n    U",
        "(N := V)",
        "print(N := V)",
        "z = [N for N in y]",
        "import other as N",
    ),
    *(
        "z = [(N := k) for k in y]",
        "from other import N",
        "def N(x):\n    return V",
        "def N(x):\n    return U",
        "N.gelu = V",
    ),
    *(
        "class N(V):\n    pass",
        "class N(nn.GELU):\n    pass",
        "try:\n    U\nexcept Exception as N:\n    pass",
        "N.GELU = V",
    ),
    *(
        "match y:\n    case N:\n        pass",
        "match y:\n    case 'gelu':\n        N = V\n    case _:\n        N = V",
        "N.data = V",
    ),
    *("setattr(N, 'gelu', V)", "self.A = V", "self.A = U", "self.A, self.b = V, V", "self.register_buffer('A', V)"),
    *(
        "if T:\n    N = V\nelse:\n    N = V",
        "if T: N = V",
        "while T:\n    N = V",
        "N = V; N = V",
        "N.mul_(2)",
        "N = N.half()",
    ),
    *(
        "try:\n    N = V\nexcept NameError:\n    N = V",
        "N[0] = V",
        "global N\nN = V",
        "lambda N: U",
        "N = (\n    V\n)",
        "N = \\\n    V",
    ),
    *(
        "async def N(): pass",
        "F.gelu = N",
        "nn.GELU = N",
        "if not hasattr(F, 'gelu'):\n    return",
        "N = V if T else V",
    ),
    *(
        "if HAS_GELU:\n    N = V",
        "def N(k=V, SQRT=V):\n    return U",
        "assert (N := V)",
        "N = V  # a comment",
        "N(y, k=V)",
    ),
    *(
        "return U",
        "z = U",
        "N = U",
        "U",
        "y = U if T else U",
        "yield U",
        "for q in U: pass",
        "with U as q: pass",
        "if U: pass",
    ),
    *(
        "print(U, N)",
        "return x * N",
        "return N * x * 0.5",
        "return N(x)",
        "return {'gelu': N}",
        "raise E(U)",
        "x = U",
        "return U, N",
    ),
    *("self.approximate = approximate", "act_layer: str = V", "self.approximate = 'tanh'", "setattr(N, 'gelu', N)"),
    *("self.A = N", "log(N.approximate)", "x = self.approximate", "x = config.ffn_dim", "x = self.config.hidden_act"),
    *("N.forward = N", "x = act_layer(y)", "N = N()", "approximate = 'tanh'", "return N()"),
    *(
        "z = 1",
        "print('nothing')",
        "pass",
        "# a comment about gelu",
        "log(x)",
        "w = x.shape[0]",
        "'a string'",
        "log(x, k=y)",
    ),
    *(
        "for q in range(3):\n    print(q)",
        "def filler(a, b=1):\n    return a",
        "try:\n    q()\nfinally:\n    z()",
        "nn.x(std=2)",
    ),
]
HEADERS = [
    *(
        "class GEGLU(nn.Module):",
        "def fI(x, gate):",
        "class TransformerEncoderLayer(nn.Module):",
        "class Mlp(nn.Module):",
    ),
    *(
        "def fI(self, x, N=V):",
        "def fI(x):",
        "def forward(self, x):",
        "def __init__(self, act=V, k=1.702):",
        "def gelu(x):",
    ),
    *(
        "def quick_gelu(x, N=1.702):",
        "def gelu_backward(x, g):",
        "def helper(x):",
        "def swish(x):",
        "class CI(nn.Module):",
    ),
    *(
        "class CI(G):",
        "class GELU(nn.Module):",
        "class CI(nn.GELU):",
        "class CI:",
        "class QuickGELU(nn.GELU):",
        "if T:",
    ),
    *("class Act(torch.autograd.Function):", "if name == 'gelu':", "with torch.autocast('cuda', dtype=torch.float16):"),
    *("with torch.cuda.amp.autocast():", "for i in range(3):", "while T:", "async def fI(x):", "def backward(ctx, g):"),
    *(
        "def test_fI():",
        "def gate(self, x):",
        "def outer():",
        "@staticmethod\ndef fI(x):",
        "@torch.jit.script\ndef fI(x):",
    ),
    *(
        "def __init__(self, config):",
        "def __init__(self, approximate='none', act_layer=V):",
        "if isinstance(N, nn.GELU):",
    ),
    *(
        "if not isinstance(N, nn.GELU):",
        "if type(N) is G:",
        "def fI(orig: nn.GELU, activation=None):",
        "class CI(fnn.Module):",
    ),
    *("@register('gelu')\ndef fI(x):", "@property\ndef gelu(self):", "@N\nclass CI:", "def fI(x, approximate='tanh'):"),
]
TESTS = [
    *("N == 'cuda'", "random.random() < K", "x.is_cuda", "N in TABLE", "self.training"),
    *(
        "x",
        "hasattr(F, 'gelu')",
        "HAS_GELU",
        "name == 'gelu'",
        "torch.__version__ > '1'",
        "isinstance(act, G)",
        "N is None",
    ),
    *("x > 0", "(N := x)", "name in ('gelu', 'silu')"),
]
DOCS = [
    *("'''GELU activation.'''", '"""Applies the GELU (tanh approximation)."""', '"""Something else."""', "'gelu'"),
    *("'''\nGELU\n\n  with rows\n'''", "# no docstring", "# none", "# none"),
]
FILLERS = [
    *("log(y)", "w = y.shape[0]", "w, b = y.size()", "# more", "self.layers = nn.ModuleList(w)", "nn.init.zeros_(w)"),
    *(
        "for w in y:\n    log(w)\n    b += w",
        "if w:\n    log(w)\nelse:\n    del b",
        "try:\n    w()\nfinally:\n    log(w)",
    ),
    *("def method(self, y):\n    w = y.view(-1)\n    return w", "assert w.ndim == 2", "with open(w) as b:\n    log(b)"),
    *(
        "class Other(nn.Module):\n    def forward(self, y):\n        return self.layers(y)",
        "b = [w for w in y]",
        "b = w * 2",
    ),
]
_FILLED = {"N": NAMES, "A": ATTRIBUTES, "V": VALUES, "U": USES, "T": TESTS}
_MARK = re.compile(r"(?<![A-Za-z_'])[NAVUT](?![A-Za-z_'])|(?<=self\.)A|(?<=[fC])I(?=[(:])")


def filled(draw: st.DrawFn, form: str) -> str:
    """A form with its capitals replaced, those of what replaces them too."""

    def one(mark: re.Match[str]) -> str:
        return str(draw(st.integers(1, 99))) if mark[0] == "I" else draw(st.sampled_from(_FILLED[mark[0]]))

    for _ in range(3):
        form = _MARK.sub(one, form)
    return form


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0, in_function: bool = False) -> str:
    """Some statements of a block."""
    rows: list[str] = []
    for _ in range(draw(st.integers(1, 4 if depth else 7))):
        rows += draw(st.lists(st.sampled_from(FILLERS), max_size=2))
        if depth < 4 and draw(st.integers(0, 3)) == 0:
            header = filled(draw, draw(st.sampled_from(HEADERS)))
            runs = "def " in header or (in_function and "class " not in header)
            body = draw(st.sampled_from(DOCS)) + "\n" + draw(blocks(depth + 1, runs))
            rows.append(f"{header}\n{textwrap.indent(body, '    ')}")
            continue
        line = filled(draw, draw(st.sampled_from(LINES)))
        if not in_function:
            line = re.sub(r"\b(return|yield)\b(.+)", r"z =\2", line).replace("return", "raise E")
        rows.append(line)
    return "\n".join(rows)


IMPORTED = st.lists(st.sampled_from(IMPORTS), max_size=5)
PROGRAMS = st.tuples(st.sampled_from([HEAD, HEAD, ""]), IMPORTED, blocks())


def compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "model.py", "exec")
        except SyntaxError:
            return False
    return True


@settings(max_examples=400, deadline=None)
@given(PROGRAMS, st.booleans())
def test_lines_left_out_change_nothing_in_programs(parts: tuple[str, list[str], str], crlf: bool) -> None:
    head, imports, body = parts
    text = head + "\n".join([*(re.sub(r"\bT\b", "COND", line) for line in imports), body, ""])
    if compiles(text) and passes(text.encode()):
        check(text.replace("\n", "\r\n" if crlf else "\n").encode())


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("print 'gelu'\n", True),
        ("print 'Gelukt!'\n", False),
        ("angelus = (\n", False),
        ("x = GELU(\n", True),
        ("x = quick_gelu(\n", True),
        ("{% if gelu %}\nact = nn.GELU()\n{% endif %}\n", False),
        ("y = 0.044715 * (\n", True),
    ],
)
def test_a_broken_file_is_reported_only_where_a_gelu_may_be_in_it(text: str, speaks: bool) -> None:
    part, _ = both("model.py", text.encode())
    assert [finding.code for finding in part] == ["GEL900"] * speaks
