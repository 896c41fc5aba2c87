"""Policies that fetch links of one kind before others: the sitemaps of a host, its search index
where it is poor, and the pages of an earlier run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from spoor.protocols import Offer, Policy
from spoor.types import Choice, Fetched, InLink, InLinks, LinkId, Outcome, State
from spoor.web import search_indexes
from spoor.web.revisits import KIND
from spoor.web.sitemaps import MAX_SITEMAPS, WHY
from spoor.web.urls import host
from spoor.wrapping import Wrapper

_MAX_CHECKED = 64
"""Sitemaps that one call of `choose` looks for in the offer."""


class SitemapsFirst(Wrapper):
    """Chooses open sitemaps first, at most `MAX_SITEMAPS` a host; the wrapped policy chooses, and
    learns from, all other links."""

    kind = Policy
    links = "sitemap"
    """Kind of the links that come first."""
    most = MAX_SITEMAPS
    """Of a host."""
    why = WHY

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._open: dict[LinkId, None] = {}
        self._hosts: Counter[str] = Counter()
        self._chosen: set[LinkId] = set()
        self.hold(policy)

    def observe(self, seen: InLinks) -> None:
        for link in seen:
            if link.kind == self.links and link.first and self._hosts[link.host] < self.most:
                self._hosts[link.host] += 1
                self._enter(link)
        self.policy.observe(seen)

    def _enter(self, link: InLink) -> None:
        """A link of the kind that comes first was found."""
        self._open[link.link] = None

    def choose(self, offer: Offer) -> Choice:
        for _, link in zip(range(_MAX_CHECKED), self._open, strict=False):
            if link in offer:
                del self._open[link]
                self._chosen.add(link)
                return Choice(link, None, self.why)
        choice = self.policy.choose(offer)
        self._open.pop(choice.link, None)
        return choice

    def learn(self, outcome: Outcome) -> None:
        if outcome.choice.link in self._chosen:
            self._chosen.discard(outcome.choice.link)
        else:
            self.policy.learn(outcome)

    def save(self) -> State:
        return {
            "open": list(self._open),
            "hosts": dict(self._hosts),
            "chosen": sorted(self._chosen),
            "policy": self.policy.save(),
        }

    def load(self, state: State) -> None:
        self._open = dict.fromkeys(state["open"])
        self._hosts = Counter(state["hosts"])
        self._chosen = set(state["chosen"])
        self.policy.load(state["policy"])


class IndexWherePoor(SitemapsFirst):
    """Chooses the search index of a host next once `LEAST` of its pages or more have come, the one
    that names the index among them, of which fewer than half are relevant. So a manual whose first
    page leads to what is wanted costs no request more, and one of thousands of pages says where to
    look."""

    links = "index"
    most = 1
    why = search_indexes.WHY
    LEAST = 2

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._waiting: dict[str, tuple[LinkId, int, int]] = {}
        """Host → its index, its pages since that is known, and the relevant ones of these."""
        self._host_of: dict[LinkId, str] = {}
        """Index that was not asked for → its host."""

    def _enter(self, link: InLink) -> None:
        self._waiting[link.host] = link.link, 0, 0
        self._host_of[link.link] = link.host

    def choose(self, offer: Offer) -> Choice:
        choice = super().choose(offer)
        name = self._host_of.pop(choice.link, None)
        if name is None or choice.why == self.why:
            return choice
        self._waiting.pop(name, None)  # the wrapped policy comes to it by itself
        self._chosen.add(choice.link)
        return replace(choice, why=self.why)

    def learn(self, outcome: Outcome) -> None:
        name = host(outcome.reply.page.url) if isinstance(outcome.reply, Fetched) else ""
        if outcome.choice.link not in self._chosen and name in self._waiting:
            link, pages, relevant = self._waiting[name]
            pages += 1
            relevant += outcome.judgement is not None and outcome.judgement.relevant
            self._waiting[name] = link, pages, relevant
            if pages >= self.LEAST and 2 * relevant < pages:
                del self._waiting[name]
                self._open[link] = None
        super().learn(outcome)

    def save(self) -> State:
        return {
            **super().save(),
            "waiting": [[name, *row] for name, row in self._waiting.items()],
            "host_of": [*map(list, self._host_of.items())],
        }

    def load(self, state: State) -> None:
        self._waiting = {
            name: (link, pages, relevant) for name, link, pages, relevant in state["waiting"]
        }
        self._host_of = dict(state["host_of"])
        super().load(state)


class EarlierFirst(SitemapsFirst):
    """Chooses the pages that an earlier run has first, in their order."""

    links = KIND
    most = 1 << 62
    why = (("an earlier run has it", 1.0),)
