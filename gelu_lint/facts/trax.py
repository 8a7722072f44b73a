"""Trax: read in trax/layers/activation_fns.py. Called without arguments, each makes a layer."""

from __future__ import annotations

from gelu_lint.facts.record import Callable

CALLABLES = tuple(
    Callable(
        f"trax.layers.{name}", "trax", "class", flavour, "trax/layers/activation_fns.py",
        aliases=(f"trax.layers.activation_fns.{name}",),
    )
    for name, flavour in (("Gelu", "erf"), ("FastGelu", "tanh"))
)  # fmt: skip
