"""GEL017 and GEL032: choices between flavours that nobody means, in many spellings; and look-alikes."""

from __future__ import annotations

import functools

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.model import Finding, Project
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode

HEAD = (
    "import math\nimport sys\nfrom functools import partial\n\nimport jax\nimport torch\n"
    "import torch.nn.functional as F\nfrom torch import nn\n\n"
)
TANH, ERF = 'F.gelu(x, approximate="tanh")', 'F.gelu(x, approximate="none")'
QUICK = "x * torch.sigmoid(1.702 * x)"


def lint(code: str, path: str = "model.py") -> list[Finding]:
    return judge(summarise(decode(path, (HEAD + code).encode())), Project(), ("GEL015", "GEL017", "GEL032"))


def function(*rows: str, header: str = "def act(self, x):") -> str:
    return "\n".join((header, *(f"    {row}" for row in rows))) + "\n"


def method(*rows: str, init: str = "pass") -> str:
    body = [f"        {row}" for row in rows]
    return "\n".join(
        ("class Mlp(nn.Module):", "    def __init__(self):", f"        {init}", "    def forward(self, x):", *body)
    )


DISAGREE = {
    "if and else": function("if self.fused:", f"    return {QUICK}", "else:", f"    return {ERF}"),
    "early return": function("if self.use_fast_path:", f"    return {TANH}", f"return {ERF}"),
    "not": function("if not self.fused:", f"    return {TANH}", f"return {ERF}"),
    "ternary": function(f"return {TANH} if self.compiled else {ERF}"),
    "ternary in a chain": function(f"return {TANH} if self.jit else {TANH} if self.fused else {ERF}"),
    "assignments": function("if self.fused:", f"    y = {TANH}", "else:", f"    y = {ERF}", "return y"),
    "attribute": method(
        "return self.act(x)", init="self.act = nn.GELU('tanh') if fused else nn.GELU(approximate='none')"
    ),
    "attribute in branches": "class Mlp:\n    def __init__(self, fused):\n        if fused:\n"
    "            self.act = nn.GELU('tanh')\n        else:\n            self.act = nn.GELU('none')\n",
    "a default that is replaced": function(
        "self.act = nn.GELU('none')", "if self.fused:", "    self.act = nn.GELU('tanh')"
    ),
    "a formula by branches": function(
        "if self.fast:",
        "    gate = torch.sigmoid(1.702 * x)",
        "else:",
        "    gate = 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))",
        "return x * gate",
    ),
    "a formula by a ternary": function(
        "return x * (torch.sigmoid(1.702 * x) if self.fast else 0.5 * (1.0 + torch.erf(x / 1.4142135623730951)))"
    ),
    "a local that is returned": function("if self.fused:", f"    y = {TANH}", "    return y", f"return {ERF}"),
    "a list": "def f(layers, fused):\n    if fused:\n        layers.append(nn.GELU('tanh'))\n    else:\n"
    "        layers.append(nn.GELU())\n",
    "inside a with": function(
        "if self.training:", "    with torch.autocast('cuda'):", f"        return {TANH}", f"return {ERF}"
    ),
    "training": method("if self.training:", f"    return {ERF}", f"return {TANH}"),
    "grad": function("if x.requires_grad:", f"    return {ERF}", f"return {TANH}"),
    "scripting": function("if torch.jit.is_scripting():", f"    return {ERF}", f"return {TANH}"),
    "compiling": function("if torch.compiler.is_compiling():", f"    return {ERF}", f"return {TANH}"),
    "export": function("if torch.onnx.is_in_onnx_export():", f"    return {TANH}", f"return {ERF}"),
    "version": function('if torch.__version__ < "1.12":', f"    return {QUICK}", f"return {ERF}"),
    "hasattr": function('if hasattr(F, "gelu"):', f"    return {ERF}", f"return {QUICK}"),
    "flag": "HAS_APEX = False\n\n\n" + function("if HAS_APEX:", f"    return {TANH}", f"return {ERF}"),
    "try": function("try:", f"    return {TANH}", "except TypeError:", f"    return {ERF}"),
    "try and go on": function("try:", f"    return {TANH}", "except TypeError:", "    pass", f"return {ERF}"),
    "import and definition": "try:\n    from torch.nn.functional import gelu\nexcept ImportError:\n"
    f"    def gelu(x):\n        return {QUICK}\n",
    "getattr": f"def other_gelu(x):\n    return {QUICK}\n\n\ngelu = getattr(F, 'gelu', other_gelu)\n",
    "functions": f"def fused_gelu(x):\n    return {TANH}\n\n\ndef plain_gelu(x):\n    return {ERF}\n\n\n"
    + function("return fused_gelu(x) if self.fused else plain_gelu(x)", header="def mlp(self, x):"),
    "methods": "class Mlp:\n    def _fused_gelu(self, x):\n        return " + TANH + "\n\n"
    "    def _gelu(self, x):\n        return " + ERF + "\n\n    def forward(self, x):\n"
    "        if self.fused:\n            return self._fused_gelu(x)\n        return self._gelu(x)\n",
    "functions without such names": f"def _fast(x):\n    return {QUICK}\n\n\ndef _exact(x):\n    return {ERF}\n\n\n"
    + function("return _fast(x) if fast else _exact(x)", header="def act(x, fast):"),
    "functions that are returned": f"def _fast(x):\n    return {QUICK}\n\n\ndef _exact(x):\n    return {ERF}\n\n\n"
    + function("if fast:", "    return _fast(x)", "return _exact(x)", header="def act(x, fast):"),
    "methods without such names": "class Mlp:\n    def _fused(self, x):\n        return " + TANH + "\n\n"
    "    def _plain(self, x):\n        return " + ERF + "\n\n    def forward(self, x):\n"
    "        if self.fused:\n            y = self._fused(x)\n        else:\n            y = self._plain(x)\n"
    "        return y\n",
    "classes without such names": f"class Fast(nn.Module):\n    def forward(self, x):\n        return {QUICK}\n\n\n"
    f"class Exact(nn.Module):\n    def forward(self, x):\n        return {ERF}\n\n\n"
    + method("return self.act(x)", init="self.act = Fast() if fused else Exact()"),
    "version and names": f"def _old(x):\n    return {TANH}\n\n\n"
    "if version.parse(torch.__version__) < version.parse('1.4'):\n"
    "    gelu = _old\nelse:\n    gelu = F.gelu\n",
    "a class or an alias": "if hasattr(nn, 'GELU'):\n    GELU = nn.GELU\nelse:\n    class GELU(nn.Module):\n"
    f"        def forward(self, x):\n            return {QUICK}\n",
    "an import or a class": "try:\n    from torch.nn import GELU\nexcept ImportError:\n    class GELU(nn.Module):\n"
    f"        def forward(self, x):\n            return {QUICK}\n",
    "the argument": function('return F.gelu(x, approximate="tanh" if self.training else "none")'),
    "the argument by name": function('mode = "tanh" if self.fused else "none"', "return F.gelu(x, approximate=mode)"),
    "functions to choose": function(
        "op = partial(F.gelu, approximate='tanh') if self.fused else F.gelu", "return op(x)"
    ),
    "fused in its name": function("if self.bias_gelu_fusion:", f"    return {TANH}", f"return {ERF}"),
    "prefix": function("if act.startswith('gelu'):", "    return nn.GELU()", header="def build(act):"),
    "prefix of a parameter": function(
        "if name.startswith('gelu'):", "    return F.gelu", header="def get_activation(name):"
    ),
    "prefix of a name among others": function(
        "if name.lower().startswith('gelu'):",
        "    return F.gelu",
        "elif name == 'relu':",
        "    return F.relu",
        header="def pick(name):",
    ),
    "substring": function("if 'gelu' in config.hidden_act:", "    return nn.GELU('tanh')", header="def build(config):"),
    "slice": function("if hidden_act[:4] == 'gelu':", "    return nn.GELU()", header="def build(hidden_act):"),
    "split": function("if act.split('_')[0] == 'gelu':", "    return nn.GELU()", header="def build(act):"),
    "find": function("if act.find('gelu') != -1:", "    return nn.GELU()", header="def build(act):"),
    "match": function("if re.match('gelu', act):", "    return nn.GELU()", header="def build(act):"),
    "two names in a tuple": function("if act in ('gelu', 'gelu_new'):", f"    return {ERF}", header="def run(act, x):"),
    "two names in a constant": "GELUS = ('gelu', 'gelu_new')\n\n\n"
    + function("if act in GELUS:", f"    return {ERF}", header="def run(act, x):"),
    "two names by or": function(
        "if act == 'gelu' or act == 'gelu_new':", f"    return {TANH}", header="def run(act, x):"
    ),
    "two names in a case": function(
        "match act:",
        "    case 'relu':",
        "        return F.relu",
        "    case 'gelu' | 'gelu_new':",
        "        return F.gelu",
        header="def build(act):",
    ),
    "a guard of a case": function(
        "match act:",
        "    case 'relu':",
        "        return F.relu",
        "    case s if s.startswith('gelu'):",
        "        return F.gelu",
        header="def build(act):",
    ),
    "ternary by prefix": function("return F.gelu if act.startswith('gelu') else F.relu", header="def build(act):"),
    "a table": "tanh = partial(F.gelu, approximate='tanh')\nOPS = {'gelu': tanh, 'gelu_new': tanh}\n",
    "a table by dict": "tanh = nn.GELU('tanh')\nOPS = dict(gelu=tanh, gelu_pytorch_tanh=tanh)\n",
    "a table of pairs": "tanh = nn.GELU('tanh')\nOPS = OrderedDict([('gelu', tanh), ('gelu_new', tanh)])\n",
    "a table of new objects": "OPS = {'gelu': nn.GELU('tanh'), 'gelu_new': nn.GELU('tanh')}\n",
    "a table row by row": "OPS = {}\nOPS['gelu'] = nn.GELU('tanh')\nOPS['gelu_new'] = nn.GELU('tanh')\n",
    "a table of functions": f"def smooth(x):\n    return {TANH}\n\n\nOPS = {{'gelu': smooth, 'gelu_new': smooth}}\n",
    "a table of lambdas": f"OPS = {{'gelu': lambda x: {TANH}, 'gelu_new': lambda x: {TANH}}}\n",
    "a table of a class": f"class Smooth(nn.Module):\n    def forward(self, x):\n        return {TANH}\n\n\n"
    "OPS = {'gelu': Smooth, 'gelu_new': Smooth}\n",
    "two decorators": f"@register('gelu')\n@register('gelu_new')\ndef op(x):\n    return {TANH}\n",
    "jax": "def act(x, training):\n    if training:\n        return jax.nn.gelu(x, approximate=False)\n"
    "    return jax.nn.gelu(x)\n",
}

