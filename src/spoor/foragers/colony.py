"""A colony: foragers in time slices, one after the other, under a reinforcing agent."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.forager import Forager, random_weight
from spoor.foragers.settings import FleetSettings
from spoor.foragers.weblog import Weblog
from spoor.learn.saved_attributes import GENERATOR, PART, VALUE, Saved, attributes
from spoor.types import State
from spoor.watching.known_urls import Known
from spoor.watching.rates import Visits

OLD_LINKS = 2
"""Links that a step of a watch follows of those that its page had at the first look, the likeliest
lists first (few links from a start, a short path, many links to it): what was there before is
rarely new."""


class Colony(Saved):
    """Algorithm 9, as a crew of a `Fleet`: which URL is visited next, and what its pages bring."""

    expands = False

    SAVED = attributes(
        agent=PART,
        turn=VALUE,
        multiplied=VALUE,
        deleted=VALUE,
        _numbers=VALUE,
        _starts=VALUE,
        _rng=GENERATOR,
        _visits=PART,
    )

    def __init__(
        self,
        seeds: Sequence[int],
        known: Known,
        settings: FleetSettings,
        rng: np.random.Generator,
        learns: Sequence[bool] = (),
    ) -> None:
        """`learns`: of each forager of a fixed fleet, whether its order is learned; without it the
        fleet begins with the fewest that it may have, all alike."""
        self.settings = settings
        self.agent = ReinforcingAgent(settings)
        self.foragers: list[Forager] = []
        self.turn = 0
        """Place of the forager at work."""
        self.ends_at = -math.inf
        """When its time slice is over."""
        self.multiplied = 0
        self.deleted = 0
        self._known = known
        self._rng = rng
        self._numbers = 0
        # Starting URLs of a fleet without weblog update: the seeds, and after them the first URLs
        # that were visited, until there are 10 (section 4.2.1).
        self._starts = list(dict.fromkeys(seeds))
        size = known.states.shape[1]
        self._visits = Visits() if settings.start == "refresh" else None
        """Of the pages that were steps, where starts go by how often these change."""
        for one in learns or [settings.learns] * settings.min_foragers:
            # Algorithm 10: the seeds enter the weblog with value 0
            weblog = Weblog(dict.fromkeys(self._starts, 0.0))
            weight = random_weight(size, rng)
            own = replace(settings, learns=one)
            self.foragers.append(Forager(self._number(), weblog, weight, own, own.init_score))

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers - 1

    # -- what a fleet asks of its crew

    def visit(self, now: float) -> int:
        """The next URL: the forager at work goes on, or the next one begins where its slice is
        over. A slice lets the step in hand end."""
        if self.ends_at == -math.inf:
            self.ends_at = now + self.settings.slice_seconds
        elif now >= self.ends_at:
            self._stop_forager()
            self.ends_at = now + self.settings.slice_seconds
        forager = self.foragers[self.turn]
        step = forager.select(self._known, self._starts, lambda starts: self._start(starts, now))
        if len(self._starts) < self.settings.start_size and step not in self._starts:
            self._starts.append(step)
        return step

    def _start(self, starts: Sequence[int], now: float) -> int:
        if self._visits is not None:
            return self._visits.best(list(starts), now)
        return starts[int(self._rng.integers(len(starts)))]

    def _stop_forager(self) -> None:
        """Algorithm 8 on the forager that has worked, and the turn goes on."""
        grown = self.agent.manage_forager(self.foragers, self.turn, self._number, self._rng)
        self.multiplied += grown > 0
        self.deleted += grown < 0
        self.turn = (self.turn + (grown >= 0)) % len(self.foragers)

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """The linked pages to download with a step: all of them (Algorithm 12). In a watch, which
        has few requests, those that were never asked for: all that appeared since the first look,
        and `OLD_LINKS` of those that stood there."""
        if self._known.watching is not None:
            return self._unasked(links)
        if not self.settings.recheck:
            return links
        oldest = now - self.settings.recheck
        fetched = self._known.fetched
        return [link for link in links if fetched[link] <= oldest]

    def _unasked(self, links: Sequence[int]) -> Sequence[int]:
        known = self._known
        unasked = [link for link in links if known.fetched[link] == -math.inf]
        came = [link for link in unasked if known.came(link)]
        stood = [link for link in unasked if not known.came(link)]

        def likely(link: int) -> tuple[int, int, int]:
            return known.clicks[link], known.depth[link], -known.cited[link]

        return [*came, *sorted(stood, key=likely)[:OLD_LINKS]]

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        """The rest of Algorithm 12, after the downloads of a step: `pages` are those that were
        downloaded, the step's own first; empty where the step failed."""
        forager, known = self.foragers[self.turn], self._known
        if self._visits is not None:
            for page in pages:
                if page == step or page in self._visits:
                    self._visits.saw(page, known.version[page], now)
        if self.settings.recheck or known.watching is not None:
            here = set(pages)
            unchanged = [link for link in links if link not in here and known.digests[link]]
            pages = [*pages, *unchanged]
        # A page that could not be downloaded has no state and cannot be ordered: it stays out.
        forager.frontier.add([page for page in pages if page != step], forager.visited)
        sent = forager.new_documents(known, pages, now)  # Alg. 5
        rewards = [self.agent.manage_url(page, known, now, forager) for page in sent]  # Alg. 7
        forager.reinforce(known, step, math.fsum(rewards))  # Alg. 4

    # -- for good

    def held(self) -> set[int]:
        """Pages that it goes by."""
        return set(self._starts).union(*(forager.held() for forager in self.foragers))

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        self.agent.leave(left)
        if self._visits is not None:
            self._visits.leave(left)
        for forager in self.foragers:
            forager.leave(left)

    # -- durable

    def save(self) -> State:
        return {
            **super().save(),
            "foragers": [forager.save() for forager in self.foragers],
            "ends_at": None if self.ends_at == -math.inf else self.ends_at,
        }

    def load(self, state: State) -> None:
        super().load(state)
        self.foragers = [Forager.revive(saved, self.settings) for saved in state["foragers"]]
        self.ends_at = -math.inf if state["ends_at"] is None else state["ends_at"]
