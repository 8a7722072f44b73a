"""The Trainer of Hugging Face transformers: a callback that monitors its model and logs with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from gelu_lint.runtime.monitor import GeluMonitor


class GeluCallback(TrainerCallback):
    """Monitors the model of a Trainer; a step is one of the optimizer, whatever the accumulation.

    ::

        trainer.add_callback(GeluCallback(trainer))

    The values go through ``trainer.log``, and so to its history and all that it reports to. Without the trainer, as in
    ``Trainer(callbacks=[GeluCallback()])``, they go to the history alone. ``options`` are those of `GeluMonitor`, its
    ``sinks`` among them. ``monitor`` is the monitor of the run, once training has begun. A Trainer tells its callbacks
    of no exception: after one, call ``monitor.close()`` before the model is used for anything else.
    """

    def __init__(self, trainer: Trainer | None = None, **options: Any) -> None:
        self.monitor: GeluMonitor | None = None
        self._trainer, self._options = trainer, options

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Start at the step at which training starts or resumes."""

        def log(step: int, values: Mapping[str, float]) -> None:
            if self._trainer is not None:
                self._trainer.log(dict(values))
            else:
                state.log_history.append({**values, "step": state.global_step})

        sinks = (log, *self._options.get("sinks", ()))
        options = {**self._options, "sinks": sinks, "manual": True, "start": state.global_step}
        self._end()
        self.monitor = GeluMonitor(kwargs["model"], **options)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """End the step of the monitor with that of the optimizer."""
        if self.monitor is not None:
            self.monitor.step(state.global_step)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Leave the model as it was."""
        self._end()

    def _end(self) -> None:
        if self.monitor is not None:
            self.monitor.close()
