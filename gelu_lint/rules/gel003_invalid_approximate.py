"""An argument that a GELU refuses, or that silently means another flavour than it says.

## What it does
Reports values and arguments that raise (`approximate=True`, `approximate="Tanh"`, `F.gelu(x, "tanh")` by position,
`inplace=True` in torch) and values that are accepted but do not choose what they name (a truthy string where truthiness
decides; timm's `GELU("tanh")`, which lands in a dummy argument and stays erf).

## Why is this bad
`nn.GELU(approximate=True)` constructs, and raises only at the first forward, perhaps after an hour of loading. The
silent ones never raise: the model runs with a flavour that is off by up to 4.7e-4 from the one in the source.
Code under `try`, `hasattr`, a version check or `pytest.raises` knows what it does, and is not reported.

## Fix safety
Where today's code raises, the fix writes the valid value that was meant: no running program changes. Where it runs, the
fix makes the code compute what it says, and states the change (up to 4.7e-4). Where `[tool.gelu-lint] approximate` is
set, the fix writes that flavour instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gelu_lint.facts.record import Callable
from gelu_lint.facts.table import callables
from gelu_lint.fixes import before, can_choose, default_of, overruled, remove, spell, why_not
from gelu_lint.imports import reach
from gelu_lint.misuse import Misuse, misuse
from gelu_lint.model import Edit, FileSummary, Finding, Fix, Need, Project, Site
from gelu_lint.numerics.flavours import between
from gelu_lint.rule import Rule, bad, good, report


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for site in file.sites:
        wrong = None if site.guard else misuse(site)
        if wrong is None:
            continue
        row = callables()[site.callee]
        size = between(wrong.computes, wrong.meant).size if wrong.computes and wrong.meant else 0.0
        if project.policy and wrong.meant and row.can_select(project.policy):
            # What the project decided goes before what the wrong value seems to ask for.
            wrong = wrong._replace(meant=project.policy)
        severity = "error" if not wrong.computes else "warning" if size else "info"
        fix = _fix(file, site, row, wrong, project) if can_choose(row, project) else None
        message = _message(site, row, wrong) + why_not(row, project)
        yield report(
            "GEL003", file, site, message, severity, fix,
            span=wrong.argument.span, claimed=wrong.meant or None, error=size or None,
        )  # fmt: skip


def _delta(wrong: Misuse) -> float | None:
    """What writing the meant flavour changes: nothing where today's code raises."""
    return between(wrong.computes, wrong.meant).size if wrong.computes else 0.0


def _message(site: Site, row: Callable, wrong: Misuse) -> str:
    string = isinstance(wrong.value, str)
    error = (row.error if string else row.type_error or row.error) or "TypeError"
    text = wrong.argument.text
    if wrong.kind == "position":
        return f"{site.written} takes {row.keyword} by keyword only; {text} by position raises"
    if wrong.kind == "keyword":
        return f"{site.written} has no argument {wrong.argument.keyword}: the call raises"
    if wrong.kind == "dummy":
        assert row.dummy is not None
        return f"{text} lands in {row.dummy[0]}, which {site.written} ignores: it computes the {wrong.computes} GELU"
    if wrong.kind == "truthy":
        truth = "any non-empty string counts as True" if wrong.value else "an empty string counts as False"
        return f"{row.keyword}={text}: {truth}, so {site.written} computes the {wrong.computes} GELU"
    if wrong.kind == "misleading":
        said = dict(row.misleading)[wrong.value]
        return (
            f"{row.keyword}={text} is the {wrong.computes} GELU of {site.written}, not the {said} one that it suggests"
        )
    when = "its first forward" if row.kind == "class" and not row.checks_early else "the call"
    return f"{row.keyword}={text} is no valid value: {when} raises {error}"


def _fix(file: FileSummary, site: Site, row: Callable, wrong: Misuse, project: Project) -> Fix | None:
    if not row.keyword:
        return _sibling(file, site, row, wrong)
    if overruled(site, wrong.meant, file):
        return None
    if wrong.kind == "keyword":
        return _keyword(site, row, wrong, project)
    argument = wrong.argument
    if wrong.kind == "position":
        by_position = [a for a in site.arguments if not a.keyword]
        if len(by_position) > 2 or any(a.keyword == row.keyword for a in site.arguments):
            return None
        if ":=" in argument.text or "inplace" in argument.text:
            return None
        if not argument.literal or row.flavour_of(argument.value) == wrong.meant:
            return Fix(f"pass {row.keyword} by keyword", (before(argument.span, f"{row.keyword}="),))
        if not wrong.meant:
            return None
        text = f"{row.keyword}={spell(row.value_for(wrong.meant), site.quote)}"
        return Fix(f"write {text}{_by(project)}", (Edit(argument.span, text),))
    if not wrong.meant or not argument.literal or not row.can_select(wrong.meant):
        return None
    value = row.value_for(wrong.meant)
    edit = Edit(argument.value_span, spell(value, site.quote))
    return Fix(f"write {row.keyword}={edit.content}{_by(project)}", (edit,), delta=_delta(wrong))


def _by(project: Project) -> str:
    """Who decided on the value that a fix writes, where it was not the author of the line."""
    return " (the project's policy)" if project.policy else ""


