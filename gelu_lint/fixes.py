"""Building blocks of fixes: text edits at the anchors that facts carry."""

from __future__ import annotations

from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import callables
from gelu_lint.imports import reach
from gelu_lint.model import Argument, Edit, FileSummary, Fix, Held, Project, Site, Slot, Span, Value


def spell(value: Value, quote: str) -> str:
    """``value`` as source, strings in the quote of the file."""
    return f"{quote}{value}{quote}" if isinstance(value, str) else repr(value)


def insert(slot: Slot | None, keyword: str, value: Value, quote: str) -> Edit | None:
    """The edit that adds ``keyword=value`` to a call, None where there is no place for it."""
    if slot is None:
        return None
    return Edit(slot.span, f"{slot.before}{keyword}={spell(value, quote)}{slot.after}")


def before(span: Span, text: str) -> Edit:
    """The edit that puts ``text`` in front of ``span``."""
    return Edit(Span(span.row, span.column, span.row, span.column), text)


def remove(argument: Argument, arguments: tuple[Argument, ...]) -> Edit | None:
    """The edit that takes one argument out of a call, with the comma that parted it from its neighbour.

    None where they stand on different rows: what lies between may be a comment.
    """
    index = arguments.index(argument)
    span = argument.span
    if index > 0:
        left = arguments[index - 1].span
        cut = Span(left.end_row, left.end_column, span.end_row, span.end_column)
    elif len(arguments) > 1:
        right = arguments[1].span
        cut = Span(span.row, span.column, right.row, right.column)
    else:
        cut = span
    return Edit(cut, "") if cut.row == cut.end_row else None


def can_choose(row: Callable, project: Project) -> bool:
    """Whether every declared version of the framework has the choosing argument."""
    floor = project.floor(row.framework)
    return floor is None or not row.since or floor >= row.since


def why_not(row: Callable, project: Project) -> str:
    """Why no fix may write the choosing argument, as an addition to a message; "" where one may."""
    floor = project.floor(row.framework)
    if can_choose(row, project) or floor is None:
        return ""
    oldest, since = (".".join(map(str, version)) for version in (floor, row.since))
    return f" (no fix: the project accepts {row.framework} {oldest}, and {row.keyword} came with {since})"


def as_function(file: FileSummary, held: Held, flavour: str, delta: float | None) -> Fix | None:
    """Hand over ``partial(F.gelu, approximate=…)`` in the place of a GELU module, where that stands on its own: a layer
    of torch keeps a function, and looks into no partial. None where it does not, or no name for it is at hand."""
    row = callables()["torch.nn.functional.gelu"]
    if "#" in held.text or not held.quote or not held.inline:
        return None
    partial, function = reach(file, "functools.partial"), reach(file, row.name)
    if partial is None or function is None:
        return None
    text = f"{partial[0]}({function[0]}, {row.keyword}={spell(row.value_for(flavour), held.quote)})"
    return Fix(
        f"hand over {text}", (Edit(held.span, text),), (*partial[1], *function[1]), delta=delta, reach="interface"
    )


def fused(held: Held, file: FileSummary) -> bool:
    """Whether torch may run the layer that a GELU module is given to as one kernel, which knows erf alone."""
    if held.keeper != "layer" or held.form != "module" or held.gelu != "torch.nn.GELU":
        return False
    decides = dict(held.decides)
    heads = decides.get("nhead")
    odd = isinstance(heads, int) and heads % 2 == 1
    if odd or decides.get("custom_encoder") is not None or any(use.kind == "slowpath" for use in file.uses):
        return False
    return decides.get("batch_first") is True and decides.get("bias") is True


def overruled(site: Site, flavour: str, file: FileSummary) -> bool:
    """Whether what is written at a site does not decide in eval: GEL030 would speak of the tanh that a fix writes."""
    return flavour == "tanh" and any(held.made == site.span and fused(held, file) for held in file.held)


def default_of(row: Callable, policy: str) -> tuple[Value, str]:
    """The value to write where none is given, and its flavour: the policy's if the callable has it, else today's."""
    if policy and row.can_select(policy):
        return row.value_for(policy), policy
    return row.default, row.flavour
