"""What a live crawl survives: `kill -9`, cuts of its files, signals; and what that costs.

    .venv/bin/python benchmarks/kill.py kills [--pages 2000] [--times 50]
    .venv/bin/python benchmarks/kill.py points [--times 5]
    .venv/bin/python benchmarks/kill.py cuts [--times 200]
    .venv/bin/python benchmarks/kill.py signals [--times 5]
    .venv/bin/python benchmarks/kill.py cost [--pages 1500] [--times 3]
    .venv/bin/python benchmarks/kill.py peers [--pages 600] [--times 6]

Each serves a generated web on loopback and prints one JSON object. With `--frontier disk` the links
of the runs lie in a file.

`kills`: one crawl by `spoor crawl`, killed at random moments and gone on with each time.
`points`: a process that kills itself at each named step of opening, of a finish, of a checkpoint.
`cuts`: one file of a killed run, cut at a random place.
`signals`: SIGINT once, SIGTERM, SIGINT twice, and how long the process takes to end; what is
refused: a second process on a run that is held, other settings, older and newer formats.
`cost`: CPU a page of the same crawl in memory, and durable with its WARC file, in turn, each in a
process of its own, medians.
`peers`: one site, crawled by Spoor, by Scrapy with a JOBDIR and by Crawlee with its file storage;
each killed once at the same parts of the way, begun again with the same command and left to its
end. Lost is what the server was never asked for. Crawlee gets an environment in `build/peers`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spoor.crawl import Crawl
from spoor.frontier.sqlite import POINTS as FRONTIER_POINTS
from spoor.runs.database import reading
from spoor.runs.writer import POINTS

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT), str(TESTS)]

from benchmarks import bare_crawlers  # noqa: E402

from kills import (  # noqa: E402
    CountedWeb,
    after_cut,
    check_run,
    cut,
    digest,
    open_run,
    served,
)

IN_FLIGHT = 16
UNMEASURED = "def measure(work): work()\n"
FLAGS = ("--per-host", "8", "--in-flight", str(IN_FLIGHT))

COST = (
    f"import sys; sys.path.insert(0, {str(TESTS)!r})"
    + """
import asyncio, json, resource, sys, time
from pathlib import Path
from spoor.live.driver import HttpDriver
from kills import open_run
kind, out, root, port, pages, policy, frontier = sys.argv[1:]
run = open_run(Path(out), root, int(port), policy=policy, pages=int(pages), per_host=8,
    frontier=frontier if kind == "durable" else "memory")
wall, cpu = time.perf_counter(), time.process_time()
if kind == "durable":
    run.run()
else:
    asyncio.run(HttpDriver(run.crawl, run.http).run())
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
got = run.crawl.counts.pages
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({
    "pages": got, "cpu_ms_a_page": 1000 * cpu / got, "pages_a_second": got / wall,
    "peak_mb": peak}))
