"""Which activations does a live model really compute, and is each what it is given out for?"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._pytree import tree_map

from gelu_lint.numerics.match import Identity
from gelu_lint.reports.text import plural
from gelu_lint.runtime.drafts import Draft, Function, drafts, full_name, listable
from gelu_lint.runtime.factory import dummies
from gelu_lint.runtime.faults import in_one_line
from gelu_lint.runtime.fused import KERNELS
from gelu_lint.runtime.judge import Verdict, judged
from gelu_lint.runtime.naming import (
    by_attribute,
    by_name,
    common,
    denies,
    last_word,
    pattern,
    strongest,
)
from gelu_lint.runtime.recognise import NotElementwise, recognise
from gelu_lint.runtime.record import Record, record
from gelu_lint.runtime.segments import Finder
from gelu_lint.runtime.table import rows, text
from gelu_lint.runtime.untouched import Kept, untouched

Found = dict[str, list[Draft]]  # by mode

_SHARDED = frozenset(("FullyShardedDataParallel", "FSDPModule", "DTensor"))


class ProbeError(Exception):
    """A model that cannot be probed; the message says why."""


class Activation(NamedTuple):
    """One activation that a model computes.

    path      dotted path of the module inside which it is computed, or that it is (``spelling`` "module"); "" is the
              model itself
    spelling  "module", "call" (of a function of torch's), "formula" (typed by hand) or "fast path" (inside a fused
              operation)
    callee    the class, function or operation, by its full name
    identity  what it computes, by its values
    mode      "train", "eval" or "both"
    calls     how often a forward pass computes it there
    function  the same as a callable, Tensor → Tensor, of any shape, element by element. A module is the live module; a
              formula has the numbers that parameters in it had. Inside a fast path there are no gradients
    claimed   the flavour that it is given out for, "" where nothing claims a GELU
    claim     what claims that: "class name QuickGELU", "config.hidden_act='gelu_new'", "approximate='tanh'"
    problem   what is wrong, in one sentence; "" where nothing is
    """

    path: str
    spelling: str
    callee: str
    identity: Identity
    mode: str
    calls: int
    function: Function
    claimed: str = ""
    claim: str = ""
    problem: str = ""


class Report:
    """What was found in one model. ``notes`` say what could not be seen."""

    def __init__(self, activations: tuple[Activation, ...], notes: tuple[str, ...]) -> None:
        self.activations, self.notes = activations, notes

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, a sentence each, with where; what layers have in common is said once."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for activation in self.activations:
            if activation.problem:
                key = pattern(activation.path), activation.mode, activation.problem
                found.setdefault(key, []).append(activation.path)
        return tuple(f"{_where(paths)}{_only(mode)}: {problem}" for (_, mode, problem), paths in found.items())

    def rows(self) -> list[dict[str, Any]]:
        """The activations as data for JSON."""
        return rows(self)

    def text(self) -> str:
        """A table for people, the problems, and the notes."""
        return "\n".join(text(self))


def _where(paths: list[str]) -> str:
    return common(paths) or "the model" if len(paths) == 1 else f"{common(paths)} ({len(paths)} of them)"


def _only(mode: str) -> str:
    return "" if mode == "both" else f" (in {mode} only)"


def probe(model: nn.Module, *args: Any, **kwargs: Any) -> Report:
    """Every activation that ``model(*args, **kwargs)`` computes, in training and in eval mode, without gradients.

    Found are activation modules, calls of torch's functions, formulas typed by hand and what torch's fast paths
    compute; each is told by its values. GELUs, and what is given out for one, are judged; others are listed for
    information. What is claimed is read from names of classes, functions and attributes, from ``approximate``, and from
    the configuration.

    Tensors among the arguments (in tuples, lists and dicts, too) are copied to the device of the model. Without
    arguments the model's own ``dummy_inputs`` (Hugging Face) are used if they fit; where there are none only modules
    are asked, each by itself, and the report says so. The model is left as it was: training flags,
    attributes, parameters, buffers, hooks, random state. A compiled or ``DataParallel`` model is probed as what it
    wraps.

    Raises ProbeError for what is no module, is sharded, has lazy parameters that are not there yet, or cannot be run.
    """
    if not isinstance(model, nn.Module):
        raise ProbeError(f"an nn.Module is needed, not an object of the class {type(model).__qualname__}")
    model = _bare(model)
    if any(
        kind.__name__ in _SHARDED for part in (*model.modules(), *model.parameters()) for kind in type(part).__mro__
    ):
        raise ProbeError("the model is sharded (FSDP, DTensor): probe it before it is")
    if any(nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise ProbeError("the model has lazy parameters, whose shapes are not known yet: call it once, then probe it")
    if not (args or kwargs):
        kwargs = dummies(model)
    with untouched(model) as kept, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the model's own code, once more for each run
        if args or kwargs:
            found, notes = _both(model, _moved(args, model), _moved(kwargs, model), kept)
        else:
            found, notes = _alone(model)
    merged = _merged(found)
    verdicts = judged(model, [draft for draft, _, _ in merged], notes)
    activations = tuple(_row(*each, verdict) for each, verdict in zip(merged, verdicts, strict=True))
    return Report(activations, tuple(notes))


def _row(draft: Draft, mode: str, calls: int, verdict: Verdict) -> Activation:
    path, spelling, callee, identity, function, *_ = draft
    claim, problem = verdict
    claimed = claim.flavour(identity.flavour, identity.nearest) if claim is not None else ""
    who = claim.who if claim is not None else ""
    return Activation(path, spelling, callee, identity, mode, calls, function, claimed, who, problem)


def _bare(model: nn.Module) -> nn.Module:
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def _moved(values: Any, model: nn.Module) -> Any:
    """Copies of the arguments on the device of the model's first parameter."""
    device = next((tensor.device for tensor in (*model.parameters(), *model.buffers())), None)

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            copied = value.detach().clone()
            return copied if device is None else copied.to(device)
        return value

    return tree_map(move, values)


