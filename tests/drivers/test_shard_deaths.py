"""Shards and their coordinator die at every named point of one crawl: nothing is lost.

As in `test_durable.py` no process is killed: a shard goes on from its folder as it lay on the disk
at that moment. `benchmarks/shards.py deaths` kills processes on Ray.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
from collections import Counter, deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from kills import KilledError, check_run, served
from shard_kills import SHARDS, settings_of
from spoor.compression import compressor, packed
from spoor.errors import InputError, PausedError
from spoor.learn.state import pack
from spoor.live import live_crawl
from spoor.live.shard import POINTS as TURN_POINTS
from spoor.live.shard import Shard
from spoor.runs import files
from spoor.runs.recovery import kept_aside
from spoor.runs.shards import begin
from spoor.runs.writer import POINTS
from spoor.settings import Settings
from spoor.sharding.coordinator import Coordinator, Order

PAGES = 150
IN_FLIGHT = 8


class Crawl:
    """A crawl in shards in one process, without a transport between them."""

    def __init__(self, path: Path, settings: Settings, deaths: dict[int, deque[str]]) -> None:
        self.path = path
        self.settings = settings
        self.died: Counter[str] = Counter()
        self.notes: list[str] = []
        self.on_order: Callable[[int, Order], None] = lambda number, order: None
        self._deaths = deaths
        self._shards: dict[int, Shard] = {}
        self._coordinator = Coordinator(SHARDS, 100_000)
        self._turns = 0

    def _copy(self, number: int) -> Path:
        return self.path.with_name(f"copy-{number}")

    def _at(self, number: int, left: int) -> object:
        dead = False

        def at(point: str) -> None:
            nonlocal left, dead
            deaths = self._deaths[number]
            if dead:
                raise KilledError
            if deaths and deaths[0] == point:
                left -= 1
                if not left:
                    deaths.popleft()
                    shutil.copytree(files.shard(self.path, number), self._copy(number))
                    self.died[point] += 1
                    dead = True
                    raise KilledError

        return at

    async def run(self) -> None:
        """To the end; every 40 turns the coordinator is replaced by one that knows nothing."""
        while not self._coordinator.over:
            for number, member in self._coordinator.members.items():
                if not member.ended:
                    try:
                        member.ended = await self._turn(number)
                    except KilledError:
                        await self._bury(number)
            self._turns += 1
            if self._turns % 40 == 0 and self._coordinator.reason is None:
                self._coordinator = Coordinator(SHARDS, 100_000)
                self.died["coordinator"] += 1
            await asyncio.sleep(0.005)

    async def _turn(self, number: int) -> bool:
        """One order to a shard and its report; whether it has ended."""
        coordinator, shard = self._coordinator, self._shards.get(number)
        member = coordinator.members[number]
        if shard is None:
            times = 1 + sum(self.died.values()) % 3 if self._deaths[number] else 1
            point = self._deaths[number][0] if self._deaths[number] else ""
            once = point in POINTS[: POINTS.index("exchange recorded")]
            at = self._at(number, 1 if once else times)
            shard = Shard(self.path, self.settings, number, failpoint=at)  # type: ignore[arg-type]
            self._shards[number] = shard
            report = shard.begin()
            self.notes += report["notes"]
            coordinator.joined(number, report, 0.0)
        elif not member.alive:
            coordinator.joined(number, await shard.rejoin(), 0.0)
        elif member.stopping:
            coordinator.report(number, await shard.end(), 0.0)
            return True
        else:
            order = coordinator.order(number)
            self.on_order(number, order)
            coordinator.report(number, await shard.turn(order), 0.0)
        return False

    async def _bury(self, number: int) -> None:
        """Its folder is what lay on the disk when it died."""
        shard, folder = self._shards.pop(number, None), files.shard(self.path, number)
        if shard is not None:
            shard._driver.fail(KilledError())
            assert shard._ending is not None
            await asyncio.wait([shard._ending])
            shard._ending.exception()
            shard.run.folder.close()
        shutil.rmtree(folder)
        self._copy(number).replace(folder)
        with (folder / files.archive(0)).open("ab") as archive:
            archive.write(gzip.compress(b"a record that no commit knows of"))
        self._coordinator.lost(number)


@pytest.mark.server
def test_nothing_is_lost_wherever_a_shard_or_the_coordinator_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_crawl, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(live_crawl, "CHECKPOINT_SHARE", 1e9)
    points = [point for point in (*POINTS, *TURN_POINTS) if point != "created"]
    # Only what came to "sending" has a state to be read.
    deaths = {0: deque(["created", "sending", *points]), 1: deque(["created", *reversed(points)])}
    with served(PAGES, hosts=8) as web, ExitStack() as undo:
        path = tmp_path / "run"
        settings = settings_of(web.root, web.port, delay=0.0, in_flight=IN_FLIGHT)
        begin(path, settings, undo)
        crawl = Crawl(path, settings, deaths)
        asyncio.run(crawl.run())
        urls = [check_run(files.shard(path, number)) for number in range(SHARDS)]
    left = {number: list(planned) for number, planned in deaths.items()}
    assert not any(left.values()), left
    assert not urls[0] & urls[1], "a page was judged by both"
    assert len(urls[0] | urls[1]) == PAGES
    asides = [line.removeprefix(kept_aside("")) for line in crawl.notes]
    assert asides
    assert all(Path(aside).exists() for aside in asides)
    assert web.again <= sum(crawl.died.values()) * IN_FLIGHT


@pytest.mark.server
def test_a_shard_that_dies_once_it_was_told_that_the_crawl_is_over_goes_on_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before what it enters then is durable, it is told again; after, its journal has it."""
    monkeypatch.setattr(live_crawl, "CHECKPOINT_SHARE", 1e9)
    planned = {1: "order executed", 3: "sending", 5: "reported"}
    deaths = {number: deque[str]() for number in range(SHARDS)}
    told = Counter[int]()

    def on_order(number: int, order: Order) -> None:
        told[number] += order["over"]
        if order["over"] and told[number] in planned:
            deaths[number].append(planned[told[number]])

    with served(60, hosts=6, traps=("calendar",)) as web, ExitStack() as undo:
        path = tmp_path / "run"
        settings = settings_of(web.root, web.port, delay=0.0, in_flight=4, traps=False)
        begin(path, settings, undo)
        crawl = Crawl(path, settings, deaths)
        crawl.on_order = on_order
        asyncio.run(crawl.run())
        urls = [check_run(files.shard(path, number)) for number in range(SHARDS)]
    assert {point: crawl.died[point] for point in planned.values()} == dict.fromkeys(
        planned.values(), SHARDS
    )
    assert not urls[0] & urls[1], "a page was judged by both"
    assert sum("/calendar/" not in url for url in urls[0] | urls[1]) == 60
    assert web.again <= sum(crawl.died.values()) * 4


