"""Which requests in flight hold a slot, so that slow hosts keep no other waiting."""

from __future__ import annotations

import math
from dataclasses import dataclass

PATIENCE = 2.0
"""Seconds of a request after which it counts as slow."""
FIRST_PATIENCE = 0.25
"""The same for a host that is not known to answer in time."""
PLACES = 8
"""Places of slow requests for each slot: one costs a connection on which nothing comes."""
FIRST_CHANCE = 0.6
"""Seconds that a host has for its first answer where others wait; twice as many after each one that
was late, up to `_LONGEST_CHANCE`."""
_LONGEST_CHANCE = 16.0
_LITTLE = 4096
"""Bytes a second, of a body that hardly comes."""
LONGEST_REST = 300.0
_REST = 30.0
"""A host that kept others waiting is left alone for so many times as long as it did."""


@dataclass(slots=True)
class _Request:
    times_late: int | None
    """Of its host (`KnowsLateHosts.times_late`)."""
    since: float
    """When it began to count."""
    sent: float | None = None
    """Since when it waits for its host, and not for a delay to pass."""
    waited: float = 0.0
    """Seconds that it waited for its host before."""
    slow: bool = False
    most: float = math.inf
    """Seconds after which it gives way to others of its host, unless its body comes."""
    received: int = 0
    """Bytes of its body."""

    @property
    def patience(self) -> float:
        return PATIENCE if self.times_late is None else FIRST_PATIENCE

    @property
    def until(self) -> float:
        """When it had its time; never while it is not sent."""
        if self.sent is None:
            return math.inf
        return self.sent + min(FIRST_CHANCE * 2.0 ** (self.times_late or 0), _LONGEST_CHANCE)

    @property
    def way_at(self) -> float:
        """When it gives way, if nothing comes meanwhile."""
        return (
            math.inf if self.sent is None else self.sent + max(self.most, self.received / _LITTLE)
        )


class RequestSlots:
    """Which requests in flight hold one of `limit` slots.

    A request that is slow holds none: one that is older than `PATIENCE`, or `FIRST_PATIENCE` where
    its host is not known to answer in time, or that waits for the address of its host. So hosts
    that never answer keep no other waiting. There are `PLACES` slow ones for each slot at most.
    Once half of these places are taken, requests to hosts that are not known to answer are among
    them from the start; once three quarters are, the slow request is given up that had its time,
    and its host is left alone for a while that grows with what it cost. Where no place is wanted, a
    slow host has all the time of the settings.

    A request that gives way to others of its host is given up after `most` seconds, unless more
    than a little came: anybody may link a slow page.

    It keeps requests alone; what is known of their hosts, the frontier keeps. Pure: times are
    seconds by any clock that never goes back. A call takes time in the order of the requests in
    flight at most.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.places = PLACES * limit
        self._requests: dict[int, _Request] = {}
        self._slow = 0

    def begin(
        self, ticket: int, times_late: int | None, now: float, *, most: float = math.inf
    ) -> None:
        """A request is in flight from now on, to a host that was so often late. After `most`
        seconds it gives way to others of its host."""
        request = self._requests[ticket] = _Request(times_late, now, most=most)
        self._join(request)

    def _join(self, request: _Request) -> None:
        if 2 * self._slow >= self.places and request.times_late is not None:
            self._make_slow(request)

    def _make_slow(self, request: _Request) -> None:
        self._slow += not request.slow
        request.slow = True

    @property
    def _full(self) -> bool:
        return 4 * self._slow >= 3 * self.places

    def look_up(self, ticket: int, now: float) -> None:
        """It waits for the address of its host; `found` is due."""
        request = self._requests[ticket]
        self._make_slow(request)
        request.sent = now

    def found(self, ticket: int, now: float) -> None:
        """Its address is known, and it counts anew."""
        self.receive(ticket, now)
        request = self._requests[ticket]
        self._slow -= request.slow
        request.slow, request.since = False, now
        self._join(request)

    def send(self, ticket: int, now: float) -> None:
        """It is sent, and waits for its host."""
        if (request := self._requests.get(ticket)) is not None:
            request.sent = now

    def sent(self, ticket: int) -> float | None:
        """Since when it waits for its host; None where it does not."""
        request = self._requests.get(ticket)
        return None if request is None else request.sent

    def bring(self, ticket: int, size: int) -> None:
        """So many bytes of its body came."""
        if (request := self._requests.get(ticket)) is not None:
            request.received += size

    def receive(self, ticket: int, now: float) -> None:
        """It waits for its host no more."""
        request = self._requests.get(ticket)
        if request is not None and request.sent is not None:
            request.waited += now - request.sent
            request.sent = None

    def end(self, ticket: int, *, answered: bool) -> float:
        """It is in flight no more, and was `answered` or not in its time. Seconds for which its
        host is to be left alone: none for one that was in time until now, since whoever links a
        slow page of it would silence it."""
        full = self._full
        request = self._requests.pop(ticket)
        self._slow -= request.slow
        if not full or request.times_late is None or (answered and request.waited <= PATIENCE):
            return 0.0
        return min(_REST * request.waited, LONGEST_REST)

    def free(self, now: float) -> int:
        """How many requests may begin."""
        for request in self._requests.values():
            if not request.slow and now - request.since > request.patience:
                self._make_slow(request)
        total = len(self._requests)
        return min(self.limit - (total - self._slow), self.limit + self.places - total)

    def overdue(self, now: float) -> list[int]:
        """Requests to give up, so that others have a chance: those that give way to others of their
        host, and where three quarters of the places of slow ones are taken, those that had their
        time, the longest first, until half of them are free."""
        way = [ticket for ticket, request in self._requests.items() if request.way_at <= now]
        if not self._full:
            return way
        spare = self._slow - self.places // 2
        over = [
            (request.until - now, ticket)
            for ticket, request in self._requests.items()
            if request.slow and request.until <= now
        ]
        return list(dict.fromkeys([*way, *(ticket for _, ticket in sorted(over)[:spare])]))

    def next_change(self, now: float) -> float | None:
        """When to ask again, if nothing happens before; None for never."""
        requests, full = self._requests.values(), self._full
        times = [one.since + one.patience for one in requests if not one.slow]
        times += [one.until for one in requests if full and one.slow and one.sent is not None]
        times += [one.way_at for one in requests if one.way_at < math.inf]
        return max(now, min(times)) if times else None
