"""Which settings configure which code: links of each kind, and look-alikes in which nothing is said."""

from __future__ import annotations

import contextlib
import io
import json
import re
import textwrap
from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.configured import asks, takes_settings
from gelu_lint.engine import summarise
from gelu_lint.model import FileSummary, Load
from gelu_lint.source import decode
from gelu_lint.takers import is_settings, settings_in, with_takers

BLOCK = """
    import torch
    import torch.nn.functional as F
    from torch import nn


    class {name}(nn.Module):
        def __init__(self, {taken}):
            super().__init__()
            self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

        def forward(self, x):
            return self.down({gelu})
"""


def block(name: str = "PocketNet", taken: str = "width", gelu: str = 'F.gelu(self.up(x), approximate="none")') -> str:
    return textwrap.dedent(BLOCK).format(name=name, taken=taken, gelu=gelu).lstrip()


def settings(**values: object) -> str:
    return json.dumps(values, indent=1) + "\n"


MLP = block("TinyMLP", "config")
TANH = 'F.gelu(self.up(x), approximate="tanh")'
QUICK = "self.up(x) * torch.sigmoid(1.702 * self.up(x))"
FAMILY = settings(model_type="tiny", hidden_act="gelu_new")
NAMED = settings(model={"name": "PocketNet", "activation": "gelu_tanh"})
CONFIGURATION = (
    "from transformers import PretrainedConfig\n\n\nclass TinyConfig(PretrainedConfig):\n    model_type = {kind!r}\n\n"
    "    def __init__(self, hidden_act={act!r}, **kwargs):\n        super().__init__(**kwargs)\n"
    "        self.hidden_act = hidden_act\n"
)
FIELDS = (
    "from dataclasses import dataclass\n\n\n@dataclass\nclass TinyConfig:\n    width: int = 8\n"
    "    activation: str = {act!r}  # of the blocks\n"
)


def configuration(act: str, kind: str = "tiny") -> str:
    return CONFIGURATION.format(act=act, kind=kind)


def modeling(code: str, imported: str = "from .configuration_tiny import TinyConfig") -> str:
    return f"{imported}\n{code}"


def found(tmp_path: Path, files: dict[str, str], codes: str = "GEL102") -> list[tuple[str, int, str]]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(tmp_path)
        cli.main(["check", ".", "--select", codes, "--no-cache", "--output-format", "json"])
    rows = json.loads(out.getvalue())
    return [(Path(row["filename"]).as_posix(), row["location"]["row"], row["code"]) for row in rows]


# ruff: noqa: E501

