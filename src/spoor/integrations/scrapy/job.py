"""A job that Scrapy can pause (JOBDIR): the crawl and its requests, in one file."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scrapy.utils.request import request_from_dict

from spoor.errors import InputError
from spoor.integrations.scrapy.visits import VISIT
from spoor.learn.state import read, write
from spoor.types import State

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Request

_STATE = "spoor.state"
_SEEN = "requests.seen"
"""File of Scrapy's duplicate filter, which appends each request."""

Requests = dict[str, list[tuple[Any, "Request"]]]
"""Kind (`open`, `again`, `past`) → requests with their keys."""


def write_job(
    folder: Path,
    policy: str,
    crawl: State,
    known: Iterable[str],
    requests: Iterable[tuple[str, Any, Request]],
    spider: Spider,
) -> int:
    """Write a job. `requests`: (kind, key, request) rows. Returns how many cannot be written."""
    rows: dict[str, list[Any]] = {"open": [], "again": [], "past": []}
    lost = 0
    for kind, key, request in requests:
        try:
            row = request.to_dict(spider=spider)
            row["meta"] = {name: value for name, value in request.meta.items() if name != VISIT}
            rows[kind].append((key, pickle.dumps(row)))
        except (ValueError, TypeError, AttributeError, pickle.PicklingError):
            lost += 1
    seen = folder / _SEEN
    state = {
        "policy": policy,
        "crawl": crawl,
        "known": sorted(known),
        "requests": np.frombuffer(pickle.dumps(rows), np.uint8),
        "seen": seen.stat().st_size if seen.exists() else 0,
    }
    write(folder / _STATE, state)
    return lost


def read_job(folder: Path, policy: str, spider: Spider) -> tuple[State, set[str], Requests] | None:
    """State of the crawl, known URLs and requests of a job; None if there is none yet. Raises
    InputError for a damaged job, and for one of another policy."""
    if not (folder / _STATE).exists():
        return None
    state = read(folder / _STATE)
    if state["policy"] != policy:
        raise InputError(
            f"the job in {folder} was begun with the policy {state['policy']!r}, not "
            f"{policy!r}; set SPOOR_POLICY and SPOOR_PARAMS back, or take another JOBDIR"
        )
    requests = {
        kind: [(key, request_from_dict(pickle.loads(data), spider=spider)) for key, data in rows]
        for kind, rows in pickle.loads(state["requests"].tobytes()).items()
    }
    return state["crawl"], set(state["known"]), requests


def forget_unsaved(folder: Path) -> None:
    """Cut off the entries of Scrapy's duplicate filter after the job was last written: a request
    that was lost with its process must not count as seen."""
    seen = folder / _SEEN
    if not (folder / _STATE).exists() or not seen.exists():
        return
    try:
        end = int(read(folder / _STATE)["seen"])
        if seen.stat().st_size > end:
            os.truncate(seen, end)
    except (InputError, OSError):
        return  # reported when the job is opened
