"""Recognises GELUs that are typed by hand: formulas are evaluated, and their values say which function they are.

What a function or lambda returns, and what a kernel stores, is judged by what it claims to be; other products are
looked at for GELUs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gelu_lint.claims import says_gelu
from gelu_lint.facts.replacements import BUILT_INS
from gelu_lint.facts.table import callables
from gelu_lint.model import Formula, Site, Span
from gelu_lint.numerics.evaluate import columns, steps
from gelu_lint.numerics.flavours import FLAVOURS, difference
from gelu_lint.numerics.identify import identify, settle
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import UNKNOWN, Identity
from gelu_lint.numerics.near import GATES
from gelu_lint.sites.claimed import Claimed, claimed, function_around
from gelu_lint.sites.context import Around, Guards, Role, role, symbol, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.lowering import Lowering, Reading, atoms, factors, operations, over, product
from gelu_lint.tree.names import Names, last_name, literal
from gelu_lint.tree.nodes import (
    Assign,
    Attribute,
    AugAssign,
    BaseExpression,
    BinaryOperation,
    Call,
    CSTNode,
    FunctionDef,
    IndentedBlock,
    Lambda,
    Name,
    Return,
    SimpleStatementLine,
    Subscript,
)
from gelu_lint.tree.nodes import Expr as Statement
from gelu_lint.tree.walk import Moment, Walk

_PRODUCTS = ("Multiply", "Divide")
_CALLS = ("mul", "mul_", "multiply", "mul_rn")
_GELUS = ("erf", "tanh", "quick", "gelu_t", "clipped", "squared")
GELU_FLAVOURS = ("erf", "tanh", "quick")
_MOST_KEPT = 4
_NUDGE = 1.3  # a parameter that is k or τ still is one when it is changed by this
_GELU_LIKE = (1.55, 1.9)  # slopes of σ(kx) that somebody fitted to Φ: √(8/π), 1.702, 1.7729
_RANDOM = re.compile(r"rand|bernoulli|mask|dropout", re.IGNORECASE)
_PARAMETRIC = ("quick", "silu", "sigmoid_k", "gelu_t", "relu")
#: Parameters that choose between flavours.
_CHOICE = re.compile(r"approx|exact|tanh|erf|fast|variant|mode|kind|method|version|algorithm", re.IGNORECASE)
_KERNELS = ("triton.", "jax.experimental.pallas.", "numba.cuda", "taichi.", "warp.")
_BACKENDS = frozenset(("numpy", "scipy", "math", ""))
_REPLACED = ("erf", "tanh", "quick")


class _Sink(NamedTuple):
    """One formula: what it computes, where its final product stands, and how it was read."""

    node: CSTNode
    moment: Moment
    identity: Identity
    expr: Expr
    atom: str
    reading: Reading
    claims: Claimed
    part: Role
    around: Around
    returned: bool  # it is all that the function around gives
    whole: bool  # the formula is the whole expression, not one factor of it
    several: bool
    parametric: bool
    function: FunctionDef | Lambda | None


class Formulas:
    """A visitor that looks at what functions give and at the outermost products."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._guards = Guards()
        self._found: list[_Sink] = []
        self._products: list[tuple[int, _Sink]] = []
        self._read: set[int] = set()  # nodes that a claimed formula is made of

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        above = self._walk.path[-1] if self._walk.path else None
        inside = isinstance(above, BinaryOperation) and type(above.operator).__name__ in _PRODUCTS
        if type(node.operator).__name__ in _PRODUCTS and not inside:
            self._product(node)

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if last in _CALLS:
            self._product(node)
        elif last == "store" and len(node.args) > 1:
            self._sink(node.args[1].value)

    def visit_Return(self, node: Return) -> None:
        if node.value is not None:
            self._sink(node.value)

    def visit_Lambda(self, node: Lambda) -> None:
        # Its body is visited in a scope of its own, which begins only below this node.
        scope = self._walk.scopes.get(id(node))
        if scope is not None:
            moment = Moment(scope, 1 << 60, ())
            self._sink(node.body, moment, (*self._walk.path, node))

    def _sink(self, value: BaseExpression, moment: Moment | None = None, path: tuple[CSTNode, ...] = ()) -> None:
        """What a function gives, if it is given out as a GELU."""
        path = path or (*self._walk.path,)
        part = Role("return", role(path[-1], path[:-1]).key) if isinstance(path[-1], Lambda) else Role("return")
        claims = claimed(path, part)
        if claims.allowed:
            function = function_around(path)
            around = Around(symbol(path), self._guards.of(path, value), path, moment or self._walk.moment)
            self._found += self._look(value, claims, part, around, identify, function, returned=True)

    def _product(self, node: BinaryOperation | Call) -> None:
        around = self._guards.around(self._walk, node)
        part = role(node, around.path)
        claims = claimed(around.path, part) if part.form != "return" else Claimed()
        judge = identify if claims.allowed or self._alone(node) else settle
        for sink in self._look(node, claims, part, around, judge, function_around(around.path), returned=False):
            near = sink.identity.flavour == "near" and not claims.allowed
            if not near or (sink.identity.nearest == "tanh" and sink.identity.right is not None):
                self._products.append((id(node), sink))

    def _alone(self, node: CSTNode) -> bool:
        """Whether a product is no part of a sum: a slip in it is then a slip in the whole."""
        return not any(isinstance(a, BinaryOperation) for a in self._walk.path[-2:])

    def _look(
        self,
        node: BaseExpression,
        claims: Claimed,
        part: Role,
        around: Around,
        judge: Callable[[Expr], Identity],
        function: FunctionDef | Lambda | None,
        *,
        returned: bool,
    ) -> list[_Sink]:
        """The formulas that ``node`` may be, one for each function that the branches make of it."""
        found: dict[tuple[str, str], _Sink] = {}
        moment = around.moment
        kept: list[frozenset[str]] = [frozenset()]
        # With a name for the unknown, where following it to its value hides the formula: x = x / 2; x * Φ(x).
        kept += [frozenset({name}) for name in _names_in(node)]
        plans: list[tuple[frozenset[str], float | None]] = [(names, None) for names in kept]
        plans.append((frozenset(), 1.0))
        for names, defaults in plans:
            ways: set[Expr] = set()
            gates = False
            for reading in self._lowering.readings(node, moment, names, defaults):
                gates = gates or bool(operations(reading.expr) & GATES)
                if not too_big(reading.expr):
                    ways.add(reading.expr)
                known = _gelu(reading.expr, judge, bool(claims.allowed))
                if known is None:
                    continue
                identity, expr, atom, whole = known
                parametric = False
                if defaults is not None:
                    parametric = self._is_parameter(node, moment)
                judged = _under(identity, claims, parametric)
                if judged is None:
                    continue
                identity = judged if whole else _masked(judged, reading, atom)
                self._read |= reading.nodes if claims.allowed else frozenset()
                final, at = self._final(node, moment, reading)
                if not whole and isinstance(final, BinaryOperation):
                    inner = self._factor(final, at, identity, names)
                    if inner is not None:
                        final, reading, expr, atom, whole = *inner, True
                if any(says_gelu(name) for name in reading.helpers) or self._elsewhere(final, at, identity):
                    continue  # it stands in a function that is called here, and is judged there
                key = (identity.flavour, identity.why)
                found.setdefault(key, _Sink(
                    final, at, identity, expr, atom, reading, claims, part, around, returned, whole,
                    False, parametric, function,
                ))  # fmt: skip
            if found:
                several = len(ways) > 1 or _chooses(function)
                return [sink._replace(several=several) for sink in found.values()]
            if not names and not gates and not claims.allowed:
                return []  # with less followed there is none either
        return []

    def _factor(
        self, node: BinaryOperation, moment: Moment, identity: Identity, kept: frozenset[str]
    ) -> tuple[BinaryOperation, Reading, Expr, str] | None:
        """The factor of a product such as ``gelu(x) * gate`` that is all of the GELU, with its formula."""
        for part in (node.left, node.right):
            if not isinstance(part, BinaryOperation):
                continue
            for reading in self._lowering.readings(part, moment, kept):
                unknowns = atoms(reading.expr)
                formula = over(reading.expr, min(unknowns)) if len(unknowns) == 1 else None
                if formula is not None and settle(formula).flavour == identity.flavour:
                    return part, reading, formula, min(unknowns)
                break
            inner = self._factor(part, moment, identity, kept)
            if inner is not None:
                return inner
        return None

    def _is_parameter(self, node: BaseExpression, moment: Moment) -> bool:
        """Whether a default is the k or τ of a family: changed, the formula stays in the family."""
        for reading in self._lowering.readings(node, moment, defaults=_NUDGE):
            part = _gelu(reading.expr, settle, True)
            if part is not None and part[0].flavour in _PARAMETRIC:
                return True
        return False

    def _final(self, node: BaseExpression, moment: Moment, reading: Reading) -> tuple[CSTNode, Moment]:
        """Where the final product stands: a name is followed to what it is bound to."""
        at: CSTNode = node
        for _ in range(10):
            if not isinstance(at, Name):
                break
            held = [b for b in self._names.reaching(at, moment) if b in reading.local]
            if not held or held[0].node is None:
                break
            at, moment = held[0].node, held[0].moment
        return at, moment

    def _elsewhere(self, node: CSTNode, moment: Moment, identity: Identity) -> bool:
        """Whether a formula, right in itself, stands in a function that is called here."""
        if not isinstance(node, Call) or last_name(node.func) in _CALLS:
            return False
        if isinstance(node.func, Attribute) and last_name(node.func.value) not in ("self", "cls"):
            return False
        if not isinstance(node.func, (Name, Attribute)) or self._names.resolve(node.func, moment):
            return False
        return identity.flavour in ("erf", "tanh")

    # Facts

    def _settled(self) -> list[_Sink]:
        """The formulas once all has been seen: a product inside one that is claimed is told with it."""
        loose = [sink for node, sink in self._products if node not in self._read]
        seen: set[int] = set()
        kept = []
        for sink in (*self._found, *loose):
            key = id(sink.node)
            if key not in seen or sink.several:
                kept.append(sink)
            seen.add(key)
        return kept

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` needs the places of."""
        self._all = self._settled()
        for sink in self._all:
            yield sink.node
            yield from _parentheses(sink.node)
            if sink.atom in sink.reading.atoms:
                yield sink.reading.atoms[sink.atom]
            yield from sink.reading.literals
            body = _body(sink.function)
            if sink.returned and body is not None:
                yield from (body[0], body[-1])

    def sites(self, draft: Draft, contexts: frozenset[str]) -> Iterator[Site]:
        """The sites, in source order. ``contexts`` are the half-precision contexts of the file."""
        tops = {name.split(".")[0] for name in self._names.imported()}
        for sink in self._all:
            around, identity, part = sink.around, sink.identity, sink.part
            span, text = draft.span(sink.node), draft.text(sink.node)
            packages = sink.reading.packages
            framework = _framework(packages, tops)
            given = "dynamic" if sink.parametric else "fixed"
            yield Site(
                "formula", "formula", framework, "", text, identity.flavour, given, None, span, span, (), None,
                part.key, part.consumer, part.form, tested(around.path, sink.node), around.symbol, around.guard,
                draft.statement(sink.node), draft.quote, identity.error, _rounded(identity.parameter),
                sink.claims.names, tuple(sorted(sink.claims.allowed)), sink.claims.told,
                self._formula(sink, framework, draft, contexts),
            )  # fmt: skip

    def _formula(self, sink: _Sink, framework: str, draft: Draft, contexts: frozenset[str]) -> Formula:
        identity = sink.identity
        atom, rewrite = self._rewrite(sink, draft)
        wrong = _misspelled(identity, sink.reading, draft)
        wanted = identity.flavour in (*FLAVOURS, "near")
        return Formula(
            identity.nearest,
            identity.why,
            identity.right,
            wrong,
            identity.at,
            sink.several,
            atom,
            deltas(sink.expr) if wanted and (rewrite is not None or wrong is not None) else (),
            rewrite,
            tuple(dict.fromkeys(sink.reading.casts)),
            self._kernel(sink),
            self._names.is_patched(frozenset(_built_ins(framework))),
            sink.claims.deliberate,
            _hazards(sink.expr, identity, framework, contexts) if wanted else (),
        )

    def _kernel(self, sink: _Sink) -> bool:
        for node in sink.around.path:
            if isinstance(node, FunctionDef):
                for decorator in node.decorators:
                    made = decorator.decorator
                    names = self._names.resolve(made.func if isinstance(made, Call) else made, sink.around.moment)
                    if any(name.startswith(_KERNELS) for name in names):
                        return True
        return bool(sink.reading.packages & {"triton"})

    def _rewrite(self, sink: _Sink, draft: Draft) -> tuple[str, tuple[Span, str] | None]:
        """What a built-in can replace, and the source of its argument."""
        atom = sink.reading.atoms.get(sink.atom)
        if atom is None or not sink.whole or sink.parametric or sink.several or not _plain(atom):
            return "", None
        if sink.reading.casts:
            return "", None
        text = draft.text(atom)
        local = {id(binding.node) for binding in sink.reading.local}
        if isinstance(sink.node, BaseExpression) and not isinstance(sink.node, AugAssign):
            at_hand = self._lowering.atom(atom, sink.moment) == sink.atom
            if at_hand and not self._temporaries(sink.node, sink.moment, local):
                start, end = _brackets(sink.node, draft)
                if "#" in draft.between(start, end):
                    return "", None
                return text, (draft.stretch(start, end), "")
        body = _body(sink.function)
        if not sink.returned or body is None or not isinstance(atom, Name):
            return "", None
        if not self._only_this(body, sink, local):
            return "", None
        start, end = draft.start(body[0]), draft.end(body[-1])
        if "#" in draft.between(start, end):
            return "", None
        return text, (draft.stretch(start, end), "return ")

    def _temporaries(self, node: CSTNode, moment: Moment, local: set[int]) -> bool:
        """Whether an expression uses names that only the formula binds: replacing it would leave these idle."""
        waiting = [node]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Name) and any(id(b.node) in local for b in self._names.reaching(item, moment)):
                return True
            waiting.extend(item.children)
        return False

    def _only_this(self, body: Sequence[CSTNode], sink: _Sink, local: set[int]) -> bool:
        """Whether the statements of a body do nothing but compute the formula, of a parameter as it came in."""
        *steps, last = body
        if not isinstance(last, Return):
            return False
        for step in steps:
            if isinstance(step, Assign):
                plain = len(step.targets) == 1 and isinstance(step.targets[0].target, Name)
                if not plain or id(step.value) not in sink.reading.nodes:
                    return False
            elif isinstance(step, AugAssign):
                if not isinstance(step.target, Name) or id(step) not in sink.reading.nodes:
                    return False
            elif not (isinstance(step, Statement) and id(step.value) in local):
                return False
        atom = sink.reading.atoms[sink.atom]
        scope = self._names.scopes.get(id(sink.function))
        if scope is None or not isinstance(atom, Name):
            return False
        given = [b for b in scope.bindings.get(atom.value, ()) if b.kind == "parameter"]
        return len(given) == 1 and sink.atom == self._lowering.atom(atom, given[0].moment._replace(
            order=given[0].moment.order + 1))  # fmt: skip


def _gelu(expr: Expr, judge: Callable[[Expr], Identity], claimed_: bool) -> tuple[Identity, Expr, str, bool] | None:
    """What a formula computes of one of its atoms: its identity, itself over x, the atom, whether it is all of it.

    A product such as ``gelu(x) * gate`` holds the GELU of x.
    """
    if not operations(expr) & GATES and not claimed_:
        return None
    unknowns = sorted(atoms(expr))
    if len(unknowns) == 1:
        formula = over(expr, unknowns[0])
        found = judge(formula)
        return (found, formula, unknowns[0], True) if _known(found, claimed_) else None
    if not unknowns:
        return None
    parts = factors(expr)
    for atom in unknowns[:_MOST_KEPT]:
        own = product([part for part in parts if atoms(part) <= {atom}])
        if operations(own) & GATES and atoms(own) == {atom}:
            formula = over(own, atom)
            found = judge(formula)
            # What else is multiplied may hold a factor that seems to be missing.
            sure = found.flavour != "near" or found.right is not None
            if _known(found, claimed_) and found.flavour != "gate" and sure:
                return found, formula, atom, False
    return None


def _known(identity: Identity, claimed_: bool) -> bool:
    if claimed_:
        return identity is not UNKNOWN and identity.flavour != "unknown"
    if identity.flavour == "sigmoid_k":
        return _GELU_LIKE[0] <= (identity.parameter or 0) <= _GELU_LIKE[1]
    return identity.flavour in (*_GELUS, "near")


def _masked(identity: Identity, reading: Reading, atom: str) -> Identity:
    """A GELU that is multiplied by a random mask is a sparse one."""
    if identity.flavour in GELU_FLAVOURS and any(_RANDOM.search(name) for name in reading.atoms if name != atom):
        return identity._replace(flavour="sparse", nearest=identity.flavour)
    return identity


def _under(identity: Identity, claims: Claimed, parametric: bool) -> Identity | None:
    """The identity of a formula under its claims: what is near, and what is a family of its own."""
    if parametric:
        return identity if identity.flavour in (*_PARAMETRIC, "gelu_t") else None
    if not claims.allowed:
        return identity if identity.flavour in (*_GELUS, "near", "sigmoid_k") else None
    if identity.flavour == "sigmoid_k":
        return identity._replace(flavour="near")
    if identity.flavour == "gate":
        if claims.gate or not identity.nearest:
            return None
        return identity._replace(flavour="near", why="factor x missing", right=None)
    return identity


@lru_cache(maxsize=512)
def deltas(expr: Expr) -> tuple[tuple[str, float | None], ...]:
    """What changes if a flavour takes the place of a formula: max |new − old| over all real x, None without bound."""
    if too_big(expr):
        return ()
    program = steps(expr)
    return tuple(
        (name, difference(lambda x: columns(program, (x,))[-1][0], FLAVOURS[name].value).size) for name in _REPLACED
    )


def _hazards(expr: Expr, identity: Identity, framework: str, contexts: frozenset[str]) -> tuple[tuple[str, float], ...]:
    """Where the arithmetic of a formula fails; half precision only where the file has a context for it."""
    from gelu_lint.numerics.rounded import forward_nan, gradient_nan, tail_lost

    found: list[tuple[str, float | None]] = []
    exponential = {"exp", "exp2", "expm1"} & operations(expr)
    if exponential:
        found += [("float32", forward_nan(expr, "float32")), ("float64", forward_nan(expr, "float64"))]
    if contexts and framework not in _BACKENDS:
        found += [(kind, gradient_nan(expr, kind)) for kind in ("half", "cuda_autocast") if kind in contexts]
        flavour = FLAVOURS.get(identity.flavour)
        if flavour is not None:
            found.append(("tail", tail_lost(expr, "float16", flavour.value)))
    return tuple((kind, value) for kind, value in found if value is not None)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def _misspelled(identity: Identity, reading: Reading, draft: Draft) -> Span | None:
    """Where the constant that is off stands, if it is a number that is written in one place."""
    if identity.right is None:
        return None
    text = identity.why.split(" for ")[0].replace("−", "-").removeprefix("x**")
    nodes = {id(node): node for node in reading.literals}
    same = [node for node in nodes.values() if f"{literal(node)[1]:.6g}" == text.lstrip("-")]
    return draft.span(same[0]) if len(same) == 1 else None


def _framework(packages: frozenset[str], imported: set[str]) -> str:
    """The package whose built-in could take the place of a formula; "" where only operators and methods are used."""
    strong = sorted(packages - _BACKENDS)
    if len(strong) == 1:
        return strong[0]
    if not strong and not packages & {"numpy", "scipy"}:
        known = {package for package, _ in BUILT_INS} & imported
        return "torch" if "torch" in known else known.pop() if len(known) == 1 else ""
    return min(packages & {"numpy", "scipy"}, default="") if not strong else ""


def _built_ins(framework: str) -> set[str]:
    rows = {callables()[name] for (package, _), name in BUILT_INS.items() if package == framework}
    return {name for row in rows for name in (row.name, *row.aliases)}


def _parentheses(node: CSTNode) -> tuple[CSTNode, ...]:
    """The outermost parentheses around an expression that are its own."""
    left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
    return (left[0], right[-1]) if left and right else ()


def _brackets(node: CSTNode, draft: Draft) -> tuple[int, int]:
    """Where an expression starts and ends, with its parentheses where a call needs none."""
    around = _parentheses(node)
    if not around:
        return draft.start(node), draft.end(node)
    start, end = draft.start(around[0]), draft.end(around[1])
    free = draft.between(start - 1, start) in (" ", "(", "[", "{", ",", "=") if start else True
    return (start, end) if free else (draft.start(node), draft.end(node))


def _body(function: FunctionDef | Lambda | None) -> list[CSTNode] | None:
    """The small statements of a function after its docstring, None where there are others."""
    if not isinstance(function, FunctionDef) or not isinstance(function.body, IndentedBlock):
        return None
    found: list[CSTNode] = []
    for line in function.body.body:
        if not isinstance(line, SimpleStatementLine):
            return None
        found += line.body
    if found and isinstance(found[0], Statement) and type(found[0].value).__name__.endswith("String"):
        found = found[1:]
    return found or None


def _chooses(function: FunctionDef | Lambda | None) -> bool:
    """Whether a parameter chooses between flavours."""
    if function is None:
        return False
    params = function.params
    return any(_CHOICE.search(p.name.value) for p in (*params.posonly_params, *params.params, *params.kwonly_params))


def _plain(node: CSTNode) -> bool:
    """Whether an expression can be written again: names, attributes and indices, no calls."""
    if not isinstance(node, (Name, Attribute, Subscript)):
        return False
    waiting: list[CSTNode] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call):
            return False
        waiting.extend(item.children)
    return True


def _names_in(node: CSTNode) -> list[str]:
    """The first few names in an expression, in source order."""
    found: dict[str, None] = {}
    waiting = [node]
    while waiting and len(found) < _MOST_KEPT:
        item = waiting.pop()
        if isinstance(item, Name):
            found[item.value] = None
        waiting.extend(reversed(item.children))
    return list(found)
