"""A sparse GELU whose random mask is drawn in eval, too, or that training scales down.

## What it does
Reports the product of a GELU with a mask that the same function draws (`torch.rand_like(x) > p`, `torch.bernoulli`,
`.bernoulli_()`, `np.random.rand`, `jax.random.bernoulli` …) where no `self.training`, `deterministic`, `train` or
other flag decides whether it is drawn; and the product that is drawn in training alone, but never divided by the
share that is kept. `F.dropout`, `nn.Dropout`, masks that are drawn once, and functions of a training step are fine.

## Why is this bad
Without a flag a model in eval gives another answer to the same input each time: two calls differ by 0.84 and more.
Without the division the mean of what training sees is (1 - p) of what eval computes, half at p = 0.5 (both measured).

## Fix safety
There is no fix. `F.dropout(F.gelu(x), p, self.training)` does both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gelu_lint.model import FileSummary, Finding, Mask, Project
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_reference, is_test
from gelu_lint.rule import Rule, bad, good

#: Functions that run in training, or are meant to differ each time.
_ON_PURPOSE = lazy(r"train|loss|augment|montecarlo|monte_carlo|mcdropout|mc_|bayes|stochastic|noise|noisy", re.I)
_GELUS = ("erf", "tanh", "quick", "near", "sparse", "gelu_t", "sigmoid_k", "clipped")


def _gelu(mask: Mask, file: FileSummary) -> bool:
    """Whether what is masked is a GELU."""
    if mask.known:
        return True
    return any(
        site.spelling == "formula" and site.form != "backward" and site.flavour in _GELUS
        and (site.span == mask.factor or (site.span[:2] == mask.factor[:2] and site.span[2:] <= mask.factor[2:]))
        for site in file.sites
    )  # fmt: skip


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for mask in file.masks:
        if is_test(file.place, mask.symbol) or is_reference(mask.symbol) or _ON_PURPOSE.search(mask.symbol):
            continue
        if not _gelu(mask, file):
            continue
        if not mask.guard:
            message = f"masks a GELU by {mask.drawn} in eval, too: two calls on one input differ"
            if not mask.scaled:
                message += ", and nothing divides by the share that is kept"
        elif mask.guard == "train" and not mask.scaled:
            message = (
                f"masks a GELU by {mask.drawn} in training and never divides by the share that is kept: "
                "the mean in training is (1 - p) of that in eval"
            )
        else:
            continue
        data = (("symbol", mask.symbol or None),)
        yield Finding("GEL040", file.path, mask.span, message, "warning", None, data, statement=mask.statement)


def evidence() -> None:
    """Two eval calls differ without a guard; the means differ by 1 - p without a rescale; dropout does neither."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    x = torch.randn(200_000)
    y = F.gelu(x, approximate="none")

    def sparse(p: float) -> torch.Tensor:
        return y * (torch.rand_like(y) > p)

    assert (sparse(0.5) - sparse(0.5)).abs().max() > 0.84
    assert abs(sparse(0.5).mean() / y.mean() - 0.5) < 0.01
    assert abs((sparse(0.5) / 0.5).mean() / y.mean() - 1) < 0.02
    assert torch.equal(F.dropout(y, 0.5, training=False), y)
    assert abs(F.dropout(y, 0.5).mean() / y.mean() - 1) < 0.02


_CLASS = (
    "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Sparse(nn.Module):\n"
    "    def forward(self, x):\n"
)

RULE = Rule(
    "GEL040",
    "random-mask-at-inference",
    "sparse GELU with a random mask that is drawn in eval, too, or never rescaled",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _CLASS + "        mask = (torch.rand_like(x) > 0.5).to(x.dtype)\n"
            '        return F.gelu(x, approximate="none") * mask\n',
            at="9:16",
        ),
        bad(
            _CLASS + '        y = F.gelu(x, approximate="none")\n        if self.training:\n'
            "            y = y * (torch.rand_like(y) >= self.p)\n        return y\n",
            at="10:17",
        ),
        bad(
            "import jax\n\n\ndef sparse_ffn(x, key):\n    keep = jax.random.bernoulli(key, 0.9, x.shape)\n"
            "    return jax.nn.gelu(x, approximate=True) * keep / 0.9\n",
            at="6:12",
        ),
        good(
            _CLASS + '        y = F.gelu(x, approximate="none")\n        if not self.training:\n            return y\n'
            "        return y * (torch.rand_like(y) >= self.p) / (1.0 - self.p)\n"
        ),
        good(_CLASS + '        return F.dropout(F.gelu(x, approximate="none"), 0.1, self.training)\n'),
        good(
            "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Fixed(nn.Module):\n"
            "    def __init__(self, d):\n        super().__init__()\n"
            '        self.register_buffer("mask", torch.rand(d) > 0.5)\n\n'
            '    def forward(self, x):\n        return F.gelu(x, approximate="none") * self.mask\n'
        ),
    ),
    evidence=evidence,
)
