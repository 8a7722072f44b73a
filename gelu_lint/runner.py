"""Many files: which to read, which can matter, and the workers that judge or fix those."""

from __future__ import annotations

import functools
import os
from importlib import import_module

from gelu_lint.config import (
    Settings,
    check_codes,
    config_for,
    forget,
    marked_root,
    project_root,
    settings_for,
    settings_of,
)
from gelu_lint.discover import discover, matches
from gelu_lint.half import shows, used
from gelu_lint.kinds import SETTINGS, WALKED, is_worth_reading, kind_of, matters, speaks
from gelu_lint.source import Source, Unreadable, decode, from_text, read_bytes

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gelu_lint.cache import Entry
    from gelu_lint.model import Arrival, FileSummary, Finding, Project, Site
    from gelu_lint.projects import Projects
    from gelu_lint.reach import Reach

    _Work = Callable[["Task", "Memory | None"], "Done | tuple[str, ...] | int | None"]

#: Fewer files than this are judged in this process: workers cost more than they save.
_WORKERS_FROM = 9
#: So many files are screened by the workers, too.
_MANY = 200

_CANNOT_PARSE = "GEL900"
_UNDOCUMENTED = "GEL501"


class Outcome:
    """What came of one file.

    ``excerpts`` are the rows that its findings show. ``text`` is what fixes make of ``before``, the bytes that were
    read; None if nothing. ``gone`` counts the findings that fixes end, ``reason`` says why they were not applied.
    """

    __slots__ = ("before", "excerpts", "findings", "gone", "path", "reason", "sites", "text")

    def __init__(
        self,
        path: str,
        findings: tuple[Finding, ...] = (),
        sites: tuple[Site, ...] = (),
        excerpts: tuple[tuple[int, str], ...] = (),
        before: bytes = b"",
        text: str | None = None,
        gone: int = 0,
        reason: str = "",
    ) -> None:
        self.path, self.findings, self.sites, self.excerpts = path, findings, sites, excerpts
        self.before, self.text, self.gone, self.reason = before, text, gone, reason


class Run:
    """A whole run. ``problems`` are messages about paths that could not be used at all, ``passed_over`` files of kinds
    that nothing reads yet, ``notes`` what else was left out, which changes no exit code, ``summaries`` the facts of all
    files that have any."""

    __slots__ = ("files", "notes", "outcomes", "passed_over", "problems", "settings", "summaries")

    def __init__(
        self,
        outcomes: tuple[Outcome, ...],
        files: int,
        problems: tuple[str, ...],
        settings: Settings,
        passed_over: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        summaries: tuple[FileSummary, ...] = (),
    ) -> None:
        self.outcomes, self.files, self.problems = outcomes, files, problems
        self.settings, self.passed_over, self.notes, self.summaries = settings, passed_over, notes, summaries


class Task:
    """One file to read, and what to do with it. ``remember`` asks for what a cache must know; ``project`` is the root
    of its project in a run over all of that, else ""."""

    __slots__ = ("action", "path", "project", "remember", "settings")

    def __init__(self, path: str, settings: Settings, action: str, remember: bool = False, project: str = "") -> None:
        self.path, self.settings, self.action, self.remember = path, settings, action, remember
        self.project = project


#: Of so many files with a GELU some take settings: what looks at these is loaded for all workers at once.
_LIKELY = 100

#: Bytes without a GELU that take as long to look at as one GELU: measured over the files of four packages.
_EACH = 11_000


class Done:
    """What comes of a file: its outcome, None where there is nothing to report.

    ``state`` is what a cache knows it by, its time, size and digest, None if it is not to be remembered; ``summary``
    are its facts.
    """

    __slots__ = ("outcome", "state", "summary")

    def __init__(
        self,
        outcome: Outcome | None,
        state: tuple[int, int, str] | None = None,
        summary: FileSummary | None = None,
    ) -> None:
        self.outcome, self.state, self.summary = outcome, state, summary


