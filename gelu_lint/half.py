"""The words by which half precision shows, asked of a text before anything of it is parsed."""

from __future__ import annotations

import functools

from gelu_lint.patterns import lazy
from gelu_lint.screen import place

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

    _Word = tuple[bytes, tuple[bytes, ...], tuple[bytes, ...]]

_ANY = (b"",)
_HALF = b"half", (b".", b'"', b"'", b", ", b"import "), _ANY
_AUTOCAST = b"autocast", _ANY, _ANY
#: In each row that makes code run in fp16 stands one of the first of these, see screen.place, or a 16 and one of the
#: second. Without torch, and with it, most show by fewer of them.
_NEEDLES = ((b"alf", _ANY, _ANY), _AUTOCAST), (b"fp16", b"precision", b"float16", b"16-")
_SWITCHES = (_HALF,), (b"fp16", b"precision")
_CASTS = (_HALF, _AUTOCAST), (b"fp16", b"precision", b"float16")
_QUOTES = b'"""', b"'''"
_SIXTEEN = b"6", (b"1",), (b"",)  # a six is rare

#: What says, in a test or beside it, that its numbers may have less than the digits of float32, in any case of letters.
COARSE = r"(?<![a-z])half(?![a-z])|bf16|fp16|float16|fp8|float8|int8|int4|quant|autocast"

#: Words of names that hold a model, and last words of names that hold something about one, or what one gives.
_MODELS = """
    model net network module encoder decoder unet vae transformer policy student teacher generator discriminator
    backbone block layer layers mlp bert gpt clip vit lm llm classifier self learner ffn
"""
_ABOUT = """
    args cfg checkpoint ckpt config configs count device dict dim dims dir dropout dtype file files grad id ids idx
    index info input inputs key keys kwargs loss lr mask name names norm options opts out output outputs params path
    paths rate repo root size spec state states str type url version weights width
"""


@functools.cache
def says_model(name: str) -> bool:
    """Whether a name says that it holds a model, or a part of one."""
    from gelu_lint.claims import words

    found = words(name)
    return (
        not set(_MODELS.split()).isdisjoint(found) and found[-1] not in _ABOUT.split() and found[0] not in ("n", "num")
    )


class _Rows:
    """What a row must hold; most files need none of it, so it is made when the first does."""

    def __init__(self) -> None:
        half = rb"(?<![b\w])float16\b"
        given = (
            rb"(?:\.to\(|\btype\(|dtype[ \t]*=(?!=)|cast_inputs|import\b|\belse\b|partial"
            rb"|^[ \t]*\w+[^=\n]*=(?!=)|^[ \t]*torch\.)"
        )
        self.says = lazy(
            rb"\.half\(|\bhalf\b.*\bimport|import\b.*\bhalf\b|torch\.half\b|HalfTensor|mixed_float16|\bautocast\b"
            rb"|[\"'](?:half|fp16|16|16-mixed|16-true)[\"']|\bfp16\s*=\s*(?:True|dict|[\w.]*is_available)\b|\bprecision\s*=\s*16\b"
            rb"|%b.*?%b" % (given, half)
        )
        # Prompts, messages and keys of tables make nothing run in fp16.
        self.idle = lazy(
            rb"^[ \t]*(?:>>>|\.\.\.|(?:raise\b|[\w.]*(?:log(?:ger|ging)?|warnings)\.\w+\()"
            rb"(?<!\.half\()(?!.*(?:\.half\(|;)))"
        )
        # Nor do comparisons, lists of dtypes or of their names, keys of tables, tensors and numbers of some dtype,
        # types of Triton, and what is quoted in prose.
        kind = rb"(?:torch\.)?(?:half|float16)\b"
        name = rb"[\"'](?:half|fp16|16|16-mixed|16-true)[\"']"
        inside = rb"(?:[^()]|\([^()]*\))*"
        listed = rb"(?:\s*(?:[\w.]+|[\"'][\w-]*[\"'])\s*,)*\s*(?:%b|%b)\s*(?=[,\])}])" % (kind, name)
        self.unused = lazy(
            rb"[=!]=\s*(?:%b|%b)|\bin\s*\(%b|[\[{]%b|=\s*\((?=[^()]*,)%b|%b\s*:|\btl\.float16\b|`+[^`]*`+"
            rb"|\b(?:zeros|ones|empty|rand|randn|full|tensor|arange|softmax|view|finfo|cast)(?:_like)?\(%b?float16"
            rb"|\bfloat16\(" % (kind, name, listed, listed, listed, kind, inside)
        )
        self.imports = lazy(
            rb"[ \t\f]*(?:from(?:[ \t]+|(?=\.))([\w.\x80-\xff]+)[ \t]+import[ \t]*(\((?:[^)#]|#[^\n]*)*\)|[^\n#;]*)"
            rb"|import[ \t]+([\w., \t\x80-\xff]+))"
        )
        self.name = lazy(rb"[\w\x80-\xff]+(?:[ \t]+as[ \t]+[\w\x80-\xff]+)?|\*")
        self.word = lazy(rb"[\w\x80-\xff]+")
        self.asked = lazy(rb"isinstance\((?:[^()\n]|\([^()\n]*\))*\)")
        # What says that something does not run in fp16: only what else does makes it matter.
        off = rb"(?:\benabled\s*=\s*False|\bdtype\s*=\s*torch\.bfloat16\s*(?=[,)])|\btorch\.float(?:32)?\s*(?=[,)]))"
        self.off = lazy(rb"\w*autocast\(%b%b%b(?:\)|$)" % (inside, off, inside))


