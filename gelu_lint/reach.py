"""Which rows of a text some of its code may run, and what it runs of other modules.

Told from words, without a parser, by the lines of each statement. Code runs what it calls: functions, methods, and the
objects that its names hold. What an object is shows where its name is bound: there nothing runs any more, but a class
that is made there runs whenever the object does, and a function gives what it returns. A parameter holds what callers
give. Where words leave it open, more is said to run than does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from keyword import kwlist

from gelu_lint.half import says_model
from gelu_lint.lines import FIELDS, SILENT, code, targets, words
from gelu_lint.model import HANDED, MADE, MEMBER, Arrival, Context
from gelu_lint.named import NamedTuple
from gelu_lint.outline import defined
from gelu_lint.patterns import lazy
from gelu_lint.statements import Statements

#: So many lines are followed from one place.
_MOST = 4_000
#: A dotted name, and what follows: a call, or the "=" of a keyword or an assignment, whose name is not loaded.
_DOTTED = lazy(r"(?<![\w.])([^\W\d][\w.]*)\s*(\(|=(?!=))?")
_PARAMETER = lazy(r"[(,*]\s*(\w+)\s*(?=[,):=])")
_FED = lazy(r"(\w+)\(\s*(\w+)\s*[,)]")
#: What but looks at an object.
_LOOK = lazy(r"\b(?:getattr|hasattr|isinstance|setattr|type)\(\s*[\w.]+(?=\s*[,)])")
_WALRUS = lazy(r"(\w+)\s*:=")
_OPENER = lazy(r"\s*(?:(?:async\s+)?(?:for|while|if|elif|else|with|try|except|finally|def|class)\b[^\n]*?:\s)")
_F_STRING = lazy(rf"(?<!\w)([rR]?[fFtT][rR]?)?({SILENT.pattern})", re.VERBOSE | re.DOTALL)
_FIELD = lazy(r"\{([^{}]*)\}")
#: How functions say what class a parameter is of.
_ANNOTATED = lazy(r"[(,*]\s*(\w+)\s*:\s*([^,)=]+)")
_ASSERTED = lazy(r"\s*assert isinstance\(\s*(\w+)\s*,\s*([^)]+)\)")
#: Methods that give the object they are called of.
_MOVES = frozenset(
    (
        *("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_", "to_empty"),
        *("share_memory", "apply", "type", "npu", "xpu", "ipu", "hpu", "module", "compile"),
    )
)
#: Arms of a branch from which something is picked by name, and what their headers look like.
_MANY = 3
_NAMED = lazy(r"\s*(?:(?:el)?if\b[^\n]*(?:==|\bin\b)\s*[(\[{]?\s*[rR]?[\"']|case\s+[\"'])")
_FROM = lazy(r"\s*from\s+([\w.]+|\.+[\w.]*)\s+import\b\s*(.*)", re.DOTALL)
_IMPORT = lazy(r"\s*import\b(.*)", re.DOTALL)
_ALIAS = lazy(r"([\w.]+)(?:\s+as\s+(\w+))?")
#: An import in a function or class.
_INNER = lazy(r"^[ \t]+((?:from|import)\s[^\n;]*(?:\([^)]*\))?)", re.MULTILINE)
_STAR = "*"
_OWN = ("self", "cls")
_ENTERS = lazy(r"\benter_context\(|\.__enter__\(")
_LAMBDA = lazy(r"=\s*lambda\b")
#: A name that is cast to float32, and what a call is given first.
_LIFTS = lazy(r"\s*(\w+)\s*=\s*\1\.(?:float\(\)|to\((?:dtype\s*=\s*)?torch\.float(?:32)?\))\s*(?:#.*)?$")
_GIVEN = lazy(r"\(\s*(\w+)\s*[,)]")
_WORDS = frozenset(kwlist)
_MADE = lazy(r"(?<!\w)[A-Z]\w*[a-z]\w*\s*[(.]|\b(?:build|make|create|get|load|new)(?:_\w+)?\(|lambda|partial\(")
_PLAIN = lazy(r"(?!None\b|True\b|False\b)[A-Za-z_][\w.]*")
#: What of a base class runs in any object of a class.
_MODULE = ("__init__", "forward", "__call__")
_SUPER = lazy(r"\bsuper\([^()]*\)\s*\.\s*(\w+)")
_BASES = lazy(r"\s*class\s+\w+\s*\((.*)\)", re.DOTALL)
#: A class of more lines is a world of its own: only the methods by which modules run are followed.
_LARGE = 400


class Reached(NamedTuple):
    """Stretches of rows that run, of rows where the objects are made that run, and full names of imports.

    Relative names begin with dots. Of ``Base#step`` it is what the class Base has under the name step that runs, and of
    ``build!`` what that function gives. ``^train`` is what others hand to the function train of this module.
    """

    rows: tuple[tuple[int, int], ...] = ()
    made: tuple[tuple[int, int], ...] = ()
    leads: tuple[str, ...] = ()


class _Line(NamedTuple):
    part: int
    line: int


class Reach:
    """What the code of one text may run."""

    def __init__(self, statements: Statements) -> None:
        self.statements, self.lines = statements, statements.lines
        self._text, self._parts = statements.text, statements.parts
        self._binders: dict[str, list[_Line]] = {}
        self._calls: dict[str, list[_Line]] = {}
        self._tokens: dict[_Line, list[tuple[str, str]]] = {}
        self._parameters: dict[_Line, frozenset[str]] = {}
        self._casts: dict[tuple[int, int], dict[str, int]] = {}
        self._shielded: set[_Line] = set()
        self._entered: dict[tuple[str, ...], Reached] = {}

    def shield(self, row: int) -> None:
        """Nothing that the statement at ``row`` opens counts as run."""
        at = self._at(row)
        if at is not None:
            self._shielded.update(self._opened(at) or ())
            self._entered.clear()

    def under(self, row: int) -> Reached:
        """What runs in the block that the statement at ``row`` opens, or in those opened by a name that it binds."""
        at = self._at(row)
        found = _Following(self)
        if at is not None:
            own = self._opened(at)
            for block in [own] if own is not None else [self._opened(header) or [] for header in self._openers(at)]:
                found.run_all(block)
            for handed in self._handed_on(at, own):
                found.run_all(handed)
        return found.done()

    def _handed_on(self, at: _Line, own: Sequence[_Line] | None) -> Iterator[Sequence[_Line]]:
        """What runs where a context is entered by a call, or where its block yields: in blocks of that function."""
        lines = self.lines(at.part)
        scope = lines.scopes[at.line]
        if _ENTERS.search(lines.text(at.line)):
            below = lines.below(scope) if scope >= 0 else range(len(lines))
            yield [_Line(at.part, j) for j in below if j > at.line and lines.scopes[j] == scope]
        if scope >= 0 and any(lines.logical[line.line].word == "yield" for line in own or ()):
            for line in self.mentions(lines.defines(scope)):
                yield self._opened(line) or []

    def beside(self, row: int) -> Reached:
        """What is made in the scope of the statement at ``row``, and in scopes that use what it binds or returns."""
        at = self._at(row)
        found = _Following(self)
        if at is not None:
            users = [*self._users(at)]
            for block in (self._scope(at), *(self._scope(line) for line in users)):
                found.make_all(block)
            for line in users:  # with accelerator.autocast():
                if ".autocast(" in self.lines(line.part).text(line.line):
                    found.run_all(self._opened(line) or [])
        return found.done()

    def made_by(self, row: int) -> Reached:
        """What the objects are that the statement at ``row`` names."""
        at = self._at(row)
        found = _Following(self)
        if at is not None:
            found.make_all([at])
        return found.done()

    def after(self, row: int) -> Iterator[str]:
        """The lines below the statement at ``row`` that run whenever it has run, in its scope."""
        at = self._at(row)
        if at is None:
            return
        lines = self.lines(at.part)
        around = [lines.parents[at.line]]
        while around[-1] >= 0:
            around.append(lines.parents[around[-1]])
        scope = lines.scopes[at.line]
        for j in lines.below(scope) if scope >= 0 else range(len(lines)):
            if j > at.line and lines.parents[j] in around and lines.scopes[j] == scope:
                yield lines.text(j)
        if scope < 0:
            yield from (self._text[part.start : part.end].rstrip() for part in self._parts[at.part + 1 :])

    def made_of(self, row: int, text: str) -> Reached:
        """What the objects are that ``text``, an expression in the statement at ``row``, names."""
        at = self._at(row)
        found = _Following(self)
        for dotted, after in self._names(text) if at is not None and ")(" not in text else ():
            assert at is not None
            found.token(at, dotted, after, False)
        return found.done()

    def run_by(self, row: int, only: str = "") -> Reached:
        """What the statement at ``row`` runs, or ``only`` what it calls by this last name, and what the rest of its
        function does with what it binds."""
        at = self._at(row)
        found = _Following(self)
        if at is not None:
            found.call(at, only) if only else found.run_all([at])
            lines = self.lines(at.part)
            if lines.scopes[at.line] >= 0:
                names = self.bound_by(at)
                below = [j for j in lines.below(lines.scopes[at.line]) if j > at.line]
                found.run_all(_Line(at.part, j) for j in below if names & words(code(lines.text(j))))
        return found.done()

    def fed_by(self, row: int) -> Reached:
        """What runs in models whose input is what the statement at ``row`` binds."""
        at = self._at(row)
        found = _Following(self)
        lines = self.lines(at.part) if at is not None else None
        if at is not None and lines is not None and lines.scopes[at.line] >= 0:
            names = self.bound_by(at)
            for j in lines.below(lines.scopes[at.line]):
                fed = _FED.findall(code(lines.text(j))) if j > at.line else ()
                if any(given in names and says_model(callee) for callee, given in fed):
                    found.run_all([_Line(at.part, j)])
        told = found.done()
        return told._replace(leads=tuple(lead for lead in told.leads if not lead.startswith(HANDED)))

    def entered(self, names: Iterable[str]) -> Reached:
        """What runs where other modules use these names of this one, marked as those of ``Reached``."""
        key = tuple(names)
        if key not in self._entered:
            found = _Following(self)
            for name in key:
                found.from_outside(name)
            self._entered[key] = found.done()
        return self._entered[key]

    def led(self, arrivals: Iterable[Arrival]) -> tuple[Context, ...]:
        """The contexts of other modules that lead into this one, with what runs under each here."""
        found = [(arrival.context, self.entered(arrival.names)) for arrival in arrivals]
        return tuple(context._replace(rows=told.rows, made=told.made, leads=()) for context, told in found)

    # The lines of the text

    def rows_of(self, at: _Line) -> tuple[int, int]:
        """First and last row of a line in the text."""
        line, shift = self.lines(at.part).logical[at.line], self._parts[at.part].row - 1
        return line.row + shift, line.end_row + shift

    def tokens(self, at: _Line) -> list[tuple[str, str]]:
        """The dotted names that a line loads, each with "(" if it is called."""
        if at not in self._tokens:
            self._tokens[at] = self._names(self.lines(at.part).text(at.line))
        return self._tokens[at]

    def _names(self, text: str) -> list[tuple[str, str]]:
        found = _DOTTED.findall(_LOOK.sub("", _loaded(text)))
        return [(name.rstrip("."), after) for name, after in found if after != "=" and name not in _WORDS]

    def parameters(self, header: _Line) -> frozenset[str]:
        """The parameters of a function."""
        if header not in self._parameters:
            self._parameters[header] = frozenset(_PARAMETER.findall(code(self.lines(header.part).text(header.line))))
        return self._parameters[header]

    def is_shielded(self, at: _Line) -> bool:
        """Whether a line is out of it: by a context of its own, or since what it is given has been lifted before."""
        if at in self._shielded:
            return True
        lines = self.lines(at.part)
        scope = lines.scopes[at.line]
        lifted = self._lifted(at.part, scope)
        given = _GIVEN.findall(code(lines.text(at.line))) if lifted else ()
        return any(lifted.get(name, at.line) < at.line for name in given)

    def _lifted(self, part: int, scope: int) -> Mapping[str, int]:
        """The names that a function casts to float32, and the line that does."""
        key = (part, scope)
        if key not in self._casts:
            lines = self.lines(part)
            below = lines.below(scope) if scope >= 0 else range(0)
            found: dict[str, int] = {}
            for j in below:
                cast = _LIFTS.match(lines.text(j))
                if cast is not None and lines.scopes[j] == scope:
                    found.setdefault(cast[1], j)
            self._casts[key] = found
        return self._casts[key]

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
        alone = word != "@" and not lines.is_header(at.line)  # with autocast(): y = model(x)
        return [_Line(at.part, j) for h in headers for j in (h, *lines.below(h)) if j != at.line or alone]

    def _openers(self, at: _Line) -> Iterator[_Line]:
        """The ``with`` statements and decorators that use what a line binds or returns."""
        return (line for line in self._users(at) if self._opened(line) is not None)

    def _users(self, at: _Line) -> Iterator[_Line]:
        """The lines that mention a name which a line binds, or whose function returns it."""
        lines = self.lines(at.part)
        names, held, scope = self.bound_by(at), lines.bindings[1], lines.scopes[at.line]
        members = {name for name in names if at.line in held.get(name, ())}
        if "return" in lines.text(at.line) and scope >= 0:
            names.add(lines.defines(scope))
            if lines.scopes[scope] >= 0:
                members.add(lines.defines(scope))
        for name in names:
            # What is no member of something is not what others have under its name: torch.autocast.
            bare = None if name in members else lazy(rf"(?<![\w.]){re.escape(name)}\b")
            for line in self.mentions(name):
                if bare is None or bare.search(self.lines(line.part).text(line.line)):
                    yield line

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
        bound = (name for held in self.lines(at.part).bindings for name, where in held.items() if at.line in where)
        return {name for name in bound if self.holds(at, name)}

    def holds(self, at: _Line, name: str) -> bool:
        """Whether a line that may bind a name does: of several statements in one, more is said to be bound than is."""
        lines = self.lines(at.part)
        return at.line not in lines.loose or name in _bound(lines.text(at.line))

    def mentions(self, name: str) -> list[_Line]:
        """The lines that mention a name."""
        if name not in self._calls:
            word = lazy(rf"\b{re.escape(name)}\b")
            spans = [(p, part) for p, part in enumerate(self._parts) if word.search(self._text, part.start, part.end)]
            self._calls[name] = [_Line(p, i) for p, _ in spans for i in self.lines(p).mentions(name)]
        return self._calls[name]

    # What names stand for at the top level

    def binders(self, name: str) -> list[_Line]:
        """The lines that bind a name at the top level."""
        if name not in self._binders:
            self._binders[name] = [*self._bind(name)]
        return self._binders[name]

    def _bind(self, name: str) -> Iterator[_Line]:
        for p in self.statements.binders.get(name, ()):
            part = self._parts[p]
            if part.kind in ("def", "class"):
                if defined(self._text[part.start : part.end]) == name:
                    yield _Line(p, -1)
            elif part.kind != "import":
                lines = self.lines(p)
                for i in lines.bindings[0].get(name, ()):
                    if lines.scopes[i] < 0 and self.holds(_Line(p, i), name):
                        yield _Line(p, i)

    def imported(self, name: str) -> list[str]:
        """The full names that imports bind a name to, at any level; those that stars may stand for where none does."""
        if name in self._imports:
            return self._imports[name]
        return [] if self.binders(name) else [f"{star}.{name}" for star in self._imports.get(_STAR, ())]

    def aliases(self, name: str) -> list[str]:
        """The other names by which imports bind something."""
        ends = f".{name}"
        return [
            a for a, full in self._imports.items() if a not in (name, _STAR) and any(f.endswith(ends) for f in full)
        ]

    @cached_property
    def _imports(self) -> dict[str, list[str]]:
        """The full names that imports bind names to, by name; the modules of stars by one."""
        found: dict[str, list[str]] = {}
        for p, part in enumerate(self._parts):
            text = self._text[part.start : part.end]
            if part.kind == "import":
                _import(text, found)
            elif "import" not in text:
                continue
            elif part.kind in ("def", "class"):
                for statement in _INNER.findall(text):
                    _import(statement, found)
            else:
                lines = self.lines(p)
                for i in range(len(lines)):
                    if lines.logical[i].word in ("import", "from"):
                        _import(lines.text(i), found)
        return found


def _import(text: str, found: dict[str, list[str]]) -> None:
    """Add what an import binds."""
    if ";" in text:
        for piece in text.split(";"):
            _import(piece, found)
        return
    text = code(text).replace("(", " ").replace(")", " ").replace("\\", " ")
    source, plain = _FROM.match(text), _IMPORT.match(text)
    if source is not None:
        module = source[1]
        if source[2].strip().startswith("*"):
            found.setdefault(_STAR, []).append(module)
            return
        for name, alias in _ALIAS.findall(source[2]):
            full = module + name if module.endswith(".") else f"{module}.{name}"
            found.setdefault(alias or name, []).append(full)
    elif plain is not None:
        for name, alias in _ALIAS.findall(plain[1]):
            root = name.partition(".")[0]
            found.setdefault(alias or root, []).append(name if alias else root)


class _Following:
    """Follows names from line to line."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._run: set[_Line] = set()
        self._made: set[_Line] = set()
        self._queue: list[tuple[_Line, bool]] = []
        self._known: set[tuple[object, ...]] = set()
        self._leads: set[str] = set()

    def done(self) -> Reached:
        """What has been reached."""
        while self._queue and len(self._run) + len(self._made) < _MOST:
            self._look(*self._queue.pop())
        return Reached(self._rows(self._run), self._rows(self._made), tuple(sorted(self._leads)))

    def _rows(self, lines: Iterable[_Line]) -> tuple[tuple[int, int], ...]:
        rows: list[tuple[int, int]] = []
        for first, last in sorted(self._reach.rows_of(at) for at in lines):
            if rows and first <= rows[-1][1] + 1:
                rows[-1] = (rows[-1][0], max(last, rows[-1][1]))
            else:
                rows.append((first, last))
        return tuple(rows)

    def run_all(self, block: Iterable[_Line]) -> None:
        """These lines run."""
        for at in block:
            if at not in self._run and not self._reach.is_shielded(at):
                self._run.add(at)
                self._queue.append((at, True))

    def call(self, at: _Line, name: str) -> None:
        """What a line calls by this last name runs."""
        for dotted, after in self._reach.tokens(at):
            first, *rest = dotted.split(".")
            if after == "(" and dotted.rpartition(".")[2] == name:
                if first in _OWN:
                    self._own(at, rest, True, True)
                else:
                    self._name(at, first, rest, not rest, True)

    def make_all(self, block: Iterable[_Line]) -> None:
        """What these lines name or make runs."""
        for at in block:
            if at not in self._made:
                self._made.add(at)
                self._queue.append((at, False))

    def from_outside(self, marked: str) -> None:
        """What a module has under a name runs, see ``Reached``, or what it hands to a function of another one."""
        if marked.startswith(HANDED):
            self._handed(marked[1:].rpartition(".")[2])
            return
        name, _, member = marked.rstrip(MADE).partition(MEMBER)
        if member:
            self._of_base(name, member)
        else:
            self._top(name, (name,), not marked.endswith(MADE))

    def _new(self, *question: object) -> bool:
        """Whether something has not been looked into yet."""
        fresh = question not in self._known
        self._known.add(question)
        return fresh

    def _look(self, at: _Line, runs: bool) -> None:
        lines = self._reach.lines(at.part)
        if lines.defines(at.line):
            if runs and lines.logical[at.line].word == "class":
                for name in _MODULE:
                    self._inherited(at.part, at.line, name)
            return  # the names in the header of a function are annotations and defaults
        if lines.logical[at.line].word in ("import", "from"):
            return
        if not runs and ")(" in lines.text(at.line):
            return  # what is made there is called there, too: Net()(x)
        for dotted, after in self._reach.tokens(at):
            self.token(at, dotted, after, runs)
        for name in _SUPER.findall(code(lines.text(at.line))) if runs else ():
            owner = next(iter(lines.enclosing(at.line, classes=True)), -1)
            if owner >= 0:
                self._inherited(at.part, owner, name)

    def token(self, at: _Line, dotted: str, after: str, runs: bool) -> None:
        """A dotted name stands in a line, before "(" where it is called."""
        if not self._new(at.part, self._reach.lines(at.part).scopes[at.line], dotted, after, runs, "token"):
            return  # another line of the same scope has named it
        first, *rest = dotted.split(".")
        called = after == "(" and not rest
        if first in _OWN:
            self._own(at, rest, after == "(", runs)
        elif runs or not rest or after != "(" or rest[-1] in _MOVES or rest[-1][:1].isupper() or "_" in rest[-1]:
            self._name(at, first, rest, called, runs)

    def _own(self, at: _Line, rest: Sequence[str], after: bool, runs: bool) -> None:
        """Something of the object of a method, or all of it."""
        owner = next(iter(self._reach.lines(at.part).enclosing(at.line, classes=True)), -1)
        if owner < 0:
            return
        if not rest:
            for name in _MODULE[1:] if after and runs else ():
                self._of_class(at.part, owner, name, True, True)
        elif after and len(rest) == 1 and rest[0] in _MOVES:
            self._binding(_Line(at.part, owner), called=True, runs=True)
        elif runs or (after and len(rest) == 1) or says_model(rest[0]) or self._is_made(at.part, owner, rest[0]):
            self._of_class(at.part, owner, rest[0], after and len(rest) == 1, runs)

    def _is_made(self, part: int, owner: int, name: str) -> bool:
        """Whether a class sets an attribute to an object of some class."""
        lines = self._reach.lines(part)
        held = lines.bindings[1].get(name, ())
        inside = (j for j in held if owner in lines.enclosing(j, classes=True))
        return any(_makes(lines.text(j)) and self._reach.holds(_Line(part, j), name) for j in inside)

    def _name(self, at: _Line, name: str, rest: Sequence[str], called: bool, runs: bool) -> None:
        lines = self._reach.lines(at.part)
        local = lines.bindings[0].get(name, ())
        for scope in lines.enclosing(at.line, classes=False):
            if scope < 0:
                break
            held = [j for j in local if lines.scopes[j] == scope and self._reach.holds(_Line(at.part, j), name)]
            if any(lines.logical[j].word in ("import", "from") for j in held):
                break  # as one at the top level
            for j in held:
                if runs or lines.defines(j) or called or says_model(name) or _makes(lines.text(j)):
                    self._binding(_Line(at.part, j), called, runs)
            taken = lines.logical[scope].word != "class" and name in self._reach.parameters(_Line(at.part, scope))
            if taken and ((called and runs) or says_model(name)):
                member = "" if called or not rest else rest[0]
                told = (called or rest or not runs) and self._typed(at.part, scope, name, member)
                if not (told and member):  # of a model of a known class only that member runs
                    self._callers(at.part, scope)
            if held or taken:
                return
        self._top(name, (name, *rest), runs or (bool(rest) and rest[-1][:1].isupper()) or name[:1].isupper(), called)

    def _top(self, name: str, dotted: Sequence[str], runs: bool, called: bool = False) -> None:
        if not self._new(name, tuple(dotted), runs, called):
            return
        for target in self._reach.imported(name):
            self._leads.add(".".join((target, *dotted[1:])) + ("" if runs else MADE))
        for at in self._reach.binders(name):
            if at.line < 0:
                lines = self._reach.lines(at.part)
                at = _Line(at.part, next((i for i in range(len(lines)) if lines.defines(i)), 0))
            self._binding(at, called, runs)

    def _binding(self, at: _Line, called: bool, runs: bool) -> None:
        """What a line binds is used: ``called`` it may be, in code that ``runs`` or where an object is made."""
        lines = self._reach.lines(at.part)
        if self._reach.is_picked(at):
            return
        if not lines.defines(at.line):
            text = lines.text(at.line)
            if not _is_table(text) and (runs or not called or _hands_on(text)):
                self.make_all([at])
                if called and runs and _LAMBDA.search(text):
                    self.run_all([at])
            return
        is_class = lines.logical[at.line].word == "class"
        if is_class or runs:
            if self._new(at):
                decorators = [j for j in lines.group(at.line) if lines.logical[j].word == "@"]
                inside: Iterable[int] = lines.below(at.line)
                if is_class and len(lines.below(at.line)) > _LARGE:
                    inside = [j for j in inside if self._is_step(at, j)]
                block = (_Line(at.part, j) for j in (*decorators, at.line, *inside))
                self.run_all(line for line in block if not self._reach.is_picked(line))
        elif self._new(at, "gives"):
            given = (j for j in lines.below(at.line) if lines.logical[j].word in ("return", "yield"))
            block = (_Line(at.part, j) for j in given if lines.scopes[j] == at.line)
            self.make_all(line for line in block if not self._reach.is_picked(line))

    def _is_step(self, owner: _Line, j: int) -> bool:
        """Whether a line of a class stands in one of the methods by which modules run."""
        lines = self._reach.lines(owner.part)
        up = j
        while lines.scopes[up] != owner.line and lines.scopes[up] >= 0:
            up = lines.scopes[up]
        name = lines.defines(up)
        return not name or name in _MODULE or name.endswith("_step")

    def _callers(self, part: int, scope: int) -> None:
        """What is handed to a function: what stands in the lines that call it."""
        own = self._reach.lines(part)
        name = own.defines(scope)
        if name == "__init__" and own.scopes[scope] >= 0:
            name = own.defines(own.scopes[scope])
        if name.startswith("__") or not self._new(name, "callers"):
            return
        owner = own.defines(own.scopes[scope]) if own.scopes[scope] >= 0 else ""
        if own.scopes[scope] < 0 or own.scopes[own.scopes[scope]] < 0:
            self._leads.add(HANDED + (f"{owner}.{name}" if owner and owner != name else name))
        self._handed(name)

    def _handed(self, name: str) -> None:
        """What stands in the lines that call something by its name, or by the name of its import."""
        for local in (name, *self._reach.aliases(name)):
            call = lazy(rf"(?<!\w){re.escape(local)}\s*\(\s*[^)\s]")
            for at in self._reach.mentions(local):
                lines = self._reach.lines(at.part)
                if not lines.defines(at.line) and call.search(code(lines.text(at.line))):
                    self.make_all([at])

    def _typed(self, part: int, scope: int, name: str, member: str) -> bool:
        """Follow the classes that a function says a parameter is of, or a member of them; whether it says any."""
        lines = self._reach.lines(part)
        told = _ANNOTATED.findall(lines.text(scope))
        told += [found for j in lines.mentions(name) for found in _ASSERTED.findall(lines.text(j))]
        kinds = {kind for parameter, said in told if parameter == name for kind, _ in _DOTTED.findall(said)}
        kinds = {kind for kind in kinds if kind.rpartition(".")[2][:1].isupper() and not kind.endswith("Module")}
        for kind in kinds if self._new(part, scope, name, member, "typed") else ():
            if member and "." not in kind:
                self._of_base(kind, member)
            else:
                self._top(kind.partition(".")[0], kind.split("."), True)
        return bool(kinds)

    def _of_class(self, part: int, owner: int, name: str, called: bool, runs: bool) -> None:
        """What a class has under a name, or a base of it."""
        if not self._new(part, owner, name, called, runs):
            return
        lines = self._reach.lines(part)
        below = lines.below(owner)
        names, attributes = lines.bindings
        held = [j for j in names.get(name, ()) if j in below and lines.scopes[j] == owner]
        held += [j for j in attributes.get(name, ()) if j in below and j not in held and not lines.defines(j)]
        for j in held:
            if self._reach.holds(_Line(part, j), name):
                self._binding(_Line(part, j), called, runs)
        if not held and runs:
            self._inherited(part, owner, name)

    def _inherited(self, part: int, owner: int, name: str) -> None:
        """What the bases of a class have under a name."""
        bases = _BASES.match(code(self._reach.lines(part).text(owner)))
        for base, _ in _DOTTED.findall(bases[1]) if bases is not None else ():
            first, _, rest = base.partition(".")
            if rest:
                self._leads.update(f"{target}.{rest}{MEMBER}{name}" for target in self._reach.imported(first))
            else:
                self._of_base(base, name)

    def _of_base(self, base: str, name: str) -> None:
        """What a class of the top level has under a name."""
        for at in self._reach.binders(base):
            if at.line < 0:
                lines = self._reach.lines(at.part)
                header = next((i for i in range(len(lines)) if lines.defines(i)), 0)
                if lines.logical[header].word == "class":
                    self._of_class(at.part, header, name, True, True)
        if not self._reach.binders(base):
            self._leads.update(f"{target}{MEMBER}{name}" for target in self._reach.imported(base))


@lru_cache(maxsize=256)
def _bound(text: str) -> frozenset[str]:
    """The names and attributes that a line of several statements binds."""
    found = {*_WALRUS.findall(code(text))}
    for statement in code(text).split(";"):
        found.update(*(targets(_OPENER.sub("", statement)) or ()))
    return frozenset(found)


def _loaded(text: str) -> str:
    """Source without comments and strings, but with the fields of f-strings."""
    if FIELDS.search(text) is None:
        return code(text)
    return _F_STRING.sub(lambda found: " ".join(_FIELD.findall(found[2])) if found[1] else '""', text)


@lru_cache(maxsize=1024)
def _makes(text: str) -> bool:
    """Whether an assignment makes an object of some class, or but gives another name to something."""
    value = code(text).partition("=")[2].strip()
    return _MADE.search(value) is not None or _PLAIN.fullmatch(value) is not None


def _hands_on(text: str) -> bool:
    """Whether an assignment but gives another name to something, or makes a function of it."""
    value = code(text).partition("=")[2]
    return "(" not in value or "lambda" in value or "partial(" in value


def _is_table(text: str) -> bool:
    """Whether an assignment gives a name to a table, of which somebody picks something."""
    return code(text).partition("=")[2].lstrip().startswith("{")
