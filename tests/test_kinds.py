"""Which files are settings, and which of them are read at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.kinds import kind_of, matters


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("config.json", "json"),
        ("conf/model.yaml", "yaml"),
        ("train.yml", "yaml"),
        ("recipe.toml", "toml"),
        ("pyproject.toml", "declarations"),
        ("notebook.ipynb", "other"),
        ("tokenizer_config.json", "other"),
        ("model.safetensors.index.json", "other"),
        ("docker-compose.yml", "other"),
    ],
)
def test_kinds_by_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b'{"hidden_act": "silu"}', True),
        (b'{"model_type": "gpt2", "activation_function": "relu"}', True),
        (b'{"act": "QuickGELU"}', True),
        (b"act: gelu_new", True),
        (b'{"saved": "Gelukt", "sound": "geluid", "rule": "Regelung"}', False),
        (b'{"model_type": "gpt2"}', False),
        (b'{"name": "x"}', False),
    ],
)
def test_words_decide_what_is_parsed(data: bytes, read: bool) -> None:
    assert matters("a.json", data) is read
    assert matters("a.yaml", data) is read


def test_files_that_are_no_settings_by_name_are_passed_over_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hooks hand over every JSON file of a commit; a notebook is something that somebody may expect to be read."""
    for name in ("package.json", "tokenizer.json", "notebook.ipynb"):
        (tmp_path / name).write_text('{"hidden_act": "gelu_tanh"}')
    assert cli.main(["check", *(str(tmp_path / name) for name in ("package.json", "tokenizer.json"))]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main(["check", str(tmp_path / "notebook.ipynb")]) == 0
    assert "1 named file passed over: .ipynb files are not read yet" in capsys.readouterr().err