AGREE = {
    "the same flavour": function("if self.fused:", f"    return {TANH}", f"return {TANH}"),
    "two spellings": function(
        "if self.use_builtin:",
        f"    return {TANH}",
        "return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))",
    ),
    "a parameter": function(
        "if approximate == 'tanh':", f"    return {TANH}", f"return {ERF}", header="def gelu(x, approximate):"
    ),
    "an exact switch": function("if self.exact:", f"    return {ERF}", f"return {TANH}"),
    "a config value": function("if self.config.use_quick_gelu:", f"    return {QUICK}", f"return {ERF}"),
    "openai": function("if args.openai_gelu:", f"    return {TANH}", f"return {ERF}"),
    "the flavour inside a fused path": function(
        "if self.fused and self.approximate == 'tanh':", f"    return {TANH}", f"return {ERF}"
    ),
    "both in both": function(
        "if self.fused:",
        f"    return {TANH} if self.approx else {ERF}",
        "else:",
        f"    return {TANH} if self.approx else {ERF}",
    ),
    "equal names": function(
        "if act == 'gelu':",
        f"    return {ERF}",
        "elif act == 'gelu_new':",
        f"    return {TANH}",
        "elif act == 'quick_gelu':",
        f"    return {QUICK}",
        header="def run(act, x):",
    ),
    "names taken before": function(
        "if act == 'gelu_new':",
        f"    return {TANH}",
        "if act in ('gelu_pytorch_tanh', 'gelu_fast'):",
        f"    return {TANH}",
        "if act.startswith('gelu'):",
        f"    return {ERF}",
        header="def run(act, x):",
    ),
    "names taken before by elif": function(
        "if 'tanh' in act or act == 'gelu_new':",
        f"    return {TANH}",
        "elif 'gelu' in act:",
        f"    return {ERF}",
        header="def run(act, x):",
    ),
    "names taken by a table": function(
        "if act in ACT2FN:",
        "    return ACT2FN[act](x)",
        "if act.startswith('gelu'):",
        f"    return {ERF}",
        header="def run(act, x):",
    ),
    "a flavour inside": function(
        "if act.startswith('gelu'):",
        "    if 'tanh' in act:",
        f"        return {TANH}",
        f"    return {ERF}",
        header="def run(act, x):",
    ),
    "a flavour inside, as an argument": function(
        "if act.startswith('gelu'):",
        "    return nn.GELU('tanh' if act.endswith('tanh') else 'none')",
        header="def run(act, x):",
    ),
    "the name of a layer": function(
        "for name, module in model.named_modules():",
        "    if name.startswith('gelu'):",
        "        setattr(model, name, nn.GELU('tanh'))",
        header="def swap(model):",
    ),
    "a list of names": function("if 'gelu' in activations:", f"    return {ERF}", header="def run(activations, x):"),
    "names of one flavour": function(
        "if act in ('gelu_new', 'gelu_pytorch_tanh'):", f"    return {TANH}", header="def run(act, x):"
    ),
    "names of others": function("if act in ('gelu', 'relu'):", f"    return {ERF}", header="def run(act, x):"),
    "unknown callee": function("if self.fused:", "    return fused_gelu(x)", f"return {ERF}"),
    "unknown fallback": "try:\n    from apex import fused_gelu as gelu\nexcept ImportError:\n    gelu = F.gelu\n",
    "a kernel of a convolution": function("if self.kernel_size > 1:", f"    return {TANH}", f"return {ERF}"),
    "a class": function("if isinstance(self.body, FastNet):", f"    return {TANH}", f"return {ERF}"),
    "another test": function("if self.layer_idx == 0:", f"    return {TANH}", f"return {ERF}"),
    "a table of right pairs": "OPS = {'gelu': nn.GELU(), 'gelu_new': nn.GELU('tanh'), 'quick_gelu': f}\n",
    "a table of one flavour": "OPS = {'gelu_new': nn.GELU('tanh'), 'gelu_pytorch_tanh': nn.GELU('tanh')}\n",
    "a table of classes with arguments": "OPS = {'gelu': (nn.GELU, {'approximate': 'none'}),\n"
    "       'gelu_new': nn.GELU()}\n",
    "a table of what is made later": "OPS = {'gelu': make(nn.GELU, approximate='none'),\n"
    "       'gelu_new': make(nn.GELU, **more)}\n",
    "a constant of a registry": "GELU_TANH = 2\n\n\n"
    + function("if act == ACT_GELU_TANH:", f"    return {TANH}", f"return {ERF}"),
    "a table of unknowns": "OPS = {'gelu': op, 'gelu_new': op}\n",
    "flavours on purpose": f"def gelu_tanh(x):\n    return {TANH}\n\n\ndef gelu_erf(x):\n    return {ERF}\n\n\n"
    + function("return gelu_tanh(x) if fast else gelu_erf(x)", header="def gelu(x, fast):"),
    "a test": function("if self.fused:", f"    return {TANH}", f"return {ERF}", header="def test_act(self, x):"),
    "a reference": function("if self.fused:", f"    return {TANH}", f"return {ERF}", header="def act_ref(self, x):"),
    "another activation": function("if self.fused:", f"    return {TANH}", "return F.silu(x)"),
    "different places": function(
        "if self.fused:", "    self.act = nn.GELU('tanh')", "else:", "    self.last = nn.GELU('none')"
    ),
    "a backward": function(
        "if self.fused:", f"    return {TANH}", f"return {ERF}", header="def gelu_backward(self, x):"
    ),
}

