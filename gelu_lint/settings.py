"""What the settings of a file say: the mapping that each stands in, its family of models, and what its value is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gelu_lint.claims import claim, says_gelu
from gelu_lint.facts.activations import ELSEWHERE, REGISTRIES, Registry
from gelu_lint.facts.settings import ACTIVATION_KEYS
from gelu_lint.handwritten import graded
from gelu_lint.kinds import CONFIGS
from gelu_lint.model import Edit, Entry, FileSummary, Span, Value
from gelu_lint.numerics.flavours import FLAVOURS, GELUS, OTHERS, apart, between
from gelu_lint.patterns import lazy

TYPE_CHECKING = False  # families are loaded where a mapping says which one it is of
if TYPE_CHECKING:
    from gelu_lint.facts.families import Family

#: Forms that say what a key of the author's own class is by default, rather than setting one of a known class.
DEFINING = ("default", "field", "option")
#: Forms that are files of settings: a form is called as the kind of its file.
FILES = CONFIGS
#: Keys that configurations of transformers have, and few others.
_HF_KEYS = ("hidden_act", "hidden_activation", "activation_function")
_ACTIVATION = lazy(r"(?:\w+_)?(?:act|activation|afn)(?:_fn|_func|_function|_layer)?")
#: Keys under which a file of settings says which class it is for.
_NAMES_CLASS = ("_target_", "architectures", "_class_name")


class Mapping:
    """The entries of one mapping (or call, or class), and the family that they are of.

    ``origin`` is what it, or the mapping around it, says of where its weights come from, in lower case; ``outer`` is
    the outermost mapping that it stands in, None where it stands in none.
    """

    def __init__(
        self, entries: Sequence[Entry], family: Family | None, origin: str = "", outer: Mapping | None = None
    ) -> None:
        self.entries, self.family, self.origin, self.outer = tuple(entries), family, origin, outer

    def named(self, key: str) -> Entry | None:
        """The entry that gives ``key`` a string: the last one counts."""
        found = [entry for entry in self.entries if entry.key == key and isinstance(entry.value, str)]
        return found[-1] if found else None

    def holds(self, key: str) -> bool:
        """Whether ``key`` is set at all."""
        return any(entry.key == key for entry in self.entries)

    def registry(self, entry: Entry) -> Registry | None:
        """The table that a value is looked up in, None where that is not known."""
        if self.family is not None and entry.registry in ("", "transformers"):
            return REGISTRIES.get(self.family.registry(entry.key))
        if entry.key in ELSEWHERE:
            return None  # code of their own reads these
        return REGISTRIES.get(entry.registry or _registry_of(entry))

    def flavour(self, entry: Entry) -> str:
        """What a value is: erf, tanh, quick, silu, relu; "" for anything else, and where that is not known."""
        registry = self.registry(entry)
        if registry is None or not isinstance(entry.value, str):
            return ""
        return registry.flavour(entry.value) or ""

    def reads(self, entry: Entry) -> bool:
        """Whether the family reads the key of an entry; what is not known is read."""
        return self.family is None or self.family.reads(entry.key)

    def conflicts(self) -> Iterator[tuple[Entry, Entry]]:
        """Pairs of entries that set the same thing to different functions: the one to change, and the one that counts.

        That is the one that is read; where releases differ in what they read, the one that the weights need.
        """
        if self.family is None:
            return
        read = self.named(self.family.main)
        if read is None or read.form in DEFINING:
            return
        for key in _HF_KEYS:
            other = self.named(key)
            if other is None or key == self.family.main or key in self.family.keys:
                continue
            flavours = (self.meant(read), self.meant(other))
            if "" in flavours or flavours[0] == flavours[1] or {*flavours}.isdisjoint(GELUS):
                continue
            weights = self.family.weights
            right = weights is not None and self.family.reads(key) and flavours[1] == weights.flavour
            yield (read, other) if right else (other, read)

    def meant(self, entry: Entry) -> str:
        """What a value is or, where no table has its name, what the name says."""
        known = self.flavour(entry)
        said = claim(str(entry.value))
        return known or (next(iter(said)) if len(said) == 1 else "")


def mappings(file: FileSummary) -> Iterator[Mapping]:
    """The mappings of a file in which an activation may be named, in source order."""
    groups: dict[int, list[Entry]] = {}
    for entry in file.entries:
        if entry.form not in ("prose", "mention"):
            groups.setdefault(entry.group, []).append(entry)
    seen: dict[tuple[str, ...], Mapping] = {}
    for entries in groups.values():
        first = entries[0]
        around = seen.get(first.path[:-1]) if first.path else None
        if around is not None and first.form not in FILES and first.statement != around.entries[0].statement:
            around = None  # another dict of the same Python file
        origin = next((str(entry.value).lower() for entry in entries if entry.key == "_name_or_path"), "")
        family = _family(entries, around.family if around is not None else None)
        origin = origin or (around.origin if around is not None else "")
        mapping = Mapping(entries, family, origin, _outermost(first, seen))
        seen[first.path] = mapping
        yield mapping


def _outermost(entry: Entry, seen: dict[tuple[str, ...], Mapping]) -> Mapping | None:
    """The outermost of the mappings so far that an entry stands in."""
    around = (seen.get(entry.path[:end]) for end in range(len(entry.path)))
    same = (each for each in around if each is not None)
    if entry.form not in FILES:  # the paths of other dicts of a Python file are the same
        same = (each for each in same if each.entries[0].statement == entry.statement)
    return next(same, None)


def _family(entries: Sequence[Entry], around: Family | None) -> Family | None:
    """The family that a mapping says it is of, or that its place in the one ``around`` gives it."""
    first = entries[0]
    if any(entry.key == "auto_map" for entry in entries):
        return None  # it comes with code of its own
    owner = first.owner.rpartition(".")[2]
    if first.form not in FILES and not any(entry.registry == "transformers" for entry in entries):
        owner = ""  # a class of that name, but not that one
    if first.form in FILES and not any(entry.key in _NAMES_CLASS for entry in entries):
        owner = ""  # under "name" anything may stand
    if not (first.model_type or owner or (around is not None and first.path)):
        return None
    from gelu_lint.facts.families import by_architecture, by_class, by_type

    if first.model_type:
        return by_type(first.model_type)
    own = by_class(owner)
    if own is not None and first.form == "item" and first.path:
        return own.sub(first.path[-1])  # a dict that is handed to a configuration class
    own = own or by_architecture(owner)
    if own is None and around is not None:
        return around.sub(first.path[-1])
    return own


def _registry_of(entry: Entry) -> str:
    """The table that the class which is configured looks a value up in, "" where that is not known."""
    if "." not in entry.owner:
        return ""
    from gelu_lint.facts.table import layers

    layer = layers().get(entry.owner)
    if layer is None or entry.key not in [name for name, _ in layer.options]:
        return ""
    return {"torch": "torch_encoder", "keras": "keras"}.get(layer.framework, "")


def names_activation(entry: Entry) -> bool:
    """Whether an entry holds the name of an activation, by its key: ``projector_type`` holds that of a projector."""
    return entry.form == "lookup" or entry.key in ACTIVATION_KEYS or _ACTIVATION.fullmatch(entry.key) is not None


def is_gelu(flavour: str) -> bool:
    """Whether a flavour is one of those that go by the name."""
    return flavour in GELUS


def names_gelu(value: Value) -> bool:
    """Whether a value says GELU, whichever."""
    return isinstance(value, str) and says_gelu(value)


def plainly_erf(entry: Entry) -> bool:
    """Whether a value is the erf GELU in whatever table of PyTorch it is looked up."""
    return entry.value in ("gelu", "gelu_python", "gelu_erf", "gelu_exact")


def size(old: str, new: str) -> float | None:
    """How far two flavours are apart at most; None where that is not known."""
    if old in FLAVOURS and new in FLAVOURS:
        return between(old, new).size
    if old in OTHERS and new in FLAVOURS:
        return apart(old, new).size
    return apart(new, old).size if new in OTHERS and old in FLAVOURS else None


def severity(error: float | None) -> str:
    """How grave an error of that size is; what changes nothing is an info."""
    return "info" if error == 0 else graded(error)


def rewritten(entry: Entry, value: str) -> Edit | None:
    """The edit that gives an entry another string, in its own quotes; None where it stands over several rows."""
    if entry.span.row != entry.span.end_row:
        return None
    quote = entry.quote or ('"' if entry.form not in ("yaml",) else "")
    return Edit(entry.span, f"{quote}{value}{quote}")


def renamed(entry: Entry, key: str) -> Edit | None:
    """The edit that gives an entry another key, in the quotes that the old one has."""
    span = entry.key_span
    around = span.end_column - span.column - len(entry.key)
    if span.row != span.end_row or around not in (0, 2):
        return None
    return Edit(Span(span.row, span.column + around // 2, span.row, span.end_column - around // 2), key)


def added(entry: Entry, key: str, value: Value, newline: str = "\n") -> Edit | None:
    """The edit that adds a key behind an entry, None where there is no place for it."""
    quoted = entry.key_span.end_column - entry.key_span.column == len(entry.key) + 2
    quote = entry.quote or '"'
    written = f"{quote}{key}{quote}" if quoted else key
    if entry.slot is None:
        if entry.form not in ("item", "keyword"):
            return None
        sign = "=" if entry.form == "keyword" else ": "
        end = Span(entry.span.end_row, entry.span.end_column, entry.span.end_row, entry.span.end_column)
        return Edit(end, f", {written}{sign}{spelled(entry, value)}")
    sign = " = " if entry.form == "toml" else "=" if entry.form == "keyword" else ": "
    return Edit(entry.slot.span, f"{entry.slot.before}{written}{sign}{spelled(entry, value)}{entry.slot.after}")


def spelled(entry: Entry, value: Value) -> str:
    """A value in the syntax, and the quotes, of an entry."""
    if isinstance(value, str):
        quote = entry.quote[:1] or ("" if entry.form == "yaml" else '"')
        return f"{quote}{value}{quote}"
    return str(value).lower() if entry.form in FILES else repr(value)


def meant(name: str) -> frozenset[str]:
    """The flavours that the name of an activation may mean, spelled in any way."""
    return frozenset() if "glu" in name.lower() else claim(name.rpartition(".")[2])


def plain(name: str) -> bool:
    """Whether a name is just GELU, spelled in some way."""
    return name.rpartition(".")[2].strip("_- ").lower() == "gelu"


def differs(mapping: Mapping, entry: Entry) -> bool:
    """Whether the weights of a family need another function than an entry names."""
    family = mapping.family
    weights = family.weights if family is not None and entry.key == family.main else None
    if weights is None or not isinstance(entry.value, str):
        return False
    flavour = mapping.flavour(entry)
    if not flavour or flavour == weights.flavour or not (weights.strict or is_gelu(flavour)):
        return False
    if entry is not mapping.named(entry.key) or any(entry is changed for changed, _ in mapping.conflicts()):
        return False
    outer = mapping.outer
    around = outer.family.name if outer is not None and outer.family is not None else ""
    if weights.within and outer is not None and not around.startswith(weights.within):
        return False
    if weights.except_ and entry.owner.endswith(weights.except_):
        return False
    return not any(word in mapping.origin for word in weights.unless)
