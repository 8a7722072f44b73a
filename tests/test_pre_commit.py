"""The hooks, installed and run by the real pre-commit in a scratch repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**CLEAN_ENV, **env})


#: git sets variables for its hooks, under which these tests may run too.
CLEAN_ENV = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The revision of this checkout, and a home for pre-commit's environments."""
    head = run("git", "rev-parse", "HEAD", cwd=ROOT)
    if head.returncode:
        pytest.skip("this is no git checkout, and pre-commit installs hooks from one")
    return head.stdout.strip(), str(tmp_path_factory.mktemp("home"))


@pytest.fixture
def repository(tmp_path: Path, hooks: tuple[str, str]) -> Path:
    run("git", "init", "-q", cwd=tmp_path)
    run("git", "config", "user.email", "you@example.org", cwd=tmp_path)
    run("git", "config", "user.name", "You", cwd=tmp_path)
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {ROOT.as_uri()}\n  rev: {hooks[0]}\n  hooks:\n  - id: gelu-lint-fix\n  - id: gelu-lint\n"
    )
    (tmp_path / "pyproject.toml").write_text('[tool.gelu-lint]\nextend-exclude = ["vendored"]\n')
    (tmp_path / "notes.md").write_text("# GELU\n")
    (tmp_path / "config.json").write_text('{"hidden_act": "gelu"}\n')
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "theirs.py").write_text("from torch import nn\n\nact = nn.GELU()\n")
    run("git", "add", "-A", cwd=tmp_path)
    return tmp_path


def commit(repository: Path, hooks: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(command, cwd=repository, env=CLEAN_ENV, check=True, capture_output=True)
    return run("git", "commit", "-m", "change", cwd=repository, PRE_COMMIT_HOME=hooks[1])


def test_a_clean_commit_passes(repository: Path, hooks: tuple[str, str]) -> None:
    (repository / "model.py").write_text('from torch import nn\n\nact = nn.GELU(approximate="none")\n')
    run("git", "add", "-A", cwd=repository)
    done = commit(repository, hooks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run("git", "log", "--oneline", cwd=repository).stdout.endswith("change\n")


def test_a_failing_commit_is_stopped_and_fixed(repository: Path, hooks: tuple[str, str]) -> None:
    (repository / "model.py").write_text("from torch import nn\n\nact = nn.GELU()\nbad = nn.GELU('fast')\n")
    run("git", "add", "-A", cwd=repository)
    done = commit(repository, hooks)
    assert done.returncode == 1
    assert "model.py:4:15: GEL003" in done.stdout + done.stderr
    assert (repository / "model.py").read_text().splitlines()[2] == "act = nn.GELU(approximate='none')"
    assert (repository / "vendored" / "theirs.py").read_text().endswith("nn.GELU()\n"), "excluded files are forced out"
