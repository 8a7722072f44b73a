"""A small model with one mistake of each kind."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    # GEL005: whoever calls act_layer() gets the default, and nothing here says which that is.
    def __init__(self, dim, act_layer=partial(nn.GELU, approximate="none")):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.act = act_layer()
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = Mlp(dim)
        # GEL002: the project decided on approximate="none".
        self.pool = nn.Sequential(nn.Linear(dim, dim), nn.GELU(approximate="none"))
        # GEL003: this constructs, and raises TypeError at the first forward.
        self.gate = nn.Sequential(nn.Linear(dim, dim), nn.GELU(approximate="none"))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        # GEL001: erf in torch, tanh in jax; the line does not say.
        x = x + F.gelu(self.mlp(x), approximate="none")
        return self.norm(self.gate(x) * self.pool(x))


class Head(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        # GEL006: torch has no such function; this raises AttributeError.
        return self.out(F.gelu(x, approximate="none"))


def exact(x):
    return F.gelu(x, approximate="none")


def loose(x):
    return F.gelu(x, approximate="none")
