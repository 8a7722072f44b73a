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

#: All of its names with a GELU in them.
_KNOWN = frozenset((*NAMES, "gelu_accurate", "gelu_10"))
#: Names that tables of diffusers and timm have, and the keys under which these look them up.
_ELSEWHERE = frozenset(("gelu_tanh", "gelu-approximate", "geglu", "geglu-approximate"))
_KEYS_ELSEWHERE = frozenset(("act_layer", "act_fn", "activation_fn"))


def unheard(key: str, value: str) -> bool:
    """Whether a value that names a GELU may be unknown to the table in which a ``key`` is looked up."""
    if "gelu" not in value.lower() and "geglu" not in value.lower():
        return False
    if key == "feed_forward_proj":
        value = value.removeprefix("gated-")
    if key in _KEYS_ELSEWHERE and value in _ELSEWHERE:
        return False
    return value not in _KNOWN or (key == "act_layer" and value not in ("gelu", "quick_gelu"))
