"""Collects what gives names their meanings: one event at a time, in the order in which a module runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from gelu_lint.named import NamedTuple
from gelu_lint.tree.literals import dotted, last_name, text_of
from gelu_lint.tree.walk import Moment, Scope, Walk

if TYPE_CHECKING:
    from gelu_lint.tree.names import Names

#: Methods that change what their object holds, when called for that alone.
IN_PLACE = frozenset(
    f"{name}_"
    for name in (
        *("add", "sub", "mul", "div", "multiply", "divide", "pow", "neg", "square", "sqrt", "rsqrt", "reciprocal"),
        *("exp", "expm1", "tanh", "erf", "erfc", "sigmoid", "relu", "clamp", "clip", "abs", "copy", "zero", "fill"),
    )
)


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


def class_of(scope: Scope) -> Scope | None:
    """The innermost class scope at or around ``scope``."""
    at: Scope | None = scope
    while at is not None and at.kind != "class":
        at = at.parent
    return at


class Binder:
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
        if type(node) is cst.NamedExpr:
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
        owner = class_of(self.walk.scope) if target.value.value in ("self", "cls") else None
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
            owner = class_of(self.walk.scope)
            if owner is not None:
                held = self.names.attributes.setdefault((id(owner), literals[0]), [])
                held.append((node.args[1].value, self.walk.moment))
        if last_name(node.func) in ("setattr", "object", "patch") and literals:
            if literals[0]:
                self.names.patched.add(literals[0])
            elif literals[-1]:
                self.set_attributes.append((node.args[0].value, literals[-1], self.walk.moment))
