"""Trail: the value of a link, learned from the first page on, from everything that the four teach.

Words near a link tell its future value, and that goes from site to site (Rennie and McCallum 1999);
values are learned on line, with relations to the parent (Han et al. 2018); a page's own value is
inherited by its links (Grigoriadis and Paliouras 2004); good sources are kept and come back to
(Palotai et al. 2005); and links that stand in the same place succeed or fail together. All of it
is one hierarchical model: a logistic regression on hashed words with a random effect for each group
that a link belongs to, its posterior updated after every page
(`spoor.learn.mixed_effects_regression`).
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.errors import InputError
from spoor.learn.hierarchical_regression import fit
from spoor.learn.link_features import (
    COLUMNS,
    DENSE,
    FIELDS,
    GROUPS,
    START,
    VERSION,
    LinkFeatures,
    variances,
)
from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.learn.parameters import in_range
from spoor.learn.posterior_updates import (
    InitialPosterior,
    PosteriorUpdate,
    apply_updates,
    combine,
    own_update,
)
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.returns import link_values
from spoor.learn.trained_model import pack_model, weights_of
from spoor.protocols import Offer
from spoor.types import (
    NO_PARENT,
    Anchor,
    Choice,
    InLinks,
    Judgement,
    KnownWeb,
    LinkId,
    Outcome,
    State,
    Task,
)
from spoor.web.text import Vectors

BITS = 20
MEMBERS = 64
"""Links of a group that are valued anew when one of them was tried."""
SWEEP = 32
"""Open links that are valued anew with every page, in turn."""
CHECKS = 32
"""Times that the best link is valued anew before it is taken, at most."""
TOLD = 5
"""Reasons of a choice."""
MEMORY = 20_000
"""Fetched pages whose links may still bring them credit."""
FORGET = 0.98
"""Discount of old surprises in the guard."""
HEAD_START = 2.0
"""Log-odds that the guard gives the learner before anything is known."""
APART = 0.3
"""How much the weights of plain numbers differ from site to site, as a share of their prior
variance."""
NEXT_TO_NOTHING = 1e-6
"""Precision of a word whose mean was taken over, beyond the prior's."""

_GROUP_COLUMNS = {START[field]: field for field in GROUPS}
_NEAR = [START[field] for field in ("list", "directory", "pattern")]
_WORDS = START["list"]
"""So many first columns are of words and shapes."""
_SHARED = np.array(
    [field.name not in ("list", "page") for field in FIELDS for _ in range(field.columns)]
)
"""Columns whose numbers mean the same to every shard: pages are numbered by each for itself."""
_PARENT_SCORE = [dense.name for dense in DENSE].index("score of the page it stands on")


