"""What a README says, piece by piece: Markdown, reStructuredText and plain text without their markup.

Only what speaks for the project is handed on: no code, no quotes, no comments, no images.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy


class Heading(NamedTuple):
    """A heading: its title, how deep it lies (1 is the top), and the rows that it takes."""

    title: str
    level: int
    row: int
    end_row: int


class Piece(NamedTuple):
    """A paragraph, an item of a list or a row of a table, as its reader sees it.

    kind      text, item or row
    text      without markup; the cells of a row are parted by tabs, and rows of a paragraph by spaces
    offsets   where each character of ``text`` stands in the file
    headings  the titles above it, outermost first, without that of the document
    header    of a row: the text of the first row of its table
    """

    kind: str
    text: str
    offsets: tuple[int, ...]
    headings: tuple[str, ...]
    header: str = ""


class Comment(NamedTuple):
    """A comment on one row: where it begins in the file, and its text with all marks."""

    start: int
    text: str


class Document(NamedTuple):
    """A README: the title of the document, its headings, pieces and comments, in order."""

    title: str
    headings: tuple[Heading, ...]
    pieces: tuple[Piece, ...]
    comments: tuple[Comment, ...]


_FENCE = lazy(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:(`{3,})[^`]*|(~{3,}).*)$")
_ATX = lazy(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSED = lazy(r"(?:^|(?<=[ \t]))#+$")
_UNDERLINE = lazy(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_ADORNED = lazy(r"([=\-`:'\"~^_*+#<>.])\1{2,}[ \t]*$")
_ITEM = lazy(r"(\s*)(?:[-*+•]|\d+[.)]|#\.)[ \t]+")
_DELIMITER = lazy(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_QUOTE = lazy(r" {0,3}>")
_TAG = lazy(r"\s*</?[A-Za-z][^>]*>?")
_DEFINITION = lazy(r" {0,3}\[[^\]]+\]:\s")
_LETTER = lazy(r"[^\r\n]")
_REST_MARKUP = lazy(r"\.\. ")
_REST_COMMENT = lazy(r"[ \t]*(\.\. (?!\[|_|[\w-]+::).*)")
_CELL = lazy(r"(?<!\\)\|")

#: Markup within a row: what is left out, and what of it is kept (the named group ``kept``).
_INLINE = lazy(
    r"""!\[[^\]]{0,300}\](?:\([^)]{0,300}\)|\[[^\]]{0,300}\])?              # images
    | \[(?P<kept>[^\]\[]{1,300})\](?:\([^)]{0,300}\)|\[[^\]]{0,300}\])   # links
    | ~~[^~]{1,300}~~                            # struck out
    | <[A-Za-z/!][^>]{0,300}>                    # tags
    | :[\w+.-]+:(?=`)                            # roles
    | \\(?=[^\w\s])                              # escapes
    | `+                                         # code
    | (?<![\w*\s])\*{1,3}(?!\w) | (?<!\w)\*{1,3}(?=[^\s*]) | (?<=[^\s*])\*{1,3}(?!\w)   # emphasis
    | (?<!\w)_{1,2}(?=[^\s_]) | (?<=[^\s_])_{1,2}(?!\w)
    """,
    re.VERBOSE,
)


def document(path: str, text: str, rows: Sequence[int]) -> Document:
    """What a README holds; ``rows`` are the offsets of its rows."""
    return _Reader(path.lower().endswith(".rst"), text, rows).document()


class _Reader:
    def __init__(self, rest: bool, text: str, rows: Sequence[int]) -> None:
        self._rest, self._text, self._shown, self._rows = rest, text, text, rows
        self._headings: list[Heading] = []
        self._pieces: list[Piece] = []
        self._comments: list[Comment] = []
        self._open: list[tuple[int, int]] = []  # stretches of the piece that is being read
        self._kind = "text"
        self._styles: list[str] = []
        self._above: list[Heading] = []
        self._titled = False

    def document(self) -> Document:
        self._shown = text = self._text if self._rest else self._without_comments(self._without_code())
        ends = [*self._rows[1:], len(text)]
        self._read([text[start:end].rstrip("\r\n") for start, end in zip(self._rows, ends, strict=True)])
        self._close()
        title = self._headings[0].title if self._titled else ""
        return Document(title, tuple(self._headings), tuple(self._pieces), tuple(self._comments))

    def _without_code(self) -> str:
        """The text with every fenced block blanked, row ends kept."""
        parts, fence = [], ""
        for start, end in zip(self._rows, [*self._rows[1:], len(self._text)], strict=True):
            row = self._text[start:end]
            found = _FENCE.match(row.rstrip("\r\n"))
            inside = bool(fence) or found is not None
            if found is not None:
                mark = found[1] or found[2]
                if not fence:
                    fence = mark
                elif mark.startswith(fence) and row.strip() == mark:
                    fence = ""
            parts.append(_LETTER.sub(" ", row) if inside else row)
        return "".join(parts)

    def _without_comments(self, text: str) -> str:
        """The text with every comment blanked, row ends kept."""
        parts, done = [], 0
        at = text.find("<!--")
        while at >= 0:
            end = text.find("-->", at + 4) + 3
            row = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
            if end < 3:
                if row.strip():
                    break  # within a paragraph, one that is never closed is text
                end = len(text)  # at the start of a row it hides all that follows
            if row.count("`") % 2 == 0:  # else it is shown, not meant
                comment = text[at:end]
                if "\n" not in comment and "\r" not in comment:
                    self._comments.append(Comment(at, comment))
                parts += [text[done:at], _LETTER.sub(" ", comment)]
                done = end
            at = text.find("<!--", end)
        return "".join((*parts, text[done:]))

    def _read(self, lines: Sequence[str]) -> None:
        index = self._front_matter(lines)
        table, header, list_depth = False, "", -1
        while index < len(lines):
            line = lines[index]
            index += 1
            if not line.strip():
                self._close()
                table = False
                continue
            taken = self._heading(lines, index - 1)
            if taken:
                index += taken - 1
                table, list_depth = False, -1
                continue
            if self._rest and (line.lstrip().startswith(".. ") or line.strip() == ".."):
                self._close()
                index = self._skip_body(lines, index - 1)
                continue
            following = lines[index] if index < len(lines) else ""
            if not self._rest and "|" in line and (table or ("|" in following and _DELIMITER.match(following))):
                self._close()
                if not table:
                    header, table = self._row(index - 1, line, ""), True
                elif not _DELIMITER.match(line):
                    self._row(index - 1, line, header)
                continue
            item = _ITEM.match(line)
            if item is not None:
                self._close()
                self._kind, list_depth = "item", len(item[1].expandtabs(4))
                self._open.append((self._rows[index - 1] + item.end(), self._rows[index - 1] + len(line)))
                continue
            indent = len(line) - len(line.lstrip())
            if not self._open:
                if indent == 0:
                    list_depth = -1
                if (indent >= 4 or line.startswith("\t")) and list_depth < 0:
                    continue  # code
                if self._rest and indent and list_depth < 0:
                    continue  # a quote or a literal block
            if _QUOTE.match(line) or _TAG.match(line) or _DEFINITION.match(line):
                self._close()
                continue
            start = self._rows[index - 1]
            self._open.append((start + indent, start + len(line)))
            if self._rest and line.rstrip().endswith("::"):
                self._close()
                index = self._skip_body(lines, index - 1)

    def _front_matter(self, lines: Sequence[str]) -> int:
        """The index of the first row behind a block of metadata."""
        if self._rest or not lines or lines[0].strip() != "---":
            return 0
        return next((i + 1 for i, line in enumerate(lines) if i and line.strip() in ("---", "...")), 0)

    def _skip_body(self, lines: Sequence[str], index: int) -> int:
        """The index of the first row behind a directive, comment or literal block of reStructuredText that begins at
        ``index``."""
        line = lines[index]
        comment = _REST_COMMENT.match(line)
        if comment is not None:
            self._comments.append(Comment(self._rows[index] + comment.start(1), comment[1]))
        indent = len(line) - len(line.lstrip())
        index += 1
        while index < len(lines) and (not lines[index].strip() or _indented(lines[index], indent)):
            index += 1
        return index

    def _heading(self, lines: Sequence[str], index: int) -> int:
        """How many rows a heading takes that begins at ``index``, 0 if none does."""
        line = lines[index]
        found = None if self._rest else _ATX.match(line)
        if found is not None:
            self._close()
            title = _CLOSED.sub("", (found[2] or "").rstrip(" \t")).rstrip(" \t")
            self._add_heading(title, len(found[1]), index, index)
            return 1
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if self._rest:
            last = lines[index + 2] if index + 2 < len(lines) else ""
            over = _ADORNED.match(line)
            if over is not None and below.strip() and last.strip() == line.strip():
                self._close()
                self._add_heading(below, self._level(over[1] * 2), index, index + 2)
                return 3
            under = _ADORNED.match(below)
            if under is not None and line[0] not in " \t" and not self._open and _ADORNED.match(line) is None:
                self._add_heading(line, self._level(under[1]), index, index + 1)
                return 2
            return 1 if over is not None else 0  # a transition, or the border of a table
        below_it = _UNDERLINE.match(below)
        plain = not self._open and "|" not in line and not line.startswith(("    ", "\t"))
        if below_it is not None and plain and not _ITEM.match(line) and not _QUOTE.match(line):
            self._add_heading(line, 1 if below_it[1][0] == "=" else 2, index, index + 1)
            return 2
        return 0

    def _level(self, style: str) -> int:
        if style not in self._styles:
            self._styles.append(style)
        return self._styles.index(style) + 1

    def _add_heading(self, title: str, level: int, index: int, end: int) -> None:
        plain, _ = _plain(title.strip(), 0)
        heading = Heading(plain.strip(), level, index + 1, end + 1)
        self._headings.append(heading)
        if len(self._headings) == 1 and level == 1:
            self._titled = True
            return  # the title of the document is above everything
        while self._above and self._above[-1].level >= level:
            self._above.pop()
        self._above.append(heading)

    def _add_piece(self, kind: str, text: str, offsets: Sequence[int], header: str = "") -> None:
        titles = tuple(heading.title for heading in self._above)
        self._pieces.append(Piece(kind, text, tuple(offsets), titles, header))

    def _row(self, index: int, line: str, header: str) -> str:
        """Add a row of a table; returns its text."""
        start = self._rows[index]
        bars = [-1, *(bar.start() for bar in _CELL.finditer(line)), len(line)]
        cells = [(a + 1, b) for a, b in pairwise(bars)]
        if not line[slice(*cells[0])].strip():
            cells = cells[1:]
        if len(cells) > 1 and not line[slice(*cells[-1])].strip():
            cells = cells[:-1]
        text, offsets = "", []
        for number, (a, b) in enumerate(cells):
            cell = line[a:b]
            lead = len(cell) - len(cell.lstrip())
            plain, places = _plain(cell.strip(), start + a + lead)
            plain = plain.replace("\t", " ")
            text += ("\t" if number else "") + plain
            offsets += ([start + a] if number else []) + places
        if header:
            self._add_piece("row", text, offsets, header)
        return text

    def _close(self) -> None:
        """End the piece that is being read."""
        text = ""
        offsets: list[int] = []
        for start, end in self._open:
            plain, places = _plain(self._shown[start:end].rstrip(), start)
            text += (" " if text else "") + plain
            offsets += ([start - 1] if offsets else []) + places
        if text.strip():
            self._add_piece(self._kind, text, offsets)
        self._open, self._kind = [], "text"


def _indented(line: str, indent: int) -> bool:
    return len(line) - len(line.lstrip()) > indent


def _plain(text: str, start: int) -> tuple[str, list[int]]:
    """``text`` without markup, and where each character stood; ``start`` is where ``text`` does."""
    places = list(range(start, start + len(text)))
    for _ in range(2):  # emphasis may stand within a link
        kept: list[tuple[int, int]] = []
        done = 0
        for found in _INLINE.finditer(text):
            kept.append((done, found.start()))
            if found["kept"] is not None:
                kept.append(found.span("kept"))
            done = found.end()
        if not done:
            break
        kept.append((done, len(text)))
        text, places = "".join(text[a:b] for a, b in kept), [place for a, b in kept for place in places[a:b]]
    return text, places
