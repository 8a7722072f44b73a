"""Runs an activation forward and backward on chosen points, and tells what it gives; judges nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gelu_lint.numerics.flavours import QUICK_SLOPE
from gelu_lint.runtime.faults import first_line, in_one_line

Activation = Callable[[Tensor], Tensor]

#: What arrives at a backward, by turns: powers of 2, that no rounding comes in.
_INCOMING = (1.0, -0.5, 2.0, -4.0, 0.25, -1.0, 4.0)
_CHECKED = (-4.0, -2.7, -1.97, -(2**0.5), -0.752, -0.1, 0.3, 1.0, 2.7, 4.0)
#: Steps of gradcheck and the error that passes: for what works in float64 inside, then in float32.
_STEPS = ((1e-6, 1e-5), (1e-2, 1e-4))
#: How the flavours are computed where nothing can be said against it.
_BUILT_INS: dict[str, tuple[str, Activation]] = {
    "erf": ("F.gelu", F.gelu),
    "tanh": ("F.gelu(approximate='tanh')", lambda x: F.gelu(x, approximate="tanh")),
    "quick": ("x * torch.sigmoid(1.702 * x)", lambda x: x * torch.sigmoid(QUICK_SLOPE * x)),
    "silu": ("F.silu", F.silu),
}


#: How far out values are compared: a clamp beyond guards against overflow.
FAR = 1000.0
#: As (batch, sequence, width), and as (batch, height, width, channels).
_SHAPES = {torch.float16: (2, 16, -1), torch.float32: (2, 16, -1), torch.bfloat16: (2, 4, 4, -1)}
#: How far values and slopes may be off over a sweep, relative to |x| where that exceeds 1: formulas typed by hand in
#: half precision lose up to half of this.
_LOOSE = {torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TURNED = 0.01  # how far a slope times a gradient that arrives may be from what comes out


class Run(NamedTuple):
    """What a callable gave at points: values, and slopes, or the fault for which there are none.

    ``overwrites``: it wrote on its input. ``incoming``: what its backward does wrong with the gradient that arrives.
    """

    points: list[float]
    values: list[float]
    slopes: list[float]
    fault: str
    overwrites: bool
    incoming: str = ""


def cast(function: Activation, dtype: torch.dtype, device: torch.device) -> Activation:
    """A copy of a module with its parameters in a dtype; what is no module, or has none, is taken as it is."""
    if not isinstance(function, nn.Module) or not [*function.parameters(), *function.buffers()]:
        return function
    try:
        return copy.deepcopy(function).to(device=device, dtype=dtype)
    except Exception:  # it holds what cannot be copied
        return function


def run(function: Activation, points: Sequence[float], dtype: torch.dtype, device: torch.device) -> Run:
    """Values and slopes at points, as far as the dtype has them; raises what the callable raises."""
    x = torch.tensor(points, dtype=torch.float64).to(device=device, dtype=dtype)
    leaf = x.clone().requires_grad_()
    given = leaf.clone()  # no leaf, so that what works in place can be run
    result = function(given)
    overwrites = not torch.equal(given.detach(), x)
    slopes, fault = _slopes(result, leaf)
    listed = _listed(slopes) if slopes is not None else []
    return Run(_listed(x), _listed(result), listed, fault, overwrites, "" if fault else _incoming(function, x, slopes))


def _incoming(function: Activation, x: Tensor, slopes: Tensor | None) -> str:
    """What a backward does wrong with the gradient that arrives, given the slopes, "" if nothing."""
    x = x.reshape(2, -1)
    leaf = x.clone().requires_grad_()
    result = function(leaf.clone())
    turns = torch.tensor(_INCOMING, dtype=result.dtype, device=result.device)
    given = turns.repeat(result.numel() // len(turns) + 1)[: result.numel()].reshape(result.shape)
    arrives = given.clone()
    (got,) = torch.autograd.grad(result, leaf, arrives, allow_unused=True)
    if not torch.equal(arrives, given):
        return "is overwritten"
    wanted = None if slopes is None else slopes.reshape(x.shape) * given.to(slopes.dtype)
    if got is None or wanted is None or torch.allclose(got, wanted, rtol=_TURNED, atol=_TURNED, equal_nan=True):
        return ""
    return "is not what the slope is multiplied by"


def _listed(tensor: Tensor) -> list[float]:
    values: list[float] = tensor.detach().double().tolist()
    return values


def _slopes(result: Tensor, leaf: Tensor) -> tuple[Tensor | None, str]:
    """The gradient, or what is in its way."""
    if not result.requires_grad:
        return None, "the result is cut off from the input (detach, .data, .item(), numpy or no_grad inside?)"
    try:
        (slopes,) = torch.autograd.grad(result, leaf, torch.ones_like(result), allow_unused=True)
    except RuntimeError as error:
        return None, f"backward raises {in_one_line(error).rstrip(',')}"
    return slopes, "" if slopes is not None else "the result does not depend on the input"


def gradcheck(function: Activation, device: torch.device) -> tuple[int, str, bool]:
    """torch's own comparison of gradients with differences of values: points, what it says, whether it passes."""
    x = torch.tensor(_CHECKED, dtype=torch.float64, device=device, requires_grad=True)
    fault = ""
    for step, tolerance in _STEPS:
        try:
            torch.autograd.gradcheck(
                lambda x: function(x.clone()), (x,), eps=step, atol=tolerance, check_undefined_grad=False
            )
        except RuntimeError as error:  # GradcheckError is one
            fault = fault or first_line(error).rstrip(",")
        else:
            return len(_CHECKED), "passes" if not fault else f"passes with steps of {step:g}", True
    return len(_CHECKED), fault, False


