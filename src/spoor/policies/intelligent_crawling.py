"""Intelligent crawling: interest ratios of in-link content, URL, links and siblings, learned during
the crawl.

Aggarwal, Al-Garawi and Yu (2001), "Intelligent crawling on the World Wide Web with arbitrary
predicates", WWW. An interest ratio I(C, E) = P(C | E) / P(C) is the factor by which the event E
raises the probability that a page satisfies the predicate C.
Card: docs/algorithms/intelligent-crawling.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from itertools import islice
from typing import Any

from spoor.learn.link_words import content_stems, url_words
from spoor.learn.merging import distinct, same_counts
from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, TUPLE, VALUE, Form, Saved, attributes, filled, rows
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, InLinks, LinkId, Outcome, Page, State, Task

WORDS = 100
"""Words of a page that are read, each once."""
PARENTS = 8
"""Parents of a link that are remembered, at most."""
SIBLINGS = 64
"""Open links of a page that are revalued when one of them was fetched."""
CHECKS = 8
"""Links that are revalued, at most, before the best is chosen."""


@dataclass(slots=True)
class Source:
    """A page with open links."""

    words: list[str]
    satisfied: bool
    tried: int = 0
    """Pages fetched of those that it links to, and how many of them were relevant."""
    relevant: int = 0
    open: dict[LinkId, None] = field(default_factory=dict)
    content: tuple[int, float] = (-1, 0.0)
    """ln of its content ratio, with the count of pages for which it was worked out."""


@dataclass(slots=True)
class Candidate:
    """A link that is open or in flight."""

    host: str
    tokens: list[str]
    parents: list[LinkId] = field(default_factory=list)


class Ratios(Saved):
    """Event → number of pages with it, and how many of these satisfied the predicate."""

    SAVED = attributes(_counts=rows(list), _received=rows(list))

    def __init__(self, significance: float) -> None:
        self._significance = significance
        self._counts: dict[str, list[int]] = {}
        self._received: dict[str, list[int]] = {}
        """What other shards counted."""

    def learn(self, event: str, relevant: bool) -> None:
        counts = self._counts.setdefault(event, [0, 0])
        counts[0] += 1
        counts[1] += relevant

    def log(self, event: str, share: float) -> float:
        """ln I(C, E), given P(C); 0 where it does not differ significantly from 0."""
        n, relevant = self._counts.get(event, _NONE)
        if event in self._received:
            more, of_them = self._received[event]
            n, relevant = n + more, relevant + of_them
        if abs(relevant - n * share) < self._significance * math.sqrt(n * share * (1.0 - share)):
            return 0.0
        return log_ratio(n, relevant, share)

    def share(self) -> list[list[Any]]:
        return [[event, *counts] for event, counts in self._counts.items()]

    def merge(self, others: Iterable[Iterable[Sequence[Any]]]) -> None:
        self._received = {}
        for counted in others:
            for event, n, relevant in counted:
                counts = self._received.setdefault(event, [0, 0])
                counts[0] += n
                counts[1] += relevant


_NONE = (0, 0)


def log_ratio(n: int, relevant: int, share: float) -> float:
    """ln of (relevant / n) / P(C), as if one more average page had been seen."""
    return math.log((relevant + share) / ((n + 1) * share))


@dataclass(eq=False)
class IntelligentCrawling(Saved):
    """Best-first by the weighted sum of the logarithms of four interest ratios.

    `content`, `url`, `link`, `sibling`: their weights. `significance`: standard deviations by which
    a word's count must differ from the expected one to be read. `relevant`: score from which on a
    page that shows a link counts as satisfying the predicate.
    """

    task: InitVar[Task]
    _: KW_ONLY
    content: float = at_least(0, 1.0)
    url: float = at_least(0, 1.0)
    link: float = at_least(0, 1.0)
    sibling: float = at_least(0, 1.0)
    significance: float = at_least(0, 2.0)
    relevant: float = between(0, 1, 0.5)

    SAVED = attributes(
        _queue=PART,
        _of=Form(
            lambda of: [[link, one.host, one.tokens, one.parents] for link, one in of.items()],
            lambda old, saved: filled(
                old,
                (
                    (link, Candidate(host, list(tokens), list(parents)))
                    for link, host, tokens, parents in saved
                ),
            ),
        ),
        _ratios=PART,
        _pages=VALUE,
        _found=VALUE,
        _received=TUPLE,
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("intelligent-crawling", self)
        self._queue = PriorityQueue()
        self._sources: dict[LinkId, Source] = {}
        self._of: dict[LinkId, Candidate] = {}
        self._ratios = Ratios(self.significance)
        self._pages = 0
        self._found = 0
        self._received = (0, 0)
        """Pages that other shards learned from, and how many of them satisfied the predicate."""

    def observe(self, seen: InLinks) -> None:
        source = self._sources.get(seen.parent)
        if source is None:  # the counts of a page of another shard may arrive in parts
            source = Source(_content(seen.page), seen.parent_score >= self.relevant)
        for link, url, host in zip(seen.links, seen.urls, seen.hosts, strict=True):
            candidate = self._of.get(link)
            if candidate is None:
                candidate = self._of[link] = Candidate(host, _tokens(url))
                self._queue.push(link, host, 0.0)
            known = candidate.parents
            if seen.parent != NO_PARENT and seen.parent not in known and len(known) < PARENTS:
                known.append(seen.parent)
                source.open[link] = None
        if source.open:
            self._sources[seen.parent] = source
            self._revalue(source.open)

    # -- section 3: the four interest ratios

    def _parts(self, candidate: Candidate) -> tuple[float, float, float, float]:
        """ln of each ratio, times its weight."""
        share = (self._found + self._received[1] + 1) / (self._pages + self._received[0] + 2)
        parents = [self._sources[parent] for parent in candidate.parents]
        ratio = self._ratios.log
        # 3.1 content of the pages that link to it
        content = sum(self._content_of(parent, share) for parent in parents) / max(1, len(parents))
        # 3.2 tokens of its URL
        url = sum(ratio(token, share) for token in candidate.tokens)
        # 3.3 whether these pages satisfy the predicate themselves
        link = sum(ratio(_linked(parent), share) for parent in parents)
        # 3.4 how many of its siblings do
        tried = sum(parent.tried for parent in parents)
        sibling = log_ratio(tried, sum(parent.relevant for parent in parents), share)
        return self.content * content, self.url * url, self.link * link, self.sibling * sibling

    def _content_of(self, source: Source, share: float) -> float:
        if source.content[0] != self._pages:
            total = sum(self._ratios.log(word, share) for word in source.words)
            source.content = (self._pages, total)
        return source.content[1]

    def _revalue(self, links: dict[LinkId, None]) -> None:
        if self._found or self._received[1]:  # else there is nothing to go by
            for link in islice(links, SIBLINGS):
                if link in self._queue:
                    candidate = self._of[link]
                    self._queue.push(link, candidate.host, sum(self._parts(candidate)))

    def choose(self, offer: Offer) -> Choice:
        for _ in range(CHECKS):
            link, old = self._queue.peek(offer)
            self._revalue({link: None})
            if self._queue.value(link) >= old:
                break
        link, _ = self._queue.pop(offer)
        names = ("pages that link to it", "its URL", "whether they are relevant", "its siblings")
        why = zip(names, self._parts(self._of[link]), strict=True)
        return Choice(link, 1.0, tuple(reason for reason in why if reason[1]))

    # -- learning: one more page that satisfies the predicate, or does not

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        self._queue.discard(link)
        candidate = self._of.pop(link)
        parents = [self._sources[parent] for parent in candidate.parents]
        if outcome.judgement is not None:
            relevant = outcome.judgement.relevant
            self._pages += 1
            self._found += relevant
            events = dict.fromkeys(word for parent in parents for word in parent.words)
            for event in (*events, *candidate.tokens, *map(_linked, parents)):
                self._ratios.learn(event, relevant)
            for parent in parents:
                parent.tried += 1
                parent.relevant += relevant
        for number, parent in zip(candidate.parents, parents, strict=True):
            del parent.open[link]
            if parent.open:
                self._revalue(parent.open)
            else:
                del self._sources[number]

    # -- what shards share

    def share(self) -> State:
        """What it counted itself."""
        return {"counts": self._ratios.share(), "pages": [self._pages, self._found]}

    def merge(self, others: Sequence[State]) -> None:
        """Use the counts of others, which replace what they shared before. Open links are revalued
        in their turn."""
        states = distinct(self.share(), others, same_counts)
        self._ratios.merge(state["counts"] for state in states)
        pages = [state["pages"] for state in states]
        self._received = (sum(count for count, _ in pages), sum(relevant for _, relevant in pages))
        for source in self._sources.values():
            source.content = (-1, 0.0)

    def save(self) -> State:
        return {
            **super().save(),
            "sources": [
                [link, source.words, source.satisfied, source.tried, source.relevant]
                for link, source in self._sources.items()
            ],
            "open": [list(source.open) for source in self._sources.values()],
        }

    def load(self, state: State) -> None:
        super().load(state)
        self._sources = {
            link: Source(list(words), satisfied, tried, relevant, dict.fromkeys(links))
            for (link, words, satisfied, tried, relevant), links in zip(
                state["sources"], state["open"], strict=True
            )
        }


def _content(page: Page | None) -> list[str]:
    if page is None:
        return []
    words = content_stems(f"{page.title} {page.text[:4000]}")
    return [f"word ‘{word}’" for word in islice(dict.fromkeys(words), WORDS)]


def _tokens(url: str) -> list[str]:
    return [f"URL ‘{word}’" for word in dict.fromkeys(url_words(url))]


def _linked(parent: Source) -> str:
    return "linked from a relevant page" if parent.satisfied else "linked from another page"
