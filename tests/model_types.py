"""Rebuild gelu_lint/facts/model_types.py from an unpacked source tree of transformers, which is never imported.

    python tests/model_types.py /path/to/transformers            prints the module
    python tests/model_types.py /path/to/transformers --write    writes it

A row says of one configuration class: its name, its model type, the keys of activations that it has with their
defaults, and the classes of the configurations inside it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).parent.parent / "gelu_lint" / "facts" / "model_types.py"

_KEY = re.compile(r"(?!is_)(?:\w+_)?(?:act|activation|afn)(?:_fn|_func|_function)?|feed_forward_proj")
_WIDEST = 118  # characters of a row of the table

_READ = re.compile(r"config\.(\w+)|getattr\((?:self\.)?config, \"(\w+)\"")


class Class(NamedTuple):
    """One configuration class as its own body says; bases add what is missing here."""

    name: str
    folder: Path
    bases: tuple[str, ...]
    model_type: str
    keys: dict[str, str]
    subs: dict[str, str]
    auto: dict[str, str]


class Row(NamedTuple):
    """What the table says of a class: its model types, its own first, ``keys`` with their defaults ("" where there is
    no plain one), the classes ``subs`` by key."""

    name: str
    model_types: tuple[str, ...]
    keys: dict[str, str]
    subs: dict[str, str]


def read(root: Path) -> tuple[str, list[Row]]:
    """The version of a source tree, and the rows of all configuration classes that have to do with activations."""
    models = root / "models"
    version = re.search(r'^__version__ = "(.+)"', (root / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None, "no version in it"
    classes: dict[str, Class] = {}
    for path in sorted(models.glob("*/configuration_*.py")):
        for found in _classes(path):
            assert found.name not in classes, f"{found.name} is defined twice"
            classes[found.name] = found
    of_type = _config_classes(models)
    seen: dict[Path, set[str]] = {}
    rows = []
    for name in sorted(classes):
        own = classes[name]
        if own.folder not in seen:
            seen[own.folder] = _read_by_models(own.folder)
        line = list(_line(name, classes))
        if not any("PreTrainedConfig" in item.bases for item in line):
            continue
        model_type, keys, subs = "", {}, {}
        for item in line:
            model_type = item.model_type or model_type
            keys.update(item.keys)
            subs.update({**item.subs, **{key: of_type[kind] for key, kind in item.auto.items() if kind in of_type}})
        if subs or keys:
            # What models read beyond what the class has: keys that only some configurations hold.
            keys |= dict.fromkeys(sorted(seen[own.folder] - set(keys)), "")
        types = [kind for kind, owner in of_type.items() if owner == name]
        if model_type and of_type.get(model_type, name) == name:  # else another class is meant by it
            types = [model_type, *(kind for kind in types if kind != model_type)]
        rows.append(Row(name, tuple(types), dict(sorted(keys.items())), dict(sorted(subs.items()))))
    kept = {row.name for row in rows if row.keys}
    for _ in range(3):  # configurations inside configurations inside configurations
        kept |= {row.name for row in rows if kept & set(row.subs.values())}
    return version[1], [
        row._replace(subs={key: name for key, name in row.subs.items() if name in kept})
        for row in rows
        if row.name in kept and (row.model_types or any(row.name in other.subs.values() for other in rows))
    ]


def _classes(path: Path) -> Iterator[Class]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        model_type = ""
        keys: dict[str, str] = {}
        subs: dict[str, str] = {}
        auto: dict[str, str] = {}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                name, value = item.target.id, item.value
            elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
                name, value = item.targets[0].id, item.value
            else:
                keys |= {key: "" for key in _mentioned(item) if key not in keys}
                continue
            if name == "model_type" and isinstance(value, ast.Constant):
                model_type = str(value.value)
            elif name in ("sub_configs", "sub_configs_defaults") and isinstance(value, ast.Dict):
                for key, spec in zip(value.keys, value.values, strict=True):
                    assert isinstance(key, ast.Constant)
                    _sub(str(key.value), spec, subs, auto)
            elif name == "attribute_map" and isinstance(value, ast.Dict):
                names = [ast.literal_eval(key) for key in value.keys if key is not None]
                keys |= {key: "" for key in names if _KEY.fullmatch(key)}
            elif _KEY.fullmatch(name):
                keys[name] = _default(value)
        bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
        yield Class(node.name, path.parent, bases, model_type, keys, subs, auto)


def _sub(key: str, spec: ast.expr, subs: dict[str, str], auto: dict[str, str]) -> None:
    """Note the class of a configuration inside, or the model type that it has unless it says otherwise."""
    given = {}
    if isinstance(spec, ast.Call):
        given = {word.arg: word.value for word in spec.keywords}
        spec = given.get("config_class") or spec.args[0]
    kind = given.get("model_type")
    if isinstance(kind, ast.Constant):
        auto[key] = str(kind.value)
    elif isinstance(spec, ast.Name) and spec.id != "AutoConfig":
        subs[key] = spec.id


def _mentioned(item: ast.stmt) -> Iterator[str]:
    """Keys that a method of a configuration reads or sets."""
    for node in ast.walk(item):
        name = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", "")
        if isinstance(name, str) and _KEY.fullmatch(name):
            yield name


def _default(value: ast.expr | None) -> str:
    if isinstance(value, ast.Call):
        value = next((word.value for word in value.keywords if word.arg == "default"), None)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _line(name: str, classes: dict[str, Class]) -> Iterator[Class]:
    """A class after all that it derives from, the farthest first."""
    own = classes.get(name)
    if own is not None:
        for base in reversed(own.bases):
            yield from _line(base, classes)
        yield own


def _config_classes(models: Path) -> dict[str, str]:
    """The class that each model type means, as AutoConfig finds it."""
    names = ("auto_mappings.py", "configuration_auto.py")
    text = "".join((models / "auto" / name).read_text(encoding="utf-8") for name in names)
    return dict(re.findall(r'"([\w.-]+)"[,:] "(\w+Config)"', text))


def _read_by_models(folder: Path) -> set[str]:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("modeling_*.py")))
    return {key for pair in _READ.findall(text) for key in pair if _KEY.fullmatch(key)}


def module(version: str, rows: list[Row]) -> str:
    """The text of the module that holds the table."""
    lines = [
        f'"""Configuration classes of transformers {version}: what tests/model_types.py read in its source."""',
        "",
        "VERSION = " + f'"{version}"',
        "",
        "#: Class, model types, keys of activations with their defaults, classes of the configurations inside.",
        'TABLE = """\\',
    ]
    for row in rows:
        keys = ",".join(f"{key}={default}" for key, default in row.keys.items())
        subs = ",".join(f"{key}={name}" for key, name in row.subs.items())
        lines += _wrapped(f"{row.name};{','.join(row.model_types)};{keys};{subs}")
    return "\n".join([*lines, '"""', ""])


def _wrapped(row: str) -> Iterator[str]:
    """A row of the table in rows of the file: all but the first begin with a space."""
    while len(row) > _WIDEST:
        at = max(row.rfind(sign, 0, _WIDEST) for sign in ",;") + 1
        assert at > 1, f"no place to part {row}"
        yield row[:at]
        row = " " + row[at:]
    yield row


if __name__ == "__main__":
    text = module(*read(Path(sys.argv[1])))
    if "--write" in sys.argv[2:]:
        TARGET.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
