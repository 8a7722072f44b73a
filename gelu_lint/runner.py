"""Many files: which to read, which can matter, and the workers that judge or fix those."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gelu_lint.config import Settings, check_codes, forget, project_root, settings_for
from gelu_lint.discover import discover, matches
from gelu_lint.model import FileSummary, Finding, Project, Site
from gelu_lint.screen import passes
from gelu_lint.source import Source, Unreadable, decode, from_text, read_bytes

#: Kinds of files that hooks hand over and that no recogniser reads; they are passed over, not mistaken for Python.
_OTHER_KINDS = (".ipynb", ".json", ".yaml", ".yml", ".toml", ".md", ".onnx")

#: Fewer files than this are judged in this process: a pool costs more than it saves.
_POOL_FROM = 9
_CHUNK = 4

_CANNOT_PARSE = "GEL900"


class Outcome(NamedTuple):
    """What came of one file. ``excerpts`` are the rows that its findings show.

    ``text`` is what fixes make of ``before``, the bytes that were read; None if nothing. ``reason`` says why they were
    not applied.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    excerpts: tuple[tuple[int, str], ...] = ()
    before: bytes = b""
    text: str | None = None
    gone: int = 0
    reason: str = ""


class Run(NamedTuple):
    """A whole run. ``problems`` are messages about paths that could not be used at all, ``passed_over`` files of kinds
    that nothing reads yet."""

    outcomes: tuple[Outcome, ...]
    files: int
    problems: tuple[str, ...]
    settings: Settings
    passed_over: tuple[str, ...] = ()


class _Task(NamedTuple):
    path: str
    settings: Settings
    action: str


def run(paths: Sequence[str], overrides: Mapping[str, Any], action: str, progress: Callable[[int, int], None]) -> Run:
    """Check ("check"), fix ("fix") or list the sites of ("inventory") every file that ``paths`` name.

    Nothing is written. Raises BadConfig. ``progress`` is told the number of files done and of all.
    """
    _forget()
    settings = _settings_of(".", _frozen(overrides))
    groups: dict[tuple[str, ...], tuple[Settings, list[str]]] = {}
    for path in paths:
        own = settings_for(path if os.path.isdir(path) else os.path.dirname(path) or ".", overrides)
        groups.setdefault((own.root, *own.exclude), (own, []))[1].append(path)
    names: dict[str, str] = {}
    problems: list[str] = []
    outcomes: list[Outcome] = []
    for own, members in groups.values():
        found = discover(
            members, exclude=own.exclude, force_exclude=own.values["force-exclude"], root=own.root,
            respect_gitignore=own.values["respect-gitignore"],
        )  # fmt: skip
        named = frozenset(members)
        for name in found.files:
            nearest = _settings_of(os.path.dirname(name) or ".", _frozen(overrides))
            if nearest.root != own.root and name not in named and matches(name, nearest.exclude, nearest.root):
                continue  # excluded by a table below the one that the walk began with
            names.setdefault(os.path.realpath(name) if len(groups) > 1 else name, name)
        problems += [f"{path}: no such file or directory{f' (did you mean {hint}?)' if hint else ''}"
                     for path, hint in found.missing]  # fmt: skip
        for path, reason in found.unreadable:
            outcomes.append(_unreadable(_Task(path, own, action), f"cannot read: {reason}"))
    tasks = []
    other = [name for name in names.values() if name.lower().endswith(_OTHER_KINDS)]
    files = sorted(set(names.values()) - set(other), key=lambda name: name.replace(os.sep, "/"))
    for name in files:
        task = _Task(name, _settings_of(os.path.dirname(name) or ".", _frozen(overrides)), action)
        try:
            if passes(read_bytes(name, task.settings.values["max-file-size"])):
                tasks.append(task)
        except Unreadable as fault:
            outcomes.append(_unreadable(task, fault.message))
    for index, outcome in enumerate(_spread(tasks, overrides.get("jobs") or _cores())):
        outcomes.append(outcome)
        progress(index + 1, len(tasks))
    outcomes.sort(key=lambda outcome: outcome.path.replace(os.sep, "/"))
    return Run(tuple(outcomes), len(files), tuple(problems), settings, tuple(other))


def run_text(path: str, data: bytes, overrides: Mapping[str, Any], action: str) -> Run:
    """The same for one text that is not read from its file. Raises BadConfig."""
    _forget()
    settings = _settings_of(os.path.dirname(path) or ".", _frozen(overrides))
    skip = path.lower().endswith(_OTHER_KINDS)
    skip = skip or (settings.values["force-exclude"] and matches(path, settings.exclude, settings.root))
    if skip or not passes(data):
        return Run((), 0 if skip else 1, (), settings)
    return Run((_guarded(_Task(path, settings, action), data),), 1, (), settings)


def findings_for_text(path: str, text: str, overrides: Mapping[str, Any]) -> list[Finding]:
    """Findings of file rules on a text that a host has read, with noqa left to the host. Raises BadConfig."""
    from gelu_lint.engine import judge, summarise

    settings = _settings_of(os.path.dirname(path) or ".", _frozen(overrides))
    if matches(path, settings.exclude, settings.root):
        return []
    task = _Task(path, settings, "check")
    return judge(summarise(from_text(path, text)), _project(task), _codes(task), noqa=False)


def _forget() -> None:
    forget()
    _settings_of.cache_clear()
    _declared.cache_clear()


def _frozen(overrides: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(overrides.items()))


@functools.cache
def _settings_of(directory: str, overrides: tuple[tuple[str, Any], ...]) -> Settings:
    settings = settings_for(directory, dict(overrides))
    if _names_codes(settings):
        from gelu_lint.registry import all_rules

        check_codes(settings, [rule.code for rule in all_rules()])
    return settings


