"""Pages and style sheets that are made to cost: what they name is bounded, and asked for by the rules of
every request."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
from spoor.errors import InputError
from spoor.formats.warc_writer import Place
from spoor.isolate.helper_pool import HelperQueue
from spoor.live import requisite_hosts, requisites
from spoor.live.live_crawl import LiveCrawl
from spoor.live.requisite_reader import BOUNDS, Named, RequisiteReader
from spoor.runs import files, requisite_queue, schema
from spoor.runs.assemble import make_crawl
from spoor.runs.requisite_queue import DuePage
from spoor.runs.requisites import TABLES, Needed, all_requisites, requisite_totals
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.web.exchange import Requisite
from spoor.web.requisites import of_html, of_style, requisites_row_of

A = "http://a.example"


class Site(Loopback):
    """Its home page, and what its requisites are."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.home = b""
        self.robots = True
        """Whether hosts that are silent have a robots.txt."""

    def _answer(self, asked: Asked) -> bytes | AsyncIterator[bytes]:
        if asked.path == "/":
            return reply(self.home)
        if asked.path.startswith("/loop"):  # each imports another one, without end
            number = int(asked.path[5:].partition(".")[0])
            css = f"@import '/loop{number}.css'; @import '/loop{number + 1}.css'"
            return reply(css, media="text/css")
        if asked.path.startswith("/round"):
            return reply(status=302, Location=f"/round{int(asked.path[6:]) + 1}")
        if asked.path.startswith("/named"):  # a file of gzip that is all name
            return reply(b"\x1f\x8b\x08\x08" + b"n" * 40_000, Content_Encoding="gzip")
        if asked.path.startswith("/silent"):
            return self._nothing()
        if asked.path.startswith("/picture"):
            return reply(b"x" * 1000, media="image/png", Set_Cookie="seen=1; Path=/")
        if asked.path == "/robots.txt" and "silent" in asked.host and not self.robots:
            return self._nothing()
        return MISSING

    async def _nothing(self) -> AsyncIterator[bytes]:
        if not self.robots:
            await asyncio.sleep(60)  # whoever asks has gone by then
        yield b""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site()
    with beside(server.serving):
        yield server


def crawl(site: Site, out: Path, home: str, **more: Any) -> Counter[str]:
    """Crawl the home page and what it needs; how often each outcome is."""
    site.home = home.encode()
    settings = Settings(
        **{
            "seeds": (f"{A}/",),
            "want": ("url:.",),
            "delay": 0.0,
            "robots": False,
            "backoff": 0.0,
            "pages": 1,
            "render": "never",
            "connect_to": f"{ADDRESS}:{site.port}",
            "requisites": "all",
            **more,
        }
    )
    with closing(RunWriter(out, settings)) as folder:
        run = LiveCrawl(folder, make_crawl(settings))
        assert run.run() == "budget of 1 pages reached"
    return Counter(row.outcome for row in all_requisites(out))


@pytest.mark.server
def test_style_sheets_that_import_without_end_and_redirects_in_a_row_end(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requisite_queue, "MOST_PATH", 3)
    found = crawl(site, tmp_path / "run", "<link rel=stylesheet href=/loop1.css><img src=/round1>")
    assert found == {"fetched": 3, "redirected": 3}


@pytest.mark.server
def test_a_page_has_so_many_requisites_and_bytes_and_seconds(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requisite_queue, "MOST_OF_A_PAGE", 30)
    monkeypatch.setattr(requisite_queue, "MOST_BYTES", 10_500)
    pictures = "".join(f"<img src=/picture{number}>" for number in range(100))
    found = crawl(site, tmp_path / "run", pictures, in_flight=1)
    assert found == {"fetched": 10}
    totals = requisite_totals(tmp_path / "run")
    assert totals is not None
    assert (totals.fetched, totals.left_out, totals.waiting) == (10, 90, 0)


