"""What a project requires: comments that silence findings. The requirements themselves are read by requirements.py."""

from __future__ import annotations

import re

from gelu_lint.model import FileSummary
from gelu_lint.patterns import lazy
from gelu_lint.sites.formats.comments import directives
from gelu_lint.source import Source

_COMMENT = lazy(r"(?:(?<=\s)|^)#[^\r\n]*", re.MULTILINE)


def facts(source: Source, summary: FileSummary) -> FileSummary:
    """``summary`` with the directives of a file in which # begins a comment."""
    return summary._replace(directives=directives(source, _COMMENT.finditer(source.text)))
