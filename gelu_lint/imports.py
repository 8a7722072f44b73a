"""Names at hand for a fix, and the import lines that its needs come to."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection

from gelu_lint.facts.table import absent, callables, tensor_only
from gelu_lint.model import Edit, FileSummary, Need, Span

#: How people import what fixes rely on; anything else is ``from module import name``.
_HABITS = {
    "math": Need("math"),
    "torch.nn.functional": Need("torch.nn.functional", alias="F"),
}


def reach(file: FileSummary, full: str) -> tuple[str, tuple[Need, ...]] | None:
    """An expression for the public name ``full`` that is safe anywhere in ``file``, and the imports that it needs.

    A name that is at hand is used; else the usual import, under a name that nothing in the file binds. None where
    every name is taken.
    """
    at_hand = {bound.target: bound.name for bound in file.bound}
    parts = full.split(".")
    for length in range(len(parts), 0, -1):
        name = at_hand.get(".".join(parts[:length]))
        if name is not None:
            return ".".join((name, *parts[length:])), ()
    module, last = full.rpartition(".")[::2]
    used = {*file.taken, *(bound.name for bound in file.bound)}
    habit = _HABITS.get(module, Need(module, last))
    if not file.import_at[0]:
        return None
    for need in (habit, Need(module, last), Need(module)):
        name = need.alias or need.name or need.module.split(".")[0]
        if name not in used:
            return (last if need.name else f"{need.alias or need.module}.{last}"), (need,)
    return None


def line(need: Need) -> str:
    """The import statement for one need."""
    alias = f" as {need.alias}" if need.alias else ""
    if need.name:
        return f"from {need.module} import {need.name}{alias}"
    return f"import {need.module}{alias}"


def import_edit(file: FileSummary, needs: Collection[Need]) -> Edit | None:
    """One edit that adds every needed import once, after docstring and ``__future__``; None if nothing is needed."""
    lines = sorted({line(need) for need in needs}, key=lambda text: (text.startswith("from"), text))
    if not lines or not file.import_at[0]:
        return None
    row, before, after = file.import_at
    if not before and any(need.module.split(".")[0] not in sys.stdlib_module_names for need in needs):
        after = 0  # beside other packages; the blank line is for the standard library's own block
    text = file.newline * before + "".join(f"{text}{file.newline}" for text in lines) + file.newline * after
    return Edit(Span(row, 0, row, 0), text)


@functools.cache
def candidates() -> frozenset[str]:
    """Every name that a fix may bind by an import: facts about a file's other names are not kept."""
    names = {habit.alias for habit in _HABITS.values() if habit.alias}
    for target in _targets():
        names |= {target.partition(".")[0], target.rpartition(".")[2]}
    return frozenset(names)


@functools.cache
def prefixes() -> frozenset[str]:
    """The full names by which a fix may reach something, where a file has imported one."""
    found: set[str] = set()
    for target in _targets():
        parts = target.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return frozenset(found)


@functools.cache
def _targets() -> frozenset[str]:
    """The full names of all that a fix may use."""
    others = ("functools.partial", "scipy.special.ndtr", *(row.instead for row in absent().values()))
    return frozenset(filter(None, (*others, *callables(), *tensor_only().values())))
