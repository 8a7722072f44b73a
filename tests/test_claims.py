"""What names and docstrings claim: word by word, and nothing that they do not say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gelu_lint.claims import backward, claim, claim_of_text, formula_of_text, shuns_built_in, words

PLAIN = {"erf", "tanh"}
CLAIMS = {
    "gelu": PLAIN, "GELU": PLAIN, "GeLU": PLAIN, "Gelu": PLAIN, "bias_gelu": PLAIN, "GELUActivation": PLAIN,
    "fused_bias_gelu_impl": PLAIN, "gelu_python": PLAIN, "GeluFunction": PLAIN, "GEGLU": PLAIN, "gelu2": PLAIN,
    "gelu_new": {"tanh"}, "NewGELUActivation": {"tanh"}, "gelu_pytorch_tanh": {"tanh"}, "PytorchGELUTanh": {"tanh"},
    "gelu_erf": {"erf"}, "exact_gelu": {"erf"}, "AccurateGELUActivation": {"erf"},
    "quick_gelu": {"quick"}, "QuickGELU": {"quick"}, "quickgelu": {"quick"}, "gelu_sigmoid": {"quick"},
    "gelu_fast": {"tanh", "quick"}, "ApproximateGELU": {"tanh", "quick"}, "gelu-approximate": {"tanh", "quick"},
    "regelu": set(), "angelus": set(), "softclamp_gelu": set(),
    "clipped_gelu": set(), "hard_gelu": set(), "gelu_or_silu": set(), "swish": set(), "IntGELU": set(),
    "gelu_backward": set(), "gelu_grad": set(), "dgelu": set(), "pre_gelu": set(), "gelu_input": set(), "": set(),
}  # fmt: skip


@pytest.mark.parametrize(("name", "flavours"), CLAIMS.items())
def test_claims(name: str, flavours: set[str]) -> None:
    assert claim(name) == flavours


def test_words() -> None:
    assert words("NewGELUActivation") == ("new", "gelu", "activation")
    assert words("gelu_pytorch_tanh") == ("gelu", "pytorch", "tanh")
    assert words("BiasGeLU2d") == ("bias", "gelu", "d")
    assert backward("bias_gelu_back") and backward("GeluBackward") and not backward("feedback_gelu")


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", max_size=8), st.sampled_from(("a", "re", "an", "s", "ing")))
def test_gelu_inside_a_longer_word_is_none(left: str, right: str) -> None:
    word = f"{left}q{'gelu'}{right}q"  # no known compound begins or ends with q
    assert claim(word) == frozenset()


@pytest.mark.parametrize(
    ("text", "flavours"),
    [
        ("GELU activation.", PLAIN),
        ("Gaussian Error Linear Unit.\n\nUnlike SiLU it is no SiLU.", PLAIN),
        ("Applies the tanh approximation of GELU.", {"tanh"}),
        ("Sigmoid approximation of gelu", {"tanh", "quick"}),
        ("Smooth activation.", set()),
        ("Similar to GELU.", set()),
        ("SiLU, also called swish; close to GELU.", set()),
        ("A faster alternative to GELU", set()),
        ("Derivative of GELU.", set()),
        ("The Angelus activation", set()),
    ],
)
def test_what_a_docstring_claims(text: str, flavours: set[str]) -> None:
    assert claim_of_text(text) == flavours


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("Tanh form, 0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3))), as GPT-2 used.", "tanh"),
        ("x * 0.5 * (1 + erf(x / sqrt(2)))", "erf"),
        ("The exact GELU.", "erf"),
        ("x * Phi(x)", ""),
        ("Slightly different from 0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3)))", ""),
        ("erf(x / sqrt(2)) or tanh(sqrt(2/pi)*(x+0.044715*x**3))", ""),
        ("Also see 0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3)))", ""),
    ],
)
def test_the_formula_that_a_docstring_gives(text: str, flavour: str) -> None:
    assert formula_of_text(text) == flavour


def test_docstrings_that_say_why_no_built_in_is_used() -> None:
    assert shuns_built_in("The original repo's gelu. Using F.gelu yields subtly wrong results.")
    assert shuns_built_in("Written out, instead of using F.gelu, for ONNX.")
    assert not shuns_built_in("This is now written in C in nn.functional.")
