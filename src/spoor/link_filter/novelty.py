"""What a page brings that no page before it brought: words in a new order, and new links.

A page is read as the triples of its words. One that replaces or adds a word has three new triples
in a row; one that only puts known parts together in a new order (lists by price, by tag, by facet)
has two at each seam. So three in a row are news, and what is masked first is none: numbers, months
and the words of the page's own URL, which calendars, counters and error pages repeat.

A page is a copy where nearly all that is its own was on another page: the source of a page in its
editor, an older version, a change beside its context. Its own is what is not on many pages of its
domain, which is their frame.

What was seen is kept in two bit arrays that take turns: what is seen again stays, the rest is
forgotten after some 400,000 triples. Wrongly taken for known is 1 triple in 20 at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from spoor.hashing import hash64, hashes64, url_hash64
from spoor.types import State
from spoor.web.url_groups import without_numbers
from spoor.web.urls import with_query

_BITS = 22
_FULL = 0.18
"""Share of set bits at which the older array is dropped."""
_COUNTS = 20
"""log₂ of the counters of how many pages have a triple."""
_COUNTED = 1 << 21
"""Triples after which all counters are halved."""
_FRAME = 8
"""What is on more than one page in so many of a domain is frame."""
_FEW = 4
"""Pages that may all be views, or copies, of one."""
_OWN = 300
"""Triples of its own that a page must have to be a copy."""
_COPIED = 0.85
"""Share of them that was on other pages."""
_DOMAINS = 10_000
"""Whose pages are counted."""
_FEW_URLS = 4
"""URLs that are looked up in less time one by one."""
_CHARACTERS = 24_000
"""Of a text that are read."""
_MEMO = 16_384
"""Words whose hashes are cached, in some 3 MB."""

_MONTHS = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday mon tue wed thu fri sat sun #st #nd #rd #th""".split()
)
_MARKS = ".,:;()[]'\"!?“”‘’«»"

Hashes = NDArray[np.uint64]
Sketch = NDArray[np.uint32]
_PLACE = np.uint64((1 << _BITS) - 1)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_ALL = (1 << 64) - 1
_LISTED = hash64("listed")
_BIT = np.left_shift(np.uint8(1), np.arange(8, dtype=np.uint8))


class News(IntEnum):
    """What a page brought."""

    NOTHING = 0
    """Not even new numbers."""
    NUMBERS = 1
    """New numbers, dates or words of its own URL, and nothing else."""
    WORDS = 2
    """New words, or known words in a new order."""


def masked(word: str) -> str:
    """A word in lower case, with the numbers and months that calendars count with masked."""
    if word.isalpha():
        return "#" if word in _MONTHS else word
    word = without_numbers(word)
    return "#" if word.strip(_MARKS) in _MONTHS or "/" in word else word


class _Words(dict[str, int]):
    """Word → its column in `hashes`: the hash of the word, and that of the masked word."""

    def __init__(self) -> None:
        self.hashes: NDArray[np.uint64] = np.zeros((2, _MEMO), np.uint64)
        self._new: list[str] = []
        """Words that have a column, and no hashes yet."""
        self._last: tuple[str | None, NDArray[np.int64]] = (None, np.zeros(0, np.int64))
        """The text that was read last, and the columns of its words: a page that another domain
        chose is counted twice."""

    def __missing__(self, word: str) -> int:
        self._new.append(word)
        column = self[word] = len(self)
        return column

    def of(self, words: Sequence[str]) -> NDArray[np.uint64]:
        """Shape (2, words): hashes of the words, and of the masked words."""
        return self.hashes.take(self._columns(words), axis=1)

    def of_text(self, text: str) -> NDArray[np.uint64]:
        """The same of the words of a text."""
        if text != self._last[0]:
            self._last = text, self._columns(text.split())
        return self.hashes.take(self._last[1], axis=1)

    def _columns(self, words: Sequence[str]) -> NDArray[np.int64]:
        if len(self) + len(words) > _MEMO:
            self.clear()
            self._last = None, self._last[1]
        columns = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        if self._new:
            self._hash_new()
        return columns

    def _hash_new(self) -> None:
        plain = [word.lower().strip(_MARKS) for word in self._new]
        bare = [masked(word).strip(_MARKS) for word in plain]
        new = self.hashes[:, len(self) - len(plain) : len(self)]
        new[:] = hashes64(plain)
        other = [at for at, word in enumerate(bare) if word != plain[at]]
        new[1, other] = hashes64([bare[at] for at in other])
        self._new.clear()


class Own(NamedTuple):
    """What a page shares with others of its domain."""

    triples: Hashes
    """All of the page, numbers masked."""
    counts: NDArray[np.uint8]
    """On how many pages before it each was, about."""
    pages: float
    """Of the domain before it, about."""
    plain: Hashes
    """The same triples with their numbers."""
    masked: NDArray[np.bool_]
    """Which have a number, or another word that is masked."""

    @property
    def has_frame(self) -> bool:
        """Whether so many pages came before it that the frame of its domain is known."""
        return self.pages >= _FRAME

    @property
    def few(self) -> NDArray[np.bool_]:
        """Which are on few pages: not more than `_FEW`, which may all have what one has, or one in
        `_FRAME`."""
        return self.counts <= max(_FEW, self.pages / _FRAME)


