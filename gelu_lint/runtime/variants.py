"""GELUs with something added, as reference modules: a temperature, bounds, a random mask. Autograd gives gradients.

Each applies torch's own GELU, whose kernels compute half precision in float32.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_LEAST = -0.17  # at x = -0.7518; more exactly -0.16997, and -0.17004 of the tanh GELU


class GELUT(nn.Module):
    """x·Φ(x/τ), computed as τ·GELU(x/τ) with the GELU that ``approximate`` names ("none" or "tanh").

    tau > 0 has no unit; with ``learnable`` it is a parameter (one number), else a plain float. The slope at 0 is 0.5
    for every τ: a τ above 1 makes the gate softer (its slope at 0 is 0.3989/τ), not the activation steeper. A learned
    τ must stay positive: keep its learning rate low, or train its logarithm.

    Input and output have the same shape and dtype; half precision is computed in float32, where x/τ does not overflow.
    Raises ValueError for a tau that is not positive and finite, or another ``approximate``, and TypeError for tensors
    that are not floating-point.
    """

    def __init__(self, tau: float = 1.0, *, approximate: str = "none", learnable: bool = False) -> None:
        super().__init__()
        if not (math.isfinite(tau) and tau > 0):
            raise ValueError(f"tau must be positive and finite, not {tau}")
        self.tau = nn.Parameter(torch.tensor(float(tau))) if learnable else float(tau)
        self.approximate = _checked(approximate)

    def forward(self, x: Tensor) -> Tensor:
        """The activation of each element."""
        if not x.is_floating_point():  # as GELU does; the result would be rounded to the dtype of x
            raise TypeError(f"GELUT takes floating-point tensors, not {x.dtype}")
        wide = x if x.dtype == torch.float64 else x.to(torch.float32)
        return (self.tau * F.gelu(wide / self.tau, approximate=self.approximate)).to(x.dtype)

    def extra_repr(self) -> str:
        learnable = isinstance(self.tau, nn.Parameter)
        tau = float(self.tau.detach()) if isinstance(self.tau, nn.Parameter) else self.tau
        return f"{tau:.6g}, approximate={self.approximate!r}" + (", learnable=True" if learnable else "")


class GELUClip(nn.Module):
    """GELU, clamped to [minimum, maximum]; None leaves an end open. Beyond an end the gradient is 0.

    No GELU is below -0.1701, so a ``minimum`` of, say, -10 never acts. A unit whose inputs stay above ``maximum`` gets
    no gradient.

    Input and output have the same shape and dtype. Raises ValueError without any end, where an end is nan, where
    minimum >= maximum or maximum < -0.17 (all would be one number), or for another ``approximate``.
    """

    def __init__(
        self, minimum: float | None = None, maximum: float | None = None, *, approximate: str = "none"
    ) -> None:
        super().__init__()
        if minimum is None and maximum is None:
            raise ValueError("minimum, maximum or both must be given")
        low, high = -math.inf if minimum is None else minimum, math.inf if maximum is None else maximum
        if not low < high:
            raise ValueError(f"minimum must be below maximum, not {minimum} and {maximum}")
        if high < _LEAST:
            raise ValueError(f"maximum must be above {_LEAST}, the least value of GELU, not {maximum}")
        self.minimum, self.maximum = minimum, maximum
        self.approximate = _checked(approximate)

    def forward(self, x: Tensor) -> Tensor:
        """The activation of each element."""
        return torch.clamp(F.gelu(x, approximate=self.approximate), self.minimum, self.maximum)

    def extra_repr(self) -> str:
        return f"{self.minimum}, {self.maximum}, approximate={self.approximate!r}"


class SparseGELU(nn.Module):
    """GELU whose outputs are each dropped with probability p while training, and the others multiplied by 1/(1 - p).

    So the expectation is GELU; without the factor it would be (1 - p)·GELU, and a model would see other sizes in
    training than in use. In eval mode it is GELU. Gradients are 0 where the output is dropped. The masks come from
    torch's default generator: `torch.manual_seed` fixes them.

    Input and output have the same shape and dtype; p is in [0, 1). Raises ValueError for another p, or another
    ``approximate``.
    """

    def __init__(self, p: float = 0.5, *, approximate: str = "none") -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p must be in [0, 1), not {p}")
        self.p = float(p)
        self.approximate = _checked(approximate)

    def forward(self, x: Tensor) -> Tensor:
        """The activation of each element."""
        return F.dropout(F.gelu(x, approximate=self.approximate), self.p, self.training)

    def extra_repr(self) -> str:
        return f"{self.p}, approximate={self.approximate!r}"


def _checked(approximate: str) -> str:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    return approximate
