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


class Run(NamedTuple):
    """What a callable gave at points: values, and slopes, or the fault for which there are none.

    ``overwrites``: it wrote on its input.
    """

    points: list[float]
    values: list[float]
    slopes: list[float]
    fault: str
    overwrites: bool


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
    return Run(_listed(x), _listed(result), _listed(slopes) if slopes is not None else [], fault, overwrites)


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


def sweep(function: Activation, dtype: torch.dtype, device: torch.device, flavour: str) -> tuple[int, str, bool | None]:
    """Whether value and gradient are finite at all finite numbers: how many, what was found, and the verdict.

    Numbers where those of torch's built-in of the flavour are not finite either do not count; the verdict is None where
    there are no others, and where the callable cannot be run in this dtype.
    """
    points = finite(dtype).to(device)
    try:
        bad = _unsound(cast(function, dtype, device), points)
    except Exception as error:
        return len(points), f"cannot be run: {in_one_line(error).rstrip(',')}", None
    if not bad.any():
        return len(points), "finite", True
    name, built_in = _BUILT_INS.get(flavour, _BUILT_INS["erf"])
    counted = bad & ~_unsound(built_in, points)
    if not counted.any():
        return len(points), f"{_where(points, bad)}; so is that of torch's own {name}", None
    return len(points), _where(points, counted), False


def _unsound(function: Activation, points: Tensor) -> Tensor:
    """A mask of the points where the value or the gradient is not finite."""
    leaf = points.clone().requires_grad_()
    result = function(leaf.clone())
    slopes, fault = _slopes(result, leaf)
    if slopes is None:
        raise RuntimeError(fault)
    return ~(torch.isfinite(slopes) & torch.isfinite(result.detach()))


def _where(points: Tensor, bad: Tensor) -> str:
    least = points[bad].double().abs().min().item()
    return f"NaN or infinite at {int(bad.sum()):,}, from |x| = {least:.6g} on".replace("e+", "e")
