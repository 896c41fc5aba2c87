"""Which page the browser renders next.

A page that never comes to rest uses all the time that it has. So each page has a short first look.
A page that is not complete by then moves to one of the places for long pages; if none is free, it
is ended and rendered anew when its turn there comes. Pages of sites that took long lately wait for
these places from the start. The next page is always of the site that took least time lately. While
there are long pages, sites of which nothing is known yet leave one place to the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from spoor.turns import CrowdedError, SiteTimes, Waiting

T = TypeVar("T")

PLACES = 2
"""Pages at a time that have their first look."""

LONG_PLACES = 2
"""Pages at a time, beside these, that take longer."""

FIRST_LOOK = 4.0
"""Seconds. A page whose scripts ask for a few files of its own host, one a second, is complete."""

MOST_WAITING = 32
"""Most pages that wait for these places; beyond, one of the site with most of them is given up."""


@dataclass(slots=True, eq=False)
class _Turn:
    site: str
    long: bool
    """Whether it needs one of the places for pages that take long."""
    risky: bool = False
    """Whether nothing was known of its site when it began, while pages of others took long."""


class RenderTurns:
    """Turns at the places of one browser, beside the event loop that uses this. `look`: seconds of
    a first look."""

    def __init__(self, times: SiteTimes, *, look: float = FIRST_LOOK) -> None:
        self._times = times
        self._look = look
        self._waiting = Waiting[_Turn]()
        self._begun: list[_Turn] = []

    async def render(self, site: str, call: Callable[[], Awaitable[T]]) -> T:
        """Render a page of a site by this call, when it is its turn. The call may be cancelled and
        made again. Raises CrowdedError, and what the call raises."""
        turn = await self._turn(site, long=self._times.is_slow(site))
        loop = asyncio.get_running_loop()
        while True:
            made, began, late = asyncio.ensure_future(call()), loop.time(), False
            try:
                await asyncio.wait({made}, timeout=self._look)
                late = not made.done()
                if not late or self._goes_on(turn):
                    return await made
            finally:
                if not made.done():
                    made.cancel()
                    await asyncio.wait({made})
                self._times.took(site, loop.time() - began, long=late)
                self._end(turn)
            turn = await self._turn(site, long=True)

    def _goes_on(self, turn: _Turn) -> bool:
        """Whether a page that takes long may go on, in a place for long pages."""
        self._times.took(turn.site, 0.0, long=True)
        if not turn.long and sum(other.long for other in self._begun) < LONG_PLACES:
            turn.long = True
            self._admit()
        return turn.long

    def _is_free(self, turn: _Turn) -> bool:
        """Whether one that waits may begin."""
        if turn.long:  # those that are about to need such a place come first
            long = [other.long or self._times.is_slow(other.site) for other in self._begun]
            return sum(long) < LONG_PLACES
        first = [other for other in self._begun if not other.long]
        if turn.risky and any(other.risky for other in first):
            return False
        return len(first) < PLACES

    async def _turn(self, site: str, *, long: bool) -> _Turn:
        mine = _Turn(site, long)
        await self._waiting.turn(mine, self._entered, lambda: self._end(mine))
        return mine

    def _entered(self) -> None:
        self._admit()
        self._give_up()

    def _end(self, turn: _Turn) -> None:
        self._begun.remove(turn)
        self._admit()

    def _admit(self) -> None:
        """Give the free places to those who wait for them."""
        for turn in sorted(self._waiting, key=lambda one: self._times.lately(one.site)):
            turn.long = turn.long or self._times.is_slow(turn.site)
            turn.risky = not turn.long and self._times.is_risky(turn.site)
            if self._is_free(turn):
                self._begun.append(turn)
                self._waiting.begin(turn)

    def _give_up(self) -> None:
        long = [turn for turn in self._waiting if turn.long]
        if len(long) <= MOST_WAITING:
            return
        sites = [turn.site for turn in long]
        last = max(reversed(long), key=lambda one: sites.count(one.site))
        self._waiting.refuse(last, CrowdedError)
