"""One file, from its text to facts and from facts to findings. Pure: no file is touched here."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache

from gelu_lint.half import spots
from gelu_lint.imports import candidates, import_edit, prefixes
from gelu_lint.kinds import kind_of
from gelu_lint.model import Arrival, Bound, Context, Directive, Fault, FileSummary, Finding, Project, Site, Span
from gelu_lint.outline import Part
from gelu_lint.patterns import lazy
from gelu_lint.scan import Scan, scan
from gelu_lint.screen import passes
from gelu_lint.skeleton import LONGEST, Skeleton, skeleton, whole
from gelu_lint.source import Source, from_text
from gelu_lint.statements import statements_of
from gelu_lint.suppress import directives, silence

TYPE_CHECKING = False  # LibCST is loaded for the files that need it
if TYPE_CHECKING:
    from gelu_lint.numerics.ir import Expr
    from gelu_lint.reach import Reach
    from gelu_lint.sites.draft import Draft
    from gelu_lint.sites.recognisers import Recognisers
    from gelu_lint.tree.names import Names

_FUTURE = lazy(r"from[ \t]+__future__\b")
_STRING = lazy(r"\(*[rRuUbB]*[\x22\x27]")
#: Comments and strings, in which a semicolon parts no statements.
_QUIET = lazy(r"#[^\r\n]*|\x27{3}[\s\S]*?\x27{3}|\x22{3}[\s\S]*?\x22{3}|\x27[^\x27\n]*\x27|\x22[^\x22\n]*\x22")
_TOP = lazy(r"(?:from|import)\s+(\w+)")
_FORM_FEED = lazy(r"[ \t\f]*\f")
_IMPORTS = lazy(r"import\s+(\w+)")
#: What follows a name that may be bound, and the characters that this begins with.
_BINDS = lazy(r"\s*(?:[,):\];\#]|$|=(?!=)|in\b)", re.MULTILINE)
#: Makes a space of each byte that is in no dotted name.
_NAMES = bytes(c if c > 127 or chr(c).isalnum() or chr(c) in "_." else 32 for c in range(256))
_AFTER = (*" \t\n\f\r\v,):];#=", "")
_NEAR = 40  # characters before a name that show what binds it

_NAMED = lazy(r"[gG]elu(?![a-z])|GeLU|GELU|0\.0447")
_TEMPLATE = lazy(r"\{%-?\s*\w+")

#: Kinds of uses that no fix is written for.
_NO_FIX = ("key", "fused", "gate", "slowpath", "trusts")

#: Directives that count wherever they stand: those for a whole file, ours, and those that name our codes.
_ANYWHERE = lazy(r"gelu-lint|flake8[:=]|noqa.*gel")


def summarise(
    source: Source, *, complete: bool = False, arrivals: Sequence[Arrival] = (), reach: Reach | None = None
) -> FileSummary:
    """The facts of one file, of Python or another kind. Parts that cannot be read become faults; nothing is raised.

    ``complete`` reads all of it, as the fixer does to prove a result; the facts are the same. ``arrivals`` are where
    contexts of other files lead into this one; they become contexts of this one. ``reach`` is what its code may run, if
    somebody has asked for that already.
    """
    kind = kind_of(source.path)
    if kind != "python":
        from gelu_lint.sites import formats

        return formats.read(source, kind)
    text = source.text
    lowered = (source.data or text.encode("utf-8", "replace")).lower()  # quicker than the text, if that is not ASCII
    directed = (b"noqa" in lowered or b"gelu-lint" in lowered) and _ANYWHERE.search(text.lower())
    scanned = scan(text) if complete or directed else None
    if complete and scanned is not None:
        bones = whole(text, scanned)
    else:
        bones = skeleton(text, source.rows, led=bool(arrivals))
    if scanned is None:
        scanned = Scan(source.rows, bones.logical, (), bones.comments, bones.joins, True)
    kept = {*bones.origin}
    faults = [_fault(row, end_row, f"skipped: {reason}") for row, end_row, reason in bones.skipped]
    summary = FileSummary(
        source.path,
        directives=tuple(directives(text, scanned)),
        import_at=_import_at(source, bones.statements.parts),
        newline=source.newline,
        joins=scanned.joins,
        faults=tuple(faults),
    )
    if not bones.text.strip():
        return summary
    read = _parsed(summary, bones, source, arrivals, reach)
    if not complete and len(read.faults) > len(faults) and len(kept) < len(source.rows) <= LONGEST:
        # What is left of it does not parse: perhaps all of it does, and if not its own fault is the one to tell.
        read = _parsed(summary, whole(text, scan(text)), source, arrivals, reach)
    if complete:
        # What cannot run is ours only where a GELU is near: in the statements that a skeleton keeps.
        near = {*skeleton(text, source.rows).origin}
        read = read._replace(uses=tuple(use for use in read.uses if use.kind == "gate" or use.span.row in near))
    elif read.faults and (not _NAMED.search(text) or _TEMPLATE.search(text)):
        # Words such as "angelus" pass the screen, and templates are no Python: that they do not parse is no news.
        read = read._replace(faults=()) if passes(source.data) else unread(source.path)
    return read


def arrived(
    summary: FileSummary, source: Source, arrivals: Sequence[Arrival], reach: Reach | None = None
) -> FileSummary | None:
    """``summary``, which is of ``source`` alone, with the contexts of other files that lead into it.

    None where that takes another look: at contexts of its own, which may lift others, and at formulas, whose hazards
    are worked out for what they run in.
    """
    if not arrivals:
        return summary
    own = spots(source.text.encode("latin-1", "replace"), led=True)
    if own or summary.contexts or any(site.formula is not None for site in summary.sites):
        return None
    if reach is None:
        from gelu_lint.reach import Reach

        reach = Reach(statements_of(source.text, source.rows))
    return summary._replace(contexts=reach.led(arrivals))


def load() -> None:
    """Load the parser and the recognisers ahead of the first file."""
    summarise(from_text("", "import torch\ntorch.gelu\n"))


def _fault(row: int, end_row: int, message: str) -> Fault:
    return Fault(Span(row, 0, end_row, 0), message)


def _parsed(
    summary: FileSummary, bones: Skeleton, source: Source, arrivals: Sequence[Arrival], reach: Reach | None
) -> FileSummary:
    """``summary`` with the facts of what is left of a text. LibCST is imported here, and only here."""
    from gelu_lint.tree.parse import Unparsable

    def reached() -> Reach:
        from gelu_lint.reach import Reach

        return reach or Reach(bones.statements)

    try:
        recognisers, names, draft = _recognised(bones, source)
    except Unparsable as fault:
        row = bones.origin[min(fault.row, len(bones.origin)) - 1]
        return _unparsable(summary, source, row, fault.column, fault.message)
    except RecursionError:
        return _unparsable(summary, source, 1, 0, "nested too deeply to analyse")
    summary = recognisers.facts(summary, draft, cache(reached), arrivals)
    taken, imported = names.taken & candidates(), names.at_hand()
    if any(not _plain(site) for site in summary.sites) or any(use.kind not in _NO_FIX for use in summary.uses):
        used = {name for name, target in imported.items() if target in prefixes()}
        taken |= _loosely_bound(source, bones.origin, candidates().union(used) - taken)
    at_hand = sorted((name, target) for name, target in imported.items() if name not in taken)
    return summary._replace(bound=tuple(Bound(name, target) for name, target in at_hand), taken=tuple(sorted(taken)))


def _recognised(bones: Skeleton, source: Source) -> tuple[Recognisers, Names, Draft]:
    """What the recognisers have seen of a text, its names and its places. Raises Unparsable and RecursionError."""
    from gelu_lint.sites.draft import Draft
    from gelu_lint.sites.recognisers import Recognisers
    from gelu_lint.tree.names import Names
    from gelu_lint.tree.parse import parse
    from gelu_lint.tree.place import offsets
    from gelu_lint.tree.walk import Walk

    text, shifts = _without_form_feeds(bones.text)
    module = parse(text)
    names = Names(module)
    walk = Walk(module, names.scopes)
    recognisers = Recognisers(walk, names, text, bones.unmarked)
    walk.run(recognisers.visitors)
    wanted = recognisers.nodes()
    placed = offsets(module, wanted, text) if wanted else {}
    statements = [(line.row, line.end_row) for line in bones.logical]
    draft = Draft(text, from_text("", text).rows, bones.origin, statements, placed, source.text, source.rows, shifts)
    return recognisers, names, draft


def formulas(source: Source) -> list[tuple[Site, Expr]]:
    """The formulas, over x, of all GELUs (and derivatives of them) that are typed by hand in a file, with their sites.

    None of what cannot be read; the sites are those of ``summarise``, hazards aside.
    """
    if kind_of(source.path) != "python":
        return []
    from gelu_lint.tree.parse import Unparsable

    try:
        recognisers, _, draft = _recognised(whole(source.text, scan(source.text)), source)
    except (Unparsable, RecursionError):
        return []
    return [*recognisers.formulas(draft)]


def _plain(site: Site) -> bool:
    """Whether all that a fix may add at a site is an argument, which needs no import."""
    return site.spelling == "string" or (site.spelling == "call" and site.given == "absent" and not site.claims)


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


def _loosely_bound(source: Source, kept: Sequence[int], wanted: frozenset[str]) -> set[str]:
    """Which of the names ``wanted`` rows outside the skeleton may bind: too many costs a longer spelling, one too few a
    wrong name."""
    ends = (*source.rows, len(source.text))
    gaps, last = [], 0
    for row in (*kept, len(source.rows) + 1):
        if row > last + 1:
            gaps.append(source.text[ends[last] : ends[row - 1]])
        last = row
    text = "\n".join(gaps).replace("\r", "\n")
    bare = {name.decode("latin-1") for name in set(text.encode("latin-1", "replace").translate(_NAMES).split())}
    return {name for name in bare & wanted if _is_bound(text, name)}.union(wanted.intersection(_IMPORTS.findall(text)))


def _is_bound(text: str, name: str) -> bool:
    """Whether a name may be bound somewhere."""
    at = text.find(name)
    while at >= 0:
        before, end = text[at - 1 : at], at + len(name)
        after = text[end : end + 1]
        if not (before.isalnum() or before in ("_", ".") or after.isalnum() or after == "_"):
            if after in _AFTER and _BINDS.match(text, end) is not None:
                return True
            if before.isspace() and text[max(at - _NEAR, 0) : at].rstrip().endswith(("def", "class")):
                return True
        at = text.find(name, end)
    return False


def _unparsable(summary: FileSummary, source: Source, row: int, column: int, message: str) -> FileSummary:
    line = source.line(row) if row <= len(source.rows) else ""
    hint = " (Python 2 code?)" if "Missing parentheses in call to" in message else ""
    span = Span(row, min(column, len(line)), row, len(line))
    return summary._replace(faults=(*summary.faults, Fault(span, f"file skipped: {message}{hint}")))


def unread(path: str) -> FileSummary:
    """The summary of a file without a GELU that may make others run in half precision, and cannot be read."""
    return FileSummary(path, contexts=(Context("unread", "", "", Span(1, 0, 1, 0), "", (1, 1)),))


def unreadable(path: str, message: str, row: int = 1) -> FileSummary:
    """The summary of a file whose text could not be had."""
    return FileSummary(path, faults=(_fault(row, row, f"file skipped: {message}"),))


def judge(
    summary: FileSummary,
    project: Project,
    codes: Sequence[str],
    noqa: bool = True,
    across: Sequence[Finding] | None = None,
) -> list[Finding]:
    """The findings of the rules ``codes`` on one file, in source order, without those that a directive silences.

    Without ``noqa``, those that a noqa silences are left in, for a host that applies noqa itself. ``across`` are what
    the rules say of the project as a whole at this file, or of another with a place in this one; None where the run
    sees but a part of it.
    """
    from gelu_lint.registry import all_rules

    summary = summary.placed(project.root)
    wanted = frozenset(codes)
    rules = [rule for rule in all_rules() if rule.code in wanted]
    found = [finding for rule in rules if not rule.late for finding in rule.check(summary, project)]
    said = [finding for finding in across or () if finding.code in wanted]
    if said:
        outranked = _outranked(said, summary.path)
        found = [finding for finding in found if (finding.code, finding.span) not in outranked]
    found += [finding for finding in said if finding.path == summary.path]
    known = [rule.code for rule in all_rules()]
    sure = [rule for rule in rules if across is not None or not rule.project]
    judged = [rule.code for rule in sure if project.policy or not rule.needs_policy]
    kept, seen = silence(found, summary.directives, judged, known, noqa)
    summary = summary._replace(directives=tuple(_heard(directive, summary.faults) for directive in seen))
    kept += [finding for rule in rules if rule.late for finding in rule.check(summary, project)]
    return sorted((_completed(f, summary) for f in kept), key=lambda f: (f.span, f.code, f.message))


def _outranked(said: Sequence[Finding], path: str) -> set[tuple[str, Span]]:
    """Codes and places in a file at which other rules give way to what is said of the project."""
    from gelu_lint.registry import all_rules

    ranks = {rule.code: rule.outranks for rule in all_rules()}
    found: set[tuple[str, Span]] = set()
    for finding in said:
        places = [(finding.path, finding.span), *((other, span) for other, span, _ in finding.related)]
        found.update((code, span) for code in ranks[finding.code] for other, span in places if other == path)
    return found


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


def _import_at(source: Source, parts: Sequence[Part]) -> tuple[int, int, int]:
    """Before the first import that follows docstring and ``__future__``, if it opens the file; else after these.

    Row 0 where no place is safe: something else stands on the row of a docstring or of a ``__future__`` import.
    """
    text, lead = source.text, 0
    if "__future__" in text:
        lead = max((i + 1 for i, part in enumerate(parts) if _FUTURE.match(text, part.start)), default=0)
    if not lead and parts and _STRING.match(text, parts[0].start):
        lead = 1
    if any(";" in _QUIET.sub("", text[part.start : part.end]) for part in parts[:lead]):
        return 0, 0, 0
    row = 1
    if lead:
        last = parts[lead - 1]
        row = last.row + scan(text[last.start : last.end]).logical[-1].end_row  # behind its code, before comments
    for part in parts[lead:]:
        if part.kind == "import":
            top = _TOP.match(text, part.start)
            third_party = top is not None and top[1] not in sys.stdlib_module_names
            return part.row, 0, 1 if third_party else 0
        if not _STRING.match(text, part.start):
            first = row if lead else part.row
            blank = first <= len(source.rows) and not source.line(first).strip()
            return first, 1 if lead else 0, 0 if blank else 1
    return (row, 1, 0) if lead and row <= len(source.rows) else (0, 0, 0)
