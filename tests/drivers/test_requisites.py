"""`--requisites`: what pages need to be shown is archived with them, and nothing else changes."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # has no stubs

from kills import KilledError
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
from spoor.errors import InputError
from spoor.formats.warc_writer import Place
from spoor.live import requisites
from spoor.live.live_crawl import LiveCrawl
from spoor.live.requisites import PAGES_EACH, Requisites
from spoor.runs.assemble import make_crawl
from spoor.runs.forget import forget
from spoor.runs.reader import Run
from spoor.runs.requisite_queue import MOST_BYTES, MOST_SECONDS, DuePage, RequisiteQueue
from spoor.runs.requisites import asked_of, needed_by_pages, requisite_totals
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.views.explain import in_lines, of_page
from spoor.web.exchange import Requisite

pytestmark = pytest.mark.server

A, CDN = "http://a.example", "http://cdn.other.example"
ONE = f"""<title>one</title><p>clay, clay and clay, and again clay</p><link rel=stylesheet href=/s.css>
<script src="{CDN}/x.js"></script><img src=/one.png srcset="/large.png 2x"><img src=/gone.png>
<img src=/barred/b.png><img src=/moved.png><img src=data:image/png;base64,AA><img src=/log-out?action=logout>"""
TWO = "<title>two</title><p>nothing</p><link rel=stylesheet href=/s.css><img src=/two.png>"
HOME = "<title>home</title><p>pages</p><a href=/one>one</a> <a href=/two>two</a><img src=/home.png>"
OF_ONE = {
    f"{A}/{name}"
    for name in "s.css t.css f.woff t.png one.png large.png gone.png moved.png".split()
} | {f"{CDN}/x.js", f"{CDN}/new.png"}


class Site(Loopback):
    """Three pages; style sheets that import one another, and what they need on two hosts."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.version = ""
        self.stop: LiveCrawl | None = None

    def _answer(self, asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return reply("User-agent: *\nDisallow: /barred/", media="text/plain")
        pages = {"/": HOME, "/one": ONE, "/two": TWO}
        if asked.path in pages:
            return reply(pages[asked.path], ETag='"1"')
        if asked.path == "/moved.png":
            return reply(status=302, Location=f"{CDN}/new.png")
        if asked.path == "/s.css":
            if 'If-None-Match: "s"' in self.heads[-1] and not self.version:
                return reply(status=304, ETag='"s"')
            css = f'@import "t.css"; @font-face {{ src: url(f.woff{self.version}) }}'
            return reply(css, media="text/css", ETag='"s"')
        if asked.path == "/t.css":
            return reply(
                gzip.compress(b"@import '/s.css'; a { background: url(t.png) }", mtime=0),
                media="text/css",
                Content_Encoding="gzip",
            )
        if asked.path.endswith((".png", ".woff", ".js", ".woff2")) and "gone" not in asked.path:
            return reply(asked.url.encode() * 9, media="image/png")
        return MISSING

    def new(self) -> list[str]:
        """URLs asked for since the last call, robots.txt left out."""
        urls = [one.url for one in self.asked if one.path != "/robots.txt"]
        self.asked.clear()
        return urls


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site()
    with beside(server.serving):
        yield server


def settings_of(site: Site, **more: Any) -> Settings:
    return Settings(
        **{
            "seeds": (f"{A}/",),
            "want": ("text:clay",),
            "policy": "breadth-first",
            "delay": 0.0,
            "render": "never",
            "connect_to": f"{ADDRESS}:{site.port}",
            "requisites": "relevant",
            **more,
        }
    )


def crawl(site: Site, out: Path, kill_at: int = 0, **more: Any) -> dict[str, Any]:
    """Crawl to the end; `kill_at`: the process dies after so many commits once pages are over."""
    settings = settings_of(site, **more)
    commits = 0

    def at(point: str) -> None:
        nonlocal commits
        over = run is not None and run._requisites is not None and run._requisites.words is not None
        commits += point == "committed" and over
        if kill_at and commits == kill_at:
            raise KilledError

    run: LiveCrawl | None = None
    with closing(RunWriter(out, settings, failpoint=at)) as folder:
        run = LiveCrawl(folder, make_crawl(settings))
        return run.summary(run.run())


def archived(file: Path) -> Counter[tuple[str, str]]:
    """(type, URL) of each record."""
    with file.open("rb") as stream:
        return Counter(
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or "")
            for record in ArchiveIterator(stream)
        )


