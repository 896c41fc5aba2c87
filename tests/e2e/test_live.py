"""A live crawl over real HTTP on loopback, end to end."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no stubs

import spoor
from loopback import ADDRESS, MISSING, Answer, Asked, Logged, Loopback, logged, page, reply, site
from spoor.cli.crawl import describe
from spoor.cli.main import run
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.live.driver import HttpDriver
from spoor.live.page_requests import PageRequests
from spoor.live.stop_rule import StopRule
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.types import Choice, Deferred, Failed, Fetch, Fetched, Outcome, Task
from spoor.web.urls import canonical
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

WANTED = "pottery, kiln, glaze, clay, porcelain, stoneware"
WORLD = GeneratedWorld(GeneratedSettings(pages=120, hosts=4, seed=5, target_share=0.3))

Capture = pytest.CaptureFixture[str]


# ---------------------------------------------------------------- a generated web, by the command


@pytest.fixture
def served() -> Iterator[Logged]:
    with logged(WORLD) as server:
        yield server


def crawl(server: Logged, out: Path, pages: int, *more: str) -> list[str]:
    return [
        *("crawl", WORLD.url_of(0), "--topic", WANTED, "--out", str(out), "--pages", str(pages)),
        *("--connect-to", f"{ADDRESS}:{server.port}", "--scope", "anywhere", "--delay", "0"),
        *("--per-host", "4", "--json", *more),
    ]


def said(capsys: Capture, command: Sequence[str], code: int = 0) -> dict[str, Any]:
    """The one JSON object that a command prints."""
    capsys.readouterr()
    assert run(list(command)) == code
    out, _ = capsys.readouterr()
    assert out.endswith("}\n")
    told: dict[str, Any] = json.loads(out)
    return told


def rows(out: Path, query: str) -> list[Any]:
    db = sqlite3.connect(out / "state.db")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def test_a_run_names_the_command_that_goes_on_with_it(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "my run"
    assert said(capsys, crawl(served, out, 4))["fetched"] == 4
    assert run(["crawl", "--out", str(out), "--pages", "8"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    _, _, command = line.partition(" goes on by: spoor ")
    again = shlex.split(command.replace("--pages=4", "--pages=6"))
    assert said(capsys, [again[0], "--json", *again[1:]])["fetched"] == 6
    # A line with thousands of seeds would be cut.
    seeds = [WORLD.url_of(0), *(f"http://pots.example/{at}" for at in range(2_000))]
    (tmp_path / "seeds").write_text("\n".join(seeds), "utf-8")
    settings = [
        "--topic=pottery",
        "--pages=2",
        "--delay=0",
        f"--connect-to=127.0.0.1:{served.port}",
    ]
    many = ["crawl", f"--out={tmp_path / 'many'}", *settings]
    assert said(capsys, [*many, "--json", str(tmp_path / "seeds")])["fetched"] == 2
    assert run(many[:2]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    _, _, command = line.partition(" goes on by: spoor ")
    command, _, seeds_of = command.partition(" where ")
    assert (
        seeds_of
        == f"FILE has its 2,001 seeds, one a line; they are in {tmp_path / 'many/spoor.toml'}"
    )
    again = shlex.split(command.replace("FILE", str(tmp_path / "seeds")))
    assert said(capsys, [again[0], "--json", *again[1:]])["resumed"]


def test_a_crawl_leaves_what_it_says(served: Logged, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    told = said(capsys, crawl(served, out, 30))
    assert told["fetched"] == 30, "the budget holds, with 16 in flight"
    assert told["stopped_because"] == "budget of 30 pages reached"
    assert not told["resumed"]
    assert len(served.pages) == told["requests"] == 30

    pages = rows(out, "SELECT url, relevant, score, path, warc_file, warc_offset FROM pages")
    assert {url for url, *_ in pages} == set(served.pages)
    assert sum(relevant for _, relevant, *_ in pages) == told["found"] > 0
    for url, _, _, path, *_ in pages:
        way = json.loads(path)
        assert way[0] == WORLD.url_of(0)
        assert way[-1] == url
        for above, below in pairwise(way):
            assert below in [link.url for link in WORLD.page(above).links]

    found = [json.loads(line) for line in (out / "relevant.jsonl").read_text("utf-8").splitlines()]
    assert {row["url"] for row in found} == {url for url, relevant, *_ in pages if relevant}
    assert all(row["score"] > 0 and row["why"] and row["title"] for row in found)

    report = (out / "report.html").read_text("utf-8")
    assert all(row["url"] in report for row in found[:50])
    assert not re.search(r"<(?:script|link|img|iframe)\b", report), "it asks nothing of anyone"

    archived = warc_pages(out / "pages.warc.gz")
    assert archived == {url: WORLD.document(url)[1].encode() for url in served.pages}  # type: ignore[index]
    by_offset = {offset: url for url, *_, offset in pages}
    with (out / "pages.warc.gz").open("rb") as file:
        for offset, url in by_offset.items():
            file.seek(offset)
            record = next(iter(ArchiveIterator(file)))
            assert record.rec_headers["WARC-Target-URI"] == url, "a page is found by its offset"


def warc_pages(file: Path) -> dict[str, bytes]:
    """URL → body, read by two readers that must agree."""
    gzip.decompress(file.read_bytes())
    by_warcio: dict[str, bytes] = {}
    kinds: list[str] = []
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            kinds.append(record.rec_type)
            if record.rec_type == "response":
                assert record.rec_headers["WARC-Target-URI"] not in by_warcio
                body = record.content_stream().read()
                by_warcio[record.rec_headers["WARC-Target-URI"]] = body
    assert kinds[0] == "warcinfo"
    assert kinds.count("request") == kinds.count("response") == len(by_warcio)
    by_fastwarc: dict[str, bytes] = {}
    with file.open("rb") as stream:
        for record in FastIterator(stream, record_types=WarcRecordType.response, parse_http=True):
            by_fastwarc[record.headers["WARC-Target-URI"]] = record.reader.read()
    assert by_fastwarc == by_warcio
    return by_warcio


def test_a_crawl_goes_on_and_asks_for_nothing_twice(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "run"
    told = said(capsys, crawl(served, out, 25))
    assert describe(told, out).endswith(f"the same command with --out {out} and more --pages")
    told = said(capsys, crawl(served, out, 60))
    assert told["resumed"]
    assert (told["fetched"], told["requests"]) == (60, 60)
    assert len(served.pages) == len(set(served.pages)) == 60
    assert rows(out, "SELECT count(*), count(DISTINCT url) FROM pages") == [(60, 60)]
    assert set(warc_pages(out / "pages.warc.gz")) == set(served.pages)
    lines = (out / "relevant.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line)["url"] for line in lines]
    assert len(found) == len(set(found)) == told["found"]
    again = said(capsys, crawl(served, out, 60))
    assert again["fetched"] == 60, "what is finished stays as it is"
    assert len(served.pages) == 60


def test_a_crawl_ends_when_it_has_found_enough(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    told = said(capsys, crawl(served, tmp_path / "run", 200, "--found", "3"))
    assert told["stopped_because"] == "found 3 relevant pages"
    assert "more --pages" not in describe(told, tmp_path / "run")
    told["stopped_because"] = "budget of 500 bytes reached"
    assert describe(told, tmp_path / "run").endswith("and more --max-bytes")
    assert 3 <= told["found"] <= told["fetched"] < 60
    # The same command goes on: the rule may change, the crawl may not.
    told = said(capsys, crawl(served, tmp_path / "run", 200, "--found", "6"))
    assert told["resumed"]
    assert told["found"] >= 6
    assert len(set(served.pages)) == len(served.pages)


def test_a_run_says_what_it_would_ask_for_and_why(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "run"
    said(capsys, crawl(served, out, 30))
    told = said(capsys, ["explain", str(out), "--json", "--top", "4"])
    coming = [link["url"] for link in told["next"]]
    assert len(coming) == 4
    assert not {*coming} & {url for (url,) in rows(out, "SELECT url FROM pages")}
    assert all(link["why"] for link in told["next"])
    # An open link: its value and the reasons for it, and where it was seen.
    for url in coming[:2]:
        link = said(capsys, ["explain", str(out), url, "--json"])
        assert link["open"]
        assert link["why"][0][0] == "value, in log-odds"
        assert [reason for reason, _ in link["why"][1:]]
        assert all(page in served.pages for page, *_ in link["seen"])
    assert run(["explain", str(out), coming[0]]) == 0
    assert "value, in log-odds" in capsys.readouterr().out
    assert run(["explain", str(out)]) == 0
    assert coming[0] in capsys.readouterr().out.partition("what it would ask for next")[2]
    assert run(["explain", str(out), "http://nowhere.example/"]) == 2
    assert "it is no open link" in capsys.readouterr().err
    said(capsys, crawl(served, out, 31))
    assert rows(out, "SELECT url FROM pages ORDER BY seq DESC LIMIT 1")[0][0] == coming[0]


def test_a_run_is_read_from_any_folder_and_moves_with_its_files(
    served: Logged, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "wanted.toml").write_text(f'name = "{WANTED}"\n', "utf-8")
    begin = [*crawl(served, Path("runs/one"), 20), "--topic-file", "wanted.toml"]
    at = begin.index("--topic")
    del begin[at : at + 2]
    monkeypatch.chdir(home)
    told = said(capsys, begin)
    assert told["fetched"] == 20
    monkeypatch.chdir(tmp_path)
    assert said(capsys, ["explain", "home/runs/one", "--json"])["next"]
    home.rename(tmp_path / "moved")
    assert said(capsys, ["explain", "moved/runs/one", "--json"])["topic"] == WANTED
    report = (tmp_path / "moved/runs/one/report.html").read_text("utf-8")
    assert f"Crawl for “{WANTED}”" in report, "the topic's name, not its file's"
    assert str(tmp_path) not in (tmp_path / "moved/runs/one/spoor.toml").read_text("utf-8")
    monkeypatch.chdir(tmp_path / "moved")
    begin[begin.index("--pages") + 1] = "25"
    told = said(capsys, begin)
    assert told["resumed"]
    assert told["fetched"] == 25


def test_a_crawl_ends_where_little_is_left_by_estimate(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "run"
    told = said(capsys, crawl(served, out, 200, "--saturation", "0.5", "--in-flight", "1"))
    assert told["stopped_because"].startswith("saturated: at most ")
    assert 50 <= told["fetched"] < 120
    low, middle, high = told["estimate"]["left"]
    assert low <= middle <= high
    assert high / (told["found"] + high) < 0.5
    report = (out / "report.html").read_text("utf-8")
    assert told["stopped_because"] in report
    assert "relevant pages left" in report
    told = said(capsys, crawl(served, out, 200))
    assert told["stopped_because"] == "no open link left"
    assert told["estimate"]["left"] == [0, 0, 0]
    assert run(["label", str(out), rows(out, "SELECT url FROM pages")[0][0], "yes"]) == 0
    assert "its policy learns it when the crawl goes on" in capsys.readouterr().out


def test_a_live_crawl_is_the_replayed_one(served: Logged, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "run"
    said(capsys, crawl(served, out, 40, "--policy", "breadth-first", "--in-flight", "1"))
    live = [url for (url,) in rows(out, "SELECT url FROM pages ORDER BY seq")]
    engine = Crawl(BreadthFirst(_task()), Keywords(["kiln"]), MemoryFrontier(), pages=40)
    engine.seed([WORLD.url_of(0)])
    assert live == [outcome.page.url for outcome in Replay(engine, WORLD) if outcome.page]


def test_a_crawl_ends_where_the_web_does(served: Logged, tmp_path: Path, capsys: Capture) -> None:
    told = said(capsys, crawl(served, tmp_path / "run", 1000))
    assert told["stopped_because"] == "no open link left"
    assert set(served.pages) == {WORLD.url_of(number) for number in range(120)}
    assert told["fetched"] == 120


def test_a_notebook_crawls_with_and_without_a_loop(served: Logged, tmp_path: Path) -> None:
    def one(name: str) -> spoor.CrawlRun:
        return spoor.run(
            WORLD.url_of(0),
            WANTED,
            out=tmp_path / name,
            pages=20,
            delay=0.0,
            per_host=4,
            scope="anywhere",
            connect_to=f"{ADDRESS}:{served.port}",
        )

    async def cell() -> spoor.CrawlRun:
        return one("within")

    for result in (one("without"), asyncio.run(cell())):
        assert result.fetched == result.figures["fetched"] == 20
        assert list(result.curve[-1]) == [20, result.found]
    with pytest.raises(spoor.InputError, match="unknown policy"):
        spoor.run(WORLD.url_of(0), WANTED, out=tmp_path / "none", policy="nearst")


# ---------------------------------------------------------------- a few pages, by the driver


def _task() -> Task:
    import numpy as np

    return Task(np.random.default_rng(0))


class Clock:
    """Stands still, but for what a test lets pass, and for what it `ticks` whenever it is read."""

    now = 1000.0

    def __init__(self, ticks: float = 0.0) -> None:
        self._ticks = ticks

    def __call__(self) -> float:
        self.now += self._ticks
        return self.now


async def fetched(
    server: Loopback,
    *seeds: str,
    clock: Clock | None = None,
    attempts: int = 3,
    serving: AbstractAsyncContextManager[object] | None = None,
    **settings: Any,
) -> list[tuple[str, Outcome | Deferred]]:
    """(URL asked for, what came of it) of a whole crawl; a wait is over at once."""
    time = clock or Clock()
    steps: list[tuple[str, Outcome | Deferred]] = []

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        steps.append((fetch.url, done))
        if isinstance(done, Deferred):
            time.now = max(time.now, done.until)

    async with server.serving():
        engine = Crawl(
            BreadthFirst(_task()),
            Keywords(["clay"]),
            MemoryFrontier(),
            attempts=attempts,
            admit=Scope(),
        )
        engine.seed(seeds)
        http = Settings(per_host=100, connect_to=f"{ADDRESS}:{server.port}", **settings)
        await HttpDriver(engine, http, clock=time, on_step=step).run()
    return steps


def ended(
    answer: Answer, *seeds: str, **settings: Any
) -> tuple[Loopback, list[tuple[str, Outcome | Deferred]]]:
    server = Loopback(answer)
    return server, asyncio.run(fetched(server, *seeds, **settings))


def failures(steps: Sequence[tuple[str, Outcome | Deferred]]) -> dict[str, str]:
    """URL → kind of its failure."""
    return {
        url: step.reply.kind
        for url, step in steps
        if isinstance(step, Outcome) and isinstance(step.reply, Failed)
    }


A = "http://a.example"
SIX = site(
    {
        "/": page("/open", "/shut", "/shut/in", "http://b.example/shut"),
        "/open": page("/shut", text="clay"),
        "/shut": page(),
        "/shut/in": page(),
    }
)


def with_robots(robots: bytes, host: str = "a.example") -> Answer:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return robots if asked.host == host else MISSING
        return SIX(asked)

    return answer


def test_robots_txt_is_obeyed_by_host() -> None:
    rules = reply("User-agent: *\nDisallow: /shut\n", media="text/plain")
    server, steps = ended(with_robots(rules), f"{A}/")
    assert failures(steps) == {f"{A}/shut": "robots", f"{A}/shut/in": "robots"}
    asked = [item.url for item in server.asked]
    assert f"{A}/shut" not in asked
    assert f"{A}/shut/in" not in asked
    assert "http://b.example/shut" in asked, "another host has rules of its own"
    assert asked.count(f"{A}/robots.txt") == asked.count("http://b.example/robots.txt") == 1


def test_a_site_without_a_scheme_is_asked_by_http_where_https_cannot_be_had() -> None:
    """The server speaks no TLS. Where http leads back, it is https that cannot be had."""
    either, only, back = "https://a.example/", "https://b.example/", "https://c.example/"

    def answer(asked: Asked) -> bytes:
        if asked.host == "c.example" and asked.path == "/":
            return reply("", 301, Location=back)
        return SIX(asked)

    server, steps = ended(
        *(answer, either, only, back),
        any_scheme=(either, back),
        timeout=0.2,
        attempts=2,
        clock=Clock(ticks=5.0),
    )
    failed = {url: kind.replace("timeout", "connection") for url, kind in failures(steps).items()}
    assert failed == {only: "connection", "http://c.example/": "connection"}
    assert {item.url for item in server.asked} > {f"{A}/robots.txt", f"{A}/", f"{A}/open"}
    tried = [step for url, step in steps if url == either]
    assert [step.until for step in tried if isinstance(step, Deferred)][1:], "https, twice"


def test_a_site_that_https_brought_is_not_asked_by_http() -> None:
    """Whatever becomes of its next page."""
    either, its = "https://a.example/", "http://a.example/"
    asks: Any = SimpleNamespace(_any_scheme={either}, _either={"a.example"})
    fetch = Fetch(0, either, "a.example", Choice(0))
    failed = Failed(0, "timeout", transient=True, retry_after=10.0)
    ask = partial(PageRequests._by_any_scheme, asks, fetch)
    told = ask(failed, answered=False)
    assert isinstance(told, Failed)
    assert told.instead == its
    assert told.retry_after is None, "what https wants to wait for holds up no request by http"
    assert ask(failed, answered=True) is failed
    assert ask(failed, answered=False) is failed


@pytest.mark.parametrize("status", [500, 503, 429])
def test_robots_txt_that_cannot_be_had_forbids_all(status: int) -> None:
    server, steps = ended(with_robots(reply("", status)), f"{A}/")
    assert server.pages == []
    assert failures(steps) == {f"{A}/": "robots"}
    told = steps[-1][1]
    assert isinstance(told, Outcome)
    assert isinstance(told.reply, Failed)
    assert f"could not be had (status {status})" in told.reply.reason
    waits = [step.until for _, step in steps if isinstance(step, Deferred)]
    assert waits == [1005.0, 1015.0], "asked for again 5 and 10 seconds later"


@pytest.mark.parametrize("bad", [reply("", 500), b"", reply("User-agent: *\nDis")[:-3]])
def test_robots_txt_that_fails_once_costs_no_page(bad: bytes) -> None:
    rules = reply("User-agent: *\nDisallow: /shut\n", media="text/plain")
    answers = [bad, bad, rules]

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return answers.pop(0) if asked.host == "a.example" else MISSING
        return SIX(asked)

    server, steps = ended(answer, f"{A}/")
    assert not answers
    assert failures(steps) == {f"{A}/shut": "robots", f"{A}/shut/in": "robots"}
    assert [asked.path for asked in server.asked if asked.host == "a.example"] == [
        *(["/robots.txt"] * 3),
        "/",
        "/open",
    ]


def test_rules_that_were_known_hold_while_their_file_cannot_be_had() -> None:
    clock, asked_for = Clock(), list[float]()

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            asked_for.append(clock.now)
            return (
                reply("Disallow: /", 500)
                if asked_for[1:]
                else reply("User-agent: *\nDisallow: /shut\n", media="text/plain")
            )
        clock.now += 90_000.0  # each page a day later
        return SIX(asked)

    server, steps = ended(answer, f"{A}/open", f"{A}/", clock=clock)
    assert {url for url in failures(steps) if url.startswith(A)} == {f"{A}/shut", f"{A}/shut/in"}
    assert server.pages[:2] == ["/open", "/"]
    assert len(asked_for) >= 2


@pytest.mark.parametrize(
    ("longest", "seeds"),
    [
        (15.0, (f"{A}/", f"{A}/open")),
        (300.0, (f"{A}/", f"{A}/open", "http://b.example/")),
    ],
)
def test_a_crawl_does_not_wait_for_ever_for_hosts_that_are_gone(
    longest: float, seeds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits less once it has done with all others."""
    monkeypatch.setattr("spoor.live.end_of_waiting.LONGEST_WAIT", longest)
    monkeypatch.setattr("spoor.live.end_of_waiting.UNREACHED_WAIT", 15.0)
    server = Loopback(with_robots(reply("", 500)))
    reasons = list[str]()

    async def crawl() -> None:
        clock = Clock()

        def step(fetch: Fetch, done: Outcome | Deferred) -> None:
            if isinstance(done, Deferred):
                clock.now = max(clock.now, done.until)

        async with server.serving():
            frontier = MemoryFrontier(per_host=1)
            scope = CrawlFilter(Scope.of(seeds, "host"))
            engine = Crawl(BreadthFirst(_task()), Keywords(["clay"]), frontier, link_filter=scope)
            engine.seed(seeds)
            http = Settings(per_host=100, delay=0.0, connect_to=f"{ADDRESS}:{server.port}")
            reasons.append((await HttpDriver(engine, http, clock=clock, on_step=step).run()).reason)
            assert frontier.open_count == 1, "what was not asked for is still there"

    asyncio.run(crawl())
    assert reasons == ["only hosts are left that cannot be reached: robots.txt of http://a.example"]
    assert sum(asked.host == "a.example" for asked in server.asked) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_no_robots_txt_forbids_nothing(status: int) -> None:
    server, steps = ended(with_robots(reply("User-agent: *\nDisallow: /", status)), f"{A}/open")
    assert server.pages == ["/open", "/shut"]
    assert not failures(steps)


