"""What a model computes while it runs: every operation as a node, with the module and the functions that it is in.

Operations are seen where they are dispatched (`TorchDispatchMode`), below everything that is written in Python, and
calls of modules by global hooks: hooks on the modules themselves would switch fast paths off.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import count, islice
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils.weak import WeakTensorKeyDictionary

from gelu_lint.numerics.flavours import QUICK_SLOPE, SQRT_2_OVER_PI, SQRT_HALF, TANH_CUBIC
from gelu_lint.runtime.eager import EagerMode, eager
from gelu_lint.runtime.operations import OPERATIONS, bare

_TORCH = os.path.dirname(torch.__file__) + os.sep
_CALLS = {nn.Module._call_impl.__code__, nn.Module.__call__.__code__}
_HERE = __file__
_MOST = 100  # items that are asked of a generator

#: Operations whose result is their argument, as far as values go.
_SAME = frozenset(("clone", "alias", "detach", "lift_fresh", "contiguous", "lift"))
#: Operations that show the same elements in another order: what they give is compared with nothing else.
_VIEWS = frozenset(
    (
        *("view", "reshape", "_reshape_alias", "_unsafe_view", "unsqueeze", "squeeze", "t", "transpose", "permute"),
        *("expand", "select", "slice", "narrow", "flatten"),
    )
)
_FILLED = frozenset(
    (
        "full",
        "full_like",
        "ones",
        "ones_like",
        "zeros",
        "zeros_like",
        "scalar_tensor",
        "new_full",
        "new_ones",
        "new_zeros",
    )
)
#: Operations on elements that have no formula, but are activations.
_OTHERS = frozenset(("special_erf", "softshrink", "hardshrink", "selu", "relu6", "logit", "atan", "sin", "cos"))
#: Numbers of GELUs, which half precision cuts short.
_CONSTANTS = (SQRT_2_OVER_PI, 2 * SQRT_2_OVER_PI, TANH_CUBIC, SQRT_HALF, math.sqrt(2), QUICK_SLOPE)
ELEMENTWISE = frozenset(OPERATIONS) - _SAME - _VIEWS | _OTHERS


class Call(NamedTuple):
    """A function that is being run: which call of which code, in which module (as imports name it)."""

    number: int
    code: CodeType
    names: dict[str, Any]

    @property
    def name(self) -> str:
        """The bare name of the function; of a lambda that of the variable of its module that holds it."""
        name = self.code.co_name
        if name == "<lambda>":
            held = (key for key, value in self.names.items() if getattr(value, "__code__", None) is self.code)
            name = next(held, name)
        return name

    @property
    def full_name(self) -> str:
        """The name with the module that it is written in, and with the class from Python 3.11 on."""
        name = getattr(self.code, "co_qualname", self.name)
        return f"{self.names.get('__name__', '')}.{self.name if '<lambda>' in name else name}"

    @property
    def function(self) -> Any:
        """The function itself, None where it is not what its module has under its name."""
        found = self.names.get(self.name)
        return found if getattr(found, "__code__", None) is self.code else None


Stack = list[tuple[FrameType, Call]]


class Place:
    """One call of a module: its dotted path and what called it; the functions that run in it; what it gave, once it is
    over."""

    __slots__ = ("module", "out", "outer", "path", "stack")

    def __init__(self, module: nn.Module, path: str, outer: Place | None) -> None:
        self.module, self.path, self.outer = module, path, outer
        self.out: Node | None = None
        self.stack: Stack = []

    def chain(self) -> Iterator[Place]:
        """This call and those that it is in, innermost first."""
        place: Place | None = self
        while place is not None:
            yield place
            place = place.outer


class Node:
    """One tensor. ``op`` is None where it is no function of one other tensor's elements; else ``base`` is what it is
    a function of, over all steps, and ``args`` and ``kwargs`` are nodes and numbers. A product of different tensors
    has its ``factors``, and ``part`` is the product of those that are functions of one tensor."""

    __slots__ = ("args", "base", "calls", "factors", "kwargs", "number", "op", "part", "place", "users")

    def __init__(self, number: int, place: Place | None, calls: tuple[Call, ...]) -> None:
        self.number, self.place, self.calls = number, place, calls
        self.op: Any = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.base: Node = self
        self.factors: tuple[Any, ...] = ()
        self.part: Node | None = None
        self.users: list[tuple[Node | None, Place | None, tuple[Call, ...]]] = []

    @property
    def name(self) -> str:
        """The name of the operation, "" for none."""
        return bare(self.op) if self.op is not None else ""


class Fused(NamedTuple):
    """One operation that has an activation inside: which, its arguments less the tensors, what these are, and where."""

    name: str
    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: torch.device
    dtype: torch.dtype
    place: Place | None


class Record:
    """All that one run of a model computed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.fused: list[Fused] = []
        self.places: list[Place] = []
        self.elsewhere: set[int] = set()  # modules, by identity, that were called in other threads


