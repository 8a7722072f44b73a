"""The skeleton: what it keeps, that its rows are those of the whole, and that LibCST can read it."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

import libcst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.lines import Lines
from gelu_lint.scan import MAX_BLOCKS, MAX_BRACKETS, MAX_CHAIN, MAX_ELIFS, scan
from gelu_lint.skeleton import LONGEST, SMALL, Skeleton, skeleton, whole

CHAIN = "x = " + " + ".join("a" * (MAX_CHAIN + 1))
WHY = f"more than {MAX_CHAIN} operators, calls or strings in a chain"


def bones(text: str, small: int = 0) -> Skeleton:
    return skeleton(text, scan(text).rows, small)


def all_of(text: str) -> Skeleton:
    return whole(text, scan(text))


def kept(text: str) -> str:
    """The kept rows, parted by spaces."""
    return bones(text).text.strip("\n").replace("\n", " ")


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parses(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


# What stays

KEPT = [
    *("import a", "import b as a, c", "import a.c", "from a import c", "from b import (c,\n  d as a)"),
    *("from b import *", "try:\n  import a\nexcept b: pass", "if b: import a", "import b; import a"),
    *("a = 1", "a = None", "a = 'b'", "b = a = 1", "b, *a = c", "a: int = 1", "a += 1", "a = b.c", "a = b if c else d"),
    *("a = \\\n  1", "a = (\n  b\n)", "a = getattr(b, 'c')", "del a", "b = (a := 1)", "b = 1; del a", "print(a := b)"),
    *("a.b = 1", "a.b = c(d)", "b.a = 1", "setattr(a, 'b', 1)", "mock.patch.object(a, 'b')", "global a"),
    *("if b: a = 1", "for a in b: pass", "with b as a: pass", "match b:\n  case a: pass"),
    *("def c():\n  global b, a\n  a = 1", "def c():\n  global b, \\\n  a\n  a = 1", "def c(): x = 1; global a"),
    "def c(x=(a := 1)): pass",
]  # fmt: skip
#: Bindings to nothing that a fact can rest on.
MARKED = [
    *("def a(): pass", "async def a(): pass", "@b\nclass a: pass", "class a(b):\n  c = 1", "a = f(b)", "a = []"),
    *("a = {b: c}", "[b, a] = c", "a: List[b] = c", "a = b[0]", "for a in b:\n  pass", "with b() as a:\n  c"),
]
GONE = [
    *("import c", "def c(a): a", "def c():\n  a = 1", "def c():\n  'global: a'\n  a", "class c(a): a = 1", "a: int"),
    *("b = a", "b = c(d=1) + a", "b: str = a", "b = a == 1", "a[0] = 1", "setattr(b, 'a', 1)", "a", "a()", "assert a"),
    *("a.b()", "a.b(c=1)", "f(a, b=1)", "f(b, a=1)", "if b:\n  a.c(d=1)", "'a = 1'", "# a = 1"),
    *("b = lambda a=1: a", "[a for a in b]", "from __future__ import annotations"),
]


@pytest.mark.parametrize("other", KEPT)
def test_what_gives_a_loaded_name_a_meaning_stays(other: str) -> None:
    text = f"{other}\nx = F.gelu(a)"
    assert kept(text) == text.replace("\n", " ")


@pytest.mark.parametrize("other", MARKED)
def test_what_binds_a_loaded_name_to_something_unknown_leaves_its_mark(other: str) -> None:
    assert "del a" in bones(f"{other}\nx = F.gelu(a)").text.split("\n")


@pytest.mark.parametrize("other", GONE)
def test_what_does_not_bind_a_loaded_name_goes(other: str) -> None:
    left = kept(f"{other}\nx = F.gelu(a)")
    assert left == "x = F.gelu(a)"


@pytest.mark.parametrize("other", [*KEPT, *MARKED, *GONE])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_row_ends_change_nothing(other: str, end: str) -> None:
    text = f"{other}\nx = F.gelu(a)\n"
    found, ended = bones(text), bones(text.replace("\n", end))
    assert ended.text == (found.text.replace("\n", end) if end == "\r\n" else found.text)
    assert ended.origin == found.origin


@pytest.mark.parametrize(
    "call",
    [
        *("torch.manual_seed(0)", "nn.init.normal_(w, std=0.02)", "torch.set_default_dtype(torch.half)", "print(nn)"),
        *("assert torch", "torch.manual_seed(0); print(nn)", "if flag: nn.init.zeros_(w)", "log(nn, end='')"),
        *("nn[0] = 1", "nn.relu_(w)"),
        *("y = f(nn, torch)", "f(nn).mode = 1", "del y[nn]", "while (y := f(nn)): pass", "z = lambda nn=None: nn"),
    ],
)
@pytest.mark.parametrize("small", [0, SMALL])
def test_a_line_that_only_uses_a_name_does_not_hide_it(call: str, small: int) -> None:
    text = f"import torch\nfrom torch import nn\n{call}\nx = nn.GELU()\n"
    assert "del nn" not in bones(text, small).text
    inside = f"import torch\nfrom torch import nn\ndef f():\n    {call}\n    return nn.GELU()\n"
    assert "del nn" not in bones(inside, small).text


@pytest.mark.parametrize(
    ("use", "loads"),
    [
        ("F.gelu(a)", True),
        ("F.gelu(a.b)", True),
        ("F.gelu(f'{a}')", True),
        ("F.gelu(rF'''{a}''')", True),
        ("def gelu(): return a", True),
        ("def gelu(x):\n  return x * a", True),
        ("@a\ndef gelu(): pass", True),
        ("def gelu():\n  'a'\n  # a\n  b = '\\'', 'a'", False),
        ("F.gelu('a', \"a\", '''a\n'a''', \"\"\"a\"\" a\"\"\", 'a\\\na')  # a", False),
        ("F.gelu('''\n''', a, '')", True),
        ("F.gelu('\\\\', a, '')", True),
        ("F.gelu(b.a)", False),
        ("F.gelu(b, x='a')", False),
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


ALIASES = [
    *("from torch.nn import GELU as G", "import gelu as G", "G = nn.GELU", "G = nn.GELU  # why", "G: Any = nn.GELU"),
    *(
        "G = getattr(nn, 'GELU')",
        "G = \\\n    getattr(nn, 'GELU')",
        "G = (\n    nn.GELU\n)",
        "G = H = nn.GELU",
        "H = G = nn.GELU",
    ),
    *(
        "G, H = nn.GELU, f(1)",
        "G = nn.GELU if a else nn.SiLU",
        "G = __import__('torch').nn.GELU",
        "class G(nn.GELU): pass",
    ),
    *(
        "try:\n    from torch.nn import GELU as G\nexcept ImportError:\n    pass",
        "if a: G = nn.GELU",
        "a = 1; G = nn.GELU",
    ),
    *("H = nn.GELU\nG = H", "from torch.nn import (\n    GELU as G,\n)", "G = import_module('torch.nn').GELU"),
]


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("small", [0, SMALL])
def test_what_uses_another_name_of_a_needle_is_kept(alias: str, small: int) -> None:
    use = "def block():\n    return G()\n"
    found = bones(f"{alias}\n{use}y = 1\n", small).text
    assert use in found
    assert "y = 1" not in found


@pytest.mark.parametrize("alias", [alias for alias in ALIASES if "G" in alias.split("\n")[-1] or "\n" not in alias])
def test_so_is_what_uses_it_within_a_function(alias: str) -> None:
    body = textwrap.indent(f"{alias}\nfiller(1)\nfor b in c:\n    d = G()\nfiller(2)", "    ")
    found = bones(f"def f():\n{body}\n").text
    assert "    for b in c:\n        d = G()\n" in found
    assert "filler" not in found


def test_keywords_are_no_names() -> None:
    assert kept("in_ = 1\nimport_ = 2\ndef gelu(): import b") == "def gelu(): import b"


def test_needles_are_found_in_any_case_after_any_letter() -> None:
    assert kept("İ = 1\nx = GeLU\nz = 2") == "x = GeLU"
    assert kept("x = '🙂 ß İ'; y = nn.GELU") == "x = '🙂 ß İ'; y = nn.GELU"


# What stays with it

METHOD = """\
class A(Base):
    '''Some class.'''
    size = 3

    # why
    @wrapped
    def f(self, x):
        '''Some method.'''
        log(x)
        if x:
            log(x)
        else:
            for y in x:
                # here
                self.act = nn.GELU()
                log(y)
        return 1

    def g(self):
        return 2
