"""What a second pass over a site costs (requests, bytes, CPU), and which changes it finds.

    .venv/bin/python benchmarks/refresh.py [--pages 10000]
    .venv/bin/python benchmarks/refresh.py --samples [--pages 10000]
    .venv/bin/python benchmarks/refresh.py --unchanged [--pages 3000] [--runs 5]
    .venv/bin/python benchmarks/refresh.py --passes [--pages 10000]

Bytes are those on the wire, of requests and replies with all their headers: a relay in front of the
server counts them. A site of pages of some 6 kB that link to their neighbours, with validators;
once with a sitemap whose `lastmod` is old, once without one but fresh by `Last-Modified`, once
asked for page by page (`--no-hints`). `--samples`: a site that says nothing at all, in folders of a
hundred pages, by `--may-miss`, where nothing changed, where a share of the pages did, one by one or
by whole folders, and the home page. The server is a process of its own; the CPU is that of the
crawl.

`--unchanged`: what a page costs whose answer is 304 (goal: .5 ms of CPU): medians of several runs,
in turn, of a refresh that asks for every page, all of it counted; of what is left where a refresh
that asks for nothing is taken off (opening, and the copy of the run before); of a pass of
a watch; and of the same requests by aiohttp alone, which says how fast the machine is.

`--passes`: two passes of `spoor watch --once` by the default fleet, a day apart, over the site with
validators, and over the one that says nothing and sends each page whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch
from urllib.request import urlopen

from aiohttp import ClientSession, TCPConnector, web

from spoor.live.live_crawl import LiveCrawl
from spoor.live.watch import Watch
from spoor.process_memory import few_collections
from spoor.runs.assemble import make_crawl
from spoor.runs.assemble_fleet import make_fleet
from spoor.runs.inputs import with_inputs
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

OLD = "Mon, 01 Jan 2001 00:00:00 GMT"


def words(number: int) -> str:
    return " ".join(f"kiln{(number * 31 + k * k) % 997}" for k in range(800))


def folder(number: int) -> str:
    """Path of a page of the site that says nothing."""
    return f"/s{number // 100}/{number}" if number else "/"


def numbered(path: str) -> int | None:
    """The page at a path of either site."""
    last = path.rpartition("/")[2] or "0"
    return int(last) if last.isdigit() else None


@dataclass(frozen=True, slots=True)
class Server:
    """Where the site is, and where to ask what it counted, which does not count."""

    port: int
    control: int

    def counted(self) -> dict[str, int]:
        """Since the last call."""
        with urlopen(f"http://127.0.0.1:{self.control}/counts") as reply:
            told: dict[str, int] = json.load(reply)
        return told

    def change(self, numbers: list[int]) -> None:
        with urlopen(f"http://127.0.0.1:{self.control}/change", json.dumps(numbers).encode()):
            pass


def serve(pages: int, pipe: Connection) -> None:
    counts = {"requests": 0, "bytes": 0, "not modified": 0}
    changed: set[int] = set()

    async def answer(request: web.Request) -> web.Response:
        path = request.path
        if path == "/counts":
            told = dict(counts)
            counts.update(dict.fromkeys(counts, 0))
            return web.json_response(told)
        if path == "/change":
            changed.clear()
            changed.update(await request.json())
            return web.Response()
        counts["requests"] += 1
        number = numbered(path)
        if path == "/sitemap.xml" and request.host == "listed.example":
            urls = "".join(
                f"<url><loc>http://listed.example/{n}</loc><lastmod>2001-01-01</lastmod></url>"
                for n in range(pages)
            )
            reply = web.Response(text=f"<urlset>{urls}</urlset>", content_type="application/xml")
        elif number is None:
            reply = web.Response(status=404)
        elif request.host == "mute.example":
            links = "".join(
                f'<a href="{folder((8 * number + k) % pages)}">kiln</a>' for k in range(9)
            )
            text = f"<title>{number}</title><p>{number in changed}, {words(number)}</p>{links}"
            reply = web.Response(text=text, content_type="text/html")
        elif "If-None-Match" in request.headers:
            counts["not modified"] += 1
            reply = web.Response(status=304, headers={"ETag": '"1"'})
        else:
            links = "".join(f'<a href="/{(8 * number + k) % pages}">kiln</a>' for k in range(9))
            headers = {"ETag": '"1"', "Last-Modified": OLD}
            text = f"<title>{number}</title><p>{words(number)}</p>{links}"
            reply = web.Response(text=text, content_type="text/html", headers=headers)
        return reply

    async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                counts["bytes"] += len(data)
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()

    async def relay(client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, there = await asyncio.open_connection("127.0.0.1", control)
        await asyncio.gather(pass_on(client, there), pass_on(server, back))

    control = 0

    async def main() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        nonlocal control
        control = runner.addresses[0][1]
        counting = await asyncio.start_server(relay, "127.0.0.1", 0)
        pipe.send((counting.sockets[0].getsockname()[1], control))
        await asyncio.Event().wait()

    asyncio.run(main())


def crawl(out: Path, port: int, **told: Any) -> tuple[float, dict[str, Any] | None]:
    """CPU seconds, and what became of the pages."""
    settings = Settings.of(
        {"connect_to": f"127.0.0.1:{port}", "delay": 0.0, "per_host": 16, **told}
    )
    settings = with_inputs(settings, [] if settings.refresh else [f"http://{out.parent.name}/"])
    began = resource.getrusage(resource.RUSAGE_SELF)
    with few_collections(), closing(RunWriter(out, settings)) as folder:  # as the command does
        run = LiveCrawl(folder, make_crawl(settings))
        reason = run.run()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    cpu = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    return cpu, run.summary(reason)["refreshed"]


def watched(
    out: Path, port: int, *, host: str = "dated.example", fleet: str = "round-robin"
) -> float:
    """CPU seconds of a pass of a watch; a fleet that visits all in turn asks for every page."""
    settings = Settings(
        command="watch",
        seeds=(f"http://{host}/",),
        connect_to=f"127.0.0.1:{port}",
        delay=0.0,
        per_host=16,
        requests_per_day=0,
        fleet=fleet,
        once=True,
    )
    began = time.process_time()
    with closing(RunWriter(out, settings)) as folder:
        Watch(folder, make_fleet(settings, list(settings.seeds)), title="t").run(None)
    return time.process_time() - began


def alone(pages: int, port: int) -> float:
    """CPU seconds of aiohttp for as many conditional requests."""

    async def ask() -> None:
        numbers = iter(range(pages))
        headers = {"If-None-Match": '"1"', "Host": "dated.example"}
        async with ClientSession(connector=TCPConnector(limit=16)) as session:

            async def one() -> None:
                for number in numbers:
                    url = f"http://127.0.0.1:{port}/{number}"
                    async with session.get(url, headers=headers) as reply:
                        await reply.read()

            await asyncio.gather(*(one() for _ in range(16)))

    began = time.process_time()
    asyncio.run(ask())
    return time.process_time() - began


@contextmanager
def days_later(days: float) -> Iterator[None]:
    """As if so many days had passed."""
    now = time.time
    with patch("time.time", lambda: now() + 86_400.0 * days):
        yield


def passes(server: Server, folder: Path) -> None:
    """Two passes of `spoor watch --once` a day apart, of sites that do not change."""
    for host in ("dated.example", "mute.example"):
        told = list[dict[str, int]]()
        for day in (0, 1):
            server.counted()
            with days_later(day):
                cpu = watched(folder / host, server.port, host=host, fleet="change-rate")
            told.append(server.counted())
            print(f"{host}, day {day}: {told[-1]}, {cpu:.1f} s of CPU", flush=True)
        first, second = told
        print(
            f"{host}: {second['requests'] / first['requests']:.2%} of the requests, "
            f"{second['bytes'] / first['bytes']:.2%} of the bytes"
        )


def unchanged(pages: int, server: Server, folder: Path, runs: int) -> None:
    """What a page costs whose answer is 304."""
    first, seen = folder / "dated.example" / "first", folder / "watch"
    first.parent.mkdir()
    crawl(first, server.port, topic="kiln", pages=pages, policy="breadth-first", traps=True)
    watched(seen, server.port)
    each: dict[str, list[float]] = {}
    for number in range(runs):
        server.counted()
        everything, _ = crawl(
            first.parent / f"all{number}",
            server.port,
            refresh=str(first),
            hints=False,
            may_miss=0.0,
        )
        asked = server.counted()["not modified"]
        nothing, _ = crawl(first.parent / f"none{number}", server.port, refresh=str(first))
        asked_too = server.counted()["not modified"]
        looks = watched(seen, server.port)
        looked = server.counted()["not modified"]
        told = {
            "a refresh, everything": everything / asked,
            "a refresh, beyond one that asks for nothing": (everything - nothing)
            / (asked - asked_too),
            "a watch": looks / looked,
            "aiohttp alone": alone(pages, server.port) / pages,
        }
        for name, seconds in told.items():
            each.setdefault(name, []).append(1000 * seconds)
        print({name: round(1000 * seconds, 3) for name, seconds in told.items()}, flush=True)
        for left in ("all", "none"):
            shutil.rmtree(first.parent / f"{left}{number}")
    for name, found in each.items():
        print(f"{name}: {median(found):.2f} ms ({min(found):.2f} to {max(found):.2f})")


def samples(pages: int, server: Server, folder: Path) -> None:
    """A refresh by samples beside one that asks for all."""
    first = folder / "mute.example" / "first"
    first.parent.mkdir()
    server.counted()
    cpu, _ = crawl(
        first, server.port, topic="kiln", pages=pages, policy="breadth-first", traps=True
    )
    before = server.counted()
    print(f"first pass {before}, {cpu:.1f} s of CPU", flush=True)
    rng = random.Random(0)
    thousandth = pages // 1000
    rounds = {
        "nothing": [],
        "the home page": [0],
        ".1 %, one by one": rng.sample(range(pages), thousandth),
        "1 %, one by one": rng.sample(range(pages), 10 * thousandth),
        "5 %, one by one": rng.sample(range(pages), 50 * thousandth),
        "a folder of 100": list(range(700, 800)),
        "5 folders of 100": [
            100 * one + at for one in rng.sample(range(1, pages // 100), 5) for at in range(100)
        ],
    }
    for name, changed in rounds.items():
        server.change(changed)
        for may_miss in (0.01, 0.05) if changed else (0.0, 0.01, 0.05):
            out = first.parent / f"{name} {may_miss}"
            cpu, became = crawl(out, server.port, refresh=str(first), may_miss=may_miss)
            after = server.counted()
            assert became is not None
            sampled = became["sampled"] or {"left_out": 0, "at_most": 0.0}
            missed = len(changed) - became["changed"]
            print(
                f"{name}, --may-miss {may_miss}: {after['requests'] / before['requests']:.1%} of "
                f"the requests, {after['bytes'] / before['bytes']:.1%} of the bytes, "
                f"{became['changed']} of {len(changed)} changes found, {missed} missed; "
                f"told: {sampled['left_out']} left out, at most {sampled['at_most']:.2%} changed; "
                f"{cpu:.1f} s of CPU",
                flush=True,
            )
            shutil.rmtree(out)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=10_000)
    options.add_argument("--samples", action="store_true")
    options.add_argument("--unchanged", action="store_true")
    options.add_argument("--passes", action="store_true")
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    pages = given.pages
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(pages, there), daemon=True)
    process.start()
    server = Server(*here.recv())
    with tempfile.TemporaryDirectory() as folder:
        rounds: list[tuple[str, dict[str, Any]]] = [
            ("listed.example", {}),
            ("dated.example", {}),
            ("dated.example", {"hints": False}),
        ]
        if given.unchanged:
            unchanged(pages, server, Path(folder), given.runs)
            rounds = []
        if given.samples:
            samples(pages, server, Path(folder))
            rounds = []
        if given.passes:
            passes(server, Path(folder))
            rounds = []
        for host, more in rounds:
            first = Path(folder, host, "first")
            first.parent.mkdir(exist_ok=True)
            if not first.exists():
                server.counted()
                told: dict[str, Any] = {
                    "topic": "kiln",
                    "pages": pages,
                    "policy": "breadth-first",
                    "traps": True,
                }
                cpu, _ = crawl(first, server.port, **told)
                before = server.counted()
                print(f"{host}: first pass {before}, {cpu:.1f} s of CPU", flush=True)
            out = first.parent / f"again{len(more)}"
            cpu, became = crawl(out, server.port, refresh=str(first), **more)
            after = server.counted()
            each = 1000 * cpu / max(1, after["not modified"])
            print(
                f"{host} {more or ''}: {after}, {cpu:.1f} s of CPU, {each:.2f} ms for each "
                f"304; {after['requests'] / before['requests']:.1%} of the requests, "
                f"{after['bytes'] / before['bytes']:.2%} of the bytes; {became}",
                flush=True,
            )
    process.terminate()


if __name__ == "__main__":
    main()