class _Recorder(EagerMode):
    def __init__(self, record: Record, fused: Sequence[str], written: Callable[[torch.Tensor], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self.place: Place | None = None
        self._fused, self._written = frozenset(fused), written
        self._known: Any = WeakTensorKeyDictionary()  # a node, or the number that a tensor holds everywhere
        self._views: dict[tuple[Any, ...], Node] = {}
        self._outside: Stack = []
        self._numbers = count()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = bare(func)
        changed = _changed(func, args, kwargs) if func._schema.is_mutable else []
        for tensor in changed:
            self._written(tensor)
        if name == "gelu" and not isinstance(self._look(args[0]), Node):
            self.follow(args[0])  # a parameter with one element
        if name in self._fused:
            first, *_ = _tensors(args)
            plain = tuple(None if isinstance(value, torch.Tensor) else value for value in args)
            self.record.fused.append(Fused(name, func, plain, kwargs, first.device, first.dtype, self.place))
        outs = _outs(func)  # what it overwrites is no input
        asked = {key: value for key, value in kwargs.items() if key not in outs}
        given = {id(t): self._look(t) for t in _tensors((*args, *asked.values()))}
        result = func(*args, **kwargs)
        results = [*_tensors((result,)), *(tensor for tensor in changed if tensor is not result)]
        if results:
            self._bind(func, name, args, asked, given, results)
        return result

    def _bind(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: dict[int, Any],
        results: list[torch.Tensor],
    ) -> None:
        out, values = results[0], list(given.values())
        nodes = [value for value in values if isinstance(value, Node)]
        known: Any = None
        if name in _FILLED:
            known = _number(out)
        elif not nodes:
            if len(results) == 1 and not _random(func) and name != "empty":
                even = name in _VIEWS or (values and name in ELEMENTWISE)
                known = _number(out) if out.numel() == 1 or even else None
        elif len(results) == 1 and (name in _SAME or (name == "_to_copy" and out.dtype.is_floating_point)):
            known = nodes[0]
        elif name == "copy" and len(args) > 1 and isinstance(args[1], torch.Tensor) and args[0].shape == args[1].shape:
            known = given[id(args[1])]
        if known is not None:
            self._known[out] = known
            return
        calls = self._stack()
        if len(results) == 1 and name in _VIEWS and len(nodes) == 1:
            key = (nodes[0].number, name, repr(args[1:]))
            known = self._views.get(key) or self._new(calls)
            self._views[key] = known
            self._used(nodes, None, calls)
            self._known[out] = known
            return
        node = self._new(calls)
        bases = {id(n.base): n.base for n in nodes}
        if len(bases) == 1 and name in ELEMENTWISE and len(results) == 1 and not _random(func):
            node.op, node.base = _plain(func), next(iter(bases.values()))
            node.args = tuple(_operand(value, given) for value in args)
            node.kwargs = {key: _operand(value, given) for key, value in kwargs.items()}
            held = (*node.args, *node.kwargs.values())
            if node.op is None or any(isinstance(value, torch.Tensor) for value in held):
                node.op, node.base, node.args, node.kwargs = None, node, (), {}
        if name in ("mul", "div") and len(results) == 1:
            self._multiplied(node, name, [_operand(value, given) for value in args[:2]])
        self._used(nodes, node if node.op is not None else None, calls)
        self._known[out] = node
        for other in results[1:]:
            self._known[other] = self._new(calls)

    def _multiplied(self, node: Node, name: str, operands: list[Any]) -> None:
        """Note the factors of a product. In ``u * g * Φ(g)`` no tensor is the GELU of g, but two factors are."""
        first, second = operands
        if name == "div":
            if isinstance(second, Node) or not second:
                return
            second = 1 / second
        elif not isinstance(first, Node):
            first, second = second, first
        mine, others = _factors(first), _factors(second)
        if isinstance(second, Node):
            if node.op is not None:
                return
            node.factors = (*mine, *others)
            shared = {id(f.base): f.base for f in mine if isinstance(f, Node)}
            base = next((shared[id(f.base)] for f in others if isinstance(f, Node) and id(f.base) in shared), None)
            if base is not None:
                parts = [f for f in node.factors if isinstance(f, Node) and f.base is base]
                numbers = [n for f in node.factors if f not in parts for n in _numbers(f)]
                # Other numbers may be meant for another factor: what is a GELU without them is found as that.
                numbers.sort(key=lambda number: number != 0.5)
                node.part = reduce(self._times, (*parts[1:], *numbers), parts[0])
        elif first.factors:
            node.factors = (*mine, second)
            node.part = self._times(first.part, second) if first.part is not None else None

    def _times(self, a: Node, b: Any) -> Node:
        node = self._new(self._stack())
        node.op, node.base, node.args = torch.ops.aten.mul.Tensor, a.base, (a, b)
        self._used([value for value in (a, b) if isinstance(value, Node)], node, node.calls)
        return node

    def _used(self, nodes: list[Node], user: Node | None, calls: tuple[Call, ...]) -> None:
        for node in nodes:
            node.users.append((user, self.place, calls))

    def _new(self, calls: tuple[Call, ...]) -> Node:
        node = Node(len(self.record.nodes), self.place, calls)
        self.record.nodes.append(node)
        return node

    def _look(self, tensor: torch.Tensor) -> Any:
        """The node of a tensor, or the number that it holds: one that nothing computed is a constant or an input."""
        known = self._known.get(tensor)
        if known is None:
            known = _number(tensor) if tensor.numel() == 1 and not tensor.is_nested else None
            if known is None:
                known = self._new(())
                known.place = None
            self._known[tensor] = known
        return known

    def follow(self, tensor: torch.Tensor) -> None:
        """Take a tensor for an input, whatever it holds."""
        self._known[tensor] = self._new(())

    def node(self, value: Any) -> Node | None:
        """The node of what a module gives."""
        known = self._known.get(value) if isinstance(value, torch.Tensor) else None
        return known if isinstance(known, Node) else None

    def _stack(self) -> tuple[Call, ...]:
        """The functions between the module that runs and the operation, outermost first; torch's own left out.

        Frames are kept as long as the next operation there: their addresses, which tell calls apart, are soon used
        again.
        """
        held = self._outside if self.place is None else self.place.stack
        known = {id(frame): call for frame, call in held}
        found: Stack = []
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code not in _CALLS:
            code = frame.f_code
            if code.co_filename != _HERE and not code.co_filename.startswith(_TORCH):
                call = known.get(id(frame)) or Call(next(self._numbers), code, frame.f_globals)
                found.append((frame, call))
            elif code in _STARTS:
                break
            frame = frame.f_back
        held[:] = found
        return tuple(call for _, call in reversed(found))

    def forget(self) -> None:
        """Let go of the functions that ran outside of all modules."""
        self._outside.clear()


def _run(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    result = model(*args, **kwargs)
    if isinstance(result, Generator):  # its work is done when it is asked
        for _ in islice(result, _MOST):
            pass
        result.close()


_STARTS = {_run.__code__}


def _plain(func: Any) -> Any:
    """The operation that gives a new tensor instead of changing one; None where there is none."""
    if not func._schema.is_mutable:
        return func
    packet = getattr(torch.ops.aten, bare(func), None)
    overload = func._schema.overload_name
    if _outs(func):
        overload = overload.removesuffix("out").removesuffix("_")
        plain = getattr(packet, "default", None)
        if not overload and (plain is None or not isinstance(plain._schema.arguments[0].type, torch.TensorType)):
            overload = "Tensor"  # of add, mul and so on the default is one of numbers
    return getattr(packet, overload or "default", None) if packet is not None else None


def _outs(func: Any) -> tuple[str, ...]:
    """The names of the arguments that an operation writes its results into, ``out`` for most."""
    if not func._schema.is_mutable:
        return ()
    return tuple(argument.name for argument in func._schema.arguments if argument.is_out)


def _numbers(factor: Any) -> Iterator[float]:
    """The numbers that a factor is, or has been multiplied by last."""
    while isinstance(factor, Node) and factor.name in ("mul", "div"):
        first, second = factor.args
        if isinstance(second, Node) and (factor.name == "div" or isinstance(first, Node)):
            return
        yield from _numbers(first if isinstance(second, Node) else 1 / second if factor.name == "div" else second)
        factor = second if isinstance(second, Node) else first
    if isinstance(factor, (int, float)):
        yield factor


def _factors(value: Any) -> tuple[Any, ...]:
    return (value.factors or (value,)) if isinstance(value, Node) else (value,)


def _operand(value: Any, given: dict[int, Any]) -> Any:
    return given[id(value)] if isinstance(value, torch.Tensor) else value


def _random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags


def _number(tensor: torch.Tensor) -> float | None:
    """The first element, where it can be had; of half precision the constant that it stands for, if there is one."""
    if tensor.is_complex() or tensor.is_meta or tensor.numel() == 0:
        return None
    try:
        value = float(tensor.detach().reshape(-1)[0].item())
    except (RuntimeError, NotImplementedError):  # a quantized, sparse or fake tensor
        return None
    if tensor.dtype not in (torch.float16, torch.bfloat16):
        return value
    rounded = (constant for constant in _CONSTANTS if torch.tensor(constant, dtype=tensor.dtype).item() == abs(value))
    return math.copysign(next(rounded, abs(value)), value)


def _changed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that an operation writes into."""
    found = []
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found += _tensors((args[i] if i < len(args) else kwargs.get(argument.name),))
    return found


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += _tensors(value)
    return found


class _Paths:
    """The dotted path of each call of a module: a shared module has that of where it is called."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._below: dict[int, dict[int, str]] = {}

    def of(self, module: nn.Module, outer: Place | None) -> str:
        if module is self._model or outer is None:
            return "" if module is self._model else self._name(self._model, module) or ""
        name = self._name(outer.module, module)
        if name is None:
            name = self._name(self._model, module)
            return outer.path if name is None else name
        return f"{outer.path}.{name}" if outer.path else name

    def _name(self, above: nn.Module, module: nn.Module) -> str | None:
        if id(above) not in self._below:
            self._below[id(above)] = {id(child): name for name, child in above._modules.items() if child is not None}
        direct = self._below[id(above)].get(id(module))
        if direct is None and id(module) not in self._below[id(above)]:
            for name, part in above.named_modules():
                self._below[id(above)].setdefault(id(part), name)
            direct = self._below[id(above)].get(id(module))
        return direct


@contextmanager
def _calls_seen(recorder: _Recorder, model: nn.Module) -> Iterator[None]:
    paths, thread = _Paths(model), threading.get_ident()

    def enter(module: nn.Module, args: Any) -> None:
        if threading.get_ident() == thread:
            recorder.place = Place(module, paths.of(module, recorder.place), recorder.place)
            recorder.record.places.append(recorder.place)
        else:
            recorder.record.elsewhere.add(id(module))

    def leave(module: nn.Module, args: Any, result: Any) -> None:
        if threading.get_ident() != thread or recorder.place is None:
            return
        for place in recorder.place.chain():
            if place.module is module:
                place.out = recorder.node(result)
                place.stack.clear()
                recorder.place = place.outer
                return

    hooks = register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def record(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    fused: Sequence[str] = (),
    written: Callable[[torch.Tensor], None] = lambda tensor: None,
) -> Record:
    """Run a model once and write down what it computes; ``written`` hears of every tensor before it is written into.

    What the model raises goes through. Gradient mode, training flags and random state are the caller's.
    """
    found = Record()
    recorder = _Recorder(found, fused, written)
    for tensor in _tensors((*args, *kwargs.values())):
        recorder.follow(tensor)
    try:
        with _calls_seen(recorder, model), eager(), recorder:
            _run(model, args, kwargs)
    finally:
        recorder.forget()
    return found
