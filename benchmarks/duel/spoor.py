"""Spoor with its defaults, from the wish alone; no pause between requests."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, version_of


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "Spoor",
        "version": version_of("spoor-crawler"),
        "settings": "spoor crawl START --topic WISH --pages N --delay 0",
        "told": "its verdict at the end of the crawl",
    }


def install(environment: Path) -> None:
    """It is the Spoor that runs the duel."""


def crawl(it: Crawl) -> None:
    run = it.work / "run"
    command = [sys.executable, "-m", "spoor", "crawl", it.start, "--topic", it.wish]
    command += ["--pages", str(it.pages), "--delay", "0", "--out", str(run)]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl ends by it, then its run is read
    process = subprocess.Popen(command)
    signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGINT))
    process.wait()
    opened = import_module("spoor").open(run)
    for page in opened.pages():
        why = ", ".join(f"{name} {weight:+.2f}" for name, weight in page.why)
        more = {"markdown": len(opened.document_of(page).markdown)} if it.durable else {}
        it.say(page.url, relevant=bool(page.relevant), score=page.score, why=why, **more)
