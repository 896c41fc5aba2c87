"""What a frontier knows of how hosts answer, and how many requests wait for those that may not.

Pure. A host is *proven* while it answers each request in time. One that never answered, or whose
last answers were late, may hold a request for as long as it likes; so there are at most `limit`
requests at a time to such hosts, however many of them there are, and the frontier offers only
proven hosts meanwhile. A host that is late needs 8 answers in time to be proven, then 16, 32, …;
one that was proven until then needs 1, then 2, 4, …, since anybody may link a slow page of it.

This is the one memory of slow hosts. Which request in flight takes whose place, and which is given
up, `spoor.politeness.RequestSlots` says by it.
"""

from __future__ import annotations

from typing import Any, Protocol

from spoor.types import LinkId

PATIENCE = 2.0
"""Seconds after which an answer is late. For the first one of a host its delay comes on top, which
passes between its robots.txt and its first page."""

_ANSWERS = 8
_MISSES = 12
"""Late answers that are counted: the number of answers doubles with each."""


class HostRecord(Protocol):
    """What a frontier keeps of a host."""

    delay: float
    trust: int
    """Above 0: it is proven. Each answer in time adds 1, up to 1."""
    misses: int
    """Late answers so far."""


class SlowHosts:
    """The requests in flight, by link, and which of them are to hosts that are not proven.

    `limit` 0 bounds nothing. Times are seconds by the frontier's clock.
    """

    def __init__(self) -> None:
        self.limit = 0
        self._deadlines: dict[LinkId, float] = {}
        """Until when an answer is in time."""
        self._risky: dict[LinkId, None] = {}

    @property
    def open(self) -> bool:
        """Whether a host that is not proven may be asked."""
        return not self.limit or len(self._risky) < self.limit

    def proven(self, host: HostRecord) -> bool:
        return not self.limit or host.trust > 0

    def begin(self, link: LinkId, host: HostRecord, now: float) -> None:
        """A request begins."""
        new = not host.trust and not host.misses
        self._deadlines[link] = now + PATIENCE + (host.delay if new else 0.0)
        if host.trust <= 0:
            self._risky[link] = None

    def miss(self, link: LinkId) -> None:
        """A request gets no answer."""
        if link in self._deadlines:
            self._deadlines[link] = float("-inf")

    def end(self, link: LinkId, now: float) -> bool | None:
        """A request has ended: whether its host answered in time; None where it began before
        anybody counted."""
        self._risky.pop(link, None)
        deadline = self._deadlines.pop(link, None)
        return None if deadline is None else now <= deadline

    def save(self) -> dict[str, Any]:
        deadlines = [list(entry) for entry in self._deadlines.items()]
        return {"limit": self.limit, "deadlines": deadlines, "risky": list(self._risky)}

    def load(self, state: dict[str, Any]) -> None:
        self.limit = state["limit"]
        self._deadlines = dict(state["deadlines"])
        self._risky = dict.fromkeys(state["risky"])


def answered(host: HostRecord, *, in_time: bool) -> None:
    """Note an answer of a host, or that it is late."""
    if in_time:
        host.trust = min(host.trust + 1, 1)
    else:
        answers = 1 if host.trust > 0 else _ANSWERS
        host.trust = 1 - (answers << host.misses)
        host.misses = min(host.misses + 1, _MISSES)
