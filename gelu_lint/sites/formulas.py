"""Recognises GELUs that are typed by hand: formulas are evaluated, and their values say which function they are.

What a function or lambda returns, and what a kernel stores, is judged by what it claims to be; other products are
looked at for GELUs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gelu_lint.claims import BACKWARD, backward, says_gelu, words
from gelu_lint.claims import says_other as claim_of_other
from gelu_lint.model import Formula, Site
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.numerics.identify import identify, settle
from gelu_lint.numerics.ir import Expr, too_big
from gelu_lint.numerics.match import Identity
from gelu_lint.numerics.near import GATES
from gelu_lint.patterns import lazy
from gelu_lint.sites.claimed import Claimed, claimed, function_around, owner_of
from gelu_lint.sites.context import Around, Guards, Role, quote, role, symbol, tested
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.measures import built_ins, deltas, framework_of, hazards, misspelled, rounded
from gelu_lint.sites.rewrites import Rewrites
from gelu_lint.sites.sinks import PARAMETRIC, Sink, gelu, masked, under
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.lowering import Lowering, Reading
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Attribute,
    BaseExpression,
    BinaryOperation,
    Call,
    CSTNode,
    FormattedString,
    FunctionDef,
    If,
    IndentedBlock,
    Lambda,
    Name,
    Return,
)
from gelu_lint.tree.terms import atoms, operations, over
from gelu_lint.tree.walk import Moment, Walk

_PRODUCTS = ("Multiply", "Divide")
_CALLS = ("mul", "mul_", "multiply", "mul_rn")
_MOST_KEPT = 4
_SEARCHES = 100  # for near misses in one file; what is beyond is only named if it is a flavour
_MEASURED = 60  # formulas of one file whose distance from each flavour and hazards are worked out
_NUDGE = 1.3  # a parameter that is k or τ still is one when it is changed by this
#: Words of parameters and tests that choose between flavours.
_CHOICE = frozenset(
    (
        *("approx", "approximate", "approximation", "exact", "tanh", "erf", "fast", "quick", "variant", "mode", "kind"),
        *("method", "version", "algorithm"),
    )
)
_FORWARD_WORDS = ("forward", "fwd", "impl")
#: TensorFlow 1, which has no GELU.
_TF1 = lazy(
    r"\btf\.(contrib|erf|variable_scope|get_variable|Session|placeholder|layers|app|flags|estimator)\b|"
    r"tensorflow\.contrib|compat\.v1|tensorflow\.compat"
)
_KERNELS = ("triton.", "jax.experimental.pallas.", "numba.cuda", "taichi.", "warp.")


class Formulas:
    """A visitor that looks at what functions give and at the outermost products."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._lowering = Lowering(names)
        self._rewrites = Rewrites(names, self._lowering)
        self._guards = Guards()
        self._searches = 0
        self._found: list[Sink] = []
        self._products: list[tuple[int, Sink]] = []
        self._read: set[int] = set()  # nodes that a claimed formula is made of

    def _identify(self, expr: Expr) -> Identity:
        """``identify``, for as many formulas as a file may sensibly have."""
        self._searches += 1
        return identify(expr) if self._searches <= _SEARCHES else settle(expr)

    def visit_BinaryOperation(self, node: BinaryOperation) -> None:
        above = self._walk.path[-1] if self._walk.path else None
        inside = isinstance(above, BinaryOperation) and type(above.operator).__name__ in _PRODUCTS
        if type(node.operator).__name__ in _PRODUCTS and not inside:
            self._product(node)

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if last in _CALLS and not self._in_chain():
            self._product(node)
        elif last == "store" and len(node.args) > 1:
            self._sink(node.args[1].value)

    def _in_chain(self) -> bool:
        """Whether a call is what a later product of the same chain is called on: ``x.mul(0.5).mul(y)``."""
        path = self._walk.path
        at = len(path) - 1
        while at > 0 and isinstance(path[at], Attribute) and isinstance(path[at - 1], Call):
            if last_name(path[at]) in _CALLS:
                return True
            at -= 2
        return False

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
            self._found += self._look(value, claims, part, around, self._identify, function, returned=True)

    def _product(self, node: BinaryOperation | Call) -> None:
        around = self._guards.around(self._walk, node)
        part = role(node, around.path)
        claims = claimed(around.path, part) if part.form != "return" else Claimed()
        judge = self._identify if claims.allowed or self._alone(node) else settle
        if not claims.allowed and self._with_density(node):
            return  # mu·Φ(mu) + φ(mu) is the mean of a rectified normal variable
        for sink in self._look(node, claims, part, around, judge, function_around(around.path), returned=False):
            near = sink.identity.flavour == "near" and not claims.allowed
            if not near or (sink.identity.nearest == "tanh" and sink.identity.right is not None):
                self._products.append((id(node), sink))

    def _alone(self, node: CSTNode) -> bool:
        """Whether a product is no part of a sum: a slip in it is then a slip in the whole."""
        return not any(isinstance(a, BinaryOperation) for a in self._walk.path[-2:])

    def _with_density(self, node: BaseExpression) -> bool:
        """Whether a density is added to a product."""
        above = [a for a in self._walk.path[-2:] if isinstance(a, BinaryOperation)]
        if not above or type(above[0].operator).__name__ not in ("Add", "Subtract"):
            return False
        rest = above[0].right if above[0].left is node else above[0].left
        for reading in self._lowering.readings(rest, self._walk.moment):
            return bool({"exp"} & operations(reading.expr)) or any("pdf" in name for name in atoms(reading.expr))
        return False

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
    ) -> list[Sink]:
        """The formulas that ``node`` may be, one for each function that the branches make of it."""
        found: dict[tuple[str, str], Sink] = {}
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
                known = gelu(reading.expr, judge, bool(claims.allowed))
                if known is None:
                    continue
                identity, expr, atom, whole = known
                parametric = False
                if defaults is not None:
                    parametric = self._is_parameter(node, moment)
                judged = under(identity, claims, parametric)
                if judged is None:
                    continue
                identity = judged if whole else masked(judged, reading, atom)
                self._read |= reading.nodes if returned else frozenset()
                final, at = self._final(node, moment, reading)
                if not whole and isinstance(final, BinaryOperation):
                    inner = self._factor(final, at, identity, names)
                    if inner is not None:
                        final, reading, expr, atom, whole = *inner, True
                if any(says_gelu(name) for name in reading.helpers) or self._elsewhere(final, at, identity):
                    continue  # it stands in a function that is called here, and is judged there
                key = (identity.flavour, identity.why)
                found.setdefault(key, Sink(
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
            part = gelu(reading.expr, settle, True)
            if part is not None and part[0].flavour in PARAMETRIC:
                return True
        return False

    def _final(self, node: BaseExpression, moment: Moment, reading: Reading) -> tuple[CSTNode, Moment]:
        """Where the final product stands: a name is followed to what it is bound to, a call to what it gives."""
        at: CSTNode = node
        for _ in range(10):
            if isinstance(at, Call):
                inner = self._lowering.helper(at, moment)
                if inner is None or claim_of_other(last_name(at.func)):
                    break
                at, moment = inner
                continue
            if not isinstance(at, Name):
                break
            bound = self._lowering.behind(at, moment, reading)
            if bound is None:
                break
            at, moment = bound
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

    def _settled(self) -> list[Sink]:
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

    def found(self) -> Iterator[tuple[CSTNode, tuple[CSTNode, ...]]]:
        """The nodes of ``sites``, in their order, each with its ancestors, once ``nodes`` has been asked."""
        return ((sink.node, sink.around.path) for sink in self._all)

    def ways(self) -> Iterator[tuple[CSTNode, str, frozenset[tuple[int, str]], tuple[CSTNode, ...]]]:
        """The formulas that branches make of one node: each with its flavour, the arms, and its ancestors."""
        counts: dict[int, int] = {}
        for sink in self._all:
            counts[id(sink.node)] = counts.get(id(sink.node), 0) + 1
        for sink in self._all:
            if counts[id(sink.node)] > 1:
                yield sink.node, sink.identity.flavour, sink.reading.arms, sink.around.path

    def over(self) -> Iterator[tuple[CSTNode, CSTNode, Moment, tuple[CSTNode, ...]]]:
        """The formulas of one unknown: each with that, its moment and its ancestors, once ``nodes`` has been asked."""
        for sink in self._all:
            atom = sink.reading.atoms.get(sink.atom)
            if atom is not None and sink.identity.flavour in FLAVOURS:
                yield sink.node, atom, sink.moment, sink.around.path

    def expressions(self) -> Iterator[Expr]:
        """The formulas of ``sites`` over x, in their order, once ``nodes`` has been asked."""
        return (sink.expr for sink in self._all)

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``sites`` needs the places of."""
        self._all = self._settled()
        for sink in self._all:
            yield sink.node
            yield from self._rewrites.nodes(sink)
            yield from sink.reading.literals

    def sites(self, draft: Draft, contexts: frozenset[str]) -> Iterator[Site]:
        """The sites, in source order. ``contexts`` are the half-precision contexts of the file."""
        self._pallas = any("pallas" in name for name in self._names.imported())
        tops = {name.split(".")[0] for name in self._names.imported()}
        self._measured = 0
        for sink in self._all:
            around, identity, part = sink.around, sink.identity, sink.part
            span, text = draft.span(sink.node), draft.text(sink.node)
            packages = sink.reading.packages
            framework = framework_of(packages, tops)
            given = "dynamic" if sink.parametric else "fixed"
            free = quote(around.path, draft.quote)
            formula = self._formula(sink, framework, draft, contexts)
            if not free or any(isinstance(a, FormattedString) for a in around.path):
                # Until Python 3.12 little may stand in an f-string.
                formula = formula._replace(rewrite=None, wrong=None)
            yield Site(
                "formula", "formula", framework, "", text, identity.flavour, given, None, span, span, (), None,
                part.key, part.consumer, part.form, tested(around.path, sink.node), around.symbol, around.guard,
                draft.statement(sink.node), draft.quote, identity.error, rounded(identity.parameter),
                sink.claims.names, tuple(sorted(sink.claims.allowed)), sink.claims.told,
                formula,
            )  # fmt: skip

    def _formula(self, sink: Sink, framework: str, draft: Draft, contexts: frozenset[str]) -> Formula:
        identity = sink.identity
        atom, rewrite = self._rewrites.of(sink, draft)
        wrong = misspelled(identity, sink.reading, draft)
        self._measured += 1
        wanted = identity.flavour in (*FLAVOURS, "near", "gelu_t") and self._measured <= _MEASURED
        if not wanted:
            rewrite = None
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
            self._tied(sink, framework, draft),
            sink.claims.deliberate,
            hazards(sink.expr, identity, framework, contexts) if wanted else (),
        )

    def _tied(self, sink: Sink, framework: str, draft: Draft) -> bool:
        owner = owner_of(sink.around.path)
        own = owner is not None and "backward" in self._names.scopes[id(owner)].bindings
        old = framework == "tensorflow" and _TF1.search(draft.whole) is not None
        function = sink.function
        paired = isinstance(function, FunctionDef) and self._paired(function)
        return own or paired or old or self._names.is_patched(frozenset(built_ins(framework)))

    def _paired(self, function: FunctionDef) -> bool:
        """Whether a function has a backward of its own beside it."""
        made = [last_name(getattr(d.decorator, "func", d.decorator)) for d in function.decorators]
        if any(name.startswith("custom_") for name in made):
            return True
        own = [word for word in words(function.name.value) if word not in _FORWARD_WORDS]
        others = [name for name in self._names.module_scope.bindings if backward(name)]
        return any([w for w in words(name) if w not in BACKWARD] == own for name in others)

    def _kernel(self, sink: Sink) -> bool:
        for node in sink.around.path:
            if isinstance(node, FunctionDef):
                for decorator in node.decorators:
                    made = decorator.decorator
                    names = self._names.resolve(made.func if isinstance(made, Call) else made, sink.around.moment)
                    if any(name.startswith(_KERNELS) for name in names):
                        return True
                params = [param.name.value for param in node.params.params]
                if any(name.endswith("_ref") for name in params) and self._pallas:
                    return True
        return bool(sink.reading.packages & {"triton"})


def _chooses(function: FunctionDef | Lambda | None) -> bool:
    """Whether a parameter, or a test in the body, chooses between flavours."""
    if function is None:
        return False
    params = function.params
    names = [p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params)]
    body = function.body.body if isinstance(function.body, IndentedBlock) else ()
    waiting: list[CSTNode] = [statement.test for statement in body if isinstance(statement, If)]
    while waiting and len(names) < 100:
        item = waiting.pop()
        names += [item.value] if isinstance(item, Name) else []
        waiting.extend(children(item))
    return any(not _CHOICE.isdisjoint(words(name)) for name in names)


def _names_in(node: CSTNode) -> list[str]:
    """The first few names in an expression, in source order."""
    found: dict[str, None] = {}
    waiting = [node]
    while waiting and len(found) < _MOST_KEPT:
        item = waiting.pop()
        if isinstance(item, Name):
            found[item.value] = None
        waiting.extend(reversed([*children(item)]))
    return list(found)
