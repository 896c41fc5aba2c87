"""Large bodies of many hosts at once: they have a bound together, and small ones do not wait."""

from __future__ import annotations

import asyncio
import gzip

import numpy as np
import pytest

from loopback import ADDRESS, Asked, Loopback, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http import body_room
from spoor.http.body_room import BodyRoom
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import Deferred, Fetch, Fetched, Outcome, Task

MIB = 1 << 20


def test_large_bodies_wait_in_turn_and_small_ones_do_not() -> None:
    room, most, waits = BodyRoom(20 * MIB), 0, list[int]()

    async def body(number: int, size: int) -> None:
        nonlocal most
        for _ in range(size // 65_536):
            if room.grow(number, 65_536):
                waits.append(number)
                await room.wait(number, 60.0)
            most = max(most, sum(room._sizes.values()))
            await asyncio.sleep(0)
        room.leave(number)

    async def go() -> None:
        large = [body(number, 10 * MIB) for number in range(20)]
        small = [body(100 + number, MIB // 2) for number in range(10)]
        await asyncio.gather(*large, *small)

    asyncio.run(go())
    assert most <= 31 * MIB
    assert len({number for number in waits if number < 20}) > 10
    assert max(waits) < 100
    assert room._total == 0


def test_whoever_waits_too_long_gives_up() -> None:
    room = BodyRoom(MIB)

    async def go() -> None:
        for number in range(3):
            room.grow(number, MIB)
        await room.wait(1, 60.0)  # the one that is brought to its end
        with pytest.raises(TimeoutError):
            await room.wait(2, 0.01)
        room.leave(1)
        await room.wait(2, 60.0)

    asyncio.run(go())


@pytest.mark.server
@pytest.mark.parametrize("packed", [False, True])
def test_bodies_of_many_hosts_have_a_bound_together(
    packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two MiB each of sixteen hosts at once, of which four MiB are kept."""
    monkeypatch.setattr(body_room, "MOST", 4 * MIB)
    noise = np.random.default_rng(0).integers(97, 123, 2 * MIB, dtype=np.uint8).tobytes()
    body = b"<title>k</title><p>" + noise
    whole = reply(gzip.compress(body, 1), Content_Encoding="gzip") if packed else reply(body)
    most, got, grow = list[int](), list[str](), BodyRoom.grow

    def grown(self: BodyRoom, number: int, size: int) -> bool:
        over = grow(self, number, size)
        most.append(self._total)
        return over

    monkeypatch.setattr(BodyRoom, "grow", grown)

    def answer(asked: Asked) -> bytes:
        return whole

    server = Loopback(answer)

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Outcome) and isinstance(done.reply, Fetched):
            got.append(fetch.url)

    async def go() -> HttpDriver:
        async with server.serving(), asyncio.timeout(60.0):
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            engine = Crawl(policy, Keywords(["k"]), MemoryFrontier())
            engine.seed([f"http://h{n}.example/" for n in range(16)])
            one = Settings(connect_to=f"{ADDRESS}:{server.port}", in_flight=16, robots=False)
            driver = HttpDriver(engine, one, on_step=step)
            await driver.run()
            return driver

    driver = asyncio.run(go())
    assert len(got) == 16
    kept = 3.5 * MIB if packed else 2.1 * MIB  # the bytes as they came, and what they stand for
    assert 2 * MIB < max(most) <= 4 * MIB + 2 * kept
    assert driver._requests is not None
    assert driver._requests._client.room._total == 0
