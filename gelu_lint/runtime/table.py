"""What a probe found, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gelu_lint.reports.text import aligned, plural, printable
from gelu_lint.runtime.naming import common, pattern
from gelu_lint.runtime.phrases import phrase

if TYPE_CHECKING:
    from gelu_lint.runtime.probe import Activation, Report

_HEADS = ("path", "computes", "spelling", "by", "calls", "claim", "verdict")


def rows(report: Report) -> list[dict[str, Any]]:
    """One row an activation; a number that is not finite is null."""
    return [
        {
            "path": found.path,
            "spelling": found.spelling,
            "callee": found.callee,
            "flavour": found.identity.flavour,
            "parameter": found.identity.parameter,
            "nearest": found.identity.nearest,
            "why": found.identity.why,
            "error": _finite(found.identity.error),
            "at": _finite(found.identity.at),
            "mode": found.mode,
            "calls": found.calls,
            "claimed": found.claimed,
            "claim": found.claim,
            "verdict": verdict(found),
            "problem": found.problem,
        }
        for found in report.activations
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def verdict(found: Activation) -> str:
    """Whether an activation is what it is given out for: "right", "wrong", or "" where nothing says what it is."""
    return "wrong" if found.problem else "right" if found.claim else ""


def text(report: Report) -> Iterator[str]:
    """A table, in which what layers have in common is one line; then the problems and a summary."""
    groups: dict[tuple[str, ...], list[Activation]] = {}
    for found in report.activations:
        key = (pattern(found.path), found.mode, *_cells(found), found.problem)
        groups.setdefault(key, []).append(found)
    table = [_HEADS]
    for members in groups.values():
        first = members[0]
        path = common([member.path for member in members]) + (f" ({len(members)})" if len(members) > 1 else "")
        computes, spelling, by, claim, state = _cells(first)
        mode = "" if first.mode == "both" else f" ({first.mode})"
        calls = str(sum(member.calls for member in members))
        table.append((printable(path) or "(the model)", computes, spelling + mode, _short(by), calls, claim, state))
    if report.activations:
        yield from aligned(table)
        yield ""
    for problem in report.problems:
        yield printable(problem)
    count = sum(bool(found.problem) for found in report.activations)
    what = plural(len(report.activations), "activation") if report.activations else "no activation"
    yield (
        f"{what}, {plural(count, 'problem') if count else 'no problem'}"
        if report.activations
        else "no activation found"
    )


def _cells(found: Activation) -> tuple[str, str, str, str, str]:
    computes = phrase(found.identity).removeprefix("the ")
    return computes, found.spelling, printable(found.callee), printable(found.claim), verdict(found)


def _short(name: str) -> str:
    """The last two parts of a dotted name."""
    return printable(".".join(name.split(".")[-2:]))
