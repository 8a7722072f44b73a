"""Recognises comparisons of a GELU with what should compute the same, up to a tolerance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gelu_lint.claims import PLAIN, claim, says_gelu, says_other
from gelu_lint.facts.comparing import COMPARES
from gelu_lint.facts.comparing import Compares as Row
from gelu_lint.facts.table import callables
from gelu_lint.half import COARSE
from gelu_lint.model import Comparison, Site, Span
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import Guards, symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Arg,
    Attribute,
    BaseExpression,
    BinaryOperation,
    Call,
    CSTNode,
    FunctionDef,
    If,
    List,
    Name,
    Raise,
    SimpleStatementLine,
    Subscript,
    Tuple,
    UnaryOperation,
)
from gelu_lint.tree.nodes import Comparison as Compared
from gelu_lint.tree.walk import Moment, Walk

#: Methods and functions that hand on the values of what they are called on, or given first.
_SAME = frozenset(
    (
        *("numpy", "detach", "cpu", "cuda", "float", "double", "to", "item", "tolist", "clone", "contiguous", "astype"),
        *("view", "reshape", "flatten", "ravel", "squeeze", "unsqueeze", "block_until_ready", "to_numpy", "asarray"),
        *("array", "convert_to_numpy", "convert_to_tensor", "device_get", "float32", "float64", "from_numpy", "eval"),
        *("as_tensor", "tensor", "stop_gradient", "abs", "absolute", "get"),
    )
)
#: Functions that make a function of the one that they are given first.
_WRAPS = frozenset(("jit", "compile", "script", "vmap", "pmap", "partial", "function", "nanobind", "vectorize"))
#: What makes values without computing any.
_MAKES = frozenset(
    (
        *("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "tensor", "array", "constant", "eye"),
        *("randn", "rand", "linspace", "arange", "randn_like", "rand_like", "empty", "normal", "uniform"),
    )
)
#: Words of names of what sums many products, in any order: its rounding may need the tolerance.
_SUMS = lazy(
    r"linear|matmul|(?<![a-z])(?:b|add|sp)?mm(?![a-z])|dot|einsum|conv|dense|norm|attention|attn|model|layer|mlp|ffn|"
    r"block|forward|proj|(?<![a-z])fc\d?(?![a-z])|gemm|geglu|glu|dropout|encoder|decoder|net(?![a-z])",
    re.IGNORECASE,
)
_LARGEST = ("max", "amax", "reduce_max", "nanmax")
_HANDS = ("abs", "absolute", "fabs", "item", "float", "numpy", "cpu", "detach", "tolist")
_BOUNDS = ("assertLess", "assertLessEqual")
_NEGATED = ("assertFalse", "assertNotAlmostEqual", "assertNotEqual", "assert_not_close", "assertNotAllClose")
_COARSE = lazy(COARSE, re.IGNORECASE)
#: A statement of the top level that begins here, and the name that it binds.
_BLOCK = lazy(r"^(?:@|(?:async\s+)?(?:def|class)\s+(\w+)|(\w+)\s*(?::[^=\n]*)?=(?!=))", re.MULTILINE)
_WORD = lazy(r"[^\W\d]\w*")
_DEEP = 8
_FRAMEWORKS = frozenset(("torch", "numpy", "jax", "tensorflow", "math", "paddle", "mlx", "cupy", "keras", "chex"))
_NUMBERS = 64


class _Found(NamedTuple):
    node: CSTNode
    row: Row | None
    operands: tuple[CSTNode, CSTNode]
    given: Mapping[str, CSTNode]
    function: FunctionDef
    moment: Moment
    symbol: str


class _Kind(NamedTuple):
    """Which GELU something is: the flavours that it may have, the framework that it is of ("" where its name alone says
    so), whether its flavour is spelled out, and its name with the settings that it is made with."""

    flavours: frozenset[str]
    framework: str
    explicit: bool
    made: tuple[str, ...]


class _Gelu(NamedTuple):
    """A GELU, and what it is taken of."""

    kind: _Kind
    of: CSTNode | None


class Compares:
    """A visitor that collects comparisons; ``comparisons`` tells those of GELUs."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._guards = Guards()
        self._found: list[_Found] = []
        self._says: dict[int, bool] = {}
        self._half: dict[int, bool] = {}  # by function whether it may compute in less than float32
        self._sites: Mapping[int, Site] = {}

    def visit_Call(self, node: Call) -> None:
        name = last_name(node.func)
        if name in _BOUNDS and len(node.args) > 1:
            self._bound(node, node.args[0].value, node.args[1].value)
            return
        row = COMPARES.get(name)
        if row is None or name == "approx" or any(arg.star for arg in node.args):
            return
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        operands = [arg.value for arg in node.args if arg.keyword is None]
        operands += [given[name] for name in row.named if name in given]
        shift = 0
        if name in ("allclose", "isclose") and self._is_method(node, len(operands)):
            assert isinstance(node.func, Attribute)
            operands, shift = [node.func.value, *operands], 1
        for keyword, position in (*row.absolute, *row.relative):
            at = position if position is None else position - shift
            plain = [arg for arg in node.args if arg.keyword is None]
            if at is not None and at < len(plain):
                given.setdefault(keyword, plain[at].value)
        loose = any(position is None for _, position in (*row.absolute, *row.relative))
        if len(operands) < 2 or (loose and sum(arg.keyword is None for arg in node.args) > 2):
            return  # a third argument may be either tolerance
        self._add(node, row, (operands[0], operands[1]), given)

    def visit_Comparison(self, node: Compared) -> None:
        if len(node.comparisons) != 1:
            return
        sign, right = type(node.comparisons[0].operator).__name__, node.comparisons[0].comparator
        if sign in ("LessThan", "LessThanEqual"):
            self._bound(node, node.left, right)
        elif sign in ("GreaterThan", "GreaterThanEqual"):
            self._bound(node, right, node.left)
        elif sign == "Equal":
            for call, other in ((right, node.left), (node.left, right)):
                if isinstance(call, Call) and last_name(call.func) == "approx" and call.args:
                    row = COMPARES["approx"]
                    given = {arg.keyword.value: arg.value for arg in call.args if isinstance(arg.keyword, Name)}
                    plain = [arg.value for arg in call.args if arg.keyword is None]
                    given |= {name: plain[at] for name, at in (*row.relative, *row.absolute) if at and at < len(plain)}
                    self._add(node, row, (other, call.args[0].value), given)

    def _is_method(self, node: Call, operands: int) -> bool:
        if not isinstance(node.func, Attribute) or operands > 2:
            return False
        base = self._names.resolve(node.func.value, self._walk.moment)
        return operands == 1 or (not base and last_name(node.func.value) not in ("torch", "np", "jnp", "mx", "math"))

    def _bound(self, node: CSTNode, size: CSTNode, limit: CSTNode) -> None:
        """``(a - b).abs().max() < limit``, or without max, in an assertion."""
        asserted = any(
            type(above).__name__ == "Assert" or (isinstance(above, Call) and last_name(above.func) == "assertTrue")
            for above in (*self._walk.path, node)
        ) or (isinstance(node, Call) and last_name(node.func) in _BOUNDS)
        operands = self._largest(size, self._walk.moment) if asserted else None
        if operands is not None:
            self._add(node, None, operands, {"": limit})

    def _largest(self, node: CSTNode, moment: Moment, depth: int = 0) -> tuple[CSTNode, CSTNode] | None:
        """The operands of the absolute difference, or the largest, that an expression is."""
        absolute = False
        while depth < _DEEP:
            depth += 1
            if isinstance(node, Name):
                binding = self._names.single(node, moment)
                if binding is None or binding.node is None or binding.moment.scope is not moment.scope:
                    return None
                node, moment = binding.node, binding.moment
            elif isinstance(node, BinaryOperation) and type(node.operator).__name__ == "Subtract":
                return (node.left, node.right) if absolute else None
            elif isinstance(node, Call):
                name = last_name(node.func)
                absolute = absolute or name in ("abs", "absolute", "fabs")
                if name not in (*_LARGEST, *_HANDS):
                    return None
                plain = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
                method = isinstance(node.func, Attribute) and not self._names.resolve(node.func.value, moment)
                if method and (not plain or literal(plain[0])[0]):
                    assert isinstance(node.func, Attribute)
                    node = node.func.value
                elif plain:
                    node = plain[0]
                else:
                    return None
            else:
                return None
        return None

    def _add(
        self, node: CSTNode, row: Row | None, operands: tuple[CSTNode, CSTNode], given: Mapping[str, CSTNode]
    ) -> None:
        path = self._walk.path
        function = next((a for a in reversed(path) if isinstance(a, FunctionDef)), None)
        if function is None or self._denied(path) or self._guards.of(path, node) == "raises":
            return
        if id(function) not in self._says:
            self._says[id(function)] = says_gelu_in(function)
        if self._says[id(function)]:
            self._found.append(_Found(node, row, operands, given, function, self._walk.moment, symbol(path)))

    def _denied(self, path: Sequence[CSTNode]) -> bool:
        """Whether what is compared must not be equal; ``if not close: raise`` says that it must."""
        for at, above in enumerate(path):
            if isinstance(above, UnaryOperation) and type(above.operator).__name__ == "Not":
                test = path[at - 1]
                body = test.body.body if isinstance(test, If) and above is test.test else ()
                last = body[-1] if body else None
                last = last.body[-1] if isinstance(last, SimpleStatementLine) else last
                if not isinstance(last, Raise):
                    return True
            if isinstance(above, Call) and last_name(above.func) in _NEGATED:
                return True
            if isinstance(above, Compared):
                return True  # allclose(…) == False
        return False

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``comparisons`` needs the places of."""
        for found in self._found:
            yield found.node
            yield found.node.func if isinstance(found.node, Call) else found.node
            yield found.function
            yield from found.function.decorators
            yield from found.given.values()

    def _is_half(self, function: FunctionDef, draft: Draft) -> bool:
        if id(function) not in self._half:
            self._half[id(function)] = half_near(function, draft)
        return self._half[id(function)]

    def comparisons(self, draft: Draft, sites: Mapping[int, Site]) -> Iterator[Comparison]:
        """The comparisons of GELUs, in source order; ``sites`` are GELUs by the ``id`` of their node."""
        self._sites = sites
        for found in self._found:
            tolerance = self._tolerance(found, draft)
            gelus = [self._gelu(operand, found.moment) for operand in found.operands]
            if tolerance is None or not any(gelus) or self._is_half(found.function, draft):
                continue
            points: tuple[float, ...] = ()
            numbers: tuple[float, ...] = ()
            for gelu, other in zip(gelus, reversed(found.operands), strict=True):
                typed = self._numbers(other, found.moment)
                if gelu is not None and typed is not None:
                    numbers = typed
                    points = (self._numbers(gelu.of, found.moment) if gelu.of is not None else None) or ()
            if not (numbers and points) and not self._same_kind(found, gelus):
                continue
            if all(gelu is not None for gelu in gelus) and _apart_on_purpose(*(g.kind for g in gelus if g is not None)):
                continue
            flavours = tuple(sorted({name for gelu in gelus if gelu is not None for name in gelu.kind.flavours}))
            unit, absolute, total, relative, spans = tolerance
            written = draft.text(found.node.func) if isinstance(found.node, Call) else draft.text(found.node)
            yield Comparison(
                " ".join(written.split()), unit, absolute, total, relative, found.row is not None and found.row.either,
                spans, flavours, points, numbers, draft.span(found.node), found.symbol, draft.statement(found.node),
            )  # fmt: skip

    def _tolerance(
        self, found: _Found, draft: Draft
    ) -> tuple[str, float, float, float, tuple[Span | None, Span | None]] | None:
        """Unit, absolute argument, absolute and relative tolerance, and where these stand; None if not known."""
        row = found.row
        if row is None:
            limit, span = self._value(found.given[""], found.moment, draft)
            return None if limit is None else ("bound", limit, limit, 0.0, (span, None))
        unit = row.unit
        values: list[float] = []
        spans: list[Span | None] = []
        for options, default in ((row.absolute, row.defaults[0]), (row.relative, row.defaults[1])):
            node = next((found.given[name] for name, _ in options if name in found.given), None)
            value, span = self._value(node, found.moment, draft) if node is not None else (default, None)
            if value is None:
                return None
            values.append(float(value))
            spans.append(span)
        absolute, relative = values
        if "delta" in found.given:
            limit, span = self._value(found.given["delta"], found.moment, draft)
            return None if limit is None else ("bound", limit, limit, 0.0, (span, None))
        total = absolute
        if unit != "tolerance":
            total = (0.5 if unit == "places" else 1.5) * 10.0 ** -min(max(absolute, -9), 30)
        return unit, absolute, total, relative, (spans[0], spans[1])

    def _value(self, node: CSTNode, moment: Moment, draft: Draft) -> tuple[float | None, Span | None]:
        """A number, if that is known, and where it stands, if it is typed there."""
        known, value = literal(node)
        if known:
            plain = isinstance(value, (int, float)) and not isinstance(value, bool)
            return (float(value), draft.span(node)) if plain else (None, None)  # type: ignore[arg-type]
        constant = self._names.constant(node, moment)
        known, value = literal(constant) if constant is not None else (False, None)
        plain = known and isinstance(value, (int, float)) and not isinstance(value, bool)
        return (float(value) if plain else None), None  # type: ignore[arg-type]

    def _same_kind(self, found: _Found, gelus: Sequence[_Gelu | None]) -> bool:
        """Whether both sides may be a GELU of the same: no constant, no other activation, no whole model."""
        sums = [gelu.of is not None and self._sums(gelu.of, found.moment) for gelu in gelus if gelu is not None]
        if len(sums) > 1:
            return sums[0] == sums[1]
        for gelu, other, operand in zip(gelus, reversed(gelus), reversed(found.operands), strict=True):
            if gelu is None or other is not None:
                continue
            if gelu.of is None or self._sums(gelu.of, found.moment) or not self._computed(operand, found.moment):
                return False
            if isinstance(operand, Name) and operand.value in _names_in(gelu.of):
                return False  # far out a GELU is its argument
        return True

    def _gelu(self, node: CSTNode, moment: Moment, depth: int = 0) -> _Gelu | None:
        """The GELU whose values an expression has."""
        if depth > _DEEP:
            return None
        site = self._sites.get(id(node))
        if site is not None and site.spelling == "formula":
            kind = _Kind(frozenset((site.flavour,)), site.framework, True, (site.flavour,))
            return _Gelu(kind, None if site.formula is None or not site.formula.atom else node)
        if isinstance(node, Name):
            known = [self._gelu(value, when, depth + 1) for value, when in self._values(node, moment)]
            return known[0] if known and all(gelu is not None for gelu in known) else None
        if isinstance(node, Subscript):
            return self._gelu(node.value, moment, depth + 1)
        if isinstance(node, Attribute) and node.attr.value in ("data", "value", "T"):
            return self._gelu(node.value, moment, depth + 1)
        if not isinstance(node, Call):
            return None
        first = node.args[0].value if node.args and not node.args[0].star and node.args[0].keyword is None else None
        kind_of = self._computes(node, site, moment, depth)
        if kind_of is not None:
            return _Gelu(kind_of, first) if first is not None else None
        if last_name(node.func) not in _SAME:
            return None
        if isinstance(node.func, Attribute) and not self._names.resolve(node.func, moment):
            return self._gelu(node.func.value, moment, depth + 1)
        return self._gelu(first, moment, depth + 1) if first is not None else None

    def _computes(self, node: Call, site: Site | None, moment: Moment, depth: int) -> _Kind | None:
        """The GELU that a call computes, None if it computes none."""
        if site is not None:
            row = callables().get(site.callee)
            return (
                _of_site(site) if row is not None and row.kind in ("function", "op") and site.form == "call" else None
            )
        kind = self._function(node.func, moment, depth + 1)
        rest = tuple(_written(arg) for arg in node.args[1:])
        return kind._replace(made=(*kind.made, *rest)) if kind is not None else None

    def _function(self, node: CSTNode, moment: Moment, depth: int) -> _Kind | None:
        """The GELU that a function is, None if it is none."""
        if depth > _DEEP:
            return None
        if isinstance(node, Name):
            values = [self._function(value, when, depth + 1) for value, when in self._values(node, moment)]
            if values:
                return values[0] if all(kind == values[0] for kind in values) else None
        site = self._sites.get(id(node))
        if isinstance(node, Call):
            if site is not None:
                row = callables().get(site.callee)
                made = row is not None and (row.kind in ("class", "layer") or site.form == "partial")
                return _of_site(site) if made else None
            first = node.args[0].value if node.args and not node.args[0].star else None
            name = last_name(node.func)
            if name in _WRAPS and first is not None:
                return self._function(first, moment, depth + 1)
            if name in ("to", "cuda", "cpu", "eval", "double", "float") and isinstance(node.func, Attribute):
                return self._function(node.func.value, moment, depth + 1)
            kind = _said(name) if name[:1].isupper() else None
            return kind._replace(made=(name, *(_written(arg) for arg in node.args))) if kind is not None else None
        if site is not None and site.form not in ("call", "partial"):
            return _of_site(site)
        name = last_name(node)
        if name in ("apply", "forward") and isinstance(node, Attribute):
            return self._function(node.value, moment, depth + 1) or _said(last_name(node.value))
        return None if name[:1].isupper() else _said(name)

    def _values(self, node: Name, moment: Moment) -> list[tuple[CSTNode, Moment]]:
        """The expressions that a name of the function may stand for; none where others are possible."""
        found = self._names.reaching(node, moment)
        if not found or any(b.kind != "value" or b.node is None or b.moment.scope is not moment.scope for b in found):
            return []
        return [(b.node, b.moment) for b in found if b.node is not None]

    def _numbers(self, node: CSTNode | None, moment: Moment, depth: int = 0) -> tuple[float, ...] | None:
        """The numbers that an expression types, None if it is anything else."""
        if node is None or depth > _DEEP:
            return None
        known, value = literal(node)
        if known:
            plain = isinstance(value, (int, float)) and not isinstance(value, bool)
            return (float(value),) if plain else None  # type: ignore[arg-type]
        if isinstance(node, (List, Tuple)):
            found: list[float] = []
            for element in node.elements[:_NUMBERS]:
                part = self._numbers(element.value, moment, depth + 1)
                if part is None:
                    return None
                found += part
            return tuple(found)
        if isinstance(node, Name):
            values = self._values(node, moment)
            return self._numbers(*values[0], depth + 1) if len(values) == 1 else None
        if isinstance(node, Call) and node.args and last_name(node.func) in (*_SAME, "constant", "Tensor"):
            return self._numbers(node.args[0].value, moment, depth + 1)
        return None

    def _sums(self, node: CSTNode, moment: Moment, depth: int = 0) -> bool:
        """Whether what a GELU is taken of is computed by more than the eye of a rounding."""
        waiting = [(node, moment)]
        seen = 0
        while waiting and seen < _NUMBERS:
            item, when = waiting.pop()
            seen += 1
            if isinstance(item, BinaryOperation) and type(item.operator).__name__ == "MatrixMultiply":
                return True
            if isinstance(item, Call) and _SUMS.search(last_name(item.func)):
                return True
            if isinstance(item, Name):
                waiting += self._values(item, when)
            elif isinstance(item, Call):
                waiting += [(arg.value, when) for arg in item.args]
                if isinstance(item.func, Attribute):
                    waiting.append((item.func.value, when))
            else:
                waiting += [(child, when) for child in children(item) if isinstance(child, BaseExpression)]
        return False

    def _computed(self, node: CSTNode, moment: Moment, depth: int = 0) -> bool:
        """Whether an operand is computed by something that may be a GELU."""
        if depth > _DEEP or self._numbers(node, moment) is not None:
            return False
        if isinstance(node, Name):
            values = self._values(node, moment)
            if values:
                return all(self._computed(value, when, depth + 1) for value, when in values)
            found = self._names.reaching(node, moment)
            return bool(found) and all(b.kind == "opaque" and b.moment.scope is moment.scope for b in found)
        if isinstance(node, Subscript):
            return self._computed(node.value, moment, depth + 1)
        if not isinstance(node, Call):
            return isinstance(node, BinaryOperation) and not self._sums(node, moment)
        name = last_name(node.func)
        if name in _MAKES or says_other(name) or _SUMS.search(name) or (says_gelu(name) and not claim(name)):
            return False
        if name in _SAME and isinstance(node.func, Attribute) and not self._names.resolve(node.func, moment):
            return self._computed(node.func.value, moment, depth + 1)
        if name in _SAME:
            return bool(node.args) and self._computed(node.args[0].value, moment, depth + 1)
        full = self._names.resolve(node.func, moment)
        return not any(target.partition(".")[0] in _FRAMEWORKS for target in full)


def _said(name: str) -> _Kind | None:
    """The GELU that the name of a function says, None where it says none."""
    said = claim(name)
    return _Kind(said, "", len(said) == 1, (name,)) if said and not _SUMS.search(name) else None


def _of_site(site: Site) -> _Kind:
    """A GELU of a framework; where only the run decides it may be either."""
    flavours = frozenset((site.flavour,)) if site.flavour != "unknown" else PLAIN
    return _Kind(flavours, site.framework, site.explicit, (site.callee, site.flavour))


def _written(arg: Arg) -> str:
    """An argument, as far as two of them can be told apart by it."""
    known, value = literal(arg.value)
    return f"{arg.keyword.value if isinstance(arg.keyword, Name) else ''}={value if known else sorted(_names_in(arg))}"


def _apart_on_purpose(one: _Kind, other: _Kind) -> bool:
    """Whether two GELUs that are compared are meant to differ; by the defaults of two frameworks nobody means to."""
    if not one.framework and not other.framework:
        return one.flavours != other.flavours or (one.made[0] == other.made[0] and one.made != other.made)
    if one.flavours & other.flavours:
        return False
    return (
        (one.explicit and other.explicit) or one.framework == other.framework or "" in (one.framework, other.framework)
    )


def says_gelu_in(function: FunctionDef) -> bool:
    """Whether an identifier of a function has "gelu" in it."""
    return any("gelu" in name.lower() for name in _names_in(function))


def _names_in(node: CSTNode) -> set[str]:
    """The identifiers in an expression."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name):
            found.add(item.value)
        waiting.extend(children(item))
    return found


def half_near(function: FunctionDef, draft: Draft) -> bool:
    """Whether a function may compute in less than float32: it says so, or what it names at the top level."""
    whole = draft.whole
    first = draft.span(function.decorators[0] if function.decorators else function).row
    end = draft.span(function)
    last = end.end_row - (end.end_column == 0)  # what stands behind it begins there
    starts = (*draft.starts, len(whole))
    own = whole[starts[first - 1] : starts[min(last, len(starts) - 1)]]
    if _COARSE.search(own):
        return True
    decorated = any("dtype" in draft.text(decorator) for decorator in function.decorators)
    if not decorated and any("dtype" in param.name.value for param in function.params.params):
        return True  # somebody else chooses it
    if _COARSE.search(whole) is None:
        return False
    named = {*_WORD.findall(own)}
    blocks = [*_BLOCK.finditer(whole)]
    for block, after in zip(blocks, (*(b.start() for b in blocks[1:]), len(whole)), strict=True):
        name = block[1] or block[2]
        outside = not block.start() <= starts[first - 1] < after
        if name in named and outside and _COARSE.search(whole, block.start(), after):
            return True
    return "set_default_dtype" in whole
