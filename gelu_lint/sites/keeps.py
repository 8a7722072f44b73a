"""Recognises GELUs that are kept as objects where only data can be: in checkpoints, and scripted on modules."""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.claims import says_gelu
from gelu_lint.model import Held, Use
from gelu_lint.named import NamedTuple
from gelu_lint.sites.context import Around, Guards, symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.sites.objects import Handed, Objects
from gelu_lint.tree.literals import last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    Call,
    ClassDef,
    CSTNode,
    Dict,
    DictElement,
    FunctionDef,
    List,
    Name,
    Set,
    Subscript,
    Tuple,
)
from gelu_lint.tree.walk import Moment, Walk

_SCRIPTS = frozenset(("torch.jit.script", "torch.jit.trace"))
_PICKLES = frozenset(("__getstate__", "__reduce__", "__reduce_ex__", "__deepcopy__"))
#: How the classes end that are modules, where their definition is out of sight.
_MODULES = ("Module", "Model", "Layer", "Block")
_WORDS = ("save(", "script", "trace(", "weights_only", "safe_globals", "safe_mode", "unsafe_deserialization")
_DEEP = 5  # dicts in dicts that are looked into


class _Saved(NamedTuple):
    node: CSTNode
    key: str
    handed: Handed
    func: CSTNode
    around: Around


class _Scripted(NamedTuple):
    node: CSTNode
    key: str
    gelu: str
    around: Around


