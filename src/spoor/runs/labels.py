"""What a person says of the pages of a run, while it runs or after.

Whoever labels a page appends a line to `labels.jsonl` of the run's folder. The process that holds
the folder takes it in: a running crawl within a second, and where none runs, whoever labelled. Its
place in that file, the page's new judgement and the journal's entry become durable in one
transaction, so that each line is taken in exactly once, whenever a process dies.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spoor import registry
from spoor.errors import InputError
from spoor.runs import files
from spoor.runs.database import noted, reading
from spoor.runs.journal import events_of, label_event, packed
from spoor.runs.schema import read_settings
from spoor.runs.shards import has_begun, write_results
from spoor.runs.writer import BusyError, RunWriter
from spoor.types import Judgement
from spoor.web.urls import canonical


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said of a page."""

    url: str
    """Canonical."""
    relevant: bool
    was: bool
    """As it was judged until then."""
    running: bool
    """A crawl is running, and takes it in within a second; if not, the page is judged anew at once
    and the policy learns it when the crawl goes on."""
    learned: bool
    """Whether the policy is one that learns from it."""


def label(run: Path, url: str, relevant: bool) -> Label:
    """Judge a page of a run otherwise.

    Raises InputError where `run` is no crawl, where it has no such page, or where it cannot be
    written.
    """
    settings = read_settings(run)
    if settings.command != "crawl":
        raise InputError(f"{run} is no crawl: only the pages of a crawl can be labelled")
    try:
        name = canonical(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    if shards := files.shards(run):
        said = label(_shard_of(shards, name), name, relevant)
        if not said.running:
            write_results(run)
        return said
    was = _judged(run, name)
    learned = learns(settings.policy)
    line = {"url": name, "relevant": relevant, "at": round(time.time(), 3)}
    try:
        file = os.open(run / files.LABELS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise InputError(f"cannot write {run / files.LABELS}: {error.strerror}") from error
    try:
        folder = RunWriter(run, replace(settings, warc=False))
    except BusyError:
        return Label(name, relevant, was, running=True, learned=learned)
    try:
        _take_in(folder)
    finally:
        folder.close()
    return Label(name, relevant, was, running=False, learned=learned)


def learns(policy: str) -> bool:
    """Whether a policy takes changed judgements in; one that is not installed here may."""
    try:
        return hasattr(registry.find("policies", policy), "relearn")
    except InputError:
        return True


def labelled_since(db: sqlite3.Connection, seq: int) -> list[tuple[str, Judgement, Judgement]]:
    """(URL, before, after) of the labels that a run's journal holds after entry `seq`: what a
    checkpoint written there does not know yet."""
    if noted(db, "labels") is None:
        return []
    entries = db.execute("SELECT events FROM journal WHERE seq > ? ORDER BY seq", (seq,)).fetchall()
    return [
        (event[2], Judgement(*event[3]), Judgement(*event[4]))
        for (entry,) in entries
        for event in events_of(entry)
        if event[0] == "label"
    ]


def _shard_of(shards: Sequence[Path], url: str) -> Path:
    """The folder of the shard that fetched a page."""
    for shard in filter(has_begun, shards):
        with reading(shard) as db:
            if db.execute("SELECT 1 FROM pages WHERE url = ? LIMIT 1", (url,)).fetchone():
                return shard
    raise InputError(f"{shards[0].parent} has no page {url}; its pages are those that were fetched")


def _judged(run: Path, url: str) -> bool:
    with reading(run) as db:
        row = db.execute(
            "SELECT relevant FROM pages WHERE url = ? ORDER BY seq DESC LIMIT 1", (url,)
        ).fetchone()
    if row is None:
        raise InputError(f"{run} has no page {url}; its pages are those that were fetched")
    return bool(row["relevant"])


def _take_in(folder: RunWriter) -> None:
    """What was said since the crawl ended, as a journal that it goes through when it goes on."""
    events = []
    for url, relevant in folder.labels():
        changed = folder.relabel(url, relevant)
        if changed is not None:
            events.append(label_event(url, *changed, time.time()))
    folder.commit(packed(events) if events else b"")
