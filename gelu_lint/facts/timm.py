"""timm 1.0.31, read and run. Its GELUs have a dummy ``inplace`` and no ``approximate``."""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_SOURCE = "timm/layers/activations.py of 1.0.31"

CALLABLES = tuple(
    Callable(
        f"timm.layers.{name}", "timm", kind, flavour, _SOURCE,
        aliases=(f"timm.layers.activations.{name}", f"timm.models.layers.{name}"),
        error="TypeError: unexpected keyword argument",
        parameters=("inplace",) if kind == "class" else ("x", "inplace"),
        dummy=("inplace", 0 if kind == "class" else 1),
    )
    for name, kind, flavour in (
        ("GELU", "class", "erf"),
        ("GELUTanh", "class", "tanh"),
        ("QuickGELU", "class", "quick"),
        ("gelu", "function", "erf"),
        ("gelu_tanh", "function", "tanh"),
        ("quick_gelu", "function", "quick"),
    )
)  # fmt: skip
