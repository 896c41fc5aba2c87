"""Places for links that wait: where they are used up, the domain with the most gives one up, so
that no domain takes those of others."""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from spoor.types import HeldLink, State
from spoor.web.urls import domain_of

TOO_MANY = "more links waited than may wait"

MOST_WAITING = 5_000
"""Links that wait for one reason; of others only the number is kept, of the domain with the most of
them."""


class WaitingPlaces:
    """How many links of each domain wait. O(log domains) a call; equal numbers go by name, so that
    the order of the calls changes no answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._links: Counter[str] = Counter()
        self._total = 0
        self._heap: list[tuple[int, str]] = []
        """Domains with the most first; one whose number is another is void."""

    def clear(self) -> None:
        """Nothing waits."""
        self._links.clear()
        self._heap.clear()
        self._total = 0

    def add(self, domain: str, links: int = 1) -> None:
        """So many links more of a domain wait, or fewer."""
        self._total += links
        self._links[domain] += links
        if not self._links[domain]:
            del self._links[domain]
            return
        heapq.heappush(self._heap, (-self._links[domain], domain))
        if len(self._heap) > 1_000 + 4 * len(self._links):
            self._heap = [(-count, name) for name, count in self._links.items()]
            heapq.heapify(self._heap)

    def too_many(self) -> str:
        """The domain that is to give up a link; empty where there is room."""
        if self._total <= self._most:
            return ""
        while -self._heap[0][0] != self._links.get(self._heap[0][1], 0):
            heapq.heappop(self._heap)
        return self._heap[0][1]


@dataclass(slots=True)
class _Group:
    domain: str
    links: OrderedDict[str, HeldLink] = field(default_factory=OrderedDict)
    """By URL, the one that waited longest first."""
    left: int = 0
    """Links that were too many."""


def _of_url(group: str, url: str) -> str:
    return domain_of(url)


class WaitingLinks:
    """Links that wait, in groups and in order, `MOST_WAITING` of all groups together; too many are
    the newest of the newest group of the domain with the most. All links of a group have one
    `domain(group, url)`, by default that of their URLs. A group is forgotten with its last link.
    O(log domains) a link."""

    def __init__(self, domain: Callable[[str, str], str] = _of_url) -> None:
        self._domain = domain
        self._groups: dict[str, _Group] = {}
        """None without links."""
        self._of_domain: dict[str, dict[str, None]] = {}
        """Domain → its groups."""
        self._places = WaitingPlaces(MOST_WAITING)
        self.lost = 0
        """Links that were too many, of groups of which none waits any more."""

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __contains__(self, group: object) -> bool:
        return group in self._groups

    def __iter__(self) -> Iterator[str]:
        """The groups, the oldest first; they may leave meanwhile."""
        return iter(list(self._groups))

    def add(self, group: str, held: HeldLink) -> None:
        """A link waits, if it does not already: then it counts that the frontier dropped it, which
        has to open it again."""
        if group in self._groups and held.link.url in (known := self._groups[group].links):
            if held.dropped:
                known[held.link.url] = held
            return
        self._add(group, held)
        while domain := self._places.too_many():
            newest = next(reversed(self._of_domain[domain]))
            self._groups[newest].left += 1
            self.newest(newest)

    def _add(self, group: str, held: HeldLink) -> None:
        url = held.link.url
        its = self._groups.get(group)
        if its is None:
            its = self._groups[group] = _Group(self._domain(group, url))
            self._of_domain.setdefault(its.domain, {})[group] = None
        its.links[url] = held
        self._places.add(its.domain)

    def _gone(self, group: str, links: int = 1) -> None:
        """So many links of a group wait no longer."""
        its = self._groups[group]
        self._places.add(its.domain, -links)
        if not its.links:
            self.lost += its.left
            del self._groups[group], self._of_domain[its.domain][group]
            if not self._of_domain[its.domain]:
                del self._of_domain[its.domain]

    def first(self, group: str) -> HeldLink | None:
        """The link of a group that waited longest, which waits no longer; None where none does."""
        return self._pop(group, newest=False)

    def newest(self, group: str) -> HeldLink | None:
        """The link of a group that waited least, which waits no longer; None where none does."""
        return self._pop(group, newest=True)

    def _pop(self, group: str, *, newest: bool) -> HeldLink | None:
        if group not in self._groups:
            return None
        _, held = self._groups[group].links.popitem(last=newest)
        self._gone(group)
        return held

    def drop(self, group: str, url: str) -> None:
        """A URL waits no longer in a group, if it did."""
        its = self._groups.get(group)
        if its is not None and its.links.pop(url, None) is not None:
            self._gone(group)

    def best(self, group: str, most: int, worth: Callable[[str], float]) -> list[HeldLink]:
        """So many links of a group, which wait no longer: those with the URLs that are worth most,
        more than 0; of equal ones those that waited longest. O(links)."""
        if group not in self._groups:
            return []
        links = self._groups[group].links
        best = heapq.nlargest(most, links, worth)
        found = [links.pop(url) for url in best if worth(url) > 0.0]
        self._gone(group, len(found))
        return found

    def all(self, group: str) -> list[HeldLink]:
        """All links of a group, which wait no longer."""
        if group not in self._groups:
            return []
        links = self._groups[group].links
        found = list(links.values())
        links.clear()
        self._gone(group, len(found))
        return found

    def leave(self, owns: Callable[[str], bool]) -> list[HeldLink]:
        """The links that the frontier dropped and that wait no longer, since `owns` says that their
        URLs are another shard's."""
        gone: list[HeldLink] = []
        for group in self:
            links = self._groups[group].links
            for url in [url for url, held in links.items() if held.dropped and not owns(url)]:
                gone.append(links.pop(url))
                self._gone(group)
        return gone

    def urls(self) -> Iterator[str]:
        """Those of all links that wait."""
        return chain.from_iterable(its.links for its in self._groups.values())

    def domains(self) -> list[str]:
        """Those of all links that wait."""
        return list(self._of_domain)

    def groups(self, domain: str) -> list[str]:
        """Those of a domain, the oldest first."""
        return list(self._of_domain.get(domain, ()))

    def domain(self, group: str) -> str:
        """The domain of a group with links that wait."""
        return self._groups[group].domain

    def count(self, group: str) -> int:
        """Links of a group that wait, with those that were too many."""
        its = self._groups.get(group)
        return 0 if its is None else len(its.links) + its.left

    def counts(self) -> dict[str, int]:
        """Group → its `count`."""
        return {group: self.count(group) for group in self._groups}

    def save(self) -> State:
        return {
            "waiting": [
                [group, [held.row() for held in its.links.values()]]
                for group, its in self._groups.items()
            ],
            "left": self.left(),
            "lost": self.lost,
        }

    def left(self) -> dict[str, int]:
        """Group with links that wait → its links that were too many, where there are any."""
        return {group: its.left for group, its in self._groups.items() if its.left}

    def load(self, state: State) -> None:
        self._groups.clear()
        self._of_domain.clear()
        self._places.clear()
        self.lost = state["lost"]
        for group, links in state["waiting"]:
            for row in links:
                self._add(group, HeldLink.of(row))
        for group, count in state["left"].items():
            self._groups[group].left = count


