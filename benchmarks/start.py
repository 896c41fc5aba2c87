"""How soon a crawl sends its first request, and how soon one that was killed goes on.

    .venv/bin/python benchmarks/start.py [--runs 7]
    .venv/bin/python benchmarks/start.py --resume 100000

Of `spoor crawl` with a topic: seconds from the command to the first request (robots.txt) of a
server on loopback, and the CPU that the process took until then, the start of Python included; the
least and the median. Bytecode is cached, as after an installation, whatever
PYTHONDONTWRITEBYTECODE says. Goal: 0.6 s.

`--resume` crawls a generated web of so many pages as `benchmarks/long.py` does, and kills the
process (SIGKILL) near its end, as long after the last checkpoint as it can. Then the run is opened
twice, by new processes: with the journal since that checkpoint, and with a checkpoint made since.
Goal: 3 s for 100,000 pages.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from kills import open_run, served_apart  # noqa: E402
from spoor.live.live_crawl import LiveCrawl  # noqa: E402
from spoor.types import Deferred, Fetch, Outcome  # noqa: E402

PART = 0.93
"""Part of the pages after which it may be."""


def first_request() -> tuple[float, float]:
    """Seconds until the first request, and of CPU until then."""
    process: list[subprocess.Popen[bytes]] = []
    seen: list[tuple[float, float]] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            now = time.perf_counter()
            told = Path(f"/proc/{process[0].pid}/stat").read_text().rpartition(")")[2].split()
            seen.append((now, (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")))
            self.send_error(404)
            process[0].kill()

        def log_message(self, *values: object) -> None:
            pass

    with (
        tempfile.TemporaryDirectory() as place,
        ThreadingHTTPServer(("127.0.0.1", 0), Server) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [
            sys.executable,
            "-m",
            "spoor",
            "crawl",
            f"http://127.0.0.1:{server.server_port}/",
        ]
        command += ["--topic", "pottery kiln", "--allow-private", "127.0.0.1"]
        command += ["--out", f"{place}/run"]
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        process.append(subprocess.Popen(command, env=variables, stdout=-3, stderr=-3))
        process[0].wait()
        server.shutdown()
    now, cpu = seen[0]
    return now - began, cpu


def opened(out: Path, root: str, port: int) -> LiveCrawl:
    """The run, opened as `spoor crawl` does."""
    return open_run(out, root, port, pages=10**7, per_host=16, in_flight=16, max_time=7200.0)


def crawl_and_die(out: Path, root: str, port: int, pages: int) -> None:
    """Crawl, and kill this process."""
    run = opened(out, root, port)
    last = [0.0, 0.0]
    most = list[float]()
    """Estimated replay just before each checkpoint, CPU seconds."""

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        had, since = run.crawl.counts.pages, time.monotonic() - run._checkpoints.saved
        replay = run._checkpoints.replay(time.process_time())
        if since < last[0]:  # a checkpoint was made
            most.append(last[1])
        last[:] = since, replay
        long = bool(most) and replay > 0.9 * most[-1]
        if had >= pages - 200 or (had >= PART * pages and long):
            told = {"pages": had, "seconds_since_checkpoint": round(since, 1)}
            print(json.dumps({**told, "estimated_replay": round(replay, 2)}), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    run.on_step = step
    run.run()


def open_again(out: Path, root: str, port: int) -> None:
    """Open the run, tell how long it took, and make a checkpoint."""
    cpu, wall = time.process_time(), time.perf_counter()
    run = opened(out, root, port)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    had = run.crawl.counts.pages
    print(json.dumps({"pages": had, "seconds": round(wall, 2), "cpu": round(cpu, 2)}), flush=True)
    run._checkpoint()
    run.folder.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--resume", type=int, metavar="PAGES")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.step:
        what, out, root, port = told.step
        if what == "crawl":
            crawl_and_die(Path(out), root, int(port), told.resume)
        else:
            open_again(Path(out), root, int(port))
        return
    if not told.resume:
        first_request()  # caches bytecode
        found = sorted(first_request() for _ in range(told.runs))
        for name, values in zip(("seconds", "CPU"), zip(*found, strict=True), strict=True):
            print(f"first request, {name}: {min(values):.2f}, {statistics.median(values):.2f}")
        return
    with (
        served_apart(told.resume, hosts=16) as (root, port),
        tempfile.TemporaryDirectory() as place,
    ):
        for what in ("crawl", "open", "open"):
            command = [sys.executable, __file__, "--resume", str(told.resume)]
            command += ["--step", what, f"{place}/run", root, str(port)]
            subprocess.run(command, check=what == "open")


if __name__ == "__main__":
    main()
