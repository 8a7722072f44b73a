"""A formula in the arithmetic of a float dtype, forward and backward: where does it lose its values or gradients?

Every operation is computed and rounded as PyTorch's elementwise CPU kernels do it: float16 kernels compute in float32
and round once, float32 and float64 ones in their own dtype. Gradients follow autograd's own formulas
(pytorch tools/autograd/derivatives.yaml and torch/csrc/autograd/FunctionsManual.cpp), one rounded operation after the
other, upstream gradient 1. Measured against torch 2.13 (tests/test_rounded.py), with these differences: exp, erf and
the like are rounded correctly here and may be an ulp off there; AVX's erf of float16 has an error of 1e-7, and is thus
0 below |x| = 2e-7; without AVX, or in the last few elements of a tensor, float16's rsqrt is rounded twice. CUDA kernels
are not measured.

Numbers in a formula are Python numbers: what is made of them only is computed in float64 beforehand, and they never
promote. ``c / x`` is torch's ``x.reciprocal() * c``. Subexpressions that are equal are taken for one tensor, which
has several uses, as a formula that names its parts has them.

Everything is total: no formula raises. What is too big (see `ir.too_big`), has operations that `ir.OPS` lacks, or
log_ndtr in float16, for which torch has no kernel, is answered with None. x has no unit.
"""

import math
import operator
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from gelu_lint.numerics.evaluate import columns, fold, steps
from gelu_lint.numerics.flavours import FLAVOURS, SQRT_HALF, Function
from gelu_lint.numerics.ir import OPS, Expr, too_big

DTYPES = ("float16", "float32", "float64")
#: What the tensors are: all float16 (also what CPU autocast leaves after a Linear), or what CUDA autocast makes of
#: float16 ones (float32 outputs of PROMOTED operations promote what they meet).
CONTEXTS = ("half", "cuda_autocast")
#: What CUDA autocast runs in float32: our part of AT_FORALL_FP32, torch/include/ATen/autocast_mode.h of torch 2.13.
PROMOTED = frozenset(("pow", "exp", "expm1", "log", "log1p", "reciprocal", "rsqrt", "softplus"))

FORWARD_REACH = 1000.0  # |x| up to which `forward_nan` looks
TAIL_REACH = 40.0  # |x| up to which `tail_lost` looks

Column = Sequence[float]


# Rounding


def _single(values: Iterable[float]) -> Column:
    return array("f", values)  # beyond the largest float32: ±inf


def _half(values: Iterable[float]) -> Column:
    column = _single(values)
    form = f"={len(column)}e"
    try:
        return struct.unpack(form, struct.pack(form, *column))
    except OverflowError:  # struct raises from 65520 on, where rounding to nearest gives inf
        return struct.unpack(form, struct.pack(form, *(v if abs(v) < 65520.0 else v * math.inf for v in column)))


_ROUND: dict[str, Callable[[Iterable[float]], Column]] = {"float16": _half, "float32": _single, "float64": tuple}
#: How a kernel rounds on its way.
_ROUND_WITHIN: dict[str, Callable[[Iterable[float]], Column]] = {**_ROUND, "float16": _single}


class Tensor(NamedTuple):
    """Numbers of a dtype, all of them representable in it."""

    dtype: str
    column: Column


Operand = Tensor | float


def _common(operands: Iterable[Operand]) -> str:
    """The dtype that operands promote to. Python numbers alone make torch's default one."""
    dtypes = [operand.dtype for operand in operands if isinstance(operand, Tensor)]
    return max(dtypes, key=DTYPES.index) if dtypes else "float32"


def _cast(operand: Tensor, dtype: str) -> Tensor:
    return operand if operand.dtype == dtype else Tensor(dtype, _ROUND[dtype](operand.column))


def _apply(function: Callable[..., float], *operands: Operand, keep: bool = False) -> Tensor:
    """One kernel. Numbers come in the dtype of the result, or with ``keep`` in that which the kernel computes in."""
    dtype = _common(operands)
    number = (_ROUND_WITHIN if keep else _ROUND)[dtype]
    parts = [part.column if isinstance(part, Tensor) else repeat(number((part,))[0]) for part in operands]
    return Tensor(dtype, _ROUND[dtype](map(function, *parts)))


def _full(like: Tensor, value: float) -> Tensor:
    return Tensor(like.dtype, (value,) * len(like.column))


# Operations: what the torch function of that name does. Whether a kernel rounds a number to float16 first is measured.


