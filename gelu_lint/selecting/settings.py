"""Settings that name an activation."""

from __future__ import annotations

from functools import cache

from gelu_lint.cut import FULL, HEADER, LIGHT, Cut
from gelu_lint.facts.activation_names import unheard
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.lines import ALONE, WORD, loads, spots
from gelu_lint.patterns import lazy
from gelu_lint.screen import Spots
from gelu_lint.selecting.following import Following

#: What a class says of its family and of its activations, and the words of what holds the name of one.
_SETTING = lazy(rf"\s*(?:model_type|{'|'.join(sorted(ACTIVATION_KEYS))})\s*[:=]")
_KEY = lazy(r"act|nonlin|proj")
#: What may hold settings: a class that is made, a call that makes or takes some, a dict, a table, an object.
_HOLDS = lazy(
    r"\b[A-Z]\w*\(|(?:dict|from_pretrained|for_model|create_model|add_argument|get|\w*act\w*)\(|[{\[]"
    r"|^\s*\w+\.\w+\s*="
)
#: An attribute of something other than self is set to a string.
_CHANGED = lazy(r"\s*(?!self\.|cls\.)\w+\.\w+\s*=\s*[\"']")


class Settings(Following):
    """Keeps strings that set an activation, and what says of which model."""

    def _set(self, needles: Spots, marked: frozenset[int]) -> None:
        """Keep settings: those that matter by themselves, and all of them in a text that has a GELU."""
        found = [*needles.settings()]
        if not marked.isdisjoint(found) or any(cut.kept for cut in self._cuts.values()):
            for at in found:
                self._setting(at)

    def _setting(self, at: int) -> None:
        """Keep the line of a string that sets an activation, what its class is, and what reads a rare name."""
        place = self._place(at)
        if place is None:
            return
        cut, i = place
        lines, text = cut.lines, cut.lines.text(i)
        inside = at - self._rows[lines.logical[i].row + cut.shift - 1]
        quiet = self._quiet(cut, i, text, inside)
        if quiet.startswith("#") or ALONE.fullmatch(text) is not None:
            return
        if not lines.defines(i) and not _HOLDS.search(text):
            inner = lines.scopes[i]
            if inner < 0 or lines.logical[inner].word != "class":
                return
        said = quiet.strip("\"'")
        asked = (id(cut), i, said, -2)
        if asked in self._followed:
            return  # a table of many models: all of its line has been looked at for this name
        self._followed.add(asked)
        self._keep(cut, i, FULL if _CHANGED.match(text) else HEADER if lines.defines(i) else LIGHT)
        for owner in lines.enclosing(i, classes=True):
            self._bases(cut, owner)
            for j in lines.below(owner):
                if lines.scopes[j] == owner and _SETTING.match(lines.text(j)):
                    self._keep(cut, j, HEADER)
        for key in sorted({word for word in WORD.findall(text) if _KEY.search(word) and unheard(word, said)}):
            places = [self._place(other) for other in spots(self._text, key)]
            for cut, i in dict.fromkeys(filter(None, places)):
                if _looks_up(cut.lines.text(i)):
                    self._keep(cut, i, LIGHT)

    def _bases(self, cut: Cut, owner: int) -> None:
        """Keep the header of a class, and those of the classes of the file that it derives from."""
        self._keep(cut, owner, LIGHT)
        for name in loads(cut.lines.text(owner)) - {cut.lines.defines(owner)}:
            at = self._text.find(f"class {name}") if name.isidentifier() else -1
            place = self._place(at) if at >= 0 else None
            if place is None or place[0].lines.defines(place[1]) != name:
                continue
            if place[0].kept.get(place[1], -1) < LIGHT:
                self._bases(*place)


def _looks_up(text: str) -> bool:
    """Whether a line may look up the name of an activation, or give it to what does."""
    return not _lookers().isdisjoint(WORD.findall(text)) or "Config" in text


@cache
def _lookers() -> frozenset[str]:
    """The words of what looks up the name of an activation: tables, functions, layers, and what makes models."""
    from gelu_lint.facts.settings import LOADERS, MAKER, tables
    from gelu_lint.facts.table import layers

    return frozenset((*tables(), *(name.rpartition(".")[2] for name in layers()), *LOADERS, MAKER))
