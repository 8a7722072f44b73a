"""MLX: run with mlx 0.32.4 on CPU. The argument is called ``approx``; "precise" is the tanh form, "fast" is quick."""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_SOURCE = "mlx/nn/layers/activations.py of 0.32.4"
_RUN = "run with mlx 0.32.4"
_MODULES = ("mlx.nn", "mlx.nn.layers", "mlx.nn.layers.activations")

CALLABLES = (
    Callable(
        "mlx.nn.GELU", "mlx", "class", "erf", _SOURCE,
        aliases=tuple(f"{module}.GELU" for module in _MODULES[1:]),
        keyword="approx", position=0,
        values=(("none", "erf"), ("tanh", "tanh"), ("precise", "tanh"), ("fast", "quick")), default="none",
        error="ValueError: The approximation should be in ['none', 'precise', 'tanh', 'fast']",
        parameters=("approx",), misleading=(("precise", "erf"),), checks_early=True,
    ),
    *(
        Callable(
            f"mlx.nn.{name}", "mlx", "function", flavour, _SOURCE,
            aliases=tuple(f"{module}.{name}" for module in _MODULES[1:]), parameters=("x",),
        )
        for name, flavour in (("gelu", "erf"), ("gelu_approx", "tanh"), ("gelu_fast_approx", "quick"))
    ),
)  # fmt: skip

ABSENT = (
    *(
        Absent(f"{module}.{name}", f"AttributeError: no {name} in {module}", _RUN, instead=instead)
        for module, name, instead in (
            ("mlx.nn", "Gelu", "mlx.nn.GELU"),
            ("mlx.nn", "GeLU", "mlx.nn.GELU"),
            ("mlx.core", "gelu", "mlx.nn.gelu"),
        )
    ),
    *(
        Absent(f"{module}.*gelu*", f"AttributeError: no such name in {module}", _RUN)
        for module in (*_MODULES, "mlx.core")
    ),
)
