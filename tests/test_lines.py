"""The logical lines of a statement against tokenize and ast: what encloses each, what it binds, what it loads."""

from __future__ import annotations

import ast
import importlib.util
import io
import textwrap
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.lines import Lines, code, loads, members, targets
from gelu_lint.scan import scan

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def lines_of(text: str, above: str = "") -> Lines:
    """The lines of all of a text, below some other rows."""
    scanned = scan(text)
    whole = above + text
    return Lines(whole, (*scan(whole).rows, len(whole)), scanned.logical, above.count("\n"))


def parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None


@pytest.mark.parametrize(
    ("text", "bound", "held"),
    [
        ("a = 1", "a", ""),
        ("a = b = 1", "a b", ""),
        ("a, *b = 1", "a b", ""),
        ("(a, [b, c]), d.e = 1", "a b c", "e"),
        ("a: int", "a", ""),
        ("a: List[int] = 1", "a", ""),
        ("a.b: int = 1", "", "b"),
        ("a += 1", "a", ""),
        ("a **= b //= 1", "a", ""),
        ("a.b = c.d = 1", "", "b d"),
        ("a = b.c = d", "a", "c"),
        ("a[0] = 1", "", ""),
        ("a[b] = c[1:2] = d = 1", "d", ""),
        ("a[1:2], b = c", "b", ""),
        ("a[b[c, 'd']] = e = 1", "e", ""),
        ("a[b == 1], c = 1", "c", ""),
        ("f(a).b = 1", "", "b"),
        ("f(a=1).b = c = 1", "c", "b"),
        ("a[0].b = 1", "", "b"),
        ("f(a, b=1)", "", ""),
        ("f (a, b = 1)", "", ""),
        ("f(a)(b=1)", "", ""),
        ("f(a=1)[b] = c = 1", "c", ""),
        ("await f(a, b=1)", "", ""),
        ("return f(a, b=1)", "", ""),
        ("return lambda a=1: a", "", ""),
        ("a = lambda b=1: b", "a", ""),
        ("a = f(b=1)", "a", ""),
        ("a = {b: c == 1, 'd=': 1}", "a", ""),
        ("a == b", "", ""),
        ("assert a, b == 1", "", ""),
        ("'a = 1'", "", ""),
        ("a = '=', \"b = c\"  # d = 1", "a", ""),
        ("a = \\\n    b = 1", "a b", ""),
        ("(\n  a,\n  b,\n) = 1", "a b", ""),
        ("self.a, cls.b = 1", "", "a b"),
        ("self.a = self.b = 1", "", "a b"),
        ("self.register_buffer('a', b)", "", "a"),
        ("setattr(a, 'b', 1)", "", "b"),
        ("a.mul_(2)", "a", ""),
        ("x", "", ""),
        ("(\n  a,  # why\n  # b = 1\n  self.c,\n) = 1", "a", "c"),
        ("def a(self): self.b = 1", "a", "a b"),
    ],
)  # fmt: skip
def test_what_a_plain_line_binds(text: str, bound: str, held: str) -> None:
    names, attributes = lines_of(text).bindings
    assert {*names} == {*bound.split()}
    assert {*attributes} == {*held.split()}


@pytest.mark.parametrize(
    "text",
    [
        *("a = 1; b", "f(a := 1)", "if a: b = 1", "while a: b", "for a in b: c = a", "with a as b: c = 1"),
        *("try: a = 1\nexcept b: pass", "del a[b]", "if (a := b):\n  c", "match a:\n  case b.c(): pass"),
    ],
)
def test_where_more_is_said_to_be_bound_than_is_the_lines_say_so(text: str) -> None:
    lines = lines_of(text)
    assert lines.bindings[0]
    assert lines.loose


@pytest.mark.parametrize(
    "text",
    [
        *("a = 1", "a: int = 1", "a += f(b)", "f(a, b=1)", "import a", "from a import b", "def a(b): pass"),
        *("class a(b): pass", "for a in b:\n  c", "with a as b:\n  c", "@a\ndef b(): pass", "'a; b'  # ; c"),
    ],
)
def test_of_other_lines_what_they_bind_is_exact(text: str) -> None:
    lines = lines_of(text)
    assert lines.bindings[0] is not None
    assert not lines.loose


@pytest.mark.parametrize(
    ("text", "names", "attributes"),
    [
        ("a(b.c, d=e)", "a b d e", "c"),
        ("a.b.c", "a", "b c"),
        ("f'{a.b}'", "a f", "b"),
        ("rF'''{a}'''", "a", ""),
        ("'a' \"b\" '''c\n'd''' + e  # f", "e", ""),
        ("'\\'', a, 'b\\\nc'", "a", ""),
        ("b'a' + c", "c", ""),
        ("if a is not None and b: return c", "a b c", ""),
        ("self.a(cls.b)", "", "a b"),
        ("a . b", "a", "b"),
        ("in_ + import_", "in_ import_", ""),
        ("é + 1e5 + 0x1f", "é", ""),
    ],
)
def test_what_a_line_loads(text: str, names: str, attributes: str) -> None:
    assert loads(text) >= {*names.split()} - {"f"}
    assert loads(text) <= {*names.split()} | {"f", "r", "F", "rF", "b", "e5", "x1f"}
    assert members(text) >= {*attributes.split()}


