"""Bodies as they were before Content-Encoding: gzip, deflate, br, zstd; undone piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Protocol

import brotli

from spoor.compression import windows_up_to, zstd

MIB = 1 << 20

_MOST_PARTS = 2_000
"""Of one body: parts that hold nothing cost as much as those that hold something."""


_HEAD = 2

_HEAD_OF_TEXT = 1_024
_BINARY = bytes({*range(0x20)} - {*b"\t\n\f\r\x1b"})
"""Bytes that no text holds (WHATWG MIME Sniffing, 3)."""

_MOST_ENCODINGS = 4

_STEP = 1 << 10
_MOST_BETWEEN = 1 << 16
_MOST_BETWEEN_RATIO = 4
"""What one of several encodings may make of a step, and of each byte of all: what is compressed
already hardly becomes shorter once more. Without it a layer could make megabytes of a step of which
the next makes nothing."""


class Inflater(Protocol):
    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more; raises ValueError for broken data."""
        ...

    @property
    def complete(self) -> bool:
        """False where the data breaks off in the middle."""
        ...

    @property
    def plain(self) -> bool:
        """Whether complete data gives the same however it is cut into pieces: nothing of it was
        forgiven."""
        ...


class _Plain:
    complete = plain = True

    def feed(self, data: bytes, room: int) -> bytes:
        return data[:room]


def begins_like_text(body: bytes) -> bool:
    """Whether the beginning of a body holds no byte that no text holds, but for UTF-16."""
    head = body[:_HEAD_OF_TEXT]
    return head.translate(None, _BINARY) == head


class _Unknown:
    """A body under a name that is no encoding (`utf-8`, `none`, `text/html`): read as it is, as
    browsers do, where it begins like text; ValueError where it does not."""

    complete = plain = True

    def __init__(self, name: str) -> None:
        self._name = name
        self._unseen = _HEAD_OF_TEXT

    def feed(self, data: bytes, room: int) -> bytes:
        if self._unseen > 0:
            head = data[: self._unseen]
            if not begins_like_text(head):
                raise ValueError(f"unknown content encoding {self._name!r}")
            self._unseen -= len(head)
        return data[:room]


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Members:
    """Compressed data in one or more consecutive parts; trailing bytes that are no part are left
    out, as browsers do."""

    def __init__(self, *make: Callable[[], _Decoder], piece: int = 1 << 10) -> None:
        self._make = list(make)
        """Decoders of a part; the second is tried where the first does not recognise the data."""
        self._size = piece
        self._decoder: _Decoder | None = None
        self._began = False
        self._parts = 0
        self._over = False
        self._head = b""
        self._plain = True

    @property
    def complete(self) -> bool:
        return self._decoder is None and (self._parts > 0 or not self._began)

    @property
    def plain(self) -> bool:
        """Whether it is one part, and nothing else."""
        return self._plain and self._parts == 1 and self._decoder is None

    def feed(self, data: bytes, room: int) -> bytes:
        # Small pieces: one may grow a thousandfold and more before it can be counted, and what a
        # broken one holds is lost.
        out = bytearray()
        for start in range(0, len(data), self._size):
            piece = data[start : start + self._size]
            self._plain = self._plain and not self._parts
            while piece and not self._over:
                out += self._some(piece)
                piece = b""
                if self._decoder is not None and self._decoder.eof:
                    piece = self._decoder.unused_data
                    self._plain = self._plain and not piece
                    piece = piece.lstrip(b"\0")
                    self._decoder = None
                    self._parts += 1
                    if self._parts > _MOST_PARTS:
                        raise ValueError("too many parts")
            if len(out) >= room:
                break
        return bytes(out[:room])

    def _some(self, piece: bytes) -> bytes:
        if self._decoder is None:
            self._decoder = self._make[0]()
            self._head = b""
        self._began = True
        # The two bytes of a head may arrive one by one; only both together can be wrong.
        early = len(self._head) < _HEAD
        head, self._head = self._head, (self._head + piece)[:_HEAD]
        try:
            return self._decoder.decompress(piece)
        except (zlib.error, zstd.ZstdError) as error:
            if not early:
                raise ValueError(str(error)) from error
            self._decoder = None
            if self._parts:
                self._over = True
                return b""
            if len(self._make) == 1:
                raise ValueError(str(error)) from error
            del self._make[0]
            return self._some(head + piece)


