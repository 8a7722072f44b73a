"""Which exports to ONNX hold a GELU of the file: GEL401 asked in many shapes, read in part and whole."""

from __future__ import annotations

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Project
from gelu_lint.source import decode

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
NET = (
    "class Net(nn.Module):\n    def __init__(self, act=None):\n        super().__init__()\n"
    "        self.fc = nn.Linear(3, 3)\n\n    def forward(self, x):\n"
    "        return F.gelu(self.fc(x), approximate='tanh')\n\n\n"
)
OTHER = "class Plain(nn.Module):\n    def forward(self, x):\n        return x.relu()\n\n\n"
ARGS = ", torch.zeros(1, 3), 'net.onnx', opset_version=17)\n"


def found(code: str, *, padded: bool = False) -> list[int]:
    """The rows of GEL401. ``padded`` makes the file long enough for lines to be left out of it."""
    text = HEAD + code
    if padded:
        text += "\n\n" + "\n".join(f"NUMBER_{n} = {n}" for n in range(150)) + "\n"
    source = decode("model.py", text.encode())
    part, whole = (
        [f.span.row for f in judge(summarise(source, complete=complete), Project(), ("GEL401",))]
        for complete in (False, True)
    )
    assert part == whole
    return part


REACHED = {
    "a call": NET + "torch.onnx.export(Net()" + ARGS,
    "a method of it": NET + "torch.onnx.export(Net().eval().cpu()" + ARGS,
    "a keyword": NET + "torch.onnx.export(model=Net(), args=torch.zeros(3), f='a', opset_version=11)\n",
    "a name": NET + "net = Net()\nnet.eval()\ntorch.onnx.export(net" + ARGS,
    "a name that is moved": NET + "net = Net().to('cpu')\nmodel = net.eval()\ntorch.onnx.export(model" + ARGS,
    "a local name": NET + "def main():\n    net = Net()\n    torch.onnx.export(net" + ARGS,
    "a parameter": NET + "def save(model):\n    torch.onnx.export(model" + ARGS + "\n\nsave(Net())\n",
    "a parameter of the file's only module": NET + "def save(model):\n    torch.onnx.export(model" + ARGS,
    "a function": "def build():\n    return nn.Sequential(nn.GELU(approximate='none'))\n\n\n"
    "torch.onnx.export(build()" + ARGS,
    "written there": "torch.onnx.export(nn.Sequential(nn.GELU(approximate='none'))" + ARGS,
    "a nested module": NET + "class Outer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.net = Net()\n\n    def forward(self, x):\n        return self.net(x)\n\n\ntorch.onnx.export(Outer()"
    + ARGS,
    "a subclass": NET + "class Sub(Net):\n    pass\n\n\ntorch.onnx.export(Sub()" + ARGS,
    "itself": NET.rstrip() + "\n\n    def save(self):\n        torch.onnx.export(self" + ARGS,
    "an attribute": NET + "class Saver:\n    def __init__(self):\n        self.net = Net()\n\n"
    "    def save(self):\n        torch.onnx.export(self.net" + ARGS,
    "a module alias": NET + "import torch.onnx as tx\n\ntx.export(Net()" + ARGS,
    "a function alias": NET + "from torch.onnx import export as out\n\nout(Net()" + ARGS,
    "the older path": NET + "torch.onnx.utils.export(Net()" + ARGS,
    "a constant": NET + "OPSET = 12\ntorch.onnx.export(Net(), torch.zeros(1, 3), 'a', opset_version=OPSET)\n",
    "the dynamo exporter": NET + "torch.onnx.export(Net(), torch.zeros(1, 3), 'a', dynamo=True, opset_version=18)\n",
    "a layer that looks it up": "net = nn.TransformerEncoderLayer(8, 2, activation='gelu')\n"
    "torch.onnx.export(net" + ARGS,
    "lightning": "import pytorch_lightning as pl\n\n\n"
    + NET.replace("nn.Module", "pl.LightningModule")
    + "Net().to_onnx('a.onnx', torch.zeros(3), opset_version=13)\n",
}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", REACHED)
def test_models_with_a_gelu(kind: str, padded: bool) -> None:
    code = REACHED[kind]
    row = next(n for n, line in enumerate((HEAD + code).split("\n"), 1) if "opset_version=" in line)
    assert found(code, padded=padded) == [row]


SILENT = {
    "opset 20": NET + "torch.onnx.export(Net()" + ARGS.replace("17", "20"),
    "opset 21": NET + "torch.onnx.export(Net()" + ARGS.replace("17", "21"),
    "no opset": NET + "torch.onnx.export(Net()" + ARGS.replace(", opset_version=17", ""),
    "an unknown opset": NET + "def save(n):\n    torch.onnx.export(Net()" + ARGS.replace("17", "n"),
    "None": NET + "torch.onnx.export(Net()" + ARGS.replace("17", "None"),
    "another model": NET + OTHER + "torch.onnx.export(Plain()" + ARGS,
    "a model from elsewhere": NET + "from other import build\n\ntorch.onnx.export(build()" + ARGS,
    "a library's model": NET + "import timm\n\nnet = timm.create_model('resnet18')\ntorch.onnx.export(net" + ARGS,
    "a parameter, of two modules": NET + OTHER + "def save(model):\n    torch.onnx.export(model" + ARGS,
    "written by hand": NET.replace("F.gelu(self.fc(x), approximate='tanh')", "0.5 * x * (1 + torch.erf(x / 2 ** 0.5))")
    + "torch.onnx.export(Net()"
    + ARGS,
    "a default that is another": "class Net(nn.Module):\n    def __init__(self, act=nn.GELU):\n"
    "        super().__init__()\n        self.act = act()\n\n\ntorch.onnx.export(Net(nn.ReLU)" + ARGS,
    "a test": NET + "def test_export():\n    torch.onnx.export(Net()" + ARGS,
    "somebody's own export": NET + "def export(model, opset_version):\n    pass\n\n\nexport(Net(), opset_version=11)\n",
    "to_onnx of somebody": NET + "Net().to_onnx('a', opset_version=11)\n",
    "in a string": NET + "'torch.onnx.export(Net(), opset_version=11)'\n# torch.onnx.export(Net(), opset_version=11)\n",
}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", SILENT)
def test_others_are_silent(kind: str, padded: bool) -> None:
    assert found(SILENT[kind], padded=padded) == []
