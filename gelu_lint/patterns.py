"""Patterns that are compiled once something is looked for with them.

There are hundreds, most files need a few dozen of them, and compiling all takes a tenth of a short run.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from typing import Any

    lazy = re.compile
else:
    _METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")

    class lazy:  # it stands for the function re.compile
        """What ``re.compile`` gives, without being asked whether the pattern is one before it is used."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> Any:
            made = re.compile(self.pattern, self._flags)
            for method in _METHODS:  # from now on these are found first, and as fast as those of ``made``
                setattr(self, method, getattr(made, method))
            return getattr(made, name)
