"""A crew without foragers, as a baseline and as the default of a watch: pages by their rates of
change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from itertools import chain

import numpy as np

from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.settings import FleetSettings
from spoor.foragers.submitting import Submits
from spoor.learn.saved_attributes import QUEUE, VALUE, attributes
from spoor.types import State
from spoor.watching import once_passes
from spoor.watching.columns import Floats
from spoor.watching.host_turns import HostTurns
from spoor.watching.known_urls import Known
from spoor.watching.page_rates import PageRates
from spoor.watching.rates import change_rates, refresh_worth
from spoor.watching.visit_reasons import why_again

OLD_BATCH = 1.0
"""Seconds after which a batch of a watch is made anew, since more is known; with more than 10⁵ URLs
as many times longer. A site that has always something to ask for would else keep a batch in which
others have nothing left."""

BATCH_SECONDS = 0.2
"""Between two batches of a watch, which take some 20 ms with 10⁵ pages."""


class ChangeRate(Submits):
    """Revisits by estimated rates of change, for freshness (Cho & Garcia-Molina 2000, 2003).

    A visit is worth what `refresh_worth` says, by the optimal allocation of
    Cho and Garcia-Molina (2000), which ignores pages that change too fast to be kept fresh. A URL
    that has failed since it was first asked for counts as a page that does not change, so that it
    is asked again, ever less often. Each `batch` of visits is half URLs never asked for, oldest
    first, and half the others worth most. O(pages) a batch.

    In a watch (`Known.watching`) a page's changes are what its visits brought: links to documents
    that were new and wanted, or a change of its own where it is wanted. Where they come at a rate
    λ, those that have come since the last visit, τ seconds ago, have waited λτ²/2 in all: that is
    what a visit is worth, so that pages are visited in proportion to √λ, which makes the mean delay
    least. Before a page paid, its rate is that of its kind (`page_rates.PRIOR`), corrected by what
    pages of that kind brought at its host (`KindRates`); each URL that
    appeared on it counts for the share of such URLs, anywhere, that were new and wanted, so that a
    list whose topic comes seldom is looked at before it has paid. The change of a list on topic by
    its links is paid where these lead. What appeared on a page when another had shown it waits no
    longer than since the last look at either (`SameLists`). What the hubs of a host earn is raised
    to a share of its visits (`EXPLORED`), so that none starves beside pages that change all the
    time. A page that promises to stay as it is (`Cache-Control`) is left alone meanwhile, where its
    host keeps such promises. At each host a URL that appeared and a known page take turns, and one
    visit in five is to a URL that stood there at the first look (`HostTurns`). Pages that a feed or
    a sitemap says have changed go first, and hosts take turns in a batch. What only strangers link
    to, where the user named a page of its site, comes once in `BEHIND` visits.
    """

    SAVED = attributes(**Submits.SAVED, _queue=QUEUE, _next_new=VALUE, _batched=VALUE)

    def __init__(
        self,
        known: Known,
        settings: FleetSettings,
        *,
        batch: int = 100,
        abreast: int = 1,
        agent: ReinforcingAgent | None = None,
    ) -> None:
        super().__init__(known, settings, abreast, agent)
        self.pages = PageRates(known)
        self._turns = HostTurns(known)
        self._batch = batch
        self._queue: deque[int] = deque()
        self._next_new = 0
        self._batched = 0.0
        """When the last batch of a watch was made."""

    # -- without a watch

    def visit(self, now: float) -> int:
        if not self._queue:
            self.pages.catch_up()
            total = len(self._known.urls)
            fresh = range(self._next_new, min(total, self._next_new + max(1, self._batch // 2)))
            worth = self.worth(now)  # of those that are not fresh
            self._next_new = fresh.stop
            self._queue.extend(fresh)
            count = min(self._batch - len(fresh), int((worth > -np.inf).sum()))
            if count > 0:
                best = np.argpartition(-worth, count - 1)[:count]
                self._queue.extend(best[np.argsort(-worth[best], kind="stable")].tolist())
        self._asked = [self._queue.popleft()]
        return self._asked[0]

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """Links are followed in their turn only; the next URLs of the batch are fetched too."""
        while self._queue and len(self._asked) < self.abreast:
            self._asked.append(self._queue.popleft())
        return self._asked[1:]

    def rates(self) -> Floats:
        """Estimated changes a second, by URL number."""
        pages = self.pages
        return change_rates(pages.visits, pages.changes, pages.last - pages.first)

    def worth(self, now: float) -> Floats:
        """Of a visit now; −∞ for what was never asked for."""
        value = refresh_worth(self.rates(), now - self.pages.last)
        asked = np.arange(len(value)) < self._next_new
        worth: Floats = np.where(asked, value, -np.inf)
        return worth

    # -- in a watch

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """The first of the hints, then of the batch, whose host is free; new batches are
        `BATCH_SECONDS` apart."""
        for url in self._urgent(now):
            if url not in busy and free(url):
                return url
        if now < self._batched + OLD_BATCH * max(1.0, len(self._known.urls) / 100_000):
            if (url := self._next_of_batch(free, busy, now)) >= 0:
                return url
            if now < self._batched + BATCH_SECONDS:
                return -1
        self._batched = now
        self._queue = deque(self._fair_batch(now))
        return self._next_of_batch(free, busy, now)

    def _next_of_batch(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """-1 where none may be asked for now. O(those that may not)."""
        for index, url in enumerate(self._queue):
            # One that was in flight when the batch was made has its answer by now.
            asked_since = self._known.fetched[url] > self._batched
            if not asked_since and url not in busy and free(url):
                del self._queue[index]
                if self._turns.after(url) and not self.pays(url, now):
                    self._turns.seldom_had_its_turn(url)
                return url
        return -1

    def weighs_again(self, now: float) -> Sequence[float]:
        """When the next batch is made; of one that was made just now nothing is left to visit."""
        return () if self._batched == now else (self._batched + BATCH_SECONDS,)

    def _fair_batch(self, now: float) -> list[int]:
        known, pages = self._known, self.pages
        pages.catch_up()
        hosts = known.host_numbers()
        expected, worth = pages.waiting(pages.explored(hosts, now), now)
        self._next_new = len(worth)
        if self.only_due:
            told = once_passes.told_at(known, self.agent.discoveries)
            may = once_passes.of_pass(pages, known, hosts, worth, self.began, now, told)
        else:
            may = np.array(known.fetched) > -np.inf
        may[[*known.promises.kept_alone(now), *known.free()]] = False
        return self._turns.batch(may, expected, worth, hosts, self._batch)

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """Whether there is a hint, a URL never asked for, or a page that has changed by now, by
        its rate more likely than not; of a host that is not `without`."""
        self.pages.catch_up()
        told = once_passes.told_at(self._known, self.agent.discoveries)
        its = once_passes.due(self.pages, self._known, self.began, now, told).tolist()
        hosts = self._known.hosts
        return any(hosts[url] not in without for url in chain(self._urgent(now), its))

    def _urgent(self, now: float) -> Iterator[int]:
        """Hints, and what is to be looked at once more by now."""
        yield from self._known.hints.open
        yield from (url for url, at in self._known.again.items() if at <= now)

    def why(self, url: int, now: float) -> str:
        """As of a crew that `Weighs`."""
        return why_again(self.pages, self._known, url, now)

    def pays(self, url: int, now: float) -> bool:
        """As `PageRates.pays`."""
        return self.pages.pays(url, now)

    @property
    def spares(self) -> bool:  # type: ignore[override]
        """A pass of `--once` asks for all that it may."""
        return not self.only_due

    def _found(self, page: int) -> None:
        self.pages.found(page)

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        self.pages.catch_up()
        self.submit(pages, now)
        fetched = set(pages)
        if self._known.watching is not None:
            self._asked = [step]
            if step in fetched and not self.pages.versions[step]:
                self._turns.read(step)
        for page in self._asked:
            self.pages.asked(page, now, fetched=page in fetched)
        if self._known.watching is not None:
            self.pages.shown(step, now, fetched=step in fetched)
        self._known.shown_again = []

    def redirected(self, url: int, now: float) -> None:
        """It could not be had itself; the page that it leads to has its own turn."""
        self.pages.redirected(url, now)

    # -- what leaves, and durable

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        super().leave(left)
        self._queue = deque(url for url in self._queue if url not in left)
        self.pages.leave(left)
        self._turns.leave_hosts(self._known.hosts_left)

    def save(self) -> State:
        return {**super().save(), **self._turns.save(), **self.pages.save()}

    def load(self, state: State) -> None:
        super().load(state)
        self._turns.load(state)
        self.pages.load(state)