def run(paths: Sequence[str], overrides: Mapping[str, Any], action: str, progress: Callable[[int, int], None]) -> Run:
    """Check ("check"), fix ("fix") or list the sites of ("inventory") every file that ``paths`` name.

    Nothing is written. Raises BadConfig. ``progress`` is told the number of files done and of all.
    """
    _forget()
    frozen = _frozen(overrides)
    settings = _settings_of(".", frozen)
    groups: dict[tuple[str, ...], tuple[Settings, list[str]]] = {}
    for path in paths:
        own = settings_for(path if os.path.isdir(path) else os.path.dirname(path) or ".", overrides)
        groups.setdefault((own.root, *own.exclude), (own, []))[1].append(path)
    names: dict[str, str] = {}
    folders: dict[str, str] = {}
    problems: list[str] = []
    outcomes: list[Outcome] = []
    for own, members in groups.values():
        found = discover(
            members, suffixes=WALKED, exclude=own.exclude, force_exclude=own.values["force-exclude"], root=own.root,
            respect_gitignore=own.values["respect-gitignore"],
        )  # fmt: skip
        named = frozenset(members)
        for name in found.files:
            folders[name] = folder = os.path.dirname(name) or "."
            nearest = _settings_of(folder, frozen)
            if nearest.root != own.root and name not in named and matches(name, nearest.exclude, nearest.root):
                continue  # excluded by a table below the one that the walk began with
            names.setdefault(os.path.realpath(name) if len(groups) > 1 else name, name)
        problems += [f"{path}: no such file or directory{f' (did you mean {hint}?)' if hint else ''}"
                     for path, hint in found.missing]  # fmt: skip
        for path, reason in found.unreadable:
            outcomes.append(_unreadable(Task(path, own, action), f"cannot read: {reason}"))
    read_here = [name for name in names.values() if kind_of(name) not in ("other", "declarations")]
    graphs = [name for name in set(read_here) if kind_of(name) == "graph"]
    notes = _cannot_read(graphs)
    files = sorted({*read_here}.difference(graphs if notes else ()), key=lambda name: name.replace(os.sep, "/"))
    named_here = [name for name in paths if not os.path.isdir(name)]
    other = [name for name in named_here if kind_of(name) == "other" and not name.lower().endswith(SETTINGS)]
    given = tuple(os.path.abspath(path) for path in paths if os.path.isdir(path))
    seen = given if action != "inventory" else ()
    cache = _cache(paths, overrides, action, any(_whole_project(path, given) for path in seen))
    tasks = []
    for name in files:
        project = _whole_project(folders[name], given) if action != "inventory" else ""
        tasks.append(Task(name, _settings_of(folders[name], frozen), action, cache is not None, project))
    jobs = overrides.get("jobs", 0)

    @functools.cache
    def projects() -> Projects:
        from gelu_lint.projects import Projects

        return Projects(tasks)

    results = dict(_all(tasks, projects, cache, jobs, progress))
    if any(task.project for task in tasks) and results:
        results.update(projects().across(results, jobs, cache))
    if cache is not None:
        cache.save()
    outcomes += [done.outcome for done in results.values() if done.outcome is not None]
    outcomes.sort(key=lambda outcome: outcome.path.replace(os.sep, "/"))
    facts = tuple(_placed(path, done.summary) for path, done in sorted(results.items()) if done.summary is not None)
    return Run(tuple(outcomes), len(files), tuple(problems), settings, tuple(other), notes, facts)


def run_text(path: str, data: bytes, overrides: Mapping[str, Any], action: str) -> Run:
    """The same for one text that is not read from its file. Raises BadConfig."""
    _forget()
    settings = _settings_of(os.path.dirname(path) or ".", _frozen(overrides))
    skip = kind_of(path) in ("other", "declarations")
    skip = skip or (settings.values["force-exclude"] and matches(path, settings.exclude, settings.root))
    notes = _cannot_read([path] if kind_of(path) == "graph" else [])
    if skip or notes or not matters(path, data):
        return Run((), 0 if skip or notes else 1, (), settings, notes=notes)
    outcome = _guarded(Task(path, settings, action), data).outcome
    return Run((outcome,) if outcome is not None else (), 1, (), settings)


