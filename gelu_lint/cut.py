"""What is taken of one top-level statement: which lines stay, and what takes the place of others."""

from __future__ import annotations

import re

from gelu_lint.facts import devices
from gelu_lint.lines import Lines, code
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.scan import Scan

#: Tests that ask what is there, before which a block may be left.
ASKS = lazy(
    r"(?i:hasattr|getattr|\bdir\b|version|torch_[gl][et])|\b_?(?:HAS|HAVE|IS|SUPPORTS?|WITH)(?:_|\b)|_[GL][ET]_?"
)
#: Rows of a table that is worth leaving out.
_LONG = 4
_TABLE = lazy(r"\s*\w+\s*(?::[^=]*)?=\s*[\[{]")
# What is bound to a call or an index is nothing that a fact can rest on, getattr and imports aside.
OPAQUE = lazy(r"[\w)\]]\s*[(\[]|[{\[]")
TRANSPARENT = lazy(r"getattr|import")
#: Values that choose a flavour.
VALUES = lazy(r"[\"'](?:none|tanh)[\"']")


HEADER, LIGHT, NEAR, FULL, SEED = range(5)


class Cut:
    """What is taken of one statement.

    kept    by line: HEADER (it stands there for others), LIGHT (what its names stand for matters), NEAR (so does
            what they are bound to), FULL (so does what they compute) or SEED (and what classes compute)
    faint   lines whose names must not stand for anything, and these names
    """

    def __init__(self, scanned: Scan, lines: Lines, shift: int) -> None:
        self.scanned, self.lines, self.shift = scanned, lines, shift
        self.kept: dict[int, int] = {}
        self.faint: dict[int, set[str]] = {}
        self.fields: dict[int, bool] = {}  # by line whether it may hold f-strings
        self.quiet: dict[int, list[tuple[int, int]]] = {}  # by line where its comments and strings stand
        self.asked: set[tuple[int, str, int, bool, bool]] = set()  # what has been looked at
        self.given: set[tuple[int, bool]] = set()  # lines whose names have been followed to where they are used
        self.backwards: dict[int, bool] = {}  # by class whether it has a backward
        self.gated: dict[int, bool] = {}  # by function whether its names may be those of a gated unit
        self.tests: bool | None = None  # whether it may hold a test for the name of something, once that is asked
        self.chosen: set[int] = set()  # classes of which it is kept what they are given
        self.told: set[int] = set()  # headers whose docstring stays
        self.groups: set[int] = set()  # first lines of the groups that stay
        self.wholes: dict[int, int] = {}  # headers of blocks that stay whole, at which level


class Piece(NamedTuple):
    """Some lines of a stretch of text: by line what stands in its place, "" for itself; None: all of them.

    ``shift`` is how many rows stand above the stretch.
    """

    text: str
    scanned: Scan
    shift: int
    left: dict[int, str] | None


def lines_left(cut: Cut) -> dict[int, str]:
    """The lines of a statement that stay, and what stands in their place if not they: ``pass``, ``del name``."""
    lines, kept = cut.lines, cut.kept
    last = {lines.parents[k]: k for k in sorted(kept)}  # the last line that stays of each block
    for i in range(len(lines)):
        if lines.logical[i].word == "if" and i < last.get(lines.parents[i], -1) and ASKS.search(lines.text(i)):
            for j in (*lines.group(i), i, *lines.below(i)):
                kept.setdefault(j, HEADER)
    left = dict.fromkeys(kept, "")
    for i, names in _markers(cut).items():
        left[i] = _indent(lines.text(i)) + marker(names)
    for i in [*kept]:
        if lines.is_header(i) and not any(j in left for j in lines.below(i)):
            inside = i + 1
            if lines.logical[i].word == "match" and lines.logical[inside].word == "case":
                left[inside] = ""  # a match must have a case
                inside += lines.is_header(inside)
            if inside not in left:
                left[inside] = _indent(lines.text(inside)) + "pass"
    return left


def _markers(cut: Cut) -> dict[int, set[str]]:
    """Where names that are bound by nothing to rest on must be bound: everywhere if something else binds them, too, and
    once if nothing that stays does."""
    lines, kept = cut.lines, cut.kept
    binding = lines.bindings[0] if cut.faint else {}
    found: dict[int, set[str]] = {}
    seen: set[tuple[int, str]] = set()
    for i in sorted(cut.faint):
        if i in kept:
            continue
        scope = lines.scopes[i]
        for name in cut.faint[i]:
            beside = [j for j in binding.get(name, ()) if j in kept and lines.scopes[j] == scope]
            if not any(stands(lines.text(j), lines.logical[j].word) for j in beside):
                taken = bool(beside) or (scope >= 0 and is_parameter(lines.text(scope), name))
                if taken or (scope, name) in seen:
                    continue
            seen.add((scope, name))
            at = i
            while lines.parents[at] >= 0 and lines.parents[at] not in kept:
                at = lines.parents[at]
            found.setdefault(at, set()).add(name)
    return found


def marker(names: set[str]) -> str:
    """What binds names to nothing that anything is known of."""
    return f"del {', '.join(sorted(names))}"


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t\f"))]


def is_parameter(header: str, name: str) -> bool:
    """Whether a header of a function has a parameter of this name."""
    return re.search(rf"[(,*]\s*{re.escape(name)}\s*[,):=]", code(header)) is not None


def worth_following(lines: Lines, i: int, level: int) -> bool:
    """Whether what a line binds matters at a level: a long table or list is no formula, and stands for nothing."""
    line, text = lines.logical[i], lines.text(i)
    short = line.end_row - line.row < _LONG or _TABLE.match(text) is None
    return stands(text, line.word, short) if level < FULL else short


def stands(text: str, word: str, short: bool = True) -> bool:
    """Whether what a line binds stands for something that has a name, or is a literal; in a ``short`` line also what
    asks for a device."""
    if word in ("import", "from"):
        return True
    plain = code(text)
    return word not in ("for", "with", "async", "del", "def", "class") and (
        OPAQUE.search(plain) is None or TRANSPARENT.search(plain) is not None or _picks(text, short)
    )


def _picks(text: str, short: bool) -> bool:
    """Whether a line may choose a flavour, perhaps by what the code runs on: of such a line all counts."""
    return VALUES.search(text.lower()) is not None or (short and devices.may_ask(text))
