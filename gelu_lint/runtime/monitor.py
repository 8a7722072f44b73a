"""What the GELUs of a model give while it trains: spread, mean, dead and saturated shares, a layer at a time."""

from __future__ import annotations

import difflib
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from gelu_lint.runtime.measure import measure, read, refusal
from gelu_lint.runtime.moments import Tally, gaussian, input_std, tally
from gelu_lint.runtime.watch import Hook, Watch, in_backward, names, unwrapped

#: Called with the number of a step and its values by "<layer>/<what>".
Sink = Callable[[int, Mapping[str, float]], object]

#: The range of the release checklist. It is that of zero-mean input with a standard deviation of 0.541 to 1.181: a
#: layer with wider input lies above it and is healthy all the same.
BOUNDS = (0.3, 0.7)
EVERY = 50

_FITS = 0.1  # how near (relative) the spread must come to that of Gaussian input to be called explained
_MOST = 4096  # tensors of a step whose numbers stay on the device
_PLAIN = 0.03  # how far a flavour of GELU may be from x·Φ(x): quick is by 0.0203, and bfloat16 rounds
_COLUMNS = {
    "output std": "gelu_output_std",
    "mean": "gelu_output_mean",
    "dead": "gelu_dead_fraction",
    "saturated": "gelu_saturated_fraction",
    "input std": "gelu_input_std",
    "input mean": "gelu_input_mean",
    "nan, inf": "gelu_nonfinite",
}


class GeluMonitorWarning(UserWarning):
    """Something that a monitor saw, or cannot see."""


class GeluStdWarning(GeluMonitorWarning):
    """The outputs of a GELU spread more or less than the range that was asked for."""


