"""Which known page of its host says nearly what a page says that was just found: a document that
moved, and of which the page around it, or a sentence, is another now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from heapq import nsmallest

import numpy as np

from spoor.bounded import remember
from spoor.types import State
from spoor.web.sentences import plain, signature

MOST_SKETCHES = 75_000
"""Sentences and titles by which pages are found again; those noted longest ago leave."""

SKETCH = 4
"""Sentences of a page by which it is found again, those with the least signatures: two pages that
have half of their sentences in common share one of these in 15 cases of 16."""

SAME = 0.9
"""Resemblance from which on two pages that are both there are one document, in [0, 1]."""

MOVED = 0.5
"""The same where the older one is there no more."""

LESS = 0.3
"""The same where the older one leads to the newer, or is there no more and had its title."""

LEAST_TITLE = 3
"""Words of a title by which a page is found."""

LEAST_COMMON = 3
"""Sentences that two such pages have in common at least."""


class NearCopies:
    """Pages of each host by a sketch of their sentences, and by their titles: what another host
    prints too hides none. O(sentences) a page."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, int] = OrderedDict()
        """Signature of a sentence at a host → its page that was noted last with it."""

    def note(self, url: int, host: str, keys: Iterable[int], title: str = "") -> None:
        """A page has these sentences and this title now."""
        for key in _sketch(host, keys, title):
            remember(self._pages, key, url, MOST_SKETCHES)

    def candidates(self, host: str, keys: Iterable[int], title: str = "") -> list[int]:
        """Pages of a host that may resemble one with these sentences and this title, each once."""
        found = (self._pages.get(key) for key in _sketch(host, keys, title))
        return list(dict.fromkeys(url for url in found if url is not None))

    def leave(self, url: int, host: str, keys: Collection[int], title: str = "") -> None:
        """A page with these sentences and this title is known no more."""
        for key in _sketch(host, keys, title):
            if self._pages.get(key) == url:
                del self._pages[key]

    def save(self) -> State:
        return {
            "keys": np.array(list(self._pages), dtype=np.uint64),
            "pages": np.array(list(self._pages.values()), dtype=np.int64),
        }

    def load(self, state: State) -> None:
        pairs = zip(state["keys"].tolist(), state["pages"].tolist(), strict=True)
        self._pages = OrderedDict(pairs)


def _sketch(host: str, keys: Iterable[int], title: str) -> list[int]:
    """By which a page is found: some of its sentences, and its title where that says enough."""
    words = plain(title).split()
    of_title = [signature(" ".join(["title", *words]))] if len(words) >= LEAST_TITLE else []
    own = signature(host)
    return [key ^ own for key in nsmallest(SKETCH, keys) + of_title]
