"""A stock Scrapy spider, or Crawlee's, over a folder of HTML pages, with our order and without.

    .venv/bin/python benchmarks/scrapy_addon.py FOLDER [--start PATH] [--policy NAME] [--topic …]
        [--target REGEX --pages N --runs N]

serves FOLDER on loopback (Debian's `cppreference-doc-en-html`, say, from `en/index.html`) and
crawls all that can be reached from PATH with the same spider twice, each in a process of its own:
in Scrapy's own order, and in Spoor's. Prints one JSON object: pages of each, whether the sets are
the same, CPU milliseconds a page and peak memory of the crawler. Exit code 1 where the sets differ.

With `--target` four crawls of N pages each: Scrapy's and Crawlee's `ParselCrawler`, stock and in
our order, by turns `--runs` times; of each the medians of CPU and memory, and after how many pages
it had half of the pages whose paths match, of every crawl (null: not within N).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, median_high
from typing import Any
from urllib.parse import unquote

KINDS = ("stock", "spoor", "crawlee", "crawlee-spoor")


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def serve(folder: str, tell: Connection) -> None:
    """Serve until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    server.daemon_threads = True
    tell.send(server.server_port)
    server.serve_forever()


def crawl_with_crawlee(
    start: str, ours: bool, policy: str, topic: str, pages: int | None
) -> dict[str, Any]:
    """One crawl in this process."""
    import asyncio

    from crawlee import ConcurrencySettings, service_locator
    from crawlee.crawlers import ParselCrawler
    from crawlee.storage_clients import MemoryStorageClient

    from spoor.integrations.crawlee import ordered
    from spoor.orderer import Orderer

    fetched: list[str] = []
    service_locator.set_storage_client(MemoryStorageClient())
    options: dict[str, Any] = {
        "max_requests_per_crawl": pages,
        "configure_logging": False,
        "concurrency_settings": ConcurrencySettings(max_concurrency=16, desired_concurrency=16),
    }

    async def work() -> None:
        orderer = Orderer(topic, policy=policy)
        crawler: Any = (
            ordered(orderer, ParselCrawler, **options) if ours else ParselCrawler(**options)
        )

        @crawler.router.default_handler  # type: ignore[untyped-decorator]
        async def handle(context: Any) -> None:
            fetched.append(context.request.url)
            await context.enqueue_links()

        await crawler.run([start])

    began = time.perf_counter()
    asyncio.run(work())
    return told_of(fetched, time.perf_counter() - began)


def told_of(fetched: list[str], seconds: float) -> dict[str, Any]:
    """What a crawl in this process says of itself."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "pages": len(fetched),
        "urls": fetched,
        "seconds": round(seconds, 1),
        "cpu_ms_per_page": round(1e3 * (used.ru_utime + used.ru_stime) / max(1, len(fetched)), 2),
        "peak_rss_mb": round(used.ru_maxrss / 1024),
    }


def crawl(
    start: str, addon: bool, policy: str, topic: str, pages: int | None = None
) -> dict[str, Any]:
    """One crawl in this process."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.http import HtmlResponse, Response
    from scrapy.linkextractors import LinkExtractor

    fetched: list[str] = []
    links = LinkExtractor()

    class Walk(scrapy.Spider):
        name = "walk"
        allowed_domains = ["127.0.0.1"]  # noqa: RUF012
        start_urls = [start]  # noqa: RUF012

        def parse(self, response: Response) -> Any:
            fetched.append(response.url)
            if isinstance(response, HtmlResponse):
                yield from response.follow_all(links.extract_links(response))

    settings: dict[str, Any] = {
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    }
    if addon:
        settings |= {
            "ADDONS": {"spoor.integrations.scrapy.Addon": 500},
            "SPOOR_TOPIC": topic,
            "SPOOR_POLICY": policy,
        }
    if pages:
        settings["CLOSESPIDER_PAGECOUNT"] = pages
    began = time.perf_counter()
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Walk)
    process.crawl(crawler)
    process.start()
    return told_of(fetched, time.perf_counter() - began) | {
        "spoor": {
            name: value
            for name, value in crawler.stats.get_stats().items()
            if name.startswith("spoor/")
        },
    }


def to_half(urls: list[str], target: str, folder: Path) -> int | None:
    """After how many pages half of the files of the folder that match were fetched."""
    files = (str(file.relative_to(folder)) for file in folder.rglob("*.html"))
    wanted = {name for name in files if re.search(target, name)}
    hits = 0
    fetched = dict.fromkeys(url.partition("#")[0] for url in urls)  # Crawlee keeps fragments
    for number, url in enumerate(fetched, 1):
        hits += unquote(url.split("/", 3)[3]) in wanted
        if 2 * hits >= len(wanted) > 0:
            return number
    return None


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the crawls of one kind; a crawl that never had half counts as later than all."""
    halves = [one["to_half"] for one in runs]
    middle = median_high(half or sys.maxsize for half in halves)
    return {
        **{key: median(one[key] for one in runs) for key in ("pages", "cpu_ms_per_page")},
        "peak_rss_mb": max(one["peak_rss_mb"] for one in runs),
        "to_half": None if middle == sys.maxsize else middle,
        "to_half_of_each": halves,
        "cpu_ms_of_each": [one["cpu_ms_per_page"] for one in runs],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="pages to serve; a URL with --child")
    parser.add_argument("--start", default="en/index.html")
    parser.add_argument("--policy", default="best-first")
    parser.add_argument("--topic", default="ranges algorithms")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--target", help="paths of the pages that are wanted")
    parser.add_argument("--pages", type=int, help="of each crawl")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="with --target")
    parser.add_argument("--runs", type=int, default=1, help="of each kind, by turns")
    given = parser.parse_args()
    if given.child:
        one = crawl_with_crawlee if given.child.startswith("crawlee") else crawl
        ours = given.child.endswith("spoor")
        print(json.dumps(one(given.start, ours, given.policy, given.topic, given.pages)))
        return
    if not (given.folder / given.start).is_file():
        parser.error(f"{given.folder} has no {given.start}; name one of its pages by --start")
    ours, theirs = get_context("spawn").Pipe(duplex=False)
    server = get_context("spawn").Process(target=serve, args=(str(given.folder), theirs))
    server.start()
    try:
        start = f"http://127.0.0.1:{ours.recv()}/{given.start}"
        told: dict[str, list[dict[str, Any]]] = {}
        for kind in tuple(given.kinds if given.target else KINDS[:2]) * given.runs:
            command = [sys.executable, __file__, os.devnull, "--child", kind, "--start", start]
            command += ["--policy", given.policy, "--topic", given.topic]
            command += ["--pages", str(given.pages)] if given.pages else []
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            one = json.loads(done.stdout.splitlines()[-1])
            if given.target:
                one["to_half"] = to_half(one.pop("urls"), given.target, given.folder)
            told.setdefault(kind, []).append(one)
            if given.runs > 1:
                print(kind, one["cpu_ms_per_page"], one.get("to_half"), file=sys.stderr)
    finally:
        server.kill()
        server.join()
    if given.target:
        for kind, runs in told.items():
            print(json.dumps({"kind": kind} | medians(runs)))
        return
    last = {kind: runs[-1] for kind, runs in told.items()}
    stock, spoor = (set(last[kind].pop("urls")) for kind in ("stock", "spoor"))
    print(
        json.dumps(
            last
            | {
                "same": stock == spoor,
                "only_stock": sorted(stock - spoor)[:5],
                "only_spoor": sorted(spoor - stock)[:5],
            }
        )
    )
    sys.exit(stock != spoor)


if __name__ == "__main__":
    main()
