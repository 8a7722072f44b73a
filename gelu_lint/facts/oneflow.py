"""OneFlow: read in python/oneflow of its repository and in the documentation of master; not run."""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_CLASSES = "python/oneflow/nn/modules/activation.py"
_FUNCTIONS = "python/oneflow/nn/functional/__init__.py: gelu is gelu_with_approximate"
_VALUES = (("none", "erf"), ("tanh", "tanh"))

CALLABLES = (
    Callable(
        "oneflow.nn.GELU", "oneflow", "class", "erf", _CLASSES, aliases=("oneflow.nn.modules.activation.GELU",),
        keyword="approximate", position=0, values=_VALUES, default="none", error="NotImplementedError",
        parameters=("approximate",), since=(0, 9),
    ),
    Callable(
        "oneflow.nn.functional.gelu", "oneflow", "function", "erf", _FUNCTIONS,
        aliases=("oneflow.gelu", "oneflow._C.gelu_with_approximate"),
        keyword="approximate", position=1, values=_VALUES, default="none", error="RuntimeError", since=(0, 9),
    ),
    Callable(
        "oneflow.nn.QuickGELU", "oneflow", "class", "quick", _CLASSES,
        aliases=("oneflow.nn.modules.activation.QuickGELU",),
    ),
    Callable(
        "oneflow.nn.functional.quick_gelu", "oneflow", "function", "quick", _FUNCTIONS,
        aliases=("oneflow.quick_gelu", "oneflow._C.quick_gelu"),
    ),
)  # fmt: skip
