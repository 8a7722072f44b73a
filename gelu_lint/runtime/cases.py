"""What there is to test of a model: each GELU that it computes, and the way of the gradient through its layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from gelu_lint.numerics.flavours import GELUS
from gelu_lint.runtime.depth import Depth, depth_flow
from gelu_lint.runtime.exact import NAMES
from gelu_lint.runtime.factory import Built, FactoryError, load
from gelu_lint.runtime.faults import in_one_line
from gelu_lint.runtime.gradient_flow import Flow, Row, gradient_flow
from gelu_lint.runtime.phrases import phrase
from gelu_lint.runtime.probe import Activation, ProbeError, probe
from gelu_lint.runtime.runs import Run
from gelu_lint.runtime.subject import NotElementwise

#: The flavours that are GELUs, alone or with a parameter.
_FAMILIES = (*GELUS, "gelu_t", "sigmoid_k")
#: Rows that say that a gradient is wrong, whatever is computed: that is worse than a wrong name.
_BACKWARD = ("slope", "gradient", "backward", "gradcheck")
_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


class Case(NamedTuple):
    """One test: the path of the module that computes a GELU, "(model)" for the model itself, "(depth)" for its layers.

    A path that is there more than once has #2, #3 … behind it. A model without a GELU has one test, "(none)", that
    fails. ``run`` gives None where there is nothing to run it on.
    """

    name: str
    run: Callable[[], Flow | Depth | Missing | None]


class Missing(NamedTuple):
    """There is no GELU in a model; ``why`` says so."""

    why: str
    ok: bool = False

    def message(self) -> str:
        """What is wrong."""
        return self.why


def cases(text: str) -> tuple[Case, ...]:
    """The tests of the model that MODULE:FACTORY names. Raises FactoryError where it cannot be had or run."""
    built = load(text)
    try:
        report = probe(built.model, *built.args, **built.kwargs)
    except ProbeError as error:
        raise FactoryError(f"{text}: {error}") from error
    except (Exception, SystemExit) as error:
        raise FactoryError(f"the model of {text} cannot be run on its inputs: {in_one_line(error)}") from error
    found = [activation for activation in report.activations if is_gelu(activation)]
    if not found:
        hint = "" if built.has_inputs else "; give inputs, too, to see those that are no modules"
        missing = Missing(f"no GELU is computed in the model of {text}{hint}")
        return (Case("(none)", lambda: missing),)
    dtype = _dtype(built.model)
    names: Counter[str] = Counter()
    made = []
    for activation in found:
        path = activation.path or "(model)"
        names[path] += 1
        name = path if names[path] == 1 else f"{path}#{names[path]}"
        made.append(Case(name, lambda activation=activation: _flow(built.model, activation, dtype)))  # type: ignore[misc]
    return (*made, Case("(depth)", lambda: _depth(built)))


def is_gelu(activation: Activation) -> bool:
    """Whether an activation is a GELU or nearly one, or is not the one that it is given out for."""
    identity = activation.identity
    nearly = identity.flavour == "near" and identity.nearest in GELUS
    return identity.flavour in _FAMILIES or nearly or bool(activation.problem)


def _flow(model: nn.Module, activation: Activation, dtype: torch.dtype) -> Flow:
    identity = activation.identity
    if activation.spelling == "fast path":  # no gradient goes through it
        row = Row("function", "", activation.claimed, phrase(identity), not activation.problem)
        return Flow((row,), identity, activation.claimed, _where(activation), Run([], [], [], "", False))
    right = not activation.problem and identity.flavour in NAMES
    expected = identity.flavour if right else activation.claimed if activation.claimed in NAMES else None
    try:
        with _in_mode(model, activation.mode):
            if activation.problem and identity.flavour in NAMES:
                own = gradient_flow(activation.function, identity.flavour, dtype=dtype)
                if any(row.ok is False and row.what.partition(",")[0] in _BACKWARD for row in own.rows):
                    return own._replace(why=f"{own.why}; besides, {_where(activation)}")
            flow = gradient_flow(activation.function, expected, dtype=dtype)
    except NotElementwise as error:
        return Flow((), identity, "", str(error), Run([], [], [], "", False))
    return flow._replace(why=_where(activation) or flow.why)


@contextmanager
def _in_mode(model: nn.Module, mode: str) -> Iterator[None]:
    """The mode in which an activation was seen: in the other one it may be random, or another."""
    flags = [(part, part.training) for part in model.modules()]
    try:
        for part, training in flags:
            part.training = training if mode == "both" else mode == "train"
        yield
    finally:
        for part, training in flags:
            part.training = training


def _where(activation: Activation) -> str:
    """The problem of an activation, with the modes that it is there in."""
    if not activation.problem or activation.mode == "both":
        return activation.problem
    return f"in {activation.mode} mode: {activation.problem}"


def _depth(built: Built) -> Depth | None:
    return depth_flow(built.model, *built.args, **built.kwargs) if built.has_inputs else None


def _dtype(model: nn.Module) -> torch.dtype:
    """The dtype of a model's parameters: what it is used in."""
    return next((p.dtype for p in model.parameters() if p.dtype in _DTYPES), torch.float32)
