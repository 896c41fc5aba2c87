"""A long live crawl: does its memory stay where it is, and do its files close?

    .venv/bin/python benchmarks/long.py [--pages 100000] [--policy trail] [--guard]

serves a generated web of so many pages on loopback, from a process of its own, and crawls all of it
as `spoor crawl` does: durable, with WARC files and policy, 16 in flight, without delay. Every
hundredth of the way it notes memory (resident, without pages shared with others), file descriptors,
CPU, known and open links. Prints one JSON object. `--guard` leaves traps alone (some pages of a
generated web are so alike that they pass for one).

Goals: ≤ 1 MB for each 10,000 pages, once all links are known that there are (before, what grows is
the frontier); as many descriptors at the end as at the beginning.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from spoor.types import Deferred, Fetch, Outcome

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from kills import open_run, served_apart  # noqa: E402


def resident() -> float:
    """MB of this process alone."""
    told = Path("/proc/self/smaps_rollup").read_text()
    kept = [line.split() for line in told.splitlines() if line.startswith("Private_")]
    return sum(int(words[1]) for words in kept) / 1024


def slope(rows: list[dict[str, float]], what: str) -> float | None:
    """Per 10,000 pages, by least squares."""
    if len(rows) < 3:
        return None
    pages = [row["pages"] for row in rows]
    return round(float(np.polyfit(pages, [row[what] for row in rows], 1)[0]) * 10_000, 3)


def crawl(root: str, port: int, out: Path, pages: int, policy: str, guard: bool) -> dict[str, Any]:
    run = open_run(
        out, root, port, policy=policy, pages=pages, per_host=16, in_flight=16, traps=not guard
    )
    rows: list[dict[str, float]] = []
    every = max(1, pages // 100)

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        counts = run.crawl.counts
        if counts.pages < every * (len(rows) + 1):
            return
        known = run.crawl.frontier.open_count + counts.pages + counts.failed + counts.skipped
        rows.append(
            {
                "pages": counts.pages,
                "mb": resident(),
                "descriptors": len(os.listdir("/proc/self/fd")),
                "known": known + run.crawl.in_flight,
                "open": run.crawl.frontier.open_count,
                "cpu_ms_a_page": 1000 * (time.process_time() - began) / counts.pages,
            }
        )

    run.on_step = step
    began, wall = time.process_time(), time.perf_counter()
    reason = run.run()
    cpu, wall = time.process_time() - began, time.perf_counter() - wall
    run.folder.close()
    gc.collect()
    got = run.crawl.counts.pages
    most = max(row["known"] for row in rows)
    after = [row for row in rows if row["known"] >= 0.995 * most]
    held = rows[len(rows) // 10 :]
    return {
        "ended": reason,
        "pages": got,
        "failed": run.crawl.counts.failed,
        "skipped": run.crawl.counts.skipped,
        "cpu_ms_a_page": round(1000 * cpu / got, 3),
        "pages_a_second": round(got / wall),
        "known_links": most,
        "mb_for_10000_pages": slope(held, "mb"),
        "links_for_10000_pages": slope(held, "known"),
        "all_known_from_page": after[0]["pages"],
        "mb_for_10000_pages_from_there": slope(after, "mb"),
        "descriptors": sorted({int(row["descriptors"]) for row in held}),
        "samples": [
            {name: round(value, 3) for name, value in row.items()}
            for row in rows[:: max(1, len(rows) // 20)]
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--policy", default="trail")
    parser.add_argument("--guard", action="store_true")
    told = parser.parse_args()
    with served_apart(told.pages, hosts=16) as (root, port), tempfile.TemporaryDirectory() as place:
        result = crawl(root, port, Path(place) / "run", told.pages, told.policy, told.guard)
    print(json.dumps({**result, "load": round(os.getloadavg()[0], 1)}, indent=1))


if __name__ == "__main__":
    main()
