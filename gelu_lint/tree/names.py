"""What a name stands for: imports, aliases, shadowing, and the order in which bindings happen.

LibCST's ScopeProvider and QualifiedNameProvider cost eight times the parse and know no order; this table answers one
question, which public name an expression refers to, and says "unknown" wherever two answers are possible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import libcst as cst

from gelu_lint.tree.walk import Block, Moment, Scope, Walk

UNKNOWN: frozenset[str] = frozenset()

#: Calls that hand over the module whose name is their first argument.
_IMPORTERS = frozenset(("importlib.import_module", "pytest.importorskip"))
_BEHAVIOUR = frozenset(("forward", "__call__", "__init__", "__new__", "call"))
_DEPTH = 20  # aliases of aliases that are followed
_MANY = 100  # bindings of one name that are compared

#: Methods that change what their object holds, when called for that alone.
IN_PLACE = frozenset(
    f"{name}_"
    for name in (
        *("add", "sub", "mul", "div", "multiply", "divide", "pow", "neg", "square", "sqrt", "rsqrt", "reciprocal"),
        *("exp", "expm1", "tanh", "erf", "erfc", "sigmoid", "relu", "clamp", "clip", "abs", "copy", "zero", "fill"),
    )
)

_SINGLETONS = {"True": True, "False": False, "None": None}


class Binding(NamedTuple):
    """One event that gives a name a meaning.

    kind    import (``target`` is the full name), value (``node`` is an expression), class (``node`` is a ClassDef),
            none (the literal None), parameter (``node`` is its Param), step (``node`` is an AugAssign or a call such as
            ``y.mul_(2)``, which change what the name holds), opaque (loop variable, function, del, …)
    """

    kind: str
    moment: Moment
    target: str = ""
    node: cst.CSTNode | None = None


Bound = tuple[cst.BaseExpression, "Moment"]


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
        binder = _Binder(walk, self)
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
        self.patched.update(owner for owner, _, last in (n.rpartition(".") for n in names) if last in _BEHAVIOUR)

    def is_patched(self, names: frozenset[str]) -> bool:
        """Whether the file assigns to any of ``names``, or to what holds it."""
        return any(name == patch or name.startswith(patch + ".") for name in names for patch in self.patched if patch)

    def resolve(self, node: cst.CSTNode, moment: Moment, depth: int = 0) -> frozenset[str]:
        """The full public names that ``node`` may refer to at ``moment``; empty where it is not known for sure."""
        attributes: list[str] = []
        while isinstance(node, cst.Attribute):
            attributes.append(node.attr.value)
            node = node.value
        if depth > _DEPTH:
            return UNKNOWN
        if isinstance(node, cst.Name):
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
        if isinstance(binding.node, cst.Name) and binding.node.value not in _SINGLETONS:
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
        owner = _class_of(moment.scope) if base.value in ("self", "cls") else None
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
        owner = _class_of(moment.scope)
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


def text_of(node: cst.CSTNode | None) -> str:
    """The value of a plain string literal, "" for anything else."""
    if isinstance(node, cst.SimpleString) and node.prefix.lower() in ("", "u", "r"):
        value = node.evaluated_value
        return value if isinstance(value, str) else ""
    return ""


def literal(node: cst.CSTNode) -> tuple[bool, str | int | float | bool | None]:
    """Whether ``node`` is a literal string (not bytes), number, True, False or None, and its value."""
    if isinstance(node, cst.Name) and node.value in _SINGLETONS:
        return True, _SINGLETONS[node.value]
    try:
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            text = node.evaluated_value
            return isinstance(text, str), text if isinstance(text, str) else None
        if isinstance(node, (cst.Integer, cst.Float)):
            return True, node.evaluated_value
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.Plus)):
            known, value = literal(node.expression)
            if known and isinstance(value, (int, float)) and not isinstance(value, bool):
                return True, -value if isinstance(node.operator, cst.Minus) else value
    except (ValueError, SyntaxError, MemoryError, OverflowError):
        pass  # more digits than Python converts, or a string that only LibCST accepts
    return False, None


def last_name(node: cst.CSTNode) -> str:
    """The last part of a dotted name: ``gelu`` of ``F.gelu``; "" for any other expression."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def dotted(node: cst.CSTNode | None) -> str:
    """The full text of a dotted name, "" for any other expression."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(node.value)
    return ".".join(reversed(parts))


def _early_imports(module: cst.Module) -> set[int]:
    """Top-level imports before the first statement that is, or holds, a function, a class or a GELU."""
    found: set[int] = set()
    for statement in module.body:
        waiting: list[cst.CSTNode] = [statement]
        while waiting:
            item = waiting.pop()
            if isinstance(item, (cst.Import, cst.ImportFrom)):
                found.add(id(item))
            elif isinstance(item, (cst.FunctionDef, cst.ClassDef)) or "gelu" in last_name(item).lower():
                return found
            else:
                waiting.extend(reversed(item.children))
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


def _class_of(scope: Scope) -> Scope | None:
    """The innermost class scope at or around ``scope``."""
    at: Scope | None = scope
    while at is not None and at.kind != "class":
        at = at.parent
    return at


class _Binder:
    """Collects the bindings of every scope."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self.walk, self.names = walk, names
        self.assigned_attributes: list[tuple[cst.CSTNode, Moment]] = []
        self.set_attributes: list[tuple[cst.CSTNode, str, Moment]] = []
        self._nonlocal: list[tuple[str, Scope]] = []

    def finish(self) -> None:
        """Tell the scopes that own them of the nonlocal names that are bound from inside."""
        for name, inner in self._nonlocal:
            scope = inner.parent
            while scope is not None and not (scope.kind == "function" and name in scope.bindings):
                scope = scope.parent
            if scope is not None:
                scope.remote.add(name)

    def _bind(self, name: str, kind: str, target: str = "", node: cst.CSTNode | None = None) -> None:
        scope = self.walk.scope
        moment = self.walk.moment
        outer = scope.outer.get(name)
        if isinstance(node, cst.NamedExpr):
            while scope.kind in ("comprehension", "generator") and scope.parent is not None:
                moment = moment._replace(blocks=scope.entry)
                scope = scope.parent
            outer = scope.outer.get(name)
        # A global or nonlocal name is bound from elsewhere at an unknown time: nothing is sure about it.
        if outer == "global":
            scope = self.names.module_scope
            scope.remote.add(name)
        elif outer == "nonlocal":
            self._nonlocal.append((name, scope))
            return
        scope.bindings.setdefault(name, []).append(Binding(kind, moment, target, node))

    def _bind_target(self, target: cst.CSTNode, value: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            if isinstance(value, cst.Name) and value.value == "None":
                self._bind(target.value, "none", node=value)
            else:
                self._bind(target.value, "value" if value is not None else "opaque", node=value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            values: list[cst.CSTNode | None] = [None] * len(target.elements)
            if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements):
                stars = any(isinstance(e, cst.StarredElement) for e in (*value.elements, *target.elements))
                if not stars:
                    values = [element.value for element in value.elements]
            for element, part in zip(target.elements, values, strict=True):
                self._bind_target(element.value, part)
        elif isinstance(target, cst.Attribute):
            self.assigned_attributes.append((target, self.walk.moment))

    def leave_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            self._bind_target(target.target, node.value)
            self._own_attribute(target.target, node.value)
            parts = (target.target, node.value)
            if all(isinstance(part, (cst.Tuple, cst.List)) for part in parts):
                elements = [part.elements for part in parts]  # type: ignore[attr-defined]
                if len(elements[0]) == len(elements[1]):
                    for one, value in zip(*elements, strict=True):
                        self._own_attribute(one.value, value.value)

    def _own_attribute(self, target: cst.CSTNode, value: cst.BaseExpression) -> None:
        if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
            return
        owner = _class_of(self.walk.scope) if target.value.value in ("self", "cls") else None
        key = id(owner) if owner is not None else target.value.value
        self.names.attributes.setdefault((key, target.attr.value), []).append((value, self.walk.moment))

    def leave_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None or self.walk.scope.kind == "function":
            self._bind_target(node.target, node.value)

    def leave_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.target, cst.Name):
            self._bind(node.target.value, "step", node=node)
        else:
            self._bind_target(node.target, None)
            self._own_attribute(node.target, cst.Name("_"))  # more than one value

    def leave_Expr(self, node: cst.Expr) -> None:
        call, name = node.value, node.value
        while isinstance(name, cst.Call) and isinstance(name.func, cst.Attribute) and name.func.attr.value in IN_PLACE:
            name = name.func.value
        if isinstance(name, cst.Name) and name is not call and self.walk.scope.kind == "function":
            bindings = self.walk.scope.bindings.get(name.value, ())
            if bindings and all(binding.kind != "import" for binding in bindings):
                self._bind(name.value, "step", node=call)

    def leave_Return(self, node: cst.Return) -> None:
        inner = next((a for a in reversed(self.walk.path) if isinstance(a, cst.FunctionDef)), None)
        if inner is not None and node.value is not None:
            self.names.returns.setdefault(id(inner), []).append((node.value, self.walk.moment))

    def leave_NamedExpr(self, node: cst.NamedExpr) -> None:
        if isinstance(node.target, cst.Name):
            self._bind(node.target.value, "opaque", node=node)

    def target_For(self, node: cst.For) -> None:
        self._bind_target(node.target, None)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._bind_target(node.target, None)

    def leave_WithItem(self, node: cst.WithItem) -> None:
        if node.asname is not None:
            self._bind_target(node.asname.name, None)

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        if node.name is not None:
            self._bind_target(node.name.name, None)

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        if node.name is not None:
            self._bind_target(node.name.name, None)

    def visit_Param(self, node: cst.Param) -> None:
        self._bind(node.name.value, "parameter", node=node)

    def leave_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._bind(node.name.value, "opaque", node=node)

    def leave_ClassDef(self, node: cst.ClassDef) -> None:
        self._bind(node.name.value, "class", node=node)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        if node.name is not None:
            self._bind(node.name.value, "opaque")

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self._bind(node.name.value, "opaque")

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        if node.rest is not None:
            self._bind(node.rest.value, "opaque")

    def visit_TypeAlias(self, node: Any) -> None:
        self._bind(node.name.value, "opaque")

    def visit_Global(self, node: cst.Global) -> None:
        for item in node.names:
            self.walk.scope.outer[item.name.value] = "global"

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        for item in node.names:
            self.walk.scope.outer[item.name.value] = "nonlocal"

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            full = dotted(alias.name)
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self._bind(alias.asname.name.value, "import", full, node)
            else:
                top = full.split(".")[0]
                self._bind(top, "import", top, node)

    visit_LazyImport = visit_Import

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = "." * len(node.relative) + dotted(node.module)
        if isinstance(node.names, cst.ImportStar):
            self.walk.scope.stars.append(module)
            return
        for alias in node.names:
            name = dotted(alias.name)
            local = name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                local = alias.asname.name.value
            full = module + name if module.endswith(".") else f"{module}.{name}"
            self._bind(local, "import", full, node)

    visit_LazyImportFrom = visit_ImportFrom

    def visit_Del(self, node: cst.Del) -> None:
        waiting: list[cst.CSTNode] = [node.target]
        while waiting:
            item = waiting.pop()
            if isinstance(item, (cst.Tuple, cst.List)):
                waiting += [element.value for element in item.elements]
            else:
                self._bind_target(item, None)

    def visit_Call(self, node: cst.Call) -> None:
        # setattr, monkeypatch.setattr and mock.patch.object name an object and an attribute, or one dotted string.
        literals = [text_of(arg.value) for arg in node.args[:2]]
        if last_name(node.func) == "register_buffer" and len(node.args) > 1 and literals[0]:
            owner = _class_of(self.walk.scope)
            if owner is not None:
                held = self.names.attributes.setdefault((id(owner), literals[0]), [])
                held.append((node.args[1].value, self.walk.moment))
        if last_name(node.func) in ("setattr", "object", "patch") and literals:
            if literals[0]:
                self.names.patched.add(literals[0])
            elif literals[-1]:
                self.set_attributes.append((node.args[0].value, literals[-1], self.walk.moment))
