"""Models by name: what a factory may give, and one clear sentence for everything that goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from gelu_lint.runtime.factory import Built, FactoryError, load


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import torch\nfrom torch import nn\n\n" + text)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, from which nothing stays imported."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def fault(text: str) -> str:
    with pytest.raises(FactoryError) as caught:
        load(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("value", "args", "kwargs"),
    [
        ("nn.Linear(2, 3)", (), {}),
        ("(nn.Linear(2, 3),)", (), {}),
        ("(nn.Linear(2, 3), None)", (), {}),
        ("(nn.Linear(2, 3), torch.ones(2))", (torch.ones(2),), {}),
        ("(nn.Linear(2, 3), (torch.ones(2), 5))", (torch.ones(2), 5), {}),
        ("(nn.Linear(2, 3), {'input': torch.ones(2)})", (), {"input": torch.ones(2)}),
        ("(nn.Linear(2, 3), [torch.ones(2)])", ([torch.ones(2)],), {}),
        ("(nn.Linear(2, 3), (4,), {'b': 5})", (4,), {"b": 5}),
    ],
)
@pytest.mark.parametrize("form", ["def build():\n    return {}\n", "build = {}\n"], ids=["factory", "object"])
def test_what_a_factory_may_give(here: Path, form: str, value: str, args: object, kwargs: object) -> None:
    write(here, "given.py", form.format(value))
    built = load("given:build")
    assert isinstance(built, Built) and isinstance(built.model, nn.Linear)
    assert repr(built.args) == repr(args) and repr(built.kwargs) == repr(kwargs)
    assert built.has_inputs == bool(args or kwargs)


def test_classes_and_dotted_paths_and_packages_of_the_current_directory(here: Path) -> None:
    write(here, "pkg/__init__.py", "")
    write(here, "pkg/sizes.py", "WIDTH = 7\n")
    text = "from .sizes import WIDTH\n\n\nclass Zoo:\n    class Net(nn.Linear):\n        def __init__(self):\n"
    text += "            super().__init__(WIDTH, 1)\n\n    @staticmethod\n    def build():\n        return Zoo.Net()\n"
    path = write(here, "pkg/models.py", text)
    for name in ("pkg.models:Zoo.Net", "pkg.models:Zoo.build", "pkg/models.py:Zoo.Net", f"{path}:Zoo.build"):
        assert load(name).model.in_features == 7


def test_a_file_imports_what_lies_beside_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "deep/beside.py", "WIDTH = 9\n")
    write(here, "deep/my-net.py", "from beside import WIDTH\n\n\ndef build():\n    return nn.Linear(WIDTH, 1)\n")
    assert load("deep/my-net.py:build").model.in_features == 9


def test_surroundings_are_put_back(here: Path) -> None:
    text = "import os, sys\nseen = list(sys.argv)\nsys.path.insert(0, '/nowhere')\nsys.argv.append('more')\n"
    write(here, "restless.py", text + "os.chdir('/')\n\n\ndef build():\n    return nn.Linear(1, 1)\n")
    path, argv = list(sys.path), list(sys.argv)
    load("restless:build")
    assert sys.modules["restless"].seen == ["restless:build"]
    assert (sys.path, sys.argv, Path.cwd()) == (path, argv, here)
    write(here, "worse.py", text + "raise ValueError('no')\n")
    fault("worse:build")
    assert (sys.path, sys.argv, Path.cwd()) == (path, argv, here)


def test_names_that_are_not_there(here: Path) -> None:
    write(here, "pkg/__init__.py", "")
    write(here, "pkg/models.py", "class Zoo:\n    build = 3\n")
    assert "(did you mean 'pkg.models'?)" in fault("pkg.model:build")
    assert "no module 'pkgs' (did you mean 'pkg'?)" in fault("pkgs.models:build")
    assert "pkg.models has no 'zoo' (did you mean 'Zoo'?)" in fault("pkg.models:zoo.build")
    assert "pkg.models.Zoo has no 'bild' (did you mean 'build'?)" in fault("pkg.models:Zoo.bild")
    assert "no such file (did you mean 'models.py'?)" in fault("pkg/model.py:build")
    assert "no such file" in fault(r"C:\x\y.py:build")
    for text in ("pkg.models.build", "", ":", "pkg:", ":build", "pkg.models:Zoo()", "pkg/models.py", r"C:\x\y.py"):
        assert "names no factory" in fault(text)
    assert "(did you mean pkg.models:build?)" in fault("pkg.models.build")
    assert "pkg/models.py:build" in fault("pkg/models.py")
    assert "no absolute module name" in fault(".models:build")
    write(here, "a.b.py", "")
    assert "without dots" in fault("./a.b.py:build")
    write(here, "json.py", "")
    assert "another module is called 'json'" in fault("./json.py:build")


@pytest.mark.parametrize(
    ("body", "said", "cause"),
    [
        ("import not_installed_anywhere", "importing bad failed (bad.py:4): ModuleNotFoundError", ModuleNotFoundError),
        ("1 / 0", "importing bad failed (bad.py:4): ZeroDivisionError: division by zero", ZeroDivisionError),
        ("raise SystemExit(3)", "SystemExit: 3", SystemExit),
        ("def build(:\n", "SyntaxError", SyntaxError),
        ("def build():\n    raise KeyError('dim')", "bad:build raised (bad.py:5): KeyError: 'dim'", KeyError),
        ("def build():\n    return nn.Linear(2, 'x')", "bad:build raised (bad.py:5): TypeError", TypeError),
        ("def build(depth, *, width, kind=3): ...", "bad:build needs arguments (depth, width)", None),
        ("class build(nn.Module):\n    def __init__(self, d): ...", "needs arguments (d)", None),
        ("def build(): ...", "bad:build gives None, no nn.Module", None),
        ("def build():\n    return nn.Linear", "return the model instead of its class", None),
        ("def build():\n    return 5, torch.ones(2)", "an object of the class int first, no nn.Module", None),
        ("def build():\n    return nn.Linear(1, 1), 2, 3", "gives 3 objects", None),
        ("def build():\n    return ()", "gives an empty tuple", None),
        ("def build():\n    return nn.Linear(1, 1), {1: 2}", "inputs under the key 1", None),
        ("build = 5", "bad:build is an object of the class int", None),
        ("import json as build", "bad:build is a module (json)", None),
        ("def __getattr__(name):\n    raise OSError('no')", "up 'build' failed (bad.py:5): OSError: no", OSError),
    ],
)  # fmt: skip
def test_faults_of_the_users_code(here: Path, body: str, said: str, cause: type | None) -> None:
    write(here, "bad.py", body + "\n")
    with pytest.raises(FactoryError) as caught:
        load("bad:build")
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is None if cause is None else isinstance(caught.value.__cause__, cause)


def test_the_inputs_that_a_model_brings_are_used_where_they_fit(here: Path) -> None:
    text = (
        "class Own(nn.Module):\n    dummy_inputs = {'input_ids': torch.ones(1, 2)}\n\n"
        "    def forward(self, input_ids):\n        return input_ids\n\n\n"
        "class Pixels(Own):\n    main_input_name = 'pixel_values'\n\n    def forward(self, pixel_values):\n"
        "        return pixel_values\n\n\nclass Other(Own):\n    def forward(self, x):\n        return x\n"
    )
    write(here, "own.py", text)
    assert list(load("own:Own").kwargs) == ["input_ids"]
    assert not load("own:Pixels").has_inputs
    assert not load("own:Other").has_inputs


def test_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom gelu_lint.runtime import FactoryError, load\n"
        "try:\n    load('a:b')\nexcept FactoryError as fault:\n    print(fault)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.stdout == "torch is not installed: `pip install 'gelu-lint[pytest]'` brings it\n"
