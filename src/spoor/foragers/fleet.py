"""A fleet as a pure object: no I/O, no clock, no hidden randomness, as a `Crawl` is.

A driver asks `next(now)` what to do and hands every reply to `receive(reply, now)`. A step
downloads one page and the linked pages that its crew wants; the crew then says what it brought.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spoor.errors import CallerError
from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.crew import Crew, Follower, Steady, SteadyCrew
from spoor.types import (
    Choice,
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Judgement,
    LiveReply,
    NextStep,
    NotModified,
    Outcome,
    Redirected,
    Sleep,
    Starved,
    State,
)
from spoor.watching.compactions import Compactions
from spoor.watching.hosts import Hosts
from spoor.watching.known_urls import Known
from spoor.watching.redirects import MOST_HOPS
from spoor.watching.urls import NEVER
from spoor.web.sitemaps import WHY as SITEMAP
from spoor.web.urls import host as host_of

FORMAT = 4

LONG = 60.0
"""Seconds: no delay that is meant for one request is longer."""

IDLE = 0.25
"""Seconds after which a crew that found nothing worth a visit is asked again."""


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
        self._steady: Any = None
        """The crew, where it has no steps."""
        if known.watching is not None and isinstance(crew, Steady):
            self._steady = crew
        self.compactions = Compactions(known)
        self.follower: Follower | None = None
        self.on_left: Callable[[list[str]], None] = lambda urls: None
        """Called with the URLs that a compaction leaves."""

    @property
    def agent(self) -> ReinforcingAgent:
        return self.crew.agent

    @property
    def in_flight(self) -> int:
        """Requests that were not answered yet."""
        return len(self._flights) + len(self._again)

    def foreign(self, ticket: int) -> bool:
        """Whether only pages of other domains led to what this ticket in flight asks for."""
        return self.known.guessed(self._flights[ticket][0])

    def spent(self, now: float) -> frozenset[str]:
        """Hosts of which no request is left that may be sent at once, or that may not be asked
        before long."""

        def is_spent(name: str) -> bool:
            at = self.frontier.free_at(name, now)
            return self.frontier.spent(name, now) or (at is not None and at > now + LONG)

        return frozenset(filter(is_spent, self.known.names()))

    # -- the two calls of a driver

    def next(self, now: float) -> NextStep:
        """The next step. `now` never decreases, and is on the clock that dates the pages (Unix
        seconds on the live web)."""
        if self.known.watching is not None and self.compactions.due(now):
            self._compact(now)
        if self._steady is not None:
            return self._next_steady(self._steady, now)
        if not (self._queue or self._again):
            if self._flights:
                return Starved()
            self._end_step(now)
            self._step = self.crew.visit(now)
            self.counts.steps += 1
            self._queue.append(self._step)
        return self._ask(now)

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        """Process the reply to a Fetch; replies may arrive in any order."""
        flight = self._flights.pop(reply.ticket, None)
        if flight is None:
            raise CallerError(f"ticket {reply.ticket} is not in flight: each is answered once")
        url, hops = flight
        if not self.frontier.always_free:
            answered = not (isinstance(reply, Failed) and reply.unanswered)
            self.frontier.settle(self.known.hosts[url], now, answered=answered)
        if isinstance(reply, Redirected):
            return self._redirected(reply, url, hops + 1, now)
        if hops:
            self.known.arrived(url)
        if self._steady is not None:
            return self._received_steady(self._steady, reply, url, now)
        if isinstance(reply, Fetched):
            self.counts.pages += 1
            self.known.see(url, reply.page, now)
            self._pages.append(url)
            if url == self._step:
                self._on_step(url, self.known.links(url, reply.page, now), now)
            elif self.crew.expands:
                self.known.links(url, reply.page, now)
        elif isinstance(reply, NotModified):
            self.known.unchanged(url, now)
            self._pages.append(url)
            if url == self._step:
                self._on_step(url, self.known.links_before(url), now)
            reply = reply.as_failed()
        else:
            self.counts.failed += 1
            self.known.tried(url, now)
        if not (self._queue or self._flights or self._again):
            self._end_step(now)
        return Outcome(Choice(url), reply, self._judgement(reply), 0.0)

    def _on_step(self, url: int, links: list[int], now: float) -> None:
        """The step's own page is there, with these links."""
        if redirects := self.known.redirects:
            links = list(dict.fromkeys(map(redirects.next, links)))
            links = [link for link in links if link != url]
        self._links = links
        self._queue.extend(self.crew.select(url, links, now))

    # -- a crew without steps

    def _next_steady(self, crew: SteadyCrew, now: float) -> NextStep:
        hosts, known = self.frontier, self.known
        for index, (ticket, url, hops) in enumerate(self._again):
            if hosts.always_free or hosts.free(known.hosts[url], now):
                del self._again[index]
                return self._fetch(url, hops, ticket, now)
        busy = {url for url, _ in self._flights.values()} | {url for _, url, _ in self._again}
        asked: dict[str, tuple[bool, bool]] = {}

        def free(url: int) -> bool:
            name = known.hosts[url]
            if name not in asked:
                asked[name] = hosts.free(name, now), hosts.free(name, now, new=not crew.spares)
            for_new, for_known = asked[name]
            if not (for_known or (for_new and known.is_new(url))):
                return False
            return not known.promises.rests(url, now)

        url = crew.next_visit(free, busy, now)
        while url >= 0 and known.superseded(url):
            known.tried(url, now)
            url = crew.next_visit(free, busy, now)
        if url >= 0:
            self.counts.steps += 1
            return self._fetch(url, 0, None, now, new=not crew.spares or known.is_new(url))
        waits, again = list[float](), list[float]()
        for name in known.names():
            time = hosts.free_at(name, now)
            if time is not None and time <= now:  # nothing is new; it may not be asked for more yet
                again = list(crew.weighs_again(now))
                time = hosts.free_at(name, now, new=not crew.spares)
            if time is not None:
                waits.append(time)
        if any(time <= now for time in waits):
            # Of a free host no page is worth it, or none yet; a reply may change that.
            over = known.promises.next_over()
            again.append(now + (IDLE if over is None else min(LONG, max(IDLE, over - now))))
        # Meanwhile another host may be asked again, or more of what is known be weighed.
        later = [*again, *(time for time in waits if time > now)]
        return Sleep(min(later)) if later else Starved()

    def _received_steady(
        self, crew: SteadyCrew, reply: Fetched | Failed | NotModified, url: int, now: float
    ) -> Outcome:
        known, pages = self.known, list[int]()
        reply = known.without_lost(reply, url, now)
        if isinstance(reply, Fetched):
            self.counts.pages += 1
            changed = known.see(url, reply.page, now)
            linked = known.links_before(url)
            changed |= known.links(url, reply.page, now) != linked
            known.promises.asked(url, known.hosts[url], reply.fresh_for, now, changed=changed)
            pages = [url, *self._revised(judged=True)]
        elif isinstance(reply, NotModified):
            known.unchanged(url, now)
            known.promises.asked(url, known.hosts[url], reply.fresh_for, now, changed=False)
            pages, reply = [url, *self._revised()], reply.as_failed()
        else:
            absent = reply.kind == "absent"
            # Every site is asked for a sitemap.
            self.counts.failed += not (absent and url in known.sitemaps)
            known.tried(url, now)
            if absent:
                known.absent(url, now)
            else:
                known.hints.drop(url)
                known.separate(url)
            pages = self._revised()
            if reply.retry_after is not None and not reply.of_robots:
                known.promises.rest(url, now + reply.retry_after)
        crew.end_step(url, [], pages, now)
        return Outcome(Choice(url), reply, self._judgement(reply), 0.0)

    def revise(self, now: float) -> bool:
        """At the end of a pass: ask the judge for newer verdicts, and submit what is wanted only
        now. False where it has judged nothing since it was asked last; nothing is changed then."""
        watching, crew = self.known.watching, self._steady
        if watching is None or crew is None or not watching.learned:
            return False
        crew.submit(watching.revise(self.known.find, now=True), now)
        return True

    def relabel(self, url: str, relevant: bool, now: float) -> None:
        """A person says whether a page is wanted; one that is, is submitted. The judge judges
        others anew by it when it is asked for newer verdicts the next time."""
        watching = self.known.watching
        if watching is None:
            raise CallerError("only pages of a watch are labelled")
        number = self.known.find(url)
        watching.label(number, url, relevant)
        if relevant and number is not None and self._steady is not None:
            self._steady.submit([number], now)

    def _revised(self, *, judged: bool = False) -> list[int]:
        """Pages that are known only now to be new, and, where the judge has `judged` one, those
        that it calls relevant only now."""
        watching, released = self.known.watching, self.known.released
        self.known.released = []
        if watching is None or not judged:
            return released
        return released + watching.revise(self.known.find)

    def _judgement(self, reply: Fetched | Failed) -> Judgement | None:
        watching = self.known.watching
        return None if watching is None or isinstance(reply, Failed) else watching.judgement

    # -- inside

    def _compact(self, now: float) -> None:
        """Leave what is at rest, a slice at a call."""
        compacts = self.known.compacts
        if left := self.compactions.slice(now, self._held):
            self._leave(left, now)
        if compacts and not self.known.compacts:
            self.frontier.forget(now, self.known.counted_hosts())

    def _held(self) -> set[int]:
        """URLs that are in use."""
        held = {url for url, _ in self._flights.values()} | {url for _, url, _ in self._again}
        own = {*self._queue, *self._links, *self._pages, self._step}
        return held | own | self.crew.held()

    def _leave(self, left: list[int], now: float) -> None:
        known, found = self.known, self.agent.found
        told = set(filter(found, left))
        if (follower := self.follower) is not None:
            of_follower = follower.told()
            told.update(url for url in left if url in of_follower)
        self.on_left([known.urls[url] for url in left])
        known.leave(left, told, now)
        gone = set(left)
        self.crew.leave(gone)
        if follower is not None:
            follower.leave(gone)

    def _ask(self, now: float) -> NextStep:
        known, hosts = self.known, self.frontier
        if hosts.always_free and not self._again:
            return self._fetch(self._queue.popleft(), 0, None, now)
        for index, (ticket, url, hops) in enumerate(self._again):
            if hosts.free(known.hosts[url], now):
                del self._again[index]
                return self._fetch(url, hops, ticket, now)
        for index, url in enumerate(self._queue):
            if hosts.free(known.hosts[url], now):
                del self._queue[index]
                return self._fetch(url, 0, None, now)
        waiting = [url for _, url, _ in self._again] + list(self._queue)
        times = [hosts.free_at(name, now) for name in {known.hosts[url] for url in waiting}]
        free = [time for time in times if time is not None]
        return Sleep(min(free)) if free else Starved()

    def _fetch(
        self, url: int, hops: int, ticket: int | None, now: float, *, new: bool = True
    ) -> Fetch:
        if ticket is None:
            ticket = self._next_ticket
            self._next_ticket += 1
        host = self.known.hosts[url]
        if not self.frontier.always_free:
            self.frontier.take(host, now, new=new)
        self._flights[ticket] = (url, hops)
        self.counts.requests += 1
        choice = Choice(url, why=SITEMAP if url in self.known.sitemaps else ())
        return Fetch(ticket, self.known.urls[url], host, choice, hops + 1)

    def _redirected(self, reply: Redirected, url: int, hops: int, now: float) -> Outcome | Deferred:
        """The page belongs to the URL that answers; the step continues there. To a page of another
        site that the user named it does not: that has its own turn, as what strangers link to."""
        stranger = self.known.stranger(url, host_of(reply.location))
        self.known.tried(url, now)
        self.known.hints.drop(url)
        self.known.dead[url] = NEVER
        if not self.known.admits(reply.location):
            failed = Failed(reply.ticket, "skipped", f"{reply.location} is out of scope")
        elif (target := self.known.moved(url, reply.location, now)) == url or hops > MOST_HOPS:
            failed = Failed(reply.ticket, "redirect", f"to {reply.location}")
        else:
            self.known.leads(url, target, lasting=reply.status in (301, 308))
            here = target in self._pages or target in self._queue
            busy = any(target == other for other, _ in self._flights.values())
            if not (here or busy or stranger):
                if self._steady is not None:
                    self._steady.redirected(url, now)
                if url == self._step:
                    self._step = target
                self._again.append((reply.ticket, target, hops))
                return Deferred(reply.ticket, reply.location, now, f"redirect {reply.status}")
            failed = Failed(reply.ticket, "duplicate", f"redirects to {reply.location}")
        self.counts.failed += 1
        self.known.separate(url)
        if self._steady is not None:
            self._steady.end_step(url, [], self._revised(), now)
        elif not (self._queue or self._flights or self._again):
            self._end_step(now)
        return Outcome(Choice(url), failed, None, 0.0)

    def _end_step(self, now: float) -> None:
        if self._step < 0:
            return
        step, links, pages = self._step, self._links, self._pages
        self._step, self._links, self._pages = -1, [], []
        pages = [*pages, *self._revised()]
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
            **self.compactions.save(),
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
        self.compactions.load(state)
        self.known.load(state["known"])
        self.crew.load(state["crew"])
        self.frontier.load(state["hosts"])
        if not self.frontier.always_free:
            for url, _ in self._flights.values():
                self.frontier.occupy(self.known.hosts[url])

    def reissue(self, now: float) -> int:
        """After a load in a new process: repeat the requests that were lost with the old one.
        Returns their number.

        Every host is left alone for its full delay: the time of its last request is unknown.
        """
        hosts, lost = self.frontier, list(self._flights.items())
        hosts.restarted()
        for ticket, (url, hops) in lost:
            if not hosts.always_free:
                hosts.settle(self.known.hosts[url], now)
            self._again.append((ticket, url, hops))
        for host in self.known.names():
            delay = hosts.delay(host)
            if delay:
                hosts.hold(host, now + delay)
        self._flights = {}
        return len(lost)
