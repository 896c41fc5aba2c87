"""Policies that fetch links of some kinds before others: the sitemaps of a host, its search index
and what its own search answers, the page of all its tags, and the pages of an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spoor.link_filter import held_lists
from spoor.link_filter.revisits import KIND
from spoor.protocols import Offer, Policy
from spoor.types import Choice, InLinks, LinkId, Outcome, State
from spoor.web import search_answers, search_indexes
from spoor.web.sitemaps import MAX_SITEMAPS, WHY
from spoor.web.url_groups import lists_tags
from spoor.web.urls import host
from spoor.wrapping import Wrapper

Reasons = tuple[tuple[str, float], ...]

TAG_LISTS = 2
WITHOUT = 8
TAGS_WHY = (("it lists what the site files pages under", 1.0),)
"""Reason of a Choice of one."""
_MOST_HOSTS = 10_000
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
        self._open: dict[LinkId, str] = {}
        """Those that were not asked for, and the kind of each."""
        self._hosts: Counter[str] = Counter()
        self._chosen: set[LinkId] = set()
        self.hold(policy)

    def observe(self, seen: InLinks) -> None:
        for link in seen.of_kinds(self.reasons):
            if link.first and self._hosts[link.host] < self.most:
                self._hosts[link.host] += 1
                self._open[link.link] = link.kind
        self.policy.observe(seen)

    def choose(self, offer: Offer) -> Choice:
        choice = self._first(offer)
        if choice is None:
            choice = self.policy.choose(offer)
            self._open.pop(choice.link, None)
        return choice

    def _first(self, offer: Offer) -> Choice | None:
        """One of those that come first; None where none of them is in the offer."""
        for _, link in zip(range(_MAX_CHECKED), self._open, strict=False):
            if link in offer:
                self._chosen.add(link)
                return Choice(link, None, self.reasons[self._open.pop(link)])
        return None

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
        self._open = dict.fromkeys(state["open"], next(iter(self.reasons)))
        self._hosts = Counter(state["hosts"])
        self._chosen = set(state["chosen"])
        self.policy.load(state["policy"])


class SearchesFirst(SitemapsFirst):
    """Chooses search indexes, what the search of a site answers, and sitemaps, as soon as they may
    be asked for (`spoor.link_filter.held_lists`, `spoor.link_filter.sitemap_shares`); and pages of
    all tags or categories, `TAG_LISTS` of a host, once `WITHOUT` of its pages came of which fewer
    than half are relevant: they say whether the site files anything under what is wanted."""

    reasons: Mapping[str, Reasons] = {
        "sitemap": WHY,
        "index": search_indexes.WHY,
        search_answers.KIND: search_answers.WHY,
    }
    most = held_lists.MOST + MAX_SITEMAPS

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._tag_lists: dict[LinkId, str] = {}
        """Those that were not asked for, and the host of each."""
        self._came: dict[str, list[int]] = {}
        """Host with a page of tags → that are known, pages that came since, relevant ones."""

    def observe(self, seen: InLinks) -> None:
        for at, url in enumerate(seen.urls):
            if seen.first[at] and lists_tags(url) and len(self._came) < _MOST_HOSTS:
                its = self._came.setdefault(seen.hosts[at], [0, 0, 0])
                if its[0] < TAG_LISTS:
                    its[0] += 1
                    self._tag_lists[seen.links[at]] = seen.hosts[at]
        super().observe(seen)

    def learn(self, outcome: Outcome) -> None:
        page, judgement = outcome.page, outcome.judgement
        if page is not None and (its := self._came.get(host(page.url))) is not None:
            its[1] += 1
            its[2] += judgement is not None and judgement.relevant
        super().learn(outcome)

    def _first(self, offer: Offer) -> Choice | None:
        if (choice := super()._first(offer)) is not None:
            return choice
        for _, (link, name) in zip(range(_MAX_CHECKED), self._tag_lists.items(), strict=False):
            _, pages, relevant = self._came[name]
            if pages >= WITHOUT and 2 * relevant < pages and link in offer:
                del self._tag_lists[link]
                self._chosen.add(link)
                return Choice(link, None, TAGS_WHY)
        return None

    def choose(self, offer: Offer) -> Choice:
        choice = self._first(offer)
        if choice is None:
            choice = self.policy.choose(offer)
            self._tag_lists.pop(choice.link, None)
            kind = self._open.pop(choice.link, None)
            if kind is not None:  # the wrapped policy came to it
                self._chosen.add(choice.link)
                choice = replace(choice, why=self.reasons[kind])
        return choice

    def save(self) -> State:
        tags = {"tag_lists": [*self._tag_lists.items()], "came": self._came}
        return {**super().save(), **tags, "kinds": [[*row] for row in self._open.items()]}

    def load(self, state: State) -> None:
        kinds = dict(map(tuple, state["kinds"]))
        if not (kinds.keys() >= set(state["open"]) and {*kinds.values()} <= self.reasons.keys()):
            raise ValueError("an open list has no kind")
        super().load(state)
        self._open = {link: kinds[link] for link in state["open"]}
        self._came = {name: [*its] for name, its in state.get("came", {}).items()}
        self._tag_lists = dict(map(tuple, state.get("tag_lists", ())))
        if not self._came.keys() >= {*self._tag_lists.values()}:
            raise ValueError("a page of tags has no host")


class EarlierFirst(SitemapsFirst):
    """Chooses the pages that an earlier run has first, in their order."""

    reasons: Mapping[str, Reasons] = {KIND: (("an earlier run has it", 1.0),)}
    most = 1 << 62