def test_strings_and_comments_are_no_code() -> None:
    assert code("a = 'b' + c # d") == 'a = "" + c ""'
    assert code("a = f'{b}' # c") == "a = f'{b}' # c"
    assert targets("f('a = b')  # c = d") is None


def test_a_line_knows_its_place_below_others() -> None:
    text = "class A:\n    # why\n    def f(self):\n        x = '''\n'''\n\n        return x\n"
    lines = lines_of(text, "import a\n\n")
    assert [lines.text(i) for i in range(len(lines))] == [
        *("class A:\n", "    def f(self):\n", "        x = '''\n'''\n", "        return x\n")
    ]
    assert [lines.row_of(row) for row in range(3, 11)] == [0, -1, 1, 2, 2, -1, 3, -1]
    assert (lines.row_of(1), lines.row_of(2)) == (-1, -1)
    assert [lines.defines(i) for i in range(4)] == ["A", "f", "", ""]
    assert [*lines.enclosing(2, classes=False)] == [1, -1]
    assert [*lines.enclosing(2, classes=True)] == [0]
    assert [*lines.below(0)] == [1, 2, 3]
    assert [*lines.below(3)] == []


def test_a_class_is_around_its_own_lines_but_not_around_the_names_of_its_methods() -> None:
    lines = lines_of("def f():\n  class A:\n    x = 1\n    def g():\n      y\n")
    assert [*lines.enclosing(2, classes=False)] == [1, 0, -1]
    assert [*lines.enclosing(4, classes=False)] == [3, 0, -1]
    assert [*lines.enclosing(4, classes=True)] == [1]


# The truth


def true_parents(text: str, lines: Lines) -> list[int]:
    """For each line the one that opens the block it stands in, told by INDENT and DEDENT."""
    parents: list[int] = []
    around = [-1]
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
        if token.type == tokenize.INDENT:
            around.append(len(parents) - 1)
        elif token.type == tokenize.DEDENT:
            around.pop()
        elif token.type == tokenize.NEWLINE:
            fresh = True
        elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER) and fresh:
            parents.append(around[-1])
            fresh = False
    return parents


