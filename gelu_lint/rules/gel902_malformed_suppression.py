"""A suppression that does not do what it seems to.

## What it does
Reports `# gelu-lint:` comments without codes, with an unclosed bracket or an unknown word, and `# noqa: GEL` without a
number, which flake8 reads as a bare `# noqa`.

## Why is this bad
The author believes that a finding is silenced. Either it is not, or every finding of every linter on that line is.

## Fix safety
There is no fix: only the author knows which code was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for directive in file.directives:
        if directive.fault:
            rows = (directive.span.row, directive.span.end_row)
            message = f"malformed suppression: {directive.fault}"
            yield Finding("GEL902", file.path, directive.span, message, "warning", statement=rows)


RULE = Rule(
    "GEL902",
    "malformed-suppression",
    "suppression that does not do what it seems to",
    "—",
    "warning",
    check,
    __doc__,
    examples=(
        bad("from torch import nn\n\nact = nn.GELU('none')  # gelu-lint: ignore[]\n", at="3:24"),
        bad("from torch import nn\n\nact = nn.GELU('none')  # gelu-lint: ignore[GEL001 old weights\n", at="3:24"),
        bad("from torch import nn\n\nact = nn.GELU()  # noqa: GEL\n", at="3:18"),
        good("from torch import nn\n\nact = nn.GELU()  # gelu-lint: ignore[GEL001] as in the paper\n"),
        good("from torch import nn  # noqa\n\nact = nn.GELU('none')\n"),
    ),
    late=True,
)
