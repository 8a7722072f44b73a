"""The scanner against ast, tokenize, flake8 and LibCST, on programs made of nasty parts and on real packages."""

import argparse
import ast
import importlib.util
import io
import re
import tokenize
import types
import warnings
from pathlib import Path

import libcst
import pytest
from flake8.processor import FileProcessor
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.scan import MAX_BLOCKS, MAX_BRACKETS, MAX_CHAIN, MAX_ELIFS, MAX_STEEP, scan

# Parted by "---"; » stands for a tab, ~~~ for three quotes.
PARTS = r'''
x = 1
---
x = 1; y = 2; import a
---
from a import (
    b,  # noqa: GEL001
c)
---
x = {"a": [1, (2,
# gelu-lint: ignore[GEL012] why
3)], 'b': """one
two""", **{}}
---
"""doc
def fake():
    """
---
class A: pass
---
class A:
    """
column 0
    """
# NoQA at column 0
    def f(self): return 'it\'s'

    x = r'\'' "a\
b"
---
@a
@b(1,
2)
# between
class B(A): x = 1; y = 2
---
@a
async def f(x, *, y=(lambda: 1)):
    async with x as y: pass
    return await y
---
if a: b
elif c:
    d
# a comment
else:
    if e:
»»f
---
try:
    pass
except (A,
B): pass
else: pass
finally:
  pass
---
for x in y: pass
else: pass
---
match x:
    case [1, *_]:
        pass
    case {"a": 1}: pass
---
match = case = 1
---
match(x)[0].y
---
x = a + \
    b - \
  c
---
x = "a" \
 'b\
c'
---
with a as b, \
     c: pass
---
x = f"{a}{b!r:>{c}}{{not}}" rf'{d["e"]}\{f}' fR'{a:}}}{{' f'\N{DIGIT ONE}\
'
---
x = f"""{a
+ b:{c}} ' " {{
""" + F'{a:%H:%M "x"}'
---
x = f"{a["b"]}" + f"{f"{f'{1}'}"}" + f"{[
    1 # noqa
]}"
---
x = f'{a:{{1: "}"}[1]}}'
---
x = f'{(a:=1)}{a != b}{a=}' + f"{'#'}{lambda_}{{}}"
---
x = b'a' Rb"b" bR'c' u'd' "" '' """""" + f(x)if"a"else"b"
---
not"x" in"y"
---
été = naïve.名 = 1  # noqa été
---
def f():
»if a:
»    return"a"
»# gelu-lint
»else: return
---
x = 1e-5 - 0x1f + 1_0.5j + .5 + 1..real; del x
---
type = print = _ = 0
---
raise A(~~~(
~~~) from [
    x for x in y]
'''


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


FRAGMENTS = PARTS.replace("»", "\t").replace("~~~", "'''").strip("\n").split("\n---\n")
FRAGMENTS = [part for part in FRAGMENTS if parses(part)]  # some need Python 3.12


def wrapped(part: str, header: str) -> str:
    body = "\n".join("    " + line for line in part.split("\n"))
    return f"{header}:\n{body}"


STATEMENTS = st.one_of(
    st.sampled_from(FRAGMENTS),
    st.builds(wrapped, st.sampled_from(FRAGMENTS), st.sampled_from(["class C", "if c", "def g()", "while 1"])),
    st.sampled_from(["", "# noqa", "\f", "   # Gelu-Lint", "\fx = 1", " \f@a\n\fdef f(): pass"]),
).filter(parses)
PROGRAMS = st.lists(STATEMENTS, max_size=8).map("\n".join).filter(parses)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def unix(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text)


def true_statements(text: str) -> list[tuple[int, int]]:
    """The row ranges of the top-level statements, those joined by ";" being one."""
    ranges: list[tuple[int, int]] = []
    for node in parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        assert node.end_lineno is not None
        if ranges and ranges[-1][1] == first:
            first = ranges.pop()[0]
        ranges.append((first, node.end_lineno))
    return ranges


def tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text, newline="\n").readline))


