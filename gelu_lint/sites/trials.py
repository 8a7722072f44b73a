"""Recognises tests of the gradient of a GELU, and finds out which functions pass them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gelu_lint.claims import claim, says_gelu, words
from gelu_lint.model import Site, Trial
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import FLAVOURS
from gelu_lint.patterns import lazy
from gelu_lint.sites.compares import says_gelu_in
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.enact import FRAMEWORKS, Enactment
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Attribute, Call, ClassDef, CSTNode, FunctionDef, IndentedBlock, Name
from gelu_lint.tree.walk import Moment, Walk

#: Words of names that are about a gradient; and calls that take one.
_GRADIENT = frozenset(
    (
        *("grad", "grads", "gradient", "gradients", "backward", "backwards", "bwd", "derivative", "derivatives"),
        *("slope", "autograd", "vjp", "jvp"),
    )
)
_TAKES = frozenset(("backward", "grad", "gradient", "value_and_grad", "elementwise_grad", "vjp", "jacobian", "jacrev"))
#: Names of tests that ask for something else: whether it runs at all, how fast, or what it raises.
_OTHER = lazy(r"bench|perf|speed|time|memory|smoke|rais|error|invalid|compil|export|script|jit|trace|runs|crash")
#: Names of calls that may fail although nothing is asserted.
_FAILS = lazy(r"assert|check|verif|compare|test|expect|valid|rais|fail|equal|close|same|match|ensure|run|call")
_BUILT_IN = frozenset(
    (
        *("print", "float", "int", "range", "len", "list", "tuple", "zip", "enumerate", "abs", "sum", "max", "min"),
        *("isinstance", "super", "sorted", "str", "bool", "type"),
    )
)
_HARNESSES = ("torch.testing", "torch.autograd.gradcheck", "torch.autograd.detect_anomaly", "numpy.testing", "jax.test")
_FIXTURE = "gelu_gradient_flow"


class _Found(NamedTuple):
    node: FunctionDef
    moment: Moment
    symbol: str


class Trials:
    """A visitor that collects tests; ``trials`` tells those of the gradient of a GELU."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []

    def visit_IndentedBlock(self, node: IndentedBlock) -> None:
        function = self._walk.path[-1] if self._walk.path else None
        if not isinstance(function, FunctionDef) or not function.name.value.startswith("test"):
            return
        around = [above for above in self._walk.path[:-1] if isinstance(above, (FunctionDef, ClassDef))]
        if any(isinstance(above, FunctionDef) and above.name.value.startswith("test") for above in around):
            return
        named = is_named(symbol(self._walk.path)) or asks_for_fixture(function)
        if named or (says_gelu_in(function) and takes_gradient(function)):
            self._found.append(_Found(function, self._walk.moment, symbol(self._walk.path)))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``trials`` needs the places of."""
        for found in self._found:
            yield found.node
            yield found.node.name

    def trials(self, draft: Draft, sites: Mapping[int, Site]) -> Iterator[Trial]:
        """The tests, in source order; ``sites`` are GELUs by the ``id`` of their node."""
        for found in self._found:
            node, name = found.node, found.node.name.value
            moment = found.moment._replace(order=1 << 60)  # a local import counts for all of the function
            named = is_named(found.symbol)
            taken = [Enactment(node, flavour, self._names, moment, sites, named) for flavour in FLAVOURS]
            first = taken[0]
            through = first.known and bool(first.points)
            fixture = asks_for_fixture(node)
            if not named and not through and not fixture:
                continue
            told = through and bool(first.held) and all(held is not None for one in taken for held in one.held)
            told = told and all(one.known for one in taken)
            passes = tuple(flavour for flavour, one in zip(FLAVOURS, taken, strict=True) if all(one.held))
            told = told and (not first.guessed or len(passes) == len(FLAVOURS))
            inputs = "" if not through or (first.drawn and first.typed) else "random" if first.drawn else "literal"
            yield Trial(
                name,
                inputs,
                tuple(sorted({float(point) for point in first.points})) if inputs == "literal" else (),
                not _OTHER.search(name) and takes_gradient(node) and self._cannot_fail(node, moment),
                passes if told else (),
                fixture,
                draft.span(node.name),
                found.symbol,
                draft.statement(node),
            )

    def _cannot_fail(self, function: FunctionDef, moment: Moment) -> bool:
        """Whether nothing in a function asserts, raises, or calls what may do so on purpose."""
        parameters = {param.name.value for param in function.params.params} - {"self"}
        waiting: list[CSTNode] = [function.body]
        calls = 0
        while waiting:
            item = waiting.pop()
            if type(item).__name__ in ("Assert", "Raise", "Yield", "Return", "Try", "FunctionDef", "ClassDef"):
                return False
            if isinstance(item, Call):
                calls += 1
                if not self._harmless(item, parameters, moment):
                    return False
            waiting.extend(children(item))
        return calls > 0

    def _harmless(self, node: Call, parameters: set[str], moment: Moment) -> bool:
        name = last_name(node.func)
        if isinstance(node.func, Call):
            return True  # looked at by itself
        if _FAILS.search(name.lower()) or name in parameters:
            return False
        full = self._names.resolve(node.func, moment)
        if full:
            known = all(target.partition(".")[0] in FRAMEWORKS for target in full)
            fails = any(target.startswith(_HARNESSES) for target in full)
            return (known or bool(claim(name))) and not fails
        if isinstance(node.func, Attribute):
            base = node.func.value
            root = base
            while isinstance(root, (Attribute, Call)):
                root = root.value if isinstance(root, Attribute) else root.func
            return not (isinstance(root, Name) and root.value in ("self", "cls", *parameters)) or bool(claim(name))
        return name in _BUILT_IN or bool(claim(name))


def is_named(name: str) -> bool:
    """Whether the dotted name of a test says that it is about the gradient of a GELU."""
    return says_gelu(name) and not _GRADIENT.isdisjoint(words(name))


def asks_for_fixture(function: FunctionDef) -> bool:
    """Whether a test asks for the fixture of the pytest plugin."""
    return any(param.name.value == _FIXTURE for param in function.params.params)


def takes_gradient(function: FunctionDef) -> bool:
    """Whether a function calls what takes a gradient."""
    waiting: list[CSTNode] = [function.body]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call) and last_name(item.func) in _TAKES:
            return True
        waiting.extend(children(item))
    return False
