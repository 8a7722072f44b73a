"""GELUs of frameworks with different defaults, left implicit in one project.

## What it does
In a run over a whole project, looks at the GELUs that do not say which function they compute, and reports the first
one where the frameworks of the project disagree about what that means: torch, tensorflow, paddle and
`keras.activations` compute erf, jax, flax and `keras.ops` tanh. The first implicit GELU of the other meaning is a
related location. Tests, references and code that spells its flavour out do not count.

## Why is this bad
The same words mean two functions, up to 4.7e-4 apart. A model that is ported from one framework of the project to the
other, or a checkpoint that both load, computes something else, and nothing fails.

## Fix safety
There is no fix here: `gelu-lint fix` spells each of them out (GEL001), which changes nothing. Which flavour both should
have is for you to decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.facts.table import callables
from gelu_lint.misuse import misuse
from gelu_lint.model import FileSummary, Finding, Project, Site
from gelu_lint.roles import is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report

_FLAVOURS = ("erf", "tanh")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    first: dict[str, tuple[FileSummary, Site]] = {}
    for file in files:
        if is_test(file.place):
            continue
        for site in file.sites:
            if _is_implicit(site) and not is_test(file.place, site.symbol):
                first.setdefault(site.flavour, (file, site))
    if len(first) < len(_FLAVOURS):
        return
    file, site = next(iter(first.values()))
    other_file, other = next(reversed(first.values()))
    where = f"{other_file.path}:{other.span.row}" if other_file is not file else f"line {other.span.row}"
    message = (
        f"{site.written} is the {site.flavour} GELU by default, and {other.written} ({where}) in the same project the "
        f"{other.flavour} one: up to 4.7e-4 apart where a port or a checkpoint takes them for one function"
    )
    found = report("GEL031", file, site, message, "warning", None, claimed=None)
    yield found._replace(related=((other_file.path, other.span, f"the {other.flavour} GELU by default"),))


def _is_implicit(site: Site) -> bool:
    """Whether a call leaves the flavour to its framework."""
    row = callables().get(site.callee)
    if row is None or not row.keyword or site.given != "absent" or site.form not in ("call", "partial"):
        return False
    return site.flavour in _FLAVOURS and misuse(site) is None and not is_reference(site.symbol, site.key)


def evidence() -> None:
    """PyTorch's default is erf; what jax and keras.ops compute by default, tanh, is 4.7e-4 from it."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    tanh = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    assert (F.gelu(x) - F.gelu(x, approximate="none")).abs().max() == 0
    assert abs((F.gelu(x) - tanh).abs().max().item() - 4.73e-4) < 1e-6
    assert {callables()[name].flavour for name in ("jax.nn.gelu", "keras.ops.gelu")} == {"tanh"}
    assert (F.gelu(x, approximate="tanh") - tanh).abs().max() < 1e-12


_TORCH = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w{})\n"
_JAX = "import jax\n\n\ndef mlp(x, w):\n    return jax.nn.gelu(x @ w{})\n"

RULE = Rule(
    "GEL031",
    "cross-framework-defaults",
    "implicit GELUs of frameworks whose defaults differ, in one project",
    "— (GEL001 spells each out)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(_TORCH.format(""), at="5:12", beside={"port/jax_model.py": _JAX.format("")}),
        bad(_JAX.format(""), at="5:12", beside={"torch_model.py": _TORCH.format("")}),
        good(_TORCH.format(', approximate="none"'), beside={"jax_model.py": _JAX.format(", approximate=False")}),
        good(_TORCH.format(', approximate="none"'), beside={"jax_model.py": _JAX.format(", approximate=True")}),
    ),
    evidence=evidence,
    project=True,
    across=across,
)
