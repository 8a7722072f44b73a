"""The check of one activation: what is right passes, and what is wrong is named, with what it is off by."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gelu_lint.runtime import GradientFlowError, NotElementwise, gradient_flow
from gelu_lint.runtime.runs import finite

torch.set_num_threads(1)
ROOT = math.sqrt(2 / math.pi)


def erf(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def tanh(x: Tensor, root: float = ROOT, cubic: float = 0.044715) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(root * x * (1 + cubic * (x * x))))


def augmented(x: Tensor) -> Tensor:
    y = x.clone()
    y /= 2.0
    y = torch.erf(y)
    y += 1.0
    y *= 0.5
    y *= x
    return y


def squares(x: Tensor) -> Tensor:
    return x * (1 + torch.tanh(ROOT * (x + 0.044715 * x.pow(2)))) / 2


def function(forward: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A torch.autograd.Function with a derivative of its own."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * slope(*ctx.saved_tensors)

    return Function.apply


def changed_afterwards(x: Tensor) -> Tensor:
    gate = cdf(x)
    y = x * gate
    gate.mul_(1.0)
    return y


def cdf(x: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def bell(x: Tensor, factor: float = 1 / math.sqrt(2 * math.pi), rate: float = 0.5) -> Tensor:
    return factor * torch.exp(-rate * x * x)


def merged(x: Tensor, cubic: float) -> Tensor:
    t = torch.tanh(ROOT * x * (1 + 0.044715 * x * x))
    return 0.5 * x * ((1 - t * t) * (ROOT + cubic * x * x)) + 0.5 * (1 + t)


RIGHT = {
    "F.gelu": (F.gelu, "erf"),
    "none": (lambda x: F.gelu(x, approximate="none"), "erf"),
    "tanh": (lambda x: F.gelu(x, approximate="tanh"), "tanh"),
    "a module": (nn.GELU(), "erf"),
    "a tanh module": (nn.GELU("tanh"), "tanh"),
    "by hand": (erf, "erf"),
    "erfc": (lambda x: 0.5 * x * torch.erfc(-x / math.sqrt(2)), "erf"),
    "ndtr": (lambda x: x * torch.special.ndtr(x), "erf"),
    "truncated": (lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071)), "erf"),
    "its own derivative": (function(erf, lambda x: cdf(x) + x * bell(x)), "erf"),
    "float32 inside": (lambda x: F.gelu(x.float()).to(x.dtype), "erf"),
    "a gate in float32": (lambda x: x * cdf(x.float()), "erf"),
}

#: What is wrong, and what must be said of it.
WRONG = {
    "silu": (F.silu, "computes x·σ(x) (SiLU), not the GELU: off by up to 0.193, at x = −1.97"),
    "x * sigmoid(x)": (lambda x: x.mul(x.sigmoid()), "computes x·σ(x) (SiLU), not the GELU: off by up to 0.193"),
    "quick": (lambda x: x * torch.sigmoid(1.702 * x), "computes x·σ(1.702x) (quick GELU), not the GELU: off by up to "
    "0.0203, at x = −2.27"),
    "relu": (F.relu, "computes ReLU, not the GELU: off by up to 0.17"),
    "elu": (F.elu, "computes ELU, not the GELU: off by up to 0.99"),
    "mish": (F.mish, "computes Mish, not the GELU: off by up to 0.209"),
    "1.207": (lambda x: torch.sigmoid(1.207 * x).mul(x), "x·σ(1.207x)"),
    "1.0702": (lambda x: x * torch.sigmoid(1.0702 * x), "x·σ(1.0702x)"),
    "1.72": (lambda x: x * torch.sigmoid(1.72 * x), "x·σ(1.72x)"),
    "minus": (lambda x: x * torch.sigmoid(-1.702 * x), "not the GELU"),
    "quick gate": (lambda x: torch.sigmoid(1.702 * x), "the gate of x·σ(1.702x) (quick GELU), without its factor x"),
    "two over root pi": (lambda x: tanh(x, 2 / math.sqrt(math.pi)), "nearly the tanh GELU"),
    "no half": (lambda x: x * (1 + torch.erf(x / math.sqrt(2))), "nearly x·Φ(x)"),
    "0.44715": (lambda x: tanh(x, cubic=0.44715), "nearly the tanh GELU (0.44715 for 0.044715), not the GELU: off by "
    "up to 0.0932, at x = −1.34"),
    "squares": (squares, "nearly the tanh GELU (x**2 for x**3), not the GELU: off without bound"),
    "cubic outside": (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * x + 0.044715 * x**3)), "nearly the tanh GELU"),
    "gate": (cdf, "the gate of the erf GELU, without its factor x"),
    "tanh gate": (lambda x: 0.5 * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3))), "the gate of the tanh GELU"),
    "1.141": (lambda x: 0.5 * x * (1 + torch.erf(x / 1.141)), "not the GELU: off by up to 0.0563"),
    "root 2 over pi": (lambda x: tanh(x, math.sqrt(2) / math.pi), "nearly the tanh GELU"),
    "no outer x": (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (1 + 0.044715 * x * x))), "nearly the tanh GELU"),
    "a quartic": (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * x * (1 + 0.044715 * x**3))), "nearly the tanh GELU"),
    "unscaled": (lambda x: tanh(x, 1.0), "nearly the tanh GELU"),
    "ndtr scaled": (lambda x: x * torch.special.ndtr(x / math.sqrt(2)), "not the GELU: off by up to 0.119"),
    "one minus": (lambda x: 0.5 * x * (1 - torch.erf(x / math.sqrt(2))), "nearly x·Φ(x)"),
    "two over pi": (lambda x: tanh(x, 2 / math.pi), "nearly the tanh GELU"),
    "in steps, half": (augmented, "not the GELU: off by up to 0.119"),
    "0.78978845": (lambda x: tanh(x, 0.78978845), "nearly the tanh GELU"),
    "erfc": (lambda x: 0.5 * x * torch.erfc(x / math.sqrt(2)), "nearly x·Φ(x)"),
    "0.7701": (lambda x: 0.5 * x * (1 + torch.erf(0.7701 * x)), "not the GELU: off by up to 0.024"),
    "squared": (lambda x: F.gelu(x) ** 2, "computes the square of the erf GELU"),
    "clipped": (lambda x: F.gelu(x).clamp(max=2.0), "computes the erf GELU, clamped at 2"),
    "clipped far out": (lambda x: F.gelu(x).clamp(-10, 10), "clamped at 10, not the GELU: off by up to 2, "
    "at x = 12"),
    "another": (lambda x: x.abs(), "computes no known GELU, not the GELU: off by up to 6, at x = −6"),
    "Φ(x/1.3)": (lambda x: x * torch.special.ndtr(x / 1.3), "computes x·Φ(x/1.3), not the GELU"),
}  # fmt: skip
SLOPE = "but its gradient is not the slope of that"
WRONG_SLOPE = {
    "cdf alone": (function(erf, cdf), "the erf GELU, " + SLOPE + ": off by up to 0.242"),
    "root pi": (function(erf, lambda x: cdf(x) + x * bell(x, 1 / math.sqrt(math.pi))), SLOPE + ": off by up to 0.1"),
    "exponent": (function(erf, lambda x: cdf(x) + x * bell(x, rate=1)), SLOPE + ": off by up to 0.13"),
    "merged constant": (function(tanh, lambda x: merged(x, 0.0170322243)), "the tanh GELU, " + SLOPE),
    "the other flavour": (function(tanh, lambda x: cdf(x) + x * bell(x)), "the tanh GELU, " + SLOPE
    + " (it is that of the erf GELU): off by up to 8.68e-4"),
    "a part cut off": (lambda x: x * cdf(x).detach(), SLOPE + ": off by up to 0.242"),
    "straight through": (function(F.gelu, torch.ones_like), SLOPE),
    "zero": (function(F.gelu, torch.zeros_like), SLOPE),
    "nan": (function(F.gelu, lambda x: x * math.nan), SLOPE + ": nan at x = "),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("told", [False, True])
def test_what_is_right_passes(name: str, told: bool) -> None:
    activation, flavour = RIGHT[name]
    flow = gradient_flow(activation, flavour if told else None)
    assert (flow.why, flow.ok, flow.wanted, flow.identity.flavour) == ("", True, flavour, flavour)
    assert all(row.ok is not False for row in flow.rows)


@pytest.mark.parametrize("name", WRONG)
def test_another_function_is_named(name: str) -> None:
    activation, said = WRONG[name]
    flow = gradient_flow(activation)
    assert said in flow.why and not flow.ok
    assert any(row.ok is False and row.what.startswith("value") for row in flow.rows)


@pytest.mark.parametrize("name", WRONG_SLOPE)
def test_of_a_wrong_derivative_the_slope_is_named_and_not_the_value(name: str) -> None:
    activation, said = WRONG_SLOPE[name]
    flow = gradient_flow(activation)
    assert said in flow.why
    failed = {row.what.partition(",")[0] for row in flow.rows if row.ok is False}
    assert "slope" in failed and not failed & {"function", "value"}


@pytest.mark.parametrize(("given", "wanted"), [("erf", "tanh"), ("tanh", "erf"), ("none", "tanh"), ("quick", "erf")])
def test_the_flavour_that_is_expected_decides(given: str, wanted: str) -> None:
    activation = {"erf": F.gelu, "none": F.gelu, "tanh": tanh, "quick": lambda x: x * torch.sigmoid(1.702 * x)}[given]
    assert gradient_flow(activation, given, dtype=torch.float32).ok
    size = "4.73e-4" if given != "quick" else "0.0203"
    assert f"not the {wanted} GELU: off by up to {size}" in gradient_flow(activation, wanted).why


def test_families_pass_with_any_parameter_where_they_are_expected() -> None:
    assert gradient_flow(lambda x: x * torch.special.ndtr(x / 1.3), "gelu_t").ok
    assert gradient_flow(lambda x: x * torch.sigmoid(1.2 * x), "sigmoid_k").ok
    assert gradient_flow(F.silu, "silu").ok
    assert "not the quick" not in gradient_flow(F.silu, "silu").why
    assert not gradient_flow(F.gelu, "sigmoid_k").ok


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (lambda x: F.gelu(x.detach()), "no gradient gets through: the result is cut off"),
        (lambda x: F.gelu(x.data), "cut off"),
        (torch.no_grad()(F.gelu), "cut off"),
        (lambda x: F.gelu(x.detach()) + 0 * nn.Parameter(x.new_zeros(())), "does not depend on the input"),
        (lambda x: torch.ones_like(x).mul_(x * cdf(x)), ""),
        (lambda x: x.mul_(cdf(x)), "overwrites its input"),
        (lambda x: torch._C._nn.gelu_(x), "overwrites its input"),
        (changed_afterwards, "backward raises RuntimeError: one of the variables needed for gradient computation"),
    ],
)  # fmt: skip
def test_what_cuts_the_gradient_off_or_works_in_place(activation: Callable[[Tensor], Tensor], said: str) -> None:
    why = gradient_flow(activation, dtype=torch.float32).why
    assert said in why and bool(said) == bool(why)


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3))), "18,114, from |x| = 147.875"),
        (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * (x * x * x)))), "16,384, from |x| = 256"),
        (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x * x * x))), "11,914, from |x| = 1211"),
    ],
)  # fmt: skip
def test_gradients_that_are_nan_in_half_precision(activation: Callable[[Tensor], Tensor], said: str) -> None:
    """The numbers were counted over all of float16, apart from this code."""
    assert gradient_flow(activation).why == f"its gradient in float16 is not finite: NaN or infinite at {said} on"
    assert gradient_flow(activation, dtype=torch.float16).why
    assert gradient_flow(activation, dtype=torch.float32).ok  # what is used in float32 alone has no such fault


def test_a_tanh_from_exp_overflows_in_float32() -> None:
    def built(x: Tensor) -> Tensor:
        e = torch.exp(2 * ROOT * (x + 0.044715 * x**3))
        return 0.5 * x * (1 + (e - 1) / (e + 1))

    assert "nan" in gradient_flow(built, dtype=torch.float32).message()
    assert not gradient_flow(built, dtype=torch.float32).ok


def test_what_the_built_in_does_too_is_a_note() -> None:
    """F.gelu(approximate="tanh") has 16,384 NaN gradients in bfloat16, from 1.8e19 on."""
    rows = [row for row in gradient_flow(nn.GELU("tanh")).rows if "bfloat16" in row.what]
    assert [row.ok for row in rows] == [None]
    assert "16,384, from |x| = 1.84467e19 on; so is that of torch's own F.gelu" in rows[0].got


@pytest.mark.parametrize(("dtype", "count"), [(torch.float16, 63_488), (torch.bfloat16, 65_280)])
def test_the_sweep_is_over_all_finite_numbers(dtype: torch.dtype, count: int) -> None:
    numbers = finite(dtype)
    assert numbers.dtype == dtype and len(numbers.double().unique()) == count - 1  # 0 is there twice
    assert len(numbers) == count and torch.isfinite(numbers).all()
    assert numbers.abs().max().item() == torch.finfo(dtype).max


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_dtypes(dtype: torch.dtype) -> None:
    for activation in (F.gelu, nn.GELU("tanh"), erf):
        assert gradient_flow(activation, dtype=dtype).why == ""
    assert not gradient_flow(F.silu, dtype=dtype).ok


class Scaled(nn.Module):
    """A GELU with weights that are 1."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("a_half", torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.a_half * x * (1 + torch.erf(self.scale * x / math.sqrt(2)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_modules_with_weights_in_half_precision_are_left_as_they_are(dtype: torch.dtype) -> None:
    module = Scaled().to(dtype).train()
    assert gradient_flow(module).ok
    assert module.training and module.scale.dtype == dtype and module.scale.grad is None