class Keeps:
    """A visitor that collects what is saved and scripted; ``held`` and ``uses`` tell it."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._objects = Objects(names)
        self._guards = Guards()
        self._saves: list[tuple[Call, Around]] = []
        self._set: dict[tuple[int, str], list[tuple[str, CSTNode, Moment]]] = {}
        self._assigned: list[tuple[CSTNode, str, Around]] = []
        self._symbols: dict[int, str] = {}
        self._trusts: list[tuple[CSTNode, str, str]] = []
        self._told: tuple[list[_Saved], list[_Scripted]] | None = None

    @staticmethod
    def concerns(text: str) -> bool:
        """Whether a text may save or script anything, or lets objects be loaded."""
        return any(word in text for word in _WORDS)

    def visit_FunctionDef(self, node: FunctionDef) -> None:
        around = symbol(self._walk.path)
        self._symbols[id(node)] = f"{around}.{node.name.value}" if around else node.name.value

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if last == "save":
            if node.args and self._names.resolve(node.func, self._walk.moment) == {"torch.save"}:
                self._saves.append((node, self._guards.around(self._walk, node)))
        elif last in ("add_safe_globals", "safe_globals"):
            self._trusts.append((node, "torch", symbol(self._walk.path)))
        elif last == "enable_unsafe_deserialization":
            self._trusts.append((node, "keras", symbol(self._walk.path)))
        elif "load" in last:
            for arg in node.args:
                key = arg.keyword.value if isinstance(arg.keyword, Name) else ""
                if key in ("weights_only", "safe_mode") and literal(arg.value)[1] is False:
                    whose = "torch" if key == "weights_only" else "keras"
                    self._trusts.append((node, whose, symbol(self._walk.path)))

    def visit_Assign(self, node: Assign) -> None:
        self._assign(node.targets[0].target, node.value)

    def visit_AnnAssign(self, node: AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)

    def _assign(self, target: CSTNode, value: CSTNode) -> None:
        if isinstance(target, Attribute) and isinstance(target.value, Name) and target.value.value == "self":
            if isinstance(value, (Name, Call, Attribute)):
                self._assigned.append((value, target.attr.value, self._guards.around(self._walk, value)))
        elif isinstance(target, Subscript) and isinstance(target.value, Name) and len(target.slice) == 1:
            key = text_of(getattr(target.slice[0].slice, "value", None))
            held = self._set.setdefault((id(self._walk.scope), target.value.value), [])
            held.append((key, value, self._walk.moment))

    # What all of the module tells

    def _tell(self) -> tuple[list[_Saved], list[_Scripted]]:
        if self._told is None:
            saved: dict[int, _Saved] = {}
            for call, around in self._saves:
                first = call.args[0]
                if not first.star and all(
                    last_name(arg.keyword) != "pickle_module" for arg in call.args if arg.keyword
                ):
                    for key, node, handed in self._inside(first.value, around.moment, ""):
                        saved.setdefault(id(node), _Saved(node, key, handed, call.func, around))
            scripted = [found for item in self._assigned if (found := self._scripted(*item)) is not None]
            self._told = [*saved.values()], scripted
        return self._told

    def _inside(self, node: CSTNode, moment: Moment, key: str, depth: int = 0) -> Iterator[tuple[str, CSTNode, Handed]]:
        """The GELUs in what is written out as data: dicts, lists, tuples and sets, and what names stand for them."""
        handed = self._objects.gelu(node, moment)
        if handed is not None:
            yield key, node, handed
            return
        if depth > _DEEP:
            return
        if isinstance(node, Name):
            for name, value, when in self._set.get((id(moment.scope), node.value), ()):
                yield from self._inside(value, when, name, depth + 1)
        made, when = self._objects.origin(node, moment)
        if isinstance(made, Dict):
            for element in made.elements:
                name = text_of(element.key) if isinstance(element, DictElement) else key
                yield from self._inside(element.value, when, name, depth + 1)
        elif isinstance(made, (List, Tuple, Set)):
            for member in made.elements:
                yield from self._inside(member.value, when, key, depth + 1)
        elif isinstance(made, Call) and isinstance(made.func, Name) and made.func.value in ("dict", "list", "tuple"):
            for arg in made.args:
                name = arg.keyword.value if isinstance(arg.keyword, Name) else key
                yield from self._inside(arg.value, when, name, depth + 1)

    def _scripted(self, value: CSTNode, key: str, around: Around) -> _Scripted | None:
        """The function that is scripted and kept as an attribute of a module."""
        owner = next((a for a in reversed(around.path) if isinstance(a, ClassDef)), None)
        if owner is None:
            return None
        node, moment = self._objects.origin(value, around.moment)
        function: CSTNode = node
        if isinstance(node, Call):
            if not node.args or not self._names.resolve(node.func, moment) & _SCRIPTS:
                return None
            function = node.args[0].value
        elif not isinstance(node, Name):
            return None
        bound = self._names.reaching(function, moment) if isinstance(function, Name) else ()
        made = bound[0].node if len(bound) == 1 else None
        if isinstance(made, FunctionDef):
            if not isinstance(node, Call) and not self._is_scripted(made, bound[0].moment):
                return None
            gelu = self._symbols.get(id(made), "")
        elif isinstance(node, Call) and says_gelu(last_name(function)) and last_name(function).islower():
            gelu = last_name(function)
        else:
            return None
        return _Scripted(value, key, gelu, around) if gelu and self._is_module(owner, around.moment) else None

    def _is_scripted(self, function: FunctionDef, moment: Moment) -> bool:
        return any(
            self._names.resolve(decorator.decorator, moment) == {"torch.jit.script"}
            for decorator in function.decorators
        )

    def _is_module(self, owner: ClassDef, moment: Moment, depth: int = 0) -> bool:
        """Whether a class is a module that is copied and pickled in the usual way."""
        scope = self._names.scopes.get(id(owner))
        if scope is None or depth > 1 or _PICKLES & scope.bindings.keys():
            return False
        for base in owner.bases:
            names = self._names.resolve(base.value, moment)
            if names:
                inside = (name.startswith("torch.nn.") or name.endswith(_MODULES) for name in names)
                if any(inside):
                    return True
            found = self._names.reaching(base.value, moment) if isinstance(base.value, Name) else ()
            inner = found[0].node if len(found) == 1 else None
            if isinstance(inner, ClassDef) and self._is_module(inner, found[0].moment, depth + 1):
                return True
        return False

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that the facts need the places of."""
        saved, scripted = self._tell()
        for found in saved:
            yield from (found.node, found.func, *found.handed.nodes())
        yield from (item.node for item in scripted)
        yield from (node for node, _, _ in self._trusts)

    def held(self, draft: Draft) -> Iterator[Held]:
        """The GELUs that a checkpoint or a module keeps."""
        saved, scripted = self._tell()
        for node, key, handed, func, around in saved:
            gelu = handed.row.name if handed.row is not None else ""
            flavour, rows = handed.flavour(self._names, draft), draft.statement(node)
            written, text, span = draft.text(func), draft.text(node), draft.span(node)
            place = (text, span, around.symbol, around.guard, rows, draft.quote)
            yield Held(
                "checkpoint", "torch.save", written, key, handed.form, gelu, flavour, (), False, span, True, *place
            )
        for node, key, gelu, around in scripted:
            place = (
                draft.text(node),
                draft.span(node),
                around.symbol,
                around.guard,
                draft.statement(node),
                draft.quote,
            )
            yield Held(
                "attribute", "", f"self.{key}", key, "scripted", gelu, "unknown", (), False, place[1], True, *place
            )

    def uses(self, draft: Draft) -> Iterator[Use]:
        """Where a file lets objects be loaded that are refused by default."""
        for node, whose, around in self._trusts:
            span, rows = draft.span(node), draft.statement(node)
            yield Use("trusts", "", draft.text(node), whose, span, span, (), None, "call", around, "", rows, "")
