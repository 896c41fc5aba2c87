"""What documents cost: CPU a document of each kind, and whether HTML alone costs more than before.

    .venv/bin/python benchmarks/documents.py [--each 40] [--pages 600] [--against FOLDER]

Each kind: documents of some 300 words, made by other writers (`tests/document_makers.py`),
read into a page as a crawl does, in this process; medians after the first, which loads the library.

HTML: a generated web, served on loopback from a thread, crawled with `trail` and its archive by
this checkout and by the one in FOLDER, in turn, each crawl in a process of its own; CPU of the
thread that crawls, for each page; medians. Goal: at most 1.03 of the other.

Memory: a web of 300 documents of twelve kinds with hostile ones among them, crawled by a process of
its own; the most that it and its helpers hold at a time (RSS, looked at each 20 ms). Goal: 400 MB.

PDFs: requests until 90 % of the PDFs of `reports_web` there are found, by `trail` and
breadth-first, with --want type:application/pdf. Goal: half.

Prints one JSON object. tests/ must be on the path (PYTHONPATH=src:tests).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any


def by_kind(each: int) -> dict[str, float]:
    """Kind → ms of CPU a document."""
    from document_makers import MAKERS, words_of
    from spoor.documents.page import page_of

    rng, told = random.Random(1), {}
    for kind, (make, media) in MAKERS.items():
        bodies = [make(words_of(rng, 300)) for _ in range(each + 1)]
        costs = []
        for body in bodies:
            began = time.process_time()
            page_of(body, "http://docs.example/x", content_type=media)
            costs.append(1_000 * (time.process_time() - began))
        told[kind] = round(statistics.median(costs[1:]), 2)
    return told


def html_crawl(pages: int) -> float:
    """ms of CPU a page of one crawl of HTML."""
    from loopback import ADDRESS, logged
    from spoor.cli.main import run
    from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

    world = GeneratedWorld(GeneratedSettings(pages=2 * pages, hosts=8, seed=5, target_share=0.3))
    with logged(world) as server, tempfile.TemporaryDirectory() as folder:
        command = ["crawl", world.url_of(0), "--topic", "pottery, kiln", "--pages", str(pages)]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--scope", "anywhere"]
        command += ["--delay", "0", "--per-host", "4", "--json", "--out", f"{folder}/run"]
        began = time.thread_time()
        assert run(command) == 0
        return 1_000 * (time.thread_time() - began) / pages


def documents_crawl(folder: str) -> None:
    """Crawl the web of documents."""
    from document_makers import documents_web

    web, _, _ = documents_web()
    crawl(web, folder, "--want", "match:zanzibar", "--save-files", "--policy", "breadth-first")


def crawl(web: dict[str, tuple[str, bytes]], folder: str, *more: str) -> None:
    from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
    from spoor.cli.main import run

    def answer(asked: Asked) -> bytes:
        found = web.get(asked.path)
        return MISSING if found is None else reply(found[1], media=found[0] or "text/html")

    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", "http://docs.example/", "--out", f"{folder}/run", "--pages", "5000"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--json"]
        assert run([*command, "--scope", "host", "--per-host", "8", *more]) == 0


def requests_for_pdfs() -> dict[str, int]:
    """Policy → requests until 90 % of the PDFs are found."""
    from document_makers import reports_web

    web, _ = reports_web()
    pdfs = {f"http://docs.example{path}" for path, (media, _) in web.items() if "pdf" in media}
    needed = {}
    for policy in ("breadth-first", "trail"):
        with tempfile.TemporaryDirectory() as folder:
            crawl(web, folder, "--want", "type:application/pdf", "--policy", policy)
            db = sqlite3.connect(f"{folder}/run/state.db")
            urls = [url for (url,) in db.execute("SELECT url FROM pages ORDER BY seq")]
            db.close()
        places = [place for place, url in enumerate(urls, 1) if url in pdfs]
        needed[policy] = places[int(0.9 * len(pdfs)) - 1]
    return needed


def child(mode: str, *arguments: str, root: Path | None = None) -> subprocess.Popen[str]:
    """This file in a process of its own, with the package of `root`."""
    root = root or Path(__file__).parents[1]
    path = os.pathsep.join([str(root / "src"), str(root / "tests")])
    return subprocess.Popen(
        [sys.executable, __file__, "--child", mode, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


def cpu_of_html(pages: int, root: Path) -> float:
    out, _ = child("html", str(pages), root=root).communicate()
    return float(out.splitlines()[-1])


def memory_of_documents() -> float:
    """MB that a crawl of documents and its helpers hold at most."""
    with tempfile.TemporaryDirectory() as folder:
        process = child("documents", folder)
        drained = threading.Thread(target=lambda: process.stdout and process.stdout.read())
        drained.start()
        most = 0
        while process.poll() is None:
            most = max(most, sum(map(_rss, _tree(process.pid))))
            time.sleep(0.02)
        drained.join()
        assert process.returncode == 0
    return round(most / 1_024, 1)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            told = Path(f"/proc/{one}/task/{one}/children").read_text("ascii")
        except OSError:
            continue
        found += map(int, told.split())
    return found


def _rss(pid: int) -> int:
    """kB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmRSS")), "0 0")
    return int(line.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--child", nargs="+")
    told = parser.parse_args()
    if told.child:
        mode, value = told.child
        if mode == "html":
            print(html_crawl(int(value)))
        else:
            documents_crawl(value)
        return
    figures: dict[str, Any] = {"ms a document": by_kind(told.each)}
    figures["MB at most"] = memory_of_documents()
    figures["requests for 90 % of the PDFs"] = requests_for_pdfs()
    if told.against:
        here, there = list[float](), list[float]()
        for _ in range(told.times):
            here.append(cpu_of_html(told.pages, Path(__file__).parents[1]))
            there.append(cpu_of_html(told.pages, told.against))
        mine, other = statistics.median(here), statistics.median(there)
        figures["HTML, ms a page"] = {
            "here": round(mine, 3),
            "there": round(other, 3),
            "ratio": round(mine / other, 3),
        }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
