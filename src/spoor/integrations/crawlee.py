"""Spoor's order inside Crawlee for Python (extra `crawlee`).

    crawler = ordered(Orderer("cancer research"), ParselCrawler, max_requests_per_crawl=500)

Everything else of the crawler stays: handlers, sessions, proxies, storages, concurrency. The life
of a request: `add_request` → the links of a page enter with it, when its handler has ended → the
orderer chooses → the page is judged before the handler gets it (`request.user_data["spoor"]`) →
`mark_request_as_handled` hands it to the orderer, which learns.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from crawlee import Request
from crawlee.crawlers import BasicCrawler
from crawlee.request_loaders import RequestManager
from crawlee.storage_clients.models import ProcessedRequest

from spoor.documents.errors import UnreadableError
from spoor.errors import InputError
from spoor.isolate.parsing import helper_of, parse_page
from spoor.live.helper_turns import Helpers, Parse
from spoor.orderer import Orderer
from spoor.turns import CrowdedError
from spoor.types import Judgement, Page
from spoor.web.urls import canonical, host, registrable_domain

OTHERS_FIRST = 8
"""Requests that are given before one that failed is given again, where there are so many."""

_HANDLED_NOW: ContextVar[str] = ContextVar("spoor_request", default="")
"""Key of the request whose handler runs in this task."""

C = TypeVar("C", bound=BasicCrawler[Any, Any])


def ordered(orderer: Orderer, crawler: type[C], **options: Any) -> C:
    """A crawler of this class, made with these options, that fetches in this order.

    Raises InputError for a class that fetches no pages (`BasicCrawler`) and for options that bring
    a request manager of their own.
    """
    if options.get("request_manager") is not None:
        raise InputError("the crawler has a request manager; give ordered() its options without")
    manager = SpoorRequestManager(orderer)
    made = crawler(**{**options, "request_manager": manager})
    hook = getattr(made, "post_navigation_hook", None)
    if hook is None:
        raise InputError(f"{type(made).__name__} fetches no pages that could be judged")
    hook(manager.see)
    return made


class SpoorRequestManager(RequestManager):
    """Gives requests in the order of an orderer.

    Requests that their URL does not identify (a body, another method than GET, `forefront`, another
    unique key for a URL that is known) are given first, in their own order, and nothing is learned
    from them. All stands in memory.
    """

    def __init__(self, orderer: Orderer) -> None:
        self.orderer = orderer
        self._waiting: dict[str, Request] = {}
        """Requests by canonical URL that the orderer is to choose, or will know of soon."""
        self._chosen: set[str] = set()
        """URLs that it chose."""
        self._direct: deque[Request] = deque()
        self._again: deque[tuple[int, Request]] = deque()
        """(count of given requests from which it is due, request)"""
        self._in_progress: dict[str, Request] = {}
        self._handled: set[str] = set()
        self._known: set[str] = set()
        self._given = 0
        self._seen: dict[str, tuple[Page, Judgement]] = {}
        self._followed: dict[str, dict[str, str]] = {}
        self._helpers: tuple[asyncio.AbstractEventLoop, Helpers] | None = None

    # -- Crawlee's calls

    async def get_handled_count(self) -> int:
        return len(self._handled)

    async def get_total_count(self) -> int:
        return len(self._known)

    async def is_empty(self) -> bool:
        self.orderer.enter_some()
        return not (self._direct or self._again or self.orderer.has_next())

    async def is_finished(self) -> bool:
        if self._in_progress or self.orderer.waiting or self.orderer.has_more:
            return False
        return await self.is_empty()

    async def add_request(
        self, request: str | Request, *, forefront: bool = False
    ) -> ProcessedRequest | None:
        made = self._transform_request(request)
        key, url = made.unique_key, _url_of(made)
        page = _HANDLED_NOW.get()
        on_page = page in self._in_progress
        if on_page and url is not None:
            self._followed.setdefault(page, {})[url] = ""
        present = key in self._known
        if not present:
            self._known.add(key)
            if forefront or url is None or url in self._waiting or url in self._chosen:
                (self._direct.appendleft if forefront else self._direct.append)(made)
            else:
                self._waiting[url] = made
                if not on_page and self.orderer.crawl.frontier.find(url) is None:
                    self.orderer.add([url])
        return _processed(key, present=present, handled=key in self._handled)

    async def fetch_next_request(self) -> Request | None:
        self.orderer.enter_some()
        request = self._next()
        if request is not None:
            self._given += 1
            self._in_progress[request.unique_key] = request
        return request

    async def reclaim_request(
        self, request: Request, *, forefront: bool = False
    ) -> ProcessedRequest | None:
        key = request.unique_key
        if self._in_progress.pop(key, None) is None:
            return None
        if forefront:
            self._direct.appendleft(request)
        else:
            self._again.append((self._given + OTHERS_FIRST, request))
        return _processed(key, present=True, handled=False)

    async def mark_request_as_handled(self, request: Request) -> ProcessedRequest | None:
        key = request.unique_key
        if self._in_progress.pop(key, None) is None:
            return None
        self._handled.add(key)
        self._learn(key, _url_of(request))
        return _processed(key, present=True, handled=True)

    async def purge(self) -> None:
        """Forget the requests; what was learned stays."""
        for url in self.orderer.out:
            self.orderer.feedback(url, None)
        held = (self._waiting, self._in_progress, self._seen, self._followed)
        for one in (*held, self._direct, self._again, self._handled, self._known):
            one.clear()

    async def drop(self) -> None:
        await self.purge()

    # -- pages

    async def see(self, context: Any) -> None:
        """A hook of a crawler after navigation: judges the page before its handler gets it."""
        request: Request = context.request
        _HANDLED_NOW.set(request.unique_key)
        status, kind, body = await _reply(context)
        if not 200 <= status < 300:
            return
        try:
            url = _url(context)
        except ValueError:  # a redirect led there, which is no reason to lose the page
            return
        facts: dict[str, Any] = {"content_type": kind, "status": status, "fetched_at": time.time()}

        def read(parse: Parse = parse_page) -> Page:
            return parse(body, url, **facts)

        helper = helper_of(body, kind, url)
        try:
            page = await self._read(helper, url, read) if helper else read()
        except (UnreadableError, CrowdedError, ValueError):
            return
        judgement = self.orderer.judge(page)
        self._seen[request.unique_key] = (page, judgement)
        request.user_data["spoor"] = {
            "score": judgement.score,
            "relevant": judgement.relevant,
            "title": page.title,
            "why": [[reason, share] for reason, share in judgement.why],
        }

    # -- inside

    async def _read(self, helper: str, url: str, read: Callable[[Parse], Page]) -> Page:
        """A page that a helper reads, once it is its site's turn."""
        loop = asyncio.get_running_loop()
        if self._helpers is None or self._helpers[0] is not loop:  # a crawler runs once in each
            if self._helpers is not None:
                self._helpers[1].close()
            self._helpers = loop, Helpers(loop.time)
        return await self._helpers[1].read(helper, registrable_domain(host(url)), read)

    def _next(self) -> Request | None:
        if self._direct:
            return self._direct.popleft()
        if self._again and self._again[0][0] <= self._given:
            return self._again.popleft()[1]
        while urls := self.orderer.next():
            self._chosen.add(urls[0])
            request = self._waiting.pop(urls[0], None)
            if request is not None:
                return request
            self.orderer.feedback(urls[0], None)  # it was forgotten
        return self._again.popleft()[1] if self._again else None

    def _learn(self, key: str, url: str | None) -> None:
        seen, followed = self._seen.pop(key, None), self._followed.pop(key, {})
        known = url is not None and url in self.orderer.out
        if url is not None and known:
            page, judgement = (None, None) if seen is None else seen
            self.orderer.feedback(url, page, judgement=judgement, followed=followed)
        if followed and not (seen and known):
            # The orderer has no page for these links.
            self.orderer.add_later(followed)


def _processed(key: str, *, present: bool, handled: bool) -> ProcessedRequest:
    return ProcessedRequest(
        unique_key=key, was_already_present=present, was_already_handled=handled
    )


def _url_of(request: Request) -> str | None:
    """The canonical URL of a request that its URL identifies; None for any other."""
    if request.method != "GET" or request.payload:
        return None
    try:
        return canonical(request.url)
    except ValueError:
        return None


def _url(context: Any) -> str:
    return canonical(context.request.loaded_url or context.request.url)


async def _reply(context: Any) -> tuple[int, str, bytes]:
    """(status, content type, body) of what a crawler fetched: by HTTP, or in a browser."""
    http = getattr(context, "http_response", None)
    if http is not None:
        return http.status_code, http.headers.get("content-type") or "", await http.read()
    response, page = getattr(context, "response", None), getattr(context, "page", None)
    if response is None or page is None:
        return 0, "", b""
    html: str = await page.content()
    return response.status, "text/html; charset=utf-8", html.encode("utf-8", "replace")
