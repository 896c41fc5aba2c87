"""What people say to a run that goes on: labels, and that it is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from spoor.live.driver import HttpDriver
from spoor.live.waits import Request
from spoor.runs.stop_request import LISTEN_SECONDS, take_request
from spoor.runs.writer import RunWriter


class Listens(Protocol):
    """A crawl or a watch."""

    folder: RunWriter
    on_interrupt: Callable[[], None]

    def take_labels(self) -> None:
        """Take in the labels that people gave since."""
        ...


async def run_listening(
    driver: HttpDriver, run: Listens, second: Callable[[Sequence[Request]], None] | None = None
) -> str:
    """Run the driver of a run to its end; returns why it ended. Every `LISTEN_SECONDS`, stop it
    where people asked for that, take labels, and call `second` with the requests in flight, both
    between two turns of the driver. What goes wrong ends the driver."""
    listening = asyncio.create_task(_listen(driver, run, second))
    try:
        return (await driver.run()).reason
    finally:
        listening.cancel()


async def _listen(
    driver: HttpDriver, run: Listens, second: Callable[[Sequence[Request]], None] | None
) -> None:
    while True:
        try:
            if take_request(run.folder.path):
                driver.stop("interrupted")
                run.on_interrupt()
            if run.folder.has_labels():
                await driver.apart(run.take_labels)
            if second is not None:
                await driver.apart(partial(second, driver.requests()))
        except Exception as error:
            driver.fail(error)
            return
        await asyncio.sleep(LISTEN_SECONDS)
