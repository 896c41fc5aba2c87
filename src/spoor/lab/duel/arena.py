"""Runs one rival on one task in a network of its own, and reads what the server saw."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spoor.errors import InputError
from spoor.lab.duel.dataset import Dataset, Task
from spoor.lab.duel.rivals import Rival
from spoor.lab.duel.score import Request, read_log
from spoor.lab.duel.sites import site_folder

NEEDED = ("setpriv", "unshare", "ip", "mount", "nginx")
ADDRESSES = "93.184.{}.{}"
"""Public addresses, so that no rival refuses them; nothing outside of the namespace can be
reached."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """The result of one crawl."""

    log: Sequence[Request]
    """All requests, with what the rival says of each page."""
    outcome: Mapping[str, Any]
    """How it ended, `seconds`, `cpu_seconds`, `peak_mb`, perhaps `before_kill`."""
    said: Sequence[Mapping[str, Any]]
    """Rows of the rival: `url`, perhaps `relevant`, `score`, `why`, `markdown` (characters)."""


def check() -> None:
    """Raises InputError where this machine has no namespaces or no nginx for us."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or missing:
        raise InputError(
            "the duel serves its sites in network namespaces: it needs Linux, root, and "
            f"{', '.join(NEEDED)}" + (f" (missing: {', '.join(missing)})" if missing else "")
        )


def run(
    rival: Rival,
    task: Task,
    dataset: Dataset,
    *,
    data: Path,
    cache: Path,
    folder: Path,
    pages: int,
    seconds: float,
    kill_at: int | None = None,
    rate: int | None = None,
) -> Crawl:
    """Crawl in a new `folder`; it is left there. With `kill_at` the rival is told to keep what it
    needs to go on, is killed after so many pages, and started again; with `rate` the server answers
    so many requests a second. Raises InputError where a site or the rival cannot be had, or the
    rival asked for nothing."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    folder = folder.resolve()
    servers = []
    for number, name in enumerate(task.sites):
        site = dataset.sites[name]
        parts = urlsplit(site.base)
        address = ADDRESSES.format(215 + number // 200, 10 + number % 200)
        root = site_folder(site, data, cache)
        servers.append(
            {"address": address, "host": parts.netloc, "path": parts.path, "root": str(root)}
        )
    command = rival.command(
        "crawl",
        *("--start", task.start, "--wish", task.wish, "--pages", str(pages)),
        *("--out", str(folder / "said.jsonl"), "--work", str(folder / "work")),
        *(("--hosts",) if len(task.sites) > 1 else ()),
        *(("--durable",) if kill_at is not None else ()),
    )
    cell = {
        "servers": servers,
        "command": command,
        "environment": {**os.environ, "HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"},
        "pages": pages,
        "seconds": seconds,
        "kill_at": kill_at,
        "rate": rate,
    }
    (folder / "home").mkdir()
    (folder / "work").mkdir()
    (folder / "cell.json").write_text(json.dumps(cell))
    with (folder / "inside").open("wb") as told:
        subprocess.run(
            [
                # A worker that ends, however it ends, ends the crawl.
                *("setpriv", "--pdeathsig", "KILL"),
                *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *(sys.executable, "-P", "-m", "spoor.lab.duel.inside", str(folder)),
            ],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            timeout=seconds + 120,
        )
    if not (folder / "outcome.json").exists():
        raise InputError(f"{rival.name}: the arena failed: {_last(folder / 'inside')}")
    outcome = json.loads((folder / "outcome.json").read_text())
    said = read_said(folder / "said.jsonl")
    log = with_said(read_log(folder / "log.jsonl"), said)
    if not any(request.kind == "page" for request in log):
        raise InputError(f"{rival.name} asked for no page: {_last(folder / 'output')}")
    return Crawl(log, outcome, said)


def with_said(log: Any, said: Sequence[Mapping[str, Any]]) -> list[Request]:
    """The log, with what the rival says of the pages; where it says of some, of the others no."""
    words = {Request(row["url"]).key: row["relevant"] for row in said if "relevant" in row}
    return [
        Request(one.url, one.task, one.status, one.method, one.bytes, words.get(one.key, False))
        if words
        else one
        for one in log
    ]


def read_said(file: Path) -> list[dict[str, Any]]:
    """The rows of a rival; the last may be cut where it was ended."""
    rows = []
    for line in file.read_text("utf-8", "replace").splitlines() if file.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("url"), str):
            rows.append(row)
    return rows


def _last(file: Path) -> str:
    lines = file.read_text("utf-8", "replace").split("\n") if file.exists() else []
    lines = [line.strip() for line in lines if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
