"""The command line as its users meet it: exit codes, options, reports, patches, standard input, terminals."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gelu_lint import cli, runner, workers

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
IMPLICIT = HEAD + "act = nn.GELU()\n"  # GEL001 info, safe fix
RAISES = HEAD + "act = nn.GELU(approximate=True)\n"  # GEL003 error, safe fix
ABSENT = HEAD + "y = torch.gelu(torch.zeros(2))\n"  # GEL006 error
UNCLOSED = HEAD + "act = nn.GELU('none')  # gelu-lint: ignore[GEL001\n"  # GEL902 warning, no fix
CLEAN = HEAD + "act = nn.GELU('none')\n"
ESCAPE = "\x1b[31m"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in an empty directory, without a terminal's variables."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def gelu(*argv: str) -> int:
    """The exit code, also where the argument parser exits by itself."""
    try:
        return cli.main(argv)
    except SystemExit as stop:
        return stop.code


def process(*argv: str, stdin: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "gelu_lint", *argv]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, **options)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def concise(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """The findings as ``path:row:column: CODE``."""
    gelu("check", "--output-format", "concise", *argv)
    return [" ".join(line.split()[:2]) for line in capsys.readouterr().out.splitlines()]


def codes(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    return [line.split()[1] for line in concise(capsys, *argv)]


# -------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("text", "argv", "code"),
    [
        (CLEAN, ["check", "m.py"], 0),
        (IMPLICIT, ["check", "m.py"], 1),
        (IMPLICIT, ["check", "--exit-zero", "m.py"], 0),
        (IMPLICIT, ["check", "--fail-on", "warning", "m.py"], 0),
        (UNCLOSED, ["check", "--fail-on", "warning", "m.py"], 1),
        (UNCLOSED, ["check", "--fail-on", "error", "m.py"], 0),
        (RAISES, ["check", "--fail-on", "error", "m.py"], 1),
        ("gelu = (\n", ["check", "m.py"], 1),
        ("gelu = (\n", ["check", "--select", "GEL001", "m.py"], 1),  # not read is never clean
        ("gelu = (\n", ["check", "--ignore", "GEL900", "m.py"], 0),
        (CLEAN, ["check", "m.py", "nothing.py"], 2),
        (IMPLICIT, ["check", "m.py", "nothing.py", "--exit-zero"], 2),
        (IMPLICIT, ["fix", "m.py"], 0),
        (UNCLOSED, ["fix", "m.py"], 1),
        (UNCLOSED, ["fix", "m.py", "nothing.py"], 2),
        (CLEAN, ["fix", "--diff", "m.py"], 0),
        (UNCLOSED, ["fix", "--diff", "m.py"], 0),
        (IMPLICIT, ["fix", "--diff", "m.py"], 1),
        (IMPLICIT, ["inventory", "m.py"], 0),
        ("gelu = (\n", ["inventory", "m.py"], 1),
        (IMPLICIT, ["inventory", "m.py", "nothing.py"], 2),
        (CLEAN, ["explain", "GEL001"], 0),
        (CLEAN, ["explain", "implicit-approximate"], 0),
        (CLEAN, ["explain", "GEL123"], 2),
        (CLEAN, ["rules"], 0),
        (CLEAN, ["rules", "--output-format", "json"], 0),
        (CLEAN, ["config"], 0),
        (CLEAN, ["config", "--config", "nothing.toml"], 2),
        (CLEAN, ["--version"], 0),
        (CLEAN, ["check", "--help"], 0),
    ],
)
def test_exit_code(here: Path, text: str, argv: list[str], code: int) -> None:
    (here / "m.py").write_text(text)
    assert gelu(*argv) == code


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        ([], "check, fix, inventory"),
        (["chekc"], "did you mean 'check'?"),
        (["m.py"], "did you mean `gelu-lint check m.py`?"),
        (["--verison"], "did you mean '--version'?"),
        (["check", "--selct", "GEL"], "did you mean '--select'?"),
        (["check", "--selct=GEL"], "did you mean '--select'?"),
        (["fix", "--unsafe-fixs"], "did you mean '--unsafe-fixes'?"),
        (["check", "--unsafe-fixes"], "no option --unsafe-fixes"),
        (["check", "--stati"], "did you mean '--statistics'?"),  # no abbreviations
        (["check", "--output-format", "jsn"], "did you mean 'json'?"),
        (["check", "--fail-on", "warn"], "did you mean 'warning'?"),
        (["check", "--jobs", "-1"], "--jobs"),
        (["check", "--jobs", "many"], "'many' is no whole number"),
        (["fix", "--allow-delta", "nan"], "'nan' is no number of at least 0"),
        (["check", "--select", "GEL0O1"], "did you mean 'GEL001'?"),
        (["check", "--extend-select", "GEL0O1"], "did you mean 'GEL001'?"),
        (["check", "--ignore", "E501"], "no rule has the code 'E501'"),
        (["check", "--config", "nothing.toml"], "nothing.toml: no such file"),
        (["check", "mm.py"], "did you mean m.py?"),
        (["check", "-", "m.py"], "standard input cannot be combined with other paths"),
        (["check", "--stdin-filename", "x.py", "m.py"], "standard input cannot be combined with other paths"),
        (["explain", "GEL0O1"], "did you mean 'GEL001'?"),
        (["explain", "implicit-aproximate"], "did you mean 'implicit-approximate'?"),
        (["rules", "GEL001"], "unexpected argument 'GEL001'"),
    ],
)
def test_what_cannot_be_done_is_two_with_a_hint_on_stderr(
    here: Path, capsys: pytest.CaptureFixture[str], argv: list[str], hint: str
) -> None:
    (here / "m.py").write_text(CLEAN)
    assert gelu(*argv) == 2
    out, err = capsys.readouterr()
    assert hint in err
    assert err.count("\n") == 1
    assert out in ("", "No findings in 0 files.\n")


def test_an_unknown_code_is_two_for_standard_input_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, CLEAN.encode())
    assert gelu("check", "--select", "GEL0O1", "-") == 2
    assert "did you mean 'GEL001'?" in capsys.readouterr().err


def test_missing_path_beats_findings_which_are_still_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(IMPLICIT)
    assert gelu("check", "m.py", "nothing.py") == 2
    out, err = capsys.readouterr()
    assert "m.py:4:7: GEL001" in out
    assert err == "gelu-lint: nothing.py: no such file or directory\n"


def test_options_may_stand_between_paths(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (here / f"{name}.py").write_text(IMPLICIT)
    assert concise(capsys, "a.py", "--jobs", "1", "b.py") == ["a.py:4:7: GEL001", "b.py:4:7: GEL001"]


def test_a_file_named_like_an_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "-x.py").write_text(IMPLICIT)
    assert concise(capsys, "--", "-x.py") == ["-x.py:4:7: GEL001"]


# --------------------------------------------------------------------------------------- selection

MIXED = HEAD + "a = nn.GELU()\nb = nn.GELU(approximate=True)\nc = torch.gelu(a)\nd = 1  # noqa: GEL001\n"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], "GEL001 GEL003 GEL006 GEL901"),
        (["--select", "GEL"], "GEL001 GEL003 GEL006 GEL901"),
        (["--select", "GEL0"], "GEL001 GEL003 GEL006"),
        (["--select", "GEL003,GEL006"], "GEL003 GEL006"),
        (["--select", "GEL003", "--select", "GEL006"], "GEL003 GEL006"),
        (["--select", "gel003"], "GEL003"),
        (["--select", "GEL003", "--extend-select", "GEL9"], "GEL003"),  # GEL901 is silent about codes that did not run
        (["--select", "GEL001", "--extend-select", "GEL9"], "GEL001 GEL901"),
        (["--ignore", "GEL9"], "GEL001 GEL003 GEL006"),
        (["--ignore", "GEL0"], ""),
        (["--ignore", "GEL"], ""),
        (["--select", "GEL001", "--ignore", "GEL0"], "GEL001"),  # the longer prefix decides
        (["--select", "GEL0", "--ignore", "GEL001"], "GEL003 GEL006"),
        (["--select", "GEL001", "--ignore", "GEL001"], ""),  # on a tie ignore wins
        (["--ignore", "GEL0", "--extend-select", "GEL006"], "GEL006"),
    ],
)
def test_select_and_ignore(here: Path, capsys: pytest.CaptureFixture[str], argv: list[str], expected: str) -> None:
    (here / "m.py").write_text(MIXED)
    assert " ".join(codes(capsys, *argv, "m.py")) == expected


def test_fix_selects_as_check_does(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(MIXED)
    gelu("fix", "--select", "GEL003", "m.py")
    capsys.readouterr()
    assert codes(capsys, "m.py") == ["GEL001", "GEL006", "GEL901"]


def test_per_file_ignores(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "tests" / "deep").mkdir(parents=True)
    for name in ("m.py", "tests/m.py", "tests/deep/m.py"):
        (here / name).write_text(MIXED)
    (here / "pyproject.toml").write_text('[tool.gelu-lint]\nper-file-ignores = { "tests/*" = ["gel0", "GEL901"] }\n')
    assert {line.split(":")[0] for line in concise(capsys, ".")} == {"m.py"}
    assert concise(capsys, "tests/m.py") == []


def test_statistics(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(MIXED + "e = nn.GELU()\n")
    assert gelu("check", "--statistics", "m.py") == 1
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["2", "GEL001", "implicit-approximate"]
    assert sorted(row[:2] for row in rows[1:]) == [["1", "GEL003"], ["1", "GEL006"], ["1", "GEL901"]]
    assert gelu("check", "--statistics", "--output-format", "json", "m.py") == 1
    assert json.loads(capsys.readouterr().out)[0] == {"code": "GEL001", "count": 2, "safe_fixes": 2}


# ----------------------------------------------------------------------------------------- reports


def test_text_shows_line_caret_fix_and_summary(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(HEAD + "\tif x: nn.GELU()\n".lstrip("\t"))
    gelu("check", "m.py")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("m.py:4:7: GEL001 info  ")
    assert lines[1:3] == ["    4 | if x: nn.GELU()", "      |       ^^^^^^^^^"]
    assert lines[3].startswith("   fix: ") and lines[3].endswith("bit-identical")
    assert lines[4] == "1 finding (1 info) in 1 file. `gelu-lint fix` mends 1 bit-identically."
    assert len(lines) == 5


def test_carets_stand_below_tabs_and_wide_characters(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(HEAD + "if 1:\n\tact = '激活', nn.GELU()\n", encoding="utf-8")
    gelu("check", "m.py")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("m.py:5:14: ")
    assert lines[2] == "      | \t" + " " * len("act = 'xxxx', ") + "^" * len("nn.GELU()")


def test_concise_is_one_line_a_finding(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(MIXED)
    gelu("check", "--output-format", "concise", "m.py")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:15] for line in lines] == ["m.py:4:5: GEL00", "m.py:5:13: GEL0", "m.py:6:5: GEL00", "m.py:7:8: GEL90"]


JSON_KEYS = [
    "code",
    "message",
    "filename",
    "location",
    "end_location",
    "severity",
    "noqa_row",
    "cell",
    "url",
    "fix",
    "related",
    "data",
]


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """An applier of its own: JSON edits, last first, on rows that end at \\n."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def at(place: dict[str, int]) -> int:
        return starts[place["row"] - 1] + place["column"] - 1

    for edit in sorted(edits, key=lambda e: (at(e["location"]), at(e["end_location"])), reverse=True):
        text = text[: at(edit["location"])] + edit["content"] + text[at(edit["end_location"]) :]
    return text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(IMPLICIT, id="plain"),
        pytest.param(HEAD + "act = '\U0001f600\U0001f600', nn.GELU()\n", id="astral"),
        pytest.param(HEAD + "if 1:\n\tact = '\t', nn.GELU()\n", id="tabs"),
        pytest.param(RAISES, id="raises"),
        pytest.param("import torch\ny = torch.gelu(torch.zeros(2))\n", id="needs an import"),
        pytest.param(HEAD + "act = 1  # noqa: GEL001\n", id="suppression"),
    ],
)
def test_json_schema_and_edits(here: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (here / "m.py").write_text(text, encoding="utf-8")
    assert gelu("check", "--output-format", "json", "m.py") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert list(found) == JSON_KEYS
    assert set(found["data"]) >= {"flavour", "claimed", "error", "framework", "symbol"}
    assert set(found["fix"]) == {"applicability", "delta", "message", "edits"}
    assert (found["filename"], found["fix"]["applicability"], found["fix"]["delta"]) == ("m.py", "safe", 0)
    line = text.split("\n")[found["location"]["row"] - 1]
    reported = line[found["location"]["column"] - 1 : found["end_location"]["column"] - 1]
    assert reported in ("nn.GELU()", "approximate=True", "torch.gelu", "torch.gelu(torch.zeros(2))", "# noqa: GEL001")
    once = applied(text, found["fix"]["edits"])
    (here / "m.py").write_text(once, encoding="utf-8")
    gelu("fix", "m.py")  # a fix may leave something for the next round, so both ways end in `fix`
    by_edits = (here / "m.py").read_text(encoding="utf-8")
    (here / "m.py").write_text(text, encoding="utf-8")
    gelu("fix", "m.py")
    assert by_edits == (here / "m.py").read_text(encoding="utf-8")
    assert text != once
    if "torch.gelu" not in text:
        assert once == by_edits


def test_json_of_an_unsafe_fix_and_of_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(HEAD + "def f(act=nn.GELU): ...\nx = nn.GELU('none')  # gelu-lint: ignore[GEL001\n")
    gelu("check", "--output-format", "json", "m.py")
    reference, malformed = json.loads(capsys.readouterr().out)
    assert reference["code"] == "GEL005"
    assert reference["fix"]["applicability"] == "unsafe"
    assert malformed["code"] == "GEL902"
    assert malformed["fix"] is None


def test_json_of_nothing_is_an_empty_array(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(CLEAN)
    for command in (["check"], ["fix"]):
        assert gelu(*command, "--output-format", "json", "m.py") == 0
        assert json.loads(capsys.readouterr().out) == []


def test_inventory_formats(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(HEAD + "a = nn.GELU()\nb = nn.GELU('tanh')\n")
    gelu("inventory", "--output-format", "json", "m.py")
    first, second = json.loads(capsys.readouterr().out)
    assert first["location"] == {"row": 4, "column": 5}
    assert first["end_location"] == {"row": 4, "column": 14}
    assert [(s["flavour"], s["explicit"], s["framework"], s["spelling"]) for s in (first, second)] == [
        ("erf", False, "torch", "call"),
        ("tanh", True, "torch", "call"),
    ]
    assert {"filename", "symbol", "callee", "parameter", "error", "form"} <= set(first)
    gelu("inventory", "m.py")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["m.py:4:5", "erf", "implicit"]
    assert lines[1].split()[:3] == ["m.py:5:5", "tanh", "explicit"]
    assert lines[2] == "2 GELUs in 1 file: 1 erf (1 implicit), 1 tanh."
    gelu("inventory", "--output-format", "concise", "m.py")
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_inventory_says_what_it_could_not_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the project's selection leaves GEL900 out."""
    (here / "pyproject.toml").write_text('[tool.gelu-lint]\nselect = ["GEL001"]\nignore = ["GEL900"]\n')
    (here / "bad.py").write_text("gelu = (\n")
    assert gelu("inventory", ".") == 1
    assert "bad.py:1: file skipped" in capsys.readouterr().err


def test_explain_and_rules_know_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    gelu("rules", "--output-format", "json")
    rows = json.loads(capsys.readouterr().out)
    for row in rows:
        assert gelu("explain", row["code"].lower()) == 0
        page = capsys.readouterr().out
        assert page.startswith(f"{row['code']} {row['name']} (")
        assert all(f"## {section}" in page for section in ("What it does", "Why is this bad", "Example", "Fix safety"))
    gelu("rules")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [row["code"] for row in rows]
    gelu("rules", "--output-format", "markdown")
    assert capsys.readouterr().out.count("\n") == len(rows) + 2


# ------------------------------------------------------------------------------- stdout and stderr


def test_stdout_holds_results_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(IMPLICIT)
    (here / "bad.py").write_text("gelu = (\n")
    gelu("fix", "--output-format", "concise", ".", "nothing")
    out, err = capsys.readouterr()
    assert [line[:17] for line in out.splitlines()] == ["bad.py:1:8: GEL90"]
    assert err.splitlines() == [
        "gelu-lint: nothing: no such file or directory",
        "Fixed 1 finding in 1 file; 1 remain.",
    ]


def test_diff_prints_a_patch_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(IMPLICIT)
    gelu("fix", "--diff", "m.py")
    out, err = capsys.readouterr()
    assert out.replace('"', "'").splitlines()[-2:] == ["-act = nn.GELU()", "+act = nn.GELU(approximate='none')"]
    assert err == "Would fix 1 finding in 1 file; 0 would remain.\n"
    assert (here / "m.py").read_text() == IMPLICIT


def colours(*argv: str, **environment: str) -> bool:
    done = process("check", "m.py", *argv, env={**os.environ, **environment})
    return b"\x1b[" in done.stdout


def on_a_terminal(**environment: str) -> bytes:
    main, other = pty.openpty()
    command = [sys.executable, "-m", "gelu_lint", "check", "m.py"]
    environment = {**os.environ, "TERM": "xterm", **environment}
    child = subprocess.Popen(command, stdin=other, stdout=other, stderr=subprocess.DEVNULL, env=environment)
    os.close(other)
    output = b""
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:  # Linux: the other side is closed
            break
        if not chunk:
            break
        output += chunk
    child.wait()
    os.close(main)
    return output


def test_colour_only_where_it_is_seen_or_asked_for(here: Path) -> None:
    (here / "m.py").write_bytes(b"gelu\0")  # a finding that comes fast
    assert not colours()
    assert colours(FORCE_COLOR="1")
    assert not colours(FORCE_COLOR="1", NO_COLOR="1")
    assert not colours("--output-format", "json", FORCE_COLOR="1")
    assert b"\x1b[" in on_a_terminal()
    assert b"\x1b[" not in on_a_terminal(NO_COLOR="1")
    assert b"\x1b[" not in on_a_terminal(TERM="dumb")
    assert b"GEL900" in on_a_terminal(TERM="dumb")


@pytest.mark.parametrize("output", ["text", "concise", "json"])
def test_terminal_sequences_are_not_passed_on(here: Path, capsys: pytest.CaptureFixture[str], output: str) -> None:
    name = f"{ESCAPE}m.py"
    (here / name).write_text(HEAD + f"# {ESCAPE}\nact = '{ESCAPE}\u202e', nn.GELU(approximate='{ESCAPE}')\nb = (\n")
    (here / f"2{name}").write_text(HEAD + f"act = '{ESCAPE}\u202e', nn.GELU(approximate='{ESCAPE}')\n")
    for command in (["check"], ["inventory"], ["fix"]):
        gelu(*command, "--output-format", output, ".", f"nothing{ESCAPE}")
        out, err = capsys.readouterr()
        assert "m.py" in out
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err


def test_names_that_are_no_utf8(here: Path) -> None:
    name = b"m\xff.py"
    (Path(os.fsdecode(name))).write_text(IMPLICIT)
    for output in ("text", "concise", "json"):
        done = process("check", "--output-format", output, ".")
        assert (done.returncode, done.stderr) == (1, b"")
        assert b"GEL001" in done.stdout
    assert json.loads(done.stdout)[0]["filename"] == os.fsdecode(name)
    patch = process("fix", "--diff", ".").stdout
    assert rb'"b/m\377.py"' in patch
    assert process("fix", ".").returncode == 0
    assert b"approximate=" in Path(os.fsdecode(name)).read_bytes()


def test_any_output_encoding_will_do(here: Path) -> None:
    (here / "é.py").write_text(HEAD + "act = 'é', nn.GELU()\n", encoding="utf-8")
    done = process("check", ".", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"\xe9.py:4:12: GEL001" in done.stdout


# ------------------------------------------------------------------------------------ order, workers


def test_order_is_by_path_then_position_whatever_the_arguments(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("b", "a/sub", "a"):
        (here / folder).mkdir(parents=True, exist_ok=True)
        (here / folder / "m.py").write_text(MIXED)
    whole = concise(capsys, ".")
    assert [line.split(":")[0] for line in whole[::4]] == ["a/m.py", "a/sub/m.py", "b/m.py"]
    assert concise(capsys, "b", "a/sub/m.py", "a") == whole
    assert concise(capsys, "b", "b/m.py", "a", "a") == whole


def many(here: Path) -> None:
    for i in range(25):
        (here / f"m{i}.py").write_text([IMPLICIT, CLEAN, MIXED, "gelu = (\n", UNCLOSED][i % 5])


@pytest.mark.parametrize("command", ["check", "inventory"])
def test_workers_find_what_one_process_finds(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    many(here)
    spread: list[int] = []
    real = workers.spread
    monkeypatch.setattr(
        workers, "spread", lambda work, items, jobs, *more: (spread.append(jobs), real(work, items, jobs, *more))[1]
    )
    assert gelu(command, "--no-cache", "--jobs", "1", ".") == 1
    alone = capsys.readouterr()
    assert spread == []
    assert gelu(command, "--no-cache", "--jobs", "3", ".") == 1
    assert capsys.readouterr() == alone
    assert spread == [3]


def test_so_many_files_are_screened_by_workers_too(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    many(here)
    gelu("check", "--no-cache", "--jobs", "1", ".")
    alone = capsys.readouterr()
    monkeypatch.setattr(runner, "_MANY", 10)
    gelu("check", "--no-cache", "--jobs", "2", ".")
    assert capsys.readouterr() == alone


def test_workers_fix_what_one_process_fixes(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    many(here)
    many(other)
    gelu("fix", "--jobs", "1", ".")
    gelu("fix", "--jobs", "3", str(other))
    assert {p.name: p.read_bytes() for p in here.iterdir()} == {p.name: p.read_bytes() for p in other.iterdir()}


def die_of_bombs(task: Any, data: bytes) -> Any:
    if b"BOMB" in data:
        os._exit(1)
    return REAL_DONE(task, data)


REAL_DONE = runner._done


@pytest.mark.skipif(sys.platform in ("win32", "darwin") or sys.version_info >= (3, 14), reason="needs forked workers")
def test_a_dying_worker_costs_one_file(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(12):
        (here / f"m{i:02}.py").write_text(IMPLICIT)
    (here / "m05.py").write_text(IMPLICIT + "# BOMB\n")
    monkeypatch.setattr(runner, "_done", die_of_bombs)
    found = concise(capsys, "--jobs", "2", ".")
    assert found == [f"m{i:02}.py:" + ("1:1: GEL900" if i == 5 else "4:7: GEL001") for i in range(12)]


def test_a_closed_pipe_is_quiet(here: Path) -> None:
    (here / "m.py").write_text(HEAD + "act = nn.GELU()\n" * 3000)
    command = f"'{sys.executable}' -m gelu_lint check --output-format concise m.py | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("m.py:4:7: GEL001")


def test_interrupt_is_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    assert gelu("check", ".") == 130
    assert capsys.readouterr().err == "gelu-lint: interrupted\n"


def heed_interrupts() -> None:
    """A shell that starts the tests in the background has them ignore interrupts, and what they start, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupting_workers_shows_one_line(here: Path) -> None:
    """As Ctrl-C does: the signal goes to the whole group of processes."""
    for i in range(40):
        (here / f"m{i}.py").write_text(HEAD + "act = nn.GELU()\n" * 2000)
    command = [sys.executable, "-m", "gelu_lint", "check", "--jobs", "2", "."]
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while child.poll() is None and len(children.read_text().split()) < 2:
        time.sleep(0.05)
    time.sleep(0.3)  # until the workers have begun
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, b"gelu-lint: interrupted\n")


# --------------------------------------------------------------------------------------- stdin


def test_stdin_is_linted_under_its_name(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "pyproject.toml").write_text('[tool.gelu-lint]\nignore = ["GEL003"]\n')
    for argv, expected in [
        (["-"], ["-:4:5: GEL001", "-:5:13: GEL003", "-:6:5: GEL006", "-:7:8: GEL901"]),
        (
            ["--stdin-filename", "sub/x.py", "-"],
            [f"sub/x.py:{at}" for at in ("4:5: GEL001", "6:5: GEL006", "7:8: GEL901")],
        ),
        (["--stdin-filename", "sub/x.py"], [f"sub/x.py:{at}" for at in ("4:5: GEL001", "6:5: GEL006", "7:8: GEL901")]),
    ]:
        feed(monkeypatch, MIXED.encode())
        assert concise(capsys, *argv) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (IMPLICIT.encode(), b"nn.GELU(approximate='none')\n"),
        (b"\xef\xbb\xbf" + IMPLICIT.replace("\n", "\r\n").encode(), b"nn.GELU(approximate='none')\r\n"),
        (IMPLICIT.replace("\n", "\r").encode(), b"nn.GELU(approximate='none')\r"),
        (IMPLICIT.rstrip("\n").encode(), b"nn.GELU(approximate='none')"),
        (b"# coding: latin-1\n# \xe9\n" + IMPLICIT.encode(), b"nn.GELU(approximate='none')\n"),
    ],
)
def test_stdin_fixed_to_stdout(data: bytes, expected: bytes) -> None:
    done = process("fix", "-", stdin=data)
    out = done.stdout.replace(b'"', b"'")
    assert out == data.replace(b"nn.GELU()", b"nn.GELU(approximate='none')")
    assert out.endswith(expected)
    assert done.stderr == b"Fixed 1 finding in 1 file; 0 remain.\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", 0),
        (b"x = 1\r\n\r y\n\xff\0", 0),  # does not even pass the screen
        (CLEAN.encode(), 0),
        (b"\xef\xbb\xbf" + CLEAN.replace("\n", "\r\n").encode(), 0),
        (b"gelu = (\r\nprint 'x'\n", 1),
        (b"gelu \xff\xfe\n", 1),
        (b"gelu \0\n", 1),
    ],
)
def test_stdin_that_is_not_changed_passes_byte_for_byte(data: bytes, code: int) -> None:
    done = process("fix", "-", stdin=data)
    assert (done.stdout, done.returncode) == (data, code)


def test_stdin_excluded_by_force_passes_unchanged(here: Path) -> None:
    (here / "pyproject.toml").write_text('[tool.gelu-lint]\nforce-exclude = true\nextend-exclude = ["x.py"]\n')
    assert process("fix", "--stdin-filename", "x.py", "-", stdin=IMPLICIT.encode()).stdout == IMPLICIT.encode()
    assert process("fix", "--stdin-filename", "y.py", "-", stdin=IMPLICIT.encode()).stdout != IMPLICIT.encode()


def test_stdin_diff(here: Path) -> None:
    done = process("fix", "--diff", "--stdin-filename", "x.py", "-", stdin=IMPLICIT.encode())
    assert done.returncode == 1
    assert b"--- a/x.py\n+++ b/x.py\n" in done.stdout
    assert not (here / "x.py").exists()


# ----------------------------------------------------------------------------------------- patches


def git(*argv: str, cwd: Path, stdin: bytes = b"") -> None:
    done = subprocess.run(["git", *argv], cwd=cwd, input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("start", [".", "pkg", "pkg/pkg"])
@pytest.mark.parametrize("absolute", [False, True])
def test_git_applies_the_patch_and_gives_what_fix_writes(
    here: Path, tmp_path_factory: pytest.TempPathFactory, start: str, absolute: bool
) -> None:
    texts = {
        "m.py": IMPLICIT.encode(),
        "pkg/with space.py": RAISES.encode(),
        "pkg/pkg/crlf.py": b"\xef\xbb\xbf" + IMPLICIT.replace("\n", "\r\n").encode(),
        "pkg/pkg/é.py": IMPLICIT.rstrip("\n").encode(),
        "pkg/pkg/latin.py": b"# coding: latin-1\n# \xe9\n" + IMPLICIT.encode(),
    }
    fixed = tmp_path_factory.mktemp("fixed")
    for root in (here, fixed):
        git("init", "-q", cwd=root)
        for name, data in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
    target = str(here / start) if absolute else "."
    patch = process("fix", "--diff", target, cwd=here / start).stdout
    git("apply", cwd=here / start, stdin=patch)
    process("fix", ".", cwd=fixed / start)
    for name, data in texts.items():
        assert (here / name).read_bytes() == (fixed / name).read_bytes()
        assert ((here / name).read_bytes() != data) == (Path(start) in (here / name).relative_to(here).parents)
