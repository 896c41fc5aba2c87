"""A policy that may fail on a live crawl, which must not end for it: best-first stands by.

The lab lets a broken policy fail loudly; days of a live crawl are worth more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from spoor.protocols import Attached, Explains, LookAhead, Offer, OpenLinks, Policy, Relabels
from spoor.types import Choice, InLink, InLinks, Judgement, Link, LinkId, Outcome, State


class Fallback:
    """The policy itself until it raises or answers what no policy may; then `make()`'s, which is
    told of every open link first, for the rest of the run.

    `tell` hears of it once, in one line; `fault` keeps that line, also in the saved state. What the
    failed policy chose is learned by nobody.
    """

    def __init__(
        self,
        policy: Policy,
        make: Callable[[], Policy],
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.policy = policy
        self.fault = ""
        self.tell = tell
        self.look_ahead = isinstance(policy, LookAhead) and policy.look_ahead
        self._make = make
        self._links: OpenLinks | None = None
        self._chosen: set[LinkId] = set()
        """What the policy in charge chose and has not learned from."""

    def attach(self, links: OpenLinks) -> None:
        self._links = links
        if isinstance(self.policy, Attached):
            self._guarded("attach", self.policy.attach, links)

    def observe(self, seen: InLinks) -> None:
        # A policy that takes over here has been told of these links with all the others.
        self._guarded("observe", self.policy.observe, seen)

    def choose(self, offer: Offer) -> Choice:
        if not self.fault:
            try:
                choice = self.policy.choose(offer)
                wrong = _wrong(choice, offer)
            except Exception as error:
                wrong = _said(error)
            if not wrong:
                self._chosen.add(choice.link)
                return choice
            self._replace(f"choose {wrong}")
        choice = self.policy.choose(offer)
        self._chosen.add(choice.link)
        return choice

    def learn(self, outcome: Outcome) -> None:
        if outcome.choice.link in self._chosen:
            self._chosen.discard(outcome.choice.link)
            self._guarded("learn", self.policy.learn, outcome)

    def expand(self, fetched: Sequence[LinkId]) -> LinkId:
        if not self.fault:
            assert isinstance(self.policy, LookAhead)
            try:
                link = self.policy.expand(fetched)
                wrong = "" if link in fetched else f"returned {link!r}, which was not fetched"
            except Exception as error:
                wrong = _said(error)
            if not wrong:
                return link
            self._replace(f"expand {wrong}")
        return fetched[0]

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        if isinstance(self.policy, Relabels):
            self._guarded("relearn", self.policy.relearn, link, before, after)

    def explain(self) -> Sequence[tuple[str, str, float]]:
        return self.policy.explain() if isinstance(self.policy, Explains) else []

    def save(self) -> State:
        saved: State | None = None
        if not self.fault:
            try:
                saved = self.policy.save()
            except Exception as error:
                self._replace(f"save {_said(error)}")
        return {
            "fault": self.fault,
            "chosen": sorted(self._chosen),
            "policy": self.policy.save() if saved is None else saved,
        }

    def load(self, state: State) -> None:
        self._chosen = set(state["chosen"])
        if state["fault"]:
            self.fault = state["fault"]
            self.policy = self._make()
            if self._links is not None and isinstance(self.policy, Attached):
                self.policy.attach(self._links)
        self.policy.load(state["policy"])

    def _guarded(self, name: str, method: Callable[..., object], *arguments: object) -> None:
        if self.fault:
            method(*arguments)
            return
        try:
            method(*arguments)
        except Exception as error:
            self._replace(f"{name} {_said(error)}")

    def _replace(self, what: str) -> None:
        self.fault = (
            f"{type(self.policy).__name__}.{what}; best-first goes on in its place, "
            "and the rest of the run says nothing of that policy"
        )
        self.policy = self._make()
        self._chosen.clear()
        if self._links is not None:
            if isinstance(self.policy, Attached):
                self.policy.attach(self._links)
            for link in self._links.open():
                for seen in self._links.in_links(link):
                    self.policy.observe(_alone(seen))
        self.tell(self.fault)


def _wrong(choice: object, offer: Offer) -> str:
    """What is wrong with an answer; empty where nothing is."""
    if not isinstance(choice, Choice):
        return f"returned {choice!r}, not a Choice"
    if choice.link not in offer:
        return f"returned link {choice.link}, which was not offered"
    if choice.probability is not None and not 0.0 < choice.probability <= 1.0 + 1e-9:
        return f"gave probability {choice.probability}, not in (0, 1]"
    broken = [reason for reason, share in choice.why if not math.isfinite(share)]
    return f"gave a value that is no number ({broken[0]})" if broken else ""


def _said(error: Exception) -> str:
    return f"raised {type(error).__name__}: {error}".splitlines()[0][:200]


def _alone(seen: InLink) -> InLinks:
    """One in-link as a policy observes it."""
    return InLinks(
        [Link(seen.url, seen.anchor, seen.kind)],
        [0],
        [seen.link],
        [seen.first],
        seen.parent,
        seen.parent_score,
        seen.depth,
        [seen.url],
        [seen.host],
    )
