"""Recognises choices: branches and tables of which one arm runs, and what GELU each arm computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gelu_lint.claims import WRAPPERS, one_way, says_gelu
from gelu_lint.facts.activation_names import NAMES
from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import callables
from gelu_lint.model import Arm, Choice, Site
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.asks import Asked, asked, kind_of, of_device, words_of
from gelu_lint.sites.calls import Calls
from gelu_lint.sites.context import Around, symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.formulas import Formulas
from gelu_lint.tree.bindings import class_of
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import dotted, last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Arg,
    Assign,
    Attribute,
    BooleanOperation,
    Call,
    ClassDef,
    Comparison,
    CSTNode,
    Dict,
    DictElement,
    Else,
    Expr,
    FunctionDef,
    If,
    IfExp,
    ImportAlias,
    ImportFrom,
    IndentedBlock,
    Lambda,
    List,
    Match,
    MatchAs,
    MatchCase,
    MatchOr,
    MatchValue,
    Module,
    Name,
    Return,
    SimpleStatementLine,
    Subscript,
    Try,
    TryStar,
    Tuple,
    UnaryOperation,
    With,
)
from gelu_lint.tree.walk import Block, Moment, Walk

_FLAVOURS = ("erf", "tanh", "quick")
_ANY = "*"  # the slot of all that a function computes on the way to what it gives
_DEPTH = 6
_MOST = 80  # characters of a test that are quoted

#: What holds the name of an activation, among other things.
_OWNERS = frozenset(("self", "cls", "config", "cfg", "conf", "args", "hparams", "params", "opt", "opts", "get"))

_BY_DEVICE = lazy(r"_?(?:forward|call|apply)_(?:native|cuda|cpu|hip|rocm|xpu|npu|tpu|hpu|mps|oot|neuron|gpu)")

#: Methods that are called by other names.
_BEHAVIOUR = frozenset(("forward", "__call__", "__init__", "__new__", "call", "setup", "build"))

_ARMS = ("If", "Else", "Try", "TryStar", "ExceptHandler", "ExceptStarHandler", "MatchCase")

Slots = dict[str, list[CSTNode]]


class _Way(NamedTuple):
    """An arm before it is placed: its test, what that lets pass, and the nodes that tell what it computes, by slot."""

    kind: str
    test: CSTNode | None
    names: tuple[str, ...]
    slots: Slots


class _Plan(NamedTuple):
    form: str
    ways: tuple[_Way, ...]
    node: CSTNode
    symbol: str
    flavours: tuple[str, ...] = ()  # of the arms, where no site tells them


class _Met(NamedTuple):
    node: CSTNode
    moment: Moment
    path: tuple[CSTNode, ...]


class Choices:
    """A visitor that collects choices; ``choices`` tells them once the sites of the file are known."""

    def __init__(self, walk: Walk, names: Names, calls: Calls, formulas: Formulas) -> None:
        self._walk, self._names, self._calls, self._formulas = walk, names, calls, formulas
        self._met: list[_Met] = []  # branches, ternaries, tables
        self._named: dict[int, _Met] = {}  # what goes by the name of a GELU
        self._imports: dict[int, str] = {}  # flavours of imported GELUs, by their alias
        self._tests: dict[int, _Met] = {}
        self._entries: dict[tuple[int, str], list[tuple[str, _Met]]] = {}
        self._plans: list[_Plan] = []
        bound = (b for scope in names.scopes.values() for found in scope.bindings.values() for b in found)
        nodes = (b.node for b in bound)
        defined = {node.name.value for node in nodes if type(node) is FunctionDef or type(node) is ClassDef}
        self._defined = {name for name in defined if not _gelu_in(name) and one_way(name)} - _BEHAVIOUR

    def _meet(self, node: CSTNode) -> _Met:
        met = _Met(node, self._walk.moment, (*self._walk.path,))
        self._met.append(met)
        return met

    def visit_If(self, node: If) -> None:
        self._tests[id(node)] = self._meet(node)

    def visit_IfExp(self, node: IfExp) -> None:
        self._tests[id(node)] = self._meet(node)

    def visit_Try(self, node: Try) -> None:
        self._meet(node)

    def visit_TryStar(self, node: TryStar) -> None:
        self._meet(node)

    def visit_Match(self, node: Match) -> None:
        self._meet(node)

    def visit_Dict(self, node: Dict) -> None:
        self._meet(node)

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if last in ("dict", "OrderedDict", "update") or (last == "getattr" and len(node.args) == 3):
            self._meet(node)

    def visit_FunctionDef(self, node: FunctionDef) -> None:
        if node.decorators:
            self._meet(node)

    def visit_ClassDef(self, node: ClassDef) -> None:
        self._meet(node)

    def visit_Assign(self, node: Assign) -> None:
        target = node.targets[0].target
        if isinstance(target, Subscript) and _index(target) in NAMES:
            key = (id(self._walk.scope), dotted(target.value))
            self._entries.setdefault(key, []).append((_index(target), self._here(node.value)))

    def visit_Name(self, node: Name) -> None:
        if _gelu_in(node.value) or (node.value in self._defined and _in_arm(self._walk.path)):
            self._named[id(node)] = self._here(node)

    def visit_Attribute(self, node: Attribute) -> None:
        if _gelu_in(node.attr.value) or (node.attr.value in self._defined and _in_arm(self._walk.path)):
            self._named[id(node)] = self._here(node)

    def visit_ImportFrom(self, node: ImportFrom) -> None:
        if not any(isinstance(a, (Try, TryStar, If)) for a in self._walk.path):
            return
        for alias in node.names if isinstance(node.names, (list, tuple)) else ():
            row = callables().get(f"{dotted(node.module)}.{dotted(alias.name)}")
            if row is not None and row.kind in ("function", "class"):
                self._imports[id(alias)] = row.flavour
                self._named[id(alias)] = self._here(alias)

    def _here(self, node: CSTNode) -> _Met:
        return _Met(node, self._walk.moment, (*self._walk.path,))

    # What nodes compute

    def _prepare(self) -> None:
        """Which nodes are sites or stand for some, and what holds them."""
        self._sites = {id(node) for node, _ in (*self._calls.found(), *self._formulas.found())}
        self._holders: set[int] = set()
        for _, path in self._calls.found():
            self._holders.update(map(id, path))
        for node, path in self._formulas.found():
            self._holders.update(map(id, (*path, *_way_to(node, path))))
        self._unsure = {id(node) for node, path in self._calls.found() if _with_more(path)}
        self._stands: dict[int, list[CSTNode]] = {}
        self._nodes = {id(node): node for node, _ in (*self._calls.found(), *self._formulas.found())}
        for key, met in self._named.items():
            if key in self._sites:
                continue
            found = [met.node] if key in self._imports else self._behind(met.node, met.moment, 0)
            if found:
                self._stands[key] = found
                self._holders.update(map(id, met.path))

    def is_site(self, node: CSTNode) -> bool:
        """Whether a node is a site itself, once ``nodes`` has been asked."""
        return id(node) in self._sites

    def behind(self, node: CSTNode, moment: Moment) -> list[CSTNode]:
        """The sites that a name or attribute stands for, once ``nodes`` has been asked."""
        return self._behind(node, moment, 0) if isinstance(node, (Name, Attribute)) else []

    def within(self, node: CSTNode) -> list[CSTNode]:
        """The sites in a node, and what stands for some, once ``nodes`` has been asked."""
        return self._within(node)

    def stands_for(self, node: CSTNode, moment: Moment) -> list[CSTNode]:
        """The sites that an expression is, or stands for, once ``nodes`` has been asked."""
        return self._within(node) or self._of_value(node, moment)

    def _behind(self, node: CSTNode, moment: Moment, depth: int) -> list[CSTNode]:
        """The sites that a name stands for, where it surely stands for one thing of this file."""
        if depth > _DEPTH:
            return []
        if isinstance(node, Attribute):
            if last_name(node.value) not in ("self", "cls"):
                return []
            bound = self._names.attribute(node, moment)
            if bound is not None:
                return self._of_value(*bound, depth)
            method = self._names.method(node.attr.value, moment)
            return self._within(method.body) if method is not None else []
        if not isinstance(node, Name):
            return []
        found = self._names.reaching(node, moment)
        if len(found) != 1 or found[0].node is None:
            return []
        if isinstance(found[0].node, (FunctionDef, ClassDef)):
            return self._within(found[0].node.body)
        return self._of_value(found[0].node, found[0].moment, depth) if found[0].kind == "value" else []

    def _of_value(self, node: CSTNode, moment: Moment, depth: int = 0) -> list[CSTNode]:
        if id(node) in self._sites:
            return [node]
        if isinstance(node, (Name, Attribute)):
            return self._behind(node, moment, depth + 1)
        if isinstance(node, Call) and last_name(node.func) in WRAPPERS and node.args:
            return self._of_value(node.args[0].value, moment, depth + 1)
        if isinstance(node, Call) and isinstance(node.func, (Name, Attribute)):
            return self._behind(node.func, moment, depth + 1)
        return self._within(node) if isinstance(node, Lambda) else []

    def _within(self, node: CSTNode) -> list[CSTNode]:
        """The sites in a node, and what stands for some."""
        found: list[CSTNode] = []
        waiting = [node]
        while waiting:
            item = waiting.pop()
            if id(item) in self._sites:
                found.append(item)
            elif id(item) in self._stands:
                found += self._stands[id(item)]
            elif id(item) in self._holders:
                waiting.extend(reversed([*children(item)]))
        return found

    def _holds(self, node: CSTNode) -> bool:
        return id(node) in self._holders or id(node) in self._sites or id(node) in self._stands

    def _slots(self, statements: Sequence[CSTNode]) -> Slots:
        """What statements compute, by where it goes."""
        found: Slots = {}
        for statement in statements:
            if not self._holds(statement):
                continue
            if isinstance(statement, SimpleStatementLine):
                for small in statement.body:
                    for slot, value in _goes(small):
                        if self._holds(value):
                            found.setdefault(slot, []).extend(self._within(value))
            elif isinstance(statement, (FunctionDef, ClassDef)):
                found.setdefault(statement.name.value, []).extend(self._within(statement.body))
            elif isinstance(statement, With):
                for slot, nodes in self._slots(_block(statement.body)).items():
                    found.setdefault(slot, []).extend(nodes)
            else:
                found.setdefault("nested", []).extend(self._within(statement))
        return found

    # Choices

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``choices`` needs the places of."""
        self._prepare()
        claimed: set[int] = set()
        for met in self._met:
            node = met.node
            if isinstance(node, If):
                if self._holds(node) and id(node) not in claimed and not isinstance(met.path[-1], If):
                    self._branches(met, claimed)
            elif isinstance(node, IfExp):
                if self._holds(node) and not (isinstance(met.path[-1], IfExp) and met.path[-1].orelse is node):
                    self._ternary(met)
            elif isinstance(node, (Try, TryStar)):
                self._attempts(met)
            elif isinstance(node, Match):
                self._cases(met)
            elif isinstance(node, (FunctionDef, ClassDef)):
                self._registered(met, node)
                if isinstance(node, ClassDef) and self._holds(node.body):
                    self._methods(met, node)
            elif isinstance(node, Call) and last_name(node.func) == "getattr":
                self._defaulted(met, node)
            else:
                self._table(met)
        for entries in self._entries.values():
            self._rows(entries, entries[0][1])
        self._made_by_branches()
        for chosen, row, around in self._calls.chosen():
            self._argument(chosen, row, around)
        for plan in self._plans:
            yield plan.node
            for way in plan.ways:
                yield from (way.test,) if way.test is not None else ()
                for nodes in way.slots.values():
                    yield from (node for node in nodes if id(node) not in self._sites)

    def _way(self, test: CSTNode, met: _Met, slots: Slots, taken: set[str], others: bool) -> _Way:
        """An arm under a test, with the names that are left for it."""
        around = next((a.name.value for a in reversed(met.path) if isinstance(a, FunctionDef)), "")
        known = asked(test, self._names, met.moment, around, others)
        if not known.unclear and any(name in NAMES for name in known.names):
            left = tuple(dict.fromkeys(name for name in known.names if name in NAMES and name not in taken))
            taken.update(known.names)
            return _Way("name", test, left if known.merges else left[:1], slots)
        return _Way(kind_of(test, self._names, met.moment), test, (), slots)

    def _branches(self, met: _Met, claimed: set[int]) -> None:
        """The arms of an ``if``, with what follows where they return, or what was there before it."""
        block = met.path[-1] if met.path else None
        siblings = _block(block)
        index = next((i for i, s in enumerate(siblings) if s is met.node), -1)
        tests: list[tuple[CSTNode, Slots, _Met]] = []
        at: CSTNode | None = met.node
        last: Slots = {}
        left: set[int] = set()  # tests whose arm gives what it has computed, and leaves
        while isinstance(at, If):
            claimed.add(id(at))
            here = self._tests.get(id(at), met)
            rest: If | Else | None = at
            while isinstance(rest, If):
                tests.append((rest.test, self._slots(_block(rest.body)), here))
                claimed.add(id(rest))
                if _leaves(rest.body):
                    left.add(id(rest.test))
                rest = rest.orelse
            if rest is not None:
                last = self._slots(_block(rest.body))
                break
            if index < 0 or not all("return" in slots or not slots or id(test) in left for test, slots, _ in tests):
                break
            after = [(i, s) for i, s in enumerate(siblings) if i > index and self._holds(s)]
            if not after:
                break
            index, following = after[0]
            if isinstance(following, If):
                at = following
                continue
            last = self._slots([s for _, s in after])
            break
        if not any(slots for _, slots, _ in tests):
            return
        if not last and index >= 0:
            last = self._before(siblings[:index], [slots for _, slots, _ in tests])
        self._planned("branch", tests, last, met, self._earlier(siblings, met))

    def _before(self, siblings: Sequence[CSTNode], arms: Sequence[Slots]) -> Slots:
        """What was assigned before to what an arm assigns."""
        wanted = {slot for slots in arms for slot in slots if slot not in ("return", "nested", "expr")}
        found: Slots = {}
        for statement in siblings:
            if isinstance(statement, SimpleStatementLine) and self._holds(statement):
                found.update((s, nodes) for s, nodes in self._slots([statement]).items() if s in wanted)
        return found

    def _earlier(self, siblings: Sequence[CSTNode], met: _Met) -> list[tuple[CSTNode, _Met]]:
        """The tests of the ``if`` statements before this one in its block."""
        found: list[tuple[CSTNode, _Met]] = []
        for statement in siblings:
            if statement is met.node:
                break
            at: CSTNode | None = statement
            while isinstance(at, If):
                found.append((at.test, self._tests.get(id(at), met)))
                at = at.orelse
        return found

    def _planned(
        self,
        form: str,
        tests: Sequence[tuple[CSTNode, Slots, _Met]],
        last: Slots,
        met: _Met,
        earlier: Sequence[tuple[CSTNode, _Met]] = (),
    ) -> None:
        others = any(_other_activation(test) for test, _, _ in tests)
        taken: set[str] = set()
        around = next((a.name.value for a in reversed(met.path) if isinstance(a, FunctionDef)), "")
        known = [asked(test, self._names, here.moment, around, others) for test, here in earlier]
        for one in known:
            taken.update(one.names)
        ways = []
        before = [(test, one) for (test, _), one in zip(earlier, known, strict=True)]
        for test, slots, here in tests:
            way = self._way(test, here, slots, taken, others)
            own = asked(test, self._names, here.moment, around, others)
            if way.kind == "name" and own.merges and _open(before, own):
                way = way._replace(kind="other", names=())
            before.append((test, own))
            ways.append(way)
        if last:
            ways.append(_Way("", None, (), last))
        self._plan(form, ways, met)

    def _plan(self, form: str, ways: Sequence[_Way], met: _Met) -> None:
        merging = any(len(way.names) > 1 and way.slots for way in ways)
        deciding = any(way.kind in ("device", "version", "training", "switch") and way.slots for way in ways)
        if merging or (deciding and sum(bool(way.slots) for way in ways) > 1):
            self._plans.append(_Plan(form, tuple(ways), met.node, symbol(met.path)))

    def _ternary(self, met: _Met) -> None:
        tests: list[tuple[CSTNode, Slots, _Met]] = []
        node = met.node
        while isinstance(node, IfExp):
            tests.append((node.test, self._slot(node.body), met))
            node = node.orelse
        at = max((i for i, a in enumerate(met.path) if isinstance(a, (IndentedBlock, Module))), default=-1)
        statement = met._replace(node=(*met.path, met.node)[at + 1])
        earlier = self._earlier(_block(met.path[at]), statement) if at >= 0 else []
        self._planned("ternary", tests, self._slot(node), met, earlier)

    def _slot(self, node: CSTNode) -> Slots:
        found = self._within(node)
        return {_ANY: found} if found else {}

    def _attempts(self, met: _Met) -> None:
        """A ``try`` whose handlers do the same in another way."""
        node = met.node
        assert isinstance(node, (Try, TryStar))
        body = [*_block(node.body), *(_block(node.orelse.body) if node.orelse is not None else ())]
        first = self._slots(body)
        if not first:
            return
        handled: Slots = {}
        for handler in node.handlers:
            for slot, nodes in self._slots(_block(handler.body)).items():
                handled.setdefault(slot, []).extend(nodes)
        if not handled and "return" in first:
            siblings = _block(met.path[-1])
            index = next((i for i, s in enumerate(siblings) if s is node), len(siblings))
            handled = self._slots([s for s in siblings[index + 1 :] if not isinstance(s, (FunctionDef, ClassDef))])
        if handled:
            self._plan("try", [_Way("version", None, (), first), _Way("", None, (), handled)], met)

    def _cases(self, met: _Met) -> None:
        node = met.node
        assert isinstance(node, Match)
        device = of_device(node.subject)
        ways: list[_Way] = []
        taken: set[str] = set()
        for case in node.cases:
            slots = self._slots(_block(case.body))
            texts = _texts(case)
            if texts is None:
                default = isinstance(case.pattern, MatchAs) and case.pattern.pattern is None
                if default and case.guard is not None:
                    ways.append(self._way(case.guard, met, slots, taken, True))
                else:
                    ways.append(_Way("" if default and case.guard is None else "other", None, (), slots))
            elif device:
                ways.append(_Way("device", node.subject, (), slots))
            else:
                left = tuple(name for name in texts if name in NAMES and name not in taken)
                taken.update(texts)
                ways.append(_Way("name" if left and case.guard is None else "flavour", node.subject, left, slots))
        self._plan("branch", ways, met)

    def _registered(self, met: _Met, node: FunctionDef | ClassDef) -> None:
        """One function under several names: ``@register("gelu")`` above ``@register("gelu_new")``."""
        found: list[str] = []
        for decorator in node.decorators:
            call = decorator.decorator
            for arg in call.args if isinstance(call, Call) else ():
                listed = arg.value.elements if isinstance(arg.value, (Tuple, List)) else ()
                found += [text_of(element.value) for element in listed] or [text_of(arg.value)]
        names = tuple(name for name in found if name in NAMES)
        if len(names) > 1 and self._holds(node.body):
            self._plan("branch", [_Way("name", None, names, self._slot(node.body))], met)

    def _methods(self, met: _Met, node: ClassDef) -> None:
        """``forward_cuda`` beside ``forward_native``: the device decides which of them runs."""
        ways = []
        for statement in _block(node.body):
            if isinstance(statement, FunctionDef) and _BY_DEVICE.fullmatch(statement.name.value):
                found = self._within(statement.body)
                ways.append(_Way("device", None, (), {_ANY: found} if found else {}))
        if sum(bool(way.slots) for way in ways) > 1:
            self._plan("branch", ways, met._replace(path=(*met.path, node)))

    def _made_by_branches(self) -> None:
        """One formula that is another function by what an ``if`` before it has put into a name."""
        groups: dict[int, list[tuple[CSTNode, str, dict[int, str], tuple[CSTNode, ...]]]] = {}
        for node, flavour, arms, path in self._formulas.ways():
            groups.setdefault(id(node), []).append((node, flavour, dict(arms), path))
        for group in groups.values():
            (node, flavour, chosen, path), (_, other, others, _) = group[:2]
            parted = [key for key, arm in chosen.items() if others.get(key, arm) != arm and key in self._tests]
            if len(group) != 2 or len(parted) != 1 or flavour not in _FLAVOURS or other not in _FLAVOURS:
                continue
            met = self._tests[parted[0]]
            test = met.node.test if isinstance(met.node, (If, IfExp)) else met.node
            kind = kind_of(test, self._names, met.moment)
            if kind not in ("device", "version", "training", "switch"):
                continue
            first = chosen[parted[0]].startswith("body")
            ways = (_Way(kind, test, (), {_ANY: [node]}), _Way("", None, (), {_ANY: [node]}))
            flavours = (flavour, other) if first else (other, flavour)
            self._plans.append(_Plan("branch", ways, node, symbol(path), flavours))

    def _defaulted(self, met: _Met, node: Call) -> None:
        """``getattr(F, "gelu", other)``: the built-in where there is one, else the other."""
        bases = self._names.resolve(node.args[0].value, met.moment)
        rows = {callables().get(f"{base}.{text_of(node.args[1].value)}") for base in bases}
        row = rows.pop() if len(rows) == 1 else None
        other = node.args[2].value
        found = self._within(other) or self._of_value(other, met.moment)
        if row is not None and found:
            self._imports[id(node)] = row.flavour
            ways = [_Way("version", None, (), {_ANY: [node]}), _Way("", None, (), {_ANY: found})]
            self._plan("ternary", ways, met)

    # Tables

    def _table(self, met: _Met) -> None:
        rows = [*_pairs(met.node)]
        if sum(key in NAMES for key, _ in rows) > 1:
            self._rows([(key, met._replace(node=value)) for key, value in rows if key in NAMES], met)
        elif len(rows) > 1 and all(_is_device(key) for key, _ in rows) and isinstance(met.node, Dict):
            ways = [_Way("device", None, (), self._slot(value)) for _, value in rows]
            self._plan("branch", ways, met)

    def _rows(self, entries: Sequence[tuple[str, _Met]], met: _Met) -> None:
        """Entries of one table under names of GELUs."""
        ways = []
        for name, at in entries:
            found = self._within(at.node) or self._of_value(at.node, at.moment)
            if found:
                ways.append(_Way("name", at.node, (name,), {_ANY: found}))
        if len({NAMES[name] for way in ways for name in way.names}) > 1:
            self._plans.append(_Plan("table", tuple(ways), met.node, symbol(met.path)))

    # Arguments

    def _argument(self, node: CSTNode, row: Callable, around: Around) -> None:
        """What is given as ``approximate`` where a test chooses it."""
        picked = self._picked(node, around.moment, 0)
        if picked is None and row.wrong == "truthy":
            held = self._names.constant(node, around.moment) or node
            if _truth(held) and of_device(held):
                picked = "device", held, [(True, held), (False, held)]
        if picked is None:
            return
        kind, test, values = picked
        flavours = tuple(row.flavour_of(bool(v) if row.wrong == "truthy" else v) for v, _ in values)
        if kind not in ("device", "version", "training", "switch") or not all(flavours):
            return
        at = values[0][1]
        if any(plan.form == "argument" and plan.node is at for plan in self._plans):
            return
        ways = tuple(
            _Way(kind if i == 0 else "", test if i == 0 else None, (), {_ANY: [place]})
            for i, (_, place) in enumerate(values)
        )
        self._plans.append(_Plan("argument", ways, at, around.symbol, flavours))

    def _picked(
        self, node: CSTNode, moment: Moment, depth: int
    ) -> tuple[str, CSTNode, list[tuple[str | int | float | bool | None, CSTNode]]] | None:
        """The kind of a test, the test, and the literals between which it chooses."""
        if depth > _DEPTH:
            return None
        if isinstance(node, IfExp):
            values = [(literal(arm), arm) for arm in (node.body, node.orelse)]
            if not all(known for (known, _), _ in values):
                return None
            return kind_of(node.test, self._names, moment), node.test, [(value[1], arm) for value, arm in values]
        if isinstance(node, Subscript) and len(node.slice) == 1:
            index = getattr(node.slice[0].slice, "value", None)
            held = self._names.constant(node.value, moment) or node.value
            return self._looked_up(held, index)
        if isinstance(node, Call) and isinstance(node.func, Attribute) and node.func.attr.value == "get" and node.args:
            held = self._names.constant(node.func.value, moment) or node.func.value
            return self._looked_up(held, node.args[0].value)
        bound: list[tuple[CSTNode | None, Moment]] = []
        if isinstance(node, Call) and isinstance(node.func, Name) and not node.args:
            made = self._names.reaching(node.func, moment)
            given = self._names.returns.get(id(made[0].node), []) if len(made) == 1 else []
            bound = [*given]
        elif isinstance(node, Name):
            bound = [(b.node if b.kind == "value" else None, b.moment) for b in self._names.reaching(node, moment)]
        elif isinstance(node, Attribute) and last_name(node.value) == "self":
            owner = class_of(moment.scope)
            bound = [*self._names.attributes.get((id(owner), node.attr.value), [])] if owner is not None else []
        if len(bound) == 1 and bound[0][0] is not None:
            return self._picked(bound[0][0], bound[0][1], depth + 1)
        if len(bound) != 2:
            return None
        return self._by_branch(bound)

    def _looked_up(
        self, held: CSTNode, index: CSTNode | None
    ) -> tuple[str, CSTNode, list[tuple[str | int | float | bool | None, CSTNode]]] | None:
        """``{"cuda": "tanh", "cpu": "none"}[x.device.type]``."""
        if index is None or not of_device(index):
            return None
        if isinstance(held, Dict):
            values = [element.value for element in held.elements if isinstance(element, DictElement)]
        elif isinstance(held, (Tuple, List)):
            values = [element.value for element in held.elements]
        else:
            return None
        read = [(literal(value), value) for value in values]
        if len(read) < 2 or not all(known for (known, _), _ in read):
            return None
        return "device", index, [(value[1], at) for value, at in read]

    def _by_branch(
        self, bound: Sequence[tuple[CSTNode | None, Moment]]
    ) -> tuple[str, CSTNode, list[tuple[str | int | float | bool | None, CSTNode]]] | None:
        """Two literals that the arms of one ``if`` bind, or that one binds and an arm replaces."""
        first, second = sorted(bound, key=lambda pair: pair[1].order)
        if first[0] is None or second[0] is None:
            return None
        read = [(literal(node), node) for node, _ in (first, second) if node is not None]
        if not all(known for (known, _), _ in read):
            return None
        values = [(value[1], node) for value, node in read]
        block = _split(first[1].blocks, second[1].blocks)
        if block is None:
            return None
        met = self._tests.get(block.node)
        if met is None or not isinstance(met.node, If):
            return None
        if not first[1].blocks or first[1].blocks[-1].node != block.node:
            values.reverse()
        return kind_of(met.node.test, self._names, met.moment), met.node.test, values

    # Facts

    def choices(self, draft: Draft, sites: Sequence[tuple[CSTNode, Site]]) -> Iterator[Choice]:
        """The choices, in the order of the file. ``sites`` are those of calls and formulas, each with its node."""
        known: dict[int, list[Site]] = {}
        for node, site in sites:
            known.setdefault(id(node), []).append(site)
        for plan in self._plans:
            for slot in _common(plan, known):
                arms = []
                for index, way in enumerate(plan.ways):
                    nodes = way.slots.get(slot, [])
                    if slot == _ANY and not nodes:
                        nodes = [node for held in way.slots.values() for node in held]
                    flavour = plan.flavours[index] if plan.flavours else self._flavour(nodes, known)
                    at = way.test if plan.form == "table" and way.test is not None else None
                    at = at or (nodes[0] if nodes else way.test or plan.node)
                    test = " ".join(draft.text(way.test).split()) if way.test is not None else ""
                    test = test if len(test) <= _MOST else test[: _MOST - 1] + "…"
                    span = known[id(at)][0].span if id(at) in known else draft.span(at)
                    arms.append(Arm(way.kind, test, way.names, flavour, span, draft.statement(at)))
                place = next((arm for arm in arms if arm.flavour), arms[0])
                named = any(says_gelu(part) for part in plan.symbol.split("."))
                yield Choice(plan.form, tuple(arms), place.span, plan.symbol, place.statement, named)

    def _flavour(self, nodes: Sequence[CSTNode], known: Mapping[int, list[Site]]) -> str:
        """The one flavour that nodes compute, "" where there is none or more than one."""
        if any(id(node) in self._unsure for node in nodes):
            return ""
        found = {site.flavour for node in nodes for site in known.get(id(node), ())}
        found |= {self._imports[id(node)] for node in nodes if id(node) in self._imports}
        return found.pop() if len(found) == 1 and found <= {*_FLAVOURS} else ""


