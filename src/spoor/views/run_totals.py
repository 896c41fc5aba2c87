"""Sums over the rows of a run, kept up to date while it goes on."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from statistics import NormalDist

from spoor.runs.reader import Run

BEST = 50

_Z = NormalDist().inv_cdf(0.9)
"""Of an interval at 80 %."""

REFUSED = frozenset({"robots", "blocked", "skipped"})
"""Kinds of failures where the crawler made no request, by its own rules or the site's."""


ASKS = frozenset({"noindex", "nofollow", "noai", "tdm-reserved"})
"""Flags by which a page says what machines may do with it."""


def wilson(hits: int, trials: int, z: float) -> tuple[float, float]:
    """Wilson's interval of a share of at least one trial, in [0, 1]; `z`: the quantile of the
    normal distribution that its level asks for."""
    share, square = hits / trials, z * z / trials
    middle = share + square / 2
    half = z * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


@dataclass(slots=True)
class Host:
    """The sums of one host."""

    name: str
    pages: int = 0
    relevant: int = 0
    failed: int = 0
    seconds: float = 0.0
    """Of all its downloads."""
    delay: float | None = None
    """Seconds between two requests; None if unknown."""
    open_links: int | None = None
    asks: Counter[str] = field(default_factory=Counter)
    """What its pages ask of machines (`ASKS`) → how many do."""

    @property
    def asks_in_words(self) -> str:
        """`noai 3, noindex 12`; empty where they ask nothing."""
        return ", ".join(f"{name} {times:,}" for name, times in sorted(self.asks.items()))


@dataclass(slots=True)
class Directory:
    """The sums of one directory."""

    name: str
    pages: int = 0
    relevant: int = 0

    @property
    def share(self) -> tuple[float, float]:
        """The share of relevant pages, in [0, 1]: Wilson's interval at 80 %."""
        return wilson(self.relevant, self.pages, _Z) if self.pages else (0.0, 1.0)


UNREADABLE = 1_000
"""Documents that could not be read are told one by one up to so many."""


@dataclass(slots=True)
class Failure:
    """Requests that failed with the same kind and reason."""

    kind: str
    reason: str
    example: str
    """One of the URLs."""
    times: int = 0


class Sums:
    """Sums over the pages and failures of a run, as far as they were read."""

    def __init__(self, run: Run, rows: int | None = None) -> None:
        self.run = run
        self._rows = None if run.in_shards else rows
        """Most rows of pages, and of failures, that are read at once; those of shards all are: rows
        of before come in between."""
        self.complete = True
        """Whether all rows were read that were there."""
        self._clear()
        self._judged_anew = 0, 0
        self.labels: dict[str, bool] = {}
        """URL → the last label of a person."""
        self.refresh()

    def _clear(self) -> None:
        self._last = self.failed = 0
        """Rows that were read."""
        self.relevant = bytearray()
        """Of each page: 1 or 0."""
        self.hosts: dict[str, Host] = {}
        self.directories: dict[str, Directory] = {}
        self.failures: dict[tuple[str, str], Failure] = {}
        self.unreadable: list[Failure] = []
        """Each document that could not be read, at most `UNREADABLE`."""
        self._best: list[tuple[float, int, int]] = []
        """A heap of (score, -seq, number) of the best relevant pages."""

    def refresh(self) -> tuple[int, ...]:
        """Add new rows, at most as many as are read at once. Returns numbers that change with every
        change: pages, relevant pages, failures, and the revision of the run."""
        with self.run.at_once():
            revision = self.run.revision()
            # A new label, or the judge itself, may change the verdict on a page that was read; rows
            # of shards are in the order of time, so that late ones may be in between.
            if revision[-2:] != self._judged_anew:
                self._judged_anew, self.labels = revision[-2:], self.run.labels()
                self._clear()
            elif self.run.in_shards:
                self._clear()
            rows = islice(self.run.outcomes(self._last), self._rows)
            pages, failed = self.pages, 0
            for seq, number, url, host, score, relevant, seconds, flags in rows:
                self._add(seq, number, url, host, score, relevant, seconds or 0.0, str(flags))
            for row in islice(self.run.failures(self.failed), self._rows):
                self.failed = row.seq
                failed += 1
                key = row.kind, row.reason
                self.failures.setdefault(key, Failure(*key, row.url)).times += 1
                if row.kind == "unreadable" and len(self.unreadable) < UNREADABLE:
                    self.unreadable.append(Failure(*key, row.url, 1))
                if row.kind not in REFUSED:
                    self.hosts.setdefault(row.host, Host(row.host)).failed += 1
        self.complete = self._rows not in (self.pages - pages, failed)
        return self.pages, sum(self.relevant), self.failed, *revision

    def _add(
        self,
        seq: int,
        number: int,
        url: str,
        host: str,
        score: float,
        relevant: int,
        seconds: float,
        flags: str,
    ) -> None:
        self._last = seq
        self.relevant.append(relevant)
        row = self.hosts.setdefault(host, Host(host))
        row.pages += 1
        row.relevant += relevant
        row.seconds += seconds
        if "no" in flags or "tdm" in flags:
            row.asks.update(ASKS.intersection(flags.split()))
        name = directory(url)
        group = self.directories.setdefault(name, Directory(name))
        group.pages += 1
        group.relevant += relevant
        if relevant:
            push = heapq.heappush if len(self._best) < BEST else heapq.heappushpop
            push(self._best, (score, -seq, number))

    @property
    def pages(self) -> int:
        """Pages that were read."""
        return len(self.relevant)

    @property
    def best(self) -> list[int]:
        """Numbers of the best relevant pages, best first."""
        return [number for *_, number in sorted(self._best, reverse=True)]


def curve(relevant: Sequence[int]) -> list[list[float]]:
    """[pages fetched, relevant pages found], thinned to some hundreds of points."""
    totals = [0, *accumulate(relevant)]
    step = max(1, len(totals) // 400)
    points = [[float(index), float(totals[index])] for index in range(0, len(totals), step)]
    return [*points, [float(len(relevant)), float(totals[-1])]]


def directory(url: str) -> str:
    """Host and path of a URL up to its last slash."""
    rest = url.partition("://")[2].partition("?")[0]
    return rest[: rest.rfind("/") + 1]
