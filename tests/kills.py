"""A served web that counts, and runs that end at a named point: what the tests of durability share.

`python tests/kills.py FOLDER ROOT PORT POINT TIMES [POLICY [FRONTIER]]` crawls as
`spoor crawl` does and kills its own process, as `kill -9` would, when the run's folder reaches
POINT for the TIMESth time. After each commit it leaves the digest of the crawl's state in
FOLDER.commit, and after a recovery that of what was gone through again in FOLDER.again: they must
be equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.http.world_server import Server, serving
from spoor.learn.state import pack
from spoor.live.live_crawl import LiveCrawl
from spoor.runs import files
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading
from spoor.runs.inputs import with_inputs
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

TOPIC = "pottery, kiln, glaze"

STANDS_STILL = 300.0
"""Seconds after which a crawl of these few pages is taken to stand still: it ends, and its test
fails."""

FILES = (files.SETTINGS, files.DATABASE, files.archive(0), files.FRONTIER)
"""What an error may name."""


class KilledError(BaseException):
    """Raised at a named point, it ends a run of this process as its death would."""


@dataclass
class CountedWeb:
    """A generated web on loopback."""

    root: str
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by URL, robots.txt left out."""
    going: threading.Event = field(default_factory=threading.Event)
    """Cleared, no request is answered."""

    @property
    def again(self) -> int:
        """Requests beyond the first for each URL."""
        return sum(self.asked.values()) - len(self.asked)

    def command(self, out: Path, *more: str) -> list[str]:
        """A `spoor crawl` of all of it, in a process of its own."""
        port = f"127.0.0.1:{self.port}"
        return [
            *(sys.executable, "-m", "spoor", "crawl", self.root, "--topic", TOPIC),
            *("--scope", "anywhere", "--connect-to", port, "--pages", "100000", "--delay", "0"),
            "--traps",  # what is kept out of them depends on the order of the pages
            *("--out", str(out), *more),
        ]


@contextmanager
def served(
    pages: int,
    *,
    hosts: int = 4,
    latency: float = 0.0,
    plain: bool = False,
    traps: tuple[str, ...] = (),
) -> Iterator[CountedWeb]:
    """A generated web of so many pages, and of these traps, served from a thread of its own.

    With `plain` it is one site at the server's own address, beginning at /index.html: for crawlers
    that cannot be told where a host is.
    """
    hosts = 1 if plain else hosts
    world = GeneratedWorld(GeneratedSettings(pages=pages, hosts=hosts, topics=4, traps=traps))

    counted = CountedWeb(world.url_of(0))
    counted.going.set()

    def source(url: str) -> str | None:
        counted.asked[url] += 1
        counted.going.wait()
        found = world.document(inner(url) if plain else url)
        if found is None:
            return None
        return found[1].replace(world.url_of(0), f"{local()}/") if plain else found[1]

    def local() -> str:
        return f"http://127.0.0.1:{counted.port}"

    def inner(url: str) -> str:
        path = url.split("/", 3)[3]
        return world.url_of(0) + ("" if path == "index.html" else path)

    loop = asyncio.new_event_loop()
    ready, over = threading.Event(), asyncio.Event()

    async def work() -> None:
        async with serving(Server(world, source=source, latency=latency)) as port:
            counted.port = port
            if plain:
                counted.root = f"{local()}/index.html"
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),))
    thread.start()
    try:
        assert ready.wait(100)
        yield counted
    finally:
        counted.going.set()  # or what is asked for would never be over
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


_SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
from kills import served
with served(int(sys.argv[2]), hosts=int(sys.argv[3])) as web:
    print(web.root, web.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def served_apart(pages: int, *, hosts: int = 4) -> Iterator[tuple[str, int]]:
    """The same from a process of its own, for measurements: root and port. Requests are not counted."""
    here = str(Path(__file__).parent)
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE, here, str(pages), str(hosts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        root, port = server.stdout.readline().split()
        yield root, int(port)
    finally:
        server.communicate("")


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
    traps: bool = True,
    topic: str = TOPIC,
    **more: Any,
) -> LiveCrawl:
    """A run of the web served at this port. `at` is called with each of `runs.writer.POINTS`
    that is reached. The caller closes the run's folder."""
    more.setdefault("max_time", STANDS_STILL)
    given = Settings(
        topic=topic,
        policy=policy,
        pages=pages,
        scope="anywhere",
        delay=delay,
        seed=seed,
        connect_to=f"127.0.0.1:{port}",
        traps=traps,
        **more,
    )
    settings = with_inputs(given, [root])
    crawl = make_crawl(settings)
    folder = RunWriter(path, settings, failpoint=lambda point: at(point, crawl))
    try:
        return LiveCrawl(folder, crawl)
    except BaseException:
        folder.close()
        raise


def finish_small(path: Path) -> None:
    """A finished run of a few pages, for tests of its folder."""
    with served(20, hosts=2) as web:
        run = open_run(path, web.root, web.port, pages=6)
        run.run()
        run.folder.close()


def digest(crawl: Crawl) -> str:
    """Of all that a crawl knows: two that are equal go on in the same way."""
    return hashlib.sha256(pack(crawl.save())).hexdigest()


def check_run(path: Path) -> set[str]:
    """The URLs of a run's pages. Raises AssertionError where one was fetched twice, or where pages,
    WARC records and results do not agree."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    run = Run(path)
    rows, failed = list(run.pages()), list(run.failures())
    with reading(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    urls = [row.url for row in rows]
    twice = [url for url, times in Counter(urls).items() if times > 1]
    assert not twice, f"judged twice: {twice}"
    records, kinds = list[str](), WarcRecordType.response | WarcRecordType.metadata
    for file in run.archives:
        described = 0
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=kinds, verify_digests=True):
                if record.record_type == WarcRecordType.response:
                    records.append(record.headers["WARC-Target-URI"])
                else:
                    described += 1
        assert described == sum(row.warc_file == file.name for row in rows) or failed, file
    assert sorted(records) == sorted(urls) or failed, (
        f"{len(records)} WARC records of {len(urls)} pages"
    )
    results = (path / files.RELEVANT).read_text("utf-8").splitlines()
    assert len(results) == sum(row.relevant for row in rows)
    return set(urls)


def cut(path: Path, rng: np.random.Generator) -> str:
    """Cut one file of a run's folder at a random place, as a loss of power may; says which."""
    every = sorted(
        file for file in path.iterdir() if file.stat().st_size and file.name[-3:] != "shm"
    )
    file = every[int(rng.integers(len(every)))]
    size = file.stat().st_size
    # Half of the cuts lie near the end, where a loss of power is likelier to cut.
    near = int(rng.integers(1, min(size, 5000) + 1))
    left = size - near if rng.random() < 0.5 else int(rng.integers(size))
    os.truncate(file, left)
    return f"{file.name} cut to {left} of {size} bytes"


def after_cut(path: Path, web: CountedWeb, whole: set[str], **settings: Any) -> str:
    """Go on with a damaged run: "recovered", with all pages there are, or "refused", with an error
    that names the file. Raises AssertionError where neither holds."""
    try:
        run = open_run(path, web.root, web.port, **settings)
    except InputError as error:
        if not any(name in str(error) for name in FILES):
            raise AssertionError(f"names no file: {error}") from error
        return "refused"
    try:
        run.run()
    finally:
        run.folder.close()
    got = check_run(path)
    assert got == whole, f"{len(whole - got)} pages lost, {len(got - whole)} made up"
    return "recovered"


def main(arguments: list[str]) -> None:
    path, root, port, point, times, *rest = arguments
    folder, left, looking = Path(path), int(times), False

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal left, looking
        if looking:  # taking a digest saves the frontier
            return
        if reached in ("committed", "gone through"):
            name = ".commit" if reached == "committed" else ".again"
            looking = True
            folder.with_suffix(name).write_text(digest(crawl))
            looking = False
        if reached == point:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    policy, frontier, *_ = (*rest, *("trail", "auto")[len(rest) :])
    run = open_run(folder, root, int(port), at=at, policy=policy, frontier=frontier)
    try:
        run.run()
    finally:
        run.folder.close()


if __name__ == "__main__":
    main(sys.argv[1:])
