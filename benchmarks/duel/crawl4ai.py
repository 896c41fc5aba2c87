"""Crawl4AI's best-first deep crawl with its keyword scorer, over plain HTTP (no page of the duel
needs a browser)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "Crawl4AI, best-first",
        "version": version_of("crawl4ai"),
        "settings": "BestFirstCrawlingStrategy(max_depth=20, max_pages=N, "
        "KeywordRelevanceScorer(words of the wish, weight=0.7)), AsyncHTTPCrawlerStrategy, "
        "check_robots_txt",
        "told": "",
    }


def install(environment: Path) -> None:
    pip_install(environment, "crawl4ai")


def crawl(it: Crawl) -> None:
    asyncio.run(_crawl(it))


async def _crawl(it: Crawl) -> None:
    library = import_module("crawl4ai")
    deep = import_module("crawl4ai.deep_crawling")
    over_http = import_module("crawl4ai.async_crawler_strategy").AsyncHTTPCrawlerStrategy()
    scorer = deep.KeywordRelevanceScorer(keywords=it.keywords, weight=0.7)
    strategy = deep.BestFirstCrawlingStrategy(
        max_depth=20, max_pages=it.pages, url_scorer=scorer, include_external=it.hosts
    )
    config = library.CrawlerRunConfig(
        deep_crawl_strategy=strategy,
        scraping_strategy=library.LXMLWebScrapingStrategy(),
        cache_mode=library.CacheMode.BYPASS,
        check_robots_txt=True,
        mean_delay=0.0,
        max_range=0.0,
        stream=True,
        verbose=False,
    )
    async with library.AsyncWebCrawler(crawler_strategy=over_http) as crawler:
        async for result in await crawler.arun(it.start, config=config):
            markdown = result.markdown if result.success else ""
            it.say(result.url, markdown=len(str(markdown or "")))
