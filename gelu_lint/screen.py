"""Can this file matter at all? Asked of the bytes, before anything is decoded or parsed.

The needles are stated once; a test proves that every bad example of every rule passes them.
"""

from __future__ import annotations

import functools
import re
from keyword import kwlist, softkwlist

from gelu_lint.patterns import lazy

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Lower-case words without which no rule can speak: the names, and the constants that only a GELU has. ``in`` on
#: lowered bytes beats any regex alternation.
NEEDLES = (
    *("gelu", "geglu", "gaussianerrorlinear", "gaussian_error_linear", "gaussian error linear"),
    *(".0447", "0.4471", "1.702", "erf(", "erfc("),
)

_NEEDLES = tuple(needle.encode() for needle in NEEDLES)
_ANY = (b"",)
_QUICK = b"1.702"
#: What a GELU may be made of without a needle: it shows where anything else does.
_FAINT = (b"ndtr(", b"norm.cdf(")
#: What the needles have in common, with what stands before it and behind: one search instead of two. A seven is rare.
_COMMON = (
    (b"geglu", _ANY, _ANY),
    (b"gaussian", _ANY, _ANY),
    (b"7", (b"44", b"1."), _ANY),
    (b"erf", _ANY, (b"(", b"c(")),
)
_MOST = 300  # needles of one file that are looked at one by one
_NEAR = 300  # bytes before a needle that show what it is part of
_FAR = 3_000  # bytes before a setting that show which call it is an argument of
_BESIDE = (b"fp16", b"float16", b"precision")
_FAMILY = (b"'model_type'", b'"model_type"')
_WIDE = 100  # bytes before a bracket that show what is called


class _Rows:
    """Patterns for the row around a needle, and the words with which a docstring may say that its code is a GELU.

    Most files need none of them, so they are made when the first does.
    """

    def __init__(self) -> None:
        from gelu_lint.claims import LEAD

        option = rb"""(?:^|[\s(,{.]) ["']? (\w*(?:act|proj)\w*|default) ["']? \s* (?: (?::[^=]*)? = | : ) \s*"""
        keywords = "|".join((*kwlist, *softkwlist, "type", "print", "exec")).lower().encode()
        word = rb"\b(?!(?:%b)\b)[a-z_]\w*" % keywords
        # With no space or bracket between two quotes they are those of one string: strings divide by nothing.
        self.opened = lazy(rb"""(["'])([\w.\-/@]*)$""")
        self.closed = lazy(rb"""([\w.\-/@]*)(["'])""")
        # What stands before the quote, and after it, of a string that only sets an option which no rule reads
        # (hidden_act="gelu",), picks from a table, or is quoted in prose (`"gelu"`).
        self.before = lazy(rb"(?: %b | ` | \[ ) $" % option, re.VERBOSE)
        self.after = lazy(rb"\s* (?: [,)}`] (?!\s*=) | \] (?!\s*(?:[:\\]|=(?!=))) | \#.* | $ )", re.VERBOSE)
        # The key of an option; a table that is asked; a call that makes settings.
        self.option = lazy(rb"%b $" % option, re.VERBOSE)
        self.looked_up = lazy(rb"act\w*\[$")
        self.asks = lazy(rb"(?:act\w*|\bget)[\[(]$|nonlinearity\w*[\"']?\s*[=:]\s*$")
        self.configures = lazy(rb"(?<!\w)(\w*config|from_pretrained|for_model|dict)\s*$")
        self.bracket = lazy(rb"[()\[\]{}]")
        self.family = lazy(rb"[()\[\]{}]|%b" % b"|".join(_FAMILY))
        # The name of something else, as layer_name="FastGELU" is; by name="gelu" may go what a call makes.
        self.named = lazy(rb"""(?: ^ | [\s(,{]) (\w+_(?:name|id)) \s* = \s* $""", re.VERBOSE)
        # A decorator that is not closed yet, or a call that registers: there any string may be a name.
        self.registers = lazy(rb"regist\w*\s*[(\[]|@[\w.]+\([^()]*$")
        # A key of a table that holds but data under it ("gelu": {); what goes by "gelu_accurate" has two meanings.
        self.key = lazy(rb"(?: ^ | [{,] ) \s* $", re.VERBOSE)
        scalar = rb"""(?: "[^"]*" | '[^']*' | [\d.]+ ) \s* (?: [,}#] | $ )"""
        self.data = lazy(rb"\s* : \s* (?: [{\[] (?!\s*[}\]]) | %b )" % scalar, re.VERBOSE)
        # What no code can hold outside strings and comments: two names side by side, a comma before "and", a backtick.
        self.prose = lazy(rb"`|, (?:and|or)\b|%b +%b" % (word, word))
        # One string for the whole row, with others quoted in it: a message. And an example in a docstring.
        self.message = lazy(rb"""\s* (?: "[^"\\{]*" | '[^'\\{]*' ) [\s,)]*""", re.VERBOSE)
        self.prompt = lazy(rb"\s*(?:>>>|\.\.\.)\s")
        # The constant of quick GELU is but a number in a file without any of what it could stand in.
        self.squashes = lazy(rb"sigm|\bexp(?:2|m1|it)?\b|tanh|(?<![\"'])(?:silu|swish)|logistic")
        self.word = lazy(rb"[a-z]+")
        self.part = lazy(rb"\w")  # beside a needle: it is but a part of a name
        self.relative = lazy(rb"^from[ \t]+\.[\w.]*[ \t]+import[ \t]+(\([^()]*\)|[^\n(\\;]*)$", re.MULTILINE)
        self.identifier = lazy(rb"\w+")
        # What the object itself computes goes by a name: hidden_gelu = self.act(…).
        self.computed = lazy(rb"[ \t]*([a-z_]\w*)[ \t]*=[ \t]*self\.(\w+)\(")
        self.loads = lazy(rb"[ \t]*(return\b|\w+[ \t]*=)[ \t\w.,()\[\]*/+-]*")
        self.called = lazy(rb"([a-z_]\w*)\(")
        self.glue = lazy(rb"\.(?:\s|\\\n)*$")
        self.defines = lazy(rb"\s*(?:def|class|async|@|del|global|nonlocal)\b|.*\b(?:lambda|as|def|class)\b|\s*@")
        # What a layer may be given: an option of that name, or a name that is bound to it.
        self.given = lazy(rb"(?:^[ \t]*|(?<![\w.]))([a-z_]\w*)[ \t]*(:[^=]*)?=\s*$")
        self.lead = frozenset(word.encode() for word in LEAD)


