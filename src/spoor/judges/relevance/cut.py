"""Where to cut between relevant and not: where the variance within the two sides is least (Otsu
1979), over powers of the values of this crawl.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spoor.judges.relevance.frequencies import Floats

POWER = 1.5
"""Power of the values between which the cut is found where few pages are wanted; else 1 …"""
FEW, MANY = 0.1, 0.2
"""… by the share of pages above the cut that is found between the values themselves."""
NEAR = 0.2
"""Values part nothing where so near to the cut …"""
UNCLEAR = 0.25
"""… lie as many pages as this share of those above it."""
LEAST_CUT = 0.75
"""The cut is not lowered below this share of it: feedback may go astray, and so may words."""


def otsu(values: Floats, counts: Floats) -> float:
    """The value that parts numbers in two with the least variance within the parts; each stands
    for `counts` pages. The middle between the two numbers next to it; O(n log n)."""
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    below, total = np.cumsum(counts), counts.sum()
    sums = np.cumsum(values * counts)
    below, rest = below[:-1], total - below[:-1]
    if not len(below) or values[0] == values[-1]:
        return float(values[-1]) if len(values) else 0.0
    difference = (sums[-1] - sums[:-1]) / rest - sums[:-1] / below
    between = np.where(np.diff(values) > 0, below * rest * difference**2, -1.0)
    at = int(between.argmax())
    return float((values[at] + values[at + 1]) / 2)


def parted(values: Floats, weights: Floats, doubts: Sequence[float]) -> list[float]:
    """The value that parts wanted pages from the others, for each doubt. Where a power stretches
    the upper values, the cut is higher: right where few pages are spread above many, and too high
    where many are wanted, which then fall in two groups themselves. So the share above the plain
    cut chooses between the two; doubt, in [0, 1], leaves it at the higher."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]  # sorting what is sorted costs little
    plain, few = otsu(values, weights), _stretched(values, weights)
    share = float(weights[values >= plain].sum() / weights.sum())
    many = min(1.0, max(0.0, (share - FEW) / (MANY - FEW)))
    shares = [many * (1.0 - doubt) for doubt in doubts]
    return [few ** (1.0 - share) * plain**share for share in shares]


def _stretched(values: Floats, weights: Floats) -> float:
    return float(otsu(values**POWER, weights) ** (1.0 / POWER))


def unclear(values: Floats, weights: Floats) -> float:
    """How little values fall apart in two, in [0, 1]: 0 where none lies near the cut. Those of
    pages that are one part of a site do: these are like one another, and unlike the rest. Pages
    here and there that speak of something do not, and their words tell them better."""
    values = np.maximum(values, 0.0)
    off = values - _stretched(values, weights)
    near, above = (float(weights[those].sum()) for those in (np.abs(off) < NEAR, off >= 0))
    return min(1.0, near / (UNCLEAR * max(above, 1.0)))


def lowered(cut: float, plain: Floats) -> float:
    """The cut, lowered until half of the pages that say the words themselves are relevant, but not
    below a share of it; `plain` are the values of these pages, of which fewer than three say
    nothing."""
    if len(plain) < 3:
        return cut
    ordered, half = np.sort(plain), len(plain) / 2
    # `np.median` imports all of `numpy.ma`.
    median = float(ordered[math.ceil(half) - 1] + ordered[math.floor(half)]) / 2
    return min(cut, max(median, LEAST_CUT * cut))
