"""Hugging Face transformers: run with 5.24.0 and torch 2.13.0; version notes read in the wheels that they name."""

from __future__ import annotations

from gelu_lint.facts.record import Absent, Callable

_ACTIVATIONS = "transformers/activations.py of 5.24.0"

CALLABLES = (
    *(
        Callable(f"transformers.activations.{name}", "transformers", "class", flavour, _ACTIVATIONS)
        for name, flavour in (
            ("GELUActivation", "erf"),
            ("NewGELUActivation", "tanh"),
            ("FastGELUActivation", "tanh"),
            ("AccurateGELUActivation", "tanh"),
            ("GELUTanh", "tanh"),
            ("PytorchGELUTanh", "tanh"),
            ("QuickGELUActivation", "quick"),
            ("ClippedGELUActivation", "clipped"),
        )
    ),
    *(
        Callable(f"transformers.activations.{name}", "transformers", "function", flavour, _ACTIVATIONS)
        for name, flavour in (
            ("gelu", "erf"),
            ("gelu_python", "erf"),
            ("gelu_new", "tanh"),
            ("gelu_fast", "tanh"),
            ("gelu_pytorch_tanh", "tanh"),
            ("quick_gelu", "quick"),
        )
    ),
    Callable(
        "transformers.models.bloom.modeling_bloom.BloomGelu", "transformers", "class", "tanh",
        "transformers/models/bloom/modeling_bloom.py of 5.24.0",
    ),
    Callable(
        "transformers.models.evolla.modeling_evolla.gelu", "transformers", "function", "erf",
        "transformers/models/evolla/modeling_evolla.py of 5.24.0",
    ),
    Callable(
        "transformers.models.esm.modeling_esm.gelu", "transformers", "function", "erf",
        "transformers/models/esm/modeling_esm.py of 5.24.0",
    ),
)  # fmt: skip

_NO_GELU = "read in modeling files of 5.24.0: they take activations from ACT2FN"

ABSENT = (
    *(
        Absent(
            f"transformers.models.{model}.modeling_{model}.{name}",
            f"ImportError: cannot import name '{name}' from 'transformers.models.{model}.modeling_{model}'",
            _NO_GELU, instead=f"transformers.activations.{name}",
        )
        for model in ("albert", "bert", "distilbert", "electra", "gpt2", "xlnet")
        for name in ("gelu", "gelu_new")
        if (model, name) != ("albert", "gelu_new")
    ),
    *(
        Absent(
            f"transformers.modeling_{model}.{name}", f"ModuleNotFoundError: no module transformers.modeling_{model}",
            "removed in transformers 4.0", instead=f"transformers.activations.{name}",
            package="transformers", gone=(4, 0),
        )
        for model in ("bert", "gpt2", "openai", "distilbert", "roberta", "xlm", "xlnet")
        for name in ("gelu", "gelu_new")
    ),
    Absent(
        "transformers.activations.PytorchGELUTanh", "ImportError: transformers 4.25.1 has no PytorchGELUTanh",
        "wheels of 4.25.1 (absent) and 4.31.0 (present)", package="transformers", missing=(4, 25, 1),
    ),
    Absent(
        "transformers.activations.GELUTanh", "ImportError: transformers 4.53.3 has no GELUTanh",
        "wheels of 4.53.3 (absent) and 4.57.1 (present)", package="transformers", missing=(4, 53, 3),
    ),
)  # fmt: skip
