"""Which files to read: arguments, directory walks, git's ignore rules, exclude patterns."""

from __future__ import annotations

import os
import stat
from functools import lru_cache

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    _Spec: TypeAlias = tuple[GitIgnoreSpecPattern, ...]  # one .gitignore file
    _Ignored: TypeAlias = Callable[[str, bool], bool]  # (path below the directory, is it one itself) -> leave it out
    # For a path component: names, and those with wildcards. For a path from the root: its components.
    _Patterns: TypeAlias = tuple[frozenset[str], tuple[str, ...], tuple[tuple[str, ...], ...]]

DEFAULT_EXCLUDE = (
    ".eggs",
    ".gelu_lint_cache",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)

#: The files that speak for a project; the first ones are its README.
_READMES = 4
_ANCHORS = (*("readme.md", "readme.rst", "readme.txt", "readme"), *("pyproject.toml", "setup.cfg", "setup.py"))

# Set inside git hooks: they would point git at the hook's repository instead of the directory's own.
_GIT_PLACE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
# A repository's config must run nothing: no file system monitor, no fetch of missing objects from its remote.
_GIT_SAFE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_GIT_LIST = (
    *("git", "-c", "core.fsmonitor=false", "--no-pager"),
    *("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."),
)


class Found:
    """``files`` as to be shown, sorted; ``missing`` arguments with the path that was perhaps meant or ``""``;
    ``unreadable`` directories and broken links with the reason."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.missing: list[tuple[str, str]] = []
        self.unreadable: list[tuple[str, str]] = []


def discover(
    paths: Sequence[str],
    *,
    suffixes: tuple[str, ...] = (".py",),
    exclude: tuple[str, ...],
    force_exclude: bool,
    root: str,
    respect_gitignore: bool = True,
) -> Found:
    """The files that ``paths`` name: files as they are, directories by what lies below them.

    ``exclude`` (see ``matches``) applies below a named directory, not to it or its parents, unless
    ``force_exclude``. Each file comes once, as it was first named. Raises nothing: see ``Found``.
    """
    found = Found()
    shown: dict[str, str] = {}  # by real path
    for path in paths:
        try:
            is_directory = stat.S_ISDIR(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte
            if "\0" not in path and os.path.islink(path):
                found.unreadable.append((path, "broken symbolic link"))
            else:
                found.missing.append((path, _meant(path)))
            continue
        except OSError as error:
            found.unreadable.append((path, error.strerror or str(error)))
            continue
        if force_exclude and matches(path, exclude, root):
            continue
        if not is_directory:
            shown.setdefault(os.path.realpath(path), path)
            continue
        lead, real, links = _lead(path), os.path.realpath(path), []
        for name, is_link in _below(path, suffixes, _excluder(path, exclude, root), respect_gitignore, found):
            if is_link:
                links.append(name)
            else:  # links to directories are not followed, so this is its real path
                shown.setdefault(os.path.join(real, name), lead + name.replace("/", os.sep))
        for name in sorted(links):  # last: the file itself rather than a link to it
            shown.setdefault(os.path.realpath(os.path.join(path, name)), lead + name.replace("/", os.sep))
    found.files.extend(sorted(shown.values(), key=_posix))
    return found


def anchors(root: str, lead: str) -> tuple[tuple[str, str], ...]:
    """The files in ``root`` that speak for a whole project, as (name, path); their paths begin with ``lead``."""
    try:
        names = os.listdir(root)
    except OSError:
        return ()
    kept = [(_ANCHORS.index(name.lower()), name) for name in names if name.lower() in _ANCHORS]
    return tuple((("README" if at < _READMES else name), lead + name) for at, name in sorted(kept))


def matches(path: str, patterns: tuple[str, ...], root: str) -> bool:
    """Whether a pattern matches ``path`` or a directory on the way to it from ``root``; case counts.

    Without a slash a pattern is for any one component of the path below ``root`` (``*``, ``?``, ``[…]``),
    with one for the path from ``root``, where ``**`` is any number of directories. A trailing slash changes
    nothing. Of a path outside ``root`` only the last component counts.
    """
    compiled = _compile(patterns, root)
    parts = _parts(path, root)
    if parts is None:
        return _hits(compiled, os.path.basename(os.path.abspath(path)), ())
    return any(_hits(compiled, part, parts[: depth + 1]) for depth, part in enumerate(parts))


def _below(
    directory: str, suffixes: tuple[str, ...], excluded: Callable[[str], bool], gitignore: bool, found: Found
) -> Iterator[tuple[str, bool]]:
    """The files below a directory, relative to it with slashes, and whether each is a symbolic link."""
    stack: list[tuple[str, _Ignored]] = [("", _rules(directory, "") if gitignore else _nothing)]
    while stack:
        prefix, ignored = stack.pop()
        try:
            with os.scandir(os.path.join(directory, prefix)) as scan:
                entries = {entry.name: entry for entry in scan}
                directories = {name for name, entry in entries.items() if entry.is_dir(follow_symlinks=False)}
        except OSError as error:
            shown = os.path.normpath(_lead(directory) + prefix)
            found.unreadable.append((shown, error.strerror or str(error)))
            continue
        if gitignore and prefix and ".git" in entries:  # a nested repository or submodule has its own rules
            ignored = _rules(os.path.join(directory, prefix), prefix)
        if ".gitignore" in entries and isinstance(ignored, _Gitignores):
            ignored = ignored.joined(directory, prefix)
        for name, entry in entries.items():
            path = prefix + name
            if name in directories:
                if name != ".git" and not (excluded(path) or ignored(path, True)):
                    stack.append((path + "/", ignored))
            elif name.endswith(suffixes) and not (excluded(path) or ignored(path, False)) and _is_file(entry):
                yield path, entry.is_symlink()


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()  # not a FIFO, a broken link, a link to a directory
    except OSError:  # a link that points at itself, or where we may not look
        return False


def _excluder(directory: str, exclude: tuple[str, ...], root: str) -> Callable[[str], bool]:
    """Whether a path below ``directory`` is excluded, its parents being known not to be."""
    compiled = _compile(exclude, root)
    anchored = bool(compiled[2])
    above = _parts(directory, root) or ()  # outside the root, paths count from the directory

    def excluded(path: str) -> bool:
        name = path.rpartition("/")[2]
        return _hits(compiled, name, (*above, *path.split("/")) if anchored else ())

    return excluded


# ------------------------------------------------------------------------------------- ignore rules


def _nothing(path: str, is_directory: bool) -> bool:
    return False


class _GitList:
    """What git lists is not ignored, nor the directories that lead there."""

    def __init__(self, listed: list[str], prefix: str) -> None:
        self.files = {prefix + path for path in listed}  # submodules as "name", nested repositories "name/"
        self.directories = {path.rstrip("/") for path in self.files}
        for path in self.files:
            parent = path.rstrip("/").rpartition("/")[0]
            while parent not in self.directories and parent:
                self.directories.add(parent)
                parent = parent.rpartition("/")[0]

    def __call__(self, path: str, is_directory: bool) -> bool:
        return path not in (self.directories if is_directory else self.files)


class _Gitignores:
    """The ``.gitignore`` files from the work tree's top downwards: the deepest that knows a path decides."""

    def __init__(self, lead: str, cut: int, specs: tuple[tuple[int, _Spec], ...]) -> None:
        self.lead, self.cut = lead, cut  # lead + path[cut:] is the path from the top
        self.specs = specs  # with the length of the path from the top to each one's directory

    def joined(self, directory: str, prefix: str) -> _Gitignores:
        """These and the one in ``prefix``, a path below ``directory`` that is empty or ends in a slash."""
        spec = _read_gitignore(os.path.join(directory, prefix))
        known = ((len(self.lead + prefix[self.cut :]), spec),) if spec else ()
        return _Gitignores(self.lead, self.cut, self.specs + known)

    def __call__(self, path: str, is_directory: bool) -> bool:
        from_top = self.lead + path[self.cut :]
        for start, spec in reversed(self.specs):
            for pattern in reversed(spec):
                if pattern.include is not None and _is_for(pattern, from_top[start:], is_directory):
                    return pattern.include
        return False


