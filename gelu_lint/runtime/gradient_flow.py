"""Is this callable the GELU that it is taken for, and does its gradient get through?

Slopes at 0 and 10 prove nothing: SiLU, x·σ(1.702x) and both GELUs have them. What is asked here tells them apart.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from gelu_lint.handwritten import distance, label, off
from gelu_lint.numerics.evaluate import CORE, GRID
from gelu_lint.numerics.flavours import FLAVOURS, Function
from gelu_lint.numerics.match import Identity
from gelu_lint.reports.text import aligned
from gelu_lint.runtime.exact import named
from gelu_lint.runtime.identities import functions
from gelu_lint.runtime.phrases import phrase
from gelu_lint.runtime.recognise import NotElementwise, recognise
from gelu_lint.runtime.runs import Activation, Run, gradcheck, run, sweep
from gelu_lint.runtime.subject import home

#: What is right where nothing is expected.
ANY = ("erf", "tanh")
#: (what, x): GELUs have slope 0.5, 1 and 0 at 0, 10 and -10; at -√2 the slope is least, at -0.752 the value. At ±2.7,
#: -1.97 and -2.27 the erf GELU is farthest from tanh (4.73e-4), SiLU (0.193) and x·σ(1.702x) (0.0203).
POINTS = (
    *(("slope", x) for x in (0.0, 10.0, -10.0, -math.sqrt(2))),
    *(("value", x) for x in (-0.752, -2.7, 2.7, -1.97, -2.27)),
)
#: First those, then what values decide on, then enough for a maximum to two digits.
_ALL = (*(x for _, x in POINTS), *GRID, *(i / 32 for i in range(-192, 193)))
#: By dtype the error of a value and of a slope that passes, relative to what exceeds 1. Truncated constants (0.0447,
#: 0.7071) are worth 1e-5 and 1e-4; the slopes of erf and tanh are up to 8.7e-4 apart. Half precision: some roundings.
_TOLERANCES = {
    torch.float64: (1e-5, 1e-4),
    torch.float32: (1e-5, 1e-4),
    torch.float16: (5e-3, 5e-3),
    torch.bfloat16: (4e-2, 4e-2),
}
#: By the dtype in which a callable is used those in which its gradient must be finite; float64 stands for any.
_SWEPT = {
    torch.float64: (torch.float32, torch.float16, torch.bfloat16),
    torch.float32: (torch.float32,),
    torch.float16: (torch.float16,),
    torch.bfloat16: (torch.bfloat16,),
}
HALF = (torch.float16, torch.bfloat16)
_MARKS = {True: "✔", False: "✘", None: "–"}


class GradientFlowError(AssertionError):
    """A callable is not the GELU that it is taken for, or a gradient does not get through."""


class Row(NamedTuple):
    """One thing that was asked: what, at which x, what is right, what was found, and whether it is (None: a note)."""

    what: str
    at: str
    wanted: str
    got: str
    ok: bool | None


class Flow(NamedTuple):
    """What was found of a callable.

    rows      all that was asked
    identity  which function it computes
    wanted    the flavour that it was held against
    why       what is wrong, in one sentence, "" where nothing is
    run       its values and slopes
    """

    rows: tuple[Row, ...]
    identity: Identity
    wanted: str
    why: str
    run: Run

    def __repr__(self) -> str:
        return f"<Flow: {self.why or f'{phrase(self.identity)}, nothing is wrong'}>"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.why

    def table(self) -> str:
        """The rows as text: ✔ right, ✘ wrong, – a note."""
        rows = ((_MARKS[row.ok], *row[:4]) for row in self.rows)
        return "\n".join(aligned([("", "what", "at", "wanted", "got"), *rows]))

    def message(self) -> str:
        """What is wrong, then the table."""
        ways = sum(row.what.startswith("gradient in") for row in self.rows)
        hint = "\nWhere it is never used in float16: dtype=torch.float32 (or bfloat16) asks for that alone."
        hint = hint if ways > 1 and self.why.startswith("its gradient in float16") else ""
        return f"{self.why or 'nothing is wrong'}{hint}\n\n{self.table()}"

    def picture(self, path: Path) -> bool:
        """Draw what is off, beside what it should be; False where nothing can be seen, or matplotlib is missing."""
        from gelu_lint.runtime.canvas import NoMatplotlib
        from gelu_lint.runtime.plots import against

        off = {row.what.partition(",")[0] for row in self.rows if row.ok is False} & {"value", "slope"}
        if not off or self.wanted not in FLAVOURS:
            return False
        slope = "value" not in off
        seen = dict(zip(self.run.points, self.run.slopes if slope else self.run.values, strict=True))
        points = sorted(seen)
        try:
            against((points, [seen[x] for x in points]), self.wanted, path, title=self.why, slope=slope)
        except NoMatplotlib:
            return False
        return True


def gradient_flow(
    function: Activation,
    expected: str | None = None,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
    tolerance: float | None = None,
) -> Flow:
    """Hold a callable, Tensor → Tensor of the same shape, element by element, against the GELU that it should be.

    expected   "erf" (or "none"), "tanh", "quick", "silu", "gelu_t" (any τ), "sigmoid_k" (any k); None: erf or tanh
    dtype      the dtype in which it is used, and compared. float64 stands for any: it is compared in float64 and its
               gradient must be finite at all finite numbers of float16 and of bfloat16; for float32 at those of
               float16. Values and slopes there must be about right up to |x| = 1000, too
    device     where to run it; by default where a module has its parameters, else the CPU
    tolerance  the error of values and slopes that passes, relative to what exceeds 1 (by default 1e-5 and 1e-4, in half
               precision, in which it works or holds its numbers, 5e-3 and 4e-2). A near miss that is no more off passes

    A module is looked at in the mode it is in (train or eval), as a copy with its parameters in the dtype. Works under
    no_grad and inference_mode. Raises ValueError for another flavour or dtype, TypeError for what cannot be called, and
    NotElementwise, a ValueError, for what is not element by element, is random, or raises itself.
    """
    allowed = ANY if expected is None else (named(expected),)
    if dtype not in _SWEPT:
        raise ValueError(f"dtype={dtype!r} is none of {', '.join(map(str, _SWEPT))}")
    if isinstance(function, type):
        raise TypeError(f"{function.__name__} is a class: give an instance of it, {function.__name__}()")
    where = torch.device(device) if device is not None else home(function)
    with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the callable's own code
        return _flow(function, allowed, dtype, where, tolerance)


def _flow(
    function: Activation,
    allowed: tuple[str, ...],
    dtype: torch.dtype,
    device: torch.device,
    tolerance: float | None,
) -> Flow:
    identity = _recognised(function, dtype, device)
    wanted = next((name for name in (identity.flavour, identity.nearest) if name in allowed), allowed[0])
    swept = _SWEPT[dtype]
    try:
        found = run(function, _ALL, dtype, device)
    except Exception:
        if dtype != torch.float64:
            raise
        dtype = torch.float32  # kernels and constants of one dtype
        found = run(function, _ALL, dtype, device)
    coarse = _coarsest(function, found, dtype)
    rows, why = _compared(identity, allowed, wanted, found, dtype, coarse, tolerance)
    sound = not why
    if found.overwrites:
        rows.append(Row("input", "", "left alone", "overwritten", False))
        why.append("overwrites its input: whatever else reads it, a residual connection say, gets the result instead")
    if not found.fault:
        if found.incoming:
            rows.append(Row("backward", "", "slope × incoming", f"the incoming gradient {found.incoming}", False))
            why.append(f"its backward is wrong: the incoming gradient {found.incoming}")
        if dtype == torch.float64 and coarse not in HALF:
            points, said, passes = gradcheck(function, device)
            rows.append(Row("gradcheck", f"{points} points", "passes", said, passes))
            why += [] if passes else [f"fails torch.autograd.gradcheck: {said}"]
        for kind in swept:
            numbers, said, right = sweep(function, kind, device, wanted, compared=sound and tolerance is None)
            rows.append(Row(f"gradient in {_name(kind)}", f"{numbers:,} numbers", "finite", said, right))
            if right is False:
                why.append(_fault(kind, numbers, said))
    return Flow(tuple(rows), identity, wanted, why[0] if why else "", found)


def _fault(dtype: torch.dtype, numbers: int, said: str) -> str:
    """What a sweep found, in one sentence."""
    if said.startswith("NaN"):
        return f"its gradient in {_name(dtype)} is not finite: {said}"
    return f"in {_name(dtype)}, on a tensor of {numbers:,} numbers: {said}"


def _recognised(function: Activation, dtype: torch.dtype, device: torch.device) -> Identity:
    """The function that is computed; where half precision is too coarse to tell, that in float32."""
    identity = recognise(function, dtype=dtype, device=device)
    if dtype not in HALF or identity.flavour != "unknown":
        return identity
    try:
        finer = recognise(function, dtype=torch.float32, device=device)
    except NotElementwise:
        return identity
    return finer if finer.flavour != "unknown" else identity


def _coarsest(function: Activation, found: Run, dtype: torch.dtype) -> torch.dtype:
    """The dtype that limits the precision: the one it is run in, of a tensor that it holds, or of what it gives."""
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
    held = [t.dtype for t in (*owner.parameters(), *owner.buffers())] if isinstance(owner, nn.Module) else []
    values = torch.tensor([y for y in found.values if math.isfinite(y)], dtype=torch.float64)
    given = [kind for kind in HALF if torch.equal(values.to(kind).double(), values)]
    return next((kind for kind in reversed(HALF) if kind in (dtype, *held, *given)), dtype)


def _compared(
    identity: Identity,
    allowed: tuple[str, ...],
    wanted: str,
    found: Run,
    dtype: torch.dtype,
    coarse: torch.dtype,
    tolerance: float | None,
) -> tuple[list[Row], list[str]]:
    """Values and slopes, held against the exact ones: the rows, and what is wrong."""
    value, slope = functions(wanted, identity.parameter if identity.flavour == wanted else None)
    value_tolerance, slope_tolerance = (tolerance, tolerance) if tolerance is not None else _TOLERANCES[coarse]
    values = _Column("value", found.points, found.values, value, value_tolerance)
    slopes = _Column("slope", found.points, found.slopes, slope, slope_tolerance)
    nearly = identity.flavour in ("near", "unknown") and identity.nearest in allowed
    grain = torch.finfo(coarse).eps / 4 if coarse in HALF else 0.0  # what a constant that is rounded is worth
    if identity.flavour == "unknown" and identity.why.startswith("half precision"):
        grain = value_tolerance
    right = identity.flavour in allowed or (
        nearly and values.worst().ok is True and identity.error <= max(tolerance or 0.0, grain)
    )
    words = phrase(identity)
    rows = [Row("function", "", " or ".join(map(label, allowed)), words, right)]
    why = []
    if not right:
        asked = "the GELU" if len(allowed) > 1 else label(allowed[0])
        what = f"{words} ({identity.why})" if identity.flavour in ("near", "unknown") and identity.why else words
        why.append(f"computes {what}, not {asked}: {_apart(identity, wanted, values)}")
    if found.fault:
        rows.append(Row("gradient", "", "one", found.fault, False))
        why.append(f"no gradient gets through: {found.fault}")
    columns = {"value": values, "slope": slopes}
    rows += [columns[what].row(i) for i, (what, _) in enumerate(POINTS) if columns[what].got]
    rows += [column.worst() for column in (slopes, values) if column.got]
    if right and slopes.got and not slopes.worst().ok:
        why.append(f"computes {words}, but its gradient is not the slope of that{_whose(slopes)}: {slopes.gap()}")
    if right and not values.worst().ok:
        why.append(f"computes {words}, but not to {value_tolerance:g} in {_name(dtype)}: {values.gap()}")
    return rows, why


def _apart(identity: Identity, wanted: str, values: _Column) -> str:
    """How far it is off, in words."""
    if identity.flavour in FLAVOURS and wanted in FLAVOURS:
        return off(identity.flavour, wanted)[1]
    if identity.flavour == "near" and identity.nearest == wanted:
        return distance(identity.error if math.isfinite(identity.error) else None, identity.at)
    return values.gap()


def _number(x: float) -> str:
    """A number as people write it: a true minus, six digits."""
    return "0" if abs(x) < 1e-12 else f"{x:.6g}".replace("-", "−").replace("e−0", "e−").replace("e+", "e")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class _Column(NamedTuple):
    """Values or slopes at points, and what they should be."""

    what: str
    at: Sequence[float]
    got: Sequence[float]
    exact: Function
    tolerance: float

    def row(self, i: int) -> Row:
        want = self.exact(self.at[i])
        passes = abs(self.got[i] - want) <= self.tolerance * max(1.0, abs(want))  # nan does not
        return Row(self.what, _number(self.at[i]), _number(want), _number(self.got[i]), passes)

    def worst(self) -> Row:
        """The row of the point that is farthest off for its size."""
        row = self.row(max(range(len(self.at)), key=lambda i: self._error(i, relative=True)))
        return row._replace(what=f"{self.what}, worst of {len(self.at)}")

    def gap(self) -> str:
        """How far they are off where activations bend, in words."""
        core = max((i for i, x in enumerate(self.at) if abs(x) <= CORE), key=self._error)
        i = core if self._error(core) > self.tolerance else max(range(len(self.at)), key=self._error)
        if not math.isfinite(self.got[i]):
            return f"{_number(self.got[i])} at x = {_number(self.at[i])}"
        return distance(self._error(i), self.at[i])

    def _error(self, i: int, relative: bool = False) -> float:
        want = self.exact(self.at[i])
        error = abs(self.got[i] - want) / (max(1.0, abs(want)) if relative else 1.0)
        return error if error == error else math.inf


def _whose(slopes: _Column) -> str:
    """Whose slope it is, if that of another flavour."""
    for name, flavour in FLAVOURS.items():
        if slopes._replace(exact=flavour.slope).worst().ok:
            return f" (it is that of {label(name)})"
    return ""
