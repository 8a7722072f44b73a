"""A file, or a statement of it, that could not be read; the run goes on without it.

## What it does
Reports files with GELU words in them that cannot be opened, decoded or parsed, and single statements that are left out
because they exceed the bounds which protect the parser: brackets nested deeper than 100, or a chain of hundreds of
operators. A broken file that cannot matter, having no such word, is not reported.

## Why is this bad
What is not read is not checked. A clean result that skipped a file would be a false promise.

## Fix safety
There is no fix: mend the syntax, save the file as UTF-8, or exclude it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gelu_lint.model import FileSummary, Finding, Project
from gelu_lint.rule import Rule, bad, good


def check(file: FileSummary, project: Project) -> Iterator[Finding]:
    for fault in file.faults:
        rows = (fault.span.row, fault.span.end_row)
        yield Finding("GEL900", file.path, fault.span, fault.message, "error", statement=rows)


def evidence() -> None:
    """Python itself refuses the bad examples."""
    for example in RULE.examples:
        if example.at:
            try:
                compile(example.code, "model.py", "exec")
            except SyntaxError:
                continue
            raise AssertionError(example.code)


RULE = Rule(
    "GEL900",
    "cannot-parse",
    "file or statement that could not be read",
    "—",
    "error",
    check,
    __doc__,
    examples=(
        bad("import torch.nn.functional as F\n\n\ndef act(x:\n    return F.gelu(x)\n", at="4:8"),
        bad("from torch import nn\n\nprint 'gelu', nn.GELU\n", at="3:1"),
        good("from torch import nn\n\nact = nn.GELU(approximate='none')\n"),
        good("import os\n\nNAME = 'no activation here'\n"),
    ),
    evidence=evidence,
)
