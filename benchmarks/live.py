"""CPU a page of a live crawl: Spoor beside a bare Scrapy spider and Crawlee's HTTP crawler.

    .venv/bin/python benchmarks/live.py FOLDER [--start en/index.html] [--runs 3] [--peers]

serves FOLDER (Debian's `cppreference-doc-en-html`, say: `/usr/share/…/doc/html`) by nginx on
loopback, pinned to one core, and crawls everything that can be reached from `--start` on the same
host, the crawler pinned to another core: links only for the peers (selectolax), the whole pipeline
(text, judge, scores) for Spoor, in memory, with the judge `keywords` and no guard against traps.
`guarded` is a crawl in memory too, with the default judge of a topic and the guard, as the command
has them, and `durable` adds state, journal and WARC files on the disk to that: what being durable
costs is `durable` beside `guarded`. No page is rendered: a Chromium, where a machine has one, would
be a part of the figures. `of_its_processes` is what the helpers took beside. All have one heap for
all threads, as the command has. `--judges` adds a crawl with the default judge in memory without
the guard, and a durable one with `keywords`. Each crawl runs in a process of its own, start-up left
out, in turn, so often as `--runs` says; medians. `--peers` makes an environment for Crawlee in
`build/peers` first (it wants other versions than we do); without it Crawlee is left out. `--alone`
leaves out both peers. Prints one JSON object.

`--size 250000` crawls 400 pages of that many bytes instead, each made of FOLDER's one after the
other, with as many links as these have, each to one of the 400.

`--profile docs/cpu.md` writes where the CPU of a page goes instead, by stage (`stages.py`): of the
last policy named, in memory, guarded, durable, and in a replay of `--web FOLDER`, a recorded web;
and beside it, as `cpu.svg`, a flame graph of one more durable crawl (`flame.py`).

Goals: Spoor ≤ 0.55 × Scrapy, ≤ 1.15 × Crawlee, ≥ 250 pages/s, ≤ 150 MB; durable ≤ 3.5 ms a page
and ≤ 1.1 × `guarded`; ≤ 12 ms for a page of 250,000 bytes, durable.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import bare_crawlers  # noqa: E402

SIZED = 400
"""Pages of one size."""
NGINX = """
worker_processes 1;
pid nginx.pid;
error_log error.log;
daemon off;
events {{ worker_connections 512; }}
http {{
  types {{ text/html html htm; text/css css; application/javascript js; image/png png; }}
  default_type application/octet-stream;
  access_log off;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
  uwsgi_temp_path t4; scgi_temp_path t5;
  keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""

MEASURE = """
import json, resource, sys, time
def measure(work):
    wall, cpu = time.perf_counter(), time.process_time()
    pages = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if "spoor.isolate.helper_pool" in sys.modules:
        sys.modules["spoor.isolate.helper_pool"].close()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    urls = sorted(set(pages))
    print("RESULT " + json.dumps({"pages": len(urls), "wall": wall, "cpu": cpu, "mb": peak,
        "children": ended.ru_utime + ended.ru_stime,
        "set": __import__("hashlib").sha256("\\n".join(urls).encode()).hexdigest()[:12]}))
"""

BY_STAGE = f"""
import sys
sys.path.insert(0, {str(ROOT / "benchmarks")!r})
from stages import Stages
_measure = measure
def measure(work):
    stages = Stages()
    def watched():
        pages = work()
        print("STAGES " + json.dumps(stages.end()))
        return pages
    _measure(watched)
"""

IN_FLAMES = f"""
import sys
sys.path.insert(0, {str(ROOT / "benchmarks")!r})
from flame import Flame, drawn
_measure = measure
def measure(work):
    def watched():
        flame = Flame()
        pages = work()
        print("FLAME " + json.dumps(drawn(flame.end(), len(pages))))
        return pages
    _measure(watched)
"""

SPOOR = """
import asyncio, sys
import numpy as np
from spoor import registry
from spoor.crawl import Crawl
from spoor.link_filter.scope import Scope
from spoor.process_memory import share_heap
from spoor.live.driver import HttpDriver
from spoor.settings import Settings
from spoor.judges.keywords import Keywords
from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.frontier.memory import MemoryFrontier
from spoor.types import Fetched, Outcome, Task, Topic
start, policy, judge = sys.argv[1:]
share_heap()
def work():
    task = Task(np.random.default_rng(0), Topic(name="iterator"))
    judges = {"keywords": lambda: Keywords(["iterator"]),
        "default": lambda: Relevance(parse("iterator"))}
    crawl = Crawl(registry.build("policies", policy, task), judges[judge](),
        MemoryFrontier(), admit=Scope.of([start], "host"))
    crawl.seed([start])
    pages = []
    def step(fetch, outcome):
        if isinstance(outcome, Outcome) and isinstance(outcome.reply, Fetched):
            pages.append(outcome.reply.page.url)
    settings = Settings(per_host=100, allow_private=("127.0.0.1",))
    asyncio.run(HttpDriver(crawl, settings, on_step=step).run())
    return pages
measure(work)
"""

AS_THE_COMMAND = """
settings = Settings(seeds=(start,), topic="iterator", policy=policy, pages=10**6, scope="host",
    delay=0.0, per_host=16, in_flight=16, allow_private=("127.0.0.1",), render="never",
    want=("text:iterator",) if judge == "keywords" else ())
"""

GUARDED = f"""
import asyncio, sys
from spoor.process_memory import share_heap
from spoor.live.driver import HttpDriver
from spoor.runs.assemble import make_crawl
from spoor.settings import Settings
from spoor.types import Fetched, Outcome
start, policy, judge = sys.argv[1:]
share_heap()
{AS_THE_COMMAND}
def work():
    crawl = make_crawl(settings)
    crawl.seed([start])
    pages = []
    def step(fetch, outcome):
        if isinstance(outcome, Outcome) and isinstance(outcome.reply, Fetched):
            pages.append(outcome.reply.page.url)
    asyncio.run(HttpDriver(crawl, settings, on_step=step).run())
    return pages
measure(work)
"""

DURABLY = """
import tempfile
from pathlib import Path
from spoor.process_memory import share_heap
from spoor.runs.writer import RunWriter
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.types import Fetched, Outcome
share_heap()
place = tempfile.TemporaryDirectory()
folder = RunWriter(Path(place.name) / "run", settings)
run = LiveCrawl(folder, make_crawl(settings))
def work():
    pages = []
    def step(fetch, outcome):
        if isinstance(outcome, Outcome) and isinstance(outcome.reply, Fetched):
            pages.append(outcome.reply.page.url)
    run.on_step = step
    run.run()
    return pages
measure(work)
folder.close()
"""
"""A durable crawl with the `settings` that stand before it."""

DURABLE = f"""
import sys
from spoor.settings import Settings
start, policy, judge = sys.argv[1:]
{AS_THE_COMMAND}
{DURABLY}
"""

REPLAY = """
import sys
from pathlib import Path
import numpy as np
from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.process_memory import few_collections
from spoor.judges.keywords import Keywords
from spoor.simulation.replay import Replay
from spoor.types import Task, Topic
from spoor.worlds.recorded import RecordedWorld
world, policy = RecordedWorld(Path(sys.argv[1])), sys.argv[2]
def work():
    task = Task(np.random.default_rng(0), Topic(name="iterator"))
    crawl = Crawl(registry.build("policies", policy, task), Keywords(["iterator"]),
        MemoryFrontier())
    crawl.seed(world.roots())
    with few_collections():
        return [outcome.page.url for outcome in Replay(crawl, world) if outcome.page]
measure(work)
"""

PROFILE = """# Where the CPU of a page goes

Milliseconds of CPU a page with `{policy}`, by the stage of the program in which its threads were:
waiting does not count, and a stage inside another one counts for itself. Written by
`benchmarks/live.py FOLDER --profile docs/cpu.md --web WEB`; what the watch takes is taken out
(`benchmarks/stages.py` says which functions are a stage). The live crawls are of Debian's
`cppreference-doc-en-html`, with nginx on another core: in memory with the judge `keywords`;
guarded, in memory with the default judge and the guard against traps; and durable, the same with
state, journal and archive, so that its difference to the one before is what being durable costs.
The replay is of the same site, recorded, with the judge `keywords`. The load of the machine was
{load:.1f} on {cores} cores when it began; one that is busy with other programs shows more
milliseconds, and about the same shares. For other machines: five million multiplications in a loop
of Python take {loop:.2f} s of this one.

{table}

`text` is the walk over the tree that lexbor made (`parse`); `links` is its part for the targets,
places and words of links. `request` and `receive` are aiohttp's work for us, `driver` the tasks of
ours, and `loop` what is left: the event loop, its sockets and timers (in a replay, the loop of its
driver). `judge anew` is the feedback of the default judge and the verdicts that it changes; what
the policy relearns by them is in `learn`.

Memory is that of the process, with what the watch takes: some 10 MB. The durable crawl has its
frontier on disk from 1,000 open links on, which is why its `frontier` costs more.

What is kept in memory for each page, link and failure, in bytes, beyond tables of a fixed size
(`benchmarks/memory.py`: a web that is made up, everything in memory). Its pages have 300 words,
some of them new, and 30 links; a page costs that while bounded tables fill, and ten bytes once all
links and words are known (`benchmarks/long.py`):

{memory}

With the frontier on disk (`--disk`), as far as Python sees it:

{disk}

The same durable crawl as a flame graph (`benchmarks/flame.py`): each function is as wide as the CPU
in which it or what it called ran, and stands below the one that called it. The picture alone shows
names and milliseconds under the pointer.

[![Flame graph of a durable crawl](cpu.svg)](cpu.svg)
"""


@contextmanager
def nginx(folder: str, core: int) -> Iterator[int]:
    """Serve a folder; yields the port. Ends the process that it began."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "nginx.conf").write_text(NGINX.format(port=port, folder=folder))
        command = ["taskset", "-c", str(core), "nginx", "-p", place, "-c", "nginx.conf"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
            server.wait(10)


@contextmanager
def of_size(folder: str, size: int) -> Iterator[str]:
    """A folder of pages of `size` bytes each, made of those of another; the first is `0.html`."""
    # Read one by one: a crawl's most memory is at least that of the process that began it.
    paths = itertools.cycle(sorted(Path(folder).rglob("*.html")))
    rng = random.Random(0)

    def link(found: re.Match[bytes]) -> bytes:
        return b'href="%d.html"' % rng.randrange(SIZED)

    with tempfile.TemporaryDirectory() as place:
        for number in range(SIZED):
            page = b'<!doctype html><meta charset="utf-8"><title>Page %d</title>' % number
            page += b'<a href="%d.html">next</a>' % ((number + 1) % SIZED)
            while len(page) < size:
                body = next(paths).read_bytes().partition(b"<body")[2].partition(b">")[2]
                page += re.sub(rb'href="[^"]*"', link, body.partition(b"</body")[0])
            (Path(place) / f"{number}.html").write_bytes(page[:size].rpartition(b"<")[0])
        Path(place).chmod(0o755)
        yield place


def run(python: Path | str, code: str, arguments: list[str], core: int) -> dict[str, Any]:
    """One crawl in a process of its own."""
    command = ["taskset", "-c", str(core), str(python), "-c", MEASURE + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    result: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("STAGES "):
            stages, whole = json.loads(line.removeprefix("STAGES "))
            result |= {"stages": stages, "whole": whole}
        if line.startswith("FLAME "):
            result["flame"] = json.loads(line.removeprefix("FLAME "))
        if line.startswith("RESULT "):
            result |= json.loads(line.removeprefix("RESULT "))
            return result
    raise SystemExit(f"{arguments}: no result\n{done.stderr[-2000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--start", default="en/index.html")
    parser.add_argument("--size", type=int, help="bytes of a page, of pages made for it")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--policies", nargs="+", default=["best-first", "trail"])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--judges", action="store_true", help="each way with either judge")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--web", type=Path, help="a recorded web, for the profile of a replay")
    told = parser.parse_args()
    if shutil.which("nginx") is None:
        raise SystemExit("this benchmark needs nginx (Debian: nginx-light)")
    if told.peers:
        bare_crawlers.install_crawlee()
    cores, policy = sorted(os.sched_getaffinity(0)), told.policies[-1]
    load = os.getloadavg()[0]
    contenders: dict[str, tuple[Path | str, str, list[str]]] = {}
    for name in told.policies:
        contenders[f"spoor {name}"] = (sys.executable, SPOOR, [name, "keywords"])
        contenders[f"spoor {name} guarded"] = (sys.executable, GUARDED, [name, "default"])
        contenders[f"spoor {name} durable"] = (sys.executable, DURABLE, [name, "default"])
    if told.judges:
        for name in told.policies:
            judged = (sys.executable, SPOOR, [name, "default"])
            contenders[f"spoor {name}, default judge"] = judged
            plain = (sys.executable, DURABLE, [name, "keywords"])
            contenders[f"spoor {name} durable, keywords"] = plain
    if not told.alone:
        contenders["scrapy + selectolax"] = (sys.executable, bare_crawlers.scrapy(), [])
    if not told.alone and (bare_crawlers.CRAWLEE_PYTHON).exists():
        contenders["crawlee + selectolax"] = (
            bare_crawlers.CRAWLEE_PYTHON,
            bare_crawlers.crawlee(),
            [],
        )
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    with ExitStack() as until:
        folder = told.folder
        if told.size:
            folder, told.start = until.enter_context(of_size(folder, told.size)), "0.html"
        port = until.enter_context(nginx(folder, cores[-1]))
        start = f"http://127.0.0.1:{port}/{told.start}"
        if told.profile is not None:
            columns = {
                "in memory": run(
                    sys.executable, BY_STAGE + SPOOR, [start, policy, "keywords"], cores[0]
                ),
                "guarded": run(
                    sys.executable, BY_STAGE + GUARDED, [start, policy, "default"], cores[0]
                ),
                "durable": run(
                    sys.executable, BY_STAGE + DURABLE, [start, policy, "default"], cores[0]
                ),
            }
            if told.web is not None:
                web = [str(told.web), policy]
                columns["replay"] = run(sys.executable, BY_STAGE + REPLAY, web, cores[0])
            told.profile.write_text(
                PROFILE.format(
                    policy=policy,
                    table=table(columns),
                    memory=memory(policy),
                    disk=memory(policy, "--disk"),
                    load=load,
                    cores=os.cpu_count(),
                    loop=loop_seconds(),
                )
            )
            seen = run(sys.executable, IN_FLAMES + DURABLE, [start, policy, "default"], cores[0])
            told.profile.with_suffix(".svg").write_text(seen["flame"])
            return
        for _ in range(told.runs):
            for name, (python, code, arguments) in contenders.items():
                results[name].append(run(python, code, [start, *arguments], cores[0]))
    print(json.dumps({name: summary(rows) for name, rows in results.items()}, indent=1))


def memory(policy: str, *more: str) -> str:
    """The table of `memory.py`, which measures in a process of its own."""
    command = [sys.executable, str(ROOT / "benchmarks" / "memory.py"), "--policy", policy, *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def loop_seconds() -> float:
    """CPU seconds of five million multiplications in a loop, the least of three runs."""
    took = []
    for _ in range(3):
        began = time.process_time()
        for number in range(5_000_000):
            number * number
        took.append(time.process_time() - began)
    return min(took)


def table(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Milliseconds a page by stage, a column for each crawl: of each its `stages` in seconds, its
    `pages`, `whole` and `mb`."""
    lines = [
        " | ".join(["| stage", *columns, ""]).rstrip(),
        "| --- |" + " --: |" * len(columns),
    ]

    def line(name: str, cells: Iterable[str]) -> None:
        lines.append(" | ".join([f"| {name}", *cells, ""]).rstrip())

    for stage in dict.fromkeys(stage for one in columns.values() for stage in one["stages"]):
        cells = [1000 * one["stages"].get(stage, 0.0) / one["pages"] for one in columns.values()]
        if any(cells):
            line(stage, [f"{cell:.2f}" if cell >= 0.005 else "" for cell in cells])
    every = columns.values()
    sums = [1000 * sum(one["stages"].values()) / one["pages"] for one in every]
    line("**sum**", [f"**{cell:.2f}**" for cell in sums])
    line("the process", [f"{1000 * one['whole'] / one['pages']:.2f}" for one in every])
    line("pages", [f"{one['pages']:,}" for one in every])
    line("memory at most, MB", [f"{one['mb']:.0f}" for one in every])
    return "\n".join(lines)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of several runs."""
    return {
        "pages": rows[0]["pages"],
        "set": sorted({row["set"] for row in rows}),
        "cpu_ms_a_page": statistics.median(1000 * row["cpu"] / row["pages"] for row in rows),
        "of_its_processes": statistics.median(
            1000 * row["children"] / row["pages"] for row in rows
        ),
        "pages_a_second": statistics.median(row["pages"] / row["wall"] for row in rows),
        "peak_mb": statistics.median(row["mb"] for row in rows),
    }


if __name__ == "__main__":
    main()
