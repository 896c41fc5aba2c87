"""One request and its reply over the wire, within limits."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Protocol

import aiohttp
import brotli
import zstandard
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from spoor.http.address_guard import BlockedAddressError, Gate
from spoor.http.settings import MIB, HttpSettings

KEEP = 2.0
"""Seconds that a connection stays open for the next page of its host: longer than the usual delay,
and short enough that a crawl of thousands of hosts does not run out of file descriptors."""

_CHUNK = 1 << 16
_STEP = 1 << 10
"""Compressed bytes between two looks at what they have become."""
_MOST_PARTS = 2_000
"""Of one body: parts that hold nothing cost as much as those that hold something."""
_HEAD = 2
_MOST_ENCODINGS = 4
_HEADERS_ALLOWED = 500


@dataclass(frozen=True, slots=True)
class Exchange:
    """What went over the wire for one request; what an archive records."""

    url: str
    status: int
    reason: str
    request_headers: tuple[tuple[str, str], ...]
    headers: CIMultiDictProxy[str]
    raw: bytes
    """Body as received, chunking undone."""
    body: bytes
    """Body decompressed; empty where its media type is not wanted."""
    began: float
    """By the driver's clock."""
    seconds: float
    truncated: str = ""
    """Why the body was cut: `length`, `ratio`, `time`, `encoding`, `disconnect`; empty if whole."""
    skipped: bool = False
    """The body was not asked for."""
    sitemap: bool = False
    """It was asked for as a sitemap."""
    sitemaps: tuple[str, ...] = ()
    """Sitemaps of its host, where it is the first page that came from there."""


class LimitError(Exception):
    """A reply that breaks a limit before its body begins."""


