"""The gradient-flow test of the release checklist, on torch's own GELU.

Slopes at 0 and 10 alone prove nothing: erf, tanh, quick GELU and SiLU all pass them. The other points tell
the flavours apart, and the second test proves that they do.
"""

import math

import pytest
import torch
import torch.nn.functional as F

FUNCTIONS = {
    "erf": lambda x: F.gelu(x, approximate="none"),
    "tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu": F.relu,
}

# (what, x, value, tolerance): true of every GELU that may go by that name without a qualifier
FACTS = [
    ("slope", 0.0, 0.5, 1e-9),
    ("slope", 10.0, 1.0, 1e-3),
    ("slope", -10.0, 0.0, 1e-6),
    ("slope", -math.sqrt(2), -0.129, 5e-4),
    ("value", -0.752, -0.170, 5e-4),
]
# where erf and tanh are farthest apart, 4.73e-4, and quick GELU 2e-2 from both
FLAVOUR = {
    "erf": [("value", -2.7, -0.009361, 1e-5), ("value", 2.7, 2.690639, 1e-5)],
    "tanh": [("value", -2.7, -0.008888, 1e-5), ("value", 2.7, 2.691112, 1e-5)],
}


def failures(function, facts):
    """The facts that do not hold for the function, in float64."""
    failed = []
    for what, at, want, tolerance in facts:
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        value = function(x)
        (slope,) = torch.autograd.grad(value, x)
        if not abs((slope if what == "slope" else value).item() - want) <= tolerance:  # nan fails too
            failed.append((what, at))
    return failed


@pytest.mark.parametrize("flavour", ["erf", "tanh"])
def test_gelu_gradient_flow(flavour):
    assert failures(FUNCTIONS[flavour], FACTS + FLAVOUR[flavour]) == []


@pytest.mark.parametrize("flavour", ["erf", "tanh"])
@pytest.mark.parametrize("wrong", FUNCTIONS)
def test_wrong_flavour_fails(flavour, wrong):
    everywhere = [("value", -2.7), ("value", 2.7)]
    expected = {"quick": FACTS[3:], "silu": FACTS[2:], "relu": [FACTS[0], *FACTS[3:]]}
    failed = [] if wrong == flavour else [fact[:2] for fact in expected.get(wrong, [])] + everywhere
    assert failures(FUNCTIONS[wrong], FACTS + FLAVOUR[flavour]) == failed


@pytest.mark.parametrize("wrong", ["tanh", "quick", "silu"])
def test_slopes_at_0_and_10_tell_nothing(wrong):
    assert failures(FUNCTIONS[wrong], FACTS[:2]) == []
