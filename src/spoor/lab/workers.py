"""Batches of cells in processes of their own, with word of each cell as it is done."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from spoor.errors import PausedError

Batch = TypeVar("Batch")
Result = TypeVar("Result")

WATCH = 1.0
"""Seconds between two looks at which cells are there."""


def spread(
    work: Callable[[Batch, Path, Callable[[], None]], Result],
    batches: Sequence[Batch],
    out: Path,
    *,
    jobs: int,
    look: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result]]:
    """(place of a batch, what its work returned), as they end; `look` is called now and then.

    `work` takes a batch, `out`, and what to call after each cell. With one job, or one batch, all
    happens in this process. What goes wrong in a process is raised
    here; the others are then ended, as they are by an interrupt: finished cells are kept by then.
    """
    if jobs == 1 or len(batches) < 2:
        for place, batch in enumerate(batches):
            yield place, work(batch, out, look)
        return
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(jobs, len(batches)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_dies_quietly,
    ) as pool:
        running = {
            pool.submit(work, batch, out, _silence): place for place, batch in enumerate(batches)
        }
        try:
            while running:
                done, _ = wait(running, timeout=WATCH, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
                look()
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise PausedError(
                    "a process of the lab was killed, for want of memory perhaps; what is finished "
                    "is kept: give the same command to go on, with fewer --jobs"
                ) from error
            raise


def _dies_quietly() -> None:
    """An interrupt ends a worker without a word: the process that started it says what there is."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _silence() -> None:
    """In a process of its own a cell is known to be done by its file."""
