"""JAX: run with jax 0.10.2 on CPU. ``approximate`` is judged by its truth, and its default is the tanh form."""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_SOURCE = "jax/_src/nn/functions.py of 0.10.2"
_RUN = "run with jax 0.10.2"

CALLABLES = (
    Callable(
        "jax.nn.gelu", "jax", "function", "tanh", _SOURCE,
        aliases=("jax._src.nn.functions.gelu", "jax.example_libraries.stax.gelu"),
        keyword="approximate", position=1, values=((True, "tanh"), (False, "erf")), default=True, wrong="truthy",
        parameters=("x", "approximate"),
    ),
    Callable(
        "jax.example_libraries.stax.Gelu", "jax", "layer", "tanh",
        "jax/example_libraries/stax.py of 0.10.2: elementwise(jax.nn.gelu)",
    ),
)  # fmt: skip

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}", _RUN, instead=instead)
        for module, name, instead in (
            ("jax.numpy", "erf", "jax.scipy.special.erf"),
            ("jax.numpy", "erfc", "jax.scipy.special.erfc"),
            ("jax.nn", "erf", "jax.scipy.special.erf"),
            ("jax", "gelu", "jax.nn.gelu"),
            ("jax.numpy", "gelu", "jax.nn.gelu"),
            ("jax.lax", "gelu", "jax.nn.gelu"),
            ("jax.scipy.special", "gelu", "jax.nn.gelu"),
        )
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in ("jax", "jax.nn", "jax.numpy", "jax.lax", "jax.scipy.special")
    ),
)
