"""The exact values and slopes of the flavours, of floats and of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gelu_lint.config import did_you_mean
from gelu_lint.numerics.flavours import Function
from gelu_lint.runtime.identities import functions

#: Names of flavours and families, with those of torch's ``approximate``.
NAMES = {**{name: name for name in ("erf", "tanh", "quick", "silu", "gelu_t", "sigmoid_k")}, "none": "erf"}


class Exact(NamedTuple):
    """A flavour: ``value`` and ``slope`` take a float, or a tensor of any shape and give one of float64."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]


def exact(flavour: str, parameter: float | None = None) -> Exact:
    """The value and the slope of a flavour, by its name in NAMES.

    ``parameter``: τ of "gelu_t" (x·Φ(x/τ), by default 1), k of "sigmoid_k" (x·σ(kx), by default 1.702). Relative errors
    are those of `numerics.flavours`: below 1e-11 wherever the result is a normal float. Works number by number, some
    10⁶ a second: for tests. Raises ValueError for another name.
    """
    value, slope = functions(named(flavour), parameter)
    return Exact(_lifted(value), _lifted(slope))


def named(flavour: object) -> str:
    """A name in NAMES as the flavour that it means. Raises ValueError for another."""
    if flavour not in NAMES:
        hint = did_you_mean(str(flavour), NAMES)
        raise ValueError(f"{flavour!r} is none of {', '.join(map(repr, NAMES))}{hint}")
    return NAMES[str(flavour)]


def _lifted(function: Function) -> Callable[[Any], Any]:
    def lifted(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return function(float(x))
        values = [function(value) for value in x.detach().to("cpu", torch.float64).flatten().tolist()]
        return torch.tensor(values, dtype=torch.float64, device=x.device).reshape(x.shape)

    return lifted
