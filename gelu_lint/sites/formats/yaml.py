"""YAML with the place of every key and value.

PyYAML's parser gives events with places, by libyaml where it is built in. They are put together here without recursion
and without constructing anything: tags of objects make a value that is no literal, aliases stand for what they name,
merge keys for the pairs that they bring in.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gelu_lint.model import FileSummary, Span, Value
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats import Malformed
from gelu_lint.sites.formats.comments import directives
from gelu_lint.sites.formats.document import Node, Pair
from gelu_lint.sites.formats.settings import concerns, entries, is_template
from gelu_lint.source import Source

_DEEPEST = 100
#: Pairs that merge keys may bring in, all in all: merges of merges of merges grow without end.
_MOST_MERGED = 20_000

_COMMENT = lazy(r"(?:(?<=\s)|^)#[^\r\n]*", re.MULTILINE)
#: What may stand before a scalar: its anchor and its tag.
_PROPERTY = lazy(r"[&!][^\s]*(?:\s+(?:#[^\r\n]*)?)*")
_ROW = lazy(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_PREFIX = "tag:yaml.org,2002:"


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the settings of a YAML file."""
    if is_template(source.text):
        return summary
    reader = _Reader(source)
    try:
        documents = reader.documents()
    except Malformed:
        if concerns(source.text):
            raise
        return summary
    found = directives(source, _COMMENT.finditer(source.text), reader.quiet)
    held = [*entries(documents, "yaml", source)]
    places = Counter(entry.span for entry in held)
    places.update(reader.aliased)
    told = tuple(entry._replace(shared=places[entry.span] > 1) for entry in held)
    return summary._replace(entries=told, directives=found)


class _Open:
    """A mapping or list that has begun: ``key`` is the key that waits for its value."""

    def __init__(self, start: int, flow: bool, mapping: bool, anchor: str | None) -> None:
        self.start, self.flow, self.mapping, self.anchor = start, flow, mapping, anchor
        self.pairs: list[Pair] = []
        self.items: list[Node] = []
        self.merged: list[Node] = []
        self.key: Node | None = None
        self.merges = False


