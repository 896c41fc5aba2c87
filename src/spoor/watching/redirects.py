"""Which URLs lead to which, as they did when they were asked for last."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from spoor.types import State
from spoor.watching.hints import pairs

MOST_HOPS = 10
"""Redirects that are followed one after the other."""

MOST_LEADING = 64
"""URLs that lead to one, of which it is asked whether they are what it was before."""


class Redirects:
    """By the numbers of URLs. O(1) a redirect; a chain is followed for `MOST_HOPS`."""

    def __init__(self) -> None:
        self._targets: dict[int, int] = {}
        self._sources: dict[int, dict[int, None]] = {}
        """The same the other way round, in the order in which they were noted."""
        self._passing: set[int] = set()
        """Of those that lead elsewhere, such as do so for now only (302, 303, 307)."""

    def __contains__(self, url: int) -> bool:
        return url in self._targets

    def __iter__(self) -> Iterator[int]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)

    def items(self) -> Collection[tuple[int, int]]:
        """(URL, where it leads to by one redirect)."""
        return self._targets.items()

    def note(self, url: int, target: int, *, lasting: bool = True) -> None:
        """A URL leads to another one; `lasting`: its server says that it does so for good."""
        self.forget(url)
        self._targets[url] = target
        self._sources.setdefault(target, {})[url] = None
        if not lasting:
            self._passing.add(url)

    def forget(self, url: int) -> None:
        """A URL answers itself."""
        target = self._targets.pop(url, None)
        if target is None:
            return
        self._passing.discard(url)
        sources = self._sources[target]
        del sources[url]
        if not sources:
            del self._sources[target]

    def next(self, url: int) -> int:
        """Where a URL leads to by one redirect; itself where it does not."""
        return self._targets.get(url, url)

    def end(self, url: int) -> int:
        """Where a URL leads to in the end; itself where it does not."""
        for _ in range(MOST_HOPS):
            if (target := self._targets.get(url)) is None:
                break
            url = target
        return url

    def leading_to(self, url: int, *, lasting: bool = False) -> list[int]:
        """URLs that lead to this one, through others or not, those that were noted last before
        others, at most `MOST_LEADING`; `lasting`: such as do so for good alone. So where all that a
        site took away leads to its front page, what has just come to do so is among them."""
        found, ends = dict[int, None](), [url]
        for _ in range(MOST_HOPS):
            sources = (one for end in ends for one in reversed(self._sources.get(end, {})))
            ends = [
                one
                for one in islice(sources, MOST_LEADING)
                if one not in found and one != url and not (lasting and one in self._passing)
            ]
            found |= dict.fromkeys(ends)
        return list(found)[:MOST_LEADING]

    def leave(self, left: Collection[int]) -> None:
        """URLs are known no more, and lead nowhere."""
        gone = [url for url, target in self._targets.items() if url in left or target in left]
        for url in gone:
            self.forget(url)

    def save(self) -> State:
        return {
            "redirects": pairs(self._targets.items()),
            "passing": sorted(self._passing),
        }

    def load(self, state: State) -> None:
        """Go on from a state that holds what `save` gave."""
        self._targets, self._sources, self._passing = {}, {}, set()
        passing = set(state["passing"])
        for url, target in state["redirects"].tolist():
            self.note(url, target, lasting=url not in passing)
