"""The function that the linter recognises at a place of a file, and the one that it should be there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from gelu_lint.config import forget, settings_for
from gelu_lint.engine import formulas, judge, summarise
from gelu_lint.handwritten import fp16_hazard, label, named, overflow, target
from gelu_lint.kinds import kind_of
from gelu_lint.model import FileSummary, Finding, Project, Site
from gelu_lint.numerics.evaluate import columns, steps
from gelu_lint.numerics.flavours import FLAVOURS, OTHERS, Function, difference
from gelu_lint.numerics.ir import Expr
from gelu_lint.numerics.match import Identity
from gelu_lint.runtime.identities import function_of
from gelu_lint.runtime.phrases import explained
from gelu_lint.source import Unreadable, decode, read_bytes

_PLACE = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?")
#: What is computed in the place of a GELU, by the rules that find that.
_INSTEAD = {"GEL030": "erf", "GEL034": "relu"}


class NothingThere(ValueError):
    """No function is recognised at a place."""


class Found(NamedTuple):
    """A function in a file.

    function  float → float, a derivative if ``slope``
    wanted    the flavour that it claims to be, that the project decided on, or that it is one edit away from: in
              FLAVOURS
    title     where it is and what is wrong with it
    """

    function: Function
    wanted: str
    slope: bool
    title: str


def find(place: str) -> Found:
    """What is recognised at "FILE:ROW" or "FILE:ROW:COLUMN", both from 1, as reports print them.

    Where a rule says that something else is computed than what stands there, that is it. Of several functions in a row
    it is the one that is farthest from what it should be. Raises NothingThere, which
    says where there is one, and config.BadConfig for a broken pyproject.toml.
    """
    split = _PLACE.fullmatch(place)
    if split is None:
        raise NothingThere(f"{place!r} is no FILE:LINE, as in model.py:12")
    path, row, column = split[1], int(split[2]), int(split[3] or 0)
    forget()
    settings = settings_for(os.path.dirname(path) or ".", {})
    try:
        source = decode(path, read_bytes(path, settings.values["max-file-size"]))
    except Unreadable as fault:
        raise NothingThere(f"{path}: {fault.message}") from fault
    summary = summarise(source)
    project = Project(settings.policy)
    every: list[Finding | Site] = [*judge(summary, project, tuple(_INSTEAD), noqa=False), *summary.sites]
    here = [each for each in every if each.span.row <= row <= each.span.end_row]
    here = [each for each in here if (each.span.row, each.span.column + 1) == (row, column)] or here
    if not here:
        raise NothingThere(f"{path}:{row}: {_elsewhere(summary)}")
    drawn = [_instead(each) for each in here if isinstance(each, Finding) and each.code in _INSTEAD]
    if not drawn:
        typed = {(site.span, site.flavour): expr for site, expr in formulas(source)}
        sites = [each for each in here if isinstance(each, Site)]
        known = [_found(site, typed.get((site.span, site.flavour)), project) for site in sites]
        drawn = [found for found in known if found is not None]
    if not drawn:
        raise NothingThere(f"{path}:{row}: which function this is, only the run decides")
    worst = max(drawn, key=_error)
    return worst._replace(title=f"{path}:{row}{worst.title}")


def _elsewhere(summary: FileSummary) -> str:
    rows = sorted({site.span.row for site in summary.sites})
    if rows:
        return f"no GELU is recognised in this line; one is in {_listed(rows)}"
    if summary.faults:
        return summary.faults[0].message
    if kind_of(summary.path) not in ("python", "graph"):
        return "only Python and ONNX files hold functions to draw"
    return "no GELU is recognised in this file"


def _listed(rows: Sequence[int]) -> str:
    shown = [*map(str, rows[:9])]
    if len(rows) > 9:
        return f"lines {', '.join(shown)} and {len(rows) - 9} more"
    return f"line {shown[0]}" if len(rows) == 1 else f"lines {', '.join(shown[:-1])} and {shown[-1]}"


def _instead(finding: Finding) -> Found:
    """What runs in the place of a GELU, held against that."""
    flavour = dict(finding.data)["flavour"]
    wanted = flavour if isinstance(flavour, str) and flavour in FLAVOURS else "erf"
    return Found(function_of(_INSTEAD[finding.code]), wanted, False, f"\n{finding.message}")


def _found(site: Site, expr: Expr | None, project: Project) -> Found | None:
    """A site as a function, None where nothing says which."""
    nearest, why = (site.formula.nearest, site.formula.why) if site.formula is not None else ("", "")
    if site.form == "backward":
        return Found(_evaluated(expr), nearest, True, f"\nnot the derivative of {label(nearest)}") if expr else None
    identity = Identity(site.flavour, parameter=site.parameter, nearest=nearest, why=why)
    if expr is not None:
        function = _evaluated(expr)
    elif site.flavour in FLAVOURS or site.flavour in OTHERS:
        function = function_of(site.flavour)
    else:
        return None
    claim = f", {named(site)}" if site.claims else ""
    return Found(function, _wanted(site, project), False, f"{claim}{_hazard(site)}\n{explained(identity)}")


def _hazard(site: Site) -> str:
    """Where its arithmetic fails, which no picture in float64 shows."""
    kind, half = fp16_hazard(site)
    if kind in ("half", "cuda_autocast"):
        return f"\nits gradient is NaN in float16 from |x| = {half:.4g} on"
    wide = overflow(site)
    precision = "float64" if site.framework in ("numpy", "scipy") else "float32"
    return f"\nNaN in {precision} from x = {wide:.3g} on" if wide is not None else ""


def _wanted(site: Site, project: Project) -> str:
    if site.flavour == "near" and site.formula is not None:
        return site.formula.nearest
    if project.policy and (not site.claimed or project.policy in site.claimed):
        return project.policy
    if site.flavour in site.claimed:
        return site.flavour
    if site.claimed:
        return target(site, project)
    if site.flavour in FLAVOURS:
        return site.flavour
    nearest = site.formula.nearest if site.formula is not None else ""
    return nearest if nearest in FLAVOURS else "erf"


def _evaluated(expr: Expr) -> Function:
    program = steps(expr)
    return lambda x: columns(program, (x,))[-1][0]


def _error(found: Found) -> float:
    flavour = FLAVOURS[found.wanted]
    size = difference(flavour.slope if found.slope else flavour.value, found.function).size
    return float("inf") if size is None else size
