"""The functions that identities stand for: float → float, in float64, no torch needed."""

from __future__ import annotations

from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, QUICK_SLOPE, Function
from gelu_lint.numerics.match import Identity


def functions(flavour: str, parameter: float | None = None) -> tuple[Function, Function]:
    """Value and slope of a flavour, or of a member of a family.

    ``parameter``: τ of "gelu_t" (x·Φ(x/τ), by default 1), k of "sigmoid_k" (x·σ(kx), by default 1.702), both above 0.
    These are an erf and a quick GELU, scaled: s·f(x/s). KeyError for another name.
    """
    if flavour == "gelu_t":
        base, scale = FLAVOURS["erf"], parameter or 1.0
    elif flavour == "sigmoid_k":
        base, scale = FLAVOURS["quick"], QUICK_SLOPE / (parameter or QUICK_SLOPE)
    else:
        return FLAVOURS[flavour].value, FLAVOURS[flavour].slope
    return (lambda x: scale * base.value(x / scale)), (lambda x: base.slope(x / scale))


def function_of(found: str | Identity, slope: bool = False) -> Function:
    """The function of a flavour's name or an identity; with ``slope`` its derivative, which not all of them tell.

    KeyError for a name that is neither in FLAVOURS nor in OTHERS; ValueError where an identity tells no values, as that
    of a near miss, and for a derivative that is not told.
    """
    identity = Identity(found) if isinstance(found, str) else found
    flavour, parameter = identity.flavour, identity.parameter
    if parameter is not None and flavour in ("gelu_t", "sigmoid_k", "quick"):
        return functions("sigmoid_k" if flavour == "quick" else flavour, parameter)[slope]
    if flavour in FLAVOURS:
        return functions(flavour)[slope]
    if flavour == "squared" and not slope:
        whole = FLAVOURS[identity.nearest].value
        return lambda x: whole(x) ** 2
    if flavour in OTHERS and not slope:
        return OTHERS[flavour]
    if isinstance(found, str):
        raise KeyError(found)
    what = "derivative" if slope else "values"
    raise ValueError(f"the identity {flavour!r} tells no {what} to draw; give the function itself")
