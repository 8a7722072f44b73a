"""NumPy: names of the error function that it never had, or no longer has. Run with numpy 2.4.6."""

from __future__ import annotations

from gelu_lint.facts.record import Absent

_RUN = "run with numpy 2.4.6"
_MATH = "NumPy 1.25 release notes (deprecated), 2.0 (gone); run with numpy 2.4.6"

ABSENT = (
    Absent("numpy.erf", "AttributeError: module 'numpy' has no attribute 'erf'", _RUN, instead="scipy.special.erf"),
    Absent("numpy.erfc", "AttributeError: module 'numpy' has no attribute 'erfc'", _RUN, instead="scipy.special.erfc"),
    *(
        Absent(
            f"numpy.math.{name}", "AttributeError: module 'numpy' has no attribute 'math'", _MATH,
            instead=f"math.{name}", package="numpy", gone=(2, 0),
        )
        for name in ("erf", "erfc", "sqrt", "exp", "log", "tanh", "pi", "pow", "e")
    ),
    Absent("numpy.*gelu*", "AttributeError: NumPy has no GELU", _RUN),
)  # fmt: skip
