"""source.py against Python's tokenizer, Python's compiler and git."""

from __future__ import annotations

import ast
import codecs
import io
import os
import pickle
import subprocess
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gelu_lint.source import Source, Unreadable, decode, read_bytes, unified_patch, write

CHARACTERS = st.sampled_from("ab é€😀\n\r\t\f\v\x1c\x85\u2028#") | st.characters(exclude_categories=["Cs"])
LINE = st.sampled_from([b"a\n", b"b\r\n", b"c\r", b"\n", b"\xe9\n", b" a\n", b"-- x\n", b"d"])


def read(path: Path) -> Source:
    return decode(str(path), read_bytes(str(path), 10_000_000))


# ------------------------------------------------------------------------------------------ decode


def tokenize_text(data: bytes) -> str | None:
    """What Python's tokenize reads, None where it refuses."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeError):
        return None


COOKIES = [
    b"",
    b"x = 1",
    b"#",
    b" \t\f",
    b'"""',
    b"# comment",
    b"# -*- coding: utf-8 -*-",
    b"# -*- coding: utf8 -*-",
    b"# coding: UTF_8",
    b"# coding: utf-8-unix",
    b"# coding: latin-1",
    b"# coding: Latin_1-dos",
    b"# coding : latin-1",
    b"x = 1 # coding: latin-1",
    b"#coding=cp1252",
    b"\t# vim: set fileencoding=iso-8859-15 :",
    b"# encoding: koi8-r",
    b"# decoding: cp1251 coding: latin-1",
    b"# \xc3\xa9 coding: latin-1",
    b"# coding: ascii",
    b"# coding: nope",
    b"# coding:",
]


@given(
    st.lists(st.sampled_from(COOKIES), max_size=3),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.booleans(),
    st.sampled_from([b"", b"s = 'abc'\n", b"s = '\xc3\xa9'\n", b"s = '\xe9'"]),
)
@settings(max_examples=400, deadline=None)
def test_decodes_as_tokenize_does(head: list[bytes], end: bytes, bom: bool, tail: bytes) -> None:
    data = codecs.BOM_UTF8 * bom + b"".join(line + end for line in head) + b"\n" + tail
    expected = tokenize_text(data)
    if expected is None:
        with pytest.raises(Unreadable):
            decode("a.py", data)
    else:
        source = decode("a.py", data)
        assert (source.text, source.bom) == (expected, bom)
        assert source.encode(source.text) == data


@pytest.mark.parametrize("head", [b"# coding: latin-1 \xe9\n", b"# \xe9\n# coding: latin-1\n"])
def test_a_cookie_counts_beside_undecodable_bytes_as_in_the_compiler(head: bytes) -> None:
    data = head + b"s = '\xe9'"
    assert tokenize_text(data) is None  # tokenize is stricter than Python itself
    assert ast.parse(data).body[0].value.value == "é"  # type: ignore[attr-defined]
    assert "s = 'é'" in decode("a.py", data).text


@pytest.mark.parametrize(
    ("data", "row", "word"),
    [
        (b"a = 1\nb = '\xe9'\n", 2, "0xe9"),
        (b"a\r\rb\xff", 3, "0xff"),
        (codecs.BOM_UTF8 + b"a\n\xe9", 2, "0xe9"),
        (b"a\n\xe2\x82", 2, "0xe2"),
        (b"# coding: ascii\n\xe9", 2, "0xe9"),
        (b"#\n# coding: klingon\n", 2, "klingon"),
        (b"# coding: rot13\n", 1, "rot13"),
        (b"# coding: hex\n", 1, "hex"),
        (b"# coding: undefined\n", 1, "undefined"),
        (b"# coding: utf-16\nab", 1, "utf-16"),
        (b"# coding: cp037\n", 1, "cp037"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, "latin-1"),
        (b"a\r\nb\0", 2, "null"),
        ("a\n".encode("utf-16-le"), 1, "null"),
        ("a\n".encode("utf-16"), 1, "UTF-16"),
        (codecs.BOM_UTF16_BE + "a".encode("utf-16-be"), 1, "UTF-16"),
        ("a\n".encode("utf-32"), 1, "UTF-32"),
        (codecs.BOM_UTF32_BE + "a".encode("utf-32-be"), 1, "UTF-32"),
    ],
)
def test_refuses_with_reason_and_row(data: bytes, row: int, word: str) -> None:
    with pytest.raises(Unreadable, match=word) as caught:
        decode("a.py", data)
    assert caught.value.row == row
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.row, str(again)) == (caught.value.message, row, str(caught.value))


def test_a_heading_in_markdown_is_no_cookie() -> None:
    data = "# Encoding: notes\n\u00e9\n".encode()
    assert decode("README.md", data).text == data.decode()
    with pytest.raises(Unreadable, match="notes"):
        decode("readme.py", data)


def test_encode_says_which_character() -> None:
    source = decode("a.py", b"# coding: latin-1\n")
    with pytest.raises(Unreadable, match=r"U\+20AC.*iso-8859-1") as caught:
        source.encode("a\r\nb\rc €")
    assert caught.value.row == 3
    with pytest.raises(Unreadable, match="U\\+D800"):
        decode("a.py", b"").encode("\ud800")


