"""Figures of one look, and their files: PNG or SVG, the same bytes for the same picture.

matplotlib's objects are used directly: no pyplot, no window, and the caller's rcParams are as they were afterwards.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Path = str | os.PathLike[str]

FORMATS = ("png", "svg")
WIDTH = 8.6  # inches
DPI = 150  # of a PNG: 1290 pixels across, sharp at the width of a README

_FEW = 60  # points of a curve

INK, FAINT, GREY = "#333333", "#888888", "#777777"
#: Colours that people with any kind of colour vision tell apart (Okabe & Ito, https://jfly.uni-koeln.de/color/).
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"

#: What differs from matplotlib's own defaults, which a user's matplotlibrc or style must not change.
_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, and has Φ, σ, √ and ′
    "font.size": 10.0,
    "text.parse_math": False,  # a title may hold source code
    "axes.titlesize": 10.0,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.solid_capstyle": "butt",
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "legend.fontsize": 9.0,
    "savefig.dpi": DPI,
    "svg.hashsalt": "gelu-lint",  # else ids in an SVG are drawn at random
    "svg.fonttype": "path",  # looks the same whatever fonts the reader has
}


class NoMatplotlib(ImportError):
    """matplotlib is not installed."""


class Unwritable(ValueError):
    """A picture cannot be written: there is no such format, or no such place."""


class Curve(NamedTuple):
    """How a function is drawn: its name, colour, dashes (on and off, in line widths; () is solid), width in points."""

    label: str
    colour: str
    dashes: tuple[float, ...] = ()
    width: float = 1.8


@contextmanager
def style() -> Iterator[None]:
    """matplotlib with its own defaults and ours; whatever the caller has set is back afterwards.

    Raises NoMatplotlib.
    """
    try:
        import matplotlib.style
    except ImportError as fault:
        raise NoMatplotlib("pictures need matplotlib: pip install 'gelu-lint[plot]'") from fault
    with matplotlib.style.context(["default", _STYLE]):
        yield


def figure(height: float) -> Figure:
    """An empty figure, WIDTH × ``height`` inches, that makes room for labels by itself. Only inside of ``style``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(made)
    return made


def draw(axes: Axes, points: Sequence[float], values: Sequence[float], curve: Curve) -> None:
    """A function, given by its values at points; few of them are dotted, for one between gaps makes no line."""
    marker = "o" if len(points) < _FEW else None
    (line,) = axes.plot(
        points, values, color=curve.colour, linewidth=curve.width, label=curve.label, marker=marker, markersize=3.5
    )
    if curve.dashes:
        line.set_dashes(curve.dashes)


def mark(axes: Axes, points: Sequence[tuple[float, float]]) -> None:
    """Points on a curve of differences, the line of no difference, and plain ticks."""
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
    for x, y in points:
        axes.plot(x, y, "o", color=INK, markersize=4.5, zorder=3)
    axes.yaxis.set_major_formatter(lambda y, _: re.sub(r"e-0", "e-", f"{round(y, 12):g}").replace("-", "−"))


def frame(axes: Axes, across: tuple[float, float], up: tuple[float, float]) -> None:
    """A box around a part of a picture."""
    from matplotlib.patches import Rectangle

    size = across[1] - across[0], up[1] - up[0]
    axes.add_patch(Rectangle((across[0], up[0]), *size, fill=False, edgecolor=FAINT, linewidth=0.8, zorder=2.5))


def legend(made: Figure, axes: Axes) -> None:
    """The names of all curves of one panel, in a row below the whole figure."""
    curves, labels = axes.get_legend_handles_labels()
    made.legend(curves, labels, loc="outside lower center", ncols=len(labels))


def format_of(path: Path) -> str:
    """The format that the suffix of a file name asks for. Raises Unwritable."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix.removeprefix(".") not in FORMATS:
        what = f"{suffix} is no format of pictures here" if suffix else "it has no suffix"
        raise Unwritable(f"{os.fspath(path)}: {what}; a name ends in .png or .svg")
    return suffix[1:]


def encoded(made: Figure, form: str) -> bytes:
    """A figure as a file of one of FORMATS holds it."""
    data = io.BytesIO()
    with style(), warnings.catch_warnings():
        # A name in a title may be in a script that the font lacks: boxes stand for it.
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support", category=UserWarning)
        made.savefig(data, format=form, metadata={"Software": None} if form == "png" else {"Date": None})
    return data.getvalue()


def save(made: Figure, path: Path) -> None:
    """Write a figure in the format that the suffix of ``path`` asks for. Raises Unwritable."""
    data = encoded(made, format_of(path))
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as fault:
        raise Unwritable(f"{os.fspath(path)}: not written: {fault.strerror or fault}") from fault
