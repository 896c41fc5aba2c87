"""The tickets of a crawl that are in flight, and its counters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spoor.types import Choice, LinkId


@dataclass(slots=True)
class Counts:
    """Counters of a crawl."""

    requests: int = 0
    """Requests that the driver was asked to make: for pages, failures, redirects, retries."""
    pages: int = 0
    relevant: int = 0
    """By the newest judgements, as is the reward."""
    failed: int = 0
    """Choices that ended without a page."""
    reward: float = 0.0
    expanded: int = 0
    skipped: int = 0
    """Choices that the link filter rejected."""
    unchanged: int = 0
    """Pages that have not changed since an earlier visit."""


@dataclass(slots=True)
class Flight:
    """A ticket in flight."""

    link: LinkId
    choice: Choice
    attempt: int = 1
    """Requests so far."""
    tries: int = 1
    """Requests on its present domain that brought no redirect, without those that were put off
    because other hosts at the same address came first."""
    hops: int = 0
    """Redirects on its present domain."""
    crossed: int = 0
    """Redirects from one domain or shard to another."""
    flying: bool = True
    """False while it waits in the frontier for its next request."""
    away: bool = False
    """Whether it waits so long, or was so late, that its place in the page budget is others'."""
    since: float = math.inf
    """When its last request began; infinite if that is not known."""

    def redirected(self, *, crosses: bool) -> None:
        """Count a redirect, which `crosses` to another domain or shard or does not."""
        self.tries = 0 if crosses else self.tries - 1
        self.hops = 0 if crosses else self.hops + 1
        self.crossed += crosses

    def row(self, ticket: int) -> Mapping[str, Any]:
        """The flight as a saved crawl stores it."""
        return {
            "ticket": ticket,
            "link": self.link,
            "probability": self.choice.probability,
            "why": [list(reason) for reason in self.choice.why],
            "attempt": self.attempt,
            "tries": self.tries,
            "hops": self.hops,
            "flying": self.flying,
            **({"away": True} if self.away else {}),
            **({"crossed": self.crossed} if self.crossed else {}),
            **({"since": self.since} if self.since < math.inf else {}),
        }

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Flight:
        """The flight that `row` gave."""
        why = tuple((str(feature), float(share)) for feature, share in row["why"])
        choice = Choice(row["link"], row["probability"], why)
        counts = row["attempt"], row["tries"], row["hops"], row.get("crossed", 0)
        away, since = row.get("away", False), row.get("since", math.inf)
        return cls(row["link"], choice, *counts, row["flying"], away, since)


class Flights:
    """All tickets in flight, oldest first."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}
        self._tickets: dict[LinkId, int] = {}
        self.away = 0
        """Number of flights that are `away`."""
        self._next_ticket = 0

    def __len__(self) -> int:
        return len(self._flights)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._flights.values())

    def __getitem__(self, ticket: int) -> Flight:
        return self._flights[ticket]

    def get(self, ticket: int) -> Flight | None:
        return self._flights.get(ticket)

    def items(self) -> Sequence[tuple[int, Flight]]:
        """Each ticket and its flight."""
        return list(self._flights.items())

    def of(self, link: LinkId) -> tuple[int, Flight]:
        """The ticket and the flight of a link in flight."""
        ticket = self._tickets[link]
        return ticket, self._flights[ticket]

    def oldest(self) -> LinkId:
        """The link that has been in flight longest."""
        return next(iter(self._tickets))

    def new_ticket(self) -> int:
        self._next_ticket += 1
        return self._next_ticket - 1

    def begin(self, flight: Flight) -> int:
        """Add a link that is requested now; returns its ticket."""
        ticket = self.new_ticket()
        self._flights[ticket], self._tickets[flight.link] = flight, ticket
        return ticket

    def again(self, flight: Flight, now: float, *, away: bool = False) -> None:
        """Request a waiting flight again; see `Flight.away`."""
        self.away += away - flight.away
        flight.away, flight.flying, flight.since = away, True, now
        flight.attempt += 1
        flight.tries += 1

    def park(self, flight: Flight, *, away: bool = False) -> None:
        """Make a flight wait in the frontier for its next request; see `Flight.away`."""
        self.away += away - flight.away
        flight.flying, flight.away = False, away

    def give_way(self, now: float, late_after: float) -> bool:
        """Those whose last request began so many seconds ago, and are in flight or wait for another
        one, give their places to others; returns whether any does that did not yet. O(flights)."""
        late = [one for one in self if not one.away and one.since + late_after <= now]
        for flight in late:
            flight.away = True
        self.away += len(late)
        return bool(late)

    def first_request(self) -> float:
        """When the oldest of those requests began that do not give way; infinite if there is none.
        O(flights)."""
        asked = (one.since for one in self if not one.away)
        return min(asked, default=math.inf)

    def end(self, ticket: int) -> None:
        flight = self._flights.pop(ticket)
        self.away -= flight.away
        del self._tickets[flight.link]

    def save(self) -> Mapping[str, Any]:
        return {
            "next_ticket": self._next_ticket,
            "flights": [flight.row(ticket) for ticket, flight in self._flights.items()],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self._next_ticket = int(state["next_ticket"])
        self._flights = {row["ticket"]: Flight.of(row) for row in state["flights"]}
        self._tickets = {flight.link: ticket for ticket, flight in self._flights.items()}
        self.away = sum(flight.away for flight in self)
