"""What each source of a watch brought, and whether its silence is unusual."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.types import State

TOGETHER = 3_600.0
"""Seconds within which lines are one occasion: a pass of `--once` tells all that waited for it."""

RECENT = 50
"""Occasions of a source that are kept."""

REGULAR = 5
"""Occasions from which on a source has a rhythm."""

_LAST = 1e11
"""Unix seconds; no clock says a later moment."""
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


class _Occasion(NamedTuple):
    began: float
    last: float
    lines: int


@dataclass(slots=True)
class _Counts:
    requests: int = 0
    told: int = 0
    occasions: deque[_Occasion] = field(default_factory=lambda: deque(maxlen=RECENT))

    def note(self, now: float) -> None:
        """A line was told."""
        before = self.occasions[-1] if self.occasions else None
        if before is not None and now - before.began < TOGETHER:
            self.occasions[-1] = _Occasion(before.began, now, before.lines + 1)
        else:
            self.occasions.append(_Occasion(now, now, 1))


class Sources:
    """All hosts of a watch."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Counts] = {}
        self._now = 0.0

    @property
    def now(self) -> float:
        """When a request was answered last, Unix seconds; 0 before the first."""
        return self._now

    def asked(self, host: str, now: float) -> None:
        """A request to a host was answered."""
        self._hosts.setdefault(host, _Counts()).requests += 1
        self._now = now

    def told(self, host: str, kind: str, now: float) -> None:
        """A host's document was told."""
        counts = self._hosts.setdefault(host, _Counts())
        counts.told += 1
        if kind in ("new", "flood"):
            counts.note(now)

    def rows(self) -> list[Source]:
        """The hosts, those that told most first."""
        rows = [self._row(host, counts) for host, counts in self._hosts.items()]
        return sorted(rows, key=lambda row: (-row.told, -row.requests, row.host))

    def _row(self, host: str, counts: _Counts) -> Source:
        occasions = list(counts.occasions)
        last = occasions[-1].last if occasions else None
        a_day, silent = None, False
        if len(occasions) >= REGULAR:
            span = occasions[-1].began - occasions[0].began
            a_day = DAY * sum(occasion.lines for occasion in occasions[1:]) / span
            usual = span / (len(occasions) - 1)
            silent = self._now - occasions[-1].last >= max(DAY, QUIET * usual)
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

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._hosts)

    def save(self) -> State:
        return {
            "hosts": {
                host: [counts.requests, counts.told, list(map(list, counts.occasions))]
                for host, counts in self._hosts.items()
            },
            "now": self._now,
        }

    def load(self, state: State) -> None:
        """Go on from `save`. Raises ValueError or TypeError for a moment that is none."""
        if not 0.0 <= state["now"] <= _LAST:
            raise ValueError(f"{state['now']} is no moment")
        self._now = float(state["now"])
        self._hosts = {}
        for host, (requests, told, occasions) in state["hosts"].items():
            counts = self._hosts[host] = _Counts(requests, told)
            counts.occasions.extend(_Occasion(*occasion) for occasion in occasions)
