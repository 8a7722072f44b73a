"""Whose line a warning is about."""

from __future__ import annotations

import sys
from types import FrameType

#: Packages whose frames stand between what warns and the code of the user.
_BETWEEN = frozenset(
    (
        *("accelerate", "contextlib", "gelu_lint", "lightning", "lightning_fabric", "pytorch_lightning"),
        *("torch", "transformers"),
    )
)


def users_line() -> int:
    """The ``stacklevel`` with which a function that calls this warns of the innermost line that is the user's.

    That of the caller's own line where there is none.
    """
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _BETWEEN:
            return level
        frame, level = frame.f_back, level + 1
    return 1
