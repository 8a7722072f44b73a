"""Settings: which table counts for a file, what it may say, and what the declared torch allows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gelu_lint import cli

MODEL = (
    "import torch.nn.functional as F\nfrom torch import nn\n"
    "a = nn.GELU()\nb = nn.GELU(approximate=True)\nc = nn.GELU('tanh')\n"
)  # GEL001 at 3, GEL003 at 4, GEL002 at 5 if the policy is "none"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(here: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)


def table(*lines: str) -> str:
    return "\n".join(["[tool.gelu-lint]", *lines, ""])


def gelu(*argv: str) -> int:
    try:
        return cli.main(argv)
    except SystemExit as stop:
        return stop.code


def found(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """The findings as ``path:row CODE``."""
    gelu("check", "--output-format", "concise", *argv)
    lines = (line.split() for line in capsys.readouterr().out.splitlines())
    return [f"{place.rsplit(':', 2)[0]} {code}" for place, code, *_ in lines]


def files(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    return sorted({line.split(":")[0] for line in found(capsys, *argv)})


# ------------------------------------------------------------------------------------- which table


def test_the_nearest_table_wins_and_nothing_is_merged(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {
        "pyproject.toml": table('approximate = "none"', 'ignore = ["GEL001"]'),
        "m.py": MODEL,
        "inner/pyproject.toml": table('ignore = ["GEL003"]'),
        "inner/deep/m.py": MODEL,
    })  # fmt: skip
    assert found(capsys, ".") == [
        *("inner/deep/m.py:3 GEL001",),  # neither the outer ignore nor the outer policy
        *("m.py:4 GEL003", "m.py:5 GEL002"),
    ]


def test_a_pyproject_without_our_table_is_passed_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {
        "pyproject.toml": table('ignore = ["GEL003"]'),
        "a/pyproject.toml": "[tool.ruff]\nline-length = 100\n",
        "b/pyproject.toml": '# see [tool.gelu-lint] above\n[project]\nname = "gelu-lint"\n',
        "c/pyproject.toml": "not toml at all, and none of our business",
        **dict.fromkeys(("a/m.py", "b/m.py", "c/m.py"), MODEL),
    })  # fmt: skip
    assert found(capsys, ".") == ["a/m.py:3 GEL001", "b/m.py:3 GEL001", "c/m.py:3 GEL001"]


@pytest.mark.parametrize(
    "text",
    [
        '[tool.gelu-lint]\nignore = ["GEL003"]\n',
        '[ tool . "gelu-lint" ]\nignore = ["GEL003"]\n',
        '[tool]\ngelu-lint.ignore = ["GEL003"]\n',
        '[tool]\ngelu-lint = { ignore = ["gel003"] }\n',
    ],
)
def test_any_toml_spelling_of_the_table(here: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    put(here, {"pyproject.toml": text, "m.py": MODEL})
    assert found(capsys, "m.py") == ["m.py:3 GEL001"]


def test_an_empty_table_counts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"pyproject.toml": table('ignore = ["GEL"]'), "a/pyproject.toml": table(), "a/m.py": MODEL})
    assert found(capsys, ".") == ["a/m.py:3 GEL001", "a/m.py:4 GEL003"]


def test_the_file_counts_not_where_we_stand(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(here, {"a/pyproject.toml": table('ignore = ["GEL003"]'), "a/m.py": MODEL, "b/m.py": MODEL})
    monkeypatch.chdir(here / "b")
    assert found(capsys, "../a", "m.py") == ["../a/m.py:3 GEL001", "m.py:3 GEL001", "m.py:4 GEL003"]


def test_config_and_isolated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {
        "pyproject.toml": table('ignore = ["GEL003"]'),
        "other.toml": table('ignore = ["GEL001"]'),
        "inner/pyproject.toml": table('ignore = ["GEL"]'),
        "inner/m.py": MODEL,
        "m.py": MODEL,
    })  # fmt: skip
    assert found(capsys, ".") == ["m.py:3 GEL001"]
    assert found(capsys, "--config", "other.toml", ".") == ["inner/m.py:4 GEL003", "m.py:4 GEL003"]
    assert len(found(capsys, "--isolated", ".")) == 4


def test_config_without_our_table_is_an_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"other.toml": 'ignore = ["GEL001"]\n', "m.py": MODEL})
    assert gelu("check", "--config", "other.toml", "m.py") == 2
    assert "other.toml: has no table [tool.gelu-lint]" in capsys.readouterr().err


def test_the_command_line_beats_every_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"a/pyproject.toml": table('ignore = ["GEL"]'), "a/m.py": MODEL})
    assert found(capsys, "--ignore", "GEL003", ".") == ["a/m.py:3 GEL001"]


def test_two_subprojects_in_one_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {
        "a/pyproject.toml": table('approximate = "none"', 'select = ["GEL002"]', 'extend-exclude = ["gen"]'),
        "b/pyproject.toml": table('approximate = "tanh"', 'select = ["GEL001", "GEL002"]', 'exclude = ["skip_*.py"]'),
        **dict.fromkeys(("a/m.py", "a/gen/m.py", "b/m.py", "b/gen/m.py", "b/skip_me.py"), MODEL),
    })  # fmt: skip
    expected = ["a/m.py:5 GEL002", "b/gen/m.py:3 GEL001", "b/m.py:3 GEL001"]
    assert found(capsys, "a", "b") == expected
    assert found(capsys, ".") == expected
    assert found(capsys, "a/m.py", "b") == expected
    gelu("fix", "--allow-delta", "1e-3", ".")
    assert "GELU('none')" in (here / "a/m.py").read_text().replace('"', "'").replace("approximate=", "")
    assert "c = nn.GELU('tanh')" in (here / "b/m.py").read_text()
    assert (here / "a/gen/m.py").read_text() == MODEL


# ------------------------------------------------------------------------------------ bad settings


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("selct = []", "has no option 'selct' (did you mean 'select'?)"),
        ("min_torch = '1.13'", "has no option 'min_torch' (did you mean 'min-torch'?)"),
        ("diff = true", "has no option 'diff'"),
        ("select = 'GEL0'", "select must be a list of codes, not 'GEL0'"),
        ("select = [1]", "select must be a list of codes, not [1]"),
        ("select = ['GEL0O1']", "select: no rule has the code 'GEL0O1' (did you mean 'GEL001'?)"),
        ("ignore = ['']", "ignore: no rule has the code ''"),
        ("extend-select = ['E501']", "extend-select: no rule has the code 'E501'"),
        ("exclude = 'build'", "exclude must be a list of strings"),
        ("force-exclude = 1", "force-exclude must be true or false, not 1"),
        ("max-file-size = '2MB'", "max-file-size must be a whole number, not '2MB'"),
        ("max-file-size = true", "max-file-size must be a whole number, not True"),
        ("max-file-size = -1", "max-file-size must not be negative"),
        ("approximate = 'tan'", "approximate must be one of none, tanh, not 'tan' (did you mean 'tanh'?)"),
        ("approximate = true", "approximate must be one of none, tanh, not True"),
        ("output-format = 'sarif'", "output-format must be one of concise, json, text"),
        ("fail-on = 'warn'", "(did you mean 'warning'?)"),
        ("min-torch = 1.13", "min-torch must be a version such as"),
        ("min-torch = '>=1.13'", "min-torch must be a version such as"),
        ("per-file-ignores = ['GEL001']", "per-file-ignores must be a table of lists"),
        ("per-file-ignores = { 'a' = 'GEL001' }", "per-file-ignores must be a table of lists"),
        ("per-file-ignores = { 'a' = ['GEL0O1'] }", "per-file-ignores 'a': no rule has the code 'GEL0O1'"),
        ("select = [", "not valid TOML"),
        ("select = []\nselect = []", "not valid TOML"),
        ("[tool]\ngelu-lint = 1", "not valid TOML"),  # a second [tool.gelu-lint]
    ],
)
def test_bad_settings_are_two_and_say_where_and_what(
    here: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    put(here, {"sub/pyproject.toml": table(line), "sub/m.py": MODEL})
    for argv in (["check", "."], ["fix", "sub/m.py"], ["config", "--config", "sub/pyproject.toml"]):
        assert gelu(*argv) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert words in err
        assert f"{here}/sub/pyproject.toml: " in err
        assert err.count("\n") == 1
    assert (here / "sub/m.py").read_text() == MODEL


def test_a_table_that_is_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"pyproject.toml": "[tool]\ngelu-lint = 'on'\n", "m.py": MODEL})
    assert gelu("check", ".") == 2
    assert "[tool.gelu-lint] must be a table" in capsys.readouterr().err


def test_broken_toml_does_not_matter_to_isolated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"pyproject.toml": table("select = ["), "m.py": MODEL})
    assert len(found(capsys, "--isolated", ".")) == 2


def test_config_shows_values_and_where_each_came_from(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"pyproject.toml": table('ignore = ["gel003"]', "max-file-size = 5")})
    assert gelu("config") == 0
    lines = capsys.readouterr().out.splitlines()
    assert f'ignore = ["GEL003"]  # {here}/pyproject.toml' in lines
    assert f"max-file-size = 5  # {here}/pyproject.toml" in lines
    assert "select = []  # default" in lines
    gelu("config", "--isolated")
    lines = capsys.readouterr().out.splitlines()
    assert all(line.endswith("# default") for line in lines if not line.startswith("#"))
    assert any(line.startswith("# rules that run: GEL001, ") for line in lines)


# ------------------------------------------------------------------------------------- torch floor

OLD = (
    "import torch.nn.functional as F\nfrom torch import nn\n"
    "a = nn.GELU()\nb = nn.GELU(approximate=True)\n\n\ndef f(x, act=nn.GELU):\n    return act()(x)\n"
)
DECLARED = {
    "min-torch": {"pyproject.toml": table('min-torch = "{}"')},
    "PEP 621": {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>={}"]\n'},
    "requirements": {"requirements.txt": "torch>={}\n", "setup.cfg": ""},
    "min-torch wins": {"pyproject.toml": table('min-torch = "{}"') + '[project]\ndependencies = ["torch>=9"]\n'},
}


@pytest.mark.parametrize("how", DECLARED)
def test_below_1_12_nothing_is_offered_that_writes_approximate(
    here: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    for version, fixable in (("1.11", False), ("1.12", True), ("2.1", True)):
        folder = f"v{version}"
        put(here, {f"{folder}/{name}": text.replace("{}", version) for name, text in DECLARED[how].items()})
        put(here, {f"{folder}/m.py": OLD})
        floor = [] if fixable else ["GEL403"]
        assert [line.split()[1] for line in found(capsys, folder)] == ["GEL001", "GEL003", "GEL005", *floor]
        gelu("fix", "--unsafe-fixes", folder)
        capsys.readouterr()
        assert ("approximate=" in (here / folder / "m.py").read_text().replace("approximate=True", "")) == fixable
        if fixable:
            assert found(capsys, folder) == []


# -------------------------------------------------------------------------------------- exclusions


@pytest.mark.parametrize(
    ("lines", "argv", "expected"),
    [
        ([], ["."], ["gen/m.py", "m.py", "src/gen/m.py"]),
        (['extend-exclude = ["gen"]'], ["."], ["m.py"]),
        (['extend-exclude = ["/gen"]'], ["."], ["m.py", "src/gen/m.py"]),
        (['exclude = ["src"]'], ["."], ["build/m.py", "gen/m.py", "m.py"]),
        (['exclude = ["src"]', 'extend-exclude = ["gen", "build"]'], ["."], ["m.py"]),
        (['extend-exclude = ["gen"]'], ["gen/m.py"], ["gen/m.py"]),  # named: taken
        (['extend-exclude = ["gen"]', "force-exclude = true"], ["gen/m.py", "m.py"], ["m.py"]),
        (['extend-exclude = ["gen"]', "force-exclude = true"], ["gen"], []),
        (['extend-exclude = ["gen"]'], ["--force-exclude", "gen/m.py"], []),
        (['extend-exclude = ["gen"]', "force-exclude = true"], ["--no-force-exclude", "gen/m.py"], ["gen/m.py"]),
        ([], ["--extend-exclude", "gen,m.py", "."], []),
        ([], ["--exclude", "src/**", "."], ["build/m.py", "gen/m.py", "m.py"]),
    ],
)
def test_exclude(
    here: Path, capsys: pytest.CaptureFixture[str], lines: list[str], argv: list[str], expected: list[str]
) -> None:
    put(here, dict.fromkeys(("m.py", "gen/m.py", "src/gen/m.py", "build/m.py"), MODEL))
    put(here, {"pyproject.toml": table(*lines)})
    assert files(capsys, *argv) == expected


def test_respect_gitignore(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"m.py": MODEL, "out/m.py": MODEL, ".gitignore": "out\n"})
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    assert files(capsys, ".") == ["m.py"]
    assert files(capsys, "out/m.py") == ["out/m.py"]
    assert files(capsys, "--no-respect-gitignore", ".") == ["m.py", "out/m.py"]
    put(here, {"pyproject.toml": table("respect-gitignore = false")})
    assert files(capsys, ".") == ["m.py", "out/m.py"]


def test_max_file_size(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, {"m.py": MODEL, "pyproject.toml": table("max-file-size = 10")})
    assert found(capsys, "m.py") == ["m.py:1 GEL900"]
    assert len(found(capsys, "--max-file-size", "1000", "m.py")) == 2
