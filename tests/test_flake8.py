"""The flake8 plugin, run by the real flake8: the same findings as the command line, and flake8's own ways."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gelu_lint import cli

MODEL = """\
\"\"\"ß ∀ 🙂\"\"\"
from torch import nn
import torch.nn.functional as F

act = nn.GELU()
quiet = nn.GELU()  # noqa: GEL001
ours = nn.GELU()  # gelu-lint: ignore[GEL001] as in the paper
idle = nn.GELU("none")  # noqa: GEL001


def block(x, act_layer=nn.GELU):
    name = "🙂🙂"; y = F.gelu(x, True)
    return (
        F.gelu(x)
        + y  # noqa: GEL001
    )


s = f'''
{F.gelu(1)}
'''  # noqa: GEL001
"""


def flake8(*args: str, cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", *args]
    return subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, encoding="utf-8")


def command_line(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    cli.main(["check", "--output-format", "concise", *args])
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "clean.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_the_same_lines_as_the_command_line(
    project: Path, capsys: pytest.CaptureFixture[str], end: str, bom: bytes
) -> None:
    (project / "model.py").write_bytes(bom + MODEL.replace("\n", end).encode())
    ours = command_line(capsys, "--select", "GEL", "model.py")
    assert len(ours) >= 4
    assert flake8("--select", "GEL", "model.py", cwd=project).stdout.splitlines() == ours


@pytest.mark.parametrize(
    "selection", [["--select", "GEL001,GEL9"], ["--extend-ignore", "GEL005"], ["--ignore", "GEL0"]]
)
def test_selection_means_the_same(project: Path, capsys: pytest.CaptureFixture[str], selection: list[str]) -> None:
    theirs = [line for line in flake8(*selection, "model.py", cwd=project).stdout.splitlines() if ": GEL" in line]
    assert theirs == command_line(capsys, selection[0].replace("extend-ignore", "ignore"), selection[1], "model.py")


def test_on_without_any_option_and_off_where_not_selected(project: Path) -> None:
    assert ": GEL001 " in flake8("model.py", cwd=project).stdout
    assert "GEL" not in flake8("--select", "E,F", "model.py", cwd=project).stdout


def test_noqa_is_flake8s_own(project: Path) -> None:
    lines = flake8("--select", "GEL001", "--disable-noqa", "model.py", cwd=project).stdout.splitlines()
    assert [line.split(":")[1] for line in lines] == ["5", "6", "14", "20"]


def test_stdin_and_display_name(project: Path) -> None:
    done = flake8("--select", "GEL001", "--stdin-display-name", "sub/m.py", "-", cwd=project, text=MODEL)
    assert done.stdout.splitlines()[0].startswith("sub/m.py:5:7: GEL001 ")


def test_parallel_runs_find_the_same(project: Path) -> None:
    for number in range(12):
        (project / f"m{number}.py").write_text(MODEL, encoding="utf-8")
    serial = flake8("--select", "GEL", "-j1", ".", cwd=project).stdout
    assert serial.count(": GEL001 ") == 13 * 2
    assert sorted(flake8("--select", "GEL", "-j4", ".", cwd=project).stdout.splitlines()) == sorted(serial.splitlines())


def test_our_configuration_counts(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gelu-lint]\nignore = ["GEL005"]\napproximate = "tanh"\n')
    out = flake8("model.py", cwd=project).stdout
    assert "GEL005" not in out
    assert "the project's policy is tanh" in out


def test_a_broken_configuration_is_an_error_with_its_place(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.gelu-lint]\naproximate = "tanh"\n')
    done = flake8("model.py", cwd=project)
    assert done.returncode != 0
    assert "did you mean 'approximate'" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    assert flake8("--select", "E", "model.py", cwd=project).returncode in (0, 1)


def test_syntax_errors_are_left_to_flake8(project: Path) -> None:
    (project / "model.py").write_text("from torch import nn\nact = nn.GELU(\n")
    out = flake8("model.py", cwd=project).stdout
    assert "E999" in out
    assert "GEL900" not in out


def test_a_file_without_gelu_loads_nothing_of_ours(project: Path) -> None:
    script = (
        "import ast, sys\nfrom gelu_lint.flake8_plugin import Plugin\n"
        "assert list(Plugin(ast.parse(''), 'clean.py', ['x = 1\\n']).run()) == []\n"
        "print(sorted(m for m in sys.modules if m.startswith(('gelu_lint', 'libcst'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("['gelu_lint', 'gelu_lint.flake8_plugin', 'gelu_lint.patterns', 'gelu_lint.screen']")
