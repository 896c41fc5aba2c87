"""Turns at something that many sites share: a helper process, or a browser.

The next turn goes to the site that took least time lately (`SiteTimes`). A site is a domain, since
any name below a domain may be a host with delays of its own.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

from spoor.bounded import BoundedDict

T = TypeVar("T")

LATELY = 60.0
"""Seconds after which what a site took counts half."""

UNKNOWN = 1.0
"""Seconds that a site counts as having taken if none of its documents was read yet."""

OFTEN = 0.1
"""A site is slow if more than this share of its documents took long."""

MOST_SITES = 1_000
"""Sites whose times are known; those that were read longest ago are forgotten."""


class CrowdedError(Exception):
    """The turn was refused, since too many others wait."""


class Waiting(Generic[T]):
    """The queue of those that wait for a turn, in order of arrival. They are told apart by
    identity. Whoever uses the queue decides whose turn it is."""

    def __init__(self) -> None:
        self._begins: dict[T, asyncio.Future[None]] = {}

    def __iter__(self) -> Iterator[T]:
        return iter([one for one, begin in self._begins.items() if not begin.done()])

    async def turn(self, one: T, entered: Callable[[], None], back: Callable[[], None]) -> None:
        """Wait until it is the turn of `one`.

        `entered` is called once `one` is in the queue, and may let it begin. `back` is called if
        its turn began and it was cancelled before it could know. Raises what `refuse` gave.
        """
        begin = self._begins[one] = asyncio.get_running_loop().create_future()
        try:
            entered()
            await begin
        except asyncio.CancelledError:
            if not begin.cancelled() and begin.exception() is None:
                back()
            raise
        finally:
            self._begins.pop(one, None)

    def begin(self, one: T) -> None:
        """Begin the turn of one that waits."""
        self._begins.pop(one).set_result(None)

    def refuse(self, one: T, why: type[Exception]) -> None:
        """Remove one that waits; its `turn` raises `why`."""
        self._begins.pop(one).set_exception(why)


class _Lately(NamedTuple):
    seconds: float
    documents: float
    long: float
    """How many of these took long."""
    counted: float
    """When; all of the above are halved each `LATELY` seconds."""


class SiteTimes:
    """How long the documents of each site took lately. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sites = BoundedDict[str, _Lately](MOST_SITES)
        self._long_at = -math.inf
        """When a document that took long ended last."""

    def took(self, site: str, seconds: float, *, long: bool = False) -> None:
        """A document of the site took so many seconds; `long`: too many for those that wait."""
        now = self._clock()
        self._long_at = now if long else self._long_at
        past = self._sites.pop(site, _Lately(0.0, 0.0, 0.0, now))
        share = _left(now - past.counted)
        counts = share * past.documents + 1, share * past.long + long
        self._sites[site] = _Lately(share * past.seconds + seconds, *counts, now)

    def lately(self, site: str) -> float:
        """Seconds that the site took lately."""
        found = self._sites.get(site)
        if found is None:
            return UNKNOWN
        return _left(self._clock() - found.counted) * found.seconds

    def is_risky(self, site: str) -> bool:
        """Whether no document of the site was read yet, while some of other sites took long."""
        return site not in self._sites and self._clock() < self._long_at + LATELY

    def is_slow(self, site: str) -> bool:
        """Whether the documents of the site take long."""
        found = self._sites.get(site)
        return found is not None and found.long > OFTEN * found.documents


def _left(seconds: float) -> float:
    return float(0.5 ** (seconds / LATELY))
