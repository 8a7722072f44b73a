"""Patterns that are compiled late, against those of re."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import gelu_lint
from gelu_lint import patterns

NAMES = [
    module.name
    for module in pkgutil.walk_packages(gelu_lint.__path__, "gelu_lint.")
    if ".runtime" not in module.name and not module.name.endswith(("__main__", "pytest_plugin"))
]


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_is_one(name: str) -> None:
    """Nobody else would tell before a text is searched with it."""
    for found in vars(importlib.import_module(name)).values():
        if isinstance(found, patterns.lazy):  # type: ignore[arg-type]  # a class, whatever type checkers are told
            re.compile(found.pattern, found._flags)


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn"])
@pytest.mark.parametrize(("pattern", "text"), [(r"(g)elu|x+", "GELU gelu xx x"), (rb"(g)elu|x+", b"GELU gelu xx x")])
def test_one_finds_what_re_finds(method: str, pattern: str | bytes, text: str | bytes) -> None:
    late, made = patterns.lazy(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    given = (text[:0], text) if method.startswith("sub") else (text,)
    for _ in range(2):  # before it is compiled, and after
        found, wanted = getattr(late, method)(*given), getattr(made, method)(*given)
        if method == "finditer":
            found, wanted = [at.span() for at in found], [at.span() for at in wanted]
        if method in ("search", "match", "fullmatch"):
            found, wanted = found and found.span(), wanted and wanted.span()
        assert found == wanted
    assert late.pattern == made.pattern
    assert late.groups == made.groups
