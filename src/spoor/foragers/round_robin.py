"""A crew without foragers, as a baseline: every known URL in turn."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from spoor.foragers.settings import FleetSettings
from spoor.foragers.submitting import Submits
from spoor.learn.saved_attributes import VALUE, attributes
from spoor.watching.known_urls import Known


class RoundRobin(Submits):
    """Every known URL in turn, in the order of discovery, again and again."""

    SAVED = attributes(**Submits.SAVED, _at=VALUE)

    def __init__(self, known: Known, settings: FleetSettings, *, abreast: int = 1) -> None:
        super().__init__(known, settings, abreast)
        self._at = -1

    def visit(self, now: float) -> int:
        self._at = (self._at + 1) % len(self._known.urls)
        return self._at

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """Links are followed in their turn only; the next URLs in turn are fetched too."""
        count = min(self.abreast, len(self._known.urls)) - 1
        return [self.visit(now) for _ in range(count)]

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """The next in turn whose host is free; those before it are passed over."""
        total = len(self._known.urls)
        latest = self.began if self.only_due else np.inf
        for ahead in range(1, total + 1):
            url = (self._at + ahead) % total
            if not self._known.urls[url]:
                continue
            if self._known.fetched[url] <= latest and free(url) and url not in busy:
                self._at = url
                return url
        return -1

    def weighs_again(self, now: float) -> Sequence[float]:
        """All that is known is weighed each time."""
        return ()

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """Whether a page was not asked for in this pass, of a host that is not `without`."""
        known = self._known
        return any(
            url and at <= self.began and name not in without
            for url, at, name in zip(known.urls, known.fetched, known.hosts, strict=True)
        )

    def redirected(self, url: int, now: float) -> None:
        """Its turn is over."""

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        self.submit(pages, now)
