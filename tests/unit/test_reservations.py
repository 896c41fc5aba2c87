"""What a site says to machines beside robots.txt: X-Robots-Tag, robots meta elements, TDMRep."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
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
