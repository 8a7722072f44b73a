"""Recognises layers of frameworks that are given a GELU, by its name in a string or as an object."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from gelu_lint.facts.layers import COPIERS, COPIES_ITS_OWN, FORGETS, SPARES
from gelu_lint.facts.record import Layer
from gelu_lint.facts.table import find_layer, layers
from gelu_lint.model import Held, Site, Use, Value
from gelu_lint.named import NamedTuple
from gelu_lint.sites.context import Around, Guards, quote, symbol, tested
from gelu_lint.sites.copies import Copies, decodes
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.objects import Arguments, Given, Handed, Objects
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Assign, Attribute, Call, ClassDef, CSTNode, IfExp, Name
from gelu_lint.tree.walk import Moment, Walk

_ROOTS = ("torch", "keras", "tensorflow", "tf_keras", "keras_hub", "keras_nlp")
_FORWARD = frozenset(("forward", "__call__", "call"))
_MODULE = frozenset(("torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"))


class _Named(NamedTuple):
    row: Layer
    func: CSTNode
    key: str
    node: CSTNode
    around: Around


class _Kept(NamedTuple):
    row: Layer
    func: CSTNode
    key: str
    given: Given
    handed: Handed
    decides: tuple[tuple[str, Value], ...]
    around: Around
    made: CSTNode
    typed: ClassDef | None
    spared: bool


class Layers:
    """A visitor that collects what layers are given; ``sites``, ``held`` and ``uses`` tell it."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._objects = Objects(names)
        self._copies = Copies(names, self._objects)
        self._guards = Guards()
        self._named: list[_Named] = []
        self._kept: list[_Kept] = []
        self._switched: list[tuple[CSTNode, str]] = []
        self._symbols: dict[int, str] = {}

    @staticmethod
    def concerns(text: str) -> bool:
        """Whether a text may hold a layer that is given an activation."""
        return "keras" in text or "Transformer" in text

    @cached_property
    def _last(self) -> set[str]:
        """Last names that may mean a layer or what copies one: theirs, and what some scope binds to one."""
        imported = self._names.imported()
        if not any(name.split(".")[0] in _ROOTS for name in imported):
            return set()
        found = {name.rpartition(".")[2] for name in (*layers(), *COPIERS)}
        standing: dict[str, list[str]] = {}
        for scope in self._names.scopes.values():
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    source = binding.target.rpartition(".")[2]
                    if binding.node is not None and binding.kind in ("value", "class"):
                        source = _stands_for(binding.node)
                    standing.setdefault(source, []).append(name)
        waiting = [*found]
        while waiting:
            for name in standing.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return found

    def visit_ClassDef(self, node: ClassDef) -> None:
        around = symbol(self._walk.path)
        self._symbols[id(node)] = f"{around}.{node.name.value}" if around else node.name.value

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if not self._last:
            return
        if last == "__init__":
            self._base(node)
        elif last in self._last:
            self._call(node)
        elif last == "set_fastpath_enabled":
            if node.args and literal(node.args[0].value)[1] is False:
                self._switched.append((node, symbol(self._walk.path)))
        elif node.args and last_name(node.args[0].value) in self._last and not node.args[0].star:
            self._partial(node)

    def visit_Assign(self, node: Assign) -> None:
        # layer.activation_relu_or_gelu = 0: what torch remembers of the activation is set by hand
        target = node.targets[0].target
        if self._last and isinstance(target, Attribute) and target.attr.value == "activation_relu_or_gelu":
            self._switched.append((node.value, symbol(self._walk.path)))

    def _row(self, node: CSTNode) -> Layer | None:
        names = self._names.resolve(node, self._walk.moment)
        return find_layer(names) if names and not self._names.is_patched(names) else None

    def _call(self, node: Call) -> None:
        moment = self._walk.moment
        own = self._objects.arguments(node, moment)
        row = self._row(node.func)
        if row is not None:
            self._look(row, node.func, own, node)
            return
        self._copies.see(node, node.func, moment)
        # layer = partial(nn.TransformerEncoderLayer, batch_first=True); layer(64, 8, activation=…)
        made, when = self._objects.origin(node.func, moment)
        if not isinstance(made, Call) or not made.args or self._names.resolve(made.func, when) != {"functools.partial"}:
            return
        names = self._names.resolve(made.args[0].value, when)
        row = find_layer(names) if names and not self._names.is_patched(names) else None
        if row is None:
            return
        before = self._objects.arguments(made, when, 1)
        known = {key: given._replace(at=node.func) for key, given in before.named.items()}
        merged = Arguments((*before.positional, *own.positional), known | own.named, before.sure and own.sure)
        new = {key for key, _ in row.options} | {key for key, _, _ in row.decides if key != "nhead"}
        if own.positional or new & own.named.keys():
            self._look(row, node.func, merged, node)

    def _partial(self, node: Call) -> None:
        """``partial(nn.TransformerEncoderLayer, …)``."""
        moment, first = self._walk.moment, node.args[0].value
        row = self._row(first) if self._names.resolve(node.func, moment) == {"functools.partial"} else None
        if row is not None:
            self._look(row, first, self._objects.arguments(node, moment, 1), node)

    def _base(self, node: Call) -> None:
        """``super().__init__(…)`` in a subclass, or ``Base.__init__(self, …)``."""
        value = node.func.value if isinstance(node.func, Attribute) else None
        owner = next((a for a in reversed(self._walk.path) if isinstance(a, ClassDef)), None)
        if owner is None or len(owner.bases) != 1 or last_name(owner.bases[0].value) not in self._last:
            return
        base = owner.bases[0].value
        skip = 0
        if isinstance(value, Call) and last_name(value.func) == "super":
            if value.args and last_name(value.args[0].value) != owner.name.value:
                return  # super(Other, self) goes past what this class derives from
        elif value is not None and last_name(value) == last_name(base):
            skip = 1
        else:
            return
        row = self._row(base)
        if row is None:
            self._copies.see(node, base, self._walk.moment, skip)
        else:
            own = bool(self._names.behaviour(owner) & _FORWARD)
            self._look(row, node.func, self._objects.arguments(node, self._walk.moment, skip), owner, own)

    def _look(self, row: Layer, func: CSTNode, arguments: Arguments, made: CSTNode, own: bool = False) -> None:
        """What a layer is given for its activations. ``made``: the call or class that it is of; ``own``: the class
        around computes in its own way."""
        around = self._guards.around(self._walk, func)
        for key, position in row.options:
            given = arguments.get(key, position)
            if given is None:
                continue
            handed = self._objects.gelu(given.value, given.moment)
            if own:
                continue
            typed = None
            if handed is None and row.name in (FORGETS, COPIES_ITS_OWN):
                typed = self._module(given)
                handed = Handed("module", None) if typed is not None else None
            if handed is not None:
                decides = self._decides(row, arguments)
                spared = row.name == COPIES_ITS_OWN and self._spared(arguments)
                self._kept.append(_Kept(row, func, key, given, handed, decides, around, made, typed, spared))
            elif handed is None and row.flavour and self._says(given.value, given.moment):
                self._named.append(_Named(row, func, key, given.at, around))

    def _says(self, node: CSTNode, moment: Moment) -> bool:
        """Whether an expression is the string, whichever way a condition goes or only one way."""
        if isinstance(node, IfExp):
            return self._says(node.body, moment) or self._says(node.orelse, moment)
        return self._objects.text(node, moment) == "gelu"

    def _module(self, given: Given) -> ClassDef | None:
        """The class of this file, derived from nothing but a module, that an argument is an object of."""
        node, moment = self._objects.origin(given.value, given.moment)
        found = (
            self._names.reaching(node.func, moment) if isinstance(node, Call) and isinstance(node.func, Name) else ()
        )
        owner = found[0].node if len(found) == 1 else None
        if not isinstance(owner, ClassDef) or len(owner.bases) != 1:
            return None
        base = self._names.resolve(owner.bases[0].value, found[0].moment)
        return owner if base and base <= _MODULE and "forward" in self._names.behaviour(owner) else None

    def _spared(self, arguments: Arguments) -> bool:
        """Whether a whole transformer may have no decoder of its own making."""
        (decoder, position), (count, at) = SPARES
        given = arguments.get(decoder, position)
        custom = not arguments.sure if given is None else self._objects.value(given, None) is not None
        return custom or self._objects.value(arguments.get(count, at), None) == 0

    def _copied(self, kept: _Kept, draft: Draft) -> str:
        """What copies a layer that forgets its activation, "" where nothing is seen to."""
        if kept.handed.form != "module" or kept.given.at is kept.func:
            return ""  # what a partial holds is told there
        if kept.row.name == FORGETS:
            return self._copies.of(kept.made, draft)
        own = kept.row.name == COPIES_ITS_OWN and not kept.spared
        return COPIES_ITS_OWN if own and decodes(kept.around.path, draft) else ""

    def _decides(self, row: Layer, arguments: Arguments) -> tuple[tuple[str, Value], ...]:
        found: list[tuple[str, Value]] = []
        for key, position, default in row.decides:
            given = arguments.get(key, position)
            missing = default if arguments.sure or key != "batch_first" else "?"
            value = self._objects.value(given, missing) if given is not None else missing
            if key == "custom_encoder" and given is not None and value is not None:
                value = "?"
            found.append((key, value))
        return tuple(found)

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that the facts need the places of."""
        for found in self._named:
            yield from (found.func, found.node)
        for kept in self._kept:
            yield from (kept.func, kept.given.at, *kept.handed.nodes())
        yield from (node for node, _ in self._switched)

    def sites(self, draft: Draft) -> Iterator[Site]:
        """The GELUs that a string names."""
        for row, func, key, node, around in self._named:
            yield Site(
                "string",
                "argument",
                row.framework,
                row.name,
                draft.text(node),
                row.flavour,
                "hidden",
                "gelu",
                draft.span(node),
                draft.span(func),
                (),
                None,
                key,
                row.name.rpartition(".")[2],
                "argument",
                tested(around.path, node),
                around.symbol,
                around.guard,
                draft.statement(node),
                quote(around.path, draft.quote) or draft.quote,
            )

    def held(self, draft: Draft) -> Iterator[Held]:
        """The GELUs that layers are given as objects."""
        for kept in self._kept:
            row, func, key, given, handed, decides, around, _, typed, _ = kept
            own = self._symbols[id(typed)] if typed is not None else ""
            yield Held(
                "layer",
                row.name,
                draft.text(func),
                key,
                handed.form,
                handed.row.name if handed.row is not None else own,
                handed.flavour(self._names, draft),
                decides,
                any(isinstance(a, ClassDef) and a.bases for a in around.path),
                draft.span(handed.call if handed.call is not None else given.at),
                given.inline and not handed.fallback,
                draft.text(given.at),
                draft.span(given.at),
                around.symbol,
                around.guard,
                draft.statement(given.at),
                quote(around.path, draft.quote),
                self._copied(kept, draft),
            )

    def uses(self, draft: Draft) -> Iterator[Use]:
        """Where torch's fast path is switched off by hand."""
        for node, around in self._switched:
            span, rows = draft.span(node), draft.statement(node)
            yield Use("slowpath", "", draft.text(node), "", span, span, (), None, "call", around, "", rows, "")


def _stands_for(node: CSTNode) -> str:
    """The last name of the layer that a bound expression or class may stand for."""
    if isinstance(node, ClassDef):
        return last_name(node.bases[0].value) if len(node.bases) == 1 else ""
    if isinstance(node, Call):
        return last_name(node.args[0].value) if node.args else ""
    return last_name(node)
