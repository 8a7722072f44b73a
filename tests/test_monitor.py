"""GeluMonitor against numpy on outputs that a plain hook kept, on all the ways in which models are run."""

from __future__ import annotations

import copy
import gc
import importlib
import io
import json
import math
import pickle
import re
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, _len_torch_function_stack
from torch.utils.checkpoint import checkpoint

from gelu_lint.runtime import GeluMonitor, GeluMonitorWarning, GeluStdWarning
from gelu_lint.runtime.measure import CHUNK, measure, read
from gelu_lint.runtime.moments import Moments, Tally, gaussian, input_std, tally, total

pytestmark = pytest.mark.filterwarnings("ignore::gelu_lint.runtime.monitor.GeluStdWarning")


@pytest.fixture(autouse=True)
def no_mode_stays(one_thread: None) -> Iterator[None]:
    yield
    assert _len_torch_function_stack() == 0


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def net(activation: nn.Module | None = None, width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), activation or nn.GELU(), nn.Linear(width, 1))


def train(model: nn.Module, steps: int = 1, *shape: int, scale: float = 1.0) -> None:
    for _ in range(steps):
        model(scale * torch.randn(*(shape or (16, 8)))).sum().backward()


class Call(nn.Module):
    """Calls F.gelu in its forward, at two places, one of them in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.linear(x))
        for _ in range(3):
            x = F.gelu(x, approximate="tanh")
        return x


class Written(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class QuickGELU(Written):
    pass


def test_the_package_of_the_runtime_loads_nothing_until_asked() -> None:
    code = (
        "import sys, gelu_lint.runtime as runtime\n"
        "assert 'torch' not in sys.modules and 'GeluMonitor' in dir(runtime)\n"
        "runtime.GeluMonitor\nassert 'torch' in sys.modules\n"
        "assert not {'tensorboard', 'transformers', 'pytorch_lightning', 'numpy.testing'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'GeluMonitr'"):
        importlib.import_module("gelu_lint.runtime").GeluMonitr  # noqa: B018


# Arithmetic.

FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


def moments(values: list[float]) -> Moments:
    return total(Tally(Moments(1, value, 0.0)) for value in values).output


@given(st.lists(FLOATS, max_size=40), st.lists(FLOATS, max_size=40))
def test_merged_moments_are_those_of_all_values(left: list[float], right: list[float]) -> None:
    merged = moments(left).merge(moments(right))
    every = np.array(left + right, dtype=np.longdouble)
    assert merged.size == len(every)
    if len(every):
        scale = 1 + float(np.abs(every).max())
        assert merged.mean == pytest.approx(float(every.mean()), rel=1e-12, abs=1e-12 * scale)
        assert merged.std == pytest.approx(float(every.std()), rel=1e-9, abs=1e-12 * scale)
    else:
        assert math.isnan(merged.std)


@given(st.lists(FLOATS, min_size=1, max_size=30), st.floats(1e3, 1e8))
def test_a_large_offset_takes_nothing_from_the_spread(values: list[float], offset: float) -> None:
    """Sums of squares would lose it all."""
    values = [offset + value * 1e-9 for value in values]
    exact = np.array(values, dtype=np.longdouble)
    assert moments(values).std == pytest.approx(float(exact.std()), rel=1e-6, abs=1e-12 * offset)


@given(st.permutations(range(12)))
def test_the_order_of_merging_changes_nothing_but_rounding(order: list[int]) -> None:
    parts = [Tally(Moments(i + 1, float(i), float(i * i)), dead=i, gap=i / 7) for i in range(12)]
    one, other = total(parts), total(parts[i] for i in order)
    assert one[2:] == other[2:]
    assert one.output == pytest.approx(other.output, rel=1e-12)


def test_a_tally_survives_json() -> None:
    one = Tally(Moments(3, 0.1, 1 / 3), Moments(3, -0.2, 2.0), 1, 0, 4, 2, 1, 0.02)
    assert tally(json.loads(json.dumps(one.plain()))) == one


def by_quadrature(mean: float, std: float) -> tuple[float, float]:
    def gelu(z: float) -> float:
        x = mean + std * z
        return float(x * scipy.stats.norm.cdf(x))

    def moment(power: int) -> float:
        def integrand(z: float) -> float:
            return float(gelu(z) ** power * math.exp(-z * z / 2) / math.sqrt(2 * math.pi))

        kink = [-mean / std] if abs(mean / std) < 12 else None
        return float(scipy.integrate.quad(integrand, -12, 12, limit=400, points=kink)[0])

    first = moment(1)
    return first, math.sqrt(moment(2) - first * first)


#: Mean and std of the output for zero-mean input of this std, and std for input of std 1 and this mean, to 4 digits.
TABLE = {
    (0.0, 0.1): (0.0040, 0.0503),
    (0.0, 0.5): (0.0892, 0.2749),
    (0.0, 1.0): (0.2821, 0.5879),
    (0.0, 2.0): (0.7136, 1.1919),
    (0.0, 5.0): (1.9560, 2.9391),
    (0.0, 10.0): (3.9696, 5.8501),
    (-2.0, 1.0): (None, 0.088),
    (-1.0, 1.0): (None, 0.258),
    (1.0, 1.0): (None, 0.898),
    (2.0, 1.0): (None, 1.029),
}


@pytest.mark.parametrize(("mean", "std"), [*TABLE, (-3.0, 0.3), (4.0, 30.0), (0.5, 0.01), (-0.7, 1e-3), (9.0, 0.5)])
def test_what_a_gelu_gives_for_gaussian_input(mean: float, std: float) -> None:
    assert gaussian(mean, std) == pytest.approx(by_quadrature(mean, std), rel=1e-6)
    told = TABLE.get((mean, std), (None, None))
    if told[1] is not None:
        assert gaussian(mean, std)[1] == pytest.approx(told[1], abs=6e-4 if told[0] is None else 6e-5)
    if told[0] is not None:
        assert gaussian(mean, std)[0] == pytest.approx(told[0], abs=6e-5)


@pytest.mark.parametrize(
    ("mean", "std"), [(1e8, 0.01), (1e4, 1e-3), (1e30, 1e25), (0.5, 0.0), (50.0, 4.9), (300.0, 31.0)]
)
def test_gaussian_input_far_from_zero_goes_through_as_it_is(mean: float, std: float) -> None:
    slope = 1.0 if mean > 1 else 0.0
    first = mean if slope else mean * scipy.special.ndtr(mean)
    assert gaussian(mean, std) == pytest.approx((first, slope * std), rel=1e-7)


def test_gaussian_input_far_below_zero() -> None:
    x = -12.0
    value = x * scipy.special.ndtr(x)
    slope = scipy.special.ndtr(x) + x * scipy.stats.norm.pdf(x)
    assert gaussian(x, 1e-6) == pytest.approx((value, 1e-6 * abs(slope)), rel=1e-6, abs=0)


def test_the_range_stands_for_these_inputs() -> None:
    assert input_std(0.3) == pytest.approx(0.541, abs=5e-4)
    assert input_std(0.7) == pytest.approx(1.181, abs=5e-4)
    assert by_quadrature(0.0, input_std(0.7))[1] == pytest.approx(0.7, rel=1e-6)


# Measuring.


def of(output: Tensor, given: Tensor | None = None) -> Tally:
    return read(output.numel(), given is not None, measure(output, given).tolist())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1, 7, CHUNK, CHUNK + 1])
def test_a_tensor_is_measured_as_numpy_does(dtype: torch.dtype, size: int) -> None:
    x = (3 * torch.randn(size, dtype=torch.float64)).to(dtype)
    y = F.gelu(x)
    exact, found = y.double().numpy(), of(y, x)
    assert found.output.size == size
    assert found.output.mean == pytest.approx(exact.mean(), rel=1e-12, abs=1e-14)
    assert found.output.std == pytest.approx(exact.std(), rel=1e-12, abs=1e-15)
    assert found.input.std == pytest.approx(x.double().numpy().std(), rel=1e-12, abs=1e-15)
    with np.errstate(invalid="ignore"):
        gates = exact / x.double().numpy()
    assert (found.dead, found.saturated) == ((gates <= 1e-3).sum(), (gates >= 0.999).sum())
    assert found.gap < (1e-6 if dtype.itemsize >= 4 else 0.01)


def test_dead_and_saturated_begin_where_a_hundredth_of_the_gradient_is_left() -> None:
    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64, requires_grad=True)
    for function, edge in ((F.gelu, 3.09), (lambda x: F.gelu(x, approximate="tanh"), 3.05), (Written(), 4.06)):
        y = function(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        y = y.detach()
        gates = y / x.detach()
        dead, saturated = x.detach()[gates <= 1e-3], x.detach()[gates >= 0.999]
        assert dead.max() == pytest.approx(-edge, abs=0.006)
        assert saturated.min() == pytest.approx(edge, abs=0.006)
        assert slope[gates <= 1e-3].abs().max() < 0.01 and (slope[gates >= 0.999] - 1).abs().max() < 0.01
        found = of(y, x.detach())
        assert (found.dead, found.saturated) == (len(dead), len(saturated))


@pytest.mark.parametrize(("dtype", "edge"), [(torch.bfloat16, 2.78), (torch.float16, 3.11)])
def test_in_bfloat16_outputs_are_their_inputs_sooner(dtype: torch.dtype, edge: float) -> None:
    x = torch.linspace(0.01, 5, 200_001).to(dtype)
    below = x[x < edge - 0.01]
    assert of(F.gelu(below), below).saturated == 0
    assert of(F.gelu(x[x >= edge]), x[x >= edge]).saturated == (x >= edge).sum()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_counted_and_left_out(bad: float) -> None:
    x = torch.randn(1000, dtype=torch.float64)
    x[::100] = bad
    y = torch.where(x.isfinite(), F.gelu(x), torch.full_like(x, bad))
    found, rest = of(y, x), F.gelu(x[x.isfinite()]).numpy()
    assert (found.bad_outputs, found.bad_inputs, found.output.size) == (10, 10, 990)
    assert found.output.std == pytest.approx(rest.std(), rel=1e-12)
    assert of(torch.full((5,), bad)).values() == {"gelu_nonfinite": 5}


def test_the_way_of_accelerators_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cannot look whether all is finite; here, the same code on a CPU."""
    import gelu_lint.runtime.measure as module

    plain = module._moments
    x = 2 * torch.randn(5000)
    expected = of(F.gelu(x), x)
    monkeypatch.setattr(module, "_moments", lambda values, here: plain(values, False))
    found = of(F.gelu(x), x)
    assert found[2:] == expected[2:]
    assert found.output == pytest.approx(expected.output, rel=1e-12)
    assert found.input == pytest.approx(expected.input, rel=1e-12)


