"""The tickets of a crawl that are in flight, and what it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spoor.types import Choice, LinkId


@dataclass(slots=True)
class Counts:
    """What happened so far."""

    requests: int = 0
    """All requests that the driver was asked for: pages, failures, redirects, retries."""
    pages: int = 0
    relevant: int = 0
    """By the newest verdicts, as is the reward."""
    failed: int = 0
    """Choices that ended without a page."""
    reward: float = 0.0
    expanded: int = 0
    skipped: int = 0
    """Choices that the link filter rejected."""
    unchanged: int = 0
    """Pages of an earlier visit that are what they were."""


@dataclass(slots=True)
class Flight:
    """A ticket in flight."""

    link: LinkId
    choice: Choice
    attempt: int = 1
    hops: int = 0
    """Redirects on the domain where it is."""
    crossed: int = 0
    """Redirects from one domain or shard to another."""
    before: int = 0
    """Attempts before it came to the domain where it is, and those that were not requested since
    others at its address came first."""
    flying: bool = True
    """False while it waits in the frontier for its next request."""
    away: bool = False
    """Whether it waits so long that the budget has no page for it meanwhile."""

    def row(self, ticket: int) -> Mapping[str, Any]:
        """The flight as a saved crawl has it."""
        return {
            "ticket": ticket,
            "link": self.link,
            "probability": self.choice.probability,
            "why": [list(reason) for reason in self.choice.why],
            "attempt": self.attempt,
            "hops": self.hops,
            "flying": self.flying,
            **({"away": True} if self.away else {}),
            **({"crossed": [self.crossed, self.before]} if self.crossed or self.before else {}),
        }

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Flight:
        """The flight of a row."""
        why = tuple((str(feature), float(share)) for feature, share in row["why"])
        choice = Choice(row["link"], row["probability"], why)
        crossed, before = row.get("crossed", (0, 0))
        hops = row["attempt"], row["hops"], crossed, before
        return cls(row["link"], choice, *hops, row["flying"], row.get("away", False))

    @property
    def tries(self) -> int:
        """Requests of the URL where it is."""
        return self.attempt - self.before - self.hops
