"""Recognises settings: what a configuration, a call or a table is told by a string about activations and precision."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gelu_lint.claims import words
from gelu_lint.facts.activation_names import unheard
from gelu_lint.facts.record import Layer
from gelu_lint.facts.settings import ACTIVATION_KEYS, CLASS_KEYS, KEYS, LOADERS, MAKER, is_nearly_approximate, tables
from gelu_lint.facts.table import find_layer, layers
from gelu_lint.model import Entry
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.bindings import class_of
from gelu_lint.tree.literals import last_name, literal, text_of
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import (
    AnnAssign,
    Arg,
    Assign,
    AssignTarget,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    Comparison,
    CSTNode,
    Del,
    Dict,
    DictElement,
    Element,
    FunctionDef,
    In,
    Lambda,
    List,
    Name,
    NotIn,
    SimpleStatementLine,
    SimpleString,
    Subscript,
    Try,
    Tuple,
)
from gelu_lint.tree.walk import Moment, Walk

#: Words of keys that hold the name of an activation.
_ACTIVATION = frozenset(("act", "acts", "activ", "activation", "activations", "nonlinearity", "nonlin", "actfn"))
#: What stands beside the name of an activation and may make it wrong.
_BESIDE = lazy(r"fp16|float16|precision")
#: Calls that make a mapping, or settings, of their keywords.
_DICTS = ("dict", "OrderedDict")
_FIELD = ("field", "Field", "ib", "attrib")
_STORES = ("update", "setdefault", "__setitem__", "register")
#: What a look-up of an unknown name raises, and what catches that.
_CAUGHT = frozenset(("", "Exception", "BaseException", "LookupError", "KeyError", "ValueError", "RuntimeError"))
_DEPTH = 6  # bases of bases, and brackets in brackets, that are followed
_REGISTRY = {"torch": "torch_encoder", "keras": "keras"}


@cache
def _layers() -> frozenset[str]:
    """The last names of layers that are given an activation."""
    return frozenset(name.rpartition(".")[2] for name in layers())


class _Pair(NamedTuple):
    key: str
    at: CSTNode
    value: CSTNode


class _Mapping(NamedTuple):
    """Keys and values that belong together. ``root`` is the outermost mapping around, by its node."""

    form: str
    node: CSTNode
    pairs: list[_Pair]
    path: tuple[str, ...]
    root: int
    owner: str = ""
    registry: str = ""
    model_type: str = ""
    symbol: str = ""
    group: int = 0


class Settings:
    """A visitor that collects settings; ``entries`` tells those of a file that holds a GELU, or that matter by
    themselves."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._mappings: dict[int, _Mapping] = {}
        self._single: list[_Mapping] = []  # look-ups, options, defaults of functions
        self._moments: dict[int, Moment] = {}
        self._tables: dict[int, str] = {}  # by class the table in which its activations are looked up
        self._groups = 0
        self._derived: dict[tuple[int, str], str] = {}  # by class of the file, and ending, the registry that it is of
        # By key the tables in which its value is looked up; in a function, by that function's scope, or anywhere (0).
        self._read: dict[tuple[int, str], set[str]] = {}
        self._stored: set[str] = set()  # names that the file puts into a table ("" for names that are not written out)
        self._asked: set[str] = set()  # names that it asks a table for
        self._scopes: dict[int, int] = {}  # by default of a parameter the scope of its function

    # Calls and dicts

    def visit_Call(self, node: Call) -> None:
        last = last_name(node.func)
        if not last:
            return
        if last == "add_argument":
            self._option(node)
        elif last in _STORES and isinstance(node.func, Attribute) and self._is_table(node.func.value):
            self._stores(node)
        elif last in tables() and node.args:
            registry = self._table(node.func)
            if registry is not None:
                self._looked_up(node.func, node.args[0].value, registry)
        made = self._made(node, last)
        if made is not None:
            pairs = [
                _Pair(arg.keyword.value, arg.keyword, arg.value) for arg in node.args if isinstance(arg.keyword, Name)
            ]
            row = self._layer(node, last)
            for key, position in row.options if row is not None else ():
                if position is not None and len(node.args) > position and node.args[position].keyword is None:
                    pairs.append(_Pair(key, node.args[position].value, node.args[position].value))
            for pair in pairs if made[1] else ():
                if not _is_text(pair.value) and pair.key in ACTIVATION_KEYS:
                    self._reads(pair.value, made[1])
            self._add(node, pairs, "item" if last in _DICTS else "keyword", *made)

    def visit_Dict(self, node: Dict) -> None:
        pairs = [
            _Pair(text_of(element.key), element.key, element.value)
            for element in node.elements
            if isinstance(element, DictElement) and text_of(element.key)
        ]
        self._add(node, pairs, "item", "", "", "")

    def visit_Subscript(self, node: Subscript) -> None:
        index = getattr(node.slice[0].slice, "value", None) if len(node.slice) == 1 else None
        if index is not None and last_name(node.value) in tables():
            registry = self._table(node.value)
            if registry is not None and self._is_stored(node):
                self._stored.add(text_of(index))
            elif registry is not None:
                self._looked_up(node.value, index, registry)

    def visit_Comparison(self, node: Comparison) -> None:
        """``"gelu_x" in ACT2FN``."""
        for comparison in node.comparisons:
            if isinstance(comparison.operator, (In, NotIn)) and unheard("", text_of(node.left)):
                table = comparison.comparator
                if isinstance(table, Call) and isinstance(table.func, Attribute):
                    table = table.func.value  # .keys()
                if self._is_table(table):
                    self._asked.add(text_of(node.left))

    def visit_AugAssign(self, node: AugAssign) -> None:
        """``ACT2FN |= {"gelu_x": …}``."""
        if self._is_table(node.target):
            self._stored.update(_keys(node.value))

    def _made(self, node: Call, last: str) -> tuple[str, str, str] | None:
        """The class that a call makes or configures, the table that its activation is looked up in, its family."""
        if last in _DICTS:
            return "", "", ""
        if last in LOADERS and isinstance(node.func, Attribute):
            owner, registry = last_name(node.func.value), self._of_transformers(node.func.value, self._walk.moment)
            family = text_of(node.args[0].value) if last == "for_model" and node.args else ""
            return (owner, registry, family) if registry else None
        if last.endswith("Config"):
            return last, self._of_transformers(node.func, self._walk.moment), ""
        if last == MAKER:
            names = self._names.resolve(node.func, self._walk.moment)
            return (last, "timm", "") if any(name.startswith("timm.") for name in names) else None
        row = self._layer(node, last)
        return (last, _REGISTRY[row.framework], "") if row is not None else None

    def _layer(self, node: Call, last: str) -> Layer | None:
        if not node.args or last not in _layers():
            return None
        return find_layer(self._names.resolve(node.func, self._walk.moment))

    def _of_transformers(self, node: CSTNode, moment: Moment, ending: str = "", depth: int = 0) -> str:
        """The registry of a class that is surely one of transformers (with this ``ending``), or derives from one; else
        ""."""
        found = self._names.reaching(node, moment) if isinstance(node, Name) else ()
        own = found[0].node if len(found) == 1 else None
        if isinstance(own, ClassDef) and depth < _DEPTH:
            key = (id(own), ending)
            if key not in self._derived:
                self._derived[key] = ""  # of a class that derives from itself
                bases = (self._of_transformers(base.value, found[0].moment, ending, depth + 1) for base in own.bases)
                self._derived[key] = next(filter(None, bases), "")
            return self._derived[key]
        names = self._names.resolve(node, moment)
        sure = all(name.split(".")[0] == "transformers" and name.endswith(ending) for name in names)
        return "transformers" if names and sure else ""

    def _add(self, node: CSTNode, pairs: list[_Pair], form: str, owner: str, registry: str, family: str) -> None:
        path, above, shared = self._above(node)
        if above is not None and not registry:
            registry = above.registry
            owner, family = (above.owner, above.model_type) if shared else (owner or above.owner, family)
        said = {pair.key: text_of(pair.value) for pair in pairs}
        family = said.get("model_type") or family
        if form == "item" and not owner:
            owner = next((_first_text(pair.value) for key in CLASS_KEYS for pair in pairs if pair.key == key), "")
        root = above.root if above is not None else id(node)
        group = above.group if above is not None and shared else self._group()
        where = symbol(self._walk.path)
        self._mappings[id(node)] = _Mapping(form, node, pairs, path, root, owner, registry, family, where, group)

    def _above(self, node: CSTNode) -> tuple[tuple[str, ...], _Mapping | None, bool]:
        """The keys that lead to a mapping, the mapping around it, and whether it is but a part of that one."""
        keys: list[str] = []
        child = node
        for parent in reversed(self._walk.path):
            if id(parent) in self._mappings:
                above = self._mappings[id(parent)]
                shared = not keys
                return (*above.path, *reversed(keys)), above, shared
            if isinstance(parent, DictElement) and text_of(parent.key):
                keys.append(text_of(parent.key))
            elif isinstance(parent, Arg):
                if isinstance(parent.keyword, Name):
                    keys.append(parent.keyword.value)
            elif isinstance(parent, (List, Tuple)):
                keys.append(next(str(i) for i, element in enumerate(parent.elements) if element is child))
            elif type(parent).__name__ != "Element":
                break
            child = parent
        return (), None, False

    # Tables, options

    def _is_table(self, node: CSTNode) -> bool:
        return last_name(node) in tables() and self._table(node) is not None

    def _is_stored(self, node: CSTNode) -> bool:
        """Whether an item of a table is the target of an assignment, or is deleted."""
        for parent in reversed(self._walk.path):
            if isinstance(parent, (AnnAssign, AugAssign)):
                return parent.target is node
            if isinstance(parent, (AssignTarget, Del)):
                return True
            if parent is not node and not isinstance(parent, (Tuple, List, Element)):
                return False
        return False

    def _stores(self, node: Call) -> None:
        """``ACT2FN.update({"gelu_x": …})`` and other calls that put names into a table."""
        if last_name(node.func) != "update":
            self._stored.update(text_of(arg.value) for arg in node.args[:1])
            return
        for arg in node.args:
            self._stored.update((arg.keyword.value,) if isinstance(arg.keyword, Name) else _keys(arg.value))

    def _is_tried(self) -> bool:
        """Whether the current node stands where a failing look-up is caught."""
        inner: CSTNode | None = None
        for above in reversed(self._walk.path):
            if isinstance(above, (FunctionDef, Lambda)):
                return False
            if isinstance(above, Try) and inner is above.body:
                caught = (
                    last_name(each) if each else "" for handler in above.handlers for each in _types(handler.type)
                )
                if not _CAUGHT.isdisjoint(caught):
                    return True
            inner = above
        return False

    def _table(self, node: CSTNode) -> str | None:
        """The registry that a table or function is, "" for one of that name that is not known, None if it is none."""
        names = self._names.resolve(node, self._walk.moment)
        known = {tables()[last_name(node)].get(name, "") for name in names}
        if known == {""} or not known:
            return "" if last_name(node).isupper() or "act" in last_name(node) else None
        return known.pop() if len(known) == 1 else ""

    def _looked_up(self, table: CSTNode, value: CSTNode, registry: str) -> None:
        if _is_text(value):
            if registry and not self._is_tried():
                self._put("lookup", table, _Pair(last_name(table), table, value), registry=registry)
            return
        self._reads(value, registry)

    def _reads(self, value: CSTNode, registry: str) -> None:
        """A table looks up what ``value`` is: a name counts in its function, what is read of an object everywhere."""
        key, scope = _key_of(value), self._walk.scope
        if isinstance(value, Name):
            while scope.parent is not None and key not in scope.bindings:
                scope = scope.parent
            self._read.setdefault((id(scope), key), set()).add(registry)
        elif key:
            self._read.setdefault((0, key), set()).add(registry)

    def _put(self, form: str, node: CSTNode, pair: _Pair, owner: str = "", registry: str = "") -> None:
        where = symbol(self._walk.path)
        self._single.append(_Mapping(form, node, [pair], (), id(node), owner, registry, "", where, self._group()))

    def _group(self) -> int:
        self._groups += 1
        return self._groups

    def _option(self, node: Call) -> None:
        """``add_argument("--hidden-act", default="gelu")``."""
        given = {arg.keyword.value: arg.value for arg in node.args if isinstance(arg.keyword, Name)}
        flags = [arg.value for arg in node.args if arg.keyword is None and text_of(arg.value)]
        named = given.get("dest") or next((flag for flag in flags if text_of(flag).startswith("--")), None)
        named = named or next(iter(flags), None)
        value = given.get("default")
        if named is not None and value is not None:
            key = text_of(named).lstrip("-").replace("-", "_")
            self._put("option", node, _Pair(key, named, value))

    # Classes and functions

    def visit_ClassDef(self, node: ClassDef) -> None:
        pairs: list[_Pair] = []
        for statement in node.body.body:
            if isinstance(statement, SimpleStatementLine):
                pairs += (pair for small in statement.body for pair in _fields(small))
        family = next((text_of(pair.value) for pair in pairs if pair.key == "model_type"), "")
        where = ".".join(filter(None, (symbol(self._walk.path), node.name.value)))
        self._mappings[id(node)] = _Mapping(
            "field", node, pairs, (), id(node), node.name.value, "", family, where, self._group()
        )
        self._moments[id(node)] = self._walk.moment

    def _configures(self, mapping: _Mapping) -> _Mapping:
        """The mapping of a class with the table in which its activations are looked up."""
        node = mapping.node
        if not isinstance(node, ClassDef):
            return mapping
        if id(node) not in self._tables:
            moment = self._moments[id(node)]
            bases = (self._of_transformers(base.value, moment, "Config") for base in node.bases)
            self._tables[id(node)] = next(filter(None, bases), "")
        return mapping._replace(registry=self._tables[id(node)])

    def visit_FunctionDef(self, node: FunctionDef) -> None:
        params = node.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.default is None or not _is_text(param.default):
                continue
            pair = _Pair(param.name.value, param.name, param.default)
            self._scopes[id(param.default)] = id(self._names.scopes[id(node)])
            owner = self._class_around() if node.name.value in ("__init__", "__new__") else None
            if owner is not None:
                where = f"{owner.symbol}.{node.name.value}"
                self._single.append(owner._replace(form="default", pairs=[pair], symbol=where))
            elif unheard(pair.key, text_of(pair.value)):
                self._put("default", param, pair)

    def _class_around(self) -> _Mapping | None:
        around = next((a for a in reversed(self._walk.path) if isinstance(a, (ClassDef, FunctionDef))), None)
        return self._mappings.get(id(around)) if isinstance(around, ClassDef) else None

    def visit_Assign(self, node: Assign) -> None:
        """``self.hidden_act = "gelu"`` in a configuration, or ``config.hidden_act = "gelu"``."""
        target = node.targets[0].target
        if not isinstance(target, Attribute) or not isinstance(target.value, Name) or not text_of(node.value):
            return
        pair = _Pair(target.attr.value, target.attr, node.value)
        moment = self._walk.moment
        if target.value.value == "self" and _names_gelu(pair):
            scope = class_of(moment.scope)
            owner = next((m for m in self._mappings.values() if self._names.scopes.get(id(m.node)) is scope), None)
            if owner is not None and scope is not None and self._configures(owner).registry:
                self._single.append(owner._replace(pairs=[pair], symbol=symbol(self._walk.path)))
            return
        made = self._names.single(target.value, moment) if _names_gelu(pair) else None
        if made is not None and isinstance(made.node, Call):
            found = self._made(made.node, last_name(made.node.func))
            if found is not None and found[1] == "transformers" and "onfig" in found[0]:
                self._put("field", node, pair, owner=found[0], registry=found[1])

    # Facts

    def _wanted(self) -> Iterator[tuple[_Mapping, _Pair]]:
        """What may be entries: of a mapping all that rules read, if it or one around it names a GELU."""
        named = {
            mapping.root
            for mapping in (*self._mappings.values(), *self._single)
            for pair in mapping.pairs
            if _names_gelu(pair)
        }
        for mapping in (*self._mappings.values(), *self._single):
            if mapping.root in named:
                mapping = self._configures(mapping)
                for pair in mapping.pairs:
                    if self._may_be_known(text_of(pair.value)):
                        continue
                    keeps = mapping.form in ("item", "keyword") and (
                        pair.key in KEYS or is_nearly_approximate(pair.key)
                    )
                    if keeps or (pair.key in ACTIVATION_KEYS and _is_text(pair.value)) or _names_gelu(pair):
                        yield mapping, pair

    def _may_be_known(self, name: str) -> bool:
        """Whether this file makes a table know a name that it did not, or something else by that name."""
        return bool(name) and (
            name in self._stored or name in self._asked or ("" in self._stored and unheard("", name))
        )

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``entries`` needs the places of."""
        self._found = [*self._wanted()]
        for _, pair in self._found:
            yield from (pair.at, pair.value)

    @property
    def speaks(self) -> bool:
        """Whether a file matters for its settings alone, once ``nodes`` has been asked."""
        beside = {mapping.root for mapping, pair in self._found if _counts_beside(mapping, pair)}
        return any(
            unheard("act_layer" if mapping.registry == "timm" else pair.key, text_of(pair.value))
            or (mapping.form in ("item", "keyword") and mapping.registry not in ("", "timm"))
            or (mapping.form == "item" and mapping.root in beside)
            for mapping, pair in self._found
            if _names_gelu(pair)
        )

    def _reader(self, mapping: _Mapping, pair: _Pair) -> str:
        """The one table in which this file looks up the value of a key; "" where there is none or more than one."""
        scope = self._scopes.get(id(pair.value), 0)
        tables = set(self._read.get((scope, pair.key), ()))
        if mapping.owner or not scope:
            tables |= self._read.get((0, pair.key), set())
        return next(iter(tables)) if len(tables) == 1 else ""

    def entries(self, draft: Draft) -> Iterator[Entry]:
        """The entries, in source order."""
        found = ((mapping, pair, draft.span(pair.at)) for mapping, pair in self._found)
        groups: dict[int, int] = {}  # anew from 1: mappings without entries have no number
        for mapping, pair, at in sorted(found, key=lambda each: each[2]):
            known, value = literal(pair.value)
            registry = mapping.registry
            if not registry and unheard(pair.key, text_of(pair.value)):
                registry = self._reader(mapping, pair)
            if not _may_name(pair.key) and mapping.form != "lookup":
                registry = ""
            group = groups.setdefault(mapping.group, len(groups) + 1)
            quote = pair.value.quote if isinstance(pair.value, SimpleString) else ""
            yield Entry(
                mapping.form, pair.key, mapping.path, known, value if known else None, "", group, registry,
                mapping.model_type, mapping.owner, isinstance(mapping.node, Dict), at, draft.span(pair.value), quote,
                mapping.symbol, draft.statement(pair.value),
            )  # fmt: skip


def _keys(node: CSTNode) -> Iterator[str]:
    """The keys of a dict, "" for those that are not written out."""
    if isinstance(node, Dict):
        yield from (text_of(each.key) if isinstance(each, DictElement) else "" for each in node.elements)
    elif (
        isinstance(node, Call) and last_name(node.func) in _DICTS and not any(arg.keyword is None for arg in node.args)
    ):
        yield from (arg.keyword.value for arg in node.args if isinstance(arg.keyword, Name))
    else:
        yield ""


def _types(node: CSTNode | None) -> Iterator[CSTNode | None]:
    """The exceptions that a handler names."""
    if isinstance(node, Tuple):
        yield from (element.value for element in node.elements)
    else:
        yield node


def _is_text(node: CSTNode) -> bool:
    return isinstance(node, SimpleString)


def _may_name(key: str) -> bool:
    """Whether what is called so may hold the name of an activation, whatever the library."""
    return key in ACTIVATION_KEYS or not _ACTIVATION.isdisjoint(words(key))


def _names_gelu(pair: _Pair) -> bool:
    value = text_of(pair.value).lower()
    return ("gelu" in value or "geglu" in value) and (_may_name(pair.key) or pair.key in tables())


def _counts_beside(mapping: _Mapping, pair: _Pair) -> bool:
    if pair.key == "model_type":
        return isinstance(mapping.node, Dict)
    return _BESIDE.search(pair.key) is not None or _BESIDE.search(text_of(pair.value)) is not None


def _first_text(node: CSTNode) -> str:
    if isinstance(node, (List, Tuple)) and node.elements:
        return text_of(node.elements[0].value)
    return text_of(node)


def _fields(small: CSTNode) -> Iterator[_Pair]:
    """``hidden_act: str = "gelu"`` in the body of a class, with or without ``field(default=…)``."""
    target = small.target if isinstance(small, AnnAssign) else None
    if isinstance(small, Assign) and len(small.targets) == 1:
        target = small.targets[0].target
    value = small.value if isinstance(small, (AnnAssign, Assign)) else None
    if not isinstance(target, Name) or value is None:
        return
    if isinstance(value, Call) and last_name(value.func) in _FIELD:
        given = {arg.keyword.value: arg.value for arg in value.args if isinstance(arg.keyword, Name)}
        first = next((arg.value for arg in value.args if arg.keyword is None), None)
        value = given.get("default") or first
    if value is not None:
        yield _Pair(target.value, target, value)


def _key_of(node: CSTNode) -> str:
    """The key that is read: of ``config.hidden_act``, ``cfg["hidden_act"]``, ``getattr(config, "hidden_act")``."""
    if isinstance(node, Subscript) and len(node.slice) == 1:
        return text_of(getattr(node.slice[0].slice, "value", None))
    if isinstance(node, Call) and last_name(node.func) == "getattr" and len(node.args) > 1:
        return text_of(node.args[1].value)
    if isinstance(node, Call) and last_name(node.func) == "get" and node.args:
        return text_of(node.args[0].value)
    return last_name(node)
