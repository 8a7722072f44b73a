"""GELU-T, clipped and sparse GELU: against SciPy, gradcheck, and statistics of many draws."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.runtime import GELUT, GELUClip, NotDeterministic, SparseGELU, recognise, told

X = torch.linspace(-9, 9, 181, dtype=torch.float64)
TAUS = [0.25, 0.7, 1.0, 1.3, 2.0, 10.0]


def variants():
    return [
        GELUT(1.3),
        GELUT(0.7, approximate="tanh", learnable=True),
        GELUClip(maximum=6.0),
        GELUClip(-0.1, 2.5, approximate="tanh"),
        SparseGELU(0.3).eval(),
    ]


def points():
    return torch.linspace(-4, 3.9, 25, dtype=torch.float64, requires_grad=True)  # off the ends of the clamps


@pytest.mark.parametrize("module", variants(), ids=repr)
def test_gradients(module):
    assert gradcheck(module.double(), (points(),))


def test_the_gradient_of_tau():
    module = GELUT(1.3, learnable=True).double()
    assert gradcheck(lambda x, tau: torch.func.functional_call(module, {"tau": tau}, x), (points(), module.tau))
    module(points()).sum().backward()
    assert module.tau.grad is not None and module.tau.grad != 0


@pytest.mark.parametrize("tau", TAUS)
def test_gelu_t(tau):
    torch.testing.assert_close(GELUT(tau)(X), X * torch.special.ndtr(X / tau), rtol=1e-12, atol=1e-14)
    zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
    GELUT(tau)(zero).backward()
    assert zero.grad == 0.5
    step = 1e-6
    gate = GELUT(tau)(torch.tensor([-step, step], dtype=torch.float64)) / torch.tensor([-step, step])
    assert (gate[1] - gate[0]).item() / (2 * step) == pytest.approx(1 / (tau * math.sqrt(2 * math.pi)), rel=1e-4)


def test_gelu_t_of_1_is_gelu():
    for approximate in ("none", "tanh"):
        torch.testing.assert_close(GELUT(approximate=approximate)(X), F.gelu(X, approximate=approximate))


@pytest.mark.parametrize(("low", "high"), [(None, 6.0), (-0.1, None), (-0.1, 2.5), (-10, 10)])
def test_gelu_clip(low, high):
    want = [min(max(FLAVOURS["erf"].value(x), -9e9 if low is None else low), 9e9 if high is None else high) for x in X]
    torch.testing.assert_close(GELUClip(low, high)(X), torch.tensor(want, dtype=torch.float64), rtol=1e-12, atol=1e-14)


def test_a_minimum_below_the_least_value_never_acts():
    assert torch.equal(GELUClip(-10, 6)(X), GELUClip(maximum=6)(X))
    assert F.gelu(torch.linspace(-1, 0, 10_001, dtype=torch.float64)).min() > -0.17


def test_beyond_the_ends_nothing_flows():
    x = torch.tensor([-0.75, 2.0, 3.5, 8.0], dtype=torch.float64, requires_grad=True)
    GELUClip(-0.1, 3.0)(x).sum().backward()
    assert (x.grad == 0).tolist() == [True, False, True, True]


def test_sparse_gelu_is_gelu_in_expectation():
    torch.manual_seed(0)
    for p in (0.1, 0.5, 0.9):
        module, draws = SparseGELU(p), 20_000
        mean = module(X.expand(draws, -1)).mean(0)
        gelu = F.gelu(X)
        deviation = gelu.abs() * math.sqrt(p / (1 - p) / draws)  # of the mean
        assert ((mean - gelu).abs() <= 5 * deviation + 1e-15).all()


def test_sparse_gelu_drops_and_scales():
    torch.manual_seed(1)
    x = torch.linspace(-2, 2, 10_000, dtype=torch.float64, requires_grad=True)
    y = SparseGELU(0.25)(x)
    y.sum().backward()
    dropped = y == 0
    assert dropped.double().mean().item() == pytest.approx(0.25, abs=0.02)
    torch.testing.assert_close(y[~dropped], F.gelu(x)[~dropped] / 0.75)
    assert (x.grad[dropped] == 0).all()
    plain = x.detach().clone().requires_grad_()
    F.gelu(plain).sum().backward()
    torch.testing.assert_close(x.grad[~dropped], plain.grad[~dropped] / 0.75)


def test_sparse_gelu_masks_while_training_alone():
    module = SparseGELU(0.5)
    assert not torch.equal(module(X), module(X))
    torch.manual_seed(3)
    first = module(X)
    torch.manual_seed(3)
    assert torch.equal(module(X), first)
    module.eval()
    assert torch.equal(module(X), F.gelu(X))
    assert torch.equal(SparseGELU(0.0)(X), F.gelu(X))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("module", variants(), ids=repr)
def test_low_precision(module, dtype):
    x = torch.cat((torch.linspace(-8, 8, 400), torch.tensor([-65504.0, 65504.0]))).to(dtype).requires_grad_()
    y = module.to(dtype)(x)
    y.sum().backward()
    assert y.dtype == dtype and x.grad.isfinite().all() and y.isfinite().all()
    want = copy.deepcopy(module).double()(x.detach().double())
    tolerance = max(2 * torch.finfo(dtype).eps, 2e-6)  # oneDNN's float32 GELU is off by 1.1e-6
    assert ((y - want).abs() <= tolerance * want.abs().clamp(min=1)).all()


def test_a_small_temperature_does_not_overflow_in_half_precision():
    x = torch.tensor([-1000.0, 1000.0], dtype=torch.float16)
    assert GELUT(0.01)(x).tolist() == [0.0, 1000.0]


@pytest.mark.parametrize("module", variants(), ids=repr)
def test_copies_and_states(module):
    twin = copy.deepcopy(module)
    twin.load_state_dict(module.state_dict())
    assert torch.equal(twin(X.float()), module(X.float())) and repr(twin) == repr(module)
    assert list(module.state_dict()) == (["tau"] if "learnable" in repr(module) else [])


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("module", variants(), ids=repr)
def test_scripts(module):
    assert torch.equal(torch.jit.script(module)(X.float()), module(X.float()))


def test_reprs():
    assert [repr(module) for module in variants()] == [
        "GELUT(1.3, approximate='none')",
        "GELUT(0.7, approximate='tanh', learnable=True)",
        "GELUClip(None, 6.0, approximate='none')",
        "GELUClip(-0.1, 2.5, approximate='tanh')",
        "SparseGELU(0.3, approximate='none')",
    ]


def test_they_are_recognised():
    found = recognise(GELUT(1.3))
    assert (found.flavour, found.parameter) == ("gelu_t", pytest.approx(1.3))
    assert told(recognise(GELUT(1.3, learnable=True))).startswith("computes x·Φ(x/1.3), not the erf GELU: off by")
    for tau in TAUS:
        assert recognise(GELUT(tau, learnable=True)).flavour == ("erf" if tau == 1 else "gelu_t")
    assert told(recognise(GELUClip(maximum=6))) == "computes the erf GELU, clamped at 6"
    assert told(recognise(GELUClip(minimum=-0.1, approximate="tanh"))) == "computes the tanh GELU, clamped at −0.1"
    assert recognise(SparseGELU().eval()).flavour == "erf"
    with pytest.raises(NotDeterministic, match="SparseGELU gives other values each time"):
        recognise(SparseGELU())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GELUT(0), "tau must be positive and finite, not 0"),
        (lambda: GELUT(math.nan), "tau must be positive"),
        (lambda: GELUT(approximate="erf"), "approximate must be 'none' or 'tanh', not 'erf'"),
        (GELUClip, "minimum, maximum or both must be given"),
        (lambda: GELUClip(6, -6), "minimum must be below maximum, not 6 and -6"),
        (lambda: GELUClip(math.nan, 6), "minimum must be below maximum"),
        (lambda: GELUClip(maximum=-1), "maximum must be above -0.17, the least value of GELU, not -1"),
        (lambda: SparseGELU(1.0), r"p must be in \[0, 1\), not 1.0"),
        (lambda: SparseGELU(math.nan), "p must be in"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("module", [GELUT(1.3), GELUClip(maximum=6.0), SparseGELU(0.5)], ids=lambda m: type(m).__name__)
def test_only_floating_point_is_taken(module, dtype):
    with pytest.raises((TypeError, RuntimeError)):
        module(torch.ones(3).to(dtype))
