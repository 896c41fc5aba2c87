"""The reinforcing agent: it pays for new documents, and multiplies and deletes foragers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from spoor.foragers.forager import Forager
from spoor.foragers.settings import FleetSettings
from spoor.types import State
from spoor.watching.compact_tables import NumberMap
from spoor.watching.discoveries import Discoveries, Discovery
from spoor.watching.known_urls import Known

NOBODY = -1
"""Who found what no forager did."""


@dataclass(slots=True)
class Counts:
    """Documents submitted so far."""

    sent: int = 0
    relevant: int = 0


class ReinforcingAgent:
    """Remembers the documents that it has seen; each forager has its own score."""

    def __init__(self, settings: FleetSettings) -> None:
        self.counts = Counts()
        self.discoveries = Discoveries()
        """All relevant documents, in the order of their submission."""
        self._seen = NumberMap()
        """URL → the newest version that is relevant, 0 where all are one document."""
        self._unpaid: dict[int, int] = {}
        """The same of documents that a watch found by itself and that no forager has come to."""
        self._settings = settings

    def receive(self, url: int, known: Known, now: float, by: int) -> bool:
        """The half of Algorithm 7 that concerns the document: whether it is relevant.

        It is if the agent has not seen it and it is not older than 24 hours. Only the first to
        submit it is paid.
        """
        self.counts.sent += 1
        version = known.version[url]
        document, date = self._document(url, known), known.date[url]
        if self._seen.get(url) == document or not known.fresh(url, now, self._settings.new_for):
            return False
        self._seen[url] = document
        self.discoveries.append(Discovery(url, version, date, now, by))
        self.counts.relevant += 1
        return True

    def _document(self, url: int, known: Known) -> int:
        return known.version[url] if self._settings.identity == "version" else 0

    def found(self, url: int) -> bool:
        """Whether it, or a version of it, is relevant."""
        return url in self._seen

    def receive_unpaid(self, url: int, known: Known, now: float) -> bool:
        """As `receive`, of a document that no forager submits: the first that does is paid."""
        new = self.receive(url, known, now, NOBODY)
        if new:
            self._unpaid[url] = self._document(url, known)
        return new

    def manage_url(self, url: int, known: Known, now: float, forager: Forager) -> float:
        """Algorithm 7: the reinforcement for a URL that a forager sent, its score updated."""
        settings = self._settings
        forager.score -= settings.sent_cost
        new = self.receive(url, known, now, forager.number)
        if self._unpaid.get(url) == self._document(url, known):
            del self._unpaid[url]
            new = True
        if not new:
            return settings.penalty
        forager.score += settings.relevant_gain
        return settings.reward

    def manage_forager(
        self,
        foragers: list[Forager],
        index: int,
        number: Callable[[], int],
        rng: np.random.Generator,
    ) -> int:
        """Algorithm 8 on the forager that was just stopped; returns how the fleet grew (−1, 0, 1).

        A child is last in the order of turns, which the paper leaves open.
        """
        settings, forager = self._settings, foragers[index]
        if forager.score >= settings.max_score and len(foragers) < settings.max_foragers:
            foragers.append(forager.multiply(number(), rng))
            forager.score = settings.init_score
            return 1
        if forager.score <= settings.min_score and len(foragers) > settings.min_foragers:
            del foragers[index]
            return -1
        return 0

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more; discoveries of them are counted only."""
        if any(url in self._seen for url in left):
            self.discoveries = self.discoveries.without(left)
        for url in left:
            self._seen.pop(url)
            self._unpaid.pop(url, None)

    def save(self) -> State:
        return {
            "sent": self.counts.sent,
            "relevant": self.counts.relevant,
            "unpaid": [list(document) for document in sorted(self._unpaid.items())],
            "found": self.discoveries.save(),
        }

    def load(self, state: State) -> None:
        self.discoveries = Discoveries.revived(state["found"])
        self.counts = Counts(state["sent"], state["relevant"])
        self._unpaid = dict(state["unpaid"])
        by_version = self._settings.identity == "version"
        self._seen = NumberMap(
            (entry.url, entry.version if by_version else 0) for entry in self.discoveries
        )