def findings_for_text(path: str, text: str, overrides: Mapping[str, Any]) -> list[Finding]:
    """Findings of file rules on a text that a host has read, with noqa left to the host. Raises BadConfig."""
    from gelu_lint.engine import judge, summarise

    settings = _settings_of(os.path.dirname(path) or ".", _frozen(overrides))
    if matches(path, settings.exclude, settings.root):
        return []
    task = Task(path, settings, "check")
    return judge(summarise(from_text(path, text)), project_for(task), codes_for(task), noqa=False)


def _cannot_read(graphs: Sequence[str]) -> tuple[str, ...]:
    """A note that ONNX files are left out, where what reads them is not installed."""
    if not graphs:
        return ()
    from importlib.util import find_spec

    if find_spec("onnx") is not None:
        return ()
    several = f"{len(graphs)} ONNX files were" if len(graphs) > 1 else f"{graphs[0]} was"
    return (f"{several} not read: that takes the onnx package (pip install 'gelu-lint[onnx]')",)


@functools.cache
def _whole_project(folder: str, given: tuple[str, ...]) -> str:
    """The root of the project that a folder belongs to, if a run over the directories ``given`` sees all of it."""
    full = os.path.abspath(folder)
    root = marked_root(folder)
    for directory in given:
        below = os.path.join(directory, "")
        if root and (root == directory or root.startswith(below)):
            return root
        if not root and (full == directory or full.startswith(below)):
            return directory  # nothing says where a project begins: it is what was named
    return ""


def _forget() -> None:
    forget()
    _whole_project.cache_clear()
    _settings_of.cache_clear()
    _settings_by.cache_clear()
    _project_of.cache_clear()


def _frozen(overrides: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(overrides.items()))


@functools.cache
def _settings_of(directory: str, overrides: tuple[tuple[str, Any], ...]) -> Settings:
    return _settings_by(config_for(directory, dict(overrides)), overrides)


@functools.cache
def _settings_by(path: str, overrides: tuple[tuple[str, Any], ...]) -> Settings:
    settings = settings_of(path, dict(overrides))
    if _names_codes(settings):
        from gelu_lint.registry import all_codes

        check_codes(settings, all_codes())
    return settings


def _names_codes(settings: Settings) -> bool:
    return any(settings.values[name] for name in ("select", "extend-select", "ignore", "per-file-ignores"))


def _jobs() -> int:
    """Worker processes to use where nobody says: none of our own under pre-commit, which runs several of us."""
    if os.environ.get("PRE_COMMIT"):
        return 1
    from gelu_lint.workers import cores

    return cores()


def _cache(paths: Sequence[str], overrides: Mapping[str, Any], action: str, whole: bool) -> Memory | None:
    """What earlier runs know, for runs over directories: it lies in the project of the first one. A run over a
    ``whole`` project looks for more in files without a GELU than one over a part, and remembers apart from it."""
    directory = next((path for path in paths if os.path.isdir(path)), None)
    if directory is None or action == "fix":
        return None
    values = _settings_of(directory, _frozen(overrides)).values
    root = project_root(directory)
    return Memory(os.path.join(root, values["cache-dir"]), root, whole) if values["cache"] else None


def _all(
    tasks: list[Task],
    projects: Callable[[], Projects],
    cache: Memory | None,
    jobs: int,
    progress: Callable[[int, int], None],
) -> Iterator[tuple[str, Done]]:
    """What comes of the files that matter, in any order."""
    waiting = []
    marked = set()
    for task in tasks:
        known = cache.known(task) if cache is not None else None
        if known is None:
            waiting.append(task)
        elif known.outcome is not None or known.summary is not None:
            if known.summary is not None and known.summary.sites:
                marked.add(task.path)
            yield task.path, known
    known_before = len(tasks) - len(waiting)
    for done, (task, result) in enumerate(_spread(waiting, projects, marked, cache, jobs), known_before + 1):
        progress(done, len(tasks))
        if cache is not None and result.state is not None:
            cache.put(task, result)
        if result.outcome is not None or result.summary is not None:
            yield task.path, result


