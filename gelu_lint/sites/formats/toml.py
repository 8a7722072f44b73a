"""TOML with the place of every key and value.

The standard library's reader says whether a text is TOML, and what its values are; it tells no places, so the text is
gone through once more, which then cannot go wrong.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
from bisect import bisect_right
from typing import Any

from gelu_lint.model import FileSummary, Span
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats import Malformed
from gelu_lint.sites.formats.comments import directives
from gelu_lint.sites.formats.document import Node, Pair
from gelu_lint.sites.formats.settings import concerns, entries, is_template
from gelu_lint.source import Source

_COMMENT = lazy(r"#[^\r\n]*")
_BLANK = lazy(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_SPACE = lazy(r"[ \t]*")
_STRING = lazy(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\r\n])*"'
    r"|'[^'\r\n]*'"
)
_BARE = lazy(r"[^\s=.\[\]{},#\"']+")
#: A number, a truth value or a date, which may hold one space.
_WORD = lazy(r"[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?")
_PLACE = lazy(r"\(at line (\d+), column (\d+)\)")


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the settings of a TOML file."""
    if is_template(source.text):
        return summary
    reader = _Reader(source)
    try:
        root = reader.document()
    except Malformed:
        if concerns(source.text):
            raise
        return summary
    found = directives(source, reader.comments)
    return summary._replace(entries=tuple(entries((root,), "toml", source)), directives=found)


class _Table:
    """A table that other rows may add to; ``at`` is where it is first named."""

    def __init__(self, at: Span) -> None:
        self.at = at
        self.members: dict[str, tuple[Span, _Table | list[_Table] | Node]] = {}

    def node(self) -> Node:
        pairs = tuple(Pair(key, span, _frozen(held)) for key, (span, held) in self.members.items())
        return Node(self.at, pairs=pairs, flow=False)


def _frozen(held: _Table | list[_Table] | Node) -> Node:
    if isinstance(held, _Table):
        return held.node()
    if isinstance(held, list):
        return Node(held[0].at, items=tuple(table.node() for table in held), flow=False)
    return held


class _Reader:
    def __init__(self, source: Source) -> None:
        self._text, self._rows = source.text, source.rows
        self.comments: list[re.Match[str]] = []

    def document(self) -> Node:
        """What the text holds. Raises Malformed where it is no TOML."""
        tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        self._loads = tomllib.loads
        try:
            plain = tomllib.loads(self._text)
            return self._read(plain).node()
        except tomllib.TOMLDecodeError as fault:
            place = _PLACE.search(str(fault))
            said = str(fault).partition(" (at ")[0]
            row, column = (int(place[1]), int(place[2]) - 1) if place is not None else (len(self._rows), 0)
            raise Malformed(f"not valid TOML: {said[:1].lower()}{said[1:]}", row, column) from None
        except (RecursionError, ValueError):  # ValueError: an integer of 5,000 digits
            raise Malformed("TOML that is nested too deeply, or holds numbers too long, to be read", 1) from None

    def _read(self, plain: dict[str, Any]) -> _Table:
        root = table = _Table(Span(1, 0, 1, 0))
        values: Any = plain
        at = self._blank(0)
        while at < len(self._text):
            if self._text[at] == "[":
                several = self._text.startswith("[[", at)
                start, at = at, at + 1 + several
                keys, at = self._keys(at)
                at = self._text.index("]", at) + 1 + several
                table, values = self._entered(root, plain, keys, several, self._span(start, at))
            else:
                at = self._pair(at, table, values)
            at = self._blank(at)
        return root

    def _entered(
        self, root: _Table, plain: Any, keys: list[tuple[str, Span]], several: bool, at: Span
    ) -> tuple[_Table, Any]:
        """The table that a header opens, and its values."""
        table, values = root, plain
        for index, (key, span) in enumerate(keys):
            last = index == len(keys) - 1
            if key not in table.members:
                table.members[key] = (span, [] if last and several else _Table(at))
            held = table.members[key][1]
            values = values[key]
            if last and several:
                assert isinstance(held, list)
                held.append(_Table(at))
            if isinstance(held, list):
                values = values[len(held) - 1]
                held = held[-1]
            assert isinstance(held, _Table)
            table = held
        return table, values

    def _pair(self, at: int, table: _Table, values: Any) -> int:
        """Read ``key = value`` into a table; where it ends."""
        keys, at = self._keys(at)
        for key, span in keys[:-1]:
            held = table.members.setdefault(key, (span, _Table(span)))[1]
            assert isinstance(held, _Table)
            table, values = held, values[key]
        key, span = keys[-1]
        node, end = self._value(self._space(self._text.index("=", at) + 1), values[key])
        table.members[key] = (span, node)
        return end

    def _keys(self, at: int) -> tuple[list[tuple[str, Span]], int]:
        """A key with its dots, and where it ends."""
        found: list[tuple[str, Span]] = []
        while True:
            at = self._space(at)
            quoted = _STRING.match(self._text, at)
            match = quoted or _BARE.match(self._text, at)
            assert match is not None, "valid TOML has a key here"
            key = self._loads(f"key = {match[0]}")["key"] if quoted is not None else match[0]
            found.append((key, self._span(at, match.end())))
            at = self._space(match.end())
            if not self._text.startswith(".", at):
                return found, at
            at += 1

    def _value(self, at: int, value: Any) -> tuple[Node, int]:
        """A value that begins at an offset, and where it ends."""
        opening = self._text[at]
        if opening == "[":
            return self._list(at, value)
        if opening == "{":
            return self._inline(at, value)
        quoted = _STRING.match(self._text, at)
        match = quoted or _WORD.match(self._text, at)
        assert match is not None, "valid TOML has a value here"
        literal = isinstance(value, (str, int, float)) and not (isinstance(value, float) and not math.isfinite(value))
        quote = ""
        if quoted is not None:
            quote = opening * 3 if match[0].startswith(opening * 3) else opening
        return Node(
            self._span(*match.span()), literal=literal, value=value if literal else None, quote=quote
        ), match.end()

    def _list(self, at: int, values: list[Any]) -> tuple[Node, int]:
        start, at = at, self._blank(at + 1)
        items: list[Node] = []
        while self._text[at] != "]":
            node, at = self._value(at, values[len(items)])
            items.append(node)
            at = self._blank(at)
            if self._text[at] == ",":
                at = self._blank(at + 1)
        return Node(self._span(start, at + 1), items=tuple(items)), at + 1

    def _inline(self, at: int, values: dict[str, Any]) -> tuple[Node, int]:
        start, at = at, self._blank(at + 1)
        table = _Table(self._span(start, start + 1))
        while self._text[at] != "}":
            at = self._blank(self._pair(at, table, values))
            if self._text[at] == ",":
                at = self._blank(at + 1)
        return table.node()._replace(span=self._span(start, at + 1), flow=True), at + 1

    def _blank(self, at: int) -> int:
        """Where the next token begins; comments on the way are kept."""
        found = _BLANK.match(self._text, at)
        assert found is not None
        if "#" in found[0]:
            self.comments += _COMMENT.finditer(self._text, at, found.end())
        return found.end()

    def _space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        assert found is not None
        return found.end()

    def _span(self, start: int, end: int) -> Span:
        return Span(*self._position(start), *self._position(end))

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._rows, offset)
        return row, offset - self._rows[row - 1]