def lengths(file: Path) -> dict[tuple[str, str], str]:
    """Content-Length of each record of a reply; empty where it has no headers."""
    with file.open("rb") as stream:
        return {
            (one.rec_type, one.rec_headers.get_header("WARC-Target-URI")): (
                one.http_headers and one.http_headers.get_header("Content-Length")
            )
            or ""
            for one in ArchiveIterator(stream)
            if one.rec_type in ("response", "revisit")
        }


@pytest.fixture(scope="module")
def whole(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    site.new()
    summary = crawl(site, out)
    assert Counter(site.new()) == Counter({*OF_ONE, f"{A}/", f"{A}/one", f"{A}/two"})
    assert (summary["fetched"], summary["found"], summary["failed"]) == (3, 1, 0)
    assert summary["requisites"]["words"] == "8 fetched, 1 failed, 1 forbidden by robots.txt"
    return out


def test_what_a_relevant_page_needs_is_asked_for_once_and_archived(whole: Path) -> None:
    records = archived(whole / "pages.warc.gz")
    for url in OF_ONE:
        assert records["response", url] == records["request", url] == records["metadata", url] == 1
    assert [row.url for row in Run(whole).pages()] == [f"{A}/", f"{A}/one", f"{A}/two"]
    told = in_lines(of_page(whole, f"{A}/gone.png"))
    assert told[1] == f"  no page, but {A}/one needs it to be shown: absent (404 Not Found)"
    Run(whole).export(whole.parent / "crawl.log")
    lines = [line.split() for line in (whole.parent / "crawl.log").read_text().splitlines()]
    hops = {line[3]: (line[4], line[5], line[11]) for line in lines}
    assert hops[f"{A}/t.png"] == ("LEEE", f"{A}/t.css", "requisite")
    assert hops[f"{CDN}/new.png"] == ("LER", f"{A}/moved.png", "requisite")
    assert hops[f"{A}/barred/b.png"][2].startswith("robots")
    assert hops[f"{A}/one"][0] == "L"


def test_an_export_carries_what_its_pages_need_each_once(whole: Path, site: Site) -> None:
    out = whole.parent / "one.warc.gz"
    assert Run(whole).export(out) == 1
    records = archived(out)
    assert {url for kind, url in records if kind == "response"} == {*OF_ONE, f"{A}/one"}
    assert max(records.values()) == 1
    alone = whole.parent / "all.wacz"
    assert Run(whole).export(alone, everything=True) == 3


def test_pages_that_are_found_later_get_theirs_and_none_is_asked_for_twice(
    site: Site, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    site.new()
    assert crawl(site, out, requisites="none")["requisites"] is None
    assert requisite_totals(out) is None
    assert len(site.new()) == 3
    crawl(site, out)
    assert Counter(site.new()) == Counter(OF_ONE)
    Run(out).label(f"{A}/two", True)
    crawl(site, out)
    assert site.new() == [f"{A}/two.png"]
    crawl(site, out, requisites="all")
    assert site.new() == [f"{A}/home.png"]


@pytest.mark.parametrize("kill_at", [1, 3])
def test_after_a_kill_only_what_was_in_flight_is_asked_for_again(
    site: Site, tmp_path: Path, kill_at: int
) -> None:
    site.new()
    with pytest.raises(KilledError):
        crawl(site, tmp_path / "run", kill_at, in_flight=2)
    before = Counter(site.new())
    known = requisite_totals(tmp_path / "run")
    assert known is not None
    summary = crawl(site, tmp_path / "run", in_flight=2)
    again = Counter(site.new())
    assert {*before, *again} >= OF_ONE
    assert max((before + again).values()) <= 2
    assert len({*before} & {*again}) <= 2
    assert summary["requisites"]["words"] == "8 fetched, 1 failed, 1 forbidden by robots.txt"


def test_a_stop_leaves_them_and_the_same_command_goes_on(site: Site, tmp_path: Path) -> None:
    settings = settings_of(site, in_flight=1)
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        run = LiveCrawl(folder, make_crawl(settings))

        def second(wait: object) -> None:
            assert run._driver is not None
            if run._requisites is not None and run._requisites.words is not None:
                run._driver.stop("interrupted", 0.0)

        answer = site.answer

        def stops(asked: Asked) -> bytes:
            if asked.path == "/s.css":
                second(None)
            data = answer(asked)
            assert isinstance(data, bytes)
            return data

        site.answer = stops
        try:
            assert run.run() == "interrupted"
        finally:
            site.answer = answer
        summary = run.summary("interrupted")
    assert summary["requisites"]["waiting"] >= 6
    assert "the same command goes on" in summary["requisites"]["words"]
    assert crawl(site, tmp_path / "run")["requisites"]["waiting"] == 0


def test_a_refresh_asks_again_and_archives_what_did_not_change_as_a_revisit(
    site: Site, whole: Path, tmp_path: Path
) -> None:
    site.new()
    told = crawl(site, tmp_path / "again", refresh=str(whole))["requisites"]
    assert {url for url in site.new() if "." in url.rpartition("/")[2]} >= OF_ONE - {
        f"{A}/gone.png"
    }
    assert (told["fetched"], told["unchanged"], told["waiting"]) == (0, 8, 0)
    records = archived(tmp_path / "again" / "pages.warc.gz")
    assert records["revisit", f"{A}/s.css"] == records["response", f"{A}/s.css"] == 1
    assert records["revisit", f"{CDN}/x.js"] == 1
    # Players send the headers of a revisit by payload before that payload.
    said = lengths(tmp_path / "again" / "pages.warc.gz")
    assert said["revisit", f"{CDN}/x.js"] == said["response", f"{CDN}/x.js"] == "261"
    assert said["revisit", f"{A}/s.css"] == ""  # by the word of its server
    site.version = "2"
    try:
        told = crawl(site, tmp_path / "changed", refresh=str(whole))["requisites"]
    finally:
        site.version = ""
    assert (told["fetched"], told["unchanged"]) == (2, 6)  # the style sheet, and its new font
    Run(tmp_path / "changed").export(tmp_path / "new.warc.gz")
    urls = {url for kind, url in archived(tmp_path / "new.warc.gz") if kind == "response"}
    assert f"{A}/f.woff2" in urls
    assert f"{A}/f.woff" not in urls


def test_with_a_page_goes_what_it_alone_needs(site: Site, tmp_path: Path) -> None:
    out = tmp_path / "run"
    crawl(site, out, requisites="all")
    for name in ("all.wacz", "all.warc.gz"):
        Run(out).export(out / name, everything=True)
    told = forget(out, [f"{A}/one", f"{A}/home.png"])
    assert told.requisites == 1 + len(OF_ONE) - 4 + 1  # the barred picture, too
    left = {f"{A}/s.css", f"{A}/t.css", f"{A}/t.png", f"{A}/f.woff", f"{A}/two.png"}
    for file in [*out.glob("pages*.warc.gz"), out / "all.warc.gz"]:
        urls = {url for kind, url in archived(file) if kind == "response"}
        assert urls == {*left, f"{A}/", f"{A}/two"}
    assert Run(out).export(tmp_path / "left.wacz", everything=True) == 2
    assert Run(out).export(tmp_path / "left.warc.gz", everything=True) == 2
    assert archived(tmp_path / "left.warc.gz")["response", f"{A}/t.png"] == 1
    site.new()
    crawl(site, out, requisites="all")
    assert site.new() == []


class Hosts:
    """The politeness of a crawl with one host that has links."""

    def __init__(self) -> None:
        self.now = 100.0
        self.listed = self.looked_at = 0

    def hosts(self) -> list[tuple[str, int, int, float]]:
        self.listed += 1
        return [("a.example", 3, 1, self.now + 1.0), ("held.example", 0, 0, 150.0)]

    def delay(self, host: str) -> float:
        self.looked_at += 1
        return 1.0

    def hold(self, host: str, until: float) -> None: ...
    def pace(self, host: str, delay: float) -> None: ...


def asking(folder: RunWriter, hosts: Hosts, urls: list[str]) -> Requisites:
    """Of a page that names these."""
    assert folder.requisites is not None
    asks = Requisites(
        folder, folder.requisites, hosts=lambda: hosts, clock=lambda: hosts.now,
        wall=lambda: hosts.now, commit=lambda: None, report=print, on_bytes=lambda size: None,
    )  # fmt: skip
    asks._wait_for(folder.requisites.add_of_page(page_of(1), [Requisite(url) for url in urls], 0))
    return asks


def page_of(ticket: int) -> DuePage:
    return DuePage(ticket, ticket, f"{A}/", Place("pages.warc.gz", 0, 1))


def test_pages_come_first(tmp_path: Path) -> None:
    """A host that has pages is asked for one requisite after some of them; the rest comes then."""
    hosts = Hosts()
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all", per_host=1)
    urls = [f"{A}/1.png", f"{A}/2.png", f"{CDN}/3.png", "http://held.example/4.png"]
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        asks = asking(folder, hosts, urls)

        def chosen() -> list[str]:
            return [one.row.url for one in asks._choose()]

        assert chosen() == [f"{CDN}/3.png"]
        for _ in range(PAGES_EACH):
            assert chosen() == []
            asks.came("a.example")
        assert chosen() == [f"{A}/1.png"]
        assert chosen() == []
        asks.finish()
        asks._hosts["a.example"].flying = 0  # its answer came
        assert chosen() == [f"{A}/2.png"]
        hosts.now += 50.0
        assert chosen() == ["http://held.example/4.png"]


def test_a_turn_looks_at_a_part_of_the_hosts_and_the_others_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requisites, "_LOOKED_AT", 10)
    hosts = Hosts()
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all", in_flight=400)
    urls = [f"http://{number}.example/p.png" for number in range(25)]
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        asks, chosen = asking(folder, hosts, urls), list[str]()
        for _ in range(3):
            hosts.looked_at = 0
            chosen += [one.row.url for one in asks._choose()]
            assert hosts.looked_at <= 10
        assert sorted(chosen) == sorted(urls)
        assert asks._left == 0


def test_a_page_that_is_damaged_in_the_archive_gets_its_own_once_it_is_put_back(
    site: Site, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    crawl(site, out, requisites="none")
    archive = out / "pages.warc.gz"
    whole = archive.read_bytes()
    archive.write_bytes(bytes(len(whole)))
    crawl(site, out)
    site.new()
    archive.write_bytes(whole + archive.read_bytes()[len(whole) :])
    crawl(site, out)
    assert Counter(site.new()) == Counter(OF_ONE)


def test_what_a_page_asked_for_in_a_browser_is_what_it_needs(site: Site, tmp_path: Path) -> None:
    out = tmp_path / "run"
    crawl(site, out, requisites="none")
    site.new()
    asked = [Requisite(f"{A}/data.png?of=script", by_script=True), Requisite(f"{A}/s.css", True)]
    later = Requisite(f"{A}/later.png")
    refused = [Requisite(f"{A}/log-out?action=logout"), Requisite("HTTP://a.example/%zz")]
    refused.append(Requisite(f"{A}/{'x' * 20_000}.png"))
    settings = settings_of(site)
    # The second time its page was read before.
    for named, come in (([*asked, *refused], [*OF_ONE, asked[0][0]]), ([later], [later[0]])):
        with closing(RunWriter(out, settings)) as folder:
            assert folder.requisites is not None
            for page in ("one", "two"):
                folder.requisites.note_asked(f"{A}/{page}", named)
            LiveCrawl(folder, make_crawl(settings)).run()
        assert Counter(site.new()) == Counter(come)
    # A page that is not rendered again needs it still.
    again = tmp_path / "again"
    crawl(site, again, refresh=str(out))
    assert later[0] in site.new()
    with needed_by_pages(again) as needed:
        assert needed is not None
        one = next(row for row in Run(again).pages() if row.url == f"{A}/one")
        assert later[0] in {row.url for row in needed.closure(needed.of_page(one.ticket), set())}
    # It waits until its page is relevant, and no longer than that page is there.
    with closing(sqlite3.connect(out / "state.db")) as db:
        waiting = "SELECT url FROM asked_in_browser WHERE waits"
        assert db.execute(waiting).fetchall() == [(f"{A}/two",)]
        forget(out, [f"{A}/two"])
        assert db.execute(waiting).fetchall() == []


@pytest.mark.parametrize(
    "urls", ["{", "[[1, 1]]", "7", '"x"', "[" * 9_000, json.dumps([[1, 1, 1]] * 1_001)]
)
def test_what_a_stranger_says_was_asked_for_is_refused(urls: str) -> None:
    with pytest.raises(InputError, match="asked for in a browser is damaged"):
        asked_of("http://a.example/\x1b", urls)


def test_tables_of_another_version_are_told(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as db:
        db.execute("CREATE TABLE asked_in_browser (url TEXT PRIMARY KEY, urls TEXT)")
        with pytest.raises(InputError, match="no such column: waits"):
            RequisiteQueue(tmp_path, db, everything=True)


def test_whoever_names_it_first_a_page_s_own_is_asked_for_by_its_user_s_name(
    tmp_path: Path,
) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        queue = folder.requisites
        assert queue is not None
        own = list[bool]()
        for seq, url in enumerate((f"{CDN}/", "http://c.example/", f"{A}/"), 1):
            columns = f"{seq}, '{url}', 'x', 200, 0.0, 0.0, 1, 1.0, 1, '', '[]', '[]', 1.0, '[]'"
            folder._db.execute(f"INSERT INTO pages VALUES ({columns}, NULL, 0, 1, {seq}, '')")
            queue.add_of_page(page_of(seq), [Requisite(f"{A}/1.png")], 0)
            row = queue.row(1)
            assert row is not None
            own.append(row.own)
        assert own == [False, False, True]
        # What scripts ask of a sister host is asked by nobody's name, and so is where it redirects.
        sister = "http://sub.a.example"
        queue.add_of_page(
            page_of(3),
            [
                Requisite(f"{sister}/2.png"),
                Requisite(f"{sister}/3.json", by_script=True),
                Requisite(f"{A}/4.json", by_script=True),
            ],
            0,
        )
        read = queue.row(4)
        assert read is not None
        queue.add_of(read, [Requisite(f"{sister}/5.json")], letter="R")
        rows = [queue.row(number) for number in (2, 3, 4, 5)]
        assert [row and (row.path, row.own) for row in rows] == [
            ("E", True),
            ("X", False),
            ("X", True),
            ("XR", False),
        ]


def test_mute_hosts_do_not_cost_a_page_what_others_answer_at_once(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        assert folder.requisites is not None
        asks = asking(folder, Hosts(), [f"{CDN}/1.png", "http://mute.example/2.png"])
        row = folder.requisites.row(1)
        assert row is not None
        folder.requisites.took(row, 0, MOST_SECONDS)
        asks._answers.see("cdn.other.example", None, 0.1)
        assert [one.row.url for one in asks._choose()] == [f"{CDN}/1.png"]
        assert folder.requisites.totals().left_out == 1
        folder.requisites.took(row, MOST_BYTES, 0.0)
        assert folder.requisites.spent(row, quick=True)


def test_it_is_told_how_long_the_slowest_host_takes(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    urls = [f"{A}/{number}.png" for number in range(200)]
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        asks = asking(folder, Hosts(), [*urls, f"{CDN}/x.png"])
        asks.finish()
        wait = asks.words
        assert wait is not None
        told = "the pages are done; requisites: 0 asked for, 201 wait"
        assert wait.words(0.0) == f"{told}, those of a.example about 3 minutes"


def test_a_host_with_a_long_delay_is_asked_to_the_end(tmp_path: Path) -> None:
    hosts = Hosts()
    hosts.delay = lambda host: 90.0  # type: ignore[method-assign]
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all", per_host=2)
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        asks = asking(folder, hosts, [f"{CDN}/1.png", f"{CDN}/2.png"])
        asks.finish()
        assert len(asks._choose()) == 1
        host = asks._hosts["cdn.other.example"]
        host.flying, host.free_at = 0, hosts.now + 90.0
        assert asks._choose() == []
        hosts.now += 90.0
        assert len(asks._choose()) == 1


def test_time_that_is_over_ends_them_where_a_rule_had_ended_the_pages(
    site: Site, tmp_path: Path
) -> None:
    settings = settings_of(site, max_time=60.0)
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        run = LiveCrawl(folder, make_crawl(settings))
        run.driver()
        assert run._requisites is not None
        run._rule_applied = True  # so many were found
        assert run._stop_if_used(60.0)
        assert run._requisites._until is not None


def test_what_style_sheets_name_comes_before_the_rest_of_a_page(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        queue = folder.requisites
        assert queue is not None
        asks = asking(folder, Hosts(), [f"{CDN}/s.css", f"{CDN}/1.png", f"{CDN}/2.png"])
        (style,) = asks._choose()
        asks._goes_first(queue.add_of(style.row, [Requisite(f"{CDN}/f.woff")]))
        asks._hosts["cdn.other.example"].flying = 0
        assert [one.row.url for one in asks._choose()] == [f"{CDN}/f.woff"]


def test_what_one_page_left_out_is_asked_for_once_another_one_names_it(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    logo = Requisite(f"{A}/logo.png")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        queue = folder.requisites
        assert queue is not None
        ((number, _),) = queue.add_of_page(page_of(1), [logo], 0)
        row = queue.row(number)
        assert row is not None
        queue.leave_out(row, "its page has had what it may take", 0.0)
        assert queue.add_of_page(page_of(1), [logo], 0) == []
        assert queue.add_of_page(page_of(2), [logo], 0) == [(number, f"{A}/logo.png")]
        row = queue.row(number)
        assert row is not None
        assert (row.page, row.outcome, row.reason) == (2, "", "")


def test_metadata_says_what_they_are_for(whole: Path) -> None:
    with (whole / "pages.warc.gz").open("rb") as stream:
        said = [
            json.loads(record.content_stream().read().partition(b": ")[2])
            for record in ArchiveIterator(stream)
            if record.rec_type == "metadata"
            and record.rec_headers.get_header("WARC-Target-URI") == f"{A}/t.png"
        ]
    assert said == [{"requisite": "EEE", "found_on": f"{A}/t.css"}]
