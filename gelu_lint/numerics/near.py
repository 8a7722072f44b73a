"""Near misses: every one-place edit of a formula is tried, and the formula is near the flavour that an edit makes it.

A constant, power, sign, factor, term or function is changed; distance plays no part. An edit is a new value for one
step, given what its arguments are; the steps above it follow.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gelu_lint.numerics.evaluate import CORE, GRID, Step, columns
from gelu_lint.numerics.flavours import QUICK_SLOPE, SQRT_2_OVER_PI, SQRT_HALF, TANH_CUBIC
from gelu_lint.numerics.ir import OPS
from gelu_lint.numerics.match import (
    MAX_MISSING,
    NEAR_TARGETS,
    ONE,
    REFERENCES,
    TOLERANCE,
    Column,
    Identity,
    distance,
    exact,
)

MAX_STEPS = 100  # distinct subexpressions; a GELU has 10 to 40
BUDGET = 12000  # operations that the search for a near miss may take, about 8 ms
_EDIT_COST = 5  # of an edit, beside the operations above it

_NAMED = {
    0.5: "0.5",
    1.0: "1",
    2.0: "2",
    3.0: "3",
    math.pi: "π",
    2 / math.pi: "2/π",
    math.sqrt(2): "√2",
    SQRT_HALF: "1/√2",
    SQRT_2_OVER_PI: "√(2/π)",
    2 * SQRT_2_OVER_PI: "2√(2/π)",
    SQRT_2_OVER_PI / 2: "0.5√(2/π)",
    1 / SQRT_2_OVER_PI: "√(π/2)",
    TANH_CUBIC: "0.044715",
    2 * TANH_CUBIC: "2·0.044715",
    TANH_CUBIC * SQRT_2_OVER_PI: "0.0356774",
    2 * TANH_CUBIC * SQRT_2_OVER_PI: "0.0713548",
    QUICK_SLOPE: "1.702",
}
_FACTORS = {value: _NAMED[value] for value in (0.5, 2.0, math.sqrt(2), SQRT_HALF, SQRT_2_OVER_PI, TANH_CUBIC)}
_ROOT_TWOS = (math.sqrt(2), SQRT_HALF)
_SIBLINGS = {
    "tanh": ("erf", "sigmoid"),
    "erf": ("tanh", "erfc", "sigmoid"),
    "erfc": ("erf",),
    "sigmoid": ("tanh", "erf"),
    "ndtr": ("sigmoid", "erf"),
    "exp": ("expm1",),
    "expm1": ("exp",),
    "add": ("sub", "mul"),
    "sub": ("add",),
}
_SIGNS = {"add": "+", "sub": "−", "mul": "×", "ndtr": "Φ", "sigmoid": "σ"}
_SCALING = {"mul", "div", "neg"}
_PHI = OPS["ndtr"].function
_PRODUCTS = {"mul": ("×", "÷"), "div": ("÷", "×")}
GATES = {"tanh", "erf", "erfc", "ndtr", "sigmoid", "exp", "exp2", "expm1"}
_TERMS: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("`1 +`", lambda x: 1.0),
    ("`− 1`", lambda x: -1.0),
    ("cubic term 0.044715x³", lambda x: TANH_CUBIC * x * x * x),
    ("term x", lambda x: x),
)


# New values of an argument, from the present one and x.


def _always(value: float) -> Callable[[float, float], float]:
    return lambda a, x: value


def _times(factor: float) -> Callable[[float, float], float]:
    return lambda a, x: a * factor


def _plus(term: Callable[[float], float]) -> Callable[[float, float], float]:
    return lambda a, x: a + term(x)


def _raised(by: int) -> Callable[[float, float], float]:
    return lambda a, x: a * x**by if x else 0.0


def _applied(function: Callable[..., float]) -> Callable[[Sequence[float], float], float]:
    return lambda args, x: function(*args)


def _halved(function: Callable[..., float]) -> Callable[[Sequence[float], float], float]:
    return lambda args, x: 0.5 * (1 + function(args[0]))


def _unpowered(factor: float, power: float) -> Callable[[Sequence[float], float], float]:
    # (c·x)ⁿ → c·xⁿ
    whole, scale = OPS["pow"].function, OPS["pow"].function(factor, power)
    return lambda args, x: OPS["div"].function(whole(*args), scale)


def _named(value: float) -> str:
    return ("−" if value < 0 else "") + _NAMED[abs(value)]


def written(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")


def _shortened(value: float, right: float) -> bool:
    # Is it the right constant, rounded or cut after 3 or more digits?
    text = f"{abs(value):.12g}"
    digits = text.replace(".", "").lstrip("0")
    unit = 10.0 ** -len(text.partition(".")[2])
    return len(digits) >= 3 and abs(value - right) < unit


Place = tuple[int, int]  # a step and which of its arguments; (number of steps, 0) is the whole


class _Edit(NamedTuple):
    kind: str
    place: Place
    new: Callable[[Sequence[float], float], float]  # the step's value from its arguments and x
    why: str
    right: float | None = None
    wrong: float | None = None
    scale: float = 1.0  # of the whole, once the step has its new value


class _Search:
    """All the single edits of a program, and what each would make of it."""

    def __init__(self, program: Sequence[Step]) -> None:
        self.program = program
        self.columns = columns(program, GRID)
        self.whole = len(program)
        self.varies: list[bool] = []
        above: list[list[int]] = [[] for _ in program]
        for step in program:
            self.varies.append(step.op == "x" or any(self.varies[arg] for arg in step.args))
        for i in range(len(program)):
            touched = {i}
            for j in range(i + 1, len(program)):
                if not touched.isdisjoint(program[j].args):
                    touched.add(j)
                    above[i].append(j)
        self.above = above
        self.places: list[Place] = [(i, slot) for i, step in enumerate(program) for slot in range(len(step.args))]
        # Where a factor would scale the result: from the whole down through products.
        scaling = {self.whole - 1}
        for i in reversed(range(len(program))):
            if i in scaling and program[i].op in _SCALING:
                scaling.update(program[i].args)
        self.scaling = {place for place in self.places if place[0] in scaling and program[place[0]].op in _SCALING}
        # A sum as a whole may be a residual, x + GELU(x), which no sign and no 1 is missing from.
        self.is_sum = program[-1].op in ("add", "sub")
        self.budget = BUDGET

    def _child(self, place: Place) -> int:
        return self.program[place[0]].args[place[1]]

    def _power_of_x(self, step: int) -> int:
        # n if the step is c·xⁿ (1 <= n <= 5), else 0.
        column = self.columns[step]
        first = column[ONE]
        if not (first and math.isfinite(first)):
            return 0
        ratio = [(x, value / first) for x, value in zip(GRID, column, strict=True) if 0.1 < abs(x) <= 3]
        for n in range(1, 6):
            if all(abs(got - x**n) <= 1e-9 * abs(x**n) for x, got in ratio):
                return n
        return 0

    # Each edit of an argument is told by its new value, from its present one and x.
    def _argument(
        self,
        kind: str,
        place: Place,
        new: Callable[[float, float], float],
        why: str,
        right: float | None = None,
        wrong: float | None = None,
    ) -> _Edit:
        step, slot = place
        if step == self.whole:
            return _Edit(kind, place, lambda args, x: new(args[0], x), why, right, wrong)
        function = OPS[self.program[step].op].function

        def edited(args: Sequence[float], x: float) -> float:
            return function(*args[:slot], new(args[slot], x), *args[slot + 1 :])

        return _Edit(kind, place, edited, why, right, wrong)

    def edits(self) -> Iterator[_Edit]:
        """The simplest explanations first: a constant, then powers, functions, signs, factors, terms."""
        yield from self._products()
        yield from self._constants(literal=True)
        yield from self._powers()
        yield from self._functions()
        yield from self._factors()
        yield from self._constants(literal=False)
        yield from self._terms()
        yield from self._parentheses()
        yield from self._misplaced()

    def _products(self) -> Iterator[_Edit]:
        # × c for ÷ c, and a 2 or 0.5 that should not be there.
        for place in self.places:
            step, slot = place
            child = self._child(place)
            op = self.program[step].op
            value = self.columns[child][0]
            if op not in _PRODUCTS or self.varies[child] or abs(value) == 1 or (op == "div" and slot == 0):
                continue
            sign, other = _PRODUCTS[op]
            if value in (0.5, 2.0):
                yield self._argument("factor", place, lambda a, x: 1.0, f"{sign} {value:g} too many")
            if place not in self.scaling and abs(abs(value) - math.pi) < 1e-2 and not self.varies[step]:
                yield self._argument("root two", place, lambda a, x: 1.0, f"{sign} π too many")
            if place not in self.scaling and min(abs(value - root) for root in _ROOT_TWOS) < 1e-3:
                yield self._argument("root two", place, lambda a, x: 1.0, f"{sign} {written(value)} too many")
            if self.varies[step]:
                why = f"{sign} {written(value)} for {other} {written(value)}"
                yield self._argument("inverted", place, lambda a, x: OPS["reciprocal"].function(a), why)

    def _constants(self, literal: bool) -> Iterator[_Edit]:
        for place in self.places:
            child = self._child(place)
            if self.varies[child] or (self.program[child].op == "const") is not literal:
                continue
            op = self.program[place[0]].op
            value = self.columns[child][0]
            exponent = op == "pow" and place[1] == 1 and self.varies[self.program[place[0]].args[0]]
            for size in _NAMED:
                right = math.copysign(size, value)
                # A factor or a scale of 1 is what gains and temperatures are measured against.
                if right == value or (size == 1 and op not in ("add", "sub")) or (exponent and right not in (2, 3)):
                    continue
                if abs(abs(value) - TANH_CUBIC) < 1e-9:
                    continue  # that is the constant; what stands around it is off
                why = f"{written(value)} for {_named(right)}"
                if exponent:
                    why = f"x**{value:.6g} for x**{right:.6g}"
                elif _shortened(value, right):
                    why += " (cut too short)"
                kind = "literal" if literal else "constant"
                yield self._argument(kind, place, _always(right), why, right, value)

    def _powers(self) -> Iterator[_Edit]:
        for place in reversed(self.places):  # the whole of 0.044715·x·x before its parts
            child = self._child(place)
            if place in self.scaling or not self.varies[child]:
                continue
            n = self._power_of_x(child)
            for meant in (3, 2, 1) if n else ():
                if n != meant:
                    yield self._argument("power", place, _raised(meant - n), f"{_power(n)} for {_power(meant)}")

    def _functions(self) -> Iterator[_Edit]:
        for i, (op, args, _) in enumerate(self.program):
            for sibling in _SIBLINGS.get(op, ()):
                if sibling == "mul" and any(abs(self.columns[arg][0]) == 1 and not self.varies[arg] for arg in args):
                    continue  # a GELU and 1 is no slip
                why = f"{_SIGNS.get(op, op)} for {_SIGNS.get(sibling, sibling)}"
                if self.varies[i] and op in ("add", "sub"):
                    first = "…" if self.varies[args[0]] else written(self.columns[args[0]][0])
                    why = f"{first} {_SIGNS[op]} … for {first} {_SIGNS[sibling]} …"
                yield _Edit("function", (i, 0), _applied(OPS[sibling].function), why)
        for i, (op, _, _) in enumerate(self.program):
            if op == "floor":
                yield _Edit("function", (i, 0), lambda args, x: args[0], "// for /")
            elif op == "ndtr" and self.varies[i]:
                yield _Edit("function", (i, 0), lambda args, x: 2 * _PHI(args[0]) - 1, "Φ(x) for erf(x/√2)")
        for place in self.places:
            if self.varies[self._child(place)] and place not in self.scaling and not self.is_sum:
                yield self._argument("sign", place, lambda a, x: -a, "a sign is flipped")

    def _factors(self) -> Iterator[_Edit]:
        for factor in (0.5, 2.0):
            yield self._argument("factor", (self.whole, 0), _times(factor), f"factor {factor:g} missing")
        too_many = "factor x too many"
        yield self._argument("factor", (self.whole, 0), lambda a, x: a / x if x else math.nan, too_many)
        for place in self.places:
            child = self._child(place)
            if place in self.scaling or not self.varies[child]:
                continue
            for factor, name in _FACTORS.items():
                kind = "root two" if factor in _ROOT_TWOS else "factor"
                yield self._argument(kind, place, _times(factor), f"factor {name} missing")
            yield self._argument("factor", place, lambda a, x: a * x, "factor x missing")
            if self._power_of_x(child) != 1:
                yield self._argument("factor", place, lambda a, x: a / x if x else math.nan, "factor x too many")

    def _terms(self) -> Iterator[_Edit]:
        for place in self.places:
            if not self.varies[self._child(place)]:
                continue
            shifts = not self.is_sum and self.program[self._child(place)].op != "x"  # GELU(x - 1) is no slip
            for name, term in _TERMS[0 if shifts else 2 :]:
                yield self._argument("term", place, _plus(term), f"{name} missing")

    def _parentheses(self) -> Iterator[_Edit]:
        """What is on the wrong side of a bracket: a·b + c for a·(b + c), (a + b)·c for a + b·c, f(x)/c for f(x/c)."""
        for i, (op, args, _) in enumerate(self.program):
            if not self.varies[i]:
                continue
            if op == "add":
                for own, other in (args, args[::-1]):
                    for factor in self._chain(own):
                        yield self._at(i, self._joined(own, other, factor), "parentheses missing around a sum")
            elif op == "mul":
                chain = self._chain(i)
                for total in (factor for factor in chain if self.program[factor].op == "add"):
                    for other in (factor for factor in chain if factor != total):
                        for first, second in (self.program[total].args, self.program[total].args[::-1]):
                            value = self._parted(i, total, first, second, other)
                            yield self._at(i, value, "parentheses too many around a sum")
            if op in _PRODUCTS and self.program[args[0]].op in GATES and not self.varies[args[1]]:
                inner, function = self.program[args[0]].args[0], OPS[self.program[args[0]].op].function
                yield self._at(
                    i, self._inside(op, inner, args[1], function), f"a factor outside {self.program[args[0]].op}"
                )
            if op == "sqrt":
                for factor in self._chain(args[0]):
                    if not self.varies[factor]:
                        yield self._at(i, self._rooted(args[0], factor), "√ over too much")

    def _misplaced(self) -> Iterator[_Edit]:
        """What is missing or stands outside of a gate: erf for 0.5·(1 + erf), k·σ(x) for σ(k·x), (c·x)³ for c·x³."""
        for i, (op, args, _) in enumerate(self.program):
            if not self.varies[i]:
                continue
            if op in ("erf", "tanh"):
                function = OPS[op].function
                yield _Edit("term", (i, 0), _halved(function), f"0.5·(1 + …) around {op} missing")
            if op in GATES:
                for factor in self._chain(self.whole - 1):
                    value = self.columns[factor][0]
                    if not self.varies[factor] and value and abs(value) not in (0.5, 1.0, 2.0):
                        inner = self._argument("factor", (i, 0), _times(value), f"factor {written(value)} outside {op}")
                        yield inner._replace(scale=1 / value)
            if op == "pow" and not self.varies[args[1]]:
                for factor in self._chain(args[0]):
                    if not self.varies[factor]:
                        power = self.columns[args[1]][0] - 1
                        value = self.columns[factor][0]
                        yield _Edit("parentheses", (i, 0), _unpowered(value, power), "a factor inside the power")

    def _chain(self, step: int) -> list[int]:
        """The factors of a product, nested ones too; none of what is no product."""
        found: list[int] = []
        waiting = list(self.program[step].args) if self.program[step].op == "mul" else []
        while waiting and len(found) < 8:
            at = waiting.pop()
            if self.program[at].op == "mul":
                waiting += self.program[at].args
            else:
                found.append(at)
        return found

    def _at(self, step: int, value: Callable[[int], float], why: str) -> _Edit:
        return _Edit("parentheses", (step, 0), lambda args, x: value(_INDEX[x]), why)

    def _joined(self, own: int, other: int, factor: int) -> Callable[[int], float]:
        # a·b + c → a·(b + c), b one factor of the product
        cells, divide = self.columns, OPS["div"].function
        return lambda k: cells[own][k] + cells[other][k] * divide(cells[own][k], cells[factor][k])

    def _parted(self, whole: int, total: int, first: int, second: int, other: int) -> Callable[[int], float]:
        # d·(a + b)·c → d·(a + b·c)
        cells, divide = self.columns, OPS["div"].function
        return lambda k: (
            divide(cells[whole][k], cells[total][k] * cells[other][k])
            * (cells[first][k] + cells[second][k] * cells[other][k])
        )

    def _inside(self, op: str, inner: int, scale: int, function: Callable[..., float]) -> Callable[[int], float]:
        # f(x)/c → f(x/c)
        cells, outer = self.columns, OPS[op].function
        return lambda k: function(outer(cells[inner][k], cells[scale][k]))

    def _rooted(self, whole: int, factor: int) -> Callable[[int], float]:
        # √(c·x) → √c·x
        cells, divide, root = self.columns, OPS["div"].function, OPS["sqrt"].function
        return lambda k: root(cells[factor][k]) * divide(cells[whole][k], cells[factor][k])

    def outcome(self, edit: _Edit) -> str:
        """The target that the edited program computes, or ""."""
        left = list(NEAR_TARGETS)
        missing = 0
        for k in _ORDER:
            value = self._value(edit, k) * edit.scale
            if not math.isfinite(value):
                missing += abs(GRID[k]) <= CORE
                if missing > MAX_MISSING:
                    return ""
                continue
            left = [
                name
                for name in left
                if abs(value - REFERENCES[name][k]) <= TOLERANCE * max(1.0, abs(REFERENCES[name][k]))
            ]
            if not left:
                return ""
        return left[0]

    def _value(self, edit: _Edit, k: int) -> float:
        start = edit.place[0]
        cells = self.columns
        if start == self.whole:
            self.budget -= _EDIT_COST
            return edit.new((cells[-1][k],), GRID[k])
        changed = {start: edit.new([cells[arg][k] for arg in self.program[start].args], GRID[k])}
        for i in self.above[start]:
            op, args, _ = self.program[i]
            changed[i] = OPS[op].function(*[changed[arg] if arg in changed else cells[arg][k] for arg in args])
        self.budget -= _EDIT_COST + len(self.above[start])
        return changed[self.whole - 1]


def _power(n: int) -> str:
    return f"x**{n}" if n > 1 else "x"


_INDEX = {x: k for k, x in enumerate(GRID)}

# A few telling points first: nearly every edit fails at the first.
_TELLING = sorted(range(len(GRID)), key=lambda k: min(abs(GRID[k] - x) for x in (1.3, -0.8, 2.2, -2.6)))[:8]
_ORDER = (*_TELLING, *(k for k in range(len(GRID)) if k not in _TELLING))


def _allowed(edit: _Edit, family: str, search: _Search) -> bool:
    # What may still be a slip where the expression is a family of its own: k and τ are choices, √2 is not.
    if family == "sigmoid_k":
        return edit.kind in ("power", "term", "function", "parentheses") or edit.scale != 1
    if family == "gelu_t":
        under_root = edit.place[0] < search.whole and search.program[edit.place[0]].op in ("sqrt", "rsqrt", "pow")
        literal = edit.kind == "literal" and edit.right is not None
        return (
            (literal and (abs(edit.right or 0) in _ROOT_TWOS or under_root))
            or edit.kind in ("root two", "inverted")
            or edit.kind in ("function", "parentheses")
        )
    return True


def _pieced(program: Sequence[Step]) -> bool:
    """Whether it is pieced together elsewhere than at 0: what an edit moves out of sight is no slip."""
    for step in program:
        if step.op in ("step", "where_positive"):
            gap = program[step.args[0]]
            if gap.op in ("add", "sub") and any(program[arg].op == "const" and program[arg].value for arg in gap.args):
                return True
    return False


def near(program: Sequence[Step], column: Column, family: tuple[str, float] | None) -> Identity | None:
    if len(program) > MAX_STEPS or not any(step.op in GATES for step in program) or _pieced(program):
        return None
    search = _Search(program)
    for edit in search.edits():
        if search.budget < 0:
            break
        if not _allowed(edit, family[0] if family else "", search):
            continue
        name = search.outcome(edit)
        if name and not (family and family[0] == "sigmoid_k" and name == "quick"):
            error, at = distance(column, REFERENCES[name])
            if error < TOLERANCE:
                continue  # it is the flavour, except far out
            parameter = family[1] if family else None
            return Identity("near", error, at, parameter, name, edit.why, edit.right, edit.wrong)
    return _swapped(program, column)


def _swapped(program: Sequence[Step], column: Column) -> Identity | None:
    """The two constants of the tanh form, each in the place of the other."""
    held = {
        wanted: [i for i, step in enumerate(program) if step.op == "const" and abs(step.value - wanted) < 1e-3 * wanted]
        for wanted in (SQRT_2_OVER_PI, TANH_CUBIC)
    }
    first, second = held.values()
    if len(first) != 1 or len(second) != 1:
        return None
    other = list(program)
    other[first[0]], other[second[0]] = program[second[0]], program[first[0]]
    if exact(columns(other, GRID)[-1]) != "tanh":
        return None
    return Identity("near", *distance(column, REFERENCES["tanh"]), nearest="tanh", why="√(2/π) and 0.044715 swapped")
