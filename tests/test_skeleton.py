"""The skeleton: what it keeps, that it keeps it in place, and that LibCST can read it."""

import ast
import importlib.util
import re
import warnings
from pathlib import Path

import libcst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.scan import MAX_BLOCKS, MAX_BRACKETS, MAX_CHAIN, MAX_ELIFS, scan
from gelu_lint.skeleton import Skeleton, skeleton

CHAIN = "x = " + " + ".join("a" * (MAX_CHAIN + 1))
WHY = f"more than {MAX_CHAIN} operators, calls or strings in a chain"


def bones(text: str, *needles: str) -> Skeleton:
    return skeleton(text, scan(text), needles or ("gelu",))


def kept(text: str, *needles: str) -> str:
    """The kept rows, parted by spaces."""
    return " ".join(row for row in bones(text, *needles).text.split("\n") if row)


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


@pytest.mark.parametrize(
    ("others", "binds"),
    [
        ("import a", True),
        ("import b as a, c", True),
        ("import a.c", True),
        ("from a import c", True),  # over-approximated
        ("from b import (c,\n  d as a)", True),
        ("from b import *", True),
        ("from __future__ import annotations", True),
        ("import c", True),  # names at hand for fixes
        ("def a(): pass", True),
        ("async def a(): pass", True),
        ("@b\nclass a: pass", True),
        ("def c(a): a", False),
        ("def c():\n  a = 1", False),
        ("def c():\n  global b, a\n  a = 1", True),
        ("def c():\n  global b, \\\n  a\n  a = 1", True),
        ("def c(): x = 1; global a", True),
        ("def c(x=(a := 1)): pass", True),
        ("def c():\n  'global: a'\n  a", False),
        ("class c(a): a = 1", False),
        ("a = 1", True),
        ("b = a = 1", True),
        ("b, *a = c", True),
        ("[b, a] = c", True),
        ("a: int = 1", True),
        ("a: int", True),
        ("a += 1", True),
        ("a.b = 1", True),
        ("b.a = 1", True),
        ("a[0] = 1", True),
        ("setattr(b, 'a', 1)", True),
        ("del a", True),
        ("b = (a := 1)", True),
        ("b = 1; del a", True),
        ("b = a", False),
        ("b = c(d=1) + a", False),
        ("b: str = a", False),
        ("b = a == 1", False),
        ("if b: a = 1", True),
        ("if b:\n  c\nelse:\n  a = 1", True),
        ("try:\n  import a\nexcept b: pass", True),
        ("for a in b: pass", True),
        ("with b as a: pass", True),
        ("match b:\n  case a: pass", True),
    ],
)
def test_what_binds_a_loaded_name(others: str, binds: bool) -> None:
    text = f"{others}\nx = gelu(a)"
    assert (kept(text) == text.replace("\n", " ")) is binds
    assert kept(text).endswith("x = gelu(a)")


