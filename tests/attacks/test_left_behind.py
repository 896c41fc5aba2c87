"""An exchange that is over leaves nothing in memory, whatever came: what refers to itself stays until
Python looks for cycles, which it does seldom in a crawl, and half a body of 10 MB is as much."""

from __future__ import annotations

import asyncio
import encodings
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from attacks.test_credentials import certificate
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.connections import _BoundedHandler
from spoor.http.failures import failure
from spoor.settings import Settings
from spoor.web.encoding import encoding_of
from spoor.web.exchange import Exchange

pytestmark = pytest.mark.server

BODY = bytes(1 << 18)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n"

WHOLE = HEAD + LENGTH % len(BODY) + BODY
REPLIES = {
    "whole": WHOLE,
    "closed": HEAD + b"Connection: close\r\n" + LENGTH % len(BODY) + BODY,
    "cut": HEAD + LENGTH % (2 * len(BODY)) + BODY,
    "other encoding": HEAD + b"Content-Encoding: gzip\r\n" + LENGTH % len(BODY) + BODY,
    "no chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + BODY,
    "too long": HEAD + LENGTH % (64 << 20) + BODY * 64,
    "no head": BODY,
    "long head": b"HTTP/1.1 200 OK\r\n" + b"X-Kiln: %b\r\n" % (b"x" * 8_000) * 60 + b"\r\n",
    "another kind": WHOLE.replace(b"text/html", b"image/png"),
    "not found": WHOLE.replace(b"200 OK", b"404 No"),
    "nothing": b"",
    "two": WHOLE + WHOLE,
    "half more": WHOLE + HEAD + LENGTH % (8 * len(BODY)) + BODY,
}
UNREAD = {"no chunk", "no head", "long head", "nothing"}


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("kind", REPLIES)
@pytest.mark.parametrize("closes", [True, False], ids=["closes", "stays"])
def test_no_reply_leaves_its_connection_or_body(
    closes: bool, kind: str, secure: bool, tmp_path: Path
) -> None:
    context = certificate(tmp_path) if secure else None
    theirs: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(REPLIES[kind])
        theirs.append(writer)
        if closes:
            writer.close()

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        url = f"http{'s' * secure}://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        settings = Settings(
            seeds=(url,),
            topic="kiln",
            allow_private=("127.0.0.1",),
            verify_tls=False,
            timeout=30.0 if closes else 1.0,
        )
        guard = AddressGuard(settings)
        async with server:
            client = Client(settings, guard)
            told: Any
            try:
                told = await client.get(url, 0.0)
            except Exception as error:
                told = failure(0, error)
            await client.close()
            await guard.close()
            for one in theirs:
                one.close()
                with suppress(OSError):
                    await one.wait_closed()
            assert isinstance(told, Exchange) == (kind not in UNREAD)

    gc.freeze()  # so that what is looked through is what this test makes
    gc.disable()
    try:
        asyncio.run(go())
        assert not connections()
    finally:
        gc.enable()


def connections() -> list[object]:
    """Connections and bodies in memory, but for those that are frozen."""
    kinds = (_BoundedHandler, aiohttp.StreamReader)
    return [one for one in gc.get_objects() if isinstance(one, kinds)]


def test_names_of_encodings_that_there_are_none_of_stay_nowhere() -> None:
    """Python keeps each name that it is asked for, and a reply has 64 KiB for one."""
    kept = len(encodings._cache)
    for number in range(8):
        for name in (f"none-{number}", f"utf{'-' * number}8", "x" * 30_000 + str(number)):
            encoding_of(b"", f"text/html; charset={name}")
            encoding_of(f'<meta charset="{name[:99]}">'.encode())
    assert len(encodings._cache) <= kept + 1
