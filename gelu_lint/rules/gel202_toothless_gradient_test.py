"""A test of a GELU's gradient that cannot fail, or that SiLU passes.

## What it does
Looks at tests whose name says GELU and gradient (`test_gelu_gradient_flow`), and at other tests that take the gradient
of a GELU. It follows the test with typed points, or with some that stand for random ones, and works out its asserts
for erf, tanh, x·σ(1.702x), SiLU and ReLU. Reported is a test that asserts nothing; one that SiLU passes, too, or
x·σ(1.702x) where it looks at 0 and far out alone; and a gradient-flow test by name whose typed points leave out x = 0
or x = 10. It is silent where points come from `linspace`, `parametrize` or a helper, and where it cannot tell what an
assert says: `gradcheck` and comparisons with another gradient are fine.

## Why is this bad
A gradient of 0.5 at 0 and 1 at 10 proves nothing: erf, tanh, x·σ(1.702x) and SiLU (1.0004 at 10) all have it, and any
finite gradient will do for `isfinite`. What tells them apart lies at negative x: at −√2 the slope of both GELUs is
−0.129, that of SiLU −0.027, and at −0.752 their value is −0.170, that of SiLU −0.241. Erf and tanh part at ±2.7, by
4.73e-4.

## Fix safety
There is no fix: add the two points, `x = -2**0.5` (slope −0.129) and `x = -0.752` (value −0.170), with a tolerance of
1e-3 or less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.model import FileSummary, Finding, Project, Trial
from gelu_lint.rule import Rule, bad, good, report

_TELLS = "what does: slope −0.129 at x = −√2 (SiLU −0.027), value −0.170 at −0.752 (SiLU −0.241)"

#: From here on a GELU is as good as its argument, or 0.
_FAR = 6.0
_STRANGERS = (("silu", "SiLU"), ("quick", "x·σ(1.702x)"), ("relu", "ReLU"))


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for trial in file.trials:
        why = "" if trial.fixture else _fault(trial)
        if why:
            yield report("GEL202", file, trial, f"{trial.name} {why}", "warning", None)


def _fault(trial: Trial) -> str:
    """What is wrong with a test, "" where nothing is."""
    if trial.silent:
        return "asserts nothing: any function that has a gradient passes; assert slope 0.5 at 0 and −0.129 at −√2"
    strangers = _strangers(trial)
    if strangers:
        where = "at random x" if trial.inputs == "random" else f"at x = {_listed(trial.points)}"
        return f"would pass with {_listed(strangers)}: nothing that it asserts {where} tells them apart; {_TELLS}"
    missing = tuple(x for x in (0.0, 10.0) if not any(abs(x - point) < 1e-6 for point in trial.points))
    if trial.inputs == "literal" and trial.passes and "flow" in trial.name.lower() and missing:
        return f"never looks at x = {_listed(missing)}: a gradient-flow test asserts 0.5 at 0 and 1 at 10"
    return ""


def _strangers(trial: Trial) -> tuple[str, ...]:
    """The functions that are no GELU and pass a test that one passes.

    x·σ(1.702x), which is near to one everywhere, counts alone where the test looks but at 0 and far out.
    """
    far_out = bool(trial.points) and all(x == 0 or abs(x) >= _FAR for x in trial.points)
    if not trial.inputs or {"erf", "tanh"}.isdisjoint(trial.passes):
        return ()
    if "silu" not in trial.passes and not (far_out and "quick" in trial.passes):
        return ()
    return tuple(name for key, name in _STRANGERS if key in trial.passes)


def _listed(items: Sequence[object]) -> str:
    """Some of them, in words."""
    words = [f"{item:g}" if isinstance(item, float) else str(item) for item in items[:6]]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def evidence() -> None:
    """SiLU, x·σ(1.702x) and tanh pass slopes at 0 and 10, and so do random points; −√2 and −0.752 tell SiLU."""
    import torch
    import torch.nn.functional as F

    def slope(function: object, at: float) -> float:
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        (found,) = torch.autograd.grad(function(x), x)  # type: ignore[operator]
        return float(found.item())

    def erf(x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x, approximate="none")

    def tanh(x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x, approximate="tanh")

    def quick(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)

    for function in (erf, tanh, quick, F.silu):
        assert abs(slope(function, 0.0) - 0.5) < 1e-6 and abs(slope(function, 10.0) - 1.0) < 1e-3
        x = torch.randn(16, requires_grad=True)
        function(x).mean().backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None and torch.isfinite(x.grad).all()
    assert abs(slope(F.silu, 10.0) - 1.0004) < 5e-5
    low = -(2**0.5)
    assert all(abs(slope(function, low) + 0.129) < 5e-4 for function in (erf, tanh))
    assert abs(slope(F.silu, low) + 0.0269) < 5e-5
    at = torch.tensor(-0.752, dtype=torch.float64)
    assert all(abs(function(at).item() + 0.170) < 5e-4 for function in (erf, tanh))
    assert abs(F.silu(at).item() + 0.241) < 5e-4


_HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef test_gelu_gradient_flow():\n"
_ENDS = _HEAD + "    x = torch.tensor([0.0, 10.0], requires_grad=True)\n"
_RUN = "    F.gelu(x, approximate='none').sum().backward()\n"

RULE = Rule(
    "GEL202",
    "toothless-gradient-test",
    "a test of a GELU's gradient that asserts nothing, or that SiLU passes",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _ENDS
            + _RUN
            + "    assert abs(x.grad[0].item() - 0.5) < 1e-3\n    assert abs(x.grad[1].item() - 1.0) < 1e-3\n",
            at="5:5",
            name="tests/test_gelu.py",
        ),
        bad(_ENDS + _RUN, at="5:5", name="tests/test_gelu.py"),
        bad(
            _HEAD
            + "    x = torch.randn(16, requires_grad=True)\n"
            + _RUN
            + "    assert torch.isfinite(x.grad).all()\n",
            at="5:5",
            name="tests/test_gelu.py",
        ),
        bad(
            _HEAD
            + "    x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)\n"
            + _RUN
            + "    assert torch.allclose(x.grad, torch.tensor([-0.0833, 0.5, 1.0833]), atol=1e-3)\n",
            at="5:5",
            name="tests/test_gelu.py",
        ),
        good(
            _HEAD
            + "    x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)\n"
            + _RUN
            + "    assert torch.allclose(x.grad, torch.tensor([-0.129, 0.5, 1.0]), atol=1e-3)\n",
            name="tests/test_gelu.py",
        ),
        good(
            _HEAD
            + "    x = torch.linspace(-6, 6, 64, dtype=torch.float64, requires_grad=True)\n"
            + "    assert torch.autograd.gradcheck(lambda v: F.gelu(v, approximate='none'), (x,))\n",
            name="tests/test_gelu.py",
        ),
        good(
            "def test_gelu_gradient_flow(gelu_gradient_flow, model):\n    gelu_gradient_flow(model)\n",
            name="tests/test_gelu.py",
        ),
    ),
    evidence=evidence,
)
