"""Where the frontier of a live crawl stands: in memory, or on disk in the folder of its run."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.protocols import Frontier, OnDisk, UsesOpenLinks
from spoor.runs import files
from spoor.runs.assemble import BUILT_IN_FRONTIERS
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import State

if TYPE_CHECKING:
    from spoor.frontier.sqlite import SqliteFrontier

IN_MEMORY = 1_000
"""Open links up to which a frontier stays in memory by default. With more, a checkpoint that writes
all of them takes longer than one that writes what changed, and each link takes a kilobyte of
memory."""


class FrontierStore:
    """Opens the frontier on disk when it is needed, and deletes its states that no checkpoint of
    the run needs any more."""

    def __init__(self, folder: RunWriter) -> None:
        self._folder = folder
        self._disk: SqliteFrontier | None = None
        self._states: deque[State] = deque(maxlen=2)
        """States of the frontier on disk in the folder's two checkpoints."""

    def _on_disk(self) -> SqliteFrontier:
        if self._disk is None:
            from spoor.frontier.sqlite import SqliteFrontier

            folder = self._folder
            self._disk = SqliteFrontier(folder.path / files.FRONTIER, failpoint=folder.failpoint)
            folder.closing.append(self._disk.close)
        return self._disk

    def usable(self, state: State) -> bool:
        """Whether the frontier of a checkpoint still exists."""
        frontier = state["frontier"]
        return "digest" not in frontier or self._on_disk().holds(frontier)

    def open(self, crawl: Crawl, state: State) -> None:
        """Give the crawl the kind of frontier that the checkpoint `state` needs. Raises InputError
        if the settings now ask for a frontier that cannot load it."""
        before, now = self._folder.checkpoint_settings.frontier, self._folder.settings.frontier
        if before != now and not {before, now} <= {*BUILT_IN_FRONTIERS}:
            raise InputError(
                f"{self._folder.path} was begun with --frontier {before}; go on with the same"
            )
        if "digest" in state["frontier"]:
            crawl.frontier = self._on_disk()
            self._states.append(state["frontier"])

    def move(self, crawl: Crawl, settings: Settings) -> None:
        """Move the frontier to disk if the settings of the run say so, or if it has become too
        large for memory. It makes the same choices on either. `settings`: those in force."""
        old, store = crawl.frontier, self._folder.settings.frontier
        if isinstance(old, OnDisk) or store not in ("auto", "disk"):
            return
        if store == "auto" and old.open_count < IN_MEMORY:
            return
        new = self._on_disk()
        new.configure(delay=settings.delay, per_host=settings.per_host)
        new.load(old.save())
        crawl.frontier = new
        if isinstance(crawl.policy, UsesOpenLinks):
            crawl.policy.attach(new)

    def saved(self, frontier: Frontier) -> None:
        """The frontier was saved with a checkpoint."""
        if isinstance(frontier, OnDisk):
            self._states.append(frontier.saved())
            frontier.forget(but=self._states)
