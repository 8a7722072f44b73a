"""A text with only those top-level statements left that can matter, so that little of it need be parsed.

What a statement binds and what it loads is over-approximated from its words: one statement too many costs time, one
too few would change a finding.
"""

import re
from collections.abc import Callable
from keyword import kwlist
from typing import NamedTuple

from gelu_lint.scan import Logical, Scan, Statement


class Skeleton(NamedTuple):
    """What is left of a text, row for row where it was."""

    text: str  # rows kept are as they were, the others empty; a lone \r became \n
    skipped: tuple[tuple[int, int, str], ...]  # (row, end_row, reason) of what would be kept but is out of bounds
    kept: int  # rows kept


_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset(kwlist)
_LONE_CR = re.compile(r"\r(?!\n)")
_NOT_END = re.compile(r"[^\r\n]+")
_NAME = re.compile(r"[\s\\]*(?:async[\s\\]+)?(?:def|class)[\s\\]+(\w+)")
_INNER_GLOBAL = re.compile(r"[:;][ \t\f]*global\b(?:[^;\n\\]|\\\r?\n)*")
# `a = …`, `a, *b = …`, `a: T = …`; whatever else has an equals sign may bind by other means.
_ASSIGNMENT = re.compile(r"(?:[\w\s,*]+|\w+\s*:[^=]*)=(?!=)")
_TARGETS = re.compile(r".*(?<![=!<>:+\-*/%@&|^])=(?!=)", re.DOTALL)

# What may give a callable another name: `… as G`, `G = nn.GELU`, `G = getattr(nn, "GELU")`, `class G(nn.GELU)`.
_ALIAS = re.compile(
    r"""\bas\s+(\w+) | ^[ \t\f]*(?:class\s+(\w+)\s*\( | ([\w\s,]+(?::[^=]*)?)=\s*(?:[\w.,\s()]*$|.*\bgetattr\b))""",
    re.VERBOSE | re.MULTILINE,
)

# In a line without f-strings this finds the comments and strings exactly; what may be an f-string shows by its quote.
_SILENT = re.compile(
    r"""\#[^\n]*
    | \"\"\"[^"\\]*(?:(?:\\\r?.|"(?!""))[^"\\]*)*\"\"\" | "[^"\\\n]*(?:\\\r?.[^"\\\n]*)*"
    | '''[^'\\]*(?:(?:\\\r?.|'(?!''))[^'\\]*)*''' | '[^'\\\n]*(?:\\\r?.[^'\\\n]*)*'
    """,
    re.DOTALL | re.VERBOSE,
)
_FIELDS = re.compile(r"""[fFtT][rR]?['"]""")

#: What half precision shows by; a file is screened by the needles alone.
HALF_WORDS = ("half()", "float16", "torch.half", "autocast", "fp16", "precision=16", '"16-', "'16-")
_BY_ERF = re.compile(r"\b(?:erfc?|ndtr)\(|\bnorm\.cdf\(")
_FORMULA = re.compile(r"\b(?:erfc?|exp|expm1|cdf|ndtr|[tT]anh|tanh_|erf_)\(|\b0?\.0447|1\.702")

# "match" and "case" may be names: then more is left out than need be.
_HEADERS = frozenset(
    [
        *("@", "async", "case", "class", "def", "elif", "else", "except", "finally"),
        *("for", "if", "match", "try", "while", "with"),
    ]
)

# The text of rows a to b.
_Part = Callable[[int, int], str]


def _lines(scan: Scan, statement: Statement) -> tuple[Logical, ...]:
    first, last = statement.lines
    return scan.logical[first:last]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text)) - _KEYWORDS


def _loads(lines: tuple[Logical, ...], part: _Part) -> set[str]:
    """The names that a statement, made of these lines, may load: words outside comments and strings without fields."""
    names: set[str] = set()
    for line in lines:
        text = part(line.row, line.end_row)
        names.update(_WORD.findall(text if _FIELDS.search(text) else _SILENT.sub(" ", text)))
    return names


def _binds(statement: Statement, lines: tuple[Logical, ...], part: _Part) -> set[str]:
    """The names that a statement, made of these lines, may bind."""
    text = part(statement.row, statement.end_row)
    if statement.kind in ("def", "class"):
        return _binds_definition(statement, lines, part)
    if statement.kind == "simple" and ";" not in text and ":=" not in text and _ASSIGNMENT.match(text):
        targets = _TARGETS.match(text)
        if targets is not None:
            return _words(targets[0])
    return _words(text)


def _binds_definition(statement: Statement, lines: tuple[Logical, ...], part: _Part) -> set[str]:
    """The same for a function or a class: its name, what it declares global, and := outside its body."""
    text = part(statement.row, statement.end_row)
    header = next((line for line in lines if line.word != "@"), lines[0])
    name = _NAME.match(part(header.row, header.end_row))
    if name is None:
        return _words(text)
    names = {name[1]}
    before_body = part(statement.row, header.end_row)
    if ":=" in before_body:
        names |= _words(before_body)
    if "global" in text:
        for line in lines:
            if line.word == "global":
                names |= _words(part(line.row, line.end_row))
        for inner in _INNER_GLOBAL.findall(text):
            names |= _words(inner)
    return names


