"""What crews without foragers have in common: a page that is new is sent to the reinforcing agent
once, so that every figure means the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.settings import FleetSettings
from spoor.learn.saved_attributes import PART, VALUE, Form, Saved, attributes
from spoor.watching.compact_tables import NumberMap
from spoor.watching.known_urls import Known

MARKED = Form(NumberMap.pairs, lambda old, saved: NumberMap(map(tuple, saved.tolist())))


class Submits(Saved):
    """A page that is new is sent to the agent once. `abreast` pages make a step, so that as many
    hosts can be asked at a time."""

    expands = True
    only_due = False
    spares = False
    began = 0.0

    SAVED = attributes(agent=PART, _marked=MARKED, _asked=VALUE, began=VALUE)

    def __init__(
        self,
        known: Known,
        settings: FleetSettings,
        abreast: int,
        agent: ReinforcingAgent | None = None,
    ) -> None:
        """`agent`: that of foragers beside it, which are paid for what it finds."""
        self.settings = settings
        self.abreast = abreast
        self._asked: list[int] = []
        self._alone = agent is None
        self.agent = ReinforcingAgent(settings) if agent is None else agent
        self._known = known
        self._marked = NumberMap()
        """Page → the newest version that was sent, 0 where all are one document."""

    def submit(self, pages: Sequence[int], now: float) -> None:
        """Those of the pages that are new documents, each once."""
        known, settings = self._known, self.settings
        for page in pages:
            version = known.version[page] if settings.identity == "version" else 0
            fresh = known.fresh(page, now, settings.new_for)
            if fresh and any(map(self.agent.found, known.views_of(page))):
                known.told_before.add(page)
                continue
            if fresh and self._marked.get(page) != version:
                self._marked[page] = version
                if self._alone:
                    new = self.agent.receive(page, known, now, 0)
                else:
                    new = self.agent.receive_unpaid(page, known, now)
                if new:
                    self._found(page)

    def _found(self, page: int) -> None:
        """A document is new."""

    def held(self) -> set[int]:
        """Pages that it goes by."""
        return set(self._asked)

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        if self._alone:
            self.agent.leave(left)
        for url in left:
            self._marked.pop(url)
