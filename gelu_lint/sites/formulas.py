"""Recognises GELUs that are typed by hand: products are evaluated, and their values say which function they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gelu_lint.model import Site
from gelu_lint.numerics.identify import settle
from gelu_lint.numerics.ir import Expr
from gelu_lint.numerics.match import Identity
from gelu_lint.numerics.near import GATES
from gelu_lint.sites.context import Around, Guards, role, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.lowering import Lowering, atoms, factors, operations, over, product
from gelu_lint.tree.names import Names, last_name
from gelu_lint.tree.nodes import BinaryOperation, Call, CSTNode, Name
from gelu_lint.tree.walk import Moment, Walk

_PRODUCTS = ("Multiply", "Divide")
_CALLS = ("mul", "mul_", "multiply", "mul_rn")
_GELUS = ("erf", "tanh", "quick", "gelu_t", "clipped")
_MOST_KEPT = 4


class _Found(NamedTuple):
    node: CSTNode
    identity: Identity
    framework: str
    around: Around


class Formulas:
    """A visitor that looks at the outermost products."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._found: list[_Found] = []

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        above = self._walk.path[-1] if self._walk.path else None
        inside = isinstance(above, BinaryOperation) and type(above.operator).__name__ in _PRODUCTS
        if type(node.operator).__name__ in _PRODUCTS and not inside:
            self._look(node)

    def visit_Call(self, node: Call) -> None:
        if last_name(node.func) in _CALLS:
            self._look(node)

    def _look(self, node: BinaryOperation | Call) -> None:
        moment = self._walk.moment
        found = _gelu(self._lowering.lower(node, moment))
        if found is None:
            # With a name for the unknown, where following it to its value hides the formula: x = x / 2; x * Φ(x).
            for name in _names_in(node):
                found = found or _gelu(self._lowering.lower(node, moment, frozenset({name})))
        if found is not None:
            around = self._guards.around(self._walk, node)
            self._found.append(_Found(node, found, self._framework(node, moment), around))

    def _framework(self, node: CSTNode, moment: Moment) -> str:
        """The package whose functions the formula calls, "" if it only uses operators and methods."""
        waiting = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Call):
                names = self._names.resolve(item.func, moment)
                tops = {name.split(".")[0] for name in names} - {"math", ""}
                if len(tops) == 1:
                    return tops.pop()
            waiting.extend(item.children)
        return ""

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` needs the places of."""
        return (found.node for found in self._found)

    def sites(self, draft: Draft) -> Iterator[Site]:
        """The sites, in source order."""
        for found in self._found:
            around, identity = found.around, found.identity
            part = role(found.node, around.path)
            span, text = draft.span(found.node), draft.text(found.node)
            yield Site(
                "formula", "formula", found.framework, "", text, identity.flavour, "fixed", None, span, span, (), None,
                part.key, part.consumer, part.form, tested(around.path, found.node), around.symbol, around.guard,
                draft.statement(found.node), draft.quote, identity.error, identity.parameter,
            )  # fmt: skip


def _gelu(expr: Expr) -> Identity | None:
    """What a product computes of one of its atoms, if that is a GELU: ``gelu(x) * gate`` holds the GELU of x."""
    if not operations(expr) & GATES:
        return None
    unknowns = sorted(atoms(expr))
    if len(unknowns) == 1:
        return _known(settle(over(expr, unknowns[0])))
    parts = factors(expr)
    for atom in unknowns[:_MOST_KEPT]:
        own = [part for part in parts if atoms(part) <= {atom}]
        whole = product(own)
        if operations(whole) & GATES and atoms(whole) == {atom}:
            found = _known(settle(over(whole, atom)))
            if found is not None:
                return found
    return None


def _known(identity: Identity) -> Identity | None:
    return identity if identity.flavour in _GELUS else None


def _names_in(node: CSTNode) -> list[str]:
    """The first few names in an expression, in source order."""
    found: dict[str, None] = {}
    waiting = [node]
    while waiting and len(found) < _MOST_KEPT:
        item = waiting.pop()
        if isinstance(item, Name):
            found[item.value] = None
        waiting.extend(reversed(item.children))
    return list(found)
