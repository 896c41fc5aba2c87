"""Spiders of Scrapy and Crawlee that only follow links (selectolax): what the benchmarks compare
a crawl with. Each is a program in text, for a process of its own, whose first argument is a URL to
begin with, or a file of them; it calls `measure(work)`, which whoever runs it defines, and `work()`
returns the URLs of its pages. A spider keeps to the host of its first URL, or with `one_host=False`
to all of https."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CRAWLEE_PYTHON = Path(__file__).parents[1] / "build" / "peers" / "bin" / "python"
"""Of an environment of its own: Crawlee wants other versions than we do."""

_LINKS = """
import sys
from pathlib import Path
from can_ada import parse as parse_url
from selectolax.lexbor import LexborHTMLParser
seeds = [sys.argv[1]] if "://" in sys.argv[1] else Path(sys.argv[1]).read_text().split()
host = seeds[0].split("/", 3)[2]
pages = []
def links_of(page, body):
    found, here = {}, parse_url(page)
    for node in LexborHTMLParser(body).css("a[href]"):
        try:
            url = here + (node.attributes["href"] or "")
        except ValueError:
            continue
        if url.protocol == "https:" or url.protocol == "http:" and told["one_host"]:
            if url.host == host or not told["one_host"]:
                url.hash = ""
                found[url.href] = None
    return list(found)
"""

_SCRAPY = (
    _LINKS
    + """
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
class Spider(scrapy.Spider):
    name = "bare"
    start_urls = seeds
    def parse(self, response):
        if b"html" not in (response.headers.get("Content-Type") or b""):
            return
        pages.append(response.url)
        for url in links_of(response.url, response.body):
            yield scrapy.Request(url)
def work():
    process = AsyncCrawlerProcess(settings={"LOG_LEVEL": "ERROR", "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": told["robots"],
        "CONCURRENT_REQUESTS": told["in_flight"], "CLOSESPIDER_PAGECOUNT": told["pages"],
        "CONCURRENT_REQUESTS_PER_DOMAIN": told["per_host"], "JOBDIR": told["folder"] or None})
    process.crawl(Spider)
    process.start()
    return pages
measure(work)
"""
)

_CRAWLEE = (
    _LINKS
    + """
import asyncio, logging
from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient
async def main():
    storage, more = MemoryStorageClient(), {}
    if told["folder"]:
        storage = FileSystemStorageClient()
        more["configuration"] = Configuration(storage_dir=told["folder"], purge_on_start=False)
    if told["any_certificate"]:
        more["http_client"] = ImpitHttpClient(verify=False)
    many = told["in_flight"]
    crawler = HttpCrawler(storage_client=storage, configure_logging=False,
        respect_robots_txt_file=told["robots"], max_requests_per_crawl=told["pages"] or None,
        concurrency_settings=ConcurrencySettings(min_concurrency=many, desired_concurrency=many,
            max_concurrency=many), **more)
    logging.disable(logging.CRITICAL)
    @crawler.router.default_handler
    async def handle(context):
        response = context.http_response
        if "html" not in (response.headers.get("content-type") or ""):
            return
        pages.append(context.request.url)
        await context.add_requests(links_of(context.request.url, await response.read()))
    await crawler.run(seeds)
def work():
    asyncio.run(main())
    return pages
measure(work)
"""
)


def install_crawlee() -> None:
    """Make its environment, where there is none."""
    if not CRAWLEE_PYTHON.exists():
        folder = CRAWLEE_PYTHON.parents[1]
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        wanted = ("crawlee", "selectolax", "can-ada")
        subprocess.run([CRAWLEE_PYTHON, "-m", "pip", "install", "-q", *wanted], check=True)


def scrapy(
    *,
    in_flight: int = 16,
    per_host: int = 16,
    robots: bool = True,
    pages: int = 0,
    one_host: bool = True,
    folder: str = "",
) -> str:
    """A spider of Scrapy. `pages`: after which it ends, 0 for never; `folder`: its JOBDIR."""
    told = {
        "in_flight": in_flight,
        "per_host": per_host,
        "robots": robots,
        "pages": pages,
        "one_host": one_host,
        "folder": folder,
    }
    return f"told = {told!r}\n{_SCRAPY}"


def crawlee(
    *,
    in_flight: int = 16,
    robots: bool = False,
    pages: int = 0,
    one_host: bool = True,
    folder: str = "",
    any_certificate: bool = False,
) -> str:
    """One of Crawlee. `pages`: requests after which it ends, 0 for never; `folder`: where it keeps
    its files; without it, it keeps all in memory."""
    told = {
        "in_flight": in_flight,
        "robots": robots,
        "pages": pages,
        "one_host": one_host,
        "folder": folder,
        "any_certificate": any_certificate,
    }
    return f"told = {told!r}\n{_CRAWLEE}"
