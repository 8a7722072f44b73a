"""What the README shows is what the program does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gelu_lint import cli
from gelu_lint.checklist import LAYERS
from gelu_lint.options import OPTIONS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
SHELL = [block for language, block in BLOCKS if language == "sh" and "python3 -m venv" not in block]
COMMANDS = [line.split("#")[0].strip() for block in SHELL for line in block.splitlines() if line.strip()]
(YAML,) = [block for language, block in BLOCKS if language == "yaml"]
(TOML,) = [block for language, block in BLOCKS if language == "toml"]
#: Blocks that begin with the name of a file.
FILES = {found[1]: block for _, block in BLOCKS if (found := re.match(r"# (\w+\.py)\n", block))}
INLINE = re.findall(r"`gelu-lint ([^`]+)`", README)


def test_the_rule_table_is_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """``gelu-lint rules --output-format markdown`` prints what belongs there."""
    assert cli.main(["rules", "--output-format", "markdown"]) == 0
    shown = README.partition("<!-- rules -->\n")[2].partition("<!-- /rules -->")[0]
    assert shown == capsys.readouterr().out


def test_the_example_output_is_real(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, or, if the block ends in "…", how it begins."""
    monkeypatch.chdir(ROOT)
    cli.main(["check", "examples/broken"])
    printed = capsys.readouterr().out
    start, dots, end = shown("example-output").partition("…\n")
    assert end == ""
    assert printed.startswith(start) if dots else printed == start
    assert start.count("\n") > 3


def test_the_checklist_is_real(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    cli.main(["checklist", "examples/checklist_broken"])
    assert capsys.readouterr().out == shown("checklist-output")
    table = re.findall(r"^\| (\w+) \| (GEL\d) \| (.+) \|$", README, re.M)
    assert table == [(layer.name, layer.prefix, ", ".join(layer.counts)) for layer in LAYERS]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(tmp_path: Path, command: str) -> None:
    """As typed into a shell of the environment that the tests run in."""
    (tmp_path / "src").mkdir()
    shutil.copy(ROOT / "examples" / "broken" / "model.py", tmp_path / "src")
    write_files(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout or "-o" in command.split()


def write_files(folder: Path) -> None:
    for name, block in FILES.items():
        (folder / name).write_text(block, encoding="utf-8")


def shown(mark: str) -> str:
    """The block below a mark."""
    return re.search(rf"<!-- {mark} -->\n```\n(.*?)```\n", README, re.S)[1]


def test_what_the_probe_finds_is_real(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["probe", "zoo:build"]) == 1
    assert capsys.readouterr().out == shown("probe-output")


def test_what_the_fixture_says_is_real(tmp_path: Path) -> None:
    """Some rows of it."""
    write_files(tmp_path)
    command = [sys.executable, "-m", "pytest", "-p", "gelu_lint.pytest_plugin", "test_activation.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    printed = {re.sub(r"^E +(\w[\w.]*\.)?", "", line).strip() for line in done.stdout.splitlines()}
    assert done.returncode == 1
    assert {line.strip() for line in shown("pytest-output").splitlines()} <= printed


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith(("test_", "zoo"))])
def test_python_that_it_shows_runs(tmp_path: Path, name: str) -> None:
    """And prints what its comments say: what follows a call of ``print``."""
    write_files(tmp_path)
    command = [sys.executable, "-X", "utf8", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    for said in re.findall(r"^print\(.*\)  +# ([^,\n]+)", FILES[name], re.M):
        assert said in done.stdout


def test_there_are_commands() -> None:
    assert {command.split()[1] for command in COMMANDS} >= {"check", "fix", "inventory", "--select"}


def test_the_hooks_that_it_shows_exist() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repo,) = yaml.safe_load(YAML)["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == set(hooks)
    assert hooks["gelu-lint-fix"]["require_serial"] is True


@pytest.mark.parametrize("text", INLINE)
def test_every_command_in_a_sentence_is_known(tmp_path: Path, text: str) -> None:
    argv = text.split()
    write_files(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    data = (ROOT / "examples" / "broken" / "model.py").read_bytes()
    command = [sys.executable, "-m", "gelu_lint", *argv]
    done = subprocess.run(command, cwd=tmp_path, input=data, capture_output=True)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


def test_the_configuration_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(TOML, encoding="utf-8")
    assert cli.main(["config", "--config", str(tmp_path / "pyproject.toml")]) == 0
    assert "default" not in capsys.readouterr().out  # it sets every option there is


def test_the_configuration_shows_every_option() -> None:
    shown = re.findall(r"^([\w-]+) = ", TOML, re.M)
    assert sorted(shown) == sorted(option.name for option in OPTIONS if option.config)
