"""What rules about settings say where several things meet: families from places, merge keys, Python, policies."""

from __future__ import annotations

import pytest

from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import fix
from gelu_lint.model import Project
from gelu_lint.source import from_text

CODES = ("GEL101", "GEL103", "GEL104", "GEL105", "GEL106", "GEL107")


def said(text: str, name: str = "config.json", project: Project | None = None) -> list[str]:
    found = judge(summarise(from_text(name, text)), project or Project(), CODES)
    return [f"{finding.code}:{finding.span.row}" for finding in found]


def mended(text: str, name: str = "config.json", project: Project | None = None) -> str:
    return fix(from_text(name, text), project or Project(), CODES, 0.0, True).text


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        # What is inside takes its family from what is around it, unless it says so itself.
        ('{"model_type": "paligemma", "text_config": {"hidden_activation": "gelu"}}', []),
        ('{"model_type": "gemma3", "text_config": {"hidden_activation": "gelu"}}', ["GEL105:1"]),
        ('{"model_type": "gemma3", "vision_config": {"hidden_act": "gelu"}}', ["GEL105:1"]),
        ('{"model_type": "gemma3", "vision_config": {"model_type": "vit", "hidden_act": "gelu"}}', []),
        ('{"model_type": "t5gemma", "encoder": {"hidden_activation": "gelu"}}', ["GEL105:1"]),
        ('{"model_type": "clip", "text_config_dict": {"hidden_act": "gelu"}}', ["GEL105:1"]),
        ('{"_name_or_path": "laion/x", "model_type": "clip", "text_config": {"hidden_act": "gelu"}}', []),
        ('{"model_type": "our_own", "text_config": {"hidden_activation": "gelu"}}', []),
        ('{"text_config": {"hidden_activation": "gelu", "hidden_act": "silu"}}', []),
        # A model class tells the family where no type does; code of its own makes it unknown.
        ('{"architectures": ["GPT2LMHeadModel"], "activation_function": "gelu"}', ["GEL105:1"]),
        ('{"architectures": ["GPT2LMHeadModel"], "hidden_act": "gelu_new"}', ["GEL104:1"]),
        ('{"model_type": "gpt2", "activation_function": "gelu", "auto_map": {"AutoModel": "a.B"}}', []),
        ('{"architectures": ["PocketNet"], "activation_function": "gelu"}', []),
        # Neither side is a GELU.
        ('{"model_type": "llama", "hidden_act": "swish", "activation_function": "relu"}', []),
        ('{"model_type": "opt", "hidden_act": "silu"}', []),
        # What is no GELU where the family has one.
        ('{"model_type": "gpt2", "hidden_act": "relu"}', ["GEL104:1"]),
        ('{"model_type": "gemma2", "hidden_activation": "silu"}', ["GEL105:1"]),
        ('{"model_type": "gpt2", "activation_function": "phi6simple"}', ["GEL101:1"]),
        # A table of its own.
        ('{"model_type": "openai-gpt", "afn": "gelu"}', []),
        ('{"model_type": "openai-gpt", "afn": "gelu_new"}', ["GEL101:1"]),
        ('{"model_type": "mt5", "feed_forward_proj": "gelu"}', ["GEL105:1"]),
        ('{"model_type": "udop", "feed_forward_proj": "gated-gelu"}', []),
        ('{"model_type": "t5", "feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new"}', []),
        # Gemma 1 reads one key or the other, as the release has it.
        ('{"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu"}', ["GEL103:1"]),
        ('{"model_type": "gemma", "hidden_activation": "gelu_pytorch_tanh"}', []),
        # Both keys at one place are one finding, whichever rule.
        ('{"model_type": "gemma2", "hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh"}', ["GEL103:1"]),
        ('{"model_type": "gpt2", "hidden_act": "gelu", "fp16": true}', ["GEL104:1"]),
        ('{"model_type": "gpt2", "activation_function": "gelu", "fp16": true}', ["GEL105:1"]),
        ('{"model_type": "bert", "hidden_act": "gelu", "fp16": true}', ["GEL106:1"]),
        # Values that are filled in later, null, numbers, lists.
        ('{"model_type": "gpt2", "hidden_act": null, "activation_function": null}', []),
        ('{"model_type": "gpt2", "hidden_act": ["gelu"], "activation_function": 1}', []),
    ],
)
def test_json(text: str, codes: list[str]) -> None:
    assert said(text) == codes


