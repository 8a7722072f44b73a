"""gelu-lint checklist: six layers, what each says and where, the commands that it names, and what --fix does."""

from __future__ import annotations

import filecmp
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.checklist import LAYERS
from gelu_lint.registry import all_codes

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = [layer.name for layer in LAYERS]
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
IMPLICIT = HEAD + "act = nn.GELU()\n"
EXPLICIT = HEAD + 'act = nn.GELU(approximate="tanh")\n'
PROJECT = '[project]\nname = "net"\n'
ERF = "# net\n\nActivation: GELU (exact, erf)\n"
STATED = "# net\n\nActivation: GELU (tanh approximation)\n"
ESCAPE = "\x1b["


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in an empty directory, without a terminal's variables."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def lay(root: Path, **files: str) -> None:
    """Write files; "__" in a name stands for a slash and "_dot_" for a dot."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, dict[str, object]]:
    """The verdicts by layer."""
    capsys.readouterr()
    cli.main(["checklist", "--output-format", "json", *argv])
    rows = json.loads(capsys.readouterr().out)
    assert [row["layer"] for row in rows] == NAMES
    assert all(list(row) == ["layer", "state", "message", "filename", "location", "next"] for row in rows)
    return {row["layer"]: row for row in rows}


def states(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    return {name: row["state"] for name, row in said(capsys, *argv).items()}


def test_every_rule_about_code_and_what_is_around_it_is_in_one_layer() -> None:
    for code in all_codes():
        layers = [layer.name for layer in LAYERS if code.startswith(layer.prefix)]
        assert len(layers) == (0 if code.startswith("GEL9") else 1), code
    for layer in LAYERS:
        assert {layer.main, *layer.counts} <= {code for code in all_codes() if code.startswith(layer.prefix)}


# ------------------------------------------------------------------------------------------------ exit codes


def test_nothing_to_judge_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["checklist"]) == 0
    assert set(states(capsys).values()) == {"not-applicable"}
    lay(Path(), model_dot_py="import torch\n\n\ndef f(x):\n    return torch.relu(x)\n", pyproject_dot_toml=PROJECT)
    assert cli.main(["checklist", "."]) == 0
    assert set(states(capsys).values()) == {"not-applicable"}


def test_a_layer_that_fails_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=IMPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    assert cli.main(["checklist"]) == 1
    assert said(capsys)["code"] == {
        "layer": "code",
        "state": "fail",
        "message": "1 of 1 GELU is implicit, model.py:6",
        "filename": "model.py",
        "location": {"row": 6, "column": 7},
        "next": "gelu-lint fix",
    }


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["model.py"], "model.py: not a directory"),
        (["nothing"], "nothing: no such directory"),
        (["net"], "net: a part of the project in "),
        (["--output-format", "yes"], "invalid choice"),
        (["."], "nonsense"),
        (["net", "net"], "unexpected argument"),
    ],
)
def test_what_cannot_be_done_is_exit_2(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, net__a_dot_py=EXPLICIT, pyproject_dot_toml=PROJECT)
    if argv == ["."]:
        lay(Path(), pyproject_dot_toml=PROJECT + "[tool.gelu-lint]\nnonsense = 1\n")
    try:
        code = cli.main(["checklist", *argv])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


# ------------------------------------------------------------------------------------------- what layers say


def test_docs_say_where_the_readme_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    found = said(capsys)
    assert found["code"]["message"] == "1 GELU, none implicit: 1 tanh"
    assert found["docs"]["message"] == "README.md:3 says GELU (tanh approximation), and so does the code"
    assert (found["docs"]["state"], found["docs"]["filename"]) == ("pass", "README.md")
    assert found["docs"]["location"] == {"row": 3, "column": 13}
    assert found["docs"]["next"] is None


def test_worst_comes_first_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    broken = IMPLICIT + "\n\ndef gelu(x):\n    return x * torch.sigmoid(x)\n"
    lay(Path(), a_dot_py=IMPLICIT, b_dot_py=broken, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    code = said(capsys)["code"]
    assert code["message"] == "computes x·σ(x) (SiLU) under the name gelu (GEL010), b.py:10, and 2 findings more"
    assert code["next"] == "gelu-lint explain GEL010"  # what is shown has no fix that keeps the values


def test_readme_that_contradicts_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    readme = STATED.replace("GELU (tanh approximation)", "QuickGELU")
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=readme, pyproject_dot_toml=PROJECT)
    docs = said(capsys)["docs"]
    assert docs["state"] == "fail" and "(GEL502), README.md:3" in str(docs["message"])
    assert docs["next"] == "gelu-lint explain GEL502"


def test_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    config = '{"model_type": "gpt2", "activation_function": "gelu_pytorch_tanh"}'
    lay(Path(), a_dot_py=EXPLICIT, conf__base_dot_json=config, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    found = said(capsys)["config"]
    assert found["message"] == "conf/base.json says gelu_pytorch_tanh, and so does the code"
    assert found["state"] == "pass"


TEST = "def test_gelu_gradient_flow():\n    x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)\n"
FLOW = "    F.gelu(x, approximate='none').sum().backward()\n    wanted = torch.tensor([-0.1289, 0.5, 1.0])\n"
HOLDS = "    torch.testing.assert_close(x.grad, wanted, atol=1e-4, rtol=0)\n"
TRAIN = (
    "def train(net, batches, optimizer):\n    for x in batches:\n        loss = net(x).sum()\n        loss.backward()\n"
)
STEP = "        optimizer.step()\n"
EXPORT = (
    HEAD + "net = nn.Sequential(nn.GELU(approximate='tanh'))\ntorch.onnx.export(net, 0, 'n.onnx', opset_version={})\n"
)


def test_test_monitoring_and_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    found = said(capsys)
    assert [found[name]["state"] for name in NAMES[2:5]] == ["fail", "not-applicable", "not-applicable"]
    assert found["test"]["next"] == "gelu-lint explain GEL201"
    assert found["monitoring"]["message"] == "no training loop here"
    assert found["deployment"]["message"] == "nothing is exported here"
    lay(
        Path(),
        train_dot_py=TRAIN + STEP,
        tests__test_a_dot_py=HEAD + TEST + FLOW + HOLDS,
        export_dot_py=EXPORT.format(20),
    )
    found = said(capsys)
    assert found["test"]["message"] == "test_gelu_gradient_flow in tests/test_a.py:6"
    assert (found["monitoring"]["state"], found["monitoring"]["filename"]) == ("fail", "train.py")
    assert found["deployment"]["message"] == "torch.onnx.export at opset 20, export.py:7"
    lay(
        Path(),
        log_dot_py="def log(x, write):\n    write('gelu_output_std', x.std())\n",
        export_dot_py=EXPORT.format(14),
    )
    found = said(capsys)
    assert found["monitoring"]["message"] == "log.py watches what GELUs give in training"
    assert found["deployment"]["state"] == "fail"
    lay(Path(), tests__test_a_dot_py=HEAD + TEST + FLOW)
    assert "(GEL202), tests/test_a.py:" in str(said(capsys)["test"]["message"])


def test_a_name_that_is_no_activation_configures_none(capsys: pytest.CaptureFixture[str]) -> None:
    hooks = "repos:\n- repo: gelu-lint\n  hooks:\n  - id: gelu-lint\n    name: gelu\n"
    lay(Path(), model_dot_py=EXPLICIT, hooks_dot_yaml=hooks, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    assert said(capsys)["config"]["message"] == "no configuration names a GELU"


def test_a_file_that_cannot_be_read_fails_its_layer(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), a_dot_py=EXPLICIT, c_dot_json='{"hidden_act": "gelu"', README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    found = states(capsys)
    assert (found["code"], found["config"], found["docs"]) == ("pass", "fail", "pass")


def test_what_is_implicit_in_tests_alone_fails_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), tests__test_a_dot_py=IMPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    assert said(capsys)["code"]["message"] == "1 of 1 GELU is implicit, tests/test_a.py:6"
    lay(Path(), model_dot_py=EXPLICIT)
    code = said(capsys)["code"]
    assert (code["state"], code["message"]) == ("pass", "1 GELU, none implicit: 1 tanh")


def test_an_export_of_a_model_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    export = "import torch\nfrom model import net\n\ntorch.onnx.export(net, torch.zeros(1), 'n.onnx'{})\n"
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    for given in (", opset_version=17", ""):
        lay(Path(), export_dot_py=export.format(given))
        found = said(capsys)["deployment"]
        assert found["state"] == "not-applicable"
        assert found["message"] == "export.py:4 exports a model, and which GELUs are in it is not known"
    Path("export.py").unlink()
    lay(Path(), tests__test_export_dot_py=export.format(""))
    assert said(capsys)["deployment"]["message"] == "nothing is exported here"


def test_the_command_is_for_the_finding_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), a_dot_py=IMPLICIT, b_dot_py="act = gelu((\n", README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    code = said(capsys)["code"]
    assert "(GEL900)" in str(code["message"]) and code["next"] == "gelu-lint explain GEL900"


@pytest.mark.parametrize(
    ("readme", "words"),
    [
        ("# net\n\nActivation: SiLU\n", 'the README says "Activation: SiLU" (GEL501), README.md:1'),
        (
            "# net\n\nGELU (Hendrycks & Gimpel, 2016) is used, with the exact error function.\n",
            'the README says "GELU (Hendrycks & Gimpel, 2016) is used, with the exact …" (GEL501), README.md:1',
        ),
        ("# net\n\n```\ncode\n", "the README does not say which GELU this is (GEL501), README.md:1"),
    ],
)
def test_readmes_that_no_fix_can_mend(readme: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=readme, pyproject_dot_toml=PROJECT)
    docs = said(capsys)["docs"]
    assert (docs["message"], docs["next"]) == (words, "gelu-lint explain GEL501")
    for _ in range(2):
        cli.main(["checklist", "--fix"])
        assert Path("README.md").read_text() == readme


def test_a_readme_beside_speaks_too(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md="# net\n", pyproject_dot_toml=PROJECT)
    lay(Path(), README_dot_rst="net\n===\n\nActivation: GELU (exact, erf)\n")
    assert "(GEL502), README.rst:4" in str(said(capsys)["docs"]["message"])
    cli.main(["checklist", "--fix"])
    assert Path("README.md").read_text() == "# net\n"


def test_what_contradicts_the_code_is_never_shown_as_its_word(capsys: pytest.CaptureFixture[str]) -> None:
    table = PROJECT + '[tool.gelu-lint]\nignore = ["GEL502"]\n'
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=ERF, pyproject_dot_toml=table)
    assert "erf" not in str(said(capsys)["docs"]["message"])


# --------------------------------------------------------------------------------- selections, suppressions


def test_a_rule_that_is_off_is_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=IMPLICIT, pyproject_dot_toml=PROJECT + '[tool.gelu-lint]\nignore = ["GEL001", "GEL5"]\n')
    found = said(capsys)
    assert (found["code"]["state"], found["code"]["message"]) == ("not-applicable", "GEL001 is switched off here")
    assert (found["docs"]["state"], found["docs"]["message"]) == ("not-applicable", "GEL501 is switched off here")


def test_files_where_rules_are_off_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    table = PROJECT + '[tool.gelu-lint.per-file-ignores]\n"old/*" = ["GEL"]\n'
    lay(Path(), old__a_dot_py=IMPLICIT, pyproject_dot_toml=table)
    assert set(states(capsys).values()) == {"not-applicable"}
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=STATED)
    assert said(capsys)["code"]["message"] == "1 GELU, none implicit: 1 tanh"


def test_suppressions_hold(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=IMPLICIT.replace("nn.GELU()", "nn.GELU()  # noqa: GEL001"), pyproject_dot_toml=PROJECT)
    lay(Path(), README_dot_md="<!-- gelu-lint: ignore[GEL501] as in the paper -->\n# net\n\nActivation: GELU\n")
    found = states(capsys)
    assert (found["code"], found["docs"]) == ("pass", "pass")


def test_the_cache_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=IMPLICIT, README_dot_md="# net\n", pyproject_dot_toml=PROJECT)
    first = said(capsys)
    assert Path(".gelu_lint_cache").is_dir()
    assert said(capsys) == first == said(capsys, "--no-cache")
    cli.main(["check"])
    assert "GEL501" not in capsys.readouterr().out  # what the checklist asks for is opt-in


def test_projects_below_have_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), model_dot_py=EXPLICIT, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    lay(Path(), sub__model_dot_py=IMPLICIT, sub__pyproject_dot_toml=PROJECT)
    assert states(capsys)["code"] == "pass"
    cli.main(["checklist", "--fix"])
    assert "Projects below have checklists of their own: sub." in capsys.readouterr().err
    assert Path("sub/model.py").read_text() == IMPLICIT
    assert states(capsys, "sub")["code"] == "fail"


# -------------------------------------------------------------------------------------------------- --fix


def test_fix_mends_what_changes_no_value_and_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    silu = "\n\ndef gelu(x):\n    return x * torch.sigmoid(x)\n"
    lay(Path(), a_dot_py=IMPLICIT, b_dot_py=HEAD + silu, README_dot_md="# net\n", pyproject_dot_toml=PROJECT)
    assert cli.main(["checklist", "--fix"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "Fixed 1 finding; left: code, test, docs.\n"
    assert Path("a.py").read_text() == IMPLICIT.replace("GELU()", 'GELU(approximate="none")')
    assert Path("b.py").read_text() == HEAD + silu
    assert Path("README.md").read_text() == "# net\n"  # there is no one flavour
    Path("b.py").unlink()
    cli.main(["checklist", "--fix"])
    assert Path("README.md").read_text() == "# net\n\n## Architecture\n\nActivation: GELU (exact, erf)\n"
    before = {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()}
    cli.main(["checklist", "--fix"])
    assert all(path.read_bytes() == data for path, data in before.items() if ".gelu_lint_cache" not in path.parts)
    assert "Fixed 0 findings" in capsys.readouterr().err


def test_fix_leaves_other_kinds_of_objects_and_directives_alone(capsys: pytest.CaptureFixture[str]) -> None:
    handed = HEAD + "def build(net):\n    return net(act_layer=nn.GELU)  # gelu-lint: ignore[GEL003] no more\n"
    lay(Path(), a_dot_py=handed, README_dot_md=STATED, pyproject_dot_toml=PROJECT)
    cli.main(["checklist", "--fix"])
    assert Path("a.py").read_text() == handed
    assert said(capsys)["code"]["next"] == "gelu-lint fix --select GEL005 --unsafe-fixes"


# ------------------------------------------------------------------------------------------------ as printed


def test_text_has_a_line_a_layer_and_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    lay(Path(), **{"a b__model_dot_py": IMPLICIT, "a b__README_dot_md": "# net\n", "a b__pyproject_dot_toml": PROJECT})
    assert cli.main(["checklist", "a b"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert lines[0].startswith("code        ✘  1 of 1 GELU is implicit, a b/model.py:6 ")
    assert lines[0].endswith("  gelu-lint fix 'a b'")
    assert lines[5].endswith("  gelu-lint checklist --fix 'a b'")
    assert lines[1] == "config      –  no configuration names a GELU"
    assert lines[0].index("gelu-lint fix") == lines[5].index("gelu-lint checklist")
    assert ESCAPE not in "".join(lines)


def test_colours_and_their_absence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lay(Path(), model_dot_py=IMPLICIT, README_dot_md=ERF, pyproject_dot_toml=PROJECT)
    monkeypatch.setenv("FORCE_COLOR", "1")
    cli.main(["checklist"])
    shown = capsys.readouterr().out
    assert "\x1b[31m✘\x1b[0m" in shown and "\x1b[32m✔\x1b[0m" in shown
    cli.main(["checklist", "--output-format", "json"])
    assert ESCAPE not in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    cli.main(["checklist"])
    assert ESCAPE not in capsys.readouterr().out


def test_a_terminal_without_such_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    lay(Path(), model_dot_py=IMPLICIT, README_dot_md=ERF, pyproject_dot_toml=PROJECT)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    cli.main(["checklist"])
    out.seek(0)
    lines = out.read().splitlines()
    assert [line[12] for line in lines[:2]] == ["x", "-"] and lines[5][12] == "+"


# -------------------------------------------------------------------------------------------- the example project

#: What a person does where no command does it, by the rule whose page says so: the file as it is in the mended project.
BY_HAND = {"GEL102": "configs/base.json", "GEL201": "tests/test_model.py", "GEL301": "train.py"}


def test_the_broken_project_fails_and_the_fixed_one_passes(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("broken", "fixed"):
        shutil.copytree(EXAMPLES / f"checklist_{name}", name)
    broken, fixed = states(capsys, "broken"), states(capsys, "fixed")
    assert broken == dict.fromkeys(NAMES, "fail")
    assert fixed == dict.fromkeys(NAMES, "pass")


def test_what_the_checklist_says_to_do_mends_the_broken_project(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(EXAMPLES / "checklist_broken", "net")
    os.chdir("net")
    done = []
    while True:
        open_ = [row for row in said(capsys).values() if row["state"] == "fail"]
        if not open_ or len(done) > 12:
            break
        command = str(open_[0]["next"])
        done.append(command)
        _, verb, *rest = shlex.split(command)
        if verb == "explain":
            assert subprocess.run([sys.executable, "-m", "gelu_lint", verb, *rest], capture_output=True).returncode == 0
            name = BY_HAND[rest[0]]
            shutil.copy(EXAMPLES / "checklist_fixed" / name, name)
        else:
            cli.main([verb, *rest])
    assert len(done) == len(set(done)), "every step leads on"
    assert states(capsys) == dict.fromkeys(NAMES, "pass")
    assert {"gelu-lint fix", "gelu-lint checklist --fix", *(f"gelu-lint explain {code}" for code in BY_HAND)} < set(
        done
    )
    assert _differing(EXAMPLES / "checklist_fixed", Path()) == []


def _differing(left: Path, right: Path) -> list[str]:
    files = [path for path in left.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = sorted(str(path.relative_to(left)) for path in files)
    _, differ, missing = filecmp.cmpfiles(left, right, names, shallow=False)
    return differ + missing


def test_the_tests_of_the_fixed_project_pass(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "checklist_fixed", tmp_path / "net")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "net", capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
