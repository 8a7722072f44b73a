"""What stands around a node: the role it plays, the names it is given, what guards it, what encloses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal, text_of
from gelu_lint.tree.nodes import (
    AnnAssign,
    Arg,
    Assign,
    Attribute,
    BooleanOperation,
    Call,
    ClassDef,
    CSTNode,
    DictElement,
    Element,
    FormattedString,
    FunctionDef,
    If,
    IfExp,
    IndentedBlock,
    Lambda,
    List,
    Match,
    MatchCase,
    Module,
    Name,
    NamedExpr,
    Param,
    Raise,
    Return,
    Set,
    SimpleStatementLine,
    Subscript,
    Try,
    TryStar,
    Tuple,
    With,
    Yield,
)
from gelu_lint.tree.walk import Moment, Walk

#: Calls that ask about a class or function instead of using it.
_QUESTIONS = (
    *("isinstance", "issubclass", "hasattr", "getattr", "signature", "getsource", "type", "id", "is_dataclass"),
    *("super", "isclass", "getdoc", "getmodule", "help", "print", "repr", "str", "vars", "dir", "callable", "hash"),
    *("cast", "wraps", "update_wrapper", "create_autospec", "delattr", "serialize", "object", "patch", "param"),
)
_RAISES = (
    *("raises", "suppress", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertWarns", "warns"),
    *("check_raises", "raises_regex"),
)
_CAUGHT = ("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "RuntimeError", "ValueError")
_CAUGHT_ALL = ("Exception", "BaseException")

#: Constants that hold the answer to a question about what is installed: HAS_GELU, IS_NUMPY_2, TORCH_GE_112.
_FLAG = lazy(r"_?(?:HAS|HAVE|IS|SUPPORTS?|WITH)(?:_[A-Z0-9_]+)?$|[A-Z0-9_]*_(?:GE|GT|LE|LT)(?:_?\d[A-Z0-9_]*)?$")
_EXPECTED = ("xfail", "skipif", "skipIf", "skipUnless", "expectedFailure")

#: Keywords that name what an activation is for, rather than which one it is.
_NONLINEARITY = lazy(r"(^|_)(act|activation|nonlinearity|non_linearity)(_|$)")


class Role(NamedTuple):
    """How a reference is used: ``form`` as in Site, the ``key`` it is given under, the call that ``consumer`` names."""

    form: str
    key: str = ""
    consumer: str = ""


#: What gives on what stands in it, and what holds several things.
_PASSING, _HOLDING = frozenset((BooleanOperation, NamedExpr)), frozenset((Element, Tuple, List, Set))


def role(node: CSTNode, path: Sequence[CSTNode]) -> Role:
    """The role of ``node`` under its ancestors ``path`` (outermost first); form "" where it is no use."""
    ancestors = [*path]
    child = node
    while ancestors:
        parent = ancestors.pop()
        chosen = type(parent) is IfExp and child is not parent.test
        if chosen or type(parent) in _PASSING:
            child = parent
        elif type(parent) in _HOLDING:
            return _member(ancestors)
        else:
            return _direct(child, parent, ancestors)
    return Role("")


def _direct(child: CSTNode, parent: CSTNode, ancestors: Sequence[CSTNode]) -> Role:
    above = ancestors[-1] if ancestors else None
    if isinstance(parent, Arg) and isinstance(above, Call):
        return _argument(parent, above, ancestors)
    if isinstance(parent, Param):
        return Role("default", parent.name.value)
    if isinstance(parent, Assign) and child is parent.value:
        return _assigned(parent.targets[0].target, ancestors)
    if isinstance(parent, AnnAssign) and child is parent.value:
        return _assigned(parent.target, ancestors)
    if isinstance(parent, DictElement) and child is parent.value:
        known, key = literal(parent.key)
        return Role("table", str(key) if known else last_name(parent.key))
    if isinstance(parent, Lambda):
        return Role("return", role(parent, ancestors).key)  # gelu = lambda x: …
    if isinstance(parent, (Return, Yield)):
        return Role("return")
    return Role("")


def _member(ancestors: list[CSTNode]) -> Role:
    """A member of a tuple, list or set: a type test if the whole is asked about, else an element."""
    while ancestors and type(ancestors[-1]) in _HOLDING:
        ancestors.pop()
    parent = ancestors[-1] if ancestors else None
    above = ancestors[-2] if len(ancestors) > 1 else None
    if isinstance(parent, Arg) and isinstance(above, Call) and _asks(above):
        return Role("")
    if parent is None or type(parent).__name__ in ("ComparisonTarget", "Comparison", "Decorator"):
        return Role("")
    return Role("element")


def _asks(call: Call) -> bool:
    name = last_name(call.func)
    return name in _QUESTIONS or name.startswith(("assert", "is_", "has_"))


def _argument(arg: Arg, call: Call, ancestors: Sequence[CSTNode]) -> Role:
    name = last_name(call.func)
    if _asks(call) or arg.star:
        return Role("")
    key = arg.keyword.value if isinstance(arg.keyword, Name) else ""
    if name == "dict" and key and not _NONLINEARITY.search(key):
        return Role("table", key)  # dict(gelu=…) defines, dict(act_layer=…) hands on
    if name == "setattr" and len(call.args) > 2 and arg is call.args[2]:
        known, attribute = literal(call.args[1].value)
        return Role("attribute", str(attribute) if known else "")
    return Role("argument", key, name)


def _assigned(target: CSTNode, ancestors: Sequence[CSTNode]) -> Role:
    if isinstance(target, Attribute):
        return Role("attribute", target.attr.value)
    if isinstance(target, Subscript):
        known, key = _index(target)
        return Role("table", key if known else "")
    if isinstance(target, Name):
        inner = next((a for a in reversed(ancestors) if isinstance(a, (FunctionDef, Lambda, ClassDef))), None)
        return Role("attribute" if isinstance(inner, ClassDef) else "variable", target.value)
    return Role("variable")


def _index(node: Subscript) -> tuple[bool, str]:
    value = getattr(node.slice[0].slice, "value", None) if node.slice else None
    known, key = literal(value) if value is not None else (False, None)
    return known, str(key)


def symbol(path: Sequence[CSTNode]) -> str:
    """The dotted name of the functions and classes around a node."""
    return ".".join(a.name.value for a in path if type(a) is FunctionDef or type(a) is ClassDef)


def quote(path: Sequence[CSTNode], usual: str) -> str:
    """The quote for a string at a node: ``usual``, or one that the f-strings around leave free; "" if there is none.

    Until Python 3.12 a field cannot hold the quote of its own string.
    """
    around = [a.start.lstrip("fFrR") for a in path if isinstance(a, FormattedString)]
    if not around:
        return usual
    closed = {opening for opening in around if len(opening) == 1}
    wanted = "'" if around[-1][0] == '"' else '"'
    return next((q for q in (wanted, around[-1][0]) if q not in closed), "")


def tested(path: Sequence[CSTNode], node: CSTNode) -> tuple[str, ...]:
    """Names and strings in the tests of the branches around ``node``, within the function that holds it."""
    start = max((i for i, a in enumerate(path) if isinstance(a, (FunctionDef, Lambda))), default=0)
    chain = [*path[start:], node]
    found: list[str] = []
    for parent, child in pairwise(chain):
        if isinstance(parent, (If, IfExp)) and child is not parent.test:
            found += _words(parent.test, strings=True)
        elif isinstance(parent, Match):
            found += _words(parent.subject)
        elif isinstance(parent, MatchCase):
            found += _words(parent.pattern, strings=True)
    return tuple(dict.fromkeys(found))


class Around(NamedTuple):
    """What stood around a node when the walk met it: enough to tell its facts later."""

    symbol: str
    guard: str
    path: tuple[CSTNode, ...]
    moment: Moment


#: What may guard something that stands in it.
_GUARDING = frozenset((Try, TryStar, If, IfExp, BooleanOperation, With, Call, FunctionDef, Module, IndentedBlock))


class Guards:
    """What protects the nodes of one module from a name or value that does not exist."""

    def __init__(self) -> None:
        self._early: dict[int, dict[int, str]] = {}

    def around(self, walk: Walk, node: CSTNode) -> Around:
        """What stands around ``node``, at which ``walk`` is."""
        return Around(symbol(walk.path), self.of(walk.path, node), tuple(walk.path), walk.moment)

    def of(self, path: Sequence[CSTNode], node: CSTNode) -> str:
        """The outermost guard of ``node`` under its ancestors ``path``: try, hasattr, version, raises or ""."""
        chain = [*path, node]
        for parent, child in pairwise(chain):
            if type(parent) not in _GUARDING:
                continue
            found = ""
            if isinstance(parent, (Try, TryStar)):
                found = "try" if child is not parent.finalbody and _catches(parent) else ""
            elif isinstance(parent, (If, IfExp)):
                found = _tests(parent.test) if child is not parent.test else ""
            elif isinstance(parent, BooleanOperation):
                found = _tests(parent.left) if child is parent.right else ""
            elif isinstance(parent, With):
                names = [last_name(getattr(item.item, "func", item.item)) for item in parent.items]
                found = "raises" if any(name in _RAISES for name in names) else ""
            elif isinstance(parent, Call):
                found = "raises" if last_name(parent.func) in _RAISES else ""
            elif isinstance(parent, FunctionDef) and child is parent.body:
                expected = {word for decorator in parent.decorators for word in _words(decorator)}
                found = "raises" if expected & {*_EXPECTED} else ""
            elif isinstance(parent, (Module, IndentedBlock)):
                if id(parent) not in self._early:
                    self._early[id(parent)] = _left_early(parent.body)
                found = self._early[id(parent)].get(id(child), "")
            if found:
                return found
        return ""


def _catches(node: Try | TryStar) -> bool:
    for handler in node.handlers:
        words = set(_words(handler.type)) if handler.type is not None else {"Exception"}
        if words & {*_CAUGHT, *_CAUGHT_ALL}:
            return True
    return False


def _tests(test: CSTNode) -> str:
    words = [word.lower() for word in _words(test)]
    if "hasattr" in words or "getattr" in words:
        return "hasattr"
    if "dir" in words or any(_FLAG.match(word) for word in _words(test)):
        return "hasattr"
    return "version" if any("version" in word or word in ("torch_ge", "torch_lt") for word in words) else ""


def _left_early(body: Sequence[CSTNode]) -> dict[int, str]:
    """By ``id`` of a statement, its guard by an ``if not hasattr(…): return`` (or raise) before it in its block."""
    found: dict[int, str] = {}
    guard = ""
    for statement in body:
        if guard:
            found[id(statement)] = guard
        elif isinstance(statement, If):
            last = statement.body.body[-1] if statement.body.body else None
            if isinstance(last, SimpleStatementLine):
                last = last.body[-1]
            if isinstance(last, (Return, Raise)):
                guard = _tests(statement.test)
    return found


def _words(node: CSTNode, strings: bool = False) -> Iterator[str]:
    """Every identifier in an expression, and every plain string if asked for."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name):
            yield item.value
        elif strings and text_of(item):
            yield text_of(item)
        waiting.extend(children(item))
