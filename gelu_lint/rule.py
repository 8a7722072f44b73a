"""What a rule is: a check over facts, with its docs, examples and evidence in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from gelu_lint.model import (
    Choice,
    Comparison,
    Entry,
    Fallback,
    FileSummary,
    Finding,
    Fix,
    Loop,
    Project,
    Site,
    Span,
    Trial,
    Use,
    Value,
)
from gelu_lint.named import NamedTuple

Check = Callable[[FileSummary, Project], Iterable[Finding]]
#: What a rule says of all files of a project together; each finding names its file.
Across = Callable[[Sequence[FileSummary], Project], Iterable[Finding]]


class Example(NamedTuple):
    """A small file, and what the rule must say of it.

    ``at`` lists "row:column" of each finding (columns from 1); empty means that no rule may say anything. ``fixed`` is
    the text after the rule's fixes, ``delta`` and ``reach`` what each fix states. ``options`` go to [tool.gelu-lint],
    ``dependencies`` to [project]; ``beside`` are (name, text) of other files of the project, this one's being ``name``.
    Of files that hold no text, such as ONNX graphs, the code is their bytes in base64.
    """

    code: str
    at: tuple[str, ...] = ()
    fixed: str | None = None
    delta: float | None = 0.0
    reach: str = "local"
    options: tuple[tuple[str, str], ...] = ()
    dependencies: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    name: str = "model.py"


def bad(
    code: str,
    *,
    at: str,
    fixed: str | None = None,
    delta: float | None = 0.0,
    reach: str = "local",
    options: Mapping[str, str] | None = None,
    dependencies: tuple[str, ...] = (),
    beside: Mapping[str, str] | None = None,
    name: str = "model.py",
) -> Example:
    """A file in which the rule must report exactly at ``at`` ("row:column", several separated by spaces)."""
    others = tuple((beside or {}).items())
    chosen = tuple((options or {}).items())
    return Example(code, tuple(at.split()), fixed, delta, reach, chosen, dependencies, others, name)


def good(
    code: str,
    *,
    options: Mapping[str, str] | None = None,
    dependencies: tuple[str, ...] = (),
    beside: Mapping[str, str] | None = None,
    name: str = "model.py",
) -> Example:
    """A file in which no rule may report anything."""
    others = tuple((beside or {}).items())
    chosen = tuple((options or {}).items())
    return Example(code, options=chosen, dependencies=dependencies, beside=others, name=name)


def _nothing() -> None:
    """Rules of the tool itself have no framework to run."""


class Rule(NamedTuple):
    """One judgement. ``doc`` is the docstring of its file, with the sections that ``explain`` prints.

    evidence   runs the framework and asserts the harm of the bad example and its absence in the fixed one
    policy     the rule enforces a chosen policy, rather than showing a harm
    opt_in     off unless selected by name
    needs_policy  says nothing where the project has set no policy
    outranks   codes of rules that are silent where a finding of this one is, or leads to
    late       judges what other rules found (suppressions), so it runs after them
    loops      must see where files without a GELU train something
    takers     must see what configures the classes of a project
    under      whether it may speak of a site once a context of another file leads to it, None if it never does
    """

    code: str
    name: str
    summary: str
    fix: str
    severity: str
    check: Check
    doc: str
    examples: tuple[Example, ...]
    evidence: Callable[[], None] = _nothing
    policy: bool = False
    opt_in: bool = False
    late: bool = False
    needs_policy: bool = False
    project: bool = False
    across: Across | None = None
    outranks: tuple[str, ...] = ()
    loops: bool = False
    takers: bool = False
    under: Callable[[FileSummary, Site], bool] | None = None


def report(
    code: str,
    file: FileSummary,
    at: Site | Use | Choice | Fallback | Entry | Comparison | Trial | Loop,
    message: str,
    severity: str,
    fix: Fix | None = None,
    *,
    span: Span | None = None,
    **data: Value,
) -> Finding:
    """A finding of rule ``code`` at a fact of ``file``; ``data`` is added to what the fact itself says."""
    known: dict[str, Value] = {"symbol": at.symbol or None}
    if isinstance(at, Site):
        known |= {"flavour": at.flavour, "framework": at.framework}
    items = tuple(sorted({**known, **data}.items()))
    return Finding(code, file.path, span or at.span, message, severity, fix, items, statement=at.statement)
