"""Settings of models and of their training among all that a document holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.facts.settings import CLASS_KEYS, KEYS, is_nearly_approximate
from gelu_lint.model import Entry, Slot, Span, Value
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats.document import Node, Pair, mappings
from gelu_lint.source import Source

#: A longer string is a text, not the name of an activation.
_LONGEST = 200
_GELU = lazy(r"gelu(?![a-z])")
_OURS = lazy(r"(?<![a-z])gelu(?![a-z])|hidden_act")
_TEMPLATE = ("{{", "{%")


def is_template(text: str) -> bool:
    """Whether something else makes the settings out of a text."""
    return any(mark in text for mark in _TEMPLATE)


def concerns(text: str) -> bool:
    """Whether a text that cannot be read may have held something of ours."""
    return _OURS.search(text.lower()) is not None


def entries(documents: Sequence[Node], form: str, source: Source) -> Iterator[Entry]:
    """The entries of the documents of one file, in source order; mappings are numbered through them.

    Where there are several documents, a path begins with the number of its document, marked as that by dashes.
    """
    group = 0
    for index, root in enumerate(documents):
        for path, mapping in mappings(root, (f"---{index}",) if len(documents) > 1 else ()):
            group += 1
            model_type, owner = _text(mapping.get("model_type")), _owner(mapping)
            ours = any(_names_gelu(pair.node.value) for pair in mapping.pairs or ())
            for pair in mapping.pairs or ():
                if pair.key in KEYS or _names_gelu(pair.node.value) or (ours and is_nearly_approximate(pair.key)):
                    slot = _slot(source, form, mapping, pair)
                    yield _entry(form, path, group, model_type, owner, mapping.flow, pair, slot)


def _entry(
    form: str,
    path: tuple[str, ...],
    group: int,
    model_type: str,
    owner: str,
    flow: bool,
    pair: Pair,
    slot: Slot | None,
) -> Entry:
    node = pair.node
    rows = (pair.key_span.row, node.span.end_row if node.literal else pair.key_span.row)
    if rows[1] < rows[0]:  # the value of a merged key or an alias
        rows = (rows[0], rows[0])
    return Entry(
        form, pair.key, path, node.literal, node.value, "", group, "", model_type, owner, flow,
        pair.key_span, node.span, node.quote, ".".join((*path, pair.key)).removeprefix("---"), rows, slot,
    )  # fmt: skip


def _slot(source: Source, form: str, mapping: Node, pair: Pair) -> Slot | None:
    """Where a pair can be added behind this one: right behind the value in braces, else on a row of its own."""
    key, value = pair.key_span, pair.node.span
    if not pair.node.literal or value.row != key.row or value.end_row != key.row:
        return None
    row = source.line(key.row)
    lead = row[: key.column]
    if mapping.flow and not source.line(mapping.span.row).startswith("{", mapping.span.column):
        return None  # [_target_: torch.nn.GELU] is a list
    if mapping.flow:
        alone = not lead.strip() and mapping.span.row < key.row
        before = f",{source.newline}{lead}" if alone and form != "toml" else ", "
        return Slot(Span(value.end_row, value.end_column, value.end_row, value.end_column), before, "")
    if form == "yaml":
        lead = " " * key.column
    elif lead.strip():
        return None  # a key with dots
    return Slot(Span(key.row, len(row), key.row, len(row)), f"{source.newline}{lead}", "")


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
    return isinstance(value, str) and len(value) <= _LONGEST and _GELU.search(value.lower()) is not None
