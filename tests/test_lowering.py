"""Formulas as people type them: generated source of every flavour is recognised, and a changed constant never is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import formula
from test_numerics import BASES, literals, replaced, rewritten

from gelu_lint.engine import summarise
from gelu_lint.model import Site
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.numerics.ir import Expr
from gelu_lint.source import decode

HEAD = (
    "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    "from torch.special import ndtr\n\n\n"
)
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
CALLS = {
    "add": "torch.add", "sub": "torch.sub", "mul": "torch.mul", "div": "torch.div", "erf": "torch.erf",
    "erfc": "torch.special.erfc", "ndtr": "ndtr", "tanh": "torch.tanh", "sigmoid": "F.sigmoid", "exp": "torch.exp",
    "square": "torch.square", "sqrt": "torch.sqrt", "reciprocal": "torch.reciprocal",
    "log_ndtr": "torch.special.log_ndtr",
    "rsqrt": "torch.rsqrt", "neg": "torch.neg", "pow": "torch.pow", "logsigmoid": "F.logsigmoid",
}  # fmt: skip
METHODS = ("add", "sub", "mul", "div", "pow", "erf", "tanh", "sigmoid", "square", "exp", "reciprocal", "neg", "erfc")


class Typist:
    """Types an expression in ways that people do: operators, functions, methods, names for parts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines, self.count = rng, list[str](), 0

    def text(self, expr: Expr) -> str:
        if expr.op == "x":
            return self.rng.choice(("x", "x", "x", "x.to(x.dtype)"))
        if expr.op == "const":
            return repr(expr.value) if expr.value >= 0 else f"({expr.value!r})"
        args = [self.text(arg) for arg in expr.args]
        numbers = all(arg.op == "const" for arg in expr.args)
        if numbers and expr.op in ("sqrt", "rsqrt", "exp"):
            return {"rsqrt": "(1 / math.sqrt({}))"}.get(expr.op, f"math.{expr.op}({{}})").format(*args)
        if expr.op in SIGNS and (numbers or self.rng.random() < 0.6):
            made = f"({args[0]} {SIGNS[expr.op]} {args[1]})"
        elif expr.op == "neg" and (numbers or self.rng.random() < 0.6):
            made = f"(-{args[0]})"
        elif expr.op in METHODS and expr.args[0].op not in ("const",) and self.rng.random() < 0.5:
            made = f"{args[0]}.{expr.op}({', '.join(args[1:])})"
        else:
            made = f"{CALLS[expr.op]}({', '.join(args)})"
        if self.rng.random() < 0.15:
            self.count += 1
            self.lines.append(f"v{self.count} = {made}")
            return f"v{self.count}"
        return made

    def function(self, expr: Expr, name: str) -> str:
        result = self.text(expr)
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"{HEAD}def {name}(x):\n{body}    return {result}\n"


def sites(code: str) -> list[Site]:
    return [site for site in summarise(decode("model.py", code.encode())).sites if site.spelling == "formula"]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_every_way_of_typing_a_flavour_is_recognised(seed: int) -> None:
    flavour, expr = rewritten(seed)
    code = Typist(random.Random(seed)).function(expr, "gelu")
    found = sites(code)
    assert [site.flavour for site in found] == [flavour], code


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_a_changed_constant_is_near_or_unknown(seed: int) -> None:
    rng = random.Random(seed)
    flavour = rng.choice(("erf", "tanh"))
    expr = formula(rng.choice(BASES[flavour]))
    constants = literals(expr)
    if not constants:
        return
    at = rng.randrange(len(constants))
    changed = replaced(expr, at, constants[at] * (1 + rng.choice((-1, 1)) * rng.uniform(0.01, 0.9)))
    code = Typist(rng).function(changed, "gelu")
    for site in sites(code):
        assert site.flavour not in FLAVOURS, code
        assert site.flavour in ("near", "gelu_t", "sigmoid_k"), code


def test_a_function_body_that_changes_x_first_is_followed() -> None:
    code = HEAD + "def gelu(x):\n    x = x / 2\n    return x * (1 + torch.erf(x * math.sqrt(2)))\n"
    assert [site.flavour for site in sites(code)] == ["erf"]


STEPS = [
    "    y = x.clone()\n    y /= math.sqrt(2)\n    y = torch.erf(y)\n    y += 1\n    y *= 0.5\n    y *= x\n"
    "    return y\n",
    "    y = x / math.sqrt(2)\n    y.erf_()\n    y.add_(1).mul_(0.5)\n    return y * x\n",
    "    with torch.no_grad():\n        cdf = ndtr(x)\n    return x * cdf\n",
    "    return x * (cdf := ndtr(x))\n",
    "    half, one = 0.5, torch.ones_like(x)\n    return half * x * (one + torch.erf(x / 2**0.5))\n",
    "    return x * nn.Sigmoid()(1.702 * x) * 0 + x * ndtr(x)\n",
    "    root = torch.tensor(math.sqrt(2), dtype=x.dtype)\n    return x * (1 + torch.erf(x / root)) / 2\n",
    "    return x * torch.distributions.Normal(0, 1).cdf(x)\n",
    "    return torch.where(x > 0, x * ndtr(x), x * torch.erfc(-x / 2**0.5) / 2)\n",
]


@pytest.mark.parametrize("body", STEPS)
def test_steps(body: str) -> None:
    found = sites(f"{HEAD}def gelu(x):\n{body}")
    assert [site.flavour for site in found] == ["erf"]


