"""ByteCrawl's Shark-Search, as its README shows it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of

THRESHOLD = 0.1
"""That of `CrawlResult.relevant()`."""


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "ByteCrawl",
        "version": version_of("bytecrawl"),
        "settings": "SharkSearch(query=WISH, delay=0).crawl(START, max_pages=N)",
        "told": f"relevance of {THRESHOLD} or more, as its `relevant()` does",
        "tries": 5,
    }


def install(environment: Path) -> None:
    pip_install(environment, "bytecrawl[llm]")


def crawl(it: Crawl) -> None:
    shark = import_module("bytecrawl").SharkSearch(query=it.wish, delay=0)
    result = shark.crawl(it.start, max_pages=it.pages)
    for page in result.pages:
        score = page["relevance"]
        it.say(page["url"], relevant=score >= THRESHOLD, score=score)
