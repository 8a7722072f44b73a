"""Fixes become new text: edits on the original, round by round until nothing is left to apply."""

from __future__ import annotations

import warnings
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from gelu_lint.engine import judge, summarise
from gelu_lint.imports import import_edit, line
from gelu_lint.kinds import kind_of
from gelu_lint.model import Arrival, Edit, FileSummary, Finding, Need, Project, Span
from gelu_lint.named import NamedTuple
from gelu_lint.source import Source, decode

_ROUNDS = 10


class Fixed(NamedTuple):
    """A file after its fixes: the new text, how many findings are gone, what is left, the facts of the new text, and
    why nothing was done."""

    text: str
    gone: int
    left: tuple[Finding, ...]
    summary: FileSummary
    reason: str = ""


def fix(
    source: Source,
    project: Project,
    codes: Sequence[str],
    delta: float,
    unsafe: bool,
    arrivals: Sequence[Arrival] = (),
    across: Sequence[Finding] | None = None,
) -> Fixed:
    """Apply the allowed fixes of ``codes`` until none is left, at most ten rounds.

    The whole text is parsed and linted after each round. If it does not parse, the file is left as it was. ``arrivals``
    and ``across`` are what the rest of the project has to do with it, as for ``summarise`` and ``judge``.
    """
    start = summarise(source, arrivals=arrivals)
    first = judge(start, project, codes, across=across)
    if not any(_applies(finding, delta, unsafe) for finding in first):
        return Fixed(source.text, 0, tuple(first), start)
    summary = summarise(source, complete=True, arrivals=arrivals)
    faults = summary.faults
    if any(fault.message.startswith("file skipped") for fault in faults):
        return Fixed(source.text, 0, tuple(first), start, "it does not parse as a whole")
    current, found = source, judge(summary, project, codes, across=across)
    for _ in range(_ROUNDS):
        edits = _chosen(summary, found, delta, unsafe)
        text = apply(current, edits)
        if text == current.text:
            break
        before, current = current, decode(source.path, source.encode(text))
        across = _left(across, edits, before, current) if across else across
        summary = summarise(current, complete=True, arrivals=arrivals)
        python = kind_of(source.path) == "python"
        if len(summary.faults) > len(faults) or (python and _compiles(source.text) and not _compiles(text)):
            return Fixed(source.text, 0, tuple(first), start, "the fixed text would not parse; please report this")
        found = judge(summary, project, codes, across=across)
    return Fixed(current.text, max(0, len(first) - len(found)), tuple(found), summary)


def _compiles(text: str) -> bool:
    """Whether Python itself, of the version at hand, takes this text; it is compiled and never run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<fixed>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def apply(source: Source, edits: Iterable[Edit]) -> str:
    """The text of ``source`` with non-overlapping ``edits`` applied; every other character stays as it is."""
    parts, done = [], 0
    for start, end, content in sorted((*_offsets(source, edit), edit.content) for edit in edits):
        parts += [source.text[done:start], content]
        done = end
    return "".join(parts) + source.text[done:]


def _offsets(source: Source, edit: Edit) -> tuple[int, int]:
    span = edit.span
    return source.offset(span.row, span.column), source.offset(span.end_row, span.end_column)


def _chosen(summary: FileSummary, found: Iterable[Finding], delta: float, unsafe: bool) -> list[Edit]:
    """Edits of this round: whole fixes that neither overlap nor touch another's, and one edit for all imports."""
    taken: list[Edit] = []
    needs: dict[str, Need] = {}
    for finding in found:
        wanted = finding.fix
        if wanted is None or not _applies(finding, delta, unsafe):
            continue
        union = {**needs, **{_local(need): need for need in wanted.needs}}
        if any(union[name] != need for name, need in needs.items()) or _meets(wanted.edits, taken):
            continue
        place = import_edit(summary, union.values())
        if place is not None and (_meets((place,), taken) or any(_touch(place, edit) for edit in wanted.edits)):
            continue
        for edit in wanted.edits:
            insort(taken, edit)
        needs = union
    place = import_edit(summary, needs.values())
    return [*taken, place] if place is not None else taken


def _left(across: Sequence[Finding], edits: Sequence[Edit], old: Source, new: Source) -> list[Finding]:
    """What is left of findings that nobody tells anew once ``edits`` have turned one text into another."""
    moves = sorted((*_offsets(old, edit), len(edit.content)) for edit in edits)

    def at(row: int, column: int) -> tuple[int, int]:
        offset = old.offset(row, column)
        shift = sum(length - (end - start) for start, end, length in moves if end <= offset)
        inside = next((end - offset for start, end, _ in moves if start < offset < end), 0)
        return new.position(offset + shift + inside)

    def moved(span: Span) -> Span:
        return Span(*at(span.row, span.column), *at(span.end_row, span.end_column))

    left = []
    for finding in across:
        fix = finding.fix
        if fix is not None and fix.edits and all(edit in edits for edit in fix.edits):
            continue
        if fix is not None:
            fix = fix._replace(edits=tuple(edit._replace(span=moved(edit.span)) for edit in fix.edits))
        first, last = finding.statement
        rows = (at(first, 0)[0], at(last, 0)[0]) if first else finding.statement
        left.append(finding._replace(span=moved(finding.span), statement=rows, fix=fix))
    return left


def _meets(edits: Iterable[Edit], taken: Sequence[Edit]) -> bool:
    """Whether any of ``edits`` overlaps or touches one of ``taken``, which are in order and lie apart."""
    for edit in edits:
        at = bisect_left(taken, edit)
        if any(_touch(edit, other) for other in taken[max(0, at - 1) : at + 1]):
            return True
    return False


def _applies(finding: Finding, delta: float, unsafe: bool) -> bool:
    return finding.fix is not None and bool(finding.fix.edits) and finding.fix.allowed(delta, unsafe)


def _local(need: Need) -> str:
    """The name that a needed import binds, or the import itself where names cannot clash."""
    return need.alias or need.name or line(need)


def _touch(a: Edit, b: Edit) -> bool:
    return a.span[:2] <= b.span[2:] and b.span[:2] <= a.span[2:]
