"""Code that torch.compile made shows no activations: whether it runs, and how to have it run as it was written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: The file whose frames stand between compiled code and what called it.
COMPILER = os.path.join("_dynamo", "eval_frame.py")


def in_compiled() -> bool:
    """Whether this is called from compiled code."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "compile_wrapper" and frame.f_code.co_filename.endswith(COMPILER):
            return True
        frame = frame.f_back
    return False


class Eager:
    """While any is held, functions that torch.compile made run as they were written, from their next call on.

    Before torch 2.6 nothing changes. Several may be held at once, and released in any order.
    """

    _held = 0
    _stance: Any = None

    def __init__(self) -> None:
        self._holds = False

    def __bool__(self) -> bool:
        return self._holds

    def hold(self) -> None:
        """Run eagerly from now on."""
        set_stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
        if self._holds or set_stance is None:
            return
        self._holds = True
        Eager._held += 1
        if Eager._held == 1:
            Eager._stance = set_stance("force_eager")

    def release(self) -> None:
        """Compile again, unless others hold it."""
        if not self._holds:
            return
        self._holds = False
        Eager._held -= 1
        if not Eager._held:
            Eager._stance.__exit__(None, None, None)


class EagerMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode for the inside of `eager`, where nothing is compiled: newer torches would hide its handler from the
    compiler, and load that to do so, which takes longer than a probe."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # older torches do not ask
        return False


@contextmanager
def eager() -> Iterator[None]:
    """Nothing inside runs compiled, if anything was compiled at all: else the compiler need not be loaded."""
    held = Eager()
    if "torch._dynamo" in sys.modules:
        held.hold()
    try:
        yield
    finally:
        held.release()
