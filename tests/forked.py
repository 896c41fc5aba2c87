"""Scripts in processes of their own that need not import all anew: each is forked from a process that
has imported what most of them need, and has done nothing else."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORTED = [
    *("scrapy.crawler", "scrapy.linkextractors", "scrapy.spiders", "scrapy.utils.reactor"),
    *("spoor.integrations.scrapy", "spoor.integrations.scrapy.scheduler", "spoor.crawl"),
]

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(IMPORTED)


def run_script(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `python SCRIPT ARGUMENTS` says, and its exit code: below zero is the signal that ended
    it."""
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / name for name in ("stdout", "stderr")]
        process = _forks.Process(target=_work, args=(script, arguments, said))
        process.start()
        process.join(400)
        try:
            assert process.exitcode is not None, f"{script} does not end"
            code = process.exitcode
        finally:
            process.kill()
            process.join()
            process.close()
        out, err = (path.read_text("utf-8") if path.exists() else "" for path in said)
        return subprocess.CompletedProcess([str(script), *arguments], code, out, err)


def _work(script: Path, arguments: tuple[str, ...], said: list[Path]) -> None:
    for number, path in enumerate(said, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")
