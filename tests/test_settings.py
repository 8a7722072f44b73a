"""Settings in Python: which strings become entries, what they are said to belong to, and that transformers agrees."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from gelu_lint.engine import summarise
from gelu_lint.facts.activation_names import NAMES, unheard
from gelu_lint.facts.settings import ACTIVATION_KEYS, tables
from gelu_lint.model import Entry
from gelu_lint.screen import passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import decode


def entries(text: str) -> list[Entry]:
    """The entries of a text, seen in part and in all of it alike."""
    source = decode("model.py", text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gelu_lint.engine.skeleton", functools.partial(skeleton, small=0))
        part = summarise(source).entries if passes(text.encode()) else ()
    whole = summarise(source, complete=True).entries
    assert part == whole
    rows = text.split("\n")
    for entry in whole:
        row, start, end_row, end = entry.span
        if entry.literal and isinstance(entry.value, str) and row == end_row:
            assert rows[row - 1][start:end] == f"{entry.quote}{entry.value}{entry.quote}"
    return [*whole]


def told(text: str) -> list[tuple[object, ...]]:
    return [(e.form, e.key, e.path, e.value, e.registry, e.model_type, e.owner) for e in entries(text)]


PRETRAINED = "from transformers import PretrainedConfig\n"

ONE: dict[str, tuple[str, tuple[object, ...]]] = {
    "a default of a configuration": (
        PRETRAINED + "class TinyConfig(PretrainedConfig):\n    model_type = 'tiny'\n"
        "    def __init__(self, size: int = 64, hidden_act: str = 'gelu-new', **more):\n"
        "        super().__init__(**more)\n        self.hidden_act = hidden_act\n",
        ("default", "hidden_act", (), "gelu-new", "transformers", "tiny", "TinyConfig"),
    ),
    "a field of a configuration": (
        "from huggingface_hub.dataclasses import strict\nfrom transformers import PreTrainedConfig\n"
        "@strict\nclass TinyConfig(PreTrainedConfig):\n    model_type = 'tiny'\n    size: int = 64\n"
        "    hidden_act: str = 'gelu_tanh'\n",
        ("field", "hidden_act", (), "gelu_tanh", "transformers", "tiny", "TinyConfig"),
    ),
    "a field without an annotation": (
        PRETRAINED + "class C(PretrainedConfig):\n    hidden_act = 'GELU'\n",
        ("field", "hidden_act", (), "GELU", "transformers", "", "C"),
    ),
    "what a constructor sets": (
        PRETRAINED + "class C(PretrainedConfig):\n    def __init__(self, **more):\n"
        "        self.hidden_act = 'gelu_tanh'\n        super().__init__(**more)\n",
        ("field", "hidden_act", (), "gelu_tanh", "transformers", "", "C"),
    ),
    "a configuration of a configuration": (
        PRETRAINED
        + "class A(PretrainedConfig):\n    def __init__(self, **more):\n        super().__init__(**more)\n\n\n"
        "class B(A):\n    model_type = 'b'\n    def __init__(self, act='gelu_tanh', **more):\n"
        "        super().__init__(**more)\n",
        ("default", "act", (), "gelu_tanh", "transformers", "b", "B"),
    ),
    "another library's configuration": (
        "from ..configuration_utils import PretrainedConfig\nclass C(PretrainedConfig):\n"
        "    hidden_act: str = 'gelu_tanh'\n",
        ("field", "hidden_act", (), "gelu_tanh", "", "", "C"),
    ),
    "a call": (
        "from transformers import GPT2Config\nc = GPT2Config(n_layer=2, activation_function='gelu')\n",
        ("keyword", "activation_function", (), "gelu", "transformers", "", "GPT2Config"),
    ),
    "a call by the full name": (
        "import transformers as hf\nc = hf.BartConfig(\n    hidden_act='gelu_new',\n)\n",
        ("keyword", "hidden_act", (), "gelu_new", "transformers", "", "BartConfig"),
    ),
    "a family by its name": (
        "from transformers import AutoConfig\nc = AutoConfig.for_model('bert', hidden_act='gelu_new')\n",
        ("keyword", "hidden_act", (), "gelu_new", "transformers", "bert", "AutoConfig"),
    ),
    "a model that is loaded": (
        "from transformers import BertModel\nm = BertModel.from_pretrained(name, hidden_act='gelu_fast')\n",
        ("keyword", "hidden_act", (), "gelu_fast", "transformers", "", "BertModel"),
    ),
    "a configuration that is changed": (
        "from transformers import AutoConfig\nc = AutoConfig.from_pretrained(name)\nc.hidden_act = 'gelu_tanh'\n",
        ("field", "hidden_act", (), "gelu_tanh", "transformers", "", "AutoConfig"),
    ),
    "part of a call": (
        "from transformers import Gemma3Config\nc = Gemma3Config(text_config=dict(hidden_activation='gelu'))\n",
        ("item", "hidden_activation", ("text_config",), "gelu", "transformers", "", "Gemma3Config"),
    ),
    "a call in a call": (
        "from transformers import LlavaConfig, CLIPVisionConfig\n"
        "c = LlavaConfig(vision_config=CLIPVisionConfig(hidden_act='gelu'))\n",
        ("keyword", "hidden_act", ("vision_config",), "gelu", "transformers", "", "CLIPVisionConfig"),
    ),
    "stars": (
        "from transformers import GPT2Config\nc = GPT2Config(**{'activation_function': 'gelu'})\n",
        ("item", "activation_function", (), "gelu", "transformers", "", "GPT2Config"),
    ),
    "a look-up": (
        "from transformers.activations import ACT2FN\nact = ACT2FN['gelu_tanh']\n",
        ("lookup", "ACT2FN", (), "gelu_tanh", "transformers", "", ""),
    ),
    "a function that looks up": (
        "from transformers import activations\nact = activations.get_activation('gelu_tanh')\n",
        ("lookup", "get_activation", (), "gelu_tanh", "transformers", "", ""),
    ),
    "timm's function": (
        "from timm.layers import create_act_layer\nact = create_act_layer('gelu_new', inplace=True)\n",
        ("lookup", "create_act_layer", (), "gelu_new", "timm", "", ""),
    ),
    "a layer of torch": (
        "from torch import nn\nx = nn.TransformerEncoderLayer(64, 8, activation='gelu_tanh')\n",
        ("keyword", "activation", (), "gelu_tanh", "torch_encoder", "", "TransformerEncoderLayer"),
    ),
    "a layer of torch by position": (
        "from torch import nn\nx = nn.TransformerDecoderLayer(64, 8, 256, 0.1, 'gelu_new')\n",
        ("keyword", "activation", (), "gelu_new", "torch_encoder", "", "TransformerDecoderLayer"),
    ),
    "a layer of Keras": (
        "from tensorflow import keras\nx = keras.layers.Dense(64, activation='gelu_new')\n",
        ("keyword", "activation", (), "gelu_new", "keras", "", "Dense"),
    ),
    "a model of timm": (
        "import timm\nm = timm.create_model('vit', act_layer='gelu_new')\n",
        ("keyword", "act_layer", (), "gelu_new", "timm", "", "create_model"),
    ),
    "an option": (
        "parser.add_argument('-a', '--hidden-act', type=str, default='gelu_tanh')\n",
        ("option", "hidden_act", (), "gelu_tanh", "", "", ""),
    ),
    "an option that is looked up": (
        "from transformers.activations import ACT2FN\nparser.add_argument('--act', default='gelu_tanh')\n"
        "def f(args):\n    return ACT2FN[args.act]\n",
        ("option", "act", (), "gelu_tanh", "transformers", "", ""),
    ),
    "an option that configures": (
        "from transformers import BertConfig\np.add_argument('--act', default='gelu_tanh')\n"
        "def f(args):\n    return BertConfig(hidden_act=args.act)\n",
        ("option", "act", (), "gelu_tanh", "transformers", "", ""),
    ),
    "a default that is looked up": (
        "from transformers.activations import ACT2FN\n\n\ndef make(act='gelu_tanh'):\n    return ACT2FN[act]\n",
        ("default", "act", (), "gelu_tanh", "transformers", "", ""),
    ),
    "a field that is looked up": (
        "from dataclasses import dataclass, field\nfrom transformers.activations import ACT2FN\n\n\n@dataclass\n"
        "class Tower:\n    width: int = 64\n    hidden_act: str = field(default='gelu_tanh')\n\n\n"
        "class M:\n    def __init__(self, cfg):\n        self.fc, self.act = 1, ACT2FN[cfg.hidden_act]\n",
        ("field", "hidden_act", (), "gelu_tanh", "transformers", "", "Tower"),
    ),
    "a field that two tables look up": (
        "from transformers.activations import ACT2FN\nfrom .act import get_activation\n\n\nclass Tower:\n"
        "    act: str = 'gelu_tanh'\n\n\ndef f(cfg):\n    return ACT2FN[cfg.act], get_activation(cfg.act)\n",
        ("field", "act", (), "gelu_tanh", "", "", "Tower"),
    ),
}


@pytest.mark.parametrize("case", ONE)
def test_one_setting(case: str) -> None:
    text, expected = ONE[case]
    assert told(text) == [expected]


def test_several_settings_of_one_call_are_one_group() -> None:
    text = (
        "from transformers import Gemma2Config\nc = Gemma2Config(\n    num_hidden_layers=2,\n    hidden_act='silu',\n"
        "    hidden_activation='gelu_pytorch_tanh',\n)\nd = Gemma2Config(hidden_act='gelu')\n"
    )
    found = entries(text)
    assert [(e.key, e.value, e.group, e.span.row) for e in found] == [
        ("hidden_act", "silu", 1, 4),
        ("hidden_activation", "gelu_pytorch_tanh", 1, 5),
        ("hidden_act", "gelu", 2, 7),
    ]
    assert found[0].statement == found[1].statement == (2, 6)


def test_dicts_beside_half_precision() -> None:
    text = (
        "CONFIG = {\n    'model': {'hidden_act': 'gelu', 'width': 384},\n"
        "    'accelerate': {'mixed_precision': 'fp16', 'steps': 2},\n    'runs': [{'fp16': True}],\n}\n"
    )
    assert told(text) == [
        ("item", "hidden_act", ("model",), "gelu", "", "", ""),
        ("item", "mixed_precision", ("accelerate",), "fp16", "", "", ""),
        ("item", "fp16", ("runs", "0"), True, "", "", ""),
    ]
    assert all(entry.flow for entry in entries(text))
    assert len({entry.group for entry in entries(text)}) == 3


def test_a_dict_says_its_family() -> None:
    text = "C = {'model_type': 'gpt2', 'activation_function': 'gelu', 'architectures': ['GPT2LMHeadModel']}\n"
    assert [(e.key, e.model_type, e.owner) for e in entries(text)] == [
        ("model_type", "gpt2", "GPT2LMHeadModel"),
        ("activation_function", "gpt2", "GPT2LMHeadModel"),
        ("architectures", "gpt2", "GPT2LMHeadModel"),
    ]


def test_a_name_is_looked_up_in_its_own_function() -> None:
    text = (
        "from tensorflow.keras import layers\n\n\n"
        "def convert(model, target_activation='gelu/app'):\n    return model\n\n\n"
        "def replace(model, target_activation='PReLU'):\n    return layers.Activation(target_activation)\n"
    )
    assert [entry.registry for entry in entries(text)] == [""]


def test_what_is_registered_is_seen_in_part_and_in_all() -> None:
    head = "from transformers import BertConfig\nfrom transformers.activations import ACT2FN\nx = 1\n\n\n"
    tail = "\n\ndef f():\n    y = 2\n    return BertConfig(hidden_act='gelu_tanh')\n"
    assert [entry.value for entry in entries(f"{head}def g(names):\n    z = 3\n{tail}")] == ["gelu_tanh"]
    for store in ("ACT2FN['gelu_tanh'] = names", "ACT2FN.update(names)", "ACT2FN[names] = 1", "ACT2FN |= names"):
        assert entries(f"{head}def g(names):\n    z = 3\n    {store}\n{tail}") == []


SILENT = {
    "a key of something else": "from transformers import AutoConfig\n"
    "c = AutoConfig.from_pretrained(name, projector_type='downsample_mlp_gelu')\n",
    "a default that every table knows": PRETRAINED + "class C(PretrainedConfig):\n    model_type = 'c'\n"
    "    hidden_act: str = 'gelu'\n    def __init__(self, act='gelu_new'):\n        pass\n",
    "a dict of its own": "OPTIONS = {'hidden_act': 'gelu', 'width': 64}\n",
    "a comment": "x = 1  # hidden_act='gelu_tanh'\n",
    "another activation": "from transformers import GPT2Config\nc = GPT2Config(activation_function='relu')\n",
    "a call of something else": "m = build(hidden_act='gelu')\n",
    "diffusers' own names": "x = Block(activation_fn='gelu-approximate')\ny = Block(activation_fn='geglu')\n",
    "a path": "x = load(act='models/gelu-tanh/x.bin')\n",
}


@pytest.mark.parametrize("case", SILENT)
def test_what_can_give_no_finding_is_no_entry(case: str) -> None:
    assert told(SILENT[case]) == []
    assert case == "a key of something else" or not passes(SILENT[case].encode())


def test_text_is_no_setting() -> None:
    assert (
        told("def f():\n    '''\n    hidden_act='gelu_tanh',\n    '''\n    return '''\n    act='gelu-new',\n    '''\n")
        == []
    )


def test_known_names_count_in_a_file_with_a_gelu() -> None:
    text = SILENT["a default that every table knows"] + "import torch\ny = torch.nn.functional.gelu(x)\n"
    assert [(e.form, e.value) for e in entries(text)] == [("field", "gelu"), ("default", "gelu_new")]


# What transformers says


def made(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(text, space)
    return space


@pytest.mark.parametrize(
    "case", ["a default of a configuration", "a field of a configuration", "what a constructor sets"]
)
def test_a_configuration_has_the_value_and_the_family_of_its_entry(case: str) -> None:
    text, (_, key, _, value, _, family, owner) = ONE[case]
    config = made(text)[str(owner)]()
    assert getattr(config, str(key)) == value
    assert config.model_type == family


@pytest.mark.parametrize(
    "case", ["a call", "a call by the full name", "a family by its name", "stars", "part of a call"]
)
def test_a_call_gives_its_configuration_the_value_of_its_entry(case: str) -> None:
    text, (_, key, path, value, *_) = ONE[case]
    config = made(text)["c"]
    for name in path:  # type: ignore[attr-defined]
        config = getattr(config, name)
    assert getattr(config, str(key)) == value


def test_names_that_are_unheard_of_are_those_that_transformers_lacks() -> None:
    from transformers.activations import ACT2FN, get_activation

    known = {name for name in ACT2FN if "gelu" in name}
    assert not any(unheard("hidden_act", name) for name in known)
    assert {*NAMES} <= known
    for name in ("gelu_tanh", "gelu-new", "GELU", "gelu_approx", "gelu_erf", "geglu", "newgelu", "gated-gelu"):
        assert unheard("hidden_act", name)
        with pytest.raises(KeyError):
            get_activation(name)


def test_gated_names_are_t5s() -> None:
    from transformers import T5Config

    for name in ("gated-gelu", "gated-gelu_new"):
        T5Config(feed_forward_proj=name)
        assert not unheard("feed_forward_proj", name)


def test_tables_are_there() -> None:
    import importlib

    for last, full in tables().items():
        for name, registry in full.items():
            module = name.rpartition(".")[0]
            if registry in ("transformers", "torch_encoder"):
                assert hasattr(importlib.import_module(module), last), name


def test_keys_of_activations_are_read_by_the_screen() -> None:
    for key in sorted(ACTIVATION_KEYS - {"nonlinearity"}):
        text = f"from transformers import BertConfig\nc = BertConfig({key}='gelu_tanh', x=1)\n"
        assert passes(text.encode()), key
        assert not passes(f"def f({key}='gelu', x=1):\n    pass\n".encode()), key
