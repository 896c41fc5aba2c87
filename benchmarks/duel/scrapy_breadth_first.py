"""Scrapy, breadth-first, as its FAQ says: what follows every link without knowing a wish."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "Scrapy, breadth-first",
        "version": version_of("scrapy"),
        "settings": "DEPTH_PRIORITY 1, FIFO queues, LinkExtractor, ROBOTSTXT_OBEY, "
        "CONCURRENT_REQUESTS 1, CLOSESPIDER_PAGECOUNT N",
        "told": "",
    }


def install(environment: Path) -> None:
    pip_install(environment, "scrapy")


def crawl(it: Crawl) -> None:
    scrapy = import_module("scrapy")
    extractor = import_module("scrapy.linkextractors").LinkExtractor(
        allow_domains=[it.domain if it.hosts else it.host]
    )

    def parse(spider: Any, response: Any) -> Any:
        it.say(response.url)
        if isinstance(response, import_module("scrapy.http").HtmlResponse):
            for link in extractor.extract_links(response):
                yield scrapy.Request(link.url)

    walk = type(
        "Walk", (scrapy.Spider,), {"name": "walk", "start_urls": [it.start], "parse": parse}
    )
    process = import_module("scrapy.crawler").CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "CONCURRENT_REQUESTS": 1,
            "DOWNLOAD_DELAY": 0,
            "CLOSESPIDER_PAGECOUNT": it.pages,
            "LOG_LEVEL": "WARNING",
            **({"JOBDIR": str(it.work / "job")} if it.durable else {}),
        }
    )
    process.crawl(walk)
    process.start()
