"""A project that computes GELUs and has no `test_gelu_gradient_flow`.

## What it does
In a run over a whole project with a GELU outside its tests, looks for a test function whose name has
`gelu_gradient_flow` in it, in any file, for one that asks for the fixture of that name, which the pytest plugin has,
and for `gelu_models` in the configuration of pytest, by which the plugin tests models by itself. A name in a comment or
a docstring is no test. Reported once, at pyproject.toml, else at the first GELU. Off unless selected.

## Why is this bad
This is a policy, an item of the release checklist: which GELU a model computes, and that its gradient gets through, is
then held by a test. No harm follows from its absence, but nothing else would notice a swap: erf and tanh differ by at
most 4.73e-4, SiLU by 0.193 and x·σ(1.702x) by 0.0203, and each of them trains. What the test must look at to tell them
apart is in GEL202.

## Fix safety
There is no fix: the test needs to know your model. A test that tells the flavours apart:

    def test_gelu_gradient_flow():
        x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)
        F.gelu(x, approximate="none").sum().backward()
        torch.testing.assert_close(x.grad, torch.tensor([-0.1289, 0.5, 1.0]), atol=1e-4, rtol=0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.model import FileSummary, Finding, Project, Span
from gelu_lint.roles import first_gelu
from gelu_lint.rule import Rule, bad, good, report

_NAME = "gelugradientflow"


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    found = first_gelu(files)
    if found is None or project.probed or any(_has_test(file) for file in files):
        return
    file, site = found
    message = "the project computes GELUs and has no test_gelu_gradient_flow, which would hold which one, and its slope"
    finding = report("GEL201", file, site, message, "info", None)
    anchor = dict(project.anchors).get("pyproject.toml")
    if anchor is not None:
        related = ((file.path, site.span, "the first GELU"),)
        finding = finding._replace(path=anchor, span=Span(1, 0, 1, 0), statement=(1, 1), related=related)
    yield finding


def _has_test(file: FileSummary) -> bool:
    """Whether a file has such a test, or takes one over from another."""
    names = (*(trial.symbol for trial in file.trials), *(bound.name for bound in file.bound))
    if any(trial.fixture for trial in file.trials):
        return True
    return any("test" in name.lower() and _NAME in name.lower().replace("_", "") for name in names)


def evidence() -> None:
    """The test that the docs show holds for a GELU, and for none of what may take its place."""
    import torch
    import torch.nn.functional as F

    def passes(function: object) -> bool:
        x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)
        function(x).sum().backward()  # type: ignore[operator]
        assert x.grad is not None
        return torch.allclose(x.grad, torch.tensor([-0.1289, 0.5, 1.0]), atol=1e-4, rtol=0)

    assert passes(lambda x: F.gelu(x, approximate="none"))
    assert not passes(F.silu) and not passes(F.relu) and not passes(lambda x: x * torch.sigmoid(1.702 * x))


_MODEL = "import torch.nn.functional as F\n\n\ndef mlp(x, w):\n    return F.gelu(x @ w, approximate='tanh')\n"
_TEST = (
    "import torch\nimport torch.nn.functional as F\n\n\ndef test_gelu_gradient_flow():\n"
    "    x = torch.tensor([-(2**0.5), 0.0, 10.0], requires_grad=True)\n"
    "    F.gelu(x, approximate='tanh').sum().backward()\n"
    "    assert torch.allclose(x.grad, torch.tensor([-0.129, 0.5, 1.0]), atol=1e-3)\n"
)
_COMMENT = "# TODO: test_gelu_gradient_flow\n\n\ndef test_other():\n    assert True\n"

RULE = Rule(
    "GEL201",
    "no-gradient-flow-test",
    "GELU in the project, no `test_gelu_gradient_flow` (opt-in)",
    "—",
    "info",
    check,
    __doc__,
    examples=(
        bad(_MODEL, at="5:12", beside={"tests/test_model.py": _COMMENT}),
        bad(
            "import jax\n\n\ndef mlp(x, w):\n    return jax.nn.gelu(x @ w, approximate=True)\n",
            at="5:12",
            beside={"setup.py": "from setuptools import setup\n\nsetup()\n"},
        ),
        good(_MODEL, beside={"tests/numerics/test_gelu.py": _TEST}),
        good(
            _MODEL,
            beside={"tests/test_model.py": "def test_flow(gelu_gradient_flow, net):\n    gelu_gradient_flow(net)\n"},
        ),
    ),
    evidence=evidence,
    policy=True,
    opt_in=True,
    project=True,
    across=across,
)
