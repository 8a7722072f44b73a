"""GELUs that are typed by hand, or given out under another name: which rule speaks of a site, and what to write.

One finding a site: a near miss goes before SiLU under the name of GELU, that before quick GELU, that before a name that
says another flavour, and all before a formula that is right but has a built-in.
"""

from __future__ import annotations

from gelu_lint.claims import PLAIN, specific, words
from gelu_lint.facts.replacements import BUILT_INS
from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose, spell
from gelu_lint.imports import reach
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Need, Project, Site, Value
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, apart, between
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_backward, is_defined, is_mock, is_reference, is_test
from gelu_lint.rule import report

_NAMES = {
    "silu": "SiLU", "relu": "ReLU", "elu": "ELU", "selu": "SELU", "mish": "Mish", "leaky_relu": "leaky ReLU",
    "sigmoid": "σ(x)", "plain_tanh": "tanh(x)", "softplus": "softplus",
}  # fmt: skip
#: What a near miss was meant to be.
MEANT = {"erf": "x·Φ(x)", "tanh": "the tanh GELU", "quick": "x·σ(1.702x)"}
#: Sources of frameworks themselves, which have no built-in but what they define.
_INTERNAL = lazy(r"(^|/)_src/|(^|/)(torch|jax|jaxlib|keras|tensorflow|paddle|mlx|mindspore|tinygrad|oneflow|flax)/")
#: Words of tests that choose an activation, or a flavour of one.
_CHOICES = frozenset(
    (
        *("gelu", "geglu", "tanh", "erf", "exact", "quick", "fast", "precise", "accurate", "approx", "approximate"),
        *("approximation", "act", "activ", "activation", "activations", "nonlinearity", "nonlin", "silu", "swish"),
        *("relu", "elu", "mish", "sigmoid", "glu", "swiglu"),
    )
)
SLIGHT = 1e-3  # an error from here on is an error; what is less is a warning


def spoken(site: Site, file: FileSummary) -> str:
    """The code of the rule that speaks of a site, "" for none; GEL012 and GEL013 give way to GEL021 and GEL022."""
    if site.form == "backward" or is_backward(site.symbol) or (site.given == "dynamic" and site.spelling == "formula"):
        return ""  # a derivative, or a family with a parameter of its own
    if site.flavour == "near":
        return "GEL014"
    tempered = site.flavour == "gelu_t" and site.given == "fixed" and abs((site.parameter or 1) - 1) > SLIGHT
    if tempered and frozenset(site.claimed) == PLAIN:
        return "GEL014"
    if is_test(file.place, site.symbol) or is_reference(site.symbol, site.key) or is_mock(site.symbol):
        return ""
    if site.claimed and site.flavour not in site.claimed and not _chosen(site):
        if site.flavour in OTHERS:
            return "GEL010"
        if site.flavour == "quick" and site.formula is not None and site.formula.several:
            return ""  # one of the flavours that this code offers
        if site.flavour == "quick" and site.spelling == "formula":
            return "GEL011" if frozenset(site.claimed) == PLAIN else "GEL015"
        if site.flavour == "quick" and frozenset(site.claimed) == PLAIN:
            return "GEL011"
        if site.flavour in ("erf", "tanh", "quick") and not _registry_word(site, file):
            return "GEL015"
    if site.told and site.flavour in ("erf", "tanh") and site.told != site.flavour and not _chosen(site):
        return "GEL015"
    if site.spelling != "formula" or site.formula is None or site.flavour not in ("erf", "tanh"):
        return ""
    return _typed(site, file)


def _chosen(site: Site) -> bool:
    """Whether the branches around a site choose an activation."""
    if site.claims and site.claims[0] in site.tested:
        return False  # the branch itself says which: if name == "gelu": …
    return any(not _CHOICES.isdisjoint(words(test)) for test in site.tested)


def _typed(site: Site, file: FileSummary) -> str:
    """The rule for a formula that is a GELU and may be one."""
    assert site.formula is not None
    if fp16_hazard(site)[0] or overflow(site) is not None:
        return ""  # GEL021 and GEL022 say more
    if site.formula.several or site.formula.kernel or site.formula.tied or site.formula.deliberate or site.tested:
        return ""
    if site.guard or any(use.kind == "probe" for use in file.uses):
        return ""  # it stands in where the built-in may be missing
    if any(other.spelling == "call" and other.statement == site.statement for other in file.sites):
        return ""  # it is compared with the built-in
    if (site.framework, site.flavour) not in BUILT_INS or internal(file) or defines_several(file):
        return ""
    return "GEL012" if site.flavour == "erf" else "GEL013"


def internal(file: FileSummary) -> bool:
    """Whether a file is part of a framework."""
    return bool(_INTERNAL.search(file.place.replace("\\", "/")))


def defines_several(file: FileSummary) -> bool:
    """Whether a file defines several flavours under the names of flavours, on purpose."""
    defined = [
        site
        for site in file.sites
        if site.claims and site.claims != ("docstring",) and site.flavour in ("erf", "tanh", "quick", "clipped")
    ]
    return len({site.flavour for site in defined}) > 1 and any(specific(name) for s in defined for name in s.claims)


