"""What a formula is, and whether it is a GELU, by itself and under the names that it is given out for."""

from __future__ import annotations

import re
from collections.abc import Callable

from gelu_lint.named import NamedTuple
from gelu_lint.numerics.evaluate import GRID, values
from gelu_lint.numerics.flavours import OTHERS
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import REFERENCES, UNKNOWN, Identity, distance, same
from gelu_lint.numerics.near import GATES
from gelu_lint.patterns import lazy
from gelu_lint.sites.claimed import Claimed
from gelu_lint.sites.context import Around, Role
from gelu_lint.tree.lowering import Reading
from gelu_lint.tree.nodes import CSTNode, FunctionDef, Lambda
from gelu_lint.tree.terms import atoms, factors, operations, over, product
from gelu_lint.tree.walk import Moment

GELU_FLAVOURS = ("erf", "tanh", "quick")
#: Families of one parameter.
PARAMETRIC = ("quick", "silu", "sigmoid_k", "gelu_t", "relu")
_GELUS = (*GELU_FLAVOURS, "gelu_t", "clipped", "squared")
_MOST_ATOMS = 4
_OTHERS = {name: tuple(map(function, GRID)) for name, function in OTHERS.items() if name not in ("silu", "relu")}
_GELU_LIKE = (1.55, 1.9)  # slopes of σ(kx) that somebody fitted to Φ: √(8/π), 1.702, 1.7729
_RANDOM = lazy(r"rand|bernoulli|mask|dropout", re.IGNORECASE)


class Sink(NamedTuple):
    """One formula: what it computes, where its final product stands, and how it was read."""

    node: CSTNode
    moment: Moment
    identity: Identity
    expr: Expr
    atom: str
    reading: Reading
    claims: Claimed
    part: Role
    around: Around
    returned: bool  # it is all that the function around gives
    whole: bool  # the formula is the whole expression, not one factor of it
    several: bool
    parametric: bool
    function: FunctionDef | Lambda | None


def gelu(expr: Expr, judge: Callable[[Expr], Identity], claimed: bool) -> tuple[Identity, Expr, str, bool] | None:
    """What a formula computes of one of its atoms: its identity, itself over x, the atom, whether it is all of it.

    A product such as ``gelu(x) * gate`` holds the GELU of x.
    """
    if not operations(expr) & GATES and not claimed:
        return None
    unknowns = sorted(atoms(expr))
    if len(unknowns) == 1:
        formula = over(expr, unknowns[0])
        found = judge(formula)
        if claimed and found.flavour in ("unknown", "gate"):
            found = _other(formula) or found
        return (found, formula, unknowns[0], True) if _known(found, claimed) else None
    if not unknowns:
        return None
    parts = factors(expr)
    for atom in unknowns[:_MOST_ATOMS]:
        own = product([part for part in parts if atoms(part) <= {atom}])
        if operations(own) & (GATES | {"relu"} if claimed else GATES) and atoms(own) == {atom}:
            formula = over(own, atom)
            found = judge(formula)
            # What else is multiplied may hold a factor that seems to be missing.
            sure = found.flavour != "near" or found.right is not None
            if _known(found, claimed) and found.flavour != "gate" and sure:
                return found, formula, atom, False
    return None


def _other(formula: Expr) -> Identity | None:
    """Another activation that a formula is, if it is one of OTHERS."""
    if too_big(formula):
        return None
    column = values(formula)
    for name, reference in _OTHERS.items():
        if same(column, reference):
            return Identity(name, *distance(column, REFERENCES["erf"]))
    return None


def _known(identity: Identity, claimed: bool) -> bool:
    if claimed:
        return identity is not UNKNOWN and identity.flavour != "unknown"
    if identity.flavour == "sigmoid_k":
        return _GELU_LIKE[0] <= (identity.parameter or 0) <= _GELU_LIKE[1]
    return identity.flavour in (*_GELUS, "near")


def masked(identity: Identity, reading: Reading, atom: str) -> Identity:
    """A GELU that is multiplied by a random mask is a sparse one."""
    if identity.flavour in GELU_FLAVOURS and any(_RANDOM.search(name) for name in reading.atoms if name != atom):
        return identity._replace(flavour="sparse", nearest=identity.flavour)
    return identity


def under(identity: Identity, claims: Claimed, parametric: bool) -> Identity | None:
    """The identity of a formula under its claims: what is near, and what is a family of its own."""
    if parametric:
        return identity if identity.flavour in PARAMETRIC else None
    if not claims.allowed:
        return identity if identity.flavour in (*_GELUS, "near", "sigmoid_k") else None
    if identity.flavour == "sigmoid_k":
        return identity._replace(flavour="near")
    if identity.flavour in _OTHERS and claims.gate:
        return None
    if identity.flavour == "gate":
        if claims.gate or identity.nearest not in GELU_FLAVOURS:
            return None
        return identity._replace(flavour="near", why="factor x missing", right=None)
    return identity
