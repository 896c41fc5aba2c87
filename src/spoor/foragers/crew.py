"""What a fleet asks of what it is made of: its crew, which chooses what is visited, and whoever
follows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from typing import Protocol, runtime_checkable

from spoor.foragers.agent import ReinforcingAgent
from spoor.types import State


class Crew(Protocol):
    """It chooses what a fleet visits."""

    @property
    def agent(self) -> ReinforcingAgent: ...
    @property
    def expands(self) -> bool:
        """Whether the links of all pages of a step are added, not only those of its own page."""
        ...

    def visit(self, now: float) -> int:
        """The URL number of the next step."""
        ...

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """The URLs to download after the step's own page, whose links are `links`."""
        ...

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        """The step is over; `pages` were downloaded, its own first."""
        ...

    def held(self) -> set[int]:
        """URLs that stay in a compaction."""
        ...

    def leave(self, left: Collection[int]) -> None:
        """URLs are known no more; their numbers will be those of others."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


@runtime_checkable
class Abreast(Protocol):
    """A crew whose steps have a width."""

    abreast: int
    """Pages of a step, so that as many hosts can be asked at a time."""


@runtime_checkable
class Steady(Protocol):
    """A crew of a watch that has no steps: each page is one by itself, so that no host waits for
    another one. Its `visit` is asked for a page of a host that is free."""

    only_due: bool
    """Whether it visits nothing but what is due."""
    began: float
    """When its process took over: each pass looks at the seeds."""

    @property
    def spares(self) -> bool:
        """Whether known pages wait while a budget has only the requests that it keeps for what is
        new (`Known.is_new`)."""
        ...

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """The URL number to visit next, which is none of `busy`; -1 where no page of a free host
        is worth it."""
        ...

    def submit(self, pages: Sequence[int], now: float) -> None:
        """Pages that were downloaded before are wanted only now."""
        ...

    def redirected(self, url: int, now: float) -> None:
        """A URL that was asked for leads to another one, which comes next."""
        ...

    def weighs_again(self, now: float) -> Sequence[float]:
        """Where `next_visit` found nothing just now: when it will look again at what is known; none
        where that depends on what comes."""
        ...

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """Whether a page is worth a visit by what is known of it, of a host that is not `without`:
        `spoor watch --once` ends where none is."""
        ...


class SteadyCrew(Crew, Steady, Protocol):
    """Both."""


@runtime_checkable
class Weighs(Protocol):
    """A crew of a watch that can say why it looks at a page again."""

    def why(self, url: int, now: float) -> str:
        """Of a URL that is known."""
        ...


class Follower(Protocol):
    """It keeps something of its own by the numbers of a fleet's URLs."""

    def told(self) -> Container[int]:
        """URLs that are never to be told as new again."""
        ...

    def leave(self, left: Collection[int]) -> None:
        """URLs are known no more; their numbers will be those of others."""
        ...
