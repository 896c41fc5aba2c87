"""The hosts of a frontier: their clocks, and which of them are free and have open links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass, field
from itertools import chain
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

    __slots__ = ("_slow", "late", "proven", "unproven")

    def __init__(self, slow: SlowHosts) -> None:
        self._slow = slow
        self.proven = ReadyList()
        self.unproven = ReadyList()
        """Hosts that may not answer, and were never late."""
        self.late = ReadyList()
        """Hosts that were, and may not answer again."""

    def add(self, host: Host) -> None:
        """List a host that is free and has open links."""
        host.ready = self._list_of(host)
        host.ready.hosts[host.name] = None
        host.ready.links += len(host.open)

    def _list_of(self, host: Host) -> ReadyList:
        if self._slow.proven(host):
            return self.proven
        return self.late if host.misses else self.unproven

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
        for names in (proven, unproven):
            for name in names:
                self.add(hosts[name])

    @property
    def may_not_answer(self) -> list[str]:
        """The names of the hosts that may not answer, for `restore`."""
        return [*self.unproven.hosts, *self.late.hosts]

    def may_ask(self, host: Host) -> bool:
        """Whether a request to this host may begin now."""
        return self.open(self._list_of(host))

    def open(self, ready: ReadyList) -> bool:
        """Whether requests to hosts of such a list may begin now."""
        if ready is self.late and self.unproven.hosts:
            return self._slow.open_to_late
        return ready is self.proven or self._slow.open

    @property
    def _open_lists(self) -> list[ReadyList]:
        lists = (self.proven, self.unproven, self.late)
        return [one for one in lists if one.hosts and self.open(one)]

    @property
    def links(self) -> int:
        """Open links of the hosts on offer."""
        return sum(one.links for one in self._open_lists)

    def offers(self, host: Host) -> bool:
        """Whether this host is on offer."""
        return host.ready is not None and self.open(host.ready)

    def names(self) -> Collection[str]:
        """The hosts on offer; membership in O(1)."""
        lists = [one.hosts for one in self._open_lists]
        return lists[0].keys() if len(lists) == 1 else _Joined(lists)


class _Joined(Collection[str]):
    """The hosts of lists that have none in common."""

    __slots__ = ("_lists",)

    def __init__(self, lists: list[dict[str, None]]) -> None:
        self._lists = lists

    def __len__(self) -> int:
        return sum(map(len, self._lists))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._lists)

    def __contains__(self, host: object) -> bool:
        for one in self._lists:  # noqa: SIM110 (asked for each host of a policy's queue)
            if host in one:
                return True
        return False
