"""A gated unit whose GELU stands around the product, or before the split.

## What it does
Reports GEGLU in which the product of gate and value is activated, `gelu(gate(x) * up(x))`, and a unit named for GEGLU
or GLU that activates both halves, `a, b = gelu(proj(x)).chunk(2)`. Two factors are gate and value if both are
projections of one input, or both halves of one split, and names say so. Products with a scale, a mask, a norm or
attention weights are none, and gMLP, which activates before the split by its definition, is not meant.

## Why is this bad
GEGLU is GELU(gate)·value (arXiv:2002.05202). GELU(gate·value) is another function: with gate = value = −3 it is 9, and
GEGLU is 0.012. Weights that were trained with the one give nonsense with the other.

## Fix safety
There is no fix: which half is the gate, only you know.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import internal
from gelu_lint.model import FileSummary, Finding, Project, Use
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.roles import is_backward, is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    if internal(file):
        return
    for use in file.uses:
        if use.kind != "gate" or is_test(file.place, use.symbol) or is_reference(use.symbol) or is_mock(use.symbol):
            continue
        if is_backward(use.symbol):
            continue
        words, error = _off(file, use)
        yield report("GEL019", file, use, words, "error", error=error)


def _off(file: FileSummary, use: Use) -> tuple[str, float]:
    """What is computed instead, and how far off that is at a point."""
    found = next((site.flavour for site in file.sites if site.span == use.callee_span), "erf")
    gelu = FLAVOURS[found if found in ("erf", "tanh", "quick") else "erf"].value
    if use.form == "product":
        error = abs(gelu(9.0) - gelu(-3.0) * -3.0)
        return (
            f"activates the product {use.written}: a GELU gate is GELU(g)·u, not GELU(g·u); off by {error:.3g} at "
            + ("g = u = −3"),
            error,
        )
    error = abs(gelu(3.0) * gelu(-3.0) - gelu(3.0) * -3.0)
    return (
        f"activates both halves before the split ({use.written}): a GELU gate is GELU(g)·u, not GELU(g)·GELU(u); "
        + (f"off by {error:.3g} at g = 3, u = −3"),
        error,
    )


def evidence() -> None:
    """The three are different functions."""
    import torch
    import torch.nn.functional as F

    g = u = torch.tensor(-3.0, dtype=torch.float64)
    right = F.gelu(g, approximate="none") * u
    assert abs((F.gelu(g * u, approximate="none") - right).item() - 8.99) < 5e-3
    assert abs(right.item() - 0.0121) < 1e-4
    g = -u
    both = F.gelu(g, approximate="none") * F.gelu(u, approximate="none")
    assert abs((both - F.gelu(g, approximate="none") * u).abs().item() - 8.98) < 5e-3


RULE = Rule(
    "GEL019",
    "misplaced-gate",
    "GEGLU that is activated after the product or before the split",
    "—",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            "import torch.nn.functional as F\n\n\nclass FeedForward:\n    def forward(self, x):\n"
            '        return self.down(F.gelu(self.gate(x) * self.up(x), approximate="tanh"))\n',
            at="6:26",
        ),
        bad(
            "import torch.nn.functional as F\n\n\nclass GEGLU:\n    def forward(self, x):\n"
            '        h = F.gelu(self.proj(x), approximate="none")\n        a, b = h.chunk(2, dim=-1)\n'
            "        return a * b\n",
            at="6:13",
        ),
        bad(
            "import jax\n\n\ndef geglu(params, x):\n    gate, up = x @ params[0], x @ params[1]\n"
            "    return jax.nn.gelu(gate * up, approximate=True)\n",
            at="6:12",
        ),
        good(
            "import torch.nn.functional as F\n\n\nclass GEGLU:\n    def forward(self, x):\n"
            "        gate, up = self.proj(x).chunk(2, dim=-1)\n"
            '        return F.gelu(gate, approximate="none") * up\n\n    def scaled(self, x):\n'
            '        return F.gelu(x * self.scale, approximate="none")\n'
        ),
        good(
            "import torch.nn.functional as F\n\n\nclass GMLPBlock:\n    def forward(self, x):\n"
            '        u, v = F.gelu(self.proj_in(x), approximate="none").chunk(2, dim=-1)\n'
            "        return self.proj_out(u * self.spatial(v))\n"
        ),
    ),
    evidence=evidence,
)
