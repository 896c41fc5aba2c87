"""Chains without an end: of redirects between shards, and of pages of which each links to the next."""

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from spoor import registry
from spoor.compression import compressor, packed
from spoor.crawl import Crawl
from spoor.crawl.paths import MOST_CHARACTERS, MOST_STEPS
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.http.robots import MOST_FOR_OTHERS, MOST_FOR_SHARDS, RobotsFetcher
from spoor.judges.facts import Label
from spoor.learn.state import pack, unpack
from spoor.politeness.robots import RobotsCache
from spoor.runs.assemble import make_crawl
from spoor.settings import Settings
from spoor.sharding import commands
from spoor.sharding.outbox import Outbox, pack_batches, unpack_batches
from spoor.types import (
    LEFT_OUT,
    Anchor,
    Choice,
    Fetch,
    Fetched,
    Link,
    LinkBatch,
    Page,
    Redirected,
    Task,
    Topic,
)
from spoor.web.exchange import Exchange
from spoor.web.urls import host


def crawl_of(outbox: Outbox | None = None, pages: int = 1_000) -> Crawl:
    task = Task(np.random.default_rng(0), Topic("pottery"))
    policy = registry.build("policies", "breadth-first", task)
    return Crawl(policy, Label("x"), MemoryFrontier(), pages=pages, outbox=outbox)


@pytest.mark.parametrize(
    "names", [("birch.example", "cedar.example"), ("a.e.example", "b.e.example")]
)
def test_redirects_between_shards_end(names: tuple[str, str]) -> None:
    """Two hosts, of two domains or of one, redirect to one another, each time to a new address."""

    def owner(name: str, shards: int) -> int:
        return names.index(name)

    outboxes = [Outbox(number, 2, owner=owner) for number in range(2)]
    crawls = [crawl_of(outbox) for outbox in outboxes]
    crawls[0].seed([f"http://{names[0]}/"])
    asked, idle, now = 0, 0, 0.0
    while idle < 4 and asked < 100:
        for me, crawl in enumerate(crawls):
            idle, now = idle + 1, now + 10.0
            while isinstance(fetch := crawl.next(now), Fetch):
                asked, idle = asked + 1, 0
                to = f"http://{names[1 - names.index(host(fetch.url))]}/{asked}"
                crawl.receive(Redirected(fetch.ticket, to, 302), now)
            outboxes[me].seal()
            first, batches = outboxes[me].outgoing(1 - me, 100)
            for batch in outboxes[1 - me].arrived(me, first, unpack_batches(pack_batches(batches))):
                crawls[1 - me].enter(batch)
    assert asked == 4


@pytest.mark.parametrize("own", ["good.example", "www.good.example"])
@pytest.mark.parametrize("steps", range(1, 8))
def test_a_strangers_chain_uses_up_no_redirects_of_a_page_in_shards(own: str, steps: int) -> None:
    """Whether its own site links to it, from the same shard or another one, before the chain comes,
    while it waits, or once it ended."""
    first = ("evil.example", "evil2.example", "www.good.example")

    def owner(name: str, shards: int) -> int:
        return int(name not in first)

    leads = {
        "http://evil.example/1": "http://evil2.example/1",
        "http://evil2.example/1": "http://evil.example/2",
        "http://evil.example/2": "http://good.example/old",
        "http://good.example/old": "http://new.example/page",
    }
    links = {f"http://{own}/{n}": f"http://{own}/{n + 1}" for n in range(steps)}
    links |= {
        "http://evil.example/": "http://evil.example/1",
        f"http://{own}/{steps}": "http://good.example/old",
    }
    outboxes = [Outbox(number, 2, owner=owner) for number in range(2)]
    crawls = [crawl_of(outbox) for outbox in outboxes]
    for outbox in outboxes:
        outbox.grant = 1_000
    for crawl in crawls:
        crawl.seed(["http://evil.example/", f"http://{own}/0"])
    asked, now = list[str](), 0.0
    for _ in range(24):
        for me, crawl in enumerate(crawls):
            now += 10.0
            if isinstance(step := crawl.next(now), Fetch):
                asked.append(step.url)
                if step.url in leads:
                    crawl.receive(Redirected(step.ticket, leads[step.url], 301), now)
                else:
                    found = (Link(links[step.url]),) if step.url in links else ()
                    crawl.receive(Fetched(step.ticket, Page(step.url, links=found)), now)
            crawl.load(unpack(pack(crawl.save())))
            outboxes[me].seal()
            number, batches = outboxes[me].outgoing(1 - me, 100)
            for batch in outboxes[1 - me].arrived(me, number, batches):
                crawls[1 - me].enter(batch)
            outboxes[me].delivered(1 - me, outboxes[1 - me].expects(me))
    assert asked.count("http://new.example/page") == 1
    assert asked.count("http://good.example/old") <= 2


