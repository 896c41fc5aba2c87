"""Priority queues of links, for policies whose hosts are not always free."""

from __future__ import annotations

import heapq
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.learn.known_links import checked_links
from spoor.protocols import Offer
from spoor.types import LinkId, State

Links = NDArray[np.int32] | NDArray[np.int64]
Entry = int
"""Key of the value · 2^32 + link: the smallest is the best; a tie goes to the link discovered
first. One integer takes 48 bytes, a tuple (−value, link, host) with what is in it 120."""

_NUMBERS = (int, np.integer)
_NONE = int(np.iinfo(np.int64).max)
"""Key of a link that does not wait."""
_LINK = (1 << 32) - 1
_SIGN = (1 << 63) - 1
_FLOAT, _INTEGER = struct.Struct("<d"), struct.Struct("<q")


def _key(value: float) -> int:
    """64 bits of a number in reverse order: the larger the value, the smaller the key.

    The bits of a float, read as an integer, have its order; those of negative ones the reverse.
    """
    bits: int = _INTEGER.unpack(_FLOAT.pack(value + 0.0))[0]  # −0 is 0
    return ~bits if bits >= 0 else ~(bits ^ _SIGN)


def _value(key: int) -> float:
    """The number whose key this is."""
    bits = ~key if key < 0 else ~key ^ _SIGN
    value: float = _FLOAT.unpack(_INTEGER.pack(bits))[0]
    return value


