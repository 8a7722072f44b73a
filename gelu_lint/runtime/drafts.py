"""Activations that were found in a run, with where they are, who computes them and what their names claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import torch
from torch import nn

from gelu_lint.numerics.flavours import FLAVOURS, GELUS
from gelu_lint.numerics.match import Identity
from gelu_lint.runtime.fused import KERNELS, inside, uses_gelu
from gelu_lint.runtime.naming import (
    Claim,
    by_attribute,
    by_name,
    by_unit,
    denies,
    hidden,
    last_word,
    of_layer,
    strongest,
)
from gelu_lint.runtime.recognise import recognise
from gelu_lint.runtime.record import Call, Record
from gelu_lint.runtime.segments import BUILT_INS, GATES, Finder, Segment, doing, giving, wrapping

Function = Callable[[torch.Tensor], torch.Tensor]
_PUBLIC = re.compile(r"torch\.nn\.\w+")  # torch's activation modules


class Draft(NamedTuple):
    """An activation before it is judged: what its names claim, whether one says that it is something else, and whether
    what claims is merely around it (``loose``)."""

    path: str
    spelling: str
    callee: str
    identity: Identity
    function: Function
    claim: Claim | None
    denied: bool = False
    loose: bool = False


def full_name(module: nn.Module) -> str:
    """Its full name; of torch's activations the public one."""
    name = f"{type(module).__module__}.{type(module).__qualname__}"
    return name.replace("torch.nn.modules.activation.", "torch.nn.")


def drafts(run: Record, finder: Finder) -> Iterator[Draft]:
    """The activations of a run that are worth a row."""
    found = [_draft(segment, finder) for segment in finder.segments(run)]
    right = {(each.path, each.claim) for each in found if each.claim and each.identity.flavour in each.claim.flavours}
    for draft in found:
        if draft.loose and (draft.path, draft.claim) in right and draft.identity.flavour not in GELUS:
            # The name of a gated unit, or of a function that does more, means its GELU, not what else it computes.
            draft = draft._replace(claim=None)
        if listable(draft):
            yield draft
    kernels: dict[tuple[str, bool], tuple[Function, Identity]] = {}
    for fused in run.fused:
        key = fused.name, uses_gelu(fused)
        if key not in kernels:
            function = inside(fused)
            kernels[key] = function, recognise(function)
        function, identity = kernels[key]
        path = fused.place.path if fused.place is not None else ""
        claim = of_layer(fused.place.module) if fused.place is not None else None
        yield Draft(path, "fast path", KERNELS[fused.name].callee, identity, function, claim)


def listable(draft: Draft) -> bool:
    """Whether an activation is worth a row: parts of other things are not, unless they claim to be a GELU."""
    flavour = draft.identity.flavour
    if draft.claim is not None:
        return True
    if draft.spelling == "formula" and flavour in ("relu", "leaky_relu"):
        return False  # a bound
    if flavour == "unknown":
        return draft.callee in BUILT_INS.values() or _PUBLIC.fullmatch(draft.callee) is not None  # hardswish, PReLU …
    return flavour not in GATES or (draft.spelling == "module" and flavour != "gate")


def _draft(segment: Segment, finder: Finder) -> Draft:
    around = list(wrapping(segment))
    functions = list(doing(segment))
    names = [call.name for call in functions]
    claims = [by_name(name, "function") for name in names]
    for place in around:
        claims.append(by_attribute(place.module))
        claims.append(by_name(type(place.module).__name__, "class name"))
        claims.append(by_name(last_word(place.path), "name"))
        names.append(type(place.module).__name__)
    claim = strongest(claims)
    path = segment.place.path if segment.place is not None else ""
    if around:
        module = around[0].module
        return Draft(
            around[0].path, "module", full_name(module), segment.identity, module, claim, any(map(denies, names))
        )
    loose = claim is None
    if loose:
        claim = strongest(_around(segment))
    callee = BUILT_INS.get(segment.end.name, "") if len(segment.function) == 1 else ""
    denied = any(map(denies, names))
    if callee:
        return Draft(path, "call", callee, segment.identity, segment.function, claim, denied, loose)
    function = _own(segment, functions, finder)
    return Draft(path, "formula", _written(segment, functions), segment.identity, function, claim, denied, loose)


def _around(segment: Segment) -> Iterator[Claim | None]:
    """What is claimed by the functions and the module that an activation is in, which do more than that."""
    place = segment.place
    for call in reversed(segment.end.calls):
        yield by_unit(call.name, "function")
    if place is not None:
        yield by_unit(type(place.module).__name__, "class name")
        yield from hidden(place.module)
    if segment.identity.flavour in FLAVOURS:
        for call in giving(segment.end):  # bias_gelu(x, bias)
            yield by_name(call.name, "function")


def _written(segment: Segment, functions: list[Call]) -> str:
    """The function that a formula is typed in."""
    calls = functions or segment.end.calls[-1:]
    return calls[0].full_name if calls else ""


def _own(segment: Segment, functions: list[Call], finder: Finder) -> Function:
    """The user's function where that is all there is to it: it may have a backward of its own. Else the operations."""
    for call in functions:
        function = call.function
        if function is not None and finder.asked(function).flavour == segment.identity.flavour:
            return cast(Function, function)
    return segment.function
