"""Tables of activations and families, held to the libraries that are installed: transformers and torch are run.

What tests/model_types.py reads in the source of transformers is compared with the committed table, and the table with
what configuration classes do when they are made.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from model_types import TARGET, module, read

from gelu_lint.facts import families
from gelu_lint.facts.activations import REGISTRIES
from gelu_lint.facts.model_types import TABLE, VERSION

X = torch.linspace(-12, 12, 2401, dtype=torch.float64)
TRUTH = {
    "erf": 0.5 * X * torch.special.erfc(-X / math.sqrt(2)),
    "tanh": 0.5 * X * (1 + torch.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))),
    "quick": X * torch.sigmoid(1.702 * X),
    "silu": X * torch.sigmoid(X),
    "relu": torch.clamp(X, min=0),
}
transformers = pytest.importorskip("transformers")
ROOT = Path(importlib.util.find_spec("transformers").origin).parent
SAME = pytest.mark.skipif(transformers.__version__ != VERSION, reason=f"the table is of transformers {VERSION}")


def flavour_of(function: object) -> str:
    """Which flavour a function is, "" for none of them: told from its values alone."""
    y = function(X)
    fits = [name for name, values in TRUTH.items() if (y - values).abs().max() < 1e-6]
    return fits[0] if fits else ""


@SAME
def test_transformers_looks_names_up_as_the_table_says() -> None:
    from transformers.activations import ACT2FN

    registry = REGISTRIES["transformers"]
    assert set(registry.names) == set(ACT2FN)
    for name, flavour in registry.names.items():
        if name != "xielu":  # it wants a compiled kernel, and is trained
            assert flavour_of(ACT2FN[name].double()) == flavour, name
    for name in ("gelu_tanh", "GELU", "geglu"):
        assert registry.flavour(name) is None
        with pytest.raises(KeyError):
            ACT2FN[name]


@SAME
def test_t5_and_openai_have_readings_of_their_own() -> None:
    from transformers import T5Config
    from transformers.activations import ACT2FN
    from transformers.models.openai.modeling_openai import ACT_FNS

    openai = REGISTRIES["transformers_openai"].names
    assert set(openai) == set(ACT_FNS)
    assert {name: flavour_of(ACT_FNS[name]) for name in openai} == openai
    for name, flavour in REGISTRIES["transformers_t5"].names.items():
        config = T5Config(feed_forward_proj=name)
        assert config.is_gated_act == name.startswith("gated-")
        if not name.endswith("xielu"):
            assert flavour_of(ACT2FN[config.dense_act_fn].double()) == flavour, name


def test_torch_layers_know_two_names() -> None:
    layer = torch.nn.TransformerEncoderLayer
    for name, flavour in REGISTRIES["torch_encoder"].names.items():
        assert flavour_of(layer(8, 1, activation=name).activation) == flavour
    for name in ("gelu_new", "silu", "GELU", "tanh"):
        with pytest.raises(RuntimeError):
            layer(8, 1, activation=name)


def test_keras_and_timm_where_they_are_installed() -> None:
    found = [name for name in ("keras", "timm") if importlib.util.find_spec(name) is not None]
    if not found:
        pytest.skip("neither is installed")
    if "keras" in found:
        import keras

        for name, flavour in REGISTRIES["keras"].names.items():
            act = keras.activations.get(name)
            if flavour:
                assert abs(float(act(keras.ops.convert_to_tensor([2.0]))[0]) - TRUTH[flavour][1400].item()) < 1e-5
    if "timm" in found:
        from timm.layers import get_act_layer

        for name, flavour in REGISTRIES["timm"].names.items():
            if flavour:
                assert flavour_of(get_act_layer(name)()) == flavour


def test_what_is_written_for_a_flavour_is_that_flavour() -> None:
    for registry in REGISTRIES.values():
        for flavour, name in registry.writes.items():
            assert registry.flavour(name) == flavour
        assert set(registry.names.values()) <= {"erf", "tanh", "quick", "silu", "relu", ""}
        assert registry.source
        assert not registry.lower or all(name == name.lower() for name in registry.names)


@SAME
def test_the_table_is_what_the_installed_source_says() -> None:
    """Run tests/model_types.py with --write where a release has changed it."""
    version, rows = read(ROOT)
    assert version == VERSION
    assert len(rows) > 700
    assert module(version, rows) == TARGET.read_text(encoding="utf-8")


def classes() -> list[families.Family]:
    return [families.by_class(row.partition(";")[0]) for row in TABLE.replace("\n ", "").splitlines()]


@SAME
def test_configurations_have_the_keys_and_defaults_of_the_table() -> None:
    """Of every class that the package exports: a key with a default is an attribute with that value."""
    seen = 0
    for family in classes():
        kind = getattr(transformers, family.name, None)
        if kind is None or not any(family.keys.values()):
            continue
        try:
            config = kind()
        except (ImportError, ValueError, TypeError):
            continue  # it needs another package, or arguments
        for key, default in family.keys.items():
            if default:
                assert getattr(config, key) == default, (family.name, key)
                seen += 1
    assert seen > 500


#: One of each shape: own key, aliased key, parts, no key of its own.
SAMPLE = (
    *("BertConfig", "GPT2Config", "DistilBertConfig", "BartConfig", "AlbertConfig", "GemmaConfig", "Gemma2Config"),
    *("Gemma3TextConfig", "SiglipVisionConfig", "CLIPTextConfig", "ModernBertConfig", "OpenAIGPTConfig", "XLNetConfig"),
    *("WhisperConfig", "Starcoder2Config", "GPTNeoXConfig", "FalconConfig", "ViTConfig", "T5Config", "PhiConfig"),
)


@SAME
@pytest.mark.parametrize("name", SAMPLE)
def test_a_key_that_is_read_counts_and_one_that_is_not_does_not(name: str) -> None:
    family, kind = families.by_class(name), getattr(transformers, name)
    assert kind.model_type == family.model_types[0] and families.by_type(kind.model_type) is family
    value = "gated-silu" if family.main == "feed_forward_proj" else "silu"
    assert getattr(kind(**{family.main: value}), family.main) == value
    for key in ("hidden_act", "hidden_activation", "activation_function"):
        if not family.reads(key):
            assert getattr(kind(**{key: "relu"}), family.main) == family.keys[family.main]


@SAME
def test_parts_of_composite_models_are_of_the_classes_of_the_table() -> None:
    seen = 0
    for name in (
        "Gemma3Config",
        "CLIPConfig",
        "SiglipConfig",
        "LlavaConfig",
        "PaliGemmaConfig",
        "Blip2Config",
        "T5GemmaConfig",
    ):
        config = getattr(transformers, name)()
        for key, sub in families.by_class(name).subs.items():
            assert type(getattr(config, key)).__name__ == sub, (name, key)
            seen += 1
    assert seen >= 12


@SAME
def test_model_types_are_those_of_auto_config() -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    for family in classes():
        for kind in family.model_types:
            assert CONFIG_MAPPING_NAMES.get(kind, family.name) == family.name, kind


def test_weights_are_of_families_whose_default_agrees() -> None:
    """What GEL105 asks for is what the class itself says, so its fix can write that."""
    judged = [family for family in classes() if family.weights is not None]
    assert len(judged) > 50
    for family in judged:
        assert family.main and family.default(family.main) == family.weights.flavour, family.name


@pytest.mark.parametrize(
    ("name", "family"),
    [("BertForMaskedLM", "BertConfig"), ("GPT2LMHeadModel", "GPT2Config"), ("CLIPTextModel", "CLIPTextConfig")],
)
def test_a_model_class_tells_its_family(name: str, family: str) -> None:
    assert families.by_architecture(name).name == family
    assert families.by_architecture("PocketNet") is None and families.by_architecture("MyBertForMaskedLM") is None


@SAME
def test_gelu_functions_of_torch_are_what_the_truth_here_says() -> None:
    assert flavour_of(F.gelu) == "erf"
    assert flavour_of(lambda x: F.gelu(x, approximate="tanh")) == "tanh"
