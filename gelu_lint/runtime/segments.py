"""Activations among what a model computed: two nodes, the later of which is an activation of the earlier one.

Formulas are found by what they compute. A node is looked at as a function of each node that all ways to it lead
through, so `h = 2 * fc(x); gelu(h)` is a GELU of h. What is exact anywhere counts; near misses and members of families
only where a value leaves the function or module that it is made in, for parts of a formula are near many things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from gelu_lint.numerics.evaluate import GRID
from gelu_lint.numerics.flavours import GELUS
from gelu_lint.numerics.match import UNKNOWN, Identity, exact
from gelu_lint.runtime.naming import by_name, denies, whole
from gelu_lint.runtime.recognise import NotElementwise, recognise
from gelu_lint.runtime.record import Call, Node, Place, Record

_MAX_STEPS = 60  # operations of a formula; a GELU has up to 40
_MANY, _FEW = 12, 3  # starts that are tried for a value that leaves a function or module, and for one that does not

#: torch's own activations, by the operations that they are.
BUILT_INS = {
    **{name: f"torch.nn.functional.{name}" for name in ("gelu", "silu", "mish", "relu", "elu", "celu", "softplus")},
    **{name: f"torch.nn.functional.{name}" for name in ("leaky_relu", "hardswish", "hardsigmoid", "hardtanh")},
    **{name: f"torch.nn.functional.{name}" for name in ("threshold", "softshrink", "hardshrink")},
    "_prelu_kernel": "torch.nn.functional.prelu",
    "log_sigmoid_forward": "torch.nn.functional.logsigmoid",
    "sigmoid": "torch.sigmoid",
    "tanh": "torch.tanh",
}
#: Operations without which nothing is an activation.
_BENDS = frozenset(
    (
        *BUILT_INS, "erf", "erfc", "exp", "exp2", "expm1", "special_ndtr", "special_log_ndtr", "special_erfcx",
        "special_erf", "clamp", "clamp_min", "clamp_max", "maximum", "where", "selu", "relu6",
    )
)  # fmt: skip
#: The last operations of formulas, from whose values alone one is known in the middle of a function.
_LAST = frozenset(("mul", "div", "where", "addcmul", "lerp"))
#: What is an activation only where a module says so: formulas, and gates of recurrent cells, are made of these.
GATES = ("gate", "sigmoid", "plain_tanh", "softplus")


class Replay:
    """The operations between two nodes as a function: Tensor → Tensor, of any shape and floating dtype, element by
    element, differentiable. Numbers that were parameters are those of the run."""

    def __init__(self, start: Node, end: Node, steps: list[Node]) -> None:
        places = {start.number: 0, **{step.number: i + 1 for i, step in enumerate(steps)}}

        def told(value: Any) -> Any:
            return _Step(places[value.number]) if isinstance(value, Node) else value

        self._program = tuple(
            (step.op, tuple(map(told, step.args)), tuple((key, told(value)) for key, value in step.kwargs.items()))
            for step in steps
        )
        self.names = frozenset(step.name for step in steps)
        self.numbers = frozenset(step.number for step in steps)
        self.__name__ = self.__qualname__ = f"formula of {', '.join(sorted(self.names))}"
        self.key = repr(self._program)

    def __len__(self) -> int:
        return len(self._program)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for op, args, kwargs in self._program:
            given = [_given(value, values, op, i) for i, value in enumerate(args)]
            values.append(op(*given, **{key: values[v] if isinstance(v, _Step) else v for key, v in kwargs}))
        return values[-1]


class _Step(int):
    """The value of an earlier step."""

    def __repr__(self) -> str:
        return f"#{int(self)}"


def _given(value: Any, values: list[torch.Tensor], op: Any, position: int) -> Any:
    if isinstance(value, _Step):
        return values[value]
    wanted = op._schema.arguments[position].type
    if isinstance(value, (bool, int, float)) and isinstance(wanted, torch.TensorType):
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None, device="cpu")
    return value


class Segment(NamedTuple):
    """One activation that was computed: from where to where, what it is, and as a function."""

    start: Node
    end: Node
    identity: Identity
    function: Replay

    @property
    def place(self) -> Place | None:
        """The call of a module in which it ends."""
        return self.end.place


_MEANT, _EXACT, _UNKNOWN = 1, 2, 9
_FAMILIES = ("gelu_t", "sigmoid_k")
_RANKS = {
    **dict.fromkeys(GELUS, 0),
    **dict.fromkeys(("clipped", "squared"), _MEANT),
    "near": 3,
    **dict.fromkeys(_FAMILIES, 4),
    **dict.fromkeys(GATES, 5),
    "unknown": _UNKNOWN,
}


def rank(identity: Identity) -> int:
    """How much an identity says: 0 a GELU, 1 one that is clipped or squared, 2 another activation, then near misses,
    families, gates, and what is unknown."""
    return _RANKS.get(identity.flavour, _EXACT)


class Finder:
    """Finds segments; what is once identified is remembered, for layers of a model are alike."""

    def __init__(self) -> None:
        self._known: dict[Any, Identity] = {}
        self._exactly: dict[str, bool] = {}

    def segments(self, record: Record) -> list[Segment]:
        """The activations of a run, in the order in which they are computed."""
        bent: set[int] = set()
        found: list[Segment] = []
        for node in record.nodes:
            if node.op is None:
                continue
            if node.name in _BENDS or any(isinstance(arg, Node) and arg.number in bent for arg in node.args):
                bent.add(node.number)
                self._add(node, found)
        return found

    def identity(self, function: Replay) -> Identity:
        """What a function computes."""
        return self._identity(function, function.key)

    def asked(self, function: Callable[..., Any]) -> Identity:
        """What a function computes; unknown for one that does not take a tensor alone."""
        return self._identity(function, function)

    def _identity(self, function: Callable[..., Any], key: Any) -> Identity:
        if key not in self._known:
            try:
                self._known[key] = recognise(function)
            except NotElementwise:
                self._known[key] = UNKNOWN
        return self._known[key]

    def _add(self, end: Node, found: list[Segment]) -> None:
        leaving, built_in = leaves(end), end.name in BUILT_INS
        if not (leaving or built_in or end.name in _LAST):
            return
        best: Segment | None = None
        for start, steps in reversed(_starts(end, _MANY if leaving else _FEW)):
            function = Replay(start, end, steps)
            if not (leaving or (built_in and len(function) == 1) or self._exact(function)):
                continue
            identity = self.identity(function)
            # Of two that say as much, the later one counts if a function or module was given it.
            least = _UNKNOWN + 1 if best is None else rank(best.identity)
            if rank(identity) < least or (rank(identity) == least and not _beside(start, end)):
                best = Segment(start, end, identity, function)
        named = self._named(end, best, found) if leaving else None
        if named is not None:
            found[:] = [*(other for other in found if other.end.number not in named.function.numbers), named]
            return
        if best is None:
            return
        level = rank(best.identity)
        if level and not leaving and not (built_in and len(best.function) == 1):
            return
        inner = [other for other in found if other.end.number in best.function.numbers and other.end is not end]
        least = min((rank(other.identity) for other in inner), default=_UNKNOWN)
        if (least == 0 and level != _MEANT) or any(other.identity.flavour == best.identity.flavour for other in inner):
            return  # arithmetic around a GELU, a factor of 1
        if level > _EXACT and least <= _EXACT and not (level == _UNKNOWN and least == _EXACT):
            return
        if level < _UNKNOWN:
            found[:] = [other for other in found if other not in inner]
        found.append(best)

    def _named(self, end: Node, best: Segment | None, found: list[Segment]) -> Segment | None:
        """All that a function or module named for a GELU does, where that is arithmetic around one and no GELU: the
        name is that of the whole."""
        around = [call.name for call in end.calls]
        around += [type(place.module).__name__ for place in (end.place.chain() if end.place is not None else ())]
        if not any("gelu" in name.lower() for name in around):
            return None
        for start, steps in _starts(end, _MANY):
            segment = Segment(start, end, UNKNOWN, Replay(start, end, steps))
            names = [call.name for call in doing(segment)]
            names += [type(place.module).__name__ for place in wrapping(segment)]
            if any("gelu" in name.lower() for name in names):
                break
        else:
            return None
        inside = segment.function.numbers
        inner = {other.identity.flavour for other in found if other.end.number in inside and other.end is not end}
        if best is not None and best.start.number in inside:
            inner.add(best.identity.flavour)
        if not any(_RANKS.get(flavour, _EXACT) <= _EXACT for flavour in inner):
            return None
        claiming = [name for name in names if by_name(name, "") is not None]
        if not all(map(whole, claiming)):
            return None
        identity = self.identity(segment.function)
        coarse = identity is UNKNOWN or identity.why.startswith("half precision")
        if rank(identity) <= _MEANT or identity.flavour in inner or coarse:
            return None
        if (not claiming or any(map(denies, names))) and identity.flavour not in _FAMILIES:
            return None  # nobody says that it is a GELU
        return segment._replace(identity=identity)

    def _exact(self, function: Replay) -> bool:
        """Whether a function is a GELU by its values, which is soon told."""
        if function.key not in self._exactly:
            column = function(torch.tensor(GRID, dtype=torch.float64, device="cpu")).tolist()
            self._exactly[function.key] = exact(column) in GELUS
        return self._exactly[function.key]


def _beside(start: Node, end: Node) -> bool:
    """Whether a value is made in the same function as another."""
    depth = len(end.calls)
    return start.place is end.place and start.calls[:depth] == end.calls


def leaves(node: Node) -> bool:
    """Whether a value is used outside of the function or module that it is made in, or in another way than elements
    are."""
    depth = len(node.calls)
    return not node.users or any(
        user is None or place is not node.place or calls[:depth] != node.calls for user, place, calls in node.users
    )


def within(inner: Place | None, outer: Place) -> bool:
    """Whether one call of a module happens in another, or is it."""
    return inner is not None and any(place is outer for place in inner.chain())


def wrapping(segment: Segment) -> Iterator[Place]:
    """The calls of modules that do this to their input and nothing else, innermost first."""
    for place in segment.place.chain() if segment.place is not None else ():
        if place.out is not segment.end or within(segment.start.place, place):
            return
        yield place


def giving(end: Node) -> Iterator[Call]:
    """The functions that give a value to what called them, innermost first."""
    for depth in range(len(end.calls), 0, -1):
        calls = end.calls[:depth]
        if any(place is end.place and found[:depth] == calls for _, place, found in end.users):
            return
        yield calls[-1]


def doing(segment: Segment) -> Iterator[Call]:
    """The functions that do this to what they are given and nothing else, innermost first."""
    start, end = segment.start, segment.end
    for call, depth in zip(giving(end), range(len(end.calls), 0, -1), strict=False):
        if start.place is end.place and start.calls[:depth] == end.calls[:depth]:
            return
        yield call


def _starts(end: Node, limit: int) -> list[tuple[Node, list[Node]]]:
    """The nodes that all ways to ``end`` lead through, the nearest first, each with the steps from there on; at most
    ``limit`` of them, and the first one of all."""
    found: list[tuple[Node, list[Node]]] = []
    steps: list[Node] = []
    waiting = {end.number: end}  # what the steps so far are made of
    while len(steps) <= _MAX_STEPS:
        if len(waiting) == 1 and steps:
            start = next(iter(waiting.values()))
            if len(found) < limit or start.op is None:
                found.append((start, steps[::-1]))
            if start.op is None:
                break
        node = waiting.pop(max(waiting))
        if node.op is None:  # cannot be: all ways lead to one base
            break
        steps.append(node)
        for value in (*node.args, *node.kwargs.values()):
            if isinstance(value, Node):
                waiting[value.number] = value
    return found
