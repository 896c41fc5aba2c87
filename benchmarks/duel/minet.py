"""minet's focus-crawl: a regular expression of the words of the wish says what is relevant."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "minet focus-crawl",
        "version": version_of("minet"),
        "settings": "minet focus-crawl START --content-filter '(?:a word of the wish|…)' "
        "--url-filter HOST --irrelevant-continue --only-html --throttle 0 -t 1",
        "told": "`relevant` in its table: the page has a word of the wish",
        "tries": 5,
    }


def install(environment: Path) -> None:
    # minet asks for a part of lxml that is a package of its own now.
    pip_install(environment, "minet", "lxml_html_clean")


def crawl(it: Crawl) -> None:
    words = "|".join(map(re.escape, it.keywords))
    host = re.escape(it.domain if it.hosts else it.host)
    command = [str(it.environment / "bin" / "minet"), "focus-crawl", it.start]
    command += [
        "--content-filter",
        rf"\b(?:{words})",
        "--url-filter",
        rf"^https?://(?:[\w.-]+\.)?{host}/",
    ]
    command += ["--irrelevant-continue", "--only-html", "--throttle", "0", "-t", "1"]
    command += ["--silent", "-O", "minet"]
    if it.durable and Path("minet").exists():
        command.append("--resume")
    process = subprocess.Popen(command)
    signal.signal(signal.SIGINT, lambda *_: process.terminate())
    process.wait()
    with Path("minet/jobs.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            url = row.get("end_url") or row.get("url") or ""
            if url and row.get("relevant"):
                it.say(url, relevant=row["relevant"] == "yes")
