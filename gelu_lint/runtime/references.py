"""GELU in NumPy, for comparisons: values and derivatives that are right to the last digits, far out in both tails too.

What they compute is `numerics.flavours`; how they get the tails right is said at each. No torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from gelu_lint.numerics.flavours import INV_SQRT_2PI, QUICK_SLOPE, SQRT_2_OVER_PI, SQRT_HALF, TANH_CUBIC

_Array = NDArray[np.float64]

_FAR_NORMAL = 45.0  # e^(-x²/2) is 0 in float64 from x = 38.6 on
_FAR_LOGISTIC = 500.0  # and σ(1.702x) from x = -438 on; cubes of it do not overflow


def gelu(x: ArrayLike, method: str = "erf") -> Any:
    """GELU of each element; x without a unit, of any shape, the result of the same shape (a NumPy scalar for a number).

    method    what is computed (relative error wherever the result is a normal float64)
    "scipy"   x·Φ(x) as x · scipy.special.ndtr(x) (3e-13; it flushes to 0 below x = -37.68)
    "erf"     x·Φ(x) by the scaled complementary error function (2e-15)
    "tanh"    0.5x(1 + tanh(√(2/π)(x + 0.044715x³))) as x·σ(2u) (2e-13)
    "sigmoid" x·σ(1.702x), the quick GELU (1e-13)

    float16, float32 and float64 are computed in float64, rounded once, and come back in their own dtype; integers,
    truth values and longdouble give float64. -inf gives -0, +inf gives +inf, nan gives nan.

    Raises ValueError for another method, TypeError for what is no real number and for masked arrays.
    """
    return _applied(_VALUES, x, method)


def gelu_slope(x: ArrayLike, method: str = "erf") -> Any:
    """The derivative of `gelu`, with its arguments, methods, dtypes and errors; 0 at -inf and 1 at +inf.

    The relative errors are those of `gelu`, away from the zero near x = -0.75, where the absolute error is below 1e-15.
    """
    return _applied(_SLOPES, x, method)


def _applied(table: dict[str, Callable[[_Array], _Array]], x: ArrayLike, method: str) -> Any:
    if method not in table:
        raise ValueError(f"method must be one of {', '.join(table)}, not {method!r}")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("masked arrays are not taken, as masks would be lost: pass x.filled(nan) or x.compressed()")
    given = np.asarray(x)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"real numbers are needed, not {given.dtype}")
    dtype = given.dtype.newbyteorder("=")
    dtype = dtype if dtype in (np.float16, np.float32) else np.dtype(np.float64)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        return table[method](np.asarray(given, np.float64)).astype(dtype)[()]


def _bell(x: _Array) -> tuple[_Array, _Array]:
    """Two factors of e^(-x²/2), neither of which underflows before the product does.

    x² would be rounded, and e to its power be off by 1e-13 where it is small: with a the float32 nearest to x, a² is
    exact, and x² - a² = (x - a)(x + a) small. So do the C libraries.
    """
    a = x.astype(np.float32).astype(np.float64)
    half = np.exp(-0.25 * a * a)
    return half, half * np.exp(-0.5 * (x - a) * (x + a))


def _by_scipy(x: _Array) -> _Array:
    return np.where(x == -np.inf, -0.0, x * special.ndtr(x))


def _by_scipy_slope(x: _Array) -> _Array:
    near = np.clip(x, -_FAR_NORMAL, _FAR_NORMAL)
    return np.asarray(special.ndtr(near) + near * INV_SQRT_2PI * np.exp(-0.5 * near * near))


def _by_erf(x: _Array) -> _Array:
    # Φ(x) = ½·erfcx(-x/√2)·e^(-x²/2) for x < 0, where erfcx is of the size of 1/|x|
    below = np.clip(x, -_FAR_NORMAL, 0.0)
    first, second = _bell(below)
    return np.where(x > 0, x * special.ndtr(x), first * (0.5 * x.clip(-_FAR_NORMAL)) * _scaled(below) * second)


def _by_erf_slope(x: _Array) -> _Array:
    near = np.clip(x, -_FAR_NORMAL, _FAR_NORMAL)
    below = np.minimum(near, 0.0)
    first, second = _bell(near)
    return np.where(
        x > 0,
        special.ndtr(near) + near * INV_SQRT_2PI * first * second,
        first * (0.5 * _scaled(below) + near * INV_SQRT_2PI) * second,
    )


def _scaled(x: _Array) -> _Array:
    return np.asarray(special.erfcx(-SQRT_HALF * x))


def _cubic(x: _Array) -> tuple[_Array, _Array]:
    """2u and its derivative, so that ½(1 + tanh u) = σ(2u)."""
    factor = 2.0 * SQRT_2_OVER_PI
    return factor * (x + TANH_CUBIC * x * x * x), factor * (1.0 + 3.0 * TANH_CUBIC * x * x)


def _linear(x: _Array) -> tuple[_Array, _Array]:
    return QUICK_SLOPE * x, np.full_like(x, QUICK_SLOPE)


def _logistic(inner: Callable[[_Array], tuple[_Array, _Array]]) -> Callable[[_Array], _Array]:
    """x·σ(z(x)). For z < 0 the gate is e^(z/2)·e^(z/2)·σ(-z), of which no factor underflows before the product does."""

    def value(x: _Array) -> _Array:
        near = np.clip(x, -_FAR_LOGISTIC, _FAR_LOGISTIC)
        z, _ = inner(near)
        root = np.exp(0.5 * np.minimum(z, 0.0))
        gated: _Array = np.where(x > 0, x * special.expit(z), root * (near * special.expit(-z)) * root)
        return gated

    return value


def _logistic_slope(inner: Callable[[_Array], tuple[_Array, _Array]]) -> Callable[[_Array], _Array]:
    """σ(z) + x·σ(z)·σ(-z)·z', with σ(-z) in the place of 1 - σ(z), which cancels."""

    def slope(x: _Array) -> _Array:
        near = np.clip(x, -_FAR_LOGISTIC, _FAR_LOGISTIC)
        z, dz = inner(near)
        root, other = np.exp(0.5 * np.minimum(z, 0.0)), special.expit(-z)
        rest = 1.0 + near * other * dz
        gated: _Array = np.where(x > 0, special.expit(z) * rest, root * (other * rest) * root)
        return gated

    return slope


_VALUES = {"scipy": _by_scipy, "erf": _by_erf, "tanh": _logistic(_cubic), "sigmoid": _logistic(_linear)}
_SLOPES = {
    "scipy": _by_scipy_slope,
    "erf": _by_erf_slope,
    "tanh": _logistic_slope(_cubic),
    "sigmoid": _logistic_slope(_linear),
}
