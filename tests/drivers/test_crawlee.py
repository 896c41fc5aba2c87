"""Crawlee's own crawlers in our order, and the protocol of its request managers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from browsing import CHROMIUM
from loopback import ADDRESS, Asked, Loopback, beside, page, reply
from spoor.errors import InputError
from spoor.isolate.parsing import parse_page
from spoor.orderer import Orderer
from spoor.types import Page

if TYPE_CHECKING:  # who collects tests needs no Crawlee
    from spoor.integrations.crawlee import SpoorRequestManager

ROOT = "http://a.example/"


def manager() -> SpoorRequestManager:
    from spoor.integrations.crawlee import SpoorRequestManager

    return SpoorRequestManager(Orderer("kilns", clock=lambda: 0.0))


# ---------------------------------------------------------------- the protocol


async def keeps_the_protocol(queue: SpoorRequestManager) -> None:
    """What Crawlee's tests say of `RequestQueue`."""
    from crawlee import Request

    assert await queue.is_empty()
    assert await queue.is_finished()
    first = await queue.add_request(ROOT)
    again = await queue.add_request(Request.from_url(ROOT))
    assert first is not None
    assert again is not None
    assert (first.was_already_present, again.was_already_present) == (False, True)
    assert first.unique_key == again.unique_key
    assert not await queue.is_empty()

    request = await queue.fetch_next_request()
    assert request is not None
    assert request.url == ROOT
    assert await queue.fetch_next_request() is None
    assert await queue.is_empty()
    assert not await queue.is_finished(), "one is in progress"
    await queue.reclaim_request(request)
    assert not await queue.is_empty()
    once_more = await queue.fetch_next_request()
    assert once_more is not None
    assert once_more.unique_key == request.unique_key
    done = await queue.mark_request_as_handled(once_more)
    assert done is not None
    assert done.was_already_handled
    assert await queue.mark_request_as_handled(once_more) is None
    assert await queue.reclaim_request(once_more) is None
    third = await queue.add_request(ROOT)
    assert third is not None
    assert third.was_already_handled
    assert await queue.is_finished()
    assert (await queue.get_handled_count(), await queue.get_total_count()) == (1, 1)

    # Its own order, where the URL does not say what it is.
    post = Request.from_url(
        f"{ROOT}form", method="POST", payload=b"x", use_extended_unique_key=True
    )
    await queue.add_requests([f"{ROOT}1", post, f"{ROOT}2"])
    await queue.add_request(f"{ROOT}now", forefront=True)
    await queue.add_request(Request.from_url(f"{ROOT}1", unique_key="another"))
    assert await queue.get_total_count() == 6
    given = []
    while (found := await queue.fetch_next_request()) is not None:
        given.append(found)
    assert [one.url for one in given][:3] == [f"{ROOT}now", f"{ROOT}form", f"{ROOT}1"]
    assert len(given) == 5
    await queue.reclaim_request(given[-1], forefront=True)
    assert await queue.fetch_next_request() is given[-1]
    for one in given:
        await queue.mark_request_as_handled(one)
    assert await queue.is_finished()

    await queue.add_request(f"{ROOT}late")
    await queue.purge()
    assert await queue.get_total_count() == 0
    assert await queue.fetch_next_request() is None
    await queue.add_request(f"{ROOT}late")
    assert await queue.fetch_next_request() is not None
    await queue.drop()


def test_a_page_behind_a_redirect_to_an_odd_url_is_no_error() -> None:
    """It is not judged; its handler gets it. Raised here, Crawlee asked for it four times."""

    async def read() -> bytes:
        return b"<p>clay"

    async def go() -> None:
        queue = manager()
        await queue.add_request("http://a.example/")
        request = await queue.fetch_next_request()
        assert request is not None
        request.loaded_url = "http://xn--a/"
        reply = SimpleNamespace(status_code=200, headers={"content-type": "text/html"}, read=read)
        await queue.see(SimpleNamespace(request=request, http_response=reply))
        assert "spoor" not in request.user_data
        await queue.mark_request_as_handled(request)
        assert await queue.is_finished()

    asyncio.run(go())


def test_it_keeps_the_protocol_alone_and_in_a_tandem() -> None:
    from crawlee.request_loaders import RequestList

    asyncio.run(keeps_the_protocol(manager()))

    async def tandem() -> list[str]:
        both = await RequestList([f"{ROOT}{n}" for n in range(5)]).to_tandem(manager())
        urls = []
        while not await both.is_finished():
            request = await both.fetch_next_request()
            assert request is not None
            urls.append(request.url)
            await both.mark_request_as_handled(request)
        return urls

    assert sorted(asyncio.run(tandem())) == [f"{ROOT}{n}" for n in range(5)]