def _aliases(scan: Scan, statement: Statement, part: _Part, needles: tuple[str, ...], known: set[str]) -> set[str]:
    """Names that a statement gives to what a needle or a known alias names: ``as G``, ``G = nn.GELU``, a subclass."""
    lines = _lines(scan, statement)
    if statement.kind in ("def", "class"):
        lines = tuple(line for line in lines if line.word == "class")[:1] if statement.kind == "class" else ()
    names: set[str] = set()
    for line in lines:
        text = part(line.row, line.end_row)
        lower = text.lower()
        if any(needle in lower for needle in needles) or not known.isdisjoint(_WORD.findall(text)):
            for found in _ALIAS.findall(text):
                names |= _words("".join(found))
    return {name for name in names if not any(needle in name.lower() for needle in needles)}


def _bearers(scan: Scan, part: _Part, needles: tuple[str, ...]) -> list[bool]:
    """Which statements hold a needle, or load a name that was given to what a needle names."""
    lowered = [part(statement.row, statement.end_row).lower() for statement in scan.statements]
    found = [any(needle in text for needle in needles) for text in lowered]
    known: set[str] = set()
    mentions: dict[str, list[int]] = {}
    waiting = [i for i, has in enumerate(found) if has]
    while waiting:
        fresh = _aliases(scan, scan.statements[waiting.pop()], part, needles, known) - known
        if fresh and not mentions:
            for i, statement in enumerate(scan.statements):
                for word in set(_WORD.findall(part(statement.row, statement.end_row))):
                    mentions.setdefault(word, []).append(i)
        known |= fresh
        for name in fresh:
            for i in mentions.get(name, ()):
                found[i] = True
                waiting.append(i)  # again if it was seen: with this name known it may give another
    return found


def _halves(scan: Scan, part: _Part, bearers: list[bool]) -> list[bool]:
    """``bearers``, and in a file with some also what may hold a formula by erf; beside formulas what chooses half
    precision, too."""
    texts = [part(statement.row, statement.end_row) for statement in scan.statements]
    if any(bearers):
        bearers = [bearer or _BY_ERF.search(text) is not None for text, bearer in zip(texts, bearers, strict=True)]
    if not any(bearer and _FORMULA.search(text) for text, bearer in zip(texts, bearers, strict=True)):
        return bearers
    return [bearer or any(word in text for word in HALF_WORDS) for text, bearer in zip(texts, bearers, strict=True)]


def _select(scan: Scan, part: _Part, needles: tuple[str, ...]) -> list[bool]:
    """Which statements to keep: those with a needle or an alias of one, every import (fixes must know which names are
    at hand), those that make a formula run in half precision, and in turn those that bind what a kept one loads."""
    keep: list[bool] = []
    queue: list[int] = []
    binders: dict[str, list[int]] = {}
    bearers = _halves(scan, part, _bearers(scan, part, needles))
    for i, (statement, bearer) in enumerate(zip(scan.statements, bearers, strict=True)):
        keep.append(bearer or statement.kind == "import")
        if keep[i]:
            queue.append(i)
        else:
            for name in _binds(statement, _lines(scan, statement), part):
                binders.setdefault(name, []).append(i)
    while queue:
        for name in _loads(_lines(scan, scan.statements[queue.pop()]), part):
            for i in binders.pop(name, ()):
                if not keep[i]:
                    keep[i] = True
                    queue.append(i)
    return keep


def skeleton(text: str, scan: Scan, needles: tuple[str, ...]) -> Skeleton:
    """What matters of a text: the statements with a needle (in lower case) in them, and what these build on.

    That is all of it where "" is a needle or the scan is not sure of itself, and nothing where no needle is found.
    A simple line that is out of bounds becomes `pass`; where a header or the first line of a statement is, all of
    the statement goes. `scan` must be that of `text`. Raises nothing.
    """
    text = _LONE_CR.sub("\n", text)
    lower = text.lower()
    if not any(needle in lower for needle in needles):
        return Skeleton(_NOT_END.sub("", text), (), 0)
    rows = (*scan.rows, len(text))

    def part(row: int, end_row: int) -> str:
        return text[rows[row - 1] : rows[end_row]]

    whole = "" in needles or not scan.sure
    keep = [True] * len(scan.statements) if whole else _select(scan, part, needles)

    out: list[str] = []
    skipped: list[tuple[int, int, str]] = []
    done = kept = 0  # rows written, rows kept

    def write(end_row: int, as_is: bool) -> None:
        """Writes the rows up to `end_row`, as they are or empty."""
        nonlocal done, kept
        if end_row > done:
            chunk = part(done + 1, end_row)
            out.append(chunk if as_is else _NOT_END.sub("", chunk))
            kept += end_row - done if as_is else 0
            done = end_row

    for statement, wanted in zip(scan.statements, keep, strict=True):
        write(statement.row - 1, whole)
        lines = _lines(scan, statement)
        faulty = [line for line in lines if line.fault] if wanted else []
        skipped += [(line.row, line.end_row, line.fault) for line in faulty]
        if any(line is lines[0] or line.word in _HEADERS for line in faulty):
            wanted = False
            faulty = []
        for line in faulty:
            write(line.row - 1, True)
            start = rows[line.row - 1]
            out.append(text[start : start + line.indent] + "pass")
            write(line.end_row, False)
        write(statement.end_row, wanted)
    write(len(scan.rows), whole)
    return Skeleton("".join(out), tuple(skipped), kept)
