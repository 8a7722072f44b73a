"""What a monitor saw of each layer, as text."""

from __future__ import annotations

from collections.abc import Mapping

from gelu_lint.reports.text import aligned

#: The columns, and the values in them.
_COLUMNS = {
    "output std": "gelu_output_std",
    "mean": "gelu_output_mean",
    "dead": "gelu_dead_fraction",
    "saturated": "gelu_saturated_fraction",
    "input std": "gelu_input_std",
    "input mean": "gelu_input_mean",
    "nan, inf": "gelu_nonfinite",
}


def table(summary: Mapping[str, Mapping[str, float]]) -> str:
    """A summary as text: a line a layer, below one with the names of the columns."""
    rows = [["layer", *_COLUMNS]]
    for name, values in summary.items():
        rows.append([name, *(_short(values.get(key)) for key in _COLUMNS.values())])
    return "\n".join(aligned(rows, numbers=True))


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
