"""Lightning: a callback that monitors the module that is trained and logs with the trainer's loggers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

# The same classes have two homes, and a Trainer takes callbacks of its own alone: that of which is in use.
if TYPE_CHECKING or "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback, LightningModule, Trainer
else:
    from lightning.pytorch import Callback, LightningModule, Trainer

from gelu_lint.runtime.monitor import GeluMonitor


class GeluCallback(Callback):
    """Monitors the GELUs of a LightningModule; a step is one of the optimizer (``trainer.global_step``).

    ::

        Trainer(callbacks=[GeluCallback()], logger=...)

    The values go to all loggers of the trainer. ``options`` are those of `GeluMonitor`, its ``sinks`` among them.
    ``monitor`` is the monitor of the run, once training has begun.
    """

    def __init__(self, **options: Any) -> None:
        self.monitor: GeluMonitor | None = None
        self._options = options

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start at the step at which training starts or resumes."""

        def log(step: int, values: Mapping[str, float]) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(dict(values), step=step)

        sinks = (log, *self._options.get("sinks", ()))
        options = {**self._options, "sinks": sinks, "manual": True, "start": trainer.global_step}
        self._end()
        self.monitor = GeluMonitor(pl_module, **options)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the step of the monitor where the optimizer has taken one."""
        if self.monitor is not None and trainer.global_step != self.monitor.step_number:
            self.monitor.step(trainer.global_step)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Leave the model as it was."""
        self._end()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Leave the model as it was."""
        self._end()

    def _end(self) -> None:
        if self.monitor is not None:
            self.monitor.close()
