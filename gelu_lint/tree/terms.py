"""Formulas over atoms: what an expression is made of before it is known which of its names is the unknown."""

from __future__ import annotations

from gelu_lint.numerics.ir import OPS, Expr, X, bottom_up, call, const

#: How the operation of an atom begins: the source of what cannot be computed follows.
ATOM = "atom:"


def atoms(expr: Expr) -> set[str]:
    """The atoms of a formula."""
    return {part.op for part in bottom_up(expr) if part.op.startswith(ATOM)}


def operations(expr: Expr) -> set[str]:
    """The operations of a formula."""
    return {part.op for part in bottom_up(expr) if part.op in OPS}


def over(expr: Expr, atom: str, others: Expr | None = None) -> Expr:
    """The formula with x in the place of ``atom``, and ``others`` in that of every other atom if it is given."""
    made: dict[int, Expr] = {}
    for part in bottom_up(expr):
        if part.op == atom:
            made[id(part)] = X
        elif others is not None and part.op.startswith(ATOM):
            made[id(part)] = others
        elif part.args:
            made[id(part)] = Expr(part.op, tuple(made[id(arg)] for arg in part.args))
        else:
            made[id(part)] = part
    return made[id(expr)]


def factors(expr: Expr) -> list[Expr]:
    """The factors of a product; what it is divided by comes as a reciprocal."""
    found, waiting = [], [expr]
    while waiting:
        part = waiting.pop()
        if part.op == "mul":
            waiting += part.args
        elif part.op == "div":
            waiting += (part.args[0], call("reciprocal", part.args[1]))
        else:
            found.append(part)
    return found


def product(parts: list[Expr]) -> Expr:
    """The product of ``parts``, 1 if there are none."""
    if not parts:
        return const(1.0)
    whole = parts[0]
    for part in parts[1:]:
        whole = call("mul", whole, part)
    return whole
