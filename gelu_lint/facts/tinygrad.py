"""tinygrad: run with 0.14.0. Its GELUs are methods of Tensor, seen here only where they are named through the class.

The signature is torch's, the default is not: tanh. Before ``approximate`` came it was always tanh.
"""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_SOURCE = "tinygrad/tensor.py of 0.14.0"

CALLABLES = (
    Callable(
        "tinygrad.Tensor.gelu", "tinygrad", "function", "tanh", _SOURCE, aliases=("tinygrad.tensor.Tensor.gelu",),
        keyword="approximate", position=1, values=(("tanh", "tanh"), ("none", "erf")), default="tanh",
        error="RuntimeError: approximate is not supported", parameters=("self", "approximate"), since=(0, 14),
    ),
    Callable(
        "tinygrad.Tensor.quick_gelu", "tinygrad", "function", "quick", _SOURCE,
        aliases=("tinygrad.tensor.Tensor.quick_gelu",), parameters=("self",),
    ),
)  # fmt: skip

ABSENT = (
    Absent("tinygrad.nn.*gelu*", "AttributeError: no such name in tinygrad.nn: it is Tensor.gelu", "run with 0.14.0"),
)
