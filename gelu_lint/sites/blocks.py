"""What the whole text of a function or class mentions, lines that are not parsed included.

Whether a parameter is read is a question over every line of its function, but only some of them are parsed. Where the
words of a line leave it open, it counts as read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from gelu_lint.lines import code
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.nodes import ClassDef, FunctionDef

_METHOD = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
_DOCSTRING = re.compile(r"\s*[rRbBuU]{0,2}[\"']")
#: Methods that tell what an object was given, and compute nothing with it.
_TELLS = frozenset(
    (
        *("extra_repr", "__repr__", "__str__", "get_config", "to_dict", "to_json", "as_dict", "config", "state_dict"),
        *("__getstate__", "__hash__", "__eq__", "__reduce__", "__len__"),
    )
)
#: What reads every name at once, and the words that show it.
_MANY = ("locals", "vars", "eval", "exec", "__dict__", "save_hyperparameters", "getfullargspec")
_ALL = re.compile(r"\blocals\s*\(|\bvars\s*\(|\beval\s*\(|\bexec\s*\(|__dict__|save_hyperparameters|getfullargspec")
_CONSTANTS = re.compile(r"\s*__(?:constants|slots|all|annotations)__\b")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")
_LITERAL = r"""(?:[rRuU]?"[^"\\\n]*"|[rRuU]?'[^'\\\n]*'|True|False|[-+]?\d[\w.]*)"""


class Line(NamedTuple):
    """A logical line: its row, how far it is indented, the text, and what of it is code."""

    row: int
    indent: int
    text: str
    code: str


class Block(NamedTuple):
    """A function or class: its header, the lines below it (of a one-row body its text), the rows of all of it, and its
    source, header included."""

    header: Line
    below: tuple[Line, ...]
    rows: tuple[int, int]
    text: str

    def docstring(self) -> str:
        """The line that may be a docstring."""
        return self.below[0].text if self.below and _DOCSTRING.match(self.below[0].text) else ""

    def reads_all(self) -> bool:
        """Whether something in it may read any name."""
        return any(word in self.text for word in _MANY) and any(_ALL.search(line.code) for line in self.below)

    def loads(self, name: str) -> list[Line]:
        """The lines below the header that may load a name."""
        loaded = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*=(?!=))")
        bound = re.compile(rf"\s*{re.escape(name)}\s*(?::[^=]+)?=(?!=)")
        found = []
        for line in self.below:
            start = bound.match(line.code) if name in line.text else None
            if name in line.text and loaded.search(line.code, start.end() if start is not None else 0):
                found.append(line)
        return found

    def stores(self, name: str) -> list[str]:
        """The attributes of ``self`` in which alone a name is kept; none where anything else is done with it."""
        kept = re.compile(r"\s*(?:self|this)\.(\w+)\s*(?::[^=]+)?=(?!=)\s*([^;]*)$", re.DOTALL)
        found = []
        for line in self.loads(name):
            held = kept.match(line.code)
            if held is None:
                return []
            found.append(held[1])
        return found

    def overwrites(self, name: str, also: str = "") -> tuple[str, str]:
        """The name or attribute of this name that is set to a literal whatever the parameter is, and the literal.

        ``also`` is a pattern of other attributes that count where the parameter is never loaded.
        """
        if not self.below:
            return "", ""
        base = min(line.indent for line in self.below)
        loaded = {line.row for line in self.loads(name)}
        names = re.escape(name) + (f"|{also}" if also and not loaded else "")
        bound = re.compile(rf"\s*((?:self\._?)?(?:{names}))\s*(?::[^=]+)?=(?!=)\s*({_LITERAL})\s*(?:#.*)?$")
        kept = re.compile(rf"\s*self\._?{re.escape(name)}\s*(?::[^=]+)?=\s*{re.escape(name)}\s*$")
        for line in self.below:
            if line.row in loaded and not (kept.match(line.code) and line.indent == base):
                break  # what it was is seen before
            found = bound.match(line.text)
            bare = found is not None and found[1] == name
            if found is not None and line.indent == base and not (bare and loaded and line.row > min(loaded)):
                return found[1], found[2]
        return "", ""

    def reads_attribute(self, name: str) -> bool:
        """Whether anything in a class may read an attribute, what only tells of it aside."""
        bound = re.compile(rf"\s*(?:self|this|cls)\.{re.escape(name)}\s*(?::[^=]+)?=(?!=)")
        loaded = re.compile(rf"\.\s*{re.escape(name)}\b")
        quoted = re.compile(rf"""["']{re.escape(name)}["']""")
        base = min((line.indent for line in self.below), default=0)
        method = ""
        for line in self.below:
            if line.indent <= base:
                found = _METHOD.match(line.code)
                method = found[1] if found is not None else ""
            if name not in line.text or method in _TELLS or _CONSTANTS.match(line.code) or _DOCSTRING.match(line.text):
                continue
            start = bound.match(line.code)
            if loaded.search(line.code, start.end() if start is not None else 0) or quoted.search(line.text):
                return True
        return False

    def runs(self, name: str) -> bool:
        """Whether what a name or an attribute of ``self`` (with its dot) holds is called."""
        before = r"(?<!\w)self" if name.startswith(".") else r"(?<![\w.])"
        called = re.compile(rf"{before}{re.escape(name)}\s*(?:\.forward\s*)?\(")
        return any(called.search(line.code) for line in self.below)

    def calls(self) -> tuple[str, ...]:
        """The plain names in it that are called."""
        return tuple(sorted({name for line in self.below for name in _CALLED.findall(line.code)}))


