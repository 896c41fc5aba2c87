"""The oracle: knows the graph, and always takes the shortest way to the nearest target.

"Optimal" in Rennie and McCallum (1999, section 3): the upper bound that every figure is held
against. In the lab only.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from spoor.errors import InputError
from spoor.learn.saved_attributes import ARRAY, KEYS, QUEUE, VALUE, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, State, Task, WebGraph


class Oracle(Saved):
    """Shortest way from what is known to the nearest target not fetched, again and again.

    Ties go to the link discovered first. When no target can be reached any more the rest is taken
    in the order of discovery. Cost: one breadth-first search a target, cut at its distance.
    """

    SAVED = attributes(_open=KEYS, _done=ARRAY, _way=QUEUE, _exhausted=VALUE)

    def __init__(self, task: Task) -> None:
        if task.graph is None:
            raise InputError("the oracle needs to know the whole web; it runs in replay only")
        self._graph: WebGraph = task.graph
        self._number = self._graph.index()
        self._page: dict[LinkId, int] = {}
        self._link: dict[int, LinkId] = {}
        self._open: dict[LinkId, None] = {}
        self._done = np.zeros(len(self._graph.urls), dtype=bool)
        self._way: deque[int] = deque()
        self._exhausted = False

    def observe(self, seen: InLinks) -> None:
        for link, url, first in zip(seen.links, seen.urls, seen.first, strict=True):
            if first:
                self._open[link] = None
                page = self._number.get(url)
                if page is not None:
                    self._page[link] = page
                    self._link[page] = link

    def choose(self, offer: Offer) -> Choice:
        if not self._way and not self._exhausted:
            self._way = deque(self._nearest(offer))
        while self._way:
            link = self._link.get(self._way[0])
            if link is None or link not in offer:
                # A host that is busy, or a page that failed: look for another way.
                self._way = deque(self._nearest(offer))
                if not self._way:
                    break
                continue
            self._way.popleft()
            return self._take(link)
        return self._take(next(link for link in self._open if link in offer))

    def _take(self, link: LinkId) -> Choice:
        del self._open[link]
        if link in self._page:
            self._done[self._page[link]] = True
        return Choice(link, 1.0)

    def _nearest(self, offer: Offer) -> list[int]:
        """Pages from an open link on offer to the nearest target, both included."""
        graph, done = self._graph, self._done
        before: dict[int, int] = {}
        queue: deque[int] = deque()
        for link in self._open:
            page = self._page.get(link)
            if page is not None and link in offer:
                before[page] = -1
                queue.append(page)
        while queue:
            page = queue.popleft()
            if graph.targets[page] and not done[page]:
                way = [page]
                while before[way[-1]] >= 0:
                    way.append(before[way[-1]])
                return way[::-1]
            for target in graph.indices[graph.indptr[page] : graph.indptr[page + 1]].tolist():
                if target not in before and not done[target]:
                    before[target] = page
                    queue.append(target)
        self._exhausted = len(offer) == len(self._open)
        return []

    def learn(self, outcome: Outcome) -> None:
        if outcome.page is None:
            self._way.clear()

    def save(self) -> State:
        return {**super().save(), "pages": [[link, page] for link, page in self._page.items()]}

    def load(self, state: State) -> None:
        super().load(state)
        self._page = dict(state["pages"])
        self._link = {page: link for link, page in self._page.items()}
