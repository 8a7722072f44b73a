"""What is known of files from earlier runs: which do not pass the screen, and the facts of those that do.

One JSON file for each key, and a key names all that shapes facts besides the file itself (see ``fingerprint``). The
file may be missing, broken or typed by hand: what is not as it should be counts as unknown. No fault of it is raised.
"""

from __future__ import annotations

import json
import os
import sys
import time
from types import NoneType

from gelu_lint import __version__
from gelu_lint.source import Unreadable, read_bytes

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gelu_lint.model import FileSummary

_FORMAT = 1
_LARGEST = 200_000_000
_HOUR, _DAY = 3_600, 86_400
_DAYS_KEPT = 30

#: A file that changed so shortly before a run may change again while neither its time nor its size tells.
_RACY_NS = 2_000_000_000

#: The types of a row but its last: mtime_ns, size, digest, day of its last use, whether its stat is trusted. The last
#: is what ``encode`` gave, or None for a file that does not pass the screen.
_ROW = [int, int, str, int, bool]

_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by gelu-lint.
# For information about cache directory tags, see https://bford.info/cachedir/
"""
_MARKS = {".gitignore": "*\n", "CACHEDIR.TAG": _TAG}
_PREFIX, _SUFFIX = ".gelu-lint-", ".tmp"
_HEX = frozenset("0123456789abcdef")

#: Not in ASCII, or two surrogates in a row would be read as one character.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Entry:
    """What is known of one file. ``clean`` where it does not pass the screen, so that it has no facts."""

    def __init__(self, facts: object) -> None:
        self.clean = facts is None
        self._facts = facts

    def summary(self, path: str) -> FileSummary:
        """The facts, as those of ``path``. Raises ValueError if they are corrupt: then nothing is known."""
        from gelu_lint.codec import decode

        return decode(self._facts, path)


class Cache:
    """The entries of one key in one directory, by any names that stay the same from run to run."""

    def __init__(self, directory: str, key: str) -> None:
        self._directory = directory.rstrip(os.sep) or directory
        self._file = f"{key}.json"
        self._opened = time.time_ns()
        self._today = self._opened // (_DAY * 1_000_000_000)
        self._rows = self._read()
        self._changed: set[str] = set()

    def known(self, name: str, mtime_ns: int, size: int) -> Entry | None:
        """The entry of a file that is the same by its stat."""
        row: Any = self._rows.get(name)
        fits = _sound(row) and row[0] == mtime_ns and row[1] == size and row[4]
        return self._used(name, row) if fits else None

    def same(self, name: str, digest: str) -> Entry | None:
        """The entry of a file that is the same by its content; ``put`` it, so that its new stat is known too."""
        row: Any = self._rows.get(name)
        return self._used(name, row) if _sound(row) and row[2] == digest else None

    def put(self, name: str, mtime_ns: int, size: int, digest: str, summary: FileSummary | None) -> None:
        """Remember a file: its stat from before it was read, and its facts, None if it does not pass the screen."""
        facts = None
        if summary is not None:
            from gelu_lint.codec import encode

            facts = encode(summary)
        row = [mtime_ns, size, digest, self._today, mtime_ns <= self._opened - _RACY_NS, facts]
        if _text(row) != _text(self._rows.get(name)):  # as lists, 1, 1.0 and True would be equal
            self._rows[name] = row
            self._changed.add(name)

    def save(self) -> None:
        """Write what changed, together with what other runs wrote meanwhile; where that fails, there is no cache."""
        if self._changed and not os.path.islink(self._directory):
            try:
                self._write()
            except (OSError, ValueError, MemoryError):
                return
            self._changed.clear()

    def _used(self, name: str, row: list[Any]) -> Entry:
        if row[3] != self._today:
            row[3] = self._today
            self._changed.add(name)
        return Entry(row[5])

    def _read(self) -> dict[str, Any]:
        """The rows in the file, unchecked. A link in place of the directory may lead anywhere and is not followed."""
        if os.path.islink(self._directory):
            return {}
        try:
            data = read_bytes(os.path.join(self._directory, self._file), _LARGEST)
            content = json.loads(data.decode("utf-8", "surrogatepass"))
        except (Unreadable, ValueError, RecursionError, MemoryError):
            return {}
        if type(content) is not dict or content.get("format") != _FORMAT or type(content.get("files")) is not dict:
            return {}
        rows: dict[str, Any] = content["files"]
        return rows

    def _write(self) -> None:
        os.makedirs(self._directory, exist_ok=True)
        self._mark()
        rows = {**self._rows, **self._read(), **{name: self._rows[name] for name in self._changed}}
        fresh = {name: row for name, row in rows.items() if _sound(row) and abs(self._today - row[3]) <= _DAYS_KEPT}
        texts = [f"{_text(name)}:{text}" for name, row in fresh.items() if (text := _text(row))]
        self._replace(self._file, f'{{"format":{_FORMAT},"files":{{\n' + ",\n".join(texts) + "\n}}\n")
        self._sweep()

    def _replace(self, name: str, text: str) -> None:
        temporary = os.path.join(self._directory, f"{_PREFIX}{os.getpid()}-{time.time_ns()}{_SUFFIX}")
        try:
            with open(temporary, "xb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
            os.replace(temporary, os.path.join(self._directory, name))
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def _mark(self) -> None:
        """Tell git and backups to pass the directory over, unless others keep files in it too."""
        names = os.listdir(self._directory)
        if all(name in (self._file, *_MARKS) or _seconds_kept(name) for name in names):
            for name in _MARKS.keys() - names:
                self._replace(name, _MARKS[name])

    def _sweep(self) -> None:
        """Remove what killed runs left behind, and the files of keys that nobody uses any more."""
        now, marked = time.time(), self._is_marked()
        for name in os.listdir(self._directory):
            kept = _seconds_kept(name)
            if not kept or name == self._file or (kept > _HOUR and not marked):
                continue
            path = os.path.join(self._directory, name)
            try:
                if now - os.lstat(path).st_mtime > kept:
                    os.unlink(path)
            except OSError:  # another run was quicker
                continue

    def _is_marked(self) -> bool:
        try:
            return read_bytes(os.path.join(self._directory, "CACHEDIR.TAG"), len(_TAG)) == _TAG.encode()
        except Unreadable:
            return False


def fingerprint() -> str:
    """Names this gelu-lint, its Python and its LibCST: with others, facts may differ.

    By stat, so that an edit of gelu-lint counts. It imports neither LibCST nor hashlib (5 ms).
    """
    from importlib.util import find_spec, source_hash

    facts = [__version__, sys.implementation.name, repr(sys.version_info[:3])]
    facts += sorted(_stats(os.path.dirname(__file__), ""))
    try:
        found = find_spec("libcst")
    except (ImportError, ValueError):
        found = None
    for folder in (found and found.submodule_search_locations) or ():
        facts += [_state(os.path.join(folder, name)) for name in ("_version.py", "__init__.py")]
    return source_hash("\n".join(facts).encode("utf-8", "surrogateescape")).hex()


def digest(data: bytes) -> str:
    """Names the content of a file."""
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _sound(row: Any) -> bool:
    """Whether a row has the types that it should have; its facts are left to the codec."""
    kinds = [type(part) for part in row] if type(row) is list else []
    return kinds[:-1] == _ROW and kinds[-1] in (list, NoneType)


def _text(value: object) -> str:
    """JSON; "" where there is none, as for an integer of 5,000 digits or lists nested too deeply."""
    try:
        return _ENCODER.encode(value)
    except (ValueError, RecursionError):
        return ""


def _seconds_kept(name: str) -> int:
    """How long after its last change a file of this name is kept; 0 for a name that is not ours."""
    if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
        return _HOUR
    stem, suffix = os.path.splitext(name)
    return _DAYS_KEPT * _DAY if suffix == ".json" and len(stem) >= 16 and _HEX.issuperset(stem) else 0


def _state(path: str) -> str:
    """Time and content of a file: some installers give every file the same time."""
    try:
        return f"{os.stat(path).st_mtime_ns} {read_bytes(path, _LARGEST)!r}"
    except (OSError, Unreadable):
        return ""


def _stats(folder: str, prefix: str) -> Iterator[str]:
    """Name, size and time of each Python file below ``folder``."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    info = entry.stat()
                    yield f"{prefix}{entry.name} {info.st_size} {info.st_mtime_ns}"
                elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                    yield from _stats(entry.path, f"{prefix}{entry.name}/")
    except OSError:  # in a zip file, say, where the version must do
        return
