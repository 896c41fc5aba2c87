"""Batches of cells in processes of their own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from spoor.errors import PausedError

Batch = TypeVar("Batch")

INTERVAL = 1.0
"""Seconds between two looks at which cells are finished."""


def run_batches(
    work: Callable[[Batch, Callable[[], None]], None],
    batches: Sequence[Batch],
    *,
    jobs: int,
    look: Callable[[], None],
) -> None:
    """Run each batch. `work` takes a batch and a function to call after each finished cell; `look`
    is called from time to time.

    With one job, or one batch, all runs in this process. An error in another process is raised
    here, and ends the others, as an interrupt does; finished cells are stored by then.
    """
    if jobs == 1 or len(batches) < 2:
        for batch in batches:
            work(batch, look)
        return
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(jobs, len(batches)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_silently,
    ) as pool:
        running = {pool.submit(work, batch, _no_look) for batch in batches}
        try:
            while running:
                done, running = wait(running, timeout=INTERVAL, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
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


def _end_silently() -> None:
    """An interrupt ends a worker without a message: the process that started it gives one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _no_look() -> None:
    """The parent process sees that a cell is finished by its file."""
