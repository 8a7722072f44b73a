"""Source files: bytes to text and back, offsets and positions, atomic writes, patches.

Text keeps its line ends exactly. A row ends at ``\\r\\n``, ``\\n`` or a lone ``\\r``, as in Python's own
tokenizer, and nowhere else (``str.splitlines`` also splits at form feeds and Unicode separators).
"""

from __future__ import annotations

import codecs
import os
import stat

from gelu_lint.patterns import lazy

# Files in these formats are UTF-8 and have no coding cookie: "# Encoding: notes" is just a heading there.
_NEWLINE, _LINE_END = lazy("\n"), lazy(r"\r\n?|\n")
_NO_COOKIE = (".cfg", ".ini", ".ipynb", ".json", ".md", ".rst", ".toml", ".txt", ".yaml", ".yml")

#: Files that hold no text: ``text`` is empty, and they cannot be written.
_NO_TEXT = (".onnx",)

_WIDE_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Unreadable(Exception):
    """A file that cannot be read, decoded, encoded or written; ``row`` is 1-based, 1 where unknown."""

    def __init__(self, message: str, row: int = 1) -> None:
        super().__init__(message, row)  # both in args, so that it pickles
        self.message = message
        self.row = row

    def __str__(self) -> str:
        return self.message


class Source:
    """One file's content. ``text`` has no BOM; ``rows`` holds the offset in ``text`` of each row's start."""

    def __init__(self, path: str, data: bytes, text: str, encoding: str, bom: bool, rows: tuple[int, ...]) -> None:
        self.path, self.data, self.text, self.encoding, self.bom, self.rows = path, data, text, encoding, bom, rows

    @property
    def newline(self) -> str:
        """The file's most common line end, ``\\n`` if it has none."""
        if "\r" not in self.text:
            return "\n"
        pairs = self.text.count("\r\n")
        counts = {"\n": self.text.count("\n") - pairs, "\r\n": pairs, "\r": self.text.count("\r") - pairs}
        return max(counts, key=counts.__getitem__)

    def offset(self, row: int, column: int) -> int:
        """Offset in ``text`` of a position: row from 1, column from 0, in code points.

        Raises IndexError if the row does not exist or has no such column (its end, and its line end, count).
        """
        if not 1 <= row <= len(self.rows):
            raise IndexError(f"no row {row}")
        found = self.rows[row - 1] + column
        end = self.rows[row] if row < len(self.rows) else len(self.text)
        if column < 0 or found > end:
            raise IndexError(f"no column {column} in row {row}")
        return found

    def position(self, offset: int) -> tuple[int, int]:
        """Row (from 1) and column (from 0, code points) of an offset; IndexError outside 0..len(text)."""
        from bisect import bisect_right

        if not 0 <= offset <= len(self.text):
            raise IndexError(f"no offset {offset}")
        row = bisect_right(self.rows, offset)
        return row, offset - self.rows[row - 1]

    def line(self, row: int) -> str:
        """The row's text without its line end; IndexError if there is no such row."""
        start = self.offset(row, 0)
        end = self.rows[row] if row < len(self.rows) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def encode(self, text: str) -> bytes:
        """``text`` as bytes in this file's encoding, with its BOM; Unreadable if a character has none."""
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            message = f"{character!r} (U+{ord(character):04X}) cannot be written in {self.encoding}"
            raise Unreadable(f"{message}: save the file as UTF-8", len(row_starts(text[: error.start]))) from None
        except (LookupError, ValueError) as error:
            raise Unreadable(f"cannot be written in {self.encoding}: {error}") from None
        return codecs.BOM_UTF8 + data if self.bom else data


