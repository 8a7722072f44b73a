"""What a file or function is for: tests and reference code may hold several flavours on purpose."""

from __future__ import annotations

from collections.abc import Iterable

from gelu_lint.claims import backward
from gelu_lint.model import FileSummary, Site
from gelu_lint.numerics.flavours import OTHERS
from gelu_lint.patterns import lazy

_TEST_FILE = lazy(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_tests?|conftest)\.py$")
_TEST_NAME = lazy(r"(^|\.)(test_|Test)")
_WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

#: Words that say which flavour a name means, beside "gelu" itself.
_FLAVOUR_WORDS = frozenset(
    ("tanh", "erf", "exact", "approx", "approximate", "approximated", "new", "accurate", "fast", "quick", "precise")
)
_CHOICE_WORDS = ("gelu", "tanh", "approx", "activation", "hidden_act", "act_fn")


def is_test(path: str, symbol: str = "") -> bool:
    """Whether a file is a test by its path, or ``symbol`` (dotted) lies in a test by its names."""
    return bool(_TEST_FILE.search(path.replace("\\", "/")) or _TEST_NAME.search(symbol))


def first_gelu(files: Iterable[FileSummary]) -> tuple[FileSummary, Site] | None:
    """The first GELU that a project computes outside its tests, None if there is none."""
    for file in files:
        for site in () if is_test(file.place) else file.sites:
            meant = site.flavour not in OTHERS or bool(site.claimed)
            if meant and site.spelling != "import" and not is_test(file.place, site.symbol):
                return file, site
    return None


def is_reference(symbol: str, key: str = "") -> bool:
    """Whether a name says that this is the reference that others are compared with."""
    return bool((words(symbol) | words(key)) & {"ref", "reference", "naive", "golden"})


def is_mock(symbol: str) -> bool:
    """Whether a name says that this stands in for something else."""
    return bool(words(symbol) & {"fake", "mock", "dummy", "stub"})


def is_backward(symbol: str) -> bool:
    """Whether ``symbol`` (dotted) lies in a function that computes a derivative."""
    return any(backward(part) for part in symbol.split("."))


def is_defined(site: Site) -> bool:
    """Whether a site defines a flavour under its name, or is one of several that something chooses from."""
    names = (*site.symbol.split("."), site.key)
    named = any("gelu" in name.lower() and words(name) & _FLAVOUR_WORDS for name in names)
    chosen = any(word in test.lower() for test in site.tested for word in _CHOICE_WORDS)
    return site.place == "table" or named or chosen


def words(name: str) -> set[str]:
    """The lower-case words of an identifier: ``gelu_new`` and ``GeluNew`` have gelu and new."""
    return {word.lower() for word in _WORD.findall(name)}