@functools.cache
def _rows() -> _Rows:
    return _Rows()


def passes(data: bytes) -> bool:
    """Whether a file with these bytes may hold a site, a use, a setting or a directive of ours."""
    lowered = data.lower()
    named = b"gel" in lowered  # the names, and the codes and the name of ours that directives have
    found = _found(lowered, named)
    if found and (any(word in lowered for word in _FAINT) or not _elsewhere(lowered, _marks(data, lowered, found))):
        return True
    directed = named and (b"noqa" in lowered or b"gelu-lint" in lowered)
    return directed and re.search(rb"(?:noqa|gelu-lint).*\bgel", lowered) is not None


class Spots:
    """Where needles stand in a text."""

    def __init__(self, data: bytes) -> None:
        self._data, self._lowered = data, data.lower()
        self._needles = _found(self._lowered, True)

    def marks(self) -> Iterator[int]:
        """Where one stands that may matter: not in a comment row, nor in an idle string."""
        return _marks(self._data, self._lowered, self._needles)

    def settings(self) -> Iterator[int]:
        """Where a string stands that names a GELU and may be the value of an option, or what a table is asked for."""
        for needle in (b"gelu", b"geglu"):
            if needle in self._needles:
                yield from _settings(self._lowered, needle)


def _settings(lowered: bytes, needle: bytes) -> Iterator[int]:
    rows, at = _rows(), lowered.find(needle)
    while at >= 0:
        start, end = lowered.rfind(b"\n", 0, at) + 1, lowered.find(b"\n", at)
        row = lowered[start : end if end >= 0 else len(lowered)]
        opened = rows.opened.search(row[: at - start]) if _quoted(row) else None
        if opened is not None:
            above = row[: opened.start()]
            if not above.strip() or rows.option.search(above) is not None or rows.asks.search(above) is not None:
                yield at
        at = lowered.find(needle, at + len(needle))


def _found(lowered: bytes, named: bool) -> list[bytes]:
    likely = [b"gelu"] if named else []
    for common in _COMMON:
        if place(lowered, *common) >= 0:
            likely += [needle for needle in _NEEDLES if place(needle, *common) >= 0]
    found = [needle for needle in _NEEDLES if needle in likely and needle in lowered] if likely else []
    if _QUICK in found and _rows().squashes.search(lowered) is None:
        found.remove(_QUICK)
    return found


def place(data: bytes, word: bytes, before: tuple[bytes, ...], behind: tuple[bytes, ...], start: int = 0) -> int:
    """Where a word stands with one of these before it and one of these behind it, -1 if nowhere.

    If the word is rare this is faster than a search for all of it.
    """
    at = data.find(word, start)
    while at >= 0 and not (data.endswith(before, 0, at) and data.startswith(behind, at + len(word))):
        at = data.find(word, at + 1)
    return at


def _marks(data: bytes, lowered: bytes, needles: list[bytes]) -> Iterator[int]:
    count = 0
    for needle in needles:
        at = lowered.find(needle)
        while at >= 0:
            count += 1
            if count > _MOST or not _idle(data, lowered, at, len(needle)):
                yield at
            at = lowered.find(needle, at + len(needle))


