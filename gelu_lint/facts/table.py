"""All rows, looked up by full name: a new framework is one new file of rows beside this one."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator

from gelu_lint import facts
from gelu_lint.facts.record import Absent, Callable, Layer, Other, Refused, TensorOnly

#: Facts about settings, which hold no such rows: the families of models are loaded where a file asks for one.
_OTHER_FACTS = ("__init__", "record", "table", "settings", "activations", "families", "model_types")


def _rows(kind: str) -> Iterator[object]:
    files = sorted(
        entry.split(".")[0]
        for folder in facts.__path__
        for entry in os.listdir(folder)
        if entry.endswith((".py", ".pyc")) and entry.split(".")[0] not in _OTHER_FACTS
    )
    for name in files:
        yield from getattr(importlib.import_module(f"gelu_lint.facts.{name}"), kind, ())


@functools.cache
def callables() -> dict[str, Callable]:
    """Every callable by its canonical name and by each alias."""
    found = {}
    for row in _rows("CALLABLES"):
        assert isinstance(row, Callable)
        for name in (row.name, *row.aliases):
            found[name] = row
    return found


@functools.cache
def absent() -> dict[str, Absent]:
    """Every absent name by full name; families end in ``.*gelu*``."""
    return {row.name: row for row in _rows("ABSENT") if isinstance(row, Absent)}


@functools.cache
def others() -> dict[str, Other]:
    """Every callable that computes another activation, by full name."""
    return {row.name: row for row in _rows("OTHERS") if isinstance(row, Other)}


@functools.cache
def refused() -> dict[str, Refused]:
    """Every refused value by the full name of the callable that refuses it."""
    return {row.name: row for row in _rows("REFUSED") if isinstance(row, Refused)}


@functools.cache
def tensor_only() -> dict[str, str]:
    """Functions that refuse a Python number, each with the ``math`` function that takes one ("" where none does)."""
    return {row.name: row.instead for row in _rows("TENSOR_ONLY") if isinstance(row, TensorOnly)}


@functools.cache
def layers() -> dict[str, Layer]:
    """Every layer that takes an activation by name, by its canonical name and by each alias."""
    rows = [row for row in _rows("LAYERS") if isinstance(row, Layer)]
    return {name: row for row in rows for name in (row.name, *row.aliases)}


def find_layer(names: frozenset[str]) -> Layer | None:
    """The one layer that all of ``names`` mean, None if there is none or more than one."""
    rows = {layers().get(name) for name in names}
    return rows.pop() if len(rows) == 1 else None


def find(names: frozenset[str]) -> Callable | None:
    """The one callable that all of ``names`` mean, None if there is none or more than one."""
    rows = {callables().get(name) for name in names}
    return rows.pop() if len(rows) == 1 else None


def find_absent(name: str) -> Absent | None:
    """The row that says that ``name`` does not exist, None if it may exist."""
    row = absent().get(name)
    if row is None:
        module, _, last = name.rpartition(".")
        if "gelu" in last.lower() and name not in callables():
            row = absent().get(f"{module}.*gelu*")
    return row