@pytest.mark.server
@pytest.mark.parametrize("kind", ["a model", "links"])
def test_a_call_that_fails_half_way_ends_in_one_line_and_the_run_goes_on_from_before(
    tmp_path: Path, kind: str
) -> None:
    """A worker of another version; what was half done was in the state, and in no journal."""

    def on_order(number: int, order: Order) -> None:
        if number == 0 and order["grant"] > 8:
            if kind == "a model":
                order["models"] = [pack({"learned": 5})]
            else:
                link = [7, ["", "", "", []], "a"]  # no URL
                batches = [[None, 0.0, 0, [], links, [], 0] for links in ([], [link])]
                blob = packed(json.dumps(batches).encode(), compressor(1, checksum=True))
                order["links"] = [(1, crawl._shards[0].worker.outbox.expects(1), blob)]

    with served(40, hosts=6) as web, ExitStack() as undo:
        path = tmp_path / "run"
        settings = settings_of(web.root, web.port, delay=0.0, in_flight=4)
        begin(path, settings, undo)
        crawl = Crawl(path, settings, {number: deque() for number in range(SHARDS)})
        crawl.on_order = on_order
        with pytest.raises(InputError, match=r"cannot be used|are damaged") as told:
            asyncio.run(ended(crawl))
        assert "\n" not in str(told.value)
        again = Crawl(path, settings, {number: deque() for number in range(SHARDS)})
        asyncio.run(again.run())
        urls = [check_run(files.shard(path, number)) for number in range(SHARDS)]
    assert not urls[0] & urls[1], "a page was judged by both"
    assert len(urls[0] | urls[1]) == 40


async def ended(crawl: Crawl) -> None:
    """Run a crawl until it fails, and let its shards end as their processes do."""
    try:
        await crawl.run()
    finally:
        for shard in crawl._shards.values():
            order = {**crawl._coordinator.order(1), "links": [], "models": []}
            with suppress(PausedError):
                await shard.turn({**order, "stop": "a shard failed"})
            with suppress(PausedError):
                await shard.end()
            shard.run.folder.close()
