"""A job that Scrapy can pause (JOBDIR): the crawl and its requests, in one file."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scrapy.utils.request import request_from_dict

from spoor.errors import InputError, taking_in
from spoor.files import open_unlinked
from spoor.integrations.scrapy.visits import VISIT
from spoor.learn.state import read, write
from spoor.types import State

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Request

_STATE = "spoor.state"
_SEEN = "requests.seen"
"""File of Scrapy's duplicate filter, which appends each request."""

KINDS = ("open", "again", "past")
ANOTHER = "take another JOBDIR"

Requests = dict[str, list[tuple[Any, "Request"]]]
"""Kind → requests with their keys."""


def write_job(
    folder: Path,
    policy: str,
    crawl: State,
    now: float,
    known: Iterable[str],
    requests: Iterable[tuple[str, Any, Request]],
    spider: Spider,
) -> int:
    """Write a job. `now`: by the clock of its crawl; `requests`: (kind, key, request) rows. Returns
    how many cannot be written."""
    rows: dict[str, list[Any]] = {kind: [] for kind in KINDS}
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
        "now": now,
        "known": sorted(known),
        "requests": np.frombuffer(pickle.dumps(rows), np.uint8),
        "seen": seen.stat().st_size if seen.exists() else 0,
    }
    write(folder / _STATE, state)
    return lost


def read_job(
    folder: Path, policy: str, spider: Spider
) -> tuple[State, float, set[str], Requests] | None:
    """State of the crawl, its time, known URLs and requests of a job; None if there is none yet. It
    may run what whoever wrote the job wants, as Scrapy's own files in the folder do: both hold
    pickles. Raises InputError for a damaged job, and for one of another policy."""
    if not (folder / _STATE).exists():
        return None
    if (folder / _SEEN).is_symlink():
        raise InputError(f"{folder / _SEEN} is a link, which is not followed; {ANOTHER}")
    state = read(folder / _STATE)
    if state.get("policy") != policy:
        raise InputError(
            f"the job in {folder} was begun with the policy {state.get('policy')!r}, not "
            f"{policy!r}; set SPOOR_POLICY and SPOOR_PARAMS back, or take another JOBDIR"
        )
    with taking_in_job(folder):
        int(state["seen"])  # else nothing was cut off
        rows = pickle.loads(state["requests"].tobytes())
        requests = {
            kind: [
                (key, request_from_dict(pickle.loads(data), spider=spider))
                for key, data in rows[kind]
            ]
            for kind in KINDS
        }
        now = float(state["now"])
        return state["crawl"], now, set(state["known"]), requests


def taking_in_job(folder: Path) -> AbstractContextManager[None]:
    """Raises InputError for what goes wrong within it, which goes wrong for the values of a job."""
    more = (pickle.UnpicklingError, EOFError, ImportError)
    return taking_in(str(folder / _STATE), ANOTHER, *more)


def forget_unsaved(folder: Path) -> None:
    """Cut off the entries of Scrapy's duplicate filter after the job was last written: a request
    that was lost with its process must not count as seen."""
    if not (folder / _STATE).exists() or not (folder / _SEEN).exists():
        return
    # What goes wrong is reported when the job is opened.
    with suppress(InputError, OSError), taking_in_job(folder):
        end = int(read(folder / _STATE)["seen"])
        with open(open_unlinked(folder / _SEEN, os.O_RDWR), "r+b") as seen:
            if 0 <= end < os.fstat(seen.fileno()).st_size:
                seen.truncate(end)
