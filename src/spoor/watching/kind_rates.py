"""What pages of a kind bring at each host that have brought nothing before, against what was
expected of them: of documents on topic more is expected where they are edited every day, and of
archives less where hundreds never grow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.types import State
from spoor.watching.columns import Floats, Integers

OTHER, FEED, LIST, YOUNG, DOCUMENT = range(5)
"""Kinds: what is never corrected; feeds that no start names; pages that list others; pages that
came a short while ago and are not on topic; and documents on topic, which are of kinds of their own
by age."""

AGES = (DAY, 7 * DAY)
"""Seconds since it was published up to which a document is of the youngest kind, and of the next:
most edits come on the first day."""

KINDS = DOCUMENT + len(AGES) + 1

ASSUMED = 0.5
"""Documents that pages of a kind are taken to have brought, and to have been expected to bring,
before any came: so much weighs what is assumed of all hosts."""

MOST_EXPECTED = 20.0
"""Expected documents, or such as came, beyond which the counts of a kind are halved: what its pages
were like long ago is no matter, and none is ever taken to bring nothing."""


class KindRates:
    """By host and kind: documents that came, and that were expected (a Gamma prior of mean 1 on the
    ratio, with `ASSUMED` as its shape)."""

    def __init__(self) -> None:
        self._of: dict[str, Floats] = {}
        """Host → two rows, that came and that were expected, by kind."""

    def look(self, host: str, kind: int, expected: float) -> None:
        """A page was looked at again of which so many documents were expected by now."""
        if kind != OTHER:
            self._add(host, 1, kind, expected)

    def brought(self, host: str, kind: int, documents: float) -> None:
        """So many came by a look at such a page."""
        if kind != OTHER:
            self._add(host, 0, kind, documents)

    def _add(self, host: str, row: int, kind: int, documents: float) -> None:
        its = self._of.setdefault(host, np.zeros((2, KINDS)))
        its[row, kind] += documents
        if its[row, kind] > MOST_EXPECTED:
            its[:, kind] /= 2.0

    def factors(self, hosts: Mapping[str, int]) -> Floats:
        """By number of a host and kind: what is to be expected for each document that
        was assumed. O(hosts)."""
        found: Floats = np.ones((len(hosts), KINDS))
        for name, its in self._of.items():
            if (number := hosts.get(name)) is not None:
                came, expected = its + ASSUMED
                found[number, 1:] = (came / expected)[1:]
        return found

    def proven(self, hosts: Mapping[str, int], kind: int) -> NDArray[np.bool_]:
        """By number of a host, whether pages of a kind brought anything there."""
        found: NDArray[np.bool_] = np.zeros(len(hosts), dtype=np.bool_)
        for name, its in self._of.items():
            if (number := hosts.get(name)) is not None:
                found[number] = its[0, kind] > 0.0
        return found

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._of)

    def save(self) -> State:
        return {name: its.copy() for name, its in self._of.items()}

    def load(self, state: State) -> None:
        self._of = {name: np.array(its, dtype=np.float64) for name, its in state.items()}


def kinds_of_documents(ages: Floats) -> Integers:
    """The kinds of documents that were published so many seconds ago; infinite: who knows when."""
    found: Integers = DOCUMENT + np.searchsorted(AGES, ages)
    return found


def kind_of_document(age: float) -> int:
    """The same of one."""
    return DOCUMENT + bisect_left(AGES, age)
