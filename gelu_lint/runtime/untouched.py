"""A model that is run and then is as it was: flags, attributes, buffers, parameters, gradients, random generators."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

_HELD = (dict, OrderedDict, list, set, deque)


class Kept:
    """What is put back. Buffers are copied beforehand; parameters when something is about to write into them."""

    def __init__(self, model: nn.Module) -> None:
        self._modules = list(model.modules())
        self._flags = [module.training for module in self._modules]
        scripted = torch.jit.ScriptModule
        self._attributes = [
            (module.__dict__, dict(module.__dict__)) for module in self._modules if not isinstance(module, scripted)
        ]
        self._contents = [
            (held, held.copy())
            for attributes, _ in self._attributes
            for held in attributes.values()
            if type(held) in _HELD
        ]
        buffers = (tensor for tensor in model.buffers() if not (tensor.is_meta or nn.parameter.is_lazy(tensor)))
        self._tensors = {id(tensor): (tensor, _copy(tensor)) for tensor in buffers}
        self._shared: dict[int, list[torch.Tensor]] = {}
        # A share of the memory of each, which shows whether another is put in its place (`tensor.data = …`).
        self._memory = [
            (tensor, tensor.data, tensor.requires_grad)
            for tensor in (*model.parameters(), *model.buffers())
            if address(tensor) != id(tensor)
        ]
        for parameter in model.parameters():
            self._shared.setdefault(address(parameter), []).append(parameter)

    def before_write(self, tensor: torch.Tensor) -> None:
        """Keep the parameters that share their memory with a tensor."""
        for parameter in self._shared.pop(address(tensor), ()) if self._shared else ():
            self._tensors[id(parameter)] = parameter, _copy(parameter)

    def restore(self) -> None:
        """Put everything back."""
        for attributes, shown in self._attributes:
            attributes.clear()
            attributes.update(shown)
        for held, content in self._contents:
            held.clear()
            held.extend(content) if isinstance(held, (list, deque)) else held.update(content)
        for module, training in zip(self._modules, self._flags, strict=True):
            if module.training != training:
                module.training = training
        for tensor, memory, learns in self._memory:
            if address(tensor) != address(memory):
                tensor.data = memory
            if tensor.requires_grad != learns and tensor.is_leaf:
                tensor.requires_grad_(learns)
        for tensor, before in self._tensors.values():
            with torch.inference_mode(tensor.is_inference()):
                tensor.data.copy_(before)  # no new version: what was computed from it can still be differentiated


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


def address(tensor: torch.Tensor) -> int:
    """A number that tensors have in common which share their memory; good while they live."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError, ValueError):  # it has none: sparse, wrapped, a lazy parameter
        return id(tensor)


@contextmanager
def generators(devices: Sequence[torch.device | int]) -> Iterator[None]:
    """The random generators of torch (CPU and CUDA ``devices``), Python and NumPy are put back afterwards."""
    numpy: Any = sys.modules.get("numpy")
    python, legacy = random.getstate(), numpy.random.get_state() if numpy is not None else None
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(legacy)


@contextmanager
def untouched(model: nn.Module) -> Iterator[Kept]:
    """Whatever happens inside, the model, the random generators, torch's default dtype and gradient mode are put back.
    Inside, the generators start from the same seed each time, and no parameter has a gradient.

    Attributes of modules are put back one level deep: an object that a module holds, and that it changes itself when
    it is run, stays changed.
    """
    kept, gradients = Kept(model), [(parameter, parameter.grad) for parameter in model.parameters()]
    ready = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = list(range(torch.cuda.device_count())) if ready else []
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        with generators(devices):
            torch.manual_seed(0)
            random.seed(0)
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed(0)
            for parameter, _ in gradients:
                parameter.grad = None  # else a backward pass would add to the tensor that is put back
            yield kept
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        kept.restore()
        for parameter, gradient in gradients:
            parameter.grad = gradient
