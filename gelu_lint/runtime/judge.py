"""Whether activations are what they are given out for, in the linter's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import nn

from gelu_lint.handwritten import distance, label, off
from gelu_lint.numerics.flavours import FLAVOURS, GELUS, OTHERS, difference
from gelu_lint.numerics.match import Identity
from gelu_lint.runtime.drafts import Draft, Function
from gelu_lint.runtime.identities import function_of
from gelu_lint.runtime.naming import Claim, config_of, pattern, settings_of
from gelu_lint.runtime.phrases import phrase, told


class Verdict(NamedTuple):
    """What an activation is given out for, None for nothing, and what is wrong, "" for nothing."""

    claim: Claim | None
    problem: str


def judged(model: nn.Module, drafts: Sequence[Draft], notes: list[str]) -> Iterator[Verdict]:
    """The verdict on each activation of a model; adds to the notes."""
    configured = _configured(model, drafts, notes)
    for draft in drafts:
        claim, problem = draft.claim, _problem(draft)
        if draft.denied and draft.identity.flavour in ("gelu_t", "sigmoid_k"):
            claim = None  # approximate='none' of a GELUT is about the GELU in it
        setting = configured.get(id(draft))
        if setting is not None and not problem:
            if draft.identity.flavour not in setting.flavours:
                problem = _contradiction(draft.identity, setting)
            claim = setting
        yield Verdict(claim, problem)


def _configured(model: nn.Module, drafts: Sequence[Draft], notes: list[str]) -> dict[int, Claim]:
    """What configurations claim of activations.

    A configuration does not say which of the activations of its model it means: it is kept where one of them is what it
    names, and what others are is then their own business, unless they stand in the same place in another layer. Where
    none of them is a GELU, the name may be one that nobody reads: that is a note.
    """
    scopes: dict[int, tuple[Any, list[Draft]]] = {}
    for draft in drafts:
        config = config_of(model, draft.path)
        if config is not None:
            scopes.setdefault(id(config), (config, []))[1].append(draft)
    claims: dict[int, Claim] = {}
    for config, members in scopes.values():
        settings = [setting for setting in settings_of(config) if setting.flavour]
        for draft in members:
            setting = next((s for s in settings if s.flavour == draft.identity.flavour), None)
            if setting is not None:
                claims[id(draft)] = setting.claim()
        main = next((setting for setting in settings if setting.main), None)
        if main is None or main.flavour not in GELUS:
            continue
        kept = {pattern(d.path) for d in members if d.identity.flavour == main.flavour}
        others = [d for d in members if id(d) not in claims and d.identity.flavour in GELUS]
        for draft in [d for d in others if pattern(d.path) in kept or not kept]:
            claims[id(draft)] = main.claim()
        if not kept and not others:
            notes.append(f"{main.claim().who} names {label(main.flavour)}, which nothing here computes")
    return claims


def _problem(draft: Draft) -> str:
    """What is wrong with an activation by its names alone."""
    identity, claim = draft.identity, draft.claim
    flavour = identity.flavour
    under = f" {claim.under}" if claim is not None else ""
    if flavour == "near":
        if draft.denied or (claim is None and identity.nearest == "quick"):
            return ""
        return _put(told(identity), under)
    if claim is None or flavour in claim.flavours or (flavour == "gate" and claim.gate):
        return ""
    if flavour in FLAVOURS or flavour in OTHERS:
        return _contradiction(identity, claim)
    if draft.denied or flavour == "clipped":
        return ""
    if flavour in ("gelu_t", "sigmoid_k"):
        return "" if _learns(draft.function) else _stranger(identity, claim)
    return _put(told(identity), under)


def _learns(function: Function) -> bool:
    """Whether a parameter decides what a module computes."""
    return isinstance(function, nn.Module) and next(function.parameters(), None) is not None


def _put(sentence: str, under: str) -> str:
    """A sentence about an identity, with what claims to be something else behind its first part."""
    return re.sub(r"(?=[:;,]|$)", lambda _: under, sentence, count=1)


def _stranger(identity: Identity, claim: Claim) -> str:
    """What is wrong with a member of a family that has the name of a GELU."""
    gap = difference(function_of(identity), FLAVOURS[claim.flavour("erf")].value)
    return f"computes {phrase(identity)} {claim.under}: {distance(gap.size, gap.at)}"


def _contradiction(identity: Identity, claim: Claim) -> str:
    wanted = claim.flavour("erf")
    far = off(identity.flavour, wanted)[1] if identity.flavour in (*FLAVOURS, *OTHERS) else ""
    said = f", which says {' or '.join(map(label, claim.says))}" if claim.says else ""
    return f"computes {phrase(identity)} {claim.under}{said}: {far or distance(identity.error, identity.at)}"
