"""Reading a page for the judge of words: what is kept of it, and what it says of the wish."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.distribution import need_extra
from spoor.hashing import hash64
from spoor.judges.frequencies import Floats, Frequencies
from spoor.judges.kept_pages import MOST_LINKS, MOST_TERMS, KeptPage, without
from spoor.judges.link_numbers import LinkNumbers
from spoor.judges.matching import HALF, LENGTH, SHORT_PARTS, SHORT_TEXT, WEIGHTS, Matcher
from spoor.judges.page_language import probability
from spoor.judges.repeated import PAGES, PLACES, SETTLED, InText, Repeated, common
from spoor.judges.term_matrix import SHORT_LOGS
from spoor.judges.url_numbers import as_id, number_of_url, site_of
from spoor.judges.wish import Wish
from spoor.judges.word_counts import (
    LATIN,
    LONGEST,
    Counted,
    Found,
    Pairs,
    WordNumbers,
    most_of,
    numbers_of_runs,
    parted,
    scripts_of,
)
from spoor.types import Page, State, urls_of
from spoor.web.languages import stemmer_of
from spoor.web.text import terms, words_of
from spoor.web.urls import words as url_words

TEXT_WORDS = 20_000
TEXT_LETTERS = 160_000
"""Words of a text that are read, and letters of all of them: of a script without spaces a sentence
is a word, and each pair of its letters a term."""
ANCHORS = 20_000
"""Links whose anchors have words of the wish, remembered at most."""
SLOTS = 1 << 15
"""Links that are known to have been seen, at most."""
FOLDERS = 8
"""Folders of a URL that count as its place, from the outermost."""
NAME_WORDS = 12
"""Words of the name of a file that do."""
_READ = ("description", "url", "title", "headings", "text")
_NO_NAME = frozenset({"html", "htm", "php", "index"})
_BEGINNING = re.compile(r"[^\W\d_]+\d*")


Slots = NDArray[np.int64]

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
        self.short = np.zeros(len(matcher.leaves), np.int64)
        """Pages in whose title, URL or anchor each leaf is found, or something like it."""
        self._counted, self._pairs = Counted(), Pairs(self.frequencies.slots)
        self._memos: dict[str, WordNumbers] = {}
        self._forgot = 0
        """What the memos know of slots is of so many times of `Frequencies.forgot`."""
        self._link_numbers = LinkNumbers(self.frequencies.slots)
        self._seen_links = np.zeros(SLOTS, np.int64)
        self._anchors: dict[int, dict[int, tuple[float, float]]] = {}
        self.repeated = Repeated()
        self._weights = np.array(
            [1.0 if leaf.field == "text" else WEIGHTS["text"] for leaf in matcher.leaves]
        )
        self._leaves_of: defaultdict[int, list[int]] = defaultdict(list)
        """Part of the wish → its leaves."""
        for leaf, parts in enumerate(matcher.part_numbers):
            for part in parts:
                self._leaves_of[part].append(leaf)

    def read(self, page: Page) -> tuple[KeptPage, list[tuple[str, float]], Floats, Slots]:
        """A page as it is kept, what its words say, and of each of its ids how many pages have it,
        and its slot; its terms and anchors are learned."""
        number, site = number_of_url(page.url), site_of(page.url)
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
        fields["url"] = page.url
        title = terms(page.title[:20_000])
        headings = terms(fields["headings"][:20_000])
        others = terms(page.description[:20_000]), [*chain(*url_words(page.url))]
        scripts = scripts_of(page.text)
        runs, spaced = parted(text, scripts)
        in_parts = (*others, title, headings, spaced)
        words = [*chain(*in_parts)]
        numbers = memo.of(words)
        folder = folder_of(page.url)
        self.repeated.page(site, folder)
        begin = len(words) - len(spaced)
        own, pieces = self.repeated.add(site, folder, memo.hashes(numbers[begin:]))
        if own is not None:
            words = [*words[:begin], *compress(spaced, own.tolist())]
            numbers = np.concatenate([numbers[:begin], numbers[begin:][own]])
            in_parts = (*others, title, headings, words[begin:])
        own, pieces_of_runs = self.repeated.add(site, folder, numbers_of_runs(runs))
        if own is not None:
            runs = [*compress(runs, own.tolist())]
        ends = [*accumulate(map(len, in_parts))]
        found = dict(zip(_READ, memo.found(words, numbers, ends), strict=True))
        exact_in_text = found["text"][0]
        for part, in_runs in self._matcher.fits_of_runs(runs):
            exact_in_text[part] = exact_in_text.get(part, 0.0) + in_runs
        of_text = words[begin:], numbers[begin:], pieces
        # Terms are those of its title, headings and text.
        words, numbers = words[ends[1] :], numbers[ends[1] :]
        its, times = memo.terms(words, numbers, runs, self._counted, self._pairs)
        script = most_of(scripts)
        evidence, in_text, reasons, parts = self._leaves(
            number, fields, found, len(pieces) + len(runs), is_latin=script == LATIN
        )
        if in_text is not None:
            self._note_places(in_text, memo, *of_text)
            self._note_places_in_runs(in_text, runs, pieces_of_runs)
            in_text.at = self.repeated.pages(site)
        together = np.array(self._matcher.stand_together(parts), np.bool_)
        named = np.array(parts, np.int64) > 0
        if reasons:
            self.known += evidence > 0
            self.said += evidence[:, 1]
            self.short += named
            self.together += together
        outward, slots_of_links = self._links(page, site, memo)
        places_of_url = places_of(page.url)
        slots = self.frequencies.slots
        slots_of_page = np.concatenate([its, slots_of_links, slots.of(places_of_url)])
        known, every = self.frequencies.add(slots_of_page)
        often = np.ones(len(every), np.uint8)
        often[: len(its)] = np.minimum(times, 255)
        ends = [len(its), len(its) + len(outward)]
        rarest = self._rarest(every[: ends[0]], often[: ends[0]], known[: ends[0]], MOST_TERMS)
        known_links = known[ends[0] : ends[1]]
        own_links = self.repeated.own_links(site, folder, outward, words=len(text))
        telling = self._rarest(outward[own_links], None, known_links[own_links], MOST_LINKS)
        telling = own_links[telling]
        chosen = np.concatenate([rarest, ends[0] + telling, np.arange(ends[1], len(every))])
        tongue = 1.0
        if self._wish is not None and (self._wish.languages or self._wish.unwanted_languages):
            tongue = probability(page, self._wish.languages, self._wish.unwanted_languages)
        kept = KeptPage(
            page.url,
            every.take(chosen),
            often.take(chosen),
            len(rarest),
            evidence,
            tongue=tongue,
            places=len(places_of_url),
            links=outward.take(telling),
            together=together,
            named=named,
            content=hash64(f"{page.title}\n{page.text[:TEXT_LETTERS]}") if page.text else 0,
            number=number,
            site=site,
            script=script,
            in_text=in_text if in_text is not None and len(in_text.pieces) else None,
            is_early=self.repeated.is_early(site, folder),
        )
        if self._matcher.wanted and len(self._matcher.leaves) > 1 and text:
            kept.near = self._nearness(text, runs, memo, evidence)
        slots_kept = slots_of_page.take(chosen)
        if self._forgot != self.frequencies.forgot:  # they changed while this page was counted
            slots_kept = np.array(slots.of(kept.ids.tolist()), np.int64)
        return kept, reasons, known.take(chosen), slots_kept

    def _memo(self, stemmer: str) -> WordNumbers:
        if self._forgot != self.frequencies.forgot:
            self._memos.clear()
            self._pairs.forget()
            self._link_numbers.forget()
            self._forgot = self.frequencies.forgot
        if stemmer not in self._memos:
            self._memos[stemmer] = WordNumbers(self._matcher, stemmer, self.frequencies.slots)
        self._memos[stemmer].trim()
        self._link_numbers.trim()
        return self._memos[stemmer]

    def _leaves(
        self,
        number: int,
        fields: Mapping[str, str],
        found: Mapping[str, Found],
        size: int,
        *,
        is_latin: bool,
    ) -> tuple[Floats, InText | None, list[tuple[str, float]], list[int]]:
        """What each leaf finds, (leaves, 2), and how, the reasons in words, and in which of
        `SHORT_PARTS` each leaf stands, as bits. `number`: of the page's URL; `size`: words of the
        text."""
        matcher = self._matcher
        evidence = np.zeros((len(matcher.leaves), 2))
        reasons: list[tuple[str, float]] = []
        parts = [0] * len(matcher.leaves)
        led = self._anchors.get(number, {})
        if not led and not any(exact or like for exact, like in found.values()):
            return evidence, None, reasons, parts
        in_text = InText(np.ones(evidence.shape), np.zeros(evidence.shape))
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
                    exact, like = matcher.leaf_counts(
                        at, *found[name], fields[name], is_latin=is_latin
                    )
                else:
                    continue
                if not exact and not like:
                    continue
                if name in SHORT_PARTS:
                    parts[at] |= 1 << SHORT_PARTS.index(name)
                if leaf.field:
                    weight = 1.0
                if name == "text":
                    in_text.often[at] = exact * dense, (exact + like) * dense
                for column, count in ((0, exact), (1, exact + like)):
                    share = 1.0 - (0.5 ** (count * dense) if name == "text" else 0.4**count)
                    misses[column] *= 1.0 - weight * share
                    if name != "text":
                        in_text.misses[at, column] *= 1.0 - weight * share
                if weight * share > best:
                    best, place, times = weight * share, name, exact + like
            evidence[at] = 1.0 - misses[0], 1.0 - misses[1]
            if best:
                often = f" {times:.0f} times" if times >= 1.5 else ""
                where = "in an anchor to it" if place == "anchors" else f"in its {place}"
                reasons.append((f"{leaf.shown!r} {where}{often}", round(1.0 - misses[1], 3)))
        return evidence, in_text if reasons else None, reasons, parts

    def _note_places(
        self,
        in_text: InText,
        memo: WordNumbers,
        words: Sequence[str],
        numbers: NDArray[np.int64],
        pieces: NDArray[np.uint64],
    ) -> None:
        """Note the pieces of a text in which words of the wish stand."""
        found = [
            (at, leaf)
            for at in memo.places(numbers)[:PLACES]
            for part, _, _ in memo.fits.get(words[at], ())
            for leaf in self._leaves_of[part]
        ]
        _note(in_text, found, pieces)

    def _note_places_in_runs(
        self, in_text: InText, runs: Sequence[str], pieces: NDArray[np.uint64]
    ) -> None:
        there = self._matcher.places_in_runs(runs)[:PLACES]
        places = [(at, leaf) for at, part in there for leaf in self._leaves_of[part]]
        _note(in_text, places, pieces)

    def read_again(self, pages: Iterable[KeptPage]) -> None:
        """Find anew what pages say, by what their sites are known to repeat."""
        there = [page for page in pages if page.in_text is not None]
        texts = [page.in_text for page in there if page.in_text is not None]
        repeated, begin = self.repeated.of([page.site for page in there], texts), 0
        for page, its in zip(there, texts, strict=True):
            end = begin + len(its.pieces)
            of_page, begin = repeated[begin:end], end
            if its.is_less or of_page.any():
                page.evidence = its.evidence(self._weights, of_page)
                its.is_less = True
            if self.repeated.pages(page.site) - its.at > SETTLED:
                page.in_text = None
        early: defaultdict[int, list[KeptPage]] = defaultdict(list)
        for page in pages:
            if page.is_early:
                for part in (page.site, folder_of(page.url)):
                    if self.repeated.has_menu(part):
                        early[part].append(page)
        for its_pages in early.values():
            if len(its_pages) >= PAGES:
                ids = common([page.ids for page in its_pages])
                for page in its_pages:
                    without(page, ids)
                    page.is_early = False

    def _links(
        self, page: Page, site: int, memo: WordNumbers
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The numbers and the slots of a page's links, each once; the anchors of those not seen
        before are read, if they lead to pages of the same site: anybody may write anything about
        the pages of others."""
        urls = urls_of(page.links)[:500]
        numbers, slots, once = self._link_numbers.of(urls)
        if self._matcher.leaves and len(urls):
            rows = numbers % SLOTS
            if (are_new := self._seen_links.take(rows) != numbers).any():
                self._read_anchors(page, urls, numbers, rows, are_new, site, memo)
        return numbers.take(once).astype(np.uint64), slots.take(once)

    def _read_anchors(
        self,
        page: Page,
        urls: Sequence[str],
        numbers: NDArray[np.int64],
        rows: NDArray[np.int64],
        are_new: NDArray[np.bool_],
        site: int,
        memo: WordNumbers,
    ) -> None:
        """Read the anchors of new links, and note that these were seen. `rows`: where."""
        seen = self._seen_links
        new: list[tuple[int, str]] = []
        of_new = np.zeros(SLOTS, np.bool_)
        of_new[rows[are_new]] = True  # two links of a page may have one row
        may_be_new = of_new.take(rows).nonzero()[0]
        its = (its.take(may_be_new).tolist() for its in (rows, numbers))
        for index, row, number in zip(may_be_new.tolist(), *its, strict=True):
            if seen.item(row) == number:
                continue
            # Of another site: not seen yet by a page of its own.
            if site_of(urls[index]) != site:
                seen[row] = -number
                continue
            seen[row] = number
            anchor = page.links[index].anchor.text
            if anchor:
                new.append((number, anchor[:500]))
        # Most say nothing of the wish, which all tell at once: no word goes on over lines.
        if new and any(memo.count(terms("\n".join(anchor for _, anchor in new)))):
            for number, anchor in new:
                self._read_anchor(number, anchor, memo)

    def _read_anchor(self, number: int, anchor: str, memo: WordNumbers) -> None:
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

    def _nearness(
        self, words: Sequence[str], runs: Sequence[str], memo: WordNumbers, evidence: Floats
    ) -> float:
        """1 where all words of the wish stand side by side, less with the words between them.
        `runs`: those of the words that are in a script without spaces."""
        known = np.flatnonzero(evidence[:, 1])
        if len(known) < 2:
            return 0.0
        last: dict[int, int] = {}
        best = 0.0
        wanted = {part for at in known for part in self._matcher.part_numbers[at][:1]}
        fitting = memo.fits
        if runs and (its := self._matcher.runs_that_fit(runs)):
            fitting = {**fitting, **its}
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
        self, ids: NDArray[Any], often: NDArray[Any] | None, known: Floats, most: int
    ) -> NDArray[np.int64]:
        """Which ids of a page tell most of it. `often`: how often each stands there, if not once;
        `known`: how many pages have it."""
        if len(ids) <= most:
            return np.arange(len(ids))
        # Of what stands there once, what the fewest pages have.
        weights = -known
        if often is not None:
            weights = SHORT_LOGS[often] * np.log((20.0 + self.frequencies.pages) / known)
        # By weight, then by number; a sort of all takes three times as long.
        least = np.partition(weights, -most)[-most]
        chosen = weights > least
        last = np.flatnonzero(weights == least)
        if len(last) > 1:
            last = last[np.argsort(ids[last], kind="stable")]
        chosen[last[: most - np.count_nonzero(chosen)]] = True
        return np.flatnonzero(chosen)

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
            "short": self.short.copy(),
            "seen": self._seen_links.copy(),
            "repeated": self.repeated.save(),
            "anchored": np.repeat(np.array([*self._anchors], np.uint64), leaves),
            "anchors": np.array(anchors, float).reshape(-1, 3),
        }

    def load(self, state: State) -> None:
        self.frequencies.load(state["frequencies"])
        self.known = np.array(state["known"], np.int64).reshape(-1, 2)
        known = self.known[:, 1]
        self.said = np.array(state.get("said", AS_A_RULE * known), float)  # one of before has none
        self.together = np.array(state["together"], np.int64)
        self.short = np.array(state.get("short", 0 * known), np.int64)  # one of before has none
        self._seen_links = np.array(state["seen"], np.int64)
        if "repeated" in state:  # one of before has none
            self.repeated.load(state["repeated"])
        self._anchors = {}
        anchors = state["anchors"].tolist()
        for number, (at, one, other) in zip(state["anchored"].tolist(), anchors, strict=True):
            self._anchors.setdefault(number, {})[int(at)] = one, other


def folder_of(url: str) -> int:
    """The number of the folder of a URL."""
    return hash64(url.rpartition("/")[0])


def _note(in_text: InText, places: Sequence[tuple[int, int]], pieces: NDArray[np.uint64]) -> None:
    if places:
        at, leaves = zip(*places, strict=True)
        in_text.pieces = np.append(in_text.pieces, pieces.take(at))
        in_text.leaves = np.append(in_text.leaves, np.array(leaves, np.uint16))


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
        found.append(f"begins {beginning[0][:LONGEST].lower()}")
    return list(dict.fromkeys([*_folders(folder), *map(_place, found)]))


@lru_cache(maxsize=4096)
def _folders(folder: str) -> tuple[int, ...]:
    parts = folder.split("/")[: FOLDERS + 1]
    return tuple(_place("/".join(parts[:end]) + "/") for end in range(1, len(parts) + 1))


@lru_cache(maxsize=2048)
def _place(part: str) -> int:
    return as_id(number_of_url(part))
