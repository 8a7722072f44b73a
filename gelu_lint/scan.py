"""Python text → logical lines and top-level statements, without a parser.

It reads what a tokenizer must know and no more: strings, comments, brackets and row ends. Whatever the text, it
raises nothing and takes linear time; where the text is not Python it says so (`Scan.sure`).

Rows count from 1, columns from 0, both in code points. A row ends at \\n, \\r\\n or a lone \\r, nowhere else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from gelu_lint.named import NamedTuple
from gelu_lint.source import row_starts

# What LibCST 1.9 can take. Its parser segfaults near 3,000 brackets; 99 blocks are all that it and CPython accept;
# printing a module again needs 2 Python frames an operator, a visitor 3, of the 1,000 that Python grants; every level
# of a pattern takes it four times as long, one of a faulty `del` twice.
MAX_BRACKETS = 100  # nested, per logical line
MAX_STEEP = 6  # the same for `case` and `del`
MAX_CHAIN = 250  # operators, calls, attributes, adjacent strings that may nest in one another, per logical line
MAX_BLOCKS = 99  # nested
MAX_ELIFS = 200  # `elif` arms of one `if`


class Logical(NamedTuple):
    """One logical line: what lies between two NEWLINE tokens, comments and blank rows around it left out."""

    row: int  # first physical row
    end_row: int  # last physical row
    indent: int  # number of white space characters before it
    word: str  # its first token if that is a name or a keyword, "@" for a decorator, else ""
    fault: str  # "" or why it is out of bounds


class Comment(NamedTuple):
    """A comment that may be a directive: it mentions noqa or gelu-lint, in any case."""

    row: int
    column: int
    text: str  # starts with "#"


class Statement(NamedTuple):
    """One top-level statement with its decorators, body and arms; statements joined by ";" are one."""

    row: int  # first physical row
    end_row: int  # last physical row that holds code
    kind: str  # "import" | "def" | "class" | "compound" | "simple"
    lines: tuple[int, int]  # [first, last) of Scan.logical


class Scan(NamedTuple):
    """A whole text, scanned."""

    rows: tuple[int, ...]  # row r starts at character rows[r - 1]; what follows the last row end is a row, too
    logical: tuple[Logical, ...]
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...]
    joins: tuple[tuple[int, int], ...]  # (first, last) rows that flake8 takes for one line when it looks for noqa
    sure: bool  # False where this is not Python, or the scanner lost its way: then trust no statement


_LINE_END = re.compile(r"\r\n?|\n")
_DIRECTIVE = re.compile(r"noqa|gelu-lint", re.IGNORECASE)

# The head of a logical line: white space, then a name that is no string prefix, or "@".
_HEAD = re.compile(r"""[ \t\f]*(?:(?!(?:[rR]?[bBfFtT]|[bBfFtT]?[rR]|[uU])['"])([^\W\d]\w*)|(@))?""")
_ASYNC_DEF = re.compile(r"async[ \t\f]+def\b")
_STEEP = re.compile(r"^[ \t\f]*case\b(?![ \t\f]*[=.,])|(?:^|[:;])[ \t\f]*del\b", re.MULTILINE)

# Kinds of token. The first eleven are groups of the patterns below.
_NEWLINE, _OPEN, _CLOSE, _COMMENT, _JOIN, _QUOTE, _ODD, _COLON, _COMMA, _OPERATOR, _BINDER = range(1, 12)
_NL = 12  # row end inside brackets
_ROWS = 13  # row ends inside a string
_FIELD = 14  # "{" of an f-string; "}" is _CLOSE
_STRING = 15  # a string that the loop saw, or the start of an f-string
_DEEP = 16  # after a bracket: more than MAX_STEEP are, or may be, open

_TOKENS = r"""
    (\n) | ([(\[{]) | ([)\]}]) | (\#[^\n]*) | (\\\n) | (\"\"\"|'''|"|')
    | ([$?`!\\\x00-\x08\x0b\x0e-\x1f\x7f])
"""
# Characters that start no token, whole one-row strings without fields, and brackets that close in their row are skipped
# inside the match: the loop turns once a token.
_RUN = r"""[^'"#\\()\[\]{}\n$?`!\x00-\x08\x0b\x0e-\x1f\x7f]*"""
_PLAIN = r"""
    (?<![fFtT])(?<![fFtT][rR])
    (?: "(?!"")[^"\\\n]*(?:\\[^\n][^"\\\n]*)*" | '(?!'')[^'\\\n]*(?:\\[^\n][^'\\\n]*)*' )
"""
_PAIR = rf"(?: \({_RUN}\) | \[{_RUN}\] | \{{{_RUN}\}} )"
_HELD = rf"{_RUN} (?: (?:{_PLAIN}|{_PAIR}) {_RUN} )*"
_PAIRS = rf"(?: \({_HELD}\) | \[{_HELD}\] | \{{{_HELD}\}} )"
_SKIPPED = 2  # so many brackets in brackets
_FAST = re.compile(rf"{_RUN} (?: (?:{_PLAIN}|{_PAIRS}) {_RUN} )* (?:{_TOKENS}|\Z)", re.VERBOSE)
# Every token, for fields of f-strings and for lines that are long enough to hold a long chain.
_FULL = re.compile(
    rf"""
    (?: [ \t\f]+
      | 0[xX][0-9a-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+
      | (?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9][0-9_]*)?[jJ]?
      | (?!(?:not|and|or|in|is|if|else|lambda|await|yield|for)(?!\w))[^\W\d]\w*
      | \.\.\.
    )*
    (?: {_TOKENS} | (:) | ([,;])
      | (\*\*=?|//=?|>>=?|<<=?|->|[-+*/%@&|^~<>=]=?|\.|(?:not|and|or|in|is|if|else|await|yield)(?!\w))
      | ((?:lambda|for)(?!\w))
      | \Z | . )
    """,
    re.VERBOSE | re.DOTALL,
)

# At least one of these for each operator, call and string, see _FULL.
_SIGN = re.compile(r"""[-+*/%@&|^~<>=.(\[{"']""")
_WORDS = ("not", "and", "or", "in", "is", "if", "else", "await", "yield", "lambda")  # "for" has an "or"

_F_PREFIX = re.compile(r"(?:\W|^)(?:[fFtT][rR]?|[rR][fFtT])\Z")
_REST = {
    "'": re.compile(r"[^'\\\n]*(?:\\.[^'\\\n]*)*'", re.DOTALL),
    '"': re.compile(r'[^"\\\n]*(?:\\.[^"\\\n]*)*"', re.DOTALL),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""', re.DOTALL),
}
# One stretch of the literal part of an f-string. A backslash hides any character but a brace.
_LITERAL = re.compile(r"""[^{}'"\\\n]*(?:(\\?\n)|(\{\{|\}\})|([{}])|(\"\"\"|'''|"|')|\\[^{}]?|\Z)""")

_CLOSER = {"(": ")", "[": "]", "{": "}"}
# Until 3.12 an f-string is one token, and a row end in a field is just one of its rows.
_FIELDS_ARE_TOKENS = sys.version_info >= (3, 12)

Token = tuple[int, int, int]


def _literal(text: str, pos: int, end: int, mode: str) -> Token:
    """(kind, start, end) of the next stretch of the literal part (mode "f") or a format (":") of an f-string.

    The kind is that of what ends it: _FIELD, _CLOSE, _QUOTE for the end of the string, _NEWLINE for a row end that
    may not be there, _ROWS for one that may, _ODD, or 0.
    """
    m = _LITERAL.match(text, pos, end)
    assert m is not None, "it matches anywhere"
    quote = mode[1:]
    what = m.lastindex
    if what is None:
        return 0, pos, m.end()
    start, stop = m.span(what)
    if what == 1:
        return (_ROWS if len(quote) == 3 or stop - start == 2 else _NEWLINE), start, stop
    if what == 4:
        if text.startswith(quote, start):
            return _QUOTE, start, start + len(quote)
        return 0, start, stop
    if what == 2 and mode[0] == "f":
        return 0, start, stop
    # Braces are not doubled in a format.
    kind = _FIELD if text[start] == "{" else _CLOSE if mode[0] == ":" else _ODD
    return kind, start, start + 1


def _tokens(text: str, pos: int, end: int, full: bool) -> Iterator[Token]:
    """(kind, start, end) of what matters in text[pos:end], where rows end with \\n. Commas and operators if `full`."""
    # What is open. A bracket is the character that closes it. An f-string is "f" + its quote while its literal part
    # is read, a field of it "}" + quote, the format of a field ":" + quote: the first character says how to go on.
    stack: list[str] = []
    strings = 0  # f-strings open
    steep = MAX_STEEP if full else MAX_STEEP - _SKIPPED
    while pos < end:
        top = stack[-1] if stack else ""
        if top[:1] in ("f", ":"):
            kind, start, pos = _literal(text, pos, end, top)
            if kind in (_QUOTE, _NEWLINE):
                if kind == _NEWLINE or top[0] == ":":
                    yield _ODD, start, pos
                if kind == _NEWLINE:
                    pos = start  # let the string end with its row
                while stack.pop()[0] != "f":
                    pass
                strings -= 1
                continue
            if kind:
                yield kind, start, pos
            if kind == _FIELD:
                stack.append("}" + top[1:])
                if len(stack) > steep:
                    yield _DEEP, start, pos
            elif kind == _CLOSE:
                stack.pop()
            continue
        for m in (_FULL if full or strings else _FAST).finditer(text, pos, end):
            what = m.lastindex
            if what is None:
                pos = m.end()
                continue
            start, pos = m.span(what)
            if what == _NEWLINE:
                if not stack:
                    yield _NEWLINE, start, pos
                elif strings and not _FIELDS_ARE_TOKENS:
                    yield _ROWS, start, pos
                else:
                    yield _NL, start, pos
            elif what == _OPEN:
                yield _OPEN, start, pos
                stack.append(_CLOSER[text[start]])
                if len(stack) > steep:
                    yield _DEEP, start, pos
            elif what == _CLOSE:
                top = stack[-1] if stack else ""
                if top[:1] != text[start]:
                    yield _ODD, start, pos
                    continue
                yield _CLOSE, start, pos
                stack.pop()
                if len(top) > 1:
                    break  # a field ends: back to the literal part
            elif what == _QUOTE:
                yield _STRING, start, pos
                quote = text[start:pos]
                if _F_PREFIX.search(text, max(start - 3, 0), start):
                    stack.append("f" + quote)
                    strings += 1
                    if len(stack) > steep:
                        yield _DEEP, start, pos
                    break
                rest = _REST[quote].match(text, pos, end)
                if rest is None:  # no tokenizer goes on here: give up the row, or all
                    yield _ODD, start, pos
                    pos = text.find("\n", pos, end) if len(quote) == 1 else -1
                    if pos < 0:
                        pos = end
                    break
                pos = rest.end()
                if "\n" in rest.group():
                    yield _ROWS, start, pos
                break
            elif what == _ODD:
                in_field = stack and len(stack[-1]) > 1
                if text[start] != "!" or not (in_field or text.startswith("=", pos)):  # "!=", "{x!r}"
                    yield _ODD, start, pos
            elif what == _COLON:
                if stack and len(stack[-1]) > 1:
                    stack[-1] = ":" + stack[-1][1:]
                    break
                yield _COLON, start, pos
            else:
                yield what, start, pos
        else:
            break
    if stack:
        yield _ODD, end, end


def _may_exceed(text: str, start: int, end: int) -> bool:
    """Whether there are enough signs and words that may be operators, calls or strings for a chain above MAX_CHAIN."""
    signs = len(_SIGN.findall(text, start, end))
    return signs + sum(text.count(word, start, end) for word in _WORDS) > MAX_CHAIN


def _excess(text: str, start: int, end: int, brackets: int) -> str:
    """Why a logical line is out of bounds, or "": more nested brackets than given, or a chain above MAX_CHAIN."""
    # Per open bracket: the links that a comma ends, and how many lambdas and fors still await their ":" or "in": until
    # then a comma parts their names.
    links, lambdas, fors = [0], [0], [0]
    total = 0
    for kind, at, to in _tokens(text, start, end, True):
        if kind in (_OPERATOR, _STRING, _OPEN, _BINDER):
            links[-1] += 1
            total += 1
        if kind == _BINDER:
            (lambdas if text[at] == "l" else fors)[-1] += 1
        elif kind == _COLON and lambdas[-1]:
            lambdas[-1] -= 1
        elif kind == _OPERATOR and fors[-1] and text[at:to] == "in":
            fors[-1] -= 1
        elif kind == _COMMA and not lambdas[-1] and not fors[-1]:
            total -= links[-1]
            links[-1] = 0
        if kind in (_OPEN, _FIELD):
            for stack in (links, lambdas, fors):
                stack.append(0)
            if len(links) > brackets + 1:
                return f"brackets nested deeper than {brackets}"
        elif kind == _CLOSE and len(links) > 1:
            total -= links.pop()
            lambdas.pop()
            fors.pop()
        if total > MAX_CHAIN:
            return f"more than {MAX_CHAIN} operators, calls or strings in a chain"
    return ""


def _column(space: str) -> int:
    """The column that Python sees after this white space."""
    column = 0
    for c in space:
        column = 0 if c == "\f" else column // 8 * 8 + 8 if c == "\t" else column + 1
    return column


_ARMS = frozenset(("elif", "else", "except", "finally"))
_KINDS = {
    "import": "import",
    "from": "import",
    "def": "def",
    "class": "class",
    "@": "@",  # until its def or class is seen
    **dict.fromkeys(("if", "try", "while", "for", "with", "match", "async"), "compound"),
}


def _statements(lines: list[Logical], columns: list[int], asyncs: set[int]) -> tuple[list[Statement], bool]:
    """The top-level statements, and whether they look like Python. Marks in `lines` those with too many blocks or arms.

    `columns` holds the column of each line, `asyncs` the indices of those that start with `async def`.
    """
    statements: list[Statement] = []
    sure = True
    kind = ""  # of the statement being read, "" before the first
    first = 0  # its first line
    columns_open, elifs = [0], [0]  # of the blocks being read

    for i, (line, column) in enumerate(zip(lines, columns, strict=True)):
        if column > columns_open[-1]:
            columns_open.append(column)
            elifs.append(0)
            sure = sure and kind not in ("", "simple", "import")
        while column < columns_open[-1]:
            columns_open.pop()
            elifs.pop()
        if line.word == "elif":
            elifs[-1] += 1
        elif line.word != "else":
            elifs[-1] = 0

        if column == 0 and line.word in _ARMS and kind == "compound":
            pass
        elif column == 0 and kind == "@":
            kind = "def" if i in asyncs else _KINDS.get(line.word, "simple")
            sure = sure and kind in ("def", "class", "@")
        elif column == 0 or not kind:
            if kind:
                statements.append(Statement(lines[first].row, lines[i - 1].end_row, kind, (first, i)))
            kind = "def" if i in asyncs else _KINDS.get(line.word, "simple")
            first = i
            sure = sure and line.word not in _ARMS

        if len(columns_open) - 1 > MAX_BLOCKS:
            lines[first] = lines[first]._replace(fault=f"blocks nested deeper than {MAX_BLOCKS}")
        elif elifs[-1] > MAX_ELIFS:
            lines[first] = lines[first]._replace(fault=f"more than {MAX_ELIFS} elif arms")
    if kind:
        statements.append(Statement(lines[first].row, lines[-1].end_row, kind, (first, len(lines))))
    return statements, sure and kind != "@"


def scan(text: str) -> Scan:
    """Rows, logical lines, top-level statements, directives and joined rows of Python text. Raises nothing."""
    rows = row_starts(text)
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    if not text.endswith("\n"):
        text += "\n"
    end = len(text)
    tricky = "\t" in text or "\f" in text

    logical: list[Logical] = []
    columns: list[int] = []
    asyncs: set[int] = set()
    comments: list[Comment] = []
    joins: list[tuple[int, int]] = []
    sure = True
    row = 1  # being read
    begin, first = 0, 1  # offset and row where the logical line starts
    join = 0  # row of the first token since the last row end that was a token, 0 if there was none
    deep = False

    def finish(at: int) -> None:
        """Adds the logical line that ends before `at`, unless it is empty."""
        head = _HEAD.match(text, begin)
        assert head is not None, "it matches anywhere"
        last = head.lastindex
        word = head[last] if last else ""
        start = head.end() - len(word)
        if not last and text[start] in "#\n":
            return
        fault = ""
        if deep or (at - begin > MAX_CHAIN and (text[start] in "\"'" or _may_exceed(text, begin, at))):
            fault = _excess(text, begin, at, MAX_STEEP if _STEEP.search(text, begin, at) else MAX_BRACKETS)
        if word == "async" and _ASYNC_DEF.match(text, start):
            asyncs.add(len(logical))
        columns.append(_column(text[begin:start]) if tricky else start - begin)
        logical.append(Logical(first, row, start - begin, word, fault))

    for kind, start, stop in _tokens(text, 0, end, False):
        if kind in (_NEWLINE, _NL):
            if join and join < row:
                joins.append((join, row))
            join = 0
            if kind == _NEWLINE:
                finish(stop)
                begin, first, deep = stop, row + 1, False
            row += 1
        elif kind == _COMMENT:
            if _DIRECTIVE.search(text, start, stop):
                comments.append(Comment(row, start - text.rfind("\n", 0, start) - 1, text[start:stop]))
        elif kind == _ROWS:
            join = join or row
            row += text.count("\n", start, stop)
        elif kind == _JOIN:
            if text[text.rfind("\n", 0, start) + 1 : start].strip(" \t\f"):
                join = join or row
            elif row == first:
                sure = False  # the line's indentation may be in its second row
            row += 1
        elif kind == _ODD:
            sure = False
        elif kind == _DEEP:
            deep = True
    if begin < end:  # a bracket, a string or a backslash leads nowhere
        sure = False
        row = text.count("\n")
        finish(end)
        if logical and logical[-1].row == first and logical[-1].fault:
            logical[-1] = logical[-1]._replace(fault="a bracket or a string is never closed")
    statements, regular = _statements(logical, columns, asyncs)
    return Scan(rows, tuple(logical), tuple(statements), tuple(comments), tuple(joins), sure and regular)
