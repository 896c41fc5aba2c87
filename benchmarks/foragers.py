"""How fast fleets are simulated, and how a live watch does on a site that changes.

    .venv/bin/python benchmarks/foragers.py            simulated downloads a second, by fleet
    .venv/bin/python benchmarks/foragers.py --live 600 `spoor watch` against `spoor web serve`

The live one serves a generated news web on loopback, an hour of it a minute, watches it over HTTP
with `--delay 0.05`, and says what share of the articles that appeared meanwhile it found, and how
long after.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.foragers.fleets import FleetTask
from spoor.lab.kinds.fleets import Remembered, background
from spoor.simulation.fleets import simulate_fleet
from spoor.worlds.newsweb import NewsSettings, news_web

SPOOR = [sys.executable, "-m", "spoor"]


def speed(days: float) -> None:
    """Downloads a CPU second of each fleet, `days` of simulated time."""
    world = news_web(NewsSettings(days=max(days, 1.0), navigation=False))
    describe = Remembered(background(world))
    for name in registry.names("fleets"):
        world.rewind()
        task = FleetTask(world.roots(), describe, np.random.default_rng(0))
        fleet = registry.build("fleets", name, task)
        run = simulate_fleet(fleet, world, end=world.start + days * 86400.0)
        done = fleet.counts.pages
        print(
            f"{name:<12} {done:>8,} downloads in {run.seconds:6.2f} s of CPU: "
            f"{done / run.seconds:>8,.0f} a second"
        )


def live(seconds: float, fleets: list[str], pace: float) -> None:
    """A live watch with each fleet, each for so many seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        web = Path(scratch) / "web"
        world = news_web(NewsSettings(backlog_days=5.0, days=30.0))
        world.save(web)
        for name in fleets:
            out = Path(scratch) / name
            serve = [*SPOOR, "web", "serve", str(web), "--speed", str(pace)]
            server = subprocess.Popen(
                [*serve, "--for", str(seconds + 60)], stdout=subprocess.PIPE, text=True
            )
            assert server.stdout is not None
            port = server.stdout.readline().split(":")[-1].split("/")[0]
            began = time.time()
            command = [*SPOOR, "watch", world.roots()[0], "--fleet", name, "--out", str(out)]
            command += ["--for", f"{seconds}s", "--connect-to", f"127.0.0.1:{port}", "--json"]
            command += ["--delay", "0.05"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            server.terminate()
            server.wait()
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                continue
            told = json.loads(done.stdout)
            lines = [json.loads(line) for line in (out / "news.jsonl").open(encoding="utf-8")]
            # The web's clock starts with its first request, that for robots.txt or the front page.
            shown = {
                version.url: began + (version.time - world.start) / pace
                for version in reversed(world.versions)
                if world.start < version.time < world.start + seconds * pace
                and version.url.endswith(".html")
            }
            first = {v.url for v in world.versions if v.time <= world.start}
            new = {url: at for url, at in shown.items() if url not in first}
            found = {
                line["url"]: datetime.fromisoformat(line["found_at"]).timestamp()
                for line in reversed(lines)
                if line["forager"] is not None
            }
            delays = sorted(found[url] - at for url, at in new.items() if url in found)
            median = delays[len(delays) // 2] if delays else float("nan")
            print(
                f"{name}: {len(delays)} of {len(new)} new articles found "
                f"({len(delays) / max(1, len(new)):.0%}), median delay "
                f"{median:.0f} s; {told['fetched']:,} documents fetched, {told['lines']} lines"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=3.0)
    parser.add_argument("--live", type=float, metavar="SECONDS")
    parser.add_argument("--pace", type=float, default=60.0)
    parser.add_argument("--fleet", action="append")
    told = parser.parse_args()
    if told.live:
        live(told.live, told.fleet or ["WLRL"], told.pace)
    else:
        speed(told.days)


if __name__ == "__main__":
    main()
