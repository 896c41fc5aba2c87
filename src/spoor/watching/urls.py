"""The URLs that a fleet has seen: their numbers, the links between them, and what leaves.

URLs are numbers here, from 0 in the order of discovery; in a watch one that leaves
(`spoor.watching.compaction`) gives its number to the next that comes.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import forget
from spoor.hashing import hash64
from spoor.watching.compaction import Compaction
from spoor.watching.links_of_pages import LinksOfPages
from spoor.watching.redirects import Redirects
from spoor.watching.retired_documents import Memory
from spoor.web.url_groups import shape
from spoor.web.urls import host, registrable_domain

MOST_PATH = 30
"""URLs of a path."""

NEVER = -math.inf
"""The date of what is not known to be new."""


class Urls:
    """A table of URLs."""

    def __init__(self, *, watched: bool) -> None:
        self.watched = watched
        self.urls: list[str] = []
        """Empty where a number is free."""
        self.hosts: list[str] = []
        """Of each URL."""
        self.fetched = array("d")
        """When it was downloaded last, or could not be."""
        self.active = array("d")
        """When anything about it was last new: its URL, its content, its links, what it brought."""
        self.parent = array("i")
        """The page on which each URL was seen first; -1 for seeds."""
        self.redirects = Redirects()
        self.cited = array("i")
        """Pages that link to each URL, itself left out, by their last downloads; in a watch."""
        self.introduced = array("i")
        """URLs that were learned from each page at its first look."""
        self.brought = array("i")
        """URLs that appeared on each page after its first look."""
        self.clicks = array("i")
        """Links from a seed to each URL, over the pages on which they were seen first."""
        self.depth = array("i")
        """Parts of the path of each URL."""
        self.shape = array("Q")
        """64 bits of the host and the shape (`spoor.web.url_groups.shape`) of each URL, in a
        watch."""
        self.waiting: dict[str, int] = {}
        """Host → its URLs that were never asked for, in a watch, but for those of strangers."""
        self.strangers: dict[int, str] = {}
        """URL that was never asked for, and to which only another registrable domain than its own
        linked, of which the user named a page → that domain."""
        self.of_strangers: Counter[tuple[str, str]] = Counter()
        """(registrable domain, stranger) → how many of these there are."""
        self._named: set[str] = set()
        """Registrable domains of which the user named a page."""
        self.left = Memory()
        """URLs that were left by a compaction."""
        self.told_before: set[int] = set()
        """Of those that came back, what was told before: it is never new again."""
        self.entered: list[tuple[int, float]] | None = None
        """URLs that are new, and when one that comes back had left, for whom it concerns: who asks
        begins and empties it."""
        self._born = array("d")
        """When each URL appeared on a known page; NEVER where it stood there at the first look."""
        self._links = LinksOfPages()
        """By the last download of each page."""
        self._free: list[int] = []
        """Numbers of URLs that left."""
        self._compaction: Compaction | None = None
        """The one that is under way."""
        self._numbers: dict[str, int] = {}
        self._of_host = Counter[str]()
        """Host → its URLs."""
        self._host_names: dict[str, int] = {}
        self._host_numbers: list[int] = []
        self.hosts_left: list[str] = []
        """Hosts of which no URL is known any more since the last call of `leave`."""

    def __len__(self) -> int:
        """URLs that are known whole."""
        return len(self._numbers)

    def find(self, url: str) -> int | None:
        """The number of a URL that is known."""
        return self._numbers.get(url)

    def _kept(self, url: str) -> int | None:
        """The same, of one to which something new leads: it does not leave now."""
        number = self._numbers.get(url)
        if number is not None and self._compaction is not None:
            self._compaction.keep(self, number)
        return number

    def names(self) -> list[str]:
        """The hosts of all URLs, each once."""
        return list(self._of_host)

    def number(self, url: str, born: float = NEVER, parent: int = -1, now: float = NEVER) -> int:
        """The number of a URL, new ones entered. One that a compaction left is no new one: it was
        asked for then, and says nothing of its age."""
        number = self._kept(url)
        if number is None:
            number = self._numbers[url] = self._place()
            before = self.left.find(hash64(url)) if len(self.left) else None
            if before is not None:
                born = NEVER
                self.fetched[number] = before.at
                if before.told:
                    self.told_before.add(number)
            self.urls[number], self.hosts[number] = url, sys.intern(host(url))
            self._of_host[self.hosts[number]] += 1
            self.active[number], self.parent[number] = now, parent
            self.depth[number], self._born[number] = _depth(url), born
            self._brought(parent, born, 1)
            if self.watched:
                self.shape[number] = hash64(shape(url))
            self.clicks[number] = 0 if parent < 0 else self.clicks[parent] + 1
            if self.watched and parent < 0:
                self._named.add(registrable_domain(self.hosts[number]))
            if self.watched and before is None:
                self._waits(number, self.stranger(parent, self.hosts[number]))
            if self.entered is not None:
                self.entered.append((number, NEVER if before is None else before.at))
            if number < len(self._host_numbers):
                self._host_numbers[number] = self._host_number(self.hosts[number])
        return number

    def stranger(self, page: int, name: str) -> str:
        """The registrable domain of a page that links to a host, where it is not that of the host,
        and the user named a page of the host's; else nothing."""
        domain = registrable_domain(name)
        if page < 0 or domain not in self._named:
            return ""
        by = registrable_domain(self.hosts[page])
        return "" if by == domain else by

    def guessed(self, url: int) -> bool:
        """Whether only strangers linked to a URL."""
        return bool(self.stranger(self.parent[url], self.hosts[url]))

    def _waits(self, url: int, stranger: str) -> None:
        """A URL waits to be asked for."""
        name = self.hosts[url]
        if stranger:
            self.strangers[url] = stranger
            self.of_strangers[registrable_domain(name), stranger] += 1
        else:
            self.waiting[name] = self.waiting.get(name, 0) + 1

    def _waits_no_more(self, url: int) -> None:
        name = self.hosts[url]
        if stranger := self.strangers.pop(url, ""):
            self.of_strangers[registrable_domain(name), stranger] -= 1
        else:
            self.waiting[name] -= 1

    def _place(self) -> int:
        """A number that is free, with nothing under it."""
        if self._free:
            number = self._free.pop()
        else:
            number = len(self.urls)
            for column, nothing in self._columns():
                column.append(nothing)
        if self._compaction is not None:
            self._compaction.enter(number)
        return number

    def _columns(self) -> tuple[tuple[list[str] | array[Any], Any], ...]:
        """What is kept by the number of a URL, and what a new one begins with."""
        return (
            (self.urls, ""),
            (self.hosts, ""),
            (self.fetched, NEVER),
            (self.active, NEVER),
            (self.parent, -1),
            (self.cited, 0),
            (self.clicks, 0),
            (self.depth, 0),
            (self.shape, 0),
            (self.brought, 0),
            (self.introduced, 0),
            (self._born, NEVER),
        )

    def moved(self, url: int, location: str, now: float) -> int:
        """The number of the URL to which one redirects: where it is new, the link to the one is
        taken for its own, which pays the page on which it stood."""
        return self.number(location, self._born[url], self.parent[url], now)

    def links_before(self, url: int) -> list[int]:
        """Numbers of the links that it had at the last download."""
        return self._links.of(url)

    def path(self, url: int) -> list[int]:
        """From a start to a URL, over the pages on which each was seen first; of a long path its
        last `MOST_PATH`."""
        path = [url]
        while (parent := self.parent[path[-1]]) not in (-1, path[-1]) and len(path) < MOST_PATH:
            path.append(parent)
        return path[::-1]

    def born(self, urls: NDArray[np.int64]) -> NDArray[np.float64]:
        """When each URL appeared on a known page; NEVER where it stood there at the first look."""
        return np.frombuffer(self._born)[urls] if len(urls) else np.zeros(0)

    def born_at(self, url: int) -> float:
        """The same of one."""
        return self._born[url]

    def came(self, url: int) -> bool:
        """Whether a link to it appeared on a page that was known."""
        return self._born[url] > NEVER

    def appeared(self, url: int) -> bool:
        """Whether it was never asked for, and a link to it appeared on a page that was known."""
        return self.fetched[url] == NEVER and self.came(url)

    def host_numbers(self, urls: Sequence[int] | None = None) -> NDArray[np.int64]:
        """A number of the host of each URL, or of each of these."""
        numbers = self._host_numbers
        numbers += map(self._host_number, self.hosts[len(numbers) :])
        its = numbers if urls is None else [numbers[url] for url in urls]
        return np.array(its, dtype=np.int64)

    def _host_number(self, name: str) -> int:
        return self._host_names.setdefault(name, len(self._host_names))

    def numbers_of_hosts(self, names: Iterable[str]) -> list[int]:
        """Numbers of hosts."""
        return list(map(self._host_number, names))

    def counted_hosts(self) -> Mapping[str, int]:
        """Host → its URLs."""
        return self._of_host

    def numbered_hosts(self) -> list[str]:
        """Hosts by these numbers."""
        return list(self._host_names)

    def free(self) -> list[int]:
        """Numbers without a URL."""
        return self._free

    # -- what leaves

    def forget_links(self, url: int, stays: Sequence[int]) -> int:
        """Of the links of a page, those to what does not stay; how many it had."""
        links = self._links.of(url)
        if not all(map(stays.__getitem__, links)):
            for link in links:
                self.cited[link] -= not stays[link]
            self._links.keep(url, [link for link in links if stays[link]])
        return len(links)

    def leave(self, left: Sequence[int], told: Container[int], now: float) -> None:
        """Keep 64 bits of each of these URLs. `told`: what is never to be told as new again."""
        self.left.add(
            [hash64(self.urls[url]) for url in left],
            [url in told or url in self.told_before for url in left],
            now,
        )
        gone, columns = set(left), self._columns()
        hosts = dict.fromkeys(self.hosts[url] for url in left)
        for url in left:
            del self._numbers[self.urls[url]]
            self._of_host[self.hosts[url]] -= 1
            if self.fetched[url] == NEVER:
                self._waits_no_more(url)
            self._cite(self.links_before(url), -1)
            self._links.forget(url)
            self._brought(self.parent[url], self._born[url], -1)
        for url in left:
            for column, nothing in columns:
                column[url] = nothing
        self.redirects.leave(gone)
        self._of_host = +self._of_host
        self.hosts_left = [name for name in hosts if name not in self._of_host]
        if self.hosts_left:
            forget(self.hosts_left, self.waiting)
            self._host_names, self._host_numbers = {}, []  # which are counted when they are asked
        self.told_before -= gone
        self._free += left
        # A page of which the parent has left pays itself.
        orphans = np.isin(np.array(self.parent), left).nonzero()[0].tolist()
        for url in orphans:
            self.parent[url] = url
            self._brought(url, self._born[url], 1)

    def _brought(self, parent: int, born: float, count: int) -> None:
        if parent >= 0:
            (self.brought if born > NEVER else self.introduced)[parent] += count

    def _count_links(self) -> None:
        self._of_host = Counter(filter(None, self.hosts))
        nothing = array("i", [0]) * len(self.urls)
        self.depth = array("i", map(_depth, self.urls))
        shapes = (hash64(shape(url)) if url and self.watched else 0 for url in self.urls)
        self.shape = array("Q", shapes)
        self.brought, self.introduced = nothing[:], nothing[:]
        for born, parent in zip(self._born, self.parent, strict=True):
            self._brought(parent, born, 1)
        self.cited = nothing
        for links in self._links.all() if self.watched else ():
            self._cite(links)

    def _cite(self, links: Iterable[int], by: int = 1) -> None:
        """Take the links of a page into the counts of URLs."""
        for link in links:
            self.cited[link] += by

    def _count_waiting(self) -> None:
        seeds = (name for name, at in zip(self.hosts, self.parent, strict=True) if name and at < 0)
        self._named = set(map(registrable_domain, seeds))
        self.waiting, self.of_strangers = dict.fromkeys(filter(None, self.hosts), 0), Counter()
        for url, (name, at) in enumerate(zip(self.hosts, self.fetched, strict=True)):
            if name and at == NEVER:
                self._waits(url, self.strangers.get(url, ""))


def _depth(url: str) -> int:
    """Parts of the path of a URL; a query is one more."""
    return url.rstrip("/").count("/") + ("?" in url)
