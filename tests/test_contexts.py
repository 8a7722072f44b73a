"""What makes code run in fp16, and which GELUs run under it: in one file, and across the files of a project."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gelu_lint.cli import main
from gelu_lint.engine import arrived, judge, summarise
from gelu_lint.model import Arrival, Context, Project, Span
from gelu_lint.source import decode

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
MLP = (
    "class Mlp(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
    "        self.fc, self.act = nn.Linear(d, d), nn.GELU(approximate='none')\n\n"
    "    def forward(self, x):\n        return self.act(self.fc(x))\n\n\n"
)
ACT = "def act(x):\n    return F.gelu(x, approximate='none')\n\n\n"
WITH = "    with torch.autocast('cuda', dtype=torch.float16):\n        "


def rows(code: str) -> list[int]:
    """The rows of GEL020, read in part and whole."""
    source = decode("model.py", (HEAD + code).encode())
    part, whole = (
        [f.span.row for f in judge(summarise(source, complete=complete), Project(), ("GEL020",))]
        for complete in (False, True)
    )
    assert part == whole
    return part


#: Contexts, around ``model(x)``.
CONTEXTS = {
    "positional dtype": "with torch.autocast('cuda', torch.float16):",
    "keywords": "with torch.autocast(device_type='cuda', dtype=torch.half):",
    "the default of cuda": "with torch.autocast('cuda'):",
    "torch.amp": "with torch.amp.autocast('cuda'):",
    "torch.cuda.amp": "with torch.cuda.amp.autocast():",
    "torch.cuda.amp, switched by a variable": "with torch.cuda.amp.autocast(enabled=use_amp):",
    "cpu asked for fp16": "with torch.autocast('cpu', dtype=torch.float16):",
    "beside another": "with torch.no_grad(), torch.autocast('cuda', dtype=torch.float16):",
    "with a name": "with torch.autocast('cuda', dtype=torch.float16) as ctx:",
    "dtype through a constant": "with torch.autocast('cuda', dtype=HALF):",
    "device through a constant": "with torch.autocast(DEVICE):",
    "dtype that may be": "with torch.autocast('cuda', dtype=torch.float16 if old else torch.bfloat16):",
    "an alias of the class": "with amp():",
    "an alias of the module": "with tc.amp.autocast():",
    "a partial": "with half():",
    "a context made before": "with ctx:",
    "a context but for the cpu": "with maybe:",
    "dtype from a table": "with torch.autocast('cuda', dtype={'fp16': torch.float16, 'bf16': torch.bfloat16}[kind]):",
    "the last of two": "with torch.no_grad() and torch.cuda.amp.autocast():",
    "nested": "with torch.autocast('cuda', enabled=False), torch.autocast('cuda', dtype=torch.float16):",
}
ALIASES = (
    "import functools\nimport torch.cuda as tc\nfrom torch.cuda.amp import autocast as amp\nHALF = torch.float16\n"
    "DEVICE = 'cuda'\nhalf = functools.partial(torch.autocast, 'cuda', dtype=torch.float16)\n"
    "ctx = torch.autocast('cuda', dtype=torch.float16)\nkind = 'bf16' if new else 'fp16'\n"
    "maybe = nullcontext() if cpu else torch.amp.autocast(device_type=device, dtype=HALF)\n\n\n"
)


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_contexts(context: str) -> None:
    code = f"{ALIASES}{ACT}def step(x):\n    {context}\n        return act(x)\n"
    assert rows(code) == [len((HEAD + ALIASES).splitlines()) + 2]


OFF = {
    "bf16": "with torch.autocast('cuda', dtype=torch.bfloat16):",
    "the default of cpu": "with torch.autocast('cpu'):",
    "torch.cpu.amp": "with torch.cpu.amp.autocast():",
    "switched off": "with torch.autocast('cuda', dtype=torch.float16, enabled=False):",
    "switched off by position": "with torch.cuda.amp.autocast(False):",
    "an unknown device": "with torch.autocast(device):",
    "an unknown dtype": "with torch.autocast('cuda', dtype=dtype):",
    "bf16 through a constant": "with torch.autocast('cuda', dtype=BF16):",
    "another autocast": "with fp8_autocast(enabled=True):",
    "an autocast of unknown make": "with get_autocast(args)():",
    "no context at all": "with torch.no_grad():",
    "the first of two": "with torch.cuda.amp.autocast() and torch.no_grad():",
    "bf16 from a table": "with torch.autocast('cuda', dtype={'a': torch.float16, 'b': torch.bfloat16}['b']):",
}


@pytest.mark.parametrize("context", OFF.values(), ids=OFF)
def test_what_is_no_context(context: str) -> None:
    assert (
        rows(f"BF16 = torch.bfloat16\n\n\n{ACT}def step(x, device, dtype):\n    {context}\n        return act(x)\n")
        == []
    )


#: Code after MLP and ACT; the rows that must be reported, counted from its own end of HEAD: MLP's GELU is 4, ACT's 11.
REACHED = {
    "a function": (f"def step(x):\n{WITH}return act(x)\n", [11]),
    "through a function": (f"def run(x):\n    return act(x)\n\n\ndef step(x):\n{WITH}return run(x)\n", [11]),
    "a module": (f"def step(x):\n    model = Mlp(8)\n{WITH}return model(x)\n", [4]),
    "a module, moved": (f"def step(x):\n    model = Mlp(8).cuda().eval()\n{WITH}return model(x)\n", [4]),
    "a module at the top": (f"model = Mlp(8)\n\n\ndef step(x):\n{WITH}return model(x)\n", [4]),
    "a module that is handed in": (f"def step(model, x):\n{WITH}return model(x)\n\n\nstep(Mlp(8), 1)\n", [4]),
    "a module that is handed on": (
        f"def step(model, x):\n{WITH}return model(x)\n\n\ndef main():\n    net = Mlp(8)\n    step(net, 1)\n",
        [4],
    ),
    "a module under another name": (f"def step(x):\n    a = Mlp(8)\n    b = a\n{WITH}return b(x)\n", [4]),
    "a module from a factory": (
        f"def build():\n    return Mlp(8)\n\n\ndef step(x):\n    m = build()\n{WITH}return m(x)\n",
        [4],
    ),
    "a module of the object": (
        "class Trainer:\n    def __init__(self):\n        self.model = Mlp(8)\n\n    def step(self, x):\n"
        "        with torch.cuda.amp.autocast():\n            return self.model(x)\n",
        [4],
    ),
    "a module given to the object": (
        "class Trainer:\n    def __init__(self, model):\n        self.model = model\n\n    def step(self, x):\n"
        "        with torch.cuda.amp.autocast():\n            return self.model(x)\n\n\nTrainer(Mlp(8)).step(1)\n",
        [4],
    ),
    "a method of the object": (
        "class Trainer:\n    def loss(self, x):\n        return act(x)\n\n    def step(self, x):\n"
        "        with torch.cuda.amp.autocast():\n            return self.loss(x)\n",
        [11],
    ),
    "an inherited method": (
        "class Base:\n    def loss(self, x):\n        return act(x)\n\n\nclass Trainer(Base):\n    def step(self, x):\n"
        "        with torch.cuda.amp.autocast():\n            return self.loss(x)\n",
        [11],
    ),
    "an inherited forward": (
        "class Big(Mlp):\n    def extra(self):\n        pass\n\n\ndef step(x):\n"
        f"    model = Big(8)\n{WITH}return model(x)\n",
        [4],
    ),
    "modules of modules": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.blocks = nn.ModuleList([Mlp(8) for _ in range(3)])\n\n    def forward(self, x):\n"
        "        for block in self.blocks:\n            x = block(x)\n"
        f"        return x\n\n\nnet = Net()\n\n\ndef step(x):\n{WITH}return net(x)\n",
        [4],
    ),
    "in one line": ("def step(x):\n    with torch.cuda.amp.autocast(): y = act(x); z = y * 2\n    return z\n", [11]),
    "a function that gives one context or another": (
        "def make():\n    return torch.amp.autocast('cuda') if on() else torch.amp.autocast('cpu')\n\n\n"
        "def step(x):\n    with make(): y = act(x)\n    return y\n",
        [11],
    ),
    "a module by annotation": (f"def step(model: Mlp, x):\n{WITH}return model(x)\n", [4]),
    "a module by assertion": (
        "class Trainer:\n    def __init__(self, net):\n        assert isinstance(net, Mlp), 'an Mlp'\n"
        "        self.net = net\n\n    def step(self, x):\n        with torch.cuda.amp.autocast():\n"
        "            return self.net(x)\n",
        [4],
    ),
    "an attribute that is made, under another name": (
        "class Speaker:\n    def __init__(self):\n        self.clvp = Mlp(8)\n\n    def step(self, x):\n"
        "        with self.moved(self.clvp) as c, torch.autocast('cuda', dtype=torch.float16, enabled=half):\n"
        "            return c(x)\n",
        [4],
    ),
    "a method that gives the context": (
        "class Net:\n    def maybe_autocast(self, dtype=torch.float16):\n        if self.device != 'cpu':\n"
        "            return torch.cuda.amp.autocast(dtype=dtype)\n        return nullcontext()\n\n"
        "    def forward(self, x):\n        with self.maybe_autocast():\n            return act(x)\n",
        [11],
    ),
    "a dtype that the object holds": (
        "class Net:\n    def __init__(self, amp_dtype=torch.float16):\n        self.amp_dtype = amp_dtype\n\n"
        "    def forward(self, x):\n        with torch.autocast('cuda', dtype=self.amp_dtype):\n"
        "            return act(x)\n",
        [11],
    ),
    "a dtype by default": (
        "def step(x, dtype=None):\n    if dtype is None:\n        dtype = torch.float16\n"
        "    with torch.autocast('cuda', dtype=dtype):\n        return act(x)\n",
        [11],
    ),
    "a decorated function": ("@torch.autocast('cuda', dtype=torch.float16)\ndef step(x):\n    return act(x)\n", [11]),
    "a decorated method": (
        "class Net(nn.Module):\n    @torch.cuda.amp.autocast()\n    def forward(self, x):\n        return act(x)\n",
        [11],
    ),
    "custom_fwd": (
        "class Fn(torch.autograd.Function):\n    @staticmethod\n"
        "    @torch.amp.custom_fwd(cast_inputs=torch.float16, device_type='cuda')\n"
        "    def forward(ctx, x):\n        return act(x)\n",
        [11],
    ),
    "half": ("model = Mlp(8).half()\n", [4]),
    "half, and a comment that says so": ("model = Mlp(8)\nmodel.half()  # half precision, as in torch.float16\n", [4]),
    "half, beside a message": ("model = Mlp(8)\nlogger.info('half'); model.half()\n", [4]),
    "half, in a table": ("model = Mlp(8)\nCASTS = {\n    torch.float16: model.half(),\n}\n", [4]),
    "half, of what a log is named for": ("catalog = Mlp(8)\ncatalog.half()\n", [4]),
    "half, later": ("model = Mlp(8)\nmodel.half()\n", [4]),
    "half, or float": ("m = Mlp(8)\nif small:\n    m.half()\nelse:\n    m.float()\n", [4]),
    "half, and another float": ("m, n = Mlp(8), Other()\nm.half()\nn.float()\n", [4]),
    "half, in a function": ("def load():\n    net = Mlp(8)\n    net = net.half()\n    return net\n", [4]),
    "to": ("model = Mlp(8).to(torch.float16)\n", [4]),
    "to, by keyword": ("model = Mlp(8).to('cuda', dtype=torch.float16)\n", [4]),
    "to, by a constant": ("DTYPE = torch.half\nmodel = Mlp(8).to(DTYPE)\n", [4]),
    "a sequence": ("model = nn.Sequential(nn.Linear(8, 8), nn.GELU(approximate='none')).half()\n", [14]),
    "from_pretrained": ("model = Mlp.from_pretrained('m', torch_dtype=torch.float16)\n", [4]),
    "the inputs": ("model = Mlp(8)\ny = model(x.half())\n", [4]),
    "the input of a model, cast before": (
        "class Task:\n    def __init__(self, model: Mlp):\n        self.model = model\n\n    def run(self, mel):\n"
        "        if self.fp16:\n            mel = mel.half()\n        return self.model(mel)\n",
        [4],
    ),
    "the input of an encoder, cast before": (
        "encoder = Mlp(8)\n\n\ndef run(mel):\n    mel = mel.half()\n    return encoder(mel)\n",
        [4],
    ),
    "what is cast in the function": ("def f(x):\n    x = x.half()\n    return F.gelu(x, approximate='none')\n", [16]),
    "TrainingArguments": (
        "from transformers import Trainer, TrainingArguments\n\n\ndef main():\n"
        "    args = TrainingArguments('out', fp16=True)\n    Trainer(Mlp(8), args).train()\n",
        [4],
    ),
    "TrainingArguments, where there is a device": (
        "args = TrainingArguments('out', fp16=torch.cuda.is_available())\nTrainer(Mlp(8), args).train()\n",
        [4],
    ),
    "TrainingArguments from a function": (
        "def arguments():\n    return TrainingArguments('out', fp16=True)\n\n\ndef main():\n"
        "    Trainer(Mlp(8), arguments()).train()\n",
        [4],
    ),
    "Lightning": ("pl.Trainer(precision='16-mixed').fit(Mlp(8))\n", [4]),
    "Lightning, by number": ("trainer = pl.Trainer(precision=16)\ntrainer.fit(Mlp(8))\n", [4]),
    "Lightning, by a constant": ("PRECISION = '16-mixed'\npl.Trainer(precision=PRECISION).fit(Mlp(8))\n", [4]),
    "Fabric": ("def main():\n    fabric = Fabric(precision='16-true')\n    model = fabric.setup(Mlp(8))\n", [4]),
    "Accelerator": ("acc = Accelerator(mixed_precision='fp16')\nmodel = acc.prepare(Mlp(8))\n", [4]),
    "Accelerator, used elsewhere": (
        "acc = Accelerator(mixed_precision='fp16')\n\n\ndef main():\n    model = acc.prepare(Mlp(8))\n",
        [4],
    ),
    "Accelerator, by a choice": (
        "acc = Accelerator(mixed_precision='fp16' if fp16 else 'no')\nmodel = acc.prepare(Mlp(8))\n",
        [4],
    ),
    "DeepSpeed": (
        "config = {'train_batch_size': 8, 'fp16': {'enabled': True}}\n\n\ndef main():\n"
        "    engine, *_ = deepspeed.initialize(model=Mlp(8), config=config)\n",
        [4],
    ),
    "DeepSpeed, as dict": ("deepspeed.initialize(model=Mlp(8), config=dict(fp16=dict(enabled=True)))\n", [4]),
    "the default dtype": ("torch.set_default_dtype(torch.float16)\nmodel = Mlp(8)\n", [4]),
    "a submodule": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.enc = Mlp(8)\n        self.enc.half()\n",
        [4],
    ),
    "a model that is bound anew": ("m = Mlp(8)\nm = m.cuda()\nm.half()\n", [4]),
    "a context that a function yields in": (
        "@contextmanager\ndef mixed():\n    with torch.autocast('cuda', dtype=torch.float16):\n        yield\n\n\n"
        "def step(x):\n    with mixed():\n        return act(x)\n",
        [11],
    ),
    "a context that is entered by a call": (
        "def step(x, stack):\n    stack.enter_context(torch.autocast('cuda', dtype=torch.float16))\n"
        "    return act(x)\n",
        [11],
    ),
    "the context of an accelerator": (
        "accelerator = Accelerator(mixed_precision='fp16')\n\n\ndef step(x):\n    with accelerator.autocast():\n"
        "        return act(x)\n",
        [11],
    ),
    "a lambda": (f"f = lambda x: F.gelu(x, approximate='none')\n\n\ndef step(x):\n{WITH}return f(x)\n", [14]),
    "implicit": (f"def step(x):\n{WITH}return F.gelu(x)\n", [16]),
    "handed on": (f"def step(x):\n{WITH}return run(F.gelu, x)\n", [16]),
}


@pytest.mark.parametrize(("code", "expected"), REACHED.values(), ids=REACHED)
def test_what_runs_under_a_context(code: str, expected: list[int]) -> None:
    above = len(HEAD.splitlines())
    assert rows(MLP + ACT + code) == [above + row for row in expected]


SPARED = {
    "computed before": f"def step(x):\n    y = act(x)\n{WITH}return y @ y\n",
    "computed before, handed on": f"def step(x):\n    y = act(x)\n{WITH}return loss(y)\n",
    "computed after": f"def step(x):\n{WITH}y = x @ x\n    return act(y)\n",
    "another function": f"def step(x):\n{WITH}return x @ x\n\n\ndef other(x):\n    return act(x)\n",
    "an inner region of bf16": (
        f"def step(x):\n{WITH}with torch.autocast('cuda', dtype=torch.bfloat16):\n            return act(x)\n"
    ),
    "an inner region that is off": (
        f"def step(x):\n{WITH}with torch.autocast('cuda', enabled=False):\n            return act(x)\n"
    ),
    "a key of a table": "model = Mlp(8)\nBITS = {\n    torch.float16: 16,\n    torch.bfloat16: 16,\n}\n",
    "a message": "model = Mlp(8)\nlogger.warning('use dtype=torch.float16, or model.half()')\n",
    "a comment": "model = Mlp(8)\nmodel.float()  # not model.half()\n",
    "a model that is but saved in half": "m = Mlp(8)\nm.half()\nsave(m)\nm.float()\n",
    "a model that is cast back, in a function": (
        "def export(path):\n    net = Mlp(8)\n    if small:\n        net.half()\n"
        "        net = net.to(torch.float32)  # again\n"
    ),
    "what a GELU gives is cast": "def f(x):\n    x = x.float()\n    return F.gelu(x, approximate='none').half()\n",
    "another call of the row takes what is cast": (
        "student = Mlp(8)\nteacher = Other()\n\n\ndef f(x):\n    return student(x) - teacher(x.half())\n"
    ),
    "lifted on a line of its own": f"def step(x):\n{WITH}x = x.float()\n        return F.gelu(x, approximate='none')\n",
    "made and called before": f"def step(x):\n    y = Mlp(8)(x)\n{WITH}return y * 2\n",
    "made and called in a function before": (
        f"def run(x):\n    return Mlp(8)(x)\n\n\ndef step(x):\n    y = run(x)\n{WITH}return loss(y)\n"
    ),
    "lifted": f"def step(x):\n{WITH}return F.gelu(x.float(), approximate='none')\n",
    "lifted by to": f"def step(x):\n{WITH}return F.gelu(x.to(torch.float32), approximate='none')\n",
    "tanh": f"def step(x):\n{WITH}return F.gelu(x, approximate='tanh')\n",
    "a comparison of dtypes": (
        "def step(x):\n    if x.dtype == torch.float16:\n        x = x.clamp(-1, 1)\n    return act(x)\n"
    ),
    "what a layer named like a class gives": (
        "class Emb(nn.Module):\n    def __init__(self):\n        self.LayerNorm = nn.LayerNorm(8)\n"
        "        self.word = Mlp(8)\n\n    def forward(self, x):\n        e = self.word(x)\n"
        "        e = self.LayerNorm(e)\n        if self.fp32:\n            e = e.half()\n        return e\n"
    ),
    "a dtype by default, of bf16": (
        "def step(x, dtype=torch.bfloat16):\n    with torch.autocast('cuda', dtype=dtype):\n        return act(x)\n"
    ),
    "several statements in a line": (
        f"head = Mlp(8); opt = Adam(head)\n\n\ndef step(x, t):\n{WITH}return net(torch.to(t))\n\n\n"
        "net = load()\nn = 1; torch.save(head, 'a')\n"
    ),
    "a word in an f-string": (
        "class Trainer:\n    def __init__(self):\n        self.acc = Accelerator(mixed_precision='fp16')\n\n"
        "    def save(self):\n        self.acc.save(f'model-{self.step}')\n\n\nmodel = Mlp(8)\n"
    ),
    "a method of the same name": (
        "class Trainer:\n    def train(self, model, x):\n        with torch.cuda.amp.autocast():\n"
        "            return model(x)\n\n\nmodel = Mlp(8)\nmodel.train()\n"
    ),
    "a path of a model": (
        "class Up:\n    def __init__(self, model_dir):\n        self.clip = Mlp(8)\n"
        "        self.up = load(model_dir)\n\n"
        "    def run(self, x):\n        y = self.clip(x)\n        with torch.cuda.amp.autocast():\n"
        "            return self.up(y)\n\n\nmodel = Up(model_dir='m')\n"
    ),
    "what a model gave": "def f(x):\n    model_out = Mlp(8)(x)\n    return model_out.half()\n",
    "another function of the same name": (
        "def autocast(on):\n    return torch.cuda.amp.autocast(on)\n\n\ndef step(x, device):\n"
        "    with torch.autocast(device):\n        return act(x)\n"
    ),
    "another part of a module by annotation": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.stem = nn.Linear(8, 8)\n        self.head = Mlp(8)\n\n"
        "    def embed(self, x):\n        return self.stem(x)\n\n"
        "    def forward(self, x):\n        return self.head(self.embed(x))\n\n\n"
        "def stem(model: Net, x):\n    more = getattr(model, 'more', None)\n    return model.embed(x)\n\n\n"
        f"def step(model: Net, x):\n{WITH}return stem(model, x)\n"
    ),
    "a mask in half, given to a model": (
        "encoder = Mlp(8)\n\n\ndef run(x, mask):\n    mask = mask.half()\n    return encoder(x, mask)\n"
    ),
    "a mask in half": "def step(x, mask):\n    m = mask.to(torch.float16)\n    return x * m\n",
    "bf16 trainer": "args = TrainingArguments('out', bf16=True)\nTrainer(Mlp(8), args)\n",
    "fp16 by variable": "args = TrainingArguments('out', fp16=flag)\nTrainer(Mlp(8), args)\n",
    "bf16 Lightning": "pl.Trainer(precision='bf16-mixed').fit(Mlp(8))\n",
    "a table": f"ACTS = {{'gelu': nn.GELU(approximate='none')}}\n\n\ndef step(x):\n{WITH}return ACTS['gelu'](x)\n",
    "picked by name": (
        "def pick(name):\n    if name == 'gelu':\n"
        "        return nn.GELU(approximate='none')\n    return nn.ReLU()\n\n\n"
        f"def step(x):\n{WITH}return pick('relu')(x)\n"
    ),
    "in a docstring": (
        'def step(x):\n    """with torch.autocast("cuda", dtype=torch.float16): act(x)"""\n    return act(x)\n'
    ),
    "a test": f"def test_half(x):\n{WITH}return F.gelu(x, approximate='none')\n",
    "a reference": f"def gelu_ref(x):\n{WITH}return F.gelu(x, approximate='none')\n",
    "an annotation": f"def step(x, m: Mlp):\n{WITH}return x @ x\n",
}


@pytest.mark.parametrize("code", SPARED.values(), ids=SPARED)
def test_what_does_not(code: str) -> None:
    assert rows(MLP + ACT + code) == []


def test_other_frameworks_are_never_meant() -> None:
    code = (
        "import jax\nimport jax.numpy as jnp\nimport tensorflow as tf\n\n\ndef f(x):\n    x = x.astype(jnp.float16)\n"
        "    return jax.nn.gelu(x, approximate=False), tf.nn.gelu(x, approximate=False)\n"
    )
    assert rows(code) == []


# --- Across files ------------------------------------------------------------------------------------------------

PROJECTS = {
    "a class, imported": {
        "net.py": HEAD + MLP,
        "train.py": f"import torch\nfrom net import Mlp\n\n\ndef main(x):\n    m = Mlp(8)\n{WITH}return m(x)\n",
    },
    "a module, imported": {
        "net.py": HEAD + MLP,
        "train.py": f"import net\nimport torch\n\n\ndef main(x):\n    m = net.Mlp(8)\n{WITH}return m(x)\n",
    },
    "an alias": {
        "net.py": HEAD + MLP,
        "train.py": "import net as models\n\nm = models.Mlp(8).half()\n",
    },
    "an import in the function": {
        "net.py": HEAD + ACT.replace("act", "Mlp"),
        "train.py": f"import torch\n\n\ndef main(x):\n    from net import Mlp\n{WITH}return Mlp(x)\n",
    },
    "two imports in a row": {
        "net.py": HEAD + MLP,
        "train.py": "import torch; from net import Mlp\nm = Mlp(8).half()\n",
    },
    "a package that hands on": {
        "kit/__init__.py": "from .models import Mlp\n",
        "kit/models/__init__.py": "from .net import Mlp\n\n__all__ = ['Mlp']\n",
        "kit/models/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "a star": {
        "kit/__init__.py": "from .net import *\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "a name on the next row": {
        "kit/__init__.py": "from .net import \\\n    Mlp\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "an import on the next row": {
        "kit/__init__.py": "from .net \\\n    import Mlp\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "brackets in comments": {
        "kit/__init__.py": "from .net import (  # see 1)\n    Mlp,\n)\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "an import behind another": {
        "kit/__init__.py": "import os; from .net import Mlp\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "a mark of the byte order": {
        "kit/__init__.py": "\ufefffrom .net import Mlp\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "a form feed": {
        "kit/__init__.py": "\x0cfrom .net import Mlp\n",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "rows that end in CR": {
        "kit/__init__.py": "import os\rfrom .net import Mlp\r",
        "kit/net.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "a name beyond ASCII": {
        "kit/__init__.py": "from .modèle import Mlp\n",
        "kit/modèle.py": HEAD + MLP,
        "train.py": "from kit import Mlp\n\nm = Mlp(8).half()\n",
    },
    "quotes in comments": {
        "net.py": HEAD + MLP,
        "train.py": "# not ''' these\nfrom net import Mlp\n\nm = Mlp(8).half()\n# nor ''' these\n",
    },
    "one dtype or another, in a long file": {
        "net.py": HEAD + MLP,
        "train.py": "import torch\nfrom net import Mlp\n\n"
        "dtype = torch.float16 if torch.cuda.is_available() else torch.float32\n"
        "m = Mlp(8).to(dtype)\n" + "\n\ndef f():\n    pass\n" * 50,
    },
    "a module by way of its package": {
        "kit/__init__.py": "",
        "kit/nets/__init__.py": "",
        "kit/nets/net.py": HEAD + MLP,
        "kit/mid.py": "from kit import nets\n\n\ndef build():\n    return nets.net.Mlp(8)\n",
        "train.py": f"import torch\nfrom kit.mid import build\n\n\ndef main(x):\n    m = build()\n{WITH}return m(x)\n",
    },
    "a src layout": {
        "src/kit/__init__.py": "",
        "src/kit/net.py": HEAD + MLP,
        "scripts/train.py": "from kit.net import Mlp\n\nm = Mlp(8).half()\n",
    },
    "inside a package": {
        "kit/__init__.py": "",
        "kit/net.py": HEAD + MLP,
        "kit/run/__init__.py": "",
        "kit/run/train.py": "from ..net import Mlp\n\nm = Mlp(8).half()\n",
    },
    "through a file without a GELU": {
        "layers.py": HEAD + MLP,
        "net.py": "from torch import nn\nfrom layers import Mlp\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.mlp = Mlp(8)\n\n"
        "    def forward(self, x):\n        return self.mlp(x)\n",
        "train.py": "import layers\nfrom net import Net\n\nm = Net().half()\n",
    },
    "a base class elsewhere": {
        "base.py": (
            "from net import Mlp\nimport torch\n\n\nclass Base:\n    def __init__(self):\n"
            "        self.m = Mlp(8)\n\n"
            "    def step(self, x):\n        with torch.cuda.amp.autocast():\n            return self.loss(x)\n\n"
            "    def loss(self, x):\n        return self.m(x)\n"
        ),
        "net.py": HEAD + MLP,
    },
    "Trainer": {
        "net.py": HEAD + MLP,
        "train.py": "from transformers import Trainer, TrainingArguments\nfrom net import Mlp\n\n\ndef main():\n"
        "    Trainer(Mlp(8), TrainingArguments('out', fp16=True)).train()\n",
    },
    "a model handed to a loop of another file": {
        "net.py": HEAD + MLP,
        "engine.py": f"import torch\n\n\ndef train_one_epoch(model, x):\n{WITH}return model(x)\n",
        "main.py": (
            "from engine import train_one_epoch\nfrom net import Mlp\n\n\ndef main(x):\n    model = Mlp(8)\n"
            "    model.cuda()\n    train_one_epoch(model, x)\n"
        ),
    },
    "a model handed to a module's loop": {
        "kit/__init__.py": "",
        "kit/net.py": HEAD + MLP,
        "kit/engine.py": f"import torch\n\n\ndef evaluate(model, x):\n{WITH}return model(x)\n",
        "main.py": "import kit.engine as engine\nfrom kit.net import Mlp\n\nengine.evaluate(Mlp(8), 1)\n",
    },
    "a model handed to a trainer of another file": {
        "net.py": HEAD + MLP,
        "trainer.py": (
            "import torch\n\n\nclass Trainer:\n    def __init__(self, model):\n        self.model = model\n\n"
            "    def step(self, x):\n        with torch.cuda.amp.autocast():\n            return self.model(x)\n"
        ),
        "main.py": ("from net import Mlp\nfrom trainer import Trainer as T\n\nmodel = Mlp(8)\nT(model).step(1)\n"),
    },
    "a model handed to a method of another file": {
        "net.py": HEAD + MLP,
        "trainer.py": (
            "import torch\n\n\nclass Trainer:\n    def fit(self, model, x):\n"
            "        with torch.cuda.amp.autocast():\n            return model(x)\n"
        ),
        "main.py": "from net import Mlp\nfrom trainer import Trainer\n\ntrainer = Trainer()\ntrainer.fit(Mlp(8), 1)\n",
    },
    "a context around a function of another file": {
        "net.py": HEAD + MLP,
        "train.py": (
            "import torch\nfrom net import Mlp\nfrom loop import run\n\n\ndef main(x):\n"
            f"    m = Mlp(8)\n{WITH}run(m, x)\n"
        ),
        "loop.py": "def run(m, x):\n    return m(x)\n",
    },
}
APART = {
    "another class": {
        "net.py": HEAD + MLP + "class Other(nn.Module):\n    pass\n",
        "train.py": "from net import Other\n\nm = Other().half()\n",
    },
    "a module of another project": {
        "net.py": HEAD + MLP,
        "train.py": "from elsewhere.net import Mlp\n\nm = Mlp(8).half()\n",
    },
    "bf16": {
        "net.py": HEAD + MLP,
        "train.py": "import torch\nfrom net import Mlp\n\nm = Mlp(8).to(torch.bfloat16)\n",
    },
    "a model handed to another function of the same name": {
        "net.py": HEAD + MLP,
        "engine.py": f"import torch\n\n\ndef train(model, x):\n{WITH}return model(x)\n",
        "loop.py": "def train(model, x):\n    return model(x)\n",
        "main.py": "from loop import train\nfrom net import Mlp\n\ntrain(Mlp(8), 1)\n",
    },
    "a model handed to what needs no context": {
        "net.py": HEAD + MLP,
        "engine.py": (
            f"import torch\n\n\ndef train(model, x):\n{WITH}return model(x)\n\n\ndef count(model):\n    pass\n"
        ),
        "main.py": "from engine import count\nfrom net import Mlp\n\ncount(Mlp(8))\n",
    },
    "no call": {
        "net.py": HEAD + MLP,
        "train.py": (
            "import torch\nfrom net import Mlp\n\n\ndef main(x, y):\n    m = Mlp(8)\n"
            f"    h = m(x)\n{WITH}return h @ y\n"
        ),
    },
}


def check(
    root: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str], *options: str
) -> list[tuple[str, int]]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    main(["check", "--select", "GEL020", "--output-format", "json", *options])
    found = json.loads(capsys.readouterr().out)
    return [(Path(f["filename"]).relative_to(root).as_posix() if Path(f["filename"]).is_absolute() else
             Path(f["filename"]).as_posix(), f["location"]["row"]) for f in found]  # fmt: skip


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS)
@pytest.mark.parametrize("cached", [False, True])
def test_across_files(
    files: dict[str, str],
    cached: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    home = next(name for name, text in files.items() if "GELU" in text or "F.gelu" in text)
    expected = [(home, len(HEAD.splitlines()) + (4 if MLP in files[home] else 2))]
    options = [] if cached else ["--no-cache"]
    for _ in range(3 if cached else 1):
        assert check(tmp_path, files, capsys, *options, ".") == expected


@pytest.mark.parametrize("files", APART.values(), ids=APART)
def test_what_other_files_do_not_reach(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check(tmp_path, files, capsys, "--no-cache", ".") == []


LED = {
    f"{name}: {path}": text
    for name, files in {**PROJECTS, **APART}.items()
    for path, text in files.items()
    if "gelu(" in text.lower()
}
LED |= {
    "a formula": HEAD + "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))\n",
    "its own context": HEAD + f"def f(x):\n{WITH}return F.gelu(x, approximate='none')\n",
    "its own way out": HEAD + "def f(x):\n    with torch.autocast('cuda', enabled=False):\n"
    "        return F.gelu(x, approximate='none')\n",
    "a class": HEAD + MLP,
}


@pytest.mark.parametrize("text", LED.values(), ids=LED)
def test_what_a_context_leads_to_is_told_without_another_parse(text: str) -> None:
    source = decode("net.py", text.encode())
    names = re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)
    context = Context("half", "train.py", "m.half()", Span(3, 0, 3, 8), "", (3, 3), leads=("net.Mlp",))
    led = (Arrival(context, tuple(sorted(names))), Arrival(context._replace(kind="cuda_autocast"), (*names[:1],)))
    alone = summarise(source)
    told = arrived(alone, source, led)
    assert told is None or told == summarise(source, arrivals=led)
    assert arrived(alone, source, ()) == alone
    own = "half" in text or "autocast" in text or "float16" in text or "fp16" in text or "16-" in text
    assert own or "0.044715" in text or told is not None  # else it is of no use


def test_only_a_run_over_the_project_sees_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"pyproject.toml": "", **{f"src/{n}": t for n, t in PROJECTS["a class, imported"].items()}}
    assert check(tmp_path, files, capsys, ".") == [("src/net.py", len(HEAD.splitlines()) + 4)]
    assert check(tmp_path, files, capsys, "src") == []
    assert check(tmp_path, files, capsys, "src/net.py", "src/train.py") == []
    assert check(tmp_path, files, capsys, str(tmp_path)) == [("src/net.py", len(HEAD.splitlines()) + 4)]