def _with_more(path: Sequence[CSTNode]) -> bool:
    """Whether arguments stand beside a reference: ``(nn.GELU, {"approximate": "tanh"})``, ``make(nn.GELU, **more)``."""
    above = path[-2] if len(path) > 1 else None
    if isinstance(above, (Tuple, List)):
        values = [element.value for element in above.elements]
        return any(isinstance(v, Dict) or (isinstance(v, Call) and last_name(v.func) == "dict") for v in values)
    if isinstance(above, Call) and isinstance(path[-1], Arg):
        words = [arg.keyword.value for arg in above.args if isinstance(arg.keyword, Name)]
        more = any(arg.star == "**" or isinstance(arg.value, Dict) for arg in above.args)
        return more or any("approx" in word or "kwargs" in word for word in words)
    return False


def _way_to(node: CSTNode, path: Sequence[CSTNode]) -> list[CSTNode]:
    """The ancestors of a formula in the function or statement around: it may stand before what gives it."""
    at = max((i for i, a in enumerate(path) if isinstance(a, (FunctionDef, Lambda))), default=min(1, len(path) - 1))
    waiting: list[tuple[CSTNode, int]] = [(path[at], 0)] if path else []
    way: list[CSTNode] = []
    while waiting:
        item, depth = waiting.pop()
        del way[depth:]
        if item is node:
            return way
        way.append(item)
        waiting.extend((child, depth + 1) for child in children(item))
    return []


