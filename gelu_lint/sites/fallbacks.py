"""Recognises fallbacks: what becomes of the name of an activation that no test and no table knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gelu_lint.claims import words
from gelu_lint.facts.activation_names import NAMES
from gelu_lint.facts.table import find, others
from gelu_lint.model import Fallback, Site
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import GELUS
from gelu_lint.patterns import lazy
from gelu_lint.sites.asks import names_activation, subject_of
from gelu_lint.sites.choices import Choices
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import dotted, last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    BooleanOperation,
    Call,
    ClassDef,
    Comparison,
    CSTNode,
    Dict,
    DictElement,
    Expr,
    FunctionDef,
    If,
    IfExp,
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
    Raise,
    Return,
    Set,
    SimpleStatementLine,
    Subscript,
    Try,
    Tuple,
    UnaryOperation,
)
from gelu_lint.tree.walk import Moment, Walk

_IDENTITY = frozenset(
    ("torch.nn.Identity", "torch.nn.modules.linear.Identity", "paddle.nn.Identity", "tensorflow.identity")
)
#: Names that tests have for activations: who asks for one of them asks for a name.
_KNOWN = frozenset(
    (
        *(
            "gelu",
            "relu",
            "silu",
            "swish",
            "tanh",
            "sigmoid",
            "leaky_relu",
            "leakyrelu",
            "lrelu",
            "elu",
            "mish",
            "selu",
        ),
        *("relu6", "prelu", "geglu", "swiglu", "reglu", "gelu_new", "quick_gelu", "hardswish", "hswish", "softplus"),
        *("celu", "glu", "gelu_tanh", "gelu_fast", "gelu_pytorch_tanh", "relu2", "squared_relu", "crelu", "identity"),
    )
)
#: Those that say how a block is built, rather than which function it applies.
_GATED = frozenset(("geglu", "swiglu", "reglu", "glu"))
_WARNS = frozenset(
    ("warn", "warning", "warn_once", "warning_once", "error", "info", "print", "log", "debug", "exception")
)
_TELLS = lazy(r"default|fall.?s? ?back|otherwise|unknown|unrecogni|any other|anything else", re.IGNORECASE)
_CAUGHT = ("KeyError", "AttributeError", "Exception", "ValueError", "LookupError")
_NOTHING = lazy(r"\bnone\b|identity|linear|no activation", re.IGNORECASE)


class _Test(NamedTuple):
    """What a test asks of a ``subject``: whether it is one of ``names``; ``whole`` if no more names lead past it."""

    subject: CSTNode
    names: tuple[str, ...]
    whole: bool = True


class _Plan(NamedTuple):
    form: str
    tests: tuple[_Test, ...]
    gelus: tuple[CSTNode, ...]  # the sites that known names lead to
    value: CSTNode  # the fallback
    moment: Moment
    path: tuple[CSTNode, ...]
    warns: bool
    flavour: str  # of the fallback where it is no site
    sites: tuple[CSTNode, ...]  # of the fallback


class Fallbacks:
    """A visitor that collects fallbacks; ``fallbacks`` tells them once the sites of the file are known."""

    def __init__(self, walk: Walk, names: Names, choices: Choices) -> None:
        self._walk, self._names, self._choices = walk, names, choices
        self._met: list[tuple[CSTNode, Moment, tuple[CSTNode, ...]]] = []
        self._plans: list[_Plan] = []

    def _meet(self, node: CSTNode) -> None:
        self._met.append((node, self._walk.moment, (*self._walk.path,)))

    def visit_If(self, node: If) -> None:
        self._meet(node)

    def visit_IfExp(self, node: IfExp) -> None:
        self._meet(node)

    def visit_Match(self, node: Match) -> None:
        self._meet(node)

    def visit_Try(self, node: Try) -> None:
        self._meet(node)

    def visit_Call(self, node: Call) -> None:
        if (last_name(node.func), len(node.args)) in (("get", 2), ("getattr", 3)):
            self._meet(node)

    def concerned(self) -> bool:
        """Whether a file matters for a GELU that is no site: the default of a getattr."""
        calls = (node for node, _, _ in self._met if isinstance(node, Call) and len(node.args) == 3)
        return any("gelu" in last_name(call.args[2].value).lower() for call in calls)

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``fallbacks`` needs the places of; ``choices`` must have been asked for its own before."""
        claimed: set[int] = set()
        for node, moment, path in self._met:
            if isinstance(node, If):
                if id(node) not in claimed:
                    self._branches(node, moment, path, claimed)
            elif isinstance(node, IfExp):
                if not (isinstance(path[-1], IfExp) and path[-1].orelse is node):
                    self._ternary(node, moment, path)
            elif isinstance(node, Match):
                self._cases(node, moment, path)
            elif isinstance(node, Try):
                self._attempt(node, moment, path)
            elif isinstance(node, Call) and last_name(node.func) == "get":
                self._looked_up(node, moment, path)
            elif isinstance(node, Call):
                self._attribute(node, moment, path)
        return (plan.value for plan in self._plans)

    # Branches

    def _branches(self, node: If, moment: Moment, path: tuple[CSTNode, ...], claimed: set[int]) -> None:
        siblings = _block(path[-1])
        index = next((i for i, s in enumerate(siblings) if s is node), -1)
        tests: list[_Test | None] = []
        bodies: list[Sequence[CSTNode]] = []
        default: Sequence[CSTNode] = ()
        at: CSTNode | None = node
        while isinstance(at, If):
            rest: CSTNode | None = at
            while isinstance(rest, If):
                claimed.add(id(rest))
                tests.append(_test(rest.test, self._names, moment))
                bodies.append(_block(rest.body))
                rest = rest.orelse
            if rest is not None:
                default = _block(rest.body)  # type: ignore[attr-defined]
                break
            if index < 0 or not all(_ends(body) for body in bodies) or index + 1 >= len(siblings):
                break
            index += 1
            at = siblings[index]
            default = siblings[index:]
        if not default or (isinstance(default[0], If)):
            return
        values = _values(default)
        if values is None:
            return
        slot, value, warns = values
        if any(_slot(body) not in (slot, "raise", "") for body in bodies):
            return
        self._plan("branch", tests, [s for body in bodies for s in body], value, moment, path, warns)

    def _ternary(self, node: IfExp, moment: Moment, path: tuple[CSTNode, ...]) -> None:
        tests: list[_Test | None] = []
        bodies: list[CSTNode] = []
        rest: CSTNode = node
        while isinstance(rest, IfExp):
            tests.append(_test(rest.test, self._names, moment))
            bodies.append(rest.body)
            rest = rest.orelse
        self._plan("ternary", tests, bodies, rest, moment, path, False)

    def _cases(self, node: Match, moment: Moment, path: tuple[CSTNode, ...]) -> None:
        tests: list[_Test | None] = []
        bodies: list[CSTNode] = []
        for case in node.cases:
            texts = _texts(case)
            if texts is not None:
                tests.append(_Test(node.subject, texts, case.guard is None))
                bodies += _block(case.body)
            elif isinstance(case.pattern, MatchAs) and case.pattern.pattern is None and case.guard is None:
                values = _values(_block(case.body))
                if values is not None:
                    self._plan("match", tests, bodies, values[1], moment, path, values[2])
                return

    # Tables

    def _looked_up(self, node: Call, moment: Moment, path: tuple[CSTNode, ...]) -> None:
        """``ACTS.get(name, nn.GELU)``."""
        key, default = node.args[0].value, node.args[1].value
        if not isinstance(node.func, Attribute) or any(arg.keyword is not None or arg.star for arg in node.args):
            return
        held = self._table(node.func.value, moment)
        if literal(key)[0] or (held is None and not _says_activation(node.func.value)):
            return
        names = _keys(held)
        test = _Test(key, names, held is not None)
        evident = _says_activation(node.func.value)
        self._plan("table", [test], [held] if held is not None else [], default, moment, path, False, evident)

    def _table(self, node: CSTNode, moment: Moment) -> Dict | None:
        if isinstance(node, Name):
            found = self._names.constant(node, moment)
        elif isinstance(node, Attribute):
            bound = self._names.attribute(node, moment)
            found = bound[0] if bound is not None else None
        else:
            found = node
        return found if isinstance(found, Dict) else None

    def _attribute(self, node: Call, moment: Moment, path: tuple[CSTNode, ...]) -> None:
        """``getattr(nn, name, nn.GELU)``."""
        owner, key, default = (arg.value for arg in node.args)
        if not literal(key)[0] and self._names.resolve(owner, moment):
            self._plan("attribute", [_Test(key, (), False)], [], default, moment, path, False)

    def _attempt(self, node: Try, moment: Moment, path: tuple[CSTNode, ...]) -> None:
        """``try: act = ACTS[name]``, and ``except KeyError: act = nn.GELU``."""
        tried = _values(_block(node.body))
        if tried is None or len(node.handlers) != 1 or node.orelse is not None:
            return
        handler = node.handlers[0]
        if handler.type is not None and last_name(handler.type) not in _CAUGHT:
            return
        given = _values(_block(handler.body))
        value = tried[1].func if isinstance(tried[1], Call) and isinstance(tried[1].func, Subscript) else tried[1]
        if given is None or given[0] != tried[0]:
            return
        if isinstance(value, Subscript) and len(value.slice) == 1:
            key = getattr(value.slice[0].slice, "value", None)
            table = last_name(value.value)
            held = self._table(value.value, moment) if "act" in table.lower() or table.isupper() else None
            evident = _says_activation(value.value)
        elif isinstance(value, Call) and last_name(value.func) == "getattr" and len(value.args) == 2:
            key, held, evident = value.args[1].value, None, False
        else:
            return
        if key is not None and not literal(key)[0]:
            test = _Test(key, _keys(held), held is not None)
            bodies: list[CSTNode] = [held] if held is not None else []
            self._plan("try", [test], bodies, given[1], moment, path, given[2], evident)

    # Plans

    def _plan(
        self,
        form: str,
        tests: Sequence[_Test | None],
        bodies: Sequence[CSTNode],
        value: CSTNode,
        moment: Moment,
        path: tuple[CSTNode, ...],
        warns: bool,
        evident: bool = False,
    ) -> None:
        """A fallback, if all tests are for the name of one activation and a GELU is among what they choose from."""
        asked = [test for test in tests if test is not None]
        if len(asked) < len(tests) or not asked or len({subject_of(test.subject) for test in asked}) > 1:
            return
        names = [name for test in asked for name in test.names]
        if form in ("branch", "ternary", "match") and not any(_plain(name) in _KNOWN - _GATED for name in names):
            return
        around = next((a.name.value for a in reversed(path) if isinstance(a, (FunctionDef, ClassDef))), "")
        several = len({_plain(name) for name in names} & _KNOWN) > 1
        sure = evident or several or _says_activation(asked[0].subject)
        if not sure and not names_activation(asked[0].subject, around, len(names) > 1):
            return
        gelus = [site for body in bodies for site in self._choices.within(body)]
        sites = self._choices.stands_for(value, moment)
        flavour = "" if sites else self._other(value, moment, bodies)
        if sites or (flavour and (gelus or flavour in GELUS)):
            self._plans.append(
                _Plan(form, tuple(asked), tuple(gelus), value, moment, path, warns, flavour, tuple(sites))
            )

    def _other(self, value: CSTNode, moment: Moment, bodies: Sequence[CSTNode]) -> str:
        """The activation that an expression is which is no site: silu, relu, …, identity, "" where it is not known."""
        if isinstance(value, Lambda):
            params = value.params.params
            return "identity" if len(params) == 1 and last_name(value.body) == params[0].name.value else ""
        given = value.func if isinstance(value, Call) else value
        names = self._names.resolve(given, moment)
        if names and names <= _IDENTITY:
            return "identity"
        rows = {others().get(name) for name in names}
        row = find(names) or (rows.pop() if len(rows) == 1 else None)
        if row is not None:
            return row.flavour
        if isinstance(value, Name) and any(_applied_to(body, value.value) for body in bodies):
            return "identity"
        return ""

    def fallbacks(self, draft: Draft, sites: Sequence[tuple[CSTNode, Site]]) -> Iterator[Fallback]:
        """The fallbacks, in the order of the file. ``sites`` are those of calls and formulas, each with its node."""
        known: dict[int, list[Site]] = {}
        for node, site in sites:
            known.setdefault(id(node), []).append(site)
        for plan in self._plans:
            flavour = plan.flavour or _flavour(plan.sites, known)
            gelus = {site.flavour for node in plan.gelus for site in known.get(id(node), ())}
            if not flavour:
                continue
            names = tuple(dict.fromkeys(name for test in plan.tests for name in test.names))
            yield Fallback(
                plan.form, names, all(test.whole for test in plan.tests), flavour,
                tuple(sorted(gelus)), self._told(plan, flavour, draft.whole), draft.text(plan.value),
                draft.span(plan.value), symbol(plan.path), draft.statement(plan.value),
            )  # fmt: skip

    def _told(self, plan: _Plan, flavour: str, whole: str) -> str:
        """Who says what becomes of other names."""
        if plan.warns:
            return "warning"
        subject = plan.tests[0].subject
        while isinstance(subject, Call) and isinstance(subject.func, Attribute) and not subject.args:
            subject = subject.func.value
        last = re.escape(last_name(subject) or text_of(subject))
        if last:
            given = rf"\b{last}[\"']?\s*(?::[^=\n]*?)?(?:=|:)\s*(None\b|[\"'][^\"'\n]*[\"'])"
            for default in re.findall(given, whole):
                if _means(default.strip("\"'").lower(), flavour):
                    return "default"
            checks = rf"assert\b[^\n]*\b{last}\b[^\n]*\bin\b|\b{last}\b[^\n]*\bnot\s+in\b[^\n]*:\s*raise\b"
            checks += rf"|\b{last}\s*:[^\n=]*\bLiteral\[|\b{last.replace('_', '[-_]')}\b[^)]*\bchoices\s*="
            if re.search(checks, whole):
                return "checked"
        for around in plan.path:
            said = around.get_docstring() if isinstance(around, (FunctionDef, ClassDef)) else None
            if said and (_TELLS.search(said) or (flavour == "identity" and _NOTHING.search(said))):
                return "docstring"
        return ""


