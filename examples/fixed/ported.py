"""GELUs that came with ported code."""

import torch
import torch.nn.functional as F


def gelu_new(x):
    return F.gelu(x, approximate="tanh")


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def tanh_gelu_back(grad_output, x):
    # The last term is 3 * 0.044715 * 0.79788456 = 0.1070322243, times x * x.
    t = torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
    return grad_output * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608 + 0.1070322243 * x * x))


def activate(x, approximate="none"):
    return F.gelu(x, approximate=approximate)