@pytest.mark.parametrize(
    ("switch", "counts"),
    [
        ("fp16: true", True),
        ("fp16:\n  enabled: true", True),
        ("fp16:\n  enabled: auto", False),
        ("mixed_precision: fp16", True),
        ("mixed_precision: 'no'", False),
        ("precision: 16", True),
        ("precision: '16-true'", True),
        ("precision: bf16-mixed", False),
        ("precision: 32", False),
        ("bf16: true", False),
        ("torch_dtype: float16", False),
        ("fp16: 1.5", False),
        ("enabled: true", False),
    ],
)
def test_switches(switch: str, counts: bool) -> None:
    assert said(f"hidden_act: gelu\n{switch}\n", "train.yaml") == (["GEL106:1"] if counts else [])


def test_a_switch_counts_in_all_documents_of_its_file() -> None:
    assert said("hidden_act: gelu\n---\nfp16: true\n", "train.yaml") == ["GEL106:1"]


def test_merged_pairs_are_judged_where_they_stand_and_not_changed_there() -> None:
    text = "base: &base\n  hidden_activation: gelu\nmodel:\n  <<: *base\n  model_type: gemma2\n"
    assert said(text, "a.yaml") == ["GEL105:2"]
    assert mended(text, "a.yaml") == text


def test_an_alias_is_replaced_where_it_is_used() -> None:
    text = "act: &act gelu\nmodel:\n  hidden_activation: *act # same\n  model_type: gemma2\n"
    assert said(text, "a.yaml") == ["GEL105:3"]
    assert mended(text, "a.yaml") == text.replace("*act", "gelu_pytorch_tanh")


def test_folded_and_tagged_values_keep_their_form() -> None:
    text = "model_type: gemma2\nhidden_activation: !!str 'gelu'\n"
    assert mended(text, "a.yaml") == text.replace("'gelu'", "'gelu_pytorch_tanh'")
    text = "model_type: gemma2\nhidden_activation: >-\n  gelu\n"
    assert said(text, "a.yaml") == ["GEL105:2"]
    assert mended(text, "a.yaml") == text


@pytest.mark.parametrize(
    ("policy", "text", "left"),
    [
        ("erf", '{"model_type": "gemma2", "hidden_activation": "gelu"}', True),
        ("tanh", '{"model_type": "gemma2", "hidden_activation": "gelu"}', False),
        ("erf", '{"hidden_act": "gelu", "fp16": true}', True),
        ("erf", '{"model_type": "bert", "activation_function": "gelu_new"}', True),
    ],
)
def test_a_policy_goes_first(policy: str, text: str, left: bool) -> None:
    project = Project(policy=policy)
    assert said(text, project=project)
    assert (mended(text, project=project) == text) is left


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"model_type": "bert", "hidden_act": "gelu_tanh"}', "gelu_pytorch_tanh"),
        ('{"model_type": "bert", "hidden_act": "gelu-new"}', "gelu_pytorch_tanh"),
        ('{"model_type": "bert", "hidden_act": "GELU"}', "gelu"),
        ('{"model_type": "bert", "hidden_act": "nn.GELU"}', "gelu"),
        ('{"model_type": "bert", "hidden_act": "gelu_erf"}', "gelu"),
        ('{"model_type": "bert", "hidden_act": "QuickGELU"}', "quick_gelu"),
        ('{"model_type": "gpt2", "activation_function": "GELU"}', "gelu_pytorch_tanh"),
        ('{"model_type": "bert", "hidden_act": "gelu_approx"}', ""),
        ('{"model_type": "bert", "hidden_act": "geglu"}', ""),
        ('{"model_type": "gpt2", "activation_function": "gelu_erf"}', ""),
        ('{"model_type": "bert", "hidden_act": "GELU", "fp16": true}', ""),
    ],
)
def test_what_is_written_for_an_unknown_name(text: str, wanted: str) -> None:
    assert said(text) == ["GEL101:1"]
    after = mended(text)
    assert said(after) == ([] if wanted else ["GEL101:1"])
    assert (f'"{wanted}"' in after) if wanted else after == text


PYTHON = "from transformers import {0}\n\n\ndef build():\n    return {0}(\n        vocab_size=9,\n        {1},\n    )\n"


