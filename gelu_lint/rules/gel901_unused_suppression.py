"""A suppression that silences nothing.

## What it does
Reports codes in `# noqa: GEL…`, `# gelu-lint: ignore[…]` and `# gelu-lint: ignore-file[…]` that matched no finding,
although their rules ran. Codes of other tools are left alone.

## Why is this bad
A stale suppression hides the next real finding on its line, and tells readers of a problem that is gone.

## Fix safety
The fix removes the idle codes, and the comment if none is left. Nothing that runs changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import Directive, Edit, FileSummary, Finding, Fix, Project, Span
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for directive in file.directives:
        if directive.idle:
            listed = ", ".join(directive.idle)
            message = f"{listed} silences nothing here"
            rows = (directive.span.row, directive.span.end_row)
            yield Finding("GEL901", file.path, directive.span, message, "info", _fix(directive), statement=rows)


def _fix(directive: Directive) -> Fix:
    left = [code for code, _ in directive.codes if code not in directive.idle]
    if not left:
        return Fix("remove the suppression", (Edit(directive.cut, directive.rest),))
    first, last = directive.codes[0][1], directive.codes[-1][1]
    span = Span(first.row, first.column, last.end_row, last.end_column)
    return Fix(f"remove {', '.join(directive.idle)}", (Edit(span, ", ".join(left)),))


RULE = Rule(
    "GEL901",
    "unused-suppression",
    "suppression that silences nothing",
    "remove it (0)",
    "info",
    check,
    __doc__,
    examples=(
        bad(
            "from torch import nn\n\nact = nn.GELU(approximate='none')  # noqa: GEL001\n",
            at="3:36",
            fixed="from torch import nn\n\nact = nn.GELU(approximate='none')\n",
        ),
        bad(
            "from torch import nn\n\nact = nn.GELU()  # noqa: GEL001, GEL003\n",
            at="3:18",
            fixed="from torch import nn\n\nact = nn.GELU()  # noqa: GEL001\n",
        ),
        bad(
            "from torch import nn  # noqa: F401, GEL003  # keep\n\n"
            "act = nn.GELU('none')  # gelu-lint: ignore[GEL001] old\n",
            at="1:23 3:24",
            fixed="from torch import nn  # noqa: F401  # keep\n\nact = nn.GELU('none')\n",
        ),
        good("from torch import nn\n\nact = nn.GELU()  # noqa: GEL001\n"),
        good("from torch import nn\n\nact = nn.GELU(\n)  # gelu-lint: ignore[GEL001] the paper's\n"),
        good("gelu = 1  # noqa: GELU001\n"),
        good("HELP = 'gelu: write # noqa: GEL001 at the end'\n"),
    ),
    late=True,
)
