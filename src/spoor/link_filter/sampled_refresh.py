"""Which pages of a host a refresh asks for, so that it can say how many of the others changed.
Pure.

Hubs and the pages whose turn it is are asked for in any case, and say nothing of the others. A turn
is fixed by the URL, whatever pages come, go or change: each page is asked for at least once in
`TURNS` refreshes of which each goes on from the one before.

Of the others a sample is drawn: each page of the pool (those that were not asked for yet) with the
same probability, on its own. A page of it that is not what it was opens its group (its folder): all
of that is asked for. Then a bound is computed on how many pages of the pool had changed, from the
number in the sample alone; what was found of them is taken off. Where the rest is at most
`may_miss` of the pages left, these are left out. Else a larger sample is drawn of them, up to
`STAGES` times; then all are asked for.

The bound is exact whatever changes together: of K changed pages Binomial(K, rate) are in the
sample. Each stage may be wrong with a share of `RISK`, all stages of a host together with `RISK`.
Hosts are on their own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoor.hashing import hash64
from spoor.types import State

RISK = 0.05
"""Probability with which more may have changed than is said of a host."""

STAGES = 5
"""Samples of a host."""

SPENT = 0.8
"""Share of the risk that is left which a stage may take."""

HALF = 0.5
"""Rate from which on all pages are asked for at once."""

TURNS = 100
"""Refreshes that follow one another, in one of which it is a page's turn."""

_HUBS = 200
"""Of so many pages of a host one is asked for outside of the sample since it led to others."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sample says of a host."""

    host: str
    asked: int
    """Pages that were asked for."""
    changed: int
    """Of those."""
    left_out: int
    at_most: int
    """Pages that were left out and may have changed."""

    @property
    def in_words(self) -> str:
        """Why a page of the host was left out."""
        return (
            f"a sample of {self.host} speaks for it ({self.asked:,} pages asked for, "
            f"{self.changed:,} had changed; of the {self.left_out:,} left out at most "
            f"{self.at_most:,} did, at 95 %)"
        )


class HostSample:
    """The pages of one host, by number. `leads` are asked for with the first sample, outside of
    it."""

    def __init__(self, pages: Sequence[int] = (), leads: Collection[int] = ()) -> None:
        self.leads = frozenset(leads)
        self.pool = [page for page in pages if page not in self.leads]
        self.drawn: list[int] = []
        """Pages of the pool that are in the newest sample."""
        self.asked: set[int] = set()
        """Pages of the pool that are asked for; `drawn` among them."""
        self.rate = 0.0
        self.stage = 0
        self.done = False
        self.at_most = 0
        self._found = 0
        """Asked for at earlier stages, and not what it was."""
        self._earlier = 0
        """Asked for at earlier stages."""

    def draw(
        self, may_miss: float, uniform: Callable[[int, int], float], most: float = 1.0
    ) -> list[int]:
        """Draw the next sample, at a rate of `most` at most; the pages to ask for now. `uniform`:
        a number in [0, 1) for a stage and a page."""
        self.pool = [page for page in self.pool if page not in self.asked]
        self._earlier += len(self.asked)
        rate = rate_for(len(self.pool), may_miss, risk_at(self.stage)) * 2**self.stage
        rate = min(1.0 if rate >= HALF or self.stage == STAGES else rate, most)
        self.rate = rate
        self.drawn = [page for page in self.pool if uniform(self.stage, page) < rate]
        self.asked = set(self.drawn)
        self.stage += 1
        return self.drawn

    def keep(
        self, pages: Collection[int], may_miss: float, uniform: Callable[[int, int], float]
    ) -> list[int]:
        """Forget all pages but these, and draw the first sample to the end; the pages to ask for
        now. Neither goes by what the sample brought."""
        self.pool = [page for page in self.pool if page in pages]
        rate = rate_for(len(self.pool), may_miss, risk_at(0))
        self.rate = max(self.rate, rate)
        self.drawn = [page for page in self.pool if uniform(0, page) < self.rate]
        more = [page for page in self.drawn if page not in self.asked]
        self.asked = set(self.drawn)
        return more

    def next(
        self,
        may_miss: float,
        same: Collection[int],
        group: Callable[[int], str],
        uniform: Callable[[int, int], float],
        hubs: Collection[int] = (),
    ) -> list[int]:
        """The pages to ask for now that all came that were asked for; none where the rest is left
        out. `same`: pages that are what they were. `hubs`: leads that open no group."""
        while not self.done:
            changed = (self.asked | (self.leads - set(hubs))) - set(same)
            if changed:
                opened = {group(page) for page in changed}
                more = [p for p in self.pool if p not in self.asked and group(p) in opened]
                if more:
                    self.asked.update(more)
                    return more
            found = sum(page not in same for page in self.asked)
            left = len(self.pool) - len(self.asked)
            bound = most_in_all(
                sum(page not in same for page in self.drawn), self.rate, risk_at(self.stage - 1)
            )
            self.at_most = min(left, max(0, bound - found))
            self._found += found
            if not left or self.at_most <= may_miss * left:
                self.done = True
                self._found += len(self.leads - set(same))
                break
            if drawn := self.draw(may_miss, uniform):
                return drawn
        return []

    def told(self, host: str) -> Sampled:
        """In figures, once it is done."""
        asked = len(self.leads) + self._earlier + len(self.asked)
        left = len(self.pool) - len(self.asked)
        return Sampled(host, asked, self._found, left, self.at_most)

    def leaves_out(self, page: int) -> bool:
        """Whether a page is one of those that the sample spoke for in the end."""
        return self.done and page in self.pool and page not in self.asked

    def save(self) -> State:
        """What changes during the crawl."""
        columns = (self.leads, self.pool, self.drawn, self.asked)
        names = ("leads", "pool", "drawn", "asked")
        return {
            **{
                name: np.array(sorted(one), np.int64)
                for name, one in zip(names, columns, strict=True)
            },
            "row": [self.rate, self.stage, self.done, self.at_most, self._found, self._earlier],
        }

    @classmethod
    def load(cls, state: State) -> HostSample:
        """From `save`."""
        one = cls()
        one.leads = frozenset(state["leads"].tolist())
        one.pool, one.drawn = state["pool"].tolist(), state["drawn"].tolist()
        one.asked = set(state["asked"].tolist())
        one.rate, one.stage, one.done, one.at_most, one._found, one._earlier = state["row"]
        return one


