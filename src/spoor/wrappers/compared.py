"""A trained policy whose promises are held against what comes: it says so where they mislead.

What a model learned elsewhere may mislead here. Of the pages that it chose, breadth-first would
have asked for those found first before the others, the model for those that it promised more of.
The area under the ROC curve says how well each order tells the wanted pages from the rest, and the
two are compared on the same pages (DeLong, DeLong and Clarke-Pearson 1988): that costs no request.
Where hardly a page was wanted this tells nothing, and little is lost: one choice in `PROBE` is then
the oldest open link, as breadth-first's would be, and the two are compared by what they find.
Guide: docs/guides/train.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from spoor.learn.saved_attributes import PAIRS, VALUE, Saved, attributes
from spoor.protocols import (
    Explains,
    FallsBack,
    LookAhead,
    Mergeable,
    Offer,
    OpenLinks,
    Policy,
    UsesOpenLinks,
)
from spoor.types import Choice, InLinks, LinkId, Outcome, State
from spoor.wrappers.fallback import observe_open
from spoor.wrapping import Wrapper

KEPT = 300
"""Choices whose promises are held against what came, the last ones."""
LEAST = 100
"""Choices before the first look."""
LOOK = 50
"""Choices between two looks."""
FEWEST = 5
"""Wanted pages, and others, that a look needs."""
ERRORS = 1.28
"""Standard errors by which the order of discovery has to be better: 90 %, one-sided, a look."""

PROBE = 5
CHANCE = 0.05
"""How likely it may be that the oldest links found so much more by chance where it is told."""

WHY = (("oldest open link, to compare the model with breadth-first", 0.0),)
PROMISES = "promised by the model, and share that was wanted"

Floats = NDArray[np.float64]


class Compared(Saved, Wrapper):
    """The policy itself. Where the order of discovery tells wanted pages apart better than its
    promises do, or the oldest open links find more, `report` is called with one line, once; `fault`
    returns this line. With `make`, the policy that it returns then goes on in its place, and first
    observes every open link.

    What a policy promises of a link is the sum of the reasons of its Choice.
    """

    kind = Policy

    SAVED = attributes(
        _said=VALUE,
        _promised=PAIRS,
        _kept=VALUE,
        _seen=VALUE,
        _probing=VALUE,
        _turn=VALUE,
        _oldest=VALUE,
        _tried=VALUE,
        _found=VALUE,
    )

    def __init__(self, policy: Policy, name: str, make: Callable[[], Policy] | None = None) -> None:
        self.policy = policy
        self._name = name
        self._make = make
        self._said = ""
        self._replaced = False
        self._promised: dict[LinkId, float] = {}
        """Link in flight → its promise."""
        self._kept: list[list[float]] = []
        """Promise, number of the link, whether the page was wanted."""
        self._seen = 0
        self._probing = False
        self._turn = 0
        self._oldest: list[LinkId] = []
        """Oldest open links, in flight."""
        self._tried, self._found = [0, 0], [0, 0]
        """Outcomes since it began to probe, and wanted pages: the model's, the oldest links'."""
        self._report: Callable[[str], None] = lambda line: None
        self._links: OpenLinks | None = None
        self._looked_ahead = isinstance(policy, LookAhead)
        self.pass_look_ahead = isinstance(policy, LookAhead) and policy.look_ahead
        self.hold(policy)

    def passes(self, protocol: type) -> bool:
        if protocol is LookAhead:
            return self._looked_ahead  # the crawl still expands pages later
        return super().passes(protocol) and not (self._replaced and protocol is Mergeable)

    def fault(self) -> str:
        inner = self.policy.fault() if isinstance(self.policy, FallsBack) else ""
        return "; ".join(filter(None, (self._said, inner)))

    def report_fault(self, report: Callable[[str], None]) -> None:
        self._report = report
        if isinstance(self.policy, FallsBack):
            self.policy.report_fault(report)

    def attach(self, links: OpenLinks) -> None:
        self._links = links
        if isinstance(self.policy, UsesOpenLinks):
            self.policy.attach(links)

    def observe(self, seen: InLinks) -> None:
        self.policy.observe(seen)

    def choose(self, offer: Offer) -> Choice:
        self._turn += 1
        if self._probing and self._turn % PROBE == 0 and self._links is not None:
            for link in islice(self._links.open(), 64):
                if link in offer:
                    self._oldest.append(link)
                    return Choice(link, None, WHY)
        choice = self.policy.choose(offer)
        if not self._said:
            self._promised[choice.link] = sum(share for _, share in choice.why)
        return choice

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        wanted = outcome.judgement is not None and outcome.judgement.relevant
        if link in self._oldest:
            self._oldest.remove(link)
            self._tried[1] += 1
            self._found[1] += wanted
            return
        promise = self._promised.pop(link, None)
        if promise is None or not self._replaced:  # no choice of the policy that went
            self.policy.learn(outcome)
        if promise is None or self._said or outcome.judgement is None:
            return
        self._kept.append([promise, float(link), float(wanted)])
        del self._kept[:-KEPT]
        self._seen += 1
        if self._probing:
            self._tried[0] += 1
            self._found[0] += wanted
        if self._seen >= LEAST and self._seen % LOOK == 0:
            self._look()

    def _look(self) -> None:
        promise, number, wanted = np.array(self._kept).T
        if (1.0 - wanted).sum() < FEWEST:
            return
        self._probing = bool(wanted.sum() < FEWEST)
        if not self._probing:
            ours, theirs, error = areas(promise, -number, wanted > 0.0)
            if theirs - ours > ERRORS * error:
                self._say(
                    f"of the last {len(wanted)} pages that it chose, its promises tell those that "
                    "were wanted from the others worse than breadth-first's order does "
                    f"({ours:.2f} against {theirs:.2f}; .50 is chance)"
                )
            return
        (tries, others), (found, more) = self._tried, self._found
        if more * tries > found * others and by_chance(more, others, found, tries) < CHANCE:
            self._say(
                f"of {tries} pages that it chose of late {found} were wanted, of {others} oldest "
                f"open links, which are breadth-first's, {more}"
            )

    def _say(self, why: str) -> None:
        self._said = f"the model of {self._name} misleads here: {why}; "
        self._probing = False
        if self._make is None:
            self._said += "--worse-model trail lets trail go on in its place"
        else:
            self._said += "trail goes on in its place"
            self._replace()
            assert self._links is not None
            observe_open(self.policy, self._links)
        self._report(self._said)

    def _replace(self) -> None:
        assert self._make is not None
        self._replaced = True
        self.policy = self._make()
        self.hold(self.policy)
        if isinstance(self.policy, FallsBack):
            self.policy.report_fault(self._report)
        if self._links is not None and isinstance(self.policy, UsesOpenLinks):
            self.policy.attach(self._links)

    def pass_expand(self, fetched: Sequence[LinkId]) -> LinkId:
        return self.policy.expand(fetched) if isinstance(self.policy, LookAhead) else fetched[0]

    def explain(self) -> list[tuple[str, str, float]]:
        """What the policy says, and how much of what it promised came, by thirds of promises."""
        said = self.policy.explain() if isinstance(self.policy, Explains) else ()
        return [*said, *((PROMISES, *row) for row in self.calibration())]

    def calibration(self) -> Iterator[tuple[str, float]]:
        """(which of its last choices, share of them that was wanted)."""
        ranked = sorted(self._kept, key=lambda row: -row[0])
        third = -(-len(ranked) // 3)
        for place, name in enumerate(("most", "less", "least")):
            some = [wanted for *_, wanted in ranked[place * third : (place + 1) * third]]
            if some:
                yield (
                    f"the third of which it promised {name}, {len(some)} pages",
                    float(np.mean(some)),
                )

    def save(self) -> State:
        return {**super().save(), "replaced": self._replaced, "policy": self.policy.save()}

    def load(self, state: State) -> None:
        if state["replaced"]:
            self._replace()
        super().load(state)
        self.policy.load(state["policy"])


def areas(one: Floats, other: Floats, wanted: NDArray[np.bool_]) -> tuple[float, float, float]:
    """(area under the ROC curve of one score, of another, standard error of their difference) for
    the same pages, by DeLong's method; equal scores count half. O(wanted · others)."""
    shares = []
    for score in (one, other):
        above, below = score[wanted][:, None], score[~wanted][None, :]
        better = (above > below) + 0.5 * (above == below)
        shares.append((better.mean(axis=1), better.mean(axis=0)))
    error = sum(
        float(np.var(first - second, ddof=1)) / len(first)
        for first, second in zip(*shares, strict=True)
    )
    ours, theirs = (float(share.mean()) for share, _ in shares)
    return ours, theirs, error**0.5


def by_chance(hits: int, tries: int, other_hits: int, other_tries: int) -> float:
    """How likely the first would have so many hits or more, were both as good (Fisher's exact test,
    one-sided)."""
    found = hits + other_hits
    ways = sum(
        comb(tries, some) * comb(other_tries, found - some)
        for some in range(hits, min(tries, found) + 1)
    )
    return ways / comb(tries + other_tries, found)