class _Reader:
    def __init__(self, source: Source) -> None:
        self._text, self._rows = source.text, source.rows
        #: Stretches of the text, by offsets, in which a "#" begins no comment.
        self.quiet: list[tuple[int, int]] = []
        self.aliased: list[Span] = []  # where scalars stand that aliases name, once for each
        self._anchors: dict[str, Node] = {}
        self._merged = 0

    def documents(self) -> list[Node]:
        """What the documents of the text hold. Raises Malformed where it is no YAML."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._scalars = _Scalars(yaml)
        roots: list[Node] = []
        holders: list[_Open] = []
        try:
            events: Iterator[Any] = yaml.parse(self._text, Loader=loader)
            for event in events:
                kind = type(event).__name__
                start, end = event.start_mark.index, event.end_mark.index
                if kind in ("MappingStartEvent", "SequenceStartEvent"):
                    holders.append(_Open(start, bool(event.flow_style), kind[0] == "M", event.anchor))
                    if len(holders) > _DEEPEST:
                        raise Malformed("YAML that is nested too deeply to be read", *self._position(start))
                    continue
                if kind in ("MappingEndEvent", "SequenceEndEvent"):
                    holder = holders.pop()
                    node = self._closed(holder, end)
                    anchor = holder.anchor
                elif kind == "ScalarEvent":
                    node, anchor = self._scalar(event), event.anchor
                elif kind == "AliasEvent":
                    around = any(holder.anchor == event.anchor for holder in holders)
                    node, anchor = self._alias(event.anchor, around, start, end), None
                else:
                    if kind == "DocumentStartEvent":
                        self._anchors = {}
                    continue
                if anchor:
                    self._anchors[anchor] = node
                if holders:
                    self._put(holders[-1], node)
                else:
                    roots.append(node)
        except yaml.YAMLError as fault:
            raise self._malformed(fault) from None
        except RecursionError:
            raise Malformed("YAML that is nested too deeply to be read", 1) from None
        return roots

    def _put(self, holder: _Open, node: Node) -> None:
        """Hand a node to the mapping or list around it: as an item, as a key, or as the value of the key before it."""
        if not holder.mapping:
            holder.items.append(node)
        elif holder.key is None:
            holder.key = node
            holder.merges = node.value == "<<" and not node.quote
        else:
            if holder.merges:
                holder.merged += [node] if node.pairs is not None else node.items or ()
            elif holder.key.pairs is None and holder.key.items is None:
                text = holder.key.value if isinstance(holder.key.value, str) else self._written(holder.key.span)
                holder.pairs.append(Pair(text, holder.key.span, node))
            holder.key = None

    def _closed(self, holder: _Open, end: int) -> Node:
        span = Span(*self._position(holder.start), *self._position(end))
        if not holder.mapping:
            return Node(span, items=tuple(holder.items), flow=holder.flow)
        if not holder.merged:
            return Node(span, pairs=tuple(holder.pairs), flow=holder.flow)
        own = {pair.key for pair in holder.pairs}
        brought: dict[str, Pair] = {}
        for node in reversed(holder.merged):  # of several, the first counts
            brought.update((pair.key, pair) for pair in node.pairs or () if pair.key not in own)
            self._merged += len(node.pairs or ())
            if self._merged > _MOST_MERGED:
                raise Malformed("YAML that merges too many mappings to be read", *span[:2])
        return Node(span, pairs=(*brought.values(), *holder.pairs), flow=holder.flow)

    def _alias(self, name: str, around: bool, start: int, end: int) -> Node:
        """What an alias stands for: a scalar at the place of the alias; a mapping or list is that one."""
        found = self._anchors.get(name)
        span = Span(*self._position(start), *self._position(end))
        if around:
            return Node(span)
        if found is None:
            raise Malformed(f"not valid YAML: found undefined alias {name!r}", *span[:2])
        if found.pairs is not None or found.items is not None:
            return found
        self.aliased.append(found.span)
        return found._replace(span=span, quote="")

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        while start < end and self._text[start] in "&!":
            found = _PROPERTY.match(self._text, start)
            assert found is not None
            start = min(found.end(), end)
        style = event.style or ""
        if style in ("|", ">"):
            self.quiet.append(self._block(start, end))
        elif style:
            self.quiet.append((start, end))
        span = Span(*self._position(start), *self._position(end))
        literal, value = self._scalars.value(event.tag, event.implicit[0], event.value)
        quote = style if style in ("'", '"') else ""
        if isinstance(value, str) and "${" in value:
            literal, value = False, None  # it is filled in later
        return Node(span, literal=literal, value=value, quote=quote)

    def _block(self, start: int, end: int) -> tuple[int, int]:
        """Where the text of a block scalar stands, without the comments before and after it."""
        at = first = self._after(start)
        indent, done = -1, first
        while at < end:
            row = _ROW.match(self._text, at)
            assert row is not None
            text = row[0].strip(" \r\n")
            if text:
                lead = len(row[0]) - len(row[0].lstrip(" "))
                indent = lead if indent < 0 else indent
                if lead < indent:
                    break
                done = row.end()
            at = row.end()
        return first, max(first, done)

    def _after(self, offset: int) -> int:
        """Where the row after the one of an offset begins."""
        row = bisect_right(self._rows, offset)
        return self._rows[row] if row < len(self._rows) else len(self._text)

    def _written(self, span: Span) -> str:
        return self._text[self._rows[span.row - 1] + span.column : self._rows[span.end_row - 1] + span.end_column]

    def _position(self, offset: int) -> tuple[int, int]:
        offset = min(offset, len(self._text))
        row = bisect_right(self._rows, offset)
        return row, offset - self._rows[row - 1]

    def _malformed(self, fault: Any) -> Malformed:
        mark = getattr(fault, "problem_mark", None) or getattr(fault, "context_mark", None)
        offset = getattr(mark, "index", None) if mark is not None else getattr(fault, "position", 0)
        said = getattr(fault, "problem", None) or getattr(fault, "reason", None) or "it cannot be read"
        return Malformed(f"not valid YAML: {said}", *self._position(max(0, offset or 0)))


class _Scalars:
    """What plain words mean, by the rules and readers of PyYAML's safe loader."""

    def __init__(self, yaml: Any) -> None:
        self._rules = yaml.SafeLoader.yaml_implicit_resolvers
        self._constructor = yaml.constructor.SafeConstructor()
        self._node = yaml.ScalarNode

    def value(self, tag: str | None, plain: bool, text: str) -> tuple[bool, Value]:
        """Whether a scalar is a literal, and its value."""
        if plain and tag in (None, "!"):
            tag = self._resolved(text)
        elif tag in (None, "!"):
            tag = _PREFIX + "str"
        kind = tag.removeprefix(_PREFIX) if tag is not None else ""
        if kind in ("str", "merge", "value"):
            return True, text
        if kind == "null":
            return True, None
        if kind not in ("bool", "int", "float"):
            return False, None
        read = getattr(self._constructor, f"construct_yaml_{kind}")
        try:
            found = read(self._node(tag, text))
        except (ValueError, KeyError, IndexError, OverflowError):
            return False, None
        return (True, found) if not isinstance(found, float) or math.isfinite(found) else (False, None)

    def _resolved(self, text: str) -> str:
        for rules in self._candidates(text):
            for tag, pattern in rules:
                if pattern.match(text):
                    return str(tag)
        return _PREFIX + "str"

    def _candidates(self, text: str) -> Iterator[Any]:
        yield self._rules.get(text[0] if text else "", ())
        yield self._rules.get(None, ())
