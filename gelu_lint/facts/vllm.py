"""vLLM: read in vllm/model_executor/layers/activation.py of 0.6.0. ``GeluAndMul`` checks its value when constructed."""

from __future__ import annotations

from gelu_lint.facts.record import Callable

_MODULE = "vllm.model_executor.layers.activation"
_SOURCE = "vllm/model_executor/layers/activation.py of 0.6.0"

CALLABLES = (
    Callable(
        f"{_MODULE}.GeluAndMul", "vllm", "class", "erf", _SOURCE,
        keyword="approximate", position=0, values=(("none", "erf"), ("tanh", "tanh")), default="none",
        error="ValueError: Unknown approximate mode", checks_early=True,
    ),
    *(
        Callable(f"{_MODULE}.{name}", "vllm", "class", flavour, _SOURCE)
        for name, flavour in (("NewGELU", "tanh"), ("FastGELU", "tanh"), ("QuickGELU", "quick"))
    ),
)  # fmt: skip
