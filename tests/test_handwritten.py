"""Which rule speaks of a hand-written or misnamed GELU, what its fix leaves alone, and what makes half precision."""

from __future__ import annotations

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import fix
from gelu_lint.inventory import label
from gelu_lint.model import Finding, Project
from gelu_lint.registry import all_rules
from gelu_lint.source import decode

NONE = Project()
CODES = tuple(rule.code for rule in all_rules() if rule.code < "GEL900")
HEAD = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
ERF = "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"
TANH = "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"


def findings(code: str, path: str = "model.py", project: Project = NONE) -> list[Finding]:
    found = judge(summarise(decode(path, (HEAD + code).encode())), project, CODES)
    return [f for f in found if f.code not in ("GEL001", "GEL005")]


def codes(code: str, path: str = "model.py") -> list[str]:
    return [f.code for f in findings(code, path)]


IMPOSTORS = [
    ("ACT = {'gelu': nn.SiLU()}\n", ["GEL010"]),
    ("ACT = {'gelu': F.silu, 'silu': F.silu}\n", ["GEL010"]),
    ("ACT = dict(gelu=nn.ReLU)\n", ["GEL010"]),
    ("layers = [('gelu', nn.SiLU())]\n", ["GEL010"]),
    ("register('gelu', lambda x: F.silu(x))\n", ["GEL010"]),
    ("@register('gelu')\ndef act(x):\n    return F.silu(x)\n", ["GEL010"]),
    ("gelu = F.mish\n", ["GEL010"]),
    ("class A:\n    def __init__(self):\n        self.gelu = nn.ELU()\n", ["GEL010"]),
    ("class GELU(nn.Module):\n    def forward(self, x):\n        return F.relu(x)\n", ["GEL010"]),
    ("def swish(x):\n    return x * torch.sigmoid(x)\n\n\nclass A:\n    def __init__(self):\n"
    "        self.gelu = swish\n",
     ["GEL010"]),
    ("class Swish:\n    def forward(self, x):\n        return x * torch.sigmoid(x)\n\n\n"
    "ACT = {'gelu': Swish}\n", ["GEL010"]),
    ("class GELU(nn.SiLU):\n    pass\n", ["GEL010"]),
    ("class QuickGELU(nn.GELU):\n    pass\n", ["GEL015"]),
    ("def get(name):\n    if name == 'gelu':\n        return nn.SiLU()\n    return nn.ReLU()\n", ["GEL010"]),
    ("def get(name):\n    if name == 'gelu_new':\n        return F.gelu\n", ["GEL015"]),
    ("def get(name):\n    if name == 'gelu':\n        act = lambda x: x * torch.sigmoid(1.702 * x)\n"
    "    return act\n", ["GEL011"]),
    ("def act(x, name):\n    match name:\n        case 'gelu':\n            return F.silu(x)\n", ["GEL010"]),
    ("class A:\n    def __init__(self, kind):\n        if kind == 'mamba':\n"
    "            self.gelu = nn.SiLU()\n", ["GEL010"]),
    ("class A:\n    def __init__(self, is_factor):\n        if is_factor:\n            self.gelu = nn.SiLU()\n"
    "", ["GEL010"]),
    ("class A:\n    def __init__(self, use_relu):\n        if use_relu:\n            self.gelu = nn.ReLU()\n", []),
    ("def get(name):\n    if name != 'gelu':\n        return nn.SiLU()\n", []),
    ("def get(name):\n    if name == 'gelu':\n        return nn.GELU(approximate='none')\n"
    "    return nn.SiLU()\n", []),
    ("ACT = {'silu': nn.SiLU(), 'relu': nn.ReLU()}\n", []),
    ("gelu_or_silu = F.silu\n", []),
    ("class A:\n    def __init__(self, use_gelu):\n"
    "        self.act = nn.GELU('none') if use_gelu else nn.SiLU()\n", []),
    ("def act(x, gelu):\n    return F.gelu(x, approximate='none') if gelu else F.silu(x)\n", []),
    ("def gelu(x, act):\n    if act == 'silu':\n        return F.silu(x)\n"
    "    return F.gelu(x, approximate='none')\n", ["GEL108"]),
    ("def gelu_block(x, silu=F.silu):\n    return F.gelu(silu(x), approximate='none')\n", []),
    ("def pre_gelu(x):\n    return F.relu(x)\n", []),
    ("def test_gelu(x):\n    gelu = F.silu\n    return gelu(x)\n", []),
    ("class FakeGELU(nn.Module):\n    def forward(self, x):\n        return F.relu(x)\n", []),
    ("def gelu(x):\n    return torch.tanh(x)\n", ["GEL010"]),
    ("F.silu = lambda x: x\ngelu = F.silu\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), IMPOSTORS)
def test_impostors(code: str, expected: list[str]) -> None:
    assert codes(code) == expected


ONE_CODE = [
    (f"def gap(x, gelu):\n    return ({ERF} - F.gelu(x, approximate='none')).abs().max()\n", []),
    (
        f"class GELU(nn.Module):\n    def forward(self, x):\n        if self.approximate:\n            return {TANH}\n"
        "        return x * torch.sigmoid(1.702 * x)\n",
        [],
    ),
    (f"def gelu(x, performance=1):\n    if performance:\n        return {ERF}\n    return x\n", []),
    (f"def gelu(x, performance=1):\n    return {ERF}\n", ["GEL012"]),
    (f"def gelu(x):\n    return {ERF}\n", ["GEL012"]),
    (f"def gelu(x):\n    return {TANH}\n", ["GEL013"]),
    (f"def quick_gelu(x):\n    return {ERF}\n", ["GEL015"]),
    (f"def gelu_erf(x):\n    return {TANH}\n", ["GEL015"]),
    (f"def gelu_accurate(x):\n    return {TANH}\n", ["GEL015"]),
    (f"def gelu_accurate(x):\n    return {TANH}\n\n\nACT = {{'gelu_accurate': gelu_accurate}}\n", ["GEL013"]),
    (f"def gelu(x):\n    return {ERF}\n\n\ndef gelu_tanh(x):\n    return {TANH}\n", []),
    (f"def gelu(x, approximate='none'):\n    if approximate == 'none':\n        return {ERF}\n    return {TANH}\n", []),
    ("def gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n", ["GEL011"]),
    ("def gelu_tanh(x):\n    return x * torch.sigmoid(1.702 * x)\n", ["GEL015"]),
    ("def fast_gelu(x):\n    return x * torch.sigmoid(1.702 * x)\n", []),
    ("def gelu(x):\n    return x * torch.sigmoid(1.4 * x)\n", ["GEL014"]),
    ("def gelu(x):\n    return x * torch.erf(x)\n", []),
    (f"class D:\n    def forward(self, x):\n        gelu = {TANH}\n        return gelu\n", ["GEL013"]),
    (
        f"class D:\n    def forward(self, x):\n        gelu = {TANH.replace('0.0447', '0.447')}\n        return gelu\n",
        ["GEL014"],
    ),
    ("def gelu_mask(x):\n    return torch.sigmoid(x)\n", []),
    ("def gelu(x):\n    return torch.sigmoid(x)\n", ["GEL010"]),
    ("def gelu(x):\n    return torch.where(x > 0, x, torch.exp(x) - 1)\n", ["GEL010"]),
    ("def gelu(x):\n    return x * (x > 0)\n", ["GEL010"]),
    ("def gelu(x):\n    return x * torch.tanh(F.softplus(x))\n", ["GEL010"]),
    ("def gelu(x, k=0.044715):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + k * x**3)))\n", ["GEL013"]),
    ('def gelu(x):\n    """GELU by the sigmoid, as in CLIP."""\n    return x * torch.sigmoid(1.702 * x)\n', []),
    ("def d_gelu(x):\n    return torch.special.ndtr(x)\n", ["GEL016"]),
    ("def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(x * 0.044715 * (1 + 0.79788456 * x * x)))\n", ["GEL014"]),
    ("def gelu(x):\n    return 0.5 * x * 1 + torch.erf(x / math.sqrt(2))\n", ["GEL014"]),
    ("def gelu(x):\n    return 0.5 * x * (1 + torch.erf(x) / math.sqrt(2))\n", ["GEL014"]),
    (
        f"class GELU_(nn.Module):\n    def forward(self, x):\n        return {TANH}\n\n\n"
        "GELU = nn.GELU if hasattr(nn, 'GELU') else GELU_\n",
        ["GEL017"],
    ),
    (
        f"try:\n    from torch.nn import GELU\nexcept ImportError:\n    class GELU(nn.Module):\n"
        f"        def forward(self, x):\n"
        f"            return {ERF}\n",
        [],
    ),
    (
        f"def gelu_accurate(x):\n    return {TANH}\n\n\ndef get(name):\n    if name == 'gelu_accurate':\n"
        "        return gelu_accurate\n",
        ["GEL013"],
    ),
    ("def fused_sigmoid_mul_gelu(a, b):\n    x = torch.sigmoid(a) * b\n    return F.gelu(x, approximate='none')\n", []),
    (f"import tensorflow as tf\n\n\ndef gelu(x):\n    return {ERF.replace('torch', 'tf')}\n", ["GEL006"]),
    (f"def f(x):\n    return {TANH.replace('0.0447', '0.447')}\n\n\ndef gelu(x):\n    return f(x)\n", ["GEL014"]),
    (f"def forward(x, gelu):\n    h = {ERF}\n    return h @ gelu\n", ["GEL012"]),
    (f"def gelu(x):\n    return {ERF}\n\n\nF.gelu = gelu\n", ["GEL018"]),
    (f'def gelu(x):\n    """Using F.gelu yields subtly wrong results."""\n    return {ERF}\n', []),
]


@pytest.mark.parametrize(("code", "expected"), ONE_CODE)
def test_one_finding_a_site(code: str, expected: list[str]) -> None:
    assert codes(code) == expected


@pytest.mark.parametrize(
    "path", ["tests/test_act.py", "jax/_src/nn/functions.py", "site/torch/nn/functional.py", "conftest.py"]
)
def test_tests_and_frameworks_are_not_told_to_use_built_ins(path: str) -> None:
    assert codes(f"def gelu(x):\n    return {ERF}\n", path) == []


def mended(code: str, project: Project = NONE) -> str:
    text = fix(decode("model.py", (HEAD + code).encode()), project, CODES, 0.0, unsafe=True).text
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD)


UNFIXED = [
    "def gelu(x, k=0.044715):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + k * x**3)))\n",
    "class A:\n    K = 0.044715\n\n    def gelu(self, x):\n"
    "        return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + self.K * x**3)))"
    "\n\n\nclass B(A):\n    K = 0.0\n",
    "def gelu_(x):\n    x.mul_(0.5 * (1 + torch.erf(x / math.sqrt(2))))\n    return x\n",
    "def gelu(x):\n    return f'{0.5 * x * (1 + torch.erf(x / math.sqrt(2)))}'\n",
    f"def gelu(x, y):\n    return ({TANH}).to(y.dtype)\n",
    f"def gelu(x):\n    return ({TANH}).cuda()\n",
    "def gelu(x):\n    cdf = torch.special.ndtr(x)  # exact\n    return x * cdf  # done\n",
    "def gelu(x):\n    return (\n        x  # the input\n        * torch.special.ndtr(x)\n    )\n",
    f"def gelu(x):\n    y = x.float()\n    return {ERF.replace('x', 'y')}\n",
    "def gelu(x):\n    cdf = torch.special.ndtr(x)\n    print(cdf)\n    return x * cdf\n",
    "def gelu(x):\n    h = proj(x)\n    cdf = torch.special.ndtr(h)\n    return h * cdf\n",
    "def gelu(x, deep):\n    cdf = torch.special.ndtr(x)\n    if deep:\n        cdf = cdf * 1.0\n    return x * cdf\n",
]


@pytest.mark.parametrize("code", UNFIXED)
def test_what_a_fix_would_lose_is_left_alone(code: str) -> None:
    assert mended(code) == code


FIXED = [
    ("def gelu(x):\n    return(x)*0.5*(1 + torch.erf(x / math.sqrt(2)))\n",
     'def gelu(x):\n    return F.gelu(x, approximate="none")\n'),
    (f"def gelu(x):\n    return ({TANH}).to(x.dtype)\n", 'def gelu(x):\n    return F.gelu(x, approximate="tanh")\n'),
    ("def gelu(x):\n    return (\n        0.5\n        * x\n        * (1 + torch.erf(x / math.sqrt(2)))\n    )\n",
     'def gelu(x):\n    return (\n        F.gelu(x, approximate="none")\n    )\n'),
    ("def gelu(h):\n    '''Doc.'''\n    a = torch.erf(h / math.sqrt(2))\n    a += 1\n    return 0.5 * h * a\n",
     "def gelu(h):\n    '''Doc.'''\n    return F.gelu(h, approximate=\"none\")\n"),
    (f"def up(x, gelu):\n    y = ({ERF}) * gelu\n    return y\n",
     'def up(x, gelu):\n    y = (F.gelu(x, approximate="none")) * gelu\n    return y\n'),
    (f"def gelu(bias, y):\n    x = bias + y\n    return {TANH}\n",
     'def gelu(bias, y):\n    x = bias + y\n    return F.gelu(x, approximate="tanh")\n'),
    ("def ffn(x, w):\n    h = x @ w\n    h = 0.5 * h * (1 + torch.erf(h / 2**0.5))\n    return h\n",
     'def ffn(x, w):\n    h = x @ w\n    h = F.gelu(h, approximate="none")\n    return h\n'),
    ("def ffn(x, w):\n    return 0.5 * (x @ w) * (1 + torch.erf((x @ w) / 2**0.5))\n",
     'def ffn(x, w):\n    return F.gelu(x @ w, approximate="none")\n'),
    ("gelu = lambda t: t * torch.special.ndtr(t)\n", 'gelu = lambda t: F.gelu(t, approximate="none")\n'),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), FIXED)
