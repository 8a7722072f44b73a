"""For a person: each finding with its line, what the fix would do, and a summary."""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gelu_lint.model import Finding, Fix
    from gelu_lint.runner import Run

_WIDTH = 160
_COLOURS = {"error": "31", "warning": "33", "info": "36"}


def render(run: Run, colour: bool) -> Iterator[str]:
    """Lines for a terminal; ``colour`` adds ANSI sequences."""
    for outcome in run.outcomes:
        rows = dict(outcome.excerpts)
        for finding in outcome.findings:
            yield from _finding(finding, rows.get(finding.span.row), colour)
    yield from summary(run)


def _finding(finding: Finding, line: str | None, colour: bool) -> Iterator[str]:
    span = finding.span
    code, severity = finding.code, finding.severity
    if colour:
        code, severity = f"\033[1m{code}\033[0m", f"\033[{_COLOURS[severity]}m{severity}\033[0m"
    place = f"{printable(finding.path)}:{span.row}:{span.column + 1}"
    yield f"{place}: {code} {severity}  {printable(finding.message)}"
    if line is not None and line.strip():
        start = max(0, span.column - _WIDTH // 2) if len(line) > _WIDTH else 0
        shown = line[start : start + _WIDTH]
        last = span.end_column if span.end_row == span.row else len(line.rstrip())
        pad = "".join("\t" if char == "\t" else " " * _cells(char) for char in printable(line[start : span.column]))
        number = f"{span.row:>5} | "
        yield f"{number}{printable(shown)}"
        marks = sum(_cells(char) for char in printable(line[span.column : min(last, start + _WIDTH)]))
        yield f"{' ' * (len(number) - 2)}| {pad}{'^' * max(1, marks)}"
    if finding.fix is not None:
        yield f"   fix: {printable(finding.fix.message)}    {effect(finding.fix, finding.severity)}"


def _cells(char: str) -> int:
    """How many cells of a terminal a printable character takes."""
    if char.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def effect(fix: Fix, severity: str) -> str:
    """What applying a fix changes, and what it takes to have it applied."""
    from gelu_lint.model import ROUNDING

    if fix.delta is None:
        change = "changes values without bound"
    elif fix.delta == ROUNDING:
        return "the same function, last bits may differ (--allow-delta 1e-6)"
    elif fix.delta:
        change = f"changes values by up to {fix.delta:.2e}"
    else:
        change = "changes nothing that runs today" if severity == "error" else "bit-identical"
    if fix.reach != "local":
        return f"{change}, but others may rely on what it changes (--unsafe-fixes)"
    if fix.delta == 0:
        return change
    allow = f"--allow-delta {_rounded_up(fix.delta)}" if fix.delta else "--unsafe-fixes"
    return f"{change} ({allow})"


def _rounded_up(delta: float) -> str:
    """``delta`` rounded up to one digit: 4.73e-4 is 5e-4."""
    digit, _, power = f"{delta:.6e}".partition("e")
    first = int(float(digit)) + 1
    return f"{first}e{int(power)}" if first < 10 else f"1e{int(power) + 1}"


def summary(run: Run) -> Iterator[str]:
    """How many findings of each severity, in how many files, and how many ``fix`` would mend."""
    findings = [finding for outcome in run.outcomes for finding in outcome.findings]
    files = plural(run.files, "file")
    if not findings:
        yield f"No findings in {files}."
        return
    from gelu_lint.model import SEVERITIES

    counts = Counter(finding.severity for finding in findings)
    parts = ", ".join(plural(counts[s], s, s) if s == "info" else plural(counts[s], s)
                      for s in reversed(SEVERITIES) if counts[s])  # fmt: skip
    text = f"{plural(len(findings), 'finding')} ({parts}) in {files}."
    safe = sum(finding.fix is not None and finding.fix.safe for finding in findings)
    other = sum(finding.fix is not None and not finding.fix.safe for finding in findings)
    if safe:
        text += f" `gelu-lint fix` mends {safe} bit-identically"
        text += f"; {other} more with --allow-delta or --unsafe-fixes." if other else "."
    elif other:
        text += f" {other} can be mended with --allow-delta or --unsafe-fixes."
    yield text


def plural(count: int, one: str, many: str = "") -> str:
    """``count`` with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def aligned(rows: Sequence[Sequence[str]], numbers: bool = False) -> Iterator[str]:
    """Rows of cells as lines whose columns stand below each other; ``numbers``: all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) if numbers else cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join((row[0].ljust(widths[0]), *cells[1:])).rstrip()


def printable(text: str) -> str:
    """``text`` without control characters, which could steer the terminal that it is shown on."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
