"""A choice of GELU that is lost on its way: which parameters, swaps and configs lose it, and what would keep it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.facts.table import callables
from gelu_lint.handwritten import distance, internal, label
from gelu_lint.model import Def, Edit, FileSummary, Parameter, Site, Span, Swap
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import GELUS, between
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_backward, is_mock, is_reference, is_test, words

#: Flavours that people mean by GELU.
#: So many rows at most has a class that is but an activation.
_SHORT = 15
_USED = ("call", "partial", "super", "formula", "attribute", "argument", "variable", "return", "element")
#: Decorators of functions whose signature somebody else lays down.
_LAID_DOWN = lazy(
    r"(?i)overload|abstract|override|register|impl|symbolic|dispatch|decomp|lower|fake|custom_op|infer|trace|jit_ignore"
)
_FLAVOUR_WORDS = frozenset(("tanh", "erf", "exact", "new", "accurate", "fast", "quick", "precise", "sigmoid", "approx"))
#: Keys of settings that say how wide the inside of a feed-forward block is.
_WIDTH = lazy(
    r"(?:(?:encoder|decoder|text|vision|audio|moe|shared_expert)_)?(?:intermediate_(?:size|dim|features)|ffn_\w+|d_?ffn?|dim_ffn?|"
    r"ffn?_(?:dim|size|hidden|hidden_dim|hidden_size|mult)|n_inner|d_inner|inner_hidden_size|mlp_(?:dim|size|hidden|hidden_dim|"
    r"hidden_size)|feed_?forward_(?:dim|size|hidden|hidden_size)|dim_feed_?forward|d_mlp|filter_size)"
)
#: The same, where it is known that the settings have an activation.
_RATIO = lazy(r"mlp_(?:ratio|mult|width|expansion)|expansion_(?:factor|ratio)|widening_factor|n_embd")
#: Keys of settings that may choose an activation.
_ACTIVATION = lazy(
    r"act(?:$|_|ivation|fn|layer|func|type)|nonlin|(?:^|_)(?:swi|ge|re)?glu|gelu|silu|relu|swish|approx|feed_forward_proj"
)
#: Blocks whose GELU belongs to the design, whatever activation the layers have.
_DESIGNED = lazy(
    r"(?i)head|pool|classif|proj|embed|lm|merger|patch|conv|^pos|position|adapter|predict|connector|fusion|router|gate(?!d)|stem|"
    r"downsample|upsample|resampler|bridge|cls|time|final|mask|condition|gelu|factory|encoder$|decoder$|model$|^GLU$"
)


class Loss(NamedTuple):
    """One choice that is lost: where to say so, and what. ``site`` may be edited to hold ``text``."""

    span: Span
    statement: tuple[int, int]
    symbol: str
    message: str
    severity: str
    site: Site | None = None
    text: str = ""
    related: tuple[Span, str] | None = None


def losses(file: FileSummary) -> tuple[Loss, ...]:
    """What is lost in a file, in source order, one finding a place."""
    if not (file.defs or file.swaps) or is_test(file.place) or internal(file):
        return ()
    sites = [site for site in file.sites if is_fixed(site)]
    found: dict[Span, Loss] = {}
    for loss in (
        *_unread(file),
        *_wrapped(file, sites),
        *_patched(file),
        *_swapped(file, sites),
        *_settings(file, sites),
    ):
        found.setdefault(loss.span, loss)
    return tuple(found[span] for span in sorted(found))


def is_fixed(site: Site, *, chosen: bool = False) -> bool:
    """Whether a site computes the same GELU whatever its surroundings are given.

    ``chosen`` admits formulas beside a parameter that by its name chooses: perhaps it is the one that nothing reads.
    """
    if (
        site.form not in _USED
        or site.place in ("default", "table")
        or site.flavour not in GELUS
        or site.tested
        or is_backward(site.symbol)
    ):
        return False
    if site.guard not in ("", "raises"):
        return False  # it stands in for what may be missing
    if site.formula is not None and (site.formula.kernel or (site.formula.several and not chosen)):
        return False
    return site.given in ("absent", "literal", "constant", "fixed")


def _silent(symbol: str, decorators: Sequence[str] = ()) -> bool:
    """Whether the place says that its signature or its GELU is not its own."""
    if is_test("", symbol) or is_reference(symbol) or is_mock(symbol) or is_backward(symbol):
        return True
    return any(_LAID_DOWN.search(decorator) for decorator in decorators)


def _within(sites: Sequence[Site], rows: tuple[int, int]) -> list[Site]:
    return [site for site in sites if rows[0] <= site.span.row <= rows[1]]


def _unread(file: FileSummary) -> Iterator[Loss]:
    """Parameters that are accepted and then not read."""
    sites = [site for site in file.sites if is_fixed(site, chosen=True)]
    patches = {swap.rows for swap in file.swaps if swap.kind == "patch"}
    for each in file.defs:
        if _silent(each.symbol, each.decorators) or each.first == "ctx":
            continue
        rows = each.owner_rows if each.kind in ("init", "fields") else each.rows
        inside = _within(sites, rows)
        if len({site.flavour for site in inside}) > 1:
            inside = [site for site in inside if site.formula is None or not site.formula.several]
        for parameter in each.parameters:
            if parameter.kind not in ("flavour", "activation") or parameter.fate == "read" or parameter.waived:
                continue
            if isinstance(parameter.default, (bool, int, float)) and parameter.kind == "activation":
                continue  # whether there is one, not which
            if each.kind == "method" and (parameter.kind == "activation" or not each.known_base):
                continue  # the signature may be that of its base
            if parameter.kind == "activation" and (_DESIGNED.search(each.owner) or _chooses(file, rows)):
                continue
            if parameter.fate == "stored" and not each.known_base:
                continue  # the base may read it
            if parameter.fate == "overwritten":
                yield from _overwritten(file, each, parameter, rows)
            elif inside:
                if parameter.kind == "flavour" and _FLAVOUR_WORDS & words(
                    f"{each.owner} {each.symbol}".replace(".", " ")
                ):
                    continue  # gelu_tanh(x, approximate): the name is the choice
                yield _ignored(each, parameter, inside, patches)
            elif each.kind == "function" and each.rows in patches and parameter.kind == "flavour":
                message = (
                    f"{parameter.name} is accepted and never read, by what takes the place of a GELU that reads it"
                )
                yield Loss(parameter.span, parameter.statement, each.symbol, message, "warning")
            else:
                yield from _kept_back(file, each, parameter)


def _chooses(file: FileSummary, rows: tuple[int, int]) -> bool:
    """Whether a table or test in these rows has a name for a GELU."""
    return any(use.kind == "key" and rows[0] <= use.span.row <= rows[1] for use in file.uses)


def _ignored(each: Def, parameter: Parameter, inside: Sequence[Site], patches: set[tuple[int, int]]) -> Loss:
    """A parameter beside a GELU that does not heed it."""
    site = inside[0]
    how = "accepted and never read"
    if parameter.fate == "stored":
        how = (
            f"kept as self.{parameter.held}, which nothing reads"
            if each.kind != "fields"
            else "a field that nothing reads"
        )
    what = f"{_written(site)} computes {label(site.flavour)} whatever it is"
    message = f"{parameter.name} is {how}: {what}"
    severity = "warning" if parameter.kind == "flavour" else "info"
    if parameter.kind == "flavour":
        message += _apart(site.flavour)
    elif isinstance(parameter.default, str) and parameter.default and "gelu" not in parameter.default.lower():
        severity = "warning"
        message += f", even with the default {parameter.default!r}"
    edited, text = _keepable(each, parameter, inside)
    return Loss(parameter.span, parameter.statement, each.symbol, message, severity, edited, text, (site.span, what))


def _apart(flavour: str) -> str:
    """How far erf and tanh are apart, where one of them is computed."""
    if flavour not in ("erf", "tanh"):
        return ""
    gap = between("erf", "tanh")
    return f" ({'tanh' if flavour == 'erf' else 'erf'} is {distance(gap.size, gap.at)})"


def _written(site: Site) -> str:
    """What to call a site in a message."""
    return (
        f"the formula in line {site.span.row}"
        if site.spelling == "formula"
        else f"{site.written} in line {site.span.row}"
    )


def _keepable(each: Def, parameter: Parameter, inside: Sequence[Site]) -> tuple[Site | None, str]:
    """The site that can take the parameter, and the argument to write; only where today's default stays what it is."""
    if parameter.kind != "flavour" or not parameter.literal or len(inside) != 1:
        return None, ""
    site = inside[0]
    row = callables().get(site.callee)
    if row is None or not row.keyword or row.required or site.form not in ("call", "partial"):
        return None, ""
    same = row.flavour_of(parameter.default)
    if same != site.flavour or any(argument.star for argument in site.arguments):
        return None, ""
    if parameter.fate == "unread" and site.symbol == each.symbol:
        return site, parameter.name
    if parameter.fate == "stored" and site.symbol.rpartition(".")[0] == (
        each.symbol if each.kind == "fields" else each.symbol.rpartition(".")[0]
    ):
        return site, f"self.{parameter.held}"
    return None, ""


