"""The formulas of a trace, against the tensors that the same operations give."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from gelu_lint.numerics.evaluate import columns, steps
from gelu_lint.runtime import trace as module
from gelu_lint.runtime.operations import OPERATIONS
from gelu_lint.runtime.trace import trace

aten = torch.ops.aten
X = torch.tensor([-3.7, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5, 6.0], dtype=torch.float64)

FOLLOWED = {
    "erf": torch.erf, "erfc": torch.erfc, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1,
    "sqrt": lambda x: x.abs().sqrt(), "rsqrt": lambda x: (x.abs() + 1).rsqrt(), "square": torch.square,
    "log": lambda x: (x + 9).log(), "log1p": lambda x: torch.log1p(x + 4), "log2": lambda x: torch.log2(x + 9),
    "reciprocal": lambda x: (x + 9).reciprocal(), "neg": torch.neg, "abs": torch.abs, "sign": torch.sign,
    "sgn": torch.sgn, "floor": torch.floor, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu,
    "ndtr": torch.special.ndtr, "special_log_ndtr": torch.special.log_ndtr,
    "special_erfcx": torch.special.erfcx, "log_sigmoid_forward": F.logsigmoid,
    "add": lambda x: torch.add(x, torch.exp(x), alpha=0.3), "add a number": lambda x: 1 + x,
    "sub": lambda x: torch.sub(x, torch.exp(x), alpha=2), "rsub": lambda x: torch.rsub(x, 1, alpha=3),
    "mul": lambda x: x * (1 * x) * torch.tensor(0.5), "div": lambda x: x / 3,
    "div floor": lambda x: torch.div(x, 2, rounding_mode="floor"), "floor_divide": lambda x: x // 2,
    "1 / x": lambda x: 1 / (1 + torch.exp(-x)), "pow": lambda x: x**3, "pow of a number": lambda x: 2**x,
    "pow of tensors": lambda x: x.abs() ** x, "float_power": lambda x: torch.float_power(x, 2),
    "addcmul": lambda x: torch.addcmul(x, x, torch.erf(x), value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x, torch.exp(x), value=2),
    "minimum": lambda x: torch.minimum(x, x * x), "maximum": lambda x: torch.maximum(x, torch.tensor(0.1)),
    "clamp": lambda x: x.clamp(-1, 2), "clamp one end": lambda x: x.clamp(max=2),
    "clamp_min": lambda x: x.clamp_min(-1),    "clamp_max": lambda x: x.clamp_max(2),
    "clamp to tensors": lambda x: torch.clamp(x, torch.tensor(-1.0), x + 1),
    "hardtanh": F.relu6, "gt": lambda x: (x > 0) * x, "lt": lambda x: x * (x < 1), "ge": lambda x: x * (x >= 1),
    "le": lambda x: x * (x <= 1), "logical_not": lambda x: x * torch.logical_not(x > 0),
    "bitwise_not": lambda x: x * ~(x > 0), "where": lambda x: torch.where(x > 0, x, torch.exp(x)),
    "where not": lambda x: torch.where(x <= 0.25, x.exp(), 2.0), "masked_fill": lambda x: x.masked_fill(x < 0, 0.5),
    "threshold": lambda x: F.threshold(x, 0.5, 7.0), "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu, "mish": F.mish, "softplus": F.softplus, "softplus of 2x": lambda x: F.softplus(x, beta=2),
    "elu": F.elu, "selu": F.selu, "celu": lambda x: F.celu(x, 1.5), "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "_prelu_kernel": lambda x: F.prelu(x, torch.tensor([0.25], dtype=torch.float64)), "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "copy": lambda x: torch.empty_like(x).copy_(x).mul_(2), "_to_copy": lambda x: x.float(),
    "clone": torch.clone, "detach": lambda x: x.detach() * 2, "view": lambda x: x.view(2, 4).erf().view(-1),
    "reshape": lambda x: aten._reshape_alias(x, (4, 2), (2, 1)).reshape(-1), "alias": lambda x: aten.alias(x),
    "_unsafe_view": lambda x: aten._unsafe_view(x, (8,)), "lift_fresh": lambda x: aten.lift_fresh(x),
    "unsqueeze": lambda x: x.unsqueeze(0).squeeze(0).exp(), "t": lambda x: x.view(2, 4).t().t().reshape(-1),
    "transpose": lambda x: x.view(2, 4).transpose(0, 1).transpose(0, 1).reshape(-1),
    "permute": lambda x: x.view(2, 4).permute(1, 0).permute(1, 0).contiguous().view(-1),
    "expand": lambda x: x * torch.tensor([2.0]).expand(8), "expand x": lambda x: x.expand(8),
    "in place": lambda x: x.erf_().add_(1).mul_(0.5), "out": lambda x: torch.exp(x, out=torch.empty_like(x)),
    "into an empty tensor": lambda x: x.new_empty(8).copy_(x) + x.new_full((8,), 2.0),
    "ones_like": lambda x: torch.ones_like(x) + x, "x twice": lambda x: (x.mul_(2), x + 1)[1],
    "bool as a number": lambda x: (x > 0).double() + (x > 1).to(torch.float64),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_operations(name):
    with torch.no_grad():
        traced, wanted = trace(FOLLOWED[name], X.clone()), FOLLOWED[name](X.clone())
    assert traced.expr is not None
    got = torch.tensor(columns(steps(traced.expr), X.tolist())[-1], dtype=torch.float64)
    assert_close(got, wanted.double(), rtol=1e-6 if name == "_to_copy" else 1e-13, atol=1e-14)


def test_every_operation_of_the_table_is_tried(monkeypatch):
    met = set()

    class Recording(dict):
        def get(self, key, default=None):
            met.add(key)
            return super().get(key, default)

    monkeypatch.setattr(module, "OPERATIONS", Recording(OPERATIONS))
    with torch.no_grad():
        for function in FOLLOWED.values():
            trace(function, X.clone())
    assert set(OPERATIONS) <= met


@pytest.mark.parametrize(
    "function",
    [
        torch.softmax,
        lambda x: x.cumsum(0),
        lambda x: x.long().double(),
        lambda x: torch.div(x, 2, rounding_mode="trunc"),
        lambda x: x * torch.rand_like(x),
        lambda x: x - x.mean(),
        lambda x: x[:4],
        lambda x: torch.cat((x[:4], x[4:])),
        lambda x: torch.atan(x),
        lambda x: torch.from_numpy(x.numpy() * 2),
        lambda x: "no tensor",
        lambda x: torch.empty(0),
    ],
)
def test_what_has_no_formula(function):
    with torch.no_grad():
        traced = trace((lambda x: torch.softmax(x, 0)) if function is torch.softmax else function, X.clone())
    assert traced.expr is None


def test_a_formula_that_grows_without_end_is_given_up():
    def repeated(x):
        for _ in range(2000):
            x = x * x * 0.1
        return x

    with torch.no_grad():
        assert trace(repeated, X.clone()).expr is None


def test_the_coarsest_precision_on_the_way():
    with torch.no_grad():
        assert trace(torch.erf, X).epsilon == torch.finfo(torch.float64).eps
        assert trace(lambda x: x.half().double(), X).epsilon == torch.finfo(torch.float16).eps
        assert trace(lambda x: x.bfloat16().float(), X).epsilon == torch.finfo(torch.bfloat16).eps


def test_constants_are_the_numbers_that_tensors_hold():
    with torch.no_grad():
        traced = trace(lambda x: x * torch.sqrt(torch.tensor(2 / math.pi, dtype=torch.float64)), X.clone())
    assert [node.value for node in traced.expr.args if node.op == "const"] == [math.sqrt(2 / math.pi)]