def _common(plan: _Plan, known: Mapping[int, list[Site]]) -> list[str]:
    """The slots in which the arms of a plan are to be compared."""
    counts: dict[str, int] = {}
    for way in plan.ways:
        for slot in way.slots:
            counts[slot] = counts.get(slot, 0) + 1
    several = [slot for slot, count in counts.items() if count > 1 and slot != "nested"]
    merging = [slot for way in plan.ways if len(way.names) > 1 for slot in way.slots if slot != "nested"]
    if several:
        return list(dict.fromkeys((*several, *merging)))
    if any(len(way.names) > 1 for way in plan.ways):
        return [_ANY]
    local = all("." not in slot and "[" not in slot and " " not in slot for slot in counts)
    return [_ANY] if local and "nested" not in counts else []


def _goes(small: CSTNode) -> Iterator[tuple[str, CSTNode]]:
    """Where the values of a statement go."""
    if isinstance(small, Return) and small.value is not None:
        yield "return", small.value
    elif isinstance(small, Assign):
        target, value = small.targets[0].target, small.value
        pairs: list[tuple[CSTNode, CSTNode]] = [(target, value)]
        many = [part.elements for part in (target, value) if isinstance(part, (Tuple, List))]
        if len(many) == 2 and len(many[0]) == len(many[1]):
            pairs = [(one.value, given.value) for one, given in zip(*many, strict=True)]
        for one, given in pairs:
            index = f"[{_index(one)}]" if isinstance(one, Subscript) else ""
            yield (dotted(one.value if isinstance(one, Subscript) else one) or "value") + index, given
    elif isinstance(small, AnnAssign) and small.value is not None:
        yield dotted(small.target) or "value", small.value
    elif isinstance(small, Expr):
        yield f"call {dotted(small.value.func)}" if isinstance(small.value, Call) else "expr", small.value
    elif isinstance(small, ImportFrom) and isinstance(small.names, (list, tuple)):
        for alias in small.names:
            yield _bound(alias), alias


