"""The outline against scan and ast: where it does not give up, it tells the same statements."""

from __future__ import annotations

import ast
import importlib.util
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.outline import Part, outline
from gelu_lint.scan import scan

# Parted by "---"; » stands for a tab, ~~~ for three quotes.
PARTS = r'''
x = 1
---
import a
---
import a, \
  b; x = 1
---
from a import (
    b,  # it's
c
)
---
x = {"a": [1, (2,
# ) and "
3)], 'b': """one
def two""", **{}}
---
x = [
'(['
]
---
x = "}" + '{' * 2
---
"""doc
def fake(): pass
    """
---
~~~"~~~
---
"" ''
---
class A: pass
---
class A:
    """
import column_0
    """
# at column 0, isn't it
    def f(self): return 'it\'s'

    x = r'\'' "a\
b"
---
@a
class B(A): x = 1; y = 2
---
@a("@", ~~~
@b~~~)

# between
@b(1,
2)
async  def f(x, *, y=(lambda: 1)):
    return await y
---
async def f(): pass
---
async with a as b: pass
---
async for a in b: pass
else: pass
---
if a: b
elif c:
    d
# a comment
else:
    if e:
»»f
---
if a:

  b

else: c
---
try: pass
except (A,
B): pass
else: pass
finally:
  pass
---
for x in y: pass
else: pass
---
while a: break
else:
    pass
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
case(x)
---
elsewhere = finally_ = exceptional = elif_ = 1
---
class_ = define = importing = from_ = 1
---
x = a + \
b - \
  c
---
x = 'a\
import b'
---
with a as b, \
     c: pass
---
with (
    a as b,
):
    pass
---
x = f"{a}{b!r:>{c}}{{not}}" rf'{d["e"]}\{f}' fR'{a:}}}{{'
---
x = f"""{a
+ b:{c}} ' " {{
""" + F'{a:%H:%M "x"}'
---
x = f"{a["b"]}" + f"{f"{f'{1}'}"}"
---
x = f"{[
    1
]}"
---
x = f'{a:{{1: "}"}[1]}}'
---
x = f~~~{'x'}{f'{b}'}
{f"""
"""}~~~
---
x = f"""
{"""
"""}
"""
---
x = f"{'#'}{lambda_}" # f"{
---
x = b'a' Rb"b" bR'c' u'd' "" '' """""" + f(x)if"a"else"b"
---
é = 名 = 1
---
if (a and
b):
    c
---
(a,
b) = c
---
{1:
2}
---
x = 1;
---
del x
---
print("a", end="")
---
@decorated
def f(
    a,
):
    return [
b
]
'''


def parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None


FRAGMENTS = PARTS.replace("»", "\t").replace("~~~", "'''").strip("\n").split("\n---\n")
VALID = [part for part in FRAGMENTS if parse(part) is not None]  # the others need Python 3.12
#: What makes a text no Python, or one that takes a tokenizer.
BROKEN = [
    *("'", '"', "'''", '"""', "f'{", "f'''{", "}", "{", "(", ")", "[", "]", "\\", "x \\", "\f", "x\r", "  x", "@a"),
    *("else: pass", "finally: pass", "case 1: pass", "  case 1: pass", "\tx = 1", "\0", "\xa0", "\u2028", "# '''", "$"),
]

KINDS: dict[type, str] = {
    **dict.fromkeys((ast.Import, ast.ImportFrom), "import"),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), "def"),
    ast.ClassDef: "class",
    **dict.fromkeys((ast.If, ast.Try, ast.While, ast.For, ast.AsyncFor), "compound"),
    **dict.fromkeys((ast.With, ast.AsyncWith, ast.Match, getattr(ast, "TryStar", ast.Try)), "compound"),
}


def rows_of(text: str) -> tuple[int, ...]:
    return (0, *(end.end() for end in re.finditer(r"\r\n?|\n", text)))


def outlined(text: str) -> list[Part] | None:
    return outline(text, rows_of(text))


def heads(parts: Sequence[Part]) -> list[tuple[int, str]]:
    return [(part.row, part.kind) for part in parts]


def true_heads(text: str) -> list[tuple[int, str]]:
    """Row and kind of the top-level statements, those joined by ";" being one, and a name "match" a statement."""
    found: list[tuple[int, str]] = []
    end = 0
    tree, rows = parse(text), text.split("\n")
    assert tree is not None
    for node in tree.body:
        row = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if row != end:
            named = rows[row - 1].startswith("match")
            found.append((row, "compound" if named else KINDS.get(type(node), "simple")))
        assert node.end_lineno is not None
        end = node.end_lineno
    return found


