"""Live models: which activations they compute, what these are given out for, and that the model stays as it was.

The truth is torch's and transformers' own: what a row says of a function is compared with calls of that function.
"""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gelu_lint.cli import main
from gelu_lint.runtime import Activation, ProbeError, Report, probe
from gelu_lint.runtime.fused import KERNELS
from gelu_lint.runtime.recognise import recognise
from gelu_lint.runtime.variants import GELUT

TRUTH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "erf": partial(F.gelu, approximate="none"),
    "tanh": partial(F.gelu, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu": F.relu,
    "plain_tanh": torch.tanh,
}
X = torch.randn(3, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def flavours(report: Report) -> dict[str, str]:
    """The flavour by path, and by path and mode where only one mode computes it."""
    return {a.path if a.mode == "both" else f"{a.path} {a.mode}": a.identity.flavour for a in report.activations}


def holds(report: Report) -> None:
    """Each row's function has the values of the flavour that the row names."""
    x = torch.linspace(-9, 9, 1001, dtype=torch.float64)
    for found in report.activations:
        if found.identity.flavour in TRUTH:
            with torch.no_grad():
                gap = (found.function(x.to(torch.float32)).double() - TRUTH[found.identity.flavour](x)).abs().max()
            assert gap < 1e-5, found


def problem(model: nn.Module, *args: Any, **kwargs: Any) -> str:
    """The one problem of a model."""
    report = probe(model, *args, **kwargs)
    (only,) = report.problems
    return only


class Block(nn.Module):
    """A feed-forward block; ``act`` is a module or a function."""

    def __init__(self, act: Callable[..., Any]) -> None:
        super().__init__()
        self.fc1, self.fc2, self.act = nn.Linear(8, 8), nn.Linear(8, 8), act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(self.act(self.fc1(x)))


# What torch has


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(
    ("activation", "train", "fast"),
    [
        ("gelu", "erf", "erf"),
        (F.gelu, "erf", "erf"),
        (nn.GELU(), "erf", "erf"),
        (nn.GELU("tanh"), "tanh", "erf"),
        (partial(F.gelu, approximate="tanh"), "tanh", ""),
        ("relu", "relu", "relu"),
        (nn.SiLU(), "silu", ""),
    ],
)
def test_encoder_layers_in_training_and_on_the_fast_path(
    activation: Any, train: str, fast: str, batch_first: bool
) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, activation, batch_first=batch_first)
    source = torch.randn(2, 5, 16)
    report = probe(layer, source)
    holds(report)
    by_mode = {mode: {a.identity.flavour for a in report.activations if a.mode in (mode, "both")} for mode in MODES}
    taken = batch_first and fast != ""
    assert by_mode == {"train": {train}, "eval": {fast if taken else train}}
    assert [a.spelling == "fast path" for a in report.activations if a.mode == "eval"] == ([True] if taken else [])
    # torch itself: do the modes differ by more than rounding?
    with torch.no_grad():
        differ = bool((layer.train()(source) - layer.eval()(source)).abs().max() > 1e-5)
    assert differ == bool(report.problems) == (taken and train != fast)


MODES = ("train", "eval")


def test_a_stack_of_encoder_layers_names_each_and_says_what_is_wrong_once() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, activation=nn.GELU("tanh"), batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False))
    report = probe(model, torch.randn(2, 5, 16))
    wrong = [a.path for a in report.activations if a.problem]
    assert wrong == ["0.layers.0", "0.layers.1", "0.layers.2"]
    (said,) = report.problems
    assert "0.layers.* (3 of them) (in eval only): computes the erf GELU where activation.approximate='tanh'" in said
    assert said.endswith("off by up to 4.73e-4, at x = −2.7")


@pytest.mark.parametrize(("activation", "flavour"), [(nn.GELU("tanh"), "tanh"), (nn.GELU(), "erf")])
def test_a_decoder_of_torch_s_whose_activation_is_lost_when_its_layers_are_copied(
    activation: nn.Module, flavour: str
) -> None:
    layer = nn.TransformerDecoderLayer(16, 2, 32, 0.0, activation, batch_first=True)
    inputs = torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    assert flavours(probe(layer, *inputs)) == {"activation": flavour}
    report = probe(nn.TransformerDecoder(layer, 2), *inputs)
    # torch itself: a copy of the layer is a layer with ReLU
    plain = nn.TransformerDecoderLayer(16, 2, 32, 0.0, F.relu, batch_first=True)
    plain.load_state_dict(layer.state_dict())
    with torch.no_grad():
        lost = torch.equal(copy.deepcopy(layer)(*inputs), plain(*inputs))
    name, computed = ("layers.{}", "relu") if lost else ("layers.{}.activation", flavour)
    assert flavours(report) == {name.format(i): computed for i in (0, 1)}
    assert bool(report.problems) == lost
    if lost:
        assert f"layers.* (2 of them): computes ReLU where activation={activation!r} was given" in report.problems[0]


