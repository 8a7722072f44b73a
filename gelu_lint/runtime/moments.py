"""Counts, means and spreads that add up exactly, and what a GELU gives for Gaussian input. Pure Python, float64.

Standard deviations are those of a whole population (divided by n): two halves merge to the value of the whole.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from gelu_lint.numerics.flavours import INV_SQRT_2PI, SQRT_HALF


class Moments(NamedTuple):
    """How many values, their mean, and the sum of their squared distances from it."""

    size: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def std(self) -> float:
        """Population standard deviation; nan where there are no values."""
        return math.sqrt(self.squares / self.size) if self.size else math.nan

    def merge(self, other: Moments) -> Moments:
        """Those of both together. Source: Chan, Golub & LeVeque 1979, the pairwise update."""
        if not self.size or not other.size:
            return self if self.size else other
        size = self.size + other.size
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.size / size)
        return Moments(size, mean, self.squares + other.squares + apart * apart * (self.size * other.size / size))


class Tally(NamedTuple):
    """What one layer gave and took, over any number of tensors.

    output, input    of the finite values; those of the input are empty where it is not known
    bad_outputs      how many outputs are nan or infinite
    bad_inputs       the same of the inputs
    pairs            how many outputs have a known input
    dead, saturated  how many of them have a gate (output divided by input) of at most 0.001, at least 0.999
    gap              the largest |output − x·Φ(x)| of some of them with |x| ≤ 4: up to 0.0203 for the flavours of GELU,
                     and what rounding adds
    """

    output: Moments = Moments()
    input: Moments = Moments()
    bad_outputs: int = 0
    bad_inputs: int = 0
    pairs: int = 0
    dead: int = 0
    saturated: int = 0
    gap: float = 0.0

    def merge(self, other: Tally) -> Tally:
        """That of both together."""
        counts = (mine + others for mine, others in zip(self[2:7], other[2:7], strict=True))
        gap = max(self.gap, other.gap)
        return Tally._make((self.output.merge(other.output), self.input.merge(other.input), *counts, gap))

    def values(self) -> dict[str, float]:
        """The numbers to log. What cannot be told (no finite output, unknown input) is left out."""
        found: dict[str, float] = {}
        for name, moments in (("output", self.output), ("input", self.input)):
            if moments.size:
                found |= {f"gelu_{name}_std": moments.std, f"gelu_{name}_mean": moments.mean}
        if self.pairs:
            found |= {
                "gelu_dead_fraction": self.dead / self.pairs,
                "gelu_saturated_fraction": self.saturated / self.pairs,
            }
        return found | {"gelu_nonfinite": float(self.bad_outputs)}

    def plain(self) -> dict[str, list[float] | float]:
        """As lists and numbers, which JSON and torch.save take."""
        return {name: list(value) if isinstance(value, Moments) else value for name, value in self._asdict().items()}


def tally(plain: dict[str, Any]) -> Tally:
    """The inverse of `Tally.plain`. KeyError and TypeError for anything else."""
    moments = []
    for name in ("output", "input"):
        size, mean, squares = plain[name]
        moments.append(Moments(int(size), float(mean), float(squares)))
    counts = (int(plain[name]) for name in Tally._fields[2:7])
    return Tally._make((*moments, *counts, float(plain["gap"])))


def total(tallies: Iterable[Tally]) -> Tally:
    """Those of all together, in the order given."""
    whole = Tally()
    for each in tallies:
        whole = whole.merge(each)
    return whole


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x * SQRT_HALF)


def _pdf(x: float) -> float:
    return INV_SQRT_2PI * math.exp(-0.5 * x * x)


def _owen(h: float, a: float) -> float:
    # Owen's T(h, a) for 0 <= a <= 1: Simpson's rule, whose error here is below 1e-11.
    panels = 256
    step = a / panels
    weights = (1 if i in (0, panels) else 4 if i % 2 else 2 for i in range(panels + 1))
    terms = (math.exp(-0.5 * h * h * (1 + (i * step) ** 2)) / (1 + (i * step) ** 2) for i in range(panels + 1))
    return step / 3 * sum(weight * term for weight, term in zip(weights, terms, strict=True)) / (2 * math.pi)


def _narrow(mean: float, std: float) -> tuple[float, float]:
    # `gaussian` where E[y²] − E[y]² would cancel: sums over z, exact to rounding for what is smooth within a few std.
    step = 0.05
    points = [i * step for i in range(-240, 241)]
    weights = [step * _pdf(z) for z in points]
    values = [(mean + std * z) * _cdf(mean + std * z) for z in points]
    first = math.fsum(map(operator.mul, weights, values))
    return first, math.sqrt(math.fsum(w * (y - first) ** 2 for w, y in zip(weights, values, strict=True)))


def gaussian(mean: float, std: float) -> tuple[float, float]:
    """Mean and standard deviation of x·Φ(x) for Gaussian x, in closed form but for Owen's T.

    Sums where that would cancel, for input that is narrow or far from 0.

    Repeated use of E[(x − m)·g(x)] = s²·E[g'(x)] (Stein) leaves E[Φ²] = Φ(t) − 2·T(t, 1/√(1 + 2s²)),
    t = m/√(1 + s²) (Owen 1956), and products with φ(x), which are Gaussian integrals again.
    """
    if abs(mean) > 10 * std or std < 0.01:
        return _narrow(mean, std)
    variance = std * std
    width = math.sqrt(1 + variance)
    t = mean / width
    first = mean * _cdf(t) + variance / width * _pdf(t)
    # φ(x) times the density of the input is `factor` times another Gaussian density.
    factor, there, spread = _pdf(t) / width, mean / (1 + variance), variance / (1 + variance)
    wider = math.sqrt(1 + spread)
    gate = factor * _cdf(there / wider)  # E[Φφ]
    moved = factor * (there * _cdf(there / wider) + spread / wider * _pdf(there / wider))  # E[xΦφ]
    gates = _cdf(t) - 2 * _owen(t, 1 / math.sqrt(1 + 2 * variance))  # E[Φ²]
    second = mean * (mean * gates + 2 * variance * gate) + variance * (gates + 2 * moved)
    return first, math.sqrt(max(0.0, second - first * first))


@lru_cache(maxsize=64)
def input_std(output_std: float) -> float:
    """The standard deviation of zero-mean Gaussian input for which x·Φ(x) has this one: 0.541 for 0.3, 1.18 for 0.7."""
    low, high = 0.0, 2.0 * output_std + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if gaussian(0.0, middle)[1] < output_std:
            low = middle
        else:
            high = middle
    return (low + high) / 2
