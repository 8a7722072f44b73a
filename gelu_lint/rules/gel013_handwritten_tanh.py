"""The tanh GELU typed by hand, where the framework has it.

## What it does
Reports formulas that compute 0.5x(1 + tanh(√(2/π)(x + 0.044715x³))), in any spelling (Horner form, `x * sigmoid(2 *
u)`, shortened constants, over several statements), where the framework whose functions they call has a built-in GELU.
NumPy and SciPy have none. Files that define several flavours under their names, tests, references, accelerator kernels
and frameworks themselves are left alone.

## Why is this bad
In half precision the formula's gradient is NaN from |x| = 148, 256 or 1211 on, by how the cube is spelled, where the
built-in's is right for every finite input; its many intermediate results take memory that one kernel does not. Where
the file shows half precision, GEL021 says so as an error. In float64 the two are the same function, so this is an info.

## Fix safety
The fix writes the built-in with its flavour spelled out, for the whole body of the function where the formula is all of
it. The function is the same, last bits may differ (this counts as 1e-6, or as what a shortened constant was off by).
None is offered where a cast or a comment would be lost, or the declared torch is older than 1.12.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import finding, replacement, spoken
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        if spoken(site, file) != "GEL013":
            continue
        message = f"the tanh GELU typed by hand, which {site.framework} has built in"
        yield finding("GEL013", file, site, message, "info", replacement(file, project, site, "tanh"))


def evidence() -> None:
    """In fp16 the formula's gradient is NaN at 200, the built-in's is 1. In float64 they are one function."""
    import math

    import torch
    import torch.nn.functional as F

    def formula(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))

    x = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    assert (formula(x) - F.gelu(x, approximate="tanh")).abs().max() < 1e-12
    half = torch.tensor([200.0], dtype=torch.float16, requires_grad=True)
    (slope,) = torch.autograd.grad(formula(half).sum(), half)
    assert torch.isnan(slope).all()
    (slope,) = torch.autograd.grad(F.gelu(half, approximate="tanh").sum(), half)
    assert slope.item() == 1


_TANH = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"
_FORMULA = "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"

RULE = Rule(
    "GEL013",
    "handwritten-tanh",
    "tanh GELU typed by hand where the framework has one",
    'built-in, `approximate="tanh"` (rounding)',
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _TANH + f"def gelu_new(x):\n    return {_FORMULA}\n",
            at="8:12",
            fixed=_TANH + 'def gelu_new(x):\n    return F.gelu(x, approximate="tanh")\n',
            delta=1e-6,
        ),
        bad(
            _TANH + 'def gelu(x):\n    """As GPT-2 has it."""\n    u = 0.79788 * x * (1 + 0.0447 * x * x)\n'
            "    y = torch.tanh(u)\n    y += 1\n    return 0.5 * x * y\n",
            at="12:12",
            fixed=_TANH + 'def gelu(x):\n    """As GPT-2 has it."""\n    return F.gelu(x, approximate="tanh")\n',
            delta=9.887e-6,
        ),
        bad(
            "import tensorflow as tf\n\n\ndef ffn(x, w, gelu=True):\n"
            "    return (x * tf.sigmoid(1.5957691216 * (x + 0.044715 * tf.pow(x, 3)))) @ w\n",
            at="5:13",
            fixed="import tensorflow as tf\n\n\ndef ffn(x, w, gelu=True):\n"
            "    return (tf.nn.gelu(x, approximate=True)) @ w\n",
            delta=1e-6,
        ),
        bad(
            _TANH + "def gelu(x):\n    # GPT-2's\n    u = 0.7978845608 * (x + 0.044715 * x**3)\n"
            "    # times the gate\n    return 0.5 * x * (1 + torch.tanh(u))\n",
            at="11:12",
        ),
        good(
            "import numpy as np\n\n\ndef gelu(x):\n"
            "    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))\n"
        ),
        good(
            _TANH + f"def gelu(x, approximate=True):\n    if approximate:\n        return {_FORMULA}\n"
            '    return F.gelu(x, approximate="none")\n'
        ),
        good(
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef gelu(x):\n"
            "    return x * tl.sigmoid(1.5957691216 * x * (1 + 0.044715 * x * x))\n"
        ),
    ),
    evidence=evidence,
)