def test_a_gelu_at_the_end_of_a_long_way() -> None:
    class Long(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for i in range(100):
                x = x * 1.01 + 0.001 * torch.tanh(x - i)
            return F.gelu(x)

    (found,) = probe(Long(), X).activations
    assert (found.spelling, found.identity.flavour) == ("call", "erf")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_inside_a_fused_operation_is_asked_of_itself(name: str, dtype: torch.dtype) -> None:
    x = torch.linspace(-9, 9, 333, dtype=torch.float64).reshape(3, 111)
    tolerance = 4 * torch.finfo(dtype).eps
    for gelu, truth in ((True, F.gelu(x)), (False, F.relu(x))):
        inside = KERNELS[name].function(torch.device("cpu"), dtype, gelu)
        assert torch.allclose(inside(x), truth, rtol=tolerance, atol=tolerance)


def test_fused_products_with_a_gelu() -> None:
    class Fused(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch._addmm_activation(torch.zeros(8), x, torch.eye(8), use_gelu=True)

    (found,) = probe(Fused(), X).activations
    assert (found.callee, found.identity.flavour) == ("torch._addmm_activation", "erf")
    assert torch.allclose(found.function(X), F.gelu(X), atol=1e-6)


@pytest.mark.parametrize(
    ("act", "flavour", "spelling"),
    [
        (nn.GELU(), "erf", "module"),
        (nn.GELU("tanh"), "tanh", "module"),
        (F.gelu, "erf", "call"),
        (partial(F.gelu, approximate="tanh"), "tanh", "call"),
        (nn.SiLU(inplace=True), "silu", "module"),
        (F.silu, "silu", "call"),
        (nn.ReLU(inplace=True), "relu", "module"),
        (torch.relu_, "relu", "call"),
        (nn.Mish(), "mish", "module"),
        (lambda x: torch.clamp(F.gelu(x), -10, 10), "clipped", "formula"),
        (lambda x: F.silu(1.702 * x) / 1.702, "quick", "formula"),
        (lambda x: x * torch.special.ndtr(x), "erf", "formula"),
        (lambda x: x * torch.distributions.Normal(0.0, 1.0).cdf(x), "erf", "formula"),
        (lambda x: x.mul(0.5).mul_(torch.erf(x / math.sqrt(2)).add_(1)), "erf", "formula"),
        (lambda x: (lambda h: 0.5 * h * (1 + torch.erf(h / 2**0.5)))(3 * x), "erf", "formula"),
        (lambda x: x.float() * torch.sigmoid(1.702 * x.double()).to(x.dtype), "quick", "formula"),
    ],
)
def test_each_spelling_of_an_activation(act: Any, flavour: str, spelling: str) -> None:
    report = probe(Block(act), X)
    (found,) = report.activations
    assert (found.identity.flavour, found.spelling, found.mode, found.calls) == (flavour, spelling, "both", 1)
    assert found.path == ("act" if spelling == "module" else "")
    assert not report.problems
    holds(report)


def test_what_is_no_activation_is_not_listed() -> None:
    class Others(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.attention = nn.LSTM(8, 8), nn.MultiheadAttention(8, 2)
            self.norm, self.batch = nn.LayerNorm(8), nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h, _ = self.cell(x)
            h, _ = self.attention(h, h, h)
            h = self.batch(self.norm(F.dropout(h, 0.3, self.training)))
            h = torch.sigmoid(h) * h.exp().clamp(max=3) + 5 * torch.tanh(h / 5)
            return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6) * torch.cumsum(h, -1)

    assert probe(Others(), X).activations == ()


# What people type


def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * x**3)))


class Sigmoidal(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)


def named(name: str, formula: Callable[[torch.Tensor], torch.Tensor], kind: str) -> nn.Module:
    """A block whose activation is a formula in a function, or a module, of this name."""
    names: dict[str, Any] = {"formula": formula, "nn": nn}
    if kind == "function":
        exec(f"def {name}(x):\n    return formula(x)", names)
        return Block(names[name])
    exec(f"class {name}(nn.Module):\n    def forward(self, x):\n        return formula(x)", names)
    return Block(names[name]())


ROOT = math.sqrt(2 / math.pi)
#: Slips, with what is said of each. Errors are measured here, against torch, on a fine grid.
SLIPS = {
    "0.44715": (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.44715 * x**3))), "0.44715 for 0.044715", "tanh"),
    "0.789788": (lambda x: 0.5 * x * (1 + torch.tanh(0.789788 * (x + 0.044715 * x**3))), "0.789788 for √(2/π)", "tanh"),
    "2/π": (lambda x: 0.5 * x * (1 + torch.tanh(2 / math.pi * (x + 0.044715 * x.pow(3)))), " for √(2/π)", "tanh"),
    "√(2π)": (lambda x: 0.5 * x * (1 + torch.tanh(math.tau**0.5 * (x + 0.044715 * x**3))), "for √(2/π)", "tanh"),
    "no-root": (lambda x: 0.5 * x * (1 + torch.erf(x / 2)), "2 for √2", "erf"),
    "0.7701": (lambda x: 0.5 * x * (1 + torch.erf(0.7701 * x)), "0.7701 for 1/√2", "erf"),
    "scaled": (lambda x: x * torch.special.ndtr(x / math.sqrt(2)), "÷ 1.41421 too many", "erf"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), [("gelu", "function"), ("GELU", "class name")])
