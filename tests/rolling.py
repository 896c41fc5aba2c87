"""A front page of stories that roll on in real time, served on loopback: what tests of watching
share."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spoor.foragers.fleet import Fleet
from spoor.http.world_server import Server, serving
from spoor.live.watch import Watch
from spoor.runs.assemble_fleet import make_fleet
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.watching.hosts import Hosts
from spoor.worlds.clocked import Clocked
from spoor.worlds.evolving import EvolvingWorld, Version

FRONT = "http://news.example/"


def rolling(seconds: float, every: float) -> EvolvingWorld:
    """A front page of ten stories; a new one every so many seconds, each changed once."""
    versions = []
    for at in range(int(seconds / every) + 10):
        published = every * (at - 9)
        url = f"{FRONT}story{at}.html"
        name = "".join(chr(ord("a") + int(digit)) for digit in str(at))
        text = f"The story of {name} is told in one sentence here. So {name}ly it ends."
        versions.append(Version(published, url, f"Story {at}", text, (FRONT,)))
        corrected = f"{text} A correction of {name} was added."
        versions.append(Version(published + 3 * every, url, f"Story {at}", corrected, (FRONT,)))
        links = tuple(f"{FRONT}story{other}.html" for other in range(at, max(-1, at - 10), -1))
        versions.append(Version(published, FRONT, "Front", f"The newest of all is {name}", links))
    return EvolvingWorld(versions, roots=[FRONT], start=0.0, end=seconds)


@contextmanager
def served(world: EvolvingWorld) -> Iterator[int]:
    """The port on which a world is served in real time by a thread."""
    ready, over = threading.Event(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        clocked = Clocked(world, time.monotonic, speed=1.0)
        async with serving(Server(clocked, robots="User-agent: *\nDisallow: /story3.html\n")) as at:
            ports.append(at)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(100)
        yield ports[0]
    finally:
        over.set()
        thread.join()


def lines_of(out: Path) -> list[dict[str, Any]]:
    with (out / "news.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def open_watch(
    path: Path,
    port: int,
    at: Callable[[str, Fleet], None] = lambda point, fleet: None,
    *,
    fleet: str = "change-rate",
    delay: float = 0.0,
    in_flight: int = 16,
    want: tuple[str, ...] = (),
) -> Watch:
    """A watch of the front page. The caller closes its folder."""
    settings = Settings(
        command="watch",
        seeds=(FRONT,),
        want=want,
        fleet=fleet,
        delay=delay,
        per_host=4,
        in_flight=in_flight,
        connect_to=f"127.0.0.1:{port}",
    )
    making = make_fleet(settings, [FRONT], hosts=Hosts(delay=delay, per_host=4))
    folder = RunWriter(path, settings, failpoint=lambda point: at(point, making))
    try:
        return Watch(folder, making, title="t")
    except BaseException:
        folder.close()
        raise
