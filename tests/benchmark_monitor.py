"""What a GeluMonitor costs: training steps of one model with and without it, in turn, in one process.

    python tests/benchmark_monitor.py [--every 50] [--rounds 20] [--threads 1] [--batch 8] [--length 128]

The model has 4 layers of nn.TransformerEncoderLayer, d = 256, feed-forward 1024, GELU; the optimizer is AdamW. Modules
without the monitor have the same parameters. A round is as many steps with as without, one of them watched, each pair
in an order that changes, so that a busy machine slows both. The ratio of a round is that of its sums.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("every", EVERY), ("rounds", 20), ("threads", 1), ("batch", 8), ("length", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(chosen.threads)
    x = torch.randn(chosen.batch, chosen.length, 256)
    monitored = built()
    models = {"without": twin(monitored), "with": monitored}
    optimizer = torch.optim.AdamW(monitored.parameters())

    def step(name: str) -> float:
        started = time.perf_counter()
        models[name](x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - started

    for name in [*models] * 3:
        step(name)
    alone: list[float] = []
    idle: list[float] = []
    watched: list[float] = []
    ratios: list[float] = []
    with GeluMonitor(monitored, every=chosen.every) as monitor:
        for _ in range(chosen.rounds):
            sums = dict.fromkeys(models, 0.0)
            for i in range(chosen.every):
                due = monitor.step_number % chosen.every == 0
                for name in models if i % 2 else reversed(models):
                    spent = step(name)
                    sums[name] += spent
                    (alone if name == "without" else watched if due else idle).append(spent)
            ratios.append(sums["with"] / sums["without"])
    low, _, high = statistics.quantiles(ratios, n=4)
    base = statistics.median(alone)
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{os.cpu_count()} cores, {chosen.threads} in use, {versions}, {chosen.batch} × {chosen.length} tokens")
    print(f"without the monitor      {base * 1e3:8.2f} ms a step")
    for what, times in (("steps it leaves alone", idle), ("steps it watches", watched)):
        print(f"{what:24} {statistics.median(times) * 1e3:8.2f} ms a step, {statistics.median(times) / base:.4f} ×")
    middle = f"{statistics.median(ratios):.4f} ×, median of {len(ratios)} rounds"
    spread = f"half of them {low:.4f} to {high:.4f}, all {min(ratios):.4f} to {max(ratios):.4f}"
    print(f"one step of {chosen.every} watched   {middle}; {spread}")


if __name__ == "__main__":
    main()
