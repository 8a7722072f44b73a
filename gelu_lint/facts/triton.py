"""Triton: math functions that moved to libdevice. Read in the Triton 3 sources; kernels need a GPU to run."""

from __future__ import annotations

from gelu_lint.facts.record import Absent

_SOURCE = "triton/language/math.py of 3.x, which keeps erf, exp and sqrt but not these"

ABSENT = tuple(
    Absent(
        f"triton.language.math.{name}", f"AttributeError: triton.language.math has no {name}", _SOURCE,
        package="triton", gone=(3, 0),
    )
    for name in ("tanh", "pow")
)  # fmt: skip
