"""Keeps the crawls of rivals that `spoor lab run duel` made: from OUT to `duel/crawls`.

    python benchmarks/duel_keep.py OUT [RIVAL …]

OUT is the folder that was named by `--out`. Of each finished cell the requests up to its budget are
kept, with what the rival says of the pages, and a row about the crawl; without names, those of all
rivals but Spoor. A crawl that is kept already is replaced. Prints what it kept, and leaves out,
with a line, a cell whose log gives another score than its row: a later crawl has its folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spoor.lab.duel import kept, probe
from spoor.lab.duel.arena import read_said, with_said
from spoor.lab.duel.dataset import BUDGETS, Dataset, read
from spoor.lab.duel.score import Request, counted, read_log, score
from spoor.lab.kinds.duel import LOGS, OURS

HERE = Path(__file__).resolve().parent / "duel"

Crawl = tuple[kept.Key, Mapping[str, Any], list[Request]]


def crawls(out: Path, dataset: Dataset, rivals: list[str]) -> Iterator[Crawl]:
    """The crawls of OUT."""
    newest: dict[kept.Key, Mapping[str, Any]] = {}
    for file in sorted(out.glob("cells/duel-*.json"), key=lambda file: file.stat().st_mtime):
        row = json.loads(file.read_text("utf-8"))
        key = kept.Key(row["rival"], row["budget"], row["seed"], row["task"])
        if key.rival in rivals or (not rivals and key.rival != OURS):
            newest[key] = row
    for key, row in newest.items():
        task = probe.TASK if key.task == probe.NAME else dataset.task(key.task)
        folder = out / LOGS / f"{key.rival}-{key.task}-{key.pages}-{key.seed}"
        log = with_said(read_log(folder / "log.jsonl"), read_said(folder / "said.jsonl"))
        got = score(task, log, [budget for budget in BUDGETS if budget <= key.pages])
        if {str(budget): share for budget, share in got.recall.items()} != row["recall"]:
            print(f"left out: {folder} is of another crawl than the cell's")
            continue
        yield key, {"probe": None, **row, "start": task.start}, list(counted(log, key.pages))


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("rivals", nargs="*")
    told = parser.parse_args()
    found = list(crawls(told.out, read(HERE / "dataset"), told.rivals))
    folder = HERE / kept.FOLDER
    kept.write(folder, found)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{len(found)} crawls kept; {folder} has {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
