"""Identities in words. Those of flavours and of errors are the linter's own, of `gelu_lint.handwritten`."""

from __future__ import annotations

import math

from gelu_lint.handwritten import MEANT, distance, label
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS
from gelu_lint.numerics.match import Identity

#: What is no flavour, as what "computes" is followed by. {0} is the flavour that it comes from, {1} its parameter.
_PHRASES = {
    "clipped": "{0}, clamped at {1}",
    "gate": "the gate of {0}, without its factor x",
    "gelu_t": "x·Φ(x/{1})",
    "sigmoid_k": "x·σ({1}x)",
    "sparse": "{0}, with a random mask",
    "squared": "the square of {0}",
}
_NO_GELU = "no known GELU"


def phrase(identity: Identity) -> str:
    """What "computes" is followed by: "x·σ(x) (SiLU)", "the erf GELU, clamped at 10", "nearly the tanh GELU"."""
    flavour, nearest = identity.flavour, identity.nearest
    parameter = f"{identity.parameter:.5g}".replace("-", "−") if identity.parameter is not None else ""
    if flavour == "near":
        return f"nearly {MEANT[nearest]}"
    if flavour in ("gelu_t", "sigmoid_k") and not parameter:
        return _NO_GELU
    if flavour in _PHRASES:
        whole = label(nearest) if nearest in FLAVOURS else "a GELU"
        if flavour == "gate" and not nearest:
            whole = f"x·σ(kx) or x·Φ(x/τ), parameter {parameter}"
        return _PHRASES[flavour].format(whole, parameter).removesuffix(" at ")
    if flavour == "quick" and parameter:
        return label(flavour).replace("1.702", parameter)
    return label(flavour) if flavour in FLAVOURS or flavour in OTHERS else _NO_GELU


def explained(identity: Identity) -> str:
    """The phrase, with what is off of a near miss: "nearly the tanh GELU: 0.44715 for 0.044715"."""
    return f"{phrase(identity)}: {identity.why}" if identity.flavour == "near" else phrase(identity)


def told(identity: Identity) -> str:
    """An identity in one sentence, as the linter's messages have it: "computes x·σ(x) (SiLU)"."""
    flavour, error, at, _, nearest, why, *_ = identity
    far = distance(error if math.isfinite(error) else None, at)
    if flavour == "near":
        return f"{explained(identity)}; {far}"
    said = f"computes {phrase(identity)}"
    if flavour == "unknown":
        reason = f" ({why})" if why else ""
        return f"{said}{reason}" + (f"; nearest is {label(nearest)}, {far}" if nearest else "")
    if flavour in ("gelu_t", "sigmoid_k"):
        return f"{said}, not {label(nearest)}: {far}"
    return said
