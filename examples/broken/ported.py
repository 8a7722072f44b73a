"""GELUs that came with ported code."""

import torch
import torch.nn.functional as F


def gelu_new(x):
    # GEL013: the same function as F.gelu(x, approximate="tanh").
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_erf(x):
    # GEL015: the name says erf, the code says tanh.
    return F.gelu(x, approximate="tanh")


def tanh_gelu_back(grad_output, x):
    # GEL016: the last term is 3 * 0.044715 * 0.79788456 = 0.1070322243, times x * x.
    t = torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
    return grad_output * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608 + 0.0170322243 * x * x))


def activate(x, approximate="none"):
    # GEL018: approximate="tanh" is accepted, and computes erf.
    return F.gelu(x, approximate="none")
