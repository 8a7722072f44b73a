"""A hand-written backward that is not the derivative of its forward.

## What it does
Lowers what a GELU's backward gives (the `backward` of an autograd function, `gelu_backward`, `bias_gelu_back`,
`gelu_grad`) to a function of the input and compares it with the derivative of the forward's flavour: the forward of
the same class, or the function of the same name. Where it is the derivative of another flavour, the message names it.

## Why is this bad
Training follows a gradient that is not that of the loss: it goes on, and ends elsewhere. `torch.autograd.gradcheck` on
float64 inputs finds it, if somebody runs it.

## Fix safety
There is no fix. With a built-in GELU the framework brings the right backward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gelu_lint.handwritten import distance, finding, graded, label
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.roles import is_mock, is_test
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        formula = site.formula
        if site.form != "backward" or formula is None or is_test(file.place, site.symbol) or is_mock(site.symbol):
            continue
        size = None if math.isinf(formula.at) else site.error or 0.0
        message = f"not the derivative of {label(formula.nearest)}: {distance(size, formula.at)}"
        if formula.why == formula.nearest:
            message = f"the incoming gradient does not multiply all of the derivative of {label(formula.nearest)}"
        elif formula.why:
            message += f"; it is that of {label(formula.why)}"
        yield finding("GEL016", file, site, message, graded(size), None, size)


def evidence() -> None:
    """gradcheck refuses a backward without its second term, and takes the right one."""
    import math

    import torch

    class Gelu(torch.autograd.Function):
        second = 1.0

        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x * torch.special.ndtr(x)

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            (x,) = ctx.saved_tensors
            pdf = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
            return g * (torch.special.ndtr(x) + Gelu.second * x * pdf)

    x = torch.linspace(-3, 3, 13, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Gelu.apply, (x,))
    Gelu.second = 0.0
    assert not torch.autograd.gradcheck(Gelu.apply, (x,), raise_exception=False)


_HEAD = (
    "import math\n\nimport torch\n\n\nclass GeluFn(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n"
    "        ctx.save_for_backward(x)\n        return torch.nn.functional.gelu(x, approximate='none')\n\n"
    "    @staticmethod\n"
    "    def backward(ctx, grad_output):\n        (x,) = ctx.saved_tensors\n"
    "        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))\n"
)
_TWINS = (
    "import torch\n\n\n@torch.jit.script\ndef bias_gelu(bias, y):\n    x = bias + y\n"
    "    return x * torch.sigmoid(1.702 * x)  # gelu-lint: ignore[GEL011] CLIP\n\n\n"
    "@torch.jit.script\ndef bias_gelu_back(g, bias, y):\n    x = bias + y\n    s = torch.sigmoid(1.702 * x)\n"
)

RULE = Rule(
    "GEL016",
    "wrong-derivative",
    "hand-written GELU backward that is not the derivative of its forward (error ≥ 1e-3, else warning)",
    "—",
    "error",
    check,
    __doc__,
    examples=(
        bad(_HEAD + "        return grad_output * cdf\n", at="16:16"),
        bad(
            _HEAD + "        pdf = torch.exp(-x * x) / math.sqrt(2 * math.pi)\n"
            "        return grad_output * (cdf + x * pdf)\n",
            at="17:16",
        ),
        bad(_TWINS + "    return g * s * (1 + x * (1 - s))\n", at="14:12"),
        good(
            _HEAD + "        pdf = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)\n"
            "        return grad_output * (cdf + x * pdf)\n"
        ),
        good(_TWINS + "    return g * s * (1 + 1.702 * x * (1 - s))\n"),
        good("import torch\n\n\ndef swish_backward(g, x, gelu=None):\n    s = torch.sigmoid(x)\n    return g * s\n"),
    ),
    evidence=evidence,
)
