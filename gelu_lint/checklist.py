"""The engineering checklist: six layers of a project, each with what it lacks, or what shows that it lacks nothing.

A layer is the rules whose codes begin alike. It fails on each of their warnings and errors, and on those of their infos
that ``counts`` names: what the checklist asks for although no run is wrong without it. Where there is nothing for the
rules of a layer to judge, it does not apply.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from gelu_lint.computed import Computed, stated
from gelu_lint.facts.activation_names import NAMES
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.handwritten import label
from gelu_lint.kinds import CONFIGS, kind_of
from gelu_lint.model import SEVERITIES, Entry, FileSummary, Finding, Span
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import OTHERS
from gelu_lint.patterns import lazy
from gelu_lint.registry import all_rules
from gelu_lint.reports.json import place
from gelu_lint.reports.text import plural, printable
from gelu_lint.roles import is_test
from gelu_lint.settings import names_gelu

PASS, FAIL, ABSENT = "pass", "fail", "not-applicable"


class Layer(NamedTuple):
    """One layer: its rules are those whose codes begin with ``prefix``. What files show counts where ``main`` runs."""

    name: str
    prefix: str
    main: str
    counts: tuple[str, ...]


LAYERS = (
    Layer("code", "GEL0", "GEL001", ("GEL001", "GEL002", "GEL003", "GEL005", "GEL020")),
    Layer("config", "GEL1", "GEL102", ("GEL106", "GEL107")),
    Layer("test", "GEL2", "GEL201", ("GEL201",)),
    Layer("monitoring", "GEL3", "GEL301", ("GEL301",)),
    Layer("deployment", "GEL4", "GEL401", ("GEL401", "GEL402", "GEL403")),
    Layer("docs", "GEL5", "GEL501", ("GEL501",)),
)
#: The layer that a file belongs to which could not be read, by its kind.
_UNREAD = {"python": "code", **dict.fromkeys(CONFIGS, "config"), "graph": "deployment", "prose": "docs"}
#: Forms of entries that configure: files, and in Python what stands in a class of settings or a signature.
_SETTINGS = (*CONFIGS, "field", "default")
_TRIAL = "gelu_gradient_flow"
_IMPLICIT = ("GEL001", "GEL005")
#: The rule whose fix writes text for people: `checklist --fix` applies it, although it is no local one.
PROSE = "GEL501"
_STOP = lazy(r": |; | \(|, which |, so ")
_SHORT, _LONG = 20, 110  # characters of a message that are shown


class Verdict(NamedTuple):
    """What the checklist says of a layer: one sentence, where, and the command to go on with ("" for none)."""

    layer: str
    state: str
    message: str
    path: str = ""
    row: int = 0
    column: int = 0
    next: str = ""


def asked_for() -> tuple[str, ...]:
    """The codes of opt-in rules that the checklist runs."""
    counted = {code for layer in LAYERS for code in layer.counts}
    return tuple(rule.code for rule in all_rules() if rule.opt_in and rule.code in counted)


def verdicts(
    files: Sequence[FileSummary],
    findings: Sequence[Finding],
    enabled: Callable[[str], Sequence[str]],
    target: str,
) -> list[Verdict]:
    """What the checklist says of the files of a project and of what was found in them.

    ``enabled`` gives the codes that ran on a file by its path, "" for what is no file; ``target`` is the directory, as
    it was named.
    """
    found = []
    if any(not is_test(file.place) for file, _ in _Project(files, files).sites):
        tests = {file.path for file in files if is_test(file.place)}
        findings = [f for f in findings if f.severity != "info" or f.code not in _IMPLICIT or f.path not in tests]
    for layer in LAYERS:
        if any(_fails(layer, finding) for finding in findings) or layer.main in enabled(""):
            project = _Project([file for file in files if layer.main in enabled(file.path)], files)
            found.append(_verdict(layer, project, findings, target))
        else:
            found.append(Verdict(layer.name, ABSENT, f"{layer.main} is switched off here"))
    return found


class _Project:
    """What the files of a project show: ``files`` are those where the main rule of a layer runs, of ``everything``."""

    def __init__(self, files: Sequence[FileSummary], everything: Sequence[FileSummary]) -> None:
        self.files = files
        self.code = Computed(files)
        sites = [
            (file, site)
            for file in files
            for site in file.sites
            if site.form != "backward" and site.spelling != "graph" and (site.flavour not in OTHERS or site.claimed)
        ]
        #: Those of tests count where there are no others.
        self.sites = [(file, site) for file, site in sites if not is_test(file.place)] or sites
        named = [(file, entry) for file in files for entry in file.entries if _names_gelu(entry)]
        self.settings = sorted(named, key=lambda pair: pair[1].form not in CONFIGS)
        self.said = [(file, entry) for file in files for entry in stated(file) if self.code.holds(entry.flavour)]
        self.exports = [(file, export) for file in files for export in file.exports if export.gelus]
        self.exported = [(file, row) for file in everything for row in file.exported if not is_test(file.place)]
        self.graphs = [(file, site) for file in files for site in file.sites if site.spelling == "graph"]
        self.loops = [(file, loop) for file in files for loop in file.loops if not is_test(file.place, loop.symbol)]
        self.watched = [file for file in everything if file.watched]
        self.trials = [(file, trial) for file in everything for trial in file.trials if _TRIAL in trial.name.lower()]


def _names_gelu(entry: Entry) -> bool:
    key = entry.key in ACTIVATION_KEYS or entry.key == "_target_"
    return key and entry.form in _SETTINGS and names_gelu(entry.value)


def _verdict(layer: Layer, project: _Project, findings: Sequence[Finding], target: str) -> Verdict:
    failing = [finding for finding in findings if _fails(layer, finding)]
    return _failed(layer, project, failing, target) if failing else _passed(layer.name, project)


def _fails(layer: Layer, finding: Finding) -> bool:
    """Whether a finding makes a layer fail."""
    if finding.code == "GEL900":
        return _UNREAD.get(kind_of(finding.path), "code") == layer.name
    return finding.code.startswith(layer.prefix) and (finding.severity != "info" or finding.code in layer.counts)


# ------------------------------------------------------------------------------------------------- what fails


def _failed(layer: Layer, project: _Project, failing: Sequence[Finding], target: str) -> Verdict:
    worst = min(failing, key=lambda finding: (-SEVERITIES.index(finding.severity), finding.path, finding.span))
    if all(finding.code in _IMPLICIT for finding in failing):
        count = len({(finding.path, finding.span) for finding in failing})
        message = f"{count} of {plural(len(project.sites), 'GELU')} {'is' if count == 1 else 'are'} implicit"
        message += f", {'first ' if count > 1 else ''}{_place(worst)}"
    else:
        more = f", and {plural(len(failing) - 1, 'finding')} more" if len(failing) > 1 else ""
        message = f"{_clause(worst)} ({worst.code}), {_place(worst)}{more}"
    span = worst.span
    return Verdict(layer.name, FAIL, message, worst.path, span.row, span.column, _next(worst, target))


def _place(finding: Finding) -> str:
    return f"{printable(finding.path)}:{finding.span.row}"


def _clause(finding: Finding) -> str:
    """What a finding says, up to the first stop."""
    text = printable(finding.message)
    stops = (found.start() for found in _STOP.finditer(text, _SHORT))
    text = text[: next((at for at in stops if text.count('"', 0, at) % 2 == 0), len(text))]  # none within a quote
    return text if len(text) <= _LONG else text[:_LONG].rsplit(" ", 1)[0] + " …"


def _next(worst: Finding, target: str) -> str:
    """The command that mends the finding that is shown, or else explains what is wrong."""
    below = "" if target == "." else f" {shlex.quote(target)}"
    fix = worst.fix
    if fix is not None and fix.edits and fix.safe:
        return f"gelu-lint fix{below}"
    if fix is not None and fix.edits and worst.code == PROSE:
        return f"gelu-lint checklist --fix{below}"
    if fix is not None and fix.edits and fix.delta == 0:
        return f"gelu-lint fix --select {worst.code} --unsafe-fixes{below}"
    return f"gelu-lint explain {worst.code}"


# ------------------------------------------------------------------------------------------------- what passes


def _passed(name: str, project: _Project) -> Verdict:
    shown = {"code": project.sites, "config": project.settings or project.code.sites, "test": project.trials}
    if not shown.get(name) and not project.code.sites:
        return Verdict(name, ABSENT, "no GELU here")
    return _PASSED[name](project)


def _at(layer: str, message: str, file: FileSummary, span: Span) -> Verdict:
    return Verdict(layer, PASS, message, file.path, span.row, span.column)


def _code(project: _Project) -> Verdict:
    flavours = Counter(site.flavour for _, site in project.sites)
    counts = [f"{count} {flavour}" for flavour, count in flavours.most_common() if flavour != "unknown"]
    if flavours["unknown"]:
        counts.append(f"{flavours['unknown']} that the run decides")
    return Verdict("code", PASS, f"{plural(len(project.sites), 'GELU')}, none implicit: {', '.join(counts)}")


def _config(project: _Project) -> Verdict:
    if not project.settings:
        return Verdict("config", ABSENT, "no configuration names a GELU")
    file, entry = project.settings[0]
    agrees = NAMES.get(str(entry.value)) == project.code.flavour != ""
    message = f"{printable(file.path)} says {printable(str(entry.value))}{_SO_DOES if agrees else ''}"
    return _at("config", message, file, entry.span)


def _test(project: _Project) -> Verdict:
    if not project.trials:
        return Verdict("test", PASS, _NOTHING)
    file, trial = project.trials[0]
    return _at("test", f"{trial.name} in {printable(file.path)}:{trial.span.row}", file, trial.span)


def _monitoring(project: _Project) -> Verdict:
    if not project.loops:
        return Verdict("monitoring", ABSENT, "no training loop here")
    if not project.watched:
        return Verdict("monitoring", PASS, _NOTHING)
    file, loop = project.loops[0]
    watched = printable(project.watched[0].path)
    return _at("monitoring", f"{watched} watches what GELUs give in training", file, loop.span)


def _deployment(project: _Project) -> Verdict:
    if project.exports:
        file, export = project.exports[0]
        message = f"{printable(export.written)} at opset {export.opset}, {printable(file.path)}:{export.span.row}"
        return _at("deployment", message, file, export.span)
    if project.graphs:
        file, site = project.graphs[0]
        agrees = _SO_DOES if site.flavour == project.code.flavour else ""
        return _at("deployment", f"{printable(file.path)} computes {label(site.flavour)}{agrees}", file, site.span)
    if project.exported:
        file, row = project.exported[0]
        message = f"{printable(file.path)}:{row} exports a model, and which GELUs are in it is not known"
        return _at("deployment", message, file, Span(row, 0, row, 0))._replace(state=ABSENT)
    return Verdict("deployment", ABSENT, "nothing is exported here")


def _docs(project: _Project) -> Verdict:
    if not project.said:
        return Verdict("docs", PASS, _NOTHING)
    file, entry = min(project.said, key=lambda pair: (pair[1].flavour != project.code.flavour, len(pair[0].path)))
    agrees = _SO_DOES if entry.flavour == project.code.flavour else ""
    message = f"{printable(file.path)}:{entry.span.row} says {printable(str(entry.value))}{agrees}"
    return _at("docs", message, file, entry.span)


#: What is said where no fact shows why a layer passes, and where the code is of one flavour that a file names.
_NOTHING, _SO_DOES = "no findings", ", and so does the code"
_PASSED = {
    "code": _code,
    "config": _config,
    "test": _test,
    "monitoring": _monitoring,
    "deployment": _deployment,
    "docs": _docs,
}

# -------------------------------------------------------------------------------------------------- as printed

_MARKS = {PASS: ("✔", "+", "32"), FAIL: ("✘", "x", "31"), ABSENT: ("–", "-", "2")}
_COLUMN = 100  # commands stand below one another as far as this; a longer sentence does not push them to the right


def render(found: Sequence[Verdict], output: str, colour: bool, ascii_only: bool) -> Iterator[str]:
    """The checklist as ``output`` (json, or text for anything else)."""
    if output == "json":
        yield json.dumps([_row(verdict) for verdict in found], indent=2)
        return
    names = max(len(verdict.layer) for verdict in found)
    widest = _COLUMN - names - 7
    width = max((len(v.message) for v in found if v.next and len(v.message) <= widest), default=0)
    for verdict in found:
        mark, plain, sequence = _MARKS[verdict.state]
        shown = plain if ascii_only else mark
        shown = f"\033[{sequence}m{shown}\033[0m" if colour else shown
        yield f"{verdict.layer:<{names}}  {shown}  {verdict.message:<{width}}  {verdict.next}".rstrip()


def _row(verdict: Verdict) -> dict[str, object]:
    return {
        "layer": verdict.layer,
        "state": verdict.state,
        "message": verdict.message,
        "filename": verdict.path or None,
        "location": place(verdict.row, verdict.column) if verdict.row else None,
        "next": verdict.next or None,
    }
