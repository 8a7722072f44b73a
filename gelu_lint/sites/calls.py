"""Recognises calls of, and references to, the GELUs that frameworks provide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from gelu_lint.claims import claim
from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import callables, find
from gelu_lint.model import Argument, Site, Use, Value
from gelu_lint.named import NamedTuple
from gelu_lint.sites.arguments import arguments, nodes_of, slot
from gelu_lint.sites.claimed import Claimed, claimed
from gelu_lint.sites.context import Around, Guards, Role, quote, role, symbol, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Assign, Attribute, Call, ClassDef, CSTNode, IfExp, Name
from gelu_lint.tree.walk import Walk


class _Found(NamedTuple):
    node: CSTNode
    callee: CSTNode
    row: Callable
    role: Role
    place: str
    call: Call | None
    skip: int
    around: Around
    claims: Claimed


@cache
def _last_names() -> frozenset[str]:
    """The last parts of the names of all GELUs that are known."""
    return frozenset(name.rpartition(".")[2] for name in callables())


class Calls:
    """A visitor that collects sites; ``sites`` tells them once their nodes are placed."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []
        self._compared: list[tuple[CSTNode, Callable, str]] = []
        self._guards = Guards()
        self._taken: set[int] = set()
        self._last = _last_names()
        self._aliases = self._worth_resolving()

    def visit_Call(self, node: Call) -> None:
        if last_name(node.func) == "__init__":
            self._super(node)
            return
        row = self._row(node.func)
        if row is not None:
            self._add(node, node.func, row, Role("call"), node)
        elif node.args and last_name(node.func) and not node.args[0].star:
            inner = self._row(node.args[0].value)
            if inner is not None and self._names.resolve(node.func, self._walk.moment) == {"functools.partial"}:
                self._add(node, node.args[0].value, inner, Role("partial"), node, skip=1)

    def visit_Attribute(self, node: Attribute) -> None:
        self._reference(node)

    def visit_Name(self, node: Name) -> None:
        self._reference(node)

    def visit_ClassDef(self, node: ClassDef) -> None:
        # class QuickGELU(nn.GELU): pass
        if len(node.bases) != 1 or not claim(node.name.value) or self._names.behaviour(node):
            return
        base = node.bases[0].value
        row = self._row(base)
        if row is not None and row.kind == "class":
            self._taken.add(id(base))
            around = self._guards.around(self._walk, node)
            claims = Claimed((node.name.value,), claim(node.name.value))
            self._found.append(_Found(base, base, row, Role("base"), "base", None, 0, around, claims))

    def _reference(self, node: Attribute | Name) -> None:
        if id(node) in self._taken or (self._walk.path and type(self._walk.path[-1]) is Attribute):
            return
        row = self._row(node)
        if row is not None:
            part = role(node, self._walk.path)
            if part.form == "attribute" and self._defines():
                part = part._replace(form="variable")
            if part.form:
                self._add(node, node, row, part, None)
            elif any(type(a).__name__ == "Comparison" for a in self._walk.path[-4:]):
                self._compared.append((node, row, symbol(self._walk.path)))

    def _defines(self) -> bool:
        """Whether the enclosing assignment gives a module one more name, as ``F.gelu_python = F.gelu`` does."""
        assign = next((a for a in reversed(self._walk.path) if isinstance(a, Assign)), None)
        target = assign.targets[0].target if assign is not None else None
        return isinstance(target, Attribute) and bool(self._names.resolve(target.value, self._walk.moment))

    def _super(self, node: Call) -> None:
        """``super().__init__(…)`` in a subclass that leaves the computation to its base is a call of the base."""
        value = node.func.value if isinstance(node.func, Attribute) else None
        if not (isinstance(value, Call) and last_name(value.func) == "super"):
            return
        owner = next((a for a in reversed(self._walk.path) if isinstance(a, ClassDef)), None)
        if value.args and (owner is None or last_name(value.args[0].value) != owner.name.value):
            return  # super(Other, self) goes past what this class derives from
        if owner is None or len(owner.bases) != 1 or self._names.behaviour(owner) - {"__init__", "__new__"}:
            return
        row = self._row(owner.bases[0].value)
        if row is not None and row.kind == "class":
            self._add(node, node.func, row, Role("super"), node)

    def _row(self, node: CSTNode) -> Callable | None:
        last = last_name(node)
        by_string = type(node) is Call and last_name(node.func) == "getattr"
        if not by_string and not (last in self._last or (type(node) is Name and last in self._aliases)):
            return None
        names = self._names.resolve(node, self._walk.moment)
        if not names or self._names.is_patched(names):
            return None
        return find(names)

    def _worth_resolving(self) -> set[str]:
        """Names that some scope binds to something that could be a GELU under another name."""
        standing: dict[str, list[str]] = {}
        waiting = []
        for scope in self._names.scopes.values():
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    sources = {binding.target.rpartition(".")[2]} if binding.kind == "import" else set()
                    if binding.kind in ("value", "class") and binding.node is not None:
                        sources = _stands_for(binding.node)
                    if sources & self._last or "" in sources:
                        waiting.append(name)
                    for source in sources:
                        standing.setdefault(source, []).append(name)
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += standing.get(name, ())
        return found

    def _add(self, node: CSTNode, callee: CSTNode, row: Callable, part: Role, call: Call | None, skip: int = 0) -> None:
        path = self._walk.path
        self._taken.add(id(callee))
        outer = part
        if call is not None:
            outer = role(node, path)
            part = Role(part.form, outer.key, outer.consumer)
        around = self._guards.around(self._walk, node)
        self._found.append(_Found(node, callee, row, part, outer.form, call, skip, around, claimed(path, outer)))

    def found(self) -> Iterator[tuple[CSTNode, tuple[CSTNode, ...]]]:
        """The nodes of ``sites``, in their order, each with its ancestors."""
        return ((found.node, found.around.path) for found in self._found)

    def applied(self) -> dict[int, CSTNode]:
        """What GELUs that are functions are called with, by the ``id`` of the call."""
        found: dict[int, CSTNode] = {}
        for item in self._found:
            if item.call is not None and item.role.form == "call" and item.row.kind in ("function", "op"):
                first = item.call.args[0] if item.call.args else None
                if first is not None and not first.star:
                    found[id(item.node)] = first.value
        return found

    def chosen(self) -> Iterator[tuple[CSTNode, Callable, Around]]:
        """What is given as the choosing argument of a call: not a literal, but an expression that may be one."""
        for found in self._found:
            given = found.call.args[found.skip :] if found.call is not None and found.row.keyword else ()
            for index, arg in enumerate(given):
                keyword = arg.keyword.value if isinstance(arg.keyword, Name) else ""
                if not arg.star and (keyword == found.row.keyword or (not keyword and index == found.row.position)):
                    yield arg.value, found.row, found.around

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` and ``uses`` need the places of."""
        yield from (node for node, _, _ in self._compared)
        for found in self._found:
            yield found.node
            yield found.callee
            if found.call is not None:
                yield from nodes_of(found.call)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """What is compared with a GELU (``act is F.gelu``): code that looks at the object itself."""
        for node, row, around in self._compared:
            span, rows = draft.span(node), draft.statement(node)
            yield Use(
                "compare", row.name, draft.text(node), "", span, span, (), None, "reference", around, "", rows, ""
            )

    def sites(self, draft: Draft) -> Iterator[Site]:
        """The sites, in source order."""
        for found in self._found:
            given: tuple[Argument, ...] = ()
            place = None
            free = quote(found.around.path, draft.quote)
            if found.call is not None:
                given = arguments(found.call, self._names, found.around.moment, draft, found.skip)
                place = slot(found.call, draft) if free else None
            how, value, flavour = choice(found.row, given)
            yield Site(
                "reference" if found.call is None else "call",
                found.role.form,
                found.row.framework,
                found.row.name,
                draft.text(found.callee),
                flavour,
                how,
                value,
                draft.span(found.node),
                draft.span(found.callee),
                given,
                place,
                found.role.key,
                found.role.consumer,
                found.place,
                tested(found.around.path, found.node),
                found.around.symbol,
                found.around.guard,
                draft.statement(found.node),
                free or draft.quote,
                claims=found.claims.names,
                claimed=tuple(sorted(found.claims.allowed)),
                told=found.claims.told,
            )


def _stands_for(node: CSTNode) -> set[str]:
    """Last parts of the names that a bound expression or class may stand for; "" where only resolving it can tell."""
    if isinstance(node, ClassDef):
        return _stands_for(node.bases[0].value) if len(node.bases) == 1 else set()
    if isinstance(node, (Call, IfExp)):
        return {""}
    return {last_name(node)} - {""}


def choice(row: Callable, given: Sequence[Argument]) -> tuple[str, Value, str]:
    """How the choosing argument is given, its value, and the flavour that follows."""
    if row.parameters and any(a.keyword and a.keyword not in row.parameters for a in given):
        return ("fixed" if not row.keyword else "absent"), None, "unknown"
    if not row.keyword:
        return "fixed", None, row.flavour
    chosen = next((a for a in given if a.keyword == row.keyword), None)
    positional = [a for a in given if not a.keyword and a.star != "**"]
    if row.keyword_only and len(positional) > 1 and not any(a.star for a in positional):
        return "misplaced", positional[1].value, "unknown"
    stars = any(a.star == "**" or (a.star == "*" and not row.keyword_only) for a in given)
    if chosen is None and row.position is not None and not any(a.star for a in positional[: row.position + 1]):
        chosen = positional[row.position] if len(positional) > row.position else None
    if chosen is None:
        return ("unsure", None, "unknown") if stars else ("absent", None, row.flavour)
    if chosen.literal or " = " in chosen.text:
        if row.wrong == "truthy":
            flavour = row.flavour_of(bool(chosen.value))
        else:
            flavour = row.flavour_of(chosen.value) or "unknown"
        return ("literal" if chosen.literal else "constant"), chosen.value, flavour
    return "dynamic", None, "unknown"
