"""What a crawler has no business with is refused before any connection, however it is spelt.

Every way is tried on a canary that listens on loopback: not one connection may arrive. Names are
resolved by a table; no name server is asked, and no address but loopback could be reached.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from html import escape
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Asked, Loopback, page, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http import address_guard as gates
from spoor.http.address_guard import AddressGuard, BlockedAddressError, is_public
from spoor.http.client import Client
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.setting import is_host
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Outcome, Task
from spoor.web.urls import canonical
from spoor.wrappers.lists_first import SitemapsFirst

pytestmark = pytest.mark.server

LOOPBACK = """
    127.0.0.1 127.1 127.0.1 127.255.255.254 127.0.0.1. 2130706433 017700000001 0x7f000001 0x7f.1
    0x7f.0.0.1 0177.0.0.1 0177.1 0x7F.0x0.0x0.0x1 127.0x1 00000177.0.0.0x1 %31%32%37.0.0.1
    １２７.0.0.1 127。0。0。1 ①②⑦.0.0.1 0 0.0.0.0 0x0 [::1] [0:0:0:0:0:0:0:1] [::] [::127.0.0.1]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [64:ff9b::127.0.0.1]
    [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] user:secret@127.0.0.1 127.0.0.1#@a.example
""".split()
PRIVATE = """
    10.0.0.1 10.1 192.168.0.1 3232235521 172.16.0.1 172.31.255.255 100.64.0.1 169.254.169.254
    0xa9fea9fe 2852039166 [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe]
    [fe80::1] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] 224.0.0.1 239.255.255.250
    255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 [2001:db8::1] [100::1]
    [2002:c0a8:1::] [2002:a9fe:a9fe::] [64:ff9b:1::a00:1]