@pytest.mark.parametrize(
    ("kind", "arguments", "codes"),
    [
        ("GPT2Config", 'activation_function="gelu"', ["GEL105:7"]),
        ("GPT2Config", 'activation_function="gelu_new"', []),
        ("GPT2Config", 'hidden_act="gelu_new"', ["GEL104:7"]),
        ("BartConfig", 'hidden_act="gelu_new"', ["GEL104:7"]),
        ("Gemma2Config", 'hidden_act="gelu", hidden_activation="gelu_pytorch_tanh"', ["GEL103:7"]),
        ("BertConfig", 'hidden_act="gelu_tanh"', ["GEL101:7"]),
        ("T5Config", 'feed_forward_proj="gated-gelu"', []),
        ("Gemma3Config", 'text_config={"hidden_activation": "gelu"}', ["GEL105:7"]),
        ("CLIPConfig", 'text_config=dict(hidden_act="quick_gelu")', []),
        ("AutoConfig", 'hidden_act="gelu"', []),
        ("GPT2Config", 'encoder=GPT2Config(activation_function="gelu")', ["GEL105:7"]),
    ],
)
def test_python(kind: str, arguments: str, codes: list[str]) -> None:
    assert said(PYTHON.format(kind, arguments), "model.py") == codes


def test_python_of_a_class_of_the_same_name_is_not_judged() -> None:
    text = PYTHON.replace("transformers", ".configuration").format("GPT2Config", 'activation_function="gelu"')
    assert said(text, "model.py") == []


def test_python_fixes_touch_the_value_or_the_key_only() -> None:
    text = PYTHON.format("DistilBertConfig", "hidden_act='gelu_new'  # as before")
    assert mended(text, "model.py") == text.replace("hidden_act=", "activation=")
    text = PYTHON.format("GemmaConfig", "hidden_act='gelu'")
    wanted = "hidden_act='gelu_pytorch_tanh', hidden_activation='gelu_pytorch_tanh'"
    assert mended(text, "model.py") == text.replace("hidden_act='gelu'", wanted)


def test_tests_may_name_what_they_like() -> None:
    text = PYTHON.format("GPT2Config", 'activation_function="gelu"')
    assert said(text, "tests/test_model.py") == []


def test_a_target_may_be_given_its_arguments_in_other_ways() -> None:
    assert said("_target_: torch.nn.GELU\n_args_: [tanh]\n", "a.yaml") == []
    assert said("target: torch.nn.GELU\nparams:\n  approximate: tanh\n", "a.yaml") == []
    assert said("target: torch.nn.GELU\n", "a.yaml") == ["GEL107:1"]
    assert said("_target_: timm.layers.GELU\n", "a.yaml") == []
    assert (
        mended("a: {_target_: torch.nn.GELU}  # x\n", "a.yaml")
        == "a: {_target_: torch.nn.GELU, approximate: none}  # x\n"
    )
    assert mended("_target_: jax.nn.gelu", "a.yaml") == "_target_: jax.nn.gelu\napproximate: true"
    old = Project(declared=(("torch", (1, 8), None, True),))
    assert said("_target_: torch.nn.GELU\n", "a.yaml", old) == ["GEL107:1"]
    assert mended("_target_: torch.nn.GELU\n", "a.yaml", old) == "_target_: torch.nn.GELU\n"


def test_gemma_1_says_which_releases_compute_erf() -> None:
    (found,) = judge(summarise(from_text("a.json", '{"model_type": "gemma", "hidden_act": "gelu"}')), Project(), CODES)
    assert "4.38 and 4.48 to 5.17 compute erf" in found.message


def test_a_target_that_is_told_erf_is_judged_like_a_name() -> None:
    text = "act:\n  _target_: torch.nn.GELU\n  approximate: none\nprecision: 16-mixed\n"
    assert said(text, "a.yaml") == ["GEL106:3"]
    assert mended(text, "a.yaml") == text.replace("none", "tanh")
    assert said(text.replace("torch.nn.GELU", "lab.Norm"), "a.yaml") == []


def test_in_python_a_switch_counts_in_its_own_dict_or_call() -> None:
    text = 'A = {"activation": "gelu", "fp16": True}\nB = {"activation": "gelu", "fp16": False}\n'
    assert said(text, "model.py") == ["GEL106:1"]


def test_defaults_of_functions_of_keras_are_not_judged() -> None:
    text = (
        "import keras\n\n\ndef convert(model, activation='gelu/app'):\n    return keras.activations.get(activation)\n"
        "\n\nlayer = keras.layers.Dense(4, activation='gelu_new')\n"
    )
    assert said(text, "model.py") == ["GEL101:8"]
    assert mended(text, "model.py") == text
