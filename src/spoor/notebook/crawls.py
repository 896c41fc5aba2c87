"""Begins live crawls, waits for them, and hands their documents on."""

from __future__ import annotations

import asyncio
import queue
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.live.background import BackgroundCrawl
from spoor.notebook.progress import ProgressBar, bar_for
from spoor.runs import files
from spoor.runs.documents import RunDocument
from spoor.runs.inputs import with_inputs
from spoor.settings import Settings
from spoor.views.html import write_report

OnPage = Callable[[RunDocument], object]
"""Called with each fetched document."""

Begun = BackgroundCrawl | Mapping[str, Any]
"""A crawl of this process, or the summary of one in shards, which has ended."""

TICK = 0.25
"""Seconds between two looks at how far a crawl has come."""

AHEAD = 100
"""Documents that a crawl may be ahead of whoever takes them."""


def settings_of(seeds: str | Sequence[str], given: Mapping[str, Any]) -> Settings:
    """The settings of a crawl from the keywords of `run` and `stream`, of which nobody can tell
    whether a default was given. Warns of lines of a list of sites that are left out. Raises
    InputError."""
    known = Settings.of_command("crawl")
    values = {
        name: (value,) if name in _LISTS and isinstance(value, str) else value
        for name, value in given.items()
        if name not in known or value != known[name].default
    }
    settings = Settings.of(values)
    given_seeds = [seeds] if isinstance(seeds, str) else seeds
    return with_inputs(settings, given_seeds, lambda line: warnings.warn(line, stacklevel=6))


_LISTS = {name for name, one in Settings.of_command("crawl").items() if one.kind is tuple}


def begin(
    path: Path, settings: Settings, *, on_page: OnPage | None, progress: bool | None, wait: bool
) -> Begun:
    """Begin a crawl, or go on with one; where it is to `wait`, to its end."""
    if settings.shards or settings.cluster:
        return _in_shards(path, settings, on_page=on_page, wait=wait)
    if not wait:
        crawl = BackgroundCrawl(path, settings, on_page=on_page)
        crawl.wait_until_open()
        return crawl
    arrived = _Arrived()
    crawl = BackgroundCrawl(path, settings, on_page=arrived.put if on_page else None)
    crawl.wait_until_open()
    with bar_for(settings.pages, progress) as bar:
        try:
            _follow(crawl, arrived, on_page, bar)
        finally:
            arrived.close()
            crawl.cancel("interrupted")
            crawl.wait()
            bar.show(crawl.progress)
    write_report(path)
    refuse_nothing(crawl)
    return crawl


def refuse_nothing(crawl: BackgroundCrawl) -> None:
    """Raises InputError where the crawl has ended without a single page, with the reason."""
    if why := crawl.nothing_came:
        raise InputError(f"{why}; the same call with out={str(crawl.path)!r} tries again")


def _follow(
    crawl: BackgroundCrawl, arrived: _Arrived, on_page: OnPage | None, bar: ProgressBar
) -> None:
    """Call `on_page` here, in the thread of the caller, until the crawl has ended. An interrupt
    (Ctrl-C, the stop button of a notebook) stops the crawl, and its run is returned as it is."""
    with suppress(KeyboardInterrupt):
        while True:
            over = crawl.is_over
            document = arrived.take(0.0 if over else TICK)
            if document is not None and on_page is not None:
                on_page(document)
            elif over:
                return
            bar.show(crawl.progress)


class _Arrived:
    """Documents between the thread of a crawl and another: the crawl waits where there are many."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[RunDocument] = queue.Queue(AHEAD)
        self._closed = threading.Event()

    def put(self, document: RunDocument) -> None:
        """From the crawl's thread; returns at once when nobody takes them any more."""
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._waiting.put(document, timeout=TICK)
                return

    def take(self, seconds: float) -> RunDocument | None:
        """The next one, after at most so many seconds; None where there is none."""
        with suppress(queue.Empty):
            return self._waiting.get(seconds > 0, seconds)
        return None

    def close(self) -> None:
        """Nobody takes them any more."""
        self._closed.set()


async def stream_crawl(
    seeds: str | Sequence[str],
    given: Mapping[str, Any],
    *,
    out: str | Path | None,
    everything: bool,
    on_page: OnPage | None,
) -> AsyncIterator[RunDocument]:
    """What `stream` does with its keywords."""
    settings = settings_of(seeds, given)
    if settings.shards or settings.cluster:
        raise InputError("documents are streamed from a crawl in one process; leave out shards")
    arrived = _Arrived()
    path = await asyncio.to_thread(files.new_run) if out is None else Path(out)
    crawl = BackgroundCrawl(path, settings, on_page=arrived.put)
    try:
        await asyncio.to_thread(crawl.wait_until_open)
        while True:
            over = crawl.is_over
            document = arrived.take(0.0)
            if document is None and not over:
                document = await asyncio.to_thread(arrived.take, TICK)
            if document is None:
                if over:
                    break
                continue
            if on_page is not None:
                on_page(document)
            if document.relevant or everything:
                yield document
    finally:
        arrived.close()
        crawl.cancel("cancelled")
        await asyncio.shield(asyncio.to_thread(_finish, crawl))
    refuse_nothing(crawl)


def _finish(crawl: BackgroundCrawl) -> None:
    crawl.wait()
    write_report(crawl.path)


def _in_shards(
    path: Path, settings: Settings, *, on_page: OnPage | None, wait: bool
) -> Mapping[str, Any]:
    from spoor.integrations import ray
    from spoor.runs.assemble import make_crawl

    if on_page is not None or not wait:
        raise InputError("on_page and wait=False need a crawl in one process; leave out shards")
    make_crawl(settings)  # raises InputError for bad settings before a process starts
    # In a thread, since a loop may run in this one.
    thread = ThreadPoolExecutor(1)
    try:
        summary = thread.submit(ray.crawl, path, settings).result()
    finally:
        thread.shutdown(wait=False)
    write_report(path)
    return summary
