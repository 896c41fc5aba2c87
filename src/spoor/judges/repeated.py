"""What a site repeats in the texts of its pages: menus, tables of contents, footers.

A text is cut into pieces where a word, by its own number, says so, so that pieces that are the same
are cut alike wherever they stand. What stands on many pages of a site tells nothing of any of them,
and is left out of the others.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import remember
from spoor.types import State

Numbers = NDArray[np.uint64]
Floats = NDArray[np.float64]

FIRST = 16
"""Pages of a site before anything of it is repeated."""
PAGES = 4
"""Pages on which a piece stands, at least, …"""
SHARE = 0.2
"""… and that share of the pages of its site, where it is repeated; …"""
ENOUGH = 40
"""… so many pages are enough on any site."""
LONG = 100
"""Words of a text from which on what is on many pages of its folder …"""
OF_FOLDER = 0.5
"""… is repeated, too: that share of them."""
MENU = 32
"""Links from which on what is on so many pages of its folder is a menu."""
LEAST = 8
"""Words that are left at least: else a page is a copy of others."""
ONE_OF = 8
"""One word of so many ends a piece."""
PLACES = 24
"""Places of words of the wish in the text of a page that are known."""
SETTLED = 256
"""Pages of a site after which no piece of a page is found to be repeated."""
_PIECES, _SITES = 60_000, 50_000
"""Pieces and sites that are remembered."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def pieces_of(words: Numbers, site: int) -> tuple[NDArray[Any], Numbers]:
    """Where the pieces of a text begin, and the number of each; `words`: numbers of its words. O(n)
    by arrays."""
    mixed = (words + np.uint64(1)) * _MIX
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX
    mixed ^= mixed >> _SHIFT
    ends = mixed % np.uint64(ONE_OF) == 0
    begins = np.append(0, np.flatnonzero(ends[:-1]) + 1)
    numbers = np.add.reduceat(mixed, begins)
    numbers += np.uint64(site)
    return begins, numbers


