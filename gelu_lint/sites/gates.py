"""Recognises GELUs that stand in the wrong place of a gated unit: around the product, or before the split.

A product is one of a gate and a value only if both are projections of one input, or both halves of one split, and names
say so; a product with a scale, a mask or an attention weight is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gelu_lint.claims import says_glu
from gelu_lint.model import Use
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.asks import words_of
from gelu_lint.sites.calls import Calls
from gelu_lint.sites.choices import Choices
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.formulas import Formulas
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    CSTNode,
    List,
    Name,
    Subscript,
    Tuple,
)
from gelu_lint.tree.walk import Moment, Walk

_DEPTH = 6
_TOKEN = lazy(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_MULTIPLY = ("mul", "multiply", "Multiply")
_SPLITS = ("chunk", "split", "unbind", "tensor_split", "array_split", "split_with_sizes", "hsplit", "unstack")
_MATMULS = ("dot", "matmul", "linear", "mm", "bmm", "einsum", "tensordot", "dot_general", "dense")
_GATE = frozenset(("gate", "gates", "gating", "gated"))
#: Names of the two projections of a gated unit.
_PAIRS = (("w1", "w3"), ("w1", "w2"), ("wi0", "wi1"), ("w0", "w1"), ("g", "x"))
_VALUES = frozenset(("up", "value", "values", "val"))
#: What multiplies something else than a value.
_ASIDE = frozenset(
    (
        *("scale", "scales", "scaling", "mask", "masks", "weight", "weights", "attn", "attention", "score", "scores"),
        *(
            "query",
            "key",
            "q",
            "k",
            "norm",
            "ln",
            "bn",
            "rms",
            "layernorm",
            "rmsnorm",
            "gamma",
            "beta",
            "alpha",
            "bias",
        ),
        *("sigmoid", "softmax", "tanh", "silu", "swish", "relu", "elu", "gelu", "softplus", "exp", "dropout", "drop"),
        *(
            "embed",
            "embedding",
            "embeddings",
            "pos",
            "position",
            "rotary",
            "cos",
            "sin",
            "temperature",
            "prob",
            "probs",
        ),
        *(
            "se",
            "squeeze",
            "router",
            "routing",
            "expert",
            "mean",
            "sum",
            "rsqrt",
            "sqrt",
            "abs",
            "pool",
            "time",
            "film",
        ),
    )
)
#: What holds layers.
_HOLDERS = ("self", "cls", "mod", "layer", "params", "module", "m", "mlp")
_GMLP = lazy(r"gmlp|spatial|sgu|g_mlp", re.IGNORECASE)


class _Applied(NamedTuple):
    """A GELU of something: the node that applies it, and the one that tells which GELU it is."""

    node: CSTNode
    argument: CSTNode
    site: CSTNode
    moment: Moment
    path: tuple[CSTNode, ...]


class _Unpacked(NamedTuple):
    node: Assign
    moment: Moment


class _Found(NamedTuple):
    form: str
    applied: _Applied
    parts: tuple[CSTNode, CSTNode]


class Gates:
    """A visitor that collects uses of kind gate."""

    def __init__(self, walk: Walk, names: Names, calls: Calls, formulas: Formulas, choices: Choices) -> None:
        self._walk, self._names = walk, names
        self._calls, self._formulas, self._choices = calls, formulas, choices
        self._called: list[tuple[Call, Moment, tuple[CSTNode, ...]]] = []
        self._unpacked: dict[tuple[int, int], _Unpacked] = {}
        self._products: list[tuple[CSTNode, Moment, tuple[CSTNode, ...]]] = []
        self._found: list[_Found] = []

    def visit_Call(self, node: Call) -> None:
        if node.args and not node.args[0].star and isinstance(node.func, (Name, Attribute, Call)):
            self._called.append((node, self._walk.moment, (*self._walk.path,)))
        if last_name(node.func) in _MULTIPLY:
            self._products.append((node, self._walk.moment, (*self._walk.path,)))

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        if _is(node, "Multiply"):
            self._products.append((node, self._walk.moment, (*self._walk.path,)))

    def leave_Assign(self, node: Assign) -> None:
        moment = self._walk.moment  # that of the bindings which it makes
        if isinstance(node.targets[0].target, (Tuple, List)):
            self._unpacked[id(moment.scope), moment.order] = _Unpacked(node, moment)

    # Which GELU is applied to what

    def _applied(self) -> Iterator[_Applied]:
        direct = self._calls.applied()
        for call, moment, path in self._called:
            if id(call) in direct:
                yield _Applied(call, direct[id(call)], call, moment, path)
                continue
            made = call.func
            if isinstance(made, Call):
                if self._choices.is_site(made):
                    yield _Applied(call, call.args[0].value, made, moment, path)
                continue
            if len(call.args) != 1 or call.args[0].keyword is not None or last_name(made) in _MULTIPLY:
                continue
            if isinstance(call.args[0].value, (Name, BinaryOperation, Call)):
                sites = self._choices.behind(made, moment) if self._held(made, moment) else []
                if len(sites) == 1:
                    yield _Applied(call, call.args[0].value, sites[0], moment, path)
        for node, atom, moment, path in self._formulas.over():
            yield _Applied(node, atom, node, moment, path)

    def _held(self, node: CSTNode, moment: Moment) -> bool:
        """Whether a name is bound to a GELU, or is that of a function that says so."""
        if "gelu" in last_name(node).lower() or isinstance(node, Attribute):
            return True
        return isinstance(node, Name) and self._names.single(node, moment) is not None

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``uses`` needs the places of."""
        applied = list(self._applied())
        for one in applied:
            found = self._of_product(one)
            if found is not None:
                self._found.append(found)
        for product, moment, path in self._products:
            self._of_split(product, moment, path, applied)
        for found in self._found:
            yield from (found.applied.node, found.applied.site, *found.parts)

    def uses(self, draft: Draft) -> Iterator[Use]:
        """The uses, in source order."""
        for form, applied, parts in self._found:
            span, at, rows = draft.span(applied.node), draft.span(applied.site), draft.statement(applied.node)
            written = " · ".join(" ".join(draft.text(part).split()) for part in parts)
            around = symbol(applied.path)
            yield Use("gate", "", written, "", span, at, (), None, form, around, "", rows, "")

    # Around the product

    def _of_product(self, one: _Applied) -> _Found | None:
        """A GELU of the product of a gate and a value."""
        if one.path and isinstance(one.path[-1], BinaryOperation) and _is(one.path[-1], "Multiply"):
            return None  # what it gives is a gate itself
        made = self._factors(one.argument, one.moment, 0)
        if made is None:
            return None
        left, right, moment = made
        around = symbol(one.path)
        told = _told(around)
        names = [self._tokens(part, moment) for part in (left, right)]
        if any(said & _ASIDE for said in names) or _same(left, right):
            return None
        if not told and not _gated(*names):
            return None
        if self._halves(left, right, moment) or self._projections(left, right, moment):
            return _Found("product", one, (left, right))
        if told and _gated(*names) and all(self._is_parameter(part, moment) for part in (left, right)):
            return _Found("product", one, (left, right))
        return None

    def _factors(self, node: CSTNode, moment: Moment, depth: int) -> tuple[CSTNode, CSTNode, Moment] | None:
        """Both factors of a product, and when it is computed."""
        if depth > _DEPTH:
            return None
        if isinstance(node, BinaryOperation) and _is(node, "Multiply"):
            return node.left, node.right, moment
        if isinstance(node, Call) and (last_name(node.func) in _MULTIPLY or isinstance(node.func, Call)):
            given = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
            if isinstance(node.func, Call) and last_name(node.func.func) not in _MULTIPLY:
                return None
            if len(given) == 1 and isinstance(given[0], (List, Tuple)):
                given = [element.value for element in given[0].elements]
            elif len(given) == 1 and isinstance(node.func, Attribute):
                given = [node.func.value, *given]
            return (given[0], given[1], moment) if len(given) == 2 else None
        if isinstance(node, Name):
            bound = self._names.single(node, moment)
            if bound is not None and bound.node is not None:
                return self._factors(bound.node, bound.moment, depth + 1)
        return None

    def _unpacking(self, node: CSTNode, moment: Moment) -> _Unpacked | None:
        """The assignment that takes something apart and gives a name one part."""
        if not isinstance(node, Name):
            return None
        found = self._names.reaching(node, moment)
        if len(found) != 1:
            return None
        return self._unpacked.get((id(found[0].moment.scope), found[0].moment.order))

    def _halves(self, left: CSTNode, right: CSTNode, moment: Moment) -> bool:
        """Whether these are both halves of one split."""
        one, other = self._unpacking(left, moment), self._unpacking(right, moment)
        if one is not None and one is other:
            target = one.node.targets[0].target
            return (
                isinstance(target, (Tuple, List)) and len(target.elements) == 2 and _split(one.node.value) is not None
            )
        if isinstance(left, Subscript) and isinstance(right, Subscript):
            return _key(left.value) == _key(right.value) != ""
        return False

    def _projections(self, left: CSTNode, right: CSTNode, moment: Moment) -> bool:
        """Whether these are two linear maps of one input."""
        inputs = [self._input(part, moment, 0) for part in (left, right)]
        return bool(inputs[0]) and inputs[0] == inputs[1]

    def _input(self, node: CSTNode, moment: Moment, depth: int) -> str:
        """What a linear map is applied to, "" where it is none."""
        if depth > _DEPTH:
            return ""
        if isinstance(node, Name):
            bound = self._names.single(node, moment)
            return (
                self._input(bound.node, bound.moment, depth + 1) if bound is not None and bound.node is not None else ""
            )
        if isinstance(node, BinaryOperation):
            if _is(node, "MatrixMultiply"):
                return _key(node.left)
            return self._input(node.left, moment, depth + 1) if _is(node, "Add") else ""
        if not isinstance(node, Call):
            return ""
        last = last_name(node.func)
        given = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        if last in _MATMULS and len(given) > 1:
            return _key(given[1] if last == "einsum" else given[0])
        if last in _MATMULS and len(given) == 1 and isinstance(node.func, Attribute):
            resolved = self._names.resolve(node.func, moment)
            own = last_name(node.func.value) in ("self", "cls")
            return _key(given[0] if resolved or own else node.func.value)
        held = node.func.value if isinstance(node.func, Attribute) else None
        if held is not None and not isinstance(held, Attribute) and last_name(held) not in _HOLDERS:
            return ""  # a method of a tensor
        return _key(given[0]) if len(given) == 1 else ""

    def _is_parameter(self, node: CSTNode, moment: Moment) -> bool:
        found = self._names.reaching(node, moment) if isinstance(node, Name) else ()
        return len(found) == 1 and found[0].kind == "parameter"

    def _tokens(self, node: CSTNode, moment: Moment, depth: int = 0) -> frozenset[str]:
        """Words of the names that an operand goes by: of the variable, and of the layer or weight that gives it."""
        found: set[str] = set()
        if isinstance(node, Name):
            found |= _words(node.value)
            bound = self._names.single(node, moment)
            if bound is not None and bound.node is not None and depth < _DEPTH:
                found |= self._tokens(bound.node, bound.moment, depth + 1)
        elif isinstance(node, Call):
            if last_name(node.func) in _MATMULS or isinstance(node.func, Call):
                names, strings = words_of(node)
                inputs = {*_key(node.args[0].value).split()} if node.args else set()
                for text in (*names, *(s for s in strings if len(s) < 20)):
                    found |= _words(text) if text not in inputs else set()
                found -= {*_MATMULS, "dense", "jnp", "jax", "torch", "params", "self", "weight", "weights", "kernel"}
            else:
                found |= _words(last_name(node.func))
        elif isinstance(node, BinaryOperation) and _is(node, "MatrixMultiply"):
            found |= _words(last_name(node.right)) | {w for text in words_of(node.right)[1] for w in _words(text)}
            found -= {"weight", "weights"}
        elif isinstance(node, Attribute):
            found |= _words(node.attr.value)
        return frozenset(found)

    # Before the split

    def _of_split(
        self, product: CSTNode, moment: Moment, path: tuple[CSTNode, ...], applied: Sequence[_Applied]
    ) -> None:
        """The product of both halves of what a GELU gave."""
        around = symbol(path)
        if not _told(around) or _GMLP.search(around):
            return
        if path and isinstance(path[-1], BinaryOperation) and _is(path[-1], "Multiply"):
            return
        made = self._factors(product, moment, 0)
        if made is None or not self._halves(made[0], made[1], moment):
            return
        unpacked = self._unpacking(made[0], moment)
        if unpacked is not None:
            whole, at = _split(unpacked.node.value), unpacked.moment
        else:
            whole, at = made[0].value if isinstance(made[0], Subscript) else None, moment
        for _ in range(_DEPTH):
            bound = self._names.single(whole, at) if isinstance(whole, Name) else None
            if bound is None or bound.node is None:
                break
            whole, at = bound.node, bound.moment
        one = next((a for a in applied if a.node is whole), None)
        if one is None and isinstance(whole, Call):
            one = self._sequence(whole, at, path)
        if one is not None and not any(found.applied.node is one.node for found in self._found):
            self._found.append(_Found("split", one, (made[0], made[1])))

    def _sequence(self, node: Call, moment: Moment, path: tuple[CSTNode, ...]) -> _Applied | None:
        """A call of ``nn.Sequential(…, nn.GELU())`` that an attribute holds."""
        bound = self._names.attribute(node.func, moment) if isinstance(node.func, Attribute) else None
        made = bound[0] if bound is not None else None
        if not isinstance(made, Call) or last_name(made.func) != "Sequential" or not made.args or len(node.args) != 1:
            return None
        last = made.args[-1].value
        return _Applied(node, node.args[0].value, last, moment, path) if self._choices.is_site(last) else None