DEVICE = {
    "is_cuda": function("if x.is_cuda:", f"    return {TANH}", f"return {ERF}"),
    "not is_cuda": function("if not x.is_cuda:", f"    return {ERF}", "else:", f"    return {TANH}"),
    "device type": function("if x.device.type == 'cuda':", f"    return {TANH}", f"return {ERF}"),
    "device types": function("if x.device.type in ('cuda', 'hip'):", f"    return {TANH}", f"return {ERF}"),
    "str of device": function("if 'cuda' in str(x.device):", f"    return {TANH}", f"return {ERF}"),
    "is_available": function(f"return {TANH} if torch.cuda.is_available() else {ERF}"),
    "hip": function("if torch.version.hip is not None:", f"    return {TANH}", f"return {ERF}"),
    "mps": function("if torch.backends.mps.is_available():", f"    return {TANH}", f"return {ERF}"),
    "xpu": function("if x.is_xpu or x.is_npu:", f"    return {TANH}", f"return {ERF}"),
    "darwin": function("if sys.platform == 'darwin':", f"    return {TANH}", f"return {ERF}"),
    "machine": function("if platform.machine() == 'arm64':", f"    return {TANH}", f"return {ERF}"),
    "rocm": function("if current_platform.is_rocm():", f"    return {TANH}", f"return {ERF}"),
    "jax": "def act(x):\n    if jax.default_backend() == 'tpu':\n        return jax.nn.gelu(x)\n"
    "    return jax.nn.gelu(x, approximate=False)\n",
    "jax as an argument": "def act(x):\n    return jax.nn.gelu(x, approximate=jax.default_backend() == 'tpu')\n",
    "a flag": "USE_ROCM = False\n\n\n" + function("if USE_ROCM:", f"    return {TANH}", f"return {ERF}"),
    "a flag by name": "FASTER = torch.cuda.is_available()\n\n\n"
    + function("if FASTER:", f"    return {TANH}", f"return {ERF}"),
    "a local flag": function("there = x.is_cuda", "if there:", f"    return {TANH}", f"return {ERF}"),
    "a flag that says tanh": "USE_TANH = torch.cuda.is_available()\n\n\n"
    + function("return F.gelu(x, approximate='tanh' if USE_TANH else 'none')"),
    "a function that chooses": "def _mode():\n    return 'tanh' if torch.cuda.is_available() else 'none'\n\n\n"
    + function("return F.gelu(x, approximate=_mode())"),
    "a function that chooses by branches": "def _mode():\n    if torch.cuda.is_available():\n        return 'tanh'\n"
    "    return 'none'\n\n\n" + function("return F.gelu(x, approximate=_mode())"),
    "jax by a name": "def f(x):\n    on = jax.devices()[0].platform == 'tpu'\n"
    "    return jax.nn.gelu(x, approximate=on)\n",
    "methods by device": "class Act:\n    def forward_cuda(self, x):\n        return " + TANH + "\n\n"
    "    def forward_native(self, x):\n        return " + ERF + "\n",
    "a module": "act = nn.GELU('tanh') if torch.cuda.is_available() else nn.GELU()\n",
    "a constant": "APPROX = 'none' if torch.version.hip else 'tanh'\n\n\n"
    + function("return F.gelu(x, approximate=APPROX)"),
    "a constant by a call": "APPROX = 'tanh' if torch.cuda.is_available() else 'none'\n\n\n"
    + function("return F.gelu(x, approximate=APPROX)"),
    "a constant in branches": "if torch.version.hip:\n    APPROX = 'none'\nelse:\n    APPROX = 'tanh'\n\n\n"
    + function("return F.gelu(x, approximate=APPROX)"),
    "a constant that is replaced": "APPROX = 'none'\nif torch.cuda.is_available():\n    APPROX = 'tanh'\n\n\n"
    + function("return F.gelu(x, approximate=APPROX)"),
    "a constant in a partial": "APPROX = 'none' if torch.version.hip else 'tanh'\n"
    "act = partial(nn.GELU, approximate=APPROX)\n",
    "an attribute": method(
        "return F.gelu(x, approximate=self.mode)", init="self.mode = 'tanh' if torch.cuda.is_available() else 'none'"
    ),
    "the argument": function("return F.gelu(x, approximate='tanh' if x.is_cuda else 'none')"),
    "a table of strings": function("return F.gelu(x, approximate={'cuda': 'tanh', 'cpu': 'none'}[x.device.type])"),
    "a table of strings by name": "MODES = {'cuda': 'tanh', 'cpu': 'none'}\n\n\n"
    + function("return F.gelu(x, approximate=MODES[x.device.type])"),
    "a table of functions": "gelu_of = {'cuda': nn.GELU('tanh'), 'cpu': nn.GELU()}\n",
    "a match": function(
        "match x.device.type:", "    case 'cuda':", f"        return {TANH}", "    case _:", f"        return {ERF}"
    ),
    "fused": function("return torch._addmm_activation(b, x, w, use_gelu=True)"),
    "fused by its op": function("return torch.ops.aten._addmm_activation.default(b, x, w, use_gelu=True)"),
    "fused by import": "from torch import _addmm_activation as linear_act\n\n\n"
    + function("return linear_act(b, x, w, beta=1, use_gelu=True)"),
    "fused by another name": "linear = torch._addmm_activation\n\n\n"
    + function("return linear(b, x, w, use_gelu=True)"),
    "fused by a constant": "GELU = True\n\n\n" + function("return torch._addmm_activation(b, x, w, use_gelu=GELU)"),
    "fused by partial": "linear_gelu = partial(torch._addmm_activation, use_gelu=True)\n",
    "fused, and erf elsewhere": function(
        "if x.is_cuda:",
        "    return torch._addmm_activation(b, x, w, use_gelu=True)",
        "return F.gelu(torch.addmm(b, x, w), approximate='none')",
    ),
    "fused by a method": function("return b._addmm_activation(x, w, use_gelu=True)"),
    "fused by a name": function("return torch._addmm_activation(b, x, w, use_gelu=self.act == 'gelu')"),
}

