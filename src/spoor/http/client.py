"""One request and its reply over the wire, within limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from spoor.documents.kinds import HEAD, Types, tell
from spoor.http.address_guard import AddressGuard, BlockedAddressError
from spoor.http.body_room import BodyRoom
from spoor.http.connections import BoundedConnector, TooManyBytesError, tls
from spoor.http.cookies import Cookies
from spoor.http.credentials import Credentials, Headers
from spoor.http.proxies import Proxies
from spoor.http.signatures import RequestSigner
from spoor.process_memory import without_frames
from spoor.setting import MIB
from spoor.settings import Settings
from spoor.web.content_encoding import Layers
from spoor.web.exchange import Exchange
from spoor.web.urls import plain

KEEP = 2.0
"""Seconds that a connection stays open for the next page of its host: longer than the usual delay,
and short enough that a crawl of thousands of hosts does not run out of file descriptors."""

_CHUNK = 1 << 16
_STEP = 1 << 10
"""Compressed bytes between two looks at what they have become."""
_HEADERS_ALLOWED = 500
_WITHOUT_DOCUMENT = MIB // 4
"""Bytes of a body that are read, decompressed, where the reply is an error or a redirect: no budget
of pages bounds how many of these there are."""


# What a library warns of is what a server wrote, and Python prints it where nobody wants logs.
logging.getLogger("aiohttp").addHandler(logging.NullHandler())


class LimitError(Exception):
    """A reply that breaks a limit before its body begins."""


class _Taken:
    """Whether a body is of a kind that the crawl takes, told as soon as enough of it is there."""

    def __init__(self, url: str, content_type: str, types: Types | None) -> None:
        self.refused = False
        self.plain = True
        """As of an exchange."""
        self.most: int | None = None
        """Bytes of a body that are read of any kind; None: what its kind may have."""
        self._url, self._content_type, self._types = url, content_type, types

    def limit(self, data: bytes | bytearray, limit: int, *, ended: bool = False) -> int:
        """Bytes of the body that are read: `limit` until its kind can be told."""
        if self._types is None or (len(data) < HEAD and not ended):
            return limit
        told = tell(bytes(memoryview(data)[:HEAD]), self._content_type, self._url)
        self.refused = not self._types.takes(told)
        most = self._types.most(told.kind)
        self._types = None
        return most if self.most is None else min(most, self.most)


_CUTS = (TimeoutError, "time"), (TooManyBytesError, "length"), (aiohttp.ClientError, "disconnect")
"""Why a body was cut, by what was raised."""


class Client:
    """An aiohttp session behind the address guard, with limits on all that a server sends. It asks
    as its user (`spoor.http.credentials`, `cookies`, `proxies`, `signatures`); `kept_cookies`: the
    file in which those that sites set are kept. `count` is called with the bytes of each body.

    Raises InputError where a file or variable that says who asks cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        address_guard: AddressGuard,
        kept_cookies: Path | None = None,
        count: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.room = BodyRoom()
        self._settings = settings
        self._count = count
        self._address_guard = address_guard
        self._credentials = Credentials(settings)
        self._cookies = Cookies(
            settings.cookies,
            kept_cookies,
            take=settings.keep_cookies,
            is_plain=self._credentials.is_plain,
        )
        self._proxies = Proxies(settings, self._credentials.password)
        if self._proxies.are_given_names:
            address_guard.look_for_proxies()
        self._signer = (
            RequestSigner(settings.sign_key, settings.sign_agent) if settings.sign_key else None
        )
        self._request_headers = (
            ("User-Agent", settings.user_agent),
            ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"),
            ("Accept-Encoding", "gzip, deflate, br, zstd"),
        )
        connector = BoundedConnector(
            head_limit=settings.header_limit,
            body_limit=Types.of(settings).largest,
            proxies=self._proxies,
            limit=0,
            resolver=address_guard,
            socket_factory=address_guard.socket,
            use_dns_cache=False,  # the resolver keeps what it found
            keepalive_timeout=KEEP,
            ssl=tls(verify=settings.verify_tls),
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
        # A request that is sent again counts and waits as any other: the crawl does it.
        self._session._retry_connection = False
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        await self._session.close()
        self._cookies.save()

    @property
    def names_user(self) -> bool:
        """Whether the user gave anything by which a site may know them: cookies, headers of a host,
        passwords."""
        return bool(self._settings.cookies) or self._credentials.are_given

    def knows_user(self, url: str) -> bool:
        """Whether there is anything by which the user is known at a URL."""
        return bool(self._by_user(URL(plain(url), encoded=True)))

    def _by_user(self, url: URL) -> Headers:
        headers = self._credentials.headers(url)
        cookie = self._cookies.header(url)
        return (*headers, ("Cookie", cookie)) if cookie else headers

    def _who_asks(self, url: URL, as_user: bool) -> Headers:
        """Headers that say who asks, for this URL alone; they are not recorded."""
        headers = self._by_user(url) if as_user else ()
        return headers if self._signer is None else (*headers, *self._signer.headers(url))

    async def get(
        self,
        url: str,
        began: float,
        *,
        limit: int | None = None,
        types: Types | None = None,
        headers: Headers = (),
        as_user: bool = True,
        takes_cookies: bool = True,
        progress: Callable[[int], None] = lambda size: None,
        ticket: int | None = None,
        watched: bool = False,
    ) -> Exchange:
        """Ask once; redirects are not followed. Of a body that is none of `types` no more than the
        beginning is read, by which it is told, and nothing kept. `headers` are sent beside the
        usual ones, and what the user is known by unless `as_user` is False. `progress` is called
        with the size of each part of the body that comes; cookies of the reply are kept if
        `takes_cookies`; with a `ticket` the body takes part of
        `room`, until its caller leaves it. `watched`: as of an exchange.

        Raises what aiohttp raises, BlockedAddressError, or LimitError; a body that breaks off or
        grows too large is cut, and says why.
        """
        started = self._loop.time()
        target = URL(plain(url), encoded=True)
        self._address_guard.check(target.host or "", target.port or 0)
        through = self._proxies.by_name(target)
        if through is not None:
            await self._address_guard.check_name(target.raw_host or "")
        in_the_open = () if through is None else through.headers
        try:
            reply = await self._session.get(
                target,
                headers=(*headers, *self._who_asks(target, as_user), *in_the_open),
                allow_redirects=False,
                proxy=None if through is None else through.proxy,
                proxy_headers=None if through is None else through.proxy_headers,
            )
        except aiohttp.ClientConnectorError as error:
            blocked = error.os_error
            if isinstance(blocked, BlockedAddressError):
                raise blocked from error
            raise
        except TooManyBytesError as error:
            raise LimitError(f"{error} before a body") from error
        except aiohttp.ClientResponseError as error:
            # aiohttp has no class of its own for it that reaches us.
            if error.message.startswith(("Too many", "Got more than")):
                raise LimitError("headers without end") from error
            raise
        try:
            if takes_cookies:
                self._cookies.receive(reply, target)
            size = sum(len(name) + len(value) + 4 for name, value in reply.raw_headers)
            if size > self._settings.header_limit:
                raise LimitError(f"{size} bytes of headers")
            taken = _Taken(url, reply.headers.get("Content-Type", ""), types)
            raw = body = b""
            truncated = ""
            if reply.status != 304:  # which has no body, and so is of no kind
                most = limit or (self._settings.body_limit if types is None else types.largest)
                if not 200 <= reply.status < 300:
                    most = taken.most = min(most, _WITHOUT_DOCUMENT)
                raw, body, truncated = await self._read(reply, most, taken, progress, ticket)
                self._count(max(len(raw), len(body)))
                most = taken.limit(body, most, ended=True)
                if len(body) > most:  # shorter than what tells a kind, and longer than that may be
                    raw = body[:most] if raw is body else raw
                    body, truncated = body[:most], truncated or "length"
                if taken.refused:
                    raw, body, truncated = b"", b"", ""
            return Exchange(
                url,
                reply.status,
                reply.reason or "",
                (*self._request_headers, *headers) if headers else self._request_headers,
                reply.headers,
                raw,
                body,
                began,
                self._loop.time() - started,
                truncated,
                taken.refused,
                plain=taken.plain,
                watched=watched,
            )
        finally:
            # A body read to its end has given the connection back; any other is closed.
            reply.close()

    async def _read(
        self,
        reply: aiohttp.ClientResponse,
        limit: int,
        taken: _Taken,
        progress: Callable[[int], None],
        ticket: int | None,
    ) -> tuple[bytes, bytes, str]:
        raw, body = bytearray(), bytearray()
        turn = 0
        try:
            layers = Layers(reply.headers.get("Content-Encoding", ""))
        except ValueError:
            return b"", b"", "encoding"
        try:
            async for chunk in reply.content.iter_chunked(_CHUNK):
                before = len(raw)
                raw += chunk
                progress(len(chunk))
                grown = len(chunk)
                for at in range(0, len(chunk) if layers else 0, _STEP):
                    some = chunk[at : at + _STEP]
                    fed = before + at + len(some)
                    most = min(limit, max(MIB, int(self._settings.ratio_limit * fed)))
                    some = layers.feed(some, most + 1)
                    body += some
                    grown += len(some)
                    if len(body) + layers.between > turn + _CHUNK:  # others have theirs
                        turn = len(body) + layers.between
                        await asyncio.sleep(0)
                    if grown > _CHUNK and ticket is not None:
                        if self.room.grow(ticket, grown):
                            await self.room.wait(ticket, self._settings.timeout)
                        grown = 0
                    if len(body) > most:
                        cut = "length" if len(body) > limit else "ratio"
                        return bytes(raw), _first(body, limit), cut
                if ticket is not None and self.room.grow(ticket, grown):
                    await self.room.wait(ticket, self._settings.timeout)
                limit = taken.limit(body if layers else raw, limit)
                if taken.refused:
                    return b"", b"", ""
                # What is received counts too: a stream may go on for ever and stand for nothing.
                if len(raw) > limit:
                    return _both(raw, body, layers, limit, "length")
        except ValueError:
            return _both(raw, body, layers, limit, "encoding")
        except (TimeoutError, aiohttp.ClientError) as error:
            without_frames(error)
            why = next(why for kind, why in _CUTS if isinstance(error, kind))
            return _both(raw, body, layers, limit, why)
        taken.plain = layers.plain
        return _both(raw, body, layers, limit, "" if layers.complete else "encoding")


def _first(data: bytearray, limit: int) -> bytes:
    return bytes(memoryview(data)[:limit])


def _both(
    raw: bytearray, body: bytearray, layers: Layers, limit: int, why: str
) -> tuple[bytes, bytes, str]:
    """What was received, what it stands for (the same bytes where it was not compressed), and why
    it was cut."""
    if layers:
        return bytes(raw), _first(body, limit), why
    same = _first(raw, limit)
    return same, same, why


def check_user(settings: Settings) -> None:
    """Raises InputError where a file or variable that says who asks cannot be read."""
    credentials = Credentials(settings)
    Cookies(settings.cookies, is_plain=credentials.is_plain)
    Proxies(settings, credentials.password)
    if settings.sign_key:
        RequestSigner(settings.sign_key)