def _add(a: Operand, b: Operand) -> Tensor:
    return _apply(operator.add, a, b)


def _sub(a: Operand, b: Operand) -> Tensor:
    return _apply(operator.sub, a, b)


def _mul(a: Operand, b: Operand) -> Tensor:
    return _apply(operator.mul, a, b, keep=True)


def _div(a: Operand, b: Operand) -> Tensor:
    return _apply(OPS["div"].function, a, b, keep=True)


def _unary(op: str) -> Callable[[Tensor], Tensor]:
    function = OPS[op].function
    return lambda a: _apply(function, a)


_neg, _exp, _log, _sqrt, _rsqrt = map(_unary, ("neg", "exp", "log", "sqrt", "rsqrt"))


def _pow(base: Operand, exponent: Operand) -> Tensor:
    if isinstance(base, Tensor) and isinstance(exponent, float):
        x, within = base.column, _ROUND_WITHIN[base.dtype]
        if exponent in (2.0, 3.0, -2.0):  # these, torch multiplies
            square = within(map(operator.mul, x, x))
            if exponent == 3.0:
                return Tensor(base.dtype, _ROUND[base.dtype](map(operator.mul, square, x)))
            return Tensor(base.dtype, _ROUND[base.dtype](square if exponent == 2.0 else map(_inverse, square)))
        if base.dtype != "float16" and abs(exponent) == 0.5:
            return _sqrt(base) if exponent > 0 else _rsqrt(base)
    return _apply(OPS["pow"].function, base, exponent)


_inverse = OPS["reciprocal"].function


def _sigmoid(a: Tensor) -> Tensor:
    # 1/(1 + exp(-x)), which is 0 from where exp overflows.
    within = _ROUND_WITHIN[a.dtype]
    exp = within(map(OPS["exp"].function, map(operator.neg, a.column)))
    return Tensor(a.dtype, _ROUND[a.dtype](map(_inverse, within(1.0 + e for e in exp))))


def _logsigmoid(a: Tensor) -> Tensor:
    # min(x, 0) - log1p(exp(-|x|)), which is 0 and not -0 from where exp underflows.
    within, x = _ROUND_WITHIN[a.dtype], a.column
    log = within(map(math.log1p, within(map(OPS["exp"].function, (-abs(value) for value in x)))))
    return Tensor(a.dtype, _ROUND[a.dtype](min(value, 0.0) - part for value, part in zip(x, log, strict=True)))


def _sign(a: Tensor) -> Tensor:
    return _apply(lambda x: 1.0 if x > 0 else -1.0 if x < 0 else 0.0, a)  # 0 of nan


def _where_positive(x: Operand, a: Operand, b: Operand) -> Tensor:
    # The condition has no say in the dtype.
    dtype = _common((a, b))
    test, *parts = (part.column if isinstance(part, Tensor) else repeat(part) for part in (x, a, b))
    return Tensor(dtype, _ROUND[dtype](map(OPS["where_positive"].function, test, *parts)))


_FORWARD: dict[str, Callable[..., Tensor]] = {
    **{op: _unary(op) for op in OPS if OPS[op].arity == 1},
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "sigmoid": _sigmoid,
    "logsigmoid": _logsigmoid,
    "sign": _sign,
    "max": lambda a, b: _apply(OPS["max"].function, a, b),
    "min": lambda a, b: _apply(OPS["min"].function, a, b),
    "where_positive": _where_positive,
}


# Derivatives: for each argument, its part of the gradient from g, that of the result y. None: it gets none.


def _pow_base(g: Tensor, y: Tensor, base: Tensor, exponent: Operand) -> Tensor:
    if isinstance(exponent, float):
        return _mul(g, _mul(exponent, _pow(base, exponent - 1.0))) if exponent else _full(base, 0.0)
    slope = _mul(g, _mul(exponent, _pow(base, _sub(exponent, 1.0))))
    return _apply(lambda n, s: s if n else 0.0, exponent, slope)


def _pow_exponent(g: Tensor, y: Tensor, base: Operand, exponent: Tensor) -> Tensor:
    slope = _mul(y, _log(base) if isinstance(base, Tensor) else OPS["log"].function(base))
    return _mul(g, _apply(lambda b, n, s: 0.0 if b == 0.0 and n >= 0.0 else s, base, exponent, slope))