def test_fixes(code: str, expected: str) -> None:
    assert mended(code) == expected


def test_an_old_torch_gets_no_approximate() -> None:
    old = Project(declared=(("torch", (1, 8), None, True),))
    code = f"def gelu(x):\n    return {ERF}\n"
    assert mended(code, old) == code


def test_the_policy_decides_what_a_plain_name_gets() -> None:
    code = "def gelu(x):\n    return x * torch.sigmoid(x)\n"
    assert 'approximate="tanh"' in mended(code, Project("tanh"))
    assert 'approximate="none"' in mended(code, Project("erf"))


HALF = [
    ("net.half()", "half"), ("net.to(torch.float16)", "half"), ("net.to('cuda', dtype=torch.half)", "half"),
    ("Model.from_pretrained('m', torch_dtype=torch.float16)", "half"), ("Trainer(precision='16-true')", "half"),
    ("torch.autocast('cuda', dtype=torch.float16)", "cuda_autocast"), ("torch.cuda.amp.autocast()", "cuda_autocast"),
    ("torch.autocast('cuda')", "cuda_autocast"), ("torch.autocast('cpu', dtype=torch.float16)", "half"),
    ("TrainingArguments('out', fp16=True)", "cuda_autocast"), ("Trainer(precision=16)", "cuda_autocast"),
    ("Accelerator(mixed_precision='fp16')", "cuda_autocast"), ("dict(c={'fp16': {'enabled': True}})", "half"),
    ("torch.autocast('cpu')", ""), ("torch.autocast('cuda', dtype=torch.bfloat16)", ""),
    ("freqs.half()", ""), ("x.to(torch.float16)", ""), ("model(x.half())", "half"), ("gelu(x.half() @ w)", "half"),
    ("torch.autocast('cuda', enabled=False)", ""), ("net.bfloat16()", ""), ("net.to(torch.float32)", ""),
    ("TrainingArguments('out', fp16=False)", ""), ("Accelerator(mixed_precision='bf16')", ""),
    ("dict(c={'fp16': {'enabled': False}})", ""), ("net.half(2)", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), HALF)
