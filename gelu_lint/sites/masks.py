"""Recognises products of a GELU with a mask that is drawn anew in each call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gelu_lint.claims import says_gelu
from gelu_lint.facts.table import find
from gelu_lint.model import Mask
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.objects import Objects
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    BooleanOperation,
    Call,
    ClassDef,
    Comparison,
    CSTNode,
    FunctionDef,
    If,
    IfExp,
    IndentedBlock,
    Lambda,
    List,
    Name,
    Raise,
    Return,
    SimpleStatementLine,
    Subscript,
    UnaryOperation,
)
from gelu_lint.tree.walk import Block, Moment, Walk

#: What draws evenly between 0 and 1, to be compared with a share; and what draws 0 or 1 at once.
_EVEN = frozenset(
    (
        *(
            "torch.rand",
            "torch.rand_like",
            "random.random",
            "random.uniform",
            "numpy.random.rand",
            "numpy.random.random",
        ),
        *("numpy.random.random_sample", "numpy.random.uniform", "jax.random.uniform", "tensorflow.random.uniform"),
        *("tensorflow.random.stateless_uniform", "keras.random.uniform", "tensorflow.keras.random.uniform"),
        *("mlx.core.random.uniform", "paddle.rand", "paddle.uniform", "tensorflow.random_uniform", "cupy.random.rand"),
    )
)
_COINS = frozenset(
    (
        *("torch.bernoulli", "jax.random.bernoulli", "numpy.random.binomial", "mlx.core.random.bernoulli"),
        *("paddle.bernoulli", "keras.random.binomial", "tensorflow.keras.random.binomial"),
    )
)
_EVEN_METHODS = ("uniform_", "uniform", "random")
_COIN_METHODS = ("bernoulli_", "bernoulli", "binomial")
#: Calls that hand on what they are called on, or given, in another type or shape.
_SAME = frozenset(
    (
        *("to", "float", "half", "bfloat16", "double", "int", "long", "bool", "type", "type_as", "astype", "view"),
        *("reshape", "unsqueeze", "expand", "expand_as", "detach", "clone", "contiguous", "cuda", "cpu", "view_as"),
        *("cast", "asarray", "array", "stop_gradient", "as_tensor", "convert_to_tensor", "tensor", "squeeze", "cast_"),
        *("float32", "float16", "dropout", "drop", "drop1", "drop2", "broadcast_to", "from_numpy"),
    )
)
_COMPARES = frozenset(("gt", "ge", "lt", "le", "greater", "less", "greater_equal", "less_equal"))
_PRODUCTS = {"Multiply": False, "Divide": True}
_MUL = ("mul", "mul_", "multiply")
_DIV = ("div", "div_", "divide", "true_divide")
#: Words of names that tell training from what comes after it, or that may.
_TRAINING = lazy(r"train|determin|infer|eval|dropout_active", re.IGNORECASE)
_STEADY = frozenset(("manual_seed", "fork_rng", "seed", "set_seed", "PRNGKey"))
_DRAWS = ("rand", "ernoulli", "uniform", "binomial")
_FORWARD = ("forward", "__call__", "call", "construct", "apply")
_DEEP = 8


class _Drawn(NamedTuple):
    """A random mask: what draws it, whether it is divided by the share that is kept, when, what it rests on,
    and the expression that draws it."""

    name: str
    scaled: bool
    tests: tuple[CSTNode, ...]
    rests: frozenset[str]
    at: CSTNode


class _Product(NamedTuple):
    node: CSTNode
    factor: CSTNode
    known: bool
    drawn: str
    guard: str
    scaled: bool
    around: str


class Masks:
    """A visitor that collects masked GELUs; ``masks`` tells them."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._objects = Objects(names)
        self._tests: dict[int, CSTNode] = {}
        self._waiting: list[tuple[CSTNode, Moment, tuple[CSTNode, ...]]] = []
        self._calls: dict[str, list[tuple[CSTNode, ...]]] = {}
        self._found: list[_Product] | None = None

    @staticmethod
    def concerns(text: str) -> bool:
        """Whether a text may draw anything at all."""
        return any(word in text for word in _DRAWS)

    def visit_If(self, node: If) -> None:
        self._tests[id(node)] = node.test

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        if (type(node.operator).__name__ == "Multiply" and not self._in_product()) or (
            type(node.operator).__name__ == "Divide" and not self._in_product()
        ):
            self._wait(node)

    def visit_AugAssign(self, node: AugAssign) -> None:
        if type(node.operator).__name__ == "MultiplyAssign":
            self._wait(node)

    def visit_Assign(self, node: Assign) -> None:
        # y[mask] = 0
        target = node.targets[0].target
        if (
            isinstance(target, Subscript)
            and literal(node.value)[1] == 0
            and not isinstance(literal(node.value)[1], bool)
        ):
            self._wait(node)

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if last in (*_MUL, "where", "masked_fill", "masked_fill_") and not self._in_product():
            self._wait(node)
        if isinstance(node.func, (Name, Attribute)):
            self._calls.setdefault(last, []).append((*self._walk.path, node))

    def _wait(self, node: CSTNode) -> None:
        self._waiting.append((node, self._walk.moment, tuple(self._walk.path)))

    def _in_product(self) -> bool:
        """Whether the node is a factor of a product around it, which is looked at as a whole."""
        above = self._walk.path[-1] if self._walk.path else None
        return isinstance(above, BinaryOperation) and type(above.operator).__name__ in _PRODUCTS

    # Once all of the module is known

    def _tell(self) -> list[_Product]:
        if self._found is None:
            found = (self._judge(*item) for item in self._waiting)
            self._found = [product for product in found if product is not None]
        return self._found

    def _judge(self, node: CSTNode, moment: Moment, path: tuple[CSTNode, ...]) -> _Product | None:
        at = max((i for i, a in enumerate(path) if isinstance(a, (FunctionDef, Lambda))), default=-1)
        function = path[at] if at >= 0 else None
        if not isinstance(function, (FunctionDef, Lambda)):
            return None
        factors, divided = self._factors(node, moment)
        drawn = kept = None
        rest = []
        for factor in factors:
            found = self._drawn(factor, moment, 0) if drawn is None else None
            if found is not None:
                if _mixes(path, node, factor):
                    return None
                drawn = found
            elif kept is None and (kept := self._gelu(factor, moment, 0)) is not None:
                pass
            else:
                rest.append(factor)
        if drawn is None or _STEADY & set(_words(function.body)):
            return None
        scaled = drawn.scaled or divided or any(literal(factor)[1] != 1 for factor in rest)
        if kept is None:
            # Typed by hand, a GELU is more than one factor; a site at this place says whether it is one.
            if len(rest) < 2:
                return None
            kept, scaled = (node, False), True
        tests = [*self._around(path[at:], node), *self._of(moment.blocks), *drawn.tests]
        guard = self._guard(tests, drawn.rests)
        if not guard and isinstance(function, FunctionDef) and self._called_under(path, function):
            guard = "train"
        scaled = scaled or self._elsewhere(function, node, (kept[0], drawn.at))
        return _Product(node, kept[0], kept[1], drawn.name, guard, scaled, symbol(path))

    def _factors(self, node: CSTNode, moment: Moment) -> tuple[list[CSTNode], bool]:
        """What is multiplied, and whether something divides it."""
        if isinstance(node, AugAssign):
            factors, divided = self._factors(node.value, moment)
            return [node.target, *factors], divided
        if isinstance(node, Assign):
            target = node.targets[0].target
            index = getattr(target.slice[0].slice, "value", None) if isinstance(target, Subscript) else None
            return ([target.value, index] if isinstance(target, Subscript) and index is not None else []), False
        if isinstance(node, BinaryOperation) and type(node.operator).__name__ in _PRODUCTS:
            left, divided = self._factors(node.left, moment)
            if _PRODUCTS[type(node.operator).__name__]:
                return left, True
            right, again = self._factors(node.right, moment)
            return [*left, *right], divided or again
        if not isinstance(node, Call):
            return [node], False
        last, own = last_name(node.func), node.func.value if isinstance(node.func, Attribute) else None
        plain = [arg.value for arg in node.args if not arg.star]
        if own is not None and self._names.resolve(node.func, moment):
            own = None  # torch.mul(a, b)
        given = ([own] if own is not None else []) + plain
        if last in _MUL and len(given) == 2:
            parts = [self._factors(part, moment) for part in given]
            return [*parts[0][0], *parts[1][0]], parts[0][1] or parts[1][1]
        if last in _DIV and len(given) == 2:
            return self._factors(given[0], moment)[0], True
        if last == "where" and len(given) == 3 and own is None:
            arms = [self._factors(part, moment) for part in given[1:] if not _zero(part)]
            flat = [factor for factors, _ in arms for factor in factors]
            return [given[0], *flat], any(divided for _, divided in arms)
        if last.startswith("masked_fill") and own is not None and len(plain) == 2 and _zero(plain[1]):
            return [own, plain[0]], False
        return [node], False

    def _drawn(self, node: CSTNode, moment: Moment, depth: int) -> _Drawn | None:
        """The mask that an expression is, if it is drawn within this call of the function."""
        if depth > _DEEP:
            return None
        if isinstance(node, Name):
            return self._named(node, moment, depth)
        if isinstance(node, IfExp):
            found = self._drawn(node.body, moment, depth + 1) or self._drawn(node.orelse, moment, depth + 1)
            return found._replace(tests=(*found.tests, node.test)) if found is not None else None
        if isinstance(node, BooleanOperation):
            return self._drawn(node.left, moment, depth + 1) or self._drawn(node.right, moment, depth + 1)
        if isinstance(node, UnaryOperation):
            return self._drawn(node.expression, moment, depth + 1)
        if isinstance(node, Comparison):
            sides = [node.left, *(target.comparator for target in node.comparisons)]
            names = [name for side in sides if (name := self._even(side, moment, 0))]
            return _Drawn(names[0], False, (), self._rests(node, moment), node) if names else None
        if isinstance(node, BinaryOperation):
            kind = type(node.operator).__name__
            if kind == "Subtract" and literal(node.left)[1] == 1:
                return self._drawn(node.right, moment, depth + 1)
            if kind in ("BitAnd", "BitOr"):
                return self._drawn(node.left, moment, depth + 1) or self._drawn(node.right, moment, depth + 1)
            if kind not in _PRODUCTS:
                return None
        factors, divided = self._factors(node, moment)
        if len(factors) > 1 or divided:
            drawn = [self._drawn(factor, moment, depth + 1) for factor in factors]
            masks = [found for found in drawn if found is not None]
            if len(masks) != 1 or any(self._gelu(factor, moment, 0) is not None for factor in factors):
                return None
            return masks[0]._replace(scaled=True)
        return self._tossed(node, moment, depth) if isinstance(node, Call) else None

    def _tossed(self, node: Call, moment: Moment, depth: int) -> _Drawn | None:
        """The mask that a call draws, or hands on."""
        last, own = last_name(node.func), node.func.value if isinstance(node.func, Attribute) else None
        names = self._names.resolve(node.func, moment)
        if any(last_name(arg.keyword) in ("generator", "seed") for arg in node.args if arg.keyword is not None):
            return None
        if names and names <= _COINS:
            return _Drawn(sorted(names)[0], False, (), self._rests(node, moment), node)
        if own is not None and last in _COIN_METHODS and not names:
            return _Drawn(f".{last}", False, (), self._rests(node, moment), node)
        if last in ("sample", "rsample") and isinstance(own, Call) and "Bernoulli" in last_name(own.func):
            return _Drawn("Bernoulli.sample", False, (), self._rests(node, moment), node)
        inner = own if own is not None and not names else node.args[0].value if node.args else None
        if last in ("floor", "floor_", "round", "trunc") and inner is not None:
            name = self._even(inner, moment, 0)
            return _Drawn(name, False, (), self._rests(node, moment), node) if name else None
        if last in _COMPARES and inner is not None:
            name = self._even(inner, moment, 0)
            return _Drawn(name, False, (), self._rests(node, moment), node) if name else None
        if last in _SAME and inner is not None:
            return self._drawn(inner, moment, depth + 1)
        helper = self._helper(node.func, moment)
        if helper is not None:
            for value, when in self._names.returns.get(id(helper), ()):
                found = self._drawn(value, when, depth + 1)
                if found is not None:
                    tests = (*found.tests, *self._of(when.blocks), *_returns_early(helper.body))
                    return found._replace(tests=tests, rests=found.rests | self._rests(node, moment))
        return None

    def _helper(self, func: CSTNode, moment: Moment) -> FunctionDef | None:
        """The function of this file, or the method of the class around, that a call is of."""
        if isinstance(func, Attribute):
            return self._names.method(func.attr.value, moment) if last_name(func.value) == "self" else None
        bound = self._names.reaching(func, moment) if isinstance(func, Name) else ()
        made = bound[0].node if len(bound) == 1 else None
        return made if isinstance(made, FunctionDef) else None

    def _named(self, node: Name, moment: Moment, depth: int) -> _Drawn | None:
        found: _Drawn | None = None
        scaled = False
        for binding in self._names.reaching(node, moment):
            if binding.moment.scope is not moment.scope:
                continue
            if binding.kind == "step":
                scaled = True
            elif binding.kind == "value" and binding.node is not None:
                drawn = self._drawn(binding.node, binding.moment, depth + 1)
                if drawn is not None:
                    tests = (*drawn.tests, *self._of(binding.moment.blocks))
                    found = drawn._replace(tests=tests)
        return found._replace(scaled=found.scaled or scaled) if found is not None else None

    def _even(self, node: CSTNode, moment: Moment, depth: int) -> str:
        """What draws evenly in an expression, by itself or under a shift; "" if nothing does."""
        if depth > _DEEP:
            return ""
        if isinstance(node, Name):
            for binding in self._names.reaching(node, moment):
                inside = binding.moment.scope is moment.scope and binding.kind == "value"
                if inside and binding.node is not None:
                    name = self._even(binding.node, binding.moment, depth + 1)
                    if name:
                        return name
            return ""
        if isinstance(node, BinaryOperation):
            return self._even(node.left, moment, depth + 1) or self._even(node.right, moment, depth + 1)
        if not isinstance(node, Call):
            return ""
        if any(last_name(arg.keyword) in ("generator", "seed") for arg in node.args if arg.keyword is not None):
            return ""
        last, own = last_name(node.func), node.func.value if isinstance(node.func, Attribute) else None
        names = self._names.resolve(node.func, moment)
        if names and names <= _EVEN:
            return sorted(names)[0] if not _single(node) else ""
        if own is not None and not names and last in _EVEN_METHODS:
            return f".{last}"
        if last in _SAME:
            inner = own if own is not None and not names else node.args[0].value if node.args else None
            return self._even(inner, moment, depth + 1) if inner is not None else ""
        return ""

    def _gelu(self, node: CSTNode, moment: Moment, depth: int) -> tuple[CSTNode, bool] | None:
        """The expression that gives a factor its value, and whether that is surely a GELU; None where it is not."""
        if depth > _DEEP:
            return None
        if isinstance(node, Name):
            bound = [b for b in self._names.reaching(node, moment) if b.moment.scope is moment.scope]
            values = [b for b in bound if b.kind == "value" and b.node is not None]
            if len(values) != 1 or len(bound) != 1 or values[0].node is None:
                return None
            return self._gelu(values[0].node, values[0].moment, depth + 1)
        if isinstance(node, BinaryOperation):
            typed = type(node.operator).__name__ in _PRODUCTS and depth > 0
            return (node, False) if typed else None
        if not isinstance(node, Call):
            return None
        names = self._names.resolve(node.func, moment)
        row = find(names) if names and not self._names.is_patched(names) else None
        if row is not None:
            return (node, True) if row.kind != "class" else None
        last, own = last_name(node.func), node.func.value if isinstance(node.func, Attribute) else None
        if says_gelu(last) and not last[:1].isupper():
            return node, True
        held = self._objects.gelu(node.func, moment)
        if held is not None and held.form != "class":
            return node, True
        if self._ends_in_gelu(node.func, moment):
            return node, True
        if last in _SAME or "drop" in last:
            inner = own if own is not None and not names and last_name(own) != "self" else None
            if inner is None and node.args:
                inner = node.args[0].value
            return self._gelu(inner, moment, depth + 1) if inner is not None else None
        return None

    def _ends_in_gelu(self, node: CSTNode, moment: Moment) -> bool:
        """Whether a call is that of a Sequential whose last module is a GELU."""
        made, when = self._objects.origin(node, moment)
        if not isinstance(made, Call) or last_name(made.func) != "Sequential" or not made.args or made.args[-1].star:
            return False
        held = self._objects.gelu(made.args[-1].value, when)
        return held is not None and held.form == "module"

    # What decides whether it is drawn

    def _of(self, blocks: Sequence[Block]) -> list[CSTNode]:
        """The tests of the branches that a moment lies in."""
        return [self._tests[block.node] for block in blocks if block.kind == "if" and block.node in self._tests]

    def _around(self, path: Sequence[CSTNode], node: CSTNode) -> Iterator[CSTNode]:
        """The tests of conditions around a node, and of branches before it that leave its function."""
        for parent, child in pairwise((*path, node)):
            if isinstance(parent, IfExp) and child is not parent.test:
                yield parent.test
            elif isinstance(parent, BooleanOperation) and child is parent.right:
                yield parent.left
            elif isinstance(parent, IndentedBlock):
                yield from _returns_early(parent, child)

    def _guard(self, tests: Sequence[CSTNode], rests: frozenset[str]) -> str:
        """ "train" where a test, or what the mask rests on, tells training; "other" where a flag decides; else ""."""
        words = {word for test in tests for word in _words(test)}
        if any(_TRAINING.search(word) for word in words | rests):
            return "train"
        for test in tests:
            numeric = isinstance(test, Comparison) and any(
                isinstance(literal(part)[1], (int, float)) and not isinstance(literal(part)[1], bool)
                for part in (test.left, *(target.comparator for target in test.comparisons))
            )
            if not numeric and not {*_words(test)} <= rests:
                return "other"
        return ""

    def _rests(self, node: CSTNode, moment: Moment, depth: int = 0) -> frozenset[str]:
        """The names in an expression, and in what its local names are bound to."""
        found = {*_words(node)}
        waiting = [node]
        while waiting and depth < 3:
            item = waiting.pop()
            if isinstance(item, Name):
                for binding in self._names.reaching(item, moment):
                    if binding.moment.scope is moment.scope and binding.node is not None and binding.kind == "value":
                        found |= self._rests(binding.node, binding.moment, depth + 1)
                        for test in self._of(binding.moment.blocks):
                            found |= {*_words(test)}
            waiting.extend(children(item))
        return frozenset(found)

    def _called_under(self, path: Sequence[CSTNode], function: FunctionDef) -> bool:
        """Whether every call of a function in this file, of a method in its class, is made in training alone."""
        name = function.name.value
        owner = next(
            (a for a in reversed(path[: path.index(function)]) if isinstance(a, (ClassDef, FunctionDef))), None
        )
        calls = [call for call in self._calls.get(name, ()) if not isinstance(owner, ClassDef) or owner in call]
        if name in _FORWARD or not calls:
            return False
        for call in calls:
            at = max((i for i, a in enumerate(call) if isinstance(a, FunctionDef)), default=0)
            tests = [*self._around(call[at:-1], call[-1]), *(t for a in call[at:] for t in _tests_of(a, call))]
            if not any(_TRAINING.search(word) for test in tests for word in _words(test)):
                return False
        return True

    def _elsewhere(self, function: FunctionDef | Lambda, product: CSTNode, done: Sequence[CSTNode]) -> bool:
        """Whether a function multiplies or divides anything else: that may make up for what is left out."""
        waiting: list[CSTNode] = [function.body]
        while waiting:
            item = waiting.pop()
            if item is product or item in done:
                continue
            if isinstance(item, BinaryOperation) and type(item.operator).__name__ in _PRODUCTS:
                return True
            if isinstance(item, AugAssign) and type(item.operator).__name__ in ("MultiplyAssign", "DivideAssign"):
                return True
            if isinstance(item, Call) and last_name(item.func) in (*_MUL, *_DIV, "reciprocal"):
                return True
            if "scale" in last_name(item).lower():
                return True
            waiting.extend(children(item))
        return False

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``masks`` needs the places of."""
        for found in self._tell():
            yield from (found.node, found.factor)

    def masks(self, draft: Draft) -> Iterator[Mask]:
        """The masked GELUs, in source order."""
        for found in self._tell():
            span, factor = draft.span(found.node), draft.span(found.factor)
            rows = draft.statement(found.node)
            yield Mask(found.drawn, factor, found.known, found.guard, found.scaled, span, found.around, rows)


def _mixes(path: Sequence[CSTNode], node: CSTNode, mask: CSTNode) -> bool:
    """Whether a product is added to something with its mask: it puts other values in the place of some."""
    above = path[-1] if path else None
    if not isinstance(above, BinaryOperation) or type(above.operator).__name__ not in ("Add", "Subtract"):
        return False
    other = above.right if above.left is node else above.left
    return not isinstance(mask, Call) and bool({*_words(other)} & {*_words(mask)})


def _single(node: Call) -> bool:
    """Whether a call draws one number: ``torch.rand([])``, ``torch.rand(1)``."""
    if len(node.args) != 1:
        return False
    value = node.args[0].value
    return literal(value)[1] == 1 or (isinstance(value, List) and not value.elements)


def _zero(node: CSTNode) -> bool:
    known, value = literal(node)
    if known:
        return value == 0 and not isinstance(value, bool)
    return isinstance(node, Call) and "zeros" in last_name(node.func)


def _words(node: CSTNode) -> Iterator[str]:
    """Every identifier in an expression or a block."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name):
            yield item.value
        waiting.extend(children(item))


def _tests_of(node: CSTNode, path: Sequence[CSTNode]) -> Iterator[CSTNode]:
    """The test of a condition, where a path leads into what depends on it."""
    if isinstance(node, (If, IfExp)) and node.test not in path:
        yield node.test


def _returns_early(block: CSTNode, before: CSTNode | None = None) -> Iterator[CSTNode]:
    """The tests of the branches of a block that leave its function, up to the statement ``before``."""
    for statement in getattr(block, "body", ()):
        if statement is before:
            return
        if isinstance(statement, If) and statement.body.body:
            last = statement.body.body[-1]
            if isinstance(last, SimpleStatementLine):
                last = last.body[-1]
            if isinstance(last, (Return, Raise)):
                yield statement.test
