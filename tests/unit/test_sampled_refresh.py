"""What a sample of a host says of the pages that were left out holds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

import numpy as np
import pytest

from spoor.learn.state import pack, unpack
from spoor.link_filter import sampled_refresh
from spoor.link_filter.sampled_refresh import (
    RISK,
    STAGES,
    TURNS,
    HostSample,
    group_of,
    leads_of,
    most_in_all,
    rate_for,
    risk_at,
    turn_of,
    uniform_of,
)

PAGES = 4_000
URLS = [f"http://a.example/s{at // 100}/{at}" for at in range(PAGES)]
GROUPS = [str(at // 100) for at in range(PAGES)]


@cache
def draws(salt: int, stage: int, pages: int) -> list[float]:
    """Made once for all that changes: most of the time of a refresh."""
    uniform = uniform_of(str(salt), URLS[:pages])
    return [uniform(stage, page) for page in range(pages)]


def visited(
    changed: Collection[int],
    may_miss: float,
    salt: int,
    leads: Collection[int] = (),
    pages: int = PAGES,
) -> tuple[HostSample, set[int]]:
    """A host after a refresh, and the pages that were asked for."""
    gone = set(changed)

    def uniform(stage: int, page: int) -> float:
        return draws(salt, stage, pages)[page]

    sample = HostSample(range(pages), leads)
    asked, same = set[int](), set[int]()
    more = [*leads, *sample.draw(may_miss, uniform)]
    while more:
        assert asked.isdisjoint(more)
        asked.update(more)
        same.update(page for page in more if page not in gone)
        sample = HostSample.load(unpack(pack(sample.save())))
        more = sample.next(may_miss, same, GROUPS.__getitem__, uniform)
    return sample, asked


@pytest.mark.parametrize("share", [0.004, 0.011, 0.03])
@pytest.mark.parametrize("together", [False, True])
def test_the_bound_holds(share: float, together: bool) -> None:
    """Whether pages changed here and there or in a few groups. Of 24 refreshes one may be
    wrong on average."""
    may_miss, wrong = 0.01, 0
    for salt in range(24):
        rng = np.random.default_rng(salt)
        count = round(share * PAGES)
        start = 100 * int(rng.integers(0, PAGES // 100 - 2))
        changed = start + np.arange(count) if together else rng.choice(PAGES, count, replace=False)
        sample, asked = visited(changed.tolist(), may_miss, salt)
        missed = len(set(changed.tolist()) - asked)
        told = sample.told("a.example")
        assert (told.asked, told.left_out) == (len(asked), PAGES - len(asked))
        assert told.at_most <= may_miss * told.left_out
        wrong += missed > told.at_most
    assert wrong <= 4


FEWER = 1_500
"""Pages of a host that is visited a hundred times."""
SHARE = 0.05
MANY = 75
"""Pages that change: about as many as may be missed. With fewer, or more, all samples are right."""


TURN_OF = cache(turn_of)


def one_by_one(rng: np.random.Generator, at: int) -> Collection[int]:
    return [int(page) for page in rng.choice(FEWER, MANY, replace=False)]


def folders(rng: np.random.Generator, at: int) -> Collection[int]:
    first = 100 * int(rng.integers(0, FEWER // 100))
    return range(first, first + MANY)


def always_the_same(rng: np.random.Generator, at: int) -> Collection[int]:
    return range(0, FEWER, FEWER // MANY)


def to_and_fro(rng: np.random.Generator, at: int) -> Collection[int]:
    return [at % 2 + FEWER // MANY * one for one in range(MANY)]


def before_their_turn(rng: np.random.Generator, at: int) -> Collection[int]:
    """As a site would that knows whose turn is long to come."""
    turn_of = sampled_refresh.turn_of
    return [page for page in range(FEWER) if turn_of(URLS[page]) == (at - 1) % TURNS]


@pytest.mark.long
@pytest.mark.parametrize(
    "changes", [one_by_one, folders, always_the_same, to_and_fro, before_their_turn]
)
def test_the_bound_holds_and_all_take_turns_from_refresh_to_refresh(
    changes: Callable[[np.random.Generator, int], Collection[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a refresh missed is there to be missed at the next. Of 60 at most 3 are wrong on
    average, and 8 or more with a probability of 1 %."""
    monkeypatch.setattr(sampled_refresh, "turn_of", TURN_OF)
    rng, wrong = np.random.default_rng(1), 0
    now, kept = [0] * FEWER, [0] * FEWER
    last = [-1] * FEWER
    for at in range(60):
        for page in changes(rng, at):
            now[page] = at + 1 if changes is not to_and_fro else 1 - now[page]
        differ = {page for page in range(FEWER) if now[page] != kept[page]}
        leads = leads_of(range(FEWER), [7, 8], URLS, at)
        sample, asked = visited(differ, SHARE, at, leads, FEWER)
        told = sample.told("a.example")
        assert (told.asked, told.left_out) == (len(asked), FEWER - len(asked))
        assert told.at_most <= SHARE * told.left_out
        wrong += len(differ - asked) > told.at_most
        for page in asked:
            assert at - last[page] <= TURNS
            kept[page], last[page] = now[page], at
    assert min(last) >= 60 - TURNS
    assert wrong <= 7


