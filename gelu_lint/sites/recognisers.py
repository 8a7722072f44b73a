"""All recognisers over one tree: what they visit, and the facts that they tell together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gelu_lint.facts.comparing import WORDS
from gelu_lint.model import Arrival, Context, FileSummary, Site
from gelu_lint.numerics.ir import Expr
from gelu_lint.sites.absent import Absences
from gelu_lint.sites.backwards import Backwards
from gelu_lint.sites.calls import Calls
from gelu_lint.sites.choices import Choices
from gelu_lint.sites.defs import Defs
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.exports import Exports
from gelu_lint.sites.fallbacks import Fallbacks
from gelu_lint.sites.formulas import Formulas
from gelu_lint.sites.fused import Fused
from gelu_lint.sites.gates import Gates
from gelu_lint.sites.halves import Halves
from gelu_lint.sites.impostors import Impostors
from gelu_lint.sites.keeps import Keeps
from gelu_lint.sites.layers import Layers
from gelu_lint.sites.masks import Masks
from gelu_lint.sites.settings import Settings
from gelu_lint.sites.swaps import Swaps
from gelu_lint.sites.tables import Tables
from gelu_lint.sites.tails import Tails
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import CSTNode
from gelu_lint.tree.walk import Walk

if TYPE_CHECKING:
    from gelu_lint.reach import Reach
    from gelu_lint.sites.compares import Compares
    from gelu_lint.sites.trials import Trials


class Recognisers:
    """The recognisers of one file. ``visitors`` are those that must see the tree of a ``text``: in one that is
    ``unmarked``, without any sign of a GELU, what makes other files run in half precision, and no more."""

    def __init__(self, walk: Walk, names: Names, text: str, unmarked: bool) -> None:
        self._calls, self._formulas = Calls(walk, names), Formulas(walk, names)
        self._absences, self._impostors = Absences(walk, names), Impostors(walk, names)
        self._backwards = Backwards(walk, names)
        self._halves, self._tails, self._tables = Halves(walk, names), Tails(walk, names), Tables(walk, names)
        self._layers, self._keeps, self._masks = Layers(walk, names), Keeps(walk, names), Masks(walk, names)
        self._fused, self._choices = Fused(walk, names), Choices(walk, names, self._calls, self._formulas)
        self._gates = Gates(walk, names, self._calls, self._formulas, self._choices)
        self._fallbacks = Fallbacks(walk, names, self._choices)
        self._defs, self._swaps = Defs(walk, names), Swaps(walk, names)
        self._exports, self._settings = Exports(walk, names), Settings(walk, names)
        self._compared, self._tests = _tests(walk, names, text)
        # What builds on other recognisers comes after them, and says nothing where they have found no GELU.
        seldom = (self._layers, self._keeps, self._masks, self._exports)
        rare: tuple[Any, ...] = tuple(each for each in seldom if each.concerns(text))
        rare += tuple(each for each in (self._compared, self._tests) if each is not None)
        self._first: tuple[Any, ...] = (
            *(self._calls, self._absences, self._formulas, self._impostors, self._backwards, self._halves),
            *(self._tails, self._tables, self._fused, self._swaps, *rare),
        )
        self._second: tuple[Any, ...] = (self._choices, self._gates, self._defs, self._fallbacks)
        self._found = False
        self.visitors: tuple[Any, ...] = (self._halves,) if unmarked else (*self._first, *self._second, self._settings)

    def nodes(self) -> list[CSTNode]:
        """The nodes that must be placed before the facts can be told."""
        found = [node for visitor in self.visitors if visitor in self._first for node in visitor.nodes()]
        if len(self.visitors) == 1:
            return found
        self._found = bool(found) or self._fallbacks.concerned()
        found += self._settings.nodes()
        return [*found, *(node for visitor in self._second for node in visitor.nodes())] if self._found else found

    def formulas(self, draft: Draft) -> Iterator[tuple[Site, Expr]]:
        """The sites that are typed by hand, each with its formula, once ``nodes`` has been asked."""
        if self._formulas in self.visitors:
            yield from zip(self._formulas.sites(draft, frozenset()), self._formulas.expressions(), strict=True)
            yield from zip(self._backwards.sites(draft), self._backwards.expressions(), strict=True)

    def facts(
        self, summary: FileSummary, draft: Draft, reach: Callable[[], Reach], arrivals: Sequence[Arrival]
    ) -> FileSummary:
        """``summary`` with all facts: ``arrivals`` are where contexts of other files lead into this one, and ``reach``
        gives what its code may run."""
        contexts = self._contexts(draft, reach(), arrivals) if self._halves.kinds() or arrivals else ()
        if self._first[0] not in self.visitors:
            return summary._replace(contexts=contexts)
        kinds = frozenset(context.kind for context in contexts)
        called, written = [*self._calls.sites(draft)], [*self._formulas.sites(draft, kinds)]
        typed = [*written, *self._backwards.sites(draft)]
        spans = {site.span for site in typed}
        others = [site for site in self._impostors.sites(draft) if site.span not in spans]
        every = (*called, *typed, *others, *self._layers.sites(draft))
        sites = tuple(sorted(every, key=lambda site: site.span))
        users = (
            *(self._calls, self._absences, self._tails, self._tables),
            *(self._layers, self._keeps, self._fused, self._gates),
        )
        nodes = (node for part in (self._calls, self._formulas) for node, _ in part.found())
        chosen = [*zip(nodes, (*called, *written), strict=True)]
        swaps = tuple(self._swaps.swaps(draft, sites))
        known = {id(node): site for node, site in chosen}
        return summary._replace(
            sites=sites,
            uses=tuple(use for part in users for use in part.uses(draft)),
            contexts=contexts,
            held=(*self._layers.held(draft), *self._keeps.held(draft)),
            masks=tuple(self._masks.masks(draft)),
            choices=tuple(self._choices.choices(draft, chosen)) if self._found else (),
            fallbacks=tuple(self._fallbacks.fallbacks(draft, chosen)) if self._found else (),
            defs=tuple(self._defs.defs(draft, sites, swaps)) if self._found else (),
            swaps=swaps,
            exports=tuple(self._exports.exports(draft, sites, reach)),
            entries=tuple(self._settings.entries(draft)) if sites or self._settings.speaks else (),
            comparisons=tuple(self._compared.comparisons(draft, known)) if self._compared is not None else (),
            trials=tuple(self._tests.trials(draft, known)) if self._tests is not None else (),
        )

    def _contexts(self, draft: Draft, reach: Reach, arrivals: Sequence[Arrival]) -> tuple[Context, ...]:
        """What makes code of a file run in fp16: what stands in it, and what leads into it."""
        self._halves.shield(draft, reach)
        led = reach.led(arrivals)
        return (*self._halves.contexts(draft, reach), *led)


def _tests(walk: Walk, names: Names, text: str) -> tuple[Compares | None, Trials | None]:
    """The recognisers of what tests hold, where a text may hold any: most never need them loaded."""
    compares = trials = None
    if any(word in text for word in WORDS):
        from gelu_lint.sites.compares import Compares

        compares = Compares(walk, names)
    if "def test" in text:
        from gelu_lint.sites.trials import Trials

        trials = Trials(walk, names)
    return compares, trials
