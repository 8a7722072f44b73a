"""The children of nodes are those that LibCST tells, past its trivia."""

from __future__ import annotations

import inspect
import sys
import sysconfig
from dataclasses import fields, is_dataclass
from pathlib import Path

import libcst as cst
import pytest

from gelu_lint.tree.children import children

#: Nodes that hold neither names nor expressions.
TRIVIA = (
    *(cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Newline, cst.Comment, cst.Comma),
    *(cst.LeftParen, cst.RightParen, cst.LeftSquareBracket, cst.RightSquareBracket, cst.LeftCurlyBrace),
    *(cst.RightCurlyBrace, cst.Semicolon, cst.Dot, cst.Colon, cst.AssignEqual, cst.Asynchronous, cst.ParamSlash),
    *(cst.BaseUnaryOp, cst.BaseBinaryOp, cst.BaseBooleanOp, cst.BaseCompOp, cst.BaseAugOp, cst.BitOr),
)
#: Modules of the standard library that between them use most of the language.
REAL = ("ast", "dataclasses", "enum", "functools", "inspect", "typing", "asyncio/taskgroups", "test/test_patma")
CODE = """
async def f[T](a, /, b: int = 1, *args: T, c=2, **kw) -> list[int]:
    async with a as b, c: pass
    async for x, *y in a: break
    else: continue
    try: pass
    except* (A, B) as e: raise X from e
    try: assert a, b
    except A as e: pass
    else: del a[1:2:3], b
    finally: global g
    x: int = yield
    x @= (y := await z) if not a < b <= c is not d else lambda q, *, r=1: q
    return {**a, 1: 2}, {3, *b}, [*c], {k: v for k, v in a if k}, f"{x!r:>{w}}" "s", (i async for i in b), ...
class A[T](B, *C, metaclass=M, **k): from ... import a as b, c
type Alias[T: int, *Ts, **P] = dict[T]
match x:
    case {"a": [1, *_], **rest} | A(b, c=d) as e if f: import a.b as c
    case (1, None) | -1.5j | x.y: nonlocal_ = 1
while x: from a import *
@d(1.5)
def g():
    nonlocal a
    if a + b or c: return [i for i in a], {i for i in b}, t"x{y!s:>{w}}"
with (a as b): print(*x, y=1, **z)
"""


def nodes(module: cst.CSTNode) -> list[cst.CSTNode]:
    """All nodes under one, by LibCST's own walk."""
    found: list[cst.CSTNode] = [module]
    for node in found:
        found += node.children
    return found


def told(node: cst.CSTNode) -> list[int]:
    """What LibCST says of the children of a node."""
    return [id(child) for child in node.children if not isinstance(child, TRIVIA)]


def check(text: str) -> set[str]:
    """Compare every node of a text; the names of the classes that were met."""
    met = set()
    for node in nodes(cst.parse_module(text)):
        if not isinstance(node, TRIVIA):
            met.add(type(node).__name__)
            assert [id(child) for child in children(node)] == told(node), type(node).__name__
    return met


def test_they_are_those_of_libcst_where_all_kinds_stand() -> None:
    met = check(CODE)
    classes = {
        name
        for name, cls in vars(cst).items()
        if inspect.isclass(cls) and issubclass(cls, cst.CSTNode) and is_dataclass(cls) and not inspect.isabstract(cls)
        if not issubclass(cls, TRIVIA) and not name.startswith("Base") and fields(cls)
    }
    # Syntax of Python 3.15, which these classes wait for: no parser reads it yet.
    assert classes - met == {name for name in classes if name.startswith(("Lazy", "StarredDictComp"))}


@pytest.mark.parametrize("name", REAL)
def test_they_are_those_of_libcst_in_real_code(name: str) -> None:
    path = Path(sysconfig.get_path("stdlib")) / f"{name}.py"
    if not path.exists():
        pytest.skip(f"this Python ({sys.version.split()[0]}) has no {name}")
    assert check(path.read_text(encoding="utf-8"))
