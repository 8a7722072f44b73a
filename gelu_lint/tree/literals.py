"""What an expression says by itself: literal values and dotted names."""

from __future__ import annotations

from ast import literal_eval
from functools import lru_cache

import libcst as cst

SINGLETONS = {"True": True, "False": False, "None": None}


@lru_cache(maxsize=4096)
def _evaluated(source: str) -> object:
    """The value of a string literal, as ``SimpleString.evaluated_value``, for texts that come again and again."""
    value: object = literal_eval(source)
    return value


def text_of(node: cst.CSTNode | None) -> str:
    """The value of a plain string literal, "" for anything else."""
    if type(node) is cst.SimpleString and node.prefix.lower() in ("", "u", "r"):
        value = _evaluated(node.value)
        return value if isinstance(value, str) else ""
    return ""


def literal(node: cst.CSTNode) -> tuple[bool, str | int | float | bool | None]:
    """Whether ``node`` is a literal string (not bytes), number, True, False or None, and its value."""
    if isinstance(node, cst.Name) and node.value in SINGLETONS:
        return True, SINGLETONS[node.value]
    try:
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            text = _evaluated(node.value) if isinstance(node, cst.SimpleString) else node.evaluated_value
            return isinstance(text, str), text if isinstance(text, str) else None
        if isinstance(node, (cst.Integer, cst.Float)):
            return True, node.evaluated_value
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.Plus)):
            known, value = literal(node.expression)
            if known and isinstance(value, (int, float)) and not isinstance(value, bool):
                return True, -value if isinstance(node.operator, cst.Minus) else value
    except (ValueError, SyntaxError, MemoryError, OverflowError):
        pass  # more digits than Python converts, or a string that only LibCST accepts
    return False, None


def last_name(node: cst.CSTNode) -> str:
    """The last part of a dotted name: ``gelu`` of ``F.gelu``; "" for any other expression."""
    # Nodes have an abstract base: isinstance takes ten times as long as this, and nothing is asked more often.
    if type(node) is cst.Attribute:
        return node.attr.value
    return node.value if type(node) is cst.Name else ""


def dotted(node: cst.CSTNode | None) -> str:
    """The full text of a dotted name, "" for any other expression."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is cst.Name:
        parts.append(node.value)
    return ".".join(reversed(parts))
