"""``flake8 --select GEL``: the file rules of gelu-lint, at the lines and columns that the command line gives them.

flake8 reads files, filters by code and applies ``noqa``; this module only hands over findings. Whether an opt-in rule
runs is decided here, since flake8's own default-off list is switched off by any ``--select``.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from gelu_lint import __version__
from gelu_lint.screen import passes


class Plugin:
    """A flake8 plugin: one object a file, made from its name and lines."""

    name = "gelu-lint"
    version = __version__
    select: ClassVar[tuple[str, ...]] = ()
    extend: ClassVar[tuple[str, ...]] = ()
    ignore: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._filename, self._lines = filename, lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Remember what the user selected and ignored, so that opt-in rules can follow it."""
        cls.select = tuple(options.select or ())
        cls.extend = tuple(options.extend_select or ())
        cls.ignore = (*(options.ignore or ()), *(options.extend_ignore or ()))
        if cls._wanted():
            _check_configuration()

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """(row, column, "CODE message", plugin) of each finding, columns from 0."""
        text = "".join(self._lines)
        if passes(text.encode("utf-8", "surrogatepass")) and self._wanted():
            yield from self._findings(text)

    @classmethod
    def _wanted(cls) -> bool:
        """Whether any code of ours can be shown."""
        chosen = cls.select + cls.extend
        if any("GEL".startswith(code) for code in cls.ignore) and not any("GEL" in code for code in chosen):
            return False
        return not cls.select or any(code.startswith("GEL") or "GEL".startswith(code) for code in chosen)

    def _findings(self, text: str) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        from gelu_lint.config import BadConfig
        from gelu_lint.runner import findings_for_text

        _load()
        # Trees are many objects and few cycles, and each search for these goes through all that flake8 holds.
        collects = gc.isenabled()
        gc.disable()
        try:
            chosen = _overrides(self.select, self.extend, self.ignore)
            found = findings_for_text(self._filename, text, dict(chosen))
        except BadConfig as fault:
            raise RuntimeError(f"gelu-lint: {fault}") from None
        finally:
            if collects:
                gc.enable()
        for finding in found:
            if finding.code != "GEL900":
                yield finding.span.row, finding.span.column, f"{finding.code} {finding.message}", type(self)


def _check_configuration() -> None:
    """Say what is wrong with our table once and in flake8's way, before its processes each fail on it."""
    from gelu_lint.config import BadConfig, settings_for

    try:
        settings_for(".", {})
    except BadConfig as fault:
        from flake8.exceptions import ExecutionError  # type: ignore[import-untyped]

        raise ExecutionError(f"gelu-lint: {fault}") from None


@functools.cache
def _load() -> None:
    """Load what reads files, once, and keep it out of all later searches for garbage.

    It is many objects, and flake8 makes enough of its own for these searches to be frequent.
    """
    from gelu_lint.engine import load

    load()
    gc.freeze()


@functools.cache
def _overrides(
    select: tuple[str, ...], extend: tuple[str, ...], ignore: tuple[str, ...]
) -> tuple[tuple[str, Any], ...]:
    """flake8's options as options of ours: only codes that can be ours, and only what the user gave."""
    from gelu_lint.registry import all_rules

    def ours(codes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(code for code in codes if any(rule.code.startswith(code) for rule in all_rules()))

    given = {"select": ours(select), "extend-select": ours(extend), "ignore": ours(ignore)}
    chosen: dict[str, Any] = {name: codes for name, codes in given.items() if codes}
    if select and "select" not in chosen:
        chosen["select"] = chosen.get("extend-select", ())
    return tuple(chosen.items())
