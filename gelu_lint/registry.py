"""All rules, found by looking into ``gelu_lint/rules``: a new rule is one new file."""

from __future__ import annotations

import functools
import importlib
import os

from gelu_lint import rules

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from gelu_lint.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found = [importlib.import_module(f"gelu_lint.rules.{name}").RULE for name in _names()]
    return tuple(sorted(found, key=lambda rule: rule.code))


def all_codes() -> tuple[str, ...]:
    """The code of every rule, with none of them loaded: the name of its file begins with it."""
    return tuple(sorted(name.partition("_")[0].upper() for name in _names()))


def _names() -> set[str]:
    return {entry.split(".")[0] for folder in rules.__path__ for entry in os.listdir(folder) if entry.startswith("gel")}


def rule(code: str) -> Rule | None:
    """The rule with this code or name, None if there is none."""
    wanted = code.upper()
    return next((r for r in all_rules() if wanted in (r.code, r.name.upper())), None)


def enabled(select: tuple[str, ...], extend: tuple[str, ...], ignore: tuple[str, ...]) -> tuple[str, ...]:
    """Codes that run. An empty ``select`` means every rule that is not opt-in.

    The longest matching prefix decides between select and ignore; on a tie, ignore wins. An opt-in rule runs only if a
    prefix of its code is selected or extended.
    """
    codes = []
    for r in all_rules():
        wanted = max((len(p) for p in select + extend if r.code.startswith(p)), default=0)
        unwanted = max((len(p) for p in ignore if r.code.startswith(p)), default=0)
        chosen = wanted or (not select and not r.opt_in)
        if chosen and (not unwanted or unwanted < wanted):
            codes.append(r.code)
    return tuple(codes)
