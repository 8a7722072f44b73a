"""Which rows of a text some of its code may run, and what it runs of other modules.

Told from words, without a parser, by the lines of each statement: a name leads to what binds it, ``self.name`` to what
the class around has under that name, a class to all of it, a parameter to what callers give. Where words leave it
open, more is said to run than does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gelu_lint.claims import words as split
from gelu_lint.cut import is_parameter
from gelu_lint.half import MODELS
from gelu_lint.lines import Lines, code, words
from gelu_lint.outline import Part, outline
from gelu_lint.scan import scan

#: So many lines are followed from one place.
_MOST = 4_000
_DOTTED = re.compile(r"(?<![\w.])([^\W\d][\w.]*)(\s*\()?")
#: What makes or hands on a module rather than computes something with one, by the last word that is called.
_MAKES = re.compile(
    r"[A-Z]\w*|_?(?:build|make|create|get|load|init|new|prepare|wrap|setup|instantiate|from|compile|partial|parallelize|to"
    r"|cuda|cpu|half|float|eval|train|requires_grad_|distribute|register|clone|deepcopy|script|initialize)(?:_\w+)?"
)
_FIRST_CALL = re.compile(r"([\w.]+)\s*\(")
#: Arms of a branch from which something is picked by name, and what their headers look like.
_MANY = 3
_NAMED = re.compile(r"\s*(?:(?:el)?if\b[^\n]*(?:==|\bin\b)\s*[(\[{]?\s*[rR]?[\"']|case\s+[\"'])")
_FROM = re.compile(r"\s*from\s+([\w.]+|\.+[\w.]*)\s+import\b\s*(.*)", re.DOTALL)
_IMPORT = re.compile(r"\s*import\b(.*)", re.DOTALL)
_ALIAS = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_OWN = ("self", "cls")
#: What of a base class runs in any object of a class.
_MODULE = ("__init__", "forward", "__call__")
_SUPER = re.compile(r"\bsuper\([^()]*\)\s*\.\s*(\w+)")
_BASES = re.compile(r"\s*class\s+\w+\s*\((.*)\)", re.DOTALL)


class Reached(NamedTuple):
    """Stretches of rows, in order, and full names of imports (relative ones begin with dots)."""

    rows: tuple[tuple[int, int], ...] = ()
    leads: tuple[str, ...] = ()


class _Line(NamedTuple):
    part: int
    line: int


class Reach:
    """What the code of one text may run."""

    def __init__(self, text: str, rows: Sequence[int]) -> None:
        text = text.replace("\r", "\n") if "\r" in text and "\n" not in text else text
        self._text, self._ends = text, (*rows, len(text))
        parts = outline(text, rows)
        if parts is None:
            scanned = scan(text)
            found = scanned.statements if scanned.sure else ()
            parts = [Part(self._ends[s.row - 1], self._ends[s.end_row], s.row, s.end_row, s.kind) for s in found]
        self._parts = parts
        self._lines: dict[int, Lines] = {}
        self._binders: dict[str, list[_Line]] | None = None
        self._imports: dict[str, list[str]] = {}
        self._stars: list[str] = []
        self._calls: dict[str, list[_Line]] = {}
        self._shielded: set[_Line] = set()

    def shield(self, row: int) -> None:
        """Nothing that the statement at ``row`` opens counts as run."""
        at = self._at(row)
        if at is not None:
            self._shielded.update(self._opened(at) or ())

    def under(self, row: int, beside: bool) -> Reached:
        """What runs under a context whose statement starts at ``row``.

        That is the block that it opens, or those that open by a name that it binds. ``beside`` is for what works on
        all that is built in the same scope, or where a name that it binds is used.
        """
        at = self._at(row)
        if at is None:
            return Reached()
        found = _Following(self)
        opened = self._opened(at)
        if opened is not None:
            found.enter_all(opened)
        elif beside:
            for line in self._beside(at):
                found.enter_all(line)
        else:
            for header in self._openers(at):
                found.enter_all(self._opened(header) or ())
        return found.done()

    def run_by(self, row: int) -> Reached:
        """What the statement at ``row`` runs: all that its names lead to, and what the rest of its function does with
        what it binds."""
        at = self._at(row)
        found = _Following(self)
        if at is not None:
            found.follow(at)
            lines = self.lines(at.part)
            if lines.scopes[at.line] >= 0:
                names = self.bound_by(at)
                below = [j for j in lines.below(lines.scopes[at.line]) if j > at.line]
                found.enter_all(_Line(at.part, j) for j in below if names & words(code(lines.text(j))))
        return found.done()

    def entered(self, names: Iterable[str]) -> Reached:
        """What runs where other modules use these names of this one; of ``Base#step`` it is what the class Base has
        under the name step."""
        found = _Following(self)
        for name in names:
            found.name_from_outside(name)
        return found.done()

    # The lines of the text

    def lines(self, p: int) -> Lines:
        """The lines of a top-level statement."""
        if p not in self._lines:
            part = self._parts[p]
            self._lines[p] = Lines(
                self._text, self._ends, scan(self._text[part.start : part.end]).logical, part.row - 1
            )
        return self._lines[p]

    def rows_of(self, at: _Line) -> tuple[int, int]:
        """First and last row of a line in the text."""
        line, shift = self.lines(at.part).logical[at.line], self._parts[at.part].row - 1
        return line.row + shift, line.end_row + shift

    def is_shielded(self, at: _Line) -> bool:
        """Whether a line is out of it."""
        return at in self._shielded

    def is_picked(self, at: _Line) -> bool:
        """Whether a line stands in a branch that picks one of many by name: which one runs, nobody can tell."""
        lines = self.lines(at.part)
        up = lines.parents[at.line]
        while up >= 0 and not lines.defines(up):
            arms = lines.group(up)
            if len(arms) >= _MANY and any(_NAMED.match(lines.text(j)) for j in arms):
                return True
            up = lines.parents[up]
        return False

    def _at(self, row: int) -> _Line | None:
        for p, part in enumerate(self._parts):
            if part.row <= row <= part.end_row:
                i = self.lines(p).row_of(row)
                return _Line(p, i) if i >= 0 else None
        return None

    def _opened(self, at: _Line) -> list[_Line] | None:
        """The lines of the block that a ``with`` or a decorator opens, None for another statement."""
        lines = self.lines(at.part)
        word = lines.logical[at.line].word
        if word == "@":
            headers = [j for j in lines.group(at.line) if lines.defines(j)]
        elif word == "with" or (word == "async" and "with" in lines.text(at.line)):
            headers = [at.line]
        else:
            return None
        return [_Line(at.part, j) for header in headers for j in (header, *lines.below(header)) if j != at.line]

    def _openers(self, at: _Line) -> Iterator[_Line]:
        """The ``with`` statements and decorators that use a name which a line binds, or whose function returns it."""
        lines = self.lines(at.part)
        names = self.bound_by(at)
        if "return" in lines.text(at.line) and lines.scopes[at.line] >= 0:
            names.add(lines.defines(lines.scopes[at.line]))
        for name in names:
            for line in self.mentions(name):
                if self._opened(line) is not None:
                    yield line

    def _beside(self, at: _Line) -> Iterator[list[_Line]]:
        """The scope that a line stands in, and those that use what it binds or returns."""
        lines = self.lines(at.part)
        yield self._scope(at)
        names = self.bound_by(at)
        if "return" in lines.text(at.line) and lines.scopes[at.line] >= 0:
            names.add(lines.defines(lines.scopes[at.line]))
        for name in names:
            for line in self.mentions(name):
                yield self._scope(line)

    def _scope(self, at: _Line) -> list[_Line]:
        """The lines of the function around a line; at the top level all lines that stand in none."""
        lines = self.lines(at.part)
        scope = lines.scopes[at.line]
        if scope >= 0 and lines.logical[scope].word != "class":
            return [_Line(at.part, j) for j in lines.below(scope)]
        top = [p for p, part in enumerate(self._parts) if part.kind not in ("def", "class", "import")]
        return [_Line(p, i) for p in top for i in range(len(self.lines(p))) if self.lines(p).scopes[i] < 0]

    def bound_by(self, at: _Line) -> set[str]:
        """The names and attributes that a line binds."""
        lines = self.lines(at.part)
        names, attributes = lines.bindings
        return {name for bound in (names, attributes) for name, where in bound.items() if at.line in where}

    def mentions(self, name: str) -> list[_Line]:
        """The lines that mention a name."""
        if name not in self._calls:
            word = re.compile(rf"\b{re.escape(name)}\b")
            spans = [(p, part) for p, part in enumerate(self._parts) if word.search(self._text, part.start, part.end)]
            self._calls[name] = [_Line(p, i) for p, _ in spans for i in self.lines(p).mentions.get(name, ())]
        return self._calls[name]

    # What names stand for at the top level

    def binders(self, name: str) -> list[_Line]:
        """The lines that bind a name at the top level."""
        if self._binders is None:
            self._index()
        assert self._binders is not None
        return self._binders.get(name, [])

    def imported(self, name: str) -> list[str]:
        """The full names that imports bind a name to, at any level; those that stars may stand for where none does."""
        if self._binders is None:
            self._index()
        if name in self._imports:
            return self._imports[name]
        return [] if self.binders(name) else [f"{star}.{name}" for star in self._stars]

    def _index(self) -> None:
        self._binders = {}
        for p, part in enumerate(self._parts):
            text = self._text[part.start : part.end]
            if part.kind == "import":
                self._import(text)
                continue
            if part.kind in ("def", "class"):
                header = re.search(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", text, re.MULTILINE)
                if header is not None:
                    self._binders.setdefault(header[1], []).append(_Line(p, -1))
            else:
                lines = self.lines(p)
                for i in range(len(lines)):
                    if lines.logical[i].word in ("import", "from"):
                        self._import(lines.text(i))
                for name, where in lines.bindings[0].items():
                    top = [i for i in where if lines.scopes[i] < 0]
                    self._binders.setdefault(name, []).extend(_Line(p, i) for i in top)
            if "import" in text and part.kind in ("def", "class"):
                for found in re.finditer(r"^[ \t]+((?:from|import)\s[^\n;]*(?:\([^)]*\))?)", text, re.MULTILINE):
                    self._import(found[1])

    def _import(self, text: str) -> None:
        text = code(text).replace("(", " ").replace(")", " ").replace("\\", " ")
        source, plain = _FROM.match(text), _IMPORT.match(text)
        if source is not None:
            module = source[1]
            if source[2].strip().startswith("*"):
                self._stars.append(module)
                return
            for name, alias in _ALIAS.findall(source[2]):
                full = module + name if module.endswith(".") else f"{module}.{name}"
                self._imports.setdefault(alias or name, []).append(full)
        elif plain is not None:
            for name, alias in _ALIAS.findall(plain[1]):
                root = name.partition(".")[0]
                self._imports.setdefault(alias or root, []).append(name if alias else root)


class _Following:
    """Follows names from line to line."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._seen: set[_Line] = set()
        self._queue: list[_Line] = []
        self._names: set[str] = set()
        self._entered: set[_Line] = set()
        self._leads: set[str] = set()

    def done(self) -> Reached:
        """What has been reached."""
        while self._queue and len(self._seen) < _MOST:
            self._look(self._queue.pop())
        rows: list[tuple[int, int]] = []
        for first, last in sorted(self._reach.rows_of(at) for at in self._seen):
            if rows and first <= rows[-1][1] + 1:
                rows[-1] = (rows[-1][0], max(last, rows[-1][1]))
            else:
                rows.append((first, last))
        return Reached(tuple(rows), tuple(sorted(self._leads)))

    def follow(self, at: _Line) -> None:
        """A line runs."""
        if at not in self._seen and not self._reach.is_shielded(at):
            self._seen.add(at)
            self._queue.append(at)

    def enter_all(self, block: Iterable[_Line]) -> None:
        """A block runs."""
        for at in block:
            self.follow(at)

    def name_from_outside(self, name: str) -> None:
        """What a module has under a name runs."""
        name, _, member = name.partition("#")
        if member:
            self._top_member(name, member)
        else:
            self._top(name, (name,))

    def _look(self, at: _Line) -> None:
        lines = self._reach.lines(at.part)
        text = code(lines.text(at.line))
        if lines.defines(at.line):
            if lines.logical[at.line].word == "class":
                for name in _MODULE:
                    self._inherited(at.part, at.line, name)
            return  # the names in the header of a function are annotations and defaults
        if lines.logical[at.line].word in ("import", "from"):
            return
        for found, call in _DOTTED.findall(text):
            first, *rest = found.rstrip(".").split(".")
            if first in _OWN and rest:
                self._member(at, rest[0], bool(call) and len(rest) == 1)
            elif first in _OWN:
                self._class_around(at)
            elif text.find(f"{found}=") < 0 or f"{found}==" in text or not self._keyword(text, found):
                self._name(at, first, rest, bool(call) and not rest)
        for name in _SUPER.findall(text):
            owner = next(iter(lines.enclosing(at.line, classes=True)), -1)
            if owner >= 0:
                self._inherited(at.part, owner, name)

    def _keyword(self, text: str, name: str) -> bool:
        """Whether a name stands only before the "=" of keyword arguments."""
        return all(
            re.match(r"\s*=(?!=)", text[found.end() :]) and text[: found.start()].rstrip()[-1:] in ("(", ",")
            for found in re.finditer(rf"(?<![\w.]){re.escape(name)}\b", text)
        )

    def _name(self, at: _Line, name: str, rest: Sequence[str], called: bool) -> None:
        lines = self._reach.lines(at.part)
        local = lines.bindings[0].get(name, ())
        for scope in lines.enclosing(at.line, classes=False):
            if scope < 0:
                break
            held = [j for j in local if lines.scopes[j] == scope]
            for j in held:
                self._binding(_Line(at.part, j), called)
            taken = lines.logical[scope].word != "class" and is_parameter(lines.text(scope), name)
            if taken:
                self._callers(at.part, scope)
            if held or taken:
                return
        self._top(name, (name, *rest), called)

    def _top(self, name: str, dotted: Sequence[str], called: bool = True) -> None:
        full = ".".join(dotted) + "()" * called
        if full in self._names:
            return
        self._names.add(full)
        for target in self._reach.imported(name):
            self._leads.add(".".join((target, *dotted[1:])))
        for at in self._reach.binders(name):
            if at.line < 0:
                lines = self._reach.lines(at.part)
                at = _Line(at.part, next((i for i in range(len(lines)) if lines.defines(i)), 0))
            self._binding(at, called)

    def _binding(self, at: _Line, called: bool = True) -> None:
        """What a line binds runs: all of a function or class, or what an expression names. What is not ``called`` may
        be what some function has given elsewhere."""
        lines = self._reach.lines(at.part)
        if self._reach.is_picked(at):
            return
        if not lines.defines(at.line):
            if (called and not _is_table(lines.text(at.line))) or _makes(lines.text(at.line)):
                self.follow(at)
        elif at not in self._entered:
            self._entered.add(at)
            decorators = [j for j in lines.group(at.line) if lines.logical[j].word == "@"]
            block = (_Line(at.part, j) for j in (*decorators, at.line, *lines.below(at.line)))
            self.enter_all(line for line in block if not self._reach.is_picked(line))

    def _callers(self, part: int, scope: int) -> None:
        """What is handed to a function: what stands in the lines that call it."""
        own = self._reach.lines(part)
        name = own.defines(scope)
        if name == "__init__" and own.scopes[scope] >= 0:
            name = own.defines(own.scopes[scope])
        if name.startswith("__") or f"{name}(" in self._names:
            return
        self._names.add(f"{name}(")
        for at in self._reach.mentions(name):
            lines = self._reach.lines(at.part)
            if at != _Line(part, scope) and f"{name}(" in code(lines.text(at.line)):
                for found in words(code(lines.text(at.line)).partition(f"{name}(")[2]):
                    self._name(at, found, (), False)

    def _member(self, at: _Line, name: str, called: bool) -> None:
        """What the class around has under a name, or a base of it."""
        owner = next(iter(self._reach.lines(at.part).enclosing(at.line, classes=True)), -1)
        if owner >= 0:
            self._of_class(at.part, owner, name, called)

    def _of_class(self, part: int, owner: int, name: str, called: bool) -> None:
        """What a class has under a name, or a base of it."""
        key = f"{part}:{owner}#{name}" + "()" * called
        if key in self._names:
            return
        self._names.add(key)
        lines = self._reach.lines(part)
        below = lines.below(owner)
        names, attributes = lines.bindings
        held = [j for j in names.get(name, ()) if j in below and lines.scopes[j] == owner]
        held += [j for j in attributes.get(name, ()) if j in below and j not in held and not lines.defines(j)]
        for j in held:
            self._binding(_Line(part, j), called)
        if not held:
            self._inherited(part, owner, name)

    def _inherited(self, part: int, owner: int, name: str) -> None:
        """What the bases of a class have under a name."""
        bases = _BASES.match(code(self._reach.lines(part).text(owner)))
        for base, _ in _DOTTED.findall(bases[1]) if bases is not None else ():
            first, _, rest = base.partition(".")
            for target in self._reach.imported(first):
                self._leads.add(f"{target}.{rest}#{name}" if rest else f"{target}#{name}")
            self._top_member(first, name)

    def _top_member(self, base: str, name: str) -> None:
        """What a class of the top level has under a name."""
        for at in self._reach.binders(base):
            if at.line < 0:
                lines = self._reach.lines(at.part)
                header = next((i for i in range(len(lines)) if lines.defines(i)), 0)
                if lines.logical[header].word == "class":
                    self._of_class(at.part, header, name, True)
        if not self._reach.binders(base):
            self._leads.update(f"{target}#{name}" for target in self._reach.imported(base))

    def _class_around(self, at: _Line) -> None:
        lines = self._reach.lines(at.part)
        owner = next(iter(lines.enclosing(at.line, classes=True)), -1)
        if owner >= 0:
            self._binding(_Line(at.part, owner))


def _makes(text: str) -> bool:
    """Whether an assignment may give a name to a module, or to a function: it names one, or makes one."""
    target, _, value = code(text).partition("=")
    if _is_table(text):
        return False
    if not MODELS.isdisjoint(split(target)):
        return True
    calls = _FIRST_CALL.findall(value)
    return not calls or "lambda" in value or any(_MAKES.fullmatch(call.rpartition(".")[2]) for call in calls)


def _is_table(text: str) -> bool:
    """Whether an assignment gives a name to a table, of which somebody picks something."""
    return code(text).partition("=")[2].lstrip().startswith("{")