def finite(dtype: torch.dtype) -> Tensor:
    """All finite numbers of float16 (63,488) or bfloat16 (65,280), of shape (n,), in that dtype.

    For float32 those of float16, in float32.
    """
    kind = torch.float16 if dtype == torch.float32 else dtype
    numbers = torch.arange(-(2**15), 2**15).to(torch.int16).view(kind)
    return numbers[torch.isfinite(numbers)].to(dtype)


def sweep(
    function: Activation, dtype: torch.dtype, device: torch.device, flavour: str, compared: bool = False
) -> tuple[int, str, bool | None]:
    """Whether value and gradient are finite at all finite numbers: how many, what was found, and the verdict.

    Numbers where those of torch's built-in of the flavour are not finite either do not count, nor do those beyond the
    range of float16; the verdict is None where there are no others, and where the callable cannot be run in this dtype.
    ``compared``: up to |x| = FAR, values and slopes must also be about those of the built-in. That finds what goes
    wrong in this dtype, farther out, or in tensors of many numbers or of more dimensions alone.
    """
    points = finite(dtype).to(device)
    try:
        values, slopes, fault = _swept(cast(function, dtype, device), points, dtype)
    except Exception as error:
        return len(points), f"cannot be run: {in_one_line(error).rstrip(',')}", None
    if slopes is None:
        return (len(points), fault, None) if fault.startswith("backward") else (len(points), fault, False)
    name, built_in = _BUILT_INS.get(flavour, _BUILT_INS["erf"])
    bad = ~(torch.isfinite(slopes) & torch.isfinite(values))
    if compared and flavour in _BUILT_INS:
        exact, exact_slopes, _ = _swept(built_in, points.double(), dtype)
        assert exact_slopes is not None
        for what, got, wanted in (("value", values, exact), ("slope", slopes, exact_slopes)):
            size = points.double().abs()
            gap = ((got.double() - wanted).abs() / size.clamp(min=1.0)).masked_fill(bad | (size > FAR), 0.0)
            at = int(gap.argmax())
            if gap[at] > _LOOSE[dtype]:
                x, is_, be = (f"{tensor[at].item():.4g}".replace("e+", "e") for tensor in (points, got, wanted))
                return len(points), f"{what} {is_} at x = {x}, where it should be {be}".replace("-", "−"), False
    if not bad.any():
        return len(points), "finite", True
    own_values, own_slopes, _ = _swept(built_in, points, dtype)
    assert own_slopes is not None
    counted = bad & torch.isfinite(own_slopes) & torch.isfinite(own_values)
    if not counted.any():
        return len(points), f"{_where(points, bad)}; so is that of torch's own {name}", None
    if not (counted & (points.double().abs() <= torch.finfo(torch.float16).max)).any():
        return len(points), f"{_where(points, counted)}, where no activation gets", None
    return len(points), _where(points, counted), False


def _swept(function: Activation, points: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None, str]:
    """Values, slopes and fault at points, of shape (n,), that are given in more dimensions if it takes these."""
    try:
        return _at(function, points.reshape(_SHAPES[dtype]))
    except Exception:
        return _at(function, points)


def _at(function: Activation, points: Tensor) -> tuple[Tensor, Tensor | None, str]:
    leaf = points.clone().requires_grad_()
    result = function(leaf.clone())
    slopes, fault = _slopes(result, leaf)
    return result.detach().flatten(), slopes.flatten() if slopes is not None else None, fault


def _where(points: Tensor, bad: Tensor) -> str:
    least = points[bad].double().abs().min().item()
    return f"NaN or infinite at {int(bad.sum()):,}, from |x| = {least:.6g} on".replace("e+", "e")