"""


def test_around_a_kept_line_the_headers_and_arms_stay() -> None:
    assert [row.strip() for row in bones(METHOD).text.splitlines()] == [
        *("class A(Base):", "@wrapped", "def f(self, x):", "if x:", "pass", "else:", "for y in x:", "# here"),
        "self.act = nn.GELU()",
    ]


def test_docstrings_stay_where_they_may_say_what_a_function_gives() -> None:
    given = METHOD.replace("self.act = nn.GELU()", "return F.gelu(y)")
    assert "'''Some class.'''" in bones(given).text
    assert "'''Some method.'''" in bones(given).text


def test_a_small_text_keeps_its_statements_whole() -> None:
    assert bones(METHOD + "z = 1\n", SMALL).text.replace("\n", "") == METHOD.replace("\n", "")
    filler = "\n" * SMALL
    assert bones(METHOD + filler, SMALL).text == bones(METHOD).text


@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    y = x / SQRT\n    z = torch.erf(y)\n    w = 1 + z\n    return x * w\n",
        "def f(x):\n    y = x\n    z = torch.erfc(y)\n    return x * z\n",
        "def f(x):\n    y = 1\n    return x * norm.cdf(x)\n",
        "def gelu(x):\n    y = x * 2\n    return y\n",
        "def gelu_backward(x):\n    y = x * 2\n    return y\n",
        'def f(x):\n    """GELU activation."""\n    y = x * 2\n    return y\n',
        "class GELU(Base):\n    a = 1\n    def g(self):\n        return 1\n",
        "class A(F):\n    def forward(x): return F.erf(x)\n    def backward(x):\n        y\n        return 1\n",
        "@register('gelu')\ndef f(x):\n    y = 1\n    return y\n",
        "if name == 'gelu':\n    y = 1\n    f(y)\n",
    ],
)
def test_what_computes_or_is_named_for_a_gelu_stays_whole(function: str) -> None:
    text = f"z = nn.GELU\ndef before():\n    pass\n{function}def after():\n    pass\n"
    assert function in bones(text).text
    assert "before" not in bones(text).text


@pytest.mark.parametrize(
    "test", ["not hasattr(F, 'x')", "HAS_X", "torch.__version__ < '2'", "isinstance(x, Version)", "TORCH_GE_2"]
)
@pytest.mark.parametrize("leave", ["return", "raise ValueError"])
def test_a_question_before_which_a_block_may_be_left_stays(test: str, leave: str) -> None:
    early = f"    if {test}:\n        log(x)\n        {leave}\n"
    assert early in bones(f"def f(x):\n{early}    log(x)\n    return F.gelu(x)\n").text
    assert "if" not in bones(f"def f(x):\n    return F.gelu(x)\n{early}").text
    early = early.replace("log(x)\n", "log(nn.GELU)\n")
    assert early in bones(f"def f(x):\n{early}    log(x)\n    return F.gelu(x)\n").text


@pytest.mark.parametrize(
    "quiet",
    [
        *("# F.gelu(x)", "u = 1  # gelu", "'''\nIt calls F.gelu(x).\n'''", "hidden_act = 'gelu'"),
        *("f(activation='gelu')", "log('It is `gelu`.')"),
        "def f():\n    '''Calls gelu of x.'''\n    return 1",
    ],
)
def test_words_that_say_nothing_keep_nothing(quiet: str) -> None:
    assert bones(f"{quiet}\n").text == ""
    assert kept(f"{quiet}\nx = F.gelu(y)\n") == "x = F.gelu(y)"


def test_an_emptied_block_keeps_a_pass_and_a_mark_stands_in_its_block() -> None:
    text = "class A:\n\tif b:\n\t\tn = f(1)\n\t\tlog()\n\telse:\n\t\tlog()\n\tx = F.gelu(n)\n"
    assert bones(text).text == "class A:\n\tdel n\n\tx = F.gelu(n)\n"
    assert bones(text).origin == (1, 2, 7)
    assert bones(text.replace("\n", "\r\n")).text == bones(text).text.replace("\n", "\r\n")


def test_comments_between_lines_that_stay_together_stay() -> None:
    text = "def gelu(x):\n    # one\n\n    y = x\n    # two\n    return y\n# three\n"
    assert bones(text).text == text.removesuffix("# three\n")


# Rows


def check_rows(text: str, found: Skeleton) -> None:
    """Every row is one of the whole, in order, but for what stands in the place of others."""
    rows, left = re.split(r"\r\n|\r|\n", text), re.split(r"\r\n|\n", found.text)
    assert len(found.origin) in (len(left), len(left) - 1)  # of a last row end
    assert [*found.origin] == sorted({*found.origin})
    for row, number in zip(left, found.origin, strict=False):
        was = rows[number - 1]
        indent = was[: len(was) - len(was.lstrip(" \t\f"))]
        assert row == was or re.fullmatch(re.escape(indent) + r"(?:pass|del [\w, ]+)", row)


def test_nothing_without_a_needle() -> None:
    found = bones("from a import *\r\nx = 1\rx\n")
    assert (found.text, found.origin, found.skipped) == ("", (), ())
    assert [part.row for part in found.statements.parts] == [1, 2, 3]
    assert bones("").statements.parts == []


def test_rows_kinds_and_places_of_what_is_kept() -> None:
    text = "'doc'\n\n@a  # why\n\nclass B:\n\n    # gelu\n    x = '''\ny\n''', nn.GELU  # noqa\n# end\ny = 1"
    found = bones(text)
    assert found.text == "@a  # why\nclass B:\n\n    # gelu\n    x = '''\ny\n''', nn.GELU  # noqa\n"
    assert found.origin == (3, 5, 6, 7, 8, 9, 10)
    assert [(line.row, line.end_row, line.word) for line in found.logical] == [
        (3, 3, "@"),
        (5, 5, "class"),
        (8, 10, "x"),
    ]
    assert [comment.row for comment in found.comments] == [10]
    assert found.joins == ((8, 10),)
    assert [(part.row, part.kind) for part in found.statements.parts] == [(1, "simple"), (3, "class"), (12, "simple")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_whole_is_the_whole(end: str) -> None:
    text = "# a\nx = 1\n\ny = '''\n'''\n# b".replace("\n", end)
    found = all_of(text)
    assert found.text == text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\n" if end == "\r" else end)
    assert found.origin == (1, 2, 3, 4, 5, 6)
    assert [(part.row, part.kind) for part in found.statements.parts] == [(2, "simple"), (4, "simple")]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n  \n", "\n\n \n\t\n ", "\n# c\n\n  \n\n"])
def test_libcst_gives_all_of_the_whole_back_whatever_white_space_it_ends_with(end: str) -> None:
    found = all_of(f"x = 1{end}")
    assert libcst.parse_module(found.text).code == found.text
    assert found.text.rstrip() == f"x = 1{end}".rstrip()
    check_rows(f"x = 1{end}", found)


@pytest.mark.parametrize("text", ["x = 1\n# c\ny = (gelu", "  x = 1\n  y = nn.GELU()\n", "x = 'nn.GELU\n"])
def test_everything_where_the_statements_cannot_be_told(text: str) -> None:
    assert bones(text).text == text
    assert bones(text).origin == (*range(1, text.count("\n") + 2),)


def test_nothing_where_they_cannot_be_told_and_the_text_is_too_long_to_be_read() -> None:
    text = "y = (gelu\n" + "x\n" * LONGEST
    found = bones(text)
    assert (found.text, found.origin) == ("", ())
    assert [(row, end_row) for row, end_row, _ in found.skipped] == [(1, LONGEST + 2)]


def test_a_text_that_only_scan_can_tell_is_told_by_it() -> None:
    text = "z = (\n1)\nx = nn.GELU(\n)\n\fy = 1\n"
    assert bones(text).text == "x = nn.GELU(\n)\n"


# Bounds


def test_a_simple_line_out_of_bounds_becomes_pass() -> None:
    text = f"class A:\n\tgelu = 1\n\t{CHAIN} + gelu[\n  0]\n\ty = 2\n"
    assert bones(text).text == "class A:\n\tgelu = 1\n\tpass\n"
    assert bones(text).origin == (1, 2, 3)
    assert bones(text).skipped == ((3, 4, WHY),)
    assert all_of(text).text == "class A:\n\tgelu = 1\n\tpass\n\ty = 2\n"
    assert all_of(text).origin == (1, 2, 3, 5, 6)
    assert all_of(text).skipped == ((3, 4, WHY),)


@pytest.mark.parametrize(
    ("statement", "skipped"),
    [
        (f"F.gelu; {CHAIN}", (2, 2, WHY)),
        (f"def gelu():\n  if a: {CHAIN}", (3, 3, WHY)),
        (f"@a({CHAIN[4:]})\ndef gelu(): pass", (2, 2, WHY)),
        (f"class A:\n  F.gelu\n  @a({CHAIN[4:]}\n  )\n  def gelu(): pass", (4, 5, WHY)),
        ("F.gelu" + "(" * 101 + ")" * 101, (2, 2, f"brackets nested deeper than {MAX_BRACKETS}")),
        ("if F.gelu: a" + "\nelif a: b" * (MAX_ELIFS + 1), (2, 2, f"more than {MAX_ELIFS} elif arms")),
        (
            "".join(" " * i + "if a:\n" for i in range(MAX_BLOCKS + 1)) + " " * 100 + "F.gelu",
            (2, 2, f"blocks nested deeper than {MAX_BLOCKS}"),
        ),
    ],
)
def test_a_header_out_of_bounds_takes_its_statement_along(statement: str, skipped: tuple[int, int, str]) -> None:
    text = f"x = F.gelu\n{statement}\ny = F.gelu\n"
    found = bones(text)
    assert found.text == "x = F.gelu\ny = F.gelu\n"
    assert found.origin == (1, text.count("\n"))
    assert found.skipped == all_of(text).skipped == (skipped,)
    assert all_of(text).text == found.text


def test_what_would_not_be_kept_is_not_skipped() -> None:
    assert bones(f"F.gelu\nz = 1\n{CHAIN}\n").skipped == ()


HOSTILE = [
    *("gelu" + "(" * 20000, "gelu" + "[" * 20000 + "]" * 20000, "gelu = f'" + "{(" * 20000, "gelu" + " + x" * 5000),
    *("def f():\n  gelu" + ".x()" * 5000, "match gelu:\n case " + "(" * 200 + "1" + ",)" * 200 + ": pass"),
    *("gelu = 1\ndel " + "(" * 60 + "a b" + ")" * 60, "gelu = '" + "(" * 9000, 'gelu = """' + "(" * 9000),
    *("gelu = 1 $ " + "[" * 9000, "gelu = (]" + "{1:" * 9000, "if gelu: a\n" + "elif a: b\n" * 5000),
    *("gelu = lambda a, b: " + "lambda a, b: " * 5000 + "1", "gelu = " + "(not -" * 5000, "\0gelu" * 100),
    *("gelu = a" + "[0]" * 5000, "gelu = " + "a = " * 5000 + "1", "gelu" + " = a" * 5000, "'" + "gelu '" * 5000),
    *("gelu\f" * 500, "# gelu\r" * 2000, "@gelu\n" * 2000, "def gelu(a=" * 2000, "import gelu as " * 2000),
    *("nn.gelu = " + "a." * 2000, "if gelu:\n" * 2000, "x = 'gelu" + "\\" * 9000, "gelu " + "\t" * 9000 + "x"),
]
#: More needles, arms, decorators and names than any code has.
LONG = [
    *("gelu = b\n" * 2000, "x = (\n" + "gelu,\n" * 2000 + ")", "x = ['gelu'" + ", 'gelu'" * 2000 + "]"),
    *("a = 1; gelu\n" * 1000, "match gelu:\n" + "    case 1: a\n" * 2000, "@a\n" * 2000 + "def gelu(): pass"),
    *("try: gelu\n" + "except a: b\n" * 2000, "x = [\n" + "f'{gelu}',\n" * 2000 + "]", "gelu_0, = b\n" * 1000),
    "G0 = nn.GELU\n" + "".join(f"G{i} = G{i - 1}\n" for i in range(1, 1000)) + "gelu = G999\n",
    "".join(" " * i + "if a:\n" for i in range(90)) + (" " * 90 + "gelu\n") * 100,
]


