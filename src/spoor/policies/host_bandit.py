"""A bandit over hosts, then the best link of the host by an on-line classifier.

Anthelion: Meusel, Mika and Blanco (2014), "Focused crawling for structured data", CIKM. Card:
docs/algorithms/host-bandit.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Any

from spoor.bounded import BoundedDict
from spoor.learn.link_words import url_words
from spoor.learn.merging import distinct, same_counts
from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import GENERATOR, PART, VALUE, Form, Saved, attributes, rows
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Judgement, LinkId, Outcome, Page, State, Task
from spoor.web.text import tokens

CHECKS = 8
"""Links of a host that are revalued, at most, before its best is chosen."""
TITLE = 8


def _save_received(received: tuple[dict[str, list[int]], list[int]]) -> list[Any]:
    counts, pages = received
    return [[[feature, *row] for feature, row in counts.items()], list(pages)]


def _load_received(_: Any, saved: Any) -> tuple[dict[str, list[int]], list[int]]:
    counts, pages = saved
    return {feature: list(row) for feature, *row in counts}, list(pages)


@dataclass(eq=False)
class HostBandit(Saved):
    """A random host with decaying probability, else the host with the best share of successes; then
    its link with the highest odds of relevance.

    `lam`: chance of a random host at the beginning, which is halved after `half` choices.
    """

    task: InitVar[Task]
    _: KW_ONLY
    lam: float = between(0, 1, 0.5)
    half: int = at_least(1, 1_000)

    SAVED = attributes(
        _received=Form(_save_received, _load_received),
        _rng=GENERATOR,
        _queue=PART,
        _choices=VALUE,
        _hosts=rows(list),
        _of=rows(),
        _counts=rows(list),
        _pages=VALUE,
        _done=rows(),
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("host-bandit", self)
        self._rng = task.rng
        self._queue = PriorityQueue()
        self._choices = 0
        self._hosts: dict[str, list[float]] = {}
        """Pages fetched and successes of each host."""
        self._of: dict[LinkId, tuple[str, Sequence[str]]] = {}
        """Host and features of the links that are open or in flight."""
        self._counts: dict[str, list[int]] = {}
        """Feature → number of irrelevant pages with it, and of relevant ones."""
        self._pages = [0, 0]
        self._done = BoundedDict[LinkId, tuple[str, Sequence[str], float, bool]]()
        """Of the pages learned from last: host, features, reward, whether it was relevant."""
        self._received: tuple[dict[str, list[int]], list[int]] = ({}, [0, 0])
        """What other shards counted, which `_counts` and `_pages` include."""

    # -- which link: on-line naive Bayes over the URL and the page of the link

    def observe(self, seen: InLinks) -> None:
        context = _context(seen.page, seen.parent_score)
        for link, url, host, first in zip(
            seen.links, seen.urls, seen.hosts, seen.first, strict=True
        ):
            if first:
                words = dict.fromkeys(url_words(url))
                features = (*(f"URL ‘{word}’" for word in words), *context)
                self._of[link] = (host, features)
                self._queue.push(link, host, self._odds(features))

    def _odds(self, features: Sequence[str]) -> float:
        """ln P(relevant | features) / P(irrelevant | features).

        Shares are drawn towards that among all pages (the m-estimate, m = 1), so that a rare
        feature says little; with Laplace's rule it would speak for the rarer class.
        """
        bad, good = self._pages
        odds = math.log((good + 1) / (bad + 1))
        if not good:
            return odds  # no relevant page is known yet
        for feature in features:
            against, speaks = self._counts.get(feature, [0, 0])
            share = (against + speaks + 1) / (bad + good + 2)
            odds += math.log((speaks + share) / (good + 1))
            odds -= math.log((against + share) / (bad + 1))
        return odds

    # -- which host: the λ-decayed bandit

    def choose(self, offer: Offer) -> Choice:
        # The order of a set differs between processes.
        hosts = sorted(offer.hosts())
        lam = self.lam * self.half / (self.half + self._choices)
        self._choices += 1
        best = max(hosts, key=self._rate)  # the first of those that are equal
        host = hosts[int(self._rng.integers(len(hosts)))] if self._rng.random() < lam else best
        link, odds = self._best(host, offer)
        probability = lam / len(hosts) + (1.0 - lam if host == best else 0.0)
        self._queue.discard(link)
        why = (("relevant pages a page of its host", self._rate(host)), ("log-odds", odds))
        return Choice(link, probability, why)

    def _rate(self, host: str) -> float:
        """Share of successes; a host begins with one page of the average host."""
        tried, relevant = self._hosts.get(host, (0.0, 0.0))
        mean = (self._pages[1] + 1) / (sum(self._pages) + 2)
        return (relevant + mean) / (tried + 1.0)

    def _best(self, host: str, offer: Offer) -> tuple[LinkId, float]:
        for _ in range(CHECKS):
            link, old = self._queue.best(host, offer)
            odds = self._odds(self._of[link][1])
            self._queue.push(link, host, odds)
            if odds >= old:
                break
        return self._queue.best(host, offer)

    # -- learning

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        host, features = self._of.pop(link)
        counts = self._hosts.setdefault(host, [0.0, 0.0])
        counts[0] += 1.0
        counts[1] += outcome.reward
        if outcome.judgement is None:
            return
        relevant = outcome.judgement.relevant
        self._pages[relevant] += 1
        for feature in features:
            self._counts.setdefault(feature, [0, 0])[relevant] += 1
        self._done[link] = (host, features, outcome.reward, relevant)

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """The page is counted as what a person says that it is."""
        if link not in self._done:
            return
        host, features, reward, relevant = self._done[link]
        self._hosts[host][1] += after.reward - reward
        self._pages[relevant] -= 1
        self._pages[after.relevant] += 1
        for feature in features:
            self._counts[feature][relevant] -= 1
            self._counts[feature][after.relevant] += 1
        self._done[link] = (host, features, after.reward, after.relevant)

    # -- what shards share

    def share(self) -> State:
        """Its own counts; the rewards of its hosts are of no use to other shards."""
        return {**_own_of(self.save()), "received": [[], [0, 0]]}

    def merge(self, others: Sequence[State]) -> None:
        """Count with what others counted, in the place of what they shared before."""
        own = self.share()
        states = distinct(own, map(_own_of, others), same_counts)
        counts: dict[str, list[int]] = {}
        pages = [0, 0]
        for state in states:
            _add(counts, pages, state)
        self._received = (counts, pages)
        self._counts = {feature: list(row) for feature, row in counts.items()}
        self._pages = list(pages)
        _add(self._counts, self._pages, own)


_NONE = (0, 0)


def _own_of(state: State) -> State:
    """What a state of `share` or `save` holds that its policy counted itself."""
    counts, its_pages = state["received"]
    received = {feature: row for feature, *row in counts}
    own = [
        [feature, bad - received.get(feature, _NONE)[0], good - received.get(feature, _NONE)[1]]
        for feature, bad, good in state["counts"]
    ]
    pages = [mine - other for mine, other in zip(state["pages"], its_pages, strict=True)]
    return {"counts": sorted(row for row in own if row[1] or row[2]), "pages": pages}


def _add(counts: dict[str, list[int]], pages: list[int], state: State) -> None:
    for feature, bad, good in state["counts"]:
        row = counts.setdefault(feature, [0, 0])
        row[0] += bad
        row[1] += good
    for index, count in enumerate(state["pages"]):
        pages[index] += count


def _context(page: Page | None, score: float) -> tuple[str, ...]:
    """Features of the page of a link: the tenth of its score, and words of its title."""
    words = dict.fromkeys(tokens(page.title)[:TITLE]) if page else {}
    return (f"page of score {round(10 * score)}", *(f"page ‘{word}’" for word in words))
