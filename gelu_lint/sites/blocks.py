"""What the whole text of a function or class mentions, lines that are not parsed included.

Whether a parameter is read is a question over every line of its function, but only some of them are parsed. Where the
words of a line leave it open, it counts as read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from gelu_lint.lines import code, spots
from gelu_lint.patterns import lazy
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.nodes import ClassDef, FunctionDef

_METHOD = lazy(r"\s*(?:async\s+)?def\s+(\w+)")
_DOCSTRING = lazy(r"\s*[rRbBuU]{0,2}[\"']")
#: Methods that tell what an object was given, and compute nothing with it.
_TELLS = frozenset(
    (
        *("extra_repr", "__repr__", "__str__", "get_config", "to_dict", "to_json", "as_dict", "config", "state_dict"),
        *("__getstate__", "__hash__", "__eq__", "__reduce__", "__len__"),
    )
)
#: What reads every name at once, and the words that show it.
_MANY = ("locals", "vars", "eval", "exec", "__dict__", "save_hyperparameters", "getfullargspec")
_ALL = lazy(r"\blocals\s*\(|\bvars\s*\(|\beval\s*\(|\bexec\s*\(|__dict__|save_hyperparameters|getfullargspec")
_CONSTANTS = lazy(r"\s*__(?:constants|slots|all|annotations)__\b")
_LITERAL = r"""(?:[rRuU]?"[^"\\\n]*"|[rRuU]?'[^'\\\n]*'|True|False|[-+]?\d[\w.]*)"""
# What a line does with a name or attribute: the patterns give the name, which is then compared. To make one for each
# name takes longer than to search with it.
_BINDS = lazy(r"\s*(\w+)\s*(?::[^=]+)?=(?!=)")
_SETS = lazy(r"\s*(?:self|this|cls)\.(\w+)\s*(?::[^=]+)?=(?!=)")
_STORES = lazy(r"\s*(?:self|this)\.(\w+)\s*(?::[^=]+)?=(?!=)\s*([^;]*)$", re.DOTALL)
_KEEPS = lazy(r"\s*self\.(\w+)\s*(?::[^=]+)?=\s*(\w+)\s*$")
_OVERWRITES = lazy(rf"\s*((?:self\.)?\w+)\s*(?::[^=]+)?=(?!=)\s*({_LITERAL})\s*(?:#.*)?$")
_KEYWORD = lazy(r"\s*=(?!=)")
_CALL, _RUN = lazy(r"\s*\("), lazy(r"\s*(?:\.forward\s*)?\(")
_OF_SELF = lazy(r"\W?self\.")
_LEAD = lazy(r"[ \t\f]*")
_QUOTES = ("'", '"')


class Line:
    """A logical line: its row, how far it is indented, the text, and what of it is code."""

    __slots__ = ("_code", "indent", "row", "text")

    def __init__(self, row: int, indent: int, text: str) -> None:
        self.row, self.indent, self.text = row, indent, text
        self._code: str | None = None

    @property
    def code(self) -> str:
        """The text without comments and strings."""
        if self._code is None:
            self._code = code(self.text)
        return self._code

    def loads(self, name: str) -> bool:
        """Whether it may load a name."""
        bound = _BINDS.match(self.code)
        start = bound.end() if bound is not None and bound[1] == name else 0
        return any(
            self.code[at - 1 : at] != "." and _KEYWORD.match(self.code, at + len(name)) is None
            for at in spots(self.code, name, start)
        )

    def calls(self, name: str, call: re.Pattern[str]) -> bool:
        """Whether a name, or an attribute of ``self`` (with its dot), is followed by a ``call``."""
        word = name.lstrip(".")
        after = (at for at in spots(self.code, word) if call.match(self.code, at + len(word)) is not None)
        if word == name:
            return any(self.code[at - 1 : at] != "." for at in after)
        return any(_OF_SELF.fullmatch(self.code, max(at - len("_self."), 0), at) is not None for at in after)