def _rules(directory: str, prefix: str) -> _Ignored:
    """The ignore rules for the paths ``prefix + …`` of a directory: git's answer, or what we read."""
    directory = top = os.path.realpath(directory)  # git, too, looks above what a link points at
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):  # no work tree: the files that lie in it, and none above it
            return _Gitignores("", len(prefix), ())
        top = os.path.dirname(top)
    listed = _git_files(directory)
    if listed:
        return _GitList(listed, prefix)
    lead, rules = "", _Gitignores("", 0, ())
    for name in os.path.relpath(directory, top).split(os.sep) if directory != top else ():
        rules = rules.joined(top, lead)
        if rules(lead + name, True):  # ignored, yet named: what ignored it would leave nothing
            return _Gitignores("", len(prefix), ())
        lead += name + "/"
    return _Gitignores(lead, len(prefix), rules.specs)


def _git_files(directory: str) -> list[str] | None:
    """Tracked and untracked, not ignored files below a directory; None where git cannot say."""
    from subprocess import DEVNULL, run

    environment = {name: value for name, value in os.environ.items() if name not in _GIT_PLACE} | _GIT_SAFE
    try:
        done = run(_GIT_LIST, cwd=directory, env=environment, stdin=DEVNULL, capture_output=True)
    except OSError:  # no git
        return None
    if done.returncode or b"could not open directory" in done.stderr:  # the walk says which one
        return None
    return os.fsdecode(done.stdout).split("\0")[:-1]