def _flavour(nodes: Sequence[CSTNode], known: Mapping[int, list[Site]]) -> str:
    found = {site.flavour for node in nodes for site in known.get(id(node), ())}
    return found.pop() if len(found) == 1 else ""


def _means(name: str, flavour: str) -> bool:
    """Whether the name of a default means what the fallback computes."""
    if name in ("none", ""):
        return True
    if flavour == "identity":
        return name in ("identity", "linear", "no")
    if flavour in GELUS:
        return NAMES.get(name, flavour if "gelu" in name else "") == flavour
    return name in (("silu", "swish") if flavour == "silu" else (flavour.removeprefix("plain_"),))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _says_activation(node: CSTNode) -> bool:
    """Whether what an expression is called has to do with activations."""
    said = {word for part in subject_of(node).split() for word in words(part)}
    return not said.isdisjoint(
        ("act", "acts", "activ", "activation", "activations", "nonlinearity", "nonlin", "act2fn")
    )


def _block(node: CSTNode | None) -> Sequence[CSTNode]:
    """The statements of a block."""
    return node.body if isinstance(node, (IndentedBlock, Module)) else (node,) if node is not None else ()


def _ends(body: Sequence[CSTNode]) -> bool:
    """Whether a block leaves its function."""
    last = body[-1] if body else None
    small = last.body[-1] if isinstance(last, SimpleStatementLine) and last.body else None
    return isinstance(small, (Return, Raise))


