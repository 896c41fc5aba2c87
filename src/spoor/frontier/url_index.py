"""Indexes of the frontier on disk that are in memory: hash of a URL → link, link → host."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.frontier.hosts import Host
from spoor.types import LinkId

_SEGMENTS = 12
"""Bits of a hash that name its segment."""


_NO_PRINTS, _NO_LINKS = array("Q"), array("i")


class UrlIndex:
    """Hash of a URL → link: 12 bytes each, sorted, in segments that are short for fast inserts."""

    __slots__ = ("_links", "_prints")

    def __init__(self) -> None:
        # Most segments of a small frontier are empty, and one array that is never written to.
        self._prints = [_NO_PRINTS] * (1 << _SEGMENTS)
        self._links = [_NO_LINKS] * (1 << _SEGMENTS)

    def get(self, key: int) -> LinkId:
        """The link; −1 for an unknown hash."""
        segment = key >> 64 - _SEGMENTS
        prints = self._prints[segment]
        index = bisect_left(prints, key)
        return self._links[segment][index] if index < len(prints) and prints[index] == key else -1

    def put(self, key: int, link: LinkId) -> None:
        segment = key >> 64 - _SEGMENTS
        prints, links = self._prints[segment], self._links[segment]
        index = bisect_left(prints, key)
        if index < len(prints) and prints[index] == key:
            links[index] = link
        elif not prints:
            self._prints[segment], self._links[segment] = array("Q", [key]), array("i", [link])
        else:
            prints.insert(index, key)
            links.insert(index, link)

    @classmethod
    def of(cls, prints: NDArray[np.uint64]) -> UrlIndex:
        """The index of all links, from their hashes in the order of their numbers."""
        made = cls()
        tops = prints.astype("<u8", copy=False).view(np.uint8)[7::8] >> 4
        # In 16 parts, since sorting all at once takes more memory.
        for part in range(16):
            links = np.flatnonzero(tops == part).astype(np.int32)
            own = prints[links]
            order = np.argsort(own)
            links, own = links[order], own[order]
            per = 1 << _SEGMENTS - 4
            edges = np.searchsorted(
                own >> np.uint64(64 - _SEGMENTS), np.arange(part * per, (part + 1) * per + 1)
            ).tolist()
            for segment in range(per):
                start, end = edges[segment], edges[segment + 1]
                if start == end:
                    continue
                made._prints[part * per + segment] = array("Q", own[start:end].tobytes())
                made._links[part * per + segment] = array("i", links[start:end].tobytes())
        return made


class HostNumbers:
    """The host of each link, by its number."""

    __slots__ = ("_hosts", "numbers")

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = hosts
        self.numbers = array("i")

    def append(self, host: Host) -> None:
        self.numbers.append(host.number)

    def __getitem__(self, link: LinkId) -> Host:
        return self._hosts[self.numbers[link]]

    def __setitem__(self, link: LinkId, host: Host) -> None:
        self.numbers[link] = host.number
