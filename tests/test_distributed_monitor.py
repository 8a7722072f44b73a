"""GeluMonitor in two real processes of torch.distributed (gloo): merged moments are those of all outputs together."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

CPU: dict[str, Any] = {"device_id": torch.device("cpu")}

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this torch was built without torch.distributed")


class Net(nn.Module):
    """A layer that all ranks run, and one that rank 1 alone does."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.act, self.rare = nn.Linear(4, 4), nn.GELU(), nn.GELU("tanh")

    def forward(self, x: Tensor, rare: bool = False) -> Tensor:
        x = F.gelu(self.act(self.linear(x)), approximate="tanh")
        return self.rare(x) if rare else x


def work(rank: int, folder: str) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    from gelu_lint.runtime import GeluMonitor

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(rank)
    net = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
    outputs: dict[str, list[Tensor]] = {"act": [], "rare": []}
    for name, kept in outputs.items():
        getattr(net.module, name).register_forward_hook(lambda m, i, output, kept=kept: kept.append(output.detach()))
    with GeluMonitor(net, every=1) as monitor:
        for step in range(3):
            net((rank + 1) * torch.randn(5 + 2 * rank, 4) + 100 * rank, rare=rank == 1 and step == 1).sum().backward()
        merged = monitor.merge()
        before = monitor.state()
        again = monitor.merge(dist.new_group([0, 1]))
    same = monitor.state() == before and again == merged
    kept_outputs = {name: torch.cat(kept).reshape(-1).double() for name, kept in outputs.items() if kept}
    own = monitor.summary()
    sharded = FullyShardedDataParallel(nn.Sequential(FullyShardedDataParallel(Net(), **CPU), nn.GELU()), **CPU)
    with GeluMonitor(sharded) as shards:
        sharded(torch.randn(3, 4)).sum().backward()
    found = {"merged": merged, "own": own, "outputs": kept_outputs, "same": same, "sharded": [*shards.summary()]}
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_merge_exactly(tmp_path: Path) -> None:
    run = [subprocess.Popen([sys.executable, __file__, str(rank), str(tmp_path)]) for rank in range(2)]
    assert [process.wait(timeout=300) for process in run] == [0, 0]
    ranks: list[dict[str, Any]] = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    assert ranks[0]["merged"] == ranks[1]["merged"] and ranks[0]["same"] and ranks[1]["same"]
    assert list(ranks[0]["own"]) == ["act", "Net"] and list(ranks[1]["own"]) == ["act", "Net", "rare"]
    assert ranks[0]["sharded"] == ["0.act", "0", "1"]
    merged = ranks[0]["merged"]
    assert list(merged) == ["act", "Net", "rare"]
    for name in ("act", "rare"):
        every = np.concatenate([rank["outputs"][name].numpy() for rank in ranks if name in rank["outputs"]])
        assert merged[name]["gelu_output_std"] == pytest.approx(every.std(), rel=1e-12)
        assert merged[name]["gelu_output_mean"] == pytest.approx(every.mean(), rel=1e-12)
    spreads = [rank["own"]["act"]["gelu_output_std"] for rank in ranks]
    assert abs(merged["act"]["gelu_output_std"] - np.mean(spreads)) > 1  # no average of theirs


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2])