def test_under_no_grad_and_inference_mode() -> None:
    for context in (torch.no_grad(), torch.inference_mode()):
        with context:
            assert gradient_flow(nn.GELU()).ok and not gradient_flow(F.silu).ok


def test_with_a_default_dtype_of_half_precision() -> None:
    torch.set_default_dtype(torch.float16)
    try:
        assert gradient_flow(nn.GELU()).ok and gradient_flow(erf).ok
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_works_in_float32_alone_is_compared_there() -> None:
    def kernel(x: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            raise RuntimeError("expected float32")
        return F.gelu(x)

    flow = gradient_flow(kernel)
    assert flow.ok
    assert [row.ok for row in flow.rows if row.what.startswith("gradient in")] == [True, None, None]  # cannot be run


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (lambda x: F.softmax(x, -1), "element by element"),
        (nn.LayerNorm(110), "element by element|cannot be run"),
        (nn.Linear(4, 4), "cannot be run"),
        (nn.Sequential(nn.GELU(), nn.Dropout(0.5)), "eval"),
        (lambda x: x.sum(), "shape"),
        (lambda x: (x, x), "tuple"),
        (lambda x, y: x, "missing"),
    ],
)
def test_what_is_no_activation_is_told_so(activation: Callable[..., Tensor], said: str) -> None:
    with pytest.raises(NotElementwise, match=said):
        gradient_flow(activation)


