"""Pages in a browser that ask for more than they may."""

from __future__ import annotations

import asyncio
import gc
import logging
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from drivers.test_shard_budgets import crawled_by
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from shard_kills import SHARDS
from spoor.http import body_room, subrequests
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.host_queues import HostQueues
from spoor.http.subrequest_queues import PartLines
from spoor.http.subrequests import Subrequests
from spoor.live import renders
from spoor.politeness.request_limits import RequestLimits
from spoor.politeness.request_slots import RequestSlots
from spoor.rendering import browser
from spoor.rendering.browser_thread import BrowserThread
from spoor.rendering.visit import (
    MOST_BYTES,
    MOST_HELD_BACK,
    HeldBackError,
    Load,
    Visit,
    answer,
)
from spoor.settings import Settings
from spoor.watching.hosts import Hosts
from spoor.web.exchange import Exchange, Rendered
from spoor.web.urls import shard_of


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
        visit = Visit(exchange("http://a.example/", {}), load, 1000)
        for number in range(MOST_HELD_BACK + 50):

            async def abort(code: str) -> None:
                assert code == "blockedbyclient"

            request = SimpleNamespace(
                url=f"http://{number}.example/x.js",
                resource_type="script",
                method="GET",
                headers={},
                is_navigation_request=lambda: False,
            )
            route: Any = SimpleNamespace(request=request, abort=abort)
            await answer(route, visit)

    asyncio.run(ask())
    assert len(asked) == MOST_HELD_BACK


def test_parts_that_come_at_the_same_time_have_the_bound_of_all() -> None:
    """All of a page were asked for before the first came: 60 of 10 MiB each went to the browser."""
    given, there = list[int](), asyncio.Event()
    body = bytes(10 << 20)

    async def load(url: str, kind: str, page: str) -> Exchange:
        await there.wait()
        return replace(exchange(url, {}), body=body)

    async def ask() -> None:
        visit = Visit(exchange("http://a.example/", {}), load, 1000)

        async def abort(code: str) -> None:
            assert code == "blockedbyclient"

        async def fulfill(*, status: int, headers: dict[str, str], body: bytes) -> None:
            given.append(len(body))

        request = SimpleNamespace(
            url="http://a.example/x.js",
            resource_type="script",
            method="GET",
            headers={},
            is_navigation_request=lambda: False,
        )
        route: Any = SimpleNamespace(request=request, abort=abort, fulfill=fulfill)
        asked = [asyncio.create_task(answer(route, visit)) for _ in range(60)]
        await asyncio.sleep(0)
        there.set()
        await asyncio.gather(*asked)

    asyncio.run(ask())
    assert MOST_BYTES <= sum(given) <= MOST_BYTES + len(body)


def test_parts_that_a_page_asks_for_again_have_the_same_bound() -> None:
    """What clicks ask for again comes from memory: 300 times 16 MiB lay in this process at once."""
    given = list[int]()
    known = replace(exchange("http://a.example/data", {}), body=bytes(1 << 20))

    async def ask() -> None:
        visit = Visit(exchange("http://a.example/", {}), cast(Load, None), 1000)
        visit.clicked.is_leaving, visit.data[known.url] = True, known

        async def abort(code: str) -> None:
            assert code == "blockedbyclient"

        async def fulfill(*, status: int, headers: dict[str, str], body: bytes) -> None:
            given.append(len(body))

        request = SimpleNamespace(
            url=known.url,
            resource_type="fetch",
            method="GET",
            headers={},
            is_navigation_request=lambda: False,
        )
        route: Any = SimpleNamespace(request=request, abort=abort, fulfill=fulfill)
        for _ in range(60):
            await answer(route, visit)

    asyncio.run(ask())
    assert sum(given) == MOST_BYTES


@pytest.mark.server
def test_parts_take_of_the_room_for_all_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MiB each of sixteen hosts of a page's domain at once, of which four MiB are kept."""
    size, most, grow = 2 << 20, list[int](), body_room.BodyRoom.grow
    monkeypatch.setattr(body_room, "MOST", 4 << 20)

    def grown(self: body_room.BodyRoom, number: int, more: int) -> bool:
        over = grow(self, number, more)
        most.append(self._total)
        return over

    monkeypatch.setattr(body_room.BodyRoom, "grow", grown)
    server = Loopback(lambda asked: reply(bytes(size)))

    async def go() -> int:
        async with server.serving(), asyncio.timeout(60.0):
            settings = Settings(connect_to=f"{ADDRESS}:{server.port}")
            guard, slots = AddressGuard(settings), RequestSlots(64)
            client = Client(settings, guard)
            queues = HostQueues(RequestLimits(per_host=1), guard.addresses_of, slots)
            hosts: Any = SimpleNamespace(delay=lambda host: 0.0)
            yes, no_time = (lambda host, own: True), (lambda: 0.0)
            parts = Subrequests(client, queues, None, hosts, yes, lambda url, kind: True, no_time)
            page, urls = "http://a.example/", [f"http://h{n}.a.example/x.js" for n in range(16)]
            came = await asyncio.gather(*(parts.load(url, "script", page) for url in urls))
            await client.close()
        assert [len(one.body) for one in came] == [size] * 16
        return client.room._total

    assert asyncio.run(go()) == 0, "nothing of it is kept"
    assert size < max(most) <= (4 << 20) + 2 * size