@pytest.mark.parametrize("slip", SLIPS)
def test_near_misses_under_the_name_of_gelu(slip: str, name: str, kind: str) -> None:
    formula, why, nearest = SLIPS[slip]
    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    far = float((formula(x) - TRUTH[nearest](x)).abs().max())
    report = probe(named(name, formula, kind), X)
    (found,) = report.activations
    assert (found.identity.flavour, found.identity.nearest, found.claim) == ("near", nearest, f"{kind} {name}")
    assert found.claimed == nearest
    assert f"under the name {name}: " in found.problem and why in found.problem
    assert f"off by up to {far:.3g}, at x = " in found.problem
    assert torch.equal(found.function(X), formula(X))


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (lambda x: 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**2))), "x**2 for x**3; off without bound"),
        (lambda x: x * (1 + torch.erf(x / math.sqrt(2))), "nearly x·Φ(x) under the name gelu: factor 0.5 missing"),
        (lambda x: 0.5 * x * torch.erfc(x / math.sqrt(2)), "a sign is flipped"),
        (lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))), "computes the gate of the erf GELU under the name gelu"),
        (lambda x: x * torch.sigmoid(x), "computes x·σ(x) (SiLU) under the name gelu: off by up to 0.193"),
        (
            lambda x: x * torch.sigmoid(1.2 * x),
            "x·σ(1.2x) under the name gelu: off by up to 0.122, at x = −1.87",
        ),
        (F.elu, "computes ELU under the name gelu"),
        (F.relu, "computes ReLU under the name gelu: off by up to 0.17, at x = −0.752"),
        (lambda x: F.gelu(x).square(), "computes the square of the erf GELU under the name gelu"),
        (lambda x: 0.5 * x * (1 + torch.tanh(x * x + 0.3)), "computes no known GELU under the name gelu; nearest is"),
        (lambda x: x / (1 + torch.exp(-1.702 * x)), "off by up to 0.0203, at x = −2.27"),
    ],
)
def test_other_functions_under_the_name_of_gelu(formula: Any, said: str) -> None:
    assert said in problem(named("gelu", formula, "function"), X)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("gelu", TRUTH["erf"]),
        ("gelu", TRUTH["tanh"]),
        ("gelu", lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * x * (1 + 0.0447 * x * x)))),
        ("QuickGELU", TRUTH["quick"]),
        ("fast_gelu", TRUTH["quick"]),
        ("gelu_new", TRUTH["tanh"]),
        ("gelu_accurate", TRUTH["tanh"]),
        ("ClippedGELU", lambda x: F.gelu(x).clamp(-10, 10)),
        ("ScaledGELU", lambda x: 1.7015 * F.gelu(x)),
        ("gelu_with_scale", lambda x: 1.7015 * F.gelu(x)),
        ("TemperedGELU", lambda x: x * torch.special.ndtr(x / 1.3)),
        ("phi", lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2)))),
        ("swish", lambda x: x * torch.sigmoid(1.2 * x)),
        ("snake", lambda x: x + torch.sin(x).square()),
        ("laplace", lambda x: 0.5 * (1 + torch.erf((x - 0.7071) / 0.2821 / math.sqrt(2)))),
    ],
)
@pytest.mark.parametrize("kind", ["function", "class name"])
def test_what_is_what_its_name_says_is_no_problem(name: str, formula: Any, kind: str) -> None:
    assert not probe(named(name, formula, kind), X).problems


#: What is done to torch's GELU, with what is then said; errors against torch's on a fine grid, up to |x| = 12.
DONE = {
    "twice": (lambda x: 2 * F.gelu(x), "nearly x·Φ(x) under the name {}: × 2 too many"),
    "of twice": (lambda x: F.gelu(2 * x), "nearly x·Φ(x) under the name {}: × 2 too many"),
    "quick": (lambda x: F.gelu(1.702 * x) / 1.702, "nearly x·σ(1.702x) under the name {}: Φ for σ"),
    "tempered": (lambda x: F.gelu(x / 1.3) * 1.3, "computes x·Φ(x/1.3) under the name {}: off by up to 0.0871"),
    "residual": (lambda x: x + F.gelu(x), "computes no known GELU under the name {}"),
    "of SiLU": (lambda x: 2 * F.silu(x), "computes no known GELU under the name {}"),
}


@pytest.mark.parametrize(("name", "kind"), [("gelu", "function"), ("GELU", "class name"), ("MyGelu", "class name")])
@pytest.mark.parametrize("done", DONE)
def test_arithmetic_around_a_gelu_under_its_name_is_what_has_the_name(done: str, name: str, kind: str) -> None:
    formula, said = DONE[done]
    report = probe(named(name, formula, kind), X)
    (found,) = report.activations
    assert found.problem.startswith(said.format(name)) and found.claim == f"{kind} {name}"
    assert torch.allclose(found.function(X), formula(X))
    for other in ("gelu_with_scale", "scale_gelu", "GeluBlock", "residual_gelu"):  # these say that they do more
        if done != "of SiLU":
            assert not probe(named(other, formula, kind), X).problems


