"""Crawl4AI's adaptive crawler: it goes on until it has confidence in what it knows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "Crawl4AI, adaptive",
        "version": version_of("crawl4ai"),
        "settings": "AdaptiveCrawler, statistical, max_pages=N, max_depth=N, otherwise its "
        "defaults (it stops at confidence 0.7), AsyncHTTPCrawlerStrategy",
        "told": "the pages of its knowledge base",
        "tries": 5,
    }


def install(environment: Path) -> None:
    pip_install(environment, "crawl4ai")


def crawl(it: Crawl) -> None:
    asyncio.run(_crawl(it))


async def _crawl(it: Crawl) -> None:
    library = import_module("crawl4ai")
    over_http = import_module("crawl4ai.async_crawler_strategy").AsyncHTTPCrawlerStrategy()
    kept = it.work / "state.json"
    config = library.AdaptiveConfig(
        max_pages=it.pages,
        max_depth=it.pages,
        **({"save_state": True, "state_path": str(kept)} if it.durable else {}),
    )
    going_on = {"resume_from": str(kept)} if it.durable and kept.exists() else {}
    async with library.AsyncWebCrawler(crawler_strategy=over_http) as crawler:
        adaptive = library.AdaptiveCrawler(crawler, config)
        state = await adaptive.digest(start_url=it.start, query=it.wish, **going_on)
    for result in state.knowledge_base:
        it.say(result.url, relevant=True, markdown=len(str(result.markdown or "")))
