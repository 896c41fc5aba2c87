"""Rates of change, and what a visit is worth by them (Cho and Garcia-Molina 2000, 2003)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.learn.saved_attributes import Saved, attributes, rows

Floats = NDArray[np.float64]


def change_rates(visits: ArrayLike, changes: ArrayLike, seconds: ArrayLike) -> Floats:
    """Estimated changes a second, of pages that were revisited so often in so many seconds.

    −ln((n − X + 0.5) / (n + 1)) revisits⁻¹ for X changes seen in n revisits. Cho and Garcia-Molina
    (2003) divide by n + 0.5, which makes a page that was not seen to change immortal and would
    never be visited again; before its first revisit a page counts as one seen over a day.
    """
    n = np.asarray(visits, dtype=np.float64)
    each = -np.log((n - np.asarray(changes) + 0.5) / (n + 1.0))
    span = np.where(n > 0, np.asarray(seconds) / np.maximum(n, 1), DAY)
    rates: Floats = each / np.maximum(span, 1.0)
    return rates


def refresh_worth(rates: ArrayLike, since: ArrayLike) -> Floats:
    """Of a visit now to pages that change at these rates λ and were seen τ seconds ago:
    (1 − (1 + λτ) e^(−λτ)) / λ. Visits at a constant level of it are the optimal allocation."""
    rate = np.asarray(rates, dtype=np.float64)
    x = rate * np.asarray(since)
    worth: Floats = (1.0 - (1.0 + x) * np.exp(-x)) / rate
    return worth


class Seen(NamedTuple):
    """What was seen of one page."""

    revisits: int
    changes: int
    first: float
    last: float
    version: int


def _seen(row: list[Any]) -> Seen:
    return Seen(*row)


class Visits(Saved):
    """Visits to some pages, and whether each found another content than the last."""

    SAVED = attributes(_seen=rows(_seen))

    def __init__(self) -> None:
        self._seen: dict[int, Seen] = {}

    def saw(self, url: int, version: int, now: float) -> None:
        """A page was downloaded."""
        old = self._seen.get(url)
        if old is None:
            self._seen[url] = Seen(0, 0, now, now, version)
        else:
            changed = version != old.version
            self._seen[url] = Seen(old.revisits + 1, old.changes + changed, old.first, now, version)

    def __contains__(self, url: int) -> bool:
        return url in self._seen

    def best(self, urls: list[int], now: float) -> int:
        """The page that is most worth a visit: one never seen, else by the refresh policy; of
        equals the first."""
        for url in urls:
            if url not in self._seen:
                return url
        seen = [self._seen[url] for url in urls]
        rates = change_rates(
            [one.revisits for one in seen],
            [one.changes for one in seen],
            [one.last - one.first for one in seen],
        )
        return urls[int(np.argmax(refresh_worth(rates, [now - one.last for one in seen])))]

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        forget(left, self._seen)
