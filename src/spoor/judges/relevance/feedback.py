"""Pseudo-relevance feedback: what the surest pages have in common.

From the surest pages a centroid is made (Rocchio 1971, with tf-idf weights, each of them left out
when it is judged itself); pages are ranked by it and by the words of the wish; then again from the
new surest pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from spoor.judges.relevance.frequencies import Floats
from spoor.types import State

EVIDENCE = 0.3
"""Weight of the evidence beside likeness to the surest pages, which has 1."""
BEST = 0.99
"""Least score of the best pages: their order is for people, and changes little for a crawl."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What the surest pages of a topic have in common."""

    weights: Mapping[int, float]
    """Term or link → weight."""
    scale: float
    """What the surest pages reach, each left out of the centroid in its turn."""
    name: str = ""
    """As typed, of one of several."""


NOTHING = Topic({}, 1.0)
"""Where no page is sure."""


@dataclass(slots=True)
class Model:
    """What was learned from the surest pages."""

    topics: Sequence[Topic] = (NOTHING,)
    """Of a wish that names several, each; else one."""
    cut: float = 0.0
    """Least value of a relevant page …"""
    cut_of_new: float = 0.0
    """… and of one that comes."""
    top: float = 1.0
    """Value of the best pages."""
    best_words: float = 0.0
    """The most that the words of the wish reached on a page."""
    again: float = 0.0
    """Weight of what the words say, beside likeness and the rest."""
    best_evidence: float = 0.0
    """The same with what the pages say that it is linked with."""
    seed_words: float = 0.0
    """What they reached on the least of the surest pages, with the linked ones."""
    sure: float = 0.0
    """Pages that were sure by their words, or by a person, before any likeness."""
    evidence_weight: float = 0.0
    """Weight of what a page says, and the pages that it is linked with, in its value."""
    pages: int = 0
    """Pages seen when it was made; 0: there is none."""
    many_sites: bool = False
    """Whether these are of many sites, …"""
    frames: Mapping[int, float] = field(default_factory=dict)
    """… of each site what its pages say as a rule, …"""
    mention: Floats | None = None
    """… what each word of the wish counts where no title, URL or anchor has it, …"""
    read: frozenset[int] = frozenset()
    """… and sites of which enough pages were read to know their frames."""
    filing: frozenset[int] = frozenset()
    """Sites whose filing says what a page is about (`kept_pages.filing_sites`)."""

    def save(self) -> State:
        numbers = [
            *(self.topics[0].scale, self.cut, self.cut_of_new, self.top),
            *(self.best_words, self.again, self.best_evidence, self.seed_words, self.sure),
            self.evidence_weight,
        ]
        ids = [number for topic in self.topics for number in topic.weights]
        weights = [weight for topic in self.topics for weight in topic.weights.values()]
        state: dict[str, Any] = {
            "ids": np.array(ids, np.uint32),
            "weights": np.array(weights, np.float64),
            "numbers": np.array(numbers),
            "pages": self.pages,
        }
        if self.many_sites:
            state["sites"] = np.array([*self.frames], np.uint64)
            state["frames"] = np.array([*self.frames.values()], np.float64)
            if self.mention is not None:
                state["mention"] = self.mention.copy()
                state["read"] = np.array(sorted(self.read), np.uint64)
        if self.filing:
            state["filing"] = np.array(sorted(self.filing), np.uint64)
        if len(self.topics) > 1:
            state["sizes"] = np.array([len(topic.weights) for topic in self.topics], np.uint32)
            state["scales"] = np.array([topic.scale for topic in self.topics])
            state["names"] = [topic.name for topic in self.topics]
        return state

    @classmethod
    def load(cls, state: State) -> Model:
        pairs = iter(zip(state["ids"].tolist(), state["weights"].tolist(), strict=True))
        scale, cut, new, top, best, again, evidence, seed, sure, weight = state["numbers"].tolist()
        sizes, scales = [len(state["ids"])], [scale]
        if "sizes" in state:
            sizes, scales = state["sizes"].tolist(), state["scales"].tolist()
        names = state.get("names", [""])
        topics = [
            Topic(dict(islice(pairs, size)), its, str(name))
            for size, its, name in zip(sizes, scales, names, strict=True)
        ]
        pages, frames = int(state["pages"]), {}
        if many_sites := "frames" in state:
            frames = dict(zip(state["sites"].tolist(), state["frames"].tolist(), strict=True))
        return cls(
            *(topics, cut, new, top, best, again, evidence, seed, sure, weight, pages),
            many_sites,
            frames,
            state.get("mention"),
            frozenset(state["read"].tolist() if "read" in state else ()),
            frozenset(state["filing"].tolist() if "filing" in state else ()),
        )


class Among:
    """The scores of the best pages beside one another, once all are known: those whose value is
    the mean of the ten best or more. Else all of them would have 1, and the whole manual and the
    list of its pages, which a crawl sees first, would lead."""

    def __init__(self, values: Sequence[float], words: Sequence[float]) -> None:
        self._most = max(values, default=0.0) or 1.0
        self._best = float(max(words, default=0.0)) or 1.0

    def score(self, value: float, words: float) -> float:
        """Of one of the best, by its value and, as much, by what it says itself."""
        said = 0.5 * (min(1.0, value / self._most) + words / self._best)
        return round(BEST + (1.0 - BEST) * said, 4)
