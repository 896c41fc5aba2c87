"""Reading a page for the judge of words: what is kept of it, and what it says of the wish."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.judges.feedback import (
    MOST_LINKS,
    MOST_TERMS,
    Floats,
    Frequencies,
    KeptPage,
    number_of_url,
)
from spoor.judges.matching import SHORT_TEXT, WEIGHTS, Matcher
from spoor.judges.page_language import probability, stemmer_of
from spoor.judges.wish import Wish
from spoor.learn.bounded_dict import Cache
from spoor.types import Page, State, urls_of
from spoor.web.text import UNSPACED, terms, words_of
from spoor.web.urls import words as url_words

TEXT_WORDS = 20_000
ANCHORS = 20_000
"""Links whose anchors have words of the wish, remembered at most."""
SLOTS = 1 << 15
"""Links that are known to have been seen, at most."""
CACHED = 1 << 14
"""URLs whose numbers are remembered."""
_LONG = 64
"""Letters of a word that is no word."""


class Reader:
    """Reads pages in the order of the crawl: it learns how frequent terms and links are, and which
    anchors lead to pages that come later."""

    def __init__(self, wish: Wish | None, matcher: Matcher) -> None:
        self._wish = wish
        self._matcher = matcher
        self.frequencies = Frequencies()
        self.known = np.zeros((len(matcher.leaves), 2), np.int64)
        """Pages on which each leaf was found, as it is, and as it is or something like it."""
        self._memos: dict[str, _Memo] = {}
        self._seen_links = [0] * SLOTS
        self._numbers = Cache[str, int](number_of_url, CACHED)
        """Of URLs: those of navigation come with each page."""
        self._anchors: dict[int, dict[int, tuple[float, float]]] = {}

    def read(self, page: Page) -> tuple[KeptPage, list[tuple[str, float]]]:
        """A page as it is kept, and what its words say; its terms and anchors are learned."""
        memo = self._memo(stemmer_of(page.language))
        fields: dict[str, tuple[Counter[str], str]] = {}
        text = page.text
        counts = Counter(words_of(text).first(TEXT_WORDS))
        ids: dict[int, int] = {}
        found: dict[str, _Found] = {}
        for name, written, counted in (
            ("title", page.title, None),
            ("headings", "\n".join(page.headings[:500]), None),
            ("description", page.description, None),
            ("text", text, counts),
        ):
            if written:
                words = Counter(terms(written[:20_000])) if counted is None else counted
                found[name] = memo.count(words, ids if name != "description" else {})
                fields[name] = words, written
        url = Counter(word for part in url_words(page.url) for word in part)
        found["url"] = memo.count(url, {})
        fields["url"] = url, page.url
        evidence, reasons = self._leaves(page, fields, found)
        self.known += evidence > 0
        links = self._links(page, memo)
        numbers = np.fromiter(ids, np.uint32, len(ids))
        often = np.minimum(np.fromiter(ids.values(), np.int64, len(ids)), 255).astype(np.uint8)
        self.frequencies.add([*ids, *links])
        numbers, often = self._rarest(numbers, often, MOST_TERMS)
        outward = np.array(links, np.uint32)
        outward, ones = self._rarest(outward, np.ones(len(outward), np.uint8), MOST_LINKS)
        tongue = 1.0
        if self._wish is not None and (self._wish.languages or self._wish.unwanted_languages):
            tongue = probability(page, self._wish.languages, self._wish.unwanted_languages)
        kept = KeptPage(
            page.url,
            np.concatenate([numbers, outward]),
            np.concatenate([often, ones]),
            len(numbers),
            evidence,
            tongue=tongue,
        )
        if self._matcher.wanted and len(self._matcher.leaves) > 1 and text:
            kept.near = self._nearness(text, counts, memo, evidence)
        return kept, reasons

    def _memo(self, stemmer: str) -> _Memo:
        if stemmer not in self._memos:
            self._memos[stemmer] = _Memo(self._matcher, stemmer)
        self._memos[stemmer].trim()
        return self._memos[stemmer]

    def _leaves(
        self,
        page: Page,
        fields: Mapping[str, tuple[Counter[str], str]],
        found: Mapping[str, _Found],
    ) -> tuple[Floats, list[tuple[str, float]]]:
        """What each leaf finds, (leaves, 2), and the reasons in words."""
        matcher = self._matcher
        evidence = np.zeros((len(matcher.leaves), 2))
        reasons: list[tuple[str, float]] = []
        led = self._anchors.get(number_of_url(page.url), {})
        if not led and not any(exact or like for exact, like in found.values()):
            return evidence, reasons
        for at, leaf in enumerate(matcher.leaves):
            misses = [1.0, 1.0]
            best, place, times = 0.0, "", 0.0
            for name, weight in WEIGHTS.items():
                if leaf.field and leaf.field != name:
                    continue
                if name == "anchors":
                    exact, like = led.get(at, (0.0, 0.0))
                elif name in found and (found[name][0] or found[name][1]):
                    lower = (
                        fields[name][1].lower() if len(leaf.parts[0]) == 1 or leaf.ordered else ""
                    )
                    exact, like = matcher.leaf_counts(at, *found[name], lower)
                else:
                    continue
                if not exact and not like:
                    continue
                if leaf.field:
                    weight = 1.0
                size = sum(fields["text"][0].values()) if name == "text" else 0
                for column, count in ((0, exact), (1, exact + like)):
                    if name == "text":
                        share = 1.0 - 2.0 ** (-500.0 * count / max(size, SHORT_TEXT))
                    else:
                        share = 1.0 - 0.4**count
                    misses[column] *= 1.0 - weight * share
                if weight * share > best:
                    best, place, times = weight * share, name, exact + like
            evidence[at] = 1.0 - misses[0], 1.0 - misses[1]
            if best:
                often = f" {times:.0f} times" if times >= 1.5 else ""
                where = "in an anchor to it" if place == "anchors" else f"in its {place}"
                reasons.append((f"{leaf.shown!r} {where}{often}", round(1.0 - misses[1], 3)))
        return evidence, reasons

    def _links(self, page: Page, memo: _Memo) -> list[int]:
        """The numbers of a page's links; the anchors of those not seen before are read."""
        numbers = list(map(self._numbers.__getitem__, urls_of(page.links)[:500]))
        seen = self._seen_links
        if self._matcher.leaves:
            for index, number in enumerate(numbers):
                if seen[number % SLOTS] != number:
                    seen[number % SLOTS] = number
                    anchor = page.links[index].anchor.text
                    if anchor:
                        self._read_anchor(number, anchor[:500], memo)
        return list(dict.fromkeys(numbers))

    def _read_anchor(self, number: int, anchor: str, memo: _Memo) -> None:
        exact, like = memo.count(Counter(terms(anchor)), {})
        if not exact and not like:
            return
        counts = self._anchors.setdefault(number, {})
        for at in range(len(self._matcher.leaves)):
            one, other = self._matcher.leaf_counts(at, exact, like, anchor.lower())
            if one or other:
                before = counts.get(at, (0.0, 0.0))
                counts[at] = before[0] + one, before[1] + other
        while len(self._anchors) > ANCHORS:
            del self._anchors[next(iter(self._anchors))]

    def _nearness(
        self, text: str, counts: Mapping[str, int], memo: _Memo, evidence: Floats
    ) -> float:
        """1 where all words of the wish stand side by side, less with the words between them."""
        known = np.flatnonzero(evidence[:, 1])
        if len(known) < 2:
            return 0.0
        last: dict[int, int] = {}
        best = 0.0
        wanted = {part for at in known for part in self._matcher.part_numbers[at][:1]}
        fitting = {word: memo.fits[word] for word in counts if word in memo.fits}
        words = words_of(text).first(TEXT_WORDS)
        for place, fits in [
            (at, fitting[word]) for at, word in enumerate(words) if word in fitting
        ]:
            for part, _, _ in fits:
                last[part] = place
            if len(last) >= len(wanted) > 1:
                spread = place - min(last.values()) + 1 - len(wanted)
                best = max(best, 1.0 / (1.0 + max(0, spread) / 4.0))
        return best

    def _rarest(
        self, ids: NDArray[Any], often: NDArray[Any], most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ids of a page that tell most of it."""
        if len(ids) <= most:
            return ids, often
        known = self.frequencies.of(ids)
        weights = (1.0 + np.log(often)) * np.log((20.0 + self.frequencies.pages) / known)
        chosen = np.sort(np.lexsort((ids, -weights))[:most])
        return ids[chosen], often[chosen]

    def save(self) -> State:
        anchors = [
            (number, at, *counts)
            for number, by_leaf in self._anchors.items()
            for at, counts in by_leaf.items()
        ]
        return {
            "frequencies": self.frequencies.save(),
            "known": self.known.copy(),
            "seen": np.array(self._seen_links, np.uint32),
            "anchors": np.array(anchors, float).reshape(-1, 4),
        }

    def load(self, state: State) -> None:
        self.frequencies.load(state["frequencies"])
        self.known = np.array(state["known"], np.int64).reshape(-1, 2)
        self._seen_links = state["seen"].tolist()
        self._anchors = {}
        for number, at, one, other in state["anchors"].tolist():
            self._anchors.setdefault(int(number), {})[int(at)] = one, other


_Fit = tuple[int, bool, float]
"""Part of the wish, whether it is the part itself or a form of it, and likeness."""
_Found = tuple[dict[int, float], dict[int, float]]
"""Part of a leaf → how often it stands there, and how often what is like it."""


class _Memo(dict[str, int]):
    """Word → the number of its term; −1 for one that is several terms, or none (`several`)."""

    def __init__(self, matcher: Matcher, stemmer: str) -> None:
        super().__init__()
        self._matcher = matcher
        self._stemmer = stemmer
        self._several: dict[str, tuple[int, ...]] = {}
        self._long: list[str] = []
        self.fits: dict[str, tuple[_Fit, ...]] = {}
        """What parts of the wish a word fits, if any."""

    def trim(self) -> None:
        """Between two pages: forget all words where there are too many, and those that are long."""
        if len(self) > 100_000:
            for words in (self, self._several, self.fits):
                words.clear()
        for word in self._long:
            for words in (self, self._several, self.fits):
                words.pop(word, None)
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
        one = len(numbers) == 1
        if not one:
            self._several[word] = numbers
        answer = self[word] = numbers[0] if one else -1
        return answer

    def count(self, words: Mapping[str, int], ids: dict[int, int]) -> _Found:
        """Adds the terms to `ids`; returns what they fit."""
        exact: dict[int, float] = {}
        like: dict[int, float] = {}
        get = ids.get
        for word, often in words.items():
            number = self[word]
            if number >= 0:
                ids[number] = get(number, 0) + often
            else:
                for number in self._several[word]:
                    ids[number] = get(number, 0) + often
        for word in filter(self.fits.__contains__, words):
            for part, same, likeness in self.fits[word]:
                into = exact if same else like
                into[part] = into.get(part, 0.0) + words[word] * likeness
        return exact, like


def number_of(term: str) -> int:
    """The number of a term: of a word that of its first six letters, which most of its forms
    share."""
    return zlib.crc32(term[:6].encode("utf-8", "surrogatepass"))
