"""The mixed fleet of the paper's Web experiment and starts by a refresh policy, worked by hand
(Palotai, Farkas and Lőrincz 2005, sections 2.1 and 4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spoor import registry
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.foragers.colony import Colony
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.settings import FleetSettings
from spoor.foragers.states import NoStates
from spoor.learn.state import pack, unpack
from spoor.types import Page, State
from spoor.watching.known_urls import Known
from spoor.watching.rates import Visits, change_rates, refresh_worth


class Alike:
    """Every page has the state (1, 0)."""

    size = 2
    settled = True

    def __call__(self, page: Page) -> NDArray[np.float32]:
        return np.array([1, 0], dtype=np.float32)

    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


def colony(first: str, each: int = 2, **told: Any) -> Colony:
    task = FleetTask(["http://news.example/"], Alike(), np.random.default_rng(0))
    made: Fleet = registry.build(
        "fleets", "mixed", task, settings={"first": first, "each": each, **told}
    )
    assert isinstance(made.crew, Colony)
    return made.crew


@pytest.mark.parametrize(
    ("first", "learning"),
    [("WLRL", [True, True, False, False]), ("WL", [False, False, True, True])],
)
def test_all_of_one_kind_have_their_slices_and_then_all_of_the_other(
    first: str, learning: list[bool]
) -> None:
    crew = colony(first)
    worked = []
    for slice_ in range(6):
        crew.visit(180.0 * slice_)
        worked.append((crew.foragers[crew.turn].number, crew.foragers[crew.turn].learns))
    # 2 + 2 in their order, and then again from the first.
    assert worked == [*enumerate(learning), (0, learning[0]), (1, learning[1])]


def test_a_mixed_fleet_stays_as_it_is_and_only_one_kind_learns() -> None:
    crew = colony("WLRL", each=1)
    known = crew._known
    known.see(0, Page(known.urls[0], text="clay"), 0.0)
    for forager, score in zip(crew.foragers, (500.0, -500.0), strict=True):
        forager.score = score
    for slice_ in range(4):
        crew.visit(180.0 * slice_)
    # 500 is above 200 and −500 below 0, but a fleet of a fixed size neither grows nor shrinks.
    assert (crew.multiplied, crew.deleted) == (0, 0)
    assert [forager.score for forager in crew.foragers] == [500.0, -500.0]
    for forager in crew.foragers:
        forager.weight = np.array([2, 3], dtype=np.float32)
        forager.last_step = 0
        forager.reinforce(known, 0, 10.0)
    # δ = 10 + .9 · 2 − 2 = 9.8, weight += .1 · 9.8 · (1, 0); and nothing for the one that does not learn.
    assert crew.foragers[0].weight.tolist() == pytest.approx([2.98, 3.0])
    assert crew.foragers[1].weight.tolist() == [2.0, 3.0]


def test_a_saved_mixed_fleet_knows_who_learns() -> None:
    crew = colony("WL", each=2, start="refresh")
    crew.visit(0.0)
    crew.end_step(0, [], [0], 1.0)
    other = colony("WL", each=2, start="refresh")
    other.load(unpack(pack(crew.save())))
    assert [forager.learns for forager in other.foragers] == [False, False, True, True]
    assert pack(other.save()) == pack(crew.save())


def test_rates_and_worth_by_hand() -> None:
    # Two changes in four revisits over 400 s: −ln((4 − 2 + 0.5) / 5) / 100 = ln 2 / 100.
    # None: −ln(4.5 / 5) / 100. One look only counts as seen over a day: −ln(0.5) / 86,400.
    rates = change_rates([4, 4, 0], [2, 0, 0], [400.0, 400.0, 0.0])
    assert rates.tolist() == pytest.approx(
        [math.log(2) / 100, math.log(5 / 4.5) / 100, math.log(2) / DAY]
    )
    # λτ = ln 2: (1 − (1 + ln 2) / 2) / λ.
    assert refresh_worth(rates[0], 100.0) == pytest.approx((0.5 - math.log(2) / 2) / rates[0])


def test_a_path_begins_where_a_visit_is_worth_most() -> None:
    seen = Visits()
    for at in range(5):
        seen.saw(7, version=min(at, 2), now=100.0 * at)  # changes twice, and then no more
        seen.saw(8, version=0, now=100.0 * at)  # never
    # At 450 both were seen 50 s ago: x = .347 and .053, worth 144·(1 − 1.347 e^−.347) = 6.9 and
    # 949·(1 − 1.053 e^−.053) = 1.3: the one that changes.
    assert seen.best([8, 7], 450.0) == 7
    # 7 looked at just now is worth nothing.
    seen.saw(7, version=2, now=450.0)
    assert seen.best([7, 8], 450.0) == 8
    # What was never seen is first, whatever the others are worth.
    assert seen.best([8, 9, 7], 9_000.0) == 9


def test_a_colony_begins_its_paths_by_the_refresh_policy() -> None:
    known = Known(NoStates())
    settings = FleetSettings(start="refresh", max_step=0, weblog=False, min_foragers=1)
    numbers = [known.number(f"http://news.example/{name}") for name in "ab"]
    crew = Colony(numbers, known, settings, np.random.default_rng(0))
    steps = []
    for at in range(8):
        now = 100.0 * at
        step = crew.visit(now)
        steps.append(step)
        # "a" has another text each time, "b" never.
        text = f"a {at}" if step == numbers[0] else "b"
        known.see(step, Page(known.urls[step], text=text), now)
        crew.end_step(step, [], [step], now)
    # Each once; then the one that waited longest, both being as if seen over a day; as soon as "a" is
    # seen to change it is worth most, and "b" only now and then.
    assert steps[:4] == [0, 1, 0, 0]
    assert steps.count(0) >= 6


def test_what_no_mixed_fleet_can_be() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"first": "RL"}, "first is 'WLRL' or 'WL', not 'RL'"),
        ({"each": 0}, "each is 1 or more"),
        ({"start": "best"}, "start is 'random' or 'refresh', not 'best'"),
    ]
    for told, message in wrong:
        with pytest.raises(InputError, match=message):
            colony(**{"first": "WL", **told})