class Trail:
    """Highest estimated log-odds of a relevant page first; ties in the order of discovery.

    `gamma`: discount of what a page leads to. `optimism`: standard deviations of the estimate that
    are added to it. `grain`: values are rounded to it, since finer differences are noise and the
    order of discovery is not. `in_links`: how often the same link is looked at; None: twice, and
    with a model, which knows more words, three times. `capacity`: rows that are kept; links seen
    beyond it are valued once. `without` leaves out fields (for ablations), `credit` and `guard` the
    parts of these names.

    Cost: about 15 µs a new in-link and 0.3 ms a page, whatever the number of open links. Memory:
    276 bytes a row, of which most open links have one or two, and some 150 for the rest of what is
    known of an open link; 35 a link that is done with; 27 MB whatever there is to know, and 13 MB
    for pages that may still bring credit.
    """

    def __init__(
        self,
        task: Task,
        *,
        gamma: float = 0.5,
        optimism: float = 0.1,
        grain: float = 0.5,
        in_links: int | None = None,
        capacity: int = 500_000,
        credit: bool = True,
        guard: bool = True,
        without: Sequence[str] = (),
    ) -> None:
        weights = weights_of(task, "trail", VERSION)
        if in_links is None:
            in_links = 2 if weights is None else 3
        in_range(
            "trail",
            gamma=(gamma, 0, 1),
            optimism=(optimism, 0, math.inf),
            grain=(grain, 0, math.inf),
            in_links=(in_links, 1, math.inf),
            capacity=(capacity, 1, math.inf),
        )
        self._gamma = gamma
        self._optimism = optimism
        self._grain = grain
        self._in_links = in_links
        self._capacity = capacity
        self._credit = credit
        self._features = LinkFeatures(
            task.topic, BITS, task.vectors if isinstance(task.vectors, Vectors) else None
        )
        self._model = _model(without)
        self._blind = self._model.a.copy()
        """Dense weights before anything was learned: likeness to the topic and depth alone."""
        if weights is not None:
            self._take_over(weights)
        self._initial = InitialPosterior(self._model)
        self._told: PosteriorUpdate | None = None
        """What other shards learned."""
        self._queue = PriorityQueue()
        self._rows = _Rows(capacity)
        self._members: dict[int, array[LinkId]] = {}
        """Group → its links seen last."""
        self._tried = np.zeros((1 << BITS, 2), dtype=np.float32)
        """By group: links tried, their reward."""
        self._done: dict[LinkId, _Done] = {}
        self._sweep = array("i")
        """Open links in turn, from the place `_swept` on."""
        self._swept = 0
        self._fresh: tuple[LinkId, list[LinkId]] = (NO_PARENT, [])
        """The page observed last, and the links that it was the first to show."""
        self._guard = guard
        self._surprise = [0.0, 0.0]
        """Discounted log-loss of the learner, and of the blind prior."""

    # -- the value of a link

    def observe(self, seen: InLinks) -> None:
        links, hosts, first = seen.links, seen.hosts, seen.first
        known = dict(zip(links, self._rows.known(links), strict=True))
        room, in_links = self._rows.room(), self._in_links
        read: list[int] = []
        before: list[int] = []
        for at, link in enumerate(links):
            count = known[link]
            if count >= in_links:
                continue
            if count < 0:
                self._sweep.append(link)
                count = 0
            known[link] = count + (len(read) < room)
            read.append(at)
            before.append(count)
        new: list[LinkId] = []
        self._fresh = (seen.parent, new)
        if not read:
            return
        urls, members, valued = seen.urls, self._members, dict[LinkId, str]()
        slots, dense = self._features.rows(
            [(urls[at], hosts[at], seen.anchor(at)) for at in read],
            seen.page,
            seen.parent,
            seen.parent_score,
            seen.depth,
        )
        self._rows.enter([links[at] for at in read], before, slots[:room], dense[:room])
        for at, near in zip(read[:room], slots[:room, _NEAR].tolist(), strict=True):
            link = links[at]
            valued[link] = hosts[at]
            for number in near:
                group = members.get(number)
                if group is None:
                    members[number] = array("i", (link,))
                    continue
                if len(group) == MEMBERS:
                    del group[0]
                group.append(link)
            if first[at]:
                new.append(link)
        self._rows.parent[new] = seen.parent
        for place, at in enumerate(read[room:], room):
            here = slice(place, place + 1)
            if links[at] not in self._queue:
                value = self._best(slots[here], dense[here]).item()
                self._queue.push(links[at], hosts[at], value)
        if valued:
            again = len(read) > room or any(before)
            values = self._values(list(valued)) if again else self._best(slots, dense)
            self._queue.push_all(list(valued), list(valued.values()), values)

    def _values(self, links: Sequence[LinkId]) -> NDArray[np.float32]:
        """The value of each link; the best of its in-links counts."""
        return self._values_of(self._rows.of[list(links)])

    def _values_of(self, in_links: NDArray[np.int32]) -> NDArray[np.float32]:
        """The same of links whose rows these are, (L, at most `in_links`), −1 for none."""
        here = in_links >= 0
        rows = in_links[here]
        first = None
        if len(rows) > len(in_links):
            ends = here.sum(axis=1).cumsum()
            first = np.concatenate([[0], ends[:-1]])
        return self._best(
            self._rows.slots.take(rows, axis=0), self._rows.dense.take(rows, axis=0), first
        )

    def _best(
        self,
        slots: NDArray[np.int32],
        dense: NDArray[np.float32],
        first: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float32]:
        """The value of each row, or the best of those from each of `first` up to the next."""
        odds, spread = self._log_odds(slots, dense)
        best = odds + self._optimism * spread
        return self._round(best if first is None else np.maximum.reduceat(best, first))

    def _log_odds(
        self, slots: NDArray[np.int32], dense: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and standard deviation of rows, the guard's share of the blind prior in them."""
        mean, variance = self._model.score(slots, dense)
        share = self.trust
        if share < 1.0:
            mean = np.float32(share) * mean + np.float32(1.0 - share) * (dense @ self._blind)
        return mean, np.sqrt(variance)

    @property
    def trust(self) -> float:
        """Weight of the learner against the blind prior, in (0, 1): how much better it has
        foretold what came. The guard against webs on which learning misleads."""
        if not self._guard:
            return 1.0
        learner, blind = self._surprise
        return 1.0 / (1.0 + math.exp(min(50.0, learner - blind - HEAD_START)))

    def _round(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        if not self._grain:
            return values
        rounded: NDArray[np.float32] = np.rint(values / np.float32(self._grain)) * np.float32(
            self._grain
        )
        return rounded

    # -- the choice

    def choose(self, offer: Offer) -> Choice:
        # Values in the queue may be old; the best one is checked before it is believed.
        for _ in range(CHECKS):
            link, old = self._queue.peek(offer)
            if not self._rows.of_link(link):
                break
            value = self._values([link]).item()
            self._queue.push(link, self._queue.host(link), value)
            if value >= old:
                break
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, self._why(link, value))

    def weigh(self, link: LinkId) -> Choice | None:
        """What an open link is worth now, in log-odds, and why."""
        if link not in self._queue:
            return None
        known = self._rows.of_link(link)
        value = self._values([link]).item() if known else self._queue.value(link)
        return Choice(link, None, (("value, in log-odds", value), *self._why(link, value)))

    def _why(self, link: LinkId, value: float) -> tuple[tuple[str, float], ...]:
        """What speaks for the link and against it, most telling first."""
        rows = self._rows.of_link(link)
        if not rows:
            return (("its value when it was first seen", value),)
        row = rows[0]
        if len(rows) > 1:
            odds = self._model.odds(self._rows.slots[rows], self._rows.dense[rows])
            row = rows[int(np.argmax(odds))]
        slots, dense = self._rows.slots[row], self._rows.dense[row]
        shares, numbers = self._model.w[slots].tolist(), slots.tolist()
        found = [at for at in _GROUP_COLUMNS if self._tried[numbers[at], 0]]
        found += [at for at, share in enumerate(shares[:_WORDS]) if share]
        shares += (self._model.a * dense).tolist()
        found += [COLUMNS + at for at, number in enumerate(dense.tolist()) if at and number]
        found.sort(key=lambda at: -abs(shares[at]))
        # Words are made for those that are told, and for no others.
        return tuple((self._said(at, numbers), round(shares[at], 4)) for at in found[:TOLD])

    def _said(self, at: int, numbers: Sequence[int]) -> str:
        """The column `at` of a row in words; the plain numbers come after the slots."""
        if at >= COLUMNS:
            return DENSE[at - COLUMNS].name
        if at >= _WORDS:
            return self._group_said(_GROUP_COLUMNS[at], numbers[at])
        return self._features.names.get(numbers[at], "a word")

    def _group_said(self, field: str, group: int) -> str:
        tried, reward = self._tried[group].tolist()
        where = "this page" if field == "page" else f"the same {field}"
        return f"links of {where}: {reward:.3g} of {tried:.0f} relevant"

    # -- learning

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        rows, parent = self._rows.of_link(link), self._rows.parent_of(link)
        slots, dense = self._rows.slots[rows], self._rows.dense[rows]
        self._rows.free(link, rows)
        if outcome.judgement is None or not rows:
            return
        reward = min(1.0, max(0.0, outcome.reward))
        self._compare(slots, dense, reward)
        worth = max(reward, self._leads_to(link))
        self._update(slots, dense, worth)
        self._remember(link, _Done(slots, dense, worth))
        touched = slots[:, _NEAR].T.ravel().tolist()
        self._count(slots, reward)
        if self._credit and reward >= 1.0 and parent in self._done:
            # The page that showed a relevant one is worth γ at least, once.
            source = self._done[parent]
            if source.worth < self._gamma:
                source.worth = self._gamma
                self._update(source.slots, source.dense, self._gamma)
        self._refresh(touched)

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """What was learned of a page is moved to what a person says of it, and so is what its own
        links inherit of its score."""
        done = self._done.get(link)
        if done is None:
            return
        was, now = (min(1.0, max(0.0, one.reward)) for one in (before, after))
        change = max(now, 0.0 if done.worth == was else done.worth) - done.worth
        for row, numbers in zip(done.slots, done.dense, strict=True):
            self._model.correct(row, numbers, change, 1.0 / len(done.slots))
        done.worth += change
        self._count(done.slots, now - was, tried=0.0)
        self._refresh(done.slots[:, _NEAR].T.ravel().tolist())
        children = [child for child in self._rows.children(link) if child in self._queue]
        self._rows.dense[self._rows.of[children, 0], _PARENT_SCORE] = after.score
        self._queue.change(np.array(children, dtype=np.int64), self._values(children))

    def _leads_to(self, link: LinkId) -> float:
        """γ times the best chance among the links that this page was the first to show."""
        page, new = self._fresh
        if page != link or not new or not self._gamma:
            return 0.0
        first = self._rows.of[new, 0]
        rows = first[first >= 0]
        if not len(rows):
            return 0.0
        odds = self._model.odds(self._rows.slots[rows], self._rows.dense[rows])
        return self._gamma / (1.0 + math.exp(-float(odds.max())))

    def _update(self, slots: NDArray[np.int32], dense: NDArray[np.float32], worth: float) -> None:
        for row, numbers in zip(slots, dense, strict=True):
            self._model.update(row, numbers, worth, 1.0 / len(slots))

    def _compare(self, slots: NDArray[np.int32], dense: NDArray[np.float32], reward: float) -> None:
        """Who had foretold this better: the learner, or the blind prior?"""
        learned = float(self._model.odds(slots, dense).max())
        blind = float((dense @ self._blind).max())
        for at, odds in enumerate((learned, blind)):
            loss = math.log1p(math.exp(-abs(odds))) + max(odds, 0.0) - reward * odds
            self._surprise[at] = FORGET * self._surprise[at] + loss

    def _remember(self, link: LinkId, done: _Done) -> None:
        self._done[link] = done
        if len(self._done) > MEMORY:
            del self._done[next(iter(self._done))]

    def _count(self, slots: NDArray[np.int32], reward: float, tried: float = 1.0) -> None:
        self._tried[list(set(slots[:, _WORDS:].ravel().tolist()))] += (tried, reward)

    def _refresh(self, groups: Iterable[int]) -> None:
        """Value anew what stands in the same places as what was tried, and a few others in turn."""
        stale: list[NDArray[np.int32]] = []
        for group in dict.fromkeys(groups):
            members = self._members.get(group)
            if members is None:
                continue
            seen = np.array(members)
            waits = self._queue.among(seen)
            alive = seen[waits]
            if not len(alive):
                del self._members[group]
            elif len(alive) < len(seen):
                self._members[group] = array("i", alive.tobytes())
            stale.append(alive)
        seen = np.array(self._sweep[self._swept : self._swept + SWEEP])
        self._swept += len(seen)
        alive = seen[self._queue.among(seen)]
        self._sweep.frombytes(alive.tobytes())
        if 2 * self._swept > len(self._sweep):
            del self._sweep[: self._swept]
            self._swept = 0
        links = self._rows.once(np.concatenate([*stale, alive]))
        self._queue.change(links, self._values_of(self._rows.of.take(links, axis=0)))

    # -- what shards tell one another

    def share(self) -> State:
        """What it learned itself of words, shapes, places and hosts: what `merge` needs, and a
        small part of `save`. The lists and pages that links stand on are each shard's own."""
        return {"learned": self._learned().save(), "names": list(self._features.names.items())}

    def merge(self, others: Sequence[State]) -> None:
        """Go by what others learned, too: states of `share` or `save`, of policies made with the
        same settings and model. It takes the place of what others told before; what is its own
        comes back to nobody. Open links are valued anew in their turn. O(what all learned)."""
        own = self._learned()
        heard: list[PosteriorUpdate] = []
        for state in others:
            part = self._learned_of(state)
            if not any(part.same(other) for other in (own, *heard)):
                heard.append(part)
            self._features.names.update(
                {int(slot): str(name) for slot, name in state.get("names", ())}
            )
        told, self._told = self._told, combine(heard, len(DENSE))
        apply_updates(self._model, self._initial, own, self._told, told)

    def _learned(self) -> PosteriorUpdate:
        return own_update(self._model, self._initial, self._told, _SHARED)

    def _learned_of(self, state: State) -> PosteriorUpdate:
        if "learned" in state:
            return PosteriorUpdate.load(state["learned"])
        model = _model()
        model.prior = self._model.prior
        model.load(state["model"])
        told = None if state["told"] is None else PosteriorUpdate.load(state["told"])
        return own_update(model, self._initial, told, _SHARED)

    # -- what it knows

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """(field, word, weight): the words that tell most, for and against; then the likenesses."""
        model, names = self._model, self._features.names
        told: dict[str, list[tuple[str, float]]] = {}
        for slot, name in names.items():
            if model.w[slot]:
                field, _, word = name.partition(" ‘")
                told.setdefault(field, []).append((word.rstrip("’"), float(model.w[slot])))
        rows = [
            (field.name, word, weight)
            for field in FIELDS
            for word, weight in sorted(told.get(field.name, []), key=lambda item: -abs(item[1]))
        ]
        return [
            *(("numbers", dense.name, float(a)) for dense, a in zip(DENSE, model.a, strict=True)),
            *rows,
        ]

    def _take_over(self, weights: Any) -> None:
        self._model.load(weights)
        self._features.names.update(
            {int(slot): str(name) for slot, name in weights.get("names", [])}
        )

    def save(self) -> State:
        links, counts, rows = self._rows.all()
        tried = np.flatnonzero(self._tried[:, 0])
        return {
            "model": self._model.save(),
            "told": None if self._told is None else self._told.save(),
            "names": [[slot, name] for slot, name in self._features.names.items()],
            "queue": self._queue.save(),
            "links": links,
            "counts": counts,
            "rows": {"slots": self._rows.slots[rows], "dense": self._rows.dense[rows]},
            "parents": self._rows.parents(),
            "members": {
                "groups": np.fromiter(self._members, np.int32, len(self._members)),
                "links": _joined(self._members.values(), np.int32),
                "counts": np.array([len(links) for links in self._members.values()], np.int32),
            },
            "tried": {"groups": tried, "counts": self._tried[tried]},
            "done": {
                "links": np.fromiter(self._done, np.int64, len(self._done)),
                "worth": np.array([done.worth for done in self._done.values()]),
                "slots": _joined([done.slots for done in self._done.values()], np.int32),
                "dense": _joined([done.dense for done in self._done.values()], np.float32),
                "counts": np.array([len(done.slots) for done in self._done.values()], np.int32),
            },
            "sweep": np.array(self._sweep[self._swept :], dtype=np.int64),
            "surprise": list(self._surprise),
        }

    def load(self, state: State) -> None:
        self._model.load(state["model"])
        self._told = None if state["told"] is None else PosteriorUpdate.load(state["told"])
        self._features.remember({int(slot): str(name) for slot, name in state["names"]})
        self._queue.load(state["queue"])
        self._rows = _Rows(self._capacity)
        self._rows.load(state)
        members = state["members"]
        links = _parts(members["links"], members["counts"])
        self._members = {
            group: array("i", part.tobytes())
            for group, part in zip(members["groups"].tolist(), links, strict=True)
        }
        self._tried = np.zeros((1 << BITS, 2), dtype=np.float32)
        self._tried[state["tried"]["groups"]] = state["tried"]["counts"]
        done = state["done"]
        slots = _parts(done["slots"].reshape(-1, COLUMNS), done["counts"])
        dense = _parts(done["dense"].reshape(-1, len(DENSE)), done["counts"])
        known = zip(done["links"].tolist(), slots, dense, done["worth"].tolist(), strict=True)
        self._done = {link: _Done(*rest) for link, *rest in known}
        self._sweep, self._swept = array("i", state["sweep"].tolist()), 0
        self._surprise = list(state["surprise"])
        self._fresh = (NO_PARENT, [])


class _Done:
    """A fetched page as its links were, for credit that comes late; of bytes, since two arrays of
    a row take as much again for themselves."""

    __slots__ = ("_dense", "_slots", "worth")

    def __init__(self, slots: NDArray[np.int32], dense: NDArray[np.float32], worth: float) -> None:
        self._slots = slots.tobytes()
        self._dense = dense.tobytes()
        self.worth = worth

    @property
    def slots(self) -> NDArray[np.int32]:
        return np.frombuffer(self._slots, dtype=np.int32).reshape(-1, COLUMNS)

    @property
    def dense(self) -> NDArray[np.float32]:
        return np.frombuffer(self._dense, dtype=np.float32).reshape(-1, len(DENSE))


class _Rows:
    """Rows of in-links, in arrays that grow to `capacity` rows, and what is known of each link by
    its number. Many are looked up at once: one by one, in a large dictionary, each would wait for
    memory, and take a hundred bytes of it."""

    def __init__(self, capacity: int) -> None:
        self.slots = np.zeros((1024, COLUMNS), dtype=np.int32)
        self.dense = np.zeros((1024, len(DENSE)), dtype=np.float32)
        self.of = np.full((1024, 1), _UNSEEN, dtype=np.int32)
        """The rows of a link, oldest first, negative where there is none."""
        self.parent = np.full(1024, NO_PARENT, dtype=np.int32)
        """The page that was the first to show it."""
        self._turn = np.zeros(1024, dtype=np.int32)
        self._capacity = capacity
        self._used = 0
        self._free = array("i")

    def room(self) -> int:
        """Rows that may still be entered."""
        return self._capacity - self._used + len(self._free)

    def enter(
        self,
        links: Sequence[LinkId],
        before: Sequence[int],
        slots: NDArray[np.int32],
        dense: NDArray[np.float32],
    ) -> None:
        """New rows of links that have so many before. There may be fewer rows than links: the rest
        have to go without."""
        count = len(slots)
        old = self._free[len(self._free) - min(count, len(self._free)) :]
        del self._free[len(self._free) - len(old) :]
        used, self._used = self._used, self._used + count - len(old)
        rows = np.array([*old, *range(used, self._used)], dtype=np.int32)
        while self._used > len(self.slots):
            self.slots, self.dense = _doubled(self.slots), _doubled(self.dense)
        self.slots[rows], self.dense[rows] = slots, dense
        self._widen(max(links), max(before) + 1)
        self.of[links[:count], before[:count]] = rows
        rest = [link for link, had in zip(links[count:], before[count:], strict=True) if not had]
        self.of[rest, 0] = _ROWLESS

    def _widen(self, link: LinkId, rows: int) -> None:
        """Room for this link, and for so many rows of each."""
        links, most = self.of.shape
        # The last is of no link: what lies beyond is cut to it.
        if link < links - 1 and rows <= most:
            return
        more = 2 * (link + 1) - links if link >= links - 1 else 0
        self.of = np.pad(self.of, ((0, more), (0, max(0, rows - most))), constant_values=_UNSEEN)
        self.parent = np.pad(self.parent, (0, more), constant_values=NO_PARENT)
        self._turn = np.zeros(len(self.of), dtype=np.int32)

    def known(self, links: Sequence[LinkId]) -> list[int]:
        """How many rows each of these has; −1 for one that is not known."""
        of = self.of.take(np.array(links, dtype=np.int64), axis=0, mode="clip")
        count: list[int] = ((of >= 0).sum(axis=1) - (of[:, 0] == _UNSEEN)).tolist()
        return count

    def of_link(self, link: LinkId) -> list[int]:
        """Its rows, oldest first."""
        if link >= len(self.of):
            return []
        return [row for row in self.of[link].tolist() if row >= 0]

    def parent_of(self, link: LinkId) -> LinkId:
        """The page that was the first to show it, or NO_PARENT."""
        return self.parent.item(link) if link < len(self.parent) else NO_PARENT

    def children(self, page: LinkId) -> list[LinkId]:
        """Links that this page was the first to show, as far as they are still known."""
        found: list[LinkId] = np.flatnonzero(self.parent == page).tolist()
        return found

    def once(self, links: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the links that have rows, each where it comes first."""
        links = links[self.of.take(links * self.of.shape[1], mode="clip") >= 0]
        turn = np.arange(len(links), dtype=np.int32)
        self._turn[links[::-1]] = turn[::-1]
        alone: NDArray[np.int32] = links[self._turn[links] == turn]
        return alone

    def free(self, link: LinkId, rows: Sequence[int]) -> None:
        """The link, which has these rows, is known no more."""
        if link < len(self.of):
            self.of[link] = _UNSEEN
            self.parent[link] = NO_PARENT
            self._free.extend(rows)

    def all(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Every link that is known, how many rows each has, and these, in this order."""
        links = np.flatnonzero(self.of[:, 0] != _UNSEEN)
        of = self.of[links]
        return links, (of >= 0).sum(axis=1).astype(np.int32), of[of >= 0]

    def parents(self) -> NDArray[np.int64]:
        """(link, page that was the first to show it) of those that have one."""
        links = np.flatnonzero(self.parent != NO_PARENT)
        return np.column_stack([links, self.parent[links]])

    def load(self, state: State) -> None:
        """Go on from a state of `Trail.save`, where nothing is known yet."""
        self._used = len(state["rows"]["slots"])
        while len(self.slots) < self._used:
            self.slots, self.dense = _doubled(self.slots), _doubled(self.dense)
        self.slots[: self._used] = state["rows"]["slots"]
        self.dense[: self._used] = state["rows"]["dense"]
        links, counts = state["links"], state["counts"]
        self._widen(int(links.max(initial=0)), int(counts.max(initial=1)))
        self.of[links[counts == 0], 0] = _ROWLESS
        # The rows of a link follow one another.
        before = np.arange(self._used) - np.repeat(counts.cumsum() - counts, counts)
        self.of[np.repeat(links, counts), before] = np.arange(self._used)
        self.parent[state["parents"][:, 0]] = state["parents"][:, 1]


_UNSEEN, _ROWLESS = -1, -2
"""In the place of a link's first row: it is not known, or no room was left when it was seen."""


def _joined(parts: Iterable[Any], kind: type[np.generic]) -> NDArray[Any]:
    """The numbers of some arrays, one after the other."""
    return np.frombuffer(b"".join(parts), dtype=kind)


def _parts(whole: NDArray[Any], counts: NDArray[np.int32]) -> list[NDArray[Any]]:
    """Such an array taken apart again."""
    return np.split(whole, counts.cumsum()[:-1]) if len(counts) else []


def _doubled(rows: NDArray[Any]) -> NDArray[Any]:
    """Room for as many rows more, which takes no memory before they come."""
    more = np.zeros((2 * len(rows), rows.shape[1]), dtype=rows.dtype)
    more[: len(rows)] = rows
    return more


def _model(without: Sequence[str] = ()) -> MixedEffectsRegression:
    names = [field.name for field in FIELDS]
    if unknown := sorted(set(without) - set(names)):
        raise InputError(f"trail: no field {unknown[0]!r} to go without; {', '.join(names)}")
    return MixedEffectsRegression(
        BITS,
        variances(without),
        np.array([dense.mean for dense in DENSE], dtype=np.float32),
        np.array([dense.variance for dense in DENSE], dtype=np.float32),
    )


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    tell: Callable[[int, int], None],
    *,
    gamma: float = 0.4,
    between: float = 1.0,
) -> State:
    """A prior from webs known whole: what the words, shapes and numbers of their links tell, on all
    sites alike, of the exact discounted return (Rennie and McCallum 1999, section 2.3), at most 1.

    `between`: how much the weights differ from site to site, as a multiple of their prior variance
    (`spoor.learn.hierarchical_regression`). What is particular to a site stays there.
    O(250 · links).
    """
    in_range("trail", gamma=(gamma, 0, 1), between=(between, 0.001, math.inf))
    model = _model()
    features = LinkFeatures(
        task.topic, BITS, task.vectors if isinstance(task.vectors, Vectors) else None
    )
    slots: list[NDArray[np.int32]] = []
    dense: list[NDArray[np.float32]] = []
    worth: list[float] = []
    site: list[int] = []
    number = 0
    for at, web in enumerate(webs):
        values = np.minimum(link_values(web.graph, gamma), 1.0)
        index = web.graph.index()
        depth = {web.root: 0}
        order = deque([web.root])
        while order:
            page = order.popleft()
            read = web.page(page)
            number += 1
            shown: list[tuple[str, str, Anchor]] = []
            for link in read.links:
                target = index.get(link.url, page)
                if target == page:
                    continue
                if target not in depth:
                    depth[target] = depth[page] + 1
                    order.append(target)
                shown.append((link.url, link.url.split("/", 3)[2], link.anchor))
                worth.append(float(values[target]))
                site.append(at)
            if shown:
                score = float(web.graph.targets[page])
                rows = features.rows(shown, read, number, score, depth[page] + 1)
                slots.append(rows[0])
                dense.append(rows[1])
    pooled = fit(
        np.concatenate([np.zeros((0, COLUMNS), np.int32), *slots]),
        np.concatenate([np.zeros((0, len(DENSE)), np.float32), *dense]),
        np.array(worth),
        np.array(site, dtype=np.int64),
        variance=variances(),
        shared=START["list"],
        mean=model.a,
        spread=model.b,
        between=between,
        tell=tell,
    )
    # A site never seen departs from what these have in common as each of them does: of a word its
    # mean is taken over and nothing of what they are sure of.
    weights = {
        "slots": pooled.slots,
        "w": pooled.weights.astype(np.float32),
        "h": np.full(len(pooled.slots), NEXT_TO_NOTHING, dtype=np.float32),
        "a": pooled.dense.astype(np.float32),
        "b": np.minimum(model.b, pooled.spread + APART * model.b).astype(np.float32),
        "names": [[slot, features.names[slot]] for slot in pooled.slots.tolist()],
    }
    return pack_model(
        "trail",
        VERSION,
        task.topic,
        weights,
        webs=[web.name for web in webs],
        links=len(worth),
        training={"gamma": gamma, "between": between},
    )
