"""The top-level statements of a text, and the lines of each as soon as somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from gelu_lint.lines import Lines, code, spots, targets, words
from gelu_lint.outline import Part, defined, outline, parts_of
from gelu_lint.patterns import lazy
from gelu_lint.scan import Logical, Scan, Statement, scan

#: Calls that set an attribute of what they are given.
PATCHES = lazy(r"\b(?:setattr|object|patch)\(")
_LONE_CR = lazy(r"\r(?!\n)")
_GLOBAL = lazy(r"global((?:[^;\n\\#]|\\\r?\n)*)")


class Statements:
    """The top-level statements, ``parts``, of a ``text`` whose rows start at ``rows``."""

    def __init__(self, text: str, rows: Sequence[int], parts: Sequence[Part]) -> None:
        self.text, self.rows, self.parts = text, rows, parts
        self.ends = (*rows, len(text))
        self._scans: dict[int, Scan] = {}
        self._lines: dict[int, Lines] = {}

    def scan(self, p: int) -> Scan:
        """The scan of one statement alone."""
        if p not in self._scans:
            part = self.parts[p]
            self._scans[p] = _scan_import(self.text, part) or scan(self.text[part.start : part.end])
        return self._scans[p]

    def lines(self, p: int) -> Lines:
        """The lines of one statement."""
        if p not in self._lines:
            self._lines[p] = Lines(self.text, self.ends, self.scan(p).logical, self.parts[p].row - 1)
        return self._lines[p]

    @cached_property
    def binders(self) -> dict[str, list[int]]:
        """The statements that may bind a name at the top level, by name."""
        found: dict[str, list[int]] = {}
        for p, part in enumerate(self.parts):
            for name in _binds(self.text[part.start : part.end], part.kind):
                found.setdefault(name, []).append(p)
        return found


_last: tuple[str, list[Part] | None] = ("", [])


def outlined(text: str, rows: Sequence[int]) -> list[Part] | None:
    """The outline of a text; the last one is kept, since of one file it is often asked for twice."""
    global _last
    known, parts = _last
    if known != text:
        parts = outline(text, rows)
        _last = (text, parts)
    return parts


def statements_of(text: str, rows: Sequence[int]) -> Statements:
    """The statements of a text; none where they cannot be told apart."""
    text = _LONE_CR.sub("\n", text)
    parts: Sequence[Part] | None = outlined(text, rows)
    if parts is None:
        scanned = scan(text)
        parts = parts_of(text, scanned) if scanned.sure else ()
    return Statements(text, rows, parts)


def _scan_import(text: str, part: Part) -> Scan | None:
    """The scan of an import that stands on one row, where there is nothing to find out."""
    end = text.find("\n", part.start)
    row = text[part.start : end if end >= 0 else len(text)]
    if part.kind != "import" or any(mark in row for mark in "(;#\\"):
        return None
    line = Logical(1, 1, 0, "from" if row.startswith("from") else "import", "")
    return Scan((0,), (line,), (Statement(1, 1, "import", (0, 1)),), (), (), True)


def _binds(text: str, kind: str) -> set[str]:
    """The names that a statement may bind at the top level."""
    if kind in ("def", "class"):
        name = defined(text)
        if not name:
            return words(text)
        names = {name}
        before = text[: text.find(":\n", text.find(name))]
        if ":=" in before:
            names |= words(before)
        for at in spots(text, "global"):
            declared = _GLOBAL.match(text, at)
            if declared is not None:
                names |= words(declared[1])
        return names
    if kind == "simple":
        bound = targets(text)
        if bound is not None:
            return bound[0] | bound[1] if not bound[1] else words(text[: text.find("=")])
        plain = code(text)
        if ":=" in plain or ";" in plain or plain.startswith(("del", "global")) or PATCHES.search(plain):
            return words(plain)
        return set()
    return words(text)
