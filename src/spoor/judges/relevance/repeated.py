"""What a site repeats on its pages: menus, tables of contents, footers, headings of parts.

A text is cut into pieces where a word, by its own number, says so (content-defined chunks), so that
what is the same is cut alike wherever it stands. A piece of many pages of a site tells nothing of
any of them, and is left out; no other site's pieces and links count on it, nor take their room. Of
the pages that came before that was known, what their words say is found anew at each feedback, and
they lose the terms and links that most of them have.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import remember
from spoor.hashing import hashes64
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
HEADINGS = 8
"""Pages of a folder that have a heading, at least, where it is one of half of them, as `Examples`
and `See also` are, and so repeated."""
OF_KEYWORDS = 0.8
"""Share of the pages of a site that have a keyword which says nothing of any of them."""
MENU = 32
"""Links from which on what is on so many pages of its folder is a menu."""
LEAST = 8
"""Words that are left at least: else a page is a copy of others."""
OF_EARLY = 0.6
"""A term or link of a page that came before that was known is of the menu where this share of all
such pages of its site or folder has it."""
ONE_OF = 8
"""One word of so many, a power of two, ends a piece."""
PLACES = 24
"""Places of words of the wish in the text of a page that are known, and in its headings."""
IN_TEXT, ELSEWHERE = 0.5, 0.4
"""What a word leaves open that stands in a text of usual length, and in another part, once."""
SETTLED = 256
"""Pages of a site after which no piece of a page is found to be repeated."""
MOST = 4_096
"""Pieces of a text; what follows is one more. Twenty thousand words have 2,500 as a rule."""
_PIECES, _SITES = 32_768, 50_000
"""Pieces, links, sites, and folders, that are remembered, …"""
_OF_SITE = 64
"""… and pieces, or links, of a site that no other takes, as long as there are few sites."""
_COUNTS = 1 << 31
"""Pages that no crawl has."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def pieces_of(words: Numbers) -> tuple[NDArray[Any], Numbers]:
    """Where the pieces of a text begin, and the number of each; `words`: numbers of its words. O(n)
    by arrays."""
    mixed = (words + np.uint64(1)) * _MIX
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX
    mixed ^= mixed >> _SHIFT
    ends = mixed & np.uint64(ONE_OF - 1) == 0
    begins = np.append(0, np.flatnonzero(ends[:-1])[:MOST] + 1)
    return begins, np.add.reduceat(mixed, begins)


@dataclass(slots=True)
class InText:
    """What a page says of the leaves of a wish by its text and else, so that it can be found anew
    when more is known of its site."""

    misses: Floats
    """Of each leaf what the rest of the page leaves open, (leaves, 2)."""
    often: Floats
    """How often each stands in the text, by its length, (leaves, 2)."""
    headings: Floats
    """How often each stands in the headings, (leaves, 2)."""
    at: int = 0
    """Pages of its site when it was read."""
    pieces: Numbers = field(default_factory=lambda: np.zeros(0, np.uint64))
    leaves: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    """Places: the piece of the text, or the heading, and the leaf that stands in it."""
    of_headings: int = 0
    """How many of the places, the last ones, are headings."""
    is_less: bool = False
    """Whether some of its places are known to be repeated."""

    @property
    def of_text(self) -> int:
        """How many of the places, the first ones, are pieces of the text."""
        return len(self.pieces) - self.of_headings

    def evidence(self, in_text: Floats, in_headings: Floats, repeated: NDArray[np.bool_]) -> Floats:
        """What the page says, (leaves, 2), where these of its places are repeated. `in_text`,
        `in_headings`: what a text and headings may say of each leaf at most."""
        text, headings = slice(self.of_text), slice(self.of_text, None)
        often = self.often * self._own(text, repeated, len(in_text))
        named = self.headings * self._own(headings, repeated, len(in_text))
        open_ = 1.0 - in_text[:, None] * (1.0 - IN_TEXT**often)
        open_ *= 1.0 - in_headings[:, None] * (1.0 - ELSEWHERE**named)
        return np.asarray(1.0 - self.misses * open_)

    def _own(self, part: slice, repeated: NDArray[np.bool_], leaves: int) -> Floats:
        """Of each leaf which share of its places in a part is not repeated, (leaves, 1)."""
        every = np.bincount(self.leaves[part], minlength=leaves)
        own = np.bincount(self.leaves[part], ~repeated[part], minlength=leaves)
        return np.asarray(np.where(every, own / np.maximum(every, 1), 1.0)[:, None])


_KINDS: dict[str, type[np.generic]] = {
    "of": np.uint32,
    "at": np.uint32,
    "less": np.uint8,
    "misses": np.float64,
    "often": np.float64,
    "headings": np.float64,
    "sizes": np.uint32,
    "of_headings": np.uint32,
    "pieces": np.uint64,
    "leaves": np.uint16,
}
TEXTS = tuple(_KINDS)
"""Names of the arrays of `as_arrays`."""


