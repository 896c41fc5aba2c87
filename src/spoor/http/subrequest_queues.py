"""Parts of rendered pages wait for hosts of other sites in lines of their own.

Whoever has a page chooses how many parts of another site it asks for, and each takes a turn of that
host. So at a host one part at a time waits beside the crawl's own requests, by turns of the domains
whose pages ask.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from spoor.web.urls import domain_of, registrable_domain


def is_own(page: str, name: str) -> bool:
    """Whether the page at a URL is of the site of a host."""
    return domain_of(page) == registrable_domain(name)


class PartLines:
    """What a page asks of its own site is not held back here."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()
        """Lock → how many hold it or wait for it."""

    @asynccontextmanager
    async def turn(self, page: str, name: str) -> AsyncIterator[None]:
        """A part that the page at a URL asks for, of a host."""
        if is_own(page, name):
            yield
            return
        async with AsyncExitStack() as entered:
            for line in (f"{domain_of(page)} {name}", name):
                await entered.enter_async_context(self._alone(line))
            yield

    @asynccontextmanager
    async def _alone(self, line: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(line, asyncio.Lock())
        self._users[line] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[line] -= 1
            if not self._users[line]:
                del self._users[line], self._locks[line]
