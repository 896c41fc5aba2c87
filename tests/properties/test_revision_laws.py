"""Newer verdicts of a judge: one judgement at arrival, then revisions, each counted once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rejudging import Warming
from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.combined import AnyOf
from spoor.judges.facts import UrlPattern
from spoor.learn.state import pack, unpack
from spoor.protocols import Judge
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import TARGET, random_web
from spoor.types import Judgement, LinkId, Outcome, Revision, Task, Topic

YES, NO = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)
PAGES = 45

said = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 30), st.booleans()), max_size=4)
"""(after how many pages, which of them, relevant)."""


@dataclass
class Seen:
    """What a crawl told of its pages, in order, and which verdict on each is the newest."""

    crawl: Crawl
    arrived: list[str] = field(default_factory=list)
    newest: dict[str, Judgement] = field(default_factory=dict)
    by_person: set[str] = field(default_factory=set)
    revisions: list[Revision] = field(default_factory=list)
    learned: list[tuple[LinkId, float]] = field(default_factory=list)
    relearned: list[tuple[LinkId, float, float]] = field(default_factory=list)

    def watch(self, crawl: Crawl) -> None:
        """Note what `crawl` tells, and what its policy is told."""
        self.crawl = crawl
        crawl.on_revisions = self.take
        policy = crawl.policy
        learn, relearn = policy.learn, policy.relearn  # type: ignore[attr-defined]  # trail's

        def learning(outcome: Outcome) -> None:
            self.learned.append((outcome.choice.link, outcome.reward))
            learn(outcome)

        def relearning(link: LinkId, before: Judgement, after: Judgement) -> None:
            self.relearned.append((link, before.reward, after.reward))
            relearn(link, before, after)

        policy.learn = learning  # type: ignore[method-assign]
        policy.relearn = relearning  # type: ignore[attr-defined]

    def take(self, revisions: object) -> None:
        """Each says what the newest verdict was until then."""
        for one in revisions:  # type: ignore[attr-defined]
            self.revisions.append(one)
            assert self.crawl.frontier.find(one.url) == one.link
            before = self.newest.get(one.url)
            # A page that is received at this moment is told to the driver right after.
            if before is not None:
                assert (before.score, before.relevant) == (one.before.score, one.before.relevant)
            assert one.url not in self.by_person
            self.newest[one.url] = one.after


def made(seed: int, judge: Judge) -> Crawl:
    task = Task(np.random.default_rng(seed), Topic(name="pottery"))
    policy = registry.build("policies", "trail", task)
    return Crawl(policy, judge, MemoryFrontier(), pages=PAGES)


def judge_of(combined: bool) -> Judge:
    return AnyOf([Warming(TARGET), UrlPattern("/1$")]) if combined else Warming(TARGET)


def crawled(
    seed: int, labels: list[tuple[int, int, bool]], combined: bool, cut: int | None = None
) -> Seen:
    """A crawl to its end; saved and loaded in a new one after `cut` pages."""
    world = random_web(np.random.default_rng(seed))
    crawl = made(seed, judge_of(combined))
    seen = Seen(crawl)
    seen.watch(crawl)
    crawl.seed([next(iter(world.pages))])
    replay = Replay(crawl, world)
    while True:
        for outcome in replay:
            if outcome.page is None or outcome.judgement is None:
                continue
            url = outcome.page.url
            seen.arrived.append(url)
            seen.newest.setdefault(url, outcome.judgement)
            for after, which, relevant in labels:
                if after == len(seen.arrived) and which < after:
                    url = seen.arrived[which]
                    verdict = YES if relevant else NO
                    seen.crawl.relabel(url, seen.newest[url], verdict)
                    seen.newest[url] = verdict
                    seen.by_person.add(url)
            if len(seen.arrived) == cut:
                break
        else:
            return seen
        state = unpack(pack(seen.crawl.save()))
        crawl = made(seed, judge_of(combined))
        crawl.load(state)
        seen.watch(crawl)
        replay = Replay(crawl, world, start=replay.now, flying=replay.flying)
        cut = None


@settings(max_examples=8)
@given(seed=st.integers(0, 500), labels=said, combined=st.booleans(), cut=st.integers(1, 44))
def test_one_judgement_at_arrival_then_numbered_revisions(
    seed: int, labels: list[tuple[int, int, bool]], combined: bool, cut: int
) -> None:
    seen = crawled(seed, labels, combined)
    crawl = seen.crawl
    # Counts, results and `--found` go by the newest verdicts.
    assert crawl.counts.pages == len(seen.arrived) == len(set(seen.arrived))
    assert crawl.counts.relevant == sum(one.relevant for one in seen.newest.values())
    assert crawl.counts.reward == sum(one.reward for one in seen.newest.values())
    # Numbered without a gap; the last pages, too, are judged by what is known in the end.
    assert [one.number for one in seen.revisions] == list(range(1, crawl.revisions + 1))
    assert all(one.before.relevant != one.after.relevant for one in seen.revisions) or combined
    if len(seen.arrived) >= 16:
        assert seen.revisions
    # The policy learns from each judgement at arrival once, and takes each newer one once.
    assert len({link for link, _ in seen.learned}) == len(seen.learned)
    changes: dict[LinkId, float] = dict(seen.learned)
    for link, before, after in seen.relearned:
        assert changes[link] == before
        changes[link] = after
    assert sum(changes.values()) == crawl.counts.reward
    # The same again is the same crawl; saved and loaded in between, too.
    state = pack(crawl.save())
    assert pack(crawled(seed, labels, combined).crawl.save()) == state
    resumed = crawled(seed, labels, combined, cut)
    assert resumed.arrived == seen.arrived
    assert [(one.number, one.url) for one in resumed.revisions] == [
        (one.number, one.url) for one in seen.revisions
    ]
    assert pack(resumed.crawl.save()) == state


def test_each_page_is_judged_once_at_arrival() -> None:
    seen = crawled(3, [], combined=False)
    judge = seen.crawl.judge
    assert isinstance(judge, Warming)
    assert judge.judged == seen.arrived
