"""Text to LibCST module, with every way in which that can fail turned into one exception."""

from __future__ import annotations

import libcst


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
        row = min(max(fault.raw_line, 1), text.count("\n") + 1)
        raise Unparsable(row, max(fault.raw_column, 0), "not valid Python 3 syntax") from None
    except (RecursionError, ValueError, libcst.CSTValidationError) as fault:
        raise Unparsable(1, 0, f"LibCST cannot represent it ({type(fault).__name__})") from None
    except BaseException as fault:
        # A panic of the native parser is a BaseException of its own; everything else passes.
        if type(fault).__name__ == "PanicException":
            raise Unparsable(1, 0, "LibCST's parser gave up on it") from None
        raise
