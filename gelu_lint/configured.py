"""Settings that say one activation beside code that computes another: which settings configure which code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from gelu_lint.dropped import is_fixed, losses
from gelu_lint.facts.activations import REGISTRIES, Registry
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.handwritten import internal
from gelu_lint.model import Entry, FileSummary, Load, Settings, Site, Span, Taker
from gelu_lint.named import NamedTuple
from gelu_lint.numerics.flavours import GELUS
from gelu_lint.patterns import lazy
from gelu_lint.roles import is_mock, is_reference, is_test, words
from gelu_lint.settings import FILES, Mapping, mappings, meant

_TRANSFORMERS = REGISTRIES["transformers"]
#: Words of keys, classes and families that name a part of a model.
_SIDES = frozenset(("text", "vision", "visual", "image", "audio", "speech", "video", "qformer", "language"))
_PARTS = _SIDES | frozenset(
    (
        *("encoder", "decoder", "projector", "projection", "pooler", "classifier", "summary", "feat", "extract"),
        *("memory", "fuser", "mask", "downsampler", "attention", "adapter", "head", "connector", "ffn", "mlp"),
    )
)
#: Those of them that say no more of a key than that it is for the feed-forward block.
_USUAL = frozenset(("ffn", "mlp"))
#: Keys that lead to the settings of a model, or to what it is made with.
_GENERIC = frozenset(
    (
        *("model", "net", "network", "arch", "architecture", "config", "cfg", "params", "kwargs", "args", "init"),
        *("hparams", "hyperparameters", "settings", "options", "module", "transformer", "backbone", "parameters"),
    )
)
#: Blocks whose GELU belongs to the design, whatever activation the layers have.
_DESIGNED = lazy(
    r"(?i)head|pool|classif|proj|embed|lm|merger|patch|conv|^pos|position|adapter|predict|connector|fusion|router|stem|"
    r"downsample|upsample|resampler|bridge|cls|time|final|mask|condition|factory|^GLU$"
)
#: Folders of configurations, and of those that configure nothing any more.
_FOLDER = lazy(r"(?i)conf(?:ig)?s?|configurations?|cfgs?|settings|params|options|experiments?|ya?mls?|jsons?")
_ASIDE = lazy(r"(?i)docs?|archived?s?|old|legacy|deprecated|backups?|attic|obsolete|third_?party|fixtures?")
_MODULE = lazy(r"(?:modeling|modelling|modular)_(?:tf_|flax_)?(\w+)\.py")
#: Of what asks for one, what stands in no string and in no class of settings.
_TABLES = ("ACT2FN[", "ACT2CLS[")
#: One of these stands in each name of a class of settings.
_STEMS_OF_SETTINGS = ("Config", "Cfg", "Arguments", "Params", "Settings", "Options")
_ARGS = lazy(r"Args(?!:)")


class Clash(NamedTuple):
    """A GELU of a class that settings of another flavour configure.

    key, value  what the settings say, of flavour ``wanted``; ``settings`` are the class that has it as a default, or
                ``entry`` is where it stands in ``config``
    link        why they are those of the class, in words
    """

    file: FileSummary
    taker: Taker
    site: Site
    key: str
    value: str
    wanted: str
    link: str
    config: FileSummary | None = None
    entry: Entry | None = None
    settings: Settings | None = None
    span: Span = Span(1, 0, 1, 0)


class _Gelus(NamedTuple):
    """The GELUs of a class and of what it is made of, all of one flavour, with the classes that they stand in."""

    flavour: str
    sites: tuple[tuple[Taker, Site], ...]
    alone: bool  # no other activation is near


class Hooks(NamedTuple):
    """What tells the files that files of settings may be for.

    words     one of them stands in each file whose classes they name, or are given one: what the files of settings are
              called, without suffixes, and the classes that they name
    families  some are for all models of a type
    """

    words: frozenset[str]
    families: bool


NO_HOOKS = Hooks(frozenset(), families=False)


def hooks(files: Iterable[FileSummary]) -> Hooks:
    """The hooks of the files of settings among ``files``."""
    words, families = {""}, False
    for file in files:
        entries = [entry for entry in file.entries if entry.form in FILES]
        if any(entry.key in ACTIVATION_KEYS for entry in entries):
            words.add(posixpath.basename(_posix(file.path)).partition(".")[0])
            words.update(_class_of(entry.owner) for entry in entries)
            families = families or any(entry.model_type for entry in entries)
    return Hooks(frozenset(words - {""}), families)


def may_clash(file: FileSummary) -> bool:
    """Whether a class of a file, as far as its GELUs tell, may be one that settings say something else of."""
    return next(_fixed_in_classes(file), None) is not None and not is_test(file.place) and not internal(file)


def is_open(file: FileSummary, text: str, hooks: Hooks) -> bool:
    """Whether what configures the classes of a file may contradict them: of one that may clash, with this text.

    Where no file of settings is for it only those count that a class takes: for what is no part with a design of its
    own, and, where other code asks for activations, for what loses its own.
    """
    if any(word in text for word in hooks.words):
        return True
    if not hooks.families and not takes_settings(text):
        return False
    fixed = [*_fixed_in_classes(file)]
    if asks(text):
        return not {loss.span for loss in losses(file)}.isdisjoint(site.span for site in fixed)
    return hooks.families or any(
        "." not in site.symbol or not _is_apart(site.symbol.partition(".")[0]) for site in fixed
    )


def told(file: FileSummary, text: str, rows: Sequence[int]) -> FileSummary:
    """A file with what configures its classes, where that may contradict them whatever files of settings there are."""
    if not may_clash(file) or not is_open(file, text, NO_HOOKS):
        return file
    from gelu_lint.takers import with_takers  # most files need none of it

    return with_takers(file, text, rows)


def asks(text: str) -> bool:
    """Whether code surely looks an activation up in a table, so that every class of it may be given that one."""
    for table in _TABLES:
        at = text.find(table)
        while at >= 0:
            before = text[text.rfind("\n", 0, at) + 1 : at]
            if not any(mark in before for mark in "#\"'`") and "import" not in before:
                return True
            at = text.find(table, at + len(table))
    return False


def takes_settings(text: str) -> bool:
    """Whether a class of settings may be named: the word at the head of a list of arguments is none."""
    return any(stem in text for stem in _STEMS_OF_SETTINGS) or _ARGS.search(text) is not None


def _fixed_in_classes(file: FileSummary) -> Iterator[Site]:
    """The GELUs that a class, or a helper of one, computes whatever it is given."""
    helped = any(swap.kind == "helper" for swap in file.swaps)
    return (site for site in file.sites if (helped or "." in site.symbol) and is_fixed(site))


def _is_apart(name: str) -> bool:
    """Whether the activation of a class of this name belongs to its design, and no key of settings is for it."""
    own = words(name)
    qualified = ((words(key) & _PARTS) - _USUAL for key in ACTIVATION_KEYS)
    return _DESIGNED.search(name) is not None and not any(key and key <= own for key in qualified)


def clashes(files: Sequence[FileSummary]) -> Iterator[Clash]:
    """What settings and code of a project say of each other, one clash for each value and each class."""
    code = [file for file in files if file.takers and not is_test(file.place) and not internal(file)]
    if not code:
        return
    told: set[tuple[str, Span]] = set()
    linked = _Links(code)
    for config in files:
        if not config.entries or _is_aside(config.place):
            continue
        for clash in _in_file(config, linked):
            told.add((clash.file.path, clash.site.span))
            yield clash
    for file in code:
        for clash in _by_default(file):
            if (file.path, clash.site.span) not in told:
                yield clash


# Files of settings


class _Links:
    """Which classes of a project a file of settings may configure."""

    def __init__(self, code: Sequence[FileSummary]) -> None:
        self.named: dict[str, list[tuple[FileSummary, Taker]]] = {}
        self.families: dict[str, list[FileSummary]] = {}
        self.loads: dict[str, list[tuple[FileSummary, Taker, Load]]] = {}
        for file in code:
            own = {taker.name: taker for taker in file.takers}
            for taker in file.takers:
                self.named.setdefault(taker.name, []).append((file, taker))
            for family in _families(file):
                self.families.setdefault(family, []).append(file)
            for load in file.loads:
                for path in _places(file, load):
                    self.loads.setdefault(path, []).append((file, own[load.taker], load))


def _families(file: FileSummary) -> set[str]:
    """The model types that the classes of a file are for."""
    module = _MODULE.fullmatch(posixpath.basename(_posix(file.path)))
    found = {taker.model_type for taker in file.takers} | {settings.model_type for settings in file.settings}
    return {_plain(family) for family in (*found, module[1] if module is not None else "") if family}


def _plain(family: str) -> str:
    return family.replace("-", "_").lower()


def _places(file: FileSummary, load: Load) -> Iterator[str]:
    """Where a file may lie that code names: beside it, or beside any folder around, from where it may be run."""
    folder = posixpath.dirname(_posix(file.path))
    while True:
        yield posixpath.normpath(posixpath.join(folder, load.file))
        if load.beside or not folder or folder == posixpath.dirname(folder):
            return
        folder = posixpath.dirname(folder)


def _in_file(config: FileSummary, links: _Links) -> Iterator[Clash]:
    every = [entry for entry in config.entries if entry.form in FILES and entry.key in ACTIVATION_KEYS]
    tables = {
        entry.span: mapping.registry(entry) or (_TRANSFORMERS if _is_pretrained(mapping) else None)
        for mapping in mappings(config)
        for entry in mapping.entries
    }
    told: set[Span] = set()
    for entry in every:
        if not isinstance(entry.value, str) or entry.span in told:  # of YAML, several mappings may share it
            continue
        wanted = _meaning(entry.value, tables.get(entry.span))
        if not wanted:
            continue
        for file, taker, link, only in _configured(config, entry, every, links):
            found = _gelus(file, taker)
            if found is None or found.flavour in wanted:
                continue
            if wanted.isdisjoint(GELUS) and not (only and found.alone and found.sites[0][0] is taker):
                continue
            near = [(owner, site) for owner, site in found.sites if _fits(entry, owner, taker, link)]
            if near:
                owner, site = near[0]
                told.add(entry.span)
                yield Clash(
                    file, owner, site, entry.key, entry.value, min(wanted), link, config=config, entry=entry,
                    span=entry.span,
                )  # fmt: skip
                break


def _configured(
    config: FileSummary, entry: Entry, every: Sequence[Entry], links: _Links
) -> Iterator[tuple[FileSummary, Taker, str, bool]]:
    """The classes that the settings around an entry are for, why, and whether that is sure of the class itself."""
    path = posixpath.normpath(_posix(config.path))
    for file, taker, load in links.loads.get(path, ()):
        if _is_given(entry, load) and _is_only(entry, every, load):
            yield file, taker, f"{_posix(file.path)} loads it", True
    owner = _owner(config, entry)
    name = _class_of(owner)
    same = [(file, taker) for file, taker in links.named.get(name, ()) if _is_of(owner, file) or _near(path, file)]
    if len(same) == 1:
        yield (*same[0], f"it names {name}", True)
    for file in links.families.get(_plain(entry.model_type), ()):
        if not _near(path, file) or any(taker.reads for taker in file.takers):
            continue
        whole = [taker for taker in file.takers if taker.config]
        if len({found.flavour if found is not None else "" for found in (_gelus(file, taker) for taker in whole)}) != 1:
            continue
        for taker in whole:
            yield file, taker, f"its model_type is {entry.model_type}", False


def _is_given(entry: Entry, load: Load) -> bool:
    """Whether an entry is among what a class is given of a file, or beside a value that it is given."""
    if load.path:
        return entry.path in (load.path, load.path[:-1])
    return all(_GENERIC.issuperset(words(key)) for key in entry.path)


def _is_only(entry: Entry, every: Sequence[Entry], load: Load) -> bool:
    """Whether all activations that a class may be given say the same."""
    return len({other.value for other in every if other.key == entry.key and _is_given(other, load)}) == 1


def _owner(config: FileSummary, entry: Entry) -> str:
    """The class that an entry's mapping names, or the nearest one around that has the mapping as its arguments."""
    if entry.owner or not entry.path:
        return entry.owner
    path = entry.path
    while path and _GENERIC.issuperset(words(path[-1])):
        path = path[:-1]
        above = [other.owner for other in config.entries if other.path == path and other.owner]
        if above:
            return above[0]
    return ""


