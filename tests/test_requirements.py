"""requirements.py against packaging, and the documented tables of poetry and conda."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from gelu_lint import requirements as module
from gelu_lint.requirements import Declared, declared

GRID = [Version(f"{a}.{b}.{c}") for a, b, c in product(range(4), repeat=3)]


def write(root: Path, files: dict[str, str]) -> dict[str, Declared]:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return declared(str(root))


def holds(found: Declared, version: Version) -> bool:
    release = Version(f"{version}").release
    if found.floor and release < (*found.floor, 0)[:3]:
        return False
    ceiling = (*found.ceiling, 0)[:3] if found.ceiling else None
    return ceiling is None or release < ceiling or (release == ceiling and not found.ceiling_open)


# -------------------------------------------------------------------------------- version specifiers


NUMBER = st.integers(0, 3).map(str)
RELEASE = st.lists(NUMBER, min_size=1, max_size=3).map(".".join)
CLAUSE = (
    st.tuples(st.sampled_from([">=", "<", "<=", "==", ">= "]), RELEASE).map("".join)
    | st.tuples(st.sampled_from(["=="]), RELEASE, st.just(".*")).map("".join)
    | st.tuples(st.just("~="), NUMBER, st.just("."), RELEASE).map("".join)
).filter(lambda clause: clause.count(".") < 3)


def one(tmp_path: Path, requirement: str) -> Declared | None:
    return write(tmp_path, {"requirements.txt": requirement}).get("torch")


@given(st.lists(CLAUSE, max_size=3).map(",".join))
@settings(max_examples=200, deadline=None)
def test_the_range_is_what_packaging_says(specifier: str) -> None:
    specifiers = Requirement(f"torch{specifier}").specifier
    (entry,) = module._requirement(f"torch{specifier}", "")
    found = Declared(*entry[1], "")
    assert [version for version in GRID if version in specifiers] == [v for v in GRID if holds(found, v)]


@given(st.lists(CLAUSE | st.tuples(st.sampled_from([">", "!="]), RELEASE).map("".join), max_size=3).map(",".join))
@settings(max_examples=100, deadline=None)
def test_holes_only_widen_the_range(specifier: str) -> None:
    specifiers = Requirement(f"torch{specifier}").specifier
    (entry,) = module._requirement(f"torch{specifier}", "")
    found = Declared(*entry[1], "")
    assert all(holds(found, version) for version in GRID if version in specifiers)


@given(st.text(st.sampled_from("torch>=<~!,;.*0129 rcdev+-_[]()@v"), max_size=25).map(lambda tail: f"torch{tail}"))
@settings(max_examples=300, deadline=None)
def test_malformed_text_is_passed_over(text: str) -> None:
    entries = list(module._requirement(text, ""))
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return  # we may be lenient, and did not raise
    if requirement.url is None and "!" not in str(requirement.specifier).replace("!=", ""):  # no epochs
        assert [entry[0] for entry in entries] == [requirement.name]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch", (None, None, False)),
        ("torch>=1.12", ((1, 12), None, False)),
        ("torch >= 1.12.0 , < 3", ((1, 12), (3, 0), True)),
        ("torch[opt]~=2.1.0", ((2, 1), (2, 2), True)),
        ("torch==2.1.0+cu118", ((2, 1), (2, 1), False)),
        ("torch==2.1.* ; python_version < '3.12'", ((2, 1), (2, 2), True)),
        ("torch<=2.0.1", (None, (2, 0, 1), False)),
        ("torch>=2.0rc1,!=2.1.2", ((2, 0), None, False)),
        ("torch (>=1.13)", ((1, 13), None, False)),
        ("torch @ https://example.org/torch-2.whl", (None, None, False)),
        ("Torch>=2  # why", ((2, 0), None, False)),
        ("torch==2.4.0 --hash=sha256:00 \\", ((2, 4), (2, 4), False)),
        ("torch==2.4.1 \\\n    --hash=sha256:00", ((2, 4, 1), (2, 4, 1), False)),
    ],
)
def test_requirement_lines(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    found = one(tmp_path, f"-r base.txt\n--index-url https://torch>=9\n# torch>=8\n\n{line}\n-e git+https://x#egg=y\n")
    assert found
    assert (found[:3], found.source) == (expected, "requirements.txt:5")


@pytest.mark.parametrize(
    "line",
    [
        *("torch>=x", "torch 2", "torch>=1.*", "torch~=2", "torch>=1!2.0", "torch=2", ">=2", "torch>="),
        *(f"torch>={'9' * 5000}", f"torch>=1{'a-' * 5000}!", "torch\u00b2>=1", "torch>=\u0661"),
    ],
)
def test_malformed_lines(tmp_path: Path, line: str) -> None:
    assert write(tmp_path, {"requirements.txt": f"{line}\nnumpy>=1\n"}).keys() == {"numpy"}


# ------------------------------------------------------------------------------------------- poetry


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [  # the tables of poetry's documentation, then combinations
        ("^1.2.3", ">=1.2.3 <2.0.0"),
        ("^1.2", ">=1.2.0 <2.0.0"),
        ("^1", ">=1.0.0 <2.0.0"),
        ("^0.2.3", ">=0.2.3 <0.3.0"),
        ("^0.0.3", ">=0.0.3 <0.0.4"),
        ("^0.0", ">=0.0.0 <0.1.0"),
        ("^0", ">=0.0.0 <1.0.0"),
        ("~1.2.3", ">=1.2.3 <1.3.0"),
        ("~1.2", ">=1.2.0 <1.3.0"),
        ("~1", ">=1.0.0 <2.0.0"),
        ("*", ">=0.0.0"),
        ("1.*", ">=1.0.0 <2.0.0"),
        ("1.2.*", ">=1.2.0 <1.3.0"),
        ("1.2.3", ">=1.2.3 <=1.2.3"),
        ("==1.2.3", ">=1.2.3 <=1.2.3"),
        (">= 1.2, < 1.5", ">=1.2 <1.5"),
        (">=1.2 <1.5", ">=1.2 <1.5"),
        ("^1.2 || ^2.1", ">=1.2 <3.0"),
        ("~=1.2", ">=1.2 <2"),
        ("^2.1,!=2.2.0", ">=2.1 <3"),
    ],
)
def test_poetry_constraints(tmp_path: Path, constraint: str, expected: str) -> None:
    toml = f"[tool.poetry.dependencies]\npython = '^3.10'\ntorch = '{constraint}'\n"
    found = write(tmp_path, {"pyproject.toml": toml})["torch"]
    inside = Requirement(f"torch{expected.replace(' ', ',')}").specifier
    grid = [*GRID, Version("0.0.4")]
    assert [version for version in grid if holds(found, version)] == [v for v in grid if v in inside]
    assert found.source == "pyproject.toml [tool.poetry.dependencies]"


def test_poetry_tables_lists_and_groups(tmp_path: Path) -> None:
    found = write(
        tmp_path,
        {
            "pyproject.toml": """
                [tool.poetry.dependencies]
                torch = { version = "^2.1", optional = true }
                timm = { git = "https://example.org/timm.git" }
                numpy = [{ version = "^1.20", python = "<3.9" }, { version = "^2.0", python = ">=3.9" }]
                broken = "^x"
                worse = { version = 2 }
                [tool.poetry.group.test.dependencies]
                torch = "^1.0"
                triton = "~3.1"
                [tool.poetry.dev-dependencies]
                PyTorch_Lightning = "2.*"
            """
        },
    )
    assert {name: entry[:3] for name, entry in found.items()} == {
        "torch": ((2, 1), (3, 0), True),
        "timm": (None, None, False),
        "numpy": ((1, 20), (3, 0), True),
        "triton": ((3, 1), (3, 2), True),
        "pytorch-lightning": ((2, 0), (3, 0), True),
    }
    assert found["triton"].source == "pyproject.toml [tool.poetry.group.test.dependencies]"


# ------------------------------------------------------------------------------------ other sources


def test_pep_621(tmp_path: Path) -> None:
    found = write(
        tmp_path,
        {
            "pyproject.toml": """
                [project]
                dependencies = ["torch>=1.8; python_version<'3.10'", "torch>=2.0,<3; python_version>='3.10'", 7]
                [project.optional-dependencies]
                test = ["numpy>=2", "torch>=2.13", "Scikit_Learn"]
                old = ["numpy==1.26.*"]
            """,
        },
    )
    assert found == {
        "torch": Declared((1, 8), None, False, "pyproject.toml [project] dependencies"),
        "numpy": Declared((1, 26), None, False, "pyproject.toml [project.optional-dependencies] test"),
        "scikit-learn": Declared(None, None, False, "pyproject.toml [project.optional-dependencies] test"),
    }


@pytest.mark.parametrize(
    ("clauses", "ceiling", "is_open"),
    [
        (["<2", "<2"], (2, 0), True),
        (["<2", "<=2"], (2, 0), False),
        (["<=2", "<3"], (3, 0), True),
        (["<3", "<=2"], (3, 0), True),
        (["<3", ""], None, False),
        (["", "<3"], None, False),
    ],
)
def test_several_markers_join(tmp_path: Path, clauses: list[str], ceiling: object, is_open: bool) -> None:
    lines = "".join(f"torch{clause}; python_version == '3.{row}'\n" for row, clause in enumerate(clauses))
    found = one(tmp_path, lines)
    assert found == (None, ceiling, is_open, "requirements.txt:1")


def test_setup_cfg(tmp_path: Path) -> None:
    cfg = """
