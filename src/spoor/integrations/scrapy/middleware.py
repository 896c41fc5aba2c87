"""Middlewares that report to the scheduler: pages for the spider, requests from it, and failed
downloads, of which some are made again later."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy.http import Request, Response

from spoor.integrations.scrapy.scheduler import scheduler_of
from spoor.integrations.scrapy.visits import FOUND_ON, VISIT, Visit

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class PageMiddleware:
    """A spider middleware: judges each page before the spider gets it, and marks each request with
    the page on which its link is."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PageMiddleware:
        return cls(crawler)

    def process_spider_input(self, response: Response) -> None:
        scheduler = scheduler_of(self._crawler)
        if scheduler is None:
            return
        try:
            scheduler.page_arrived(response)
        except Exception:  # a fault of ours is no reason for the spider to lose its page
            logger.exception("spoor: %s is not judged", response.url)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        visit = response.request.meta.get(VISIT) if response.request is not None else None
        async for item in result:
            if isinstance(item, Request):
                # Spiders often copy `response.meta`, and with it the visit of another page.
                item.meta.pop(VISIT, None)
                if isinstance(visit, Visit):
                    item.meta[FOUND_ON] = visit.ticket
            yield item


class DownloadMiddleware:
    """A downloader middleware: has documents read beside the event loop that may take seconds, and
    reports to the scheduler why a download failed."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DownloadMiddleware:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        scheduler = scheduler_of(self._crawler)
        if scheduler is not None:
            await scheduler.read_ahead(request, response)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        scheduler = scheduler_of(self._crawler)
        if scheduler is not None:
            scheduler.download_failed(request, exception)


class LateMiddleware:
    """A downloader middleware before that of retries: a request that had little time, since others
    waited for its place, is made again later."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LateMiddleware:
        return cls(crawler)

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        scheduler = scheduler_of(self._crawler)
        return None if scheduler is None else scheduler.concurrent.again(request)