def _told(around: str) -> bool:
    """Whether the functions and classes around say that this is a gated unit."""
    return any(says_glu(part) for part in around.split("."))


def _gated(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether these words name a gate and a value."""
    if (one | other) & _GATE and not (one & _GATE and other & _GATE and not (one | other) & _VALUES):
        return True
    if (one & _VALUES) != (other & _VALUES) and "up" in one | other:
        return True
    joined = ["".join(sorted(said)) for said in (one, other)]
    return any((a in one and b in other) or (b in one and a in other) or joined in ([a, b], [b, a]) for a, b in _PAIRS)


def _words(name: str) -> set[str]:
    """The words of a name, with their digits: gate and proj of ``gate_proj``, wi0 of ``wi_0``."""
    found = [token.lower() for token in _TOKEN.findall(name)]
    joined = [a + b for a, b in pairwise(found) if b.isdigit()]
    return {*found, *joined}


def _is(node: BinaryOperation, operator: str) -> bool:
    return type(node.operator).__name__ == operator


def _same(left: CSTNode, right: CSTNode) -> bool:
    return isinstance(left, Name) and isinstance(right, Name) and left.value == right.value


def _key(node: CSTNode) -> str:
    """An expression in its words: equal for equal ones."""
    names, strings = words_of(node)
    return " ".join((*names, *strings))


def _split(node: CSTNode) -> CSTNode | None:
    """What a call takes apart, None where it is no such call."""
    if (
        not isinstance(node, Call)
        or last_name(node.func) not in _SPLITS
        or not isinstance(node.func, (Name, Attribute))
    ):
        return None
    base = node.func.value if isinstance(node.func, Attribute) else None
    modules = ("torch", "jnp", "np", "tf", "ops", "F", "mx", "numpy", "paddle", "K", "jax", "lax", "mint", "functional")
    if base is None or (isinstance(base, (Name, Attribute)) and last_name(base) in modules):
        return next((arg.value for arg in node.args if arg.keyword is None), None)
    return base
