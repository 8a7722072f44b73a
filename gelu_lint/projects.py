"""What a run over a whole project adds to what its files show one by one."""

from __future__ import annotations

import functools
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from gelu_lint.configured import NO_HOOKS, Hooks, hooks, is_open, may_clash
from gelu_lint.discover import anchors
from gelu_lint.half import imports
from gelu_lint.kinds import kind_of
from gelu_lint.links import Modules, arrivals, settled
from gelu_lint.model import Arrival, Context, FileSummary, Finding, Project, Settings
from gelu_lint.patterns import lazy
from gelu_lint.registry import all_rules
from gelu_lint.requirements import is_probed, option, requirements
from gelu_lint.rule import Rule
from gelu_lint.runner import Done, Memory, Task, again, codes_for, led_key, project_for, read
from gelu_lint.screen import passes
from gelu_lint.source import Unreadable, decode, read_bytes
from gelu_lint.statements import statements_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gelu_lint.reach import Reach

#: Projects of so many files are searched for those that hand a model to a function of another file.
_SMALL = 300
#: Bytes from which on a file without a GELU is the machinery of a library rather than a model: it is not followed.
_HUGE = 60_000
#: Bytes from which on it is not even looked at for contexts: few files of that length in 300 packages are models, and
#: no finding there hangs on one.
_CORE = 100_000
#: So many files around one are looked at for those that a context matters to.
_AROUND = 60
#: Imported names that hold no model: constants, and what Python itself reads.
_IDLE = lazy(r"[A-Z0-9_]+|__\w+__")


