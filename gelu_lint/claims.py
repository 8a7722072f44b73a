"""What a name or a docstring claims: whether it says GELU, and which one.

Names are split into words, so that the "gelu" in "regelu" or "angelus" says nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gelu_lint.patterns import lazy

#: Flavours that a plain "GELU" may be.
PLAIN = frozenset(("erf", "tanh"))
_GELU = ("gelu", "gelus", "geglu")

#: Words beside "gelu" that say which one. HF's registry calls tanh "new"; "fast" and "approx" are tanh to some and
#: x·σ(1.702x) to others; "accurate" is tanh in HF's registry, where it was taken from, and erf to everybody else.
_FLAVOUR_WORDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("quick", "sigmoid", "logistic"), frozenset(("quick",))),
    **dict.fromkeys(("tanh", "new"), frozenset(("tanh",))),
    **dict.fromkeys(("erf", "exact", "accurate"), frozenset(("erf",))),
    **dict.fromkeys(
        ("fast", "faster", "approx", "approximate", "approximated", "approximation"), frozenset(("tanh", "quick"))
    ),
}  # fmt: skip
#: Last names of calls that hand on the function that they are given first.
WRAPPERS = frozenset(
    ("partial", "script", "jit", "compile", "vmap", "checkpoint", "Lambda", "script_if_tracing", "disable")
)
_OTHER_ACTIVATIONS = frozenset(
    ("silu", "swish", "relu", "elu", "selu", "celu", "prelu", "mish", "swiglu", "reglu", "glu", "softplus", "sigmoid")
)
#: Words that make the name say something else, or nothing for sure.
_OTHER_WORDS = frozenset(
    (
        *(
            "silu",
            "swish",
            "relu",
            "elu",
            "selu",
            "celu",
            "prelu",
            "mish",
            "swiglu",
            "reglu",
            "glu",
            "softplus",
            "leaky",
        ),
        *("hard", "clip", "clipped", "capped", "clamped", "limited", "squared", "square", "sparse", "int", "quant"),
        *("quantized", "poly", "polynomial", "taylor", "lut", "table", "shifted", "scaled", "tempered", "temperature"),
        *("parametric", "learnable", "learned", "noisy", "random", "soft", "softclamp", "inverse", "inv", "log", "or"),
        *("pre", "before", "input", "inputs", "in", "vs", "versus", "no", "not", "non", "without", "than", "like"),
        *("max", "min", "bound", "threshold", "error", "diff", "difference", "gap", "loss", "cost", "time", "count"),
        *("block", "ffn", "mlp", "conv", "net", "network", "model", "encoder", "decoder", "attention", "expert", "moe"),
        *("head", "feedforward", "feed", "transformer", "residual", "post", "after", "replacement", "replace", "swap"),
        *(
            "substitute",
            "integral",
            "laplace",
            "probit",
            "variant",
            "alternative",
            "other",
            "fake",
            "wrong",
            "bad",
            "broken",
            "t",
        ),
    )
)
#: Words of names that compute a derivative.
BACKWARD = frozenset(
    (
        *("backward", "backwards", "back", "bwd", "grad", "grads", "gradient", "derivative", "deriv", "prime", "dgelu"),
        *("vjp", "jvp", "jacobian", "jac", "slope", "diff", "dx", "dgeglu", "dgelus"),
    )
)
#: Words of names that mean the factor of x alone.
_GATE = frozenset(
    (
        "cdf",
        "phi",
        "gate",
        "gates",
        "gating",
        "pdf",
        "normal",
        "gaussian",
        "prob",
        "probability",
        "coef",
        "mask",
        "weight",
    )
)

#: What is gated in a gated unit.
_GATED = frozenset(("gelu", "linear"))
_NEUTRAL = frozenset(
    ("pytorch", "python", "torch", "jax", "tf", "np", "numpy", "keras", "triton", "hf", "my", "activation")
)
#: Words of fused operations, whose other words are about the other operations.
_CHAINS = frozenset(
    (
        "mul",
        "add",
        "linear",
        "dropout",
        "matmul",
        "mm",
        "gemm",
        "conv",
        "norm",
        "layernorm",
        "dense",
        "fused",
        "and",
        "then",
    )
)
_WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_COMPOUND = lazy(
    r"(quick|new|fast|approx|tanh|erf|exact|bias|fused|my|custom|torch|x)?(gelu|geglu)"
    r"(new|fast|approx|approximate|tanh|erf|exact|quick|accurate|fn|op|impl|activation|layer|act|grad|backward|bwd)?"
)
_LONG = lazy(r"gaussian_?error_?linear_?units?", re.IGNORECASE)
_IN_PLACE = lazy(r"_?in_?place_?", re.IGNORECASE)
#: What may stand before GELU in a docstring that says what the code is.
LEAD = frozenset(
    (
        *("a", "an", "the", "our", "this", "is", "my", "of", "as", "by", "in", "with", "returns", "return", "apply"),
        *("applies", "compute", "computes", "implement", "implements", "implementation", "evaluate", "evaluates"),
        *("function", "activation", "elementwise", "element", "wise", "exact", "tanh", "sigmoid", "approximation"),
        *("approximate", "approximated", "form", "version", "variant", "fast", "quick", "original", "python"),
        *("pytorch", "torch", "jax", "tensorflow", "numpy", "keras", "openai", "google", "bert", "gpt", "standard"),
        *("smooth", "fused", "bias", "module", "layer", "forward", "pass", "gelu", "gaussian", "simple", "custom"),
    )
)
_DOC = lazy(r"\bGELU\b|\bGeLU\b|\bgelu\b|gaussian error linear", re.IGNORECASE)
#: Words in a docstring that turn what it says of GELU into a comparison.
_HEDGES = lazy(
    r"silu|swish|relu|\belu\b|mish|\blike\b|similar|instead|unlike|differ|\bthan\b|replac|\bnot\b|rather|alternativ|"
    r"compar|variant|swiglu|softplus|derivative|gradient|backward|\bor\b|inspired|versus|\bvs\b|slightly|originally",
    re.IGNORECASE,
)
_TANH_TEXT = lazy(r"\btanh\b", re.IGNORECASE)
_ERF_TEXT = lazy(r"\berfc?\s*\(|\berf\b|\bexact\b|normcdf|norm\.cdf", re.IGNORECASE)
_LOOSE = lazy(r"approx|sigmoid|σ|1\.702|fast|quick|estimat", re.IGNORECASE)


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of an identifier: ``gelu_new``, ``GeluNew`` and ``NewGELU`` have gelu and new."""
    found: list[str] = []
    name = re.sub(r"[gG]eLU", "Gelu", _LONG.sub("Gelu", _IN_PLACE.sub("", name)))
    for word in _WORD.findall(name):
        compound = _COMPOUND.fullmatch(word.lower())
        found += [part for part in compound.groups() if part] if compound else [word.lower()]
    return tuple(found)