def test_halves_that_would_overflow_do_not() -> None:
    y = torch.full((4096,), 6e4, dtype=torch.float16)
    y[::2] = -6e4
    assert of(y).output.std == pytest.approx(float(y[1]), rel=1e-12)


# Models.


def kept(model: nn.Module, layers: dict[str, nn.Module]) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {name: [] for name in layers}
    for name, layer in layers.items():
        layer.register_forward_hook(lambda m, i, output, name=name: found[name].append(output.detach().clone()))
    return found


def test_values_are_those_of_numpy_over_the_watched_steps() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8), nn.GELU("tanh"))
    outputs = kept(model, {"1": model[1], "3": model[3]})
    logged: list[tuple[int, dict[str, float]]] = []
    with GeluMonitor(model, every=3, sinks=[lambda step, values: logged.append((step, dict(values)))]) as monitor:
        train(model, 8)
    assert [step for step, _ in logged] == [0, 3, 6] and monitor.step_number == 8 and monitor.last_step == 6
    for name, every in outputs.items():
        watched = torch.stack(every)[::3].double().numpy()
        assert monitor.summary()[name]["gelu_output_std"] == pytest.approx(watched.std(), rel=1e-12)
        assert monitor.summary()[name]["gelu_output_mean"] == pytest.approx(watched.mean(), rel=1e-11)
        assert logged[1][1][f"{name}/gelu_output_std"] == pytest.approx(watched[1].std(), rel=1e-12)
        assert monitor.last[f"{name}/gelu_output_std"] == pytest.approx(watched[2].std(), rel=1e-12)


