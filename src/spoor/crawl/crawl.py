"""The crawl as a pure object: no I/O, no clock, no hidden randomness.

A driver asks `next(now)` what to do and hands every reply to `receive(reply, now)`; the replay lab,
the live crawler, a Scrapy project and every shard of a distributed crawl run these same lines.
`spoor.protocols` lists the laws that it keeps.

A URL's life: *open* (known) → *taken* (chosen, a ticket is out) → *fetched* (judged, its policy
has learned) → *expanded* (its links are known). For most policies fetched is expanded at once; a
policy that looks ahead says later which fetched page to expand. A redirect or a retry returns to
the frontier and is requested again under the same ticket once its host is free, so that every hop
waits for the host's delay; the policy still learns from its Choice once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spoor.crawl.flight import Counts, Flight, Flights
from spoor.crawl.link_entry import LinkEntry
from spoor.crawl.page_budget import PageBudget
from spoor.crawl.plugin_calls import call_plugin, choose, judge_page
from spoor.crawl.redirect_chains import Hops
from spoor.crawl.skip_turns import SkipTurns
from spoor.crawl.verdicts import Verdicts
from spoor.errors import CallerError, InputError, PluginError
from spoor.learn.known_links import knowing
from spoor.learn.state import page_row, revive_page
from spoor.protocols import (
    BoundsSlowHosts,
    Frontier,
    Judge,
    LeavesOutViews,
    LinkFilter,
    ListsHosts,
    LookAhead,
    Outbox,
    Policy,
    Rejudges,
    Relearns,
    Stateful,
    TakesLabels,
    UsesOpenLinks,
)
from spoor.types import (
    NO_PARENT,
    Choice,
    Deferred,
    Failed,
    Fetch,
    Finished,
    Judgement,
    Link,
    LinkBatch,
    LinkId,
    LiveReply,
    NextStep,
    NotModified,
    Outcome,
    Page,
    Redirected,
    Revision,
    Sleep,
    Starved,
    State,
)
from spoor.web.urls import domain_of

FORMAT = 10
"""Format number of a saved crawl; it covers the policy's state too."""

NO_LINK = "no open link left"
"""Why a crawl ends that has nothing to ask for."""

LONG_WAIT = 60.0
"""A request that has to wait longer than this (seconds) gives its place in the page budget to
others."""

_CROSSINGS = 3
"""Redirects from one domain to another that a link may follow; a third of `max_hops` if that is
more. On each domain the count of `max_hops` starts anew, so that no host's redirects count against
another's; where the domain itself links to the URL, so does this one."""

_ATTEMPTS_OF_TWO = 2
"""Requests for a URL in place of which another one may be asked for (`Failed.instead`)."""

_SKIPS = 32
"""Chosen links that one call of `next` may skip, so that no call takes long."""


