"""What was seen of each page that is revisited, and what its visits are expected to bring."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spoor.durations import DAY
from spoor.learn.saved_attributes import ARRAY, attributes
from spoor.types import State
from spoor.watching import kind_rates
from spoor.watching.columns import Columns, Floats, Integers
from spoor.watching.kind_rates import KindRates
from spoor.watching.known_urls import Known
from spoor.watching.same_lists import SameLists
from spoor.watching.visits import LIST, YOUNG

PRIOR = {
    "hub": 1.0,
    "feed": 0.1,
    "wanted": 0.005,
    "young": 0.05,
    "other": 0.001,
    "absent": 0.0002,
    "listed": 0.01,
}
GUESSED = 1e-6
"""What a page of a kind brings in a day before it has brought anything: seeds, sitemaps, and feeds
that a seed names; feeds that other pages name, of which a weblog has one for each tag; pages on
topic; pages that are not, and of these such as came less than `YOUNG` ago, which a comment may yet
bring to the topic; pages that could not be had (`GUESSED` where
nothing ever was and only strangers link). `listed`: for each URL that was learned from it at its
first look, from `LEAST_LISTED` on, up to `MOST_LISTED` in all. What pages of a kind have brought at
a host corrects this (`spoor.watching.kind_rates`)."""

OF_YOUNG = 0.05
"""Share of the visits to the known pages of a host that such pages get at most before one of them
came to the topic: on most sites none does, and on a wiki a fourth of what is new."""

CHANGED = 0.25
"""What the change of a known page on topic counts for, where a document that is new counts for 1. A
topic of which a site has a hundred pages that are edited now and then had three looks of four at
these, and its lists one."""

LEAST_LISTED = 15
MOST_LISTED = 0.5

EXPLORED = 0.35
"""Share of the visits to the known pages of a host that its hubs get at least."""

BARREN = 20
"""Looks at the hubs of a host for each that pays, and as many before the first, up to which they
get that share; of twice as many they get half of it. Tried on 28 other windows of the wiki: a
median of 97 minutes, and 128 where they have the whole share for good."""

WORTH_A_TURN = 0.005
"""Documents that a known page is expected to bring by now, from which on it takes turns with URLs
that were never asked for; before, one comes after several of these (`host_turns.SELDOM`)."""

UNKNOWN = 100.0
"""URLs that appeared, of which one was new and wanted, are taken for granted in the beginning."""


class PageRates(Columns):
    """Visits to each page, and what they brought; in a watch a change is what pays: links to
    documents that were new and wanted, or a change of the page's own where it is wanted."""

    SAVED = attributes(
        visits=ARRAY,
        changes=ARRAY,
        versions=ARRAY,
        first=ARRAY,
        last=ARRAY,
        prior=ARRAY,
        appeared=ARRAY,
        edits=ARRAY,
    )

    def __init__(self, known: Known) -> None:
        self._known = known
        self.same = SameLists()
        self.kinds = KindRates()
        self.visits: Integers = np.zeros(0, dtype=np.int64)
        """Revisits, the first visit left out; before a page is fetched, its failures less one."""
        self.changes: Integers = np.zeros(0, dtype=np.int64)
        """Revisits that found another content."""
        self.versions: Integers = np.zeros(0, dtype=np.int64)
        """Contents of the last download; 0 before the first."""
        self.first: Floats = np.zeros(0)
        """Time of the first download; before it, of the first request. 0 before that."""
        self.last: Floats = np.zeros(0)
        """Time of the last request."""
        self.prior: Floats = np.zeros(0)
        """In a watch: what pages of its kind bring in a day."""
        self.appeared: Integers = np.zeros(0, dtype=np.int64)
        """In a watch: URLs nobody knew to which a link appeared on it after its first look."""
        self.edits: Integers = np.zeros(0, dtype=np.int64)
        """In a watch: of its changes those of its own text, which count for `CHANGED` each."""
        if known.watching is not None:
            known.entered = []

    def catch_up(self) -> None:
        """Take in the URLs that are known since."""
        known, count = self._known, len(self._known.urls)
        if count > len(self.visits):
            self.grow(count)
            self.same.grow(count)
        if known.entered:
            entered, known.entered = known.entered, []
            born = known.born(np.array([url for url, _ in entered], dtype=np.int64)) > -np.inf
            for (url, back), appeared in zip(entered, born, strict=True):
                if appeared and known.parent[url] >= 0:
                    self.appeared[known.parent[url]] += 1
                if back > -np.inf:  # it came back: as if it had been here all along
                    kind = "wanted" if url in known.told_before else "other"
                    self.first[url] = self.last[url] = back
                    self.prior[url] = PRIOR[kind]

    # -- what is seen

    def shown(self, page: int, now: float, *, fetched: bool) -> None:
        """A page of a watch was asked for: what it is, and what it shows that another one had."""
        known = self._known
        self.prior[page] = self._prior_of(page, now, fetched=fetched)
        self.same.again[page] += len(known.shown_again)
        for url in known.shown_again:
            self.same.in_common(page, known.parent[url])

    def asked(self, page: int, now: float, *, fetched: bool) -> None:
        """A page was asked for; in a watch before it is known what it is (`shown`)."""
        watched = self._known.watching is not None
        if watched and self.versions[page] and not self.changes[page]:
            self._correct_kind(page, now, fetched=fetched)
        if not fetched:
            # Not downloaded: count it as seen unchanged, so that it is not the first again.
            # A redirect leads to a page that has its own turn.
            if not self.first[page]:
                self.first[page] = now
            elif not self.versions[page]:
                self.visits[page] += 1
            self.last[page] = now
            return
        if not self.versions[page]:
            self.first[page] = now
            self.visits[page] = 0
        else:
            self.visits[page] += 1
            if self._paid(page):
                self.changes[page] += 1
                self.edits[page] += watched
        self.versions[page] = self._known.version[page]
        self.last[page] = now

    def redirected(self, url: int, now: float) -> None:
        """A URL was asked for and leads to another one: a seed, too, is looked at there."""
        self.catch_up()
        self.prior[url] = PRIOR["absent"]
        self.asked(url, now, fetched=False)

    def found(self, page: int) -> None:
        """A document is new, which pays the page of a watch that showed it first."""
        parent = self._known.parent[page]
        if self._known.watching is not None and parent >= 0:
            self.catch_up()
            if not self.changes[parent]:
                kind = self._kind_of(parent, self.last[parent])
                self.kinds.brought(self._known.hosts[parent], kind, 1.0)
            self.changes[parent] += 1

    def _correct_kind(self, page: int, now: float, *, fetched: bool) -> None:
        """A page that has brought nothing yet was looked at again: what that says of those of its
        kind that have not either. What those bring that have is their own matter: of a hundred
        archives the newest alone grows."""
        known, watching = self._known, self._known.watching
        assert watching is not None
        host, kind = known.hosts[page], self._kind_of(page, now)
        days = max(0.0, now - self.last[page]) / DAY
        self.kinds.look(host, kind, days * self.prior[page])
        gone = known.dead[page] == now and page in watching.wanted
        if self._paid(page) if fetched else gone:
            self.kinds.brought(host, kind, 1.0 if kind == kind_rates.YOUNG else CHANGED)

    def _paid(self, page: int) -> bool:
        """Whether a page changed since its last visit, in a way that counts."""
        known, watching = self._known, self._known.watching
        if known.version[page] == self.versions[page]:
            return False
        if watching is None or watching.judge is None:
            return watching is None or page in watching.wanted
        return page in watching.wanted and not (known.relinked and self._is_list(page))

    def _is_list(self, page: int) -> bool:
        """Whether many links appeared on a page, or were learned from it at its first look."""
        known = self._known
        return known.brought[page] >= LIST or known.introduced[page] >= LEAST_LISTED

    def _kind(self, page: int, now: float, *, fetched: bool) -> str:
        known = self._known
        assert known.watching is not None
        # Every site is asked for a sitemap, and many have none.
        there = fetched or bool(known.digests[page])
        if known.parent[page] < 0 or (page in known.sitemaps and there):
            return "hub"
        if page in known.hubs:
            return "hub" if known.clicks[page] <= 1 else "feed"
        if not fetched:
            return "absent"
        # A copy is looked at where the other one is no more.
        alone = known.watching.copy_of.get(page, -1) not in known.watching.wanted
        is_document = page in known.watching.wanted and not known.is_view(page)
        if is_document and alone:
            return "wanted"
        is_young = known.came(page) and known.dated(now) - known.date[page] < YOUNG
        return "young" if is_young and not (is_document or known.is_list(page)) else "other"

    def _prior_of(self, page: int, now: float, *, fetched: bool) -> float:
        """A page from which many URLs were learned is a list of them."""
        kind = self._kind(page, now, fetched=fetched)
        if kind == "absent" and not self._known.digests[page] and self._known.guessed(page):
            return GUESSED
        introduced = self._known.introduced[page]
        listed = PRIOR["listed"] * introduced if fetched and introduced >= LEAST_LISTED else 0.0
        return PRIOR[kind] if kind == "hub" else max(PRIOR[kind], min(MOST_LISTED, listed))

    # -- what is expected

    def pay(self, now: float, pages: Integers | None = None) -> Floats:
        """What each page of a watch, or each of these, brings in a second."""
        found = float((self.changes - self.edits).sum())
        share = min(1.0, (found + 1.0) / (float(self.appeared.sum()) + UNKNOWN))
        which = np.arange(len(self.last)) if pages is None else pages
        edits = self.edits[which]
        brought = self.changes[which] - edits + CHANGED * edits + share * self.appeared[which]
        rates: Floats = brought + self._assumed(which, now)
        return rates / (self.last[which] - self.first[which] + DAY)

    def _assumed(self, pages: Integers, now: float) -> Floats:
        """What pages bring in a day by their kind, as it was at their hosts until now."""
        known, kinds = self._known, self._kinds(pages, now)
        corrected = np.flatnonzero(kinds != kind_rates.OTHER)
        assumed = self.prior[pages]
        if len(corrected):
            hosts = known.host_numbers(pages[corrected].tolist())
            names = self._numbers_of_hosts()
            assumed[corrected] *= self.kinds.factors(names)[hosts, kinds[corrected]]
        return assumed

    def _kinds(self, pages: Integers, now: float) -> Integers:
        """Of `kind_rates`, by what was assumed of the pages at their last looks."""
        prior, known = self.prior[pages], self._known
        kinds: Integers = np.full(len(pages), kind_rates.OTHER)
        kinds[prior == PRIOR["feed"]] = kind_rates.FEED
        kinds[prior == PRIOR["young"]] = kind_rates.YOUNG
        kinds[(prior >= LEAST_LISTED * PRIOR["listed"]) & (prior < PRIOR["hub"])] = kind_rates.LIST
        if len(its := np.flatnonzero(prior == PRIOR["wanted"])):
            documents = pages[its]
            dates = np.maximum(np.frombuffer(known.date)[documents], known.born(documents))
            kinds[its] = kind_rates.kinds_of_documents(known.dated(now) - dates)
        return kinds

    def _kind_of(self, page: int, now: float) -> int:
        """As `_kinds`, of one page in a tenth of the time: at each look one is asked for."""
        prior, known = float(self.prior[page]), self._known
        if prior == PRIOR["wanted"]:
            date = max(known.date[page], known.born_at(page))
            return kind_rates.kind_of_document(known.dated(now) - date)
        if LEAST_LISTED * PRIOR["listed"] <= prior < PRIOR["hub"]:
            return kind_rates.LIST
        return {PRIOR["feed"]: kind_rates.FEED, PRIOR["young"]: kind_rates.YOUNG}.get(
            prior, kind_rates.OTHER
        )

    def explored(self, hosts: Integers, now: float) -> Floats:
        """As `pay`, where the hubs of a host that could be had get `EXPLORED` of its visits to
        known pages, which are in proportion to √pay; a smaller share where they paid less than
        once in `BARREN` looks."""
        pay = self._with_few_young(self.pay(now), hosts)
        hubs = (self.prior == PRIOR["hub"]) & (self.versions > 0)
        all_visits = np.bincount(hosts, np.sqrt(pay))
        looks = np.bincount(hosts, self.visits * hubs)
        paid = np.bincount(hosts, self.changes * hubs)
        barren = np.maximum(looks / (BARREN * (paid + 1.0)), 1.0)
        share = EXPLORED / (barren * np.maximum(np.bincount(hosts, hubs), 1))
        least = (share * all_visits)[hosts] ** 2
        raised: Floats = np.where(hubs, np.maximum(pay, least), pay)
        return raised

    def _numbers_of_hosts(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._known.numbered_hosts())}

    def _with_few_young(self, pay: Floats, hosts: Integers) -> Floats:
        """What pages pay, where those that are young and off topic have `OF_YOUNG` of the visits of
        a host at which none came to the topic."""
        young = self.prior == PRIOR["young"]
        if not young.any():
            return pay
        names = self._numbers_of_hosts()
        proven = self.kinds.proven(names, kind_rates.YOUNG)
        visits = np.sqrt(pay)
        its = np.bincount(hosts, visits * young, minlength=len(names))
        others = np.bincount(hosts, visits * ~young, minlength=len(names))
        share = np.minimum(1.0, OF_YOUNG * others / np.maximum(its, 1e-30))
        less: Floats = np.where(young & ~proven[hosts], pay * share[hosts] ** 2, pay)
        return less

    def waiting(
        self, rates: Floats, now: float, pages: Integers | None = None
    ) -> tuple[Floats, Floats]:
        """As `SameLists.waiting`, of these pages or of all."""
        pages = np.arange(len(self.last)) if pages is None else pages
        return self.same.waiting(rates, self.appeared, self.last, now, pages)

    def pays(self, url: int, now: float) -> bool:
        """Whether a known page is worth a turn by now (`WORTH_A_TURN`) by what it brings."""
        self.catch_up()
        one = np.array([url])
        return bool(self.waiting(self.pay(now, one), now, one)[0][0] >= WORTH_A_TURN)

    # -- what leaves, and durable

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        self.catch_up()
        self.clear(list(left))
        self.same.leave(left)
        self.kinds.leave_hosts(self._known.hosts_left)

    def save(self) -> State:
        self.catch_up()
        kinds = self.kinds.save()
        return {**super().save(), **self.same.save(), **({"kinds": kinds} if kinds else {})}

    def load(self, state: State) -> None:
        super().load(state)
        self.same.load(state)
        self.kinds.load(state.get("kinds", {}))