@pytest.mark.parametrize("text", [*HOSTILE, *LONG], ids=lambda text: repr(text[:20]))
def test_libcst_survives_hostile_text(text: str) -> None:
    for found in (bones(text), all_of(text)):
        check_rows(text, found)
        try:
            parsed = libcst.parse_module(found.text).code
        except (libcst.ParserSyntaxError, ValueError):
            assert not parses(text)
        else:
            assert parsed == found.text


@pytest.mark.parametrize("text", LONG, ids=lambda text: repr(text[:20]))
def test_no_needle_of_a_long_text_is_lost(text: str) -> None:
    assert bones(text).text.lower().count("gelu") == text.lower().count("gelu")


# Programs

NAMES = st.sampled_from(["a", "b", "c", "d", "F"])
SIMPLE = [
    *("X = Y", "X, Y = Z", "X.Y = Z", "X += Y", "X(Y=Z)", "import X", "from X import Y as Z", "X[Y] = Z # X", "# X"),
    *("X = f'{Y}' 'Z'", "X = [Y for Z in Y]; Z = 1", "X: Y = (Z := 1)", "del X, Y", "X = (Y ==\n  Z)", "X = Y = Z(X)"),
    *("X = '''\n  Y'''", "X = Z + \\\n    Y", "X = Y(Z)", "return X", "global X", "pass", "'gelu'", "'''GELU'''", ""),
    *(
        "X = F.gelu(Y)",
        "F.gelu(X, Y=Z)",
        "X = nn.GELU",
        "from torch import gelu as X",
        "X = Y * F.erf(Z)",
        "self.X = F.gelu",
    ),
]
BLOCKS = [
    *("def X(Y=Z):\n{}", "def X():\n    global Y\n{}", "class X(Y):\n    '''\nZ\n    '''\n{}", "@X\nclass Y:\n{}"),
    *("if X:\n{}\nelse:\n    Z = 1", "if hasattr(X, 'Y'):\n{}", "with X as Y:\n{}", "for X in Y:\n{}", "while X:\n{}"),
    *(
        "try:\n{}\nexcept Y as Z: pass",
        "def gelu(X):\n{}",
        "class X(nn.GELU):\n{}",
        "match X:\n    case Y:\n        pass\n{}",
    ),
]


