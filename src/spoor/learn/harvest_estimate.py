"""How many relevant pages are left, and what the next hundred pages will bring.

The pages of a focused crawl are no random sample: the policy took the best first, so that
estimates from recaptures or from species seen once (Chao 1984) do not apply. The harvest itself is
informative: how many of the last pages were relevant, and how many links are open. From these a
log-linear law gives the 10 %, 50 % and 90 % quantiles, fitted by quantile regression (Koenker and
Bassett 1978) to crawls of completely known webs. It ignores the policy. Which webs
these were, and how often the truth lay within on others: docs/guides/when-to-stop.md;
`benchmarks/remaining.py` fits and tests it again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

LEAST_RELEVANT = 5
LEAST_PAGES = 20
"""Relevant pages and fetched pages before the first estimate."""

NEXT = 100


Law = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""Weights of the features for ln(1 + y) at its 10 %, 50 % and 90 % quantile."""

LEFT_LAW: Law = (
    (-0.069, 0.47, -0.433, 0.9, -0.216, 0.152, -0.024),
    (0.689, 0.58, 0.203, 0.481, -0.359, 0.177, -0.019),
    (3.655, -0.421, 1.401, 0.225, -0.398, 1.122, -0.935),
)
NEXT_LAW: Law = (
    (-0.0, 0.238, -0.0, -0.0, -0.0),
    (0.0, 0.27, 0.218, 0.403, -0.0),
    (2.122, 0.028, 0.306, 0.335, -0.122),
)


class Range(NamedTuple):
    """A number that is not known, with an interval that should hold it 8 times of 10."""

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        low, middle, high = (round(value) for value in self)
        return f"about {middle:,} ({low:,} to {high:,})"


class Estimate(NamedTuple):
    """What is left of a crawl."""

    left: Range
    """Relevant pages not found yet, in reach of the known pages by links."""
    next: Range
    """Relevant pages among the next hundred, at most 100."""
    relevant: int
    pages: int
    requests: float
    """Requests a page so far, failures and redirects included."""

    @property
    def share_left(self) -> Range:
        """Share of all relevant pages that is left."""
        low, middle, high = (value / (self.relevant + value) for value in self.left)
        return Range(low, middle, high)

    @property
    def cost(self) -> Range:
        """Requests for each relevant page among the next hundred pages; infinite where none is
        expected."""
        asked = NEXT * self.requests
        low, middle, high = (asked / value if value >= 0.5 else math.inf for value in self.next)
        return Range(high, middle, low)


class Harvest:
    """Which pages of a crawl were relevant, in the order of fetching.

    Memory: a number for each relevant page. Adding is O(1), an estimate O(log relevant).
    """

    def __init__(self, verdicts: Iterable[bool] = ()) -> None:
        self.pages = 0
        self._hits: list[int] = []
        """Places of the relevant pages, from 0, ascending."""
        for relevant in verdicts:
            self.add(relevant)

    @property
    def relevant(self) -> int:
        return len(self._hits)

    def add(self, relevant: bool) -> None:
        """The next page."""
        if relevant:
            self._hits.append(self.pages)
        self.pages += 1

    def last(self, pages: int) -> int:
        """Relevant among so many last pages."""
        return len(self._hits) - bisect_left(self._hits, self.pages - pages)

    def estimate(self, open_links: int, requests: int = 0) -> Estimate | None:
        """The estimate with so many links open and so many requests made (0: one a page). None
        before `LEAST_PAGES` were fetched and `LEAST_RELEVANT` of them relevant."""
        if self.pages < LEAST_PAGES or self.relevant < LEAST_RELEVANT:
            return None
        ratio = max(1.0, requests / self.pages)
        if not open_links:
            none = Range(0.0, 0.0, 0.0)
            return Estimate(none, none, self.relevant, self.pages, ratio)
        coming = _range(NEXT_LAW, self.next_features(), NEXT)
        # What the next pages find was left before; the two laws are independent of each other.
        left = Range(*map(max, _range(LEFT_LAW, self.left_features(open_links)), coming))
        return Estimate(left, coming, self.relevant, self.pages, ratio)

    def left_features(self, open_links: int) -> tuple[float, ...]:
        """What `LEFT_LAW` weighs."""
        quarter, sixteenth = self._part(4), self._part(16)
        return (
            1.0,
            math.log1p(open_links * self.last(quarter) / quarter),
            math.log1p(self.last(quarter)),
            math.log1p(self.last(sixteenth)),
            math.log1p(self.relevant),
            math.log1p(open_links),
            math.log(self.pages),
        )

    def next_features(self) -> tuple[float, ...]:
        """What `NEXT_LAW` weighs."""
        parts = (self._part(16), min(50, self.pages), self._part(4), self.pages)
        return (1.0, *(math.log1p(NEXT * self.last(part) / part) for part in parts))

    def _part(self, share: int) -> int:
        return max(1, self.pages // share)


def _range(law: Law, features: tuple[float, ...], most: float = math.inf) -> Range:
    low, middle, high = (
        min(most, max(0.0, math.expm1(sum(w * x for w, x in zip(weights, features, strict=True)))))
        for weights in law
    )
    return Range(min(low, middle), middle, max(middle, high))


def in_words(estimate: Estimate, held: int = 0) -> list[str]:
    """An estimate as text: a line for what is left and one for the next pages. `held`: links that
    are held back, which count as none; where no other is open, the first line says so."""
    lines = [f"{estimate.left} relevant pages"]
    if estimate.left.high:
        # A crawl knows nothing about parts of a site that it has not met.
        lines[0] += ", if the rest is like what was seen"
        line = f"{estimate.next} of the next hundred pages"
        if math.isfinite(estimate.cost.middle):
            line += f", {estimate.cost.middle:,.0f} requests for each"
        lines.append(line)
    elif held:
        links = "link that is" if held == 1 else "links that are"
        lines[0] += f", beside what the {held:,} {links} held back lead{'s' * (held == 1)} to"
    return lines
