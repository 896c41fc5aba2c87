"""Pages in a browser that ask for more than they may."""

from __future__ import annotations

import asyncio
import gc
import logging
import shutil
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from spoor.http import subrequests
from spoor.http.subrequests import Subrequests
from spoor.rendering import browser
from spoor.rendering.browser import HeldBackError
from spoor.rendering.browser_thread import BrowserThread
from spoor.web.exchange import Exchange


def exchange(url: str, headers: dict[str, str]) -> Exchange:
    known = CIMultiDictProxy(CIMultiDict(headers))
    return Exchange(url, 200, "OK", (), known, b"", b"", 0.0, 0.0)


def test_requests_that_are_held_back_have_a_bound() -> None:
    """Each may cost a look-up and a request for a robots.txt, wherever a page likes."""
    asked: list[str] = []

    async def load(url: str, kind: str, page: str) -> Exchange:
        asked.append(url)
        raise HeldBackError("robots.txt forbids it")

    async def ask() -> None:
        visit = browser._Visit(exchange("http://a.example/", {}), load, 1000)
        for number in range(browser.MOST_HELD_BACK + 50):

            async def abort(code: str) -> None:
                assert code == "blockedbyclient"

            request = SimpleNamespace(
                url=f"http://{number}.example/x.js",
                resource_type="script",
                method="GET",
                is_navigation_request=lambda: False,
            )
            route: Any = SimpleNamespace(request=request, abort=abort)
            await browser._answer(route, visit)

    asyncio.run(ask())
    assert len(asked) == browser.MOST_HELD_BACK


def test_replies_that_are_headers_only_are_kept_within_the_bound() -> None:
    nothing: Any = None
    yes, no_time = (lambda host: True), (lambda: 0.0)
    kept = Subrequests(nothing, nothing, None, nothing, yes, lambda url, kind: True, no_time)
    for number in range(400):
        url = f"http://a.example/{number}"
        kept._keep((url, "", ""), exchange(url, {"Link": "x" * 200_000}))
    held = sum(len(one.headers["Link"]) for one in kept._kept.values())
    assert 0 < held <= subrequests.KEPT


def test_what_a_page_asks_for_is_brought_here_and_taken_apart_elsewhere() -> None:
    """A flood of events holds no loop but that of the browser; what ends here ends there."""
    here, threads, ended = threading.current_thread(), set[threading.Thread](), threading.Event()
    begun = asyncio.Event()

    class Stand:
        async def render(self, exchange: Exchange, load: browser.Load) -> Any:
            threads.add(threading.current_thread())
            with pytest.raises(HeldBackError, match="no"):
                await load("http://a.example/no", "script", exchange.url)
            try:
                return await load("http://a.example/x.js", "script", exchange.url)
            finally:
                ended.set()

        async def close(self) -> None:
            threads.add(threading.current_thread())

    async def load(url: str, kind: str, page: str) -> Exchange:
        assert threading.current_thread() is here
        if url.endswith("no"):
            raise HeldBackError("no")
        if page.endswith("waits"):
            begun.set()
            await asyncio.Event().wait()
        return exchange(url, {})

    async def work() -> None:
        chromium = BrowserThread(cast(browser.Browser, Stand()))
        brought: Any = await chromium.render(exchange("http://a.example/", {}), load)
        assert brought.url == "http://a.example/x.js"
        ended.clear()
        waits = asyncio.create_task(chromium.render(exchange("http://a.example/waits", {}), load))
        await begun.wait()
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        await chromium.close()
        assert ended.is_set()
        assert not next(iter(threads)).is_alive()

    asyncio.run(work())
    assert len(threads) == 1
    assert here not in threads
    asyncio.run(never_used())


async def never_used() -> None:
    await BrowserThread(browser.Browser("", user_agent="", timeout=1.0, body_limit=1)).close()


IMAGES = """setInterval(() => {
  for (let i = 0; i < 500; i++) new Image().src = "/" + Math.random();
}, 1)"""


@pytest.mark.server
@pytest.mark.browser
@pytest.mark.skipif(
    not any(map(shutil.which, browser.NAMES)), reason="no Chromium on PATH: apt install chromium"
)
def test_a_flood_of_requests_has_a_bound_and_says_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    complete = browser._complete

    async def noted(ask: Any, visit: Any) -> None:
        try:
            await complete(ask, visit)
        finally:
            asked.append(len(visit.answers))

    monkeypatch.setattr(browser, "_complete", noted)
    monkeypatch.setattr(browser, "MOST_ASKED", 300)

    async def load(url: str, kind: str, page: str) -> Exchange:
        raise HeldBackError(url)

    def page(script: str) -> Exchange:
        headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "text/html"}))
        body = f"<title>t</title><p>text<script>{script}</script>".encode()
        return Exchange("http://a.example/", 200, "OK", (), headers, body, body, 0.0, 0.0)

    async def work() -> list[bytes]:
        chromium = browser.Browser("", user_agent="Spoor", timeout=1.0, body_limit=1 << 20)
        try:
            await chromium.render(page(IMAGES), load)
            gc.collect()
            sockets = (
                "const all = []; for (let i = 0; i < 9999; i++) all.push(new WebSocket('/x'));"
            )
            script = f"{sockets} document.title = all.length + ' at ' + all[0].url"
            return [(await chromium.render(page(script), load)).html]
        finally:
            await chromium.close()

    gc.collect()  # what tests before this one left
    with caplog.at_level(logging.WARNING, "asyncio"):
        (html,) = asyncio.run(work())
        gc.collect()
    told = [record.message for record in caplog.records]
    assert [line for line in told if "RequestHandler" not in line] == [], "servers of other tests"
    assert max(asked) <= browser.MOST_ASKED
    assert b"9999 at http://a.example/x" in html
