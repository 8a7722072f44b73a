"""diffusers: run with 0.42.1 and torch 2.13.0. ``GELU`` is a linear layer and the activation; see its arguments."""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_SOURCE = "diffusers/models/activations.py of 0.42.1"

CALLABLES = (
    Callable(
        "diffusers.models.activations.GELU", "diffusers", "class", "erf", _SOURCE,
        keyword="approximate", position=2, values=(("none", "erf"), ("tanh", "tanh")), default="none",
        error="RuntimeError: approximate argument must be either none or tanh",
        type_error="TypeError: gelu(): argument 'approximate' must be str",
        parameters=("dim_in", "dim_out", "approximate", "bias"),
    ),
    Callable(
        "diffusers.models.activations.ApproximateGELU", "diffusers", "class", "quick", _SOURCE,
        parameters=("dim_in", "dim_out", "bias"),
    ),
    Callable(
        "diffusers.models.transformers.t5_film_transformer.NewGELUActivation", "diffusers", "class", "tanh",
        "diffusers/models/transformers/t5_film_transformer.py of 0.42.1",
    ),
    Callable(
        "diffusers.models.controlnets.controlnet_union.QuickGELU", "diffusers", "class", "quick",
        "diffusers/models/controlnets/controlnet_union.py of 0.42.1",
    ),
)  # fmt: skip
