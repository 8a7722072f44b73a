"""The pytest plugin, in projects of their own: fixtures, tests of whole models, ids, and what it costs where unused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch._dynamo  # what a run in this process loads is forgotten after it, and this cannot be loaded twice

import gelu_lint.pytest_plugin
from gelu_lint.cli import main

pytest_plugins = ["pytester"]

torch.set_num_threads(1)
PLUGIN = ("-p", "gelu_lint.pytest_plugin")
#: pytest warns that this very process has the plugin already.
STRICT = ("-Werror", "-Wignore::pytest.PytestAssertRewriteWarning")
TEST = "gelu_models::test_gelu_gradient_flow"

NETS = """
import warnings

import torch
import torch.nn.functional as F
from torch import nn


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class GELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(4, 8), act, nn.Linear(8, 4)

    def forward(self, x):
        return F.gelu(self.down(self.act(self.up(x))), approximate="tanh")


def good():
    return nn.Sequential(Block(nn.GELU()), Block(QuickGELU())), torch.randn(3, 4)


def bad():
    return nn.Sequential(Block(GELU()), Block(nn.GELU())), torch.randn(3, 4)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block = nn.Embedding(9, 4), Block(nn.GELU())

    def forward(self, *, ids, mask=None):
        return {"hidden": self.block(self.embed(ids))}


def words():
    return Words(), {"ids": torch.tensor([[1, 2]]), "mask": None}


def deep():
    parts = []
    for _ in range(12):
        parts += [nn.Linear(4, 4), nn.Sigmoid()]
    return nn.Sequential(*parts, nn.GELU()), torch.randn(3, 4)


def still():
    return nn.Sequential(nn.GELU())


def frozen():
    return Block(nn.GELU()).requires_grad_(False), torch.randn(3, 4)


class Noisy(nn.Linear):
    def forward(self, x):
        print("noise")
        warnings.warn("of its own")
        return F.gelu(super().forward(x))


def noisy():
    return Noisy(4, 4), torch.randn(3, 4)


class Leaving(nn.Linear):
    def forward(self, x):
        raise SystemExit(4)


def leaving():
    return Leaving(4, 4), torch.randn(3, 4)


def plain():
    return nn.Linear(4, 4), torch.randn(3, 4)


def picky():
    return nn.Linear(4, 4), torch.randn(3, 5)


def broken():
    print("looking for weights")
    raise RuntimeError("no weights here")
