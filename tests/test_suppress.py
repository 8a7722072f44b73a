"""Suppressions: flake8's own functions say what a noqa silences; removing a directive changes nothing else."""

from __future__ import annotations

import argparse
import io
import tokenize

import pytest
from flake8.processor import FileProcessor
from flake8.violation import Violation
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gelu_lint.engine import judge, summarise
from gelu_lint.fixer import apply, fix
from gelu_lint.model import Directive, Finding, Project, Span
from gelu_lint.registry import enabled
from gelu_lint.scan import scan
from gelu_lint.source import decode
from gelu_lint.suppress import directives, silence

CODES = enabled(("GEL",), (), ())
OPTIONS = argparse.Namespace(
    hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0, disable_noqa=False
)


def found(text: str) -> list[Directive]:
    return directives(text, scan(text))


def ours(text: str, code: str = "GEL001") -> list[int]:
    """The rows on which a finding would be silenced by a noqa."""
    rows = range(1, len(scan(text).rows) + 1)
    noqas = [d for d in found(text) if d.kind in ("noqa", "text")]
    findings = [Finding(code, "m.py", Span(row, 0, row, 1), "", "info", statement=(row, row)) for row in rows]
    kept, _ = silence(findings, noqas, CODES, CODES)
    return [f.span.row for f in findings if f not in kept]


def theirs(text: str, code: str = "GEL001") -> list[int]:
    lines = io.StringIO(text, newline=None).readlines()
    processor = FileProcessor("m.py", OPTIONS, lines)
    return [
        row
        for row in range(1, len(lines) + 1)
        if Violation(
            code,
            "m.py",
            row,
            1,
            "",
            processor.noqa_line_for(row) or lines[row - 1],  # as flake8 falls back
        ).is_inline_ignored(False)
    ]


SPELLINGS = [
    "# noqa", "#noqa", "#  noqa", "# NOQA", "# NoQa", "# noqa:", "# noqa: GEL001", "# noqa:GEL001", "# noqa:  GEL001",
    "# noqa : GEL001", "# noqa: gel001", "# noqa: Gel001", "# NOQA:GEL001,E501", "# noqa: E501,GEL001",
    "# noqa: E501 GEL001", "# noqa: E501 ,, GEL001", "# noqa: E501,W291", "# noqa: GEL", "# noqa: GEL0", "# noqa: G001",
    "# noqa: GEL0012", "# noqa: GEL001E501", "# noqa: E501GEL001", "# noqa:\tGEL001", "# noqa: GEL001, because x1",
    "# noqa: GEL001because", "# noqa GEL001", "# noqa-GEL001", "# xnoqa", "# noqax", "# why # noqa: GEL001",
    "# noqa: E501 # noqa: GEL001", "# noqa: GEL001 # noqa: E501", "# noqa  # noqa: E501", "## noqa", "# # noqa: GEL001",
    "# noqa; GEL001", "# noqa: E501;GEL001", "# noqa:\u00a0GEL001", "# noqa: ÄGEL001",
]  # fmt: skip

PLACES = [
    "x = 1  {}\n",
    "{}\nx = 1\n",
    "x = (  {}\n    1\n)\n",
    "x = (\n    1  {}\n)\n",
    "x = (\n    1\n)  {}\n",
    "x = 1 + \\\n    2  {}\ny = 1\n",
    'x = """a\nb"""  {}\ny = 1\n',
    'x = """a\nb {}\nc"""\ny = 1\n',
    'x = """a {}\nGEL001 b\nc"""  # noqa: E501\ny = 1\n',
    "x = '{}'\ny = 1\n",
    "x = '{}'  # noqa: E501\n",
    "x = f'{{y}} {}'\n",
    "x = 'a\\\nb {}'\ny = 1\n",
    "if x:  {}\n    y = 1\n",
    "if x:\n    {}\n    y = 1\n",
    "def f(\n    a,  {}\n    b,\n): pass\n",
    "x = [\n    '''a\nb''',  {}\n    c,\n]\n",
    "x = 1; y = 2  {}\nGEL001 = 2\n",
    "x = 1  {}\r\ny = 2\r\n",
    "x = '''a\r\nb'''  {}\r\ny = 2\r\n",
    "x = 1  {}\ry = 2\r",
    "\tx\n".lstrip() + "x = 1  {}\x0c\ny = 2\n",
    "x = 1  {}",
    "@f  {}\ndef g(): pass\n",
    "x = 1  {}\nE501 = 1\n",
]


