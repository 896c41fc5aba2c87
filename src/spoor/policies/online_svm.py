"""A support vector machine, retrained on the crawl's own links from time to time.

The on-line link classifier of ACHE, after Barbosa and Freire (2007), "An adaptive crawler for
locating hidden-Web entry points", WWW: how many links a link is from a relevant page, judged by the
words around it, of its URL and of its anchor. Card: docs/algorithms/online-svm.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import TYPE_CHECKING

import numpy as np

from spoor.bounded import BoundedDict
from spoor.learn.link_words import content_stems, url_words, words_around
from spoor.learn.parameters import at_least, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import (
    ARRAY,
    GENERATOR,
    PART,
    VALUE,
    Form,
    Saved,
    attributes,
    filled,
)
from spoor.learn.svm import pegasos, platt
from spoor.protocols import Offer, OpenLinks
from spoor.types import (
    NO_PARENT,
    Anchor,
    Choice,
    InLinks,
    Judgement,
    LinkId,
    Outcome,
    State,
    Task,
)
from spoor.web.text import STOP_WORDS, stem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLASSES = 3
FAR = 2
"""Class of a link that leads to nothing within one link; 0 leads to a relevant page itself."""
RARE = 2
"""Words of fewer links are not selected."""
DROPPED = 1_000.0
"""Below every other score: what is dropped is taken when nothing else is left."""
LAMBDA = 1e-3
STEPS, BATCH = 2_000, 32


# ---------------------------------------------------------------- words of a link


@dataclass(slots=True)
class Example:
    """A fetched link."""

    url: tuple[str, ...]
    """Words of its URL, not stemmed."""
    near: tuple[str, ...]
    """`anchor …` and `around …`, stems."""
    hops: int = FAR
    """Its class."""
    parents: tuple[LinkId, ...] = ()
    """Pages that showed it."""


def words_of(url: str, anchor: Anchor, context: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words of the URL; stems of the anchor and of `context` words on either side."""
    around = [word for word in words_around(anchor, context) if word not in STOP_WORDS]
    near = [
        *(f"anchor {word}" for word in content_stems(anchor.text)),
        *(f"around {word}" for word in stem(around)),
    ]
    return tuple(dict.fromkeys(url_words(url))), tuple(dict.fromkeys(near))


EXAMPLES = Form(
    lambda examples: [
        [link, [list(one.url), list(one.near), one.hops, list(one.parents)]]
        for link, one in examples.items()
    ],
    lambda old, saved: filled(
        old,
        (
            (link, Example(tuple(url), tuple(near), hops, tuple(parents)))
            for link, (url, near, hops, parents) in saved
        ),
    ),
)
PLATT = Form(
    lambda fits: [list(fit) if fit else None for fit in fits],
    lambda old, saved: [(fit[0], fit[1]) if fit else None for fit in saved],
)


# ---------------------------------------------------------------- the policy


