"""The most pages of a host or domain, and what waits for a place that is given back.

Pages in flight take places, too. One that fails or is redirected gives its place back, and so does
a found page that is relevant no longer; then the link that waited longest takes it. Of links that
wait beyond `_WAITING` only the number is kept, of the domain with the most of them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from spoor.types import HeldLink, State
from spoor.web.urls import domain_of, host
from spoor.web.waiting_places import WaitingPlaces

_WAITING = 5_000
"""Links that wait."""


class _Limit(NamedTuple):
    unit: str
    option: str
    most: int
    part: Callable[[str], str]
    """Of a URL, what the limit is of."""
    what: str


class PageLimits:
    """None: no limit. O(1) a call, O(limits reached) for a place that is given back."""

    def __init__(
        self, per_host: int | None, per_domain: int | None, found_per_host: int | None
    ) -> None:
        limits = (
            ("host", "--pages-per-host", per_host, host, "pages"),
            ("domain", "--pages-per-domain", per_domain, domain_of, "pages"),
            ("found", "--found-per-host", found_per_host or None, host, "found"),
        )
        self._limits = {
            unit: _Limit(unit, option, most, part, what)
            for unit, option, most, part, what in limits
            if most is not None
        }
        self._pages: Counter[str] = Counter()
        """Unit and host or domain → pages in flight or fetched; of `found`, those found."""
        self._waiting: dict[str, OrderedDict[str, HeldLink]] = {}
        """The same → links that wait, by URL."""
        self._places = WaitingPlaces(_WAITING)
        self._keys_of: dict[str, dict[str, None]] = {}
        """Domain → keys of its links that wait."""
        self._left: Counter[str] = Counter()
        """Unit → links that were too many."""
        self._freed: dict[str, None] = {}
        """Keys of which a place was given back since the last release."""

    def full(self, url: str) -> str:
        """The key of a limit that a URL would exceed; empty where there is none."""
        for unit, limit in self._limits.items():
            key = f"{unit} {limit.part(url)}"
            if self._pages[key] >= limit.most:
                return key
        return ""

    def why(self, key: str) -> str:
        """In words."""
        unit, _, part = key.partition(" ")
        limit = self._limits[unit]
        return f"{part} has had its {limit.most} {limit.what}"

    def count(self, url: str, by: int) -> None:
        """A page begins, or one that began is none."""
        for unit, limit in self._limits.items():
            if unit != "found":
                self._add(f"{unit} {limit.part(url)}", by)

    def found(self, url: str, by: int) -> None:
        """A page is relevant, or no longer."""
        if "found" in self._limits:
            self._add(f"found {host(url)}", by)

    def _add(self, key: str, by: int) -> None:
        self._pages[key] += by
        if by < 0 and key in self._waiting:
            self._freed[key] = None

    def hold(self, key: str, held: HeldLink) -> None:
        """Let a link wait for a place."""
        waiting = self._waiting.setdefault(key, OrderedDict())
        url = held.link.url
        if url in waiting:
            if held.dropped:
                waiting[url] = held
            return
        domain = domain_of(url)
        waiting[url] = held
        self._keys_of.setdefault(domain, {})[key] = None
        self._places.add(domain)
        while fullest := self._places.too_many():
            last = next(reversed(self._keys_of[fullest]))
            self._left[last.partition(" ")[0]] += 1
            self._waiting[last].popitem()
            self._gone(last, fullest)

    def _gone(self, key: str, domain: str) -> None:
        self._places.add(domain, -1)
        if not self._waiting[key]:
            del self._waiting[key], self._keys_of[domain][key]
            self._freed.pop(key, None)
            if not self._keys_of[domain]:
                del self._keys_of[domain]

    def release(self, *, over: bool) -> list[HeldLink]:
        """Links for which there is a place. `over`: no other link is open."""
        if not (self._freed or (over and self._waiting)):
            return []
        keys, self._freed = list(self._waiting if over else self._freed), {}
        ready: list[HeldLink] = []
        for key in keys:
            room = self._limits[key.partition(" ")[0]].most - self._pages[key]
            # One that waits for one limit may meet another.
            while room > 0 and key in self._waiting:
                _, held = self._waiting[key].popitem(last=False)
                self._gone(key, domain_of(held.link.url))
                ready.append(held)
                room -= 1
        return ready

    def leave(self, owns: Callable[[str], bool]) -> list[HeldLink]:
        """Links that were dropped and wait no longer, since their URLs are another shard's."""
        gone: list[HeldLink] = []
        for key, waiting in list(self._waiting.items()):
            for url in [url for url, one in waiting.items() if one.dropped and not owns(url)]:
                gone.append(waiting.pop(url))
                self._gone(key, domain_of(url))
        return gone

    def left_out(self) -> dict[str, int]:
        """Rule → links that it left out."""
        links = self._left.copy()
        for key, waiting in self._waiting.items():
            links[key.partition(" ")[0]] += len(waiting)
        limits = self._limits
        return {
            f"{limits[unit].option} {limits[unit].most}": count for unit, count in links.items()
        }

    def save(self) -> State:
        """Go on with `load`."""
        return {
            "waiting": [
                [key, [held.row() for held in its.values()]] for key, its in self._waiting.items()
            ],
            "keys": {domain: list(keys) for domain, keys in self._keys_of.items()},
            "left": dict(self._left),
            "freed": list(self._freed),
        }

    @property
    def pages(self) -> dict[str, int]:
        """What is counted."""
        return dict(self._pages)

    def load(self, pages: Mapping[str, int], state: State | None) -> None:
        """Go on from `pages` and `save`; a state of before has no links that wait."""
        self._pages = Counter(pages)
        self._waiting, self._keys_of, self._freed = {}, {}, {}
        self._places.clear()
        self._left = Counter() if state is None else Counter(state["left"])
        for key, rows in () if state is None else state["waiting"]:
            self._load(key, map(HeldLink.of, rows))
        if state is not None:
            self._keys_of = {at: dict.fromkeys(keys) for at, keys in state["keys"].items()}
            self._freed = dict.fromkeys(state["freed"])

    def _load(self, key: str, links: Iterable[HeldLink]) -> None:
        its = self._waiting[key] = OrderedDict((held.link.url, held) for held in links)
        for url in its:
            self._places.add(domain_of(url))