def array_of(state: State, name: str, kind: type[np.generic], dimensions: int = 1) -> NDArray[Any]:
    """An array of a state. Raises `ValueError` for what is none of these numbers."""
    its = state[name]
    if not isinstance(its, np.ndarray) or its.dtype != kind or its.ndim != dimensions:
        raise ValueError(f"{name} are no such numbers")
    return its


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
        "headings": np.array([its.headings for its in kept]) if kept else none,
        "sizes": np.array([len(its.pieces) for its in kept], np.uint32),
        "of_headings": np.array([its.of_headings for its in kept], np.uint32),
        "pieces": np.concatenate([np.zeros(0, np.uint64), *(its.pieces for its in kept)]),
        "leaves": np.concatenate([np.zeros(0, np.uint16), *(its.leaves for its in kept)]),
    }


def from_arrays(state: State, pages: int) -> dict[int, InText]:
    """Place of a page → its `InText`, as `as_arrays` saved it of so many pages. Raises `ValueError`
    where these are no such arrays, or do not fit one another."""
    for name, kind in _KINDS.items():
        array_of(state, name, kind, 3 if kind is np.float64 else 1)
    shape = state["misses"].shape
    every = int(state["sizes"].sum(dtype=np.uint64))
    often, headings = state["often"], state["headings"]
    if {often.shape, headings.shape} != {shape} or shape[2] != 2:
        raise ValueError("a text of other leaves")
    if (state["leaves"] >= shape[1]).any():
        raise ValueError("leaves of a text that are none")
    if not ((state["misses"] >= 0) & (state["misses"] <= 1)).all():
        raise ValueError("what a text says is no share")
    if not (np.isfinite(often) & np.isfinite(headings) & (often >= 0) & (headings >= 0)).all():
        raise ValueError("what a text says has no bound")
    if (state["at"] >= _COUNTS).any():
        raise ValueError("a site of more pages than any crawl has")
    if not every == len(state["pieces"]) == len(state["leaves"]):
        raise ValueError("pieces of no text")
    if (state["of_headings"] > state["sizes"]).any():
        raise ValueError("headings of no page")
    if (np.diff(state["of"].astype(int), prepend=-1, append=pages) < 1).any():
        raise ValueError("texts of no page")
    ends = np.cumsum(state["sizes"].astype(int)).tolist()
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    pieces, leaves = state["pieces"], state["leaves"]
    numbers = (state[name].tolist() for name in ("at", "of_headings", "less"))
    said = (map(np.copy, state[name]) for name in ("misses", "often", "headings"))
    texts = [
        InText(misses, text, headings, at, pieces[its].copy(), leaves[its].copy(), last, bool(less))
        for misses, text, headings, at, last, less, its in zip(*said, *numbers, parts, strict=True)
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
    pieces = [(site, its.pieces[: its.of_text].tolist()) for site, its in texts]
    having = Counter((site, piece) for site, its in pieces for piece in {*its})
    said: Counter[int] = Counter()
    for site, its in pieces:
        least = max(PAGES, OF_FOLDER * its_texts[site])
        often = sum(having[site, piece] >= least for piece in its)
        said[site] += 1 if 2 * often > len(its) else -1
    return frozenset(site for site, more in said.items() if more > 0)


class _Parts:
    """Sites, or folders: of each how many pages it had, and whether one had a menu."""

    def __init__(self) -> None:
        self.pages: OrderedDict[int, int] = OrderedDict()
        self.with_menu: OrderedDict[int, None] = OrderedDict()

    def page(self, part: int) -> None:
        remember(self.pages, part, self.pages.get(part, 0) + 1, _SITES)

    def menu(self, part: int) -> None:
        remember(self.with_menu, part, None, _SITES)

    def save(self, name: str) -> State:
        return {
            name: np.array([*self.pages], np.uint64),
            f"{name}_pages": np.array([*self.pages.values()], np.uint32),
            f"{name}_menus": np.array([*self.with_menu], np.uint64),
        }

    def load(self, name: str, state: State) -> None:
        self.pages = OrderedDict(_counts(state, name, f"{name}_pages"))
        menus = array_of(state, f"{name}_menus", np.uint64)
        self.with_menu = OrderedDict.fromkeys(menus.tolist())


def _counts(state: State, keys: str, counts: str) -> list[tuple[int, int]]:
    found = array_of(state, counts, np.uint32)
    if (found >= _COUNTS).any():
        raise ValueError(f"{counts} are more than any crawl has")
    return [*zip(array_of(state, keys, np.uint64).tolist(), found.tolist(), strict=True)]


class _Having:
    """How many pages of each site have a number, of a piece or link: of all sites together so many
    numbers; those with the most give way."""

    def __init__(self) -> None:
        self.of_sites: OrderedDict[int, dict[int, int]] = OrderedDict()
        """Site → number → pages; the site whose page came last at the end."""
        self.size = 0
        """Numbers of all sites."""

    def add(self, site: int, numbers: Numbers, *, again: bool = False) -> NDArray[np.int64]:
        """Count a page of a site: how many others have each number. One that is read `again` was
        counted. O(numbers)."""
        if again:
            return np.maximum(np.array([*self.of(site, numbers)], np.int64) - 1, 0)
        having = self.of_sites.setdefault(site, {})
        self.of_sites.move_to_end(site)
        each, before = numbers.tolist(), len(having)
        often = np.array([*map(having.get, each, repeat(0))], np.int64)
        having.update(zip(each, (often + 1).tolist(), strict=True))
        self.size += len(having) - before
        if self.size > _PIECES:
            self._forget()
        return often

    def of(self, site: int, numbers: Numbers) -> Iterator[int]:
        """How many pages of a site have each."""
        return map(self.of_sites.get(site, _NONE).get, numbers.tolist(), repeat(0))

    def _forget(self) -> None:
        """Keep three quarters: of the sites that have the most, what is on several pages, and of
        the rest the newest; and, if that is too much, the sites that had a page last."""
        kept, sizes = 3 * _PIECES // 4, sorted(map(len, self.of_sites.values()))
        most, left = _OF_SITE, kept
        for at, size in enumerate(sizes):
            if size * (len(sizes) - at) > left:
                most = max(_OF_SITE, left // (len(sizes) - at))
                break
            left -= size
        for site, having in self.of_sites.items():
            if len(having) > most:
                self.of_sites[site] = _several_first(having, most)
        self.size = sum(map(len, self.of_sites.values()))
        while self.size > kept and len(self.of_sites) > 1:
            self.size -= len(self.of_sites.popitem(last=False)[1])

    def save(self, name: str) -> State:
        its = self.of_sites.values()
        return {
            f"of_{name}": np.array([*self.of_sites], np.uint64),
            f"sizes_{name}": np.array([*map(len, its)], np.uint32),
            name: np.array([*chain.from_iterable(its)], np.uint64),
            f"having_{name}": np.array([often for one in its for often in one.values()], np.uint32),
        }

    def load(self, name: str, state: State) -> None:
        numbers, self.of_sites = iter(_counts(state, name, f"having_{name}")), OrderedDict()
        for site, size in _counts(state, f"of_{name}", f"sizes_{name}"):
            self.of_sites[site] = dict(islice(numbers, size))
        self.size = sum(map(len, self.of_sites.values()))
        if self.size != len(state[name]):
            raise ValueError(f"{name} of no site")


_NONE: dict[int, int] = {}
_NO_NUMBERS = np.zeros(0, np.uint64)


def _several_first(having: Mapping[int, int], most: int) -> dict[int, int]:
    """So many numbers: those of several pages, and of the others the newest."""
    several = [its for its in having.items() if its[1] > 1][-most:]
    once = [number for number, count in having.items() if count == 1]
    room = most - len(several)
    return dict(several) | dict.fromkeys(once[len(once) - room :] if room else (), 1)


class Repeated:
    """The pieces and links of all sites. What a page of another site has, or lists, counts on none,
    and a flood of it takes no other site's places."""

    def __init__(self) -> None:
        self._sites, self._folders = _Parts(), _Parts()
        self._pieces, self._links = _Having(), _Having()
        self._headings = _Having()
        """Of folders, not of sites; of each but its first page."""

    def page(self, site: int, folder: int) -> None:
        """Count a page of a site and of a folder."""
        self._sites.page(site)
        self._folders.page(folder)

    def own_links(
        self, site: int, folder: int, links: Numbers, *, words: int, again: bool = False
    ) -> NDArray[np.int64]:
        """Count the links of a page: which are not of a long menu. Where there is no text of so
        many words, links are all that tells pages apart. O(links)."""
        having = self._links.add(site, links, again=again) + 1 if len(links) else np.zeros(0)
        if words >= LONG and self.pages(site) >= FIRST:
            is_own = having < max(PAGES, OF_FOLDER * self._of_folder(folder))
            if len(having) - int(is_own.sum()) >= MENU:
                return np.flatnonzero(is_own)
        return np.arange(len(having))

    def own_headings(
        self, site: int, folder: int, headings: Sequence[str], *, again: bool = False
    ) -> tuple[Sequence[str], Numbers]:
        """Count the headings of a page: those that neither its site nor its folder repeats, and
        the number of each. O(letters)."""
        if not headings:
            return headings, _NO_NUMBERS
        numbers = hashes64([f"heading {its.lower()}" for its in headings])
        is_own = self._pieces.add(site, numbers, again=again) < self._least(site)
        if self._of_folder(folder) > 1:
            of_folder = self._headings.add(folder, numbers, again=again)
            is_own &= of_folder < self._least_of(site, folder)
        if is_own.all():
            return headings, numbers
        return [*compress(headings, is_own.tolist())], numbers[is_own]

    def own_keywords(
        self,
        site: int,
        keywords: Sequence[str],
        is_wanted: Callable[[str], bool],
        *,
        again: bool = False,
    ) -> Sequence[str]:
        """Count the keywords of a page: those that less than `OF_KEYWORDS` of the pages of its site
        have; what `is_wanted` is the site's on `ENOUGH` pages only, since a crawl that is led by a
        list of it comes to many of these in a row. O(letters)."""
        if not keywords:
            return keywords
        numbers = hashes64([f"keyword {its.lower()}" for its in keywords])
        often = self._pieces.add(site, numbers, again=again).tolist()
        least = max(FIRST, OF_KEYWORDS * self.pages(site))
        return [
            its
            for its, count in zip(keywords, often, strict=True)
            if count < least or (count < ENOUGH and is_wanted(its))
        ]

    def is_early(self, site: int, folder: int) -> bool:
        """Whether a page came before it was known what its site or its folder repeats."""
        return self.pages(site) < FIRST or self._of_folder(folder) <= PAGES

    def has_menu(self, part: int) -> bool:
        """Whether a page of a site or folder had much that is repeated."""
        return part in self._sites.with_menu or part in self._folders.with_menu

    def pages(self, site: int) -> int:
        """Pages of a site."""
        return self._sites.pages.get(site, 0)

    def _of_folder(self, folder: int) -> int:
        return self._folders.pages.get(folder, 0)

    def add(
        self, site: int, folder: int, words: Numbers, *, again: bool = False
    ) -> tuple[NDArray[np.bool_] | None, Numbers]:
        """Count a text, `words` being numbers, unless its page is read `again`: which of its words
        are not repeated (None for all), and the piece of each of these. O(words)."""
        if not len(words):
            return None, words
        begins, numbers = pieces_of(words)
        least, often = self._least(site), self._pieces.add(site, numbers, again=again)
        sizes = np.append(begins[1:], len(words)) - begins
        is_own = often < least
        if least < math.inf:
            of_folder = often >= max(PAGES, OF_FOLDER * self._of_folder(folder))
            if int(sizes[of_folder].sum()) >= LONG:
                is_own &= ~of_folder
        of_words = np.repeat(numbers, sizes)
        if is_own.all():
            return None, of_words
        own = np.repeat(is_own, sizes)
        if len(own) - int(own.sum()) >= LONG:
            self._sites.menu(site)
            self._folders.menu(folder)
        return (own, of_words[own]) if int(own.sum()) >= LEAST else (None, of_words)

    def of(
        self, sites: Sequence[int], folders: Sequence[int], texts: Sequence[InText]
    ) -> NDArray[np.bool_]:
        """Whether each place of texts is repeated, one text after the other; of each the site and
        the folder."""
        if not texts:
            return np.zeros(0, np.bool_)
        repeated: list[bool] = []
        for site, folder, its in zip(sites, folders, texts, strict=True):
            least, begin = self._least(site), len(repeated)
            repeated += [having > least for having in self._pieces.of(site, its.pieces)]
            if its.of_headings:
                least, headings = self._least_of(site, folder), its.pieces[its.of_text :]
                for at, having in enumerate(
                    self._headings.of(folder, headings), begin + its.of_text
                ):
                    repeated[at] |= having > least
        return np.array(repeated, np.bool_)

    def _least(self, site: int) -> float:
        pages = self.pages(site)
        return math.inf if pages < FIRST else min(ENOUGH, max(PAGES, SHARE * pages))

    def _least_of(self, site: int, folder: int) -> float:
        """Other pages of a folder with a heading from which on that is repeated there."""
        if self._least(site) == math.inf:
            return math.inf
        return max(HEADINGS, OF_FOLDER * self._of_folder(folder))

    def save(self) -> State:
        return {
            **self._sites.save("sites"),
            **self._folders.save("folders"),
            **self._pieces.save("pieces"),
            **self._links.save("links"),
            **self._headings.save("headings"),
        }

    def load(self, state: State) -> None:
        """Go on from `save`. Raises `ValueError` for what that does not give."""
        self._sites.load("sites", state)
        self._folders.load("folders", state)
        self._pieces.load("pieces", state)
        self._links.load("links", state)
        self._headings.load("headings", state)
