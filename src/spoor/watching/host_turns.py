"""In which order a watch asks for what it knows: hosts take turns, and at each host URLs that were
never asked for and known pages do."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import forget, remember
from spoor.learn.saved_attributes import PAIRS, Saved, attributes
from spoor.types import State
from spoor.watching.columns import Floats, Integers
from spoor.watching.known_urls import Known
from spoor.watching.page_rates import WORTH_A_TURN
from spoor.watching.urls import NEVER

SELDOM = 4
"""URLs that were never asked for, after which a known page comes that hardly brings anything."""

EXPLORES = 5
"""Visits to a host, of which one is to a URL that stood there at the first look and was never asked
for, while known pages are worth theirs: such a URL brings nothing new itself, but at most shows
where it stands."""

UNTRIED = 10.0
"""URLs of a shape that are taken to have been read, half of one of them on topic, before any is."""

BARREN = 5
"""URLs of a shape that led to nothing new, in a row, from which on it is no list to explore."""

MOST_SHAPES = 20_000
"""Shapes of URLs of which this is counted; those of which one was read longest ago leave."""

BEHIND = 8
"""Visits to a host between two to URLs to which only strangers link (`Urls.strangers`)."""


class HostTurns(Saved):
    """Whose turn it is at each host."""

    SAVED = attributes(_after_new=PAIRS)

    def __init__(self, known: Known) -> None:
        self._known = known
        self._after_new: dict[str, int] = {}
        """Host → visits in a row to URLs never asked for before."""
        self._since_seldom: dict[str, int] = {}
        """Host → such visits since the last one to a known page that hardly brings anything."""
        self._since_explored: dict[str, int] = {}
        """Host → its visits to known pages since the last to a URL that stood there at the first
        look."""
        self._likely: dict[str, int] = {}
        """Host → 1 where the next such URL is one that is likely to be on topic, else 0."""
        self._between: dict[str, int] = {}
        """Host → its visits since the last to a URL of strangers, where there are such."""
        self._tried: OrderedDict[int, tuple[int, int, int]] = OrderedDict()
        """Shape of URLs (`Urls.shape`) → those that were read, of these those on topic, and how
        many of those read last led to nothing that was not known."""

    def after(self, url: int) -> bool:
        """A URL is asked for; whether the turn of known pages that hardly bring anything has come
        where this one does not pay (`seldom_had_its_turn`)."""
        known, name = self._known, self._known.hosts[url]
        new_ones = self._after_new.pop(name, 0)
        since = self._since_seldom.get(name, 0)
        never_asked = known.fetched[url] == -np.inf
        if never_asked:
            self._after_new[name] = new_ones + 1
            self._since_seldom[name] = min(since + 1, SELDOM)
            if not known.came(url):
                self._since_explored[name] = 0
                self._likely[name] = 1 - self._likely.get(name, 0)
        elif (known_ones := self._since_explored.get(name, EXPLORES)) < EXPLORES:
            self._since_explored[name] = known_ones + 1
        if known.strangers:
            visits = self._between.get(name, 0)
            self._between[name] = 0 if url in known.strangers else visits + 1
        return bool(since) and not never_asked

    def seldom_had_its_turn(self, url: int) -> None:
        """It was that of a page that hardly brings anything."""
        del self._since_seldom[self._known.hosts[url]]

    def read(self, url: int) -> None:
        """A URL was read for the first time."""
        known, watching = self._known, self._known.watching
        assert watching is not None
        count, wanted, barren = self._tried.get(known.shape[url], (0, 0, 0))
        is_own = url in watching.wanted and url not in watching.copy_of
        its = count + 1, wanted + is_own, 0 if known.introduced[url] else barren + 1
        remember(self._tried, known.shape[url], its, MOST_SHAPES)

    def batch(
        self, may: NDArray[np.bool_], expected: Floats, worth: Floats, hosts: Integers, most: int
    ) -> list[int]:
        """The next visits, `most` and two of each host, of URLs that were never asked for and of
        the known pages that `may` be looked at. `expected`, `worth`: as of `PageRates.waiting`.
        `hosts`: the number of each URL's. O(URLs log URLs)."""
        known = self._known
        fresh, behind = self._fresh(hosts)
        seen = np.flatnonzero(may)
        seen = seen[np.argsort(-worth[seen], kind="stable")]
        # A host with many pages that wait for long keeps no page of others out.
        seen = seen[ranks(hosts[seen]) < most]
        # What appeared and known pages take turns, at each host by itself: where a budget lets one
        # request through at a time, hosts are free in a fixed order, and one would always meet the
        # same turn.
        names = known.numbered_hosts()
        # What stood there at the first look comes once in `EXPLORES`; a known page that brings
        # hardly anything yet comes after several of these.
        after_new = np.array([self._after_new.get(name, 0) > 0 for name in names], dtype=np.int64)
        since = np.array([self._since_seldom.get(name, 0) for name in names], dtype=np.int64)
        explored = np.array([self._since_explored.get(name, EXPLORES) for name in names])
        wait = 2 * np.maximum(EXPLORES - 1 - explored, 0)
        host, places_seen = hosts[seen], ranks(hosts[seen])
        places = 2 * places_seen
        seldom = 2 * SELDOM * places_seen + 2 * np.maximum(SELDOM - since, 0)[host] - 1
        seldom = EXPLORES * seldom + wait[host]
        turns_of_fresh = 2 * ranks(hosts[fresh]) + after_new[hosts[fresh]]
        old = np.isneginf(known.born(fresh))
        turns_of_fresh[old] = EXPLORES * turns_of_fresh[old] + wait[hosts[fresh[old]]]
        if behind.any():
            between = np.array([self._between.get(name, 0) for name in names], dtype=np.int64)
            last = EXPLORES * (2 * len(fresh) + 40 * most)
            soonest = np.where(between < BEHIND, last, 0)
            later = hosts[fresh[behind]]
            turns_of_fresh[behind] = 2 * BEHIND * ranks(later) + soonest[later]
        turns_of_seen = np.where(expected[seen] < WORTH_A_TURN, seldom, places)
        turns = np.concatenate([turns_of_fresh, turns_of_seen])
        both = np.concatenate([fresh, seen])[np.argsort(turns, kind="stable")]
        # Two of each host at least: one whose budget is spent keeps none out.
        first, rest = both[:most], both[most:]
        wanted = 2 - np.bincount(hosts[first], minlength=len(names))
        rest = rest[wanted[hosts[rest]] > 0]
        rest = rest[ranks(hosts[rest]) < wanted[hosts[rest]]]
        chosen: list[int] = [*first.tolist(), *rest.tolist()]
        return chosen

    def _fresh(self, numbers: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """URLs that were never asked for in their order, and whether only strangers link to each.

        First those whose links appeared last: what stood there at the first look can wait. Of that,
        first what a page links to that is new itself, then in turn what is likely to be a list (few
        links lead to it from a seed, it has a short path, and many pages link to it; that of which
        the last `BARREN` of its shape led to nothing that was not known comes behind), and what is
        likely to be on topic: of URLs of its shape the largest share was. What only strangers link
        to comes last.
        """
        known = self._known
        never = np.array(known.fetched) == -np.inf
        never[known.free()] = False
        urls = np.flatnonzero(never)
        if not len(urls):
            return urls, np.zeros(0, dtype=bool)
        cited = np.array(known.cited, dtype=np.int64)[urls]
        depth = np.array(known.depth, dtype=np.int64)[urls]
        clicks = np.array(known.clicks, dtype=np.int64)[urls]
        parents = np.array(known.parent, dtype=np.int64)[urls]
        young = (parents >= 0) & (known.born(parents) > -np.inf)
        of_strangers = np.zeros(len(never), dtype=bool)
        of_strangers[list(known.strangers)] = True
        behind = of_strangers[urls]
        born = known.born(urls)
        shares, barren = self._of_shapes(urls)
        order = np.lexsort((-cited, depth, clicks, barren, ~young, -born, behind))
        shares = shares[order]
        urls, behind, born, young = urls[order], behind[order], born[order], young[order]
        hosts = numbers[urls]
        turn = np.array([self._likely.get(name, 0) for name in known.numbered_hosts()])[hosts]
        likely = np.argsort(-shares, kind="stable")
        as_list, as_document = ranks(hosts), np.empty(len(urls), dtype=np.int64)
        as_document[likely] = ranks(hosts[likely])
        in_turn = np.minimum(2 * as_list + turn, 2 * as_document + 1 - turn)
        places = np.where(young | (born > NEVER), 0, in_turn)
        order = np.lexsort((places, ~young, -born, behind))
        return urls[order], behind[order]

    def _of_shapes(self, urls: Integers) -> tuple[Floats, NDArray[np.bool_]]:
        """Of URLs of the shape of each, the share that is expected to be on topic, and whether they
        lead to nothing that is not known."""
        shapes, places = np.unique(np.array(self._known.shape)[urls], return_inverse=True)
        tried = [self._tried.get(shape, (0, 0, 0)) for shape in shapes.tolist()]
        shares = np.array([(wanted + 0.5) / (count + UNTRIED) for count, wanted, _ in tried])
        barren = np.array([run >= BARREN for _, _, run in tried])
        return shares[places], barren[places]

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._after_new, self._since_seldom, self._since_explored)
        forget(left, self._likely, self._between)

    def save(self) -> State:
        own = {
            "between": self._between,
            "likely": self._likely,
            "since_seldom": self._since_seldom,
            "since_explored": self._since_explored,
        }
        saved: dict[str, Any] = {name: dict(its) for name, its in own.items() if its}
        if self._tried:
            saved["tried"] = [[shape, *its] for shape, its in self._tried.items()]
        return {**super().save(), **saved}

    def load(self, state: State) -> None:
        super().load(state)
        self._between = dict(state.get("between", {}))
        self._likely = dict(state.get("likely", {}))
        self._since_seldom = dict(state.get("since_seldom", {}))
        self._since_explored = dict(state.get("since_explored", {}))
        its = state.get("tried", ())
        self._tried = OrderedDict((shape, tuple(counts)) for shape, *counts in its)


def ranks(hosts: Integers) -> Integers:
    """The place of each URL, given by its host, among those of that host."""
    order = np.argsort(hosts, kind="stable")
    grouped = hosts[order]
    places = np.arange(len(order))
    begins = places.copy()
    begins[1:][grouped[1:] == grouped[:-1]] = 0
    by_place = np.empty(len(order), dtype=np.int64)
    by_place[order] = places - np.maximum.accumulate(begins)
    return by_place
