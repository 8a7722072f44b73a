"""What the code around a node gives it out for: the names and docstrings that say GELU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gelu_lint.claims import (
    PLAIN,
    backward,
    claim,
    claim_of_text,
    formula_of_text,
    gate_only,
    says_gelu,
    says_other,
    says_quick,
    shuns_built_in,
)
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import Role
from gelu_lint.tree.literals import last_name, text_of
from gelu_lint.tree.nodes import (
    Arg,
    Call,
    ClassDef,
    Comparison,
    ConcatenatedString,
    CSTNode,
    DictElement,
    Element,
    Expr,
    FunctionDef,
    If,
    IfExp,
    IndentedBlock,
    Lambda,
    MatchCase,
    MatchValue,
    SimpleStatementLine,
    SimpleString,
    Tuple,
)

#: Methods that compute what an object of the class is for.
_FORWARD = frozenset(
    (
        *("forward", "__call__", "call", "construct", "apply", "forward_native", "forward_cuda", "forward_cpu"),
        *("static_call", "_forward", "function", "fn", "func", "compute"),
    )
)
#: Calls that file what they get under the name that they get first.
_REGISTERS = lazy(r"regist|add_module|setdefault|add_act|set_act|^add$|^set$", re.IGNORECASE)
_KEYED = ("variable", "attribute", "table", "argument", "default")


class Claimed(NamedTuple):
    """The names that say GELU, nearest first, the flavours that the nearest allows, and what the docstring tells."""

    names: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    told: str = ""
    gate: bool = False  # a name says that this is the factor of x alone
    deliberate: bool = False  # the docstring says why the built-in is not used


def claimed(path: Sequence[CSTNode], part: Role) -> Claimed:
    """The claims on a node in the role ``part`` under its ancestors ``path``."""
    names: list[str] = [*_tested(path)]
    told, said, deliberate, quick = "", frozenset[str](), False, False
    held = path[-1] if path else None
    if isinstance(held, DictElement) and not text_of(held.key):
        return Claimed()  # {nn.GELU: nn.ReLU} replaces one by the other
    if part.key and part.form in (*_KEYED, "return"):
        names.append(part.key)
    names += _beside(path[:-1] if path and isinstance(path[-1], Lambda) else path)
    if part.form == "return" and not part.key:
        found = _function(path)
        if found is not None:
            function, owner = found
            own = [function.name.value, *([owner.name.value] if owner is not None else [])]
            names += [*own, *_registered(function), *(_registered(owner) if owner is not None else ())]
            text = docstring(function) or (docstring(owner) if owner is not None else "")
            every = docstring(function) + (docstring(owner) if owner is not None else "")
            deliberate, quick = shuns_built_in(text), says_quick(every)
            if not any(says_other(name) or backward(name) or gate_only(name) for name in own):
                told = formula_of_text(text)
                said = claim_of_text(text)
    if any(backward(name) for name in names):
        return Claimed()
    saying = [name for name in names if claim(name)]
    gate = any(gate_only(name) for name in names)
    if saying:
        allowed = claim(saying[0]) | ({"quick"} if quick and claim(saying[0]) == PLAIN else set())
        return Claimed(tuple(saying), allowed, told, gate, deliberate)
    if any(says_gelu(name) or says_other(name) for name in names):
        return Claimed()  # a name that says something of its own goes before any text
    return Claimed(("docstring",) if said else (), said, told, gate, deliberate)


def _beside(path: Sequence[CSTNode]) -> Iterator[str]:
    """The string that stands beside a node: ``("gelu", node)``, ``register("gelu", node)``."""
    parent, above = (*reversed(path[-2:]), None, None)[:2]
    if isinstance(parent, Element) and isinstance(above, Tuple) and len(above.elements) == 2:
        yield from filter(None, [text_of(above.elements[0].value)])
    elif isinstance(parent, Arg) and isinstance(above, Call) and above.args and parent is not above.args[0]:
        if not _REGISTERS.search(last_name(above.func)):
            return
        yield from filter(says_gelu, [text_of(above.args[0].value)])


_TESTING = frozenset((If, IfExp, MatchCase))


def _tested(path: Sequence[CSTNode]) -> Iterator[str]:
    """The strings that the branches around a node test for, innermost first: ``if name == "gelu": …``."""
    start = max((i for i, a in enumerate(path) if type(a) is FunctionDef), default=0)
    for parent, child in reversed(list(pairwise(path[start:]))):
        if type(parent) not in _TESTING:
            continue
        if isinstance(parent, (If, IfExp)) and child is parent.body and isinstance(parent.test, Comparison):
            target = parent.test.comparisons[0]
            if len(parent.test.comparisons) == 1 and type(target.operator).__name__ == "Equal":
                yield from filter(says_gelu, [text_of(parent.test.left), text_of(target.comparator)])
        elif isinstance(parent, MatchCase) and child is parent.body and isinstance(parent.pattern, MatchValue):
            yield from filter(says_gelu, [text_of(parent.pattern.value)])


def function_around(path: Sequence[CSTNode]) -> FunctionDef | Lambda | None:
    """The innermost function or lambda of ``path``."""
    return next((a for a in reversed(path) if isinstance(a, (FunctionDef, Lambda))), None)


def _function(path: Sequence[CSTNode]) -> tuple[FunctionDef, ClassDef | None] | None:
    """The function around, and the class that it computes for if it is the one that does so."""
    at = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], (FunctionDef, Lambda))), None)
    function = path[at] if at is not None else None
    if at is None or not isinstance(function, FunctionDef):
        return None
    outer = next((a for a in reversed(path[:at]) if isinstance(a, (FunctionDef, Lambda, ClassDef))), None)
    owner = outer if isinstance(outer, ClassDef) and function.name.value in _FORWARD else None
    return function, owner


def owner_of(path: Sequence[CSTNode]) -> ClassDef | None:
    """The innermost class of ``path``."""
    return next((a for a in reversed(path) if isinstance(a, ClassDef)), None)


def _registered(node: FunctionDef | ClassDef) -> Iterator[str]:
    """Strings that decorators are called with: ``@register("gelu")``."""
    for decorator in node.decorators:
        call = decorator.decorator
        for arg in call.args if isinstance(call, Call) else ():
            yield from filter(None, [text_of(arg.value)])


def docstring(node: FunctionDef | ClassDef) -> str:
    """The docstring of a function or class, "" without one."""
    body = node.body
    first: object = body.body[0] if isinstance(body, IndentedBlock) and body.body else None
    first = first.body[0] if isinstance(first, SimpleStatementLine) and first.body else None
    value = first.value if isinstance(first, Expr) else None
    if isinstance(value, (SimpleString, ConcatenatedString)):
        text = value.evaluated_value
        return text if isinstance(text, str) else ""
    return ""
