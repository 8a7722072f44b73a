"""Where nodes lie in the text: one code generation that only counts characters, for the nodes that are asked for.

LibCST's PositionProvider copies the tree and computes rows and columns of every node; findings need a few nodes of a
few files. Code generation reproduces the source exactly, so the running length of the output is the offset.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator

import libcst
from libcst._nodes.internal import CodegenState

#: Frames that code generation may take: the bounds of ``scan`` keep real nesting far below this.
_FRAMES = 20_000


class _Ruler(CodegenState):
    """Counts the characters that are generated, and notes where the wanted nodes begin and end."""

    def __init__(self, module: libcst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.length = 0
        self.wanted = wanted
        self.spans: dict[int, tuple[int, int]] = {}

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.length += len(token)

    def add_token(self, value: str) -> None:
        self.length += len(value)

    def before_codegen(self, node: libcst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.spans[id(node)] = (self.length, self.length)

    def after_codegen(self, node: libcst.CSTNode) -> None:
        # Nodes that have a syntactic position (without parentheses and trivia) have noted it already.
        span = self.spans.get(id(node))
        if span is not None and span[0] == span[1]:
            self.spans[id(node)] = (span[0], self.length)

    @contextlib.contextmanager
    def record_syntactic_position(
        self,
        node: libcst.CSTNode,
        *,
        start_node: libcst.CSTNode | None = None,
        end_node: libcst.CSTNode | None = None,
    ) -> Iterator[None]:
        start = self.length
        yield
        if id(node) in self.wanted:
            self.spans[id(node)] = (start, self.length)


def offsets(module: libcst.Module, nodes: Iterable[libcst.CSTNode]) -> dict[int, tuple[int, int]]:
    """Character offsets (start, end) of ``nodes``, by ``id``: without their own parentheses, as LibCST positions are.

    Whitespace nodes are placed too. Raises RecursionError on a tree deeper than any that ``scan`` lets through.
    """
    ruler = _Ruler(module, {id(node) for node in nodes})
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        module._codegen(ruler)
    finally:
        sys.setrecursionlimit(limit)
    return ruler.spans
