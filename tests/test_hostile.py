"""Files that break tools: one clear message each, the others are still linted, and `fix` loses no byte."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from gelu_lint import cli, runner
from gelu_lint.source import Source, write

GOOD = b"import torch.nn.functional as F\nfrom torch import nn\n\nact = nn.GELU()\n"
FIXED = b"nn.GELU(approximate='none')"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a good file, whose finding must always be reported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_bytes(GOOD)
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, list[tuple[str, str, int]], str]:
    """Exit code, the findings as (code, message, row) of all files but the good one, and stderr."""
    code = cli.main(["check", "--output-format", "json", *argv])
    out, err = capsys.readouterr()
    findings = json.loads(out)
    good = [f for f in findings if f["filename"] == "good.py"]
    assert [(f["code"], f["location"]) for f in good] == [("GEL001", {"row": 4, "column": 7})]
    assert "Traceback" not in err
    return code, [(f["code"], f["message"], f["location"]["row"]) for f in findings if f not in good], err


def fix(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    """Exit code and stderr of a fix of everything, in which the good file is mended."""
    code = cli.main(["fix", "--unsafe-fixes", *argv])
    assert quotes(Path("good.py").read_bytes()) == GOOD.replace(b"nn.GELU()", FIXED)
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert not [name for name in os.listdir() if name.startswith(".gelu-lint-")]  # no temporary file is left
    return code, err


def quotes(data: bytes) -> bytes:
    return data.replace(b'approximate="none"', b"approximate='none'")


# --------------------------------------------------------------------------- what cannot be read

UTF16 = GOOD.decode().encode("utf-16")
UNREADABLE = {
    "syntax error": (b"x = gelu(\n\ny = 1)))\n", "not valid Python 3: ", 3),
    "unclosed bracket": (GOOD + b"x = (\n", "'(' was never closed", 5),
    "unclosed string": (GOOD + b"x = '''\n", "not valid Python 3: unterminated", 5),
    "Python 2": (GOOD + b"print F.gelu(x)\n", "(Python 2 code?)", 5),
    "Python 2 exec": (GOOD + b"exec 'gelu'\n", "(Python 2 code?)", 5),
    "bad indent": (GOOD + b"if 1:\n  a = nn.GELU()\n b = 2\n", "not valid Python 3: unindent", 7),
    "latin-1 without cookie": (GOOD + b"# \xe9\n", "byte 0xe9 in row 5 is not valid utf-8: save the file as UTF-8", 5),
    "lone surrogate": (GOOD + b"x = '\xed\xa0\x80'\n", "byte 0xed in row 5 is not valid utf-8", 5),
    "null bytes": (GOOD + b"x = '\0'\n", "contains null bytes", 5),
    "UTF-16": (b"\xff\xfe" + UTF16.removeprefix(b"\xff\xfe"), "UTF-16", 1),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0gelu" + bytes(range(256)), "contains null bytes", 3),
    "unknown codec": (b"# coding: klingon\n" + GOOD, "unknown encoding klingon: correct the coding cookie", 1),
    "rot13": (b"# coding: rot13\n" + GOOD, "rot13", 1),
    "hex": (b"# coding: hex\n" + GOOD, "hex", 1),
    "undefined": (b"# coding: undefined\n" + GOOD, "undefined", 1),
    "BOM and another cookie": (b"\xef\xbb\xbf# coding: latin-1\n" + GOOD, "remove one of them", 1),
    "over max-file-size": (GOOD + b"#" * 3_000_000, "3.00 MB, over max-file-size (2 MB)", 1),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    data, words, row = UNREADABLE[name]
    if data.startswith(b"\xff\xfe"):
        data += b"gelu()"  # as UTF-16 the word does not pass the screen
    (here / "bad.py").write_bytes(data)
    code, findings, err = lint(capsys, ".")
    assert [(found, where) for found, _, where in findings] == [("GEL900", row)]
    assert words in findings[0][1]
    assert (code, err) == (1, "")
    code, _ = fix(capsys, ".")
    assert (here / "bad.py").read_bytes() == data
    assert code == 1


# ------------------------------------------------------------------ what only looks as if it could not

HEAD, TAIL = GOOD[: GOOD.index(b"act")], b"act = nn.GELU()\n"
READABLE = {
    "latin-1 with cookie": b"# coding: latin-1\n# \xe9\n" + GOOD,
    "cp1252 with cookie": b"# -*- coding: cp1252 -*-\n# \x80\n" + GOOD,
    "BOM": b"\xef\xbb\xbf" + GOOD,
    "BOM and cookie": b"\xef\xbb\xbf# coding: utf-8\n" + GOOD,
    "CRLF": GOOD.replace(b"\n", b"\r\n"),
    "lone CR": GOOD.replace(b"\n", b"\r"),
    "mixed line ends": HEAD.replace(b"\n", b"\r\n") + b"x = 1\ry = 2\n" + TAIL.replace(b"\n", b"\r\n"),
    "form feeds": HEAD + b"\x0c\nx = 1\n\x0c" + TAIL + b"\x0c\n",
    "tabs": HEAD + b"if 1:\n\tif 2:\n\t\tact = nn.GELU()\t\n",
    "trailing space, no end": HEAD + b"x = 1   \n" + TAIL.rstrip(b"\n"),
    "other separators": HEAD + "s = '\u2028\x85\x1c' \n".encode() + TAIL,
    "backslash joins": HEAD + b"act = \\\n    \\\n  nn.GELU()\n",
    "escaped surrogate": HEAD + b"s = '\\ud800'\n" + TAIL,
    "ends in backslash": HEAD + TAIL + b"#\\",
    "control-Z": HEAD + TAIL + b"# \x1a\n",
    "5,000 lines": HEAD + b"x = 1\n" * 5_000 + TAIL,
    "a huge line": HEAD + b"x = '" + b"a" * 1_900_000 + b"'\n" + TAIL,
    "a huge line of code": HEAD + b"x = 1; " * 2_000 + b"\n" + TAIL,
}


@pytest.mark.parametrize("name", READABLE)
def test_what_only_looks_bad_is_linted_and_fixed(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    data = READABLE[name]
    (here / "bad.py").write_bytes(data)
    code, findings, err = lint(capsys, ".")
    assert [found for found, _, _ in findings] == ["GEL001"]
    assert (code, err) == (1, "")
    code, _ = fix(capsys, ".")
    assert quotes((here / "bad.py").read_bytes()) == data.replace(b"nn.GELU()", FIXED)
    assert code == 0


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"# gelu\n#\n", id="comments"),
        pytest.param(b"# gelu", id="comment"),
        pytest.param(b"\n\n\x0c\n", id="blank"),
        pytest.param(b"'gelu'\n", id="docstring"),
        pytest.param(b"\xef\xbb\xbf", id="BOM"),
    ],
)
def test_nothing_in_it(here: Path, capsys: pytest.CaptureFixture[str], data: bytes) -> None:
    (here / "bad.py").write_bytes(data)
    assert lint(capsys, ".") == (1, [], "")
    assert fix(capsys, ".")[0] == 0
    assert (here / "bad.py").read_bytes() == data


def test_fifty_thousand_lines_and_one_gelu(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bad.py").write_bytes(HEAD + b"x = 1\n" * 50_000 + TAIL)
    code, findings, err = lint(capsys, ".")
    assert [(found, row) for found, _, row in findings] == [("GEL001", 50_004)]
    assert (code, err) == (1, "")


def test_a_syntax_error_apart_from_any_gelu_is_none_of_our_business_until_fix(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = GOOD + b"print 'x'\n"
    (here / "bad.py").write_bytes(data)
    assert [found for found, _, _ in lint(capsys, ".")[1]] == ["GEL001"]
    code, err = fix(capsys, ".")
    assert "gelu-lint: bad.py: left as it is: it does not parse as a whole\n" in err
    assert ((here / "bad.py").read_bytes(), code) == (data, 1)


@pytest.mark.parametrize("data", [b"# coding: utf-7\n# +AOk-\n" + GOOD, b"# coding: shift-jis\n# \x81\x5f\n" + GOOD])
def test_what_an_encoding_might_not_give_back_is_left_alone(
    here: Path, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    (here / "bad.py").write_bytes(data)
    assert [found for found, _, _ in lint(capsys, ".")[1]] == ["GEL001"]
    code, err = fix(capsys, ".")
    after = quotes((here / "bad.py").read_bytes())
    if code == 2:
        assert not_written(err)[0].endswith(": save the file as UTF-8")
        assert after == data
    else:
        assert after == data.replace(b"nn.GELU()", FIXED)


# ------------------------------------------------------------------------- code beyond the bounds

BEYOND = {
    "nested brackets": b"x = " + b"(" * 20_000 + b"F.gelu" + b")" * 20_000,
    "nested lists": b"x = " + b"[" * 20_000 + b"F.gelu" + b"]" * 20_000,
    "open brackets": b"x = F.gelu" + b"(" * 20_000,
    "sum": b"x = F.gelu(y)" + b" + y" * 5_000,
    "elifs": b"if a:\n    F.gelu(y)\n" + b"elif a:\n    F.gelu(y)\n" * 5_000,
    "attributes": b"x = F.gelu" + b".a" * 10_000,
    "calls": b"x = F.gelu" + b"(y)" * 10_000,
    "nots": b"x = " + b"not " * 10_000 + b"F.gelu(y)",
    "minuses": b"x = " + b"-" * 10_000 + b"F.gelu(y)",
    "lambdas": b"x = " + b"lambda: " * 5_000 + b"F.gelu(y)",
    "conditionals": b"x = " + b"1 if y else " * 5_000 + b"F.gelu(y)",
    "blocks": b"".join(b" " * i + b"if y:\n" for i in range(150)) + b" " * 150 + b"F.gelu(y)",
    "f-strings": b"x = f'{F.gelu" + b"(" * 5_000 + b")" * 5_000 + b"}'",
    "powers": b"x = F.gelu(y)" + b" ** y" * 5_000,
    "strings": b"x = F.gelu, " + b"'a' " * 10_000,
}


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_the_bounds_one_message_and_the_rest_is_linted(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    data = GOOD + BEYOND[name] + b"\n"
    (here / "bad.py").write_bytes(data)
    code, findings, err = lint(capsys, ".")
    skipped = [message for found, message, _ in findings if found == "GEL900"]
    assert len(skipped) == 1
    assert skipped[0].split(":")[0] in ("skipped", "file skipped")
    assert len(skipped[0]) < 160
    if skipped[0].startswith("skipped"):  # a statement, not the file
        assert ("GEL001", 4) in [(found, row) for found, _, row in findings]
    assert (code, err) == (1, "")
    assert fix(capsys, ".")[0] == 1
    after = quotes((here / "bad.py").read_bytes())
    assert after in (data, data.replace(b"nn.GELU()", FIXED))


# -------------------------------------------------------------------------------- the file system


def test_directory_named_like_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "gelu.py").mkdir()
    (here / "gelu.py" / "m.py").write_bytes(GOOD)
    code, findings, err = lint(capsys, ".")
    assert ([found for found, _, _ in findings], code, err) == (["GEL001"], 1, "")
    assert lint(capsys, "good.py", "gelu.py") == (code, findings, err)


def test_missing_path(capsys: pytest.CaptureFixture[str]) -> None:
    code, findings, err = lint(capsys, ".", "god.py")
    assert (code, findings) == (2, [])
    assert err == "gelu-lint: god.py: no such file or directory (did you mean good.py?)\n"


def test_links_that_lead_nowhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "gelu_dangling.py").symlink_to("nowhere")
    (here / "gelu_loop.py").symlink_to("gelu_loop.py")
    (here / "gelu_up").symlink_to(here, target_is_directory=True)
    assert lint(capsys, ".") == (1, [], "")
    code, findings, err = lint(capsys, "good.py", "gelu_dangling.py", "gelu_loop.py")
    assert [(found, message) for found, message, _ in findings] == [
        ("GEL900", "file skipped: cannot read: broken symbolic link"),
        ("GEL900", "file skipped: cannot read: Too many levels of symbolic links"),
    ]
    assert (code, err) == (1, "")
    assert fix(capsys, ".")[0] == 0
    assert (here / "gelu_dangling.py").is_symlink()


def test_fifo_does_not_block(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(here / "gelu.py")
    assert lint(capsys, ".") == (1, [], "")
    code, findings, _ = lint(capsys, "good.py", "gelu.py")
    assert [message for _, message, _ in findings] == ["file skipped: a FIFO, device or socket, not a regular file"]
    assert code == 1


def test_a_file_that_vanishes(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    original = runner.read_bytes

    def vanishing(path: str, size: int) -> bytes:
        if path == "bad.py":
            (here / "bad.py").unlink(missing_ok=True)
        return original(path, size)

    monkeypatch.setattr(runner, "read_bytes", vanishing)
    (here / "bad.py").write_bytes(GOOD)
    code, findings, err = lint(capsys, ".")
    assert [message for _, message, _ in findings] == ["file skipped: cannot read: No such file or directory"]
    assert (code, err) == (1, "")


def test_a_file_that_may_not_be_read(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import builtins

    original = open

    def denied(path: object, *arguments: object, **keywords: object) -> object:
        if path == "bad.py":
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments, **keywords)

    (here / "bad.py").write_bytes(GOOD)
    monkeypatch.setattr(builtins, "open", denied)
    code, findings, err = lint(capsys, ".")
    assert [message for _, message, _ in findings] == ["file skipped: cannot read: Permission denied"]
    assert (code, err) == (1, "")


# ---------------------------------------------------------------------------------------- writing


def not_written(err: str) -> list[str]:
    return [line for line in err.splitlines() if "not written" in line]


def test_a_file_that_changes_between_read_and_write(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(source: Source, text: str) -> None:
        if source.path == "bad.py":
            (here / "bad.py").write_bytes(b"# someone else's\n")
        write(source, text)

    monkeypatch.setattr(cli, "write", late)
    (here / "bad.py").write_bytes(GOOD)
    code, err = fix(capsys, ".")
    assert (here / "bad.py").read_bytes() == b"# someone else's\n"
    assert not_written(err) == ["gelu-lint: bad.py: not written: changed on disk since it was read: run again"]
    assert err.endswith("Fixed 1 finding in 1 file; 1 remain.\n")
    assert code == 2


def test_a_read_only_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bad.py").write_bytes(GOOD)
    (here / "bad.py").chmod(0o444)
    code, err = fix(capsys, ".")
    assert (here / "bad.py").read_bytes() == GOOD
    assert not_written(err) == ["gelu-lint: bad.py: not written: read-only: make it writable to fix it"]
    assert err.endswith("Fixed 1 finding in 1 file; 1 remain.\n")
    assert code == 2


@pytest.mark.parametrize("step", ["replace", "mkstemp"])
def test_a_directory_without_write_permission(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (here / "closed").mkdir()
    (here / "closed" / "bad.py").write_bytes(GOOD)
    module = os if step == "replace" else tempfile
    original = getattr(module, step)

    def denied(*arguments: object, **keywords: object) -> object:
        if "closed" in str(arguments) + str(keywords):
            raise PermissionError(13, "Permission denied")
        return original(*arguments, **keywords)

    monkeypatch.setattr(module, step, denied)
    code, err = fix(capsys, ".")
    assert os.listdir("closed") == ["bad.py"]
    assert (here / "closed" / "bad.py").read_bytes() == GOOD
    assert not_written(err) == ["gelu-lint: closed/bad.py: not written: cannot write: Permission denied"]
    assert code == 2


def test_a_link_is_kept_and_its_target_mended(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "link.py").symlink_to("good.py")
    assert lint(capsys, ".") == (1, [], "")  # one file, once
    assert fix(capsys, "link.py")[0] == 0
    assert (here / "link.py").is_symlink()