class Block:
    """A function or class: its header, the lines below it (of a one-row body its text), the rows of all of it, and its
    source, header included."""

    __slots__ = ("_below", "_indents", "_texts", "header", "rows", "text")

    def __init__(
        self, header: Line, rows: tuple[int, int], texts: Sequence[str], indents: Sequence[int], at: Sequence[int]
    ) -> None:
        self.header, self.rows = header, rows
        self._texts, self._indents = texts, indents
        self._below: list[Line | int] = [*at]  # lines are made when somebody asks for them; before, their rows
        self.text = "\n".join((header.text, *texts))

    def _line(self, i: int) -> Line:
        line = self._below[i]
        if not isinstance(line, Line):
            line = self._below[i] = Line(line, self._indents[i], self._texts[i])
        return line

    @property
    def below(self) -> Iterator[Line]:
        """The lines below the header."""
        return (self._line(i) for i in range(len(self._texts)))

    def holding(self, word: str) -> Iterator[Line]:
        """Those of them in whose text a word may stand."""
        if word in self.text:
            yield from (self._line(i) for i, text in enumerate(self._texts) if word in text)

    @property
    def _base(self) -> int:
        return min(self._indents, default=0)

    def docstring(self) -> str:
        """The line that may be a docstring."""
        return self._texts[0] if self._texts and _DOCSTRING.match(self._texts[0]) else ""

    def reads_all(self) -> bool:
        """Whether something in it may read any name."""
        return any(word in self.text for word in _MANY) and any(_ALL.search(line.code) for line in self.below)

    def loads(self, name: str) -> list[Line]:
        """The lines below the header that may load a name."""
        return [line for line in self.holding(name) if line.loads(name)]

    def stores(self, name: str) -> list[str]:
        """The attributes of ``self`` in which alone a name is kept; none where anything else is done with it."""
        found = []
        for line in self.loads(name):
            held = _STORES.match(line.code)
            if held is None:
                return []
            found.append(held[1])
        return found

    def overwrites(self, name: str, also: str = "") -> tuple[str, str]:
        """The name or attribute of this name that is set to a literal whatever the parameter is, and the literal.

        Names and attributes that begin with ``also`` count, too, where the parameter is never loaded.
        """
        base = self._base
        loaded = {line.row for line in self.loads(name)}
        names = (name, f"self.{name}", f"self._{name}")
        more = (also, f"self.{also}", f"self._{also}") if also and not loaded else ()
        for line in self.holding(also if more and also in name else "=" if more else name):
            if line.row in loaded:
                kept = _KEEPS.match(line.code)
                held = kept is not None and kept[1] in (name, f"_{name}") and kept[2] == name
                if not (held and line.indent == base):
                    break  # what it was is seen before
            found = _OVERWRITES.match(line.text) if line.indent == base else None
            if found is None or not (found[1] in names or (more and found[1].startswith(more))):
                continue
            if not (found[1] == name and loaded and line.row > min(loaded)):
                return found[1], found[2]
        return "", ""

    def reads_attribute(self, name: str) -> bool:
        """Whether anything in a class may read an attribute, what only tells of it aside."""
        if name not in self.text:
            return False
        base, method = self._base, ""
        for i, text in enumerate(self._texts):
            if self._indents[i] <= base:
                found = _METHOD.match(text)
                method = found[1] if found is not None else ""
            if name not in text or method in _TELLS or _CONSTANTS.match(text) or _DOCSTRING.match(text):
                continue
            plain = self._line(i).code
            bound = _SETS.match(plain)
            start = bound.end() if bound is not None and bound[1] == name else 0
            if any(plain[start:at].rstrip().endswith(".") for at in spots(plain, name, start)):
                return True
            behind = ((at - 1, at + len(name)) for at in spots(text, name) if at)
            if any(text[a] in _QUOTES and text[b : b + 1] in _QUOTES for a, b in behind):
                return True
        return False

    def runs(self, name: str) -> bool:
        """Whether what a name or an attribute of ``self`` (with its dot) holds is called."""
        return any(line.calls(name, _RUN) for line in self.holding(name))

    def calls(self, name: str) -> bool:
        """Whether a plain name is called in it."""
        behind = (at + len(name) for at in spots(self.text, name))
        if not any(_CALL.match(self.text, at) is not None for at in behind):
            return False
        return any(line.calls(name, _CALL) for line in self.holding(name))


class Blocks:
    """Finds the blocks of one file."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._extents: dict[int, tuple[int, int]] = {}  # by id of a node: its header, and the line behind its block
        self._blocks: dict[int, Block] = {}
        self._rows: list[int] = []  # first rows of all lines, and how far each is indented, once they are asked for
        self._indents: list[int] = []

    def _extent(self, node: FunctionDef | ClassDef) -> tuple[int, int]:
        found = self._extents.get(id(node))
        if found is None:
            if not self._rows:
                self._measure()
            first = bisect_right(self._rows, self._draft.span(node.name).row) - 1
            base, at = self._indents[first], first + 1
            while at < len(self._rows) and self._indents[at] > base:
                at += 1
            found = self._extents[id(node)] = first, at
        return found

    def _measure(self) -> None:
        """Find out how far each line is indented."""
        whole, starts = self._draft.whole, self._draft.starts
        self._rows = [row for row, _ in self._draft.statements]
        leads = [_LEAD.match(whole, starts[row - 1]) for row in self._rows]
        self._indents = [lead.end() - lead.start() for lead in leads if lead is not None]
        if "\t" in whole or "\f" in whole:
            texts = (lead[0].rpartition("\f")[2] for lead in leads if lead is not None)
            self._indents = [len(text.expandtabs(8)) for text in texts]

    def rows(self, node: FunctionDef | ClassDef) -> tuple[int, int]:
        """The first row of the header of a function or class, whose name must have a place, and the last of all."""
        first, behind = self._extent(node)
        return self._draft.statements[first][0], self._draft.statements[behind - 1][1]

    def of(self, node: FunctionDef | ClassDef) -> Block:
        """The block of a function or class, whose name and body must have places."""
        found = self._blocks.get(id(node))
        if found is None:
            first, behind = self._extent(node)
            header = Line(self._rows[first], self._indents[first], self._text(first))
            texts = [self._text(at) for at in range(first + 1, behind)]
            indents, rows = self._indents[first + 1 : behind], self._rows[first + 1 : behind]
            if not texts:  # def f(x): return x
                texts, indents, rows = [self._draft.text(node.body)], [header.indent + 1], [header.row]
            found = self._blocks[id(node)] = Block(header, self.rows(node), texts, indents, rows)
        return found

    def _text(self, at: int) -> str:
        """The rows of a line."""
        starts, (row, end_row) = self._draft.starts, self._draft.statements[at]
        return self._draft.whole[starts[row - 1] : starts[end_row] if end_row < len(starts) else None]

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
