"""What else a politeness may know of its hosts (`spoor.protocols.Politeness` is what each has)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from spoor.types import LinkId


@runtime_checkable
class KnowsLateHosts(Protocol):
    """A politeness that knows how hosts answer."""

    def times_late(self, host: str) -> int | None:
        """How often a host was late that has not answered in time yet, or not since; None for one
        that answers in time."""
        ...


def times_late(hosts: object, host: str) -> int | None:
    """What such a politeness knows; 0, as of a new host, from any other. Asked for each request: to
    ask for the whole protocol takes 10 µs."""
    known: Callable[[str], int | None] | None = getattr(hosts, "times_late", None)
    return 0 if known is None else known(host)


def share_of_time(hosts: object, link: LinkId) -> float:
    """As `spoor.protocols.BoundsSlowHosts`; all, from any other politeness."""
    known: Callable[[LinkId], float] | None = getattr(hosts, "share_of_time", None)
    return 1.0 if known is None else known(link)


@runtime_checkable
class CountsRequests(Protocol):
    """A politeness with a budget of requests, by which those count too that are sent beside the
    chosen ones."""

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        """Requests that may be sent to a host now; infinite without a budget. Not `own`: for pages
        of other sites, to which half of what may be sent at once is not left."""
        ...

    def spend(self, host: str, now: float) -> None:
        """A request is sent."""
        ...
