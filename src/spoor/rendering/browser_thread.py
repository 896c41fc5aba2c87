"""A browser whose events are handled in a thread and an event loop of their own.

A page may ask for thousands of images at a time, and each is an event that Playwright takes apart
and answers: so many of them would hold the loop that reads replies and sends requests.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any, TypeVar

from spoor.rendering.browser import Browser
from spoor.rendering.visit import Load
from spoor.web.exchange import Exchange, Rendered

T = TypeVar("T")


class BrowserThread:
    """Renders with `browser`, which nothing else may use. The requests of a page are loaded in the
    event loop of the caller, by the rules of the crawl."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_report)
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="browser", daemon=True)

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._over.wait())

    async def render(self, exchange: Exchange, load: Load) -> Rendered:
        """As `Browser.render`."""
        ours = asyncio.get_running_loop()

        async def across(url: str, kind: str, page: str) -> Exchange:
            return await _in(ours, load(url, kind, page))

        if self._thread.ident is None:
            self._thread.start()
        return await _in(self._loop, self._browser.render(exchange, across))

    async def close(self) -> None:
        """As `Browser.close`; its thread has ended then."""
        if self._thread.ident is None:
            self._loop.close()
            return
        await _in(self._loop, self._browser.close())
        self._loop.call_soon_threadsafe(self._over.set)
        await asyncio.to_thread(self._thread.join)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """As a loop does by itself, but for what Playwright left that nobody waits for: where its
    process is gone, whoever did hears that."""
    left = context.get("future")
    if left is None or isinstance(left, asyncio.Task):
        loop.default_exception_handler(context)


async def _in(loop: asyncio.AbstractEventLoop, call: Awaitable[T]) -> T:
    """The result of a call in another loop; the call is cancelled together with its caller."""

    async def made() -> T:
        return await call

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(made(), loop))
