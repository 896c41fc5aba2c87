"""What a frontier knows of how hosts answer, and how many requests wait for those that may not.

Pure. A host is *proven* while it answers each request in time. One that never answered, or whose
last answers were late, may hold a request for as long as it likes; so there are at most `limit`
requests at a time to such hosts, however many of them there are, and the frontier offers only
proven hosts meanwhile. While others wait that were never late, those that were have a quarter of
these requests: else hosts that never answer, asked again and again, would keep good ones from being
asked once. Anybody may link a slow page of a host, so what it answered before counts:
a late answer takes back 8 answers in time, of at most 32 that are kept, and a host with more of
them stays proven. One with fewer needs 1 more to be proven again, then 2, 4, …; one that was not
proven needs 8, then 16, 32, ….

A link that a proven host does not answer gives way to the host's others: it has a share of the
usual time, and comes again `_REST` times as long after as it kept them waiting, or once there are
none.

This is the one memory of slow hosts. Which request in flight takes whose place, and which is given
up, `spoor.politeness.request_slots.RequestSlots` says by it.
"""

from __future__ import annotations

from typing import Any, Protocol

from spoor.types import LinkId

PATIENCE = 2.0
"""Seconds after which an answer is late. For the first one of a host its delay comes on top, which
passes between its robots.txt and its first page."""

_FIRST_SHARE = 1 / 8
"""Of the usual time, that a request has where others of its host wait; twice as much each time."""
_REST = 9.0
_LONGEST_REST = 60.0
"""Seconds."""

_ANSWERS = 8
"""In time, that a late one takes back …"""
_MOST_ANSWERS = 32
"""… of at most so many."""
_MISSES = 12
"""Late answers that are counted: the number of answers doubles with each."""


class HostRecord(Protocol):
    """What a frontier keeps of a host."""

    name: str
    delay: float
    trust: int
    """Above 0: it is proven. Each answer in time adds 1, up to `_MOST_ANSWERS`."""
    misses: int
    """How often it was late with fewer answers in time than that takes back."""


_LATE_SHARE = 4
"""Of the requests to hosts that are not proven, one in so many is for those that were late, while
others wait."""


class SlowHosts:
    """The requests in flight, by link, and which of them are to hosts that are not proven.

    `limit` 0 bounds nothing. Times are seconds by the frontier's clock.
    """

    def __init__(self) -> None:
        self.limit = 0
        self._deadlines: dict[LinkId, float] = {}
        """Until when an answer is in time."""
        self._risky: dict[LinkId, bool] = {}
        """Of these, those to hosts that are not proven: whether the host was late before."""
        self._to_late = 0
        """How many were."""
        self._late: dict[LinkId, int] = {}
        """Links that proven hosts did not answer, and that are not done with: how often."""
        self._rests: dict[str, float] = {}
        """Host → until when such links of it wait for its others."""

    @property
    def open(self) -> bool:
        """Whether a host that is not proven may be asked."""
        return not self.limit or len(self._risky) < self.limit

    @property
    def open_to_late(self) -> bool:
        """Whether one that was late may be asked while others wait that were not."""
        return self.open and self._to_late < max(1, self.limit // _LATE_SHARE)

    def proven(self, host: HostRecord) -> bool:
        return not self.limit or host.trust > 0

    def begin(self, link: LinkId, host: HostRecord, now: float) -> None:
        """A request begins."""
        new = not host.trust and not host.misses
        self._deadlines[link] = now + PATIENCE + (host.delay if new else 0.0)
        if host.trust <= 0:
            self._risky[link] = host.misses > 0
            self._to_late += self._risky[link]

    def miss(self, link: LinkId, host: HostRecord, now: float) -> None:
        """A request gets no answer, by now."""
        if link not in self._deadlines:
            return
        if link not in self._risky:
            waited = now - self._deadlines[link] + PATIENCE
            self._late[link] = self._late.get(link, 0) + 1
            self._rests[host.name] = now + min(_REST * waited, _LONGEST_REST)
        self._deadlines[link] = float("-inf")

    def was_late(self, link: LinkId) -> bool:
        """Whether its host answered others in time, but not this one."""
        return link in self._late

    def share_of_time(self, link: LinkId) -> float:
        """Of a request while others of its host wait."""
        return min(_FIRST_SHARE * 2.0 ** self._late.get(link, 0), 1.0)

    def rests(self, link: LinkId, host: HostRecord) -> float:
        """Until when a link gives way to others of its host."""
        return self._rests.get(host.name, float("-inf")) if link in self._late else float("-inf")

    def done(self, link: LinkId) -> None:
        """It is asked for no more."""
        self._late.pop(link, None)

    def end(self, link: LinkId, now: float) -> bool | None:
        """A request has ended: whether its host answered in time; None where it began before
        anybody counted."""
        self._to_late -= self._risky.pop(link, False)
        deadline = self._deadlines.pop(link, None)
        return None if deadline is None else now <= deadline

    def save(self) -> dict[str, Any]:
        deadlines = [list(entry) for entry in self._deadlines.items()]
        return {
            "limit": self.limit,
            "deadlines": deadlines,
            "risky": list(self._risky),
            "to late": [link for link, late in self._risky.items() if late],
            "late": [list(entry) for entry in self._late.items()],
            "rests": dict(self._rests),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.limit = state["limit"]
        self._deadlines = dict(state["deadlines"])
        late = set(state.get("to late", ()))
        self._risky = {link: link in late for link in state["risky"]}
        self._to_late = len(late)
        self._late = dict(state["late"])
        self._rests = dict(state["rests"])


def answered(host: HostRecord, *, in_time: bool) -> None:
    """Note an answer of a host, or that it is late."""
    if in_time:
        host.trust = min(host.trust + 1, _MOST_ANSWERS)
    elif host.trust > _ANSWERS:
        host.trust -= _ANSWERS
    else:
        answers = 1 if host.trust > 0 else _ANSWERS
        host.trust = 1 - (answers << host.misses)
        host.misses = min(host.misses + 1, _MISSES)
