"""The largest difference between two functions: how much, where, and that in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from gelu_lint.numerics.flavours import Difference, Function
from gelu_lint.numerics.match import ROUNDING

_EVEN = 1e-6  # relative: below it the difference at -x is that at x
_TIE = 1e-5  # the same of samples, which may be in float32


class Peak(NamedTuple):
    """The largest difference.

    size    its magnitude; None if there is no bound, or a value is not finite
    words   "4.73e-4 at |x| = 2.699"
    points  (x, difference) where it is reached; () where it is a limit, has no bound or is rounding
    """

    size: float | None
    words: str
    points: tuple[tuple[float, float], ...] = ()

    @property
    def off(self) -> bool:
        """Whether it is more than rounding."""
        return self.size is None or self.size > ROUNDING

    @property
    def reach(self) -> float:
        """How far from 0 its points are."""
        return max((abs(x) for x, _ in self.points), default=0.0)

    @property
    def sentence(self) -> str:
        """What the size means."""
        if self.size is None:
            return self.words
        if not self.off:
            return f"the same function {self.words}"
        return f"off by up to {self.words}"


def peak(old: Function, new: Function, gap: Difference) -> Peak:
    """That of two functions, of which ``gap`` is the `difference`."""
    if gap.size is None:
        if math.isfinite(gap.at):
            return Peak(None, _minus(f"no finite value at x = {gap.at:.4g}"))
        return Peak(None, f"off without bound as x → {_infinity(gap.at)}")
    if gap.size <= ROUNDING:
        return Peak(gap.size, "in exact arithmetic")
    if math.isinf(gap.at):
        return Peak(gap.size, f"{amount(gap.size)} as x → {_infinity(gap.at)}")
    here, there = (new(x) - old(x) for x in (gap.at, -gap.at))
    even = bool(gap.at) and abs(abs(here) - abs(there)) <= _EVEN * gap.size
    points = ((gap.at, here), (-gap.at, there)) if even else ((gap.at, here),)
    return Peak(gap.size, f"{amount(gap.size)} at {_place(gap.at, even)}", points)


def peak_among(points: Sequence[float], differences: Sequence[float]) -> Peak:
    """That of samples; nan and ±inf are left out."""
    known = [(abs(value), x, value) for x, value in zip(points, differences, strict=True) if math.isfinite(value)]
    if not known:
        return Peak(None, "no finite value at all")
    size = max(known)[0]
    if size <= ROUNDING:
        return Peak(size, "up to rounding")
    ties = sorted((round(abs(x), 9), x, value) for gap, x, value in known if gap >= size * (1 - _TIE))
    nearest = [(x, value) for distance, x, value in ties if distance == ties[0][0]]
    return Peak(size, f"{amount(size)} at {_place(nearest[0][0], len(nearest) > 1)}", tuple(nearest))


def amount(size: float) -> str:
    """A number as messages write it: 0.193, 0.0203, 4.73e-4."""
    return f"{size:.3g}" if size >= 1e-3 or not size else re.sub(r"e-0", "e-", f"{size:.2e}")


def _place(at: float, even: bool) -> str:
    return f"|x| = {abs(at):.3f}" if even else _minus(f"x = {at:.3f}" if at else "x = 0")


def _infinity(at: float) -> str:
    return "∞" if at > 0 else "−∞"


def _minus(text: str) -> str:
    return text.replace("-", "−")
