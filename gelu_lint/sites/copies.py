"""Recognises what copies a layer of torch, and which layers a file hands to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from gelu_lint.facts.layers import COPIERS
from gelu_lint.patterns import lazy
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.objects import Objects
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Assign, Attribute, Call, ClassDef, CSTNode, FunctionDef, IfExp, Name
from gelu_lint.tree.walk import Moment

_DEEP = 10  # names for names that are followed

#: Words of files that may give a copy its activation back, or see to copies in a way of their own.
_MENDS = lazy(
    r"(?<!\bself)\.activation\s*=(?!=)|\bsetattr\([^\n]*[\"']activation[\"']|__setstate__|__deepcopy__|__dict__[^\n]*activation"
)


class Copies:
    """The calls of one file that copy the layer that they are given."""

    def __init__(self, names: Names, objects: Objects) -> None:
        self._names, self._objects = names, objects
        self._calls: list[tuple[Call, int, str, Moment]] = []

    def see(self, call: Call, called: CSTNode, moment: Moment, skip: int = 0) -> None:
        """Remember a call of ``called`` if that copies its first argument, which ``skip`` others stand before."""
        names = self._names.resolve(called, moment)
        if len(names) == 1 and names <= COPIERS.keys() and not self._names.is_patched(names):
            self._calls.append((call, skip, next(iter(names)), moment))

    @cached_property
    def _copied(self) -> dict[int, str]:
        """What copies a layer, by ``id`` of the call that makes it, or of the class that it is an object of."""
        found: dict[int, str] = {}
        for call, skip, name, moment in self._calls:
            given = self._objects.arguments(call, moment, skip).get(COPIERS[name], 0)
            for made, when in self._stands(given.value, given.moment) if given is not None else ():
                found.setdefault(id(made), name)
                if isinstance(made, Call):
                    for source, _ in self._makers(made.func, when):
                        found.setdefault(id(source), name)
        return found

    def _stands(self, node: CSTNode, moment: Moment, depth: int = 0) -> Iterator[tuple[CSTNode, Moment]]:
        """The calls that an expression may stand for, through names, attributes, conditions and functions."""
        if depth > _DEEP:
            return
        if isinstance(node, Name):
            for binding in self._names.reaching(node, moment):
                if binding.kind == "value" and binding.node is not None:
                    yield from self._stands(binding.node, binding.moment, depth + 1)
        elif isinstance(node, Attribute):
            held = self._names.attribute(node, moment)
            if held is not None:
                yield from self._stands(*held, depth + 1)
        elif isinstance(node, IfExp):
            yield from self._stands(node.body, moment, depth + 1)
            yield from self._stands(node.orelse, moment, depth + 1)
        elif isinstance(node, Call):
            yield node, moment
            for made, _ in self._makers(node.func, moment):
                for value, when in self._names.returns.get(id(made), ()) if isinstance(made, FunctionDef) else ():
                    yield from self._stands(value, when, depth + 1)

    def _makers(self, func: CSTNode, moment: Moment) -> Iterator[tuple[CSTNode, Moment]]:
        """The class, function or partial of this file that a call is of."""
        found = self._names.reaching(func, moment) if isinstance(func, Name) else ()
        if len(found) == 1 and isinstance(found[0].node, (ClassDef, FunctionDef)):
            yield found[0].node, found[0].moment
            return
        made, when = self._objects.origin(func, moment)
        if made is not func:
            yield made, when

    def of(self, made: CSTNode, draft: Draft) -> str:
        """What copies the layer that a call makes, or one of its class; "" where nothing is seen to do harm."""
        copier = self._copied.get(id(made), "")
        return copier if copier and _MENDS.search(draft.whole) is None else ""


def decodes(path: Sequence[CSTNode], draft: Draft) -> bool:
    """Whether the decoder of a whole transformer that is made under ``path`` may run as it was made."""
    taken = path[-1].attr.value if path and isinstance(path[-1], Attribute) else ""
    if taken == "encoder" or _MENDS.search(draft.whole) is not None:
        return False
    targets = next((node.targets for node in reversed(path) if isinstance(node, Assign)), ())
    name = last_name(targets[0].target) if len(targets) == 1 else ""
    if not name:
        return True
    used = re.findall(rf"\b{re.escape(name)}(\(|\.(?:encoder|decoder|forward)\b(?:\s*=(?!=))?)", draft.whole)
    return not any(use.endswith("=") for use in used) and {*used} != {".encoder"}
