"""One walk over a module for any number of visitors, past every trivia node.

A visitor is an object with methods ``visit_<NodeClass>(node)``, called in source order before the children of the node,
``leave_<NodeClass>(node)``, called after them, and ``target_For(node)``, called where a loop binds its target. The walk
keeps what visitors ask for: ancestors, scope, and the control-flow arms around the current node.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Any

import libcst as cst

from gelu_lint.named import NamedTuple

#: Frames that the walk may take; ``scan`` bounds the depth of what is parsed far below this.
_FRAMES = 20_000

#: Parts of field names that hold trivia, or nodes without expressions in them.
_TRIVIA = (
    "whitespace", "comma", "lpar", "rpar", "semicolon", "leading_lines", "lines_after", "lbracket", "rbracket",
    "lbrace", "rbrace", "equal", "newline", "footer", "header", "indent", "operator", "dot", "colon", "asynchronous",
    "encoding", "separator", "posonly_ind", "annotation", "returns", "type_param", "conversion", "relative", "keyword",
    "attr",
)  # fmt: skip

_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_LOOPS = (cst.For, cst.While)
_BRANCHES = (cst.If, cst.Try, cst.TryStar, cst.Match, cst.With)


#: By type of node, the fields that the walk goes into; and which types are those of nodes.
_FIELDS: dict[type, tuple[str, ...]] = {}
_NODES: dict[type, bool] = {}


_Handlers = tuple[Callable[[Any], None], ...]
#: What to do at a node: what visits and leaves it, how to walk it if that is special, and the fields to go into.
_Plan = tuple[_Handlers, _Handlers, "Callable[[Walk, Any], None] | None", tuple[str, ...]]


class Block(NamedTuple):
    """One arm of a control-flow statement. ``kind`` is if, loop, with or try.

    Arms of one "if" exclude each other. Of a "try" any part may have run: so it is with a "with" that swallows
    exceptions, the "else" of a loop, and cases whose guard is judged after they have bound names.
    """

    node: int
    arm: str
    kind: str


class Scope:
    """What binds names: kind module, function (lambda, too), class, comprehension or generator.

    ``entry`` are the blocks it stands in; ``remote`` names are also bound from inner scopes, whenever these run.
    """

    __slots__ = ("bindings", "entry", "entry_order", "kind", "outer", "parent", "remote", "stars")

    def __init__(self, kind: str, parent: Scope | None, entry: tuple[Block, ...] = (), entry_order: int = 0) -> None:
        self.kind, self.parent = kind, parent
        self.entry, self.entry_order = entry, entry_order
        self.bindings: dict[str, list[Any]] = {}
        self.outer: dict[str, str] = {}
        self.remote: set[str] = set()
        self.stars: list[str] = []


class Moment(NamedTuple):
    """Where in the run of a module something stands: its scope, its order in the walk, the arms around it."""

    scope: Scope
    order: int
    blocks: tuple[Block, ...]


class Walk:
    """Walks ``module``; ``scopes`` may hand on the scopes of an earlier walk over the same module."""

    def __init__(self, module: cst.Module, scopes: dict[int, Scope] | None = None) -> None:
        self.module = module
        self.scopes: dict[int, Scope] = {} if scopes is None else scopes
        self.path: list[cst.CSTNode] = []
        self.order = 0
        self.blocks: tuple[Block, ...] = ()
        self.scope = self._scope_of(module, "module")
        self._handlers: dict[str, list[Callable[[Any], None]]] = {}
        self._plans: dict[type, _Plan] = {}

    def run(self, visitors: Iterable[object]) -> None:
        """Call the visitors' methods for every node. Raises RecursionError on a tree deeper than ``scan`` admits."""
        for visitor in visitors:
            for name in _events(type(visitor)):  # type: ignore[arg-type]
                self._handlers.setdefault(name, []).append(getattr(visitor, name))
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            self._walk(self.module)
        finally:
            sys.setrecursionlimit(limit)
            self._handlers.clear()  # visitors know their walk: no circle may keep the tree
            self._plans.clear()

    @property
    def moment(self) -> Moment:
        """The place of the current node in the run of the module."""
        return Moment(self.scope, self.order, self.blocks)

    def _walk(self, node: cst.CSTNode) -> None:
        self.order += 1
        cls = type(node)
        plan = self._plans.get(cls)
        if plan is None:
            plan = self._plans[cls] = self._plan(cls)
        visit, leave, special, names = plan
        for handler in visit:
            handler(node)
        self.path.append(node)
        if special is not None:
            special(self, node)
        else:
            for name in names:
                child = getattr(node, name)
                kind = type(child)
                if kind is tuple or kind is list:
                    for item in child:
                        self._walk(item)
                elif _NODES.get(kind, True):
                    self._child(child)
        self.path.pop()
        for handler in leave:
            handler(node)

    def _plan(self, cls: type) -> _Plan:
        if cls not in _FIELDS:
            _FIELDS[cls] = _children(cls)
        events = ("visit_" + cls.__name__, "leave_" + cls.__name__)
        visit, leave = (tuple(self._handlers.get(event, ())) for event in events)
        return visit, leave, _SPECIAL.get(cls), _FIELDS[cls]

    def _tell(self, event: str, node: cst.CSTNode) -> None:
        for handler in self._handlers.get(event, ()):
            handler(node)

    def _child(self, child: object) -> None:
        cls = type(child)
        if cls is list or cls is tuple:
            for item in child:  # type: ignore[attr-defined]
                self._walk(item)
            return
        is_node = _NODES.get(cls)  # isinstance asks the abstract base class anew each time
        if is_node is None:
            is_node = _NODES[cls] = issubclass(cls, cst.CSTNode)
        if is_node:
            self._walk(child)  # type: ignore[arg-type]

    def _scope_of(self, node: cst.CSTNode, kind: str) -> Scope:
        parent = self.scope if self.path else None
        return self.scopes.setdefault(id(node), Scope(kind, parent, self.blocks, self.order))

    @contextmanager
    def _inside(self, node: cst.CSTNode, kind: str) -> Iterator[None]:
        before, blocks = self.scope, self.blocks
        self.scope, self.blocks = self._scope_of(node, kind), ()
        yield
        self.scope, self.blocks = before, blocks

    @contextmanager
    def _arm(self, node: cst.CSTNode, arm: str, kind: str) -> Iterator[None]:
        blocks = self.blocks
        self.blocks = (*blocks, Block(id(node), arm, kind))
        yield
        self.blocks = blocks

    def _function(self, node: cst.FunctionDef) -> None:
        self._child(node.decorators)
        self._defaults(node.params)
        with self._inside(node, "function"):
            self._parameters(node.params)
            self._walk(node.body)

    def _lambda(self, node: cst.Lambda) -> None:
        self._defaults(node.params)
        with self._inside(node, "function"):
            self._parameters(node.params)
            self._walk(node.body)

    def _defaults(self, params: cst.Parameters) -> None:
        # Defaults run outside the function, under the ancestors Parameters and Param.
        self.path.append(params)
        for param in _all_parameters(params):
            if param.default is not None:
                self.path.append(param)
                self._walk(param.default)
                self.path.pop()
        self.path.pop()

    def _parameters(self, params: cst.Parameters) -> None:
        for param in _all_parameters(params):
            self.order += 1
            self._tell("visit_Param", param)

    def _class(self, node: cst.ClassDef) -> None:
        self._child(node.decorators)
        self._child(node.bases)
        self._child(node.keywords)
        with self._inside(node, "class"):
            self._walk(node.body)

    def _comprehension(self, node: Any) -> None:
        self._walk(node.for_in.iter)  # the first iterable belongs to the scope outside
        with self._inside(node, "generator" if isinstance(node, cst.GeneratorExp) else "comprehension"):
            loop = node.for_in
            self._comp_for(loop, skip_iter=True)
            for name in ("key", "value", "elt"):
                self._child(getattr(node, name, None))

    def _comp_for(self, loop: cst.CompFor, skip_iter: bool) -> None:
        self.order += 1
        self._tell("visit_CompFor", loop)
        self._walk(loop.target)
        if not skip_iter:
            self._walk(loop.iter)
        self._child(loop.ifs)
        if loop.inner_for_in is not None:
            self._comp_for(loop.inner_for_in, skip_iter=False)

    def _branches(self, node: Any) -> None:
        guarded = any(case.guard is not None for case in getattr(node, "cases", ()))
        kind = "if" if isinstance(node, (cst.If, cst.Match)) and not guarded else "try"
        if isinstance(node, cst.With):
            kind = "with"
        for name in ("test", "subject", "items"):
            self._child(getattr(node, name, None))
        for name in ("body", "handlers", "cases", "orelse", "finalbody"):
            part = getattr(node, name, None) or ()
            for index, item in enumerate(part if isinstance(part, (list, tuple)) else (part,)):
                with self._arm(node, f"{name} {index}", kind):
                    self._walk(item)

    def _loop(self, node: Any) -> None:
        self._child(getattr(node, "iter", None))
        with self._arm(node, "body", "loop"):
            self._tell("target_" + type(node).__name__, node)
            self._child(getattr(node, "target", None) or getattr(node, "test", None))
            self._walk(node.body)
        with self._arm(node, "orelse", "try"):
            self._child(node.orelse)


@cache
def _events(visitor: type) -> tuple[str, ...]:
    return tuple(name for name in dir(visitor) if name.startswith(("visit_", "leave_", "target_")))


def _all_parameters(params: cst.Parameters) -> list[cst.Param]:
    stars = [p for p in (params.star_arg, params.star_kwarg) if isinstance(p, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


def _children(cls: type) -> tuple[str, ...]:
    names = tuple(f.name for f in fields(cls) if not any(word in f.name for word in _TRIVIA))
    # The value of an assignment runs before its targets are bound; so does what a "with" opens.
    if cls in (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr):
        names = tuple(sorted(names, key=lambda name: name != "value"))
    return names


_SPECIAL: dict[type, Callable[[Walk, Any], None]] = {
    cst.FunctionDef: Walk._function,
    cst.Lambda: Walk._lambda,
    cst.ClassDef: Walk._class,
    **dict.fromkeys(_COMPREHENSIONS, Walk._comprehension),
    **dict.fromkeys(_BRANCHES, Walk._branches),
    **dict.fromkeys(_LOOPS, Walk._loop),
}
