"""Can this file matter at all? Asked of the bytes, before anything is decoded or parsed.

The needles are stated once; a test proves that every bad example of every rule passes them.
"""

from __future__ import annotations

import re

#: Lower-case words without which no rule can speak: the names, and the constants that only a GELU has. ``in`` on
#: lowered bytes beats any regex alternation.
NEEDLES = ("gelu", "geglu", "gaussianerrorlinear", "gaussian_error_linear", "0.0447", "0.4471", "1.702", "erf(")

_BYTES = tuple(needle.encode() for needle in NEEDLES)
_CODES = re.compile(rb"(?:noqa|gelu-lint).*\bgel")


def passes(data: bytes) -> bool:
    """Whether a file with these bytes may hold a site, a use or a directive of ours."""
    lowered = data.lower()
    return any(needle in lowered for needle in _BYTES) or (b"noqa" in lowered and bool(_CODES.search(lowered)))
