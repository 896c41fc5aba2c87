"""Twelve requests at once to a host, and every way in which its robots.txt can answer: what is
forbidden, or may be, is never asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from loopback import ADDRESS, Answer, Asked, Loopback, page, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Outcome, Task

RULES = "User-agent: *\nDisallow: /shut\n"
AT_ONCE = 12
LONG = RULES + "# so it goes on\n" * (1 << 16)


async def _hangs(asked: Asked) -> AsyncIterator[bytes]:
    await asyncio.sleep(100)
    yield b""


async def _reset(asked: Asked) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nUser-agent: *\n"


def _hops(asked: Asked) -> bytes:
    at = int(asked.path.rpartition("-")[2]) if "-" in asked.path else 0
    return reply("", 302, Location=f"/robots-{at + 1}")


def plain(text: str | bytes, status: int = 200) -> Answer:
    return lambda asked: reply(text, status, media="text/plain")


KINDS: dict[str, tuple[Answer, str]] = {
    "200": (plain(RULES), "some"),
    "401": (plain(RULES, 401), "all"),
    "404": (plain(RULES, 404), "all"),
    "429": (plain("", 429), "none"),
    "500": (plain("", 500), "none"),
    "503": (plain(RULES.replace("/shut", "/never"), 503), "none"),
    "hang": (_hangs, "none"),
    "reset": (_reset, "none"),
    "nothing": (plain(b"", 599), "none"),
    "utf-16": (plain(b"\xff\xfe" + RULES.encode("utf-16-le")), "some"),
    "bom": (plain(b"\xef\xbb\xbf" + RULES.encode()), "some"),
    "1 MiB": (plain(LONG), "some"),
    "six redirects": (_hops, "all"),
}
"""Kind → what the server answers, and which pages may then be asked for."""


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_forbidden_is_asked_for(kind: str) -> None:
    answer, may = KINDS[kind]

    frontier = MemoryFrontier(per_host=AT_ONCE)
    engine = Crawl(BreadthFirst(Task(np.random.default_rng(0))), Keywords(["clay"]), frontier)
    waiting: list[int] = []
    ended: list[Outcome] = []

    def told(asked: Asked) -> bytes | AsyncIterator[bytes]:
        if not asked.path.startswith("/robots"):
            return page()
        waiting.append(engine.in_flight)
        return answer(asked)

    server, clock = Loopback(told), Clock()

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Deferred):
            clock.now = max(clock.now, done.until)
        else:
            ended.append(done)
            if isinstance(done.reply, Failed):
                clock.now += done.reply.retry_after or 0.0  # as long is the host left alone

    async def crawl() -> None:
        engine.seed(f"http://a.example/{name}{at}" for at in range(6) for name in ("shut", "open"))
        async with server.serving():
            http = Settings(
                per_host=100,
                connect_to=f"{ADDRESS}:{server.port}",
                in_flight=AT_ONCE,
                timeout=1.0 if kind == "hang" else 60.0,
            )
            await HttpDriver(engine, http, clock=clock, on_step=step).run()

    asyncio.run(crawl())
    asked = {path for path in server.pages if not path.startswith("/robots")}
    allowed = {"all": {"shut", "open"}, "some": {"open"}, "none": set[str]()}[may]
    assert asked == {f"/{name}{at}" for at in range(6) for name in allowed}
    assert len(ended) == waiting[0] == AT_ONCE, "all of them waited for the same answer"
    if may != "none":
        assert len(waiting) == (6 if kind == "six redirects" else 1)
