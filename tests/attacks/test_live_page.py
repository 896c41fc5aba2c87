"""What any program on this machine can send to the live page."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import logging
import sys
import time
import webbrowser
from contextlib import closing
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from kills import finish_small
from spoor.cli.ui import open_in_browser
from spoor.http.world_server import serving
from spoor.views import live_page, watch_page

HOST = b"Host: 127.0.0.1\r\n"


class Page:
    """Answers whatever gets as far as here."""

    port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        return web.Response()


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xfe\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 20_000 + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_http_is_refused_without_a_word(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> bytes:
        async with serving(Page()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            got = await reader.read(12)
            writer.close()
            return got

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(ask()).endswith(b" 400")
    assert not caplog.records


def test_what_is_no_http_leaves_nothing_in_memory() -> None:
    """Connections that came one after another took 260 MB: each error kept what had been read."""

    async def ask() -> None:
        async with serving(Page()) as port:
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 9_000)
                with contextlib.suppress(ConnectionError):
                    await reader.read()
                writer.close()

    gc.collect()
    gc.disable()
    try:
        asyncio.run(ask())
        left = [one for one in gc.get_objects() if isinstance(one, HttpProcessingError)]
    finally:
        gc.enable()
    assert not left


class Unread(Page):
    """Answers without the body of what it is asked, as the live page does without its key."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=404)


@pytest.mark.parametrize("page", [Page, Unread])
@pytest.mark.parametrize("packed", [b"\x1f\x8b\x08" + b"\0" * 6 + b"\3" + b"a" * 990, b"z" * 1_000])
@pytest.mark.parametrize("encoding", [b"gzip", b"br", b"deflate", b"zstd"])
def test_a_body_that_cannot_be_unpacked_is_refused_without_a_word(
    page: type[Page], packed: bytes, encoding: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It ended in a traceback in the terminal, also where the key was missing."""
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Encoding: " + encoding
    head += b"\r\nContent-Length: %d\r\n\r\n" % len(packed)

    async def ask() -> bytes:
        async with serving(page()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + packed)
            got = await reader.read(7)
            writer.write_eof()
            await reader.read()
            writer.close()
            return got

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(asyncio.wait_for(ask(), 20)).startswith(b"HTTP/1.")
    assert not caplog.records


def test_the_key_is_in_no_list_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any user of the machine sees what a browser is started with."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    open_in_browser("http://127.0.0.1:1/the-key/", tmp_path)
    (started_with,) = opened
    assert "the-key" not in started_with
    page = Path(urlsplit(started_with).path).read_text()
    assert 'url=http://127.0.0.1:1/the-key/">' in page


def no_sources(page: object) -> None:
    """A watch has no sources here."""


@pytest.mark.parametrize("module", [live_page, watch_page])
def test_a_clock_that_is_set_back_does_not_stop_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    """The module is made anew by the machine's clock of the test: a clock may be a default."""
    wall, real, cpu, renewed = [1e9], [50.0], [0.0], list[object]()

    def used() -> float:
        cpu[0] += 1.0
        return cpu[0]

    finish_small(tmp_path / "run")  # by the true clocks
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real[0])
    monkeypatch.setattr(time, "monotonic", lambda: real[0])
    monkeypatch.setattr(time, "thread_time", used)
    monkeypatch.setattr(time, "process_time", used)
    spec = importlib.util.spec_from_file_location("made_anew", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    anew = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "made_anew", anew)
    spec.loader.exec_module(anew)
    made = anew.LivePage if module is live_page else anew.WatchPage

    def renew(page: object) -> int:
        renewed.append(page)
        return 0

    monkeypatch.setattr(made, "_renew" if module is live_page else "_news_size", renew)
    monkeypatch.setattr(made, "_read_sources", no_sources, raising=False)
    more = {"wait": 100.0} if module is live_page else {}
    with closing(made(tmp_path / "run", "token", **more)) as live:
        for _ in range(3):
            live.news({})
            wall[0] -= 3600.0
            live.news({})  # it was made just now
            real[0] += 3600.0
    assert len(renewed) == 3
