"""Which host a crawl waits for, why, and until when. Pure: times are Unix seconds, as arguments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from spoor.display import shown
from spoor.durations import DAY
from spoor.types import Deferred
from spoor.web.urls import host

STILL = 5.0
"""Seconds without a page after which a crawl is said to wait."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a crawl waits for that goes on first."""

    host: str
    why: str
    until: float
    """When it goes on, at the latest; infinite where nobody knows."""
    others: int = 0
    """Hosts that it waits for besides."""

    def words(self, now: float) -> str:
        """For a person, at the time `now`."""
        line = f"waiting for {shown(self.host)}"
        if self.until < math.inf:
            line += f" until {_clock(self.until, now)}"
        line += f": {shown(self.why)}"
        if self.others:
            line += f" (and for {self.others:,} other host{'s'[: self.others > 1]})"
        return line


@dataclass(frozen=True, slots=True)
class Request:
    """A request in flight."""

    host: str
    sent: float | None
    """Since when it waits for its host; None while it waits for its turn, or is read."""


def waits_for(
    requests: Iterable[Request],
    deferred: Iterable[Deferred],
    hosts: Iterable[tuple[str, int, int, float]],
    delay: Callable[[str], float],
    *,
    timeout: float,
    now: float,
) -> Wait | None:
    """What a crawl waits for: requests that are in flight, tickets that are asked for again, and
    the clocks of its hosts, which are given as (host, open links, requests in flight, free at).

    `delay` gives the seconds between two requests to a host; `timeout` are those that a request may
    take. None where nothing is known to hold it."""
    found: dict[str, Wait] = {}

    def add(name: str, why: str, until: float) -> None:
        if name not in found or until < found[name].until:
            found[name] = Wait(name, why, until)

    clocks = {name: (links, flying, free_at) for name, links, flying, free_at in hosts}
    for one in requests:
        if one.sent is None:
            add(one.host, _pause(delay(one.host)) or "its answer is being read", math.inf)
        else:
            asked = f"asked at {_clock(one.sent, now)}, no answer yet; it is given up then"
            add(one.host, asked, one.sent + timeout)
    for step in deferred:
        name = host(step.url)
        _, flying, free_at = clocks.get(name, (0, 0, now))
        if not flying and (until := max(step.until, free_at)) > now:
            add(name, f"{step.reason}; then it is asked again", until)
    for name, (links, flying, free_at) in clocks.items():
        if links and not flying and free_at > now:
            usual = free_at - now <= delay(name)
            add(name, _pause(delay(name)) if usual else _RESTS, free_at)
    if not found:
        return None
    first = min(found.values(), key=lambda wait: (wait.until, wait.host))
    return replace(first, others=len(found) - 1)


_RESTS = "it failed, asked for a pause, or its links are passed over while others have their turns"


def _pause(delay: float) -> str:
    return f"one request in {delay:g} s" if delay else ""


def _clock(when: float, now: float) -> str:
    """A time of this machine's day; with the date where that is another day."""
    day = "%Y-%m-%d " if abs(when - now) > DAY / 2 else ""
    return time.strftime(f"{day}%H:%M:%S", time.localtime(when))
