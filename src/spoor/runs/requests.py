"""The requests of a run that ended, as rows of a table: its pages, and what brought none."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Any

from spoor.runs.rows import FailureRow, PageRow, rfc3339
from spoor.runs.stored_run import StoredRun


def requests_of(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Each by the columns `spoor.formats.exporters.columns.REQUESTS`, in the order of their ends; a
    redirect or a retry is told by what it ended in. Of a refresh: its pages as they are now. O(1)
    memory."""
    ends = merge(
        ((page.time, 0, page.number, _of_page(page)) for page in run.pages()),
        ((failure.time, 1, failure.number, _of_failure(failure)) for failure in run.failures()),
    )
    return (row for *_, row in ends)


def _of_page(page: PageRow) -> dict[str, Any]:
    exported = page.exported()
    kept = ("fetched_at", "status", "url", "host", "size", "depth", "relevant", "score")
    return {
        **{name: exported[name] for name in kept},
        "outcome": "page",
        "reason": None,
        "seconds": page.seconds,
        "found_on": page.path[-2] if len(page.path) > 1 else None,
    }


def _of_failure(failure: FailureRow) -> dict[str, Any]:
    return {
        "fetched_at": rfc3339(failure.time),
        "status": failure.status or None,
        "outcome": failure.kind,
        "reason": failure.reason or failure.kind,
        "url": failure.url,
        "host": failure.host,
    }
