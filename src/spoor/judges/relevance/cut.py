"""Where to cut between relevant and not: where the variance within the two sides is least (Otsu
1979), over powers of the values of this crawl; and, once a person has said of pages whether they
are wanted, in the mean of all cuts, each by how well it parts the values and these labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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

PARTING = 5.0
"""Beside labels a cut is as likely as this power of one by the variance that it leaves within the
parts, and so much likelier where the gap is wider in which it lies; …"""
ALONE = 10.0
"""… and beside few labels by so much more, over the square of their number: one alone may be of
the page that is unlike its neighbours."""
WIDTH = 0.05
"""Labels are on the wrong side of a cut that is so near, as a share of the range of values, …"""
ERROR = 0.1
"""… and one in so many times however far: values order pages by chances."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What a person said of pages: the value of each if nobody had, and 1 for a yes, -1 for a
    no."""

    values: Floats
    signs: Floats

    def __bool__(self) -> bool:
        return len(self.values) > 0

    def likely(self, cuts: Floats, width: float, cut: float) -> Floats:
        """Log-likelihood of the labels by each of some cuts; O(labels × cuts). Who only says no,
        and only of what is told, leaves unsaid what is told rightly: such labels, above the `cut`
        without them, weigh together no more than all others."""
        found: Floats = np.zeros(len(cuts))
        refused = (self.signs < 0) & (self.values >= cut)
        count = int(refused.sum())
        weights = np.where(refused, min(1.0, (len(refused) - count) / max(1, count)), 1.0)
        for value, sign, weight in zip(
            self.values.tolist(), self.signs.tolist(), weights.tolist(), strict=True
        ):
            off = np.clip(sign * (value - cuts) / width, -30.0, 30.0)
            found += weight * np.log(ERROR + (1.0 - 2.0 * ERROR) / (1.0 + np.exp(-off)))
        return found


NONE = Labels(np.zeros(0), np.zeros(0))


def otsu(values: Floats, counts: Floats, labels: Labels = NONE) -> float:
    """The value that parts numbers in two with the least variance within the parts; each stands
    for `counts` pages. The middle between the two numbers next to it, or with `labels` the mean of
    all middles by how likely each is; O(n log n), and O(n) for each label."""
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    below, total = np.cumsum(counts), counts.sum()
    sums = np.cumsum(values * counts)
    below, rest = below[:-1], total - below[:-1]
    if not len(below) or values[0] == values[-1]:
        return float(values[-1]) if len(values) else 0.0
    difference = (sums[-1] - sums[:-1]) / rest - sums[:-1] / below
    gaps = np.diff(values)
    between = np.where(gaps > 0, below * rest * difference**2, -1.0)
    middles = (values[:-1] + values[1:]) / 2
    width = WIDTH * float(values[-1] - values[0])
    cut = float(middles[between.argmax()])
    if not labels or width < 1e-9:
        return cut
    middles, gaps, between = middles[gaps > 0], gaps[gaps > 0], between[gaps > 0]
    whole = float((counts * (values - sums[-1] / total) ** 2).sum())
    within = np.maximum(whole - between / total, 1e-9 * whole)
    power = PARTING + ALONE / len(labels.values) ** 2
    likely = np.log(gaps) - power * np.log(within) + labels.likely(middles, width, cut)
    chances = np.exp(likely - likely.max())
    return float(chances @ middles / chances.sum())


def parted(
    values: Floats, weights: Floats, doubts: Sequence[float], labels: Labels = NONE
) -> list[float]:
    """The value that parts wanted pages from the others, for each doubt. Where a power stretches
    the upper values, the cut is higher: right where few pages are spread above many, and too high
    where many are wanted, which then fall in two groups themselves. So the share above the plain
    cut chooses between the two; doubt, in [0, 1], leaves it at the higher."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]  # sorting what is sorted costs little
    plain, few = otsu(values, weights, labels), _stretched(values, weights, labels)
    share = float(weights[values >= plain].sum() / weights.sum())
    many = min(1.0, max(0.0, (share - FEW) / (MANY - FEW)))
    shares = [many * (1.0 - doubt) for doubt in doubts]
    return [few ** (1.0 - share) * plain**share for share in shares]


def _stretched(values: Floats, weights: Floats, labels: Labels = NONE) -> float:
    stretched = Labels(labels.values**POWER, labels.signs)
    return float(otsu(values**POWER, weights, stretched) ** (1.0 / POWER))


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
