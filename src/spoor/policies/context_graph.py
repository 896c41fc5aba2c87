"""Context graphs: how many links a page is from a target, judged by its words.

Diligenti, Coetzee, Lawrence, Giles and Gori (2000), "Focused crawling using context graphs", VLDB.
Off line a naive Bayes classifier learns the layers around known targets; the crawl puts the links
of a page into the queue of its layer, and takes from the innermost one. Card:
docs/algorithms/context-graph.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np

from spoor.errors import InputError
from spoor.learn.link_words import content_stems
from spoor.learn.naive_bayes import NaiveBayes, Vocabulary, fit, one_hot, posterior
from spoor.learn.parameters import between, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import PART, Saved, attributes
from spoor.learn.trained_model import needed_weights, pack_model
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, KnownWeb, Outcome, Page, State, Task, WebGraph
from spoor.web.text import DocumentFrequencies

NAME = "context-graph"
FEATURES = "words of pages 1"
READ = 20_000
"""Characters of a page that are read."""


# ---------------------------------------------------------------- section 2.1: context graphs


def layers_of(graph: WebGraph, layers: int) -> list[int]:
    """Links from each page to the nearest target; `layers` + 1 where it is more than `layers`."""
    sources: list[list[int]] = [[] for _ in graph.urls]
    for page in range(len(graph.urls)):
        for target in graph.indices[graph.indptr[page] : graph.indptr[page + 1]].tolist():
            sources[target].append(page)
    layer = [layers + 1] * len(graph.urls)
    fresh = np.flatnonzero(graph.targets).tolist()
    for page in fresh:
        layer[page] = 0
    for distance in range(1, layers + 1):
        outer: list[int] = []
        for page in fresh:
            for source in sources[page]:
                if layer[source] > distance:
                    layer[source] = distance
                    outer.append(source)
        fresh = outer
    return layer


# ---------------------------------------------------------------- section 2.2: learning a layer


def words_of(page: Page) -> list[str]:
    """Stems of a page, stop words left out."""
    return content_stems(f"{page.title} {page.text[:READ]}")


def reduced(words: Sequence[str], idf: Callable[[str], float], count: int) -> list[str]:
    """The `count` words of highest tf-idf, as often as they occur; words of idf 0 never."""
    counts = Counter(words)
    weights = {word: n * idf(word) for word, n in counts.items()}
    best = sorted((word for word in weights if weights[word] > 0), key=lambda w: (-weights[w], w))
    return [word for word in best[:count] for _ in range(counts[word])]


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None],
    *,
    layers: int = 4,
    words: int = 40,
) -> State:
    """A model of `context-graph`: a class for each layer 0 to `layers`, and one for all else.

    Each page is its `words` words of highest tf-idf. Raises InputError for webs without a target.
    """
    if layers < 1 or words < 1:
        raise InputError("context-graph: layers and words must be at least 1")
    if not any(web.graph.targets.any() for web in webs):
        raise InputError("the sites to train on have no targets")
    read: list[list[str]] = []
    classes: list[int] = []
    frequencies = DocumentFrequencies()
    of = sum(len(web.graph.urls) for web in webs)
    for web in webs:
        classes += layers_of(web.graph, layers)
        for number in range(len(web.graph.urls)):
            read.append(words_of(web.page(number)))
            frequencies.add(read[-1])
            progress(len(read), of)
    vocabulary = Vocabulary()
    rows = [vocabulary.add(reduced(page, frequencies.idf, words)) for page in read]
    share = one_hot(np.array(classes, dtype=np.int64), layers + 2)
    model = fit([vocabulary.bag(rows)], share)
    known = list(vocabulary.words)
    weights = {
        "words": known,
        "idf": np.array([frequencies.idf(word) for word in known]),
        "read": words,
        "bayes": model.save(),
    }
    return pack_model(
        NAME,
        FEATURES,
        task.topic,
        weights,
        webs=[web.name for web in webs],
        training={"layers": layers, "words": words},
    )


# ---------------------------------------------------------------- section 2.3: the crawl


@dataclass(eq=False)
class ContextGraph(Saved):
    """Links of pages in the innermost layer first; within a layer, those of the page most likely in
    it.

    A page whose layer is less likely than `threshold` is in no layer.
    """

    task: InitVar[Task]
    _: KW_ONLY
    threshold: float = between(0, 1, 0.0)

    SAVED = attributes(_queue=PART)

    def __post_init__(self, task: Task) -> None:
        check_parameters(NAME, self)
        weights = needed_weights(task, NAME, FEATURES)
        self._queue = PriorityQueue()
        self._columns = {word: column for column, word in enumerate(weights["words"])}
        self._idf = dict(zip(weights["words"], weights["idf"].tolist(), strict=True))
        self._read = int(weights["read"])
        self._bayes = NaiveBayes.load(weights["bayes"])
        self._log_words = self._bayes.log_words[0]
        self._other = len(self._bayes.sizes) - 1

    def observe(self, seen: InLinks) -> None:
        layer, chance = self._layer(seen.page)
        # One queue for all layers, each by likelihood: a layer further in adds 2.
        value = 2.0 * (self._other - layer) + chance
        for link, host in zip(seen.links, seen.hosts, strict=True):
            self._queue.push_if_higher(link, host, value)

    def _layer(self, page: Page | None) -> tuple[int, float]:
        """The likeliest layer of a page and its probability."""
        if page is None:
            return self._other, 0.0
        words = reduced(words_of(page), lambda word: self._idf.get(word, 0.0), self._read)
        columns = [self._columns[word] for word in words]
        log_joint = self._bayes.log_prior + self._log_words[columns].sum(axis=0)
        chances = posterior(log_joint[None, :])[0]
        layer = int(np.argmax(chances))
        chance = float(chances[layer])
        return (layer, chance) if chance >= self.threshold else (self._other, chance)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        layer = self._other - int(value // 2)
        where = "no layer" if layer == self._other else f"layer {layer}"
        return Choice(link, 1.0, ((f"its page is one of {where}, probability", value % 2),))

    def learn(self, outcome: Outcome) -> None:
        pass

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """(layer, word, weight): the 50 most distinctive words of each layer."""
        words = list(self._columns)
        odds = self._bayes.log_odds(0)
        names = [*(f"layer {index}" for index in range(self._other)), "no layer"]
        return [
            (name, words[index], float(odds[index, column]))
            for column, name in enumerate(names)
            for index in np.argsort(-odds[:, column], kind="stable")[:50].tolist()
        ]
