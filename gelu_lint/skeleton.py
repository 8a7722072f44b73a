"""A text with only those lines left that can matter, so that little of it need be parsed.

A line matters if a needle stands in it, or a name that was given to what a needle names. With it stay the headers of
the blocks around it and whatever binds the names that it loads. All of a function stays that types a formula or is
named for a GELU. What a line binds and loads is over-approximated from its words: one line too many costs time, one
too few would change a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gelu_lint.cut import Piece
from gelu_lint.named import NamedTuple
from gelu_lint.outline import parts_of
from gelu_lint.patterns import lazy
from gelu_lint.scan import Comment, Logical, Scan, scan
from gelu_lint.selection import Selection
from gelu_lint.statements import Statements, outlined


class Skeleton(NamedTuple):
    """What is left of a text: rows as they were, the others left out.

    origin    for each row of ``text`` its row in the whole
    logical   the logical lines, comments that may be directives, and joined rows of the parts that something is left of
    skipped   (row, end_row, reason) of what would be kept but is out of bounds
    unmarked  no GELU shows in it

    ``statements`` are those of the whole.
    """

    text: str
    origin: tuple[int, ...]
    logical: tuple[Logical, ...]
    comments: tuple[Comment, ...]
    joins: tuple[tuple[int, int], ...]
    skipped: tuple[tuple[int, int, str], ...]
    statements: Statements
    unmarked: bool = False


#: Up to so many rows a text is not worth taking lines out of its statements.
SMALL = 100
#: A text of more rows that cannot be told into statements is not parsed at all.
LONGEST = 6_000
_LONE_CR = lazy(r"\r(?!\n)")
# "match" and "case" may be names: then more is left out than need be.
_HEADERS = frozenset(
    [
        *("@", "async", "case", "class", "def", "elif", "else", "except", "finally"),
        *("for", "if", "match", "try", "while", "with"),
    ]
)


def whole(text: str, scanned: Scan) -> Skeleton:
    """All of a text, but for what is out of bounds. ``scanned`` must be that of ``text``."""
    text = _LONE_CR.sub("\n", text)
    statements = Statements(text, scanned.rows, parts_of(text, scanned))
    return _assembled(statements, [Piece(text, scanned, 0, None)], True)


def skeleton(text: str, rows: Sequence[int], small: int = SMALL, led: bool = False) -> Skeleton:
    """What matters of a text whose rows start at ``rows``; all of it where its statements cannot be told apart.

    In a text of up to ``small`` rows statements stay whole. ``led`` says that contexts of other files lead into it.

    A simple line that is out of bounds becomes ``pass``; where a header or the first line of a statement is, all of
    the statement goes. Raises nothing.
    """
    text = _LONE_CR.sub("\n", text)
    parts = outlined(text, rows)
    selection = Selection(Statements(text, rows, parts), small, led) if parts is not None else None
    if selection is None or selection.unsure:
        scanned = scan(text)
        if not scanned.sure:
            return whole(text, scanned) if len(rows) <= LONGEST else _nothing(len(rows))
        selection = Selection(Statements(text, rows, parts_of(text, scanned)), small, led)
    bones = _assembled(selection.statements, selection.pieces(), False)
    return bones._replace(unmarked=selection.unmarked)


def _nothing(rows: int) -> Skeleton:
    why = f"its statements cannot be told apart, and with {rows:,} rows it is too long to be read whole"
    return Skeleton("", (), (), (), (), ((1, rows, why),), Statements("", (0,), ()))


class _Segment(NamedTuple):
    """Rows that stay as they are, go (``instead`` is None), or make place for one row."""

    row: int
    end_row: int
    instead: str | None = ""


def _assembled(statements: Statements, pieces: Iterable[Piece], complete: bool) -> Skeleton:
    """What is left of a text: the lines that each piece names. ``complete`` keeps what stands between them, too."""
    text, rows, ends = statements.text, statements.rows, statements.ends
    logical: list[Logical] = []
    comments: list[Comment] = []
    joins: list[tuple[int, int]] = []
    skipped: list[tuple[int, int, str]] = []
    out: list[str] = []
    origin: list[int] = []
    done = 0  # rows that are dealt with
    for piece in pieces:
        scanned, shift = piece.scanned, piece.shift
        logical += [
            Logical(line.row + shift, line.end_row + shift, line.indent, line.word, line.fault)
            for line in scanned.logical
        ]
        comments += [comment._replace(row=comment.row + shift) for comment in scanned.comments]
        joins += [(first + shift, last + shift) for first, last in scanned.joins]
        for segment in _segments(piece, skipped):
            row, end_row = segment.row + shift, segment.end_row + shift
            if complete:
                row = done + 1
            if complete and segment.instead != "":
                out.append(text[ends[done] : ends[segment.row + shift - 1]])
                origin.extend(range(done + 1, segment.row + shift))
            if segment.instead:
                start = ends[segment.row + shift - 1]
                crlf = text[start : ends[segment.row + shift]].endswith("\r\n")
                out.append(segment.instead + ("\r\n" if crlf else "\n"))
                origin.append(segment.row + shift)
            elif segment.instead is not None:
                out.append(text[ends[row - 1] : ends[end_row]])
                origin.extend(range(row, end_row + 1))
            done = end_row
    if complete:
        last = len(rows)
        if text.rstrip("\r\n") != text.rstrip():  # LibCST does not keep all white space at the end
            while last > done and not text[ends[last - 1] : ends[last]].strip():
                last -= 1
        out.append(text[ends[done] : ends[last]])
        origin.extend(range(done + 1, last + 1))
    kept = "".join(out)
    return Skeleton(kept, tuple(origin), tuple(logical), tuple(comments), tuple(joins), tuple(skipped), statements)


def _segments(piece: Piece, skipped: list[tuple[int, int, str]]) -> Iterator[_Segment]:
    """What becomes of the rows of a piece; ``skipped`` gets the lines that are out of bounds."""
    lines, left, shift = piece.scanned.logical, piece.left, piece.shift
    for first, last in [statement.lines for statement in piece.scanned.statements] or [(0, len(lines))]:
        kept = [i for i in range(first, last) if left is None or i in left]
        faulty = {i for i in kept if lines[i].fault and not (left and left[i])}
        skipped += [(lines[i].row + shift, lines[i].end_row + shift, lines[i].fault) for i in sorted(faulty)]
        if any(i == first or lines[i].word in _HEADERS for i in faulty):
            yield _Segment(lines[first].row, lines[last - 1].end_row, None)
            continue
        before = -2
        for i in kept:
            line, row = lines[i], lines[i].row
            start = piece.scanned.rows[row - 1]
            instead = piece.text[start : start + line.indent] + "pass" if i in faulty else left[i] if left else ""
            if i == before + 1 and not instead:
                above = lines[before].end_row
                if "#" in piece.text[piece.scanned.rows[above] : start]:
                    row = above + 1  # comments between two lines that stay: a fix must not lose them
            before = i if not instead else -2
            yield _Segment(row, line.end_row, instead)
