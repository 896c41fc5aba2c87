"""Exports of a million rows: memory and time a form; and what the text of a run takes.

Rows are made one by one, each with a text of some 1,000 characters and a record of its own in an
archive; each form is written in a process of its own. Memory is the most that the process held (the
kernel's VmHWM) above what it held before the export began.

    .venv/bin/python benchmarks/export.py --rows 1000000 --forms parquet wacz

With `--run`, the folder of a run: what its first search and exports with text take, for which each
document is extracted. The commands run one after another, `--times` times, each in a process of its
own; CPU is of that process and its helpers, memory the most that they held together (the kernel's
Pss, ten times a second), and the median of each is printed. `--package`: another checkout's `src`
first, in turn with this one.

    .venv/bin/python benchmarks/export.py --run RUN --forms jsonl markdown --package ../old/src
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from spoor.formats.export import FORMS, write
from spoor.formats.exporters.columns import COLUMNS, ON_REQUEST, Options
from spoor.formats.warc_writer import Captured, WarcWriter
from spoor.runs import files

WORDS = "kiln glaze cone firing pottery clay wheel stoneware porcelain slip".split()


@lru_cache(maxsize=1000)
def text_of(number: int) -> str:
    return " ".join(WORDS[(number * 7 + at * at) % 10] + str(number % 997) for at in range(110))


def archive(folder: Path, rows: int) -> None:
    """One response a row, and where each stands."""
    writer = WarcWriter(folder, "pages", software="benchmark", rotate_at=1 << 62)
    with (folder / "places").open("w") as places:
        for number in range(rows):
            body = f"<title>Kiln {number}</title><p>{text_of(number % 1000)}</p>".encode()
            head = (
                f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            url = url_of(number)
            captured = Captured(
                url, 1.7e9 + number, b"GET / HTTP/1.1\r\n\r\n", head.encode() + body
            )
            places.write(f"{writer.write(captured).offset}\n")
    writer.close()


def url_of(number: int) -> str:
    return f"https://host{number % 1000}.example/{number * 7919 % 1_000_003}"


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / "places").open() as places:
        for number, offset in enumerate(places):
            text = text_of(number % 1000)
            yield {
                "url": url_of(number),
                "title": f"Kiln {number}",
                "score": number % 100 / 100,
                "relevant": True,
                "status": 200,
                "host": f"host{number % 1000}.example",
                "fetched_at": "2026-01-01T00:00:00.000+00:00",
                "size": len(text),
                "depth": 2,
                "path": ["https://host0.example/", url_of(number)],
                "why": [{"reason": "'kiln' in its title", "share": 0.5}],
                "probability": 0.5,
                "flags": [],
                "text": text,
                "markdown": text,
                "kind": "html",
                "archive": ("pages.warc.gz", int(offset)),
                "passages": [{"text": text, "start": 0, "end": len(text), "passage_score": 0.5}],
            }


def memory(name: str) -> float:
    """MB of this process."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1024


def one(form: str, folder: Path) -> dict[str, float]:
    columns = {name: kind for name, kind in COLUMNS.items() if name != "text"}
    columns |= {name: ON_REQUEST[name] for name in FORMS[form].needs if name in ON_REQUEST}
    if form == "parquet":
        columns["text"] = "string"
    before, began = memory("VmRSS"), time.process_time()
    out = folder / f"out.{form}"
    count = write(rows_of(folder), out, form, Options(columns, folder))
    seconds = time.process_time() - began
    size = (
        sum(file.stat().st_size for file in out.rglob("*")) if out.is_dir() else out.stat().st_size
    )
    return {
        "rows": count,
        "memory_mb": round(memory("VmHWM") - before),
        "cpu_seconds": round(seconds, 1),
        "mb": round(size / 1e6, 1),
    }


def family(process: int) -> list[int]:
    """A process and those that it started."""
    found = [process]
    for one in found:
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def held(process: int) -> float:
    """MB that a process holds, with its share of what it shares."""
    with suppress(OSError, IndexError):
        told = Path(f"/proc/{process}/smaps_rollup").read_text()
        return int(re.findall(r"^Pss:\s+(\d+)", told, re.MULTILINE)[0]) / 1024
    return 0.0


def measured(command: list[str], package: str) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of CPU, MB at most."""
    environment = {**os.environ, "PYTHONPATH": package}
    began, most = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        most = max(most, sum(map(held, family(process.pid))))
        time.sleep(0.1)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, most


def of_run(run: Path, forms: list[str], packages: list[str], times: int) -> None:
    """Print what the first search of a run and its exports with text take."""
    taken: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    spoor = [sys.executable, "-m", "spoor"]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(times):
            for what in ("search", *forms):
                for package in packages:
                    if what == "search":
                        (run / files.SEARCH).unlink(missing_ok=True)
                        command = [*spoor, "search", str(run), "install the server"]
                    else:
                        out = f"{folder}/out.{what}"
                        command = [*spoor, "export", str(run), out, "--format", what]
                        command += ["--all", "--text"]
                    taken.setdefault((what, package), []).append(measured(command, package))
    for (what, package), rows in taken.items():
        wall, cpu, memory = (round(median(column), 1) for column in zip(*rows, strict=True))
        load = os.getloadavg()[0]
        print(f"{what} {package}: {wall} s, CPU {cpu} s, {memory} MB; load {load:.1f}", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--forms", nargs="+", default=["parquet", "wacz"], choices=[*FORMS])
    asked.add_argument("--run", type=Path, help="folder of a run, whose index is made anew")
    asked.add_argument("--package", action="append", default=[], help="with --run: beside this one")
    asked.add_argument("--times", type=int, default=3)
    asked.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.folder is not None:
        print(json.dumps(one(given.forms[0], given.folder)))
        return
    if given.run is not None:
        own = str(Path(__file__).parents[1] / "src")
        of_run(given.run, given.forms, [*given.package, own], given.times)
        return
    with tempfile.TemporaryDirectory() as folder:
        archive(Path(folder), given.rows)
        for form in given.forms:
            command = [sys.executable, __file__, "--folder", folder, "--forms", form]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(form, done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
