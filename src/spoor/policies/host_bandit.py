"""A bandit over hosts, then the best link of the host by an on-line classifier.

Anthelion: Meusel, Mika and Blanco (2014), "Focused crawling for structured data", CIKM. Card:
docs/algorithms/host-bandit.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spoor.learn.bounded_dict import keep
from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.state import generator_state, restore_generator
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Judgement, LinkId, Outcome, Page, State, Task
from spoor.web.text import tokens
from spoor.web.urls import words as url_words

CHECKS = 8
"""Links of a host that are valued anew, at most, before one is believed to be its best."""
TITLE = 8


class HostBandit:
    """With a chance that decays a random host, else the one with the best share of successes; then
    its link of the highest odds to be relevant.

    `lam`: chance of a random host at the beginning, which is halved after `half` choices.
    """

    def __init__(self, task: Task, *, lam: float = 0.5, half: int = 1000) -> None:
        in_range("host-bandit", lam=(lam, 0, 1), half=(half, 1, math.inf))
        self._rng = task.rng
        self._lam = lam
        self._half = half
        self._queue = PriorityQueue()
        self._choices = 0
        self._hosts: dict[str, list[float]] = {}
        """Pages fetched and successes of each host."""
        self._of: dict[LinkId, tuple[str, tuple[str, ...]]] = {}
        """Host and features of the links that are open or in flight."""
        self._counts: dict[str, list[int]] = {}
        """How often each feature stood with irrelevant pages, and with relevant ones."""
        self._pages = [0, 0]
        self._done: dict[LinkId, tuple[str, tuple[str, ...], float, bool]] = {}
        """Of the pages learned from last: host, features, reward, whether it was relevant."""
        self._told: tuple[dict[str, list[int]], list[int]] = ({}, [0, 0])
        """What other shards counted, which is in the two above as well."""

    # -- which link: on-line naive Bayes over the URL and the page it stands on

    def observe(self, seen: InLinks) -> None:
        context = _context(seen.page, seen.parent_score)
        for link, url, host, first in zip(
            seen.links, seen.urls, seen.hosts, seen.first, strict=True
        ):
            if first:
                parts = url_words(url)
                words = (*parts.directories, *parts.file, *parts.query)
                features = (*(f"URL ‘{word}’" for word in dict.fromkeys(words)), *context)
                self._of[link] = (host, features)
                self._queue.push(link, host, self._odds(features))

    def _odds(self, features: tuple[str, ...]) -> float:
        """ln P(relevant | features) / P(irrelevant | features).

        Shares are drawn towards that among all pages (the m-estimate, m = 1), so that a rare
        feature says little; with Laplace's rule it would speak for the rarer class.
        """
        bad, good = self._pages
        odds = math.log((good + 1) / (bad + 1))
        if not good:
            return odds  # nothing is known of what is wanted
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
        lam = self._lam * self._half / (self._half + self._choices)
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
        tried, found = self._hosts.get(host, (0.0, 0.0))
        mean = (self._pages[1] + 1) / (sum(self._pages) + 2)
        return (found + mean) / (tried + 1.0)

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
        keep(self._done, link, (host, features, outcome.reward, relevant))

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

    # -- what shards tell one another

    def share(self) -> State:
        """What it counted itself; how well its hosts do is of use to nobody else."""
        return {**_own_of(self.save()), "told": [[], [0, 0]]}

    def merge(self, others: Sequence[State]) -> None:
        """Count with what others counted, in the place of what they told before."""
        own = self.share()
        told: dict[str, list[int]] = {}
        pages = [0, 0]
        heard: list[State] = [own]
        for state in others:
            theirs = _own_of(state)
            if any(theirs["counts"] == before["counts"] for before in heard):
                continue
            heard.append(theirs)
            _add(told, pages, theirs)
        self._told = (told, pages)
        self._counts = {feature: list(counts) for feature, counts in told.items()}
        self._pages = list(pages)
        _add(self._counts, self._pages, own)

    def save(self) -> State:
        told, pages = self._told
        return {
            "told": [[[feature, *counts] for feature, counts in told.items()], pages],
            "rng": generator_state(self._rng),
            "queue": self._queue.save(),
            "choices": self._choices,
            "hosts": [[host, *counts] for host, counts in self._hosts.items()],
            "of": [[link, host, list(features)] for link, (host, features) in self._of.items()],
            "counts": [[feature, *counts] for feature, counts in self._counts.items()],
            "pages": list(self._pages),
            "done": [[link, *row] for link, row in self._done.items()],
        }

    def load(self, state: State) -> None:
        restore_generator(self._rng, state["rng"])
        self._queue.load(state["queue"])
        self._choices = state["choices"]
        self._hosts = {host: list(counts) for host, *counts in state["hosts"]}
        self._of = {link: (host, tuple(features)) for link, host, features in state["of"]}
        self._counts = {feature: list(counts) for feature, *counts in state["counts"]}
        self._pages = list(state["pages"])
        self._done = {
            link: (host, tuple(features), reward, relevant)
            for link, host, features, reward, relevant in state.get("done", [])
        }
        told, pages = state["told"]
        self._told = ({feature: list(counts) for feature, *counts in told}, list(pages))


_NONE = (0, 0)


def _own_of(state: State) -> State:
    """What a state of `share` or `save` holds that its policy counted itself."""
    told = {feature: counts for feature, *counts in state["told"][0]}
    counts = [
        [feature, bad - told.get(feature, _NONE)[0], good - told.get(feature, _NONE)[1]]
        for feature, bad, good in state["counts"]
    ]
    pages = [mine - other for mine, other in zip(state["pages"], state["told"][1], strict=True)]
    return {"counts": sorted(row for row in counts if row[1] or row[2]), "pages": pages}


def _add(counts: dict[str, list[int]], pages: list[int], state: State) -> None:
    for feature, bad, good in state["counts"]:
        row = counts.setdefault(feature, [0, 0])
        row[0] += bad
        row[1] += good
    for at, count in enumerate(state["pages"]):
        pages[at] += count


def _context(page: Page | None, score: float) -> tuple[str, ...]:
    """Of the page that a link stands on: the tenth of its score, and words of its title."""
    words = dict.fromkeys(tokens(page.title)[:TITLE]) if page else {}
    return (f"page of score {round(10 * score)}", *(f"page ‘{word}’" for word in words))