# --------------------------------------------------------------------------------------- positions


@given(st.text(CHARACTERS, max_size=60), st.booleans())
@settings(max_examples=200, deadline=None)
def test_round_trip_and_positions(text: str, bom: bool) -> None:
    text = text.replace("\0", "").replace("coding", "").lstrip("\ufeff")
    data = codecs.BOM_UTF8 * bom + text.encode()
    source = decode("a.py", data)
    assert (source.text, source.encoding, source.bom, source.encode(text)) == (text, "utf-8", bom, data)
    rows = io.StringIO(text, newline="").readlines()  # universal newlines, kept
    if not rows or rows[-1].endswith(("\n", "\r")):
        rows.append("")
    assert [source.line(row + 1) for row in range(len(source.rows))] == [row.rstrip("\r\n") for row in rows]
    assert [text[at:] for at in source.rows] == ["".join(rows[row:]) for row in range(len(rows))]
    for offset in range(len(text) + 1):
        row, column = source.position(offset)
        assert source.offset(row, column) == offset
        assert "".join(rows[: row - 1]) + rows[row - 1][:column] == text[:offset]


@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 0), (-1, 0), (1, 4), (1, -1), (2, 1)])
def test_positions_outside_the_text(row: int, column: int) -> None:
    source = decode("a.py", b"ab\n")
    with pytest.raises(IndexError):
        source.offset(row, column)


def test_offsets_and_rows_outside_the_text() -> None:
    source = decode("a.py", b"ab\n")
    assert source.position(3) == (2, 0)
    for offset in (-1, 4):
        with pytest.raises(IndexError):
            source.position(offset)
    for row in (0, 3):
        with pytest.raises(IndexError):
            source.line(row)


@pytest.mark.parametrize(
    ("text", "end"),
    [("", "\n"), ("\r\nb", "\r\n"), ("\rb\r\nc\r", "\r"), ("a\nb\r\nc\n", "\n"), ("\n\r\n\r\n", "\r\n")],
)
def test_newline_is_the_most_common(text: str, end: str) -> None:
    assert decode("a.py", text.encode()).newline == end


# ------------------------------------------------------------------------------------------ reading


def test_reads_bytes_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\r\0")
    assert read_bytes(str(path), 8) == path.read_bytes()


def test_over_the_limit_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"#" * 2_100_000)
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("opened"))
    with pytest.raises(Unreadable, match=r"2\.10 MB, over max-file-size \(2 MB\)"):
        read_bytes(str(path), 2_000_000)


def test_what_is_no_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.py"
    os.mkfifo(fifo)  # would block for ever if opened
    refused = [
        (fifo, "FIFO"),
        ("/dev/null", "device"),
        (tmp_path, "directory"),
        (tmp_path / "no", "No such"),
        ("a\0b", "null"),
        ("x" * 300, "too long"),
    ]
    for path, word in refused:
        with pytest.raises(Unreadable, match=word):
            read_bytes(str(path), 100)


def test_permission_denied_in_the_systems_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)  # root may read anything, so the system cannot be asked
    with pytest.raises(Unreadable, match="cannot read: Permission denied"):
        read_bytes(str(path), 100)


