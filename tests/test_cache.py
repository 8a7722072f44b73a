"""The cache on a real file system: what it may believe, what it must not, and what other processes do to it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gelu_lint
from gelu_lint.cache import Cache, digest
from gelu_lint.engine import summarise
from gelu_lint.model import FileSummary
from gelu_lint.source import decode

KEY = "0123456789abcdef"
OLD_KEY = "fedcba9876543210"
DAY = 86_400
CODE = b"from torch import nn\n\nact = nn.GELU()\n"
SUMMARY = summarise(decode("model.py", CODE))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file that has been as it is for a while."""
    path = tmp_path / "model.py"
    path.write_bytes(CODE)
    age(path, 100)
    return path


def opened(directory: Path) -> Cache:
    return Cache(str(directory), KEY)


def file_of(directory: Path) -> Path:
    return directory / f"{KEY}.json"


def age(path: Path, seconds: float) -> None:
    """Make ``path`` last changed so long ago."""
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(then, then), follow_symlinks=False)


def stat(path: Path) -> tuple[int, int]:
    info = path.stat()
    return info.st_mtime_ns, info.st_size


def remember(directory: Path, path: Path, summary: FileSummary | None = SUMMARY) -> None:
    """What a run does with one file that it does not know."""
    cache = opened(directory)
    cache.put(path.name, *stat(path), digest(path.read_bytes()), summary)
    cache.save()


def by_stat(directory: Path, path: Path) -> bool:
    return opened(directory).known(path.name, *stat(path)) is not None


def by_content(directory: Path, path: Path) -> bool:
    return opened(directory).same(path.name, digest(path.read_bytes())) is not None


