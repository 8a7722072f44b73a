"""Which function is this? Values decide, never spelling; near misses are found by trying single edits."""

import math
from functools import lru_cache

from gelu_lint.numerics.evaluate import depends, steps, values
from gelu_lint.numerics.flavours import QUICK_SLOPE
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import (
    QUICK_BAND,
    REFERENCES,
    ROUNDING,
    UNKNOWN,
    Column,
    Identity,
    clipped,
    distance,
    exact,
    family,
    gate,
    squared,
)
from gelu_lint.numerics.near import near, written


def by_values(column: Column) -> tuple[Identity, tuple[str, float] | None]:
    """What the values over GRID alone say: the identity of a flavour, a gate or a square, else the family and its
    parameter, if they belong to one."""
    name = exact(column)
    if name:
        error, at = distance(column, REFERENCES[name], math.inf)
        slope = QUICK_SLOPE if name == "quick" else None
        return Identity(name, error, at, slope) if error > ROUNDING else Identity(name, parameter=slope), None
    found = family(column)
    if found and found[0] == "sigmoid_k" and abs(found[1] - QUICK_SLOPE) < QUICK_BAND:
        return Identity("quick", *distance(column, REFERENCES["quick"], math.inf), found[1]), None
    if found:
        return UNKNOWN, found
    return gate(column) or squared(column) or UNKNOWN, None


@lru_cache(maxsize=1024)
def _settled(expr: Expr) -> tuple[Identity, tuple[str, float] | None]:
    """The identity of what is a flavour, a gate or clipped, and the family that an expression belongs to."""
    column = values(expr)
    found, kin = by_values(column)
    if found is UNKNOWN and not kin:
        found = clipped(steps(expr), column) or UNKNOWN
    return found, kin


def member(column: Column, kind: str, parameter: float) -> Identity:
    """The identity of a member of a parametric family, from its values over GRID."""
    if kind == "gelu_t":
        return Identity(kind, *distance(column, REFERENCES["erf"]), parameter, "erf")
    why = f"{written(round(parameter, 6))} for 1.702"
    return Identity(kind, *distance(column, REFERENCES["quick"]), parameter, "quick", why, QUICK_SLOPE, parameter)


@lru_cache(maxsize=1024)
def _identify(expr: Expr) -> Identity:
    found, kin = _settled(expr)
    if found is UNKNOWN:
        found = near(steps(expr), values(expr), kin) or (member(values(expr), *kin) if kin else UNKNOWN)
    return found


def settle(expr: Expr) -> Identity:
    """What an expression computes, near misses left aside. Remembered; a new one takes up to 0.5 ms."""
    if too_big(expr) or not depends(expr):
        return UNKNOWN
    found, kin = _settled(expr)
    return member(values(expr), *kin) if kin else found


def identify(expr: Expr) -> Identity:
    """What an expression computes, or which flavour it nearly is. Remembered; a new one takes some 3 ms, at most 20."""
    if too_big(expr) or not depends(expr):
        return UNKNOWN
    return _identify(expr)