def test_robots_txt_may_stand_elsewhere() -> None:
    rules = reply("User-agent: *\nDisallow: /shut\n", media="text/plain")

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return reply("", 301, Location="http://c.example/rules")
        if asked.path == "/rules":
            return rules
        return SIX(asked)

    server, steps = ended(answer, f"{A}/open")
    assert failures(steps) == {f"{A}/shut": "robots"}
    assert server.pages == ["/rules", "/open"]


def test_robots_txt_can_be_left_out_on_request() -> None:
    rules = reply("User-agent: *\nDisallow: /\n", media="text/plain")
    server, _ = ended(with_robots(rules), f"{A}/open", robots=False)
    assert [asked.path for asked in server.asked] == ["/open", "/shut"]


def test_redirects_go_hop_by_hop() -> None:
    pages = {f"/{hop}": reply("", 302, Location=f"/{hop + 1}") for hop in range(4)}
    server, steps = ended(site({**pages, "/4": page(text="<h1>clay</h1>")}), f"{A}/0")
    assert [type(step) for _, step in steps] == [Deferred] * 4 + [Outcome]
    assert server.pages == ["/0", "/1", "/2", "/3", "/4"]
    last = steps[-1][1]
    assert isinstance(last, Outcome)
    assert last.page is not None
    assert last.page.url == f"{A}/4"
    assert last.judgement is not None
    assert last.judgement.relevant


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:9/", "http://[::1]/", "http://169.254.169.254/latest/"]
)
def test_a_redirect_to_a_private_address_is_refused(location: str) -> None:
    server, steps = ended(site({"/": reply("", 302, Location=location)}), f"{A}/")
    assert failures(steps) == {location: "blocked"}
    assert server.pages == ["/"]