def days_later(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """Runs from now on happen so much later; files keep their times."""
    shift = int(days * DAY)
    late = SimpleNamespace(time=lambda: time.time() + shift, time_ns=lambda: time.time_ns() + shift * 1_000_000_000)
    monkeypatch.setattr("gelu_lint.cache.time", late)


def rows(directory: Path) -> dict[str, Any]:
    """The rows in the file, which must be valid."""
    content = json.loads(file_of(directory).read_text(encoding="utf-8"))
    assert content["format"] == 1
    return content["files"]


# ------------------------------------------------------------------------------------ what is known


def test_a_file_is_known_by_its_stat(directory: Path, model: Path) -> None:
    remember(directory, model)
    entry = opened(directory).known("model.py", *stat(model))
    assert not entry.clean
    assert entry.summary("model.py") == SUMMARY
    assert entry.summary("elsewhere.py").path == "elsewhere.py"
    assert type(entry.summary("model.py").sites[0]) is type(SUMMARY.sites[0])


def test_what_was_put_is_known_at_once(directory: Path, model: Path) -> None:
    cache = opened(directory)
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
    assert cache.known("model.py", *stat(model)).summary("model.py") == SUMMARY


def test_a_file_that_fails_the_screen_is_known_too(directory: Path, model: Path) -> None:
    remember(directory, model, None)
    entry = opened(directory).known("model.py", *stat(model))
    assert entry.clean
    with pytest.raises(ValueError):
        entry.summary("model.py")


def test_another_name_or_key_is_not_known(directory: Path, model: Path) -> None:
    remember(directory, model)
    assert opened(directory).known("other.py", *stat(model)) is None
    assert Cache(str(directory), OLD_KEY).known("model.py", *stat(model)) is None


@pytest.mark.parametrize("summary", [SUMMARY, None])
def test_after_a_touch_the_content_tells(directory: Path, model: Path, summary: FileSummary | None) -> None:
    remember(directory, model, summary)
    age(model, 50)
    assert not by_stat(directory, model)
    assert by_content(directory, model)
    remember(directory, model, summary)
    assert by_stat(directory, model)


@pytest.mark.parametrize("text", [CODE + b"\n", CODE.replace(b"act", b"tca")])
def test_a_changed_file_is_not_known(directory: Path, model: Path, text: bytes) -> None:
    remember(directory, model)
    model.write_bytes(text)
    age(model, 50)
    assert not by_stat(directory, model)
    assert not by_content(directory, model)


@pytest.mark.parametrize(
    ("seconds", "trusted"), [(-3600, False), (-1, False), (0, False), (1.5, False), (3, True), (3600, True)]
)
def test_a_stat_is_trusted_only_if_the_file_was_settled(
    directory: Path, model: Path, seconds: float, trusted: bool
) -> None:
    age(model, seconds)
    remember(directory, model)
    assert by_stat(directory, model) == trusted
    assert by_content(directory, model)


def test_it_counts_when_the_run_began(directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may come to a file long after it began, but another process may have written that file meanwhile."""
    cache = opened(directory)
    age(model, 0)
    days_later(monkeypatch, 1)
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
    cache.save()
    assert not by_stat(directory, model)


def test_a_stat_is_trusted_once_the_file_has_settled(
    directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(model, 0)
    remember(directory, model)
    days_later(monkeypatch, 0.5)
    assert not by_stat(directory, model)
    remember(directory, model)
    assert by_stat(directory, model)


def test_a_size_counts_too(directory: Path, model: Path) -> None:
    remember(directory, model)
    mtime_ns, size = stat(model)
    assert opened(directory).known("model.py", mtime_ns, size + 1) is None
    assert opened(directory).known("model.py", mtime_ns + 1, size) is None


def test_a_quick_change_that_keeps_size_and_time_is_seen(directory: Path, model: Path) -> None:
    age(model, 0)
    before = model.stat()
    remember(directory, model)
    model.write_bytes(CODE.replace(b"act", b"tca"))
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stat(model) == (before.st_mtime_ns, before.st_size)
    assert not by_stat(directory, model)
    assert not by_content(directory, model)


@pytest.mark.parametrize("name", ["é.py", "\udcff.py", "\ud83d\ude00.py", "😀\udc80.py", 'a"\\\n.py', "a\u2028.py"])
def test_any_name_and_literal_comes_back(directory: Path, model: Path, name: str) -> None:
    """Also two surrogates in a row, which are not the one character that JSON would make of them."""
    summary = SUMMARY._replace(taken=(name,))
    cache = opened(directory)
    cache.put(name, *stat(model), digest(CODE), summary)
    cache.save()
    assert opened(directory).known(name, *stat(model)).summary("model.py") == summary


def test_infinity_and_nan_come_back(directory: Path, model: Path) -> None:
    site = SUMMARY.sites[0]._replace(error=float("inf"), value=float("nan"), parameter=-0.0)
    remember(directory, model, SUMMARY._replace(sites=(site,)))
    back = opened(directory).known("model.py", *stat(model)).summary("model.py").sites[0]
    assert repr(back) == repr(site)


def test_what_json_cannot_hold_costs_that_entry_only(directory: Path, model: Path) -> None:
    cache = opened(directory)
    huge = SUMMARY.sites[0]._replace(value=10**5000)
    cache.put("huge.py", *stat(model), digest(CODE), SUMMARY._replace(sites=(huge,)))
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
    cache.save()
    assert opened(directory).known("model.py", *stat(model)).summary("model.py") == SUMMARY


# ------------------------------------------------------------------------------- what is not written


def identity(path: Path) -> tuple[int, int]:
    """Every write replaces the file, so its inode or time tells."""
    info = path.stat()
    return info.st_ino, info.st_mtime_ns


def test_nothing_put_nothing_written(directory: Path) -> None:
    opened(directory).save()
    assert not directory.exists()


def test_what_is_known_already_is_not_written(directory: Path, model: Path) -> None:
    remember(directory, model)
    age(file_of(directory), 1000)
    before = identity(file_of(directory))
    cache = opened(directory)
    assert cache.known("model.py", *stat(model)) is not None
    cache.save()
    remember(directory, model)
    assert identity(file_of(directory)) == before
    remember(directory, model, None)
    assert identity(file_of(directory)) != before


def test_a_second_save_writes_nothing(directory: Path, model: Path) -> None:
    cache = opened(directory)
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
    cache.save()
    age(file_of(directory), 1000)
    before = identity(file_of(directory))
    cache.save()
    assert identity(file_of(directory)) == before


def test_the_day_of_use_is_written_once_a_day(directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(directory, model)
    seen = [identity(file_of(directory))]
    days_later(monkeypatch, 1)
    for _ in range(2):
        cache = opened(directory)
        assert cache.known("model.py", *stat(model)) is not None
        cache.save()
        seen.append(identity(file_of(directory)))
    assert seen[0] != seen[1]
    assert seen[1] == seen[2]


# ----------------------------------------------------------------------------------- broken contents


def valid(directory: Path, model: Path) -> bytes:
    remember(directory, model)
    return file_of(directory).read_bytes()


DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\x80\x04\xff\xfe\x00",
        b"\xff\xfe{\0}\0",
        b"null",
        b"1",
        b'"format"',
        b"[]",
        b"{}",
        b'{"format": 1}',
        b'{"files": {}}',
        b'{"format": 2, "files": {}}',
        b'{"format": "1", "files": {}}',
        b'{"format": [], "files": {}}',
        b'{"format": 1, "files": []}',
        b'{"format": 1, "files": null}',
        b'{"format": 1, "files": {}} more',
        b'{"format": 1, "files": {"model.py": ' + b"9" * 10_000 + b"}}",
        DEEP,
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"format": 1, "files": {"model.py": ' + DEEP + b"}}",
    ],
    ids=lambda data: repr(data[:40]),
)
def test_a_broken_file_counts_as_empty_and_is_replaced(directory: Path, model: Path, data: bytes) -> None:
    directory.mkdir()
    file_of(directory).write_bytes(data)
    assert not by_stat(directory, model)
    assert not by_content(directory, model)
    remember(directory, model)
    assert by_stat(directory, model)
    assert list(rows(directory)) == ["model.py"]


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_format_counts_as_empty(directory: Path, model: Path, version: object) -> None:
    remember(directory, model)
    content = {"format": version, "files": rows(directory)}
    file_of(directory).write_text(json.dumps(content), encoding="utf-8")
    assert not by_stat(directory, model)
    assert not by_content(directory, model)


def test_a_file_cut_off_anywhere_counts_as_empty(directory: Path, model: Path) -> None:
    data = valid(directory, model).rstrip()
    for length in range(len(data)):
        file_of(directory).write_bytes(data[:length])
        assert not by_stat(directory, model)
    file_of(directory).write_bytes(data)
    assert by_stat(directory, model)


def test_any_one_byte_changed_raises_nothing_but_valueerror(directory: Path, model: Path) -> None:
    data = valid(directory, model)
    chance = random.Random(0)
    for _ in range(200):
        broken = bytearray(data)
        broken[chance.randrange(len(data))] = chance.randrange(256)
        file_of(directory).write_bytes(broken)
        entry = opened(directory).same("model.py", digest(CODE))
        if entry is not None and not entry.clean:
            try:
                assert type(entry.summary("model.py")) is FileSummary
            except ValueError:
                pass
        remember(directory, model)
        assert by_stat(directory, model), bytes(broken)
        assert opened(directory).known("model.py", *stat(model)).summary("model.py") == SUMMARY


@pytest.mark.parametrize(
    "change",
    [
        lambda row: None,
        lambda row: {},
        lambda row: "abcdef",
        lambda row: row[:5],
        lambda row: [*row, None],
        lambda row: [float(row[0]), *row[1:]],
        lambda row: [row[0], str(row[1]), *row[2:]],
        lambda row: [*row[:2], None, *row[3:]],
        lambda row: [*row[:3], True, *row[4:]],
        lambda row: [*row[:3], float(row[3]), *row[4:]],
        lambda row: [*row[:4], 1, row[5]],
        lambda row: [*row[:4], "true", row[5]],
        lambda row: [*row[:5], {}],
        lambda row: [*row[:5], "facts"],
        lambda row: [*row[:5], False],
    ],
)
def test_a_row_of_another_shape_is_not_known_and_is_mended(directory: Path, model: Path, change: Any) -> None:
    remember(directory, model)
    row = rows(directory)["model.py"]
    other = [*row[:2], "other", *row[3:]]
    content = {"format": 1, "files": {"model.py": change(row), "unasked.py": change(row), "other.py": other}}
    file_of(directory).write_text(json.dumps(content), encoding="utf-8")
    assert not by_stat(directory, model)
    assert not by_content(directory, model)
    assert opened(directory).known("other.py", *stat(model)) is not None
    remember(directory, model)
    assert rows(directory) == {"model.py": row, "other.py": other}


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: [],
        lambda facts: facts[1:],
        lambda facts: [True if fact == "\n" else fact for fact in facts],
        lambda facts: [[float(part) for part in fact] if fact == [1, 0, 1] else fact for fact in facts],
        lambda facts: [[[facts[0]]], *facts[1:]],
    ],
)
def test_corrupt_facts_are_refused_and_mended(directory: Path, model: Path, change: Any) -> None:
    """Also where what is wrong is equal to what is right: a 1.0 for a 1."""
    remember(directory, model)
    row = rows(directory)["model.py"]
    content = {"format": 1, "files": {"model.py": [*row[:5], change(row[5])]}}
    file_of(directory).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError):
        opened(directory).known("model.py", *stat(model)).summary("model.py")
    remember(directory, model)
    assert opened(directory).known("model.py", *stat(model)).summary("model.py") == SUMMARY


def test_a_deep_row_is_dropped_where_it_can_be_read_but_not_written(directory: Path, model: Path) -> None:
    """That depends on how deep the stack is already."""
    remember(directory, model)
    head = json.dumps([*rows(directory)["model.py"][:5], 0]).removesuffix("0]")
    deep = head + "[" * 700 + "]" * 700 + "]"
    file_of(directory).write_text(f'{{"format": 1, "files": {{"deep.py": {deep}}}}}', encoding="utf-8")
    cache = opened(directory)
    assert cache.known("deep.py", *stat(model)) is not None
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)

    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
        else:
            cache.save()

    below(300)
    assert by_stat(directory, model)


def test_a_huge_file_is_not_read(directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(valid(directory, model))
    monkeypatch.setattr("gelu_lint.cache._LARGEST", size)
    assert by_stat(directory, model)
    monkeypatch.setattr("gelu_lint.cache._LARGEST", size - 1)
    assert not by_stat(directory, model)


# ------------------------------------------------------------------------------------------- places


def test_git_and_backups_pass_the_directory_over(tmp_path: Path, model: Path) -> None:
    def seen() -> str:
        command = ["git", "status", "--porcelain", "--untracked-files=all"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    directory = tmp_path / ".cache" / "gelu-lint"
    remember(directory, model)
    assert seen() == "?? model.py\n"
    assert (directory / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    (directory / ".gitignore").unlink()
    assert "?? .cache/gelu-lint/" in seen()


def test_marks_that_are_missing_are_added_and_those_there_are_kept(directory: Path, model: Path) -> None:
    directory.mkdir()
    (directory / ".gitignore").write_text("mine\n", encoding="utf-8")
    remember(directory, model)
    assert (directory / ".gitignore").read_text(encoding="utf-8") == "mine\n"
    assert (directory / "CACHEDIR.TAG").exists()


def test_in_a_directory_of_others_nothing_is_hidden_or_removed(directory: Path, model: Path) -> None:
    """``.`` may be given for the directory of the cache."""
    directory.mkdir()
    for name in ("setup.py", f"{OLD_KEY}.json"):
        (directory / name).touch()
        age(directory / name, 1000 * DAY)
    remember(directory, model)
    assert by_stat(directory, model)
    assert {path.name for path in directory.iterdir()} == {"setup.py", f"{OLD_KEY}.json", f"{KEY}.json"}


def test_a_file_in_place_of_the_directory(directory: Path, model: Path) -> None:
    directory.write_text("mine", encoding="utf-8")
    remember(directory, model)
    remember(directory / "below", model)
    assert not by_stat(directory, model)
    assert directory.read_text(encoding="utf-8") == "mine"


def test_a_link_in_place_of_the_directory_is_not_followed(directory: Path, tmp_path: Path, model: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    directory.symlink_to(elsewhere)
    for name in (str(directory), f"{directory}/"):
        cache = Cache(name, KEY)
        cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
        cache.save()
        assert list(elsewhere.iterdir()) == []
    remember(elsewhere, model)
    assert by_stat(elsewhere, model)
    assert not by_stat(directory, model)


def test_a_link_in_place_of_the_file_is_replaced(directory: Path, tmp_path: Path, model: Path) -> None:
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    directory.mkdir()
    file_of(directory).symlink_to(tmp_path / "precious")
    remember(directory, model)
    assert by_stat(directory, model)
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


def test_what_is_no_file_in_place_of_the_file(directory: Path, model: Path) -> None:
    file_of(directory).mkdir(parents=True)
    remember(directory, model)
    assert not by_stat(directory, model)
    assert {path.name for path in directory.iterdir()} == {f"{KEY}.json", ".gitignore", "CACHEDIR.TAG"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_in_place_of_the_file_does_not_block(directory: Path, model: Path) -> None:
    directory.mkdir()
    os.mkfifo(file_of(directory))
    remember(directory, model)
    assert by_stat(directory, model)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\ud800"])
def test_an_impossible_directory(name: str, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(name, KEY)
    cache.put("model.py", *stat(model), digest(CODE), SUMMARY)
    cache.save()
    assert cache.known("model.py", *stat(model)) is not None
    assert Cache(name, KEY).known("model.py", *stat(model)) is None


def test_an_unwritable_directory(directory: Path, model: Path) -> None:
    remember(directory, model)
    age(model, 50)
    directory.chmod(0o500)
    if os.access(directory, os.W_OK):
        pytest.skip("this user (root?) may write anywhere")
    try:
        remember(directory, model)
        assert not by_stat(directory, model)
        assert by_content(directory, model), "what is there can still be read"
        directory.chmod(0)
        assert not by_content(directory, model)
    finally:
        directory.chmod(0o700)
    assert not [path for path in directory.iterdir() if path.suffix == ".tmp"]


def test_a_full_disk_leaves_the_file_as_it_was(directory: Path, model: Path) -> None:
    before = valid(directory, model)
    script = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for index in range(100):
    cache.put(f"{index}.py", 1, 1, "digest", SUMMARY)
cache.save()
"""
    assert finished(start(directory, script)) == 0
    assert file_of(directory).read_bytes() == before
    assert not list(directory.glob(".*.tmp"))


# ---------------------------------------------------------------------------------------- processes

PRELUDE = """
import sys
from gelu_lint.cache import Cache
from gelu_lint.model import FileSummary
SUMMARY = FileSummary("model.py", taken=("name",) * 200)
cache = Cache(sys.argv[1], sys.argv[2])
"""


def start(directory: Path, script: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PRELUDE + script, str(directory), KEY, *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def finished(process: subprocess.Popen[bytes]) -> int:
    process.communicate()
    return process.returncode


def test_what_another_run_wrote_meanwhile_is_kept(directory: Path, model: Path) -> None:
    remember(directory, model)
    first, second = opened(directory), opened(directory)
    first.put("first.py", 1, 1, "first", None)
    first.put("both.py", 1, 1, "first", None)
    first.put("model.py", 1, 1, "first", None)
    second.put("second.py", 2, 2, "second", None)
    second.put("both.py", 2, 2, "second", None)
    first.save()
    second.save()
    found = {name: row[2] for name, row in rows(directory).items()}
    assert found == {"first.py": "first", "model.py": "first", "both.py": "second", "second.py": "second"}


@pytest.mark.parametrize("lost", [lambda path: path.unlink(), lambda path: path.write_bytes(b"[")])
def test_what_was_read_outlives_the_file(directory: Path, model: Path, lost: Any) -> None:
    remember(directory, model)
    cache = opened(directory)
    lost(file_of(directory))
    cache.put("other.py", 1, 1, "digest", None)
    cache.save()
    assert set(rows(directory)) == {"model.py", "other.py"}


def test_two_processes_that_save_at_once(directory: Path) -> None:
    """One may lose to the other, but never half of what it has."""
    script = """
for index in range(300):
    cache.put(f"{sys.argv[3]}-{index}.py", 1, 1, sys.argv[3], SUMMARY)
print("ready", flush=True)
sys.stdin.readline()
cache.save()
"""
    for number in range(6):
        names = [f"{number}a", f"{number}b"]
        writers = [start(directory, script, name) for name in names]
        for writer in writers:
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        assert [finished(writer) for writer in writers] == [0, 0]
        digests = [row[2] for row in rows(directory).values()]
        counts = [digests.count(name) for name in names]
        assert set(counts) <= {0, 300}
        assert 300 in counts
        assert {digests.count(f"{earlier}{side}") for earlier in range(number) for side in "ab"} <= {0, 300}
    assert not list(directory.glob(".*.tmp"))


def test_processes_that_are_killed_while_they_save(directory: Path, model: Path) -> None:
    script = """
print("ready", flush=True)
for round in range(1_000_000):
    for index in range(400):
        cache.put(f"{index}.py", round, 1, "digest", SUMMARY)
    cache.save()
"""
    remember(directory, model)
    chance = random.Random(0)
    seen = set()
    for _ in range(20):
        process = start(directory, script)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.02, 0.1))
        process.kill()
        assert finished(process) == -signal.SIGKILL
        found = rows(directory)
        assert found.pop("model.py")
        assert len(found) in (0, 400)
        assert len({row[0] for row in found.values()}) <= 1, "all rows are of one save"
        seen |= {row[0] for row in found.values()}
    assert len(seen) > 1, "they did save"


def test_a_process_that_is_killed_before_its_file_is_in_place(directory: Path, model: Path) -> None:
    before = valid(directory, model)
    script = """
import os, signal
os.replace = lambda old, new: os.kill(os.getpid(), signal.SIGKILL)
cache.put("other.py", 1, 1, "digest", SUMMARY)
cache.save()
"""
    assert finished(start(directory, script)) == -signal.SIGKILL
    assert file_of(directory).read_bytes() == before
    (left,) = directory.glob(".*.tmp")
    age(left, 3700)
    remember(directory, model, None)
    assert not left.exists()


# ------------------------------------------------------------------------------------------ the end


def test_what_killed_runs_left_is_removed_after_an_hour(directory: Path, model: Path) -> None:
    remember(directory, model)
    old, young = directory / ".gelu-lint-1-1.tmp", directory / ".gelu-lint-2-2.tmp"
    for path, seconds in ((old, 3700), (young, 3500)):
        path.touch()
        age(path, seconds)
    remember(directory, model, None)
    assert not old.exists()
    assert young.exists()


def test_files_of_other_keys_are_removed_after_a_month(directory: Path, model: Path) -> None:
    remember(directory, model)
    others = [f"{'f' * 8}.json", f"{'g' * 16}.json", f"{OLD_KEY}.txt", "notes.json"]
    young = f"{'f' * 16}.json"
    for name, days in ((f"{OLD_KEY}.json", 31), (young, 29), *((name, 1000) for name in others)):
        (directory / name).touch()
        age(directory / name, days * DAY)
    age(file_of(directory), 1000 * DAY)
    remember(directory, model, None)
    left = {path.name for path in directory.iterdir()}
    assert left == {f"{KEY}.json", young, *others, ".gitignore", "CACHEDIR.TAG"}
    assert by_stat(directory, model)


def test_entries_that_nobody_uses_expire(directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = opened(directory)
    for name in ("by stat.py", "by content.py", "unused.py"):
        cache.put(name, *stat(model), digest(CODE), SUMMARY)
    cache.save()
    days_later(monkeypatch, 20)
    cache = opened(directory)
    assert cache.known("by stat.py", *stat(model)) is not None
    assert cache.same("by content.py", digest(CODE)) is not None
    cache.save()
    assert set(rows(directory)) == {"by stat.py", "by content.py", "unused.py"}
    days_later(monkeypatch, 40)
    remember(directory, model)
    assert set(rows(directory)) == {"by stat.py", "by content.py", "model.py"}
    days_later(monkeypatch, 80)
    remember(directory, model)
    assert set(rows(directory)) == {"model.py"}


def test_an_entry_of_a_day_far_ahead_expires_too(directory: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a clock was wrong."""
    days_later(monkeypatch, 4000)
    remember(directory, model)
    days_later(monkeypatch, 0)
    other = model.with_name("other.py")
    other.write_bytes(CODE)
    remember(directory, other)
    assert set(rows(directory)) == {"other.py"}


# -------------------------------------------------------------------------------------- fingerprint


def copied(tmp_path: Path) -> Path:
    """A copy of gelu_lint, with a small stand-in for LibCST next to it."""
    shutil.copytree(
        Path(gelu_lint.__file__).parent, tmp_path / "gelu_lint", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "libcst").mkdir()
    (tmp_path / "libcst" / "__init__.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    (tmp_path / "libcst" / "_version.py").write_text("__version__ = '1.0.0'\n", encoding="utf-8")
    return tmp_path


def fingerprint_of(root: Path) -> str:
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from gelu_lint.cache import fingerprint
print(fingerprint())
assert not {"libcst", "hashlib", "importlib.metadata"} & set(sys.modules)
"""
    command = [sys.executable, "-c", script, str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_fingerprint_is_short_and_stays(tmp_path: Path) -> None:
    root = copied(tmp_path)
    first = fingerprint_of(root)
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    (root / "gelu_lint" / "__pycache__").mkdir(exist_ok=True)
    (root / "gelu_lint" / "__pycache__" / "model.cpython-39.pyc").touch()
    (root / "gelu_lint" / "notes.txt").touch()
    assert fingerprint_of(root) == first


@pytest.mark.parametrize(
    "change",
    [
        lambda root: age(root / "gelu_lint" / "model.py", 5),
        lambda root: age(root / "gelu_lint" / "rules" / "gel001_implicit_approximate.py", 5),
        lambda root: (root / "gelu_lint" / "rules" / "gel999_new.py").touch(),
        lambda root: (root / "gelu_lint" / "explain.py").rename(root / "gelu_lint" / "explained.py"),
        lambda root: (root / "libcst" / "_version.py").unlink(),
        lambda root: shutil.rmtree(root / "libcst"),
    ],
)
def test_the_fingerprint_tells_another_gelu_lint_or_libcst(tmp_path: Path, change: Any) -> None:
    root = copied(tmp_path)
    first = fingerprint_of(root)
    change(root)
    assert fingerprint_of(root) != first


@pytest.mark.parametrize("file", ["libcst/_version.py", "libcst/__init__.py"])
def test_a_libcst_of_the_same_size_and_time_is_told_apart(tmp_path: Path, file: str) -> None:
    """Some installers give every file the same time."""
    root = copied(tmp_path)
    path = root / file
    first, before = fingerprint_of(root), path.stat()
    path.write_bytes(path.read_bytes().replace(b"1.0.0", b"1.0.1").replace(b"imported", b"Imported"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert fingerprint_of(root) != first


def test_a_warm_run_imports_neither_hashlib_nor_libcst(directory: Path, model: Path) -> None:
    remember(directory, model)
    script = """
from gelu_lint.cache import fingerprint
entry = cache.known("model.py", int(sys.argv[3]), int(sys.argv[4]))
assert entry.summary("model.py").sites
cache.save()
fingerprint()
assert not {"hashlib", "libcst", "tempfile", "importlib.metadata"} & set(sys.modules)
"""
    assert finished(start(directory, script, *map(str, stat(model)))) == 0


def test_clean_files_load_no_codec(directory: Path, model: Path) -> None:
    remember(directory, model, None)
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from gelu_lint.cache import Cache, fingerprint
fingerprint()
cache = Cache(sys.argv[2], sys.argv[3])
assert cache.known("model.py", int(sys.argv[4]), int(sys.argv[5])).clean
assert not {"gelu_lint.codec", "gelu_lint.model", "hashlib"} & set(sys.modules)
"""
    root = str(Path(gelu_lint.__file__).parent.parent)
    command = [sys.executable, "-S", "-c", script, root, str(directory), KEY, *map(str, stat(model))]  # no .pth files
    subprocess.run(command, check=True)
