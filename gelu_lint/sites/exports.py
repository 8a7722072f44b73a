"""Recognises exports to ONNX that say which opset they want, and which GELUs of the file are in the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gelu_lint.facts.table import callables
from gelu_lint.model import HANDED, Export, Site, Span
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import Around, Guards
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Arg, Attribute, BaseExpression, Call, ClassDef, CSTNode, Name
from gelu_lint.tree.walk import Walk

if TYPE_CHECKING:
    from gelu_lint.reach import Reach

_OPSET = "opset_version"
_EXPORTS = frozenset(("torch.onnx.export", "torch.onnx.utils.export"))
#: Lightning hands what it does not know to torch.onnx.export.
_METHOD = "to_onnx"
_LIGHTNING = lazy(r"^[ \t]*(?:from|import)[ \t]+(?:pytorch_)?lightning\b", re.MULTILINE)
#: Classes of modules at the top level of a text.
_MODULE = lazy(r"^class\s+(\w+)\s*\([^()]*Module\b[^()]*\)", re.MULTILINE)


class _Found(NamedTuple):
    node: Call
    model: CSTNode
    callee: str
    opset: int
    asked: Arg
    literal: bool
    dynamo: str
    around: Around


class Exports:
    """A visitor that collects exports; ``exports`` tells them."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._guards = Guards()
        self._found: list[_Found] = []

    @staticmethod
    def concerns(text: str) -> bool:
        """Whether a text may say which opset it wants."""
        return _OPSET in text

    def visit_Call(self, node: Call) -> None:
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        asked = next((a for a in node.args if isinstance(a.keyword, Name) and a.keyword.value == _OPSET), None)
        model = self._model(node, given) if asked is not None else None
        if asked is None or model is None:
            return
        number = asked.value
        known, value = literal(number)
        if not known:
            constant = self._names.constant(number, self._walk.moment)
            value = literal(constant)[1] if constant is not None else None
        if not isinstance(value, int) or isinstance(value, bool):
            return
        dynamo = literal(given["dynamo"])[1] if "dynamo" in given else None
        said = str(dynamo) if isinstance(dynamo, bool) else ""
        callee = _METHOD if last_name(node.func) == _METHOD else "torch.onnx.export"
        around = self._guards.around(self._walk, node)
        self._found.append(_Found(node, model, callee, value, asked, known, said, around))

    def _model(self, node: Call, given: dict[str, BaseExpression]) -> CSTNode | None:
        """What a call exports, None where it exports nothing."""
        if self._names.resolve(node.func, self._walk.moment) & _EXPORTS:
            first = node.args[0]
            return given.get("model") or (None if first.keyword is not None or first.star else first.value)
        return node.func.value if isinstance(node.func, Attribute) and node.func.attr.value == _METHOD else None

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``exports`` needs the places of."""
        for found in self._found:
            yield from (found.node, found.node.func, found.model, found.asked, found.asked.value)

    def exports(self, draft: Draft, sites: Sequence[Site], reach: Callable[[], Reach]) -> Iterator[Export]:
        """The exports, in source order; ``sites`` are those of the file, whose code may run what ``reach`` gives."""
        for found in self._found:
            if found.callee == _METHOD and _LIGHTNING.search(draft.whole) is None:
                continue
            number, rows = draft.span(found.asked.value), draft.statement(found.node)
            gelus = tuple(self._gelus(found, draft, reach(), sites))
            yield Export(
                found.callee, draft.text(found.node.func), found.opset, found.literal, number, found.dynamo,
                gelus, draft.span(found.asked), found.around.symbol, found.around.guard, rows,
            )  # fmt: skip

    def _gelus(self, found: _Found, draft: Draft, reach: Reach, sites: Sequence[Site]) -> Iterator[Span]:
        written = draft.text(found.model)
        if written in ("self", "super()"):
            owner = next((node for node in reversed(found.around.path) if isinstance(node, ClassDef)), None)
            told = reach.entered([owner.name.value] if owner is not None else [])
        else:
            told = reach.made_of(draft.statement(found.node)[0], written)
            if not told.rows and not told.made and all(lead.startswith(HANDED) for lead in told.leads):
                # Whoever calls it hands the model over: it is the one of this file, if that has but one.
                classes = _MODULE.findall(draft.whole)
                told = reach.entered(classes) if len(classes) == 1 else told
        own = draft.span(found.model)
        for site in sites:
            row = callables().get(site.callee)
            module = site.spelling in ("reference", "string") or (row is not None and row.kind == "class")
            where = (*told.rows, *told.made) if module else told.rows
            inside = own[:2] <= site.span[:2] and site.span[2:] <= own[2:]
            if inside or any(first <= site.span.row <= last for first, last in where):
                yield site.span
