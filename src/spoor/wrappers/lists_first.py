"""Policies that fetch links of some kinds before others: the sitemaps of a host, its search index
and what its own search answers, and the pages of an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spoor.protocols import Offer, Policy
from spoor.types import Choice, InLink, InLinks, LinkId, Outcome, State
from spoor.web import held_lists, search_answers, search_indexes
from spoor.web.revisits import KIND
from spoor.web.sitemaps import MAX_SITEMAPS, WHY
from spoor.wrapping import Wrapper

Reasons = tuple[tuple[str, float], ...]

_MAX_CHECKED = 64
"""Sitemaps that one call of `choose` looks for in the offer."""


class SitemapsFirst(Wrapper):
    """Chooses open sitemaps first, at most `MAX_SITEMAPS` a host; the wrapped policy chooses, and
    learns from, all other links."""

    kind = Policy
    reasons: Mapping[str, Reasons] = {"sitemap": WHY}
    """Kinds of the links that come first, and why each is chosen."""
    most = MAX_SITEMAPS
    """Of a host."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._open: dict[LinkId, None] = {}
        self._hosts: Counter[str] = Counter()
        self._chosen: set[LinkId] = set()
        self.hold(policy)

    def observe(self, seen: InLinks) -> None:
        for link in seen.of_kinds(self.reasons):
            if link.first and self._hosts[link.host] < self.most:
                self._hosts[link.host] += 1
                self._enter(link)
        self.policy.observe(seen)

    def _enter(self, link: InLink) -> None:
        """A link that comes first was found."""
        self._open[link.link] = None

    def _why(self, link: LinkId) -> Reasons:
        """Why one of them is chosen."""
        return next(iter(self.reasons.values()))

    def choose(self, offer: Offer) -> Choice:
        for _, link in zip(range(_MAX_CHECKED), self._open, strict=False):
            if link in offer:
                del self._open[link]
                self._chosen.add(link)
                return Choice(link, None, self._why(link))
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


class SearchesFirst(SitemapsFirst):
    """Chooses search indexes, and what the search of a site answers, as soon as they may be asked
    for (`spoor.web.held_lists`)."""

    reasons: Mapping[str, Reasons] = {
        "index": search_indexes.WHY,
        search_answers.KIND: search_answers.WHY,
    }
    most = held_lists.MOST

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._kinds: dict[LinkId, str] = {}
        """Of those that were not asked for."""

    def _enter(self, link: InLink) -> None:
        super()._enter(link)
        self._kinds[link.link] = link.kind

    def _why(self, link: LinkId) -> Reasons:
        return self.reasons[self._kinds[link]]

    def choose(self, offer: Offer) -> Choice:
        choice = super().choose(offer)
        if choice.link in self._kinds:  # also where the wrapped policy came to it
            choice = replace(choice, why=self._why(choice.link))
            del self._kinds[choice.link]
            self._chosen.add(choice.link)
        return choice

    def save(self) -> State:
        return {**super().save(), "kinds": [[*row] for row in self._kinds.items()]}

    def load(self, state: State) -> None:
        kinds = dict(map(tuple, state["kinds"]))
        if not (kinds.keys() >= set(state["open"]) and {*kinds.values()} <= self.reasons.keys()):
            raise ValueError("an open list has no kind")
        self._kinds = kinds
        super().load(state)


class EarlierFirst(SitemapsFirst):
    """Chooses the pages that an earlier run has first, in their order."""

    reasons: Mapping[str, Reasons] = {KIND: (("an earlier run has it", 1.0),)}
    most = 1 << 62
