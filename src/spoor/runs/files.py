"""The files inside a run's folder: the one place where their names are written."""

from __future__ import annotations

from pathlib import Path

SETTINGS = "spoor.toml"
"""The settings that the run was begun with, for people and programs to read."""

DATABASE = "state.db"
"""What is true of the run: rows of pages and failures, journal and checkpoints (SQLite)."""

LOCK = "lock"
"""Held by the process that writes the run."""

RELEVANT = "relevant.jsonl"
"""The relevant pages, one a line; made from the database."""

LABELS = "labels.jsonl"
"""What people say of pages, one line a label; whoever labels a page appends to it."""

WARC = "pages"
"""The archive is `pages.warc.gz`, then `pages-00001.warc.gz` and so on: see `archives`."""

FRONTIER = "frontier.db"
"""Open links that do not fit into memory (SQLite)."""

ANSWERS = "answers.jsonl"
"""Answers of a language model that judges pages, so that nothing is asked and paid for twice."""

NEWS = "news.jsonl"
"""Documents that a watch found, one a line."""

FEED = "feed.xml"
"""The newest of them, as RSS."""

SHARDS = "shards.json"
"""The state of each shard of a run in shards, for whoever looks on."""

REPORT = "report.html"
"""The report for people."""

_SHARD = "shard-"
_OWN = (SETTINGS, DATABASE, LOCK, RELEVANT, LABELS, FRONTIER, ANSWERS, NEWS, FEED, SHARDS, REPORT)


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / SETTINGS).exists()


def archive(number: int) -> str:
    """The name of a file of the archive, which begins with number 0."""
    return f"{WARC}-{number:05}.warc.gz" if number else f"{WARC}.warc.gz"


def archives(path: Path) -> list[Path]:
    """The files of a run's archive, oldest first."""
    return sorted(path.glob(f"{WARC}*.warc.gz"), key=lambda file: (len(file.name), file.name))


def shard(path: Path, number: int) -> Path:
    """The folder of one shard within that of the run: a run of its own."""
    return path / f"{_SHARD}{number}"


def shards(path: Path) -> list[Path]:
    """The folders of all shards that a run ever had, by number; none where it has no shards."""
    folders = path.glob(f"{_SHARD}*")
    return sorted((one for one in folders if one.name[len(_SHARD) :].isdigit()), key=shard_number)


def shard_number(folder: Path) -> int:
    """The number of a shard, by its folder."""
    return int(folder.name.removeprefix(_SHARD))


def is_own(name: str) -> bool:
    """Whether a run itself keeps a file of this name in its folder, or may while it is written."""
    if name.startswith(WARC) and name.endswith(".warc.gz"):
        return True
    return any(name == own or name.startswith((f"{own}.", f"{own}-")) for own in _OWN)
