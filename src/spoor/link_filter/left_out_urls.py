"""Which rule has left out which URLs of a crawl, to be counted and explained."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spoor.hashing import hash64
from spoor.link_filter.depths import Depths
from spoor.types import State

_COUNTED = 50_000
"""URLs of each rule that are told apart; more are not counted."""


class LeftOutUrls:
    """The URLs of each rule, hashed. `too_deep` is the rule of `depths`: of URLs that one page has
    too deep, and another one near enough, it leaves out none."""

    def __init__(self, depths: Depths | None, too_deep: str) -> None:
        self._depths = depths
        self.too_deep = too_deep
        self._urls: dict[str, set[int]] = {}

    def note(self, rule: str, url: str) -> None:
        """A rule leaves out a URL."""
        urls = self._urls.setdefault(rule, set())
        if len(urls) < _COUNTED:
            urls.add(hash64(url))

    def take_back(self, rule: str, url: str) -> None:
        """A rule does not leave out a URL after all."""
        self._urls.get(rule, set()).discard(hash64(url))

    def rule_of(self, url: str) -> str:
        """A rule that has left out a URL; empty for none."""
        key = hash64(url)
        return next((rule for rule in self._urls if key in self._by(rule)), "")

    def counts(self) -> dict[str, int]:
        """Rule → how many URLs it has left out, of those that have any."""
        return {rule: n for rule in self._urls if (n := len(self._by(rule)))}

    def _by(self, rule: str) -> Collection[int]:
        urls = self._urls[rule]
        if self._depths is None or rule != self.too_deep:
            return urls
        return self._depths.beyond(urls)

    def save(self) -> State:
        return {rule: np.array(sorted(urls), dtype=np.uint64) for rule, urls in self._urls.items()}

    def load(self, state: State) -> None:
        self._urls = {rule: set(urls.tolist()) for rule, urls in state.items()}
