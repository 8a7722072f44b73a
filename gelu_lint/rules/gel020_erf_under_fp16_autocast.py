"""PyTorch's erf GELU where the code runs in fp16: the release checklist asks for the tanh form there.

## What it does
Looks for what makes code run in fp16: `torch.autocast` with its defaults per device (fp16 on cuda, bf16 on cpu),
`custom_fwd`, `.half()`, `torch_dtype=torch.float16`, the fp16 switches of Trainer, Lightning, Accelerate and DeepSpeed.
From there it follows names: the block that is opened, functions, methods and modules of the file, attributes that hold
them, and, in a run over a whole project, imports. A built-in erf GELU that may run there is reported; the context is a
related location. What runs in bf16, under `enabled=False` or after `.float()` is not; nor is tensorflow, keras or jax,
whose tanh form is the one that turns NaN in fp16.

## Why is this bad
This is a policy: one flavour for all that runs in fp16. It is not about accuracy: PyTorch computes both flavours in
float32 inside and rounds once, erf is finite and accurate for every fp16 input, and erf cannot overflow. What is left
for tanh is that cuBLASLt fuses it, alone, with the matrix product before it (pytorch#104061), and that it is what the
checkpoint was trained with, where it was. A hand-written GELU in fp16 is another matter: see GEL021.

## Fix safety
The fix writes `approximate="tanh"`, which changes values by up to 4.73e-4: do it before training, or measure a model
that was trained with erf again. A project whose policy is erf gets no fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.facts.table import callables
from gelu_lint.fixes import can_choose, insert, overruled, spell
from gelu_lint.misuse import chosen, misuse
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Project, Site
from gelu_lint.numerics.flavours import between
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_backward, is_defined, is_mock, is_reference, is_test
from gelu_lint.rule import Rule, bad, good, report

_CALLS = ("call", "partial", "super")
#: References that are certainly used: a default or a table only offers one.
_REFERENCES = ("argument", "attribute", "variable")
_LIFTED = lazy(r"\.(?:float\(\)|double\(\)|to\((?:dtype\s*=\s*)?torch\.(?:float32|float64|float|double)\))$")


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites if file.contexts else ():
        if not _may_run(file, site):
            continue
        module = site.spelling == "reference" or callables()[site.callee].kind == "class"
        context = next((c for c in file.contexts if c.covers(site.span.row, module)), None)
        if context is None:
            continue
        where = f"{context.path}:{context.span.row}" if context.path else f"line {context.span.row}"
        message = (
            f"{site.written} is the erf GELU and may run in fp16 ({context.written}, {where}), where the release "
            "checklist asks for tanh; erf is finite and accurate there, and a trained erf model changes by up to 4.7e-4"
        )
        found = report("GEL020", file, site, message, "info", _fix(file, site, project), claimed=None)
        yield found._replace(related=((context.path or file.path, context.span, "runs in fp16"),))


def _may_run(file: FileSummary, site: Site) -> bool:
    """Whether a context in which a site runs makes it one of this rule."""
    return _is_meant(site) and not is_test(file.place, site.symbol) and not is_reference(site.symbol, site.key)


def _is_meant(site: Site) -> bool:
    """Whether a site is a built-in erf GELU of PyTorch that surely computes where it stands, in the precision there."""
    if site.framework != "torch" or site.flavour != "erf" or site.spelling not in ("call", "reference"):
        return False
    row = callables().get(site.callee)
    if row is None or not row.keyword or misuse(site) is not None or site.guard == "raises":
        return False
    if site.form not in (_CALLS if site.spelling == "call" else _REFERENCES):
        return False
    if site.place in ("table", "default") or is_defined(site) or is_backward(site.symbol) or is_mock(site.symbol):
        return False
    return not (site.arguments and _LIFTED.search(site.arguments[0].text))


def _fix(file: FileSummary, site: Site, project: Project) -> Fix | None:
    row = callables()[site.callee]
    if site.spelling != "call" or project.policy not in ("", "tanh") or not can_choose(row, project):
        return None
    if overruled(site, "tanh", file):
        return None
    value = row.value_for("tanh")
    if site.given == "absent":
        edit = insert(site.slot, row.keyword, value, site.quote)
    elif site.given == "literal":
        positional = [argument for argument in site.arguments if not argument.keyword]
        edit = Edit(chosen(site, row, positional).value_span, spell(value, site.quote))
    else:
        return None
    if edit is None:
        return None
    reach = "local" if site.form == "call" else "interface"
    return Fix(
        f"write {row.keyword}={spell(value, site.quote)}", (edit,), delta=between("erf", "tanh").size, reach=reach
    )


def evidence() -> None:
    """What is measured: no harm of either built-in in fp16, and 4.7e-4 between them."""
    import torch
    import torch.nn.functional as F

    every = torch.arange(0, 0x7C00, dtype=torch.int32).to(torch.int16).view(torch.float16)
    every = torch.cat((every, -every)).requires_grad_()
    for flavour in ("none", "tanh"):
        value = F.gelu(every, approximate=flavour)
        assert torch.isfinite(value).all()
        assert torch.isfinite(torch.autograd.grad(value.sum(), every)[0]).all()
    assert torch.get_autocast_dtype("cuda") is torch.float16
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    x = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    gap = (F.gelu(x, approximate="none") - F.gelu(x, approximate="tanh")).abs().max().item()
    assert abs(gap - 4.73e-4) < 1e-6


_HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
_MODEL = (
    "class Mlp(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
    '        self.act = nn.GELU(approximate="{}")\n\n    def forward(self, x):\n        return self.act(x)\n'
)
_NET = "from torch import nn\n\n\n" + _MODEL

RULE = Rule(
    "GEL020",
    "erf-under-fp16-autocast",
    "torch's erf GELU where the code runs in fp16, for which the checklist asks for tanh",
    '`approximate="tanh"` (4.8e-4)',
    "info",
    check,
    __doc__,
    examples=(
        bad(
            _HEAD + "def step(x, w):\n    with torch.autocast('cuda', dtype=torch.float16):\n"
            "        return F.gelu(x @ w, approximate='none')\n",
            at="8:16",
            fixed=_HEAD + "def step(x, w):\n    with torch.autocast('cuda', dtype=torch.float16):\n"
            "        return F.gelu(x @ w, approximate='tanh')\n",
            delta=4.73e-4,
        ),
        bad(
            _HEAD + _MODEL.format("none") + "\n\nmodel = Mlp(8).cuda().half()\n",
            at="9:20",
            fixed=_HEAD + _MODEL.format("tanh") + "\n\nmodel = Mlp(8).cuda().half()\n",
            delta=4.73e-4,
        ),
        bad(
            _NET.format("none"),
            at="7:20",
            fixed=_NET.format("tanh"),
            delta=4.73e-4,
            beside={
                "train.py": "import torch\n\nfrom model import Mlp\n\n\ndef run(x):\n    net = Mlp(8)\n"
                '    with torch.autocast("cuda"):\n        return net(x)\n'
            },
        ),
        good(
            _HEAD + "def step(x, w):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
            "        return F.gelu(x @ w, approximate='none')\n"
        ),
        good(
            _HEAD
            + "def step(x, w):\n    with torch.autocast('cpu'):\n        return F.gelu(x @ w, approximate='none')\n"
        ),
        good(
            _HEAD + "def act(x):\n    return F.gelu(x, approximate='none')\n\n\ndef step(x, w):\n"
            "    y = act(x)\n    with torch.autocast('cuda', dtype=torch.float16):\n        return y @ w\n"
        ),
        good(
            _HEAD + "@torch.autocast('cuda', dtype=torch.float16)\ndef step(x, w):\n    h = x @ w\n"
            "    with torch.autocast('cuda', enabled=False):\n        return F.gelu(h.float(), approximate='none')\n"
        ),
        good(
            "import jax\nimport jax.numpy as jnp\n\n\ndef step(p, x):\n"
            "    return jax.nn.gelu(x.astype(jnp.float16) @ p, approximate=False)\n"
        ),
    ),
    evidence=evidence,
    policy=True,
    project=True,
    under=_may_run,
)