class _Inflater(Protocol):
    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more; raises ValueError for broken data."""
        ...

    @property
    def whole(self) -> bool:
        """False where the data breaks off in the middle."""
        ...


class _Plain:
    whole = True

    def feed(self, data: bytes, room: int) -> bytes:
        return data[:room]


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Members:
    """Compressed data in one or more parts that follow one another; what comes after them and is no
    part is left out, as browsers do."""

    def __init__(self, *make: Callable[[], _Decoder], piece: int = 1 << 10) -> None:
        self._make = list(make)
        """How a part is read; a second way is tried where the first knows nothing of the data."""
        self._size = piece
        self._decoder: _Decoder | None = None
        self._began = False
        self._parts = 0
        self._over = False
        self._head = b""

    @property
    def whole(self) -> bool:
        return self._decoder is None and (self._parts > 0 or not self._began)

    def feed(self, data: bytes, room: int) -> bytes:
        # Small pieces: one may grow a thousandfold and more before it can be counted, and what a
        # broken one holds is lost.
        out = bytearray()
        for at in range(0, len(data), self._size):
            piece = data[at : at + self._size]
            while piece and not self._over:
                out += self._some(piece)
                piece = b""
                if self._decoder is not None and self._decoder.eof:
                    piece = self._decoder.unused_data.lstrip(b"\0")
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
        # A head of two bytes may come one by one, and is wrong only when the second is there.
        early = len(self._head) < _HEAD
        head, self._head = self._head, (self._head + piece)[:_HEAD]
        try:
            return self._decoder.decompress(piece)
        except (zlib.error, zstandard.ZstdError) as error:
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

    @property
    def whole(self) -> bool:
        return not self._began or self._decoder.is_finished()

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        self._began = self._began or bool(data)
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
    decompressor = zstandard.ZstdDecompressor(max_window_size=8 * MIB)
    decoder: _Decoder = decompressor.decompressobj(write_size=_CHUNK)
    return decoder


def _inflater(encoding: str) -> _Inflater:
    """Raises ValueError for an encoding that was not asked for."""
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
    raise ValueError(f"unknown content encoding {encoding!r}")


def decoded(raw: bytes, encoding: str, size: int) -> bytes:
    """A whole body of so many bytes from what was received of it under this Content-Encoding.

    Raises ValueError where it is another.
    """
    body = raw
    for inflater in _inflaters(encoding):
        body = inflater.feed(body, size + 1)
    if len(body) != size:
        raise ValueError(f"{len(body)} bytes, not {size}")
    return body


def _inflaters(encoding: str) -> list[_Inflater]:
    """Of a Content-Encoding, in the order in which they undo it."""
    names = [part.strip().lower() for part in encoding.split(",") if part.strip()]
    if len(names) > _MOST_ENCODINGS:
        raise ValueError("too many encodings")
    return [_inflater(name) for name in reversed(names)]


class Client:
    """An aiohttp session behind the gate, with limits on everything that a server sends."""

    def __init__(self, settings: HttpSettings, gate: Gate) -> None:
        self._settings = settings
        self._gate = gate
        self._request_headers = (
            ("User-Agent", settings.user_agent),
            ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"),
            ("Accept-Encoding", "gzip, deflate, br, zstd"),
        )
        connector = aiohttp.TCPConnector(
            limit=0,
            resolver=gate,
            socket_factory=gate.socket,
            ttl_dns_cache=300,
            keepalive_timeout=KEEP,
            ssl=settings.verify_tls,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            headers=CIMultiDict(self._request_headers),
            timeout=aiohttp.ClientTimeout(
                total=settings.timeout, sock_connect=settings.connect_timeout
            ),
            max_field_size=min(settings.header_limit, 64 * 1024),
            max_line_size=min(settings.header_limit, 64 * 1024),
            max_headers=_HEADERS_ALLOWED,
        )
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        await self._session.close()

    async def get(
        self, url: str, began: float, *, limit: int | None = None, accept: Sequence[str] = ("*",)
    ) -> Exchange:
        """Ask once; redirects are not followed.

        Raises what aiohttp raises, BlockedAddressError, or LimitError; a body that breaks off or
        grows too large is cut, and says why.
        """
        started = self._loop.time()
        target = URL(url, encoded=True)
        self._gate.check(target.host or "", target.port or 0)
        try:
            reply = await self._session.get(target, allow_redirects=False)
        except aiohttp.ClientConnectorError as error:
            blocked = error.os_error
            if isinstance(blocked, BlockedAddressError):
                raise blocked from error
            raise
        except aiohttp.ClientResponseError as error:
            # aiohttp has no class of its own for it that reaches us.
            if error.message.startswith(("Too many", "Got more than")):
                raise LimitError("headers without end") from error
            raise
        try:
            size = sum(len(name) + len(value) + 4 for name, value in reply.raw_headers)
            if size > self._settings.header_limit:
                raise LimitError(f"{size} bytes of headers")
            media = reply.content_type or "text/html"
            wanted = any(fnmatchcase(media.lower(), pattern) for pattern in accept)
            raw, body, truncated = b"", b"", ""
            if wanted or "Content-Type" not in reply.headers:
                raw, body, truncated = await self._read(reply, limit or self._settings.body_limit)
            skipped = not wanted and "Content-Type" in reply.headers
            return Exchange(
                url,
                reply.status,
                reply.reason or "",
                self._request_headers,
                reply.headers,
                raw,
                body,
                began,
                self._loop.time() - started,
                truncated,
                skipped,
            )
        finally:
            # A body read to its end has given the connection back; any other is closed.
            reply.close()

    async def _read(self, reply: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bytes, str]:
        raw, body = bytearray(), bytearray()
        try:
            inflaters = _inflaters(reply.headers.get("Content-Encoding", ""))
        except ValueError:
            return b"", b"", "encoding"
        try:
            async for chunk in reply.content.iter_chunked(_CHUNK):
                before = len(raw)
                raw += chunk
                for at in range(0, len(chunk) if inflaters else 0, _STEP):
                    some = chunk[at : at + _STEP]
                    fed = before + at + len(some)
                    most = min(limit, max(MIB, int(self._settings.ratio_limit * fed)))
                    for inflater in inflaters:
                        some = inflater.feed(some, most + 1)
                        if len(some) > most:
                            break
                    body += some
                    if len(body) > most:
                        cut = "length" if len(body) > limit else "ratio"
                        return bytes(raw), _first(body, limit), cut
                # What is received counts too: a stream may go on for ever and stand for nothing.
                if len(raw) > limit:
                    return _both(raw, body, inflaters, limit, "length")
        except ValueError:
            return _both(raw, body, inflaters, limit, "encoding")
        except TimeoutError:
            return _both(raw, body, inflaters, limit, "time")
        except aiohttp.ClientError:
            return _both(raw, body, inflaters, limit, "disconnect")
        whole = all(inflater.whole for inflater in inflaters)
        return _both(raw, body, inflaters, limit, "" if whole else "encoding")


def _first(data: bytearray, limit: int) -> bytes:
    return bytes(memoryview(data)[:limit])


def _both(
    raw: bytearray, body: bytearray, inflaters: list[_Inflater], limit: int, why: str
) -> tuple[bytes, bytes, str]:
    """What was received, what it stands for (the same bytes where it was not compressed), and why
    it was cut."""
    if inflaters:
        return bytes(raw), _first(body, limit), why
    same = _first(raw, limit)
    return same, same, why
