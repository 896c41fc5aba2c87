"""What a site repeats on its pages: menus, tables of contents, footers.

A text is cut into pieces where a word, by its own number, says so (content-defined chunks), so that
what is the same is cut alike wherever it stands. A piece of many pages of a site tells nothing of
any of them, and is left out. Of the pages that came before that was known, what their words say is
found anew at each feedback, and they lose the terms and links that most of them have.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
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
OF_EARLY = 0.6
"""A term or link of a page that came before that was known is of the menu where this share of all
such pages of its site or folder has it."""
ONE_OF = 8
"""One word of so many ends a piece."""
PLACES = 24
"""Places of words of the wish in the text of a page that are known."""
SETTLED = 256
"""Pages of a site after which no piece of a page is found to be repeated."""
_PIECES, _SITES = 32_768, 50_000
"""Pieces, and sites and folders, that are remembered."""
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
    leaves: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    """Places in the text: the piece, and the leaf that stands in it."""
    is_less: bool = False
    """Whether some of its places are known to be repeated."""

    def evidence(self, weights: Floats, repeated: NDArray[np.bool_]) -> Floats:
        """What the page says, (leaves, 2), where these of its places are repeated. `weights`: what
        a text may say of each leaf at most."""
        size = len(weights)
        every = np.bincount(self.leaves, minlength=size)
        own = np.bincount(self.leaves, ~repeated, minlength=size)
        shares = np.where(every, own / np.maximum(every, 1), 1.0)
        said = weights[:, None] * (1.0 - 0.5 ** (self.often * shares[:, None]))
        return np.asarray(1.0 - self.misses * (1.0 - said))


TEXTS = ("of", "at", "less", "misses", "often", "sizes", "pieces", "leaves")
"""Names of the arrays of `as_arrays`."""


def as_arrays(texts: Sequence[InText | None], leaves: int) -> State:
    """What pages say by their texts as arrays, to save them."""
    there = [at for at, its in enumerate(texts) if its is not None]
    kept = [its for its in texts if its is not None]
    none = np.zeros((0, leaves, 2))
    return {
        "of": np.array(there, np.uint32),
        "at": np.array([its.at for its in kept], np.uint32),
        "less": np.array([its.is_less for its in kept], np.uint8),
        "misses": np.array([its.misses for its in kept]) if kept else none,
        "often": np.array([its.often for its in kept]) if kept else none,
        "sizes": np.array([len(its.pieces) for its in kept], np.uint32),
        "pieces": np.concatenate([np.zeros(0, np.uint64), *(its.pieces for its in kept)]),
        "leaves": np.concatenate([np.zeros(0, np.uint16), *(its.leaves for its in kept)]),
    }


def from_arrays(state: State) -> dict[int, InText]:
    """Place of a page → its `InText`, as `as_arrays` saved it. Raises `ValueError` where they do
    not fit one another."""
    shape = state["misses"].shape
    every = int(state["sizes"].sum())
    if state["often"].shape != shape or (state["leaves"] >= shape[1]).any():
        raise ValueError("leaves of a text that are none")
    if not every == len(state["pieces"]) == len(state["leaves"]):
        raise ValueError("pieces of no text")
    ends = np.cumsum(state["sizes"].astype(int)).tolist()
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    pieces, leaves = state["pieces"], state["leaves"]
    numbers = state["at"].tolist(), state["less"].tolist()
    rows = zip(state["misses"], state["often"], *numbers, parts, strict=True)
    texts = [
        InText(misses.copy(), often.copy(), at, pieces[its].copy(), leaves[its].copy(), bool(less))
        for misses, often, at, less, its in rows
    ]
    return dict(zip(state["of"].tolist(), texts, strict=True))


def common(pages: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """The numbers that most of some pages have, each of which has it once, in order."""
    every = np.sort(np.concatenate(pages))
    first = np.append(True, every[1:] != every[:-1])
    often = np.diff(np.flatnonzero(np.append(first, True)))
    return np.asarray(every[first][often >= OF_EARLY * len(pages)])


def repeating(texts: Sequence[tuple[int, InText]]) -> frozenset[int]:
    """Sites that say the words of the wish in what they repeat, as a footer: of most of their texts
    most places are on half of them, `PAGES` at least. `texts`: those with such words, and the site
    of each. O(places)."""
    its_texts = Counter(site for site, _ in texts)
    having = Counter(piece for _, its in texts for piece in {*its.pieces.tolist()})
    said: Counter[int] = Counter()
    for site, its in texts:
        least = max(PAGES, OF_FOLDER * its_texts[site])
        often = sum(having[piece] >= least for piece in its.pieces.tolist())
        said[site] += 1 if 2 * often > len(its.pieces) else -1
    return frozenset(site for site, more in said.items() if more > 0)


class Repeated:
    """The pieces of all sites."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, int] = OrderedDict()
        """Of each site and folder."""
        self._having: dict[int, int] = {}
        """Piece → pages."""
        self._with_menu: OrderedDict[int, None] = OrderedDict()
        """Sites and folders of which a page had much that is repeated."""

    def page(self, site: int, folder: int) -> None:
        """Count a page of a site and of a folder."""
        for part in (site, folder):
            remember(self._pages, part, self._pages.get(part, 0) + 1, _SITES)

    def own_links(self, site: int, folder: int, having: Floats, *, words: int) -> NDArray[np.int64]:
        """Which links of a page are not of a long menu; `having`: how many pages have each. Where
        there is no text of so many words, links are all that tells pages apart."""
        if words >= LONG and self._pages.get(site, 0) >= FIRST:
            is_own = having < max(PAGES, OF_FOLDER * self._pages.get(folder, 0))
            if len(having) - int(is_own.sum()) >= MENU:
                return np.flatnonzero(is_own)
        return np.arange(len(having))

    def is_early(self, site: int, folder: int) -> bool:
        """Whether a page came before it was known what its site or its folder repeats."""
        return self.pages(site) < FIRST or self.pages(folder) <= PAGES

    def has_menu(self, part: int) -> bool:
        """Whether a page of a site or folder had much that is repeated."""
        return part in self._with_menu

    def pages(self, site: int) -> int:
        """Pages of a site."""
        return self._pages.get(site, 0)

    def add(
        self, site: int, folder: int, words: Numbers
    ) -> tuple[NDArray[np.bool_] | None, Numbers]:
        """Count a text, `words` being numbers: which of its words are not repeated (None for all),
        and the piece of each of these. O(words)."""
        if not len(words):
            return None, words
        begins, numbers = pieces_of(words, site)
        least, having = self._least(site), self._having
        pieces = numbers.tolist()
        often = np.array([*map(having.get, pieces, repeat(0))])
        having.update(zip(pieces, (often + 1).tolist(), strict=True))
        if len(having) > _PIECES:
            self._forget()
        sizes = np.append(begins[1:], len(words)) - begins
        is_own = often < least
        if least < math.inf:
            of_folder = often >= max(PAGES, OF_FOLDER * self._pages.get(folder, 0))
            if int(sizes[of_folder].sum()) >= LONG:
                is_own &= ~of_folder
        of_words = np.repeat(numbers, sizes)
        if is_own.all():
            return None, of_words
        own = np.repeat(is_own, sizes)
        if len(own) - int(own.sum()) >= LONG:
            for part in (site, folder):
                remember(self._with_menu, part, None, _SITES)
        return (own, of_words[own]) if int(own.sum()) >= LEAST else (None, of_words)

    def _forget(self) -> None:
        """Keep three quarters: what is on several pages, and of the others the newest."""
        several = {piece: count for piece, count in self._having.items() if count > 1}
        once = [piece for piece, count in self._having.items() if count == 1]
        most = 3 * _PIECES // 4
        kept = [*several.items()][-most:]
        room = most - len(kept)
        self._having = dict(kept) | dict.fromkeys(once[len(once) - room :] if room else (), 1)

    def of(self, sites: Sequence[int], texts: Sequence[InText]) -> NDArray[np.bool_]:
        """Whether each piece of texts is repeated, one text after the other."""
        if not texts:
            return np.zeros(0, np.bool_)
        least = {site: self._least(site) for site in set(sites)}
        sizes = [len(its.pieces) for its in texts]
        pieces = np.concatenate([its.pieces for its in texts]).tolist()
        having = np.array([*map(self._having.get, pieces, repeat(0))])
        return np.asarray(having > np.repeat([least[site] for site in sites], sizes))

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
            "menus": np.array([*self._with_menu], np.uint64),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        pages, having = state["pages"].tolist(), state["having"].tolist()
        self._pages = OrderedDict(zip(state["sites"].tolist(), pages, strict=True))
        self._having = dict(zip(state["pieces"].tolist(), having, strict=True))
        self._with_menu = OrderedDict.fromkeys(state["menus"].tolist())
