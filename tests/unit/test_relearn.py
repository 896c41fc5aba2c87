"""Policies that take a changed judgement in end where they would be had it been so at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from spoor.frontier.memory import MemoryFrontier
from spoor.learn.mixed_effects_regression import MixedEffectsRegression
from spoor.learn.slot_rows import SlotRows
from spoor.policies.host_bandit import HostBandit
from spoor.policies.online_svm import OnlineSvm
from spoor.policies.q_learning import QLearning
from spoor.policies.tag_path_bandit import TagPathBandit
from spoor.policies.trail.policy import Trail
from spoor.protocols import UsesOpenLinks
from spoor.types import (
    NO_PARENT,
    Anchor,
    Fetched,
    Judgement,
    Link,
    Outcome,
    Page,
    Task,
    Topic,
)

YES, NO = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)
WORDS = ("kiln", "glaze", "ledger")


def taught(policy: Any, verdicts: Sequence[Judgement]) -> Any:
    """A policy that saw one page of links and learned all of them, in the order of its choice."""
    frontier = MemoryFrontier()
    if isinstance(policy, UsesOpenLinks):
        policy.attach(frontier)
    links = [
        Link(
            f"http://{'ab'[at % 2]}.example/{WORDS[at % 3]}/{at}.html",
            Anchor(WORDS[at % 3], tag_path=f"html/body/{WORDS[at % 3]}/a", position=at),
        )
        for at in range(len(verdicts))
    ]
    policy.observe(frontier.add(links, NO_PARENT, 0.0, 0))
    while frontier.open_count:
        choice = policy.choose(frontier.offer(0.0))
        url, _ = frontier.take(choice.link, 0.0)
        frontier.settle(choice.link, 0.0)
        verdict = verdicts[choice.link]
        policy.learn(Outcome(choice, Fetched(0, Page(url)), verdict, verdict.reward))
    return policy


def made(kind: type, **params: Any) -> Any:
    return kind(Task(np.random.default_rng(0), Topic(name="kiln")), **params)


FIRST = [YES, NO, NO, YES, NO, YES, NO, NO, NO, YES, YES, NO]
AFTER = [YES, YES, NO, NO, NO, YES, NO, NO, YES, YES, YES, NO]


def corrected(policy: Any) -> Any:
    taught(policy, FIRST)
    for link, (before, after) in enumerate(zip(FIRST, AFTER, strict=True)):
        if before != after:
            policy.relearn(link, before, after)
    return policy


def test_the_counts_of_a_host_bandit_are_put_right() -> None:
    one, other = corrected(made(HostBandit)).save(), taught(made(HostBandit), AFTER).save()
    assert one["pages"] == other["pages"]
    for key in ("hosts", "counts", "done"):
        assert sorted(one[key]) == sorted(other[key])


def test_an_arm_of_the_tag_path_bandit_is_put_right() -> None:
    one, other = (
        corrected(made(TagPathBandit, batch=0)).save(),
        taught(made(TagPathBandit, batch=0), AFTER).save(),
    )
    for key in ("tried", "found", "done"):
        assert sorted(one[key]) == sorted(other[key])


def test_its_classifier_of_urls_is_told_once_more() -> None:
    policy = corrected(made(TagPathBandit, batch=1))
    seen = policy.save()["urls"]["seen"]
    assert sum(seen) == len(FIRST) + sum(a != b for a, b in zip(FIRST, AFTER, strict=True))


def test_the_examples_of_an_online_svm_are_put_right() -> None:
    one = corrected(made(OnlineSvm, every=100)).save()
    other = taught(made(OnlineSvm, every=100), AFTER).save()
    assert sorted(one["done"]) == sorted(other["done"])


def test_a_trained_svm_is_trained_again_at_once() -> None:
    policy = taught(made(OnlineSvm, every=4), FIRST)
    before = policy.save()["w"].copy()
    policy.relearn(1, NO, YES)
    assert not np.array_equal(policy.save()["w"], before)


def test_q_learning_puts_the_reward_right_and_learns_the_difference() -> None:
    policy = taught(made(QLearning), FIRST)
    [row] = [one.action for one in policy._memory if one.link == 1]
    before = policy._online.value(row)
    policy.relearn(1, NO, YES)
    assert [one.reward for one in policy._memory if one.link == 1] == [1.0]
    # x has length 1, so a step of α times the error moves its value by just that.
    assert policy._online.value(row) == pytest.approx(before + 0.1)


@pytest.mark.parametrize("kind", [HostBandit, TagPathBandit, OnlineSvm, QLearning])
def test_a_page_that_is_not_known_teaches_nothing(kind: type) -> None:
    policy = taught(made(kind), FIRST)
    policy.relearn(1_000, NO, YES)
    fresh = taught(made(kind), FIRST)
    for key, value in fresh.save().items():
        assert str(policy.save()[key]) == str(value)


def test_trail_revalues_the_links_of_pages_judged_anew_together_before_it_chooses() -> None:
    policy = taught(made(Trail, grain=0), FIRST)
    frontier = MemoryFrontier()
    for at in range(len(FIRST)):  # numbered as the links that it learned of
        frontier.add([Link(f"http://done.example/{at}")], NO_PARENT, 0.0, 0)
    links = [
        Link(f"http://a.example/{word}/{at}.html", Anchor(word, tag_path="html/body/a"))
        for at, word in enumerate(WORDS)
    ]
    policy.observe(frontier.add(links, 0, 1.0, 1))
    old = dict(waiting(policy))
    for link in range(4):
        policy.relearn(link, FIRST[link], NO if FIRST[link] is YES else YES)
    again = made(Trail, grain=0)
    again.load(policy.save())  # with what is still to be revalued
    for one in (policy, again):
        one.choose(frontier.offer(0.0))
        for link, value in waiting(one):
            assert value == one._values([link]).item()
            assert value != old[link]


def test_trail_ends_alike_whether_pages_are_judged_anew_one_by_one_or_together() -> None:
    """Of more pages than are learned anew as a whole each ends with its last score."""

    def end(*, together: bool) -> list[tuple[int, float]]:
        policy = taught(made(Trail), [YES, NO] * 6)
        frontier = MemoryFrontier()
        policy.observe(
            frontier.add([Link(f"http://a.example/{n}", Anchor("x")) for n in range(40)], 3, 0.0, 1)
        )
        middle = Judgement(0.4, False, 0.0)
        for link, before, after in [
            (3, NO, middle),
            (0, YES, NO),
            (3, middle, YES),
            (5, NO, middle),
        ]:
            policy.relearn(link, before, after)
            if not together:
                policy.load(policy.save())
        policy._settle()
        return waiting(policy)

    assert end(together=True) == end(together=False)


def waiting(policy: Trail) -> list[tuple[int, float]]:
    """The open links of a policy, and what they were worth when they were valued last."""
    return [(link, policy._queue.value(link)) for link in policy._queue]


def test_trail_takes_many_corrections_at_once_without_overshooting() -> None:
    """A default judge calls the first pages relevant, and most of them not after a few more."""
    first, after = [YES] * 12, [YES, NO, NO] * 4
    policy = taught(made(Trail), first)
    for link, (before, now) in enumerate(zip(first, after, strict=True)):
        if before != now:
            policy.relearn(link, before, now)
    policy._settle()
    told_at_once = taught(made(Trail), after)
    pages = [policy._fetched.rows(link) for link in range(len(first))]
    odds, true = (
        np.array([one._model.odds(*rows)[0] for rows in pages]) for one in (policy, told_at_once)
    )
    wanted = np.array([verdict.relevant for verdict in after])
    assert odds[wanted].min() > odds[~wanted].max()
    assert np.abs(odds - true).max() < 1.5


def test_a_corrected_row_moves_to_where_its_answer_is_most_probable() -> None:
    one, nothing, three = (np.full(1, value, np.float32) for value in (1.0, 0.0, 3.0))
    model = MixedEffectsRegression(SlotRows(4), one, nothing, three)
    slots, dense = np.array([5], dtype=np.int32), np.ones(1, dtype=np.float32)
    model.correct(slots, dense, 0.0)
    # The root of t = 4 (0 − 1 / (1 + e^−t)): a variance of 1 + 3, no surprise before.
    t = float(model.odds(slots[None], dense[None])[0])
    assert t == pytest.approx(-1.0 * 4 / (1 + np.exp(-t)), abs=1e-5)
    assert (float(model.weights(slots)[0]), float(model.a[0])) == pytest.approx(
        (t / 4, 3 * t / 4), abs=1e-6
    )
    assert model.precisions(slots)[0] == 0.0, "no more is known than before"
