"""What any program on this machine can send to the live page."""

from __future__ import annotations

import asyncio
import logging
import time
import webbrowser
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from kills import finish_small
from spoor.cli.ui import open_in_browser
from spoor.http.world_server import serving
from spoor.views.live_page import LivePage

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


def test_a_clock_that_is_set_back_does_not_stop_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish_small(tmp_path / "run")
    wall, real, renewed = [time.time()], [50.0], list[LivePage]()
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real[0])
    monkeypatch.setattr(LivePage, "_renew", lambda page: renewed.append(page))
    with closing(LivePage(tmp_path / "run", "token", wait=100.0)) as live:
        for _ in range(3):
            live.news({})
            wall[0] -= 3600.0
            real[0] += 60.0
    assert len(renewed) == 3
