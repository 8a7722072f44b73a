"""NumPy references against 60 digits of decimal arithmetic, and against torch's autograd in float64."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.runtime.references import gelu, gelu_slope

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")
FLAVOUR = {"scipy": "erf", "erf": "erf", "tanh": "tanh", "sigmoid": "quick"}
METHODS = tuple(FLAVOUR)
TORCH = {
    "scipy": F.gelu,
    "erf": F.gelu,
    "tanh": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
}
SMALLEST = 2.2250738585072014e-308  # normal float64


def density(x):
    return (-x * x / 2).exp() / (2 * PI).sqrt()


def normal(x):
    """Φ: a continued fraction in the tails, the power series between (Abramowitz & Stegun 26.2.10 and 26.2.14)."""
    if x > 4:
        return 1 - normal(-x)
    if x < -4:
        tail = Decimal(0)
        for k in range(400, 0, -1):
            tail = k / (-x + tail)
        return density(x) / (-x + tail)
    total = term = x
    n = 0
    while abs(term) > Decimal(10) ** -55:
        n += 1
        term = -term * x * x / (2 * n)
        total += term / (2 * n + 1)
    return Decimal("0.5") + total / (2 * PI).sqrt()


def logistic(z):
    return 1 / (1 + (-z).exp())


def exact(method, x):
    """The value and the slope, to some 50 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**9), 10**9
        x = Decimal(x)
        if method in ("scipy", "erf"):
            return x * normal(x), normal(x) + x * density(x)
        if method == "tanh":
            root, cubic = (8 / PI).sqrt(), Decimal("0.044715")
            z, dz = root * (x + cubic * x**3), root * (1 + 3 * cubic * x * x)
        else:
            z, dz = Decimal("1.702") * x, Decimal("1.702")
        gate = logistic(z)
        return x * gate, gate + x * gate * logistic(-z) * dz


def off(got, want):
    """The relative error, or the absolute one in units of the smallest normal number where that is all there is."""
    with localcontext() as context:
        context.prec = 60
        return float(abs(Decimal(float(got)) - want) / max(abs(want), Decimal(SMALLEST)))


# Below it, a result is no normal number any more.
END = {"scipy": -37.6, "erf": -38.0, "tanh": -21.6, "sigmoid": -420.0}
VALUE_OFF = {"scipy": 3e-13, "erf": 2e-15, "tanh": 2e-13, "sigmoid": 1e-13}


@pytest.mark.parametrize("method", METHODS)
def test_values_and_slopes_to_the_last_normal_number(method):
    points = np.concatenate((np.linspace(END[method], 12, 300), [-2.7, -(2**0.5), -1e-8, 1e-300, 3.7, 60.0]))
    for x in points:
        value, slope = exact(method, float(x))
        assert off(gelu(x, method), value) < VALUE_OFF[method], x
        allowed = VALUE_OFF[method] * max(1, abs(0.01 / float(slope)) if abs(x) < 2 else 1)  # its zero is not far
        assert off(gelu_slope(x, method), slope) < allowed, x


@pytest.mark.parametrize("method", ["erf", "tanh", "sigmoid"])
def test_denormal_results_are_right_to_their_last_bits(method):
    first = {"erf": -38.5, "tanh": -22.0, "sigmoid": -440.0}[method]
    for x in np.linspace(first, END[method], 40):
        value, slope = exact(method, float(x))
        assert abs(float(gelu(x, method)) - float(value)) <= 1e-12 * abs(float(value)) + 3 * 5e-324
        assert abs(float(gelu_slope(x, method)) - float(slope)) <= 1e-12 * abs(float(slope)) + 3 * 5e-324


@pytest.mark.parametrize("method", METHODS)
def test_the_core_is_torchs(method):
    x = torch.linspace(-12, 12, 2001, dtype=torch.float64, requires_grad=True)
    y = TORCH[method](x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(gelu(x.detach().numpy(), method), y.detach().numpy(), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(gelu_slope(x.detach().numpy(), method), slope.numpy(), rtol=1e-12, atol=1e-14)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(METHODS), st.floats())
def test_any_float_goes_in_as_into_the_flavours(method, x):
    flavour = FLAVOURS[FLAVOUR[method]]
    with np.errstate(all="raise"):
        value, slope = gelu(x, method), gelu_slope(x, method)
    np.testing.assert_allclose(value, flavour.value(x), rtol=1e-11, atol=1e-306)
    np.testing.assert_allclose(slope, flavour.slope(x), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_limits(method):
    ends = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0, -1e308, 1e308])
    value, slope = gelu(ends, method), gelu_slope(ends, method)
    np.testing.assert_array_equal(value, [0, np.inf, np.nan, 0, 0, 0, 1e308])
    np.testing.assert_array_equal(np.signbit(value), [True, False, np.signbit(value[2]), False, True, True, False])
    np.testing.assert_array_equal(slope, [0, 1, np.nan, 0.5, 0.5, 0, 1])


@pytest.mark.parametrize("function", [gelu, gelu_slope])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_low_precision_is_rounded_once(function, method, dtype):
    x = np.linspace(-9, 9, 500).astype(dtype)
    np.testing.assert_array_equal(function(x, method), function(x.astype(np.float64), method).astype(dtype))
    assert function(x, method).dtype == dtype


@pytest.mark.parametrize(
    ("x", "kind", "shape"),
    [
        (1, np.float64, ()),
        (-0.5, np.float64, ()),
        (True, np.float64, ()),
        (np.float16(-0.5), np.float16, ()),
        ([1, -2], np.float64, (2,)),
        (np.arange(6, dtype=np.int8).reshape(2, 3), np.float64, (2, 3)),
        (np.zeros((2, 0, 3), np.float32), np.float32, (2, 0, 3)),
        (np.ones(4, np.longdouble), np.float64, (4,)),
        (np.ones((4, 4))[::2, 1:3], np.float64, (2, 2)),
        (np.ones(3, ">f8"), np.float64, (3,)),
        (np.ones(3, ">f4"), np.float32, (3,)),
        (np.ones((), ">f2"), np.float16, ()),
    ],
)
def test_shapes_and_dtypes(x, kind, shape):
    for function in (gelu, gelu_slope):
        result = function(x)
        assert result.dtype == kind and result.shape == shape
        assert isinstance(result, np.ndarray if shape else kind)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="method must be one of scipy, erf, tanh, sigmoid, not 'quick'"):
        gelu(1.0, "quick")
    for wrong in (1j, "1", None, [object()]):
        with pytest.raises(TypeError, match="real numbers are needed, not"):
            gelu_slope(wrong)


def test_no_torch_is_loaded():
    code = "import sys, gelu_lint.runtime as runtime; runtime.gelu(1.0); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("function", [gelu, gelu_slope])
def test_masks_are_not_lost(function):
    with pytest.raises(TypeError, match=r"x\.filled\(nan\)"):
        function(np.ma.array([1.0, 2.0], mask=[False, True]))
