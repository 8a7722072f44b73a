"""Which activations does a live model really compute, and is each what it is given out for?"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._pytree import tree_map

from gelu_lint.claims import PLAIN
from gelu_lint.handwritten import distance, label, off
from gelu_lint.numerics.flavours import FLAVOURS, GELUS, OTHERS
from gelu_lint.numerics.match import Identity
from gelu_lint.reports.text import plural
from gelu_lint.runtime.fused import KERNELS, inside, uses_gelu
from gelu_lint.runtime.naming import (
    Claim,
    by_attribute,
    by_name,
    by_unit,
    config_of,
    denies,
    last_word,
    pattern,
    settings_of,
    strongest,
)
from gelu_lint.runtime.recognise import NotElementwise, recognise, told
from gelu_lint.runtime.record import Call, Place, Record, record
from gelu_lint.runtime.segments import BUILT_INS, GATES, Finder, Segment, within
from gelu_lint.runtime.untouched import Kept, untouched

Function = Callable[[torch.Tensor], torch.Tensor]


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
        found: dict[tuple[str, str, str], list[Activation]] = {}
        for activation in self.activations:
            if activation.problem:
                key = pattern(activation.path), activation.mode, activation.problem
                found.setdefault(key, []).append(activation)
        return tuple(
            f"{_where(members, path)}{_only(mode)}: {problem}" for (path, mode, problem), members in found.items()
        )

    def rows(self) -> list[dict[str, Any]]:
        """The activations as data for JSON."""
        from gelu_lint.runtime.table import rows

        return rows(self)

    def text(self) -> str:
        """A table for people, the problems, and the notes."""
        from gelu_lint.runtime.table import text

        return "\n".join(text(self))


def _where(members: list[Activation], path: str) -> str:
    if len(members) == 1:
        return members[0].path or "the model"
    return f"{path} ({len(members)} of them)"


def _only(mode: str) -> str:
    return "" if mode == "both" else f" (in {mode} only)"


class _Draft(NamedTuple):
    """An activation before it is judged: what its names claim, and whether one says that it is something else."""

    path: str
    spelling: str
    callee: str
    identity: Identity
    function: Function
    claim: Claim | None
    denied: bool = False


def probe(model: nn.Module, *args: Any, **kwargs: Any) -> Report:
    """Every activation that ``model(*args, **kwargs)`` computes, in training and in eval mode, without gradients.

    Found are activation modules, calls of torch's functions, formulas typed by hand and what torch's fast paths
    compute; each is told by its values. GELUs, and what is given out for one, are judged; others are listed for
    information. What is claimed is read from names of classes, functions and attributes, from ``approximate``, and from
    the configuration.

    Tensors among the arguments (in tuples, lists and dicts, too) are copied to the device of the model. Without
    arguments only modules are asked, each by itself; the report says so. The model is left as it was: training flags,
    attributes, parameters, buffers, hooks, random state. A compiled or ``DataParallel`` model is probed as what it
    wraps.

    Raises ProbeError for what is no module, has lazy parameters that are not there yet, or cannot be run.
    """
    if not isinstance(model, nn.Module):
        raise ProbeError(f"an nn.Module is needed, not an object of the class {type(model).__qualname__}")
    model = _bare(model)
    if any(nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise ProbeError("the model has lazy parameters, whose shapes are not known yet: call it once, then probe it")
    with untouched(model) as kept, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the model's own code, once more for each run
        if args or kwargs:
            found, notes = _both(model, _moved(args, model), _moved(kwargs, model), kept)
        else:
            found, notes = _alone(model)
    return Report(tuple(_judged(model, _merged(found))), tuple(notes))


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


Found = dict[str, list[_Draft]]  # by mode


def _both(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept) -> tuple[Found, list[str]]:
    found: Found = {}
    notes: list[str] = []
    faults: list[Exception] = []
    finder = Finder()
    seen: set[int] = set()
    for mode in ("train", "eval"):
        model.train(mode == "train")
        try:
            run = _record(model, args, kwargs, kept)
        except Exception as fault:
            faults.append(fault)
            notes.append(f"the model cannot be run in {mode} mode: {_said(fault)}")
            continue
        finally:
            kept.restore()
        seen.update(id(place.module) for place in run.places)
        found[mode] = [draft for draft in _drafts(run, finder) if draft is not None]
    if len(faults) == 2:
        raise ProbeError(f"the model cannot be run on these inputs: {_said(faults[-1])}") from faults[-1]
    idle = [name for name, module in model.named_modules() if id(module) not in seen and _is_activation(module)]
    if idle:
        notes.append(f"{plural(len(idle), 'activation module')} never ran on these inputs: {_listed(idle)}")
    return found, notes


def _said(fault: Exception) -> str:
    lines = [line for line in str(fault).strip().splitlines() if line.strip()]
    return f"{type(fault).__name__}: {lines[0].strip()}" if lines else type(fault).__name__


def _listed(paths: list[str]) -> str:
    counts = Counter(map(pattern, paths))
    names = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _record(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept) -> Record:
    try:
        with torch.no_grad(), _eager():
            return record(model, args, kwargs, fused=tuple(KERNELS), written=kept.before_write)
    except Exception as fault:
        if "grad" not in str(fault):
            raise
    with torch.enable_grad(), _eager():  # it differentiates something itself
        return record(model, args, kwargs, fused=tuple(KERNELS), written=kept.before_write)


@contextmanager
def _eager() -> Iterator[None]:
    """Nothing is compiled: compiled code is not seen."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)  # torch 2.6
    if stance is None:
        yield
    else:
        with stance("force_eager"):
            yield


