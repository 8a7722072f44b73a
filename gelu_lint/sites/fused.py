"""Recognises fused operations with a GELU inside that is another function on other devices."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.claims import says_gelu
from gelu_lint.model import Use
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Call, Comparison, CSTNode, Name
from gelu_lint.tree.walk import Walk

_FUSED = frozenset(
    f"{module}._addmm_activation{overload}"
    for module in ("torch", "torch.ops.aten", "torch._C._VariableFunctions")
    for overload in ("", ".default", ".out")
)


#: What tells that a file asks where its tensors are before it calls what only one device has.
_ASKS = lazy(r"\bis_cuda\b|\bdevice\.type\b|\bdevice_type\b")


class Fused:
    """A visitor that collects uses of kind fused."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[tuple[Call, CSTNode, str]] = []

    def visit_Call(self, node: Call) -> None:
        given = next(
            (a.value for a in node.args if isinstance(a.keyword, Name) and a.keyword.value == "use_gelu"), None
        )
        if given is None or not self._is_on(given):
            return
        callee = node.func
        if last_name(callee) == "partial" and node.args and not node.args[0].star:
            callee = node.args[0].value
        meant = self._names.resolve(callee, self._walk.moment)
        if meant & _FUSED or (not meant and last_name(callee) == "_addmm_activation"):
            self._found.append((node, callee, symbol(self._walk.path)))

    def _is_on(self, node: CSTNode) -> bool:
        """Whether ``use_gelu`` is true, or asks for the name of a GELU."""
        constant = self._names.constant(node, self._walk.moment)
        known, value = literal(constant if constant is not None else node)
        if known:
            return bool(value)
        if isinstance(node, Comparison):
            target = node.comparisons[0]
            return any(says_gelu(text_of(part)) for part in (node.left, target.comparator))
        return False

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        for node, callee, _ in self._found:
            yield node
            yield callee

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        guard = "device" if self._found and _ASKS.search(draft.whole) else ""
        for node, callee, around in self._found:
            span, at, rows = draft.span(node), draft.span(callee), draft.statement(node)
            name = draft.text(callee)
            yield Use("fused", name, name, "", span, at, (), None, "call", around, guard, rows, "")