[options]
python_requires = >=3.8
install_requires =
    torch>=1.10
    # a comment
    numpy
    file: requirements.txt
    odd%(percent)s
[options.extras_require]
x = timm>=9
"""
    place = "setup.cfg [options] install_requires"
    assert write(tmp_path, {"setup.cfg": cfg}) == {
        "torch": Declared((1, 10), None, False, place),
        "numpy": Declared(None, None, False, place),
    }


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    text = f'''"""Needs "torch>=0.1"."""
from setuptools import setup
open({str(tmp_path / "ran")!r}, "w")
extras = {{"x": ['timm>=0.9', "timm>=0.6 ; python_version<'3.9'"]}}  # "torch>=0.2"
deps = ["numpy", "torch>=1.12,<2.5", f"triton=={{extras}}", 'it\\'s>=1', "Author <a@example.org>", "a == b"]
setup(name="x", python_requires=">=3.8", install_requires=deps, extras_require=extras, keywords=["jax"])
\'\'\'
"torch>=0.3"
\'\'\'
'''
    assert write(tmp_path, {"setup.py": text}) == {
        "timm": Declared((0, 6), None, False, "setup.py:4"),
        "torch": Declared((1, 12), (2, 5), True, "setup.py:5"),
    }
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("item", "expected"),
    [  # https://docs.conda.io: = is fuzzy, == and a blank are exact, then comes the build
        ("pytorch", (None, None, False)),
        ("pytorch=2.1", ((2, 1), (2, 2), True)),
        ("pytorch=2.1.*", ((2, 1), (2, 2), True)),
        ("pytorch 2.*", ((2, 0), (3, 0), True)),
        ("pytorch==2.1.2", ((2, 1, 2), (2, 1, 2), False)),
        ("pytorch 2.1.2", ((2, 1, 2), (2, 1, 2), False)),
        ("'pytorch>=1.12,<2'", ((1, 12), (2, 0), True)),
        ("pytorch >=1.12  # why", ((1, 12), None, False)),
        ("conda-forge::pytorch=2.1.2=py3.10_cuda11.8_0", ((2, 1, 2), (2, 1, 3), True)),
        ("pytorch=2.1=*cuda*", ((2, 1), (2, 2), True)),
    ],
)
def test_conda_items(tmp_path: Path, item: str, expected: tuple[object, ...]) -> None:
    text = f"name: x\nchannels:\n  - pytorch=9\ndependencies:\n  - python>=3.10\n  - {item}\nvariables:\n  - torch=8\n"
    found = write(tmp_path, {"environment.yml": text})
    assert (found["torch"][:3], found["torch"].source) == (expected, "environment.yml:6")
    flush = text.replace("\n  -", "\n-")  # YAML allows lists that are not indented
    assert write(tmp_path, {"environment.yml": flush}) == found


def test_conda_pip_section(tmp_path: Path) -> None:
    text = "dependencies:\n  - pip\n  - pip:\n    - torch>=2.0\n    - numpy=1\n  - timm=0.9\n"
    assert write(tmp_path, {"environment.yaml": text}) == {
        "pip": Declared(None, None, False, "environment.yaml:2"),
        "torch": Declared((2, 0), None, False, "environment.yaml:4"),
        "timm": Declared((0, 9), (0, 10), True, "environment.yaml:6"),
    }


def test_the_first_source_decides(tmp_path: Path) -> None:
    files = {
        "environment.yaml": "dependencies:\n- pytorch=1.1\n",
        "environment.yml": "dependencies:\n- pytorch=1.2\n",
        "setup.py": "x = ['torch==1.3']",
        "setup.cfg": "[options]\ninstall_requires = torch==1.4",
        "requirements/base.txt": "torch==1.5",
        "requirements-dev.txt": "torch==1.6",
        "requirements.txt": "torch==1.7\nother",
        "pyproject.toml": "[tool.poetry.group.dev.dependencies]\ntorch = '1.8'",
    }
    for number, (name, text) in enumerate(files.items(), 1):
        found = write(tmp_path, {name: text})["torch"]
        assert (found.floor, found.source.split(":")[0].split(" ")[0]) == ((1, number), name)
    tables = [
        "[tool.poetry.dependencies]\ntorch = '1.9'",
        "[project.optional-dependencies]\nx = ['torch==1.10']",
        "[project]\ndependencies = ['torch==1.11']",
    ]
    text = files["pyproject.toml"]
    for number, table in enumerate(tables, 9):
        text = f"{table}\n{text}"
        assert write(tmp_path, {"pyproject.toml": text})["torch"].floor == (1, number)
    assert declared(str(tmp_path))["other"].source == "requirements.txt:2"


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    assert declared(str(tmp_path / "nowhere")) == {}
    files = {
        "pyproject.toml": "[project\n",
        "setup.cfg": "install_requires = torch>=1",
        "requirements-big.txt": "torch>=1\n" + "#" * 1_000_000,
        "environment.yml": "\0\t- {",
        "setup.py": "'''torch>=1",
    }
    assert write(tmp_path, files) == {}
    (tmp_path / "requirements.txt").mkdir()
    assert declared(str(tmp_path)) == {}
    for text in ("project = 1", "[project]\ndependencies = 'torch>=1'", "a = " + "[" * 5000, "[tool]\npoetry = []"):
        assert write(tmp_path, {"pyproject.toml": text}) == {}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_requirements_from_windows(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "requirements.txt").write_bytes("torch>=2.1\r\nnumpy\r\n".encode(encoding))
    assert declared(str(tmp_path))["torch"] == Declared((2, 1), None, False, "requirements.txt:1")


def test_parsers_are_loaded_on_need_only(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2")
    code = (
        f"import sys; from gelu_lint.requirements import declared; assert declared({str(tmp_path)!r}); "
        "print({'tomllib', 'tomli', 'configparser', 'packaging', 'yaml', 'pathlib'} & set(sys.modules))"
    )
    folder = Path(module.__file__).parents[1]
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
