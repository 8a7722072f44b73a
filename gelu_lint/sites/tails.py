"""Recognises the gate of a GELU, spelled so that its small values cancel, where a logarithm or a ratio needs them."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Argument, Use
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.numerics.identify import settle
from gelu_lint.sites.context import Around, Guards
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.rewrites import brackets, parentheses
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.lowering import Lowering, Reading
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Attribute, BaseExpression, BinaryOperation, Call, CSTNode, Name
from gelu_lint.tree.terms import atoms, operations, over
from gelu_lint.tree.walk import Moment, Walk

_LOGS = ("log", "log2", "log10", "log_")
_CANCELS = {"erf", "tanh"}


class _Found(NamedTuple):
    node: CSTNode
    atom: BaseExpression
    nearest: str
    form: str
    package: str
    at_hand: bool
    around: Around


class Tails:
    """A visitor that collects uses of kind tail."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk = walk
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._found: list[_Found] = []

    def visit_Call(self, node: Call) -> None:
        if last_name(node.func) not in _LOGS:
            return
        if len(node.args) == 1 and not node.args[0].star:
            self._look(node.args[0].value, "logarithm")
        elif not node.args and isinstance(node.func, Attribute):
            self._look(node.func.value, "logarithm")

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        if type(node.operator).__name__ == "Divide":
            self._look(node.right, "ratio")

    def _look(self, node: BaseExpression, form: str) -> None:
        moment = self._walk.moment
        for reading in self._lowering.readings(node, moment):
            unknowns = atoms(reading.expr)
            if len(unknowns) != 1 or not operations(reading.expr) & _CANCELS or "add" not in operations(reading.expr):
                continue
            (atom,) = unknowns
            identity = settle(over(reading.expr, atom))
            if identity.flavour != "gate" or identity.nearest not in FLAVOURS:
                continue
            final, at = self._final(node, moment, reading)
            package = next(iter(sorted(reading.packages - {"math"})), "")
            around = self._guards.around(self._walk, node)._replace(moment=at)
            name = reading.atoms[atom]
            at_hand = self._lowering.atom(name, at) == atom
            self._found.append(_Found(final, name, identity.nearest, form, package, at_hand, around))
            return

    def _final(self, node: BaseExpression, moment: Moment, reading: Reading) -> tuple[CSTNode, Moment]:
        at: CSTNode = node
        while isinstance(at, Name):
            bound = self._lowering.behind(at, moment, reading)
            if bound is None:
                break
            at, moment = bound
        return at, moment

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        for found in self._found:
            yield found.node
            yield from parentheses(found.node)
            yield found.atom

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for found in self._found:
            span, rows = draft.span(found.node), draft.statement(found.node)
            place = draft.span(found.atom)
            given: tuple[Argument, ...] = ()
            if found.nearest == "erf" and isinstance(found.atom, Name) and found.at_hand:
                given = (Argument(place, place, "", "", False, None, draft.text(found.atom)),)
            whole = draft.stretch(*brackets(found.node, draft))
            yield Use(
                "tail", found.package, draft.text(found.node), f"1 + {found.nearest}", span, whole, given, None,
                found.form, found.around.symbol, found.around.guard, rows, draft.quote,
            )  # fmt: skip
