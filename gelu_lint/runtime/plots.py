"""Pictures of the functions that go by the name GELU: their curves, how far they are apart, and what one is wrong by.

Each gives a matplotlib Figure, and writes it where a path is given: PNG or SVG, as the suffix says. x and f(x) have no
unit, nor has f′(x). Values come from `gelu_lint.numerics`, in float64; torch is not needed. All raise
`canvas.NoMatplotlib` without matplotlib, and `canvas.Unwritable` for a path that no picture can be written to.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gelu_lint.numerics.flavours import FLAVOURS, Function, between, difference
from gelu_lint.numerics.match import ROUNDING, Identity
from gelu_lint.reports.text import printable
from gelu_lint.runtime.canvas import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILION,
    Curve,
    Path,
    draw,
    figure,
    format_of,
    frame,
    legend,
    mark,
    save,
    style,
)
from gelu_lint.runtime.identities import function_of
from gelu_lint.runtime.peak import Peak, peak, peak_among
from gelu_lint.runtime.phrases import explained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Values that were measured: x, ascending, and f(x).
Samples = tuple[Sequence[float], Sequence[float]]

#: How each flavour is drawn. erf and tanh lie on each other at any scale that shows both: dashes let both be seen.
CURVES = {
    "erf": Curve("erf  x·Φ(x)", BLUE, width=2.6),
    "tanh": Curve("tanh  0.5x(1 + tanh …)", VERMILION, (2.0, 2.0)),
    "quick": Curve("quick  x·σ(1.702x)", GREEN, (5.0, 1.5)),
    "silu": Curve("SiLU  x·σ(x)", PURPLE, (5.0, 1.2, 1.0, 1.2)),
    "relu": Curve("ReLU  max(x, 0)", GREY, (1.0, 1.0), 1.5),
}
#: The flavour that errors are told against: the function that the paper defines.
REFERENCE = "erf"
ERRORS = ("tanh", "quick", "silu")

_DIP = (-3.0, 0.0)  # where flavours differ most to the eye
_PLACE = (0.15, 0.5, 0.33, 0.46)  # of a panel, for that magnified: left, bottom, width, height
_TICKS = 0.12  # of a panel, for the numbers beside and below that
_LINE = 90  # characters of a title that fit
_EQUATION = re.compile(" ([=→]) ")  # "x = 1.5" stays in one line
_TIE = "\N{NO-BREAK SPACE}"
_COUNT = 601  # points of a curve: two a pixel
_FAR = re.compile(r"\boff (?:by|without)\b|\bup to [\d.e-]+ away\b")  # how messages tell a difference
_REACHES = (4.0, 6.0, 12.0)
_EDGE = 0.85  # of a reach: where the largest difference still has room around it
_LEAST = 4 * ROUNDING  # of an axis of differences: what is below shows as none
_FLAT = 0.1  # margin around what is flat
_ROOM = 2.0  # how far a curve may lead the axis away from the one that is wanted, in heights of that


def flavours(path: Path | None = None) -> Figure:
    """Value and slope of every flavour, with the dip below 0, where the eye can tell them apart, magnified."""
    _check(path)
    with style():
        made = figure(4.2)
        left, right = made.subplots(1, 2)
        for axes, slope, across, up in (
            (left, False, (-4.0, 3.0), (-0.5, 3.0)),
            (right, True, (-4.0, 4.0), (-0.25, 1.25)),
        ):
            axes.set(xlim=across, ylim=up, xlabel="x", ylabel=_label(slope))
            _all(axes, across, slope)
        for axes, slope, place, across, up, ticks in (
            (left, False, (0.13, 0.46, 0.45, 0.5), (-3.0, 0.0), (-0.3, 0.02), (-0.3, -0.2, -0.1, 0.0)),
            (right, True, (0.67, 0.13, 0.32, 0.46), (-4.0, 0.0), (-0.15, 0.02), (-0.15, -0.1, -0.05, 0.0)),
        ):
            inset = axes.inset_axes(place)
            inset.set(xlim=across, ylim=up, yticks=ticks)
            inset.tick_params(labelsize=8)
            inset.spines[:].set_visible(True)
            _all(inset, across, slope)
            frame(axes, across, up)
        legend(made, left)
    return _given(made, path)


def errors(path: Path | None = None) -> Figure:
    """How far tanh, quick and SiLU are from erf, each at a scale of its own, with the maximum and where it is."""
    _check(path)
    old = FLAVOURS[REFERENCE].value
    points = _points(-6.0, 6.0)
    with style():
        made = figure(3.2)
        for axes, name in zip(made.subplots(1, len(ERRORS)), ERRORS, strict=True):
            new = FLAVOURS[name].value
            largest = peak(old, new, between(REFERENCE, name))
            draw(axes, points, [new(x) - old(x) for x in points], CURVES[name]._replace(dashes=()))
            mark(axes, largest.points)
            axes.set(xlabel="x", xlim=(-6, 6), xticks=(-6, -3, 0, 3, 6))
            axes.set_title(f"{_name(name)} − {_name(REFERENCE)}\nat most {largest.words}")
        made.axes[0].set_ylabel("difference, each at its own scale")
    return _given(made, path)


def against(
    found: str | Identity | Function | Samples,
    wanted: str,
    path: Path | None = None,
    *,
    title: str = "",
    identity: Identity | None = None,
    slope: bool = False,
) -> Figure:
    """A function and the flavour that is expected: both, and how far they are apart, with the fault as the title.

    found     a flavour (a name in FLAVOURS or OTHERS), what `numerics.identify` says, a function float → float, or
              samples of one, in which nan and ±inf are gaps
    wanted    a name in FLAVOURS
    title     what is wrong, in words, line by line; if not given, what ``identity``, or ``found`` itself, says of that.
              The largest difference is added, unless it tells one: over all real x for a function, over all points
              for samples, of which those farther out may not be drawn
    identity  what the function or the samples have been found to be
    slope     ``found`` is a derivative, and is held against that of ``wanted``

    KeyError for an unknown flavour; ValueError for an identity that tells no values (near, gate, clipped, unknown: give
    the function), and for samples that are none.
    """
    _check(path)
    old = FLAVOURS[wanted].slope if slope else FLAVOURS[wanted].value
    named = found if isinstance(found, (str, Identity)) else identity
    if named is not None:
        title = title or explained(Identity(named) if isinstance(named, str) else named)
    if isinstance(found, (str, Identity)):
        found = function_of(found, slope)
    points, values, across, largest = _computed(found, old)
    smooth = _points(*across)
    exact = [old(x) for x in smooth]
    wide = Curve(f"expected: {f'{_name(wanted)}, its derivative' if slope else CURVES[wanted].label}", BLUE, width=2.6)
    dashed = Curve("computed", VERMILION, (3.0, 1.5))
    with style():
        made = figure(3.9)
        left, right = made.subplots(1, 2)
        draw(left, smooth, exact, wide)
        draw(left, points, values, dashed)
        up = _limits(exact, values)
        left.set(xlim=across, ylim=up, xlabel="x", ylabel=_label(slope))
        if across[0] <= _DIP[0] and _free((*smooth, *points), (*exact, *values), across, up):
            _magnify(left, [(smooth, exact, wide), (points, values, dashed)], up[1] - up[0])
        gaps = [value - old(x) for x, value in zip(points, values, strict=True)]
        draw(right, points, gaps, dashed._replace(label="computed − expected", dashes=()))
        mark(right, largest.points if largest.off else ())
        right.set(xlim=across, xlabel="x", ylabel="computed − expected")
        low, high = right.get_ylim()
        if high - low < _LEAST:
            right.set_ylim(-_LEAST / 2, _LEAST / 2)
        if not _FAR.search(title):
            title = ": ".join(filter(None, (title, largest.sentence)))
        made.suptitle(_wrapped(title), fontsize=11)
        legend(made, left)
    return _given(made, path)


def _computed(found: Function | Samples, old: Function) -> tuple[list[float], list[float], tuple[float, float], Peak]:
    """The points and values to draw, the ends of the axis that they are drawn over, and the largest difference."""
    if callable(found):
        largest = peak(old, found, difference(old, found))
        across = _across(largest)
        points = _points(*across)
        return points, [_finite(found, x) for x in points], across, largest
    points, values = _samples(found)
    largest = peak_among(points, [value - old(x) for x, value in zip(points, values, strict=True)])
    across = max(points[0], _across(largest)[0]), min(points[-1], _across(largest)[1])
    if not across[0] < across[1]:
        across = points[0], points[-1]
    near = [across[0] <= x <= across[1] for x in points]
    points, values = ([*itertools.compress(column, near)] for column in (points, values))
    return points, values, across, largest


def _magnify(axes: Axes, curves: Sequence[tuple[Sequence[float], Sequence[float], Curve]], height: float) -> None:
    """The dip of two curves, the exact one first, in a corner of a panel of this height."""
    inset = axes.inset_axes(_PLACE)
    for points, values, curve in curves:
        draw(inset, points, values, curve)
    exact, computed = (
        [y for x, y in zip(points, values, strict=True) if _DIP[0] <= x <= _DIP[1]] for points, values, _ in curves
    )
    up = _limits(exact, computed, height)
    inset.set(xlim=_DIP, ylim=up)
    inset.tick_params(labelsize=8)
    inset.spines[:].set_visible(True)
    frame(axes, _DIP, up)


def _check(path: Path | None) -> None:
    """Raise Unwritable before the work is done."""
    if path is not None:
        format_of(path)


def _given(made: Figure, path: Path | None) -> Figure:
    if path is not None:
        save(made, path)
    return made


def _points(low: float, high: float) -> list[float]:
    return [low + (high - low) * i / (_COUNT - 1) for i in range(_COUNT)]


def _all(axes: Axes, across: tuple[float, float], slope: bool) -> None:
    points = _points(*across)
    for name, curve in CURVES.items():
        function = FLAVOURS[name].slope if slope else FLAVOURS[name].value
        draw(axes, points, [function(x) for x in points], curve)


def _label(slope: bool) -> str:
    return "f′(x)" if slope else "f(x)"


def _name(flavour: str) -> str:
    return CURVES[flavour].label.partition("  ")[0]


def _finite(function: Function, x: float) -> float:
    """The value, nan where there is none that can be drawn."""
    try:
        value = float(function(x))
    except (ArithmeticError, ValueError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def _samples(found: Samples) -> tuple[list[float], list[float]]:
    points, values = (list(map(float, column)) for column in found)
    if len(points) != len(values) or len(points) < 2:
        raise ValueError(f"samples are x and f(x), two of each at least; these are {len(points)} and {len(values)}")
    if not all(a < b for a, b in itertools.pairwise(points)):
        raise ValueError("the x of samples must be finite and ascend")
    return points, [value if math.isfinite(value) else math.nan for value in values]


def _across(largest: Peak) -> tuple[float, float]:
    """The ends of an axis in which the largest difference is well inside."""
    reach = next((reach for reach in _REACHES if largest.reach <= _EDGE * reach), _REACHES[0])
    return -reach, reach


def _wrapped(title: str) -> str:
    lines = (_EQUATION.sub(f"{_TIE}\\1{_TIE}", printable(line)) for line in title.split("\n"))
    return "\n".join(part for line in lines for part in textwrap.wrap(line, _LINE)).replace(_TIE, " ")


def _free(
    points: Sequence[float], values: Sequence[float], across: tuple[float, float], up: tuple[float, float]
) -> bool:
    """Whether curves leave the place free where the dip is magnified."""
    left, bottom, width, _ = _PLACE
    start, end = (across[0] + part * (across[1] - across[0]) for part in (left - _TICKS, left + width + _TICKS / 4))
    low = up[0] + (bottom - _TICKS) * (up[1] - up[0])
    return not any(start <= x <= end and y > low for x, y in zip(points, values, strict=True))


def _limits(exact: Sequence[float], values: Sequence[float], room: float | None = None) -> tuple[float, float]:
    """The ends of an axis that shows one curve wholly, and another as far as it is not more than ``room`` away."""
    if room is None:
        room = _ROOM * (max(exact) - min(exact))
    shown = [value for value in values if min(exact) - room <= value <= max(exact) + room]
    low, high = min(*exact, *shown), max(*exact, *shown)
    margin = 0.05 * (high - low) or _FLAT
    return low - margin, high + margin
