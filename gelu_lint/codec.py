"""Facts as plain lists, for a cache or a pool: all that a FileSummary holds but its path, and back again.

What is read back may be corrupt or typed by hand, so each value is held against the annotation of its field, exactly:
no rule ever meets a value of another type. The annotations are the only schema; a new field needs no line here.

JSON keeps all of it, with one care: two surrogates in a row, which a literal may hold, need ``ensure_ascii=False``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gelu_lint.model import FileSummary

#: What makes a value of its plain form, or raises ValueError.
Reader = Callable[[object], Any]

_SCALARS: frozenset[Any] = frozenset((str, int, float, bool, NoneType))
_PATH = FileSummary._fields.index("path")


def encode(summary: FileSummary) -> list[Any]:
    """``summary`` without its path, as lists of str, int, float, bool, None and such lists."""
    plain: list[Any] = _plain(summary)
    del plain[_PATH]
    return plain


def decode(value: object, path: str) -> FileSummary:
    """The summary for which ``encode`` gave ``value``, as one of ``path``.

    Raises ValueError for what ``encode`` never gives.
    """
    if type(value) is not list:
        raise ValueError("not a summary")
    summary: FileSummary = _reader(FileSummary)([*value[:_PATH], path, *value[_PATH:]])
    return summary


def _plain(value: object) -> Any:
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


@functools.cache
def _reader(kind: Any) -> Reader:
    """What reads a ``kind``; built once for each annotation."""
    parts = get_args(kind)
    if kind in _SCALARS:
        return _scalar((kind,))
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return _row(kind._make, [_reader(hints[name]) for name in kind._fields])
    if get_origin(kind) is tuple and parts[1:] == (...,):
        return _repeated(_reader(parts[0]))
    if get_origin(kind) is tuple:
        return _row(tuple, [_reader(part) for part in parts])
    structured = [part for part in parts if part not in _SCALARS]
    if get_origin(kind) not in (Union, UnionType) or len(structured) > 1:
        raise TypeError(f"no plain form for {kind}")
    return _scalar(parts, _reader(structured[0]) if structured else None)


def _scalar(kinds: tuple[Any, ...], otherwise: Reader | None = None) -> Reader:
    allowed = _SCALARS.intersection(kinds)  # exact types: True is no number, and 1 no float
    name = " or ".join(sorted(kind.__name__ for kind in allowed))

    def read(value: object) -> Any:
        if type(value) in allowed:
            return value
        if otherwise is None:
            raise ValueError(f"{type(value).__name__} where {name} belongs")
        return otherwise(value)

    return read


def _repeated(read_part: Reader) -> Reader:
    def read(value: object) -> Any:
        if type(value) is not list:
            raise ValueError(f"{type(value).__name__} where a list belongs")
        return tuple([read_part(part) for part in value])

    return read


def _row(make: Callable[[list[Any]], Any], readers: list[Reader]) -> Reader:
    def read(value: object) -> Any:
        if type(value) is not list:
            raise ValueError(f"{type(value).__name__} where a list belongs")
        return make([read_part(part) for read_part, part in zip(readers, value, strict=True)])  # or ValueError

    return read
