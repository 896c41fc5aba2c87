"""Link words → discounted future reward, by naive Bayes.

Rennie and McCallum (1999), "Using reinforcement learning to spider the Web efficiently", ICML. Off
line the exact value Q of every hyperlink of known sites is computed; links are put into bins by how
far the nearest target is; and a naive Bayes classifier learns which words around a hyperlink speak
for which bin. The crawl is best-first by the expected Q. Card: docs/algorithms/naive-bayes.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.errors import InputError
from spoor.learn.bag_weights import bag_weights
from spoor.learn.naive_bayes import Bag, NaiveBayes, Vocabulary, cluster, fit, one_hot, posterior
from spoor.learn.neighbourhood import BagOf, bags_of
from spoor.learn.online_bayes import OnlineBayes
from spoor.learn.parameters import at_least, check_parameters, check_word, in_range, one_of
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.returns import bin_of, distances_to_target, horizon_of, link_values
from spoor.learn.saved_attributes import PAIRS, PART, Saved, attributes
from spoor.learn.trained_model import needed_weights, pack_model
from spoor.protocols import Offer
from spoor.types import (
    Anchor,
    Choice,
    InLinks,
    Judgement,
    KnownWeb,
    LinkId,
    Outcome,
    Page,
    State,
    Task,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NAME = "naive-bayes"
FEATURES = "bags of words 1"
MODES = ("immediate", "future")
JOINS = ("max", "mean", "last")
CLASSES = ("q", "clusters")
SCORINGS = ("expected", "target")
EXPLAINED = 200
"""Words of each class that `explain` names."""
MOST_BINS = 100
"""A bin is a column of each table of words."""
_MEMO = 100_000


# ---------------------------------------------------------------- training


@dataclass(frozen=True, slots=True)
class Examples:
    """Every hyperlink of some sites within its site: its bags, its value, and its distance."""

    bags: tuple[Bag, ...]
    q: Floats
    distance: Integers
    """Links from the destination to the nearest target; -1 where none is within the horizon."""
    vocabularies: tuple[Mapping[str, int], ...]
    site: Integers
    """Number of the web that each is of."""


def examples(
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None],
    *,
    neighbourhood: str,
    gamma: float,
    context: int,
) -> Examples:
    """The training examples of known webs. A hyperlink that is twice on a page counts twice."""
    kinds = bags_of(neighbourhood, context)
    vocabularies = [Vocabulary() for _ in kinds]
    rows: list[dict[Hashable, int]] = [{} for _ in kinds]
    texts: list[list[int]] = [[] for _ in kinds]
    q: list[float] = []
    distance: list[int] = []
    site: list[int] = []
    of = sum(len(web.graph.urls) for web in webs)
    done = 0
    for web_number, web in enumerate(webs):
        number = web.graph.index()
        values = link_values(web.graph, gamma).tolist()
        distances = distances_to_target(web.graph, horizon_of(gamma)).tolist()
        for page_number in range(len(web.graph.urls)):
            page = web.page(page_number)
            for url, anchor in ((link.url, link.anchor) for link in page.links):
                target = number.get(url)
                if target is None or target == page_number:
                    continue
                q.append(values[target])
                distance.append(distances[target])
                site.append(web_number)
                for bag, kind in enumerate(kinds):
                    key = kind.key(page, url, anchor)
                    row = rows[bag].get(key)
                    if row is None:
                        row = rows[bag][key] = vocabularies[bag].add(kind.words(page, url, anchor))
                    texts[bag].append(row)
            done += 1
            progress(done, of)
    return Examples(
        tuple(words.bag(text) for words, text in zip(vocabularies, texts, strict=True)),
        np.array(q),
        np.array(distance, dtype=np.int64),
        tuple(words.words for words in vocabularies),
        np.array(site, dtype=np.int64),
    )


def bounds_of(bins: int, gamma: float) -> Floats:
    """The least Q of a link in each bin, first bin first, without the last: 1, γ, γ², … (section
    3). Raises InputError unless there are 2 to `MOST_BINS` bins."""
    if bins < 2:
        raise InputError(f"Q is cut into at least 2 bins, not {bins}")
    if bins > MOST_BINS:
        raise InputError(f"{NAME}: bins is {MOST_BINS} at most, not {bins}")
    # As in the values of links: a power by NumPy may differ from it in the last bit.
    return np.array([gamma**step for step in range(bins - 1)])


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None],
    *,
    mode: str = "future",
    bins: int = 3,
    neighbourhood: str = "related",
    gamma: float = 0.5,
    context: int = 5,
    smoothing: str = "laplace",
    classes: str = "q",
) -> State:
    """A model of `naive-bayes`.

    `mode`: `immediate` (links to targets against the rest) or `future` (`bins` distances
    to the nearest target).
    `neighbourhood`: `full-page`; `related`, with `context` words on either side of the link;
    `no-url`, the same without the words of the URL; or
    `learned`: the bags of both, each with a weight found on one site by the words of the others.
    `smoothing`: `laplace`, `shrinkage` or `complement`. `classes`: `q`, or `clusters`: `bins`
    clusters of like link text instead of intervals. Raises InputError for a value that is none of
    these, and for webs without links.
    """
    check_word(NAME, "mode", mode, MODES)
    check_word(NAME, "classes", classes, CLASSES)
    in_range(NAME, gamma=(gamma, 0, 1), context=(context, 0, math.inf))
    if mode == "immediate" and classes == "clusters":
        raise InputError("classes = 'clusters' goes with mode = 'future' only")
    bins = 2 if mode == "immediate" else bins
    bounds = bounds_of(bins, gamma)
    examples_of_links = examples(
        webs, progress, neighbourhood=neighbourhood, gamma=gamma, context=context
    )
    if not len(examples_of_links.q):
        raise InputError("the sites to train on have no links within themselves")
    if classes == "q":
        share = one_hot(bin_of(examples_of_links.distance, bins), bins)
    else:
        share = cluster(examples_of_links.bags, bins, task.rng)
    model = fit(examples_of_links.bags, share, smoothing)
    counts_for = np.ones(len(examples_of_links.bags))
    if neighbourhood == "learned":
        counts_for = bag_weights(examples_of_links.bags, share, examples_of_links.site, smoothing)
    # The value of a bin is the mean Q of its links (section 2.4); an empty one has its least Q.
    total, size = (examples_of_links.q[:, None] * share).sum(axis=0), share.sum(axis=0)
    empty = np.append(bounds, 0.0) if classes == "q" else np.zeros(bins)
    value = np.where(size > 0, total / np.maximum(size, 1e-12), empty)
    if mode == "immediate":
        value = np.array([1.0, 0.0])
    settings = {
        "mode": mode,
        "bins": bins,
        "neighbourhood": neighbourhood,
        "gamma": gamma,
        "context": context,
        "smoothing": smoothing,
        "classes": classes,
    }
    weights = {
        "settings": settings,
        "vocabularies": [list(words) for words in examples_of_links.vocabularies],
        "value": value,
        "classifier": model.save(),
        "bag_weights": counts_for,
    }
    about = {
        "links": len(examples_of_links.q),
        "sites": [web.name for web in webs],
        "training": settings,
    }
    return pack_model(NAME, FEATURES, task.topic, weights, **about)


# ---------------------------------------------------------------- the crawl


@dataclass(eq=False)
class NaiveBayesPolicy(Saved):
    """Highest expected Q of the words around a link first; a tie goes to the link found first.

    `join`: how the values of a target join that is seen from several pages: `max`, `mean` or
    `last`. `scoring`: `expected`, the mean Q of the bins, or `target`, the probability of the first
    bin. `online`: what a link followed in the crawl counts as an example, against one of the
    training; 0: nothing is learned while crawling. All else is as the model was trained; where it
    is given it must agree. Raises InputError without a model. Cost: one sum of a few look-ups a
    link; on-line, all open links are valued anew whenever there are a quarter more pages.
    """

    task: InitVar[Task]
    _: KW_ONLY
    join: str = one_of(JOINS, "max")
    scoring: str = one_of(SCORINGS, "expected")
    online: float = at_least(0, 0.0)
    mode: str | None = None
    bins: int | None = None
    neighbourhood: str | None = None
    gamma: float | None = None
    context: int | None = None
    smoothing: str | None = None
    classes: str | None = None

    SAVED = attributes(_queue=PART, _seen=PAIRS, _online=PART)

    def __post_init__(self, task: Task) -> None:
        check_parameters(NAME, self)
        weights = needed_weights(task, NAME, FEATURES)
        self._settings: Mapping[str, Any] = weights["settings"]
        for name in self._settings:
            value = getattr(self, name)
            if value is not None and value != self._settings[name]:
                raise InputError(
                    f"the model was trained with {name} = {self._settings[name]!r}, not {value!r}; "
                    "leave that parameter out, or train anew"
                )
        if self._settings["classes"] == "clusters" and (self.online or self.scoring == "target"):
            raise InputError(
                f"{NAME}: scoring = 'target' and online need bins by distance, and the model has "
                "clusters; leave them out, or train with classes = 'q'"
            )
        self._value: Floats = weights["value"]
        self._counts_for: Sequence[float] = np.asarray(
            weights.get("bag_weights", np.ones(len(weights["vocabularies"])))
        ).tolist()
        self._kinds = bags_of(self._settings["neighbourhood"], self._settings["context"])
        trained = NaiveBayes.load(weights["classifier"])
        vocabularies = weights["vocabularies"]
        self._use(trained, [{word: row for row, word in enumerate(it)} for it in vocabularies])
        self._queue = PriorityQueue()
        self._seen: dict[LinkId, int] = {}  # in-links of each link, for their mean
        self._online = OnlineBayes(trained, vocabularies, self.online) if self.online else None
        if self._online is not None:
            self.relearn = self._relearn  # `protocols.Relearns`, where there is what to relearn

    def _use(self, classifier: NaiveBayes, vocabularies: Sequence[dict[str, int]]) -> None:
        self._classifier = classifier
        self._scores = [
            _Scores(kind, words, table * weight)
            for kind, words, table, weight in zip(
                self._kinds, vocabularies, classifier.log_words, self._counts_for, strict=True
            )
        ]

    def values(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> Floats:
        """Values of hyperlinks (URL, anchor) of one page, (n,)."""
        return self._valued(self.log_joint(page, links))

    def _valued(self, log_joint: Floats) -> Floats:
        share = posterior(log_joint)
        if self.scoring == "target":
            return share[:, 0]
        # A product of matrices may round a row otherwise as the number of rows changes.
        value: Floats = (share * self._value).sum(axis=1)
        return value

    def log_joint(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> Floats:
        """ln P(class, words) of hyperlinks of one page, (n, classes)."""
        total = np.tile(self._classifier.log_prior, (len(links), 1))
        for scores in self._scores:
            total += scores.of(page, links)
        return total

    def observe(self, seen: InLinks) -> None:
        page = seen.page
        if page is None:
            values = [float(self._value.max())] * len(seen)  # seeds are first
        else:
            links = [(url, seen.anchor(index)) for index, url in enumerate(seen.urls)]
            values = self.values(page, links).tolist() if links else []
            if self._online is not None:
                for link, (url, anchor) in zip(seen.links, links, strict=True):
                    words = [kind.words(page, url, anchor) for kind in self._kinds]
                    self._online.saw(link, seen.parent, words)
        queue, join = self._queue, self.join
        for link, host, value in zip(seen.links, seen.hosts, values, strict=True):
            if join == "mean":
                count = self._seen.get(link, 0) + 1 if link in queue else 1
                if count > 1:
                    value = queue.value(link) + (value - queue.value(link)) / count
                self._seen[link] = count
            elif join == "max" and link in queue:
                value = max(value, queue.value(link))
            queue.push(link, host, value)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        self._seen.pop(link, None)
        said = "probability of a target" if self.scoring == "target" else "expected return"
        return Choice(link, 1.0, ((f"{said} by its words", value),))

    def learn(self, outcome: Outcome) -> None:
        if self._online is None:
            return
        link = outcome.choice.link
        if outcome.judgement is None:
            self._online.forget(link)
        elif self._online.learn(link, outcome.judgement.relevant):
            self._use(*self._online.fit())
            self._value_anew(self._online)

    def _relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """A page was judged anew; on-line learning takes it at its next fit."""
        if self._online is not None:
            self._online.relearn(link, after.relevant)

    def _value_anew(self, online: OnlineBayes) -> None:
        """Value all open links by what is known now."""
        sums = [scores.of_texts(online.texts(bag)) for bag, scores in enumerate(self._scores)]
        for link, in_links in online.open():
            if link not in self._queue:
                continue
            total = np.tile(self._classifier.log_prior, (len(in_links), 1))
            for bag, table in enumerate(sums):
                total += table[[rows[bag] for rows in in_links]]
            values = self._valued(total)
            value = {"max": values.max(), "mean": values.mean(), "last": values[-1]}[self.join]
            self._queue.push(link, self._queue.host(link), float(value))

    def load(self, state: State) -> None:
        super().load(state)
        restored = self._online.restored() if self._online is not None else None
        if restored is not None:
            self._use(*restored)

    def explain(self) -> list[tuple[str, str, float]]:
        """Table 2: the words that each class is predicted by, by weighted log-odds, with their bag:
        (class, word (bag), P(w|c) · ln(P(w|c) / P(w|not c)))."""
        names = [
            f"{word} ({scores.kind.name})" for scores in self._scores for word in scores.vocabulary
        ]
        odds = np.concatenate(
            [self._classifier.log_odds(bag) for bag in range(len(self._scores))], axis=0
        )
        rows: list[tuple[str, str, float]] = []
        for column, group in enumerate(self._class_names()):
            order = np.argsort(-odds[:, column], kind="stable")[:EXPLAINED]
            rows += [
                (group, names[index], float(odds[index, column]))
                for index in order
                if odds[index, column] > 0
            ]
        return rows

    def _class_names(self) -> list[str]:
        bins, gamma = self._settings["bins"], self._settings["gamma"]
        if self._settings["classes"] == "clusters":
            names = [f"cluster {number}" for number in range(1, bins + 1)]
        elif gamma > 0.5:
            near = [
                f"{number} link{'s' * (number > 1)} before a target"
                for number in range(1, bins - 1)
            ]
            names = ["a target", *near, f"{bins - 1} or more links before a target, or none"]
        else:
            ends = [f"{bound:.4g}" for bound in bounds_of(bins, gamma).tolist()]
            between = [f"{high} > Q ≥ {low}" for high, low in pairwise(ends)]
            names = ["Q ≥ 1", *between, f"{ends[-1]} > Q"]
        sizes = self._classifier.sizes.tolist()
        return [
            f"{name}: {size:,.0f} links, worth {value:.4f}"
            for name, size, value in zip(names, sizes, self._value.tolist(), strict=True)
        ]


class _Scores:
    """Σ ln P(w | c) over one bag, remembered by text: navigation repeats the same words."""

    def __init__(self, kind: BagOf, vocabulary: dict[str, int], log_words: Floats) -> None:
        self.kind = kind
        self.vocabulary = vocabulary
        # A row of zeros ends every text, so that none is empty.
        self._log_words = np.vstack([log_words, np.zeros((1, log_words.shape[1]))])
        self._rows: dict[Hashable, int] = {}
        self._sums = np.zeros((1024, log_words.shape[1]))

    def of(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> Floats:
        """The sums of hyperlinks of one page, (n, classes)."""
        if len(self._rows) > _MEMO:
            self._rows.clear()
        rows, key_of = self._rows, self.kind.key
        first = len(rows)
        new: list[tuple[str, Anchor]] = []
        row_of: list[int] = []
        for link in links:
            key = key_of(page, *link)
            row = rows.get(key)
            if row is None:
                row = rows[key] = len(rows)
                new.append(link)
            row_of.append(row)
        if new:
            self._add(page, new, first)
        return self._sums[row_of]

    def of_texts(self, texts: Sequence[Sequence[str]]) -> Floats:
        """The sums of texts, (n, classes)."""
        if not texts:
            return np.zeros((0, self._log_words.shape[1]))
        find, end = self.vocabulary.get, len(self.vocabulary)
        words: list[int] = []
        begins: list[int] = []
        for text in texts:
            begins.append(len(words))
            words += [word for word in map(find, text) if word is not None]
            words.append(end)
        return np.add.reduceat(self._log_words[words], begins)

    def _add(self, page: Page, new: Sequence[tuple[str, Anchor]], first: int) -> None:
        while first + len(new) > len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
        sums = self.of_texts([self.kind.words(page, url, anchor) for url, anchor in new])
        self._sums[first : first + len(new)] = sums
