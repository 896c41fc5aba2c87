"""The server of the tests leaves nothing behind that would be told in another test."""

from __future__ import annotations

import asyncio
import gc
import socket
import warnings

import pytest

from loopback import ADDRESS, Asked, Loopback


@pytest.mark.server
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

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with socket.socket() as client:
            asyncio.run(go(client))
            gc.collect()
    assert not [one for one in told if issubclass(one.category, ResourceWarning)]
