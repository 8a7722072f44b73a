"""GEL402 over projects: which graphs are compared with which code, and what is said of them."""

from __future__ import annotations

import base64
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, ndtr

from gelu_lint import cli
from gelu_lint.engine import summarise
from gelu_lint.rules.gel402_graph_flavour import _CHAIN, _NODE, _QUICK
from gelu_lint.source import decode
from gelu_lint.weights import without_weights

ERF_CHAIN, TANH_NODE, QUICK_CHAIN = map(base64.b64decode, (_CHAIN, _NODE, _QUICK))
HEAD = "import torch.nn.functional as F\nfrom torch import nn\n\n\n"
ERF = HEAD + "def act(x):\n    return F.gelu(x, approximate='none')\n"
TANH = ERF.replace("'none'", "'tanh'")
DYNAMIC = HEAD + "def act(x, how):\n    return F.gelu(x, approximate=how)\n"
HAND = "import torch\n\n\ndef gelu(x):\n    return x * 0.5 * (1.0 + torch.erf(x / 1.4142135623730951))\n"


def found(root: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str | bytes]) -> list[tuple[str, str, str]]:
    """(path, severity, message) of each GEL402; a second run, from the cache, says the same."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
    runs = []
    for _ in range(2):
        cli.main(["check", "--select", "GEL402,GEL900", "--output-format", "json", str(root)])
        runs.append(json.loads(capsys.readouterr().out))
    assert runs[0] == runs[1]
    assert {(f["code"], f["location"]["row"], f["location"]["column"]) for f in runs[0]} <= {("GEL402", 1, 1)}
    names = [Path(f["filename"]).relative_to(root).as_posix() for f in runs[0]]
    return [(name, f["severity"], f["message"]) for name, f in zip(names, runs[0], strict=True)]


def test_another_flavour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"net.py": ERF, "a.onnx": TANH_NODE, "out/b.onnx": QUICK_CHAIN, "c.onnx": ERF_CHAIN}
    other, decomposed, quick = found(tmp_path, capsys, files)
    assert other[:2] == ("a.onnx", "warning") and "is tanh" in other[2] and "0.000473" in other[2]
    assert "the code is erf" in other[2] and "net.py:6" in other[2] and "/act/Gelu" in other[2]
    assert decomposed[:2] == ("c.onnx", "info") and "Div, Erf, Add, Mul, Mul" in decomposed[2]
    assert "opset 17 has no Gelu operator" in decomposed[2]
    assert quick[:2] == ("out/b.onnx", "error") and "0.0203" in quick[2]


@pytest.mark.parametrize("code", [ERF, HAND, HEAD + "act = nn.GELU()\n", HEAD + "layer = dict(act_layer=nn.GELU)\n"])
def test_spellings_of_the_code(code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [severity for _, severity, _ in found(tmp_path, capsys, {"net.py": code, "a.onnx": TANH_NODE})] == [
        "warning"
    ]


SILENT: dict[str, dict[str, str | bytes]] = {
    "it agrees": {"net.py": TANH, "a.onnx": TANH_NODE},
    "code of several flavours": {"net.py": TANH, "other.py": ERF, "a.onnx": ERF_CHAIN},
    "several, none of them the graph's": {"net.py": TANH, "other.py": ERF, "a.onnx": QUICK_CHAIN},
    "a flavour that the run decides": {"net.py": DYNAMIC, "a.onnx": ERF_CHAIN},
    "one that is known and one that is not": {"net.py": DYNAMIC, "other.py": ERF, "a.onnx": TANH_NODE},
    "no code": {"a.onnx": ERF_CHAIN},
    "code without a GELU": {"net.py": "x = 1\n", "a.onnx": ERF_CHAIN},
    "tests and references alone": {
        "tests/test_a.py": ERF,
        "ref.py": ERF.replace("def act", "def gelu_reference"),
        "a.onnx": TANH_NODE,
    },
    "a graph of a test": {"net.py": ERF, "tests/data/a.onnx": TANH_NODE},
    "settings of another flavour": {"net.py": ERF, "config.json": '{"hidden_act": "gelu_new"}', "a.onnx": TANH_NODE},
    "a graph that is left out": {
        "net.py": ERF,
        "a.onnx": TANH_NODE,
        "pyproject.toml": "[tool.gelu-lint]\nper-file-ignores = {'*.onnx' = ['GEL402']}\n",
    },
}


@pytest.mark.parametrize("kind", SILENT)
def test_others_are_silent(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(tmp_path, capsys, SILENT[kind]) == []


def test_tests_and_references_do_not_blur_the_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"net.py": TANH, "tests/test_a.py": ERF, "ref.py": ERF.replace("def act", "def gelu_ref")}
    assert len(found(tmp_path, capsys, {**files, "a.onnx": ERF_CHAIN})) == 1


def test_a_run_over_a_part_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    assert found(tmp_path / "src", capsys, {"net.py": ERF, "a.onnx": TANH_NODE}) == []


def test_no_rule_but_this_one_speaks_of_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in (("a.onnx", ERF_CHAIN), ("b.onnx", TANH_NODE), ("c.onnx", QUICK_CHAIN)):
        (tmp_path / name).write_bytes(data)
    for argv in (
        ["check", "--select", "GEL", "--ignore", "GEL201,GEL501"],
        ["fix", "--unsafe-fixes"],
        ["fix", "--diff"],
    ):
        assert cli.main([*argv, str(tmp_path)]) == 0
        assert "GEL" not in capsys.readouterr().out
    assert (tmp_path / "a.onnx").read_bytes() == ERF_CHAIN
    (tmp_path / "net.py").write_text(TANH)
    assert cli.main(["fix", "--unsafe-fixes", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count("GEL402") == 2


def test_inventory_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in (("a.onnx", ERF_CHAIN), ("b.onnx", TANH_NODE)):
        (tmp_path / name).write_bytes(data)
    assert cli.main(["inventory", "--output-format", "json", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    kept = [(row["symbol"], row["spelling"], row["form"], row["flavour"], row["callee"]) for row in rows]
    assert kept == [
        ("/act/Mul_1", "graph", "chain", "erf", None),
        ("/act/Gelu", "graph", "operator", "tanh", "ai.onnx.Gelu"),
    ]


def activations() -> list[str]:
    from transformers.activations import ACT2CLS

    return sorted(ACT2CLS)


@pytest.mark.parametrize("name", activations())
def test_every_activation_of_transformers(name: str) -> None:
    """Each is exported by torch; what is told of the graph is what the activation computes."""
    import torch
    from transformers.activations import ACT2FN

    function = ACT2FN[name]
    x = torch.linspace(-6, 6, 1201)
    buffer = io.BytesIO()
    export: Any = torch.onnx.export
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        value = function(x).double().numpy()
        try:
            export(function.eval(), (x,), buffer, opset_version=17, dynamo=False)
        except Exception:
            pytest.skip("torch cannot export it")
    data = without_weights(io.BytesIO(buffer.getvalue()), 2_000_000)
    told = [site.flavour for site in summarise(decode("a.onnx", data)).sites]
    at = x.double().numpy()
    known = {
        "erf": at * ndtr(at),
        "tanh": 0.5 * at * (1 + np.tanh(np.sqrt(2 / np.pi) * (at + 0.044715 * at**3))),
        "quick": at * expit(1.702 * at),
    }
    if name == "gelu_10":
        value = known["erf"]  # the GELU that it clips
    assert told == [flavour for flavour, wanted in known.items() if np.abs(value - wanted).max() < 1e-5]
