"""Names of activations in the registry of Hugging Face transformers: ACT2FN of 5.24.0, run with torch 2.13.0."""

from __future__ import annotations

#: What each name for a GELU computes. "gelu_accurate" is left out: it is tanh there and erf to everybody else.
NAMES = {
    "gelu": "erf",
    "gelu_python": "erf",
    "gelu_new": "tanh",
    "gelu_fast": "tanh",
    "gelu_pytorch_tanh": "tanh",
    "gelu_python_tanh": "tanh",
    "quick_gelu": "quick",
}