class Blocks:
    """Finds the blocks of one file."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._extents: dict[int, tuple[int, int]] = {}  # by id of a node: its header, and the line behind its block
        self._blocks: dict[int, Block] = {}
        self._lines: dict[int, Line] = {}

    @cached_property
    def _rows(self) -> list[int]:
        return [row for row, _ in self._draft.statements]

    def _extent(self, node: FunctionDef | ClassDef) -> tuple[int, int]:
        found = self._extents.get(id(node))
        if found is None:
            first = bisect_right(self._rows, self._draft.span(node.name).row) - 1
            base, at = self._line(first).indent, first + 1
            while at < len(self._rows) and self._line(at).indent > base:
                at += 1
            found = self._extents[id(node)] = first, at
        return found

    def rows(self, node: FunctionDef | ClassDef) -> tuple[int, int]:
        """The first row of the header of a function or class, whose name must have a place, and the last of all."""
        first, behind = self._extent(node)
        return self._draft.statements[first][0], self._draft.statements[behind - 1][1]

    def of(self, node: FunctionDef | ClassDef) -> Block:
        """The block of a function or class, whose name and body must have places."""
        found = self._blocks.get(id(node))
        if found is None:
            first, behind = self._extent(node)
            header = self._line(first)
            below = [self._line(at) for at in range(first + 1, behind)]
            if not below:  # def f(x): return x
                text = self._draft.text(node.body)
                below = [Line(header.row, header.indent + 1, text, code(text))]
            text = "\n".join((header.text, *(line.text for line in below)))
            found = self._blocks[id(node)] = Block(header, tuple(below), self.rows(node), text)
        return found

    def _line(self, at: int) -> Line:
        if at not in self._lines:
            row, end_row = self._draft.statements[at]
            end = self._draft.starts[end_row] if end_row < len(self._draft.starts) else len(self._draft.whole)
            text = self._draft.whole[self._draft.starts[row - 1] : end]
            lead = text[: len(text) - len(text.lstrip(" \t\f"))]
            plain = "\t" not in lead and "\f" not in lead
            indent = len(lead if plain else lead.rpartition("\f")[2].expandtabs(8))
            self._lines[at] = Line(row, indent, text, code(text))
        return self._lines[at]

    def read_elsewhere(self, block: Block, name: str, owner: str) -> bool:
        """Whether the file outside a class may read an attribute of its objects."""
        whole = self._draft.whole
        first, last = (
            self._draft.starts[block.rows[0] - 1],
            self._draft.starts[min(block.rows[1], len(self._draft.starts) - 1)],
        )
        rest = code(whole[:first]) + "\n" + code(whole[last:])
        derived = re.search(rf"\bclass\s+\w+\s*\([^)]*\b{re.escape(owner)}\b", rest) is not None
        of = r"" if derived else r"(?<!\bself)(?<!\bthis)"
        return re.search(rf"{of}\.{re.escape(name)}\b(?!\s*=(?!=))", rest) is not None
