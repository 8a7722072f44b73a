"""What a function does to a tensor, operation by operation, as a formula over one unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from gelu_lint.numerics.ir import Expr, X, const, too_big
from gelu_lint.runtime.eager import EagerMode, eager
from gelu_lint.runtime.operations import OPERATIONS, Unknown, bare
from gelu_lint.runtime.untouched import address


class Traced(NamedTuple):
    """A formula, None where an operation has none, and the coarsest precision (machine epsilon) on the way."""

    expr: Expr | None
    epsilon: float


def trace(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Traced:
    """Run ``function`` on x once, and tell the formula of what it returns. What it raises goes through."""
    recorder = _Recorder(x)
    with eager(), recorder:
        result = function(x)
    return Traced(recorder.formula(result), recorder.epsilon)


class _Recorder(EagerMode):
    """Follows what becomes of x. A formula belongs to a storage, so that views of it and changes in place share it."""

    def __init__(self, x: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.epsilon = torch.finfo(x.dtype).eps
        self._formulas: dict[int, Expr | None] = {}  # None: it depends on x, no formula says how
        self._kept: list[torch.Tensor] = []  # no address may be used again
        self._bind(x, X)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = bare(func)
        given = [value for value in _flat((*args, *kwargs.values())) if isinstance(value, torch.Tensor)]
        made = name.endswith("_like") or name.startswith("new_")  # of the same kind, with other values
        followed = not made and any(address(tensor) in self._formulas for tensor in given)
        formula = self._formula(name, args, kwargs) if followed else None
        result = func(*args, **kwargs)
        if followed:
            results = [value for value in _flat(kwargs.get("out", result)) if isinstance(value, torch.Tensor)]
            for i, tensor in enumerate(results):
                self._bind(tensor, formula if i == 0 else None)
        return result

    def _formula(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Expr | None:
        if name == "copy":
            return self.formula(args[1])  # whatever it is copied over
        operation = OPERATIONS.get(name)
        if operation is None:
            return None
        rest = {key: value for key, value in kwargs.items() if key not in _ASIDE}
        try:
            return operation(*map(self._operand, args), **{key: self._operand(value) for key, value in rest.items()})
        except (Unknown, TypeError):
            return None  # an overload with other arguments

    def _operand(self, value: Any) -> Any:
        return self.formula(value, Unknown) if isinstance(value, torch.Tensor) else value

    def formula(self, value: Any, otherwise: type[Exception] | None = None) -> Expr | None:
        """The formula of a tensor: what is known of it, or the number that it holds everywhere."""
        found = None
        if isinstance(value, torch.Tensor):
            place = address(value)
            found = self._formulas[place] if place in self._formulas else _number(value)
        if found is not None and too_big(found):
            found = None
        if found is None and otherwise is not None:
            raise otherwise
        return found

    def _bind(self, tensor: torch.Tensor, formula: Expr | None) -> None:
        self._formulas[address(tensor)] = formula
        self._kept.append(tensor)
        if tensor.dtype.is_floating_point:
            self.epsilon = max(self.epsilon, torch.finfo(tensor.dtype).eps)


#: Arguments that say how a result is stored, not what it is.
_ASIDE = frozenset(("out", "layout", "device", "pin_memory", "non_blocking", "memory_format", "implicit"))


def _flat(values: Any) -> list[Any]:
    if not isinstance(values, (tuple, list)):
        return [values]
    return [item for value in values for item in _flat(value)]


def _number(tensor: torch.Tensor) -> Expr | None:
    """The number that all elements are."""
    if tensor.numel() == 0 or tensor.dtype.is_complex:
        return None
    numbers = tensor.detach().reshape(-1)
    first = numbers[0].item()
    return const(first) if numbers.numel() == 1 or bool((numbers == numbers[0]).all()) else None