def test_what_runs_in_half_precision(text: str, kind: str) -> None:
    summary = summarise(decode("m.py", f"{HEAD}def gelu(x):\n    return {TANH}\n\n\nheld = {text}\n".encode()))
    assert [context.kind for context in summary.contexts] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("cube", "context", "first"),
    [
        ("x**3", "net.half()", "147.9"),
        ("torch.pow(x, 3)", "net.half()", "147.9"),
        ("(x * x * x)", "net.half()", "256"),
        ("x * x * x", "net.half()", "1211"),
        ("x * x * x", "torch.autocast('cuda')", "1211"),
        ("x**3", "torch.autocast('cuda')", ""),
    ],
)
def test_the_threshold_is_that_of_the_spelling_and_context(cube: str, context: str, first: str) -> None:
    body = f"0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * {cube})))"
    found = findings(f"def gelu(x):\n    return {body}\n\n\nheld = {context}\n")
    assert [f.code for f in found] == (["GEL021"] if first else ["GEL013"])
    assert not first or f"|x| = {first} on" in found[0].message


def test_a_cast_to_float_inside_is_no_fault() -> None:
    body = "    y = x.float()\n    return (0.5 * y * (1 + torch.tanh(0.79788456 * (y + 0.044715 * y**3)))).type_as(x)\n"
    assert codes(f"def gelu(x):\n{body}\n\nheld = net.half()\n") == ["GEL013"]