@pytest.mark.parametrize("place", PLACES)
def test_noqa_silences_what_flake8_silences(place: str) -> None:
    for spelling in SPELLINGS:
        text = place.format(spelling)
        assert ours(text) == theirs(text), text


PIECES = st.sampled_from(
    [
        *SPELLINGS, "x = 1", "  ", "\n", "\n", "\n", "\r\n", " \\\n", "'", "'", '"', '"""', '"""', "'''", "(", ")", "[",
        "]", "{", "}", "f'", "if x: ", "    y", "# why", ",", "E501", "GEL001", "\\", "r'", "\x0c",
    ]
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.lists(PIECES, max_size=14).map(lambda pieces: "".join(pieces) + "\n"))
def test_noqa_silences_what_flake8_silences_anywhere(text: str) -> None:
    try:
        list(tokenize.generate_tokens(io.StringIO(text, newline=None).readline))
        compile(text, "m.py", "exec")
    except (SyntaxError, tokenize.TokenError, ValueError):
        assume(False)
    # No finding stands on a row of white space and a backslash.
    held = {row for row, line in enumerate(io.StringIO(text, newline=None), 1) if line.strip(" \t\f\n\\")}
    assert held & set(ours(text)) == held & set(theirs(text))


def test_file_noqa_is_the_one_that_flake8_honours() -> None:
    for line in ("# flake8: noqa", "# FLAKE8: NOQA", "# flake8=noqa", "    # flake8: noqa", "x = 1  # flake8: noqa"):
        text = f"{'if x:' if line[0] == ' ' else ''}\n{line}\n    y = 1\n" if line[0] == " " else f"{line}\n"
        skipped = FileProcessor("m.py", OPTIONS, text.splitlines(True)).should_ignore_file()
        assert [d.kind for d in found(text) if d.kind == "file"] == ["file"] * skipped, line


# --- # gelu-lint: ignore -------------------------------------------------------------------------------------------

HEAD = "from torch import nn\n\n"


def left(code: str) -> list[str]:
    """Codes of the findings that remain."""
    return [f.code for f in judge(summarise(decode("m.py", (HEAD + code).encode())), Project(), CODES)]


@pytest.mark.parametrize(
    "code",
    [
        "a = nn.GELU()  # gelu-lint: ignore[GEL001]\n",
        "a = nn.GELU()  # gelu-lint: ignore[GEL001] as in the paper\n",
        "a = nn.GELU()  #gelu-lint:ignore[gel001]\n",
        "a = nn.GELU()  # Gelu-Lint: Ignore [ GEL001 ]\n",
        "a = nn.GELU()  # gelu-lint: ignore[GEL0]\n",
        "a = nn.GELU()  # gelu-lint: ignore[GEL]\n",
        "a = nn.GELU()  # why # gelu-lint: ignore[GEL001]\n",
        "a = nn.GELU()  # type: ignore  # gelu-lint: ignore[GEL001]  # noqa: E501\n",
        "a = f(  # gelu-lint: ignore[GEL001]\n    nn.GELU(),\n)\n",
        "a = f(\n    nn.GELU(),\n)  # gelu-lint: ignore[GEL001]\n",
        "a = f('''\n''', nn.GELU(), '''\n''')  # gelu-lint: ignore[GEL001]\n",
        "a = 1 + \\\n    nn.GELU()  # gelu-lint: ignore[GEL001]\n",
        "if nn.GELU():  # gelu-lint: ignore[GEL001]\n    pass\n",
        "if f(\n    nn.GELU()\n):  # gelu-lint: ignore[GEL001]\n    pass\n",
        "while f(  # gelu-lint: ignore[GEL001]\n    nn.GELU()\n):\n    pass\n",
        "def f(\n    a=nn.GELU()\n):  # gelu-lint: ignore[GEL001]\n    pass\n",
        "# gelu-lint: ignore-file[GEL001]\na = nn.GELU()\n",
        "a = nn.GELU()\n# gelu-lint: ignore-file[GEL]\n",
        "# flake8: noqa\na = nn.GELU()\n",
        "a = nn.GELU()  # gelu-lint: ignore[GEL001]",
        "a = nn.GELU()  # gelu-lint: ignore[GEL001]\r\n",
    ],
)
def test_silenced(code: str) -> None:
    assert left(code) == []


