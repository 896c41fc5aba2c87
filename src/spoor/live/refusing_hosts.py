"""Hosts that refuse are asked less, and those that ask to be left alone are."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from spoor.protocols import Politeness
from spoor.types import Failed, Fetched, LiveReply

SLOWEST = 60.0
"""Seconds between two requests to a host that refuses, at most."""


@runtime_checkable
class KnowsWhoLinks(Protocol):
    """A crawl that knows which pages led to what it asks for."""

    def foreign(self, ticket: int) -> bool:
        """Whether only pages of other domains led to what this ticket in flight asks for."""
        ...


class RefusingHosts:
    """Half as often each time that a host refuses, at least once in `SLOWEST` seconds; and twice as
    often with each page that it gives, up to what it was.

    What is said to what only other domains linked, a refusal or a Retry-After, says nothing of a
    host that gave a page since it said so of its own: anybody may link what a firewall refuses, or
    what is busy. Where it gave none, it is left alone for `SLOWEST` seconds at most. The delay is
    kept here and its host held for it: the `pace` of a frontier never goes down.
    """

    def __init__(self, hosts: Politeness) -> None:
        self._hosts = hosts
        self._delays: dict[str, float] = {}
        """Host that refused → seconds between two requests to it."""
        self._giving: set[str] = set()
        """Hosts that gave a page since they refused."""

    def see(self, host: str, reply: LiveReply, now: float, *, foreign: bool = False) -> None:
        """A reply of a host, to what only other domains linked if `foreign`. Times are seconds by
        the clock of `hosts`."""
        refused = isinstance(reply, Failed) and reply.kind == "refused"
        rest = reply.retry_after if isinstance(reply, Failed) else None
        if foreign and host in self._giving and (refused or rest is not None):
            return
        if rest is not None:
            self._hosts.hold(host, now + (min(rest, SLOWEST) if foreign else rest))
        if refused or rest is not None:
            self._giving.discard(host)
        elif isinstance(reply, Fetched):
            self._giving.add(host)
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
