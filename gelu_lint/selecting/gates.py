"""Products that a GELU is one of, or is computed of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gelu_lint.claims import WRAPPERS, says_glu
from gelu_lint.cut import FULL, Cut
from gelu_lint.lines import code, targets
from gelu_lint.patterns import lazy
from gelu_lint.selecting.branches import Branches
from gelu_lint.selecting.keeping import in_rows, needle_in
from gelu_lint.statements import Statements

_SIGN = lazy(r"[()\[\]{},]")
_LAST = lazy(r"(?:\s|\"\")*\)")  # after a last comma: comments have become empty strings
_MAKES = lazy(r"[^=]*=\s*([\w.]+)\(")
#: A product of two, and a call of some name with one.
_PRODUCT = lazy(r"[\w)\]]\s*\*(?!\*)|\b(?:mul|multiply|Multiply)\b")
#: Names without which no product is one of a gate and a value.
_GATES = ("gate", "gating", "value", "glu")
_GATE = lazy(r"(?<![a-z])(?:up|val)(?![a-z])|(?<![a-z])(?:wi_?[01]|w_?[0-3])\b|_g\b")
#: Each row in which _GATE finds something has one of these.
_GATING = ("up", "val", "wi", "w_", "w0", "w1", "w2", "w3", "_g")
_OF_NAME = lazy(r"\((?:\s|\"\")*([^\W\d]\w*)(?:\s|\"\")*[,)]")


class Gates(Branches):
    """Keeps the products that a GELU is computed of in a gated unit."""

    def __init__(self, statements: Statements, small: int) -> None:
        super().__init__(statements, small)
        self._told_of: dict[tuple[int, int, str], int] = {}  # how often lines that bind a name were asked about it
        self._products: dict[tuple[int, int, str], bool] = {}  # whether a name of a scope holds a product

    def _gates(self, cut: Cut, i: int, text: str) -> None:
        """Keep the product that a GELU in a line is of, all of a unit named for its gate, and what chooses it."""
        lines = cut.lines
        at = i if lines.defines(i) else lines.scopes[i]
        while at >= 0:
            if says_glu(lines.defines(at)):
                self._whole(cut, at, FULL)
            self._arms_of(cut, at)
            at = lines.scopes[at]
        self._product(cut, i, text)
        bound = targets(text)
        if bound is None or self._hides(cut, text):
            return
        inner = lines.scopes[i]
        of_class = inner >= 0 and lines.logical[inner].word == "class"
        for name in bound[1] | (bound[0] if of_class else set()):
            for owner in lines.enclosing(i, classes=True):
                self._called(cut, name, self._others(cut, owner, name, i), ".")
        for name in bound[0] if not of_class else ():
            if inner >= 0:
                self._called(cut, name, self._others(cut, inner, name, i), "")
            elif not needle_in(name) and (0, -1, "=" + name, -1) not in self._followed:
                self._followed.add((0, -1, "=" + name, -1))
                for found in self._all(name):
                    place = self._place(found)
                    if place is not None and place[0].lines.scopes[place[1]] >= 0:
                        self._called(place[0], name, [place[1]], "")

    def _hides(self, cut: Cut, text: str) -> bool:
        """Whether a line binds what an imported class or function makes of a GELU, which stands for that no more."""
        made = _MAKES.match(text)
        if made is None or needle_in(made[1]) or made[1].rpartition(".")[2] in WRAPPERS:
            return False
        root, dot, _ = made[1].partition(".")
        if dot:
            return root not in ("self", "cls")
        own = root in cut.lines.bindings[0] or f"class {root}" in self._text or f"def {root}" in self._text
        return not own and all(self._parts[p].kind == "import" for p in self.statements.binders.get(root, ()))

    def _others(self, cut: Cut, owner: int, name: str, i: int) -> Sequence[int]:
        """The lines of a gated unit, other than line ``i``, that mention a name that this line binds.

        Asked for a third line that binds it there is nothing new: all of them have been told.
        """
        lines = cut.lines
        key = (id(cut), owner, name)
        self._told_of[key] = self._told_of.get(key, 0) + 1
        if self._told_of[key] > 2 or not self._gated(cut, owner):
            return ()
        below = lines.below(owner)
        return [j for j in lines.mentions(name) if j in below and j != i]

    def _called(self, cut: Cut, name: str, rows: Sequence[int], dot: str) -> None:
        """Keep the lines among ``rows`` that call a GELU by a name with a product."""
        for j in rows:
            text = code(cut.lines.text(j))
            at = re.search(rf"{re.escape(dot)}\b{name}\s*\(", text)
            if at is not None and ("#" in text or "approximate" in text or _takes_one(text, at.end())):
                self._product(cut, j, text[at.end() - 1 :])

    def _product(self, cut: Cut, i: int, text: str) -> None:
        """Keep all that a line rests on if a product is in ``text``, or is bound to a name that is called with."""
        lines, scope = cut.lines, cut.lines.scopes[i]
        told = any(says_glu(lines.defines(owner)) for owner in lines.enclosing(i, classes=True))
        if (told or self._gated(cut, scope)) and self._has_product(cut, scope, code(text)):
            self._keep(cut, i, FULL)

    def _has_product(self, cut: Cut, scope: int, text: str) -> bool:
        """Whether a product is in a line of a scope, or is bound there to a name that the line calls something with."""
        if _PRODUCT.search(text):
            return True
        lines = cut.lines
        for name in _OF_NAME.findall(text) if scope >= 0 else ():
            key = (id(cut), scope, name)
            if key not in self._products:
                here = [j for j in lines.bindings[0].get(name, ()) if lines.scopes[j] == scope]
                self._products[key] = any(_PRODUCT.search(code(lines.text(j))) for j in here)
            if self._products[key]:
                return True
        return False

    def _gated(self, cut: Cut, scope: int) -> bool:
        """Whether the text of a function or class has names of a gated unit."""
        lines = cut.lines
        if scope not in cut.gated:
            below = lines.below(scope) if scope >= 0 else range(len(lines))
            first = lines.logical[max(scope, 0)].row + cut.shift - 1
            last = lines.logical[below[-1] if below else max(scope, 0)].end_row + cut.shift
            text = self._text[self._ends[first] : self._ends[last]]
            text = text.lower()
            cut.gated[scope] = any(word in text for word in _GATES) or bool(in_rows(text, _GATING, _GATE))
        return cut.gated[scope]


def _takes_one(text: str, at: int) -> bool:
    """Whether a call whose arguments begin at an offset has but one of them, as far as brackets tell."""
    depth = 0
    for found in _SIGN.finditer(text, at):
        sign = found[0]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif not depth:
            return _LAST.match(text, found.end()) is not None
    return True
