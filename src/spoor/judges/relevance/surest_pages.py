"""How like each page is to the surest pages of a topic, in rounds, and which topics a wish names.

People type commas between topics (`virtual hosts, rewrite rules`) and between words of one topic
(`customers, invoices`). Parts of a wish whose surest pages say one another are one topic. The pages
of several topics have little in common, so each topic has its own surest pages, and a page counts
by the topic that it is most like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.feedback import EVIDENCE, Topic
from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.many_sites import Templates
from spoor.judges.relevance.term_matrix import TermMatrix

SEEDS = 6
"""Surest pages in the first round; as many more in each further one, but no more than the root of
the number of pages: of few pages, few are wanted."""
ROUNDS = 2
SURE = 0.15
"""Least evidence of a sure page."""
LEAST_LIKENESS = 0.1
"""Likeness that counts as full at least: surest pages that are less alike have little in common."""
MOST_TOPICS = 8
"""Parts of a wish at most that may be topics of their own."""
SAME_TOPIC = 0.3
"""Two parts are one topic where the surest pages of each say so much of the other, as a share of
the most that any page says, in the mean of both; a page counts by what it says of its own."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The pages of a crawl, of which some are the surest of a topic."""

    rows: TermMatrix
    background: Floats
    """What the rest of the site has, of each column."""
    labels: NDArray[Any]
    allowed: NDArray[np.bool_]
    """Whether nothing speaks against a page: its language, or what is not wanted."""
    first: NDArray[np.bool_]
    """Whether it is no copy of another."""
    templates: Templates | None = None
    """Where there are many sites: the surest pages are then of different ones, or what they have in
    common would be their site, or a template."""

    @property
    def may_be_wanted(self) -> NDArray[np.bool_]:
        return self.allowed & (self.labels >= 0)

    def sure(self, evidence: Floats) -> NDArray[np.bool_]:
        """Whether each says enough of a topic to be one of its surest pages."""
        return (evidence >= min(SURE, max(0.6 * float(evidence.max()), 0.05))) & self.may_be_wanted

    def values(self, evidence: Floats, likeness: Floats) -> Floats:
        """Of each page, by what it says of a topic and by likeness to the surest pages of it."""
        best = float(evidence.max())
        words = EVIDENCE * evidence / best if best else 0.0 * evidence
        return np.where(self.allowed, words + np.clip(likeness, 0.0, 1.0), 0.0)


def written_alike(rest: Floats, likely: Floats, scripts: NDArray[Any]) -> Floats:
    """Weights of the pages with which the surest ones are compared, so that they are in the same
    scripts as these: else a script would be what the surest pages have in common on a site of which
    half is not translated, and whatever is in it would be like them. `likely`: how probably each
    is wanted. All are 0 where no other page is in such a script."""
    kinds = np.flatnonzero(np.bincount(scripts))  # `np.unique` imports all of `numpy.ma`
    surest = likely * (likely >= np.sort(likely)[-SEEDS:][0])
    if len(kinds) < 2 or not surest.any():
        return rest
    weights = rest.copy()
    for kind in kinds.tolist():
        its = scripts == kind
        there = float(rest[its].sum())
        weights[its] *= float(surest[its].sum()) / there if there else 0.0
    return weights


