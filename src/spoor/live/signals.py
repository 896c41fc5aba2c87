"""How SIGINT and SIGTERM end a run."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable

from spoor.live.driver import HttpDriver

LAST_GRACE = 5.0
"""Seconds that a run which was told to end twice has for the page that it works on."""


def stop_on_signals(driver: HttpDriver, on_interrupt: Callable[[], None]) -> None:
    """Let the first SIGINT or SIGTERM stop a run, and call `on_interrupt`; the second ends it at
    once, and the process where that does not help for `LAST_GRACE` seconds: what was committed is
    kept. To be called in the loop that runs it; outside the main thread signals are not ours."""
    if threading.current_thread() is not threading.main_thread():
        return
    calls = itertools.count()
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        call = next(calls)
        if call == 0:
            driver.stop("interrupted")
            on_interrupt()
            return
        driver.abort("aborted")
        if call == 1:
            loop.call_later(LAST_GRACE, end)

    def end() -> None:
        if not driver.ended:  # a judge or another plug-in does not come back
            sys.stderr.write("spoor: ended in the middle of a page that took too long\n")
            sys.stderr.flush()
            os._exit(128 + signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
