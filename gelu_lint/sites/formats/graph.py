"""ONNX graphs: nodes that are a GELU, and chains of nodes that come to one.

A chain is found from the one node that it cannot do without, and told by its values: whatever the layout, each result
below that node is read as a function of each value above it, and compared with the flavours as a formula in code is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gelu_lint.model import FileSummary, Formula, Site, Span, Value
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.evaluate import evaluate, fold
from gelu_lint.numerics.flavours import FLAVOURS, difference
from gelu_lint.numerics.identify import identify, settle
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import NEAR_TARGETS, UNKNOWN, Identity
from gelu_lint.sites.formats import Malformed
from gelu_lint.sites.formats.operators import Graph, inner
from gelu_lint.source import Source

#: What one node computes, by domain and operator. ONNX Runtime's were run with 1.32.
_ONNX = ("", "ai.onnx")
_MICROSOFT = "com.microsoft"
_FLAVOURS = {
    "none": "erf",
    "tanh": "tanh",
}
_CONTRIB = {
    **dict.fromkeys(("Gelu", "BiasGelu", "BiasSplitGelu"), "erf"),
    "FastGelu": "tanh",
}
#: Nodes without which there is no GELU, and those of them of which near ones are looked for, too.
_ANCHORS = frozenset(("Erf", "Tanh", "Sigmoid", "Exp"))
_TRIED = frozenset(("Erf", "Tanh"))
#: How far around an anchor is looked, and how many values there; near ones tried for each; all tries of
#: a file, and how many of them a near one takes.
_STEPS, _AROUND, _NEAR, _TRIES, _COST = 10, 30, 8, 20_000, 30
_DEPTH = 40
_NOWHERE = Span(1, 0, 1, 0)


class _Gelu(NamedTuple):
    """One GELU of a graph."""

    form: str
    name: str
    callee: str
    written: str
    flavour: str
    given: str
    value: Value
    error: float | None = None
    parameter: float | None = None
    formula: Formula | None = None


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the GELUs of a graph."""
    model = _parsed(source.data)
    opset = max((found.version for found in model.opset_import if found.domain in _ONNX), default=0)
    search = _Search(opset)
    graphs = [Graph(function.node, (), None) for function in model.functions]
    graphs.append(Graph(model.graph.node, model.graph.initializer, None))
    found = [gelu for graph in graphs for gelu in search.gelus(graph, 0)]
    return summary._replace(sites=tuple(map(_site, found)))


def _parsed(data: bytes) -> Any:
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    except ImportError as fault:
        raise Malformed(f"the onnx package does not load: {fault}", 1) from None
    try:
        return onnx.load_model_from_string(data)
    except DecodeError:
        raise Malformed("not a valid ONNX model", 1) from None


class _Search:
    """Looks for GELUs in the graphs of one file, as long as it has tries left."""

    def __init__(self, opset: int) -> None:
        self._opset, self._left = opset, _TRIES
        self._near: dict[Expr, Identity] = {}

    def gelus(self, graph: Graph, depth: int) -> Iterator[_Gelu]:
        """The GELUs of a graph and of those inside its nodes, each once, in the order of its nodes."""
        known: set[str] = set()
        for node in graph.nodes:
            one = _operator(node)
            if one is not None:
                yield one
            elif node.op_type in _ANCHORS and node.domain in _ONNX:
                chain = self._chain(graph, node)
                if chain is not None and chain[0] not in known:
                    known.add(chain[0])
                    yield chain[1]
            for held in inner(node) if depth < _DEPTH else ():
                yield from self.gelus(Graph(held.node, held.initializer, graph), depth + 1)

    def _chain(self, graph: Graph, anchor: Any) -> tuple[str, _Gelu] | None:
        """The GELU that an anchor is part of, and the value that it gives."""
        if not anchor.input or not anchor.output or self._left <= 0:
            return None
        later: list[tuple[str, Expr, list[Any]]] = []
        above = graph.above(anchor.input[0], _STEPS, _AROUND)
        for result in graph.below(anchor.output[0], _STEPS, _AROUND):
            for atom in above:
                self._left -= 1
                read = graph.formula(result, atom)
                if read is None:
                    continue
                expr = fold(read[0])
                identity = settle(expr)
                if identity.flavour in NEAR_TARGETS:
                    return result, _told(identity, expr, read[1], self._opset)
                later.append((result, expr, read[1]))
        for result, expr, nodes in reversed(later[-_NEAR:]) if anchor.op_type in _TRIED else ():
            identity = self._identity(expr)
            if identity.flavour == "near" and identity.nearest in NEAR_TARGETS:
                return result, _told(identity, expr, nodes, self._opset)
        return None

    def _identity(self, expr: Expr) -> Identity:
        """What a formula is or nearly is: that takes as long as many tries, once for each formula."""
        if too_big(expr):
            return UNKNOWN
        if expr not in self._near:
            self._left -= _COST
            self._near[expr] = identify(expr) if self._left > 0 else UNKNOWN
        return self._near[expr]


def _operator(node: Any) -> _Gelu | None:
    """A node that is a GELU by its operator."""
    op, given = node.op_type, {attribute.name: attribute for attribute in node.attribute}
    name = node.name or (node.output[0] if node.output else "")
    if op == "Gelu" and node.domain in _ONNX:
        if "approximate" not in given:
            return _Gelu("operator", name, "ai.onnx.Gelu", op, "erf", "absent", None)
        value = given["approximate"].s.decode("utf-8", "replace")
        return _Gelu("operator", name, "ai.onnx.Gelu", op, _FLAVOURS.get(value, "unknown"), "literal", value)
    if node.domain != _MICROSOFT:
        return None
    callee = f"{_MICROSOFT}.{op}"
    if op in _CONTRIB:
        return _Gelu("operator", name, callee, op, _CONTRIB[op], "fixed", None)
    if op == "QuickGelu":
        alpha = float(given["alpha"].f) if "alpha" in given else 1.702
        flavour = "quick" if abs(alpha - 1.702) < 0.005 else "silu" if alpha == 1 else "sigmoid_k"
        return _Gelu("operator", name, callee, op, flavour, "fixed", None, parameter=float(f"{alpha:.7g}"))
    return None


def _told(identity: Identity, expr: Expr, nodes: list[Any], opset: int) -> _Gelu:
    formula = None
    if identity.flavour == "near":
        deltas = tuple(
            (name, difference(lambda x: evaluate(expr, x), FLAVOURS[name].value).size) for name in NEAR_TARGETS
        )
        formula = Formula(identity.nearest, identity.why, identity.right, at=identity.at, deltas=deltas)
    written = ", ".join(node.op_type for node in nodes if node.op_type != "Constant")
    name = nodes[-1].name or nodes[-1].output[0]
    return _Gelu(
        "chain", name, "", written, identity.flavour, "fixed", opset, identity.error, identity.parameter, formula
    )


def _site(gelu: _Gelu) -> Site:
    return Site(
        "graph", gelu.form, "onnx", gelu.callee, gelu.written, gelu.flavour, gelu.given, gelu.value, _NOWHERE, _NOWHERE,
        (), None, "", "", "", (), gelu.name, "", (1, 1), '"', gelu.error, gelu.parameter, formula=gelu.formula,
    )  # fmt: skip
