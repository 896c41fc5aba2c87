"""What anchors say of the pages that they lead to, before these come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.url_numbers import site_of
from spoor.judges.relevance.word_counts import WordNumbers
from spoor.types import Page, State
from spoor.web.text import terms

MOST = 20_000
"""Links whose anchors have words of the wish, remembered at most."""
SLOTS = 1 << 15
"""Links that are known to have been seen, at most."""


class Anchors:
    """Anchors of links to pages of the same site, each read where its link is seen first: anybody
    may write anything about the pages of others."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._seen = np.zeros(SLOTS, np.int64)
        self._said: dict[int, dict[int, tuple[float, float]]] = {}
        """Number of a page's URL → leaf → how often it is found, as it is and as something like
        it."""

    def to(self, number: int) -> Mapping[int, tuple[float, float]]:
        """What those to a page say: leaf → how often it is found, as it is and as something like
        it. `number`: `number_of_url` of the page."""
        return self._said.get(number, {})

    def read(
        self,
        page: Page,
        urls: Sequence[str],
        numbers: NDArray[np.int64],
        site: int,
        memo: WordNumbers,
    ) -> None:
        """Read the anchors of those links of a page that were not seen before. `urls`, `numbers`:
        of its links, `number_of_url` of each. O(links)."""
        seen = self._seen
        rows = numbers % SLOTS
        are_new = seen.take(rows) != numbers
        if not are_new.any():
            return
        new: list[tuple[int, str]] = []
        of_new = np.zeros(SLOTS, np.bool_)
        of_new[rows[are_new]] = True  # two links of a page may have one row
        may_be_new = of_new.take(rows).nonzero()[0]
        its = (its.take(may_be_new).tolist() for its in (rows, numbers))
        for index, row, number in zip(may_be_new.tolist(), *its, strict=True):
            if seen.item(row) == number:
                continue
            # Of another site: not seen yet by a page of its own.
            if site_of(urls[index]) != site:
                seen[row] = -number
                continue
            seen[row] = number
            anchor = page.links[index].anchor.text
            if anchor:
                new.append((number, anchor[:500]))
        # Most say nothing of the wish, which all tell at once: no word goes on over lines.
        if new and any(memo.count(terms("\n".join(anchor for _, anchor in new)))):
            for number, anchor in new:
                self._read(number, anchor, memo)

    def _read(self, number: int, anchor: str, memo: WordNumbers) -> None:
        exact, like = memo.count(terms(anchor))
        if not exact and not like:
            return
        counts = self._said.setdefault(number, {})
        for at in range(len(self._matcher.leaves)):
            one, other = self._matcher.leaf_counts(at, exact, like, anchor)
            if one or other:
                before = counts.get(at, (0.0, 0.0))
                counts[at] = before[0] + one, before[1] + other
        while len(self._said) > MOST:
            del self._said[next(iter(self._said))]

    def save(self) -> State:
        counts = [(at, *its) for by_leaf in self._said.values() for at, its in by_leaf.items()]
        leaves = [*map(len, self._said.values())]
        return {
            "seen": self._seen.copy(),
            "anchored": np.repeat(np.array([*self._said], np.uint64), leaves),
            "anchors": np.array(counts, float).reshape(-1, 3),
        }

    def load(self, state: State) -> None:
        self._seen = np.array(state["seen"], np.int64)
        self._said = {}
        counts = state["anchors"].tolist()
        for number, (at, one, other) in zip(state["anchored"].tolist(), counts, strict=True):
            self._said.setdefault(number, {})[int(at)] = one, other
