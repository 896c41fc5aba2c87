"""What feeds, sitemaps and lists say of other pages."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np

from spoor.columns import column
from spoor.types import State

NOBODY = -1
"""Who is known no more."""


class Hints:
    """What feeds and sitemaps say of other pages, and how often each was right."""

    TRIALS = 10
    RIGHT = 0.2
    """Least share of right hints of a page that is believed, after so many."""
    MOST_MARKUPS = 20_000
    """Markups of lists whose hints are counted, and ways of a link to move in each; those of which
    a hint was settled first leave."""

    def __init__(self) -> None:
        self.open: OrderedDict[int, int] = OrderedDict()
        """Page that is said to have changed → who says it: a page, or lists of one markup
        (`by_lists`)."""
        self._markups: dict[int, None] = {}
        self._right: Counter[int] = Counter()
        self._wrong: Counter[int] = Counter()

    def believed(self, source: int) -> bool:
        """Whether a page has been right often enough."""
        right, wrong = self._right[source], self._wrong[source]
        return right + wrong < self.TRIALS or right >= self.RIGHT * (right + wrong)

    def add(self, url: int, source: int) -> None:
        """`source` says that a page has changed."""
        if self.believed(source):
            self.open[url] = source

    def settle(self, url: int, right: bool) -> None:
        """A page was asked for: whether it had changed, or is there no more."""
        source = self.open.pop(url, None)
        if source is None:
            return
        (self._right if right else self._wrong)[source] += 1
        if source < NOBODY:
            self._markups.pop(source, None)
            self._markups[source] = None
            if len(self._markups) > self.MOST_MARKUPS:
                self._forget(next(iter(self._markups)))

    def _forget(self, source: int) -> None:
        self._markups.pop(source, None)
        del self._right[source], self._wrong[source]

    def drop(self, url: int) -> None:
        """A page was asked for, and what came says nothing of whether it had changed."""
        self.open.pop(url, None)

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        for url in left:
            self.open.pop(url, None)
            del self._right[url], self._wrong[url]
        for url, source in self.open.items():
            if source in left:
                self.open[url] = NOBODY

    def counts(self) -> dict[int, tuple[int, int]]:
        """Source → (right, wrong)."""
        return {
            source: (self._right[source], self._wrong[source])
            for source in self._right | self._wrong
        }

    def save(self) -> State:
        return {
            "open": pairs(self.open.items()),
            "right": pairs(self._right.items()),
            "wrong": pairs(self._wrong.items()),
            "markups": list(self._markups),
        }

    def load(self, state: State) -> None:
        self.open = OrderedDict(map(tuple, state["open"].tolist()))
        self._right = Counter(dict(map(tuple, state["right"].tolist())))
        self._wrong = Counter(dict(map(tuple, state["wrong"].tolist())))
        self._markups = dict.fromkeys(state.get("markups", ()))


def by_lists(path: int, kind: int) -> int:
    """Who says that a page has changed, where its link moved in a list of this markup, in this
    way (`spoor.watching.list_moves`): no page has such a number."""
    return NOBODY - 1 - 4 * path - kind


def pairs(items: Collection[tuple[int, int]], dtype: type[np.generic] = np.int64) -> Any:
    return column(chain.from_iterable(items), 2 * len(items), dtype).reshape(-1, 2)
