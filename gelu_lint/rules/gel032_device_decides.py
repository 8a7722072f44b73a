"""The device or the platform decides which GELU is computed.

## What it does
Reports `torch._addmm_activation(…, use_gelu=True)`, which computes the erf GELU on a CPU and the tanh GELU on CUDA,
and branches, tables and constants that choose the flavour by device or platform: `x.is_cuda`, `x.device.type`,
`torch.cuda.is_available()`, `torch.version.hip`, `torch.backends.mps`, `sys.platform`, `jax.default_backend()`. Where
the device decides something else, such as a dtype, nothing is reported.

## Why is this bad
The same model with the same weights computes other values elsewhere, by up to 4.7e-4 in each activation: a test on a
CPU does not test what runs in production.

## Fix safety
There is no fix: only you know which of both is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.handwritten import distance, internal, label
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.numerics.flavours import between
from gelu_lint.roles import is_backward, is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    if internal(file):
        return
    yield from _fused(file)
    for choice in file.choices:
        quiet = is_test(file.place, choice.symbol) or is_reference(choice.symbol) or is_mock(choice.symbol)
        if quiet or is_backward(choice.symbol) or choice.form == "table":
            continue
        for i, arm in enumerate(choice.arms):
            rest = [other for other in choice.arms[i + 1 :] if other.flavour and other.kind not in ("flavour", "name")]
            other = next((o for o in rest if o.flavour != arm.flavour), None)
            if arm.kind == "device" and arm.flavour and other is not None:
                gap = between(arm.flavour, other.flavour)
                message = f"the device decides: {label(arm.flavour)} by {arm.test or 'its name'}, "
                message += f"{label(other.flavour)} elsewhere (line {other.span.row}); {distance(gap.size, gap.at)}"
                found = report(
                    "GEL032", file, choice, message, "warning", span=arm.span, flavour=arm.flavour, error=gap.size
                )
                related = ((file.path, other.span, f"{label(other.flavour)} elsewhere"),)
                yield found._replace(related=related, statement=arm.statement)
                break


def _fused(file: FileSummary) -> Iterator[Finding]:
    gap = between("erf", "tanh")
    for use in file.uses:
        if use.kind != "fused" or is_test(file.place, use.symbol):
            continue
        message = f"{use.written} with use_gelu computes the erf GELU on a CPU and the tanh GELU on CUDA"
        other = next((s for s in file.sites if s.symbol == use.symbol and s.flavour == "erf"), None)
        if use.guard == "device":
            # The file asks where its tensors are, perhaps in another function: what is computed elsewhere counts.
            if other is None:
                continue
            message += f", and the erf GELU stands in for it (line {other.span.row})"
        yield report("GEL032", file, use, f"{message}: {distance(gap.size, gap.at)}", "warning", error=gap.size)


def evidence() -> None:
    """On a CPU the fused operation is the erf GELU; CUDA's is tanh (pytorch#104061), which is another function."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    x, w, b = torch.randn(64, 32), torch.randn(16, 32), torch.randn(16)
    fused = torch._addmm_activation(b, x, w.t(), use_gelu=True)
    plain = torch.addmm(b, x, w.t())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert (fused - F.gelu(plain, approximate="none")).abs().max() < 1e-5
    assert (F.gelu(plain, approximate="tanh") - F.gelu(plain, approximate="none")).abs().max() > 3e-4
    if device == "cuda":
        there = torch._addmm_activation(b.cuda(), x.cuda(), w.cuda().t(), use_gelu=True).cpu()
        assert (there - F.gelu(plain, approximate="tanh")).abs().max() < 1e-4


RULE = Rule(
    "GEL032",
    "device-decides",
    "`_addmm_activation(use_gelu=True)`, or a flavour that is chosen by device or platform",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            "import torch\n\n\ndef mlp(x, weight, bias):\n"
            "    return torch._addmm_activation(bias, x, weight.t(), use_gelu=True)\n",
            at="5:12",
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef act(x):\n    if x.is_cuda:\n"
            '        return F.gelu(x, approximate="tanh")\n    return F.gelu(x, approximate="none")\n',
            at="6:16",
        ),
        bad(
            "import torch\nimport torch.nn.functional as F\n\n\ndef act(x):\n"
            '    approx = "tanh" if torch.cuda.is_available() else "none"\n'
            "    return F.gelu(x, approximate=approx)\n",
            at="6:14",
        ),
        good(
            "import torch\nimport torch.nn.functional as F\n\n"
            "DTYPE = torch.float16 if torch.cuda.is_available() else torch.float32\n\n\ndef act(x):\n"
            '    return F.gelu(x, approximate="tanh").to(DTYPE)\n'
        ),
        good(
            "import torch\n\n\ndef mlp(x, weight, bias):\n"
            "    return torch._addmm_activation(bias, x, weight.t(), use_gelu=False)\n"
        ),
        good(
            "import torch.nn.functional as F\n\n\ndef act(x):\n    if x.is_cuda:\n"
            '        return F.gelu(x.contiguous(), approximate="tanh")\n    return F.gelu(x, approximate="tanh")\n'
        ),
    ),
    evidence=evidence,
)
