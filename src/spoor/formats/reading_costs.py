"""What the records of archives may cost together, where the archives may come from a stranger."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from spoor.errors import InputError
from spoor.formats.source_file import Job, Source
from spoor.isolate.helper_pool import giving_up, helped
from spoor.types import Recording

SPARE = 60.0
PER_BYTE = 20.0 / (1 << 20)
"""Seconds that documents which need a helper may take together, and for each byte of the sources
that was read; what is read without one may take as much. Ordinary documents take a twentieth of it,
and a record of some hundred bytes may be made to take seconds. Beyond it those with a helper, or
those of more than `SMALL` bytes, are given up."""
SMALL = 1 << 12
FAR = 5
"""Times that time which sources may take before they are read no further: lines without end that
unpack out of little take long, too, though nothing is read of them."""

Over = tuple[bool, bool]
"""Whether documents with a helper have taken more time than they may; those without."""


class Spent(NamedTuple):
    """Seconds that documents took."""

    helped: float = 0.0
    """In helpers."""
    here: float = 0.0
    """Of this process's processor."""


class ReadingCosts:
    """What the records of some sources have cost so far."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._spent = Spent()
        self._allowed = SPARE
        """Seconds, as they were when more was asked for last: they only become more."""

    def _exceed(self, seconds: float, times: float = 1.0) -> bool:
        """Whether seconds are more than so many times those that are allowed."""
        if seconds > times * self._allowed:  # seldom: there may be thousands of sources
            self._allowed = SPARE + PER_BYTE * sum(source.done for source in self._sources)
        return seconds > times * self._allowed

    def over(self) -> Over:
        return self._exceed(self._spent.helped), self._exceed(self._spent.here)

    def add(self, spent: Spent) -> None:
        self._spent = Spent(self._spent.helped + spent.helped, self._spent.here + spent.here)

    def bounded(self, jobs: Iterator[Job]) -> Iterator[Job]:
        """The same jobs; raises InputError where they have cost far too much."""
        for job in jobs:
            if self._exceed(sum(self._spent), FAR):
                raise InputError(
                    f"the records take more than {FAR * SPARE:g} s and "
                    f"{FAR * PER_BYTE * (1 << 20):g} s for each MiB: they are made to cost"
                )
            yield job


@contextmanager
def reading(over: Over) -> Iterator[list[Spent]]:
    """Within it records are read, those that cost too much given up; afterwards the list says what
    they cost."""
    spent: list[Spent] = []
    before, began = helped(), time.thread_time()
    without_helper, small = over
    why = "those before it took too long"
    try:
        with giving_up(why, helped=without_helper, most=SMALL if small else math.inf):
            yield spent
    finally:
        spent.append(Spent(helped() - before, time.thread_time() - began))


def recordings(sources: Sequence[Source]) -> Iterator[Recording]:
    """The recordings of all sources, one after the other. Raises InputError for a bad record."""
    costs = ReadingCosts(sources)
    for source in sources:
        for job in costs.bounded(source.jobs()):
            with reading(costs.over()) as spent:
                recording = job()
            costs.add(*spent)
            if recording is not None:
                yield recording