@pytest.mark.parametrize("activation", ["gelu", F.gelu, nn.GELU("tanh")])
def test_encoder_layers_of_torch_are_seen(activation: Any) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=True)
    model = nn.TransformerEncoder(layer, 2)
    with GeluMonitor(model) as monitor:
        train(model, 1, 2, 3, 8)
    inside = ".activation" if isinstance(activation, nn.Module) else ""
    assert list(monitor.summary()) == [f"layers.{i}{inside}" for i in range(2)]


def test_a_call_is_named_by_its_module_and_place() -> None:
    model = nn.Sequential(Call(), Call())
    with GeluMonitor(model) as monitor:
        train(model)
    assert list(monitor.summary()) == ["0", "0#2", "1", "1#2"]
    assert monitor.state()["layers"]["0#2"]["output"][0] == 3 * 16 * 8
    with GeluMonitor(Call()) as alone:
        train(alone._model)
    assert list(alone.summary()) == ["Call", "Call#2"]


def test_a_shared_activation_is_named_by_who_calls_it() -> None:
    act = nn.GELU()
    model = nn.Sequential(nn.Sequential(nn.Linear(8, 8), act, nn.Linear(8, 8), act), nn.Sequential(act))
    with GeluMonitor(model) as monitor:
        train(model)
    assert list(monitor.summary()) == ["0.1", "0.3", "1.0"]


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_accurate", "quick_gelu",
                                  "gelu_python", "gelu_10"])  # fmt: skip
def test_activations_of_transformers_are_seen_once(name: str) -> None:
    activations = pytest.importorskip("transformers.activations")
    model = net(activations.ACT2FN[name])
    outputs = kept(model, {"1": model[1]})
    with GeluMonitor(model) as monitor:
        train(model)
    (output,) = outputs["1"]
    assert list(monitor.summary()) == ["1"] and monitor.state()["layers"]["1"]["output"][0] == output.numel()
    assert monitor.summary()["1"]["gelu_output_std"] == pytest.approx(output.double().numpy().std(), rel=1e-9)


def test_a_module_of_transformers_is_seen_by_its_path() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=2, n_head=2)
    model = transformers.GPT2LMHeadModel(config).train()
    with GeluMonitor(model) as monitor:
        model(input_ids=torch.zeros(1, 4, dtype=torch.long)).logits.sum().backward()
    assert list(monitor.summary()) == [f"transformer.h.{i}.mlp.act" for i in range(2)]


@pytest.mark.parametrize("other", [nn.ReLU(), nn.SiLU(), Written()])
def test_what_is_no_gelu_is_not_seen_and_said_so(other: nn.Module) -> None:
    model = net(other)
    with pytest.warns(GeluMonitorWarning, match="no GELU was seen in Sequential"), GeluMonitor(model) as monitor:
        train(model)
    assert monitor.summary() == {}


@pytest.mark.parametrize("modules", [["1"], "1", lambda name, module: isinstance(module, Written)])
def test_hand_written_modules_are_watched_by_name(modules: Any) -> None:
    model = net(Written())
    with GeluMonitor(model, modules=modules) as monitor:
        train(model)
    assert list(monitor.summary()) == ["1"]


