"""The scripts in examples/: what they print is what they measured, and that is right."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.special
import torch

from gelu_lint import cli

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=settings)


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_linter_finds_nothing_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SCRIPTS) == 3
    assert cli.main(["check", *map(str, SCRIPTS), str(EXAMPLES / "README.md")]) == 0
    assert capsys.readouterr().out == "No findings in 4 files.\n"


# agreement.py


def test_agreement_prints_the_true_distances_and_defaults() -> None:
    done = run("agreement.py")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {
        match[1].strip(): match.groups()[1:]
        for match in re.finditer(r"^(\S.*?)\s+([\d.e-]+)\s+([\d.e-]+)\s+(erf|tanh|-)$", done.stdout, re.MULTILINE)
    }
    defaults = {name.split(" ")[0]: default for name, (_, _, default) in rows.items()}
    wanted = {"torch.nn.functional.gelu": "erf", "keras.ops.gelu": "tanh", "keras.activations.gelu": "erf"}
    assert {name: defaults.get(name) for name in wanted} == wanted
    x = np.linspace(-10, 10, 8001, dtype=np.float32)
    wide = x.astype(np.float64)
    erf = wide * scipy.special.ndtr(wide)
    tanh = 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    for column, (approximate, exact) in enumerate((("none", erf), ("tanh", tanh))):
        got = torch.nn.functional.gelu(torch.from_numpy(x), approximate=approximate).numpy()
        assert float(rows["torch.nn.functional.gelu"][column]) == pytest.approx(np.abs(got - exact).max(), rel=0.2)
        assert all(float(row[column]) < 4 * 10 * 1.2e-7 for row in rows.values())
    assert f"{np.abs(tanh - erf).max():.2e} apart" in done.stdout
    assert done.stdout.endswith("All agree up to rounding in float32.\n")


@pytest.mark.parametrize(
    ("values", "default", "code"),
    [
        (lambda x: x * scipy.special.ndtr(x), "erf", 0),
        (lambda x: x * scipy.special.ndtr(x) * (1 + 3e-6), "neither", 1),
        (lambda x: x * scipy.special.expit(1.702 * x), "neither", 1),
        (lambda x: x * np.where(x < -9, np.nan, scipy.special.ndtr(x)), "neither", 1),
    ],
)
def test_agreement_fails_where_one_computes_something_else(
    values, default: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = module("agreement")
    answers = values(script.POINTS.astype(np.float64)).astype(np.float32)
    tanh = torch.nn.functional.gelu(torch.from_numpy(script.POINTS), approximate="tanh").numpy()
    made = {"a.gelu": (lambda how="none": tanh if how == "tanh" else answers, {"how": "none"}, {"how": "tanh"})}
    monkeypatch.setattr(script, "FRAMEWORKS", {"torch": lambda: made})
    assert script.main() == code
    out = capsys.readouterr().out
    assert re.search(rf"^a.gelu .*  {default}$", out, re.MULTILINE)
    assert ("(wrong)" in out) == (code == 1)
    assert out.endswith("All agree up to rounding in float32.\n") == (code == 0)


def test_agreement_fails_where_a_default_is_neither_flavour(monkeypatch: pytest.MonkeyPatch) -> None:
    script = module("agreement")
    gelu = torch.nn.functional.gelu

    def other(how="other"):
        x = torch.from_numpy(script.POINTS)
        return (torch.nn.functional.silu(x) if how == "other" else gelu(x, approximate=how)).numpy()

    monkeypatch.setattr(
        script, "FRAMEWORKS", {"torch": lambda: {"a": (other, {"how": "none"}, {"how": "tanh"})}, "no_such": None}
    )
    assert script.main() == 1


# timing.py


def test_timing_prints_a_row_for_each_dtype_and_pass_with_its_ratio() -> None:
    done = run("timing.py", "--size", "3000", "--repeats", "3", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "cpu: 1 thread(s), 3000 elements" in done.stdout
    rows = re.findall(r"^cpu +(\w+) +(forward\S*) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
    dtypes = ("float32", "float16", "bfloat16", "float64")
    assert [row[:2] for row in rows] == [(d, p) for d in dtypes for p in ("forward", "forward+backward")]
    for _, _, erf, tanh, ratio in rows:
        assert float(erf) > 0 and float(tanh) > 0
        rounding = 0.005 + float(ratio) * 0.00006 * (1 / float(erf) + 1 / float(tanh))
        assert float(ratio) == pytest.approx(float(tanh) / float(erf), abs=rounding)


def test_timing_gives_medians_of_calls_that_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    script = module("timing")
    now, order = [0.0], []
    slow = iter([1.0] * 4 + [1.0, 9.0, 1.0, 1.5, 1.0])  # warm-up and a first look, then five measurements

    def first() -> None:
        order.append("first")
        now[0] += next(slow)

    def second() -> None:
        order.append("second")
        now[0] += 0.25

    monkeypatch.setattr(script.time, "perf_counter", lambda: now[0])
    waits = []
    assert script.medians([first, second], lambda: waits.append(len(order)), 5) == [1.0, 0.25]
    timed = order[2 * script.WARM_UP + 1 :]
    assert sorted(timed[:2]) == sorted(timed[2:4]) == ["first", "second"] and timed[0] != timed[2]
    calls = range(2 * script.WARM_UP + 1, len(order))
    assert all({call, call + 1} <= {*waits} for call in calls), "the device is waited for before and after each"


def test_timing_calls_what_is_short_several_times_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    script = module("timing")
    now, calls = [0.0], [0]

    def short() -> None:
        calls[0] += 1
        now[0] += 1e-5

    monkeypatch.setattr(script.time, "perf_counter", lambda: now[0])
    assert script.medians([short], lambda: None, 3) == [pytest.approx(1e-5)]
    assert calls[0] == script.WARM_UP + 1 + 3 * 200


def test_timing_times_what_it_says() -> None:
    script = module("timing")
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    seen = []
    gelu = script.functional.gelu
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script.functional, "gelu", lambda x, approximate: seen.append(approximate) or gelu(x))
        for flavour in ("none", "tanh"):
            script.forward(x, flavour)()
            script.both_ways(x, flavour)()
    assert seen == ["none", "none", "tanh", "tanh"]
    assert not x.requires_grad


@pytest.mark.parametrize("arguments", [("--size", "0"), ("--repeats", "0"), ("--device", "tpu")])
def test_timing_refuses_what_makes_no_sense(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        module("timing").main(list(arguments))
    assert stopped.value.code == 2
    assert "error: " in capsys.readouterr().err


# gradient_flow.py

SMALL = argparse.Namespace(layers=2, width=8, heads=2, length=5, batch=3, seeds=3)
SMALL_ARGUMENTS = [word for name, value in vars(SMALL).items() for word in (f"--{name}", str(value))]


@pytest.mark.parametrize("name", ["GELU", "ReLU", "SiLU"])
def test_gradient_norms_are_those_of_the_loss(name: str) -> None:
    """Along its own gradient g a function rises by |g|², here told from differences of the loss alone."""
    script = module("gradient_flow")
    activation = script.ACTIVATIONS[name]
    model, loss = script.loss_of(activation, 1, SMALL, torch.float64)
    loss().backward()
    for layer, norm in enumerate(script.norms(activation, 1, SMALL)):
        weights = list(model.blocks[layer].parameters())
        step, values = 1e-5, []
        for sign in (1, -1):
            with torch.no_grad():
                for weight in weights:
                    weight += sign * step * weight.grad
                values.append(float(loss()))
                for weight in weights:
                    weight -= sign * step * weight.grad
        assert norm**2 == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4)


def test_gradient_flow_pairs_activations_and_draws_anew_for_each_seed() -> None:
    script = module("gradient_flow")
    models = {name: script.loss_of(f, 0, SMALL)[0] for name, f in script.ACTIVATIONS.items()}
    gelu, relu = models["GELU"].state_dict(), models["ReLU"].state_dict()
    assert all(torch.equal(gelu[name], relu[name]) for name in gelu)
    other, _ = script.loss_of(script.ACTIVATIONS["GELU"], 1, SMALL)
    assert not torch.equal(other.blocks[0].up.weight, models["GELU"].blocks[0].up.weight)
    x = torch.linspace(-4, 4, 101, dtype=torch.float64)
    assert torch.allclose(script.ACTIVATIONS["GELU"](x), x * torch.special.ndtr(x))
    assert torch.equal(script.ACTIVATIONS["ReLU"](x), x.clamp(min=0))
    assert torch.allclose(script.ACTIVATIONS["SiLU"](x), x * torch.sigmoid(x))


def test_gradient_flow_prints_mean_and_deviation_and_draws_them(tmp_path: Path) -> None:
    picture = tmp_path / "g.svg"
    done = run("gradient_flow.py", *SMALL_ARGUMENTS, "--plot", str(picture))
    assert (done.returncode, done.stderr) == (0, f"wrote {picture}\n")
    script = module("gradient_flow")
    cell = r"([\d.]+) ± +([\d.]+)"
    rows = re.findall(rf"^ +(\d) +{cell} +{cell} +{cell}  (\d) of 3 seeds$", done.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "2"]
    measured = {
        name: np.array([script.norms(f, seed, SMALL) for seed in range(3)]) for name, f in script.ACTIVATIONS.items()
    }
    for layer, row in enumerate(rows):
        for i, norms in enumerate(measured.values()):
            assert float(row[1 + 2 * i]) == pytest.approx(norms[:, layer].mean(), abs=6e-5)
            assert float(row[2 + 2 * i]) == pytest.approx(norms[:, layer].std(ddof=1), abs=6e-5)
        assert int(row[-1]) == (measured["GELU"][:, layer] < measured["ReLU"][:, layer]).sum()
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_gradient_flow_with_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert module("gradient_flow").main([*SMALL_ARGUMENTS[:-2], "--seeds", "1"]) == 0
    out = capsys.readouterr().out
    assert "over 1 seed\n" in out and out.count("± 0.0000") == 6 and " of 1 seed\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "every number is at least 1"),
        (["--width", "10", "--heads", "4"], "--width 10 is no multiple of --heads 4"),
        ([*SMALL_ARGUMENTS, "--plot", "g.gif"], "g.gif: .gif is no format of pictures here"),
        ([*SMALL_ARGUMENTS, "--plot", "no/such/g.png"], "no/such/g.png: not written: No such file or directory"),
    ],
)
def test_gradient_flow_says_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = module("gradient_flow").main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert message in capsys.readouterr().err