def test_an_unchanged_host_costs_little() -> None:
    asked = [len(visited([], may_miss, 1)[1]) / PAGES for may_miss in (0.01, 0.05)]
    assert asked[0] <= 0.1
    assert asked[1] <= 0.02


def test_what_changed_together_is_found_whole() -> None:
    """One change in the sample opens its group."""
    sample, asked = visited(range(1_000, 1_200), 0.01, 3)
    assert set(range(1_000, 1_200)) <= asked
    assert sample.told("a.example").changed == 200


def test_where_nothing_can_be_left_out_all_is_asked_for() -> None:
    assert rate_for(90, 0.01, RISK) == 1.0
    assert len(visited(range(0, PAGES, 5), 0.01, 2)[1]) == PAGES, "each group has changes"


def test_pages_that_others_speak_for_are_no_part_of_it() -> None:
    sample, uniform = HostSample(range(PAGES)), uniform_of("", URLS)
    drawn = sample.draw(0.01, uniform, most=0.05)
    own = set(range(PAGES // 2))
    wide = sample.keep(own, 0.01, uniform)
    assert own.issuperset(wide)
    same = {*drawn, *wide}
    assert len(same & own) == pytest.approx(
        PAGES / 2 * rate_for(PAGES // 2, 0.01, risk_at(0)), rel=0.2
    )
    while more := sample.next(0.01, same, lambda page: "", uniform):
        assert own.issuperset(more)
        same.update(more)
    told = sample.told("a.example")
    assert told.asked + told.left_out == len(own)


@pytest.mark.parametrize(("hits", "rate"), [(0, 0.03), (3, 0.03), (40, 0.2), (0, 0.4)])
def test_the_most_that_a_sample_may_have_missed_is_exact(hits: int, rate: float) -> None:
    """Against drawn binomials: at the bound the sample has so few with a probability just above
    the risk."""
    rng = np.random.default_rng(5)
    most = most_in_all(hits, rate, RISK)
    shares = [
        np.mean(rng.binomial(count, rate, 200_000) <= hits) for count in (most, most + 1, 2 * most)
    ]
    assert shares[0] > RISK - 0.003
    assert shares[1] < RISK + 0.003
    assert shares[2] < RISK / 5
    assert sum(risk_at(stage) for stage in range(STAGES + 1)) <= RISK


def test_groups() -> None:
    assert group_of("http://a.example/news/2024/fire") == "http://a.example/news/2024"
    assert group_of("http://a.example/page.php?id=5/6") == "http://a.example/page.php"
    assert group_of("http://a.example/about") == group_of("http://a.example/")


def test_hubs_and_the_pages_whose_turn_it_is_lead() -> None:
    hubs = [7, 8, *range(500, 900)]
    turns = [leads_of(range(PAGES), hubs, URLS, at) for at in range(TURNS + 1)]
    assert all(leads[:20] == [7, 8, *range(500, 518)] for leads in turns)
    by_turn = [set(leads[20:]) for leads in turns]
    assert turns[TURNS] == turns[0]
    assert sum(map(len, by_turn[:TURNS])) == PAGES - 20, "each page but the hubs has one turn"
    assert max(map(len, by_turn)) < 2 * PAGES / TURNS
    fewer = leads_of(range(0, PAGES, 3), hubs, URLS, 5)
    assert set(fewer[-(-PAGES // 600) :]) == {p for p in by_turn[5] if p % 3 == 0}, (
        "whatever pages are gone, the others keep their turn"
    )