def test_arithmetic_around_a_gelu_that_is_no_part_of_what_has_the_name() -> None:
    class GeluMLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc2(2 * F.gelu(1.5 * self.fc1(x)))

    class GELU(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.drop(F.gelu(x))

    def bias_gelu(x: torch.Tensor) -> torch.Tensor:
        return 2 * F.gelu(x + torch.arange(8.0))

    for model in (GeluMLP(), Block(GELU()), Block(bias_gelu), Block(lambda x: 3 * GELU()(2 * x))):
        report = probe(model, X)
        assert {a.identity.flavour for a in report.activations} == {"erf"} and not report.problems


@pytest.mark.parametrize("learnable", [False, True])
def test_a_gelu_with_a_temperature_is_told_by_its_values(learnable: bool) -> None:
    act = GELUT(1.3, learnable=learnable)
    for report in (probe(Block(act), X), probe(Block(act))):
        (found,) = report.activations
        assert (found.path, found.identity.flavour, found.function) == ("act", "gelu_t", act) and not report.problems
        assert found.claim == ""
        assert found.identity.parameter == pytest.approx(1.3)


def test_names_that_say_which_gelu_are_held_to_it() -> None:
    for name, formula, said in (
        (
            "quick_gelu",
            F.gelu,
            "the erf GELU under the name {}, which says x·σ(1.702x) (quick GELU): off by up to 0.0203",
        ),
        ("GELUTanh", F.gelu, "the erf GELU under the name {}, which says the tanh GELU: off by up to 4.73e-4"),
        (
            "FastGELU",
            F.gelu,
            "the erf GELU under the name {}, which says the tanh GELU or x·σ(1.702x) (quick GELU): off",
        ),
        ("gelu_exact", TRUTH["tanh"], "the tanh GELU under the name {}, which says the erf GELU: off by up to 4.73e-4"),
    ):
        for kind in ("function", "class"):
            assert f"computes {said.format(name)}" in problem(named(name, formula, kind), X)

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.gelu = nn.Linear(8, 8), nn.SiLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.gelu(self.fc(x))

    assert problem(Head(), X).startswith("gelu: computes x·σ(x) (SiLU) under the name gelu")


def test_a_formula_without_a_name_in_a_forward() -> None:
    class Inline(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.fc(x)
            h = 0.5 * h * (1 + torch.tanh(ROOT * (h + 0.44715 * h**3)))
            return self.fc(h)

    (found,) = probe(Inline(), X).activations
    assert found.problem.startswith("nearly the tanh GELU: 0.44715 for 0.044715; off by up to 0.0932")
    assert (found.spelling, found.claim) == ("formula", "") and found.callee.endswith("forward")


def test_gated_units() -> None:
    class GEGLU(nn.Module):
        def __init__(self, act: Any) -> None:
            super().__init__()
            self.proj, self.act = nn.Linear(8, 16), act

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value, gate = self.proj(x).chunk(2, dim=-1)
            return value * self.act(gate)

    class SwiGLU(GEGLU):
        pass

    (right,) = probe(GEGLU(F.gelu), X).activations
    assert (right.identity.flavour, right.claim, right.problem) == ("erf", "class name GEGLU", "")
    assert "computes x·σ(x) (SiLU) under the name GEGLU" in problem(GEGLU(F.silu), X)
    for act in (F.silu, lambda x: x * torch.sigmoid(x), nn.SiLU()):
        report = probe(SwiGLU(act), X)
        assert [a.identity.flavour for a in report.activations] == ["silu"] and not report.problems


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_gated_units_whose_product_is_taken_in_another_order(order: int) -> None:
    class GEGLU(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            u, g = x.chunk(2, dim=-1)
            gate = torch.erf(g / math.sqrt(2)) + 1
            if order < 2:
                return 1.5 * u * g * 0.5 * gate if order else u * g * 0.5 * gate
            return 0.5 * u * gate * g if order == 2 else (g * u) * gate / 2

    class SwiGLU(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            u, g = x.chunk(2, dim=-1)
            return u * g * torch.sigmoid(g)

    report = probe(GEGLU(), X)
    assert flavours(report) == {"": "erf"} and not report.problems
    holds(report)
    assert flavours(probe(SwiGLU(), X)) == {"": "silu"}


def test_what_a_gated_unit_computes_besides_its_gelu() -> None:
    class GEGLU(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            u, g = x.chunk(2, dim=-1)
            return F.gelu(g) * (u * torch.tanh(u))

    assert flavours(probe(GEGLU(), X)) == {"": "erf"} and not probe(GEGLU(), X).problems


def test_operations_that_write_into_a_given_tensor() -> None:
    class Out(nn.Module):
        def __init__(self, formula: bool) -> None:
            super().__init__()
            self.formula, self.fc = formula, nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.fc(x)
            held = torch.empty_like(h)
            if not self.formula:
                return self.fc(torch._C._nn.gelu(h, approximate="tanh", out=held))
            torch.erf(h / math.sqrt(2), out=held)
            torch.add(held, 1, out=held)
            return self.fc(torch.mul(held * 0.5, h, out=held))

    assert flavours(probe(Out(False), X)) == {"": "tanh"}
    assert flavours(probe(Out(True), X)) == {"": "erf"}


def test_constants_that_are_computed_and_parameters_of_one_element() -> None:
    class Constants(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(0.3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x * torch.distributions.Normal(torch.zeros(8), torch.ones(8)).cdf(x) * F.gelu(self.scale)
            one, root = torch.ones_like(x), x.new_full((8,), math.sqrt(2))
            return x * x.new_tensor([0.5]) * (one + torch.erf(x / root))

    found = probe(Constants(), X).activations
    assert [(a.identity.flavour, a.spelling) for a in found] == [("erf", "formula"), ("erf", "call")]
    assert found[0].calls == 2


def test_generators_are_asked() -> None:
    class Steps(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            while True:
                x = gelu(x)
                yield x

    (found,) = probe(Steps(), X).activations
    assert found.identity.flavour == "near" and found.problem


def test_other_threads_are_told() -> None:
    class Threads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.GELU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(self.act, x).result()

    report = probe(Threads(), X)
    assert report.notes == ("1 module ran in another thread, where operations are not seen: act",)


def test_properties_that_raise() -> None:
    class Raises(nn.Module):
        @property
        def approximate(self) -> str:
            raise RuntimeError("no")

        config = activation = approximate

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.gelu(x)

    assert flavours(probe(Raises(), X)) == {"": "erf"} and flavours(probe(Raises())) == {"": "erf"}


def test_gradients_and_memory_that_a_forward_changes_are_put_back() -> None:
    class Backward(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                F.gelu(self.other(self.fc(x))).sum().backward()
            return x

    class Swaps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.batch = nn.Linear(8, 8), nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.fc.weight.data = self.fc.weight.data * 2
            self.batch.running_mean.data = torch.ones(8)
            self.fc.weight.requires_grad_(False)
            return F.gelu(self.batch(self.fc(x)))

    swaps = Swaps()
    before, memory = copy.deepcopy(swaps.state_dict()), swaps.fc.weight.data_ptr()
    assert flavours(probe(swaps, X)) == {"": "erf"}
    assert all(torch.equal(before[name], now) for name, now in swaps.state_dict().items())
    assert swaps.fc.weight.requires_grad and swaps.fc.weight.data_ptr() == memory
    model = Backward()
    held = model.fc.weight.grad = torch.ones(8, 8)
    assert flavours(probe(model, X)) == {"": "erf"}
    assert model.fc.weight.grad is held and torch.equal(held, torch.ones(8, 8)) and model.other.weight.grad is None


def test_fused_functions_are_held_to_their_names() -> None:
    class Fused(nn.Module):
        def __init__(self, act: Any) -> None:
            super().__init__()
            self.fc, self.bias, self.act = nn.Linear(8, 8, bias=False), nn.Parameter(torch.ones(8)), act

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.act(self.bias, self.fc(x))

    def bias_gelu(bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = y + bias
        return x * torch.sigmoid(1.702 * x)

    def bias_dropout(bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.silu(y + bias)

    assert "computes x·σ(1.702x) (quick GELU) under the name bias_gelu" in problem(Fused(bias_gelu), X)
    assert not probe(Fused(bias_dropout), X).problems


class _Straight(torch.autograd.Function):
    """The values of quick GELU with the gradient of the identity."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0]


def quick_gelu(x: torch.Tensor) -> torch.Tensor:
    return _Straight.apply(x)


def test_functions_keep_the_gradients_that_they_have() -> None:
    x = torch.linspace(-3, 3, 7, requires_grad=True)
    for act, slope in ((quick_gelu, torch.ones(7)), (Block(F.silu).act, None), (lambda x: x * torch.sigmoid(x), None)):
        (found,) = probe(Block(act), X).activations
        (grad,) = torch.autograd.grad(found.function(x).sum(), x)
        (want,) = torch.autograd.grad(F.silu(x).sum(), x) if slope is None else (slope,)
        assert torch.allclose(grad, want, atol=1e-6), found


# Where it is


def test_paths_and_calls() -> None:
    shared = nn.GELU()

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(shared), Block(shared)])
            self.table = nn.ModuleDict({"tanh": nn.GELU("tanh"), "unused": nn.GELU()})
            self.tail = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.SiLU()))

        def forward(self, x: torch.Tensor, *, again: int) -> torch.Tensor:
            for block in self.blocks:
                x = block(x)
            for _ in range(again):
                x = self.table["tanh"](self.tail(x))
            return x

    report = probe(Net(), X, again=3)
    assert {a.path: a.calls for a in report.activations} == {
        "blocks.0.act": 1, "blocks.1.act": 1, "tail.1.0": 3, "table.tanh": 3,
    }  # fmt: skip
    assert report.notes == ("1 activation module never ran on these inputs: table.unused",)


def test_modules_that_are_in_each_other_and_deep_ones() -> None:
    inner = Block(nn.GELU())
    outer = nn.Sequential(nn.Linear(8, 8), inner)
    inner.outer = outer
    assert [a.path for a in probe(outer, X).activations] == ["1.act"]
    many = nn.Sequential(*(Block(nn.GELU() if i % 2 else gelu) for i in range(200)))
    report = probe(many, X)
    assert len(report.activations) == 200 and len(report.problems) == 1
    assert len(report.text().splitlines()) == 6  # heads, two kinds, nothing, the problem, the summary


def test_what_only_one_mode_computes() -> None:
    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.gelu(x) if self.training else F.gelu(x, approximate="tanh")

    assert flavours(probe(nn.Sequential(nn.Linear(8, 8), Two()), X)) == {"1 train": "erf", "1 eval": "tanh"}
    report = probe(nn.Sequential(nn.BatchNorm1d(8), nn.GELU()), X[:1])
    assert flavours(report) == {"1 eval": "erf"}
    assert report.notes[0].startswith("the model cannot be run in train mode: ValueError: Expected more than 1 value")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    class Constants(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)
            self.register_buffer("root", torch.tensor(ROOT))
            self.register_buffer("cubic", torch.tensor(0.044715))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.fc(x)
            return 0.5 * h * (1 + torch.tanh(self.root * (h + self.cubic * h**3)))

    model = nn.Sequential(Constants(), Block(nn.GELU("tanh")), Block(gelu), Block(F.gelu)).to(dtype)
    report = probe(model, X.to(dtype))
    assert [a.identity.flavour for a in report.activations] == ["tanh", "tanh", "near", "erf"]
    assert len(report.problems) == 1


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_compiled_and_wrapped_models() -> None:
    plain = Block(nn.GELU("tanh"))
    for model, path in (
        (torch.compile(plain), "act"),
        (nn.Sequential(torch.compile(plain)), "0._orig_mod.act"),
        (nn.DataParallel(plain), "act"),
    ):
        assert flavours(probe(model, X)) == {path: "tanh"}


@pytest.mark.filterwarnings("ignore:.*(torch.jit|torch.ao|torch.quant):DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
def test_scripted_traced_and_quantized_models() -> None:
    plain = Block(nn.GELU("tanh"))
    for model in (torch.jit.script(plain), torch.jit.trace(plain, X)):
        report = probe(nn.Sequential(model), X)
        assert flavours(report) == {"0": "tanh"} and plain.training
    assert flavours(probe(torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}), X)) == {"act": "tanh"}


def test_models_on_the_meta_device() -> None:
    assert flavours(probe(Block(nn.GELU("tanh")).to("meta"), X)) == {"act": "tanh"}


# Without inputs


def test_without_inputs_modules_are_asked_and_the_report_says_so() -> None:
    class GELU(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 0.5 * x * (1 + torch.erf(x / 2))

    model = nn.Sequential(
        nn.Linear(8, 8), nn.GELU(), Block(nn.GELU("tanh")), GELU(), nn.Dropout(), nn.Softmax(-1), nn.LayerNorm(8),
        nn.Identity(), nn.SiLU(),
    )  # fmt: skip
    report = probe(model)
    assert flavours(report) == {"1": "erf", "2.act": "tanh", "3": "near", "8": "silu"}
    assert report.problems == ("3: nearly x·Φ(x) under the name GELU: 2 for √2; off by up to 0.119, at x = −1.68",)
    assert "only activation modules were asked" in report.notes[0]
    assert model.training and all(module.training for module in model.modules())


def test_without_inputs_those_that_a_model_brings_are_used() -> None:
    class Own(Block):
        dummy_inputs = {"input_ids": X}  # noqa: RUF012

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return F.gelu(super().forward(input_ids))

    report = probe(Own(nn.GELU("tanh")))
    assert flavours(report) == {"act": "tanh", "": "erf"} and not report.notes
    model, _ = hugging_face("BertModel", {}, **TEXT)
    assert probe(model).rows() == probe(model, **model.dummy_inputs).rows() and not probe(model).notes


# Configurations


class Config:
    def __init__(self, **keys: Any) -> None:
        self.__dict__.update(keys)


class Configured(nn.Module):
    def __init__(self, config: Any, *acts: Any) -> None:
        super().__init__()
        self.config = config
        self.blocks = nn.ModuleList(map(Block, acts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


@pytest.mark.parametrize("config", [Config(hidden_act="gelu"), {"hidden_act": "gelu"}], ids=["object", "mapping"])
def test_a_configuration_that_says_another_gelu(config: Any) -> None:
    said = "computes x·σ(1.702x) (quick GELU) where config.hidden_act='gelu' says the erf GELU: off by up to 0.0203"
    assert said in problem(Configured(config, Sigmoidal(), Sigmoidal()), X)
    report = probe(Configured(config, nn.GELU(), Sigmoidal()), X)
    assert [a.path for a in report.activations if a.problem] == ["blocks.1.act"]
    assert all(a.claim == "config.hidden_act='gelu'" for a in report.activations)
    assert not probe(Configured(config, nn.GELU(), F.gelu), X).problems


def test_a_configuration_of_other_parts_and_of_nothing() -> None:
    config = Config(hidden_act="gelu", projector_hidden_act="gelu_new")
    report = probe(Configured(config, nn.GELU(), nn.GELU("tanh")), X)
    assert [a.claim for a in report.activations] == [
        "config.hidden_act='gelu'",
        "config.projector_hidden_act='gelu_new'",
    ]
    assert not report.problems
    report = probe(Configured(Config(hidden_act="gelu"), nn.ReLU()), X)
    assert not report.problems
    assert report.notes == ("config.hidden_act='gelu' names the erf GELU, which nothing here computes",)
    for value in (None, "gelu_10", "no_such", F.gelu):
        assert not probe(Configured(Config(hidden_act=value), Sigmoidal()), X).problems
    assert not probe(Configured(Config(), Sigmoidal()), X).problems


# Hugging Face: tiny models with random weights

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
IDS = {"input_ids": torch.tensor([[1, 2, 3, 4, 5, 6]])}
PIXELS = {"pixel_values": torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))}
TEXT = {**SIZES, "vocab_size": 50}
VISION = {**SIZES, "image_size": 16, "patch_size": 8}


def hugging_face(
    name: str, inputs: dict[str, torch.Tensor], **settings: Any
) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, name)
    return model(model.config_class(**settings)), inputs


@pytest.mark.parametrize(
    ("act", "flavour"),
    [
        *(("gelu", "erf"), ("gelu_python", "erf"), ("gelu_new", "tanh"), ("gelu_fast", "tanh")),
        *(("gelu_pytorch_tanh", "tanh"), ("gelu_accurate", "tanh"), ("quick_gelu", "quick"), ("silu", "silu")),
        *(("relu", "relu"), ("gelu_10", "clipped")),
    ],
)
def test_bert(act: str, flavour: str) -> None:
    model, inputs = hugging_face("BertModel", IDS, **TEXT, hidden_act=act)
    report = probe(model, **inputs)
    holds(report)
    place = "encoder.layer.{}.intermediate.intermediate_act_fn"
    assert flavours(report) == {place.format(0): flavour, place.format(1): flavour, "pooler.activation": "plain_tanh"}
    assert not report.problems and not report.notes
    # the registry itself agrees
    layer = model.encoder.layer[0].intermediate.intermediate_act_fn
    assert recognise(layer).flavour == flavour
    if act != "gelu_10":
        assert report.activations[0].claim == f"config.hidden_act={act!r}"


@pytest.mark.parametrize(
    ("name", "inputs", "settings", "flavour"),
    [
        ("GPT2Model", IDS, {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50}, "tanh"),
        ("OpenAIGPTModel", IDS, {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50}, "tanh"),
        ("AlbertModel", IDS, {**TEXT, "embedding_size": 8}, "tanh"),
        ("RobertaForMaskedLM", IDS, TEXT, "erf"),
        ("DistilBertModel", IDS, {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 50}, "erf"),
        ("EsmModel", IDS, {**TEXT, "pad_token_id": 0, "mask_token_id": 3}, "erf"),
        ("BloomModel", IDS, {"hidden_size": 16, "n_layer": 2, "n_head": 2, "vocab_size": 50}, "tanh"),
        ("GemmaModel", IDS, {**TEXT, "head_dim": 8, "num_key_value_heads": 1, "pad_token_id": 0}, "tanh"),
        ("Gemma2Model", IDS, {**TEXT, "head_dim": 8, "num_key_value_heads": 1, "pad_token_id": 0}, "tanh"),
        ("LlamaModel", IDS, TEXT, "silu"),
        ("PhiModel", IDS, TEXT, "tanh"),
        ("GPTNeoXModel", IDS, TEXT, "erf"),
        ("ViTModel", PIXELS, VISION, "erf"),
        ("Dinov2Model", PIXELS, {**VISION, "use_swiglu_ffn": True}, "silu"),
        ("CLIPVisionModel", PIXELS, VISION, "quick"),
        ("CLIPTextModel", IDS, TEXT, "quick"),
        ("SiglipVisionModel", PIXELS, VISION, "tanh"),
    ],
)  # fmt: skip
def test_families(name: str, inputs: Any, settings: Any, flavour: str) -> None:
    model, given = hugging_face(name, inputs, **settings)
    report = probe(model, **given)
    holds(report)
    assert not report.problems
    assert {a.identity.flavour for a in report.activations} - {"plain_tanh"} == {flavour}


@pytest.mark.parametrize(
    ("value", "flavour"), [("relu", "relu"), ("gated-gelu", "tanh"), ("gelu", "erf"), ("gated-silu", "silu")]
)
def test_t5(value: str, flavour: str) -> None:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "vocab_size": 50}
    model, _ = hugging_face("T5ForConditionalGeneration", {}, **sizes, feed_forward_proj=value)
    report = probe(model, **IDS, decoder_input_ids=IDS["input_ids"])
    assert len(report.activations) == 4 and not report.problems
    assert {(a.identity.flavour, a.claim) for a in report.activations} == {
        (flavour, f"config.feed_forward_proj={value!r}")
    }


def test_clip_has_two_configurations() -> None:
    transformers = pytest.importorskip("transformers")
    text, vision = {**TEXT, "hidden_act": "gelu"}, {**VISION, "hidden_act": "quick_gelu"}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8))
    report = probe(model, **IDS, **PIXELS)
    assert not report.problems
    assert {(a.path.split("_")[0], a.identity.flavour) for a in report.activations} == {
        ("vision", "quick"),
        ("text", "erf"),
    }
    model.config.text_config.hidden_act = "quick_gelu"
    assert "where config.hidden_act='quick_gelu' says the quick GELU" in problem(model, **IDS, **PIXELS)


def test_a_checkpoint_s_code_that_computes_another_gelu_than_its_configuration_says() -> None:
    model, inputs = hugging_face("BertModel", IDS, **TEXT)
    for layer in model.encoder.layer:
        layer.intermediate.intermediate_act_fn = Sigmoidal()
    said = problem(model, **inputs)
    assert said.startswith("encoder.layer.*.intermediate.intermediate_act_fn (2 of them): computes x·σ(1.702x)")
    assert "config.hidden_act='gelu' says the erf GELU" in said


# What is left behind


def test_the_model_and_its_surroundings_are_left_as_they_were() -> None:
    class Restless(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.drop, self.act = nn.BatchNorm1d(8), nn.Dropout(), nn.GELU()
            self.table = nn.Embedding(4, 8, max_norm=0.1)
            self.count, self.seen = 0, []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            self.seen.append(x)
            self.cache = x
            self.added = nn.Parameter(torch.ones(1))
            torch.set_default_dtype(torch.float64)
            random.random()
            np.random.rand()
            x.add_(1)
            return self.act(self.drop(self.norm(x + self.table(torch.tensor([1, 2, 3])))))

    model = Restless()
    model.drop.eval()
    model.norm.weight.requires_grad_(False)
    calls: list[str] = []
    hook = model.act.register_forward_hook(lambda *_: calls.append("act"))
    state = {key: value.clone() for key, value in model.state_dict().items()}
    flags = [module.training for module in model.modules()]
    held = [set(vars(module)) for module in model.modules()]
    given = X.clone()
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist(), torch.get_default_dtype()
    report = probe(model, given)
    assert flavours(report) == {"act": "erf"}
    assert torch.equal(given, X)
    assert list(model.state_dict()) == list(state)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == flags
    assert [set(vars(module)) for module in model.modules()] == held
    assert (model.count, model.seen) == (0, [])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_default_dtype()) == states[1:]
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    assert not nn.modules.module._global_forward_hooks and not nn.modules.module._global_forward_pre_hooks
    assert list(model.act._forward_hooks.values()) and calls == ["act", "act"]
    hook.remove()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_model_is_left_as_it_was_when_it_fails() -> None:
    class Failing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.norm(x)
            raise RuntimeError("no\nmore")

    model = Failing()
    with pytest.raises(ProbeError, match=r"cannot be run on these inputs: RuntimeError: no$") as caught:
        probe(model, X)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert model.training and torch.equal(model.norm.running_mean, torch.zeros(8))
    assert not nn.modules.module._global_forward_hooks


def test_what_cannot_be_probed() -> None:
    with pytest.raises(ProbeError, match=r"an nn\.Module is needed, not an object of the class function"):
        probe(gelu, X)
    with pytest.raises(ProbeError, match="lazy parameters"):
        probe(nn.Sequential(nn.LazyLinear(4), nn.GELU()), X)


def test_models_that_differentiate_in_their_forward() -> None:
    class Force(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.requires_grad_(True)
            return torch.autograd.grad(self.net(x).sum(), x)[0]

    assert flavours(probe(Force(), X)) == {"net.1": "erf"}
    with torch.inference_mode():
        assert flavours(probe(Block(nn.GELU()), X)) == {"act": "erf"}


def test_gradients_that_a_forward_makes_are_taken_back() -> None:
    class Learner(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            y.sum().backward()
            return y

    model = Learner(nn.GELU())
    model.fc1.weight.grad = kept = torch.full_like(model.fc1.weight, 7.0)
    assert flavours(probe(model, X)) == {"act": "erf"}
    assert model.fc1.weight.grad is kept and bool((kept == 7).all()) and model.fc1.bias.grad is None


def test_activations_of_torch_that_are_no_flavour_are_listed() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Hardswish(), nn.ReLU6(), nn.Dropout())
    for report in (probe(model, X), probe(model)):
        assert flavours(report) == {"1": "unknown", "2": "unknown"} and not report.problems
        assert "no known GELU" in report.text()


# Reports and the command


def test_rows_are_data_and_the_text_is_a_table() -> None:
    report = probe(nn.Sequential(Block(nn.GELU()), Block(nn.GELU()), Block(gelu)), X)
    rows = json.loads(json.dumps(report.rows(), allow_nan=False))
    assert [row["path"] for row in rows] == ["0.act", "1.act", "2"]
    assert rows[2]["flavour"] == "near" and rows[2]["verdict"] == "wrong" and "0.44715" in rows[2]["problem"]
    assert {"verdict": "right", "claim": "approximate='none'", "claimed": "erf"}.items() <= rows[0].items()
    lines = report.text().splitlines()
    assert lines[0].split() == ["path", "computes", "spelling", "by", "calls", "claim", "verdict"]
    assert lines[1].split() == ["*.act", "(2)", "erf", "GELU", "module", "nn.GELU", "2", "approximate='none'", "right"]
    assert lines[-1] == "3 activations, 1 problem"
    assert probe(nn.Linear(8, 8), X).text() == "no activation found"
    assert isinstance(report.activations[0], Activation)


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of factories in the current directory."""
    (tmp_path / "probed_zoo.py").write_text(
        "import torch\nfrom torch import nn\n\nprint('imported')\n\n\ndef right():\n    print('built')\n"
        "    return nn.Sequential(nn.Linear(2, 2), nn.GELU()), torch.ones(1, 2)\n\n\ndef wrong():\n"
        "    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=nn.GELU('tanh'), batch_first=True)\n"
        "    return layer, torch.ones(1, 3, 8)\n\n\ndef broken():\n    return nn.Linear(2, 2), torch.ones(1, 3)\n\n\n"
        "def bare():\n    return nn.GELU()\n\n\nclass Calls(nn.Module):\n    def forward(self, x):\n"
        "        return nn.functional.gelu(self.fc(x))\n\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n\n\ndef none():\n    return nn.Linear(2, 2), torch.ones(1, 2)\n\n\n"
        "def interrupted():\n    raise KeyboardInterrupt\n\n\n"
        "class Leaves(nn.Module):\n    def forward(self, x):\n        raise SystemExit(0)\n\n\n"
        "def leaves():\n    return Leaves(), torch.ones(1, 2)\n\n\nasync def later():\n    return nn.GELU()\n"
    )
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("probed_zoo", None)


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["probed_zoo:right"], 0, "1 activation, no problem\n", "imported\nbuilt\n"),
        (["probed_zoo.py:wrong"], 1, "2 activations, 1 problem\n", "imported\n"),
        (
            ["probed_zoo:bare"],
            0,
            "1 activation, no problem\n",
            "gelu-lint: probed_zoo:bare: only activation modules",
        ),
        (
            ["probed_zoo:Calls"],
            2,
            "",
            "gelu-lint: probed_zoo:Calls: without inputs only activation modules are seen, and it has none: write a "
            "factory that returns the model and its inputs, such as `return Model(), torch.randn(2, 8)`\n",
        ),
        (["probed_zoo:none"], 0, "no activation found\n", ""),
        (
            ["probed_zoo:broken"],
            2,
            "",
            "gelu-lint: probed_zoo:broken: the model cannot be run on these inputs: RuntimeE",
        ),
        (["probed_zoo:interrupted"], 130, "", "gelu-lint: interrupted\n"),
        (["probed_zoo:leaves"], 2, "", "the model cannot be run on these inputs: SystemExit: 0\n"),
        (["probed_zoo:later"], 2, "", "gelu-lint: probed_zoo:later is asynchronous: a factory is a plain function\n"),
        (["probed_zoo:rihgt"], 2, "", "gelu-lint: probed_zoo has no 'rihgt' (did you mean 'right'?)\n"),
        (["probed_zoo"], 2, "", "gelu-lint: 'probed_zoo' names no factory: write MODULE:FACTORY"),
    ],
)
@pytest.mark.usefixtures("zoo")
def test_the_command(words: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", *words]) == code
    said = capsys.readouterr()
    assert said.out.endswith(out) and bool(said.out) == bool(out) and "imported" not in said.out
    assert err in said.err


@pytest.mark.usefixtures("zoo")
def test_the_command_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "probed_zoo:wrong", "--output-format", "json"]) == 1
    assert [row["spelling"] for row in json.loads(capsys.readouterr().out)] == ["module", "fast path"]


@pytest.mark.usefixtures("zoo")
def test_the_command_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["probe", "probed_zoo:right"]) == 2
    wanted = "gelu-lint: torch is not installed: `pip install 'gelu-lint[pytest]'` brings it\n"
    assert capsys.readouterr() == ("", wanted)


def test_probing_does_not_load_torch_s_compiler(tmp_path: Path) -> None:
    code = (
        "import sys, torch\nfrom torch import nn\nfrom gelu_lint.runtime import probe, recognise\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "assert probe(nn.Sequential(nn.Linear(2, 2), nn.GELU()), torch.ones(1, 2)).activations\n"
        "recognise(lambda x: x * torch.special.ndtr(x / 2))\nprint('torch._dynamo' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout == "False\n"
