"""Comments that silence findings: flake8's ``noqa``, and ``# gelu-lint: ignore[…]`` with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from gelu_lint.model import Directive, Finding, Span
from gelu_lint.patterns import lazy
from gelu_lint.scan import Comment, Scan

# flake8's own pattern and rule: the first match on the (joined) line counts, wherever on the line it stands.
_NOQA = lazy(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_NOQA_FILE = lazy(r"# flake8[:=]\s*noqa(?P<codes>:\s?(?P<list>[A-Z][0-9A-Z, \t]*))?\s*$", re.IGNORECASE)
_OURS = lazy(r"#\s*gelu-lint\s*:\s*(?P<verb>[\w-]*)(?P<open>\s*\[)?(?P<list>[^\]#]*)(?P<close>\])?", re.IGNORECASE)
_NEXT = lazy(r"(?<=\s)#(?=\s*[^\W\d])")
_WORD = lazy(r"[^\s,]+")
_PREFIX = lazy(r"GEL\d{0,3}")
_BARE_GEL = lazy(r"\s*:\s*GEL(?=\s*(?:$|[,#]))", re.IGNORECASE)
_NO_COLON = lazy(r"\s{1,2}:?\s{0,2}GEL\d", re.IGNORECASE)
_NO_NOQA = lazy(r"#(?! noqa)\s{0,2}noqa\s?:?\s?GEL\d+", re.IGNORECASE)
_MOST = 50  # directives in one comment; a comment with more is no comment
_MEANT = ("", "ignore", "ignore-file", "disable", "skip", "noqa", "off", "ignored", "ignores", "suppress")

#: Findings about the file or the directives themselves are not silenced by a directive.
_LOUD = ("GEL900", "GEL901", "GEL902")


def directives(text: str, scan: Scan) -> list[Directive]:
    """The directives of a file, in source order: the first that fits a finding is the one that silences it."""
    own = (directive for comment in scan.comments for directive in _own(text, scan, comment))
    return sorted((*own, *_noqa(text, scan)), key=lambda directive: directive.span)


def _own(text: str, scan: Scan, comment: Comment) -> Iterator[Directive]:
    base = scan.rows[comment.row - 1] + comment.column
    whole = _NOQA_FILE.match(comment.text)
    if whole is not None and not text[scan.rows[comment.row - 1] : base].strip():
        codes = tuple(_codes(comment, whole, "list")) if whole["list"] else ()
        yield _directive("file", codes, comment, whole.start(), whole.end(), text, scan)
    match = _NO_NOQA.match(comment.text)
    if match is not None:
        fault = "flake8 reads `# noqa` with one space, so this silences nothing"
        yield _directive("ignore", (), comment, match.start(), match.end(), text, scan, fault)
    for match in islice(_OURS.finditer(comment.text), _MOST):
        verb, fault = match["verb"].lower(), ""
        codes = tuple(_codes(comment, match, "list")) if match["open"] else ()
        codes = tuple((code.upper(), span) for code, span in codes)
        wrong = [code for code, _ in codes if not _PREFIX.fullmatch(code)]
        if verb not in _MEANT and not verb.startswith("ig") and not match["open"]:
            continue  # prose that mentions us
        if verb not in ("ignore", "ignore-file"):
            hint = " (did you mean ignore?)" if verb.startswith("ig") or verb in ("disable", "skip", "noqa") else ""
            fault = f"no directive {verb!r}{hint}; it has no effect"
        elif not match["open"]:
            fault = f"it names no code, so it has no effect; write {verb}[GEL…]"
        elif not match["close"]:
            fault = "its bracket is never closed, so it has no effect"
        elif not codes:
            fault = "it names no code, so it has no effect"
        elif wrong:
            fault = f"{wrong[0]!r} is no code of gelu-lint, so it has no effect"
        following = _NEXT.search(comment.text, match.end())
        end = following.start() if following else len(comment.text)
        kind = "file" if verb == "ignore-file" else "ignore"
        yield _directive(kind, codes, comment, match.start(), end, text, scan, fault)


def _codes(comment: Comment, match: re.Match[str], group: str) -> Iterator[tuple[str, Span]]:
    for code in _WORD.finditer(comment.text, match.start(group), match.end(group)):
        start, end = comment.column + code.start(), comment.column + code.end()
        yield code[0], Span(comment.row, start, comment.row, end)


def _noqa(text: str, scan: Scan) -> Iterator[Directive]:
    first = {row: join for join in scan.joins for row in range(join[0], join[1] + 1)}
    comments = {comment.row: comment for comment in scan.comments}
    seen: set[tuple[int, int]] = set()
    row = 1
    for match in _NOQA.finditer(text):
        while row < len(scan.rows) and scan.rows[row] <= match.start():
            row += 1
        rows = first.get(row, (row, row))
        if rows in seen:
            continue
        seen.add(rows)
        comment = comments.get(row)
        column = match.start() - scan.rows[row - 1]
        if comment is None or column < comment.column:
            codes = tuple((code, Span(0, 0, 0, 0)) for code in _WORD.findall(match["codes"] or ""))
            nowhere = Span(row, column, row, column)
            yield Directive("text", codes, rows, nowhere, nowhere)
            continue
        start = column - comment.column
        inside = _NOQA.match(comment.text, start)
        if inside is None:
            continue
        fault = ""
        if inside["codes"] is None and _BARE_GEL.match(comment.text, inside.end()):
            fault = "GEL without a number makes it a bare noqa, which silences every linter on its line"
        elif inside["codes"] is None and _NO_COLON.match(comment.text, inside.end()):
            fault = "without a colon right after it, it is a bare noqa, which silences every linter on its line"
        codes = tuple(_codes(comment, inside, "codes")) if inside["codes"] else ()
        small = [code for code, _ in codes if code.upper().startswith("GEL") and code != code.upper()]
        if small:
            fault = f"flake8 takes codes as they are written, so {small[0]} silences nothing"
        end = codes[-1][1].end_column - comment.column if codes else inside.end()
        yield _directive("noqa", codes, comment, start, end, text, scan, fault)._replace(rows=rows)


def _directive(
    kind: str,
    codes: tuple[tuple[str, Span], ...],
    comment: Comment,
    start: int,
    end: int,
    text: str,
    scan: Scan,
    fault: str = "",
) -> Directive:
    """A directive at ``start``..``end`` of a comment, and how to take it out without breaking what stands around it."""
    row, column = comment.row, comment.column
    line = text[scan.rows[row - 1] : scan.rows[row - 1] + column + len(comment.text)]
    before, after = line[: column + start], comment.text[end:]
    span = Span(row, column + start, row, column + end)
    if not before.strip() and not after.strip():
        last = row >= len(scan.rows)
        cut = Span(row, 0, row, len(line)) if last else Span(row, 0, row + 1, 0)
        return Directive(kind, codes, (row, row), span, cut, "", fault)
    kept = after.lstrip()
    if not kept:
        return Directive(kind, codes, (row, row), span, Span(row, len(before.rstrip()), row, len(line)), "", fault)
    gone = len(line) - len(kept)
    return Directive(
        kind, codes, (row, row), span, Span(row, len(before), row, gone), "" if kept[0] == "#" else "# ", fault
    )


def silence(
    findings: Iterable[Finding],
    found: Sequence[Directive],
    judged: Sequence[str],
    known: Sequence[str],
    noqa: bool = True,
) -> tuple[list[Finding], tuple[Directive, ...]]:
    """The findings that no directive silences, and the directives with their idle codes.

    Without ``noqa``, findings that only a noqa silences are kept: flake8 does that part itself. A code is idle if it
    silenced nothing although every rule that it names is among ``judged``; one that no rule of ``known`` has is too.
    """
    kept = []
    hits: dict[int, set[str]] = {}
    places = _Places(found)
    for finding in findings:
        index = -1 if finding.code in _LOUD else places.first(finding)
        if index < 0 or (not noqa and found[index].kind in ("noqa", "text")):
            kept.append(finding)
        if index >= 0:
            names = (code for code, _ in found[index].codes if finding.code.startswith(code))
            hits.setdefault(index, set()).update(names)
    done = []
    for index, directive in enumerate(found):
        idle = []
        for code, _ in directive.codes:
            rules = [rule for rule in known if rule.startswith(code)]
            ran = all(rule in judged for rule in rules)
            if _PREFIX.fullmatch(code) and ran and code not in hits.get(index, ()):
                idle.append(code)
        checkable = directive.kind != "text" and not directive.fault
        done.append(directive._replace(idle=tuple(dict.fromkeys(idle)) if checkable else ()))
    return kept, tuple(done)


class _Places:
    """Directives by the rows where they count: a file may hold thousands of both findings and directives."""

    def __init__(self, found: Sequence[Directive]) -> None:
        self._found = found
        self._noqa: dict[int, list[int]] = {}
        self._ignore: dict[int, list[int]] = {}
        self._file: list[int] = []
        for index, directive in enumerate(found):
            first, last = directive.rows
            if directive.kind in ("noqa", "text"):
                for row in range(first, last + 1):
                    self._noqa.setdefault(row, []).append(index)
            elif not directive.fault and directive.kind == "file":
                self._file.append(index)
            elif not directive.fault:
                self._ignore.setdefault(first, []).append(index)

    def first(self, finding: Finding) -> int:
        """The index of the first directive that silences ``finding``, -1 if none does."""
        near = [*self._noqa.get(finding.span.row, ()), *self._file]
        for row in set(finding.statement):
            near += self._ignore.get(row, ())
        fits = (i for i in near if self._fits(self._found[i], finding.code))
        return min(fits, default=-1)

    def _fits(self, directive: Directive, code: str) -> bool:
        bare = not directive.codes and directive.kind != "ignore"
        return bare or _names(directive, code)


def _names(directive: Directive, code: str) -> bool:
    return any(code.startswith(name) for name, _ in directive.codes)