def read_bytes(path: str, max_size: int) -> bytes:
    """The content of a regular file of at most ``max_size`` bytes; of an ONNX file, without its weights.

    Raises Unreadable for anything else: larger files (by stat, unread), directories, FIFOs, devices and
    sockets (never opened, so it cannot block), and what the operating system refuses.
    """
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "a FIFO, device or socket"
            raise Unreadable(f"{kind}, not a regular file")
        if path.lower().endswith(_NO_TEXT):
            return _model(path, max_size)
        size, data = info.st_size, b""
        if size <= max_size:
            with open(path, "rb", buffering=0) as file:
                data = file.readall()
            size = len(data)  # it may have grown, and /proc reports 0
    except OSError as error:
        raise Unreadable(f"cannot read: {error.strerror or error}") from None
    except ValueError as error:  # a null byte in the path
        raise Unreadable(f"cannot read: {error}") from None
    if size > max_size:
        limit = f"max-file-size ({max_size / 1e6:g} MB)"
        raise Unreadable(f"{size / 1e6:.2f} MB, over {limit}: raise max-file-size to check it")
    return data


def _model(path: str, max_size: int) -> bytes:
    from gelu_lint.weights import NotOnnx, without_weights

    with open(path, "rb") as file:
        try:
            return without_weights(file, max_size)
        except NotOnnx as fault:
            raise Unreadable(str(fault)) from None


def decode(path: str, data: bytes) -> Source:
    """The text of ``data`` by BOM, coding cookie (PEP 263) or default UTF-8; ``path`` is not touched.

    Raises Unreadable for an unknown or unfit encoding, for bytes that it cannot decode, for null bytes and
    for UTF-16 and UTF-32.
    """
    if path.lower().endswith(_NO_TEXT):
        return Source(path, data, "", "binary", False, (0,))
    for mark, name in _WIDE_BOMS:
        if data.startswith(mark):
            raise Unreadable(f"{name}, which Python source cannot be: save the file as UTF-8")
    null = data.find(b"\0")
    if null >= 0:
        row = _rows_before(data[:null]) + 1
        raise Unreadable("contains null bytes: binary or UTF-16? If it is text, save it as UTF-8", row)
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    cookie, row = ("", 1) if path.lower().endswith(_NO_COOKIE) else _cookie(body)
    encoding = _normal(cookie) if cookie else "utf-8"
    if bom and encoding != "utf-8":
        raise Unreadable(f"UTF-8 byte order mark, but a coding cookie {cookie}: remove one of them", row)
    try:
        if encoding != "utf-8" and "coding".encode(encoding) != b"coding":
            raise Unreadable(f"encoding {cookie} cannot hold Python source: save the file as UTF-8", row)
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        row = _rows_before(body[: error.start]) + 1
        message = f"byte 0x{body[error.start]:02x} in row {row} is not valid {encoding}"
        raise Unreadable(f"{message}: save the file as UTF-8 or declare its encoding", row) from None
    except LookupError:
        raise Unreadable(f"unknown encoding {cookie}: correct the coding cookie", row) from None
    except ValueError as error:  # codecs such as "undefined" and "idna" raise a plain UnicodeError
        raise Unreadable(f"cannot decode as {cookie}: {error}", row) from None
    return Source(path, data, text, encoding, bom, row_starts(text))


def from_text(path: str, text: str) -> Source:
    """A source of text that a host has read and decoded; it cannot be written."""
    return Source(path, b"", text, "utf-8", False, row_starts(text))


def write(source: Source, new_text: str) -> None:
    """Replace the file of ``source`` atomically by ``new_text``, keeping mode, owner if possible, symlinks.

    Raises Unreadable, with the file left as it was, if it changed on disk since it was read, is read-only,
    if its encoding does not give the same text (or untouched bytes) back, or if the system refuses.
    """
    data = source.encode(new_text)
    if source.encode(source.text) != source.data or decode(source.path, data).text != new_text:
        raise Unreadable(f"cannot be rewritten faithfully in {source.encoding}: save the file as UTF-8")
    path = os.path.realpath(source.path)
    try:
        info = os.stat(path)
        if not info.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise Unreadable("read-only: make it writable to fix it")
        _replace(path, info, source.data, data)
    except OSError as error:
        raise Unreadable(f"cannot write: {error.strerror or error}") from None


