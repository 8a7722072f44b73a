"""What a file of settings holds, whatever its syntax: mappings, lists and scalars, each with its place."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Span, Value
from gelu_lint.named import NamedTuple


class Node(NamedTuple):
    """A mapping (``pairs``), a list (``items``) or a scalar (neither).

    ``literal`` is False where a scalar is none of str, int, float, bool and None (a date, a tag of its own); ``quote``
    is the quote around it, "" for a bare word; ``flow`` tells mappings in braces from those by indentation.
    """

    span: Span
    pairs: tuple[Pair, ...] | None = None
    items: tuple[Node, ...] | None = None
    literal: bool = False
    value: Value = None
    quote: str = ""
    flow: bool = True

    def get(self, key: str) -> Node | None:
        """What a mapping holds under a key: the last such pair counts, as for every reader of such files."""
        return next((pair.node for pair in reversed(self.pairs or ()) if pair.key == key), None)


class Pair(NamedTuple):
    """A key of a mapping, where it stands, and what it holds."""

    key: str
    key_span: Span
    node: Node


def mappings(root: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every mapping of a document with the keys that lead to it, in source order; one that aliases share comes once."""
    seen: set[int] = set()
    waiting = [(path, root)]
    while waiting:
        at, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.pairs is not None:
            yield at, node
        below = [((*at, pair.key), pair.node) for pair in node.pairs or ()]
        below += [((*at, str(i)), item) for i, item in enumerate(node.items or ())]
        waiting += reversed(below)
