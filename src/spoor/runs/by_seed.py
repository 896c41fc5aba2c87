"""What the site of each seed gave: its best page, or why there is none.

Whoever wants one page from each of a thousand sites reads a table of a thousand rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spoor.runs.rows import PageRow
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import host, registrable_domain

_ROWS = 500
"""Pages that are read at a time."""


@dataclass(slots=True)
class SeedSite:
    """A seed, and what its site gave."""

    seed: str
    pages: int = 0
    relevant: int = 0
    best: PageRow | None = None
    """A page that counts before one that does not, of these the one with the highest score, of
    equal ones the first."""
    note: str = ""
    """Why no page counts; empty where one does."""


@dataclass(slots=True)
class _Site:
    pages: int = 0
    relevant: int = 0
    best: tuple[bool, float, int] = (False, -1.0, 0)
    """Whether it counts, its score, and its number."""
    failed: str = ""
    """The first URL of it that failed, and why."""

    def add(self, relevant: bool, score: float, number: int) -> None:
        """A page of it."""
        self.pages += 1
        self.relevant += relevant
        if (relevant, score) > self.best[:2]:
            self.best = relevant, score, number


def sites_of_seeds(run: StoredRun) -> Iterator[SeedSite]:
    """Each seed of a run, in its order. Its site is the domain to which it leads, or the host where
    several hosts of the domain are those of seeds. O(pages + failures) time, O(seeds) memory."""
    seeds = list(dict.fromkeys(run.settings.seeds))
    led = run.redirected_seeds()
    begins = [led.get(seed, seed) for seed in seeds]
    hosts = Counter(map(registrable_domain, set(map(host, begins))))

    def key(name: str) -> str:
        domain = registrable_domain(name)
        return name if hosts[domain] > 1 else domain

    keys = [key(host(url)) for url in begins]
    sites = {name: _Site() for name in keys}
    failures = dict.fromkeys([*seeds, *begins], "")
    with run.at_once():
        for row in run.outcomes():
            site = sites.get(key(str(row["host"])))
            if site is not None:
                site.add(bool(row["relevant"]), float(row["score"]), row["number"])
        for failure in run.failures():
            why = failure.reason or failure.kind
            if failure.url in failures:
                failures[failure.url] = why
            site = sites.get(key(failure.host))
            if site is not None:
                site.failed = site.failed or f"{failure.url}: {why}"
        for start in range(0, len(seeds), _ROWS):
            some = slice(start, start + _ROWS)
            numbers = [sites[name].best[2] for name in keys[some]]
            pages = {page.number: page for page in run.numbered([*filter(None, numbers)])}
            rows = zip(seeds[some], begins[some], keys[some], numbers, strict=True)
            for seed, url, name, number in rows:
                site = sites[name]
                note = "" if site.relevant else _why(site, failures[seed] or failures[url])
                yield SeedSite(seed, site.pages, site.relevant, pages.get(number), note)


def seeds_found(run: StoredRun) -> tuple[int, int] | None:
    """Seeds on whose site a page counts, and all; None unless a page of each is what is wanted. As
    `sites_of_seeds`."""
    if not (run.settings.found_per_host and len(run.settings.seeds) > 1):
        return None
    counts = [bool(site.relevant) for site in sites_of_seeds(run)]
    return sum(counts), len(counts)


def _why(site: _Site, failed: str) -> str:
    if failed:
        return failed
    if site.pages:
        which = f"none of the {site.pages:,} pages" if site.pages > 1 else "not the only page"
        return f"{which} of its site counts"
    return site.failed or "no page came: it leads to another site, or its turn did not come"