@dataclass(eq=False)
class OnlineSvm(Saved):
    """Best-first by score = class · 100 + probability · 100, the page's relevance at first.

    Every `every` pages the classifier is trained from scratch and all open links are rescored.
    `features`: most frequent words of each field that it looks at. `context`: words on either side
    of a link. `drop`: links of pages with a score below 0.5 are last. `mended`: without the two
    known defects of the original.
    """

    task: InitVar[Task]
    _: KW_ONLY
    every: int = at_least(1, 500)
    features: int = at_least(1, 200)
    context: int = at_least(0, 5)
    drop: bool = True
    mended: bool = False

    SAVED = attributes(
        _rng=GENERATOR,
        _queue=PART,
        _pages=VALUE,
        _flying=EXAMPLES,
        _done=EXAMPLES,
        _words=VALUE,
        _w=ARRAY,
        _platt=PLATT,
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("online-svm", self)
        self._rng = task.rng
        self._queue = PriorityQueue()
        self._links: OpenLinks | None = None
        self._pages = 0
        self._flying: dict[LinkId, Example] = {}
        self._done = BoundedDict[LinkId, Example]()
        """What a training learns from."""
        self._words: list[str] = []
        self._columns: dict[str, int] = {}
        """Number of each of the words."""
        self._w: Floats = np.zeros((1, CLASSES))
        """Its last row is the bias."""
        self._platt: list[tuple[float, float] | None] = []
        """Of each class; empty before the first training."""

    def attach(self, links: OpenLinks) -> None:
        self._links = links

    def observe(self, seen: InLinks) -> None:
        dropped = self._is_dropped(seen.parent, seen.parent_score)
        for index, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            value = seen.parent_score
            if self._platt:
                value = self._score(*words_of(seen.urls[index], seen.anchor(index), self.context))
            if dropped:
                value -= DROPPED
            self._queue.push_if_higher(link, host, value)

    def _is_dropped(self, parent: LinkId, score: float) -> bool:
        return self.drop and parent != NO_PARENT and score < 0.5

    def choose(self, offer: Offer) -> Choice:
        assert self._links is not None
        link, value = self._queue.pop(offer)
        seen = self._links.in_links(link)
        parents = tuple(dict.fromkeys(in_link.parent for in_link in seen))
        words = words_of(seen[0].url, seen[0].anchor, self.context)
        self._flying[link] = Example(*words, parents=parents)
        reason = "score of its words" if self._platt else "score of the page it stands on"
        if value < -DROPPED / 2:
            reason, value = f"dropped, as its page is not relevant; {reason}", value + DROPPED
        return Choice(link, 1.0, ((reason, value),))

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        example = self._flying.pop(link)
        if outcome.judgement is None:
            return
        self._done[link] = example
        if outcome.judgement.relevant:
            example.hops = 0
            for parent in example.parents:
                source = self._done.get(parent)
                if source is not None:
                    source.hops = min(source.hops, 1)
        self._pages += 1
        if self._pages % self.every == 0:
            self._train()

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """The page and those that showed it get the classes that they have now, and the classifier
        is trained again if it was before."""
        if link not in self._done:
            return
        self._done[link].hops = 0 if after.relevant else FAR
        shown = {
            parent
            for example in self._done.values()
            if example.hops == 0
            for parent in example.parents
        }
        for of, example in self._done.items():
            if example.hops:
                example.hops = 1 if of in shown else FAR
        if self._platt:
            self._train()

    # -- the classifier

    def _train(self) -> None:
        examples = list(self._done.values())
        classes = np.array([example.hops for example in examples])
        if len(np.unique(classes)) < 2:
            return
        self._set_words(self._select(examples))
        x = np.zeros((len(examples), len(self._columns) + 1))
        x[:, -1] = 1.0
        for row, example in enumerate(examples):
            x[row, self._matched(example.url, example.near)] = 1.0
        is_class = classes[:, None] == np.arange(CLASSES)
        y = np.where(is_class, 1.0, -1.0)
        self._w = pegasos(x, y, self._rng, lam=LAMBDA, steps=STEPS, batch=BATCH)
        margins = x @ self._w
        self._platt = [
            platt(margins[:, index], is_class[:, index]) if is_class[:, index].any() else None
            for index in range(CLASSES)
        ]
        self._rescore()

    def _select(self, examples: list[Example]) -> list[str]:
        """The most frequent words of each field."""
        counts: dict[str, Counter[str]] = {
            "URL": Counter(),
            "anchor": Counter(),
            "around": Counter(),
        }
        for example in examples:
            # The original selects the words of URLs as they are, and looks them up as stems: a word
            # that is not its own stem is never found.
            own = dict.fromkeys(stem(example.url)) if self.mended else example.url
            counts["URL"].update(f"URL {word}" for word in own)
            for word in example.near:
                counts[word.partition(" ")[0]][word] += 1
        return [
            word
            for field in counts.values()
            for word, count in sorted(field.items(), key=lambda item: (-item[1], item[0]))[
                : self.features
            ]
            if count >= RARE
        ]

    def _set_words(self, words: list[str]) -> None:
        self._words, self._columns = words, {word: column for column, word in enumerate(words)}

    def _matched(self, url: tuple[str, ...], near: tuple[str, ...]) -> list[int]:
        words = {f"URL {word}" for word in stem(url)}.union(near)
        return sorted(self._columns[word] for word in words if word in self._columns)

    def _score(self, url: tuple[str, ...], near: tuple[str, ...]) -> float:
        margins = (self._w[self._matched(url, near)].sum(axis=0) + self._w[-1]).tolist()
        chances = [
            1.0 / (1.0 + math.exp(min(500.0, fit[0] * margin + fit[1]))) if fit else 0.0
            for fit, margin in zip(self._platt, margins, strict=True)
        ]
        total = sum(chances) or 1.0
        hops = max(range(CLASSES), key=chances.__getitem__)
        chance = chances[hops] / total
        if hops == FAR and self.mended:
            # In the original the link that is most surely of no use is the best of its class.
            chance = 1.0 - chance
        return 100.0 * (FAR - hops) + 100.0 * chance

    def _rescore(self) -> None:
        assert self._links is not None
        for link in list(self._queue):
            was_relevant = self._queue.value(link) > -DROPPED / 2
            seen = self._links.in_links(link)
            if seen:
                value = max(
                    self._score(*words_of(in_link.url, in_link.anchor, self.context))
                    for in_link in seen
                )
                self._queue.push(
                    link, self._queue.host(link), value - (0.0 if was_relevant else DROPPED)
                )

    def load(self, state: State) -> None:
        super().load(state)
        self._set_words(self._words)
