"""What identities are called: the same words in messages of the linter, of the probe and of gradient flow."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gelu_lint.handwritten import label
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS
from gelu_lint.numerics.match import UNKNOWN, Identity
from gelu_lint.runtime import gradient_flow, probe, told
from gelu_lint.runtime.identities import function_of, functions
from gelu_lint.runtime.phrases import explained, phrase

PHRASES = {
    "x·σ(1.699x) (quick GELU)": Identity("quick", parameter=1.699),
    "x·σ(1.702x) (quick GELU)": Identity("quick"),
    "x·σ(1.25x)": Identity("sigmoid_k", parameter=1.25, nearest="quick"),
    "x·Φ(x/1.3)": Identity("gelu_t", parameter=1.3, nearest="erf"),
    "the tanh GELU, clamped at −0.1": Identity("clipped", parameter=-0.1, nearest="tanh"),
    "the erf GELU, clamped": Identity("clipped", nearest="erf"),
    "the erf GELU, with a random mask": Identity("sparse", nearest="erf"),
    "the square of the erf GELU": Identity("squared", nearest="erf"),
    "the gate of the erf GELU, without its factor x": Identity("gate", nearest="erf", why="gate without x"),
    "the gate of x·σ(kx) or x·Φ(x/τ), parameter 1.3, without its factor x": Identity("gate", parameter=1.3),
    "nearly x·Φ(x)": Identity("near", nearest="erf", why="2 for √2"),
    "nearly the tanh GELU": Identity("near", nearest="tanh", why="0.44715 for 0.044715"),
    "no known GELU": UNKNOWN,
    **{label(name): Identity(name) for name in (*FLAVOURS, *OTHERS)},
}


@pytest.mark.parametrize("words", PHRASES)
def test_phrases(words: str) -> None:
    identity = PHRASES[words]
    assert phrase(identity) == words
    assert told(identity).startswith(words if identity.flavour == "near" else f"computes {words}")
    assert explained(identity) == (f"{words}: {identity.why}" if identity.flavour == "near" else words)


@pytest.mark.parametrize("flavour", ["sigmoid_k", "gelu_t"])
def test_a_family_whose_parameter_only_the_run_knows(flavour: str) -> None:
    assert phrase(Identity(flavour)) == "no known GELU"


def clamped(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x).clamp(max=2.0)


def near(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x / 2))


class Gelu(nn.Module):
    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "words"), [(clamped, "the erf GELU, clamped at 2"), (near, "nearly x·Φ(x)"), (F.silu, label("silu"))]
)
def test_gradient_flow_and_probe_use_them(function: object, words: str) -> None:
    flow = gradient_flow(function)
    assert words in flow.why and flow.rows[0].got == words
    assert f"  {words.removeprefix('the ')}  " in probe(Gelu(function), torch.randn(2, 3)).text()


@pytest.mark.parametrize("points", [(-3.0, -0.7, 0.0, 0.4, 2.5)])
@pytest.mark.parametrize(
    ("found", "computed"),
    [
        (Identity("gelu_t", parameter=1.3), lambda x: x * 0.5 * torch.erfc(-x / 1.3 / math.sqrt(2))),
        (Identity("sigmoid_k", parameter=0.8), lambda x: x * torch.sigmoid(0.8 * x)),
        (Identity("quick", parameter=1.69), lambda x: x * torch.sigmoid(1.69 * x)),
        ("quick", lambda x: x * torch.sigmoid(1.702 * x)),
        ("tanh", lambda x: F.gelu(x, approximate="tanh")),
        ("silu", F.silu),
    ],
)
def test_functions_and_slopes_of_identities(found: str | Identity, computed: object, points: tuple[float]) -> None:
    x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    y = computed(x)
    y.sum().backward()
    assert [function_of(found)(p) for p in points] == pytest.approx(y.tolist(), rel=1e-12, abs=1e-15)
    assert [function_of(found, slope=True)(p) for p in points] == pytest.approx(x.grad.tolist(), rel=1e-12, abs=1e-12)


def test_families_without_a_parameter_are_an_erf_and_a_quick_gelu() -> None:
    assert functions("gelu_t")[0](1.0) == pytest.approx(FLAVOURS["erf"].value(1.0), rel=1e-15)
    assert functions("sigmoid_k")[1](1.0) == pytest.approx(FLAVOURS["quick"].slope(1.0), rel=1e-15)
    with pytest.raises(KeyError):
        functions("gelu")


@pytest.mark.parametrize("found", [UNKNOWN, Identity("near", nearest="erf"), Identity("gate", nearest="erf")])
def test_no_function(found: Identity) -> None:
    with pytest.raises(ValueError, match="give the function itself"):
        function_of(found)


def test_no_such_name() -> None:
    with pytest.raises(KeyError, match="gelu_new"):
        function_of("gelu_new")
