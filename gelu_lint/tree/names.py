"""What a name stands for: imports, aliases, shadowing, and the order in which bindings happen.

LibCST's ScopeProvider and QualifiedNameProvider cost eight times the parse and know no order; this table answers one
question, which public name an expression refers to, and says "unknown" wherever two answers are possible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

import libcst as cst

from gelu_lint.named import NamedTuple
from gelu_lint.tree.bindings import Binder, Binding, Bound, class_of
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import SINGLETONS, last_name, text_of
from gelu_lint.tree.walk import Block, Moment, Scope, Walk

UNKNOWN: frozenset[str] = frozenset()

#: Calls that hand over the module whose name is their first argument.
_IMPORTERS = frozenset(("importlib.import_module", "pytest.importorskip"))
_BEHAVIOUR = frozenset(("forward", "__call__", "__init__", "__new__", "call"))
_DEPTH = 20  # aliases of aliases that are followed
_MANY = 100  # bindings of one name that are compared


class _View(NamedTuple):
    """A scope as seen from somewhere: the place in it that counts, and whether the code there may run ``later``."""

    scope: Scope
    order: int
    blocks: tuple[Block, ...]
    later: bool


class Names:
    """The name table of one module.

    ``patched`` are full names that the file assigns to (``F.gelu = mine``); ``taken`` are names that anything in the
    file binds, but for those in ``at_hand()``.
    """

    def __init__(self, module: cst.Module) -> None:
        self.scopes: dict[int, Scope] = {}
        self.module_scope: Scope
        self.patched: set[str] = set()
        #: What attributes are set to: of ``self`` by the class around, of other names by the name.
        self.attributes: dict[tuple[int | str, str], list[Bound]] = {}
        self.returns: dict[int, list[Bound]] = {}
        self._meanings: dict[int, frozenset[str]] = {}
        walk = Walk(module, self.scopes)
        self.module_scope = walk.scope
        binder = Binder(walk, self)
        walk.run((binder,))
        binder.finish()
        self._at_hand = self._sure(_early_imports(module))
        self.taken = self.bound() - self._at_hand.keys()
        for node, moment in binder.assigned_attributes:
            self._patch(self.resolve(node, moment))
        for node, attribute, moment in binder.set_attributes:
            self._patch(frozenset(f"{base}.{attribute}" for base in self.resolve(node, moment)))

    def _patch(self, names: frozenset[str]) -> None:
        """A class whose behaviour is replaced is another class."""
        self.patched.update(names)
        owners = (owner for owner, _, last in (name.rpartition(".") for name in names) if last in _BEHAVIOUR)
        self.patched.update(owner for owner in owners if owner.rpartition(".")[2][:1].isupper())  # a module has none

    def is_patched(self, names: frozenset[str]) -> bool:
        """Whether the file assigns to any of ``names``, or to what holds it."""
        return any(name == patch or name.startswith(patch + ".") for name in names for patch in self.patched if patch)

    def resolve(self, node: cst.CSTNode, moment: Moment, depth: int = 0) -> frozenset[str]:
        """The full public names that ``node`` may refer to at ``moment``; empty where it is not known for sure."""
        attributes: list[str] = []
        while type(node) is cst.Attribute:
            attributes.append(node.attr.value)
            node = node.value
        if depth > _DEPTH:
            return UNKNOWN
        if type(node) is cst.Name:
            bases = self._lookup(node.value, moment, depth + 1)
        elif isinstance(node, cst.Call):
            bases = self._call(node, moment, depth + 1)
        elif isinstance(node, cst.IfExp):
            arms = [self.resolve(arm, moment, depth + 1) for arm in (node.body, node.orelse)]
            bases = frozenset().union(*arms) if all(arms) else UNKNOWN
        else:
            return UNKNOWN
        tail = "".join(f".{name}" for name in reversed(attributes))
        return frozenset(base + tail for base in bases)

    def constant(self, node: cst.CSTNode, moment: Moment, depth: int = 0) -> cst.CSTNode | None:
        """The expression that a name stands for, where one binding alone gives its value; None otherwise."""
        binding = self.single(node, moment) if isinstance(node, cst.Name) and depth <= _DEPTH else None
        if binding is None:
            return None
        if isinstance(binding.node, cst.Name) and binding.node.value not in SINGLETONS:
            return self.constant(binding.node, binding.moment, depth + 1)
        return binding.node

    def single(self, node: cst.Name, moment: Moment) -> Binding | None:
        """The one binding by an expression that ``node`` surely has at ``moment``; None if there may be another."""
        view = self._find(node.value, moment)
        if view is None or node.value in view.scope.remote:
            return None
        binding: Binding | None = None
        for found in _reaching(view.scope.bindings[node.value], view):
            if binding is not None or found.kind not in ("value", "none"):
                return None
            binding = found
        return binding if binding is not None and _surely_bound(view, binding) else None

    def reaching(self, node: cst.Name, moment: Moment) -> tuple[Binding, ...]:
        """The bindings that ``node`` may have at ``moment``, nearest first; none where others may hold, too."""
        view = self._find(node.value, moment)
        if view is None or node.value in view.scope.remote:
            return ()
        found = tuple(islice(_reaching(view.scope.bindings[node.value], view), _MANY))
        return found if found and len(found) < _MANY and _surely_bound(view, found[-1]) else ()

    def attribute(self, node: cst.Attribute, moment: Moment) -> Bound | None:
        """What ``self.name``, ``Class.name`` or ``function.name`` is set to, where one place alone sets it."""
        if not isinstance(node.value, cst.Name):
            return None
        base, name = node.value, node.attr.value
        owner = class_of(moment.scope) if base.value in ("self", "cls") else None
        values = self.attributes.get((id(owner) if owner is not None else base.value, name), [])
        if owner is None and base.value not in ("self", "cls"):
            held = [found.node for found in self.reaching(base, moment)]
            if len(held) != 1 or not isinstance(held[0], (cst.FunctionDef, cst.ClassDef)):
                return None
            owner = self.scopes[id(held[0])] if isinstance(held[0], cst.ClassDef) else None
        if values or owner is None:
            return values[0] if len(values) == 1 else None
        inner = owner.bindings.get(name, [])
        if len(inner) != 1 or inner[0].kind != "value" or not isinstance(inner[0].node, cst.BaseExpression):
            return None
        return inner[0].node, inner[0].moment

    def has_subclass(self, owner: Scope) -> bool:
        """Whether a class of this file derives from the class of ``owner``."""
        node = next((node for node, scope in self.scopes.items() if scope is owner), None)
        held = [b.node for scope in self.scopes.values() for found in scope.bindings.values() for b in found]
        classes = [item for item in held if isinstance(item, cst.ClassDef)]
        name = next((item.name.value for item in classes if id(item) == node), "")
        return any(last_name(base.value) == name for item in classes for base in item.bases) if name else False

    def method(self, name: str, moment: Moment) -> cst.FunctionDef | None:
        """The one method ``name`` of the class around ``moment``."""
        owner = class_of(moment.scope)
        found = owner.bindings.get(name, []) if owner is not None else []
        return found[0].node if len(found) == 1 and isinstance(found[0].node, cst.FunctionDef) else None

    def version(self, node: cst.Name, moment: Moment) -> tuple[int, ...]:
        """What tells one value of a name from another: the places of the bindings that it may have at ``moment``."""
        view = self._find(node.value, moment)
        if view is None:
            return ()
        return tuple(found.moment.order for found in islice(_reaching(view.scope.bindings[node.value], view), _MANY))

    def imported(self) -> set[str]:
        """The full name of everything that the file imports, at any level."""
        bindings = (b for scope in self.scopes.values() for found in scope.bindings.values() for b in found)
        return {binding.target for binding in bindings if binding.kind == "import"}.union(self.module_scope.stars)

    def at_hand(self) -> dict[str, str]:
        """Names that the top level surely imports before it uses a GELU, and that nothing else in the file binds."""
        return dict(self._at_hand)

    def _sure(self, early: set[int]) -> dict[str, str]:
        inner = [scope for scope in self.scopes.values() if scope is not self.module_scope]
        elsewhere = self.module_scope.remote.union(*(scope.bindings for scope in inner))
        found = {}
        for name, bindings in self.module_scope.bindings.items():
            targets = {binding.target for binding in bindings}
            imported = all(binding.kind == "import" for binding in bindings)
            sure = any(not binding.moment.blocks and id(binding.node) in early for binding in bindings)
            if imported and sure and len(targets) == 1 and name not in elsewhere:
                found[name] = bindings[0].target
        return found

    def bound(self) -> set[str]:
        """Every name that anything in the file binds."""
        return {name for scope in self.scopes.values() for name in scope.bindings}

    def behaviour(self, node: cst.ClassDef) -> set[str]:
        """What decides what the instances of a class compute, as far as the class body itself binds it."""
        return {name for name in self.scopes[id(node)].bindings if name in _BEHAVIOUR}

    def _find(self, name: str, moment: Moment) -> _View | None:
        """The scope that binds ``name`` as seen from ``moment``."""
        scope: Scope | None = moment.scope
        order, blocks = moment.order, moment.blocks
        later = to_module = False
        while scope is not None:
            if scope is moment.scope or scope.kind != "class":
                to_module = to_module or scope.outer.get(name) == "global"
                if name in scope.bindings and (scope is self.module_scope or not to_module):
                    return _View(scope, order, blocks, later)
            # A class body or comprehension runs where it stands; a function or generator any time from there on.
            later = later or scope.kind in ("function", "generator")
            order, blocks, scope = scope.entry_order, scope.entry, scope.parent
        return None

    def _lookup(self, name: str, moment: Moment, depth: int) -> frozenset[str]:
        view = self._find(name, moment)
        if view is None:
            stars = self.module_scope.stars
            return frozenset({f"{stars[0]}.{name}"}) if len(stars) == 1 else UNKNOWN
        if name in view.scope.remote:
            return UNKNOWN
        answers: frozenset[str] = frozenset()
        sure = False
        for count, binding in enumerate(_reaching(view.scope.bindings[name], view)):
            if count == _MANY:
                return UNKNOWN
            sure = sure or _surely_bound(view, binding)
            if binding.kind != "none":
                answer = self._meaning(binding, depth)
                if not answer:
                    return UNKNOWN
                answers |= answer
        return answers if sure else UNKNOWN

    def _meaning(self, binding: Binding, depth: int) -> frozenset[str]:
        # A binding means the same wherever it reaches; while it is worked out, a cycle back to it is unknown.
        known = self._meanings.get(id(binding))
        if known is None:
            self._meanings[id(binding)] = UNKNOWN
            known = self._meanings[id(binding)] = self._work_out(binding, depth)
        return known

    def _work_out(self, binding: Binding, depth: int) -> frozenset[str]:
        if binding.kind == "import":
            return frozenset({binding.target})
        if binding.kind == "value" and binding.node is not None:
            return self.resolve(binding.node, binding.moment, depth)
        if binding.kind == "class" and isinstance(binding.node, cst.ClassDef):
            return self._base(binding.node, binding.moment, depth)
        return UNKNOWN

    def _base(self, node: cst.ClassDef, moment: Moment, depth: int) -> frozenset[str]:
        """A subclass that overrides no behaviour stands for its only base."""
        if len(node.bases) != 1 or node.keywords or node.decorators or self.behaviour(node):
            return UNKNOWN
        return self.resolve(node.bases[0].value, moment, depth)

    def _call(self, node: cst.Call, moment: Moment, depth: int) -> frozenset[str]:
        literals = [text_of(arg.value) for arg in node.args]
        builtin = node.func.value if isinstance(node.func, cst.Name) and not self._find(node.func.value, moment) else ""
        if builtin == "__import__" and len(node.args) == 1 and literals[0]:
            return frozenset({literals[0].partition(".")[0]})
        if builtin == "getattr" and len(node.args) == 2 and literals[1].isidentifier():
            return frozenset(f"{base}.{literals[1]}" for base in self.resolve(node.args[0].value, moment, depth))
        if literals and literals[0] and last_name(node.func) in ("import_module", "importorskip"):
            called = self.resolve(node.func, moment, depth)
            return frozenset({literals[0]}) if called and called <= _IMPORTERS else UNKNOWN
        return UNKNOWN


def _early_imports(module: cst.Module) -> set[int]:
    """Top-level imports before the first statement that is, or holds, a function, a class or a GELU."""
    found: set[int] = set()
    for statement in module.body:
        waiting: list[cst.CSTNode] = [statement]
        while waiting:
            item = waiting.pop()
            if isinstance(item, (cst.Import, cst.ImportFrom)):
                found.add(id(item))
            elif isinstance(item, cst.SimpleStatementLine):
                waiting.extend(reversed(item.body))
            elif isinstance(item, (cst.FunctionDef, cst.ClassDef)) or "gelu" in last_name(item).lower():
                return found
            else:
                waiting.extend(reversed([*children(item)]))
    return found


def _exclusive(a: tuple[Block, ...], b: tuple[Block, ...]) -> bool:
    """Whether two places lie in different arms of one "if" and no loop runs through both."""
    for left, right in zip(a, b, strict=False):
        if left != right:
            return left.node == right.node and left.kind == "if"
        if left.kind == "loop":
            return False
    return False


def _share_loop(a: tuple[Block, ...], b: tuple[Block, ...], depth: int) -> bool:
    """Whether a loop runs through both places that lies at least ``depth`` arms deep."""
    for index, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return False
        if left.kind == "loop" and index >= depth:
            return True
    return False


def _reaching(bindings: list[Binding], view: _View) -> Iterator[Binding]:
    """Bindings of one name that may hold where ``view`` looks from, the nearest earlier ones first."""
    blocks = view.blocks
    here = bisect_left(bindings, view.order, key=lambda binding: binding.moment.order)
    replaced: set[tuple[Block, ...]] = set()
    sure = 0  # how many arms deep a binding surely ran before, anew in every round of a loop around it
    for index in range(here - 1, -1, -1):
        arms = bindings[index].moment.blocks
        if _exclusive(arms, blocks) or any(arms[:length] in replaced for length in range(len(arms) + 1)):
            continue
        yield bindings[index]
        if arms == blocks[: len(arms)]:
            sure = len(arms)
            break
        if all(block.kind == "if" for block in arms):
            replaced.add(arms)  # no break or exception leads past it from what is before it in the same arm
    if view.later or any(block.kind == "loop" for block in blocks[sure:]):
        for binding in bindings[here:]:
            arms = binding.moment.blocks
            if _share_loop(arms, blocks, sure) or (view.later and not _exclusive(arms, blocks)):
                yield binding


def _surely_bound(view: _View, binding: Binding) -> bool:
    """Whether no other scope can answer: a class body goes on to the names outside where its own is not bound."""
    arms = binding.moment.blocks
    return view.scope.kind != "class" or (binding.moment.order < view.order and arms == view.blocks[: len(arms)])
