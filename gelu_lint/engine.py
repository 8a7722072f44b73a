"""One file, from its text to facts and from facts to findings. Pure: no file is touched here."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from gelu_lint.imports import candidates, import_edit
from gelu_lint.model import Bound, Directive, Fault, FileSummary, Finding, Project, Span, Use
from gelu_lint.scan import Scan, Statement, scan
from gelu_lint.screen import NEEDLES
from gelu_lint.skeleton import skeleton
from gelu_lint.source import Source, from_text
from gelu_lint.suppress import directives, silence

_ENDS = re.compile(r"\r\n|\r|\n")
_FUTURE = re.compile(r"from[ \t]+__future__\b")
_STRING = re.compile(r"\(*[rRuUbB]*[\x22\x27]")
#: Comments and strings, in which a semicolon parts no statements.
_QUIET = re.compile(r"#[^\r\n]*|\x27{3}[\s\S]*?\x27{3}|\x22{3}[\s\S]*?\x22{3}|\x27[^\x27\n]*\x27|\x22[^\x22\n]*\x22")
_TOP = re.compile(r"(?:from|import)\s+(\w+)")
_FORM_FEED = re.compile(r"[ \t\f]*\f")
_MAY_BIND = re.compile(
    r"\b(?:def|class|as|import|global|nonlocal)\s+(\w+) | (?<![.\w])([A-Za-z_]\w*)(?=\s*(?:[,):\];\#]|$|=(?!=)|in\b))",
    re.VERBOSE,
)

_NAMED = re.compile(r"[gG]elu(?![a-z])|GeLU|GELU|0\.0447")
_TEMPLATE = re.compile(r"\{%-?\s*\w+")

#: Needles that keep a whole file: what the fixer parses to prove a result.
WHOLE = ("",)


def summarise(source: Source, needles: tuple[str, ...] = NEEDLES) -> FileSummary:
    """The facts of one Python file. Parts that cannot be read become faults; nothing is raised for any text."""
    scanned = scan(source.text)
    bones = skeleton(source.text, scanned, needles)
    faults = [_fault(row, end_row, f"skipped: {reason}") for row, end_row, reason in bones.skipped]
    summary = FileSummary(
        source.path,
        directives=tuple(directives(source.text, scanned)),
        import_at=_import_at(source.text, scanned),
        newline=source.newline,
        joins=scanned.joins,
        faults=tuple(faults),
    )
    if not bones.text.strip():
        return summary
    summary = _parsed(summary, bones.text, source, scanned)
    if needles == WHOLE:
        # What cannot run is ours only where a GELU is near: in the statements that a skeleton keeps.
        rows = _ENDS.split(skeleton(source.text, scanned, NEEDLES).text)
        summary = summary._replace(uses=tuple(use for use in summary.uses if rows[use.span.row - 1]))
    elif not _NAMED.search(source.text) or (summary.faults and _TEMPLATE.search(source.text)):
        # Words such as "angelus" pass the screen, and templates are no Python: that they do not parse is no news.
        summary = summary._replace(faults=())
    return summary


def _fault(row: int, end_row: int, message: str) -> Fault:
    return Fault(Span(row, 0, end_row, 0), message)


def _parsed(summary: FileSummary, text: str, source: Source, scanned: Scan) -> FileSummary:
    """``summary`` with the facts of the statements in ``text``. LibCST is imported here, and only here."""
    from gelu_lint.sites.absent import Absences
    from gelu_lint.sites.backwards import Backwards
    from gelu_lint.sites.calls import Calls
    from gelu_lint.sites.draft import Draft
    from gelu_lint.sites.formulas import Formulas
    from gelu_lint.sites.halves import Halves
    from gelu_lint.sites.impostors import Impostors
    from gelu_lint.sites.tables import Tables
    from gelu_lint.sites.tails import Tails
    from gelu_lint.tree.names import Names
    from gelu_lint.tree.parse import Unparsable, parse
    from gelu_lint.tree.place import offsets
    from gelu_lint.tree.walk import Walk

    text, shifts = _without_form_feeds(text)
    try:
        module = parse(text)
        names = Names(module)
        walk = Walk(module, names.scopes)
        calls, absences, formulas = Calls(walk, names), Absences(walk, names), Formulas(walk, names)
        impostors, backwards = Impostors(walk, names), Backwards(walk, names)
        halves, tails, tables = Halves(walk, names), Tails(walk, names), Tables(walk, names)
        visitors = (calls, absences, formulas, impostors, backwards, halves, tails, tables)
        walk.run(visitors)
        wanted = [node for visitor in visitors for node in visitor.nodes()]
        placed = offsets(module, wanted, text) if wanted else {}
    except Unparsable as fault:
        return _unparsable(summary, source, fault.row, fault.column, fault.message)
    except RecursionError:
        return _unparsable(summary, source, 1, 0, "nested too deeply to analyse")
    statements = [(line.row, line.end_row) for line in scanned.logical]
    draft = Draft(text, from_text(source.path, text).rows, statements, placed, source.text, shifts)
    wanted_names = candidates()
    taken = (names.taken | _loosely_bound(source, text)) & wanted_names
    at_hand = sorted((name, target) for name, target in names.at_hand().items() if name not in taken)
    bound = tuple(Bound(name, target) for name, target in at_hand)
    typed = [*formulas.sites(draft, halves.contexts()), *backwards.sites(draft)]
    spans = {site.span for site in typed}
    others = [site for site in impostors.sites(draft) if site.span not in spans]
    sites = tuple(sorted((*calls.sites(draft), *typed, *others), key=lambda site: site.span))
    uses: tuple[Use, ...] = tuple(use for part in (calls, absences, halves, tails, tables) for use in part.uses(draft))
    return summary._replace(sites=sites, uses=uses, bound=bound, taken=tuple(sorted(taken)))


def _without_form_feeds(text: str) -> tuple[str, dict[int, int]]:
    """The text without form feeds at row starts, and how many characters each such row lost.

    To Python a form feed there starts the row anew; LibCST reads it and then forgets it, which would move all places.
    """
    shifts: dict[int, int] = {}
    if "\f" not in text:
        return text, shifts
    rows = text.split("\n")
    for index, row in enumerate(rows):
        lead = _FORM_FEED.match(row)
        if lead is not None:
            rows[index] = row[lead.end() :]
            shifts[index + 1] = lead.end()
    return "\n".join(rows), shifts


def _loosely_bound(source: Source, kept: str) -> set[str]:
    """Names that rows outside the skeleton may bind: too many costs a longer spelling, one too few a wrong name."""
    rows = zip(_ENDS.split(source.text), _ENDS.split(kept), strict=True)
    return {name for row, left in rows if row and not left for pair in _MAY_BIND.findall(row) for name in pair if name}


def _unparsable(summary: FileSummary, source: Source, row: int, column: int, message: str) -> FileSummary:
    line = source.line(row) if row <= len(source.rows) else ""
    hint = " (Python 2 code?)" if "Missing parentheses in call to" in message else ""
    span = Span(row, min(column, len(line)), row, len(line))
    return summary._replace(faults=(*summary.faults, Fault(span, f"file skipped: {message}{hint}")))


def unreadable(path: str, message: str, row: int = 1) -> FileSummary:
    """The summary of a file whose text could not be had."""
    return FileSummary(path, faults=(_fault(row, row, f"file skipped: {message}"),))


def judge(summary: FileSummary, project: Project, codes: Sequence[str], noqa: bool = True) -> list[Finding]:
    """The findings of the rules ``codes`` on one file, in source order, without those that a directive silences.

    Without ``noqa``, those that a noqa silences are left in, for a host that applies noqa itself.
    """
    from gelu_lint.registry import all_rules

    rules = [rule for rule in all_rules() if rule.code in codes]
    found = [finding for rule in rules if not rule.late for finding in rule.check(summary, project)]
    known = [rule.code for rule in all_rules()]
    judged = [rule.code for rule in rules if project.policy or not rule.needs_policy]
    kept, seen = silence(found, summary.directives, judged, known, noqa)
    summary = summary._replace(directives=tuple(_heard(directive, summary.faults) for directive in seen))
    kept += [finding for rule in rules if rule.late for finding in rule.check(summary, project)]
    return sorted((_completed(f, summary) for f in kept), key=lambda f: (f.span, f.code, f.message))


def _heard(directive: Directive, faults: Sequence[Fault]) -> Directive:
    """``directive`` without idle codes where what it stands at was not read."""
    first, last = directive.rows
    deaf = any(
        fault.message.startswith("file skipped") or (fault.span.row <= last and first <= fault.span.end_row)
        for fault in faults
    )
    return directive._replace(idle=()) if deaf else directive


def _completed(finding: Finding, summary: FileSummary) -> Finding:
    """``finding`` with what follows from its file: the row for a noqa, and the imports of its fix."""
    row = finding.span.row
    finding = finding._replace(noqa_row=next((last for first, last in summary.joins if first <= row <= last), row))
    if finding.fix is not None and finding.fix.needs:
        edit = import_edit(summary, finding.fix.needs)
        finding = finding._replace(fix=finding.fix._replace(imports=(edit,) if edit is not None else ()))
    return finding


def _import_at(text: str, scanned: Scan) -> tuple[int, int, int]:
    """Before the first import that follows docstring and ``__future__``, if it opens the file; else after these.

    Row 0 where no place is safe: something else stands on the row of a docstring or of a ``__future__`` import.
    """
    parts = [_lines(text, scanned, statement) for statement in scanned.statements]
    lead = max((i + 1 for i, part in enumerate(parts) if _FUTURE.match(part)), default=0)
    if not lead and parts and _STRING.match(parts[0]):
        lead = 1
    if any(";" in _QUIET.sub("", part) for part in parts[:lead]):
        return 0, 0, 0
    row = scanned.statements[lead - 1].end_row + 1 if lead else 1
    for statement, part in zip(scanned.statements[lead:], parts[lead:], strict=True):
        if statement.kind == "import":
            top = _TOP.match(part)
            third_party = top is not None and top[1] not in sys.stdlib_module_names
            return statement.row, 0, 1 if third_party else 0
        if not _STRING.match(part):
            first = row if lead else statement.row
            blank = first <= len(scanned.rows) and not _row(text, scanned, first).strip()
            return first, 1 if lead else 0, 0 if blank else 1
    return (row, 1, 0) if lead and row <= len(scanned.rows) else (0, 0, 0)


def _lines(text: str, scanned: Scan, statement: Statement) -> str:
    end = scanned.rows[statement.end_row] if statement.end_row < len(scanned.rows) else len(text)
    return text[scanned.rows[statement.row - 1] : end]


def _row(text: str, scanned: Scan, row: int) -> str:
    end = scanned.rows[row] if row < len(scanned.rows) else len(text)
    return text[scanned.rows[row - 1] : end]