def _erf_slope(scale: float) -> Callable[..., Tensor]:
    return lambda g, y, a: _mul(_mul(_exp(_neg(_pow(a, 2.0))), scale), g)


def _tanh_slope(g: Tensor, y: Tensor, a: Tensor) -> Tensor:
    # One kernel, g·(1 - y·y).
    within = _ROUND_WITHIN[y.dtype]
    rest = within(1.0 - square for square in within(map(operator.mul, y.column, y.column)))
    return Tensor(y.dtype, _ROUND[y.dtype](map(operator.mul, g.column, rest)))


def _softplus_slope(g: Tensor, y: Tensor, a: Tensor) -> Tensor:
    # One kernel, linear beyond its threshold. Where exp(x) is 0, an infinite g gives nan.
    exp = _ROUND_WITHIN[a.dtype](map(OPS["exp"].function, a.column))
    slopes = (g if x > 20.0 else g * e / (e + 1.0) for g, x, e in zip(g.column, a.column, exp, strict=True))
    return Tensor(a.dtype, _ROUND[a.dtype](slopes))


def _logsigmoid_slope(g: Tensor, y: Tensor, a: Tensor) -> Tensor:
    # One kernel, which gets exp(-|x|) from the forward pass, in the dtype of x.
    exp = OPS["exp"].function
    kept = _apply(lambda x: exp(-abs(x)), a)

    def slope(g: float, x: float, e: float) -> float:
        gate = e / (1.0 + e)
        return (1.0 - gate if x < 0 else gate) * g

    return _apply(slope, g, a, kept)


