"""Scripts and commands in processes of their own that need not import all anew: each is forked from a
process that has imported what most of them need, and has done nothing else."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

IMPORTED = [
    *("scrapy.crawler", "scrapy.linkextractors", "scrapy.spiders", "scrapy.utils.reactor"),
    *("spoor.integrations.scrapy", "spoor.integrations.scrapy.scheduler", "spoor.crawl"),
    *("spoor.cli.main", "spoor.cli.crawl", "spoor.live.live_crawl", "spoor.views.report"),
]

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(IMPORTED)


def run_script(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `python SCRIPT ARGUMENTS` says, and its exit code: below zero is the signal that ended
    it."""
    return _run(_script, script, *arguments)


def run_spoor(folder: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `spoor ARGUMENTS` says in a folder, by a Python that has the packages of `site` too."""
    return _run(_spoor, folder, site, *arguments)


def _run(work: Callable[..., object], *given: str | Path) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / name for name in ("stdout", "stderr")]
        process = _forks.Process(target=_work, args=(work, given, said))
        process.start()
        process.join(400)
        try:
            assert process.exitcode is not None, f"{given} does not end"
            code = process.exitcode
        finally:
            process.kill()
            process.join()
            process.close()
        out, err = (path.read_text("utf-8") if path.exists() else "" for path in said)
        return subprocess.CompletedProcess([str(one) for one in given], code, out, err)


def _work(work: Callable[..., object], given: tuple[str | Path, ...], said: list[Path]) -> None:
    for number, path in enumerate(said, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    work(*given)


def _script(script: Path, *arguments: str) -> None:
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")


def _spoor(folder: Path, site: Path, *arguments: str) -> None:
    os.chdir(folder)
    sys.path.insert(0, str(site))
    sys.argv = ["spoor", *arguments]
    runpy.run_module("spoor", run_name="__main__")