run.folder.close()
"""
)


def finish(web: CountedWeb, path: Path, **settings: Any) -> set[str]:
    """Go on to the end, in this process; the pages of the run."""
    run = open_run(path, web.root, web.port, **settings)
    try:
        run.run()
    finally:
        run.folder.close()
    return check_run(path)


def begin(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until(process: subprocess.Popen[bytes], holds: Callable[[], bool]) -> bool:
    """Whether it came to hold before the process ended."""
    while not holds():
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    return True


def kills(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    with served(pages, hosts=8, latency=0.005) as web:
        whole = finish(web, folder / "whole", per_host=8, frontier=frontier)
        web.asked.clear()
        command, done, lost = web.command(folder / "run", *FLAGS, "--frontier", frontier), 0, 0
        for _ in range(times):
            before = sum(web.asked.values())
            # A moment of the crawl: after so many more requests, and a part of one.
            more, part = int(rng.integers(1, max(2, 2 * len(whole) // times))), 0.02 * rng.random()
            process = begin(command)
            if until(process, lambda: sum(web.asked.values()) >= before + more):  # noqa: B023
                time.sleep(part)
                done += process.poll() is None
            process.kill()
            _, said = process.communicate()
            if process.returncode != -signal.SIGKILL:
                print(said.decode(), file=sys.stderr)
        got = finish(web, folder / "run", per_host=8, frontier=frontier)
        lost = len(whole - got)
        with reading(folder / "run") as db:
            failed = db.execute("SELECT kind, count(*) FROM failures GROUP BY kind").fetchall()
    return {
        "pages": len(whole),
        "kills": done,
        "lost": lost,
        "judged twice": 0,  # or check_run had raised
        "refetched": web.again,
        "allowed": IN_FLIGHT * times,
        "same set": got == whole,
        "failures": dict(map(tuple, failed)),
    }


def points(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    with served(pages, latency=0.002) as web:
        whole = finish(web, folder / "whole")
        for point in (*POINTS, *(FRONTIER_POINTS if frontier == "disk" else ())):
            rows[point] = Counter[str]()
            for number in range(times):
                path = folder / f"{point}-{number}"
                rows[point] += Counter(_point(web, whole, path, point, number, frontier))
    return rows


def _point(
    web: CountedWeb, whole: set[str], path: Path, point: str, number: int, frontier: str
) -> dict[str, int]:
    settle = ["trail", frontier]
    worker = [sys.executable, str(TESTS / "kills.py"), str(path), web.root, str(web.port)]
    opening = point in POINTS[: POINTS.index("exchange recorded")] and point != "created"
    if opening:
        subprocess.run([*worker, "sending", str(3 + 5 * number), *settle], check=False)
    often = 1 if opening or point in ("created", "log emptied") else 2 + 3 * number
    if point.startswith(("state ", "links ", "frontier ")) and not opening:
        often = 1 + number % 2  # at the beginning, at the end
    process = subprocess.run([*worker, point, str(often), *settle], check=False)
    seen = []

    def at(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            seen.append(digest(crawl))

    got = finish(web, path, at=at, frontier=frontier)
    commit = path.with_suffix(".commit")
    equal = not seen or seen[0] == Path(commit).read_text()
    return {
        "killed": process.returncode == -signal.SIGKILL,
        "lost": len(whole - got),
        "state bit-equal": equal,
        "all there once": got == whole,
    }


def cuts(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    results: Counter[str] = Counter()
    wrong = []
    with served(pages) as web:
        whole = finish(web, folder / "whole", policy="breadth-first", frontier=frontier)
        runs = []
        for number in range(4):
            runs.append(folder / f"killed{number}")
            worker = [sys.executable, str(TESTS / "kills.py"), str(runs[-1])]
            more = ["committed", str(6 + 5 * number), "breadth-first", frontier]
            subprocess.run([*worker, web.root, str(web.port), *more], check=False)
        for number in range(times):
            path = folder / "cut"
            shutil.copytree(runs[number % len(runs)], path)
            done = cut(path, rng)
            file = done.split()[0]
            try:
                result = after_cut(path, web, whole, policy="breadth-first", frontier=frontier)
            except Exception as error:
                result = "silently wrong"
                wrong.append(f"{done}: {type(error).__name__}: {error}")
            results[f"{file} {result}"] += 1
            shutil.rmtree(path)
    return {**dict(sorted(results.items())), "wrong": wrong}


def signals(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {}
    cpu: list[float] = []
    again: Counter[str] = Counter()
    with served(pages, hosts=8, latency=0.02) as web:
        for name, sent in (
            ("SIGINT", [signal.SIGINT]),
            ("SIGTERM", [signal.SIGTERM]),
            ("SIGINT twice", [signal.SIGINT] * 2),
        ):
            for number in range(times):
                path = folder / f"{name}-{number}"
                web.asked.clear()
                process = begin(web.command(path, *FLAGS))
                until(process, lambda: sum(web.asked.values()) > 100)
                if len(sent) > 1:
                    web.going.clear()  # nothing comes in any more
                process.send_signal(sent[0])
                if len(sent) > 1:
                    time.sleep(0.5)
                    process.send_signal(sent[1])
                began = time.monotonic()
                process.wait()
                seconds.setdefault(name, []).append(time.monotonic() - began)
                web.going.set()
                finish(web, path)
                again[name] += web.again
        path = folder / "held"
        run = open_run(path, web.root, web.port, per_host=8)
        refused = {"a second process": (), "another policy": ("--policy", "random")}
        toml = path / "spoor.toml"
        for name, more in [*refused.items(), ("an older format", ()), ("a newer format", ())]:
            if name == "another policy":
                run.folder.close()
            if name.endswith("format"):
                other = "0" if name == "an older format" else "2"
                toml.write_text(re.sub(r"(?m)^format = \d+", f"format = {other}", toml.read_text()))
            for _ in range(times):
                began = time.monotonic()
                _, code, used = os.wait4(begin(web.command(path, *FLAGS, *more)).pid, 0)
                assert os.waitstatus_to_exitcode(code) == 2, code
                seconds.setdefault(f"refusal: {name}", []).append(time.monotonic() - began)
                cpu.append(used.ru_utime + used.ru_stime)
    worst = {name: round(max(values), 2) for name, values in seconds.items()}
    return {
        "worst seconds to end": worst,
        "CPU seconds of a refusal": round(statistics.median(cpu), 2),
        "refetched": dict(again),
    }


def cost(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    results: dict[str, list[dict[str, float]]] = {}
    with served(pages, hosts=8) as web:
        for number in range(times):
            for policy in ("best-first", "trail"):
                for kind in ("memory", "durable"):
                    out = folder / f"{policy}-{kind}-{number}"
                    arguments = [kind, str(out), web.root, str(web.port), str(pages), policy]
                    arguments.append(frontier)
                    done = subprocess.run(
                        [sys.executable, "-c", COST, *arguments],
                        capture_output=True,
                        check=True,
                        text=True,
                    )
                    row = json.loads(done.stdout)
                    results.setdefault(f"{policy} {kind}", []).append(row)
    medians: dict[str, Any] = {
        name: {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
        for name, rows in results.items()
    }
    for policy in ("best-first", "trail"):
        ratio = (
            medians[f"{policy} durable"]["cpu_ms_a_page"]
            / medians[f"{policy} memory"]["cpu_ms_a_page"]
        )
        medians[f"{policy}: durable / memory"] = round(ratio, 3)
    return medians


def peers(folder: Path, pages: int, times: int, frontier: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    parts = [float(rng.uniform(0.05, 0.8)) for _ in range(times)]
    bare_crawlers.install_crawlee()
    results: dict[str, Any] = {}
    with served(pages, latency=0.005, plain=True) as web:
        politeness = ("--delay", "0", "--per-host", str(IN_FLIGHT), "--in-flight", str(IN_FLIGHT))
        ours = (sys.executable, "-m", "spoor", "crawl", web.root, "--topic", "pottery, kiln, glaze")
        bounds = ("--scope", "host", "--pages", "100000", "--traps", "--allow-private", "127.0.0.1")
        contenders: dict[str, Callable[[Path], list[str]]] = {
            "spoor": lambda out: [*ours, *bounds, *politeness, "--out", str(out)],
            "scrapy JOBDIR": lambda out: [
                *(sys.executable, "-c"),
                UNMEASURED + bare_crawlers.scrapy(robots=False, folder=str(out)),
                web.root,
            ],
            "crawlee files": lambda out: [
                *(str(bare_crawlers.CRAWLEE_PYTHON), "-c"),
                UNMEASURED + bare_crawlers.crawlee(folder=str(out)),
                web.root,
            ],
        }
        for name, command in contenders.items():
            web.asked.clear()
            process = begin(command(folder / f"{name}-whole"))
            until(process, lambda: bool(web.asked))  # start-up left out
            began = time.monotonic()
            _, said = process.communicate()
            whole, seconds = set(web.asked), time.monotonic() - began
            assert len(whole) > 0.9 * pages, said.decode()
            lost, again, codes = [], [], set()
            for number, part in enumerate(parts):
                out = folder / f"{name}-{number}"
                web.asked.clear()
                process = begin(command(out))
                until(process, lambda: len(web.asked) > part * len(whole))  # noqa: B023
                process.kill()
                process.communicate()
                process = begin(command(out))
                process.communicate()
                codes.add(process.returncode)
                lost.append(len(whole - set(web.asked)))
                again.append(web.again)
            results[name] = {
                "pages": len(whole),
                "pages_a_second": round(len(whole) / seconds, 1),
                "pages lost by kill": lost,
                "refetched by kill": again,
                "exit codes": sorted(codes),
            }
    return {"killed at": [round(part, 2) for part in parts], **results}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    known: dict[str, tuple[Callable[[Path, int, int, str], dict[str, Any]], int, int]] = {
        "kills": (kills, 2000, 50),
        "points": (points, 60, 5),
        "cuts": (cuts, 60, 200),
        "signals": (signals, 400, 5),
        "cost": (cost, 1500, 3),
        "peers": (peers, 600, 6),
    }
    parser.add_argument("what", choices=known)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--times", type=int)
    parser.add_argument("--frontier", choices=("memory", "disk"), default="memory")
    told = parser.parse_args()
    work, pages, times = known[told.what]
    with tempfile.TemporaryDirectory() as place:
        began, load = time.monotonic(), os.getloadavg()[0]
        result = work(Path(place), told.pages or pages, told.times or times, told.frontier)
    took = {"seconds": round(time.monotonic() - began), "load": round(load, 1)}
    print(json.dumps({told.what: result, **took}, indent=1))


if __name__ == "__main__":
    main()