@pytest.mark.parametrize(
    ("use", "loads"),
    [
        ("gelu(a)", True),
        ("gelu.a", True),
        ("gelu(f'{a}')", True),
        ("gelu(rF'''{a}''')", True),
        ("gelu(f'{b[\"a\"]}')", True),  # over-approximated
        ("def gelu(): return a", True),
        ("@a\ndef gelu(): pass", True),
        ("def gelu():\n  'a'\n  # a\n  b = '\\'', 'a'", False),
        ("gelu('a', \"a\", '''a\n'a''', \"\"\"a\"\" a\"\"\", 'a\\\na')  # a", False),
        ("gelu('''\n''', a, '')", True),
        ("gelu('\\\\', a, '')", True),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_loads_a_name(use: str, loads: bool, end: str) -> None:
    text = f"a = 1\n{use}\n".replace("\n", end)
    assert ("a = 1" in bones(text).text) is loads
    assert "gelu" in bones(text).text


def test_bindings_are_followed() -> None:
    text = "import a\nb = a\nc = b\nd = c\nx = d.GELU\ny = x\nz = 1\n"
    assert kept(text) == "import a b = a c = b d = c x = d.GELU y = x"


@pytest.mark.parametrize(
    "alias",
    ["from torch.nn import GELU as G", "G = nn.GELU", "G = getattr(nn, 'GELU')", "class G(nn.GELU): pass",
     "try:\n    from torch.nn import GELU as G\nexcept ImportError:\n    pass", "H = nn.GELU\nG = H"],
)  # fmt: skip
def test_what_uses_another_name_of_a_needle_is_kept(alias: str) -> None:
    use = "def block():\n    return G()\n"
    assert use in bones(f"{alias}\n{use}y = 1\n").text
    assert "y = 1" not in bones(f"{alias}\n{use}y = 1\n").text


def test_keywords_are_no_names() -> None:
    assert kept("in_ = 1\nimport_ = 2\ndef gelu(): import b") == "def gelu(): import b"


def test_needles_are_lower_case_and_the_text_any() -> None:
    text = "İ = 1\nx = GeLU\ny = Erf\nz = 2"
    assert kept(text) == "x = GeLU"
    assert kept(text, "gelu", "erf") == "x = GeLU y = Erf"


def test_a_kept_statement_is_whole_and_in_place() -> None:
    text = "'doc'\n\n@a  # why\n\nclass B:\n\n    # gelu\n    x = '''\ny\n'''\n# end\ny = 1"
    assert bones(text) == Skeleton("\n\n@a  # why\n\nclass B:\n\n    # gelu\n    x = '''\ny\n'''\n\n", (), 8)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_row_ends(end: str) -> None:
    text = "x = 1\n# gelu\nif gelu:\n  y\n".replace("\n", end)
    assert bones(text).text == "\n\nif gelu:\n  y\n".replace("\n", {"\r": "\n"}.get(end, end))


def test_nothing_without_a_needle() -> None:
    assert bones("from a import *\r\nx = 1\rx\n") == Skeleton("\r\n\n\n", (), 0)


def test_everything_with_an_empty_needle() -> None:
    text = "# a\nx = 1\n\ny = 2\n# b"
    assert bones(text, "") == Skeleton(text, (), 5)


def test_everything_where_the_scan_is_not_sure() -> None:
    text = "x = 1\n# c\ny = (gelu"
    assert bones(text) == Skeleton(text, (), 3)
    assert bones("x = (").text == ""


def test_a_simple_line_out_of_bounds_becomes_pass() -> None:
    text = f"class A:\n\tgelu = 1\n\t{CHAIN} + [\n  0]\n\ty = 2\n"
    rest = "class A:\n\tgelu = 1\n\tpass\n\n\ty = 2\n"
    assert bones(text) == Skeleton(rest, ((3, 4, WHY),), 3)
    assert bones(text, "") == Skeleton(rest, ((3, 4, WHY),), 4)


@pytest.mark.parametrize(
    ("statement", "skipped"),
    [
        (f"gelu; {CHAIN}", (2, 2, WHY)),
        (f"def gelu():\n  if a: {CHAIN}", (3, 3, WHY)),
        (f"@a({CHAIN[4:]})\ndef gelu(): pass", (2, 2, WHY)),
        (f"class A:\n  gelu\n  @a({CHAIN[4:]}\n  )\n  def f(): pass", (4, 5, WHY)),
        ("gelu" + "(" * 101 + ")" * 101, (2, 2, f"brackets nested deeper than {MAX_BRACKETS}")),
        ("if gelu: a\n" + "elif a: b\n" * (MAX_ELIFS + 1), (2, 2, f"more than {MAX_ELIFS} elif arms")),
        (
            "".join(" " * i + "if a:\n" for i in range(MAX_BLOCKS + 1)) + " " * 100 + "gelu",
            (2, 2, f"blocks nested deeper than {MAX_BLOCKS}"),
        ),
    ],
)
def test_a_header_out_of_bounds_takes_its_statement_along(statement: str, skipped: tuple[int, int, str]) -> None:
    text = f"x = gelu\n{statement}\ny = 1\n"
    rows = text.count("\n")
    assert bones(text) == Skeleton("x = gelu" + "\n" * rows, (skipped,), 1)
    assert bones(text, "").text == "x = gelu" + "\n" * (rows - 1) + "y = 1\n"


def test_what_would_not_be_kept_is_not_skipped() -> None:
    assert bones(f"gelu\nz = 1\n{CHAIN}\n").skipped == ()


HOSTILE = [
    "gelu" + "(" * 20000,
    "gelu" + "[" * 20000 + "]" * 20000,
    "gelu = f'" + "{(" * 20000,
    "gelu" + " + x" * 5000,
    "def f():\n  gelu" + ".x()" * 5000,
    "match gelu:\n case " + "(" * 200 + "1" + ",)" * 200 + ": pass",
    "gelu = 1\ndel " + "(" * 60 + "a b" + ")" * 60,
    "gelu = '" + "(" * 9000,
    'gelu = """' + "(" * 9000,
    "gelu = 1 $ " + "[" * 9000,
    "gelu = (]" + "{1:" * 9000,
    "if gelu: a\n" + "elif a: b\n" * 5000,
    "gelu = lambda a, b: " + "lambda a, b: " * 5000 + "1",
    "gelu = " + "(not -" * 5000,
    "\0gelu" * 100,
]


@pytest.mark.parametrize("needle", ["gelu", ""])
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_libcst_survives_hostile_text(text: str, needle: str) -> None:
    found = bones(text, needle)
    assert found.text.count("\n") == text.count("\n")
    try:
        parsed = libcst.parse_module(found.text).code
    except libcst.ParserSyntaxError:
        assert not scan(text).sure
    else:
        assert parsed == found.text


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def loaded_and_bound(nodes: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements load, and those that they bind at the top level."""
    loads, binds = set(), set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                loads.add(node.id)
        definition = isinstance(top, DEFINITIONS)
        inner = [node.target for node in ast.walk(top) if isinstance(node, ast.comprehension)]
        local = {id(node) for target in inner for node in ast.walk(target)}
        for node in [top] if definition else ast.walk(top):
            if isinstance(node, DEFINITIONS):
                binds.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                binds |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in local:
                binds.add(node.id)
    return loads, binds


def check_closed(text: str, *needles: str) -> None:
    """The skeleton holds every needle, parses, and lacks no statement that binds what it loads."""
    found = bones(text, *needles)
    rows, left = text.split("\n"), found.text.split("\n")
    assert [row for row, was in zip(left, rows, strict=True) if row not in ("", was)] == []
    tree = parse(found.text)
    at = {node.lineno for node in tree.body}
    missing = [node for node in parse(text).body if node.lineno not in at]
    assert not loaded_and_bound(tree.body)[0] & loaded_and_bound(missing)[1]
    for node in missing:
        code = "\n".join(rows[node.lineno - 1 : node.end_lineno]).lower()
        assert not [needle for needle in needles if needle in code]
    assert libcst.parse_module(found.text).code == found.text


NAMES = st.sampled_from(["a", "b", "c", "d", "gelu"])
PIECES = st.builds(
    lambda form, x, y, z: form.replace("X", x).replace("Y", y).replace("Z", z),
    st.sampled_from(
        [
            *("X = Y", "X, Y = Z", "X.Y = Z", "X += Y", "X(Y=Z)", "import X", "from X import Y as Z", "X[Y] = Z # X"),
            *("def X(Y=Z): pass", "def X():\n    global Y\n    Y = Z", "class X(Y):\n    '''\nZ\n    '''\n    q = Z"),
            *("@X\nclass Y: pass", "if X:\n    Y = Z\nelse:\n    Z = 1", "with X as Y: Z", "for X in Y: Z", "# X"),
            *("try: import X\nexcept Y: Z = 1", "X = f'{Y}' 'Z'", "X = [Y for Z in Y]; Z = 1", "X: Y = (Z := 1)"),
            *("def X():\n    return '''\nY''' + \\\n    Z", "del X, Y", "X = (Y ==\n  Z)", "X = Y = Z"),
        ]
    ),
    *[NAMES] * 3,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=12).map("\n".join))
def test_nothing_is_missing(text: str) -> None:
    check_closed(text, "gelu")


def real_text(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return re.sub(r"\r\n?", "\n", Path(spec.origin).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    [
        *("libcst._nodes.op", "hypothesis.internal.charmap", "_pytest.fixtures", "flake8.checker", "pycodestyle"),
        *("argparse", "typing", "dataclasses", "logging", "enum"),
    ],
)
def test_nothing_is_missing_in_real_modules(name: str) -> None:
    text = real_text(name)
    for needle in ("warn", "error", "float", "token"):
        if needle in text.lower():
            check_closed(text, needle)
