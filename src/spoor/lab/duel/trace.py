"""Shows what a crawl spent its requests on, from its log and the links in the sites' files.

A right page that was not sent is either *linked*, on a page that the crawler had, or on none: the
first is a fault of its order, the second of its way. The *list* is the page that it had which links
to most right pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoor.lab.duel.dataset import Task
from spoor.lab.duel.files import Files
from spoor.lab.duel.score import Request, counted

NAMED = 2
"""Folders, and pages that the verdicts are wrong of, that are named."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A crawl within one budget."""

    pages: int
    """Requests for pages."""
    failures: int
    again: int
    """Requests for pages that were asked for before."""
    found: int
    """Right pages that were sent."""
    linked: int
    """Right pages that were sent, or that a page that was sent links to."""
    half_linked: int | None
    """Requests until half of the right pages were linked; None: they were not."""
    list_url: str
    """Page that was sent which links to most right pages, the first of such; empty: none does."""
    list_links: int
    list_at: int
    """Number of its request."""
    spent: Sequence[tuple[str, int, int]]
    """Folders with most requests for nothing: their URL, all requests in them, those for right
    pages. None where all requests are in one folder."""
    told: int
    """Of the pages that were sent: those that the crawler says are relevant at its end."""
    told_right: int
    denied: int
    """Right pages that were sent, and that it says are not relevant."""
    mistaken: Sequence[str]
    """The first pages that were sent, are not right, and that it says are relevant."""


def trace(task: Task, log: Iterable[Request], files: Files, budget: int) -> Trace:
    """What the log says up to a budget of requests for pages."""
    sent: dict[str, bool | None] = {}
    linked = {task.start} & task.targets
    asked: list[tuple[str, bool]] = []
    failures = list_links = list_at = 0
    list_url = ""
    half_linked = None
    for request in counted(log, budget):
        key = request.key
        if request.kind != "page" or key is None:
            continue
        whole = request.status == 200 and request.method == "GET"
        failures += request.status >= 400
        asked.append((key, whole and key in task.targets and key not in sent))
        if not whole:
            continue
        sent[key] = request.relevant
        shown = task.targets.intersection(files.links(key))
        if len(shown) > list_links:
            list_url, list_links, list_at = key, len(shown), len(asked)
        linked |= shown
        linked |= {key} & task.targets
        if half_linked is None and 2 * len(linked) >= len(task.targets):
            half_linked = len(asked)
    told = {key for key, yes in sent.items() if yes}
    denied = {key for key, yes in sent.items() if yes is False} & task.targets
    return Trace(
        len(asked),
        failures,
        len(asked) - len({key for key, _ in asked}),
        len(sent.keys() & task.targets),
        len(linked),
        half_linked,
        *(list_url, list_links, list_at),
        _spent(asked),
        *(len(told), len(told & task.targets), len(denied)),
        [key for key, yes in sent.items() if yes and key not in task.targets][:NAMED],
    )


def _spent(asked: Iterable[tuple[str, bool]]) -> list[tuple[str, int, int]]:
    """The folders with most requests for nothing."""
    folders: dict[str, list[bool]] = {}
    for url, right in asked:
        folders.setdefault(url.rpartition("/")[0] + "/", []).append(right)
    if len(folders) == 1:
        return []
    most = sorted(folders.items(), key=lambda item: sum(item[1]) - len(item[1]))
    return [(folder, len(rights), sum(rights)) for folder, rights in most[:NAMED]]