@pytest.mark.parametrize(
    ("code", "codes"),
    [
        ("a = f(\n    nn.GELU(),  # gelu-lint: ignore[GEL001]\n)\n", ["GEL001", "GEL901"]),  # neither first nor last
        ("# gelu-lint: ignore[GEL001]\na = nn.GELU()\n", ["GEL901", "GEL001"]),
        ("if x:  # gelu-lint: ignore[GEL001]\n    a = nn.GELU()\n", ["GEL901", "GEL001"]),
        ("a = nn.GELU()  # gelu-lint: ignore[GEL003]\n", ["GEL001", "GEL901"]),
        ("a = nn.GELU()  # gelu-lint: ignore[GEL001, GEL003]\n", ["GEL901"]),
        ("a = nn.GELU()  # gelu-lint: ignore[GEL999]\n", ["GEL001", "GEL901"]),
        ("a = nn.GELU()  # gelu-lint: ignore\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint: ignore[]\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint: ignore[GEL001\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint: ignore[E501]\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint: ignore[GEL0011]\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint: disable[GEL001]\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint:\n", ["GEL001", "GEL902"]),
        ("# gelu-lint: ignore-file\na = nn.GELU()\n", ["GEL902", "GEL001"]),
        ("a = nn.GELU()  # noqa: GEL\n", ["GEL902"]),  # a bare noqa, which says so
        ("a = nn.GELU()  # noqa: gel001\n", ["GEL001", "GEL902"]),
        ("a = nn.GELU()  # gelu-lint is fine here\n", ["GEL001"]),
        ("a = '# gelu-lint: ignore[GEL001]', nn.GELU()\n", ["GEL001"]),
        ("a = nn.GELU(approximate='none')  # noqa: E501\n", []),
        ("a = nn.GELU(approximate='none')  # noqa: E501, GEL001\n", ["GEL901"]),
        ("a = nn.GELU(approximate='none')  # noqa\n", []),
        ("a = '# noqa: GEL001'\n", []),
    ],
)
def test_not_silenced(code: str, codes: list[str]) -> None:
    assert left(code) == codes


def test_a_code_is_idle_only_if_its_rules_ran() -> None:
    (directive,) = found("x = 1  # noqa: GEL001, GEL002, E501, GEL999, GEL0\n")
    assert silence([], [directive], ["GEL001"], CODES)[1][0].idle == ("GEL001", "GEL999")
    every = silence([], [directive], CODES, CODES)[1][0]
    assert every.idle == ("GEL001", "GEL002", "GEL999", "GEL0")


def test_two_directives_for_one_finding_leave_the_second_idle() -> None:
    assert left("a = nn.GELU()  # noqa: GEL001  # gelu-lint: ignore[GEL001]\n") == ["GEL901"]


@pytest.mark.parametrize("code", ["GEL900", "GEL901", "GEL902"])
def test_findings_about_the_tool_are_never_silenced(code: str) -> None:
    finding = Finding(code, "m.py", Span(1, 0, 1, 1), "", "info", statement=(1, 1))
    for text in ("x  # noqa\n", "x  # gelu-lint: ignore[GEL]\n", "# flake8: noqa\n"):
        assert silence([finding], found(text), CODES, CODES)[0] == [finding]


# --- Taking a directive out ----------------------------------------------------------------------------------------

IDLE = ["# noqa: GEL001", "# noqa:GEL001,GEL003", "# NOQA: GEL001", "# gelu-lint: ignore[GEL001]",
        "# gelu-lint: ignore[GEL001] as the paper says, see #12", "# gelu-lint: ignore-file[GEL003] old"]  # fmt: skip


