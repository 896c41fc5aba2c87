"""Budgets of requests a day: of each host, and of a whole watch."""

from __future__ import annotations

import math

from spoor.errors import InputError
from spoor.types import State

DAY = 86_400.0

_EXACT = 1e-6
"""Tokens: sums of many parts are not exact."""


class DailyBudget:
    """At most `most` requests in any 24 hours (those that end before the 24 hours are over).

    A tenth of them may be sent at once, the others come evenly over the day: a token bucket. A
    request that may bring another one with it (robots.txt) needs one token and takes two; the one
    that is owed is why a day has one token less than the bucket could have.
    """

    def __init__(self, most: int) -> None:
        if most < 2:
            raise InputError("a budget of requests a day is 2 or more: robots.txt is one of them")
        self._capacity = float(max(1, most // 10))
        self._rate = (most - self._capacity) / DAY
        self._tokens = self._capacity
        self._at = -math.inf

    def free_at(self, now: float) -> float:
        """When the next request may be sent: `now`, or later."""
        tokens = self._now(now)
        if tokens >= 1.0 - _EXACT:
            return now
        return max(now, self._at) + (1.0 - tokens) / self._rate

    def take(self, now: float, requests: int) -> None:
        """So many requests are sent."""
        self._tokens = self._now(now) - requests
        self._at = max(now, self._at)

    def left(self, now: float) -> float:
        """Requests that may be sent now."""
        return self._now(now) + _EXACT

    def _now(self, now: float) -> float:
        if now <= self._at:
            return self._tokens
        return min(self._capacity, self._tokens + (now - self._at) * self._rate)

    def save(self) -> State:
        return {"tokens": self._tokens, "at": None if self._at == -math.inf else self._at}

    def load(self, state: State) -> None:
        """Go on from `save`; the number of requests a day may be another."""
        self._tokens = min(self._capacity, float(state["tokens"]))
        self._at = -math.inf if state["at"] is None else float(state["at"])


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
        if per_host:
            DailyBudget(per_host)  # raises
        for host, old in self._hosts.items():
            self._hosts[host] = DailyBudget(per_host or 2)
            self._hosts[host].load(old.save())

    @property
    def limits(self) -> bool:
        """Whether there is any limit."""
        return bool(self._per_host or self._total)

    def free_at(self, host: str, now: float) -> float:
        """When this host may be asked: `now`, or later."""
        times = [now]
        if self._per_host:
            times.append(self._of(host).free_at(now))
        if self._total is not None:
            times.append(self._total.free_at(now))
        return max(times)

    def left(self, host: str, now: float) -> float:
        """Requests that may be sent to a host now."""
        budgets = [self._total] if self._total is not None else []
        if self._per_host:
            budgets.append(self._hosts.get(host) or DailyBudget(self._per_host))
        return min((budget.left(now) for budget in budgets), default=math.inf)

    def take(self, host: str, now: float) -> None:
        """A request is sent to a host; the first also asks for its robots.txt."""
        requests = 1
        if now - self._robots.get(host, -math.inf) >= self._robots_age:
            self._robots[host] = now
            requests = 2
        if self._per_host:
            self._of(host).take(now, requests)
        if self._total is not None:
            self._total.take(now, requests)

    def restarted(self) -> None:
        """Another process goes on, which knows no robots.txt yet."""
        self._robots.clear()

    def _of(self, host: str) -> DailyBudget:
        budget = self._hosts.get(host)
        if budget is None:
            budget = self._hosts[host] = DailyBudget(self._per_host)
        return budget

    def save(self) -> State:
        return {
            "hosts": {host: budget.save() for host, budget in self._hosts.items()},
            "total": None if self._total is None else self._total.save(),
            "robots": dict(self._robots),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        for host, saved in state["hosts"].items():
            self._of(host).load(saved)
        if self._total is not None and state["total"] is not None:
            self._total.load(state["total"])
        self._robots = dict(state["robots"])
