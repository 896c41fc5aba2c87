"""All that a fleet knows of every URL it has seen, what it leaves of that, and its state."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence

import numpy as np

from spoor.bounded import forget
from spoor.types import State
from spoor.watching import crowding
from spoor.watching.compact_tables import filled
from spoor.watching.compaction import Compaction
from spoor.watching.page_states import Describe
from spoor.watching.urls import NEVER
from spoor.watching.visits import Admit
from spoor.watching.watched_links import LinkedLooks
from spoor.watching.watching import Watching
from spoor.web.urls import host

_MOST_AHEAD = 1e10
"""Seconds that a machine's clock may have been wrong: beyond, dates have no year."""


class Known(LinkedLooks):
    """Every URL that a fleet has seen."""

    def __init__(
        self, describe: Describe, admit: Admit | None = None, watching: Watching | None = None
    ) -> None:
        super().__init__(describe, admit, watching)
        self._crowded_from = crowding.MOST_KNOWN
        """URLs in all, beyond which a domain may have too many."""
        self._first: set[int] | None = None
        """URLs that stood there at the first look, before anything could leave."""

    # -- for good

    def begin_compaction(self, oldest: float, now: float) -> bool:
        """Begin to leave URLs about which nothing was new since `oldest`; False where there can be
        none yet."""
        watching = self.watching
        assert watching is not None
        watching.age(now)
        if self._first is None and not any(NEVER < at < oldest for at in self.active):
            return False
        self._begin(oldest)
        return True

    def _begin(self, oldest: float, oldest_of: Mapping[str, float] | None = None) -> None:
        if self._first is None:
            self._first = {url for url, born in enumerate(self._born) if born == NEVER}
        self._compaction = Compaction(len(self.urls), oldest, oldest_of)

    @property
    def may_be_crowded(self) -> bool:
        """Whether it is time to `relieve` a domain of which too much is known."""
        return self._weight > self._crowded_from and self._compaction is None

    @property
    def _weight(self) -> int:
        """For how many URLs all that are known count, at most."""
        size = self._links.rows.size + (
            0 if self.watching is None else self.watching.contents.rows.size
        )
        return len(self) + int(size / crowding.BYTES)

    def relieve(self, now: float) -> bool:
        """Begin to leave what is at rest longest of domains of which too much is known
        (`crowding`); False where there are none. O(URLs)."""
        watching, count = self.watching, len(self.urls)
        assert watching is not None
        sizes = self._links.rows.sizes(count) + watching.contents.rows.sizes(count)
        oldest_of = crowding.oldest_of(self, crowding.weights(sizes))
        # What cannot leave is not looked at again before more has come.
        self._crowded_from = crowding.looked_at_from(self._weight)
        if not oldest_of:
            return False
        watching.age(now)
        self._begin(NEVER, oldest_of)
        return True

    @property
    def compacts(self) -> bool:
        """Whether one is under way."""
        return self._compaction is not None

    def compact(self, held: Container[int]) -> list[int]:
        """A slice of it: the URLs that are to `leave` now. Hubs stay, what is `held`, and what a
        hub links to, or a page about which something was new. So does what stood there at the first
        look of a page in the beginning (the site itself), with what that links to now."""
        compaction, first = self._compaction, self._first
        assert compaction is not None
        assert first is not None
        oldest, active, parent = compaction.oldest, self.active, self.parent
        oldest_of, hosts = compaction.oldest_of, self.hosts

        def rests(url: int) -> bool:
            return (
                active[url] < oldest_of.get(hosts[url], oldest)
                and parent[url] >= 0
                and url not in first
                and url not in held
                and url not in self.hubs
                and url not in self.sitemaps
                and url not in self.hints.open
            )

        left, over = compaction.slice(self, rests)
        if over:
            self._compaction = None
            self._crowded_from = crowding.looked_at_from(self._weight - len(left))
        return left

    def leave(self, left: Sequence[int], told: Container[int], now: float) -> None:
        """As `Urls.leave`, with all that is known of them."""
        watching, gone = self.watching, set(left)
        assert watching is not None
        hosts = {url: self.hosts[url] for url in left}
        super().leave(left, told, now)
        self.states[left] = 0.0
        for known in (self._unsettled, self.hubs, self.sitemaps):
            known -= gone
        forget(left, self._absent, self.again)
        self.doubted = {
            url: other for url, other in self.doubted.items() if not {url, other} & gone
        }
        self.hints.leave(gone)
        self.promises.leave(gone)
        self.boxes.leave(gone)
        self.emptied.leave(gone)
        self.kinds.leave(gone)
        self.listed.leave(gone)
        watching.leave(hosts)
        left_hosts = self.hosts_left
        for tables in (self.boxes, self.emptied, self.promises, self.kinds, watching):
            tables.leave_hosts(left_hosts)
        forget(left_hosts, self.left_out)

    def save(self) -> State:
        count = len(self.urls)
        return {
            "urls": self.urls,
            "states": self.states[:count].copy(),
            "date": np.array(self.date, dtype=np.float64),
            "digests": np.array(self.digests, dtype=np.uint64),
            "version": np.array(self.version, dtype=np.int64),
            "fetched": np.array(self.fetched, dtype=np.float64),
            "looked": np.array(self.looked, dtype=np.float64),
            "not_before": np.array(self.not_before, dtype=np.float64),
            "dead": np.array(self.dead, dtype=np.float64),
            "born": np.array(self._born, dtype=np.float64),
            "links": self._links.save(),
            **self.redirects.save(),
            "unsettled": sorted(self._unsettled),
            "describe": self._describe.save(),
            "parent": np.array(self.parent, dtype=np.int64),
            "clicks": np.array(self.clicks, dtype=np.int64),
            "sitemaps": sorted(self.sitemaps),
            "hubs": sorted(self.hubs),
            "left_out": dict(self.left_out),
            "crowded_from": self._crowded_from,
            "ahead": self.ahead,
            "absent": [list(one) for one in self._absent.items()],
            "doubted": [list(one) for one in self.doubted.items()],
            "again": [list(one) for one in self.again.items()],
            "active": np.array(self.active, dtype=np.float64),
            "left": self.left.save(),
            "told_before": sorted(self.told_before),
            "free": list(self._free),
            "first": None if self._first is None else sorted(self._first),
            "compaction": None if self._compaction is None else self._compaction.save(),
            "hints": self.hints.save(),
            "promises": self.promises.save(),
            "boxes": self.boxes.save(),
            "emptied": self.emptied.save(),
            "kinds": self.kinds.save(),
            "listed": self.listed.save(),
            "watching": None if self.watching is None else self.watching.save(),
            "strangers": list(map(list, self.strangers.items())),
        }

    def load(self, state: State) -> None:
        self._describe.load(state["describe"])
        self.urls = list(state["urls"])
        self.hosts = [sys.intern(host(url)) if url else "" for url in self.urls]
        self._host_names, self._host_numbers = {}, []
        self.redirects.load(state)
        self._numbers = {url: number for number, url in enumerate(self.urls) if url}
        rows = np.array(state["states"], dtype=np.float32)
        spare = max(1024, 2 * len(rows)) - len(rows)
        self.states = np.vstack([rows, np.zeros((spare, rows.shape[1]), dtype=np.float32)])
        self.date = filled("d", state["date"])
        self.digests = filled("Q", state["digests"])
        self.version = filled("i", state["version"])
        self.fetched = filled("d", state["fetched"])
        self.looked = filled("d", state["looked"])
        self.not_before = filled("d", state["not_before"])
        self.dead = filled("d", state["dead"])
        self._born = filled("d", state["born"])
        self._keys = filled("q", [0] * len(self.urls))
        self._links.load(state["links"], len(self.urls))
        self._unsettled = set(state["unsettled"])
        self.parent = filled("i", state["parent"])
        self.clicks = filled("i", state["clicks"])
        self.sitemaps, self.hubs = set(state["sitemaps"]), set(state["hubs"])
        self.left_out = dict(state["left_out"])
        self.ahead = float(state["ahead"])
        if not abs(self.ahead) < _MOST_AHEAD:
            raise ValueError("a clock is no clock of any machine")
        self._crowded_from = int(state["crowded_from"])
        self._absent = {int(url): since for url, since in state["absent"]}
        self.again = {int(url): at for url, at in state["again"]}
        self.doubted = dict(map(tuple, state["doubted"]))
        self.active = filled("d", state["active"])
        self.left.load(state["left"])
        self.told_before = set(state["told_before"])
        self._free = list(state["free"])
        self._first = None if state["first"] is None else set(state["first"])
        compaction = state["compaction"]
        self._compaction = None if compaction is None else Compaction.revive(compaction)
        if self.entered is not None:
            self.entered = []
        self.hints.load(state["hints"])
        self.promises.load(state["promises"])
        self.released = []
        self.boxes.load(state["boxes"])
        if "emptied" in state:
            self.emptied.load(state["emptied"])
            self.kinds.load(state["kinds"])
            self.listed.load(state["listed"])
        if self.watching is not None:
            self.watching.load(state["watching"])
            self.strangers = {int(url): by for url, by in state["strangers"]}
            self._count_waiting()
        self._count_links()
