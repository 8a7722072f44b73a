"""Readers of what is no Python: one file a kind, each with a function ``facts(source, summary)``."""

from __future__ import annotations

import importlib

from gelu_lint.model import Fault, FileSummary, Span
from gelu_lint.source import Source


class Malformed(Exception):
    """A text that is not what its file is named for; ``row`` and ``column`` say where."""

    def __init__(self, message: str, row: int, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.row, self.column = message, row, column


def read(source: Source, kind: str) -> FileSummary:
    """The facts of a file of a kind that is not Python. What cannot be read becomes a fault; nothing is raised."""
    summary = FileSummary(source.path, import_at=(0, 0, 0), newline=source.newline)
    reader = importlib.import_module(f"gelu_lint.sites.formats.{kind}")
    try:
        found: FileSummary = reader.facts(source, summary)
    except Malformed as fault:
        row = max(1, min(fault.row, len(source.rows)))
        column = fault.column
        while row > 1 and not source.line(row).strip():
            row, column = row - 1, len(source.line(row - 1))  # at its end: show what stands before that
        line = source.line(row)
        span = Span(row, min(column, len(line)), row, len(line))
        return summary._replace(faults=(Fault(span, f"file skipped: {fault.message}"),))
    return found
