"""A policy with a fallback: if the policy fails, best-first continues the live crawl.

In the lab a broken policy ends the experiment; a live crawl of days must not end so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from spoor.protocols import LookAhead, Mergeable, Offer, OpenLinks, Policy, Relearns, UsesOpenLinks
from spoor.types import Choice, InLink, InLinks, Judgement, Link, LinkId, Outcome, State
from spoor.wrapping import Wrapper


class Fallback(Wrapper):
    """The policy itself until it raises or returns an invalid answer; then, for the rest of the
    run, the policy that `make()` returns, which first observes every open link.

    `report_fault` says who is told in one line when that happens; `fault` returns this line, also
    after a load. The fallback does not learn from the Choices of the failed policy, and shares
    nothing with other shards.
    """

    kind = Policy

    def __init__(self, policy: Policy, make: Callable[[], Policy]) -> None:
        self.policy = policy
        self._fault = ""
        self._report: Callable[[str], None] = lambda line: None
        self._looked_ahead = isinstance(policy, LookAhead)
        self.pass_look_ahead = isinstance(policy, LookAhead) and policy.look_ahead
        self._make = make
        self._links: OpenLinks | None = None
        self._chosen: set[LinkId] = set()
        """Links that the current policy chose and has not learned from."""
        self.hold(policy)

    def passes(self, protocol: type) -> bool:
        if protocol is LookAhead:
            return self._looked_ahead  # the crawl still expands pages later
        return super().passes(protocol) and not (self._fault and protocol is Mergeable)

    def fault(self) -> str:
        return self._fault

    def report_fault(self, report: Callable[[str], None]) -> None:
        self._report = report

    def attach(self, links: OpenLinks) -> None:
        self._links = links
        if isinstance(self.policy, UsesOpenLinks):
            self._guarded("attach", self.policy.attach, links)

    def observe(self, seen: InLinks) -> None:
        # A fallback that replaces the policy here has observed these links among all others.
        self._guarded("observe", self.policy.observe, seen)

    def choose(self, offer: Offer) -> Choice:
        if not self._fault:
            try:
                choice = self.policy.choose(offer)
                fault = _invalid(choice, offer)
            except Exception as error:
                fault = _raised(error)
            if not fault:
                self._chosen.add(choice.link)
                return choice
            self._replace(f"choose {fault}")
        choice = self.policy.choose(offer)
        self._chosen.add(choice.link)
        return choice

    def learn(self, outcome: Outcome) -> None:
        if outcome.choice.link in self._chosen:
            self._chosen.discard(outcome.choice.link)
            self._guarded("learn", self.policy.learn, outcome)

    def pass_expand(self, fetched: Sequence[LinkId]) -> LinkId:
        if not self._fault:
            assert isinstance(self.policy, LookAhead)
            try:
                link = self.policy.expand(fetched)
                fault = "" if link in fetched else f"returned {link!r}, which was not fetched"
            except Exception as error:
                fault = _raised(error)
            if not fault:
                return link
            self._replace(f"expand {fault}")
        return fetched[0]

    def pass_relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        assert isinstance(self.policy, Relearns)
        self._guarded("relearn", self.policy.relearn, link, before, after)

    def save(self) -> State:
        saved: State | None = None
        if not self._fault:
            try:
                saved = self.policy.save()
            except Exception as error:
                self._replace(f"save {_raised(error)}")
        return {
            "fault": self._fault,
            "chosen": sorted(self._chosen),
            "policy": self.policy.save() if saved is None else saved,
        }

    def load(self, state: State) -> None:
        self._chosen = set(state["chosen"])
        if state["fault"]:
            self._take_over(state["fault"])
        self.policy.load(state["policy"])

    def _guarded(self, name: str, method: Callable[..., object], *arguments: object) -> None:
        if self._fault:
            method(*arguments)
            return
        try:
            method(*arguments)
        except Exception as error:
            self._replace(f"{name} {_raised(error)}")

    def _replace(self, failure: str) -> None:
        self._take_over(
            f"{type(self.policy).__name__}.{failure}; best-first goes on in its place, "
            "and the rest of the run says nothing of that policy"
        )
        self._chosen.clear()
        if self._links is not None:
            observe_open(self.policy, self._links)
        self._report(self._fault)

    def _take_over(self, fault: str) -> None:
        self._fault = fault
        self.policy = self._make()
        self.hold(self.policy)
        if self._links is not None and isinstance(self.policy, UsesOpenLinks):
            self.policy.attach(self._links)


def observe_open(policy: Policy, links: OpenLinks) -> None:
    """Show a policy that comes late every open link, by its first in-links."""
    for link in links.open():
        for seen in links.in_links(link):
            policy.observe(_single(seen))


def _invalid(choice: object, offer: Offer) -> str:
    """Why an answer is invalid; empty if it is valid."""
    if not isinstance(choice, Choice):
        return f"returned {choice!r}, not a Choice"
    if choice.link not in offer:
        return f"returned link {choice.link}, which was not offered"
    if choice.probability is not None and not 0.0 < choice.probability <= 1.0 + 1e-9:
        return f"gave probability {choice.probability}, not in (0, 1]"
    broken = [reason for reason, share in choice.why if not math.isfinite(share)]
    return f"gave a value that is no number ({broken[0]})" if broken else ""


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {error}".splitlines()[0][:200]


def _single(seen: InLink) -> InLinks:
    """InLinks with this one link."""
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
