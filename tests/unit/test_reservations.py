"""What a site says to machines beside robots.txt: X-Robots-Tag, robots meta elements, TDMRep."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.http import reservations
from spoor.http.reservations import ReservationFetcher
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import NO_PARENT, Choice, Fetch
from spoor.views.html import write_report
from spoor.web.tdmrep import LIMIT, parse

FILE = b"""[
    {"location": "/open/*", "tdm-reservation": 0},
    {"location": "/*.pdf$", "tdm-reservation": 1, "tdm-policy": "https://a.example/policy.json"},
    {"location": "/private", "tdm-reservation": 1}
]"""


def test_the_first_rule_that_fits_counts() -> None:
    said = parse(FILE)
    asked = ("/open/a.pdf", "/a.pdf", "/a.pdf?x", "/private/b", "/", "/x/private")
    assert [said.reserve(f"http://a.example{path}") for path in asked] == [
        *(False, True, False),
        *(True, False, False),
    ]


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[1, {}, null]", b"[" * 100_000, b"\xff", b" " * (LIMIT + 1) + FILE]
)
def test_what_is_no_such_file_reserves_nothing(body: bytes) -> None:
    assert not parse(body).reserve("http://a.example/private")
    hostile = parse(b'[{"location": "/' + b"a*" * 5_000 + b'", "tdm-reservation": 1}]')
    assert not hostile.reserve("http://a.example/" + "a" * 5_000)


def rule(location: str) -> bytes:
    return json.dumps([{"location": location, "tdm-reservation": 1}]).encode()


@given(st.text("ab/*$", max_size=8), st.text("ab/$", max_size=6))
def test_a_location_fits_as_its_pattern_would(location: str, path: str) -> None:
    pattern = re.escape(location.removesuffix("$")).replace(r"\*", ".*")
    fits = re.match(f"/{pattern}" + "$" * location.endswith("$"), f"/{path}")
    assert parse(rule(f"/{location}")).reserve(f"http://a.example/{path}") == bool(fits)


@pytest.mark.parametrize(
    "location",
    ["/" + "*a" * 4 + "*b$", "/" + "*a" * 7 + "*b", "/*" + "a" * 200 + "b"],
    ids=["ended", "many", "long"],
)
def test_a_location_takes_no_longer_than_its_path_is_long(location: str) -> None:
    rows = json.loads(rule(location)) * 1_000
    began = time.process_time()
    for length in (100, 8_000):
        assert not parse(json.dumps(rows).encode()).reserve(f"http://a.example/{'a' * length}")
    assert time.process_time() - began < 0.5


def test_files_of_names_without_end_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all together; what was forgotten is asked for again."""
    body, asked = json.dumps(json.loads(rule("/private")) * 100).encode(), list[str]()

    async def get(url: str, began: float, *, limit: int) -> Any:
        asked.append(url)
        return SimpleNamespace(status=200, body=body)

    @asynccontextmanager
    async def turn(*_: object) -> Any:
        yield

    async def go() -> None:
        client, hosts, queues = (
            SimpleNamespace(get=get),
            SimpleNamespace(delay=lambda host: 0.0),
            SimpleNamespace(turn=turn),
        )
        fetcher = ReservationFetcher(client, hosts, queues, lambda: 0.0)  # type: ignore[arg-type]
        for number in [*range(50), 49, 0]:
            name = f"n{number}.a.example"
            fetch = Fetch(number, f"http://{name}/private", name, Choice(NO_PARENT))
            assert await fetcher.reserve(fetch)
        assert len(asked) == 51, "the first was forgotten, and the last was not"
        assert len(fetcher._known) < 25
        assert not fetcher._locks

    monkeypatch.setattr(reservations, "MOST_MEMORY", 1 << 20)
    asyncio.run(go())


PAGES = {
    "/meta": "<meta name=tdm-reservation content=1>clay",
    "/not": "<meta name=tdm-reservation content=0>clay",
    "/private/x": "clay",
    "/noai": "<meta name=robots content=noimageai>clay",
    "/noindex": "<meta name=robots content=noindex><a href=/below>clay</a>",
}


@pytest.mark.server
@pytest.mark.parametrize("noai", [False, True])
def test_a_crawl_obeys_and_tells_it(tmp_path: Path, noai: bool) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/":
            return page("/header", *PAGES, text="<p>clay")
        if asked.path == "/header":
            return reply("clay", TDM_Reservation="1")
        if asked.path == "/.well-known/tdmrep.json":
            return reply(FILE, media="application/json")
        return reply(PAGES[asked.path]) if asked.path in PAGES else MISSING

    server = Loopback(answer)
    with beside(server.serving):
        told = Settings(
            seeds=("http://a.example/",),
            topic="clay",
            delay=0.0,
            noai=noai,
            traps=True,
            connect_to=f"{ADDRESS}:{server.port}",
        )
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            LiveCrawl(folder, make_crawl(told)).run()
    run = Run(tmp_path / "run")
    got = {page.url.removeprefix("http://a.example"): set(page.flags) for page in run.pages()}
    always = {"/": set[str](), "/not": set[str](), "/noindex": {"noindex"}}
    reserved = {"/meta": {"tdm-reserved"}, "/header": {"tdm-reserved"}, "/noai": {"noai"}}
    if noai:
        assert got == always
        assert "/private/x" not in server.pages, "not even asked for"
        assert server.pages.count("/.well-known/tdmrep.json") == 1
        lost = {row.url: row.reason for row in run.failures() if row.kind == "robots"}
        assert len(lost) == 4
        assert "tdmrep.json" in lost["http://a.example/private/x"]
        assert not any((row.title or "") == "clay" for row in run.pages())
    else:
        assert got == always | reserved | {"/private/x": set()}
        assert "/.well-known/tdmrep.json" not in server.pages
    assert "/below" in server.pages, "the links of a page without an index are followed"
    report = write_report(tmp_path / "run").read_text("utf-8")
    asks = re.findall(r"asks of machines\">([^<]*)<", report)
    assert asks == ["noindex 1" if noai else "noai 1, noindex 1, tdm-reserved 2"]
