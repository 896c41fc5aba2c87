"""The tickets of a crawl that are in flight, and what it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    """Requests in all."""
    tries: int = 1
    """Requests on the domain where it is that gave no redirect, those apart that were not made
    since others at its address came first."""
    hops: int = 0
    """Redirects on the domain where it is."""
    crossed: int = 0
    """Redirects from one domain or shard to another."""
    flying: bool = True
    """False while it waits in the frontier for its next request."""
    away: bool = False
    """Whether it waits so long that the budget has no page for it meanwhile."""

    def redirected(self, *, crosses: bool) -> None:
        """Its request gave a redirect, which `crosses` to another domain or shard."""
        self.tries = 0 if crosses else self.tries - 1
        self.hops = 0 if crosses else self.hops + 1
        self.crossed += crosses

    def row(self, ticket: int) -> Mapping[str, Any]:
        """The flight as a saved crawl has it."""
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
        }

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Flight:
        """The flight of a row."""
        why = tuple((str(feature), float(share)) for feature, share in row["why"])
        choice = Choice(row["link"], row["probability"], why)
        counts = row["attempt"], row["tries"], row["hops"], row.get("crossed", 0)
        return cls(row["link"], choice, *counts, row["flying"], row.get("away", False))


class Flights:
    """All tickets in flight, oldest first."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}
        self._tickets: dict[LinkId, int] = {}
        self.away = 0
        """Those that wait long."""
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
        """The link that is in flight for longest."""
        return next(iter(self._tickets))

    def new_ticket(self) -> int:
        self._next_ticket += 1
        return self._next_ticket - 1

    def begin(self, flight: Flight) -> int:
        """The ticket of a link that is requested now."""
        ticket = self.new_ticket()
        self._flights[ticket], self._tickets[flight.link] = flight, ticket
        return ticket

    def again(self, flight: Flight) -> None:
        """One that waited is requested again."""
        self.away -= flight.away
        flight.away, flight.flying = False, True
        flight.attempt += 1
        flight.tries += 1

    def park(self, flight: Flight, *, away: bool = False) -> None:
        """One waits in the frontier for its next request, so long if `away` that the budget has no
        page for it meanwhile."""
        flight.flying, flight.away = False, away
        self.away += away

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