def _keyword(site: Site, row: Callable, wrong: Misuse, project: Project) -> Fix | None:
    """An unknown keyword: a misspelled one is spelled right, an ``inplace`` goes; what others mean nobody knows."""
    argument, others = wrong.argument, [a for a in site.arguments if a is not wrong.argument]
    unknown = [a for a in others if a.keyword and a.keyword not in row.parameters]
    inputs = 0 if row.kind == "class" else 1
    chosen = any(a.keyword == row.keyword for a in others) or sum(not a.keyword for a in others) > inputs
    if unknown or any(a.star for a in others):
        return None
    if argument.keyword == "inplace":
        if chosen:
            edit = remove(argument, site.arguments)
            return Fix("remove inplace", (edit,)) if edit is not None else None
        text = f"{row.keyword}={spell(default_of(row, project.policy)[0], site.quote)}"
        return Fix(f"write {text} instead{_by(project)}", (Edit(argument.span, text),))
    alike = difflib.SequenceMatcher(None, argument.keyword, row.keyword).ratio() > 0.75
    if chosen or not (alike or argument.keyword == "approx"):
        return None
    value = argument.text
    if argument.literal:
        flavour = row.flavour_of(argument.value) or wrong.meant
        if not flavour or not row.can_select(flavour):
            return None
        if project.policy and row.can_select(project.policy):
            flavour = project.policy
        value = spell(row.value_for(flavour), site.quote)
    return Fix(f"write {row.keyword}={value}", (Edit(argument.span, f"{row.keyword}={value}"),))


def _sibling(file: FileSummary, site: Site, row: Callable, wrong: Misuse) -> Fix | None:
    """A callable without the argument has a sibling for each flavour: call that one."""
    module = row.name.rpartition(".")[0]
    names = sorted(
        r.name
        for r in callables().values()
        if r.name.rpartition(".")[0] == module and r.kind == row.kind and r.flavour == wrong.meant
    )
    if not names or site.form != "call":
        return None
    gone = remove(wrong.argument, site.arguments)
    if gone is None:
        return None
    edits: tuple[Edit, ...] = (gone,)
    needs: tuple[Need, ...] = ()
    if names[0] != row.name:
        found = reach(file, names[0])
        if found is None:
            return None
        edits, needs = (Edit(site.callee_span, found[0]), *edits), found[1]
    return Fix(f"call {names[0]}", edits, needs, delta=_delta(wrong))


def evidence() -> None:
    """Each raising value raises, its replacement runs, and timm's dummy keeps erf."""
    import torch
    import torch.nn.functional as F

    x = torch.linspace(-3, 3, 601)

    def raises(call: object) -> bool:
        try:
            call()  # type: ignore[operator]
        except (TypeError, RuntimeError):
            return True
        return False

    for value in (True, False, None, "Tanh", "erf", "exact", ""):
        module = torch.nn.GELU(value)  # type: ignore[arg-type]
        assert raises(lambda module=module: module(x)), value
        assert raises(lambda value=value: F.gelu(x, approximate=value)), value
    assert raises(lambda: F.gelu(x, "tanh"))
    assert raises(lambda: torch.nn.GELU(inplace=True))  # type: ignore[call-arg]
    assert torch.isfinite(F.gelu(x, approximate="tanh")).all()


RULE = Rule(
    "GEL003",
    "invalid-approximate",
    "argument that raises, or silently means another flavour (then a warning)",
    "the value that was meant: raising code → 0; running code → its error",
    "error",
    check,
    __doc__,
    examples=(
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate=True)\n",
            at="5:22",
            fixed='import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate="tanh")\n',
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, 'tanh')\n",
            at="5:22",
            fixed="import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate='tanh')\n",
        ),
        bad(
            "from torch import nn\n\nact = nn.GELU(inplace=True)\n",
            at="3:15",
            fixed='from torch import nn\n\nact = nn.GELU(approximate="none")\n',
        ),
        bad(
            'from torch import nn\n\nact = nn.GELU(approximate="tanh", inplace=True)\n',
            at="3:35",
            fixed='from torch import nn\n\nact = nn.GELU(approximate="tanh")\n',
        ),
        bad(
            "import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, aproximate='tanh')\n",
            at="5:22",
            fixed="import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x, approximate='tanh')\n",
        ),
        bad(
            'from torch import nn\n\nact = nn.GELU("tanh", inplace=True)\n',
            at="3:23",
            fixed='from torch import nn\n\nact = nn.GELU("tanh")\n',
        ),
        bad("from torch import nn\n\nact = nn.GELU(exact=True)\n", at="3:15"),
        bad("import torch.nn.functional as F\n\n\ndef block(x):\n    return F.gelu(x=x)\n", at="5:19"),
        bad(
            "from torch import nn\n\nact = nn.GELU(\n    approximate='tanh',  # as trained\n"
            "    inplace=True,  # saves memory\n)\n",
            at="5:5",
        ),
        bad('from torch import nn\n\nact = nn.GELU(approximate="fast")\n', at="3:15"),
        bad(
            'from timm.layers import GELU\n\nact = GELU("tanh")\n',
            at="3:12",
            fixed="from timm.layers import GELUTanh\nfrom timm.layers import GELU\n\nact = GELUTanh()\n",
            delta=4.73e-4,
        ),
        good('from torch import nn\n\nact = nn.GELU("tanh")\n'),
        good(
            "import pytest\nfrom torch import nn\n\n\ndef test_refuses_bool(x):\n    with pytest.raises(TypeError):\n"
            "        nn.GELU(approximate=True)(x)\n"
        ),
        good(
            "from torch import nn\n\ntry:\n    act = nn.GELU(approximate=True)\nexcept TypeError:\n"
            '    act = nn.GELU(approximate="tanh")\n'
        ),
        good("from timm.layers import GELU\n\nact = GELU(inplace=True)\n"),
    ),
    evidence=evidence,
)