""".split()
NAMES = {
    "localhost": [ADDRESS],
    "LOCALHOST": [ADDRESS],
    "localhost.": [ADDRESS],
    "ip6-localhost": ["::1"],
    "any.localhost": [ADDRESS, "::1"],
    "rebound.example": [ADDRESS],
    "mapped.example": ["::ffff:127.0.0.1"],
    "translated.example": ["64:ff9b::7f00:1"],
    "metadata.example": ["169.254.169.254"],
    "inside.example": ["10.0.0.7", "fd00::7"],
}
"""Names that stand for what they should not."""

START = "start.example"
Steps = list[tuple[str, Outcome | Deferred]]


class Table(AbstractResolver):
    """Names by a table; what is not in it stands nowhere."""

    def __init__(self, known: Mapping[str, list[str]]) -> None:
        self._known = known
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in self._known:
            raise OSError(f"{host}: no such name")
        found = [gates._result(host, address, port) for address in self._known[host]]
        return [one for one in found if family in (socket.AF_UNSPEC, one["family"])]

    async def close(self) -> None:
        pass


async def crawled(known: Mapping[str, list[str]], seeds: list[str], **settings: Any) -> Steps:
    """What came of each request of a crawl whose names are resolved by a table."""
    steps: Steps = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates, "Names", lambda **_: Table(known))
        import numpy as np

        engine = Crawl(
            SitemapsFirst(BreadthFirst(Task(np.random.default_rng(0)))),
            Keywords(["clay"]),
            MemoryFrontier(),
            attempts=1,
        )
        engine.seed(seeds)

        def step(fetch: Fetch, done: Outcome | Deferred) -> None:
            steps.append((fetch.url, done))

        await HttpDriver(engine, Settings(per_host=100, **settings), on_step=step).run()
    return steps


def kinds(steps: Steps) -> dict[str, str]:
    return {
        url: step.reply.kind if isinstance(step.reply, Failed) else "page"
        for url, step in steps
        if isinstance(step, Outcome)
    }


def spelt(host: str, port: int) -> str:
    """A URL of this host; the port stands before what only looks like another host."""
    name, mark, rest = host.partition("#")
    return f"http://{name}:{port}/canary{mark}{rest}"


def lead(urls: list[str], way: str) -> dict[str, bytes]:
    """Pages of the first host that lead to these URLs in one of the ways there are."""
    if way == "link":
        return {"/": page(*urls)}
    if way == "listed":
        listed = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
        whole = f"<?xml version='1.0'?><urlset>{listed}</urlset>"
        return {"/": page(), "/sitemap.xml": reply(whole, media="application/xml")}
    if way == "meta":
        refresh = {
            f"/{at}": f'<meta http-equiv=refresh content="0; url={url}">'
            for at, url in enumerate(urls)
        }
        return {"/": page(*refresh), **{path: reply(body) for path, body in refresh.items()}}
    hops = {f"/{at}": reply("", 302, Location=url) for at, url in enumerate(urls)}
    return {"/": page(*hops), **hops}


@pytest.mark.parametrize("way", ["seed", "link", "redirect", "meta", "robots", "sitemap", "listed"])
def test_nothing_arrives_at_the_canary(way: str) -> None:
    hosts = [*LOOPBACK, *PRIVATE, *NAMES]
    assert len(hosts) > 70
    apart = way in ("robots", "sitemap")
    """Each spelling stands in the robots.txt of a host of its own."""

    async def go() -> tuple[Loopback, Steps, list[str]]:
        canary = Loopback(lambda asked: page())
        async with canary.serving():
            urls = [spelt(host, canary.port) for host in hosts]
            told = lead(urls, way)

            def answer(asked: Asked) -> bytes:
                if apart:
                    at = int(asked.host.partition(".")[0][1:])
                    if way == "robots":
                        return reply("", 302, Location=urls[at])
                    if asked.path == "/robots.txt":
                        return reply(f"Sitemap: {urls[at]}", media="text/plain")
                    return page()
                return told.get(asked.path, MISSING)

            start = Loopback(answer)
            async with start.serving():
                # Hosts of our own, let in by name; everything else has to pass the address guard.
                own = [f"h{at}.example" for at in range(len(urls))] if apart else [START]
                known = {**NAMES, **{name.lower(): at for name, at in NAMES.items()}}
                known |= {name: [ADDRESS] for name in own}
                seeds = urls if way == "seed" else [f"http://{name}:{start.port}/" for name in own]
                steps = await crawled(
                    known,
                    [canonical(seed) for seed in seeds],
                    allow_private=tuple(own),
                    robots=apart,
                    sitemaps=way in ("sitemap", "listed"),
                    timeout=5.0,
                )
        return canary, steps, urls

    canary, steps, urls = asyncio.run(go())
    assert canary.connections == 0
    ends = kinds(steps)
    if way == "robots":
        assert len(ends) == len(hosts)
        # A host to which those of many domains lead is not asked for the later ones at all.
        assert {*ends.values()} - {"robots"} == {"blocked"}
    else:
        missed = {url for url in map(canonical, urls) if ends.get(url) != "blocked"}
        assert not missed, "every one was asked for, and refused"


def test_the_canary_would_have_noticed() -> None:
    async def go() -> tuple[Loopback, Steps]:
        canary = Loopback(lambda asked: page())
        async with canary.serving():
            url = f"http://127.0.0.1:{canary.port}/"
            steps = await crawled({}, [url], allow_private=("127.0.0.1",), robots=False)
        return canary, steps

    canary, steps = asyncio.run(go())
    assert canary.connections == 1
    assert list(kinds(steps).values()) == ["page"]


@pytest.mark.parametrize("opened", ["own.example", "OWN.example.", "127.0.0.1", "[::1]"])
def test_what_is_opened_is_one_host(opened: str) -> None:
    """The others are the same machine under another name; they stay shut."""
    names = {"own.example": [ADDRESS], "other.example": [ADDRESS], "six.example": ["::1"]}

    async def go() -> tuple[dict[str, str], int]:
        canary = Loopback(lambda asked: page())
        async with canary.serving():
            port = canary.port
            hosts = [*names, "127.0.0.1", "127.0.0.2", "[::ffff:7f00:1]", "2130706433"]
            seeds = dict.fromkeys(canonical(f"http://{host}:{port}/") for host in hosts)
            steps = await crawled(
                names, list(seeds), allow_private=(opened,), robots=False, in_flight=1
            )
        ends = {url.split("/")[2].rpartition(":")[0]: kind for url, kind in kinds(steps).items()}
        return ends, canary.connections

    ends, connections = asyncio.run(go())
    name = opened.lower().rstrip(".")
    let_in = {host for host, kind in ends.items() if kind != "blocked"}
    assert let_in == ({name} if name != "[::1]" else set()), ends
    assert connections == len(let_in)


def test_a_web_served_for_a_test_opens_its_one_port() -> None:
    async def go() -> tuple[dict[str, str], int, int]:
        canary = Loopback(lambda asked: page())
        start = Loopback(lambda asked: page(f"http://127.0.0.1:{canary.port}/"))
        async with canary.serving(), start.serving():
            steps = await crawled(
                {}, ["http://a.example/"], connect_to=f"{ADDRESS}:{start.port}", robots=False
            )
        return kinds(steps), start.connections, canary.connections

    ends, served, seen = asyncio.run(go())
    assert sorted(ends.values()) == ["blocked", "page"]
    assert (served, seen) == (1, 0)


def test_a_name_that_moves_inside_is_refused_at_the_socket() -> None:
    """Rebinding: public when the resolver looked, loopback when the connection is made."""

    async def go() -> int:
        canary = Loopback(lambda asked: page())
        async with canary.serving():
            address_guard = AddressGuard(Settings())
            with pytest.raises(BlockedAddressError):
                address_guard.socket(
                    (socket.AF_INET, socket.SOCK_STREAM, 0, "", (ADDRESS, canary.port))
                )
        return canary.connections

    assert asyncio.run(go()) == 0


def test_a_name_at_both_kinds_of_address_is_reached_at_the_public_one_only() -> None:
    async def go() -> list[str]:
        table = Table({"both.example": [ADDRESS, "192.0.2.1", "1.1.1.1", "10.0.0.1"]})
        found = await AddressGuard(Settings(), table).resolve("both.example", 80)
        return [result["host"] for result in found]

    assert asyncio.run(go()) == ["1.1.1.1"]


@pytest.mark.parametrize(
    "addresses",
    [
        ["1.1.1.1", "10.0.0.1"],
        ["1.1.1.1", "::1"],
        ["2606:4700:4700::1111", "fd00::7"],
        [*(f"8.8.8.{number}" for number in range(70)), "169.254.169.254"],
    ],
    ids=["IPv4", "both", "IPv6", "many"],
)
def test_a_proxy_hears_of_no_name_that_has_any_address_inside(
    addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy chooses among all of them, and has IPv6 where this machine may have none."""
    flags: list[int] = []

    def getaddrinfo(host: str, port: int, *_: Any, **options: Any) -> list[Any]:
        flags.append(options["flags"])
        known = addresses if host == "both.example" else addresses[:1]
        return [(0, socket.SOCK_STREAM, 6, "", (one, port)) for one in known]

    async def go() -> int:
        proxy = Loopback(lambda asked: page())
        async with proxy.serving():
            settings = Settings(proxy=f"http://{ADDRESS}:{proxy.port}")
            client = Client(settings, AddressGuard(settings))
            monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
            try:
                assert (await client.get("http://public.example/", 0.0)).status == 200
                for url in ("http://both.example/", "https://both.example/"):
                    with pytest.raises(BlockedAddressError, match=r"not a? ?public"):
                        await client.get(url, 0.0)
            finally:
                monkeypatch.undo()
                await client.close()
        return len(proxy.asked)

    assert asyncio.run(go()) == 1
    assert set(flags) == {0}, "of both kinds, whichever this machine has"


