"""The requests of a run that ended, as rows of a table: its pages, and what brought none."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Any

from spoor.runs.requisites import RequisiteRow, all_requisites
from spoor.runs.rows import FailureRow, PageRow, rfc3339
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import host


def requests_of(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Each by the columns `spoor.formats.exporters.columns.REQUESTS`, in the order of their ends; a
    redirect or a retry of a page is told by what it ended in. Of a refresh: its pages as they are
    now. Memory: O(1), and a number for each page where there are requisites."""
    ends = merge(
        ((page.time, 0, page.number, _of_page(page)) for page in run.pages()),
        ((failure.time, 1, failure.number, _of_failure(failure)) for failure in run.failures()),
        _requisites(run),
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


def _requisites(run: StoredRun) -> Iterator[tuple[float, int, int, dict[str, Any]]]:
    depths: dict[int, int] | None = None
    for row in all_requisites(run.path):
        if depths is None:
            depths = {page.ticket: max(0, len(page.path) - 1) for page in run.pages()}
        yield row.time, 2, row.number, _of_requisite(row, depths.get(row.page, 0))


def _of_requisite(row: RequisiteRow, depth: int) -> dict[str, Any]:
    return {
        "fetched_at": rfc3339(row.time),
        "status": row.status or None,
        "outcome": "requisite" if row.came else row.outcome,
        "reason": row.reason or None,
        "url": row.url,
        "host": host(row.url),
        "size": row.size,
        "seconds": row.seconds,
        "depth": depth,
        "found_on": row.found_on,
        "hops": "L" * depth + row.path,
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