# ------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize(
    "data",
    [b"a = 1\r\nb\r", codecs.BOM_UTF8 + b"a = 1\n", b"# coding: latin-1\na = '\xe9'\n", "a = '€'".encode()],
)
def test_write_keeps_every_other_byte_and_the_mode(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    path.chmod(0o751)
    source = read(path)
    write(source, source.text.replace("a = ", "abc = "))
    assert path.read_bytes() == data.replace(b"a = ", b"abc = ")
    assert path.stat().st_mode & 0o7777 == 0o751
    assert os.listdir(tmp_path) == ["a.py"]


def test_write_keeps_the_owner_where_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a")
    if os.geteuid() == 0:  # only root may give files away; for others it is their own before and after
        os.chown(path, 1234, 4321)
    owner = path.stat()
    write(read(path), "b")
    assert (path.stat().st_uid, path.stat().st_gid) == (owner.st_uid, owner.st_gid)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    write(read(path), "c")
    assert path.read_bytes() == b"c"


def test_write_follows_symlinks(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    target, middle, link = tmp_path / "there/a.py", tmp_path / "here/b.py", tmp_path / "here/c.py"
    target.write_bytes(b"a")
    middle.symlink_to("../there/a.py")
    link.symlink_to("b.py")
    write(read(link), "b")
    assert (os.readlink(link), os.readlink(middle), target.read_bytes()) == ("b.py", "../there/a.py", b"b")
    assert not target.is_symlink()
    assert [len(os.listdir(tmp_path / name)) for name in ("here", "there")] == [2, 1]


def check_untouched(path: Path, source: Source, text: str, word: str) -> None:
    before = path.read_bytes()
    with pytest.raises(Unreadable, match=word):
        write(source, text)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("data", "text", "word"),
    [
        (b"# coding: latin-1\n", "# coding: latin-1\n€", "U\\+20AC"),
        (b"# coding: latin-1\n'\xe9'", "a\nb\n# coding: latin-1\n'é'", "0xe9"),  # cookie moved away
        (b"# coding: utf-7\n'+AOk-' '+AGE-'", "# coding: utf-7\n'é' 'a'\n", "faithfully"),  # +AGE- is a
        (b"a", "\ufeffa", "faithfully"),
        (b"a", "a\0", "null"),
    ],
)
def test_write_refuses_what_does_not_round_trip(tmp_path: Path, data: bytes, text: str, word: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    check_untouched(path, read(path), text, word)


def test_write_refuses_a_file_that_changed_or_vanished(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a")
    source = read(path)
    path.write_bytes(b"mine")
    check_untouched(path, source, "b", "changed on disk")
    path.unlink()
    with pytest.raises(Unreadable, match="No such file"):
        write(source, "b")
    assert os.listdir(tmp_path) == []


def test_write_refuses_read_only_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a")
    source = read(path)
    path.chmod(0o444)
    check_untouched(path, source, "b", "read-only")  # by its mode: root could write it
    path.chmod(0o644)
    monkeypatch.setattr(os, "access", lambda *_: False)  # another user's file, or a read-only file system
    check_untouched(path, source, "b", "read-only")


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
def test_a_failing_step_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a")
    source = read(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    check_untouched(path, source, "b", "cannot write: No space left on device")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(source, "b")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"a", ["a.py"])


# ------------------------------------------------------------------------------------------ patches


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", *arguments)
    done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repo")
    git(folder, "init", "-q")
    return folder


NAMES = [
    "a.py",
    "dir/my file.py",
    'q"uote.py',
    "back\\slash.py",
    "é/日本.py",
    "tab\there.py",
    "a\nb.py",
    "'s.py",
    " é.py",
    "\x7f.py",
    "trailing ",
    "a b/c d",
]
CONTENTS = [
    (b"a\nb\nc\n", b"a\nB\nc\n"),
    (b"a\nb", b"a\nc"),
    (b"a\nb\n", b"a\nb"),
    (b"a\nb", b"a\nb\n"),
    (b"a\r\nb\r\nc", b"a\r\nB\r\nc"),
    (b"a\rb\rc\n", b"a\rB\rc\n"),
    (b"'\xe9'\nx\n", b"'\xe8'\nx\n"),
    (b"", b"new\n"),
    (b"old\n", b""),
    (b"x\n", b"x\n\n"),
    (b"--- a\n+++ b\n", b"-- a\n+++ b\n"),
    (b"".join(b"%d\n" % i for i in range(60)), b"".join(b"%d\n" % i for i in range(60) if i % 20 != 9)),
]


def applied(repo: Path, name: str, old: bytes, patch: bytes) -> bytes:
    path = repo / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(old)
    git(repo, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("name", NAMES)
def test_git_applies_to_any_name(repo: Path, name: str) -> None:
    assert applied(repo, name, b"a\nb\n", unified_patch(name, b"a\nb\n", b"a\nc\n")) == b"a\nc\n"
    git(repo, "add", "--", name)  # the index has a\nc\n; git writes the same header
    (repo / name).write_bytes(b"a\n")
    theirs = git(repo, "diff", "--no-color", "--", name).split(b"\n")
    ours = unified_patch(name, b"a\nc\n", b"a\n").split(b"\n")
    assert ours == [line for line in theirs if not line.startswith(b"index ")]


@pytest.mark.parametrize(("old", "new"), CONTENTS)
def test_git_applies_any_content(repo: Path, old: bytes, new: bytes) -> None:
    assert applied(repo, "content.py", old, unified_patch("content.py", old, new)) == new


@pytest.mark.parametrize(("old", "new"), [(b"", b"a\n"), (b"a\n", b""), (b"a\n", b"b\n"), (b"a\nb", b"a\nb\n\n")])
def test_hunks_are_written_as_git_writes_them(repo: Path, old: bytes, new: bytes) -> None:
    (repo / "hunk.py").write_bytes(old)
    git(repo, "add", "hunk.py")
    (repo / "hunk.py").write_bytes(new)
    theirs = git(repo, "diff", "--no-color", "hunk.py").split(b"\n")
    ours = unified_patch("hunk.py", old, new).split(b"\n")
    assert ours == [line for line in theirs if not line.startswith(b"index ")]


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_applies_the_difference(repo: Path, before: list[bytes], after: list[bytes]) -> None:
    old, new = b"".join(before), b"".join(after)
    patch = unified_patch("made.py", old, new)
    if old == new:
        assert patch == b""
    else:
        assert applied(repo, "made.py", old, patch) == new


def test_patches_join_and_absolute_paths_lose_the_slash(repo: Path) -> None:
    both = unified_patch("one.py", b"1", b"one") + unified_patch(f"{os.sep}two.py", b"2\n", b"two\n")
    (repo / "one.py").write_bytes(b"1")
    assert applied(repo, "two.py", b"2\n", both) == b"two\n"
    assert (repo / "one.py").read_bytes() == b"one"
