"""JSON with the place of every key and value.

The standard library's reader says whether a text is JSON, and where it is not; it tells no places, so the text is gone
through once more by tokens, which then cannot go wrong.
"""

from __future__ import annotations

import json
from bisect import bisect_right

from gelu_lint.model import FileSummary, Span
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats import Malformed
from gelu_lint.sites.formats.document import Node, Pair
from gelu_lint.sites.formats.settings import concerns, entries, is_template
from gelu_lint.source import Source

_TOKEN = lazy(r'[\s,:]*("(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,:{}\[\]"]+)')


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the settings of a JSON file."""
    if is_template(source.text):
        return summary
    try:
        root = document(source)
    except Malformed:
        if concerns(source.text):
            raise
        return summary
    return summary._replace(entries=tuple(entries((root,), "json", source))) if root is not None else summary


def document(source: Source) -> Node | None:
    """What a JSON text holds; None where it is meant to be something else: several documents, one a row, or JSON with
    comments. Raises Malformed for what is no JSON.
    """
    try:
        json.loads(source.text)
    except json.JSONDecodeError as fault:
        if fault.msg == "Extra data" or source.text.startswith(("//", "/*"), fault.pos):
            return None  # records rather than settings, or the settings of an editor: readers of models take neither
        raise Malformed(f"not valid JSON: {fault.msg}", *source.position(fault.pos)) from None
    except (RecursionError, ValueError):  # ValueError: an integer of 5,000 digits
        raise Malformed("JSON that is nested too deeply, or holds numbers too long, to be read", 1) from None
    return _Reader(source).root()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._text, self._rows = source.text, source.rows

    def root(self) -> Node:
        """The document of a valid text, read without recursion."""
        holders: list[tuple[int, list[Pair] | list[Node]]] = []
        keys: list[tuple[str, Span] | None] = []
        for found in _TOKEN.finditer(self._text):
            token, (start, end) = found[1], found.span(1)
            if token in "{[":
                holders.append((start, []))
                keys.append(None)
                continue
            if token in "}]":
                start, members = holders.pop()
                keys.pop()
                span = self._span(start, end)
                node = Node(span, pairs=tuple(members)) if token == "}" else Node(span, items=tuple(members))  # type: ignore[arg-type]
            elif holders and self._text[holders[-1][0]] == "{" and keys[-1] is None:
                keys[-1] = (json.loads(token), self._span(start, end))
                continue
            else:
                quote = '"' if token.startswith('"') else ""
                node = Node(self._span(start, end), literal=True, value=json.loads(token), quote=quote)
            if not holders:
                return node
            members = holders[-1][1]
            if self._text[holders[-1][0]] == "{":
                key = keys[-1]
                assert key is not None, "valid JSON has a key before each value of an object"
                members.append(Pair(*key, node))  # type: ignore[arg-type]
                keys[-1] = None
            else:
                members.append(node)  # type: ignore[arg-type]
        raise Malformed("not valid JSON: it is empty", 1)

    def _span(self, start: int, end: int) -> Span:
        return Span(*self._position(start), *self._position(end))

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._rows, offset)
        return row, offset - self._rows[row - 1]
