"""What `--render auto` finds of what `--render always` finds, and with how many of its renders.

    PYTHONPATH=tests .venv/bin/python benchmarks/render.py [--sites 200] [--modes never auto always]
        [--real FOLDER …] [--npm FOLDER] [--out FOLDER]

Serves so many sites of twelve kinds on loopback (`tests/render_sites.py`; Vue, React, Preact and
Docsify by `npm pack`, HTML of the folders of `--real`), crawls them as `spoor crawl` does, once
in each mode. Prints a table and, of auto, the renders of each kind of site. Goals: auto finds 95 %
of the targets of always with 10 % of its renders, and renders at most 3 pages of a host on which
none pays. Needs a Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

import render_sites
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.reader import Run
from spoor.runs.renders import all_renders
from spoor.runs.rows import RenderRow
from spoor.runs.writer import RunWriter
from spoor.settings import Settings


@dataclass
class Result:
    """Of one crawl."""

    targets: set[str]
    pages: int
    renders: list[RenderRow]
    seconds: float
    cpu: float
    """Of this process, without the browser's."""
    by_host: Counter[str] = field(default_factory=Counter)


@contextmanager
def serving(sites: Mapping[str, render_sites.Site]) -> Iterator[int]:
    """The port at which all sites are served."""

    async def answer(request: web.BaseRequest) -> web.Response:
        site = sites.get(request.host, {})
        media, body = site.get(request.path, ("text/plain", b""))
        status = 200 if request.path in site else 404
        return web.Response(body=body, status=status, headers={"Content-Type": media})

    started, over = threading.Event(), asyncio.Event()
    loop, ports = asyncio.new_event_loop(), []

    async def work() -> None:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        place = web.TCPSite(runner, "127.0.0.1", 0)
        await place.start()
        ports.append(runner.addresses[0][1])
        started.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()), daemon=True)
    thread.start()
    started.wait()
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def crawl(out: Path, sites: Mapping[str, render_sites.Site], port: int, mode: str) -> Result:
    """One crawl of all sites, in breadth-first order."""
    settings = Settings.of(
        {
            "seeds": [f"http://{host}/" for host in sites],
            "want": [f"match:{render_sites.WORD}"],
            "policy": "breadth-first",
            "scope": "host",
            "connect_to": f"127.0.0.1:{port}",
            "delay": 0.0,
            "pages": 100_000,
            "render": mode,
        }
    )
    began, cpu = time.monotonic(), time.process_time()
    with closing(RunWriter(out, settings)) as folder:
        LiveCrawl(folder, make_crawl(settings)).run()
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    pages = list(Run(out).pages())
    renders = all_renders(out)
    targets = {page.url for page in pages if page.relevant}
    result = Result(targets, len(pages), renders, seconds, cpu)
    result.by_host.update(row.host for row in renders)
    return result


def idle_hosts(result: Result) -> dict[str, int]:
    """Host → renders, where none paid."""
    paid = {row.host for row in result.renders if row.gain >= 0.5}
    return {host: count for host, count in result.by_host.items() if host not in paid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--modes", nargs="+", default=["never", "auto", "always"])
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    cache = Path(os.environ.get("BENCH_CACHE", "build"))
    parser.add_argument("--npm", type=Path, default=cache / "npm")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    counts = {
        kind: max(1, round(count * asked.sites / 200))
        for kind, count in render_sites.COUNTS.items()
    }
    if not asked.real:
        counts["analytics"] += counts.pop("real")
    sites = render_sites.sites(counts, render_sites.frameworks(asked.npm), asked.real)
    results: dict[str, Result] = {}
    with tempfile.TemporaryDirectory() as folder, serving(sites) as port:
        for mode in asked.modes:
            out = (asked.out or Path(folder)) / mode
            one = results[mode] = crawl(out, sites, port, mode)
            print(
                f"{mode:7} {len(sites)} sites, {one.pages} pages, {len(one.targets)} targets, "
                f"{len(one.renders)} renders, {one.seconds:.0f} s, {one.cpu:.0f} s of CPU",
                flush=True,
            )
    if "auto" in results:
        auto = results["auto"]
        kinds = Counter(row.host.partition("-")[0] for row in auto.renders)
        print("renders of auto by kind:", dict(kinds.most_common()))
        print("most on a host where none paid:", max(idle_hosts(auto).values(), default=0))
    if {"auto", "always"} <= set(results):
        always = results["always"]
        found = len(auto.targets & always.targets) / len(always.targets)
        print(
            f"auto finds {found:.1%} of the targets of always, "
            f"with {len(auto.renders) / len(always.renders):.1%} of its renders"
        )


if __name__ == "__main__":
    main()
