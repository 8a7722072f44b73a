"""ONNX operators as formulas: what a value of a graph is as a function of another one."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gelu_lint.numerics.evaluate import depends
from gelu_lint.numerics.flavours import QUICK_SLOPE, SQRT_2_OVER_PI, SQRT_HALF, TANH_CUBIC
from gelu_lint.numerics.ir import Expr, X, call, const

#: Operators that compute each number of their result from one number of each input, as operations of formulas.
_OPERATIONS = {
    **{name: name.lower() for name in ("Add", "Sub", "Mul", "Div", "Pow", "Neg", "Abs", "Sqrt", "Reciprocal", "Exp")},
    **{name: name.lower() for name in ("Log", "Erf", "Tanh", "Sigmoid", "Softplus", "Relu", "Sign", "Floor")},
}
_SEVERAL = {"Sum": "add", "Max": "max", "Min": "min"}
_SAME = frozenset(("Identity", "Cast", "CastLike", "Dropout"))
#: What gives a number that is the same everywhere another shape.
_SHAPES = frozenset(("Expand", "Reshape", "Squeeze", "Unsqueeze"))
ELEMENTWISE = frozenset((*_OPERATIONS, *_SEVERAL, *_SAME, "Clip"))

_FLOAT16, _BFLOAT16, _STRING, _EXTERNAL = 10, 16, 8, 1
#: Numbers that a GELU is written with. In 16 bits each of them stands for what it is rounded from.
_CUSTOMARY = (
    *(TANH_CUBIC, SQRT_2_OVER_PI, SQRT_HALF, math.sqrt(2), QUICK_SLOPE, 2 * SQRT_2_OVER_PI),
    *(TANH_CUBIC * SQRT_2_OVER_PI, 2 * TANH_CUBIC * SQRT_2_OVER_PI, 1 / SQRT_2_OVER_PI),
)
#: Operators that one formula is made of, one inside the other, and all.
_DEPTH, _MOST = 30, 80
_INPUTS = 8


class Graph:
    """The nodes of a graph, of one inside a node of another (``outer``), or of a function."""

    def __init__(self, nodes: Sequence[Any], tensors: Iterable[Any], outer: Graph | None) -> None:
        self.nodes, self._outer = nodes, outer
        self._makers: dict[str, Any] = {}
        self._users: dict[str, list[Any]] = {}
        self._numbers: dict[str, float | None] = {tensor.name: number(tensor) for tensor in tensors}
        for node in nodes:
            self._makers.update((name, node) for name in node.output if name)
            for name in dict.fromkeys(node.input):
                self._users.setdefault(name, []).append(node)

    def maker(self, name: str) -> Any:
        """The node that computes a value, None for what is given."""
        found = self._makers.get(name)
        known = found is not None or name in self._numbers or self._outer is None
        return found if known or self._outer is None else self._outer.maker(name)

    def above(self, name: str, steps: int, most: int) -> list[str]:
        """The values that a value is computed from number by number, itself first, numbers left out."""
        found: dict[str, None] = {}
        front = [name]
        for _ in range(steps):
            front = [n for n in dict.fromkeys(front) if n not in found and self._number(n) is None][:most]
            found.update(dict.fromkeys(front))
            makers = [self.maker(n) for n in front]
            front = [n for node in makers if node is not None and is_elementwise(node) for n in node.input if n]
            if len(found) > most:
                break
        return [*found][:most]

    def below(self, name: str, steps: int, most: int) -> list[str]:
        """The values that are computed from a value number by number."""
        found: dict[str, None] = {}
        front = [name]
        for _ in range(steps):
            users = [node for n in front for node in self._users.get(n, ())[:most] if is_elementwise(node)]
            front = [n for n in dict.fromkeys(node.output[0] for node in users if node.output) if n not in found]
            found.update(dict.fromkeys(front))
            if len(found) > most:
                break
        return [*found][:most]

    def formula(self, name: str, atom: str) -> tuple[Expr, list[Any]] | None:
        """A value as a function of ``atom`` and the nodes that compute it, None where more goes into it."""
        reading = _Reading(self, atom)
        expr = reading.value(name, 0)
        return (expr, reading.nodes) if expr is not None and depends(expr) else None

    def _number(self, name: str) -> float | None:
        """The number that a value is, everywhere; None where it is no single one."""
        if name in self._numbers:
            return self._numbers[name]
        node = self._makers.get(name)
        if node is None:
            return self._outer._number(name) if self._outer is not None else None
        found = None
        if node.op_type == "Constant":
            found = next((value for value in map(_given, node.attribute) if value is not None), None)
        elif node.op_type == "ConstantOfShape":
            found = next((number(a.t) for a in node.attribute if a.name == "value"), 0.0)
        self._numbers[name] = found
        return found


class _Reading:
    """One value of a graph, read as a function of another."""

    def __init__(self, graph: Graph, atom: str) -> None:
        self._graph, self._atom = graph, atom
        self._known: dict[str, Expr | None] = {atom: X}
        self._failed = False
        self.nodes: list[Any] = []

    def value(self, name: str, depth: int) -> Expr | None:
        if name in self._known:
            return self._known[name]
        found = self._graph._number(name)
        expr = const(found) if found is not None else None
        node = self._graph.maker(name)
        bounded = depth < _DEPTH and len(self._known) < _MOST
        if expr is None and node is not None and bounded and not self._failed:
            self._known[name] = None  # should it lead back to itself
            expr = self._result(node, depth + 1) if node.output and node.output[0] == name else None
            if expr is not None:
                self.nodes.append(node)
        self._known[name] = expr
        self._failed = self._failed or expr is None  # then nothing that it goes into is one, either
        return expr

    def _result(self, node: Any, depth: int) -> Expr | None:
        op = node.op_type
        if node.domain not in ("", "ai.onnx") or not 0 < len(node.input) <= _INPUTS:
            return None
        if op in _SHAPES:
            expr = self.value(node.input[0], depth)
            return None if expr is None or depends(expr) else expr
        if op in _SAME:
            return self.value(node.input[0], depth)
        if op == "Clip":
            return self._clip(node, depth)
        if op not in _OPERATIONS and op not in _SEVERAL:
            return None
        args = [self.value(name, depth) for name in node.input]
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        if op in _SEVERAL:
            expr = known[0]
            for arg in known[1:]:
                expr = call(_SEVERAL[op], expr, arg)
            return expr
        try:
            return call(_OPERATIONS[op], *known)
        except ValueError:  # a node with too many inputs, or too few
            return None

    def _clip(self, node: Any, depth: int) -> Expr | None:
        expr = self.value(node.input[0], depth)
        given = {attribute.name: const(attribute.f) for attribute in node.attribute}  # up to opset 10
        for key, name in zip(("min", "max"), node.input[1:], strict=False):
            bound = self.value(name, depth) if name else None
            if name and bound is None:
                return None
            if bound is not None:
                given[key] = bound
        for key, op in (("min", "max"), ("max", "min")):
            if expr is not None and key in given:
                expr = call(op, expr, given[key])
        return expr


def is_elementwise(node: Any) -> bool:
    """Whether each number that a node gives comes from one number of each input, of few."""
    return node.op_type in ELEMENTWISE and node.domain in ("", "ai.onnx") and len(node.input) <= _INPUTS


def inner(node: Any) -> Iterator[Any]:
    """The graphs inside a node: arms of a branch, bodies of a loop."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _given(attribute: Any) -> float | None:
    """The number that an attribute of a Constant gives."""
    if attribute.ref_attr_name:
        return None  # whoever calls the function gives it
    if attribute.name == "value":
        return number(attribute.t)
    if attribute.name == "value_float":
        return float(attribute.f)
    if attribute.name == "value_int":
        return float(attribute.i)
    several = {"value_floats": attribute.floats, "value_ints": attribute.ints}.get(attribute.name, ())
    return float(several[0]) if len(several) == 1 else None


def number(tensor: Any) -> float | None:
    """The number that a tensor holds; None where it holds several, none, or text, or lies in another file."""
    if math.prod(tensor.dims) != 1 or tensor.data_type == _STRING or tensor.data_location == _EXTERNAL:
        return None
    from onnx import numpy_helper

    try:
        value = float(numpy_helper.to_array(tensor).reshape(-1)[0])
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, NotImplementedError):
        return None  # fewer bytes than it says, a type that nobody knows
    if tensor.data_type in (_FLOAT16, _BFLOAT16):
        same = (known for known in _CUSTOMARY if _rounded(known, tensor.data_type) == abs(value))
        return math.copysign(next(same, abs(value)), value)
    return value


def _rounded(value: float, kind: int) -> float:
    """A positive number in 16 bits."""
    if kind == _FLOAT16:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
    bits += 0x7FFF + (bits >> 16 & 1)  # to the nearest, ties to even
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])