def _is_for(pattern: GitIgnoreSpecPattern, path: str, is_directory: bool) -> bool:
    """Whether a pattern is for exactly this path: the walk has asked about the directories above it before.

    pathspec matches what lies below, too, and names the slash behind the directory that was meant ``ps_d``.
    """
    found = pattern.match_file(path)
    if found and found.match.groupdict().get("ps_d") is None:
        return True
    found = pattern.match_file(path + "/") if is_directory else None
    return bool(found and "ps_d" in found.match.groupdict() and found.match.start("ps_d") == len(path))


def _read_gitignore(directory: str) -> _Spec:
    path = os.path.join(directory, ".gitignore")
    if os.path.islink(path) or not os.path.isfile(path):  # git does not follow such a link either
        return ()
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return ()
    from pathspec import GitIgnoreSpec

    patterns: list[GitIgnoreSpecPattern] = []
    for line in os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n"):
        try:
            patterns += GitIgnoreSpec.from_lines([line]).patterns
        except ValueError:  # malformed: git passes over it
            pass
    return tuple(patterns)


# ------------------------------------------------------------------------------- patterns and paths


@lru_cache(maxsize=64)
def _compile(patterns: tuple[str, ...], root: str) -> _Patterns:
    names: set[str] = set()
    globs: list[str] = []
    paths: list[tuple[str, ...]] = []
    top = _posix(os.path.abspath(root)).rstrip("/") + "/"
    for pattern in patterns:
        pattern = pattern.replace("\\", "/").rstrip("/")
        if pattern.startswith(top):
            pattern = "/" + pattern[len(top) :]
        parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
        if "/" in pattern:
            paths.append(parts)
        elif any(character in pattern for character in "*?["):
            globs.append(pattern)
        else:
            names.add(pattern)
    return frozenset(names), tuple(globs), tuple(paths)


def _hits(patterns: _Patterns, name: str, parts: tuple[str, ...]) -> bool:
    """Whether a pattern is for exactly this path: its last component, and all of them from the root."""
    names, globs, paths = patterns
    if name in names:
        return True
    if not globs and not paths:
        return False
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, glob) for glob in globs) or any(_path_hits(parts, path) for path in paths)


def _path_hits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    from fnmatch import fnmatchcase

    if not parts or not pattern:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _path_hits(parts, pattern[1:]) or _path_hits(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _path_hits(parts[1:], pattern[1:])


def _parts(path: str, root: str) -> tuple[str, ...] | None:
    """The components of a path from the root, none for the root itself; None outside it."""
    path, root = os.path.abspath(path), os.path.abspath(root)
    if path == root:
        return ()
    lead = os.path.join(root, "")
    return tuple(path[len(lead) :].split(os.sep)) if path.startswith(lead) else None


def _lead(directory: str) -> str:
    """What to write before the path of a file in a directory that was named like this."""
    # "a/.." is left alone: where a is a symbolic link it is not the current directory
    shown = directory if os.sep + os.pardir in directory else os.path.normpath(directory)
    return "" if shown == os.curdir else os.path.join(shown, "")


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


def _meant(path: str) -> str:
    """The existing path that is most like a missing one, or ``""``."""
    from difflib import get_close_matches

    parent, name = os.path.split(path.rstrip(os.sep))
    if parent and not os.path.isdir(parent):
        parent = _meant(parent)
        return os.path.join(parent, name) if parent and os.path.exists(os.path.join(parent, name)) else parent
    try:
        close = get_close_matches(name, os.listdir(parent or os.curdir), 1)
    except (OSError, ValueError):
        return ""
    return os.path.join(parent, close[0]) if close else ""
