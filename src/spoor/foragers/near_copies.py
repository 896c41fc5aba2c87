"""Which known page of its host says nearly what a page says that was just found: a document that
moved, and of which the page around it, or a sentence, is another now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from heapq import nsmallest

import numpy as np

from spoor.bounded import remember
from spoor.types import State

MOST_SKETCHES = 60_000
"""Sentences by which pages are found again; those noted longest ago leave."""

SKETCH = 4
"""Sentences of a page by which it is found again, those with the least signatures: two pages that
have half of their sentences in common share one of these in 15 cases of 16."""

SAME = 0.9
"""Resemblance from which on two pages that are both there are one document, in [0, 1]."""

MOVED = 0.5
"""The same where the older one is there no more."""

LEAST_COMMON = 3
"""Sentences that two such pages have in common at least."""


class NearCopies:
    """Pages by a sketch of their sentences. O(sentences) a page."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, int] = OrderedDict()
        """Signature of a sentence → the page that was noted last with it."""

    def note(self, url: int, keys: Iterable[int]) -> None:
        """A page has these sentences now."""
        for key in nsmallest(SKETCH, keys):
            remember(self._pages, key, url, MOST_SKETCHES)

    def candidates(self, keys: Iterable[int]) -> list[int]:
        """Pages that may resemble one with these sentences, each once."""
        found = (self._pages.get(key) for key in nsmallest(SKETCH, keys))
        return list(dict.fromkeys(url for url in found if url is not None))

    def leave(self, url: int, keys: Collection[int]) -> None:
        """A page with these sentences is known no more."""
        for key in nsmallest(SKETCH, keys):
            if self._pages.get(key) == url:
                del self._pages[key]

    def save(self) -> State:
        return {
            "keys": np.array(list(self._pages), dtype=np.uint64),
            "pages": np.array(list(self._pages.values()), dtype=np.int64),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        pairs = zip(state["keys"].tolist(), state["pages"].tolist(), strict=True)
        self._pages = OrderedDict(pairs)