def _bound(alias: ImportAlias) -> str:
    name = alias.asname.name if alias.asname is not None else alias.name
    return dotted(name)


def _block(node: CSTNode | None) -> Sequence[CSTNode]:
    """The statements of a block."""
    return node.body if isinstance(node, (IndentedBlock, Module)) else (node,) if node is not None else ()


def _leaves(body: CSTNode) -> bool:
    """Whether a block ends by giving a local name."""
    last = _block(body)[-1] if _block(body) else None
    small = last.body[-1] if isinstance(last, SimpleStatementLine) and last.body else None
    return isinstance(small, Return) and isinstance(small.value, Name)


def _open(before: Sequence[tuple[CSTNode, Asked]], own: Asked) -> bool:
    """Whether tests before one by prefix, substring or list may take out names, nobody knows which; or take out all
    that are another function."""
    subject = {*own.subject.split()} - _OWNERS
    for test, one in before:
        names, strings = words_of(test)
        if one.unclear and (subject & set(names) or any(says_gelu(text) for text in strings)):
            return True
    if own.listed:
        return False
    # Who takes out one name of a flavour means the others, too.
    taken = {NAMES[name] for _, one in before for name in one.names if name in NAMES and name in own.names}
    return not {"erf", "tanh"} <= {NAMES[name] for name in own.names if name in NAMES} - taken


