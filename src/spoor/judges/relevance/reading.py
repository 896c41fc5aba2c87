"""Reading a page for the judge of words: what is kept of it, and what it says of the wish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.distribution import need_extra
from spoor.hashing import hash64
from spoor.judges.page_language import probability
from spoor.judges.relevance.anchors import Anchors
from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.indexes import Indexes
from spoor.judges.relevance.kept_pages import MOST_LINKS, MOST_TERMS, KeptPage, without
from spoor.judges.relevance.link_numbers import LinkNumbers
from spoor.judges.relevance.list_forms import ListForms
from spoor.judges.relevance.matching import HALF, LENGTH, SHORT_PARTS, SHORT_TEXT, WEIGHTS, Matcher
from spoor.judges.relevance.nearness import nearness
from spoor.judges.relevance.repeated import (
    ELSEWHERE,
    IN_TEXT,
    PAGES,
    PLACES,
    SETTLED,
    InText,
    Repeated,
    common,
)
from spoor.judges.relevance.term_matrix import SHORT_LOGS
from spoor.judges.relevance.url_numbers import number_of_url, site_of
from spoor.judges.relevance.url_places import folder_of, places_of
from spoor.judges.relevance.word_counts import (
    LATIN,
    Counted,
    Found,
    Pairs,
    WordNumbers,
    most_of,
    numbers_of_runs,
    parted,
    scripts_of,
)
from spoor.judges.wish import Wish
from spoor.types import Page, State, urls_of
from spoor.web.languages import stemmer_of
from spoor.web.page_links import on_page
from spoor.web.page_links import places_of as places_of_links
from spoor.web.parts import first_part
from spoor.web.text import terms, words_of
from spoor.web.urls import words as url_words

TEXT_WORDS = 20_000
TEXT_LETTERS = 160_000
"""Words of a text that are read, and letters of all of them: of a script without spaces a sentence
is a word, and each pair of its letters a term."""
HEADING_LETTERS = 20_000
"""Letters of all headings."""
_READ = ("description", "url", "keywords", "title", "headings", "text")


Slots = NDArray[np.int64]

AS_A_RULE = 0.3
"""What a page says of a word that it has, as a rule."""


def has_words(page: Page) -> bool:
    """Whether there is anything to read on a page: a document that is no HTML may have no word."""
    written = page.text or page.title or page.headings or page.description
    return bool(written) or "not-html" not in page.flags


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a page."""

    fields: Mapping[str, str]
    """Its title, headings, keywords, description, text and URL as they stand."""
    numbers: NDArray[np.int64]
    """Those of its parts, one after the other as `_READ` names them; of its text those in scripts
    with spaces that its site does not repeat."""
    ends: Sequence[int]
    """Of each part."""
    headings: Sequence[str]
    """Those that its site does not repeat, …"""
    of_headings: NDArray[np.uint64]
    """… and the number of each."""
    pieces: NDArray[np.uint64]
    """In which piece of the text each of its words stands."""
    runs: Sequence[str]
    """Runs of letters in scripts without spaces, of its text, which its site does not repeat, …"""
    pieces_of_runs: NDArray[np.uint64]
    """… and in which piece each stands."""
    near: Sequence[str]
    """All words of its text as they follow one another."""
    script: int
    """Which kind of script most of its text is in."""

    @property
    def terms(self) -> int:
        """Where those begin that are no part of its description or URL."""
        return self.ends[1]

    @property
    def of_text(self) -> slice:
        """Those of its text."""
        return slice(self.ends[4], None)

    @property
    def in_headings(self) -> slice:
        """Those of its headings."""
        return slice(self.ends[3], self.ends[4])


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
        self.beside = 0
        """Pages in whose text all words of the wish stand side by side."""
        self.short = np.zeros(len(matcher.leaves), np.int64)
        """Pages in whose title, URL or anchor each leaf is found, or something like it."""
        self._counted, self._pairs = Counted(), Pairs(self.frequencies.slots)
        self._memos: dict[str, WordNumbers] = {}
        self._forgot = 0
        """What the memos know of slots is of so many times of `Frequencies.forgot`."""
        self._link_numbers = LinkNumbers(self.frequencies.slots)
        self._anchors = Anchors(matcher)
        self._lists = ListForms()
        self._indexes = Indexes()
        self.repeated = Repeated()
        self._weights = {
            part: np.array(
                [1.0 if leaf.field == part else WEIGHTS[part] for leaf in matcher.leaves]
            )
            for part in ("text", "headings")
        }
        self._leaves_of: defaultdict[int, list[int]] = defaultdict(list)
        """Part of the wish → its leaves."""
        for leaf, parts in enumerate(matcher.part_numbers):
            for part in parts:
                self._leaves_of[part].append(leaf)

    def read(
        self, page: Page, *, again: bool = False
    ) -> tuple[KeptPage, list[tuple[str, float]], Floats, Slots]:
        """A page as it is kept, what its words say, and of each of its ids how many pages have it,
        and its slot; its terms and anchors are learned. What it says is not repeated on its site
        by being read `again`, as a watch does."""
        if first := first_part(page):  # of a document in parts the first one is filed
            page = replace(page, keywords=())
        number, site, folder = number_of_url(page.url), site_of(page.url), folder_of(page.url)
        memo = self._memo(stemmer_of(page.language))
        words = self._words(page, site, folder, memo, again=again)
        evidence, in_text, reasons, parts = self._leaves(number, words, memo)
        if in_text is not None:
            self._note_places(in_text, words, memo)
            in_text.at = self.repeated.pages(site)
            if in_text.of_headings:
                self._indexes.read(page, site, lambda heading: self._is_filed([heading], memo))
        together = np.array(self._matcher.stand_together(parts), np.bool_)
        named = np.array(parts, np.int64) > 0
        if reasons:
            self.known += evidence > 0
            self.said += evidence[:, 1]
            self.short += named
            self.together += together
        # Terms are those of its title, headings and text.
        its = words.numbers[words.terms :]
        slots_of_terms, times = memo.terms(its, words.runs, self._counted, self._pairs)
        outward, slots_of_links = self._links(page, site, memo)
        places = places_of(page.url)
        slots = self.frequencies.slots
        slots_of_page = np.concatenate([slots_of_terms, slots_of_links, slots.of(places)])
        known, ids = self.frequencies.add(slots_of_page)
        often = np.ones(len(ids), np.uint8)
        often[: len(slots_of_terms)] = np.minimum(times, 255)
        of_terms = slice(len(slots_of_terms))
        of_links = slice(of_terms.stop, of_terms.stop + len(outward))
        rarest = self._rarest(ids[of_terms], often[of_terms], known[of_terms], MOST_TERMS)
        own_links = self.repeated.own_links(
            site, folder, outward, words=len(words.near), again=again
        )
        telling = own_links[
            self._rarest(outward[own_links], None, known[of_links][own_links], MOST_LINKS)
        ]
        of_places = np.arange(of_links.stop, len(ids))
        chosen = np.concatenate([rarest, of_links.start + telling, of_places])
        tongue = 1.0
        if self._wish is not None and (self._wish.languages or self._wish.unwanted_languages):
            tongue = probability(page, self._wish.languages, self._wish.unwanted_languages)
        keywords = words.fields["keywords"].splitlines()
        kept = KeptPage(
            page.url,
            ids.take(chosen),
            often.take(chosen),
            len(rarest),
            evidence,
            tongue=tongue,
            places=len(places),
            links=outward.take(telling),
            together=together,
            named=named,
            content=_content(page),
            number=number,
            site=site,
            script=words.script,
            in_text=in_text if in_text is not None and len(in_text.pieces) else None,
            is_early=self.repeated.is_early(site, folder),
            is_list=self._lists.is_list(page),
            is_filed=self._is_filed(keywords, memo),
            is_alone=len({*map(str.lower, keywords)}) == 1,
            first_part=number_of_url(first) if first else 0,
        )
        if self._matcher.wanted and len(self._matcher.leaves) > 1 and words.near:
            kept.near = nearness(words.near, words.runs, memo, self._matcher, evidence)
            self.beside += kept.near == 1.0 and bool(evidence[:, 0].all())
        slots_kept = slots_of_page.take(chosen)
        if self._forgot != self.frequencies.forgot:  # they changed while this page was counted
            slots_kept = np.array(slots.of(kept.ids.tolist()), np.int64)
        return kept, reasons, known.take(chosen), slots_kept

    def _words(
        self, page: Page, site: int, folder: int, memo: WordNumbers, *, again: bool
    ) -> _Words:
        """The words of a page, and those of its text that its site or folder does not repeat."""
        if not again:
            self.repeated.page(site, folder)
        first = _first_letters(page.headings[:500], HEADING_LETTERS)
        headings, of_headings = self.repeated.own_headings(site, folder, first, again=again)
        keywords = self.repeated.own_keywords(
            site, page.keywords, lambda its: self._is_filed([its], memo), again=again
        )
        fields = {
            "title": page.title,
            "headings": "\n".join(headings),
            "keywords": "\n".join(keywords),
            "description": page.description,
            "text": page.text,
            "url": page.url,
        }
        near = words_of(page.text).first(TEXT_WORDS)
        if 2 * len(page.text) > TEXT_LETTERS:  # a letter has two in lower case at most
            near = _first_letters(near, TEXT_LETTERS)
        scripts = scripts_of(page.text)
        runs, spaced = parted(near, scripts)
        before = (
            terms(page.description[:20_000]),
            [*chain(*url_words(page.url))],
            terms(fields["keywords"]),
            terms(page.title[:20_000]),
            terms(fields["headings"]),
        )
        numbers = memo.of([*chain(*before, spaced)])
        begin = len(numbers) - len(spaced)
        own, pieces = self.repeated.add(site, folder, memo.hashes(numbers[begin:]), again=again)
        if own is not None:
            numbers = np.concatenate([numbers[:begin], numbers[begin:][own]])
        own, pieces_of_runs = self.repeated.add(site, folder, numbers_of_runs(runs), again=again)
        if own is not None:
            runs = [*compress(runs, own.tolist())]
        ends = [*accumulate(map(len, before)), len(numbers)]
        script = most_of(scripts)
        return _Words(
            fields,
            numbers,
            ends,
            headings,
            of_headings,
            pieces,
            runs,
            pieces_of_runs,
            near,
            script,
        )

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
        self, number: int, words: _Words, memo: WordNumbers
    ) -> tuple[Floats, InText | None, list[tuple[str, float]], list[int]]:
        """What each leaf finds, (leaves, 2), and how, the reasons in words, and in which of
        `SHORT_PARTS` each leaf stands, as bits. `number`: of the page's URL."""
        matcher, fields, is_latin = self._matcher, words.fields, words.script == LATIN
        found: dict[str, Found] = dict(
            zip(_READ, memo.found(words.numbers, words.ends), strict=True)
        )
        exact_in_text = found["text"][0]
        for part, in_runs in matcher.fits_of_runs(words.runs):
            exact_in_text[part] = exact_in_text.get(part, 0.0) + in_runs
        size = len(words.pieces) + len(words.runs)
        evidence = np.zeros((len(matcher.leaves), 2))
        reasons: list[tuple[str, float]] = []
        parts = [0] * len(matcher.leaves)
        led = self._anchors.to(number)
        if not led and not any(exact or like for exact, like in found.values()):
            return evidence, None, reasons, parts
        none = np.zeros(evidence.shape)
        in_text = InText(np.ones(evidence.shape), none, none.copy())
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
                elif name == "headings":
                    in_text.headings[at] = exact, exact + like
                for column, count in ((0, exact), (1, exact + like)):
                    share = 1.0 - (
                        IN_TEXT ** (count * dense) if name == "text" else ELSEWHERE**count
                    )
                    misses[column] *= 1.0 - weight * share
                    if name not in self._weights:
                        in_text.misses[at, column] *= 1.0 - weight * share
                if weight * share > best:
                    best, place, times = weight * share, name, exact + like
            evidence[at] = 1.0 - misses[0], 1.0 - misses[1]
            if best:
                often = f" {times:.0f} times" if times >= 1.5 else ""
                where = "in an anchor to it" if place == "anchors" else f"in its {place}"
                reasons.append((f"{leaf.shown!r} {where}{often}", round(1.0 - misses[1], 3)))
        return evidence, in_text if reasons else None, reasons, parts

    def is_filed(self, page: KeptPage) -> bool:
        """Whether its site files a page under just what is wanted."""
        return page.is_filed or page.number in self._indexes

    def _is_filed(self, keywords: Iterable[str], memo: WordNumbers) -> bool:
        """Whether a page is filed under just what is wanted by one of its keywords."""
        each = ((keyword, terms(keyword)) for keyword in keywords)
        return any(
            self._matcher.is_named_by(keyword, words, memo.count(words)[0])
            for keyword, words in each
        )

    def _note_places(self, in_text: InText, words: _Words, memo: WordNumbers) -> None:
        """Note the pieces of a text, and the headings, in which words of the wish stand."""
        _note(in_text, self._places(words, words.of_text, memo), words.pieces)
        parts = self._matcher.places_in_runs(words.runs)[:PLACES]
        _note(in_text, self._with_leaves(parts), words.pieces_of_runs)
        if named := self._places(words, words.in_headings, memo):
            sizes = [len(terms(its)) for its in words.headings]
            if sum(sizes) == len(words.numbers[words.in_headings]):
                before = len(in_text.pieces)
                _note(in_text, named, np.repeat(words.of_headings, sizes))
                in_text.of_headings = len(in_text.pieces) - before

    def _places(self, words: _Words, part: slice, memo: WordNumbers) -> list[tuple[int, int]]:
        """Which words of a part fit a leaf of the wish, and which."""
        its = words.numbers[part]
        parts = [
            (at, part)
            for at in memo.places(its)[:PLACES]
            for part, _, _ in memo.fits[memo.words[its.item(at)]]
        ]
        return self._with_leaves(parts)

    def _with_leaves(self, parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(at, leaf) for at, part in parts for leaf in self._leaves_of[part]]

    def read_again(self, pages: Iterable[KeptPage]) -> None:
        """Find anew what pages say, by what their sites are known to repeat."""
        there = [page for page in pages if page.in_text is not None]
        texts = [page.in_text for page in there if page.in_text is not None]
        sites, folders = [page.site for page in there], [folder_of(page.url) for page in there]
        repeated, begin = self.repeated.of(sites, folders, texts), 0
        for page, its in zip(there, texts, strict=True):
            end = begin + len(its.pieces)
            of_page, begin = repeated[begin:end], end
            if its.is_less or of_page.any():
                page.evidence = its.evidence(
                    self._weights["text"], self._weights["headings"], of_page
                )
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
        before are read. What is dated is about anything, and its neighbours in time are, too: of
        its menus there are none."""
        urls = urls_of(page.links)[: min(500, on_page(page.links))]
        numbers, slots, once = self._link_numbers.of(urls)
        if self._matcher.leaves and len(urls):
            self._anchors.read(page, urls, numbers, site, memo)
        if "dated" in page.flags and len(once):
            regions = (region for _, _, region in places_of_links(page.links))
            beside = {url for url, region in zip(urls, regions, strict=False) if region != "nav"}
            once = once[[urls[at] in beside for at in once.tolist()]]
        return numbers.take(once).astype(np.uint64), slots.take(once)

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
        return {
            "frequencies": self.frequencies.save(),
            "known": self.known.copy(),
            "said": self.said.copy(),
            "together": self.together.copy(),
            "short": self.short.copy(),
            "beside": self.beside,
            "repeated": self.repeated.save(),
            "list_forms": self._lists.save(),
            "indexed": np.array(self._indexes.save(), np.uint64),
            **self._anchors.save(),
        }

    def load(self, state: State) -> None:
        self.frequencies.load(state["frequencies"])
        self.known = np.array(state["known"], np.int64).reshape(-1, 2)
        self.said = np.array(state["said"], float)
        self.together = np.array(state["together"], np.int64)
        self.short = np.array(state["short"], np.int64)
        self.beside = int(state.get("beside", 0))
        self.repeated.load(state["repeated"])
        self._lists.load(state["list_forms"])
        self._indexes.load(state["indexed"].tolist())
        self._anchors.load(state)


def _content(page: Page) -> int:
    """As of a `KeptPage`."""
    if not page.text:
        return 0
    cut = page.url if "truncated" in page.flags else ""
    return hash64(f"{page.title}\n{page.text}\n{cut}")


def _note(in_text: InText, places: Sequence[tuple[int, int]], pieces: NDArray[np.uint64]) -> None:
    if places:
        at, leaves = zip(*places, strict=True)
        in_text.pieces = np.append(in_text.pieces, pieces.take(at))
        in_text.leaves = np.append(in_text.leaves, np.array(leaves, np.uint16))


def _first_letters(words: Sequence[str], most: int) -> list[str]:
    """The words of at most so many letters; the last may be cut."""
    if sum(map(len, words)) <= most:
        return [*words]
    found = list[str]()
    for word in words:
        found.append(word[:most])
        most -= len(word)
        if most <= 0:
            break
    return found