def _registry_word(site: Site, file: FileSummary) -> bool:
    """Whether a name is a registry's own: HF calls a tanh "accurate", and tables repeat its keys."""
    name = site.claims[0] if site.claims else ""
    if site.flavour != "tanh" or "accurate" not in name.lower():
        return False
    return site.place == "table" or any(use.kind == "key" and "accurate" in use.detail for use in file.uses)


def fp16_hazard(site: Site) -> tuple[str, float]:
    """What goes wrong in half precision, and from where on: ("half" | "cuda_autocast" | "tail" | "", x)."""
    formula = site.formula
    lifts = ("float", "double", "32", "64")
    if formula is None or any(word in cast for cast in formula.casts for word in lifts if "float16" not in cast):
        return "", 0.0
    for kind in ("half", "cuda_autocast"):
        found = formula.hazard(kind)
        if found is not None:
            return kind, found
    tail = formula.hazard("tail")
    return ("tail", tail) if tail is not None and site.flavour == "erf" else ("", 0.0)


def overflow(site: Site) -> float | None:
    """From which x on the value is NaN, because something overflows, in the precision that the formula has."""
    if site.formula is None or site.flavour not in ("erf", "tanh", "quick"):
        return None
    return site.formula.hazard("float64" if site.framework in ("numpy", "scipy") else "float32")


def label(flavour: str) -> str:
    """A flavour in words, with its formula."""
    if flavour == "quick":
        return "x·σ(1.702x) (quick GELU)"
    if flavour == "silu":
        return "x·σ(x) (SiLU)"
    return f"the {flavour} GELU" if flavour in FLAVOURS and flavour != "relu" else _NAMES.get(flavour, flavour)


def named(site: Site) -> str:
    """What a site is given out for, in words."""
    name = site.claims[0] if site.claims else ""
    return "where the docstring says GELU" if name == "docstring" else f"under the name {name}"


def target(site: Site, project: Project) -> str:
    """The flavour that a name asks for: the policy's if the name leaves it open."""
    allowed = frozenset(site.claimed) or PLAIN
    if project.policy in allowed:
        return project.policy
    return next((flavour for flavour in ("erf", "tanh", "quick") if flavour in allowed), "erf")


def off(flavour: str, wanted: str) -> tuple[float | None, str]:
    """How far a flavour is from another, and that in words."""
    gap = between(flavour, wanted) if flavour in FLAVOURS else apart(flavour, wanted)
    return gap.size, distance(gap.size, gap.at)


def distance(size: float | None, at: float) -> str:
    """An error in words."""
    if size is None:
        return "off without bound"
    where = f"at x = {at:.3g}" if abs(at) < 1e4 else f"as x → {'∞' if at > 0 else '−∞'}"
    amount = f"{size:.3g}" if size >= SLIGHT else f"{size:.2e}".replace("e-0", "e-")
    return f"off by up to {amount}, {where.replace('-', '−')}"


def replacement(file: FileSummary, project: Project, site: Site, flavour: str) -> Fix | None:
    """The fix that writes the framework's built-in of ``flavour`` in the place of a formula, None where none fits."""
    formula = site.formula
    if formula is None or formula.rewrite is None:
        return None
    if formula.kernel or formula.tied or internal(file) or is_test(file.place, site.symbol):
        return None
    if is_reference(site.symbol, site.key):
        return None
    if project.policy not in ("", flavour) and not is_defined(site):
        return None  # GEL002 would speak of what the fix writes
    name = BUILT_INS.get((site.framework, flavour))
    if site.framework == "keras" and any(bound.target.startswith("keras.ops") for bound in file.bound):
        name = "keras.ops.gelu"
    if name is not None:
        written = call_of(file, project, name, flavour, formula.atom, site.quote)
    else:
        written = _by_scipy(file, site) if (site.framework, flavour) == ("scipy", "erf") else None
    if written is None:
        return None
    text, needs = written
    span, before = formula.rewrite
    return Fix(f"write {text}", (Edit(span, before + text),), needs, delta=formula.delta(flavour))


def _by_scipy(file: FileSummary, site: Site) -> tuple[str, tuple[Need, ...]] | None:
    """SciPy has no GELU, but the normal distribution."""
    found = reach(file, "scipy.special.ndtr")
    if found is None or site.formula is None or not site.formula.atom.isidentifier() or site.place != "return":
        return None
    return f"{site.formula.atom} * {found[0]}({site.formula.atom})", found[1]


def call_of(
    file: FileSummary, project: Project, name: str, flavour: str, argument: str, quote: str
) -> tuple[str, tuple[Need, ...]] | None:
    """A call of a built-in with its flavour stated, and the imports that it needs; None where it may not be written."""
    row = callables()[name]
    if not can_choose(row, project):
        return None
    found = reach(file, name)
    if found is None:
        return None
    at_hand, needs = found
    given = [argument] if argument else []
    if row.keyword:
        given.append(f"{row.keyword}={spell(row.value_for(flavour), quote)}")
    return f"{at_hand}({', '.join(given)})", needs


def finding(
    code: str, file: FileSummary, site: Site, message: str, severity: str, fix: Fix | None, error: Value = None
) -> Finding:
    """A finding at a site, with what the site is given out for and how far it is off."""
    claimed = site.claims[0] if site.claims else None
    return report(code, file, site, message, severity, fix, claimed=claimed, error=error)


def graded(size: float | None) -> str:
    """The severity of an error of this size."""
    return "error" if size is None or size >= SLIGHT else "warning"
