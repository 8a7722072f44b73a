"""Recognises names that tables and tests have for activations, and questions whether a GELU exists."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.claims import says_gelu
from gelu_lint.model import Use
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Call,
    Comparison,
    ConcatenatedString,
    CSTNode,
    Dict,
    DictElement,
    Float,
    Integer,
    List,
    Set,
    SimpleString,
)
from gelu_lint.tree.walk import Walk

#: What stands under a key that gives a name to nothing.
_DATA = (Dict, List, Set, SimpleString, ConcatenatedString, Integer, Float)


class Tables:
    """A visitor that collects uses of kind key and probe."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk = walk
        self._found: list[tuple[str, CSTNode, str]] = []

    def visit_DictElement(self, node: DictElement) -> None:
        if not isinstance(node.value, _DATA) or "accurate" in text_of(node.key):
            self._key(node.key)

    def visit_Comparison(self, node: Comparison) -> None:
        for part in (node.left, *(target.comparator for target in node.comparisons)):
            self._key(part)

    def _key(self, node: CSTNode) -> None:
        if says_gelu(text_of(node)):
            self._found.append(("key", node, symbol(self._walk.path)))

    def visit_Call(self, node: Call) -> None:
        asks = len(node.args) > (1 if last_name(node.func) == "hasattr" else 2)
        asks = asks and last_name(node.func) in ("hasattr", "getattr")
        if asks and says_gelu(text_of(node.args[1].value)):
            self._found.append(("probe", node.args[1].value, symbol(self._walk.path)))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        return (node for _, node, _ in self._found)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for kind, node, around in self._found:
            span, rows = draft.span(node), draft.statement(node)
            yield Use(kind, "", draft.text(node), text_of(node), span, span, (), None, "table", around, "", rows, "")
