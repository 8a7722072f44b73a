"""Operations of torch that have an activation inside: what they compute is asked of themselves, on their device.

Signatures: native_functions.yaml of torch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from gelu_lint.runtime.record import Fused

_WIDTH = 64  # elements that one call works on: the width of a layer, which must be divisible by its two heads


class Kernel(NamedTuple):
    """An operation: what people call it, and the function inside, with a GELU or with ReLU."""

    callee: str
    function: Callable[[torch.device, torch.dtype, bool], Callable[[torch.Tensor], torch.Tensor]]


def _layer(device: torch.device, dtype: torch.dtype, gelu: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    """A layer whose attention gives 0 and whose second norm gives the elements of x, whatever it gets: what is left is
    the activation between two identities."""
    options: Any = {"device": device, "dtype": dtype}
    zero, one, many = torch.zeros(_WIDTH, **options), torch.eye(_WIDTH, **options), torch.zeros(3 * _WIDTH, **options)
    attention = (torch.zeros(3 * _WIDTH, _WIDTH, **options), many, torch.zeros_like(one), zero)

    def activation(x: torch.Tensor) -> torch.Tensor:
        def row(elements: torch.Tensor) -> torch.Tensor:
            norms = (zero, zero, zero, elements)
            feed_forward = (one, zero, one, zero)
            source = torch.zeros(1, 1, _WIDTH, **options)
            result: torch.Tensor = torch._transformer_encoder_layer_fwd(
                source, _WIDTH, 2, *attention, gelu, True, 1e-5, *norms, *feed_forward
            )
            return result.reshape(-1)

        return _by_rows(x.to(**options), row).to(x)

    return activation


def _product(device: torch.device, dtype: torch.dtype, gelu: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    options: Any = {"device": device, "dtype": dtype}
    zero, one = torch.zeros(_WIDTH, **options), torch.eye(_WIDTH, **options)

    def activation(x: torch.Tensor) -> torch.Tensor:
        def row(elements: torch.Tensor) -> torch.Tensor:
            return torch._addmm_activation(zero, elements.reshape(1, -1), one, use_gelu=gelu).reshape(-1)

        return _by_rows(x.to(**options), row).to(x)

    return activation


def _by_rows(x: torch.Tensor, row: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    padded = torch.nn.functional.pad(x.reshape(-1), (0, -x.numel() % _WIDTH))
    rows = [row(elements.contiguous()) for elements in padded.reshape(-1, _WIDTH)]
    return torch.cat(rows)[: x.numel()].reshape(x.shape) if rows else x


KERNELS = {
    "_transformer_encoder_layer_fwd": Kernel("torch._transformer_encoder_layer_fwd", _layer),
    "_addmm_activation": Kernel("torch._addmm_activation", _product),
}


def uses_gelu(fused: Fused) -> bool:
    """Whether a call of one of KERNELS asks for a GELU."""
    names = [argument.name for argument in fused.func._schema.arguments]
    at = names.index("use_gelu")
    return bool(fused.args[at] if at < len(fused.args) else fused.kwargs.get("use_gelu", False))


def inside(fused: Fused) -> Callable[[torch.Tensor], torch.Tensor]:
    """The activation in a call of one of KERNELS, on its device. It has no gradient."""
    kernel = KERNELS[fused.name]
    dtype = fused.dtype if torch.finfo(fused.dtype).eps < 1e-6 else torch.float32  # half is too coarse to tell
    return kernel.function(fused.device, dtype, uses_gelu(fused))
