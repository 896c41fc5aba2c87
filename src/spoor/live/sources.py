"""What each source of a watch brought, and whether its silence is unusual."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from spoor.types import State

DAY = 86_400.0

RECENT = 50
"""Times of a source's lines that are kept."""

REGULAR = 5
"""Lines from which on a source has a rhythm."""

QUIET = 6.0
"""So many times as long as usual is unusual, if it is a day at least."""


class Source(NamedTuple):
    """One host."""

    host: str
    requests: int
    told: int
    last: float | None
    """When it told something last, Unix seconds."""
    a_day: float | None
    """Lines a day while it told; None where that is not known."""
    silent: bool
    """Whether it has been silent for unusually long."""


@dataclass(slots=True)
class _Counts:
    requests: int = 0
    told: int = 0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))


class Sources:
    """All hosts of a watch."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Counts] = {}
        self._now = 0.0

    def asked(self, host: str, now: float) -> None:
        """A request to a host was answered."""
        self._hosts.setdefault(host, _Counts()).requests += 1
        self._now = now

    def told(self, host: str, kind: str, now: float) -> None:
        """A host's document was told."""
        counts = self._hosts.setdefault(host, _Counts())
        counts.told += 1
        if kind in ("new", "flood"):
            counts.times.append(now)

    def rows(self) -> list[Source]:
        """The hosts, those that told most first."""
        rows = [self._row(host, counts) for host, counts in self._hosts.items()]
        return sorted(rows, key=lambda row: (-row.told, -row.requests, row.host))

    def _row(self, host: str, counts: _Counts) -> Source:
        times = counts.times
        last = times[-1] if times else None
        a_day, silent = None, False
        if len(times) >= REGULAR and times[-1] > times[0]:
            gap = (times[-1] - times[0]) / (len(times) - 1)
            a_day = DAY / gap
            silent = self._now - times[-1] >= max(DAY, QUIET * gap)
        return Source(host, counts.requests, counts.told, last, a_day, silent)

    def silences(self) -> list[str]:
        """What is unusual, each in one line."""
        lines = []
        for row in self.rows():
            if row.silent and row.last is not None and row.a_day is not None:
                days = (self._now - row.last) / DAY
                usual = (
                    f"{row.a_day:.3g} a day" if row.a_day >= 1 else f"{7 * row.a_day:.2g} a week"
                )
                lines.append(
                    f"{row.host} has told nothing for {days:.2g} days; it told {usual} before"
                )
        return lines

    def save(self) -> State:
        return {
            "hosts": {
                host: [counts.requests, counts.told, list(counts.times)]
                for host, counts in self._hosts.items()
            },
            "now": self._now,
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._now = state["now"]
        self._hosts = {
            host: _Counts(requests, told, deque(times, maxlen=RECENT))
            for host, (requests, told, times) in state["hosts"].items()
        }
