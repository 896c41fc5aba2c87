"""Limits on requests at a time: to a host, to a registrable domain, to an address."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from spoor.web.urls import registrable_domain

_MANY_GROUPS = 1_024
"""Groups of hosts beyond which those without requests are forgotten, and again once they are twice
as many as were left: a crawl may have as many in flight, and looks at all of them."""


@dataclass(slots=True, eq=False)
class Turn:
    """One request, from when it asks until it has ended."""

    groups: tuple[_Group, ...]
    """Groups of hosts whose limits it is under."""
    delay: float
    entered: int = 0
    """Groups in which it has a place; it begins once it has one in each."""


@dataclass(slots=True, eq=False)
class _Group:
    limit: int
    running: int = 0
    free_at: float = 0.0
    """When the delay after its last request ends."""
    waiting: deque[Turn] = field(default_factory=deque)


class RequestLimits:
    """At most so many requests at a time to a host, to all hosts of a registrable domain, and to
    all hosts at one address (0: no limit). Where the limit is 1, the delay of the earlier request
    passes between two. Hosts that share a clock are one host.

    First come, first served, by host, then domain, then address, then clock: a request that waits
    for its address holds its places at its host and domain meanwhile.
    """

    def __init__(self, *, per_host: int = 0, per_domain: int = 0, per_address: int = 0) -> None:
        self.per_host = per_host
        self.per_domain = per_domain
        self.per_address = per_address
        self._groups: dict[str, _Group] = {}
        self._many = _MANY_GROUPS
        self._begun: list[Turn] = []
        self._delayed: list[tuple[float, int, _Group]] = []
        """A heap of groups whose first waiting request waits for the end of a delay."""
        self._number = count()

    def ask(
        self,
        host: str,
        delay: float,
        now: float,
        address: str = "",
        clocks: Sequence[str] = (),
    ) -> Turn:
        """A request to a host, with its port if it has one, whose delay is so many seconds; it
        begins when `admit` returns it. `address` is needed where there is a limit per address;
        `clocks`: what it shares with other hosts, in an order that is the same for all."""
        if len(self._groups) > self._many:
            self._groups = {
                name: group
                for name, group in self._groups.items()
                if group.running or group.waiting or group.free_at > now
            }
            self._many = max(_MANY_GROUPS, 2 * len(self._groups))
        groups = []
        if self.per_host:
            groups.append(self._group(f"host {host}", self.per_host))
        if self.per_domain:
            groups.append(self._group(f"domain {registrable_domain(host)}", self.per_domain))
        if self.per_address:
            groups.append(self._group(f"address {address}", self.per_address))
        groups += [self._group(f"clock {name}", self.per_host) for name in clocks if self.per_host]
        turn = Turn(tuple(groups), delay)
        self._enter_next(turn, now)
        return turn

    def admit(self, now: float) -> tuple[list[Turn], float | None]:
        """Requests that begin now, and when to call again; None: when a request asks or ends."""
        while self._delayed and self._delayed[0][0] <= now:
            self._fill(heapq.heappop(self._delayed)[2], now)
        begun, self._begun = self._begun, []
        return begun, self._delayed[0][0] if self._delayed else None

    def end(self, turn: Turn, now: float) -> None:
        """A request has ended, or is given up."""
        begun = turn.entered == len(turn.groups)
        if not begun:
            turn.groups[turn.entered].waiting.remove(turn)
        elif turn in self._begun:
            self._begun.remove(turn)
        for group in turn.groups[: turn.entered]:
            group.running -= 1
            if begun:
                group.free_at = max(group.free_at, now + turn.delay)
            self._fill(group, now)

    def _group(self, name: str, limit: int) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(limit)
        return group

    def _enter_next(self, turn: Turn, now: float) -> None:
        """Queue for the next group of a request that has its place in those before it."""
        if turn.entered == len(turn.groups):
            self._begun.append(turn)
            return
        group = turn.groups[turn.entered]
        group.waiting.append(turn)
        if len(group.waiting) == 1:
            self._fill(group, now)

    def _fill(self, group: _Group, now: float) -> None:
        """Give the free places of a group to those who wait for them."""
        while group.waiting and group.running < group.limit:
            if group.limit == 1 and group.free_at > now:
                heapq.heappush(self._delayed, (group.free_at, next(self._number), group))
                return
            group.running += 1
            turn = group.waiting.popleft()
            turn.entered += 1
            self._enter_next(turn, now)
