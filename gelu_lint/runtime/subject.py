"""Runs a callable on points without a trace: a copy of a module, no gradients, the random state put back."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import torch

from gelu_lint.numerics.evaluate import GRID
from gelu_lint.runtime.faults import in_one_line
from gelu_lint.runtime.untouched import Kept, generators

_T = TypeVar("_T")
_ROWS = 8  # a mask that drops 1 % of 8 · 110 elements is the same twice once in 10⁷ runs
_APART = 64  # how many roundings two runs on the same point may be apart: vector code and what is left over differ
_LONGEST = 300  # of what an exception says


class NotElementwise(ValueError):
    """A callable that no element-by-element function Tensor → Tensor can be read from, and why."""


class NotDeterministic(NotElementwise):
    """A callable that gives other values each time: dropout in training, noise, a random mask."""


class Values(NamedTuple):
    """The points of GRID as the dtype has them, the values there, and the machine epsilon of the values' dtype."""

    points: tuple[float, ...]
    column: tuple[float, ...]
    epsilon: float


class Subject:
    """A callable, ready to be run on points of one dtype on one device."""

    def __init__(
        self, function: Callable[..., Any], dtype: torch.dtype, device: torch.device | str | None = None
    ) -> None:
        if not callable(function):
            raise TypeError(f"a callable Tensor → Tensor is needed, not {_article(type(function).__name__)}")
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise TypeError(f"dtype must be a floating-point torch.dtype, not {dtype!r}")
        for name in ("_orig_mod", "_torchdynamo_orig_callable"):  # what torch.compile was given
            function = getattr(function, name, function)
        self.name = getattr(function, "__qualname__", "") or type(function).__name__
        self._dtype, self._device = dtype, torch.device(device) if device is not None else home(function)
        if self._device.type == "meta":
            raise NotElementwise(f"{self.name} is on the meta device, which holds no values: move it, or pass device=")
        copied = _copied(function, dtype, self._device) if isinstance(function, torch.nn.Module) else None
        self._run, self._copy = copied or function, copied
        if isinstance(function, torch.nn.Module) and copied is None:
            self._dtype = next((tensor.dtype for tensor in function.parameters()), dtype)

    def values(self) -> Values:
        """The values over GRID, once it is sure that they depend on nothing else."""
        try:
            return self._values()
        except NotElementwise as error:
            if self._dtype != torch.float64 or not error.__cause__:
                raise
            self._dtype = torch.float32  # kernels and constants of one dtype
            if self._copy is not None:
                self._copy.to(torch.float32)
            try:
                return self._values()
            except NotElementwise:
                raise error from error.__cause__

    def apart(self, do: Callable[[Callable[..., Any], torch.Tensor], _T]) -> _T | None:
        """What ``do`` makes of the callable and the points, as a 1-D tensor; None if that raises anything."""
        with _undisturbed(self._run, self._device):
            try:
                return do(self._run, self._points())
            except Exception:
                return None

    def _points(self) -> torch.Tensor:
        points = torch.tensor(GRID, dtype=torch.float64, device="cpu")  # whatever the default device is
        return points.to(device=self._device, dtype=self._dtype)

    def _values(self) -> Values:
        points = self._points()
        rows = points.repeat(_ROWS, 1)
        # Each point once more, in other company: other extremes, sums and neighbours, along either axis.
        company = torch.stack((points, 17 - points, points / 2, torch.full_like(points, -31)), 1)
        with _undisturbed(self._run, self._device):
            first, second, other = (self._call(x) for x in (rows, rows, company))
        epsilon = torch.finfo(first.dtype).eps
        first, second, other = (value.detach().to("cpu", torch.float64) for value in (first, second, other))
        if not _same(first, second, epsilon):
            raise NotDeterministic(
                f"{self.name} gives other values each time (dropout, noise or a random mask): call .eval() first"
            )
        if not (_same(first, first[:1].expand_as(first), epsilon) and _same(first[0], other[:, 0], epsilon)):
            raise NotElementwise(
                f"{self.name} does not work element by element: its value at a point depends on the other points"
            )
        return Values(tuple(points.to("cpu", torch.float64).tolist()), tuple(first[0].tolist()), epsilon)

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        shape = tuple(x.shape)
        try:
            result = self._run(x.clone())
        except Exception as error:
            raise NotElementwise(
                f"{self.name} cannot be run on a tensor of shape {shape} ({x.dtype}): {in_one_line(error)[:_LONGEST]}"
            ) from error
        if not isinstance(result, torch.Tensor):
            raise NotElementwise(f"{self.name} gives {_article(type(result).__name__)}, not a tensor")
        if result.shape != x.shape:
            raise NotElementwise(
                f"{self.name} does not work element by element: it makes shape {tuple(result.shape)} of {shape}"
            )
        if not result.dtype.is_floating_point or result.layout != torch.strided:
            what = result.dtype if result.layout == torch.strided else result.layout
            raise NotElementwise(f"{self.name} gives a tensor of {what}, not a dense one of floating-point numbers")
        return result


def _same(a: torch.Tensor, b: torch.Tensor, epsilon: float) -> bool:
    return torch.allclose(a, b, rtol=_APART * epsilon, atol=_APART * epsilon, equal_nan=True)


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def home(function: Callable[..., Any]) -> torch.device:
    """Where a module has its parameters or buffers, else the CPU."""
    if isinstance(function, torch.nn.Module):
        for tensor in (*function.parameters(), *function.buffers()):
            return tensor.device
    return torch.device("cpu")


def _copied(module: torch.nn.Module, dtype: torch.dtype, device: torch.device) -> torch.nn.Module | None:
    """A copy of a module without its hooks, which may count, write and hold what cannot be copied; None if it has more
    that cannot be."""
    memo: dict[int, Any] = {}
    if not isinstance(module, torch.jit.ScriptModule):
        for part in module.modules():
            for name, held in vars(part).items():
                if name.endswith("_hooks") and isinstance(held, OrderedDict):
                    memo[id(held)] = OrderedDict()
    try:
        return copy.deepcopy(module, memo).to(device=device, dtype=dtype)
    except Exception:
        return None


@contextmanager
def _undisturbed(function: object, device: torch.device) -> Iterator[None]:
    """No gradients, and afterwards the random generators, and a module, also that of a method, as they were."""
    module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    kept = Kept(module) if isinstance(module, torch.nn.Module) else None
    try:
        with generators([device] if device.type == "cuda" else []), torch.no_grad():
            yield
    finally:
        if kept is not None:
            kept.restore()
