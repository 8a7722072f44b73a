"""What an expression hands over: the GELU that it is as an object, and the values and members that names stand for."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.claims import says_gelu
from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import find
from gelu_lint.named import NamedTuple
from gelu_lint.sites.arguments import arguments, nodes_of
from gelu_lint.sites.calls import choice
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.bindings import Binding
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    Attribute,
    BooleanOperation,
    Call,
    ClassDef,
    CSTNode,
    Dict,
    DictElement,
    FunctionDef,
    Lambda,
    Name,
    Or,
    Param,
)
from gelu_lint.tree.walk import Moment

_DEEP = 10  # names for names that are followed


class Handed(NamedTuple):
    """A GELU as an object: ``call`` is what says its flavour, None where nothing more is said than ``row``.

    ``fallback``: it takes the place of an argument that is left out.
    """

    form: str
    row: Callable | None
    call: Call | None = None
    moment: Moment | None = None
    skip: int = 0
    fallback: bool = False

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``flavour`` needs the places of."""
        if self.call is not None:
            yield from nodes_of(self.call)

    def flavour(self, names: Names, draft: Draft) -> str:
        """The flavour that it computes."""
        if self.row is None:
            return "unknown"
        if self.call is None or self.moment is None:
            return self.row.flavour
        return choice(self.row, arguments(self.call, names, self.moment, draft, self.skip))[2]


class Given(NamedTuple):
    """One argument: its value, when it is read, and what stands for it in the call."""

    value: CSTNode
    moment: Moment
    at: CSTNode

    @property
    def inline(self) -> bool:
        """Whether the call itself holds the value."""
        return self.at is self.value


class Arguments(NamedTuple):
    """The arguments of a call by position and by name; ``sure`` is False where stars may hold more."""

    positional: tuple[Given, ...]
    named: dict[str, Given]
    sure: bool

    def get(self, keyword: str, position: int | None) -> Given | None:
        """The argument of this name, or at this position."""
        if keyword in self.named:
            return self.named[keyword]
        return self.positional[position] if position is not None and position < len(self.positional) else None


