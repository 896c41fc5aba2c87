"""Section 3.1: what pages hand down to the links that they show, and what a link's parents add up
to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spoor.learn.relevance import TENTHS
from spoor.types import NO_PARENT, LinkId, State

FARTHEST = 9
"""Links from a relevant page beyond which a distance is not counted."""


def change_bucket(change: float, near: float, far: float) -> int:
    """Relevance change in 5 buckets: within `near` 0; more by up to `far` 1, by more than that 2;
    less by up to `far` 3, by more than that 4."""
    if abs(change) <= near:
        return 0
    if change > 0:
        return 1 if change <= far else 2
    return 3 if change >= -far else 4


class Visit(NamedTuple):
    """What a fetched page hands down to the links that it shows."""

    state: int
    """Number of its state."""
    relevant: bool
    relevance: float
    weighted: float
    """wrl: its relevance smoothed over its ancestors."""
    distance: int
    """From the last relevant page on the crawl path; 0 if it is relevant itself."""


Row = tuple[int, float, int, float, float, int, LinkId, int]
"""What a link's parents add up to: how many they are, the sum of their relevance, how many of them
are relevant and the sum of theirs, the highest wrl, the least distance, the newest parent, the mean
relevance of all and of the relevant ones as two digits (0 without any)."""


class Parents:
    """Of every unvisited link, by number, what the pages that show it add up to."""

    EMPTY: Row = (0, 0.0, 0, 0.0, 0.0, FARTHEST, NO_PARENT, 0)
    FIELDS = ("count", "sum", "relevant", "relevant_sum", "weighted", "distance", "last", "digits")
    """Of a row, as they are saved."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def reach(self, link: LinkId) -> None:
        """Make room for links up to this one."""
        more = link + 1 - len(self.rows)
        if more > 0:
            self.rows += [self.EMPTY] * max(more, 1_000)

    def add(
        self, links: Sequence[LinkId], parent: LinkId, visit: Visit
    ) -> tuple[list[int], list[bool]]:
        """A page shows these links; it is one parent of a link that it shows twice. Returns the
        digits of each, and whether they have just changed."""
        # Many links, and most of them seen before: one look-up finds all of a link.
        rows = self.rows
        _, is_relevant, near, weighted, distance = visit
        all_digits: list[int] = []
        changed: list[bool] = []
        for link in links:
            count, total, relevant, of_relevant, most, least, last, before = rows[link]
            digits = before
            if last != parent:
                count += 1
                total += near
                if is_relevant:
                    relevant += 1
                    of_relevant += near
                if weighted > most:
                    most = weighted
                if distance < least:
                    least = distance
                digits = 10 * TENTHS[int(total / count * 10 + 1e-9)]
                if relevant:
                    digits += TENTHS[int(of_relevant / relevant * 10 + 1e-9)]
                rows[link] = count, total, relevant, of_relevant, most, least, parent, digits
            all_digits.append(digits)
            changed.append(digits != before)
        return all_digits, changed

    def save(self) -> State:
        return {
            name: np.array([row[index] for row in self.rows], dtype=type(self.EMPTY[index]))
            for index, name in enumerate(self.FIELDS)
        }

    def load(self, state: State) -> None:
        columns = [state[name].tolist() for name in self.FIELDS]
        self.rows = list(zip(*columns, strict=True))
