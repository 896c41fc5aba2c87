"""What changes where a crawl reads many sites, of which each is about something else.

There a wish is mostly for a kind of page that each site has once or twice, as *installation* is,
and nearly every page of a site mentions it: in its menu, on its front page, in a sentence. So what
most pages of a site say of a wish is its *frame*, and says nothing of one of them; unless they say
it plainly, or few sites have such a frame, since then the site is about it. And the cut is found by
how many pages of a site are above it: the best page of each site against all others.

A page of that kind has the words in its title, its URL or an anchor to it; in a text they count by
how few sites mention them. And sites of one template are one voice: what they have in common would
be the template.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.cut import otsu
from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.kept_pages import KeptPage

Sites = NDArray[np.uint64]
"""Of each page the number of its site (`url_numbers.site_of`)."""

MANY = 10.0
"""Sites from which on they are many: the inverse of the sum of the squared shares of pages."""
FEW_PAGES = 4
"""A site with fewer pages has no frame yet."""
FRAME = 0.35
"""What this share of the pages of a site says at most is its frame …"""
PLAIN = 0.45
"""… if it is less than this share of the most that any page of the crawl says."""
SHARED = 0.2
"""… and at least such a share of the sites has one, also those of two pages or three: where few
have, these are about it, and what their stories say in a sentence is no frame."""
MOST_FRAME = 0.9
"""What the words of a page say beyond a frame is stretched as for a frame of this at most."""
ENOUGH_PAGES = 5.0
"""Pages of a site, in the mean, from which on the best of each is compared with the others."""
OTHERS = 2.0
"""A page above the cut beside the best of its site counts against as many of the best."""
LEAST_SITES = 10
"""Sites with a page above the cut at least, and …"""
NEXT = 0.62
"""… value of the next page of each at most, in the mean, as a share of its best: else the wish is
for no such kind of page."""
LEAST_MENTION = 0.5
"""What a word counts in the text of a page at least."""
ALIKE = 0.3
"""Sites are of one template where their pages say so much the same as a rule (the Jaccard index of
the terms that half of the pages of each have, by their weights on this crawl) …"""
MOST_PAGES = 12
"""… among so many pages of each at most."""
MOST_SITES = 65_536
"""Sites that are known to have been read at most."""
ASKED = 200
"""Sites that are compared at most when the surest pages are chosen."""
STANDS_OUT = 0.3
"""A page stands out of its site if the next one has so much of its value at most; …"""
UNSURE = 0.03
"""… and so many of these pages may be none that is wanted."""
LEADING = 0.3
"""Of the sites with a page above the cut as it was, at least so many have one above the new one:
else the wish is for none either."""
SHARE = 0.12
"""Where more of the pages are above the cut, another one is looked for above it, as long as there
are few pages of a site."""


def are_many(sites: Sites) -> bool:
    """Whether a crawl reads many sites, and no few of them for the most part."""
    if not len(sites):
        return False
    shares = np.unique(sites, return_counts=True)[1] / len(sites)
    return bool(1.0 / float((shares * shares).sum()) >= MANY)


def weights_of_mentions(pages: Sequence[KeptPage], sites: Sites) -> Floats:
    """What each word of the wish counts on a page that has it in no title, URL or anchor: by the
    share of sites that have no page with it. *Installation* stands on pages of most sites, which
    says nothing of one of them; *asyncio* on those of a few. O(pages × words)."""
    has = np.array([page.evidence[:, 1] > 0 for page in pages])
    order = np.argsort(sites, kind="stable")
    starts = np.unique(sites[order], return_index=True)[1]
    share = np.logical_or.reduceat(has[order], starts, axis=0).mean(axis=0)
    return np.asarray(np.maximum(LEAST_MENTION, 1.0 - share))


class Templates:
    """Tells which sites are of one template: as many sites as a project has are one voice.

    Asked of the sites of the likely surest pages alone: O(`ASKED` × terms) each time."""

    def __init__(self, pages: Sequence[KeptPage], sites: Sites, frequencies: Frequencies) -> None:
        self._pages, self._sites, self._frequencies = pages, sites, frequencies
        self._frames: dict[int, tuple[NDArray[np.uint32], float]] = {}

    def of_different(self, pages: Sequence[int], most: int) -> list[int]:
        """The first of these pages that are of different sites and templates, `most` at most."""
        chosen = list[int]()
        leading = first_of_each(self._sites[[*pages]])[:ASKED].tolist() if pages else []
        for page in (pages[at] for at in leading):
            if len(chosen) >= most:
                break
            if not any(self._are_alike(page, its) for its in chosen):
                chosen.append(page)
        return chosen

    def _are_alike(self, page: int, other: int) -> bool:
        (one, its), (two, of_other) = self._frame(page), self._frame(other)
        common = self._weight(np.intersect1d(one, two, assume_unique=True))
        return common > 0.0 and common >= ALIKE * (its + of_other - common)

    def _frame(self, page: int) -> tuple[NDArray[np.uint32], float]:
        """The terms that half of the pages of its site have, and their weight; none where these
        are few."""
        site = int(self._sites[page])
        if site not in self._frames:
            rows = np.flatnonzero(self._sites == self._sites[page])[:MOST_PAGES].tolist()
            frame = np.zeros(0, np.uint32)
            if len(rows) >= FEW_PAGES:
                its = [self._pages[row].ids[: self._pages[row].terms] for row in rows]
                terms, counts = np.unique(np.concatenate(its), return_counts=True)
                frame = terms[2 * counts >= len(rows)]
            self._frames[site] = frame, self._weight(frame)
        return self._frames[site]

    def _weight(self, terms: NDArray[np.uint32]) -> float:
        return float(self._frequencies.idf(self._frequencies.of(terms)).sum())


def sites_read(sites: Sites, before: Set[int]) -> frozenset[int]:
    """Sites of which so many pages were kept once that they have a frame, `MOST_SITES` at most."""
    every, counts = np.unique(sites, return_counts=True)
    read = every[counts >= FEW_PAGES].tolist()
    return frozenset(islice({**dict.fromkeys(read), **dict.fromkeys(before)}, MOST_SITES))


def frames_of(words: Floats, sites: Sites, repeating: Set[int] = frozenset()) -> dict[int, float]:
    """Site → what its pages say of the wish as a rule; none where that is nothing, or something on
    a few sites only (`SHARED`), unless these say it in the same text (`repeating`). `words`: what
    each page says, in [0, 1]. O(n log n)."""
    frames, having, counted = dict[int, float](), 0, 0
    order = np.lexsort((words, sites))
    _, starts = np.unique(sites[order], return_index=True)
    plain = PLAIN * float(words.max(initial=0.0))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        if end - start < 2:
            continue
        frame = float(words[order[start + int((end - start) * FRAME)]])
        counted += 1
        if 0.0 < frame < plain:
            having += 1
            if end - start >= FEW_PAGES:
                frames[int(sites[order[start]])] = frame
    if having >= SHARED * counted:
        return frames
    return {site: frame for site, frame in frames.items() if site in repeating}


def without_frames(words: Floats, sites: Iterable[int], frames: Mapping[int, float]) -> Floats:
    """What pages say beyond the frames of their sites, in [0, 1]. `sites`: of each page."""
    if not frames:
        return words
    frame = np.array([frames.get(site, 0.0) for site in sites])
    beyond = np.maximum(0.0, (words - frame) / (1.0 - np.minimum(frame, MOST_FRAME)))
    return np.asarray(np.where(frame > 0.0, beyond, words))


def first_of_each(sites: Sites) -> NDArray[np.int64]:
    """Where each site comes first, ascending."""
    return np.asarray(np.sort(np.unique(sites, return_index=True)[1]))


def cut_by_sites(values: Floats, weights: Floats, sites: Sites, cut: float) -> float:
    """The cut between the values of wanted pages and others where each site has about one that is
    wanted; `cut` where it does not look so. `weights`: how many pages each stands for. While few
    pages of a site are known the upper part is parted once more (Otsu 1979), but not above what
    stands out of its site: that is what is wanted of it, though another site says it more plainly.
    O(n log n)."""
    order = np.argsort(-values, kind="stable")
    best = first_of_each(sites[order])
    rest = np.delete(order, best)
    after = rest[first_of_each(sites[rest])]
    next_of = dict(zip(sites[after].tolist(), values[after].tolist(), strict=True))
    tops, of_tops = values[order[best]], sites[order[best]]
    nexts = np.array([next_of.get(site, 0.0) for site in of_tops.tolist()])
    if len(values) >= ENOUGH_PAGES * len(best):
        counts = -OTHERS * weights[order]
        counts[best] = 1.0
        counts[values[order] <= 0.0] = 0.0
        gain = np.cumsum(counts)
        last = int(gain.argmax())
        found = float(values[order[last : last + 2]].mean())
    else:
        above = values >= cut
        if weights[above].sum() <= SHARE * weights.sum():
            return cut
        several = np.isin(of_tops, sites[after])
        found = min(
            otsu(values[above], weights[above]),
            _least_standing_out(tops[several], nexts[several], cut),
        )
    if found <= 0.0:
        return cut
    leading = tops >= found
    few = leading.sum() < max(LEAST_SITES, LEADING * np.count_nonzero(tops >= cut))
    return cut if few or (nexts[leading] / tops[leading]).mean() > NEXT else found


def _least_standing_out(tops: Floats, nexts: Floats, cut: float) -> float:
    """The least value of nearly all pages above the cut that stand out of their sites; infinite
    where few sites have one. `tops`, `nexts`: the best page and the next of each site that has two.
    """
    out = np.sort(tops[(tops >= cut) & (nexts <= STANDS_OUT * tops)])
    if len(out) < max(LEAST_SITES, LEADING * len(tops)):
        return math.inf
    return float(out[int(UNSURE * len(out))])