class HeldGroup(NamedTuple):
    """Links that are held back for one reason."""

    name: str
    links: int
    """How many wait."""
    why: str


class Holder:
    """What lets links wait in groups until something speaks for them: a limit, a share of a domain,
    what a group answers."""

    def __init__(self, waiting: WaitingLinks | None = None) -> None:
        self._waiting = WaitingLinks() if waiting is None else waiting
        self._freed: dict[str, None] = {}
        """Groups that may enter since the last release, where the holder frees whole groups."""

    def hold(self, group: str, held: HeldLink) -> None:
        """Let a link wait."""
        self._waiting.add(group, held)

    def leave(self, owns: Callable[[str], bool]) -> list[HeldLink]:
        """Links that were dropped and wait no longer, since their URLs are another shard's."""
        return self._waiting.leave(owns)

    def held_groups(self) -> Sequence[HeldGroup]:
        """What is told one by one of what is held back."""
        return ()

    def left_out(self) -> dict[str, int]:
        """Rule → links that it leaves out; of the groups that are not told one by one, links that
        wait, too."""
        lost = self._waiting.lost
        return {TOO_MANY: lost} if lost else {}

    def _free(self, group: str) -> None:
        """The links of a group may enter, if any wait."""
        if group in self._waiting:
            self._freed[group] = None

    def _all_freed(self) -> list[HeldLink]:
        """The links of the freed groups, which wait no longer."""
        freed, self._freed = [*self._freed], {}
        return [held for group in freed for held in self._waiting.all(group)]

    def save(self) -> State:
        return {**self._waiting.save(), "freed": [*self._freed]}

    def load(self, state: State) -> None:
        self._waiting.load(state)
        self._freed = dict.fromkeys(state["freed"])
