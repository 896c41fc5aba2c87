"""Servers that lead astray, lie about their bodies, or send what nobody asked for."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp import web

from loopback import ADDRESS, Answer, Asked, Loopback, page, reply
from spoor.clock import CrawlClock
from spoor.crawl import Crawl
from spoor.foragers.states import SelfTaught
from spoor.frontier.memory import MemoryFrontier
from spoor.http import world_server
from spoor.http.address_guard import AddressGuard, BlockedAddressError
from spoor.http.client import Client, LimitError
from spoor.http.failures import failure
from spoor.http.robots import MOST_FOR_OTHERS
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Link,
    Outcome,
    Page,
    Redirected,
    Sleep,
    Task,
)
from spoor.watching.known_urls import Known
from spoor.web.page import parse
from spoor.web.urls import host

pytestmark = pytest.mark.server

SEED = "http://a.example/"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def crawled(
    answer: Answer, *seeds: str, scope: str = "anywhere", **settings: Any
) -> tuple[Loopback, dict[str, Fetched | Failed]]:
    """The server, and URL → what came of it, of a crawl that tries once."""
    server, ended = Loopback(answer), dict[str, Fetched | Failed]()

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Outcome):
            ended[fetch.url] = done.reply

    async def go() -> None:
        async with server.serving():
            engine = Crawl(
                BreadthFirst(Task(np.random.default_rng(0))),
                Keywords(["kiln"]),
                MemoryFrontier(),
                attempts=1,
                link_filter=CrawlFilter(Scope.of(seeds, scope)),
            )
            engine.seed(seeds)
            given = {"robots": False, "timeout": 20.0, **settings}
            one = Settings(connect_to=f"{ADDRESS}:{server.port}", per_host=100, **given)
            await HttpDriver(engine, one, on_step=step).run()

    asyncio.run(go())
    return server, ended


def failed(reply: Fetched | Failed) -> tuple[str, str]:
    assert isinstance(reply, Failed)
    return reply.kind, reply.reason


# ---------------------------------------------------------------- redirects


HOPS = {"host": "http://b.a.example/x", "domain": "http://b.example/x"}


@pytest.mark.parametrize("scope", HOPS)
def test_a_redirect_does_not_leave_the_scope(scope: str) -> None:
    away = HOPS[scope]

    def answer(asked: Asked) -> bytes:
        if asked.path == "/":
            return page("/near", "/far")
        location = {"/near": "/there", "/far": "/hop", "/hop": away}.get(asked.path)
        return page() if location is None else reply("", 302, Location=location)

    server, ended = crawled(answer, SEED, scope=scope)
    assert {asked.host for asked in server.asked} == {"a.example"}
    assert isinstance(ended["http://a.example/there"], Fetched)
    assert failed(ended["http://a.example/hop"]) == ("skipped", f"--scope {scope}")


def test_each_hop_obeys_robots_txt() -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            shut = "/" if asked.host == "b.example" else "/none"
            return reply(f"User-agent: *\nDisallow: {shut}\n", media="text/plain")
        return reply("", 302, Location="http://b.example/x")

    server, ended = crawled(answer, SEED, robots=True)
    assert [asked.url for asked in server.asked if asked.path != "/robots.txt"] == [SEED]
    assert failed(ended["http://b.example/x"])[0] == "robots"


def test_robots_files_that_redirect_take_no_turns_of_another_host() -> None:
    """Names without end below one domain, each of which leads its robots.txt to another host."""

    def answer(asked: Asked) -> bytes:
        if asked.host == "good.example":
            return page(*(f"/{number}" for number in range(20))) if asked.path == "/" else page()
        if asked.path == "/robots.txt":
            return reply("", 302, Location=f"http://good.example/search?{asked.host}")
        return page()

    seeds = [f"http://{name}.evil.example/" for name in range(30)]
    server, ended = crawled(answer, "http://good.example/", *seeds, robots=True, delay=0.0)
    searches = [path for path in server.pages if path.startswith("/search")]
    assert len(searches) == MOST_FOR_OTHERS
    kinds = [reply.kind for url, reply in ended.items() if isinstance(reply, Failed)]
    assert kinds == ["robots"] * (30 - MOST_FOR_OTHERS)


def test_a_redirect_of_a_watch_does_not_leave_the_scope() -> None:
    known = Known(SelfTaught(), Scope.of([SEED], "domain"))
    assert known.admits("http://b.a.example/x")
    assert not known.admits("http://b.example/x")


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x-own", "gzip, x-own"])
def test_an_encoding_that_cannot_be_undone_is_a_failure(encoding: str) -> None:
    data = b"\xff\x00\x07 broken" * 90
    _, ended = crawled(lambda asked: reply(data, Content_Encoding=encoding), SEED)
    assert failed(ended[SEED]) == ("http", f"its Content-Encoding {encoding!r} cannot be undone")


@pytest.mark.parametrize("name", ["utf-8", "none", "text/html"])
def test_text_under_a_name_that_is_no_encoding_is_read(name: str) -> None:
    _, ended = crawled(lambda asked: reply("<p>a kiln", Content_Encoding=name), SEED)
    read = ended[SEED]
    assert isinstance(read, Fetched)
    assert (read.page.text, "truncated" in read.page.flags) == ("a kiln", False)


def test_refreshes_count_within_the_limit_of_links() -> None:
    refreshes = "".join(f'<meta http-equiv=refresh content="0; url=/{n}">' for n in range(50))
    read = parse(f"<a href=/a>a</a>{refreshes}".encode(), SEED, max_links=10)
    assert len(read.links) == 10
    assert "truncated" in read.flags


# ---------------------------------------------------------------- addresses


def test_with_connect_to_nothing_else_is_connected_to() -> None:
    async def go() -> None:
        settings = Settings(
            connect_to=f"{ADDRESS}:8007", allow_private=("127.0.0.2", "own.example", "1.1.1.1")
        )
        guard = AddressGuard(settings)
        guard.check("own.example", 80)
        guard.check(ADDRESS, 8007)
        guard.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (ADDRESS, 8007))).close()
        for address in ("1.1.1.1", "127.0.0.2", "93.184.216.34", ADDRESS):
            with pytest.raises(BlockedAddressError, match="connect-to"):
                guard.check(address, 80)
            with pytest.raises(BlockedAddressError, match="connect-to"):
                guard.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))

    asyncio.run(go())


# ---------------------------------------------------------------- politeness


def test_a_host_that_asks_for_more_than_the_limit_is_left() -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            seconds = 90 if asked.host == "a.example" else 0
            return reply(f"User-agent: *\nCrawl-delay: {seconds}\n", media="text/plain")
        return page()

    seeds = (SEED, "http://b.example/")
    server, ended = crawled(answer, *seeds, robots=True, max_crawl_delay=60.0)
    reason = "its Crawl-delay of 90 s is above the limit of 60 s (--max-crawl-delay)"
    assert failed(ended[SEED]) == ("robots", reason)
    assert isinstance(ended[seeds[1]], Fetched)
    assert [asked.url for asked in server.asked if asked.path == "/"] == [seeds[1]]


def test_a_host_with_a_dot_at_its_end_shares_the_clock_of_the_host() -> None:
    assert host("http://a.example./x") == host("http://a.example/x") == "a.example"
    assert host("http://a.example.:8080/x") == host("http://a.example:8080/x")
    frontier = MemoryFrontier(delay=1.0, per_host=1)
    engine = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["k"]), frontier)
    engine.seed([SEED, "http://a.example./x"])
    assert isinstance(engine.next(0.0), Fetch)
    assert not isinstance(engine.next(0.0), Fetch)


class Kept:
    """A server that keeps its connections; `replies` are for the requests, in order of arrival. An
    empty one closes the connection without a word."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.requests = 0
        self.connections = 0
        self.writer: asyncio.StreamWriter

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writer = writer
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                data = self.replies.pop(0)
                if not data:
                    break
                writer.write(data)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def whole(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def asked_twice(server: Kept, late: bytes = b"") -> list[bytes | Exception]:
    """Bodies of two requests, or what was raised; `late` arrives between them."""
    results: list[bytes | Exception] = []
    listening = await asyncio.start_server(server.handle, ADDRESS, 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        settings = Settings(connect_to=f"{ADDRESS}:{port}", timeout=20.0)
        client = Client(settings, AddressGuard(settings))
        try:
            for path in ("one", "two"):
                try:
                    results.append((await client.get(f"{SEED}{path}", 0.0)).body)
                except Exception as error:
                    results.append(error)
                if late and path == "one":
                    # Straight into the socket: the client's loop has not read it yet.
                    server.writer.write(late)
        finally:
            await client.close()
    return results


@pytest.mark.parametrize("verify", [True, False])
def test_no_handshake_is_offered_whose_numbers_a_server_chooses(verify: bool) -> None:
    """A modulus of 10,000 bits holds the loop for .7 s."""
    hello = bytearray()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.extend(await reader.readexactly(5))
        hello.extend(await reader.readexactly(int.from_bytes(hello[3:5])))
        writer.close()

    async def go() -> None:
        listening = await asyncio.start_server(handle, ADDRESS, 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            settings = Settings(connect_to=f"{ADDRESS}:{port}", verify_tls=verify)
            client = Client(settings, AddressGuard(settings))
            with pytest.raises(aiohttp.ClientError):
                await client.get("https://a.example/", 0.0)
            await client.close()

    asyncio.run(go())
    suites = memoryview(hello)[5 + 4 + 2 + 32 :]
    suites = suites[1 + suites[0] :]
    suites = suites[2 : 2 + int.from_bytes(suites[:2])]
    offered = {int.from_bytes(suites[at : at + 2]) for at in range(0, len(suites), 2)}
    assert 0xC02F in offered, "ECDHE-RSA-AES128-GCM-SHA256"
    assert not offered & {0x33, 0x39, 0x67, 0x6B, 0x9E, 0x9F, 0xCCAA}, "DHE-RSA"


def test_a_request_is_not_repeated_behind_the_back_of_the_crawl() -> None:
    server = Kept(whole(b"first"), b"", whole(b"third"))
    first, second = asyncio.run(asked_twice(server))
    assert first == b"first"
    assert isinstance(second, Exception)
    assert (failure(7, second).kind, failure(7, second).transient) == ("connection", True)
    assert server.requests == 2


def test_a_late_reply_is_not_taken_for_the_next() -> None:
    server = Kept(whole(b"first"), whole(b"second"))
    assert asyncio.run(asked_twice(server, whole(b"late"))) == [b"first", b"second"]
    assert server.connections == 2


def test_a_second_reply_to_one_request_is_not_taken_for_the_next() -> None:
    server = Kept(whole(b"first") + whole(b"uncalled"), whole(b"second"))
    assert asyncio.run(asked_twice(server)) == [b"first", b"second"]


def test_a_quiet_connection_is_kept() -> None:
    server = Kept(whole(b"first"), whole(b"second"))
    assert asyncio.run(asked_twice(server)) == [b"first", b"second"]
    assert server.connections == 1


# ---------------------------------------------------------------- clocks


def test_a_clock_that_is_set_back_or_forward_does_not_move_the_crawls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall, real = [1_000_000.0], [50.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real[0])
    clock = CrawlClock()
    assert clock() == 1_000_000.0
    for step in (-3600.0, 7200.0):
        wall[0] += step
        real[0] += 2.0
    assert clock() == 1_000_004.0
    assert CrawlClock(since=2_000_000.0)() == 2_000_000.0, "a run that goes on never goes back"


@pytest.mark.parametrize("value", ["Fri, 31 Dec 9999 23:59:59 GMT", "999999999999"])
def test_a_retry_after_far_away_is_cut_and_the_failure_says_so(value: str) -> None:
    _, ended = crawled(lambda asked: reply("", 503, Retry_After=value), SEED)
    reply_of_seed = ended[SEED]
    assert isinstance(reply_of_seed, Failed)
    assert reply_of_seed.retry_after == 24 * 3600.0
    assert "asked again after a day" in reply_of_seed.reason


# ---------------------------------------------------------------- chains of redirects


def led(answer: Callable[[str], str | int], seed: str, **more: Any) -> tuple[list[str], Outcome]:
    """URLs that a crawl of one link asks for, and what came of it; `answer` gives where a URL leads
    to, or a status."""
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(), **more)
    crawl.seed([seed])
    asked, now = list[str](), 0.0
    while True:
        step = crawl.next(now)
        if isinstance(step, Sleep):
            now = step.until
            continue
        assert isinstance(step, Fetch)
        asked.append(step.url)
        told = answer(step.url)
        if isinstance(told, str):
            came = crawl.receive(Redirected(step.ticket, told, 302), now)
        elif told == 200:
            came = crawl.receive(Fetched(step.ticket, Page(step.url)), now)
        else:
            came = crawl.receive(Failed(step.ticket, "http", transient=True), now)
        crawl.load(crawl.save())
        if isinstance(came, Outcome):
            return asked, came


def test_a_chain_of_redirects_leaves_the_pages_of_others_as_they_were() -> None:
    """Nine redirects on one host, and then one to a page of another that is moved."""

    def answer(url: str) -> str | int:
        if url.startswith("http://good.example/old"):
            return "http://good.example/new"
        if url.startswith("http://good.example/"):
            return 200
        number = int(url.rpartition("/")[2])
        return f"http://evil.example/{number + 1}" if number < 10 else "http://good.example/old"

    asked, came = led(answer, "http://evil.example/0")
    assert isinstance(came.reply, Fetched)
    assert (asked[-1], len(asked)) == ("http://good.example/new", 13)


def test_failures_of_one_host_are_no_attempts_at_another() -> None:
    replies: Iterator[str | int] = iter([503, 503, "http://good.example/", 503, 503, 200])
    asked, came = led(lambda url: next(replies), "http://evil.example/0")
    assert isinstance(came.reply, Fetched)
    assert asked == [*["http://evil.example/0"] * 3, *["http://good.example/"] * 3]


@pytest.mark.parametrize("steps", range(1, 8))
def test_a_strangers_chain_uses_up_no_redirects_of_a_page(steps: int) -> None:
    """Whether its own site links to it before the chain comes, while it waits, or once it ended."""
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier(delay=1.0, per_host=1))
    crawl.seed(["http://evil.example/", "http://good.example/0"])
    leads = {
        "http://evil.example/1": "http://evil2.example/1",
        "http://evil2.example/1": "http://evil.example/2",
        "http://evil.example/2": "http://good.example/old",
        "http://good.example/old": "http://new.example/page",
    }
    links = {f"http://good.example/{n}": f"http://good.example/{n + 1}" for n in range(steps)}
    links |= {
        "http://evil.example/": "http://evil.example/1",
        f"http://good.example/{steps}": "http://good.example/old",
    }
    asked, now = list[str](), 0.0
    while isinstance(step := crawl.next(now), Fetch | Sleep):
        if isinstance(step, Sleep):
            now = step.until
            continue
        asked.append(step.url)
        if step.url in leads:
            crawl.receive(Redirected(step.ticket, leads[step.url], 301), now)
        else:
            found = (Link(links[step.url]),) if step.url in links else ()
            crawl.receive(Fetched(step.ticket, Page(step.url, links=found)), now)
        crawl.load(unpack(pack(crawl.save())))
    assert asked.count("http://new.example/page") == 1
    assert asked.count("http://good.example/old") <= 2


def test_redirects_from_domain_to_domain_end() -> None:
    number = count()

    def answer(url: str) -> str:
        at = next(number)
        return f"http://evil{at // 8}.example/{at}"

    asked, came = led(answer, "http://evil.example/0")
    assert isinstance(came.reply, Failed)
    assert came.reply.reason == "more than 3 redirects to another domain"
    assert len(asked) <= 3 * 8 + 1


# ---------------------------------------------------------------- bytes without end


SENT = 1 << 16


class Flood:
    """A reply that never ends, and how much of it went out."""

    def __init__(self, head: bytes, piece: bytes) -> None:
        self.head = head
        self.piece = piece * (SENT // len(piece))
        self.sent = 0

    async def __call__(self) -> AsyncIterator[bytes]:
        yield self.head
        while True:
            self.sent += len(self.piece)
            yield self.piece


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def flooded(flood: Flood) -> Fetched | Failed:
    limits: dict[str, Any] = {"body_limit": 1 << 20, "header_limit": 1 << 16}
    return crawled(lambda asked: flood(), SEED, **limits)[1][SEED]


def test_interim_responses_have_a_bound() -> None:
    flood = Flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    assert failed(flooded(flood)) == ("limit", f"over {1 << 16} bytes received before a body")


def test_what_frames_a_body_has_a_bound() -> None:
    flood = Flood(CHUNKED, b"1;" + b"e" * 500 + b"\r\nx\r\n")
    read = flooded(flood)
    assert isinstance(read, Fetched)
    assert "truncated" in read.page.flags
    assert flood.sent < 16 << 20, "what the buffers of two sockets hold comes on top"


def test_a_limit_error_is_raised_before_a_body() -> None:
    async def go() -> None:
        server = Kept(b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000)
        results = await asked_twice(server)
        assert isinstance(results[0], LimitError)

    asyncio.run(go())


# ---------------------------------------------------------------- our own server


def test_a_form_that_drips_does_not_keep_a_page_from_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spoor.http.listening.STOP_SECONDS", 0.05)

    class Form:
        port = 0

        async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
            arrived.set()
            await request.read()
            return web.Response()

    arrived = asyncio.Event()

    async def go() -> None:
        async with asyncio.timeout(10.0):
            async with world_server.serving(Form()) as port:
                _, writer = await asyncio.open_connection(ADDRESS, port)
                writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
                await arrived.wait()
            writer.close()

    asyncio.run(go())
