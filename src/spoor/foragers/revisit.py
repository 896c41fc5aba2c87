"""Crews without foragers, as baselines: they revisit one list of pages.

They send new documents to the same reinforcing agent, so every figure means the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.agent import ReinforcingAgent
from spoor.foragers.known import LIST, Known
from spoor.foragers.rates import change_rates, refresh_worth
from spoor.foragers.settings import DAY, FleetSettings
from spoor.learn.saved import ARRAY, PAIRS, PART, QUEUE, VALUE, Form, Saved, attributes
from spoor.types import State

PRIOR = {"hub": 1.0, "wanted": 0.02, "other": 0.001, "absent": 0.0002, "listed": 0.01}
GUESSED = 1e-6
"""What a page of a kind brings in a day before it has brought anything: seeds, feeds and sitemaps;
pages on topic; pages that are not; pages that could not be had (`GUESSED` where
nothing ever was and only strangers link). `listed`: for each URL that was learned from it at its
first look, from `LEAST_LISTED` on, up to `MOST_LISTED` in all."""

LEAST_LISTED = 15
MOST_LISTED = 0.5

EXPLORED = 0.35
"""Share of the visits to the known pages of a host that its hubs get at least."""

LOOKED_AT = 0.05
LEAST_LOOKED_AT = 10
"""Share of the known pages of a host, and so many at least, that each pass of `--once` looks at,
those first that are most worth it: hardly a rate is known before a page has changed, and in so many
passes every page is seen again."""

WORTH_A_TURN = 0.005
"""Documents that a known page is expected to bring by now, from which on it takes turns with URLs
that were never asked for; before, one comes after `SELDOM` of these."""

SELDOM = 4

BEHIND = 8
"""Visits to a host between two to URLs to which only strangers link (`Urls.strangers`)."""

OLD_BATCH = 1.0
"""Seconds after which a batch of a watch is made anew, since more is known; with more than 10⁵ URLs
as many times longer. A site that has always something to ask for would else keep a batch in which
others have nothing left."""

BATCH_SECONDS = 0.2
"""Between two batches of a watch, which take some 20 ms with 10⁵ pages."""

UNKNOWN = 100.0
"""URLs that appeared, of which one was new and wanted, are taken for granted in the beginning."""

_COLUMNS = (
    *("_visits", "_changes", "_versions", "_first", "_last", "_prior"),
    *("_appeared", "_again", "_beside", "_common"),
)
"""What is known of each URL by `ChangeRate`."""

MARKED = Form(
    lambda marked: np.array(sorted(marked.items()), dtype=np.int64).reshape(-1, 2),
    lambda old, saved: dict(map(tuple, saved.tolist())),
)


class _Submits(Saved):
    """What both have: a page that is new is sent to the agent once. `abreast` pages make a step,
    so that as many hosts can be asked at a time."""

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
        self._marked: dict[int, int] = {}
        """Page → the newest version that was sent, 0 where all are one document."""

    def submit(self, pages: Sequence[int], now: float) -> None:
        """Those of the pages that are new documents, each once."""
        known, settings = self._known, self.settings
        for page in pages:
            version = known.version[page] if settings.identity == "version" else 0
            fresh = known.fresh(page, now, settings.new_for)
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
            self._marked.pop(url, None)


class RoundRobin(_Submits):
    """Every known URL in turn, in the order of discovery, again and again."""

    SAVED = attributes(**_Submits.SAVED, _at=VALUE)

    def __init__(self, known: Known, settings: FleetSettings, *, abreast: int = 1) -> None:
        super().__init__(known, settings, abreast)
        self._at = -1

    def visit(self, now: float) -> int:
        self._at = (self._at + 1) % len(self._known.urls)
        return self._at

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """Links are followed in their turn only; the next URLs in turn are fetched too."""
        count = min(self.abreast, len(self._known.urls)) - 1
        return [self.visit(now) for _ in range(count)]

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """The next in turn whose host is free; those before it are passed over."""
        total = len(self._known.urls)
        latest = self.began if self.only_due else np.inf
        for ahead in range(1, total + 1):
            url = (self._at + ahead) % total
            if not self._known.urls[url]:
                continue
            if self._known.fetched[url] <= latest and free(url) and url not in busy:
                self._at = url
                return url
        return -1

    def weighs_again(self, now: float) -> Sequence[float]:
        """All that is known is weighed each time."""
        return ()

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """Whether a page was not asked for in this pass, of a host that is not `without`."""
        known = self._known
        return any(
            url and at <= self.began and name not in without
            for url, at, name in zip(known.urls, known.fetched, known.hosts, strict=True)
        )

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        self.submit(pages, now)


class ChangeRate(_Submits):
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
    least. Before a page paid, its rate is that of its kind (`PRIOR`); each URL that appeared on it
    counts for the share of such URLs, anywhere, that were new and wanted, so that a list whose
    topic comes seldom is looked at before it has paid. The change of a list on topic by its links
    is paid where these lead. What appeared on a page when another had shown it waits no longer than
    since the last look at either (`_waiting`). What the hubs of a host earn
    is raised to a share of its visits (`EXPLORED`), so that none starves beside pages that change
    all the time. A page that promises to stay as it is (`Cache-Control`) is left alone meanwhile,
    where its host keeps such promises. At each host a URL never asked for and a known page take
    turns. Pages that a feed or a sitemap says have changed go first, and hosts take turns in a
    batch. What only strangers link to, where the user named a page of its site, comes once in
    `BEHIND` visits.
    """

    SAVED = attributes(
        **_Submits.SAVED,
        _queue=QUEUE,
        _next_new=VALUE,
        _batched=VALUE,
        _after_new=PAIRS,
        _visits=ARRAY,
        _changes=ARRAY,
        _versions=ARRAY,
        _first=ARRAY,
        _last=ARRAY,
        _prior=ARRAY,
        _appeared=ARRAY,
        _again=ARRAY,
        _beside=ARRAY,
        _common=ARRAY,
    )

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
        self._batch = batch
        self._queue: deque[int] = deque()
        self._next_new = 0
        self._after_new: dict[str, int] = {}
        """Host → visits in a row to URLs never asked for before, in a watch."""
        self._since_seldom: dict[str, int] = {}
        """Host → such visits since the last one to a known page that hardly brings anything."""
        self._between: dict[str, int] = {}
        """Host → its visits since the last to a URL of strangers, where there are such."""
        self._batched = 0.0
        """When the last batch of a watch was made."""
        self._visits: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Revisits, the first visit left out; before a page is fetched, its failures less one."""
        self._changes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Revisits that found another content."""
        self._versions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Contents of the last download; 0 before the first."""
        self._first: NDArray[np.float64] = np.zeros(0)
        """Time of the first download; before it, of the first request. 0 before that."""
        self._last: NDArray[np.float64] = np.zeros(0)
        """Time of the last request."""
        self._prior: NDArray[np.float64] = np.zeros(0)
        """In a watch: what pages of its kind bring in a day."""
        self._appeared: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """In a watch: URLs nobody knew to which a link appeared on it after its first look."""
        self._again: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """In a watch: URLs that appeared on it when they had appeared on another page before."""
        self._beside: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """In a watch: the page that showed most of these before, where `_common` is not 0."""
        self._common: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """In a watch: at least so many of them that one had shown."""
        if known.watching is not None:
            known.entered = []

    def visit(self, now: float) -> int:
        if not self._queue:
            self._grow()
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

    def next_visit(self, free: Callable[[int], bool], busy: Container[int], now: float) -> int:
        """The first of the hints, then of the batch, whose host is free; new batches are
        `BATCH_SECONDS` apart."""
        for url in self._urgent(now):
            if url not in busy and free(url):
                return url
        old = OLD_BATCH * max(1.0, len(self._known.urls) / 100_000)
        for least in (old, BATCH_SECONDS):
            if now >= self._batched + least:
                self._batched = now
                self._queue = deque(self._fair_batch(now))
            for index, url in enumerate(self._queue):
                # One that was in flight when the batch was made has its answer by now.
                asked_since = self._known.fetched[url] > self._batched
                if not asked_since and url not in busy and free(url):
                    del self._queue[index]
                    name = self._known.hosts[url]
                    new_ones = self._after_new.pop(name, 0)
                    since = self._since_seldom.get(name, 0)
                    if self._known.fetched[url] == -np.inf:
                        self._after_new[name] = new_ones + 1
                        self._since_seldom[name] = min(since + 1, SELDOM)
                    elif since and not self.pays(url, now):
                        del self._since_seldom[name]
                    if strangers := self._known.strangers:
                        visits = self._between.get(name, 0)
                        self._between[name] = 0 if url in strangers else visits + 1
                    return url
        return -1

    def weighs_again(self, now: float) -> Sequence[float]:
        """When the next batch is made; of one that was made just now nothing is left to visit."""
        return () if self._batched == now else (self._batched + BATCH_SECONDS,)

    def _fair_batch(self, now: float) -> list[int]:
        self._grow()
        known = self._known
        hosts = known.host_numbers()
        expected, worth = self._waiting(self._explored(hosts), now)
        self._next_new = len(worth)
        tried = np.array(known.fetched) > -np.inf
        tried[known.free()] = True
        fresh, behind = self._fresh(~tried)
        may = self._of_pass(hosts, worth, now) if self.only_due else tried
        may[[*known.promises.kept_alone(now), *known.free()]] = False
        seen = np.flatnonzero(may)
        seen = seen[np.argsort(-worth[seen], kind="stable")]
        # A host with many pages that wait for long keeps no page of others out.
        seen = seen[_ranks(hosts[seen]) < self._batch]
        # One of each in turn, at each host by itself: where a budget lets one request through at a
        # time, hosts are free in a fixed order, and one would always meet the same turn.
        names = known.numbered_hosts()
        # A known page that brings hardly anything yet comes after several of them.
        after_new = np.array([self._after_new.get(name, 0) > 0 for name in names], dtype=np.int64)
        since = np.array([self._since_seldom.get(name, 0) for name in names], dtype=np.int64)
        host, ranks = hosts[seen], _ranks(hosts[seen])
        places = 2 * ranks + 1 - after_new[host]
        seldom = 2 * SELDOM * ranks + 2 * np.maximum(SELDOM - since, 0)[host] - 1
        turns_of_fresh = 2 * _ranks(hosts[fresh]) + after_new[hosts[fresh]]
        if behind.any():
            between = np.array([self._between.get(name, 0) for name in names], dtype=np.int64)
            soonest = np.where(between < BEHIND, 2 * len(fresh) + 40 * self._batch, 0)
            later = hosts[fresh[behind]]
            turns_of_fresh[behind] = 2 * BEHIND * _ranks(later) + soonest[later]
        turns_of_seen = np.where(expected[seen] < WORTH_A_TURN, seldom, places)
        turns = np.concatenate([turns_of_fresh, turns_of_seen])
        # Two of each host at least: one whose budget is spent keeps none out.
        most = max(self._batch, 2 * len(known.names()))
        both = np.concatenate([fresh, seen])
        chosen: list[int] = both[np.argsort(turns, kind="stable")[:most]].tolist()
        return chosen

    def _fresh(self, fresh: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """URLs that were never asked for in their order, and whether only strangers link to each.

        First those whose links appeared last: what stood there at the first look can wait. Of that,
        first what a page links to that is new itself, then what is likely to be a list: few links
        lead to it from a seed, it has a short path, and many pages link to it. What only strangers
        link to comes last.
        """
        known, urls = self._known, np.flatnonzero(fresh)
        if not len(urls):
            return urls, np.zeros(0, dtype=bool)
        cited = np.array(known.cited, dtype=np.int64)[urls]
        depth = np.array(known.depth, dtype=np.int64)[urls]
        clicks = np.array(known.clicks, dtype=np.int64)[urls]
        parents = np.array(known.parent, dtype=np.int64)[urls]
        young = (parents >= 0) & (known.born(parents) > -np.inf)
        of_strangers = np.zeros(len(fresh), dtype=bool)
        of_strangers[list(known.strangers)] = True
        behind = of_strangers[urls]
        order = np.lexsort((-cited, depth, clicks, ~young, -known.born(urls), behind))
        return urls[order], behind[order]

    def due(self, now: float, without: Container[str] = ()) -> bool:
        """Whether there is a hint, a URL never asked for, or a page that has changed by now, by
        its rate more likely than not; of a host that is not `without`."""
        self._grow()
        new = np.array(self._known.fetched) == -np.inf
        new[self._known.free()] = False
        hosts = self._known.host_numbers()
        rest = self._not_in_this_pass(now) & (self._rest_of_pass(hosts)[hosts] > 0)
        due = chain(self._urgent(now), np.flatnonzero(new | self._changed(now) | rest).tolist())
        return any(self._known.hosts[url] not in without for url in due)

    def _not_in_this_pass(self, now: float) -> NDArray[np.bool_]:
        """Pages that were asked for before this pass, and not in it."""
        before: NDArray[np.bool_] = (self._last > 0.0) & (self._last <= self.began)
        before[[*self._known.promises.kept_alone(now), *self._known.free()]] = False
        return before

    def _rest_of_pass(self, hosts: NDArray[np.int64]) -> NDArray[np.int64]:
        """By host, how many of its known pages this pass has yet to look at (`LOOKED_AT`)."""
        before = (self._first > 0.0) & (self._first <= self.began)
        pages = np.bincount(hosts, before)
        done = np.bincount(hosts, before & (self._last > self.began))
        least = np.maximum(LEAST_LOOKED_AT, np.ceil(LOOKED_AT * pages))
        rest: NDArray[np.int64] = (least - done).astype(np.int64)
        return rest

    def _of_pass(
        self, hosts: NDArray[np.int64], worth: NDArray[np.float64], now: float
    ) -> NDArray[np.bool_]:
        """What a pass looks at: what has changed by now, and the rest of its share."""
        may = self._changed(now)
        before = np.flatnonzero(self._not_in_this_pass(now) & ~may)
        before = before[np.argsort(-worth[before], kind="stable")]
        rest = self._rest_of_pass(hosts) - np.bincount(hosts, may).astype(np.int64)
        may[before[_ranks(hosts[before]) < rest[hosts[before]]]] = True
        return may

    def _urgent(self, now: float) -> Iterator[int]:
        """Hints, and what is to be looked at once more by now."""
        yield from self._known.hints.open
        yield from (url for url, at in self._known.again.items() if at <= now)

    def _changed(self, now: float) -> NDArray[np.bool_]:
        """Pages that have changed by now, more likely than not; seeds once in each pass."""
        changed = self._pay() * (now - self._last) > np.log(2.0)
        changed[self._known.promises.kept_alone(now)] = False
        seeds = np.array(self._known.parent) < 0
        tried = np.array(self._known.fetched) > -np.inf
        tried[self._known.free()] = False
        both: NDArray[np.bool_] = tried & (changed | (seeds & (self._last <= self.began)))
        return both

    def pays(self, url: int, now: float) -> bool:
        """Whether a known page is worth a turn by now (`WORTH_A_TURN`) by what it brings."""
        self._grow()
        one = np.array([url])
        return bool(self._waiting(self._pay()[one], now, one)[0][0] >= WORTH_A_TURN)

    def _waiting(
        self, rates: NDArray[np.float64], now: float, pages: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Documents that have come to each of these pages, or of all, since its last look by now,
        but for those that looks at the page beside it have shown, and twice the time that they have
        waited in all. `rates`: documents a second, of each page. O(pages)."""
        pages = np.arange(len(self._last)) if pages is None else pages
        beside, own = self._beside[pages], self._common[pages]
        # Two that each show what the other shows later: looks at either serve both.
        mutual = (self._common[beside] > 0) & (self._beside[beside] == pages)
        theirs = np.where(mutual, np.minimum(own, self._common[beside]), 0)
        shown = self._appeared[pages] + self._again[pages]
        common = np.minimum(own + theirs, shown) / (shown + 1.0)
        since = now - self._last[pages]
        other, alone = np.minimum(since, now - self._last[beside]), 1.0 - common
        return (
            rates * (alone * since + common * other),
            rates * (alone * since**2 + common * other**2),
        )

    def _in_common(self, page: int, other: int) -> None:
        """A URL appeared on a page that another had shown before (Boyer and Moore's vote). Nothing
        is said of the other: this one may show all of it, and later."""
        if not self._common[page]:
            self._beside[page] = other
        self._common[page] += 1 if self._beside[page] == other else -1

    def _found(self, page: int) -> None:
        parent = self._known.parent[page]
        if self._known.watching is not None and parent >= 0:
            self._grow()
            self._changes[parent] += 1

    def _pay(self) -> NDArray[np.float64]:
        """What each page of a watch brings in a second."""
        found, appeared = float(self._changes.sum()), float(self._appeared.sum())
        share = min(1.0, (found + 1.0) / (appeared + UNKNOWN))
        brought = self._changes + self._prior + share * self._appeared
        rates: NDArray[np.float64] = brought / (self._last - self._first + DAY)
        return rates

    def load(self, state: State) -> None:
        nothing = np.zeros(len(state["visits"]), dtype=np.int64)
        before = dict.fromkeys(("appeared", "again", "beside", "common"), nothing)
        after_new = [[one, 1] if isinstance(one, str) else one for one in state["after_new"]]
        super().load({**before, **state, "after_new": after_new})  # of versions before this, too
        self._between = dict(state.get("between", {}))
        self._since_seldom = dict(state.get("since_seldom", {}))

    def _explored(self, hosts: NDArray[np.int64]) -> NDArray[np.float64]:
        """As `_pay`, where the hubs of a host that could be had get `EXPLORED` of its visits to
        known pages, which are in proportion to √pay."""
        pay = self._pay()
        hubs = (self._prior == PRIOR["hub"]) & (self._versions > 0)
        all_visits = np.bincount(hosts, np.sqrt(pay))
        share = EXPLORED / np.maximum(np.bincount(hosts, hubs), 1)
        least = (share * all_visits)[hosts] ** 2
        raised: NDArray[np.float64] = np.where(hubs, np.maximum(pay, least), pay)
        return raised

    def _kind(self, page: int, fetched: bool) -> str:
        known = self._known
        assert known.watching is not None
        if known.parent[page] < 0 or page in known.hubs or page in known.sitemaps:
            return "hub"
        if not fetched:
            return "absent"
        # A copy is looked at where the other one is no more.
        alone = known.watching.copy_of.get(page, -1) not in known.watching.wanted
        return "wanted" if page in known.watching.wanted and alone else "other"

    def _prior_of(self, page: int, fetched: bool) -> float:
        """A page from which many URLs were learned is a list of them."""
        kind = self._kind(page, fetched)
        if kind == "absent" and not self._known.digests[page] and self._known.guessed(page):
            return GUESSED
        introduced = self._known.introduced[page]
        listed = PRIOR["listed"] * introduced if fetched and introduced >= LEAST_LISTED else 0.0
        return PRIOR[kind] if kind == "hub" else max(PRIOR[kind], min(MOST_LISTED, listed))

    def _paid(self, page: int) -> bool:
        """Whether a page changed since its last visit, in a way that counts."""
        known, watching = self._known, self._known.watching
        if known.version[page] == self._versions[page]:
            return False
        if watching is None or watching.judge is None:
            return watching is None or page in watching.wanted
        return page in watching.wanted and not (known.relinked and self._is_list(page))

    def _is_list(self, page: int) -> bool:
        """Whether many links appeared on a page, or were learned from it at its first look."""
        known = self._known
        return known.brought[page] >= LIST or known.introduced[page] >= LEAST_LISTED

    @property
    def spares(self) -> bool:  # type: ignore[override]
        """A pass of `--once` asks for all that it may."""
        return not self.only_due

    def select(self, step: int, links: Sequence[int], now: float) -> Sequence[int]:
        """Links are followed in their turn only; the next URLs of the batch are fetched too."""
        while self._queue and len(self._asked) < self.abreast:
            self._asked.append(self._queue.popleft())
        return self._asked[1:]

    def rates(self) -> NDArray[np.float64]:
        """Estimated changes a second, by URL number."""
        return change_rates(self._visits, self._changes, self._last - self._first)

    def worth(self, now: float) -> NDArray[np.float64]:
        """Of a visit now; −∞ for what was never asked for."""
        value = refresh_worth(self.rates(), now - self._last)
        asked = np.arange(len(value)) < self._next_new
        worth: NDArray[np.float64] = np.where(asked, value, -np.inf)
        return worth

    def _grow(self) -> None:
        known = self._known
        more = len(known.urls) - len(self._visits)
        if more > 0:
            for name in _COLUMNS:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros(more, dtype=old.dtype)]))
        if known.entered:
            entered, known.entered = known.entered, []
            born = known.born(np.array([url for url, _ in entered], dtype=np.int64)) > -np.inf
            for (url, back), appeared in zip(entered, born, strict=True):
                if appeared and known.parent[url] >= 0:
                    self._appeared[known.parent[url]] += 1
                if back > -np.inf:  # it came back: as if it had been here all along
                    kind = "wanted" if url in known.told_before else "other"
                    self._first[url] = self._last[url] = back
                    self._prior[url] = PRIOR[kind]

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more, none of which is held."""
        super().leave(left)
        self._grow()
        self._queue = deque(url for url in self._queue if url not in left)
        for name in _COLUMNS:
            getattr(self, name)[list(left)] = 0
        self._common[np.isin(self._beside, list(left))] = 0

    def save(self) -> State:
        self._grow()
        own = {"between": self._between, "since_seldom": self._since_seldom}
        return {**super().save(), **{name: dict(its) for name, its in own.items() if its}}

    def end_step(self, step: int, links: Sequence[int], pages: Sequence[int], now: float) -> None:
        self._grow()
        self.submit(pages, now)
        fetched = set(pages)
        if self._known.watching is not None:
            self._asked = [step]
            self._prior[step] = self._prior_of(step, step in fetched)
            self._again[step] += len(self._known.shown_again)
            for url in self._known.shown_again:
                self._in_common(step, self._known.parent[url])
        for page in self._asked:
            if page not in fetched:
                # Not downloaded: count it as seen unchanged, so that it is not the first again.
                # A redirect leads to a page that has its own turn.
                if not self._first[page]:
                    self._first[page] = now
                elif not self._versions[page]:
                    self._visits[page] += 1
                self._last[page] = now
                continue
            version = self._known.version[page]
            if not self._versions[page]:
                self._first[page] = now
                self._visits[page] = 0
            else:
                self._visits[page] += 1
                self._changes[page] += self._paid(page)
            self._versions[page] = version
            self._last[page] = now
        self._known.shown_again = []


def _ranks(hosts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each URL, given by its host, among those of that host."""
    order = np.argsort(hosts, kind="stable")
    grouped = hosts[order]
    places = np.arange(len(order))
    begins = places.copy()
    begins[1:][grouped[1:] == grouped[:-1]] = 0
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(begins)
    return ranks