def _other_activation(test: CSTNode) -> bool:
    """Whether a test is for the name of another activation."""
    strings = words_of(test)[1]
    return any(
        text.lower() in ("relu", "silu", "swish", "tanh", "sigmoid", "leaky_relu", "elu", "mish") for text in strings
    )


def _texts(case: MatchCase) -> tuple[str, ...] | None:
    """The strings that a case matches, None where it is no list of such."""
    pattern = case.pattern
    patterns = [part.pattern for part in pattern.patterns] if isinstance(pattern, MatchOr) else [pattern]
    if not all(isinstance(part, MatchValue) for part in patterns):
        return None
    return tuple(text_of(part.value) for part in patterns if isinstance(part, MatchValue))


def _pairs(node: CSTNode) -> Iterator[tuple[str, CSTNode]]:
    """The keys and values of a table: of a dict, ``dict(…)`` or a list of pairs."""
    if isinstance(node, Dict):
        for element in node.elements:
            if isinstance(element, DictElement):
                yield text_of(element.key), element.value
    elif isinstance(node, Call):
        for arg in node.args:
            if isinstance(arg.keyword, Name):
                yield arg.keyword.value, arg.value
            elif isinstance(arg.value, (List, Tuple)):
                for pair in arg.value.elements:
                    if isinstance(pair.value, Tuple) and len(pair.value.elements) == 2:
                        yield text_of(pair.value.elements[0].value), pair.value.elements[1].value