def risk_at(stage: int) -> float:
    """The share of `RISK` that a stage may take, from 0; all stages together take less than it."""
    return float(RISK * SPENT * (1 - SPENT) ** stage)


def rate_for(pages: int, may_miss: float, risk: float) -> float:
    """The least rate of a sample that shows that at most `may_miss` of the pages left changed, if
    none in it did; 1 where no rate below `HALF` does."""
    if may_miss * pages < 1:
        return 1.0
    # (1 - rate)^K > risk for none of these K in the sample.
    most = np.floor(math.log(risk) / np.log1p(-_RATES))
    sample = _RATES * pages
    # A sample may well be larger than on average.
    left = pages - sample - 3 * np.sqrt(sample)
    enough = np.floor(may_miss * left) >= most
    return float(_RATES[np.argmax(enough)]) if enough.any() else 1.0


def pays(pages: int, may_miss: float) -> bool:
    """Whether a sample of so many pages of a host may spare the half of them."""
    return may_miss > 0 and rate_for(pages, may_miss, risk_at(0)) < HALF


_RATES = np.geomspace(1e-5, HALF, 400)


def most_in_all(hits: int, rate: float, risk: float) -> int:
    """The most pages K of which so few (`hits`) are in a sample of this rate with a probability
    above `risk`."""
    if rate >= 1.0:
        return hits
    if rate <= 0.0:
        return 1 << 60
    low, high = hits, hits + 1
    while _at_most(hits, high, rate) > risk:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _at_most(hits, middle, rate) > risk else (low, middle)
    return low


def _at_most(hits: int, of: int, rate: float) -> float:
    """P(Binomial(`of`, `rate`) ≤ `hits`)."""
    first = of * math.log1p(-rate)
    odds = math.log(rate) - math.log1p(-rate)
    terms, each = [first], first
    for count in range(min(hits, of)):
        each += math.log(of - count) - math.log(count + 1) + odds
        terms.append(each)
    most = max(terms)
    return min(1.0, math.exp(most) * math.fsum(math.exp(one - most) for one in terms))


def group_of(url: str) -> str:
    """The group that a changed page opens: its path with any query, or its folder."""
    path, mark, _ = url.partition("?")
    return path if mark else path.rpartition("/")[0]


def leads_of(
    pages: Sequence[int], hubs: Sequence[int], urls: Sequence[str], refresh: int
) -> list[int]:
    """Pages of a host that are asked for in any case: hubs, the best first, and those whose turn it
    is at this refresh. `refresh`: how many came before it."""
    most = -(-len(pages) // _HUBS)
    return list(dict.fromkeys((*hubs[:most], *due(pages, urls, refresh))))


def due(pages: Iterable[int], urls: Sequence[str], refresh: int) -> list[int]:
    """Pages whose turn it is at a refresh."""
    return [page for page in pages if turn_of(urls[page]) == refresh % TURNS]


def turn_of(url: str) -> int:
    """At which of `TURNS` refreshes it is a page's turn, from 0."""
    return hash64(url) % TURNS


def uniform_of(salt: str, urls: Sequence[str]) -> Callable[[int, int], float]:
    """A number in [0, 1) for a stage and a page, drawn by a hash of its URL."""

    def drawn(stage: int, page: int) -> float:
        text = f"{salt} {stage} {urls[page]}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest()) / 2**56

    return drawn


def in_json(told: Iterable[Sampled], most: int) -> dict[str, Any]:
    """Sums over hosts, and the hosts with most pages left out (`most` of them)."""
    hosts = sorted(told, key=lambda one: (-one.left_out, one.host))
    return {
        "hosts": len(hosts),
        "asked": sum(one.asked for one in hosts),
        "left_out": sum(one.left_out for one in hosts),
        "at_most": max((one.at_most / one.left_out for one in hosts if one.left_out), default=0.0),
        "by_host": [
            {
                "host": one.host,
                "asked": one.asked,
                "changed": one.changed,
                "left_out": one.left_out,
                "at_most": one.at_most,
            }
            for one in hosts[:most]
        ],
    }