def _overwritten(file: FileSummary, each: Def, parameter: Parameter, rows: tuple[int, int]) -> Iterator[Loss]:
    """A parameter whose place a literal takes."""
    for site in _within(file.sites, rows):
        given = [argument.text for argument in site.arguments if argument.text.split(" = ")[0] == parameter.held]
        if given:
            message = (
                f"{parameter.name} is accepted and never read: {site.written} in line {site.span.row} gets "
                f"{parameter.held}, which is {parameter.text} whatever was given"
            )
            if parameter.kind == "flavour":
                gap = between("erf", "tanh")
                message += f" (erf and tanh: {distance(gap.size, gap.at)})"
            yield Loss(parameter.span, parameter.statement, each.symbol, message, "warning")
            return


def _kept_back(file: FileSummary, each: Def, parameter: Parameter) -> Iterator[Loss]:
    """An activation that is not handed on to a layer of this file that takes one, and else has a GELU."""
    if parameter.kind != "activation" or parameter.fate == "overwritten":
        return
    for inner in file.defs:
        if inner.kind != "init" or inner.owner not in each.calls or inner.owner == each.owner:
            continue
        for own in inner.parameters:
            defaults = [s for s in _within(file.sites, inner.rows) if s.form == "default" and s.key == own.name]
            if own.kind == "activation" and own.fate == "read" and defaults:
                message = (
                    f"{parameter.name} is accepted and never read: {inner.owner} takes {own.name}, is not "
                    f"handed it, and falls back on {defaults[0].written}"
                )
                yield Loss(
                    parameter.span, parameter.statement, each.symbol, message, "info", related=(own.span, own.name)
                )
                return


