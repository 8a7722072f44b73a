"""Sees every GELU that a model computes while it is open: activation modules by hooks, F.gelu by a function mode.

Hooks sit on the modules of the model only while a watch is open, so that other steps run as if nobody looked. Each
thread has its own stack of the modules whose forward is under way; the innermost of them names a call of F.gelu.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn, overrides
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from gelu_lint.claims import backward, says_gelu, says_glu
from gelu_lint.runtime.eager import COMPILER, Eager

if not hasattr(torch, "compiler") or not hasattr(torch.compiler, "disable"):
    raise ImportError(f"monitoring needs torch 2.1 or newer, this is {torch.__version__}")

#: What wrappers put between the names of a model's own modules: torch.compile, FSDP, activation checkpointing.
_WRAPPERS = frozenset(("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
_CALLED = nn.Module.__call__.__code__.co_filename
#: Frames between a hook of ours and what called it.
_OURS = (__file__, COMPILER)
#: Built-in GELUs that a function mode sees; the last of them overwrites its input.
_FUNCTIONS = (F.gelu, torch.ops.aten.gelu, torch.ops.aten.gelu.default, torch._C._nn.gelu_)  # type: ignore[attr-defined]

#: What a watch hands on: the name of the layer, its output, and its input, None where that is not known.
Take = Callable[[str, object, Tensor | None], None]


class Hook:
    """A hook that a copy of the model loses: copied or pickled it does nothing, and needs no package to load."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *arguments: Any) -> None:
        self.function(*arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return getattr, (nullcontext(), "__exit__")  # takes any arguments and does nothing


def in_backward() -> bool:
    """Whether autograd is at work in this thread: forwards are then those of activation checkpointing."""
    task = getattr(torch._C, "_current_graph_task_id", None)
    return task is not None and task() != -1


def under_way(module: nn.Module) -> int:
    """How many forwards of a module are under way in this thread."""
    frame: FrameType | None = sys._getframe()
    called = nn.Module._call_impl.__code__
    count = 0
    while frame is not None:
        count += frame.f_code is called and frame.f_locals.get("self") is module
        frame = frame.f_back
    return count


def is_gelu(module: nn.Module) -> bool:
    """Whether a module is a GELU by its class (nn.GELU, NewGELUActivation …); one with parameters is more than that."""
    if next(module.parameters(), None) is not None:
        return False
    name = type(module).__name__
    return isinstance(module, nn.GELU) or (says_gelu(name) and not says_glu(name) and not backward(name))


def unwrapped(model: nn.Module) -> tuple[nn.Module, str]:
    """The model inside DistributedDataParallel, torch.compile and the like, and the prefix of its names there."""
    prefix = ""
    while True:
        children = list(model.named_children())
        if len(children) != 1 or children[0][0] not in (*_WRAPPERS, "module"):
            return model, prefix
        name, model = children[0]
        prefix += f"{name}."


def names(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """All modules by all of their names, free of wrappers; the model itself is ""."""
    _, prefix = unwrapped(model)
    for name, module in model.named_modules(remove_duplicate=False):
        inside = f"{name}.".removeprefix(prefix)
        yield ".".join(part for part in inside.split(".") if part and part not in _WRAPPERS), module


class _Call:
    # A forward under way.
    __slots__ = ("calls", "input", "is_gelu", "module", "path", "skipped", "version")

    def __init__(self, module: int, path: str, is_gelu: bool, skipped: bool) -> None:
        self.module, self.path, self.is_gelu, self.skipped = module, path, is_gelu, skipped
        self.calls: Counter[int] = Counter()
        self.input: Tensor | None = None
        self.version = 0


class _Mode(TorchFunctionMode):
    # Passes everything on, and shows the watch what was a GELU.

    def __init__(self, seen: Callable[[object, Tensor | None], None]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in _FUNCTIONS:
            given = None if func is _FUNCTIONS[-1] else args[0] if args else (kwargs or {}).get("input")
            self.seen(output, given if isinstance(given, Tensor) else None)
        return output


class Watch:
    """Opened for some forwards of a model, then closed; hands what its GELUs give to ``take``.

    chosen  names and modules that count as GELUs whatever their class says: a predicate (name, module) → bool
    counts  whether a forward of this outermost module is one to look at
    """

    def __init__(
        self,
        model: nn.Module,
        take: Take,
        chosen: Callable[[str, nn.Module], bool],
        counts: Callable[[nn.Module], bool],
    ) -> None:
        self._model, self._take, self._chosen, self._counts = model, take, chosen, counts
        self._threads = threading.local()
        self._sites: dict[str, list[tuple[object, ...]]] = {}
        self._handles: list[RemovableHandle] = []
        self._open = False
        self._eager = Eager()
        self._paths: dict[int, list[str]] = {}

    @property
    def is_open(self) -> bool:
        """Whether it looks."""
        return self._open

    def open(self, inside: tuple[tuple[object, ...], dict[str, object]] | None = None) -> None:
        """Look from now on. ``inside``: the arguments of the forward of the model that a hook of it asks this in."""
        self._paths = {}
        modules: dict[int, nn.Module] = {}
        gelus: set[int] = set()
        for name, module in names(self._model):
            self._paths.setdefault(id(module), []).append(name)
            modules[id(module)] = module
            if self._chosen(name, module) or is_gelu(module):
                gelus.add(id(module))
        for key, module in modules.items():
            if module is self._model and inside is not None:
                continue
            enter, leave = Hook(self._enter(module, key in gelus)), Hook(self._leave(key))
            self._handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            self._handles.append(module.register_forward_hook(leave, prepend=True, always_call=True))
        self._open = True
        if inside is not None:
            self._enter(self._model, id(self._model) in gelus)(self._model, *inside)
        self._eager.hold()

    def leave(self, output: object) -> None:
        """The forward that the watch was opened in is over; ``output`` is None where it raised."""
        self._leave(id(self._model))(self._model, (), output)

    def close(self) -> None:
        """Look no longer, and leave nothing behind."""
        self._open = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._unwind(0)
        self._eager.release()

    def _stack(self) -> list[_Call]:
        if not hasattr(self._threads, "stack"):
            self._threads.stack, self._threads.mode = [], None
        stack: list[_Call] = self._threads.stack
        return stack

    def _unwind(self, depth: int) -> None:
        # Forget the calls of this thread from `depth` on: of all, where the last one is over.
        stack = self._stack()
        del stack[depth:]
        if not stack and self._threads.mode is not None:
            _pop(self._threads.mode)
            self._threads.mode = None

    def _enter(self, original: nn.Module, is_gelu: bool) -> Callable[..., None]:
        key = id(original)

        def enter(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
            stack = self._stack()
            if stack:
                parent = stack[-1]
                parent.calls[key] += 1
                call = _Call(key, self._path(key, parent), is_gelu, parent.skipped or parent.is_gelu)
            else:
                skipped = in_backward() or not self._counts(module)
                call = _Call(key, self._paths[key][0], is_gelu, skipped)
                if not skipped:
                    self._threads.mode = _Mode(self._function)
                    self._threads.mode.__enter__()
            if is_gelu and not call.skipped:
                call.input = next((value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)), None)
                call.version = _version(call.input)
            stack.append(call)

        return enter

    def _leave(self, key: int) -> Callable[..., None]:
        def leave(module: nn.Module, args: tuple[object, ...], output: object) -> None:
            stack = self._stack()
            depth = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].module == key), None)
            if depth is None:
                return
            call = stack[depth]
            self._unwind(depth)
            if call.is_gelu and not call.skipped and output is not None:  # None: its forward raised
                known = call.input is not None and call.input is not output and _version(call.input) == call.version
                self._hand_on(call.path, output, call.input if known else None)

        return leave

    def _function(self, output: object, given: Tensor | None) -> None:
        stack = self._stack()
        if stack and not stack[-1].skipped and not stack[-1].is_gelu:
            self._hand_on(stack[-1].path, output, None if given is output else given)

    def _path(self, key: int, parent: _Call) -> str:
        # A module with several names goes by those below its caller; there by its turn, as in a Sequential.
        every = self._paths[key]
        if len(every) == 1:
            return every[0]
        below = [name for name in every if name.startswith(f"{parent.path}.") or not parent.path] or every
        nearest = min(name.count(".") for name in below)
        below = [name for name in below if name.count(".") == nearest]
        return below[min(parent.calls[key], len(below)) - 1]

    def _hand_on(self, path: str, output: object, given: Tensor | None) -> None:
        # A second place in the code of one forward is another layer: path#2.
        sites = self._sites.setdefault(path, [])
        site = tuple(_site(sys._getframe(1)))
        if site not in sites:
            sites.append(site)
        place = sites.index(site)
        name = path or type(unwrapped(self._model)[0]).__name__
        self._take(f"{name}#{place + 1}" if place else name, output, given)


def _site(frame: FrameType | None) -> Iterator[tuple[object, ...]]:
    # Where in the code of the calling module's forward a GELU is called: all frames in between, without ours.
    while frame is not None and frame.f_code.co_filename.endswith(_OURS):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename == _CALLED:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename != _CALLED:
        yield frame.f_code.co_filename, frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_lasti
        frame = frame.f_back


def _version(tensor: Tensor | None) -> int:
    # How often its values were overwritten; tensors of inference mode do not count that.
    return 0 if tensor is None or tensor.is_inference() else tensor._version


def _pop(mode: _Mode) -> None:
    # Take our mode from the stack of modes, also from below others, as an interrupt may leave it.
    stack: list[TorchFunctionMode] = overrides._get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    if mode not in stack:
        return
    above = stack[stack.index(mode) + 1 :]
    for _ in (mode, *above):
        overrides._pop_mode()  # type: ignore[no-untyped-call]
    for each in above:
        overrides._push_mode(each)  # type: ignore[no-untyped-call]
