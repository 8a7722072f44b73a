"""The arguments of a call as facts, and the place where one more keyword can be written."""

from __future__ import annotations

from gelu_lint.model import Argument, Slot, Value
from gelu_lint.sites.draft import Draft
from gelu_lint.tree.literals import literal
from gelu_lint.tree.names import Names
from gelu_lint.tree.nodes import Arg, BaseExpression, Call, CSTNode, GeneratorExp, Name, ParenthesizedWhitespace
from gelu_lint.tree.walk import Moment


def nodes_of(call: Call) -> list[CSTNode]:
    """The nodes that must be placed before ``arguments`` and ``slot`` can be told."""
    wanted: list[CSTNode] = [call, call.func, call.whitespace_before_args]
    for arg in call.args:
        wanted += [arg, arg.value, getattr(arg.comma, "whitespace_after", arg.whitespace_after_arg)]
    return wanted


def arguments(call: Call, names: Names, moment: Moment, draft: Draft, skip: int = 0) -> tuple[Argument, ...]:
    """The arguments after the first ``skip`` (those of ``partial`` before the callable's own)."""
    found = []
    for arg in call.args[skip:]:
        known, value = _value(arg.value, names, moment)
        found.append(
            Argument(
                draft.span(arg),
                draft.span(arg.value),
                arg.keyword.value if isinstance(arg.keyword, Name) else "",
                arg.star,
                known == "literal",
                value,
                draft.text(arg.value) if known != "constant" else f"{draft.text(arg.value)} = {value!r}",
            )
        )
    return tuple(found)


def _value(node: BaseExpression, names: Names, moment: Moment) -> tuple[str, Value]:
    known, value = literal(node)
    if known:
        return "literal", value
    constant = names.constant(node, moment)
    if constant is not None:
        known, value = literal(constant)
        if known:
            return "constant", value
    return "", None


def slot(call: Call, draft: Draft) -> Slot | None:
    """Where ``keyword=value`` goes so that no other byte changes; None where none fits (a bare generator)."""
    opened = draft.start(call.whitespace_before_args)
    if not call.args:
        return Slot(draft.point(opened), "", "")
    last = call.args[-1]
    if isinstance(last.value, GeneratorExp) and not last.value.lpar:
        return None
    comma = getattr(last.comma, "whitespace_after", None)
    end = draft.end(last) if comma is None else draft.start(comma)
    own_line = _own_line(last, draft)
    if own_line is not None and comma is not None:
        return Slot(draft.point(draft.line_end(end)), own_line, ",")
    if own_line is not None and not draft.comment_after(end):
        return Slot(draft.point(end), "," + own_line, "")
    return Slot(draft.point(end), " " if comma is not None else ", ", "," if comma is not None else "")


def _own_line(last: Arg, draft: Draft) -> str | None:
    """The line end and indentation of an argument list written one argument a line, else None."""
    first = draft.start(last)
    indent = draft.indent_before(first)
    trailing = getattr(last.comma, "whitespace_after", last.whitespace_after_arg)
    if indent is None or not isinstance(trailing, ParenthesizedWhitespace):
        return None
    return draft.newline_before(first) + indent
