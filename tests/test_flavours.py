import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_ndtr, ndtr

from gelu_lint.numerics import flavours
from gelu_lint.numerics.flavours import FLAVOURS, between, difference

NAMES = ["erf", "tanh", "quick", "silu", "relu"]
SMOOTH = NAMES[:-1]
GELUS = NAMES[:3]
CUBIC_ROOT = math.sqrt(2 / math.pi)

# Truth that shares no code with the flavours: scipy's gates, torch's functions differentiated by autograd.
VALUES = {
    "erf": lambda x: x * ndtr(x),
    "tanh": lambda x: x * expit(2 * CUBIC_ROOT * (x + 0.044715 * x**3)),
    "quick": lambda x: x * expit(1.702 * x),
    "silu": lambda x: x * expit(x),
    "relu": lambda x: np.maximum(x, 0),
}
TORCH = {
    "erf": F.gelu,
    "tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu": F.relu,
}


def on(function, xs):
    return np.array([function(float(x)) for x in xs])


def test_order():
    assert list(FLAVOURS) == NAMES
    assert [flavour.name for flavour in FLAVOURS.values()] == NAMES


def test_constants():
    assert math.sqrt(0.5) == flavours.SQRT_HALF
    assert 1 / math.sqrt(2 * math.pi) == flavours.INV_SQRT_2PI
    assert math.sqrt(2 / math.pi) == flavours.SQRT_2_OVER_PI


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    xs = np.linspace(-40, 40, 4001)
    want = VALUES[name](xs)
    # Below the normal range only the gate's last subnormal bit, times x, can be asked for.
    np.testing.assert_allclose(on(FLAVOURS[name].value, xs), want, rtol=1e-12, atol=1e-306)


