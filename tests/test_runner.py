"""Runs over many files: what workers and the cache may never change, and what they must save."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gelu_lint import cli, runner, workers

HEAD = "import torch.nn.functional as F\nfrom torch import nn\n"
FILES = {
    "clean.py": "x = 1\n",
    "implicit.py": HEAD + "act = nn.GELU()\n",
    "explicit.py": HEAD + "act = nn.GELU('none')\n",
    "hand.py": "import torch\n\n\ndef gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n",
    "broken.py": "gelu = (\n",
    "quiet.py": HEAD + "act = nn.GELU()  # gelu-lint: ignore[GEL001] as published\n",
    "sub/noqa.py": HEAD + "act = nn.GELU()  # noqa: GEL001\nold = nn.GELU('none')  # noqa: GEL001\n",
    "é ∀.py": HEAD + "é = nn.GELU()\n",
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in a small project whose files are old enough to be known by their time."""
    for name, text in FILES.items():
        write(tmp_path / name, text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time.time() - 60, time.time() - 60))


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    return (code, *capsys.readouterr())


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are analysed from here on."""
    seen: list[str] = []
    real = runner._done

    def done(task: Any, data: bytes) -> Any:
        seen.append(task.path)
        return real(task, data)

    monkeypatch.setattr(runner, "_done", done)
    return seen


# ---------------------------------------------------------------------------------------------------- the cache


@pytest.mark.parametrize("command", ["check", "inventory"])
@pytest.mark.parametrize("form", ["text", "concise", "json"])
def test_a_warm_run_says_what_a_cold_one_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, form: str
) -> None:
    if form == "concise" and command == "inventory":
        form = "text"
    argv = (command, "--jobs", "1", "--output-format", form, ".")
    plain = run(capsys, *argv, "--no-cache")
    assert not Path(".gelu_lint_cache").exists()
    assert run(capsys, *argv) == plain
    seen = reads(monkeypatch)
    assert run(capsys, *argv) == plain
    assert seen == []


def test_policy_and_selection_are_judged_anew_without_reading(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "check", ".")
    seen = reads(monkeypatch)
    out = run(capsys, "check", "--output-format", "concise", "--ignore", "GEL001", ".")[1]
    assert "GEL001" not in out
    assert "GEL011" in out
    (project / "pyproject.toml").write_text('[tool.gelu-lint]\napproximate = "tanh"\n')
    assert "explicit.py:3:7: GEL002" in run(capsys, "check", "--output-format", "concise", ".")[1]
    assert seen == []


def test_a_changed_file_is_read_and_a_touched_one_is_not(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run(capsys, "check", "--output-format", "concise", ".")
    seen = reads(monkeypatch)
    for name in FILES:
        os.utime(project / name, (1, 1))
    assert run(capsys, "check", "--output-format", "concise", ".") == before
    assert seen == []
    write(project / "clean.py", FILES["implicit.py"])
    after = run(capsys, "check", "--output-format", "concise", ".")
    assert "clean.py:3:7: GEL001" in after[1]
    assert seen == ["clean.py"]
    write(project / "clean.py", "x = 1\n")
    assert run(capsys, "check", "--output-format", "concise", ".") == before


def test_the_same_entries_serve_from_any_directory(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text("[tool.gelu-lint]\n")
    run(capsys, "check", ".")
    seen = reads(monkeypatch)
    assert "GEL001" in run(capsys, "check", "--jobs", "1", str(project))[1]
    assert seen == []
    monkeypatch.chdir(project / "sub")
    for _ in range(2):  # a part of a project has entries of its own
        assert run(capsys, "check", "--output-format", "concise", ".")[1].startswith("noqa.py:4:")
    assert len(seen) == len(set(seen)) == 1


@pytest.mark.parametrize("argv", [["check", "implicit.py"], ["fix", "--diff", "."], ["check", "--no-cache", "."]])
def test_files_fixes_and_no_cache_leave_nothing_behind(
    project: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    run(capsys, *argv)
    assert not (project / ".gelu_lint_cache").exists()


def test_the_directory_can_be_chosen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "check", "--cache-dir", "elsewhere", ".")
    (project / "pyproject.toml").write_text('[tool.gelu-lint]\ncache-dir = "other"\n')
    run(capsys, "check", ".")
    assert {path.name for path in project.iterdir() if path.is_dir()} == {"sub", "elsewhere", "other"}
    (project / "pyproject.toml").write_text("[tool.gelu-lint]\ncache = false\n")
    run(capsys, "check", ".")
    assert not (project / ".gelu_lint_cache").exists()


def test_files_that_changed_places_are_told_apart(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project / "a.py", HEAD + "act = nn.GELU()\n")
    write(project / "b.py", HEAD + "act = nn.ReLU()\n")
    assert "a.py:3:7" in run(capsys, "check", "--output-format", "concise", ".")[1]
    for old, new in (("a.py", "c.py"), ("b.py", "a.py"), ("c.py", "b.py")):
        (project / old).rename(project / new)
    out = run(capsys, "check", "--output-format", "concise", ".")[1]
    assert "b.py:3:7" in out
    assert "a.py:3:7" not in out


def test_projects_may_share_a_directory(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, layer in (("one", "GELU"), ("two", "ReLU")):
        write(project / name / "pyproject.toml", f'[tool.gelu-lint]\ncache-dir = "{project / "shared"}"\n')
        write(project / name / "model.py", HEAD + f"act = nn.{layer}()\n")
        for path in (project / name).iterdir():
            os.utime(path, (1, 1))
    assert "GEL001" in run(capsys, "check", str(project / "one"))[1]
    assert run(capsys, "check", str(project / "two"))[1] == "No findings in 1 file.\n"


def test_it_lies_in_the_project_that_is_checked_under_its_settings(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text('[tool.gelu-lint]\ncache-dir = "kept"\n')
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    run(capsys, "check", str(project / "sub"))
    assert (project / "kept" / "CACHEDIR.TAG").exists()
    assert list(elsewhere.iterdir()) == []
    (project / "pyproject.toml").write_text("[tool.gelu-lint]\ncache = false\n")
    run(capsys, "check", str(project))
    assert not (project / ".gelu_lint_cache").exists()


@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[]", b"\xff\xfe", b'{"format":1,"files":{"implicit.py":[1,2,"",3,true,[]]}}']
)
def test_a_broken_cache_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str], junk: bytes) -> None:
    before = run(capsys, "check", ".")
    (cache,) = (project / ".gelu_lint_cache").glob("*.json")
    cache.write_bytes(junk)
    assert run(capsys, "check", ".") == before
    assert json.loads(cache.read_text(encoding="utf-8"))["files"]


def test_facts_that_no_version_wrote_are_read_anew(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = run(capsys, "check", ".")
    (cache,) = (project / ".gelu_lint_cache").glob("*.json")
    content = json.loads(cache.read_text(encoding="utf-8"))
    for row in content["files"].values():
        if row[-1]:
            row[-1][0] = "no sites"
    cache.write_text(json.dumps(content), encoding="utf-8")
    assert run(capsys, "check", ".") == before


def test_runs_at_the_same_time_agree(project: Path) -> None:
    command = [sys.executable, "-m", "gelu_lint", "check", "--output-format", "concise", "."]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    outputs = {process.communicate()[0] for process in started}
    assert len(outputs) == 1
    assert b"GEL011" in outputs.pop()


def test_unreadable_files_are_not_remembered(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "latin.py").write_bytes(b"gelu = '\xe9'\n")
    assert "is not valid utf-8" in run(capsys, "check", ".")[1]
    assert "is not valid utf-8" in run(capsys, "check", ".")[1]
    write(project / "latin.py", "x = 1\n")
    assert "latin.py" not in run(capsys, "check", ".")[1]


def test_a_lower_limit_for_sizes_counts_for_what_is_remembered(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "check", ".")
    out = run(capsys, "check", "--max-file-size", "60", ".")[1]
    assert "implicit.py:1:1: GEL900" in out


# -------------------------------------------------------------------------------------------------- the workers


def cube(number: int) -> int:
    return number**3


def mortal(number: int) -> int:
    if number == 5:
        os._exit(3)
    return number


def long(number: int) -> str:
    return str(number) * 300_000


@pytest.mark.parametrize("forks", [True, False])
def test_every_item_is_worked_on(monkeypatch: pytest.MonkeyPatch, forks: bool) -> None:
    if forks and not workers._can_fork():
        pytest.skip("no fork here, or threads beside")
    monkeypatch.setattr(workers, "_can_fork", lambda: forks)
    for jobs in (1, 2, 5):
        assert dict(workers.spread(cube, range(7), jobs)) == {n: n**3 for n in range(7)}
    assert dict(workers.spread(long, range(4), 2)) == {n: long(n) for n in range(4)}
    assert dict(workers.spread(cube, range(5_000), 3)) == {n: n**3 for n in range(5_000)}


def test_what_is_to_be_done_meanwhile_is_done_once_and_here() -> None:
    done = run_python(
        "import os\nfrom gelu_lint.workers import spread\nfrom tests.test_runner import cube\nseen = []\n"
        "found = dict(spread(cube, range(9), 2, meanwhile=lambda: seen.append(os.getpid())))\n"
        "print(seen == [os.getpid()], found == {n: n**3 for n in range(9)})\n"
    )
    assert done.stdout == "True True\n"


def test_a_dead_worker_costs_its_chunk_alone() -> None:
    done = run_python(
        "from gelu_lint.workers import spread, alone\n"
        "from tests.test_runner import mortal\n"
        "done = dict(spread(mortal, range(40), 2))\n"
        "print(sorted(set(range(40)) - done.keys()), list(alone(mortal, 5)), list(alone(mortal, 6)))\n"
    )
    assert done.stdout == "[5] [] [(0, 6)]\n"


def test_nothing_is_printed_twice() -> None:
    done = run_python(
        "from gelu_lint.workers import spread\nfrom tests.test_runner import cube\n"
        "print('once', end='')\nlist(spread(cube, range(4), 2))\n"
    )
    assert done.stdout == "once"


def test_without_more_processes_the_work_is_done_here() -> None:
    script = (
        "import os\nfrom gelu_lint.workers import spread\nfrom tests.test_runner import cube\n"
        "def refuse():\n    raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "os.fork = refuse\nprint(sorted(spread(cube, range(3), 2)))\n"
    )
    assert run_python(script).stdout == "[(0, 0), (1, 1), (2, 8)]\n"


def test_an_interrupt_leaves_no_process_behind() -> None:
    script = (
        "import os, time, signal\nfrom gelu_lint.workers import spread\n"
        "def wait(number):\n    if not number: return os.getpid()\n    time.sleep(60)\n"
        "try:\n    for number, pid in spread(wait, range(4), 4):\n        raise KeyboardInterrupt\n"
        "except KeyboardInterrupt:\n    pass\n"
        "try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('none left')\n"
    )
    assert run_python(script).stdout == "none left\n"


@pytest.mark.parametrize(("outside", "gone"), [("SIG_IGN", []), ("SIG_DFL", [2])])
def test_workers_ignore_interrupts_where_their_parent_does(outside: str, gone: list[int]) -> None:
    """As a shell has it for what it starts in the background."""
    script = (
        "import os, signal\nfrom gelu_lint.workers import spread\n"
        f"signal.signal(signal.SIGINT, signal.{outside})\n"
        "def interrupted(number):\n    if number == 2: os.kill(os.getpid(), signal.SIGINT)\n    return number\n"
        "print(sorted({*range(4)} - dict(spread(interrupted, range(4), 2)).keys()))\n"
    )
    assert run_python(script).stdout == f"{gone}\n"


def run_python(script: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: there are no threads beside, so workers are forked where the system can."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        pytest.skip("no fork here")
    root = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=50, check=True
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_fault_of_the_screen_costs_one_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    real = runner.matters

    def matters(path: str, data: bytes) -> bool:
        if path.endswith("clean.py"):
            raise IndexError("list index out of range")
        return real(path, data)

    wanted = run(capsys, "check", "--no-cache", "--output-format", "concise", "implicit.py", "hand.py")[1]
    monkeypatch.setattr(runner, "matters", matters)
    monkeypatch.setattr(runner, "_MANY", 5)
    code, out, _ = run(capsys, "check", "--no-cache", "--jobs", jobs, "--output-format", "concise", ".")
    assert code == 1
    assert "gelu-lint failed on it (IndexError: list index out of range)" in out
    assert set(wanted.splitlines()) <= set(out.splitlines())
    assert out.count("gelu-lint failed") == 1
