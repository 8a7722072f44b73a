"""The versions that a project declares for its dependencies, read from its packaging files.

Nothing is executed, imported or fetched; text that is malformed is passed over.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from gelu_lint.model import Requirement, Span
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.source import Unreadable, decode, read_bytes

_MAX_SIZE = 1_000_000  # bytes

_Release = tuple[int, ...]

# Strings, so that they are compiled on first use; ASCII only, any case.
_NAME = r"(?ai)\s*([a-z0-9][a-z0-9._-]*)\b\s*(?:\[[^\]]*\])?\s*"
_CLAUSE = (  # a release has at most 18 digits a number: int() raises at some length
    r"(?ai)(?P<operator>===|==|~=|!=|<=|>=|<|>)\s*v?(?P<release>\d{1,18}(?:\.\d{1,18})*)"
    r"(?:(?P<wildcard>\.\*)|(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-_.]?\d*|-\d+){0,3}"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?)"
)


#: The clauses of a specifier, operator and version: those that set no lowest version, and those that set but it.
_NO_FLOOR = ("<", "<=", "!=")
_RAISABLE = (">=", ">", "^", "~=")
_BOUND = r"(===|==|~=|!=|<=|>=|<|>|\^|~|=)\s*v?[\w.+*!-]+"
_TOML = (
    r"(?P<comment>#[^\n]*)|(?P<long>\"{3}[\s\S]*?\"{3,5}|'{3}[\s\S]*?'{3,5})|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
    r"|(?P<mark>[\[\]{}=,\n])|(?P<bare>[\w-]+)"
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


class _Entry(NamedTuple):
    """One requirement: the name as written, the range, and the place as people say it.

    ``text`` is what of it says which versions, ``at`` the offset in the file where that stands; -1 where it is a string
    of a TOML file, which stands under ``keys``.
    """

    name: str
    range: _Range
    place: str
    file: str = ""
    text: str = ""
    at: int = -1
    keys: tuple[str, ...] = ()


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
        for entry in entries:
            name = _normal(entry.name)
            known = here.get(name)
            joined = _join(_Range(*known[:3]), entry.range) if known else entry.range
            here[name] = Declared(*joined, known.source if known else entry.place)
        found = here | found
    return found


def requirements(root: str, package: str) -> tuple[Requirement, ...]:
    """Where the project at ``root`` says which versions of a package it takes: in the source that decides.

    Paths are relative to the root. What cannot be placed is left out: files that are no UTF-8, strings with escapes.
    Raises nothing.
    """
    for entries in _sources(root):
        named = [entry for entry in entries if _normal(entry.name) == package]
        if named:
            return tuple(found for entry in named if (found := _placed(root, entry)) is not None)
    return ()


def option(root: str, file: str, keys: tuple[str, ...]) -> tuple[Requirement, ...]:
    """Where a TOML file says the lowest version of a package, and no more, under ``keys``."""
    text = next((text for at, text, _ in _toml_strings(_read(root, file)) if at == keys), None)
    range_ = _pep440(f">={text}") if text is not None else None
    found = _placed(root, _Entry("", range_, "", file, text or "", -1, keys)) if range_ is not None else None
    return (found,) if found is not None else ()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _placed(root: str, entry: _Entry) -> Requirement | None:
    try:
        source = decode(entry.file, read_bytes(os.path.join(root, entry.file), _MAX_SIZE))
    except Unreadable:
        return None
    at = entry.at
    if entry.keys:
        strings = _toml_strings(source.text)
        at = next((start for keys, text, start in strings if keys == entry.keys and text == entry.text), -1)
    if at < 0 or not source.text.startswith(entry.text, at):
        return None
    bounds = [found for found in re.finditer(_BOUND, entry.text.partition(";")[0]) if found[1] not in _NO_FLOOR]
    single = bounds[0] if len(bounds) == 1 and "|" not in entry.text else None
    if single is not None and (single[1] not in _RAISABLE or single[0].endswith("*")):
        single = None
    row, column = source.position(at)
    first, last = single.span() if single is not None else (0, 0)
    span = Span(row, column, row, column + len(entry.text))
    bound = Span(row, column + first, row, column + last)
    return Requirement(entry.file, entry.text, span, single[0] if single is not None else "", bound, *entry.range)


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
    yield _strings(project.get("dependencies"), "project", "dependencies")
    for keys in (("project", "optional-dependencies"), ("dependency-groups",)):
        if keys == ("dependency-groups",):  # for who works on the project, as those of poetry
            yield from _poetry(document)
        lists = _table(document, *keys)
        yield [entry for name, value in lists.items() for entry in _strings(value, *keys, name)]


def _poetry(document: Any) -> Iterator[Iterable[_Entry]]:
    keys = ("tool", "poetry")
    poetry = _table(document, *keys)
    yield _poetry_table(_table(poetry, "dependencies"), *keys, "dependencies")
    groups = _table(poetry, "group")
    tables = [(("group", name, "dependencies"), _table(groups, name, "dependencies")) for name in groups]
    last = (("dev-dependencies",), _table(poetry, "dev-dependencies"))
    yield [entry for key, table in (*tables, last) for entry in _poetry_table(table, *keys, *key)]


def _table(document: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _strings(value: Any, *keys: str) -> Iterator[_Entry]:
    place = f"pyproject.toml [{'.'.join(keys[:-1])}] {keys[-1]}"
    for text in value if isinstance(value, list) else ():
        if isinstance(text, str):
            yield from (
                entry._replace(file="pyproject.toml", text=text, keys=keys) for entry in _requirement(text, place)
            )


def _poetry_table(table: dict[str, Any], *keys: str) -> Iterator[_Entry]:
    place = f"pyproject.toml [{'.'.join(keys)}]"
    for name, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            version = one.get("version", "*") if isinstance(one, dict) else one  # "*": from git, a path, a URL
            range_ = _poetry_range(version) if isinstance(version, str) else None
            if range_:
                at = (*keys, name, "version") if isinstance(one, dict) else (*keys, name)
                yield _Entry(name, range_, place, "pyproject.toml", version, -1, at)


def _toml_strings(text: str) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """The plain strings of a valid TOML text: the keys that each stands under, its content, and where that begins."""
    table: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    parts: list[str] = []
    holders: list[tuple[str, tuple[str, ...]]] = []  # brackets around, each with the keys that it stands under
    header = value = False
    for token in re.finditer(_TOML, text):
        kind, word = token.lastgroup, token[0]
        if kind in ("string", "bare") and not value:
            parts.append(word.strip("\"'"))
        elif kind == "string" and "\\" not in word:
            yield path, word[1:-1], token.start() + 1
        elif word == "\n" and not holders:
            value, parts = False, []
        elif word == "=":
            path, parts, value = (*(holders[-1][1] if holders else table), *parts), [], True
        elif word == "[" and not value:
            header, parts = True, []
        elif word == "]" and header:
            table, header = (tuple(parts), False) if parts else (table, False)
        elif word in ("[", "{"):
            holders.append((word, path))
            value, parts = word == "[", []
        elif word in ("]", "}") and holders:
            path, value = holders.pop()[1], True
        elif word == "," and holders and holders[-1][0] == "{":
            path, parts, value = holders[-1][1], [], False


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
    at = 0
    for row, whole in enumerate(text.splitlines(keepends=True), 1):
        # comment, per-requirement options, continuation
        line = re.sub(r"(^|\s)#.*|\s--.*|\\$", "", whole.splitlines()[0])
        yield from (_at(entry, file, line, at) for entry in _requirement(line, f"{file}:{row}"))
        at += len(whole)


def _at(entry: _Entry, file: str, text: str, at: int) -> _Entry:
    """``entry`` with its place: ``text``, which may have space around it, begins at an offset."""
    return entry._replace(file=file, text=text.strip(), at=at + len(text) - len(text.lstrip()))


def _setup_cfg(text: str) -> Iterator[_Entry]:
    if "install_requires" not in text:
        return
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    at = text.index("install_requires")
    for line in parser.get("options", "install_requires", fallback="").splitlines():
        found = lazy(rf"(?:^|[=:])[ \t]*({re.escape(line)})[ \t]*\r?$", re.MULTILINE).search(text, at)
        at = found.start(1) if found is not None else at
        for entry in _requirement(line, "setup.cfg [options] install_requires"):
            yield _at(entry, "setup.cfg", line, at if found is not None else -1)


def _setup_py(text: str) -> Iterator[_Entry]:
    """From string literals with a version: a bare name might be a keyword, a classifier, anything."""
    literal = r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'"""
    row, end = 1, 0
    for match in re.finditer(rf"""#[^\n]*|\"{{3}}[\s\S]*?\"{{3}}|'{{3}}[\s\S]*?'{{3}}|{literal}""", text):
        row, end = row + text.count("\n", end, match.start()), match.start()
        requirement = match[1] or match[2] or ""
        if any(sign in requirement for sign in "<>=~"):
            at = match.start(1) if match[1] else match.start(2)
            for entry in _requirement(requirement, f"setup.py:{row}"):
                yield _at(entry, "setup.py", requirement, at)


