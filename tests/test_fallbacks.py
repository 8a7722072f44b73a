"""GEL108: which fallbacks are silent, and which are none, seen in part and in all of a text alike."""

from __future__ import annotations

import functools

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Fallback, Finding, Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
CODES = tuple(rule.code for rule in all_rules())


def fallbacks(text: str) -> tuple[Fallback, ...]:
    source = decode("model.py", (HEAD + text).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = summarise(source).fallbacks if passes(source.data) else ()
    whole = summarise(source, complete=True).fallbacks
    assert part == whole
    return whole


def found(text: str) -> list[Finding]:
    summary = summarise(decode("model.py", (HEAD + text).encode()))
    return [finding for finding in judge(summary, Project(), CODES) if finding.code == "GEL108"]


SILENT = {  # what falls through, and how bad that is
    "an else": (
        "def f(act):\n    if act == 'gelu':\n        return nn.GELU()\n    elif act == 'relu':\n"
        "        return nn.ReLU()\n"
        "    else:\n        return nn.Identity()\n",
        ("branch", ("gelu", "relu"), "identity", "error"),
    ),
    "what follows": (
        "def f(act):\n    if act == 'relu':\n        return nn.ReLU()\n    if act in ('silu', 'swish'):\n"
        "        return nn.SiLU()\n    return nn.GELU()\n",
        ("branch", ("relu", "silu", "swish"), "erf", "warning"),
    ),
    "an attribute": (
        "class A:\n    def __init__(self, cfg):\n        if cfg.hidden_act == 'gelu':\n            self.act = F.gelu\n"
        "        else:\n            self.act = F.silu\n",
        ("branch", ("gelu",), "silu", "info"),
    ),
    "the input": (
        "def f(x, activation):\n    if activation == 'gelu':\n        return F.gelu(x)\n    return x\n",
        ("branch", ("gelu",), "identity", "info"),
    ),
    "a lambda": (
        "def f(act):\n    return nn.GELU() if act.lower() == 'gelu' else lambda x: x\n",
        ("ternary", ("gelu",), "identity", "info"),
    ),
    "a chain of ternaries": (
        "def f(act):\n    return F.relu if act == 'relu' else F.silu if act == 'silu' else F.gelu\n",
        ("ternary", ("relu", "silu"), "erf", "warning"),
    ),
    "a formula": (
        "def f(x, act):\n    if act == 'gelu':\n        return x * 0.5 * (1.0 + torch.erf(x / 1.4142135623730951))\n"
        "    else:\n        return F.relu(x)\n",
        ("branch", ("gelu",), "relu", "info"),
    ),
    "a table at hand": (
        "def f(act):\n    return {'relu': nn.ReLU, 'gelu': nn.GELU}.get(act, nn.Identity)()\n",
        ("table", ("relu", "gelu"), "identity", "error"),
    ),
    "a long table": (
        "ACTS = {\n    'relu': nn.ReLU,\n    'gelu': nn.GELU,\n    'silu': nn.SiLU,\n    'tanh': nn.Tanh,\n"
        "    'elu': nn.ELU,\n"
        "}\n\n\ndef f(name):\n    return ACTS.get(name, nn.SiLU)()\n",
        ("table", ("relu", "gelu", "silu", "tanh", "elu"), "silu", "error"),
    ),
    "a table behind in": (
        "ACTS = {'relu': nn.ReLU, 'silu': nn.SiLU}\n\n\ndef f(name):\n"
        "    return ACTS[name] if name in ACTS else nn.GELU\n",
        ("ternary", ("relu", "silu"), "erf", "warning"),
    ),
    "a module": (
        "def f(act):\n    return getattr(nn, act, nn.GELU)()\n",
        ("attribute", (), "erf", "warning"),
    ),
    "a caught error": (
        "ACTS = {'relu': nn.ReLU, 'silu': nn.SiLU}\n\n\ndef f(act):\n    try:\n        return ACTS[act]\n"
        "    except KeyError:\n        return nn.GELU\n",
        ("try", ("relu", "silu"), "erf", "warning"),
    ),
    "cases": (
        "def f(act):\n    match act:\n        case 'gelu' | 'gelu_new':\n            return nn.GELU()\n"
        "        case _:\n"
        "            return nn.Identity()\n",
        ("match", ("gelu", "gelu_new"), "identity", "error"),
    ),
    "none beside": (
        "def f(act):\n    if act is None or act == 'none':\n        return nn.Identity()\n    elif act == 'relu':\n"
        "        return nn.ReLU()\n    return nn.GELU()\n",
        ("branch", ("none", "relu"), "erf", "warning"),
    ),
}


@pytest.mark.parametrize("case", SILENT)
def test_silent_fallbacks(case: str) -> None:
    text, (form, names, flavour, severity) = SILENT[case]
    (fallback,) = fallbacks(text)
    assert (fallback.form, fallback.names, fallback.flavour, fallback.told) == (form, names, flavour, "")
    (finding,) = found(text)
    assert finding.severity == severity
    assert finding.fix is None


QUIET = {
    "an error": "def f(act):\n    if act == 'gelu':\n        return nn.GELU()\n    raise ValueError(act)\n",
    "a switch": "def f(use_act):\n    return nn.GELU() if use_act else nn.Identity()\n",
    "none": "def f(act):\n    return nn.GELU() if act is not None else nn.Identity()\n",
    "a name of something else": "def f(norm):\n    return nn.GELU() if norm == 'batch' else nn.Identity()\n",
    "a mode": "def f(mode):\n    return nn.GELU() if mode == 'train' else nn.Identity()\n",
    "two questions": "def f(act, glu):\n    if act == 'gelu':\n        return nn.GELU()\n    elif glu:\n"
    "        return nn.SiLU()\n    return nn.ReLU()\n",
    "no GELU": "def f(act):\n    return nn.SiLU() if act == 'silu' else nn.Identity()\n\n\ndef g():\n"
    "    return nn.GELU()\n",
    "the default": "def f(act='gelu'):\n    if act == 'relu':\n        return nn.ReLU()\n    return nn.GELU()\n",
    "None by default": "def f(act=None):\n    if act == 'gelu':\n        return nn.GELU()\n    return nn.Identity()\n",
    "a warning": "import warnings\n\n\ndef f(act):\n    if act == 'relu':\n        return nn.ReLU()\n"
    "    else:\n        warnings.warn('taking GELU')\n        return nn.GELU()\n",
    "a log": "def f(act):\n    if act == 'relu':\n        return nn.ReLU()\n    logger.warning('taking GELU')\n"
    "    return nn.GELU()\n",
    "a docstring": "def f(act):\n    '''ReLU, or GELU by default.'''\n    if act == 'relu':\n        return nn.ReLU()\n"
    "    return nn.GELU()\n",
    "a docstring of no activation": "class A:\n    '''act: gelu or none.'''\n    def __init__(self, act):\n"
    "        self.act = nn.GELU() if act == 'gelu' else nn.Identity()\n",
    "a check": "def f(act):\n    assert act in ('relu', 'gelu')\n"
    "    return nn.ReLU() if act == 'relu' else nn.GELU()\n",
    "a check that raises": "def f(act):\n    if act not in ('relu', 'gelu'):\n        raise ValueError(act)\n"
    "    return nn.ReLU() if act == 'relu' else nn.GELU()\n",
    "a literal type": "def f(act: Literal['relu', 'gelu']):\n    return nn.ReLU() if act == 'relu' else nn.GELU()\n",
    "choices": "parser.add_argument('--act', choices=['relu', 'gelu'])\n\n\ndef f(args):\n"
    "    return nn.ReLU() if args.act == 'relu' else nn.GELU()\n",
    "settings": "def f(options):\n    return options.get('act', nn.GELU)()\n",
    "an attribute of an object": "def f(self):\n    return getattr(self, 'act', nn.GELU())\n",
    "another table": "SIZES = {'a': 1}\n\n\ndef f(key):\n    return SIZES.get(key, nn.GELU)\n",
    "nothing else": "def f(act):\n    if act == 'gelu':\n        return nn.GELU()\n",
    "a function that looks it up": "def f(act):\n    return nn.GELU() if act == 'gelu' else getattr(F, act)\n",
    "a gate": "def f(act):\n    return GEGLU() if act == 'geglu' else nn.GELU()\n",
    "prefixes": "def f(act):\n    return nn.GELU() if act.startswith('gelu') else nn.Identity()\n",
}


@pytest.mark.parametrize("case", QUIET)
def test_what_is_no_silent_fallback(case: str) -> None:
    fallbacks(QUIET[case])
    assert found(QUIET[case]) == []


def test_tests_may_fall_back() -> None:
    text = HEAD + SILENT["an else"][0]
    summary = summarise(decode("tests/test_model.py", text.encode()))
    assert [f for f in judge(summary, Project(), CODES) if f.code == "GEL108"] == []