class Memory:
    """What earlier runs know of the files of a run."""

    def __init__(self, directory: str, root: str, whole: bool) -> None:
        from gelu_lint.cache import Cache, fingerprint

        self._cache = Cache(directory, fingerprint() + "-project" * whole)
        self._here, self._root = os.path.join(os.getcwd(), ""), os.path.join(root, "")
        if not os.path.abspath(directory).startswith(self._root):
            self._root = os.sep * 2  # it may serve several projects: full names

    def _name(self, path: str) -> str:
        """The same wherever the run was started, and wherever the project lies."""
        path = path if os.path.isabs(path) else self._here + path
        return path[len(self._root) :] if path.startswith(self._root) else path

    def known(self, task: Task) -> Done | None:
        """What comes of a file that looks unchanged; None where it must be read."""
        try:
            info = os.stat(task.path)
        except OSError:
            return None
        entry = self._cache.known(self._name(task.path), _changed(info), info.st_size)
        if entry is None or info.st_size > task.settings.values["max-file-size"]:
            return None
        return _recalled(task, entry)

    def same(self, task: Task, digest: str) -> Done | None:
        """What comes of a file that holds what it held."""
        entry = self._cache.same(self._name(task.path), digest)
        return _recalled(task, entry) if entry is not None else None

    def put(self, task: Task, result: Done) -> None:
        if result.state is not None:
            self._cache.put(self._name(task.path), *result.state, result.summary)

    def led(self, task: Task, key: str) -> FileSummary | None:
        """The facts of a file that looks unchanged where contexts lead into it as ``key`` says, None if not known."""
        try:
            info = os.stat(task.path)
        except OSError:
            return None
        entry = self._cache.known(f"{self._name(task.path)}:{key}", _changed(info), info.st_size)
        try:
            return entry.summary(task.path) if entry is not None and not entry.clean else None
        except ValueError:
            return None  # corrupt

    def put_led(self, task: Task, key: str, result: Done) -> None:
        if result.state is not None:
            self._cache.put(f"{self._name(task.path)}:{key}", *result.state, result.summary)

    def save(self) -> None:
        self._cache.save()


def _changed(info: os.stat_result) -> int:
    """When a file last changed: its content, or (as after a move, or where its old time was put back) what is there."""
    return max(info.st_mtime_ns, info.st_ctime_ns)


def _recalled(task: Task, entry: Entry) -> Done | None:
    if entry.clean:
        return Done(None)
    try:
        summary = entry.summary(task.path)
    except ValueError:
        return None  # corrupt
    return _judged(task, summary)


def _spread(
    tasks: list[Task], projects: Callable[[], Projects], marked: set[str], cache: Memory | None, jobs: int
) -> Iterator[tuple[Task, Done]]:
    """What came of each task that matters, from this process or, where that pays, from workers: first who passes the
    screen, then what they hold. Of the files of ``projects`` ``marked`` are known to hold a GELU."""
    jobs = jobs or (_jobs() if len(tasks) >= _WORKERS_FROM else 1)
    waiting: list[Task] = []
    weights: dict[str, int] = {}
    hints: dict[str, tuple[str, ...]] = {}
    for task, done in _each(_screened, tasks, cache, jobs if len(tasks) >= _MANY else 1, modest=True):
        if isinstance(done, Done):
            yield task, done
        elif isinstance(done, int):
            waiting.append(task)
            weights[task.path] = done
            if len(waiting) == _WORKERS_FROM and jobs > 1:
                _warm()  # beside the workers that screen, and once for those that come
            elif len(waiting) == _LIKELY and jobs > 1 and task.project:
                import_module("gelu_lint.takers")
        elif isinstance(done, tuple):
            hints[task.path] = done  # it may make others run in fp16
        else:
            yield task, Done(None)
    waiting.sort(key=lambda task: -weights[task.path])  # what takes long should not be left for the end
    if hints:
        marked = marked.union(task.path for task in waiting if kind_of(task.path) == "python")
    if hints and marked:
        found = projects().near(hints, marked)
        waiting = found + waiting  # they are long, too
        hints = {task.path: () for task in found}
    meanwhile = projects if any(task.project for task in waiting) else None
    for task, done in read(waiting, jobs, _work, cache, meanwhile):
        # That a file without a GELU cannot be read is no news, but others may run under what it says.
        failed = done.summary is None and task.path in hints
        yield task, Done(None, summary=_unread(task.path)) if failed else done


