"""What the words of a wish say of pages: evidence in [0, 1], by how rare each word is on this
crawl, how much it says of the pages which have it, and whether words stand together as a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.frequencies import Floats
from spoor.judges.relevance.kept_pages import KeptPage
from spoor.judges.relevance.matching import INEXACT, INEXACT_RUN, Matcher, Tree, leaves_of
from spoor.judges.relevance.reading import AS_A_RULE, Reader
from spoor.judges.relevance.surest_pages import MOST_TOPICS, topics_of
from spoor.judges.relevance.wish_evidence import (
    APART,
    FEW_LEAVES,
    TOGETHER,
    value_of,
    value_on_page,
)

FIRST = 16
"""Pages before the first feedback, which is when words are weighed, too."""
NO_NAME = 80
"""Pages after which words that stand together in no title, URL or anchor are no name here: a page
with one of them has more than a quarter."""
NAMED = 4
"""On many sites words are a name where they stand together in the title, URL or anchor of one in so
many of the pages in whose title, URL or anchor the more frequent one stands."""
MENTIONED = 0.8
"""On many sites a page is not told when it comes where its site is not known yet, no word of the
wish is in its title, its URL or an anchor to it, and one in its text has less weight than this
(`many_sites.weights_of_mentions`)."""
SENTENCE = 4
"""Words from which on a wish is a sentence rather than a name: its words need not stand together,
from the first feedback on."""
DOUBT_OF_WORDS = 5.0
"""What a page says of a word as a rule is worth so many pages."""
KNOWN = 3
"""Pages with a word from which on the crawl knows it."""
OTHER = 8
"""Where so many times as many pages lack a word that is known and have something like it, that is
another word (*checked* beside *checker*)."""
SIDE_BY_SIDE = 2
"""Words that were typed one after the other are a name where they stand so in the texts of `KNOWN`
pages, one in so many of those that have the rarest of them."""
UNWANTED = 0.3
"""Least evidence of a page on which words stand that are not wanted."""


class Said:
    """Evidence of pages that a `Reader` has read, by what it knows of the crawl at the time."""

    def __init__(self, matcher: Matcher, reader: Reader) -> None:
        self._matcher = matcher
        self._reader = reader
        self._inexact = np.array(
            [INEXACT_RUN if leaf.is_run else INEXACT for leaf in matcher.leaves]
        )
        leaves = [*leaves_of(matcher.wanted)] if matcher.wanted else []
        self._many = max(len(leaves), len(matcher.leaves)) >= FEW_LEAVES
        self.many_sites = False
        """Whether the crawl reads many sites, of which few may have what is a name there, …"""
        self.mention: Floats | None = None
        """… and what each leaf counts there on a page that has it in no title, URL or anchor."""

    def wanted(self, pages: Sequence[KeptPage]) -> Floats:
        """What the words of the wish say of pages, in [0, 1]."""
        wanted = self._matcher.wanted
        if not wanted or not pages or (len(pages) == 1 and not pages[0].evidence.any()):
            return np.zeros(len(pages))
        return self._of_parts([wanted], pages)[0]

    def wholly(self, pages: Sequence[KeptPage]) -> Floats:
        """What pages say of the whole wish, in [0, 1]: one that lacks a word has little, however
        often the others stand on it; what is like a word stands for none that nobody knows, and one
        that no page has tells as much as any. 1 where the wish has no words."""
        if not (wanted := self._matcher.wanted):
            return np.ones(len(pages))
        known, worths = self._reader.known[:, 1], self._worths()
        weights = self._weights(worths)
        leaves = self._leaves(pages, np.minimum(self._inexact, worths))
        self._fill_phrases(leaves, weights)
        tells = np.where(known > 0, self._tells(known), 1.0)
        return value_of(wanted, leaves, weights, tells=tells, several=True)

    def only_mentions(self, page: KeptPage) -> bool:
        """Whether a page names no word of the wish, and has some that many sites mention; or none
        at all, while they do."""
        if self.mention is None or page.named.any():
            return False
        has = page.evidence[:, 1] > 0
        return bool((self.mention[has] if has.any() else self.mention).min() < MENTIONED)

    def wanted_of(self, page: KeptPage) -> float:
        """The same number of one page, in a fifth of the time where the wish has few words."""
        wanted, matcher, reader = self._matcher.wanted, self._matcher, self._reader
        evidence = (page.evidence if self.mention is None else self._evidence([page])[0]).tolist()
        if not wanted or not any(map(any, evidence)):
            return 0.0
        count, known = reader.frequencies.pages, reader.known.tolist()
        several = count >= FIRST
        strange = several and any(known[at][0] < KNOWN for at in matcher.words_of_phrases)
        if self._many or strange:
            return float(self._of_parts([wanted], [page])[0][0])
        worths = self._worths()
        leaves = [
            exact + its * (like - exact)
            for (exact, like), its in zip(evidence, worths, strict=True)
        ]
        weights = self._weights(worths).tolist()
        worth: dict[Tree, float] = {}
        loose: list[Tree] = []
        tells = None
        if several:
            said = zip(reader.said.tolist(), known, strict=True)
            means = [
                (its + AS_A_RULE * DOUBT_OF_WORDS) / (pages + DOUBT_OF_WORDS)
                for its, (_, pages) in said
            ]
            most = max(means)
            tells = [mean / most for mean in means]
            apart = self._apart()
            conjunctions = zip(matcher.conjunctions, reader.together, page.together, strict=True)
            worth = {
                tree: TOGETHER if its else apart[tree]
                for tree, any_has, its in conjunctions
                if any_has
            }
            if count >= (FIRST if len(matcher.leaves) >= SENTENCE else NO_NAME):
                loose = self._loose(apart, worth)
        value = value_on_page(
            wanted, leaves, weights, worth, tells=tells, several=several, loose=loose
        )
        return min(1.0, value * (1.0 + 0.15 * page.near))

    def _evidence(self, pages: Sequence[KeptPage]) -> Floats:
        """What each leaf finds on each page, (pages, leaves, 2)."""
        evidence = np.array([page.evidence for page in pages])
        if self.mention is not None:
            named = np.array([page.named for page in pages])
            evidence *= np.where(named, 1.0, self.mention)[:, :, None]
        return evidence

    def _leaves(self, pages: Sequence[KeptPage], inexact: Floats) -> Floats:
        """What each leaf says of each page, (pages, leaves), where so much of what is only like a
        leaf counts."""
        both = self._evidence(pages)
        return np.asarray(both[:, :, 0] + inexact * (both[:, :, 1] - both[:, :, 0]))

    def _weights(self, worths: Sequence[float]) -> Floats:
        """How rare each leaf is on this crawl, with what is like it if that is worth anything."""
        reader = self._reader
        have = [
            like if worth else exact
            for (exact, like), worth in zip(reader.known.tolist(), worths, strict=True)
        ]
        return np.asarray(np.log((reader.frequencies.pages + 10.0) / (np.array(have) + 1.0)) + 0.1)

    def _worths(self) -> list[float]:
        """What something is worth that is only like each leaf: all where this crawl does not know
        the leaf, and nothing where it is another word."""
        worths: list[float] = self._inexact.tolist()
        if self._reader.frequencies.pages < FIRST:
            return worths
        for at, (exact, like) in enumerate(self._reader.known.tolist()):
            if exact < KNOWN:
                worths[at] = 1.0 if exact * 10 < like else worths[at]
            elif exact * OTHER < like - exact and not self._matcher.leaves[at].is_run:
                worths[at] = 0.0
        return worths

    def _loose(self, apart: Mapping[Tree, float], worth: Collection[Tree]) -> list[Tree]:
        """The conjunctions that are no name on this crawl: each word tells by itself."""
        reader, name = self._reader, self._matcher.name
        named = reader.beside >= KNOWN and not self.many_sites
        if name is not None and named:
            rarest = min(reader.known[leaf, 0] for leaf in leaves_of(name))
            named = reader.beside * SIDE_BY_SIDE >= rarest
        return [
            tree
            for tree, its in apart.items()
            if (tree not in worth or its == 1.0) and not (named and tree == name)
        ]

    def _of_parts(self, trees: Sequence[Tree], pages: Sequence[KeptPage]) -> list[Floats]:
        """What the words of each part of the wish say of pages, in [0, 1]."""
        matcher = self._matcher
        count, like = self._reader.frequencies.pages, self._reader.known[:, 1]
        worths = self._worths()
        leaves, weights = self._leaves(pages, np.array(worths)), self._weights(worths)
        worth: dict[Tree, Floats] = {}
        loose: list[Tree] = []
        several = count >= FIRST
        tells = self._tells(like) if several else None
        if several:
            together = np.array([page.together for page in pages])
            apart = self._apart()
            worth = {
                tree: np.where(together[:, at], TOGETHER, apart[tree])
                for at, tree in enumerate(matcher.conjunctions)
                if self._reader.together[at]
            }
            if count >= (FIRST if len(matcher.leaves) >= SENTENCE else NO_NAME):
                loose = self._loose(apart, worth)
            self._fill_phrases(leaves, weights, worth)
        near = 1.0 + 0.15 * np.array([page.near for page in pages])
        said = [
            value_of(tree, leaves, weights, worth, tells=tells, several=several, loose=loose)
            for tree in trees
        ]
        return [np.minimum(1.0, values * near) for values in said]

    def _fill_phrases(
        self, leaves: Floats, weights: Floats, worth: Mapping[Tree, Floats] | None = None
    ) -> None:
        """Where this crawl does not know a phrase, all of its words stand for it."""
        exact = self._reader.known[:, 0]
        for phrase, words in self._matcher.words_of_phrases.items():
            if exact[phrase] < KNOWN:
                leaves[:, phrase] = value_of(words, leaves, weights, worth)
                weights[phrase] = weights[[*leaves_of(words)]].mean()

    def _apart(self) -> dict[Tree, float]:
        """What each conjunction is worth on a page on which its words do not stand together. On
        many sites words that do so on few pages are a name of few sites, and none on the others."""
        reader = self._reader
        trees, together = self._matcher.conjunctions, reader.together.tolist()
        if not self.many_sites or reader.frequencies.pages < NO_NAME:
            return dict.fromkeys(trees, APART)
        short = reader.short.tolist()
        most = [max(short[leaf] for leaf in leaves_of(tree)) for tree in trees]
        return {
            tree: 1.0 if NAMED * its < its_most else APART
            for tree, its, its_most in zip(trees, together, most, strict=True)
        }

    def _tells(self, known: NDArray[np.int64]) -> Floats:
        """How much each word says of what a page is about, 1 for the one that says most: what the
        pages that have it say of it, in the mean. *MIDI* stands in titles and often, where it
        stands; *playing* once in a text, though it is as rare (the burstiness of content words:
        Church and Gale 1995). `known`: pages that have each."""
        mean = (self._reader.said + AS_A_RULE * DOUBT_OF_WORDS) / (known + DOUBT_OF_WORDS)
        return np.asarray(mean / mean.max())

    def topics(
        self, pages: Sequence[KeptPage], first: NDArray[np.bool_]
    ) -> list[tuple[str, Floats]]:
        """Each topic and what its words say of pages, where the wish names several; words that
        stand together as a name are one."""
        wanted = self._matcher.wanted
        if not wanted or wanted[0] != "any" or len(wanted) - 1 > MOST_TOPICS:
            return []
        if self._reader.frequencies.pages < FIRST or self._is_one_name(wanted):
            return []
        said = self._of_parts([("any", part) for part in wanted[1:]], pages)
        topics = topics_of([its * first for its in said])
        if len(topics) < 2:
            return []
        trees = [("any", *(wanted[1 + part] for part in parts)) for parts in topics]
        names = [self._matcher.topics[parts[0]] for parts in topics]
        return list(zip(names, self._of_parts(trees, pages), strict=True))

    def _is_one_name(self, wanted: Tree) -> bool:
        """Whether some page has all that is wanted together: commas stand within a name."""
        together = zip(self._matcher.conjunctions, self._reader.together, strict=True)
        return bool(dict(together).get(wanted))

    def topic_of(self, page: KeptPage) -> str:
        """The topic of several that its words say most of; empty where they say nothing of any."""
        wanted, topics = self._matcher.wanted, self._matcher.topics
        if not wanted or not 1 < len(topics) <= MOST_TOPICS or self._is_one_name(wanted):
            return ""
        said = self._of_parts([("any", part) for part in wanted[1:]], [page])
        most, first = max((float(its[0]), -at) for at, its in enumerate(said))
        return topics[-first] if most else ""

    def unwanted(self, pages: Sequence[KeptPage]) -> NDArray[np.bool_]:
        """Whether each is about something that is not wanted."""
        found = np.zeros(len(pages), np.bool_)
        if self._matcher.unwanted and pages:
            leaves = np.array([page.evidence[:, 0] for page in pages])
            for tree in self._matcher.unwanted:
                found |= value_of(tree, leaves, np.ones(leaves.shape[1])) >= UNWANTED
        return found
