"""Facts come back from JSON exactly as they were, and nothing else comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gelu_lint.codec import decode, encode
from gelu_lint.engine import summarise, unreadable
from gelu_lint.model import Argument, Directive, Fault, FileSummary, Formula, Site, Slot, Span, Use
from gelu_lint.registry import all_rules
from gelu_lint.source import decode as read

CODES = {f"{r.code}-{i}": e.code for r in all_rules() for i, e in enumerate(r.examples)}
FIXED = {f"{r.code}-{i}-fixed": e.fixed for r in all_rules() for i, e in enumerate(r.examples) if e.fixed}
BROKEN = {"broken": "act = nn.GELU(\n", "python 2": "print 'GELU'\n", "plain": "x = 1\n"}
REAL = {name: summarise(read("model.py", code.encode())) for name, code in {**CODES, **FIXED, **BROKEN}.items()}

#: Some of each kind of fact, few enough to be mutated often.
RICH = sorted(REAL.values(), key=lambda summary: len(repr(summary)))[-40:]

TEXT = st.text(st.sampled_from('a"\\\n\0é€😀\u2028\ud83d\ude00\udc80') | st.characters(), max_size=4)
SCALARS = {
    str: TEXT,
    int: st.integers(-(10**20), 10**20),
    float: st.floats(),
    bool: st.booleans(),
    NoneType: st.none(),
}
ANYTHING = st.recursive(
    st.one_of(*SCALARS.values()), lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=2)
)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value that the annotation ``kind`` allows."""
    parts = get_args(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return st.builds(kind, *(values(hints[name]) for name in kind._fields))
    if get_origin(kind) is not tuple:
        return st.one_of(*map(values, parts))
    if parts[-1] is Ellipsis:
        return st.lists(values(parts[0]), max_size=2).map(tuple)
    return st.tuples(*map(values, parts))


def fits(value: object, kind: Any) -> bool:
    """Whether ``value`` is what the annotation ``kind`` says, by exact types all the way down."""
    parts = get_args(kind)
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return type(value) is kind and all(fits(getattr(value, name), hints[name]) for name in kind._fields)
    if isinstance(kind, type) and not parts:
        return type(value) is kind
    if get_origin(kind) is not tuple:
        return any(fits(value, part) for part in parts)
    if parts[-1] is Ellipsis:
        return type(value) is tuple and all(fits(part, parts[0]) for part in value)
    return type(value) is tuple and len(value) == len(parts) and all(map(fits, value, parts))


def exact(value: object) -> object:
    """``value`` for a comparison that tells 1, 1.0 and True apart, and tuples and records, and finds nan equal."""
    if isinstance(value, (tuple, list)):
        return (type(value), [exact(part) for part in value])
    return (type(value), repr(value))


def through_json(summary: FileSummary, ascii_only: bool = False) -> Any:
    text = json.dumps(encode(summary), ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    return json.loads(text.decode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("summary", REAL.values(), ids=list(REAL))
@pytest.mark.parametrize("ascii_only", [False, True])
def test_real_facts_come_back(summary: FileSummary, ascii_only: bool) -> None:
    back = decode(through_json(summary, ascii_only), "model.py")
    assert back == summary
    assert exact(back) == exact(summary)


def test_real_facts_are_of_every_kind() -> None:
    """Else the tests on them would prove less than they seem to."""
    seen = {type(part) for summary in REAL.values() for part in parts_of(summary)}
    assert {Argument, Directive, Fault, FileSummary, Formula, Site, Slot, Span, Use} <= seen


def parts_of(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from parts_of(part)


@pytest.mark.parametrize("summary", REAL.values(), ids=list(REAL))
def test_recognisers_give_what_the_annotations_say(summary: FileSummary) -> None:
    """An int where a float belongs would never come back from a cache."""
    assert fits(summary, FileSummary)


@given(values(FileSummary))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_facts_come_back(summary: FileSummary) -> None:
    back = decode(through_json(summary), summary.path)
    assert exact(back) == exact(summary)


def test_the_path_is_the_callers() -> None:
    summary = unreadable("here/model.py", "why")
    assert "here" not in json.dumps(encode(summary))
    assert decode(encode(summary), "there/model.py") == unreadable("there/model.py", "why")


def places(value: object, place: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    yield place
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from places(part, (*place, index))


def replaced(value: Any, place: tuple[int, ...], new: Any) -> Any:
    if not place:
        return new
    return [replaced(part, place[1:], new) if index == place[0] else part for index, part in enumerate(value)]


def at(value: Any, place: tuple[int, ...]) -> Any:
    for index in place:
        value = value[index]
    return value


def check_refused_or_exact(value: object) -> None:
    try:
        back = decode(value, "model.py")
    except ValueError:
        return
    assert fits(back, FileSummary)
    assert exact(encode(back)) == exact(value), "nothing was dropped, added or converted"


@given(st.data())
@settings(max_examples=600, deadline=None)
def test_another_value_in_one_place_is_refused_or_fits(data: st.DataObject) -> None:
    value = encode(data.draw(st.sampled_from(RICH)))
    place = data.draw(st.sampled_from(list(places(value))))
    check_refused_or_exact(replaced(value, place, data.draw(ANYTHING)))


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_another_length_in_one_place_is_refused_or_fits(data: st.DataObject) -> None:
    value = encode(data.draw(st.sampled_from(RICH)))
    place = data.draw(st.sampled_from([place for place in places(value) if isinstance(at(value, place), list)]))
    old = at(value, place)
    cut = data.draw(st.integers(0, len(old)))
    new = data.draw(st.sampled_from([old[:cut], old[cut:], old[:cut] + old[cut + 1 :], [*old, *old], [*old, None]]))
    check_refused_or_exact(replaced(value, place, new))


FORMULA = next(summary for summary in REAL.values() if summary.sites and summary.sites[0].formula)


def changed(new: object, *names: str | int) -> Any:
    """The plain form of a summary with a formula, with another value in one place, given by fields and indices."""
    value: Any = FORMULA
    place = []
    for name in names:
        place.append(name if isinstance(name, int) else value._fields.index(name) - isinstance(value, FileSummary))
        value = value[name] if isinstance(name, int) else getattr(value, name)
    return replaced(encode(FORMULA), tuple(place), new)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        "abcdefghi",
        encode(FORMULA)[1:],
        [*encode(FORMULA), 1],
        tuple(encode(FORMULA)),
        changed("\r\n", "sites"),
        changed({}, "sites"),
        changed(None, "sites", 0),
        changed(True, "sites", 0, "span", "row"),
        changed(1.0, "sites", 0, "span", "row"),
        changed([1, 2, 3], "sites", 0, "span"),
        changed("1234", "sites", 0, "span"),
        changed([1, 2, 3], "sites", 0, "statement"),
        changed(1, "sites", 0, "formula", "at"),
        changed(1, "sites", 0, "formula", "several"),
        changed([["tanh", 1]], "sites", 0, "formula", "deltas"),
        changed([["tanh"]], "sites", 0, "formula", "deltas"),
        changed(["ab"], "sites", 0, "formula", "hazards"),
        changed([], "sites", 0, "formula", "rewrite"),
        changed([], "sites", 0, "formula"),
        changed([], "sites", 0, "slot"),
        changed([1], "sites", 0, "value"),
        changed(b"", "sites", 0, "value"),
        changed(None, "newline"),
    ],
)
def test_refused(value: object) -> None:
    with pytest.raises(ValueError):
        decode(value, "model.py")


@pytest.mark.parametrize("place", [("sites",), ("sites", 0, "value"), ("sites", 0, "formula"), ("taken",)])
def test_depth_is_refused_without_being_followed(place: tuple[str | int, ...]) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError):
        decode(changed(deep, *place), "model.py")
    while deep:  # else freeing it might overflow the stack
        deep = deep[0]