def _replace(path: str, info: os.stat_result, old: bytes, new: bytes) -> None:
    import tempfile

    handle, temporary = tempfile.mkstemp(prefix=".gelu-lint-", suffix=".tmp", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if hasattr(os, "chown"):
            try:
                os.chown(temporary, info.st_uid, info.st_gid)
            except OSError:  # another user's file: only root may give files away
                pass
        os.chmod(temporary, stat.S_IMODE(info.st_mode))  # after chown, which clears the set-id bits
        with open(path, "rb") as file:  # last, so that the time for someone else's write to be lost is least
            if file.read() != old:
                raise Unreadable("changed on disk since it was read: run again")
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def unified_patch(path_shown: str, old: bytes, new: bytes) -> bytes:
    """A patch from ``old`` to ``new`` that ``git apply`` takes, with 3 lines of context; empty if equal."""
    if old == new:
        return b""
    import difflib

    name = os.fsencode(path_shown.replace(os.sep, "/")).lstrip(b"/")
    before, after = _quoted(b"a/" + name), _quoted(b"b/" + name)
    tab = b"\t" if b" " in name else b""  # as git does: else the name would end at the space
    out = [b"diff --git %s %s\n--- %s%s\n+++ %s%s\n" % (before, after, before, tab, after, tab)]
    lines, new_lines = _lines(old), _lines(new)
    for group in difflib.SequenceMatcher(None, lines, new_lines).get_grouped_opcodes():
        first, last = group[0], group[-1]
        out.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, start, stop, new_start, new_stop in group:
            if tag == "equal":
                out += [_patch_line(b" ", line) for line in lines[start:stop]]
            else:
                out += [_patch_line(b"-", line) for line in lines[start:stop]]
                out += [_patch_line(b"+", line) for line in new_lines[new_start:new_stop]]
    return b"".join(out)


def _cookie(body: bytes) -> tuple[str, int]:
    """The coding cookie of the first two lines and its row, or ``""``; the rules are tokenize's."""
    first, _, rest = body.partition(b"\n")
    second = rest.partition(b"\n")[0]
    if b"coding" not in first and b"coding" not in second:
        return "", 1
    import re

    pattern = lazy(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
    found, row = pattern.match(first), 1
    if not found and re.match(rb"[ \t\f]*(?:[#\r]|$)", first):  # below code a comment is no cookie
        found, row = pattern.match(second), 2
    return (found[1].decode("ascii"), row) if found else ("", 1)


def _normal(cookie: str) -> str:
    name = cookie.lower().replace("_", "-")
    if name == "utf-8" or name.startswith("utf-8-"):
        return "utf-8"
    latin = (name + "-").startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-"))
    return "iso-8859-1" if latin else cookie


def row_starts(text: str) -> tuple[int, ...]:
    """The offset of each row's start."""
    return (0, *[end.end() for end in (_LINE_END if "\r" in text else _NEWLINE).finditer(text)])


def _rows_before(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _patch_line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"


def _range(start: int, stop: int) -> bytes:
    """A hunk's range as unified diffs write it: from 1, or the line before it if empty."""
    length = stop - start
    return b"%d" % (start + 1) if length == 1 else b"%d,%d" % (start + (length > 0), length)


def _quoted(name: bytes) -> bytes:
    """A path in C quotes if git would quote it: quotes, backslashes, control and non-ASCII bytes."""
    letters = dict(zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True))
    quoted = b""
    for byte in name:
        plain = 32 <= byte < 127 and byte not in letters
        quoted += b"%c" % byte if plain else b"\\%c" % letters[byte] if byte in letters else b"\\%03o" % byte
    return name if quoted == name else b'"' + quoted + b'"'
