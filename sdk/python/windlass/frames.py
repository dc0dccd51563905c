"""The frame: two big-endian u32 lengths, a JSON header, an opaque body."""

import json
import socket
import struct
from typing import Any, Dict, Optional, Tuple, Union

MAX_HEADER = 256 * 1024
MAX_BODY = 64 * 1024 * 1024

Buffer = Union[bytes, bytearray]

_LENGTHS = struct.Struct(">II")
_READ_AHEAD = 256 * 1024
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class ProtocolError(Exception):
    """The other end broke the framing; nothing after it can be trusted."""


def clean(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced: strict JSON readers refuse them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dumps(value: Any) -> bytes:
    """Strict JSON: TypeError or ValueError for what JSON cannot say, NaN among it."""
    return utf8(_encode(value))


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean(text).encode()


def loads(data: Buffer) -> Any:
    return _decode(data.decode())


def prefix(header: bytes, body_length: int = 0) -> bytes:
    return _LENGTHS.pack(len(header), body_length) + header


def pack(header: Dict[str, Any], body: bytes = b"") -> bytes:
    return prefix(dumps(header), len(body)) + body


def cut(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, with a visible marker where something was left out."""
    if len(text) * 4 <= limit:
        return text
    data = utf8(text[: limit + 1])
    if len(text) <= limit and len(data) <= limit:
        return text
    marker = " … [cut, %d characters in all]" % len(text)
    kept = data[: max(0, limit - len(marker.encode()))]
    return kept.decode("utf-8", "ignore") + marker


class FrameReader:
    """Reads frames off a blocking socket, as many a system call as have arrived."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer: Buffer = b""
        self._at = 0

    def read(self) -> Optional[Tuple[Dict[str, Any], Buffer]]:
        """The next frame, or None when the other end is gone (in the middle of a frame, too)."""
        lengths = self._take(8)
        if lengths is None:
            return None
        header_length, body_length = _LENGTHS.unpack(lengths)
        if header_length > MAX_HEADER or body_length > MAX_BODY:
            raise ProtocolError("frame of %d + %d bytes is over the bound" % (header_length, body_length))
        header = self._take(header_length)
        if header is None:
            return None
        body = self._take(body_length) if body_length else b""
        if body is None:
            return None
        return loads(header), body

    def _take(self, count: int) -> Optional[Buffer]:
        end = self._at + count
        if end > len(self._buffer):
            return self._fill(count)
        piece = self._buffer[self._at : end]
        self._at = end
        return piece

    def _fill(self, count: int) -> Optional[Buffer]:
        rest = self._buffer[self._at :]
        self._buffer, self._at = b"", 0
        if count > _READ_AHEAD:
            return self._fill_large(rest, count)
        while len(rest) < count:
            data = self._sock.recv(_READ_AHEAD)
            if not data:
                return None
            rest = rest + data if rest else data
        self._buffer, self._at = rest, count
        return rest[:count]

    def _fill_large(self, rest: Buffer, count: int) -> Optional[Buffer]:
        whole = bytearray(count)
        whole[: len(rest)] = rest
        view, at = memoryview(whole), len(rest)
        while at < count:
            got = self._sock.recv_into(view[at:])
            if not got:
                return None
            at += got
        return whole
