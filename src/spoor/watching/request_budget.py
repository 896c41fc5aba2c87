"""Budgets of requests a day: of each host, and of a whole watch."""

from __future__ import annotations

import math
from typing import NamedTuple

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.types import State
from spoor.web.urls import registrable_domain

_EXACT = 1e-6
"""Tokens: sums of many parts are not exact."""

KEPT = 0.1
"""Share of the requests that may be sent at once, one at least, that are kept for what is new: a
page that is known waits until there are more."""

SLOW = 2.0
"""Beside what is new all the time, known pages have one of so many requests."""


def _known_at(now: float, tokens: float, rate: float, capacity: float, last: float) -> float:
    """When a page that is known may be asked for, of which the `last` was then."""
    kept = min(capacity - 1.0, max(1.0, KEPT * capacity))
    at_pace = max(last + SLOW / rate, now + (1.0 - tokens) / rate)
    return max(now, min(at_pace, now + (1.0 + kept - _EXACT - tokens) / rate))


class DailyBudget:
    """At most `most` requests in any 24 hours (those that end before the 24 hours are over).

    A tenth of them may be sent at once, the others come evenly over the day: a token bucket. A
    request that may bring another one with it (robots.txt) needs one token and takes two; the one
    that is owed is why a day has one token less than the bucket could have.
    """

    def __init__(self, most: int) -> None:
        if most < 2:
            raise InputError("a budget of requests a day is 2 or more: robots.txt is one of them")
        self.capacity = float(max(1, most // 10))
        self.rate = (most - self.capacity) / DAY
        """Tokens a second."""
        self._tokens = self.capacity
        self._at = self._known = -math.inf
        """When tokens were counted last, and when a page that is known was asked for."""

    def free_at(self, now: float, spare: float = 0.0) -> float:
        """When the next request may be sent, with so many to spare: `now`, or later."""
        wanted = min(1.0 + spare, self.capacity)
        tokens = self._now(now)
        if tokens >= wanted - _EXACT:
            return now
        return max(now, self._at) + (wanted - tokens) / self.rate

    def known_at(self, now: float) -> float:
        """When a page that is known may be asked for."""
        free = self.free_at(now)
        return max(free, _known_at(now, self._now(now), self.rate, self.capacity, self._known))

    def take(self, now: float, requests: int, *, new: bool = True) -> None:
        """So many requests are sent, for what is `new` or a page that is known."""
        self._tokens = self._now(now) - requests
        self._at = max(now, self._at)
        if not new:
            self._known = now

    def is_full(self, now: float) -> bool:
        """Whether it is as one of which nothing was taken."""
        return self._now(now) >= self.capacity and now >= self._known + SLOW / self.rate

    def left(self, now: float) -> float:
        """Requests that may be sent now."""
        return self._now(now) + _EXACT

    def _now(self, now: float) -> float:
        if now <= self._at:
            return self._tokens
        return min(self.capacity, self._tokens + (now - self._at) * self.rate)

    def save(self) -> State:
        times = {"at": self._at, "known": self._known}
        saved = {name: None if at == -math.inf else at for name, at in times.items()}
        return {"tokens": self._tokens, **saved}

    def load(self, state: State) -> None:
        """Go on from `save`; the number of requests a day may be another."""
        self._tokens = min(self.capacity, float(state["tokens"]))
        times = state["at"], state["known"]
        self._at, self._known = (-math.inf if at is None else float(at) for at in times)


class _Share(NamedTuple):
    tokens: float
    at: float
    known: float = -math.inf


class DomainShares:
    """What each domain has of the budget of all together: tokens come to all domains alike, and
    what one does not use is left to the others once half of the budget's bucket is full. So who has
    many hosts takes no other's share."""

    def __init__(self, total: DailyBudget) -> None:
        self._total = total
        self._shares: dict[str, _Share] = {}

    def free_at(self, domain: str, now: float) -> float:
        """When a domain may be asked: `now`, or later."""
        total = self._total.free_at(now)
        tokens, rate = self._now(domain, now)
        if tokens >= 1.0 - _EXACT:
            return total
        return max(total, min(now + (1.0 - tokens) / rate, self._spare_at(now)))

    def known_at(self, domain: str, now: float) -> float:
        """When a page of a domain that is known may be asked for."""
        total = self._total.free_at(now)
        tokens, rate = self._now(domain, now)
        capacity, last = self._capacity(), self._shares[domain].known
        own = _known_at(now, tokens, rate, capacity, last)
        return max(total, min(own, self._spare_at(now)))

    def _spare_at(self, now: float) -> float:
        """When what no domain uses is left to all."""
        return self._total.free_at(now, self._total.capacity / 2)

    def _capacity(self) -> float:
        return max(1.0, self._total.capacity / len(self._shares))

    def left_for_others(self, domain: str, now: float) -> float:
        """Requests that pages of other sites may send to a domain now."""
        tokens, _ = self._now(domain, now)
        return tokens - self._total.capacity / len(self._shares) / 2 + _EXACT

    def take(self, domain: str, now: float, requests: int, *, new: bool = True) -> None:
        """So many requests are sent."""
        tokens, _ = self._now(domain, now)
        self._total.take(now, requests)
        known = self._shares[domain].known if new else now
        self._shares[domain] = _Share(max(0.0, tokens - requests), now, known)
        for other, share in list(self._shares.items()):
            if share.at < now - DAY:
                del self._shares[other]

    def _now(self, domain: str, now: float) -> tuple[float, float]:
        """Tokens of a domain, and how many come in a second. One of which nobody asked yet has all
        that it may hold, and a share from now on."""
        share = self._shares.setdefault(domain, _Share(math.inf, now))
        rate = self._total.rate / len(self._shares)
        tokens = share.tokens + max(0.0, now - share.at) * rate
        return min(self._capacity(), tokens), rate

    def save(self) -> State:
        most = self._total.capacity
        return {
            name: [min(most, share.tokens), share.at, max(0.0, share.known)]
            for name, share in self._shares.items()
        }

    def load(self, state: State) -> None:
        self._shares = {domain: _Share(*map(float, share)) for domain, share in state.items()}


class RequestBudget:
    """The budgets of all hosts, and of all together; 0: no limit."""

    def __init__(self, per_host: int = 0, total: int = 0) -> None:
        self._hosts: dict[str, DailyBudget] = {}
        self._robots: dict[str, float] = {}
        """Host → when its robots.txt was asked for last, by the process that runs."""
        self.configure(per_host, total)

    def configure(self, per_host: int, total: int, robots_age: float = DAY) -> None:
        """Other limits, from now on. `robots_age`: seconds after which a host's robots.txt is asked
        for anew, which is a request too. Raises InputError for a budget of 1."""
        self._per_host = per_host
        self._robots_age = robots_age
        self._total = DailyBudget(total) if total else None
        self._shares = None if self._total is None else DomainShares(self._total)
        if per_host:
            DailyBudget(per_host)  # raises
        for host, old in self._hosts.items():
            self._hosts[host] = DailyBudget(per_host or 2)
            self._hosts[host].load(old.save())

    @property
    def limits(self) -> bool:
        """Whether there is any limit."""
        return bool(self._per_host or self._total)

    def free_at(self, host: str, now: float, *, new: bool = True) -> float:
        """When this host may be asked, for what is `new` or a page that is known: `now`, or
        later."""
        times = [now]
        if self._per_host:
            budget = self._of(host)
            times.append(budget.free_at(now) if new else budget.known_at(now))
        if self._shares is not None:
            shares, domain = self._shares, registrable_domain(host)
            times.append(shares.free_at(domain, now) if new else shares.known_at(domain, now))
        return max(times)

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        """Requests that may be sent to a host now; for pages of other sites, where not `own`."""
        budgets = [self._total] if self._total is not None else []
        if self._per_host:
            budgets.append(self._hosts.get(host) or DailyBudget(self._per_host))
        kept = 0.0 if own else 0.5
        found = [budget.left(now) - kept * budget.capacity for budget in budgets]
        if self._shares is not None and not own:
            found.append(self._shares.left_for_others(registrable_domain(host), now))
        return min(found, default=math.inf)

    def take(self, host: str, now: float, *, new: bool = True) -> None:
        """A request is sent to a host; the first also asks for its robots.txt."""
        requests = 1
        if now - self._robots.get(host, -math.inf) >= self._robots_age:
            self._robots[host] = now
            requests = 2
        if self._per_host:
            self._of(host).take(now, requests, new=new)
        if self._shares is not None:
            self._shares.take(registrable_domain(host), now, requests, new=new)

    def forget(self, now: float) -> None:
        """A day without a request says nothing of the next one."""
        old = [host for host, budget in self._hosts.items() if budget.is_full(now)]
        robots = [host for host, at in self._robots.items() if at + self._robots_age <= now]
        forget(old, self._hosts)
        forget(robots, self._robots)

    def restarted(self) -> None:
        """Another process goes on, which knows no robots.txt yet."""
        self._robots.clear()

    def _of(self, host: str) -> DailyBudget:
        budget = self._hosts.get(host)
        if budget is None:
            # Where the limit was lifted, what was sent before is kept for when there is one again.
            budget = self._hosts[host] = DailyBudget(self._per_host or 2)
        return budget

    def save(self) -> State:
        return {
            "hosts": {host: budget.save() for host, budget in self._hosts.items()},
            "total": None if self._total is None else self._total.save(),
            "shares": {} if self._shares is None else self._shares.save(),
            "robots": dict(self._robots),
        }

    def load(self, state: State) -> None:
        for host, saved in state["hosts"].items():
            self._of(host).load(saved)
        if self._total is not None and state["total"] is not None:
            self._total.load(state["total"])
        if self._shares is not None:
            self._shares.load(state["shares"])
        self._robots = dict(state["robots"])