def _idle(data: bytes, lowered: bytes, at: int, length: int) -> bool:
    """Whether the needle at an offset says nothing: in a comment, in a string that no rule reads, in prose."""
    here = at
    start, end = lowered.rfind(b"\n", 0, at) + 1, lowered.find(b"\n", at)
    row = lowered[start : end if end >= 0 else len(lowered)]
    at -= start
    if b"\r" in row:  # alone it ends a row, too
        start = row.rfind(b"\r", 0, at) + 1
        row = row[start:].split(b"\r")[0]
        at -= start
    before = row[:at]
    comment = before.find(b"#")
    rows = _rows()
    if comment >= 0 and not _quoted(before[:comment]):
        return b"gelu-lint" not in row[comment:] and not _says(rows, row, at, length)
    if not _quoted(row):
        # All of the row is code, or none of it.
        plain = b"#" not in row and b"{" not in row and b"}" not in row
        return plain and rows.prose.search(row) is not None and not _says(rows, row, at, length)
    if rows.prompt.match(row) is not None:
        return not _says(rows, row, at, length)
    opened, closed = rows.opened.search(before), rows.closed.match(row, at)
    quoted = opened is not None and opened.start() > len(row) - len(row.lstrip())
    if quoted and b" " in row.strip() and rows.message.fullmatch(row) is not None:
        return not _says(rows, row, at, length)
    if opened is None or closed is None or opened[1] != closed[2]:
        return False
    said = opened[2] + closed[1]
    if b"/" in said and (b"-" in said or b"." in said or said.count(b"/") > 1):
        return True  # a path, or the name of a checkpoint
    above, below = before[: opened.start()], row[closed.end() :]
    if above.endswith(b"`") and _says(rows, row, at, length):
        return False
    if rows.key.search(above) and rows.data.match(below):
        return b"accurate" not in said
    named = rows.named.search(above)
    names = named is not None and _is_argument(above[: named.start(1)], below)
    if not (names or rows.before.search(above) is not None) or rows.after.match(below) is None:
        return False
    if said == b"gelu" and _given(rows, above, below) and _layered(lowered):
        return False
    if _sets(rows, data, lowered, here - len(opened[2]), said, above):
        return False
    return rows.registers.search(lowered, max(0, here - _NEAR), here) is None


def _given(rows: _Rows, above: bytes, below: bytes) -> bool:
    """Whether what stands before a string, and after it, gives it to a layer, or a name to it."""
    found = rows.given.search(above)
    if found is None:
        return False
    return (found[2] is None and found[1] in (b"activation", b"recurrent_activation")) or not _is_argument(
        above[: found.start(1)], below
    )


def _is_argument(above: bytes, below: bytes) -> bool:
    """Whether a keyword with this before it, and this after its value, is an argument: alone on its row it is none."""
    return bool(above.strip()) or below.lstrip().startswith((b",", b")"))


def _sets(rows: _Rows, data: bytes, lowered: bytes, at: int, said: bytes, above: bytes) -> bool:
    """Whether the idle string at an offset is a setting that a rule may speak of: a name that hardly any table knows,
    what a model is configured with by a call, or with half precision beside it."""
    option = rows.option.search(above)
    key = option[1].decode("latin-1") if option is not None else ""
    if option is None and rows.looked_up.search(above) is None:
        return False
    from gelu_lint.facts.activation_names import unheard

    if unheard(key, data[at : at + len(said)].decode("latin-1")):
        return True
    if said != b"gelu" and key.endswith("activation") and _layered(lowered):
        return True
    for holder in _holders(rows, lowered, at):
        if holder not in (b"{", b"dict"):
            if b"transformers" in lowered:
                return True
        elif _beside(lowered) or _of_family(rows, lowered, at):
            return True
    return False


def _of_family(rows: _Rows, lowered: bytes, at: int) -> bool:
    """Whether braces around an offset hold a key that says of which family a model is, and no deeper ones."""
    if not any(key in lowered for key in _FAMILY):
        return False
    before = [found[0] for found in rows.family.finditer(lowered, max(0, at - _FAR), at)]
    behind = [found[0] for found in rows.family.finditer(lowered, at, at + _FAR)]
    return _is_direct(reversed(before), b")]}") or _is_direct(behind, b"([{")


def _is_direct(tokens: Iterable[bytes], opening: bytes) -> bool:
    """Whether one of these, on the way out, is such a key, past what brackets hold that open on that way."""
    depth = 0
    for token in tokens:
        if token in _FAMILY:
            if not depth:
                return True
        else:
            depth = depth + 1 if token in opening else max(depth - 1, 0)
    return False


