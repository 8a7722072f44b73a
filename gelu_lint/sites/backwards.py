"""Recognises hand-written backward functions of GELUs, and compares them with the derivative of their forward."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gelu_lint.claims import BACKWARD, backward, claim, says_gelu, words
from gelu_lint.facts.table import callables
from gelu_lint.model import Formula, Site
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.evaluate import CORE, GRID, depends, evaluate, values
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.numerics.identify import settle
from gelu_lint.numerics.ir import Expr, const, too_big
from gelu_lint.numerics.near import GATES
from gelu_lint.sites.claimed import owner_of
from gelu_lint.sites.context import Around, Guards, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.sinks import GELU_FLAVOURS
from gelu_lint.tree.literals import literal
from gelu_lint.tree.lowering import Lowering
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import BaseExpression, Call, ClassDef, CSTNode, FunctionDef, Name, Return, Tuple
from gelu_lint.tree.terms import atoms, factors, operations, over, product
from gelu_lint.tree.walk import Moment, Walk

_TOLERANCE = 1e-4  # of a slope; truncated constants stay below it, and erf and tanh differ by 8.7e-4
_MOST = 100  # backward functions of one file that are compared
_STEEP = 0.05  # how near to 0 and 1 a slope must be at -8 and 8 to be a derivative at all, where no forward says so


class Slope(NamedTuple):
    """How far a backward is from a derivative: the largest gap on [-6, 6] and where it is."""

    flavour: str
    error: float
    at: float


class _Found(NamedTuple):
    node: CSTNode
    around: Around
    forward: str  # the flavour of the forward
    matches: str  # the flavour whose derivative it is
    gap: Slope
    slope: Expr


class Backwards:
    """A visitor that collects backward functions that are not the derivative of their forward."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._left = _MOST
        self._found: list[_Found] = []

    def visit_Return(self, node: Return) -> None:
        path = self._walk.path
        function = next((a for a in reversed(path) if isinstance(a, FunctionDef)), None)
        if function is None or node.value is None:
            return
        owner = owner_of(path)
        name = function.name.value
        outer = next((a for a in reversed(path[: path.index(function)]) if isinstance(a, FunctionDef)), None)
        if sum(word in BACKWARD for word in words(name)) > 1 or {"second", "double", "hessian"} & {*words(name)}:
            return
        if outer is not None and backward(name) and says_gelu(outer.name.value):
            self._compare(node, self._computes(outer), _claimed(outer.name.value))  # as tf.custom_gradient has it
            return
        paired = owner is not None and name == "backward"
        inside = owner is not None and says_gelu(owner.name.value)
        if not paired and not (backward(name) and (says_gelu(name) or inside)):
            return
        named = owner.name.value if owner is not None and (paired or not says_gelu(name)) else name
        forward = self._forward(owner) if owner is not None and named != name else self._twin(name)
        self._compare(node, forward, _claimed(named))

    def _compare(self, node: Return, forward: frozenset[str], claimed: frozenset[str]) -> None:
        """Hold what a backward gives against the flavour of its forward, or those that its name allows."""
        allowed = forward or claimed
        self._left -= 1
        if not allowed or node.value is None or self._left < 0:
            return
        function = next(a for a in reversed(self._walk.path) if isinstance(a, FunctionDef))
        for value in _gradients(node.value, "jvp" in words(function.name.value)):
            held = self._slope(value, self._walk.moment)
            if held is None:
                continue
            slope, whole = held
            if function.name.value == "backward" and len(function.params.params) > 1:
                whole = whole and self._takes(value, function.params.params[1].name.value)
            gaps = [gap(slope, flavour) for flavour in FLAVOURS]
            possible = [g for g in gaps if g.flavour in allowed]
            least = min(g.error for g in possible)
            best = next(g for g in possible if g.error <= 1.1 * least)
            matches = min(gaps, key=lambda g: g.error)
            fits = matches.flavour if matches.error < _TOLERANCE else ""
            off = best.error >= _TOLERANCE and (forward or fits or _derivative(slope))
            if off or not whole:
                around = self._guards.around(self._walk, value)
                self._found.append(_Found(value, around, best.flavour, fits, best, slope))
            return

    def _takes(self, value: BaseExpression, name: str) -> bool:
        """Whether a gradient depends on what came in."""
        for reading in self._lowering.readings(value, self._walk.moment, compound=True):
            return len(atoms(reading.expr)) > 1 or any(atom.startswith(f"atom:{name}@") for atom in atoms(reading.expr))
        return True

    def _forward(self, owner: ClassDef) -> frozenset[str]:
        """The flavour that the ``forward`` of a class computes, if it is a GELU."""
        bindings = self._names.scopes[id(owner)].bindings.get("forward", [])
        function = bindings[0].node if len(bindings) == 1 else None
        return self._computes(function)

    def _twin(self, name: str) -> frozenset[str]:
        """The flavour of the function that is called like this one without the word for backward."""
        wanted = [word for word in words(name) if word not in BACKWARD]
        for other, bindings in self._names.module_scope.bindings.items():
            plain = [word for word in words(other) if word not in ("forward", "fwd")]
            if plain == wanted and not backward(other) and len(bindings) == 1:
                return self._computes(bindings[0].node)
        return frozenset()

    def _computes(self, function: CSTNode | None) -> frozenset[str]:
        found = set()
        for given, moment in self._names.returns.get(id(function), []):
            value = _gradients(given)[0] if isinstance(given, Tuple) and _gradients(given) else given
            if isinstance(value, Call):
                found |= {_called(value, name) for name in self._names.resolve(value.func, moment)} - {""}
            for reading in self._lowering.readings(value, moment):
                for atom in sorted(atoms(reading.expr))[:4]:
                    own = product([part for part in factors(reading.expr) if atoms(part) <= {atom}])
                    flavour = settle(over(own, atom)).flavour if atoms(own) == {atom} else ""
                    if flavour in GELU_FLAVOURS:
                        found.add(flavour)
        return frozenset(found) if len(found) == 1 else frozenset()

    def _slope(self, node: BaseExpression, moment: Moment) -> tuple[Expr, bool] | None:
        """The derivative that a gradient holds once what it is multiplied by is 1, and whether all of it is."""
        for reading in self._lowering.readings(node, moment, compound=True):
            unknowns = sorted(atoms(reading.expr))
            if not 1 <= len(unknowns) <= 2 or too_big(reading.expr) or any(map(backward, reading.helpers)):
                continue  # what a backward that is called here gives is judged there
            for atom in unknowns:
                slope = over(reading.expr, atom, const(1.0))
                if not depends(slope) or not operations(slope) & GATES:
                    continue
                if len(unknowns) == 1 or _linear(reading.expr, atom):
                    return slope, True
                if min(gap(slope, flavour).error for flavour in FLAVOURS) < _TOLERANCE:
                    return slope, False  # right for an incoming gradient of 1 alone
        return None

    def expressions(self) -> Iterator[Expr]:
        """The derivatives that the backward functions of ``sites`` compute, over x, in their order."""
        return (found.slope for found in self._found)

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` needs the places of."""
        return (found.node for found in self._found)

    def sites(self, draft: Draft) -> Iterator[Site]:
        """The sites, in source order."""
        for found in self._found:
            around = found.around
            span = draft.span(found.node)
            yield Site(
                "formula", "backward", "", "", draft.text(found.node), "unknown", "fixed", None, span, span, (), None,
                "", "", "return", tested(around.path, found.node), around.symbol, around.guard,
                draft.statement(found.node), draft.quote, found.gap.error, None,
                formula=Formula(nearest=found.forward, why=found.matches, at=found.gap.at),
            )  # fmt: skip


def _called(call: Call, name: str) -> str:
    """The flavour of a call of a framework's GELU, "" where it is none or is decided elsewhere."""
    row = callables().get(name)
    if row is None:
        return ""
    for arg in call.args[1:]:
        known, value = literal(arg.value)
        if not isinstance(arg.keyword, Name) or arg.keyword.value != row.keyword or not known:
            return ""
        return row.flavour_of(value)
    return row.flavour


def _claimed(name: str) -> frozenset[str]:
    """The flavours whose derivative ``name`` says it is."""
    plain = "_".join(word for word in words(name) if word not in BACKWARD and word != "d")
    return claim(plain)


def _gradients(node: BaseExpression, tangent: bool = False) -> list[BaseExpression]:
    """What a backward gives for its inputs, None aside."""
    parts = [element.value for element in node.elements] if isinstance(node, Tuple) else [node]
    if tangent:
        parts = parts[1:]  # the value comes first
    return [part for part in parts if not (isinstance(part, Name) and part.value == "None")]


def _linear(expr: Expr, atom: str) -> bool:
    """Whether a formula of two unknowns is a multiple of the one that is not ``atom``."""
    once, twice, none = (values(over(expr, atom, const(factor))) for factor in (1.0, 2.0, 0.0))
    core = [i for i, x in enumerate(GRID) if abs(x) <= CORE]
    return all(abs(twice[i] - 2 * once[i]) <= 1e-9 * max(1.0, abs(once[i])) and abs(none[i]) <= 1e-12 for i in core)


def gap(slope: Expr, flavour: str) -> Slope:
    """How far ``slope`` is from the derivative of ``flavour`` on [-6, 6]."""
    pairs = [
        (abs(got - FLAVOURS[flavour].slope(x)), x)
        for x, got in zip(GRID, values(slope), strict=True)
        if abs(x) <= CORE and x
    ]
    size, at = max(pairs)
    far = [abs(evaluate(slope, x) - FLAVOURS[flavour].slope(x)) for x in (-40.0, 40.0)]
    if max(far) > 2 * size:
        at = math.copysign(math.inf, -1 if far[0] > far[1] else 1)  # it grows
    return Slope(flavour, size if size == size else float("inf"), at)


def _derivative(slope: Expr) -> bool:
    """Whether a function looks like the derivative of an activation: 0 far to the left, 1 far to the right."""
    column = values(slope)
    left = [value for x, value in zip(GRID, column, strict=True) if x < -7.5]
    right = [value for x, value in zip(GRID, column, strict=True) if x > 7.5]
    return all(abs(v) < _STEEP for v in left) and all(abs(v - 1) < _STEEP for v in right)
