"""The web as far as a run knew of it, and the crawl of another policy over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.lab.whatif.run_log import RunLog, end_of
from spoor.protocols import LookAhead, Policy
from spoor.simulation.replay import Replay
from spoor.types import (
    Failed,
    Fetch,
    Fetched,
    Judgement,
    Page,
    Redirected,
    Reply,
    State,
    Task,
    urls_of,
)
from spoor.web.text import Vectors


class PartialWeb:
    """The web as the run saw it, and its verdicts. Without `chances` links lead to pages that it
    fetched only; with them also to open ones, of which what they hold is drawn."""

    def __init__(
        self,
        log: RunLog,
        chances: Mapping[str, float] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._log = log
        self._taken = {item.page.url: item for item in log.taken}
        self._chances = {} if chances is None else chances
        self._rng = rng or np.random.default_rng(0)
        self._pages: dict[str, Page] = {}
        self._drawn: dict[str, Judgement] = {}
        self._failing = len(log.failed) / max(1, len(log.failed) + len(log.taken))
        self.relevant = {url: item.judgement.relevant for url, item in self._taken.items()}

    def answer(self, fetch: Fetch) -> Reply:
        end = end_of(fetch.url, self._log.redirects)
        if not self._leads(end):
            return Failed(fetch.ticket, "absent", "not fetched by the run")
        if end != fetch.url:
            return Redirected(fetch.ticket, end)
        page = self._page(end)
        return Failed(fetch.ticket, "absent") if page is None else Fetched(fetch.ticket, page)

    def judge(self, page: Page) -> Judgement:
        item = self._taken.get(page.url)
        return self._drawn[page.url] if item is None else item.judgement

    def _page(self, url: str) -> Page | None:
        if url not in self._taken:
            return self._draw(url)
        if url not in self._pages:
            page = self._taken[url].page
            ends = (end_of(to, self._log.redirects) for to in urls_of(page.links))
            inside = [page.links[index] for index, end in enumerate(ends) if self._leads(end)]
            self._pages[url] = replace(page, links=inside)
        return self._pages[url]

    def _leads(self, end: str) -> bool:
        return end in self._taken or end in self._chances

    def _draw(self, url: str) -> Page | None:
        """A page of the run in place of one that it never fetched."""
        if self._rng.random() < self._failing:
            return None
        relevant = bool(self._rng.random() < self._chances[url])
        alike = [item for item in self._log.taken if item.judgement.relevant == relevant]
        donors = alike or self._log.taken
        donor = donors[int(self._rng.integers(len(donors)))]
        bare = Judgement(float(relevant), relevant, float(relevant))
        self._drawn[url] = donor.judgement if alike else bare
        return replace(donor.page, url=url, links=())


def build_policy(
    log: RunLog, policy: str, params: Mapping[str, Any] | None, model: State | None, seed: int
) -> Policy:
    if policy in registry.LAB_ONLY:
        raise InputError(f"{policy} knows the whole web, which no run does")
    vectors = Vectors.read(log.vectors) if log.vectors else None
    task = Task(np.random.default_rng(seed), log.topic, model, vectors=vectors)
    made: Policy = registry.build("policies", policy, task, settings=params)
    if isinstance(made, LookAhead) and made.look_ahead:
        raise InputError(f"{policy} looks ahead: what it expands is not chosen among links")
    return made


def crawl_partial(
    log: RunLog, policy: Policy, world: PartialWeb, pages: int | None = None
) -> Iterator[tuple[str, bool]]:
    """URL of each page that a policy takes of a world, and whether it is relevant."""
    crawl = Crawl(policy, world, MemoryFrontier(), pages=pages)
    crawl.seed(log.seeds)
    for outcome in Replay(crawl, world):
        if outcome.page is not None and outcome.judgement is not None:
            yield outcome.page.url, outcome.judgement.relevant
