"""The MCP server at a port of this machine, within limits on those who connect."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from spoor.errors import InputError
from spoor.integrations.mcp.messages import MOST_BYTES, fault_of

STOP_SECONDS = 3
"""Seconds that requests have to end once the server stops."""
_REFUSED = 400
"""Least status of what is refused."""


class _Bounded(H11Protocol):
    """Of at most `most` connections; one by which no new request came in `seconds` is closed while
    the rest of a request is due."""

    def __init__(self, *arguments: Any, most: int, seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._most = most
        self._seconds = seconds

    _looked_at: Any = False
    """The request that was not whole, or whole and answered, when this was looked at last; None
    before the first, False otherwise."""
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        self._looked_at = None
        self._watch = self.loop.call_later(self._seconds, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        request: Any = self.cycle
        due = request is None or request.more_body or request.response_complete
        if due and request is self._looked_at:
            self.transport.abort()
            return
        self._looked_at = request if due else False
        self._watch = self.loop.call_later(self._seconds, self._look)


class _Messages:
    """The server's application, which gets messages alone; what is none is answered here."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            send = partial(_closing, send)
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, more = bytearray(), True
        while more and len(body) <= MOST_BYTES:
            part = await receive()
            if part["type"] != "http.request":
                return
            body += part.get("body", b"")
            more = part.get("more_body", False)
        fault = fault_of(body[:MOST_BYTES].decode("utf-8", "replace"))
        if fault is not None:
            head = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 400, "headers": head})
            said = fault.model_dump_json(by_alias=True).encode()
            await send({"type": "http.response.body", "body": said})
            return
        whole = iter([{"type": "http.request", "body": bytes(body)}])

        async def read() -> Any:
            return next(whole, None) or await receive()

        await self._app(scope, read, send)


async def _closing(send: Any, message: Any) -> None:
    """Send a part of an answer; one that refuses ends its connection, so that pages of a browser,
    each of which is refused, keep no place."""
    if message["type"] == "http.response.start" and message["status"] >= _REFUSED:
        headers = [*message.get("headers", ()), (b"connection", b"close")]
        message = {**message, "headers": headers}
    await send(message)


def http_server(
    server: MCPServer[Any], address: str, *, most: int, seconds: float
) -> uvicorn.Server:
    """What serves it over HTTP, for clients that know it by this address: at most so many
    connections, and each of them owes the rest of a request for so many seconds, twice that at
    most."""
    # By any port of this machine, as clients name it; but by no page of a browser, since none is
    # ours: what another program serves here may be a stranger's, as a recorded web is.
    asked_by = TransportSecuritySettings(
        allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"], allowed_origins=[]
    )
    app = server.streamable_http_app(host=address, transport_security=asked_by)
    config = uvicorn.Config(
        _Messages(app),
        http=partial(_Bounded, most=most, seconds=seconds),  # type: ignore[arg-type]
        ws="none",
        log_level="critical",  # what a client does wrong is not for the terminal
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return uvicorn.Server(config)


def serve(
    server: MCPServer[Any],
    address: str,
    port: int,
    end: Callable[[], object],
    *,
    most: int,
    seconds: float,
) -> None:
    """As `http_server`, until a signal ends it; then call `end`, before it is waited for the
    threads of its calls. Raises InputError where it cannot listen there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen on {address}:{port}: {error.strerror}") from None
    with listener:
        asyncio.run(_serve(http_server(server, address, most=most, seconds=seconds), listener, end))


async def _serve(
    server: uvicorn.Server, listener: socket.socket, end: Callable[[], object]
) -> None:
    try:
        await server.serve([listener])
    finally:
        end()
