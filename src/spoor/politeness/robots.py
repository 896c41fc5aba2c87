"""When robots.txt is fetched, how long its rules are valid, and which delay they ask for."""

from __future__ import annotations

from dataclasses import dataclass

from spoor.durations import DAY
from spoor.web.robots import ALLOW_ALL, DISALLOW_ALL, Rules, from_reply
from spoor.web.urls import canonical

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ROBOTS_HOPS = 5
"""Redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2)."""

NO_REPLY = "robots", "no reply"

RETRY_ROBOTS = 5.0
"""Seconds after which a robots.txt that could not be fetched is fetched again."""


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical URL: what one robots.txt is valid for."""
    return "/".join(url.split("/", 3)[:3])


class RobotsFetch:
    """One fetch of the robots.txt of an origin, redirects included. As long as `rules` is None,
    `url` is to be requested, and the reply passed to `reply` or `fail`."""

    def __init__(self, origin: str, agent: str) -> None:
        self.url = self._first_url = f"{origin}/robots.txt"
        self.rules: Rules | None = None
        """DISALLOW_ALL where the file could not be fetched."""
        self.reason = ""
        """Why it could not be fetched."""
        self.kind = "robots"
        """The same as a kind of failures (`spoor.types.Failed`)."""
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

    def fail(self, reason: str, kind: str = "robots") -> None:
        """There was no response."""
        self.rules, self.reason, self.kind = DISALLOW_ALL, reason, kind


LONG = 16 << 10
"""Bytes of some forty rules."""

MOST_MEMORY = 32 << 20
"""Bytes of the rules that are kept of all origins with more than `LONG` …"""

MOST_OF_ALL = 128 << 20
"""… and of all: those of some 30,000 usual ones, or of 600,000 without rules."""

BESIDE = 200
"""Bytes that an origin takes beside its rules."""


@dataclass(slots=True)
class _Known:
    rules: Rules
    expires: float
    failures: int
    """Fetches in a row without a result."""
    reason: str
    kind: str


class RobotsCache:
    """What robots.txt says, by origin (or by whatever else tells apart whose rules they are).

    Rules are valid for `max_age` seconds. Where robots.txt cannot be fetched, the last rules that
    were fetched stay in force, or all is forbidden; it is due again after `retry` seconds, twice as
    long with each failure in a row, up to `max_retry` (RFC 9309, 2.4). A host whose
    Crawl-delay is longer than `max_crawl_delay` seconds is to be left. Any name below a domain may
    have rules of its own, and a domain has names without end: beyond `MOST_MEMORY` the longest
    rules are forgotten, beyond `MOST_OF_ALL` those that were stored first, and fetched again where
    they are needed.
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
        """Of all origins together."""

    def rules(self, origin: str, now: float) -> Rules | None:
        """The rules in force; None where robots.txt is to be fetched first."""
        known = self._known.get(origin)
        return known.rules if known is not None and known.expires > now else None

    def store(
        self, origin: str, rules: Rules, now: float, reason: str = "", kind: str = "robots"
    ) -> Rules:
        """The result of a fetch, DISALLOW_ALL where there is none, and `reason` says why, as `kind`
        does (`RobotsFetch`). Returns the rules that are in force from now on."""
        failures, age = 0, self._max_age
        before = self._known.get(origin)
        if rules is DISALLOW_ALL:
            failures = 1 if before is None else before.failures + 1
            age = min(self._retry * 2.0 ** min(failures - 1, 16), self._max_retry)
            rules = rules if before is None else before.rules
        if before is not None:
            self._forget(origin)
        long = rules.memory if rules.memory > LONG else 0
        while self._long and long and sum(self._long.values()) + long > MOST_MEMORY:
            self._forget(max(self._long, key=self._long.__getitem__))
        while self._known and self._memory + rules.memory + BESIDE > MOST_OF_ALL:
            self._forget(next(iter(self._known)))
        self._known[origin] = _Known(rules, now + age, failures, reason, kind)
        self._memory += rules.memory + BESIDE
        if long:
            self._long[origin] = long
        return rules

    def _forget(self, origin: str) -> None:
        self._memory -= self._known.pop(origin).rules.memory + BESIDE
        self._long.pop(origin, None)

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

    def failure(self, origin: str) -> tuple[str, str]:
        """(kind, reason) of why robots.txt could not be fetched."""
        known = self._known.get(origin)
        return (known.kind, known.reason) if known is not None and known.reason else NO_REPLY

    def wait(self, origin: str, now: float) -> float:
        """Seconds until robots.txt is to be fetched again."""
        known = self._known.get(origin)
        return 0.0 if known is None else max(0.0, known.expires - now)

    def unreachable(self) -> list[str]:
        """Origins of which nothing may be asked, since their robots.txt could never be fetched."""
        return [origin for origin, known in self._known.items() if known.rules is DISALLOW_ALL]
