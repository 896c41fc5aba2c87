"""Traps: parts of the web without end and without new content. Pure: pages → verdicts on URLs.

Four signs, each cheap. (1) The URL itself: segments that repeat, more parameters than a page
needs. (2) Its session parameters, which are dropped, so that one page has one URL. (3) The pages of
its *group*, the URLs that differ in numbers, or in their file, or in their query only: where most
are near-duplicates of pages seen before, the group is closed (calendars, facets, soft 404s). (4)
Its source: links that only copies of one page have are skipped once there are many copies; and
a domain whose new hosts begin with copies gets no further new host (wildcard hosts).

Near-duplicates are found by MinHash (Broder 1997) of word triples, numbers and months masked, among
pages of the same domain and title. Every table is bounded; the oldest entries are dropped.
"""

from __future__ import annotations

import re
import zlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from spoor.types import Link, Page, State
from spoor.web.minhash import MinHasher, triples
from spoor.web.urls import canonical, host, registrable_domain

COPIES = 4
"""A group, a page or a domain is closed at so many near-duplicates, if they outnumber what is new
there by two to one."""

LIKE = 0.9
"""Pages with this share of their word triples in common (Jaccard) are near-duplicates."""

MAX_URL = 2_000
MAX_SEGMENTS = 20
MAX_PARAMETERS = 12
MAX_SAME_PARAMETER = 4
MAX_SAME_SEGMENT = 4

_MOST_FINGERPRINTS = 4_096
"""Pages that a new one is compared with."""
_REMEMBERED = 50_000
"""Groups, hosts and URLs with a record, at most so many each."""

_MEMO = 16_384
"""URLs whose verdict is cached: navigation repeats the same ones on every page."""

_HASHES = 32
_BANDS = 4
"""Two pages with 0.9 in common share one of 4 bands of 8 hashes with probability 0.9, two with 0.5
with 0.02; pages that share a band are compared in all hashes."""
_WORDS = 600
_CHARACTERS = 8 * _WORDS
_LINKS = 100

_NUMBER = re.compile(r"(?<![a-f\d])(?=[a-f]*\d)[a-f\d]{8,}|\d+", re.IGNORECASE)
"""Digits, and hexadecimal digits from 8 on. The search starts where a run begins, not at each
letter of it, which would take quadratic time."""
_MONTHS = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday mon tue wed thu fri sat sun #st #nd #rd #th""".split()
)
_REPEATED = re.compile(r"((?:/[^/]+)+?)\1\1(?=/|$)")


@lru_cache(maxsize=_MEMO)
def oddity(url: str) -> str:
    """What is odd in the URL's own look; empty where nothing is."""
    if len(url) > MAX_URL:
        return f"its URL is longer than {MAX_URL} characters"
    path, _, query = url.partition("://")[2].partition("?")
    segments = [part for part in path.split("/")[1:] if part]
    if len(segments) > MAX_SEGMENTS:
        return f"its path has more than {MAX_SEGMENTS} segments"
    if len(segments) >= 3:
        words = [part for part in segments if not part.isdigit()]
        if len(words) - len(set(words)) >= MAX_SAME_SEGMENT - 1:
            most = max(map(words.count, set(words)))
            if most >= MAX_SAME_SEGMENT:
                return f"a segment of its path stands there {most} times"
        if _REPEATED.search("/" + "/".join(words)):
            return "segments of its path repeat"
    if query:
        names = [part.partition("=")[0] for part in query.split("&") if part]
        if len(names) > MAX_PARAMETERS:
            return f"it has more than {MAX_PARAMETERS} parameters"
        if len(names) > MAX_SAME_PARAMETER:
            most = max(map(names.count, set(names)))
            if most > MAX_SAME_PARAMETER:
                return f"it has one parameter {most} times"
    return ""


