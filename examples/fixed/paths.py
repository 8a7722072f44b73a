import torch
import torch.nn.functional as F
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim, hidden, fused=False):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(dim, hidden), nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.fused = fused

    def forward(self, x):
        # GEL019: a GELU gate is GELU(g) * u, not GELU(g * u).
        return self.down(F.gelu(self.gate(x), approximate="none") * self.up(x))

    def act(self, x):
        # GEL017: the fused path is the same function.
        return F.gelu(x, approximate="none")


def linear_gelu(x, weight, bias):
    # GEL032: erf everywhere.
    return F.gelu(torch.addmm(bias, x, weight.t()), approximate="none")
