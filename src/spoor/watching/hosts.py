"""When each host may be asked: what a Crawl's frontier knows, for a fleet, which has no frontier
of its own."""

from __future__ import annotations

import math
from collections.abc import Container

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.types import State
from spoor.watching.request_budget import RequestBudget


class Hosts:
    """Delays and limits by host. With no delay and no limit every host is always free."""

    def __init__(
        self, *, delay: float = 0.0, per_host: int = 0, per_day: int = 0, total_per_day: int = 0
    ) -> None:
        self._budget = RequestBudget()
        self._pace: dict[str, float] = {}
        self._free_at: dict[str, float] = {}
        self._busy: dict[str, int] = {}
        self._late: dict[str, int] = {}
        """Host → replies in a row that did not come in their time; -1 for one that answered."""
        self.configure(delay=delay, per_host=per_host, per_day=per_day, total_per_day=total_per_day)

    def configure(
        self,
        *,
        delay: float,
        per_host: int,
        per_day: int = 0,
        total_per_day: int = 0,
        robots_age: float = DAY,
    ) -> None:
        """Other politeness, from now on. `per_day`, `total_per_day`: requests in 24 hours to one
        host and to all, robots.txt included, which is kept for `robots_age` seconds; 0: no
        limit."""
        self._budget.configure(per_day, total_per_day, robots_age)
        self._delay = delay
        self._per_host = per_host or math.inf
        limited = delay or per_host or self._pace or self._free_at or self._budget.limits
        self.always_free = not limited

    def free(self, host: str, now: float, *, new: bool = True) -> bool:
        """`new`: for what is new, for which a budget keeps some requests."""
        return (
            self._busy.get(host, 0) < self._per_host
            and self._free_at.get(host, now) <= now
            and self._budget.free_at(host, now, new=new) <= now
        )

    def free_at(self, host: str, now: float, *, new: bool = True) -> float | None:
        """The time its delay ends and its budget has a request left; None while it must wait for
        a reply."""
        if self._busy.get(host, 0) >= self._per_host:
            return None
        return max(self._free_at.get(host, -math.inf), self._budget.free_at(host, now, new=new))

    def spent(self, host: str, now: float) -> bool:
        """Whether all requests are sent that a host's budget allows at once."""
        return self._budget.free_at(host, now) > now

    def take(self, host: str, now: float, *, new: bool = True) -> None:
        """A request begins."""
        self._budget.take(host, now, new=new)
        self.occupy(host)

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        """As of a `CountsRequests`."""
        return self._budget.left(host, now, own=own)

    def spend(self, host: str, now: float) -> None:
        """A request that was sent beside the chosen ones."""
        self._budget.take(host, now)

    def occupy(self, host: str) -> None:
        """A request that is counted already is in flight."""
        self._busy[host] = self._busy.get(host, 0) + 1

    def forget(self, now: float, known: Container[str]) -> None:
        """What was asked for is too long ago to say anything of the next request. O(hosts)."""
        self._budget.forget(now)
        free = [host for host, at in self._free_at.items() if at <= now]
        left = [host for host in self._late if host not in known and not self._busy.get(host)]
        forget(free, self._free_at)
        forget(left, self._late, self._busy)
        forget([host for host in self._pace if host not in known], self._pace)

    def restarted(self) -> None:
        """Another process goes on."""
        self._budget.restarted()

    def settle(self, host: str, now: float, *, answered: bool | None = None) -> None:
        """A request has ended, with an answer or without one (None: who knows); the delay
        starts."""
        if answered is not None:
            self._late[host] = -1 if answered else max(self._late.get(host, 0), 0) + 1
        self._busy[host] = max(0, self._busy.get(host, 0) - 1)
        self.hold(host, now + self.delay(host))

    def hold(self, host: str, until: float) -> None:
        """No request to this host before `until`."""
        self.always_free = False
        self._free_at[host] = max(until, self._free_at.get(host, until))

    def pace(self, host: str, delay: float) -> None:
        """From now on leave this host alone for at least `delay` seconds between two requests."""
        self.always_free = False
        self._pace[host] = delay

    def times_late(self, host: str) -> int | None:
        """As `spoor.politeness.hosts.times_late`; a new process knows nothing of before."""
        late = self._late.get(host, 0)
        return None if late < 0 else late

    def delay(self, host: str) -> float:
        return max(self._delay, self._pace.get(host, 0.0))

    def save(self) -> State:
        return {
            "pace": dict(self._pace),
            "free_at": dict(self._free_at),
            "budget": self._budget.save(),
        }

    def load(self, state: State) -> None:
        """Requests that were in flight at the save are not any more: the caller repeats them."""
        self._pace = dict(state["pace"])
        self._free_at = dict(state["free_at"])
        self._busy = {}
        self._budget.load(state["budget"])
        if self._pace or self._free_at:
            self.always_free = False
