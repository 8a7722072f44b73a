"""Whether a gradient gets through all layers of a model: its size at each of them, in one forward and backward run."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gelu_lint.reports.text import aligned
from gelu_lint.runtime.faults import in_one_line
from gelu_lint.runtime.untouched import Kept, untouched

#: How many times as large the gradient may be at one layer as at another of its kind. Measured at initialisation: BERT,
#: GPT-2 and nn.TransformerEncoder with 12 layers 1.3 to 9.3, with 48 up to 12; plain nn.Linear layers with GELU between
#: them 10 for 3, 6·10⁵ for 12; with sigmoid some 5·10⁷ for 10, 5·10⁴¹ for 50.
BOUND = 1000.0


class NotTrainable(ValueError):
    """A model that no gradient can be sent back through, by its kind: frozen, scripted, or with integers as outputs."""


class Layer(NamedTuple):
    """A layer of a model that has parameters of its own.

    path      its dotted path, "" for the model itself
    kind      its class
    signal    Frobenius norm of the gradient with respect to what it gives, over all calls
    weights   the same with respect to its parameters; None where all are frozen, or unused in what it gives
    group     what it can be compared with: path without numbers, class, shape of what it gives
    """

    path: str
    kind: str
    signal: float
    weights: float | None
    group: tuple[str, str, tuple[int, ...]]


class Depth(NamedTuple):
    """The layers of a model in the order of their first calls, and what is wrong ("" where nothing is)."""

    layers: tuple[Layer, ...]
    why: str

    def __repr__(self) -> str:
        return f"<Depth: {self.why or f'a gradient gets through {len(self.layers)} layers, nothing is wrong'}>"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.why

    def table(self) -> str:
        """The layers as text, with the norms of the gradients at each."""
        weights = ("frozen or unused" if layer.weights is None else f"{layer.weights:.3g}" for layer in self.layers)
        named = ((layer.path or "(model)", layer.kind, f"{layer.signal:.3g}") for layer in self.layers)
        head = ("layer", "class", "gradient there", "of its weights")
        rows = ((*row, norm) for row, norm in zip(named, weights, strict=True))
        return "\n".join(aligned([head, *rows]))

    def message(self) -> str:
        """What is wrong, then the table."""
        return f"{self.why or 'nothing is wrong'}\n\n{self.table()}"


def depth_flow(model: nn.Module, *args: Any, **kwargs: Any) -> Depth:
    """Send a gradient back through a model that was called with ``args`` and ``kwargs``, and measure it at each layer.

    The model runs in training mode, with the random generators of torch seeded; in eval mode where it cannot be run in
    the other (a BatchNorm of one sample). What is sent back is a normal random number for each number of every
    floating-point tensor that it gives (in tuples, lists, mappings, dataclasses and Hugging Face outputs): unlike a sum
    or a sum of squares, that is not constant behind a LayerNorm. Wrong is a gradient that is not finite, one that is 0,
    and between layers of one kind a ratio of more than BOUND. What gets no gradient because parameters behind it start
    at 0 (LoRA, adaLN-Zero, ReZero) is sound if it gets one when these are not.

    Training flags, buffers, ``.grad`` of the parameters and the state of the random generators are left as they were.
    Raises NotTrainable, a ValueError, where no gradient can be sent, and what the model itself raises in both modes.
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise NotTrainable("no parameter of the model requires a gradient")
    if any(isinstance(part, torch.jit.ScriptModule) for part in model.modules()):
        raise NotTrainable("the model is scripted, and its layers cannot be watched: give the one that was scripted")
    if any(parameter.is_meta for parameter in model.parameters()):
        raise NotTrainable("the model is on the meta device, and its parameters have no values")
    signals: dict[nn.Module, Signal] = {}
    handles = [
        part.register_forward_hook(_watch(signals))
        for part in model.modules()
        if any(True for _ in part.parameters(recurse=False))
    ]
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            untouched(model) as kept,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # of the model's own code
            fault = _sent(model, args, kwargs, kept, signals)
            layers = tuple(_layers(model, signals))
            if not fault:
                still = _still(layers)
                if still and _stirred(model, kept):
                    signals.clear()
                    fault = _sent(model, args, kwargs, kept, signals, restore=False)
                    still &= _still(tuple(_layers(model, signals)))
                fault = fault or _fault(layers, still)
    finally:
        for handle in handles:
            handle.remove()
    return Depth(layers, fault)


def _sent(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kept: Kept,
    signals: dict[nn.Module, Signal],
    restore: bool = True,
) -> str:
    """Run the model forward and backward, and tell what is in the way of any gradient, "" for nothing."""
    for parameter in model.parameters():
        parameter.grad = None
    torch.manual_seed(0)
    model.train()
    try:
        given = model(*args, **kwargs)
    except Exception as fault:
        signals.clear()
        if restore:
            kept.restore()
        model.eval()
        try:
            given = model(*args, **kwargs)
        except Exception:
            raise fault from None
    outputs = list(_floating(given))
    if not outputs:
        if not any(True for _ in _floating(given, cut=True)):
            raise NotTrainable("the model gives no floating-point tensor that a gradient could be sent back from")
        return (
            "no gradient gets through: what the model gives is cut off from its parameters (detach, no_grad, or "
            "checkpoint(use_reentrant=True) on inputs that need no gradient)"
        )
    try:
        torch.autograd.backward(outputs, [torch.randn_like(y) for y in outputs])
    except RuntimeError as error:
        return f"no gradient gets through: backward raises {in_one_line(error)}"
    return ""


