"""The directions of the design, checked on the source itself: who may import, print, exit and touch files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import gelu_lint

ROOT = Path(gelu_lint.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: Hosts and the runtime side may import the framework or tool that they serve.
HOSTS = {"pytest_plugin", "flake8_plugin", "lsp", "runtime", "codemods"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path) -> set[str]:
    """First package or module below gelu_lint that a file imports, for each import of ours; ``patterns`` stands for
    re."""
    found = (name.split(".") for name in imports(path))
    return {parts[1] for parts in found if parts[0] == "gelu_lint" and len(parts) > 1} - {"patterns"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_tree_imports_libcst_and_never_its_slow_parts(path: Path) -> None:
    found = {name for name in imports(path) if name.split(".")[0] == "libcst"}
    if package_of(path) != "tree":
        assert not found
    assert not {name for name in found if name.startswith(("libcst.matchers", "libcst.codemod", "libcst.metadata"))}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_rules_see_facts_only(path: Path) -> None:
    if package_of(path) == "rules":
        assert own(path) <= {
            "rule",
            "model",
            "facts",
            "numerics",
            "fixes",
            "imports",
            "misuse",
            "roles",
            "handwritten",
            "dropped",
            "computed",
            "settings",
            "precision",
            "configured",
        }


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_numerics_and_facts_import_nothing_of_ours(path: Path) -> None:
    package = package_of(path)
    if package in ("numerics", "facts"):
        assert own(path) <= {package}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_makes_named_tuples_keeps_annotations_as_text(path: Path) -> None:
    """From Python 3.14 on, a class body has its annotations at hand only where they are text."""
    if "named" in own(path):
        assert "__future__.annotations" in set(imports(path))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_sites_judge_nothing(path: Path) -> None:
    if package_of(path) == "sites":
        known = {"sites", "tree", "facts", "numerics", "model", "named", "claims", "half", "reach", "lines", "takers"}
        if "formats" in path.parts:
            known |= {"source", "scan", "suppress"}  # what reads no Python goes from text to facts by itself
        assert own(path) <= known
    if package_of(path) == "tree":
        assert own(path) <= {"tree", "numerics", "named"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_linter_never_imports_a_framework_it_judges(path: Path) -> None:
    """Evidence runs them inside its function, which only tests call."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    evidence = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "evidence"]
    allowed = {id(node) for function in evidence for node in ast.walk(function)}
    frameworks = {"torch", "jax", "flax", "keras", "tensorflow", "transformers", "timm", "numpy", "scipy"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in allowed:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if package_of(path) not in HOSTS:
                assert not {name.split(".")[0] for name in names} & frameworks


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_linter_never_reaches_what_runs_models(path: Path) -> None:
    """But for the commands that do, which import it when they are asked for."""
    if package_of(path) in HOSTS:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    commands = [n for n in tree.body if isinstance(n, ast.FunctionDef) and name_of(path) == "cli"]
    allowed = {id(node) for function in commands for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in allowed:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not any(name.startswith("gelu_lint.runtime") for name in names)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_front_prints_exits_and_reads_argv(path: Path) -> None:
    if name_of(path) in ("cli", "__main__") or package_of(path) in HOSTS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.Name) and node.id in ("print", "exit", "input", "SystemExit"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            assert node.attr not in ("argv", "exit", "stdout", "stderr", "stdin")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_edges_touch_files(path: Path) -> None:
    if name_of(path) in ("source", "cache", "discover", "config", "requirements", "cli") or package_of(path) in HOSTS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            touching = {"open", "read_text", "write_text", "write_bytes", "unlink", "rename"}
            assert called not in touching


def modules_after(code: str, *flags: str) -> set[str]:
    """Top-level and dotted names in sys.modules after ``code`` ran in a fresh interpreter."""
    script = f"{code}\nimport sys\nsys.stderr.write('\\n'.join(sys.modules))"
    command = [sys.executable, *flags, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tempfile.gettempdir())
    return set(done.stderr.split("\n"))


def check(path: Path) -> str:
    return f"from gelu_lint.cli import main\nmain(['check', {str(path)!r}])"


def test_importing_the_package_and_the_cli_loads_neither_torch_nor_libcst() -> None:
    loaded = modules_after("import gelu_lint, gelu_lint.cli")
    assert not loaded & {"torch", "numpy", "libcst", "dataclasses", "pathspec", "yaml", "importlib.metadata"}


def test_a_clean_file_never_loads_libcst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # away from our own pyproject.toml
    (tmp_path / "clean.py").write_text("import torch\n\nprint(torch.nn.Linear(2, 2))\n")
    loaded = modules_after(check(tmp_path / "clean.py"))
    assert not loaded & {"torch", "libcst", "dataclasses", "pathspec", "yaml", "gelu_lint.rules"}


def test_a_clean_file_loads_nothing_that_it_has_no_use_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start-up is nearly all that such a file costs."""
    monkeypatch.chdir(tmp_path)  # away from our own pyproject.toml
    (tmp_path / "clean.py").write_text("import torch\n\nprint(torch.nn.Linear(2, 2))\n")
    path = f"import sys\nsys.path.insert(0, {str(ROOT.parent)!r})\n"
    loaded = modules_after(path + check(tmp_path / "clean.py"), "-S")  # site loads what .pth files ask for
    assert "gelu_lint.reports.text" in loaded
    library = "asyncio bisect concurrent.futures contextlib dataclasses difflib fnmatch hashlib importlib.metadata"
    library += " inspect json logging multiprocessing pathlib pickle shutil signal socket subprocess tempfile tokenize"
    library += " tomli tomllib typing"
    assert loaded & {*library.split(), "libcst", "pathspec", "yaml"} == set()
    ours = "cache claims engine explain fixer inventory model registry requirements rule rules scan workers"
    assert loaded & {f"gelu_lint.{name}" for name in ours.split()} == set()


def test_a_file_with_gelu_loads_libcst_but_no_framework(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("from torch import nn\n\nact = nn.GELU()\n")
    loaded = modules_after(check(tmp_path / "model.py"))
    assert "libcst" in loaded
    assert not loaded & {"torch", "numpy", "libcst.matchers", "libcst.codemod"}


def test_the_code_that_is_read_is_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (tmp_path / "model.py").write_text(
        f"import pathlib\nfrom torch import nn\n\npathlib.Path({str(trap)!r}).write_text('run')\nact = nn.GELU()\n"
    )
    for command in ("check", "inventory", "fix"):
        subprocess.run([sys.executable, "-m", "gelu_lint", command, str(tmp_path)], capture_output=True)
    assert not trap.exists()


def test_extras_that_are_named_are_there() -> None:
    """`pip install 'gelu-lint[x]'` only warns where there is no x."""
    pyproject = (ROOT.parent / "pyproject.toml").read_text(encoding="utf-8")
    table = pyproject.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = set(re.findall(r"^(\w+) = \[", table, re.MULTILINE))
    assert {"pytest", "plot"} <= extras
    for path in (*FILES, ROOT.parent / "README.md"):
        assert set(re.findall(r"gelu-lint\[(\w+)\]", path.read_text(encoding="utf-8"))) <= extras, path
