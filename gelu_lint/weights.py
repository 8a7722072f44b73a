"""An ONNX file without its weights: what is left of gigabytes is small enough to be read like any other file.

ONNX is protobuf. The fields of a model are gone through one by one; tensors of more than a number, and what says
nothing about operators, are stepped over unread. What is left is a model again.
"""

from __future__ import annotations

from typing import BinaryIO

from gelu_lint.named import NamedTuple

#: Bytes of the longest tensor that is kept (a number and its name), and of the longest node that is kept unread.
_TENSOR, _NODE = 1_000, 2_000
#: Fields of one file, and graphs in graphs, that are gone through.
_FIELDS, _DEPTH = 1_000_000, 40
_POINTER = b"version https://git-lfs"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_GRAPH_FIELD = 7


class NotOnnx(Exception):
    """Bytes that are no ONNX model, or one that is too long."""


class _Message(NamedTuple):
    """Fields of a message that are left out, and those that hold messages to look into, with what these are."""

    dropped: tuple[int, ...]
    inside: tuple[tuple[int, str], ...]


# Numbers from onnx.proto3, which never change.
_MESSAGES = {
    "model": _Message((6, 14, 20), ((_GRAPH_FIELD, "graph"), (25, "function"))),
    "graph": _Message((10, 13, 14, 15, 16), ((1, "node"), (5, "tensor"))),
    "function": _Message((8, 12, 14), ((7, "node"),)),
    "node": _Message((6, 9), ((5, "attribute"),)),
    "attribute": _Message((7, 8, 9, 10, 13), ((5, "tensor"), (6, "graph"), (11, "graph"))),
}


def without_weights(file: BinaryIO, most: int) -> bytes:
    """The model in a file that can be searched, in at most so many bytes; nothing of a pointer of git LFS.

    Raises NotOnnx.
    """
    size = file.seek(0, 2)
    file.seek(0)
    if file.read(len(_POINTER)) == _POINTER:
        return b""
    file.seek(0)
    copy = _Copy(file, most)
    model = copy.message("model", size, 0)
    if not copy.has_graph:
        raise NotOnnx("not an ONNX model: it has no graph")
    return model


class _Copy:
    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most, self._left, self._fields = file, most, most, _FIELDS
        self.has_graph = False

    def message(self, kind: str, end: int, depth: int) -> bytes:
        """What is left of a message that goes up to an offset."""
        if depth > _DEPTH:
            raise NotOnnx("not read: its graphs are nested too deeply")
        dropped, inside = _MESSAGES[kind].dropped, dict(_MESSAGES[kind].inside)
        file = self._file
        out = bytearray()
        at = file.tell()
        while at < end:
            self._fields -= 1
            if self._fields < 0:
                raise NotOnnx("not read: it has too many fields")
            tag, head = self._varint()
            number, wire = tag >> 3, tag & 7
            if wire == _VARINT:
                out += head + self._varint()[1]
            elif wire in (_FIXED64, _FIXED32):
                out += head + self._read(8 if wire == _FIXED64 else 4)
            elif wire == _BYTES and number:
                length, told = self._varint()
                at = file.tell()
                if at + length > end:
                    raise NotOnnx("not a valid ONNX model: it is cut off, or no ONNX at all")
                self.has_graph = self.has_graph or (kind == "model" and number == _GRAPH_FIELD)
                within = inside.get(number, "")
                if number in dropped or (within == "tensor" and length > _TENSOR):
                    file.seek(at + length)
                elif within in ("", "tensor") or (within == "node" and length <= _NODE):
                    out += head + told + self._read(length)
                else:
                    body = self.message(within, at + length, depth + (within == "graph"))
                    out += head + _told(len(body)) + body
            else:
                raise NotOnnx("not a valid ONNX model")
            at = file.tell()
        if at != end:
            raise NotOnnx("not a valid ONNX model: it is cut off, or no ONNX at all")
        return bytes(out)

    def _read(self, length: int) -> bytes:
        self._left -= length
        if self._left < 0:
            limit = f"max-file-size ({self._most / 1e6:g} MB)"
            raise NotOnnx(f"without its weights it is still over {limit}: raise max-file-size to check it")
        data = self._file.read(length)
        if len(data) < length:
            raise NotOnnx("not a valid ONNX model: it is cut off")
        return data

    def _varint(self) -> tuple[int, bytes]:
        """A number, and the bytes in which it stands."""
        value, data = 0, b""
        for shift in range(0, 70, 7):
            byte = self._file.read(1)
            if not byte:
                raise NotOnnx("not a valid ONNX model: it is cut off")
            data += byte
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value, data
        raise NotOnnx("not a valid ONNX model")


def _told(length: int) -> bytes:
    """A length as protobuf writes it."""
    out = bytearray()
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)
