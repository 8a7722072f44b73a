"""An array of findings in the shape that Ruff's JSON has, with what is measured added under ``data``."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gelu_lint.model import Edit, Finding, Fix, Span
    from gelu_lint.runner import Run


def render(run: Run, colour: bool) -> Iterator[str]:
    """One JSON document. Rows and columns count from 1, columns in code points."""
    yield json.dumps([_finding(f) for outcome in run.outcomes for f in outcome.findings], indent=2)


def place(row: int, column: int) -> dict[str, int]:
    """A position as reports print it."""
    return {"row": row, "column": column + 1}


def ends(span: Span) -> dict[str, dict[str, int]]:
    """Both ends of a span."""
    return {"location": place(span.row, span.column), "end_location": place(span.end_row, span.end_column)}


def _finding(finding: Finding) -> dict[str, object]:
    data = {"flavour": None, "claimed": None, "error": None, "framework": None, "symbol": None, **dict(finding.data)}
    return {
        "code": finding.code,
        "message": finding.message,
        "filename": finding.path,
        **ends(finding.span),
        "severity": finding.severity,
        "noqa_row": finding.noqa_row,
        "cell": finding.cell,
        "url": None,
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "related": [{"filename": path, **ends(span), "message": text} for path, span, text in finding.related],
        "data": data,
    }


def _fix(fix: Fix) -> dict[str, object]:
    applicability = "safe" if fix.safe else "unsafe" if fix.edits else "display"
    edits = sorted((*fix.imports, *fix.edits), key=lambda edit: edit.span)
    return {
        "applicability": applicability,
        "delta": fix.delta,
        "message": fix.message,
        "edits": [_edit(edit) for edit in edits],
    }


def _edit(edit: Edit) -> dict[str, object]:
    return {"content": edit.content, **ends(edit.span)}
