"""The pages of an earlier run, and which of them a crawl asks for again.

What a sitemap (`lastmod`) or the page itself (`Cache-Control`, or its age) calls unchanged is left
out, but for a sample of each host, which is asked first: where more than `WRONG` of it did change,
that word counts for nothing at that host, and all of it is asked for. Where a share of the changes
may be missed (`may_miss`), the sample of a host speaks for pages of which nobody says anything
(`sampled_refresh.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spoor.durations import DAY
from spoor.hashing import hash64
from spoor.link_filter.sampled_refresh import (
    HostSample,
    due,
    group_of,
    in_json,
    leads_of,
    pays,
    uniform_of,
)
from spoor.link_filter.waiting_places import Holder
from spoor.types import NO_PARENT, Anchor, Failed, Fetched, HeldLink, Link, Outcome, State
from spoor.web.urls import host

KIND = "earlier"
"""Of the links to these pages."""

SAMPLED = 20
"""Of so many pages of a host one is asked for whatever is said of it."""

LEAST_SAMPLE = 5
"""Pages of a host that are asked for at least."""

WRONG = 0.05
"""Share of the sample of a host that may have changed against the word of who called it unchanged;
in [0, 1]."""


SHOWN = 20
"""Hosts whose samples are told one by one."""


class Revisits(Holder):
    """Pages of an earlier run by URL: when each was `fetched`, and until when it is `fresh` by its
    own word (Unix seconds). `known`: hashes (`hash64`) of other URLs that it knew, which are no
    news. At most `most_new` pages that it did not have are taken (None: no limit). `hints`: pages
    that are called unchanged are left out. `listed`: what sitemaps list is news, too. `may_miss`:
    the share of the pages left out at a host that may have changed, at 95 %; 0: what nobody speaks
    for is asked for. `hubs`: pages that led to others, those that led to most first. `refresh`: how
    many refreshes came before this one, of which each begins with what the one before had.
    """

    def __init__(
        self,
        urls: Sequence[str] = (),
        fetched: Sequence[float] = (),
        fresh: Sequence[float] = (),
        known: Iterable[int] = (),
        *,
        began: float = 0.0,
        most_new: int | None = None,
        hints: bool = True,
        listed: bool = False,
        may_miss: float = 0.0,
        hubs: Sequence[int] = (),
        refresh: int = 0,
    ) -> None:
        self.urls = urls
        self.numbers = {url: number for number, url in enumerate(urls)}
        self.most_new = most_new
        self._fetched, self._fresh, self._began = fetched, fresh, began
        self._known = frozenset(known)
        self._hints, self._listed = hints, listed
        self._may_miss, self._hubs, self._refresh = may_miss, hubs, refresh
        self._dated: dict[int, float] = {}
        """Page → when it changed last, by a sitemap."""
        self._changed: set[int] = set()
        """Of the sample."""
        self._same: set[int] = set()
        """Pages that are what they were, where samples are drawn."""
        self._samples: dict[str, HostSample] = {}
        self._uniform = uniform_of(repr(began), urls)
        self._released = False
        self._new = 0
        super().__init__()
        """New pages beyond `most_new` wait, while others may still fail or for a larger budget."""
        self.called_unchanged: Counter[str] = Counter()
        """Who called pages unchanged → how many were not asked for."""
        self._left: dict[str, set[int]] = {}
        """The same → these pages."""

    def __contains__(self, url: object) -> bool:
        return url in self.numbers

    def __len__(self) -> int:
        return len(self.urls)

    def first(self) -> list[Link]:
        """What is asked for at once: the sample of each host, evenly spread over its pages, or
        drawn where it speaks for others; all where nobody's word counts."""
        asked = [
            number
            for name, numbers in self._by_host().items()
            for number in self._first(name, numbers)
        ]
        self._released = not self._hints and not self._may_miss
        return [_link(self.urls[number]) for number in asked]

    def _first(self, name: str, numbers: Sequence[int]) -> Sequence[int]:
        if not pays(len(numbers), self._may_miss):
            return self._checks(numbers)
        own = set(numbers)
        hubs = [number for number in self._hubs if number in own]
        leads = leads_of(numbers, hubs, self.urls, self._refresh)
        sample = self._samples[name] = HostSample(numbers, leads)
        most = 1 / SAMPLED if self._hints else 1.0
        return [*leads, *sample.draw(self._may_miss, self._uniform, most)]

    def _checks(self, numbers: Sequence[int]) -> Sequence[int]:
        """Pages of a host without a sample that are asked for whatever is said of them."""
        if not self._hints:
            return numbers
        count = min(len(numbers), max(LEAST_SAMPLE, len(numbers) // SAMPLED))
        spread = [numbers[place * len(numbers) // count] for place in range(count)]
        return [*dict.fromkeys((*spread, *due(numbers, self.urls, self._refresh)))]

    def _group(self, number: int) -> str:
        return group_of(self.urls[number])

    def _by_host(self) -> dict[str, list[int]]:
        hosts: dict[str, list[int]] = {}
        for number, url in enumerate(self.urls):
            hosts.setdefault(host(url), []).append(number)
        return hosts

    def is_news(self, link: Link, *, listed: bool) -> bool:
        """Whether a link leads to what the earlier run did not know. `listed`: by a sitemap."""
        if link.kind == "sitemap":
            return True
        if listed and not self._listed:
            return False
        return link.url not in self.numbers and hash64(link.url) not in self._known

    def barred(self, flying: Iterable[str]) -> str:
        """Why one more page that is new is not taken, with these in flight."""
        return f"{self.most_new} new pages were taken" if self._room(flying) < 1 else ""

    def _room(self, flying: Iterable[str]) -> float:
        if self.most_new is None:
            return math.inf
        return self.most_new - self._new - sum(one not in self for one in flying)

    def release(self, flying: Iterable[str]) -> list[HeldLink]:
        """Those of them that may be taken now, by turns of their domains."""
        if not self._waiting:
            return []
        room, ready = self._room(flying), list[HeldLink]()
        while self._waiting and len(ready) < room:
            for domain in self._waiting:
                if len(ready) < room and (held := self._waiting.first(domain)) is not None:
                    ready.append(held)
        return ready

    def left_out(self) -> dict[str, int]:
        barred = sum(self._waiting.counts().values()) + self._waiting.lost
        return {f"--pages {self.most_new}": barred} if barred else {}

    def read(self, dated: Iterable[tuple[str, float]]) -> None:
        """What a sitemap says of pages: (URL, when it changed last)."""
        for url, date in dated:
            if (number := self.numbers.get(url)) is not None:
                # A date without a time is any moment of that day.
                last = date + DAY - 1.0 if date % DAY == 0 else date
                self._dated[number] = max(last, self._dated.get(number, last))

    def ended(self, url: str, outcome: Outcome) -> None:
        """What came of a page that was asked for at this URL."""
        reply = outcome.reply
        number = self.numbers.get(url)
        if number is None:
            self._new += isinstance(reply, Fetched) and "sitemap" not in reply.page.flags
        elif not isinstance(reply, Failed) or reply.kind == "absent":
            self._changed.add(number)
        elif self._may_miss and reply.kind == "unchanged":
            self._same.add(number)

    def rest(self) -> list[HeldLink]:
        """The pages that are asked for, too, once all that was asked for is there; none in the
        end."""
        asked: list[int] = []
        hubs = frozenset(self._hubs)
        said, self._released = self._released, True
        for name, numbers in [] if said else self._by_host().items():
            asked += self._unsaid(name, numbers)
        for one in [] if asked else self._samples.values():
            asked += one.next(self._may_miss, self._same, self._group, self._uniform, hubs)
        return [HeldLink(_link(self.urls[one]), NO_PARENT, 0.0, 0, False) for one in asked]

    def _unsaid(self, name: str, numbers: Sequence[int]) -> list[int]:
        """The pages of a host that are not asked for and that nobody calls unchanged whose word
        counts; the others are left out."""
        drawn = self._samples.get(name)
        sample = {*drawn.asked, *drawn.leads} if drawn else set(self._checks(numbers))
        said = {one: self._said(one) if self._hints else "" for one in numbers}
        seen = Counter(said[one] for one in sample)
        wrong = Counter(said[one] for one in sample & self._changed)
        left = {one for one, who in said.items() if who and wrong[who] <= WRONG * seen[who]}
        self.called_unchanged.update(said[one] for one in left - sample)
        for one in left - sample:
            self._left.setdefault(said[one], set()).add(one)
        if drawn:
            return drawn.keep(set(numbers) - left, self._may_miss, self._uniform)
        return [one for one in numbers if one not in sample and one not in left]

    def samples(self) -> dict[str, Any] | None:
        """What the samples of hosts say, as a summary has it; None where none was drawn."""
        if not self._samples:
            return None
        return in_json((one.told(name) for name, one in self._samples.items() if one.done), SHOWN)

    def why_left_out(self, url: str) -> str:
        """The rule by which a page of the earlier run was left out, and the option that asks for
        it; empty where none was."""
        number = self.numbers.get(url)
        if number is None:
            return ""
        name = host(url)
        for who, numbers in self._left.items():
            if number in numbers:
                return f"{who} called it unchanged: --no-hints asks for it"
        drawn = self._samples.get(name)
        if drawn is None or not drawn.leaves_out(number):
            return ""
        return f"{drawn.told(name).in_words}: --may-miss 0 asks for it"

    def _said(self, number: int) -> str:
        """Who says that a page is unchanged; empty for nobody."""
        date = self._dated.get(number)
        if date is not None:
            return "its sitemap" if date <= self._fetched[number] else ""
        return "its own headers" if self._fresh[number] > self._began else ""

    def save(self) -> State:
        """What changes during the crawl."""
        return {
            "dated": np.array(list(self._dated.items()), dtype=np.float64).reshape(-1, 2),
            "changed": np.array(sorted(self._changed), dtype=np.int64),
            "released": self._released,
            "new": self._new,
            "left_out": dict(self.called_unchanged),
            "unchanged": [
                [who, np.array(sorted(left), np.int64)] for who, left in self._left.items()
            ],
            "same": np.array(sorted(self._same), dtype=np.int64),
            **self._waiting.save(),
            "samples": [[name, one.save()] for name, one in self._samples.items()],
        }

    def load(self, state: State) -> None:
        """Go on from `save`, with the same pages."""
        self._dated = {int(number): date for number, date in state["dated"].tolist()}
        self._changed = set(state["changed"].tolist())
        self._released, self._new = state["released"], state["new"]
        self.called_unchanged = Counter(state["left_out"])
        self._left = {who: set(left.tolist()) for who, left in state["unchanged"]}
        self._same = set(state["same"].tolist())
        self._waiting.load(state)
        self._samples = {name: HostSample.load(one) for name, one in state["samples"]}

    def row(self) -> dict[str, Any]:
        """The pages, as a state holds them."""
        return {
            "urls": list(self.urls),
            "fetched": np.array(self._fetched, dtype=np.float64),
            "fresh": np.array(self._fresh, dtype=np.float64),
            "known": np.array(sorted(self._known), dtype=np.uint64),
            "hubs": np.array(self._hubs, dtype=np.int64),
            "began": self._began,
            "refresh": self._refresh,
        }

    @classmethod
    def of(cls, row: State, **more: Any) -> Revisits:
        """From `row`, with the keywords that it lacks."""
        columns = (row["urls"], row["fetched"].tolist(), row["fresh"].tolist())
        if "hubs" in row:
            more["hubs"] = row["hubs"].tolist()
        more["refresh"] = row.get("refresh", 0)
        return cls(*columns, row["known"].tolist(), began=row["began"], **more)


def _link(url: str) -> Link:
    return Link(url, Anchor(), KIND)
