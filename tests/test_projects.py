"""Runs over whole projects: what files have to do with each other, and who may speak of it when."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gelu_lint.cli import main
from gelu_lint.half import imports, shows, spots, used
from gelu_lint.links import Modules
from gelu_lint.reach import Reach
from gelu_lint.source import decode
from gelu_lint.statements import statements_of

NET = (
    "from torch import nn\n\n\nclass Mlp(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.act = nn.GELU(approximate='none')\n\n    def forward(self, x):\n        return self.act(x)\n"
)
HAND = (
    "import torch\n\n\ndef gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))\n"
)
TRAIN = "import torch\nfrom net import Mlp\n\nmodel = Mlp().cuda().half()\n"
TORCH = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w)\n"
JAX = "import jax\n\n\ndef mlp(x, w):\n    return jax.nn.gelu(x @ w)\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lay(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, int, str]]:
    main(["check", "--output-format", "json", *words])
    rows = json.loads(capsys.readouterr().out)
    return [(Path(r["filename"]).as_posix(), r["location"]["row"], r["code"]) for r in rows]


# --- Large projects ----------------------------------------------------------------------------------------------

MAKES = (
    "from torch import nn\nfrom {} import {inner}\n\n\nclass {}(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.part = {inner}()\n\n    def forward(self, x):\n"
    "        return self.part(x)\n"
)
MID = MAKES.format("net", "Mid", inner="Mlp")
FAR = MAKES.format("mid", "Far", inner="Mid")
OWN = (
    "from torch import nn\nfrom {} import {name}\n\nact = nn.GELU(approximate='none')\n\n\n"
    "def main():\n    return {name}().cuda().half()\n"
)


@pytest.mark.parametrize(
    ("files", "in_large_ones"),
    [
        ({"train.py": TRAIN}, True),
        ({"train.py": TRAIN + "#" * 100_000}, False),
        ({"train.py": OWN.format("mid", name="Mid"), "mid.py": MID}, True),
        ({"train.py": OWN.format("far", name="Far"), "far.py": FAR, "mid.py": MID}, False),
    ],
    ids=["beside it", "the core of a library", "one file between", "two files between"],
)
def test_how_far_contexts_lead(
    files: dict[str, str], in_large_ones: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lay({"pyproject.toml": "", "net.py": NET, **files})
    assert ("net.py", 7, "GEL020") in found(capsys, "--no-cache", ".")
    monkeypatch.setattr("gelu_lint.projects._SMALL", 0)
    assert (("net.py", 7, "GEL020") in found(capsys, "--no-cache", ".")) is in_large_ones


# --- Where modules lie -------------------------------------------------------------------------------------------

PATHS = ("train.py", "kit/__init__.py", "kit/net.py", "kit/sub/__init__.py", "kit/sub/deep.py", "src/lib/core.py",
         "tools/run.py", "tools/helper.py", "space/part.py")  # fmt: skip


@pytest.mark.parametrize(
    ("importer", "target", "place"),
    [
        ("train.py", "kit.net.Mlp", ("kit/net.py", ("Mlp",))),
        ("train.py", "kit.Mlp", ("kit/__init__.py", ("Mlp",))),
        ("train.py", "kit", ("kit/__init__.py", ())),
        ("train.py", "kit.sub.deep.A.b", ("kit/sub/deep.py", ("A", "b"))),
        ("train.py", "lib.core.A", ("src/lib/core.py", ("A",))),
        ("train.py", "src.lib.core.A", ("src/lib/core.py", ("A",))),
        ("train.py", "space.part.A", ("space/part.py", ("A",))),
        ("train.py", "torch.nn.GELU", None),
        ("train.py", "kit.net.Base#step", ("kit/net.py", ("Base#step",))),
        ("train.py", "kit.net.build!", ("kit/net.py", ("build!",))),
        ("tools/run.py", "helper.A", ("tools/helper.py", ("A",))),
        ("tools/run.py", "kit.net.Mlp", ("kit/net.py", ("Mlp",))),
        ("kit/net.py", ".sub.deep.A", ("kit/sub/deep.py", ("A",))),
        ("kit/net.py", ".Mlp", ("kit/__init__.py", ("Mlp",))),
        ("kit/__init__.py", ".net.Mlp", ("kit/net.py", ("Mlp",))),
        ("kit/sub/deep.py", "..net.Mlp", ("kit/net.py", ("Mlp",))),
        ("kit/sub/deep.py", "...train.main", ("train.py", ("main",))),
        ("kit/sub/deep.py", "kit.net.Mlp", ("kit/net.py", ("Mlp",))),
        ("src/lib/core.py", ".other.A", None),
    ],
)
def test_modules_lie_where_python_finds_them(importer: str, target: str, place: object) -> None:
    assert Modules(PATHS).find(importer, target) == place


@pytest.mark.parametrize(
    "row",
    [
        "model.half()",
        "Trainer(model, fp16=True, gradient_checkpointing_enabled=False)",
        "LLM(model, dtype='half')",
        "run('# ', model.half())",
        "model.to(dtype=torch.float16)  # was torch.autocast",
        "with torch.autocast('cuda', enabled=False): model.half()(1)",
        "amp = torch.autocast('cuda', dtype=torch.bfloat16) if new else torch.autocast('cuda', dtype=torch.float16)",
    ],
)
def test_rows_that_make_others_run_in_half_precision_show(row: str) -> None:
    assert shows(f"import torch\n{row}\n".encode())
    assert [*spots(f"import torch\n{row}\n".encode(), led=False)]


@pytest.mark.parametrize(
    "row",
    [
        "model.float()  # on behalf of half precision",
        "name = f'conv_{i}'  # autocast to 'half'",
        "with torch.autocast('cuda', enabled=False): y = model(x)",
        "with torch.autocast(device_type=str(x.device), dtype=torch.bfloat16): y = model(x)",
        "@torch.cuda.amp.autocast(enabled=False)",
        "logger.warning('use dtype=torch.float16')",
        "    torch.float16: 16,",
    ],
)
def test_rows_that_make_nothing_run_in_half_precision_do_not(row: str) -> None:
    assert not shows(f"import torch\n{row}\n".encode())
    assert not spots(f"import torch\n{row}\n".encode(), led=False)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"from a import (  # \xe9\n    b,\n)\n", ("a.b",)),
        (b"import \xe9\n", ()),
        (b"from \xe9 import x\n", ()),
        ("from é import x\n".encode(), ("é.x",)),
        (b"from a \\\r\n    import b\rimport c; from d import e\n", ("a.b", "c", "d.e")),
    ],
)
def test_imports_are_told_from_bytes_of_any_encoding(data: bytes, found: tuple[str, ...]) -> None:
    assert imports(data) == used(data) == found


def test_imports_are_told_from_bytes() -> None:
    data = (
        b"import os, torch.nn as nn\nfrom . import net\nfrom .net import Mlp as M, act  # why\nfrom kit.sub import (\n"
        b"    A,\n    B,\n)\nfrom kit import *\n\n\ndef f():\n    import late\n# import never\n"
    )
    assert imports(data) == (
        ".net",
        ".net.Mlp",
        ".net.act",
        "kit.*",
        "kit.sub.A",
        "kit.sub.B",
        "late",
        "os",
        "torch.nn",
    )


LINES = st.sampled_from(
    ["def f(x):", "class A(B):", "    def g(self):", "    return f(x)", "        self.h(x)", "x = A()", "with f():",
     "    x = 'a", "import a.b as c", "from . import *", "@f", "if x == 'a':", "elif y:", "\\", "  )", "'''", "else:",
     "lambda: (", "f(self, A().b)", "super().__init__()", "é = f(é)", "\tf()", "\x0c", "return"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=14), st.integers(1, 14))
def test_any_text_can_be_followed(lines: list[str], row: int) -> None:
    source = decode("m.py", "\n".join(lines).encode())
    reach = Reach(statements_of(source.text, source.rows))
    reach.shield(row)
    for found in (
        reach.under(row),
        reach.beside(row),
        reach.made_by(row),
        reach.run_by(row),
        reach.entered(["A", "f!"]),
    ):
        for first, last in (*found.rows, *found.made):
            assert 1 <= first <= last <= len(source.rows)


def test_what_is_entered_is_told_anew_once_something_is_shielded() -> None:
    text = "import torch\n\n\ndef run(x):\n    with torch.autocast('cuda', enabled=False):\n        y = inner(x)\n"
    source = decode("m.py", (text + "    return y\n\n\ndef inner(x):\n    return x\n").encode())
    reach = Reach(statements_of(source.text, source.rows))
    before = reach.entered(["run"])
    assert any(first <= 11 <= last for first, last in before.rows)
    reach.shield(5)
    assert not any(first <= 11 <= last for first, last in reach.entered(["run"]).rows)


# --- Runs --------------------------------------------------------------------------------------------------------


def test_a_nested_project_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"pyproject.toml": "", "net.py": NET, "inner/setup.cfg": "", "inner/net.py": NET, "inner/train.py": TRAIN})
    assert found(capsys, "--select", "GEL020", ".") == [("inner/net.py", 7, "GEL020")]


def test_hand_written_gelus_are_found_across_files(capsys: pytest.CaptureFixture[str]) -> None:
    run = (
        "import torch\nfrom acts import gelu\n\n\ndef step(x):\n    with torch.autocast('cpu', torch.float16):\n"
        "        return gelu(x)\n"
    )
    lay({"acts.py": HAND, "other.py": HAND, "run.py": run})
    assert found(capsys, "--select", "GEL021", ".") == [("acts.py", 5, "GEL021")]
    assert found(capsys, "--select", "GEL021", "acts.py") == []


def test_fix_reaches_across_files(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"net.py": NET, "train.py": TRAIN})
    assert main(["fix", "."]) == 1
    assert Path("net.py").read_text() == NET
    assert main(["fix", "--allow-delta", "5e-4", "--diff", "."]) == 1
    assert "+        self.act = nn.GELU(approximate='tanh')" in capsys.readouterr().out
    assert main(["fix", "--allow-delta", "5e-4", "."]) == 0
    assert Path("net.py").read_text() == NET.replace("none", "tanh")
    assert "Fixed 1 finding in 1 file" in capsys.readouterr().err
    assert main(["fix", "--allow-delta", "5e-4", "."]) == 0


def test_fixes_of_the_file_and_of_the_project_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"net.py": NET.replace("approximate='none'", "") + "\n\nact = nn.GELU()\n", "train.py": TRAIN})
    assert main(["fix", "--allow-delta", "5e-4", "."]) == 0
    text = Path("net.py").read_text()
    assert text.count('approximate="tanh"') == 1
    assert text.count('approximate="none"') == 1
    assert Path("train.py").read_text() == TRAIN


def test_the_policy_decides_over_the_checklist() -> None:
    lay({"pyproject.toml": '[tool.gelu-lint]\napproximate = "none"\n', "net.py": NET, "train.py": TRAIN})
    assert main(["fix", "--unsafe-fixes", "."]) == 1
    assert Path("net.py").read_text() == NET


def test_suppressions_of_project_rules_are_unused_only_where_all_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    used = NET.replace("approximate='none')", "approximate='none')  # noqa: GEL020")
    lay({"net.py": used, "idle.py": used, "train.py": TRAIN})
    assert found(capsys, ".") == [("idle.py", 7, "GEL901")]
    assert found(capsys, "net.py", "idle.py", "train.py") == []


@pytest.mark.parametrize("rest", ["def broken(:\n", "\xff"])
def test_no_suppression_is_idle_where_a_context_cannot_be_read(rest: str, capsys: pytest.CaptureFixture[str]) -> None:
    used = NET.replace("approximate='none')", "approximate='none')  # noqa: GEL020")
    lay({"net.py": used})
    Path("train.py").write_bytes(TRAIN.encode() + rest.encode("latin-1"))
    assert found(capsys, ".") == []


def test_a_suppression_for_what_another_file_runs_is_not_idle_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = HAND.replace("x * x)))", "x * x)))  # noqa: GEL021")
    assert quiet != HAND
    lay({"acts.py": quiet, "run.py": "from acts import gelu\n\nmodel = Net()\nheld = gelu(x.half())\n"})
    for words in ((".",), ("acts.py",), ("acts.py", "run.py")):
        assert "GEL901" not in {code for _, _, code in found(capsys, *words)}


def test_defaults_of_frameworks_are_compared_across_files(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"a/port.py": TORCH, "b/model.py": JAX})
    assert found(capsys, "--select", "GEL031", ".") == [("a/port.py", 5, "GEL031")]
    assert found(capsys, "--select", "GEL031", "a", "b") == []
    assert found(capsys, "--select", "GEL031", "a/port.py", "b/model.py") == []
    lay({"pyproject.toml": '[tool.gelu-lint]\nper-file-ignores = { "b/*" = ["GEL031"] }\n'})
    assert found(capsys, "--select", "GEL031", ".") == []


def test_both_in_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"m.py": TORCH + "\n\n" + JAX})
    assert found(capsys, "--select", "GEL031", ".") == [("m.py", 5, "GEL031")]


def test_a_cache_of_a_partial_run_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"pyproject.toml": "", "src/net.py": NET, "src/train.py": TRAIN})
    for name in ("src/net.py", "src/train.py"):
        os.utime(name, (1_600_000_000, 1_600_000_000))
    for _ in range(2):
        assert found(capsys, "--select", "GEL020", "src") == []
        assert main(["inventory", "."]) == 0
        capsys.readouterr()
    for _ in range(3):
        assert found(capsys, "--select", "GEL020", ".") == [("src/net.py", 7, "GEL020")]
    lay({"src/train.py": TRAIN.replace(".half()", "")})
    assert found(capsys, "--select", "GEL020", ".") == []


def test_files_that_cannot_be_read_cost_only_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"net.py": NET, "train.py": TRAIN, "bad.py": "from net import Mlp\nMlp().half(\n"})
    Path("odd.py").write_bytes(b"from net import Mlp\n\xff\xfe = Mlp().half()\n")
    assert found(capsys, "--select", "GEL020", ".")[-1] == ("net.py", 7, "GEL020")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_files(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    lay({f"m{i}.py": NET for i in range(12)})
    lay({f"t{i}.py": TRAIN.replace("net", f"m{i}") for i in range(12)})
    assert found(capsys, "--select", "GEL020", "--no-cache", "--jobs", jobs, ".") == sorted(
        (f"m{i}.py", 7, "GEL020") for i in range(12)
    )


MODELING = (
    "from torch import nn\n\nfrom .configuration_tiny import TinyConfig\n\n\nclass TinyMLP(nn.Module):\n"
    "    def __init__(self, config: TinyConfig):\n        super().__init__()\n"
    "        self.up = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.act = nn.GELU(approximate='none')\n\n    def forward(self, x):\n        return self.act(self.up(x))\n"
)
CONFIGURATION = (
    "from transformers import PretrainedConfig\n\n\nclass TinyConfig(PretrainedConfig):\n    model_type = 'tiny'\n\n"
    "    def __init__(self, width=64, hidden_act='gelu_new', **kwargs):\n        super().__init__(**kwargs)\n"
    "        self.hidden_size, self.intermediate_size, self.hidden_act = width, 4 * width, hidden_act\n"
)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_settings_are_compared_whoever_reads_the_files(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One process or several, with a cache that another choice of rules has filled, and with one of its own."""
    lay({"pyproject.toml": "", "tiny/modeling_tiny.py": MODELING, "tiny/configuration_tiny.py": CONFIGURATION})
    lay({f"tiny/m{i}.py": NET for i in range(12)})
    for path in Path("tiny").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    clash = [("tiny/modeling_tiny.py", 10, "GEL102")]
    assert found(capsys, "--select", "GEL102", "--no-cache", "--jobs", jobs, ".") == clash
    assert found(capsys, "--ignore", "GEL102", "--select", "GEL020", "--jobs", jobs, ".") == []
    for _ in range(2):
        assert found(capsys, "--select", "GEL102", "--jobs", jobs, ".") == clash
    lay({"tiny/modeling_tiny.py": MODELING.replace("none", "tanh")})
    assert found(capsys, "--select", "GEL102", "--jobs", jobs, ".") == []


