"""What a fleet knows of every URL it has seen: its state, its date, its content's digest.

URLs are numbers here, from 0 in the order of discovery. The paper keeps states by forager; a fleet
on one computer shares them, and each forager reads what was downloaded last.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.remembered import Memory, Moves
from spoor.foragers.states import Describe
from spoor.foragers.watching import Hints, Promises, Watching
from spoor.types import Link, Page, State, urls_of
from spoor.web.revisits import hash_of
from spoor.web.urls import host

NEVER = -math.inf
"""The date of what is not known to be new."""

MOST_WAITING = 20_000
"""URLs of one host that were never asked for, up to which a watch takes more: an endless site fills
no memory. Links left out are taken when their page changes."""

LIST = 3
"""URLs that appeared on a page, from which on it is a list; or pages that link to one and are older
than it says it is."""

NEW = 86_400.0
"""Seconds within which a date that a page states of itself has to be borne out."""

HINTED = 2 * 86_400.0
"""Seconds up to which an entry of a sitemap that is older than that of a new page is followed."""

Admit = Callable[[Page, int], Sequence[Link]]


def digest(page: Page) -> int:
    """64 bits of a page's content; never 0. The same content has the same digest anywhere."""
    text = page.text or ("\n".join(urls_of(page.links)) if "sitemap" in page.flags else "")
    content = f"{page.title}\n{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


