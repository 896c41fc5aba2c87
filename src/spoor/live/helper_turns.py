"""Whose document a helper process (`spoor.isolate`) reads next.

A document that is made to cost takes seconds of a helper. So documents that wait for it stand in no
line: the next is of the site that took least lately, and one of a site of which nothing is known
yet comes after those that are known to take little. Sites whose documents take long have a helper
of their own, and documents that a first look (`spoor.isolate.BRIEF`) did not end are read there,
too; as long as there are such, also the first document of each site. A site is a domain, since any
name below one may be a host with a pace of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from spoor.isolate import TakesLongError
from spoor.site_times import SiteTimes

T = TypeVar("T")

LONG = 0.5
"""Seconds of a document that are long, where it is not given up before."""

MOST_WAITING = 32
"""Documents at one helper; beyond, one of a site whose documents take long is given up."""

AGAIN = 60.0
"""Seconds after which such a document may be asked for again."""


class CrowdedError(Exception):
    """A document that is not read now, since others wait."""


class RiskyError(Exception):
    """A document that is to be read by another helper, since its site may be one of those whose
    documents take long."""


class _Waiting(NamedTuple):
    site: str
    begin: asyncio.Future[None]


class HelperTurns:
    """Turns at one helper, each in the same thread, beside the event loop that runs when this is
    made. `careful`: it reads nothing of risky sites."""

    def __init__(self, times: SiteTimes, *, careful: bool = False) -> None:
        self._times = times
        self._careful = careful
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "helper")
        self._busy = False
        self._waiting: list[_Waiting] = []

    async def read(self, site: str, call: Callable[[], T]) -> T:
        """What the call returns, once it is the site's turn. Raises CrowdedError, RiskyError, and
        what the call raises."""
        await self._turn(site)
        began, slow, long = self._loop.time(), self._times.is_slow(site), False
        try:
            return await self._loop.run_in_executor(self._thread, call)
        except TakesLongError:
            long = True
            raise
        finally:
            seconds = self._loop.time() - began
            self._times.took(site, seconds, long=long or (slow and seconds > LONG))
            self._next()

    def close(self) -> None:
        """Nothing more is read."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _refuses(self, site: str) -> bool:
        return self._careful and self._times.is_risky(site)

    async def _turn(self, site: str) -> None:
        if self._refuses(site):
            raise RiskyError
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
        for one in [one for one in self._waiting if self._refuses(one.site)]:
            self._waiting.remove(one)
            if not one.begin.done():
                one.begin.set_exception(RiskyError)
        waiting = [one for one in self._waiting if not one.begin.done()]
        if not waiting:
            self._busy = False
            return
        first = min(waiting, key=lambda one: self._times.lately(one.site))
        self._waiting.remove(first)
        first.begin.set_result(None)