OBJECTS = [
    "class GELU(nn.Module):\n    ROOT = math.sqrt(2)\n\n    def forward(self, x):\n"
    "        return 0.5 * x * (1 + torch.erf(x / self.ROOT))\n",
    "class GELU(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.root = math.sqrt(2)\n"
    "        self.erf = torch.erf\n\n    def cdf(self, x):\n        return 0.5 * (1 + torch.erf(x / self.root))\n\n"
    "    def forward(self, x):\n        return x * self.cdf(x)\n",
    "def _phi(z):\n    return 0.5 * (1 + torch.erf(z / 2**0.5))\n\n\ndef gelu(x):\n    return x * _phi(x)\n",
    "phi = lambda z: 0.5 * (1 + torch.erf(z / 2**0.5))\n\n\ndef gelu(x):\n    return x * phi(x)\n",
    "def gelu(x):\n    if not hasattr(gelu, 'c'):\n        gelu.c = math.sqrt(2)\n"
    "    return 0.5 * x * (1 + torch.erf(x / gelu.c))\n",
    "def gelu(x, root=math.sqrt(2), half=0.5):\n    return half * x * (1 + torch.erf(x * 0.7071067811865476))\n",
    "sig = nn.Sigmoid()\n\n\nclass GELU:\n    tanh = nn.Tanh()\n\n    def forward(self, x):\n"
    "        return x * (1 - 0.5 * torch.erfc(x / 2**0.5))\n",
    "ROOT = math.sqrt(2)\ngelu = lambda x: x * 0.5 * (1 + torch.erf(x / ROOT))\n",
    "class Act:\n    gelu = staticmethod(lambda x: x * ndtr(x))\n",
]


@pytest.mark.parametrize("code", OBJECTS)
def test_constants_and_helpers(code: str) -> None:
    assert [site.flavour for site in sites(HEAD + code)] == ["erf"]


SILENT = [
    "def gelu(x, tau=1.0):\n    return x * ndtr(x / tau)\n",
    "def gelu(x, k=1.702):\n    return x * torch.sigmoid(k * x)\n",
    "class GELU(nn.Module):\n    def __init__(self, k=1.0):\n        self.k = k\n\n    def forward(self, x):\n"
    "        return x * torch.sigmoid(self.k * x)\n",
    "class GELU(nn.Module):\n    def __init__(self):\n        self.k = nn.Parameter(torch.tensor(1.7))\n\n"
    "    def forward(self, x):\n        return x * torch.sigmoid(self.k * x)\n",
    "def gelu_mlp(x, w):\n    return torch.sigmoid(x @ w) * x\n",
    "def gelu(x, y):\n    return x * ndtr(y)\n",
    "def gelu(x):\n    for _ in range(3):\n        x = x * 2\n    return unknown(x)\n",
    "def gelu_gate(x):\n    return torch.sigmoid(1.702 * x)\n",
]


@pytest.mark.parametrize("code", SILENT)
def test_parameters_gates_and_other_unknowns_are_no_fault(code: str) -> None:
    assert all(site.given == "dynamic" for site in sites(HEAD + code))


@pytest.mark.parametrize(
    "code",
    [
        "K = 1.702\n\n\ndef quick_gelu(x):\n    return x * torch.sigmoid(K * x)\n\n\nK = 1.0\n",
        "def quick_gelu(x):\n    k = 1.702\n    for _ in range(3):\n        y = x * torch.sigmoid(k * x)\n"
        "        k = k * 2\n    return y\n",
        "K = 1.702\n\n\ndef set_k(k):\n    global K\n    K = k\n\n\ndef quick_gelu(x):\n"
        "    return x * torch.sigmoid(K * x)\n",
        "try:\n    K = 1.702\nexcept ValueError:\n    K = 1.0\n\n\ndef quick_gelu(x):\n"
        "    return x * torch.sigmoid(K * x)\n",
    ],
)
def test_what_depends_on_when_it_runs_is_not_followed(code: str) -> None:
    assert sites(HEAD + code) == []


def test_recursion_and_deep_chains_of_helpers_end() -> None:
    code = (
        "def f(x):\n    return g(x) * torch.erf(x)\n\n\ndef g(x):\n    return f(x)\n\n\ndef gelu(x):\n"
        "    return x * f(x)\n"
    )
    assert sites(HEAD + code) == []
    chain = "".join(f"def h{n}(x):\n    return h{n + 1}(x) + h{n + 1}(x)\n\n\n" for n in range(40))
    assert sites(f"{HEAD}{chain}def gelu(x):\n    return x * torch.erf(h0(x))\n") == []


@pytest.mark.parametrize(
    "odd",
    ["()", "(a, b)", "a[()]", "f(*(), **{})", "(yield)", "[*a]", "a if b else ()", "lambda: ()", "...", "(await a)"],
)
def test_whatever_stands_there_is_an_atom(odd: str) -> None:
    sites(
        f"{HEAD}def gelu(x):\n    return h({odd}) * torch.erf({odd})\n\n\ndef h(x):\n    return x * torch.tanh({odd})\n"
    )


def test_many_branches_are_bounded() -> None:
    lines = [f"    if c{n}:\n        y = y * {n}.5\n" for n in range(30)]
    assert sites(f"{HEAD}def gelu(x):\n    y = torch.erf(x)\n{''.join(lines)}    return x * y\n") == []
