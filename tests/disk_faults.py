"""Crawls on a disk that fails, or is slow, at one kind of call on one file.

`python tests/disk_faults.py FOLDER` runs under `disk_faults.c`, which `library` compiles, and prints
what came of each as JSON: `[fault, what was said or how it ended, calls that failed, pages that are
there in the end]`.
"""

from __future__ import annotations

import ctypes
import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kills import check_run, open_run, served
from spoor.errors import SpoorError
from spoor.live import live_crawl
from spoor.runs import files

PAGES = 24
FAULTS: list[tuple[str, str, int, int, int]] = [
    # kind, part of the path, from which call on, error, milliseconds
    *(("sync", name, nth, errno.EIO, 0) for name in (".warc.gz", "state.db") for nth in (1, 4)),
    ("sync", files.FRONTIER, 2, errno.EIO, 0),
    *(("write", name, 3, errno.ENOSPC, 0) for name in (".warc.gz", "state.db-wal")),
    *(("write", name, 1, errno.ENOSPC, 0) for name in (files.FRONTIER, "-committed")),
    ("write", files.SETTINGS, 1, errno.ENOSPC, 0),
    ("sync", "run", 1, 0, 30),
    ("lock", files.LOCK, 1, errno.ENOLCK, 0),
    ("lock", "state.db", 1, errno.ENOLCK, 0),
]


def library(folder: Path) -> Path:
    """Compiles the faults. Raises FileNotFoundError where there is no compiler."""
    built = folder / "disk_faults.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"], check=True
    )
    return built


def crawled(path: Path, web: Any, kind: str, name: str, nth: int, *more: int) -> list[Any]:
    """What one fault does to a crawl, and what is there once it has gone on without."""
    c = ctypes.CDLL(None)
    settings: dict[str, Any] = {"policy": "breadth-first"}
    settings["frontier"] = "disk" if name == files.FRONTIER else "memory"

    def crawl() -> str:
        run = open_run(path, web.root, web.port, **settings)
        try:
            return run.run()
        finally:
            run.folder.close()

    c.fault(kind.encode(), name.encode(), nth, *more)
    try:
        said = crawl()
    except SpoorError as error:
        said = f"{type(error).__name__}: {error}".replace(str(path), "RUN")
    failed = c.faults()
    c.fault(b"", b"", 0, 0, 0)
    crawl()
    return [said, failed, len(check_run(path))]


def main() -> None:
    live_crawl.CHECKPOINT_SECONDS, live_crawl.CHECKPOINT_SHARE = 0.0, 1e9
    with served(PAGES, hosts=4) as web:
        rows = [
            [fault, *crawled(Path(sys.argv[1]) / str(number) / "run", web, *fault)]
            for number, fault in enumerate(FAULTS)
        ]
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
