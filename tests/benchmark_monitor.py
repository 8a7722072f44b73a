"""What a GeluMonitor costs: training steps of one model with and without it, in turn, in one process.

    python tests/benchmark_monitor.py [--pairs 30] [--threads 1] [--batch 8] [--length 128]

The model has 4 layers of nn.TransformerEncoderLayer, d = 256, feed-forward 1024, GELU; the optimizer is AdamW. Modules
without the monitor have the same parameters. Of the steps with it one is watched and one left alone, so that both are
seen often; each has its neighbour without, before or behind it by turns, so that a busy machine slows both. Wall time
and CPU time; what one watched step of 50 costs in all follows from the medians of the ratios. What a step left alone
costs, in µs, does not show beside such a step: it is measured on a module that does nothing. The default takes about
40 s; more --pairs take longer, and narrow the quartiles.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import warnings

import torch
from torch import nn

from gelu_lint.runtime import GeluMonitor
from gelu_lint.runtime.monitor import EVERY


def built() -> nn.Sequential:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, activation="gelu", batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(256, 256))


def twin(model: nn.Module) -> nn.Module:
    """Other modules with the very same parameters."""
    other = built()
    for name, module in other.named_modules():
        module._parameters.update(model.get_submodule(name)._parameters)
    return other


def left_alone(calls: int = 2000, rounds: int = 15) -> tuple[float, float, float]:
    """What a monitor adds to a step that it leaves alone, in µs: quartiles of rounds of calls of a bare module."""
    plain, monitored = nn.Identity(), nn.Identity()
    x = torch.zeros(1)

    def spent(model: nn.Module) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            model(x)
        return (time.perf_counter() - begin) / calls * 1e6

    with GeluMonitor(monitored, every=10**9):
        for model in (plain, monitored):
            model(x)  # the first step is watched
            spent(model)
        added = []
        for i in range(rounds):
            times = {id(model): spent(model) for model in ((plain, monitored) if i % 2 else (monitored, plain))}
            added.append(times[id(monitored)] - times[id(plain)])
    low, middle, high = statistics.quantiles(added, n=4)
    return low, middle, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pairs", 30), ("threads", 1), ("batch", 8), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(chosen.threads)
    x = torch.randn(chosen.batch, chosen.length, 256)
    monitored = built()
    models = {"without": twin(monitored), "with": monitored}
    optimizer = torch.optim.AdamW(monitored.parameters())

    def step(name: str) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        models[name](x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - wall, time.process_time() - cpu

    for name in [*models] * 3:
        step(name)
    base: list[tuple[float, float]] = []
    ratios: dict[str, list[tuple[float, float]]] = {"left alone": [], "watched": []}
    with GeluMonitor(monitored, every=2) as monitor:
        for i in range(2 * chosen.pairs):
            kind = "left alone" if monitor.step_number % 2 else "watched"
            spent = {name: step(name) for name in (models if i // 2 % 2 else reversed(models))}
            base.append(spent["without"])
            ratios[kind].append(tuple(a / b for a, b in zip(spent["with"], spent["without"], strict=True)))
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{os.cpu_count()} cores, {chosen.threads} in use, {versions}, {chosen.batch} × {chosen.length} tokens")
    print("a step left alone costs {1:.1f} µs, half of the rounds {0:.1f} to {2:.1f}".format(*left_alone()))
    for i, clock in enumerate(("wall", "CPU")):
        print(f"{clock:4} without {statistics.median(each[i] for each in base) * 1e3:.2f} ms a step")
        middles = {}
        for kind, pairs in ratios.items():
            low, middles[kind], high = statistics.quantiles((each[i] for each in pairs), n=4)
            print(f"     {kind:10} {middles[kind]:.4f} ×, half of {len(pairs)} pairs {low:.4f} to {high:.4f}")
        whole = (middles["left alone"] * (EVERY - 1) + middles["watched"]) / EVERY
        print(f"     one watched of {EVERY}: {whole:.4f} ×")


if __name__ == "__main__":
    main()
