"""The two domains that were asked last: whether any other than a given one is asked meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from spoor.web.urls import domain_of


class RecentDomains:
    """Two are enough to know of any domain when another was asked. O(1) a call. Times: seconds by
    any clock that never goes back."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def ask(self, url: str, now: float) -> None:
        """A URL is asked for."""
        domain = domain_of(url)
        if len(self._at) == 2 and domain not in self._at:
            del self._at[min(self._at, key=self._at.__getitem__)]
        self._at[domain] = now

    def other_than(self, url: str) -> float:
        """When a domain other than that of this URL was asked last; -infinity for never."""
        domain = domain_of(url)
        return max((at for name, at in self._at.items() if name != domain), default=float("-inf"))

    def save(self) -> dict[str, float]:
        return self._at.copy()

    def load(self, state: Mapping[str, float]) -> None:
        self._at = dict(state)
