"""What a server sends without end, or what grows without end, is ended by a limit that says so."""

from __future__ import annotations

import asyncio
import gzip
import os
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Answer, Asked, Loopback, page, refusal, reply
from spoor.compression import zstd
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.setting import MIB
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, Outcome, Task
from spoor.web.content_encoding import _inflater
from spoor.web.exchange import READ_OF_ENDLESS, Exchange

pytestmark = pytest.mark.server

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[3] / "shared" / "data"))
COMPRESSED = DATA / "conformance" / "compressed-scrapy"
LIMIT = 2 * MIB
TEXT = b"<title>Clay</title><p>" + b"a kiln is hot; " * 2000


def exchange(answer: Answer, **given: Any) -> Exchange:
    """One request of one page."""

    async def go() -> Exchange:
        server = Loopback(answer)
        async with server.serving():
            told = Settings(
                per_host=100,
                connect_to=f"{ADDRESS}:{server.port}",
                **{"body_limit": LIMIT, "timeout": 20.0, **given},
            )
            client = Client(told, AddressGuard(told))
            try:
                return await client.get("http://a.example/", 0.0)
            finally:
                await client.close()

    return asyncio.run(go())


def outcomes(answer: Answer, *paths: str, **given: Any) -> dict[str, Fetched | Failed]:
    """Path → the reply of a crawl that tries once, robots.txt left out."""
    ended: dict[str, Fetched | Failed] = {}

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Outcome):
            ended[fetch.url.removeprefix("http://a.example")] = done.reply

    async def go() -> None:
        import numpy as np

        server = Loopback(answer)
        async with server.serving():
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            crawl = Crawl(policy, Keywords(["clay"]), MemoryFrontier(), attempts=1)
            crawl.seed([f"http://a.example{path}" for path in paths or ("/",)])
            told = Settings(
                per_host=100,
                connect_to=f"{ADDRESS}:{server.port}",
                **{"robots": False, "timeout": 20.0, **given},
            )
            await HttpDriver(crawl, told, on_step=step).run()

    asyncio.run(go())
    return ended


def failed(answer: Answer, **given: Any) -> tuple[str, bool]:
    """Kind of the failure of one page, and whether it may be tried again."""
    reply = outcomes(answer, **given)["/"]
    assert isinstance(reply, Failed)
    return reply.kind, reply.transient


def packed(data: bytes, encoding: str) -> bytes:
    bare = zlib.compressobj(9, zlib.DEFLATED, -15)
    return {
        "gzip": lambda: gzip.compress(data, mtime=0),
        "deflate": lambda: zlib.compress(data),
        "bare deflate": lambda: bare.compress(data) + bare.flush(),
        "zstd": lambda: zstd.compress(data),
        "br": lambda: brotli.compress(data, quality=5),
        "gzip, gzip": lambda: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
        "deflate, zstd": lambda: zstd.compress(zlib.compress(data)),
    }[encoding]()


ENCODINGS = ("gzip", "deflate", "bare deflate", "zstd", "br", "gzip, gzip", "deflate, zstd")


def compressed(data: bytes, encoding: str) -> Answer:
    return lambda asked: reply(data, Content_Encoding=encoding.removeprefix("bare "))


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_body_comes_whole(encoding: str) -> None:
    told = exchange(compressed(packed(TEXT, encoding), encoding))
    assert (told.body, told.truncated) == (TEXT, "")
    assert told.raw == packed(TEXT, encoding), "the archive keeps what was received"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_bomb_ends_at_the_limit(encoding: str) -> None:
    bomb = packed(b"\0" * 40 * MIB, encoding)
    answer = compressed(bomb, encoding)
    tracemalloc.start()
    told = exchange(answer)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told.truncated in ("length", "ratio")
    assert len(told.body) <= LIMIT
    assert peak < 12 * LIMIT, "what does not fit is not made"


def test_a_bomb_below_the_limit_ends_by_its_ratio() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        data = gzip.compress(b"\0" * 8 * MIB)
        yield f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        for at in range(0, len(data), 512):
            yield data[at : at + 512]

    told = exchange(lambda asked: slowly(), body_limit=16 * MIB)
    assert told.truncated == "ratio"
    assert len(told.body) < 3 * MIB, "it ends as soon as that can be said"


