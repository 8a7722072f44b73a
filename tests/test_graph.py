"""GELUs in ONNX graphs of any layout: what is told of a graph is what onnx's own evaluator computes with it."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from scipy.special import expit, ndtr

from gelu_lint import cli, runner
from gelu_lint.engine import summarise
from gelu_lint.model import Site
from gelu_lint.source import decode
from gelu_lint.weights import NotOnnx, without_weights

ROOT2, C, K = math.sqrt(2), math.sqrt(2 / math.pi), 0.044715
FLAVOURS: dict[str, Callable[[Any], Any]] = {
    "erf": lambda x: x * ndtr(x),
    "tanh": lambda x: 0.5 * x * (1 + np.tanh(C * (x + K * x**3))),
    "quick": lambda x: x * expit(1.702 * x),
}
TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}


class Builder:
    """Writes nodes one by one; numbers become initialisers, each of its own or shared, or Constant nodes."""

    def __init__(self, dtype: str = "float32", numbers: str = "initializer", opset: int = 17) -> None:
        self.dtype, self.numbers, self.opset = dtype, numbers, opset
        self.nodes: list[Any] = []
        self.tensors: dict[str, Any] = {}

    def number(self, value: float) -> str:
        name = f"c{value!r}" if self.numbers == "shared" else f"c{len(self.tensors) + len(self.nodes)}"
        if self.numbers == "shared" and name in self.tensors:
            return name
        shape = (1,) if self.numbers == "one of a row" else ()
        tensor = numpy_helper.from_array(np.full(shape, value, self.dtype), name)
        if self.numbers == "constant":
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        elif self.numbers == "cast":
            self.tensors[name] = numpy_helper.from_array(np.full(shape, value, "float64"), name)
            return self("Cast", name, to=TYPES[self.dtype])
        elif self.numbers == "value_float" and self.dtype == "float32":
            self.nodes.append(helper.make_node("Constant", [], [name], value_float=value))
        else:
            self.tensors[name] = tensor
        return name

    def __call__(self, op: str, *args: str | float, **attributes: Any) -> str:
        names = [arg if isinstance(arg, str) else self.number(arg) for arg in args]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], name=f"/act/{op}_{name}", **attributes))
        return name

    def model(self, result: str) -> Any:
        kind = TYPES[self.dtype]
        ends = [helper.make_tensor_value_info(name, kind, ["n"]) for name in ("x", result)]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], [*self.tensors.values()])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)


def told(model: Any) -> list[Site]:
    """The GELUs that are told of a model, read as a file is."""
    data = without_weights(io.BytesIO(model.SerializeToString()), 2_000_000)
    return list(summarise(decode("net.onnx", data)).sites)


def flavours(model: Any) -> list[str]:
    return [site.flavour for site in told(model)]


def run(model: Any, dtype: str = "float64") -> tuple[Any, Any]:
    x = np.linspace(-6, 6, 401).astype(dtype)
    with np.errstate(all="ignore"):
        (value,) = ReferenceEvaluator(model).run(None, {"x": x})
    return x.astype("float64"), np.asarray(value).astype("float64")


def cube(b: Builder, how: str) -> str:
    return b("Pow", "x", 3.0) if how == "pow" else b("Mul", b("Mul", "x", "x"), "x")


def tanh_of(b: Builder, how: str = "mul") -> str:
    return b("Tanh", b("Mul", b("Add", "x", b("Mul", cube(b, how), K)), C))


Layout = Callable[[Builder], str]
ERF: dict[str, Layout] = {
    "the TorchScript exporter": lambda b: b(
        "Mul", b("Mul", "x", b("Add", b("Erf", b("Div", "x", ROOT2)), 1.0)), 0.5
    ),
    "the dynamo exporter": lambda b: b("Mul", "x", b("Mul", b("Add", b("Erf", b("Div", "x", ROOT2)), 1.0), 0.5)),
    "half of x first": lambda b: b("Mul", b("Mul", 0.5, "x"), b("Add", 1.0, b("Erf", b("Mul", "x", 1 / ROOT2)))),
    "divided by two": lambda b: b("Div", b("Mul", "x", b("Add", 1.0, b("Erf", b("Div", "x", ROOT2)))), 2.0),
    "a root that is computed": lambda b: b(
        "Mul", b("Mul", "x", 0.5), b("Add", b("Erf", b("Div", "x", b("Sqrt", 2.0))), 1.0)
    ),
    "distributed": lambda b: b(
        "Mul", b("Add", b("Mul", "x", b("Erf", b("Div", "x", ROOT2))), "x"), 0.5
    ),
    "subtracted": lambda b: b("Mul", b("Mul", "x", 0.5), b("Sub", 1.0, b("Erf", b("Div", b("Neg", "x"), ROOT2)))),
    "with casts": lambda b: b(
        "Cast",
        b("Mul", b("Cast", "x", to=TYPES[b.dtype]), b("Mul", b("Add", b("Erf", b("Div", "x", ROOT2)), 1.0), 0.5)),
        to=TYPES[b.dtype],
    ),
    "with identities": lambda b: b(
        "Mul", b("Identity", "x"), b("Identity", b("Mul", b("Sum", b("Erf", b("Mul", "x", 1 / ROOT2)), 1.0), 0.5))
    ),
    "a number from a shape": lambda b: b(
        "Mul",
        b("Mul", b("Expand", 0.5, b("Shape", "x")), "x"),
        b("Add", b("Erf", b("Div", "x", ROOT2)), 1.0),
    ),
}  # fmt: skip
TANH: dict[str, Layout] = {
    "the TorchScript exporter": lambda b: b("Mul", b("Mul", b("Add", tanh_of(b), 1.0), "x"), 0.5),
    "the dynamo exporter": lambda b: b("Mul", b("Mul", "x", 0.5), b("Add", tanh_of(b, "pow"), 1.0)),
    "fast": lambda b: b(
        "Mul",
        b("Mul", "x", 0.5),
        b("Add", 1.0, b("Tanh", b("Mul", b("Mul", "x", C), b("Add", 1.0, b("Mul", K, b("Mul", "x", "x")))))),
    ),
    "numbers multiplied out": lambda b: b(
        "Mul",
        b("Mul", 0.5, "x"),
        b("Add", b("Tanh", b("Add", b("Mul", C, "x"), b("Mul", C * K, cube(b, "pow")))), 1.0),
    ),
    "by a sigmoid": lambda b: b(
        "Mul", "x", b("Sigmoid", b("Mul", 2 * C, b("Add", "x", b("Mul", K, cube(b, "mul")))))
    ),
    "by an exponential": lambda b: b(
        "Div", "x", b("Add", 1.0, b("Exp", b("Mul", -2 * C, b("Add", "x", b("Mul", K, cube(b, "mul"))))))
    ),
}  # fmt: skip
QUICK: dict[str, Layout] = {
    "by a sigmoid": lambda b: b("Mul", "x", b("Sigmoid", b("Mul", "x", 1.702))),
    "the other way round": lambda b: b("Mul", b("Sigmoid", b("Mul", 1.702, "x")), "x"),
    "by an exponential": lambda b: b("Div", "x", b("Add", b("Exp", b("Neg", b("Mul", 1.702, "x"))), 1.0)),
    "by a reciprocal": lambda b: b("Mul", "x", b("Reciprocal", b("Add", 1.0, b("Exp", b("Mul", -1.702, "x"))))),
}
LAYOUTS = [
    (f, name, layout) for f, known in (("erf", ERF), ("tanh", TANH), ("quick", QUICK)) for name, layout in known.items()
]
NAMED = [pytest.param(*row, id=f"{row[0]}, {row[1]}") for row in LAYOUTS]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("numbers", ["initializer", "shared", "constant", "one of a row", "cast", "value_float"])
@pytest.mark.parametrize(("flavour", "name", "layout"), NAMED)
def test_layouts(flavour: str, name: str, layout: Layout, numbers: str, dtype: str) -> None:
    b = Builder(dtype, numbers)
    model = b.model(layout(b))
    assert flavours(model) == [flavour]
    x, value = run(model, dtype)
    near = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-6}[dtype]  # onnx's own erf is good to 1e-7
    assert np.nanmax(np.abs(value - FLAVOURS[flavour](x))) < near  # what overflows in 16 bits aside
    if dtype != "float16":
        assert min(np.abs(value - FLAVOURS[other](x)).max() for other in FLAVOURS if other != flavour) > 4e-4


@pytest.mark.parametrize("opset", [11, 13, 14, 17, 18, 19, 20, 21])
@pytest.mark.parametrize(("flavour", "name", "layout"), NAMED)
def test_opsets(flavour: str, name: str, layout: Layout, opset: int) -> None:
    b = Builder(opset=opset)
    (site,) = told(b.model(layout(b)))
    assert (site.flavour, site.form, site.value, site.spelling, site.framework) == (
        flavour,
        "chain",
        opset,
        "graph",
        "onnx",
    )
    assert site.symbol.startswith("/act/") and site.written


@pytest.mark.parametrize(("flavour", "name", "layout"), NAMED)
def test_bfloat16(flavour: str, name: str, layout: Layout) -> None:
    b = Builder()
    model = b.model(layout(b))
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor).astype("float32").reshape(-1)
        tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.BFLOAT16, tensor.dims, value))
    assert flavours(model) == [flavour]


def exported(approximate: str, opset: int) -> Any:
    import warnings

    import torch

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(approximate=approximate), torch.nn.Linear(4, 4))
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.eval(), (torch.zeros(1, 4),), buffer, opset_version=opset, dynamo=False)
    return onnx.load_model_from_string(buffer.getvalue())


@pytest.mark.parametrize("opset", [11, 14, 17, 19, 20])
@pytest.mark.parametrize(("approximate", "flavour"), [("none", "erf"), ("tanh", "tanh")])
def test_what_torch_exports(approximate: str, flavour: str, opset: int) -> None:
    (site,) = told(exported(approximate, opset))
    assert (site.flavour, site.form) == (flavour, "operator" if opset >= 20 else "chain")


# ------------------------------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("op", "domain", "attributes", "wanted"),
    [
        ("Gelu", "", {}, ("erf", "absent", None)),
        ("Gelu", "", {"approximate": "none"}, ("erf", "literal", "none")),
        ("Gelu", "", {"approximate": "tanh"}, ("tanh", "literal", "tanh")),
        ("Gelu", "", {"approximate": "Tanh"}, ("unknown", "literal", "Tanh")),
        ("Gelu", "com.microsoft", {}, ("erf", "fixed", None)),
        ("BiasGelu", "com.microsoft", {}, ("erf", "fixed", None)),
        ("FastGelu", "com.microsoft", {}, ("tanh", "fixed", None)),
        ("QuickGelu", "com.microsoft", {}, ("quick", "fixed", None)),
        ("QuickGelu", "com.microsoft", {"alpha": 1.702}, ("quick", "fixed", None)),
        ("QuickGelu", "com.microsoft", {"alpha": 1.0}, ("silu", "fixed", None)),
    ],
)
def test_operators(op: str, domain: str, attributes: dict[str, Any], wanted: tuple[object, ...]) -> None:
    b = Builder(opset=20)
    (site,) = told(b.model(b(op, "x", domain=domain, **attributes)))
    assert (site.flavour, site.given, site.value) == wanted
    assert site.callee == f"{domain or 'ai.onnx'}.{op}"


def test_gelu_of_somebody_else_is_not_known() -> None:
    b = Builder()
    assert told(b.model(b("Gelu", "x", domain="com.acme"))) == []


# ---------------------------------------------------------------------------------- what is no GELU


OTHERS: dict[str, Layout] = {
    "SiLU": lambda b: b("Mul", "x", b("Sigmoid", "x")),
    "swish": lambda b: b("Mul", "x", b("Sigmoid", b("Mul", "x", 1.4))),
    "Mish": lambda b: b("Mul", "x", b("Tanh", b("Softplus", "x"))),
    "LiSHT": lambda b: b("Mul", "x", b("Tanh", "x")),
    "tanhshrink": lambda b: b("Sub", "x", b("Tanh", "x")),
    "softcap": lambda b: b("Mul", b("Tanh", b("Div", "x", 30.0)), 30.0),
    "scaled tanh": lambda b: b("Mul", 1.7159, b("Tanh", b("Mul", "x", 2 / 3))),
    "a distribution function": lambda b: b("Mul", b("Add", b("Erf", b("Div", "x", ROOT2)), 1.0), 0.5),
    "half and half": lambda b: b("Mul", 0.5, b("Add", 1.0, b("Tanh", "x"))),
    "ELU": lambda b: b("Sub", b("Exp", b("Min", "x", 0.0)), 1.0),
    "softmax": lambda b: b("Div", b("Exp", "x"), b("ReduceSum", b("Exp", "x"))),
    "a gate of something else": lambda b: b("Mul", "x", b("Sigmoid", b("Mul", 1.702, b("Shape", "x")))),
    "hard swish": lambda b: b("Mul", "x", b("Clip", b("Add", b("Div", "x", 6.0), 0.5), 0.0, 1.0)),
    "a gated unit": lambda b: b("Mul", b("Tanh", b("Mul", "x", "w")), b("Sigmoid", b("Mul", "x", "v"))),
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
def test_others_are_no_gelu(kind: str) -> None:
    b = Builder()
    assert flavours(b.model(OTHERS[kind](b))) == []


NEAR: dict[str, tuple[str, Layout]] = {
    "0.44715": (
        "tanh",
        lambda b: b(
            "Mul",
            b("Mul", 0.5, "x"),
            b("Add", 1.0, b("Tanh", b("Mul", C, b("Add", "x", b("Mul", 0.44715, cube(b, "pow")))))),
        ),
    ),
    "no root": ("erf", lambda b: b("Mul", b("Mul", 0.5, "x"), b("Add", 1.0, b("Erf", "x")))),
    "no half": ("erf", lambda b: b("Mul", "x", b("Add", 1.0, b("Erf", b("Div", "x", ROOT2))))),
}


@pytest.mark.parametrize("kind", NEAR)
def test_near_ones(kind: str) -> None:
    flavour, layout = NEAR[kind]
    b = Builder()
    model = b.model(layout(b))
    (site,) = told(model)
    assert site.formula is not None
    assert (site.flavour, site.formula.nearest) == ("near", flavour)
    x, value = run(model, "float32")
    measured = np.abs(value - FLAVOURS[flavour](x)).max()
    assert site.error == pytest.approx(measured, rel=2e-2)
    bound = site.formula.delta(flavour)
    assert bound is None or bound >= measured * 0.99


def test_truncated_numbers_are_the_flavour() -> None:
    b = Builder()
    inner = b("Add", "x", b("Mul", 0.0447, cube(b, "pow")))
    assert flavours(b.model(b("Mul", b("Mul", 0.5, "x"), b("Add", 1.0, b("Tanh", b("Mul", 0.79788, inner)))))) == [
        "tanh"
    ]


# ------------------------------------------------------------------------------------- surroundings


def mlp(layers: list[Layout]) -> Any:
    """A network with a bias that is no single number before each activation, a gate and a residual after it."""
    b = Builder()
    b.tensors["w"] = numpy_helper.from_array(np.eye(4, dtype="float32"), "w")
    b.tensors["b"] = numpy_helper.from_array(np.arange(4, dtype="float32"), "b")
    before = "x"
    for layout in layers:
        hidden = b("Add", b("MatMul", before, "w"), "b")
        start = len(b.nodes)
        result = layout(b)
        for node in b.nodes[start:]:
            node.input[:] = [hidden if name == "x" else name for name in node.input]
        before = b("Add", b("Mul", result, b("MatMul", before, "w")), before)
    return b.model(before)


@pytest.mark.parametrize(("flavour", "name", "layout"), NAMED)
def test_in_a_network(flavour: str, name: str, layout: Layout) -> None:
    if name != "a number from a shape":
        assert flavours(mlp([layout] * 3)) == [flavour] * 3


def test_several_flavours_in_one_graph() -> None:
    layers = [ERF["half of x first"], TANH["fast"], QUICK["by a sigmoid"], OTHERS["SiLU"], ERF["distributed"]]
    assert flavours(mlp(layers)) == ["erf", "tanh", "quick", "erf"]


def test_scaled_input_and_output() -> None:
    """What is done to x before and to the result after is no part of it."""
    b = Builder()
    scaled = b("Mul", "x", 0.125)
    start = len(b.nodes)
    result = ERF["the TorchScript exporter"](b)
    for node in b.nodes[start:]:
        node.input[:] = [scaled if name == "x" else name for name in node.input]
    assert flavours(b.model(b("Mul", result, 3.0))) == ["erf"]


def test_graphs_inside_nodes_and_functions() -> None:
    b = Builder()
    two = b.number(ROOT2)  # a number of the graph around
    arms = []
    for layout in (ERF["the dynamo exporter"], TANH["fast"]):
        c = Builder(numbers="constant")
        result = layout(c)
        for node in c.nodes:
            node.input[:] = [name if name == "x" else f"i{name}" for name in node.input]
            node.output[:] = [f"i{name}" for name in node.output]
        if layout is ERF["the dynamo exporter"]:
            division = next(node for node in c.nodes if node.op_type == "Div")
            division.input[1] = two
        arms.append(
            helper.make_graph(
                c.nodes, "arm", [], [helper.make_tensor_value_info(f"i{result}", TensorProto.FLOAT, ["n"])]
            )
        )
    b.tensors["cond"] = numpy_helper.from_array(np.array(True), "cond")
    model = b.model(b("If", "cond", then_branch=arms[0], else_branch=arms[1]))
    assert sorted(flavours(model)) == ["erf", "tanh"]

    c = Builder(numbers="constant")
    result = QUICK["by a sigmoid"](c)
    function = helper.make_function("pkg", "act", ["x"], [result], c.nodes, [helper.make_opsetid("", 17)])
    b = Builder()
    model = b.model(b("act", "x", domain="pkg"))
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("pkg", 1))
    assert flavours(model) == ["quick"]
    x, value = run(model, "float32")
    assert np.abs(value - FLAVOURS["quick"](x)).max() < 1e-5


# ------------------------------------------------------------------------------ weights are stepped over


@pytest.mark.parametrize("seed", range(5))
def test_a_model_without_its_weights_is_the_model(seed: int) -> None:
    rng = random.Random(seed)
    b = Builder(numbers="constant" if seed % 2 else "initializer")
    result = rng.choice([layout for _, _, layout in LAYOUTS])(b)
    for n in range(rng.randrange(1, 6)):
        shape = (rng.randrange(1, 400), rng.randrange(1, 400))
        b.tensors[f"w{n}"] = numpy_helper.from_array(np.random.default_rng(seed).random(shape, "float32"), f"w{n}")
    big = numpy_helper.from_array(np.zeros((1000, 3), "float32"))
    b.nodes.append(helper.make_node("Constant", [], ["big"], value=big, doc_string="x" * 3000))
    model = b.model(result)
    data = model.SerializeToString()
    left = onnx.load_model_from_string(without_weights(io.BytesIO(data), 100_000))
    assert left.opset_import == model.opset_import
    assert [(n.op_type, n.input, n.output) for n in left.graph.node] == [
        (n.op_type, n.input, n.output) for n in model.graph.node
    ]
    small = [t for t in model.graph.initializer if t.ByteSize() < 500]
    assert [t for t in left.graph.initializer if t.ByteSize() < 500] == small
    assert left.ByteSize() < 10_000


def test_a_file_of_gigabytes_is_read_in_its_small_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder()
    model = b.model(TANH["fast"](b))
    graph = model.graph.SerializeToString()
    size = 1 << 31
    # A tensor (field 5) whose raw data (field 9) is a hole in the file.
    raw = b"\x4a" + varint(size)
    tensor = b"\x2a" + varint(len(raw) + size)
    model.ClearField("graph")
    path = tmp_path / "net.onnx"
    with path.open("wb") as file:
        file.write(model.SerializeToString() + b"\x3a" + varint(len(tensor) + len(raw) + size + len(graph)))
        file.write(tensor + raw)
        file.seek(size, 1)
        file.write(graph)
    assert path.stat().st_size > size
    assert cli.main(["inventory", "--output-format", "json", str(tmp_path)]) == 0
    assert [row["flavour"] for row in json.loads(capsys.readouterr().out)] == ["tanh"]


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


# ------------------------------------------------------------------------------------- hostile files


def good() -> bytes:
    b = Builder()
    return b.model(ERF["the dynamo exporter"](b)).SerializeToString()


def cyclic() -> bytes:
    b = Builder()
    model = b.model(ERF["the dynamo exporter"](b))
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]
    return model.SerializeToString()


def nested(depth: int) -> bytes:
    graph = helper.make_graph([helper.make_node("Erf", ["x"], ["y"])], "g", [], [])
    data = graph.SerializeToString()
    for _ in range(depth):  # a node (1) with an attribute (5) that holds a graph (6)
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            data = tag + varint(len(data)) + data
    return b"\x3a" + varint(len(data)) + data


def many_paths() -> bytes:
    """A sum of a sum of a sum …, each of the same two: 2^300 ways to the top."""
    b = Builder()
    at = b("Erf", "x")
    for _ in range(300):
        at = b("Add", at, at)
    return b.model(at).SerializeToString()


def many_anchors() -> bytes:
    b = Builder()
    at = "x"
    for _ in range(3000):
        at = b("Tanh", at)
    return b.model(at).SerializeToString()


def wide() -> bytes:
    """Sums of thousands of values, and a value with thousands of users."""
    b = Builder()
    at = [b("Tanh", "x") for _ in range(3000)]
    return b.model(b("Sum", *(b("Sum", *at) for _ in range(20)))).SerializeToString()


def deep() -> bytes:
    """Each value is computed from the three before it."""
    b = Builder()
    at = ["x", "x", "x"]
    for _ in range(1500):
        at.append(b("Sum", b("Tanh", at[-1]), at[-2], at[-3]))
    return b.model(at[-1]).SerializeToString()


def odd_tensors() -> bytes:
    b = Builder()
    model = b.model(ERF["the dynamo exporter"](b))
    model.graph.initializer[0].raw_data = b"\0"
    model.graph.initializer[1].data_type = 99
    model.graph.initializer[2].data_location = TensorProto.EXTERNAL
    model.graph.node.append(helper.make_node("Erf", [], []))
    model.graph.node.append(helper.make_node("Mul", ["x"], ["q"]))
    return model.SerializeToString()


FINE = {
    "a cycle": cyclic,
    "many paths": many_paths,
    "many anchors": many_anchors,
    "wide": wide,
    "deep": deep,
    "odd tensors": odd_tensors,
    "a pointer of git LFS": lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
    "nothing of ours": lambda: helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString(),
}
BROKEN = {
    "empty": lambda: b"",
    "cut off": lambda: good()[:-30],
    "cut off early": lambda: good()[:40],
    "text": lambda: b"import torch  # Gelu Erf\n" * 20,
    "random": lambda: random.Random(0).randbytes(5000) + b"Erf",
    "zeros": lambda: b"\0" * 5000,
    "a field that is too long": lambda: b"\x3a\xff\xff\xff\xff\x7f" + b"Gelu",
    "a number that never ends": lambda: b"\xff" * 100,
    "groups": lambda: b"\x3b" * 100,
    "wrong inside": lambda: b"\x3a" + varint(12) + b"\x0a\x0a" + b"\x0a\xffErfGelu\x01",
    "nested": lambda: nested(60),
    "too long": lambda: helper.make_model(
        helper.make_graph(
            [helper.make_node("Erf", [f"x{n}"], [f"y{n}"], name="n" * 400) for n in range(6000)], "g", [], []
        )
    ).SerializeToString(),
}


def check(tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes) -> tuple[int, list[tuple[str, str]], str]:
    (tmp_path / "net.onnx").write_bytes(data)
    (tmp_path / "act.py").write_text(
        "import torch.nn.functional as F\n\n\ndef act(x):\n    return F.gelu(x, approximate='tanh')\n"
    )
    done = cli.main(["check", "--output-format", "json", str(tmp_path)])
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert {Path(f["filename"]).name for f in found} <= {"net.onnx"}
    return done, [(f["code"], f["message"]) for f in found], err


@pytest.mark.parametrize("kind", FINE)
def test_odd_files_are_read(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, err = check(tmp_path, capsys, FINE[kind]())
    assert (code, found, err) == (0, [], "")


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_give_one_clear_message(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, err = check(tmp_path, capsys, BROKEN[kind]())
    assert (code, [code for code, _ in found], err) == (1, ["GEL900"], "")
    message = found[0][1]
    assert message.startswith(("file skipped: not a", "file skipped: not read: ", "file skipped: without its weights"))
    assert "please report" not in message


def test_every_cut_of_a_model_is_survived() -> None:
    data = good()
    for end in range(len(data)):
        try:
            left = without_weights(io.BytesIO(data[:end]), 100_000)
        except NotOnnx:
            continue
        summarise(decode("net.onnx", left))


@pytest.mark.parametrize("seed", range(300))
def test_flipped_bytes_are_survived(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(good())
    for _ in range(rng.randrange(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    try:
        left = without_weights(io.BytesIO(bytes(data)), 100_000)
    except NotOnnx:
        return
    summarise(decode("net.onnx", left))


# ----------------------------------------------------------------------------------- without the package


def test_without_onnx_one_note_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnx" else find(name))
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(good())
    code, found, err = check(tmp_path, capsys, good())
    assert (code, found) == (0, [])
    assert err == "gelu-lint: 3 ONNX files were not read: that takes the onnx package (pip install 'gelu-lint[onnx]')\n"
    assert cli.main(["check", str(tmp_path / "a.onnx")]) == 0
    assert capsys.readouterr().err.endswith(
        "a.onnx was not read: that takes the onnx package (pip install 'gelu-lint[onnx]')\n"
    )
    assert runner.run_text("a.onnx", good(), {}, "check").notes


def test_onnx_is_loaded_where_a_graph_may_hold_a_gelu_only(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "from gelu_lint.cli import main\nimport sys\nmain(['check', '.'])\nsys.stderr.write(str('onnx' in sys.modules))"
    )
    (tmp_path / "act.py").write_text("from torch import nn\n\nact = nn.GELU(approximate='tanh')\n")
    model = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [], []))
    for data, loaded in ((None, "False"), (model.SerializeToString(), "False"), (good(), "True")):
        if data is not None:
            (tmp_path / "net.onnx").write_bytes(data)
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
        assert done.stderr == loaded
