"""Recognises what takes the place of a GELU: patches of a framework, swaps of modules, helpers of a class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gelu_lint.claims import says_gelu
from gelu_lint.facts.table import find
from gelu_lint.model import Site, Swap
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.blocks import Blocks
from gelu_lint.sites.claimed import owner_of
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import dotted, last_name, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    Call,
    ClassDef,
    Comparison,
    CSTNode,
    DictElement,
    FunctionDef,
    If,
    IfExp,
    IndentedBlock,
    Lambda,
    Match,
    MatchCase,
    Name,
    Raise,
    Return,
    SimpleStatementLine,
    Tuple,
    UnaryOperation,
)
from gelu_lint.tree.walk import Moment, Walk

_KEEPS = lazy(r"(?i)approx")
_ENDS = (Return, Raise)
#: Decorators that leave the parameters as they are.
_SAME = frozenset(("script", "compile", "wraps", "no_grad", "inference_mode", "staticmethod", "jit", "custom_jvp"))


class _Found(NamedTuple):
    kind: str
    subject: str
    node: CSTNode
    made: CSTNode | None
    defined: FunctionDef | ClassDef | Lambda | None
    keyword: str
    around: FunctionDef | None
    path: tuple[CSTNode, ...]


class Swaps:
    """A visitor that collects swaps."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []
        self._tests: dict[int, str] = {}  # by id of an if: what it has found to be a GELU
        self._behind: dict[int, str] = {}  # by id of a statement: what an if before it has found to be one

    # Patches

    def visit_Assign(self, node: Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, Attribute):
                if target.target.attr.value in ("gelu", "GELU", "gelu_", "forward", "__call__"):
                    self._patched(self._names.resolve(target.target, self._walk.moment), node.value, target.target)
                if isinstance(node.value, Name) and last_name(target.target.value) == "self":
                    self._helper(node.value, node.value)

    def _patched(self, names: frozenset[str], value: CSTNode, at: CSTNode) -> None:
        method = ""
        for last in (".forward", ".__call__"):
            if names and all(name.endswith(last) for name in names):
                method, names = last, frozenset(name.removesuffix(last) for name in names)
        row = find(names)
        if row is None or not row.keyword or (method != "") != (row.kind == "class" and method != ""):
            return
        made = self._defined(value, self._walk.moment)
        if made is None and isinstance(value, Call):
            held = self._defined(value.func, self._walk.moment)  # an object of a class
            body = held.body.body if isinstance(held, ClassDef) else ()
            own = [s for s in body if isinstance(s, FunctionDef) and s.name.value in ("forward", "__call__", "call")]
            made = own[0] if own else None
        if made is not None:
            kind = "patch" if not method else "patched method"
            self._add(kind, row.name, at, value, made, row.keyword)

    def _set(self, node: Call) -> None:
        """``setattr(F, "gelu", mine)`` and what test tools have for it."""
        values = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        if len(values) >= 3 and text_of(values[1]):
            names = frozenset(
                f"{base}.{text_of(values[1])}" for base in self._names.resolve(values[0], self._walk.moment)
            )
            self._patched(names, values[2], values[0])
        elif len(values) == 2 and text_of(values[0]):
            self._patched(frozenset({text_of(values[0])}), values[1], values[0])

    # Swaps

    def visit_If(self, node: If) -> None:
        self._test(node, node.test)
        subject = self._subject(node.test.expression) if isinstance(node.test, UnaryOperation) else ""
        block = self._walk.path[-1] if self._walk.path else None
        if subject and isinstance(block, IndentedBlock) and _leaves(node):
            after = False
            for statement in block.body:
                if after:
                    self._behind[id(statement)] = subject
                after = after or statement is node

    def visit_IfExp(self, node: IfExp) -> None:
        self._test(node, node.test)

    def visit_MatchCase(self, node: MatchCase) -> None:
        kind, match = getattr(node.pattern, "cls", None), self._walk.path[-1]
        if kind is not None and isinstance(match, Match) and self._is_gelu(kind, self._walk.moment):
            self._tests[id(node)] = dotted(match.subject)

    def _test(self, node: If | IfExp, test: CSTNode) -> None:
        subject = self._subject(test)
        if subject:
            self._tests[id(node)] = subject

    def _subject(self, test: CSTNode) -> str:
        """What a test finds to be a GELU of a class that has a choice, "" if it is no such test."""
        moment = self._walk.moment
        if isinstance(test, Call) and last_name(test.func) == "isinstance" and len(test.args) == 2:
            kind = test.args[1].value
            if isinstance(kind, Tuple) and len(kind.elements) == 1:
                kind = kind.elements[0].value
            return dotted(test.args[0].value) if self._is_gelu(kind, moment) else ""
        if isinstance(test, Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            if type(target.operator).__name__ not in ("Is", "Equal"):
                return ""
            left, right = test.left, target.comparator
            named = isinstance(left, Attribute) and left.attr.value == "__name__" and text_of(right) == "GELU"
            if named and isinstance(left, Attribute):
                left = left.value
            elif not self._is_gelu(right, moment):
                return ""
            if isinstance(left, Call) and last_name(left.func) == "type" and len(left.args) == 1:
                return dotted(left.args[0].value)
            if isinstance(left, Attribute) and left.attr.value == "__class__":
                return dotted(left.value)
        return ""

    def _is_gelu(self, node: CSTNode, moment: Moment) -> bool:
        row = find(self._names.resolve(node, moment))
        return row is not None and row.kind == "class" and bool(row.keyword)

    def visit_Call(self, node: Call) -> None:
        if last_name(node.func) in ("setattr", "object", "patch") and node.args:
            self._set(node)
        subject = self._swapped(node) if self._tests or self._behind else ""
        if subject:
            hands = any(name == subject or name.startswith(subject + ".") for name in _names_in(node))
            if not hands:
                self._add("swap", subject, node, node.func, self._defined(node.func, self._walk.moment), "approximate")
        if isinstance(node.func, Name):
            self._helper(node.func, node)

    def _swapped(self, node: CSTNode) -> str:
        chain = [*self._walk.path, node]
        start = max((i for i, a in enumerate(chain) if isinstance(a, FunctionDef)), default=0)
        for parent, child in zip(chain[start:], chain[start + 1 :], strict=False):
            if id(parent) in self._tests and child is getattr(parent, "body", None):
                return self._tests[id(parent)]
            if id(child) in self._behind:
                return self._behind[id(child)]
        return ""

    def visit_DictElement(self, node: DictElement) -> None:
        # {nn.GELU: lambda module: nn.GELU()}
        if (
            isinstance(node.value, Lambda)
            and isinstance(node.value.body, Call)
            and self._is_gelu(node.key, self._walk.moment)
        ):
            params = node.value.params.params
            subject = params[0].name.value if params else ""
            if subject and subject not in _names_in(node.value.body):
                self._add("swap", subject, node.value.body, node.value.body.func, None, "approximate")
        elif isinstance(node.value, (Name, Attribute)) and self._is_gelu(node.key, self._walk.moment):
            # {nn.GELU: Mine}, and then table[type(module)]()
            made = self._defined(node.value, self._walk.moment)
            above = self._walk.path[-2] if len(self._walk.path) > 1 else None
            target: CSTNode | None = above.target if isinstance(above, AnnAssign) else None
            if isinstance(above, Assign):
                target = above.targets[0].target
            table = last_name(target) if target is not None else ""
            if table and (made is not None or self._is_gelu(node.value, self._walk.moment)):
                self._add(f"table {table}", "the module", node.value, node.value, made, "approximate")

    # Helpers

    def _helper(self, name: Name, at: CSTNode) -> None:
        """A function of this file that computes for a class, by its name a GELU."""
        owner = owner_of(self._walk.path)
        if owner is None or not says_gelu(name.value):
            return
        made = self._defined(name, self._walk.moment)
        if isinstance(made, FunctionDef):
            self._add("helper", owner.name.value, at, name, made, "approximate")

    def _defined(self, node: CSTNode, moment: Moment) -> FunctionDef | ClassDef | Lambda | None:
        """The function, class or lambda of this file that an expression stands for."""
        if isinstance(node, Lambda):
            return node
        if not isinstance(node, Name):
            return None
        held = [found.node for found in self._names.reaching(node, moment)]
        if len(held) == 1 and isinstance(held[0], (FunctionDef, ClassDef)):
            return held[0]
        return None

    def _add(
        self,
        kind: str,
        subject: str,
        node: CSTNode,
        made: CSTNode,
        defined: FunctionDef | ClassDef | Lambda | None,
        keyword: str,
    ) -> None:
        around = next((a for a in reversed(self._walk.path) if isinstance(a, FunctionDef)), None)
        self._found.append(_Found(kind, subject, node, made, defined, keyword, around, tuple(self._walk.path)))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``swaps`` needs the places of."""
        for found in self._found:
            yield found.node
            if found.made is not None:
                yield found.made
            for node in (found.around, found.defined):
                if isinstance(node, (FunctionDef, ClassDef)):
                    yield from (node.name, node.body)
                elif node is not None:
                    yield node

    def swaps(self, draft: Draft, sites: Sequence[Site]) -> Iterator[Swap]:
        """The swaps, in source order, of which something may be said: a GELU stands there or in what is put there."""
        blocks = Blocks(draft)
        spans = {site.span for site in sites}
        for found in self._found:
            rows, keeps = (0, 0), False
            if isinstance(found.defined, (FunctionDef, ClassDef)):
                block = blocks.of(found.defined)
                rows = block.rows
                keeps = found.kind == "patched method" and _KEEPS.search(block.text) is not None
            elif found.defined is not None:
                span = draft.span(found.defined)
                rows = (span.row, span.end_row)
                keeps = found.kind == "patched method" and _KEEPS.search(draft.text(found.defined)) is not None
            span = draft.span(found.node)
            defined = found.defined.name if isinstance(found.defined, (FunctionDef, ClassDef)) else found.defined
            inside = any(rows[0] <= site.span.row <= rows[1] for site in sites)
            kind = found.kind
            if kind.startswith("table "):
                kind, table = "swap", kind.partition(" ")[2]
                called = rf"\b{re.escape(table)}(?:\[[^\]\n]*\]|\.get\([^\n]*\))\(\s*\)"
                if re.search(called, draft.whole) is None or _KEEPS.search(draft.whole):
                    continue
            if kind in ("swap", "helper") and span not in spans and not inside:
                continue
            if kind == "swap" and found.around is not None:
                keeps = any(_KEEPS.search(line.code) for line in blocks.of(found.around).below)
            yield Swap(
                kind,
                found.subject,
                draft.text(found.made) if found.made is not None else "",
                span,
                draft.statement(found.node),
                symbol(found.path),
                rows,
                draft.span(defined) if defined is not None else span,
                _accepts(found.defined, found.keyword),
                keeps,
            )


def _accepts(node: FunctionDef | ClassDef | Lambda | None, keyword: str) -> bool:
    """Whether a call with the choosing argument by its keyword may work."""
    if isinstance(node, ClassDef):
        own = [s for s in node.body.body if isinstance(s, FunctionDef) and s.name.value in ("__init__", "__new__")]
        return _accepts(own[0], keyword) if own else True
    if node is None:
        return True
    for decorator in node.decorators if isinstance(node, FunctionDef) else ():
        if last_name(getattr(decorator.decorator, "func", decorator.decorator)) not in _SAME:
            return True
    params = node.params
    names = {param.name.value for param in (*params.params, *params.kwonly_params)}
    return keyword in names or params.star_kwarg is not None


def _leaves(node: If) -> bool:
    """Whether an if leaves its block at its end."""
    last = node.body.body[-1] if node.body.body else None
    if isinstance(last, SimpleStatementLine):
        last = last.body[-1]
    return node.orelse is None and (isinstance(last, _ENDS) or type(last).__name__ in ("Continue", "Break"))


def _names_in(node: CSTNode) -> set[str]:
    """The dotted names in an expression."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        name = dotted(item)
        if name:
            found.add(name)
        else:
            waiting.extend(children(item))
    return found
