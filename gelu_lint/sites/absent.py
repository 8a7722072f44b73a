"""Recognises what cannot run: names that do not exist, values that are refused, numbers where a tensor must stand."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from gelu_lint.facts.record import Refused
from gelu_lint.facts.table import absent, find_absent, refused, tensor_only
from gelu_lint.model import Use
from gelu_lint.named import NamedTuple
from gelu_lint.sites.arguments import arguments, nodes_of, slot
from gelu_lint.sites.context import Around, Guards, quote
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Attribute,
    BinaryOperation,
    Call,
    CSTNode,
    Float,
    ImportFrom,
    ImportStar,
    Integer,
    Name,
    UnaryOperation,
)
from gelu_lint.tree.walk import Walk

_NUMBERS = frozenset(f"{module}.{name}" for module in ("math", "numpy", "torch") for name in ("pi", "e", "tau", "inf"))


class _Found(NamedTuple):
    kind: str
    full: str
    detail: str
    form: str
    node: CSTNode
    callee: CSTNode
    call: Call | None
    around: Around


@functools.cache
def _last_names() -> frozenset[str]:
    """The last parts of all names with something to say about."""
    return frozenset(name.rpartition(".")[2] for name in (*absent(), *refused(), *tensor_only()))


class Absences:
    """A visitor that collects uses of kind absent, refused and number."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []
        self._guards = Guards()
        self._calls: dict[int, Call] = {}
        self._last = _last_names()

    def visit_Call(self, node: Call) -> None:
        self._calls[id(node.func)] = node
        last = last_name(node.func)
        if last not in self._last or "gelu" in last.lower():
            return
        names = self._names.resolve(node.func, self._walk.moment)
        for full in names if not self._names.is_patched(names) else ():
            if full in refused():
                self._refused(node, full, refused()[full])
            elif full in tensor_only() and node.args and all(self._number(a.value) for a in node.args):
                self._add("number", full, tensor_only()[full], "call", node, node.func, node)

    def _refused(self, node: Call, full: str, row: Refused) -> None:
        positional = [a for a in node.args if a.keyword is None]
        chosen = [a for a in node.args if isinstance(a.keyword, Name) and a.keyword.value == row.keyword]
        if row.position is not None and len(positional) > row.position and not any(a.star for a in positional):
            chosen.append(positional[row.position])
        for arg in chosen:
            known, value = literal(arg.value)
            if known and isinstance(value, str) and any(word in value.lower() for word in row.words):
                self._add("refused", full, str(value), "call", node, node.func, node)

    def visit_Attribute(self, node: Attribute) -> None:
        last = node.attr.value
        if not (last in self._last or "gelu" in last.lower()):
            return
        path = self._walk.path
        if path and type(path[-1]).__name__ in ("AssignTarget", "AnnAssign", "Del"):
            return
        names = self._names.resolve(node, self._walk.moment)
        if len(names) != 1 or self._names.is_patched(names):
            return
        (full,) = names
        if find_absent(full) is not None:
            call = self._calls.get(id(node))
            self._add("absent", full, "", "call" if call else "reference", call or node, node, call)

    def visit_ImportFrom(self, node: ImportFrom) -> None:
        if isinstance(node.names, ImportStar) or node.relative or node.module is None:
            return
        module: CSTNode = node.module
        parts: list[str] = []
        while isinstance(module, Attribute):
            parts.append(module.attr.value)
            module = module.value
        parts.append(last_name(module))
        prefix = ".".join(reversed(parts))
        for alias in node.names:
            full = f"{prefix}.{last_name(alias.name)}"
            if find_absent(full) is not None and not self._names.is_patched(frozenset({full})):
                form = "sole" if len(node.names) == 1 else "import"
                self._add("absent", full, last_name(alias.asname.name) if alias.asname else "", form, alias.name,
                          node.module, None)  # fmt: skip

    def _number(self, node: CSTNode) -> bool:
        """Whether ``node`` is a Python number: literals, constants, and arithmetic and ``math`` calls of them."""
        waiting = [node]
        for _ in range(200):
            if not waiting:
                return True
            item = waiting.pop()
            if isinstance(item, (Integer, Float)):
                continue
            if isinstance(item, BinaryOperation):
                waiting += [item.left, item.right]
            elif isinstance(item, UnaryOperation):
                waiting.append(item.expression)
            elif isinstance(item, Attribute) and item.attr.value in ("pi", "e", "tau", "inf"):
                if not self._names.resolve(item, self._walk.moment) & _NUMBERS:
                    return False
            elif isinstance(item, Call):
                called = self._names.resolve(item.func, self._walk.moment)
                if not called or not all(name.startswith(("math.", "numpy.")) for name in called):
                    return False
                if not all(name.startswith("math.") for name in called):
                    waiting += [arg.value for arg in item.args]  # NumPy hands a tensor through, math never does
            elif isinstance(item, Name):
                constant = self._names.constant(item, self._walk.moment)
                if constant is None:
                    names = self._names.resolve(item, self._walk.moment)
                    if not names & _NUMBERS:
                        return False
                else:
                    waiting.append(constant)
            else:
                return False
        return False

    def _add(
        self, kind: str, full: str, detail: str, form: str, node: CSTNode, callee: CSTNode, call: Call | None
    ) -> None:
        around = self._guards.around(self._walk, node)
        self._found.append(_Found(kind, full, detail, form, node, callee, call, around))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        for found in self._found:
            yield found.node
            yield found.callee
            if found.call is not None:
                yield from nodes_of(found.call)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for found in self._found:
            free = quote(found.around.path, draft.quote)
            call = found.call
            yield Use(
                found.kind,
                found.full,
                draft.text(found.callee),
                found.detail,
                draft.span(found.node),
                draft.span(found.callee),
                arguments(call, self._names, found.around.moment, draft) if call is not None else (),
                slot(call, draft) if call is not None and free else None,
                found.form,
                found.around.symbol,
                found.around.guard,
                draft.statement(found.node),
                free or draft.quote,
            )