class Known:
    """Every URL that a fleet has seen."""

    def __init__(
        self, describe: Describe, admit: Admit | None = None, watching: Watching | None = None
    ) -> None:
        self.watching = watching
        """What is wanted and what counts as a change; None: everything, as in the paper."""
        self.hints = Hints()
        self.promises = Promises()
        self.hubs: set[int] = set()
        """Feeds and sitemaps, in a watch."""
        self.sitemaps: set[int] = set()
        """URLs that are asked for as sitemaps."""
        self.parent: list[int] = []
        """The page on which each URL was seen first; -1 for seeds."""
        self.waiting: dict[str, int] = {}
        """Host → its URLs that were never asked for, in a watch."""
        self.left_out: dict[str, int] = {}
        """Host → links that were left out because too many wait."""
        self.cited: list[int] = []
        """Pages that link to each URL, itself left out, by their last downloads; in a watch."""
        self.introduced: list[int] = []
        """URLs that were learned from each page at its first look."""
        self.depth: list[int] = []
        """Parts of the path of each URL."""
        self.brought: list[int] = []
        """URLs that appeared on each page after its first look."""
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
        self.active: list[float] = []
        """When anything about it was last new: its URL, its content, its links, what it brought."""
        self.left = Memory()
        """URLs that were left by a compaction."""
        self.told_before: set[int] = set()
        """Of those that came back, what was told before: it is never new again."""
        self._old = 0
        """URLs that were known before anything could leave; 0 until then."""
        self._numbers: dict[str, int] = {}
        self._host_names: dict[str, int] = {}
        self._host_numbers: list[int] = []
        self._born: list[float] = []
        self._links: dict[int, tuple[int, int, list[int]]] = {}
        self._unsettled: set[int] = set()
        self._keys: list[tuple[int, int]] = []
        """Hashes of the last content in this process: a string keeps its own once made, so that a
        world's unchanged page costs no digest."""
        self._describe = describe
        self._admit = admit

    def find(self, url: str) -> int | None:
        """The number of a URL that is known."""
        return self._numbers.get(url)

    def fresh(self, url: int, now: float, new_for: float) -> bool:
        """Whether what was downloaded last is a new document that is wanted."""
        if self.date[url] < now - new_for or url in self.told_before:
            return False
        watching = self.watching
        return watching is None or (url in watching.wanted and url not in watching.copy_of)

    def number(self, url: str, born: float = NEVER, parent: int = -1, now: float = NEVER) -> int:
        """The number of a URL, new ones entered. One that a compaction left is no new one: it was
        asked for then, and says nothing of its age."""
        number = self._numbers.get(url)
        if number is None:
            number = self._numbers[url] = len(self.urls)
            self.urls.append(url)
            self.hosts.append(host(url))
            self.date.append(NEVER)
            self.digests.append(0)
            self.version.append(0)
            before = self.left.find(hash_of(url)) if len(self.left) else None
            if before is not None:
                born = NEVER
                if before.told:
                    self.told_before.add(number)
            self.fetched.append(NEVER if before is None else before.at)
            self.active.append(now)
            self.parent.append(parent)
            self._born.append(born)
            self._count(number)
            if self.watching is not None and before is None:
                self.waiting[self.hosts[-1]] = self.waiting.get(self.hosts[-1], 0) + 1
            self._keys.append((0, 0))
            if number >= len(self.states):
                self.states = np.vstack([self.states, np.zeros_like(self.states)])
        return number

    def moved(self, url: int, location: str, now: float) -> int:
        """The number of the URL to which one redirects: where it is new, the link to the one is
        taken for its own, which pays the page on which it stood."""
        return self.number(location, self._born[url], self.parent[url], now)

    def see(self, url: int, page: Page, now: float) -> bool:
        """Take in a download; True if its content is not that of the last one.

        The date is the page's own where it states one. Else it is the time of this download for a
        content that has changed, and for a first one the time at which its URL appeared on a page
        whose links were known before; NEVER for the rest: nothing says that they are new.
        """
        self.tried(url, now)
        key = (hash(page.text), hash(page.title))
        if key == self._keys[url] and url not in self._unsettled:
            return self._unchanged(url)
        self._keys[url] = key
        content = digest(page)
        if content == self.digests[url]:
            if url in self._unsettled:
                self._store(url, page)
            return self._unchanged(url)
        first, born, watching = not self.digests[url], self._born[url], self.watching
        self.digests[url] = content
        self._store(url, page)
        if watching is None:
            counts = True
            stated = born if first else now
            self.date[url] = stated if page.modified is None else page.modified
        else:
            counts = watching.take(url, self.hosts[url], page, first)
            if page.flags & {"feed", "sitemap"}:
                self.hubs.add(url)
            if counts:
                self.date[url] = self._date(watching, url, page, now, first=first)
            if first and (other := watching.copy_of.get(url, -1)) >= 0:
                watching.learn_copy(self.urls[url], self.urls[other], self.hosts[url])
        self.hints.settle(url, counts)
        self.version[url] += counts
        if counts:
            self.active[url] = now
        return counts

    def _date(self, watching: Watching, url: int, page: Page, now: float, *, first: bool) -> float:
        """When what a watch downloaded was published. No document is younger than what is known of
        its URL. Where a topic is given a list is no document: what changes on it is news at its
        links."""
        born = self._born[url]
        date = watching.date(self.hosts[url], page, now, first=first, born=born)
        if not first:
            lists = watching.judge is not None and self.brought[url] >= LIST
            return self.date[url] if lists else date
        date = min(date, self.active[url])  # of a seed nothing: whoever names it knows it
        if born == NEVER and date > now - NEW and self._is_older(url, date):
            return NEVER
        return date

    def _is_older(self, url: int, date: float) -> bool:
        """Whether pages that were there a day before a date link to a URL already."""
        if self.cited[url] < LIST:
            return False
        old = (
            NEVER < self.date[page] < date - NEW and url in links[2]
            for page, links in self._links.items()
        )
        return sum(old) >= LIST

    def unchanged(self, url: int, now: float) -> None:
        """Its server says that it is what it was."""
        self.tried(url, now)
        self._unchanged(url)

    def links_before(self, url: int) -> list[int]:
        """Numbers of the links that it had at the last download."""
        known = self._links.get(url)
        return [] if known is None else known[2]

    def tried(self, url: int, now: float) -> None:
        """It was asked for."""
        if self.watching is not None and self.fetched[url] == NEVER:
            self.waiting[self.hosts[url]] -= 1
        self.fetched[url] = now

    def _unchanged(self, url: int) -> bool:
        if self.watching is not None:
            self.watching.change = self.watching.judgement = None
        self.hints.settle(url, False)
        return False

    def _store(self, url: int, page: Page) -> None:
        """Algorithm 2: the classifier's outputs for a page, stored under its URL."""
        if self._describe.settled:
            self._unsettled.discard(url)
        else:
            self._unsettled.add(url)
        self.states[url] = self._describe(page)

    def born(self, urls: NDArray[np.int64]) -> NDArray[np.float64]:
        """When each URL appeared on a known page; NEVER where it stood there at the first look."""
        return np.array([self._born[url] for url in urls.tolist()], dtype=np.float64)

    def appeared(self, url: int) -> bool:
        """Whether it was never asked for, and a link to it appeared on a page that was known."""
        return self.fetched[url] == NEVER and self._born[url] > NEVER

    def superseded(self, url: int) -> bool:
        """Whether it differs in nothing but what says nothing from a URL that is known."""
        if self.watching is None or self.fetched[url] > NEVER:
            return False
        plain = self.watching.without_copies(self.urls[url], self.hosts[url])
        return plain != self.urls[url] and plain in self._numbers

    def host_numbers(self) -> NDArray[np.int64]:
        """A number of the host of each URL."""
        numbers = self._host_numbers
        for name in self.hosts[len(numbers) :]:
            numbers.append(self._host_names.setdefault(name, len(self._host_names)))
        return np.array(numbers, dtype=np.int64)

    def admits(self, url: str) -> bool:
        """Whether a redirect may lead to a URL, as a link may."""
        return self._admit is None or bool(self._admit(Page(url, links=[Link(url)]), 0))

    def links(self, url: int, page: Page, now: float) -> list[int]:
        """Numbers of the pages that it links to, each once, in page order, itself left out."""
        content, count = self.digests[url], len(page.links)
        if self.watching is not None:  # links of pictures change without a word
            count = zlib.crc32("\n".join(urls_of(page.links)).encode("utf-8", "replace"))
        known = self._links.get(url)
        if known is not None and known[0] == content and known[1] == count:
            return known[2]
        born = NEVER if known is None else now
        admitted = page.links if self._admit is None else self._admit(page, 0)
        count_before = len(self.urls)
        if self.watching is None:
            numbers = [self.number(target, born) for target in dict.fromkeys(urls_of(admitted))]
        else:
            numbers = self._watched_links(url, page, admitted, born, now)
        links = [number for number in numbers if number != url]
        if known is None or len(self.urls) > count_before:
            self.active[url] = now
        self._links[url] = (content, count, links)
        if self.watching is not None:
            self._cite(() if known is None else known[2], -1)
            self._cite(links)
        return links

    def _watched_links(
        self, url: int, page: Page, admitted: Sequence[Link], born: float, now: float
    ) -> list[int]:
        """As `links`, with the feeds that the page names, and what it says of the ages of others;
        of a sitemap only what is new or changed. Beyond `MOST_WAITING` nothing is entered."""
        watching, dated = self.watching, dict(page.dated)
        assert watching is not None
        targets = {link.url: link.kind for link in admitted}
        targets |= dict.fromkeys((feed for feed in page.feeds if self.admits(feed)), "feed")
        lists, numbers = "sitemap" in page.flags, list[int]()
        for target, kind in targets.items():
            date = dated.get(target)
            if date is not None and date > now:
                date = None
            if kind == "listed" and lists and (date or NEVER) < now - HINTED and born == NEVER:
                continue
            name = host(target)
            target = watching.without_copies(target, name)
            number = self._numbers.get(target)
            if number is None:
                left = self.left.find(hash_of(target)) if len(self.left) else None
                if left is not None:
                    hinted = date is not None and date > left.at
                    if born > NEVER or hinted:
                        numbers.append(self.number(target, NEVER, url, now))
                    if hinted:
                        self.hints.add(numbers[-1], url)
                    continue
                if self.waiting.get(name, 0) >= MOST_WAITING:
                    self.left_out[name] = self.left_out.get(name, 0) + 1
                    continue
                seen = born if date is None else min(now, max(date, born))
                number = self.number(target, seen, url, now)
            elif date is not None and date > self.fetched[number] > NEVER:
                self.hints.add(number, url)
            if kind == "sitemap":
                self.sitemaps.add(number)
            numbers.append(number)
        return list(dict.fromkeys(numbers))

    # -- for good

    def compact(self, held: set[int], told: set[int], oldest: float, now: float) -> Moves | None:
        """Leave URLs about which nothing was new since `oldest`. Hubs stay, what is `held`, and
        what a hub links to, or a page about which something was new. So does what stood there at
        the first look of a page in the beginning (the site itself), with what that links to now.
        `told`: what is never to be told as new again. Returns the new numbers; None where nothing
        leaves. O(links)."""
        watching, count = self.watching, len(self.urls)
        assert watching is not None
        active = np.array(self.active)
        if not self._old:
            if min((at for at in self.active if at > NEVER), default=now) >= oldest:
                return None
            self._old = count
        keep = active >= oldest
        keep[[url for url, parent in enumerate(self.parent) if parent < 0]] = True
        keep[[*self.hubs, *self.sitemaps, *self.hints.open, *held]] = True
        keep[: self._old] |= np.array(self._born[: self._old]) == NEVER
        lists = keep.copy()
        for url, (_, _, links) in self._links.items():
            if lists[url]:
                keep[links] = True
        for _ in range(2):  # what a redirect leads to may lead on
            for url, target in self.alias.items():
                keep[target] |= keep[url]
        if keep.all():
            return None
        moves = Moves(keep)
        self.left.add(
            [hash_of(self.urls[url]) for url in moves.left],
            [url in told or url in self.told_before for url in moves.left],
            now,
        )
        self._move(moves)
        watching.compact(moves, now)
        return moves

    def _move(self, moves: Moves) -> None:
        column = moves.column
        rows = self.states[moves.kept]
        self.states = np.vstack([rows, np.zeros((max(1024, len(rows)), rows.shape[1]), np.float32)])
        # A page of which the parent has left pays itself.
        parents = {url: moves[parent] for url, parent in enumerate(self.parent) if parent >= 0}
        self.parent = [
            -1 if self.parent[url] < 0 else parents[url] if parents[url] >= 0 else number
            for number, url in enumerate(moves.kept)
        ]
        self.urls, self.hosts = column(self.urls), column(self.hosts)
        self.date, self._born = column(self.date), column(self._born)
        self.digests, self._keys = column(self.digests), column(self._keys)
        self.version, self.fetched = column(self.version), column(self.fetched)
        self.active = column(self.active)
        self._old = sum(url < self._old for url in moves.kept)
        self._numbers = {url: number for number, url in enumerate(self.urls)}
        self._host_names, self._host_numbers = {}, []
        self._links = {
            url: (content, seen, moves.of(links))
            for url, (content, seen, links) in moves.keys(self._links).items()
        }
        self.alias = {url: moves[target] for url, target in moves.keys(self.alias).items()}
        self._unsettled = set(moves.of(self._unsettled))
        self.hubs, self.sitemaps = set(moves.of(self.hubs)), set(moves.of(self.sitemaps))
        self.told_before = set(moves.of(self.told_before))
        self.hints.move(moves)
        self.promises.move(moves)
        self._count_waiting()
        self._count_links()

    def _count(self, number: int) -> None:
        """Take a URL, the next in order, into the counts of URLs."""
        for counts in (self.cited, self.brought, self.introduced):
            counts.append(0)
        self.depth.append(_depth(self.urls[number]))
        if (parent := self.parent[number]) >= 0:
            (self.brought if self._born[number] > NEVER else self.introduced)[parent] += 1

    def _cite(self, links: Iterable[int], by: int = 1) -> None:
        """Take the links of a page into the counts of URLs."""
        for number in links:
            self.cited[number] += by

    def _count_links(self) -> None:
        for counts in (self.cited, self.brought, self.introduced, self.depth):
            counts.clear()
        for number in range(len(self.urls)):
            self._count(number)
        if self.watching is not None:
            for _, _, links in self._links.values():
                self._cite(links)

    def _count_waiting(self) -> None:
        pairs = zip(self.hosts, self.fetched, strict=True)
        self.waiting = dict.fromkeys(self.hosts, 0)
        self.waiting |= Counter(name for name, at in pairs if at == NEVER)

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
            "parent": np.array(self.parent, dtype=np.int64),
            "sitemaps": sorted(self.sitemaps),
            "hubs": sorted(self.hubs),
            "left_out": dict(self.left_out),
            "active": np.array(self.active, dtype=np.float64),
            "left": self.left.save(),
            "told_before": sorted(self.told_before),
            "old": self._old,
            "hints": self.hints.save(),
            "promises": self.promises.save(),
            "watching": None if self.watching is None else self.watching.save(),
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
        self._host_names, self._host_numbers = {}, []
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
        self.parent = state["parent"].tolist()
        self.sitemaps, self.hubs = set(state["sitemaps"]), set(state["hubs"])
        self.left_out = dict(state["left_out"])
        self.active = list(self.fetched)
        if "active" in state:  # a version before this had none
            self.active = state["active"].tolist()
            self.left.load(state["left"])
            self.told_before, self._old = set(state["told_before"]), state["old"]
        self.hints.load(state["hints"])
        if "promises" in state:  # a version before this had none
            self.promises.load(state["promises"])
        if self.watching is not None:
            self.watching.load(state["watching"])
            self._count_waiting()
        self._count_links()


def _depth(url: str) -> int:
    """Parts of the path of a URL; a query is one more."""
    return url.rstrip("/").count("/") + ("?" in url)
