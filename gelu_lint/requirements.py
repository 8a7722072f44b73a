"""The versions that a project declares for its dependencies, read from its packaging files.

Nothing is executed, imported or fetched; text that is malformed is passed over.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gelu_lint.source import Unreadable, read_bytes

_MAX_SIZE = 1_000_000  # bytes

_Release = tuple[int, ...]
_Entry = tuple[str, "_Range", str]  # name as written, range, the place within the file

# Strings, so that they are compiled on first use; ASCII only, any case.
_NAME = r"(?ai)\s*([a-z0-9][a-z0-9._-]*)\b\s*(?:\[[^\]]*\])?\s*"
_CLAUSE = (  # a release has at most 18 digits a number: int() raises at some length
    r"(?ai)(?P<operator>===|==|~=|!=|<=|>=|<|>)\s*v?(?P<release>\d{1,18}(?:\.\d{1,18})*)"
    r"(?:(?P<wildcard>\.\*)|(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-_.]?\d*|-\d+){0,3}"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?)"
)


class Declared(NamedTuple):
    """The declared versions of one package: ``floor`` ≤ version ≤ ``ceiling``, < if ``ceiling_open``.

    None is no bound; ``>`` counts as ``>=``, and ``!=`` not at all. Releases have at least two numbers and no
    zeros beyond the second: ``2`` and ``2.0.0`` are both ``(2, 0)``, so compare them with tuples like
    ``(1, 12)``. ``source`` is the file, relative to the root, and the place in it.
    """

    floor: tuple[int, ...] | None
    ceiling: tuple[int, ...] | None
    ceiling_open: bool
    source: str


class _Range(NamedTuple):
    floor: _Release | None
    ceiling: _Release | None
    open: bool


_ANY = _Range(None, None, False)


def is_probed(root: str) -> bool:
    """Whether pytest is told, where the project at ``root`` configures it, which models the plugin is to test."""
    for name in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        try:
            data = read_bytes(os.path.join(root, name), _MAX_SIZE)
        except (Unreadable, OSError):
            continue
        if re.search(rb"(?m)^[ \t]*gelu_models[ \t]*=", data):
            return True
    return False


def declared(root: str) -> dict[str, Declared]:
    """What the project at ``root`` declares, by normalised name (lower case, hyphens; conda's pytorch is torch).

    The first source that names a package decides: PEP 621 dependencies, extras, poetry, requirements files,
    setup.cfg, setup.py, conda environment. Where one source names it more than once (markers, extras), the
    range covers all of them. Raises nothing: what cannot be read is not there.
    """
    found: dict[str, Declared] = {}
    for entries in _sources(root):
        here: dict[str, Declared] = {}
        for written, range_, place in entries:
            name = re.sub(r"[-_.]+", "-", written).lower()
            known = here.get(name)
            joined = _join(_Range(*known[:3]), range_) if known else range_
            here[name] = Declared(*joined, known.source if known else place)
        found = here | found
    return found


# ------------------------------------------------------------------------------------------ sources


def _sources(root: str) -> Iterator[Iterable[_Entry]]:
    yield from _pyproject(_read(root, "pyproject.toml"))
    for name in _requirements_files(root):
        yield _requirements(name, _read(root, name))
    yield _setup_cfg(_read(root, "setup.cfg"))
    yield _setup_py(_read(root, "setup.py"))
    for name in ("environment.yml", "environment.yaml"):
        yield _conda(name, _read(root, name))


def _read(root: str, name: str) -> str:
    try:
        data = read_bytes(os.path.join(root, name), _MAX_SIZE)
    except Unreadable:
        return ""
    # PowerShell writes "pip freeze > requirements.txt" as UTF-16
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")


def _pyproject(text: str) -> Iterator[Iterable[_Entry]]:
    if not text:
        return
    from importlib import import_module

    try:
        document = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    except (ValueError, RecursionError):
        return
    project = _table(document, "project")
    yield _strings(project.get("dependencies"), "pyproject.toml [project] dependencies")
    extras = _table(project, "optional-dependencies")
    place = "pyproject.toml [project.optional-dependencies]"
    yield [entry for name, value in extras.items() for entry in _strings(value, f"{place} {name}")]
    poetry = _table(document, "tool", "poetry")
    yield _poetry_table(_table(poetry, "dependencies"), "pyproject.toml [tool.poetry.dependencies]")
    groups = {f"group.{name}.dependencies": group for name, group in _table(poetry, "group").items()}
    tables = {key: _table(group, "dependencies") for key, group in groups.items()}
    tables["dev-dependencies"] = _table(poetry, "dev-dependencies")
    place = "pyproject.toml [tool.poetry"
    yield [entry for key, table in tables.items() for entry in _poetry_table(table, f"{place}.{key}]")]


def _table(document: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _strings(value: Any, place: str) -> Iterator[_Entry]:
    for text in value if isinstance(value, list) else ():
        if isinstance(text, str):
            yield from _requirement(text, place)


def _poetry_table(table: dict[str, Any], place: str) -> Iterator[_Entry]:
    for name, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            version = one.get("version", "*") if isinstance(one, dict) else one  # "*": from git, a path, a URL
            range_ = _poetry(version) if isinstance(version, str) else None
            if range_:
                yield name, range_, place


def _requirements_files(root: str) -> list[str]:
    """``requirements.txt`` first, then its kin, then those in the folder ``requirements``."""
    files = [name for name in _listed(root) if name.startswith("requirements") and name.endswith(".txt")]
    folder = [f"requirements/{name}" for name in _listed(os.path.join(root, "requirements"))]
    return sorted(files, key=lambda name: (len(name), name)) + [name for name in folder if name.endswith(".txt")]


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _requirements(file: str, text: str) -> Iterator[_Entry]:
    for row, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*|\s--.*|\\$", "", line)  # comment, per-requirement options, continuation
        yield from _requirement(line, f"{file}:{row}")


def _setup_cfg(text: str) -> Iterator[_Entry]:
    if "install_requires" not in text:
        return
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for line in parser.get("options", "install_requires", fallback="").splitlines():
        yield from _requirement(line, "setup.cfg [options] install_requires")


def _setup_py(text: str) -> Iterator[_Entry]:
    """From string literals with a version: a bare name might be a keyword, a classifier, anything."""
    literal = r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'"""
    row, end = 1, 0
    for match in re.finditer(rf"""#[^\n]*|\"{{3}}[\s\S]*?\"{{3}}|'{{3}}[\s\S]*?'{{3}}|{literal}""", text):
        row, end = row + text.count("\n", end, match.start()), match.start()
        requirement = match[1] or match[2] or ""
        if any(sign in requirement for sign in "<>=~"):
            yield from _requirement(requirement, f"setup.py:{row}")


def _conda(file: str, text: str) -> Iterator[_Entry]:
    """The items of the list ``dependencies``, one a line, and of the list ``pip`` in it."""
    inside, pip = False, -1  # pip: how far its "- pip:" is indented
    for row, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", line)
        if re.match(r"[A-Za-z]", line):
            inside, pip = line.startswith("dependencies:"), -1
        item = re.match(r"(\s*)-\s+(.*)", line)
        if not inside or not item:
            continue
        indent, requirement = len(item[1]), item[2].strip().strip("'\"")
        if re.fullmatch(r"pip\s*:", requirement):
            pip = indent
        elif 0 <= pip < indent:
            yield from _requirement(requirement, f"{file}:{row}")
        else:
            yield from _conda_requirement(requirement, f"{file}:{row}")


# ------------------------------------------------------------------------------------- requirements


def _requirement(text: str, place: str) -> Iterator[_Entry]:
    """A PEP 508 requirement; nothing if it is none."""
    name = re.match(_NAME, text)
    rest = text[name.end() :].partition(";")[0].strip() if name else ""
    range_ = _ANY if rest.startswith("@") else _pep440(rest[1:-1] if rest[:1] + rest[-1:] == "()" else rest)
    if name and range_:
        yield name[1], range_, place


def _conda_requirement(text: str, place: str) -> Iterator[_Entry]:
    name = re.match(r"(?:[^\s:]+::)?([A-Za-z0-9_.-]+)\s*", text)
    if not name:
        return
    rest = text[name.end() :]
    fuzzy = re.fullmatch(r"=\s*([^=\s*]+?)(?:\.?\*)?([=\s].*)?|([\d.]+?)\.?\*([=\s].*)?", rest)
    exact = re.fullmatch(r"(\d[^=\s|,]*)([=\s].*)?", rest)  # a second word or "=" is the build
    if fuzzy:
        rest = f"=={fuzzy[1] or fuzzy[3]}.*"
    elif exact:
        rest = f"=={exact[1]}"
    range_ = _pep440(rest)
    if range_:
        yield "torch" if name[1] == "pytorch" else name[1], range_, place


def _pep440(text: str) -> _Range | None:
    """The range of a comma-separated version specifier, ``_ANY`` if empty; None if malformed."""
    result = _ANY
    for clause in text.split(","):
        match = re.fullmatch(_CLAUSE, clause.strip())
        range_ = _clause(match["operator"], _release(match["release"]), bool(match["wildcard"])) if match else None
        if range_ is None and clause.strip():
            return None
        result = _meet(result, range_ or _ANY)
    return result


def _clause(operator: str, release: _Release, wildcard: bool) -> _Range | None:
    if wildcard and operator not in ("==", "!="):
        return None
    if operator == "!=":  # a hole in the range
        return _ANY
    if operator == "~=":
        return _below(release, len(release) - 2) if len(release) > 1 else None
    if wildcard:
        return _below(release, len(release) - 1)
    bound = _canonical(release)
    if operator in (">=", ">"):
        return _Range(bound, None, False)
    return _Range(bound if "==" in operator else None, bound, operator == "<")


def _poetry(text: str) -> _Range | None:
    """The range of a poetry constraint, None if malformed: ``^``, ``~``, ``*``, a bare version, ``||``."""
    result = None
    for alternative in re.sub(r"([<>=!~^])\s+", r"\1", text).split("|"):
        range_: _Range | None = _ANY
        for clause in alternative.replace(",", " ").split():
            one = _poetry_clause(clause)
            range_ = _meet(range_, one) if range_ and one else None
        if range_ is None:
            return None
        if alternative:  # "||" leaves an empty one
            result = _join(result, range_) if result else range_
    return result


def _poetry_clause(text: str) -> _Range | None:
    if text == "*":
        return _ANY
    if text[0].isdigit():
        return _pep440(f"=={text}")
    if text[0] not in "^~" or text.startswith("~="):
        return _pep440(text)
    match = re.fullmatch(_CLAUSE, f"=={text[1:]}")
    if not match or match["wildcard"]:
        return None
    release = _release(match["release"])
    last = len(release) - 1
    if text[0] == "~":
        return _below(release, min(1, last))
    return _below(release, next((at for at, number in enumerate(release) if number), last))


def _release(text: str) -> _Release:
    return tuple(int(number) for number in text.split("."))


def _canonical(release: _Release) -> _Release:
    release = (*release, 0, 0)[: max(2, len(release))]
    while len(release) > 2 and not release[-1]:
        release = release[:-1]
    return release


def _below(release: _Release, at: int) -> _Range:
    """From a release up to where its number ``at`` goes up by one."""
    return _Range(_canonical(release), _canonical((*release[:at], release[at] + 1)), True)


def _meet(one: _Range, two: _Range) -> _Range:
    floors = [range_.floor for range_ in (one, two) if range_.floor]
    ceilings = [(range_.ceiling, not range_.open) for range_ in (one, two) if range_.ceiling]
    ceiling, closed = min(ceilings) if ceilings else (None, True)
    return _Range(max(floors, default=None), ceiling, not closed)


def _join(one: _Range, two: _Range) -> _Range:
    floor = min(one.floor, two.floor) if one.floor and two.floor else None
    if not one.ceiling or not two.ceiling:
        return _Range(floor, None, False)
    ceiling, closed = max((one.ceiling, not one.open), (two.ceiling, not two.open))
    return _Range(floor, ceiling, not closed)
