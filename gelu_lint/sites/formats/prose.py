"""READMEs: what they say of the GELU of their project, where more could be said, and the directives in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count

from gelu_lint.model import Directive, Entry, FileSummary, Section, Slot, Span
from gelu_lint.patterns import lazy
from gelu_lint.scan import Comment, Scan
from gelu_lint.sites.formats.markup import Document, Piece, document
from gelu_lint.source import Source, from_text
from gelu_lint.suppress import directives

_NAMED = ("gelu", "geglu", "gaussian error")
#: Other activations may be named where one of these is.
_SAID = (*_NAMED, "activation", "linearit", "relu", "silu", "swish", "mish", "elu", "glu", "激活")
_UNDERLINED = (".rst", ".txt")
#: What a fix may add; a place where it would not be read as a statement is none.
_PROBE = "Activation: GELU (exact, erf)"
_ARCHITECTURE = lazy(r"\barchitectur|架构", re.IGNORECASE)


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the statements, the sections and the directives of a README."""
    found = document(source.path, source.text, source.rows)
    lowered = source.text.lower()
    entries = tuple(_entries(source, found)) if any(name in lowered for name in _SAID) else ()
    own = tuple(_directives(source, found)) if "gelu-lint" in lowered else ()
    return summary._replace(entries=entries, sections=tuple(_sections(source, found)), directives=own)


def _entries(source: Source, found: Document) -> Iterator[Entry]:
    from gelu_lint.sites.formats.statements import mentions, statements  # their patterns take time to compile

    group = count(1)
    for piece in found.pieces:
        lowered = piece.text.lower()
        if not any(name in lowered for name in _SAID):
            continue
        number = next(group)
        named = any(name in lowered for name in _NAMED)
        said_here = [("prose", said) for said in statements(piece, found.title)] if named else []
        said_here += [("mention", said) for said in mentions(piece, found.title)]
        for form, said in said_here:
            first, last = piece.offsets[said.start], piece.offsets[said.end - 1]
            span = Span(*source.position(first), *source.position(last + 1))
            words = " ".join(piece.text[said.start : said.end].split())
            sure = said.certain and (form != "prose" or bool(said.flavour) or _completes(piece, said.end, found.title))
            heading = piece.headings[-1] if piece.headings else found.title
            yield Entry(
                form, heading, piece.headings, sure, words, said.flavour, number, "", "", "", False,
                span, span, "", heading, (span.row, span.end_row),
            )  # fmt: skip


def _completes(piece: Piece, end: int, title: str) -> bool:
    """Whether a statement that says GELU and no more is read as a whole one when it is completed at ``end``."""
    from gelu_lint.sites.formats.statements import statements

    text = f"{piece.text[:end]} (exact, erf){piece.text[end:]}"
    return any(said.certain and said.flavour for said in statements(piece._replace(text=text), title))


def _sections(source: Source, found: Document) -> Iterator[Section]:
    """All of the README, and the first section about the architecture; a slot is a place where a statement is read
    again once it stands there, which it is not behind a fence that is never closed."""
    from gelu_lint.sites.formats.statements import statements

    for section in _places(source, found):
        slot = section.slot
        assert slot is not None
        at = source.offset(*slot.span[:2])
        tried = from_text(source.path, source.text[:at] + slot.before + _PROBE + slot.after + source.text[at:])
        again = document(tried.path, tried.text, tried.rows)
        place = at + len(slot.before)
        read = [piece for piece in again.pieces if piece.text == _PROBE and piece.offsets[0] == place]
        sure = any(said.certain for piece in read for said in statements(piece, again.title))
        yield section if sure else section._replace(slot=None)


def _places(source: Source, found: Document) -> Iterator[Section]:
    """The sections with the places where a paragraph can be added."""
    newline, last = source.newline, len(source.rows)
    end = Span(last, len(source.line(last)), last, len(source.line(last)))
    lead = newline if source.line(last) else ""
    first = (found.headings[0].row, found.headings[0].end_row) if found.headings else (1, 1)
    underlined = os.path.splitext(source.path)[1].lower() in _UNDERLINED
    titled = f"Architecture{newline}------------" if underlined else "## Architecture"
    above = (lead + newline) if source.text.strip() else ""
    yield Section("", Slot(end, f"{above}{titled}{newline}{newline}", newline), first)
    for heading in found.headings:
        if not _ARCHITECTURE.search(heading.title) or heading.title == found.title:
            continue
        row = heading.end_row + 1
        if row > last:  # the heading ends the file, without a line end
            slot = Slot(end, lead + newline, newline)
        elif source.line(row).strip():
            slot = Slot(Span(row, 0, row, 0), newline, newline + newline)
        elif row == last:
            slot = Slot(end, newline, newline)
        else:
            closing = row + 1 == last and not source.line(last)
            slot = Slot(Span(row + 1, 0, row + 1, 0), "", newline if closing else newline + newline)
        yield Section(heading.title, slot, (heading.row, heading.end_row))
        break


def _directives(source: Source, found: Document) -> Iterator[Directive]:
    """The directives in comments. One alone on its row is about the next row that holds anything."""
    comments = []
    for shown in found.comments:
        row, column = source.position(shown.start)
        mark, end = ("<!--", "-->") if shown.text.startswith("<!--") else ("..", "")
        inner = shown.text[len(mark) : len(shown.text) - len(end)]
        comments.append(Comment(row, column, "#" + " " * (len(mark) - 1) + inner + " " * len(end)))
    scan = Scan(source.rows, (), (), tuple(comments), (), True)
    places = {comment.row: comment for comment in comments}
    for directive in directives(source.text, scan):
        if directive.kind not in ("ignore", "file"):
            continue
        row = directive.span.row
        comment, line = places[row], source.line(row)
        before, after = line[: comment.column], line[comment.column + len(comment.text) :]
        if after.strip():
            cut = Span(row, comment.column, row, comment.column + len(comment.text))
            directive = directive._replace(cut=cut, rest="")
        elif not before.strip():
            below = (at for at in range(row + 1, len(source.rows) + 1) if source.line(at).strip())
            at = next(below, row)
            directive = directive._replace(rows=(at, at))
        yield directive
