"""The frontier in memory: a dictionary of URLs, arrays by link number, a clock for each host.

Every call takes O(links given) or O(log hosts), however many links are open.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from spoor.errors import CallerError
from spoor.frontier.foreign_redirects import Strangers
from spoor.frontier.hosts import Host, HostsOf, ReadyHosts
from spoor.frontier.in_links import Seen, revived, saved
from spoor.frontier.slow_hosts import SlowHosts, answered
from spoor.types import NO_PARENT, InLink, InLinks, Link, LinkId, State, urls_of
from spoor.web.urls import host as host_of

OPEN, TAKEN, WAITING, DONE = range(4)
WOKEN = 1_000
"""Hosts at most that a call finds free again, those first that are free for longest, and as many
that were never asked: each takes some microseconds, and a page may name thousands."""


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
        self._hosts_of: HostsOf = []
        self._seen: dict[LinkId, list[Seen]] = {}
        self._hosts: dict[str, Host] = {}
        # Open links are in one list, and in one list for each host; a link is removed by swapping
        # it with the last. These arrays have the index of each link in both lists.
        self._open: MutableSequence[LinkId] = self._numbers()
        self._positions = array("q")
        self._host_positions = array("q")
        self._slow = SlowHosts()
        self._ready = ReadyHosts(self._slow)
        self._later: list[tuple[float, str]] = []
        self._unasked: deque[str] = deque()
        """Hosts that are free since ever, in a row of their own: a flood of them would hold back
        those that are free again."""
        self._due: list[tuple[float, LinkId]] = []
        self._withheld: tuple[list[tuple[float, LinkId]], ...] = [], []
        """Links that are due, of hosts that may not be asked now: those that were never late, and
        those that were."""
        self._strangers = Strangers()

    def _numbers(self) -> MutableSequence[LinkId]:
        """An empty list of links."""
        return []

    # -- entering links

    def add(
        self, page_links: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        urls, stored = urls_of(page_links), getattr(page_links, "stored", False)
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
                source, offset = (page_links, index) if stored else ((page_links[index],), 0)
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

    def _add_open(self, link: LinkId, host: Host) -> None:
        """Add a new link, which is open."""
        self._state.append(OPEN)
        self._hosts_of.append(host)
        self._positions.append(0)
        self._host_positions.append(0)
        self._list_open(link, host)

    def _list_open(self, link: LinkId, host: Host) -> None:
        """Add a link to the open links of all hosts and of its own."""
        self._positions[link] = len(self._open)
        self._open.append(link)
        self._host_positions[link] = len(host.open)
        if isinstance(host.open, tuple):
            host.open = self._numbers()
        host.open.append(link)
        if host.ready is not None:
            host.ready.links += 1
        elif len(host.open) == 1:
            self._schedule(host)

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            number = len(self._hosts)
            host = self._hosts[name] = Host(name, self._delay, number)
        return host

    def _unlist_open(self, link: LinkId) -> None:
        host = self._hosts_of[link]
        assert not isinstance(host.open, tuple)
        for links, positions in ((self._open, self._positions), (host.open, self._host_positions)):
            position, last = positions[link], links.pop()
            if last != link:
                links[position] = last
                positions[last] = position
        if host.ready is not None:
            host.ready.links -= 1
            if not host.open:
                del host.ready.hosts[host.name]
                host.ready = None
        if not host.open:
            host.open = ()

    # -- hosts and their clocks

    def _schedule(self, host: Host) -> None:
        """Queue a host that is not ready, and its waiting links, for the time at which it is
        free."""
        if self._per_host and host.in_flight >= self._per_host:
            return
        for link in host.waiting:
            heapq.heappush(self._due, (host.free_at, link))
        host.waiting = ()
        if host.open and host.free_at == -math.inf:
            self._unasked.append(host.name)
        elif host.open:
            heapq.heappush(self._later, (host.free_at, host.name))

    def _wake(self, now: float) -> None:
        later, unasked = self._later, self._unasked
        for name in sorted(unasked.popleft() for _ in range(min(WOKEN, len(unasked)))):
            self._wake_host(-math.inf, name)
        for _ in range(WOKEN):
            if not later or later[0][0] > now:
                break
            self._wake_host(*heapq.heappop(later))

    def _wake_host(self, free_at: float, name: str) -> None:
        """Have a host on offer that was to be free at a time, unless that has changed."""
        if self._is_free(free_at, name) and (host := self._hosts[name]).ready is None:
            self._ready.add(host)

    def _is_free(self, free_at: float, name: str) -> bool:
        host = self._hosts[name]
        return host.free_at == free_at and bool(host.open) and not self._busy(host)

    def _queued(self) -> list[tuple[float, str]]:
        """When hosts are free, to save that."""
        return [*((-math.inf, name) for name in self._unasked), *self._later]

    def _queue(self, queued: Iterable[tuple[float, str]]) -> None:
        """Go on from `_queued`."""
        self._later, self._unasked = [], deque()
        for free_at, name in queued:
            if free_at == -math.inf:
                self._unasked.append(name)
            else:
                self._later.append((free_at, name))

    def configure(self, *, delay: float, per_host: int) -> None:
        """Change the politeness, as if the frontier were made with it and loaded: known hosts keep
        their delay until `pace`."""
        self._delay, self._per_host = delay, per_host

    def bound_slow_hosts(self, limit: int) -> None:
        """At most so many requests at a time to hosts that may not answer (0: no limit)."""
        if limit == self._slow.limit:
            return
        self._slow.limit = limit
        for name in [*self._ready.proven.hosts, *self._ready.may_not_answer]:
            host = self._hosts[name]
            self._ready.remove(host)
            self._ready.add(host)

    def _answered(self, host: Host, *, in_time: bool) -> None:
        answered(host, in_time=in_time)
        if host.ready is not None:
            self._ready.remove(host)
            self._ready.add(host)

    def no_answer(self, link: LinkId, now: float) -> bool:
        self._slow.miss(link, self._hosts_of[link], now)
        return self._slow.was_late(link) and bool(self._hosts_of[link].open)

    def share_of_time(self, link: LinkId) -> float:
        host = self._hosts_of[link]
        if not (self._slow.limit and self._slow.proven(host) and host.open):
            return 1.0
        return self._slow.share_of_time(link)

    def times_late(self, host: str) -> int | None:
        known = self._hosts.get(host)
        if known is None:
            return 0
        return None if self._slow.proven(known) else known.misses

    def offer(self, now: float) -> _MemoryOffer:
        self._wake(now)
        return _MemoryOffer(self)  # kept, it would keep a frontier that has moved to disk

    def due(self, now: float) -> LinkId | None:
        while True:
            due = self._due
            for withheld in self._free_to_go_on():
                if not due or withheld[0] <= due[0]:
                    due = withheld
            if not due or due[0][0] > now:
                return None
            entry = heapq.heappop(due)
            link = entry[1]
            if self._state[link] != WAITING:
                continue  # it was taken before
            host = self._hosts_of[link]
            if self._per_host and host.in_flight >= self._per_host:
                host.wait(link)
            elif host.free_at > now:
                heapq.heappush(self._due, (host.free_at, link))
            elif host.open and (until := self._slow.rests(link, host)) > now:
                heapq.heappush(self._due, (until, link))
            elif self._ready.may_ask(host):
                return link
            else:
                heapq.heappush(self._withheld[host.misses > 0], entry)

    def _free_to_go_on(self) -> list[list[tuple[float, LinkId]]]:
        """Of the links that were withheld, those that may be asked for now."""
        ready = self._ready
        heaps = zip(self._withheld, (ready.unproven, ready.late), strict=True)
        return [withheld for withheld, hosts in heaps if withheld and ready.open(hosts)]

    def next_ready(self, now: float) -> float | None:
        if self._ready.names():
            return now
        while self._unasked:
            if self._is_free(-math.inf, self._unasked[0]):
                return now
            self._unasked.popleft()
        times = []
        while self._later:
            if self._is_free(*self._later[0]):
                times.append(self._later[0][0])
                break
            heapq.heappop(self._later)
        due = self.next_due(now)
        if due is not None:
            times.append(due)
        return max(now, min(times)) if times else None

    def next_due(self, now: float) -> float | None:
        if self._free_to_go_on():
            return now
        return max(now, self._due[0][0]) if self._due else None

    def _busy(self, host: Host) -> bool:
        return bool(self._per_host) and host.in_flight >= self._per_host

    def hold(self, host: str, until: float) -> None:
        known = self._host(host)
        if until > known.free_at:
            known.free_at = until
            self._ready.remove(known)
            self._schedule(known)

    def open_of(self, host: str) -> int:
        known = self._hosts.get(host)
        return 0 if known is None else len(known.open)

    def rest(self, host: str, until: float) -> float:
        free_at = self._host(host).free_at
        self.hold(host, until)
        return free_at

    def wake(self, host: str, until: float, free_at: float) -> None:
        known = self._host(host)
        if known.free_at == until:
            known.free_at = free_at
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
        if self._slow.limit:
            self._slow.begin(link, host, now)
        if host.delay or self._busy(host):
            host.free_at = max(host.free_at, now + host.delay)
            self._ready.remove(host)
            self._schedule(host)
        if self._strangers:
            self._strangers.taken(host.name, link)
            self._call_stranger(host)
        return self.url(link), host.name

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        # Asked again at once: it was the process that ended, and the host is not to blame.
        self._end_request(link, now, judge=retry_at != now)
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
        self._call_stranger(self._hosts_of[link])

    def reopen(self, link: LinkId) -> None:
        if self._state[link] != DONE:
            raise CallerError(f"link {link} is not done with")
        self._state[link] = OPEN
        self._list_open(link, self._hosts_of[link])

    def redirect(self, link: LinkId, url: str, now: float, *, stranger: bool = False) -> bool:
        other = self.find(url)
        self._end_request(link, now)
        self._slow.done(link)
        if other is not None:
            if other == link or self._state[other] != OPEN or stranger:
                self._done(link)
                return False
            # The link replaces the other one, which is closed.
            self._unlist_open(other)
            self._done(other)
        self._rename(link, url)
        host = self._hosts_of[link] = self._host(host_of(url))
        self._state[link] = WAITING
        if stranger:
            self._strangers.wait(host.name, link)
        else:
            heapq.heappush(self._due, (now, link))
        self._call_stranger(host)
        return True

    def _call_stranger(self, host: Host) -> None:
        """Let a redirect from another domain be due, if it is the turn of one."""
        if self._strangers:
            link = self._strangers.call(host.name, own=bool(host.open))
            if link is not None:
                heapq.heappush(self._due, (host.free_at, link))

    def _rename(self, link: LinkId, url: str) -> None:
        self._ids[url] = link
        self._urls[link] = url

    def _end_request(self, link: LinkId, now: float, *, judge: bool = True) -> None:
        if self._state[link] != TAKEN:
            raise CallerError(f"link {link} is not taken")
        host = self._hosts_of[link]
        host.in_flight -= 1
        if self._slow.limit:
            in_time = self._slow.end(link, now)
            if judge and in_time is not None:
                self._answered(host, in_time=in_time)
        if host.ready is not None:
            return
        if self._per_host == 1:
            host.free_at = max(host.free_at, now + host.delay)
        self._schedule(host)

    def _done(self, link: LinkId) -> None:
        self._state[link] = DONE
        self._seen.pop(link, None)
        self._slow.done(link)

    # -- reading

    def url(self, link: LinkId) -> str:
        return self._urls[link]

    def find(self, url: str) -> LinkId | None:
        return self._ids.get(url)

    def depth(self, link: LinkId) -> int:
        return self._depth[link]

    def path(self, link: LinkId, most: int | None = None) -> Sequence[LinkId]:
        steps = [link]
        while len(steps) != most and (parent := self._parent[steps[-1]]) != NO_PARENT:
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
        state: dict[str, Any] = {
            "urls": list(self._urls),
            "aliases": [list(alias) for alias in aliases],
            "state": np.frombuffer(bytes(self._state), dtype=np.uint8),
            "parent": np.array(self._parent, dtype=np.int64),
            "depth": np.array(self._depth, dtype=np.int32),
            "open": np.array(self._open, dtype=np.int64),
            "due": [list(entry) for entry in self._due],
            "later": [list(entry) for entry in self._queued()],
            "ready": list(self._ready.proven.hosts),
            "hosts": [
                [h.name, h.delay, h.in_flight, h.free_at if np.isfinite(h.free_at) else None]
                for h in self._hosts.values()
            ],
            "host_open": [list(h.open) for h in self._hosts.values()],
            "host_waiting": [list(h.waiting) for h in self._hosts.values()],
            "seen": saved(self._seen),
        }
        if self._slow.limit:
            state["slow"] = self._slow_state() | {
                "unproven": self._ready.may_not_answer,
                "trust": [[h.trust, h.misses] for h in self._hosts.values()],
            }
        if self._strangers:
            numbers = {name: host.number for name, host in self._hosts.items()}
            state["strangers"] = self._strangers.save(numbers)
        return state

    def _slow_state(self) -> dict[str, Any]:
        """What is known of slow hosts, less what is kept by host."""
        withheld, late = ([list(entry) for entry in one] for one in self._withheld)
        return {"requests": self._slow.save(), "withheld": withheld, "withheld late": late}

    def _load_slow(self, state: Mapping[str, Any]) -> None:
        self._slow.load(state["requests"])
        withheld, late = state["withheld"], state.get("withheld late", ())
        self._withheld = [(time, link) for time, link in withheld], [tuple(one) for one in late]

    def load(self, state: State) -> None:
        self._urls = list(state["urls"])
        self._ids = {url: link for link, url in enumerate(self._urls)}
        self._ids |= dict(state["aliases"])
        self._state = bytearray(state["state"].tobytes())
        parents = state["parent"]
        if ((parents < NO_PARENT) | (parents >= np.arange(len(parents)))).any():
            raise ValueError("a link that was found on a later one")
        self._parent = array("q", parents.tolist())
        self._depth = array("i", state["depth"].tolist())
        self._hosts = {}
        for (name, delay, in_flight, free_at), links, waiting in zip(
            state["hosts"], state["host_open"], state["host_waiting"], strict=True
        ):
            clock = -np.inf if free_at is None else free_at
            self._hosts[name] = Host(
                name,
                delay,
                len(self._hosts),
                list(links) or (),
                in_flight,
                clock,
                list(waiting) or (),
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
        self._slow, self._withheld = SlowHosts(), ([], [])
        self._load_queues(state)
        self._seen = dict(revived(state["seen"]))

    def _load_queues(self, state: State) -> None:
        """Restore which hosts are slow or ready, and what waits for a time."""
        slow = state.get("slow")
        if slow is not None:
            self._load_slow(slow)
            for host, known in zip(self._hosts.values(), slow["trust"], strict=True):
                host.trust, host.misses = known
        self._ready = ReadyHosts(self._slow)
        unproven = () if slow is None else slow["unproven"]
        self._ready.restore(self._hosts, state["ready"], unproven)
        self._queue((time, name) for time, name in state["later"])
        self._due = [(time, link) for time, link in state["due"]]
        self._strangers = Strangers.of(state.get("strangers", ()), list(self._hosts))


class _MemoryOffer:
    """The open links of the hosts that are free and may be asked."""

    __slots__ = ("_frontier",)

    def __init__(self, frontier: MemoryFrontier) -> None:
        self._frontier = frontier

    def __len__(self) -> int:
        return self._frontier._ready.links

    def __contains__(self, link: object) -> bool:
        frontier = self._frontier
        if not isinstance(link, int) or not 0 <= link < len(frontier._state):
            return False
        if frontier._state[link] != OPEN:
            return False
        return frontier._ready.offers(frontier._hosts_of[link])

    def hosts(self) -> Collection[str]:
        return self._frontier._ready.names()

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        frontier = self._frontier
        size = len(self)
        if k >= size:
            return [link for name in self.hosts() for link in frontier._hosts[name].open]
        if size * 4 < len(frontier._open) or k * 2 > size:
            return self._draw_by_host(rng, k)
        # Most open links are on offer: draw from all of them, and drop those that are not.
        drawn: dict[LinkId, None] = {}
        while len(drawn) < k:
            link = frontier._open[int(rng.integers(len(frontier._open)))]
            if frontier._ready.offers(frontier._hosts_of[link]):
                drawn[link] = None
        return list(drawn)

    def _draw_by_host(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        """O(free hosts + k), for few free hosts or many links."""
        frontier = self._frontier
        hosts = [frontier._hosts[name].open for name in self.hosts()]
        ends = np.cumsum([len(links) for links in hosts])
        places = rng.choice(int(ends[-1]), size=k, replace=False)
        owners = np.searchsorted(ends, places, side="right")
        return [
            hosts[host][int(place - ends[host])] for host, place in zip(owners, places, strict=True)
        ]
