"""Which lines of a text are kept, and what must stand beside each."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from gelu_lint.cut import HEADER, LIGHT, SEED, Cut
from gelu_lint.lines import FIELDS, SILENT, spots
from gelu_lint.patterns import lazy
from gelu_lint.screen import NEEDLES
from gelu_lint.statements import Statements

#: Up to so many lines a function or class that is only referred to may be what computes an activation.
SHORT = 20
#: Methods by which a class behaves.
BEHAVIOUR = frozenset(("forward", "__call__", "__init__", "__new__", "call"))
_STRING = lazy(r"\s*[rRbBuUfF]{0,2}(?=[\"'])")
#: So many names are looked for in the text one by one.
_FEW = 8
#: A statement that may have its block on its own row.
ONE_ROW = lazy(r"\s*(?:if|elif|else|try|except|finally|with|for|while|async)\b")
#: First words of lines that test something, and the sign of a test within one.
TESTS = ("if", "elif", "match", "case", "while")
TERNARY = lazy(r"\bif\b")


class Keeping:
    """Keeps lines of one text, each with the headers around it.

    Those that mark offsets or ask for names of devices are told by what derives from it.
    """

    def __init__(self, statements: Statements, small: int) -> None:
        self.statements = statements
        self._text, self._rows, self._parts = statements.text, statements.rows, statements.parts
        self._ends = statements.ends
        self._starts = [part.start for part in self._parts]
        self._cuts: dict[int, Cut] = {}
        self._given: set[str] = set()  # names that were given to what a needle names
        self._words: dict[str, list[int]] | None = None  # where each word stands, once many are asked for
        self._marks: list[tuple[int, str, bool]] = []  # offsets to look at: see Selection._look
        self._queue: list[tuple[Cut, int, int]] = []  # lines whose names are to be followed
        self._small = len(self._rows) <= small
        self.unsure = self.unmarked = False

    def _drain(self) -> None:
        """Look at what is marked and follow what is kept until nothing is left of either."""
        raise NotImplementedError

    def _asked(self, cut: Cut, i: int) -> None:
        """Keep what binds the names in a test, if it asks what the code runs on."""
        raise NotImplementedError

    def _is_kept(self, p: int) -> bool:
        """Whether anything of a statement is kept."""
        return p in self._cuts and bool(self._cuts[p].kept)

    def _marked(self, cut: Cut, header: int) -> bool:
        """Whether a line of a function is kept for its own sake."""
        return any(cut.kept.get(j, -1) >= LIGHT for j in (header, *cut.lines.below(header)))

    def _place(self, at: int) -> tuple[Cut, int] | None:
        """The line that holds an offset."""
        p = bisect_right(self._starts, at) - 1
        if p < 0:
            return None
        cut = self._cut(p)
        i = cut.lines.row_of(bisect_right(self._rows, at))
        return (cut, i) if i >= 0 else None

    def _cut(self, p: int) -> Cut:
        cut = self._cuts.get(p)
        if cut is None:
            scanned = self.statements.scan(p)
            self.unsure = self.unsure or not scanned.sure or len(scanned.statements) > 1
            cut = self._cuts[p] = Cut(scanned, self.statements.lines(p), self._parts[p].row - 1)
        return cut

    def _start(self, cut: Cut, i: int) -> int:
        """The offset of a line."""
        return self._rows[cut.lines.logical[i].row + cut.shift - 1]

    def _rows_of(self, cut: Cut, header: int) -> str:
        """The text of the block that a header opens, itself included."""
        lines = cut.lines
        below = lines.below(header)
        first = lines.logical[header].row + cut.shift - 1
        last = lines.logical[below[-1] if below else header].end_row + cut.shift
        return self._text[self._ends[first] : self._ends[last]]

    def _quiet(self, cut: Cut, i: int, text: str, at: int) -> str:
        """The comment or string that an offset in a line stands in, "" where it is code."""
        if i not in cut.quiet:
            cut.quiet[i] = [found.span() for found in SILENT.finditer(text)]
        spans = cut.quiet[i]
        nearest = bisect_right(spans, (at, len(text))) - 1
        return text[slice(*spans[nearest])] if nearest >= 0 and at < spans[nearest][1] else ""

    def _has_fields(self, cut: Cut, i: int, text: str) -> bool:
        """Whether a line may hold an f-string; a long table is asked once for all of its strings."""
        if i not in cut.fields:
            cut.fields[i] = FIELDS.search(text) is not None
        return cut.fields[i]

    def _all(self, name: str) -> Sequence[int]:
        """Where a name stands in the text."""
        if len(self._given) < _FEW:
            return spots(self._text, name) if name else ()
        if self._words is None:
            self._words = {}
            for found in re.finditer(r"\w+", self._text):
                self._words.setdefault(found[0], []).append(found.start())
        return self._words.get(name, ())

    def _places(self, cut: Cut, i: int, name: str) -> list[int]:
        """Where a name stands in a line."""
        start = self._start(cut, i)
        return [start + found.start() for found in re.finditer(rf"\b{re.escape(name)}\b", cut.lines.text(i))]

    def _whole(self, cut: Cut, header: int, level: int = SEED) -> None:
        """Keep a header with its decorators and all that stands below it."""
        if cut.wholes.get(header, -1) >= level:
            return
        cut.wholes[header] = level
        decorators = [i for i in cut.lines.group(header) if cut.lines.logical[i].word == "@"]
        for i in (*decorators, header, *cut.lines.below(header)):
            self._keep(cut, i, level)

    def _keep(self, cut: Cut, i: int, level: int) -> None:
        """Keep a line with the headers around it, and with what must stand beside it."""
        lines = cut.lines
        waiting = [(i, level)]
        while waiting:
            i, level = waiting.pop()
            before = cut.kept.get(i, -1)
            if before >= level:
                continue
            cut.kept[i] = level
            if before < 0:
                if self._small:
                    waiting += [(j, SEED) for j in range(len(lines)) if j not in cut.kept]
                group = lines.group(i)
                if group and group[0] not in cut.groups:
                    cut.groups.add(group[0])
                    waiting += [(j, HEADER) for j in group]
                if lines.parents[i] >= 0:
                    waiting.append((lines.parents[i], HEADER))
            if before < 0 and level > HEADER and lines.parents[i] >= 0:
                around = lines.parents[i]
                if lines.logical[around].word in ("if", "elif"):
                    last = lines.below(around)[-1]
                    if lines.logical[last].word == "return" and lines.parents[last] == around:
                        waiting.append((last, HEADER))
            tests = before < 0 and not self.unmarked  # without a GELU nobody asks for choices
            if tests and (lines.logical[i].word in TESTS or (level > HEADER and TERNARY.search(lines.text(i)))):
                self._asked(cut, i)
            if level > HEADER:
                self._queue.append((cut, i, level))
                if level == SEED or "return" in lines.text(i):
                    self._docstrings(cut, i)

    def _docstrings(self, cut: Cut, i: int) -> None:
        """Keep what the functions and classes around a line say of what they give."""
        lines = cut.lines
        at = i if lines.defines(i) else lines.scopes[i]
        while at >= 0 and at not in cut.told:
            cut.told.add(at)
            if at + 1 < len(lines) and lines.parents[at + 1] == at and _STRING.match(lines.text(at + 1)):
                self._keep(cut, at + 1, HEADER)
            at = lines.scopes[at]


def in_rows(
    text: str, words: Sequence[str], pattern: re.Pattern[str], first: int = 0, last: int = sys.maxsize
) -> list[re.Match[str]]:
    """What a pattern finds in the rows, of a stretch of them, that hold one of ``words``: searching these is faster
    than the pattern."""
    found: dict[int, re.Match[str]] = {}
    for word in words:
        at = text.find(word, first, last)
        while at >= 0:
            end = text.find("\n", at)
            end = end if end >= 0 else len(text)
            start = text.rfind("\n", 0, at) + 1
            found.update((match.start(), match) for match in pattern.finditer(text, start, end))
            at = text.find(word, end, last)
    return [found[at] for at in sorted(found)]


def is_def(cut: Cut, i: int) -> bool:
    """Whether a line is the header of a function."""
    return bool(cut.lines.defines(i)) and cut.lines.logical[i].word != "class"


@lru_cache(maxsize=4096)
def needle_in(name: str) -> bool:
    """Whether a name says for itself what it stands for."""
    lowered = name.lower()
    return any(needle in lowered for needle in NEEDLES)


def identifier(text: str, at: int) -> str:
    """The identifier or number at an offset of a text."""
    start = end = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return text[start:end]
