"""The logical lines of one top-level statement: what encloses each, what it binds, what it loads.

All of it is told from words, without a parser; where words leave it open, more is said to be bound than is.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from keyword import kwlist

from gelu_lint.patterns import lazy
from gelu_lint.scan import Logical

WORD = lazy(r"[^\W\d]\w*")
_RESERVED = frozenset(kwlist)
_KEYWORDS = _RESERVED | {"self", "cls"}
_BARE = lazy(r"(?<![\w.])[^\W\d]\w*(?![\w\"'])")
_MEMBER = lazy(r"\.\s*([^\W\d]\w*)")
_OPENS = frozenset(("for", "while", "if", "elif", "else", "with", "async", "try", "except", "finally", "match"))
_ARMS = frozenset(("elif", "else", "except", "finally"))
#: Words of lines that bind nothing, and of headers that do not.
_STILL = frozenset(("return", "raise", "assert", "yield", "await", "pass", "break", "continue"))
_TESTS = frozenset(("if", "elif", "else", "while", "try", "finally"))
_DEFINING = frozenset(("def", "class", "async"))
_DECLARING = frozenset(("import", "from", "del", "case", "global", "nonlocal"))
_SPECIAL = _OPENS | _STILL | _TESTS | _DEFINING | _DECLARING
#: What binds a name without a sign of it.
_SETTERS = ("_(", "setattr", "register_buffer")
_DEFINES = lazy(r"[\s\\]*(?:async[\s\\]+)?(?:def|class)[\s\\]+(\w+)")

# In a line without f-strings this finds the comments and strings exactly; what may be an f-string shows by its quote.
SILENT = lazy(
    r"""\#[^\n]*
    | \"\"\"[^"\\]*(?:(?:\\\r?.|"(?!""))[^"\\]*)*\"\"\" | '''[^'\\]*(?:(?:\\\r?.|'(?!''))[^'\\]*)*'''
    | "[^"\\\n]*(?:\\\r?.[^"\\\n]*)*" | '[^'\\\n]*(?:\\\r?.[^'\\\n]*)*'
    """,
    re.DOTALL | re.VERBOSE,
)
#: A line that is nothing but a string, and perhaps a comment.
ALONE = lazy(rf"\s*[rRbBuU]{{0,2}}(?!\#)(?:{SILENT.pattern})\s*(?:\#[^\n]*)?\s*", re.DOTALL | re.VERBOSE)
FIELDS = lazy(r"""(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])['"]""")

# Most assignments: one name or attribute of self, and no second target behind it.
_USUAL = lazy(r"[ \t]*(?:(?:self|cls)\.(\w+)|(\w+))[ \t]*=(?!=)[ \t]*(?![(\[*\\]|[\w.,*\s\[\]\\]*=(?!=))")
# `a = …`, `a.b, *c = …`, `a: T = …`, `a += …`; and what may follow another one.
_ASSIGNMENT = lazy(r"\s*([\w.,*\s\\()\[\]]+?)(?::[^=]*?)?(?:\*\*|//|>>|<<|[-+*/%@&|^])?=(?!=)")
_ANOTHER = lazy(r"\s*([\w.,*\s\\()\[\]]+?)=(?!=)")
_ANNOTATION = lazy(r"\s*(\w+)\s*:")
_TARGET = lazy(r"(?<![\w.])(\w+)((?:\.\w+)*)(?![\w.]|\s*[\w\[(])")
_HELD = lazy(r"[)\]](?:\.\w+)*\.(\w+)(?![\w.]|\s*[\[(])")
_FOR = lazy(r"\s*(?:async\s+)?for\b(.*?)\bin\b", re.DOTALL)
_AS = lazy(r"\bas\s+(\([^)]*\)|[\w.]+)")
_STEP = lazy(r"\s*([^\W\d]\w*)\.\w+_\(")
_GAP = lazy(r"(?<=[\w)\]])[\s\\]+(?=[(\[])")
_BRACKET = lazy(r"((?<=[\w)\]])[(\[]|\{)|([(\[])|([)\]}])")
_STRINGS = lazy(r"""["'](\w+)["']""")
_OUTER = lazy(r"\b(?:global|nonlocal)\b((?:[^;\n\\#]|\\\r?\n)*)")


def words(text: str) -> set[str]:
    """The identifiers in a piece of source, keywords aside."""
    return {*WORD.findall(text)} - _KEYWORDS


@lru_cache(maxsize=1024)
def code(text: str) -> str:
    """Source without comments and strings; strings stay where one may be an f-string with fields."""
    if '"' not in text and "'" not in text:
        return SILENT.sub('""', text) if "#" in text else text
    return text if FIELDS.search(text) else SILENT.sub('""', text)


def loads(text: str) -> set[str]:
    """The names that a line may load, attributes aside."""
    return {*_BARE.findall(code(text))} - _KEYWORDS


def members(text: str) -> set[str]:
    """The attributes that a line mentions."""
    return {*_MEMBER.findall(code(text))}


def targets(text: str) -> tuple[set[str], set[str]] | None:
    """The names and the attributes that an assignment binds; None if ``text`` is none, or is not that plain."""
    usual = _USUAL.match(text) if ";" not in text and ":=" not in text else None
    if usual is not None:
        return ({usual[2]}, set()) if usual[2] else (set(), {usual[1]})
    plain = code(text)
    if ":=" in plain or ";" in plain:
        return None
    plain = _unfilled(plain)
    found = _ASSIGNMENT.match(plain)
    if found is None or not _RESERVED.isdisjoint(WORD.findall(found[1])):
        return None
    names: set[str] = set()
    attributes: set[str] = set()
    while found is not None and _RESERVED.isdisjoint(WORD.findall(found[1])):
        for name, tail in _TARGET.findall(found[1]):
            if tail:
                attributes.add(tail.rpartition(".")[2])
            else:
                names.add(name)
        attributes.update(_HELD.findall(found[1]))
        found = _ANOTHER.match(plain, found.end())
    return names, attributes


def _unfilled(plain: str) -> str:
    """Code without what stands in calls, subscripts and braces: `=` and names in there bind nothing."""
    kept: list[str] = []
    start = depth = 0
    plain = _GAP.sub("", plain.replace('""', ""))
    for found in _BRACKET.finditer(plain):
        if found[1] and not depth:
            kept.append(plain[start : found.end()])
        if found[1] or (depth and found[2]):
            depth += 1
        elif depth and found[3]:
            depth -= 1
            start = found.start()
    return "".join(kept) if depth else "".join((*kept, plain[start:]))


def spots(text: str, name: str, start: int = 0, end: int = sys.maxsize) -> list[int]:
    """Where a name stands in a stretch of text: finding it and looking beside it is faster than a pattern."""
    found = []
    at = text.find(name, start, end)
    while at >= 0:
        behind = at + len(name)
        before, after = text[at - 1 : at], text[behind : behind + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            found.append(at)
        at = text.find(name, behind, end)
    return found


class Lines:
    """The lines of one statement.

    parents   for each line the header of the block that it stands in, -1 at the top
    scopes    for each line the header of the function or class that it stands in, -1 at the top
    """

    def __init__(self, text: str, rows: Sequence[int], logical: Sequence[Logical], shift: int) -> None:
        self._text, self._rows, self._shift = text, rows, shift
        self.logical = logical
        self.parents: list[int] = []
        self.scopes: list[int] = []
        self.steps: set[int] = set()  # lines that change what a name holds, once bindings are known
        self.loose: set[int] = set()  # lines of which more is said to be bound than is, once bindings are known
        self._groups: dict[int, list[int]] = {}  # arms of one statement, and decorators with what they stand before
        self._headers: set[int] = set()
        self._mentions: dict[str, list[int]] = {}
        self._defined = [self._definition(i) if line.word in _DEFINING else "" for i, line in enumerate(logical)]
        self._ends = [len(logical)] * len(logical)  # by header the line behind its block
        around: list[tuple[int, int]] = []  # (line, column) of the headers around
        last: dict[int, int] = {}  # the line before at the same level, by the header of the block
        columns = [line.indent for line in logical]
        if "\t" in text or "\f" in text:
            columns = [_column(self.text(i)[: line.indent]) for i, line in enumerate(logical)]
        for i, line in enumerate(logical):
            while around and columns[i] <= around[-1][1]:
                self._ends[around.pop()[0]] = i
            up = around[-1][0] if around else -1
            self.parents.append(up)
            self.scopes.append(-1 if up < 0 else up if self.defines(up) else self.scopes[up])
            before = last.get(up, -1)
            beside = line.word in _ARMS or (line.word == "case" and up >= 0 and logical[up].word == "match")
            if before >= 0 and (beside or logical[before].word == "@"):
                group = self._groups.setdefault(before, [before])
                group.append(i)
                self._groups[i] = group
            last[up] = i
            if i + 1 < len(logical) and columns[i + 1] > columns[i]:
                around.append((i, columns[i]))
                self._headers.add(i)

    def __len__(self) -> int:
        return len(self.logical)

    def text(self, i: int) -> str:
        """The rows of a line."""
        line = self.logical[i]
        return self._text[self._rows[line.row + self._shift - 1] : self._rows[line.end_row + self._shift]]

    def defines(self, i: int) -> str:
        """The name of the function or class whose header a line is, "" if it is none."""
        return self._defined[i]

    def _definition(self, i: int) -> str:
        found = _DEFINES.match(self.text(i))
        return found[1] if found is not None else ""

    def is_header(self, i: int) -> bool:
        """Whether a block follows a line."""
        return i in self._headers

    def group(self, i: int) -> Sequence[int]:
        """What must stand with a line: the other arms of its statement, its decorators or what it decorates."""
        return self._groups.get(i, ())

    def below(self, i: int) -> range:
        """The lines of the block that a header opens."""
        return range(i + 1, self._ends[i] if i in self._headers else i + 1)

    def row_of(self, row: int) -> int:
        """The line that holds a row of the whole text, -1 where there is only a comment or nothing."""
        row -= self._shift
        low, high = 0, len(self.logical)
        while low < high:
            middle = (low + high) // 2
            if self.logical[middle].end_row < row:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.logical) and self.logical[low].row <= row else -1

    def enclosing(self, i: int, *, classes: bool) -> Iterator[int]:
        """The headers of the functions around a line, innermost first, -1 (the module) last; or of the classes."""
        at = self.scopes[i]
        inner = True
        while at >= 0:
            is_class = self.logical[at].word == "class"
            if is_class == classes or (inner and not classes):
                yield at
            inner = False
            at = self.scopes[at]
        if not classes:
            yield -1

    @cached_property
    def bindings(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """The lines that may bind a name, by name; and those that may bind an attribute."""
        names: dict[str, list[int]] = {}
        attributes: dict[str, list[int]] = {}
        for i in range(len(self)):
            bound, held = self._binds(i)
            for name in bound:
                names.setdefault(name, []).append(i)
            for name in held:
                attributes.setdefault(name, []).append(i)
        return names, attributes

    def _binds(self, i: int) -> tuple[set[str], set[str]]:
        text, word = self.text(i), self.logical[i].word
        none: set[str] = set()
        if word and word not in _SPECIAL and ";" not in text and ":=" not in text:  # most lines
            simple = _USUAL.match(text)
            if simple is not None:
                return ({simple[2]}, none) if simple[2] else (none, {simple[1]})
            if "=" not in text and ":" not in text and not any(mark in text for mark in _SETTERS):
                return none, none
        name = self.defines(i)
        if ":=" in text or word in ("del", "case"):
            self.loose.add(i)
        if name:
            inside = () if self.is_header(i) else _MEMBER.findall(code(text))  # def f(self): self.x = 1
            return ({name} | words(text) if ":=" in text else {name}), {name, *inside}
        if word in _DECLARING:
            return words(text), none
        opens = word in _OPENS
        if ":=" not in text and (ALONE.fullmatch(text) if not word else self._is_still(i, text)):
            return none, none
        if not opens and ";" not in text and ":=" not in text:
            if "=" not in text and ":" not in text and not any(mark in text for mark in _SETTERS):
                return none, none
            usual = targets(text) if _USUAL.match(text) else None
            if usual is not None:
                return usual
        plain = code(text)
        if ":=" in plain or ";" in plain or (opens and not self.is_header(i)):
            self.loose.add(i)
            return words(plain), {*_MEMBER.findall(plain)}
        if opens:
            bound = {*words(_FOR.match(plain)[1])} if _FOR.match(plain) else none  # type: ignore[index]
            return bound.union(*(words(part) for part in _AS.findall(plain))), none
        found = targets(text)
        if found is not None:
            return found
        if "register_buffer" in plain or "setattr" in plain:
            return none, {*_STRINGS.findall(text)}
        step, annotated = _STEP.match(plain), _ANNOTATION.match(plain)
        if step is not None:
            self.steps.add(i)
            return {step[1]}, none
        return ({annotated[1]} if annotated is not None else none), none

    def mentions(self, name: str) -> list[int]:
        """The lines in which a word stands."""
        if name not in self._mentions:
            first, last = self.logical[0].row + self._shift - 1, self.logical[-1].end_row + self._shift
            places = spots(self._text, name, self._rows[first], self._rows[last])
            found = (self.row_of(bisect_right(self._rows, at)) for at in places)
            self._mentions[name] = [*dict.fromkeys(i for i in found if i >= 0)]
        return self._mentions[name]

    def _is_still(self, i: int, text: str) -> bool:
        """Whether a line without a walrus binds nothing, as its first word tells."""
        word = self.logical[i].word
        return (word in _STILL or (word in _TESTS and i in self._headers)) and ";" not in text

    @cached_property
    def outer(self) -> dict[str, list[int]]:
        """The lines that declare a name global or nonlocal, by name."""
        found: dict[str, list[int]] = {}
        for i in range(len(self)):
            text = self.text(i)
            if "global" in text or "nonlocal" in text:
                for names in _OUTER.findall(code(text)):
                    for name in words(names):
                        found.setdefault(name, []).append(i)
        return found


def _column(space: str) -> int:
    """The column that Python sees after this white space."""
    if "\t" not in space and "\f" not in space:
        return len(space)
    column = 0
    for c in space:
        column = 0 if c == "\f" else column // 8 * 8 + 8 if c == "\t" else column + 1
    return column
