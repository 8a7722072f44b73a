"""GELUs typed by hand are told by their values, however they are spelled; what is no GELU stays out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from gelu_lint import engine
from gelu_lint.engine import summarise
from gelu_lint.model import Site
from gelu_lint.numerics.evaluate import evaluate
from gelu_lint.registry import all_rules
from gelu_lint.source import decode

HEAD = (
    "import math\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\nimport scipy.special\n"
    "import tensorflow as tf\nimport torch\nimport torch.nn.functional as F\nfrom math import pi, sqrt\n"
    "from scipy.stats import norm\nfrom torch import nn\n"
)


def formulas(code: str) -> list[Site]:
    sites = summarise(decode("model.py", (HEAD + code).encode()), complete=True).sites
    return [site for site in sites if site.spelling == "formula"]


def indented(body: str) -> str:
    return "def act(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())


GELUS = {
    "erf": [
        "return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))",
        "return 0.5 * x * (1 + (x / sqrt(2)).erf())",
        "return 0.5 * x * torch.erfc(-x / 2**0.5)",
        "return x * norm.cdf(x)",
        "return x * scipy.special.ndtr(x)",
        "return x * (scipy.special.erf(x * 0.70710678) + 1) / 2",
        "return tf.multiply(x, 0.5 * (1.0 + tf.math.erf(x / tf.sqrt(2.0))))",
        "return x.mul(0.5).mul(torch.erf(x.div(1.41421)).add(1))",
        "cdf = 0.5 * (1.0 + torch.erf(x / np.sqrt(2.0)))\nreturn x * cdf",
        "z = x.float()\nreturn (z * 0.5 * (1.0 + torch.erf(z / math.sqrt(2.0)))).type_as(x)",
        "y = jax.lax.erf(x / jnp.sqrt(2.0).astype(x.dtype))\nreturn jnp.array(x * (y + 1) / 2, dtype=x.dtype)",
    ],
    "tanh": [
        "return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))",
        "return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))",
        "return x * torch.sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x**3))",
        "u = sqrt(2 / pi) * (x + 0.0447 * x * x * x)\nreturn x * (1 - 1 / (1 + torch.exp(2 * u)))",
        "u = 0.79788456 * x * (1 + 0.044715 * x * x)\nt = torch.tanh(u)\nreturn 0.5 * x * (t + 1)",
        "return 0.5 * x * (1 + nn.Tanh()(sqrt(2 / pi) * (x + 0.044715 * torch.square(x) * x)))",
    ],
    "quick": [
        "return x * torch.sigmoid(1.702 * x)",
        "return x / (1 + np.exp(-1.702 * x))",
        "return jax.nn.sigmoid(x * 1.702) * x",
        "k = 1.702\nreturn torch.mul(x, F.sigmoid(k * x))",
    ],
}
CASES = [(flavour, body) for flavour, bodies in GELUS.items() for body in bodies]


@pytest.mark.parametrize(("flavour", "body"), CASES)
def test_every_spelling_is_the_function_that_it_computes(flavour: str, body: str) -> None:
    (site,) = formulas(indented(body))
    assert (site.flavour, site.explicit, site.symbol) == (flavour, True, "act")


@pytest.mark.parametrize(
    ("body", "flavour"),
    [
        ("a, b = x.chunk(2, -1)\nreturn (a * 0.5 * (1 + torch.erf(a / sqrt(2)))) * b", "erf"),
        ("a, b = x.chunk(2, -1)\nreturn b * a * torch.sigmoid(1.702 * a)", "quick"),
        ("x = bias + x\nreturn x * 0.5 * (1 + torch.erf(x / sqrt(2)))", "erf"),
        ("x = x / 3\nreturn x * 0.5 * (1 + torch.erf(x / sqrt(2)))", "erf"),
        ("h = self.proj(x)\nreturn x + h * torch.sigmoid(1.702 * h)", "quick"),
        ("return 0.5 * self.h * (1 + torch.erf(self.h / sqrt(2)))", "erf"),
        ("return x[0] * torch.sigmoid(1.702 * x[0])", "quick"),
    ],
)
def test_gates_sums_and_compound_unknowns(body: str, flavour: str) -> None:
    (site,) = formulas(indented(body))
    assert site.flavour == flavour


def test_constants_of_the_module_and_of_the_object() -> None:
    code = (
        "ROOT = math.sqrt(2 / math.pi)\n\n\nclass Act(nn.Module):\n    def __init__(self):\n"
        "        self.c = math.sqrt(2 / math.pi)\n\n    def forward(self, x):\n"
        "        return 0.5 * x * (1 + torch.tanh(self.c * (x + 0.044715 * x**3)))\n\n    def other(self, x):\n"
        "        return 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3)))\n"
    )
    assert [site.flavour for site in formulas(code)] == ["tanh", "tanh"]


@pytest.mark.parametrize(
    "body",
    [
        "return x * torch.sigmoid(x)",
        "return x * torch.sigmoid(beta * x)",
        "return x * torch.sigmoid(1.702 * y)",
        "return 0.5 * (1 + torch.erf(x / sqrt(2)))",
        "return torch.sigmoid(1.702 * x)",
        "return x * torch.tanh(F.softplus(x))",
        "return (mu - best) * scipy.special.ndtr((mu - best) / sigma)",
        "a = x\nx = f(x)\nreturn a * torch.sigmoid(1.702 * x)",
        "return x * torch.sigmoid(1.702 * x.detach_me())",
        "return x * norm.pdf(x)",
        "return x * 10**10**10 * torch.erf(x)",
        "return " + " * ".join(["x"] * 90) + " * torch.erf(x)",
    ],
)
def test_what_is_no_gelu_stays_out(body: str) -> None:
    assert formulas(indented(body)) == []


def test_branches_are_taken_one_by_one() -> None:
    body = "k = 1.702\nif flag:\n    k = 1.0\nreturn x * torch.sigmoid(k * x)"
    (site,) = formulas(indented(body))
    assert site.flavour == "quick" and site.formula.several and site.formula.rewrite is None


def test_each_branch_is_a_site_of_its_own() -> None:
    body = (
        "if exact:\n    cdf = 0.5 * (1 + torch.erf(x / sqrt(2)))\nelse:\n"
        "    cdf = torch.sigmoid(1.5957691216 * (x + 0.044715 * x**3))\nreturn x * cdf"
    )
    sites = formulas(indented(body))
    assert sorted(site.flavour for site in sites) == ["erf", "tanh"] and all(site.formula.several for site in sites)


def test_what_a_loop_binds_is_not_followed() -> None:
    body = "k = 1.702\nfor _ in range(3):\n    k = k * 2\nreturn x * torch.sigmoid(k * x)"
    assert formulas(indented(body)) == []


def test_a_chain_of_doublings_is_bounded() -> None:
    lines = ["y0 = x"] + [f"y{n + 1} = y{n} * y{n}" for n in range(60)]
    assert formulas(indented("\n".join([*lines, "return x * torch.erf(y60)"]))) == []


VALUES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "erf": F.gelu,
    "tanh": partial(F.gelu, approximate="tanh"),
    "quick": lambda x: x * torch.sigmoid(1.702 * x),
}


@pytest.mark.parametrize(("flavour", "body"), CASES)
def test_a_site_comes_with_its_formula(flavour: str, body: str) -> None:
    source = decode("model.py", (HEAD + indented(body)).encode())
    (found,) = engine.formulas(source)
    assert found[0] in summarise(source, complete=True).sites
    x = torch.linspace(-6, 6, 121, dtype=torch.float64)
    got = torch.tensor([evaluate(found[1], point) for point in x.tolist()], dtype=torch.float64)
    assert (got - VALUES[flavour](x)).abs().max() < 1e-4


def test_formulas_are_those_of_all_sites_that_are_typed_by_hand() -> None:
    """In the examples of all rules: each has its formula, branches and derivatives too."""
    seen = 0
    for example in (example for rule in all_rules() for example in rule.examples if example.name.endswith(".py")):
        source = decode("model.py", example.code.encode())
        typed = [(s.span, s.flavour) for s in summarise(source, complete=True).sites if s.spelling == "formula"]
        found = [(site.span, site.flavour) for site, _ in engine.formulas(source)]
        assert sorted(found) == sorted(typed), example.code
        seen += len(found)
    assert seen > 40


@pytest.mark.parametrize(("name", "text"), [("a.json", "{}"), ("a.py", "def gelu(:\n"), ("a.py", "")])
def test_what_is_no_python_has_no_formulas(name: str, text: str) -> None:
    assert engine.formulas(decode(name, text.encode())) == []