@dataclass(slots=True)
class InText:
    """What a page says of the leaves of a wish by its text and else, so that it can be found anew
    when more is known of its site."""

    misses: Floats
    """Of each leaf what the rest of the page leaves open, (leaves, 2)."""
    often: Floats
    """How often each stands in the text, by its length, (leaves, 2)."""
    at: int = 0
    """Pages of its site when it was read."""
    pieces: Numbers = field(default_factory=lambda: np.zeros(0, np.uint64))
    leaves: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Places in the text: the piece, and the leaf that stands in it."""

    def evidence(self, weights: Floats, repeated: Sequence[bool]) -> Floats:
        """What the page says, (leaves, 2), where these of its places are repeated. `weights`: what
        a text may say of each leaf at most."""
        size = len(weights)
        every = np.bincount(self.leaves, minlength=size)
        own = np.bincount(self.leaves, np.logical_not(repeated), minlength=size)
        shares = np.where(every, own / np.maximum(every, 1), 1.0)
        said = weights[:, None] * (1.0 - 0.5 ** (self.often * shares[:, None]))
        return np.asarray(1.0 - self.misses * (1.0 - said))


TEXTS = ("of", "at", "misses", "often", "sizes", "pieces", "leaves")
"""Names of the arrays of `as_arrays`."""


def as_arrays(texts: Sequence[InText | None], leaves: int) -> State:
    """What pages say by their texts as arrays, to save them."""
    there = [at for at, its in enumerate(texts) if its is not None]
    kept = [its for its in texts if its is not None]
    none = np.zeros((0, leaves, 2))
    return {
        "of": np.array(there, np.uint32),
        "at": np.array([its.at for its in kept], np.uint32),
        "misses": np.array([its.misses for its in kept]) if kept else none,
        "often": np.array([its.often for its in kept]) if kept else none,
        "sizes": np.array([len(its.pieces) for its in kept], np.uint32),
        "pieces": np.concatenate([np.zeros(0, np.uint64), *(its.pieces for its in kept)]),
        "leaves": np.concatenate([np.zeros(0, np.uint8), *(its.leaves for its in kept)]),
    }


def from_arrays(state: State) -> dict[int, InText]:
    """Place of a page → its `InText`, as `as_arrays` saved it."""
    ends = np.cumsum(state["sizes"].astype(int)).tolist()
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    pieces, leaves = state["pieces"], state["leaves"]
    rows = zip(state["misses"], state["often"], state["at"].tolist(), parts, strict=True)
    texts = [
        InText(misses.copy(), often.copy(), at, pieces[its].copy(), leaves[its].copy())
        for misses, often, at, its in rows
    ]
    return dict(zip(state["of"].tolist(), texts, strict=True))


class Repeated:
    """The pieces of all sites."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, int] = OrderedDict()
        """Of each site."""
        self._having: OrderedDict[int, int] = OrderedDict()
        """Piece → pages."""

    def page(self, site: int, folder: int) -> None:
        """Count a page of a site."""
        for part in (site, folder):
            remember(self._pages, part, self._pages.get(part, 0) + 1, _SITES)

    def own_links(
        self, site: int, folder: int, having: Floats, *, words: int
    ) -> NDArray[np.int64]:
        """Which links of a page are not of a long menu; `having`: how many pages have each. Where
        there is no text of so many words, links are all that tells pages apart."""
        if words >= LONG and self._pages.get(site, 0) >= FIRST:
            is_own = having < max(PAGES, OF_FOLDER * self._pages.get(folder, 0))
            if len(having) - int(is_own.sum()) >= MENU:
                return np.flatnonzero(is_own)
        return np.arange(len(having))

    def pages(self, site: int) -> int:
        """Pages of a site."""
        return self._pages.get(site, 0)

    def add(
        self, site: int, folder: int, words: Numbers
    ) -> tuple[NDArray[np.bool_] | None, Numbers]:
        """Count a text: which of its words are not repeated (None for all), and the pieces of
        these words."""
        if not len(words):
            return None, words
        begins, numbers = pieces_of(words, site)
        least, having = self._least(site), self._having
        pieces = numbers.tolist()
        before = [having.get(piece, 0) for piece in pieces]
        for piece, times in dict(zip(pieces, before, strict=True)).items():
            remember(having, piece, times + 1, _PIECES)
        often, sizes = np.array(before), np.diff(np.append(begins, len(words)))
        is_own = often < least
        if least < math.inf:
            of_folder = often >= max(PAGES, OF_FOLDER * self._pages.get(folder, 0))
            if int(sizes[of_folder].sum()) >= LONG:
                is_own &= ~of_folder
        of_words = np.repeat(numbers, sizes)
        if is_own.all():
            return None, of_words
        own = np.repeat(is_own, sizes)
        return (own, of_words[own]) if int(own.sum()) >= LEAST else (None, of_words)

    def of(self, site: int, pieces: Numbers) -> list[bool]:
        """Whether each piece is repeated."""
        least = self._least(site)
        return [self._having.get(piece, 0) > least for piece in pieces.tolist()]

    def _least(self, site: int) -> float:
        pages = self._pages.get(site, 0)
        return math.inf if pages < FIRST else min(ENOUGH, max(PAGES, SHARE * pages))

    def save(self) -> State:
        """Go on with `load`."""
        return {
            "sites": np.array([*self._pages], np.uint64),
            "pages": np.array([*self._pages.values()], np.uint32),
            "pieces": np.array([*self._having], np.uint64),
            "having": np.array([*self._having.values()], np.uint32),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        pages, having = state["pages"].tolist(), state["having"].tolist()
        self._pages = OrderedDict(zip(state["sites"].tolist(), pages, strict=True))
        self._having = OrderedDict(zip(state["pieces"].tolist(), having, strict=True))
