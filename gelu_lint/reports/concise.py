"""One line a finding, as grep, editors and flake8 users expect: ``path:row:column: CODE message``."""

from __future__ import annotations

from gelu_lint.reports.text import printable

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gelu_lint.runner import Run


def render(run: Run, colour: bool) -> Iterator[str]:
    """One line for each finding, and nothing else."""
    for outcome in run.outcomes:
        for finding in outcome.findings:
            place = f"{printable(finding.path)}:{finding.span.row}:{finding.span.column + 1}"
            yield f"{place}: {finding.code} {printable(finding.message)}"