def _wrapped(file: FileSummary, sites: Sequence[Site]) -> Iterator[Loss]:
    """Wrappers of a GELU module that compute one of their own."""
    for each in file.defs:
        if _silent(each.symbol, each.decorators) or each.approximates:
            continue
        inside = _within(sites, each.owner_rows)
        for parameter in each.parameters:
            if parameter.kind == "module" and parameter.fate == "unread" and inside and not parameter.waived:
                message = (
                    f"{parameter.name} is a GELU whose approximate is lost: {_written(inside[0])} computes "
                    f"{label(inside[0].flavour)} whatever it was{_apart(inside[0].flavour)}"
                )
                yield Loss(parameter.span, parameter.statement, each.symbol, message, "warning")


def _patched(file: FileSummary) -> Iterator[Loss]:
    """What takes the place of a function or class of a framework and does not take its argument."""
    for swap in file.swaps:
        if _silent(swap.symbol) or swap.rows == (0, 0):
            continue
        row = callables()[swap.subject] if swap.kind in ("patch", "patched method") else None
        if row is None:
            continue
        if swap.kind == "patch" and not swap.accepts:
            message = f"takes the place of {row.name} without its {row.keyword}: whoever passes that gets a TypeError"
            yield Loss(swap.named, swap.statement, swap.symbol, message, "warning")
        elif swap.kind == "patched method" and not swap.keeps:
            inside = _within([site for site in file.sites if is_fixed(site)], swap.rows)
            if inside:
                message = (
                    f"takes the place of {row.name}'s method without a look at its {row.keyword}: computes "
                    f"{label(inside[0].flavour)} for every one{_apart(inside[0].flavour)}"
                )
                yield Loss(swap.named, swap.statement, swap.symbol, message, "warning")


