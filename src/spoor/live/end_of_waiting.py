"""When a crawl that has nothing else to do ends, though links are open: only hosts are left that
cannot be reached, or that ask to be left alone for long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from spoor.display import in_time
from spoor.politeness.robots import RobotsCache
from spoor.protocols import Engine, ListsHosts
from spoor.settings import Settings
from spoor.types import Finished
from spoor.web.urls import host

LONGEST_WAIT = 300.0
"""Seconds that a crawl with nothing else to do waits for hosts whose robots.txt could not be
fetched …"""
UNREACHED_WAIT = 30.0
"""… and one that has done with all other hosts: a link to a machine that is gone is no reason to
wait."""
LONGEST_PAUSE = 900.0
"""Seconds that it waits for hosts that ask to be left alone."""


def end_of_waiting(
    crawl: Engine,
    robots: RobotsCache,
    delay: Callable[[str], float],
    settings: Settings,
    until: float,
    now: float,
) -> Finished | None:
    """The end of a crawl that has nothing in flight and nothing to ask for before `until`; None
    where it waits. `delay`: seconds between two requests to a host. Both times by the crawl's
    clock, in seconds."""
    return _unreachable(crawl, robots, settings, until, now) or _left_alone(
        crawl, delay, settings, until, now
    )


def _unreachable(
    crawl: Engine, robots: RobotsCache, settings: Settings, until: float, now: float
) -> Finished | None:
    """Where only hosts are left whose robots.txt could not be fetched."""
    if until < now + UNREACHED_WAIT:
        return None
    gone = robots.unreachable()
    if not gone or (until < now + LONGEST_WAIT and not _done_but_for(crawl, settings, gone, now)):
        return None
    others = f" and of {len(gone) - 1} others" if gone[1:] else ""
    return Finished(f"only hosts are left that cannot be reached: robots.txt of {gone[-1]}{others}")


def _left_alone(
    crawl: Engine, delay: Callable[[str], float], settings: Settings, until: float, now: float
) -> Finished | None:
    """Where only hosts or pages are left that ask to be left alone for long."""
    hosts = crawl.frontier
    if until < now + LONGEST_PAUSE:
        return None
    if settings.command == "watch" or not isinstance(hosts, ListsHosts):
        return None
    # A host was held shortly before its page was, if that is what is waited for.
    free = [(at, name) for name, _, _, at in hosts.hosts() if until - 1.0 <= at < math.inf]
    at, name = min(free, default=(until, "one of them"))
    if free and delay(name) >= LONGEST_PAUSE:
        return None
    return Finished(
        f"only {'hosts' if free else 'pages'} are left that ask to be left alone, {name} for "
        f"{in_time(at - now)}; give the same command to go on then"
    )


def _done_but_for(crawl: Engine, settings: Settings, gone: Sequence[str], now: float) -> bool:
    """Whether a crawl knows other hosts than those origins, and none of them has a link or is
    waited for."""
    frontier = crawl.frontier
    if settings.command == "watch" or not isinstance(frontier, ListsHosts):
        return False
    names = {host(f"{origin}/") for origin in gone}
    others = [row for row in frontier.hosts() if row[0] not in names]
    return bool(others) and not any(links or free > now for _, links, _, free in others)
