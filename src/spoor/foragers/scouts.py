"""Foragers in a watch: they say which way to explore, beside looks at what appeared and at what
changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Sequence

from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.colony import Colony
from spoor.foragers.forager import Forager
from spoor.foragers.revisit import ChangeRate
from spoor.learn.saved_attributes import VALUE, Saved, attributes
from spoor.types import State
from spoor.watching.known_urls import Known

MOST_HELD = 20
"""Steps without a request that foragers make for one page that was asked for."""


class Scouts(Saved):
    """A crew of a watch: foragers, and a list of pages that is revisited by change rates.

    A watch has few requests, so a step of the paper, a page with all its links, is too much. The
    list finds what is new: hints, URLs that appeared, and known pages by what they bring. Where it
    would ask for a URL that stood there at the first look, the foragers say for which one. They
    walk over all that the fleet knows: a page that was asked for makes a step without a request.

    A document that the list found is told at once, and pays the forager that comes to it first.
    """

    expands = True

    SAVED = attributes(_step=VALUE, _queue=VALUE, _links=VALUE, _pages=VALUE, _held=VALUE)

    def __init__(self, colony: Colony, known: Known) -> None:
        self.colony = colony
        self.rates = ChangeRate(known, colony.settings, agent=colony.agent)
        self._known = known
        self._step = -1
        """The page of the step under way."""
        self._queue: list[int] = []
        """What the step still has to ask for."""
        self._links: list[int] = []
        self._pages: list[int] = []
        self._held = MOST_HELD
        """Steps without a request that foragers may make before the next reply."""

    # -- as the crew of a fleet that has no steps

    @property
    def agent(self) -> ReinforcingAgent:
        return self.colony.agent

    @property
    def foragers(self) -> list[Forager]:
        return self.colony.foragers

    @property
    def only_due(self) -> bool:
        """Whether nothing is visited but what is due."""
        return self.rates.only_due

    @only_due.setter
    def only_due(self, value: bool) -> None:
        self.rates.only_due = value

    @property
    def spares(self) -> bool:
        """As `ChangeRate.spares`."""
        return self.rates.spares

    @property
    def began(self) -> float:
        """When its process took over."""
        return self.rates.began

    @began.setter
    def began(self, value: float) -> None:
        self.rates.began = value

    def weighs_again(self, now: float) -> Sequence[float]:
        """As `ChangeRate.weighs_again`."""
        return self.rates.weighs_again(now)

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """As `ChangeRate.due`."""
        return self.rates.due(now, without)

    def why(self, url: int, now: float) -> str:
        """As `ChangeRate.why`."""
        return self.rates.why(url, now)

    def submit(self, pages: Sequence[int], now: float) -> None:
        """As `ChangeRate.submit`."""
        self.rates.submit(pages, now)

    def redirected(self, url: int, now: float) -> None:
        """As `ChangeRate.redirected`; a step of a forager goes on where it leads to."""
        self.rates.redirected(url, now)

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """What the list asks for, or the foragers in its place."""
        known = self._known
        self._walk(now)
        url = self.rates.next_visit(free, busy, now)
        if url >= 0 and (known.is_new(url) or self._asked(url)):
            return url
        strangers = known.strangers

        def here(one: int) -> bool:
            if url < 0:
                return free(one) and one not in strangers
            same = known.hosts[one] == known.hosts[url]
            return same and (one in strangers) == (url in strangers)

        return next((one for one in self._queue if one not in busy and here(one)), url)

    def visit(self, now: float) -> int:
        """Steps are those of the foragers."""
        return self.colony.visit(now)

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """As the foragers do."""
        return self.colony.select(step, links, now)

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        """A page came, or could not be had."""
        self._held = MOST_HELD
        self.rates.end_step(step, links, pages, now)
        if step in self._queue:
            self._queue.remove(step)
            if step in pages:
                self._pages.append(step)
                if step == self._step:
                    self._follow(step, now)

    # -- the steps of the foragers

    def _walk(self, now: float) -> None:
        """Make steps until one needs a request."""
        colony, known = self.colony, self._known
        for url in self._queue:
            if (target := known.redirects.next(url)) != url:
                self._leads_to(url, target, now)
        self._queue = [url for url in self._queue if not self._asked(url)]
        while not self._queue and self._held:
            if self._step >= 0:
                step, links, pages = self._step, self._links, self._pages
                self._step, self._links, self._pages = -1, [], []
                colony.end_step(step, links, pages, now)
            self._step = step = colony.visit(now)
            if not self._asked(step):
                self._queue.append(step)
                continue
            self._held -= 1
            if known.digests[step]:
                self._pages.append(step)
                self._follow(step, now)

    def _leads_to(self, url: int, target: int, now: float) -> None:
        """A page that the step wants redirects to another one."""
        here = target in self._pages or target in self._queue
        self._queue = [one for one in self._queue if one != url]
        if url == self._step:
            self._step = target
        if here:
            return
        if not self._asked(target):
            self._queue.append(target)
        elif self._known.digests[target]:
            self._pages.append(target)
            if target == self._step:
                self._follow(target, now)

    def _follow(self, step: int, now: float) -> None:
        known = self._known
        links = list(map(known.redirects.next, known.links_before(step)))
        self._links = [link for link in dict.fromkeys(links) if link != step]
        self._queue.extend(self.colony.select(step, self._links, now))

    def _asked(self, url: int) -> bool:
        return self._known.fetched[url] > -math.inf

    # -- for good

    def held(self) -> set[int]:
        """Pages that it goes by."""
        own = {*self._queue, *self._links, *self._pages, self._step} - {-1}
        return own | self.colony.held() | self.rates.held()

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        self.colony.leave(left)
        self.rates.leave(left)

    # -- durable

    def save(self) -> State:
        return {**super().save(), "colony": self.colony.save(), "rates": self.rates.save()}

    def load(self, state: State) -> None:
        super().load(state)
        self.rates.load(state["rates"])
        self.colony.load(state["colony"])
