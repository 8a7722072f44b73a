"""What a file or function is for: tests and reference code may hold several flavours on purpose."""

from __future__ import annotations

import re

_TEST_FILE = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_tests?|conftest)\.py$")
_TEST_NAME = re.compile(r"(^|\.)(test_|Test)")
_REFERENCE = re.compile(r"(^|[._])(ref|reference|naive|golden)([._]|$)", re.IGNORECASE)


def is_test(path: str, symbol: str = "") -> bool:
    """Whether a file is a test by its path, or ``symbol`` (dotted) lies in a test by its names."""
    return bool(_TEST_FILE.search(path.replace("\\", "/")) or _TEST_NAME.search(symbol))


def is_reference(symbol: str, key: str = "") -> bool:
    """Whether a name says that this is the reference that others are compared with."""
    return bool(_REFERENCE.search(symbol) or _REFERENCE.search(key))
