"""A stock Scrapy spider over a folder of HTML pages, with the add-on and without.

    .venv/bin/python benchmarks/scrapy_addon.py FOLDER [--start PATH] [--policy NAME] [--topic …]

serves FOLDER on loopback (Debian's `cppreference-doc-en-html`, say, from `en/index.html`) and
crawls all that can be reached from PATH with the same spider twice, each in a process of its own:
in Scrapy's own order, and in Spoor's. Prints one JSON object: pages of each, whether the sets are
the same, CPU milliseconds a page and peak memory of the crawler. Exit code 1 where the sets differ.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


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


def crawl(start: str, addon: bool, policy: str, topic: str) -> dict[str, Any]:
    """One crawl in this process."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.http import HtmlResponse, Response

    fetched: list[str] = []

    class Walk(scrapy.Spider):
        name = "walk"
        allowed_domains = ["127.0.0.1"]  # noqa: RUF012
        start_urls = [start]  # noqa: RUF012

        def parse(self, response: Response) -> Any:
            fetched.append(response.url)
            if isinstance(response, HtmlResponse):
                yield from response.follow_all(css="a[href]")

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
    began = time.perf_counter()
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Walk)
    process.crawl(crawler)
    process.start()
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "pages": len(fetched),
        "urls": sorted(set(fetched)),
        "seconds": round(seconds, 1),
        "cpu_ms_per_page": round(1e3 * (used.ru_utime + used.ru_stime) / max(1, len(fetched)), 2),
        "peak_rss_mb": round(used.ru_maxrss / 1024),
        "spoor": {
            name: value
            for name, value in crawler.stats.get_stats().items()
            if name.startswith("spoor/")
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="pages to serve; a URL with --child")
    parser.add_argument("--start", default="en/index.html")
    parser.add_argument("--policy", default="best-first")
    parser.add_argument("--topic", default="ranges algorithms")
    parser.add_argument("--child", choices=["stock", "spoor"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(crawl(given.start, given.child == "spoor", given.policy, given.topic)))
        return
    if not (given.folder / given.start).is_file():
        parser.error(f"{given.folder} has no {given.start}; name one of its pages by --start")
    ours, theirs = get_context("spawn").Pipe(duplex=False)
    server = get_context("spawn").Process(target=serve, args=(str(given.folder), theirs))
    server.start()
    try:
        start = f"http://127.0.0.1:{ours.recv()}/{given.start}"
        told = {}
        for kind in ("stock", "spoor"):
            command = [sys.executable, __file__, os.devnull, "--child", kind, "--start", start]
            command += ["--policy", given.policy, "--topic", given.topic]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            told[kind] = json.loads(done.stdout.splitlines()[-1])
    finally:
        server.kill()
        server.join()
    stock, spoor = (set(told[kind].pop("urls")) for kind in ("stock", "spoor"))
    print(
        json.dumps(
            told
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
