"""Crawls that were kept: the requests of rivals, from which the duel's page is made again.

A folder has `crawls.jsonl`, a row for each crawl (what its keys mean stands in
docs/guides/duel-data.md), and for each rival, budget and try `RIVAL-PAGES-TRY.jsonl.xz`: the
requests of its crawls up to the budget, as `spoor lab score` reads them; of the probe (a site of
its own) `RIVAL-probe-TRY.jsonl.xz`.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from spoor.errors import InputError
from spoor.files import read_plain, write_whole
from spoor.lab.duel import probe
from spoor.lab.duel.score import Request, read_log

FOLDER = "crawls"
FILE = "crawls.jsonl"
MOST_BYTES = 1 << 28
"""Of that file."""
FACTS = (
    *("contender", "version", "settings", "how_told", "wish", "start", "markdown"),
    *("ended", "exit", "seconds", "cpu_seconds", "peak_mb"),
)
"""What a row says of a crawl beside its requests; `probe` too, where it was one."""


class Key(NamedTuple):
    """Which crawl it is."""

    rival: str
    pages: int
    seed: int
    task: str

    @property
    def file(self) -> str:
        """Name of the file of its requests; the probe, which is no task, has one for itself."""
        what = probe.NAME if self.task == probe.NAME else self.pages
        return f"{self.rival}-{what}-{self.seed}.jsonl.xz"


@dataclass(slots=True)
class Kept:
    """The crawls of a folder; the requests of a file are read when they are asked for first."""

    folder: Path
    rows: Mapping[Key, Mapping[str, Any]]
    _logs: dict[str, dict[str, list[Request]]] = field(default_factory=dict)

    def digest(self, key: Key) -> str:
        """Of a crawl: its row and the file that has its requests."""
        content = (self.folder / key.file).read_bytes() + repr(self.rows[key]).encode()
        return hashlib.sha256(content).hexdigest()[:24]

    def log(self, key: Key) -> Sequence[Request]:
        """The requests of a crawl. Raises InputError where they are not there."""
        if key.file not in self._logs:
            logs = self._logs[key.file] = {}
            for request in read_log(self.folder / key.file):
                logs.setdefault(request.task, []).append(request)
        if key.task not in self._logs[key.file]:
            raise InputError(f"{self.folder / key.file} has no request of the task {key.task!r}")
        return self._logs[key.file][key.task]


def read(folder: Path) -> Kept:
    """The crawls in a folder; none where there is no such file. Raises InputError that names the
    line."""
    file = folder / FILE
    rows: dict[Key, Mapping[str, Any]] = {}
    try:
        data = read_plain(file, MOST_BYTES) if file.exists() else b""
        lines = data.decode().splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            key = Key(str(row["rival"]), int(row["pages"]), int(row["seed"]), str(row["task"]))
            rows[key] = {name: row[name] for name in FACTS} | {"probe": row.get("probe")}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError(f"{file}, line {number} is no crawl: {error!r}") from error
    return Kept(folder, rows)


def write(folder: Path, crawls: Iterable[tuple[Key, Mapping[str, Any], Sequence[Request]]]) -> None:
    """Add crawls to a folder, in place of those of the same key."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = read(folder)
    rows = dict(kept.rows)
    logs: dict[Key, Sequence[Request]] = {}
    for key, row, log in crawls:
        rows[key] = {name: row[name] for name in FACTS} | {"probe": row.get("probe")}
        logs[key] = log
    for file in {key.file for key in logs}:
        lines = [
            _line(request, key)
            for key in sorted(rows)
            if key.file == file
            for request in (logs[key] if key in logs else kept.log(key))
        ]
        write_whole(folder / file, lzma.compress("".join(lines).encode(), preset=9))
    text = "".join(json.dumps({**key._asdict(), **rows[key]}) + "\n" for key in sorted(rows))
    write_whole(folder / FILE, text)


def _line(request: Request, key: Key) -> str:
    row: dict[str, Any] = {"task": key.task, "url": request.url}
    if request.status != 200:
        row["status"] = request.status
    if request.method != "GET":
        row["method"] = request.method
    row["bytes"] = request.bytes
    if request.relevant is not None:
        row["relevant"] = request.relevant
    return json.dumps(row, separators=(",", ":")) + "\n"