ANYWHERE = {
    "the same flavour": function("if x.is_cuda:", f"    return {TANH}", f"return {TANH}"),
    "a dtype": function("dtype = torch.float16 if x.is_cuda else torch.float32", f"return {ERF}.to(dtype)"),
    "an unknown kernel": function("if x.is_cuda:", "    return gelu_cuda(x)", f"return {ERF}"),
    "a parameter": function("if approximate == 'tanh' and x.is_cuda:", f"    return {TANH}", f"return {ERF}"),
    "another mode": "MODE = 'a' if torch.cuda.is_available() else 'b'\n\n\n" + function(f"return {ERF}"),
    "a relu": function("return torch._addmm_activation(b, x, w, use_gelu=False)"),
    "no argument": function("return torch._addmm_activation(b, x, w)"),
    "a wrapper": function("return torch._addmm_activation(b, x, w, use_gelu=use_gelu)"),
    "where the file asks for the device": function(
        "if x.is_cuda:",
        "    return torch._addmm_activation(b, x, w, use_gelu=True)",
        'return F.gelu(torch.addmm(b, x, w), approximate="tanh")',
    ),
    "where the file asks for the device elsewhere": "def can_fuse(x):\n    return x.is_cuda\n\n\n"
    + function(
        "if can_fuse(x):",
        "    return torch._addmm_activation(b, x, w, use_gelu=True)",
        'return F.gelu(torch.addmm(b, x, w), approximate="tanh")',
    ),
    "something else": "import lib\n\n\n" + function("return lib._addmm_activation(b, x, w, use_gelu=True)"),
    "a device for the module": function("return nn.GELU('tanh').to('cuda' if torch.cuda.is_available() else 'cpu')"),
    "a test": "def test_it(x):\n    if x.is_cuda:\n        return " + TANH + "\n    return " + ERF + "\n",
    "a switch inside": function(
        "if x.is_cuda:", f"    return {TANH} if self.approx else {ERF}", f"return {TANH} if self.approx else {ERF}"
    ),
}


