"""Layers, savers and scripts that keep a GELU under a name."""

from __future__ import annotations

import re
from bisect import bisect_right

from gelu_lint.claims import chooses
from gelu_lint.cut import FULL, HEADER, Cut
from gelu_lint.lines import WORD
from gelu_lint.patterns import lazy
from gelu_lint.selecting.following import Following
from gelu_lint.selecting.keeping import identifier, needle_in
from gelu_lint.statements import Statements

_HEADER_ENDS = lazy(r"\)\s*(?:->[^\n]*)?:\s*(?:#[^\n]*)?\n")
_MODULE = lazy(r"from\s+([\w.]+)\s+import\b")
_ARGUMENT = lazy(r"\s*(?:\w+\s*=\s*)?(?:[\w.]+\.)?(\w+)")
_NEAR_BY = 80  # characters before a name that a dot stands in
#: An import of one of torch's layers, wherever it stands.
_OF_TORCH = r"from\s+torch[\w.]*\s+import\b(?:\s*\([^)]*|[^\n]*)\b%s\b"
#: A class of the file by the name of one that keeps a GELU, of which it is none.
_OWN_LAYER = r"^class[ \t]+%s[ \t]*(?:\((?:(?!Transformer)[^()\n])*\))?[ \t]*:"
_SCRIPTED = lazy(r"@(?:torch\.)?(?:jit\.)?script\b")
#: How a class may see to its own copies.
_PICKLES = frozenset(("__getstate__", "__reduce__", "__reduce_ex__", "__deepcopy__"))


class Layers(Following):
    """Keeps what layers, checkpoints and modules hold a GELU by."""

    def __init__(self, statements: Statements, small: int) -> None:
        super().__init__(statements, small)
        self._made: set[str] = set()  # classes that take an activation and have a GELU by default
        self._losing: dict[int, bool] = {}  # by statement, see _may_lose

    def _of_torch(self, found: re.Match[str]) -> bool:
        """Whether a name of one of torch's layers may be that: no class of the file, or of another module, has it."""
        name = found[0].rstrip("(")
        if not name.startswith("Transformer") or self._text[
            max(0, found.start() - _NEAR_BY) : found.start()
        ].rstrip().endswith("."):
            return True
        if re.search(_OF_TORCH % name, self._text) is not None:
            return True
        own = re.search(_OWN_LAYER % name, self._text, re.MULTILINE)
        if own is not None:
            return found.start() < own.start()
        parts = [self._parts[p] for p in self.statements.binders.get(name, ())]
        imports = (_MODULE.match(self._text, part.start) for part in parts)
        return not parts or not all(at is not None and at[1].partition(".")[0] != "torch" for at in imports)

    def _may_keep(self, found: re.Match[str]) -> bool:
        """Whether what is scripted, if anything is, may be a function of this file, or one that says what it is."""
        given = _ARGUMENT.match(self._text, found.end()) if found[0].startswith("jit.") else None
        return given is None or needle_in(given[1]) or f"def {given[1]}" in self._text

    def _scripted(self) -> None:
        """Look at what uses the names of scripted functions with a GELU in them."""
        for found in _SCRIPTED.finditer(self._text):
            place = self._place(found.start())
            if place is None or place[0].lines.logical[place[1]].word != "@":
                continue
            cut, i = place
            for j in cut.lines.group(i):
                name = cut.lines.defines(j)
                if name and cut.lines.scopes[j] < 0 and any(k in cut.kept for k in cut.lines.below(j)):
                    self._marks += [(at, name, False) for at in self._all(name)]
        self._drain()

    def _owner(self, cut: Cut, i: int) -> None:
        """Keep what says whether the class around a line is a module, and how it is copied."""
        for owner in cut.lines.enclosing(i, classes=True):
            self._keep(cut, owner, FULL)
            for j in cut.lines.below(owner):
                if cut.lines.defines(j) in _PICKLES:
                    self._keep(cut, j, HEADER)

    def _makers(self, name: str, header: str) -> None:
        """Keep calls of a class with a GELU by default where an activation is taken and never mentioned again."""
        if not name or name in self._made or not any(chooses(word) == "activation" for word in WORD.findall(header)):
            return
        self._made.add(name)
        for at in self._all(name):
            p = max(bisect_right(self._starts, at) - 1, 0)
            in_class = self._text.find("class", self._parts[p].start, at) >= 0
            place = self._place(at) if in_class and self._text[at - 1 : at] != "." and self._may_lose(p) else None
            if place is None:
                continue
            cut, i = place
            lines = cut.lines
            for owner in lines.enclosing(i, classes=True):
                below = lines.below(owner)
                for j in below:
                    if lines.scopes[j] != owner or lines.defines(j) != "__init__":
                        continue
                    taken = [word for word in {*WORD.findall(lines.text(j))} if chooses(word) == "activation"]
                    if any(sum(k in below for k in lines.mentions(word)) == 1 for word in taken):
                        self._keep(cut, i, HEADER)
                        self._keep(cut, j, HEADER)

    def _may_lose(self, p: int) -> bool:
        """Whether a statement may take an activation that it mentions in but one line: told before it is cut."""
        if p not in self._losing:
            part = self._parts[p]
            start = self._text.find("__init__", part.start, part.end)
            one = part.kind == "class" and self._text.count("class ", part.start, part.end) == 1
            self._losing[p] = start >= 0 and (not one or self._mentions_once(start, part.end))
        return self._losing[p]

    def _mentions_once(self, start: int, end: int) -> bool:
        """Whether a stretch may mention an activation in no line but one; rows of comments are in no line."""
        places: dict[str, list[int]] = {}
        for stem in ("act", "non"):
            at = self._text.find(stem, start, end)
            while at >= 0:
                word = identifier(self._text, at).rpartition(".")[2]
                if chooses(word) == "activation" and "#" not in self._text[self._text.rfind("\n", 0, at) + 1 : at]:
                    places.setdefault(word, []).append(at)
                at = self._text.find(stem, at + len(stem), end)
        return any(_HEADER_ENDS.search(self._text, found[0], found[-1]) is None for found in places.values())