def _class_of(owner: str) -> str:
    """The class at the end of a dotted name, or of a path."""
    return re.split(r"[.:/]", owner)[-1]


def _is_of(owner: str, file: FileSummary) -> bool:
    """Whether a dotted name of a class leads to a file."""
    module = owner.rpartition(".")[0].replace(".", "/")
    return module != "" and f"/{_posix(file.path)}".endswith((f"/{module}.py", f"/{module}/__init__.py"))


def _near(path: str, file: FileSummary) -> bool:
    """Whether a configuration lies beside or under the package of a module, or in a folder of configurations beside."""
    folder, home = posixpath.dirname(path).split("/"), posixpath.dirname(_posix(file.path)).split("/")
    folder, home = [part for part in folder if part], [part for part in home if part not in ("", ".")]
    common = 0
    while common < min(len(folder), len(home)) and folder[common] == home[common]:
        common += 1
    below = folder[common:]
    return common == len(home) or len(below) <= 1 or _FOLDER.fullmatch(below[0]) is not None


def _fits(entry: Entry, owner: Taker, taker: Taker, link: str) -> bool:
    """Whether a class is of the part of a model that an entry is for."""
    by_family = "model_type" in link
    said = words(" ".join((entry.key, *entry.path, entry.model_type, "" if by_family else taker.name)))
    qualified = (words(entry.key) & _PARTS) - _USUAL
    if not qualified <= words(owner.name) or not words(owner.name) & _SIDES <= said:
        return False
    return bool(qualified) or (owner is taker and not by_family) or _DESIGNED.search(owner.name) is None


