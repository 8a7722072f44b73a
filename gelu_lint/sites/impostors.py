"""Recognises other activations, of a framework or of this file, that are given out as GELU."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from gelu_lint.claims import claim
from gelu_lint.facts.record import Other
from gelu_lint.facts.table import others
from gelu_lint.model import Argument, Formula, Site
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.identify import identify
from gelu_lint.numerics.match import Identity
from gelu_lint.sites.arguments import arguments, nodes_of
from gelu_lint.sites.claimed import Claimed, claimed, function_around
from gelu_lint.sites.context import Around, Guards, Role, role, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import dotted, last_name
from gelu_lint.tree.lowering import Lowering
from gelu_lint.tree.names import Names
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
    ImportFrom,
    ImportStar,
    Lambda,
    Name,
)
from gelu_lint.tree.terms import atoms, over
from gelu_lint.tree.walk import Walk

_FOUND_BY_NUMBERS = ("silu", "quick", "relu", "erf", "tanh", "near")


class _Found(NamedTuple):
    node: CSTNode
    callee: CSTNode
    call: Call | None
    flavour: str
    row: Other | None
    part: Role
    claims: Claimed
    around: Around
    identity: Identity | None = None


@functools.cache
def _last_names() -> frozenset[str]:
    """The last parts of the names of other activations."""
    return frozenset(name.rpartition(".")[2] for name in others())


#: What may hold a function or class under a name.
_TAKERS = frozenset((DictElement, Assign, AnnAssign, Arg, Element))


class Impostors:
    """A visitor that collects calls and references under a name that says GELU."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._found: list[_Found] = []
        self._taken: set[int] = set()
        self._last = _last_names()

    def visit_Call(self, node: Call) -> None:
        if isinstance(node.func, Name) and node.func.value not in self._last:
            self._named(node, node.func, node)
        elif last_name(node.func) in self._last:
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
        if id(node) in self._taken or type(above) is Attribute:
            return
        row = self._row(node) if node.value in self._last else None
        if row is not None:
            self._add(node, node, None, row.flavour, row)
        elif type(above) in _TAKERS:
            self._named(node, node, None)

    def visit_ImportFrom(self, node: ImportFrom) -> None:
        # from torch.nn.functional import silu as gelu
        if isinstance(node.names, ImportStar) or node.relative:
            return
        for alias in node.names:
            given = last_name(alias.asname.name) if alias.asname is not None else ""
            row = others().get(f"{dotted(node.module)}.{last_name(alias.name)}") if claim(given) else None
            if row is not None and row.flavour not in claim(given):
                around = self._guards.around(self._walk, node)
                claims = Claimed((given,), claim(given))
                part = Role("import")
                self._found.append(_Found(alias.name, alias.name, None, row.flavour, row, part, claims, around))

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

    def _named(self, node: CSTNode, callee: Name, call: Call | None) -> None:
        """A function or class of this file, told by what it computes: ``{"gelu": swish}``."""
        part = role(node, self._walk.path)
        if part.form not in ("table", "attribute", "variable", "argument", "element"):
            return
        if claim(callee.value) and part.form != "table":
            return  # it says itself what it is
        claims = claimed(self._walk.path, part)
        if not claims.allowed or claims.names[0] == "docstring":
            return
        bindings = self._names.reaching(callee, self._walk.moment)
        if len(bindings) != 1 or (call is not None and not isinstance(bindings[0].node, ClassDef)):
            return
        identity = self._computes(bindings[0].node)
        if identity is None or identity.flavour not in _FOUND_BY_NUMBERS:
            return
        if identity.flavour == "near" and claim(callee.value):
            return  # that is said where it stands
        self._add(node, callee, call, identity.flavour, None, identity)

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
                return identify(over(reading.expr, unknowns.pop()))
            return None
        return None

    def _add(
        self,
        node: CSTNode,
        callee: CSTNode,
        call: Call | None,
        flavour: str,
        row: Other | None,
        identity: Identity | None = None,
    ) -> None:
        path = self._walk.path
        part = role(node, path)
        if not part.form:
            return
        claims = claimed(path, part)
        function = function_around(path)
        maker = isinstance(function, FunctionDef) and not function.params.params  # def gelu(): return nn.SiLU()
        given = part.form == "return" and not isinstance(path[-1], Lambda) and not (maker and call is not None)
        if given and (call is None or (row is not None and row.kind == "class")) and not _by_branch(claims, path, node):
            return  # a function that gives an activation, rather than what it computes
        if claims.allowed and flavour not in claims.allowed:
            around = self._guards.around(self._walk, node)
            self._found.append(_Found(node, callee, call, flavour, row, part, claims, around, identity))

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
                error=found.identity.error if found.identity is not None else None,
                claims=found.claims.names,
                claimed=tuple(sorted(found.claims.allowed)),
                formula=_formula(found.identity),
            )


def _formula(identity: Identity | None) -> Formula | None:
    """What is known of a near miss that stands elsewhere."""
    if identity is None or identity.flavour != "near":
        return None
    return Formula(identity.nearest, identity.why, identity.right, None, identity.at)


def _by_branch(claims: Claimed, path: Sequence[CSTNode], node: CSTNode) -> bool:
    """Whether a branch such as ``if name == "gelu":`` makes the claim."""
    return bool(claims.names) and claims.names[0] in tested(path, node)
