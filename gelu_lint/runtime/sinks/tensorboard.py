"""TensorBoard, by a SummaryWriter of torch.utils.tensorboard or tensorboardX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol


class Writer(Protocol):
    """What is asked of a SummaryWriter."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """Write one number."""
        ...


def tensorboard(writer: Writer, prefix: str = "") -> Callable[[int, Mapping[str, float]], None]:
    """A sink that writes each value as a scalar, under ``prefix`` and its name: ``layers.0/gelu_output_std``.

    The writer stays yours: flush and close it when training is over.
    """

    def sink(step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(f"{prefix}{name}", value, step)

    return sink