def test_pages_of_a_site_have_bounds_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MOST_BYTES_OF_SITE", 900), ("BYTES_EACH", 100), ("MOST_OF_SITE", 4)):
        monkeypatch.setattr(requisite_queue, name, most)
    monkeypatch.setattr(requisite_queue, "EACH", 1)
    urls = [f"{A}/", "http://sub.a.example/", "http://b.example/"]
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        assert folder.requisites is not None
        for seq, url in enumerate(urls, 1):
            columns = f"{seq}, '{url}', '', 200, 0.0, 0.0, 1, 1.0, 1, '', '[]', '[]', 1.0, '[]'"
            row = f"{columns}, 'pages.warc.gz', 0, 1, {seq}, ''"
            folder._db.execute(f"INSERT OR IGNORE INTO pages VALUES ({row})")
        for page in folder.requisites.due(0, 9):
            named = [Requisite(f"{page.url}{number}") for number in range(5)]
            folder.requisites.add_of_page(page, named, 0)
            first = folder.requisites.row(1 if page.seq < 3 else 7)
            assert first is not None
            folder.requisites.took(first, 550, 0.0)
        again = requisite_queue.RequisiteQueue(folder.path, folder._db, everything=True)
        for queue in (folder.requisites, again):  # and when the run goes on
            rows = [queue.row(number) for number in (1, 6, 7)]
            whys = [queue.spent(row, quick=True) for row in rows if row is not None]
            assert [bool(why) for why in whys] == [True, True, False]
            assert queue.totals().left_out == 4  # after six of the first site
        other = folder.requisites.row(7)
        assert other is not None
        monkeypatch.setattr(requisite_queue, "MOST_SECONDS_OF_SITE", 9.0)
        folder.requisites.took(other, 0, 69.0)
        assert [bool(folder.requisites.spent(other, quick=quick)) for quick in (True, False)] == [
            False,
            True,
        ]


