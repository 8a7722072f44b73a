"""The shape of a row: one callable that computes a GELU, or one name that does not exist."""

from __future__ import annotations

from typing import NamedTuple

Literal = str | int | float | bool | None


class Callable(NamedTuple):
    """A public callable and the flavour that it computes.

    name        canonical full name; ``aliases`` are its other public paths
    kind        function, class (call it to get a module), op, or layer (a ready object, handed on as it is)
    flavour     what a call computes that leaves the choosing argument out
    keyword     the argument that chooses, "" where there is none; ``position`` its index among positional arguments
                (inputs count), None where it is keyword-only
    values      each valid value and its flavour; ``default`` is one of them
    wrong       what any other value does: "raises" (``error``, or ``type_error`` if it has the wrong type), or "truthy"
                (its truthiness decides)
    parameters  keywords that are accepted, () where that is not recorded
    dummy       an argument that is accepted and ignored, with its position
    since       first version of the framework with the choosing argument
    required    the choosing argument has no default: a call without it raises
    checks_early  a class whose constructor refuses a wrong value (most refuse it at the first forward)
    misleading  valid values that select another flavour than their word says, each with the flavour that it says
    source      where the row was read or measured
    """

    name: str
    framework: str
    kind: str
    flavour: str
    source: str
    aliases: tuple[str, ...] = ()
    keyword: str = ""
    position: int | None = None
    values: tuple[tuple[Literal, str], ...] = ()
    default: Literal = None
    wrong: str = "raises"
    error: str = ""
    type_error: str = ""
    parameters: tuple[str, ...] = ()
    dummy: tuple[str, int] | None = None
    since: tuple[int, ...] = ()
    misleading: tuple[tuple[Literal, str], ...] = ()
    required: bool = False
    checks_early: bool = False

    @property
    def keyword_only(self) -> bool:
        """Whether the choosing argument cannot be given by position."""
        return bool(self.keyword) and self.position is None

    def flavour_of(self, value: Literal) -> str:
        """The flavour that ``value`` selects; "" where it is no valid value (type included: True is not 1)."""
        return next((f for v, f in self.values if v == value and type(v) is type(value)), "")

    def value_for(self, flavour: str) -> Literal:
        """The value that selects ``flavour``. Raises LookupError where none does."""
        for value, selected in self.values:
            if selected == flavour:
                return value
        raise LookupError(flavour)

    def can_select(self, flavour: str) -> bool:
        """Whether some value of the choosing argument selects ``flavour``."""
        return any(selected == flavour for _, selected in self.values)


class Absent(NamedTuple):
    """A name that people write and that does not exist.

    name      full name, or a module followed by ".*gelu*" for every GELU-like name that it does not have
    error     what using it raises, as the framework words it
    instead   full name to write, "" where there is none that means the same
    package   distribution whose version decides, "" where no version has it
    gone      first version without the name
    missing   last version known to lack a name that came later; reported only where the declared floor is that low
    """

    name: str
    error: str
    source: str
    instead: str = ""
    package: str = ""
    gone: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()


class Refused(NamedTuple):
    """Values that a callable refuses: argument ``keyword`` at ``position`` (None: keyword-only), any string with one of
    the ``words`` in it, letter case aside."""

    name: str
    keyword: str
    position: int | None
    words: tuple[str, ...]
    error: str
    source: str


class TensorOnly(NamedTuple):
    """A function that refuses a Python number, and the one that takes it ("" where there is none)."""

    name: str
    instead: str
    source: str


class Other(NamedTuple):
    """A public callable that computes another activation, and the GELU of the same kind to write in its place.

    kind is function, class or op, as in Callable; ``flavour`` is silu, relu, elu, …
    """

    name: str
    framework: str
    kind: str
    flavour: str
    instead: str
    source: str


class Layer(NamedTuple):
    """A public layer that takes an activation by a name of its framework.

    name      canonical full name; ``aliases`` are its other public paths
    options   the arguments that take an activation, each with its index among positional arguments (None: keyword-only)
    flavour   what the name "gelu" means there, "" where it takes no names
    decides   arguments that decide whether an encoder may leave its activation to a fused kernel, each with its index
              and its default; () for layers that always call what they are given
    """

    name: str
    framework: str
    options: tuple[tuple[str, int | None], ...]
    flavour: str
    source: str
    aliases: tuple[str, ...] = ()
    decides: tuple[tuple[str, int, Literal], ...] = ()
