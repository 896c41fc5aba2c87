"""The hosts of a frontier: their clocks, and which of them are free and have open links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from spoor.frontier.slow_hosts import SlowHosts
from spoor.types import LinkId


@dataclass(slots=True, eq=False)
class ReadyList:
    """Hosts that are free and have open links, in the order in which they became so (a set's order
    is not stable), and the number of these links."""

    hosts: dict[str, None] = field(default_factory=dict)
    links: int = 0


@dataclass(slots=True)
class Host:
    """One host: its clock, its delay and its open links."""

    name: str
    delay: float
    number: int
    """In the order of discovery."""
    open: MutableSequence[LinkId] | tuple[()] = ()
    """A list of its own only while there are such links, as is `waiting`: hosts have no end."""
    in_flight: int = 0
    free_at: float = -np.inf
    waiting: list[LinkId] | tuple[()] = ()
    """Links that are due for another request, but the host was busy."""
    ready: ReadyList | None = None
    """The list that it is in while it is free and has open links."""
    trust: int = 0
    misses: int = 0
    """See `spoor.frontier.slow_hosts`."""

    def wait(self, link: LinkId) -> None:
        """A link waits for the host."""
        if isinstance(self.waiting, tuple):
            self.waiting = []
        self.waiting.append(link)


class HostsOf(Protocol):
    """The host of each link."""

    def append(self, host: Host, /) -> None: ...
    def __getitem__(self, link: LinkId, /) -> Host: ...
    def __setitem__(self, link: LinkId, host: Host, /) -> None: ...


class ReadyHosts:
    """The hosts that are free and have open links. Those that may not answer are offered only while
    `slow` allows a request to such a host."""

    __slots__ = ("_slow", "proven", "unproven")

    def __init__(self, slow: SlowHosts) -> None:
        self._slow = slow
        self.proven = ReadyList()
        self.unproven = ReadyList()
        """Hosts that may not answer."""

    def add(self, host: Host) -> None:
        """List a host that is free and has open links."""
        host.ready = self.proven if self._slow.proven(host) else self.unproven
        host.ready.hosts[host.name] = None
        host.ready.links += len(host.open)

    def remove(self, host: Host) -> None:
        """Take a host from its list, if it is in one."""
        if host.ready is not None:
            del host.ready.hosts[host.name]
            host.ready.links -= len(host.open)
            host.ready = None

    def restore(
        self, hosts: Mapping[str, Host], proven: Iterable[str], unproven: Iterable[str]
    ) -> None:
        """List saved names of hosts, in this order."""
        for ready, names in ((self.proven, proven), (self.unproven, unproven)):
            for name in names:
                host = hosts[name]
                host.ready = ready
                ready.hosts[name] = None
                ready.links += len(host.open)

    @property
    def links(self) -> int:
        """Open links of the hosts on offer."""
        unproven = self.unproven.links
        return self.proven.links + (unproven if unproven and self._slow.open else 0)

    def offers(self, host: Host) -> bool:
        """Whether this host is on offer."""
        ready = host.ready
        return ready is self.proven or (ready is self.unproven and self._slow.open)

    def names(self) -> Collection[str]:
        """The hosts on offer; membership in O(1)."""
        proven, unproven = self.proven.hosts, self.unproven.hosts
        if not unproven or not self._slow.open:
            return proven.keys()
        return _Both(proven, unproven) if proven else unproven.keys()


class _Both(Collection[str]):
    """The hosts of two lists that have none in common."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: dict[str, None], second: dict[str, None]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def __iter__(self) -> Iterator[str]:
        yield from self._first
        yield from self._second

    def __contains__(self, host: object) -> bool:
        return host in self._first or host in self._second
