"""discover.py against git itself and the file system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gelu_lint import discover as discover_module
from gelu_lint.discover import DEFAULT_EXCLUDE, Found, discover, matches


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """No user or system settings (a global ignore file would hide files), for the tests' git and ours."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True)
    return os.fsdecode(done.stdout)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def find(*paths: str, exclude: tuple[str, ...] = (), force_exclude: bool = False, root: str = ".") -> Found:
    return discover(paths, exclude=exclude, force_exclude=force_exclude, root=root)


def parts(found: Found) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    return found.files, found.missing, found.unreadable


# --------------------------------------------------------------------------------------- arguments


def test_paths_are_shown_as_named(here: Path) -> None:
    touch(here, "a.py", "src/b.py", "src/sub/c.py", "src/d.txt", "e.py/f.py", "g.cfg")
    assert find(".").files == ["a.py", "e.py/f.py", "src/b.py", "src/sub/c.py"]
    assert find("./").files == find(".").files
    assert find("src").files == find("src/").files == find("./src").files == ["src/b.py", "src/sub/c.py"]
    assert find(str(here / "src")).files == [f"{here}/src/b.py", f"{here}/src/sub/c.py"]
    assert find("src/../e.py").files == ["src/../e.py/f.py"]  # a directory by that name
    assert find("g.cfg", "./a.py").files == ["./a.py", "g.cfg"]  # a file is taken whatever its suffix
    assert discover(["."], suffixes=(".txt", ".cfg"), exclude=(), force_exclude=False, root=".").files == [
        "g.cfg",
        "src/d.txt",
    ]
    os.chdir(here / "src")
    assert find("..").files == ["../a.py", "../e.py/f.py", "../src/b.py", "../src/sub/c.py"]


def test_each_file_comes_once_by_its_first_name(here: Path) -> None:
    touch(here, "b/a.py", "b/c.py")
    os.symlink("b", "linked")
    os.symlink("b/a.py", "z.py")
    assert find("b/a.py", ".", "b", "./b/a.py", str(here)).files == ["b/a.py", "b/c.py"]
    assert find("linked/a.py", "b").files == ["b/c.py", "linked/a.py"]
    assert find("linked").files == ["linked/a.py", "linked/c.py"]  # named, so walked
    assert find(".").files == ["b/a.py", "b/c.py"]  # not followed, and no link to a file that is there itself
    assert find("z.py", ".").files == ["b/c.py", "z.py"]
    touch(here, "elsewhere.txt")
    for number in range(20):
        os.symlink("../elsewhere.txt", f"b/link{number:02}.py")
    assert find("b").files == ["b/a.py", "b/c.py", "b/link00.py"]


def test_links_to_files_are_taken_and_what_is_no_file_is_not(here: Path) -> None:
    touch(here, "src/a.py", "other/b.py")
    os.symlink("../other/b.py", "src/link.py")
    os.symlink("../other", "src/dir.py")
    os.symlink("nowhere", "src/.#lock.py")
    os.symlink("loop.py", "src/loop.py")
    os.mkfifo("src/fifo.py")
    assert parts(find("src")) == (["src/a.py", "src/link.py"], [], [])
    assert find("src/fifo.py").files == ["src/fifo.py"]  # named: reading it says what is wrong
    assert find("src/.#lock.py").unreadable == [("src/.#lock.py", "broken symbolic link")]
    ((path, reason),) = find("src/loop.py").unreadable
    assert (path, "symbolic links" in reason) == ("src/loop.py", True)


def test_missing_paths_are_collected_with_the_likely_one(here: Path) -> None:
    touch(here, "src/model.py", "src/data.py")
    expected = [
        ("src/modle.py", "src/model.py"),
        ("scr/model.py", "src/model.py"),
        ("scr/x.py", "src"),
        ("zzz", ""),
        ("", ""),
        ("a\0b", ""),
        ("src/data.py/x", "src/data.py"),
    ]
    found = find("src/data.py", *(path for path, _ in expected))
    assert parts(found) == (["src/data.py"], expected, [])


def test_unreadable_directories_are_reported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(here, "src/a.py", "src/shut/b.py")
    scandir = os.scandir

    def denied(path: str) -> object:
        if path.rstrip("/").endswith("shut"):  # root may look everywhere, so the system cannot be asked
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    assert parts(find("src")) == (["src/a.py"], [], [("src/shut", "Permission denied")])


