"""What is measured of a formula: how far it is from each flavour, where its arithmetic fails, what could replace it."""

from __future__ import annotations

import math
from functools import lru_cache

from gelu_lint.facts.replacements import BUILT_INS
from gelu_lint.facts.table import callables
from gelu_lint.model import Span
from gelu_lint.numerics.evaluate import columns, steps
from gelu_lint.numerics.flavours import FLAVOURS, LINE, between, difference
from gelu_lint.numerics.identify import identify
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import Identity
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.sinks import GELU_FLAVOURS
from gelu_lint.tree.literals import literal
from gelu_lint.tree.lowering import METHODS, Reading
from gelu_lint.tree.terms import operations

_BACKENDS = frozenset(("numpy", "scipy", "math", ""))


@lru_cache(maxsize=512)
def deltas(expr: Expr) -> tuple[tuple[str, float | None], ...]:
    """What changes if a flavour takes the place of a formula: max |new − old| over all real x, None without bound."""
    if too_big(expr):
        return ()
    same = identify(expr)
    if same.flavour in FLAVOURS and not same.error:  # equal up to rounding: what is apart from it is known
        return tuple((name, between(same.flavour, name).size) for name in GELU_FLAVOURS)
    program = steps(expr)
    known = dict(zip(LINE, columns(program, LINE)[-1], strict=True))

    def value(x: float) -> float:
        found = known.get(x)
        return columns(program, (x,))[-1][0] if found is None else found

    return tuple((name, difference(value, FLAVOURS[name].value).size) for name in GELU_FLAVOURS)


def hazards(expr: Expr, identity: Identity, framework: str, contexts: frozenset[str]) -> tuple[tuple[str, float], ...]:
    """Where the arithmetic of a formula fails; half precision only where the file has a context for it."""
    from gelu_lint.numerics.rounded import forward, forward_nan, gradient_nan, tail_lost

    found: list[tuple[str, float | None]] = []
    exponential = {"exp", "exp2", "expm1"} & operations(expr)
    if exponential:
        for dtype in ("float32", "float64"):
            at = forward_nan(expr, dtype)
            found.append((dtype, at))
            column = forward(expr, dtype, (-at,)) if at is not None else None
            if at is not None and column is not None and math.isnan(column[0]):
                found.append((f"both {dtype}", at))
    if contexts and framework not in _BACKENDS:
        found += [(kind, gradient_nan(expr, kind)) for kind in ("half", "cuda_autocast") if kind in contexts]
        flavour = FLAVOURS.get(identity.flavour)
        if flavour is not None:
            found.append(("tail", tail_lost(expr, "float16", flavour.value)))
    return tuple((kind, value) for kind, value in found if value is not None)


def rounded(value: float | None) -> float | None:
    """A fitted parameter, to the digits that the fit has."""
    return None if value is None else float(f"{value:.9g}")


def misspelled(identity: Identity, reading: Reading, draft: Draft) -> Span | None:
    """Where the constant that is off stands, if it is a number that is written in one place."""
    if identity.wrong is None:
        return None
    text = f"{abs(identity.wrong):.6g}"
    nodes = {id(node): node for node in reading.literals}
    same = [node for node in nodes.values() if f"{literal(node)[1]:.6g}" == text]
    return draft.span(same[0]) if len(same) == 1 else None


def framework_of(packages: frozenset[str], imported: set[str]) -> str:
    """The package whose built-in could take the place of a formula; "" where only operators and methods are used."""
    strong = sorted(packages - _BACKENDS - {METHODS})
    if len(strong) == 1:
        return strong[0]
    if not strong and (METHODS in packages or not packages & {"numpy", "scipy"}):
        known = {package for package, _ in BUILT_INS} & imported
        return "torch" if "torch" in known else known.pop() if len(known) == 1 else ""
    return max(packages & {"numpy", "scipy"}, default="") if not strong else ""


def built_ins(framework: str) -> set[str]:
    """Every name of the built-ins of a framework that could replace a formula."""
    rows = {callables()[name] for (package, _), name in BUILT_INS.items() if package == framework}
    return {name for row in rows for name in (row.name, *row.aliases)}
