"""NamedTuple against that of typing, which is slower to make."""

from __future__ import annotations

import pickle
import typing

import pytest

from gelu_lint.named import NamedTuple


class Ours(NamedTuple):
    """A row."""

    name: str
    size: int | None
    marks: tuple[str, ...] = ()

    def twice(self) -> str:
        return self.name * 2

    @property
    def long(self) -> bool:
        return len(self.marks) > 1


class Theirs(typing.NamedTuple):
    """A row."""

    name: str
    size: int | None
    marks: tuple[str, ...] = ()


def test_a_row_is_what_typing_makes_of_it() -> None:
    ours, theirs = Ours("a", None, ("x", "y")), Theirs("a", None, ("x", "y"))
    assert tuple(ours) == tuple(theirs) and ours._asdict() == theirs._asdict()
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert Ours._fields == Theirs._fields and Ours._field_defaults == Theirs._field_defaults
    assert ours._replace(name="b") == theirs._replace(name="b")
    assert Ours.__doc__ == Theirs.__doc__ and Ours.__mro__[1:] == Theirs.__mro__[1:]
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert not hasattr(ours, "__dict__")


def test_defaults_members_and_copies() -> None:
    row = Ours("ab", 1)
    assert row.marks == () and row.twice() == "abab" and not row.long and row._replace(marks=("x", "y")).long
    assert pickle.loads(pickle.dumps(row)) == row and type(pickle.loads(pickle.dumps(row))) is Ours


def test_a_field_without_a_default_is_asked_for() -> None:
    with pytest.raises(TypeError, match="size"):
        Ours("a")  # type: ignore[call-arg]


def test_a_field_without_a_default_cannot_follow_one_that_has_one() -> None:
    for base in (NamedTuple, typing.NamedTuple):
        source = "class Odd(Base):\n    a: int = 1\n    b: int\n"
        with pytest.raises(TypeError, match="default"):
            exec(source, {"Base": base, "__name__": __name__})