def test_unreadable_directories_under_git(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.geteuid()
    user = before or 65534  # root may look everywhere: be someone else for a moment
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is closed to other users
        folder = Path(name)
        monkeypatch.chdir(folder)
        touch(folder, "w/a.py", "w/shut/b.py")
        git(folder / "w", "init", "-q")
        for path in (folder, folder / "w", folder / "w/.git"):
            os.chown(path, user, -1)
        (folder / "w/shut").chmod(0)
        os.seteuid(user)
        try:
            found = find("w")
            listed = git(folder / "w", "ls-files", "-o")
        finally:
            os.seteuid(before)
            (folder / "w/shut").chmod(0o700)
        monkeypatch.undo()
    assert parts(found) == (["w/a.py"], [], [("w/shut", "Permission denied")])
    assert listed == "a.py\n"  # git works there, and lists what it can


# ---------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("build", ["build", "build/a.py", "src/build/a.py"], ["builds/a.py", "a/Build/b.py", "build.py"]),
        ("build/", ["build/a.py", "src/build/a.py"], ["rebuild/a.py"]),
        ("*_pb2.py", ["a_pb2.py", "x/a_pb2.py"], ["pb2.py", "a_pb2.pyi"]),
        ("v[0-9]", ["v1/a.py"], ["v10/a.py"]),
        ("src/gen", ["src/gen/a.py", "src/gen"], ["x/src/gen/a.py", "src/gen2/a.py"]),
        ("/gen", ["gen/a.py"], ["src/gen/a.py"]),
        ("./gen/", ["gen/a.py"], ["src/gen/a.py"]),
        ("docs/*.py", ["docs/a.py"], ["docs/x/a.py", "a.py"]),
        ("docs/*", ["docs/a.py", "docs/x/a.py"], ["a.py"]),
        ("**/gen/*.py", ["gen/a.py", "x/y/gen/a.py"], ["gen.py", "gen/x/a.py"]),
        ("src/**/gen", ["src/gen/a.py", "src/x/y/gen/a.py"], ["gen/a.py"]),
        ("src/**", ["src/a.py", "src/x/a.py"], ["a.py", "xsrc/a.py"]),
        ("**/test_*.py", ["test_a.py", "tests/x/test_b.py"], ["tests/a.py"]),
        ("src\\gen", ["src/gen/a.py"], ["gen/a.py"]),
        ("/project/gen", ["gen/a.py"], ["src/gen/a.py", "project/gen/a.py"]),
    ],
)
def test_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    root = "/project"
    assert {path: matches(f"{root}/{path}", ("zz", pattern), root) for path in yes + no} == {
        path: path in yes for path in yes + no
    }


def test_outside_the_root_only_the_name_counts() -> None:
    assert not matches("/lib/site-packages/a.py", ("site-packages", "lib/**", "lib"), "/project")
    assert matches("/lib/site-packages/a_pb2.py", ("*_pb2.py",), "/project")
    assert not matches("/project", ("project",), "/project")


def test_exclude_is_for_what_lies_below_the_argument(here: Path) -> None:
    touch(here, "a.py", "build/b.py", "src/gen/c.py", "src/gen/build/d.py", "lib/site-packages/p/e.py")
    exclude = ("build", "src/gen", "site-packages")
    assert find(".", exclude=exclude).files == ["a.py"]
    assert find("build", "src/gen", "lib/site-packages/p", exclude=exclude).files == [
        "build/b.py",
        "lib/site-packages/p/e.py",
        "src/gen/c.py",
    ]
    assert find("src/gen/build/d.py", exclude=exclude).files == ["src/gen/build/d.py"]
    named = ("build", "src/gen/build/d.py", "src", "a.py", "lib/site-packages/p")
    assert find(*named, exclude=exclude, force_exclude=True).files == ["a.py"]
    os.chdir("lib/site-packages")
    assert find(".", "p/e.py", exclude=exclude, force_exclude=True).files == ["p/e.py"]
    assert find("../../src", exclude=("gen/build",)).files == ["../../src/gen/c.py"]  # outside the root


def test_default_exclude(here: Path) -> None:
    touch(here, "a.py", *(f"{name}/x.py" for name in DEFAULT_EXCLUDE), "sub/__pycache__/y.py")
    assert find(".", exclude=DEFAULT_EXCLUDE).files == ["a.py"]
    assert len(find(".").files) == len(DEFAULT_EXCLUDE) + 1  # all but .git, which is never entered


# --------------------------------------------------------------------------------------------- git


PATTERN = st.sampled_from(
    [
        *("a", "b/", "/a", "/b/", "*.py", "c.py", "a/b", "a/*", "**/b", "a/**", "a/**/c.py", "?.py", "/*"),
        *("!a", "!b/", "!c.py", "!*.py", "!/a/c.py", "!/b", "*/c.py", "[cd].py", "[!c].py", "\\d.py"),
        *("d.py ", "d.py\r", "d.py\\ ", "# c.py", "\\!a", "", " ", "!", "/", "a//b", "[", "**"),
    ]
)
PATTERNS = st.lists(PATTERN, max_size=4)
GITIGNORES = st.dictionaries(st.sampled_from(["", "a/", "b/", "a/b/"]), PATTERNS, max_size=3)
FOLDERS = ("", "a/", "b/", "a/b/", "b/a/", "a/b/a/")


