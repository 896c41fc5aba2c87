"""Priority queues of links, for policies whose hosts are not always free."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spoor.protocols import Offer
from spoor.types import LinkId, State

Entry = tuple[float, LinkId, str]
"""(−value, link, host): the smallest is the best; a tie goes to the link discovered first."""


class HostQueue:
    """Links by value, highest first, in one heap a host and one heap of hosts.

    A host that is busy is set aside until it is free again, so `pop` costs O(log links) for each
    host that became busy since it was last looked at, not O(hosts). A value that changes is pushed
    anew; the old entry is dropped when it comes up. Memory: 160 to 280 bytes a link.
    """

    __slots__ = ("_aside", "_best", "_heaps", "_stale", "_tops", "_values", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[LinkId, Entry] = {}
        """The one entry of each link that holds; any other is stale."""
        self._values = np.full(1024, np.nan)
        """The same value by the number of the link, NaN of those that do not wait: to look at many
        at once, where each look at a large dictionary would wait for memory."""
        self._heaps: dict[str, list[Entry]] = {}
        self._tops: list[Entry] = []
        # The entry of `_tops` that speaks for a host; any other of that host is void.
        self._best: dict[str, Entry] = {}
        self._aside: dict[str, None] = {}
        self._stale = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, link: object) -> bool:
        return link in self._waiting

    def __iter__(self) -> Iterator[LinkId]:
        return iter(self._waiting)

    def among(self, links: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these links wait."""
        # A number beyond all that were entered is cut to the last, which is of no link.
        waits: NDArray[np.bool_] = ~np.isnan(self._values.take(links, mode="clip"))
        return waits

    def value(self, link: LinkId) -> float:
        """The value under which the link waits; KeyError if it does not."""
        return -self._waiting[link][0]

    def host(self, link: LinkId) -> str:
        """Its host; KeyError if the link does not wait."""
        return self._waiting[link][2]

    def push(self, link: LinkId, host: str, value: float) -> None:
        """Enter a link, or change its value."""
        old = self._waiting.get(link)
        if old is not None:
            if old[0] == -value:
                return
            self._leave_stale()
        elif link >= len(self._values) - 1:
            room = np.full(max(link + 2 - len(self._values), len(self._values)), np.nan)
            self._values = np.concatenate([self._values, room])
        self._values[link] = value
        entry = self._waiting[link] = (-value, link, host)
        heap = self._heaps.get(host)
        if heap is None:
            heap = self._heaps[host] = []
        heapq.heappush(heap, entry)
        if heap[0] is entry and host not in self._aside:
            self._raise(host)

    def change(self, links: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Change the values of links that wait, each once, as `push` does; most stay."""
        moved = np.flatnonzero(self._values[links] != values)
        links, values = links[moved], values[moved]
        self._values[links] = values
        waiting, heaps, aside = self._waiting, self._heaps, self._aside
        for link, value in zip(links.tolist(), values.tolist(), strict=True):
            host = waiting[link][2]
            entry = waiting[link] = (-value, link, host)
            heap = heaps[host]
            heapq.heappush(heap, entry)
            if heap[0] is entry and host not in aside:
                self._raise(host)
        self._leave_stale(len(moved))

    def discard(self, link: LinkId) -> None:
        """Forget a link; nothing happens if it does not wait."""
        if self._waiting.pop(link, None) is not None:
            self._values[link] = np.nan
            self._leave_stale()

    def pop(self, offer: Offer) -> tuple[LinkId, float]:
        """The best link on offer and its value, removed. Raises LookupError if none waits here."""
        link, value = self.peek(offer)
        self.discard(link)
        return link, value

    def peek(self, offer: Offer) -> tuple[LinkId, float]:
        """The best link on offer and its value. Raises LookupError if none waits here."""
        free = offer.hosts()
        if self._aside:
            for host in [host for host in self._aside if host in free]:
                del self._aside[host]
                if host in self._heaps:
                    self._raise(host)
        while self._tops:
            entry = self._tops[0]
            value, link, host = entry
            if self._best.get(host) is not entry:
                heapq.heappop(self._tops)
            elif self._waiting.get(link) is not entry:
                heapq.heappop(self._tops)
                del self._best[host]
                self._raise(host)
            elif host not in free:
                heapq.heappop(self._tops)
                del self._best[host]
                self._aside[host] = None
            elif link not in offer:
                # Gone without being chosen here: another link was redirected to it.
                self.discard(link)
            else:
                return link, -value
        raise LookupError("no link on offer waits in this queue")

    def best(self, host: str, offer: Offer) -> tuple[LinkId, float]:
        """The best link on offer of one host and its value, for policies that choose the host
        themselves. Raises LookupError if none of it waits here."""
        while heap := self._heaps.get(host):
            value, link, _ = entry = heap[0]
            if self._waiting.get(link) is not entry:
                heapq.heappop(heap)
                self._stale -= 1
            elif link not in offer:
                self.discard(link)
            else:
                return link, -value
        raise LookupError(f"no link of {host} on offer waits in this queue")

    def _raise(self, host: str) -> None:
        """Enter the host's best link among the hosts, dropping entries that hold no more."""
        heap = self._heaps[host]
        while heap and self._waiting.get(heap[0][1]) is not heap[0]:
            heapq.heappop(heap)
            self._stale -= 1
        if heap and self._best.get(host) is not heap[0]:
            self._best[host] = heap[0]
            heapq.heappush(self._tops, heap[0])

    def _leave_stale(self, entries: int = 1) -> None:
        """So many entries more hold no longer; when most do not, all are cleared away."""
        self._stale += entries
        if self._stale > 64 and self._stale > len(self._waiting):
            self._compact()

    def _compact(self) -> None:
        """Build all heaps anew from the values that hold."""
        self._heaps = {}
        for entry in self._waiting.values():
            self._heaps.setdefault(entry[2], []).append(entry)
        for heap in self._heaps.values():
            heapq.heapify(heap)
        self._best = {
            host: heap[0] for host, heap in self._heaps.items() if host not in self._aside
        }
        self._tops = list(self._best.values())
        heapq.heapify(self._tops)
        self._stale = 0

    def save(self) -> State:
        """The links in the order they were entered; heaps are built anew on load, which changes no
        answer, since (value, link) orders them totally."""
        hosts: dict[str, int] = {}
        entries = self._waiting.values()
        places = [hosts.setdefault(host, len(hosts)) for _, _, host in entries]
        return {
            "links": np.fromiter(self._waiting, dtype=np.int64, count=len(entries)),
            "values": np.array([-value for value, _, _ in entries], dtype=np.float64),
            "host": np.array(places, dtype=np.int32),
            "hosts": list(hosts),
        }

    def load(self, state: State) -> None:
        hosts = state["hosts"]
        rows = zip(
            state["links"].tolist(), state["values"].tolist(), state["host"].tolist(), strict=True
        )
        self._waiting = {link: (-value, link, hosts[at]) for link, value, at in rows}
        self._values = np.full(max(1024, max(self._waiting, default=0) + 2), np.nan)
        self._values[state["links"]] = state["values"]
        self._aside = {}
        self._compact()