def _is_activation(module: nn.Module) -> bool:
    name = type(module).__name__
    return by_name(name, "") is not None and not next(module.children(), None)


def _alone(model: nn.Module) -> tuple[Found, list[str]]:
    """The modules that are activations, each asked by itself."""
    drafts = []
    for path, module in model.named_modules(remove_duplicate=True):
        if next(module.children(), None) is not None or any(p.numel() > 1 for p in module.parameters()):
            continue
        module.eval()
        try:
            identity = recognise(module)
        except NotElementwise:
            continue
        name = type(module).__name__
        claim = strongest((by_attribute(module), by_name(name, "class name"), by_name(last_word(path), "name")))
        drafts.append(_Draft(path, "module", _class(module), identity, module, claim, denies(name)))
    note = "only activation modules were asked, each by itself: give inputs, and functions, formulas and fast paths are"
    note += " seen too (a factory returns (model, inputs))"
    return {"eval": [draft for draft in drafts if _listable(draft)]}, [note]


def _class(module: nn.Module) -> str:
    name = f"{type(module).__module__}.{type(module).__qualname__}"
    return name.replace("torch.nn.modules.activation.", "torch.nn.")


def _drafts(run: Record, finder: Finder) -> Iterator[_Draft]:
    for segment in finder.segments(run):
        draft = _draft(segment)
        if _listable(draft):
            yield draft
    kernels: dict[tuple[Any, ...], tuple[Function, Identity]] = {}
    for fused in run.fused:
        key = fused.name, uses_gelu(fused)
        if key not in kernels:
            function = inside(fused)
            kernels[key] = function, recognise(function)
        function, identity = kernels[key]
        module = fused.place.module if fused.place is not None else None
        activation = getattr(module, "activation", None)
        claim = by_attribute(activation) if isinstance(activation, nn.Module) else None
        if claim is None and isinstance(activation, nn.GELU):
            claim = by_name("GELU", "class name")
        path = fused.place.path if fused.place is not None else ""
        yield _Draft(path, "fast path", KERNELS[fused.name].callee, identity, function, claim)


def _listable(draft: _Draft) -> bool:
    """Whether an activation is worth a row: parts of other things are not, unless they claim to be a GELU."""
    flavour = draft.identity.flavour
    if draft.claim is not None:
        return True
    return flavour != "unknown" and (flavour not in GATES or (draft.spelling == "module" and flavour != "gate"))


def _draft(segment: Segment) -> _Draft:
    wrapping = list(_wrapping(segment))
    functions = list(_functions(segment))
    names = [call.name for call in functions]
    claims = [by_name(name, "function") for name in names]
    for place in wrapping:
        claims.append(by_attribute(place.module))
        claims.append(by_name(type(place.module).__name__, "class name"))
        claims.append(by_name(last_word(place.path), "name"))
        names.append(type(place.module).__name__)
    claim = strongest(claims)
    path = segment.place.path if segment.place is not None else ""
    if wrapping:
        module = wrapping[0].module
        return _Draft(
            wrapping[0].path, "module", _class(module), segment.identity, module, claim, any(map(denies, names))
        )
    if claim is None and segment.place is not None:
        unit = type(segment.place.module).__name__
        units = [by_unit(call.name, "function") for call in reversed(segment.end.calls)]
        claim = strongest((*units, by_unit(unit, "class name")))
    callee = BUILT_INS.get(segment.end.name, "") if len(segment.function) == 1 else ""
    spelling = "call" if callee else "formula"
    if not callee:
        callee = _written(segment, functions)
    return _Draft(path, spelling, callee, segment.identity, segment.function, claim, any(map(denies, names)))


