"""Reading a page for the judge of words: what is kept of it, and what it says of the wish."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, filterfalse
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
from spoor.judges.page_language import probability
from spoor.judges.wish import Wish
from spoor.types import Page, State, urls_of
from spoor.web.languages import stemmer_of
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


AS_A_RULE = 0.3
"""What a page says of a word that it has, as a rule."""


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
        self.said = np.zeros(len(matcher.leaves))
        """Sum of what these pages say of each leaf, as it is or as something like it."""
        self.together = np.zeros(len(matcher.conjunctions), np.int64)
        """Pages on which what each conjunction names stands together in a title, URL or anchor."""
        self._memos: dict[str, _Memo] = {}
        self._forgot = 0
        """What the memos know of slots is of so many times of `Frequencies.forgot`."""
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
        text = words_of(page.text).first(TEXT_WORDS)
        if 2 * len(page.text) > TEXT_LETTERS:  # a letter has two in lower case at most
            text = _first_letters(text, TEXT_LETTERS)
        ids: dict[int, int] = {}
        runs: list[str] = []
        found: dict[str, _Found] = {}
        for name, written in fields.items():
            if written:
                words = text if name == "text" else terms(written[:20_000])
                found[name] = memo.count(words, ids if name != "description" else None, runs)
        if runs:
            memo.count_pairs("".join(runs), ids)
        fields["url"] = page.url
        found["url"] = memo.count(chain(*url_words(page.url)))
        evidence, reasons, parts = self._leaves(page, fields, found, len(text))
        self.known += evidence > 0
        self.said += evidence[:, 1]
        together = np.array(self._matcher.stand_together(parts), np.bool_)
        self.together += together
        links = self._links(page, memo)
        places = places_of(page.url)
        outward = np.array(links, np.uint64)
        slots = self.frequencies.slots
        others = map(slots.__getitem__, chain(map(as_id, links), places))
        known, every = self.frequencies.add(np.array([*ids, *others], np.int64))
        ends = len(ids), len(ids) + len(links)
        often = np.minimum(np.fromiter(ids.values(), np.int64, len(ids)), 255).astype(np.uint8)
        terms_kept = self._rarest(every[: ends[0]], often, known[: ends[0]], MOST_TERMS)
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
        if self._forgot != self.frequencies.forgot:
            self._memos.clear()
            self._forgot = self.frequencies.forgot
        if stemmer not in self._memos:
            self._memos[stemmer] = _Memo(self._matcher, stemmer, self.frequencies.slots)
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
        for place, word in compress(enumerate(words), map(fitting.__contains__, words)):
            for part, _, _ in fitting[word]:
                last[part] = place
            if len(last) >= len(wanted) > 1:
                spread = place - min(last.values()) + 1 - len(wanted)
                if spread <= 0:
                    return 1.0
                best = max(best, 1.0 / (1.0 + spread / 4.0))
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
            "said": self.said.copy(),
            "together": self.together.copy(),
            "seen": np.array(self._seen_links, np.int64),
            "anchored": np.repeat(np.array([*self._anchors], np.uint64), leaves),
            "anchors": np.array(anchors, float).reshape(-1, 3),
        }

    def load(self, state: State) -> None:
        self.frequencies.load(state["frequencies"])
        self.known = np.array(state["known"], np.int64).reshape(-1, 2)
        known = self.known[:, 1]
        self.said = np.array(state.get("said", AS_A_RULE * known), float)  # one of before has none
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
    """Word → the slot of its term, or a code below 0: `_NO_TERM`, a run of a script without spaces
    (`_RUN`), or one of several terms: so that the words of a text are counted by slots at once."""

    def __init__(self, matcher: Matcher, stemmer: str, slots: Mapping[int, int]) -> None:
        super().__init__()
        self._matcher = matcher
        self._stemmer = stemmer
        self._slots = slots
        self._coded: dict[int, tuple[int, ...]] = {}
        """Code of a word → the slots of its terms."""
        self._code = _RUN
        """The last that was given."""
        self._long: list[str] = []
        self._pairs: dict[int, int] = {}
        """A pair of letters of a script without spaces, the first above 16 bits, or one that stands
        alone → the slot of its term."""
        self.fits: dict[str, tuple[_Fit, ...]] = {}
        """What parts of the wish a word fits, if any."""

    def trim(self) -> None:
        """Between two pages: forget all words where there are too many, and those that are long."""
        if len(self) > 100_000:
            self.clear()
            self._coded.clear()
            self.fits.clear()
        if len(self._pairs) > 100_000:
            self._pairs.clear()
        for word in self._long:
            self._coded.pop(self.pop(word, _NO_TERM), None)
            self.fits.pop(word, None)
        self._long.clear()

    def _add(self, words: Sequence[str]) -> None:
        """Words that are not known yet, in lower case."""
        may_fit, slots = self._matcher.may_fit(words), self._slots
        for word in words:
            is_one = word.isalnum() and (word.isascii() or not UNSPACED.search(word))
            if is_one and len(word) <= _LONG and not may_fit(word):
                self[word] = _NO_TERM if word.isdigit() else slots[number_of(word)]
            elif UNSPACED.fullmatch(word):
                self[word] = _RUN
                if fits := self._matcher.fits_of_run(word):
                    self.fits[word] = fits
            else:
                self[word] = self._code_of(word)
            if len(word) > _LONG:
                self._long.append(word)

    def _code_of(self, word: str) -> int:
        """Of one that may fit the wish or be several terms."""
        found = terms(word) if len(word) <= _LONG or UNSPACED.search(word) else []
        fits = tuple(fit for term in found for fit in self._matcher.fits(term, self._stemmer))
        if fits:
            self.fits[word] = fits
        numbers = tuple(self._slots[number_of(term)] for term in found if not term.isdigit())
        if len(numbers) < 2:
            return numbers[0] if numbers else _NO_TERM
        self._code -= 1
        self._coded[self._code] = numbers
        return self._code

    def count(
        self, words: Iterable[str], ids: dict[int, int] | None = None, runs: list[str] | None = None
    ) -> _Found:
        """What the words fit. Adds how often each term stands there to `ids`, in the order of their
        first words, by its slot; those of runs are not counted but added to `runs`."""
        exact: dict[int, float] = {}
        like: dict[int, float] = {}
        counted = Counter(words)
        self._add([*filterfalse(self.__contains__, counted)])
        for word in filter(self.fits.__contains__, counted):
            often = counted[word]
            for part, same, likeness in self.fits[word]:
                into = exact if same else like
                into[part] = into.get(part, 0.0) + often * likeness
        if ids is None or runs is None:
            return exact, like
        get = ids.get
        codes = [*map(self.__getitem__, counted)]
        for code, often in zip(codes, counted.values(), strict=True):
            if code >= 0:
                ids[code] = get(code, 0) + often
            elif code < _RUN:
                for one in self._coded[code]:
                    ids[one] = get(one, 0) + often
        if _RUN in codes:
            runs += [
                f"{word} " * counted[word] for word in compress(counted, map(_RUN.__eq__, codes))
            ]
        return exact, like

    def count_pairs(self, runs: str, ids: dict[int, int]) -> None:
        """Add how often each term stands in runs, which end with a blank each. O(n log n), by a
        sort of numbers instead of a look-up for each pair."""
        letters = np.frombuffer(f" {runs}".encode("utf-16-le"), np.uint16).astype(np.uint32)
        inside = letters != ord(" ")
        both = inside[1:] & inside[:-1]
        alone = inside[1:-1] & ~both[1:] & ~both[:-1]
        first, second = letters[:-1][both], letters[1:][both]
        found = np.concatenate([first << np.uint32(16) | second, letters[1:-1][alone]])
        found.sort()
        ends = np.flatnonzero(np.append(found[1:] != found[:-1], True))
        often = np.diff(ends, prepend=-1).tolist()
        pairs, different = self._pairs, found[ends].tolist()
        for pair in filterfalse(pairs.__contains__, different):
            letters_of = (chr(pair >> 16) if pair >> 16 else "") + chr(pair & 0xFFFF)
            digits = letters_of.isdigit()
            pairs[pair] = _NO_TERM if digits else self._slots[number_of(letters_of)]
        counted = dict(zip(map(pairs.__getitem__, different), often, strict=True))
        for slot in counted.keys() & ids.keys():
            counted[slot] += ids[slot]
        ids |= counted
        ids.pop(_NO_TERM, None)


_NO_TERM, _RUN = -1, -2


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
