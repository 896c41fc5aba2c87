"""What frames a body: chunks of a byte, and the end of a connection."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from attacks.test_credentials import certificate
from spoor.http.connections import BoundedConnector, TooManyBytesError, tls

pytestmark = pytest.mark.server
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


def read(
    answer: bytes,
    end: Callable[[asyncio.StreamWriter], object] = asyncio.StreamWriter.close,
    tls: ssl.SSLContext | None = None,
) -> bytes:
    """The body of an answer to one request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        end(writer)
        await reader.read()
        writer.close()

    async def main() -> bytes:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        connector = BoundedConnector(head_limit=1 << 18, body_limit=10 << 20, ssl=False)
        async with server, aiohttp.ClientSession(connector=connector) as session:
            url = f"http{'s' * (tls is not None)}://127.0.0.1:{port}/"
            async with session.get(url) as reply:
                return await reply.read()

    return asyncio.run(main())


def chunked(size: int, body: bytes) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def test_chunks_of_a_byte_are_given_up_and_honest_ones_are_read() -> None:
    """3.4 MB of them took 4 s of the loop."""
    body = bytes(range(256)) * 800
    for size in (20, 1_000, 60_000):
        assert read(chunked(size, body)) == body
    assert read(chunked(1, body[:10_000])) == body[:10_000]
    with pytest.raises((TooManyBytesError, aiohttp.ClientPayloadError)):
        read(chunked(1, body))


def cut(writer: asyncio.StreamWriter) -> None:
    """TCP ends, and TLS says nothing of it."""
    secured: Any = writer.transport
    secured._ssl_protocol._transport.close()


def test_tls_that_is_cut_gives_no_whole_body(tmp_path: Path) -> None:
    answer, tls = HEAD + b"\r\n<p>half", certificate(tmp_path)
    assert read(answer) == b"<p>half", "without TLS nobody can tell"
    assert read(answer, tls=tls) == b"<p>half"
    with pytest.raises(aiohttp.ClientPayloadError):
        read(answer, cut, tls)


def test_an_open_connection_of_tls_keeps_little_room(tmp_path: Path) -> None:
    """asyncio's buffers of 256 KiB came to .6 MB for each whose pages are large."""
    body, context = bytes(range(256)) * 2_000, certificate(tmp_path)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await reader.read()
        writer.close()

    async def main() -> int:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        connector = BoundedConnector(head_limit=1 << 18, body_limit=10 << 20, ssl=False)
        async with server, aiohttp.ClientSession(connector=connector) as session:
            async with session.get(url) as reply:
                assert reply.connection is not None
                secured: Any = reply.connection.transport
                assert await reply.read() == body
            return len(secured._ssl_protocol._ssl_buffer)

    # As many bytes of requests for new keys are answered in .04 s, 64 KiB of them in .15.
    assert asyncio.run(main()) <= 1 << 14


def test_what_tls_brings_beside_an_answer_has_a_bound(tmp_path: Path) -> None:
    """200,000 tickets, 50 MB, came with a page of five bytes."""
    answer, tls = HEAD + b"\r\n<p>kiln", certificate(tmp_path)
    tls.num_tickets = 500
    assert read(answer, tls=tls) == b"<p>kiln"
    tls.num_tickets = 5_000
    with pytest.raises((TooManyBytesError, aiohttp.ClientConnectionError)):
        read(answer, tls=tls)


def test_what_comes_before_a_connection_of_tls_stands_has_a_bound() -> None:
    """Requests for a new handshake, which OpenSSL passes over: 500 MB of them in 10 s."""
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with suppress(ConnectionError):
            while sent < 100 << 20:
                writer.write(b"\x16\x03\x03\x40\0" + bytes(1 << 14))
                await writer.drain()
                sent += 1 << 14

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        connector = BoundedConnector(head_limit=1 << 18, body_limit=1 << 20, ssl=tls(verify=False))
        async with server, aiohttp.ClientSession(connector=connector) as session:
            with pytest.raises(aiohttp.ClientConnectorSSLError, match="before the connection"):
                await session.get(f"https://127.0.0.1:{port}/")

    asyncio.run(main())
    assert sent < 16 << 20, "what the buffers of two sockets hold comes on top"


def test_records_of_a_byte_are_given_up_and_honest_ones_are_read(tmp_path: Path) -> None:
    """8 MB of them took 11 s of the loop."""
    secured = certificate(tmp_path)

    def records(size: int, body: bytes) -> bytes:
        def by_pieces(writer: asyncio.StreamWriter) -> None:
            for at in range(0, len(body), size):
                writer.write(body[at : at + size])
            writer.close()

        return read(HEAD + b"\r\n", by_pieces, secured)

    body = bytes(range(256)) * 60
    assert records(50, body * 40) == body * 40
    assert records(1, body[:8_000]) == body[:8_000]
    with pytest.raises((TooManyBytesError, aiohttp.ClientPayloadError)):
        records(1, body)


def test_no_server_begins_its_handshake_anew() -> None:
    """Each took a millisecond of the loop, and a body of 10 MiB allowed a server thousands."""
    assert all(tls(verify=verify).options & ssl.OP_NO_RENEGOTIATION for verify in (False, True))
