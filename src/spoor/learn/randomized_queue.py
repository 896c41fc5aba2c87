"""Bags of links, for policies that take any link of a group, each as likely as the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spoor.protocols import Offer
from spoor.types import LinkId


class RandomizedQueue:
    """Links by host. Adding and removing take O(1), drawing O(hosts of the bag)."""

    __slots__ = ("_by_host", "_place")

    def __init__(self) -> None:
        self._by_host: dict[str, list[LinkId]] = {}
        self._place: dict[LinkId, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self._place)

    def __iter__(self) -> Iterator[tuple[LinkId, str]]:
        """(link, host), in an order that `save` keeps."""
        return ((link, host) for host, links in self._by_host.items() for link in links)

    def add(self, link: LinkId, host: str) -> None:
        """Enter a link that is not in the bag."""
        links = self._by_host.setdefault(host, [])
        self._place[link] = (host, len(links))
        links.append(link)

    def discard(self, link: LinkId) -> None:
        """Forget a link; nothing happens if it is not in the bag."""
        if link not in self._place:
            return
        host, place = self._place.pop(link)
        links = self._by_host[host]
        last = links.pop()
        if last != link:
            links[place] = last
            self._place[last] = (host, place)
        if not links:
            del self._by_host[host]

    def draw(self, offer: Offer, rng: np.random.Generator) -> LinkId | None:
        """Any link that is on offer, uniformly, which stays in the bag; None if there is none."""
        free = offer.hosts()
        while True:
            lists = [links for host, links in self._by_host.items() if host in free]
            total = sum(map(len, lists))
            if not total:
                return None
            drawn = int(rng.integers(total))
            for links in lists:
                if drawn < len(links):
                    break
                drawn -= len(links)
            link = links[drawn]
            if link in offer:
                return link
            self.discard(link)  # gone: another link was redirected to it

    def save(self) -> list[Any]:
        """[[host, links]…]"""
        return [[host, list(links)] for host, links in self._by_host.items()]

    @classmethod
    def load(cls, state: list[Any]) -> RandomizedQueue:
        """The bag that `save` was called on."""
        bag = cls()
        for host, links in state:
            for link in links:
                bag.add(link, host)
        return bag
