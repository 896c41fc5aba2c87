"""What feeds and sitemaps say of other pages."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np

from spoor.columns import column
from spoor.types import State


class Hints:
    """What feeds and sitemaps say of other pages, and how often each was right."""

    TRIALS = 10
    RIGHT = 0.2
    """Least share of right hints of a page that is believed, after so many."""

    def __init__(self) -> None:
        self.open: OrderedDict[int, int] = OrderedDict()
        """Page that is said to have changed → who says it."""
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
        """A page was asked for: whether it had changed."""
        source = self.open.pop(url, None)
        if source is not None:
            (self._right if right else self._wrong)[source] += 1

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        for url in left:
            self.open.pop(url, None)
            del self._right[url], self._wrong[url]
        for url, source in self.open.items():
            if source in left:
                self.open[url] = -1

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
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self.open = OrderedDict(map(tuple, state["open"].tolist()))
        self._right = Counter(dict(map(tuple, state["right"].tolist())))
        self._wrong = Counter(dict(map(tuple, state["wrong"].tolist())))


def pairs(items: Collection[tuple[int, int]], dtype: type[np.generic] = np.int64) -> Any:
    return column(chain.from_iterable(items), 2 * len(items), dtype).reshape(-1, 2)