@pytest.mark.parametrize("status", [302, 404, 503])
def test_of_what_brings_no_document_little_is_read(status: int) -> None:
    told = exchange(lambda asked: reply(b"x" * MIB, status, Location="/"))
    assert (len(told.raw), told.truncated) == (MIB // 4, "length")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_bomb_is_no_page(encoding: str) -> None:
    answer = compressed(packed(b"<p>clay</p>" * (12 << 17), encoding), encoding)
    assert failed(answer) == ("limit", False)


def test_of_a_body_that_was_cut_the_beginning_is_read() -> None:
    told = outcomes(lambda asked: endless(f"{OK}\r\n", b"<p>more</p>" * 1000))["/"]
    assert isinstance(told, Fetched)
    assert "truncated" in told.page.flags
    assert told.size == 10 * MIB
    assert READ_OF_ENDLESS // 3 < len(told.page.text) < READ_OF_ENDLESS


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("keep", [0.2, 0.9])
def test_a_body_that_breaks_off_is_flagged(encoding: str, keep: float) -> None:
    noise = bytes(zlib.crc32(bytes([at % 251, at % 241])) % 256 for at in range(50_000))
    data = packed(TEXT + noise, encoding)
    told = exchange(compressed(data[: int(len(data) * keep)], encoding))
    assert told.truncated == "encoding"
    assert (TEXT + noise).startswith(told.body)


def test_a_truncated_page_is_a_page_that_says_so() -> None:
    data = gzip.compress(TEXT, 0)
    told = outcomes(compressed(data[:-900], "gzip"))["/"]
    assert isinstance(told, Fetched)
    assert "truncated" in told.page.flags
    assert told.page.title == "Clay"


def test_what_is_no_compressed_data_is_flagged() -> None:
    for encoding in ("gzip", "deflate", "zstd", "br", "x-unheard-of", ", ".join(["gzip"] * 500)):
        told = exchange(compressed(b"\xff\x00<p>not plain", encoding))
        assert (told.truncated, told.body) == ("encoding", b"")


def test_what_follows_the_last_part_is_left_out() -> None:
    for data in (
        gzip.compress(TEXT) + b"\0" * 500,
        gzip.compress(TEXT) + b"<!-- served by -->" * 500,
        gzip.compress(TEXT[:900]) + gzip.compress(TEXT[900:]),
    ):
        told = exchange(compressed(data, "gzip"))
        assert (told.truncated, told.body) == ("", TEXT)
    two = zstd.compress(TEXT[:900]) + zstd.compress(TEXT[900:])
    told = exchange(compressed(two, "zstd"))
    assert (told.truncated, told.body) == ("", TEXT)


@settings(max_examples=60)
@given(st.binary(max_size=5000), st.sampled_from(ENCODINGS), st.integers(1, 3000))
def test_the_pieces_in_which_data_arrives_do_not_matter(
    data: bytes, encoding: str, size: int
) -> None:
    sent = packed(data, encoding)
    out = sent
    for name in reversed(encoding.removeprefix("bare ").split(", ")):
        inflater = _inflater(name)
        out = b"".join(
            inflater.feed(out[at : at + size], 1 << 30) for at in range(0, len(out), size)
        )
        assert inflater.complete
    assert out == data


@settings(max_examples=60)
@given(st.binary(min_size=1, max_size=300), st.sampled_from(("gzip", "deflate", "zstd", "br")))
def test_no_bytes_raise_anything_else(data: bytes, encoding: str) -> None:
    inflater = _inflater(encoding)
    for _ in range(3):
        try:
            assert len(inflater.feed(data, 1000)) <= 1000
        except ValueError:
            break


@pytest.mark.data
def test_bodies_of_the_conformance_set() -> None:
    if not COMPRESSED.is_dir():
        pytest.skip(f"no conformance data in {DATA} (SPOOR_DATA)")

    def read(name: str, encoding: str) -> Exchange:
        return exchange(compressed((COMPRESSED / name).read_bytes(), encoding))

    page_of = {
        name: read(f"html-{name}.bin", encoding)
        for name, encoding in {
            "gzip": "gzip",
            "gzip-deflate": "gzip, deflate",
            "gzip-deflate-gzip": "gzip, deflate, gzip",
            "zstd-static-content-size": "zstd",
            "zstd-static-no-content-size": "zstd",
            "zstd-streaming-no-content-size": "zstd",
            "rawdeflate": "deflate",
            "zlibdeflate": "deflate",
            "br": "br",
        }.items()
    }
    assert {told.truncated for told in page_of.values()} == {""}
    assert (
        len(
            {
                told.body
                for name, told in page_of.items()
                if "rawd" not in name and "zlib" not in name
            }
        )
        == 1
    )
    assert page_of["rawdeflate"].body == page_of["zlibdeflate"].body
    for name, encoding in (
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("zstd", "zstd"),
        ("br", "br"),
    ):
        bomb = read(f"bomb-{name}.bin", encoding)
        assert bomb.truncated in ("length", "ratio")
        assert len(bomb.body) <= LIMIT
    for name in ("truncated-crc-error", "truncated-crc-error-short", "unexpected-eof"):
        broken = read(f"{name}.gz", "gzip")
        assert broken.truncated == "encoding"
        assert len(broken.body) > 3000, "what came is kept"


# ---------------------------------------------------------------- without end


async def endless(head: str, piece: bytes) -> AsyncIterator[bytes]:
    yield head.encode()
    while True:
        yield piece
        await asyncio.sleep(0)


OK = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def test_an_endless_body_ends_at_the_limit() -> None:
    for head, piece in (
        (f"{OK}\r\n", b"<p>more</p>" * 1000),
        (f"{OK}Transfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n"),
    ):
        told = exchange(lambda asked, head=head, piece=piece: endless(head, piece))  # type: ignore[misc]
        assert (told.truncated, len(told.body)) == ("length", LIMIT)


def test_an_endless_stream_of_nothing_ends_at_the_limit() -> None:
    """Empty gzip members: there is always more to read, and never a byte of text."""
    nothing = gzip.compress(b"") * 2000
    told = exchange(lambda asked: endless(f"{OK}Content-Encoding: gzip\r\n\r\n", nothing))
    assert (told.truncated, told.body) == ("encoding", b"")
    assert len(told.raw) < LIMIT, "parts without end end before their bytes do"


def test_endless_headers_are_a_failure_of_the_kind_limit() -> None:
    many = b"".join(b"X-%d: %s\r\n" % (at, b"y" * 50) for at in range(50))
    for piece in (many, b"X: " + b"y" * 60_000 + b"\r\n", b"y" * 60_000):
        assert failed(lambda asked, piece=piece: endless(OK, piece)) == ("limit", False)  # type: ignore[misc]


def test_headers_have_a_limit_in_total() -> None:
    heavy = {f"X-{at}": "y" * 1000 for at in range(40)}
    answer = lambda asked: reply(TEXT, 200, **heavy)  # noqa: E731
    assert failed(answer, header_limit=30_000) == ("limit", False)
    told = outcomes(answer, header_limit=60_000)["/"]
    assert isinstance(told, Fetched)


async def silent(*said: bytes) -> AsyncIterator[bytes]:
    """Says something, and then nothing for as long as the connection stands."""
    for piece in said:
        yield piece
    await asyncio.Event().wait()


def test_a_server_that_says_nothing_is_left() -> None:
    assert failed(lambda asked: silent(), timeout=0.2) == ("timeout", True)
    assert failed(lambda asked: silent(b"HTTP/1.1 200 OK\r\nX: "), timeout=0.2) == ("timeout", True)


def test_a_body_that_never_comes_is_a_timeout() -> None:
    answer = lambda asked: silent(f"{OK}Content-Length: 100\r\n\r\n".encode())  # noqa: E731
    assert failed(answer, timeout=0.2) == ("timeout", True)


def test_a_body_that_stops_in_the_middle_is_kept_and_flagged() -> None:
    head = f"{OK}Content-Length: 1000000\r\n\r\n".encode()
    told = exchange(lambda asked: silent(head, TEXT), timeout=2.0)
    assert (told.truncated, told.body) == ("time", TEXT)
    told = exchange(lambda asked: head + TEXT)
    assert (told.truncated, told.body) == ("disconnect", TEXT)


def test_a_slow_host_does_not_hold_up_the_others() -> None:
    def answer(asked: Asked) -> bytes | AsyncIterator[bytes]:
        return silent() if asked.path == "/slow" else page(text="clay")

    told = outcomes(answer, "/slow", *(f"/{at}" for at in range(40)), timeout=2.0, in_flight=4)
    assert isinstance(told.pop("/slow"), Failed)
    assert all(isinstance(ended, Fetched) for ended in told.values())
    assert len(told) == 40


def test_an_endless_robots_txt_is_read_to_its_limit() -> None:
    rule = b"Disallow: /elsewhere\n" * 1000

    def answer(asked: Asked) -> bytes | AsyncIterator[bytes]:
        if asked.path != "/robots.txt":
            return page(text="clay")
        return endless(f"{OK}\r\nUser-agent: *\nDisallow: /shut\n", rule)

    told = outcomes(answer, "/", "/shut", robots=True)
    assert isinstance(told["/"], Fetched)
    assert isinstance(told["/shut"], Failed)
    assert told["/shut"].kind == "robots"


# ---------------------------------------------------------------- nonsense


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/9.9 999 \xff\xff\r\n\r\n",
        b"\x00" * 5000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_nonsense_is_a_failure_and_no_more(said: bytes) -> None:
    kind, _ = failed(lambda asked: said, timeout=0.4)
    assert kind in ("http", "connection", "timeout")


def test_nobody_there_may_be_there_later() -> None:
    told = outcomes(lambda asked: MISSING, "/", connect_timeout=60.0)
    assert isinstance(told["/"], Failed)
    assert told["/"].kind == "absent"

    async def go() -> Exception | None:
        server = Loopback(lambda asked: MISSING)
        async with server.serving():
            to = f"{ADDRESS}:{server.port}"
        return await refusal("http://a.example/", Settings(per_host=100, connect_to=to))

    from spoor.http.failures import failure

    refused = asyncio.run(go())
    assert refused is not None
    assert (failure(7, refused).kind, failure(7, refused).transient) == ("connection", True)
