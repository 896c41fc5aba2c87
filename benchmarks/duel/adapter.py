"""Calls a rival: `python adapter.py NAME VERB …` (the verbs: src/spoor/lab/duel/rivals.py).

A rival is the module of its name beside this file: `describe(environment)`, `install(environment)`
and `crawl(Crawl)`. Both run in the rival's environment; here is the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

STOP_WORDS = frozenset(
    "a an and are as at by for from how in into is it its of on one or the this to up what when "
    "which with der die das und in im mit von zu le la les de des du et un une".split()
)


@dataclass(frozen=True)
class Crawl:
    """A crawl that is asked for."""

    environment: Path
    start: str
    wish: str
    pages: int
    out: Path
    work: Path
    """A folder of its own."""
    hosts: bool
    """Whether the sites are several hosts of one domain."""
    durable: bool
    """Whether it keeps in `work` what it needs to go on after its end, and goes on from that."""

    @property
    def host(self) -> str:
        return urlsplit(self.start).netloc

    @property
    def domain(self) -> str:
        """The last two parts of the host's name."""
        return ".".join(self.host.split(".")[-2:])

    @property
    def keywords(self) -> list[str]:
        """The words of the wish without stop words: what a user types where keywords are asked."""
        words = re.findall(r"[\w-]+", self.wish.lower())
        return [word for word in words if word not in STOP_WORDS] or words

    def say(self, url: str, **row: Any) -> None:
        """A row about a page; it is on the disk when this returns."""
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"url": url, **row}) + "\n")


def pip_install(environment: Path, *packages: str) -> None:
    """A virtual environment with packages."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if Path(uv).exists():
        run([uv, "venv", "--allow-existing", "--quiet", "--python", sys.executable, environment])
        run([uv, "pip", "install", "--quiet", "--python", environment / "bin/python", *packages])
        return
    run([sys.executable, "-m", "venv", environment])
    run([environment / "bin" / "pip", "install", "--quiet", *packages])


def run(command: list[Any], cwd: Path | None = None) -> None:
    """Run a command; where it fails, end with its last line."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        sys.exit(lines[-1] if lines else f"{command[0]} ended with {done.returncode}")


def version_of(package: str) -> str:
    """Version of a package in this environment."""
    from importlib.metadata import version

    return version(package)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("describe", "install", "crawl"):
        verbs.add_parser(verb).add_argument("--env", type=Path, required=True)
    asked = verbs.choices["crawl"]
    for name in ("--start", "--wish"):
        asked.add_argument(name, required=True)
    asked.add_argument("--pages", type=int, required=True)
    for name in ("--out", "--work"):
        asked.add_argument(name, type=Path, required=True)
    for name in ("--hosts", "--durable"):
        asked.add_argument(name, action="store_true")
    told = parser.parse_args()
    # A rival's module has the name of the package that it imports: it is found by its full name.
    sys.path[:1] = []
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    rival = import_module(f"benchmarks.duel.{told.name}")
    if told.verb == "describe":
        print(json.dumps(rival.describe(told.env)))
    elif told.verb == "install":
        rival.install(told.env)
    else:
        os.chdir(told.work)
        rival.crawl(
            rival.Crawl(
                *(told.env, told.start, told.wish, told.pages),
                *(told.out, told.work, told.hosts, told.durable),
            )
        )


if __name__ == "__main__":
    main()
