"""Which function does a callable compute? It is run, and its values decide; what it does to a tensor names the slip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from gelu_lint.handwritten import label
from gelu_lint.numerics import match
from gelu_lint.numerics.evaluate import CORE, GRID, columns, evaluate, steps
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, apart, difference
from gelu_lint.numerics.identify import by_values, identify, member
from gelu_lint.numerics.ir import Expr
from gelu_lint.numerics.match import UNKNOWN, Identity
from gelu_lint.runtime.subject import NotElementwise, Subject
from gelu_lint.runtime.trace import Traced, trace

__all__ = ["NotElementwise", "recognise"]

_COARSE = 1e-6  # from this machine epsilon on (half precision), values alone do not tell erf from tanh
_STEPS_OFF = 4  # how many roundings a value in half precision may be off, of a formula with a handful of steps


def recognise(
    function: Callable[..., Any], *, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
) -> Identity:
    """Which flavour a callable computes, Tensor → Tensor element by element: a function or a module, scripted ones too.

    It is run without gradients on the points of `numerics.evaluate.GRID` (110 floats in [-12, 12], no unit) in
    ``dtype`` on ``device`` (that of a module's parameters, else the CPU). A module is run as a copy, without its hooks,
    whose parameters and buffers have ``dtype``, or as it is if it cannot be copied; what fails in float64 is run in
    float32. The module, its training flag, its buffers and the state of the random generators are left as they were.

    The identity is one of `numerics.match`, or has a name in `numerics.flavours.OTHERS` (elu, mish …) as its flavour,
    and then ``error`` and ``at`` say how far that is from the erf GELU. Learnable numbers count as they are. What is no
    flavour is named by its operations: near misses with what is off, what is clipped with its bound. For these and for
    the parametric families ``error`` is the maximum over all real x (inf: no bound) and ``at`` where. ``unknown`` has
    the flavour that is ``nearest`` (on average), and the largest distance from it over the points.

    Half precision inside the function does not matter where its operations can be followed; elsewhere the values
    must decide, and what they cannot tell apart (erf and tanh) is unknown, with the reason in ``why``.

    Raises NotElementwise (a ValueError) for what does not work element by element, gives another shape or no
    floating-point tensor, is random (its subclass NotDeterministic), or raises itself (chained); TypeError for what is
    not callable or a ``dtype`` that is not a floating-point one.
    """
    subject = Subject(function, dtype, device)
    points, column, epsilon = subject.values()
    found, kin = UNKNOWN, None
    if epsilon < _COARSE:
        found, kin = by_values(column)
        if found.flavour in FLAVOURS:
            return found
    traced = subject.apart(lambda run, x: trace(run, x))
    if traced is not None and traced.expr is not None and _agrees(traced, points, column):
        named = identify(traced.expr)
        if named is not UNKNOWN:
            return _measured(named, traced.expr)
    if found is not UNKNOWN:
        return found
    if kin is not None:
        return member(column, *kin)
    epsilon = max(epsilon, traced.epsilon if traced is not None else 0.0)
    return _coarse(points, column, epsilon) if epsilon >= _COARSE else _other(column)


def _agrees(traced: Traced, points: Sequence[float], column: Sequence[float]) -> bool:
    """Whether a formula has the values that were measured, as far as the precision on the way shows."""
    assert traced.expr is not None
    tolerance = max(match.TOLERANCE, 32 * traced.epsilon)
    pairs = zip(columns(steps(traced.expr), points)[-1], column, strict=True)
    return all(
        abs(want - got) <= tolerance * max(1.0, abs(want))
        for want, got in pairs
        if math.isfinite(want) and math.isfinite(got)
    )


@lru_cache(maxsize=256)
def _measured(identity: Identity, expr: Expr) -> Identity:
    """With the distance over all real x, rather than over GRID, of what has a flavour that it was meant to be."""
    if identity.flavour not in ("near", "clipped", "sigmoid_k", "gelu_t"):
        return identity
    gap = difference(lambda x: evaluate(expr, x), FLAVOURS[identity.nearest].value)
    return identity._replace(error=math.inf if gap.size is None else gap.size, at=gap.at)


def _other(column: Sequence[float]) -> Identity:
    """Another activation, else the flavour that is nearest."""
    for name, function in OTHERS.items():
        if match.same(column, [function(x) for x in GRID]):
            gap = apart(name, "erf")
            return Identity(name, math.inf if gap.size is None else gap.size, gap.at, nearest="erf")
    return _nearest(GRID, column)


def _nearest(points: Sequence[float], column: Sequence[float], why: str = "") -> Identity:
    if not all(math.isfinite(y) for x, y in zip(points, column, strict=True) if abs(x) <= CORE):
        return UNKNOWN._replace(why="not finite everywhere in [−6, 6]")
    name = min(FLAVOURS, key=lambda name: sum(gap for gap, _ in _gaps(points, column, name)))
    return Identity("unknown", *max(_gaps(points, column, name)), nearest=name, why=why)


def _gaps(points: Sequence[float], column: Sequence[float], name: str) -> list[tuple[float, float]]:
    value = FLAVOURS[name].value
    return [(abs(y - value(x)), x) for x, y in zip(points, column, strict=True) if math.isfinite(y)]


def _coarse(points: Sequence[float], column: Sequence[float], epsilon: float) -> Identity:
    """The one flavour that values in half precision leave."""
    left = []
    for name, flavour in FLAVOURS.items():
        wants = [flavour.value(x) for x in points]
        if all(
            abs(y - want) <= _STEPS_OFF * epsilon * max(1.0, abs(want))
            for y, want in zip(column, wants, strict=True)
            if math.isfinite(y)
        ):
            left.append(name)
    if len(left) > 1:
        return _nearest(points, column, f"half precision is too coarse to tell {' and '.join(map(label, left))} apart")
    nearest = _nearest(points, column)
    return nearest._replace(flavour=nearest.nearest, nearest="") if left == [nearest.nearest] else nearest
