"""What the servers see: one request a host at a time and its delay apart, whatever happens."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.address_guard import AddressGuard
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.live.live_crawl import LiveCrawl
from spoor.policies.breadth_first import BreadthFirst
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Failed, Fetch, Outcome, Task

DELAY = 0.05
PAGES = 6


class Servers:
    """Hosts on one address that redirect to one another and are busy at times, and their log."""

    hosts = tuple(f"{name}.example" for name in "abcdefghijklmnopqrst")

    def __init__(self, seconds: float = 0.01) -> None:
        self.log: list[tuple[float, float, Asked]] = []
        """(began, ended, what)"""
        self.tries: Counter[str] = Counter()
        self.seconds = seconds
        self.loopback = Loopback(self.answer)

    async def answer(self, asked: Asked) -> AsyncIterator[bytes]:
        began = time.monotonic()
        self.tries[asked.url] += 1
        data = self.told(asked)
        await asyncio.sleep(self.seconds)
        self.log.append((began, time.monotonic(), asked))
        yield data

    def told(self, asked: Asked) -> bytes:
        following = self.hosts[(self.hosts.index(asked.host) + 1) % len(self.hosts)]
        if asked.path == "/robots.txt":
            if asked.host in ("a.example", "b.example"):
                return reply("", 301, Location=f"http://{following}/rules")
            if asked.host == "c.example":
                return reply("", 302, Location="/rules")
            return MISSING
        if asked.path == "/rules":
            return reply("User-agent: *\nDisallow: /no", media="text/plain")
        at = int(asked.path.strip("/") or 0)
        if at % 3 == 1 and self.tries[asked.url] == 1:
            return reply("", 503 if at % 2 else 429, Retry_After="0")
        if at % 3 == 2:
            return reply("", 302, Location=f"http://{following}/{at + 100}")
        numbers = range(1, PAGES) if not at else ()
        return page(
            *(f"http://{host}/{n}" for n in numbers for host in self.hosts), text=f"at {at}"
        )

    def check(self, delay: float) -> None:
        by_host = defaultdict(list)
        for began, ended, asked in self.log:
            by_host[asked.host].append((began, ended, asked.path))
        assert set(by_host) == set(self.hosts)
        for host, requests in by_host.items():
            requests.sort()
            for (_, ended, before), (began, _, after) in pairwise(requests):
                assert began >= ended, f"{host}: {before} and {after} at once"
                # The client knows of the end before the server's log does, by a moment.
                assert began - ended >= delay - 0.015, f"{host}: {before}, then {after} too soon"


def going(servers: Servers, out: Path, pages: int, **settings: Any) -> dict[str, Any]:
    """A run, or what follows of it."""
    seeds = [f"http://{host}/" for host in servers.hosts]
    told = Settings(
        seeds=tuple(seeds),
        want=("text:clay",),
        policy="breadth-first",
        scope="anywhere",
        pages=pages,
        connect_to=f"{ADDRESS}:{servers.loopback.port}",
        delay=DELAY,
        traps=True,  # its pages are all alike
        **settings,
    )
    folder = RunWriter(out, told)
    try:
        run = LiveCrawl(folder, make_crawl(told))
        return run.summary(run.run())
    finally:
        folder.close()


def test_the_log_of_the_servers(tmp_path: Path) -> None:
    servers = Servers()
    with beside(servers.loopback.serving):
        for budget in (17, 54, 1_000):
            told = going(servers, tmp_path, budget, in_flight=16)
    kinds = {path for _, _, (_, path) in servers.log}
    assert {"/rules", "/robots.txt", "/102"} <= kinds
    assert any(tries > 1 for url, tries in servers.tries.items() if "robots" not in url)
    assert told["fetched"] == len(servers.hosts) * PAGES
    servers.check(DELAY)


def test_the_log_would_show_it() -> None:
    servers = Servers()
    servers.log = [(0.0, 0.1, Asked(host, "/")) for host in servers.hosts]
    servers.log.append((0.12, 0.2, Asked("a.example", "/1")))
    with pytest.raises(AssertionError, match="too soon"):
        servers.check(DELAY)
    servers.log[-1] = (0.09, 0.2, Asked("a.example", "/1"))
    with pytest.raises(AssertionError, match="at once"):
        servers.check(DELAY)


@pytest.mark.parametrize("limit", ["per_domain", "per_address"])
def test_limits_beyond_the_host(limit: str) -> None:
    """Five hosts of one domain, at one address."""
    now, most, enough = [0], [0], [0]

    async def answer(asked: Asked) -> AsyncIterator[bytes]:
        now[0] += 1
        most[0] = max(most[0], now[0])
        while most[0] < enough[0]:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)  # time for more than there may be
        now[0] -= 1
        yield MISSING if asked.path == "/robots.txt" else page("/1", "/2", text="clay")

    def at_once(until: int, **settings: int) -> int:
        server, most[0], enough[0] = Loopback(answer), 0, until

        async def work() -> None:
            async with server.serving():
                engine = Crawl(
                    BreadthFirst(Task(np.random.default_rng(0))),
                    Keywords(["clay"]),
                    MemoryFrontier(per_host=1),
                )
                engine.seed([f"http://{name}.site.example/" for name in "abcde"])
                http = Settings(
                    per_host=100,
                    connect_to=f"{ADDRESS}:{server.port}",
                    per_domain=settings.get("per_domain", 0),
                    per_address=settings.get("per_address", 0),
                )
                await HttpDriver(engine, http).run()

        asyncio.run(work())
        assert len(server.pages) == 15
        return most[0]

    assert at_once(3) > 2
    assert at_once(1, **{limit: 1}) == 1
    assert at_once(2, **{limit: 2}) == 2


def test_where_a_host_is() -> None:
    async def found() -> list[tuple[str, ...]]:
        gate = AddressGuard(Settings(connect_to=f"{ADDRESS}:80"))
        names = ("a.example:8080", "[2001:DB8:0::1]:80", "192.0.2.7", "b.example")
        return [await gate.addresses_of(name) for name in names]

    found_at = [ADDRESS, "2001:db8::1", "192.0.2.7", ADDRESS]
    assert asyncio.run(found()) == [(address,) for address in found_at]


NOAI = {
    "/": page("/tag", "/header", "/noindex", text="clay"),
    "/tag": reply('<meta name=robots content="noai"><p>clay</p><a href="/never">n</a>'),
    "/header": reply("<p>clay</p>", X_Robots_Tag="noimageai, noindex"),
    "/noindex": reply('<meta name=robots content="noindex"><p>clay</p>'),
}


@pytest.mark.parametrize("noai", [False, True])
def test_wishes_are_recorded_and_obeyed_on_request(tmp_path: Path, noai: bool) -> None:
    server = Loopback(lambda asked: NOAI.get(asked.path, MISSING))
    with beside(server.serving):
        told = Settings(
            seeds=("http://a.example/",),
            want=("text:clay",),
            policy="breadth-first",
            delay=0.0,
            noai=noai,
            connect_to=f"{ADDRESS}:{server.port}",
        )
        folder = RunWriter(tmp_path, told)
        run = LiveCrawl(folder, make_crawl(told))
        failed: list[tuple[str, str]] = []

        def step(fetch: Fetch, done: object) -> None:
            if isinstance(done, Outcome) and isinstance(done.reply, Failed):
                failed.append((fetch.url, done.reply.reason))

        run.on_step = step
        run.run()
        folder.close()
    with reading(tmp_path) as db:
        flags = {url: set(said.split()) for url, said in db.execute("SELECT url, flags FROM pages")}
    archive = (tmp_path / "pages.warc.gz").read_bytes()
    assert archive
    assert flags["http://a.example/noindex"] == {"noindex"}
    if noai:
        assert set(flags) == {"http://a.example/", "http://a.example/noindex"}
        assert [(url[-4:], "noai" in why) for url, why in failed] == [
            ("/tag", True),
            ("ader", True),
        ]
        assert "/never" not in server.pages
    else:
        assert flags["http://a.example/tag"] == {"noai"}
        assert flags["http://a.example/header"] == {"noai", "noindex"}
        assert "/never" in server.pages