_rows = functools.cache(_Rows)


def spots(data: bytes, led: bool) -> list[int]:
    """Where in a file a row says that something may run in fp16, or that it does not; nowhere where nothing may, unless
    contexts of other files have ``led`` into it."""
    found = [*_said(data, *_NEEDLES)]
    return [at for at, _ in found] if led or any(_is_on(row) for _, row in found) else []


def shows(data: bytes) -> bool:
    """Whether a file may hold what makes code of others run in fp16: the rarest words aside."""
    said = _said(data, *(_CASTS if b"torch" in data else _SWITCHES))
    return any(_is_on(row) and not _is_text(data, at) for at, row in said)


def _is_text(data: bytes, at: int) -> bool:
    """Whether an offset stands in a string of several rows: counting tells where it may, and is fast."""
    if not any(data.count(quote) % 2 == 0 and data.count(quote, 0, at) % 2 for quote in _QUOTES):
        return False
    from gelu_lint.lines import SILENT

    around = next((found for found in SILENT.finditer(data.decode("latin-1")) if found.end() > at), None)
    return around is not None and around.start() < at and around[0].encode("latin-1").startswith(_QUOTES)


def _is_on(row: bytes) -> bool:
    """Whether a row that says something does so by more than what says that something does not run in fp16."""
    rest, removed = _rows().off.subn(b"", row)
    return not removed or _rows().says.search(rest) is not None


def _said(data: bytes, words: tuple[_Word, ...], numbered: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    """The rows with one of these words, or of those beside a 16, whose code says something, each with an offset in
    it."""
    for at, row in _candidates(data, words, numbered):
        code = row.partition(b"#")[0]
        if code.count(b'"') % 2 or code.count(b"'") % 2:
            code = row  # the sign may stand in a string
        rows = _rows()
        if rows.says.search(code) is None or rows.idle.search(code) is not None:
            continue
        rest, unused = rows.unused.subn(b"", code)
        if not unused or rows.says.search(rest) is not None:
            yield at, code


def _candidates(data: bytes, words: tuple[_Word, ...], numbered: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    at = place(data, *_SIXTEEN)
    while at >= 0:
        row, end = _row(data, at)
        if any(word in row for word in numbered):
            yield at, row
        at = place(data, *_SIXTEEN, end)
    for word in words:
        at = place(data, *word)
        while at >= 0:
            row, end = _row(data, at)
            yield at, row
            at = place(data, *word, end)


def _row(data: bytes, at: int) -> tuple[bytes, int]:
    """The row around an offset, and where it ends."""
    end = data.find(b"\n", at)
    end = end if end >= 0 else len(data)
    return data[data.rfind(b"\n", 0, at) + 1 : end], end


def imports(data: bytes) -> tuple[str, ...]:
    """The full names that a file imports, as far as its bytes tell."""
    return tuple(sorted({full for full, _ in _imported(data)}))


def used(data: bytes) -> tuple[str, ...]:
    """Those of them with which it does more than ask whether something is one of them."""
    found, rows = [*_imported(data)], _rows()
    asked = {word for question in rows.asked.findall(data) for word in rows.word.findall(question)}
    names = [name for _, name in found if name.encode() in asked]
    rest = rows.asked.sub(b"", data) if names else b""
    idle = {name for name in names if rest.count(name.encode()) == names.count(name)}
    return tuple(sorted({full for full, name in found if name not in idle}))


def _imported(data: bytes) -> Iterator[tuple[str, str]]:
    """The full name of each import, and the name that it binds, "" if that is a module, \"*\" if that is many."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\\n" in data:
        data = data.replace(b"\\\n", b" ")
    data = data.removeprefix(b"\xef\xbb\xbf")
    at = data.find(b"import")
    while at >= 0:
        row = data.rfind(b"\n", 0, at) + 1
        statement = _rows().imports.match(data, max(row - 1, data.rfind(b";", row, at), data.rfind(b":", row, at)) + 1)
        at = data.find(b"import", max(at + 1, statement.end() if statement is not None else 0))
        if statement is None:
            continue
        module, names, plain = statement.groups()
        if plain:
            yield from ((name.split()[0], "") for name in plain.decode("utf-8", "ignore").split(",") if name.split())
            continue
        base = module.decode("utf-8", "ignore")
        glue = "" if base.endswith(".") else "."
        for name in _rows().name.findall(names):
            words = name.decode("utf-8", "ignore").split()
            if words and base:  # else it is of another encoding
                yield f"{base}{glue}{words[0]}", words[-1]
