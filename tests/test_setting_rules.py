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


RUN = "{model_type: bert, hidden_act: gelu%s}"
#: Settings, and the switch that each finding says to count: the nearest, never that of another run.
NEAREST = {
    "another document": ("hidden_act: gelu\n---\nfp16: true\n", []),
    "an earlier document": (f"fp16: true\n---\nmodel: {RUN % ''}\n", []),
    "its own document": (f"a: 1\n---\nfp16: true\nmodel: {RUN % ''}\n", ["fp16"]),
    "another item": (f"runs:\n- {RUN % ', fp16: true'}\n- {RUN % ''}\n", ["runs[0].fp16"]),
    "another item of the root": (f"- {RUN % ', fp16: false'}\n- {RUN % ', fp16: true'}\n", ["[1].fp16"]),
    "around an item": (f"fp16: true\nruns:\n- {RUN % ''}\n- {RUN % ', bf16: true'}\n", ["fp16"]),
    "off nearer": (f"fp16: true\nmodel: {RUN % ', fp16: false'}\n", []),
    "off around": (f"fp16: false\nmodel: {RUN % ''}\ntrainer: {{fp16: true}}\n", []),
    "on nearer": (f"precision: 32\nmodel: {RUN % ', fp16: true'}\n", ["model.fp16"]),
    "both beside": (f"fp16: true\nbf16: true\nmodel: {RUN % ''}\n", []),
    "bf16 by precision": (f"fp16: true\nmixed_precision: bf16\nmodel: {RUN % ''}\n", []),
    "bf16 is off": (f"fp16: {{enabled: true}}\nbf16: {{enabled: false}}\nmodel: {RUN % ''}\n", ["fp16.enabled"]),
    "evaluation is not": (f"fp16: true\nfp16_full_eval: false\nmodel: {RUN % ''}\n", ["fp16"]),
    "beside, deeply": (f"a:\n  model: {RUN % ''}\n  accelerate: {{plugin: {{mixed_precision: fp16}}}}\n",
                       ["a.accelerate.plugin.mixed_precision"]),
    "beside, but another model": (f"teacher: {{fp16: true}}\nstudent: {RUN % ''}\n", []),
    "beside, in disagreement": (f"m: {RUN % ''}\npretraining: {{fp16: true}}\ntraining: {{bf16: true}}\n", []),
    "a key that is not looked up": ("fp16: true\nactivation: gelu\nact: gelu\nact_layer: gelu\nact_fn: gelu\n", []),
    "a family's own key": ("fp16: true\nmodel_type: distilbert\nactivation: gelu\n", ["fp16"]),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAREST)
def test_the_nearest_switch_decides(case: str) -> None:
    text, switches = NEAREST[case]
    found = judge(summarise(from_text("train.yaml", text)), Project(), ("GEL106",))
    assert [finding.message.partition("GELU and ")[2].partition(":")[0] for finding in found] == switches


STORES = (
    'ACT2FN["gelu_x"] = nn.GELU("tanh")',
    'ACT2CLS["gelu_x"] = nn.GELU',
    'ACT2FN["a"], ACT2FN["gelu_x"] = a, b',
    'ACT2FN.update({"gelu_x": nn.GELU("tanh")})',
    "ACT2FN.update(gelu_x=nn.GELU)",
    "ACT2FN.update(dict(gelu_x=nn.GELU))",
    "ACT2FN.update(OURS)",
    "ACT2FN.update(**OURS)",
    'ACT2FN |= {"gelu_x": nn.GELU}',
    'ACT2FN.setdefault("gelu_x", nn.GELU)',
    "for name in OURS:\n    ACT2FN[name] = OURS[name]",
)
USES = 'a = ACT2FN["gelu_x"]\nb = get_activation("gelu_x")\nc = BertConfig(hidden_act="gelu_x")\n\n\n' + (
    'class TinyConfig(BertConfig):\n    def __init__(self, hidden_act="gelu_x"):\n        pass\n'
)
TABLES = (
    "from torch import nn\nfrom transformers import BertConfig\n"
    "from transformers.activations import ACT2CLS, ACT2FN, get_activation\n\n"
)