def _slot(body: Sequence[CSTNode]) -> str:
    """Where a block puts its value: "return", a name, "raise", or "" where it does nothing."""
    last = body[-1] if body else None
    small = last.body[-1] if isinstance(last, SimpleStatementLine) and last.body else None
    if isinstance(small, Return):
        return "return"
    if isinstance(small, Raise):
        return "raise"
    if isinstance(small, (Assign, AnnAssign)):
        return dotted(small.targets[0].target if isinstance(small, Assign) else small.target) or "?"
    return "" if small is not None and type(small).__name__ == "Pass" else "?"


def _values(body: Sequence[CSTNode]) -> tuple[str, CSTNode, bool] | None:
    """Where a block puts the one value that it gives, that value, and whether it warns; None for any other block."""
    found: list[tuple[str, CSTNode]] = []
    warns = False
    for statement in body:
        if not isinstance(statement, SimpleStatementLine):
            return None
        for small in statement.body:
            if isinstance(small, Expr) and isinstance(small.value, Call):
                if last_name(small.value.func) not in _WARNS:
                    return None
                warns = True
            elif isinstance(small, Return) and small.value is not None:
                found.append(("return", small.value))
            elif isinstance(small, Assign) and len(small.targets) == 1:
                found.append((dotted(small.targets[0].target) or "?", small.value))
            elif isinstance(small, AnnAssign) and small.value is not None:
                found.append((dotted(small.target) or "?", small.value))
            elif not isinstance(small, Expr):
                return None
        if found and found[-1][0] == "return":
            break
    return (*found[0], warns) if len(found) == 1 else None


