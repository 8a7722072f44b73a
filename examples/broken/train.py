"""A step in mixed precision."""

import torch
import torch.nn.functional as F


def step(x, w1, w2):
    with torch.autocast("cuda", dtype=torch.float16):
        # GEL020: the checklist asks for tanh in fp16; the policy of this project is erf, so a person decides.
        return F.gelu(x @ w1, approximate="none") @ w2
