"""Pages that never come to rest, or whose renders bring nothing, keep no other site's from being
rendered."""

from __future__ import annotations

import asyncio
import heapq
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from spoor.rendering.browser_processes import come_last, processes_of
from spoor.rendering.missing_content import SCRIPTS
from spoor.rendering.render_turns import LONG_PLACES, MOST_WAITING, RenderTurns
from spoor.rendering.render_value import Arm, Brought, RenderValues
from spoor.turns import CrowdedError, SiteTimes

EVIL, GOOD = "evil.example", "good.example"


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
            await turns.render(name, lambda: asyncio.sleep(takes[name]))
            done[name] += 1

    async def go() -> None:
        turns = RenderTurns(SiteTimes(asyncio.get_running_loop().time))
        tasks = [
            asyncio.ensure_future(site(turns, name))
            for name, many in at_once.items()
            for _ in range(many)
        ]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not turns._begun
        assert not list(turns._waiting)

    with asyncio.Runner(loop_factory=Simulated) as runner:
        runner.run(go())
    return done


def test_pages_that_never_rest_leave_another_site_nine_pages_in_ten() -> None:
    alone = rendered(120.0, {GOOD: 1.0}, {GOOD: 1})
    beside = rendered(120.0, {EVIL: 30.0, GOOD: 1.0}, {EVIL: 8, GOOD: 1})
    assert alone[GOOD] >= 119
    assert beside[GOOD] >= 0.9 * alone[GOOD]
    assert beside[EVIL] >= 6


def test_a_site_alone_has_two_places() -> None:
    assert rendered(120.5, {EVIL: 30.0}, {EVIL: 8})[EVIL] == 8
    assert rendered(120.5, {GOOD: 1.0}, {GOOD: 8})[GOOD] == 240


def test_sites_of_which_nothing_is_known_leave_a_place_too() -> None:
    others = [f"{number}.example" for number in range(30)]
    takes = {GOOD: 1.0, **dict.fromkeys(others, 30.0)}
    assert rendered(300.0, takes, dict.fromkeys(takes, 1))[GOOD] >= 270


class Pages:
    """Pages of sites that rest at once, and others that never do; `begun` are those that did not
    rest, in order."""

    def __init__(self) -> None:
        self.times = SiteTimes(lambda: 0.0)
        self.turns = RenderTurns(self.times, look=0.0)
        self.begun: list[str] = []
        self._begins: list[asyncio.Task[None]] = []

    async def _never(self, site: str) -> None:
        self.begun.append(site)
        await asyncio.Event().wait()

    async def _at_once(self) -> str:
        return "rendered"

    def never_rests(self, site: str) -> asyncio.Task[None]:
        self._begins.append(asyncio.create_task(self.turns.render(site, lambda: self._never(site))))
        return self._begins[-1]

    async def rests(self, site: str) -> str:
        return await asyncio.wait_for(self.turns.render(site, self._at_once), 60)

    async def end(self) -> None:
        for task in self._begins:
            task.cancel()
        await asyncio.gather(*self._begins, return_exceptions=True)


def test_pages_that_never_rest_keep_no_other_sites_waiting() -> None:
    async def go() -> list[str]:
        pages = Pages()
        for _ in range(8):  # as many hosts below one domain
            pages.never_rests(EVIL)
        rendered = [await pages.rests(GOOD) for _ in range(20)]
        assert pages.times.is_slow(EVIL)
        assert not pages.times.is_slow(GOOD)
        assert len(pages.begun) <= LONG_PLACES + 2, "and no more begins than has a place"
        await pages.end()
        return rendered

    assert asyncio.run(go()) == ["rendered"] * 20


def test_sites_without_number_that_never_rest_leave_others_a_place() -> None:
    """Each has one page, so nothing is known of any."""

    async def go() -> None:
        pages = Pages()
        await pages.rests(GOOD)
        for number in range(20):
            pages.never_rests(f"evil{number}.example")
        for _ in range(20):
            assert await pages.rests(GOOD) == "rendered"
        await pages.end()

    asyncio.run(go())


def test_places_are_free_again_once_pages_end_or_are_given_up() -> None:
    async def go() -> None:
        pages = Pages()
        for _ in range(3):
            for number in range(6):
                pages.never_rests(f"evil{number}.example")
            assert await pages.rests(GOOD) == "rendered"
            await pages.end()
        begun = len(pages.begun)
        assert await asyncio.wait_for(pages.turns.render(EVIL, pages._at_once), 60) == "rendered"
        pages.never_rests(EVIL)
        assert await pages.rests(EVIL) == "rendered", "its site has other places"
        assert len(pages.begun) == begun + 1
        await pages.end()

    asyncio.run(go())


def test_pages_that_wait_since_their_site_takes_long_have_a_bound() -> None:
    """Each holds a request in flight."""

    async def go() -> None:
        pages = Pages()
        pages.times.took(EVIL, 30.0, long=True)
        pages.times.took("slow.example", 30.0, long=True)
        waiting = [pages.never_rests(EVIL) for _ in range(LONG_PLACES + MOST_WAITING)]
        await asyncio.sleep(0)
        other = pages.never_rests("slow.example")
        for _ in range(3):
            await asyncio.sleep(0)
        given_up = [task for task in waiting if task.done()]
        assert len(given_up) == 1
        assert not other.done()
        with pytest.raises(CrowdedError):
            await given_up[0]
        await pages.end()

    asyncio.run(go())


def test_renders_of_one_domain_teach_little_of_others() -> None:
    """Whoever has a domain has as many hosts as they like."""
    values = RenderValues()
    for number in range(200):
        arm = Arm(f"n{number}.evil.example", "/", SCRIPTS)
        for _ in range(3):
            if values.decide(arm).action == "render":
                values.learn(arm, Brought(), 0.1)
    assert values.decide(Arm(GOOD, "/", SCRIPTS)).action == "render"


def test_renders_of_one_domain_that_are_under_way_keep_no_other_waiting() -> None:
    values = RenderValues()
    for number in range(200):
        values.begin(Arm(f"n{number}.evil.example", "/", SCRIPTS))
    assert values.decide(Arm(GOOD, "/", SCRIPTS)).action == "render"


SPINS = """import threading
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin).start()"""
BEGINS = """import subprocess, sys
name = "chromium --ty" + "pe=renderer --lang=en"
subprocess.run([name, "-c", sys.argv[1]], executable=sys.executable)"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what is busy")
def test_a_page_that_keeps_the_processor_busy_comes_after_all_others() -> None:
    """With each of its threads. Its name and arguments are one, as where Chromium forks."""
    mark = f"--spoor=test-{os.getpid()}"
    root = subprocess.Popen([sys.executable, "-c", BEGINS, SPINS, mark])
    busy = list[int]()
    try:
        while not busy:
            tree = processes_of(mark)
            kinds = [kind for _, _, kind, _ in tree]
            assert kinds in ([], ["browser"], ["browser", "browser"], ["browser", "renderer"])
            busy = [one for one, _, kind, cpu in tree if kind == "renderer" and cpu > 0.3]
            assert root.poll() is None
        come_last([*busy, 2**22 + 1])
        threads = [int(one.name) for one in Path(f"/proc/{busy[0]}/task").iterdir()]
        assert len(threads) == 4
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {19}
    finally:
        for process, *_ in processes_of(mark):
            os.kill(process, signal.SIGKILL)
        root.wait()
