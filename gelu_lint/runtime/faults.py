"""What models, factories and packages raise, in words."""

from __future__ import annotations

NO_TORCH = "torch is not installed: `pip install 'gelu-lint[pytest]'` brings it"


def in_one_line(fault: BaseException) -> str:
    """The class of an exception, and the first line of what it says, if it says anything."""
    first = first_line(fault)
    return f"{type(fault).__name__}: {first}" if first else type(fault).__name__


def first_line(fault: BaseException) -> str:
    """The first line of what an exception says, "" if it says nothing."""
    return str(fault).strip().partition("\n")[0].strip()