BACK = (
    "class Gelu(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.save_for_backward(x)\n"
    "        return {}\n\n    @staticmethod\n    def backward(ctx, g):\n        x, = ctx.saved_tensors\n"
    "        return {}\n"
)
SLOPE = {
    "erf": "(torch.special.ndtr(x) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi))",
    "quick": "(torch.sigmoid(1.702 * x) + 1.702 * x * torch.sigmoid(1.702 * x) * (1 - torch.sigmoid(1.702 * x)))",
}
TANH_SLOPE = (
    "(0.5 * (1 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))) + 0.5 * x * (1 - torch.tanh(0.79788456 * x * ("
    "1 + 0.044715 * x * x)) ** 2) * (0.79788456 + 0.1070322243 * x * x))"
)


@pytest.mark.parametrize(
    ("forward", "slope", "message"),
    [
        ("F.gelu(x)", f"g * {SLOPE['erf']}", ""),
        ("F.gelu(x)", f"{SLOPE['erf']} * g", ""),
        ("F.gelu(x)", f"g * {TANH_SLOPE}", "it is that of the tanh GELU"),
        (TANH, f"g * {TANH_SLOPE}", ""),
        (TANH, f"g * {SLOPE['quick']}", "it is that of x·σ(1.702x)"),
        ("F.gelu(x)", "g * torch.special.ndtr(x)", "off by up to 0.242, at x ="),
        ("F.gelu(x)", f"g * {SLOPE['erf']}, None", ""),
        ("F.gelu(x)", "g * torch.special.ndtr(x), None", "not the derivative of the erf GELU"),
        ("F.gelu(x)", "g * h(x)", ""),
        ("F.gelu(x)", SLOPE["erf"], "does not multiply all"),
        (
            "F.gelu(x)",
            "g * torch.special.ndtr(x) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)",
            "does not multiply all",
        ),
        ("h(x)", "g * torch.special.ndtr(x)", "not the derivative"),
    ],
)
def test_backwards(forward: str, slope: str, message: str) -> None:
    found = [f for f in findings(BACK.format(forward, slope)) if f.code == "GEL016"]
    assert len(found) == bool(message)
    assert not message or message in found[0].message


