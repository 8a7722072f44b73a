"""Recognises what makes code run in half precision: autocast, ``.half()``, dtypes and the switches of trainers.

bfloat16 has the range of float32 and is never meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gelu_lint.claims import says_gelu
from gelu_lint.half import says_model
from gelu_lint.model import Context
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    And,
    Arg,
    Attribute,
    BooleanOperation,
    Call,
    CSTNode,
    Decorator,
    Dict,
    DictElement,
    FunctionDef,
    If,
    IfExp,
    Index,
    Name,
    Param,
    Subscript,
    WithItem,
)
from gelu_lint.tree.walk import Moment, Walk

if TYPE_CHECKING:
    from gelu_lint.reach import Reach

_HALF = frozenset(
    f"{module}.{name}" for module in ("torch", "jax.numpy", "numpy", "tensorflow", "paddle", "mlx.core")
    for name in ("float16", "half", "HalfTensor")
)  # fmt: skip
_MOVES = ("cuda", "cpu", "to", "eval", "train", "requires_grad_", "half", "to_empty")
_TEXT = ("float16", "fp16", "half", "torch.HalfTensor", "torch.cuda.HalfTensor", "torch.float16")
_CALLS = (
    *("autocast", "half", "to", "type", "astype", "partial"),
    *("set_default_dtype", "set_default_tensor_type", "set_global_policy"),
)
#: Keywords that choose a dtype for a whole model.
_DTYPES = ("dtype", "torch_dtype", "param_dtype", "cast_inputs")
_SWITCHES = (*_DTYPES, "fp16", "mixed_precision", "precision")


#: How a context says what runs under it: by the block it opens, the model or the input that is cast, some tensor that
#: may become an input, or as what is made in the same scope.
_BLOCK, _MODEL, _INPUT, _TENSOR, _SWITCH = "block", "model", "input", "tensor", "switch"
#: Names of names, and bindings of one name, that are followed to a value.
_DEPTH, _MANY = 4, 5
_LONG = 80  # characters of a context that are quoted
#: A model that is cast in place, and a statement that casts one back.
_CAST = lazy(r"([\w.]+)\.half\(\)")
_BACK = lazy(r"\s*(?:[\w.]+\s*=\s*)?([\w.]+)\.(?:float\(\)|to\((?:dtype\s*=\s*)?torch\.float(?:32)?\))\s*(?:#.*)?$")
_OFF = "off"  # autocast that is switched off, or of bfloat16
_AUTOCAST = ".autocast"


class _Found(NamedTuple):
    node: Call | DictElement
    detail: str
    how: str
    symbol: str
    taker: str = ""  # the last name of the call, not of a GELU, that takes what is cast


class Halves:
    """A visitor that collects contexts."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        keyed = any(isinstance(arg.keyword, Name) and arg.keyword.value in _SWITCHES for arg in node.args)
        above = self._walk.path[-1] if self._walk.path else None
        opens = isinstance(above, (WithItem, Decorator))
        if isinstance(above, BooleanOperation) and isinstance(above.operator, And) and above.left is node:
            return  # of "with autocast() and no_grad():" only the last is entered
        if keyed or opens or last in _CALLS:
            detail, how = self._detail(node, last, opens)
            if detail:
                self._found.append(_Found(node, detail, how, symbol(self._walk.path), self._taker()))

    def visit_DictElement(self, node: DictElement) -> None:
        if literal(node.key)[1] == "fp16" and _enabled(node.value):
            self._found.append(_Found(node, "half", _SWITCH, symbol(self._walk.path)))

    def _detail(self, node: Call, last: str, opens: bool) -> tuple[str, str]:
        moment = self._walk.moment
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        plain = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
        callee, rest = node.func, plain
        if last == "partial" and plain and last_name(plain[0]) == "autocast":
            callee, last, rest = plain[0], "autocast", plain[1:]
        named = self._names.resolve(callee, moment) if opens and last != "autocast" else ()
        if last == "autocast" or any(name.endswith(_AUTOCAST) for name in named):
            return self._autocast(callee, given, rest, moment), _BLOCK
        if last in ("set_default_dtype", "set_default_tensor_type"):
            return "half" if plain and self._is_half(plain[0], moment) else "", _SWITCH
        if last in ("half", "to", "type", "astype") and isinstance(node.func, Attribute):
            values = [*plain, *(given[key] for key in ("dtype",) if key in given)]
            cast = not values if last == "half" else any(self._is_half(value, moment) for value in values)
            unknown = not self._names.resolve(node.func, moment)
            how = self._cast(node.func.value, moment) if cast and unknown else ""
            return "half" if how else "", how
        if last == "set_global_policy" and plain and literal(plain[0])[1] == "mixed_float16":
            return "half", _SWITCH
        switch = given.get("fp16")
        by_device = isinstance(switch, Call) and last_name(switch.func) == "is_available"
        if by_device or self._says(given, "fp16", True) or self._says(given, "mixed_precision", "fp16"):
            return "cuda_autocast", _SWITCH
        if _enabled(given.get("fp16")) or self._says(given, "precision", 16, "16", "16-mixed"):
            return "cuda_autocast", _SWITCH
        if self._says(given, "precision", "16-true"):
            return "half", _SWITCH
        if last in ("custom_fwd",) or last[:1].isupper() or last == "from_pretrained":
            for key in _DTYPES:
                if key in given and self._is_half(given[key], moment):
                    return "half", _BLOCK if last == "custom_fwd" else _MODEL
        return "", ""

    def _autocast(self, callee: CSTNode, given: Mapping[str, CSTNode], plain: Sequence[CSTNode], moment: Moment) -> str:
        names = self._names.resolve(callee, moment)
        if "enabled" in given and self._literal(given["enabled"], moment) is False:
            return _OFF
        of_cpu = any(".cpu." in name for name in names)
        of_cuda = any(".cuda." in name for name in names)
        device = given.get("device_type", plain[0] if plain and not (of_cpu or of_cuda) else None)
        kind = self._literal(device, moment) if device is not None else None
        if (of_cuda or of_cpu) and plain and self._literal(plain[0], moment) is False:
            return _OFF
        dtype = given.get("dtype", plain[1] if len(plain) > 1 else None)
        cuda = of_cuda or kind == "cuda"
        if dtype is None:
            return "cuda_autocast" if cuda else _OFF if of_cpu or kind == "cpu" else ""
        if not self._is_half(dtype, moment):
            return _OFF if "bfloat16" in last_name(dtype) else ""
        return "half" if of_cpu or kind == "cpu" else "cuda_autocast"

    def _literal(self, node: CSTNode, moment: Moment) -> object:
        """The value of a literal, or of a name that stands for one; None for anything else."""
        constant = self._names.constant(node, moment)
        return literal(constant if constant is not None else node)[1]

    def _cast(self, node: CSTNode, moment: Moment) -> str:
        """Whether what is cast is a model, the input of a call, or some tensor; "" if it was half before."""
        if any(isinstance(a, If) and "dtype" in _attributes(a.test) for a in self._walk.path):
            return ""
        if any(isinstance(a, Arg) and _takes(b) for b, a in pairwise(self._walk.path)):
            return _INPUT
        while isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.attr.value in _MOVES:
            node = node.func.value
        if isinstance(node, (Name, Attribute)) and self._is_object(node, moment):
            return _MODEL
        if isinstance(node, Call) and (_makes(node) or last_name(node.func) == "from_pretrained"):
            return _MODEL
        if not isinstance(node, Call) and any(says_model(word) for word in _dotted(node)):
            return _MODEL
        function = next((a for a in reversed(self._walk.path) if isinstance(a, FunctionDef)), None)
        if function is None or _calls_gelu(node):
            return ""  # what a GELU gives is cast, not what it gets
        return _INPUT if _calls_gelu(function.body) else _TENSOR

    def _taker(self) -> str:
        """The last name of the nearest call that takes what is cast, "" for a GELU: that stands in the same place."""
        for call, argument in reversed([*pairwise(self._walk.path)]):
            if isinstance(call, Call) and isinstance(argument, Arg) and _takes(call):
                return "" if says_gelu(last_name(call.func)) else last_name(call.func)
        return ""

    def _is_object(self, node: CSTNode, moment: Moment, depth: int = 0) -> bool:
        """Whether an expression makes an object of a class, or stands for one, perhaps moved."""
        while isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.attr.value in _MOVES:
            node = node.func.value
        if isinstance(node, Name) and depth < _DEPTH:
            return any(self._is_object(value, when, depth + 1) for value, when in self._bound(node, moment))
        if isinstance(node, Attribute) and depth < _DEPTH:
            held = self._names.attribute(node, moment)
            return held is not None and self._is_object(*held, depth + 1)
        return isinstance(node, Call) and _makes(node)

    def _is_half(self, node: CSTNode, moment: Moment) -> bool:
        return any(
            self._names.resolve(value, when) & _HALF or literal(value)[1] in _TEXT
            for value, when in self._values(node, moment)
        )

    def _says(self, given: Mapping[str, CSTNode], key: str, *wanted: object) -> bool:
        """Whether the value of a keyword may be one of these."""
        node = given.get(key)
        values = [] if node is None else self._values(node, self._walk.moment)
        # True is no 16, but 1 == True.
        return any(literal(v)[1] == w and type(literal(v)[1]) is type(w) for v, _ in values for w in wanted)

    def _values(self, node: CSTNode, moment: Moment, depth: int = 0) -> Iterator[tuple[CSTNode, Moment]]:
        """The expressions that a dtype or a switch may stand for: arms, defaults of parameters, attributes, tables."""
        if depth > _DEPTH:
            return
        if isinstance(node, IfExp):
            for arm in (node.body, node.orelse):
                yield from self._values(arm, moment, depth + 1)
        elif isinstance(node, Subscript) and isinstance(node.value, Dict) and isinstance(node.slice[0].slice, Index):
            keys = {literal(key)[1] for key, _ in self._values(node.slice[0].slice.value, moment, depth + 1)} - {None}
            for element in node.value.elements:
                if isinstance(element, DictElement) and literal(element.key)[1] in keys:
                    yield from self._values(element.value, moment, depth + 1)
        elif isinstance(node, Name) and (bound := self._bound(node, moment)):
            for value, when in bound:
                yield from self._values(value, when, depth + 1)
        elif isinstance(node, Attribute) and (held := self._names.attribute(node, moment)) is not None:
            yield from self._values(*held, depth + 1)
        else:
            yield node, moment

    def _bound(self, node: Name, moment: Moment) -> list[tuple[CSTNode, Moment]]:
        """What may give a name its value: expressions, and the default of a parameter."""
        found = self._names.reaching(node, moment)[:_MANY]
        values = [(b.node, b.moment) for b in found if b.kind == "value" and b.node is not None]
        defaults = [
            (b.node.default, b.moment) for b in found if isinstance(b.node, Param) and b.node.default is not None
        ]
        return [*values, *defaults]

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``contexts`` needs the places of."""
        return (found.node for found in self._found)

    def kinds(self) -> frozenset[str]:
        """The kinds of half precision that the file has."""
        return frozenset(found.detail for found in self._found) - {_OFF}

    def shield(self, draft: Draft, reach: Reach) -> None:
        """Tell ``reach`` what does not run in half precision although what is around it does."""
        on = {draft.statement(found.node)[0] for found in self._found if found.detail != _OFF}
        for found in self._found:
            row = draft.statement(found.node)[0]
            if found.detail == _OFF and row not in on:
                reach.shield(row)

    def contexts(self, draft: Draft, reach: Reach) -> Iterator[Context]:
        """The contexts, in source order, with what runs under each by ``reach``, which is of the whole text."""
        for found in self._found:
            if found.detail == _OFF:
                continue
            span, rows = draft.span(found.node), draft.statement(found.node)
            if found.how == _MODEL and _lifted(found.node, draft, reach):
                continue
            text = " ".join(draft.text(found.node).split())
            text = text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
            told = {
                _BLOCK: reach.under,
                _MODEL: reach.made_by,
                _INPUT: reach.run_by,
                _TENSOR: reach.fed_by,
                _SWITCH: reach.beside,
            }[found.how](rows[0])
            if found.how == _INPUT and found.taker:
                told = reach.run_by(rows[0], found.taker)
            if found.how != _TENSOR or told.rows or told.leads:
                yield Context(found.detail, "", text, span, found.symbol, rows, *told)


def _lifted(node: CSTNode, draft: Draft, reach: Reach) -> bool:
    """Whether a model that ``.half()`` casts in place is cast back later in its scope, as where it is but saved."""
    cast = _CAST.fullmatch(draft.text(node))
    if cast is None:
        return False
    lines = reach.after(draft.statement(node)[0])
    return any((back := _BACK.match(line)) is not None and back[1] == cast[1] for line in lines)


def _enabled(node: CSTNode | None) -> bool:
    """Whether a table says that something is on: DeepSpeed's {"fp16": {"enabled": True}}, or as dict(enabled=True)."""
    for element in getattr(node, "elements", ()):
        if isinstance(element, DictElement) and literal(element.key)[1] == "enabled":
            return literal(element.value)[1] is True
    if isinstance(node, Call) and last_name(node.func) == "dict":
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        return "enabled" in given and literal(given["enabled"])[1] is True
    return False


def _makes(call: Call) -> bool:
    """Whether a call makes an object of a class; that of an attribute of an object, as self.LayerNorm, does not."""
    own = isinstance(call.func, Attribute) and last_name(call.func.value) in ("self", "cls")
    return last_name(call.func)[:1].isupper() and not own


def _dotted(node: CSTNode) -> Iterator[str]:
    """The parts of a dotted name, the last one first."""
    while isinstance(node, Attribute):
        yield node.attr.value
        node = node.value
    yield last_name(node)


def _takes(call: CSTNode) -> bool:
    """Whether a call is that of a model or a GELU."""
    name = last_name(call.func) if isinstance(call, Call) else ""
    return says_gelu(name) or says_model(name)


def _calls_gelu(node: CSTNode) -> bool:
    """Whether a GELU is called somewhere in a node."""
    waiting: list[CSTNode] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call) and says_gelu(last_name(item.func)):
            return True
        waiting.extend(children(item))
    return False


def _attributes(node: CSTNode) -> set[str]:
    """The last parts of the names in an expression."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        found.add(last_name(item))
        waiting.extend(children(item))
    return found
