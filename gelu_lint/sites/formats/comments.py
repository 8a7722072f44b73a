"""Comments of settings that silence findings: ``# gelu-lint: ignore[…]`` and ``# noqa: GEL…``."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from gelu_lint.model import Directive
from gelu_lint.source import Source

_WORDS = ("noqa", "gelu-lint")


def directives(
    source: Source, comments: Iterable[re.Match[str]], quiet: Sequence[tuple[int, int]] = ()
) -> tuple[Directive, ...]:
    """The directives of a file, of what may be comments but for what lies in a ``quiet`` stretch."""
    lowered = source.text.lower()
    if not any(word in lowered for word in _WORDS):
        return ()
    from gelu_lint.scan import Comment, Scan
    from gelu_lint.suppress import directives as found_in

    starts = [start for start, _ in quiet]
    found = []
    for match in comments:
        at = bisect_right(starts, match.start()) - 1
        if at >= 0 and match.start() < quiet[at][1]:
            continue
        if any(word in match[0].lower() for word in _WORDS):
            row, column = source.position(match.start())
            found.append(Comment(row, column, match[0]))
    scan = Scan(source.rows, (), (), tuple(found), (), True)
    # No other tool looks for a noqa in here, so one inside a string is none.
    return tuple(directive for directive in found_in(source.text, scan) if directive.kind != "text")