def test_replies_that_are_headers_only_are_kept_within_the_bound() -> None:
    nothing: Any = None
    yes, no_time = (lambda host, own: True), (lambda: 0.0)
    kept = Subrequests(nothing, nothing, None, nothing, yes, lambda url, kind: True, no_time)
    for number in range(400):
        url = f"http://a.example/{number}"
        kept._keep((url, "", ""), exchange(url, {"Link": "x" * 200_000}))
    held = sum(len(one.headers["Link"]) for one in kept._kept.values())
    assert 0 < held <= subrequests.KEPT


def test_parts_of_another_site_stand_in_its_line_one_at_a_time() -> None:
    """And come by turns of the sites whose pages ask; a site's own parts are not held back."""
    lines, there, came = PartLines(), list[str](), list[str]()
    evil = [f"http://n{number}.evil.example/" for number in range(30)]
    pages = [*evil, *["http://good.example/", "http://www.good.example/"] * 2]

    async def part(page: str, let: asyncio.Event) -> None:
        async with lines.turn(page, "cdn.victim.example"):
            there.append(page)
            came.append(page)
            await let.wait()
            there.remove(page)

    async def go() -> None:
        let = asyncio.Event()
        tasks = [asyncio.create_task(part(page, let)) for page in pages]
        own = [asyncio.create_task(part("http://victim.example/", let)) for _ in range(9)]
        for _ in range(9):
            await asyncio.sleep(0)
        assert sorted(there) == [evil[0], *["http://victim.example/"] * 9]
        tasks[5].cancel()  # its page is closed
        let.set()
        await asyncio.gather(*tasks, *own, return_exceptions=True)

    asyncio.run(go())
    others = [page for page in came if "victim" not in page]
    assert len(others) == len(pages) - 1
    assert max(at for at, page in enumerate(others) if "good" in page) <= 8
    assert not lines._locks


@pytest.mark.parametrize("total", [0, 1_000])
def test_parts_of_other_sites_leave_a_watched_host_half_of_what_may_be_sent(total: int) -> None:
    hosts, now = Hosts(per_day=1_000, total_per_day=total), 0.0
    hosts.take("other.example", now)
    sent = {False: 0, True: 0}
    for own in (False, True):
        while hosts.left("victim.example", now, own=own) >= 1.0:
            hosts.spend("victim.example", now)
            sent[own] += 1
    assert sent[False] <= sent[True] + 2
    assert sum(sent.values()) >= 95


def test_what_a_page_asks_for_is_brought_here_and_taken_apart_elsewhere() -> None:
    """A flood of events holds no loop but that of the browser; what ends here ends there."""
    here, threads, ended = threading.current_thread(), set[threading.Thread](), threading.Event()
    begun = asyncio.Event()

    class Stand:
        async def render(self, exchange: Exchange, load: Load) -> Any:
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
        chromium = browser.Browser("", user_agent="Spoor", timeout=8.0, body_limit=1 << 20)
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
    assert max(asked) <= 300
    assert b"9999 at http://a.example/x" in html


@pytest.mark.server
def test_parts_of_a_page_that_another_shard_asks_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each shard asked for them by a clock of its own: a host, as often as there are shards."""
    hosts = ["birch.example", "cedar.example"]
    assert len({shard_of(name, SHARDS) for name in hosts}) == SHARDS
    brought: list[str] = []

    class Stand:
        def __init__(self, *values: object, **more: object) -> None: ...

        async def render(self, exchange: Exchange, load: Load) -> Rendered:
            own, other = sorted(hosts, key=lambda name: name not in exchange.url)
            brought.append((await load(f"http://{own}/x.js", "script", exchange.url)).url)
            for url in (f"http://{other}/x.js", f"http://{own}/leads.js"):
                with pytest.raises(HeldBackError, match="another shard"):
                    await load(url, "script", exchange.url)
            return Rendered(b"", 0.0, failed="a stand")

        async def close(self) -> None: ...

    monkeypatch.setattr(renders, "Browser", Stand)
    monkeypatch.setattr(browser, "require_browser", lambda *values: None)
    script = reply("1", media="text/javascript", Cache_Control="no-store")

    def answer(asked: Asked) -> bytes:
        other = next(name for name in hosts if name != asked.host)
        leads = reply("", 302, Location=f"http://{other}/x.js")
        pages = {"/": page(text="kiln"), "/x.js": script, "/leads.js": leads}
        return pages.get(asked.path, MISSING)

    server = Loopback(answer)
    with beside(server.serving):
        settings = Settings(
            seeds=tuple(f"http://{name}/" for name in hosts),
            topic="kiln",
            shards=SHARDS,
            delay=0.0,
            render="always",
            connect_to=f"127.0.0.1:{server.port}",
        )
        coordinator = crawled_by(tmp_path, settings)
    assert sorted(brought) == [f"http://{name}/x.js" for name in hosts]
    assert server.pages.count("/x.js") == SHARDS, "each by its own shard"
    for member in coordinator.members.values():
        assert "another shard" in member.last_report["fault"]