def test_erf_tail_against_log_ndtr():
    xs = np.linspace(-37, -5, 333)
    np.testing.assert_allclose(on(flavours.erf, xs), -np.exp(log_ndtr(xs) + np.log(-xs)), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_against_autograd(name):
    xs = torch.linspace(-40, 40, 4001, dtype=torch.float64, requires_grad=True)
    TORCH[name](xs).sum().backward()
    # torch's own kernels cancel in the tail, hence an absolute bound here and the tails below.
    np.testing.assert_allclose(on(FLAVOURS[name].slope, xs.detach()), xs.grad, rtol=1e-13, atol=2e-14)


@pytest.mark.parametrize("name", SMOOTH)
def test_slope_tails(name):
    """In the negative tail the slope is value·(1/x + (log gate)')."""
    xs = np.linspace(-36, -5, 311) if name == "erf" else np.linspace(-19, -5, 141)
    log_gate_slope = {
        "erf": lambda: np.exp(-0.5 * xs**2 - log_ndtr(xs)) / math.sqrt(2 * math.pi),
        "tanh": lambda: 2 * CUBIC_ROOT * (1 + 3 * 0.044715 * xs**2) * expit(-2 * CUBIC_ROOT * (xs + 0.044715 * xs**3)),
        "quick": lambda: 1.702 * expit(-1.702 * xs),
        "silu": lambda: expit(-xs),
    }[name]()
    want = VALUES[name](xs) * (1 / xs + log_gate_slope)
    np.testing.assert_allclose(on(FLAVOURS[name].slope, xs), want, rtol=1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_mirror(name):
    """slope(x) + slope(-x) = 1, to the last bits on the positive side too."""
    xs = np.linspace(0, 40, 4001)
    total = on(FLAVOURS[name].slope, xs) + on(FLAVOURS[name].slope, -xs)
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name):
    _, _, value, slope, _ = FLAVOURS[name]
    assert (value(-math.inf), value(math.inf)) == (0, math.inf)
    assert (slope(-math.inf), slope(math.inf)) == (0, 1)
    assert math.isnan(value(math.nan)) and math.isnan(slope(math.nan))


@pytest.mark.parametrize("name", NAMES)
@given(x=st.floats(allow_nan=False))
def test_total(name, x):
    _, _, value, slope, _ = FLAVOURS[name]
    assert -0.279 < value(x) <= max(x, 0)
    assert -0.13 < slope(x) < 1.13


@pytest.mark.parametrize("name", GELUS)
def test_slope_at_0_and_10(name):
    assert FLAVOURS[name].slope(0.0) == 0.5
    assert FLAVOURS[name].slope(10.0) == pytest.approx(1, abs=1e-6)


def test_minima_of_gelu():
    xs = np.linspace(-3, 0, 300_001)
    values, slopes = on(flavours.erf, xs), on(flavours.erf_slope, xs)
    assert xs[values.argmin()] == pytest.approx(-0.751792, abs=1e-5)
    assert values.min() == pytest.approx(-0.169971, abs=1e-6)
    assert xs[slopes.argmin()] == pytest.approx(-math.sqrt(2), abs=1e-5)
    assert slopes.min() == pytest.approx(-0.1289, abs=5e-5)


@pytest.mark.parametrize(
    ("a", "b", "size", "at"),
    [
        ("erf", "tanh", 4.732e-4, -2.699),
        ("erf", "quick", 2.033e-2, -2.270),
        ("erf", "silu", 0.1930, -1.965),
        ("erf", "relu", 0.16997, -0.7518),
    ],
)
def test_known_differences(a, b, size, at):
    assert between(a, b) == (pytest.approx(size, rel=5e-4), pytest.approx(at, abs=5e-4))


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", NAMES)
def test_differences_against_a_dense_grid(a, b):
    xs = np.linspace(-12, 12, 240_001)
    size, at = between(a, b)
    assert size == pytest.approx(np.abs(VALUES[a](xs) - VALUES[b](xs)).max(), rel=1e-7)
    assert abs(VALUES[a](at) - VALUES[b](at)) == pytest.approx(size, rel=1e-9)
    assert between(b, a) == (size, at)


@settings(deadline=None)  # a busy machine is no failure
@given(st.floats(-2, 2), st.floats(-2, 2))
def test_difference_is_symmetric_and_zero_on_itself(k, m):
    def one(x):
        return k * x + math.tanh(m * x)

    def other(x):
        return m * x + math.tanh(k * x)

    assert difference(one, one).size == 0
    assert difference(one, other) == difference(other, one)
    assert difference(one, other).size is None or abs(k - m) < 1e-9


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_opposite_limits_add_up(k, m):
    size, _ = difference(lambda x: math.tanh(k * x), lambda x: -math.tanh(m * x))
    assert size == pytest.approx(2, rel=1e-9)


def shifted(change):
    """The size of erf(x) -> erf(x) + change(x)."""
    return difference(flavours.erf, lambda x: flavours.erf(x) + change(x))


@pytest.mark.parametrize(
    ("change", "size", "at"),
    [
        (lambda x: 1.0, 1, 0),
        (lambda x: x / (1 + abs(x)), 1, -math.inf),  # only in the limits
        (math.sin, 1, -math.pi / 2),
        (lambda x: 0.25 * x if 0.3 < x < 0.4 else 0.0, 0.1, 0.4),  # a jump
        (lambda x: math.exp(-(((x - 30) / 5) ** 2)), 1, 30),  # outside the core
    ],
)
def test_bounded(change, size, at):
    assert shifted(change) == (pytest.approx(size, rel=1e-8), pytest.approx(at, abs=1e-4))


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (lambda x: x, -math.inf),
        (lambda x: 1e-9 * x, -math.inf),
        (lambda x: max(x, 0.0) ** 0.5, math.inf),
        (lambda x: math.log1p(abs(x)), -math.inf),
        (lambda x: x * math.sin(x), -math.inf),
        (math.exp, math.inf),  # raises OverflowError from 710 on
        (lambda x: math.log(x + 5), -10),  # undefined below -5
        (lambda x: 1 / x, 0),
        (lambda x: math.nan if x == 1 else 0.0, 1),
    ],
)
def test_unbounded(change, at):
    assert shifted(change) == (None, at)


def test_x_against_2x():
    assert difference(lambda x: x, lambda x: 2 * x) == (None, -math.inf)


def test_overflow_beyond_the_core_is_left_out():
    def quick(x):
        return x / (1 + math.exp(-1.702 * x))

    with pytest.raises(OverflowError):
        quick(-500.0)
    assert difference(flavours.quick, quick).size == 0
    assert difference(flavours.erf, quick).size == pytest.approx(0.020335, abs=1e-6)


def test_rounding_is_no_difference():
    assert difference(flavours.erf, lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))).size < 1e-15


def test_truncated_constant():
    size, _ = difference(flavours.erf, lambda x: 0.5 * x * (1 + math.erf(x * 0.7071)))
    assert size == pytest.approx(2.815e-6, rel=1e-3)


def test_foreign_errors_pass_through():
    with pytest.raises(TypeError):
        difference(flavours.erf, lambda x: x + "")


def test_unknown_name():
    with pytest.raises(KeyError):
        between("erf", "gelu")
