"""A configuration that says one activation, and code that computes another whatever it says.

## What it does
In a run over a whole project, compares the activations that settings name with the GELUs of the code that they
configure, and reports those of different flavours. Settings configure a class

- that they name, as `_target_`, `architectures`, `class_name`, `name` and the like, in the mapping with the activation
  or around it, if one class of the project has that name and they lie beside or under its package, or in a folder of
  configurations beside that (a dotted name that leads to its module may lie anywhere);
- whose module is for their `model_type`: `modeling_<model_type>.py`, or a `model_type` of its classes or of the class
  of their settings; again beside or under the package;
- that code gives what it loads by a literal name: `Net(json.load(open("config.json")))`, through variables, defaults
  of parameters, keys and functions that return it, by Hydra's `config_path` and `config_name`;
- that takes an object of a class of settings: the defaults of the class that its parameter is annotated with, or of
  the only one that the file defines or imports from its package.

Names of activations mean what they do in the table that looks them up, which for models of `transformers` is known,
and elsewhere what all tables of libraries agree on: a plain `gelu` may then be erf or tanh. The GELUs of a class and
of the classes of its file that it is made of count if all are of one flavour, and nothing there asks the settings for
an activation. Tests, references, docs and archives, keys of another part of a model (`vision_config` and a class for
text), heads and poolers with a GELU by design do not. That settings want no GELU at all, such as `silu`, is reported
where they are surely those of the class, and no other activation stands in it.

The finding sits at the value in the file of settings, or at the GELU where a class of settings has the other one by
default.

## Why is this bad
The run computes what the code says. Who reads the configuration, converts the checkpoint, or loads it into another
implementation takes the other function: tanh and erf are 4.7e-4 apart, quick GELU is 2.0e-2 off, SiLU 0.19.

## Fix safety
There is no fix: which of the two is meant is for you to decide. Weights that were trained with this code want what the
code computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gelu_lint.configured import Clash, clashes
from gelu_lint.handwritten import graded, label, off
from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    """One file alone says nothing."""
    yield from ()


def across(files: Sequence[FileSummary], project: Project) -> Iterator[Finding]:
    for clash in clashes(files):
        size, apart = off(clash.site.flavour, clash.wanted)
        if clash.config is not None and clash.entry is not None:
            yield _at_value(clash, size, apart)
        elif clash.settings is not None:
            yield _at_code(clash, size, apart)


def _at_value(clash: Clash, size: float | None, apart: str) -> Finding:
    site, entry, config = clash.site, clash.entry, clash.config
    assert entry is not None and config is not None
    message = (
        f"{clash.key} is {clash.value!r}, {label(clash.wanted)}, but {clash.taker.name}, which this configures "
        f"({clash.link}), computes {label(site.flavour)} whatever it is ({_written(clash)}, "
        f"{clash.file.path}:{site.span.row}): {apart}; the run does what the code says"
    )
    related = ((clash.file.path, site.span, f"computes {label(site.flavour)}"),)
    found = report(
        "GEL102", config, entry, message, graded(size), None, flavour=site.flavour, claimed=clash.wanted, error=size
    )
    return found._replace(related=related)


def _at_code(clash: Clash, size: float | None, apart: str) -> Finding:
    site, settings = clash.site, clash.settings
    assert settings is not None
    path = settings.path or clash.file.path
    where = f"{path}:{clash.span.row}" if settings.path else f"line {clash.span.row}"
    message = (
        f"{_written(clash)} computes {label(site.flavour)} whatever {clash.taker.config} says, and {settings.name} "
        f"says {clash.key}={clash.value!r} by default, {label(clash.wanted)} ({where}): {apart}; the run does what the "
        "code says"
    )
    related = ((path, clash.span, f"{label(clash.wanted)} by default"),)
    found = report("GEL102", clash.file, site, message, graded(size), None, claimed=clash.wanted, error=size)
    return found._replace(related=related)


def _written(clash: Clash) -> str:
    return "a formula" if clash.site.spelling == "formula" else clash.site.written


def evidence() -> None:
    """BERT computes what its configuration names; with the activation typed into the block it computes that, whatever
    the configuration names: its output is off by as much as the two activations are."""
    import torch
    import torch.nn.functional as F
    from transformers import BertConfig
    from transformers.activations import ACT2FN
    from transformers.models.bert.modeling_bert import BertIntermediate

    config = BertConfig(hidden_size=8, intermediate_size=16, hidden_act="gelu_pytorch_tanh")
    block: Any = BertIntermediate(config).double()  # type: ignore[no-untyped-call]
    x = 4 * torch.randn(512, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.nn.init.eye_(block.dense.weight)
        torch.nn.init.zeros_(block.dense.bias)
        wanted = block(x)
        hidden = block.dense(x)
        assert torch.equal(wanted, F.gelu(hidden, approximate="tanh"))
        assert 4e-4 < (F.gelu(hidden, approximate="none") - wanted).abs().max().item() < 4.74e-4

    grid = torch.linspace(-6, 6, 24001, dtype=torch.float64)
    erf = F.gelu(grid, approximate="none")
    wide = {
        "gelu_new": 4.73e-4,
        "gelu_fast": 4.73e-4,
        "gelu_pytorch_tanh": 4.73e-4,
        "quick_gelu": 2.03e-2,
        "silu": 0.193,
    }
    for name, size in wide.items():
        assert abs((ACT2FN[name](grid) - erf).abs().max().item() - size) < size / 100
    assert all((ACT2FN[name](grid) - erf).abs().max() < 1e-12 for name in ("gelu", "gelu_python"))


_NET = (
    "import torch.nn.functional as F\nfrom torch import nn\n\n\nclass PocketNet(nn.Module):\n"
    "    def __init__(self, width):\n        super().__init__()\n"
    "        self.w1, self.w2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)\n\n    def forward(self, x):\n"
    "        return self.w2(F.gelu(self.w1(x), approximate={!r}))\n"
)
_LOADED = (
    "import json\n\n"
    + _NET.format("none")
    + '\n\ndef build(path="settings/net.json"):\n    settings = json.load(open(path))\n'
    '    return PocketNet(settings["net"]["width"])\n'
)
_MODELING = (
    "from torch import nn\n\nfrom .configuration_tiny import TinyConfig\n\n\nclass TinyMLP(nn.Module):\n"
    "    def __init__(self, config: TinyConfig):\n        super().__init__()\n"
    "        self.up = nn.Linear(config.hidden_size, config.intermediate_size)\n"
    "        self.down = nn.Linear(config.intermediate_size, config.hidden_size)\n"
    "        self.act = nn.GELU(approximate={!r})\n\n"
    "    def forward(self, x):\n        return self.down(self.act(self.up(x)))\n"
)
_CONFIGURATION = (
    "from transformers import PretrainedConfig\n\n\nclass TinyConfig(PretrainedConfig):\n"
    '    model_type = "tiny"\n\n    def __init__(self, width=64, hidden_act={!r}, **kwargs):\n'
    "        super().__init__(**kwargs)\n        self.hidden_size, self.intermediate_size = width, 4 * width\n"
    "        self.hidden_act = hidden_act\n"
)
_TINY = '{{\n  "model_type": "tiny",\n  "hidden_act": "{}"\n}}\n'

RULE = Rule(
    "GEL102",
    "config-contradicts-code",
    "settings that name one activation for code that computes another",
    "— (which is meant is for you to decide)",
    "warning",
    check,
    __doc__,
    examples=(
        bad(
            _TINY.format("quick_gelu"),
            at="3:17",
            name="config.json",
            beside={"modeling_tiny.py": _MODELING.format("none")},
        ),
        bad(
            '{\n  "model": {\n    "name": "PocketNet",\n    "activation": "gelu_pytorch_tanh"\n  }\n}\n',
            at="4:19",
            name="configs/train.json",
            beside={"pocket/net.py": _NET.format("none")},
        ),
        bad(
            '{\n  "net": {"width": 128, "activation": "gelu_new"}\n}\n',
            at="2:39",
            name="settings/net.json",
            beside={"pocket.py": _LOADED},
        ),
        bad(
            _MODELING.format("none"),
            at="11:20",
            name="modeling_tiny.py",
            beside={"configuration_tiny.py": _CONFIGURATION.format("gelu_new")},
        ),
        good(
            _TINY.format("gelu_new"),
            name="config.json",
            beside={"modeling_tiny.py": _MODELING.format("tanh")},
        ),
        good(
            '{\n  "name": "OtherNet",\n  "activation": "gelu_pytorch_tanh"\n}\n',
            name="configs/train.json",
            beside={"pocket/net.py": _NET.format("none")},
        ),
    ),
    evidence=evidence,
    project=True,
    across=across,
    takers=True,
    outranks=("GEL018",),
)
