"""Batches of cells in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from spoor.errors import PausedError
from spoor.processes import worker_pool

Batch = TypeVar("Batch")
Returned = TypeVar("Returned")

INTERVAL = 1.0
"""Seconds between two looks at which cells are finished."""


def run_batches(
    work: Callable[[Batch, Callable[[], None]], Returned],
    batches: Sequence[Batch],
    *,
    jobs: int,
    look: Callable[[], None],
) -> list[Returned]:
    """Run each batch; returns what `work` returned for each, in no order.

    `work` takes a batch and a function to call after each finished cell; `look` is called from time
    to time.

    With one job, or one batch, all runs in this process. An error in another process is raised
    here, and ends the others, as an interrupt does; finished cells are stored by then.
    """
    if jobs == 1 or len(batches) < 2:
        return [work(batch, look) for batch in batches]
    returned: list[Returned] = []
    try:
        with worker_pool(min(jobs, len(batches))) as pool:
            running = {pool.submit(work, batch, _no_look) for batch in batches}
            while running:
                done, running = wait(running, timeout=INTERVAL, return_when=FIRST_COMPLETED)
                returned += [future.result() for future in done]
                look()
    except BrokenProcessPool as error:
        raise PausedError(
            "a process of the lab was killed, for want of memory perhaps; what is finished "
            "is kept: give the same command to go on, with fewer --jobs"
        ) from error
    return returned


def _no_look() -> None:
    """The parent process sees that a cell is finished by its file."""
