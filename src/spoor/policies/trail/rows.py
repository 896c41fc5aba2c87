"""The rows of features of open links, in arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.columns import parts_of, pieces_of
from spoor.learn.known_links import checked_links
from spoor.policies.trail.columns import COLUMNS, DENSE, LINKING_PAGES
from spoor.types import NO_PARENT, LinkId, State

FREE = 8
"""One in so many rows is free before those are taken again."""

SPARSE, LEAST = 4, 4_096
"""Where fewer than one in so many rows are a link's, of so many at least, they move together."""

_UNSEEN, _ROWLESS = -1, -2
"""In the place of a link's first row: it is not known, or no room was left when it was seen."""


def joined(parts: Iterable[Any], kind: type[np.generic]) -> NDArray[Any]:
    """The numbers of some arrays, one after the other."""
    return np.frombuffer(b"".join(parts), dtype=kind)


def split_again(stacked: NDArray[Any], counts: NDArray[np.int32]) -> list[NDArray[Any]]:
    """The arrays that `joined` put together, by their lengths; NumPy's `split` takes four times as
    long."""
    return [*pieces_of(stacked, counts)]


def doubled(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows with room for as many more, which uses no memory until they are filled."""
    more = np.zeros((2 * len(rows), rows.shape[1]), dtype=rows.dtype)
    more[: len(rows)] = rows
    return more


class LinkRows:
    """Rows of in-links, in arrays that grow to `capacity` rows, and what is known of each link by
    its number. Many are looked up at once: one by one, in a large dictionary, each would wait for
    memory, and take a hundred bytes of it. `most`: rows of a link that a state may have."""

    def __init__(self, capacity: int, most: float = 8) -> None:
        self.slots = np.zeros((1024, COLUMNS), dtype=np.int32)
        self.dense = np.zeros((1024, len(DENSE)), dtype=np.float32)
        self.of = np.full((1024, 1), _UNSEEN, dtype=np.int32)
        """The rows of a link, oldest first, negative where there is none."""
        self.parent = np.full(1024, NO_PARENT, dtype=np.int32)
        """The page that was the first to show it."""
        self.looks = np.zeros(1024, dtype=np.uint8)
        """How often a link was looked at beyond its rows."""
        self._turn = np.zeros(1024, dtype=np.int32)
        self._capacity, self._most = capacity, most
        self._used = 0
        self._free, self._ready = array("i"), array("i")
        """Rows of no link, as they became free; and those that are taken next, last first."""

    def room(self) -> int:
        """Rows that may still be entered."""
        return self._capacity - self._used + len(self._free) + len(self._ready)

    def _take(self, count: int) -> NDArray[np.int32]:
        """So many rows, which are no link's. Those that are free lie anywhere, and are taken in
        their order once they are many: so new rows stand together, and a checkpoint has less to
        write."""
        missing = count - len(self._ready)
        many = FREE * len(self._free) >= self._used or self._used + missing > self._capacity
        if missing > 0 and many:
            self._ready = array("i", sorted([*self._ready, *self._free], reverse=True))
            self._free = array("i")
        begin = max(0, len(self._ready) - count)
        old = self._ready[begin:]
        del self._ready[begin:]
        used, self._used = self._used, self._used + count - len(old)
        return np.array([*old, *range(used, self._used)], dtype=np.int32)

    def enter(
        self,
        links: Sequence[LinkId],
        before: Sequence[int],
        slots: NDArray[np.int32],
        dense: NDArray[np.float32],
    ) -> None:
        """New rows of links that have so many before, which tell how many pages link to it. There
        may be fewer rows than links: the rest have to go without."""
        count = len(slots)
        rows = self._take(count)
        while self._used > len(self.slots):
            self.slots, self.dense = doubled(self.slots), doubled(self.dense)
        self.slots[rows], self.dense[rows] = slots, dense
        self._widen(max(links), max(before) + 1)
        self.of[links[:count], before[:count]] = rows
        self.dense[rows, LINKING_PAGES] = self.dense[self.of[links[:count], 0], LINKING_PAGES]
        rest = [link for link, had in zip(links[count:], before[count:], strict=True) if not had]
        self.of[rest, 0] = _ROWLESS

    def _widen(self, link: LinkId, rows: int) -> None:
        """Room for this link, and for so many rows of each."""
        links, most = self.of.shape
        # The last row belongs to no link: links beyond are clipped to it.
        if link < links - 1 and rows <= most:
            return
        more = 2 * (link + 1) - links if link >= links - 1 else 0
        self.of = np.pad(self.of, ((0, more), (0, max(0, rows - most))), constant_values=_UNSEEN)
        self.parent = np.pad(self.parent, (0, more), constant_values=NO_PARENT)
        self.looks = np.pad(self.looks, (0, more))
        self._turn = np.zeros(len(self.of), dtype=np.int32)

    def known(self, links: Sequence[LinkId]) -> list[int]:
        """How many rows each of these has; −1 for one that is not known."""
        of = self.of.take(np.array(links, dtype=np.int64), axis=0, mode="clip")
        count: list[int] = ((of >= 0).sum(axis=1) - (of[:, 0] == _UNSEEN)).tolist()
        return count

    def of_link(self, link: LinkId) -> list[int]:
        """Its rows, oldest first."""
        if link >= len(self.of):
            return []
        return [row for row in self.of[link].tolist() if row >= 0]

    def parent_of(self, link: LinkId) -> LinkId:
        """The page that was the first to show it, or NO_PARENT."""
        return self.parent.item(link) if link < len(self.parent) else NO_PARENT

    def children(self, pages: Sequence[LinkId]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Links that these pages were the first to show, as far as they are still known, page by
        page, and at which place each one's page is. O(links that are known)."""
        place = np.full(max(int(self.parent.max()), *pages) + 2, -1, dtype=np.int32)
        place[pages] = np.arange(len(pages), dtype=np.int32)
        of = place.take(self.parent, mode="wrap")  # NO_PARENT is the last, which is no page
        links = np.flatnonzero(of >= 0)
        of = of.take(links)
        order = np.argsort(of, kind="stable")
        return links.take(order), of.take(order)

    def look(self, links: Sequence[LinkId], most: int) -> list[int]:
        """Indices of those that were looked at fewer than `most` times, each of which counts."""
        self._widen(max(links), 1)
        numbers = np.array(links, dtype=np.int64)
        fresh = np.flatnonzero(self.looks[numbers] < most)
        self.looks[numbers[fresh]] += 1
        indices: list[int] = fresh.tolist()
        return indices

    def count_page(self, links: Sequence[LinkId]) -> None:
        """One page more links to these, which have rows."""
        rows = self.of[links]
        rows = rows[rows >= 0]
        self.dense[rows, LINKING_PAGES] = np.log1p(np.exp(self.dense[rows, LINKING_PAGES]))

    def once(self, links: NDArray[np.int32]) -> NDArray[np.int32]:
        """The links that have rows, each at its first occurrence."""
        links = links[self.of.take(links * self.of.shape[1], mode="clip") >= 0]
        turn = np.arange(len(links), dtype=np.int32)
        self._turn[links[::-1]] = turn[::-1]
        alone: NDArray[np.int32] = links[self._turn[links] == turn]
        return alone

    def free(self, link: LinkId, rows: Sequence[int]) -> None:
        """The link, which has these rows, is known no more."""
        if link < len(self.of):
            self.of[link] = _UNSEEN
            self.parent[link] = NO_PARENT
            self.looks[link] = 0
            self._free.extend(rows)
            if SPARSE * (self._used - len(self._free) - len(self._ready)) < self._used > LEAST:
                self._close_up()

    def _close_up(self) -> None:
        """Move the rows that links have together, and give up the room of the others. O(all)."""
        kept = np.zeros(self._used, np.bool_)
        kept[self.of[self.of >= 0]] = True
        number = np.cumsum(kept, dtype=np.int32) - 1
        self.of = np.where(self.of >= 0, number[self.of], self.of)
        slots, dense = self.slots[: self._used][kept], self.dense[: self._used][kept]
        self._used, self._free, self._ready = len(slots), array("i"), array("i")
        self.slots = np.zeros((max(1024, 2 * len(slots)), COLUMNS), dtype=np.int32)
        self.dense = np.zeros((len(self.slots), len(DENSE)), dtype=np.float32)
        self.slots[: self._used], self.dense[: self._used] = slots, dense

    def all(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Every link that is known, how many rows each has, and these, in this order."""
        links = np.flatnonzero(self.of[:, 0] != _UNSEEN)
        of = self.of.take(links, axis=0)
        here = of >= 0
        return links, np.add.reduce(here, axis=1, dtype=np.int32), of[here]

    def save(self) -> State:
        """The rows as they stand, so that most of them is the same the next time; every link that
        is known, and where its rows are."""
        (links, counts, places), used = self.all(), self._used
        dense = self.dense[:used].copy()
        # This number alone changes in the rows of many links with every page.
        linking = dense[:, LINKING_PAGES].copy()
        dense[:, LINKING_PAGES] = 0.0
        return {
            "links": links.astype(np.int32),
            "counts": counts,
            "places": places,
            "free": np.array(self._free, np.int32),
            "ready": np.array(self._ready, np.int32),
            "rows": {"slots": self.slots[:used].copy(), "dense": dense, "linking pages": linking},
            "parent": self.parent[links],
            "looks": self.looks[links],
        }

    def load(self, state: State) -> None:
        """Go on from a state of `save`, where nothing is known yet."""
        self._used = len(state["rows"]["slots"])
        while len(self.slots) < self._used:
            self.slots, self.dense = doubled(self.slots), doubled(self.dense)
        self.slots[: self._used] = state["rows"]["slots"]
        self.dense[: self._used] = state["rows"]["dense"]
        self.dense[: self._used, LINKING_PAGES] = state["rows"]["linking pages"]
        links, counts, parents = state["links"], state["counts"], state["parent"]
        checked_links(np.concatenate([links, parents[parents != NO_PARENT]]))
        parts_of(counts, len(state["places"]))
        if counts.max(initial=0) > self._most:
            raise ValueError("a link has more rows than one may have")
        self._widen(int(links.max(initial=0)), int(counts.max(initial=1)))
        self.of[links[counts == 0], 0] = _ROWLESS
        nth = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        places, free, ready = state["places"], state["free"], state["ready"]
        taken = np.concatenate([places, free, ready])
        if len(places) != len(nth) or (np.sort(taken) != np.arange(self._used)).any():
            raise ValueError("a row belongs to no link, or to two")
        self.of[np.repeat(links, counts), nth] = places
        self._free = array("i", free.astype(np.int32).tobytes())
        self._ready = array("i", ready.astype(np.int32).tobytes())
        self.looks[links], self.parent[links] = state["looks"], parents