def says_gelu(name: str) -> bool:
    """Whether ``gelu`` is a word of ``name``."""
    return any(word in _GELU for word in words(name))


def backward(name: str) -> bool:
    """Whether ``name`` is that of a derivative."""
    parts = words(name)
    return any(word in BACKWARD for word in parts) or parts[:2] == ("d", "gelu")


def says_other(name: str) -> bool:
    """Whether ``name`` is that of another activation."""
    return any(word in _OTHER_ACTIVATIONS for word in words(name))


def gate_only(name: str) -> bool:
    """Whether ``name`` may mean Φ(x), the factor of x, rather than the whole."""
    return any(word in _GATE for word in words(name))


@lru_cache(maxsize=4096)
def claim(name: str) -> frozenset[str]:
    """The flavours that what goes by ``name`` may be; none where the name claims no GELU.

    ``gelu`` may be erf or tanh, ``quick_gelu`` is x·σ(1.702x), ``gelu_new`` tanh, ``fast_gelu`` tanh or quick.
    """
    parts = words(name)
    if not any(word in _GELU for word in parts) or backward(name):
        return frozenset()
    if any(word in _OTHER_WORDS for word in parts):
        return frozenset()
    found: frozenset[str] | None = None
    for word in _beside(parts):
        meant = _FLAVOUR_WORDS.get(word)
        if meant is not None:
            found = meant if found is None else (found & meant or found | meant)
    return PLAIN if found is None else found


def _beside(parts: tuple[str, ...]) -> list[str]:
    """The words that stand with "gelu", names of frameworks aside; none in the name of a chain of operations."""
    if not _CHAINS.isdisjoint(parts):
        return []
    plain = [word for word in parts if word not in _NEUTRAL]
    at = next(i for i, word in enumerate(plain) if word in _GELU)
    return [*plain[max(0, at - 2) : at], *plain[at + 1 : at + 3]]


def specific(name: str) -> bool:
    """Whether ``name`` says which GELU it is."""
    return bool(claim(name)) and claim(name) != PLAIN


_WAY = lazy(
    r"fast|slow|fus|exact|plain|jit|script|compil|optim|kernel|native|built|triton|eager|(?<![a-z])act|Act|erf|tanh|"
    r"approx|sigm|quick|smooth|simple|default|torch|standard|safe|train|eval|infer|cuda|cpu|gpu|precise|accurate|impl|"
    r"(?<![a-z])(?:old|new|py|fallback|legacy|orig)(?![a-z])"
)


@lru_cache(maxsize=1024)
def one_way(name: str) -> bool:
    """Whether ``name`` may be that of one of several ways to compute the same thing."""
    return _WAY.search(name) is not None or _WAY.search(name.lower()) is not None


@lru_cache(maxsize=1024)
def says_glu(name: str) -> bool:
    """Whether ``name`` is that of a gated unit whose gate may be a GELU: GEGLU, GLU, GatedGelu, gelu_and_mul."""
    said = {token.lower() for token in _WORD.findall(name)}
    if "geglu" in name.lower() or "glu" in said or {"gelu", "mul"} <= said:
        return True
    return "gated" in said and not _GATED.isdisjoint(said)


