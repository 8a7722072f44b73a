"""GELUs typed by hand whose arithmetic fails."""

import math

import torch
from torch import nn


class TanhGELU(nn.Module):
    # GEL021: in fp16 its gradient is NaN from |x| = 148 on.
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3))))


def build(dim):
    return nn.Sequential(nn.Linear(dim, dim), TanhGELU()).cuda().half()


def tanh_gelu_from_exp(x):
    # GEL022: e is inf for x > 10 in float32, and inf / inf is NaN.
    y = x.float()
    e = torch.exp(2.0 * math.sqrt(2.0 / math.pi) * (y + 0.044715 * y**3))
    return 0.5 * y * (1.0 + (e - 1.0) / (e + 1.0))
