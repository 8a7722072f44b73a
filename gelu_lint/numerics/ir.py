"""A formula over one unknown, x: a tree of named operations, each a total function of floats.

Any float goes in, nothing is raised: what overflows gives ±inf, what has no real value gives nan (log and roots
of negative numbers, 0/0), as in IEEE 754 and numpy. Integer powers are float powers, so 10**10**10 costs nothing.
Trees may share subtrees; nothing here recurses or takes longer for it.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gelu_lint.numerics.flavours import SQRT_HALF

MAX_SIZE = 500
MAX_DEPTH = 200

_LOG_SQRT_2PI = 0.9189385332046727


class Expr(NamedTuple):
    """x, a constant, or an operation of OPS on other expressions. Equal trees are equal and hash alike.

    Hashing and comparing walk the whole tree, recursively: ask `too_big` first.
    """

    op: str
    args: tuple["Expr", ...] = ()
    value: float = 0.0


class Op(NamedTuple):
    """How many arguments an operation takes, and what it computes."""

    arity: int
    function: Callable[..., float]


def _div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return a * math.copysign(math.inf, b)  # 0·inf is nan


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # a negative base to a broken power, or 0 to a negative one
        if a:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def _sqrt(x: float) -> float:
    return math.nan if x < 0 else math.sqrt(x)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    return math.nan if x < 0 else -math.inf if x == 0 else math.log(x)


def _log1p(x: float) -> float:
    return math.nan if x < -1 else -math.inf if x == -1 else math.log1p(x)


def _ndtr(x: float) -> float:
    return 0.5 * math.erfc(-x * SQRT_HALF)


def _log_ndtr(x: float) -> float:
    # In the far left tail Φ underflows; its asymptotic series is good to 1e-10 there.
    if x < -37:
        z = 1 / (x * x)
        return -0.5 * x * x - math.log(-x) - _LOG_SQRT_2PI + math.log1p(z * (-1 + z * (3 - 15 * z)))
    return math.log(_ndtr(x)) if x < 0 else math.log1p(-_ndtr(-x))


def _sigmoid(x: float) -> float:
    if x < 0:
        e = math.exp(x)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(-x))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))  # max(nan, 0.0) is nan


def _relu(x: float) -> float:
    return 0.0 if x <= 0 else x


def _sign(x: float) -> float:
    return 1.0 if x > 0 else -1.0 if x < 0 else x


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


def _max(a: float, b: float) -> float:
    return a if a >= b or a != a else b


def _min(a: float, b: float) -> float:
    return a if a <= b or a != a else b


def _where_positive(x: float, a: float, b: float) -> float:
    return a if x > 0 else b


OPS: dict[str, Op] = {
    # The slots of float are the fastest spelling of +, × and their like.
    "add": Op(2, float.__add__),
    "sub": Op(2, float.__sub__),
    "mul": Op(2, float.__mul__),
    "div": Op(2, _div),
    "pow": Op(2, _pow),
    "neg": Op(1, float.__neg__),
    "abs": Op(1, float.__abs__),
    "sqrt": Op(1, _sqrt),
    "rsqrt": Op(1, lambda x: _div(1.0, _sqrt(x))),
    "square": Op(1, lambda x: x * x),
    "reciprocal": Op(1, lambda x: _div(1.0, x)),
    "exp": Op(1, _exp),
    "expm1": Op(1, _expm1),
    "exp2": Op(1, lambda x: _pow(2.0, x)),
    "log": Op(1, _log),
    "log1p": Op(1, _log1p),
    "erf": Op(1, math.erf),
    "erfc": Op(1, math.erfc),
    "ndtr": Op(1, _ndtr),  # Φ
    "log_ndtr": Op(1, _log_ndtr),
    "tanh": Op(1, math.tanh),
    "sigmoid": Op(1, _sigmoid),
    "logsigmoid": Op(1, lambda x: -_softplus(-x)),
    "softplus": Op(1, _softplus),
    "relu": Op(1, _relu),
    "sign": Op(1, _sign),
    "floor": Op(1, _floor),
    "step": Op(1, lambda x: 1.0 if x > 0 else 0.0),  # the number that x > 0 is
    "max": Op(2, _max),  # nan if either is
    "min": Op(2, _min),
    "where_positive": Op(3, _where_positive),  # a where x > 0, else b
}

X = Expr("x")


def const(value: float) -> Expr:
    """A number. An int too big for a float counts as ±inf."""
    try:
        return Expr("const", (), float(value))
    except OverflowError:
        return Expr("const", (), math.inf if value > 0 else -math.inf)


def call(op: str, *args: Expr) -> Expr:
    """An operation on expressions. KeyError for one that OPS lacks, ValueError for a wrong number of arguments."""
    arity = OPS[op].arity
    if len(args) != arity:
        raise ValueError(f"{op} takes {arity} arguments, not {len(args)}")
    return Expr(op, args)


def bottom_up(expr: Expr) -> Iterator[Expr]:
    """Every subtree, arguments before what uses them; a subtree that is shared (one object) comes once."""
    seen: set[int] = set()
    stack = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((arg, False) for arg in node.args)


def _measure(expr: Expr) -> tuple[int, int]:
    sizes: dict[int, int] = {}
    depths: dict[int, int] = {}
    for node in bottom_up(expr):
        sizes[id(node)] = 1 + sum(sizes[id(arg)] for arg in node.args)
        depths[id(node)] = 1 + max((depths[id(arg)] for arg in node.args), default=0)
    return sizes[id(expr)], depths[id(expr)]


def size(expr: Expr) -> int:
    """How many nodes the tree has, a shared subtree counted each time it is used."""
    return _measure(expr)[0]


def depth(expr: Expr) -> int:
    """How many nodes lie on the longest way down, ends included."""
    return _measure(expr)[1]


def too_big(expr: Expr) -> bool:
    """Is the tree beyond what is worth looking at (500 nodes, 200 deep), and unsafe to hash?"""
    nodes, levels = _measure(expr)
    return nodes > MAX_SIZE or levels > MAX_DEPTH
