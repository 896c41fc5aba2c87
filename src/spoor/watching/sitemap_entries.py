"""What sitemaps listed at their last looks: of what stood there, nothing is new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from spoor.columns import pieces_of
from spoor.hashing import hash64
from spoor.types import State

MOST = 2_000_000
"""Entries of all sitemaps that are kept, 8 bytes each; those of the sitemap that was looked at
longest ago leave."""


class Listed:
    """Sitemap, by its number → 64 bits of each URL that it listed, in their order."""

    def __init__(self) -> None:
        self._of: OrderedDict[int, NDArray[np.uint64]] = OrderedDict()
        self._count = 0

    def see(self, sitemap: int, urls: Iterable[str]) -> tuple[set[int] | None, set[int]]:
        """Take in what a sitemap lists: what it listed before, None where that is not known, and
        what it lists now. O(n log n), some µs a URL."""
        now = set(map(hash64, urls))
        before = self._forget(sitemap)
        self._of[sitemap] = np.sort(np.fromiter(now, dtype=np.uint64, count=len(now)))
        self._count += len(now)
        while self._count > MOST:
            self._forget(next(iter(self._of)))
        return (None if before is None else set(before.tolist())), now

    def elsewhere(self, url: int, sitemap: int) -> bool:
        """Whether another sitemap lists the URL of these 64 bits. O(sitemaps)."""
        for one, urls in self._of.items():
            at = int(np.searchsorted(urls, np.uint64(url)))
            if one != sitemap and at < len(urls) and int(urls[at]) == url:
                return True
        return False

    def _forget(self, sitemap: int) -> NDArray[np.uint64] | None:
        its = self._of.pop(sitemap, None)
        self._count -= 0 if its is None else len(its)
        return its

    def leave(self, left: Collection[int]) -> None:
        """Sitemaps are known no more."""
        for url in left:
            self._forget(url)

    def save(self) -> State:
        its = list(self._of.values())
        return {
            "of": np.array(list(self._of), dtype=np.int64),
            "sizes": np.array(list(map(len, its)), dtype=np.int64),
            "urls": np.concatenate(its) if its else np.zeros(0, dtype=np.uint64),
        }

    def load(self, state: State) -> None:
        its = pieces_of(state["urls"].astype(np.uint64), state["sizes"])
        self._of = OrderedDict(zip(state["of"].tolist(), its, strict=True))
        self._count = sum(map(len, self._of.values()))