def test_domains_without_end_have_bounds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each had 4 GiB of its own. What each page may take by itself, it may; a seed's domain has
    bounds of its own."""
    monkeypatch.setattr(requisite_queue, "MOST_BYTES_OF_SITE", 900)
    monkeypatch.setattr(requisite_queue, "BYTES_EACH", 100)
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema.TABLES)
        seeds = [f"{A}/"]
        queue = requisite_queue.RequisiteQueue(Path("run"), db, everything=True, seeds=seeds)
        taken = 0
        for number in range(40):
            its = queue._site_of(f"http://x.farm{number}.example/")
            its.took(pages=1)
            while not its.is_spent(quick=True) and taken < 99_999:
                its.took(size=60)
                taken += 60
        assert taken <= 900 + 40 * (100 + 60)
        modest, own = queue._site_of("http://modest.example/"), queue._site_of(f"{A}/x")
        for site_of in (modest, own):
            site_of.took(pages=1, size=100)
            assert not site_of.is_spent(quick=True)
        own.took(size=899)
        assert not own.is_spent(quick=True)


@pytest.mark.server
def test_what_is_received_counts_though_it_stands_for_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requisite_queue, "MOST_BYTES", 50_000)
    pictures = "".join(f"<img src=/named{number}>" for number in range(9))
    found = crawl(site, tmp_path / "run", pictures, in_flight=1)
    totals = requisite_totals(tmp_path / "run")
    assert totals is not None
    assert (found, totals.left_out) == ({"http": 2}, 7)


@pytest.mark.server
def test_a_host_that_does_not_answer_is_asked_a_few_times(site: Site, tmp_path: Path) -> None:
    dead = "".join(f"<img src=http://dead.example/silent{number}>" for number in range(40))
    found = crawl(site, tmp_path / "run", f"{dead}<img src=/picture1>", in_flight=4)
    assert found == {"fetched": 1, "connection": 40}
    asked = [one for one in site.asked if one.path.startswith("/silent")]
    assert len(asked) <= requisite_hosts.SILENT + 1


@pytest.mark.server
def test_no_requisite_reaches_a_private_address_a_port_of_another_service_or_what_is_excluded(
    site: Site, tmp_path: Path
) -> None:
    port = site.port
    home = (
        f"<img src=http://localhost:{port}/picture1><img src=http://10.0.0.1/p.png>"
        f"<img src=http://[::1]:{port}/picture2><img src=http://{ADDRESS}:22/p.png>"
        f"<img src=/picture3.gif><img src=/logout><img src=ftp://a.example/p.png>"
        f"<img src=http://169.254.169.254/latest/meta-data/><img src=/picture4>"
    )
    more: dict[str, Any] = {"connect_to": "", "allow_private": (ADDRESS,), "exclude": ("*.gif",)}
    seed = f"http://{ADDRESS}:{port}/"
    site.asked.clear()
    found = crawl(site, tmp_path / "run", home, seeds=(seed,), **more)
    assert found == {"fetched": 1, "blocked": 4}
    assert [one.url for one in site.asked] == [seed, f"{seed}picture4"]


@pytest.mark.server
def test_a_page_of_another_site_asks_for_nothing_by_the_user_s_name(
    site: Site, tmp_path: Path
) -> None:
    for page, sent in ((f"{A}/", True), ("http://stranger.example/", False)):
        site.heads.clear()
        more: dict[str, Any] = {"seeds": (page,), "header": ("a.example|X-Key: secret",)}
        found = crawl(site, tmp_path / str(sent), f"<img src={A}/picture1>", **more)
        assert found == {"fetched": 1}
        (head,) = [head for head in site.heads if head.startswith("GET /picture1")]
        assert ("X-Key: secret" in head) is sent


def test_what_a_page_or_a_style_sheet_names_is_bounded() -> None:
    images = b"".join(b"<img src=%d.png>" % number for number in range(100_000))
    urls, left = of_html(images, f"{A}/", "text/html", 1_000)
    assert (len(urls), left) == (1_000, 99_000)
    for css in (b"@import '" + b"{" * 300_000, b"url(" * 90_000, b"{" * 50_000 + b"url(a.png)"):
        urls, _ = of_style(css, f"{A}/s.css", "text/css", 1_000)
        assert len(urls) <= 1


def test_a_style_sheet_of_many_megabytes_is_read_or_given_up_in_a_helper() -> None:
    css = b"a { background: url(x.png), url(data:image/png;base64,%s) }" % (b"A" * 90_000) * 100
    queue = HelperQueue()
    try:
        facts = {"url": f"{A}/s.css", "content_type": "text/css", "style": True, "most": 10}
        row = queue.ask(requisites_row_of, css, facts, 1, BOUNDS)
        assert row == {"urls": [[f"{A}/x.png", False]], "left": 0}
    finally:
        queue.close()


def test_a_stranger_s_rows_are_refused(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    for values in (
        *("'x', ''", "1e400, ''", "0.0, '[\"a\"]'", f"0.0, '{'[' * 9000}'"),
        *("0.0, '', path = 'E' || char(10) || 'L'", "0.0, '', found_on = 'http://b.example/ x'"),
    ):
        out = tmp_path / str(len(values))
        RunWriter(out, settings).close()
        with closing(sqlite3.connect(out / "state.db")) as db:
            db.execute(
                "INSERT INTO requisites VALUES (1, 'http://a.example/x', 1, '', 'E', 0, 0, "
                f"'fetched', '', 200, {values.split(', ')[0]}, 0.0, 1, NULL, NULL, NULL, "
                f"{values.split(', ')[1]}, '', '')"
            )
            for column in values.split(", ")[2:]:
                db.execute(f"UPDATE requisites SET {column}")
            db.commit()
        with pytest.raises(InputError, match="damaged"):
            list(all_requisites(out))
    with closing(RunWriter(tmp_path / "due", settings)) as folder:
        columns = "1, 'http://a.example/', 'a.example', 200, 0.0, 0.0, 1, 1.0, 1, '', '[]', '[]', 1.0, '[]'"
        folder._db.execute(f"INSERT INTO pages VALUES ({columns}, '../secret', 0, 1, 1, '')")
        assert folder.requisites is not None
        with pytest.raises(InputError, match="names no file of its archive"):
            folder.requisites.due(0, 10)


def test_a_stranger_s_pages_and_what_they_took_are_refused(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        queue, db = folder.requisites, folder._db
        assert queue is not None
        columns = "1, 'http://a.example/', 'a.example', 200, 0.0, 0.0, 1, 1.0, 1, '', '[]', '[]', 1.0, '[]'"
        db.execute(f"INSERT INTO pages VALUES ({columns}, 'pages.warc.gz', 0, 1, 1, '')")
        (page,) = queue.due(0, 9)
        for name, value in (("ticket", "x"), ("url", "//"), ("url", b""), ("warc_length", -1)):
            (before,) = db.execute(f"SELECT {name} FROM pages").fetchone()
            db.execute(f"UPDATE pages SET {name} = ?", (value,))
            with pytest.raises(InputError, match="of no page"):
                queue.due(0, 9)
            db.execute(f"UPDATE pages SET {name} = ?", (before,))
        queue.add_of_page(page, [], 0)
        for name in ("named", "bytes", "seconds", "left_out"):
            db.execute(f"UPDATE page_requisites SET {name} = 'x'")
            with pytest.raises(InputError, match="what page 1 took is no number"):
                requisite_queue.RequisiteQueue(folder.path, db, everything=True)
            db.execute(f"UPDATE page_requisites SET {name} = 0")


def test_a_site_whose_documents_take_long_to_read_does_not_keep_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()

    def slow(self: RequisiteReader, body: bytes, url: str, *_: Any) -> Named:
        read.append(url)
        return Named([], 0, 50.0)

    async def left() -> list[int]:
        reader = RequisiteReader(tmp_path, lambda url: True, pytest.fail)
        urls = [f"http://{n}.evil.example/s.css" for n in range(6)] + [f"{A}/s.css"]
        try:
            return [(await reader.of_style(b"", url, "text/css")).left for url in urls]
        finally:
            reader.close()

    monkeypatch.setattr(RequisiteReader, "_read", slow)
    assert asyncio.run(left()) == [0, 0, 0, 1, 1, 1, 0]
    assert len(read) == 4


def test_numbers_of_rows_that_are_none_take_no_memory() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        for number, needs in ((1, [3, 3, *range(9, 9_000)]), (2, [1, 2]), (3, [2, 1])):
            db.execute(
                "INSERT INTO requisites VALUES (?, ?, 1, '', 'E', 0, 0, '', '', 0, 0.0, 0.0, 0, "
                "NULL, NULL, NULL, ?, '', '')",
                (number, f"{A}/{number}", str(needs)),
            )
        seen = set[int]()
        assert [row.number for row in Needed(db).closure([1, 7], seen)] == [1, 3, 2]
        assert seen == {1, 2, 3}


def test_what_waits_in_a_stranger_s_run_is_a_url_or_is_told(tmp_path: Path) -> None:
    settings = Settings(seeds=(f"{A}/",), topic="clay", requisites="all")
    with closing(RunWriter(tmp_path / "run", settings)) as folder:
        assert folder.requisites is not None
        due = DuePage(1, 1, f"{A}/", Place("pages.warc.gz", 0, 1))
        folder.requisites.add_of_page(due, [Requisite(f"{A}/x")], 0)
        folder._db.execute("UPDATE requisites SET url = 'x'")
        with pytest.raises(InputError, match="damaged"):
            list(folder.requisites.waiting())


@pytest.mark.server
def test_what_robots_txt_is_waited_for_counts_against_a_page(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requisite_queue, "MOST_SECONDS", 0.15)
    monkeypatch.setattr(requisites, "ATTEMPTS", 1)
    hosts = "".join(f"<img src=http://{n}.silent{n}.example/picture>" for n in range(30))
    site.robots = False
    try:
        found = crawl(site, tmp_path / "run", hosts, robots=True, timeout=0.05, in_flight=3)
    finally:
        site.robots = True
    totals = requisite_totals(tmp_path / "run")
    assert totals is not None
    assert found["fetched"] == 0
    assert totals.left_out > 15


@pytest.mark.server
def test_no_other_site_sets_a_cookie_of_the_user(site: Site, tmp_path: Path) -> None:
    home = "<img src=/picture1><img src=http://other.example/picture2>"
    crawl(site, tmp_path / "run", home, keep_cookies=True)
    cookies = (tmp_path / "run" / files.COOKIES).read_text()
    assert "a.example" in cookies
    assert "other.example" not in cookies
