"""The functions that go by the name GELU, exact in pure Python, and the distance between any two functions.

Every value and slope here is total: any float goes in, nothing is raised, nan gives nan, and ±inf give the
limits (value 0 at -inf, +inf at +inf; slope 0 and 1). The gates are written with `erfc` and `exp` of
non-positive numbers, so they neither cancel in the negative tail nor overflow. Relative error of a value is
below 1e-12 wherever its gate is a normal float (for erf down to x = -37.5), that of a slope below 1e-11
there, away from its zero. x and the results have no unit.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

Function = Callable[[float], float]

SQRT_HALF = 0.7071067811865476  # 1/√2
INV_SQRT_2PI = 0.3989422804014327  # φ(0)
SQRT_2_OVER_PI = 0.7978845608028654  # 2φ(0): makes the tanh gate's slope at 0 that of Φ
TANH_CUBIC = 0.044715  # the cubic coefficient that fits Φ best
QUICK_SLOPE = 1.702  # σ(1.702x) is the best such fit of Φ (optimum 1.7017, error 0.0095)


def _sigmoid(z: float) -> float:
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


def _gated(x: float, gate: float) -> float:
    # A gate of 0 means a product below the smallest float, or x = -inf, where the bare product would be nan.
    return x * gate if gate else -0.0


def _gated_slope(x: float, gate: float, gate_slope: float) -> float:
    # gate + x·gate'; where gate' has underflowed x may be infinite, and the term is 0.
    return gate + x * gate_slope if gate_slope else gate


def _logistic_slope(x: float, z: float, dz: float) -> float:
    # Slope of x·σ(z(x)). σ(-z) instead of 1 - σ(z), which cancels; dz last, it may be inf where σ' is 0.
    gate = _sigmoid(z)
    bell = gate * _sigmoid(-z)
    return _gated_slope(x, gate, bell * dz if bell else 0.0)


def erf(x: float) -> float:
    """x·Φ(x), Φ the standard normal distribution function. Source: arXiv:1606.08415."""
    return _gated(x, 0.5 * math.erfc(-x * SQRT_HALF))


def erf_slope(x: float) -> float:
    """Φ(x) + x·φ(x). Negative for every x < -0.7518, least (-0.1289) at -√2."""
    return _gated_slope(x, 0.5 * math.erfc(-x * SQRT_HALF), INV_SQRT_2PI * math.exp(-0.5 * x * x))


def _tanh_argument(x: float) -> float:
    return 2.0 * SQRT_2_OVER_PI * (x + TANH_CUBIC * x * x * x)


def tanh(x: float) -> float:
    """0.5x(1 + tanh u), u = √(2/π)(x + 0.044715x³), computed as x·σ(2u). Source: arXiv:1606.08415."""
    return _gated(x, _sigmoid(_tanh_argument(x)))


def tanh_slope(x: float) -> float:
    """σ(2u) + x·σ(2u)·σ(-2u)·2u', u as in `tanh`."""
    return _logistic_slope(x, _tanh_argument(x), 2.0 * SQRT_2_OVER_PI * (1.0 + 3.0 * TANH_CUBIC * x * x))


def quick(x: float) -> float:
    """x·σ(1.702x). Source: arXiv:1606.08415; the QuickGELU of OpenAI CLIP."""
    return _gated(x, _sigmoid(QUICK_SLOPE * x))


def quick_slope(x: float) -> float:
    """σ(z) + z·σ(z)·σ(-z), z = 1.702x."""
    return _logistic_slope(x, QUICK_SLOPE * x, QUICK_SLOPE)


def silu(x: float) -> float:
    """x·σ(x), also called swish. Source: arXiv:1606.08415, arXiv:1702.03118."""
    return _gated(x, _sigmoid(x))


def silu_slope(x: float) -> float:
    """σ(x) + x·σ(x)·σ(-x)."""
    return _logistic_slope(x, x, 1.0)


def relu(x: float) -> float:
    """max(x, 0). Source: Nair & Hinton 2010."""
    return 0.0 if x <= 0 else x  # nan is not <= 0


def relu_slope(x: float) -> float:
    """0 for x <= 0 (at 0 by convention, torch's too), 1 for x > 0."""
    return 0.0 if x <= 0 else 1.0 if x > 0 else x


class Flavour(NamedTuple):
    """A function that a site may compute: its name, how people write it, value, derivative, source."""

    name: str
    formula: str
    value: Function
    slope: Function
    source: str


_PAPER = "Hendrycks & Gimpel 2016, arXiv:1606.08415"

FLAVOURS: dict[str, Flavour] = {
    flavour.name: flavour
    for flavour in (
        Flavour("erf", "x·Φ(x)", erf, erf_slope, _PAPER),
        Flavour("tanh", "0.5x(1+tanh(√(2/π)(x+0.044715x³)))", tanh, tanh_slope, _PAPER),
        Flavour("quick", "x·σ(1.702x)", quick, quick_slope, f"{_PAPER}; OpenAI CLIP"),
        Flavour("silu", "x·σ(x)", silu, silu_slope, "Elfwing, Uchibe & Doya 2017, arXiv:1702.03118"),
        Flavour("relu", "max(x, 0)", relu, relu_slope, "Nair & Hinton 2010"),
    )
}


