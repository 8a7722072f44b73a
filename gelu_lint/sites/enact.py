"""Goes through a test of a gradient as if its GELU were this or that function, and says which of its asserts hold.

Nothing of the code is run: its statements are read one by one, over plain floats with their slopes, and whatever is
not known for sure is None. Loops go over typed values only; steps and sizes are bounded.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gelu_lint.claims import claim
from gelu_lint.facts.table import callables, find
from gelu_lint.model import Site
from gelu_lint.numerics.flavours import FLAVOURS, Flavour
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Assert,
    Assign,
    Attribute,
    BinaryOperation,
    BooleanOperation,
    Call,
    Comparison,
    CSTNode,
    Expr,
    For,
    FunctionDef,
    Index,
    Lambda,
    List,
    Name,
    Pass,
    Return,
    SimpleStatementLine,
    Slice,
    Subscript,
    Tuple,
    UnaryOperation,
    With,
)
from gelu_lint.tree.walk import Moment

_STEPS = 2_000
_SIZE = 64
_RANDOM = 33  # points that stand for however many are drawn

FRAMEWORKS = ("torch", "numpy", "jax", "tensorflow", "math", "paddle", "mlx", "keras", "flax", "autograd", "random")
_TYPED = frozenset(
    (
        *("tensor", "array", "asarray", "as_tensor", "constant", "Variable", "FloatTensor", "Tensor", "DoubleTensor"),
        *("convert_to_tensor", "from_numpy", "float32", "float64", "Parameter", "to_tensor"),
    )
)
_NORMAL = ("randn", "normal", "standard_normal", "randn_like")
_EVEN = ("rand", "uniform", "random", "rand_like", "random_sample")
_FILLED = ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like")
_SAME = frozenset(
    (
        *("detach", "numpy", "cpu", "clone", "float", "double", "item", "tolist", "flatten", "view", "reshape", "to"),
        *("astype", "contiguous", "squeeze", "unsqueeze", "ravel", "requires_grad_", "stop_gradient"),
    )
)
_SEEDS = frozenset(
    (
        *("manual_seed", "seed", "PRNGKey", "key", "set_seed", "split", "default_rng", "print", "zero_grad"),
        *("retain_grad", "set_default_dtype", "set_random_seed"),
    )
)
_WRAPS = ("jit", "vmap", "compile", "pmap", "script")
_TAPES = ("GradientTape", "no_grad", "enable_grad", "set_grad_enabled", "catch_warnings", "subTest")
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "LessThan": operator.lt,
    "LessThanEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
}
_SUMS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Divide": operator.truediv,
    "Power": operator.pow,
}
_ORDER = {"assertLess": "LessThan", "assertLessEqual": "LessThanEqual", "assertGreater": "GreaterThan"}
_ORDER = {**_ORDER, "assertGreaterEqual": "GreaterThanEqual", "assertEqual": "Equal", "assertNotEqual": "NotEqual"}
_CLOSE = {
    "assert_close": (1e-5, 1.3e-6),
    "assert_allclose": (0.0, 1e-7),
    "allclose": (1e-8, 1e-5),
    "isclose": (1e-8, 1e-5),
    "assertAllClose": (1e-6, 1e-6),
    "approx": (1e-12, 1e-6),
}


class Unknown(Exception):
    """Something that is not known for sure."""


class Values:
    """Numbers with their slopes by the leaf that they come from; a leaf has the ``grad`` of what went backward.

    ``summed``: one number, whose slopes are those by each number of the leaf. ``through``: a GELU has to do with them.
    """

    def __init__(
        self,
        values: Sequence[float],
        slopes: Sequence[float] = (),
        leaf: Values | None = None,
        summed: bool = False,
        through: bool = False,
    ) -> None:
        self.values, self.slopes, self.leaf, self.summed = tuple(values), tuple(slopes), leaf, summed
        self.through = through
        self.grad: Values | None = None


class _Function:
    """A function of one argument that the test names: a GELU, or what it makes of one."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self.call = call