@given(GITIGNORES, st.sampled_from([".", "a", "b/a"]))
@example({"": ["a", "!/b"]}, ".")  # pathspec alone takes b/a to be no longer ignored
@example({"": ["a/**", "!a/c.py"]}, ".")  # … and a itself to be ignored
@settings(max_examples=60, deadline=None)
def test_the_walk_ignores_what_git_ignores(gitignores: dict[str, list[str]], argument: str) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        git(folder, "init", "-q")
        touch(folder, *(f"{parent}{file}" for parent in FOLDERS for file in ("c.py", "d.py", "e.txt")))
        for parent, patterns in gitignores.items():
            (folder / parent / ".gitignore").write_bytes("\n".join(patterns).encode())
        patch.chdir(folder)
        theirs = git(folder, "ls-files", "-o", "--exclude-standard", "--", f"{argument}/**.py").splitlines()
        ours = find(argument).files
        with pytest.MonkeyPatch.context() as without:
            without.setenv("PATH", str(folder / "b"))  # no git there
            walked = find(argument).files
    if theirs:
        assert ours == walked == sorted(theirs)
    else:  # ignored as a whole: see test_an_ignored_directory_named
        assert ours == walked


def test_tracked_untracked_ignored_and_deleted(here: Path) -> None:
    git(here, "init", "-q")
    touch(here, "tracked.py", "sub/forced.py", "gone.py", "é b\n.py")
    git(here, "add", ".")
    (here / ".gitignore").write_text("sub/\nignored.py\n")
    (here / ".git/info/exclude").write_text("private.py\n")
    touch(here, "new.py", "ignored.py", "sub/ignored.py", "private.py")
    os.unlink("gone.py")
    assert find(".").files == ["new.py", "sub/forced.py", "tracked.py", "é b\n.py"]
    assert find("ignored.py").files == ["ignored.py"]
    found = discover(["."], exclude=(), force_exclude=False, root=".", respect_gitignore=False)
    assert {"ignored.py", "sub/ignored.py", "private.py"} < set(found.files)


def test_a_tracked_directory_that_became_a_link_is_not_followed(here: Path) -> None:
    git(here, "init", "-q")
    touch(here, "sub/a.py")
    git(here, "add", ".")
    os.rename("sub", "moved")
    os.symlink("moved", "sub")
    assert "sub/a.py" in git(here, "ls-files")
    assert find(".").files == ["moved/a.py"]


@pytest.mark.parametrize("commit", [False, True])
def test_nested_repositories_and_submodules(here: Path, commit: bool) -> None:
    touch(here, "origin/m.py", "origin/skip.py")
    touch(here, "w/a.py", "w/nested/n.py", "w/nested/skip.py", "w/deep/x/skip.py")
    for name in ("origin", "w/nested"):
        git(here / name, "init", "-q")
        (here / name / ".gitignore").write_text("skip.py\n")
        git(here / name, "add", ".")
        if commit or name == "origin":
            git(here / name, "commit", "-qm", "x")
    expected = ["w/a.py", "w/deep/x/skip.py", "w/nested/n.py"]
    assert find("w").files == expected  # no repository around them
    git(here / "w", "init", "-q")
    assert find("w").files == expected
    git(here / "w", "submodule", "--quiet", "add", str(here / "origin"), "sub")
    touch(here, "w/sub/new.py", "w/sub/skip.py")
    assert find("w").files == [*expected, "w/sub/m.py", "w/sub/new.py"]
    shutil.rmtree(here / "w/.git/modules")  # the submodule's own repository is lost: its files are not
    assert find("w").files == [*expected, "w/sub/m.py", "w/sub/new.py"]


@pytest.mark.parametrize("with_git", [True, False])
def test_an_ignored_directory_named(here: Path, with_git: bool, request: pytest.FixtureRequest) -> None:
    git(here, "init", "-q")
    touch(here, "a.py", "env/lib/p/b.py", "env/lib/p/skip.py")
    (here / ".gitignore").write_text("env/\n")
    (here / "env/lib/.gitignore").write_text("skip.py\n")
    if not with_git:
        request.getfixturevalue("no_git")
    assert find(".").files == ["a.py"]
    assert find("env/lib").files == find("env").files == ["env/lib/p/b.py"]
    os.symlink("env/lib", "elsewhere")
    assert find("elsewhere").files == ["elsewhere/p/b.py"]
    (here / ".gitignore").write_text("env/*\n*.py\n")
    assert find(".").files == find("env").files == []
    assert find("env/lib").files == ["env/lib/p/b.py"]


