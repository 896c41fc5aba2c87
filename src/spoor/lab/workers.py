"""Batches of cells in processes of their own, with word of each cell as it is done."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeVar

from spoor.errors import InputError, PausedError

Cell = TypeVar("Cell")
Batch = TypeVar("Batch")
Result = TypeVar("Result")

WATCH = 1.0
"""Seconds between two looks at which cells are there."""


def finish(
    work: Callable[[list[Cell], Path, Callable[[], None]], None],
    cells: Sequence[Cell],
    out: Path,
    *,
    file: Callable[[Cell], Path],
    ground: Callable[[Cell], Hashable],
    jobs: int,
    tell: Callable[[int], None],
) -> list[Any]:
    """Run every cell whose file is not there yet; what the files of all hold, in their order.

    Cells on the same `ground` are one batch: `work` writes the file of each, and says so. `tell`
    hears how many are done. Raises InputError where `out` cannot be written to.
    """
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}") from error
    files = [file(cell) for cell in cells]
    left = [at for at, one in enumerate(files) if _kept(one) is None]
    batches: dict[Hashable, list[Cell]] = {}
    for at in left:
        batches.setdefault(ground(cells[at]), []).append(cells[at])
        files[at].unlink(missing_ok=True)  # a damaged one is none

    def look() -> None:
        tell(len(cells) - sum(not files[at].exists() for at in left))

    look()
    for _ in spread(work, list(batches.values()), out, jobs=jobs, look=look):
        pass
    look()
    return [_kept(one) for one in files]


def _kept(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None


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