def true_lines(text: str) -> list[tuple[int, int, int, str]]:
    """(row, end_row, indent, word) of the logical lines."""
    lines = []
    first = None
    for token in tokens(text):
        if token.type == tokenize.NEWLINE:
            assert first is not None
            word = first.string if first.string == "@" or first.type == tokenize.NAME else ""
            lines.append((first.start[0], token.start[0], first.start[1], word))
            first = None
        elif first is None and token.type not in (
            tokenize.NL,
            tokenize.COMMENT,
            tokenize.INDENT,
            tokenize.DEDENT,
        ):
            first = token
    return lines


def true_comments(text: str) -> list[tuple[int, int, str]]:
    found = [(*t.start, t.string) for t in tokens(text) if t.type == tokenize.COMMENT]
    return [comment for comment in found if re.search("noqa|gelu-lint", comment[2], re.IGNORECASE)]


def true_joins(text: str) -> list[tuple[int, int]]:
    """The ranges of more than one row that flake8 makes for itself."""
    options = argparse.Namespace(hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0)
    processor = FileProcessor("x.py", options, lines=list(io.StringIO(text, newline="\n")))
    ranges = []

    def note(self: FileProcessor, first: int, last: int) -> dict[int, str]:
        ranges.append((first, last))
        return dict.fromkeys(range(first, last + 1), "")

    processor._noqa_line_range = types.MethodType(note, processor)
    assert processor._noqa_line_mapping or not text
    return [r for r in ranges if r[0] < r[1]]


def check(text: str) -> None:
    """`text` is Python, with rows that end in \\n."""
    found = scan(text)
    assert found.sure
    assert [(s.row, s.end_row) for s in found.statements] == true_statements(text)
    assert [line[:4] for line in found.logical] == true_lines(text)
    assert [line.fault for line in found.logical if line.fault] == []
    assert list(found.comments) == true_comments(text)
    assert list(found.joins) == true_joins(text)


@pytest.mark.parametrize("part", FRAGMENTS)
def test_each_nasty_part(part: str) -> None:
    check(part + "\n")


@settings(max_examples=150, deadline=None)
@given(PROGRAMS)
def test_programs_of_nasty_parts(text: str) -> None:
    check(text + "\n")


@settings(max_examples=100, deadline=None)
@given(PROGRAMS, ENDS)
def test_row_ends_change_nothing_but_offsets(text: str, end: str) -> None:
    ended = text.replace("\n", end)
    found = scan(ended)
    assert found._replace(rows=()) == scan(text)._replace(rows=())
    assert [ended[start:] for start in found.rows] == [
        end.join(text.split("\n")[row:]) for row in range(text.count("\n") + 1)
    ]


SOUP = st.lists(
    st.sampled_from(
        [
            *("'", '"', "'''", '"""', "f'", 'f"', "rf'''", 'b"', "{", "}", "{x:", "{{", "(", ")", "[", "]", "\\"),
            *("\\\n", "\n", "\n", " ", "    ", "\t", "\f", "#", "# noqa", "x", "1.", ":", ":=", "!r", "!=", "="),
            *(";", ",", "@", "if x:", "else:", "def f():", "class A:", "pass", "async ", "match x:", "case 1:"),
            *("é", "\0", "$"),
        ]
    ),
    max_size=12,
).map("".join)
# Where Python sees only a comment or nothing after a last backslash, the logical line is longer than the statement.
LOOSE_END = re.compile(r"\\\n[ \t\f]*(#.*)?(\n|\Z)|;\s*\\\n|\\\n\s*;")


@settings(max_examples=600, deadline=None)
@given(SOUP)
def test_soup_of_tokens(text: str) -> None:
    found = scan(text)
    if parses(text) and found.sure and not LOOSE_END.search(text):
        assert [(s.row, s.end_row) for s in found.statements] == true_statements(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("import a\nfrom b import *", "import import"),
        ("import a; x = 1", "import"),
        ("def f(): pass\nasync def g(): pass\n@a\n\n# b\n@c\nasync  def h(): pass", "def def def"),
        ("class A: pass\n@a\nclass B: pass", "class class"),
        ("if a: pass\nelse: pass\nfor a in b: pass\nelse: pass", "compound compound"),
        ("async with a: pass\nmatch a:\n  case 1: pass", "compound compound"),
        ("try: pass\nexcept A: pass\nexcept: pass\nelse: pass\nfinally: pass\nx", "compound simple"),
        ("x = 1\n'doc'\nf''\nclass_ = 1\ncase = 1", "simple simple simple simple simple"),
    ],
)
def test_kinds(text: str, kinds: str) -> None:
    assert [s.kind for s in scan(text).statements] == kinds.split()


