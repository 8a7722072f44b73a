"""What the names in kept lines stand for."""

from __future__ import annotations

from gelu_lint.cut import FULL, HEADER, LIGHT, NEAR, SEED, VALUES, Cut, stands, worth_following
from gelu_lint.lines import code, loads, targets, words
from gelu_lint.outline import Part, defined
from gelu_lint.patterns import lazy
from gelu_lint.selecting.keeping import BEHAVIOUR, ONE_ROW, SHORT, Keeping, needle_in
from gelu_lint.statements import PATCHES, Statements

#: A dotted name, and what it is the first argument of.
_DOTTED = lazy(r"(?:(?<![\w.])([^\W\d][\w.]*)\(\s*)?(?<![\w.])([^\W\d][\w.]*)")
#: What a model that is bound to a name may be moved or cast by.
_MOVES = lazy(r"\.(?:cuda|cpu|to|eval|train|requires_grad_|half|to_empty)\(")


class Following(Keeping):
    """Keeps what binds the names in kept lines, as far as the level of a line asks for it."""

    def __init__(self, statements: Statements, small: int) -> None:
        super().__init__(statements, small)
        self._faint: dict[int, set[str]] = {}  # functions and classes that only hold a name
        self._followed: set[tuple[int, int, str, int]] = set()
        self._wanted: dict[str, int] = {}

    def _needed(self, text: str) -> set[str]:
        """The names that say which function a line uses, and how: where those of GELUs begin, what they are the first
        argument of, and what is handed to them. All names where the line names no GELU."""
        plain, bound = code(text), targets(text)
        chosen = "approximate" in plain
        several = bound is None and (";" in plain or ONE_ROW.match(plain) is not None)
        if several or (bound is not None and any(map(needle_in, bound[1]))):
            return loads(text)
        given = self._given - bound[0] if bound is not None else self._given
        names: set[str] = set()
        handed = len(plain)  # from where on all is handed to GELUs
        for found in _DOTTED.finditer(plain):
            for dotted, end in ((found[1] or "", found.end(1)), (found[2], found.end())):
                root = dotted.partition(".")[0]
                if root in given or needle_in(dotted):
                    names |= {root, *words(found[1] or "")}
                    if chosen and found[1] and end == found.end():
                        handed = min(handed, end)  # partial(nn.GELU, approximate=…)
                    if plain.startswith("(", end) and not plain.startswith("()", end):
                        handed = min(handed, end)
        names |= loads(plain[handed:])
        if names and bound is not None and bound[1]:
            names |= loads(plain[: plain.find("=")])  # whether what is set is an attribute of a module
        return names or loads(text)

    def _follow(self, cut: Cut, i: int, name: str, level: int) -> None:
        """Keep what binds a name for the line that loads it."""
        lines = cut.lines
        key = (id(cut), lines.scopes[i], name, level)
        if key in self._followed:
            return
        self._followed.add(key)
        if lines.scopes[i] >= 0:
            binding = lines.bindings[0].get(name, ())
            for scope in lines.enclosing(i, classes=False):
                for j in binding if scope >= 0 else ():
                    if lines.scopes[j] == scope:
                        self._bound(cut, j, name, level)
                for j in lines.outer.get(name, ()):
                    self._keep(cut, j, HEADER)
                    for k in binding:
                        if lines.scopes[k] == lines.scopes[j]:
                            self._keep(cut, k, HEADER)
        self._want(name, level)

    def _bound(self, cut: Cut, i: int, name: str, level: int) -> None:
        """Keep a line that binds a name, or remember that it is nothing to rest on."""
        lines = cut.lines
        if lines.defines(i) == name:
            follows = level == SEED or (level == FULL and lines.logical[i].word != "class")
            follows = follows or (level == LIGHT and any(VALUES.search(lines.text(j)) for j in lines.below(i)))
            if self._small or (follows and len(lines.below(i)) <= SHORT):
                self._whole(cut, i, FULL)
            elif level >= FULL:
                self._definition_only(cut, i, HEADER)
            else:
                cut.faint.setdefault(i, set()).add(name)
        elif i in lines.steps and level < FULL:
            pass
        elif level == NEAR:
            text = lines.text(i)
            self._keep(cut, i, LIGHT if _MOVES.search(text) or stands(text, lines.logical[i].word) else HEADER)
        elif i in lines.loose or worth_following(lines, i, level):
            self._keep(cut, i, min(level, FULL))
        else:
            cut.faint.setdefault(i, set()).add(name)

    def _definition_only(self, cut: Cut, i: int, level: int) -> None:
        """Keep a header, and those of the methods by which a class behaves."""
        self._keep(cut, i, level)
        for j in cut.lines.below(i):
            if cut.lines.scopes[j] == i and cut.lines.defines(j) in BEHAVIOUR:
                self._keep(cut, j, HEADER)

    def _follow_member(self, cut: Cut, i: int, name: str) -> None:
        """Keep what sets an attribute of the class around, and its method of that name."""
        lines = cut.lines
        for owner in lines.enclosing(i, classes=True):
            key = (id(cut), owner, "." + name, FULL)
            if key in self._followed:
                continue
            self._followed.add(key)
            names, attributes = lines.bindings
            below = lines.below(owner)
            for j in (*attributes.get(name, ()), *names.get(name, ())):
                if j in below and (lines.scopes[j] == owner or (name in attributes and j in attributes[name])):
                    self._bound(cut, j, name, FULL)
        self._want(name, LIGHT, member=True)

    def _want(self, name: str, level: int, member: bool = False) -> None:
        """Keep what binds a name at the top level."""
        key = "." + name if member else name
        if self._wanted.get(key, -1) >= level:
            return
        self._wanted[key] = level
        for p in self.statements.binders.get(name, ()):
            part = self._parts[p]
            if member and part.kind != "simple":
                continue
            own = part.kind in ("def", "class") and defined(self._text[part.start : part.end]) == name
            if own and level < FULL and p not in self._cuts and not self._picks(part):
                self._faint.setdefault(p, set()).add(name)
                continue
            cut = self._cut(p)
            if part.kind == "import":
                self._keep(cut, 0, HEADER)
                continue
            declared = cut.lines.outer.get(name, ())
            for i in cut.lines.bindings[0].get(name, ()):
                if cut.lines.scopes[i] < 0:
                    self._bound(cut, i, name, level)
                elif any(cut.lines.scopes[i] == cut.lines.scopes[j] for j in declared):
                    self._keep(cut, i, HEADER)
            for i in declared:
                self._keep(cut, i, HEADER)
            if part.kind == "simple" and (cut.lines.bindings[1] or PATCHES.search(cut.lines.text(0))):
                self._keep(cut, 0, min(level, FULL))

    def _picks(self, part: Part) -> bool:
        """Whether a function may choose a flavour for whoever calls it."""
        text = self._text[part.start : part.end]
        return part.kind == "def" and text.count("\n") <= 2 * SHORT and VALUES.search(text) is not None