def read(
    tasks: list[Task],
    jobs: int,
    work: _Work,
    cache: Memory | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[tuple[Task, Done]]:
    """What comes of each task, by workers where that pays; what to do ``meanwhile`` is done here beside them."""
    jobs = jobs or _jobs()
    for task, done in _each(work, tasks, cache, jobs if len(tasks) >= _WORKERS_FROM else 1, meanwhile=meanwhile):
        yield task, done if isinstance(done, Done) else Done(None)


def _each(
    work: _Work,
    tasks: list[Task],
    cache: Memory | None,
    jobs: int,
    modest: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[tuple[Task, Done | tuple[str, ...] | int | None]]:
    if jobs < 2:
        for task in tasks:
            yield task, work(task, cache)
        return
    from gelu_lint.workers import alone, spread

    known = functools.partial(_with, work, cache)
    left = dict(enumerate(tasks))
    for number, result in spread(known, tasks, jobs, modest, meanwhile):
        yield left.pop(number), result
    for task in left.values():  # a worker died: find the file that does it
        for _, result in alone(known, task):
            yield task, result
            break
        else:
            yield task, Done(_unreadable(task, "the process that read it died (a crash, or out of memory)"))


def _with(work: _Work, cache: Memory | None, task: Task) -> Done | tuple[str, ...] | int | None:
    return work(task, cache)


def _warm() -> None:
    """Load what judges files, for the workers to inherit."""
    import gc

    from gelu_lint.engine import load
    from gelu_lint.registry import all_rules

    load()
    all_rules()
    gc.freeze()


def _screened(task: Task, cache: Memory | None) -> Done | tuple[str, ...] | int | None:
    """What comes of a file without a closer look, how long one takes if it needs that, None for nothing at all: most
    files. For one that may make others run in fp16 it is what that imports. A fault of ours costs that file."""
    opened = _opened(task, cache)
    if isinstance(opened, Done):
        return opened
    try:
        return _looked_at(task, *opened)
    except Exception as fault:
        return Done(_failed(task, fault))


def _looked_at(task: Task, data: bytes, state: tuple[int, int, str] | None) -> Done | tuple[str, ...] | int | None:
    if kind_of(task.path) == "prose" and not _asks_what_is_missing(task.settings) and not speaks(data):
        return None  # and not remembered: another selection may ask
    if matters(task.path, data):
        return len(data) + _EACH * data.lower().count(b"gelu")
    if task.project and task.path.endswith(".py") and shows(data):
        return used(data)
    return Done(None, state) if state is not None else None


def _asks_what_is_missing(settings: Settings) -> bool:
    """Whether the rule runs that asks of a README what it does not say."""
    return any(_UNDOCUMENTED.startswith(code) for name in ("select", "extend-select") for code in settings.codes(name))


def _work(task: Task, cache: Memory | None) -> Done:
    """What comes of a file that has passed the screen."""
    opened = _opened(task, cache)
    if isinstance(opened, Done):
        return opened
    data, state = opened
    done = _guarded(task, data)
    done.state = state if done.summary is not None else None
    return done


def _opened(task: Task, cache: Memory | None) -> Done | tuple[bytes, tuple[int, int, str] | None]:
    """What a file holds and what a cache must know of it, or what comes of it if that is known."""
    state = None
    try:
        info = os.stat(task.path) if task.remember else None
        if not is_worth_reading(task.path):
            return Done(None)
        data = read_bytes(task.path, task.settings.values["max-file-size"])
    except Unreadable as fault:
        return Done(_unreadable(task, fault.message, fault.row))
    except OSError as fault:
        return Done(_unreadable(task, f"cannot read: {fault.strerror or fault}"))
    if info is not None:
        from gelu_lint.cache import digest

        state = (_changed(info), info.st_size, digest(data))
        known = cache.same(task, state[2]) if cache is not None else None
        if known is not None:
            known.state = state
            return known
    return data, state


def _guarded(task: Task, data: bytes) -> Done:
    """What comes of one file; a fault of ours costs that file, never the run."""
    try:
        return _done(task, data)
    except Unreadable as fault:
        return Done(_unreadable(task, fault.message, fault.row))
    except Exception as fault:
        return Done(_failed(task, fault))


def _done(task: Task, data: bytes) -> Done:
    source = decode(task.path, data)
    if task.action == "fix":
        return _fixed(task, source)
    from gelu_lint.engine import summarise

    done = _judged(task, summarise(source), source)
    if task.project and done.summary is not None:
        from gelu_lint.configured import told

        found = told(done.summary.placed(task.project), source.text, source.rows)
        done.summary = done.summary._replace(takers=found.takers, settings=found.settings, loads=found.loads)
    return done


def _judged(
    task: Task, summary: FileSummary, source: Source | None = None, across: Sequence[Finding] | None = None
) -> Done:
    """What the rules make of the facts of a file; its text is read again where it is to be shown and not at hand."""
    facts = (summary.sites, summary.uses, summary.swaps, summary.directives, summary.faults, summary.held)
    rare = (summary.masks, summary.choices, summary.fallbacks, summary.entries, summary.comparisons, summary.trials)
    if not any(facts) and not any(rare) and not across:
        return Done(None, summary=summary)
    from gelu_lint.engine import judge

    found = tuple(judge(summary, project_for(task), codes_for(task), across=across))
    excerpts: tuple[tuple[int, str], ...] = ()
    if found and task.settings.values["output-format"] == "text":
        try:
            source = source or decode(task.path, read_bytes(task.path, task.settings.values["max-file-size"]))
            excerpts = _excerpts(source, found)
        except Unreadable:
            pass  # it has just vanished
    sites = summary.sites if task.action == "inventory" else ()
    return Done(Outcome(task.path, found, sites, excerpts) if found or sites else None, None, summary)


def _fixed(
    task: Task, source: Source, arrivals: Sequence[Arrival] = (), across: Sequence[Finding] | None = None
) -> Done:
    from gelu_lint.engine import summarise
    from gelu_lint.fixer import fix

    if kind_of(source.path) == "graph":
        return _judged(task, summarise(source), source, across)  # nothing can be written into it
    values = task.settings.values
    try:
        result = fix(
            source, project_for(task), codes_for(task), values["allow-delta"], values["unsafe-fixes"], arrivals, across
        )
        after = decode(source.path, source.encode(result.text))
    except Unreadable as fault:
        return Done(_unreadable(task, fault.message, fault.row))
    excerpts = _excerpts(after, result.left)
    outcome = Outcome(task.path, result.left, (), excerpts, reason=result.reason)
    if result.text != source.text:
        outcome.before, outcome.text, outcome.gone = source.data, result.text, result.gone
    return Done(outcome, None, result.summary)


def led_key(arrivals: Sequence[Arrival]) -> str:
    """What tells one way in which contexts lead into a file from another."""
    from gelu_lint.cache import digest

    return digest(repr(arrivals).encode("utf-8", "surrogatepass"))


def again(
    evidence: Mapping[str, tuple[Sequence[Arrival], Sequence[Finding]]],
    first: Mapping[str, Done],
    reaches: Mapping[str, Reach],
    task: Task,
    cache: Memory | None,
) -> Done:
    """What comes of a file once the rest of its project is known: ``evidence`` by path is where contexts lead into it,
    and what rules say of the project at it; ``first`` what has come of it already; ``reaches`` what its code may run,
    where that is known."""
    arrivals, found = evidence[task.path]
    earlier = first.get(task.path, Done(None))
    before = earlier.outcome
    known = cache.led(task, led_key(arrivals)) if cache is not None and arrivals else None
    if known is not None:
        return _judged(task, known, None, found)
    try:
        info = os.stat(task.path)
        data = read_bytes(task.path, task.settings.values["max-file-size"])
        source = decode(task.path, data)
        if before is not None and before.text is not None:
            source = decode(task.path, source.encode(before.text))
        if task.action == "fix":
            done = _fixed(task, source, arrivals, found)
            if done.outcome is not None and before is not None and before.text is not None:
                done.outcome.before, done.outcome.gone = data, done.outcome.gone + before.gone
                done.outcome.text = done.outcome.text or before.text
            return done
        from gelu_lint.cache import digest
        from gelu_lint.engine import arrived, summarise

        reach = reaches.get(task.path)
        summary = arrived(earlier.summary, source, arrivals, reach) if earlier.summary is not None else None
        done = _judged(task, summary or summarise(source, arrivals=arrivals, reach=reach), source, found)
        done.state = (_changed(info), info.st_size, digest(data))
        return done
    except Unreadable as fault:
        return Done(_unreadable(task, fault.message, fault.row))
    except Exception as fault:
        return Done(_failed(task, fault))


def _unread(path: str) -> FileSummary:
    from gelu_lint.engine import unread

    return unread(path)


def _failed(task: Task, fault: Exception) -> Outcome:
    reason = " ".join(f"{type(fault).__name__}: {fault}".split())
    return _unreadable(task, f"gelu-lint failed on it ({reason}); please report this")


def _unreadable(task: Task, message: str, row: int = 1) -> Outcome:
    from gelu_lint.engine import judge, unreadable

    summary: FileSummary = unreadable(task.path, message, row)
    return Outcome(task.path, tuple(judge(summary, project_for(task), codes_for(task))))


def codes_for(task: Task) -> tuple[str, ...]:
    if task.action == "inventory":
        return (_CANNOT_PARSE,)
    settings = task.settings
    codes = _enabled(settings.codes("select"), settings.codes("extend-select"), settings.codes("ignore"))
    for pattern, ignored in settings.values["per-file-ignores"].items():
        if matches(task.path, (pattern,), settings.root):
            codes = tuple(code for code in codes if not code.startswith(tuple(ignored)))
    return codes


@functools.cache
def _enabled(select: tuple[str, ...], extend: tuple[str, ...], ignore: tuple[str, ...]) -> tuple[str, ...]:
    from gelu_lint.registry import enabled

    codes = enabled(select, extend, ignore)
    if _CANNOT_PARSE not in codes and not _CANNOT_PARSE.startswith(ignore):
        codes += (_CANNOT_PARSE,)  # a file that was not read must not pass as clean, whatever is selected
    return codes


def in_force(settings: Settings) -> tuple[tuple[str, ...], str]:
    """The codes that run in the current directory, and the oldest torch that counts there ("" if unknown)."""
    task = Task("", settings, "check")
    floor = project_for(task).floor("torch")
    return codes_for(task), ".".join(map(str, floor or ()))


def codes_at(directory: str, overrides: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The codes that run on a file below a directory, "" for those that run there at all."""
    settings = _settings_of(os.path.dirname(path) or "." if path else directory, _frozen(overrides))
    return codes_for(Task(path, settings, "check"))


def _placed(path: str, summary: FileSummary) -> FileSummary:
    return summary.placed(project_root(os.path.dirname(path) or "."))


def project_for(task: Task) -> Project:
    root = project_root(os.path.dirname(task.path) or ".")
    return _project_of(root, task.settings.policy, task.settings.values["min-torch"])


@functools.cache
def _project_of(root: str, policy: str, minimum: str) -> Project:
    from gelu_lint.model import Project
    from gelu_lint.requirements import declared

    bounds = {name: (row.floor, row.ceiling, row.ceiling_open) for name, row in declared(root).items()}
    if minimum:
        floor = tuple(int(part) for part in minimum.split(".") if part.isdigit())
        bounds["torch"] = (floor, *bounds.get("torch", (None, None, True))[1:])
    return Project(policy, tuple((name, *bound) for name, bound in sorted(bounds.items())), root=root)


def _excerpts(source: Source, findings: Iterable[Finding]) -> tuple[tuple[int, str], ...]:
    rows = sorted({finding.span.row for finding in findings})
    return tuple((row, source.line(row)) for row in rows if 1 <= row <= len(source.rows))
