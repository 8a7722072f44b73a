"""What the GELUs of a model give while it trains: spread, mean, dead and saturated shares, a layer at a time."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from gelu_lint.config import did_you_mean
from gelu_lint.runtime.blame import users_line
from gelu_lint.runtime.eager import Eager, in_compiled
from gelu_lint.runtime.measure import measure, read_all, refusal
from gelu_lint.runtime.moments import Tally, tally
from gelu_lint.runtime.spread import BOUNDS, accounted_for, count_bad, explain
from gelu_lint.runtime.summary import table
from gelu_lint.runtime.watch import Hook, Watch, in_backward, names, under_way, unwrapped

#: Called with the number of a step and its values by "<layer>/<what>".
Sink = Callable[[int, Mapping[str, float]], object]

#: Names and classes of modules, or a predicate (name, module) → bool.
Modules = Iterable[str | type[nn.Module]] | type[nn.Module] | Callable[[str, nn.Module], bool]

EVERY = 50
_MOST = 4096  # tensors of a step whose numbers stay on the device


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
    modules  what to watch besides modules that are GELUs by their class and calls of F.gelu: names or classes of
             hand-written activation modules, or a predicate (name, module) → bool
    sinks    called with (step, values) after each watched step; one that raises is warned of once, and training goes on
    bounds   of gelu_output_std; outside them a GeluStdWarning speaks once a layer and side, and once more where the
             input did account for it and does no longer. None: never
    start    the number of the first step

    A layer is an activation module, or a place in a module's forward that calls F.gelu; it has the name of the module,
    and of further places (``#2`` …) in the order in which they were first seen. Its values, as sinks get them:

    ======================= =========================================================================================
    gelu_output_std         population standard deviation of all finite outputs of the step
    gelu_output_mean        their mean
    gelu_input_std, …_mean  the same of the inputs
    gelu_dead_fraction      share of outputs y = gelu(x) with y/x ≤ 0.001: less than 1 % of the gradient is left
    gelu_saturated_fraction share with y/x ≥ 0.999: slopes within 1 % of 1, a GELU is the identity here
    gelu_nonfinite          how many outputs are nan or infinite
    ======================= =========================================================================================

    These shares begin at |x| = 3.09 for erf, 3.05 for tanh and 4.06 for quick GELU. In bfloat16 an output rounds to its
    input from x = 2.78 on, and counts as saturated. Where the input is not known (overwritten in place, of another
    shape) only the output is told.

    Code that torch.compile made shows no activations: from torch 2.6 on watched steps run eagerly, with other rounding
    and dropout masks. Of a model that was compiled after it was given to the monitor, or by ``model.compile()``, the
    steps after them are watched instead, and ``fullgraph=True`` does not take the hooks: compile first.
    Raises TypeError where ``model`` is no module, ValueError or TypeError for options that make no sense. Needs torch
    2.1: older ones skip hooks when a forward raises, or trace them.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        every: int = EVERY,
        modules: Modules = (),
        sinks: Iterable[Sink] = (),
        bounds: tuple[float, float] | None = BOUNDS,
        manual: bool = False,
        evaluation: bool = False,
        start: int = 0,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"GeluMonitor watches a torch.nn.Module, not a {type(model).__name__}")
        sinks = _checked(every, sinks, bounds)
        self.bounds, self.every, self.evaluation, self.manual = bounds, every, evaluation, manual
        self.last: dict[str, float] = {}
        self.last_step: int | None = None
        self._model, self._number, self._sinks = model, start, sinks
        self._watch = Watch(model, self._take, _chooser(model, modules), self._counts)
        self._layers: dict[str, Tally] = {}
        self._step: dict[str, Tally] = {}
        self._pending: list[tuple[str, int, bool, Tensor]] = []
        self._said: set[tuple[str, str]] = set()
        self._steps = 0
        self._forwards: list[bool] = []  # those under way, and whether they are steps
        self._raised: BaseException | None = None
        self._missed = self._empty = False
        self._eager = Eager()
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
        elif not self._layers and not any(kind in ("refused", "nothing") for _, kind in self._said):
            hint = "no GELU was seen in {}; name the modules of hand-written ones with modules="
            hint = "all that the GELUs of {} gave was empty, without any value" if self._empty else hint
            self._warn("", "nothing", hint.format(model))

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
        collective: call it once on every process, whatever number of steps each has taken. One that calls it alone
        waits until the timeout of the group, which raises. Nothing is sent otherwise, and sinks get what their own
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
        return table(self.summary() if summary is None else summary)

    # Steps.

    def _due(self) -> bool:
        return self._number % self.every == 0 or not self._steps or self._missed

    def _counts(self, module: nn.Module) -> bool:
        if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
            return False
        return self.evaluation or (module.training and torch.is_grad_enabled())

    def _before(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if module is not self._model:  # a replica of DataParallel, which has the hooks of the model
            return
        if self._forwards:
            outer = max(0, under_way(module) - 1)
            if any(self._forwards[outer:]):
                self._forget()  # an interrupt left it
            del self._forwards[outer:]
        counts = not any(self._forwards) and not in_backward() and self._counts(module)
        self._forwards.append(counts)
        if not counts:
            return
        self._raised = sys.exc_info()[1]
        if not self._due():
            return
        if self._eager or not in_compiled():
            self._watch.open((args, kwargs))
            self._missed = False
        elif self._missed:  # the step before was, too, and could not ask that this one run eagerly
            self._missed = False
            self._warn("", "nothing", "code that torch.compile made shows no activations before torch 2.6")
        else:
            self._missed = True

    def _after(self, module: nn.Module, args: tuple[object, ...], output: object) -> None:
        if module is not self._model or not self._forwards or not self._forwards.pop():
            return
        raised, self._raised = sys.exc_info()[1] is not self._raised, None
        if self._watch.is_open and not raised:
            self._watch.leave(output)
        self._watch.close()
        self._settle()
        if raised:
            self._forget()
        else:
            self._finish()

    def _settle(self) -> None:
        # Compiled code asks for the stance when it is entered, so that a step that was missed is made good by the next.
        self._eager.release()
        if self._missed and not self._closed:
            self._eager.hold()

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
        self._settle()

    def _fold(self) -> None:
        # Read what was measured: the only time that anything waits for a device.
        pending, self._pending = self._pending, []
        for name, found in read_all(pending):
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
            self._empty = True
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
            warnings.warn(message, category, stacklevel=users_line())

    def _judge(self, name: str, found: Tally, number: int) -> None:
        if found.bad_outputs:
            self._warn(name, "nonfinite", f"{name}: {count_bad(found, number)}")
        spread = found.output.std
        if self.bounds is None or math.isnan(spread) or self.bounds[0] <= spread <= self.bounds[1]:
            return
        side = "below" if spread < self.bounds[0] else "above"
        odd = f"{side}, not by its input"
        if (name, odd) in self._said:  # nothing graver can come
            return
        kind = side if accounted_for(found) else odd
        self._warn(name, kind, f"{name}: {explain(found, self.bounds, number)}", GeluStdWarning)


def _checked(every: int, sinks: Iterable[Sink], bounds: tuple[float, float] | None) -> tuple[Sink, ...]:
    if not isinstance(every, int) or every < 1:
        raise ValueError(f"every is {every!r}; 1 watches all steps, 50 one of fifty")
    sinks = tuple(sinks) if isinstance(sinks, Iterable) else sinks
    if not isinstance(sinks, tuple) or not all(map(callable, sinks)):
        raise TypeError(f"sinks are a list of callables (step, values), such as [print], not {sinks!r}")
    try:
        right = bounds is None or (len(bounds) == 2 and 0 <= bounds[0] < bounds[1])
    except TypeError:
        right = False
    if not right:
        raise ValueError(f"bounds are {bounds}; they are the least and greatest gelu_output_std, as in {BOUNDS}")
    return sinks


def _chooser(model: nn.Module, modules: Modules) -> Callable[[str, nn.Module], bool]:
    if isinstance(modules, (str, type)):
        modules = (modules,)
    elif callable(modules) and not isinstance(modules, nn.Module):
        return modules
    chosen = tuple(modules) if isinstance(modules, Iterable) and not isinstance(modules, nn.Module) else (modules,)
    for each in chosen:
        if not isinstance(each, (str, type)):
            raise TypeError(
                f"modules are names or classes of modules, or a predicate (name, module), not {type(each).__name__}"
            )
    chosen_names = frozenset(each for each in chosen if isinstance(each, str))
    classes = tuple(each for each in chosen if isinstance(each, type))
    known = dict(names(model))
    for name in sorted(chosen_names.difference(known)):
        raise ValueError(f"the model has no module {name!r}{did_you_mean(name, known)}")
    for each in classes:
        if not any(isinstance(module, each) for module in known.values()):
            raise ValueError(f"the model has no module of the class {each.__name__}")
    return lambda name, module: name in chosen_names or isinstance(module, classes)
