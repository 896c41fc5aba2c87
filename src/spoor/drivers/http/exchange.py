"""One request and its reply over the wire, within limits."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

import aiohttp
import zstandard
from aiohttp.http_exceptions import LineTooLong
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from spoor.drivers.http.gate import BlockedAddressError, Gate
from spoor.drivers.http.settings import MIB, HttpSettings

_CHUNK = 1 << 16
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

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class LimitError(Exception):
    """A reply that breaks a limit before its body begins."""


class _Inflater(Protocol):
    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more; raises ValueError for broken data."""
        ...


class _Plain:
    def feed(self, data: bytes, room: int) -> bytes:
        return data[:room]


class _Zlib:
    """gzip, zlib, or the bare deflate that some servers send."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inflate = zlib.decompressobj(bits)
        self._fed = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = b""
        try:
            while data and len(out) < room:
                out += self._inflate.decompress(data, room - len(out))
                if not self._inflate.eof:
                    break
                # Another gzip member may follow.
                data = self._inflate.unused_data.lstrip(b"\0")
                self._inflate = zlib.decompressobj(self._bits)
        except zlib.error as error:
            if self._fed or self._bits == -15 or self._bits == 31:
                if out:
                    return out
                raise ValueError(str(error)) from error
            self._bits = -15
            self._inflate = zlib.decompressobj(-15)
            self._fed = True
            return self.feed(data, room)
        self._fed = True
        return out


class _Zstandard:
    def __init__(self) -> None:
        decompressor = zstandard.ZstdDecompressor(max_window_size=8 * MIB)
        self._inflate = decompressor.decompressobj(write_size=_CHUNK)

    def feed(self, data: bytes, room: int) -> bytes:
        # Small pieces: one may grow a thousandfold before it can be counted.
        out = bytearray()
        try:
            for at in range(0, len(data), 1024):
                out += self._inflate.decompress(data[at : at + 1024])
                if len(out) >= room:
                    break
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error
        return bytes(out[:room])


def _inflater(encoding: str) -> _Inflater:
    """Raises ValueError for an encoding that was not asked for."""
    if encoding in ("", "identity"):
        return _Plain()
    if encoding in ("gzip", "x-gzip"):
        return _Zlib(31)
    if encoding == "deflate":
        return _Zlib(15)
    if encoding == "zstd":
        return _Zstandard()
    raise ValueError(f"unknown content encoding {encoding!r}")


class Client:
    """An aiohttp session behind the gate, with limits on everything that a server sends."""

    def __init__(self, settings: HttpSettings, gate: Gate) -> None:
        self._settings = settings
        self._gate = gate
        self._request_headers = (
            ("User-Agent", settings.user_agent),
            ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"),
            ("Accept-Encoding", "gzip, deflate, zstd"),
        )
        connector = aiohttp.TCPConnector(
            limit=0,
            resolver=gate,
            socket_factory=gate.socket,
            ttl_dns_cache=300,
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
            if isinstance(error.__cause__, LineTooLong):
                raise LimitError("a line of its headers is too long") from error
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
        encodings = [
            part.strip().lower()
            for part in reply.headers.get("Content-Encoding", "").split(",")
            if part.strip()
        ]
        raw, body = bytearray(), bytearray()
        try:
            inflaters = [_inflater(encoding) for encoding in reversed(encodings)]
        except ValueError:
            return b"", b"", "encoding"
        try:
            async for chunk in reply.content.iter_chunked(_CHUNK):
                raw += chunk
                room = limit + 1 - len(body)
                for inflater in inflaters:
                    chunk = inflater.feed(chunk, room)
                body += chunk
                if len(body) > limit:
                    return bytes(raw), bytes(body[:limit]), "length"
                if len(body) > MIB and len(body) > self._settings.ratio_limit * len(raw):
                    return bytes(raw), bytes(body), "ratio"
        except ValueError:
            return bytes(raw), bytes(body), "encoding"
        except TimeoutError:
            return bytes(raw), bytes(body), "time"
        except aiohttp.ClientError:
            return bytes(raw), bytes(body), "disconnect"
        return bytes(raw), bytes(body), ""
