"""Text to LibCST module, with every way in which that can fail turned into one exception."""

from __future__ import annotations

import re

import libcst

_PLACE = re.compile(r"error at (\d+):(\d+)")


class Unparsable(Exception):
    """LibCST cannot read this text. ``row`` is 1-based, ``column`` 0-based."""

    def __init__(self, row: int, column: int, message: str) -> None:
        super().__init__(message)
        self.row, self.column, self.message = row, column, message


def parse(text: str) -> libcst.Module:
    """The module of ``text``, whose line ends must be LF or CRLF (LibCST does not keep a lone CR).

    Raises Unparsable. The text must have passed the bounds of ``scan``: LibCST crashes on deeply nested brackets.
    """
    try:
        return libcst.parse_module(text)
    except libcst.ParserSyntaxError as fault:
        raise _located(text, fault) from None
    except (RecursionError, ValueError, libcst.CSTValidationError) as fault:
        raise Unparsable(1, 0, f"LibCST cannot represent it ({type(fault).__name__})") from None
    except BaseException as fault:
        # A panic of the native parser is a BaseException of its own; everything else passes.
        if type(fault).__name__ == "PanicException":
            raise Unparsable(1, 0, "LibCST's parser gave up on it") from None
        raise


def _located(text: str, fault: libcst.ParserSyntaxError) -> Unparsable:
    """Where and why: in Python's own words if it refuses the text too, else as LibCST has it."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as own:
        row, column = own.lineno or 1, (own.offset or 1) - 1
        return Unparsable(row, max(column, 0), f"not valid Python 3: {own.msg}")
    except (ValueError, RecursionError, MemoryError):
        pass
    place = _PLACE.search(fault.message)
    row, column = (int(place[1]), int(place[2])) if place else (fault.raw_line, 0)
    return Unparsable(max(row, 1), max(column - 1, 0), "LibCST cannot parse this syntax")