class Objects:
    """Tells what the expressions of one module hand over."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def origin(self, node: CSTNode, moment: Moment) -> tuple[CSTNode, Moment]:
        """The expression that ``node`` stands for, through names and attributes that one place alone sets."""
        for _ in range(_DEEP):
            if isinstance(node, Name):
                binding = self._names.single(node, moment)
                if binding is None or binding.node is None:
                    break
                node, moment = binding.node, binding.moment
            elif isinstance(node, Attribute):
                held = self._names.attribute(node, moment)
                if held is None:
                    break
                node, moment = held
            else:
                break
        return node, moment

    def value(self, given: Given | None, default: str | int | float | bool | None) -> str | int | float | bool | None:
        """What an argument is, the ``default`` of a parameter counting as its value; "?" where that is not known."""
        if given is None:
            return default
        node, moment = self.origin(given.value, given.moment)
        if isinstance(node, Name):
            found = self._names.reaching(node, moment)
            held = found[0].node if len(found) == 1 and found[0].kind == "parameter" else None
            if isinstance(held, Param) and held.default is not None:
                node = held.default
        known, value = literal(node)
        return value if known else "?"

    def text(self, node: CSTNode, moment: Moment) -> str:
        """The string that an expression is, itself or by a constant's name; "" for anything else."""
        constant = self._names.constant(node, moment)
        return text_of(node) or (text_of(constant) if constant is not None else "")

    def arguments(self, call: Call, moment: Moment, skip: int = 0) -> Arguments:
        """The arguments of a call; ``**options`` counts where it surely is one dict."""
        positional: list[Given] = []
        named: dict[str, Given] = {}
        sure = placed = True
        for arg in call.args[skip:]:
            if arg.star == "**":
                members = self._members(arg.value, moment)
                sure = sure and members is not None
                for key, (value, when) in (members or {}).items():
                    named.setdefault(key, Given(value, when, arg.value))
            elif arg.star:
                sure = placed = False
            elif isinstance(arg.keyword, Name):
                named[arg.keyword.value] = Given(arg.value, moment, arg.value)
            elif placed:  # what comes after a star has no known position
                positional.append(Given(arg.value, moment, arg.value))
        return Arguments(tuple(positional), named, sure)

    def _members(self, node: CSTNode, moment: Moment) -> dict[str, tuple[CSTNode, Moment]] | None:
        """The values of a dict by key, None where it may hold others."""
        node, moment = self.origin(node, moment)
        if isinstance(node, Dict):
            found: dict[str, tuple[CSTNode, Moment]] = {}
            for element in node.elements:
                key = text_of(element.key) if isinstance(element, DictElement) else ""
                if not key:
                    return None
                found[key] = (element.value, moment)
            return found
        if isinstance(node, Call) and last_name(node.func) == "dict" and not self._names.resolve(node.func, moment):
            keys = [arg.keyword.value for arg in node.args if isinstance(arg.keyword, Name)]
            if len(keys) == len(node.args):
                return {key: (arg.value, moment) for key, arg in zip(keys, node.args, strict=True)}
        return None

    def gelu(self, node: CSTNode, moment: Moment) -> Handed | None:
        """The GELU that ``node`` hands over as an object, None where it is none or not known."""
        row = find(self._resolve(node, moment))
        if row is None:
            node, moment = self.origin(node, moment)
            row = find(self._resolve(node, moment))
        if row is not None:
            return Handed("class" if row.kind == "class" else "function", row)
        if isinstance(node, Lambda):
            return self._lambda(node)
        if isinstance(node, (Name, BooleanOperation)):
            return self._fallback(node, moment)
        if not isinstance(node, Call):
            return None
        names = self._resolve(node.func, moment)
        row = find(names)
        if row is not None:
            return Handed("module", row, node, moment) if row.kind == "class" else None
        if names == {"functools.partial"} and node.args and not node.args[0].star:
            inner = find(self._resolve(node.args[0].value, moment))
            return Handed("partial", inner, node, moment, 1) if inner is not None else None
        return self._own_class(node.func, moment)

    def _fallback(self, node: Name | BooleanOperation, moment: Moment) -> Handed | None:
        """The object that stands for a parameter that is None: ``act or nn.GELU()``, ``if act is None: act = …``."""
        made: tuple[CSTNode, Moment] | None = None
        if isinstance(node, BooleanOperation):
            made = (node.right, moment) if isinstance(node.operator, Or) else None
        else:
            found = self._names.reaching(node, moment)
            values = [binding for binding in found if binding.kind == "value"]
            left_out = [binding for binding in found if _is_none(binding)]
            if len(values) == 1 and values[0].node is not None and len(left_out) == len(found) - 1:
                made = values[0].node, values[0].moment
        handed = self.gelu(*made) if made is not None and isinstance(made[0], Call) else None
        return handed._replace(fallback=True) if handed is not None else None

    def _resolve(self, node: CSTNode, moment: Moment) -> frozenset[str]:
        names = self._names.resolve(node, moment)
        return frozenset() if self._names.is_patched(names) else names

    def _lambda(self, node: Lambda) -> Handed | None:
        """A lambda that does no more than call one GELU, perhaps with its flavour."""
        scope = self._names.scopes.get(id(node))
        if scope is None or not isinstance(node.body, Call):
            return None
        moment = Moment(scope, 1 << 60, ())
        row = find(self._resolve(node.body.func, moment))
        if row is not None and row.kind != "class" and node.params.params:
            return Handed("lambda", row, node.body, moment)
        return Handed("lambda", None) if node.params.params and says_gelu(last_name(node.body.func)) else None

    def _own_class(self, func: CSTNode, moment: Moment) -> Handed | None:
        """A GELU class of this file that only hands a flavour to the GELU that it derives from."""
        found = self._names.reaching(func, moment) if isinstance(func, Name) else ()
        owner = found[0].node if len(found) == 1 else None
        if not isinstance(owner, ClassDef) or len(owner.bases) != 1 or self._names.behaviour(owner) != {"__init__"}:
            return None
        row = find(self._resolve(owner.bases[0].value, found[0].moment))
        bound = self._names.scopes[id(owner)].bindings.get("__init__", [])
        made = bound[0].node if len(bound) == 1 else None
        if row is None or row.kind != "class" or not isinstance(made, FunctionDef):
            return None
        call = _super_call(made)
        return Handed("module", row, call, Moment(self._names.scopes[id(made)], 1 << 60, ())) if call else None


def _is_none(binding: Binding) -> bool:
    """Whether a binding is that of None, or of a parameter that is None if it is left out."""
    if binding.kind != "parameter":
        return binding.kind == "none"
    return (
        isinstance(binding.node, Param)
        and binding.node.default is not None
        and last_name(binding.node.default) == "None"
    )


def _super_call(function: FunctionDef) -> Call | None:
    """The one ``super().__init__(…)`` of a constructor."""
    found: list[Call] = []
    waiting: list[CSTNode] = [function.body]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Call) and last_name(item.func) == "__init__" and isinstance(item.func, Attribute):
            found.append(item)
        waiting.extend(children(item))
    return found[0] if len(found) == 1 else None
