"""Calls of a known GELU whose arguments raise, or mean another flavour than they say."""

from __future__ import annotations

from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import callables
from gelu_lint.model import Argument, Site, Value
from gelu_lint.named import NamedTuple


class Misuse(NamedTuple):
    """One wrong argument of a site.

    kind      position (by position where only the keyword works), keyword (unknown keyword), value (not a valid value),
              truthy (a string whose truthiness decides), dummy (the argument is ignored), misleading (a valid value
              that is another flavour than it says)
    meant     the flavour that the author named, "" where that is unclear
    computes  the flavour that results, "" where the call raises
    """

    kind: str
    argument: Argument
    value: Value
    meant: str
    computes: str


def misuse(site: Site) -> Misuse | None:
    """The first wrong argument of a call, None if the call is right as far as its text shows."""
    if site.form not in ("call", "partial", "super"):
        return None
    row = callables().get(site.callee)
    if row is None:
        return None  # another activation that is given out as GELU
    positional = [argument for argument in site.arguments if not argument.keyword]
    stars = any(argument.star for argument in site.arguments)
    for argument in site.arguments:
        if argument.keyword and row.parameters and argument.keyword not in row.parameters:
            return Misuse("keyword", argument, argument.value, meant(argument), "")
    if row.keyword_only and len(positional) > 1 and not any(argument.star for argument in positional):
        return Misuse("position", positional[1], positional[1].value, meant(positional[1]), "")
    if row.dummy is not None and not stars:
        return _dummy(row, site, positional)
    if site.given not in ("literal", "constant"):
        return None
    argument = chosen(site, row, positional)
    said = any("tanh" in word.lower() for word in (site.symbol, site.key, *site.tested))
    if isinstance(site.value, str) and site.value in dict(row.misleading) and not said:
        # The value works and its users may well know what it is: what is wanted is a word that says so.
        return Misuse("misleading", argument, site.value, site.flavour, site.flavour)
    if row.flavour_of(site.value):
        return None
    if row.wrong != "truthy":
        return Misuse("value", argument, site.value, meant(argument), "")
    if not isinstance(site.value, str):
        return None  # 0, 1 and None are read as False, True and False by everyone; words are not
    return Misuse("truthy", argument, site.value, meant(argument), site.flavour)


def chosen(site: Site, row: Callable, positional: list[Argument]) -> Argument:
    """The argument that chooses the flavour of a site that has one."""
    named = next((argument for argument in site.arguments if argument.keyword == row.keyword), None)
    return named or positional[row.position or 0]


def _dummy(row: Callable, site: Site, positional: list[Argument]) -> Misuse | None:
    assert row.dummy is not None
    keyword, position = row.dummy
    given = [argument for argument in site.arguments if argument.keyword == keyword]
    given += positional[position : position + 1]
    for argument in given:
        if argument.literal and isinstance(argument.value, str):
            return Misuse("dummy", argument, argument.value, meant(argument), row.flavour)
    return None


def meant(argument: Argument) -> str:
    """The flavour that a wrong value seems to ask for: tanh or erf, "" if it says nothing known."""
    value = argument.value
    if not argument.literal and " = " not in argument.text:
        return ""
    if isinstance(value, str):
        words = value.lower()
        if "tanh" in words or words == "true":
            return "tanh"
        return "erf" if words in ("", "none", "false", "erf", "exact") else ""
    if value is None or value == 0:
        return "erf"
    return "tanh" if value == 1 else ""
