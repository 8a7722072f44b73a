"""Where a call of a built-in can take the place of a formula, losing neither a comment nor what else the code does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.model import Span
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.sinks import Sink
from gelu_lint.tree.children import children
from gelu_lint.tree.lowering import Lowering
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Assign,
    Attribute,
    AugAssign,
    BaseExpression,
    BinaryOperation,
    Call,
    CSTNode,
    FunctionDef,
    IndentedBlock,
    Lambda,
    Name,
    Return,
    SimpleStatementLine,
    Subscript,
)
from gelu_lint.tree.nodes import Expr as Statement
from gelu_lint.tree.walk import Moment


class Rewrites:
    """Finds the stretch of source that a built-in would replace."""

    def __init__(self, names: Names, lowering: Lowering) -> None:
        self._names, self._lowering = names, lowering

    def nodes(self, sink: Sink) -> Iterator[CSTNode]:
        """The nodes that ``of`` needs the places of."""
        yield from parentheses(sink.node)
        if sink.atom in sink.reading.atoms:
            yield sink.reading.atoms[sink.atom]
        body = _body(sink.function)
        if sink.returned and body is not None:
            yield from (body[0], body[-1])

    def of(self, sink: Sink, draft: Draft) -> tuple[str, tuple[Span, str] | None]:
        """What a built-in can replace, and the source of its argument."""
        atom = sink.reading.atoms.get(sink.atom)
        if atom is None or not sink.whole or sink.parametric or sink.several or not _plain(atom):
            return "", None
        text = draft.text(atom)
        if sink.reading.mutates or sink.reading.open:
            return "", None
        if any(cast != f"like {text}" for cast in sink.reading.casts):
            return "", None
        local = {id(binding.node) for binding in sink.reading.local}
        if isinstance(sink.node, BaseExpression) and not isinstance(sink.node, AugAssign):
            at_hand = self._lowering.atom(atom, sink.moment) == sink.atom
            if at_hand and not self._temporaries(sink.node, sink.moment, local):
                start, end = draft.start(sink.node), draft.end(sink.node)
                if "#" in draft.between(start, end):
                    return "", None
                glued = draft.between(start - 1, start).isidentifier() if start else False
                return text, (draft.stretch(start, end), " " if glued else "")
        body = _body(sink.function)
        if not sink.returned or body is None or not isinstance(atom, Name):
            return "", None
        if not self._only_this(body, sink, local):
            return "", None
        start, end = draft.start(body[0]), draft.end(body[-1])
        if "#" in draft.between(start, end):
            return "", None
        return text, (draft.stretch(start, end), "return ")

    def _temporaries(self, node: CSTNode, moment: Moment, local: set[int]) -> bool:
        """Whether an expression uses names that only the formula binds: replacing it would leave these idle."""
        waiting = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Name) and any(id(b.node) in local for b in self._names.reaching(item, moment)):
                return True
            waiting.extend(children(item))
        return False

    def _only_this(self, body: Sequence[CSTNode], sink: Sink, local: set[int]) -> bool:
        """Whether the statements of a body do nothing but compute the formula, of a parameter as it came in."""
        *steps, last = body
        if not isinstance(last, Return):
            return False
        for step in steps:
            if isinstance(step, Assign):
                plain = len(step.targets) == 1 and isinstance(step.targets[0].target, Name)
                if not plain or id(step.value) not in sink.reading.nodes:
                    return False
            elif isinstance(step, AugAssign):
                if not isinstance(step.target, Name) or id(step) not in sink.reading.nodes:
                    return False
            elif not (isinstance(step, Statement) and id(step.value) in local):
                return False
        atom = sink.reading.atoms[sink.atom]
        scope = self._names.scopes.get(id(sink.function))
        if scope is None or not isinstance(atom, Name):
            return False
        given = [b for b in scope.bindings.get(atom.value, ()) if b.kind == "parameter"]
        return len(given) == 1 and sink.atom == self._lowering.atom(atom, given[0].moment._replace(
            order=given[0].moment.order + 1))  # fmt: skip


def parentheses(node: CSTNode) -> tuple[CSTNode, ...]:
    """The outermost parentheses around an expression that are its own."""
    left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
    return (left[0], right[-1]) if left and right else ()


def brackets(node: CSTNode, draft: Draft) -> tuple[int, int]:
    """Where an expression starts and ends, with its parentheses where a call needs none."""
    around = parentheses(node)
    if not around:
        return draft.start(node), draft.end(node)
    start, end = draft.start(around[0]), draft.end(around[1])
    free = draft.between(start - 1, start) in (" ", "(", "[", "{", ",", "=") if start else True
    return (start, end) if free else (draft.start(node), draft.end(node))


def _body(function: FunctionDef | Lambda | None) -> list[CSTNode] | None:
    """The small statements of a function after its docstring, None where there are others."""
    if not isinstance(function, FunctionDef) or not isinstance(function.body, IndentedBlock):
        return None
    found: list[CSTNode] = []
    for line in function.body.body:
        if not isinstance(line, SimpleStatementLine):
            return None
        found += line.body
    if found and isinstance(found[0], Statement) and type(found[0].value).__name__.endswith("String"):
        found = found[1:]
    return found or None


def _plain(node: CSTNode) -> bool:
    """Whether an expression can be written again: names, attributes, indices and operators, no calls."""
    if not isinstance(node, (Name, Attribute, Subscript, BinaryOperation)):
        return False
    waiting: list[CSTNode] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call):
            return False
        waiting.extend(children(item))
    return True
