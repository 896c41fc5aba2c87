"""Which requests in flight hold a slot: slow hosts must not keep others waiting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PATIENCE = 2.0
"""Seconds after which a request counts as slow."""
FIRST_PATIENCE = 0.25
"""The same for a host that is not known to answer in time."""
_AT_ONCE = 2
"""Slow requests for each slot from which on new hosts are tried without waiting for one another."""
UNREAD = 1 << 24
"""Bytes of replies that hold no slot while they wait to be read."""
FIRST_CHANCE = 0.6
"""Seconds that a host has for its first answer if others wait; doubled after each late answer, up
to `_LONGEST_CHANCE`."""
_LONGEST_CHANCE = 16.0
_LITTLE = 4096
"""Bytes a second; a body that comes more slowly does not hold back that a request gives way."""
LONGEST_REST = 300.0
_REST = 30.0
"""A host that kept others waiting is left alone for this many times as long, up to
`LONGEST_REST`."""


@dataclass(slots=True)
class _Request:
    times_late: int | None
    """Of its host (`spoor.politeness.hosts.times_late`)."""
    since: float
    """When it began to count."""
    sent: float | None = None
    """When it began to wait for its host; None while it waits for a delay or a turn."""
    waited: float = 0.0
    """Seconds that it waited for its host earlier."""
    slow: bool = False
    here: bool = False
    """Whether its reply came, and waits to be read."""
    most: float = math.inf
    """Seconds after which it gives way to others of its host, unless its body comes."""
    received: int = 0
    """Bytes of its body, as they come."""
    held: int = 0
    """Bytes of its reply, which waits to be read: a packed body and what it stands for."""

    @property
    def patience(self) -> float:
        return PATIENCE if self.times_late is None else FIRST_PATIENCE

    @property
    def until(self) -> float:
        """When its time is over; infinite while it is not sent."""
        if self.sent is None:
            return math.inf
        return self.sent + _chance(self.times_late or 0)

    @property
    def way_at(self) -> float:
        """When it gives way to others, if nothing more comes."""
        return (
            math.inf if self.sent is None else self.sent + max(self.most, self.received / _LITTLE)
        )


def slow_places(limit: int) -> int:
    """Slow requests that are allowed beside `limit` slots. Each costs an idle connection, and half
    of them, every `FIRST_CHANCE`, is how fast good hosts are found among mute ones: 512 of these
    were 427 a second, where 128 were 107."""
    return max(8 * limit, min(32 * limit, 512))


def _chance(times_late: int) -> float:
    return float(min(FIRST_CHANCE * 2.0**times_late, _LONGEST_CHANCE))


class RequestSlots:
    """Which requests in flight hold one of `limit` slots.

    A slow request holds none, so hosts that never answer keep no other waiting. A request is slow
    if it is older than `PATIENCE` (`FIRST_PATIENCE` if its host is not known to answer in time), or
    waits for the address of its host. Once there are `_AT_ONCE` slow ones for each slot, requests
    to hosts that are not known to answer count as slow from the start. There are at most
    `slow_places`. Once three quarters are taken, slow requests whose time is over are given up, and
    their hosts are left alone for a while that grows with what they cost. As long as no place is
    wanted, a slow host has the whole timeout of the settings.

    A reply that came and waits to be read longer than `PATIENCE` is no fault of its host. It holds
    no slot either, so that documents which take long keep nobody waiting; but no more of them than
    have `UNREAD` bytes together, since they are held in memory.

    A request that gives way to others of its host is given up after `most` seconds, unless its body
    comes: anybody may link a slow page.

    This class knows requests only; the frontier knows their hosts. Pure: times are seconds by any
    clock that never goes back. A call takes at most O(requests in flight).
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.places = slow_places(limit)
        self._requests: dict[int, _Request] = {}
        self._slow = 0
        """Slow requests that wait for their hosts."""
        self._unread = 0
        self._unread_bytes = 0
        """Slow ones whose replies wait to be read, and the bytes of these."""

    def begin(
        self, ticket: int, times_late: int | None, now: float, *, most: float = math.inf
    ) -> None:
        """A request is in flight from now on. `times_late`: of its host; after `most` seconds it
        gives way to others of its host."""
        request = self._requests[ticket] = _Request(times_late, now, most=most)
        self._join(request)

    def _join(self, request: _Request) -> None:
        if self._slow >= _AT_ONCE * self.limit and request.times_late is not None:
            self._make_slow(request)

    def _make_slow(self, request: _Request) -> None:
        self._change(request, slow=True, here=request.here)

    def _change(self, request: _Request, *, slow: bool, here: bool) -> None:
        self._slow += (slow and not here) - (request.slow and not request.here)
        unread = (slow and here) - (request.slow and request.here)
        self._unread += unread
        self._unread_bytes += unread * request.held
        request.slow, request.here = slow, here

    @property
    def _full(self) -> bool:
        return 4 * self._slow >= 3 * self.places

    @property
    def slow(self) -> int:
        """Requests that hold no slot, as of the last `free`; no more than there are places."""
        return min(self._slow + self._read_later, self.places)

    @property
    def _read_later(self) -> int:
        """Replies that hold no slot though they are not read."""
        return min(self._unread, UNREAD * self._unread // max(1, self._unread_bytes))

    def chance(self, ticket: int) -> float:
        """For whoever can give no request up later: the seconds that one has which begins now;
        infinite as long as half of the places are free, also if all in flight should be slow."""
        times_late = self._requests[ticket].times_late
        if 2 * max(self._slow, len(self._requests) - self.limit) < self.places:
            return math.inf
        return _LONGEST_CHANCE if times_late is None else _chance(times_late)

    def look_up(self, ticket: int, now: float) -> None:
        """The request waits for the address of its host; call `found` next."""
        request = self._requests[ticket]
        self._make_slow(request)
        request.sent = now

    def found(self, ticket: int, now: float) -> None:
        """The address is known, and the request's age counts from now on."""
        self.receive(ticket, now)
        request = self._requests[ticket]
        self._change(request, slow=False, here=False)
        request.since = now
        self._join(request)

    def send(self, ticket: int, now: float) -> None:
        """The request is sent, and waits for its host."""
        if (request := self._requests.get(ticket)) is not None:
            request.sent = now

    def sent(self, ticket: int) -> float | None:
        """When the request began to wait for its host; None if it does not wait."""
        request = self._requests.get(ticket)
        return None if request is None else request.sent

    def bring(self, ticket: int, size: int) -> None:
        """`size` more bytes of the body came."""
        if (request := self._requests.get(ticket)) is not None:
            request.received += size

    def receive(self, ticket: int, now: float) -> None:
        """The request no longer waits for its host."""
        request = self._requests.get(ticket)
        if request is not None and request.sent is not None:
            request.waited += now - request.sent
            request.sent = None

    @contextmanager
    def reading(self, ticket: int, size: int) -> Iterator[None]:
        """Within it the reply of the request is here, and read or waits for that: `size` bytes."""
        request = self._requests[ticket]
        request.held = size
        self._change(request, slow=request.slow, here=True)
        try:
            yield
        finally:
            self._change(request, slow=request.slow, here=False)

    def end(self, ticket: int, *, answered: bool) -> float:
        """The request is no longer in flight; it was `answered` in time or not. Returns the seconds
        for which its host is to be left alone: 0 for a host that answered in time before, since a
        link to one slow page would otherwise silence it."""
        full = self._full
        request = self._requests.pop(ticket)
        self._change(request, slow=False, here=False)
        if not full or request.times_late is None or (answered and request.waited <= PATIENCE):
            return 0.0
        return min(_REST * request.waited, LONGEST_REST)

    def free(self, now: float) -> int:
        """How many requests may begin."""
        for request in self._requests.values():
            if not request.slow and now - request.since > request.patience:
                self._make_slow(request)
        total = len(self._requests)
        held = total - self._slow - self._read_later
        return min(self.limit - held, self.limit + self.places - total)

    def overdue(self, now: float) -> list[int]:
        """Requests to give up for others: those that give way to others of their host; and, if
        three quarters of the places of slow requests are taken, those whose time is over, the
        longest first, until half of the places are free."""
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

    def next_slow(self) -> float | None:
        """When the next request becomes slow, if nothing happens before; None for never."""
        waits = [one.since + one.patience for one in self._requests.values() if not one.slow]
        return min(waits, default=None)

    def next_change(self, now: float) -> float | None:
        """When to call again if nothing happens before; None for never."""
        requests, full = self._requests.values(), self._full
        slow_at = self.next_slow()
        times = [] if slow_at is None else [slow_at]
        times += [one.until for one in requests if full and one.slow and one.sent is not None]
        times += [one.way_at for one in requests if one.way_at < math.inf]
        return max(now, min(times)) if times else None
