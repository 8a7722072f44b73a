"""Tests for names of activations, for devices, and between ways to compute the same thing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gelu_lint.claims import one_way
from gelu_lint.cut import HEADER, LIGHT, Cut
from gelu_lint.facts import devices
from gelu_lint.lines import Lines, code, loads, targets, words
from gelu_lint.patterns import lazy
from gelu_lint.selecting.following import Following
from gelu_lint.selecting.keeping import BEHAVIOUR, TERNARY, in_rows, needle_in
from gelu_lint.statements import Statements

#: Tests for the name of something, and look-ups with a default.
_BY_NAME = lazy(r"(?:[=!]=|\bin\b)\s*[\[({]?\s*[\"']|[\"']\s*(?:==|in\b)|startswith|\bcase\b|\bin\s+\w+\s*:|\[|getattr")
#: What such a test says if it may be for an activation.
_OF_ACTIVATION = lazy(
    r"act|nonlin|elu|silu|swish|mish|glu|tanh|sigm|approx|erf|getattr|(?<!__)name|func|\bfn(?![a-z])"
    r"|(?<![\"'\s])\s+in\s+\w+\s*:",
    re.I,
)
#: One of these stands in each statement with a test for a name, or with a look-up that is tried.
_TESTING = ("== '", '== "', "=='", '=="', "in ('", 'in ("', "in ['", 'in ["', "in {", "startswith(", "except", "case ")
#: Each row in which _TESTED finds something that _TESTING does not has one of these.
_TESTED_BY = (" in ", "' ==", '" ==', "' in", '" in', "=='", '=="', "!='", '!="')
_TESTED = lazy(r"\bif \w[\w.]* in \w+\b|[\"'] (?:==|in)|\w(?:==|!=)[\"']")
_BINDS_TABLE = lazy(r"[ \t]*(?:self\.)?(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*(?:\{|\w*[dD]ict\()")
_IN = lazy(r"\bin $")
_HANDLED = 200  # characters from a look-up that is tried to what is done if it fails
_LEAVES = lazy(r"(?:^|[;:])[ \t]*(?:return|raise)\b")
_IN_CHAIN = ("if", "elif", "else", "try", "except", "case")
_WARNS = lazy(r"\s*(?:[\w.]*\.)?(?:warn\w*|log\w*|info|error|debug|exception|print)\(")
_BOUND = lazy(r"[\s)\\]*(?::[^=]*)?=(?!=)")
_GETS = lazy(r"(\w+)(\.get\(|\[)")
_IN_ARM = ("if", "elif", "else", "try", "except", "case")
#: Headers of blocks that are no arms, whole on one row.
_HEADS = lazy(r"(?:def|class|for|while|with)\b[^\n]*:\s*(?:#[^\n]*)?$")
#: Words of tests between ways to compute the same thing.
_SWITCH = lazy(
    r"fus|fast|slow|jit|script|trac|compil|optimi|kernel|native|built|triton|xformers|apex|eager|efficient|flash|onnx|"
    r"export|train|grad|determin|version|attr|HAS|HAVE|SUPPORT|_[GL][ET]|deploy|inference|vectori|inductor|extension|"
    r"liger|signature|dir\(",
    re.IGNORECASE,
)


class Branches(Following):
    """Keeps the arms of choices, and the tables that stand for some."""

    def __init__(self, statements: Statements, small: int) -> None:
        super().__init__(statements, small)
        self._tabled: set[tuple[int, str, bool]] = set()  # tables that were looked for

    def _falls(self, cut: Cut, i: int, text: str) -> None:
        """Keep all arms of the tests for names of activations around a line, and what is taken where none holds."""
        lines = cut.lines
        if not lines.defines(i):
            self._defaulted(cut, i, text)
        if cut.tests is None:
            last = cut.lines.logical[-1].end_row + cut.shift
            part = self._text[self._rows[cut.shift] : self._ends[last]]
            cut.tests = any(word in part for word in _TESTING) or bool(in_rows(part, _TESTED_BY, _TESTED))
        if not cut.tests:
            return
        at = i
        while at >= 0 and not lines.defines(at):
            around = lines.parents[at]
            beside = (
                [j for j in lines.below(around) if lines.parents[j] == around] if around >= 0 else range(len(lines))
            )
            here = beside.index(at) if at in beside else -1
            first = last = here
            while first > 0 and _in_chain(lines, beside[first - 1]) and _goes_on(lines, beside, first - 1):
                first -= 1
            while last + 1 < len(beside) and _in_chain(lines, beside[last]) and _goes_on(lines, beside, last):
                last += 1
            chain = [beside[k] for k in range(first, last + 1)] if here >= 0 else []
            if len(chain) > 1 and any(_asks_name(lines, j) for j in chain):
                for j in chain:
                    self._whole(cut, j, LIGHT)
                    for k in (j, *lines.below(j)):
                        self._tables(cut, k)
                self._docstrings(cut, i)
            at = around

    def _defaulted(self, cut: Cut, i: int, text: str) -> None:
        """Keep the table that a line looks into with a default, and the lines that look into one that a line binds."""
        if ".get(" in text or " in " in text:
            self._tables(cut, i)
        bound = _BINDS_TABLE.match(text)
        if bound is None:
            return
        name = bound[1]
        for at in self._all(name):
            asked = self._text.startswith(".get(", at + len(name))
            tried = self._text.startswith("[", at + len(name)) and "except" in self._text[at : at + _HANDLED]
            among = self._text.endswith("in ", 0, at) and _IN.search(self._text, max(0, at - 4), at) is not None
            place = self._place(at) if asked or tried or among else None
            if place is None:
                continue
            other, j = place
            self._keep(other, j, LIGHT)
            around = other.lines.parents[j]
            if around >= 0 and other.lines.logical[around].word in ("try", "if"):
                for k in (around, *other.lines.group(around)):
                    self._whole(other, k, LIGHT)

    def _tables(self, cut: Cut, i: int) -> None:
        """Keep what binds the tables that a line looks into."""
        lines = cut.lines
        text = lines.text(i)
        found = _GETS.findall(text) if ".get(" in text or "[" in text else ()
        for name in [name for name, how in found if how != "[" or "act" in name.lower() or name.isupper()]:
            outside = lines.scopes[i] >= 0
            if (id(cut), name, outside) in self._tabled:
                continue
            self._tabled.add((id(cut), name, outside))
            for j in lines.bindings[0].get(name, ()):
                self._keep(cut, j, LIGHT)
            for at in self._all(name) if outside else ():
                place = self._place(at) if _BOUND.match(self._text, at + len(name)) else None
                if place is not None and (targets(place[0].lines.text(place[1])) or ((), ()))[0] == {name}:
                    self._keep(*place, LIGHT)

    def _arms_of(self, cut: Cut, owner: int) -> None:
        """Keep the lines in which branches choose a function or class that holds a GELU."""
        lines, name = cut.lines, cut.lines.defines(owner)
        key = (id(cut), owner, "?" + name, -1)
        if not name or key in self._followed or needle_in(name) or name in BEHAVIOUR or not one_way(name):
            return
        self._followed.add(key)
        scope, below = lines.scopes[owner], lines.below(owner)
        if scope >= 0:
            places = [(cut, j) for j in lines.mentions(name) if j in lines.below(scope)]
        else:
            spots = (at for at in self._all(name) if self._in_arm(at))
            places = [place for at in spots if (place := self._place(at)) is not None]
        for other, j in places:
            if (other is cut and (j in below or j == owner)) or j in other.kept:
                continue
            if self._chooses(other, j):
                self._keep(other, j, LIGHT)

    def _in_arm(self, at: int) -> bool:
        """Whether the row of an offset may be an arm of a choice, or come after one: what its indentation tells."""
        start = self._text.rfind("\n", 0, at) + 1
        row = self._text[start : self._text.find("\n", at)]
        indent = len(row) - len(row.lstrip())
        if (
            not indent
            or TERNARY.search(row)
            or row.lstrip().startswith(("return", "else", "try", "except", "case", ")", "]", "}"))
        ):
            return True
        while start > 0:
            end, start = start - 1, self._text.rfind("\n", 0, start - 1) + 1
            above = self._text[start:end]
            lead = above.lstrip()
            if lead and not lead.startswith(("#", ")", "]", "}")) and len(above) - len(lead) < indent:
                return _HEADS.match(lead) is None  # else it stands in a function, class or loop
        return True

    def _chooses(self, cut: Cut, i: int) -> bool:
        """Whether a line may be an arm of a choice between ways to compute the same thing."""
        lines = cut.lines
        text, around = lines.text(i), lines.parents[i]
        if lines.logical[i].word in _IN_ARM or TERNARY.search(text):
            return _switches(text)
        if around >= 0 and lines.logical[around].word in _IN_ARM:
            return any(
                lines.logical[j].word in ("try", "except") or _switches(lines.text(j))
                for j in (around, *lines.group(around))
            )
        if lines.logical[i].word != "return":
            return False
        beside = (j for j in range(max(around, 0), i) if lines.parents[j] == around)
        return any(lines.logical[j].word in _IN_ARM and _switches(lines.text(j)) for j in beside)

    def _before(self, cut: Cut, i: int) -> None:
        """Keep the tests before a line that asks for part of a name, as far as they ask for the same: they may take
        out what else has that part."""
        lines = cut.lines
        said, around = words(code(lines.text(i))), lines.parents[i]
        first = i
        while first > 0 and lines.parents[first - 1] >= around:
            first -= 1
            beside = lines.parents[first] == around and lines.logical[first].word in ("if", "elif")
            if beside and not said.isdisjoint(words(code(lines.text(first)))):
                self._keep(cut, first, HEADER)

    def _asked(self, cut: Cut, i: int) -> None:
        """Keep what binds the names in a test, if it asks what the code runs on."""
        lines = cut.lines
        for name in loads(lines.text(i)):
            key = (id(cut), lines.scopes[i], name, -1)
            if key in self._followed:
                continue
            self._followed.add(key)
            binding = lines.bindings[0].get(name, ())
            for scope in lines.enclosing(i, classes=False):
                here = [j for j in binding if scope >= 0 and lines.scopes[j] == scope]
                if any(devices.may_ask(lines.text(j)) for j in here):
                    for j in here:
                        self._bound(cut, j, name, LIGHT)
                if here:
                    break
            else:
                parts = [self._parts[p] for p in self.statements.binders.get(name, ())]
                simple = [self._text[part.start : part.end] for part in parts if part.kind in ("simple", "compound")]
                if any(devices.may_ask(text) for text in simple):
                    self._want(name, LIGHT)


def _switches(text: str) -> bool:
    """Whether a test may be one between ways to compute the same thing."""
    return _SWITCH.search(text) is not None or devices.may_ask(text)


def _asks_name(lines: Lines, i: int) -> bool:
    """Whether a line may ask for the name of an activation, or what is tried in it may."""
    rows = (i, *lines.below(i)) if lines.logical[i].word == "try" else (i,)
    return any(_BY_NAME.search(text) and _OF_ACTIVATION.search(text) for text in map(lines.text, rows))


def _in_chain(lines: Lines, i: int) -> bool:
    """Whether a line is an arm of a choice, or a warning between one and what is taken else."""
    return lines.logical[i].word in _IN_CHAIN or _WARNS.match(lines.text(i)) is not None


def _goes_on(lines: Lines, beside: Sequence[int], k: int) -> bool:
    """Whether what follows a line in its block is an arm of the same statement, or what is done where none is taken."""
    i, after = beside[k], beside[k + 1]
    if lines.logical[i].word not in ("if", "elif") or lines.logical[after].word in ("elif", "else"):
        return True
    direct = [j for j in lines.below(i) if lines.parents[j] == i]
    return _LEAVES.search(lines.text(direct[-1] if direct else i)) is not None