class _Returned(Exception):
    """A function is left with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Shape:
    """The shape of values, which are held flat: any two are the same, whatever the function."""


class _Approx:
    def __init__(self, value: Any, absolute: float, relative: float) -> None:
        self.value, self.absolute, self.relative = value, absolute, relative


class Enactment:
    """One way through a test. ``held`` says for each of its asserts whether it holds, None where that is not known;
    ``points`` are where the slope of the GELU was taken, ``drawn`` and ``typed`` whether points were drawn or typed.

    ``guess``: an object of some class is taken for the GELU, or what holds it; ``guessed`` says that one was.
    """

    def __init__(
        self,
        function: FunctionDef,
        flavour: str,
        names: Names,
        moment: Moment,
        sites: Mapping[int, Site],
        guess: bool = False,
    ) -> None:
        self._guess = guess
        self.guessed = False
        self._flavour: Flavour = FLAVOURS[flavour]
        self._names, self._moment, self._sites = names, moment, sites
        self._bound: dict[str, Any] = {}
        self._steps = 0
        self.held: list[bool | None] = []
        self.points: list[float] = []
        self.drawn = self.typed = False
        self.known = True
        try:
            self._block(function.body.body)
        except (Unknown, _Returned, ArithmeticError, ValueError, TypeError, IndexError, AttributeError, RecursionError):
            self.known = False  # what the reading of a test does not know, or what would raise in it

    # Statements

    def _block(self, body: Iterable[CSTNode]) -> None:
        for statement in body:
            parts = statement.body if isinstance(statement, SimpleStatementLine) else (statement,)
            for part in parts:
                self._statement(part)

    def _statement(self, node: CSTNode) -> None:
        self._step()
        if isinstance(node, Assert):
            self.held.append(self._truth(self._tried(node.test)))
        elif isinstance(node, Assign):
            value = self._tried(node.value)
            for target in node.targets:
                self._bind(target.target, value)
        elif isinstance(node, AnnAssign) and node.value is not None:
            self._bind(node.target, self._tried(node.value))
        elif isinstance(node, Expr):
            if not literal(node.value)[0]:
                self._expression(node.value)
        elif isinstance(node, For):
            items = self._value(node.iter)
            items = _members(items) if isinstance(items, Values) else items
            if not isinstance(items, (list, tuple)) or node.orelse is not None:
                raise Unknown
            for item in items:
                self._bind(node.target, item)
                self._block(node.body.body)
        elif isinstance(node, With) and all(self._is_tape(item.item) for item in node.items):
            for item in node.items:
                if item.asname is not None:
                    self._bind(item.asname.name, None)
            self._block(node.body.body)
        elif isinstance(node, FunctionDef):
            self._bound[node.name.value] = self._defined(node)
        elif isinstance(node, Return):
            raise _Returned(self._value(node.value) if node.value is not None else None)
        elif type(node).__name__ in ("Import", "ImportFrom") or isinstance(node, Pass):
            return
        else:
            raise Unknown

    def _defined(self, node: FunctionDef) -> _Function:
        """A function of one argument that the test defines."""
        parameters = node.params.params
        if len(parameters) != 1 or node.decorators:
            raise Unknown
        return _Function(functools.partial(self._entered, parameters[0].name.value, node.body.body))

    def _entered(self, name: str, body: Sequence[CSTNode], argument: Any) -> Any:
        before = dict(self._bound)
        self._bound[name] = argument
        try:
            self._block(body)
        except _Returned as returned:
            return returned.value
        finally:
            self._bound = before
        return None

    def _is_tape(self, node: CSTNode) -> bool:
        return isinstance(node, Call) and last_name(node.func) in _TAPES

    def _expression(self, node: CSTNode) -> None:
        """A statement that is an expression: an assertion by a call, or something that is done."""
        if not isinstance(node, Call):
            raise Unknown
        name = last_name(node.func)
        if "assert" in name.lower():
            try:
                self.held.append(self._asserted(node, name))
            except (Unknown, ArithmeticError, ValueError, TypeError, IndexError):
                self.held.append(None)
        elif name == "watch":
            for arg in node.args:
                self._leaf(self._value(arg.value))
        elif name not in _SEEDS:
            self._value(node)

    def _asserted(self, node: Call, name: str) -> bool | None:
        given = [arg.value for arg in node.args if arg.keyword is None]
        if name in ("assertTrue", "assertFalse"):
            held = self._truth(self._tried(given[0]))
            return held if held is None or name == "assertTrue" else not held
        if name in ("assertIsNotNone", "assertIsNone"):
            return (self._value(given[0]) is not None) == (name == "assertIsNotNone")
        if name in _ORDER:
            return self._truth(self._compared(self._value(given[0]), _ORDER[name], self._value(given[1])))
        if name in ("assertAlmostEqual", "assert_almost_equal", "assert_array_almost_equal"):
            return self._truth(self._close(node, given, *self._decimals(node, name)))
        if name in _CLOSE:
            return self._truth(self._close(node, given, *self._tolerances(node, _CLOSE[name])))
        raise Unknown

    def _decimals(self, node: Call, name: str) -> tuple[float, float]:
        keywords = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        if "delta" in keywords:
            return _number(self._value(keywords["delta"])), 0.0
        word = "places" if name == "assertAlmostEqual" else "decimal"
        plain = [arg.value for arg in node.args if arg.keyword is None]
        value = keywords.get(word, plain[2] if len(plain) > 2 else None)
        count = _number(self._value(value)) if value is not None else 6 if "array" in name else 7
        return (0.5 if word == "places" else 1.5) * 10.0**-count, 0.0

    def _tolerances(self, node: Call, defaults: tuple[float, float]) -> tuple[float, float]:
        found = [*defaults]
        for arg in node.args:
            word = arg.keyword.value if isinstance(arg.keyword, Name) else ""
            if word in ("atol", "abs", "abs_tol", "rtol", "rel", "rel_tol"):
                found[0 if word.startswith("a") else 1] = _number(self._value(arg.value))
        return found[0], found[1]

    def _close(self, node: Call, given: Sequence[CSTNode], absolute: float, relative: float) -> Any:
        return self._near(self._value(given[0]), self._value(given[1]), absolute, relative)

    def _near(self, a: Any, b: Any, absolute: float, relative: float) -> Any:
        return _compared(lambda x, y: abs(x - y) <= absolute + relative * abs(y), a, b)

    def _bind(self, target: CSTNode, value: Any) -> None:
        if isinstance(target, Name):
            self._bound[target.value] = value
        elif isinstance(target, (Tuple, List)):
            parts = value if isinstance(value, (list, tuple)) else [_UNKNOWN] * len(target.elements)
            if len(parts) != len(target.elements):
                raise Unknown
            for element, part in zip(target.elements, parts, strict=True):
                self._bind(element.value, part)
        elif isinstance(target, Attribute) and target.attr.value in ("requires_grad", "grad"):
            if target.attr.value == "grad":
                raise Unknown
            self._leaf(self._value(target.value))
        else:
            raise Unknown

    def _leaf(self, value: Any) -> Values:
        """The values as what slopes are by."""
        if not isinstance(value, Values) or value.leaf not in (None, value):
            raise Unknown
        value.leaf, value.slopes = value, (1.0,) * len(value.values)
        return value

    # Expressions

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise Unknown

    def _tried(self, node: CSTNode) -> Any:
        """The value of an expression, _UNKNOWN where it has none for sure."""
        try:
            return self._value(node)
        except (Unknown, ArithmeticError, ValueError, TypeError, IndexError, AttributeError):
            return _UNKNOWN

    def _value(self, node: CSTNode) -> Any:
        self._step()
        known, value = literal(node)
        if known:
            return value
        if isinstance(node, Name):
            return self._name(node)
        if isinstance(node, (List, Tuple)):
            if len(node.elements) > _SIZE:
                raise Unknown
            return [self._value(element.value) for element in node.elements]
        if isinstance(node, UnaryOperation):
            return self._unary(type(node.operator).__name__, node.expression)
        if isinstance(node, BinaryOperation):
            return self._binary(type(node.operator).__name__, self._value(node.left), self._value(node.right))
        if isinstance(node, BooleanOperation):
            parts = [self._truth(self._tried(part)) for part in (node.left, node.right)]
            decides = type(node.operator).__name__ == "Or"
            return decides if decides in parts else _UNKNOWN if None in parts else not decides
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, Subscript):
            return self._item(node)
        if isinstance(node, Attribute):
            return self._attribute(node)
        if isinstance(node, Lambda):
            return self._lambda(node)
        if isinstance(node, Call):
            return self._call(node)
        raise Unknown

    def _name(self, node: Name) -> Any:
        if node.value in self._bound:
            value = self._bound[node.value]
            if value is _UNKNOWN:
                raise Unknown
            return value
        return self._global(node)

    def _global(self, node: CSTNode) -> Any:
        """A GELU that is named, or pi and its like."""
        names = self._names.resolve(node, self._moment)
        if find(names) is not None or (last_name(node)[:1].islower() and claim(last_name(node))):
            return _Function(self._gelu)
        full = next(iter(names), "")
        if len(names) == 1 and full in ("math.pi", "math.e", "math.inf", "math.nan", "numpy.pi", "torch.pi"):
            return float(getattr(math, full.rpartition(".")[2]))
        if isinstance(node, Name):
            constant = self._names.constant(node, self._moment)
            known, value = literal(constant) if constant is not None else (False, None)
            if known:
                return value
        raise Unknown

    def _gelu(self, argument: Any) -> Values:
        """What the function that stands for the GELU makes of its argument."""
        given = _values(argument)
        if given.summed:
            raise Unknown
        values = [self._flavour.value(x) for x in given.values]
        if given.leaf is None:
            return Values(values, through=True)
        slopes = [self._flavour.slope(x) * s for x, s in zip(given.values, given.slopes, strict=True)]
        self.points += given.values
        return Values(values, slopes, given.leaf, through=True)

    def _unary(self, sign: str, operand: CSTNode) -> Any:
        if sign in ("Not", "BitInvert"):
            value = self._value(operand)
            if sign == "BitInvert":
                return _each(lambda x, _: not x, value, 0)
            held = self._truth(value)
            return _UNKNOWN if held is None else not held
        return self._binary("Multiply", self._value(operand), -1.0 if sign == "Minus" else 1.0)

    def _binary(self, sign: str, a: Any, b: Any) -> Any:
        calculate = _SUMS.get(sign)
        if calculate is None:
            raise Unknown
        if not isinstance(a, Values) and not isinstance(b, Values):
            found = calculate(_number(a), _number(b))
            if isinstance(found, complex):
                raise Unknown
            return found
        a, b = _values(a), _values(b)
        leaf = a.leaf or b.leaf
        both = _each(calculate, a, b)
        values, through = both.values, both.through
        if leaf is None:
            return both
        if (a.leaf and b.leaf and a.leaf is not b.leaf) or (a.summed != b.summed and a.leaf and b.leaf):
            raise Unknown
        one, other = (a, b) if a.leaf else (b, a)
        if one.summed:
            if len(other.values) != 1 or (b.leaf and a.leaf):
                raise Unknown
            factor = {"Add": 1.0, "Subtract": 1.0 if a.leaf else -1.0, "Multiply": other.values[0]}.get(sign)
            if sign == "Divide" and a.leaf:
                factor = 1 / other.values[0]
            if factor is None:
                raise Unknown
            return Values(values, [s * factor for s in one.slopes], leaf, True, through)
        return Values(values, _slopes(sign, a, b, len(values)), leaf, through=through)

    def _comparison(self, node: Comparison) -> Any:
        left = self._value(node.left)
        found: list[Any] = []
        for part in node.comparisons:
            sign = type(part.operator).__name__
            right = self._value(part.comparator)
            if sign in ("Is", "IsNot"):
                if right is not None:
                    raise Unknown
                found.append((left is None) == (sign == "Is"))
            else:
                found.append(self._compared(left, sign, right))
            left = right
        if len(found) == 1:
            return found[0]
        held = [self._truth(part) for part in found]
        return False if False in held else _UNKNOWN if None in held else True

    def _compared(self, left: Any, sign: str, right: Any) -> Any:
        if isinstance(left, _Approx) or isinstance(right, _Approx):
            near, other = (left, right) if isinstance(left, _Approx) else (right, left)
            if isinstance(other, _Approx) or sign != "Equal":
                raise Unknown
            value = near.value
            return _compared(lambda x, y: abs(x - y) <= max(near.absolute, near.relative * abs(y)), other, value)
        if sign not in _SIGNS:
            raise Unknown
        if isinstance(left, _Shape) or isinstance(right, _Shape):
            return sign == "Equal"
        if isinstance(left, str) or isinstance(right, str):
            return _SIGNS[sign](left, right) if isinstance(left, type(right)) else _UNKNOWN
        return _compared(_SIGNS[sign], left, right)

    def _item(self, node: Subscript) -> Any:
        value = self._value(node.value)
        if len(node.slice) != 1:
            raise Unknown
        at = node.slice[0].slice
        if isinstance(at, Index):
            index = self._value(at.value)
            if not isinstance(index, int) or isinstance(index, bool):
                raise Unknown
            if isinstance(value, Values):
                found = Values((value.values[index],), through=value.through)
                if value.leaf is not None and not value.summed:
                    raise Unknown  # a slope by one of several
                return found
            return value[index]
        if isinstance(at, Slice) and isinstance(value, Values) and at.step is None and value.leaf is None:
            low, high = (self._value(part) if part is not None else None for part in (at.lower, at.upper))
            return Values(value.values[low:high], through=value.through)
        raise Unknown

    def _attribute(self, node: Attribute) -> Any:
        name = node.attr.value
        if self._names.resolve(node, self._moment) or (isinstance(node.value, Name) and node.value.value == "self"):
            return self._global(node)
        value = self._value(node.value)
        if isinstance(value, Values) and name == "grad":
            return value.grad
        if isinstance(value, Values) and name in ("shape", "dtype", "device"):
            return _Shape()
        if isinstance(value, Values) and name == "requires_grad":
            return value.leaf is not None
        if isinstance(value, Values) and name in ("data", "T"):
            return Values(value.values, through=value.through)
        raise Unknown

    def _lambda(self, node: Lambda) -> _Function:
        if len(node.params.params) != 1:
            raise Unknown
        name = node.params.params[0].name.value

        def call(argument: Any) -> Any:
            before = dict(self._bound)
            self._bound[name] = argument
            try:
                return self._value(node.body)
            finally:
                self._bound = before

        return _Function(call)

    # Calls

    def _call(self, node: Call) -> Any:
        name = last_name(node.func)
        if any(arg.star for arg in node.args):
            raise Unknown
        plain = [arg.value for arg in node.args if arg.keyword is None]
        keywords = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        site = self._sites.get(id(node))
        if site is not None:
            row = callables().get(site.callee)
            if row is not None and row.kind in ("class", "layer"):
                return _Function(self._gelu)
            if row is not None and site.form == "call" and plain:
                return self._gelu(self._value(plain[0]))
            raise Unknown
        if isinstance(node.func, Call):
            return self._applied(self._value(node.func), plain)
        if isinstance(node.func, Name) and isinstance(self._bound.get(name), _Function):
            return self._applied(self._bound[name], plain)
        full = self._names.resolve(node.func, self._moment)
        if any(target.partition(".")[0] in (*FRAMEWORKS, "pytest") for target in full):
            return self._function(name, next(iter(full)), plain, keywords)
        if isinstance(node.func, Attribute) and not full:
            if isinstance(node.func.value, Name) and node.func.value.value in self._bound:
                return self._method(name, self._bound[node.func.value.value], plain, keywords)
            if not isinstance(node.func.value, Name) or claim(last_name(node.func.value)):
                if name in ("apply", "forward") and claim(last_name(node.func.value)) and len(plain) == 1:
                    return self._gelu(self._value(plain[0]))
                return self._method(name, self._value(node.func.value), plain, keywords)
        if isinstance(node.func, Name) and not full and name in ("abs", "float", "bool", "len", "all", "any", "zip"):
            return self._function(name, name, plain, keywords)
        if name in ("Tensor", "Variable") and plain:
            return self._leaf(self._made(name, plain, keywords))
        if name == "hasattr" and plain:
            return isinstance(self._value(plain[0]), Values) or _UNKNOWN
        if claim(name) and plain and name[:1].islower():
            return self._gelu(self._value(plain[0]))
        if claim(name) and name[:1].isupper():
            return _Function(self._gelu)
        return self._module(name)

    def _module(self, name: str) -> _Function:
        """An object that holds a GELU, where that may be guessed."""
        if not self._guess or not name[:1].isupper():
            raise Unknown
        self.guessed = True
        return _Function(self._gelu)

    def _applied(self, function: Any, plain: Sequence[CSTNode]) -> Any:
        if not isinstance(function, _Function) or len(plain) != 1:
            raise Unknown
        return function.call(self._value(plain[0]))

    def _method(self, name: str, value: Any, plain: Sequence[CSTNode], keywords: Mapping[str, CSTNode]) -> Any:
        if value is None and name == "gradient" and len(plain) == 2:  # a tape
            return self._gradient(self._value(plain[0]), self._value(plain[1]))
        if not isinstance(value, Values):
            raise Unknown
        if name == "requires_grad_":
            return self._leaf(value)
        if name in _SAME:
            alone = name in ("detach", "numpy", "item", "tolist")
            return Values(value.values, through=value.through) if alone else value
        if claim(name) and not plain:
            return self._gelu(value)
        if name == "backward":
            weights = self._value(plain[0]) if plain else None
            self._backward(value, weights)
            return None
        if name in ("size", "dim", "numel") and not keywords:
            return _Shape() if name == "size" and not plain else len(value.values)
        if plain and name not in ("allclose", "isclose", "equal", "sum", "mean", "all", "any"):
            raise Unknown
        return self._reduced(name, value, [self._value(each) for each in plain], keywords)

    def _backward(self, value: Values, weights: Any) -> None:
        leaf = value.leaf
        if leaf is None or not value.through:
            raise Unknown
        found = self._gradient(value, leaf, weights)
        before = leaf.grad.values if leaf.grad is not None else (0.0,) * len(leaf.values)
        leaf.grad = Values([a + b for a, b in zip(before, found.values, strict=True)], through=True)

    def _gradient(self, value: Any, by: Any, weights: Any = None) -> Values:
        if isinstance(value, Values) and isinstance(by, Values) and by.leaf is None:
            raise Unknown
        if not isinstance(value, Values) or value.leaf is None or value.leaf is not by or not value.through:
            raise Unknown
        if weights is None:
            return Values(value.slopes, through=True)
        return _each(operator.mul, Values(value.slopes, through=True), weights)

    def _function(self, name: str, full: str, plain: Sequence[CSTNode], keywords: Mapping[str, CSTNode]) -> Any:
        if name in ("grad", "elementwise_grad", "value_and_grad") and "autograd.grad" not in full:
            return self._differentiated(name, self._value(plain[0]))
        if name == "grad" and len(plain) >= 2:
            outputs, inputs = self._value(plain[0]), self._value(plain[1])
            inputs = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
            weights = keywords.get("grad_outputs", plain[2] if len(plain) > 2 else None)
            return [self._gradient(outputs, inputs, self._value(weights) if weights is not None else None)]
        if name in _WRAPS and plain:
            return self._value(plain[0])
        if name == "approx":
            absolute, relative = self._tolerances_of(plain, keywords)
            return _Approx(self._value(plain[0]), absolute, relative)
        if name in _SEEDS:
            return None
        if name == "zip":
            return [[*row] for row in zip(*(_members(self._value(each)) for each in plain), strict=False)]
        if name in _TYPED or name in (*_NORMAL, *_EVEN, *_FILLED):
            return self._made(name, plain, keywords)
        if name[:1].isupper():
            return self._module(name)
        values = [self._value(each) for each in plain]
        return self._reduced(name, values[0], values[1:], keywords)

    def _tolerances_of(self, plain: Sequence[CSTNode], keywords: Mapping[str, CSTNode]) -> tuple[float, float]:
        relative = keywords.get("rel", plain[1] if len(plain) > 1 else None)
        absolute = keywords.get("abs", plain[2] if len(plain) > 2 else None)
        return (
            _number(self._value(absolute)) if absolute is not None else 1e-12,
            _number(self._value(relative)) if relative is not None else 1e-6,
        )

    def _differentiated(self, name: str, function: Any) -> _Function:
        if not isinstance(function, _Function):
            raise Unknown

        def call(argument: Any) -> Any:
            given = _values(argument)
            if given.leaf is not None:
                raise Unknown
            leaf = self._leaf(Values(given.values))
            found = function.call(leaf)
            slopes = self._gradient(found, leaf)
            return [Values(found.values, through=True), slopes] if name == "value_and_grad" else slopes

        return _Function(call)

    def _made(self, name: str, plain: Sequence[CSTNode], keywords: Mapping[str, CSTNode]) -> Values:
        """Values that are typed, drawn or all the same."""
        if name in _TYPED:
            found = self._value(plain[0])
            fresh = not isinstance(found, Values)
            made = _values(found) if fresh else Values(found.values, through=found.through)
            self.typed = self.typed or fresh
        elif name in _NORMAL or name in _EVEN:
            self.drawn = True
            from statistics import NormalDist  # few tests draw anything, and it takes longer to load than most of ours

            # Evenly spread, in an order that has nothing to do with their size.
            shares = [((7 * i) % _RANDOM + 0.5) / _RANDOM for i in range(_RANDOM)]
            made = Values([NormalDist().inv_cdf(s) for s in shares] if name in _NORMAL else shares)
        elif name.endswith("_like"):
            like = _values(self._value(plain[0]))
            filled = _number(self._value(plain[1])) if name == "full_like" else float(name == "ones_like")
            return Values((filled,) * len(like.values))
        else:
            size = _members(self._value(plain[0])) if plain else [1]
            count = math.prod(int(_number(each)) for each in size)
            self.typed = True
            filled = _number(self._value(plain[1])) if name == "full" else float(name == "ones")
            made = Values((filled,) * max(1, min(count, _SIZE)))
        wanted = keywords.get("requires_grad")
        if wanted is not None and self._value(wanted) is True:
            return self._leaf(made)
        return self._leaf(made) if name in ("Variable", "Parameter") else made

    def _reduced(self, name: str, value: Any, rest: Sequence[Any], keywords: Mapping[str, CSTNode]) -> Any:
        if name in ("allclose", "isclose", "equal", "array_equal"):
            near = self._near(value, rest[0], *self._margins(name, rest[1:], keywords))
            return near if name == "isclose" else self._truth(near)
        if isinstance(value, (list, tuple)) and name == "len":
            return len(value)
        if name in ("float", "squeeze", "asarray"):
            return value
        given = _values(value)
        if name in ("isfinite", "isnan", "isinf"):
            return Values([getattr(math, name)(x) for x in given.values])
        if name in ("all", "any"):
            return (all if name == "all" else any)(given.values)
        if name in ("abs", "fabs", "absolute"):
            if given.leaf is not None:
                raise Unknown
            return Values([abs(x) for x in given.values], through=given.through)
        if name in ("max", "min", "amax", "amin") and given.leaf is None:
            return Values([(max if "max" in name else min)(given.values)], through=given.through)
        if name in ("norm", "std", "var", "count_nonzero") and given.leaf is None:
            if name in ("std", "var"):
                raise Unknown
            size = sum(x * x for x in given.values) ** 0.5
            count = float(sum(x != 0 for x in given.values))
            return Values([size if name == "norm" else count], through=given.through)
        if name in ("sum", "mean", "reduce_sum", "reduce_mean") and not given.summed:
            share = 1 / len(given.values) if "mean" in name else 1.0
            slopes = [s * share for s in given.slopes]
            total = [sum(given.values) * share]
            return Values(total, slopes, given.leaf, given.leaf is not None, given.through)
        if name in ("len", "numel"):
            return len(given.values)
        raise Unknown

    def _margins(self, name: str, rest: Sequence[Any], keywords: Mapping[str, CSTNode]) -> tuple[float, float]:
        """Absolute and relative tolerance: the relative one comes first where they are given by position."""
        absolute, relative = (0.0, 0.0) if "equal" in name else _CLOSE[name]
        relative = _number(rest[0]) if rest else relative
        absolute = _number(rest[1]) if len(rest) > 1 else absolute
        for word, each in keywords.items():
            if word in ("atol", "abs_tol"):
                absolute = _number(self._value(each))
            elif word in ("rtol", "rel_tol"):
                relative = _number(self._value(each))
        return absolute, relative

    def _truth(self, value: Any) -> bool | None:
        """Whether a value counts as true, None where that is not known."""
        if isinstance(value, Values):
            return all(value.values)
        return bool(value) if isinstance(value, (bool, int, float)) else False if value is None else None


_UNKNOWN = object()


def _number(value: Any) -> float:
    if isinstance(value, Values) and len(value.values) == 1:
        value = value.values[0]
    if not isinstance(value, (int, float)):
        raise Unknown
    return value


def _members(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else _one_by_one(_values(value))


def _one_by_one(values: Values) -> list[Values]:
    return [Values((value,), through=values.through) for value in values.values]


def _values(value: Any) -> Values:
    """Numbers, nested or not, as values."""
    if isinstance(value, Values):
        return value
    if isinstance(value, (bool, int, float)):
        return Values((float(value),))
    if not isinstance(value, (list, tuple)) or not value:
        raise Unknown
    parts = [_values(part) for part in value]
    found = [x for part in parts for x in part.values]
    if len(found) > _SIZE:
        raise Unknown
    return Values(found, through=any(part.through for part in parts))


def _each(calculate: Callable[[Any, Any], Any], a: Any, b: Any) -> Values:
    """A calculation by pairs, where one number stands for as many as there are."""
    one, other = _values(a), _values(b)
    count = max(len(one.values), len(other.values))
    if not {len(one.values), len(other.values)} <= {1, count}:
        raise Unknown
    left, right = (v.values * count if len(v.values) == 1 else v.values for v in (one, other))
    through = one.through or other.through
    return Values([calculate(x, y) for x, y in zip(left, right, strict=True)], through=through)


def _compared(calculate: Callable[[Any, Any], Any], a: Any, b: Any) -> Values:
    """A comparison by pairs, of a GELU with what is none: what stands for one GELU stands for the other, too."""
    if _values(a).through and _values(b).through:
        raise Unknown
    return _each(calculate, a, b)


def _slopes(sign: str, a: Values, b: Values, count: int) -> list[float]:
    """The slopes of a calculation by pairs."""
    x, y = ([*v.values] * count if len(v.values) == 1 else [*v.values] for v in (a, b))
    dx, dy = ([*v.slopes] if v.leaf else [0.0] * count for v in (a, b))
    if len(dx) != count or len(dy) != count:
        raise Unknown
    if sign in ("Add", "Subtract"):
        return [p + q if sign == "Add" else p - q for p, q in zip(dx, dy, strict=True)]
    if sign == "Multiply":
        return [p * w + v * q for v, w, p, q in zip(x, y, dx, dy, strict=True)]
    if sign == "Divide":
        return [(p * w - v * q) / (w * w) for v, w, p, q in zip(x, y, dx, dy, strict=True)]
    if sign == "Power" and not b.leaf:
        return [w * v ** (w - 1) * p for v, w, p in zip(x, y, dx, strict=True)]
    raise Unknown
