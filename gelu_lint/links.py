"""What the files of a project have to do with each other: where modules lie, and where contexts lead."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping

from gelu_lint.model import HANDED, MEMBER, Arrival, Context, FileSummary, Settings

TYPE_CHECKING = False  # files are followed where something leads into them, which is seldom
if TYPE_CHECKING:
    from gelu_lint.reach import Reach

#: So many names of other files are looked up in one project.
_MOST = 3_000
#: So many of them from one context, the nearest first: what is farther away is hardly the model.
_EACH = 80
#: So many files hand on the name of a class before the one that defines it.
_HOPS = 4
#: Where the packages of a project lie, beside its root.
_SOURCES = ("", "src/", "lib/", "python/")


class Modules:
    """Where the modules of a project lie. Paths are relative to its root, with slashes."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(path for path in paths if path.endswith(".py"))
        self._folders: set[str] = set()
        for path in self._paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in self._folders:
                self._folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._roots = {path.rpartition("/")[2].removesuffix(".py") for path in (*self._paths, *self._folders)}

    def find(self, importer: str, target: str) -> tuple[str, tuple[str, ...]] | None:
        """The file that a full name leads to from another one, and what is left of the name; None if none is found.

        Relative names begin with dots. Absolute ones are looked for beside the importer, from where its package lies,
        and from the root of the project, as Python does for scripts, installed packages, and what runs at the root.
        """
        target, mark, member = target.partition(MEMBER)
        name = target.lstrip(".")
        dots = len(target) - len(name)
        parts = tuple(name.split(".")) if name else ()
        if mark and parts:
            parts = (*parts[:-1], f"{parts[-1]}{MEMBER}{member}")
        folder = posixpath.dirname(importer)
        if dots:
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            return self._below(folder, parts, least=0)
        if parts and parts[0].partition(MEMBER)[0] not in self._roots:
            return None  # of a library, as most are
        bases = (folder, self._top(folder), *(source.rstrip("/") for source in _SOURCES))
        found = (self._below(base, parts, least=1) for base in dict.fromkeys(bases))
        return next((place for place in found if place is not None), None)

    @functools.cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._paths:
            found.setdefault(path.rpartition("/")[0], []).append(path)
        return found

    def inside(self, package: str) -> Iterable[str]:
        """The modules that lie beside the ``__init__.py`` of a package."""
        return (path for path in self._by_folder[package.rpartition("/")[0]] if path != package)

    def _top(self, folder: str) -> str:
        """The folder that the package around a folder lies in."""
        while folder and _join(folder, "__init__.py") in self._paths:
            folder = posixpath.dirname(folder)
        return folder

    def _below(self, folder: str, parts: tuple[str, ...], least: int) -> tuple[str, tuple[str, ...]] | None:
        best = None
        count = 0
        while True:
            package = _join(folder, "__init__.py")
            if count >= least and package in self._paths:
                best = package, parts[count:]
            if count == len(parts):
                return best
            module = _join(folder, f"{parts[count]}.py")
            folder = _join(folder, parts[count])
            if folder in self._folders:
                count += 1
                continue
            return (module, parts[count + 1 :]) if module in self._paths else best


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def arrivals(
    contexts: Iterable[tuple[str, Context]],
    modules: Modules,
    reach: Callable[[str], Reach | None],
    importers: Callable[[str, str], Iterable[str]] = lambda path, name: (),
) -> Mapping[str, tuple[Arrival, ...]]:
    """Where contexts lead into other files, by file: what runs under each, followed through imports and re-exports.

    ``contexts`` are given with the files they stand in, as ``modules`` names them; ``reach`` gives what the code of a
    file may run, None where it cannot be read; ``importers`` the files that import a name of another one.
    """
    found: dict[str, list[Arrival]] = {}
    known: set[tuple[str, str]] = set()
    left = _MOST
    for home, context in contexts:
        names: dict[str, set[str]] = {}
        waiting = [(home, lead) for lead in context.leads]
        until = max(left - _EACH, 0)
        while waiting and left > until:
            fresh: dict[str, list[str]] = {}  # names of one file are followed together: they share what they run
            for importer, lead in waiting:
                for path, name in _places(importer, lead, home, modules, importers) if left > until else ():
                    if name not in names.get(path, ()) and path != home:
                        names.setdefault(path, set()).add(name)
                        fresh.setdefault(path, []).append(name)
                        left -= (path, name) not in known
                        known.add((path, name))
            waiting = []
            for path, new in fresh.items():
                own = reach(path)
                waiting += [(path, lead) for lead in own.entered(tuple(new)).leads] if own is not None else ()
        for path, held in names.items():
            found.setdefault(path, []).append(
                Arrival(context._replace(rows=(), made=(), leads=()), tuple(sorted(held)))
            )
    return {path: tuple(held) for path, held in found.items()}


def _places(
    importer: str, lead: str, home: str, modules: Modules, importers: Callable[[str, str], Iterable[str]]
) -> Iterator[tuple[str, str]]:
    """The files that a lead out of a file leads to, each with the name of it that runs."""
    if lead.startswith(HANDED):  # of helpers everywhere the callers of others would be found, too
        if importer == home:
            yield from ((path, lead) for path in importers(importer, lead[1:].partition(".")[0]))
        return
    place = modules.find(importer, lead)
    if place is not None and place[1]:
        yield place[0], place[1][0]


def settled(
    home: str,
    summary: FileSummary,
    modules: Modules,
    read: Callable[[str, str], Settings | None],
    imports: Callable[[str], Iterable[str]],
) -> FileSummary:
    """``summary``, of the file ``home``, with the classes of settings that other files define for its classes.

    ``read`` gives the class of a name that a file defines, ``imports`` what a file imports, as full names.
    """
    found = {settings.name: settings for settings in summary.settings}
    for taker in summary.takers:
        importer, target = home, taker.of
        if taker.reads == "own" or target.rpartition(".")[2] in found:
            continue
        for _ in range(_HOPS if "." in target else 0):
            place = modules.find(importer, target)
            if place is None or len(place[1]) != 1:
                break
            importer, name = place[0], place[1][0]
            settings = read(importer, name)
            if settings is not None:
                found[settings.name] = settings
                break
            target = next((other for other in imports(importer) if other.rpartition(".")[2] == name), "")
    return summary._replace(settings=tuple(found.values()))
