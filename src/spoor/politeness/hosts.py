"""Optional methods of a crawl's politeness, beyond those of `spoor.protocols.Politeness`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from spoor.types import LinkId


def times_late(hosts: object, host: str) -> int | None:
    """How often a host was late since it last answered in time, 0 for an unknown host; None for a
    host that answers in time. By the method `times_late` of a politeness that has it. It is called
    for each request, and `isinstance` of a protocol takes 10 µs."""
    known: Callable[[str], int | None] | None = getattr(hosts, "times_late", None)
    return 0 if known is None else known(host)


def share_of_time(hosts: object, link: LinkId) -> float:
    """`share_of_time` of a `spoor.protocols.BoundsSlowHosts`; 1 of any other politeness."""
    known: Callable[[LinkId], float] | None = getattr(hosts, "share_of_time", None)
    return 1.0 if known is None else known(link)


@runtime_checkable
class CountsRequests(Protocol):
    """A politeness with a budget of requests, in which requests that the crawl did not choose count
    too."""

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        """Requests that may be sent to a host now; infinite without a budget. Not `own`: for pages
        of other sites, which must leave half of what may be sent at once to the host's own."""
        ...

    def spend(self, host: str, now: float) -> None:
        """Count a request that is sent."""
        ...
