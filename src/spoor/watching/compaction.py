"""What a watch leaves once a day, a slice at a time: none takes longer than it may hold a crawl.

Three passes over the numbers of the URLs, as a collector of garbage makes them that does not stop
its program: what is not at rest is marked with all that it links to, then what stays forgets its
links to what leaves, then that leaves, and its number is given to the next URL that comes. What is
asked for meanwhile by its address is marked as well, so that nothing leaves to which anything new
leads. All of it is part of a state: one that is loaded goes on with the same slice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from spoor.types import State
from spoor.watching.redirects import Redirects

MOST_LINKS = 10_000
"""Links and pages that a slice looks at, but for those of one page."""

MOST_LEFT = 500
"""URLs that leave in a slice."""


class LinkedUrls(Protocol):
    """URLs by their numbers, and the links between them (`spoor.watching.urls.Urls`)."""

    urls: list[str]
    redirects: Redirects

    def links_before(self, url: int) -> list[int]: ...
    def forget_links(self, url: int, stays: Sequence[int]) -> int: ...


class Compaction:
    """One that is under way."""

    def __init__(
        self, count: int, oldest: float, oldest_of: Mapping[str, float] | None = None
    ) -> None:
        self.oldest = oldest
        """URLs about which nothing was new since then are at rest."""
        self.oldest_of = dict(oldest_of or {})
        """Host → the same, where it has so many that more leave."""
        self.stays = bytearray(count)
        """By number: whether it is not to leave."""
        self._pass, self._at = 0, 0

    def keep(self, known: LinkedUrls, number: int) -> None:
        """A URL does not leave, nor what it redirects to."""
        stays, target = self.stays, number
        while not stays[target]:
            stays[target] = True
            target = known.redirects.next(target)

    def enter(self, number: int) -> None:
        """A URL is new."""
        self.stays.extend(bytes(max(0, number + 1 - len(self.stays))))
        self.stays[number] = True

    def slice(self, known: LinkedUrls, rests: Callable[[int], bool]) -> tuple[list[int], bool]:
        """The next: what leaves, in no link of anything that stays, and whether it was the last.
        `rests`: whether nothing but a link keeps a URL."""
        left, work = list[int](), 0
        for number in islice(range(len(self.stays)), self._at, None):
            if work > MOST_LINKS or len(left) == MOST_LEFT:
                return left, False
            self._at, work = number + 1, work + 1
            if not known.urls[number]:
                continue
            if self._pass == 0 and not rests(number):
                self.keep(known, number)
                links = known.links_before(number)
                work += len(links)
                for link in links:
                    if not self.stays[link]:
                        self.keep(known, link)
            elif self._pass == 1:
                work += known.forget_links(number, self.stays)
            elif self._pass == 2 and not self.stays[number] and rests(number):
                left.append(number)
        self._pass, self._at = self._pass + 1, 0
        return left, self._pass == 3

    def save(self) -> State:
        stays = np.frombuffer(bytes(self.stays), dtype=np.uint8)
        crowded = {"oldest_of": dict(self.oldest_of)} if self.oldest_of else {}
        return {
            "oldest": self.oldest,
            "stays": stays,
            "pass": self._pass,
            "at": self._at,
            **crowded,
        }

    @classmethod
    def revive(cls, state: State) -> Compaction:
        """The one that `save` was asked of."""
        one = cls(0, state["oldest"], state.get("oldest_of"))
        stays: Any = state["stays"]
        one.stays = bytearray(stays.astype(np.uint8).tobytes())
        one._pass, one._at = state["pass"], state["at"]
        return one