def test_a_redirect_to_no_url_is_a_failure() -> None:
    for location in ("mailto:x@a.example", "http://[", "javascript:void(0)"):
        _, steps = ended(site({"/": reply("", 302, Location=location)}), f"{A}/")
        assert failures(steps) == {f"{A}/": "redirect"}
    _, steps = ended(site({"/": reply("", 302)}), f"{A}/")
    assert failures(steps) == {f"{A}/": "redirect"}


def test_redirects_end_after_ten() -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        return reply("", 302, Location=f"{asked.path}0")

    server, steps = ended(answer, f"{A}/1")
    assert len(server.pages) == 11
    assert list(failures(steps).values()) == ["redirect"]


def test_a_redirect_in_a_circle_ends_at_once() -> None:
    pages = {"/a": reply("", 302, Location="/b"), "/b": reply("", 302, Location="/a")}
    server, steps = ended(site(pages), f"{A}/a")
    assert server.pages == ["/a", "/b"]
    assert list(failures(steps).values()) == ["duplicate"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_host_says_how_long_to_wait(status: int) -> None:
    clock, times = Clock(), []

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        times.append((asked.path, clock.now))
        if len(times) == 1:
            return reply("", status, Retry_After="120")
        return page("/two") if asked.path == "/one" else page()

    server, steps = ended(answer, f"{A}/one", f"{A}/two", clock=clock, in_flight=1)
    first = steps[0][1]
    assert isinstance(first, Deferred)
    assert first.until == 1000.0 + 120
    assert times[0] == ("/one", 1000.0)
    assert all(at >= 1120.0 for _, at in times[1:]), "nothing else of the host is asked meanwhile"
    assert sorted(server.pages) == ["/one", "/one", "/two"]
    assert not failures(steps)


def test_a_date_in_retry_after_is_understood() -> None:
    waits = []
    for value in ("Thu, 01 Jan 1970 00:20:00 GMT", "soon", "-5"):
        answers = [reply("", 503, Retry_After=value), page()]

        def answer(asked: Asked, left: list[bytes] = answers) -> bytes:
            return MISSING if asked.path == "/robots.txt" else left.pop(0)

        _, steps = ended(answer, f"{A}/")
        assert isinstance(steps[0][1], Deferred)
        waits.append(steps[0][1].until - 1000.0)
    assert waits == [200.0, 5.0, 5.0], "what is no time is waited for as any failure"


def test_a_failing_server_is_asked_three_times_ever_later() -> None:
    server, steps = ended(
        lambda asked: MISSING if asked.path == "/robots.txt" else reply("", 500), f"{A}/"
    )
    waits = [step.until for _, step in steps if isinstance(step, Deferred)]
    assert waits == [1005.0, 1015.0]
    assert server.pages == ["/", "/", "/"]
    assert failures(steps) == {f"{A}/": "http"}


def test_what_is_not_wanted_is_not_read() -> None:
    head = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41"
    big = reply(head + b"\0" * 4_000_000, media="video/mp4")
    _, steps = ended(site({"/": big}), f"{A}/")
    outcome = steps[0][1]
    assert isinstance(outcome, Outcome)
    assert isinstance(outcome.reply, Fetched)
    assert outcome.reply.size == 0
    assert outcome.reply.page.content_type == "video/mp4"


def test_nofollow_of_a_page_a_header_and_a_link_is_obeyed() -> None:
    pages = {
        "/": page("/meta", "/header"),
        "/meta": reply('<meta name=robots content=nofollow><a href="/1">1</a>'),
        "/header": reply('<a href="/2">2</a>', X_Robots_Tag="nofollow"),
        "/link": reply('<a rel="nofollow" href="/3">3</a><a href="/4">4</a>'),
    }
    server, _ = ended(site(pages), f"{A}/", f"{A}/link")
    assert sorted(server.pages) == ["/", "/4", "/header", "/link", "/meta"]


def test_no_secret_is_sent_back_and_no_cookie_unless_asked_for() -> None:
    pages = {"/": reply('<a href="/b">b</a>', Set_Cookie="a=b"), "/b": page()}
    start = canonical("http://user:secret@a.example/")
    for kept in (False, True):
        server, _ = ended(site(pages), start, keep_cookies=kept)
        assert len(server.heads) == 3
        for head in server.heads:
            text = head.lower()
            assert "user-agent: spoor/" in text
            assert ("cookie: a=b" in text) == (kept and text.startswith("get /b"))
            for word in ("authorization", "secret", "referer"):
                assert word not in text


def test_a_run_ends_when_it_has_found_enough_or_too_little() -> None:
    rule = StopRule(Settings(found=3))
    assert rule.reason(2, [True, True]) is None
    assert rule.reason(3, [True]) == "found 3 relevant pages"
    rule = StopRule(Settings(floor=0.5, window=4))
    assert rule.reason(1, [False] * 3) is None
    assert rule.reason(2, [True, True, False, False]) is None
    assert rule.reason(1, [True, False, False, False]) == (
        "harvest of the last 4 pages fell to 25.0%"
    )