@st.composite
def statements(draw: st.DrawFn, depth: int = 0) -> str:
    form = draw(st.sampled_from([*SIMPLE, *BLOCKS] if depth < 3 else SIMPLE))
    for mark in "XYZ":
        form = form.replace(mark, draw(NAMES))
    if "{}" not in form:
        return form
    body = "\n".join(draw(st.lists(statements(depth + 1), min_size=1, max_size=3)))
    return form.replace("{}", textwrap.indent(f"{body}\nbody", "    "))


PROGRAMS = st.lists(statements(), max_size=6).map("\n".join)


@settings(max_examples=300, deadline=None)
@given(PROGRAMS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_is_left_of_a_program_is_one_with_its_needles_in_their_rows(text: str, end: str) -> None:
    text = text.replace("\n", end)
    found = bones(text)
    check_rows(text, found)
    assert {*found.origin} <= {*bones(text, SMALL).origin} <= {*range(1, len(scan(text).rows) + 1)}
    if not parses(text):
        return
    parse(found.text)
    assert libcst.parse_module(found.text).code == found.text
    rows = re.split(r"\r\n|\r|\n", text)
    code = [number for number, row in enumerate(rows, 1) if "F.gelu" in row or "nn.GELU" in row or "F.erf(" in row]
    assert {*code} <= {*found.origin}


@pytest.mark.parametrize(
    "lines",
    [
        "from torch import nn\n" + "x = nn.GELU()\n",
        "import torch.nn.functional as F\n\n\ndef f(x, gate):\n" + "    x = F.gelu(x) * gate\n",
        "from torch import nn\n\n\nclass A(nn.Module):\n    def __init__(self, gate):\n        self.act = nn.GELU()\n",
    ],
)
def test_a_name_that_many_lines_bind_is_followed_once(lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the lines, about twice the lookups of places: not four times."""
    counts = []
    row_of = Lines.row_of
    for count in (200, 400):
        head, _, last = lines.rstrip("\n").rpartition("\n")
        text = f"{head}\n" + f"{last}\n" * count
        looked: list[int] = []

        def counted(lines: Lines, row: int, looked: list[int] = looked) -> int:
            looked.append(row)
            return row_of(lines, row)

        with monkeypatch.context() as patch:
            patch.setattr(Lines, "row_of", counted)
            skeleton(text, scan(text).rows)
        counts.append(len(looked))
    assert 0 < counts[1] < 3 * counts[0]