def test_arguments_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"'tahn' is none of .*did you mean 'tanh'"):
        gradient_flow(F.gelu, "tahn")
    with pytest.raises(ValueError, match=r"torch\.int64 is none of"):
        gradient_flow(F.gelu, dtype=torch.int64)
    with pytest.raises(TypeError):
        gradient_flow(42)
    with pytest.raises(TypeError, match=r"GELU is a class: give an instance of it, GELU\(\)"):
        gradient_flow(nn.GELU)


def test_a_tolerance_of_ones_own() -> None:
    assert not gradient_flow(lambda x: F.gelu(x) * 1.0005, "erf").ok
    assert not gradient_flow(F.gelu, "tanh", tolerance=1e-3).ok  # it says which function it is, whatever passes
    assert not gradient_flow(lambda x: F.gelu(x.half()).to(x.dtype), dtype=torch.float32, tolerance=1e-5).ok


def test_the_table() -> None:
    text = gradient_flow(F.silu).message()
    assert text.startswith("computes x·σ(x) (SiLU), not the GELU: off by up to 0.193, at x = −1.97\n\n")
    rows = [line.split("  ") for line in text.splitlines()[3:]]
    assert {row[0] for row in rows} == {"✔", "✘"}
    assert "✘  slope                 −1.41421        −0.128904                      −0.0269174" in text


