"""Whose page a browser renders next.

A page that never comes to rest holds a place of the browser until its time is over. So pages that
wait stand in no line: the next is of the site that took least lately. Sites whose pages take long,
and those of which none was rendered yet, leave one place to the others, where there are others. A
site is a domain, as in `spoor.live.helper_turns`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spoor.live.helper_turns import SiteTimes

LONG = 5.0
"""Seconds of a page that takes long."""


class RenderTurns:
    """Turns at so many `places`; `times` has what pages of each site took. In one event loop."""

    def __init__(self, places: int, times: SiteTimes) -> None:
        self._places = places
        self._times = times
        self._busy: Counter[str] = Counter()
        """Site → places that it has."""
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def turn(self, site: str) -> AsyncIterator[None]:
        """A place for a page of a site, once it is the site's turn."""
        loop = asyncio.get_running_loop()
        mine = site, loop.create_future()
        self._waiting.append(mine)
        self._next()
        try:
            await mine[1]
        except asyncio.CancelledError:
            if mine in self._waiting:
                self._waiting.remove(mine)
            else:
                self._leave(site)
            raise
        began = loop.time()
        try:
            yield
        finally:
            seconds = loop.time() - began
            self._times.took(site, seconds, long=seconds > LONG)
            self._leave(site)

    def _leave(self, site: str) -> None:
        self._busy -= Counter((site,))
        self._next()

    def _next(self) -> None:
        """Let those begin for which there is a place."""
        while (free := self._places - self._busy.total()) > 0:
            may = [one for one in self._waiting if free > 1 or not self._leaves_one(one[0])]
            if not may:
                return
            first = min(may, key=lambda one: self._times.lately(one[0]))
            self._waiting.remove(first)
            self._busy[first[0]] += 1
            if not first[1].done():
                first[1].set_result(None)

    def _leaves_one(self, site: str) -> bool:
        """Whether a site has to leave the last place to others."""
        unproven = not self._times.knows(site) or self._times.is_slow(site)
        return unproven and self._times.others(site)
