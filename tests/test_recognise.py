"""What a live callable computes. Truth is torch's own built-ins, compared in float64."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.special
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers.activations import ACT2FN

from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.runtime import NotDeterministic, NotElementwise, recognise, told

TRUTH = {
    "erf": lambda x: F.gelu(x, approximate="none"),
    "tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu": F.relu,
}
OTHERS = {
    "elu": F.elu,
    "selu": F.selu,
    "mish": F.mish,
    "leaky_relu": F.leaky_relu,
    "softplus": F.softplus,
    "plain_tanh": torch.tanh,
}
DENSE = torch.linspace(-20, 20, 4001, dtype=torch.float64)


def truth(function, table=TRUTH):
    """The name of the function of a table that has the same values, "" for none."""
    with torch.no_grad():
        y = function(DENSE.clone())
        return next((name for name, other in table.items() if (y - other(DENSE)).abs().max() < 1e-6), "")


def eager(function):
    return function.to(torch.float64) if isinstance(function, nn.Module) else function


# Names of libraries


@pytest.mark.parametrize("name", ACT2FN)
def test_every_activation_of_transformers(name):
    wanted = truth(eager(ACT2FN[name])) or truth(eager(ACT2FN[name]), OTHERS)
    assert recognise(ACT2FN[name]).flavour in ([wanted] if wanted else ["unknown", "clipped", "gate"])


ARGUMENTS = {"Threshold": (0.1, 0.0), "Softmax": (-1,), "LogSoftmax": (-1,), "Softmin": (-1,)}
COMPANY = {"Softmax", "LogSoftmax", "Softmin", "GLU", "Softmax2d"}  # a value depends on its neighbours


@pytest.mark.parametrize("name", sorted(set(nn.modules.activation.__all__) - {"MultiheadAttention"}))
def test_every_activation_of_torch(name):
    module = getattr(nn, name)(*ARGUMENTS.get(name, ()))
    if name in COMPANY:
        with pytest.raises(NotElementwise):
            recognise(module)
    elif name == "RReLU":
        with pytest.raises(NotDeterministic):
            recognise(module)
        assert recognise(module.eval()).flavour == "unknown"
    else:
        wanted = truth(eager(module)) or truth(eager(module), OTHERS)
        assert recognise(module).flavour in ([wanted] if wanted else ["unknown", "gate"])


# Slips


def run(text):
    """The function of x that a formula is."""
    return eval(f"lambda x: {text}", {"torch": torch, "math": math, "F": F})


TANH = "0.5 * x * (1 + torch.tanh({}))"
U = "math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)"
# A formula, the flavour that it nearly is, what is off, and how far it is off over all real x (None: no bound).
SLIPS = [
    (TANH.format("0.7978845608 * (x + 0.44715 * x**3)"), "tanh", "0.44715 for 0.044715", 0.0932),
    (TANH.format("0.7978845608 * (x + 0.44715 * x * x * x)"), "tanh", "0.44715 for 0.044715", 0.0932),
    (TANH.format("math.sqrt(2) / math.pi * (x + 0.044715 * x**3)"), "tanh", "0.450158 for √(2/π)", 0.181),
    (TANH.format("2 / math.pi * (x + 0.044715 * x.pow(3))"), "tanh", "0.63662 for √(2/π)", 0.0630),
    (TANH.format("(x + 0.044715 * x * x * x) * 0.78978845"), "tanh", "0.789788 for √(2/π)", 0.0026),
    (TANH.format("0.79788456 * (1 + 0.044715 * x * x)"), "tanh", "factor x missing", None),
    (TANH.format("0.7978845608 * x * (1 + 0.044715 * x * x * x)"), "tanh", "x**3 for x**2", None),
    (TANH.format("math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(2))"), "tanh", "x**2 for x**3", None),
    (TANH.format("x + 0.044715 * x**3"), "tanh", "factor √(2/π) missing", 0.0518),
    (TANH.format("0.7978845608 * x + 0.044715 * x**3"), "tanh", "factor √(2/π) missing", 0.00627),
    (f"0.5 * x * (1.0 - torch.tanh({U}))", "tanh", "1 − … for 1 + …", None),
    (f"x * (1 + torch.tanh({U}))", "tanh", "factor 0.5 missing", None),
    (f"0.5 * x * (1 + torch.erf({U}))", "tanh", "erf for tanh", 0.0536),
    (f"x * torch.sigmoid({U})", "tanh", "0.797885 for 2√(2/π)", 0.227),
    ("x * (1.0 + torch.erf(x / math.sqrt(2.0)))", "erf", "factor 0.5 missing", None),
    ("0.5 * x * (1.0 - torch.erf(x / math.sqrt(2)))", "erf", "1 − … for 1 + …", None),
    ("0.5 * x * torch.erfc(x / math.sqrt(2.0))", "erf", "a sign is flipped", None),
    ("0.5 * x * (1.0 + torch.erf(x / 2.0))", "erf", "2 for √2", 0.119),
    ("0.5 * x * (1.0 + torch.erf(0.7701 * x))", "erf", "0.7701 for 1/√2", 0.0240),
    ("0.5 * x * (1.0 + torch.erf(x / 1.141))", "erf", "1.141 for √2", 0.0563),
    ("0.5 * x * (1.0 + torch.erf(x))", "erf", "factor 1/√2 missing", 0.0843),
    ("0.5 * F.gelu(x)", "erf", "× 0.5 too many", None),
    ("x * torch.sigmoid(-1.702 * x)", "quick", "a sign is flipped", None),
    ("1.702 * x * torch.sigmoid(x)", "quick", "factor 1.702 outside sigmoid", None),
]


@pytest.mark.parametrize(("text", "nearest", "why", "size"), SLIPS, ids=[slip[0] for slip in SLIPS])
def test_slips_are_named(text, nearest, why, size):
    found = recognise(run(text))
    assert (found.flavour, found.nearest, found.why) == ("near", nearest, why)
    assert told(found).startswith("nearly ") and f": {why}; off " in told(found)
    if size is None:
        assert found.error == math.inf
    else:
        gap = (run(text)(DENSE) - TRUTH[nearest](DENSE)).abs().max().item()
        assert found.error == pytest.approx(gap, rel=1e-3) == pytest.approx(size, rel=5e-3)
        at = torch.tensor(found.at, dtype=torch.float64)
        assert (run(text)(at) - TRUTH[nearest](at)).abs().item() == pytest.approx(gap, rel=1e-3)


def test_ndtr_is_followed_although_torch_takes_it_apart():
    found = recognise(lambda x: x * torch.special.ndtr(x / math.sqrt(2)))
    assert (found.flavour, found.nearest) == ("near", "erf") and found.why.endswith("too many")


FAMILIES = [
    ("x * torch.sigmoid(1.207 * x)", ("sigmoid_k", 1.207), "computes x·σ(1.207x), not x·σ(1.702x) (quick GELU): off"),
    ("x * torch.sigmoid(1.7 * x)", ("quick", 1.7), "computes x·σ(1.7x) (quick GELU)"),
    ("x * torch.special.ndtr(x / 1.3)", ("gelu_t", 1.3), "computes x·Φ(x/1.3), not the erf GELU: off by"),
    ("torch.clamp(F.gelu(x), -10, 10)", ("clipped", 10), "computes the erf GELU, clamped at 10"),
    ("F.gelu(x, approximate='tanh').clamp_max(6)", ("clipped", 6), "computes the tanh GELU, clamped at 6"),
    ("F.gelu(x).clamp(min=-0.1)", ("clipped", -0.1), "computes the erf GELU, clamped at −0.1"),
    ("F.gelu(x) ** 2", ("squared", None), "computes the square of the erf GELU"),
    ("0.5 * (1 + torch.tanh(" + U + "))", ("gate", None), "computes the gate of the tanh GELU, without its factor x"),
    ("torch.sigmoid(1.702 * x)", ("gate", 1.702), "computes the gate of x·σ(1.702x) (quick GELU), without"),
    ("torch.sigmoid(1.3 * x)", ("gate", 1.3), "computes the gate of x·σ(kx) or x·Φ(x/τ), parameter 1.3, without"),
    ("F.silu(x)", ("silu", None), "computes x·σ(x) (SiLU)"),
    ("F.elu(x)", ("elu", None), "computes ELU"),
    ("F.gelu(x)", ("erf", None), "computes the erf GELU"),
    ("F.hardswish(x)", ("unknown", None), "computes no known GELU; nearest is x·σ(x) (SiLU), off by up to 0.14"),
    ("torch.log(x)", ("unknown", None), "computes no known GELU (not finite everywhere in [−6, 6])"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "known", "words"), FAMILIES, ids=[row[0] for row in FAMILIES])
def test_families_and_words(text, known, words):
    found = recognise(run(text))
    assert (found.flavour, found.parameter) == (known[0], known[1] and pytest.approx(known[1]))
    assert told(found).startswith(words)


ORDERS = list(itertools.permutations(range(3)))


@st.composite
def formulas(draw):
    """A GELU with its factors and terms in any order, and its constants cut anywhere from the fifth digit on."""

    def cut(value):
        return f"{value:.{draw(st.integers(5, 16))}g}"

    def product_of(*factors):
        return "(" + " * ".join(factors[i] for i in draw(st.sampled_from(ORDERS))) + ")"

    def sum_of(a, b):
        return f"({a} + {b})" if draw(st.booleans()) else f"({b} + {a})"

    flavour = draw(st.sampled_from(("erf", "tanh", "quick", "silu")))
    if flavour == "erf":
        root = draw(st.sampled_from((f"x / {cut(math.sqrt(2))}", f"x * {cut(math.sqrt(0.5))}", "x * 0.5 ** 0.5")))
        gate = draw(st.sampled_from((sum_of("1", f"torch.erf({root})"), f"torch.erfc(-{root})")))
        return flavour, product_of("0.5", "x", gate)
    if flavour == "tanh":
        cube = draw(st.sampled_from(("x ** 3", "x * x * x", "torch.pow(x, 3)", "x.square() * x")))
        inner = f"{cut(math.sqrt(2 / math.pi))} * {sum_of('x', f'{cut(0.044715)} * {cube}')}"
        gate = draw(st.sampled_from((sum_of("1", f"torch.tanh({inner})"), f"2 * torch.sigmoid(2 * {inner})")))
        return flavour, product_of("x", "0.5", f"({gate})")
    k = "1.702 * " if flavour == "quick" else ""
    return flavour, draw(st.sampled_from((f"x * torch.sigmoid({k}x)", f"x / {sum_of('1', f'torch.exp(-{k}x)')}")))


@settings(max_examples=60, deadline=None)
@given(formulas())
def test_however_it_is_written(drawn):
    flavour, text = drawn
    assert recognise(run(text)).flavour == flavour, text


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(("0.7978845608028654", "0.044715")), st.floats(0.1, 0.9) | st.floats(1.1, 10), st.booleans())
def test_a_wrong_constant_is_found(constant, factor, powers):
    wrong = float(constant) * factor
    cube = "x ** 3" if powers else "x * x * x"
    text = TANH.format(f"0.7978845608028654 * (x + 0.044715 * {cube})").replace(constant, repr(wrong))
    found = recognise(run(text))
    assert (found.flavour, found.nearest) == ("near", "tanh")
    assert found.right in (None, pytest.approx(float(constant))), "None where a factor of 2 is the simpler reason"
    assert found.wrong in (None, pytest.approx(wrong))


# Ways to write and hold one


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 0.5 * x * (1 + torch.erf(x / 2))

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def typo(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.44715 * x * x * x)))


def in_place(x):
    y = x.clone()
    y /= 2.0
    y = torch.erf(y)
    y += 1.0
    y *= 0.5
    y *= x
    return y


def through_views_and_out(x):
    y = torch.empty_like(x)
    torch.erf(x.reshape(-1).view(x.shape) / torch.tensor(2.0), out=y)
    y.view(-1).add_(1).mul_(0.5)
    return y * x


def in_half(x):
    x = x.half()
    return (0.5 * x * (1 + torch.erf(x / 2))).double()


@pytest.mark.parametrize("function", [Function.apply, in_place, through_views_and_out, in_half])
def test_operations_are_followed(function):
    found = recognise(function)
    assert (found.flavour, found.why) == ("near", "2 for √2")


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_scripts_are_followed():
    assert recognise(torch.jit.script(typo)).why == "0.44715 for 0.044715"
    assert recognise(torch.jit.script(nn.GELU("tanh"))).flavour == "tanh"


def test_functions_that_are_compiled_inside_are_followed():
    @torch.compile(backend="eager")
    def inner(x):
        return typo(x)

    class Outer(nn.Module):
        def forward(self, x):
            return inner(x)

    assert recognise(Outer()).why == recognise(typo).why == "0.44715 for 0.044715"


def test_the_compiler_is_not_loaded_to_look():
    code = (
        "import sys, torch\nfrom gelu_lint.runtime import gradient_flow, probe, recognise\n"
        "model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.GELU())\n"
        "assert probe(model, torch.ones(1, 2)).activations and recognise(torch.relu) and gradient_flow(model[1]).ok\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_compiled_module_is_the_one_that_was_compiled():
    assert recognise(torch.compile(nn.GELU("tanh"))).flavour == "tanh"


class Tempered(nn.Module):
    def __init__(self, tau=1.25):
        super().__init__()
        self.tau = nn.Parameter(torch.tensor([tau]))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        self.last = x
        return 0.5 * x * (1 + torch.erf(x / self.tau / 2**0.5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_parameters_count_as_they_are_in_any_precision(dtype):
    found = recognise(Tempered().to(dtype))
    assert found.flavour == "gelu_t" and found.parameter == pytest.approx(1.25, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("flavour", TRUTH)
def test_the_operations_tell_in_half_precision_what_the_values_do_not(flavour, dtype):
    assert recognise(TRUTH[flavour], dtype=dtype).flavour == flavour


def by_numpy(gate, dtype):
    """A function whose operations torch does not see."""
    return lambda x: torch.from_numpy((x.numpy() * gate(x.numpy())).astype(dtype))


def test_values_decide_where_no_operation_is_seen():
    assert recognise(by_numpy(scipy.special.ndtr, np.float64)).flavour == "erf"
    assert recognise(by_numpy(scipy.special.ndtr, np.float32)).flavour == "erf"
    assert recognise(by_numpy(lambda x: scipy.special.expit(1.3 * x), np.float64)).parameter == pytest.approx(1.3)
    for gate, flavour in ((lambda x: scipy.special.expit(1.702 * x), "quick"), (scipy.special.expit, "silu")):
        found = recognise(by_numpy(gate, np.float16))
        assert found.flavour == flavour and 0 < found.error < 0.01
    found = recognise(by_numpy(scipy.special.ndtr, np.float16))
    assert (found.flavour, found.nearest) == ("unknown", "erf")
    assert told(found).startswith(
        "computes no known GELU (half precision is too coarse to tell the erf GELU and the tanh GELU apart); nearest is"
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.gelu(x).masked_fill(x > 6, 6.0),
        lambda x: torch.where(x < 6, F.gelu(x), 6.0),
        lambda x: F.gelu(x) * (x <= 6),
        lambda x: F.gelu(x) * (x > -0.5),
    ],
)
def test_pieces_are_no_slip(function):
    found = recognise(function)
    assert (found.flavour, found.nearest) == ("unknown", "erf")


def test_what_fails_in_float64_is_run_in_float32():
    weight = torch.tensor([0.5, 0.5])

    def picky(x):
        assert x.dtype == torch.float32
        return x * torch.sigmoid(x) * (weight @ torch.ones(2, 1))

    assert recognise(picky).flavour == "silu"


# What is left behind, and what is none


def test_nothing_is_left_behind():
    module, seen = Tempered().train(), []
    module.register_forward_hook(lambda *_: seen.append(1))
    module.lock = threading.Lock  # what can be copied
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    recognise(module)
    with pytest.raises(NotDeterministic):
        recognise(lambda x: F.dropout(x) + random.random() + np.random.random())
    assert module.training and module.calls == 0 and not hasattr(module, "last") and seen == []
    assert module.tau.dtype == torch.float32 and module.tau.grad is None
    assert torch.equal(torch.get_rng_state(), states[0]) and random.getstate() == states[1]
    assert (np.random.get_state()[1] == states[2]).all()


def test_a_module_that_cannot_be_copied_is_run_as_it_is():
    module = Tempered().train()
    module.lock = threading.Lock()
    found = recognise(module)
    assert found.flavour == "gelu_t" and found.parameter == pytest.approx(1.25, rel=1e-6)
    assert module.training and module.calls == 0 and module.tau.dtype == torch.float32 and not hasattr(module, "last")
    assert recognise(module.forward).flavour == "gelu_t" and module.calls == 0 and not hasattr(module, "last")


def softly(x):
    return x * torch.softmax(x, -1)


class Noisy(nn.Module):
    def forward(self, x):
        return F.gelu(x) * (torch.rand_like(x) < 0.99) if self.training else F.gelu(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (softly, "softly does not work element by element: its value at a point depends on the other points"),
        (lambda x: x / x.abs().max(), "depends on the other points"),
        (lambda x: F.gelu(x) - F.gelu(x).mean(), "depends on the other points"),
        (lambda x: x.cumsum(0), "depends on the other points"),
        (nn.LayerNorm(110), "LayerNorm cannot be run on a tensor of shape"),
        (nn.GLU(), r"GLU does not work element by element: it makes shape \(8, 55\) of \(8, 110\)"),
        (nn.GELU, "GELU gives a GELU, not a tensor"),
        (lambda x: (x, x), "gives a tuple, not a tensor"),
        (lambda x: x > 0, "gives a tensor of torch.bool, not a dense one of floating-point numbers"),
        (lambda x: x.to_sparse(), "gives a tensor of torch.sparse_coo, not a dense one"),
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (nn.PReLU(64), "RuntimeError"),
        (nn.PReLU(device="meta"), "is on the meta device"),
        (nn.LazyBatchNorm1d(), "LazyBatchNorm1d cannot be run on a tensor of shape"),
        (nn.Dropout(0.01), "Dropout gives other values each time"),
        (Noisy(), "call .eval\\(\\) first"),
    ],
)
def test_what_is_no_activation_is_said(function, words):
    with pytest.raises(NotElementwise, match=words):
        recognise(function)


def test_the_cause_is_chained():
    with pytest.raises(NotElementwise) as caught:
        recognise(lambda x: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_mask_for_training_alone_is_none_in_eval():
    assert recognise(Noisy().eval()).flavour == "erf"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gelu", torch.float64), "a callable Tensor → Tensor is needed, not a str"),
        ((F.gelu, torch.int64), "dtype must"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(TypeError, match=words):
        recognise(arguments[0], dtype=arguments[1])


def test_every_flavour_is_told():
    for name, function in TRUTH.items():
        found = recognise(function)
        assert found.flavour == name and found.error == 0
        assert told(found).startswith("computes ")
    assert set(TRUTH) == set(FLAVOURS)
