"""What an identity stands for: its function, and its name in words."""

from __future__ import annotations

from collections.abc import Callable

from gelu_lint.handwritten import MEANT, label
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, Function
from gelu_lint.numerics.ir import OPS
from gelu_lint.numerics.match import Identity

#: Families of one parameter: in words, and the function with it.
_FAMILIES: dict[str, tuple[str, Callable[[float], Function]]] = {
    "quick": ("x·σ({0:.4g}x)", lambda k: lambda x: x * OPS["sigmoid"].function(k * x)),
    "sigmoid_k": ("x·σ({0:.4g}x)", lambda k: lambda x: x * OPS["sigmoid"].function(k * x)),
    "gelu_t": ("x·Φ(x/{0:.4g})", lambda tau: lambda x: x * OPS["ndtr"].function(x / tau)),
}


def function_of(found: str | Identity, slope: bool = False) -> Function:
    """The function of a flavour's name or an identity; its derivative, which only FLAVOURS tell, if ``slope``.

    KeyError for a name that is neither in FLAVOURS nor in OTHERS; ValueError where an identity tells no values, as that
    of a near miss, and for a derivative that is not told.
    """
    identity = Identity(found) if isinstance(found, str) else found
    family = _FAMILIES.get(identity.flavour)
    if family is not None and identity.parameter is not None and not slope:
        return family[1](identity.parameter)
    if identity.flavour in FLAVOURS:
        return FLAVOURS[identity.flavour].slope if slope else FLAVOURS[identity.flavour].value
    if identity.flavour == "squared" and not slope:
        whole = FLAVOURS[identity.nearest].value
        return lambda x: whole(x) ** 2
    if identity.flavour in OTHERS and not slope:
        return OTHERS[identity.flavour]
    if isinstance(found, str):
        raise KeyError(found)
    what = "derivative" if slope else "values"
    raise ValueError(f"the identity {identity.flavour!r} tells no {what} to draw; give the function itself")


def in_words(found: str | Identity) -> str:
    """What a flavour's name or an identity says of itself: "nearly the tanh GELU: 0.44715 for 0.044715"."""
    identity = Identity(found) if isinstance(found, str) else found
    flavour, nearest = identity.flavour, identity.nearest
    if flavour == "near":
        return f"nearly {MEANT[nearest]}: {identity.why}"
    if flavour in _FAMILIES and identity.parameter is not None and flavour != "quick":
        return _FAMILIES[flavour][0].format(identity.parameter)
    if flavour == "gate":
        return f"the gate of {label(nearest) if nearest else 'a GELU'}, without its factor x"
    if flavour in ("clipped", "squared", "sparse") and nearest:
        return f"{label(nearest)}, {flavour}"
    return label(flavour) if flavour in FLAVOURS or flavour in OTHERS else "no known GELU"