def tokens(text: str) -> list[tuple[int, str]]:
    """All that is code or comment, without line ends of rows that hold no code."""
    stream = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [(t.type, t.string) for t in stream if t.type not in (tokenize.NL, tokenize.INDENT)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  {}\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\t{}\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1{}\n", "x = 1\n"),
        ("x = 1  {}", "x = 1"),
        ("if x:\n\t{}\n\ty = 1\n", "if x:\n\ty = 1\n"),
        ("if x:\n    y = 1\n    {}\n", "if x:\n    y = 1\n"),
        ("{}\nx = 1\n", "x = 1\n"),
        ("x = 1\n{}", "x = 1\n"),
        ("x = 1  # why  {}\n", "x = 1  # why\n"),
        ("x = 1  # why {}  # type: ignore\n", "x = 1  # why # type: ignore\n"),
        ("x = 1  {} # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = f(  {}\n    1,  # one\n)  # end\n", "x = f(\n    1,  # one\n)  # end\n"),
        ("x = '''\n'''  {}\n", "x = '''\n'''\n"),
        ("x = 'é😀'  {}\ny = 2\n", "x = 'é😀'\ny = 2\n"),
        ("if x:  {}\n    y = 1\n", "if x:\n    y = 1\n"),
        ("# fmt: off\n{}\n\n\nx = 1\n", "# fmt: off\n\n\nx = 1\n"),
    ],
)
def test_an_idle_directive_goes_and_nothing_else(before: str, after: str, newline: str) -> None:
    for directive in IDLE:
        text = before.format(directive).replace("\n", newline)
        source = decode("m.py", text.encode())
        compile(source.text, "m.py", "exec")
        findings = [f for f in judge(summarise(source), Project(), CODES) if f.code == "GEL901"]
        assert len(findings) == 1, text
        assert apply(source, findings[0].fix.edits) == after.replace("\n", newline), text
        fixed = fix(source, Project(), CODES, 0.0, False)
        assert (fixed.text, fixed.gone, fixed.left) == (after.replace("\n", newline), 1, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: GEL001 since it must\n", "x = 1  # since it must\n"),
        ("x = 1  # noqa: E501, GEL001\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: GEL001, E501 long\n", "x = 1  # noqa: E501 long\n"),
        ("x = 1  # noqa:E501,GEL001,W291\n", "x = 1  # noqa:E501, W291\n"),
        ("nn.GELU()  # gelu-lint: ignore[GEL001, GEL003] why\n", "nn.GELU()  # gelu-lint: ignore[GEL001] why\n"),
        ("a = nn.GELU()  # noqa: GEL001 # gelu-lint: ignore[GEL001]\n", "a = nn.GELU()  # noqa: GEL001\n"),
        ("# gelu-lint: ignore-file[GEL001]\n# flake8: noqa: E501\nx = 1\n", "# flake8: noqa: E501\nx = 1\n"),
    ],
)
def test_what_else_the_comment_says_stays(before: str, after: str) -> None:
    assert fix(decode("m.py", (HEAD + before).encode()), Project(), CODES, 0.0, False).text == HEAD + after


LINES = st.sampled_from(["x = 1", "if x:\n    y = 1", "x = (\n    1,\n)", "x = '''a\nb'''", "def f(): pass", ""])
COMMENTS = st.sampled_from(["", "  # why", "  # é", "\t# type: ignore", *("  " + directive for directive in IDLE)])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(LINES, COMMENTS, COMMENTS), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_removal_keeps_every_token_and_every_other_comment(parts, newline: str) -> None:
    text = "\n".join(f"{line}{one}{two}" for line, one, two in parts).replace("\n", newline)
    fixed = fix(decode("m.py", text.encode()), Project(), CODES, 0.0, False)
    compile(fixed.text, "m.py", "exec")

    def others(code: str) -> list[str]:
        kept = []
        for kind, string in tokens(code):
            words = string.split("# ") if kind == tokenize.COMMENT else [string]
            kept += [word.strip() for word in words if "GEL" not in word and word.strip()]
        return kept

    assert others(fixed.text) == others(text)
    assert not [f for f in fixed.left if f.code == "GEL901"]
    assert "\n" not in fixed.text.replace("\r\n", "") or newline == "\n"
