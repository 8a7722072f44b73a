"""From LibCST expressions to formulas over named atoms, ready to be evaluated: no pattern per spelling.

Names are followed through assignments, casts fall away, functions of every framework are told by their last name.
What cannot be computed (an attribute, a call, a parameter) is an atom.
"""

from __future__ import annotations

import libcst as cst

from gelu_lint.numerics.ir import OPS, Expr, X, bottom_up, call, const
from gelu_lint.tree.names import Names, last_name, literal
from gelu_lint.tree.walk import Moment

_DEPTH = 60
_STEPS = 1_500
_ATOM = "atom:"

#: Last names of functions, in any framework, and what they compute. The same names serve as methods.
_FUNCTIONS = {
    **{name: name for name in ("erf", "erfc", "ndtr", "tanh", "sigmoid", "exp", "expm1", "sqrt", "rsqrt", "square")},
    **{name: name for name in ("log", "log1p", "abs", "softplus", "relu", "reciprocal", "exp2")},
    "expit": "sigmoid", "logistic": "sigmoid", "sigmoid_": "sigmoid", "tanh_": "tanh", "negative": "neg", "neg": "neg",
    "mul": "mul", "mul_": "mul", "multiply": "mul", "mul_rn": "mul", "add": "add", "add_": "add", "add_rn": "add",
    "sub": "sub", "subtract": "sub", "div": "div", "divide": "div", "true_divide": "div", "div_rn": "div",
    "pow": "pow", "power": "pow", "float_power": "pow", "minimum": "min", "maximum": "max",
}  # fmt: skip
#: Calls that hand their first operand on: casts, copies, moves, wraps of a number.
_CASTS = frozenset(
    (
        *("to", "float", "half", "double", "bfloat16", "astype", "type", "type_as", "cuda", "cpu", "cast", "clone"),
        *("contiguous", "detach", "array", "asarray", "tensor", "as_tensor", "constant", "float16", "float32"),
        *("float64", "convert_to_tensor", "to_tensor", "scalar_tensor"),
    )
)
_MODULES = {"Sigmoid": "sigmoid", "Tanh": "tanh", "ReLU": "relu", "Softplus": "softplus"}
_NUMBERS = {"pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586}
_OPERATORS: dict[type, str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div", cst.Power: "pow",
}  # fmt: skip
_BLANK = cst.Module([])


class Lowering:
    """Lowers the expressions of one module."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._left = 0
        self._kept: frozenset[str] = frozenset()

    def lower(self, node: cst.BaseExpression, moment: Moment, kept: frozenset[str] = frozenset()) -> Expr:
        """The formula of ``node``; names in ``kept`` stay atoms whatever they are bound to."""
        self._left, self._kept = _STEPS, kept
        return self._lower(node, moment, 0)

    def _lower(self, node: cst.BaseExpression, moment: Moment, depth: int) -> Expr:
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            return self._atom(node, moment)
        if isinstance(node, (cst.Integer, cst.Float)):
            return self._number(node, moment)
        if isinstance(node, cst.Name):
            return self._name(node, moment, depth)
        if isinstance(node, cst.BinaryOperation) and type(node.operator) in _OPERATORS:
            left, right = (self._lower(part, moment, depth + 1) for part in (node.left, node.right))
            return call(_OPERATORS[type(node.operator)], left, right)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.Plus)):
            inner = self._lower(node.expression, moment, depth + 1)
            return call("neg", inner) if isinstance(node.operator, cst.Minus) else inner
        if isinstance(node, cst.Attribute) and node.attr.value in _NUMBERS:
            names = self._names.resolve(node, moment)
            if names and all(name.count(".") >= 1 for name in names):
                return const(_NUMBERS[node.attr.value])
        if isinstance(node, cst.Call):
            return self._call(node, moment, depth)
        if isinstance(node, cst.Attribute):
            found = self._names.attribute(node, moment)
            value = self._lower(found[0], found[1], depth + 1) if found is not None else None
            if value is not None and not atoms(value):
                return value  # a constant that __init__ computes
        return self._atom(node, moment)

    def _number(self, node: cst.BaseExpression, moment: Moment) -> Expr:
        known, value = literal(node)
        try:
            return const(float(value)) if known and value is not None else self._atom(node, moment)
        except (OverflowError, ValueError):
            return self._atom(node, moment)

    def _name(self, node: cst.Name, moment: Moment, depth: int) -> Expr:
        if node.value in self._kept:
            return self._atom(node, moment)
        if node.value in _NUMBERS and self._names.resolve(node, moment) & {f"math.{node.value}", f"numpy.{node.value}"}:
            return const(_NUMBERS[node.value])
        binding = self._names.single(node, moment)
        if binding is None or not isinstance(binding.node, cst.BaseExpression):
            return self._atom(node, moment)
        value = self._lower(binding.node, binding.moment, depth + 1)
        # A sum such as "bias + y" that is given a name is one thing to the formula that uses the name.
        return value if len(atoms(value)) <= 1 else self._atom(node, moment)

    def _call(self, node: cst.Call, moment: Moment, depth: int) -> Expr:
        last = last_name(node.func)
        plain = [arg.value for arg in node.args if not arg.star and arg.keyword is None]
        names = self._names.resolve(node.func, moment) if last else frozenset()
        if not last and isinstance(node.func, cst.Call) and last_name(node.func.func) in _MODULES and len(plain) == 1:
            return call(_MODULES[last_name(node.func.func)], self._lower(plain[0], moment, depth + 1))
        if names and {name.rpartition(".")[2] for name in names} == {last}:
            operands = plain
        elif isinstance(node.func, cst.Attribute) and not names:
            operands = [node.func.value, *plain]
        else:
            return self._atom(node, moment)
        if names and all(name.endswith("norm.cdf") for name in names):
            last = "ndtr"
        if last == "ones_like":
            return const(1.0)
        if last in _CASTS and operands:
            return self._lower(operands[0], moment, depth + 1)
        op = _FUNCTIONS.get(last)
        if op is None or len(operands) != OPS[op].arity or len(plain) != len(node.args):
            return self._atom(node, moment)
        return call(op, *(self._lower(operand, moment, depth + 1) for operand in operands))

    def _atom(self, node: cst.BaseExpression, moment: Moment) -> Expr:
        if isinstance(node, cst.Name):
            return Expr(f"{_ATOM}{node.value}@{self._names.version(node, moment)}")
        return Expr(_ATOM + _BLANK.code_for_node(node.with_changes(lpar=(), rpar=())))


def atoms(expr: Expr) -> set[str]:
    """The atoms of a formula."""
    return {part.op for part in bottom_up(expr) if part.op.startswith(_ATOM)}


def operations(expr: Expr) -> set[str]:
    """The operations of a formula."""
    return {part.op for part in bottom_up(expr) if part.op in OPS}


def over(expr: Expr, atom: str) -> Expr:
    """The formula with x in the place of ``atom``."""
    made: dict[int, Expr] = {}
    for part in bottom_up(expr):
        if part.op == atom:
            made[id(part)] = X
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
    whole = const(1.0)
    for part in parts:
        whole = call("mul", whole, part)
    return whole