def test_the_message_names_the_context(capsys: pytest.CaptureFixture[str]) -> None:
    lay({"net.py": NET, "train.py": TRAIN})
    main(["check", "--select", "GEL020", "--output-format", "json", "."])
    (row,) = json.loads(capsys.readouterr().out)
    assert "train.py:4" in row["message"]
    assert "4.7e-4" in row["message"]


@pytest.mark.parametrize("above", ["docs", "tests", "plain"])
def test_folders_above_a_project_say_nothing_of_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], above: str
) -> None:
    """Named absolutely or from inside, a file is a test by where it lies in its project alone."""
    project = tmp_path / above / "net"
    (project / "tests").mkdir(parents=True)
    (project / "pyproject.toml").write_text("[tool.gelu-lint]\n")
    code = "import torch\n\n\ndef gelu(x):\n    return 0.5 * x * (1 + torch.erf(x / 2**0.5))\n"
    (project / "model.py").write_text(code)
    (project / "tests" / "model.py").write_text(code)
    for where in (project, project / "model.py", project / "tests"):
        main(["check", "--output-format", "concise", "--select", "GEL012", str(where)])
        out = capsys.readouterr().out
        assert out.count("GEL012") == (where.name != "tests"), where
        assert f"tests{os.sep}model.py" not in out