def _both(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept) -> tuple[Found, list[str]]:
    found: Found = {}
    notes: list[str] = []
    faults: list[BaseException] = []
    finder = Finder()
    seen: set[int] = set()
    elsewhere: set[int] = set()
    for mode in ("train", "eval"):
        _switch(model, mode == "train")
        try:
            run = _record(model, args, kwargs, kept)
        except (Exception, SystemExit) as fault:
            faults.append(fault)
            notes.append(f"the model cannot be run in {mode} mode: {in_one_line(fault)}")
            continue
        finally:
            kept.restore()
        seen.update(id(place.module) for place in run.places)
        elsewhere.update(run.elsewhere - seen)
        found[mode] = list(drafts(run, finder))
    if len(faults) == 2:
        raise ProbeError(f"the model cannot be run on these inputs: {in_one_line(faults[-1])}") from faults[-1]
    hidden = [name for name, module in model.named_modules() if id(module) in elsewhere]
    if hidden:
        what = plural(len(hidden), "module")
        notes.append(f"{what} ran in another thread, where operations are not seen: {_listed(hidden)}")
    seen |= elsewhere
    idle = [name for name, module in model.named_modules() if id(module) not in seen and _is_activation(module)]
    if idle:
        notes.append(f"{plural(len(idle), 'activation module')} never ran on these inputs: {_listed(idle)}")
    return found, notes


def _switch(model: nn.Module, training: bool) -> None:
    try:
        model.train(training)
    except RecursionError:  # a module that has what it is in as a part
        for module in model.modules():
            module.training = training


def _listed(paths: list[str]) -> str:
    counts = Counter(map(pattern, paths))
    names = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _record(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept) -> Record:
    try:
        with torch.no_grad():
            return record(model, args, kwargs, fused=tuple(KERNELS), written=kept.before_write)
    except Exception as fault:
        if "grad" not in str(fault):
            raise
    with torch.enable_grad():  # it differentiates something itself
        return record(model, args, kwargs, fused=tuple(KERNELS), written=kept.before_write)


def _is_activation(module: nn.Module) -> bool:
    name = type(module).__name__
    return by_name(name, "") is not None and not next(module.children(), None)


def _alone(model: nn.Module) -> tuple[Found, list[str]]:
    """The modules that are activations, each asked by itself."""
    found: Found = {}
    known: dict[Any, Identity | None] = {}
    for mode in ("train", "eval"):
        found[mode] = []
        for path, module in model.named_modules():
            if next(module.children(), None) is not None or any(p.numel() > 1 for p in module.parameters()):
                continue
            module.training = mode == "train"
            key = (type(module), *(_state(module) or (id(module), mode)))
            if key not in known:
                try:
                    known[key] = recognise(module)
                except NotElementwise:
                    known[key] = None
            identity = known[key]
            if identity is not None:
                name = type(module).__name__
                claim = strongest((by_attribute(module), by_name(name, "class name"), by_name(last_word(path), "name")))
                found[mode].append(Draft(path, "module", full_name(module), identity, module, claim, denies(name)))
    found = {mode: [draft for draft in members if listable(draft)] for mode, members in found.items()}
    note = "only activation modules were asked, each by itself: give inputs, and functions, formulas and fast paths are"
    return found, [f"{note} seen too (a factory returns (model, inputs))"]


def _state(module: nn.Module) -> tuple[Any, ...]:
    """All that decides what a module does, () where that is not plain to see."""
    state: list[Any] = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, (str, int, float, type(None))):
            state.append((name, value))
        elif not (isinstance(value, (dict, set)) and not value):
            return ()
    return tuple(state)


def _merged(found: Found) -> list[tuple[Draft, str, int]]:
    """Each activation once, with the modes that compute it and how often."""
    together: dict[tuple[Any, ...], dict[str, list[Draft]]] = {}
    for mode, members in found.items():
        for draft in members:
            key = draft.path, draft.spelling, draft.callee, draft.identity, draft.claim
            together.setdefault(key, {}).setdefault(mode, []).append(draft)
    return [
        (
            next(iter(modes.values()))[0],
            "both" if len(modes) == 2 else next(iter(modes)),
            max(len(members) for members in modes.values()),
        )
        for modes in together.values()
    ]
