"""The value of an expression at a point and over a fixed grid. No recursion; shared work is done once."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from gelu_lint.numerics.ir import OPS, Expr, bottom_up, const, too_big

CORE = 6.0  # beyond it a gate is 0 or 1, and formulas built from exp may overflow

# An additive golden-ratio sequence fills [-6, 6] evenly, and no two points lie symmetric about 0.
_GOLDEN = (math.sqrt(5) - 1) / 2
GRID: tuple[float, ...] = tuple(
    sorted(
        (
            *(CORE * (2 * (i * _GOLDEN % 1) - 1) for i in range(1, 97)),
            *(-12.0, -9.7, -7.9, -6.6, -6.0, -math.sqrt(2), 0.0, 1.0, math.sqrt(3), 6.0, 6.7, 8.1, 9.9, 12.0),
        )
    )
)


class Step(NamedTuple):
    """One distinct subexpression: what it is, and which earlier steps are its arguments."""

    op: str
    args: tuple[int, ...]
    value: float


def steps(expr: Expr) -> tuple[Step, ...]:
    """The distinct subexpressions, arguments first, the whole last. Equal subtrees are one step."""
    number: dict[int, int] = {}
    known: dict[tuple[Step, float], int] = {}
    for node in bottom_up(expr):
        step = Step(node.op, tuple(number[id(arg)] for arg in node.args), node.value)
        number[id(node)] = known.setdefault((step, math.copysign(1.0, node.value)), len(known))
    return tuple(step for step, _ in known)


def columns(program: Sequence[Step], points: Sequence[float]) -> list[Sequence[float]]:
    """The values of every step at every point."""
    result: list[Sequence[float]] = []
    for op, args, value in program:
        if op == "x":
            result.append(points)
        elif op == "const":
            result.append((value,) * len(points))
        else:
            function: Callable[..., float] = OPS[op].function
            result.append(tuple(map(function, *(result[arg] for arg in args))))
    return result


def evaluate(expr: Expr, x: float) -> float:
    """The value at x. Total: see `ir`."""
    return columns(steps(expr), (float(x),))[-1][0]


@lru_cache(maxsize=1024)
def _values(expr: Expr) -> tuple[float, ...]:
    return tuple(columns(steps(expr), GRID)[-1])


def values(expr: Expr) -> tuple[float, ...]:
    """The values over GRID, remembered unless the expression is too big to hash."""
    return _values.__wrapped__(expr) if too_big(expr) else _values(expr)


def depends(expr: Expr) -> bool:
    """Does x occur in it?"""
    return any(node.op == "x" for node in bottom_up(expr))


def fold(expr: Expr) -> Expr:
    """The same expression with every subtree without x replaced by its value. Nothing else is rewritten."""
    folded: dict[int, Expr] = {}
    for node in bottom_up(expr):
        args = tuple(folded[id(arg)] for arg in node.args)
        if args and all(arg.op == "const" for arg in args):
            folded[id(node)] = const(OPS[node.op].function(*(arg.value for arg in args)))
        else:
            folded[id(node)] = node._replace(args=args) if args else node
    return folded[id(expr)]
