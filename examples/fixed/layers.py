"""Layers that torch runs or copies in its own way, and a mask that only training draws."""

from functools import partial

import torch.nn.functional as F
from torch import nn


def encoder(width, heads):
    act = partial(F.gelu, approximate="tanh")  # noqa: GEL002
    return nn.TransformerEncoderLayer(width, heads, activation=act, batch_first=True)


def decoder(width, heads, depth):
    layer = nn.TransformerDecoderLayer(width, heads, activation=partial(F.gelu, approximate="none"))
    return nn.TransformerDecoder(layer, depth)


class SparseGELU(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(F.gelu(x, approximate="none"), self.p, self.training)