def _is_device(text: str) -> bool:
    return text in ("cuda", "cpu", "mps", "xpu", "npu", "tpu", "gpu", "rocm", "hip", "hpu", "xla", "default")


def _index(node: CSTNode) -> str:
    value = getattr(node.slice[0].slice, "value", None) if isinstance(node, Subscript) and node.slice else None
    return text_of(value)


def _gelu_in(name: str) -> bool:
    return "gelu" in name.lower() or "geglu" in name.lower()


def _in_arm(path: Sequence[CSTNode]) -> bool:
    """Whether a node is part of a ternary, is returned, or stands in an arm of a branch."""
    for i in range(len(path) - 1, -1, -1):
        at = path[i]
        if isinstance(at, (IfExp, Return)):
            return True
        if isinstance(at, (SimpleStatementLine, FunctionDef, ClassDef, Lambda)):
            return i > 1 and type(path[i - 2]).__name__ in _ARMS and not isinstance(at, (FunctionDef, ClassDef, Lambda))
    return False


def _truth(node: CSTNode) -> bool:
    """Whether an expression is a question."""
    return isinstance(node, (Comparison, BooleanOperation, UnaryOperation, Call, Attribute))


def _split(first: Sequence[Block], second: Sequence[Block]) -> Block | None:
    """The ``if`` whose arms part two places; or the one that only one of them stands in."""
    for left, right in zip(first, second, strict=False):
        if left != right:
            return left if left.node == right.node and left.kind == "if" else None
    rest = (*first[len(second) :], *second[len(first) :])
    return rest[0] if len(rest) == 1 and rest[0].kind == "if" else None
