"""The skeleton changes nothing: what is found in part of a file is what is found in all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Finding, Project
from gelu_lint.registry import enabled
from gelu_lint.screen import passes
from gelu_lint.source import Unreadable, decode

CODES = enabled(("GEL",), (), ())
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


def test_there_is_real_code() -> None:
    assert len(REAL) > 20


@pytest.mark.parametrize("path", REAL[::3], ids=lambda path: path.stem)
def test_the_skeleton_changes_no_finding_in_real_code(path: Path) -> None:
    try:
        part, whole = both(path.name, path.read_bytes())
    except Unreadable:
        return  # not a text at all
    assert part == whole


HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
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
    "form feed": "\f\n\fact = nn.GELU()\n",
    "quotes elsewhere": "A = ['a', 'b', 'c']\nB = f('a')\n\n\ndef f(x):\n    return F.gelu(x)\n",
}


@pytest.mark.parametrize("code", CASES.values(), ids=list(CASES))
def test_the_skeleton_changes_no_finding_here(code: str) -> None:
    part, whole = both("model.py", (HEAD + code).encode())
    assert part == whole


@pytest.mark.parametrize("name", ["shadowed below", "global", "patched elsewhere", "patched by setattr"])
def test_what_another_statement_does_to_a_name_counts(name: str) -> None:
    part, _ = both("model.py", (HEAD + CASES[name]).encode())
    assert not [finding for finding in part if finding.code == "GEL001"]


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
