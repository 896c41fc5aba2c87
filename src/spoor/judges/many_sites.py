"""What changes where a crawl reads many sites, of which each is about something else.

There a wish is mostly for a kind of page that each site has once or twice, as *installation* is,
and nearly every page of a site mentions it: in its menu, on its front page, in a sentence. So what
most pages of a site say of a wish is its *frame*, and says nothing of one of them; unless they say
it plainly, since then the site is about it. And the cut is found by how many pages of a site are
above it: the best page of each site against all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from spoor.judges.cut import otsu
from spoor.judges.feedback import Floats

Sites = NDArray[np.uint64]
"""Of each page the number of its site (`spoor.judges.feedback.site_of`)."""

MANY = 10.0
"""Sites from which on they are many: the inverse of the sum of the squared shares of pages."""
FEW_PAGES = 4
"""A site with fewer pages has no frame yet."""
FRAME = 0.35
"""What this share of the pages of a site says at most is its frame …"""
PLAIN = 0.45
"""… if it is less than this share of the most that any page of the crawl says."""
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
SHARE = 0.12
"""Where more of the pages are above the cut, another one is looked for above it, as long as there
are few pages of a site."""


def are_many(sites: Sites) -> bool:
    """Whether a crawl reads many sites, and no few of them for the most part."""
    if not len(sites):
        return False
    shares = np.unique(sites, return_counts=True)[1] / len(sites)
    return bool(1.0 / float((shares * shares).sum()) >= MANY)


def frames_of(words: Floats, sites: Sites) -> dict[int, float]:
    """Site → what its pages say of the wish as a rule; none where that is nothing. `words`: what
    each page says, in [0, 1]. O(n log n)."""
    frames = dict[int, float]()
    order = np.lexsort((words, sites))
    _, starts = np.unique(sites[order], return_index=True)
    plain = PLAIN * float(words.max(initial=0.0))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        if end - start >= FEW_PAGES:
            frame = float(words[order[start + int((end - start) * FRAME)]])
            if 0.0 < frame < plain:
                frames[int(sites[order[start]])] = frame
    return frames


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
    pages of a site are known the upper part is parted once more (Otsu 1979). O(n log n)."""
    order = np.argsort(-values, kind="stable")
    best = first_of_each(sites[order])
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
        found = otsu(values[above], weights[above])
    if found <= 0.0:
        return cut
    leading = best[values[order[best]] >= found]
    rest = np.delete(order, best)
    after = rest[first_of_each(sites[rest])]
    next_of = dict(zip(sites[after].tolist(), values[after].tolist(), strict=True))
    nexts = np.array([next_of.get(site, 0.0) for site in sites[order[leading]].tolist()])
    if len(leading) < LEAST_SITES or (nexts / values[order[leading]]).mean() > NEXT:
        return cut
    return found