def test_a_link_into_a_repository(here: Path) -> None:
    git(here, "init", "-q", "w")
    touch(here, "w/src/a.py", "w/src/skip.py")
    (here / "w/.gitignore").write_text("/src/skip.py\n")
    os.symlink("w/src", "linked")
    assert find("linked").files == ["linked/a.py"]


@pytest.mark.usefixtures("no_git")
def test_without_git(here: Path) -> None:
    touch(here, "src/a.py", "src/skip.py", "src/sub/keep.py", "src/sub/skip.py", "src/gen/b.py", "skip.py")
    (here / ".gitignore").write_bytes(b"\xef\xbb\xbfskip.py\n!\n/src/gen\n")  # a byte order mark, a lone "!"
    (here / "src/sub/.gitignore").write_text("!skip.py\n")
    assert find(".").files == ["src/a.py", "src/sub/keep.py", "src/sub/skip.py"]
    assert len(find("src").files) == 5  # nothing says that the folder above belongs to it
    (here / ".git").mkdir()
    assert find("src").files == ["src/a.py", "src/sub/keep.py", "src/sub/skip.py"]
    (here / "src/sub/.gitignore").unlink()
    os.mkfifo("src/sub/.gitignore")  # would block for ever if opened
    assert find("src").files == ["src/a.py", "src/sub/keep.py"]


def test_pathspec_and_subprocess_are_loaded_on_need_only(here: Path) -> None:
    touch(here, "a.py")
    code = (
        "import sys; from gelu_lint.discover import discover; "
        "discover(['.'], exclude=('x', '*.y'), force_exclude=False, root='.'); "
        "print({'pathspec', 'subprocess', 'difflib', 'pathlib'} & set(sys.modules))"
    )
    package = Path(discover_module.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_git_hooks_do_not_mislead(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        touch(here, f"{name}/a.py", f"{name}/skip.py")
        git(here / name, "init", "-q")
        (here / name / ".gitignore").write_text("skip.py\n")
    (here / "one/.git/info/exclude").write_text("a.py\n")
    monkeypatch.setenv("GIT_DIR", str(here / "one/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(here / "one/.git/index"))
    assert find("two").files == ["two/a.py"]


# ------------------------------------------------------------------------------- hostile repositories


def test_a_hostile_monitor_does_not_run(here: Path) -> None:
    git(here, "init", "-q")
    touch(here, "a.py")
    git(here, "add", ".")
    script = here / ".git/monitor"
    script.write_text(f"#!/bin/sh\ntouch '{here}/ran'\n")
    script.chmod(0o755)
    git(here, "config", "core.fsmonitor", str(script))
    git(here, "config", "core.pager", str(script))
    git(here, "config", "pager.ls-files", "true")
    git(here, "config", "alias.ls-files", f"!{script}")
    assert find(".").files == ["a.py"]
    assert not (here / "ran").exists()
    git(here, "ls-files", "-c", "-o")  # it would have
    assert (here / "ran").exists()


@pytest.mark.parametrize("without", ["", "GIT_NO_LAZY_FETCH"])
def test_a_hostile_remote_does_not_run(here: Path, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """git fetches a missing .gitignore that the index knows, by a command of the config's choice."""
    monkeypatch.delitem(discover_module._GIT_SAFE, without, raising=False)  # as for an old git
    git(here, "init", "-q")
    touch(here, "s/a.py", "b.py")
    (here / "s/.gitignore").write_text("skip.py\n")
    git(here, "add", ".")
    blob = git(here, "rev-parse", ":s/.gitignore").strip()
    git(here, "update-index", "--skip-worktree", "s/.gitignore")
    (here / "s/.gitignore").unlink()
    (here / ".git/objects" / blob[:2] / blob[2:]).unlink()
    hostile = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::sh -c touch% {here}/ran",
        "protocol.ext.allow": "always",
    }
    for key, value in hostile.items():
        git(here, "config", key, value)
    touch(here, "s/new.py")
    assert find(".").files == ["b.py", "s/a.py", "s/new.py"]
    assert not (here / "ran").exists()
    git(here, "ls-files", "-o", "--exclude-standard")  # it would have
    assert (here / "ran").exists()


def test_another_users_repository_is_walked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(here, "init", "-q")
    touch(here, "a.py", "skip.py")
    (here / ".gitignore").write_text("skip.py\n")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(subprocess.CalledProcessError):
        git(here, "ls-files")
    assert find(".").files == ["a.py"]
