"""Whether reading a part finds what reading the whole finds, on real packages.

    python tests/differential.py DIR...

Every Python file below the directories that could hold a GELU is read twice: as `check` reads it (the screen, then the
lines that can matter), and whole. Prints where sites, uses or findings with their fixes differ, GEL900 aside; exits 1
if any do. `python tests/benchmark.py` fetches packages to run it on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from gelu_lint import engine
from gelu_lint.engine import judge, summarise
from gelu_lint.model import FileSummary, Project
from gelu_lint.registry import all_rules
from gelu_lint.screen import NEEDLES, passes
from gelu_lint.skeleton import skeleton
from gelu_lint.source import Unreadable, decode

CODES = tuple(rule.code for rule in all_rules())


def facts(summary: FileSummary) -> set[object]:
    """What rules see and say. Contexts, and masks of what is perhaps no GELU, count where they change a finding."""
    found = (finding for finding in judge(summary, Project(), CODES) if finding.code != "GEL900")
    masks = (mask for mask in summary.masks if mask.known)
    facts = (*summary.sites, *summary.uses, *summary.defs, *summary.swaps, *summary.held, *summary.choices)
    return {*facts, *masks, *found, *summary.entries, *summary.fallbacks, *summary.comparisons, *summary.trials}


def differences(path: Path) -> Iterator[str]:
    """One line for each fact that only one of both readings has."""
    data = path.read_bytes()
    source = decode(str(path), data)
    part = facts(summarise(source)) if passes(data) else set()
    whole = facts(summarise(source, complete=True))
    yield from (f"only in part: {fact}" for fact in part - whole)
    yield from (f"only in all of it: {fact}" for fact in whole - part)


def main() -> int:
    engine.skeleton = functools.partial(skeleton, small=0)  # short files too lose the lines that do not matter
    read = different = 0
    for path in sorted(path for name in sys.argv[1:] for path in Path(name).rglob("*.py")):
        text = path.read_bytes().lower()
        if not any(needle.encode() in text for needle in NEEDLES):
            continue
        try:
            lines = [*differences(path)]
        except Unreadable:
            continue
        read, different = read + 1, different + bool(lines)
        for line in lines:
            print(f"{path}: {line[:300]}")
    print(f"{read} files read twice, {different} differ")
    return 1 if different or not read else 0


if __name__ == "__main__":
    sys.exit(main())
