"""Crawlee's ParselCrawler, as its guide shows it: it follows links as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "Crawlee, breadth-first",
        "version": version_of("crawlee"),
        "settings": "ParselCrawler, enqueue_links (of twenty hosts: same-domain), "
        "respect_robots_txt_file, max_concurrency 1, max_requests_per_crawl N",
        "told": "",
    }


def install(environment: Path) -> None:
    pip_install(environment, "crawlee[parsel]")


def crawl(it: Crawl) -> None:
    crawlee, crawlers = import_module("crawlee"), import_module("crawlee.crawlers")
    if it.durable:  # its storage lies in the work folder
        configuration = import_module("crawlee.configuration").Configuration(purge_on_start=False)
        import_module("crawlee").service_locator.set_configuration(configuration)
    crawler = crawlers.ParselCrawler(
        max_requests_per_crawl=it.pages,
        respect_robots_txt_file=True,
        concurrency_settings=crawlee.ConcurrencySettings(max_concurrency=1, desired_concurrency=1),
    )

    async def handle(context: Any) -> None:
        it.say(context.request.url)
        await context.enqueue_links(strategy="same-domain" if it.hosts else "same-hostname")

    crawler.router.default_handler(handle)
    asyncio.run(crawler.run([it.start]))