def _is_pretrained(mapping: Mapping) -> bool:
    """Whether settings are those of a model of transformers."""
    return any(entry.model_type or entry.key in ("architectures", "transformers_version") for entry in mapping.entries)


def _is_aside(path: str) -> bool:
    """Whether a file of settings configures nothing: a test's, one of the docs, one that is kept for the record."""
    path = _posix(path)
    return is_test(path) or any(_ASIDE.fullmatch(part) for part in path.split("/")[:-1])


def _meaning(value: str, registry: Registry | None) -> frozenset[str]:
    """The flavours that a name of an activation may mean, in a table or in any; none where that is not known."""
    name = value.strip()
    if registry is not None:
        found = {registry.flavour(name) or ""}
    else:
        found = {known for table in REGISTRIES.values() if (known := table.flavour(name.lower())) is not None}
    if not found and len(meant(name)) == 1:
        found = {*meant(name)}
    return frozenset(found) if "" not in found else frozenset()


# What classes compute


def _gelus(file: FileSummary, taker: Taker, *, deep: bool = True) -> _Gelus | None:
    """The GELUs of a class and, if ``deep``, of the classes that it is made of; None where settings may choose them, or
    they are of several flavours."""
    by_name = {each.name: each for each in file.takers}
    members, waiting = [taker], [*taker.makes] if deep else []
    while waiting:
        found = by_name.get(waiting.pop())
        if found is not None and found not in members:
            members.append(found)
            waiting += found.makes
    sites: list[tuple[Taker, Site]] = []
    for member in members:
        if member.reads == "own" or (member.takes and not _is_lost(file, member)):
            return None
        if is_test("", member.name) or is_reference(member.name) or is_mock(member.name):
            return None
        sites += [(member, site) for site in _computed(file, member)]
    if not sites or not all(is_fixed(site) for _, site in sites) or len({site.flavour for _, site in sites}) != 1:
        return None
    sites.sort(key=lambda pair: (pair[0] is not taker, pair[1].span))
    return _Gelus(sites[0][1].flavour, tuple(sites), not taker.others)


