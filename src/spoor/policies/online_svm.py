"""A support vector machine that is trained anew on the crawl's own links now and then.

The on-line link classifier of ACHE, after Barbosa and Freire (2007), "An adaptive crawler for
locating hidden-Web entry points", WWW: how many links a link is from a relevant page, told by the
words around it, of its URL and of its anchor. Card: docs/algorithms/online-svm.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.learn.bounded_dict import keep
from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.state import generator_state, restore_generator
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
from spoor.web.text import STOP_WORDS, stem, tokens
from spoor.web.urls import words as url_words

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
    """Words of its URL as they stand there."""
    near: tuple[str, ...]
    """`anchor …` and `around …`, stems."""
    hops: int = FAR
    """Its class."""
    parents: tuple[LinkId, ...] = ()
    """Pages that showed it."""


def words_of(url: str, anchor: Anchor, context: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words of the URL; stems of the anchor and of `context` words on either side."""
    parts = url_words(url)
    around = tokens(anchor.before)[-context:] + tokens(anchor.after)[:context] if context else []
    near = [
        *(f"anchor {word}" for word in _stems(tokens(anchor.text))),
        *(f"around {word}" for word in _stems(around)),
    ]
    path = (*parts.directories, *parts.file, *parts.query)
    return tuple(dict.fromkeys(path)), tuple(dict.fromkeys(near))


def _stems(words: list[str]) -> list[str]:
    return stem([word for word in words if word not in STOP_WORDS])


# ---------------------------------------------------------------- the policy


