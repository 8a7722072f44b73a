"""The examples show one finding of each code, and what the fixes make of them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from gelu_lint import cli
from gelu_lint.registry import all_rules

EXAMPLES = Path(__file__).parents[1] / "examples"
#: What these examples are about: code, and the tool itself. The other layers are in checklist_broken.
CODES = tuple(rule.code for rule in all_rules() if not rule.opt_in and rule.code[3] in "09")


def findings(capsys: pytest.CaptureFixture[str], path: Path) -> list[tuple[str, str]]:
    cli.main(["check", "--output-format", "json", str(path)])
    return [(f["code"], Path(f["filename"]).name) for f in json.loads(capsys.readouterr().out)]


def test_broken_has_one_finding_of_each_code(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys, EXAMPLES / "broken")
    assert Counter(code for code, _ in found) == dict.fromkeys(CODES, 1)
    assert [code for code, name in found if name == "legacy.py"] == ["GEL900"]


def test_fixed_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(capsys, EXAMPLES / "fixed") == []


def test_fix_makes_fixed_of_broken_but_for_what_a_person_must_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLES / "broken", tmp_path / "copy")
    assert cli.main(["fix", "--unsafe-fixes", str(tmp_path / "copy")]) == 1
    capsys.readouterr()
    left = [
        *(("GEL022", "half.py"), ("GEL030", "layers.py"), ("GEL040", "layers.py"), ("GEL900", "legacy.py")),
        *(("GEL902", "model.py"), ("GEL019", "paths.py"), ("GEL017", "paths.py"), ("GEL032", "paths.py")),
        *(("GEL015", "ported.py"), ("GEL016", "ported.py"), ("GEL202", "test_gelu.py"), ("GEL020", "train.py")),
    ]
    assert findings(capsys, tmp_path / "copy") == left
    mended = (tmp_path / "copy" / "model.py").read_text().splitlines()
    wanted = (EXAMPLES / "fixed" / "model.py").read_text().splitlines()
    differing = [(old, new) for old, new in zip(mended, wanted, strict=True) if old != new]
    malformed = "  # gelu-lint: ignore[GEL002 as in the paper"
    assert differing == [(differing[0][1] + malformed, differing[0][1])]
    legacy = (tmp_path / "copy" / "legacy.py").read_bytes()
    assert legacy == (EXAMPLES / "broken" / "legacy.py").read_bytes()


def test_plain_fix_changes_only_what_is_bit_identical_or_raises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLES / "broken", tmp_path / "copy")
    cli.main(["fix", str(tmp_path / "copy")])
    capsys.readouterr()
    left = [code for code, _ in findings(capsys, tmp_path / "copy")]
    assert sorted(left) == sorted(set(CODES) - {"GEL001", "GEL003", "GEL006", "GEL031", "GEL901"})