def _conda(file: str, text: str) -> Iterator[_Entry]:
    """The items of the list ``dependencies``, one a line, and of the list ``pip`` in it."""
    inside, pip = False, -1  # pip: how far its "- pip:" is indented
    end = 0
    for row, whole in enumerate(text.splitlines(keepends=True), 1):
        line = re.sub(r"(^|\s)#.*", "", whole.splitlines()[0])
        start, end = end, end + len(whole)
        if re.match(r"[A-Za-z]", line):
            inside, pip = line.startswith("dependencies:"), -1
        item = re.match(r"(\s*)-\s+(.*)", line)
        if not inside or not item:
            continue
        indent, requirement = len(item[1]), item[2].strip().strip("'\"")
        if re.fullmatch(r"pip\s*:", requirement):
            pip = indent
            continue
        read = _requirement if 0 <= pip < indent else _conda_requirement
        for entry in read(requirement, f"{file}:{row}"):
            yield _at(entry, file, requirement, start + line.index(requirement, item.start(2)))


# ------------------------------------------------------------------------------------- requirements


def _requirement(text: str, place: str) -> Iterator[_Entry]:
    """A PEP 508 requirement; nothing if it is none."""
    name = re.match(_NAME, text)
    rest = text[name.end() :].partition(";")[0].strip() if name else ""
    range_ = _ANY if rest.startswith("@") else _pep440(rest[1:-1] if rest[:1] + rest[-1:] == "()" else rest)
    if name and range_:
        yield _Entry(name[1], range_, place)


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
        yield _Entry("torch" if name[1] == "pytorch" else name[1], range_, place)


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


def _poetry_range(text: str) -> _Range | None:
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
