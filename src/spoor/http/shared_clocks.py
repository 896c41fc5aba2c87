"""Which hosts of one domain are one server, and how many of them may be visited at a time.

Whoever has a domain has names without end, which may all lead to the server of somebody else. So
hosts of one domain at one address have one clock (`spoor.politeness.request_limits`), and few of
them are visited at a time; the others come again when it will be their turn, by order, and hold no
request in flight meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spoor.web.urls import registrable_domain

AT_ONCE = 4
"""Hosts at one clock that are visited at a time; each waits for its request in flight."""

_MANY = 1_024
"""Clocks beyond which those that nobody waits for are forgotten, and again once they are twice as
many as were left."""


def clocks_of(host: str, addresses: Sequence[str]) -> tuple[str, ...]:
    """The clocks of a host, with its port if it has one, at these addresses; in one order for all,
    so that no two requests wait for each other."""
    domain = registrable_domain(host)
    return tuple(f"{domain} at {address}" for address in sorted(addresses))


@dataclass(slots=True)
class _Clock:
    visits: int = 0
    promised: float = 0.0
    """When the turn is of the last host that was told to come again."""


class SharedClocks:
    """Times are seconds by any clock that never goes back."""

    def __init__(self) -> None:
        self._clocks: dict[str, _Clock] = {}
        self._many = _MANY

    def enter(self, names: Sequence[str], delay: float, now: float) -> float | None:
        """A visit begins, of a host with these clocks; or the time at which it may come again,
        where others are visited."""
        if len(self._clocks) > self._many:
            self._clocks = {
                name: clock
                for name, clock in self._clocks.items()
                if clock.visits or clock.promised > now
            }
            self._many = max(_MANY, 2 * len(self._clocks))
        clocks = [self._clocks.setdefault(name, _Clock()) for name in names]
        if any(clock.visits >= AT_ONCE for clock in clocks):
            return _promise(clocks, delay, now)
        for clock in clocks:
            clock.visits += 1
        return None

    def leave(self, names: Sequence[str], delay: float, now: float) -> float | None:
        """A visit ends; until when its host is left alone, where others were told to come
        again."""
        clocks = [self._clocks[name] for name in names]
        for clock in clocks:
            clock.visits -= 1
        if any(clock.promised > now for clock in clocks):
            return _promise(clocks, delay, now)
        return None


def _promise(clocks: Sequence[_Clock], delay: float, now: float) -> float:
    until = max(now, *(clock.promised for clock in clocks)) + delay
    for clock in clocks:
        clock.promised = until
    return until
