"""What people say to a run that goes on: labels, and that it is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from spoor.live.driver import HttpDriver
from spoor.live.waits import Request
from spoor.runs.stop_request import LISTEN_SECONDS, take_request
from spoor.runs.writer import RunWriter


async def listen(
    driver: HttpDriver,
    folder: RunWriter,
    *,
    on_interrupt: Callable[[], None],
    take_labels: Callable[[], None],
    second: Callable[[Sequence[Request]], None] | None = None,
) -> None:
    """Every `LISTEN_SECONDS`, stop the driver where people asked for it, call `take_labels` where
    they gave some, and call `second` with the requests in flight, both between two turns of the
    driver. To be cancelled; what goes wrong ends the driver."""
    while True:
        try:
            if take_request(folder.path):
                driver.stop("interrupted")
                on_interrupt()
            if folder.has_labels():
                await driver.apart(take_labels)
            if second is not None:
                await driver.apart(partial(second, driver.requests()))
        except Exception as error:
            driver.fail(error)
            return
        await asyncio.sleep(LISTEN_SECONDS)
