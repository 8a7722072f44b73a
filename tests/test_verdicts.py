"""What a person made of each rule's findings on real packages: every rule was read, or says why not enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gelu_lint.registry import all_rules

CODES = [rule.code for rule in all_rules()]
FILES = sorted((Path(__file__).parent / "verdicts").glob("*.jsonl"))
KEYS = ["package", "file", "line", "code", "verdict", "why"]
_RARE = "all that 559 packages and 282 public excerpts have"
_NO_SETTINGS = "none in 488 settings files with such words, nor in the Python of 559 packages: few ship settings"
FEWER: dict[str, tuple[int, str]] = {  # code: (rows, why there are no 30)
    "GEL014": (28, _RARE),
    "GEL016": (14, _RARE),
    "GEL017": (17, _RARE),
    "GEL019": (0, "none in 559 packages and 282 public excerpts"),
    "GEL032": (0, "none in 559 packages and 282 public excerpts"),
    "GEL202": (0, "packages ship hardly any tests; tests of public repositories were read, see tests/test_trials.py"),
    "GEL203": (0, "packages ship hardly any tests; tests of public repositories were read, see tests/test_trials.py"),
    "GEL018": (16, _RARE),
    "GEL021": (5, _RARE),
    "GEL022": (20, _RARE),
    "GEL030": (0, "no package among them hands a tanh module to an encoder layer; to decoder layers several do"),
    "GEL033": (2, "opt-in; both were wrong, and the kind is no longer reported"),
    "GEL034": (0, "it reports none in 299 packages; what it reports is run by tests"),
    "GEL040": (0, "no package masks a GELU; 2,358 files that draw masks of other things were looked through"),
    "GEL023": (0, "opt-in; no package hands such a gate to a logarithm or a ratio in a file with a GELU"),
    "GEL031": (4, _RARE),
    "GEL101": (5, "none other in 488 settings files with such words, nor in the Python of 559 packages"),
    "GEL103": (0, _NO_SETTINGS),
    "GEL104": (0, _NO_SETTINGS),
    "GEL105": (0, _NO_SETTINGS),
    "GEL106": (0, "the two in 488 settings files and 559 packages are of a bare activation, which is not judged"),
    "GEL107": (0, _NO_SETTINGS),
    "GEL501": (0, "opt-in; packages bring no README of their project, so it speaks of each that has a GELU"),
    "GEL502": (0, "522 READMEs, descriptions and other texts of packages say nothing of a GELU"),
    "GEL401": (0, "no package has a GELU in a file that exports: of 101 files that say an opset two have the word"),
    "GEL402": (0, "no package ships an ONNX file; what torch exports of transformers' activations is read in a test"),
    "GEL403": (
        0,
        "packages as installed declare nothing; given a floor of 1.8, the first use in 30 was read: all torch's",
    ),
    "GEL108": (26, _RARE),
    "GEL102": (
        0,
        "none in 299 packages; 22 GELUs of another flavour than the default of a class of settings are by design",
    ),
}


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verdicts_are_well_formed(path: Path) -> None:
    found = rows(path)
    for row in found:
        assert list(row) == KEYS, row
        assert row["code"] == path.stem
        assert row["verdict"] in ("right", "wrong", "arguable")
        assert "==" in str(row["package"]) and not str(row["file"]).startswith("/")
        assert isinstance(row["line"], int) and row["line"] > 0 and row["why"]
    places = [(str(row["package"]), str(row["file"]), int(str(row["line"]))) for row in found]
    assert places == sorted(set(places))


def test_verdicts_are_of_known_rules() -> None:
    assert {path.stem for path in FILES} <= set(CODES)


def test_every_rule_was_read_on_real_code() -> None:
    read = {path.stem: len(rows(path)) for path in FILES}
    for code in CODES:
        if not code.startswith("GEL9"):
            assert read.get(code, 0) >= FEWER.get(code, (30, ""))[0], code