def test_a_module_with_a_name_and_parameters_is_no_activation() -> None:
    class GELU(nn.Module):  # as in diffusers
        def __init__(self) -> None:
            super().__init__()
            self.proj = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return 5 * F.gelu(self.proj(x))

    model = nn.Sequential(GELU())
    with GeluMonitor(model) as monitor:
        train(model)
    assert monitor.summary()["0"]["gelu_output_std"] < 1 and monitor.state()["layers"]["0"]["gap"] < 1e-6


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"every": 0}, ValueError, "every is 0"),
        ({"every": 2.5}, ValueError, "every is 2.5"),
        ({"bounds": (0.7, 0.3)}, ValueError, "least and greatest"),
        ({"bounds": 0.7}, ValueError, "least and greatest"),
        ({"bounds": (0.7,)}, ValueError, "least and greatest"),
        ({"sinks": print}, TypeError, "not <built-in function print>"),
        ({"sinks": ["tensorboard"]}, TypeError, "sinks are a list of callables"),
        ({"modules": ["0.1"]}, ValueError, "no module '0.1'"),
        ({"modules": ["linaer"]}, ValueError, "did you mean 'linear'"),
        ({"modules": [Written, "linear"]}, ValueError, "no module of the class Written"),
        ({"modules": nn.SiLU}, ValueError, "no module of the class SiLU"),
        ({"modules": [nn.SiLU()]}, TypeError, "names or classes of modules, or a predicate .*, not SiLU"),
        ({"modules": nn.SiLU()}, TypeError, "names or classes of modules, or a predicate .*, not SiLU"),
        ({"modules": nn.Sequential(nn.SiLU())}, TypeError, "not Sequential"),
        ({"modules": 7}, TypeError, "not int"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], error: type[Exception], said: str) -> None:
    model = Call()
    with pytest.raises(error, match=said):
        GeluMonitor(model, **options)
    assert hooks(model) == 0


def test_a_function_is_no_model() -> None:
    with pytest.raises(TypeError, match=r"not a builtin_function_or_method"):
        GeluMonitor(F.gelu)  # type: ignore[arg-type]


# Steps.


def test_only_training_counts() -> None:
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        train(model)
        model.eval()
        train(model)
        model.train()
        with torch.no_grad():
            model(torch.randn(2, 8))
    assert monitor.step_number == 1 and monitor.state()["layers"]["1"]["output"][0] == 16 * 8
    with GeluMonitor(model.eval(), every=1, evaluation=True) as monitor, torch.no_grad():
        model(torch.randn(2, 8))
    assert monitor.step_number == 1 and monitor.state()["layers"]["1"]["output"][0] == 16


def test_the_fast_path_of_evaluation_is_left_alone() -> None:
    """TransformerEncoderLayer leaves it where one of its modules has hooks."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
    model = nn.Sequential(layer)
    with GeluMonitor(model, every=1):
        train(model, 2, 2, 3, 8)
        assert hooks(layer) == 0


def test_steps_of_ones_own_hold_all_forwards() -> None:
    model = net()
    seen: list[int] = []
    with GeluMonitor(model, every=2, manual=True, start=4, sinks=[lambda step, _: seen.append(step)]) as monitor:
        for _ in range(3):
            train(model, 4)
            monitor.step()
        train(model, 2)
        monitor.step(100)
        assert monitor.step_number == 100
        with torch.no_grad():
            model.eval()(torch.randn(16, 8))
    assert seen == [4, 6] and monitor.state()["layers"]["1"]["output"][0] == 2 * 4 * 16 * 8
    assert hooks(model) == 0
    monitor.step()
    assert hooks(model) == 0


def test_parts_of_a_model_are_seen_in_manual_steps() -> None:
    """As in Lightning, where the forward of the whole is never called."""
    model = nn.ModuleDict({"one": net(), "two": Call()})
    with GeluMonitor(model, manual=True) as monitor:
        train(model["one"])
        train(model["two"])
    assert list(monitor.summary()) == ["one.1", "two", "two#2"]


def test_steps_are_no_ones_else() -> None:
    with pytest.raises(RuntimeError, match="manual=True"), GeluMonitor(net()) as monitor:
        monitor.step()


def test_no_forward_is_said() -> None:
    with pytest.warns(GeluMonitorWarning, match="no forward of Sequential in training mode"):
        GeluMonitor(net()).close()


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("manual", [True, False])
def test_forwards_that_checkpointing_repeats_count_once(reentrant: bool, manual: bool) -> None:
    class Saving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Call())

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = checkpoint(self.block, x.requires_grad_(), use_reentrant=reentrant)
            return out

    model, seen = Saving(), []
    model.block[1].register_forward_hook(lambda *_: seen.append(1))
    with GeluMonitor(model, every=1, manual=manual) as monitor:
        train(model)
    assert len(seen) == 2 and list(monitor.summary()) == ["block.1", "block.2", "block.2#2"]
    assert monitor.state()["layers"]["block.1"]["output"][0] == 16 * 8


def test_a_checkpointed_model_counts_once() -> None:
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        checkpoint(model, torch.randn(16, 8), use_reentrant=False).sum().backward()
    assert monitor.step_number == 1 and monitor.state()["layers"]["1"]["output"][0] == 16 * 8


def test_a_forward_that_raises_is_no_step() -> None:
    class Fails(nn.Module):
        fail = True

        def forward(self, x: Tensor) -> Tensor:
            if self.fail:
                raise KeyError("mine")
            return x

    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Fails())
    with GeluMonitor(model, every=1) as monitor:
        with pytest.raises(KeyError, match="mine"):
            train(model)
        assert hooks(model) == 2 and _len_torch_function_stack() == 0 and monitor.step_number == 0
        Fails.fail = False
        train(model)
    assert monitor.step_number == 1 and monitor.state()["layers"]["1"]["output"][0] == 16 * 8


def test_a_forward_inside_a_handler_is_a_step() -> None:
    model = net()
    with GeluMonitor(model) as monitor:
        try:
            raise ValueError
        except ValueError:
            train(model)
    assert monitor.step_number == 1


@pytest.mark.parametrize("deeper", [True, False])
def test_an_interrupt_leaves_nothing_behind(deeper: bool) -> None:
    class Stops(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise KeyboardInterrupt

    class Other(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Stops())
    with Other():
        with pytest.raises(KeyboardInterrupt), GeluMonitor(model):
            train(model)
        assert hooks(model) == 0 and _len_torch_function_stack() == 1
        monitor = GeluMonitor(model, every=1)
        with pytest.raises(KeyboardInterrupt):
            train(model)
        model[2] = nn.Identity()
        if deeper:
            with Other():
                train(model)
                assert _len_torch_function_stack() == 2
        train(model)
        monitor.close()
        assert hooks(model) == 0 and monitor.step_number == 1 + deeper and _len_torch_function_stack() == 1


def test_a_model_that_calls_itself_is_one_step() -> None:
    class Again(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.GELU()

        def forward(self, x: Tensor, depth: int = 3) -> Tensor:
            out: Tensor = self(self.act(x), depth - 1) if depth else x
            return out

    model = Again()
    with GeluMonitor(model, every=2) as monitor:
        for _ in range(4):
            model(torch.randn(5, requires_grad=True)).sum().backward()
    assert monitor.step_number == 4 and monitor.state()["layers"]["act"]["output"][0] == 2 * 3 * 5


def test_a_model_that_calls_itself_without_gradients_is_one_step() -> None:
    """As in self-conditioning."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.GELU()

        def forward(self, x: Tensor, again: bool = True) -> Tensor:
            if again:
                with torch.no_grad():
                    guess = self(x, False)
                x = x + guess
            out: Tensor = self.act(x)
            return out

    model = Twice()
    with GeluMonitor(model, every=1) as monitor:
        for _ in range(2):
            model(torch.randn(5, requires_grad=True)).sum().backward()
    assert monitor.step_number == 2 and monitor.state()["layers"]["act"]["output"][0] == 2 * 2 * 5


