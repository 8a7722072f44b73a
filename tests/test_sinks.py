"""The sinks of GeluMonitor, each with the real package that it writes to, on the smallest model that trains there."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gelu_lint.runtime import GeluMonitor
from gelu_lint.runtime.sinks.tensorboard import tensorboard

pytestmark = [
    pytest.mark.filterwarnings("ignore::gelu_lint.runtime.monitor.GeluStdWarning"),
    pytest.mark.usefixtures("one_thread"),
]
WHAT = {
    *("gelu_output_std", "gelu_output_mean", "gelu_input_std", "gelu_input_mean"),
    *("gelu_dead_fraction", "gelu_saturated_fraction", "gelu_nonfinite"),
}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 1)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        y = self.down(F.gelu(self.act(self.up(x)), approximate="tanh")).squeeze(-1)
        return {"loss": (y - (x.sum(-1) if labels is None else labels)).pow(2).mean(), "logits": y}


LAYERS = ("act", "Net")


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_tensorboard_reads_back_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    model, kept = Net(), []
    with SummaryWriter(str(tmp_path)) as writer:
        sinks = [tensorboard(writer, prefix="train/"), lambda step, values: kept.append((step, values))]
        with GeluMonitor(model, every=2, sinks=sinks):
            for _ in range(4):
                model(torch.randn(8, 4))["loss"].backward()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == {f"train/{layer}/{what}" for layer in LAYERS for what in WHAT}
    for name in kept[0][1]:
        read = [(event.step, event.value) for event in events.Scalars(f"train/{name}")]
        assert [step for step, _ in read] == [step for step, _ in kept] == [0, 2]
        assert [value for _, value in read] == pytest.approx([values[name] for _, values in kept], rel=1e-6)


class Data(torch.utils.data.Dataset[dict[str, Tensor]]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {"x": torch.randn(4), "labels": torch.randn(())}


def trainer(folder: Path, **options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    arguments = transformers.TrainingArguments(
        str(folder),
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        max_steps=3,
        eval_strategy="steps",
        eval_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        dataloader_pin_memory=False,
    )
    return transformers.Trainer(Net(), arguments, train_dataset=Data(), eval_dataset=Data(), **options)


@pytest.mark.parametrize("logs", ["with the trainer", "alone"])
def test_a_trainer_of_transformers_logs_the_steps_of_its_optimizer(logs: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from gelu_lint.runtime.sinks.transformers import GeluCallback

    seen: list[int] = []
    options: dict[str, Any] = {"every": 2, "sinks": [lambda step, values: seen.append(step)]}
    if logs == "alone":
        callback = GeluCallback(**options)
        run = trainer(tmp_path, callbacks=[callback])
    else:
        run = trainer(tmp_path)
        callback = GeluCallback(run, **options)
        run.add_callback(callback)
    reported: list[dict[str, float]] = []
    run.add_callback(reporter(reported))
    run.train()
    history = [entry for entry in run.state.log_history if "act/gelu_output_std" in entry]
    assert [entry["step"] for entry in history] == [1, 3] and seen == [0, 2]
    for entry in history:
        assert {name for name in entry if "/" in name} == {f"{layer}/{what}" for layer in LAYERS for what in WHAT}
    assert sum("act/gelu_output_std" in entry for entry in reported) == (2 if logs == "with the trainer" else 0)
    assert callback.monitor is not None and callback.monitor.step_number == 3
    # Two steps of two micro-batches of two rows; the evaluations in between do not count.
    assert callback.monitor.state()["layers"]["act"]["output"][0] == 2 * 2 * 2 * 4
    assert hooks(run.model) == 0


def reporter(kept: list[dict[str, float]]) -> Any:
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            kept.append(dict(logs))

    return Reporter()


def test_a_trainer_resumes_with_the_number_of_its_step(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from gelu_lint.runtime.sinks.transformers import GeluCallback

    run = trainer(tmp_path)
    callback = GeluCallback(run, every=2)
    state, control = run.state, run.control
    state.global_step = 40
    callback.on_train_begin(run.args, state, control, model=run.model)
    first = callback.monitor
    assert first is not None and first.step_number == 40 and hooks(run.model) > 0
    run.model(torch.randn(2, 4))["loss"].backward()
    callback.on_train_begin(run.args, state, control, model=run.model)  # after an exception that nobody told
    assert callback.monitor is not first
    run.model(torch.randn(2, 4))["loss"].backward()
    callback.on_train_end(run.args, state, control)
    assert hooks(run.model) == 0


@pytest.fixture
def quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def lightning_run(folder: Path, callback: Any, logger: Any, fail: bool = False) -> Any:
    import pytorch_lightning as pl

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: dict[str, Tensor], i: int) -> Tensor:
            if fail and i == 1:
                raise KeyError("mine")
            return self.net(**batch)["loss"]  # the forward of the whole is never called

        def validation_step(self, batch: dict[str, Tensor], i: int) -> None:
            self.net(**batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    module = Module()
    run = pl.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=logger,
        callbacks=[callback],
        accumulate_grad_batches=2,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=str(folder),
    )
    loader = torch.utils.data.DataLoader(Data(), batch_size=2)
    run.fit(module, loader, loader)
    return module


@pytest.mark.usefixtures("quiet")
@pytest.mark.filterwarnings("ignore:.*does not have many workers", "ignore:The number of training batches")
@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")  # pytorch_lightning
def test_lightning_logs_the_steps_of_its_optimizer(tmp_path: Path) -> None:
    pytest.importorskip("pytorch_lightning")
    from pytorch_lightning.loggers import CSVLogger

    from gelu_lint.runtime.sinks.lightning import GeluCallback

    class Logger(CSVLogger):
        def __init__(self) -> None:
            super().__init__(str(tmp_path))
            self.kept: list[tuple[int | None, dict[str, float]]] = []

        def log_metrics(self, metrics: Any, step: int | None = None) -> None:
            self.kept.append((step, dict(metrics)))

    logger, callback = Logger(), GeluCallback(every=2)
    module = lightning_run(tmp_path, callback, logger)
    kept = [(step, values) for step, values in logger.kept if any("gelu" in name for name in values)]
    assert [step for step, _ in kept] == [0, 2]
    layers = ("net.act", "net")
    assert set(kept[0][1]) == {f"{layer}/{what}" for layer in layers for what in WHAT}
    assert callback.monitor is not None and callback.monitor.step_number == 3
    assert callback.monitor.state()["layers"]["net.act"]["output"][0] == 2 * 2 * 2 * 4
    assert hooks(module) == 0


@pytest.mark.usefixtures("quiet")
@pytest.mark.filterwarnings("ignore:.*does not have many workers", "ignore:The number of training batches")
@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")  # pytorch_lightning
def test_lightning_tells_of_exceptions(tmp_path: Path) -> None:
    pytest.importorskip("pytorch_lightning")
    from gelu_lint.runtime.sinks.lightning import GeluCallback

    callback = GeluCallback(every=1)
    with pytest.raises(KeyError, match="mine"):
        lightning_run(tmp_path, callback, False, fail=True)
    assert callback.monitor is not None and hooks(callback.monitor._model) == 0


def test_lightning_goes_by_the_name_that_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Trainer of lightning.pytorch takes no callbacks of pytorch_lightning; the classes stand in for it here."""
    pl = pytest.importorskip("pytorch_lightning")
    import importlib
    import types

    package, newer = types.ModuleType("lightning"), types.ModuleType("lightning.pytorch")

    class Callback:
        pass

    newer.Callback, newer.LightningModule, newer.Trainer = Callback, pl.LightningModule, pl.Trainer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lightning", package)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", newer)
    monkeypatch.delitem(sys.modules, "gelu_lint.runtime.sinks.lightning", raising=False)
    found = importlib.import_module("gelu_lint.runtime.sinks.lightning")
    assert issubclass(found.GeluCallback, Callback) and not issubclass(found.GeluCallback, pl.Callback)
    monkeypatch.delitem(sys.modules, "gelu_lint.runtime.sinks.lightning")