def _swapped(file: FileSummary, sites: Sequence[Site]) -> Iterator[Loss]:
    """GELUs that are replaced by GELUs without a look at which they were."""
    every = {site.span: site for site in file.sites}
    for swap in file.swaps:
        if swap.kind != "swap" or swap.keeps or _silent(swap.symbol):
            continue
        site = every.get(swap.span)
        if site is not None:
            handed = site.spelling == "reference" and site.form == "table"
            if site.given == "absent" and (site.form in ("call", "partial") or handed) and site.flavour in GELUS:
                row = callables()[site.callee]
                text = f"{swap.subject}.approximate" if row.framework == "torch" and not handed else ""
                message = (
                    f"{swap.subject} is a GELU whose approximate is lost: {site.written} computes "
                    f"{label(site.flavour)} in its place{_apart(site.flavour)}"
                )
                yield Loss(swap.span, swap.statement, swap.symbol, message, "warning", site if text else None, text)
        elif not _FLAVOUR_WORDS & words(swap.made) and _is_activation(swap):
            inside = [s for s in _within(sites, swap.rows) if s.flavour in ("erf", "tanh")]
            if inside:
                message = (
                    f"{swap.subject} is a GELU whose approximate is lost: {swap.made} computes "
                    f"{label(inside[0].flavour)} in its place{_apart(inside[0].flavour)}"
                )
                yield Loss(swap.span, swap.statement, swap.symbol, message, "warning")


def _is_activation(swap: Swap) -> bool:
    """Whether what is put in the place of a GELU is an activation, rather than something that has one."""
    name, short = swap.made.lower(), swap.rows[1] - swap.rows[0] <= _SHORT
    return "gelu" in name or "act" in words(swap.made) or (short and swap.made.rpartition(".")[2][:1].isupper())


def _settings(file: FileSummary, sites: Sequence[Site]) -> Iterator[Loss]:
    """Feed-forward blocks that take their widths from a config, and their activation from nowhere."""
    for each in file.defs:
        names = [parameter.name for parameter in each.parameters if parameter.kind == "settings"]
        if (
            each.kind not in ("init", "fields")
            or not names
            or each.sight in ("none", "away")
            or _silent(each.symbol, each.decorators)
        ):
            continue
        if _DESIGNED.search(each.owner) or any(_ACTIVATION.search(key.strip("[]")) for key in each.keys):
            continue
        widths = [key for key in each.keys if _WIDTH.fullmatch(key) or (each.sight == "key" and _RATIO.fullmatch(key))]
        if not widths:
            continue
        if not each.known_base and "*__init__" in each.keys:
            continue
        if any(p.kind in ("flavour", "activation") for p in each.parameters):
            continue  # the choice comes by a parameter of its own
        places: list[tuple[Span, tuple[int, int], str, Site]] = [
            (site.span, site.statement, _of(site), site)
            for site in _within(sites, each.owner_rows)
            if each.sight == "key" or "gated" not in each.owner.lower()
        ]
        for swap in file.swaps:
            if swap.kind == "helper" and each.owner_rows[0] <= swap.span.row <= each.owner_rows[1]:
                inside = [s for s in _within(sites, swap.rows) if s.formula is None or not s.formula.deliberate]
                if each.sight not in ("key", "read") and "geglu" not in swap.made.lower():
                    continue  # whether there is a key to read is not known
                places += [(swap.span, swap.statement, swap.made, site) for site in inside[:1]]
        if places:
            span, statement, written, site = min(places)
            message = (
                f"{written} is {label(site.flavour)} whatever {names[0]} says: {each.owner} reads "
                f"{names[0]}.{widths[0]} and no activation"
            )
            yield Loss(span, statement, each.symbol, message, "warning" if each.sight == "key" else "info")


def _of(site: Site) -> str:
    return "the formula" if site.spelling == "formula" else site.written


def edit_of(loss: Loss) -> Edit | None:
    """The edit by which the choice is kept, None where none is certain."""
    site = loss.site
    if site is None or not loss.text:
        return None
    row = callables()[site.callee]
    if site.given == "absent":
        slot = site.slot
        return Edit(slot.span, f"{slot.before}{row.keyword}={loss.text}{slot.after}") if slot is not None else None
    given = next((a for a in site.arguments if a.keyword == row.keyword and (a.literal or " = " in a.text)), None)
    return Edit(given.value_span, loss.text) if given is not None else None


def kept(file: FileSummary) -> frozenset[Span]:
    """The sites at which a fix writes the choice that is lost today: another rule must not write a literal there."""
    return frozenset(loss.site.span for loss in losses(file) if loss.site is not None and edit_of(loss) is not None)
