"""Hosts that refuse are asked less, and those that ask to be left alone are."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

from spoor.bounded import BoundedDict
from spoor.durations import DAY, HOUR
from spoor.protocols import Politeness
from spoor.types import Failed, Fetched, LiveReply

SLOWEST = 60.0
"""Seconds between two requests to a host that refuses, at most."""

LONGER = 4.0
"""For as long one page may ask that its host be left alone, and so many times as long with each
page more that asks for it. Servers that bound the requests of a client ask for minutes."""

MOST_HOSTS = 50_000
"""Hosts of which it is kept that they gave a page, or refuse; those before are as if new."""


@runtime_checkable
class KnowsWhoLinks(Protocol):
    """A crawl that knows which pages led to what it asks for."""

    def foreign(self, ticket: int) -> bool:
        """Whether only pages of other domains led to what this ticket in flight asks for."""
        ...


def longest_rest(pages: int) -> float:
    """Seconds for which a host rests at most that so many of its pages ask to leave alone."""
    return HOUR * LONGER ** max(0, pages - 1)


class RefusingHosts:
    """Half as often each time that a host refuses, at least once in `SLOWEST` seconds; and twice as
    often with each page that it gives, up to what it was.

    What is said to what only other domains linked, a refusal or a Retry-After, says nothing of a
    host that gave a page since it said so of its own: anybody may link what a firewall refuses, or
    what is busy. Where it gave none, it is left alone for `SLOWEST` seconds at most.

    A page that asks to be left alone speaks for itself, where its host gives others: the host rests
    for an hour at most, and `LONGER` times as long with each other page that asks for it before one
    comes. A host that never gave a page (if `known`, each may have done so in an earlier
    process) rests as long as it asks. The delay is kept here and its host held for it: the `pace`
    of a frontier never goes down.
    """

    def __init__(self, hosts: Politeness, *, known: bool = False) -> None:
        self._hosts = hosts
        self._known = known
        self._delays = BoundedDict[str, float](MOST_HOSTS)
        """Host that refused → seconds between two requests to it."""
        self._refusers = BoundedDict[str, set[str] | None](MOST_HOSTS)
        """Host that gave a page → URLs of its own that refused since the last one, if any; those
        that gave one last stand last."""

    def see(
        self, host: str, reply: LiveReply, now: float, *, url: str, foreign: bool = False
    ) -> None:
        """A reply of a host to a URL, which only other domains linked if `foreign`. Times are
        seconds by the clock of `hosts`."""
        refused = isinstance(reply, Failed) and reply.kind == "refused"
        rest = reply.retry_after if isinstance(reply, Failed) else None
        refusers = self._refusers.get(host)
        if refusers is None and (self._known or host in self._refusers):
            refusers = set()
        if refused or rest is not None:
            if foreign and refusers is not None and not refusers:
                return
            if refusers is not None and not foreign and longest_rest(len(refusers)) < DAY:
                refusers.add(url)
                self._refusers[host] = refusers
        elif isinstance(reply, Fetched):
            self._refusers.pop(host, None)
            self._refusers[host] = None
        if rest is not None:
            of_host = isinstance(reply, Failed) and reply.of_robots
            most = math.inf if of_host or refusers is None else longest_rest(len(refusers))
            self._hosts.hold(host, now + min(rest, SLOWEST if foreign else most))
        if not refused and host not in self._delays:
            return
        usual = self._hosts.delay(host)
        delay = self._delays.get(host, usual)
        if refused:
            delay = max(delay, min(SLOWEST, 2.0 * max(delay, 1.0)))
        elif isinstance(reply, Fetched):
            delay /= 2
        if delay <= usual:
            self._delays.pop(host, None)
        else:
            self._delays[host] = delay
            self._hosts.hold(host, now + delay)
