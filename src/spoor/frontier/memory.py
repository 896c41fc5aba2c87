"""The frontier in memory: a dictionary of URLs, arrays by link number, a clock for each host.

Every call takes O(links given) or O(log hosts), however many links are open.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Collection, Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from spoor.errors import CallerError
from spoor.learn.state import link_row, revive_link
from spoor.types import NO_PARENT, InLink, InLinks, Link, LinkId, State, urls_of
from spoor.web.urls import host as host_of

OPEN, TAKEN, WAITING, DONE = range(4)

Seen = tuple[Sequence[Link], int, LinkId, float, int, bool]


@dataclass(slots=True)
class _Host:
    """One host: its clock, its delay and its open links."""

    name: str
    delay: float
    number: int
    """In the order of discovery."""
    open: MutableSequence[LinkId]
    in_flight: int = 0
    free_at: float = -np.inf
    waiting: list[LinkId] = field(default_factory=list)
    """Links that are due for another request, but the host was busy."""


class _HostsOf(Protocol):
    """The host of each link."""

    def append(self, host: _Host, /) -> None: ...
    def __getitem__(self, link: LinkId, /) -> _Host: ...
    def __setitem__(self, link: LinkId, host: _Host, /) -> None: ...


class MemoryFrontier:
    """All known links in memory.

    A host gets at most `per_host` requests at a time (0: no limit), with `delay` seconds between
    two: from the end of one to the start of the next if `per_host` is 1, else from start to start.
    The first `keep` in-links of each link are stored for policies that use them.
    """

    def __init__(self, *, delay: float = 0.0, per_host: int = 0, keep: int = 8) -> None:
        self._delay = delay
        self._per_host = per_host
        self._keep = keep
        self._ids: dict[str, LinkId] = {}
        self._urls: list[str] = []
        self._state = bytearray()
        self._parent = array("q")
        self._depth = array("i")
        self._hosts_of: _HostsOf = []
        self._seen: dict[LinkId, list[Seen]] = {}
        self._hosts: dict[str, _Host] = {}
        # Open links are in one list, and in one list for each host; a link is removed by swapping
        # it with the last. These arrays have the index of each link in both lists.
        self._open: MutableSequence[LinkId] = self._numbers()
        self._positions = array("q")
        self._host_positions = array("q")
        # Hosts that are free and have open links, in insertion order (a set's order is not stable).
        self._ready: dict[str, None] = {}
        self._offered = 0
        self._later: list[tuple[float, str]] = []
        self._due: list[tuple[float, LinkId]] = []
        self._offer = _MemoryOffer(self)

    def _numbers(self) -> MutableSequence[LinkId]:
        """An empty list of links."""
        return []

    # -- entering links

    def add(
        self, page_links: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        urls, lazy = urls_of(page_links), hasattr(page_links, "urls")
        ids, state = self._ids, self._state
        indices: list[int] = []
        links: list[LinkId] = []
        first: list[bool] = []
        hosts: list[str] = []
        seen_urls: list[str] = []
        for index, url in enumerate(urls):
            link = ids.get(url)
            new = link is None
            if link is None:
                link = self._enter(url, parent, depth)
            elif state[link] == DONE:
                continue
            seen = self._seen.setdefault(link, [])
            if len(seen) < self._keep:
                source, offset = (page_links, index) if lazy else ((page_links[index],), 0)
                seen.append((source, offset, parent, parent_score, depth, new))
            indices.append(index)
            links.append(link)
            first.append(new)
            hosts.append(self._hosts_of[link].name)
            seen_urls.append(url)
        return InLinks(
            page_links, indices, links, first, parent, parent_score, depth, seen_urls, hosts
        )

    def _enter(self, url: str, parent: LinkId, depth: int) -> LinkId:
        link = len(self._urls)
        self._ids[url] = link
        self._urls.append(url)
        self._parent.append(parent)
        self._depth.append(depth)
        self._add_open(link, self._host(host_of(url)))
        return link

    def _add_open(self, link: LinkId, host: _Host) -> None:
        """Add a new link, which is open."""
        self._state.append(OPEN)
        self._hosts_of.append(host)
        self._positions.append(0)
        self._host_positions.append(0)
        self._list_open(link, host)

    def _list_open(self, link: LinkId, host: _Host) -> None:
        """Add a link to the open links of all hosts and of its own."""
        self._positions[link] = len(self._open)
        self._open.append(link)
        self._host_positions[link] = len(host.open)
        host.open.append(link)
        if host.name in self._ready:
            self._offered += 1
        elif len(host.open) == 1:
            self._schedule(host)

    def _host(self, name: str) -> _Host:
        host = self._hosts.get(name)
        if host is None:
            number = len(self._hosts)
            host = self._hosts[name] = _Host(name, self._delay, number, self._numbers())
        return host

    def _unlist_open(self, link: LinkId) -> None:
        host = self._hosts_of[link]
        for links, positions in ((self._open, self._positions), (host.open, self._host_positions)):
            position, last = positions[link], links.pop()
            if last != link:
                links[position] = last
                positions[last] = position
        if host.name in self._ready:
            self._offered -= 1
            if not host.open:
                del self._ready[host.name]

    # -- hosts and their clocks

    def _schedule(self, host: _Host) -> None:
        """Queue a host that is not ready, and its waiting links, for the time at which it is
        free."""
        if self._per_host and host.in_flight >= self._per_host:
            return
        for link in host.waiting:
            heapq.heappush(self._due, (host.free_at, link))
        host.waiting.clear()
        if host.open:
            heapq.heappush(self._later, (host.free_at, host.name))

    def _unready(self, host: _Host) -> None:
        if host.name in self._ready:
            del self._ready[host.name]
            self._offered -= len(host.open)

    def _wake(self, now: float) -> None:
        later = self._later
        while later and later[0][0] <= now:
            free_at, name = heapq.heappop(later)
            host = self._hosts[name]
            stale = host.free_at != free_at or name in self._ready or not host.open
            if not stale and not (self._per_host and host.in_flight >= self._per_host):
                self._ready[name] = None
                self._offered += len(host.open)

    def configure(self, *, delay: float, per_host: int) -> None:
        """Change the politeness, as if the frontier were made with it and loaded: known hosts keep
        their delay until `pace`."""
        self._delay, self._per_host = delay, per_host

    def offer(self, now: float) -> _MemoryOffer:
        self._wake(now)
        return self._offer

    def due(self, now: float) -> LinkId | None:
        while self._due and self._due[0][0] <= now:
            _, link = heapq.heappop(self._due)
            if self._state[link] != WAITING:
                continue  # it was taken before
            host = self._hosts_of[link]
            if self._per_host and host.in_flight >= self._per_host:
                host.waiting.append(link)
            elif host.free_at > now:
                heapq.heappush(self._due, (host.free_at, link))
            else:
                return link
        return None

    def next_ready(self, now: float) -> float | None:
        if self._ready:
            return now
        times = []
        while self._later:
            free_at, name = self._later[0]
            host = self._hosts[name]
            if host.free_at == free_at and host.open and not self._busy(host):
                times.append(free_at)
                break
            heapq.heappop(self._later)
        due = self.next_due(now)
        if due is not None:
            times.append(due)
        return max(now, min(times)) if times else None

    def next_due(self, now: float) -> float | None:
        return max(now, self._due[0][0]) if self._due else None

    def _busy(self, host: _Host) -> bool:
        return bool(self._per_host) and host.in_flight >= self._per_host

    def hold(self, host: str, until: float) -> None:
        known = self._host(host)
        if until > known.free_at:
            known.free_at = until
            self._unready(known)
            self._schedule(known)

    def pace(self, host: str, delay: float) -> None:
        known = self._host(host)
        known.delay = max(known.delay, delay)

    def delay(self, host: str) -> float:
        known = self._hosts.get(host)
        return self._delay if known is None else known.delay

    # -- one request

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        if self._state[link] == OPEN:
            self._unlist_open(link)
        elif self._state[link] != WAITING:
            raise CallerError(f"link {link} is neither open nor due")
        self._state[link] = TAKEN
        host = self._hosts_of[link]
        host.in_flight += 1
        if host.delay or self._busy(host):
            host.free_at = max(host.free_at, now + host.delay)
            self._unready(host)
            self._schedule(host)
        return self.url(link), host.name

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        self._end_request(link, now)
        if retry_at is None:
            self._done(link)
        else:
            self._state[link] = WAITING
            heapq.heappush(self._due, (retry_at, link))

    def drop(self, link: LinkId) -> None:
        if self._state[link] != OPEN:
            raise CallerError(f"link {link} is not open")
        self._unlist_open(link)
        self._done(link)

    def reopen(self, link: LinkId) -> None:
        if self._state[link] != DONE:
            raise CallerError(f"link {link} is not done with")
        self._state[link] = OPEN
        self._list_open(link, self._hosts_of[link])

    def redirect(self, link: LinkId, url: str, now: float) -> bool:
        other = self.find(url)
        self._end_request(link, now)
        if other is not None:
            if other == link or self._state[other] != OPEN:
                self._done(link)
                return False
            # The link replaces the other one, which is closed.
            self._unlist_open(other)
            self._done(other)
        self._rename(link, url)
        self._hosts_of[link] = self._host(host_of(url))
        self._state[link] = WAITING
        heapq.heappush(self._due, (now, link))
        return True

    def _rename(self, link: LinkId, url: str) -> None:
        self._ids[url] = link
        self._urls[link] = url

    def _end_request(self, link: LinkId, now: float) -> None:
        if self._state[link] != TAKEN:
            raise CallerError(f"link {link} is not taken")
        host = self._hosts_of[link]
        host.in_flight -= 1
        if host.name in self._ready:
            return
        if self._per_host == 1:
            host.free_at = max(host.free_at, now + host.delay)
        self._schedule(host)

    def _done(self, link: LinkId) -> None:
        self._state[link] = DONE
        self._seen.pop(link, None)

    # -- reading

    def url(self, link: LinkId) -> str:
        return self._urls[link]

    def find(self, url: str) -> LinkId | None:
        return self._ids.get(url)

    def depth(self, link: LinkId) -> int:
        return self._depth[link]

    def path(self, link: LinkId) -> Sequence[LinkId]:
        steps = [link]
        while (parent := self._parent[steps[-1]]) != NO_PARENT:
            steps.append(parent)
        return steps[::-1]

    @property
    def open_count(self) -> int:
        return len(self._open)

    def open(self) -> Iterator[LinkId]:
        return iter(sorted(self._open))

    def done(self) -> Iterator[str]:
        return (url for url, link in self._ids.items() if self._state[link] == DONE)

    def in_links(self, link: LinkId) -> Sequence[InLink]:
        return [
            InLink(
                link,
                self._urls[link],
                self._hosts_of[link].name,
                links[offset].anchor,
                links[offset].kind,
                parent,
                parent_score,
                depth,
                first,
            )
            for links, offset, parent, parent_score, depth, first in self._seen.get(link, ())
        ]

    def hosts(self) -> Sequence[tuple[str, int, int, float]]:
        """(host, open links, requests in flight, free at), in the order of discovery."""
        return [(h.name, len(h.open), h.in_flight, h.free_at) for h in self._hosts.values()]

    # -- saving

    def save(self) -> State:
        # After a redirect two URLs name one link, and two links may have the same URL.
        plain = {url: link for link, url in enumerate(self._urls)}
        aliases = sorted(set(self._ids.items()) - set(plain.items()))
        return {
            "urls": list(self._urls),
            "aliases": [list(alias) for alias in aliases],
            "state": np.frombuffer(bytes(self._state), dtype=np.uint8),
            "parent": np.array(self._parent, dtype=np.int64),
            "depth": np.array(self._depth, dtype=np.int32),
            "open": np.array(self._open, dtype=np.int64),
            "due": [list(entry) for entry in self._due],
            "later": [list(entry) for entry in self._later],
            "ready": list(self._ready),
            "hosts": [
                [h.name, h.delay, h.in_flight, h.free_at if np.isfinite(h.free_at) else None]
                for h in self._hosts.values()
            ],
            "host_open": [list(h.open) for h in self._hosts.values()],
            "host_waiting": [list(h.waiting) for h in self._hosts.values()],
            "seen": [[link, [_row(seen) for seen in rows]] for link, rows in self._seen.items()],
        }

    def load(self, state: State) -> None:
        self._urls = list(state["urls"])
        self._ids = {url: link for link, url in enumerate(self._urls)}
        self._ids |= dict(state["aliases"])
        self._state = bytearray(state["state"].tobytes())
        self._parent = array("q", state["parent"].tolist())
        self._depth = array("i", state["depth"].tolist())
        self._hosts = {}
        for (name, delay, in_flight, free_at), links, waiting in zip(
            state["hosts"], state["host_open"], state["host_waiting"], strict=True
        ):
            clock = -np.inf if free_at is None else free_at
            self._hosts[name] = _Host(
                name, delay, len(self._hosts), list(links), in_flight, clock, list(waiting)
            )
        self._hosts_of = [self._host(host_of(url)) for url in self._urls]
        self._open = state["open"].tolist()
        self._positions = array("q", [0]) * len(self._urls)
        self._host_positions = array("q", [0]) * len(self._urls)
        for position, link in enumerate(self._open):
            self._positions[link] = position
        for host in self._hosts.values():
            for position, link in enumerate(host.open):
                self._host_positions[link] = position
        self._ready = dict.fromkeys(state["ready"])
        self._offered = sum(len(self._hosts[name].open) for name in self._ready)
        self._later = [(time, name) for time, name in state["later"]]
        self._due = [(time, link) for time, link in state["due"]]
        self._seen = {link: [_revive(row) for row in rows] for link, rows in state["seen"]}


def _row(seen: Seen) -> list[Any]:
    links, offset, *in_link = seen
    return [link_row(links[offset]), *in_link]


def _revive(row: Sequence[Any]) -> Seen:
    link, parent, parent_score, depth, first = row
    return (revive_link(link),), 0, parent, parent_score, depth, first


class _MemoryOffer:
    """The open links of the hosts that are free."""

    __slots__ = ("_frontier",)

    def __init__(self, frontier: MemoryFrontier) -> None:
        self._frontier = frontier

    def __len__(self) -> int:
        return self._frontier._offered

    def __contains__(self, link: object) -> bool:
        frontier = self._frontier
        return (
            isinstance(link, int)
            and 0 <= link < len(frontier._state)
            and frontier._state[link] == OPEN
            and frontier._hosts_of[link].name in frontier._ready
        )

    def hosts(self) -> Collection[str]:
        return self._frontier._ready.keys()

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        frontier = self._frontier
        size = frontier._offered
        if k >= size:
            return [link for name in frontier._ready for link in frontier._hosts[name].open]
        if size * 4 < len(frontier._open) or k * 2 > size:
            return self._draw_by_host(rng, k)
        # Most open links are on offer: draw from all of them, and drop those that are not.
        drawn: dict[LinkId, None] = {}
        while len(drawn) < k:
            link = frontier._open[int(rng.integers(len(frontier._open)))]
            if frontier._hosts_of[link].name in frontier._ready:
                drawn[link] = None
        return list(drawn)

    def _draw_by_host(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        """O(free hosts + k), for few free hosts or many links."""
        frontier = self._frontier
        hosts = [frontier._hosts[name].open for name in frontier._ready]
        ends = np.cumsum([len(links) for links in hosts])
        places = rng.choice(int(ends[-1]), size=k, replace=False)
        owners = np.searchsorted(ends, places, side="right")
        return [
            hosts[host][int(place - ends[host])] for host, place in zip(owners, places, strict=True)
        ]
