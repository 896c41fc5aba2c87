"""A fleet as a pure object: no I/O, no clock, no hidden randomness, as a `Crawl` is.

A driver asks `next(now)` what to do and hands every reply to `receive(reply, now)`. A step
downloads one page and the linked pages that its crew wants; the crew then says what it brought.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from spoor.errors import CallerError
from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.hosts import Hosts
from spoor.foragers.known import Known
from spoor.types import (
    Choice,
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Finished,
    LiveReply,
    NextStep,
    NotModified,
    Outcome,
    Redirected,
    Sleep,
    Starved,
    State,
)

FORMAT = 1
MOST_HOPS = 10


class Crew(Protocol):
    """It chooses what a fleet visits."""

    @property
    def agent(self) -> ReinforcingAgent: ...
    @property
    def expands(self) -> bool:
        """Whether the links of all pages of a step are added, not only those of its own page."""
        ...

    def visit(self, now: float) -> int:
        """The URL number of the next step."""
        ...

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """The URLs to download after the step's own page, whose links are `links`."""
        ...

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        """The step is over; `pages` were downloaded, its own first."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


@runtime_checkable
class Abreast(Protocol):
    """A crew whose steps have a width."""

    abreast: int
    """Pages of a step, so that as many hosts can be asked at a time."""


@dataclass(slots=True)
class Counts:
    """What happened so far."""

    requests: int = 0
    pages: int = 0
    failed: int = 0
    steps: int = 0


class Fleet:
    """One fleet with any crew. A failed request is not tried again in its step: the fleet
    returns to pages that are worth it.

    Raises CallerError where the driver breaks the protocol.
    """

    def __init__(self, known: Known, crew: Crew, hosts: Hosts) -> None:
        self.known = known
        self.crew = crew
        self.frontier = hosts
        """When hosts may be asked, under the name that drivers know from a Crawl."""
        self.counts = Counts()
        self._queue: deque[int] = deque()
        self._again: list[tuple[int, int, int]] = []
        """Redirected tickets: (ticket, URL, hops)."""
        self._flights: dict[int, tuple[int, int]] = {}
        """Ticket → (URL, hops)."""
        self._next_ticket = 0
        self._step = -1
        self._links: list[int] = []
        self._pages: list[int] = []
        self._stopped: str | None = None

    @property
    def agent(self) -> ReinforcingAgent:
        return self.crew.agent

    @property
    def resting(self) -> bool:
        """Whether no step is under way."""
        return self._step < 0

    # -- the two calls of a driver

    def next(self, now: float) -> NextStep:
        """The next step. `now` never decreases, and is on the clock that dates the pages (Unix
        seconds on the live web)."""
        while True:
            if self._queue or self._again:
                return self._ask(now)
            if self._flights:
                return Starved()
            self._end_step(now)
            if self._stopped is not None:
                return Finished(self._stopped)
            self._step = self.crew.visit(now)
            self.counts.steps += 1
            self._queue.append(self._step)

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        """Process the reply to a Fetch; replies may arrive in any order."""
        flight = self._flights.pop(reply.ticket, None)
        if flight is None:
            raise CallerError(f"ticket {reply.ticket} is not in flight: each is answered once")
        url, hops = flight
        if not self.frontier.always_free:
            self.frontier.settle(self.known.hosts[url], now)
        if isinstance(reply, Redirected):
            return self._redirected(reply, url, hops + 1, now)
        if isinstance(reply, Fetched):
            self.counts.pages += 1
            self.known.see(url, reply.page, now)
            self._pages.append(url)
            if url == self._step:
                self._links = links = self.known.links(url, reply.page, now)
                alias = self.known.alias
                if alias:
                    links = list(dict.fromkeys(alias.get(link, link) for link in links))
                    self._links = links = [link for link in links if link != url]
                if self._stopped is None:
                    self._queue.extend(self.crew.select(url, links, now))
            elif self.crew.expands:
                self.known.links(url, reply.page, now)
        elif isinstance(reply, NotModified):
            self.known.fetched[url] = now
            reply = reply.as_failed()
        else:
            self.counts.failed += 1
            self.known.fetched[url] = now
        if not (self._queue or self._flights or self._again):
            self._end_step(now)
        return Outcome(Choice(url), reply, None, 0.0)

    def stop(self, reason: str) -> None:
        """Ask for nothing more; `next` answers Finished once nothing is in flight."""
        if self._stopped is None:
            self._stopped = reason
        self._queue.clear()
        self._again.clear()

    # -- inside

    def _ask(self, now: float) -> NextStep:
        known, hosts = self.known, self.frontier
        if hosts.always_free and not self._again:
            return self._fetch(self._queue.popleft(), 0, None)
        for index, (ticket, url, hops) in enumerate(self._again):
            if hosts.free(known.hosts[url], now):
                del self._again[index]
                return self._fetch(url, hops, ticket)
        for index, url in enumerate(self._queue):
            if hosts.free(known.hosts[url], now):
                del self._queue[index]
                return self._fetch(url, 0, None)
        waiting = [url for _, url, _ in self._again] + list(self._queue)
        times = [hosts.free_at(name) for name in {known.hosts[url] for url in waiting}]
        free = [time for time in times if time is not None]
        return Sleep(min(free)) if free else Starved()

    def _fetch(self, url: int, hops: int, ticket: int | None) -> Fetch:
        if ticket is None:
            ticket = self._next_ticket
            self._next_ticket += 1
        host = self.known.hosts[url]
        if not self.frontier.always_free:
            self.frontier.take(host)
        self._flights[ticket] = (url, hops)
        self.counts.requests += 1
        return Fetch(ticket, self.known.urls[url], host, Choice(url), hops + 1)

    def _redirected(self, reply: Redirected, url: int, hops: int, now: float) -> Outcome | Deferred:
        """The page belongs to the URL that answers; the step continues there."""
        if not self.known.admits(reply.location):
            failed = Failed(reply.ticket, "skipped", f"{reply.location} is out of scope")
        elif (target := self.known.number(reply.location)) == url or hops > MOST_HOPS:
            failed = Failed(reply.ticket, "redirect", f"to {reply.location}")
        else:
            self.known.alias[url] = target
            here = target in self._pages or target in self._queue
            busy = any(target == other for other, _ in self._flights.values())
            if not here and not busy and self._stopped is None:
                if url == self._step:
                    self._step = target
                self._again.append((reply.ticket, target, hops))
                return Deferred(reply.ticket, reply.location, now, f"redirect {reply.status}")
            failed = Failed(reply.ticket, "duplicate", f"redirects to {reply.location}")
        self.counts.failed += 1
        if not (self._queue or self._flights or self._again):
            self._end_step(now)
        return Outcome(Choice(url), failed, None, 0.0)

    def _end_step(self, now: float) -> None:
        if self._step < 0:
            return
        step, links, pages = self._step, self._links, self._pages
        self._step, self._links, self._pages = -1, [], []
        self.crew.end_step(step, links, pages, now)

    # -- durable

    def save(self) -> State:
        """All of it, tickets in flight included."""
        counts = self.counts
        return {
            "format": FORMAT,
            "counts": {name: getattr(counts, name) for name in Counts.__slots__},
            "next_ticket": self._next_ticket,
            "step": self._step,
            "links": list(self._links),
            "pages": list(self._pages),
            "queue": list(self._queue),
            "again": [list(row) for row in self._again],
            "flights": [[ticket, *flight] for ticket, flight in self._flights.items()],
            "stopped": self._stopped,
            "known": self.known.save(),
            "crew": self.crew.save(),
            "hosts": self.frontier.save(),
        }

    def load(self, state: State) -> None:
        """Go on from a saved fleet of the same settings."""
        self.counts = Counts(**state["counts"])
        self._next_ticket = state["next_ticket"]
        self._step = state["step"]
        self._links, self._pages = list(state["links"]), list(state["pages"])
        self._queue = deque(state["queue"])
        self._again = [(ticket, url, hops) for ticket, url, hops in state["again"]]
        self._flights = {ticket: (url, hops) for ticket, url, hops in state["flights"]}
        self._stopped = state["stopped"]
        self.known.load(state["known"])
        self.crew.load(state["crew"])
        self.frontier.load(state["hosts"])
        if not self.frontier.always_free:
            for url, _ in self._flights.values():
                self.frontier.take(self.known.hosts[url])

    def reissue(self, now: float) -> int:
        """After a load in a new process: repeat the requests that were lost with the old one.
        Returns their number.

        Every host is left alone for its full delay: the time of its last request is unknown.
        """
        hosts, lost = self.frontier, list(self._flights.items())
        for ticket, (url, hops) in lost:
            if not hosts.always_free:
                hosts.settle(self.known.hosts[url], now)
            self._again.append((ticket, url, hops))
        for host in dict.fromkeys(self.known.hosts):
            delay = hosts.delay(host)
            if delay:
                hosts.hold(host, now + delay)
        self._flights = {}
        self._stopped = None
        return len(lost)
