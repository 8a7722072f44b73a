"""Comparing a column of values with the flavours and their families: which function has these values?

An expression *is* a flavour when their values over GRID agree within 1e-5·max(1, |value|): so truncated constants
(0.0447, 0.7071) pass and typos do not. Only finite values count beyond |x| = 6, where formulas built from exp
overflow; up to there 5 points may be missing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from gelu_lint.numerics.evaluate import CORE, GRID, Step, columns
from gelu_lint.numerics.flavours import FLAVOURS, QUICK_SLOPE
from gelu_lint.numerics.ir import OPS


class Identity(NamedTuple):
    """What an expression computes.

    flavour    a name in FLAVOURS, or
               `sigmoid_k` x·σ(kx), k > 0; `gelu_t` x·Φ(x/τ), τ > 0; `clipped`, erf, tanh or quick with a clamp;
               `squared`; `gate`, one of these (relu and clipped aside) without its factor x; `near`; `unknown`
    error      max |expression - reference| and where: over GRID for a flavour (up to 1e-6 it is rounding and
    at         told as 0) or a clipped one, over [-6, 6] for the others, whose reference is `nearest` (erf if
               that is ""); inf for unknown
    parameter  k or τ, also of quick and of a gate or a near miss that has one; of `clipped` the (outermost) bound
    nearest    of `near` the flavour one edit away; of `sigmoid_k` quick, of `gelu_t` erf; of `clipped`, `squared`
               and `gate` the flavour that is clipped, squared or lacks x ("" for the gates of sigmoid_k and gelu_t);
               else ""
    why        what is off, in words: "0.44715 for 0.044715"
    right      the constant that would be right, if a constant is off,
    wrong      and the one that stands there
    """

    flavour: str
    error: float = 0.0
    at: float = 0.0
    parameter: float | None = None
    nearest: str = ""
    why: str = ""
    right: float | None = None
    wrong: float | None = None


UNKNOWN = Identity("unknown", math.inf)

TOLERANCE = 1e-5  # the least error of a near miss; below it a constant is merely truncated
ROUNDING = 1e-6
QUICK_BAND = 0.005  # |k - 1.702| below this is quick
MAX_MISSING = 5
MAX_PARAMETER = 20.0  # beyond, σ(k) and Φ(1/τ) are too near 1 to tell k and τ

Column = Sequence[float]

REFERENCES: dict[str, Column] = {name: tuple(map(flavour.value, GRID)) for name, flavour in FLAVOURS.items()}
NEAR_TARGETS = ("erf", "tanh", "quick")
ONE = GRID.index(1.0)
_ZERO = GRID.index(0.0)


def same(column: Column, reference: Column) -> bool:
    missing = 0
    for x, got, want in zip(GRID, column, reference, strict=True):
        if not math.isfinite(got):
            missing += abs(x) <= CORE
        elif abs(got - want) > TOLERANCE * max(1.0, abs(want)):
            return False
    return missing <= MAX_MISSING


def distance(column: Column, reference: Column, reach: float = CORE) -> tuple[float, float]:
    # The largest finite gap for |x| <= reach, and its x.
    gaps = [
        (abs(got - want), x)
        for x, got, want in zip(GRID, column, reference, strict=True)
        if abs(x) <= reach and math.isfinite(got)
    ]
    return max(gaps, default=(math.inf, 0.0), key=lambda gap: gap[0])


def _partly(column: Column, reference: Column) -> bool:
    # Equal for some positive x: a clamp, not a scale.
    gaps = [abs(got - want) for x, got, want in zip(GRID, column, reference, strict=True) if x > 0]
    return sum(gap <= TOLERANCE for gap in gaps) > 3


def exact(column: Column) -> str:
    return next((name for name, reference in REFERENCES.items() if same(column, reference)), "")


# Families: the parameter that one value implies, checked against all the others.


def _normal_quantile(p: float) -> float:
    low, high = -MAX_PARAMETER, MAX_PARAMETER
    for _ in range(60):
        middle = (low + high) / 2
        if OPS["ndtr"].function(middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def family(column: Column) -> tuple[str, float] | None:
    # sigmoid_k with its k, or gelu_t with its τ.
    gate = column[ONE]
    if not 0.5 < gate < 1.0:  # a parameter of 0 would be the line x/2, below 0 the mirrored gate
        return None
    slope = math.log(gate / (1.0 - gate))
    if slope < MAX_PARAMETER and same(column, [x * OPS["sigmoid"].function(slope * x) for x in GRID]):
        return "sigmoid_k", slope
    slope = _normal_quantile(gate)
    if slope > 0.01 and same(column, [x * OPS["ndtr"].function(slope * x) for x in GRID]):
        return "gelu_t", 1.0 / slope
    return None


def squared(column: Column) -> Identity | None:
    """The square of a GELU, as squared ReLU is that of ReLU."""
    for name in NEAR_TARGETS:
        square = [value * value for value in REFERENCES[name]]
        if same(column, square):
            return Identity("squared", *distance(column, REFERENCES[name]), nearest=name)
    return None


def gate(column: Column) -> Identity | None:
    product = [x * gate for x, gate in zip(GRID, column, strict=True)]
    if not abs(column[_ZERO] - 0.5) < TOLERANCE:
        return None
    name = exact(product)
    found = family(product)
    if not (name or found):
        return None
    if found and found[0] == "sigmoid_k" and abs(found[1] - QUICK_SLOPE) < QUICK_BAND:
        name = "quick"
    error, at = distance(column, REFERENCES[name or "erf"])
    parameter = None if name in ("erf", "tanh", "silu") or not found else found[1]
    return Identity("gate", error, at, parameter, name, "gate without x")


def clipped(program: Sequence[Step], column: Column) -> Identity | None:
    bounds = {}
    for i, (op, args, _) in enumerate(program):
        ends = [arg for arg in args if program[arg].op == "const"]
        if op in ("min", "max") and len(ends) == 1 and program[ends[0]].value:
            bounds[i] = program[ends[0]].value
    for ops in ("min", "max"), ("min",), ("max",):
        free = [
            step._replace(args=tuple(a for a in step.args if program[a].op != "const") * 2)  # min(a, a) is a
            if i in bounds and step.op in ops
            else step
            for i, step in enumerate(program)
        ]
        if (
            free != program
            and (name := exact(columns(free, GRID)[-1])) in NEAR_TARGETS
            and _partly(column, REFERENCES[name])
        ):
            error, at = distance(column, REFERENCES[name], math.inf)
            return Identity("clipped", error, at, bounds[max(i for i in bounds if program[i].op in ops)], name)
    return None