@pytest.mark.parametrize("code", DISAGREE.values(), ids=list(DISAGREE))
def test_what_should_agree(code: str) -> None:
    assert [finding.code for finding in lint(code)] == ["GEL017"]


@pytest.mark.parametrize("code", AGREE.values(), ids=list(AGREE))
def test_what_agrees_or_may_differ(code: str) -> None:
    assert [finding for finding in lint(code) if finding.code != "GEL015"] == []


@pytest.mark.parametrize("code", DEVICE.values(), ids=list(DEVICE))
def test_what_the_device_decides(code: str) -> None:
    assert [finding.code for finding in lint(code)] == ["GEL032"]


@pytest.mark.parametrize("code", ANYWHERE.values(), ids=list(ANYWHERE))
def test_what_it_does_not(code: str) -> None:
    assert lint(code) == []


def test_an_entry_that_a_name_contradicts_is_told_once() -> None:
    found = lint("OPS = {'gelu': F.gelu, 'gelu_new': F.gelu}\n")
    assert [finding.code for finding in found] == ["GEL015"]


@pytest.mark.parametrize(
    ("code", "severity"),
    [(DISAGREE["if and else"], "error"), (DISAGREE["early return"], "warning"), (DISAGREE["substring"], "warning")],
)
def test_severity_is_that_of_the_distance(code: str, severity: str) -> None:
    assert [finding.severity for finding in lint(code)] == [severity]


