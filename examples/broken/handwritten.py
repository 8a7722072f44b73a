"""GELUs typed by hand, with one mistake each."""

import math

import torch
from torch import nn


class GELU(nn.Module):
    # GEL010: this is SiLU, up to 0.193 away from GELU.
    def forward(self, x):
        return x * torch.sigmoid(x)


def bias_gelu(bias, y):
    # GEL011: this is the quick GELU of CLIP, up to 0.0203 away.
    x = bias + y
    return x * torch.sigmoid(1.702 * x)


def gelu_from_paper(x):
    # GEL012: the same function as torch.nn.functional.gelu, by more and bigger steps.
    cdf = 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
    return x * cdf


def gelu_from_memory(x):
    # GEL014: the coefficient is 0.044715.
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.44715 * x**3)))
