"""Layers that torch runs or copies in its own way, and a mask that eval draws, too."""

import torch
import torch.nn.functional as F
from torch import nn


def encoder(width, heads):
    # GEL030: in eval the fast path computes erf. The weights want tanh, so GEL002 is silenced.
    act = nn.GELU(approximate="tanh")  # noqa: GEL002
    return nn.TransformerEncoderLayer(width, heads, activation=act, batch_first=True)


def decoder(width, heads, depth):
    # GEL034: the copies that the decoder is made of compute ReLU.
    layer = nn.TransformerDecoderLayer(width, heads, activation=nn.GELU(approximate="none"))
    return nn.TransformerDecoder(layer, depth)


class SparseGELU(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        # GEL040: two calls in eval differ.
        return F.gelu(x, approximate="none") * (torch.rand_like(x) >= self.p) / (1 - self.p)