class OnlineSvm:
    """Best-first by score = class · 100 + probability · 100, the page's relevance at first.

    Every `every` pages the classifier is trained from scratch and all open links are scored anew.
    `features`: most frequent words of each field that it looks at. `context`: words on either side
    of a link. `drop`: links of pages with a score below 0.5 come last. `mended`: without the two
    known defects of the original.
    """

    def __init__(
        self,
        task: Task,
        *,
        every: int = 500,
        features: int = 200,
        context: int = 5,
        drop: bool = True,
        mended: bool = False,
    ) -> None:
        in_range(
            "online-svm",
            every=(every, 1, math.inf),
            features=(features, 1, math.inf),
            context=(context, 0, math.inf),
        )
        self._rng = task.rng
        self._every = every
        self._most = features
        self._context = context
        self._drop = drop
        self._mended = mended
        self._queue = PriorityQueue()
        self._links: OpenLinks | None = None
        self._pages = 0
        self._flying: dict[LinkId, Example] = {}
        self._done: dict[LinkId, Example] = {}
        """What a training learns from."""
        self._columns: dict[str, int] = {}
        self._w: Floats = np.zeros((1, CLASSES))
        """Its last row is the bias."""
        self._platt: list[tuple[float, float] | None] = []
        """Of each class; empty before the first training."""

    def attach(self, links: OpenLinks) -> None:
        self._links = links

    def observe(self, seen: InLinks) -> None:
        dropped = self._is_dropped(seen.parent, seen.parent_score)
        for at, (link, host) in enumerate(zip(seen.links, seen.hosts, strict=True)):
            value = seen.parent_score
            if self._platt:
                value = self._score(*words_of(seen.urls[at], seen.anchor(at), self._context))
            if dropped:
                value -= DROPPED
            if link not in self._queue or value > self._queue.value(link):
                self._queue.push(link, host, value)

    def _is_dropped(self, parent: LinkId, score: float) -> bool:
        return self._drop and parent != NO_PARENT and score < 0.5

    def choose(self, offer: Offer) -> Choice:
        assert self._links is not None
        link, value = self._queue.pop(offer)
        seen = self._links.in_links(link)
        parents = tuple(dict.fromkeys(in_link.parent for in_link in seen))
        words = words_of(seen[0].url, seen[0].anchor, self._context)
        self._flying[link] = Example(*words, parents=parents)
        what = "score of its words" if self._platt else "score of the page it stands on"
        if value < -DROPPED / 2:
            what, value = f"dropped, as its page is not relevant; {what}", value + DROPPED
        return Choice(link, 1.0, ((what, value),))

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        example = self._flying.pop(link)
        if outcome.judgement is None:
            return
        keep(self._done, link, example)
        if outcome.judgement.relevant:
            example.hops = 0
            for parent in example.parents:
                source = self._done.get(parent)
                if source is not None:
                    source.hops = min(source.hops, 1)
        self._pages += 1
        if self._pages % self._every == 0:
            self._train()

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """The page and those that showed it get the classes that they have now, and the classifier
        is trained again if it was before."""
        if link not in self._done:
            return
        self._done[link].hops = 0 if after.relevant else FAR
        shown = {parent for one in self._done.values() if one.hops == 0 for parent in one.parents}
        for at, one in self._done.items():
            if one.hops:
                one.hops = 1 if at in shown else FAR
        if self._platt:
            self._train()

    # -- the classifier

    def _train(self) -> None:
        examples = list(self._done.values())
        classes = np.array([example.hops for example in examples])
        if len(np.unique(classes)) < 2:
            return
        self._columns = self._select(examples)
        x = np.zeros((len(examples), len(self._columns) + 1))
        x[:, -1] = 1.0
        for row, example in enumerate(examples):
            x[row, self._matched(example.url, example.near)] = 1.0
        is_class = classes[:, None] == np.arange(CLASSES)
        y = np.where(is_class, 1.0, -1.0)
        self._w = pegasos(x, y, self._rng, lam=LAMBDA, steps=STEPS, batch=BATCH)
        margins = x @ self._w
        self._platt = [
            platt(margins[:, at], is_class[:, at]) if is_class[:, at].any() else None
            for at in range(CLASSES)
        ]
        self._score_anew()

    def _select(self, examples: list[Example]) -> dict[str, int]:
        """The most frequent words of each field."""
        counts: dict[str, Counter[str]] = {
            "URL": Counter(),
            "anchor": Counter(),
            "around": Counter(),
        }
        for example in examples:
            # The original selects the words of URLs as they are, and looks them up as stems: a word
            # that is not its own stem is never found.
            own = dict.fromkeys(stem(example.url)) if self._mended else example.url
            counts["URL"].update(f"URL {word}" for word in own)
            for word in example.near:
                counts[word.partition(" ")[0]][word] += 1
        best = [
            word
            for field in counts.values()
            for word, count in sorted(field.items(), key=lambda item: (-item[1], item[0]))[
                : self._most
            ]
            if count >= RARE
        ]
        return {word: at for at, word in enumerate(best)}

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
        if hops == FAR and self._mended:
            # In the original the link that is most surely of no use is the best of its class.
            chance = 1.0 - chance
        return 100.0 * (FAR - hops) + 100.0 * chance

    def _score_anew(self) -> None:
        assert self._links is not None
        for link in list(self._queue):
            kept = self._queue.value(link) > -DROPPED / 2
            seen = self._links.in_links(link)
            if seen:
                value = max(
                    self._score(*words_of(in_link.url, in_link.anchor, self._context))
                    for in_link in seen
                )
                self._queue.push(link, self._queue.host(link), value - (0.0 if kept else DROPPED))

    # -- state

    def save(self) -> State:
        return {
            "rng": generator_state(self._rng),
            "queue": self._queue.save(),
            "pages": self._pages,
            "flying": [[link, _row(example)] for link, example in self._flying.items()],
            "done": [[link, _row(example)] for link, example in self._done.items()],
            "words": list(self._columns),
            "w": self._w,
            "platt": [list(fit) if fit else None for fit in self._platt],
        }

    def load(self, state: State) -> None:
        restore_generator(self._rng, state["rng"])
        self._queue.load(state["queue"])
        self._pages = state["pages"]
        self._flying = {link: _example(row) for link, row in state["flying"]}
        self._done = {link: _example(row) for link, row in state["done"]}
        self._columns = {word: at for at, word in enumerate(state["words"])}
        self._w = np.array(state["w"])
        self._platt = [(fit[0], fit[1]) if fit else None for fit in state["platt"]]


def _row(example: Example) -> list[Any]:
    return [list(example.url), list(example.near), example.hops, list(example.parents)]


def _example(row: list[Any]) -> Example:
    return Example(tuple(row[0]), tuple(row[1]), row[2], tuple(row[3]))