def _computed(file: FileSummary, taker: Taker) -> Iterator[Site]:
    """The GELUs in a class, and in the functions that compute them for it."""
    seen = set()
    for site in file.sites:
        if _within(site, taker.rows) and site.form not in ("import", "base"):
            seen.add(site.span)
            yield site
    for swap in file.swaps:
        if swap.kind == "helper" and taker.rows[0] <= swap.span.row <= taker.rows[1]:
            yield from (site for site in file.sites if _within(site, swap.rows) and site.span not in seen)


def _within(site: Site, rows: tuple[int, int]) -> bool:
    return rows[0] <= site.span.row <= rows[1]


def _is_lost(file: FileSummary, taker: Taker) -> bool:
    """Whether nothing comes of any parameter of a class by which its activation could be chosen."""
    defs = [each for each in file.defs if each.owner_rows[0] >= taker.rows[0] and each.owner_rows[1] <= taker.rows[1]]
    chosen = [p for each in defs for p in each.parameters if p.kind in ("activation", "flavour")]
    return bool(chosen) and all(parameter.fate in ("unread", "stored") for parameter in chosen)


# Classes of settings


def _by_default(file: FileSummary) -> Iterator[Clash]:
    """Classes with a GELU that is not the one that the class of their settings has by default."""
    known = {settings.name: settings for settings in file.settings}
    spoken = {loss.span for loss in losses(file)}
    for taker in file.takers:
        settings = known.get(taker.of.rpartition(".")[2])
        if settings is None or taker.others or is_test(settings.path):
            continue
        found = _gelus(file, taker, deep=False)
        if found is None or (taker.reads and not any(site.span in spoken for _, site in found.sites)):
            continue
        sides, parts = words(taker.name) & _SIDES, words(taker.name)
        defaults = [d for d in settings.defaults if (words(d.key) & _PARTS) - _USUAL <= parts]
        said = {_meaning(default.value, _TRANSFORMERS if settings.pretrained else None) for default in defaults}
        if len(said) != 1 or not sides <= words(f"{settings.name} {settings.model_type}"):
            continue
        wanted, default = next(iter(said)), defaults[0]
        qualified = (words(default.key) & _PARTS) - _USUAL
        if not wanted or found.flavour in wanted or (_DESIGNED.search(taker.name) and not qualified):
            continue
        site = found.sites[0][1]
        link = f"{taker.config} is of class {settings.name}"
        yield Clash(
            file, taker, site, default.key, default.value, min(wanted), link, settings=settings, span=default.span
        )


def _posix(path: str) -> str:
    return path.replace("\\", "/")