class Truth:
    """What ast knows of the lines of a text."""

    def __init__(self, text: str, tree: ast.Module, lines: Lines) -> None:
        self._starts = [line.row for line in lines.logical]
        self._words = [line.word for line in lines.logical]
        self.binds: list[tuple[int, str]] = []  # (line, name), where the scope is not one that the line itself opens
        self.holds: list[tuple[int, str]] = []  # (line, attribute) that a statement sets
        self.declares: list[tuple[int, str]] = []
        self.scopes: dict[int, int] = {}  # by line the header around it
        self.beside: list[tuple[int, int]] = []  # lines that must stay together
        self._block(tree.body, -1)

    def line(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1

    def _block(self, body: list[ast.stmt], scope: int) -> None:
        for statement in body:
            head = self.line(statement.lineno)
            self.scopes.setdefault(head, scope)
            for decorator in getattr(statement, "decorator_list", []):
                self.beside.append((self.line(decorator.lineno), head))
                self.scopes.setdefault(self.line(decorator.lineno), scope)
            self._statement(statement, scope, head)
            self._arms(statement, head)
            for inner in self._bodies(statement):
                self._block(inner, head if isinstance(statement, DEFINITIONS) else scope)

    def _bodies(self, node: ast.AST) -> Iterator[list[ast.stmt]]:
        for part in ("body", "orelse", "finalbody"):
            if getattr(node, part, []):
                yield getattr(node, part)
        for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield part.body

    def _arms(self, statement: ast.stmt, head: int) -> None:
        orelse = getattr(statement, "orelse", [])
        if isinstance(statement, ast.If) and orelse and self._words[self.line(orelse[0].lineno)] == "elif":
            self.beside.append((head, self.line(orelse[0].lineno)))
        self.beside += [(head, self.line(handler.lineno)) for handler in getattr(statement, "handlers", [])]
        cases = [self.line(case.pattern.lineno) for case in getattr(statement, "cases", [])]
        self.beside += pairwise(cases)

    def _statement(self, statement: ast.stmt, scope: int, head: int) -> None:
        """Names that the statement itself binds in the scope around it, its blocks aside."""
        waiting: list[tuple[ast.AST, bool]] = []  # nodes, and whether names are bound elsewhere than in the scope
        if isinstance(statement, DEFINITIONS):
            self._bind(statement.lineno, statement.name, scope)
        if isinstance(statement, ast.Global | ast.Nonlocal):
            self.declares += [(head, name) for name in statement.names]
        bare = isinstance(statement, ast.AnnAssign) and statement.value is None
        for node in ast.iter_child_nodes(statement):
            if bare and isinstance(node, ast.Attribute):
                continue  # it sets nothing
            if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                waiting.append((node, False))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            if isinstance(part, ast.ExceptHandler) and part.name:
                self._bind(part.lineno, part.name, scope)
            waiting += [(node, False) for node in ast.iter_child_nodes(part) if not isinstance(node, ast.stmt)]
        while waiting:
            node, inner = waiting.pop()
            self._expression(node, inner, scope)
            if isinstance(node, ast.Lambda):
                continue  # what a walrus in it binds is its own
            for field, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        local = isinstance(node, ast.comprehension) and field == "target"
                        waiting.append((child, inner or local))

    def _expression(self, node: ast.AST, inner: bool, scope: int) -> None:
        if isinstance(node, ast.alias):
            self._bind(node.lineno, (node.asname or node.name).split(".")[0], scope)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and not inner:
            self._bind(node.lineno, node.id, scope)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not inner:
            self.holds.append((self.line(node.lineno), node.attr))
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            self._bind(node.lineno, node.name, scope)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bind(node.lineno, node.rest, scope)

    def _bind(self, row: int, name: str, scope: int) -> None:
        if self.line(row) != scope and name not in ("*", "self", "cls"):
            self.binds.append((self.line(row), name))


def check(text: str) -> None:
    """The lines of a valid text are what tokenize and ast say, where they may say more to be bound than is."""
    tree = parse(text)
    assert tree is not None
    lines = lines_of(text)
    truth = Truth(text, tree, lines)
    assert lines.parents == true_parents(text, lines)
    assert {i: lines.scopes[i] for i in truth.scopes} == truth.scopes
    names, attributes = lines.bindings
    assert [(i, name) for i, name in truth.binds if i not in names.get(name, ())] == []
    setters = [(i, name) for i, name in truth.holds if lines.logical[i].word not in ("for", "with", "async", "del")]
    assert [(i, name) for i, name in setters if i not in attributes.get(name, ()) and i not in lines.loose] == []
    assert [(i, name) for i, name in truth.declares if i not in lines.outer.get(name, ())] == []
    assert [(i, j) for i, j in truth.beside if j not in lines.group(i) or i not in lines.group(j)] == []
    for i in range(len(lines)):
        around = [j for j in range(len(lines)) if lines.parents[j] == i]
        assert lines.is_header(i) == bool(around)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert used <= {"self", "cls"}.union(*(loads(lines.text(i)) for i in range(len(lines))))


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
SIMPLE = [
    *("X = Y", "X, Y = Z", "X.Y = Z", "X += Y", "X(Y=Z)", "X(Y, Z=1)", "import X", "import X.Y", "import X as Y, Z"),
    *("from X import Y as Z", "from X import (\n    Y,\n    Z,\n)", "from X import *", "X[Y] = Z # W = 1", "X: Y = Z"),
    *("X: Y", "X = Y = Z", "X, *Y = Z = W", "(X, [Y, Z]) = W", "X[1:2], Y = Z", "X(Y).Z, W = 1, 2", "del X, Y.Z"),
    *(
        "X = f'{Y}' 'Z'",
        "X = [Y for Z in W]",
        "X = [(Y := Z) for Z in W]",
        "X((Y := Z), W)",
        "X = 1; Y = 2",
        "X; Y.Z = W",
    ),
    *(
        "X = lambda Y=1: Y",
        "X = lambda Y: (Z := Y)",
        "X = (Y ==\n  Z)",
        "X = Y \\\n    = Z",
        "X = '''\nY = 1\n'''",
        "X = {Y: Z}",
    ),
    *("X.Y(Z)", "X @= Y", "assert X, Y", "X = Y if Z else W", "pass", "self.X = Y", "self.X.Y(Z)", "'X = 1'", "X == Y"),
    *(
        "f(X)[Y] = Z = W",
        "X = (yield)",
        "return X",
        "return X(Y=Z)",
        "raise X(Y) from Z",
        "print(X, file=Y)",
        "X.mul_(Y)",
    ),
    *(
        "global X",
        "nonlocal X, \\\n  Y",
        "X = await_(Y)",
        "match = case = X",
        "case(X)",
        "X: Y[Z] = {W: 1}",
        "X[Y].Z = W",
    ),
]
HEADERS = [
    *(
        "if X:",
        "while X:",
        "for X in Y:",
        "for X, (Y, *Z) in W:",
        "for X.Y in Z:",
        "with X as Y:",
        "with X, Y as (Z, W):",
    ),
    *(
        "with X(Y=Z) as W.X:",
        "with (\n    X as Y,\n    Z,\n):",
        "def X(Y, Z=W):",
        "def X(\n    Y=Z,\n):",
        "async def X():",
    ),
    *(
        "class X(Y):",
        "class X(Y, Z=W):",
        "class X:",
        "@X\ndef Y():",
        "@X(Y=Z)\n@W\nclass Z:",
        "if (X := Y):",
        "while X(Y := Z):",
    ),
    *(
        "def X(Y=(Z := W)):",
        "@(X := Y)\ndef Z():",
        "if X: # Y",
        "if X and \\\n        Y:",
        "async def X(*Y, **Z) -> W:",
    ),
]
ARMED = [
    *(
        "if X:\n{0}\nelse:\n{1}",
        "if X:\n{0}\nelif Y:\n{1}\nelse:\n{0}",
        "try:\n{0}\nexcept X as Y:\n{1}\nfinally:\n{0}",
    ),
    *("try:\n{0}\nexcept (X, Y):\n{1}\nelse:\n{0}", "for X in Y:\n{0}\nelse:\n{1}", "while X:\n{0}\nelse:\n{1}"),
    *(
        "match X:\n    case Y:\n{2}",
        "match X:\n    case [Y, *Z]:\n{2}\n    case {{'W': X, **Y}}:\n{2}\n    case _:\n{2}",
    ),
    *("match X:\n    case Y(Z=W) | W.X() as Z:\n{2}\n    # W\n    case str() if Y:\n{2}", "if X: Y = Z\nelse: Z = W"),
    *(
        "if X:\n{0}\n# Y\nelif Y: Z = W\nelse:\n\n{1}",
        "try: X = Y\nexcept Z as W: Y = X\n",
        "for X in Y: Z = W",
        "with X as Y: Z = W",
    ),
    *(
        "class X: Y = Z",
        "def X(Y): Z = W",
        "async def X():\n    async for Y in Z:\n    {0}\n    async with X as Z:\n    {0}",
    ),
]


@st.composite
def statements(draw: st.DrawFn, depth: int = 0) -> str:
    """A statement with names in it that may be bound in any way."""
    kinds = ["simple", "block", "armed"] if depth < 3 else ["simple"]
    kind = draw(st.sampled_from(kinds))
    if kind == "simple":
        form = draw(st.sampled_from(SIMPLE))
        return _named(draw, form)
    body = textwrap.indent("\n".join(draw(st.lists(statements(depth + 1), min_size=1, max_size=3))), "    ")
    if kind == "block":
        return f"{_named(draw, draw(st.sampled_from(HEADERS)))}\n{body}"
    form = draw(st.sampled_from(ARMED))
    other = "        " + _named(draw, "X = Y")
    return _named(draw, form).format(body, textwrap.indent(_named(draw, "Z = X"), "    "), other)


def _named(draw: st.DrawFn, form: str) -> str:
    for mark in "XYZW":
        form = form.replace(mark, draw(NAMES))
    return form


PROGRAMS = st.lists(statements(), min_size=1, max_size=4).map(lambda parts: "\n".join(parts) + "\n")


@settings(max_examples=400, deadline=None)
@given(PROGRAMS)
def test_programs(text: str) -> None:
    if parse(text) is not None:
        check(text)


@pytest.mark.parametrize("form", [*SIMPLE, *(f"{header}\n    X = Y" for header in HEADERS)])
def test_each_form(form: str) -> None:
    text = form.replace("X", "a").replace("Y", "b").replace("Z", "c").replace("W", "d") + "\n"
    assert parse(text) is not None
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n\tdef f(self):\n\t\tx = 1\n\n\ty = 2\n",
        "if a:\n\tx = 1\n        \n\ty = 2\n",
        "if a:\n  if b:\n      c\n  else: d\nelse:\n e\n",
        "if a:\n    b\n  # c\n    d\n# e\n    f\n",
        "def f():\n    x = '''\nif g:\n    h = 1\n'''\n    y = [\n1,\n    2]\n    return y\n",
    ],
)
def test_odd_layouts(text: str) -> None:
    check(text)


REAL = [
    *("argparse", "asyncio.base_events", "collections", "dataclasses", "enum", "functools", "inspect", "logging"),
    *(
        "pickle",
        "subprocess",
        "tarfile",
        "typing",
        "unittest.mock",
        "_pytest.fixtures",
        "packaging.tags",
        "pycodestyle",
    ),
]


@pytest.mark.parametrize("name", REAL)
def test_real_modules(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    check(Path(spec.origin).read_text(encoding="utf-8"))
