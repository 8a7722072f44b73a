"""GELUs that are compared up to a tolerance that their flavours keep.

## What it does
Looks at comparisons of a GELU with something that should compute the same: `assert_close`, `allclose`,
`assert_allclose`, `assertAllClose`, `assertAlmostEqual`, `pytest.approx`, `(a - b).abs().max() < tol` and their kin.
Reported is a tolerance, `atol + 2.69 * rtol`, of 4.7e-4 or more. Expected numbers that are typed count where the points
are typed, too, and erf and tanh differ there by 1e-4 or more. Not looked at are two GELUs that are meant to differ,
whole models, GELUs of a matrix product, comparisons that must fail, and functions that have to do with half precision,
bfloat16 or quantization.

## Why is this bad
The erf and the tanh GELU are at most 4.73e-4 apart, at |x| = 2.699, where they are ±2.69 and 0.009. Under such a
tolerance either passes for the other, and what the test was written for, a kernel, an export or a port that computes
the other flavour, goes through. From 2.1e-2 on x·σ(1.702x) passes as well, from 0.2 on SiLU.

## Fix safety
The fix writes `atol=1e-5` (and `rtol=1e-5` where the relative tolerance alone would do), which float32 keeps: rounding
is below 1e-6 for |x| ≤ 6. It changes a test alone, which may then fail: that is its point. It is applied with
`--unsafe-fixes` only. There is none where the tolerance has a name, or where the expected numbers are typed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Comparison, Edit, FileSummary, Finding, Fix, Project
from gelu_lint.numerics.flavours import FLAVOURS, LINE
from gelu_lint.rule import Rule, bad, good, report

#: The largest distance between the erf and the tanh GELU, 4.73e-4, less what nobody means; and the value there.
_GAP = 4.7e-4
_THERE = 2.69
_TIGHT = 1e-5
#: Typed numbers have four digits: where flavours are nearer than that nothing would tell them apart.
_TYPED = 1e-4


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for found in file.comparisons:
        allowed = _allowed(found.tolerance, found.relative, found.either)
        if allowed < _GAP or (found.points and _apart(found.points) < _TYPED):
            continue
        words = f"allows {allowed:.3g} where the erf and the tanh GELU are farthest apart, 4.73e-4 at |x| = 2.7"
        if found.points:
            words = f"allows {allowed:.3g}, and the erf and the tanh GELU are {_apart(found.points):.1g} apart there"
        passing = [name for name, least in (("x·σ(1.702x)", 0.0203), ("SiLU", 0.194)) if found.tolerance >= least]
        hidden = found.points or _hides(found.tolerance, found.relative)
        words += ": either passes for the other" if hidden else ": for x > 0 either passes for the other"
        words += f", and so does {' and '.join(passing)}" if passing else ""
        fix = None if found.points else _fix(found)
        yield report("GEL203", file, found, f"{found.written} {words}", "warning" if hidden else "info", fix)


def _allowed(absolute: float, relative: float, either: bool) -> float:
    """The tolerance where the flavours are farthest apart."""
    return max(absolute, _THERE * relative) if either else absolute + _THERE * relative


def _apart(points: tuple[float, ...]) -> float:
    """How far the flavours are apart at some points."""
    return max(abs(FLAVOURS["erf"].value(x) - FLAVOURS["tanh"].value(x)) for x in points)


def _hides(absolute: float, relative: float) -> bool:
    """Whether the flavours pass for each other everywhere: a relative tolerance is little where values are small."""
    erf, tanh = FLAVOURS["erf"].value, FLAVOURS["tanh"].value
    return all(abs(erf(x) - tanh(x)) <= absolute + relative * abs(erf(x)) for x in LINE if abs(x) <= 6)


def _fix(found: Comparison) -> Fix | None:
    """Tight tolerances, where they are typed in the call."""
    place, relative_place = found.spans
    edits: list[Edit] = []
    left = found.tolerance
    if place is not None and found.tolerance > _TIGHT:
        edits.append(Edit(place, "5" if found.unit in ("places", "decimals") else "1e-5"))
        left = _TIGHT
    relative = found.relative
    if relative_place is not None and _allowed(left, relative, found.either) >= _GAP:
        edits.append(Edit(relative_place, "1e-5"))
        relative = _TIGHT
    if not edits or _allowed(left, relative, found.either) >= _GAP:
        return None
    written = " and ".join(edit.content for edit in edits)
    return Fix(f"write {written}", tuple(edits), reach="interface")


def evidence() -> None:
    """The tolerance of the bad examples takes erf for tanh; that of the fixed ones does not."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-6, 6, 2401)
    erf, tanh = F.gelu(x, approximate="none"), F.gelu(x, approximate="tanh")
    assert torch.allclose(erf, tanh, atol=5e-4, rtol=0)
    assert torch.allclose(erf, tanh, atol=1e-2, rtol=1e-2)
    assert torch.allclose(x * torch.sigmoid(1.702 * x), erf, atol=2.1e-2, rtol=0)
    assert not torch.allclose(erf, tanh, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(erf, tanh, atol=4e-4, rtol=0)
    assert torch.allclose(erf[x > 0], tanh[x > 0], atol=0, rtol=1e-3)
    assert not torch.allclose(erf, tanh, atol=0, rtol=1e-3), "where values are small a relative tolerance is, too"
    wide = torch.linspace(-6, 6, 2401, dtype=torch.float64)
    assert (F.gelu(wide).float() - erf).abs().max() < 1e-6, "float32 keeps 1e-5"


_HEAD = "import torch\nimport torch.nn.functional as F\n\nfrom kernels import gelu_tanh\n\n\n"
_TEST = _HEAD + "def test_kernel():\n    x = torch.linspace(-6, 6, 101)\n    want = F.gelu(x, approximate='tanh')\n"

RULE = Rule(
    "GEL203",
    "tolerance-hides-flavour",
    "a GELU compared up to 4.7e-4 or more (`atol + 2.69·rtol`): erf and tanh pass for each other",
    "`atol=1e-5` (the test alone)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _TEST + "    torch.testing.assert_close(gelu_tanh(x), want, atol=1e-2, rtol=1e-2)\n",
            at="10:5",
            fixed=_TEST + "    torch.testing.assert_close(gelu_tanh(x), want, atol=1e-5, rtol=1e-5)\n",
            reach="interface",
            name="tests/test_kernel.py",
        ),
        bad(
            _TEST + "    assert torch.allclose(gelu_tanh(x), want, atol=5e-4)\n",
            at="10:12",
            fixed=_TEST + "    assert torch.allclose(gelu_tanh(x), want, atol=1e-5)\n",
            reach="interface",
            name="tests/test_kernel.py",
        ),
        bad(
            _TEST + "    assert (gelu_tanh(x) - want).abs().max().item() < 1e-3\n",
            at="10:12",
            fixed=_TEST + "    assert (gelu_tanh(x) - want).abs().max().item() < 1e-5\n",
            reach="interface",
            name="tests/test_kernel.py",
        ),
        bad(
            "import pytest\n\nfrom kernels import gelu\n\n\ndef test_value():\n"
            "    assert gelu(1.0) == pytest.approx(0.8413, abs=1e-3)\n",
            at="7:12",
            name="tests/test_kernel.py",
        ),
        good(_TEST + "    torch.testing.assert_close(gelu_tanh(x), want)\n", name="tests/test_kernel.py"),
        good(
            _TEST + "    torch.testing.assert_close(gelu_tanh(x.half()), want.half(), atol=1e-2, rtol=1e-2)\n",
            name="tests/test_kernel.py",
        ),
        good(
            _TEST + "    assert not torch.allclose(F.gelu(x, approximate='none'), want, atol=1e-3)\n",
            name="tests/test_kernel.py",
        ),
        good(
            _HEAD + "def test_norm(layer_norm, x):\n"
            "    torch.testing.assert_close(layer_norm(x), F.layer_norm(x, (8,)), atol=1e-2, rtol=1e-2)\n"
            "    torch.testing.assert_close(gelu_tanh(x), F.gelu(x, approximate='tanh'), atol=1e-5, rtol=1e-5)\n",
            name="tests/test_kernel.py",
        ),
    ),
    evidence=evidence,
)
