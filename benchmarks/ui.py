"""How soon `spoor ui` shows a run of a million pages. Goal: its first page in under 1 s.

    .venv/bin/python benchmarks/ui.py [--pages 1000000]

crawls the demo's web, multiplies the rows of that run, and opens it: seconds from the start of the
command to its first line, from the first request to its whole reply, and of the second request.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from pathlib import Path

SPOOR = (sys.executable, "-m", "spoor")


def multiply(run: Path, pages: int) -> None:
    """Give a run so many pages, each with the row of one that it has."""
    with closing(sqlite3.connect(run / "state.db")) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(pages)")]
        had, last = db.execute("SELECT count(*), max(ticket) FROM pages").fetchone()
        new = {
            "seq": f"at * {had} + seq",
            "url": "url || '?copy=' || at",
            "ticket": f"at * {last + 1} + ticket",
        }
        columns = ", ".join(new.get(name, name) for name in names)
        db.execute(
            "WITH RECURSIVE copies(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM copies WHERE "
            f"at < {pages // had}) INSERT INTO pages SELECT {columns} FROM copies, pages LIMIT ?",
            (pages - had,),
        )
        db.commit()


def fetched(url: str) -> tuple[float, int]:
    """Seconds to the last byte of a page, and its bytes."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=100) as reply:
        size = len(reply.read())
    return time.perf_counter() - began, size


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asked.add_argument("--pages", type=int, default=1_000_000)
    told = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [*SPOOR, "demo", "--pages", "300", "--out", folder]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        run = Path(folder, "trail")
        multiply(run, told.pages)
        began = time.perf_counter()
        command = [*SPOOR, "ui", str(run), "--no-open", "--for", "60"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ui:
            assert ui.stdout is not None
            url = ui.stdout.readline().strip()
            started = time.perf_counter() - began
            first, size = fetched(url)
            second, _ = fetched(url)
            ui.terminate()
    row = {"pages": told.pages, "started": started, "first": first, "second": second}
    print(json.dumps({name: round(value, 2) for name, value in row.items()} | {"bytes": size}))


if __name__ == "__main__":
    main()