@pytest.mark.parametrize(
    "text",
    [
        *("'a", '"""a', "f'{a'", "f'''", "f'}'", "f'{a:'", "(", ")", "(]", "a $ b", "a ? b", "a\\ b", "x\0"),
        *("x = \\", "  x", "x\n  y", "\\\n  x = 1", "else: pass", "def f(): pass\nelse: pass", "@a\nx = 1", "@a"),
    ],
)
def test_not_sure_of_what_is_not_python(text: str) -> None:
    assert not scan(text).sure


def test_rows_end_where_pythons_do() -> None:
    assert scan("a\f\v\x1c\u2028\x85b\r\nc\rd\n").rows == (0, 9, 11, 13)


def test_a_bracketed_row_end_ends_a_join() -> None:
    assert scan('x = ["""\n""",\n1, \\\n2]\n').joins == ((1, 2), (3, 4))


# (what, text of n of them, how many are in bounds)
BOUNDS = [
    ("lists", lambda n: "x = " + "[" * n + "]" * n, MAX_BRACKETS),
    ("subscripts", lambda n: "x = " + "a[" * n + "1" + "]" * n, MAX_BRACKETS),
    ("comprehensions", lambda n: "[a for a in " * n + "b" + "]" * n, MAX_CHAIN // 3),
    ("fields", lambda n: "x = f'{" + "(" * (n - 1) + "1" + ")" * (n - 1) + "}'", MAX_BRACKETS),
    ("formats", lambda n: "x = f'" + "{a:" * n + "}" * n + "'", MAX_BRACKETS),
    ("patterns", lambda n: "match a:\n  case " + "(" * n + "1" + ",)" * n + ": pass", MAX_STEEP),
    ("deletions", lambda n: "del " + "(" * n + "a" + ")" * n, MAX_STEEP),
    ("sum", lambda n: "x = " + " + ".join("a" * n), MAX_CHAIN),  # "=" counts
    ("strings", lambda n: "'s' " * n, MAX_CHAIN),
    ("f-strings", lambda n: "(" + "f's{a}' " * n + ")", MAX_CHAIN - 1),
    ("calls", lambda n: "a" + ".b()" * n, MAX_CHAIN // 2),
    ("subscript chain", lambda n: "a" + "[0]" * n, MAX_CHAIN),
    ("not", lambda n: "not " * n + "a", MAX_CHAIN),
    ("minus", lambda n: "-" * n + "a", MAX_CHAIN),
    ("lambda", lambda n: "lambda a, b: " * n + "a", MAX_CHAIN),
    ("if", lambda n: "a if b else " * n + "c", MAX_CHAIN // 2),
    ("digits", lambda n: "1if 1else " * n + "1", MAX_CHAIN // 2),
    ("hexadecimals", lambda n: "0xfor " * n + "1", MAX_CHAIN),
    ("power", lambda n: "a" + "**a" * n, MAX_CHAIN),
    ("targets", lambda n: "a=" * n + "a", MAX_CHAIN),
    ("dotted name", lambda n: "import a" + ".a" * n, MAX_CHAIN),
    ("operators at several levels", lambda n: "(" + "-" * (n // 2) + "(" + "-" * (n - n // 2) + "a))", MAX_CHAIN - 2),
    ("blocks", lambda n: "".join(" " * i + "if a:\n" for i in range(n)) + " " * n + "pass", MAX_BLOCKS),
    ("elifs", lambda n: "if a: pass\n" + "elif b: pass\n" * n, MAX_ELIFS),
    ("inner elifs", lambda n: "class A:\n  if a: pass\n" + "  elif b: pass\n" * n + "  else: pass", MAX_ELIFS),
]


@pytest.mark.parametrize(("make", "most"), [b[1:] for b in BOUNDS], ids=[b[0] for b in BOUNDS])
def test_bounds_are_what_libcst_can_take(make, most) -> None:  # type: ignore[no-untyped-def]
    inside, outside = scan(make(most)), scan(make(most + 1))
    assert [line.fault for line in inside.logical if line.fault] == []
    assert len([line.fault for line in outside.logical if line.fault]) == 1
    assert libcst.parse_module(make(most)).code == make(most)


@pytest.mark.parametrize(
    "text",
    [
        "x = [" + "f(a.b, c=1), " * 5000 + "]",
        "x = {" + "'a': -b.c[0], " * 5000 + "}",
        "a.b(); " * 500,
        "x = f'" + "{a.b}" * 500 + "'",
        "x = [" + "1e-5, ..., 1.5, 0x1e, " * 500 + "]",
        "def f():\n" + "  if a: pass\n  elif b: pass\n  x\n" * 300,
        "'" + "+ " * 1000 + "'",
        "case = " + "[" * 50 + "]" * 50,
    ],
)
def test_long_but_flat_is_in_bounds(text: str) -> None:
    found = scan(text)
    assert found.sure
    assert [line.fault for line in found.logical if line.fault] == []


HOSTILE = [
    *("(" * 20000, ")" * 20000, "(" * 20000 + ")" * 20000, "f'{" * 20000, 'f"{' * 5000 + '}"' * 5000, "{x:" * 5000),
    *("f'" + "{x:" * 9000, " + ".join("x" * 5000), "lambda:" * 9000, "if x:\n" * 9000, "'\n" * 9000, '"""' * 9001),
    *("\\\n" * 9000, "\\" * 9000, "@" * 9000, "\0" * 9000, "#" * 9000, "f'''" * 9000, "'\\\n" * 9001, "x" * 90000),
    *("".join(" " * i + "if x:\n" for i in range(1000)), "if x: y\n" + "elif x: y\n" * 9000, "\r" * 9000, "\f" * 9000),
    *('f"' + "\\" * 9000, "0" * 90000, "." * 9000, "1e" * 9000, ":=" * 9000, "!" * 9000, "match " * 9000, " " * 90000),
]


@pytest.mark.parametrize("text", [*HOSTILE, bytes(range(256)).decode("latin-1") * 40], ids=lambda text: repr(text[:9]))
def test_hostile_text(text: str) -> None:
    found = scan(text)
    assert [row for line in found.logical for row in (line.row, line.end_row) if not 1 <= row <= len(found.rows)] == []
    covered = [i for statement in found.statements for i in range(*statement.lines)]
    assert covered == list(range(len(found.logical)))


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=300).map(lambda b: b.decode("latin-1")), st.text(max_size=100), SOUP))
def test_any_text_is_covered(text: str) -> None:
    found = scan(text)
    assert [unix(text[start:]).split("\n")[0] for start in found.rows] == unix(text).split("\n")
    assert [i for s in found.statements for i in range(*s.lines)] == list(range(len(found.logical)))


def test_what_is_never_closed_says_so() -> None:
    text = "x = 1\ny = (\n" + "a.b()\n" * 200
    assert scan(text).logical[1].fault == "a bracket or a string is never closed"
    assert scan("x = (\ny").logical[0].fault == ""  # the parser will say it better


def test_nested_quotes_on_any_python() -> None:
    text = """x = fr"{a["#"]}" + f"{f"{f'{1}'}"}" + f"{[
    1 # noqa
]}:{b:{c["}"]}}"
y = 1"""
    found = scan(text)
    assert found.sure
    assert [(s.row, s.end_row) for s in found.statements] == [(1, 3), (4, 4)]
    assert [comment.row for comment in found.comments] == [2]


def real_files() -> list[Path]:
    files: list[Path] = []
    for name in ("libcst", "_pytest", "hypothesis", "flake8", "asyncio", "importlib", "unittest", "email"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        files += sorted(Path(spec.origin).parent.rglob("*.py"))
    return files[::13]


def test_real_packages() -> None:
    read = 0
    for path in real_files():
        text = unix(path.read_bytes().decode().removeprefix("\ufeff"))
        if not parses(text):
            continue
        read += 1
        found = scan(text)
        assert found.sure, path
        assert [(s.row, s.end_row) for s in found.statements] == true_statements(text), path
        assert [line[:4] for line in found.logical] == true_lines(text), path
        assert [line for line in found.logical if line.fault] == [], path
        assert list(found.joins) == true_joins(text), path
    assert read > 20