def _written(segment: Segment, functions: list[Call]) -> str:
    """The function that a formula is typed in."""
    calls = functions or segment.end.calls[-1:]
    if not calls:
        return ""
    call, place = calls[0], segment.place
    if call.name == "forward" and place is not None:
        return f"{_class(place.module)}.forward"
    return f"{call.where}.{call.name}"


def _wrapping(segment: Segment) -> Iterator[Place]:
    """The calls of modules that do this to their input and nothing else, innermost first."""
    for place in segment.place.chain() if segment.place is not None else ():
        if place.out is not segment.end or within(segment.start.place, place):
            return
        yield place


def _functions(segment: Segment) -> Iterator[Call]:
    """The functions that do this to what they are given and nothing else, innermost first."""
    start, end = segment.start, segment.end
    for depth in range(len(end.calls), 0, -1):
        calls = end.calls[:depth]
        if start.place is end.place and start.calls[:depth] == calls:
            return
        if any(place is end.place and found[:depth] == calls for _, place, found in end.users):
            return
        yield calls[-1]


def _merged(found: Found) -> list[tuple[_Draft, str, int]]:
    """Each activation once, with the modes that compute it and how often."""
    together: dict[tuple[Any, ...], dict[str, list[_Draft]]] = {}
    for mode, drafts in found.items():
        for draft in drafts:
            key = draft.path, draft.spelling, draft.callee, draft.identity, draft.claim
            together.setdefault(key, {}).setdefault(mode, []).append(draft)
    return [
        (
            next(iter(modes.values()))[0],
            "both" if len(modes) == 2 else next(iter(modes)),
            max(len(drafts) for drafts in modes.values()),
        )
        for modes in together.values()
    ]


def _judged(model: nn.Module, found: list[tuple[_Draft, str, int]]) -> Iterator[Activation]:
    configured = _configured(model, [draft for draft, _, _ in found])
    for draft, mode, calls in found:
        claim, problem = draft.claim, _problem(draft)
        setting = configured.get(id(draft))
        if setting is not None and not problem:
            if draft.identity.flavour not in setting.flavours:
                problem = _contradiction(draft.identity, setting)
            claim = setting
        claimed = claim.flavour(draft.identity.flavour) if claim is not None else ""
        yield Activation(
            draft.path,
            draft.spelling,
            draft.callee,
            draft.identity,
            mode,
            calls,
            draft.function,
            claimed,
            claim.who if claim is not None else "",
            problem,
        )


def _configured(model: nn.Module, drafts: list[_Draft]) -> dict[int, Claim]:
    """What configurations claim of activations.

    A configuration does not say which of the activations of its model it means: it is kept where one of them is what it
    names, and what others are is then their own business, unless they stand in the same place in another layer.
    """
    scopes: dict[int, tuple[Any, list[_Draft]]] = {}
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
        others = [d for d in members if id(d) not in claims and d.identity.flavour in (*GELUS, "silu")]
        gelus = [d for d in others if d.identity.flavour in GELUS]
        for draft in [d for d in others if pattern(d.path) in kept] if kept else gelus or others:
            claims[id(draft)] = main.claim()
    return claims


def _problem(draft: _Draft) -> str:
    """What is wrong with an activation by its names alone."""
    identity, claim = draft.identity, draft.claim
    flavour = identity.flavour
    under = f" {claim.under}" if claim is not None else ""
    if flavour == "near":
        if draft.denied or (claim is None and identity.nearest == "quick"):
            return ""
        return told(identity).replace(":", f"{under}:", 1)
    if claim is None or flavour in claim.flavours or (flavour == "gate" and claim.gate):
        return ""
    if flavour in FLAVOURS or flavour in OTHERS:
        return _contradiction(identity, claim)
    if flavour in ("sigmoid_k", "gelu_t") and claim.flavours == PLAIN:
        return f"{told(identity)}{under}"
    if flavour in ("gate", "squared", "unknown") and not draft.denied:
        return f"{told(identity)}{under}"
    return ""


def _contradiction(identity: Identity, claim: Claim) -> str:
    wanted = claim.flavour("erf")
    name = label(identity.flavour)
    far = off(identity.flavour, wanted)[1] if identity.flavour in (*FLAVOURS, *OTHERS) else ""
    if identity.flavour == "quick" and identity.parameter is not None:
        name = name.replace("1.702", f"{identity.parameter:.5g}")
    return f"computes {name} {claim.under}: {far or distance(identity.error, identity.at)}"
