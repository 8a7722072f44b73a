"""Settings that look like others: what must stay silent, and what no fix may touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.engine import judge, summarise
from gelu_lint.model import Finding, Project
from gelu_lint.registry import enabled
from gelu_lint.source import decode

CODES = enabled((), (), ())


def found(name: str, text: str) -> list[Finding]:
    return judge(summarise(decode(name, text.encode())), Project(), CODES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "model: {name: BertModel, hidden_act: GELU}\n"),  # under "name" anything may stand
        ("a.json", '{"name": "GPT2Config", "hidden_act": "gelu"}'),
        ("a.json", '{"model_type": "bert", "hidden_act": "gelu_tanh", "hidden_act": "gelu"}'),  # the last one counts
    ],
)
def test_what_is_not_sure_is_silent(name: str, text: str) -> None:
    assert found(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("list.yaml", "layers: [_target_: torch.nn.GELU]\n", "GEL107"),  # a list of a mapping without braces
        ("list.yaml", "layers: [_target_: torch.nn.GELU, x: 1]\n", "GEL107"),
        (
            "anchor.yaml",  # another table knows that name
            "hf:\n  model_type: bert\n  hidden_act: &a gelu_tanh\ntimm:\n  act_layer: *a\n",
            "GEL101",
        ),
    ],
)
def test_what_a_fix_would_break_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, code: str
) -> None:
    assert [(finding.code, finding.fix) for finding in found(name, text)] == [(code, None)]
    (tmp_path / name).write_text(text)
    assert cli.main(["fix", "--unsafe-fixes", str(tmp_path / name)]) == 1
    assert (tmp_path / name).read_text() == text


def test_a_key_without_a_value_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "gemma.yaml"
    path.write_text("{model_type: gemma, hidden_act: gelu, hidden_activation}\n")
    cli.main(["fix", "--unsafe-fixes", str(path)])
    assert path.read_text() == "{model_type: gemma, hidden_act: gelu_pytorch_tanh, hidden_activation}\n"


def test_each_class_of_a_file_is_looked_at_once() -> None:
    """Thirty to the power of six bases would never end."""
    classes = "".join(f"class B{i}({', '.join([f'B{i - 1}'] * 30)}):\n    pass\n\n\n" for i in range(1, 7))
    head = "from transformers import PretrainedConfig\n\n\nclass B0:\n    pass\n\n\n"
    assert found("m.py", head + classes + "class X(B6):\n    hidden_act: str = 'gelu_tanh'\n") == []


@pytest.mark.parametrize(
    "text",
    [
        '{"model_type": "sam3", "text_config": {"model_type": "clip_text_model", "hidden_act": "gelu"}}',
        '{"architectures": ["CLIPTextModelWithProjection"], "model_type": "clip_text_model", "hidden_act": "gelu"}',
    ],
)
def test_clip_as_part_of_what_others_trained_is_silent(text: str) -> None:
    assert found("config.json", text) == []


def test_clip_itself_is_not() -> None:
    text = '{"model_type": "clip", "text_config": {"model_type": "clip_text_model", "hidden_act": "gelu"}}'
    assert [finding.code for finding in found("config.json", text)] == ["GEL105"]


def test_another_configuration_of_a_python_file_is_not_around() -> None:
    text = (
        "from transformers import BertConfig, CLIPTextConfig\n\n"
        "bert = BertConfig(hidden_act='gelu', num_hidden_layers=2)\nclip = CLIPTextConfig(hidden_act='gelu')\n"
    )
    assert [(finding.code, finding.span.row) for finding in found("m.py", text)] == [("GEL105", 4)]
