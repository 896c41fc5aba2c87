"""A bandit whose arms are the places of links on their pages.

SB-CLASSIFIER of Gauquier, Manolescu and Senellart (EDBT 2026): links whose tag paths are alike form
an arm, and an arm is worth the targets that its pages led to. What a classifier of URLs takes for a
target is fetched at once. Card: docs/algorithms/tag-path-bandit.md.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from dataclasses import KW_ONLY, InitVar, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spoor.bounded import BoundedDict
from spoor.learn.hashed_linear import HashedLinear, grams, logistic
from spoor.learn.parameters import at_least, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.randomized_queue import RandomizedQueue
from spoor.learn.saved_attributes import (
    GENERATOR,
    PAIRS,
    PART,
    VALUE,
    Form,
    Saved,
    attributes,
    filled,
    rows,
)
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Judgement, LinkId, Outcome, State, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sparse = tuple[NDArray[np.int64], NDArray[np.float64]]

BITS = 12
URL_BITS = 16
MOST_ARMS = 4096
"""Beyond so many a tag path joins the nearest arm, however far it is."""


# ---------------------------------------------------------------- tag paths → arms


def projection(tag_path: str) -> Sparse:
    """2-grams of the elements of a tag path, hashed into 2^12: places and counts."""
    steps = ["", *tag_path.split("/"), ""]
    pairs = Counter(f"{a}/{b}" for a, b in pairwise(steps))
    counts: Counter[int] = Counter()
    for pair, n in pairs.items():
        counts[zlib.crc32(pair.encode("utf-8", "surrogatepass")) & ((1 << BITS) - 1)] += n
    places = sorted(counts)
    return np.array(places), np.array([counts[place] for place in places], dtype=np.float64)


class Arms:
    """Clusters of tag paths: a path joins the nearest centroid by cosine if that is at least
    `theta`, else it begins a cluster.

    A centroid is stored as the sum of its members, since a cosine does not depend on lengths. Equal
    tag paths stay in one cluster.
    """

    def __init__(self, theta: float) -> None:
        self._theta = theta
        self._sums = np.zeros((16, 1 << BITS))
        self._squares = np.zeros(16)
        self._of: dict[str, int] = {}
        self.count = 0

    def of(self, tag_path: str) -> int:
        """The arm of one more link with this tag path. O(arms) for one never seen."""
        places, counts = projection(tag_path)
        arm = self._of.get(tag_path)
        if arm is None:
            arm = self._of[tag_path] = self._nearest(places, counts)
        row = self._sums[arm]
        self._squares[arm] += 2.0 * float(row[places] @ counts) + float(counts @ counts)
        row[places] += counts
        return arm

    def _nearest(self, places: NDArray[np.int64], counts: NDArray[np.float64]) -> int:
        if self.count:
            dots = self._sums[: self.count, places] @ counts
            cosines = dots / np.sqrt(self._squares[: self.count] * float(counts @ counts))
            best = int(np.argmax(cosines))
            if cosines[best] >= self._theta or self.count >= MOST_ARMS:
                return best
        if self.count == len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
            self._squares = np.concatenate([self._squares, np.zeros_like(self._squares)])
        self.count += 1
        return self.count - 1

    def save(self) -> State:
        return {
            "sums": self._sums[: self.count],
            "squares": self._squares[: self.count],
            "paths": list(self._of),
            "of": list(self._of.values()),
        }

    def load(self, state: State) -> None:
        self.count = len(state["sums"])
        size = 16
        while size < self.count:
            size *= 2
        self._sums, self._squares = np.zeros((size, 1 << BITS)), np.zeros(size)
        self._sums[: self.count], self._squares[: self.count] = state["sums"], state["squares"]
        self._of = dict(zip(state["paths"], state["of"], strict=True))


# ---------------------------------------------------------------- URLs → targets


class UrlClassifier(Saved):
    """Which URLs are targets: logistic regression on their character 2-grams, learned in batches.

    Says 0 until it has learned from targets and from others.
    """

    SAVED = attributes(
        _model=PART, _pending=Form(list, lambda old, saved: [(u, t) for u, t in saved]), _seen=VALUE
    )

    def __init__(self, batch: int, rate: float) -> None:
        self._batch = batch
        self._rate = rate
        self._model = HashedLinear(URL_BITS)
        self._pending: list[tuple[str, bool]] = []
        self._seen = [0, 0]

    def chance(self, url: str) -> float:
        if not all(self._seen):
            return 0.0
        return logistic(self._model.value(self._row(url)))

    def learn(self, url: str, target: bool) -> None:
        self._pending.append((url, target))
        if len(self._pending) >= self._batch:
            for known, is_target in self._pending:
                row = self._row(known)
                error = float(is_target) - logistic(self._model.value(row))
                self._model.step(row, self._rate * error)
                self._seen[is_target] += 1
            self._pending.clear()

    def _row(self, url: str) -> NDArray[np.int32]:
        return self._model.row(grams(url.partition("://")[2], 2, 2))


# ---------------------------------------------------------------- the crawl


@dataclass(eq=False)
class TagPathBandit(Saved):
    """A random link of the available arm with the highest upper confidence bound.

    `theta`: least cosine of a tag path with its cluster. `alpha`: weight of the uncertainty.
    `batch`: pages after which the classifier of URLs learns, with step size `rate`; 0: no
    classifier, links are chosen through the arms only.
    """

    task: InitVar[Task]
    _: KW_ONLY
    theta: float = at_least(0, 0.75)
    alpha: float = at_least(0, 2.8284271247461903)
    batch: int = at_least(0, 10)
    rate: float = at_least(0, 0.5)

    SAVED = attributes(
        _rng=GENERATOR,
        _arms=PART,
        _urls=PART,
        _urgent=PART,
        _bags=Form(
            lambda bags: [[arm, bag.save()] for arm, bag in bags.items()],
            lambda old, saved: filled(
                old, ((arm, RandomizedQueue.load(links)) for arm, links in saved)
            ),
        ),
        _pulls=VALUE,
        _tried=VALUE,
        _found=VALUE,
        _credit=PAIRS,
        _done=rows(),
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("tag-path-bandit", self)
        self._rng = task.rng
        self._arms = Arms(self.theta)
        self._urls = UrlClassifier(self.batch, self.rate) if self.batch else None
        self._urgent = PriorityQueue()
        self._bags: dict[int, RandomizedQueue] = {}
        self._pulls = 0
        self._tried: list[int] = []
        self._found: list[float] = []
        # The arm that an answer will be credited to, and that its links inherit.
        self._credit: dict[LinkId, int] = {}
        self._done = BoundedDict[LinkId, tuple[int | None, str, float]]()
        """Of the pages learned from last: arm, URL, reward."""

    def observe(self, seen: InLinks) -> None:
        arm_of_page = self._credit.get(seen.parent)
        for index, link in enumerate(seen.links):
            if not seen.first[index]:
                continue
            host = seen.hosts[index]
            chance = self._urls.chance(seen.urls[index]) if self._urls else 0.0
            if chance > 0.5:
                self._urgent.push(link, host, chance)
                if arm_of_page is not None:
                    self._credit[link] = arm_of_page
                continue
            arm = self._arms.of(seen.anchor(index).tag_path)
            while len(self._tried) < self._arms.count:
                self._tried.append(0)
                self._found.append(0.0)
            self._bags.setdefault(arm, RandomizedQueue()).add(link, host)

    def choose(self, offer: Offer) -> Choice:
        try:
            link, chance = self._urgent.pop(offer)
        except LookupError:
            return self._pull(offer)
        return Choice(link, 1.0, (("chance of a target by its URL", chance),))

    def _pull(self, offer: Offer) -> Choice:
        bounds = {arm: self._bound(arm) for arm in self._bags}
        # Sorting is stable: a tie goes to the arm that woke first.
        for arm in sorted(bounds, key=lambda arm: -bounds[arm]):
            link = self._draw(arm, offer)
            if link is not None:
                self._pulls += 1
                self._tried[arm] += 1
                self._credit[link] = arm
                tried = self._tried[arm] - 1
                why = (("targets a page of its tag paths", self._found[arm] / max(1, tried)),)
                return Choice(link, None, why)
        raise LookupError("no link on offer waits in an arm")

    def _bound(self, arm: int) -> float:
        """Mean reward + α √(ln t / n); an arm that was never tried is first."""
        n = self._tried[arm]
        if not n:
            return math.inf
        return self._found[arm] / n + self.alpha * math.sqrt(math.log(max(1, self._pulls)) / n)

    def _draw(self, arm: int, offer: Offer) -> LinkId | None:
        """A link of the arm that is on offer, removed."""
        bag = self._bags[arm]
        link = bag.draw(offer, self._rng)
        if link is not None:
            bag.discard(link)
        if not bag:
            del self._bags[arm]
        return link

    def learn(self, outcome: Outcome) -> None:
        arm = self._credit.pop(outcome.choice.link, None)
        if arm is not None:
            self._found[arm] += outcome.reward
        if outcome.page is not None:
            url = outcome.page.url
            if self._urls:
                self._urls.learn(url, outcome.reward > 0)
            self._done[outcome.choice.link] = (arm, url, outcome.reward)

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """The arm's reward is put right; the classifier of URLs learns the page again."""
        if link not in self._done:
            return
        arm, url, reward = self._done[link]
        if arm is not None:
            self._found[arm] += after.reward - reward
        if self._urls:
            self._urls.learn(url, after.reward > 0)
        self._done[link] = (arm, url, after.reward)
