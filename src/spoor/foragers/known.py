"""What a fleet knows of every URL it has seen: its state, its date, its content's digest.

URLs are numbers here, from 0 in the order of discovery. The paper keeps states by forager; a fleet
on one computer shares them, and each forager reads what was downloaded last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.states import Describe
from spoor.types import Link, Page, State, urls_of
from spoor.web.urls import host

NEVER = -math.inf
"""The date of what is not known to be new."""

Admit = Callable[[Page, int], Sequence[Link]]


def digest(page: Page) -> int:
    """64 bits of a page's content; never 0. The same content has the same digest anywhere."""
    content = f"{page.title}\n{page.text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


class Known:
    """Every URL that a fleet has seen."""

    def __init__(self, describe: Describe, admit: Admit | None = None) -> None:
        self.urls: list[str] = []
        self.states: NDArray[np.float32] = np.zeros((1024, describe.size), dtype=np.float32)
        """Row by URL number: Algorithm 2's state(URL); zeros before its first download."""
        self.date: list[float] = []
        """Publication time of the content downloaded last; NEVER if unknown."""
        self.digests: list[int] = []
        """Of the content that was downloaded last; 0 before the first download."""
        self.version: list[int] = []
        """Contents so far; 0 before the first download."""
        self.fetched: list[float] = []
        """When it was downloaded last, or could not be."""
        self.hosts: list[str] = []
        self.alias: dict[int, int] = {}
        """URLs that redirected to another one, the last time they were asked for."""
        self._numbers: dict[str, int] = {}
        self._born: list[float] = []
        self._links: dict[int, tuple[int, int, list[int]]] = {}
        self._unsettled: set[int] = set()
        self._keys: list[tuple[int, int]] = []
        """Hashes of the last content in this process: a string keeps its own once made, so that a
        world's unchanged page costs no digest."""
        self._describe = describe
        self._admit = admit

    def number(self, url: str, born: float = NEVER) -> int:
        """The number of a URL, new ones entered."""
        number = self._numbers.get(url)
        if number is None:
            number = self._numbers[url] = len(self.urls)
            self.urls.append(url)
            self.hosts.append(host(url))
            self.date.append(NEVER)
            self.digests.append(0)
            self.version.append(0)
            self.fetched.append(NEVER)
            self._born.append(born)
            self._keys.append((0, 0))
            if number >= len(self.states):
                self.states = np.vstack([self.states, np.zeros_like(self.states)])
        return number

    def see(self, url: int, page: Page, now: float) -> bool:
        """Take in a download; True if its content is not that of the last one.

        The date is the page's own where it states one. Else it is the time of this download for a
        content that has changed, and for a first one the time at which its URL appeared on a page
        whose links were known before; NEVER for the rest: nothing says that they are new.
        """
        self.fetched[url] = now
        key = (hash(page.text), hash(page.title))
        if key == self._keys[url] and url not in self._unsettled:
            return False
        self._keys[url] = key
        content = digest(page)
        if content == self.digests[url]:
            if url in self._unsettled:
                self._store(url, page)
            return False
        first = not self.digests[url]
        self.digests[url] = content
        self.version[url] += 1
        if page.modified is not None:
            self.date[url] = page.modified
        else:
            self.date[url] = self._born[url] if first else now
        self._store(url, page)
        return True

    def _store(self, url: int, page: Page) -> None:
        """Algorithm 2: the classifier's outputs for a page, stored under its URL."""
        if self._describe.settled:
            self._unsettled.discard(url)
        else:
            self._unsettled.add(url)
        self.states[url] = self._describe(page)

    def admits(self, url: str) -> bool:
        """Whether a redirect may lead to a URL, as a link may."""
        return self._admit is None or bool(self._admit(Page(url, links=[Link(url)]), 0))

    def links(self, url: int, page: Page, now: float) -> list[int]:
        """Numbers of the pages that it links to, each once, in page order, itself left out."""
        content, count = self.digests[url], len(page.links)
        known = self._links.get(url)
        if known is not None and known[0] == content and known[1] == count:
            return known[2]
        born = NEVER if known is None else now
        admitted = page.links if self._admit is None else self._admit(page, 0)
        numbers = [self.number(target, born) for target in dict.fromkeys(urls_of(admitted))]
        links = [number for number in numbers if number != url]
        self._links[url] = (content, count, links)
        return links

    def save(self) -> State:
        count = len(self.urls)
        return {
            "urls": self.urls,
            "states": self.states[:count].copy(),
            "date": np.array(self.date, dtype=np.float64),
            "digests": np.array(self.digests, dtype=np.uint64),
            "version": np.array(self.version, dtype=np.int64),
            "fetched": np.array(self.fetched, dtype=np.float64),
            "born": np.array(self._born, dtype=np.float64),
            "links": self._save_links(),
            "alias": {str(url): target for url, target in self.alias.items()},
            "unsettled": sorted(self._unsettled),
            "describe": self._describe.save(),
        }

    def _save_links(self) -> dict[str, Any]:
        rows = list(self._links.values())
        return {
            "of": np.array(list(self._links), dtype=np.int64),
            "content": np.array([content for content, _, _ in rows], dtype=np.uint64),
            "seen": np.array([count for _, count, _ in rows], dtype=np.int64),
            "count": np.array([len(links) for _, _, links in rows], dtype=np.int64),
            "to": np.array([link for _, _, links in rows for link in links], dtype=np.int64),
        }

    def load(self, state: State) -> None:
        self._describe.load(state["describe"])
        self.urls = list(state["urls"])
        self.hosts = [host(url) for url in self.urls]
        self.alias = {int(url): target for url, target in state["alias"].items()}
        self._numbers = {url: number for number, url in enumerate(self.urls)}
        rows = np.array(state["states"], dtype=np.float32)
        spare = max(1024, 2 * len(rows)) - len(rows)
        self.states = np.vstack([rows, np.zeros((spare, rows.shape[1]), dtype=np.float32)])
        self.date = state["date"].tolist()
        self.digests = state["digests"].tolist()
        self.version = state["version"].tolist()
        self.fetched = state["fetched"].tolist()
        self._born = state["born"].tolist()
        self._keys = [(0, 0)] * len(self.urls)
        saved = state["links"]
        ends = np.cumsum(saved["count"])
        targets = [part.tolist() for part in np.split(saved["to"], ends[:-1])] if len(ends) else []
        entries = zip(saved["content"].tolist(), saved["seen"].tolist(), targets, strict=True)
        self._links = dict(zip(saved["of"].tolist(), entries, strict=True))
        self._unsettled = set(state["unsettled"])
