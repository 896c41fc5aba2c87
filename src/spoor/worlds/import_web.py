"""From archives to a recorded web: what `spoor web import` does."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

from spoor.errors import InputError, PausedError
from spoor.formats.reading_costs import Over, ReadingCosts, Spent, reading
from spoor.formats.source_file import Job, Source
from spoor.formats.sources import open_source
from spoor.processes import worker_pool
from spoor.worlds.label_files import PageLabels
from spoor.worlds.store_rows import Packed, pack
from spoor.worlds.store_writer import Summary, Writer

BATCH = 32
"""Records that a process is given at a time."""

MOST_WAITING = 1 << 26
"""Most bytes of records that other processes work on at a time."""

WORTH_IT = 1 << 22
"""Bytes of sources from which on a second process saves time."""

NOTES = 5
"""Bad records that are reported one by one; the rest are counted."""

Progress = Callable[[int, float], None]
"""(records so far, share of the sources read)."""


def record(
    sources: Sequence[str | Path],
    folder: str | Path,
    *,
    base_url: str | None = None,
    labels: Sequence[Path] = (),
    keep_going: bool = False,
    replace: bool = False,
    jobs: int = 1,
    progress: Progress = lambda records, share: None,
) -> Summary:
    """Write the web that the sources hold to a new folder, completely or not at all.

    A source is a file of JSON lines or WARC, a MediaWiki dump, or a mirror folder (`base_url` is
    its URL on the web); `labels` are files as in `PageLabels`. A bad record raises InputError, or
    is left out and counted where `keep_going`. `jobs` processes parse (0: as many as there are
    cores, where that pays); the outcome does not depend on it, unless documents take longer than
    they may (`reading_costs`).
    """
    labelled = PageLabels(labels)
    opened = [open_source(Path(source), base_url=base_url) for source in sources]
    intake = _Intake(opened, keep_going)
    with ExitStack() as stack:
        writer = stack.enter_context(Writer(Path(folder), replace=replace))
        workers = jobs or (os.cpu_count() or 1 if intake.size() >= WORTH_IT else 1)
        for done, outcome in enumerate(intake.parsed(workers, stack), 1):
            progress(done, intake.share())
            if outcome is None:
                writer.summary.elsewhere += 1
            elif isinstance(outcome, str):
                intake.reject(outcome)
            else:
                try:
                    writer.add(labelled.of(outcome))
                except InputError as error:
                    intake.reject(str(error))
        writer.summary.skipped = intake.skipped
        writer.summary.notes = intake.notes
        writer.summary.unlabelled = labelled.unused()
    return writer.summary


Done = list[Packed | str | None]


def work(jobs: Iterable[Job], over: Over) -> tuple[Done, Spent]:
    """Parse and pack some records; a bad record gives its error message instead."""
    done: Done = []
    with reading(over) as spent:
        for job in jobs:
            try:
                recording = job()
                done.append(None if recording is None else pack(recording))
            except InputError as error:
                done.append(str(error))
    return done, spent[0]


class _Intake:
    """The records of all sources, one after the other."""

    def __init__(self, sources: Sequence[Source], keep_going: bool) -> None:
        self._sources = sources
        self._keep_going = keep_going
        self._costs = ReadingCosts(sources)
        self.skipped = 0
        self.notes: list[str] = []

    def size(self) -> int:
        """Bytes there are to read."""
        return sum(source.total for source in self._sources)

    def share(self) -> float:
        """How much of them has been read."""
        return sum(source.done for source in self._sources) / max(1, self.size())

    def reject(self, message: str) -> None:
        """Leave out a bad record with `keep_going`, else raise InputError."""
        if not self._keep_going:
            raise InputError(message)
        self.skipped += 1
        if len(self.notes) < NOTES:
            self.notes.append(message)

    def _jobs(self) -> Iterator[Job]:
        for source in self._sources:
            try:
                yield from self._costs.bounded(source.jobs())
            except InputError as error:
                self.reject(str(error))

    def _took(self, outcome: tuple[Done, Spent]) -> Done:
        done, spent = outcome
        self._costs.add(spent)
        return done

    def parsed(self, workers: int, stack: ExitStack) -> Iterator[Packed | str | None]:
        """Each record parsed, in order; a few batches a worker are in the works at a time."""
        if workers == 1:
            every = (self._took(work((job,), self._costs.over())) for job in self._jobs())
            return chain.from_iterable(every)
        return self._parsed_by(stack.enter_context(worker_pool(workers)), 4 * workers)

    def _parsed_by(self, pool: ProcessPoolExecutor, ahead: int) -> Iterator[Packed | str | None]:
        pending: deque[tuple[Future[tuple[Done, Spent]], int]] = deque()
        waiting = 0
        try:
            for jobs, size in _batches(self._jobs()):
                pending.append((pool.submit(work, jobs, self._costs.over()), size))
                waiting += size
                while len(pending) > ahead or waiting > MOST_WAITING:
                    future, size = pending.popleft()
                    waiting -= size
                    yield from self._took(future.result())
            for future, _ in pending:
                yield from self._took(future.result())
        except BrokenProcessPool as error:
            raise PausedError(
                "a process of the import was killed, for want of memory perhaps; give the same "
                "command again, with fewer --jobs"
            ) from error


def _batches(jobs: Iterator[Job]) -> Iterator[tuple[list[Job], int]]:
    """Jobs that travel together, and their bytes."""
    batch, size = list[Job](), 0
    for job in jobs:
        batch.append(job)
        size += _size(job)
        if len(batch) == BATCH or size > MOST_WAITING // BATCH:
            yield batch, size
            batch, size = [], 0
    if batch:
        yield batch, size


def _size(job: Job) -> int:
    """Bytes of what a job carries."""
    carried = job.args if isinstance(job, partial) else ()
    return sum(len(part) for part in carried if isinstance(part, bytes | str))