def _holders(rows: _Rows, lowered: bytes, at: int) -> Iterator[bytes]:
    """What holds an offset, nearest first: braces, and the names of calls that make settings."""
    depth = 0
    above = lowered[max(0, at - _FAR) : at]
    for found in reversed([*rows.bracket.finditer(above)]):
        if found[0] in b")]}":
            depth += 1
        elif depth:
            depth -= 1
        elif found[0] == b"{":
            yield b"{"
        elif found[0] == b"(":
            called = rows.configures.search(above, max(0, found.start() - _WIDE), found.start())
            if called is not None:
                yield called[1]


@functools.lru_cache(maxsize=1)
def _beside(lowered: bytes) -> bool:
    """Whether a file has words that may stand beside the name of an activation and make it wrong."""
    return any(word in lowered for word in _BESIDE)


@functools.lru_cache(maxsize=1)
def _layered(lowered: bytes) -> bool:
    """Whether a file has layers that look an activation up by its name: then an option may be what one is given."""
    if b"keras" in lowered or b"transformerencoderlayer" in lowered or b"transformerdecoderlayer" in lowered:
        return True
    return b"nn.transformer(" in lowered or (b"torch.nn import" in lowered and b"transformer(" in lowered)


def _says(rows: _Rows, row: bytes, at: int, length: int) -> bool:
    """Whether a docstring with this row may say that its code is a GELU: no word before it tells of other things."""
    around = row[max(0, at - 1) : at] + row[at + length : at + length + 1]
    return rows.part.search(around) is None and rows.lead.issuperset(rows.word.findall(row[:at]))


def _elsewhere(lowered: bytes, marked: Iterator[int]) -> bool:
    """Whether these offsets hold imports from the package around and calls of what these import, or names for what
    attributes of ``self`` compute, and no more.

    What that is, the file does not say.
    """
    spans: list[tuple[int, int]] = []
    names: set[bytes] = set()
    computed: dict[bytes, bool] = {}
    rows: _Rows | None = None
    for at in marked:
        if rows is None:
            rows = _rows()
            for statement in _relative(rows, lowered):
                if b" as " not in statement[0] and b"#" not in statement[0]:
                    spans.append(statement.span())
                    names.update(
                        name for name in rows.identifier.findall(statement[1]) if b"gelu" in name or b"glu" in name
                    )
        if any(start <= at < end for start, end in spans):
            continue
        start = at
        while lowered[start - 1 : start].isalnum() or lowered[start - 1 : start] in (b"_", b"."):
            start -= 1
        row = lowered[lowered.rfind(b"\n", 0, start) + 1 : start]
        called = rows.called.match(lowered, start)
        if called is None:
            name = rows.identifier.match(lowered, start)
            if name is None or name.end() <= at or not _computed(rows, lowered, name[0], computed):
                return False
            continue
        if called[1] not in names or rows.defines.match(row) is not None:
            return False
        if not row.strip() or b'"' in row or rows.glue.search(lowered, max(0, start - _NEAR), start) is not None:
            return False  # alone on its row it may be text
    return True


def _computed(rows: _Rows, lowered: bytes, name: bytes, known: dict[bytes, bool]) -> bool:
    """Whether a name stands for nothing but what attributes of ``self`` compute, and is only loaded elsewhere."""
    if name not in known:
        known[name] = any(_binds(rows, lowered, at, name) for at in _all(lowered, name)) and all(
            _binds(rows, lowered, at, name) or _loads(rows, lowered, at, name) for at in _all(lowered, name)
        )
    return known[name]


def _all(lowered: bytes, name: bytes) -> Iterator[int]:
    at = lowered.find(name)
    while at >= 0:
        yield at
        at = lowered.find(name, at + len(name))


def _binds(rows: _Rows, lowered: bytes, at: int, name: bytes) -> bool:
    found = rows.computed.match(lowered, lowered.rfind(b"\n", 0, at) + 1)
    return found is not None and found.span(1) == (at, at + len(name)) and b"gelu" not in found[2]


def _loads(rows: _Rows, lowered: bytes, at: int, name: bytes) -> bool:
    end = lowered.find(b"\n", at)
    start = lowered.rfind(b"\n", 0, at) + 1
    found = rows.loads.fullmatch(lowered, start, end if end >= 0 else len(lowered))
    alone = rows.part.match(lowered, at - 1) is None and rows.part.match(lowered, at + len(name)) is None
    return found is not None and found.end(1) <= at and alone and lowered[at - 1 : at] != b"."


def _relative(rows: _Rows, lowered: bytes) -> Iterator[re.Match[bytes]]:
    """The imports from the package around: finding the word at the start of rows is faster than the pattern."""
    at = 0
    while True:
        statement = rows.relative.match(lowered, at)
        if statement is not None:
            yield statement
        at = lowered.find(b"\nfrom", at) + 1
        if not at:
            return


def _quoted(row: bytes) -> bool:
    return b'"' in row or b"'" in row