def test_the_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(GradientFlowError("computes x·σ(x)")))
    assert isinstance(error, AssertionError) and str(error) == "computes x·σ(x)"


def slope(x: Tensor) -> Tensor:
    return cdf(x) + x * bell(x)


def ignoring(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """F.gelu with a backward that does something to the gradient that arrives."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return F.gelu(x)

        @staticmethod
        def backward(ctx, gradient):
            return change(gradient).mul(slope(*ctx.saved_tensors))

    return Function.apply


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("change", [torch.ones_like, torch.sign, torch.abs, torch.square, lambda g: g.clamp(-1, 1)])
def test_a_backward_that_is_right_for_an_incoming_gradient_of_1_alone(
    change: Callable[[Tensor], Tensor], dtype: torch.dtype
) -> None:
    why = gradient_flow(ignoring(change), dtype=dtype).why
    assert why == "its backward is wrong: the incoming gradient is not what the slope is multiplied by"


def test_a_backward_that_writes_on_the_incoming_gradient() -> None:
    assert gradient_flow(ignoring(torch.clone)).ok
    why = gradient_flow(ignoring(lambda gradient: gradient.mul_(2) / 2)).why
    assert why == "its backward is wrong: the incoming gradient is overwritten"


#: Wrong at few places, and in which dtype that must be said.
PLACES = {
    "far": (lambda x: torch.where(x.abs() > 20, 0 * x, F.gelu(x)), "float32"),
    "clamped": (lambda x: F.gelu(x.clamp(-20, 20)), "float32"),
    "float16": (lambda x: F.silu(x) if x.dtype == torch.float16 else F.gelu(x), "float16"),
    "bfloat16": (lambda x: F.silu(x) if x.dtype == torch.bfloat16 else F.gelu(x), "bfloat16"),
    "float32": (lambda x: F.silu(x) if x.dtype == torch.float32 else F.gelu(x), "float32"),
    "many": (lambda x: F.silu(x) if x.numel() > 1000 else F.gelu(x), "float32"),
    "3-D": (lambda x: F.silu(x) if x.ndim == 3 else F.gelu(x), "float32"),
    "4-D": (lambda x: F.silu(x) if x.ndim == 4 else F.gelu(x), "bfloat16"),
    "cut off": (lambda x: F.gelu(x.detach() if x.dtype == torch.float16 else x), "float16"),
    "its slope": (function(F.gelu, lambda x: torch.where(x > 20, torch.zeros_like(x), slope(x))), "float32"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_at_few_places(place: str) -> None:
    activation, dtype = PLACES[place]
    assert gradient_flow(activation).why.startswith(f"in {dtype}, on a tensor of 6")


def test_guards_against_overflow_pass() -> None:
    for activation in (lambda x: F.gelu(x.clamp(-1e4, 1e4)), lambda x: F.gelu(x).clamp(-65504, 65504)):
        assert gradient_flow(activation).why == ""


@pytest.mark.parametrize("name", ["gelu_new", "gelu_accurate", "gelu_fast"])
def test_numbers_that_no_activation_gets_to_are_a_note(name: str) -> None:
    """In bfloat16 x**3 has no finite slope from 1e19 on, as GPT-2 computes it."""
    from transformers.activations import ACT2FN

    assert gradient_flow(ACT2FN[name], dtype=torch.bfloat16).why == ""


class Held(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("root", torch.tensor(math.sqrt(2)))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.erf(x / self.root))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("held", [torch.float32, torch.float16, torch.bfloat16])
def test_constants_that_are_rounded_to_half_precision(held: torch.dtype, dtype: torch.dtype) -> None:
    module = Held().to(held)
    for activation in (module, module.forward):
        assert gradient_flow(activation, dtype=dtype).why == ""


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_what_cannot_be_followed_in_half_precision(dtype: torch.dtype) -> None:
    """Values in half precision do not tell erf from tanh."""
    for gelu in (F.gelu, nn.GELU("tanh")):
        assert gradient_flow(lambda x, gelu=gelu: torch.cat([gelu(h) for h in x.split(7)]), dtype=dtype).why == ""
        assert gradient_flow(lambda x, gelu=gelu: gelu(x.half()).to(x.dtype), dtype=dtype).why == ""
    assert not gradient_flow(lambda x: torch.cat([F.silu(h) for h in x.split(7)]), dtype=dtype).ok


def test_a_tolerance_lets_near_misses_pass() -> None:
    def short(x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.erf(x / 1.41))

    assert not gradient_flow(short).ok and not gradient_flow(short, tolerance=1e-4).ok
    assert gradient_flow(short, tolerance=1e-2).ok
    assert not gradient_flow(short, "tanh", tolerance=1e-2).ok
    assert not gradient_flow(F.silu, tolerance=1.0).ok


def test_warnings_of_the_callable_are_its_own() -> None:
    def noisy(x: Tensor) -> Tensor:
        warnings.warn("of its own", stacklevel=1)
        return F.gelu(x)

    assert gradient_flow(noisy).ok


def test_where_float16_is_not_used_the_message_says_what_to_do() -> None:
    message = gradient_flow(lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3)))).message()
    assert "Where it is never used in float16: dtype=torch.float32" in message


def test_the_repr_is_a_sentence() -> None:
    assert repr(gradient_flow(F.gelu)) == "<Flow: the erf GELU, nothing is wrong>"
    wrong = gradient_flow(F.silu)
    assert repr(wrong) == str(wrong) == f"<Flow: {wrong.why}>" and len(repr(wrong)) < 120


@pytest.mark.parametrize("cube", [lambda x: x**3, lambda x: torch.pow(x, 3), lambda x: x.pow(3.0)])
def test_what_overflows_where_no_activation_gets_is_a_note_in_bfloat16(cube: Callable[[Tensor], Tensor]) -> None:
    flow = gradient_flow(lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * cube(x)))), dtype=torch.bfloat16)
    assert flow.ok and flow.rows[-1].ok is None
    assert flow.rows[-1].got.endswith("from |x| = 1.06645e19 on, where no activation gets")