def _test(node: CSTNode, names: Names, moment: Moment) -> _Test | None:
    """What a test asks of a name: for some names, or only whether it is a name at all; None for anything else."""
    if isinstance(node, BooleanOperation):
        left, right = _test(node.left, names, moment), _test(node.right, names, moment)
        if left is None or right is None or subject_of(left.subject) != subject_of(right.subject):
            return None
        return _Test(left.subject, (*left.names, *right.names), left.whole and right.whole)
    if isinstance(node, UnaryOperation):
        return _Test(node.expression, ()) if isinstance(node.expression, (Name, Attribute)) else None
    if isinstance(node, Call):
        last = last_name(node.func)
        if last in ("isinstance", "callable") and node.args:
            return _Test(node.args[0].value, ())
        if last in ("startswith", "endswith") and isinstance(node.func, Attribute) and node.args:
            text = text_of(node.args[0].value)
            return _Test(node.func.value, (text,), False) if text else None
        return None
    if not isinstance(node, Comparison) or len(node.comparisons) != 1:
        return None
    target = node.comparisons[0]
    left_side, right_side, operator = node.left, target.comparator, type(target.operator).__name__
    if operator == "Is" and last_name(right_side) == "None":
        return _Test(left_side, ())
    if operator == "Equal":
        for subject, value in ((left_side, right_side), (right_side, left_side)):
            known, said = literal(value)
            if known and (isinstance(said, str) or said is None):
                return _Test(subject, (said,) if said else ())
    if operator == "In":
        held = names.constant(right_side, moment) if isinstance(right_side, Name) else None
        listed = held if held is not None else right_side
        if isinstance(listed, (Tuple, List, Set)):
            texts = [text_of(element.value) for element in listed.elements if last_name(element.value) != "None"]
            return _Test(left_side, tuple(texts)) if all(texts) else None
        if isinstance(listed, Dict):
            return _Test(left_side, _keys(listed))
        if text_of(left_side):
            return _Test(right_side, (text_of(left_side),), False)
    return None


def _texts(case: MatchCase) -> tuple[str, ...] | None:
    """The strings that a case matches, None where it is no list of such."""
    pattern = case.pattern
    patterns = [part.pattern for part in pattern.patterns] if isinstance(pattern, MatchOr) else [pattern]
    if not all(isinstance(part, MatchValue) for part in patterns):
        return None
    return tuple(text_of(part.value) for part in patterns if isinstance(part, MatchValue))


def _keys(held: Dict | None) -> tuple[str, ...]:
    elements = held.elements if held is not None else ()
    return tuple(text_of(e.key) for e in elements if isinstance(e, DictElement) and text_of(e.key))


def _applied_to(body: CSTNode, name: str) -> bool:
    """Whether a block calls something with a name, and no more: ``return F.gelu(x)``."""
    values = _values([body]) if isinstance(body, SimpleStatementLine) else ("", body, False)
    value = values[1] if values is not None else None
    return isinstance(value, Call) and bool(value.args) and last_name(value.args[0].value) == name
