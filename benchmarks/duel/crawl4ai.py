"""Crawl4AI's best-first deep crawl with its keyword scorer, over plain HTTP (no page of the duel
needs a browser)."""

from __future__ import annotations

import asyncio
import json
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
        max_depth=20,
        max_pages=it.pages,
        url_scorer=scorer,
        include_external=it.hosts,
        **(_going_on(it.work / "state.json") if it.durable else {}),
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
            score = (result.metadata or {}).get("score")
            it.say(result.url, score=score, markdown=len(str(markdown or "")))


def _going_on(file: Path) -> dict[str, Any]:
    """Its documented way to go on after a crash: the state that it hands out is written down."""

    async def keep(state: dict[str, Any]) -> None:
        part = file.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(file)

    state = json.loads(file.read_text()) if file.exists() else None
    return {"resume_state": state, "on_state_change": keep}
