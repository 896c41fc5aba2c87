"""Reading a page for the judge of words: what is kept of it, and what it says of the wish."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.distribution import need_extra
from spoor.hashing import hash64
from spoor.judges.feedback import (
    MOST_LINKS,
    MOST_TERMS,
    SHORT_LOGS,
    Floats,
    Frequencies,
    KeptPage,
    as_id,
    number_of_url,
    numbers_of_links,
)
from spoor.judges.linked import site_of
from spoor.judges.matching import HALF, LENGTH, SHORT_PARTS, SHORT_TEXT, WEIGHTS, Matcher
from spoor.judges.page_language import probability, stemmer_of
from spoor.judges.wish import Wish
from spoor.types import Page, State, urls_of
from spoor.web.text import UNSPACED, terms, words_of
from spoor.web.urls import words as url_words

TEXT_WORDS = 20_000
TEXT_LETTERS = 160_000
"""Words of a text that are read, and letters of all of them: of a script without spaces a sentence
is a word, and each pair of its letters a term."""
ANCHORS = 20_000
"""Links whose anchors have words of the wish, remembered at most."""
SLOTS = 1 << 15
"""Links that are known to have been seen, at most."""
_LONG = 64
"""Letters of a word that is no word."""
FOLDERS = 8
"""Folders of a URL that count as its place, from the outermost."""
NAME_WORDS = 12
"""Words of the name of a file that do."""
_NO_NAME = frozenset({"html", "htm", "php", "index"})
_BEGINNING = re.compile(r"[^\W\d_]+\d*")


def has_words(page: Page) -> bool:
    """Whether there is anything to read on a page: a document that is no HTML may have no word."""
    written = page.text or page.title or page.headings or page.description
    return bool(written) or "not-html" not in page.flags


class Reader:
    """Reads pages in the order of the crawl: it learns how frequent terms and links are, and which
    anchors lead to pages that come later."""

    def __init__(self, wish: Wish | None, matcher: Matcher) -> None:
        if wish is not None and (wish.languages or wish.unwanted_languages):
            need_extra("language", "lang:", "py3langid")
        self._wish = wish
        self._matcher = matcher
        self.frequencies = Frequencies()
        self.known = np.zeros((len(matcher.leaves), 2), np.int64)
        """Pages on which each leaf was found, as it is, and as it is or something like it."""
        self.together = np.zeros(len(matcher.conjunctions), np.int64)
        """Pages on which what each conjunction names stands together in a title, URL or anchor."""
        self._memos: dict[str, _Memo] = {}
        self._seen_links = [0] * SLOTS
        self._anchors: dict[int, dict[int, tuple[float, float]]] = {}

    def read(self, page: Page) -> tuple[KeptPage, list[tuple[str, float]], Floats]:
        """A page as it is kept, what its words say, and how many pages have each of its ids; its
        terms and anchors are learned."""
        memo = self._memo(stemmer_of(page.language))
        fields = {
            "title": page.title,
            "headings": "\n".join(page.headings[:500]),
            "description": page.description,
            "text": page.text,
        }
        text = _first_letters(words_of(page.text).first(TEXT_WORDS), TEXT_LETTERS)
        ids: dict[int, int] = {}
        found: dict[str, _Found] = {}
        for name, written in fields.items():
            if written:
                words = text if name == "text" else terms(written[:20_000])
                found[name] = memo.count(words, ids if name != "description" else None)
        fields["url"] = page.url
        found["url"] = memo.count(chain(*url_words(page.url)))
        evidence, reasons, parts = self._leaves(page, fields, found, len(text))
        self.known += evidence > 0
        together = np.array(self._matcher.stand_together(parts), np.bool_)
        self.together += together
        links = self._links(page, memo)
        numbers = np.fromiter(ids, np.uint32, len(ids))
        often = np.minimum(np.fromiter(ids.values(), np.int64, len(ids)), 255).astype(np.uint8)
        places = places_of(page.url)
        known = self.frequencies.add([*ids, *map(as_id, links), *places])
        ends = len(ids), len(ids) + len(links)
        outward = np.array(links, np.uint64)
        terms_kept = self._rarest(numbers, often, known[: ends[0]], MOST_TERMS)
        ones = np.ones(len(outward), np.uint8)
        links_kept = self._rarest(outward, ones, known[ends[0] : ends[1]], MOST_LINKS)
        tongue = 1.0
        if self._wish is not None and (self._wish.languages or self._wish.unwanted_languages):
            tongue = probability(page, self._wish.languages, self._wish.unwanted_languages)
        kept = KeptPage(
            page.url,
            np.concatenate(
                [terms_kept[0], links_kept[0].astype(np.uint32), np.array(places, np.uint32)]
            ),
            np.concatenate([terms_kept[1], links_kept[1], np.ones(len(places), np.uint8)]),
            len(terms_kept[0]),
            evidence,
            tongue=tongue,
            places=len(places),
            links=links_kept[0],
            together=together,
            content=hash64(f"{page.title}\n{page.text[:TEXT_LETTERS]}") if page.text else 0,
        )
        if self._matcher.wanted and len(self._matcher.leaves) > 1 and text:
            kept.near = self._nearness(text, memo, evidence)
        return kept, reasons, np.concatenate([terms_kept[2], links_kept[2], known[ends[1] :]])

    def _memo(self, stemmer: str) -> _Memo:
        if stemmer not in self._memos:
            self._memos[stemmer] = _Memo(self._matcher, stemmer)
        self._memos[stemmer].trim()
        return self._memos[stemmer]

    def _leaves(
        self,
        page: Page,
        fields: Mapping[str, str],
        found: Mapping[str, _Found],
        size: int,
    ) -> tuple[Floats, list[tuple[str, float]], list[int]]:
        """What each leaf finds, (leaves, 2), the reasons in words, and in which of `SHORT_PARTS`
        each leaf stands, as bits. `size`: words of the text."""
        matcher = self._matcher
        evidence = np.zeros((len(matcher.leaves), 2))
        reasons: list[tuple[str, float]] = []
        parts = [0] * len(matcher.leaves)
        led = self._anchors.get(number_of_url(page.url), {})
        if not led and not any(exact or like for exact, like in found.values()):
            return evidence, reasons, parts
        dense = (HALF / max(size, SHORT_TEXT)) ** LENGTH
        for at, leaf in enumerate(matcher.leaves):
            misses = [1.0, 1.0]
            best, place, times = 0.0, "", 0.0
            for name, weight in WEIGHTS.items():
                if leaf.field and leaf.field != name:
                    continue
                if name == "anchors":
                    exact, like = led.get(at, (0.0, 0.0))
                elif name in found and (found[name][0] or found[name][1]):
                    exact, like = matcher.leaf_counts(at, *found[name], fields[name])
                else:
                    continue
                if not exact and not like:
                    continue
                if name in SHORT_PARTS:
                    parts[at] |= 1 << SHORT_PARTS.index(name)
                if leaf.field:
                    weight = 1.0
                for column, count in ((0, exact), (1, exact + like)):
                    share = 1.0 - (0.5 ** (count * dense) if name == "text" else 0.4**count)
                    misses[column] *= 1.0 - weight * share
                if weight * share > best:
                    best, place, times = weight * share, name, exact + like
            evidence[at] = 1.0 - misses[0], 1.0 - misses[1]
            if best:
                often = f" {times:.0f} times" if times >= 1.5 else ""
                where = "in an anchor to it" if place == "anchors" else f"in its {place}"
                reasons.append((f"{leaf.shown!r} {where}{often}", round(1.0 - misses[1], 3)))
        return evidence, reasons, parts

    def _links(self, page: Page, memo: _Memo) -> list[int]:
        """The numbers of a page's links; the anchors of those not seen before are read, if they
        lead to pages of the same site: anybody may write anything about the pages of others."""
        urls = urls_of(page.links)[:500]
        numbers = numbers_of_links(urls)
        seen = self._seen_links
        slots = [number % SLOTS for number in numbers]
        if self._matcher.leaves and [*map(seen.__getitem__, slots)] != numbers:
            site = site_of(page.url)
            for index, (slot, number) in enumerate(zip(slots, numbers, strict=True)):
                if seen[slot] != number:
                    # Of another site: not seen yet by a page of its own.
                    if site_of(urls[index]) != site:
                        seen[slot] = -number
                        continue
                    seen[slot] = number
                    anchor = page.links[index].anchor.text
                    if anchor:
                        self._read_anchor(number, anchor[:500], memo)
        return list(dict.fromkeys(numbers))

    def _read_anchor(self, number: int, anchor: str, memo: _Memo) -> None:
        exact, like = memo.count(terms(anchor))
        if not exact and not like:
            return
        counts = self._anchors.setdefault(number, {})
        for at in range(len(self._matcher.leaves)):
            one, other = self._matcher.leaf_counts(at, exact, like, anchor)
            if one or other:
                before = counts.get(at, (0.0, 0.0))
                counts[at] = before[0] + one, before[1] + other
        while len(self._anchors) > ANCHORS:
            del self._anchors[next(iter(self._anchors))]

    def _nearness(self, words: Sequence[str], memo: _Memo, evidence: Floats) -> float:
        """1 where all words of the wish stand side by side, less with the words between them."""
        known = np.flatnonzero(evidence[:, 1])
        if len(known) < 2:
            return 0.0
        last: dict[int, int] = {}
        best = 0.0
        wanted = {part for at in known for part in self._matcher.part_numbers[at][:1]}
        fitting = memo.fits
        for place, word in [(at, word) for at, word in enumerate(words) if word in fitting]:
            for part, _, _ in fitting[word]:
                last[part] = place
            if len(last) >= len(wanted) > 1:
                spread = place - min(last.values()) + 1 - len(wanted)
                best = max(best, 1.0 / (1.0 + max(0, spread) / 4.0))
        return best

    def _rarest(
        self, ids: NDArray[Any], often: NDArray[Any], known: Floats, most: int
    ) -> tuple[NDArray[Any], NDArray[Any], Floats]:
        """The ids of a page that tell most of it, how often each stands there, and how many pages
        have it."""
        if len(ids) <= most:
            return ids, often, known
        weights = SHORT_LOGS[often] * np.log((20.0 + self.frequencies.pages) / known)
        # By weight, then by number; a sort of all takes three times as long.
        least = np.partition(weights, -most)[-most]
        chosen = weights > least
        last = np.flatnonzero(weights == least)
        last = last[np.argsort(ids[last], kind="stable")]
        chosen[last[: most - np.count_nonzero(chosen)]] = True
        return ids[chosen], often[chosen], known[chosen]

    def save(self) -> State:
        anchors = [
            (at, *counts) for by_leaf in self._anchors.values() for at, counts in by_leaf.items()
        ]
        leaves = [*map(len, self._anchors.values())]
        return {
            "frequencies": self.frequencies.save(),
            "known": self.known.copy(),
            "together": self.together.copy(),
            "seen": np.array(self._seen_links, np.int64),
            "anchored": np.repeat(np.array([*self._anchors], np.uint64), leaves),
            "anchors": np.array(anchors, float).reshape(-1, 3),
        }

    def load(self, state: State) -> None:
        self.frequencies.load(state["frequencies"])
        self.known = np.array(state["known"], np.int64).reshape(-1, 2)
        self.together = np.array(state["together"], np.int64)
        self._seen_links = state["seen"].tolist()
        self._anchors = {}
        anchors = state["anchors"].tolist()
        for number, (at, one, other) in zip(state["anchored"].tolist(), anchors, strict=True):
            self._anchors.setdefault(number, {})[int(at)] = one, other


_Fit = tuple[int, bool, float]
"""Part of the wish, whether it is the part itself or a form of it, and likeness."""
_Found = tuple[dict[int, float], dict[int, float]]
"""Part of a leaf → how often it stands there, and how often what is like it."""


class _Memo(dict[str, int]):
    """Word → the number of its term, or a code below 0 for a word that is `_NO_TERM`, fits the
    wish, or is several terms: so that the words of a text are counted by their numbers at once."""

    def __init__(self, matcher: Matcher, stemmer: str) -> None:
        super().__init__()
        self._matcher = matcher
        self._stemmer = stemmer
        self._coded: dict[int, tuple[str, tuple[int, ...]]] = {}
        """Code of a word → the word and the numbers of its terms."""
        self._code = _NO_TERM
        """The last that was given."""
        self._long: list[str] = []
        self.fits: dict[str, tuple[_Fit, ...]] = {}
        """What parts of the wish a word fits, if any."""

    def trim(self) -> None:
        """Between two pages: forget all words where there are too many, and those that are long."""
        if len(self) > 100_000:
            self.clear()
            self._coded.clear()
            self.fits.clear()
        for word in self._long:
            self._coded.pop(self.pop(word, _NO_TERM), None)
            self.fits.pop(word, None)
        self._long.clear()

    def __missing__(self, word: str) -> int:
        numbers: tuple[int, ...] = ()
        if len(word) <= _LONG or UNSPACED.search(word):
            found = terms(word)
            fits = tuple(fit for term in found for fit in self._matcher.fits(term, self._stemmer))
            if fits:
                self.fits[word] = fits
            numbers = tuple(number_of(term) for term in found if not term.isdigit())
        if len(word) > _LONG:
            self._long.append(word)
        if len(numbers) > 1 or word in self.fits:
            self._code -= 1
            self._coded[self._code] = word, numbers
            answer = self._code
        else:
            answer = numbers[0] if numbers else _NO_TERM
        self[word] = answer
        return answer

    def count(self, words: Iterable[str], ids: dict[int, int] | None = None) -> _Found:
        """What the words fit. Adds how often each term stands there to `ids`, in the order of their
        first words."""
        exact: dict[int, float] = {}
        like: dict[int, float] = {}
        counted = Counter(words)
        codes = [*map(self.__getitem__, counted)]
        fitting = min(codes, default=0) < _NO_TERM
        if ids is None and not fitting:
            return exact, like
        ids = {} if ids is None else ids
        get = ids.get
        for code, often in zip(codes, counted.values(), strict=True):
            if code >= 0:
                ids[code] = get(code, 0) + often
            elif code < _NO_TERM:
                word, numbers = self._coded[code]
                for one in numbers:
                    ids[one] = get(one, 0) + often
                for part, same, likeness in self.fits.get(word, ()):
                    into = exact if same else like
                    into[part] = into.get(part, 0.0) + often * likeness
        return exact, like


_NO_TERM = -1


def _first_letters(words: list[str], most: int) -> list[str]:
    """The words of at most so many letters; the last may be cut."""
    if sum(map(len, words)) <= most:
        return words
    found = list[str]()
    for word in words:
        found.append(word[:most])
        most -= len(word)
        if most <= 0:
            break
    return found


def places_of(url: str) -> list[int]:
    """The place of a page by numbers: its host, its folders, the words of its file's name, and how
    that begins, with its number (`ch02` of `ch02s03.html`). Pages of one part of a site often share
    them."""
    path = url.partition("://")[2].partition("?")[0]
    folder, _, name = path.rpartition("/")
    words = [word for word in url_words(url).file if word not in _NO_NAME and not word.isdigit()]
    found = [f"name {word}" for word in words[:NAME_WORDS]]
    beginning = _BEGINNING.match(name)
    if beginning:
        found.append(f"begins {beginning[0][:_LONG].lower()}")
    return list(dict.fromkeys([*_folders(folder), *map(_place, found)]))


@lru_cache(maxsize=4096)
def _folders(folder: str) -> tuple[int, ...]:
    parts = folder.split("/")[: FOLDERS + 1]
    return tuple(_place("/".join(parts[:end]) + "/") for end in range(1, len(parts) + 1))


def _place(part: str) -> int:
    return as_id(number_of_url(part))


def number_of(term: str) -> int:
    """The number of a term: of a word that of its first six letters, which most of its forms
    share."""
    return zlib.crc32(term[:6].encode("utf-8", "surrogatepass"))
