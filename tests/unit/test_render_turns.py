"""Pages that never come to rest leave a place of the browser to other sites."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from spoor.live.helper_turns import SiteTimes
from spoor.live.render_turns import RenderTurns

GOOD, BAD = "good.example", "bad.example"


class Simulated(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next moment at which something is due."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, heapq.nsmallest(1, self._scheduled)[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def rendered(seconds: float, takes: dict[str, float], at_once: dict[str, int]) -> dict[str, int]:
    """Pages of each site that are rendered in so many seconds, where each has so many that wait at
    any time, of so many seconds each."""
    done = dict.fromkeys(takes, 0)

    async def site(turns: RenderTurns, name: str) -> None:
        for _ in count():
            async with turns.turn(name):
                await asyncio.sleep(takes[name])
            done[name] += 1

    async def go() -> None:
        turns = RenderTurns(2, SiteTimes(asyncio.get_running_loop().time))
        tasks = [
            asyncio.ensure_future(site(turns, name))
            for name, many in at_once.items()
            for _ in range(many)
        ]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert turns._busy.total() == 0

    with asyncio.Runner(loop_factory=Simulated) as runner:
        runner.run(go())
    return done


def test_pages_that_take_long_leave_a_place_to_other_sites() -> None:
    alone = rendered(120.0, {GOOD: 1.0}, {GOOD: 1})
    beside = rendered(120.0, {BAD: 30.0, GOOD: 1.0}, {BAD: 8, GOOD: 1})
    assert alone[GOOD] >= 119
    assert beside[GOOD] >= 89, "all but the first half minute, in which nobody knew"
    assert beside[BAD] >= 4


def test_a_site_alone_has_all_places() -> None:
    assert rendered(120.5, {BAD: 30.0}, {BAD: 8})[BAD] == 8
    assert rendered(120.5, {GOOD: 1.0}, {GOOD: 8})[GOOD] == 240


def test_sites_of_which_nothing_is_known_leave_a_place_too() -> None:
    takes = {f"{n}.example": 30.0 for n in range(50)} | {GOOD: 1.0}
    done = rendered(300.0, takes, {GOOD: 1, **dict.fromkeys([*takes][:-1], 1)})
    assert done[GOOD] >= 250