# ---------------------------------------------------------------- its crawlers


def answer(asked: Asked) -> bytes:
    """A start page, twenty sections, of which each fifth is about kilns, five pages each."""
    if asked.path == "/robots.txt":
        return reply("", 404)
    if asked.path == "/":
        links = [f"/{'kilns' if n % 5 == 0 else 'roads'}-{n}/" for n in range(20)]
        return page(*links, "mailto:a@b.example", "/gone")
    if asked.path == "/gone":
        return reply("no", 404)
    text = "<p>Kilns are fired with wood.</p>" if "kilns" in asked.path else "<p>Tarmac.</p>"
    return page(*(f"p{n}.html" for n in range(5) if asked.path.endswith("/")), text=text)


@pytest.fixture(scope="module")
def site() -> Iterator[Loopback]:
    server = Loopback(answer)
    with beside(server.serving):
        yield server


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Crawlee keeps its storages and events in one place for a process; here one for each test."""
    from crawlee import service_locator
    from crawlee.storage_clients import MemoryStorageClient

    for name in ("_storage_client", "_event_manager", "_configuration"):
        monkeypatch.setattr(service_locator, name, None)
    service_locator.set_storage_client(MemoryStorageClient())
    monkeypatch.chdir(tmp_path)


async def fetch(site: Loopback, crawler: Any, most: int) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def handle(context: Any) -> None:
        seen.append({"url": context.request.url, **context.request.user_data["spoor"]})
        await context.enqueue_links()

    await crawler.run([f"http://{ADDRESS}:{site.port}/"])
    return seen


def found(seen: list[dict[str, Any]]) -> int:
    return sum(one["relevant"] for one in seen)


@pytest.mark.server
@pytest.mark.parametrize("kind", ["ParselCrawler", "BeautifulSoupCrawler"])
def test_its_crawlers_fetch_what_is_wanted_first(site: Loopback, kind: str) -> None:
    from crawlee import crawlers

    from spoor.integrations.crawlee import ordered

    async def crawl(policy: str) -> list[dict[str, Any]]:
        orderer = Orderer("kilns", policy=policy)
        return await fetch(site, ordered(orderer, getattr(crawlers, kind), **OPTIONS), 25)

    ours = asyncio.run(crawl("best-first"))
    assert 20 <= len(ours) <= 40, "Crawlee ends what it has begun"
    assert json.dumps(ours)
    assert sum("kilns" in one["url"] for one in ours) > 12, (
        "of 24 that there are; breadth-first finds 4 or 5 of them"
    )


@pytest.mark.server
def test_what_a_helper_reads_does_not_hold_the_loop(
    site: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawlee.crawlers import ParselCrawler

    from spoor.integrations import crawlee
    from spoor.live import helper_turns

    read = dict[str, bool]()

    def noted(body: bytes, url: str, **facts: Any) -> Page:
        read[url.rpartition("/")[2]] = threading.current_thread() is threading.main_thread()
        return parse_page(body, url, **facts)

    monkeypatch.setattr(crawlee, "parse_page", noted)
    monkeypatch.setattr(helper_turns, "parse_page", noted)
    monkeypatch.setattr(
        crawlee, "helper_of", lambda body, kind, url: "pages" if "p2" in url else ""
    )
    asyncio.run(fetch(site, crawlee.ordered(Orderer("kilns"), ParselCrawler, **OPTIONS), 25))
    assert read.pop("p2.html") is False
    assert all(read.values())


OPTIONS: dict[str, Any] = {
    "max_requests_per_crawl": 25,
    "configure_logging": False,
    "max_request_retries": 0,
}


@pytest.mark.server
@pytest.mark.browser
def test_a_browser_does_too(site: Loopback) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    from crawlee.crawlers import PlaywrightCrawler

    from spoor.integrations.crawlee import ordered

    crawler = ordered(Orderer("kilns", policy="best-first"), PlaywrightCrawler, **BROWSER)
    seen = asyncio.run(fetch(site, crawler, 25))
    assert found(seen) > 2


BROWSER: dict[str, Any] = {
    **OPTIONS,
    "max_requests_per_crawl": 6,
    "headless": True,
    "browser_launch_options": {"chromium_sandbox": False, "executable_path": CHROMIUM},
}


def test_what_cannot_be_ordered_is_refused() -> None:
    from crawlee.crawlers import BasicCrawler, ParselCrawler

    from spoor.integrations.crawlee import ordered

    with pytest.raises(InputError, match="fetches no pages"):
        ordered(Orderer("kilns"), BasicCrawler)
    with pytest.raises(InputError, match="request manager"):
        ordered(Orderer("kilns"), ParselCrawler, request_manager=manager())
