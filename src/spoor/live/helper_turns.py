"""Whose document a helper process (`spoor.isolate`) reads next.

A document that is made to cost takes seconds of a helper. So documents that wait for it stand in no
line: the next is of the site that took least lately, and one of a site of which nothing is known
yet comes after those that are known to take little. Sites whose documents take long have a helper
of their own, and documents that a first look (`spoor.isolate.parsing.BRIEF`) did not end are read
there, too; as long as there are such, also the first document of each site. A site is a domain,
since any name below one may be a host with a pace of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from spoor.isolate.parsing import TakesLongError, parse_page
from spoor.turns import CrowdedError, SiteTimes, Waiting
from spoor.types import Page

Parse = Callable[..., Page]
"""`spoor.isolate.parsing.parse_page`, with some of its options given."""

T = TypeVar("T")

LONG = 0.5
"""Seconds of a document that are long, where it is not given up before."""

MOST_WAITING = 32
"""Documents at one helper; beyond, one of a site whose documents take long is given up."""

AGAIN = 60.0
"""Seconds after which such a document may be asked for again."""


class RiskyError(Exception):
    """A document that is to be read by another helper, since its site may be one of those whose
    documents take long."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    site: str


class HelperTurns:
    """Turns at one helper, each in the same thread, beside the event loop that runs when this is
    made. `careful`: it reads nothing of risky sites."""

    def __init__(self, times: SiteTimes, *, careful: bool = False) -> None:
        self._times = times
        self._careful = careful
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "helper")
        self._busy = False
        self._waiting = Waiting[_Turn]()

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
        await self._waiting.turn(_Turn(site), self._give_up, self._next)

    def _give_up(self) -> None:
        waiting = list(self._waiting)
        slow = [one for one in waiting if self._times.is_slow(one.site)]
        if slow and len(waiting) > MOST_WAITING:
            last = max(reversed(slow), key=lambda one: self._times.lately(one.site))
            self._waiting.refuse(last, CrowdedError)

    def _next(self) -> None:
        for one in self._waiting:
            if self._refuses(one.site):
                self._waiting.refuse(one, RiskyError)
        first = min(self._waiting, key=lambda one: self._times.lately(one.site), default=None)
        self._busy = first is not None
        if first is not None:
            self._waiting.begin(first)


class Helpers:
    """The three helpers, beside the event loop that runs when this is made. `time` gives the
    seconds by which sites are measured."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._times = SiteTimes(time)
        self._turns = {name: HelperTurns(self._times) for name in ("pages", "slow")}
        self._turns["documents"] = HelperTurns(self._times, careful=True)

    async def read(self, helper: str, site: str, call: Callable[[Parse], T]) -> T:
        """What `call(parse)` returns, once it is the site's turn. `helper`: as
        `spoor.isolate.parsing.helper_of` says. It may be called twice: a document that takes long
        is read by another helper. Raises CrowdedError, and what the call raises."""
        slow = self._turns["slow"]
        if not self._times.is_slow(site):
            with contextlib.suppress(TakesLongError):
                with contextlib.suppress(RiskyError):
                    brief = partial(call, partial(parse_page, brief=True))
                    return await self._turns[helper].read(site, brief)
                brief = partial(call, partial(parse_page, brief=True, slow=True))
                return await slow.read(site, brief)
            await asyncio.sleep(0)  # those that were sent away there come first
        return await slow.read(site, partial(call, partial(parse_page, slow=True)))

    def close(self) -> None:
        """Nothing more is read."""
        for turns in self._turns.values():
            turns.close()
