"""The most pages of a host or domain, and what waits for a place that is given back.

Pages in flight take places, too. One that fails or is redirected gives its place back, and so does
a found page that is relevant no longer; then the link that waited longest takes it.

A host with `www.` and one without are one, as in `--scope host`. A host that may have N pages may
have N links that come to nothing, too, so that one full of dead links costs no more than 2 N.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from spoor.link_filter.waiting_places import Holder
from spoor.types import HeldLink, State
from spoor.web.urls import bare_host, domain_of


class _Limit(NamedTuple):
    unit: str
    option: str
    most: int
    part: Callable[[str], str]
    """Of a URL, what the limit is of."""
    what: str


class PageLimits(Holder):
    """None: no limit. O(1) a call, O(limits reached) for a place that is given back."""

    def __init__(
        self, per_host: int | None, per_domain: int | None, found_per_host: int | None
    ) -> None:
        self._limits: dict[str, _Limit] = {}
        super().__init__()
        """Unit and host or domain → links that wait."""
        self.set(per_host, per_domain, found_per_host)
        self._pages: Counter[str] = Counter()
        """Unit and host or domain → pages in flight or fetched; of `found`, those found; of `vain`,
        links that came to nothing."""

    def set(self, per_host: int | None, per_domain: int | None, found_per_host: int | None) -> None:
        """Go on with other limits; None where there was none. O(hosts with links that wait)."""
        limits = (
            ("host", "--pages-per-host", per_host, bare_host, "pages"),
            ("vain", "--pages-per-host", per_host, bare_host, "links that came to nothing"),
            ("domain", "--pages-per-domain", per_domain, domain_of, "pages"),
            ("found", "--found-per-host", found_per_host or None, bare_host, "found"),
        )
        self._limits |= {
            unit: _Limit(unit, option, most, part, what)
            for unit, option, most, part, what in limits
            if most is not None
        }
        self._freed |= dict.fromkeys(self._waiting)

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
        for unit in ("host", "domain"):
            if unit in self._limits:
                self._add(f"{unit} {self._limits[unit].part(url)}", by)

    def found(self, url: str, by: int) -> None:
        """A page is relevant, or no longer."""
        if "found" in self._limits:
            self._add(f"found {bare_host(url)}", by)

    def in_vain(self, url: str) -> None:
        """A URL was requested, and there is nothing."""
        if "vain" in self._limits:
            self._add(f"vain {bare_host(url)}", 1)

    def _add(self, key: str, by: int) -> None:
        self._pages[key] += by
        if by < 0:
            self._free(key)

    def release(self, *, over: bool) -> list[HeldLink]:
        """Links for which there is a place. `over`: no other link is open."""
        if not (self._freed or (over and self._waiting)):
            return []
        keys, self._freed = list(self._waiting if over else self._freed), {}
        ready: list[HeldLink] = []
        for key in keys:
            room = self._limits[key.partition(" ")[0]].most - self._pages[key]
            # One that waits for one limit may meet another.
            while room > 0 and (held := self._waiting.first(key)) is not None:
                ready.append(held)
                room -= 1
        return ready

    def left_out(self) -> dict[str, int]:
        """Rule → links that wait for it, with those that were too many."""
        links: Counter[str] = Counter()
        for key, count in self._waiting.counts().items():
            limit = self._limits[key.partition(" ")[0]]
            links[f"{limit.option} {limit.most}"] += count
        return dict(links) | super().left_out()

    def save(self) -> State:
        return {**super().save(), "pages": dict(self._pages)}

    def load(self, state: State) -> None:
        self._pages = Counter(state["pages"])
        super().load(state)
