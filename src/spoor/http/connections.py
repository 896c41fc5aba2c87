"""Connections on which received bytes have a bound over everything, and which are used again only
where nothing waits on them that nobody asked for."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import Callable
from functools import cache, partial
from typing import Any
from weakref import WeakMethod

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.streams import StreamReader

from spoor.http.proxies import Proxies

_INTERIM = range(100, 200)


_MOST_HANDSHAKE = 1 << 18
"""Bytes on the wire until a connection of TLS stands; OpenSSL takes 100 KB of certificates."""


class _Handshake(ssl.SSLObject):
    """Counts what arrives before its connection stands: OpenSSL passes over requests for a new
    handshake, four bytes each, however many there are."""

    arriving: ssl.MemoryBIO
    _taken = 0

    def do_handshake(self) -> None:
        waiting = self.arriving.pending
        if self._taken + waiting > _MOST_HANDSHAKE:
            why = f"over {_MOST_HANDSHAKE} bytes before the connection stands"
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, why)
        try:
            super().do_handshake()
        finally:
            self._taken += waiting - self.arriving.pending


def _wrapped(wrap: Callable[..., Any], arriving: ssl.MemoryBIO, *rest: Any, **more: Any) -> Any:
    made = wrap(arriving, *rest, **more)
    made.arriving = arriving
    return made


@cache
def tls(*, verify: bool) -> ssl.SSLContext:
    """How to begin a connection of https. Without key exchanges whose numbers the server chooses
    freely: those of 10,000 bits take .7 s, in which nobody else is read. What arrives before a
    connection stands has a bound, and no server begins its handshake anew."""
    context = ssl.create_default_context()
    context.options |= ssl.OP_NO_RENEGOTIATION
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    known = context.get_ciphers()
    context.set_ciphers(":".join(one["name"] for one in known if one["kea"] != "kx-dhe"))
    context.set_alpn_protocols(("http/1.1",))
    context.sslobject_class = _Handshake
    context.wrap_bio = partial(_wrapped, context.wrap_bio)  # type: ignore[method-assign]
    return context


class TooManyBytesError(aiohttp.ClientError):
    """More bytes than one reply may have, with all that frames its body."""


_PIECE = 1 << 14
"""Bytes that are read at once: chunks of a byte each cost .1 s in a piece of 256 KiB."""

_MOST_FRAMING = 1 << 17
_MOST_FRAMING_RATIO = 0.5
"""Bytes that frame a body, beside as many for each of its own; beyond the most before a body, TLS
may bring as many. A chunk, or a record, costs as much as a kilobyte, however short it is."""


_TLS_BUFFER = 1 << 14
"""Bytes that a connection of TLS reads at once. Each keeps what it may read, twice: asyncio's own
256 KiB come to 0.6 MB a connection, which pages of 250 kB fill. As many bytes of requests for new
keys take .04 s."""


def _with_small_buffer(secured: Any) -> None:
    """Less memory for a connection of TLS that stands; nothing where Python keeps it elsewhere."""
    if hasattr(secured, "_ssl_buffer_view"):
        secured.max_size = _TLS_BUFFER
        secured._ssl_buffer = bytearray(_TLS_BUFFER)
        secured._ssl_buffer_view = memoryview(secured._ssl_buffer)


class _BoundedHandler(ResponseHandler):
    """Counts what arrives, before anything is made of it: interim responses, headers, chunk
    extensions, trailers, and what TLS brings beside (tickets, padding). A body that only the
    end of a TLS connection ends is whole where its server said that it ends, since else
    anyone on the way can cut it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, head_limit: int, total_limit: int) -> None:
        super().__init__(loop)
        self._head_limit = head_limit
        self._total_limit = total_limit
        self._received = 0
        self._has_head = False
        self._used = False
        self._poll: select.poll | None = None
        """Of its socket, which it has for as long as it lives."""
        self._secured = False
        """Whether it speaks TLS."""
        self._cut_short = False
        """Whether a connection of TLS ended, and its server did not say so."""
        self._body: Any = None
        self._began = 0
        """What had been received when the body began."""
        self._wire = 0
        """Bytes of TLS since the request began."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        secured = getattr(transport, "_ssl_protocol", None)  # no public place sees these bytes
        self._secured = secured is not None
        if secured is not None:
            _with_small_buffer(secured)
            # Through a weak reference: in a cycle of references its buffers would stay after its
            # end until Python looks for cycles, which it does seldom in a crawl.
            passed_on = WeakMethod(secured.buffer_updated)

            def buffer_updated(count: int) -> None:
                if (pass_on := passed_on()) is not None:
                    pass_on(count)
                self._wire += count
                most = self._head_limit + (1 + _MOST_FRAMING_RATIO) * self._received
                if self._wire > most:
                    self._cut(f"{self._wire} bytes of TLS for {self._received}")

            secured.buffer_updated = buffer_updated

    def begin(self) -> bool:
        """The next request begins. False where the connection was used before and is not quiet:
        what waits there would be taken for the next reply."""
        if self._used and (self.should_close or self._readable()):
            return False
        self._used, self._has_head, self._received, self._wire = True, False, 0, 0
        self._body = None
        return True

    def _readable(self) -> bool:
        if self.transport is None:
            return True
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(self._poll.poll(0))

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._received += len(piece)
            super().data_received(piece)
            limit = self._total_limit if self._has_head else self._head_limit
            if self._received > limit:
                self._cut(f"over {limit} bytes received")
                return
            if self._body is not None:
                body = self._body.total_bytes
                framing = self._received - self._began - body
                if framing > _MOST_FRAMING + _MOST_FRAMING_RATIO * body:
                    self._cut(f"{framing} bytes frame a body of {body}")
                    return

    def _cut(self, why: str) -> None:
        if self.transport is not None:
            payload, self._payload = self._payload, None
            error = TooManyBytesError(why)
            self.set_exception(error)
            if payload is not None and not payload.is_eof():
                payload.set_exception(error)
            self.transport.abort()

    def feed_data(self, data: Any, size: int = 0) -> None:
        head, payload = data
        if head.code not in _INTERIM:
            self._has_head, self._began = True, self._received
            self._body = payload if isinstance(payload, StreamReader) else None
        super().feed_data(data, size)

    def eof_received(self) -> None:
        secured = self.transport and self.transport.get_extra_info("ssl_object")
        if secured:
            try:
                secured.read(1)
            except ssl.SSLWantReadError:  # it waits for more: the connection was cut
                self._cut_short = True
            except ssl.SSLError:
                pass
        super().eof_received()

    def close(self) -> None:
        # It says goodbye, and would then hold its socket for half a minute where the server says
        # none: longer than its client may live.
        transport = self.transport if self._secured else None
        if transport is not None and transport.is_closing():
            transport.abort()  # first: one that is closed twice cannot in Python 3.11.2
            transport = None
        super().close()
        if transport is not None:
            transport.abort()
        self._forget()

    def abort(self) -> None:
        super().abort()
        self._forget()

    def _forget(self) -> None:
        """Nobody reads any more: what nobody asked for refers to this, as bodies do, and would
        stay with it until Python looks for cycles."""
        self._buffer.clear()
        self._body = None

    def connection_lost(self, exc: BaseException | None) -> None:
        payload = self._payload
        if self._cut_short and payload is not None and not payload.is_eof():
            self._payload = None
            payload.set_exception(aiohttp.ClientPayloadError("TLS ended without a word"))
        # What the library finds wrong with a body keeps the frames of this, and the body both.
        del payload
        super().connection_lost(exc)
        self._body = None  # which refers to this


class BoundedConnector(aiohttp.TCPConnector):
    """One reply has at most `head_limit` bytes up to its body, interim responses included, and then
    twice `body_limit`: as much may frame a body as it has. Some requests go through `proxies`, to
    which no guard of addresses applies: their user named them."""

    def __init__(
        self, *, head_limit: int, body_limit: int, proxies: Proxies | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self._proxies = proxies
        handler: Any = partial(_BoundedHandler, self._loop, head_limit, head_limit + 2 * body_limit)
        self._factory = handler

    async def connect(self, *request: Any, **options: Any) -> Connection:
        while True:
            connection = await super().connect(*request, **options)
            handler = connection.protocol
            assert isinstance(handler, _BoundedHandler)
            if handler.begin():
                return connection
            connection.close()

    async def _create_direct_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: Any,
        timeout: aiohttp.ClientTimeout,
        *,
        client_error: type[Exception] = aiohttp.ClientConnectorError,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        if client_error is not aiohttp.ClientProxyConnectionError:
            return await super()._create_direct_connection(
                req, traces, timeout, client_error=client_error
            )
        host, port = req.url.raw_host, req.port
        assert host is not None
        assert port is not None
        context = self._get_ssl_context(req)
        try:
            async with asyncio.timeout(timeout.sock_connect):
                made: Any = await self._loop.create_connection(
                    self._factory,
                    host,
                    port,
                    ssl=context,
                    server_hostname=host if context else None,
                )
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:
                raise
            raise client_error(req.connection_key, error) from error
        return made  # type: ignore[no-any-return]

    async def _wrap_create_connection(
        self,
        *args: Any,
        addr_infos: Any,
        req: aiohttp.ClientRequest,
        timeout: aiohttp.ClientTimeout,
        client_error: type[Exception] = aiohttp.ClientConnectorError,
        **kwargs: Any,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        proxy = None if self._proxies is None else self._proxies.of(req.url)
        if proxy is None or proxy.scheme != "socks5":
            return await super()._wrap_create_connection(
                *args,
                addr_infos=addr_infos,
                req=req,
                timeout=timeout,
                client_error=client_error,
                **kwargs,
            )
        try:
            if self._socket_factory is not None:
                self._socket_factory(addr_infos[0]).close()  # refuses what the guard refuses
            address, port, *_ = addr_infos[0][4]
            tunnel = await proxy.tunnel(address, port, timeout.sock_connect)
            create: Any = self._loop.create_connection
            made = await create(*args, sock=tunnel, **kwargs)
        except ssl.SSLError as error:
            raise aiohttp.ClientConnectorSSLError(req.connection_key, error) from error
        except OSError as error:
            raise client_error(req.connection_key, error) from error
        return made  # type: ignore[no-any-return]
