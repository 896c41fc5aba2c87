"""A server of ours at a port of this machine, within limits on those who connect."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from spoor.errors import InputError
from spoor.process_memory import without_frames

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

MOST_CONNECTIONS = 128
"""At a time; beyond, one by which nothing is being asked gives way to the next. Each takes a file
descriptor of this process."""

HEAD_SECONDS = 10.0
"""Seconds in which the head of a first request has to be there."""

STOP_SECONDS = 1.0
"""Seconds that requests have to end once the server stops."""

_WAITING = 128
"""Connections that wait in the system until they are taken."""

_LOGGER = logging.getLogger("spoor.serving")
# Any program on this machine can send what is no HTTP, or a body that cannot be unpacked; the
# terminal is not the place to tell it.
_FAULTS_OF_CLIENTS = HttpProcessingError, web.RequestPayloadError
_LOGGER.addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], _FAULTS_OF_CLIENTS))
)


class _Refused(asyncio.Protocol):
    """Of a connection for which there is no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class _Handler(RequestHandler):
    """Keeps nothing of what is no HTTP: the error refers to the frame that read it, and that one to
    the error, so a quarter of a megabyte of each would stay until Python looks for cycles."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        for message, _ in self._messages:
            if (error := getattr(message, "exc", None)) is not None:
                without_frames(error)


class _Bounded(web.Server):
    def __init__(self, handle: Handle, *, most: int, seconds: float) -> None:
        super().__init__(self._begun)
        self._handle = handle
        self._most = most
        self._seconds = seconds
        self._asked = set[Any]()
        """Connections by which a request came."""
        self._answering: dict[Any, web.BaseRequest] = {}
        """Those by which one is being answered."""

    def __call__(self) -> Any:
        if self._has_room():
            return _Handler(self, loop=asyncio.get_running_loop(), logger=_LOGGER, max_headers=64)
        return _Refused()

    def _has_room(self) -> bool:
        """Whether there is room for one more: else whoever connects and says nothing would hold all
        of it, again and again, and nobody else could ask."""
        live = [one for one in self.connections if one.transport and not one.transport.is_closing()]
        if len(live) < self._most:
            return True
        idle = [one for one in live if not self._is_asked(one)]
        first = next((one for one in idle if one not in self._asked), next(iter(idle), None))
        if first is None or first.transport is None:
            return False
        first.transport.abort()
        return True

    def _is_asked(self, handler: Any) -> bool:
        """Whether all of a request is there that is being answered: one that drips is none yet."""
        request = self._answering.get(handler)
        return request is not None and request.content.is_eof()

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        asyncio.get_running_loop().call_later(self._seconds, self._end_mute, handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._asked.discard(handler)

    def _end_mute(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        if handler not in self._asked:
            transport.abort()

    async def _begun(self, request: web.BaseRequest) -> web.StreamResponse:
        self._asked.add(request.protocol)
        self._answering[request.protocol] = request
        try:
            return await self._handle(request)
        finally:
            self._answering.pop(request.protocol, None)


@asynccontextmanager
async def listening(
    handle: Handle,
    address: str,
    port: int,
    *,
    most: int = MOST_CONNECTIONS,
    seconds: float = HEAD_SECONDS,
) -> AsyncIterator[int]:
    """A server at work; yields its port. Of at most `most` connections at a time each has so many
    seconds for its first head, and the oldest by which nothing is asked gives way to one more;
    requests that are not done `STOP_SECONDS` after its end, as one that drips, are cut off.
    Raises InputError where it cannot listen there."""
    bounded = _Bounded(handle, most=most, seconds=seconds)
    try:
        server = await asyncio.get_running_loop().create_server(
            bounded, address, port, backlog=_WAITING
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise InputError(f"cannot listen on {address}:{port}: {why}") from error
    except OverflowError as error:
        raise InputError(f"cannot listen on {address}:{port}: {error}") from error
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_accepting(server)
        bounded.pre_shutdown()
        await bounded.shutdown(STOP_SECONDS)


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server once what came in so far has its protocol: asyncio closes no connection that
    it accepted in the same turn of the loop as the server was closed, and who connected waits."""
    for listener in server.sockets:
        server.get_loop().remove_reader(listener.fileno())
    try:
        await asyncio.sleep(0)  # they get their transports
        await asyncio.sleep(0)  # and protocols
    finally:
        server.close()
