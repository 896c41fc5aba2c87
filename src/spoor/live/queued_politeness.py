"""What requests change of a crawl's politeness, kept for its next turn."""

from __future__ import annotations

from collections import deque

from spoor.politeness.hosts import CountsRequests
from spoor.protocols import Engine, Politeness


class QueuedPoliteness:
    """The politeness of a crawl, for requests: changes are made by `apply`, in its turn."""

    def __init__(self, crawl: Engine) -> None:
        self._crawl = crawl
        self._changes: deque[tuple[str, str, float]] = deque()
        self._delays: dict[str, float] = {}
        """Of hosts whose delay is changed at the next turn."""
        self._sent = self._counted = 0
        """Requests beside the chosen ones; each number is changed by one thread."""

    def hold(self, host: str, until: float) -> None:
        self._changes.append(("hold", host, until))

    def pace(self, host: str, delay: float) -> None:
        self._delays[host] = delay
        self._changes.append(("pace", host, delay))

    def delay(self, host: str) -> float:
        return max(self._crawl.frontier.delay(host), self._delays.get(host, 0.0))

    def spend(self, host: str, now: float, *, own: bool) -> bool:
        """Count a request that the crawl did not choose, which a page of another site asks for if
        not `own`; False where its budget has none left."""
        hosts = self._crawl.frontier
        if isinstance(hosts, CountsRequests):
            if hosts.left(host, now, own=own) < self._sent - self._counted + 1:
                return False
            self._sent += 1
            self._changes.append(("spend", host, now))
        return True

    def apply(self) -> None:
        hosts: Politeness = self._crawl.frontier
        while self._changes:
            kind, host, value = self._changes.popleft()
            if kind == "hold":
                hosts.hold(host, value)
            elif kind == "spend":
                assert isinstance(hosts, CountsRequests)
                hosts.spend(host, value)
                self._counted += 1
            else:
                hosts.pace(host, value)
                self._delays.pop(host, None)
