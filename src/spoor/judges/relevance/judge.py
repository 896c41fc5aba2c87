"""The default judge of words and examples: it knows more with every page, and judges anew.

1. **Evidence.** Each word of the wish is looked for in the title, headings, URL, description, tags
   and text of the page and in the anchors that led to it (`matching.py`). From 16 pages
   on, a word counts for more that is rare, and that says much of the pages which have it. What the
   site repeats on its pages is left out (`repeated.py`).
2. **Linked pages.** What the pages say that a page is linked with counts for it, too
   (`linked.py`).
3. **Feedback.** From 16 pages on, and then at each half more, the surest pages tell what pages of
   this topic have in common on this site: terms, links and folders (`feedback.py`).
   Examples, and what a person says of a page, are sure from the beginning.
4. **Words again.** What a page and those linked with it say counts once more beside likeness; and
   where that does not part the pages clearly, what its own words say counts for more still.
5. **Cut.** Found on the values of this crawl (Otsu), lower where more of its pages are wanted;
   below 16 pages, a fixed one on the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from spoor.errors import InputError
from spoor.hashing import hash64
from spoor.judges.no_results import LEADS, LIST_SCORE, ONLY_LISTS, SHOWN_AT, SHOWS_AGAIN
from spoor.judges.relevance.copies import Copies
from spoor.judges.relevance.feedback import Among, Model
from spoor.judges.relevance.frequencies import Floats
from spoor.judges.relevance.kept_pages import KEPT, KeptPage, as_arrays, from_arrays
from spoor.judges.relevance.learning import LED, LINKED, Learned, learn
from spoor.judges.relevance.linked import Linked
from spoor.judges.relevance.many_sites import without_frames
from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.reading import Reader, has_words
from spoor.judges.relevance.surest_pages import Likeness
from spoor.judges.relevance.term_matrix import vector
from spoor.judges.relevance.word_evidence import FIRST, Said
from spoor.judges.wish import Wish
from spoor.types import BY_PERSON, Judgement, Page, State

SOON = 8
"""One comes earlier, after an eighth more pages (8 at least), where a surer page came meanwhile."""
FEW_SURE = 3
"""Of examples alone: where fewer pages are sure, one comes earlier where a relevant page came
meanwhile; else the first comes as soon as there are as many other pages as examples."""
GROWTH = 1.5
"""A feedback comes when there are so many times as many pages as at the last one …"""
LATEST = 1_000
"""… and at most so many pages after it."""
ENOUGH_SURE = 12
"""Sure pages from which on a watch tells a page without a word of the wish on it or around it:
what few new pages have in common may be the template of the day."""
WORDLESS = 0.6
"""… and the least score of one without a word on it, also where what it is linked with says the
words, as the most read and related stories of a news site do. Of 126 stories that were told of six
made sites seven had no word, all of them wrong, with .51 to .54; of 389 articles of an encyclopedia
that nine topics told, two, with more."""
FIXED_CUT = 0.3
"""Least evidence of a relevant page before the first feedback …"""
EARLY_CUT = 0.55
"""… if it links to `MENU` pages or more: menus and overviews, which a crawl sees first, have the
words of what they lead to."""
MENU = 3
PLAIN = 0.35
"""Least evidence of a page that is relevant by it alone, if no page has much more."""
_VIEWS = 8
"""Views of views that are followed to the page that has all, at most."""


class Relevance:
    """Score: 0.5 at the cut, 1 for the best of the crawl (`Among`); relevant from 0.5 on.

    `wanted` are URLs of pages that are wanted, as soon as they come. `beta` says how much more
    recall counts than precision (as in F-beta): the cut is divided by its root. Memory is bounded:
    `KEPT` pages of at most 1.2 kB each.
    """

    threshold = 0.5
    tells_once = False  # what is told of a page that comes is not taken back
    takes_lists = False  # list pages (`spoor.web.list_pages`), which lead to documents
    takes_wordless = False  # a picture or an archive, by its URL and by what leads to it

    def __init__(
        self,
        wish: Wish | None = None,
        *,
        positive: Sequence[Page] = (),
        negative: Sequence[Page] = (),
        wanted: Collection[str] = (),
        beta: float = 1.0,
    ) -> None:
        if wish is None and not positive:
            raise InputError("a judge needs words or at least one page that is wanted")
        if not 0.1 <= beta <= 10:
            raise InputError(f"beta lies in [0.1, 10], not {beta!r}")
        self._wish = wish
        self._matcher = Matcher(wish)
        self._wanted = frozenset(wanted)
        self._beta = beta
        self._reader = Reader(wish, self._matcher)
        self._said = Said(self._matcher, self._reader)
        self._pages: dict[str, KeptPage] = {}
        self._results = Copies()
        """The kept pages of this crawl that are results; empty in a watch, where a document that
        moved has the title and text of itself."""
        self._key = b""
        """Of the hash by which pages are kept."""
        self._goes_on = False
        """Whether a new crawl, which was given one, goes on with what an earlier one knew."""
        self._examples: list[KeptPage] = []
        self._model, self._linked = Model(), Linked()
        self._learned: Learned
        self._likeness_of_new = Likeness((), self._reader.frequencies)
        self._labelled = False
        self._view_of: Callable[[str], Sequence[str]] = _of_none
        self._surer = 0
        """Pages since the last feedback that would be among the surest."""
        self._learned_of = 0, 0
        """Pages read, and pages kept, of the last feedback of this process."""
        self._views, self._views_of = frozenset[str](), (0, 0)
        """Kept pages that showed others again at the last feedback, and pages read and kept then:
        a crawl that goes on from a saved state learns from the same ones once more."""
        for label, pages in ((1, positive), (-1, negative)):
            for page in pages:
                example, *_ = self._reader.read(page)
                example.label = label
                self._examples.append(example)
        if any(example.is_list for example in self._examples if example.label > 0):
            self.takes_lists = True
        if self._examples:
            self._learn()

    def key_sample(self, key: bytes) -> None:
        """As of a `KeepsSample`."""
        self._key, self._goes_on = key, True

    def views_by(self, view_of: Callable[[str], Sequence[str]]) -> None:
        """As of a judge that `LeavesOutViews`."""
        self._view_of = view_of

    # ---------------------------------------------------------------- one page

    def judge(self, page: Page) -> Judgement:
        if not (self.takes_wordless or has_words(page)):
            return Judgement(0.0, False, 0.0)
        before = self._pages.get(page.url)
        kept, reasons, counts, slots = self._reader.read(page, again=before is not None)
        kept.label = before.label if before else int(page.url in self._wanted)
        self._pages[page.url] = kept
        if before is not None and self._results.is_first(before):
            self._keep(self._pages.values())
        words, evidence, led = self._told_of(kept, counts)
        self._surer += evidence > self._model.seed_words or kept.label > 0
        if self._reader.frequencies.pages >= self._due():
            self._learn()
            if len(kept.ids) < len(counts):  # it had a menu, as is known now
                counts = self._reader.frequencies.of(kept.ids)
                slots = np.array(self._reader.frequencies.slots.of(kept.ids.tolist()), np.int64)
            words, evidence, led = self._told_of(kept, counts)
        likeness, likest = 0.0, ""
        if self._model.pages:
            like = self._likeness_of_new.of(slots, vector(kept, self._reader.frequencies, counts))
            likeness = max(like)
            likest = self._model.topics[like.index(likeness)].name
        value = self._model.evidence_weight * evidence + min(max(likeness, 0.0), 1.0)
        value += LED * led + self._model.again * words
        unsure = self.tells_once and bool(self._matcher.wanted) and self._model.sure < ENOUGH_SURE
        unread = kept.site not in self._model.read
        if (unsure and not evidence) or (unread and self._said.only_mentions(kept)):
            value = min(value, 0.99 * self._model.cut_of_new / self._beta**0.5)
        score, relevant = self._told(kept, value, words, self._model.cut_of_new)
        shown, its = self._shown(kept) if relevant else "", score
        if shown:
            score, relevant = self._told(kept, value, words, self._model.cut_of_new, again=True)
        self._surer += relevant and self._wish is None and self._model.sure < FEW_SURE
        kept.told, kept.rank = (score, relevant), value
        if before is None:
            self._add_result(kept, shown)
        elif relevant and not self.tells_once:
            self._keep(self._pages.values())
        if len(self._pages) > KEPT:
            self._drop()
        why = tuple(reasons) if score else ()
        if score and likeness > 0.05:
            why += (("is like the surest pages", round(min(1.0, likeness), 3)),)
        if score and evidence - words > 0.05:
            why += ((_LINKED, round(evidence - words, 3)),)
        if score and not relevant:
            why = (*self._why_none(kept, shown, its), *why)
        if kept.label > 0:
            why = _SAID
        if score and not why:
            why = (("its words, with those of other pages", score),)
        return self._judgement(kept, why, likest)

    def _only_lists(self, page: KeptPage) -> bool:
        """Whether a page leads to documents, and is none that is wanted."""
        return page.is_list and not self.takes_lists

    def _is_elsewhere(self, page: KeptPage) -> bool:
        """Whether its site files a page under something else, and nothing names it as wanted."""
        its = page.is_elsewhere and page.site in self._model.filing
        return its and not self._matcher.is_named(page.named)

    def _shown(self, page: KeptPage) -> str:
        """The URL of a result of which a page that no label names is a copy or a view, or a view of
        another view of it; empty for none."""
        return self._shown_as_copy(page) or self._shown_as_view(page)

    def _shown_as_copy(self, page: KeptPage) -> str:
        if page.label > 0 or not (found := self._results.shown(page)):
            return ""
        known = self._pages.get(found)
        return found if known is None or known.told[1] else ""

    def _shown_as_view(self, page: KeptPage) -> str:
        seen = [page.url]
        while page.label <= 0 and len(seen) < _VIEWS:
            wholes = map(self._pages.get, self._view_of(seen[-1]))
            whole = next((one for one in wholes if one is not None), None)
            if whole is None or whole.url in seen:
                break
            if whole.told[1]:
                return whole.url
            seen.append(whole.url)
        return ""

    def _add_result(self, page: KeptPage, shown: str = "") -> None:
        """Take up a page that is a result, or that shows one again."""
        if (page.told[1] or shown) and not (self.tells_once or page.is_earlier):
            self._results.add(page, shown)

    def _why_none(self, page: KeptPage, shown: str, its: float) -> Sequence[tuple[str, float]]:
        """Why a page that is about the topic is no result all the same; empty where it is not.
        `shown`: the result that it shows again; `its`: its score if it did not."""
        if shown:
            return ((SHOWS_AGAIN, 0.0), (f"{SHOWN_AT}{shown}", its))
        return ((ONLY_LISTS, 0.0),) if self._only_lists(page) else ()

    def _told_of(self, page: KeptPage, counts: Floats) -> tuple[float, float, float]:
        """Of a page that comes: what its words say; that, with the pages that it is linked with;
        and the value of those that link to it. `counts`: how many pages have each of its ids."""
        words = self._said.wanted_of(page)
        if page.site in self._model.frames:
            words = float(without_frames(np.array([words]), [page.site], self._model.frames)[0])
        outward, inward, led = self._linked.of(page, self._reader.frequencies, counts)
        return words, min(1.0, words + LINKED * (outward + inward)), led

    def _told(
        self, page: KeptPage, value: float, evidence: float, cut: float, *, again: bool = False
    ) -> tuple[float, bool]:
        """Score and relevance of a page by its value on this crawl, and the cut between values;
        `again`: of one that shows again what a result has."""
        if page.label:
            return (1.0, True) if page.label > 0 else (0.0, False)
        menu = not self._model.pages and len(page.links) >= MENU
        if self._model.pages:
            cut, top = cut / self._beta**0.5, self._model.top
        else:
            cut, top = (EARLY_CUT if menu else FIXED_CUT) / self._beta**0.5, 1.0
            value = evidence
        if self._wish is not None and not self._matcher.wanted:
            value, cut, top = page.tongue, 0.5, 1.0  # a language is all that is wanted
        else:
            # Whatever other pages say: one that says it in title and text is relevant, and so is
            # one that its site files under it; one that it files under something else, and that is
            # not named so, is not.
            says_it = not menu and evidence >= max(PLAIN, 0.8 * self._model.best_words)
            if self._is_elsewhere(page):
                value = min(value, 0.99 * cut)
            elif says_it or self._reader.is_filed(page):
                value = max(value, cut)
            if page.tongue < 0.5:
                value = min(value, 0.5 * cut)
        if self._matcher.unwanted and self._said.unwanted([page])[0]:
            value = min(value, 0.5 * cut)
        if again or self._only_lists(page):
            value = min(value, 2.0 * LIST_SCORE * cut)
        least = cut
        wordless = self._matcher.wanted and not evidence and not self.takes_wordless
        if self.tells_once and wordless and self._model.pages:
            least += (2.0 * WORDLESS - 1.0) * max(top - cut, 0.0)
        if value < least:
            return round(float(min(0.49, 0.5 * max(0.0, value) / cut)), 2), False
        above = (value - cut) / max(top - cut, 1e-9)
        return round(float(min(1.0, 0.5 + 0.5 * above)), 2), True

    def _judgement(
        self, page: KeptPage, why: tuple[tuple[str, float], ...], likest: str
    ) -> Judgement:
        """Its topic is the one that its words say most of, else the one that it is most like."""
        score, relevant = page.told
        topic = (self._said.topic_of(page) or likest) if relevant else ""
        leads = LEADS if self._only_lists(page) and self._matcher.is_named(page.named) else 0.0
        return Judgement(score, relevant, float(relevant), why, topic, leads)

    # ---------------------------------------------------------------- feedback

    def _due(self) -> int:
        last = self._model.pages
        if last < FIRST:
            enough = self._wish is None and self._model.sure >= FEW_SURE
            early = 2 * len(self._examples) if enough else FIRST
            return early if last < early < FIRST else FIRST
        if self._surer:
            return last + max(SOON, last // SOON)
        return min(int(GROWTH * last), last + LATEST)

    def _learn(self) -> None:
        """Find the surest pages, what they have in common, and the cut."""
        kept = [*self._pages.values()]
        pages = [*self._examples, *kept]
        self._reader.read_again(pages)
        of = self._reader.frequencies.pages, len(kept)
        if self._labelled or of != self._views_of:
            about = (page for page in kept if page.told[0] >= LIST_SCORE)
            self._views = frozenset(page.url for page in about if self._shown(page))
            self._views_of = of
        self._learned = learn(
            *(pages, len(self._examples), self._said, self._reader.frequencies, self._views),
            self._model.read,
            takes_lists=self.takes_lists,
            tells_once=self.tells_once,
        )
        self._model, self._linked = self._learned.model, self._learned.linked
        self._surer = 0
        self._likeness_of_new = Likeness(self._model.topics, self._reader.frequencies)
        self._rank(kept)
        self._learned_of = of

    def _rank(self, kept: Iterable[KeptPage]) -> None:
        """Give the kept pages their values by the last feedback."""
        for page, its in zip(kept, self._learned.values.tolist(), strict=True):
            page.rank = its

    def _drop(self) -> None:
        """Keep what is labelled, the best third, and a sample of the rest by a keyed hash: whoever
        chooses URLs does not choose the sample."""
        pages = list(self._pages.values())
        order = sorted(
            range(len(pages)), key=lambda at: (-abs(pages[at].label), -pages[at].rank, at)
        )
        best = set(order[: KEPT // 3])
        rest = sorted(order[KEPT // 3 :], key=lambda at: hash64(pages[at].url, self._key))
        chosen = best | set(rest[: KEPT // 2])
        self._keep(page for at, page in enumerate(pages) if at in chosen)

    def _keep(self, pages: Iterable[KeptPage]) -> None:
        """Keep these pages, in the order in which they came, and no others."""
        self._pages = {page.url: page for page in pages}
        self._results = Copies()
        for page in self._pages.values():
            self._add_result(page)

    # ---------------------------------------------------------------- revisions and labels

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        if self._reader.frequencies.pages < FIRST and not self._examples and not self._labelled:
            return []
        # The same pages with the same labels teach the same again.
        if self._labelled or self._learned_of != (self._reader.frequencies.pages, len(self._pages)):
            self._learn()
        self._labelled = False
        kept = [*self._pages.values()]
        self._rank(kept)
        sites, frames = (page.site for page in kept), self._model.frames
        evidence = without_frames(self._said.wanted(kept), sites, frames)
        revised = []
        learned = self._learned
        among = Among(learned.values.tolist(), evidence.tolist())
        stands = [f"{leaf.shown!r} stands on it" for leaf in self._matcher.leaves]
        # Which page is a result goes first, then which of these show one another again, and last
        # which are copies of any of them.
        before = [page.told for page in kept]
        for page, words in zip(kept, evidence.tolist(), strict=True):
            score, relevant = self._told(page, page.rank, words, self._model.cut)
            if score >= 1.0 and not page.label:
                score = among.score(page.rank, words)
            page.told = score, relevant
        again = dict[str, tuple[str, float]]()
        self._results = Copies()
        for find, is_last in ((self._shown_as_view, False), (self._shown_as_copy, True)):
            for page, words in zip(kept, evidence.tolist(), strict=True):
                if page.told[1] and (shown := find(page)):
                    again[page.url] = shown, page.told[0]
                    page.told = self._told(page, page.rank, words, self._model.cut, again=True)
                    self._add_result(page, shown)
                elif is_last:
                    self._add_result(page)
        for page, old, around, likeness, likest in zip(
            *(kept, before, learned.around.tolist(), learned.likeness.tolist(), learned.likest),
            strict=True,
        ):
            if page.told == old:
                continue
            score, relevant = page.told
            said = zip(stands, page.evidence[:, 1].tolist(), strict=True)
            why = [(its, round(value, 3)) for its, value in said if value > 0]
            if likeness > 0.05:
                why.append(("is like the surest pages", round(min(1.0, likeness), 3)))
            if around > 0.05:
                why.append((_LINKED, round(around, 3)))
            if score and not relevant:
                why = [*self._why_none(page, *again.get(page.url, ("", 0.0))), *why]
            if page.label:
                why = [*_SAID] if page.label > 0 else [(_SAID[0][0], -1.0)]
            why = why or [("with those of other pages", score)]
            revised.append((page.url, self._judgement(page, tuple(why), likest)))
        return revised

    def label(self, url: str, relevant: bool) -> None:
        if (page := self._pages.get(url)) is not None:
            page.label = 1 if relevant else -1
            self._labelled = True

    # ---------------------------------------------------------------- state

    def save(self) -> State:
        leaves = len(self._matcher.leaves)
        return {
            "read": self._reader.save(),
            "pages": as_arrays([*self._pages.values()], leaves),
            "examples": as_arrays(self._examples, leaves),
            "model": self._model.save(),
            "linked": self._linked.save(),
            "labelled": self._labelled,
            "surer": self._surer,
            "views": [at for at, url in enumerate(self._pages) if url in self._views],
            "views_of": self._views_of,
            **({"key": self._key.hex()} if self._key else {}),
        }

    def load(self, state: State) -> None:
        self._reader.load(state["read"])
        pages = from_arrays(state["pages"])
        if self._goes_on:
            for page in pages:
                page.is_earlier = True
        self._keep(pages)
        self._examples = from_arrays(state["examples"])
        self._model = Model.load(state["model"])
        self._said.many_sites, self._said.mention = self._model.many_sites, self._model.mention
        self._likeness_of_new = Likeness(self._model.topics, self._reader.frequencies)
        self._linked = Linked.load(state["linked"])
        self._labelled, self._learned_of = bool(state["labelled"]), (0, 0)
        self._surer = int(state["surer"])
        urls = [*self._pages]
        self._views = frozenset(urls[at] for at in state["views"])
        read, kept = state["views_of"]
        self._views_of = int(read), int(kept)
        if "key" in state:
            self._key = bytes.fromhex(state["key"])[:64]


_SAID = ((BY_PERSON, 1.0),)
_LINKED = "pages that it is linked with stand for it"


def _of_none(url: str) -> Sequence[str]:
    return ()