def check(text: str) -> bool:
    """Whether the outline tells the statements of a text, which are then what scan says, and in their places."""
    parts = outlined(text)
    if parts is None:
        return False
    scanned = scan(text)
    if scanned.sure:
        assert heads(parts) == [(statement.row, statement.kind) for statement in scanned.statements]
        assert all(p.end_row >= s.end_row for p, s in zip(parts, scanned.statements, strict=True))
    starts = [part.start for part in parts]
    assert [part.end for part in parts] == [*starts[1:], *([len(text)] if parts else [])]
    rows = rows_of(text)
    assert starts == [rows[part.row - 1] for part in parts]
    return True


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("part", VALID)
def test_each_part_is_what_ast_says(part: str, end: str) -> None:
    text = f"before = 1\n{part}\n\nafter = 1\n"
    if check(text.replace("\n", end)):
        found = outlined(text.replace("\n", end))
        assert found is not None
        assert heads(found) == true_heads(text)


@pytest.mark.parametrize("part", [part for part in FRAGMENTS if part not in VALID] or ['x = f"{a["b"]}"'])
def test_what_only_newer_pythons_read_is_told_as_scan_does(part: str) -> None:
    check(f"before = 1\n{part}\nafter = 1\n")


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
        ("x = '''\nimport a\n'''\n(\n  def_\n)\n", "simple simple"),
        ("# only\n\n  # comments\n", ""),
        ("", ""),
    ],
)
def test_kinds(text: str, kinds: str) -> None:
    parts = outlined(text)
    assert parts is not None
    assert [part.kind for part in parts] == kinds.split()


def test_places() -> None:
    text = "# a\n\nx = 1  # b\n# c\n@d\n\ndef f():\n    pass\n\n# e\n"
    assert outlined(text) == [Part(5, 20, 3, 4, "simple"), Part(20, 47, 5, 10, "def")]


@pytest.mark.parametrize(
    "text",
    [
        *("'a", '"""a', "x = (", "x = )", "x = [(]", "x \\", "x = 1\n\\", "@a", "@a\nx = 1", "  x", "\tx = 1\ny = 2"),
        *("x\f", "\fx = 1", "x = 1\ry = 2", "f'''{a", "f'''{'}'}'''", "x = (\ndef f(): pass\n)\n", "f(\nx,\n)\n(\n"),
    ],
)
def test_it_gives_up_where_it_cannot_be_sure(text: str) -> None:
    assert outlined(text) is None


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(VALID), max_size=6).map("\n".join), st.sampled_from(["\n", "\r\n"]))
def test_programs_of_nasty_parts(text: str, end: str) -> None:
    if check(text.replace("\n", end)) and parse(text) is not None:
        found = outlined(text)
        assert found is not None
        assert heads(found) == true_heads(text)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from([*FRAGMENTS, *BROKEN]), max_size=6).map("\n".join))
def test_broken_programs(text: str) -> None:
    check(text)


SOUP = st.lists(
    st.sampled_from(
        [
            *("'", '"', "'''", '"""', " f'", ' f"', " rf'''", ' f"""', "{", "}", "{x:", "{{", "(", ")", "[", "]", "\\"),
            *("\\\n", "\n", "\n", "\n", " ", "    ", "\t", "#", "# it's", "x", "=", ";", ",", "@a\n", "if x:", "else:"),
            *("def f():", "class A:", "pass", "async def", "match x:", "case 1:", "import a", "except:", "\r\n", "é"),
        ]
    ),
    max_size=14,
).map("".join)


@settings(max_examples=1500, deadline=None)
@given(SOUP)
def test_soup_of_tokens(text: str) -> None:
    check(text)


REAL = [
    *("argparse", "ast", "asyncio.base_events", "collections", "dataclasses", "enum", "functools", "inspect"),
    *(
        "logging",
        "pathlib",
        "pickle",
        "subprocess",
        "tarfile",
        "textwrap",
        "tokenize",
        "turtle",
        "typing",
        "unittest.mock",
    ),
    *("hypothesis.strategies", "_pytest.fixtures", "libcst.metadata.scope_provider", "yaml.scanner", "packaging.tags"),
]


@pytest.mark.parametrize("name", REAL)
def test_real_modules(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    assert check(text)
    found = outlined(text)
    assert found is not None
    assert heads(found) == true_heads(text)


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 20000, "(" * 9000 + ")" * 9000, "f'''{" * 5000, "'\n" * 9000, '"""' * 9001, "\\\n" * 9000, "@" * 9000),
        *("@a\n" * 5000, "x = 1\n" * 9000, "if x: y\n" + "elif x: y\n" * 9000, "#" * 9000, "'\\\n" * 9001, "\0" * 9000),
        *("\n" * 9000, " " * 90000, "x = '" + "\\'" * 9000, "f'''{'''" * 3000, "\r\n" * 9000, "\r" * 9000, "{" * 9000),
    ],
    ids=lambda text: repr(text[:9]),
)
def test_hostile_text(text: str) -> None:
    check(text)