@pytest.mark.parametrize(
    ("code", "places"),
    [
        ("torch.log(0.5 * (1 + torch.erf(x / 2**0.5)))", 1),
        ("torch.log(0.5 * torch.erfc(-x / 2**0.5))", 0),
        ("1 / (0.5 * (1 + torch.erf(x / math.sqrt(2))))", 1),
        ("x / math.sqrt(2 * math.pi)", 0),
        ("torch.log(1 + torch.erf(x))", 0),
        ("torch.log(torch.special.ndtr(x))", 0),
        ("x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))", 0),
    ],
)
def test_lost_tails(code: str, places: int) -> None:
    found = findings(f"def gelu_ratio(x):\n    return {code}\n")
    assert [f.code for f in found if f.code == "GEL023"] == ["GEL023"] * places


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("x * torch.special.ndtr(x / 1.3)", "gelu_t τ=1.3"),
        ("x * torch.sigmoid(1.773 * x)", "x·σ(1.773x)"),
        ("torch.clamp(0.5 * x * torch.erfc(-x / 2**0.5), max=6)", "clipped erf"),
        ("(x * torch.special.ndtr(x)) ** 2", "squared erf"),
        ("x * torch.special.ndtr(x) * (torch.rand_like(x) < 0.5)", "sparse erf"),
        ("0.5 * x * (1 + torch.erf(x / 2))", "near erf"),
        ("torch.minimum(x * torch.special.ndtr(x), torch.tensor(6.0))", "clipped erf"),
    ],
)
def test_the_inventory_names_families(body: str, shown: str) -> None:
    summary = summarise(decode("m.py", f"{HEAD}def gelu(x):\n    return {body}\n".encode()))
    assert [label(site) for site in summary.sites] == [shown]