def test_an_exception_in_the_block_removes_hooks_and_says_nothing() -> None:
    model = net()
    with pytest.raises(ZeroDivisionError), GeluMonitor(model):
        1 / 0  # noqa: B018
    assert hooks(model) == 0


def test_nested_monitors_see_the_same() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Call())
    with GeluMonitor(model, every=1) as outer, GeluMonitor(model[2], every=1) as part:
        with GeluMonitor(model, every=1) as inner:
            train(model, 2)
        train(model)
    assert list(outer.summary()) == list(inner.summary()) == ["1", "2", "2#2"]
    assert list(part.summary()) == ["Call", "Call#2"] and hooks(model) == 0
    assert (outer.step_number, inner.step_number, part.step_number) == (3, 2, 3)
    assert part.state()["layers"]["Call"] == outer.state()["layers"]["2"]
    assert outer.state()["layers"]["1"]["output"][0] == 3 * 16 * 8


# Surroundings.


def test_copies_of_a_watched_model_are_free_of_the_monitor() -> None:
    model = net()
    with GeluMonitor(model, every=1, sinks=[lambda *_: None]) as monitor:
        copied = copy.deepcopy(model)
        pickled = pickle.dumps(model)
        assert b"gelu_lint" not in pickled
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        for other in (copied, pickle.loads(pickled), torch.load(buffer, weights_only=False)):
            x = torch.randn(3, 8)
            assert torch.equal(other(x), nn.Sequential(*other)(x))
        assert monitor.step_number == 0
        assert model.state_dict().keys() == net().state_dict().keys()
        train(model)
    assert monitor.step_number == 1 and hooks(model) == 0


def test_no_tensor_is_kept_alive() -> None:
    model, outputs = net(), []
    model[1].register_forward_hook(lambda m, i, output: outputs.append(weakref.ref(output)))
    with GeluMonitor(model, every=1, manual=True):
        train(model, 3)
        gc.collect()
        assert len(outputs) == 3 and not any(output() is not None for output in outputs)


def test_memory_does_not_grow_in_a_step_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gelu_lint.runtime.monitor._MOST", 5)
    model = net()
    with GeluMonitor(model, manual=True) as monitor:
        for _ in range(12):
            train(model)
            assert len(monitor._pending) < 5
    assert monitor.state()["layers"]["1"]["output"][0] == 12 * 16 * 8


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_and_half(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Call())
    outputs = kept(model, {"1": model[1]})
    with GeluMonitor(model, every=1) as monitor, torch.autocast("cpu", dtype=dtype):
        train(model)
    assert outputs["1"][0].dtype == dtype
    exact = outputs["1"][0].double().numpy()
    assert monitor.summary()["1"]["gelu_output_std"] == pytest.approx(exact.std(), rel=1e-12)
    whole = nn.Sequential(nn.Linear(8, 8), nn.GELU()).to(dtype)
    with GeluMonitor(whole) as monitor:
        whole(300 * torch.randn(16, 8).to(dtype)).sum().backward()
    assert 10 < monitor.summary()["1"]["gelu_output_std"] < 1000


