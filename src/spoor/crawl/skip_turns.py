"""When a host rests whose links are skipped once they are chosen, so that others get their turns.

Pure. A page may list thousands of links that are held back later, and to choose and skip one takes
as long as a small page. While another domain is asked, those of all domains together are skipped
`A_SECOND` times a second, `AT_ONCE` of a domain at a time; a domain's hosts rest until what was
skipped of it is made up for, or until no other host has an open link: of a thousand sites each of
which has had its share of pages, ten thousand links are skipped at the end of the crawl.

A domain has as many hosts as it likes, and all of them would be free at once. So each that rests
has a moment of its own, as if a link of it were skipped then.
"""

from __future__ import annotations

from itertools import islice

from spoor.protocols import Frontier, RestsHosts
from spoor.types import State
from spoor.web.recent_domains import RecentDomains
from spoor.web.urls import domain_of, host, registrable_domain

A_SECOND = 64
"""Links that are skipped in a second …"""
AT_ONCE = 16
"""… and of a domain before its hosts rest."""
_LOOKED_AT = 128
"""Free hosts among which those of a domain that rests are looked for, at each skip."""
_FEW = 1_000
_LOOKS = 100_000
"""Hosts that rest, of which it is looked up at any time whether only they have open links, and so
many in a second where they are more."""
_RECENT = 10.0
"""Seconds for which a domain that was asked counts as one that is."""
_SWEEP = 0.25
"""Seconds after which domains that are even are dropped."""


class SkipTurns:
    """What is made up for until when. O(1) a call, and O(domains) each `_SWEEP` seconds. Times are
    seconds by the crawl's clock."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        """Domain → when what was skipped of it is made up for."""
        self._rests: dict[str, tuple[float, float]] = {}
        """Host → until when it rests, and when it would be free otherwise."""
        self._sweep = 0.0
        self._place = 0
        """Of the free host that is looked at next."""
        self._next_look = 0.0
        self._woken = -1.0
        """When rests were ended last; negative before."""
        self._asked = RecentDomains()
        """From the first skip on."""
        self._skips = False

    def __bool__(self) -> bool:
        return self._skips

    def ask(self, url: str, now: float) -> None:
        """A URL is asked for."""
        if self._skips:
            self._asked.ask(url, now)

    def skip(self, url: str, now: float) -> float:
        """A chosen URL was skipped; until when its host rests where others want to be asked, `now`
        or earlier where it need not."""
        self._skips = True
        domain = domain_of(url)
        if now >= self._sweep:
            self._until = {name: until for name, until in self._until.items() if until > now}
            self._rests = {name: rest for name, rest in self._rests.items() if rest[0] > now}
            self._sweep = now + _SWEEP
        until = max(now, self._until.pop(domain, now))
        # Last in order; one of so many domains that are to be skipped.
        self._until[domain] = until = until + (len(self._until) + 1) / A_SECOND
        return until if until - now >= AT_ONCE / A_SECOND else now

    def others(self, url: str, now: float) -> bool:
        """Whether another domain was asked a short time ago."""
        return now - self._asked.other_than(url) < _RECENT

    def rest(self, frontier: Frontier, url: str, now: float, until: float) -> None:
        """Let the host of a URL that was skipped rest until then, and some of its domain's other
        free hosts longer, one after another, unless all rests were ended and no other domain was
        asked since. O(`_LOOKED_AT`)."""
        domain = domain_of(url)
        self._rest(frontier, host(url), now, until)
        if self._woken >= 0.0 and self._asked.other_than(url) <= self._woken:
            return
        free = frontier.offer(now).hosts()
        if self._place >= len(free):
            self._place = 0
        looked_at = [*islice(free, self._place, self._place + _LOOKED_AT)]
        found = [name for name in looked_at if registrable_domain(name) == domain]
        self._place += len(looked_at) - len(found)
        for name in found:
            self._until[domain] += len(self._until) / A_SECOND
            self._rest(frontier, name, now, self._until[domain])

    def _rest(self, frontier: Frontier, name: str, now: float, until: float) -> None:
        if not isinstance(frontier, RestsHosts):
            frontier.hold(name, until)
            return
        self._rests[name] = until, max(now, frontier.rest(name, until))

    def wake(self, frontier: Frontier, now: float) -> bool:
        """End all rests if no other host has an open link; whether there were any. To be called
        where no ticket is out. O(hosts that rest), and where these are many, seldom."""
        if not (self._rests and isinstance(frontier, RestsHosts)) or now < self._next_look:
            return False
        rests = {name: rest for name, rest in self._rests.items() if rest[0] > now}
        if not rests or sum(map(frontier.open_of, rests)) < frontier.open_count:
            self._next_look = now + max(0, len(rests) - _FEW) / _LOOKS
            return False
        for name, (until, free_at) in rests.items():
            frontier.wake(name, until, free_at)
        self._rests, self._until, self._woken = {}, {}, now
        return True

    def save(self) -> State:
        return {
            "until": self._until.copy(),
            "rests": {name: list(rest) for name, rest in self._rests.items()},
            "sweep": self._sweep,
            "place": self._place,
            "next look": self._next_look,
            "woken": self._woken,
            "asked": self._asked.save(),
        }

    def load(self, state: State) -> None:
        self._until = dict(state["until"])
        self._rests = {name: (until, free_at) for name, (until, free_at) in state["rests"].items()}
        self._place = int(state["place"])
        self._next_look = float(state["next look"])
        self._woken = float(state["woken"])
        self._asked.load(state["asked"])
        self._sweep, self._skips = float(state["sweep"]), True