def _tanh_of_softplus(x: float) -> float:
    return math.tanh(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


#: The flavours that go by the name GELU alone.
GELUS = ("erf", "tanh", "quick")

#: Other activations, with the frameworks' default parameters: what is found under the name of GELU.
OTHERS: dict[str, Function] = {
    "silu": silu,
    "relu": relu,
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "selu": lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    "mish": lambda x: x * _tanh_of_softplus(x),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "sigmoid": _sigmoid,
    "plain_tanh": math.tanh,
    "softplus": lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
}


class Difference(NamedTuple):
    """How far two functions are apart: max |new - old| over all real x (None: no bound), and where."""

    size: float | None
    at: float


# Fine where activations bend; then powers of √2 up to 1e9, where growth is plain and cubes are still finite.
_CORE = 10.0
_POSITIVE = [
    *(i / 32 for i in range(1, 128)),
    *(4 + i / 8 for i in range(49)),
    *(_CORE * 2 ** (i / 2) for i in range(1, 54)),
]
#: The points that stand for the real line in ``difference``.
LINE = (*(-x for x in reversed(_POSITIVE)), 0.0, *_POSITIVE)
_ROUNDING = 64 * 2.0**-52  # relative; a few operations' worth
_AT_INFINITY = 1e4  # a maximum out here is a limit being approached
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 44  # golden-section steps: shrinks a grid interval of the core to 1e-10
_PEAKS = 4  # how many local maxima of the grid are worth refining


def _gap(old: Function, new: Function, x: float) -> float:
    # |new - old| less what rounding may have made of it: never too big. nan where either cannot be computed.
    try:
        a, b = old(x), new(x)
    except (ArithmeticError, ValueError):
        return math.nan
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.nan
    return max(0.0, abs(b - a) - _ROUNDING * max(abs(a), abs(b)))


def _grows(tail: list[tuple[float, float]]) -> bool:
    # Do the gaps of one side, given as (|x|, gap) for |x| >= 4, still rise in the last quarter (of log x)?
    border = 4 * (max(x for x, _ in tail) / 4) ** 0.75
    inner = max(gap for x, gap in tail if x <= border)
    return max(gap for x, gap in tail if x >= border) > 1.25 * inner


def _peak(gap: Function, left: float, best: tuple[float, float], right: float) -> tuple[float, float]:
    # Golden-section search for a maximum in [left, right]: the best (x, gap) seen, `best` to begin with.
    x1, x2 = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    g1, g2 = gap(x1), gap(x2)
    for _ in range(_STEPS):
        best = max(best, (x1, g1), (x2, g2), key=lambda point: point[1])
        if g1 >= g2:
            right, x2, g2 = x2, x1, g1
            x1 = right - _GOLDEN * (right - left)
            g1 = gap(x1)
        else:
            left, x1, g1 = x1, x2, g2
            x2 = left + _GOLDEN * (right - left)
            g2 = gap(x2)
    return best


def difference(old: Function, new: Function) -> Difference:
    """max over all real x of |new(x) - old(x)| in exact arithmetic, for two functions float → float.

    A grid on [-10, 10] (steps of 1/32, from |x| = 4 on 1/8) and powers of √2 up to 1e9 on both sides stand
    for the line and the limits at ±∞; the grid's four highest local maxima are refined by golden section.
    The size is thus a lower bound, exact to about 1e-9 for functions without features narrower than the grid.

    - Rounding is not a difference: 1.4e-14 of the larger value is taken off each gap. Size 0 therefore means
      equal as far as float64 shows, not bit-identical.
    - `at` is ±inf where the maximum is a limit (found beyond |x| = 1e4); of equal maxima, as of an even
      difference, the one nearest to 0 counts, the negative one first.
    - Size None, `at` ±inf: no bound, the gap still grows there (by a quarter or more beyond 8e6; what grows
      slower than a logarithm passes as bounded, what levels off only out there does not).
    - Size None, `at` finite: either function raises ArithmeticError (OverflowError, ZeroDivisionError) or
      ValueError or is not finite at this grid point in [-10, 10]. Beyond 10 such points are left out: there
      floats end, not the functions.

    Other exceptions pass through. Symmetric in its arguments.
    """

    def gap(x: float) -> float:
        return _gap(old, new, x)

    points = [(x, gap(x)) for x in LINE]
    for x, size in points:
        if abs(x) <= _CORE and math.isnan(size):
            return Difference(None, x)
    points = [point for point in points if not math.isnan(point[1])]
    for sign in (-1.0, 1.0):
        if _grows([(abs(x), size) for x, size in points if sign * x >= 4]):
            return Difference(None, sign * math.inf)

    # A point between grid points may give nan, which `max` in _peak passes over: it never comes first.
    tops = [
        i
        for i in range(1, len(points) - 1)
        if points[i][1] > 0 and points[i - 1][1] <= points[i][1] >= points[i + 1][1]
    ]
    tops.sort(key=lambda i: (-points[i][1], abs(points[i][0])))
    peaks = [points[0], points[-1], (0.0, gap(0.0))]
    peaks += [_peak(gap, points[i - 1][0], points[i], points[i + 1][0]) for i in tops[:_PEAKS]]
    highest = max(size for _, size in peaks)
    ties = [(x, size) for x, size in peaks if size >= highest * (1 - 1e-9)]
    at, size = min(ties, key=lambda point: (round(abs(point[0]), 4), point[0]))
    return Difference(size, math.copysign(math.inf, at) if abs(at) > _AT_INFINITY else at)


@cache
def apart(other: str, flavour: str) -> Difference:
    """`difference` of an activation in OTHERS and a flavour. KeyError for names that are not there."""
    return difference(OTHERS[other], FLAVOURS[flavour].value)


@cache
def between(a: str, b: str) -> Difference:
    """`difference` of two flavours by name. KeyError for a name that is not in FLAVOURS."""
    return difference(FLAVOURS[a].value, FLAVOURS[b].value)
