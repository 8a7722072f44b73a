"""What the whole text of a function or class mentions, lines that are not parsed included.

Whether a parameter is read is a question over every line of its function, but only some of them are parsed. Where the
words of a line leave it open, it counts as read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from gelu_lint.lines import code, spots
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
_LITERAL = r"""(?:[rRuU]?"[^"\\\n]*"|[rRuU]?'[^'\\\n]*'|True|False|[-+]?\d[\w.]*)"""
# What a line does with a name or attribute: the patterns give the name, which is then compared. To make one for each
# name takes longer than to search with it.
_BINDS = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=(?!=)")
_SETS = re.compile(r"\s*(?:self|this|cls)\.(\w+)\s*(?::[^=]+)?=(?!=)")
_STORES = re.compile(r"\s*(?:self|this)\.(\w+)\s*(?::[^=]+)?=(?!=)\s*([^;]*)$", re.DOTALL)
_KEEPS = re.compile(r"\s*self\.(\w+)\s*(?::[^=]+)?=\s*(\w+)\s*$")
_OVERWRITES = re.compile(rf"\s*((?:self\.)?\w+)\s*(?::[^=]+)?=(?!=)\s*({_LITERAL})\s*(?:#.*)?$")
_KEYWORD = re.compile(r"\s*=(?!=)")
_CALL, _RUN = re.compile(r"\s*\("), re.compile(r"\s*(?:\.forward\s*)?\(")
_OF_SELF = re.compile(r"\W?self\.")
_LEAD = re.compile(r"[ \t\f]*")
_QUOTES = ("'", '"')


class Line:
    """A logical line: its row, how far it is indented, the text, and what of it is code."""

    def __init__(self, row: int, indent: int, text: str) -> None:
        self.row, self.indent, self.text = row, indent, text

    @cached_property
    def code(self) -> str:
        """The text without comments and strings."""
        return code(self.text)

    def loads(self, name: str, start: int = 0) -> bool:
        """Whether it may load a name, from an offset of its code on."""
        return name in self.text and any(
            self.code[at - 1 : at] != "." and _KEYWORD.match(self.code, at + len(name)) is None
            for at in spots(self.code, name, start)
        )


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
        found = []
        for line in self.below:
            if name in line.text:
                bound = _BINDS.match(line.code)
                if line.loads(name, bound.end() if bound is not None and bound[1] == name else 0):
                    found.append(line)
        return found

    def stores(self, name: str) -> list[str]:
        """The attributes of ``self`` in which alone a name is kept; none where anything else is done with it."""
        found = []
        for line in self.loads(name):
            held = _STORES.match(line.code)
            if held is None:
                return []
            found.append(held[1])
        return found

    def overwrites(self, name: str, also: re.Pattern[str] | None = None) -> tuple[str, str]:
        """The name or attribute of this name that is set to a literal whatever the parameter is, and the literal.

        ``also`` is a pattern of other names and attributes that count where the parameter is never loaded.
        """
        if not self.below:
            return "", ""
        base = min(line.indent for line in self.below)
        loaded = {line.row for line in self.loads(name)}
        names = (name, f"self.{name}", f"self._{name}")
        for line in self.below:
            if line.row in loaded:
                kept = _KEEPS.match(line.code)
                held = kept is not None and kept[1] in (name, f"_{name}") and kept[2] == name
                if not (held and line.indent == base):
                    break  # what it was is seen before
            found = _OVERWRITES.match(line.text) if "=" in line.text and line.indent == base else None
            if found is None:
                continue
            counts = found[1] in names or (also is not None and not loaded and also.fullmatch(found[1]) is not None)
            if counts and not (found[1] == name and loaded and line.row > min(loaded)):
                return found[1], found[2]
        return "", ""

    def reads_attribute(self, name: str) -> bool:
        """Whether anything in a class may read an attribute, what only tells of it aside."""
        base = min((line.indent for line in self.below), default=0)
        method = ""
        for line in self.below:
            if line.indent <= base:
                found = _METHOD.match(line.text)
                method = found[1] if found is not None else ""
            if name not in line.text or method in _TELLS or _CONSTANTS.match(line.code) or _DOCSTRING.match(line.text):
                continue
            bound = _SETS.match(line.code)
            start = bound.end() if bound is not None and bound[1] == name else 0
            if any(line.code[start:at].rstrip().endswith(".") for at in spots(line.code, name, start)):
                return True
            behind = ((at - 1, at + len(name)) for at in spots(line.text, name) if at)
            if any(line.text[a] in _QUOTES and line.text[b : b + 1] in _QUOTES for a, b in behind):
                return True
        return False

    def runs(self, name: str) -> bool:
        """Whether what a name or an attribute of ``self`` (with its dot) holds is called."""
        return any(_calls(line, name, _RUN) for line in self.below)

    def calls(self, name: str) -> bool:
        """Whether a plain name is called in it."""
        return name in self.text and any(_calls(line, name, _CALL) for line in self.below)


def _calls(line: Line, name: str, call: re.Pattern[str]) -> bool:
    """Whether a name, or an attribute of ``self`` (with its dot), is followed by a call in a line."""
    word = name.lstrip(".")
    if word not in line.text:
        return False
    after = (at for at in spots(line.code, word) if call.match(line.code, at + len(word)) is not None)
    if word == name:
        return any(line.code[at - 1 : at] != "." for at in after)
    return any(_OF_SELF.fullmatch(line.code, max(at - len("_self."), 0), at) is not None for at in after)


class Blocks:
    """Finds the blocks of one file."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._extents: dict[int, tuple[int, int]] = {}  # by id of a node: its header, and the line behind its block
        self._blocks: dict[int, Block] = {}
        self._lines: dict[int, Line] = {}
        self._indents: dict[int, int] = {}

    @cached_property
    def _rows(self) -> list[int]:
        return [row for row, _ in self._draft.statements]

    def _extent(self, node: FunctionDef | ClassDef) -> tuple[int, int]:
        found = self._extents.get(id(node))
        if found is None:
            first = bisect_right(self._rows, self._draft.span(node.name).row) - 1
            base, at = self._indent(first), first + 1
            while at < len(self._rows) and self._indent(at) > base:
                at += 1
            found = self._extents[id(node)] = first, at
        return found

    def _indent(self, at: int) -> int:
        """How far a line is indented."""
        indent = self._indents.get(at)
        if indent is None:
            start, whole = self._draft.starts[self._rows[at] - 1], self._draft.whole
            lead = whole[start : _LEAD.match(whole, start).end()]  # type: ignore[union-attr]
            plain = "\t" not in lead and "\f" not in lead
            indent = self._indents[at] = len(lead if plain else lead.rpartition("\f")[2].expandtabs(8))
        return indent

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
                below = [Line(header.row, header.indent + 1, text)]
            text = "\n".join((header.text, *(line.text for line in below)))
            found = self._blocks[id(node)] = Block(header, tuple(below), self.rows(node), text)
        return found

    def _line(self, at: int) -> Line:
        if at not in self._lines:
            row, end_row = self._draft.statements[at]
            end = self._draft.starts[end_row] if end_row < len(self._draft.starts) else len(self._draft.whole)
            self._lines[at] = Line(row, self._indent(at), self._draft.whole[self._draft.starts[row - 1] : end])
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