@pytest.mark.parametrize("when", ["before", "after", "in place"])
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")
def test_compiled_models_run_watched_steps_eagerly(when: str) -> None:
    torch._dynamo.reset()
    compiled: list[int] = []

    def backend(module: Any, example: Any) -> Any:
        compiled.append(1)
        return module.forward

    model: Any = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Call())
    whole = model
    if when == "before":
        whole = torch.compile(model, backend=backend)
    monitor = GeluMonitor(whole, every=2)
    if when == "after":
        whole = torch.compile(model, backend=backend)
    elif when == "in place":
        model.compile(backend=backend)
    train(whole, 5)
    assert monitor.step_number == 5 and compiled
    assert list(monitor.summary()) == ["1", "2", "2#2"]
    watched = 3 if when == "before" else 2  # 0, 2 and 4; or 1 and 3 in their stead
    assert monitor.state()["layers"]["1"]["output"][0] == watched * 16 * 8
    graphs = len(compiled)
    train(whole, 4)
    assert len(compiled) == graphs  # watching makes nothing compile again
    monitor.close()
    assert hooks(whole) == 0
    torch._dynamo.reset()


def test_monitors_that_end_in_any_order_let_code_compile_again() -> None:
    torch._dynamo.reset()
    compiled: list[int] = []

    def backend(module: Any, example: Any) -> Any:
        compiled.append(1)
        return module.forward

    models = [torch.compile(net(), backend=backend) for _ in range(2)]
    monitors = [GeluMonitor(model, every=1, manual=True) for model in models]
    for _ in range(2):
        for model, monitor in zip(models, monitors, strict=True):
            train(model)
            monitor.step()
    for monitor in monitors:
        assert not compiled
        monitor.close()
        assert monitor.state()["layers"]["1"]["output"][0] == 2 * 16 * 8
    train(models[0])
    assert len(compiled) == 1
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")
def test_a_compiled_forward_that_raises_is_made_good() -> None:
    torch._dynamo.reset()
    model = net()
    monitor = GeluMonitor(model, every=10)
    model.compile(backend="eager")
    with pytest.raises(Exception, match="fake tensor call"):
        model(torch.randn(2, 3))
    train(model, 2)
    monitor.close()
    assert monitor.step_number == 2 and monitor.state()["layers"]["1"]["output"][0] == 16 * 8
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_tracing_and_export_are_no_steps() -> None:
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        traced = torch.jit.trace(model, torch.randn(2, 8), check_trace=False)
        assert "count_nonzero" not in str(traced.inlined_graph) and monitor.step_number == 0
        exported = torch.export.export(model.eval(), (torch.randn(2, 8),), strict=False)
        assert "gelu" in str(exported.graph) and monitor.step_number == 0
        train(model.train())
    assert monitor.step_number == 1


def test_compiled_parts_are_seen() -> None:
    torch._dynamo.reset()
    model = nn.Sequential(net(), net(width=1))
    model[0] = torch.compile(model[0], backend="eager")
    with GeluMonitor(model, every=2) as monitor:
        train(model, 3)
    assert list(monitor.summary()) == ["0.1", "1.1"]
    torch._dynamo.reset()


def test_wrappers_leave_no_prefix() -> None:
    with GeluMonitor(nn.DataParallel(net())) as monitor:
        train(monitor._model)
    assert list(monitor.summary()) == ["1"]


def test_checkpoint_wrappers_leave_no_names() -> None:
    wrapper = pytest.importorskip("torch.distributed.algorithms._checkpoint.checkpoint_wrapper")
    model = nn.Sequential(wrapper.checkpoint_wrapper(net()), nn.Linear(1, 1))
    with GeluMonitor(model, every=1) as monitor:
        train(model)
    assert list(monitor.summary()) == ["0.1"] and monitor.state()["layers"]["0.1"]["output"][0] == 16 * 8


def test_checkpointing_of_transformers_counts_once() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=2, n_head=2, use_cache=False)
    model = transformers.GPT2LMHeadModel(config).train()
    model.activation_checkpointing_enable()
    with GeluMonitor(model, every=1, manual=True) as monitor:
        model(input_ids=torch.zeros(1, 4, dtype=torch.long)).logits.sum().backward()
    assert [layer["output"][0] for layer in monitor.state()["layers"].values()] == [4 * 32] * 2


def test_replicas_in_threads_are_no_steps() -> None:
    """DataParallel gives them the hooks of the model, and runs them in threads."""
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        train(model)
        replica = model._replicate_for_data_parallel()
        replica._parameters = model._parameters
        assert replica._forward_hooks
        replica(torch.randn(2, 8))
    assert monitor.step_number == 1


