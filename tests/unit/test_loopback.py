"""A server leaves nothing behind that would be told in another test."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack

import pytest
from aiohttp import web

from loopback import ADDRESS, Asked, Loopback, page
from spoor.http.listening import listening

pytestmark = pytest.mark.server


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """All sockets that are made within it are closed at its end."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not [one for one in told if issubclass(one.category, ResourceWarning)]


@pytest.mark.parametrize("request_", [b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", b"GET /", b""])
def test_no_connection_stays_open(request_: bytes) -> None:
    """One that takes nothing of a long reply, and one that asks for nothing."""

    async def go(client: socket.socket) -> None:
        written = asyncio.Event()

        def answer(asked: Asked) -> bytes:
            asyncio.get_running_loop().call_soon(written.set)
            return b"x" * (16 << 20)

        server = Loopback(answer)
        async with server.serving():
            client.connect((ADDRESS, server.port))
            client.send(request_)
            if request_.endswith(b"\r\n\r\n"):
                await written.wait()

    with socket.socket() as client, nothing_left():
        asyncio.run(go(client))


@contextlib.asynccontextmanager
async def of_the_tests() -> AsyncIterator[int]:
    async with Loopback(lambda asked: page()).serving() as server:
        yield server.port


@contextlib.asynccontextmanager
async def of_ours() -> AsyncIterator[int]:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response()

    async with listening(answer, ADDRESS, 0, most=16) as port:
        yield port


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("served", [of_the_tests, of_ours])
def test_who_connects_while_a_server_ends_is_told(
    served: Callable[[], AbstractAsyncContextManager[int]], turns: int
) -> None:
    """`turns` of the loop before: a connection that asyncio had accepted, and nobody had yet, was
    left open until it was found as garbage, within any later test, and its client waited."""

    async def go(clients: list[socket.socket]) -> None:
        async with served() as port:
            for client in clients:
                client.connect((ADDRESS, port))
            for _ in range(turns):
                await asyncio.sleep(0)

    with ExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(40)]
        with nothing_left():
            asyncio.run(go(clients))
        for client in clients:
            client.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
