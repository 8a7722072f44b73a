"""The nodes in a node, without trivia: ``node.children`` of LibCST gives these, too, and takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import libcst as cst

#: Parts of the names of fields that hold trivia, or nodes without expressions in them.
_TRIVIA = (
    "whitespace", "comma", "lpar", "rpar", "semicolon", "leading_lines", "lines_after", "lbracket", "rbracket",
    "lbrace", "rbrace", "equal", "newline", "footer", "header", "indent", "operator", "dot", "colon", "asynchronous",
    "encoding", "separator", "posonly_ind", "relative", "empty_lines",
)  # fmt: skip
_EXCEPT = ("type", "name", "body")
#: Fields in source order, where those of the class stand in another one.
_ORDER = {
    "Arg": ("keyword", "value"),
    "ClassDef": ("decorators", "name", "type_parameters", "bases", "keywords", "body"),
    "ExceptHandler": _EXCEPT,
    "ExceptStarHandler": _EXCEPT,
    "FunctionDef": ("decorators", "name", "type_parameters", "params", "returns", "body"),
    "IfExp": ("body", "test", "orelse"),
    "MatchCase": ("pattern", "guard", "body"),
    "Parameters": ("posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"),
    "TypeAlias": ("name", "type_parameters", "value"),
}
_FIELDS: dict[type, tuple[str, ...]] = {}
_NODES: dict[type, bool] = {}


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly in a node, in source order, past commas, brackets, operators and white space."""
    cls = type(node)
    names = _FIELDS.get(cls)
    if names is None:
        names = _FIELDS[cls] = _fields(cls)
    for name in names:
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            yield from value
        elif _NODES.get(kind, True):
            if kind not in _NODES:
                _NODES[kind] = isinstance(value, cst.CSTNode)  # asking the abstract class each time is slow
            if _NODES[kind]:
                yield value


def _fields(cls: type) -> tuple[str, ...]:
    names = tuple(field.name for field in fields(cls) if not any(word in field.name for word in _TRIVIA))
    return tuple(name for name in _ORDER.get(cls.__name__, names) if name in names)
