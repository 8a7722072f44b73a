"""Random masks, and what they are drawn in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from gelu_lint.cut import FULL, LIGHT, Cut
from gelu_lint.lines import members, targets
from gelu_lint.outline import defined
from gelu_lint.patterns import lazy
from gelu_lint.selecting.following import Following
from gelu_lint.selecting.keeping import TESTS, in_rows, is_def

#: What draws a mask, if it stands in a function or class with a GELU.
_DRAWS = lazy(
    r"(?<!init\.)\b(?:rand(?!\((?:\[\]|1)\))|rand_like|bernoulli_?|uniform_?|random_uniform|stateless_uniform|random_sample|random|binomial|"
    r"Bernoulli)\("
)
#: Each row in which _DRAWS finds something has one of these.
_DRAWING = ("rand", "ernoulli", "uniform", "inomial")
#: What tosses coins; of other draws a threshold makes a mask.
_TOSSES = lazy(r"[bB]ernoulli|binomial")
_THRESHOLD = lazy(r"(?<!-)>|<|floor|round|trunc|ernoulli|binomial|greater|less|\b[gl][te]_?\(")
#: What stands before a draw that fills a tensor in place and does no more, or that is the test of a condition.
_ASIDE = lazy(r"\s*[\w.]+\.|[\s\S]*\bif (?:not )?(?:\w+\.)*")
_CALL = lazy(r"\s*\(")


class Draws(Following):
    """Keeps the functions in which a mask is drawn, and those that have a GELU and ask for one."""

    def _drawn(self) -> None:
        """Keep all of the functions that draw something and have a GELU, and what calls them."""
        drawing: dict[tuple[int, int], tuple[Cut, list[int]]] = {}
        helpers = {p for p, part in enumerate(self._parts) if part.kind == "def"}
        for found in [*self._draws_in(sorted(helpers.union(self._cuts)))]:
            p = bisect_right(self._starts, found.start()) - 1
            place = self._place(found.start()) if self._is_kept(p) or self._serves(p) else None
            if place is None or self._draws_aside(*place, found):
                continue
            cut, i = place
            function = next((s for s in cut.lines.enclosing(i, classes=False) if s >= 0 and is_def(cut, s)), -1)
            if function >= 0 and (_TOSSES.match(found[0]) or _THRESHOLD.search(self._rows_of(cut, function))):
                owner = next(cut.lines.enclosing(function, classes=True), -1)
                drawing.setdefault((p, owner), (cut, []))[1].append(function)
        for (_, owner), (cut, functions) in drawing.items():
            if owner >= 0:
                self._drawn_in_class(cut, owner, {*functions})
                continue
            for i in dict.fromkeys(functions):
                marked = self._marked(cut, i)
                if cut.lines.scopes[i] < 0:
                    marked = self._callers(cut.lines.defines(i), marked) or marked
                if marked:
                    self._whole(cut, i, FULL)
        self._drain()

    def _serves(self, p: int) -> bool:
        """Whether a statement is a function that one with a GELU calls."""
        name = defined(self._text[self._parts[p].start : self._parts[p].end])
        called = (at for at in self._all(name) if self._calls(at, name))
        return any(self._is_kept(bisect_right(self._starts, at) - 1) for at in called)

    def _calls(self, at: int, name: str) -> bool:
        """Whether a name is called where it stands, and not as an attribute."""
        return self._text[at - 1 : at] != "." and _CALL.match(self._text, at + len(name)) is not None

    def _draws_aside(self, cut: Cut, i: int, found: re.Match[str]) -> bool:
        """Whether what is drawn in a line is no factor of anything: it is tested, or fills a tensor in place."""
        lines = cut.lines
        if lines.logical[i].word in TESTS and lines.is_header(i):
            return ":=" not in lines.text(i)
        if _ASIDE.fullmatch(self._text, self._start(cut, i), found.start()) is not None:
            return True
        bound = targets(lines.text(i))
        if bound is None or bound[1] or len(bound[0]) != 1 or lines.scopes[i] < 0:
            return False
        below = lines.below(lines.scopes[i])
        used = [j for j in lines.mentions(*bound[0]) if j != i and j in below]
        return all(lines.logical[j].word in TESTS and lines.is_header(j) for j in used)

    def _draws_in(self, wanted: Sequence[int]) -> Iterator[re.Match[str]]:
        """What draws something in some statements, those that follow each other searched as one."""
        stretches: list[tuple[int, int]] = []
        for p in wanted:
            follows = bool(stretches) and stretches[-1][1] + 1 == p
            stretches.append((stretches.pop()[0] if follows else p, p))
        for first, last in stretches:
            yield from in_rows(self._text, _DRAWING, _DRAWS, self._parts[first].start, self._parts[last].end)

    @cached_property
    def _draws(self) -> bool:
        return any(word in self._text for word in _DRAWING)

    def _drawn_in_class(self, cut: Cut, owner: int, functions: set[int]) -> None:
        """The methods of a class that draw, if they or what calls them have a GELU."""
        lines = cut.lines
        below = lines.below(owner)
        methods = [j for j in below if is_def(cut, j)]
        held = self._held(cut, owner)
        said = {j: self._said(cut, j) for j in methods}
        wanted = {j for j in methods if self._marked(cut, j) or said[j] & held}
        drawn = {lines.defines(j) for j in functions}
        kept = {j for j in methods if j in wanted and (j in functions or said[j] & drawn)}
        for _ in range(2):  # and what calls them, or is called by them
            names = {lines.defines(j) for j in kept}
            inner = {name for j in kept for name in said[j]}
            kept |= {j for j in methods if said[j] & names or (j in functions and lines.defines(j) in inner)}
        for j in sorted(kept):
            self._whole(cut, j, FULL)

    def _has_gelu(self, cut: Cut, function: int) -> bool:
        """Whether a function has a GELU, or mentions what a class around it holds one by."""
        if self._marked(cut, function):
            return True
        owner = next(cut.lines.enclosing(function, classes=True), -1)
        return owner >= 0 and not self._held(cut, owner).isdisjoint(self._said(cut, function))

    def _held(self, cut: Cut, owner: int) -> set[str]:
        """The attributes that a class binds in lines that are kept for their own sake."""
        lines = cut.lines
        kept = (j for j in lines.below(owner) if cut.kept.get(j, -1) >= LIGHT)
        return {name for j in kept for name in (targets(lines.text(j)) or ((), ()))[1]}

    def _said(self, cut: Cut, function: int) -> set[str]:
        """The attributes that a function mentions."""
        return {name for k in (function, *cut.lines.below(function)) for name in members(cut.lines.text(k))}

    def _callers(self, name: str, marked: bool) -> bool:
        """Keep all of the functions that mention a name, if it has a GELU, or call it if they have; whether any has."""
        found = False
        for at in self._all(name):
            called = self._calls(at, name)
            kept = called and self._is_kept(bisect_right(self._starts, at) - 1)
            place = self._place(at) if marked or kept else None
            if place is None:
                continue
            cut, i = place
            around = next((s for s in cut.lines.enclosing(i, classes=False) if s >= 0 and is_def(cut, s)), -1)
            own = around >= 0 and called and not cut.lines.defines(i) and self._has_gelu(cut, around)
            found = found or own
            if around >= 0 and (marked or own):
                self._whole(cut, around, FULL if own else LIGHT)
            elif marked:
                self._keep(cut, i, LIGHT)
        return found
