"""Those who connect to a port of ours and send nothing, half a request, or what is no HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import urllib.request
from contextlib import ExitStack

import pytest
from aiohttp import ClientSession, web

from loopback import free_ports
from spoor.errors import InputError
from spoor.http.listening import listening

pytestmark = pytest.mark.server


async def answer(request: web.BaseRequest) -> web.Response:
    return web.Response(text="here")


async def ask(port: int) -> str:
    async with ClientSession() as client, client.get(f"http://127.0.0.1:{port}/") as reply:
        return await reply.text()


class Slow:
    """Answers once it may."""

    def __init__(self) -> None:
        self.answers, self.begun = asyncio.Event(), asyncio.Semaphore(0)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.begun.release()
        await self.answers.wait()
        return await answer(request)


def test_connections_have_a_bound_and_their_first_head_a_time() -> None:
    async def main() -> None:
        async with listening(answer, "127.0.0.1", 0, most=3, seconds=0.3) as port:
            mute = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            for _, writer in mute:
                writer.write(b"G")
            await asyncio.sleep(0)
            for reader, writer in mute:
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
                writer.close()
            assert await ask(port) == "here"

    asyncio.run(main())


def test_mute_clients_that_come_again_and_again_keep_nobody_out() -> None:
    """Without a key whoever runs a program on this machine could hold all connections."""

    async def main() -> None:
        slow = Slow()

        async with listening(slow.answer, "127.0.0.1", 0, most=3, seconds=60.0) as port:
            first = asyncio.create_task(ask(port))
            await slow.begun.acquire()
            mute = [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
            second = asyncio.create_task(ask(port))
            for reader, _ in mute[:6]:
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b"", "it gave way"
            slow.answers.set()
            assert (await first, await second) == ("here", "here")
            for _, writer in mute:
                writer.close()

    asyncio.run(main())


def test_bodies_that_drip_give_way() -> None:
    """Posts to `spoor ui`, by who has its key, kept its user out for 5 s."""

    async def main() -> None:
        here = asyncio.Semaphore(0)

        async def read(request: web.BaseRequest) -> web.Response:
            here.release()
            await request.content.read()
            return await answer(request)

        async with listening(read, "127.0.0.1", 0, most=2, seconds=60.0) as port:
            begun = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for _, writer in begun:
                writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
                await here.acquire()
            assert await ask(port) == "here"
            first, (second, last) = begun[0], begun[1]
            with contextlib.suppress(ConnectionResetError):
                assert await first[0].read() == b"", "it gave way"
            last.write(b" more")
            assert (await second.readline()).endswith(b"200 OK\r\n"), "there was room for this one"
            for _, writer in begun:
                writer.close()

    asyncio.run(main())


def test_as_many_as_there_is_room_for_are_answered() -> None:
    async def main() -> None:
        slow = Slow()

        async with listening(slow.answer, "127.0.0.1", 0, most=2, seconds=60.0) as port:
            asked = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for _, writer in asked:
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            for _ in asked:
                await slow.begun.acquire()
            reader, third = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read(1) == b"", "there is no room"
            third.close()
            slow.answers.set()
            for reader, writer in asked:
                assert (await reader.read()).endswith(b"here")
                writer.close()

    asyncio.run(main())


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    async def main() -> None:
        async with listening(answer, "127.0.0.1", 0) as port:
            with pytest.raises(InputError, match="cannot listen on 127"):
                async with listening(answer, "127.0.0.1", port):
                    pass

    asyncio.run(main())


def test_metrics_are_served_beside_mute_clients_and_garbage(
    capfd: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("prometheus_client", reason="the extra metrics is not installed")
    from spoor.live.prometheus import MOST_CONNECTIONS, Prometheus

    (port,) = free_ports()
    served = Prometheus(list, "127.0.0.1", port)
    try:
        with ExitStack() as stack:
            for line in (b"garbage\r\n\r\n", b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 70_000, b"G"):
                for _ in range(3):
                    client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                    client.sendall(line)
            odd = urllib.request.Request(
                f"http://127.0.0.1:{port}/metrics",
                headers={"Accept": "application/openmetrics-text;version=z"},
            )
            with urllib.request.urlopen(odd, timeout=60) as got:
                assert b"spoor_body_bytes_total" in got.read()
            for _ in range(3 * MOST_CONNECTIONS):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        with pytest.raises(InputError, match="--metrics: cannot listen"):
            Prometheus(list, "127.0.0.1", port)
    finally:
        served.close()
    assert capfd.readouterr().err == ""
    assert not [one for one in threading.enumerate() if one.name == "metrics"]


POST = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900\r\n\r\nhalf"


@pytest.mark.parametrize("sent", [b"", b"G", POST, b"GET /no HTTP/1.1\r\nHost: a\r\n\r\nG"])
def test_mcp_ends_connections_that_owe_the_rest_of_a_request(
    sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")
    from mcp.server.mcpserver import MCPServer

    from spoor.integrations.mcp.http_server import http_server

    async def main() -> None:
        served = http_server(MCPServer("test"), "127.0.0.1", most=3, seconds=0.2)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            work = asyncio.ensure_future(served.serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(sent)
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
            writer.close()
            served.should_exit = True
            await work

    asyncio.run(main())
    assert "Traceback" not in capfd.readouterr().err


def test_mcp_stops_beside_half_a_request(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")
    from mcp.server.mcpserver import MCPServer

    from spoor.integrations.mcp.http_server import http_server

    async def main() -> None:
        served = http_server(MCPServer("test"), "127.0.0.1", most=3, seconds=60.0)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            work = asyncio.ensure_future(served.serve([listener]))
            _, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(POST)
            while not served.server_state.tasks:
                await asyncio.sleep(0)
            served.should_exit = True
            await work
            writer.close()

    asyncio.run(main())
    assert "Traceback" not in capfd.readouterr().err
