"""A page that is visited again is asked for by what its server gave: `ETag` and `Last-Modified`."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # has no stubs

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
from spoor.crawl import Crawl
from spoor.formats.warc_writer import WarcWriter
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.live.live_crawl import LiveCrawl
from spoor.policies.breadth_first import BreadthFirst
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading
from spoor.runs.exchanges import captured
from spoor.runs.forget import forget
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, NotModified, Outcome, Task
from spoor.web.exchange import Exchange
from spoor.web.validators import LONGEST, Validators

pytestmark = pytest.mark.server

DAY = "Sun, 06 Nov 1994 08:49:37 GMT"
SITE = "http://a.example"
KEPT = {
    "/": {"ETag": '"one"', "Last-Modified": DAY},
    "/etag": {"ETag": 'W/"two"'},
    "/date": {"Last-Modified": DAY},
    "/none": {},
    "/long": {"ETag": "x" * (LONGEST + 1)},
    "/bytes": {"ETag": '"\x9b\x01"'},
}
HOME = "".join(f'<a href="{path}">clay</a>' for path in KEPT)


def settings(server: Loopback, **more: object) -> Settings:
    connect_to = f"{ADDRESS}:{server.port}"
    return Settings(seeds=(f"{SITE}/",), topic="clay", connect_to=connect_to, delay=0.0, **more)  # type: ignore[arg-type]


def answer(asked: Asked) -> bytes:
    if asked.path not in KEPT:
        return MISSING
    head, mark, body = reply(HOME).partition(b"Connection")
    lines = "".join(f"{name}: {value}\r\n" for name, value in KEPT[asked.path].items())
    return head + lines.encode("latin-1") + mark + body


def test_a_second_visit_asks_by_the_validators_of_the_first(tmp_path: Path) -> None:
    server = Loopback(answer)
    with beside(server.serving):
        told = settings(server)
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            LiveCrawl(folder, make_crawl(told)).run()
        assert not any("If-" in head for head in server.heads), "nothing is known at first"
        expected = {
            f"{SITE}/": Validators('"one"', DAY),
            f"{SITE}/etag": Validators('W/"two"'),
            f"{SITE}/date": Validators("", DAY),
        }
        assert known(tmp_path / "run") == expected

        server.heads.clear()
        unasked = f"{SITE}/none"
        server.answer = lambda asked: reply(status=304)
        ended: dict[str, Fetched | Failed] = {}

        def step(fetch: Fetch, done: Outcome | Deferred) -> None:
            if isinstance(done, Outcome):
                ended[fetch.url] = done.reply

        with closing(RunWriter(tmp_path / "run", told)) as folder:
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            crawl = Crawl(policy, Keywords(["clay"]), MemoryFrontier(), attempts=1)
            crawl.seed([*expected, unasked])
            driver = HttpDriver(crawl, told, on_step=step, validators=folder.validators)
            asyncio.run(driver.run())
    asked = {head.split(" ")[1]: head for head in server.heads}
    assert f'If-None-Match: "one"\r\nIf-Modified-Since: {DAY}\r\n' in asked["/"]
    assert 'If-None-Match: W/"two"\r\n' in asked["/etag"]
    assert "If-Modified-Since" not in asked["/etag"]
    assert "If-" not in asked["/none"] + asked["/robots.txt"]
    assert {
        url: (one.kind, one.status) for url, one in ended.items() if isinstance(one, Failed)
    } == {
        **dict.fromkeys(expected, ("unchanged", 304)),
        unasked: ("http", 304),
    }
    forget(tmp_path / "run", [f"{SITE}/"])
    assert f"{SITE}/" not in known(tmp_path / "run")


def known(run: Path) -> dict[str, Validators]:
    """Those of all documents of a run."""
    with reading(run) as db:
        rows = db.execute("SELECT url, etag, last_modified FROM validators")
        return {url: Validators(*pair) for url, *pair in rows}


def test_a_reply_that_brings_nothing_new_is_journaled(tmp_path: Path) -> None:
    told = Settings(seeds=(f"{SITE}/",), topic="clay")
    with closing(RunWriter(tmp_path / "run", told)) as folder:
        run = LiveCrawl(folder, make_crawl(told))
        fetch = run.journal.next(1.0)
        assert isinstance(fetch, Fetch)
        step = run.journal.receive(NotModified(fetch.ticket), 2.0)
        assert isinstance(step, Outcome)
        run.journal.commit()
        before = run.crawl.save()
    with closing(RunWriter(tmp_path / "run", told)) as folder:
        again = LiveCrawl(folder, make_crawl(told))
        assert again.crawl.counts.unchanged == before["counts"]["unchanged"] == 1


def names_itself(record: Any) -> bool:
    """Whether a player finds the page before it."""
    target, refers = map(
        record.rec_headers.get_header, ("WARC-Target-URI", "WARC-Refers-To-Target-URI")
    )
    return bool(target == refers)


@pytest.mark.parametrize("asked", [(("If-None-Match", '"one"'),), ()], ids=["asked", "unasked"])
def test_an_unchanged_page_is_one_revisit_record(
    tmp_path: Path, asked: tuple[tuple[str, str], ...]
) -> None:
    """As is one of a watch, which has the page in its own archive. A 304 that nobody asked for says
    nothing of a page."""
    headers = CIMultiDictProxy(CIMultiDict({"ETag": '"one"'}))
    exchange = Exchange(f"{SITE}/", 304, "Not Modified", asked, headers, b"", b"", 1e9, 0.1)
    writer = WarcWriter(tmp_path, "pages", software="spoor")
    writer.write(captured(exchange))
    writer.close()
    with (tmp_path / "pages.warc.gz").open("rb") as file:
        _, *records = [
            (record.rec_type, record.rec_headers.get_header("WARC-Profile"))
            for record in ArchiveIterator(file)
            if record.rec_type != "revisit"
            or (record.http_headers is None and names_itself(record))
        ]
    profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    expected = [("revisit", profile)] if asked else [("response", None), ("request", None)]
    assert records == expected