def test_a_name_is_known_by_its_addresses_of_both_kinds() -> None:
    """By IPv6 alone, names of one domain at one server had clocks of their own."""

    async def go() -> list[tuple[str, ...]]:
        one, two = "1.1.1.1", "2606:4700:4700::1111"
        known = {"a.example": [two], "b.example": [two, one], "c.example": [one]}
        guard = AddressGuard(Settings(), Table(known))
        return [await guard.addresses_of(f"{name}:80") for name in (*known, "none.example")]

    v4, v6 = "1.1.1.1", "2606:4700:4700::1111"
    assert asyncio.run(go()) == [(v6,), (v4, v6), (v4,), ("none.example",)]


def test_a_secret_in_a_url_is_neither_sent_nor_kept() -> None:
    assert canonical("http://user:secret@a.example/") == "http://a.example/"


def test_an_address_is_refused_before_a_session_is_asked() -> None:
    async def go() -> None:
        settings = Settings()
        client = Client(settings, AddressGuard(settings))
        try:
            with pytest.raises(BlockedAddressError, match="not a public address"):
                await client.get("http://127.0.0.1:9/", 0.0)
        finally:
            await client.close()

    asyncio.run(go())


def test_ports_of_other_services_are_for_seeds_alone() -> None:
    """What a robots.txt redirected to, or a page needs to be shown, was asked for at any port."""
    seeds = "http://a.example:6000/", "http://[2606:4700::1]:25/"
    guard = AddressGuard(Settings(seeds=seeds))
    for host, port in (("a.example", 25), ("b.example", 6000), ("8.8.8.8", 6379)):
        with pytest.raises(BlockedAddressError, match=f"port {port} is one of another service"):
            guard.check(host, port)
    for host, port in (("a.example", 6000), ("2606:4700::1", 25), ("b.example", 8080)):
        guard.check(host, port)


@given(st.ip_addresses(v=4))
def test_an_address_in_ipv6_clothes_is_the_same_address(address: Any) -> None:
    number = int(address)
    plain = is_public(str(address))
    assert is_public(f"::ffff:{address}") is plain
    assert is_public(f"64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}") is plain
    assert is_public(f"2002:{number >> 16:x}:{number & 0xFFFF:x}::") is plain


def test_special_addresses_are_refused_by_every_python() -> None:
    special = (
        "192.0.0.192 192.88.99.1 168.63.129.16 64:ff9b:1::a9fe:a9fe 100::1 100:0:0:1::1 3fff::1"
    )
    for address in [*special.split(), "5f00::1", "::ffff:168.63.129.16"]:
        assert not is_public(address)


def test_public_addresses_are_public() -> None:
    for address in ("1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::64"):
        assert is_public(address)
    for nonsense in ("", "localhost", "1.2.3", "2130706433", "0x7f.1", "::g"):
        assert not is_public(nonsense), "what is not understood is not public"


def test_a_host_is_told_from_a_url() -> None:
    for host in ("localhost", "a.example.", "127.0.0.1", "::1", "[::1]", "bücher.example"):
        assert is_host(host)
    for other in ("", "http://a/", "a:80", "127.0.0.1:80", "a/b", "user@a", "a b"):
        assert not is_host(other)