"""
GOOD = ["0.act", "0", "1.act", "1", "(depth)"]  # in the order of their calls


@pytest.fixture(autouse=True, scope="module")
def _imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load all that runs inside of this process would: pytester unloads what they load, and torch bears that once."""
    from gelu_lint.runtime import gradient_flow, probe
    from gelu_lint.runtime.cases import cases  # noqa: F401

    probe(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.GELU()), torch.ones(1, 2))
    gradient_flow(torch.relu).picture(tmp_path_factory.mktemp("picture") / "relu.png")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with models and a test of its own."""
    pytester.makepyfile(nets=NETS)
    pytester.mkdir("tests").joinpath("test_a.py").write_text("def test_x(): pass\n\n\ndef test_y(): pass\n")
    return pytester


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and not line.startswith(("FAILED", "ERROR", "not found"))]


def collected(project: pytest.Pytester, *arguments: str) -> list[str]:
    return ids(project.runpytest_inprocess(*PLUGIN, "--collect-only", "-q", *arguments))


# The fixtures


#: Wrong GELUs, as they are found in code, and what must be said of each.
NEAR_MISSES = {
    "silu": ("z * torch.sigmoid(z)", "computes x·σ(x) (SiLU), not the GELU: off by up to 0.193, at x = −1.97"),
    "silu, methods": ("z.mul(z.sigmoid())", "x·σ(x) (SiLU)"),
    "elu": ("F.elu(z)", "computes ELU"),
    "quick": ("z * torch.sigmoid(1.702 * z)", "x·σ(1.702x) (quick GELU), not the GELU: off by up to 0.0203"),
    "1.207": ("torch.sigmoid(1.207 * z).mul(z)", "x·σ(1.207x)"),
    "minus": ("z * torch.sigmoid(-1.702 * z)", "not the GELU"),
    "quick gate": ("torch.sigmoid(1.702 * z)", "the gate of x·σ(1.702x) (quick GELU), without its factor x"),
    "squares": ("z * (1 + torch.tanh(S * (z + 0.044715 * z.pow(2)))) / 2", "x**2 for x**3"),
    "1.0702": ("z * torch.sigmoid(1.0702 * z)", "x·σ(1.0702x)"),
    "tanh gate": ("0.5 * (1 + torch.tanh(S * (z + 0.044715 * z**3)))", "the gate of the tanh GELU"),
    "sqrt(2)/pi": ("0.5 * z * (1 + torch.tanh(math.sqrt(2) / math.pi * (z + 0.044715 * z**3)))", "the tanh GELU"),
    "no outer x": ("0.5 * z * (1 + torch.tanh(S * (1 + 0.044715 * z * z)))", "nearly the tanh GELU"),
    "a quartic": ("0.5 * z * (1 + torch.tanh(S * z * (1 + 0.044715 * z * z * z)))", "nearly the tanh GELU"),
    "ndtr": ("z * torch.special.ndtr(z / math.sqrt(2.0))", "off by up to 0.119"),
    "2/pi": ("0.5 * z * (1 + torch.tanh(2 / math.pi * (z + 0.044715 * z.pow(3))))", "nearly the tanh GELU"),
    "0.789": ("z * 0.5 * (1 + torch.tanh(0.78978845 * (z + 0.044715 * z * z * z)))", "nearly the tanh GELU"),
    "1.72": ("z * torch.sigmoid(1.72 * z)", "x·σ(1.72x)"),
    "x/2": ("0.5 * z * (1.0 + torch.erf(z / 2.0))", "off by up to 0.119"),
    "erfc": ("0.5 * z * torch.erfc(z / math.sqrt(2.0))", "nearly x·Φ(x)"),
    "0.7701": ("0.5 * z * (1.0 + torch.erf(0.7701 * z))", "off by up to 0.024"),
    "no half": ("z * (1.0 + torch.erf(z / math.sqrt(2.0)))", "nearly x·Φ(x)"),
    "no root": ("0.5 * z * (1 + torch.tanh(z + 0.044715 * z**3))", "nearly the tanh GELU"),
    "0.44715": ("0.5 * z * (1 + torch.tanh(S * (z + 0.44715 * z * z * z)))", "0.44715 for 0.044715"),
    "pow": ("0.5 * z * (1.0 + torch.tanh(S * (z + 0.044715 * torch.pow(z, 3))))", "float16 is not finite: NaN or "
    "infinite at 18,114, from |x| = 147.875 on"),
    "detached": ("F.gelu(z.detach())", "no gradient gets through: the result is cut off"),
    "half detached": ("z * torch.special.ndtr(z).detach()", "but its gradient is not the slope of that: off by up to"),
    "in place": ("z.mul_(torch.special.ndtr(z))", "overwrites its input"),
}  # fmt: skip


def test_wrong_gelus_fail_and_are_named(pytester: pytest.Pytester) -> None:
    table = {name: formula for name, (formula, _) in NEAR_MISSES.items()}
    pytester.makepyfile(
        "import math\nimport pytest\nimport torch\nimport torch.nn.functional as F\n\nS = math.sqrt(2 / math.pi)\n"
        f"NEAR_MISSES = {table!r}\n\n\n@pytest.mark.parametrize('name', NEAR_MISSES)\n"
        "def test_gelu(gelu_gradient_flow, name):\n"
        "    gelu_gradient_flow(eval(f'lambda z: {NEAR_MISSES[name]}', globals()))\n"
    )
    recorder = pytester.inline_run(*PLUGIN, "-q", "-p", "no:cacheprovider")
    said = {
        report.nodeid.partition("[")[2][:-1]: str(report.longrepr)
        for report in recorder.getreports("pytest_runtest_logreport")
        if report.when == "call" and report.failed
    }
    assert said.keys() == NEAR_MISSES.keys()
    for name, (_, wanted) in NEAR_MISSES.items():
        assert f"GradientFlowError: {wanted}" in said[name] or wanted in said[name]
        assert "what " in said[name] and "✘" in said[name]


def test_right_gelus_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest, torch
        import torch.nn.functional as F
        from torch import nn

        @pytest.mark.parametrize("gelu", [F.gelu, nn.GELU(), nn.GELU("tanh"), lambda x: x * torch.special.ndtr(x)])
        def test_gelu(gelu_gradient_flow, gelu):
            assert gelu_gradient_flow(gelu).ok

        def test_settings(gelu_gradient_flow):
            gelu_gradient_flow(lambda x: x * torch.sigmoid(1.702 * x), expected="quick", dtype=torch.float32)
            with pytest.raises(AssertionError, match="not the tanh GELU: off by up to 4.73e-4"):
                gelu_gradient_flow(F.gelu, expected="tanh")
            with pytest.raises(AssertionError, match="SiLU"):
                gelu_gradient_flow(F.silu, device="cpu", tolerance=1.0)

        def test_flavour(gelu_flavour):
            assert gelu_flavour(F.gelu).flavour == "erf"
            assert gelu_flavour(lambda x: x * torch.sigmoid(1.72 * x)).flavour == "sigmoid_k"

        @pytest.mark.parametrize("approximate", ["none", "tanh"])
        def test_reference(gelu_reference, approximate):
            x = torch.linspace(-6, 6, 24).reshape(2, 3, 4).double().requires_grad_()
            y = F.gelu(x, approximate=approximate)
            value, slope = gelu_reference(approximate)
            assert value(x).shape == y.shape and value(x).dtype == torch.float64
            assert torch.allclose(value(x), y, atol=1e-14, rtol=1e-12)
            assert torch.allclose(slope(x.float()), torch.autograd.grad(y.sum(), x)[0], atol=1e-6)
            assert slope(0) == 0.5
            with pytest.raises(ValueError, match="did you mean 'tanh'"):
                gelu_reference("tahn")

        def test_families(gelu_reference):
            x = torch.linspace(-6, 6, 25, dtype=torch.float64)
            assert torch.allclose(gelu_reference("gelu_t", 1.3).value(x), x * torch.special.ndtr(x / 1.3), rtol=1e-12)
            assert torch.allclose(gelu_reference("sigmoid_k", 1.3).value(x), x * torch.sigmoid(1.3 * x), rtol=1e-12)
    """)
    pytester.runpytest_inprocess(*PLUGIN, "-q").assert_outcomes(passed=9)


