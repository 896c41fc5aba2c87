"""What a crawl adds to a trained naive Bayes: the links that it followed itself, as examples.

Rennie and McCallum (1999, section 2.3) train off line and name learning on-line as what follows. A
link that was followed is an example once its page is judged. Its class is how far the nearest
target is along links of fetched pages; while none is known, the last class. Classes are made anew
at each fit, since what leads nowhere today may be two links from a target tomorrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.learn.naive_bayes import NaiveBayes, of_counts
from spoor.learn.saved_attributes import PAIRS, VALUE, Form, Saved, attributes, filled
from spoor.types import NO_PARENT, LinkId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIRST_FIT = 16
"""Pages before the first fit; each later one has a quarter more."""
IN_LINKS = 4
"""Kept of each link: the first ones."""
MOST = 100_000
"""Links that are kept, and texts of each bag; what comes later is neither learned from nor valued
anew."""

Rows = tuple[int, ...]
"""Of one in-link: the number of its text in each bag."""


@dataclass(slots=True)
class Kept:
    """A link with what its in-links say of it."""

    in_links: list[Rows]
    parents: list[LinkId]


LINKS = Form(
    lambda links: [
        [link, [list(rows) for rows in one.in_links], list(one.parents)]
        for link, one in links.items()
    ],
    lambda old, saved: filled(
        old,
        (
            (link, Kept([tuple(rows) for rows in in_links], list(parents)))
            for link, in_links, parents in saved
        ),
    ),
)
TEXTS = Form(
    lambda bags: [[list(words) for words in texts] for texts in bags],
    lambda old, saved: [{tuple(words): row for row, words in enumerate(texts)} for texts in saved],
)


class OnlineBayes(Saved):
    """Examples of a crawl beside those of a training, each worth `weight` of the latter."""

    SAVED = attributes(
        _links=LINKS, _texts=TEXTS, _done=PAIRS, _fitted=PAIRS, _pages=VALUE, _next=VALUE
    )

    def __init__(
        self, trained: NaiveBayes, vocabularies: Sequence[Sequence[str]], weight: float
    ) -> None:
        self._trained = trained
        self._vocabularies = vocabularies
        self._weight = weight
        self._links: dict[LinkId, Kept] = {}
        self._texts: list[dict[tuple[str, ...], int]] = [{} for _ in vocabularies]
        self._done: dict[LinkId, bool] = {}
        """Followed links, and whether each led to a target."""
        self._fitted: dict[LinkId, bool] = {}
        """The same when it was fitted last."""
        self._pages = 0
        self._next = FIRST_FIT

    def saw(self, link: LinkId, parent: LinkId, words: Sequence[Sequence[str]]) -> None:
        """An in-link of an open link, with its words in each bag."""
        kept = self._links.get(link)
        if kept is None:
            if len(self._links) >= MOST:
                return
            kept = self._links[link] = Kept([], [])
        if parent != NO_PARENT and parent not in kept.parents:
            kept.parents.append(parent)
        if len(kept.in_links) == IN_LINKS:
            return
        rows = [self._row(bag, tuple(said)) for bag, said in enumerate(words)]
        if None not in rows:
            kept.in_links.append(tuple(row for row in rows if row is not None))

    def _row(self, bag: int, words: tuple[str, ...]) -> int | None:
        """The number of a text; None for a new one where there are too many."""
        texts = self._texts[bag]
        if words not in texts and len(texts) >= MOST:
            return None
        return texts.setdefault(words, len(texts))

    def learn(self, link: LinkId, target: bool) -> bool:
        """A link was followed; whether it is time for a fit."""
        if link in self._links:
            self._done[link] = target
        self._pages += 1
        return self._pages >= self._next

    def forget(self, link: LinkId) -> None:
        """A link led to no page: it says nothing."""
        self._links.pop(link, None)

    def relearn(self, link: LinkId, target: bool) -> None:
        """What a page is was judged anew; it counts from the next fit on."""
        if link in self._done:
            self._done[link] = target

    def fit(self) -> tuple[NaiveBayes, list[dict[str, int]]]:
        """The classifier of all examples, and the vocabulary of each bag, whose first words are
        those of the training."""
        self._fitted = dict(self._done)
        self._next = max(self._pages + FIRST_FIT, self._pages * 5 // 4)
        return self._of_fitted()

    def restored(self) -> tuple[NaiveBayes, list[dict[str, int]]] | None:
        """What the last fit made, after `load`; None before the first."""
        return self._of_fitted() if self._fitted else None

    def open(self) -> Iterator[tuple[LinkId, list[Rows]]]:
        """The links that were not followed yet, with the texts of their in-links."""
        return (
            (link, one.in_links)
            for link, one in self._links.items()
            if link not in self._done and one.in_links
        )

    def texts(self, bag: int) -> list[tuple[str, ...]]:
        """All texts of a bag, by number."""
        return list(self._texts[bag])

    def distances(self) -> Mapping[LinkId, int]:
        """Links from each fitted example to the nearest target, where one is known."""
        far = {link: 0 for link, target in self._fitted.items() if target}
        row = list(far)
        for link in row:  # it grows: nearest first
            kept = self._links.get(link)
            for parent in kept.parents if kept else ():
                if parent not in far and parent in self._fitted:
                    far[parent] = far[link] + 1
                    row.append(parent)
        return far

    def _of_fitted(self) -> tuple[NaiveBayes, list[dict[str, int]]]:
        classes = len(self._trained.sizes)
        far = self.distances()
        sizes = self._trained.sizes.copy()
        found: list[dict[int, Floats]] = [{} for _ in self._texts]
        for link in self._fitted:
            column = min(far.get(link, classes - 1), classes - 1)
            for rows in self._links[link].in_links:
                sizes[column] += self._weight
                for bag, row in enumerate(rows):
                    if row not in found[bag]:
                        found[bag][row] = np.zeros(classes)
                    found[bag][row][column] += self._weight
        vocabularies, counts = [], []
        for bag, trained in enumerate(self._trained.counts):
            table, words = self._counts(bag, trained, found[bag])
            counts.append(table)
            vocabularies.append(words)
        return of_counts(counts, sizes, self._trained.smoothing), vocabularies

    def _counts(
        self, bag: int, trained: Floats, found: Mapping[int, Floats]
    ) -> tuple[Floats, dict[str, int]]:
        """How often each word occurs in each class in one bag, and the number of each word."""
        number = {word: row for row, word in enumerate(self._vocabularies[bag])}
        texts = self.texts(bag)
        columns: list[int] = []
        added: list[Any] = []
        for row, share in found.items():
            for word, count in Counter(texts[row]).items():
                columns.append(number.setdefault(word, len(number)))
                added.append(share * count)
        table = np.zeros((len(number), trained.shape[1]))
        table[: len(trained)] = trained
        if columns:
            np.add.at(table, columns, np.array(added))
        return table, number
