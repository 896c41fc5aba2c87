"""The weblog of a forager: which URLs are worth starting from (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from spoor.foragers.settings import FleetSettings


class Weblog:
    """URL numbers with the sum of rewards that a path is expected to bring from them on, the best
    first."""

    def __init__(self, values: dict[int, float]) -> None:
        self.values = values

    def update(
        self, visited: Sequence[int], rewards: Sequence[float], settings: FleetSettings
    ) -> None:
        """Algorithm 1, after a path: the URLs of its steps and what each step brought.

        Equal values keep their order: older entries first. O(n log n) for a weblog of n.
        """
        # cumValues: the sum of rewards from a step to the end of its path, that step's included
        sums = list(accumulate(reversed(rewards)))[::-1]
        beta, values = settings.beta, self.values
        for url, total in zip(visited, sums, strict=True):
            old = values.get(url)
            # newURLs take the sum; revisitedURLs move towards it
            values[url] = total if old is None else (1.0 - beta) * old + beta * total
        ranked = sorted(values.items(), key=lambda entry: -entry[1])
        self.values = dict(ranked[: settings.weblog_size])

    def starts(self, size: int) -> list[int]:
        """The starting URL list: the first `size` of the weblog."""
        return list(self.values)[:size]

    def divide(self, rng: np.random.Generator) -> Weblog:
        """Algorithm 6: half of the entries, chosen at random, leave with the child.

        A weblog of one entry is shared, since neither could start without it.
        """
        urls = list(self.values)
        if len(urls) < 2:
            return Weblog(dict(self.values))
        chosen = set(rng.choice(len(urls), len(urls) // 2, replace=False).tolist())
        child = {url: self.values[url] for index, url in enumerate(urls) if index in chosen}
        self.values = {url: value for url, value in self.values.items() if url not in child}
        return Weblog(child)
