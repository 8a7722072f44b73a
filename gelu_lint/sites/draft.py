"""From nodes to rows and columns: the text of a file, with the offsets of the nodes that its facts mention."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gelu_lint.model import Span
from gelu_lint.patterns import lazy
from gelu_lint.tree.nodes import CSTNode

_ENDS = lazy(r"\r\n|\r|\n")
#: What stands before the quote that opens a string, and rarely before an apostrophe.
_OPENS = ("(", "[", "{", "=", "= ", ", ", ": ")
_SAMPLE = 8_000  # characters of a file that show which quote it prefers


class Draft:
    """Places nodes of one parsed text.

    ``rows`` say where the rows of the parsed text start and ``origin`` which rows of the file they are, of whose text,
    ``whole``, whose rows start at ``starts``, they may be a part; ``statements`` are (row, end_row) in the file of its
    logical lines, in order;
    ``shifts`` says by row of the parsed text how many characters were left out at its start.
    """

    def __init__(
        self,
        text: str,
        rows: Sequence[int],
        origin: Sequence[int],
        statements: Sequence[tuple[int, int]],
        offsets: dict[int, tuple[int, int]],
        whole: str,
        starts: Sequence[int],
        shifts: dict[int, int],
    ) -> None:
        self.starts = starts
        self._whole, self._shifts = whole, shifts
        self._text, self._rows, self._statements, self._offsets = text, rows, statements, offsets
        self._origin = origin
        self._starts = [row for row, _ in statements]
        self._quote = ""
        self._ends: list[str] = []

    def start(self, node: CSTNode) -> int:
        """Offset of the first character of ``node``."""
        return self._offsets[id(node)][0]

    def end(self, node: CSTNode) -> int:
        """Offset just after the last character of ``node``."""
        return self._offsets[id(node)][1]

    def span(self, node: CSTNode) -> Span:
        """Rows and columns of ``node``, without parentheses around it."""
        return self.stretch(*self._offsets[id(node)])

    def stretch(self, start: int, end: int) -> Span:
        """Rows and columns of the characters from ``start`` up to ``end``."""
        return Span(*self._position(start), *self._position(end))

    def point(self, offset: int) -> Span:
        """The empty stretch at ``offset``."""
        return self.stretch(offset, offset)

    def text(self, node: CSTNode) -> str:
        """The source of ``node``."""
        start, end = self._offsets[id(node)]
        return self._text[start:end]

    @property
    def whole(self) -> str:
        """The text of the whole file."""
        return self._whole

    @property
    def statements(self) -> Sequence[tuple[int, int]]:
        """First and last row of each logical line: of all of a top-level statement that anything is left of."""
        return self._statements

    def between(self, start: int, end: int) -> str:
        """The source from offset ``start`` up to ``end``."""
        return self._text[start:end]

    def statement(self, node: CSTNode) -> tuple[int, int]:
        """First and last row of the statement in which ``node`` begins (of a compound statement, its header)."""
        row = self._position(self.start(node))[0]
        index = bisect_right(self._starts, row) - 1
        return self._statements[index] if index >= 0 else (row, row)

    def indent_before(self, offset: int) -> str | None:
        """The whitespace between the line start and ``offset``; None where other text stands there."""
        before = self._text[self._rows[bisect_right(self._rows, offset) - 1] : offset]
        return before if not before.strip() else None

    def newline_before(self, offset: int) -> str:
        """The line end of the line before the one at ``offset``."""
        row = self._position(offset)[0]
        if not self._ends:
            self._ends = _ENDS.findall(self._whole)  # the parsed text has LF for a lone CR
        return self._ends[row - 2] if 2 <= row <= len(self._ends) + 1 else "\n"

    def line_end(self, offset: int) -> int:
        """Offset of the line end of the line at ``offset``."""
        match = _ENDS.search(self._text, offset)
        return match.start() if match else len(self._text)

    def comment_after(self, offset: int) -> bool:
        """Whether a comment stands between ``offset`` and the end of its line, with only space before it."""
        return self._text[offset : self.line_end(offset)].lstrip().startswith("#")

    @property
    def quote(self) -> str:
        """The quote that most one-line strings of the file use."""
        if not self._quote:
            text = self._whole[:_SAMPLE]
            single, double = (sum(text.count(before + q) for before in _OPENS) for q in "'\"")
            self._quote = "'" if single > double else '"'
        return self._quote

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._rows, offset)
        origin = self._origin[row - 1] if row <= len(self._origin) else self._origin[-1] + 1
        return origin, offset - self._rows[row - 1] + self._shifts.get(row, 0)
