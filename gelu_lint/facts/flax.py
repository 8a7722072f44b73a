"""Flax: run with flax 0.12.8. Each of its names is the function jax.nn.gelu; it has no GELU class."""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_RUN = "run with flax 0.12.8"

CALLABLES = tuple(
    Callable(
        name, "flax", "function", "tanh", f"{file} of 0.12.8: imports jax.nn.gelu",
        aliases=aliases, keyword="approximate", position=1, values=((True, "tanh"), (False, "erf")), default=True,
        wrong="truthy", parameters=("x", "approximate"),
    )
    for name, aliases, file in (
        ("flax.linen.gelu", ("flax.linen.activation.gelu", "flax.core.nn.gelu"), "flax/linen/activation.py"),
        ("flax.nnx.gelu", ("flax.nnx.nn.activations.gelu",), "flax/nnx/nn/activations.py"),
    )
)  # fmt: skip

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}: Flax's GELU is the function gelu", _RUN)
        for module in ("flax.linen", "flax.nnx")
        for name in ("GELU", "Gelu")
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in ("flax.linen", "flax.linen.activation", "flax.nnx", "flax.core.nn")
    ),
)
