"""A model with a GELU is exported to ONNX at an opset that has no Gelu operator.

## What it does
Reports `torch.onnx.export(…, opset_version=N)`, and `to_onnx` of Lightning, with N below 20 where the model holds one
of PyTorch's GELUs of the same file: the exported expression is made of classes and functions with one, or is handed
over by a caller that the file does not have and the file has one module class alone. Calls without `opset_version` are
silent, since the default depends on the version of torch, and so are hand-written GELUs, which no opset turns into one
operator.

## Why is this bad
This is a policy: one operator that says which GELU it is. ONNX has `Gelu`, with the attribute `approximate`, from opset
20 on. Below it both exporters decompose the function, at opset 14 as at 19: the flavour is left in the constants of
five to nine nodes, and no exporter writes `com.microsoft.Gelu`. ONNX Runtime on the CPU (1.32, measured) fuses the erf
chain of the TorchScript exporter when it loads the graph, not the one of the dynamo exporter, and no tanh chain at
all; an erf chain that is not fused took 1.7 times as long as one that is.

## Fix safety
The fix writes 20, which changes no value but asks more of what runs the graph, so `fix` applies it only with
`--unsafe-fixes`. There is none where the number is a constant from elsewhere, and where the declared torch may be older
than 2.5, whose exporter has no Gelu node.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.table import callables
from gelu_lint.misuse import misuse
from gelu_lint.model import Edit, Export, FileSummary, Finding, Fix, Project, Site
from gelu_lint.roles import is_test
from gelu_lint.rule import Rule, bad, good

#: The opset that brought the operator, and the first torch that exports it.
_OPSET, _SINCE = 20, (2, 5)
_FORMS = ("call", "partial", "super", "argument", "attribute", "variable", "element", "return")
_CHAINS = {
    "erf": "around Erf, which ONNX Runtime fuses as the TorchScript exporter writes it and not as the dynamo one does",
    "tanh": "around Tanh, which ONNX Runtime does not fuse on the CPU",
}


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for export in file.exports:
        if export.opset >= _OPSET or export.guard == "raises" or is_test(file.place, export.symbol):
            continue
        held = [site for site in file.sites if site.span in export.gelus and _is_built_in(site)]
        if not held:
            continue
        first = held[0]
        flavours = {site.flavour for site in held}
        chain = _CHAINS.get(first.flavour, "") if len(flavours) == 1 else ""
        message = (
            f"opset {export.opset} has no Gelu operator: {first.written} (line {first.span.row}) becomes a chain of "
            f"nodes {chain or 'that only its constants tell'}; opset 20 has one, with the flavour as its attribute"
        )
        floor = project.floor("torch")
        fixed = export.literal and (floor is None or floor >= _SINCE)
        fix = Fix("write 20", (Edit(export.number, "20"),), reach="interface") if fixed else None
        yield _finding(file, export, first, message, fix)


def _finding(file: FileSummary, export: Export, first: Site, message: str, fix: Fix | None) -> Finding:
    data = (("flavour", first.flavour), ("framework", "torch"), ("opset", export.opset), ("symbol", export.symbol))
    found = Finding("GEL401", file.path, export.span, message, "info", fix, data, statement=export.statement)
    return found._replace(related=((file.path, first.span, "the GELU"),))


def _is_built_in(site: Site) -> bool:
    """Whether a site is a GELU of PyTorch that the exporter knows as one."""
    if site.framework != "torch" or site.guard == "raises" or misuse(site) is not None:
        return False
    if site.spelling == "string":
        return True
    row = callables().get(site.callee)
    return site.spelling in ("call", "reference") and row is not None and bool(row.keyword) and site.form in _FORMS


def evidence() -> None:
    """The exporter writes a chain at 17 and a Gelu node at 20, of the same values; it never uses ONNX Runtime's."""
    import io
    import warnings
    from typing import Any

    import numpy
    import onnx
    import torch
    from onnx.reference import ReferenceEvaluator

    x = torch.linspace(-6, 6, 1201)

    def exported(flavour: str, opset: int) -> tuple[list[str], Any]:
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = torch.nn.GELU(approximate=flavour).eval()
            export: Any = torch.onnx.export  # its annotation leaves out buffers, which it takes
            export(model, (x,), buffer, opset_version=opset, dynamo=False, input_names=["x"])
        graph = onnx.load_model_from_string(buffer.getvalue())
        assert all(node.domain == "" for node in graph.graph.node)
        kinds = [node.op_type for node in graph.graph.node if node.op_type != "Constant"]
        values: Any = ReferenceEvaluator(graph).run(None, {"x": x.numpy()})
        return kinds, values[0]

    chains = {"none": ("Erf", 5), "tanh": ("Tanh", 9)}
    for flavour, (kind, length) in chains.items():
        wanted = torch.nn.functional.gelu(x, approximate=flavour).numpy()
        for opset in (14, 17, 20):
            kinds, value = exported(flavour, opset)
            assert float(numpy.abs(value - wanted).max()) < 1e-6
            assert kinds == ["Gelu"] if opset == 20 else (kind in kinds and len(kinds) == length), kinds


_HEAD = "import torch\nfrom torch import nn\n\n\n"
_NET = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    '        self.act = nn.GELU(approximate="{}")\n\n    def forward(self, x):\n        return self.act(x)\n\n\n'
)
_TANH = _HEAD + _NET.format("tanh")
_BUILD = (
    _HEAD + 'def build():\n    return nn.Sequential(nn.Linear(3, 3), nn.GELU(approximate="none"))\n\n\n'
    "net = build().eval()\n"
)
_EXPORT = 'torch.onnx.export(net, (torch.zeros(1, 3),), "net.onnx", opset_version={})\n'

RULE = Rule(
    "GEL401",
    "opset-below-20",
    "ONNX export of a GELU at an opset that has no Gelu operator",
    "opset 20 (0)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _TANH + "torch.onnx.export(Net(), torch.zeros(3), 'net.onnx', opset_version=17)\n",
            at="14:54",
            fixed=_TANH + "torch.onnx.export(Net(), torch.zeros(3), 'net.onnx', opset_version=20)\n",
            reach="interface",
        ),
        bad(
            _BUILD + _EXPORT.format(14),
            at="10:58",
            fixed=_BUILD + _EXPORT.format(20),
            reach="interface",
        ),
        bad(_BUILD + "OPSET = 13\n" + _EXPORT.format("OPSET"), at="11:58"),
        bad(_BUILD + _EXPORT.format(17), at="10:58", dependencies=("torch>=2.1",)),
        good(_BUILD + _EXPORT.format(20)),
        good(_BUILD + 'torch.onnx.export(net, (torch.zeros(1, 3),), "net.onnx")\n'),
        good(_TANH + "net = nn.Linear(3, 3)\n" + _EXPORT.format(17)),
    ),
    evidence=evidence,
    policy=True,
)