class GeluMonitor:
    """Watches the GELUs of a model in every ``every``-th step of its training, and leaves the other steps alone.

    ::

        with GeluMonitor(model, sinks=[print]) as monitor:
            train(model)
        print(monitor.table())

    A step is one forward of ``model`` in training mode with gradients enabled; with gradient accumulation each
    micro-batch is one. With ``manual=True`` the steps are yours: call ``step()`` at the end of each, and all forwards
    of parts of the model in between belong to it. Forwards in eval mode count only with ``evaluation=True``; those
    that activation checkpointing repeats in the backward pass never count, nor do those that raise.

    model    any nn.Module, also inside DistributedDataParallel or torch.compile, whose prefixes are left out of names
    every    1 for all steps; the first is always watched
    modules  what to watch besides modules that are GELUs by their class and calls of F.gelu: names of hand-written
             activation modules, or a predicate (name, module) → bool
    sinks    called with (step, values) after each watched step; one that raises is warned of once, and training goes on
    bounds   of gelu_output_std; outside them a GeluStdWarning speaks once a layer. None: never
    start    the number of the first step

    A layer is an activation module, or a place in a module's forward that calls F.gelu; it has the name of the module,
    and of further places (``#2`` …) in the order in which they were first seen. Its values, as sinks get them:

    ======================= =========================================================================================
    gelu_output_std         population standard deviation of all finite outputs of the step
    gelu_output_mean        their mean
    gelu_input_std, …_mean  the same of the inputs
    gelu_dead_fraction      share of outputs y = gelu(x) with y/x ≤ 0.001: x below −3.09, less than 1 % of the gradient
    gelu_saturated_fraction share with y/x ≥ 0.999: x above 3.09, where a GELU is the identity
    gelu_nonfinite          how many outputs are nan or infinite
    ======================= =========================================================================================

    In bfloat16 and float16 an output that rounds to its input has y/x = 1, so that saturation begins at smaller x.
    Where the input is not known (overwritten in place, of another shape) only the output is told.

    Code that torch.compile made shows no activations: watched steps run eagerly, with other rounding and dropout masks.
    Raises TypeError where ``model`` is no module, ValueError for options that make no sense, RuntimeError before
    torch 2.1, whose hooks are skipped when a forward raises.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        every: int = EVERY,
        modules: Iterable[str] | Callable[[str, nn.Module], bool] = (),
        sinks: Iterable[Sink] = (),
        bounds: tuple[float, float] | None = BOUNDS,
        manual: bool = False,
        evaluation: bool = False,
        start: int = 0,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"GeluMonitor watches a torch.nn.Module, not a {type(model).__name__}")
        if not hasattr(torch.compiler, "disable"):
            raise RuntimeError(f"GeluMonitor needs torch 2.1 or newer; this is {torch.__version__}")
        if every < 1:
            raise ValueError(f"every is {every}; 1 watches all steps, 50 one of fifty")
        if bounds is not None and not 0 <= bounds[0] < bounds[1]:
            raise ValueError(f"bounds are {bounds}; they are the least and greatest gelu_output_std, as in {BOUNDS}")
        self.bounds, self.every, self.evaluation, self.manual = bounds, every, evaluation, manual
        self.last: dict[str, float] = {}
        self.last_step: int | None = None
        self._model, self._number, self._sinks = model, start, tuple(sinks)
        self._watch = Watch(model, self._take, _chooser(model, modules), self._counts)
        self._layers: dict[str, Tally] = {}
        self._step: dict[str, Tally] = {}
        self._pending: list[tuple[str, int, bool, Tensor]] = []
        self._said: set[tuple[str, str]] = set()
        self._steps = 0
        self._depth = 0
        self._raised: BaseException | None = None
        self._closed = False
        self._handles: list[RemovableHandle] = []
        if manual:
            self._watch.open()
        else:
            self._handles = [
                model.register_forward_pre_hook(Hook(self._before), with_kwargs=True),
                model.register_forward_hook(Hook(self._after), prepend=True, always_call=True),
            ]

    def __enter__(self) -> GeluMonitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._remove()

    def close(self) -> None:
        """End the monitoring and remove all hooks; a second call does nothing. What was seen can still be read."""
        if self._closed:
            return
        self._remove()
        if self._pending or self._step:  # a manual step that nobody ended
            self._finish()
        model = type(unwrapped(self._model)[0]).__name__
        if not self._steps:
            self._warn("", "nothing", f"no forward of {model} in training mode was seen, so nothing was watched")
        elif not self._layers and not any(kind == "refused" for _, kind in self._said):
            hint = "name the modules of hand-written ones with modules="
            self._warn("", "nothing", f"no GELU was seen in {model}; {hint}")

    @property
    def step_number(self) -> int:
        """The number of the step that comes next or is under way."""
        return self._number

    def step(self, number: int | None = None) -> None:
        """End a step of a manual monitor; the next has the given number, or the number after this one's.

        Raises RuntimeError where the monitor counts forwards by itself.
        """
        if not self.manual:
            raise RuntimeError("this monitor counts forwards; to count steps yourself, give it manual=True")
        if self._closed:
            return
        self._watch.close()
        try:
            self._finish()
        finally:
            if number is not None:
                self._number = number
            if self._due():
                self._watch.open()

    def summary(self) -> dict[str, dict[str, float]]:
        """The values of all watched steps together, by layer."""
        return {name: layer.values() for name, layer in self._layers.items()}

    def state(self) -> dict[str, Any]:
        """The exact counts and moments, and the step: numbers, lists and strings, for a checkpoint."""
        return {"step": self._number, "layers": {name: layer.plain() for name, layer in self._layers.items()}}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken. Raises ValueError for what is no such state; then nothing has changed."""
        try:
            number, layers = int(state["step"]), {str(name): tally(each) for name, each in state["layers"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError("this is no state of a GeluMonitor") from error
        self._number, self._layers = number, layers

    def merge(self, group: Any = None) -> dict[str, dict[str, float]]:
        """`summary` over all processes of ``group`` (of torch.distributed; None: all), the same on each.

        Moments are merged exactly, not averaged; a layer that one process alone has seen is there, too. This is a
        collective: call it on every process or on none. Nothing is sent otherwise, and sinks get what their own
        process saw. Without a process group it is `summary`.
        """
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return self.summary()
        every: list[Any] = [None] * torch.distributed.get_world_size(group)
        torch.distributed.all_gather_object(every, {name: layer.plain() for name, layer in self._layers.items()}, group)
        merged: dict[str, Tally] = {}
        for layers in every:
            for name, plain in layers.items():
                merged[name] = merged.get(name, Tally()).merge(tally(plain))
        return {name: layer.values() for name, layer in merged.items()}

    def table(self, summary: Mapping[str, Mapping[str, float]] | None = None) -> str:
        """`summary`, or one that `merge` gave, as text: a line a layer."""
        rows = [["layer", *_COLUMNS]]
        for name, values in (self.summary() if summary is None else summary).items():
            rows.append([name, *(_short(values.get(key)) for key in _COLUMNS.values())])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    # Steps.

    def _due(self) -> bool:
        return self._number % self.every == 0 or not self._steps

    def _counts(self, module: nn.Module) -> bool:
        return self.evaluation or (module.training and torch.is_grad_enabled())

    def _ignores(self, module: nn.Module) -> bool:
        # A replica of DataParallel has the hooks of the model, but is another module.
        return module is not self._model or in_backward() or not self._counts(module)

    def _before(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if self._ignores(module):
            return
        if self._depth and _under_way(module, sys._getframe()) > 1:
            self._depth += 1  # the model calls itself
            return
        self._forget()  # what an interrupt left
        self._depth, self._raised = 1, sys.exc_info()[1]
        if self._due():
            self._watch.open((args, kwargs))

    def _after(self, module: nn.Module, args: tuple[object, ...], output: object) -> None:
        if self._ignores(module) or not self._depth:
            return
        self._depth -= 1
        if self._depth:
            return
        raised, self._raised = sys.exc_info()[1] is not self._raised, None
        if raised:
            self._forget()
            return
        if self._watch.is_open:
            self._watch.leave(output)
        self._watch.close()
        self._finish()

    def _forget(self) -> None:
        self._watch.close()
        self._pending.clear()
        self._step.clear()

    def _remove(self) -> None:
        self._closed = True
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._watch.close()

    def _fold(self) -> None:
        # Read what was measured: the only time that anything waits for a device.
        pending, self._pending = self._pending, []
        for name, found in _read(pending):
            self._step[name] = self._step.get(name, Tally()).merge(found)

    def _finish(self) -> None:
        # The step is over.
        self._fold()
        number, self._number = self._number, self._number + 1
        self._steps += 1
        step, self._step = self._step, {}
        if not step:
            return
        for name, found in step.items():
            self._layers[name] = self._layers.get(name, Tally()).merge(found)
        self.last_step = number
        self.last = {f"{name}/{key}": value for name, found in step.items() for key, value in found.values().items()}
        for sink in self._sinks:
            try:
                sink(number, dict(self.last))
            except Exception as error:
                what = getattr(sink, "__qualname__", type(sink).__name__)
                self._warn(what, "sink", f"the sink {what} raised {type(error).__name__}: {error}; training goes on")
        for name, found in step.items():
            self._judge(name, found, number)

    def _take(self, name: str, output: object, given: Tensor | None) -> None:
        reason = refusal(output)
        if reason:
            self._warn(name, "refused", f"{name} is not watched: {reason}")
            return
        assert isinstance(output, Tensor)
        if not output.numel():
            return
        if given is not None and (given.shape != output.shape or given.device != output.device or refusal(given)):
            given = None
        try:
            self._pending.append((name, output.numel(), given is not None, measure(output, given)))
            if len(self._pending) >= _MOST:
                self._fold()
        except RuntimeError as error:  # out of memory, a backend that lacks an operator: no reason to stop training
            self._warn(name, "refused", f"{name} is not watched: {error}")

    # What is said.

    def _warn(self, name: str, kind: str, message: str, category: type[Warning] = GeluMonitorWarning) -> None:
        if (name, kind) not in self._said:
            self._said.add((name, kind))
            warnings.warn(message, category, stacklevel=2)

    def _judge(self, name: str, found: Tally, number: int) -> None:
        if found.bad_outputs:
            size = found.output.size + found.bad_outputs
            first = f"{found.bad_inputs} of its inputs were, too" if found.bad_inputs else "its inputs are all finite"
            if not found.pairs:
                first = "its input is not known"
            message = f"{name}: {found.bad_outputs} of {size} outputs are nan or infinite at step {number}; {first}"
            self._warn(name, "nonfinite", message)
        spread = found.output.std
        if self.bounds is not None and not math.isnan(spread) and not self.bounds[0] <= spread <= self.bounds[1]:
            self._warn(name, "std", f"{name}: {explain(found, self.bounds, number)}", GeluStdWarning)


def explain(found: Tally, bounds: tuple[float, float], step: int) -> str:
    """One sentence on a spread outside ``bounds``: what it is, and whether the input explains it."""
    low, high = (input_std(bound) for bound in bounds)
    spread = found.output.std
    said = (
        f"gelu_output_std is {spread:.3g} at step {step}, outside {bounds[0]:g} to {bounds[1]:g} (input of mean 0 and "
        f"standard deviation {low:.2f} to {high:.2f}); "
    )
    if not found.input.size:
        return said + "its input is not known"
    if found.gap > _PLAIN:
        return said + f"its outputs are up to {found.gap:.2g} away from x·Φ(x) of its inputs: this is no plain GELU"
    mean, std = found.input.mean, found.input.std
    usual = gaussian(mean, std)[1]
    said += f"the input has mean {mean:.2g} and standard deviation {std:.3g}, "
    if abs(spread - usual) <= _FITS * usual:
        kind = "wide" if std > high else "narrow" if std < low else "off zero"
        said += f"which gives {usual:.3g} where it is Gaussian: the input is {kind}"
    else:
        said += f"and is far from Gaussian, which would give {usual:.3g}"
    return said + ", the activation itself is as it should be"


def _chooser(
    model: nn.Module, modules: Iterable[str] | Callable[[str, nn.Module], bool]
) -> Callable[[str, nn.Module], bool]:
    if callable(modules):
        return modules
    if isinstance(modules, str):
        modules = (modules,)
    chosen = frozenset(modules)
    known = [name for name, _ in names(model)]
    for name in sorted(chosen.difference(known)):
        near = difflib.get_close_matches(name, known, 1)
        raise ValueError(f"the model has no module {name!r}{f'; did you mean {near[0]!r}?' if near else ''}")
    return lambda name, module: name in chosen


def _read(pending: list[tuple[str, int, bool, Tensor]]) -> list[tuple[str, Tally]]:
    # All numbers of a device come in one transfer.
    rows: list[list[list[float]]] = [[] for _ in pending]
    for device in {tensor.device for *_, tensor in pending}:
        here = [i for i, (*_, tensor) in enumerate(pending) if tensor.device == device]
        numbers = torch.cat([pending[i][3] for i in here]).tolist()
        for i in here:
            count = len(pending[i][3])
            rows[i], numbers = numbers[:count], numbers[count:]
    return [(name, read(size, paired, rows[i])) for i, (name, size, paired, _) in enumerate(pending)]


def _under_way(module: nn.Module, frame: FrameType | None) -> int:
    # How many forwards of a module are on the stack.
    called = nn.Module._call_impl.__code__
    count = 0
    while frame is not None:
        count += frame.f_code is called and frame.f_locals.get("self") is module
        frame = frame.f_back
    return count


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