@pytest.mark.parametrize("store", STORES)
def test_a_name_that_a_file_registers_is_known_there(store: str) -> None:
    assert len(said(TABLES + USES, "act.py")) == 4
    assert said(f"{TABLES}{store}\n{USES}", "act.py") == []
    text = TABLES + store.replace("gelu_x", "gelu_tanh") + "\n"
    assert mended(text, "act.py") == text
    if "OURS" not in store and "|=" not in store:
        assert said(f"{TABLES}{store}\nz = ACT2FN['gelu_y']\n", "act.py") == [f"GEL101:{6 + store.count(chr(10))}"]


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ('if "gelu_x" in ACT2FN:\n    a = ACT2FN["gelu_x"]\n', True),
        ('if "gelu_x" not in ACT2FN:\n    raise ImportError\na = ACT2FN["gelu_x"]\n', True),
        ('a = ACT2FN["gelu_x"] if "gelu_x" in ACT2FN.keys() else ACT2FN["gelu"]\n', True),
        ('if "gelu_y" in ACT2FN:\n    a = ACT2FN["gelu_x"]\n', False),
        ('if "gelu_x" in others:\n    a = ACT2FN["gelu_x"]\n', False),
        ('try:\n    a = ACT2FN["gelu_x"]\nexcept KeyError:\n    a = None\n', True),
        ('try:\n    a = ACT2FN["gelu_x"]\nexcept (OSError, KeyError):\n    a = None\n', True),
        ('try:\n    a = ACT2FN["gelu_x"]\nexcept:\n    a = None\n', True),
        ('try:\n    a = ACT2FN["gelu_x"]\nexcept ImportError:\n    a = None\n', False),
        ('try:\n    a = 1\nexcept KeyError:\n    a = ACT2FN["gelu_x"]\n', False),
        ('try:\n    def f():\n        return ACT2FN["gelu_x"]\nexcept KeyError:\n    pass\n', False),
    ],
)
def test_a_look_up_that_is_guarded_is_not_judged(text: str, silent: bool) -> None:
    assert (said(TABLES + text, "act.py") == []) is silent


def test_a_target_that_trains_in_fp16_is_not_told_erf() -> None:
    text = "fp16: true\nact: {_target_: torch.nn.GELU}\n"
    assert said(text, "a.yaml") == ["GEL107:2"]
    assert mended(text, "a.yaml") == text
    tanh = mended(text, "a.yaml", Project(policy="tanh"))
    assert tanh == text.replace("GELU", "GELU, approximate: tanh") and said(tanh, "a.yaml") == []
    assert (
        mended(text.replace("fp16", "bf16"), "a.yaml")
        == "bf16: true\nact: {_target_: torch.nn.GELU, approximate: none}\n"
    )
    other = text.replace("act:", "---\nact:")
    assert mended(other, "a.yaml") == other.replace("GELU", "GELU, approximate: none")


@pytest.mark.parametrize("key", ["aproximate", "approximat", "approximation", "Approximate", "approx", "apporximate"])
def test_a_misspelled_argument_is_said_and_nothing_is_added_beside_it(key: str) -> None:
    for name, text in (
        ("a.yaml", f"act:\n  _target_: torch.nn.GELU\n  {key}: tanh\n"),
        ("a.json", f'{{"act": {{"_target_": "torch.nn.GELU", "{key}": "tanh"}}}}\n'),
        ("a.py", f'A = {{"act": {{"_target_": "torch.nn.GELU", "{key}": "tanh"}}, "activation": "gelu"}}\n'),
    ):
        found = judge(summarise(from_text(name, text)), Project(), ("GEL107",))
        assert all(f"is {key} meant" in finding.message for finding in found) and (found or name == "a.py")
        assert mended(text, name) == text


def test_another_argument_is_no_misspelled_one() -> None:
    text = "act:\n  _target_: torch.nn.GELU\n  alternate: 1\n"
    assert mended(text, "a.yaml") == text.replace("GELU\n", "GELU\n  approximate: none\n")


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
        ("BertConfig", 'projector_type="downsample_mlp_gelu"', []),
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
    text = 'A = {"hidden_act": "gelu", "fp16": True}\nB = {"hidden_act": "gelu", "fp16": False}\n'
    assert said(text, "model.py") == ["GEL106:1"]


def test_defaults_of_functions_of_keras_are_not_judged() -> None:
    text = (
        "import keras\n\n\ndef convert(model, activation='gelu/app'):\n    return keras.activations.get(activation)\n"
        "\n\nlayer = keras.layers.Dense(4, activation='gelu_new')\n"
    )
    assert said(text, "model.py") == ["GEL101:8"]
    assert mended(text, "model.py") == text
