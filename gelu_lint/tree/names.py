"""What a name stands for: imports, aliases, shadowing, and the order in which bindings happen.

LibCST's ScopeProvider and QualifiedNameProvider cost eight times the parse and know no order; this table answers one
question, which public name an expression refers to, and says "unknown" wherever two answers are possible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import libcst as cst

from gelu_lint.tree.walk import Block, Moment, Scope, Walk

UNKNOWN: frozenset[str] = frozenset()

#: Calls that hand over a module or attribute whose name is a literal.
_IMPORTERS = ("import_module", "importorskip", "__import__")
_DEPTH = 20

_SINGLETONS = {"True": True, "False": False, "None": None}


class Binding(NamedTuple):
    """One event that gives a name a meaning.

    kind    import (``target`` is the full name), value (``node`` is an expression), class (``node`` is a ClassDef),
            none (the literal None), opaque (parameter, loop variable, function, …)
    """

    kind: str
    moment: Moment
    target: str = ""
    node: cst.CSTNode | None = None


class Names:
    """The name table of one module. ``patched`` are full names that the file assigns to (``F.gelu = mine``)."""

    def __init__(self, module: cst.Module) -> None:
        self.scopes: dict[int, Scope] = {}
        self.module_scope: Scope
        self.taken: set[str] = set()
        self.patched: set[str] = set()
        self._meanings: dict[int, frozenset[str]] = {}
        walk = Walk(module, self.scopes)
        self.module_scope = walk.scope
        binder = _Binder(walk, self)
        walk.run((binder,))
        for node, moment in binder.assigned_attributes:
            self.patched.update(self.resolve(node, moment))
        for node, attribute, moment in binder.set_attributes:
            self.patched.update(f"{base}.{attribute}" for base in self.resolve(node, moment))

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
        if not isinstance(node, cst.Name) or depth > _DEPTH:
            return None
        found, order, blocks = self._find(node.value, moment)
        if found is None:
            return None
        reaching = _reaching(found.bindings[node.value], order, blocks)
        if len(reaching) != 1 or reaching[0].kind not in ("value", "none"):
            return None
        value = reaching[0].node
        return self.constant(value, reaching[0].moment, depth + 1) if isinstance(value, cst.Name) else value

    def at_hand(self) -> dict[str, str]:
        """Names that the top level surely imports, and that nothing else in the file binds: name → target."""
        found = {}
        for name, bindings in self.module_scope.bindings.items():
            targets = {binding.target for binding in bindings}
            sure = any(not binding.moment.blocks for binding in bindings)
            if sure and len(targets) == 1 and name not in self.taken:
                found[name] = bindings[0].target
        return found

    def bound(self) -> set[str]:
        """Every name that anything in the file binds."""
        return {name for scope in self.scopes.values() for name in scope.bindings}

    def _find(self, name: str, moment: Moment) -> tuple[Scope | None, int | None, tuple[Block, ...]]:
        """The scope that binds ``name`` as seen from ``moment``, with the order and arms that count there."""
        scope: Scope | None = moment.scope
        order: int | None = moment.order
        blocks = moment.blocks
        if scope is not None and scope.outer.get(name) == "global":
            scope, order = self.module_scope, None
        first = True
        while scope is not None:
            if name in scope.bindings and (first or scope.kind != "class"):
                return scope, order, blocks
            # A class body or comprehension runs where it stands; a function runs later, when all is bound.
            order = scope.entry_order if scope.kind in ("class", "comprehension") and order is not None else None
            blocks = scope.entry
            scope, first = scope.parent, False
        return None, None, ()

    def _lookup(self, name: str, moment: Moment, depth: int) -> frozenset[str]:
        found, order, blocks = self._find(name, moment)
        if found is None:
            stars = self.module_scope.stars
            return frozenset({f"{stars[0]}.{name}"}) if len(stars) == 1 else UNKNOWN
        answers: frozenset[str] = frozenset()
        reaching = _reaching(found.bindings[name], order, blocks)
        for binding in reaching:
            if binding.kind == "none" and len(reaching) > 1:
                continue
            answer = self._meaning(binding, depth)
            if not answer:
                return UNKNOWN
            answers |= answer
        return answers

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
        if len(node.bases) != 1 or node.keywords or behaviour(node):
            return UNKNOWN
        return self.resolve(node.bases[0].value, moment, depth)

    def _call(self, node: cst.Call, moment: Moment, depth: int) -> frozenset[str]:
        name = last_name(node.func)
        literals = [text_of(arg.value) for arg in node.args]
        if name in _IMPORTERS and literals and literals[0]:
            return frozenset({literals[0]})
        if name == "getattr" and len(node.args) == 2 and literals[1]:
            return frozenset(f"{base}.{literals[1]}" for base in self.resolve(node.args[0].value, moment, depth))
        return UNKNOWN


def behaviour(node: cst.ClassDef) -> set[str]:
    """The methods of a class that decide what its instances compute, as far as the class defines them itself."""
    names = {n.name.value for n in node.body.body if isinstance(n, cst.FunctionDef)}
    return names & {"forward", "__call__", "__init__", "__new__", "call"}


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


def _dotted(node: cst.CSTNode | None) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(node.value)
    return ".".join(reversed(parts))


def _exclusive(a: tuple[Block, ...], b: tuple[Block, ...]) -> bool:
    """Whether two places lie in different arms of one "if" and no loop runs through both."""
    for left, right in zip(a, b, strict=False):
        if left != right:
            return left.node == right.node and left.kind == "if"
        if left.kind == "loop":
            return False
    return False


def _share_loop(a: tuple[Block, ...], b: tuple[Block, ...]) -> bool:
    for left, right in zip(a, b, strict=False):
        if left != right:
            return False
        if left.kind == "loop":
            return True
    return False


def _reaching(bindings: list[Binding], order: int | None, blocks: tuple[Block, ...]) -> list[Binding]:
    """Bindings that may hold at ``order`` under ``blocks``; at the end of the scope where ``order`` is None."""
    alive: list[Binding] = []
    for binding in bindings:
        at, arms = binding.moment.order, binding.moment.blocks
        if order is not None:
            if at >= order and not _share_loop(arms, blocks):
                continue
            if at < order and _exclusive(arms, blocks):
                continue
        here = blocks if order is not None else ()
        if order is None or at < order:
            # What surely runs between an earlier binding and the use replaces it.
            alive = [
                old
                for old in alive
                if not (arms == here[: len(arms)] or arms == old.moment.blocks[: len(arms)])
            ]
        alive.append(binding)
    return alive


class _Binder:
    """Collects the bindings of every scope."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self.walk, self.names = walk, names
        self.assigned_attributes: list[tuple[cst.CSTNode, Moment]] = []
        self.set_attributes: list[tuple[cst.CSTNode, str, Moment]] = []

    def _bind(self, name: str, kind: str, target: str = "", node: cst.CSTNode | None = None) -> None:
        scope = self.walk.scope
        moment = self.walk.moment
        outer = scope.outer.get(name)
        if outer is not None:
            # A global or nonlocal name is bound from elsewhere at an unknown time: nothing is sure about it.
            kind, scope = "opaque", self.names.module_scope if outer == "global" else (scope.parent or scope)
            moment = Moment(scope, moment.order, (Block(0, "body", "loop"),))
        elif isinstance(node, cst.NamedExpr):
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
        if scope is not self.names.module_scope or kind != "import":
            self.names.taken.add(name)
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

    def leave_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None or self.walk.scope.kind == "function":
            self._bind_target(node.target, node.value)

    def leave_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind_target(node.target, None)

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
        self._bind(node.name.value, "opaque")

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
            full = _dotted(alias.name)
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self._bind(alias.asname.name.value, "import", full)
            else:
                top = full.split(".")[0]
                self._bind(top, "import", top)

    visit_LazyImport = visit_Import

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = "." * len(node.relative) + _dotted(node.module)
        if isinstance(node.names, cst.ImportStar):
            self.walk.scope.stars.append(module)
            return
        for alias in node.names:
            name = _dotted(alias.name)
            local = name
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                local = alias.asname.name.value
            full = module + name if module.endswith(".") else f"{module}.{name}"
            self._bind(local, "import", full)

    visit_LazyImportFrom = visit_ImportFrom

    def visit_Call(self, node: cst.Call) -> None:
        if last_name(node.func) == "setattr" and len(node.args) >= 3 and text_of(node.args[1].value):
            self.set_attributes.append((node.args[0].value, text_of(node.args[1].value), self.walk.moment))
