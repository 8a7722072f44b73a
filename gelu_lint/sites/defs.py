"""Recognises parameters and fields by which somebody chooses a GELU, and what becomes of the choice."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from gelu_lint.claims import chooses, says_width
from gelu_lint.facts.table import find
from gelu_lint.lines import WORD, code
from gelu_lint.model import Def, Parameter, Site, Span, Swap
from gelu_lint.named import NamedTuple
from gelu_lint.patterns import lazy
from gelu_lint.sites.blocks import Block, Blocks
from gelu_lint.sites.context import symbol
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.children import children
from gelu_lint.tree.literals import last_name, literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import AnnAssign, Arg, Assign, Call, ClassDef, CSTNode, FunctionDef, Lambda, Name, Param
from gelu_lint.tree.walk import Moment, Walk

#: Bases that read no attribute of what derives from them.
_BASES = lazy(
    r"(?:\w*[a-z])?(?:Module|Layer|Cell|Function|Protocol)|Module|Layer|object|ABC|Block|HybridBlock|GELU|Gelu"
)
_RUNS = frozenset(("Sequential", "ModuleList", "LayerList", "SequentialCell", "HybridSequential"))
_FIELDS = lazy(r"(?:\w+\.)?(?:dataclass|define|frozen|attrs)|struct\.dataclass|Module")
#: Methods that are given what a class is made with.
_GIVEN = frozenset(("__init__", "__new__", "setup"))
#: Words with which code says that it does not use what it accepts.
_WAIVES = (
    r"ignore|unused|deprecat|no effect|not used|never used|unsupported|not supported|compat|placeholder|dummy|"
    r"reserved|interface|signature|\bAPI\b|not implemented|todo|fixme|hard-?coded|always|no-op"
)
_UNUSED = lazy(r"unused-argument|\bARG00\d\b|unused-variable")
_DIRECTIVE = lazy(r"#[^\n]*\b(?:gelu-lint|GEL\d*)\b[^\n]*")
_APPROXIMATES = lazy(r"""\._?approx|["']_?approx\w*["']""")
_FIELD = lazy(r"\b(\w+)\s*[:=](?!=)")
_IS_GELU = r"isinstance\(\s*(\w+)\s*,\s*\(?\s*[\w.]*GELU\s*,?\s*\)?\s*\)"
_REFUSES = lazy(rf"\s*(?:assert\s+{_IS_GELU}|if\s+not\s+{_IS_GELU}\s*:)")

_CLASSES = lazy(
    r"^[ \t]*class[ \t]+(\w*(?:Config|Cfg|Args|Arguments|Params|Settings|Options|HParams)\w*)\b", re.MULTILINE
)
_COMMENT = lazy(r"^[ \t]*#[^\n]*|#[^\n\"']*$", re.MULTILINE)
_READS_KEY = lazy(
    r"(?:config|cfg|args|hparams)\.(?:hidden_act|hidden_activation|activation_function|activation_fn|act_fn|activation|"
    r"hidden_activation_fn|act_layer)\b"
)
_IMPORTED = lazy(r"^[ \t]*from[ \t]+(\S+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)


class _Found(NamedTuple):
    node: FunctionDef | ClassDef
    owner: ClassDef | None
    parameters: tuple[tuple[Name, CSTNode | None, str], ...]
    path: tuple[CSTNode, ...]
    first: str


class Defs:
    """A visitor that collects functions and classes; ``defs`` tells of those with a GELU in them."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self._walk, self._names = walk, names
        self._found: list[_Found] = []
        self._lambdas: list[tuple[Lambda, list[Param], str]] = []
        self._calls: list[Name] = []

    def visit_FunctionDef(self, node: FunctionDef) -> None:
        every = [*node.params.posonly_params, *node.params.params, *node.params.kwonly_params]
        moment = self._walk.moment
        init = node.name.value == "__init__"
        kinds = [(p.name, p.default, self._kind(p, moment)) for p in every]
        chosen = [(name, default, kind) for name, default, kind in kinds if kind and (init or kind != "perhaps")]
        inner = next((a for a in reversed(self._walk.path) if isinstance(a, (FunctionDef, ClassDef, Lambda))), None)
        owner = inner if isinstance(inner, ClassDef) else None
        if chosen:
            first = every[0].name.value
            self._found.append(_Found(node, owner, tuple(chosen), tuple(self._walk.path), first))

    def visit_Call(self, node: Call) -> None:
        if isinstance(node.func, Name) and node.func.value[:1].isupper() and self._walk.path:
            self._calls.append(node.func)

    def visit_Lambda(self, node: Lambda) -> None:
        # gelu = lambda x, approximate="none": F.gelu(x); in a table or call the signature may be laid down
        if not isinstance(self._walk.path[-1], Assign):
            return
        unread = [
            param
            for param in (*node.params.params, *node.params.kwonly_params)
            if chooses(param.name.value) == "flavour" and not _mentions(node.body, param.name.value)
        ]
        if unread:
            self._lambdas.append((node, unread, symbol(self._walk.path)))

    def _kind(self, param: Param, moment: Moment) -> str:
        if param.annotation is not None:
            row = find(self._names.resolve(param.annotation.annotation, moment))
            if row is not None and row.kind == "class" and row.keyword:
                return "module"
        return chooses(param.name.value) or ("perhaps" if param.name.value not in ("self", "cls") else "")

    def visit_ClassDef(self, node: ClassDef) -> None:
        words = {last_name(base.value) for base in node.bases}
        made = [last_name(getattr(d.decorator, "func", d.decorator)) for d in node.decorators]
        if not any(_FIELDS.fullmatch(word) for word in (*words, *made)):
            return
        chosen: list[tuple[Name, CSTNode | None, str]] = []
        for statement in node.body.body:
            for item in getattr(statement, "body", ()) if type(statement).__name__ == "SimpleStatementLine" else ():
                if isinstance(item, AnnAssign) and isinstance(item.target, Name):
                    kind = chooses(item.target.value)
                    if kind and last_name(item.annotation.annotation) != "ClassVar":
                        chosen.append((item.target, item.value, kind))
        if chosen:
            self._found.append(_Found(node, node, tuple(chosen), tuple(self._walk.path), ""))

    def nodes(self) -> Iterator[CSTNode]:
        """The nodes that ``defs`` needs the places of."""
        for found in self._found:
            for node in (found.node, found.owner):
                if node is not None:
                    yield from (node.name, node.body)
            for name, _, _ in found.parameters:
                yield name
        yield from self._calls
        for function, unread, _ in self._lambdas:
            yield function
            yield from (param.name for param in unread)

    def defs(self, draft: Draft, sites: Sequence[Site], swaps: Sequence[Swap]) -> Iterator[Def]:
        """The functions and classes, in source order, that stand in or around a class with a GELU, or replace one."""
        blocks = Blocks(draft)
        rows = [site.span.row for site in sites]
        rows += [swap.rows[0] for swap in swaps if swap.kind == "patch"]
        rows = sorted((*rows, *(swap.span.row for swap in swaps if swap.kind == "helper")))
        makers = {_maker(site) for site in sites}
        made = sorted(draft.span(call).row for call in self._calls if call.value in makers)
        refuses = "isinstance" in draft.whole and "GELU" in draft.whole  # see _checked
        wanted: list[tuple[_Found, FunctionDef | ClassDef]] = []
        for found in self._found:
            if not refuses and all(kind == "perhaps" for _, _, kind in found.parameters):
                continue
            given = found.owner is not None and (found.node is found.owner or found.node.name.value in _GIVEN)
            wraps = any(kind == "module" for _, _, kind in found.parameters)
            wide = found.owner if found.owner is not None and (given or wraps) else found.node
            first, last = blocks.rows(wide)
            near = _any_between(rows, first, last)
            if near or (given and _any_between(made, first, last) and _only_named(found, blocks)):
                wanted.append((found, wide))
        owners = {found.owner.name.value for found, _ in wanted if found.owner is not None}
        for found, wide in wanted:
            told = _def(found, blocks, draft, owners)
            kinds = {parameter.kind for parameter in told.parameters}
            if kinds - {"settings"} or (kinds and says_width(blocks.of(wide).text)):
                yield told
        for node, unread, around in self._lambdas:
            span = draft.span(node)
            if _any_between(rows, span.row, span.end_row):
                yield _lambda(node, unread, around, span, draft.statement(node), draft)


def _any_between(rows: Sequence[int], first: int, last: int) -> bool:
    """Whether one of the sorted ``rows`` lies there."""
    at = bisect_left(rows, first)
    return at < len(rows) and rows[at] <= last


def _maker(site: Site) -> str:
    """The class whose constructor takes an activation and has a GELU as its default, "" for other sites."""
    owner, _, function = site.symbol.rpartition(".")
    maker = site.form == "default" and function == "__init__" and chooses(site.key) == "activation"
    return owner.rpartition(".")[2] if maker else ""


def _only_named(found: _Found, blocks: Blocks) -> bool:
    """Whether one line of a class alone, the header of its constructor, mentions an activation that it takes."""
    if not isinstance(found.node, FunctionDef) or found.owner is None or found.node.name.value != "__init__":
        return False
    block = blocks.of(found.owner)
    names = [name.value for name, _, kind in found.parameters if kind == "activation"]
    return any(sum(name in WORD.findall(line.text) for line in block.holding(name)) == 1 for name in names)


def _lambda(
    node: Lambda, unread: Sequence[Param], around: str, span: Span, statement: tuple[int, int], draft: Draft
) -> Def:
    rows = (span.row, span.end_row)
    parameters = []
    for param in unread:
        known, value = literal(param.default) if param.default is not None else (False, None)
        kind, at = chooses(param.name.value), draft.span(param.name)
        row = Parameter(param.name.value, kind, at, draft.statement(param.name), known, value, "unread", "", "", False)
        parameters.append(row)
    return Def("lambda", around, "", span, statement, rows, rows, tuple(parameters), "", (), True, (), "", (), False)


def _mentions(node: CSTNode, name: str) -> bool:
    """Whether a name stands in an expression."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Name) and item.value == name:
            return True
        if isinstance(item, Arg):
            waiting.append(item.value)  # its keyword is no name
        else:
            waiting.extend(children(item))
    return False


def _def(found: _Found, blocks: Blocks, draft: Draft, owners: Iterable[str]) -> Def:
    block = blocks.of(found.node)
    around = blocks.of(found.owner) if found.owner is not None else block
    node, owner = found.node, found.owner
    kind = "function"
    if isinstance(node, ClassDef):
        kind = "fields"
    elif owner is not None:
        kind = "init" if node.name.value in _GIVEN else "method"
    bases = [last_name(base.value) for base in owner.bases] if owner is not None else []
    known = all(_BASES.fullmatch(base) for base in bases) and _RUNS.isdisjoint(bases)
    kinds = {what for _, _, what in found.parameters}
    settings = [name.value for name, _, what in found.parameters if what == "settings"]
    keys = _keys(settings, around) if settings else ()
    checked = _checked(block)
    parameters = (
        _parameter(found, name, default, what, block, around, blocks, draft)
        for name, default, what in found.parameters
        if what != "perhaps" or name.value in checked
    )
    decorators = node.decorators if isinstance(node, FunctionDef) else ()
    return Def(
        kind,
        symbol((*found.path, node)),
        owner.name.value if owner is not None else "",
        draft.span(node.name),
        draft.statement(node.name),
        block.rows,
        around.rows,
        tuple(parameters),
        found.first,
        tuple(last_name(getattr(d.decorator, "func", d.decorator)) for d in decorators),
        known,
        keys,
        _sight(settings, around, block, draft) if any(map(says_width, keys)) else "",
        tuple(sorted(filter(around.calls, owners))) if "activation" in kinds else (),
        not kinds.isdisjoint(("module", "perhaps")) and "approx" in around.text and _approximates(around),
    )


def _parameter(
    found: _Found,
    name: Name,
    default: CSTNode | None,
    kind: str,
    block: Block,
    around: Block,
    blocks: Blocks,
    draft: Draft,
) -> Parameter:
    word = name.value
    if kind == "perhaps":
        kind = "module"
    known, value = literal(default) if default is not None else (False, None)
    fate, held, text = "read", "", ""
    if kind in ("flavour", "activation"):
        fate, held, text = _fate(found, word, block, around, blocks)
    elif kind == "module" and not any(
        around.runs(held) for held in (word, *(f".{attribute}" for attribute in block.stores(word)))
    ):
        fate = "unread"
    waived = fate != "read" and _waived(word, block, around)
    span, statement = draft.span(name), draft.statement(name)
    return Parameter(word, kind, span, statement, known, value, fate, held, text, waived)


def _approximates(around: Block) -> bool:
    return any(_APPROXIMATES.search(line.text) for line in around.holding("approx"))


def _checked(block: Block) -> set[str]:
    """The parameters for which a function refuses everything but a GELU."""
    if "isinstance" not in block.text or "GELU" not in block.text:
        return set()
    found = (_REFUSES.match(line.code) for line in block.below)
    return {refused[1] or refused[2] for refused in found if refused is not None}


def _fate(found: _Found, name: str, block: Block, around: Block, blocks: Blocks) -> tuple[str, str, str]:
    """What becomes of a parameter: how it ends, the attribute that holds it, and the literal that it is set to."""
    owner = found.owner
    if isinstance(found.node, ClassDef):
        unread = not around.reads_attribute(name) and not blocks.read_elsewhere(around, name, owner.name.value)  # type: ignore[union-attr]
        return ("stored" if unread and not around.reads_all() else "read"), name, ""
    if block.reads_all():
        return "read", "", ""
    loads = block.loads(name)
    held, text = block.overwrites(name, "approx" if chooses(name) == "flavour" else "")
    if held:
        kept = block.stores(name)  # and then written over
        seen = bool(loads) and held.startswith("self.") and {f"self.{attribute}" for attribute in kept} != {held}
        return ("read", "", "") if seen else ("overwritten", held, text)
    if not loads:
        # A decorator may keep what is given: @register_to_config.
        in_class = owner is not None and bool(found.node.decorators) and around.reads_attribute(name)
        return ("read" if in_class else "unread"), "", ""
    stored = block.stores(name)
    if not stored or owner is None:
        return "read", "", ""
    for attribute in stored:
        if around.reads_attribute(attribute) or blocks.read_elsewhere(around, attribute, owner.name.value):
            return "read", "", ""
    return "stored", stored[0], ""


def _waived(name: str, block: Block, around: Block) -> bool:
    """Whether the header, a docstring or a comment says that a parameter is not used."""
    said = "\n".join((block.header.text, block.docstring(), around.docstring(), block.text[:4000]))
    said = _DIRECTIVE.sub("", said)
    if _UNUSED.search(said):
        return True
    word = re.escape(name)
    near = rf"(?i:\b{word}\b[^\n]{{0,100}}?(?:{_WAIVES})|(?:{_WAIVES})[^\n]{{0,60}}?\b{word}\b)"
    return re.search(near, said) is not None


def _keys(settings: Sequence[str], around: Block) -> tuple[str, ...]:
    """What a class reads of its settings; "[key]" by its name, and "*name" for a call that all goes to."""
    found: set[str] = set()
    for name in settings:
        word = rf"(?<!\w)(?:self\.)?_?{re.escape(name)}"
        plain = lazy(rf"{word}(?:\.\w+)*?\.(\w+)")
        named = lazy(rf"{word}(?:\.get\(|\[|\s*,)\s*[\"'](\w+)[\"']")
        handed = lazy(rf"{word}\s*[,)]")
        whole = lazy(rf"(\w+)\(\s*(?:\w+\s*=\s*)?(?:[^()]*,\s*)?{handed.pattern}")
        for line in around.holding(name):
            found.update(plain.findall(line.code))
            if '"' in line.text or "'" in line.text:
                found.update(f"[{key}]" for key in named.findall(line.text))
            if handed.search(line.code):
                found.update("*" + call for call in whole.findall(line.code))
    return tuple(sorted(found))


def _sight(settings: Sequence[str], around: Block, block: Block, draft: Draft) -> str:
    """Whether the settings are known to have a key for the activation."""
    whole = draft.whole
    named = "|".join(map(re.escape, settings))
    annotated = re.findall(rf"\b(?:{named})\s*:\s*[\"']?([\w.]+)", f"{block.header.text}\n{around.text}")
    defined = _CLASSES.findall(whole)
    wanted = [name for name in defined if name in annotated] if annotated else defined
    bodies = [_body(name, whole) for name in wanted]
    if any(_refuses(body) for body in bodies):
        return "none"  # one activation is all that it accepts
    if any(chooses(word) in ("activation", "flavour") for body in bodies for word in _FIELD.findall(body)):
        return "key"
    if wanted:
        return "none"
    if _READS_KEY.search(whole) and _READS_KEY.search(_COMMENT.sub("", code(whole))):
        return "read"
    for module, names in _IMPORTED.findall(whole) if annotated else ():
        known = module.startswith("transformers")
        if not known and any(re.search(rf"\b{re.escape(name)}\b", names) for name in annotated):
            return "away"
    return ""


def _body(name: str, whole: str) -> str:
    """The body of the first class of a name, "" where it has none."""
    rows = r"((?:(?:\1[ \t]+[^\n]*|[ \t\r]*)(?:\n|\Z))*)"
    found = re.search(rf"^([ \t]*)class[ \t]+{name}\b[^\n]*\n{rows}", whole, re.MULTILINE)
    return found[2] if found is not None else ""


def _refuses(body: str) -> bool:
    """Whether a class raises on any activation but some."""
    rows = [row.strip() for row in body.split("\n")]
    return any(
        first.startswith("if ")
        and "act" in first
        and ("!=" in first or " not in " in first)
        and second.startswith("raise")
        for first, second in pairwise(rows)
    )