def _stirred(model: nn.Module, kept: Kept) -> bool:
    """Give parameters that are 0 throughout small random values, and tell whether there were any."""
    zeros = [p for p in model.parameters() if p.is_floating_point() and not p.any()]
    for parameter in zeros:
        kept.before_write(parameter)
        parameter.data.copy_(torch.randn(parameter.shape) * 0.02)
    return bool(zeros)


class Signal:
    """The gradient that arrives at what a layer gives."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.square = 0.0

    def add(self, gradient: Tensor | None) -> None:
        """Count the gradient of one call; torch hands None on from operations without a derivative."""
        if gradient is None:
            return
        self.square += float(gradient.detach().double().square().sum())


def _watch(signals: dict[nn.Module, Signal]) -> Callable[[nn.Module, Any, Any], None]:
    def watch(part: nn.Module, _: Any, output: Any) -> None:
        signal = signals.setdefault(part, Signal())
        for y in _floating(output):
            signal.shape = tuple(y.shape)
            y.register_hook(signal.add)  # type: ignore[no-untyped-call]

    return watch


def _floating(output: Any, cut: bool = False) -> Iterator[Tensor]:
    """The tensors in what a model gives that a gradient can be sent back from; ``cut``: could be, if it were there."""
    if isinstance(output, Tensor):
        if (output.requires_grad or cut) and output.is_floating_point() and output.numel():
            yield output
    elif isinstance(output, (list, tuple, Mapping)):
        for part in output.values() if isinstance(output, Mapping) else output:
            yield from _floating(part, cut)
    elif dataclasses.is_dataclass(output):
        for field in dataclasses.fields(output):
            yield from _floating(getattr(output, field.name, None), cut)


def _layers(model: nn.Module, signals: Mapping[nn.Module, Signal]) -> Iterator[Layer]:
    paths = {part: path for path, part in model.named_modules()}
    for part, signal in signals.items():
        path, kind = paths[part], type(part).__name__
        own = [p for p in part.parameters(recurse=False) if p.requires_grad]
        given = [p.grad for p in own if p.grad is not None]
        # Nothing for the weights, though a gradient arrives: a parameter for a case that did not occur
        weights = _norm(given) if given or (own and not signal.square) else None
        yield Layer(path, kind, math.sqrt(signal.square), weights, (re.sub(r"\d+", "*", path), kind, signal.shape))


def _norm(tensors: list[Tensor]) -> float:
    dense = (t.to_dense() if t.layout != torch.strided else t for t in tensors)
    return math.sqrt(sum(float(t.double().square().sum()) for t in dense))


def _arrives(layer: Layer) -> bool:
    return layer.signal > 0


def _still(layers: tuple[Layer, ...]) -> set[str]:
    """The paths of the layers the weights of which get no gradient. That at what a layer gives may not be seen, where
    the next one works in place."""
    return {layer.path for layer in layers if layer.weights == 0}


def _fault(layers: tuple[Layer, ...], still: set[str]) -> str:
    """What is wrong, in one sentence; ``still``: paths of layers that get no gradient."""
    for layer in reversed(layers):  # the way the gradient goes
        norms = (layer.signal, 0.0 if layer.weights is None else layer.weights)
        if not all(map(math.isfinite, norms)):
            return f"the gradient is not finite at {layer.path or 'the model'} ({layer.kind})"
    for layer in reversed(layers):
        if layer.path in still:
            what = "" if not layer.signal else "the weights of "
            return (
                f"the gradient is 0 at {what}{layer.path or 'the model'} ({layer.kind}): cut off (detach, no_grad, "
                "argmax), unused in what the model gives, or less than its dtype can hold; where that is meant, "
                "requires_grad_(False) says so"
            )
    return max(_ratios(layers), default=(0.0, ""))[1]


def _ratios(layers: tuple[Layer, ...]) -> Iterator[tuple[float, str]]:
    """Of each kind of layer whose gradients differ by more than BOUND: the ratio, and that in words."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[Layer]] = {}
    for layer in filter(_arrives, layers):
        groups.setdefault(layer.group, []).append(layer)
    for group in groups.values():
        numbered = list(enumerate(group))
        low, least = min(numbered, key=lambda pair: pair[1].signal)
        high, most = max(numbered, key=lambda pair: pair[1].signal)
        ratio = most.signal / least.signal
        if ratio > BOUND:
            verb = "vanishes" if low < high else "explodes"
            words = (
                f"the gradient {verb} on its way to the input: {most.signal:.3g} at {most.path}, {least.signal:.3g} at "
                f"{least.path}, of {len(group)} such layers ({most.kind}); "
                f"a ratio of {ratio:.2g}, up to {BOUND:g} passes"
            )
            yield ratio, words