def _extremum_slope(beats: Callable[[float, float], bool]) -> Callable[[Tensor, Tensor, Tensor, Operand], Tensor]:
    # clamp gives a tensor that equals its bound the whole gradient, maximum and minimum give both halves.
    def slope(g: Tensor, y: Tensor, own: Tensor, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            return _apply(lambda g, a, b: g / 2.0 if a == b else 0.0 if beats(b, a) else g, g, own, other)
        return _apply(lambda g, a, b: g if a == b or beats(a, b) else 0.0, g, own, other)

    return slope


def _either(slope: Callable[[Tensor, Tensor, Tensor, Operand], Tensor]) -> tuple[Callable[..., Tensor], ...]:
    return slope, lambda g, y, a, b: slope(g, y, b, a)


_SLOPES: dict[str, tuple[Callable[..., Tensor | None], ...]] = {
    "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
    "sub": (lambda g, y, a, b: g, lambda g, y, a, b: _neg(g)),
    "mul": (lambda g, y, a, b: _mul(g, b), lambda g, y, a, b: _mul(g, a)),
    "div": (lambda g, y, a, b: _div(g, b), lambda g, y, a, b: _mul(_neg(g), _div(_div(a, b), b))),
    "pow": (_pow_base, _pow_exponent),
    "neg": (lambda g, y, a: _neg(g),),
    "abs": (lambda g, y, a: _mul(g, _sign(a)),),
    "sqrt": (lambda g, y, a: _div(g, _mul(y, 2.0)),),
    "rsqrt": (lambda g, y, a: _mul(_mul(g, -0.5), _pow(y, 3.0)),),
    "reciprocal": (lambda g, y, a: _mul(_neg(g), _mul(y, y)),),
    "exp": (lambda g, y, a: _mul(g, y),),
    "expm1": (lambda g, y, a: _mul(g, _add(y, 1.0)),),
    "exp2": (lambda g, y, a: _mul(_mul(g, y), math.log(2.0)),),
    "log": (lambda g, y, a: _div(g, a),),
    "log1p": (lambda g, y, a: _div(g, _add(a, 1.0)),),
    "erf": (_erf_slope(2.0 / math.sqrt(math.pi)),),
    "erfc": (_erf_slope(-2.0 / math.sqrt(math.pi)),),
    "log_ndtr": (lambda g, y, a: _mul(_div(g, math.sqrt(2 * math.pi)), _exp(_neg(_add(y, _div(_pow(a, 2.0), 2.0))))),),
    "tanh": (_tanh_slope,),
    "sigmoid": (lambda g, y, a: _mul(_mul(g, _sub(1.0, y)), y),),
    "logsigmoid": (_logsigmoid_slope,),
    "softplus": (_softplus_slope,),
    "relu": (lambda g, y, a: _apply(lambda slope, value: 0.0 if value <= 0.0 else slope, g, y),),
    "sign": (lambda g, y, a: _full(a, 0.0),),
    "floor": (lambda g, y, a: _full(a, 0.0),),
    "step": (lambda g, y, a: None,),
    "max": _either(_extremum_slope(operator.gt)),
    "min": _either(_extremum_slope(operator.lt)),
    "where_positive": (
        lambda g, y, x, a, b: None,
        lambda g, y, x, a, b: _where_positive(x, g, 0.0),
        lambda g, y, x, a, b: _where_positive(x, 0.0, g),
    ),
}


# Programs


class _Step(NamedTuple):
    """One tensor, or number, and the earlier ones that it is made of."""

    op: str
    args: tuple[int, ...]
    value: float  # of a const; else it sets steps apart that torch takes inside of an operation
    sign: float  # tells 0.0 from -0.0, which are equal


Program = tuple[_Step, ...]


def _program(expr: Expr, half: bool) -> Program | None:
    """The steps that torch takes, in their order, the whole last. None if it takes none, or they cannot be told."""
    if too_big(expr):
        return None
    try:
        expr = fold(expr)
    except (KeyError, TypeError, ValueError, ArithmeticError):  # an operation that OPS lacks or that lacks arguments
        return None
    known: dict[_Step, int] = {}

    def put(op: str, *args: int, value: float = 0.0) -> int:
        return known.setdefault(_Step(op, args, value, math.copysign(1.0, value)), len(known))

    numbers: dict[int, int] = {}
    todo = [(expr, False)]
    while todo:
        node, ready = todo.pop()
        if id(node) in numbers:
            continue
        if not ready:
            todo.append((node, True))
            todo.extend((arg, False) for arg in reversed(node.args))  # Python evaluates the left one first
            continue
        args = [numbers[id(arg)] for arg in node.args]
        if node.op == "x":
            number = put("x")
        elif node.op == "const":
            number = put("const", value=float(node.value))
        elif node.op not in OPS or len(args) != OPS[node.op].arity or (half and node.op == "log_ndtr"):
            return None
        elif node.op == "div" and node.args[0].op == "const":
            number = put("mul", put("reciprocal", args[1], value=node.args[0].value), args[0])
        elif node.op == "square":
            number = put("pow", args[0], put("const", value=2.0), value=1.0)
        elif node.op == "ndtr":
            erf = put("erf", put("mul", args[0], put("const", value=SQRT_HALF), value=1.0), value=1.0)
            number = put("mul", put("add", erf, put("const", value=1.0), value=1.0), put("const", value=0.5), value=1.0)
        else:
            number = put(node.op, *args)
        numbers[id(node)] = number
    return tuple(known)


def _run(program: Program, x: Tensor, promoted: frozenset[str]) -> list[Operand]:
    values: list[Operand] = []
    for op, args, value, _ in program:
        if op == "x":
            values.append(x)
        elif op == "const":
            values.append(value)
        else:
            values.append(_FORWARD[op](*_operands(values, op, args, promoted)))
    return values


def _operands(values: list[Operand], op: str, args: tuple[int, ...], promoted: frozenset[str]) -> list[Operand]:
    operands = [values[arg] for arg in args]
    if op in promoted:
        operands = [
            _cast(operand, "float32") if isinstance(operand, Tensor) and operand.dtype == "float16" else operand
            for operand in operands
        ]
    return operands


def _forward(program: Program, dtype: str, points: Column) -> Column:
    value = _run(program, Tensor(dtype, points), frozenset())[-1]
    return value.column if isinstance(value, Tensor) else (value,) * len(points)


def _backward(program: Program, context: str, points: Column) -> tuple[Column, Column]:
    """The values at float16 points, and the gradients, which are 0 where torch has none."""
    promoted = PROMOTED if context == "cuda_autocast" else frozenset[str]()
    values = _run(program, Tensor("float16", points), promoted)
    result = values[-1]
    if not isinstance(result, Tensor):
        return (result,) * len(points), (0.0,) * len(points)
    gradients: dict[int, Tensor] = {len(program) - 1: _full(result, 1.0)}
    for number in reversed(range(len(program))):
        op, args, _, _ = program[number]
        gradient, value = gradients.get(number), values[number]
        if gradient is None or op == "x":
            continue
        operands = _operands(values, op, args, promoted)
        parts = list(zip(args, operands, _SLOPES[op], strict=True))
        if op in promoted:  # each operand has its cast, and what was made last goes first
            parts.reverse()
        for arg, operand, slope in parts:
            own = values[arg]
            if not isinstance(own, Tensor) or not isinstance(operand, Tensor):
                continue
            part = slope(gradient, value, *operands)
            if part is None:
                continue
            part = _cast(part, own.dtype)  # the engine hands a gradient on in the dtype of its tensor
            before = gradients.get(arg)
            gradients[arg] = part if before is None else _add(before, part)
    at_x = program.index(_X) if _X in program else -1
    found = gradients.get(at_x)
    return result.column, found.column if found is not None else (0.0,) * len(points)


_X = _Step("x", (), 0.0, 1.0)


# Searching. The float16 numbers of one sign, by their bits: 0 to _FINITE - 1, in order.

_FINITE = 0x7C00
_OCTAVE = 1024  # how many float16 numbers lie from one power of 2 to the next
_ROUNDS, _CUTS = 3, 64  # a gap between two float16 numbers, divided so often into so many parts

Test = Callable[[Column], Iterable[bool]]


def _halves(bits: Sequence[int]) -> Column:
    return struct.unpack(f"={len(bits)}e", struct.pack(f"={len(bits)}H", *bits))


def _bits(magnitude: float) -> int:
    bits: int = struct.unpack("=H", struct.pack("=e", magnitude))[0]
    return bits


def _signed(magnitudes: Iterable[float], signs: tuple[float, ...]) -> Column:
    return [sign * magnitude for magnitude in magnitudes for sign in signs]


def _hit(test: Test, points: Column) -> float | None:
    return next((x for x, found in zip(points, test(points), strict=True) if found), None)


def _smallest(test: Test, dtype: str, coarse: Sequence[int], signs: tuple[float, ...]) -> float | None:
    """The x of least magnitude that passes, as far as the coarse grid (ascending bits) shows.

    Exact in float16, in the others to 2^-29 of x.
    """
    found = _hit(test, _signed(_halves(coarse), signs))
    if found is None:
        return None
    at = coarse.index(_bits(abs(found)))
    if not at:
        return found
    bits = range(coarse[at - 1] + 1, coarse[at] + 1)
    found = _hit(test, _signed(_halves(bits), signs)) or found
    if dtype == "float16":
        return found
    low, high = _halves((_bits(abs(found)) - 1,))[0], abs(found)
    for _ in range(_ROUNDS):
        gap = (high - low) / _CUTS
        cuts = _ROUND[dtype]([*(low + gap * i for i in range(1, _CUTS)), high])
        found = _hit(test, _signed(cuts, signs)) or found
        low, high = abs(found) - gap, abs(found)
    return found


def _is_nan(column: Column) -> list[bool]:
    return [value != value for value in column]


_BOTH = (1.0, -1.0)
#: 32 numbers an octave, whole numbers up to 64 among them, the least and the largest.
_ALL_GRID = (0, 1, *range(_OCTAVE // 32, _FINITE, _OCTAVE // 32), _FINITE - 1)
_FORWARD_GRID = (*(bits for bits in _ALL_GRID if bits < _bits(FORWARD_REACH)), _bits(FORWARD_REACH))
#: What a formula loses between a tail that it keeps and one that rounds to 0 anyway may be as narrow as 0.2.
_TAIL_GRID = (1, *range(64, _bits(1.0), 64), *range(_bits(1.0), _bits(TAIL_REACH) + 1, 4))


@lru_cache(maxsize=1024)
def _gradient_nan(program: Program, context: str) -> float | None:
    def test(points: Column) -> Iterable[bool]:
        values, gradients = _backward(program, context, points)
        return map(operator.or_, _is_nan(values), _is_nan(gradients))

    return _smallest(test, "float16", _ALL_GRID, _BOTH)


@lru_cache(maxsize=1024)
def _forward_nan(program: Program, dtype: str) -> float | None:
    return _smallest(lambda points: _is_nan(_forward(program, dtype, points)), dtype, _FORWARD_GRID, _BOTH)


@lru_cache(maxsize=1024)
def _tail_lost(program: Program, dtype: str, exact: Function) -> float | None:
    def test(points: Column) -> Iterable[bool]:
        lost = [not value for value in _forward(program, dtype, points)]
        wanted = _ROUND[dtype]([_sure(exact, x) if gone else 0.0 for x, gone in zip(points, lost, strict=True)])
        return [bool(value) and value == value for value in wanted]

    return _smallest(test, dtype, _TAIL_GRID, (-1.0,))


def _sure(exact: Function, x: float) -> float:
    try:
        return float(exact(x))
    except (ArithmeticError, ValueError):
        return math.nan


_CLOSE = 0.05  # the flavours are up to 0.02 apart
_NEAR_ZERO = tuple(i / 4 for i in range(-16, 17))
_FLAVOUR_COLUMNS = tuple((flavour.value, tuple(map(flavour.value, _NEAR_ZERO))) for flavour in FLAVOURS.values())


def _flavour(expr: Expr) -> Function | None:
    """The flavour that a formula is closest to over [-4, 4], if it is one at all."""
    values = columns(steps(expr), _NEAR_ZERO)[-1]
    gaps = [
        (max(abs(a - b) if a == a else math.inf for a, b in zip(values, column, strict=True)), flavour)
        for flavour, column in _FLAVOUR_COLUMNS
    ]
    gap, flavour = min(gaps, key=lambda pair: pair[0])
    return flavour if gap < _CLOSE else None


# The questions


def _checked(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise ValueError(f"{name!r} is none of {', '.join(names)}")


def forward(expr: Expr, dtype: str, points: Iterable[float]) -> Column | None:
    """The values at points (rounded to ``dtype`` first), computed in ``dtype``, one of DTYPES.

    They are numbers of ``dtype``, or of a wider dtype that the formula makes. None: see the module.
    ValueError for another dtype.
    """
    _checked(dtype, DTYPES)
    program = _program(expr, dtype == "float16")
    return None if program is None else _forward(program, dtype, _ROUND[dtype](map(float, points)))


def gradient(expr: Expr, context: str, points: Iterable[float]) -> tuple[Column, Column] | None:
    """The values and the gradients dy/dx at points (rounded to float16 first), in ``context``, one of CONTEXTS.

    Gradients are float16 numbers, for an upstream gradient of 1, and 0 where torch would have none at all.
    None: see the module. ValueError for another context.
    """
    _checked(context, CONTEXTS)
    program = _program(expr, half=True)
    return None if program is None else _backward(program, context, _half(map(float, points)))


def gradient_nan(expr: Expr, context: str) -> float | None:
    """The finite float16 x of least magnitude whose value or gradient dy/dx (upstream gradient 1) is nan.

    ``context``: one of CONTEXTS. None if there is none, or see the module. Of x and -x the positive one is told.
    Exact where the nans reach from some |x| on, or over 1/32 of an octave (3 % of x); fewer may be missed.
    ValueError for another context.
    """
    _checked(context, CONTEXTS)
    program = _program(expr, half=True)
    return None if program is None else _gradient_nan(program, context)


def forward_nan(expr: Expr, dtype: str) -> float | None:
    """The x of least magnitude, up to 1000, whose value computed in ``dtype``, one of DTYPES, is nan.

    None if there is none, or see the module. Of x and -x the positive one is told. Exact in float16, else to 7
    digits of what this arithmetic gives, under the condition that `gradient_nan` states. ValueError for another dtype.
    """
    _checked(dtype, DTYPES)
    program = _program(expr, dtype == "float16")
    return None if program is None else _forward_nan(program, dtype)


def tail_lost(expr: Expr, dtype: str, exact: Function | None = None) -> float | None:
    """The x of least magnitude, -40 <= x < 0, whose value computed in ``dtype`` is 0 and should not round to 0.

    ``dtype``: one of DTYPES. ``exact``: the function meant, in float64; if not given, the flavour of FLAVOURS that the
    formula is closest to, or its own values in float64 where it is close to none. Where ``exact`` raises
    ArithmeticError or ValueError or gives nan, nothing counts as lost. None if nothing is, or see the module.
    Exact in float16 where 4 successive numbers are lost; the others tell where rounding done correctly loses it,
    from which torch may be 0.3 % off. ValueError for another dtype.
    """
    _checked(dtype, DTYPES)
    program = _program(expr, dtype == "float16")
    if program is None:
        return None
    exact = exact or _flavour(expr)
    if exact is None:
        own = steps(expr)
        return _tail_lost.__wrapped__(program, dtype, lambda x: columns(own, (x,))[-1][0])
    # Only what is known to hash and to be the same next time is worth remembering.
    known = any(exact is function for function, _ in _FLAVOUR_COLUMNS)
    return (_tail_lost if known else _tail_lost.__wrapped__)(program, dtype, exact)
