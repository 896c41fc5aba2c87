"""A served web that counts, and runs that end at a named point: what the tests of durability share.

`python -m spoor.testing.kills FOLDER PORT SEED POINT TIMES` crawls as `spoor crawl` does and
kills its own process, as `kill -9` would, when the run's folder reaches POINT for the TIMESth time.
After each commit it leaves the digest of the crawl's state in FOLDER.commit, and after a recovery
that of what was gone through again in FOLDER.again: they must be equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from spoor.crawl import Crawl
from spoor.drivers.http.folder import RunFolder, reading
from spoor.drivers.http.run import Run, make_crawl, make_http, run_settings, wanted
from spoor.drivers.http.serve import Server, serving
from spoor.learn.state import pack
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

TOPIC = "pottery, kiln, glaze"


@dataclass
class CountedWeb:
    """A generated web on loopback."""

    root: str
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by URL."""

    @property
    def flags(self) -> list[str]:
        """How `spoor crawl` gets there."""
        return ["--scope", "anywhere", "--connect-to", f"127.0.0.1:{self.port}"]


@contextmanager
def served(pages: int, *, hosts: int = 4, latency: float = 0.0) -> Iterator[CountedWeb]:
    """A generated web of so many pages, served from a thread of its own."""
    world = GeneratedWorld(GeneratedSettings(pages=pages, hosts=hosts, topics=4))

    def source(url: str) -> str | None:
        found = world.document(url)
        return None if found is None else found[1]

    counted = CountedWeb(world.url_of(0))

    class Counting(Server):
        async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
            if request.path != "/robots.txt":
                counted.asked[f"http://{request.host}{request.path_qs}"] += 1
            return await super().handle(request)

    loop = asyncio.new_event_loop()
    ready, over = threading.Event(), asyncio.Event()

    async def work() -> None:
        async with serving(Counting(world, source=source, latency=latency)) as port:
            counted.port = port
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),))
    thread.start()
    try:
        ready.wait()
        yield counted
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def open_run(
    path: Path,
    root: str,
    port: int,
    *,
    at: Callable[[str, Crawl], None] = lambda point, crawl: None,
    policy: str = "trail",
    pages: int = 10_000,
    delay: float = 0.0,
    seed: int = 0,
    **settings: Any,
) -> Run:
    """A run of the web served at this port. `at` is told each point of `folder.POINTS` as it is
    reached. The caller closes the run's folder."""
    told = run_settings(
        [root],
        topic=TOPIC,
        policy=policy,
        pages=pages,
        scope="anywhere",
        delay=delay,
        seed=seed,
        connect_to=f"127.0.0.1:{port}",
        **settings,
    )
    judge, subject = wanted(TOPIC, None, [])
    crawl = make_crawl(told, judge, subject)
    folder = RunFolder(path, told, at=lambda point: at(point, crawl))
    try:
        return Run(folder, crawl, make_http(told), [root])
    except BaseException:
        folder.close()
        raise


def digest(crawl: Crawl) -> str:
    """Of all that a crawl knows: two that are equal go on in the same way."""
    return hashlib.sha256(pack(crawl.save())).hexdigest()


def check_run(path: Path) -> set[str]:
    """The URLs of a run's pages. Raises AssertionError where one was fetched twice, or where pages,
    WARC records and results do not agree."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    with reading(path) as db:
        rows = db.execute("SELECT * FROM pages ORDER BY seq").fetchall()
        failed = db.execute("SELECT count(*) FROM failures").fetchone()[0]
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    urls = [row["url"] for row in rows]
    twice = [url for url, times in Counter(urls).items() if times > 1]
    assert not twice, f"judged twice: {twice}"
    with (path / "pages.warc.gz").open("rb") as stream:
        records = [
            record.headers["WARC-Target-URI"]
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response)
        ]
    assert sorted(records) == sorted(urls) or failed, (
        f"{len(records)} WARC records of {len(urls)} pages"
    )
    results = (path / "relevant.jsonl").read_text("utf-8").splitlines()
    assert len(results) == sum(row["relevant"] for row in rows)
    return set(urls)


def main(arguments: list[str]) -> None:
    path, root, port, point, times, *rest = arguments
    folder, left = Path(path), int(times)

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal left
        if reached in ("committed", "gone through"):
            name = ".commit" if reached == "committed" else ".again"
            folder.with_suffix(name).write_text(digest(crawl))
        if reached == point:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    run = open_run(folder, root, int(port), at=at, policy=rest[0] if rest else "trail")
    try:
        run.run()
    finally:
        run.folder.close()


if __name__ == "__main__":
    main(sys.argv[1:])
