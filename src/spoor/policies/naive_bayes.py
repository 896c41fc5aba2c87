"""Link words → discounted future reward, by naive Bayes.

Rennie and McCallum (1999), "Using reinforcement learning to spider the Web efficiently", ICML. Off
line the exact value Q of every hyperlink of known sites is computed; links are put into bins by how
far the nearest target is; and a naive Bayes classifier learns which words around a hyperlink speak
for which bin. The crawl is best-first by the expected Q. Card: docs/algorithms/naive-bayes.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spoor.errors import InputError
from spoor.learn.naive_bayes import Bag, NaiveBayes, Vocabulary, cluster, fit, one_hot, posterior
from spoor.learn.parameters import check_parameters, check_word, in_range, one_of
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.returns import distances_to_target, horizon_of, link_values
from spoor.learn.saved import PAIRS, PART, Saved, attributes
from spoor.learn.trained_model import needed_weights, pack_model
from spoor.protocols import Offer
from spoor.types import Anchor, Choice, InLinks, KnownWeb, LinkId, Outcome, Page, State, Task
from spoor.web.text import tokens
from spoor.web.urls import words as url_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NAME = "naive-bayes"
FEATURES = "bags of words 1"
MODES = ("immediate", "future")
JOINS = ("max", "mean", "last")
CLASSES = ("q", "clusters")
EXPLAINED = 200
"""Words of each class that `explain` names."""
MOST_BINS = 100
"""A bin is a column of each table of words."""
_MEMO = 100_000


# ---------------------------------------------------------------- neighbourhood text


Words = Callable[[Page, str, Anchor], list[str]]
Key = Callable[[Page, str, Anchor], Hashable]


class BagOf(NamedTuple):
    """One bag of a hyperlink: its words, given the page, the target's URL and the anchor."""

    name: str
    key: Key
    """Hyperlinks with the same key have the same words."""
    words: Words


def bags_of(neighbourhood: str, context: int) -> tuple[BagOf, ...]:
    """The bags of a neighbourhood (section 3). Raises InputError for an unknown one."""
    if neighbourhood == "full-page":
        return (
            BagOf("page", lambda page, url, anchor: page.url, lambda page, url, anchor: _all(page)),
            BagOf(
                "link",
                lambda page, url, anchor: (anchor.text, url),
                lambda page, url, anchor: [*tokens(anchor.text), *_path(url)],
            ),
        )
    if neighbourhood == "related":

        def near(page: Page, url: str, anchor: Anchor) -> list[str]:
            before = tokens(anchor.before)
            return before[max(0, len(before) - context) :] + tokens(anchor.after)[:context]

        return (
            BagOf(
                "head",
                lambda page, url, anchor: (page.title, anchor.headings),
                lambda page, url, anchor: tokens(" ".join((page.title, *anchor.headings))),
            ),
            BagOf(
                "link",
                lambda page, url, anchor: anchor.text,
                lambda page, url, anchor: tokens(anchor.text),
            ),
            BagOf(
                "url",
                lambda page, url, anchor: url,
                lambda page, url, anchor: _path(url),
            ),
            BagOf("near", lambda page, url, anchor: (anchor.before, anchor.after), near),
        )
    raise InputError(f"unknown neighbourhood {neighbourhood!r}; there are: full-page, related")


def _all(page: Page) -> list[str]:
    return tokens(f"{page.title} {page.text}")


def _path(url: str) -> list[str]:
    parts = url_words(url)
    return [*parts.directories, *parts.file]


# ---------------------------------------------------------------- training


@dataclass(frozen=True, slots=True)
class Examples:
    """Every hyperlink of some sites within its site: its bags, its value, and its distance."""

    bags: tuple[Bag, ...]
    q: Floats
    distance: Integers
    """Links from the destination to the nearest target; -1 where none is within the horizon."""
    vocabularies: tuple[Mapping[str, int], ...]


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
    of = sum(len(web.graph.urls) for web in webs)
    done = 0
    for web in webs:
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


def bin_of(distance: Integers, bins: int) -> Integers:
    """Number of the bin of each link, by how far the nearest target is from its destination: 0 for
    a target, 1 for a page that links to one, …; all others (-1: none in reach) are in the last.

    For γ ≤ 0.5 these are the intervals of Q between the bounds 1, γ, γ², …: a link at distance d
    has γ^d ≤ Q < γ^d / (1 - γ) ≤ γ^(d - 1). A larger γ lets many far targets add up to more than
    one that is near, and the intervals would no longer tell a link to a target.
    """
    return np.where(distance < 0, bins - 1, np.minimum(distance, bins - 1))


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
    `neighbourhood`: `full-page` or `related`, with `context` words on either side of the link.
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
    `last`. All else is as the model was trained; where it is given it must agree. Raises InputError
    without a model. Cost: one sum of a few look-ups a link.
    """

    task: InitVar[Task]
    _: KW_ONLY
    join: str = one_of(JOINS, "max")
    mode: str | None = None
    bins: int | None = None
    neighbourhood: str | None = None
    gamma: float | None = None
    context: int | None = None
    smoothing: str | None = None
    classes: str | None = None

    SAVED = attributes(_queue=PART, _seen=PAIRS)

    def __post_init__(self, task: Task) -> None:
        check_parameters(NAME, self)
        weights = needed_weights(task, NAME, FEATURES)
        self._settings: Mapping[str, Any] = weights["settings"]
        for name in (parameter.name for parameter in fields(self) if parameter.name != "join"):
            value = getattr(self, name)
            if value is not None and value != self._settings[name]:
                raise InputError(
                    f"the model was trained with {name} = {self._settings[name]!r}, not {value!r}; "
                    "leave that parameter out, or train anew"
                )
        self._value: Floats = weights["value"]
        self._classifier = NaiveBayes.load(weights["classifier"])
        kinds = bags_of(self._settings["neighbourhood"], self._settings["context"])
        self._scores = [
            _Scores(kind, {word: column for column, word in enumerate(words)}, table)
            for kind, words, table in zip(
                kinds, weights["vocabularies"], self._classifier.log_words, strict=True
            )
        ]
        self._queue = PriorityQueue()
        self._seen: dict[LinkId, int] = {}  # in-links of each link, for their mean

    def values(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> Floats:
        """Expected Q of hyperlinks (URL, anchor) of one page, (n,)."""
        # A product of matrices may round a row otherwise as the number of rows changes.
        value: Floats = (posterior(self.log_joint(page, links)) * self._value).sum(axis=1)
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
        return Choice(link, 1.0, (("expected return by its words", value),))

    def learn(self, outcome: Outcome) -> None:
        pass

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

    def _add(self, page: Page, new: Sequence[tuple[str, Anchor]], first: int) -> None:
        find, end = self.vocabulary.get, len(self.vocabulary)
        words: list[int] = []
        begins: list[int] = []
        for url, anchor in new:
            begins.append(len(words))
            known = map(find, self.kind.words(page, url, anchor))
            words += [word for word in known if word is not None]
            words.append(end)
        while first + len(new) > len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
        self._sums[first : first + len(new)] = np.add.reduceat(self._log_words[words], begins)
