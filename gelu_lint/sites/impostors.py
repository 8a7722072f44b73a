"""Recognises other activations, of a framework or of this file, that are given out as GELU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gelu_lint.claims import claim
from gelu_lint.facts.record import Other
from gelu_lint.facts.table import others
from gelu_lint.model import Argument, Site
from gelu_lint.numerics.identify import settle
from gelu_lint.numerics.match import Identity
from gelu_lint.sites.arguments import arguments, nodes_of
from gelu_lint.sites.claimed import Claimed, claimed
from gelu_lint.sites.context import Around, Guards, Role, role, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.lowering import Lowering, atoms, over
from gelu_lint.tree.names import Names, last_name
from gelu_lint.tree.nodes import (
    AnnAssign,
    Arg,
    Assign,
    Attribute,
    Call,
    ClassDef,
    CSTNode,
    DictElement,
    Element,
    FunctionDef,
    Lambda,
    Name,
)
from gelu_lint.tree.walk import Walk

_FOUND_BY_NUMBERS = ("silu", "quick", "relu")


class _Found(NamedTuple):
    node: CSTNode
    callee: CSTNode
    call: Call | None
    flavour: str
    row: Other | None
    part: Role
    claims: Claimed
    around: Around


class Impostors:
    """A visitor that collects calls and references under a name that says GELU."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._found: list[_Found] = []
        self._taken: set[int] = set()
        self._last = {name.rpartition(".")[2] for name in others()}

    def visit_Call(self, node: Call) -> None:
        if last_name(node.func) in self._last:
            row = self._row(node.func)
            if row is not None:
                self._taken.add(id(node.func))
                self._add(node, node.func, node, row.flavour, row)

    def visit_Attribute(self, node: Attribute) -> None:
        if id(node) not in self._taken and node.attr.value in self._last:
            row = self._row(node)
            if row is not None:
                self._add(node, node, None, row.flavour, row)

    def visit_Name(self, node: Name) -> None:
        above = self._walk.path[-1] if self._walk.path else None
        if id(node) in self._taken or isinstance(above, Attribute):
            return
        row = self._row(node) if node.value in self._last else None
        if row is not None:
            self._add(node, node, None, row.flavour, row)
        elif id(node) not in self._taken and isinstance(above, (DictElement, Assign, AnnAssign, Arg, Element)):
            self._own(node)

    def visit_ClassDef(self, node: ClassDef) -> None:
        # class GELU(nn.SiLU): pass
        if len(node.bases) == 1 and claim(node.name.value) and not self._names.behaviour(node) - {"__init__"}:
            base = node.bases[0].value
            row = self._row(base) if last_name(base) in self._last else None
            if row is not None and row.kind == "class" and row.flavour not in claim(node.name.value):
                self._taken.add(id(base))
                claims = Claimed((node.name.value,), claim(node.name.value))
                around = self._guards.around(self._walk, node)
                self._found.append(_Found(base, base, None, row.flavour, row, Role("base"), claims, around))

    def _row(self, node: CSTNode) -> Other | None:
        names = self._names.resolve(node, self._walk.moment)
        if self._names.is_patched(names):
            return None
        rows = {others().get(name) for name in names}
        return rows.pop() if len(rows) == 1 else None

    def _own(self, node: Name) -> None:
        """A function or class of this file, told by what it computes: ``{"gelu": swish}``."""
        if claim(node.value):
            return
        part = role(node, self._walk.path)
        if part.form not in ("table", "attribute", "variable", "argument", "element"):
            return
        claims = claimed(self._walk.path, part)
        if not claims.allowed or claims.names[0] == "docstring":
            return
        bindings = self._names.reaching(node, self._walk.moment)
        if len(bindings) == 1:
            identity = self._computes(bindings[0].node)
            if identity is not None and identity.flavour in _FOUND_BY_NUMBERS:
                self._add(node, node, None, identity.flavour, None)

    def _computes(self, node: CSTNode | None) -> Identity | None:
        """What the one value that a function gives, or the ``forward`` of a class, is of its one unknown."""
        if isinstance(node, ClassDef):
            bindings = self._names.scopes[id(node)].bindings
            held = [bindings[name] for name in ("forward", "__call__", "call") if name in bindings]
            node = held[0][0].node if held else None
        if not isinstance(node, FunctionDef):
            return None
        returns = self._names.returns.get(id(node), [])
        if len(returns) != 1:
            return None
        for reading in self._lowering.readings(*returns[0]):
            unknowns = atoms(reading.expr)
            if len(unknowns) == 1:
                return settle(over(reading.expr, unknowns.pop()))
            return None
        return None

    def _add(self, node: CSTNode, callee: CSTNode, call: Call | None, flavour: str, row: Other | None) -> None:
        path = self._walk.path
        part = role(node, path)
        if not part.form:
            return
        claims = claimed(path, part)
        given = part.form == "return" and not isinstance(path[-1], Lambda)
        if given and (call is None or (row is not None and row.kind == "class")) and not _by_branch(claims, path, node):
            return  # a function that gives an activation, rather than what it computes
        if claims.allowed and flavour not in claims.allowed:
            around = self._guards.around(self._walk, node)
            self._found.append(_Found(node, callee, call, flavour, row, part, claims, around))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` needs the places of."""
        for found in self._found:
            yield found.node
            yield found.callee
            if found.call is not None:
                yield from nodes_of(found.call)

    def sites(self, draft: Draft) -> Iterator[Site]:
        """The sites, in source order."""
        for found in self._found:
            around, part = found.around, found.part
            given: tuple[Argument, ...] = ()
            if found.call is not None:
                given = arguments(found.call, self._names, around.moment, draft)
            yield Site(
                "reference" if found.call is None else "call",
                "call" if found.call is not None else part.form,
                found.row.framework if found.row is not None else "",
                found.row.name if found.row is not None else "",
                draft.text(found.callee),
                found.flavour,
                "fixed",
                None,
                draft.span(found.node),
                draft.span(found.callee),
                given,
                None,
                part.key,
                part.consumer,
                part.form,
                tested(around.path, found.node),
                around.symbol,
                around.guard,
                draft.statement(found.node),
                draft.quote,
                claims=found.claims.names,
                claimed=tuple(sorted(found.claims.allowed)),
            )


def _by_branch(claims: Claimed, path: Sequence[CSTNode], node: CSTNode) -> bool:
    """Whether a branch such as ``if name == "gelu":`` makes the claim."""
    return bool(claims.names) and claims.names[0] in tested(path, node)
