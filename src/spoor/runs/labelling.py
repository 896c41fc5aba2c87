"""A person labels a page of a run, while its crawl goes on or after."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spoor import registry
from spoor.errors import InputError
from spoor.runs.events import label_event, packed
from spoor.runs.labels import Label, write_label
from spoor.runs.lock import BusyError
from spoor.runs.schema import read_settings
from spoor.runs.writer import RunWriter


def label_page(folder: Path, url: str, relevant: bool, *, was: bool, learns: bool) -> Label:
    """Label a page in the folder of its run or shard; `was`: whether it was relevant before. A
    run that is going on reads the label by itself. Raises InputError if it cannot be written."""
    write_label(folder, url, relevant, time.time())
    damaged: list[str] = []
    recovered = _apply_labels(folder, damaged.append)
    return Label(
        *(url, relevant, was),
        running=recovered is None,
        learned=learns,
        recovered=tuple(map(str, recovered or ())),
        damaged=tuple(damaged),
    )


def policy_learns(policy: str) -> bool:
    """Whether a policy learns from changed judgements; one that is not installed here may."""
    try:
        return hasattr(registry.find("policies", policy), "relearn")
    except InputError:
        return True


def _apply_labels(folder: Path, on_damage: Callable[[str], None]) -> list[Path] | None:
    """Commit the labels since the crawl ended, with events that it replays when it goes on; those,
    too, that others wrote meanwhile, who found the folder held.

    Returns the files into which archived records were moved that the last commit does not know;
    None if the crawl is running.
    """
    recovered: list[Path] = []
    while True:
        try:
            writer = RunWriter(folder, replace(read_settings(folder), warc=False))
        except BusyError:
            return None
        writer.on_damage = on_damage
        recovered += writer.recovered
        try:
            events = []
            for url, relevant in writer.labels():
                changed = writer.relabel(url, relevant)
                if changed is not None:
                    events.append(label_event(url, *changed, time.time()))
            writer.commit(packed(events) if events else b"")
        finally:
            writer.close()
        if not writer.labels():
            return recovered
