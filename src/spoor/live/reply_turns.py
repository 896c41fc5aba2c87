"""Which reply a crawl takes in next.

A page of thousands of links takes a crawl tenths of a second to judge and to enter, and meanwhile
it asks nobody; in a watch so does a long text. Replies are taken in as they came, except such long
ones, which are told by their links and by what the last reply of their domain took: while other
domains are asked, the next is taken in once the others have had their time, so that over the
seconds each reply of theirs waits `WAIT` seconds for long ones on average. That is half the square
of what a long one takes, for each second between two; but no more than `1 / LEAST` times as long
passes. The next long one is of the domain that took least so far.

A reply that waits is not durable, and after a crash it is asked for again. So each holds one of the
places of requests in flight; long ones hold half of these at most, so that others are asked.
"""

from __future__ import annotations

from collections import Counter, deque

from spoor.bounded import BoundedDict
from spoor.types import Failed, Fetch, Fetched, LiveReply
from spoor.web.exchange import Exchange
from spoor.web.recent_domains import RecentDomains
from spoor.web.urls import domain_of

Arrived = tuple[Fetch, LiveReply, Exchange | None]

LONG = 0.05
"""Seconds from which on a reply is long."""
WAIT = 0.005
"""Seconds that a short one waits for long ones, on average."""
LEAST = 0.05
"""Share of the time that long ones have, however long they are."""
AGAIN = 60.0
"""Seconds after which one is asked for again that had no place: of the domain with the most."""
_LINK = 4e-5
"""Seconds that a link takes, before that is known of the machine."""
_WEIGHT = 0.2
"""Of the newest long reply in what a link takes."""
_RECENT = 5.0
"""Seconds for which a domain with short replies counts as one that is asked, without those in which
a long one was taken in: meanwhile no other came."""


class ReplyTurns:
    """The replies that arrived, of so many `places`. Times are seconds by any clock that never goes
    back. O(1) a short reply, O(`places`) a long one."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._short: deque[Arrived] = deque()
        self._long: list[Arrived] = []
        self._took: Counter[str] = Counter()
        """Domain → seconds of its long replies."""
        self._surprising = BoundedDict[str, int](1_000)
        """Domain → how many of its last replies took long, though they have few links. One may for
        what the crawl did of itself meanwhile, as judging all pages anew; two are the domain's."""
        self._link = _LINK
        self._next = 0.0
        """When the next long one may be taken in."""
        self._short_ones = RecentDomains()
        """Those that had the last short replies, by the time in which no long one was taken in."""
        self._began = 0.0
        """When the last one began to be taken in."""
        self._long_time = 0.0
        """Seconds in which long ones were taken in."""

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def add(self, arrived: Arrived, now: float) -> None:
        """A reply came."""
        domain = domain_of(arrived[0].url)
        if self._has_few_links(arrived) and self._surprising.get(domain, 0) < 2:
            self._short_ones.ask(arrived[0].url, now - self._long_time)
            self._short.append(arrived)
            return
        self._long.append(arrived)
        if len(self._long) > max(1, self._places // 2):
            domains = [domain_of(fetch.url) for fetch, *_ in self._long]
            ((fullest, _),) = Counter(domains).most_common(1)
            last = len(domains) - 1 - domains[::-1].index(fullest)
            fetch = self._long.pop(last)[0]
            reason = "long pages of other hosts come before it"
            later = Failed(fetch.ticket, "later", reason, transient=True, retry_after=AGAIN)
            self._short.append((fetch, later, None))

    def _has_few_links(self, arrived: Arrived) -> bool:
        return _links(arrived) * self._link < LONG

    def next(self, now: float, *, hurry: bool = False) -> Arrived | None:
        """The reply to take in now; None where none is there, or only long ones that wait. `hurry`:
        nobody else is asked any more."""
        self._began = now
        if self._short:
            return self._short.popleft()
        if not self._long or not (hurry or self.long_at(now) <= now):
            return None
        first = min(self._long, key=lambda one: self._took[domain_of(one[0].url)])
        self._long.remove(first)
        return first

    def put_back(self, arrived: Arrived) -> None:
        """A reply is not taken in yet, and comes next."""
        self._short.appendleft(arrived)

    @property
    def ready(self) -> bool:
        """Whether a short one waits."""
        return bool(self._short)

    def long_at(self, now: float) -> float:
        """When a long one that waits may be taken in; infinite where none waits."""
        if not self._long:
            return float("inf")
        if len(self._long) >= self._places:  # nobody else can be asked
            return now
        others = max(self._short_ones.other_than(fetch.url) for fetch, *_ in self._long)
        return max(now, min(self._next, others + self._long_time + _RECENT))

    def took(self, arrived: Arrived, seconds: float, now: float) -> None:
        """The last reply that `next` gave was taken in, in so many seconds of the processor."""
        domain = domain_of(arrived[0].url)
        if seconds < LONG:
            self._surprising.pop(domain, None)
            return
        self._long_time += now - self._began
        links, reply = _links(arrived), arrived[1]
        if self._has_few_links(arrived):
            self._surprising[domain] = self._surprising.get(domain, 0) + 1
        # Of the links of a sitemap most may only wait (`spoor.link_filter.listed_links`).
        elif not (isinstance(reply, Fetched) and "sitemap" in reply.page.flags):
            self._link += _WEIGHT * (min(seconds / links, 10 * _LINK) - self._link)
        self._took[domain] += seconds  # type: ignore[assignment]
        if len(self._took) > 1_000:
            self._took = Counter(dict(self._took.most_common(500)))
        self._next = now + min(seconds * seconds / (2 * WAIT), seconds / LEAST)


def _links(arrived: Arrived) -> int:
    reply = arrived[1]
    return len(reply.page.links) if isinstance(reply, Fetched) else 0