def test_monitors_are_closed_when_the_test_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(4, 4), nn.GELU())

        def test_a(gelu_monitor):
            monitor = gelu_monitor(model, every=1, bounds=None)
            for _ in range(2):
                model(torch.randn(64, 4)).sum().backward()
            assert model._forward_hooks
            assert "1" in monitor.summary()

        def test_b():
            assert not model._forward_hooks and not model._forward_pre_hooks
    """)
    pytester.runpytest_inprocess(*PLUGIN, "-q").assert_outcomes(passed=2)


def test_monitors_have_no_bounds_unless_they_are_given(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        import torch
        from torch import nn
        from gelu_lint.runtime import GeluStdWarning

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

        def test_a(gelu_monitor):
            monitor = gelu_monitor(model)
            model(torch.randn(32, 16))
            assert monitor.summary()["1"]["gelu_output_std"] < 0.35

        def test_b(gelu_monitor):
            gelu_monitor(model, bounds=(0.5, 0.7))
            with pytest.warns(GeluStdWarning, match="outside 0.5 to 0.7"):
                model(torch.randn(32, 16))
    """)
    pytester.runpytest_inprocess(*PLUGIN, "-q", *STRICT).assert_outcomes(passed=2)


def test_what_is_not_element_by_element_fails_in_short(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        import torch
        from torch import nn

        def raises(x):
            raise RuntimeError("needs a mask")

        @pytest.mark.parametrize("function", [nn.Linear(8, 8), raises, nn.Softmax(-1)])
        class Test:
            def test_flow(self, gelu_gradient_flow, function):
                gelu_gradient_flow(function)

            def test_flavour(self, gelu_flavour, function):
                gelu_flavour(function)

        def test_error(gelu_flavour, gelu_gradient_flow):
            for check in (gelu_flavour, gelu_gradient_flow):
                with pytest.raises(ValueError, match="needs a mask"):
                    check(raises)
    """)
    result = pytester.runpytest_inprocess(*PLUGIN, *STRICT)
    result.assert_outcomes(failed=6, passed=1)
    text = result.stdout.str()
    assert "direct cause" not in text and "During handling" not in text
    assert not any(".py:" in line and "NotElementwise" not in line and "test_" not in line for line in result.outlines)
    assert len(result.outlines) < 6 * 25, text
    result.stdout.fnmatch_lines(["E *NotElementwise: *Linear*mat1*", "E *NotElementwise: *raises*needs a mask*"])
    result.stdout.fnmatch_lines(["FAILED *test_flow*Linear*"])


def test_the_message_shows_the_table_and_no_inside(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import torch\n\n\ndef test_gelu(gelu_gradient_flow):\n    gelu_gradient_flow(torch.relu)\n")
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.stdout.fnmatch_lines(
        ["E *GradientFlowError: computes ReLU, not the GELU: off by up to 0.17, at x = *", "E *✘  function *ReLU"]
    )
    result.stdout.fnmatch_lines(["E *picture: *test_gelu.png"])
    assert not any("pytest_plugin.py" in line for line in result.outlines)
    assert [path.read_bytes()[:4] for path in pytester.path.glob(".pytest_cache/d/gelu/*.png")] == [b"\x89PNG"]


# Tests of models


def test_each_gelu_of_a_model_is_a_test(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(*PLUGIN, "-v", "--gelu-model", "nets:good")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines([f"{TEST}[[]nets:good::{name}] PASSED*" for name in GOOD])


def test_what_is_wrong_fails_with_its_path(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", "nets:bad", "--gelu-plots", "pictures", "tests")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(["*test_gelu_gradient_flow[[]nets:bad::0.act] __*", "*SiLU*", "*✘  function*"])
    result.stdout.fnmatch_lines([f"FAILED {TEST}[[]nets:bad::0.act] - *SiLU*"])
    assert "Traceback" not in result.stdout.str() and "runtest" not in result.stdout.str()
    (picture,) = project.path.joinpath("pictures").iterdir()
    assert str(picture) in result.stdout.str() and picture.suffix == ".png"


@pytest.mark.parametrize(
    ("factory", "outcomes", "said"),
    [
        ("words", {"passed": 3}, []),
        ("deep", {"passed": 1, "failed": 1}, ["the gradient vanishes on its way to the input: *", "layer *class *"]),
        ("still", {"passed": 1, "skipped": 1}, ["*SKIPPED*the factory gives no inputs to run the model on"]),
        ("frozen", {"passed": 2, "skipped": 1}, ["*SKIPPED*no parameter of the model requires a gradient"]),
        ("noisy", {"passed": 2}, []),
    ],
)
def test_kinds_of_models(project: pytest.Pytester, factory: str, outcomes: dict[str, int], said: list[str]) -> None:
    result = project.runpytest_inprocess(*PLUGIN, "-rs", *STRICT, "--gelu-model", f"nets:{factory}", "gelu_models")
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(said)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("nets:broken", "nets:broken raised (nets.py:*): RuntimeError: no weights here"),
        ("nets:goof", "nets has no 'goof' (did you mean 'good'?)"),
        ("nats:good", "no module 'nats' (did you mean 'nets'?)*"),
        ("nets", "'nets' names no factory: *"),
        ("nets:leaving", "nets:leaving: the model cannot be run on these inputs: SystemExit: 4"),
        ("nets:picky", "*shapes cannot be multiplied*"),
    ],
)
def test_a_broken_factory_is_one_collection_error(project: pytest.Pytester, factory: str, said: str) -> None:
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", factory)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said, f"ERROR gelu_models::{factory}*", "*Interrupted: 1 error during collection*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()


def test_a_model_without_a_gelu_is_one_test_that_fails(project: pytest.Pytester) -> None:
    models = ("--gelu-model", "nets:plain", "--gelu-model", "nets:good")
    result = project.runpytest_inprocess(*PLUGIN, *models, "tests")
    result.assert_outcomes(passed=len(GOOD) + 2, failed=1)
    result.stdout.fnmatch_lines(
        [f"FAILED {TEST}[[]nets:plain::(none)] - no GELU is computed in the model of nets:plain"]
    )
    result = project.runpytest_inprocess(*PLUGIN, *models, "--deselect", f"{TEST}[nets:plain::(none)]", "gelu_models")
    result.assert_outcomes(passed=len(GOOD), deselected=1)
    result = project.runpytest_inprocess(*PLUGIN, f"{TEST}[nets:plain::(none)]")
    result.assert_outcomes(failed=1)


def test_a_wrong_gradient_is_told_before_a_wrong_name(project: pytest.Pytester) -> None:
    project.makepyfile(
        odd="""
        import torch
        import torch.nn.functional as F
        from torch import nn


        class Values(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return F.gelu(x)

            @staticmethod
            def backward(ctx, grad):
                return grad * torch.special.ndtr(ctx.saved_tensors[0])


        class FastGELU(nn.Module):
            def forward(self, x):
                return Values.apply(x)


        def build():
            return nn.Sequential(nn.Linear(4, 4), FastGELU()), torch.randn(2, 4)
        """
    )
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", "odd:build", "gelu_models", "-k", "1")
    # x·φ(x) is missing, which is largest at 1: 0.242
    said = "computes the erf GELU, but its gradient is not the slope of that: off by up to 0.242, at x = *1; besides, "
    result.stdout.fnmatch_lines(
        [f"{said}computes the erf GELU under the name FastGELU, which says *off by up to 4.73e-4*"]
    )
    result.stdout.fnmatch_lines(["*✘  slope, worst of*"])
    result.assert_outcomes(failed=1, deselected=1)


def test_what_factories_print(project: pytest.Pytester) -> None:
    """It is kept out of the list of ids, and shown with an error."""
    result = project.runpytest_inprocess(*PLUGIN, "--collect-only", "-q", "--gelu-model", "nets:noisy", "gelu_models")
    assert result.outlines[0].startswith(TEST) and "noise" not in result.outlines
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", "nets:broken")
    result.stdout.fnmatch_lines(["*RuntimeError: no weights here", "printed:", "looking for weights"])
    result = project.runpytest_inprocess(*PLUGIN, "-s", "--collect-only", "--gelu-model", "nets:noisy")
    assert "noise" in result.outlines


def test_the_ids_that_are_printed_can_be_given_back(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ngelu_models =\n    nets:good\n    nets:bad\n")
    found = collected(project)
    ours = [nodeid for nodeid in found if nodeid.startswith(TEST)]
    assert ours[:5] == [f"{TEST}[nets:good::{name}]" for name in GOOD] and len(ours) == 10
    assert found[:2] == ["tests/test_a.py::test_x", "tests/test_a.py::test_y"]
    assert collected(project, *ours) == ours
    assert collected(project, "tests/test_a.py::test_y", ours[1], ours[5]) == [found[1], ours[1], ours[5]]
    assert collected(project, TEST) == collected(project, "gelu_models") == ours
    project.runpytest_inprocess(*PLUGIN, ours[1]).assert_outcomes(passed=1)
    project.runpytest_inprocess(*PLUGIN, ours[5]).assert_outcomes(failed=1)
    project.makeini("[pytest]\n")
    assert collected(project, ours[1], f"{TEST}[nets:bad]") == [ours[1], *ours[5:]]  # the option may be left out


def test_which_runs_have_them(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ngelu_models = nets:good\n")
    own = ["tests/test_a.py::test_x", "tests/test_a.py::test_y"]
    ours = [f"{TEST}[nets:good::{name}]" for name in GOOD]
    assert collected(project) == collected(project, "tests") == collected(project, ".") == own + ours
    assert collected(project, "tests/test_a.py") == own
    assert collected(project, "tests/test_a.py::test_x") == own[:1]
    assert collected(project, "tests/test_a.py", "--gelu-model", "nets:good") == own + ours
    assert collected(project, "tests/test_a.py::test_x", "--gelu-model", "nets:good") == own[:1]
    project.makeini("[pytest]\ngelu_models = nets:good\ntestpaths = tests/test_a.py\n")
    assert collected(project) == own + ours


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        (("-k", "depth"), {"passed": 1, "deselected": 6}),
        (("-k", "act and not depth"), {"passed": 1, "failed": 1, "deselected": 5}),
        (("-m", "gelu"), {"passed": 4, "failed": 1, "deselected": 2}),
        (("-m", "not gelu", "--strict-markers"), {"passed": 2, "deselected": 5}),
        (("--deselect", f"{TEST}[nets:bad::0.act]"), {"passed": 6, "deselected": 1}),
        (("--deselect", TEST), {"passed": 2, "deselected": 5}),
        (("-x",), {"passed": 2, "failed": 1}),
        (("-p", "no:cacheprovider"), {"passed": 6, "failed": 1}),
        (("-p", "no:terminal"), None),
        (("--tb=no", "-q", "--no-header"), {"passed": 6, "failed": 1}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_of_pytest(
    project: pytest.Pytester, arguments: tuple[str, ...], outcomes: dict[str, int] | None
) -> None:
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", "nets:bad", *arguments)
    if outcomes is None:
        assert result.ret == pytest.ExitCode.TESTS_FAILED
    else:
        result.assert_outcomes(**outcomes)


def test_plugins_that_take_every_item_for_a_function(project: pytest.Pytester) -> None:
    """A condition in a string is evaluated with the globals of item.obj."""
    project.makeconftest(
        "import inspect\n\nimport pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        inspect.iscoroutinefunction(item.function), inspect.getdoc(item.obj), item.cls, item.module\n"
        "        assert 'db' not in item.fixturenames and item.originalname and item.fspath and item.location\n"
        "        item.instance, item.funcargs, item.keywords, item.user_properties\n\n\n"
        "@pytest.fixture(autouse=True)\ndef always(request):\n    request.function\n\n\n"
        "def pytest_itemcollected(item):\n    item.add_marker(pytest.mark.skipif('os is None', reason='no'))\n"
    )
    arguments = ("--gelu-model", "nets:bad", "--setup-show", "-rA", "--junitxml", "junit.xml", "--doctest-modules")
    project.runpytest_inprocess(*PLUGIN, *arguments, "tests").assert_outcomes(passed=6, failed=1)
    assert "gelu_models" in project.path.joinpath("junit.xml").read_text(encoding="utf-8")


def test_last_failed(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ngelu_models = nets:bad\n")
    project.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=6, failed=1)
    project.runpytest_inprocess(*PLUGIN, "--lf").assert_outcomes(failed=1, deselected=6)
    result = project.runpytest_inprocess(*PLUGIN, "--ff", "-v")
    assert next(line for line in result.outlines if "::" in line).startswith(f"{TEST}[nets:bad::0.act] FAILED")
    project.runpytest_inprocess(*PLUGIN, "--sw").assert_outcomes(passed=2, failed=1)


def test_ids_that_are_not_there(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(*PLUGIN, f"{TEST}[nets:good::2.act]")
    result.stdout.fnmatch_lines([f"not found: {TEST}[[]nets:good::2.act]; there are", f"  {TEST}[[]nets:good::0]"])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result = project.runpytest_inprocess(*PLUGIN, "gelu_models::test_other")
    result.stderr.fnmatch_lines([f"ERROR: not found: gelu_models::test_other (ids are {TEST}*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("folder", ["C:", "a b[1]"])
def test_factories_in_files_with_odd_paths(project: pytest.Pytester, folder: str) -> None:
    project.mkdir(folder).joinpath("odd.py").write_text(NETS)
    model = f"{folder}/odd.py:good"
    found = collected(project, "--gelu-model", model)[2:]
    assert found == [f"{TEST}[{model}::{name}]" for name in GOOD]
    project.runpytest_inprocess(*PLUGIN, *found[:2]).assert_outcomes(passed=2)


def test_ids_that_are_printed_below_the_root(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    project.makeini("[pytest]\ngelu_models = nets:bad\npythonpath = .\n")
    monkeypatch.chdir(project.path / "tests")
    lines = project.runpytest_inprocess(*PLUGIN).outlines
    (failed,) = [line.split(" ")[1] for line in lines if line.startswith("FAILED")]
    assert failed == f"../{TEST}[nets:bad::0.act]"
    project.runpytest_inprocess(*PLUGIN, failed).assert_outcomes(failed=1)
    project.path.joinpath("tests", "gelu_models").mkdir()
    project.runpytest_inprocess(*PLUGIN, "gelu_models").assert_outcomes(passed=4, failed=1)  # a folder like others
    project.runpytest_inprocess(*PLUGIN, failed.removeprefix("../")).assert_outcomes(failed=1)


@pytest.mark.parametrize("model", ["nets:good", "nets.py:good"])
def test_below_the_folder_of_the_settings(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """What the settings name is found from every folder below, without any pythonpath."""
    project.makeini(f"[pytest]\ngelu_models = {model}\n")
    monkeypatch.chdir(project.path / "tests")
    result = run(Path.cwd(), *PLUGIN, "-q", "-p", "no:cacheprovider")
    assert "7 passed" in result.stdout, result.stdout
    result = run(Path.cwd(), *PLUGIN, "-q", f"{TEST}[{model}::0]")
    assert "1 passed" in result.stdout, result.stdout


def test_settings_that_are_no_text(project: pytest.Pytester) -> None:
    project.makepyprojecttoml("[tool.pytest.ini_options]\ngelu_models = [1]\n")
    result = project.runpytest_inprocess(*PLUGIN)
    result.stderr.fnmatch_lines(["ERROR: gelu_models: 1 is no text, such as *"])


def test_a_fast_path_that_computes_something_else(project: pytest.Pytester) -> None:
    project.makepyfile(
        fast="import torch\nfrom torch import nn\n\n\ndef build():\n"
        "    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=nn.GELU('tanh'), batch_first=True)\n"
        "    return nn.TransformerEncoder(layer, 1), torch.randn(1, 3, 8)\n"
    )
    result = project.runpytest_inprocess(*PLUGIN, "--gelu-model", "fast:build", "tests")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["in eval mode: computes the erf GELU * off by up to 4.73e-4, *"])


def test_variants_that_are_meant_are_not_taken_for_faults(project: pytest.Pytester) -> None:
    project.makepyfile(
        variants="import torch\nfrom torch import nn\nfrom gelu_lint.runtime import GELUT, GELUClip, SparseGELU\n\n\n"
        "def build():\n    act = [GELUT(1.3), GELUClip(maximum=2.0), SparseGELU(), nn.SiLU(), nn.Sigmoid()]\n"
        "    return nn.Sequential(nn.Linear(4, 4), *act), torch.randn(1, 4)\n\n\n"
        "class Odd(nn.Linear):\n    def forward(self, x):\n        if torch.is_grad_enabled():\n"
        "            raise ValueError('no gradients here')\n        return nn.functional.gelu(super().forward(x))\n\n\n"
        "def odd():\n    return Odd(4, 4), torch.randn(1, 4)\n"
    )
    result = project.runpytest_inprocess(*PLUGIN, "-v", "--gelu-model", "variants:build", "gelu_models")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*variants:build::3[]] PASSED*", "*variants:build::3#2[]] PASSED*"])  # train, eval
    result = project.runpytest_inprocess(*PLUGIN, f"{TEST}[variants:odd::(depth)]")
    result.stdout.fnmatch_lines(["E *ValueError: no gradients here"])
    assert "pluggy" not in result.stdout.str().partition("= FAILURES =")[2]


def test_a_drive_is_no_part_of_an_id() -> None:
    assert gelu_lint.pytest_plugin._model(rf"{TEST}[C:\nets\odd.py:good::0.act]") == r"C:\nets\odd.py:good"
    assert gelu_lint.pytest_plugin._model(f"{TEST}[nets:good]") == "nets:good"


def test_the_same_ids_in_every_worker(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ngelu_models = nets:bad\n")
    quick = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")  # no picture, and fewer imports
    result = run(project.path, *PLUGIN, *quick, "-n", "2", "-q", "--dist", "loadscope")
    assert "1 failed, 6 passed" in result.stdout and "SiLU" in result.stdout and "INTERNAL" not in result.stdout
    assert f"FAILED {TEST}[nets:bad::0.act]" in result.stdout


@pytest.mark.parametrize(
    "arguments", [("--gelu-model", "nets:good"), ("gelu_models::test_gelu_gradient_flow[nets:good]",)]
)
def test_without_torch(project: pytest.Pytester, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = project.runpytest_inprocess(*PLUGIN, *arguments)
    result.stderr.fnmatch_lines(["ERROR: --gelu-model and gelu_models: torch is not installed: `pip install *"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_fixtures_without_torch(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    pytester.makepyfile("def test_gelu(gelu_gradient_flow): pass")
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.stdout.fnmatch_lines(["the fixture gelu_gradient_flow: torch is not installed: `pip install *"])


# How it is loaded


def run(folder: Path, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A pytest of its own in a folder; ``path``: looked through for packages, and entry points, first."""
    root = Path(gelu_lint.pytest_plugin.__file__).parents[1]
    paths = os.pathsep.join(map(str, filter(None, (path, root))))
    command = [sys.executable, "-m", "pytest", *arguments]
    environment = {**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that says that the plugin is installed, as pip does."""
    info = tmp_path / "site" / "gelu_lint_plugin-1.dist-info"
    info.mkdir(parents=True)
    name = "gelu_lint.pytest_plugin"
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: gelu-lint-plugin\nVersion: 1\n")
    info.joinpath("entry_points.txt").write_text(f"[pytest11]\n{name} = {name}\n")
    return info.parent


def test_unused_it_imports_nothing_but_pytest(installed: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    tests.joinpath("test_modules.py").write_text(
        "import sys\n\n\ndef test_modules(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('gelu_lint.pytest_plugin')\n"
        "    ours = {name for name in sys.modules if name.startswith('gelu_lint')}\n"
        "    assert ours == {'gelu_lint', 'gelu_lint.pytest_plugin'}\n"
        "    assert not {'torch', 'numpy', 'libcst', 'matplotlib'} & sys.modules.keys()\n"
    )
    result = run(
        tests, "-q", "-p", "no:cacheprovider", "--strict-markers", "--strict-config", "-W", "error", path=installed
    )
    assert "1 passed" in result.stdout, result.stdout


def test_loaded_in_three_ways_at_once(installed: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    tests.joinpath("conftest.py").write_text('pytest_plugins = ["gelu_lint.pytest_plugin"]\n')
    tests.joinpath("test_it.py").write_text(
        "def test_it(pytestconfig):\n"
        "    plugins = [getattr(plugin, '__name__', '') for plugin in pytestconfig.pluginmanager.get_plugins()]\n"
        "    assert plugins.count('gelu_lint.pytest_plugin') == 1\n"
    )
    result = run(tests, "-q", "-W", "error", *PLUGIN, path=installed)
    assert "1 passed" in result.stdout, result.stdout
    result = run(tests, "-q", *PLUGIN)  # conftest.py and -p, and no entry point
    assert "1 passed" in result.stdout, result.stdout


def test_the_entry_point_has_the_name_of_the_module() -> None:
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert "[project.entry-points.pytest11]" in text
    assert '\n"gelu_lint.pytest_plugin" = "gelu_lint.pytest_plugin"\n' in text


# What the linter makes of it


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, 1),
        ({"tests/test_gelu.py": "def test_gelu(gelu_gradient_flow, act):\n    gelu_gradient_flow(act)\n"}, 0),
        ({"pytest.ini": "[pytest]\ngelu_models =\n    nets:good\n"}, 0),
        ({"tox.ini": "[pytest]\ngelu_models = nets:good\n"}, 0),
    ],
)
def test_it_is_a_test_of_the_gradient_flow(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    found: int,
) -> None:
    """GEL201 asks for the fixture by name, and for the ini setting."""
    monkeypatch.chdir(tmp_path)
    files = {"nets.py": NETS, "pyproject.toml": '[project]\nname = "nets"\nversion = "1"\n', **files}
    for name, text in files.items():
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(name).write_text(text, encoding="utf-8")
    main(["check", "--select", "GEL201", "."])
    assert capsys.readouterr().out.count("GEL201") == found