@pytest.mark.parametrize(("letters", "steps"), [(1_700, 9), (1, MOST_STEPS), (20_000, 2)])
def test_a_chain_of_pages_costs_what_its_pages_cost(letters: int, steps: int) -> None:
    """Its path is told with each page: at most the last steps of it."""
    crawl = crawl_of()
    urls = [f"http://a.example/{'x' * letters}{number}" for number in range(MOST_STEPS + 20)]
    crawl.seed([urls[0]])
    for number, url in enumerate(urls[:-1]):
        fetch = crawl.next(60.0 * number)
        assert isinstance(fetch, Fetch)
        path = crawl.path(fetch.choice.link)
        crawl.receive(Fetched(fetch.ticket, Page(url, links=[Link(urls[number + 1])])), 0.0)
        if number < steps:
            assert path == urls[: number + 1]
        else:
            assert path == [LEFT_OUT, *urls[number + 1 - steps : number + 1]]
        assert sum(map(len, path)) <= max(MOST_CHARACTERS, 2 * len(url) + 1)


@pytest.mark.parametrize(("owned", "most"), [(True, MOST_FOR_OTHERS), (False, MOST_FOR_SHARDS)])
def test_robots_files_that_lead_to_a_host_of_another_shard_ask_it_once(
    owned: bool, most: int
) -> None:
    """Its own shard may ask it at the same time, by a clock of its own. Whose robots.txt led there
    once may ask again, and so may another domain, whose names a stranger does not use up."""
    asked, now = list[str](), [0.0]

    async def get(url: str, began: float, limit: int) -> Exchange:
        asked.append(url)
        told = {} if "victim" in host(url) else {"Location": f"http://victim.example/?{host(url)}"}
        headers = CIMultiDictProxy(CIMultiDict(told))
        return Exchange(url, 302 if told else 404, "", (), headers, b"", b"", 0.0, 0.0)

    fetcher = RobotsFetcher(
        RobotsCache(),
        MemoryFrontier(),
        cast(Any, SimpleNamespace(get=get)),
        cast(Any, SimpleNamespace(turn=lambda ticket, name, delay: nullcontext())),
        agent="spoor",
        clock=lambda: now[0],
        owns=lambda url: owned or "victim" not in url,
    )

    async def go() -> list[bool]:
        urls = [f"http://n{number}.evil.example/" for number in range(20)]
        fetches = [Fetch(at, url, host(url), Choice(at)) for at, url in enumerate(urls)]
        told = [(await fetcher.ask(fetch))[1] for fetch in fetches]
        now[0] = 1e6  # what is known of robots.txt is too old
        again = [fetches[0], Fetch(20, "http://old.example/", "old.example", Choice(20))]
        return told + [(await fetcher.ask(fetch))[1] for fetch in again]

    allowed = asyncio.run(go())
    assert sum("victim" in host(url) for url in asked) == most + 2
    assert allowed == [True] * most + [False] * (20 - most) + [True, True]


