"""How a crawl treats the hosts that it asks: robots.txt, Crawl-delay, Retry-After, and limits on
requests at a time.

Pure: a driver passes the time, in seconds by any clock that never goes back, fetches what it is
told to fetch and waits as long as it is told to wait. When a host is due again is kept by the
frontier, which every driver shares.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Protocol, runtime_checkable

from spoor.types import LinkId
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, Rules, from_reply
from spoor.web.urls import canonical, registrable_domain

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ROBOTS_HOPS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)."""

DAY = 24 * 3600.0
RETRY_ROBOTS = 5.0
"""Seconds after which a robots.txt that could not be fetched is fetched again."""

_MANY_GROUPS = 1_024
"""Groups of hosts beyond which those without requests are forgotten."""


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical URL: what one robots.txt is valid for."""
    return "/".join(url.split("/", 3)[:3])


def retry_after(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, which gives seconds or a date; at most a day. None
    where it gives neither. `now`: Unix seconds."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), DAY)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until - now), DAY)


# ---------------------------------------------------------------- robots.txt


@runtime_checkable
class KnowsLateHosts(Protocol):
    """A politeness that knows how hosts answer."""

    def times_late(self, host: str) -> int | None:
        """How often a host was late that has not answered in time yet, or not since; None for one
        that answers in time."""
        ...


def times_late(hosts: object, host: str) -> int | None:
    """What such a politeness knows; 0, as of a new host, from any other. Asked for each request: to
    ask for the whole protocol takes 10 µs."""
    known: Callable[[str], int | None] | None = getattr(hosts, "times_late", None)
    return 0 if known is None else known(host)


def share_of_time(hosts: object, link: LinkId) -> float:
    """As `spoor.protocols.BoundsSlowHosts`; all, from any other politeness."""
    known: Callable[[LinkId], float] | None = getattr(hosts, "share_of_time", None)
    return 1.0 if known is None else known(link)


@runtime_checkable
class CountsRequests(Protocol):
    """A politeness with a budget of requests, by which those count too that are sent beside the
    chosen ones."""

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        """Requests that may be sent to a host now; infinite without a budget. Not `own`: for pages
        of other sites, to which half of what may be sent at once is not left."""
        ...

    def spend(self, host: str, now: float) -> None:
        """A request is sent."""
        ...


class RobotsFetch:
    """One fetch of the robots.txt of an origin, redirects included. As long as `rules` is None,
    `url` is to be requested, and the reply passed to `reply` or `fail`."""

    def __init__(self, origin: str, agent: str) -> None:
        self.url = self._first_url = f"{origin}/robots.txt"
        self.rules: Rules | None = None
        """DISALLOW_ALL where the file could not be fetched."""
        self.reason = ""
        """Why it could not be fetched."""
        self._agent = agent
        self._hops = 0

    def reply(self, status: int, body: bytes, *, location: str = "", broken: bool = False) -> None:
        """A response; `broken` says that its body ends too early, so that nobody knows what the
        rest forbids. A redirect that leads nowhere means that there is no robots.txt."""
        if status in REDIRECTS:
            try:
                self.url = canonical(location, self.url)
            except ValueError:
                self.rules = ALLOW_ALL
            self._hops += 1
            if self._hops > ROBOTS_HOPS:
                self.rules = ALLOW_ALL
        elif broken:
            self.fail("it broke off")
        else:
            # Wherever redirects led, the rules are those of the origin (RFC 9309, 2.3.1.2).
            self.rules = from_reply(status, body, self._agent, url=self._first_url)
            self.reason = f"status {status}"

    def fail(self, reason: str) -> None:
        """There was no response."""
        self.rules, self.reason = DISALLOW_ALL, reason


MOST_MEMORY = 32 << 20
"""Bytes of the rules of all origins that are kept, but for those of less than `LONG`."""

LONG = 16 << 10
"""Some fifty rules."""


@dataclass(slots=True)
class _Known:
    rules: Rules
    expires: float
    failures: int
    """Fetches in a row without a result."""
    reason: str


class RobotsCache:
    """What robots.txt says, by origin (or by whatever else tells apart whose rules they are).

    Rules are valid for `max_age` seconds. Where robots.txt cannot be fetched, the last rules that
    were fetched stay in force, or all is forbidden; it is due again after `retry` seconds, twice as
    long with each failure in a row, up to `max_retry` (RFC 9309, 2.4). A host whose
    Crawl-delay is longer than `max_crawl_delay` seconds is to be left. Beyond `MOST_MEMORY` the
    longest rules are forgotten, and fetched again where they are needed.
    """

    def __init__(
        self,
        *,
        max_age: float = DAY,
        max_crawl_delay: float = 60.0,
        retry: float = RETRY_ROBOTS,
        max_retry: float = DAY,
    ) -> None:
        self._max_age = max_age
        self._max_crawl_delay = max_crawl_delay
        self._retry = retry
        self._max_retry = max_retry
        self._known: dict[str, _Known] = {}
        self._long: dict[str, int] = {}
        """Origin → bytes of its rules, where they are long."""
        self._memory = 0
        """Of these together."""

    def rules(self, origin: str, now: float) -> Rules | None:
        """The rules in force; None where robots.txt is to be fetched first."""
        known = self._known.get(origin)
        return known.rules if known is not None and known.expires > now else None

    def store(self, origin: str, rules: Rules, now: float, reason: str = "") -> Rules:
        """The result of a fetch, DISALLOW_ALL where there is none, and `reason` says why. Returns
        the rules that are in force from now on."""
        failures, age = 0, self._max_age
        if rules is DISALLOW_ALL:
            before = self._known.get(origin)
            failures = 1 if before is None else before.failures + 1
            age = min(self._retry * 2.0 ** min(failures - 1, 16), self._max_retry)
            rules = rules if before is None else before.rules
        self._known[origin] = _Known(rules, now + age, failures, reason)
        self._make_room(origin, rules.memory)
        return rules

    def _make_room(self, origin: str, memory: int) -> None:
        """For the rules of this origin: any name below a domain may have long ones of its own."""
        self._memory -= self._long.pop(origin, 0)
        while self._long and self._memory + memory > MOST_MEMORY:
            longest = max(self._long, key=self._long.__getitem__)
            self._memory -= self._long.pop(longest)
            del self._known[longest]
        if memory > LONG:
            self._long[origin] = memory
            self._memory += memory

    def crawl_delay(self, rules: Rules) -> float | None:
        """Seconds between two requests that the rules ask for; None where they say nothing, or ask
        for so many that the host is left."""
        return None if self.too_slow(rules) else rules.crawl_delay

    def too_slow(self, rules: Rules) -> str:
        """Why nothing more is asked of a host whose rules ask for a longer delay than the limit;
        empty where they do not."""
        asked, most = rules.crawl_delay, self._max_crawl_delay
        if asked is None or asked <= most:
            return ""
        return f"its Crawl-delay of {asked:g} s is above the limit of {most:g} s"

    def reason(self, origin: str) -> str:
        """Why robots.txt could not be fetched."""
        known = self._known.get(origin)
        return known.reason if known is not None and known.reason else "no reply"

    def wait(self, origin: str, now: float) -> float:
        """Seconds until robots.txt is to be fetched again."""
        return max(0.0, self._known[origin].expires - now)

    def unreachable(self) -> list[str]:
        """Origins of which nothing may be asked, since their robots.txt could never be fetched."""
        return [origin for origin, known in self._known.items() if known.rules is DISALLOW_ALL]


# ---------------------------------------------------------------- requests at a time


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
        if len(self._groups) > _MANY_GROUPS:
            self._groups = {
                name: group
                for name, group in self._groups.items()
                if group.running or group.waiting or group.free_at > now
            }
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


# ---------------------------------------------------------------- slow hosts


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
