"""GEL403 in every kind of file that declares torch: where it sits, and what its fix writes, read back by packaging."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement as Packaged

from gelu_lint import cli
from gelu_lint.requirements import _toml_strings, declared

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

NET = "import torch.nn.functional as F\n\n\ndef act(x):\n    return F.gelu(x, approximate='tanh')\n"


def found(root: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, object]]:
    cli.main(["check", "--select", "GEL403,GEL900", "--output-format", "json", *argv, str(root)])
    return json.loads(capsys.readouterr().out)


def lay(root: Path, files: dict[str, str]) -> None:
    for name, text in {"net.py": NET, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())


_POETRY = "[tool.poetry.dependencies]\npython = '^3.8'\n"
_SETUP = "from setuptools import setup\n\nsetup(install_requires=['torch>=1.8'])\n"
#: file, text, what the fix makes of "torch…" in it (None: no fix)
DECLARED = {
    "pep 621": ("pyproject.toml", '[project]\ndependencies = ["torch>=1.8", "numpy"]  # why\n', "torch>=1.12"),
    "marker": ("pyproject.toml", "[project]\ndependencies = ['torch>=1.8; python_version<\"3.8\"']\n", "torch>=1.12;"),
    "extra": (
        "pyproject.toml",
        '[project.optional-dependencies]\na = [\n  "torch >=1.10, <2.5",\n]\n',
        "torch >=1.12,",
    ),
    "inline extra": ("pyproject.toml", "[project]\noptional-dependencies = {a = ['torch>1.4']}\n", "torch>=1.12"),
    "group": ("pyproject.toml", "[dependency-groups]\ndev = [{include-group='x'}, 'torch>=1.9']\n", "torch>=1.12"),
    "caret": ("pyproject.toml", _POETRY + 'torch = "^1.8"\n', '"^1.12"'),
    "poetry range": ("pyproject.toml", _POETRY + 'torch = ">=1.8,<3"\n', '">=1.12,<3"'),
    "poetry table": ("pyproject.toml", _POETRY + 'torch = {version = "^1.8.1", optional = true}\n', '"^1.12"'),
    "poetry dotted": ("pyproject.toml", _POETRY + 'torch.version = "^1.8"\ntorch.optional = true\n', '"^1.12"'),
    "poetry section": ("pyproject.toml", "[tool.poetry.dependencies.torch]\nversion = '^1.8'\n", "'^1.12'"),
    "poetry group": ("pyproject.toml", "[tool.poetry.group.gpu.dependencies]\ntorch = '>=1.8'\n", "'>=1.12'"),
    "tilde": ("pyproject.toml", _POETRY + 'torch = "~1.8"\n', None),
    "bare": ("pyproject.toml", _POETRY + 'torch = "1.8.1"\n', None),
    "or": ("pyproject.toml", _POETRY + 'torch = "^1.8 || ^2.0"\n', None),
    "escape": ("pyproject.toml", _POETRY + 'name = "a\\"b"\ntorch = "^1.8"\n', '"^1.12"'),
    "long": (
        "pyproject.toml",
        '[project]\nx = """\ntorch = "^1.8"\n"""\n' + _POETRY + 'torch = "^1.8"\n',
        None,
    ),
    "requirements": ("requirements.txt", "numpy\ntorch>=1.7.1  # why\n", "torch>=1.12"),
    "indented": ("requirements.txt", "  torch >= 1.7.1\r\nnumpy\r\n", "torch >= 1.12"),
    "folder": ("requirements/base.txt", "-r x.txt\ntorch[opt]>=1.7\n", "torch[opt]>=1.12"),
    "compatible": ("requirements.txt", "torch~=1.8\n", "torch~=1.12"),
    "compatible patch": ("requirements.txt", "torch~=1.8.1\n", None),
    "pin": ("requirements.txt", "torch==1.8.1\n", None),
    "wildcard": ("requirements.txt", "torch==1.*\n", None),
    "ceiling": ("requirements.txt", "torch>=1.8,<1.12\n", None),
    "closed": ("requirements.txt", "torch>=1.8,<=1.12\n", "torch>=1.12,<=1.12"),
    "hole": ("requirements.txt", "torch>=1.8,!=1.9.0\n", "torch>=1.12,!=1.9.0"),
    "twice": ("requirements.txt", "torch>=1.8,>=1.9\n", None),
    "setup.py": (
        "setup.py",
        "from setuptools import setup\n\nsetup(install_requires=['torch>=1.8'])\n",
        "'torch>=1.12'",
    ),
    "setup.cfg": ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch>=1.8\n", "torch>=1.12"),
    "setup.cfg row": ("setup.cfg", "[options]\ninstall_requires = torch>=1.8\n", "torch>=1.12"),
    "conda": ("environment.yml", "name: x\ndependencies:\n  - 'pytorch>=1.8'\n", "'pytorch>=1.12'"),
    "conda space": ("environment.yml", "dependencies:\n- pytorch >=1.8  # why\n", "pytorch >=1.12"),
    "conda fuzzy": ("environment.yml", "dependencies:\n- pytorch=1.8\n", None),
    "conda pip": ("environment.yml", "dependencies:\n- pip:\n  - torch>=1.8\n", "torch>=1.12"),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_places_and_fixes(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, text, wanted = DECLARED[kind]
    lay(tmp_path, {name: text})
    (finding,) = found(tmp_path, capsys)
    assert (finding["code"], Path(str(finding["filename"])).relative_to(tmp_path).as_posix()) == ("GEL403", name)
    row = text.splitlines()[finding["location"]["row"] - 1][finding["location"]["column"] - 1 :]
    assert row.startswith(("torch", "pytorch", "^", ">", "~", "1.8"))
    assert (finding["fix"] is None) == (wanted is None and kind != "long")
    cli.main(["fix", "--select", "GEL403", "--unsafe-fixes", str(tmp_path)])
    capsys.readouterr()
    after = (tmp_path / name).read_bytes().decode()
    if finding["fix"] is None:
        assert after == text
        return
    assert (wanted or "") in after
    old, new = text.splitlines(keepends=True), after.splitlines(keepends=True)
    changed = [index for index, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert changed == [finding["location"]["row"] - 1], "one row, and of it one clause"
    assert declared(str(tmp_path))["torch"].floor == (1, 12)
    assert found(tmp_path, capsys) == []


@pytest.mark.parametrize(
    "line",
    ["torch", "torch>=1.12", "torch>=1.11.1", "torch>1.11", "torch<3", "torch!=1.8", "torch @ https://x.org/t.whl"],
)
def test_floors_that_are_high_enough_or_unknown(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, {"requirements.txt": f"{line}\n"})
    assert found(tmp_path, capsys) == []


def test_the_source_that_decides_is_the_one_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = "[project]\ndependencies = ['torch>=2']\n[project.optional-dependencies]\nold = ['torch>=1.8']\n"
    lay(tmp_path, {"pyproject.toml": toml, "requirements.txt": "torch>=1.8\n"})
    assert found(tmp_path, capsys) == []


def test_every_low_requirement_of_it_is_raised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = (
        "[project]\ndependencies = [\n  'torch>=1.8; python_version<\"3.9\"',\n  'torch>=1.10; sys_platform==\"x\"',\n"
        "  'torch>=2; python_version>=\"3.9\"',\n]\n[dependency-groups]\nold = ['torch>=1.8']\n"
    )
    lay(tmp_path, {"pyproject.toml": toml})
    assert [finding["location"]["row"] for finding in found(tmp_path, capsys)] == [3, 4]
    cli.main(["fix", "--select", "GEL403", "--unsafe-fixes", str(tmp_path)])
    after = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    floors = [str(Packaged(text).specifier) for text in after["project"]["dependencies"]]
    assert floors == [">=1.12", ">=1.12", ">=2"]
    assert after["dependency-groups"] == {"old": ["torch>=1.8"]}


def test_min_torch_speaks_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = "[project]\ndependencies = ['torch>=2']\n\n[tool.gelu-lint]\n# old\nmin-torch = '1.10'\n"
    lay(tmp_path, {"pyproject.toml": toml})
    (finding,) = found(tmp_path, capsys)
    assert (finding["location"], finding["fix"]) == ({"row": 6, "column": 14}, None)
    lay(tmp_path, {"pyproject.toml": toml.replace("1.10", "1.12").replace(">=2", ">=1.8")})
    assert found(tmp_path, capsys) == []


@pytest.mark.parametrize(
    "code",
    [
        NET.replace("return", "try:\n        return").replace(
            "'tanh')\n", "'tanh')\n    except TypeError:\n        pass\n"
        ),
        NET.replace(", approximate='tanh'", ""),
        NET.replace("import torch.nn.functional as F", "import jax.nn as F").replace("'tanh'", "True"),
        NET.replace("def act", "def test_act"),
    ],
)
def test_uses_that_do_not_count(code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, {"requirements.txt": "torch>=1.8\n", "net.py": code, "tests/test_a.py": NET, "examples/a.py": NET})
    assert found(tmp_path, capsys) == []


def test_only_runs_over_the_whole_project_speak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, {"requirements.txt": "torch>=1.8\n", ".git/HEAD": "", "src/net.py": NET})
    (tmp_path / "net.py").unlink()
    assert len(found(tmp_path, capsys)) == 1
    assert found(tmp_path / "src", capsys) == []


def test_files_that_cannot_be_placed_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, {})
    (tmp_path / "requirements.txt").write_bytes("torch>=1.8\n".encode("utf-16"))
    assert declared(str(tmp_path))["torch"].floor == (1, 8)
    assert found(tmp_path, capsys) == []


def test_per_file_ignores_work_at_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = (
        "[project]\ndependencies = ['torch>=1.8']\n[tool.gelu-lint.per-file-ignores]\n'pyproject.toml' = ['GEL403']\n"
    )
    lay(tmp_path, {"pyproject.toml": toml})
    assert found(tmp_path, capsys) == []


@pytest.mark.parametrize("comment", ["# gelu-lint: ignore[GEL403] built from source", "# noqa: GEL403"])
@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt", "environment.yml", "setup.py"])
def test_a_comment_silences_it(name: str, comment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "pyproject.toml": "[project]\ndependencies = [\n  'torch>=1.8',{}\n]\n",
        "requirements.txt": "torch>=1.8{}\n",
        "environment.yml": "dependencies:\n- pytorch>=1.8{}\n",
        "setup.py": "from setuptools import setup\n\nsetup(install_requires=['torch>=1.8']){}\n",
    }[name]
    lay(tmp_path, {name: row.format("")})
    assert len(found(tmp_path, capsys)) == 1
    lay(tmp_path, {name: row.format(f"  {comment}")})
    assert found(tmp_path, capsys) == []


def leaves(value: object, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner, path)]
    return [(path, value)] if isinstance(value, str) else []


TOML = """
title = "a"  # "b"
"quoted key".'and another' = 'c'
n = 1.5
d = 1979-05-27T07:32:00Z
list = [ "d", # "e"
  ["f", 'g'], {h = "i", j.k = "l", m = ["n", {o = "p"}]}, "q" ]
[table . "x.y"]
r = { s = {t = "u"}, v = [ ] }
[[many]]
w = "x"
[[many]]
w = 'y'
bool = true
inf = -inf
"""


def test_toml_strings_are_those_of_tomllib() -> None:
    seen = [(keys, text) for keys, text, _ in _toml_strings(TOML)]
    assert sorted(seen) == sorted(leaves(tomllib.loads(TOML), ()))
    assert all(TOML.startswith(text, at) for _, text, at in _toml_strings(TOML))
    real = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    seen = [(keys, text) for keys, text, _ in _toml_strings(real)]
    plain = [leaf for leaf in leaves(tomllib.loads(real), ()) if "\\" not in leaf[1]]
    assert sorted(seen) == sorted(plain)