def likeness_to_surest(pages: Kept, evidence: Floats) -> tuple[Floats, Topic | None]:
    """How like each page is to the surest pages of a topic, 1 for these, and what they have in
    common; none where no page is sure. `evidence`: what each page says of the topic."""
    likeness: Floats = np.zeros(len(evidence))
    topic = None
    best, rows, labels = float(evidence.max()), pages.rows, pages.labels
    value = np.where(pages.allowed, evidence / best if best else 0.0, 0.0)
    sure = pages.sure(evidence)
    for round_number in range(1, ROUNDS + 1):
        order = np.argsort(-value, kind="stable")
        chosen = order[(sure & pages.first & (labels == 0) & (value > 0))[order]].tolist()
        given = np.flatnonzero(labels > 0).tolist()
        most = min(SEEDS * round_number - len(given), max(SEEDS, int(len(labels) ** 0.5)))
        if pages.templates is not None:
            chosen = pages.templates.of_different(chosen, most)
        seeds = given + chosen[: max(0, most)]
        if not seeds:
            break
        seeds.sort()
        is_seed = np.zeros(len(labels), bool)
        is_seed[seeds] = True
        shares = np.where(labels > 0, 1.0, np.maximum(value, 1e-6)) * is_seed
        its = shares[seeds] / shares.sum()
        surest = rows.those(seeds)
        mean = surest.sum_of_rows(its)
        # What one of them has is not what they have in common.
        common = surest.often() >= (2 if len(seeds) > 2 else 1)
        centroid = np.where(common, np.maximum(mean - pages.background, 0.0), 0.0)
        likeness = rows.times(centroid)
        # A page has no part in the centroid by which it is judged.
        if len(seeds) > 1:
            alone = likeness[seeds] - its * surest.squares(common)
            likeness[seeds] = alone / np.maximum(1.0 - its, 1e-9)
        likest = np.sort(likeness)[-max(3, len(seeds) // 2) :]
        scale = max(float(likest.mean()), LEAST_LIKENESS)
        likeness = likeness / scale
        has = np.flatnonzero(centroid)
        numbers, weights = rows.ids[has].tolist(), (centroid * rows.stretch)[has].tolist()
        topic = Topic(dict(zip(numbers, weights, strict=True)), scale)
        value = pages.values(evidence, likeness)
        sure = (sure | (likeness > 0)) & pages.may_be_wanted
    return likeness, topic


def topics_of(said: Sequence[Floats]) -> list[list[int]]:
    """Which parts of a wish are one topic; `said`: what each page says of each part. Parts of which
    no page says anything are none."""
    known = [at for at, its in enumerate(said) if its.any()]
    shares = {at: said[at] / said[at].max() for at in known}
    surest = {at: np.argsort(-shares[at], kind="stable")[:SEEDS] for at in known}
    group = {at: at for at in known}

    def there(one: int, other: int) -> float:
        """What the surest pages of one part say of another."""
        own = shares[one][surest[one]]
        return float(own @ shares[other][surest[one]] / own.sum())

    for one, other in combinations(known, 2):
        if (there(one, other) + there(other, one)) / 2 >= SAME_TOPIC:
            group = {at: group[one] if its == group[other] else its for at, its in group.items()}
    return [[at for at in known if group[at] == its] for its in dict.fromkeys(group.values())]


class Likeness:
    """How like pages that come are to the surest pages of each topic."""

    def __init__(self, topics: Sequence[Topic], frequencies: Frequencies) -> None:
        self.topics = topics
        self._frequencies = frequencies
        self._forgot = -1
        self._place = np.zeros(1, np.int32)
        """Of each slot, its column among the weights; the first is of none."""
        self._weights: list[Floats] = []

    def of(self, slots: NDArray[np.int64], values: Floats) -> list[float]:
        """Of a page with a vector, 1 for the surest pages of a topic. O(terms)."""
        if self._forgot != self._frequencies.forgot:
            self._number()
        places = self._place.take(slots, mode="clip")  # what came later is the last, which is none
        said = [np.add.accumulate(weights[places] * values) for weights in self._weights]
        return [
            float(sums[-1]) / topic.scale if len(sums) else 0.0
            for sums, topic in zip(said, self.topics, strict=True)
        ]

    def _number(self) -> None:
        """Number the columns, when the slots are new."""
        ids = [*dict.fromkeys(chain.from_iterable(topic.weights for topic in self.topics))]
        known = self._frequencies.slots
        slots = np.fromiter(map(known.__getitem__, ids), np.int64, len(ids))
        self._place = np.zeros(len(known) + 1, np.int32)
        self._place[slots] = np.arange(1, len(ids) + 1)
        self._weights = [
            np.array([0.0, *map(topic.weights.get, ids, repeat(0.0))]) for topic in self.topics
        ]
        self._forgot = self._frequencies.forgot
