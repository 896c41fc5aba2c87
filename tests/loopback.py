"""A server on loopback whose every byte a test decides, and which writes down what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import NamedTuple

from aiohttp import web

from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.listening import stop_accepting
from spoor.http.world_server import Server, serving
from spoor.settings import Settings
from spoor.worlds.generated import GeneratedWorld

ADDRESS = "127.0.0.1"


def free_ports(many: int = 1) -> list[int]:
    """So many ports that nobody listens on, for commands that must be given one. They lie below
    those that systems hand out, so that no other socket gets one of them in the meantime."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.Random(os.urandom(8)).sample(range(15_000, 32_000), 1000):
            if len(found) == many:
                break
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server((ADDRESS, port)))
                found.append(port)
    assert len(found) == many
    return found


class Asked(NamedTuple):
    """One request."""

    host: str
    path: str

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


Answer = Callable[[Asked], bytes | AsyncIterator[bytes]]
"""What goes over the wire for a request; then the connection is closed."""


def reply(
    body: bytes | str = b"",
    status: int = 200,
    *,
    media: str = "text/html; charset=utf-8",
    **headers: str,
) -> bytes:
    """A whole reply; `Location="…"` and the like are headers, `_` stands for `-`."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Told", f"Content-Type: {media}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode() + data


def page(*links: str, text: str = "") -> bytes:
    """A page of links."""
    return reply(text + "".join(f'<p><a href="{link}">{link}</a></p>' for link in links))


MISSING = reply("not here", 404)


def site(pages: dict[str, bytes]) -> Callable[[Asked], bytes]:
    """The same few pages on every host; all else is missing."""
    return lambda asked: pages.get(asked.path, MISSING)


class Loopback:
    """The server; `asked` has every request, in order of arrival."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.heads: list[str] = []
        """Request lines and headers."""
        self.connections = 0
        self.port = 0
        self._handlers: set[asyncio.Task[None]] = set()

    @property
    def pages(self) -> list[str]:
        """Paths asked for, those of robots.txt left out."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
        loop = asyncio.get_running_loop()
        transports: dict[asyncio.StreamReaderProtocol, asyncio.BaseTransport] = {}

        class Connection(asyncio.StreamReaderProtocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                transports[self] = transport
                super().connection_made(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                transports.pop(self, None)  # it has no loop any more
                super().connection_lost(exc)

        server = await loop.create_server(
            lambda: Connection(asyncio.StreamReader(), self._handle), ADDRESS, 0, ssl=tls
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            await stop_accepting(server)
            # A connection that has just come in has its task some rounds of the loop later, and one
            # that were left behind would be destroyed while it waits.
            for _ in range(10):
                await asyncio.sleep(0)
                for task in self._handlers:
                    task.cancel()
            if self._handlers:
                await asyncio.wait(self._handlers)
            # One whose handler had not begun, or that was not all sent, would stay open for ever.
            for transport in list(transports.values()):
                if isinstance(transport, asyncio.WriteTransport):
                    transport.abort()
            await asyncio.sleep(0)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            head = self.heads[-1].split("\r\n")
            host = next(line[5:].strip() for line in head if line.lower().startswith("host:"))
            asked = Asked(host, head[0].split(" ")[1])
            self.asked.append(asked)
            data = self.answer(asked)
            if isinstance(data, bytes):
                writer.write(data)
            else:
                async for piece in data:
                    writer.write(piece)
                    await writer.drain()
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()


async def refusal(url: str, settings: Settings) -> OSError | None:
    """What a request by a client with these settings fails with."""
    client = Client(settings, AddressGuard(settings))
    try:
        await client.get(url, 0.0)
    except OSError as error:
        return error
    finally:
        await client.close()
    return None


@contextmanager
def beside(serving: Callable[[], AbstractAsyncContextManager[object]]) -> Iterator[None]:
    """A server at work in a thread of its own, so that the test itself may block."""
    started, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def work() -> None:
        async with serving():
            started.set()
            await over.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert started.wait(100)
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(100)


class Logged(Server):
    """`spoor web serve` of a generated web, with a log."""

    def __init__(self, world: GeneratedWorld) -> None:
        def source(url: str) -> str | None:
            found = world.document(url)
            return None if found is None else found[1]

        super().__init__(world, source=source, roots=world.roots())
        self.asked: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(f"http://{request.host}{request.path_qs}")
        return await super().handle(request)

    @property
    def pages(self) -> list[str]:
        return [url for url in self.asked if not url.endswith("/robots.txt")]


@contextmanager
def logged(world: GeneratedWorld) -> Iterator[Logged]:
    """It at work, in a thread of its own."""
    server = Logged(world)
    with beside(lambda: serving(server)):
        yield server
