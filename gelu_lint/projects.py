"""What a run over a whole project adds to what its files show one by one."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gelu_lint.links import Modules, arrivals, imports
from gelu_lint.model import Arrival, Context, FileSummary, Finding
from gelu_lint.reach import Reach
from gelu_lint.registry import all_rules
from gelu_lint.runner import _codes, _Done, _Memory, _project, _Task, again, read, remember
from gelu_lint.source import Unreadable, decode, read_bytes


def across(
    tasks: Sequence[_Task],
    results: Mapping[str, _Done],
    hints: Mapping[str, tuple[str, ...]],
    cache: _Memory | None,
    jobs: int,
) -> Iterator[tuple[str, _Done]]:
    """What comes of files anew, by path, once the rest of their project is known.

    ``results`` are those of the files that may hold a GELU, ``hints`` what files import that hold none and may make
    others run in fp16.
    """
    roots: dict[str, list[_Task]] = {}
    for task in tasks:
        if task.project:
            roots.setdefault(task.project, []).append(task)
    for root, members in roots.items():
        if any(task.path in results for task in members):
            yield from _Whole(root, members, results).judged(hints, cache, jobs)


#: Projects of so many files are searched for those that hand a model to a function of another file.
_SMALL = 300
#: Imported names that hold no model: constants, and what Python itself reads.
_IDLE = re.compile(r"[A-Z0-9_]+|__\w+__")


class _Whole:
    """One project."""

    def __init__(self, root: str, tasks: Sequence[_Task], results: Mapping[str, _Done]) -> None:
        self._tasks = {task.path: task for task in tasks}
        self._results, self._root = results, root
        self._summaries = {
            path: done.summary for path in self._tasks if (done := results.get(path)) and done.summary is not None
        }
        self._reaches: dict[str, Reach | None] = {}
        self._imported: dict[str, tuple[str, ...]] = {}
        self._read: dict[str, bytes] = {}

    def judged(
        self, hints: Mapping[str, tuple[str, ...]], cache: _Memory | None, jobs: int
    ) -> Iterator[tuple[str, _Done]]:
        """The files about which the project says something new."""
        extra = self._said()
        led = self._led(hints, cache, jobs)
        wanted = {path for path in led if self._summaries.get(path) and self._summaries[path].sites}
        wanted.update(extra, (path for path, summary in self._summaries.items() if _directed(summary)))
        evidence = {path: (led.get(path, ()), extra.get(path, ())) for path in sorted(wanted)}
        first = {path: self._results[path].outcome for path in evidence if path in self._results}
        work = functools.partial(again, evidence, first)
        for task, done in read([self._tasks[path] for path in evidence], None, jobs, work):
            yield task.path, done

    def _said(self) -> Mapping[str, list[Finding]]:
        """What rules say of the project as a whole, by file."""
        found: dict[str, list[Finding]] = {}
        rules = [rule for rule in all_rules() if rule.across is not None]
        if not self._summaries:
            return found
        project = _project(self._tasks[next(iter(self._summaries))])
        for rule in rules:
            seen = [s for path, s in sorted(self._summaries.items()) if rule.code in _codes(self._tasks[path])]
            for finding in rule.across(seen, project) if rule.across is not None and seen else ():
                found.setdefault(finding.path, []).append(finding)
        return found

    # Where contexts lead

    def _led(
        self, hints: Mapping[str, tuple[str, ...]], cache: _Memory | None, jobs: int
    ) -> Mapping[str, tuple[Arrival, ...]]:
        """Where contexts lead into files, by path."""
        own = {path: hints[path] for path in self._tasks if path in hints}
        if not own and not any(context.leads for s in self._summaries.values() for context in s.contexts):
            return {}
        self._names = {path: self._name(path) for path in self._tasks}
        self._paths = {name: path for path, name in self._names.items()}
        self._modules = Modules(self._paths)
        small = len(self._tasks) <= _SMALL
        near = [self._tasks[path] for path, imported in own.items() if small or self._is_near(path, imported)]
        for task, done in read(near, cache, jobs, spread=2):
            remember(cache, task, done)
            if done.summary is not None:
                self._summaries[task.path] = done.summary
        contexts = [
            (self._names[path], context._replace(path=path))
            for path, summary in sorted(self._summaries.items())
            for context in _told_apart(summary.contexts)
        ]
        if small:
            led = arrivals(contexts, self._modules, self._reach, self._importers)
        else:
            led = arrivals(contexts, self._modules, self._reach)
        return {self._paths[name]: held for name, held in led.items()}

    def _name(self, path: str) -> str:
        full = os.path.abspath(path)
        return full[len(self._root) :].lstrip(os.sep).replace(os.sep, "/")

    def _is_near(self, path: str, imported: Iterable[str]) -> bool:
        """Whether a file imports one that holds a GELU, by way of packages that hand on what they import."""
        waiting = [(self._names[path], target) for target in imported if not _IDLE.fullmatch(target.rpartition(".")[2])]
        seen = set()
        while waiting:
            importer, target = waiting.pop()
            place = self._modules.find(importer, target)
            if place is None or place in seen:
                continue
            seen.add(place)
            name, rest = place
            summary = self._summaries.get(self._paths[name])
            if summary is not None and summary.sites:
                return True
            if name.endswith("__init__.py") and rest:
                wanted = [t for t in self._imports(name) if t.rpartition(".")[2] in (rest[0], "*") or t.endswith("*")]
                waiting += [(name, found) for found in wanted]
        return False

    def _importers(self, path: str, name: str) -> Iterator[str]:
        """The files that import a name of a file, or the file whole."""
        module = (path, ())
        for importer in self._paths:
            if importer != path and name.encode() in self._bytes(importer):
                targets = (t for t in self._imports(importer) if t.rpartition(".")[2] in (name, *_stem(path)))
                if any(self._modules.find(importer, t) in (module, (path, (name,))) for t in targets):
                    yield importer

    def _imports(self, name: str) -> tuple[str, ...]:
        if name not in self._imported:
            self._imported[name] = imports(self._bytes(name))
        return self._imported[name]

    def _bytes(self, name: str) -> bytes:
        if name not in self._read:
            path = self._paths[name]
            try:
                self._read[name] = read_bytes(path, self._tasks[path].settings.values["max-file-size"])
            except (Unreadable, OSError):
                self._read[name] = b""
        return self._read[name]

    def _reach(self, name: str) -> Reach | None:
        if name not in self._reaches:
            self._reaches[name] = reach_of(name, self._bytes(name))
        return self._reaches[name]


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
    return Reach(source.text, source.rows)
