"""What aten's element-by-element operations are in the formulas of `numerics.ir`. Signatures: native_functions.yaml.

A tensor comes as an expression (a truth value as the number 0 or 1), a number as itself. What is not in OPERATIONS has
no such formula, or none that a GELU is written with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gelu_lint.numerics.flavours import SQRT_2_OVER_PI, TANH_CUBIC
from gelu_lint.numerics.ir import Expr, call, const

Number = bool | int | float
Operand = Expr | Number


class Unknown(Exception):
    """An operation with arguments that have no formula."""


def expr(value: Operand) -> Expr:
    """A tensor or a number as an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)):
        return const(value)
    raise Unknown


def _times(factor: Operand, value: Operand) -> Expr:
    # A factor of 1, as an alpha or what `1 / x` becomes, is none.
    if not isinstance(factor, Expr) and factor == 1:
        return expr(value)
    return call("mul", expr(value), expr(factor))


def _unary(op: str) -> Callable[..., Expr]:
    return lambda x: call(op, expr(x))


def _binary(op: str) -> Callable[..., Expr]:
    return lambda a, b: call(op, expr(a), expr(b))


def _same(x: Operand, *_: object, **__: object) -> Expr:
    return expr(x)


def _add(a: Operand, b: Operand, alpha: Number = 1) -> Expr:
    return call("add", expr(a), _times(alpha, b))


def _sub(a: Operand, b: Operand, alpha: Number = 1) -> Expr:
    return call("sub", expr(a), _times(alpha, b))


def _rsub(a: Operand, b: Operand, alpha: Number = 1) -> Expr:
    return call("sub", expr(b), _times(alpha, a))


def _mul(a: Operand, b: Operand) -> Expr:
    return _times(b, a) if not isinstance(b, Expr) else _times(a, b)


def _div(a: Operand, b: Operand, rounding_mode: str | None = None) -> Expr:
    quotient = call("div", expr(a), expr(b))
    if rounding_mode == "trunc":
        raise Unknown
    return call("floor", quotient) if rounding_mode == "floor" else quotient


def _cast(x: Operand, dtype: Any = None, **_: object) -> Expr:
    if dtype is not None and not dtype.is_floating_point:
        raise Unknown  # what is behind the decimal point is cut off
    return expr(x)


def _addcmul(a: Operand, b: Operand, c: Operand, value: Number = 1) -> Expr:
    return call("add", expr(a), _times(value, call("mul", expr(b), expr(c))))


def _addcdiv(a: Operand, b: Operand, c: Operand, value: Number = 1) -> Expr:
    return call("add", expr(a), _times(value, call("div", expr(b), expr(c))))


def _above(a: Operand, b: Operand) -> Expr:
    return call("step", expr(a) if not isinstance(b, Expr) and b == 0 else call("sub", expr(a), expr(b)))


def _not(truth: Operand) -> Expr:
    return call("sub", const(1), expr(truth))


def _where(truth: Operand, a: Operand, b: Operand) -> Expr:
    condition = expr(truth)
    return call("where_positive", condition.args[0] if condition.op == "step" else condition, expr(a), expr(b))


def _clamp(x: Operand, min: Operand | None = None, max: Operand | None = None) -> Expr:
    clamped = expr(x)
    if min is not None:
        clamped = call("max", clamped, expr(min))
    if max is not None:
        clamped = call("min", clamped, expr(max))
    return clamped


def _gelu(x: Operand, approximate: str = "none") -> Expr:
    value = expr(x)
    if approximate == "none":
        return call("mul", value, call("ndtr", value))
    cube = call("mul", const(TANH_CUBIC), call("pow", value, const(3)))
    inner = call("mul", const(SQRT_2_OVER_PI), call("add", value, cube))
    return call("mul", call("mul", const(0.5), value), call("add", const(1), call("tanh", inner)))


def _silu(x: Operand) -> Expr:
    return call("mul", expr(x), call("sigmoid", expr(x)))


def _softplus(x: Operand, beta: Number = 1, threshold: Number = 20) -> Expr:
    soft = call("softplus", _times(beta, x))
    return soft if beta == 1 else call("div", soft, const(beta))


def _mish(x: Operand) -> Expr:
    return call("mul", expr(x), call("tanh", call("softplus", expr(x))))


def _elu(x: Operand, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Expr:
    below = _times(alpha, call("expm1", _times(input_scale, x)))
    return _times(scale, call("where_positive", expr(x), expr(x), below))


def _celu(x: Operand, alpha: Number = 1) -> Expr:
    return _elu(x, alpha, 1, 1 / alpha)


def _leaky(x: Operand, slope: Operand = 0.01) -> Expr:
    return call("where_positive", expr(x), expr(x), _times(slope, x))


def _threshold(x: Operand, threshold: Number, value: Number) -> Expr:
    return _where(_above(x, threshold), x, value)


def _sixth(x: Operand) -> Expr:
    return call("div", _clamp(call("add", expr(x), const(3)), 0, 6), const(6))


def _log_sigmoid(x: Operand, *_: object) -> Expr:
    return call("logsigmoid", expr(x))


def _erfcx(x: Operand) -> Expr:
    return call("mul", call("exp", call("square", expr(x))), call("erfc", expr(x)))


def _log2(x: Operand) -> Expr:
    return call("div", call("log", expr(x)), const(math.log(2)))


def bare(op: Any) -> str:
    """The name of an operation (an overload of torch.ops) without namespace, overload and in-place underscore."""
    name = str(op._schema.name).partition("::")[2]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


#: By the name that `bare` gives. What torch takes apart
#: before it runs (square, special_ndtr, reshape …) is not among them.
OPERATIONS: dict[str, Callable[..., Expr]] = {
    **{
        op: _unary(op)
        for op in ("erf", "erfc", "exp", "exp2", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal")
    },
    **{op: _unary(op) for op in ("neg", "abs", "sign", "floor", "tanh", "sigmoid", "relu")},
    "special_log_ndtr": _unary("log_ndtr"), "special_erfcx": _erfcx,
    "sgn": _unary("sign"), "log_sigmoid_forward": _log_sigmoid, "log2": _log2,
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div, "pow": _binary("pow"),
    "floor_divide": lambda a, b: _div(a, b, "floor"), "addcmul": _addcmul, "addcdiv": _addcdiv,
    "minimum": _binary("min"), "maximum": _binary("max"), "clamp": _clamp, "hardtanh": _clamp,
    "clamp_min": lambda x, low: _clamp(x, low), "clamp_max": lambda x, high: _clamp(x, None, high),
    "gt": _above, "lt": lambda a, b: _above(b, a), "ge": lambda a, b: _not(_above(b, a)),
    "le": lambda a, b: _not(_above(a, b)), "logical_not": _not, "bitwise_not": _not, "where": _where,
    "masked_fill": lambda x, truth, value: _where(truth, value, x), "threshold": _threshold,
    "gelu": _gelu, "silu": _silu, "mish": _mish, "softplus": _softplus, "elu": _elu, "celu": _celu,
    "leaky_relu": _leaky, "_prelu_kernel": _leaky, "hardsigmoid": _sixth,
    "hardswish": lambda x: call("mul", expr(x), _sixth(x)),
    "_to_copy": _cast,
    **dict.fromkeys(
        ("clone", "alias", "detach", "lift_fresh", "view", "_reshape_alias", "_unsafe_view"), _same
    ),
    **dict.fromkeys(("unsqueeze", "squeeze", "t", "transpose", "permute", "expand"), _same),
}  # fmt: skip