def test_threads_of_replicas_are_seen() -> None:
    class Parallel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = nn.Sequential(nn.Linear(8, 8), nn.GELU(), Call())

        def forward(self, x: Tensor) -> Tensor:
            out: dict[int, Tensor] = {}

            def run(i: int, part: Tensor) -> None:
                replica = copy.copy(self.module)  # shares the dictionaries of hooks, as replicas do
                out[i] = replica(part)

            threads = [threading.Thread(target=run, args=(i, part)) for i, part in enumerate(x.chunk(4))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return torch.cat([out[i] for i in range(4)])

    model = Parallel()
    with GeluMonitor(model) as monitor:
        train(model)
    layers = monitor.state()["layers"]
    assert list(layers) == ["1", "2", "2#2"] and layers["1"]["output"][0] == 16 * 8


def test_functional_calls_are_seen() -> None:
    model = net()
    with GeluMonitor(model) as monitor:
        torch.func.functional_call(model, dict(model.named_parameters()), (torch.randn(3, 8),)).sum().backward()
    assert monitor.state()["layers"]["1"]["output"][0] == 24


def test_what_overwrites_its_input_tells_its_output_alone() -> None:
    class GELU(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch._C._nn.gelu_(x)

    class InPlace(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch._C._nn.gelu_(x + 1)

    for activation in (GELU(), InPlace()):
        model = net(activation)
        with torch.no_grad(), GeluMonitor(model, evaluation=True) as monitor:
            model(torch.randn(16, 8))
        assert set(monitor.summary()["1"]) == {"gelu_output_std", "gelu_output_mean", "gelu_nonfinite"}


# What is said.


def gives(function: Callable[[Tensor], object]) -> nn.Sequential:
    class GELU(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return function(x)

    return nn.Sequential(GELU())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: torch.complex(x, x), "complex64"),
        (lambda x: x.to_sparse(), "sparse_coo"),
        (lambda x: torch.nested.as_nested_tensor([x, x]), "nested"),
        (lambda x: (x, x), "a tuple, not a tensor"),
        (lambda x: x.round().int(), "int32"),
        (lambda x: x.to("meta"), "meta device"),
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_outputs_that_are_no_plain_numbers_are_warned_of_once(function: Callable[[Tensor], object], said: str) -> None:
    model = gives(function)
    with warnings.catch_warnings(record=True) as caught, GeluMonitor(model, every=1) as monitor:
        warnings.simplefilter("always", GeluMonitorWarning)
        for _ in range(2):
            model(torch.randn(3, 3))
    messages = [str(each.message) for each in caught if issubclass(each.category, GeluMonitorWarning)]
    assert len(messages) == 1 and messages[0].startswith("0 is not watched: ") and said in messages[0]
    assert monitor.summary() == {} and monitor.step_number == 2


def test_vmapped_forwards_are_warned_of() -> None:
    model = net()
    with pytest.warns(GeluMonitorWarning, match=r"inside torch\.func"), GeluMonitor(model):
        torch.func.vmap(model)(torch.randn(3, 8))


@pytest.mark.parametrize("shape", [(0, 8), (3, 0, 8)])
def test_empty_batches_are_nothing(shape: tuple[int, ...]) -> None:
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        train(model, 1, *shape)
        assert monitor.summary() == {} and monitor.last == {}
        train(model)
    assert monitor.step_number == 2 and monitor.state()["layers"]["1"]["output"][0] == 16 * 8
    said = "all that the GELUs of Sequential gave was empty"
    with pytest.warns(GeluMonitorWarning, match=said), GeluMonitor(model, every=1):
        train(model, 1, *shape)


def once(model: nn.Module, x: Tensor, **options: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught, GeluMonitor(model, every=1, **options):
        warnings.simplefilter("always")
        for _ in range(3):
            model(x)
    return caught


@pytest.mark.parametrize(
    ("std", "mean", "said"),
    [
        (2.0, 0.0, "1.19 where it is Gaussian: the input is wide, the activation itself is as it should be"),
        (0.1, 0.0, "0.05 where it is Gaussian: the input is narrow"),
        (1.0, -2.0, "0.088 where it is Gaussian: the input is off zero"),
    ],
)
def test_the_message_says_which_case_it_is(std: float, mean: float, said: str) -> None:
    x = mean + std * torch.randn(400_000, generator=torch.Generator().manual_seed(2))
    (caught,) = once(nn.Sequential(nn.GELU()), x)
    assert caught.category is GeluStdWarning
    message = str(caught.message)
    head = "0: gelu_output_std is .* at step 0, outside 0.3 to 0.7 .input of mean 0 and standard deviation 0.54 to 1.18"
    assert message.startswith("0: gelu_output_std is ") and re.match(head, message)
    assert said.split(" where")[0][:4] in message and said.split(" where")[1] in message


def test_healthy_layers_say_nothing_and_bounds_can_be_chosen() -> None:
    x = torch.randn(100_000)
    assert once(nn.Sequential(nn.GELU()), x) == []
    assert once(nn.Sequential(nn.GELU()), 5 * x, bounds=None) == []
    assert once(nn.Sequential(nn.GELU()), 2 * x, bounds=(0.3, 1.5)) == []
    assert len(once(nn.Sequential(nn.GELU()), x, bounds=(0.7, 1.5))) == 1


def test_a_layer_is_warned_of_on_each_side_and_once_more_where_the_input_is_not_the_cause() -> None:
    x, far = torch.randn(10_000), torch.zeros(10_000)
    far[::1000] = 100.0
    use: list[Callable[[Tensor], Tensor]] = []
    said = []
    model = gives(lambda x: use[-1](x))
    with GeluMonitor(model, every=1):
        for given, function in (
            *((0.1 * x, F.gelu), (0.2 * x, F.gelu), (x, F.gelu), (5 * x, F.gelu), (4 * x, F.gelu)),
            *((far, F.gelu), (4 * x, F.gelu), (4 * x, F.silu), (0.1 * x, torch.tanh), (0.1 * x, F.gelu)),
        ):
            use.append(function)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", GeluStdWarning)
                model(given)
            said.append([str(each.message) for each in caught])
    assert [len(each) for each in said] == [1, 0, 0, 1, 0, 1, 0, 0, 1, 0]
    assert "narrow" in said[0][0] and "wide" in said[3][0]
    assert "far from Gaussian" in said[5][0] and "no plain GELU" in said[8][0]


def test_warnings_are_of_the_users_line(tmp_path: Path) -> None:
    def lines(model: nn.Module) -> set[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with GeluMonitor(model, every=1):
                model(x)
            GeluMonitor(model).close()
        assert caught
        return {(each.filename, each.lineno - lines.__code__.co_firstlineno) for each in caught}

    x = 5 * torch.randn(10_000)
    assert lines(nn.Sequential(nn.GELU())) == {(__file__, 4), (__file__, 5)}  # the spread; nothing was seen
    assert lines(gives(lambda x: (x, x))) == {(__file__, 4), (__file__, 5)}
    compiled = torch.compile(nn.Sequential(nn.GELU()), backend="eager")
    assert lines(compiled) == {(__file__, 4), (__file__, 5)}
    script = tmp_path / "loop.py"
    script.write_text(
        "import torch\nfrom torch import nn\nfrom gelu_lint.runtime import GeluMonitor\n"
        "model = nn.Sequential(nn.GELU())\nwith GeluMonitor(model):\n    model(5 * torch.randn(1000))\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert run.stderr.startswith(f"{script}:6: GeluStdWarning: 0: gelu_output_std is "), run.stderr


@pytest.mark.parametrize("modules", [[Written], Written, ["1", Written], lambda name, module: name == "1"])
def test_hand_written_modules_are_named_by_class_too(modules: Any) -> None:
    model = net(Written())
    with GeluMonitor(model, modules=modules) as monitor:
        train(model)
    assert list(monitor.summary()) == ["1"]


def test_input_far_from_gaussian_and_what_is_no_gelu() -> None:
    x = torch.zeros(10_000)
    x[::1000] = 100.0
    (caught,) = once(nn.Sequential(nn.GELU()), x)
    assert "far from Gaussian" in str(caught.message)
    for flavour in (nn.GELU("tanh"), QuickGELU()):
        assert "as it should be" in str(once(nn.Sequential(flavour), 2 * torch.randn(10_000))[0].message)
    (caught,) = once(gives(F.silu), 2 * torch.randn(10_000))
    assert "up to 0.19 away from x·Φ(x)" in str(caught.message) and "no plain GELU" in str(caught.message)
    (caught,) = once(gives(lambda x: torch.cat([x, x])), 2 * torch.randn(10_000))
    assert "its input is not known" in str(caught.message)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (F.gelu, "10 of 1000 outputs are nan or infinite at step 0; 10 of its inputs were, too"),
        (lambda x: F.gelu(x).nan_to_num(1.0) / torch.arange(1000).clamp(max=1), "its inputs are all finite"),
    ],
)
def test_nan_is_warned_of_once(function: Callable[[Tensor], Tensor], said: str) -> None:
    x = torch.randn(1000)
    if function is F.gelu:
        x[::100] = math.nan
    (caught,) = once(gives(function), x)
    assert said in str(caught.message) and caught.category is GeluMonitorWarning


def test_a_sink_that_raises_is_warned_of_once_and_training_goes_on() -> None:
    def broken(step: int, values: Any) -> None:
        raise OSError("disk full")

    seen: list[int] = []
    model = nn.Sequential(nn.GELU())
    caught = once(model, torch.randn(10_000), sinks=[broken, lambda step, values: seen.append(step)])
    assert [str(each.message) for each in caught] == [
        "the sink test_a_sink_that_raises_is_warned_of_once_and_training_goes_on.<locals>.broken raised OSError: "
        "disk full; training goes on"
    ]
    assert seen == [0, 1, 2]


def test_the_state_can_be_saved_and_loaded() -> None:
    model = net()
    with GeluMonitor(model, every=1) as monitor:
        train(model, 2)
        state = json.loads(json.dumps(monitor.state()))
        train(model, 2)
        with GeluMonitor(model, every=1) as resumed:
            resumed.load_state(state)
            assert resumed.step_number == 2 and resumed.state() == state
            train(model)
            assert resumed.state()["layers"]["1"]["output"][0] == 3 * 16 * 8
    with pytest.raises(ValueError, match="no state of a GeluMonitor"):
        monitor.load_state({"step": 1, "layers": {"1": {}}})
    assert monitor.step_number == 5


def test_the_table_has_a_line_a_layer() -> None:
    model = nn.Sequential(nn.GELU(), gives(lambda x: torch.cat([x, x])))
    with GeluMonitor(model) as monitor:
        model(torch.tensor([-1.0, 0.0, 1.0, 4.0]))
    assert monitor.table() == (
        "layer  output std   mean  dead  saturated  input std  input mean  nan, inf\n"
        "0           1.677  1.171     0       0.25      1.871           1         0\n"
        "1.0         1.677  1.171                                                 0"
    )
    assert monitor.merge() == monitor.summary()
