"""Worker processes that end with the process that started them, however that ends, and import
nothing out of the folder in which they are started, which may be a stranger's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

_SAFE_PATH = "PYTHONSAFEPATH"
"""What `-P` says, to processes that get no arguments."""


@contextmanager
def worker_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of `count` processes. Where the block ends with an error, as an interrupt is one, they
    are ended at once; where this process is killed, they end by themselves."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    ours = _SAFE_PATH not in os.environ
    os.environ.setdefault(_SAFE_PATH, "1")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(ours,))
    try:
        yield pool
    except BaseException:
        jobs = getattr(pool, "_call_queue", None)
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        # Before 3.11.5 its writer waits for readers, of which none is left; since then the pool
        # closes it, and a second time is an error in its thread.
        if jobs is not None and sys.version_info < (3, 11, 5):
            jobs._reader.close()
        raise
    finally:
        pool.shutdown()
        if ours:
            os.environ.pop(_SAFE_PATH, None)


def _begin(ours: bool) -> None:
    if ours:  # what a worker starts itself is another matter
        os.environ.pop(_SAFE_PATH, None)
    # A signal ends a worker without a message: the process that started it gives one.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # The other workers hold the pipes open on which this one would wait for work.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