class Novelty:
    """What was seen so far. O(words) for a page, O(links) for its links."""

    def __init__(self) -> None:
        self._now: NDArray[np.uint8] = np.zeros(1 << (_BITS - 3), np.uint8)
        self._before = self._now.copy()
        self._older = False
        """Whether anything is in `_before`."""
        self._set = 0
        """Bits of `_now` that are set, about."""
        self._words = _Words()
        self.last: Own | None = None
        """Of the page that was taken in last; None where it was only looked at."""
        self._counts: NDArray[np.uint8] = np.zeros(1 << _COUNTS, np.uint8)
        self._counted = 0
        self._pages: dict[str, float] = {}
        """Domain → its pages."""

    def page(
        self, domain: str, url: str, words: str, *, keep: bool = True, is_list: bool = False
    ) -> tuple[News, bool]:
        """Take in the words of a page; what is new in them among the pages of a domain, and whether
        it is a copy. Only one whose URL has a query is: it may be a view of other pages. With
        `keep` off the words are looked at and not taken in. Those of a list of documents are known
        to other lists alone: what it shows of a document is new when that comes."""
        hashes = self._words.of_text(words[:_CHARACTERS])
        bare = hashes[1]
        bare[(bare == self._own(url)[:, None]).any(axis=0)] = 1
        (plain, triples), unseen, fresh = self._new_in(hashes, domain, keep=keep and not is_list)
        if is_list:
            _, of_lists, masked_of_lists = self._new_in(hashes, f"lists of {domain}", keep=keep)
            unseen, fresh = unseen & of_lists, fresh & masked_of_lists
        self.last = self._counted_in(domain, plain, triples, hashes) if keep else None
        copy = self.last is not None and _is_copy(self.last, fresh)
        numbers, is_view = _three_in_a_row(unseen), "?" in with_query(url)
        if is_view:
            # Known words are not new because this view of them, whose URL has one, masks it.
            fresh = fresh & unseen
        words_too = _three_in_a_row(fresh)
        return (
            News.WORDS if words_too else News.NUMBERS if numbers else News.NOTHING,
            copy and is_view,
        )

    def _new_in(
        self, hashes: Hashes, name: str, *, keep: bool
    ) -> tuple[Hashes, NDArray[np.bool_], NDArray[np.bool_]]:
        """The triples of hashes of words, and the masked ones; which of either are new among what
        goes by this name."""
        triples = _triples(hashes, hashes64((name, f"{name} masked")))
        places, bits = _places(triples)
        see = self._add if keep else self._unseen
        return triples, see(places[0], bits[0]), see(places[1], bits[1])

    def _counted_in(self, domain: str, plain: Hashes, triples: Hashes, words: Hashes) -> Own:
        """Count a page's masked triples; how many pages had each before."""
        places = triples >> np.uint64(64 - _COUNTS)
        counts = self._counts.take(places.view(np.int64))
        pages = self._pages.get(domain, 0.0)
        self._counts[places] = np.minimum(counts, np.uint8(254)) + np.uint8(1)
        self._counted += len(places)
        if len(self._pages) >= _DOMAINS and domain not in self._pages:
            self._pages.pop(next(iter(self._pages)))
        self._pages[domain] = pages + 1.0
        if self._counted > _COUNTED:
            self._counts >>= np.uint8(1)
            self._counted //= 2
            self._pages = {name: count / 2 for name, count in self._pages.items()}
        masked = np.zeros(len(triples) + 2, bool)
        masked[2:-2] = words[0] != words[1]
        masked[:-2] |= masked[1:-1] | masked[2:]
        return Own(triples, counts, pages, plain, masked[:-2])

    def add(self, urls: Sequence[str]) -> None:
        """Take in URLs."""
        self._add(*_places(_hashed(urls)))

    def knows(self, urls: Sequence[str]) -> bool:
        """Whether `add` took in all of these URLs; wrongly true for 1 in 20 at most."""
        return not self.unknown(urls)

    def unknown(self, urls: Sequence[str]) -> list[str]:
        """Those of some URLs that `add` did not take in; 1 in 20 is missed at most."""
        if len(urls) <= _FEW_URLS:
            return [url for url in urls if not self._has(url)]
        unseen = self._unseen(*_places(_hashed(urls)))
        return [urls[at] for at in np.flatnonzero(unseen).tolist()]

    def _has(self, url: str) -> bool:
        """As `knows`, of one URL."""
        mixed = url_hash64(url) + _LISTED & _ALL
        mixed ^= mixed >> 31
        mixed = mixed * int(_MIX) & _ALL
        mixed ^= mixed >> 32
        first, second = mixed & int(_PLACE), mixed >> _BITS & int(_PLACE)
        return any(
            seen.item(first >> 3) >> (first & 7) & seen.item(second >> 3) >> (second & 7) & 1
            for seen in (self._now, self._before)
        )

    def _own(self, url: str) -> Hashes:
        """Hashes of the words of a URL, however a page spells them."""
        path = unquote(url.partition("://")[2].partition("/")[2]).lower()[:512]
        parts = {part for part in re.split(r"[/?&=]", path) if part}
        parts |= {word for part in parts for word in re.split(r"[\W_]+", part) if word}
        # `#` is the mask of numbers.
        masked: Hashes = self._words.of(sorted(parts))[1]
        return masked

    def _known(
        self, places: NDArray[np.int64], bits: NDArray[np.uint8]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each is in the younger array, and in the older."""
        now: NDArray[np.bool_] = np.logical_and.reduce(self._now.take(places) & bits)
        if not self._older:
            return now, np.zeros_like(now)
        before: NDArray[np.bool_] = np.logical_and.reduce(self._before.take(places) & bits)
        return now, before

    def _unseen(self, places: NDArray[np.int64], bits: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which are new."""
        now, before = self._known(places, bits)
        return ~(now | before)

    def _add(self, places: NDArray[np.int64], bits: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Take in; which were new."""
        now, before = self._known(places, bits)
        fresh = np.flatnonzero(~now)
        if len(fresh):
            if self._set > _FULL * (1 << _BITS):
                self._before, self._now, self._set = self._now, np.zeros_like(self._now), 0
                self._older, fresh = True, np.arange(places.shape[1])
            where, which = places.take(fresh, axis=1), bits.take(fresh, axis=1)
            np.bitwise_or.at(self._now, where.ravel(), which.ravel())
            self._set += 2 * len(fresh)
        return ~(now | before)

    def save(self) -> State:
        state: dict[str, Any] = {"now": self._now, "set": self._set}
        # What is not used yet need not be read through for each checkpoint.
        if self._older:
            state["before"] = self._before
        if self._counted:
            state |= {"counts": self._counts, "counted": self._counted}
            state["pages"] = list(self._pages.items())
        return state

    def load(self, state: State) -> None:
        self._now = state["now"].copy()
        before = state.get("before")
        self._before = np.zeros_like(self._now) if before is None else before.copy()
        self._older, self._set = bool(self._before.any()), state["set"]
        self._counts, self._counted, self._pages = np.zeros_like(self._counts), 0, {}
        if "counts" in state:
            self._counts, self._counted = state["counts"].copy(), state["counted"]
            self._pages = dict(map(tuple, state["pages"]))


def halves(triples: Hashes) -> Sketch:
    """Half of the bits of each."""
    return (triples >> np.uint64(32)).astype(np.uint32)


def are_among(mine: Sketch, its: Sketch) -> NDArray[np.bool_]:
    """Which of some triples are among others, which are in order and not empty."""
    found: NDArray[np.bool_] = its.take(its.searchsorted(mine), mode="clip") == mine
    return found


def _is_copy(page: Own, fresh: NDArray[np.bool_]) -> bool:
    """Whether most of what is a page's own, and no frame, was not new."""
    own = page.counts <= max(1.0, page.pages / _FRAME)
    most = int(own.sum())
    return most >= _OWN and int((own & ~fresh).sum()) >= _COPIED * most


def _hashed(urls: Sequence[str]) -> Hashes:
    hashes = np.fromiter(map(url_hash64, urls), np.uint64, len(urls))
    return _mixed(hashes + np.uint64(_LISTED))


def _triples(words: Hashes, salts: Hashes) -> Hashes:
    """Of each row of words, with two marks before the first and behind the last, so that one word
    has three."""
    rows, count = words.shape
    every = np.empty((rows, count + 4), np.uint64)
    every[:, :2], every[:, 2:-2], every[:, -2:] = (2, 3), words, (4, 5)
    times = every * _FIRST_FACTOR
    triples = times[:, :-2] + every[:, 1:-1]
    triples *= _SECOND_FACTOR
    triples += times[:, 2:]
    triples += salts[:, None]
    return _mixed(triples)


def _mixed(hashes: Hashes) -> Hashes:
    """The same array, mixed in its place."""
    hashes ^= hashes >> np.uint64(31)
    hashes *= _MIX
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _places(hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Of hashes (…, n) their two places (…, 2, n): bytes of an array, and the bit in each."""
    at = np.empty((*hashes.shape[:-1], 2, hashes.shape[-1]), np.uint64)
    at[..., 0, :] = hashes
    np.right_shift(hashes, np.uint64(_BITS), out=at[..., 1, :])
    at &= _PLACE
    signed = at.view(np.int64)
    return signed >> 3, _BIT.take(signed & 7)


def _three_in_a_row(new: NDArray[np.bool_]) -> bool:
    return bool((new[:-2] & new[1:-1] & new[2:]).any())