def test_the_other_arm_is_related() -> None:
    found = lint(DISAGREE["early return"])[0]
    assert [span.row for _, span, _ in found.related] == [found.span.row + 1]


@pytest.mark.parametrize("path", ["tests/test_act.py", "jax/_src/nn/functions.py", "torch/nn/functional.py"])
def test_tests_and_frameworks_are_let_be(path: str) -> None:
    assert lint(DISAGREE["early return"], path) == []
    assert lint(DEVICE["is_cuda"], path) == []


ALL = {**DISAGREE, **AGREE, **DEVICE, **ANYWHERE}
BARE = functools.partial(skeleton, small=0)
BEFORE = "def other(act, x):\n    device = x.device\n    if act == 'relu':\n        log(act)\n    return device\n\n\n"


@pytest.mark.parametrize("code", ALL.values(), ids=list(ALL))
def test_lines_left_out_change_nothing(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts too lose what seems not to matter."""
    source = decode("model.py", (HEAD + BEFORE + code + "\n\n" + BEFORE).encode())
    monkeypatch.setattr("gelu_lint.engine.skeleton", BARE)
    part, whole = (
        judge(summary, Project(), ("GEL017", "GEL019", "GEL032"))
        for summary in (summarise(source), summarise(source, complete=True))
    )
    assert part == whole
