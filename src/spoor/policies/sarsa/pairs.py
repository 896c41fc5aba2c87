"""B, the frontier of state-action pairs of Han, Wuillemin and Senellart (2018, section 3.2)."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from spoor.columns import pieces_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import LinkId, State


_BITS = 32
_MASK = (1 << _BITS) - 1


class Pairs(dict[int, int]):
    """(s, a) pairs with the links that share them, in the order of their first entry:
    `pairs[pairs.of(state, host) + action]` is the number of a pair, added where it is new.
    All three are numbers below 2^32, and one integer costs less to look up than a tuple of them.

    Pairs are grouped by host, so that a pair whose host is busy costs nothing. A link is in as many
    pairs as its parents give it distinct (s, a). Only `ranked` pairs have a `best`.
    """

    def __init__(self, *, ranked: bool = True) -> None:
        super().__init__()
        self._ranked = ranked
        # Lists, since single items are faster to read from them than from arrays.
        self.state: list[int] = []
        self.action: list[int] = []
        self.host: list[int] = []
        self.hosts: list[str] = []
        self._host_number: dict[str, int] = {}
        self.size: list[int] = []
        # The link that leaves next, and its order; the other links of a pair, if any, are in a
        # heap. Most pairs hold one link, and without a container the garbage collector has less
        # to do.
        self._first: list[LinkId] = []
        self._order: list[float] = []
        self._others: dict[int, list[tuple[float, LinkId]]] = {}
        # Pairs that hold a link, and the index of each among them; their parts, if ranked.
        self.live = array("q")
        self._live_state, self._live_action, self._live_host = array("q"), array("q"), array("q")
        self._place: list[int] = []
        # Entries of a heap whose links have left the pair: pair · 2^32 + link.
        self._gone: set[int] = set()

    def host_number(self, name: str) -> int:
        number = self._host_number.get(name)
        if number is None:
            number = self._host_number[name] = len(self.hosts)
            self.hosts.append(name)
        return number

    @staticmethod
    def of(state: int, host: int) -> int:
        """To which the number of an action is added."""
        return (host << _BITS | state) << _BITS

    def __missing__(self, key: int) -> int:
        number = self[key] = len(self.state)
        self.state.append(key >> _BITS & _MASK)
        self.action.append(key & _MASK)
        self.host.append(key >> _BITS + _BITS)
        self.size.append(0)
        self._first.append(-1)
        self._order.append(0.0)
        self._place.append(-1)
        return number

    def enter(self, pair: int, link: LinkId, order: float) -> bool:
        """A link joins a pair that it is not in; the least `order` leaves first, then the link
        discovered first. Returns whether the pair holds others."""
        size = self.size[pair]
        self.size[pair] = size + 1
        if not size:
            self._first[pair], self._order[pair] = link, order
            self._revive(pair)
            return False
        if self._gone and (entry := pair << _BITS | link) in self._gone:
            self._gone.remove(entry)
            return True
        others = self._others.get(pair)
        if others is None:
            others = self._others[pair] = []
        first = self._order[pair], self._first[pair]
        if (order, link) < first:
            self._order[pair], self._first[pair] = order, link
            heapq.heappush(others, first)
        else:
            heapq.heappush(others, (order, link))
        return True

    def leave(self, pair: int, link: LinkId) -> bool:
        """A link leaves a pair that it is in. Returns whether the pair holds others."""
        size = self.size[pair] = self.size[pair] - 1
        if not size:
            self._end(pair)
            return False
        if self._first[pair] != link:
            self._gone.add(pair << _BITS | link)
        else:
            others, gone = self._others[pair], self._gone
            order, link = heapq.heappop(others)
            while gone and (entry := pair << _BITS | link) in gone:
                gone.remove(entry)
                order, link = heapq.heappop(others)
            self._order[pair], self._first[pair] = order, link
        return True

    def _end(self, pair: int) -> None:
        """Take a pair out of those that hold a link."""
        others = self._others.pop(pair, None)
        if others:
            self._gone.difference_update([pair << _BITS | link for _, link in others])
        live, place = self.live, self._place[pair]
        last = live.pop()
        if last != pair:
            live[place], self._place[last] = last, place
        if self._ranked:
            for column in (self._live_state, self._live_action, self._live_host):
                moved = column.pop()
                if last != pair:
                    column[place] = moved

    def _revive(self, pair: int) -> None:
        """Enter a pair among those that hold a link."""
        self._place[pair] = len(self.live)
        self.live.append(pair)
        if self._ranked:
            self._live_state.append(self.state[pair])
            self._live_action.append(self.action[pair])
            self._live_host.append(self.host[pair])

    def head(self, pair: int) -> LinkId:
        """The link that a live pair gives."""
        return self._first[pair]

    def gives(self, link: LinkId, among: Iterable[int]) -> int:
        """How many of these live pairs give this link."""
        ways = 0
        for pair in among:
            ways += self._first[pair] == link
        return ways

    def best(
        self, f: NDArray[np.float64], g: NDArray[np.float64], free: Collection[str] | None
    ) -> int:
        """The live pair of the highest f[state] + g[action] whose host is free (None: all are); a
        tie goes to the pair that was entered first. LookupError if none is live.

        A few passes over the live pairs: two look-ups, an addition, the highest, its equals.
        """
        if not self.live:
            raise LookupError("no pair holds a link")
        values = f.take(np.frombuffer(self._live_state, dtype=np.int64))
        values += g.take(np.frombuffer(self._live_action, dtype=np.int64))
        if free is not None:
            busy = np.array([0.0 if name in free else -np.inf for name in self.hosts])
            values += busy.take(np.frombuffer(self._live_host, dtype=np.int64))
        highest = values.max()
        if highest == -np.inf:
            raise LookupError("no pair holds a link on offer")
        equal = (values == highest).nonzero()[0]
        return int(np.frombuffer(self.live, dtype=np.int64)[equal].min())

    def save(self) -> State:
        """Links of each pair in the order they would leave."""
        flat: list[tuple[float, LinkId]] = []
        for pair, size in enumerate(self.size):
            if size:
                flat.append((self._order[pair], self._first[pair]))
                others = self._others.get(pair, ())
                flat += sorted(
                    entry for entry in others if (pair << _BITS | entry[1]) not in self._gone
                )
        return {
            "state": np.array(self.state, dtype=np.int64),
            "action": np.array(self.action, dtype=np.int64),
            "host": np.array(self.host, dtype=np.int64),
            "hosts": list(self.hosts),
            "size": np.array(self.size, dtype=np.int64),
            "links": np.array([link for _, link in flat], dtype=np.int64),
            "order": np.array([order for order, _ in flat], dtype=np.float64),
            "live": np.array(self.live),
        }

    @classmethod
    def restored(cls, state: State, *, ranked: bool = True) -> Pairs:
        """The pairs of a saved state."""
        pairs = cls(ranked=ranked)
        for name in state["hosts"]:
            pairs.host_number(name)
        columns = (state[name].tolist() for name in ("state", "host", "action"))
        for of_state, host, action in zip(*columns, strict=True):
            pairs[cls.of(of_state, host) + action]
        links = [*zip(state["order"].tolist(), state["links"].tolist(), strict=True)]
        for pair, its in enumerate(pieces_of(links, state["size"])):
            pairs.size[pair] = len(its)
            if its:
                pairs._order[pair], pairs._first[pair] = its[0]
                if len(its) > 1:
                    pairs._others[pair] = its[1:]
        for pair in state["live"].tolist():
            pairs._revive(pair)
        return pairs