class Projects:
    """The projects of the tasks of one run."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        roots: dict[str, list[Task]] = {}
        for task in tasks:
            if task.project:
                roots.setdefault(task.project, []).append(task)
        self._files = [_Files(root, members) for root, members in roots.items()]

    def near(self, hints: Mapping[str, tuple[str, ...]], marked: Container[str]) -> list[Task]:
        """The files worth a look of those that hold no GELU and may make others run in fp16: ``hints`` says by path
        what they import, ``marked`` which Python files may hold a GELU."""
        found = []
        for files in self._files:
            holds = any(path in marked for path in files.tasks)
            own = [path for path in files.tasks if path in hints] if holds else ()
            found += [files.tasks[path] for path in own if files.small or files.may_run(path, hints[path], marked)]
        return found

    def across(self, results: Mapping[str, Done], jobs: int, cache: Memory | None) -> Iterator[tuple[str, Done]]:
        """What comes of files anew, by path, once the rest of their project is known."""
        for files in self._files:
            if any(path in results for path in files.tasks):
                yield from _Whole(files, results).judged(jobs, cache)


class _Files:
    """The files of one project, by path, and by name: relative to its root, with slashes."""

    def __init__(self, root: str, tasks: Sequence[Task]) -> None:
        self.tasks = {task.path: task for task in tasks}
        self.small = len(tasks) <= _SMALL
        self.root, self._here = root, os.path.join(os.getcwd(), "")
        self._imported: dict[str, tuple[str, ...]] = {}
        self._read: dict[str, bytes] = {}
        self._reaches: dict[str, Reach | None] = {}
        self._leads: dict[str, bool] = {}  # whether a file leads to one that a context matters to

    @functools.cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each file by its path."""
        return {path: self._name(path) for path in self.tasks}

    @functools.cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of each Python file by its name."""
        return {name: path for path, name in self.names.items() if kind_of(name) == "python"}

    @functools.cached_property
    def modules(self) -> Modules:
        """Where the modules lie."""
        return Modules(self.paths)

    @functools.cached_property
    def _lead(self) -> str:
        """What the paths of the files of this run begin with before their names."""
        path, name = next(iter(self.names.items()))
        return path[: -len(name)] if path.replace(os.sep, "/").endswith(name) else os.path.join(self.root, "")

    def known(self, project: Project) -> Project:
        """``project`` with what only a run that sees all of it has: the places that speak for the whole."""
        settings = next(iter(self.tasks.values())).settings
        if settings.values["min-torch"]:
            name = self._name(settings.origin["min-torch"])
            places = option(self.root, name, ("tool", "gelu-lint", "min-torch"))
        else:
            places = requirements(self.root, "torch")
        torch = tuple(place._replace(path=self._lead + place.path) for place in places)
        return project._replace(anchors=anchors(self.root, self._lead), torch=torch, probed=is_probed(self.root))

    def task(self, path: str) -> Task:
        """The task of a file; of one that is not among those of the run, such as pyproject.toml, one like theirs."""
        if path not in self.tasks:
            like = next(iter(self.tasks.values()))
            self.tasks[path] = Task(path, like.settings, like.action, like.remember, like.project)
        return self.tasks[path]

    def _name(self, path: str) -> str:
        full = path if path.startswith(self.root) or os.path.isabs(path) else self._here + path
        if f"{os.sep}." in full:
            full = os.path.normpath(full)
        return full[len(self.root) :].lstrip(os.sep).replace(os.sep, "/")

    def may_run(self, path: str, imported: Iterable[str], marked: Container[str]) -> bool:
        """Whether a file without a GELU may run one that is marked: it imports it, and is not the core of a library."""
        try:
            return os.path.getsize(path) < _CORE and self.is_near(path, imported, marked)
        except OSError:
            return False

    def is_near(self, path: str, imported: Iterable[str], marked: Container[str]) -> bool:
        """Whether a file imports one that is marked, by way of packages that hand on what they import."""
        waiting = [(self.names[path], target) for target in imported if not _IDLE.fullmatch(target.rpartition(".")[2])]
        seen = set()
        while waiting:
            importer, target = waiting.pop()
            place = self.modules.find(importer, target)
            if place is None or place in seen:
                continue
            seen.add(place)
            name, rest = place
            if self.paths[name] in marked:
                return True
            if name.endswith("__init__.py") and rest:
                wanted = [t for t in self._imports(name) if t.rpartition(".")[2] in (rest[0], "*") or t.endswith("*")]
                waiting += [(name, found) for found in wanted]
        return False

    def leads_to(self, name: str, wanted: Container[str]) -> bool:
        """Whether a file is one of ``wanted``, or imports one by way of others, as far as so many are looked at."""
        seen, waiting = {name}, [name]
        while waiting and len(seen) < _AROUND and self._leads.get(waiting[-1]) is not True:
            importer = waiting.pop()
            if importer in wanted:
                waiting.append(importer)
                break
            if importer not in self._leads:
                fresh = [name for name in self._imported_by(importer) if name not in seen]
                seen.update(fresh)
                waiting += dict.fromkeys(fresh)
        self._leads.update(dict.fromkeys([name] if waiting else seen, bool(waiting)))
        return bool(waiting)

    def _imported_by(self, importer: str) -> Iterator[str]:
        """The files that one imports; of a package that is imported whole also the modules that it names of it."""
        for target in self._imports(importer):
            place = self.modules.find(importer, target)
            if place is None:
                continue
            yield place[0]
            if not place[1] and place[0].endswith("__init__.py"):
                text = self._bytes(importer)
                inside = self.modules.inside(place[0])
                yield from (name for name in inside if f".{_stem(name)[0]}.".encode() in text)

    def importers(self, name: str, target: str) -> Iterator[str]:
        """The files that import a name of a file, or the file whole."""
        module = (name, ())
        for importer in self.paths if self.small else ():
            if importer != name and target.encode() in self._bytes(importer):
                targets = (t for t in self._imports(importer) if t.rpartition(".")[2] in (target, *_stem(name)))
                if any(self.modules.find(importer, t) in (module, (name, (target,))) for t in targets):
                    yield importer

    def _imports(self, name: str) -> tuple[str, ...]:
        if name not in self._imported:
            self._imported[name] = imports(self._bytes(name))
        return self._imported[name]

    def _bytes(self, name: str) -> bytes:
        if name not in self._read:
            path = self.paths[name]
            try:
                self._read[name] = read_bytes(path, self.tasks[path].settings.values["max-file-size"])
            except (Unreadable, OSError):
                self._read[name] = b""
        return self._read[name]

    def configured(self, path: str, summary: FileSummary, hooks: Hooks) -> FileSummary | None:
        """A summary with what configures the classes of its file, other files asked for the classes of their settings;
        None where that is of no concern."""
        if not summary.takers:  # else they were told where the file was read, as they are for a check
            if hooks == NO_HOOKS and self.tasks[path].action == "check":
                return None
            try:  # it is asked for once, and not kept: there may be many
                data = read_bytes(path, self.tasks[path].settings.values["max-file-size"])
                if not is_open(summary, data.decode("latin-1"), hooks):
                    return None
                source = decode(path, data)
            except (Unreadable, OSError):
                return None
            from gelu_lint.takers import with_takers

            summary = with_takers(summary, source.text, source.rows)
        if not any(taker.of for taker in summary.takers):
            return summary
        return settled(self.names[path], summary, self.modules, self._settings, self._imports)

    def _settings(self, name: str, wanted: str) -> Settings | None:
        """A class of settings that a file defines."""
        path = self.paths[name]
        try:
            source = decode(path, self._bytes(name))
        except Unreadable:
            return None
        from gelu_lint.takers import settings_in

        found = settings_in(source.text, source.rows, wanted)
        return found._replace(path=path) if found is not None else None

    def trained(self, name: str, summary: FileSummary | None) -> FileSummary | None:
        """``summary`` of a file with what it trains and watches, None where it does neither."""
        from gelu_lint.training import trains, with_training

        data = self._bytes(name)
        if not trains(data):
            return None
        try:
            source = decode(self.paths[name], data)
        except Unreadable:
            return None
        return with_training(summary or FileSummary(source.path).placed(self.root), source.text)

    def reaches(self, paths: Iterable[str]) -> Mapping[str, Reach]:
        """What the code of some files may run, as far as it has been asked for."""
        known = ((path, self._reaches.get(self.names.get(path, ""))) for path in paths)
        return {path: reach for path, reach in known if reach is not None}

    def reach(self, name: str, marked: Container[str]) -> Reach | None:
        """What the code of a file may run, None where it is no text, or not followed: in a large project only files are
        that hold a GELU or import one that does, of those whose paths are ``marked``."""
        if name not in self._reaches:
            path, data = self.paths[name], self._bytes(name)
            followed = path in marked or self.small or self.is_near(path, self._imports(name), marked)
            followed = followed and (len(data) < _HUGE or passes(data))
            self._reaches[name] = reach_of(name, data) if followed else None
        return self._reaches[name]


class _Whole:
    """One project, with what its files have shown one by one."""

    def __init__(self, files: _Files, results: Mapping[str, Done]) -> None:
        self._files, self._tasks, self._results = files, files.tasks, results
        self._asked: Mapping[str, FileSummary] = {}  # what files show of training, where a rule asks for it
        self._summaries = {
            path: done.summary.placed(files.root)
            for path in self._tasks
            if (done := results.get(path)) and done.summary is not None
        }

    def judged(self, jobs: int, cache: Memory | None) -> Iterator[tuple[str, Done]]:
        """The files about which the project says something new."""
        extra, led = self._said(), self._led()
        wanted = {*extra, *(led.keys() & self._exposed)}
        if not any(context.kind == "unread" for s in self._summaries.values() for context in s.contexts):
            wanted.update(path for path, summary in self._summaries.items() if _directed(summary))
        evidence = {path: (led.get(path, ()), extra.get(path, ())) for path in sorted(wanted)}
        first = {path: self._results[path] for path in evidence if path in self._results}
        work = functools.partial(again, evidence, first, self._files.reaches(evidence))
        outcomes = {path: done.outcome for path, done in self._results.items()}
        for task, done in read([self._files.task(path) for path in evidence], jobs, work, cache):
            if cache is not None and led.get(task.path):
                cache.put_led(task, led_key(led[task.path]), done)
            outcomes[task.path] = done.outcome
            yield task.path, done
        for path, summary in self._asked.items():
            yield path, Done(outcomes.get(path), summary=summary)

    def _said(self) -> Mapping[str, list[Finding]]:
        """What rules say of the project as a whole, by file."""
        found: dict[str, list[Finding]] = {}
        rules = [rule for rule in all_rules() if rule.across is not None]
        if not self._summaries:
            return found
        project = self._files.known(project_for(self._tasks[next(iter(self._summaries))]))
        for rule in rules:
            if not any(rule.code in codes_for(self._tasks[path]) for path in self._summaries):
                continue
            if rule.loops:
                self._asked = self._training
            seen = [
                summary if rule.code in codes_for(self._tasks[path]) else _evidence(summary)
                for path, summary in sorted({**self._summaries, **self._more(rule)}.items())
            ]
            for finding in rule.across(seen, project) if rule.across is not None else ():
                if rule.code in codes_for(self._files.task(finding.path)):
                    places = {finding.path, *(path for path, _, _ in finding.related if rule.outranks)}
                    for path in places & (self._summaries.keys() | {finding.path}):
                        found.setdefault(path, []).append(finding)
        return found

    def _more(self, rule: Rule) -> Mapping[str, FileSummary]:
        """The files of which a rule must see more than each shows by itself."""
        return self._training if rule.loops else self._configured if rule.takers else {}

    @functools.cached_property
    def _configured(self) -> Mapping[str, FileSummary]:
        """The files of which settings may say another activation, with what configures their classes."""
        known = hooks(self._summaries.values())
        may = {path: summary for path, summary in self._summaries.items() if may_clash(summary)}
        found = {path: self._files.configured(path, summary, known) for path, summary in may.items()}
        return {path: summary for path, summary in found.items() if summary is not None}

    @functools.cached_property
    def _training(self) -> Mapping[str, FileSummary]:
        """The files that train something, or watch what a GELU gives."""
        names = {path: name for name, path in self._files.paths.items()}
        found = {path: self._files.trained(name, self._summaries.get(path)) for path, name in names.items()}
        return {path: summary for path, summary in found.items() if summary is not None}

    @functools.cached_property
    def _exposed(self) -> frozenset[str]:
        """The files with a site of which some rule speaks if a context of another file leads to it."""
        rules = [(rule.code, rule.under) for rule in all_rules() if rule.under is not None]
        return frozenset(
            path
            for path, summary in self._summaries.items()
            if any(code in codes_for(self._tasks[path]) and any(under(summary, s) for s in summary.sites)
                   for code, under in rules)
        )  # fmt: skip

    def _led(self) -> Mapping[str, tuple[Arrival, ...]]:
        """Where contexts lead into files, by path; nowhere where no file is such that this matters."""
        if not self._exposed:
            return {}
        leading = {path: _told_apart(summary.contexts) for path, summary in sorted(self._summaries.items())}
        names = self._files.names if any(leading.values()) else {}
        contexts = [(names[path], each._replace(path=path)) for path, held in leading.items() for each in held]
        if not contexts:
            return {}
        marked = {path for path, summary in self._summaries.items() if summary.sites}
        exposed = {names[path] for path in self._exposed}

        def reach(name: str) -> Reach | None:
            return self._files.reach(name, marked) if self._files.leads_to(name, exposed) else None

        led = arrivals(contexts, self._files.modules, reach, self._files.importers)
        return {self._files.paths[name]: held for name, held in led.items()}


def _evidence(summary: FileSummary) -> FileSummary:
    """What a file in which a rule is off still shows of the project: that it tests or watches something."""
    return FileSummary(summary.path, bound=summary.bound, trials=summary.trials, watched=summary.watched)


def _stem(path: str) -> tuple[str, ...]:
    """The names by which a file is imported whole."""
    return (os.path.basename(path)[:-3], os.path.basename(os.path.dirname(path)))


def _told_apart(contexts: Sequence[Context]) -> list[Context]:
    """Contexts that lead somewhere, one of each kind for what they lead to."""
    return list({(context.kind, context.leads): context for context in reversed(contexts) if context.leads}.values())


def _directed(summary: FileSummary) -> bool:
    """Whether a directive names a rule that only a run over a whole project can call idle."""
    named = {code for directive in summary.directives for code, _ in directive.codes}
    return bool(named) and any(rule.code.startswith(tuple(named)) for rule in all_rules() if rule.project)


def reach_of(name: str, data: bytes) -> Reach | None:
    """What the code of a file may run; None where its bytes are no text."""
    try:
        source = decode(name, data)
    except Unreadable:
        return None
    from gelu_lint.reach import Reach  # files are followed where something leads into them, which is seldom

    return Reach(statements_of(source.text, source.rows))
