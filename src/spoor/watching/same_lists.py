"""Lists of a watch that show the same: a look at one serves the other, too."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spoor.learn.saved_attributes import ARRAY, attributes
from spoor.watching.columns import Columns, Floats, Integers


class SameLists(Columns):
    """Of what appeared on each page when another page had shown it before, how much that was, and
    which page showed most of it (Boyer and Moore's vote)."""

    SAVED = attributes(again=ARRAY, beside=ARRAY, common=ARRAY)

    def __init__(self) -> None:
        self.again: Integers = np.zeros(0, dtype=np.int64)
        """URLs that appeared on it when they had appeared on another page before."""
        self.beside: Integers = np.zeros(0, dtype=np.int64)
        """The page that showed most of these before, where `common` is not 0."""
        self.common: Integers = np.zeros(0, dtype=np.int64)
        """At least so many of them that one had shown."""

    def in_common(self, page: int, other: int) -> None:
        """A URL appeared on a page that another had shown before. Nothing is said of the other:
        this one may show all of it, and later."""
        if not self.common[page]:
            self.beside[page] = other
        self.common[page] += 1 if self.beside[page] == other else -1

    def waiting(
        self, rates: Floats, appeared: Integers, last: Floats, now: float, pages: Integers
    ) -> tuple[Floats, Floats]:
        """Documents that have come to each of `pages` since its last look by now, but for those
        that looks at the page beside it have shown, and twice the time that they have waited in
        all. `rates`: documents a second, of each of them; of all pages, `appeared`: URLs that
        nobody knew, and `last`: the last look. O(pages)."""
        beside, own = self.beside[pages], self.common[pages]
        # Two that each show what the other shows later: looks at either serve both.
        mutual = (self.common[beside] > 0) & (self.beside[beside] == pages)
        theirs = np.where(mutual, np.minimum(own, self.common[beside]), 0)
        shown = appeared[pages] + self.again[pages]
        common = np.minimum(own + theirs, shown) / (shown + 1.0)
        since = now - last[pages]
        other, alone = np.minimum(since, now - last[beside]), 1.0 - common
        return (
            rates * (alone * since + common * other),
            rates * (alone * since**2 + common * other**2),
        )

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        self.clear(list(left))
        self.common[np.isin(self.beside, list(left))] = 0
