"""Settings of models and of their training among all that a document holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gelu_lint.facts.settings import CLASS_KEYS, KEYS
from gelu_lint.model import Entry, Value
from gelu_lint.sites.formats.document import Node, Pair, mappings


def entries(documents: Iterable[Node], form: str) -> Iterator[Entry]:
    """The entries of the documents of one file, in source order; mappings are numbered through them."""
    group = 0
    for root in documents:
        for path, mapping in mappings(root):
            group += 1
            model_type, owner = _text(mapping.get("model_type")), _owner(mapping)
            for pair in mapping.pairs or ():
                if pair.key in KEYS or _names_gelu(pair.node.value):
                    yield _entry(form, path, group, model_type, owner, mapping.flow, pair)


def _entry(form: str, path: tuple[str, ...], group: int, model_type: str, owner: str, flow: bool, pair: Pair) -> Entry:
    node = pair.node
    rows = (pair.key_span.row, node.span.end_row if node.literal else pair.key_span.row)
    return Entry(
        form, pair.key, path, node.literal, node.value, "", group, "", model_type, owner, flow,
        pair.key_span, node.span, node.quote, ".".join((*path, pair.key)), rows,
    )  # fmt: skip


def _owner(mapping: Node) -> str:
    """The class that a mapping configures, as written there."""
    for key in CLASS_KEYS:
        node = mapping.get(key)
        if node is not None and node.items:
            node = node.items[0]
        name = _text(node)
        if name:
            return name
    return ""


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _names_gelu(value: Value) -> bool:
    return isinstance(value, str) and "gelu" in value.lower()