@pytest.mark.parametrize(
    "rows", [b"[[]" + b",[]" * 3_000_000 + b"]", b"7", b"[[1]]", b"[" * 100_000, b'{"a": 1}']
)
def test_a_worker_that_lies_fills_no_memory_and_ends_in_one_line(rows: bytes) -> None:
    """A message of 1 kB had 9 MB of empty lists in it."""
    with pytest.raises(InputError, match="batches of links are damaged"):
        unpack_batches(packed(rows, compressor()))


def test_batches_of_many_values_are_read() -> None:
    links = tuple(
        Link(f"http://a.example/{n}", Anchor("kiln", headings=("a",) * 9)) for n in range(50_000)
    )
    batch = LinkBatch(None, 0.0, 0, (), links)
    assert unpack_batches(pack_batches([batch])) == [batch]


LINK = [
    "http://h1.example/a",
    ["kiln", "before", "after", ["head"], "html/a", 0, "main", False],
    "a",
]
WAYS = ["http://h1.example/w", 3, "http://h0.example/", ["http://h1.example/k"], [LINK], 0.2, True]
ABOUT = ["http://h0.example/", "title", ["head"], "kiln", "words"]
ROWS: list[list[Any]] = [
    [ABOUT, 0.5, 2, ["http://h0.example/"], [LINK], [], 0],
    [None, 0.0, 0, [], [LINK], ["http://h1.example/q"], 2],
    [ABOUT, 0.2, 4, [], [], [], 0, WAYS],
    [None, 0.0, 0, [], [], [], 0, None, [["h1.example", 5.0]]],
]
OTHERS: list[Any] = [
    *(None, True, -1, 1.5, 1 << 70, math.nan, -math.inf, "x", "http:///", [], [[]], {}, {"a": 1}),
    *("file:///etc/passwd", "http://h1.example/\ud800"),
]


def places(value: Any, at: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    yield at
    for index, one in enumerate(value if isinstance(value, list) else ()):
        yield from places(one, (*at, index))


def replaced(value: Any, at: tuple[int, ...], other: Any) -> Any:
    if not at:
        return other
    return [replaced(one, at[1:], other) if n == at[0] else one for n, one in enumerate(value)]


@pytest.mark.parametrize("row", ROWS, ids=["page", "done", "ways", "rests"])
def test_a_batch_of_another_kind_is_refused_before_any_of_it_enters(row: list[Any]) -> None:
    """Each value of a batch is another one, once: 582 of 6,180 such batches of five policies were
    entered half, and ended a shard in a traceback. No policy is asked before a batch is read; each
    is given what is not refused."""
    refused = 0
    settings = [
        Settings(topic="kiln", pages=50, shards=2, policy=policy, max_depth=3)
        for policy in ("trail", "best-first")
    ]
    untouched = _seeded(settings[0])
    for at in places(row):
        for other in OTHERS:
            rows = [row, replaced(row, at, other)]
            data = json.dumps(rows).encode("utf-8", "surrogatepass")
            body, why = packed(data, compressor(), 1 << 16), ""
            try:
                commands.apply(untouched, "links", 1.0, [1, 0], body)
            except InputError as error:
                why = str(error)
            if why:
                assert "\n" not in why
                assert untouched.outbox is not None
                assert not untouched.outbox.save()["in"]
                assert untouched.frontier.open_count <= 1
                refused += 1
                continue
            entered, untouched = untouched, _seeded(settings[0])
            again = make_crawl(settings[0], Outbox(0, 2))
            again.load(unpack(pack(entered.save())))
            assert all(
                again.frontier.url(link).startswith("http") for link in again.frontier.open()
            )
            commands.apply(_seeded(settings[1]), "links", 1.0, [1, 0], body)
    assert refused > len(OTHERS)


def _seeded(settings: Settings) -> Crawl:
    crawl = make_crawl(settings, Outbox(0, 2))
    crawl.seed(["http://h0.example/"])
    return crawl