class Crawl:
    """One crawl: a policy, a judge and a frontier, whose protocols it checks.

    `pages` is the budget of fetched pages, which is never exceeded, however many requests are in
    flight; None: no limit. Each request in flight has a place in it, so that none is made in vain.
    With `late_after`, one that takes longer than this (seconds) gives its place to others, so that
    a slow host does not hold up the end of a crawl: its page counts if it comes before the budget
    is used, and `Finished` may come while requests are in flight, whose replies then are not
    received. After a transient failure a link is requested again, up to `attempts`
    requests in all: after `backoff` seconds, doubled each time, or after the time that the host
    asked for. `admit` picks the links of a page that may enter the frontier (scope, depth,
    nofollow); None admits all. A `link_filter` does that too, and also rejects chosen links: the
    policy learns that they gave no page. An `outbox` makes this crawl one shard of several: it
    sends links to hosts of other shards, and `enter` receives theirs.

    Raises PluginError where a policy or judge breaks its protocol, CallerError where the driver
    does.
    """

    def __init__(
        self,
        policy: Policy,
        judge: Judge,
        frontier: Frontier,
        *,
        pages: int | None = None,
        attempts: int = 3,
        backoff: float = 5.0,
        max_hops: int = 10,
        late_after: float = math.inf,
        admit: Callable[[Page, int], Sequence[Link]] | None = None,
        link_filter: LinkFilter | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self.policy = policy
        self.judge = judge
        self._relearns = policy if isinstance(policy, Relearns) else None
        self.counts = Counts()
        self._attempts = attempts
        self._backoff = backoff
        self._max_hops = max_hops
        self._budget = PageBudget(pages, late_after)
        self.link_filter = link_filter
        self.outbox = outbox
        self._entry = LinkEntry(
            frontier,
            lambda seen: self._call("observe", self.policy.observe, seen),
            admit=admit,
            link_filter=link_filter,
            outbox=outbox,
        )
        self._shards = self._entry.shards
        self._flights = Flights()
        self._skips = SkipTurns()
        self._held: dict[LinkId, tuple[Page, float]] = {}
        self._looks_ahead = isinstance(policy, LookAhead) and policy.look_ahead
        self._verdicts: Verdicts | None = None
        if isinstance(judge, Rejudges):
            self._verdicts = Verdicts(judge, lambda url: self.frontier.find(url))
        self.on_revisions: Callable[[Sequence[Revision]], None] = lambda revisions: None
        """Called with the judge's revisions, within a call of the driver."""
        if isinstance(policy, UsesOpenLinks):
            policy.attach(frontier)
        if link_filter is not None and isinstance(judge, LeavesOutViews):
            judge.views_by(link_filter.view_of)

    @property
    def pages(self) -> int | None:
        """The budget of pages, which may be set; None: no limit."""
        return self._budget.pages

    @pages.setter
    def pages(self, pages: int | None) -> None:
        self._budget.pages = pages

    @property
    def frontier(self) -> Frontier:
        """The known, open and requested links. May be set to another frontier that holds the
        same."""
        return self._entry.frontier

    @frontier.setter
    def frontier(self, frontier: Frontier) -> None:
        self._entry.go_on_with(frontier)

    # -- the two calls of a driver

    def seed(self, urls: Iterable[str | Link]) -> int:
        """Enter canonical URLs as seeds, or links with words of their own; returns how many were
        new. Seeds that other shards own are left to them."""
        return self._entry.seed(urls)

    def reopen_seeds(self, urls: Iterable[str]) -> None:
        """Open the seeds again if no page ever came and nothing is left to request: what failed
        before may work now."""
        if self.counts.pages or self._flights or self.frontier.open_count:
            return
        self._entry.seed_again(urls)

    def next(self, now: float) -> NextStep:
        """The next step. `now`: seconds of any clock that never goes back."""
        skips = 0
        if self._verdicts is not None and self._verdicts.labelled:
            self.revise()
        while True:
            used = self._budget.used(self.counts.pages, self._flights)
            if used and self._flights.give_way(now, self._budget.late_after):
                continue
            if used and self._flights and not self._budget.awaits(self.counts.pages, self._flights):
                self._leave(self._flights.oldest(), now)
                continue
            over = not self._flights and (used or not self._has_more())
            if over and not self._goes_on_with_held(used):
                if self.outbox is None:  # a shard may go on whenever another one sends links
                    self.revise()
                    if self._goes_on_with_held(used):  # a host has not had its finds after all
                        continue
                return self._finish()
            link = self.frontier.due(now)
            if link is not None:
                away = self._flights.of(link)[1].away
                if away and used and not self._budget.has_late:
                    self._leave(link, now)
                    continue
                return self._request_again(link, now)
            if used:
                return self._wait(now, may_choose=False)
            offer = self.frontier.offer(now)
            if len(offer):
                choice = choose(self.policy, offer)
                url = self.frontier.url(choice.link)
                why = self._entry.skip_reason(choice.link, url)
                if not why:
                    return self._fetch(choice, now)
                self._skip(choice, url, why, now)
                skips += 1
                if skips == _SKIPS:
                    return Sleep(now)
                continue
            if not self._flights and self._skips.wake(self.frontier, now):
                continue
            if not (self._held and not self._flights and not self.frontier.open_count):
                return self._wait(now, may_choose=True)
            self._expand_held()

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        """Process the reply to a Fetch; replies may arrive in any order.

        Returns the Outcome that the policy learned from, or Deferred where the ticket will be
        requested again. Raises CallerError for a ticket that is not in flight.
        """
        flight = self._flights.get(reply.ticket)
        if flight is None or not flight.flying:
            raise CallerError(f"ticket {reply.ticket} is not in flight: each is answered once")
        if isinstance(reply, Redirected):
            return self._redirected(reply, flight, now)
        if isinstance(reply, NotModified):
            self.counts.unchanged += 1
            reply = reply.as_failed()
        if isinstance(reply, Failed):
            return self._failed(reply, flight, now)
        if self._budget.spent(self.counts.pages):
            return self._leave(flight.link, now)
        self.frontier.settle(flight.link, now)
        self._flights.end(reply.ticket)
        self._entry.chains.ended(flight.link)
        judgement = judge_page(self.judge, reply.page)
        counts = self.counts
        counts.pages += 1
        counts.relevant += judgement.relevant
        counts.reward += judgement.reward
        if self._looks_ahead:
            self._held[flight.link] = (reply.page, judgement.of_links)
        else:
            self._expand(reply.page, flight.link, judgement.of_links)
        outcome = self._learn(Outcome(flight.choice, reply, judgement, judgement.reward))
        if self._verdicts is not None:
            self._verdicts.note(flight.link, reply.ticket, judgement)
            if self._verdicts.due(counts.pages):
                self.revise()
        return outcome

    # -- what a driver may also want

    def relabel(self, url: str, before: Judgement, after: Judgement) -> None:
        """Replace the judgement `before` of a fetched page by a person's judgement, `after`; the
        driver keeps the judgements. The policy relearns if it can, and so does the judge, which
        then judges other pages anew before the next choice.

        Raises CallerError for an unknown URL.
        """
        link = self.frontier.find(url)
        if link is None:
            raise CallerError(f"{url} cannot be judged again: it is not known")
        self._judged_anew(link, before, after)
        if isinstance(self.judge, TakesLabels):
            call_plugin(self.judge, "label", self.judge.label, url, after.relevant)
        if self._verdicts is not None:
            self._verdicts.label(link, after)

    def revise(self) -> None:
        """Apply what the judge says differently since the last call. `next` and `receive` call it
        at set points; a driver that leaves a crawl before its end calls it too."""
        if self._verdicts is not None and (found := self._verdicts.revise(self.counts.pages)):
            for revision in found:
                self._judged_anew(revision.link, revision.before, revision.after)
            self.on_revisions(found)

    def _judged_anew(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        self.counts.relevant += after.relevant - before.relevant
        self.counts.reward += after.reward - before.reward
        if link in self._held:
            self._held[link] = (self._held[link][0], after.of_links)
        if self.link_filter is not None and after.relevant != before.relevant:
            self.link_filter.judged_anew(self.frontier.url(link), relevant=after.relevant)
        if self._relearns is not None and before != after:
            self._call("relearn", self._relearns.relearn, link, before, after)

    def foreign(self, ticket: int) -> bool:
        """Whether only pages of other domains link to what this ticket in flight requests."""
        flight = self._flights[ticket]
        if flight.crossed:
            return self.frontier.depth(flight.link) > 0
        domain = domain_of(self.frontier.url(flight.link))
        parents = {seen.parent for seen in self.frontier.in_links(flight.link)}
        return bool(parents) and not any(
            parent == NO_PARENT or domain_of(self.frontier.url(parent)) == domain
            for parent in parents
        )

    def enter(self, batch: LinkBatch) -> int:
        """Enter the links that another shard sent; returns how many were new."""
        new = self._entry.batch(batch)
        if not self._has_more():  # what came may have brought near what was too deep
            self._entry.release(over=True, last=False)
        return new

    def enter_more(self, page: Page, link: LinkId, score: float) -> None:
        """Enter more links of a page that was received before: those of `page`, for a driver that
        enters thousands little by little. `link`: the page's own; `score`: the page's. To the link
        filter it is one more page: not for one with traps or a depth."""
        self._entry.page(page, link, score)

    def is_held(self, link: LinkId) -> bool:
        """Whether the page of this link is fetched, and the policy has yet to expand it."""
        return link in self._held

    def last_resort(self) -> None:
        """No shard has an open link, and the crawl would end: enter what the filter keeps for
        that. Without shards, `next` does so."""
        if not self._has_more():
            self._entry.release(over=True, last=True)

    def split(self, now: float) -> int:
        """Send everything that `outbox` no longer owns to its new shards, after the hosts were
        divided anew. Open links leave with their in-links. Tickets end, and their links leave too.
        Hosts that are to be left alone are told with the seconds that are left.
        URLs that are done are sent by name, so that no shard requests them again. Returns how many
        links left.
        """
        outbox, frontier = self.outbox, self.frontier
        assert outbox is not None
        assert self._shards is not None
        if isinstance(frontier, ListsHosts):
            rests = ((name, free_at - now) for name, *_, free_at in frontier.hosts())
            outbox.rest((name, rest) for name, rest in rests if 0.0 < rest < math.inf)
        left = self._entry.leave()
        for ticket, flight in self._flights.items():
            if not outbox.owns(url := frontier.url(flight.link)):
                crossed, _ = self._entry.chains.counted(flight.link) or Hops(flight.crossed)
                self._shards.send(flight.link, url, crossed)
                left.add(flight.link)
                if not flight.flying:
                    frontier.take(flight.link, now)
                frontier.settle(flight.link, now)
                self._end_without_page(
                    Failed(ticket, "cancelled", "its host is another shard's now"), flight
                )
        count = self._shards.send_open(left)
        self._entry.move()
        self._entry.chains.leave(outbox.owns)
        return count

    @property
    def revisions(self) -> int:
        """How often the judge has judged a page anew."""
        return 0 if self._verdicts is None else self._verdicts.revisions

    @property
    def in_flight(self) -> int:
        """Tickets in flight, including those that wait for another request."""
        return len(self._flights)

    @property
    def unexpanded(self) -> int:
        """Fetched pages that are not expanded yet."""
        return len(self._held)

    def chosen(self) -> list[tuple[str, Choice]]:
        """URL and Choice of every ticket in flight, oldest first."""
        return [(self.frontier.url(flight.link), flight.choice) for flight in self._flights]

    def path(self, link: LinkId) -> list[str]:
        """URLs from a seed to this link, along the pages on which each was first seen; of a long
        path the last ones (see `path_to`)."""
        return self._entry.path(link)

    def save(self) -> State:
        """The state of the crawl, tickets in flight included."""
        held = {
            str(link): {"page": page_row(page), "score": score}
            for link, (page, score) in self._held.items()
        }
        counts = self.counts
        sent = {"away": [], "came": []} if self._shards is None else self._shards.save()
        return {
            "format": FORMAT,
            "counts": {name: getattr(counts, name) for name in Counts.__slots__},
            "held": held,
            "frontier": self.frontier.save(),
            "policy": self.policy.save(),
            "judge": self.judge.save() if isinstance(self.judge, Stateful) else None,
            "link_filter": None if self.link_filter is None else self.link_filter.save(),
            "outbox": None if self.outbox is None else self.outbox.save(),
            **self._flights.save(),
            **sent,
            **({"skips": self._skips.save()} if self._skips else {}),
            **({} if self._verdicts is None else {"verdicts": self._verdicts.save()}),
            "redirect_chains": self._entry.chains.save(),
        }

    def load(self, state: State) -> None:
        """Continue a saved crawl; policy, judge and frontier must be made with its settings.

        Raises InputError for a crawl that another version saved.
        """
        if state["format"] != FORMAT:
            raise InputError(
                f"the saved crawl is of format {state['format']}; this Spoor reads {FORMAT}; go on "
                "with the version that began it"
            )
        self.frontier.load(state["frontier"])
        if isinstance(self.judge, Stateful):
            self.judge.load(state["judge"])
        if self._verdicts is not None:
            if "verdicts" not in state:
                raise InputError(
                    "the judge of the saved crawl never judged a page anew, as this one does; "
                    "go on with the version and topic that began it"
                )
            links = state["verdicts"]["links"]
            if len(links):
                self.frontier.url(int(links.max()))  # a link that is not known has no verdict
            self._verdicts.load(state["verdicts"])
        if self.link_filter is not None:
            self.link_filter.load(state["link_filter"])
        if self.outbox is not None:
            self.outbox.load(state["outbox"])
            self.pages = self.outbox.grant
        if self._shards is not None:
            self._shards.load(state)
        counts = {name: int(count) for name, count in state["counts"].items() if name != "reward"}
        if min(counts.values()) < 0:
            raise ValueError("a count is below 0")
        self.counts = Counts(**counts, reward=float(state["counts"]["reward"]))
        self._held = {
            int(link): (revive_page(held["page"]), held["score"])
            for link, held in state["held"].items()
        }
        self._flights.load(state)
        if "skips" in state:
            self._skips.load(state["skips"])
        self._entry.chains.load(state["redirect_chains"])
        if isinstance(self.policy, UsesOpenLinks):
            self.policy.attach(self.frontier)
        with knowing(self.frontier.url):
            self.policy.load(state["policy"])

    def reissue(self, now: float) -> int:
        """Request every ticket in flight again, each host's delay from `now` on: after a load in a
        new process, since the requests ended with the old one. Returns how many there are."""
        lost = [flight for flight in self._flights if flight.flying]
        for flight in lost:
            flight.flying = False
            self.frontier.settle(flight.link, now, now)
        return len(lost)

    # -- inside

    def _fetch(self, choice: Choice, now: float) -> Fetch:
        url, host = self.frontier.take(choice.link, now)
        crossed = 0 if self._shards is None else self._shards.crossed(choice.link)
        crossed, hops = self._entry.chains.counted(choice.link) or Hops(crossed)
        flight = Flight(choice.link, choice, hops=hops, crossed=crossed, since=now)
        ticket = self._flights.begin(flight)
        self.counts.requests += 1
        self._skips.ask(url, now)
        return Fetch(ticket, url, host, choice)

    def _skip(self, choice: Choice, url: str, why: str, now: float) -> None:
        self._entry.drop(choice.link, url)
        until = self._skips.skip(url, now)
        if until > now and (
            self._skips.others(url, now) or len(self.frontier.offer(now).hosts()) > 1
        ):
            self._skips.rest(self.frontier, url, now, until)
        self.counts.skipped += 1
        failed = Failed(self._flights.new_ticket(), "skipped", why)
        self._call("learn", self.policy.learn, Outcome(choice, failed, None, 0.0))

    def _goes_on_with_held(self, used: bool) -> bool:
        """Enter links that the filter held back; whether there are any. A shard does so once it has
        no others, also if its grant is used: it gets another one only if it has open links. What
        is kept for the end of the whole crawl then waits for `last_resort`."""
        if used and (self.outbox is None or self._has_more()):
            return False
        return self._entry.release(over=True, last=self.outbox is None)

    def _finish(self) -> Finished:
        if self.pages is not None and self.counts.pages >= self.pages:
            return Finished(f"budget of {self.pages} pages reached")
        return Finished(NO_LINK)

    def _wait(self, now: float, *, may_choose: bool) -> Sleep | Starved:
        """Wait for the next free host; without `may_choose`, for the next ticket only."""
        until = self.frontier.next_ready(now) if may_choose else self.frontier.next_due(now)
        late = math.inf if may_choose else self._budget.next_late(self._flights)
        if late < math.inf:
            until = late if until is None else min(until, late)
        return Starved() if until is None else Sleep(until)

    def _leave(self, link: LinkId, now: float) -> Outcome:
        """End a flight that waits long, since the budget is used."""
        ticket, flight = self._flights.of(link)
        found = self.frontier.in_links(link)
        if not flight.flying:
            self.frontier.take(link, now)
        self.frontier.settle(link, now)
        reason = "it had to wait for its host, and the crawl was done meanwhile"
        outcome = self._end_without_page(Failed(ticket, "cancelled", reason), flight)
        # Open again: a larger budget can go on with it.
        if found:
            self._entry.again(link, found[0])
        return outcome

    def _request_again(self, link: LinkId, now: float) -> Fetch:
        ticket, flight = self._flights.of(link)
        self._flights.again(flight, now, away=flight.away and self._budget.has_late)
        url, host = self.frontier.take(link, now)
        self.counts.requests += 1
        return Fetch(ticket, url, host, flight.choice, flight.attempt)

    def _redirected(self, reply: Redirected, flight: Flight, now: float) -> Outcome | Deferred:
        chains, link, known = self._entry.chains, flight.link, self.frontier.find(reply.location)
        leaves = self._shards is not None and not self._shards.owns(reply.location)
        crosses = leaves or domain_of(reply.location) != domain_of(self.frontier.url(link))
        # A seed may redirect anywhere at once, and a shard makes no redirect wait.
        stranger = crosses and self.outbox is None and self.frontier.depth(link) > 0
        flight.crossed, flight.hops = chains.counted(link) or Hops(flight.crossed, flight.hops)
        flight.redirected(crosses=crosses)
        hops = Hops(flight.crossed, flight.hops)
        found = self.frontier.in_links(link)[:1] if reply.location in chains else ()
        if flight.crossed > (most := max(_CROSSINGS, self._max_hops // 3)):
            self.frontier.settle(link, now)
            failed = Failed(
                reply.ticket,
                "redirect",
                f"more than {most} redirects to another domain{' or shard' * leaves}",
            )
            chains.too_many(link)
        elif flight.hops > self._max_hops:
            self.frontier.settle(link, now)
            failed = Failed(reply.ticket, "redirect", f"more than {self._max_hops} redirects")
            chains.too_many(link)
        elif why := self._entry.skip_reason(link, reply.location):
            self._entry.redirect_dropped(link, reply.location)
            if not self.frontier.depth(link):  # a seed: whoever gave it wants to know
                why = f"it redirects to {reply.location}, which is left out by {why}"
            self.frontier.settle(link, now)
            failed = Failed(reply.ticket, "skipped", why)
        elif leaves and self._shards is not None:
            self._shards.send(link, reply.location, flight.crossed)
            self.frontier.settle(link, now)
            failed = Failed(reply.ticket, "moved", f"{reply.location} is another shard's")
        elif self._follows(link, reply.location, now, known, stranger=stranger):
            self._flights.park(flight, away=stranger)
            if known is not None:  # its link was open, and this one takes its place
                hops = hops.least(self._entry.taken_over(known))
            chains.follow(link, reply.location, hops, crosses=crosses)
            return Deferred(reply.ticket, reply.location, now, f"redirect {reply.status}")
        else:
            failed = Failed(
                reply.ticket, "duplicate", f"redirects to {reply.location}, known already"
            )
            if found and known != link:
                chains.too_many(link)  # as that one's may be, or may become
                self._entry.led_to(reply.location, found[0], hops)
        return self._end_without_page(failed, flight)

    def _follows(
        self, link: LinkId, url: str, now: float, known: LinkId | None, *, stranger: bool
    ) -> bool:
        """Redirect a link to a URL, which is the `known` link's if there is one; whether it goes
        on from there. If not, it is done."""
        if known is not None and self.frontier.url(known) != url:
            self.frontier.settle(link, now)  # that one was there, and has gone on
            return False
        return self.frontier.redirect(link, url, now, stranger=stranger)

    def _failed(self, reply: Failed, flight: Flight, now: float) -> Outcome | Deferred:
        url = self.frontier.url(flight.link)
        gives_way = False
        if reply.unanswered and isinstance(self.frontier, BoundsSlowHosts):
            gives_way = self.frontier.no_answer(flight.link, now)
        flight.tries -= reply.kind == "later"
        attempts = min(self._attempts, _ATTEMPTS_OF_TWO) if reply.instead else self._attempts
        if reply.transient and flight.tries < attempts:
            wait = self._backoff * 2.0 ** (flight.tries - 1)
            until = now + (wait if reply.retry_after is None else max(reply.retry_after, 0.0))
            self.frontier.settle(flight.link, now, until)
            long = gives_way or until > now + LONG_WAIT
            self._flights.park(flight, away=self.outbox is None and long)
            return Deferred(reply.ticket, url, until, reply.reason or reply.kind)
        if reply.instead:
            return self._redirected(Redirected(reply.ticket, reply.instead), flight, now)
        self.frontier.settle(flight.link, now)
        return self._end_without_page(reply, flight)

    def _end_without_page(self, reply: Failed, flight: Flight) -> Outcome:
        self._flights.end(reply.ticket)
        self._entry.chains.ended(flight.link)
        self.counts.failed += reply.counts
        return self._learn(Outcome(flight.choice, reply, None, 0.0))

    def _expand(self, page: Page, link: LinkId, score: float) -> None:
        self.counts.expanded += 1
        self._entry.page(page, link, score)

    def _learn(self, outcome: Outcome) -> Outcome:
        self._entry.ended(outcome)
        self._call("learn", self.policy.learn, outcome)
        # What a shard reports next says that it has more to do.
        over = self.outbox is not None and not self._has_more()
        self._entry.release(over=over, last=False)
        return outcome

    def _has_more(self) -> bool:
        return bool(self._flights or self._held or self.frontier.open_count)

    def judged_before(self) -> None:
        """The judge knows pages of an earlier crawl: its revisions of those are passed over."""
        if self._verdicts is not None:
            self._verdicts.keeps_early = False

    def _expand_held(self) -> None:
        assert isinstance(self.policy, LookAhead)
        link = self._call("expand", self.policy.expand, list(self._held))
        if link not in self._held:
            raise PluginError(
                self.policy, "expand", f"returned {link}, which is not fetched and waiting"
            )
        page, score = self._held.pop(link)
        self._expand(page, link, score)

    def _call(self, name: str, method: Callable[..., Any], *arguments: object) -> Any:
        return call_plugin(self.policy, name, method, *arguments)