@lru_cache(maxsize=_MEMO)
def groups(url: str) -> Sequence[str]:
    """The groups that a URL is of, the narrowest first: its path and names of parameters, numbers
    masked; its path with any query; its folder."""
    path, _, query = url.partition("://")[2].partition("?")
    name, _, path = path.partition("/")
    shape = _NUMBER.sub("#", path)
    keys: list[str] = []
    if query or shape != path:
        names = sorted({part.partition("=")[0] for part in query.split("&") if part})
        keys.append(f"{name}/{shape}?{'&'.join(names)}")
    if query:
        keys.append(f"{name}/{shape}?*")
    folder = shape.rpartition("/")[0]
    if folder:
        keys.append(f"{name}/{folder}/*")
    return tuple(keys)


def masked(text: str) -> list[str]:
    """Words, with the numbers and months that calendars count with left out of account."""
    words = _NUMBER.sub("#", text).lower().split()
    return ["#" if word.strip(".,:;()") in _MONTHS else word for word in words]


class Traps:
    """What a crawl has seen of copies so far. O(words + links) for each page."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, list[int]] = OrderedDict()
        """[new pages, copies]"""
        self._hosts: OrderedDict[str, list[int]] = OrderedDict()
        self._domains: OrderedDict[str, list[int]] = OrderedDict()
        """[hosts whose first page was new, hosts whose first page was a copy]"""
        self._from_copies: OrderedDict[str, int] = OrderedDict()
        """URL → the page that only copies of it linked to."""
        self._copies: OrderedDict[int, int] = OrderedDict()
        """Page → how many copies of it were seen."""
        self._fingerprints: deque[_Fingerprint] = deque()
        self._bands: dict[tuple[int, int, bytes], _Fingerprint] = {}
        self._next = 0
        self._hasher = MinHasher(_HASHES)

    # -- what a crawl asks

    def see(self, page: Page, links: Sequence[Link]) -> list[Link]:
        """Take in a page; which of its `links` may enter the frontier, session parameters dropped.

        A page without words says nothing of its group.
        """
        copy_of = self._look(page) if page.text or page.title else None
        if copy_of is not None and self._copies.get(copy_of, 0) >= COPIES:
            return []
        allowed = []
        for link in links:
            url = link.url
            if "?" in url or ";" in url:
                plain = canonical(url, strip_tracking=True)
                if plain != url:
                    url, link = plain, link._replace(url=plain)
            if oddity(url) or self.closed(url):
                continue
            if copy_of is None:
                self._from_copies.pop(url, None)
            elif url not in self._from_copies:
                _remember(self._from_copies, url, copy_of)
            allowed.append(link)
        return allowed

    def closed(self, url: str) -> str:
        """Why the URL is not worth asking for, by what was seen; empty where it is."""
        for group in groups(url):
            new, copies = self._groups.get(group, (0, 0))
            if _closed(new, copies):
                return f"trap: {copies} near-duplicates in {group}"
        source = self._from_copies.get(url)
        if source is not None and self._copies.get(source, 0) >= COPIES:
            return f"trap: linked from {self._copies[source]} copies of one page"
        if self._domains:
            name = host(url)
            domain = registrable_domain(name)
            new, copies = self._domains.get(domain, (0, 0))
            if name not in self._hosts and _closed(new, copies):
                return f"trap: {copies} hosts of {domain} begin with copies"
        return ""

    # -- what it learns

    def _look(self, page: Page) -> int | None:
        """The page that this one is a near-duplicate of."""
        name = host(page.url)
        domain = registrable_domain(name)
        original = self._original(page, domain)
        copy = int(original is not None)
        if original is not None:
            _remember(self._copies, original, self._copies.get(original, 0) + 1)
        for group in groups(page.url):
            counts = self._groups.get(group) or [0, 0]
            counts[copy] += 1
            _remember(self._groups, group, counts)
        if name not in self._hosts:
            counts = self._domains.get(domain) or [0, 0]
            counts[copy] += 1
            _remember(self._domains, domain, counts)
        counts = self._hosts.get(name) or [0, 0]
        counts[copy] += 1
        _remember(self._hosts, name, counts)
        return original

    def _original(self, page: Page, domain: str) -> int | None:
        title = " ".join(masked(page.title))
        about = zlib.crc32(f"{domain}\n{title}".encode())
        hashes = self._hashes(page)
        keys = [(about, band, part.tobytes()) for band, part in enumerate(_split(hashes))]
        for key in keys:
            known = self._bands.get(key)
            if known is not None and np.mean(known.hashes == hashes) >= LIKE:
                return known.number
        self._add(_Fingerprint(self._next, about, hashes))
        self._next += 1
        return None

    def _hashes(self, page: Page) -> np.ndarray[Any, np.dtype[np.uint32]]:
        words = " ".join(masked(page.text[:_CHARACTERS])[:_WORDS]).encode().split(b" ")
        features = triples(words)
        if len(words) < _LINKS:
            # Pages of few words differ by their links, if at all.
            links = page.links[:_LINKS]
            features |= {group.encode() for link in links for group in groups(link.url)[:1]}
            features.add(b" ".join(words))
        return self._hasher.sketch(features)

    def _add(self, fingerprint: _Fingerprint) -> None:
        self._fingerprints.append(fingerprint)
        for key in fingerprint.bands():
            self._bands[key] = fingerprint
        if len(self._fingerprints) > _MOST_FINGERPRINTS:
            oldest = self._fingerprints.popleft()
            for key in oldest.bands():
                if self._bands.get(key) is oldest:
                    del self._bands[key]

    # -- saving

    def save(self) -> State:
        fingerprints = self._fingerprints
        tables = (self._groups, self._hosts, self._domains, self._from_copies)
        return {
            "tables": [[[key, value] for key, value in table.items()] for table in tables],
            "copies": [[page, copies] for page, copies in self._copies.items()],
            "next": self._next,
            "numbers": np.array(
                [fingerprint.number for fingerprint in fingerprints], dtype=np.int64
            ),
            "about": np.array([fingerprint.about for fingerprint in fingerprints], dtype=np.int64),
            "hashes": np.array(
                [fingerprint.hashes for fingerprint in fingerprints], dtype=np.uint32
            ),
        }

    def load(self, state: State) -> None:
        tables = [OrderedDict(table) for table in state["tables"]]
        self._groups, self._hosts, self._domains, self._from_copies = tables
        self._copies = OrderedDict(state["copies"])
        self._next = state["next"]
        self._fingerprints, self._bands = deque(), {}
        for number, about, hashes in zip(
            state["numbers"].tolist(), state["about"].tolist(), state["hashes"], strict=True
        ):
            self._add(_Fingerprint(number, about, hashes))


def closed_groups(state: State) -> list[tuple[str, int, int]]:
    """(group of URLs, or hosts of a domain; new pages; near-duplicates) that saved traps closed,
    most near-duplicates first."""
    groups, _, domains, _ = state["tables"]
    closed = [(key, *counts) for key, counts in groups if _closed(*counts)]
    closed += [(f"hosts of {key}", *counts) for key, counts in domains if _closed(*counts)]
    return sorted(closed, key=lambda row: -row[2])


class _Fingerprint:
    """The MinHash of one page."""

    __slots__ = ("about", "hashes", "number")

    def __init__(
        self, number: int, about: int, hashes: np.ndarray[Any, np.dtype[np.uint32]]
    ) -> None:
        self.number = number
        self.about = about
        """Its domain and title, hashed."""
        self.hashes = hashes

    def bands(self) -> list[tuple[int, int, bytes]]:
        return [(self.about, band, part.tobytes()) for band, part in enumerate(_split(self.hashes))]


def _split(
    hashes: np.ndarray[Any, np.dtype[np.uint32]],
) -> list[np.ndarray[Any, np.dtype[np.uint32]]]:
    size = _HASHES // _BANDS
    return [hashes[start : start + size] for start in range(0, _HASHES, size)]


def _closed(new: int, copies: int) -> bool:
    return copies >= COPIES and copies > 2 * new


def _remember(table: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _REMEMBERED:
        table.popitem(last=False)