class _Brotli:
    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self._began = False
        self.plain = True

    @property
    def complete(self) -> bool:
        return not self._began or self._decoder.is_finished()

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        self._began = self._began or bool(data)
        self.plain = self.plain and not (data and self._decoder.is_finished())
        try:
            while len(out) < room and not self._decoder.is_finished():
                some = self._decoder.process(data, output_buffer_limit=room - len(out))
                data = b""
                out += some
                if not some and self._decoder.can_accept_more_data():
                    break
        except brotli.error as error:
            raise ValueError(str(error)) from error
        return bytes(out[:room])


def _zstandard() -> _Decoder:
    return zstd.ZstdDecompressor(options=windows_up_to(8 * MIB))


def _inflater(encoding: str) -> Inflater:
    if encoding in ("", "identity"):
        return _Plain()
    if encoding in ("gzip", "x-gzip"):
        return _Members(partial(zlib.decompressobj, 31))
    if encoding == "deflate":
        # Some servers send it bare, without the head that it should have.
        return _Members(partial(zlib.decompressobj, 15), partial(zlib.decompressobj, -15))
    if encoding == "br":
        return _Brotli()
    if encoding == "zstd":
        return _Members(_zstandard, piece=1 << 8)
    return _Unknown(encoding)


class Layers:
    """The encodings of one body, undone piece by piece. `encoding`: a Content-Encoding. Raises
    ValueError where it names too many."""

    def __init__(self, encoding: str) -> None:
        names = [part.strip().lower() for part in encoding.split(",") if part.strip()]
        if len(names) > _MOST_ENCODINGS:
            raise ValueError("too many encodings")
        self._inflaters = [_inflater(name) for name in reversed(names)]
        packed = [not isinstance(one, _Plain | _Unknown) for one in self._inflaters]
        self._bounded = [any(packed[number + 1 :]) for number in range(len(packed))]
        """Of each, whether what it makes is uncompressed once more."""
        self._fed = 0
        self.between = 0
        """Bytes that were made so far for another layer."""

    def __bool__(self) -> bool:
        return bool(self._inflaters)

    @property
    def complete(self) -> bool:
        """False where a layer breaks off in the middle."""
        return all(inflater.complete for inflater in self._inflaters)

    @property
    def plain(self) -> bool:
        """As of an inflater; of several layers nobody knows."""
        return len(self._inflaters) < 2 and all(one.plain for one in self._inflaters)

    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more of the body. Raises ValueError for broken data, and for layers
        of which one makes far more than the one around it had."""
        if not any(self._bounded):
            for inflater in self._inflaters:
                data = inflater.feed(data, room)
            return data
        out = bytearray()
        for start in range(0, len(data), _STEP):
            out += self._step(data[start : start + _STEP], room - len(out))
            if len(out) >= room:
                break
        return bytes(out)

    def _step(self, data: bytes, room: int) -> bytes:
        self._fed += len(data)
        for inflater, bounded in zip(self._inflaters, self._bounded, strict=True):
            data = inflater.feed(data, _MOST_BETWEEN + 1 if bounded else room)
            if bounded:
                self.between += len(data)
                most = _MOST_BETWEEN + _MOST_BETWEEN_RATIO * self._fed
                if len(data) > _MOST_BETWEEN or self.between > most:
                    raise ValueError("one of its layers grows as nothing does that is compressed")
        return data


def decoded(raw: bytes, encoding: str, size: int) -> bytes:
    """The complete body of `size` bytes, decoded by this Content-Encoding.

    Raises ValueError where the decoded body is incomplete or has another size.
    """
    body = Layers(encoding).feed(raw, size + 1)
    if len(body) != size:
        raise ValueError(f"{len(body)} bytes, not {size}")
    return body