@lru_cache(maxsize=1024)
def claim_of_text(text: str) -> frozenset[str]:
    """The flavours that a docstring claims: as ``claim``, from its first paragraph, if that makes no comparison."""
    first = text.strip().split("\n\n")[0]
    said = _DOC.search(first)
    if said is None or not LEAD.issuperset(re.findall(r"[a-z]+", first[: said.start()].lower())):
        return frozenset()  # it mentions GELU, in passing
    if _HEDGES.search(first) or len(first) > 400:
        return frozenset()
    tanh, erf, loose = _TANH_TEXT.search(first), _ERF_TEXT.search(first), _LOOSE.search(first)
    if tanh:
        return frozenset(("tanh",)) if not erf else PLAIN
    if loose:
        return frozenset(("tanh", "quick"))
    return PLAIN


_TANH_FORMULA = lazy(r"\btanh\b.{0,90}0?\.0447", re.DOTALL | re.IGNORECASE)
_TANH_WORDS = lazy(
    r"\btanh (form|approx\w*|gelu|version|variant)|approx\w* (by|with|using|via) (a )?tanh", re.IGNORECASE
)
_ERF_FORMULA = lazy(
    r"\berf\s*\(\s*\(?\s*x\s*/|\berfc\s*\(\s*-|\b(exact|erf) (gelu|form|version|gaussian|cdf)", re.IGNORECASE
)
_DOUBT = lazy(
    r"differ|slightly|instead|\bnot\b|unlike|\bthan\b(?! the exact)|\bor\b|original|compar|also|see\b|either|both|"
    r"equivalent|approximate\s*[:=(]|if\b|close|deriv|grad",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def formula_of_text(text: str) -> str:
    """The flavour whose formula a docstring gives as that of the code: tanh, erf, or "" where it leaves any doubt."""
    if len(text) > 600 or _DOUBT.search(text):
        return ""
    tanh = bool(_TANH_FORMULA.search(text) or _TANH_WORDS.search(text))
    erf = bool(_ERF_FORMULA.search(text))
    return ("tanh" if tanh else "erf") if tanh != erf else ""


_SAYS_QUICK = lazy(r"\bquick|\bsigmoid|\bCLIP\b|1\.702|logistic", re.IGNORECASE)


def says_quick(text: str) -> bool:
    """Whether a docstring says that this is the sigmoid form."""
    return bool(_SAYS_QUICK.search(text[:2000]))


_SHUNNED = lazy(
    r"(F\.gelu|nn\.GELU|functional\.gelu|nn\.gelu|built-?in)[^.]{0,80}"
    r"\b(wrong|subtl\w*|avoid\w*|mismatch\w*|not|unavailable|slower|missing|differ\w*|unsupported)\b|"
    r"\b(instead of|rather than|without|avoid\w*) (using )?(F\.gelu|nn\.GELU|\S*functional\.gelu|the built-?in)",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def shuns_built_in(text: str) -> bool:
    """Whether a docstring says why the built-in GELU is not used."""
    return bool(_SHUNNED.search(text[:2000]))


_FLAVOUR_CHOICE = lazy(
    r"(?:gelu_)?(?:approx|approximate|approximation)(?:_gelu|_mode|_type|_method)?|"
    r"(?:use_)?(?:tanh|approx|approximate|fast|exact)_gelu|"
    r"gelu_(?:approx|approximate|approximation|type|variant|mode|kind|flavou?r|tanh|exact|impl)"
)
_ACTIVATION_CHOICE = lazy(
    r"(?:(?:hidden|mlp|ffn|ff|inner|intermediate|feed_?forward|layer|block|encoder|decoder|default|transformer)_)?"
    r"(?:act|activation|nonlinearity|non_linearity|nonlin)"
    r"(?:_?(?:layer|fn|func|function|cls|class|type|name|module|str|string))?"
)
_SETTINGS = lazy(r"(?:\w+_)?(?:config|cfg)|(?:model_|transformer_)?args|hparams|hps|conf")


#: What keys for the width of a feed-forward block have in common.
_WIDTHS = (
    *("ff_", "ffn_", "_ff", "dff", "inner", "mlp_", "feedforward", "feed_forward", "intermediate_", "filter_"),
    *("expan", "widen", "embd"),
)


def says_width(text: str) -> bool:
    """Whether a text may have a key for such a width: without one nobody asks what else the settings have."""
    return any(word in text for word in _WIDTHS)


@lru_cache(maxsize=1024)
def chooses(name: str) -> str:
    """What a parameter of this name chooses: "flavour" of a GELU, "activation", "settings" (many things), or ""."""
    if _FLAVOUR_CHOICE.fullmatch(name):
        return "flavour"
    if _ACTIVATION_CHOICE.fullmatch(name):
        return "activation"
    return "settings" if _SETTINGS.fullmatch(name) else ""
