"""Settings of a run: defaults, then the nearest pyproject.toml with a [tool.gelu-lint] table, then the command line."""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys

from gelu_lint.options import FLAVOURS_OF_POLICY, OPTIONS, Option

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_ROOT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MARK = b"gelu-lint"


class BadConfig(Exception):
    """A setting that cannot be used; the message says where, what is wrong, and what was perhaps meant."""


class Settings:
    """Resolved settings for the files below one directory. ``root`` anchors path patterns; ``origin`` says by name
    where each value that is no default came from."""

    def __init__(self, root: str, values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
        self.root, self.values, self.origin = root, values, origin

    def codes(self, name: str) -> tuple[str, ...]:
        """The value of an option that lists codes or patterns."""
        value: tuple[str, ...] = self.values[name]
        return value

    @property
    def policy(self) -> str:
        """The flavour that the project decided on, "" where it did not."""
        return FLAVOURS_OF_POLICY.get(self.values["approximate"], "")

    @property
    def exclude(self) -> tuple[str, ...]:
        """Path patterns to skip."""
        return (*self.codes("exclude"), *self.codes("extend-exclude"))


def settings_for(directory: str, overrides: Mapping[str, Any]) -> Settings:
    """Settings of the files in ``directory``; ``overrides`` are options from the command line.

    Raises BadConfig for a file that is no TOML, an unknown key or a value of the wrong type.
    """
    return settings_of(config_for(directory, overrides), overrides)


def config_for(directory: str, overrides: Mapping[str, Any]) -> str:
    """The file that configures us for the files in ``directory``, "" if there is none. Raises BadConfig."""
    explicit: str = overrides.get("config", "")
    if overrides.get("isolated"):
        return ""
    if not explicit:
        return _nearest(os.path.abspath(directory))
    path = os.path.abspath(explicit)
    if not os.path.isfile(path):
        raise BadConfig(f"{explicit}: no such file")
    if _table(path) is None:
        raise BadConfig(f"{explicit}: has no table [tool.gelu-lint]")
    return path


def settings_of(path: str, overrides: Mapping[str, Any]) -> Settings:
    """The settings that a file, "" for none, and options from the command line come to. Raises BadConfig."""
    values: dict[str, Any] = {option.name: option.default for option in OPTIONS}
    origin: dict[str, str] = {}
    if path:
        table = _read(path)
        values.update(table)
        origin.update(dict.fromkeys(table, path))
    values.update(overrides)
    origin.update(dict.fromkeys(overrides, "command line"))
    return Settings(os.path.dirname(path) if path else os.getcwd(), values, origin)


def project_root(directory: str) -> str:
    """The nearest directory at or above ``directory`` that looks like a project; ``directory`` itself if none does."""
    return marked_root(directory) or os.path.abspath(directory)


def marked_root(directory: str) -> str:
    """The nearest directory at or above ``directory`` that looks like a project, "" if none does."""
    return _marked(os.path.abspath(directory))


@functools.cache
def _marked(at: str) -> str:
    if any(os.path.exists(f"{at}{os.sep}{name}") for name in _ROOT_FILES):
        return at
    above = os.path.dirname(at)
    return _marked(above) if above != at else ""


@functools.cache
def _nearest(directory: str) -> str:
    """The nearest pyproject.toml at or above ``directory`` that configures us, "" if there is none."""
    path = os.path.join(directory, "pyproject.toml")
    try:
        with open(path, "rb") as file:
            marked = _MARK in file.read()
        if marked and _table(path) is not None:
            return path
    except OSError:
        pass
    above = os.path.dirname(directory)
    return "" if above == directory else _nearest(above)


@functools.cache
def _table(path: str) -> dict[str, Any] | None:
    """The table [tool.gelu-lint] of a TOML file, as it stands there; None if it has none."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not valid TOML: {error}") from None
    tool = data.get("tool")
    table = tool.get("gelu-lint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadConfig(f"{path}: [tool.gelu-lint] must be a table")
    return table


@functools.cache
def _read(path: str) -> dict[str, Any]:
    known = {option.name: option for option in OPTIONS if option.config}
    values = {}
    for key, value in (_table(path) or {}).items():
        option = known.get(key)
        if option is None:
            raise BadConfig(f"{path}: [tool.gelu-lint] has no option {key!r}{did_you_mean(key, known)}")
        values[key] = _checked(option, value, f"{path}: {key}")
    return values


def _checked(option: Option, value: object, where: str) -> object:
    kinds: dict[str, tuple[type, str]] = {
        "codes": (list, "a list of codes"),
        "list": (list, "a list of strings"),
        "flag": (bool, "true or false"),
        "choice": (str, "one of " + ", ".join(option.choices)),
        "text": (str, "a string"),
        "integer": (int, "a whole number"),
        "table": (dict, "a table of lists"),
        "version": (str, 'a version such as "1.13"'),
    }
    kind, wanted = kinds[option.kind]
    wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
    if isinstance(value, list):
        wrong = wrong or not all(isinstance(item, str) for item in value)
    if isinstance(value, dict):
        lists = all(isinstance(v, list) and all(isinstance(item, str) for item in v) for v in value.values())
        wrong = wrong or not lists
    if option.kind == "version" and isinstance(value, str):
        wrong = not all(part.isdecimal() for part in value.split("."))
    if wrong:
        raise BadConfig(f"{where} must be {wanted}, not {value!r}")
    if option.choices and value not in option.choices:
        hint = did_you_mean(str(value), option.choices)
        if option.name == "approximate" and value in ("erf", "exact"):
            hint = " (the erf form is 'none', as in torch)"
        raise BadConfig(f"{where} must be {wanted}, not {value!r}{hint}")
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        raise BadConfig(f"{where} must not be negative")
    if isinstance(value, dict):
        return {pattern: _upper(codes) for pattern, codes in value.items()}
    if isinstance(value, list):
        return _upper(value) if option.kind == "codes" else tuple(value)
    return value


def _upper(codes: Iterable[str]) -> tuple[str, ...]:
    return tuple(code.upper() for code in codes)


def forget() -> None:
    """Read every file anew from here on: settings are read once a run, and a process may have many runs."""
    for function in (_marked, _nearest, _table, _read):
        function.cache_clear()


def check_codes(settings: Settings, known: Iterable[str]) -> None:
    """Raises BadConfig if an option names a code, or prefix of codes, that no rule has."""
    codes = tuple(known)
    listed = [(name, code) for name in ("select", "extend-select", "ignore") for code in settings.codes(name)]
    for pattern, ignored in settings.values["per-file-ignores"].items():
        listed += [(f"per-file-ignores {pattern!r}", code) for code in ignored]
    for name, code in listed:
        if not code or not any(rule.startswith(code) for rule in codes):
            where = settings.origin.get(name.split()[0], "")
            raise BadConfig(f"{where}: {name}: no rule has the code {code!r}{did_you_mean(code, codes)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that names the closest known word, "" if none is close."""
    import difflib

    word, names = word.upper(), {name.upper(): name for name in known}
    if re.fullmatch(r"[A-Z]{3}[0-9OIL]+", word):
        word = word[:3] + word[3:].translate(str.maketrans("OIL", "011"))  # letters that pass for digits
    close = difflib.get_close_matches(word, names, 10, 0.6)
    best = max(close, key=lambda name: [a == b for a, b in zip(name, word, strict=False)], default="")
    return f" (did you mean {names[best]!r}?)" if best else ""
