"""The log of a run: its pages in the order of its choices, with their probabilities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from spoor.errors import InputError
from spoor.formats.source_file import MAX_BYTES, MAX_RATIO
from spoor.formats.warc_reader import Warc
from spoor.runs.assemble import topic_for_policy
from spoor.runs.reader import Run
from spoor.runs.snapshot import settings_of_crawl
from spoor.types import Fetched, Judgement, Link, Page, Redirected, Topic, urls_of
from spoor.web.page import MAX_TEXT

LINKS = 8
"""Links to a page by which it is known."""


@dataclass(frozen=True, slots=True)
class LoggedPage:
    """A page that the run fetched."""

    page: Page
    """As it answered; its URL may be another than the one that was asked for."""
    judgement: Judgement
    probability: float | None


@dataclass(frozen=True, slots=True)
class RunLog:
    """What a run did, in the order of its choices."""

    seeds: Sequence[str]
    taken: Sequence[LoggedPage]
    topic: Topic = field(default_factory=Topic)
    redirects: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    vectors: str = ""
    open: Collection[str] | None = None
    """URLs that it knew and never asked for; None: all that its pages link to."""
    failed: Collection[str] = ()
    """URLs that brought no page."""


def end_of(url: str, redirects: Mapping[str, str]) -> str:
    for _ in range(20):
        if url not in redirects:
            break
        url = redirects[url]
    return url


def seed_pages(log: RunLog) -> set[str]:
    """URLs of the pages that its seeds lead to."""
    return {end_of(url, log.redirects) for url in log.seeds}


def half_of(log: RunLog, rng: np.random.Generator) -> RunLog:
    """The run with every page but its seeds left out with probability ½."""
    drawn, first = rng.random(len(log.taken)) < 0.5, seed_pages(log)
    keeps = [keep or item.page.url in first for item, keep in zip(log.taken, drawn, strict=True)]
    taken = [item for item, keep in zip(log.taken, keeps, strict=True) if keep]
    left_out = {item.page.url for item, keep in zip(log.taken, keeps, strict=True) if not keep}
    return replace(log, taken=taken, open=None if log.open is None else left_out.union(log.open))


def links_to(log: RunLog) -> dict[str, list[tuple[LoggedPage, Link]]]:
    """URL of a page → links to it on pages of the run, the first `LINKS`."""
    seen: dict[str, list[tuple[LoggedPage, Link]]] = {}
    for item in log.taken:
        for index, url in enumerate(urls_of(item.page.links)):
            end = end_of(url, log.redirects)
            links = seen.setdefault(end, [])
            if len(links) < LINKS and end != item.page.url:
                links.append((item, item.page.links[index]))
    return seen


def _cut(page: Page, longest: int) -> Page:
    """A page with at most so many characters of its text, which its links keep no more of."""
    if len(page.text) <= longest:
        return page
    return replace(page, text=page.text[:longest], links=list(page.links))


def read_log(path: Path) -> RunLog:
    """The log of a live run, from its folder. Raises InputError where it has no pages.

    All texts are in memory: where they are over `MAX_RATIO` times as long as the archive, the
    longest are cut to one length.
    """
    settings, run = settings_of_crawl(path), Run(path)
    rows = sorted(run.pages(), key=lambda row: row.ticket)
    failed = {row.url for row in run.failures()}
    if not rows:
        raise InputError(f"{path}: the run has fetched nothing yet")
    pages: dict[str, Page] = {}
    redirects: dict[str, str] = {}
    longest, taken_up = MAX_TEXT, 0
    room = MAX_BYTES + MAX_RATIO * sum(file.stat().st_size for file in run.archives)
    for file in run.archives:
        for job in Warc(file).jobs():
            recording = job()
            if recording is None:
                continue
            if isinstance(recording.reply, Fetched):
                before = pages.get(recording.url)
                page = pages[recording.url] = _cut(recording.reply.page, longest)
                taken_up += len(page.text) - (0 if before is None else len(before.text))
                while taken_up > room:
                    longest //= 2
                    pages = {url: _cut(page, longest) for url, page in pages.items()}
                    taken_up = sum(len(page.text) for page in pages.values())
            elif isinstance(recording.reply, Redirected):
                redirects[recording.url] = recording.reply.location
    taken = [
        LoggedPage(
            pages[row.url],
            Judgement(row.score, row.relevant, float(row.relevant)),
            row.probability,
        )
        for row in rows
        if row.url in pages
    ]
    if not taken:
        raise InputError(f"{path}: none of its pages is in its archive; crawl without --no-warc")
    subject = topic_for_policy(settings)
    return RunLog(
        settings.seeds,
        taken,
        subject.topic if subject else Topic(),
        {url: end for url, end in redirects.items() if url not in pages},
        settings.policy,
        settings.vectors,
        run.open_urls(),
        failed,
    )
