"""Where nodes lie in the text: one code generation, for the nodes that are asked for.

LibCST's PositionProvider copies the tree and computes rows and columns of every node; findings need a few nodes of a
few files. Code generation reproduces the source exactly, so the running length of the output is the offset.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile

import libcst
from libcst._nodes.internal import CodegenState

from gelu_lint.tree.parse import Unparsable

#: Frames that code generation may take: the bounds of ``scan`` keep real nesting far below this.
_FRAMES = 20_000


#: For the many nodes that nobody asks for: it costs a fifth of a new context.
_NOTHING: contextlib.AbstractContextManager[None] = contextlib.nullcontext()


class _Ruler(CodegenState):
    """Generates the code of a module, and notes where the wanted nodes begin and end."""

    def __init__(self, module: libcst.Module, wanted: set[int], text: str) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.text = text
        self.differs = -1  # where the text first differs
        self.wanted = wanted
        self.spans: dict[int, tuple[int, int]] = {}
        self._length = self._counted = 0  # characters that are generated, in so many tokens
        self.add_token = self.tokens.append  # type: ignore[assignment,method-assign]  # there are many: no call of ours for each

    def here(self) -> int:
        """The characters that have been generated."""
        if self._counted < len(self.tokens):
            code = "".join(self.tokens[self._counted :])
            if self.differs < 0 and not self.text.startswith(code, self._length):
                same = takewhile(lambda pair: pair[0] == pair[1], zip(code, self.text[self._length :], strict=False))
                self.differs = self._length + sum(1 for _ in same)
            self._length += len(code)
            self._counted = len(self.tokens)
        return self._length

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            last = self.tokens.pop()
            if self._counted > len(self.tokens):
                self._length -= len(last)
                self._counted -= 1

    def before_codegen(self, node: libcst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.spans[id(node)] = (self.here(), self._length)

    def after_codegen(self, node: libcst.CSTNode) -> None:
        # Nodes that have a syntactic position (without parentheses and trivia) have noted it already.
        if id(node) in self.wanted:
            start, end = self.spans[id(node)]
            if start == end:
                self.spans[id(node)] = (start, self.here())

    def record_syntactic_position(  # type: ignore[override]
        self,
        node: libcst.CSTNode,
        *,
        start_node: libcst.CSTNode | None = None,
        end_node: libcst.CSTNode | None = None,
    ) -> contextlib.AbstractContextManager[None]:
        return self._noted(node) if id(node) in self.wanted else _NOTHING

    @contextlib.contextmanager
    def _noted(self, node: libcst.CSTNode) -> Iterator[None]:
        start = self.here()
        yield
        self.spans[id(node)] = (start, self.here())


def offsets(module: libcst.Module, nodes: Iterable[libcst.CSTNode], text: str) -> dict[int, tuple[int, int]]:
    """Character offsets (start, end) of ``nodes``, by ``id``: without their own parentheses, as LibCST positions are.

    Whitespace nodes are placed too. Raises RecursionError on a tree deeper than any that ``scan`` lets through, and
    Unparsable if the module does not generate ``text`` to the letter: then no offset can be trusted.
    """
    ruler = _Ruler(module, {id(node) for node in nodes}, text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        module._codegen(ruler)
    finally:
        sys.setrecursionlimit(limit)
    # Without a final line end LibCST generates one and takes it back.
    if ruler.here() != len(text) or 0 <= ruler.differs < len(text):
        raise Unparsable(1, 0, "LibCST does not reproduce its text")
    return ruler.spans
