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
        return self.down(F.gelu(self.gate(x) * self.up(x), approximate="none"))

    def act(self, x):
        # GEL017: the fused path is another function, by up to 0.02.
        return x * torch.sigmoid(1.702 * x) if self.fused else F.gelu(x, approximate="none")


def linear_gelu(x, weight, bias):
    # GEL032: erf on a CPU, tanh on CUDA.
    return torch._addmm_activation(bias, x, weight.t(), use_gelu=True)