def _keys(values: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """The same of many."""
    bits = np.add(values, 0.0, dtype=np.float64).view(np.int64)
    keys: NDArray[np.int64] = ~np.where(bits >= 0, bits, bits ^ _SIGN)
    return keys


def _values(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The numbers whose keys these are."""
    bits = ~keys
    return np.where(bits >= 0, bits, bits ^ _SIGN).view(np.float64)


class PriorityQueue:
    """Links by value, highest first, in one heap a host and one heap of hosts.

    A host that is busy is set aside until it is free again, so `pop` costs O(log links) for each
    host that became busy since the last `pop`, not O(hosts). A value that changes is pushed again;
    its old entry is dropped when it reaches the top. Memory: 12 bytes a link known, by its number,
    which is below 2^32, and 60 to 120 bytes a link that waits.
    """

    __slots__ = (
        "_aside",
        "_best",
        "_count",
        "_free",
        "_heaps",
        "_host",
        "_keys",
        "_names",
        "_number",
        "_stale",
        "_tops",
        "_waiting",
    )

    def __init__(self) -> None:
        self._keys = np.full(1024, _NONE)
        """By the number of the link: an entry with another key is stale."""
        self._host = array("i", bytes(4 * 1024))
        """By the number of the link: the number of its host; 0 for one that does not wait."""
        self._names, self._number = [""], {"": 0}
        """By the number of the host; that of a host of which no link waits is given to another."""
        self._waiting = array("i", [0])
        """By the number of the host: links of it that wait."""
        self._free: list[int] = []
        """Numbers that no host has, the lowest first."""
        self._count = 0
        self._heaps: dict[str, list[Entry]] = {}
        self._tops: list[tuple[Entry, str]] = []
        """With their hosts."""
        # The entry of `_tops` that speaks for a host; any other of that host is void.
        self._best: dict[str, Entry] = {}
        self._aside: dict[str, None] = {}
        self._stale = 0
        """Stale entries of all heaps."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, link: object) -> bool:
        if not isinstance(link, _NUMBERS) or not 0 <= link < len(self._host):
            return False
        key: int = self._keys.item(link)
        return key != _NONE

    def __iter__(self) -> Iterator[LinkId]:
        return iter(np.flatnonzero(self._keys != _NONE).tolist())

    def among(self, links: Links) -> NDArray[np.bool_]:
        """Which of these links wait."""
        # A number beyond all that were entered is cut to the last, which is of no link.
        waits: NDArray[np.bool_] = self._keys.take(links, mode="clip") != _NONE
        return waits

    def value(self, link: LinkId) -> float:
        """The value under which the link waits; KeyError if it does not."""
        if link not in self:
            raise KeyError(link)
        return _value(self._keys.item(link))

    def host(self, link: LinkId) -> str:
        """Its host; KeyError if the link does not wait."""
        if link not in self:
            raise KeyError(link)
        return self._names[self._host[link]]

    def push(self, link: LinkId, host: str, value: float) -> None:
        """Enter a link, or change its value."""
        if link >= len(self._host) - 1:
            self._grow(link + 2)
        key, old = _key(value), self._keys.item(link)
        if key != old:
            self._set(link, host, key, old)

    def push_if_higher(self, link: LinkId, host: str, value: float) -> None:
        """Enter a link, or raise its value; one that waits with a higher value keeps it."""
        if link >= len(self._host) - 1:
            self._grow(link + 2)
        key, old = _key(value), self._keys.item(link)
        if key < old:
            self._set(link, host, key, old)

    def _set(self, link: LinkId, host: str, key: int, old: int) -> None:
        """Enter a link under another key than its old one."""
        self._keys[link] = key
        self._belongs(link, self._numbered(host))
        heap, entry = self._heaps.get(host), key << 32 | link
        if heap is None:
            heap = self._heaps[host] = []
        heapq.heappush(heap, entry)
        if heap[0] == entry and host not in self._aside:
            self._raise(host)
        if old == _NONE:
            self._count += 1
        else:
            self._leave_stale()

    def push_all(
        self, links: Sequence[LinkId], hosts: Sequence[str], values: NDArray[np.floating[Any]]
    ) -> None:
        """The same of many links, each once."""
        if max(links) >= len(self._host) - 1:
            self._grow(max(links) + 2)
        for link, host in zip(links, hosts, strict=True):
            self._belongs(link, self._numbered(host))
        numbers, keys = np.array(links), _keys(values)
        old = self._keys[numbers]
        new, moved = old == _NONE, np.flatnonzero(old != keys)
        self._keys[numbers] = keys
        self._enter(numbers[moved].tolist(), keys[moved].tolist())
        entered = int(np.count_nonzero(new))
        self._count += entered
        self._leave_stale(len(moved) - entered)

    def change(self, links: Links, values: NDArray[np.floating[Any]]) -> None:
        """Change the values of links that wait, each once, as `push` does; most stay."""
        keys = _keys(values)
        moved = np.flatnonzero(self._keys[links] != keys)
        links, keys = links[moved], keys[moved]
        self._keys[links] = keys
        self._enter(links.tolist(), keys.tolist())
        self._leave_stale(len(moved))

    def _grow(self, least: int) -> None:
        """Room for so many links, and as many again as there was."""
        room = max(least - len(self._host), len(self._host))
        self._keys = np.concatenate([self._keys, np.full(room, _NONE)])
        self._host.frombytes(bytes(4 * room))

    def _numbered(self, host: str) -> int:
        """The number of a host, which it keeps as long as a link of it waits."""
        number = self._number.get(host)
        if number is None:
            if self._free:
                number = heapq.heappop(self._free)
                self._names[number] = host
            else:
                number = len(self._names)
                self._names.append(host)
                self._waiting.append(0)
            self._number[host] = number
        return number

    def _belongs(self, link: LinkId, number: int) -> None:
        """A link waits for the host with this number, or, for 0, for none."""
        before = self._host[link]
        if before == number:
            return
        self._host[link] = number
        if number:
            self._waiting[number] += 1
        if before:
            self._waiting[before] -= 1
            if not self._waiting[before]:
                del self._number[self._names[before]]
                self._names[before] = ""
                heapq.heappush(self._free, before)
                if len(self._free) > max(64, len(self._number)):
                    self._renumber()

    def _renumber(self) -> None:
        """Give the hosts that are left the lowest numbers, in their order."""
        kept = [at for at, host in enumerate(self._names) if host or not at]
        new = np.zeros(len(self._names), np.int32)
        new[kept] = np.arange(len(kept))
        self._host = array("i", new[np.array(self._host)].tobytes())
        self._waiting = array("i", [self._waiting[at] for at in kept])
        self._names = [self._names[at] for at in kept]
        self._number = {host: at for at, host in enumerate(self._names)}
        self._free = []

    def _enter(self, links: Sequence[LinkId], keys: Sequence[int]) -> None:
        """New entries of these links, whose keys and hosts are set; the lines of `push`, which is
        called for most links of most policies and saves a call here."""
        heaps, of, aside, push = self._heaps, self._host, self._aside, heapq.heappush
        names = self._names
        for link, key in zip(links, keys, strict=True):
            host, entry = names[of[link]], key << 32 | link
            heap = heaps.get(host)
            if heap is None:
                heap = heaps[host] = []
            push(heap, entry)
            if heap[0] == entry and host not in aside:
                self._raise(host)

    def discard(self, link: LinkId) -> None:
        """Forget a link; nothing happens if it does not wait."""
        if link < len(self._host) and self._keys.item(link) != _NONE:
            self._keys[link] = _NONE
            self._belongs(link, 0)
            self._count -= 1
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
                self._raise(host)
        while self._tops:
            entry, host = self._tops[0]
            link = entry & _LINK
            if self._best.get(host) != entry:
                heapq.heappop(self._tops)
            elif not self._holds(entry, host):
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
                return link, _value(entry >> 32)
        raise LookupError("no link on offer waits in this queue")

    def best(self, host: str, offer: Offer) -> tuple[LinkId, float]:
        """The best link on offer of one host and its value, for policies that choose the host
        themselves. Raises LookupError if none of it waits here."""
        while heap := self._heaps.get(host):
            link = heap[0] & _LINK
            if not self._holds(heap[0], host):
                heapq.heappop(heap)
                self._stale -= 1
                if not heap:
                    del self._heaps[host]
            elif link not in offer:
                self.discard(link)
            else:
                return link, _value(heap[0] >> 32)
        raise LookupError(f"no link of {host} on offer waits in this queue")

    def _holds(self, entry: Entry, host: str) -> bool:
        link = entry & _LINK
        return self._keys.item(link) == entry >> 32 and self._names[self._host[link]] == host

    def _raise(self, host: str) -> None:
        """Enter the host's best link in the heap of hosts; stale entries are dropped."""
        heap = self._heaps.get(host)
        if heap is None:
            return
        while heap and not self._holds(heap[0], host):
            heapq.heappop(heap)
            self._stale -= 1
        if not heap:
            del self._heaps[host]
        elif self._best.get(host) != heap[0]:
            self._best[host] = heap[0]
            heapq.heappush(self._tops, (heap[0], host))

    def _leave_stale(self, entries: int = 1) -> None:
        """So many more entries are stale; when most are, all stale ones are removed."""
        self._stale += entries
        if self._stale > 64 and self._stale > self._count:
            self._compact()

    def _compact(self) -> None:
        """Rebuild all heaps from the current values."""
        self._heaps = {}
        for link in self:
            entry = self._keys.item(link) << 32 | link
            self._heaps.setdefault(self.host(link), []).append(entry)
        for heap in self._heaps.values():
            heapq.heapify(heap)
        self._aside = {host: None for host in self._aside if host in self._heaps}
        self._best = {
            host: heap[0] for host, heap in self._heaps.items() if host not in self._aside
        }
        self._tops = [(entry, host) for host, entry in self._best.items()]
        heapq.heapify(self._tops)
        self._stale = 0

    def save(self) -> State:
        """The links in order; heaps are rebuilt on load, which changes no answer, since
        (value, link) orders them totally."""
        links = np.flatnonzero(self._keys != _NONE)
        return {
            "links": links.astype(np.uint32),
            "values": _values(self._keys[links]),
            "host": np.array(self._host, np.int32)[links],
            "hosts": list(self._names),
        }

    def load(self, state: State) -> None:
        """Go on from a state of `save`."""
        links, hosts = checked_links(state["links"]), state["hosts"]
        self.__init__()  # type: ignore[misc]
        self._grow(int(links.max(initial=0)) + 2)
        self._keys[links] = _keys(state["values"])
        self._names, of = list(hosts), np.asarray(state["host"], np.int32)
        self._number = {host: at for at, host in enumerate(self._names) if host or not at}
        self._free = [at for at, host in enumerate(self._names) if at and not host]
        self._waiting = array("i", np.bincount(of, minlength=len(self._names)).astype(np.int32))
        self._waiting[0] = 0
        for link, number in zip(links.tolist(), of.tolist(), strict=True):
            self._host[link] = number
        self._count = len(links)
        self._compact()
