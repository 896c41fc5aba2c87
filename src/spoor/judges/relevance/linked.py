"""What the pages that a page is linked with say of a wish: a topic stands together on most sites.

A section of a chapter seldom repeats the chapter's title; the page of the chapter, which links to
it, says it. A link counts by how few pages have it, so that menus count for nothing. What pages of
another registrable domain say of a page that they link to counts for nothing, either: anybody may
link to anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.kept_pages import KeptPage
from spoor.judges.relevance.term_matrix import numbered
from spoor.judges.relevance.url_numbers import as_ids
from spoor.types import State

Numbers = NDArray[np.uint64]
"""Of URLs, each once, in order."""

Keys = NDArray[np.uint64]
"""Of links: of where they lead to, and of the site that has them."""


def _none() -> Numbers:
    return np.zeros(0, np.uint64)


class Links:
    """The links that pages were kept with, and the pages that they lead to."""

    def __init__(self, pages: Sequence[KeptPage], frequencies: Frequencies) -> None:
        sizes = np.array([len(page.links) for page in pages], np.int64)
        ids = np.concatenate([_none(), *(page.links for page in pages)])
        self._from = np.repeat(np.arange(len(pages)), sizes)
        self.targets, self._to = numbered(ids)
        numbers = np.array([page.number for page in pages], np.uint64)
        self._order = np.argsort(numbers, kind="stable")
        self.pages = numbers[self._order]
        page_of = np.full(len(self.targets), -1)
        place = _places(self.pages, self.targets)
        page_of[place >= 0] = self._order[place[place >= 0]]
        to = page_of[self._to]
        inside = (to >= 0) & (to != self._from)
        self._source, self._goal = self._from[inside], to[inside]
        weights = frequencies.idf(frequencies.of(as_ids(self.targets)), alone=True)
        self._weight = weights[self._to][inside]
        self._count = len(pages)
        self.sites = np.array([page.site for page in pages], np.uint64)
        self._own = self.sites[self._source] == self.sites[self._goal]

    def outward(self, numbers: Floats) -> Floats:
        """For each page, the mean over the pages that it links to; 0 where there is none."""
        return self._means(self._source, self._goal, self._weight, numbers)

    def inward(self, numbers: Floats) -> Floats:
        """For each page, the mean over the pages of its site that link to it; 0 where there is
        none."""
        own = self._own
        return self._means(self._goal[own], self._source[own], self._weight[own], numbers)

    def _means(
        self, of: NDArray[Any], over: NDArray[Any], weights: Floats, numbers: Floats
    ) -> Floats:
        total = np.bincount(of, weights, self._count)
        sums = np.bincount(of, weights * numbers[over], self._count)
        return np.asarray(sums / np.where(total > 0, total, 1.0))

    @property
    def known(self) -> bool:
        """Whether a page links to another one of them."""
        return len(self._source) > 0

    def tables(self, words: Floats, values: Floats) -> Linked:
        """What is known of pages that come later, by the links of those seen."""
        keys, key = np.unique(self.sites[self._from] ^ self.targets[self._to], return_inverse=True)
        times = np.bincount(key, minlength=len(keys))

        def mean(numbers: Floats) -> Floats:
            return np.asarray(np.bincount(key, numbers[self._from], len(keys)) / times)

        return Linked(self.pages, words[self._order], keys, mean(words), mean(values))


@dataclass(slots=True)
class Linked:
    """What pages say of those that they link to, and of those that link to them."""

    pages: Numbers = field(default_factory=_none)
    """Those seen."""
    words: Floats = field(default_factory=lambda: np.zeros(0))
    """What their words say."""
    targets: Keys = field(default_factory=lambda: np.zeros(0, np.uint64))
    """What the pages of a site link to."""
    led_words: Floats = field(default_factory=lambda: np.zeros(0))
    """Mean of what the words of these pages say that link to a target."""
    led_values: Floats = field(default_factory=lambda: np.zeros(0))
    """Mean of their values."""

    def of(
        self, page: KeptPage, frequencies: Frequencies, counts: Floats
    ) -> tuple[float, float, float]:
        """Of a page that comes: what the words say of the pages that it links to and of those of
        its site that link to it, and the value of the latter; each 0 where none is known.
        `counts`: how many pages have each of its ids."""
        out = 0.0
        if len(self.pages):
            place = self.pages.searchsorted(page.links)
            known = (self.pages.take(place, mode="clip") == page.links).nonzero()[0]
            if len(known):
                weights = frequencies.idf(counts[page.terms :].take(known), alone=True)
                total = float(weights.sum())
                out = float(weights @ self.words.take(place.take(known))) / total if total else 0.0
        key = np.uint64(page.site ^ page.number)
        at = int(self.targets.searchsorted(key))
        known_target = at < len(self.targets) and self.targets[at] == key
        if not known_target:
            return out, 0.0, 0.0
        return out, float(self.led_words[at]), float(self.led_values[at])

    def save(self) -> State:
        return {name: getattr(self, name).copy() for name in self.__slots__}

    @classmethod
    def load(cls, state: State) -> Linked:
        return cls(**{name: state[name].copy() for name in cls.__slots__})


def _places(known: Numbers, asked: Numbers) -> NDArray[np.int64]:
    """Where each number stands among the known ones; −1 where it does not."""
    if not len(known):
        return np.full(len(asked), -1)
    place = known.searchsorted(asked)
    # A number beyond all is cut to the last, which is not equal.
    place[known.take(place, mode="clip") != asked] = -1
    return place
