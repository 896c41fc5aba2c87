"""How long one reply holds the event loop of a crawl: the goal is 50 ms.

    .venv/bin/python benchmarks/holds.py [NAME ...] [--stacks]

For each kind of large or odd, but legal, reply a crawl of its own fetches it beside small pages,
durable and with its WARC file, and its watch of the loop tells the longest hold; beside it stands
the longest while only small pages were fetched. `--stacks` prints where the loop was while it was
held. Prints a table, in wall time and in processor time of the crawl, in which the machine's other
work does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from spoor.live.live_crawl import LiveCrawl
from spoor.live.loop_watch import LoopWatch
from spoor.runs.assemble import make_crawl
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from loopback import ADDRESS, Asked, Loopback, beside, page, reply  # noqa: E402

SMALL = 40
MIB = 1 << 20


def words(count: int) -> str:
    rng = random.Random(0)
    return " ".join(f"w{rng.randrange(50_000)}" for _ in range(count))


def prose(size: int) -> bytes:
    paragraph = f"<p>{words(100)}</p>\n"
    return ("<title>Big</title>" + paragraph * (size // len(paragraph))).encode()


def prose_all_new(size: int) -> bytes:
    return f"<title>New</title><p>{words(size // 7)}".encode()


def links(count: int, length: int = 0) -> bytes:
    more = "x" * length
    rows = "".join(f"<li><a href=/l{n}{more}>item {n} of the list</a>" for n in range(count))
    return f"<title>List</title><ul>{rows}</ul>".encode()


def urls(count: int, length: int) -> bytes:
    more = "x" * length
    rows = "".join(f"<url><loc>http://a.example/s{n}{more}</loc></url>" for n in range(count))
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0"?><urlset xmlns="{space}">{rows}</urlset>'.encode()


def feed(size: int) -> bytes:
    item = "<item><title>kiln</title><link>http://a.example/f{}</link><description>{}</description>"
    text = words(60)
    count = size // (len(text) + 90)
    rows = "".join(item.format(n, text) + "</item>" for n in range(count))
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{rows}</channel></rss>'.encode()


def robots(size: int) -> bytes:
    rows = "".join(f"Disallow: /d{n}*x*y*z$\n" for n in range(size // 24))
    return f"User-agent: *\n{rows}".encode()


KINDS: dict[str, Callable[[], dict[str, bytes]]] = {
    "small pages": dict,
    "10 MiB of prose": lambda: {"/big": reply(prose(10 * MIB - 1000))},
    "5 MiB of new words": lambda: {"/big": reply(prose_all_new(5 * MIB))},
    "10 MiB of text/plain": lambda: {"/big": reply(prose(10 * MIB - 1000), media="text/plain")},
    "1 MiB of prose": lambda: {"/big": reply(prose(MIB))},
    "400 KiB of prose": lambda: {"/big": reply(prose(400 << 10))},
    "5,000 links": lambda: {"/big": reply(links(5_000))},
    "100,000 links": lambda: {"/big": reply(links(100_000))},
    "4,000 links of 2,000 letters": lambda: {"/big": reply(links(4_000, 1_950))},
    "gzip of 10 MiB": lambda: {
        "/big": reply(gzip.compress(prose(10 * MIB - 1000), 1), Content_Encoding="gzip")
    },
    "10 MiB of random bytes": lambda: {
        "/big": reply(random.Random(0).randbytes(10 * MIB - 1000), media="application/pdf")
    },
    "5 MiB feed": lambda: {"/big": reply(feed(5 * MIB), media="application/rss+xml")},
    "sitemap of 50,000": lambda: {"/sitemap.xml": reply(urls(50_000, 40), media="text/xml")},
    "sitemap, addresses of 2,000": lambda: {
        "/sitemap.xml": reply(urls(4_500, 1_950), media="text/xml")
    },
    "robots.txt of 500 KiB": lambda: {"/robots.txt": reply(robots(500 << 10), media="text/plain")},
    "10^5 open links, checkpoints": lambda: {
        f"/many{n}": reply(links(5_000, 0).replace(b"/l", b"/m%d-" % n)) for n in range(20)
    },
}


@contextlib.contextmanager
def stacks(seen: Counter[str], watched: int) -> Iterator[None]:
    """Where the thread of this number is while it holds its loop: samples of its stack."""
    over = threading.Event()

    def look() -> None:
        last, since = "", time.monotonic()
        while not over.wait(0.005):
            frames = traceback.extract_stack(sys._current_frames()[watched])
            own = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
            idle = any(f.name == "select" for f in frames)
            if idle:
                last, since = "", time.monotonic()
            elif time.monotonic() - since > 0.05:
                seen[" < ".join(reversed(own[-6:]))] += 1
            del last
            last = ""

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def longest_hold(place: Path, replies: dict[str, bytes], *, show: bool) -> LoopWatch:
    small = [f"/p{n}" for n in range(SMALL)]
    special = [path for path in replies if path not in ("/robots.txt", "/sitemap.xml")]

    def answer(asked: Asked) -> bytes:
        if asked.path in replies:
            return replies[asked.path]
        if asked.path == "/":
            return page(*small[:20], *special, *small[20:])
        if asked.path in ("/robots.txt", "/sitemap.xml"):
            return reply("", 404)
        return page(text=f"<title>{asked.path}</title><p>{asked.path} kiln " + words(30))

    server = Loopback(answer)
    seen: Counter[str] = Counter()
    with beside(server.serving):
        settings = Settings(
            seeds=("http://a.example/",),
            topic="pottery, kiln, glaze",
            policy="trail",
            pages=SMALL + len(special) + 30,
            delay=0.0,
            per_host=8,
            traps=True,
            sitemaps="/sitemap.xml" in replies,
            types=("*/*",),
            connect_to=f"{ADDRESS}:{server.port}",
        )
        engine = make_crawl(settings)
        folder = RunWriter(place, settings)
        run = LiveCrawl(folder, engine)
        run.loop_watch = watch = LoopWatch()
        with stacks(seen, threading.get_ident()) if show else contextlib.nullcontext():
            asyncio.run(run.serve(run.driver()))
        folder.close()
    for where, times in seen.most_common(12):
        print(f"    {times * 5:5} ms  {where}")
    return watch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--stacks", action="store_true")
    told = parser.parse_args()
    print(f"{'reply':>30}  longest hold  in CPU time   load")
    with tempfile.TemporaryDirectory() as place:
        for number, (name, made) in enumerate(KINDS.items()):
            if told.names and name not in told.names:
                continue
            watch = longest_hold(Path(place) / str(number), made(), show=told.stacks)
            wall, cpu = 1000 * watch.longest, 1000 * watch.longest_cpu
            print(f"{name:>30} {wall:9.0f} ms {cpu:9.0f} ms   {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
