"""Where a text trains something, and whether it watches what its GELUs give; and what projects make of that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gelu_lint.cli import main
from gelu_lint.training import exported, loops, trains, watches

TRAINS = {
    "torch": ("torch", 2, "import torch\nfor x in data:\n    loss = net(x)\n    loss.backward()\n"
    "    optimizer.step()\n"),
    "while": ("torch", 1, "while True:\n    if a:\n        loss.backward()\n    opt_g.step()\n"),
    "accelerate": ("torch", 2, "def f():\n    for x in data:\n        accelerator.backward(loss)\n"
    "        self.optim.step()\n"),
    "a scaler": ("torch", 1, "for x in data:\n    scaler.scale(loss).backward()\n    scaler.step(opt)\n"),
    "a step": ("torch", 6, "def step(x):\n    loss = net(x)\n    loss.backward()\n    opt.step()\n\n"
    "for x in data:\n    step(x)\n"),
    "a method": ("torch", 6, "class T:\n    def one(self):\n        l.backward()\n"
    "        self.optimizer.step()\n    def fit(self):\n        for x in self.data:\n            self.one()\n"),
    "jax": ("jax", 5, "import jax\ndef step(s, x):\n    g = jax.grad(loss)(s, x)\n"
    "    return s.apply_gradients(grads=g)\nfor x in data:\n    s = step(s, x)\n"),
    "optax": ("jax", 2, "import optax\nfor x in data:\n    l, g = jax.value_and_grad(loss)(p)\n"
    "    u, s = tx.update(g, s)\n    p = optax.apply_updates(p, u)\n"),
    "a tape": ("tensorflow", 1, "for x in data:\n    g = tape.gradient(loss, v)\n    opt.apply_gradients(zip(g, v))\n"),
    "keras": ("keras", 3, "import keras\nmodel.compile('adam')\nmodel.fit(x, y, epochs=3)\n"),
    "lightning": ("lightning", 2, "import lightning as L\nL.Trainer().fit(model); trainer.fit(model)\n"
    "trainer = L.Trainer()\n"),
    "transformers": ("transformers", 3, "from transformers import Trainer\ntrainer = Trainer(model)\n"
    "trainer.train()\n"),
}  # fmt: skip
TRAINS |= {
    "a closure": (
        "torch", 2,
        "def f():\n    for x in data:\n        def closure():\n            loss.backward()\n            return loss\n"
        "        optimizer.step(closure)\n",
    ),
    "a module of lightning": (
        "lightning", 3,
        "import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, x, i):\n        return 1\n",
    ),
    "on the spot": (
        "transformers", 2, "from transformers import Trainer\nTrainer(\n    model,\n    args,\n).train()\n"
    ),
    "keras by its defaults": ("keras", 3, "import keras\nmodel.compile('adam')\nhistory = model.fit(x, y)\n"),
}  # fmt: skip
TRAINS_NOTHING = {
    "inference": "for x in queue:\n    yield net(x)\n",
    "no step": "for x in data:\n    loss.backward()\n",
    "a scheduler": "for x in data:\n    loss.backward()\n    scheduler.step()\n",
    "no loop": "loss.backward()\noptimizer.step()\n",
    "a comment": "for x in data:\n    # loss.backward()\n    optimizer.step()\n",
    "a docstring": "def f():\n    '''\n    for x in data:\n        loss.backward()\n        optimizer.step()\n"
    "    '''\n",
    "an f-string": "from transformers import Trainer\nwarn(f'{x}'\n    'Call trainer.train() and model.fit()')\n",
    "inputs": "opt = torch.optim.Adam([latents], lr=0.1)\nfor x in range(9):\n    loss.backward()\n    opt.step()\n",
    "sklearn": "from sklearn import x\nmodel.fit(a, b)\n# keras\n",
    "definitions": "class O:\n    def backward(self): pass\n    def step(self): pass\n",
}


@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_trains(name: str, end: str) -> None:
    kind, row, text = TRAINS[name]
    text = text.replace("\n", end)
    assert trains(text.encode())
    assert [(loop.kind, loop.span.row) for loop in loops(text)] == [(kind, row)]


@pytest.mark.parametrize("name", TRAINS_NOTHING)
def test_what_does_not(name: str) -> None:
    assert loops(TRAINS_NOTHING[name]) == ()


@pytest.mark.parametrize("text", ["x = (\n", "for x in y:\n  loss.backward(\noptimizer.step(\n", "'\nbackward( .step("])
def test_what_cannot_be_told_trains_nothing(text: str) -> None:
    assert loops(text) == ()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("log({'gelu_output_std': y.std()})\n", True),
        ("gelu_output_std = y.std()\n", True),
        ("self.log(f'{name}/gelu_output_std', y)\n", True),
        ("from gelu_lint.runtime import GeluMonitor\n", True),
        ("# gelu_output_std\n", False),
        ("x = 1  # log gelu_output_std\n", False),
        ("'''gelu_output_std'''\n", False),
        ("def f():\n    '''Logs\n    gelu_output_std.\n    '''\n", False),
        ("x = 1\n", False),
    ],
)
def test_what_watches(text: str, seen: bool) -> None:
    assert watches(text) is seen


MODEL = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w, approximate='tanh')\n"
LOOP = (
    "from model import mlp\n\n\ndef train(data, optimizer):\n    for x in data:\n        mlp(x).backward()\n"
    "        optimizer.step()\n"
)
FLOW = "import torch\n\n\ndef test_gelu_gradient_flow():\n    run(torch)\n"


def findings(
    root: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str], codes: str
) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    main(["check", "--no-cache", "--select", codes, "--output-format", "json", str(root)])
    found = json.loads(capsys.readouterr().out)
    return [(Path(f["filename"]).relative_to(root).as_posix(), f["location"]["row"], f["code"]) for f in found]


PROJECT = "[project]\nname = 'x'\nversion = '1'\n"
CASES = [
    ({"model.py": MODEL}, [("pyproject.toml", 1, "GEL201")]),
    ({"model.py": MODEL, "tests/a/test_x.py": FLOW}, []),
    ({"model.py": MODEL, "tests/test_x.py": FLOW.replace("flow", "flow_tanh")}, []),
    (
        {"model.py": MODEL, "tests/test_x.py": "class TestGeluGradientFlow:\n    def test_it(self):\n        run()\n"},
        [],
    ),
    ({"model.py": MODEL, "tests/test_x.py": "from shared import test_gelu_gradient_flow\n"}, []),
    ({"model.py": MODEL, "tests/test_x.py": "def test_m(gelu_gradient_flow):\n    gelu_gradient_flow(net())\n"}, []),
    ({"model.py": MODEL, "pytest.ini": "[pytest]\ngelu_models = model:mlp\n"}, []),
    ({"model.py": MODEL, "tests/test_x.py": "# test_gelu_gradient_flow\n"}, [("pyproject.toml", 1, "GEL201")]),
    ({"model.py": "x = 1\n"}, []),
    ({"tests/test_x.py": MODEL}, []),
    ({"model.py": MODEL, "run.py": LOOP, "tests/test_x.py": FLOW}, [("run.py", 5, "GEL301")]),
    ({"model.py": MODEL, "run.py": LOOP, "log.py": "KEY = 'gelu_output_std'\n", "tests/test_x.py": FLOW}, []),
    (
        {
            "model.py": MODEL,
            "run.py": LOOP
            + "\n\nfrom gelu_lint.runtime import GeluMonitor\n\nwith GeluMonitor(net):\n    train(data, adam)\n",
            "tests/test_x.py": FLOW,
        },
        [],
    ),
    ({"model.py": MODEL, "tests/test_x.py": FLOW + LOOP}, []),
    ({"model.py": "x = 1\n", "run.py": LOOP.replace("from model import mlp\n", "")}, []),
]


@pytest.mark.parametrize(("files", "wanted"), CASES)
def test_projects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], wanted: list[tuple[str, int, str]]
) -> None:
    assert findings(tmp_path, {"pyproject.toml": PROJECT, **files}, capsys, "GEL201,GEL301") == wanted


def test_without_pyproject_it_sits_at_the_first_gelu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(tmp_path, {"a/model.py": MODEL}, capsys, "GEL201") == [("a/model.py", 5, "GEL201")]


def test_a_test_counts_where_the_rule_is_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    off = PROJECT + "[tool.gelu-lint.per-file-ignores]\n'tests/*' = ['GEL']\n"
    files = {"pyproject.toml": off, "model.py": MODEL, "tests/test_x.py": FLOW}
    assert findings(tmp_path, files, capsys, "GEL201") == []


def test_both_are_off_unless_selected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"pyproject.toml": PROJECT, "model.py": MODEL, "run.py": LOOP}.items():
        (tmp_path / name).write_text(text)
    main(["check", "--no-cache", "--output-format", "json", str(tmp_path)])
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("x = 1\ntorch.onnx.export(\n    net,\n)\n", (2,)),
        ("onnx.export(net)\nmodel.to_onnx(path)\n", (1, 2)),
        ("# torch.onnx.export(net)\ns = 'torch.onnx.export(net)'\nmy.onnx.export(net)\n", ()),
        ('"""Calls torch.onnx.export(net)."""\n', ()),
    ],
)
def test_what_is_exported(text: str, rows: tuple[int, ...]) -> None:
    assert exported(text) == rows