def _names_codes(settings: Settings) -> bool:
    return any(settings.values[name] for name in ("select", "extend-select", "ignore", "per-file-ignores"))


def _cores() -> int:
    """Worker processes to use where nobody says: none of our own under pre-commit, which runs several of us."""
    return 1 if os.environ.get("PRE_COMMIT") else os.cpu_count() or 1


def _spread(tasks: list[_Task], jobs: int) -> Iterator[Outcome]:
    """The outcome of each task, in order, from this process or from workers."""
    if len(tasks) < _POOL_FROM or jobs < 2:
        yield from map(_work, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    done = 0
    try:
        with ProcessPoolExecutor(min(jobs, len(tasks)), initializer=_die_silently) as pool:
            try:
                for outcome in pool.map(_work, tasks, chunksize=_CHUNK):
                    yield outcome
                    done += 1
            except KeyboardInterrupt:
                _stop_workers()
                raise
    except BrokenProcessPool:  # a worker crashed or was killed: find the file that does it
        yield from map(_alone, tasks[done:])


def _die_silently() -> None:
    """Ctrl-C reaches every process of the terminal; only the main one has something to say."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop_workers() -> None:
    """Without this, leaving a pool waits for all that was handed to it."""
    from multiprocessing import active_children

    for child in active_children():
        child.terminate()


def _alone(task: _Task) -> Outcome:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(1, initializer=_die_silently) as pool:
        try:
            return pool.submit(_work, task).result()
        except BrokenProcessPool:
            return _unreadable(task, "the process that read it died (a crash, or out of memory)")


def _work(task: _Task) -> Outcome:
    try:
        data = read_bytes(task.path, task.settings.values["max-file-size"])
    except Unreadable as fault:
        return _unreadable(task, fault.message, fault.row)
    return _guarded(task, data)


def _guarded(task: _Task, data: bytes) -> Outcome:
    """The outcome of one file; a fault of ours costs that file, never the run."""
    try:
        return _done(task, data)
    except Unreadable as fault:
        return _unreadable(task, fault.message, fault.row)
    except Exception as fault:
        reason = " ".join(f"{type(fault).__name__}: {fault}".split())
        return _unreadable(task, f"gelu-lint failed on it ({reason}); please report this")


def _done(task: _Task, data: bytes) -> Outcome:
    from gelu_lint.engine import judge, summarise

    source = decode(task.path, data)
    codes, project = _codes(task), _project(task)
    if task.action == "fix":
        return _fixed(task, source, codes, project)
    summary = summarise(source)
    found = tuple(judge(summary, project, codes))
    return Outcome(task.path, found, summary.sites, _excerpts(source, found))


def _fixed(task: _Task, source: Source, codes: tuple[str, ...], project: Project) -> Outcome:
    from gelu_lint.fixer import fix

    values = task.settings.values
    try:
        result = fix(source, project, codes, values["allow-delta"], values["unsafe-fixes"])
        after = decode(source.path, source.encode(result.text))
    except Unreadable as fault:
        return _unreadable(task, fault.message, fault.row)
    excerpts = _excerpts(after, result.left)
    if result.text == source.text:
        return Outcome(task.path, result.left, (), excerpts, reason=result.reason)
    return Outcome(task.path, result.left, (), excerpts, source.data, result.text, result.gone, result.reason)


def _unreadable(task: _Task, message: str, row: int = 1) -> Outcome:
    from gelu_lint.engine import judge, unreadable

    summary: FileSummary = unreadable(task.path, message, row)
    return Outcome(task.path, tuple(judge(summary, _project(task), _codes(task))))


def _codes(task: _Task) -> tuple[str, ...]:
    from gelu_lint.registry import enabled

    if task.action == "inventory":
        return (_CANNOT_PARSE,)
    settings = task.settings
    codes = enabled(settings.codes("select"), settings.codes("extend-select"), settings.codes("ignore"))
    if _CANNOT_PARSE not in codes and not _CANNOT_PARSE.startswith(settings.codes("ignore")):
        codes += (_CANNOT_PARSE,)  # a file that was not read must not pass as clean, whatever is selected
    for pattern, ignored in settings.values["per-file-ignores"].items():
        if matches(task.path, (pattern,), settings.root):
            codes = tuple(code for code in codes if not code.startswith(tuple(ignored)))
    return codes


def in_force(settings: Settings) -> tuple[tuple[str, ...], str]:
    """The codes that run in the current directory, and the oldest torch that counts there ("" if unknown)."""
    task = _Task("", settings, "check")
    floor = _project(task).floor("torch")
    return _codes(task), ".".join(map(str, floor or ()))


def _project(task: _Task) -> Project:
    root = project_root(os.path.dirname(task.path) or ".")
    declared = dict(_declared(root))
    minimum = task.settings.values["min-torch"]
    if minimum:
        floor = tuple(int(part) for part in minimum.split(".") if part.isdigit())
        declared["torch"] = (floor, *declared.get("torch", (None, None, True))[1:])
    rows = tuple((name, *bounds) for name, bounds in sorted(declared.items()))
    return Project(task.settings.policy, rows)


@functools.cache
def _declared(root: str) -> tuple[tuple[str, tuple[tuple[int, ...] | None, tuple[int, ...] | None, bool]], ...]:
    from gelu_lint.requirements import declared

    return tuple((name, (row.floor, row.ceiling, row.ceiling_open)) for name, row in declared(root).items())


def _excerpts(source: Source, findings: Iterable[Finding]) -> tuple[tuple[int, str], ...]:
    rows = sorted({finding.span.row for finding in findings})
    return tuple((row, source.line(row)) for row in rows if 1 <= row <= len(source.rows))
