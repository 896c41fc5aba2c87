"""Policies that fetch links of one kind before others: the sitemaps of a host, and the pages of an
earlier run."""

from __future__ import annotations

from collections import Counter

from spoor.protocols import Offer, Policy
from spoor.types import Choice, InLinks, LinkId, Outcome, State
from spoor.web.revisits import KIND
from spoor.web.sitemaps import MAX_SITEMAPS, WHY
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
                self._open[link.link] = None
        self.policy.observe(seen)

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


class EarlierFirst(SitemapsFirst):
    """Chooses the pages that an earlier run has first, in their order."""

    links = KIND
    most = 1 << 62
    why = (("an earlier run has it", 1.0),)
