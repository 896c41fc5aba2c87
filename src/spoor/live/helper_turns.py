"""Whose document a helper process (`spoor.isolate`) reads next.

A document that is made to cost takes seconds of a helper. So documents that wait for it stand in no
line: the next is of the site that took least lately, and one of a site of which nothing is known
yet comes after those that are known to take little. Sites whose documents take long have a helper
of their own. A site is a domain, since any name below one may be a host with a pace of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

T = TypeVar("T")

LATELY = 60.0
"""Seconds after which what a site took counts half."""

UNKNOWN = 1.0
"""Seconds that a site counts as having taken of which no document was read."""

LONG = 0.5
"""Seconds a document that are long."""

MOST_WAITING = 32
"""Documents at one helper; beyond, one of a site whose documents take long is given up."""

AGAIN = 60.0
"""Seconds after which such a document may be asked for again."""

MOST_SITES = 1_000
"""Of which is known what they took; those that were read longest ago leave."""


class CrowdedError(Exception):
    """A document that is not read now, since others wait."""


class _Lately(NamedTuple):
    seconds: float
    documents: float
    counted: float


class SiteTimes:
    """What the documents of each site took lately, by any helper. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sites: dict[str, _Lately] = {}

    def took(self, site: str, seconds: float) -> None:
        """A document of a site took so many seconds."""
        now, before = self._clock(), self._sites.pop(site, None)
        share = 0.0 if before is None else _left(now - before.counted)
        past, documents = (0.0, 0.0) if before is None else before[:2]
        self._sites[site] = _Lately(share * past + seconds, share * documents + 1, now)
        if len(self._sites) > MOST_SITES:
            del self._sites[next(iter(self._sites))]

    def lately(self, site: str) -> float:
        """Seconds that it took lately."""
        found = self._sites.get(site)
        if found is None:
            return UNKNOWN
        return _left(self._clock() - found.counted) * found.seconds

    def is_slow(self, site: str) -> bool:
        """Whether its documents take long."""
        found = self._sites.get(site)
        return found is not None and found.seconds > LONG * found.documents


def _left(seconds: float) -> float:
    return float(0.5 ** (seconds / LATELY))


class _Waiting(NamedTuple):
    site: str
    begin: asyncio.Future[None]


class HelperTurns:
    """Turns at one helper, each in the same thread, beside the event loop that runs when this is
    made."""

    def __init__(self, times: SiteTimes) -> None:
        self._times = times
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "helper")
        self._busy = False
        self._waiting: list[_Waiting] = []

    async def read(self, site: str, call: Callable[[], T]) -> T:
        """What the call returns, once it is the site's turn. Raises CrowdedError, and what the call
        raises."""
        await self._turn(site)
        began = self._loop.time()
        try:
            return await self._loop.run_in_executor(self._thread, call)
        finally:
            self._times.took(site, self._loop.time() - began)
            self._next()

    def close(self) -> None:
        """Nothing more is read."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, site: str) -> None:
        if not self._busy:
            self._busy = True
            return
        mine = _Waiting(site, self._loop.create_future())
        self._waiting.append(mine)
        self._give_up()
        try:
            await mine.begin
        except asyncio.CancelledError:
            if mine in self._waiting:
                self._waiting.remove(mine)
            elif not mine.begin.cancelled():
                self._next()  # its turn had just come
            raise

    def _give_up(self) -> None:
        slow = [one for one in self._waiting if self._times.is_slow(one.site)]
        if slow and len(self._waiting) > MOST_WAITING:
            last = max(reversed(slow), key=lambda one: self._times.lately(one.site))
            self._waiting.remove(last)
            last.begin.set_exception(CrowdedError)

    def _next(self) -> None:
        waiting = [one for one in self._waiting if not one.begin.done()]
        if not waiting:
            self._busy = False
            return
        first = min(waiting, key=lambda one: self._times.lately(one.site))
        self._waiting.remove(first)
        first.begin.set_result(None)
