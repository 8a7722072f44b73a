"""Recognises the keys of tables of activations: names that a registry gives, whatever they say elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.claims import says_gelu
from gelu_lint.model import Use
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.names import Names, text_of
from gelu_lint.tree.nodes import CSTNode, DictElement
from gelu_lint.tree.walk import Walk


class Tables:
    """A visitor that collects uses of kind key."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk = walk
        self._found: list[tuple[DictElement, str]] = []

    def visit_DictElement(self, node: DictElement) -> None:
        if says_gelu(text_of(node.key)):
            self._found.append((node, symbol(self._walk.path)))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        return (node.key for node, _ in self._found)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for node, around in self._found:
            span, rows = draft.span(node.key), draft.statement(node.key)
            yield Use("key", "", draft.text(node.key), text_of(node.key), span, span, (), None, "table", around, "",
                      rows, "")  # fmt: skip
