"""Spoor: a focused web crawler that learns which links lead to what you want.

`run` and `stream` (live crawls), `replay` and `plot` are what a notebook needs; `open` reads the
folder of a run; `Orderer` is only the order, for a downloader of your own; `Crawl` and the
protocols are what a driver or a plug-in is written against.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spoor.crawl import Crawl
    from spoor.errors import CallerError, InputError, PluginError, SpoorError
    from spoor.frontier.memory import MemoryFrontier
    from spoor.notebook import CrawlRun, Result, plot, replay, run, stream
    from spoor.orderer import Orderer
    from spoor.runs.reader import Run
    from spoor.simulation.replay import Replay
    from spoor.types import Choice, Judgement, Link, Outcome, Page, Task, Topic
    from spoor.web.page import parse
    from spoor.web.urls import resolve

_HOME = {
    "CallerError": "spoor.errors",
    "Choice": "spoor.types",
    "Crawl": "spoor.crawl",
    "CrawlRun": "spoor.notebook",
    "InputError": "spoor.errors",
    "Judgement": "spoor.types",
    "Link": "spoor.types",
    "MemoryFrontier": "spoor.frontier.memory",
    "Orderer": "spoor.orderer",
    "Outcome": "spoor.types",
    "Page": "spoor.types",
    "PluginError": "spoor.errors",
    "Replay": "spoor.simulation.replay",
    "Result": "spoor.notebook",
    "Run": "spoor.runs.reader",
    "SpoorError": "spoor.errors",
    "Task": "spoor.types",
    "Topic": "spoor.types",
    "parse": "spoor.web.page",
    "plot": "spoor.notebook",
    "replay": "spoor.notebook",
    "resolve": "spoor.web.urls",
    "run": "spoor.notebook",
    "stream": "spoor.notebook",
}
"""Public name → its module, imported when it is first asked for."""

__all__ = [
    "CallerError",
    "Choice",
    "Crawl",
    "CrawlRun",
    "InputError",
    "Judgement",
    "Link",
    "MemoryFrontier",
    "Orderer",
    "Outcome",
    "Page",
    "PluginError",
    "Replay",
    "Result",
    "Run",
    "SpoorError",
    "Task",
    "Topic",
    "open",
    "parse",
    "plot",
    "replay",
    "resolve",
    "run",
    "stream",
]


def open(path: str | Path) -> CrawlRun:  # noqa: A001 - as one opens a file
    """A run in its folder: its settings, documents, pages, journal and last checkpoint, and to go
    on with it.

    Raises InputError where there is none, or one of another format.
    """
    from spoor.notebook import CrawlRun

    return CrawlRun(Path(path))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'spoor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