#: Each with the place of its finding.
LINKED: dict[str, tuple[dict[str, str], tuple[str, int]]] = {
    "family by the name of the module": ({"tiny/config.json": FAMILY, "tiny/modeling_tiny.py": MLP}, ("tiny/config.json", 3)),
    "family, in a folder below": ({"tiny/base/config.json": FAMILY, "tiny/modeling_tiny.py": MLP}, ("tiny/base/config.json", 3)),
    "family of a class of settings elsewhere": (
        {"t/config.json": FAMILY, "t/net.py": modeling(MLP, "from .conf import TinyConfig"), "t/conf.py": configuration("gelu")},
        ("t/config.json", 3),
    ),
    "family that a class states": (
        {"config.json": FAMILY, "net.py": MLP.replace("    def __init__", '    model_type = "tiny"\n\n    def __init__')},
        ("config.json", 3),
    ),
    "architecture that is made of the block": (
        {
            "config.json": settings(architectures=["TinyForMaskedLM"], hidden_act="quick_gelu"),
            "net.py": MLP
            + "\n\nclass TinyForMaskedLM(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
            "        self.layers = nn.ModuleList([TinyMLP(config) for _ in range(2)])\n",
        },
        ("config.json", 5),
    ),
    "plain gelu of a model of transformers is erf": (
        {"config.json": settings(model_type="tiny", hidden_act="gelu"), "modeling_tiny.py": block("TinyMLP", "config", TANH)},
        ("config.json", 3),
    ),
    "quick GELU under plain gelu": (
        {"c.json": settings(name="PocketNet", activation="gelu"), "net.py": block(gelu=QUICK)}, ("c.json", 3),
    ),
    "name, in a folder of configurations": ({"configs/a/b/c.json": NAMED, "kit/net.py": block()}, ("configs/a/b/c.json", 4)),
    "name in the mapping around": (
        {"c.json": settings(net={"class_name": "PocketNet", "params": {"act_layer": "gelu_tanh"}}), "net.py": block()},
        ("c.json", 5),
    ),
    "dotted target, anywhere": (
        {"a/b/c.json": settings(_target_="kit.net.PocketNet", activation="gelu_tanh"), "src/kit/net.py": block()},
        ("a/b/c.json", 3),
    ),
    "SiLU for a class that has but a GELU": (
        {"c.json": settings(name="PocketNet", hidden_act="silu"), "net.py": block()}, ("c.json", 3),
    ),
    "helper of the file": (
        {
            "c.json": settings(name="PocketNet", activation="gelu_erf"),
            "net.py": block(gelu="gelu(self.up(x))").replace(
                "class P", "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))\n\n\nclass P"
            ),
        },
        ("c.json", 3),
    ),
    "class of the file that is the activation": (
        {
            "c.json": settings(name="PocketNet", activation="gelu_tanh"),
            "net.py": block(gelu="self.act(self.up(x))").replace("        self.up,", "        self.act = Gelu()\n        self.up,")
            + "\n\nclass Gelu(nn.Module):\n    def forward(self, x):\n        return F.gelu(x)\n",
        },
        ("c.json", 3),
    ),
    "parameter that nothing reads": (
        {"c.json": settings(name="PocketNet", activation="gelu_tanh"), "net.py": block(taken='width, activation="gelu"')},
        ("c.json", 3),
    ),
    "YAML that is loaded": (
        {
            "configs/train.yaml": "train: {steps: 10}\nmodel:\n  width: 128\n  activation: gelu_pytorch_tanh\n",
            "pocket/net.py": "import yaml\n" + block()
            + '\n\ndef build(path="configs/train.yaml"):\n    cfg = yaml.safe_load(open(path))\n'
            '    return PocketNet(cfg["model"]["width"])\n',
        },
        ("configs/train.yaml", 4),
    ),
    "YAML of Hydra": (
        {
            "conf/train.yaml": "net:\n  _target_: kit.net.PocketNet\n  activation: quick_gelu\n",
            "kit/net.py": block(), "run.py": "import hydra\n",
        },
        ("conf/train.yaml", 3),
    ),
    "TOML": (
        {"net.toml": '[model]\nname = "PocketNet"\nactivation = "gelu_tanh"\n', "net.py": block()}, ("net.toml", 3),
    ),
    "loaded beside the file": (
        {
            "kit/net.json": settings(activation="gelu_new"),
            "kit/net.py": "import json\nfrom pathlib import Path\n" + block()
            + '\n\nCONFIG = Path(__file__).parent / "net.json"\n\n\ndef build():\n'
            "    config = json.loads(CONFIG.read_text())\n    return PocketNet(**config)\n",
        },
        ("kit/net.json", 2),
    ),
    "loaded by a function that returns it": (
        {
            "net.json": settings(model={"width": 8, "activation": "gelu_new"}),
            "net.py": "import json\n" + block()
            + '\n\ndef settings():\n    with open("net.json") as file:\n        config = json.load(file)\n    return config\n'
            '\n\nnet = PocketNet(settings()["model"]["width"])\n',
        },
        ("net.json", 4),
    ),
    "loaded in the class": (
        {
            "net.json": settings(activation="gelu_new"),
            "net.py": "import json\n" + block(taken="").replace("self, )", "self)").replace(
                "        self.up,", '        self.config = json.load(open("net.json"))\n        self.up,'
            ),
        },
        ("net.json", 2),
    ),
    "default of a class of settings": (
        {"modeling_tiny.py": modeling(MLP), "configuration_tiny.py": configuration("gelu_new")}, ("modeling_tiny.py", 13),
    ),
    "default, handed on by a package": (
        {
            "kit/nets/net.py": modeling(block("Tiny", "config: TinyConfig"), "from kit.conf import TinyConfig"),
            "kit/__init__.py": "", "kit/nets/__init__.py": "", "kit/conf/__init__.py": "from .tiny import TinyConfig\n",
            "kit/conf/tiny.py": configuration("quick_gelu"),
        },
        ("kit/nets/net.py", 13),
    ),
    "default of a dataclass of the file": (
        {"net.py": FIELDS.format(act="gelu_tanh") + "\n\n" + block("Tiny", "cfg: TinyConfig")}, ("net.py", 21),
    ),
    "default that kwargs fall back on": (
        {
            "modeling_tiny.py": modeling(MLP),
            "configuration_tiny.py": "class TinyConfig:\n    def __init__(self, **kwargs):\n"
            '        self.hidden_act = kwargs.pop("hidden_act", "gelu_new")\n',
        },
        ("modeling_tiny.py", 13),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKED)
def test_a_contradiction_is_found_through_each_link(name: str, tmp_path: Path) -> None:
    files, (path, row) = LINKED[name]
    assert found(tmp_path, files) == [(path, row, "GEL102")]


READS = MLP.replace("        self.up,", "        self.gate = ACT2FN[config.hidden_act]\n        self.up,")
OTHER = MLP + "\n\n" + block("TinyHead", "config").partition("\n\n\n")[2]

SILENT: dict[str, dict[str, str]] = {
    "one flavour, two names": {
        "config.json": settings(model_type="tiny", hidden_act="gelu_fast"),
        "modeling_tiny.py": block("TinyMLP", "config", TANH),
    },
    "plain gelu of no library": {
        "c.json": settings(name="PocketNet", activation="gelu"), "net.py": block(gelu=TANH),
    },
    "another family": {"config.json": FAMILY.replace("tiny", "large"), "modeling_tiny.py": MLP},
    "another class": {"c.json": NAMED.replace("PocketNet", "OtherNet"), "net.py": block()},
    "a name that nothing knows": {
        "config.json": settings(model_type="tiny", hidden_act="gelu_of_ours"), "modeling_tiny.py": MLP,
    },
    "the class asks the settings": {"config.json": FAMILY, "modeling_tiny.py": READS},
    "another class of the module asks": {
        "config.json": FAMILY,
        "modeling_tiny.py": MLP + "\n\nclass TinyLayer(nn.Module):\n    def __init__(self, config):\n"
        "        super().__init__()\n        self.act = ACT2FN[config.hidden_act]\n",
    },
    "a block that it is made of asks": {
        "c.json": NAMED,
        "net.py": block(gelu="F.gelu(Mlp(self.config)(x))") + "\n\nclass Mlp(nn.Module):\n    def __init__(self, config):\n"
        "        super().__init__()\n        self.act = TABLE[config.activation]\n",
    },
    "a function of the module asks": {
        "configs/c.json": NAMED,
        "net.py": block() + '\n\ndef build(config):\n    net = PocketNet(8)\n    net.act = TABLE[config["activation"]]\n    return net\n',
    },
    "a parameter takes the choice": {
        "c.json": NAMED,
        "net.py": block(taken="width, act_layer=nn.SiLU", gelu="self.act(self.up(x)) + F.gelu(self.up(x))").replace("        self.up,", "        self.act = act_layer()\n        self.up,"),
    },
    "two flavours in a class": {
        "config.json": FAMILY,
        "modeling_tiny.py": block("TinyMLP", "config", 'F.gelu(self.up(x)) + F.gelu(self.up(x), approximate="tanh")'),
    },
    "two flavours in a module": {
        "config.json": FAMILY,
        "modeling_tiny.py": MLP + "\n\n" + block("TinyOther", "config", TANH).partition("\n\n\n")[2],
    },
    "a run decides": {
        "c.json": NAMED, "net.py": block(taken="width, mode", gelu="F.gelu(self.up(x), approximate=self.mode)"),
    },
    "a head alone has a GELU by design": {"config.json": FAMILY, "modeling_tiny.py": block("TinyLMHead", "config")},
    "text settings, vision class": {
        "config.json": settings(text_config={"model_type": "tiny", "hidden_act": "gelu_new"}),
        "modeling_tiny.py": block("TinyVisionMLP", "config"),
    },
    "a key of another part": {
        "config.json": settings(model_type="tiny", projector_hidden_act="gelu_new"), "modeling_tiny.py": MLP,
    },
    "decoder key, encoder class": {
        "config.json": settings(model_type="tiny", decoder_activation_function="gelu_new"),
        "modeling_tiny.py": block("TinyEncoderLayer", "config"),
    },
    "SiLU by family": {"config.json": settings(model_type="tiny", hidden_act="silu"), "modeling_tiny.py": MLP},
    "SiLU, which the class has": {
        "c.json": settings(name="PocketNet", hidden_act="silu"),
        "net.py": block(gelu="F.gelu(self.up(x)) * F.silu(self.up(x))"),
    },
    "SiLU, which a class that it is made of has": {
        "c.json": settings(name="PocketNet", hidden_act="silu"),
        "net.py": block(gelu="F.gelu(self.up(x)) + Gate()(x)") + "\n\nclass Gate(nn.Module):\n    def forward(self, x):\n        return F.silu(x)\n",
    },
    "no activation, though of that value": {
        "c.json": settings(name="PocketNet", tokenizer="gelu_new", approximate="tanh"), "net.py": block(),
    },
    "docs": {"docs/config.json": FAMILY, "docs/modeling_tiny.py": MLP},
    "archive": {"archive/config.json": FAMILY, "modeling_tiny.py": MLP},
    "settings of a test": {"tests/config.json": FAMILY, "tiny/modeling_tiny.py": MLP},
    "test": {"config.json": FAMILY, "test_tiny.py": MLP.replace("    def __i", '    model_type = "tiny"\n\n    def __i')},
    "reference": {"c.json": NAMED.replace("PocketNet", "ReferenceNet"), "net.py": block("ReferenceNet")},
    "far from the package": {"one/models/small/config.json": FAMILY, "two/tiny/modeling_tiny.py": MLP},
    "two classes of the name": {"c.json": NAMED, "a.py": block(), "b.py": block()},
    "settings that another file loads": {
        "a.json": settings(activation="gelu_new"), "b.json": settings(width=8),
        "net.py": "import json\n" + block() + '\n\nnet = PocketNet(**json.load(open("b.json")))\n',
    },
    "loaded, and given to something else": {
        "a.json": settings(activation="gelu_new"),
        "net.py": "import json\n" + block() + '\n\nconfig = json.load(open("a.json"))\nnet = PocketNet(8)\nrun(net, config)\n',
    },
    "loaded, of other keys": {
        "a.json": settings(net={"width": 8}, judge={"activation": "gelu_new"}),
        "net.py": "import json\n" + block() + '\n\nconfig = json.load(open("a.json"))\nnet = PocketNet(**config["net"])\n',
    },
    "loaded, for several parts": {
        "a.json": settings(student={"activation": "gelu_new"}, teacher={"activation": "gelu"}),
        "net.py": "import json\n" + block() + '\n\nconfig = json.load(open("a.json"))\nnet = PocketNet(config)\n',
    },
    "written, not loaded": {
        "a.json": settings(activation="gelu_new"),
        "net.py": "import json\n" + block() + '\n\ndef store(net, out="a.json"):\n    json.dump(net.config, open(out, "w"))\n',
    },
    "base of another file": {
        "modeling_tiny.py": modeling(MLP.replace("nn.Module", "LargeMLP"), "from .configuration_tiny import TinyConfig\nfrom ..large import LargeMLP"),
        "configuration_tiny.py": configuration("gelu_new"),
    },
    "block of another file": {
        "modeling_tiny.py": modeling(
            MLP.replace("        self.up,", "        self.block = LargeBlock(config)\n        self.up,"),
            "from .configuration_tiny import TinyConfig\nfrom ..large import LargeBlock",
        ),
        "configuration_tiny.py": configuration("gelu_new"),
    },
    "default that agrees": {"modeling_tiny.py": modeling(MLP), "configuration_tiny.py": configuration("gelu")},
    "default of a dataclass, plain gelu": {
        "net.py": FIELDS.format(act="gelu") + "\n\n" + block("Tiny", "cfg: TinyConfig", TANH),
    },
    "default of another class": {
        "modeling_tiny.py": modeling(block("TinyMLP", "config: LargeConfig"), "from .configuration_tiny import TinyConfig, LargeConfig"),
        "configuration_tiny.py": configuration("gelu_new"),
    },
    "settings of several classes": {
        "modeling_tiny.py": modeling(MLP, "from .configuration_tiny import TinyConfig, LargeConfig"),
        "configuration_tiny.py": configuration("gelu_new"),
    },
    "default in a docstring": {
        "modeling_tiny.py": modeling(MLP),
        "configuration_tiny.py": 'class TinyConfig:\n    """hidden_act="gelu_new" is usual."""\n\n    # activation = "gelu_new"\n',
    },
    "two defaults": {
        "modeling_tiny.py": modeling(MLP),
        "configuration_tiny.py": configuration("gelu_new") + '        self.hidden_act = "gelu" if OLD else hidden_act\n'
        '        self.activation = "gelu"\n',
    },
    "patch merger": {
        "modeling_tiny.py": modeling(block("TinyVisionPatchMerger", "config: TinyVisionConfig"), "from .configuration_tiny import TinyVisionConfig"),
        "configuration_tiny.py": configuration("gelu_pytorch_tanh").replace("TinyConfig", "TinyVisionConfig"),
    },
    "convolutions of a duration predictor": {
        "modeling_tiny.py": modeling(block("TinyDilatedConv", "config: TinyConfig") + "\n\n" + READS.partition("\n\n\n")[2]),
        "configuration_tiny.py": configuration("relu"),
    },
    "no settings at all": {"config.json": "[1, 2]\n", "modeling_tiny.py": MLP},
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_look_alikes_stay_silent(name: str, tmp_path: Path) -> None:
    assert found(tmp_path, SILENT[name]) == []


def test_one_finding_for_a_gelu(tmp_path: Path) -> None:
    """The stronger one: a class that ignores its settings is told of where these say the same today."""
    wide = MLP.replace("nn.Linear(8, 32)", "nn.Linear(config.hidden_size, config.intermediate_size)")
    files = {"modeling_tiny.py": modeling(wide)}
    agreeing = {**files, "configuration_tiny.py": configuration("gelu")}
    assert found(tmp_path / "a", agreeing, "GEL102,GEL018") == [("modeling_tiny.py", 13, "GEL018")]
    differing = {**files, "configuration_tiny.py": configuration("gelu_new")}
    assert found(tmp_path / "b", differing, "GEL102,GEL018") == [("modeling_tiny.py", 13, "GEL102")]
    told = {**agreeing, "config.json": FAMILY}
    assert found(tmp_path / "c", told, "GEL102,GEL018") == [("config.json", 3, "GEL102")]
    assert found(tmp_path / "d", told, "GEL018") == [("modeling_tiny.py", 13, "GEL018")]


def test_a_part_of_a_project_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"pyproject.toml": "", "config.json": FAMILY, "modeling_tiny.py": MLP}
    assert found(tmp_path, files) == [("config.json", 3, "GEL102")]
    assert (
        cli.main(["check", str(tmp_path / "config.json"), str(tmp_path / "modeling_tiny.py"), "--select", "GEL102"])
        == 0
    )


def test_a_directive_at_the_code_silences_a_default(tmp_path: Path) -> None:
    code = modeling(MLP).replace('approximate="none"))', 'approximate="none"))  # noqa: GEL102')
    files = {"pyproject.toml": "", "modeling_tiny.py": code, "configuration_tiny.py": configuration("gelu_new")}
    assert found(tmp_path, files, "GEL102,GEL901") == []


LOADS = {
    "hydra": (
        'import hydra\n\n\n@hydra.main(config_path="conf", config_name="train", version_base=None)\ndef main(cfg):\n'
        "    net = PocketNet(cfg.model.width)\n",
        Load("conf/train.yaml", True, "PocketNet", ("model", "width")),
    ),
    "omegaconf": (
        'cfg = OmegaConf.load("conf/net.yaml")\nnet = PocketNet(cfg.net.width)\n',
        Load("conf/net.yaml", False, "PocketNet", ("net", "width")),
    ),
    "default of a parameter": (
        'def build(path: str = "configs/train.yaml"):\n    cfg = yaml.safe_load(open(path))\n'
        '    return PocketNet(cfg["model"]["width"])\n',
        Load("configs/train.yaml", False, "PocketNet", ("model", "width")),
    ),
    "toml": (
        'with open("net.toml", "rb") as file:\n    table = tomllib.load(file)\nnet = PocketNet(**table["net"])\n',
        Load("net.toml", False, "PocketNet", ("net",)),
    ),
}


def told(name: str, code: str) -> FileSummary:
    """What is told of what configures the classes of a file."""
    source = decode(name, code.encode())
    return with_takers(summarise(source), source.text, source.rows)


@pytest.mark.parametrize("name", LOADS)
def test_loads_are_facts(name: str) -> None:
    code, load = LOADS[name]
    assert told("net.py", f"{block()}\n\n{code}").loads == (load,)


def test_who_asks_for_an_activation() -> None:
    """A table that is imported asks for nothing yet."""
    lone = "\n\n" + block("Lone", "config").partition("\n\n\n")[2]
    code = f"from ..activations import ACT2FN\n{READS}{lone}"
    found = told("modeling_tiny.py", code).takers
    assert {taker.name: taker.reads for taker in found} == {"TinyMLP": "own", "Lone": "file"}
    code = f"from ..activations import ACT2FN\n{MLP}"
    assert [taker.reads for taker in told("modeling_tiny.py", code).takers] == [""]


def test_what_all_models_of_a_library_rest_on_asks_for_nothing() -> None:
    head = "from ..layers import GradientCheckpointingLayer\nfrom ..utils import TransformersKwargs, SequenceClassifierOutput\n"
    code = head + MLP + "\n\nclass TinyLayer(GradientCheckpointingLayer):\n    def __init__(self, config):\n"
    code += "        super().__init__()\n        self.mlp = TinyMLP(config)\n\n    def forward(self, x, **kwargs: TransformersKwargs):\n"
    code += "        return SequenceClassifierOutput(self.mlp(x))\n"
    found = told("modeling_tiny.py", code).takers
    assert {taker.name: taker.reads for taker in found} == {"TinyMLP": "", "TinyLayer": ""}


def test_places_of_defaults() -> None:
    text = configuration("gelu_new")
    source = decode("configuration_tiny.py", text.replace("\n", "\r\n").encode())
    told = settings_in(source.text, source.rows, "TinyConfig")
    assert told is not None and told.pretrained and told.model_type == "tiny"
    (default,) = told.defaults
    row = text.split("\n")[default.span.row - 1]
    assert row[default.span.column : default.span.end_column] == "'gelu_new'" and default.value == "gelu_new"
    assert settings_in(source.text, source.rows, "OtherConfig") is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("self.act = ACT2FN[config.hidden_act]\n", True),
        ("x = 1\n    return ACT2CLS[name]()\n", True),
        ("from ..activations import ACT2FN\n", False),
        ("# self.act = ACT2FN[config.hidden_act]\n", False),
        ('"ACT2FN[name]"\n', False),
        ("# ACT2FN[a]\nact = ACT2FN[b]\n", True),
    ],
)
def test_what_surely_asks_a_table(code: str, expected: bool) -> None:
    assert asks(code) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def __init__(self, config: TinyConfig):", True),
        ("def __init__(self, args: ModelArgs):", True),
        ("class Options: pass", True),
        ('"""Build.\n\n    Args:\n        dim: width\n    """', False),
        ("def __init__(self, dim, config):", False),
    ],
)
def test_where_a_class_of_settings_may_be_named(text: str, expected: bool) -> None:
    """Never fewer than ``is_settings`` knows."""
    assert takes_settings(text) is expected
    assert expected or not any(map(is_settings, re.findall(r"\w+", text.replace("Args:", ""))))
