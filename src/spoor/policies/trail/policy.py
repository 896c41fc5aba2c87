"""The crawl by trail: values, choices, rewards, corrections, and what shards share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from spoor.learn.parameters import at_least, between, check_parameters, in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.slot_rows import SlotRows
from spoor.learn.trained_model import weights_of
from spoor.policies.trail.columns import (
    BITS,
    BY_HAND,
    COLUMNS,
    DENSE,
    FIELDS,
    GROUP_COLUMNS,
    LINKING_PAGES,
    PARENT_SCORE,
    START,
    VERSION,
    WORDS,
)
from spoor.policies.trail.failures import Failures
from spoor.policies.trail.features import LinkFeatures
from spoor.policies.trail.fetched_pages import FetchedPages
from spoor.policies.trail.groups import NEAR, Groups
from spoor.policies.trail.guard import Guard
from spoor.policies.trail.learners import Learner, TwoLearners
from spoor.policies.trail.prior import shipped
from spoor.policies.trail.rows import LinkRows
from spoor.protocols import Offer
from spoor.types import NO_PARENT, Choice, Failed, InLinks, Judgement, LinkId, Outcome, State, Task
from spoor.web.text import Vectors

CHECKS = 32
"""Times that the best link is revalued before it is chosen, at most."""
REASONS = 5
"""Reasons of a choice."""
LOOKS = 5
"""In-links of a link that are looked at beyond those that are read anyway."""
SURER = 0.01
"""Log-odds by which another in-link of a link has to promise more to take the place of one."""
AT_ONCE = 4_096
"""Links that are revalued at once, at most: some 4 MB."""
REFIT = 512
"""Fetched pages up to which all of them are learned anew when some were judged anew: exact, some
.1 ms a page, and a judge that learns as well changes its mind most in the beginning."""
_ALL = np.zeros(1, dtype=np.int64)
"""The rows of one link begin with the first."""
MEMORY = 20_000
"""Fetched pages whose links may still bring them credit."""

Slots = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(eq=False)
class Trail:
    """Highest estimated log-odds of a relevant page first; ties in the order of discovery.

    `gamma`: discount of what a page leads to. `optimism`: standard deviations of the estimate that
    are added to it. `grain`: values are rounded to it, since finer differences are noise and the
    order of discovery is not. `in_links`: how many in-links of a link are kept; None: 2, and with
    a model, which knows more words, 3. `telling`: a later one whose text or nearest words hold a
    word of the topic takes the place of one that promises less. `shipped`: the prior is the one
    that was learned over many webs, not the one by hand. `capacity`: rows in memory; links
    seen beyond it are valued once. `without` leaves out fields (for ablations), `credit` and
    `guard` the parts of these names.

    Cost: about 15 µs a new in-link and 0.3 ms a page, for any number of open links. Memory:
    280 bytes a row, of which most open links have one or two, and some 150 for the rest of what is
    known of an open link; 35 a link that is done with; 10 MB in any case, and 13 MB
    for pages that may still bring credit.
    """

    task: InitVar[Task]
    _: KW_ONLY
    gamma: float = between(0, 1, 0.5)
    optimism: float = at_least(0, 0.1)
    grain: float = at_least(0, 0.5)
    in_links: int | None = None
    telling: bool = True
    capacity: int = at_least(1, 500_000)
    credit: bool = True
    guard: bool = True
    shipped: bool = True
    without: Sequence[str] = ()

    def __post_init__(self, task: Task) -> None:
        check_parameters("trail", self)
        weights = weights_of(task, "trail", VERSION)
        default = 2 if weights is None else 3
        self._in_links = default if self.in_links is None else self.in_links
        in_range("trail", in_links=(self._in_links, 1, math.inf))
        vectors = task.vectors if isinstance(task.vectors, Vectors) else None
        self._features = LinkFeatures(task.topic, BITS, vectors)
        self._slot_rows = rows = SlotRows(BITS)
        prior = shipped() if self.shipped else BY_HAND
        untrained = Learner(self.without, prior, rows=rows)
        self._guard = Guard(untrained.a.copy(), on=self.guard)
        self._model: Learner | TwoLearners = untrained
        if weights is not None:
            self._model = TwoLearners(Learner(self.without, BY_HAND, weights, rows), untrained)
            self._features.add_names(weights.get("names", ()))
        self._grain = np.float32(self.grain)
        self._queue = PriorityQueue()
        self._rows = LinkRows(self.capacity, max(8, self._in_links))
        self._groups = Groups(rows)
        self._failures = Failures(rows)
        self._fetched = FetchedPages(MEMORY)
        self._judged_anew: dict[LinkId, float] = {}
        """Pages that were judged anew since the last call but `relearn` → their score."""
        self._stale_groups: list[int] = []
        """Groups with such pages."""
        self._stale_links: list[LinkId] = []
        """Open links of these pages."""
        self._corrected: list[LinkId] = []
        """Those of these pages that are worth something else now."""
        self._newest: tuple[LinkId, list[LinkId]] = (NO_PARENT, [])
        """The page observed last, and the links that it was the first to show."""

    # -- the value of a link

    def observe(self, seen: InLinks) -> None:
        self._settle()
        links, hosts, first = seen.links, seen.hosts, seen.first
        known = dict(zip(links, self._rows.known(links), strict=True))
        self._rows.count_page([link for link, count in known.items() if count > 0])
        room, in_links = self._rows.room(), self._in_links
        read: list[int] = []
        before: list[int] = []
        later: list[int] = []
        for index, link in enumerate(links):
            count = known[link]
            if count >= in_links:
                later.append(index)
                continue
            if count < 0:
                self._groups.sweep.append(link)
                count = 0
            known[link] = count + (len(read) < room)
            read.append(index)
            before.append(count)
        self._newest = (seen.parent, [])
        again = self._telling(seen, later) if later and self.telling else []
        if not read and not again:
            return
        urls = seen.urls
        slots, dense = self._features.rows(
            [(urls[index], hosts[index], seen.anchor(index)) for index in read + again],
            seen.page,
            seen.parent,
            seen.parent_score,
            seen.depth,
        )
        count = len(read)
        if read:
            of_rows = [links[index] for index in read]
            self._rows.enter(of_rows, before, slots[:count][:room], dense[:count][:room])
            self._groups.enter(of_rows[:room], slots[:count][:room, NEAR].tolist())
            new = [links[index] for index in read[:room] if first[index]]
            self._newest = (seen.parent, new)
            self._rows.parent[new] = seen.parent
        valued = {links[index]: hosts[index] for index in read[:room]}
        for row, index in enumerate(read[room:], room):
            if links[index] not in self._queue:
                value = self._best(slots[row : row + 1], dense[row : row + 1]).item()
                self._queue.push(links[index], hosts[index], value)
        for row, index in enumerate(again, count):
            if self._replace(links[index], slots[row], dense[row]):
                valued[links[index]] = hosts[index]
        if valued:
            self._queue.push_all(list(valued), list(valued.values()), self._values(list(valued)))

    def _telling(self, seen: InLinks, later: Sequence[int]) -> list[int]:
        """Those of the in-links to known links that may name the topic. Only the first few of a
        link are looked at: those of menus stand on every page."""
        fresh = self._rows.look([seen.links[index] for index in later], LOOKS)
        tells = self._features.tells
        return [later[at] for at in fresh if tells(seen.anchor(later[at]), seen.page)]

    def _replace(self, link: LinkId, slots: Slots, dense: Floats) -> bool:
        """Put another row of a link in the place of the one that promised least when nothing was
        known, if it promises more; returns whether it does."""
        rows = self._rows.of_link(link)
        if not rows:
            return False
        promise = self._rows.dense[rows] @ self._guard.prior
        least = int(promise.argmin())
        dense[LINKING_PAGES] = self._rows.dense[rows[least], LINKING_PAGES]
        if float(dense @ self._guard.prior) <= promise[least] + SURER:
            return False
        self._rows.slots[rows[least]], self._rows.dense[rows[least]] = slots, dense
        self._groups.enter([link], [[int(slots[START["list"]])]])
        return True

    def _values(self, links: Sequence[LinkId]) -> Floats:
        """The value of each link; the best of its in-links counts."""
        return self._values_of(self._rows.of[list(links)])

    def _values_of(self, in_links: Slots) -> Floats:
        """The same of links whose rows these are, (L, at most `in_links`), −1 for none."""
        here = in_links >= 0
        rows = in_links[here]
        first = None
        if len(rows) > len(in_links):
            counts = np.add.reduce(here, axis=1)
            first = np.add.accumulate(counts) - counts
        return self._best(
            self._rows.slots.take(rows, axis=0), self._rows.dense.take(rows, axis=0), first
        )

    def _value(self, rows: Sequence[int]) -> float:
        """The same of one link, which has these rows."""
        if len(rows) == 1:
            one = slice(rows[0], rows[0] + 1)
            return self._best(self._rows.slots[one], self._rows.dense[one]).item()
        slots, dense = self._rows.slots.take(rows, axis=0), self._rows.dense.take(rows, axis=0)
        return self._best(slots, dense, _ALL).item()

    def _best(
        self,
        slots: Slots,
        dense: Floats,
        first: NDArray[np.int64] | None = None,
    ) -> Floats:
        """The value of each row, or the best of those from each of `first` up to the next."""
        best, spread = self._log_odds(slots, dense)
        spread *= self.optimism
        best += spread
        if self._failures.any:
            best += self._failures.log_chances(slots)
        return self._round(best if first is None else np.maximum.reduceat(best, first))

    def _log_odds(self, slots: Slots, dense: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of rows, the guard's share of the prior in them."""
        mean, variance = self._model.score(slots, dense)
        return self._guard.mix(mean, dense), np.sqrt(variance, out=variance)

    @property
    def trust(self) -> float:
        """Weight of the learner against the blind prior, in (0, 1)."""
        return self._guard.trust

    def _round(self, values: Floats) -> Floats:
        if not self.grain:
            return values
        rounded: Floats = np.rint(values / self._grain)
        rounded *= self._grain
        return rounded

    # -- the choice

    def choose(self, offer: Offer) -> Choice:
        self._settle()
        # Values in the queue may be old; the best one is checked before it is believed.
        for _ in range(CHECKS):
            link, old = self._queue.peek(offer)
            if not (rows := self._rows.of_link(link)):
                break
            value = self._value(rows)
            self._queue.push(link, self._queue.host(link), value)
            if value >= old:
                break
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, self._why(link, value))

    def weigh(self, link: LinkId) -> Choice | None:
        """What an open link is worth now, in log-odds, and why."""
        self._settle()
        if link not in self._queue:
            return None
        known = self._rows.of_link(link)
        value = self._value(known) if known else self._queue.value(link)
        return Choice(link, None, (("value, in log-odds", value), *self._why(link, value)))

    def _why(self, link: LinkId, value: float) -> tuple[tuple[str, float], ...]:
        """The reasons for the link and against it, largest first."""
        rows = self._rows.of_link(link)
        if not rows:
            return (("its value when it was first seen", value),)
        row = rows[0]
        if len(rows) > 1:
            odds = self._model.odds(self._rows.slots[rows], self._rows.dense[rows])
            row = rows[int(np.argmax(odds))]
        slots, dense = self._rows.slots[row], self._rows.dense[row]
        shares, numbers = self._model.weights_of(slots).tolist(), slots.tolist()
        tried = self._groups.record([numbers[column] for column in GROUP_COLUMNS])[:, 0].tolist()
        columns = [*compress(GROUP_COLUMNS, tried)]
        columns += [column for column, share in enumerate(shares[:WORDS]) if share]
        shares += (self._model.a * dense).tolist()
        columns += [
            COLUMNS + column for column, number in enumerate(dense.tolist()) if column and number
        ]
        columns.sort(key=list(map(abs, shares)).__getitem__, reverse=True)
        # Words are made for those that are shown, and for no others.
        return tuple(
            (self._column_name(column, numbers), round(shares[column], 4))
            for column in columns[:REASONS]
        )

    def _column_name(self, column: int, numbers: Sequence[int]) -> str:
        """A column of a row in words; the plain numbers are after the slots."""
        if column >= COLUMNS:
            return DENSE[column - COLUMNS].name
        if column >= WORDS:
            return self._group_record(GROUP_COLUMNS[column], numbers[column])
        return self._features.names.get(numbers[column], "a word")

    def _group_record(self, field: str, group: int) -> str:
        ((tried, reward),) = self._groups.record([group]).tolist()
        where = "this page" if field == "page" else f"the same {field}"
        return f"links of {where}: {reward:.3g} of {tried:.0f} relevant"

    # -- learning

    def learn(self, outcome: Outcome) -> None:
        self._settle()
        link = outcome.choice.link
        rows, parent = self._rows.of_link(link), self._rows.parent_of(link)
        slots, dense = self._rows.slots[rows], self._rows.dense[rows]
        self._rows.free(link, rows)
        if not rows:
            return
        if isinstance(outcome.reply, Failed):
            if concerns := outcome.reply.concerns:
                self._failures.learn(slots, page=False, host_alone=concerns == "host")
                self._refresh(slots[:, NEAR].T.ravel().tolist())
            return
        self._failures.learn(slots, page=True)
        reward = min(1.0, max(0.0, outcome.reward))
        self._guard.compare(self._model.compare(slots, dense, reward), dense, reward)
        worth = max(reward, self._leads_to(link))
        self._update(slots, dense, worth)
        self._fetched.put(link, slots, dense, worth)
        touched = slots[:, NEAR].T.ravel().tolist()
        self._groups.count(slots, reward)
        if self.credit and reward >= 1.0:
            # The page that showed a relevant one is worth γ at least, once.
            source = self._fetched.worth(parent)
            if source is not None and source < self.gamma:
                self._fetched.set_worth(parent, self.gamma)
                self._update(*self._fetched.rows(parent), self.gamma)
        self._refresh(touched)

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """What was learned of a page is moved to what a person says of it, and so is what its own
        links inherit of its score."""
        worth = self._fetched.worth(link)
        if worth is None:
            return
        was, now = (min(1.0, max(0.0, judgement.reward)) for judgement in (before, after))
        change = max(now, 0.0 if worth == was else worth) - worth
        if change:
            self._fetched.set_worth(link, worth + change)
            self._corrected.append(link)
        if now != was:
            self._groups.count(self._fetched.rows(link)[0], now - was, tried=0.0)
        self._judged_anew[link] = after.of_links

    def _inherit_anew(self) -> None:
        """Let the open links of the pages that were judged anew inherit their scores; note what is
        to be revalued. O(links that are known), however many pages."""
        pages = [*self._judged_anew]
        scores = np.array([*self._judged_anew.values()])
        self._judged_anew = {}
        slots = [self._fetched.rows(link)[0] for link in pages]
        groups = np.concatenate(slots)[:, NEAR]
        # In the order of the pages, and of each page column by column.
        turn = len(NEAR) * np.repeat(np.arange(len(pages)), [*map(len, slots)])
        order = np.argsort((turn[:, None] + np.arange(len(NEAR))).ravel(), kind="stable")
        self._stale_groups += groups.ravel().take(order).tolist()
        children, of = self._rows.children(pages)
        waits = self._queue.among(children)
        children, of = children[waits], of[waits]
        self._rows.dense[self._rows.of[children, 0], PARENT_SCORE] = scores[of]
        self._stale_links += children.tolist()

    def _settle(self) -> None:
        """Revalue what the pages concern that were judged anew: hundreds come at once, and their
        links are in the same places."""
        if self._judged_anew:
            self._inherit_anew()
        if not self._stale_groups:
            return
        if len(self._fetched) <= REFIT and self._corrected:
            self._model.forget()
            for link in self._fetched:
                self._update(*self._fetched.rows(link), self._fetched.worth(link) or 0.0)
        else:
            for link in dict.fromkeys(self._corrected):
                slots, dense = self._fetched.rows(link)
                worth = self._fetched.worth(link) or 0.0
                for row, numbers in zip(slots, dense, strict=True):
                    self._model.correct(row, numbers, worth, 1.0 / len(slots))
        self._corrected = []
        links = np.array(list(dict.fromkeys(self._stale_links)), dtype=np.int64)
        for begin in range(0, len(links), AT_ONCE):
            part = links[begin : begin + AT_ONCE]
            self._queue.change(part, self._values_of(self._rows.of.take(part, axis=0)))
        self._refresh(self._stale_groups)
        self._stale_groups, self._stale_links = [], []

    def _leads_to(self, link: LinkId) -> float:
        """γ times the best chance among the links that this page was the first to show."""
        page, new = self._newest
        if page != link or not new or not self.gamma:
            return 0.0
        first = self._rows.of[new, 0]
        rows = first[first >= 0]
        if not len(rows):
            return 0.0
        odds = self._model.odds(self._rows.slots[rows], self._rows.dense[rows])
        return self.gamma / (1.0 + math.exp(-float(odds.max())))

    def _update(self, slots: Slots, dense: Floats, worth: float) -> None:
        for row, numbers in zip(slots, dense, strict=True):
            self._model.update(row, numbers, worth, 1.0 / len(slots))

    def _refresh(self, groups: Iterable[int]) -> None:
        """Revalue the links in the same places as the tried ones, and a few others in turn."""
        links = self._rows.once(self._groups.stale(groups, self._queue))
        for begin in range(0, len(links), AT_ONCE):
            part = links[begin : begin + AT_ONCE]
            self._queue.change(part, self._values_of(self._rows.of.take(part, axis=0)))

    # -- what shards share

    def share(self) -> State:
        """Its own learning about words, shapes, places and hosts: what `merge` needs, a small part
        of `save`. The lists and pages that contain links are each shard's own."""
        return {**self._model.share(), "names": list(self._features.names.items())}

    def merge(self, others: Sequence[State]) -> None:
        """Add what others learned: states of `share` or `save`, of policies made with the same
        settings and model. It replaces what they shared before; the policy's own learning is left
        out. Open links are revalued in their turn. O(learned by all)."""
        for state in others:
            self._features.add_names(state.get("names", ()))
        self._model.merge(others)

    # -- what it knows

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """(field, word, weight): the plain numbers, then the words of most weight."""
        model, names = self._model, self._features.names
        learned: dict[str, list[tuple[str, float]]] = {}
        of_slots = model.weights_of(np.fromiter(names, np.int32, len(names)))
        for name, weight in zip(names.values(), of_slots.tolist(), strict=True):
            if weight:
                field, _, word = name.partition(" ‘")
                learned.setdefault(field, []).append((word.rstrip("’"), weight))
        rows = [
            (field.name, word, weight)
            for field in FIELDS
            for word, weight in sorted(learned.get(field.name, []), key=lambda item: -abs(item[1]))
        ]
        return [
            *(("numbers", dense.name, float(a)) for dense, a in zip(DENSE, model.a, strict=True)),
            *rows,
        ]

    def save(self) -> State:
        if self._judged_anew:
            self._inherit_anew()
        stale = [self._stale_groups, self._stale_links, self._corrected]
        return {
            "slots": self._slot_rows.save(),
            **self._model.state(),
            "names": self._features.save_names(),
            "queue": self._queue.save(),
            **self._rows.save(),
            **self._groups.save(),
            "done": self._fetched.save(),
            "failures": self._failures.save(),
            "surprise": list(self._guard.losses),
            "level": list(self._guard.level),
            "stale": stale,
        }

    def load(self, state: State) -> None:
        self._slot_rows.load(state["slots"])
        self._model.restore(state)
        self._features.load_names(state["names"])
        self._queue.load(state["queue"])
        self._rows = LinkRows(self.capacity, max(8, self._in_links))
        self._rows.load(state)
        self._groups.load(state)
        self._failures.load(state["failures"])
        self._fetched.load(state["done"])
        self._guard.losses = list(state["surprise"])
        self._guard.level = list(state["level"])
        stale = map(list, state["stale"])
        self._stale_groups, self._stale_links, self._corrected = stale
        self._judged_anew = {}
        self._newest = (NO_PARENT, [])
